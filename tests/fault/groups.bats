#!/usr/bin/env bats
# Groups killed at random moments, and resumed until they are done: no call that ended
# well is made again, no condition is asked again that was answered.
# GROUP_ROUNDS=200 for the long run.
# shellcheck disable=SC2016 # $variables of inner shells
bats_require_minimum_version 1.5.0
load ../support/helpers

prepare() {
	mkdir bin
	cat >bin/grow <<-'END'
		#!/bin/sh
		awf-step one -- sed 's/^./&&/' | awf-step two -- cat
	END
	cat >bin/long <<-'END'
		#!/bin/sh
		jq -e '.data | length >= 4' >/dev/null
	END
	chmod +x bin/*
	export PATH="$PWD/bin:$PATH"
	printf 'a\nb\nc\n' >items
}

descendants() {
	local child
	for child in $(cat /proc/"$1"/task/*/children 2>/dev/null); do
		echo "$child"
		descendants "$child"
	done
}

# Waits until the record has so many lines, or the run has ended.
reaches() {
	local record
	while kill -0 "$1" 2>/dev/null; do
		record=$(echo "$AWF_STORAGE"/transcripts/*.jsonl)
		[ -f "$record" ] && [ "$(wc -l <"$record")" -ge "$2" ] && return 0
		sleep 0.002
	done
	return 1
}

# Starts it, and kills all of its processes once the record has $1 lines. 1: it ended.
killed() {
	local at=$1 pid
	shift
	"$@" <items >now 2>err &
	pid=$!
	reaches "$pid" "$at" && sleep "0.00$((RANDOM % 10))"
	# shellcheck disable=SC2046
	kill -9 "$pid" $(descendants "$pid") 2>/dev/null
	wait "$pid"
	at=$?
	# A run that was done, but for its process to end, says nothing when it is resumed.
	[ ! -s now ] || cp now out
	[ "$at" != 0 ] || return 1
	eventually all_gone
}
# What a dying shell had just started, and its guardian was killed amid ending, dies too.
all_gone() {
	local left
	[ -s id ] || return 0
	left=$(grep -lsF "AWF_RUN_ID=$(cat id)" /proc/[0-9]*/environ | cut -d/ -f3)
	# shellcheck disable=SC2086
	[ -z "$left" ] || { kill -9 $left 2>/dev/null; return 1; }
}

# What a record must be in the end.
judge() {
	local record=$1
	same "$(cat out)" "$2"
	awf-verify -q
	# Every call that gave a result gave it once.
	same "$(jq -r 'select(.type == "step.completed" and .payload.result != null).payload.call' "$record" |
		sort | uniq -d)" ''
	# A condition has one answer.
	same "$(jq -r 'select(.payload.condition.outcome != null) | "\(.type) \(.payload.call) \(.payload.condition.outcome)"' \
		"$record" | sort -u | cut -d' ' -f1,2 | uniq -d)" ''
}

# Kills it again and again, further on each time, resumes it, and judges what came of it.
survives() {
	local want=$1 lines round at id
	printf '#!/bin/sh\n%s\n' "$2" >flow.awf
	chmod +x flow.awf
	awf-run --id-file id ./flow.awf <items >out
	same "$(cat out)" "$want"
	lines=$(wc -l <"$(transcript)")
	for round in $(seq "${GROUP_ROUNDS:-$(rounds 1 8)}"); do
		rm -rf "$AWF_STORAGE" id out
		at=$((RANDOM % lines + 1))
		echo "round $round: first killed at line $at of $lines"
		set -- awf-run --id-file id ./flow.awf
		while killed "$at" "$@" && [ -s id ]; do
			at=$((at + RANDOM % lines + 1))
			set -- awf-run --resume "$(cat id)"
		done
		judge "$(echo "$AWF_STORAGE"/transcripts/*.jsonl)" "$want"
	done
	awf-verify --determinism --isolation copy
}

@test "--each, killed" {
	survives '["aa","bb","cc"]' 'awf-step -i lines --each g -- grow | awf-step -s all -r -- cat'
}

# bats test_tags=turn:2
@test "a loop of each item, killed" {
	survives '["aaaa","bbbb","cccc"]' 'awf-step -i lines --each g -- awf-step --until long l -- grow |
		awf-step -s all -r -- cat'
}

# bats test_tags=turn:2
@test "a loop with --while, two items at a time, killed" {
	survives '["aaaa","bbbb","cccc"]' 'awf-step -i lines -j 2 --while "! long" l -- grow | awf-step -s all -r -- cat'
}

@test "a loop of plain commands, killed" {
	survives '["axxxx","bxxxx","cxxxx"]' 'awf-step -i lines --max 4 l -- jq -r ".data + \"x\"" | awf-step -s all -r -- cat'
}
