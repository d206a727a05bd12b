#!/usr/bin/env bats
# bats file_tags=turn:2
# awf-step --session: conversations that go on over runs.
# shellcheck shell=bash disable=SC2016,SC2154
bats_require_minimum_version 1.5.0
load ../../support/helpers
load ../../support/agent

prepare() {
	export ASAN_OPTIONS=detect_leaks=0
	mkdir agents tools
	agent helper ''
	for n in 1 2 3 4 5 6; do text "answer $n" >"a$n"; done
	model_server --answer a1 --answer a2 --answer a3 --answer a4 --answer a5 --answer a6
}
say() { awf-step --session "${2-notes}" -a helper chat -r <<<"$1"; }
# The same in a run that keeps its input.
run_saying() { awf-run --name said -c 'awf-step --session notes -a helper chat -r' <<<"$1"; }
asked() {
	bodies | sed -n "$1p" | jq -c '[.messages[]|.content|if type=="array" then map(.text // .type)|join("+") else . end]'
}

@test "each call goes on with the latest of its name, from a shell" {
	run -0 say one
	same "$output" 'answer 1'
	run -0 say two
	same "$(asked 2)" '["one","answer 1","two"]'
	# What another had written when it was killed is cut off.
	printf '{"at":"20' >>"$AWF_STORAGE/sessions/notes"
	run -0 say apart other
	same "$(asked 3)" '["apart"]'
	run -0 run_saying three
	same "$(asked 4)" '["one","answer 1","two","answer 2","three"]'
	awf-verify -q
	awf-verify --schema >/dev/null
	awf-verify --determinism --isolation copy
	same "$(jq -c 'select(.type=="step.started").payload.session|[.name,(.run_id|length),(.event_id|length),(.sha256|length)]' "$(transcript)")" '["notes",36,36,64]'
	run -0 awf-tail --sessions
	same "${#lines[@]}" 3
	[[ ${lines[1]} == 'notes '*' 3 '*' helper' ]]
	[[ ${lines[2]} == 'other '*' 1 '*' helper' ]]
	same "$(awf-tail --sessions --json | jq -c '[.session,.calls,.agent]')" $'["notes",3,"helper"]\n["other",1,"helper"]'
	# It was used last by its latest call.
	at=$(awf-tail --sessions --json | jq -r 'select(.session == "notes").at')
	same "$(jq -s --arg at "$at" 'map(.timestamp) | $at > .[0] and $at < .[-1]' "$(transcript)")" true
	[[ ${lines[1]} == *" $(date -d "$at" '+%Y-%m-%d %H:%M:%S') "* ]]
}

@test "a replay has what it had then, also when the runs before are gone" {
	say one; say two; run_saying three
	first=$(awf-tail --list --json | jq -r .run_id | tail -n 1)
	second=$(awf-tail --list --json | jq -r .run_id | sed -n 2p)
	run -0 awf-ctl prune --max-count 1 -v
	[[ $output == *"$first"*  && $output == *"$second"* ]]
	awf-verify --determinism --isolation copy
	say four
	same "$(asked 4)" '["one","answer 1","two","answer 2","three","answer 3","four"]'
}

@test "prune keeps the run with which a session goes on, unless it is told otherwise" {
	say one
	for i in 1 2 3; do awf-run -n -c 'awf-step -n x -q -- true'; done
	run -0 awf-ctl prune --max-count 0
	same "$(awf-tail --list --json | wc -l)" 1
	say two
	same "$(asked 2)" '["one","answer 1","two"]'
	run -0 awf-ctl prune --max-count 0 --sessions
	same "$(awf-tail --list --json | wc -l)" 0
	say three
	same "$(asked 3)" '["three"]'
}

@test "two shells at once: one order, nothing lost" {
	model_server --loop --answer a1
	pids=()
	for i in 1 2 3 4 5 6 7 8; do
		say "q$i" >/dev/null 2>>err 3>&- &
		pids+=($!)
	done
	wait "${pids[@]}"
	same "$(sent)" 8
	say last
	same "$(asked 9 | jq -c 'map(select(startswith("q")))|sort' )" '["q1","q2","q3","q4","q5","q6","q7","q8"]'
	same "$(asked 9 | jq length)" 17
}

# SHELL DAYS QUESTION: what a shell asks whose clock is so many days ahead.
say_on() {
	ahead "$2" awf-run --name "$1" -c 'awf-step --session notes -a helper chat -r' <<<"$3"
}
# How many runs are under way, by their locks: the clocks of their shells differ.
under_way() { awf-tail --list --json | jq -s 'map(select(.status == "running")) | length'; }

@test "five days, from two shells with clocks of their own: one order, nothing lost, and each run replays" {
	for n in $(seq 16); do
		text "answer $n" >"answer$n"
		set -- "$@" --answer "answer$n"
	done
	model_server "$@"
	mkdir -p "$AWF_STORAGE/sessions"
	for day in 0 1 2 3 4; do
		# Both begin while the session is another's, so the two wait for it at the same time. The
		# clock of the second shell is ahead, and behind again with the first call of the next day.
		exec 8>>"$AWF_STORAGE/sessions/notes"
		flock 8
		say_on here "$day" "here $day" >>here.out 2>>here.err 3>&- 8>&- &
		here=$!
		say_on there "$((day + 1))" "there $day" >>there.out 2>>there.err 3>&- 8>&- &
		there=$!
		eventually eval '[ "$(under_way)" = 2 ]'
		same "$(cat "$MODEL_SERVER_LOG" 2>/dev/null | wc -l)" "$((day * 3))"
		exec 8>&-
		wait "$here"
		wait "$there"
		say_on here "$day" "later $day" >>here.out
	done
	same "$(cat here.out there.out | sort -V)" "$(seq -f 'answer %.0f' 15)"
	same "$(sent)" 15
	# Each call has all that was said before it, in the same order, and what it says itself.
	for n in $(seq 2 15); do
		same "$(asked "$n" | jq -c '.[:-1]')" "$(asked $((n - 1)) | jq -c ". + [\"answer $((n - 1))\"]")"
	done
	same "$(asked 15 | jq -c 'map(select(startswith("answer") | not)) | sort')" \
		"$(for day in 0 1 2 3 4; do printf '%s\n' "here $day" "there $day" "later $day"; done | jq -nRc '[inputs] | sort')"
	[[ $(awf-tail --sessions | tail -n 1) == 'notes '*' 15 '* ]]
	for record in "$AWF_STORAGE"/transcripts/*.jsonl; do
		awf-verify -q "$record"
		awf-verify --determinism --isolation copy "$record"
	done
	same "$(sent)" 15
	[ "$(awf-tail --list --json | jq -r '.started[:10]' | sort -u | wc -l)" -ge 6 ]
	# The latest is the one that came last, whatever its clock said.
	awf-ctl prune --max-count 0
	say_on there 0 last
	same "$(asked 16)" "$(asked 15 | jq -c '. + ["answer 15","last"]')"
}

@test "a call that failed or was killed is not gone on with; its resume has what it had" {
	say one
	model_server --fault '1:401' --answer a2 --answer a3 --answer a4
	run ! awf-run --name bad -c 'awf-step --session notes -a helper chat -r' <<<two
	bad=$(awf-tail --list --json -n 1 | jq -r .run_id)
	run -0 awf-run --resume "$bad"
	same "$output" 'answer 2'
	same "$(asked 2)" '["one","answer 1","two"]'
	awf-verify --determinism --isolation copy
	say three
	same "$(asked 3)" '["one","answer 1","two","answer 2","three"]'

	model_server --fault '1:401' --answer a5 --answer a6
	run ! awf-run --name bad -c 'awf-step --session notes -a helper chat -r' <<<four
	bad=$(awf-tail --list --json -n 1 | jq -r .run_id)
	say five
	same "$(asked 2 | jq -c '.[-3:]')" '["three","answer 3","five"]'
	run -0 --separate-stderr awf-run --resume "$bad"
	[[ $stderr == *"the session 'notes' has gone on since: this answer does not become part of it"* ]]
	same "$(asked 3 | jq -c '.[-3:]')" '["three","answer 3","four"]'
}

@test "a completed call that a resume takes over does not become the latest again" {
	run ! awf-run --name two -c 'awf-step --session notes -a helper chat | awf-step -q then -- test -e ok' <<<one
	old=$(awf-tail --list --json -n 1 | jq -r .run_id)
	say two
	touch ok
	awf-run --resume "$old"
	same "$(sent)" 2
	say three
	same "$(asked 3)" '["one","answer 1","two","answer 2","three"]'
}

@test "several items, and steps of one run, in one session" {
	run -0 awf-run -c 'awf-step -i lines --session notes -a helper a | awf-step --session notes -a helper -r b' <<<$'one\ntwo'
	same "$(sent)" 4
	same "$(asked 4 | jq length)" 7
	awf-verify --determinism --isolation copy
}

@test "refused: a bad name, -j, without an agent, masked, in a call of the same session, continue_from" {
	run -1 awf-step --session 'a b' -a helper chat <<<x
	run -1 awf-step --session a -j 2 -a helper chat <<<x
	run -1 awf-step --session a chat -- cat <<<x
	run ! --separate-stderr awf-run --mask cat -c 'awf-step --session a -a helper chat' <<<x
	[[ $stderr == *'not in a masked run'* ]]
	run ! --separate-stderr awf-run --no-transcript -c 'awf-step --session a -a helper chat' <<<x
	[[ $stderr == *'not in a run without a transcript'* ]]
	agent after 'continue_from: chat'
	run ! --separate-stderr awf-step --session a -a after chat <<<x
	[[ $stderr == *'continue_from'* ]]
	same "$(sent)" 0

	tool again '"effects":"external","input_schema":{"type":"object"}' 'echo x | awf-step --session a -a helper inner 2>&1; true'
	agent outer 'tools: [again]'
	stream tool_use "$(use t1 again '{}')" >first
	model_server --answer first --answer a1
	run -0 awf-step --session a -a outer -r chat <<<x
	[[ $(bodies | tail -n 1) == *'is that of a call around this one'* ]]
}
