#!/usr/bin/env bats
# One agent with two tools, run by each of the model APIs: what AWF makes of it does not
# tell them apart.
bats_require_minimum_version 1.5.0
load ../../support/helpers
load ../../support/agent

NAMES='anthropic google openai openai-responses'

prepare() {
	mkdir agents tools
	printf -- '---\nname: adder\nmodel: model-1\ntools: [add, fail]\n---\nBe brief.\n' >agents/adder.md
	tool add '"input_schema":{"type":"object","properties":{"a":{"type":"number"},"b":{"type":"number"}},"required":["a","b"]},"effects":"none"' \
		'jq -c "{sum: (.a + .b)}"'
	tool fail '"input_schema":{"type":"object"},"effects":"none"' 'echo it is broken >&2; exit 7'
}

# Runs the agent with a provider, to NAME.out; its run is the latest.
run_with() {
	model_server --answer "$ROOT/tests/fixtures/same/$1.1.jsonl" --answer "$ROOT/tests/fixtures/same/$1.2.jsonl"
	echo 'two and three?' | AWF_PROVIDER=$1 awf-run -c 'awf-step -a adder call' >"$1.out"
	kill "$MODEL_SERVER_PID"
}

# What was said and done in the latest run: without what only the API understands, and
# without what is another each time.
story() {
	jq -c 'select(.type | test("^(message|tool)")) | [.type, .path, (.payload |
		[.role, .system_prompt, .tools, .name, .call_id, .input, .output, .error, .stop_reason, .turn, .model,
		 (.usage | if . then [.input_tokens, .output_tokens] else . end),
		 [.blocks[]? | del(.api, .raw, .field, .signature, .bound)]])]' "$(transcript)"
}

@test "the same blocks and the same data, whatever the API" {
	for name in $NAMES; do
		run_with "$name"
		story >"$name.story"
		same "$name $(jq -r .data "$name.out")" "$name It is five."
		awf-verify -q
		grep -q '"tool_name":"add","tool_input":{"a":2,"b":3.0}' "$(transcript)"
		same "$(cat "$name.story")" "$(cat anthropic.story)"
	done
	same "$(jq -c '[.[0], .[2][4]]' anthropic.story | paste -sd' ')" \
		'["message.user",null] ["message.assistant",null] ["tool.call","c1"] ["tool.result","c1"] ["tool.call","c2"] ["tool.result","c2"] ["message.assistant",null]'
	same "$(sed -n 2p anthropic.story | jq -c '.[2][-1] | map(.type)')" '["thinking","text","tool_use","tool_use"]'
}

@test "a call of a tool can be seen while it is written" {
	local asking=()
	for name in $NAMES; do
		# The pieces come further apart than deltas.
		model_server --answer "$ROOT/tests/fixtures/same/$name.1.jsonl" --fault '*:slow:55'
		printf '%s\n' '{"id":1,"model":"m","stream":true,"messages":[{"role":"user","blocks":[{"type":"text","text":"go"}]}]}' |
			"$BUILD/libexec/awf/awf-provider-$name" >"$name.deltas" &
		asking+=($!)
	done
	wait "${asking[@]}"
	for name in $NAMES; do
		jq -sr 'map(select(.kind == "tool").text) | add' "$name.deltas" >calls
		same "$name $(head -n 1 calls)" "$name add {\"a\":2,\"b\":3.0}"
		# From Google calls come whole, and here at once.
		[ "$name" = google ] || [[ $(sed 1d calls) == 'fail '* ]]
	done
	[ "$(grep -c '"kind":"tool"' anthropic.deltas)" -gt 2 ]
}

@test "each API gets back what it said, and the results, in its own form" {
	while read -r name said result failed; do
		run_with "$name"
		sed -n 2p "$MODEL_SERVER_LOG" | jq -c .body >"$name.body"
		same "$name $(jq -c "$said" "$name.body")" "$name \"c2ln\""
		same "$name $(jq -c "$result" "$name.body")" "$name {\"sum\":5}"
		[[ "$(jq -r "$failed" "$name.body")" == *'it is broken'* ]]
	done <<-'END'
		anthropic .messages[1].content[0].signature .messages[2].content[0].content|fromjson .messages[2].content[1].content
		google .contents[1].parts[2].thoughtSignature .contents[2].parts[0].functionResponse.response.output .contents[2].parts[1].functionResponse.response.error
		openai-responses .input[]|select(.type=="reasoning").encrypted_content [.input[]|select(.type=="function_call_output")][0].output|fromjson [.input[]|select(.type=="function_call_output")][1].output
	END
}

# bats test_tags=turn:3
@test "a conversation that one API began goes on with another" {
	for name in $NAMES; do
		for next in $NAMES; do
			model_server --answer "$ROOT/tests/fixtures/same/$name.1.jsonl" \
				--answer "$ROOT/tests/fixtures/same/$next.2.jsonl"
			first=$(printf '%s\n' '{"id":1,"model":"m","messages":[{"role":"user","blocks":[{"type":"text","text":"go"}]}]}' |
				"$BUILD/libexec/awf/awf-provider-$name")
			answer=$(jq -c '{id: 2, model: "m", messages: [{role: "user", blocks: [{type: "text", text: "go"}]},
				{role: "assistant", blocks}, {role: "user", blocks: [.blocks[] | select(.type == "tool_use") |
				{type: "tool_result", tool_id, tool_content: "5"}]}]}' <<<"$first" |
				"$BUILD/libexec/awf/awf-provider-$next")
			same "$name $next $(jq -r '.blocks[0].text' <<<"$answer")" "$name $next It is five."
			[ "$name" = "$next" ] || ! sed -n 2p "$MODEL_SERVER_LOG" | grep -q c2ln
			kill "$MODEL_SERVER_PID"
		done
	done
}
