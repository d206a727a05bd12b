# Sourced by bats files: a provider that answers as a script says, with the tokens that
# AWF has handed out put in.
# shellcheck shell=bash

# Installs the provider "scripted". Requests are logged to requests.jsonl.
scripted_provider() {
	mkdir -p bin
	cat >bin/awf-provider-scripted <<-END
		#!/bin/sh
		# A request is in the log before it is answered: tee writes to its stdout first.
		{ tee /dev/fd/3 >>'$PWD/requests.jsonl'; } 3>&1 | jq -c --unbuffered --slurpfile answers '$PWD/answers.json' '
			select(.messages) | . as \$request |
			[.messages | tostring | scan("[0-9a-f]{32}")] as \$tokens |
			(.messages | map(select(.role == "assistant")) | length) as \$turn |
			(\$answers[0][\$turn] // [] | tostring | gsub("@TOKEN"; \$tokens[-1]) |
				gsub("@FIRST"; \$tokens[0]) | fromjson) as \$blocks |
			{id, type: "message", blocks: \$blocks, model: "scripted-1",
			 stop_reason: (if any(\$blocks[]; .type == "tool_use") then "tool_use" else "end_turn" end),
			 usage: {input_tokens: 10, output_tokens: 5}}'
	END
	chmod +x bin/awf-provider-scripted
	export PATH="$PWD/bin:$PATH"
}

# The answers, one after another: each is said() and called() blocks with commas.
# @TOKEN is the token that was handed out last, @FIRST the first one.
script() {
	local IFS=, turn turns=()
	for turn; do turns+=("[$turn]"); done
	printf '[%s]\n' "${turns[*]}" >answers.json
	rm -f requests.jsonl
}
said() {
	if [[ $1 == *[^a-zA-Z0-9\ .,:!?]* ]]; then
		jq -cn --arg text "$1" '{type: "text", text: $text}'
	else
		printf '{"type":"text","text":"%s"}\n' "$1"
	fi
}
called() { printf '{"type":"tool_use","tool_id":"%s","tool_name":"%s","tool_input":%s}' "$1" "$2" "$3"; }

# How many messages each request had.
asked() { jq '.messages | length' requests.jsonl | paste -sd' '; }
