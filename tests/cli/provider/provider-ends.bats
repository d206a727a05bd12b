load ../../support/helpers
bats_require_minimum_version 1.5.0
load ../../support/provider
load ../../support/cli

# How answers end: what no table of an API has is no answer, but an error that quotes it,
# is not asked again, and leaves what had come of the answer in the record.

words() { cat "$ROOT/tests/fixtures/ends/words"; }

# API PATTERN FILE: each word in the place of the pattern.
unknown_ends() {
	local api=$1 n=0 answers=() word
	while IFS= read -r word; do
		n=$((n + 1))
		WORD=$word perl -pe "s/$2/\\\"\$ENV{WORD}\\\"/" "$3" >"$api.$n.jsonl"
		answers+=(--answer "$api.$n.jsonl")
	done < <(words)
	model_server "${answers[@]}"
	for n in $(seq "$n"); do request "$n"; done | provider "$api" >"$api.answers"
	kill "$MODEL_SERVER_PID"
	same "$api $(jq -r .category "$api.answers" | uniq -c | xargs)" "$api $(words | wc -l) cut_off"
	same "$(jq -r .message "$api.answers" | sed "s/^the answer ended with '//; s/', which is no known end.*//")" "$(words)"
}

# bats test_tags=turn:2
@test "words that no table has are no ends, for each API" {
	fixtures=$ROOT/tests/fixtures
	unknown_ends anthropic '"end_turn"' "$fixtures/anthropic/text.jsonl"
	unknown_ends openai '"stop"' "$fixtures/openai/text.jsonl"
	unknown_ends google '"STOP"' "$fixtures/google/text.jsonl"
	unknown_ends openai-responses '"max_output_tokens"' "$fixtures/openai-responses/incomplete.jsonl"
}

# CLI WORD PATTERN: what the provider says of its run with this word.
cli_end() {
	WORD=$2 perl -pe "s/$3/\\\"\$ENV{WORD}\\\"/" "$ROOT/tests/fixtures/cli/$1/tool.stdout.jsonl" >"$1.stdout.jsonl"
	echo 0 >"$1.exit"
	play "$1" "$PWD/$1" | tail -n 1 | jq -r '.category // .type'
}

# bats test_tags=turn:2
@test "words that no table has are no ends, for agent CLIs" {
	fake_clis
	words | sed -n 1~4p >some
	while IFS= read -r word; do
		same "claude $word $(cli_end claude "$word" '(?<=stop_reason":)"end_turn"(?!.*stop_reason)')" "claude $word cut_off"
		same "opencode $word $(cli_end opencode "$word" '(?<="reason":)"stop"')" "opencode $word cut_off"
	done <some
	same "$(cli_end opencode error '(?<="reason":)"stop"')" cut_off
	same "$(cli_end opencode stop '(?<="reason":)"stop"')" message
}

@test "words that no table has are no ends, in a recording of AgentLoom" {
	export JQ=jq
	words | jq -R '{content: "half a", finish_reason: .}' | jq -s '{_version: 2, work: .}' >rec.json
	words | jq -Rc '{id: input_line_number, step: "work", model: "rec.json", messages: []}' |
		provider replay >answers
	same "$(jq -r .category answers | uniq -c | xargs)" "$(words | wc -l) cut_off"
	echo '{"_version": 2, "work": {"content": "half a", "finish_reason": "error"}}' >rec.json
	same "$(echo '{"id":1,"step":"work","model":"rec.json","messages":[]}' | provider replay | jq -r '.category + " " + .message' | cut -d, -f1)" \
		"cut_off the answer ended with 'error'"
	same "$(echo '{"id":1,"step":"work","model":"rec.json","messages":[]}' | provider replay --known-end error=stop | jq -r .stop_reason)" end_turn
}

@test "what others call a failure is none of an answer" {
	# Those after which another try may go well are tried again.
	while read -r api category pattern file word; do
		sed "s/$pattern/\"$word\"/" "$ROOT/tests/fixtures/$file" >stream.jsonl
		model_server --answer stream.jsonl
		same "$api $(request | provider "$api" | jq -r '.category + " " + .message')" \
			"$api $category the answer ended with '$word'"
		kill "$MODEL_SERVER_PID"
	done <<-END
		openai provider "stop" openai/text.jsonl insufficient_system_resource
		openai provider "stop" openai/text.jsonl abort
		openai provider "stop" openai/text.jsonl network_error
		openai provider "stop" openai/text.jsonl error
		google cut_off "STOP" google/text.jsonl OTHER
		google cut_off "STOP" google/text.jsonl IMAGE_OTHER
	END
}

@test "an answer of the Messages API without a stop reason is none" {
	grep -v message_delta "$ROOT/tests/fixtures/anthropic/text.jsonl" >stream.jsonl
	model_server --answer stream.jsonl
	same "$(request | provider anthropic | jq -r '.category + " " + .message')" \
		'cut_off the answer ended without a stop_reason'
}

@test "the status of a response counts, not the event that brings it" {
	while read -r expected event; do
		printf '%s\n' '{"type":"response.output_item.done","output_index":0,"item":{"type":"message","content":[{"type":"output_text","text":"half"}]}}' \
			"$event" >stream.jsonl
		model_server --answer stream.jsonl
		same "$event $(request | provider openai-responses | jq -r '.category // .stop_reason')" "$event $expected"
		kill "$MODEL_SERVER_PID"
	done <<-'END'
		end_turn {"type":"response.completed","response":{"status":"completed"}}
		end_turn {"type":"response.completed","response":{}}
		provider {"type":"response.completed","response":{"status":"failed","error":{"code":"server_error","message":"sorry"}}}
		provider {"type":"response.completed","response":{"status":"failed"}}
		cut_off {"type":"response.completed","response":{"status":"cancelled"}}
		cut_off {"type":"response.completed","response":{"status":"in_progress"}}
		cut_off {"type":"response.incomplete","response":{"status":"incomplete"}}
		cut_off {"type":"response.incomplete","response":{}}
		max_tokens {"type":"response.incomplete","response":{"incomplete_details":{"reason":"max_output_tokens"}}}
	END
}

@test "an empty reason is an end behind the text, not in each piece" {
	text='{"choices":[{"delta":{"content":"yes"},"finish_reason":null}]}'
	blank='{"choices":[{"delta":{"content":"yes"},"finish_reason":""}]}'
	end='{"choices":[{"delta":{},"finish_reason":""}]}'
	while read -r expected lines; do
		for line in $lines; do echo "${!line}"; done >stream.jsonl
		model_server --answer stream.jsonl
		same "$lines $(request | provider openai | jq -r '.category // .stop_reason')" "$lines $expected"
		kill "$MODEL_SERVER_PID"
	done <<-END
		end_turn text end
		network text
		network blank
		network blank end
		network end
	END
}

@test "an answer without anything in it is none" {
	while read -r api line; do
		echo "$line" >stream.jsonl
		model_server --answer stream.jsonl
		same "$api $(request | provider "$api" | jq -r .message)" "$api the answer is empty"
		kill "$MODEL_SERVER_PID"
	done <<-'END'
		openai {"choices":[{"delta":{},"finish_reason":"stop"}]}
		google {"candidates":[{"finishReason":"STOP"}]}
		openai-responses {"type":"response.completed","response":{"status":"completed","output":[]}}
	END
}

@test "what an answer used is told, although it is none" {
	while read -r api line; do
		echo "$line" >stream.jsonl
		model_server --answer stream.jsonl
		same "$api $(request | provider "$api" | jq -c '[.type, .usage, .model]')" \
			"$api"' ["error",{"input_tokens":100,"output_tokens":20},"m"]'
		kill "$MODEL_SERVER_PID"
	done <<-'END'
		openai {"model":"m","usage":{"prompt_tokens":100,"completion_tokens":20},"choices":[{"delta":{},"finish_reason":"stop"}]}
		openai {"model":"m","usage":{"prompt_tokens":100,"completion_tokens":20},"choices":[{"delta":{"content":"half"},"finish_reason":"error"}]}
		google {"modelVersion":"m","usageMetadata":{"promptTokenCount":100,"candidatesTokenCount":20},"candidates":[{"finishReason":"STOP"}]}
		openai-responses {"type":"response.completed","response":{"model":"m","status":"completed","output":[],"usage":{"input_tokens":100,"output_tokens":20}}}
	END
}

@test "a word can be taught, to a provider and to a step" {
	sed 's/"stop"/"abort"/' "$ROOT/tests/fixtures/openai/text.jsonl" >stream.jsonl
	model_server --answer stream.jsonl --loop
	same "$(request | provider openai --known-end x=stop --known-end abort=stop | jq -r .stop_reason)" end_turn
	same "$(request | AWF_KNOWN_ENDS='x=stop, abort=max_tokens' provider openai | jq -r .stop_reason)" max_tokens
	run -0 awf-step -n -m openai/m -p hi --known-end abort=stop -r a
	same "$(awf-tail --json --type message.assistant | jq -r .payload.stop_reason)" end_turn
	for wrong in abort abort=well =stop 'a,b=stop' 'a b=stop'; do
		run -1 awf-step -n -m openai/m -p hi --known-end "$wrong" -r a
		[[ $output == "awf-step: --known-end: '$wrong': expected WORD=REASON"* ]]
		run -1 provider openai --known-end "$wrong"
		[[ $output == "awf-provider-openai: --known-end: '$wrong': expected WORD=REASON"* ]]
	done
	AWF_KNOWN_ENDS=abort run -1 provider openai
	[[ $output == "awf-provider-openai: AWF_KNOWN_ENDS: 'abort': expected WORD=REASON"* ]]
}

@test "an unknown end fails the step at once, and what came of it is recorded" {
	sed 's/"stop"/"nowhere"/' "$ROOT/tests/fixtures/openai/text.jsonl" >stream.jsonl
	model_server --answer stream.jsonl --loop
	run -3 awf-step -n -m openai/m -p hi -r a
	[[ $output == *"the answer ended with 'nowhere'"* ]]
	same "$(curl -s "$MODEL_SERVER/count" | jq .requests)" 1
	text=$(jq -rj '.choices[0].delta.content // ""' stream.jsonl)
	same "$(awf-tail --json --type message.assistant | jq -c '.payload | [.partial, .turn, .stop_reason, [.blocks[] | [.type, .text]]]')" \
		"$(jq -nc --arg text "$text" '[true, 0, null, [["stream", $text]]]')"
	run -0 awf-verify
	run -0 awf-tail
	[[ $output == *'cut off'* ]]
}

@test "a reason that is none of a provider's is no end either" {
	mkdir -p providers
	cat >providers/awf-provider-odd <<-'END'
		#!/bin/sh
		exec jq -c --unbuffered 'select(.id) | {id, type: "message", stop_reason: "well", usage: {}, model,
			blocks: [{type: "text", text: "half"}]}'
	END
	chmod +x providers/awf-provider-odd
	export AWF_PROVIDER_PATH=$PWD/providers
	run -3 awf-step -n -m odd/m -p hi -r a
	[[ $output == *"the answer ended with 'well', which is no known end"* ]]
	same "$(awf-step -n -m odd/m -p hi --known-end well=stop -r a)" half
}

@test "each try that was cut off is recorded, and a replay makes the same" {
	stream=$ROOT/tests/fixtures/anthropic/text.jsonl
	grep -v 'message_stop\|message_delta' "$stream" >cut.jsonl
	model_server --answer cut.jsonl --answer cut.jsonl --answer "$stream"
	run -0 awf-run -c 'awf-step -n -m anthropic/m -p hi --delay 1ms -r a'
	same "$(awf-tail --json --type message.assistant | jq -c '.payload | select(.retry == null).partial' | paste -sd' ')" 'true true null'
	run -0 awf-verify --determinism --isolation copy
}
