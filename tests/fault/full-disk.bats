#!/usr/bin/env bats
# Runs whose steps cannot record what they did, as the disk is full or fails: the machine
# failed, not the work, and the run goes on when there is room.
# shellcheck shell=bash disable=SC2016,SC2154 # bats sets stderr
bats_require_minimum_version 1.5.0
load ../support/helpers

# A command with these writes made to fail, unless there is a file `room`.
prepare() {
	cat >faulty <<-END
		#!/bin/sh
		[ ! -e "$PWD/room" ] || { shift; exec "\$@"; }
		FAULT="write \$1" LD_PRELOAD="$BUILD/tests/fault/preload.so"
		ASAN_OPTIONS=verify_asan_link_order=0:detect_leaks=0
		shift
		export FAULT LD_PRELOAD ASAN_OPTIONS
		exec "\$@"
	END
	chmod +x faulty
	PATH=$PWD:$PATH
}

# The end of the latest attempt, as recorded.
ended() { payloads run.completed '[.status, .exit_code, .error.code, .error.message]' | tail -n 1; }
# What is said of the failure at last, before how to go on.
last_word() { grep -vE "to go on from there: |^  [|] " <<<"$stderr" | tail -n 1; }

# RUN SCRIPT STEP REASON: what a run ends as, and that it is taken up when there is room.
fails_of_the_machine() {
	rm -f room
	run -4 --separate-stderr awf-run -n -c "$1"
	same "$(last_word)" "awf-run: pipeline: step $2 failed: $3"
	same "$(ended)" "[\"failed\",4,\"system\",\"$3\"]"
	: >room
	run -0 --separate-stderr awf-run --resume @
	same "$output" "done"
	same "$(ended)" '["success",0,null,null]'
	awf-verify -q
}

@test "a step whose end cannot be recorded: the run fails of the machine, and goes on later" {
	fails_of_the_machine 'faulty "2 9 ENOSPC" awf-step -n a -r -- echo done | cat' \
		a:0 'unable to append: No space left on device'
	fails_of_the_machine 'faulty "2 9 EDQUOT" awf-step -n a -- echo done | awf-step b -r -- cat' \
		a:0 'unable to append: Disk quota exceeded'
	fails_of_the_machine 'awf-step -n a -- echo done | faulty "2 9 EIO 100" awf-step b -r -- cat | cat' \
		b:0 'unable to append: Input/output error'
}

@test "a step of which nothing can be recorded at all" {
	fails_of_the_machine 'faulty "1 9 ENOSPC" awf-step -n a -- echo done | awf-step b -r -- cat' \
		a:0 'unable to append: No space left on device'
}

@test "a file that may not grow" {
	fails_of_the_machine '(test -e room || ulimit -f 1; awf-step -n a -r -- echo done) | cat' \
		a:0 'unable to append: File too large'
}

@test "what a shell makes of the end is its own, unless that says less" {
	run -7 --separate-stderr awf-run -n -c 'faulty "2 9 ENOSPC" awf-step -n a -- echo hi || exit 7'
	same "$(ended)" '["failed",7,"system","unable to append: No space left on device"]'
	run -4 awf-run -n -c 'faulty "2 9 ENOSPC" awf-step -n a -- echo hi || exit 3'
}

@test "a step in the body of a group, in a round and in a branch" {
	local reason='step %s failed: unable to append: No space left on device'
	# shellcheck disable=SC2059
	for group in '--each' '--until "test -e room"'; do
		fails_of_the_machine "awf-step -n a -- echo done |
			awf-step -r $group g -- sh -c 'faulty \"2 9 ENOSPC\" awf-step x -- cat | cat'" g:0:0 \
			"$(case $group in --each) printf "$reason" g:0:0/x:0 ;; *) printf "$reason" g:0:0/g:0:0/x:0 ;; esac)"
	done
	rm room
	run -4 --separate-stderr awf-run -n -c 'awf-step -n a -- echo hi |
		awf-step --parallel g -- "faulty \"2 9 ENOSPC\" awf-step x -- cat | cat" cat | cat'
	[[ $(last_word) == *"/x:0 failed: unable to append: No space left on device" ]]
	same "$(ended | jq -r .[2])" system
}

@test "a child run, and a step in one" {
	echo 'faulty "2 9 ENOSPC" awf-step -r x -- cat | cat' >c.awf
	fails_of_the_machine 'awf-step -n -r a -- echo done | awf-run ./c.awf | cat' \
		c:0:0 'unable to append: No space left on device'
	# Its own end, in the parent.
	echo 'awf-step -r x -- cat' >d.awf
	rm room
	run -4 --separate-stderr awf-run -n -c \
		'awf-step -n -r a -- echo hi | faulty "2 99 ENOSPC" awf-run ./d.awf | cat'
	[[ $(last_word) == "awf-run: pipeline: step d:0 failed: "*"No space left on device" ]]
	same "$(ended | jq -c '.[:3]')" '["failed",4,"system"]'
}

@test "a step that is only tried may fail of the machine too" {
	run -0 awf-run -n -c 'faulty "2 9 ENOSPC" awf-step --try -n a -- echo hi | cat'
	same "$(ended)" '["success",0,null,null]'
}

@test "a file system that is full for a while" {
	unshare -m true 2>/dev/null || skip "needs the right to mount"
	mkdir small
	# The result is longer than what may be left of a page.
	cat >full.awf <<-'END'
		awf-step -n fill -r -- sh -c '[ -e room ] || cat /dev/zero >small/ballast 2>/dev/null
			echo done; head -c 50000 /dev/zero | tr "\0" x' | head -n 1
		rm -f small/ballast
	END
	unshare -m sh -euc 'mount -t tmpfs -o size=1m small small
		export AWF_STORAGE=$PWD/small/storage
		awf-run -n ./full.awf >out 2>err || echo $? >status
		: >room
		awf-run --resume @ >out 2>>err
		cp -L small/storage/latest run.jsonl'
	same "$(cat status out)" $'4\ndone'
	grep -qx 'awf-run: full.awf: step fill:0 failed: unable to append: No space left on device' err
	same "$(payloads run.completed '[.status, .error.code]' run.jsonl | paste -sd' ')" \
		'["failed","system"] ["success",null]'
	awf-verify -q run.jsonl
}

@test "no room for the end of the run either: awf-run failed itself, and says of which step it was" {
	command -v prlimit >/dev/null || skip "needs prlimit(1)"
	echo 'awf-step -n a -r -- echo done | cat' >a.awf
	awf-run -n ./a.awf
	# Neither end has room behind the two starts.
	run -125 --separate-stderr prlimit --fsize=$(($(head -n 2 "$(transcript)" | wc -c) + 50)) awf-run -n ./a.awf
	same "$(grep -c 'a.awf: step a:0 failed: unable to append: File too large$' <<<"$stderr")" 1
	[[ $(last_word) == "awf-run: $(transcript): unable to append: File too large" ]]
	same "$(payloads run.completed .)" ""
	run -0 --separate-stderr awf-run --resume @
	same "$output" "done"
	awf-verify -q
}

@test "no room for a file of what the workflow printed: the record tells of none" {
	unshare -rm true 2>/dev/null || skip 'no namespaces here'
	mkdir small
	run -0 unshare -rm sh -c 'mount -t tmpfs -o size=4m,nr_inodes=27 none small || exit
		export AWF_STORAGE="$PWD/small/storage"
		for taken in 0 3 4 5 6 7 8 9 10; do
			rm -rf small/*
			for i in $(seq $taken); do touch "small/$i"; done
			awf-run -n -c "awf-step -n -r a -- echo x; awf-step -n -r b -- echo x; awf-step -n -r c -- echo x" >out 2>err
			echo "$?" >>statuses
			awf-verify -q || exit
			awf-tail --json --type run.completed | jq -r ".payload.stdout.sha256 // empty" |
				while read -r sha256; do
					[ -e small/storage/blobs/*/"$sha256" ] || exit 9
					echo kept >>statuses
				done || exit
		done'
	grep -q 125 statuses
	grep -q kept statuses
}

@test "no room for a step to be entered: the run fails of the machine, whatever a shell makes of it" {
	unshare -rm true 2>/dev/null || skip 'no namespaces here'
	mkdir small
	run -0 unshare -rm sh -c 'mount -t tmpfs -o size=4m,nr_inodes=24 none small || exit
		export AWF_STORAGE="$PWD/small/storage"
		for taken in 0 5 6 7 8 9 10; do
			rm -rf small/*
			for i in $(seq $taken); do touch "small/$i"; done
			awf-run -n -c "awf-step -n a -- true & awf-step -n b -- true || :; wait" >out 2>out
			printf "%s %s %s\n" "$?" "$(awf-tail --json --type step.completed | wc -l)" \
				"$(awf-tail --json --type run.completed | jq -r .payload.error.code)"
		done'
	same "${lines[0]}" "0 2 null"
	[ "$(grep -c '^4 [01] system$' <<<"$output")" -ge 2 ]
	run ! grep '^0 [01] ' <<<"$output"
	# A step that is only tried may be left out.
	run -0 unshare -rm sh -c 'mount -t tmpfs -o size=4m,nr_inodes=24 none small || exit
		export AWF_STORAGE="$PWD/small/storage"
		for i in $(seq 8); do touch "small/$i"; done
		awf-run -n -c "awf-step -n --try a -- true || :" 2>&1'
	[[ $output == *"unable to open the roster"* ]]
}

@test "no room for data: a step that is not entered fails its run all the same, one around it or its own" {
	unshare -rm true 2>/dev/null || skip 'no namespaces here'
	mkdir small
	cat >full <<-'END'
		cat /dev/zero >small/ballast 2>/dev/null
		awf-step -n $1 a -- true || :
		rm small/ballast
	END
	cat >all <<-'END'
		mount -t tmpfs -o size=1m none small || exit
		export AWF_STORAGE="$PWD/small/storage"
		for try in '' --try; do
			for run in "awf-run -n -c" "awf-step -n g -- sh -c"; do
				$run "sh ./full $try" >out 2>err
				printf "%s %s %s\n" "$?" "$(awf-tail --json --type run.completed |
					jq -r .payload.error.code)" "$(sed -n 's/.*: \(unable to .*\)/\1/p' err | head -n 1)"
				awf-verify -q || exit
			done
		done
	END
	run -0 unshare -rm sh ./all
	same "$output" "4 system unable to enter the roster: No space left on device
4 system unable to enter the roster: No space left on device
0 null unable to enter the roster: No space left on device
0 null unable to enter the roster: No space left on device"
}
