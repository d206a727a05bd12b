#!/usr/bin/env bats
# A conversation that goes from server to server, each of which refuses what another one gave.
# shellcheck disable=SC2154 # bats sets stderr
bats_require_minimum_version 1.5.0
load ../../support/helpers
load ../../support/agent

prepare() {
	local name protocol
	umask 022
	mkdir -p "$XDG_CONFIG_HOME/awf/endpoints" tools
	# shellcheck disable=SC2016 # a name of JSON Schema
	tool note '"effects":"none","input_schema":{"$schema":"http://json-schema.org/draft-07/schema#","type":"object"}' 'cat >>ledger; echo ok'
	python3 -S "$ROOT/tests/support/six-servers.py" port log 3>&- &
	echo $! >>"$BATS_TEST_TMPDIR/model-server.pids"
	until [ -e port ]; do nap 0.01; done
	while read -r name protocol; do
		echo "{\"base_url\": \"http://127.0.0.1:$(cat port)/${name#my-}\"$protocol}" >"$XDG_CONFIG_HOME/awf/endpoints/$name.json"
	done <<-'END'
		deepseek
		moonshot
		mistral
		my-messages , "protocol": "messages", "key": {"optional": true}
		my-gemini , "protocol": "gemini", "key": {"optional": true}
		my-responses , "protocol": "responses", "key": {"optional": true}
	END
	export DEEPSEEK_API_KEY=k MOONSHOT_API_KEY=k MISTRAL_API_KEY=k
}

@test "six servers in a row: each takes the conversation, the last one answers" {
	printf '%s\n' --- 'provider: deepseek' 'model: m' 'tools: [note]' 'stuck_after: 0' \
		'fallback: [moonshot/m, mistral/m, my-messages/m, my-gemini/gemini-3-pro, my-responses/m]' --- x >a.md
	run -0 awf-step -a a.md --retries 0 -r ask <<<hi
	same "$(jq -r '"\(.name) \(.status)"' log | xargs)" \
		'deepseek 200 deepseek 503 moonshot 200 moonshot 503 mistral 200 mistral 503 messages 200 messages 503 gemini 200 gemini 503 responses 200 responses 200'
	[[ $output == *noted ]]
	same "$(sort ledger | uniq -c | xargs)" '6 {n:1}'
	run -0 awf-verify
}

@test "what each one gave goes back to it" {
	printf '%s\n' --- 'provider: PROVIDER' 'model: m' 'tools: [note]' --- x >a.md
	for name in deepseek moonshot mistral my-messages my-gemini my-responses; do
		sed "s/PROVIDER/$name/" a.md >"$name.md"
		awf-step -a "$name.md" --retries 0 -r ask <<<hi >out 2>err || true
	done
	same "$(jq -c 'select(.name == "deepseek").body.messages[2].reasoning_content // empty' log)" '"hm"'
	same "$(jq -c 'select(.name == "moonshot").body.messages[2] | select(.) | [.reasoning_content, .tool_calls[0].id]' log)" '["","functions.note:0"]'
	same "$(jq -c 'select(.name == "mistral").body.messages[2] | select(.) | [.content[0].type, .tool_calls[0].id]' log)" '["thinking","Ab1Cd2Ef3"]'
	same "$(jq -c 'select(.name == "messages").body.messages[1].content | select(.) | map(.type)' log)" '["thinking","tool_use"]'
	same "$(jq -c 'select(.name == "gemini").body.contents[1].parts | select(.) | map(.thoughtSignature)' log | tail -n 1)" '[null,"gemini"]'
	same "$(jq -c 'select(.name == "responses").body.input[1].encrypted_content // empty' log)" '"responses"'
}
