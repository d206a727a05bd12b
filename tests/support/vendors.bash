# Sourced by the bats files about endpoints, behind helpers.bash and agent.bash: a server that answers
# in the place of a vendor's, files of endpoints, and agents that ask.
# shellcheck shell=bash disable=SC2119,SC2120,SC2034,SC2154 # bats sets stderr

vendors_prepare() {
	umask 022 # a file that others may write to is refused
	mkdir -p agents tools stubs "$XDG_CONFIG_HOME/awf/endpoints"
	PATH="$PWD/stubs:$PATH"
	LOG=$BATS_TEST_TMPDIR/vendor.log
	tool look '"effects":"none","input_schema":{"type":"object","properties":{"city":{"type":"string"}}}' \
		'cat >/dev/null; echo cold'
	unset AWF_MODEL AWF_PROVIDER OPENAI_BASE_URL OPENAI_API_KEY ANTHROPIC_BASE_URL ANTHROPIC_API_KEY GEMINI_BASE_URL GEMINI_API_KEY
	# Nothing leaves this machine, whatever goes wrong.
	export https_proxy=http://127.0.0.1:9 no_proxy=127.0.0.1
}

# NAME JSON: the user's file of an endpoint.
endpoint() { printf '%s\n' "$2" >"$XDG_CONFIG_HOME/awf/endpoints/$1.json"; }

# Starts the server, which gives the replies of stdin; its options.
serve() {
	cat >replies
	: >"$LOG"
	rm -f server.url
	python3 -S "$ROOT/tests/support/vendor-server.py" "$LOG" replies "$@" >server.url 3>&- &
	echo $! >>"$BATS_TEST_TMPDIR/model-server.pids"
	eventually test -s server.url
	SERVER=$(cat server.url)
}

# NAME BASE [MEMBERS]: a server in the place of that of an endpoint, of which the user's file has the
# URL and these members.
vendor() {
	serve
	endpoint "$1" "{\"base_url\":\"$SERVER$2\"${3:+,$3}}"
}

# STATUS NAME/MODEL [FRONT MATTER]: asks; $output is the answer, $stderr what was said.
ask() {
	printf -- '---\nname: a\n%s\n---\nYou answer about the weather.\n' "${3-}" >agents/a.md
	# shellcheck disable=SC2016
	run "-$1" --separate-stderr sh -c 'echo "Oslo?" | awf-step -a a -m "$1" ask -r' sh "$2"
}

# N FILTER: of the N-th request.
request() { sed -n "$1p" "$LOG" | jq -c "$2"; }
requests() { grep -c . "$LOG"; }
# The code of the error of the latest call.
code() { jq -r 'select(.type == "step.completed").payload.error.code' "$(transcript)"; }
# What its answers cost, in dollars.
cost() { jq -s 'map(select(.type == "message.assistant").payload.usage.cost_usd) | add' "$(transcript)"; }
# A text is in no file of the storage, nor of this directory.
nowhere() {
	for text; do
		run ! grep -rqF -- "$text" "$AWF_STORAGE"
	done
}

USAGE='{"prompt_tokens":10,"completion_tokens":5,"total_tokens":15}'
# Replies of Chat Completions. DELTA... : the deltas of a stream that ends for $REASON with $USAGE.
chat() {
	jq -cn --arg reason "${REASON:-stop}" --argjson usage "$USAGE" '{events: (
		[$ARGS.positional[] | {choices: [{index: 0, delta: .}]}] +
		[{choices: [{index: 0, delta: {}, finish_reason: $reason}]}, {choices: [], usage: $usage}] +
		["data: [DONE]\n\n"])}' --jsonargs "$@"
}
chat_text() { chat "$(jq -cn --arg text "$1" '{content: $text}')"; }
# [ID]: a delta that calls look.
look() {
	jq -cn --arg id "${1:-call_1}" --arg arguments "${2-{\"city\":\"Oslo\"\}}" '{tool_calls: [{index: 0, id: $id,
		type: "function", function: {name: "look", arguments: $arguments}}]}'
}
# DELTA...: these, then the call of look; and in a second reply the answer.
chat_look() {
	REASON=tool_calls chat "$@" "$(look)"
	chat_text cold
}
# Of Responses: ITEM...; $RESPONSE_USAGE.
responses() {
	jq -cn --argjson usage "${RESPONSE_USAGE:-{\"input_tokens\":10,\"output_tokens\":5,\"total_tokens\":15\}}" '
		{id: "r", model: "x"} as $response | {events: (
		[["response.created", {response: ($response + {status: "in_progress"})}]] +
		[$ARGS.positional | to_entries[] | {output_index: .key, item: .value} |
			["response.output_item.added", .], ["response.output_item.done", .]] +
		[["response.completed", {response: ($response + {status: "completed", output: $ARGS.positional, usage: $usage})}]])}' --jsonargs "$@"
}
response_text() {
	responses "$(jq -cn --arg text "$1" '{type: "message", id: "m1", role: "assistant", status: "completed",
		content: [{type: "output_text", text: $text, annotations: []}]}')"
}
# Of Messages: BLOCK..., each an object of which `start` begins it and `delta` follows.
messages() {
	jq -cn --arg reason "${REASON:-end_turn}" '{events: (
		[["message_start", {message: {id: "m", type: "message", role: "assistant", model: "x", content: [], usage: {input_tokens: 10, output_tokens: 1}}}]] +
		[$ARGS.positional | to_entries[] | .key as $index | .value |
			["content_block_start", {index: $index, content_block: .start}],
			["content_block_delta", {index: $index, delta: .delta}],
			["content_block_stop", {index: $index}]] +
		[["message_delta", {delta: {stop_reason: $reason}, usage: {output_tokens: 9}}], ["message_stop", {}]])}' --jsonargs "$@"
}
message_text() {
	messages "$(jq -cn --arg text "$1" '{start: {type: "text", text: ""}, delta: {type: "text_delta", text: $text}}')"
}
MESSAGE_LOOK='{"start":{"type":"tool_use","id":"toolu_1","name":"look","input":{}},"delta":{"type":"input_json_delta","partial_json":"{\"city\":\"Oslo\"}"}}'
# Of Gemini: PART...
gemini() {
	jq -cn '{events: [{candidates: [{content: {role: "model", parts: $ARGS.positional}, finishReason: "STOP"}],
		usageMetadata: {promptTokenCount: 10, candidatesTokenCount: 5, totalTokenCount: 15}}]}' --jsonargs "$@"
}
# An error: STATUS BODY [HEADERS]
refusal() { jq -cn --argjson status "$1" --argjson body "$2" --argjson headers "${3:-{\}}" '{$status, $body, $headers}'; }
