#!/usr/bin/env bats
# bats file_tags=turn:2
# compact of an agent: old messages are replaced by a summary.
# shellcheck shell=bash disable=SC2016,SC2154
bats_require_minimum_version 1.5.0
load ../../support/helpers
load ../../support/agent

prepare() {
	export ASAN_OPTIONS=detect_leaks=0
	mkdir agents tools
	tool look '"effects":"read","input_schema":{"type":"object"}' 'head -c 400 /dev/zero | tr "\0" x'
	for n in 1 2 3 4 5 6; do
		stream tool_use "$(use "t$n" look "{\"n\":$n}")" >"u$n"
	done
	# From the fourth answer on the API counts more than the limit.
	sed -i 's/"input_tokens":10/"input_tokens":900/' u4 u5
	text 'the gist' >gist
	text 'all right' >last
}
# The texts and types of the messages of request N.
asked() {
	bodies | sed -n "$1p" | jq -c '[.messages[]|[.role[:1], (.content|if type=="array" then map(.text // .type)|join("+") else . end)]]'
}

@test "above the limit the older messages become a summary; calls and results stay together" {
	agent scout $'tools: [look]\ncompact: {at: 700, keep: 3}'
	model_server --answer-for 'You summarise' gist --answer u1 --answer u2 --answer u3 --answer u4 --answer u5 --answer u6 --answer last --loop
	same "$(awf-run -c 'awf-step -a scout -r work' <<<"$(head -c 1200 /dev/zero | tr '\0' q)")" 'all right'
	same "$(payloads message.user 'select(.compact) | .turn' | paste -sd' ')" '4 5'
	for n in $(seq "$(sent)"); do
		bodies | sed -n "${n}p" | jq -e '
			[.messages[].content | select(type == "array")[]] as $b |
			([$b[] | select(.type == "tool_use").id]) == ([$b[] | select(.type == "tool_result").tool_use_id]) and
			.messages[0].role == "user"' >/dev/null
	done
	[[ $(asked "$(sent)") == '[["u","Summary of the conversation before this:\n\nthe gist"],["a","tool_use"]'* ]]
	awf-verify -q
	before=$(sent)
	awf-verify --determinism --isolation copy
	same "$(sent)" "$before"
}

@test "a resume takes the recorded summary over" {
	agent scout $'tools: [look]\ncompact: {at: 500, keep: 2}'
	model_server --answer-for 'You summarise' gist --answer u1 --answer u2 --answer u4 --loop --fault 5:401
	run ! awf-run -c 'awf-step -a scout -r work' <<<"$(head -c 1200 /dev/zero | tr '\0' q)"
	made=$(payloads message.user 'select(.compact)' | wc -l)
	[ "$made" -ge 1 ]
	model_server --answer-for 'You summarise' gist --answer last --loop
	same "$(awf-run --resume @)" 'all right'
	awf-verify -q
	awf-verify --determinism --isolation copy
}

@test "hundreds of turns of a session stay under the limit" {
	agent chat $'compact: {at: 1k, keep: 6}'
	text "answer $(head -c 100 /dev/zero | tr '\0' y)" >long
	long=$(head -c 200 /dev/zero | tr '\0' z)
	model_server --answer-for 'You summarise' gist --answer long --loop
	turns=$(size_of_tier 60 400)
	for ((i = 0; i < turns; i++)); do
		awf-step --session s -a chat -r talk <<<"question $i $long"
	done >/dev/null
	# Requests that are no summaries: at most the limit, four bytes a token, and what is around it.
	bodies | jq -s '[.[] | select(.system | tostring | contains("You summarise") | not) | .messages | tostring | length] | max' >most
	[ "$(cat most)" -lt 7000 ]
	awf-verify -q
}

@test "a wrong value is refused" {
	for value in 100k '{keep: 3}' '{at: 0}' '{at: 100x}' '{at: 100k, keep: 0}' '{at: 1k, more: 2}'; do
		agent scout "compact: $value"
		run -2 --separate-stderr awf-step -a scout work <<<x
		[[ $stderr == *'compact: expected {at: TOKENS, keep: MESSAGES}'* ]]
	done
}

@test "a server that checks what thoughts are bound to refuses none of it" {
	mkdir seen
	python3 -S "$ROOT/tests/support/prefix-server.py" 7 url seen 3>&- &
	echo $! >>"$BATS_TEST_TMPDIR/model-server.pids"
	eventually test -s url
	ANTHROPIC_BASE_URL=$(cat url)/talk/-
	export ANTHROPIC_BASE_URL ANTHROPIC_API_KEY=x
	agent thinker $'tools: [look]\nthinking: high\nempty: accept\nstuck_after: 0\ncompact: {at: 600, keep: 3}'
	sed -i 's/^model: .*/model: claude-opus-5-5/' agents/thinker.md
	for i in $(seq 12); do
		awf-step --session s -a thinker -r --allow-failure talk <<<"question $i $(head -c 300 /dev/zero | tr '\0' z)" >/dev/null 2>>err || true
	done
	same "$(jq -r .status seen/talk | sort | uniq -c | awk '{print $2}' | paste -sd' ')" 200 || { jq -r .why seen/talk | sort | uniq -c >&2; false; }
	[ "$(jq -r .thoughts seen/talk | sort -n | tail -n 1)" -gt 0 ]
	grep -l '"compact":{"replaced"' "$AWF_STORAGE"/transcripts/*.jsonl >/dev/null
}
