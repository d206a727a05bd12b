# Logs of other programs, for awf-import: sessions and traces in their formats.
# shellcheck shell=bash disable=SC2034,SC2154
# Those of Gemini CLI, GitHub Copilot CLI and OpenCode were made with a test model server and shortened: see
# tests/fixtures/sessions.

SESSION=0f9a4c1e-2222-4b5d-8a3c-1d2e3f405162
SESSIONS=$BATS_TEST_DIRNAME/../../fixtures/sessions

import() { run "-$1" --separate-stderr awf-import "${@:2}"; }
sound() { same "$(awf-verify "$AWF_STORAGE" 2>&1)" ''; }

# ---- Claude Code ----

# The head of a line of a log: a minute has passed.
head_of() {
	clock=$((clock + 1))
	printf '{"type":"%s","uuid":"%s","timestamp":"2026-03-01T10:%02d:00.000Z","sessionId":"%s","cwd":"/work/shop","version":"2.1.40","gitBranch":"main","isSidechain":false' \
		"$1" "$2" "$clock" "$SESSION"
}
prompt() { head_of user "p-$1"; printf ',"message":{"role":"user","content":"%s"}}\n' "$2"; }
# ID BLOCK OUTPUT-TOKENS: a line of an answer.
answer() {
	head_of assistant "a-$1-$clock"
	printf ',"message":{"id":"%s","role":"assistant","model":"claude-opus-4-6","content":[%s],"stop_reason":null,"usage":{"input_tokens":10,"cache_read_input_tokens":1000,"cache_creation_input_tokens":100,"output_tokens":%s}}}\n' "$1" "$2" "$3"
}
text() { printf '{"type":"text","text":"%s"}' "$1"; }
use() { printf '{"type":"tool_use","id":"%s","name":"%s","input":%s}' "$@"; }
# ID TEXT [MORE]
result() {
	head_of user "r-$1"
	printf ',"message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"%s","content":"%s"%s}]}%s}\n' "$1" "$2" "${3-}" "${4-}"
}
# A session of two prompts.
first() {
	echo '{"type":"file-history-snapshot","messageId":"x","snapshot":{}}'
	prompt 1 'Why is the till wrong?'
	answer m1 '{"type":"thinking","thinking":"hm","signature":"c2ln"}' 1
	answer m1 "$(text 'I look.')" 3
	answer m1 "$(use t1 Read '{"file_path":"till.c"}')" 8
	echo '{"type":"progress","data":{}}'
	result t1 'int main'
	# A piece of the answer comes after the result of its tool.
	answer m1 "$(use t2 Bash '{"command":"make"}')" 20
	result t2 'no rule' ',"is_error":true'
	answer m2 "$(text 'It counts twice.')" 30
}
second() {
	prompt 2 'Mend it.'
	answer m3 "$(text 'Done.')" 5
}

# A session of Codex: ITEM lines of a rollout.
rollout() {
	local payload
	clock=0
	while IFS='|' read -r type payload; do
		clock=$((clock + 1))
		printf '{"timestamp":"2026-03-02T10:%02d:00.000Z","ordinal":%s,"type":"%s","payload":%s}\n' "$clock" "$clock" "$type" "$payload"
	done
}

# A session of Codex of two prompts, with a tool each.
codex_log() {
	rollout <<-'END'
		session_meta|{"id":"s1","cwd":"/work","cli_version":"0.171.0","model_provider":"openai","git":{"branch":"main"}}
		response_item|{"type":"message","role":"user","content":[{"type":"input_text","text":"<environment_context>x"}]}
		turn_context|{"model":"gpt-5.2"}
		response_item|{"type":"message","role":"user","content":[{"type":"input_text","text":"Count."}]}
		event_msg|{"type":"user_message","message":"Count."}
		response_item|{"type":"reasoning","summary":[{"type":"summary_text","text":"hm"}],"encrypted_content":"zzz"}
		response_item|{"type":"function_call","name":"exec_command","arguments":"{\"cmd\": \"wc\"}","call_id":"c1"}
		token_usage_record|{"usage":{"input_tokens":100,"cached_input_tokens":40,"output_tokens":7,"reasoning_output_tokens":3}}
		response_item|{"type":"function_call_output","call_id":"c1","output":"3"}
		event_msg|{"type":"token_count","info":{"total_token_usage":{"input_tokens":100,"output_tokens":7},"last_token_usage":{"input_tokens":100,"output_tokens":7}}}
		response_item|{"type":"message","role":"assistant","content":[{"type":"output_text","text":"Three."}]}
		event_msg|{"type":"token_count","info":{"last_token_usage":{"input_tokens":120,"output_tokens":2}}}
		event_msg|{"type":"token_count","info":{"last_token_usage":{"input_tokens":120,"output_tokens":2}}}
		response_item|{"type":"message","role":"user","content":[{"type":"input_text","text":"And the words?"}]}
		response_item|{"type":"function_call","name":"exec_command","arguments":"{\"cmd\": \"wc -w\"}","call_id":"c2"}
		response_item|{"type":"function_call","name":"exec_command","arguments":"{\"cmd\": \"ls\"}","call_id":"c3"}
		event_msg|{"type":"token_count","info":{"last_token_usage":{"input_tokens":140,"output_tokens":9}}}
		response_item|{"type":"function_call_output","call_id":"c3","output":"a b"}
		response_item|{"type":"function_call_output","call_id":"c2","output":"2"}
		response_item|{"type":"message","role":"assistant","content":[{"type":"output_text","text":"Two."}]}
		event_msg|{"type":"token_count","info":{"last_token_usage":{"input_tokens":150,"output_tokens":2}}}
	END
}

# ---- others ----

gemini() {
	mkdir -p "$HOME/.gemini"
	cp -r "$SESSIONS/gemini" "$HOME/.gemini/tmp"
	CHATS=$HOME/.gemini/tmp/shop/chats
	LOG=$(echo "$CHATS"/session-*.jsonl)
}

copilot() {
	mkdir -p "$HOME/.copilot"
	cp -r "$SESSIONS/copilot" "$HOME/.copilot/session-state"
	LOG=$(echo "$HOME"/.copilot/session-state/*/events.jsonl)
}

opencode() {
	[ -e "$BUILD/libexec/awf/awf-import-opencode" ] || skip 'built without libsqlite3'
	command -v sqlite3 >/dev/null || skip 'no sqlite3 here'
	DATA=$HOME/.local/share/opencode
	DB=$DATA/opencode.db
	mkdir -p "$DATA"
	{ echo 'PRAGMA journal_mode = wal;'; cat "$SESSIONS/opencode.sql"; } | sqlite3 "$DB" >/dev/null
}

db() { sqlite3 -cmd '.timeout 20000' "$DB" "$1"; }

# A log of Inspect, in the form of 0.3.95: two samples, the first in two epochs, with events.
inspect_log() {
	jq -n '
		def at(s): "2026-03-01T10:00:0\(s).000000+00:00";
		def model(from; to; message; usage): {event: "model", timestamp: at(from), completed: at(to), model: "openai/gpt-4o-mini",
			input: [], output: {model: "gpt-4o-mini-2024", choices: [{message: ({role: "assistant"} + message), stop_reason: "stop"}], usage: usage}};
		def sample(id; epoch): {id: id, epoch: epoch, uuid: "u\(id)\(epoch)", input: "attachment://ab", target: "4", attachments: {ab: "Two and two?"},
			scores: {match: {value: "C", answer: "4", explanation: "attachment://ab"}}, events: [
				{event: "sample_init", timestamp: at(0)},
				model(1; 2; {content: [{type: "reasoning", reasoning: "add"}], tool_calls: [{id: "c1", function: "add", arguments: {x: 2, y: 2}}]};
					{input_tokens: 10, output_tokens: 3, total_tokens: 18, input_tokens_cache_read: 5}),
				{event: "tool", timestamp: at(2), completed: at(3), id: "c1", function: "add", arguments: {x: 2, y: 2}, result: "4", error: null},
				model(4; 5; {content: "4"}; {input_tokens: 20, output_tokens: 1, total_tokens: 21, input_tokens_cache_read: 5})]};
		{version: 2, status: "success", eval: {eval_id: "E1", run_id: "R1", task: "sums", model: "openai/gpt-4o-mini", packages: {inspect_ai: "0.3.95"}},
			stats: {started_at: at(0), completed_at: at(9)},
			samples: [sample(1; 1), sample(1; 2), (sample("b"; 1) | .error = {message: "no more"} | .scores = null)]}'
}
