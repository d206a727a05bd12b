#!/usr/bin/env bats
# A mail whose subject holds the date: resumed on the next day it is not simply sent
# again, nor silently left out.
# shellcheck shell=bash disable=SC2016,SC2154 # bats sets stderr
bats_require_minimum_version 1.5.0
load ../../support/helpers
load ../../support/resume

prepare() {
	resume_tools
	printf '#!/bin/sh\ncat "$LEDGERS/today"\n' >bin/date
	chmod +x bin/date
	echo 2026-11-21 >today
	cat >mail.awf <<-'END'
		#!/bin/sh
		echo "Report of $(date +%F)" | awf-step --effects external mail -r -- ledger mail
		awf-step -n rest -r -- hold
	END
	cat >argument.awf <<-'END'
		#!/bin/sh
		awf-step -n --effects external mail -r -- sh -c 'echo "$1" | ledger mail' - "Report of $(date +%F)"
		awf-step -n rest -r -- hold
	END
	cat >cut.awf <<-'END'
		#!/bin/sh
		echo "Report of $(date +%F)" | awf-step --effects external mail -r -- sh -c 'text=$(hold) && echo "$text" | ledger mail'
	END
	chmod +x ./*.awf
}

@test "on the same day a mail that was sent is not sent again, nor asked about" {
	for workflow in mail argument; do
		rm -f mail.ledger
		die -n ./$workflow.awf
		same "$(entries mail)" 1
		run -0 --separate-stderr resume
		same "$output" 'done Report of 2026-11-21'
		same "$(entries mail)" 1
	done
}

@test "on the next day resume stops before the mail and says what changed" {
	for workflow in mail argument; do
		rm -f mail.ledger
		echo 2026-11-21 >today
		die -n ./$workflow.awf
		echo 2026-11-22 >today
		run -75 --separate-stderr resume
		same "$(cat mail.ledger)" 'mail:0:0 Report of 2026-11-21'
		[[ $stderr == *mail* ]]
		[[ $stderr == *2026-11-21* ]]
		[[ $stderr == *2026-11-22* ]]
		[[ $stderr == *--redo*--skip* ]]
		# Asked again it asks again.
		run -75 resume
		same "$(entries mail)" 1
	done
}

@test "--redo sends the mail of today" {
	for workflow in mail argument; do
		rm -f mail.ledger
		echo 2026-11-21 >today
		die -n ./$workflow.awf
		echo 2026-11-22 >today
		run -0 --separate-stderr resume --redo mail
		same "$output" 'done Report of 2026-11-22'
		same "$(sed -n 2p mail.ledger)" 'mail:0:0 Report of 2026-11-22'
		same "$(entries mail)" 2
	done
}

@test "--skip takes the mail as sent, and the item passes on as it came" {
	die -n ./mail.awf
	echo 2026-11-22 >today
	# Before it was asked, it might be another mail; who answers a day later answers all the same.
	run -75 --separate-stderr resume --skip mail:0:0
	[[ $stderr == *'mail:0:0: its input is '*'--redo mail:0:0 or --skip mail:0:0, or, if it is another call, with --new mail'* ]]
	echo 2026-11-23 >today
	run -0 --separate-stderr resume --skip mail:0:0
	same "$output" 'Report of 2026-11-23'
	same "$(entries mail)" 1
	same "$(jq -c 'select(.type == "step.completed" and .path == "mail").payload.skipped' "$(record)" | tail -n 1)" '"by_user"'
	awf-verify -q "$(id)"
}

@test "a mail that was cut off asks first, whatever the day" {
	for today in 2026-11-21 2026-11-22; do
		rm -f mail.ledger
		echo 2026-11-21 >today
		die -n ./cut.awf
		echo $today >today
		run -75 --separate-stderr resume
		[[ $stderr == *mail:0:0* ]]
		same "$(entries mail)" 0
		run -0 --separate-stderr resume --redo mail:0:0
		same "$output" "done Report of $today"
		same "$(entries mail)" 1
	done
	rm -f mail.ledger
	die -n ./cut.awf
	echo 2026-11-23 >today
	run -75 --separate-stderr resume --skip mail
	[[ $stderr == *'to leave this call out, too, resume with --skip mail:0:0 twice, to make it, with --new mail as well'* ]]
	echo 2026-11-24 >today
	run -0 --separate-stderr resume --skip mail
	same "$output" 'Report of 2026-11-24'
	same "$(entries mail)" 0
}
