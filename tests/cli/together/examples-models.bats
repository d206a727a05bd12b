#!/usr/bin/env bats
# examples/models: programs of LangGraph, the Vercel AI SDK and the OpenAI Agents SDK, as they are,
# under awf-step --models. What they are made of is of npm: a directory in NODE_PATH has it.
# shellcheck shell=bash disable=SC2016
bats_require_minimum_version 1.5.0
load ../../support/helpers

LETTER='Dear Ida Brandt,

we are sorry that your kettle leaks. You may have your 39.90 EUR back, or another kettle. We pay the postage. Which do you prefer?

Your service desk'
REQUESTS=8 # of all three programs

prepare() {
	EXAMPLE=$ROOT/examples/models
	RECORDING=("$EXAMPLE"/recording/transcripts/*.jsonl)
}

# Node looks for packages in the directories above a program, whatever NODE_PATH says: the test's
# own has them, above the workspace and its replays.
packages() {
	local directory package
	for directory in ${NODE_PATH//:/ }; do
		for package in $(jq -r '.dependencies | keys[]' "$EXAMPLE/package.json") ''; do
			[ -e "$directory/$package/package.json" ] || break
		done
		[ -n "$package" ] || { ln -s "$directory" "$BATS_TEST_TMPDIR/node_modules" && return; }
	done
	skip "no directory in NODE_PATH has the packages of examples/models/package.json"
}

# The workspace, and a model server that answers each request as it did when desk.awf was recorded.
desk() {
	packages
	cp -r "$EXAMPLE/desk/." .
	local answers=$ROOT/tests/fixtures/frameworks
	# shellcheck disable=SC2046 # words of their own
	model_server --loop "$@" $(sed "s|[^ ]*$|$answers/&|" "$answers/answers")
	: >>"$MODEL_SERVER_LOG"
}
asked() { wc -l <"$MODEL_SERVER_LOG"; }

# The requests that have a whole answer in the record, a line each.
answered() {
	[ ! -e "$AWF_STORAGE/latest" ] || payloads message.assistant 'select(.partial | not).request_sha256'
}

# What was said, without times and ids.
conversation() {
	jq -c 'select(.type | test("^message")) | [.type, .path, .payload.blocks, .payload.model,
		.payload.usage, .payload.request.path, .payload.request_sha256, .payload.stop_reason]' "$1"
}

@test "the recording is sound, and of the programs as they are" {
	awf-verify -q "${RECORDING[@]}"
	diff -r "$EXAMPLE/desk" "$EXAMPLE"/recording/snapshots/*
	same "$(grep -c -e "$ROOT" -e "$(hostname)" "${RECORDING[@]}")" 0
	same "$(payloads step.completed 'select(.name == "send").result' "${RECORDING[0]}" | jq -r .)" "$LETTER"
	same "$(jq -r '.dependencies[] | select(test("^[0-9]+[.][0-9]+[.][0-9]+$") | not)' "$EXAMPLE/package.json")" ''
	# Without packages there is nothing to check with.
	cp -r "$EXAMPLE" copy
	run -1 copy/check
	same "$output" "check: $PWD/copy: run npm install there first"
}

@test "the recording replays offline, to the same bytes, and is up to date" {
	packages
	cp -r "$EXAMPLE" copy
	ln -s ../../node_modules copy/node_modules
	copy/check
	NODE_MODULES=$BATS_TEST_TMPDIR/node_modules "$ROOT/tests/support/record-models" "$PWD/again"
	same "$(conversation again/transcripts/*.jsonl)" "$(conversation "${RECORDING[@]}")"
}

@test "each program is recorded with what it used and cost, and a changed prompt is told" {
	desk
	run -0 --separate-stderr awf-run ./desk.awf <mail.txt
	same "$output" "$LETTER"
	same "$stderr" ''
	same "$(asked)" "$REQUESTS"
	same "$(jq -c 'select(.type == "message.assistant") | [.path, .payload.provider, .payload.model,
		.payload.usage.input_tokens, .payload.usage.output_tokens, .payload.stop_reason,
		(.payload.blocks | map(.tool_name // .type))]' "$(transcript)")" \
		'["triage","openai","gpt-5-mini-2025-08-07",182,21,"tool_use",["order"]]
["triage","openai","gpt-5-mini-2025-08-07",243,14,"tool_use",["rules"]]
["triage","openai","gpt-5-mini-2025-08-07",301,33,"end_turn",["text"]]
["reply","anthropic","claude-haiku-4-5-20251001",655,54,"tool_use",["stock"]]
["reply","anthropic","claude-haiku-4-5-20251001",728,71,"end_turn",["text"]]
["review","openai-responses","gpt-5-mini-2025-08-07",214,12,"tool_use",["transfer_to_editor"]]
["review","openai-responses","gpt-5-mini-2025-08-07",260,62,"tool_use",["count_words"]]
["review","openai-responses","gpt-5-mini-2025-08-07",335,44,"end_turn",["text"]]'
	[[ "$(awf-tail --cost | tail -n 1)" == *', 2.9k in, 311 out, $0.0027)' ]]
	same "$(jq -r 'select(.type == "step.started" and .path == "send").payload.effects' "$(transcript)")" external
	awf-verify -q
	kill "$MODEL_SERVER_PID"
	awf-verify --determinism --isolation copy
	# It was sent once.
	same "$(cat outbox.txt)" "$LETTER"
	sed -i 's/One sentence, with the sum/One sentence/' triage.mjs
	run -3 --separate-stderr awf-replay -q --isolation copy
	[[ "$stderr" == *"awf-step: triage: request 1, POST /v1/chat/completions, is not in the recording; /messages/0/content is '…One sentence.', the recorded one '…One sentence, with the sum.'"* ]]
}

# All processes of a run, from awf-run on.
tree() {
	local pid
	echo "$1"
	for pid in $(pgrep -P "$1"); do tree "$pid"; done
}

# Processes of the latest run.
left() {
	grep -lszxF "AWF_RUN_ID=$(basename "$(transcript)" .jsonl)" /proc/[0-9]*/environ | cut -d/ -f3
}

# Kills a run, $1 its awf-run, with all that is in it, or its program alone.
strike() {
	local pid pids
	mapfile -t pids < <(tree "$1")
	if [ $((RANDOM % 2)) = 0 ]; then
		kill -9 "${pids[@]}" 2>/dev/null || :
		return
	fi
	for pid in "${pids[@]}"; do
		[[ "$(readlink "/proc/$pid/exe")" != */node* ]] || kill -9 "$pid" 2>/dev/null || :
	done
}

@test "no answered request is asked again, whatever is killed" {
	local before have kills=0 run status
	# A piece of an answer takes some milliseconds, and its end too.
	desk --fault '*:slow:2'
	while [ "$kills" -lt "$(rounds 2 100)" ]; do
		rm -rf "$AWF_STORAGE" outbox.txt
		before=$(($(asked) + RANDOM % REQUESTS))
		awf-run ./desk.awf <mail.txt >out 2>err 3>&- &
		run=$!
		until [ "$(asked)" -gt "$before" ] || gone "$run"; do nap 0.02; done
		nap "0.$(printf %03d $((RANDOM % 200)))"
		strike "$run"
		! wait "$run" || continue
		# What was started in that moment.
		until left >alive && [ ! -s alive ]; do xargs kill -9 <alive 2>/dev/null || :; done
		# It may have been done by then.
		[ "$(payloads run.completed .status)" != '"success"' ] || continue
		kills=$((kills + 1))
		have=$(answered | wc -l)
		before=$(asked)
		status=0
		awf-run --resume @ >out 2>err || status=$?
		if [ "$status" = 75 ]; then
			# It was about to be sent.
			rm outbox.txt
			status=0
			awf-run --resume @ --redo send >out 2>err || status=$?
		fi
		same "$status $(cat err)" '0 '
		same "$(cat out)" "$LETTER"
		same "$(cat outbox.txt)" "$LETTER"
		same "$(($(asked) - before))" "$((REQUESTS - have))"
		same "$(answered | sort | uniq -d)" ''
		awf-verify -q
	done
	kill "$MODEL_SERVER_PID"
	awf-verify --determinism --isolation copy
}
