#!/usr/bin/env bats
# bats file_tags=turn:2
# awf-import: sessions of Gemini CLI, GitHub Copilot CLI and OpenCode, whose logs were made with a test model
# server and shortened: see tests/fixtures/sessions. These programs write their logs anew, or change them in place.
# shellcheck shell=bash disable=SC2016,SC2154
bats_require_minimum_version 1.5.0
load ../../support/helpers
load ../../support/import

prepare() { unset XDG_DATA_HOME GEMINI_CLI_HOME COPILOT_HOME; }
# NAME: its runs, the first first: status, prompts, and tokens of all attempts.
runs() {
	awf-tail --list -R -n 100 --json | jq -r --arg name "$1" 'select(.name == $name) | [.started, .run_id, .status] | @tsv' | sort |
		while IFS=$'\t' read -r _ id status; do
			record "$id" | jq -cs --arg status "$status" '[$status, (map(select(.type == "message.user")) | length),
				(map(.payload.usage | objects | select(has("calls") | not)) | (map(.input_tokens) | add // 0), (map(.output_tokens) | add // 0))]'
		done | paste -sd' '
}
main_run() { awf-tail --list -n 100 --json | jq -r 'select(.parent_run_id == null).run_id' | tail -n 1; }
record() { cat "$AWF_STORAGE/transcripts/$1.jsonl"; }
records() { cat "$AWF_STORAGE"/transcripts/*.jsonl; }
types() { record "$1" | jq -r '.type + " " + (.payload.name // "")' | sed 's/ $//' | paste -sd,; }
answers() { record "$1" | jq -c 'select(.type == "message.assistant").payload | [.usage.input_tokens, .usage.output_tokens, .usage.cache_read_tokens, .usage.reasoning_tokens, .model, .provider]' | paste -sd' '; }
# Where nothing is recorded yet.
anew() { export AWF_STORAGE=$PWD/$1; }
once_more() {
	import 0 --ended 0s
	[[ $stderr == *' 0 lines of 0 sessions of '* ]]
}

# ---- Gemini CLI ----

# A log from before there were lines: one object.
as_object() { jq -s '[.[] | select(.id)] as $lines | (.[0] + {messages: [$lines | group_by(.id)[] | last] | sort_by(.timestamp)})' "$LOG"; }

@test "gemini: prompts, answers, tools, a sub-agent; what a session was begun with, and gone on with, is none" {
	gemini
	import 0 --ended 0s
	same "$stderr" 'awf-import: 31 lines of 1 session of gemini
awf-import: left out: messages of the program 1'
	sound
	same "$(runs gemini)" '["success",2,4900,76] ["success",1,620,14]'
	run=$(main_run)
	same "$(types "$run")" 'run.started gemini,step.started prompt,message.user,message.assistant,tool.call read_file,tool.call read_file,tool.result read_file,tool.result read_file,message.assistant,tool.call invoke_agent,step.call_workflow.started agent,step.call_workflow.completed agent,tool.result invoke_agent,message.assistant,step.completed prompt,step.started prompt,message.user,message.assistant,step.completed prompt,run.completed'
	same "$(answers "$run")" '[1000,50,400,30,"gemini-2.5-flash","google"] [1200,7,1000,null,"gemini-2.5-flash","google"] [1300,16,1100,5,"gemini-2.5-flash","google"] [1400,3,null,null,"gemini-2.5-flash","google"]'
	same "$(record "$run" | jq -c 'select(.type == "tool.result").payload | [.output[:18], .error.code]' | paste -sd' ')" \
		'["Hello from hello.t",null] ["File not found: /w","tool"] ["Subagent '\''codebase",null]'
	same "$(record "$run" | jq -r 'select(.seq == 1).payload.cwd')" /work/shop
	awf-tail --list --json --cost | jq -e '.cost > 0' >/dev/null
	once_more
	# Gone on with, the program makes a second log of the same session, in which nothing happens.
	sed 2q "$LOG" >"$CHATS/session-2026-12-01T00-00-again.jsonl"
	once_more
	sound
}

@test "gemini: a log that grows, cut anywhere, gives the lines of one import" {
	gemini
	cp "$LOG" whole
	local lines bytes
	for lines in $(seq 1 "$(wc -l <whole)"); do
		head -n "$lines" whole >"$LOG"
		import 0 -q
	done
	import 0 -q --ended 0s
	sound
	records >pieces
	anew bytes
	for bytes in $(seq 100 "$(rounds 871 83)" "$(stat -c %s whole)"); do
		head -c "$bytes" whole >"$LOG"
		import 0 -q
	done
	cp whole "$LOG"
	import 0 -q --ended 0s
	cmp pieces <(records)
	anew other
	import 0 -q --ended 0s
	cmp pieces <(records)
}

@test "gemini: a log that is one object, written again with each message, and gone on with as lines" {
	gemini
	as_object >whole.json
	jq -c 'del(.messages), .messages[]' whole.json >"$LOG"
	import 0 -q --ended 0s
	records >lines
	mv "$LOG" whole.jsonl
	anew object
	local count
	for count in $(seq 0 "$(jq '.messages | length' whole.json)"); do
		# The last message has not all of it yet.
		jq --argjson count "$count" '.messages = (.messages[:$count] | if length > 0 then .[-1] |= del(.toolCalls, .tokens) else . end)' \
			whole.json >"${LOG%l}"
		import 0 -q
		jq --argjson count "$count" '.messages |= .[:$count]' whole.json >"${LOG%l}"
		import 0 -q
	done
	cp whole.json "${LOG%l}"
	import 0 -q --ended 0s
	sound
	cmp lines <(records)
	cp whole.jsonl "$LOG"
	import 0 --ended 0s
	same "$(head -n 1 <<<"$stderr")" 'awf-import: 0 lines of 0 sessions of gemini'
	head -c 3000 whole.json >"${LOG%l}"
	rm "$LOG"
	import 0 --ended 0s
	[[ $stderr == *'damaged logs 1'* ]]
}

@test "gemini: what was imported stays when it is taken back, and what comes then is a further attempt" {
	gemini
	as_object >"${LOG%l}"
	rm "$LOG"
	LOG=${LOG%l}
	import 0 -q
	cp "$LOG" whole.json
	before=$(record "$(main_run)" | wc -l)
	# The second prompt is gone, and what a tool gave is hidden.
	jq '.messages |= .[:-2] | .messages[1].toolCalls[0].result[0].functionResponse.response.output = "(hidden)" |
		.messages += [{id: "n1", timestamp: "2026-11-30T19:00:00.000Z", type: "user", content: "Another way."},
			{id: "n2", timestamp: "2026-11-30T19:00:01.000Z", type: "gemini", content: "Well.", model: "gemini-2.5-flash",
			 tokens: {input: 10, output: 2, cached: 0, thoughts: 0, tool: 1, total: 13}}]' whole.json >"$LOG"
	import 0 -q
	sound
	[[ $(record "$(main_run)" | wc -l) -gt $before ]]
	same "$(record "$(main_run)" | jq -r 'select(.type == "message.user").payload.blocks[0].text' | paste -sd,)" 'Look at hello.txt,Once more,Another way.'
	same "$(record "$(main_run)" | jq -c 'select(.type == "run.started").payload.attempt' | paste -sd' ')" '1 2'
	record "$(main_run)" >between
	import 0 -q
	cmp between <(record "$(main_run)")
	import 0 -q --ended 0s
	sound
	same "$(runs gemini)" '["success",3,3511,75] ["success",1,620,14]'
	same "$(record "$(main_run)" | jq -c 'select(.type == "run.completed").payload.usage | [.calls, .input_tokens, .output_tokens]' | paste -sd' ')" '[2,3500,73] [1,11,2]'
	once_more
	# It goes on as that.
	jq '.messages += [{id: "n3", timestamp: "2026-11-30T19:10:00.000Z", type: "user", content: "Thanks."}]' "$LOG" >more && cp more "$LOG"
	import 0 -q --ended 0s
	sound
	same "$(runs gemini)" '["success",4,3511,75] ["success",1,620,14]'
	once_more
}

@test "gemini: a prompt that is gone, while its answer is there" {
	gemini
	as_object >"${LOG%l}"
	rm "$LOG"
	LOG=${LOG%l}
	jq '.messages += [{id: "n1", timestamp: "2026-11-30T19:00:00.000Z", type: "user", content: "More."},
		{id: "n2", timestamp: "2026-11-30T19:00:01.000Z", type: "gemini", content: "Well."},
		{id: "n3", timestamp: "2026-11-30T19:00:02.000Z", type: "info", content: "!"}]' "$LOG" >whole.json
	cp whole.json "$LOG"
	import 0 -q
	jq '.messages |= map(select(.id != "n1"))' whole.json >"$LOG"
	import 0 -q --ended 0s
	sound
	same "$(record "$(main_run)" | jq -c 'select(.type == "step.completed").payload | [.call, .result]' | tail -n 2 | paste -sd' ')" \
		'["prompt:0:1","Again: hello."] ["prompt:0:2","Well."]'
	once_more
}

@test "gemini: an image, a compression of the history, a rewind, and what is not known" {
	gemini
	cat >"$LOG" <<-'END'
		{"sessionId":"s1","projectHash":"x","startTime":"2026-03-01T10:00:00.000Z","lastUpdated":"2026-03-01T10:00:00.000Z","kind":"main"}
		{"id":"u1","timestamp":"2026-03-01T10:00:01.000Z","type":"user","content":[{"text":"What is it?"},{"inlineData":{"mimeType":"image/png","data":"iVBORw0KGgo="}}]}
		{"id":"g1","timestamp":"2026-03-01T10:00:02.000Z","type":"gemini","content":"A till.","tokens":{"input":9,"output":1,"cached":0,"total":10},"model":"gemini-2.5-flash"}
		{"$set":{"messages":[{"id":"h1","timestamp":"2026-03-01T10:00:03.000Z","type":"user","content":[{"text":"<state_snapshot>all"}]},{"id":"h2","timestamp":"2026-03-01T10:00:03.000Z","type":"gemini","content":[{"text":"Got it."}],"tokens":{"input":9000,"output":900}}]}}
		{"id":"u2","timestamp":"2026-03-01T10:00:04.000Z","type":"user","content":"Wrong."}
		{"$rewindTo":"u2"}
		{"id":"e1","timestamp":"2026-03-01T10:00:05.000Z","type":"error","content":"No"}
		{"id":"u3","timestamp":"2026-03-01T10:00:06.000Z","type":"user","content":[{"text":"Right."},{"hologram":{}}]}
		{"id":"g2","timestamp":"2026-03-01T10:00:07.000Z","type":"gemini","content":"Yes.","tokens":{"input":8,"output":2,"cached":0,"total":10},"model":"gemini-2.5-flash"}
	END
	import 0 --ended 0s
	same "$stderr" 'awf-import: 13 lines of 1 session of gemini
awf-import: left out: messages of the program 2, error 1, hologram 1'
	sound
	same "$(runs gemini)" '["success",3,17,3]'
	record "$(main_run)" | jq -e 'select(.type == "message.user").payload.blocks[] | select(.type == "image").media_type == "image/png"' >/dev/null
}

# ---- GitHub Copilot CLI ----

@test "copilot: prompts, answers, tools, a sub-agent, a compaction" {
	copilot
	import 0 --ended 0s
	[[ $stderr == 'awf-import: 21 lines of 1 session of copilot
awf-import: left out: system.message 2, session.compaction_start 1, '* ]]
	sound
	same "$(runs copilot)" '["success",1,2377,68] ["success",1,620,12]'
	same "$(types "$(main_run)")" 'run.started copilot,step.started prompt,message.user,message.assistant,tool.call task,step.call_workflow.started agent,step.call_workflow.completed agent,tool.result task,message.assistant,message.assistant,step.completed prompt,run.completed'
	same "$(answers "$(main_run)")" '[1000,50,400,30,"gpt-4.1","copilot"] [1300,11,1100,5,"gpt-4.1","copilot"] [77,7,null,null,"gpt-4.1","copilot"]'
	same "$(record "$(main_run)" | jq -c 'select(.type == "step.completed").payload.result')" '"It says hello."'
	same "$(record "$(main_run)" | jq -c 'select(.seq == 1).payload | [.cwd, .inputs.version]')" '["/work/shop","1.0.102"]'
	[[ $(awf-tail -R "$(main_run)") == *bash* ]]
	once_more
}

@test "copilot: a log that grows, cut anywhere, gives the lines of one import" {
	copilot
	cp "$LOG" whole
	local lines bytes
	for lines in $(seq 1 "$(wc -l <whole)"); do
		head -n "$lines" whole >"$LOG"
		import 0 -q
	done
	sound
	import 0 -q --ended 0s
	sound
	records >pieces
	anew bytes
	for bytes in $(seq 100 "$(rounds 1871 83)" "$(stat -c %s whole)"); do
		head -c "$bytes" whole >"$LOG"
		import 0 -q
	done
	cp whole "$LOG"
	import 0 -q --ended 0s
	cmp pieces <(records)
	anew other
	import 0 -q --ended 0s
	cmp pieces <(records)
}

# What versions before 1.0.100 write: the output with each answer, the rest when the session ends.
old_copilot() {
	local clock=0 type data
	while IFS='|' read -r type data; do
		clock=$((clock + 1))
		printf '{"type":"%s","data":%s,"id":"e%s","timestamp":"2026-03-01T10:%02d:00.000Z","parentId":null}\n' "$type" "$data" $((clock + ${1-0})) "$clock"
	done
}

@test "copilot: a log without usage of each answer has what was used when the session ended, each time" {
	copilot
	old_copilot >"$LOG" <<-'END'
		session.start|{"sessionId":"s1","version":1,"producer":"copilot-agent","copilotVersion":"1.0.44","startTime":"2026-03-01T10:00:00.000Z","context":{"cwd":"/work/shop","branch":"main"}}
		user.message|{"content":"Look.","source":"user"}
		user.message|{"content":"a skill","source":"skill-x"}
		assistant.message|{"messageId":"m1","model":"gpt-5-mini","content":"","toolRequests":[{"toolCallId":"t1","name":"task","arguments":{"prompt":"p"}}],"outputTokens":30}
		subagent.started|{"toolCallId":"t1","agentName":"explore"}
		assistant.message|{"messageId":"m2","model":"gpt-5-mini","content":"Found.","toolRequests":[],"outputTokens":8,"parentToolCallId":"t1"}
		subagent.completed|{"toolCallId":"t1","agentName":"explore"}
		tool.execution_complete|{"toolCallId":"t1","success":false,"error":{"message":"no"}}
		assistant.message|{"messageId":"m3","model":"gpt-5-mini","content":"Good.","toolRequests":[],"outputTokens":5}
		session.shutdown|{"shutdownType":"routine","modelMetrics":{"gpt-5-mini":{"requests":{"count":3,"cost":1},"usage":{"inputTokens":900,"outputTokens":50,"cacheReadTokens":300,"cacheWriteTokens":0,"reasoningTokens":4}}}}
	END
	import 0 --ended 0s
	sound
	# 50, of which its answers say 35 and the sub-agent's 8.
	same "$(runs copilot)" '["success",1,900,42] ["success",0,0,8]'
	same "$(record "$(main_run)" | jq -c 'select(.type == "tool.result").payload | [.output, .error.code]')" '["no","tool"]'
	same "$(record "$(main_run)" | jq -c 'select(.type == "message.assistant" and .payload.partial) | .payload | [.blocks, .usage.cache_read_tokens]')" '[[],300]'
	old_copilot 100 >>"$LOG" <<-'END'
		session.resume|{"resumeTime":"2026-03-01T11:00:00.000Z"}
		user.message|{"content":"Again."}
		assistant.message|{"messageId":"m4","model":"gpt-5-mini","content":"Yes.","toolRequests":[],"outputTokens":6}
		session.shutdown|{"shutdownType":"routine","modelMetrics":{"gpt-5-mini":{"requests":{"count":1,"cost":0},"usage":{"inputTokens":100,"outputTokens":6,"cacheReadTokens":0,"cacheWriteTokens":0}}}}
	END
	import 0 -q --ended 0s
	sound
	same "$(runs copilot)" '["success",2,1000,48] ["success",0,0,8]'
	once_more
}

@test "copilot: an image, a file, and an answer that never came" {
	copilot
	old_copilot >"$LOG" <<-'END'
		session.start|{"sessionId":"s1","copilotVersion":"1.0.102","selectedModel":"gpt-4.1","context":{"cwd":"/work/shop"}}
		session.binary_asset|{"assetId":"sha256:b1","type":"image","mimeType":"image/png","byteLength":8,"data":"iVBORw0KGgo="}
		user.message|{"content":"What is it?","attachments":[{"type":"file","path":"/work/red.png","assetId":"sha256:b1","mimeType":"image/png"},{"type":"file","path":"/work/x.pdf"}]}
		session.usage_record|{"usage":{"model":"gpt-4.1","inputTokens":9,"outputTokens":2,"cacheReadTokens":0}}
		session.usage_record|{"usage":{"model":"gpt-4.1","inputTokens":10,"outputTokens":3,"cacheReadTokens":0}}
		assistant.message|{"model":"gpt-4.1","content":"Red.","toolRequests":[]}
		session.usage_record|{"usage":{"model":"gpt-4.1","inputTokens":11,"outputTokens":4,"cacheReadTokens":0}}
		abort|{"reason":"user"}
	END
	import 0 --ended 0s
	same "$stderr" 'awf-import: 8 lines of 1 session of copilot
awf-import: left out: attachments 1, abort 1'
	sound
	same "$(runs copilot)" '["success",1,30,9]'
	same "$(record "$(main_run)" | jq -c 'select(.type == "message.user").payload.blocks | map(.type)')" '["text","image"]'
	same "$(record "$(main_run)" | jq -c 'select(.type == "message.assistant").payload | [.partial, .usage.input_tokens]' | paste -sd' ')" '[true,9] [null,10] [true,11]'
	once_more
}

@test "copilot: a log that counts since the session was begun, and one whose answers name no model" {
	copilot
	old_copilot >"$LOG" <<-'END'
		session.start|{"sessionId":"s1","copilotVersion":"1.0.82","selectedModel":"gpt-4.1","context":{"cwd":"/work/shop"}}
		user.message|{"content":"Look."}
		assistant.message|{"model":"gpt-4.1","content":"Good.","toolRequests":[]}
		session.shutdown|{"modelMetrics":{"gpt-4.1":{"usage":{"inputTokens":2300,"outputTokens":61,"cacheReadTokens":1500,"reasoningTokens":35}}},"agentMetrics":{"main":{}}}
		user.message|{"content":"Again."}
		assistant.message|{"model":"gpt-4.1","content":"Yes.","toolRequests":[]}
		session.shutdown|{"modelMetrics":{"gpt-4.1":{"usage":{"inputTokens":3700,"outputTokens":64,"cacheReadTokens":1500,"reasoningTokens":35}}},"agentMetrics":{"main":{}}}
		session.shutdown|{"modelMetrics":{"gpt-4.1":{"usage":{"inputTokens":3700,"outputTokens":64,"cacheReadTokens":1500,"reasoningTokens":35}}},"agentMetrics":{"main":{}}}
	END
	import 0 -q --ended 0s
	sound
	same "$(runs copilot)" '["success",2,3700,64]'
	anew other
	old_copilot >"$LOG" <<-'END'
		session.start|{"sessionId":"s1","copilotVersion":"1.0.43","selectedModel":"gpt-4.1","context":{"cwd":"/work/shop"}}
		user.message|{"content":"Look."}
		assistant.message|{"content":"Good.","toolRequests":[],"outputTokens":50}
		session.model_change|{"newModel":"gpt-5-mini"}
		assistant.message|{"content":"Good.","toolRequests":[],"outputTokens":7}
		session.shutdown|{"modelMetrics":{"gpt-4.1":{"usage":{"inputTokens":1000,"outputTokens":50}},"gpt-5-mini":{"usage":{"inputTokens":300,"outputTokens":9}}}}
		user.message|{"content":"Again."}
		assistant.message|{"content":"Yes.","toolRequests":[],"outputTokens":3}
		session.shutdown|{"modelMetrics":{"gpt-5-mini":{"usage":{"inputTokens":1400,"outputTokens":3}}}}
	END
	import 0 -q --ended 0s
	sound
	same "$(runs copilot)" '["success",2,2700,62]'
}

# ---- OpenCode ----

@test "opencode: prompts, answers, tools, a sub-agent; a fork has only what came after it" {
	opencode
	import 0 --ended 0s
	same "$stderr" 'awf-import: 38 lines of 2 sessions of opencode
awf-import: left out: messages from before a fork 7'
	sound
	same "$(runs opencode)" '["success",2,6150,90] ["success",1,620,12] ["success",1,1500,7]'
	run=$(main_run)
	same "$(types "$run")" 'run.started opencode,step.started prompt,message.user,message.assistant,tool.call read,tool.call bash,tool.result read,tool.result bash,message.assistant,tool.call read,tool.result read,message.assistant,tool.call task,step.call_workflow.started agent,step.call_workflow.completed agent,tool.result task,message.assistant,step.completed prompt,step.started prompt,message.user,message.assistant,step.completed prompt,run.completed'
	same "$(answers "$run")" '[1000,50,400,30,"model","local"] [1200,17,1000,null,"model","local"] [1250,9,1000,null,"model","local"] [1300,11,1100,5,"model","local"] [1400,3,null,null,"model","local"]'
	same "$(record "$run" | jq -c 'select(.type == "tool.result").payload | [.name, .error.code]' | paste -sd' ')" '["read",null] ["bash",null] ["read","tool"] ["task",null]'
	same "$(record "$run" | jq -c 'select(.seq == 1).payload | [.cwd, .inputs.version]')" '["/work/shop","1.18.33"]'
	once_more
	# Without a total the output has the reasoning in it.
	db "UPDATE message SET data = json_remove(data, '$.tokens.total'); UPDATE part SET data = json_remove(data, '$.tokens.total')"
	anew untotalled
	import 0 -q --ended 0s
	same "$(runs opencode)" '["success",2,6150,55] ["success",1,620,12] ["success",1,1500,7]'
	# What it cost is what the program says, if it does.
	db "UPDATE message SET data = json_set(data, '$.cost', 0.25) WHERE data LIKE '%assistant%'"
	anew other
	import 0 -q --ended 0s
	same "$(awf-tail --list -n 9 --json --cost | jq -c .cost | sort | paste -sd' ')" '0.25 1.25'
}

@test "opencode: a session that grows message by message, and part by part, gives the lines of one import" {
	opencode
	import 0 -q --ended 0s
	records >once
	anew pieces
	mv "$DB" whole.db
	db "$(sqlite3 whole.db .schema); ATTACH 'whole.db' AS w; INSERT INTO session SELECT * FROM w.session"
	local id
	for id in $(sqlite3 whole.db "SELECT id FROM message ORDER BY time_created, id"); do
		# The answer has begun, and has some of its parts, of which tools are pending.
		db "ATTACH 'whole.db' AS w; INSERT INTO message SELECT id, session_id, time_created, time_created, json_remove(data, '$.time.completed', '$.finish') FROM w.message WHERE id = '$id'"
		import 0 -q
		db "ATTACH 'whole.db' AS w; INSERT INTO part SELECT id, message_id, session_id, time_created, time_updated,
			CASE WHEN data LIKE '%\"tool\"%' THEN json_set(json_remove(data, '$.state.output', '$.state.error', '$.state.metadata'), '$.state.status', 'pending') ELSE data END
			FROM w.part WHERE message_id = '$id'"
		[[ $id != *[02468aceg] ]] || import 0 -q
		db "ATTACH 'whole.db' AS w; UPDATE part SET data = (SELECT data FROM w.part p WHERE p.id = part.id) WHERE message_id = '$id';
			UPDATE message SET time_updated = (SELECT time_updated FROM w.message m WHERE m.id = message.id),
				data = (SELECT data FROM w.message m WHERE m.id = message.id) WHERE id = '$id'"
		import 0 -q
	done
	import 0 -q --ended 0s
	sound
	cmp once <(records)
}

@test "opencode: what was imported stays when it is taken back; an answer that was broken off" {
	opencode
	import 0 -q
	# The last prompt of the first session is undone, and another given.
	session=$(db "SELECT session_id FROM message WHERE id LIKE 'msg_22db708c%'")
	db "DELETE FROM message WHERE session_id = '$session' AND time_created >= 1796063307766;
		INSERT INTO message VALUES ('msg_30', '$session', 1796063320000, 1796063320000, '{\"role\":\"user\",\"time\":{\"created\":1796063320000}}'),
			('msg_31', '$session', 1796063321000, 1796063321000, '{\"role\":\"assistant\",\"time\":{\"created\":1796063321000},\"modelID\":\"model\",\"providerID\":\"local\",\"tokens\":{\"total\":10,\"input\":5,\"output\":1,\"reasoning\":2,\"cache\":{\"read\":1,\"write\":1}}}');
		INSERT INTO part VALUES ('prt_30', 'msg_30', '$session', 1, 1, '{\"type\":\"text\",\"text\":\"Another way.\"}'),
			('prt_31', 'msg_31', '$session', 1, 1, '{\"type\":\"text\",\"text\":\"We\"}')"
	import 0 -q
	sound
	prompts() { record "$(main_run)" | jq -r 'select(.type == "message.user").payload.blocks[0].text' | paste -sd,; }
	same "$(prompts)" '"Look at hello.txt","Once more",Another way.'
	same "$(runs opencode | cut -d' ' -f1)" '["running",3,6150,90]'
	# It was broken off, and the session goes on.
	db "INSERT INTO message VALUES ('msg_32', '$session', 1796063330000, 1796063330000, '{\"role\":\"user\",\"time\":{\"created\":1796063330000}}'),
			('msg_33', '$session', 1796063331000, 1796063331000, '{\"role\":\"assistant\",\"error\":{\"name\":\"APIError\"},\"time\":{\"created\":1796063331000,\"completed\":1796063331001}}');
		INSERT INTO part VALUES ('prt_32', 'msg_32', '$session', 1, 1, '{\"type\":\"text\",\"text\":\"So?\"}')"
	import 0 --ended 0s
	[[ $stderr == *'answers that failed 1'* ]]
	sound
	same "$(prompts)" '"Look at hello.txt","Once more",Another way.,So?'
	same "$(runs opencode | cut -d' ' -f1)" '["success",4,6157,93]'
	once_more
}

@test "opencode: a tree of files is the same session as the database that it became" {
	opencode
	tree=$DATA/storage
	mkdir -p "$tree/session/global"
	db "SELECT id, json_object('id', id, 'version', version, 'directory', directory, 'parentID', parent_id, 'time', json_object('created', time_created, 'updated', time_updated)) FROM session" |
		while IFS='|' read -r id json; do jq . <<<"$json" >"$tree/session/global/$id.json"; done
	db "SELECT session_id, id, data FROM message" |
		while IFS='|' read -r session id json; do mkdir -p "$tree/message/$session"; jq . <<<"$json" >"$tree/message/$session/$id.json"; done
	db "SELECT message_id, id, data FROM part" |
		while IFS='|' read -r message id json; do mkdir -p "$tree/part/$message"; jq . <<<"$json" >"$tree/part/$message/$id.json"; done
	import 0 --ended 0s
	same "$(head -n 1 <<<"$stderr")" 'awf-import: 38 lines of 2 sessions of opencode'
	records >database
	mv "$DB" gone.db
	rm -f "$DB"-*
	anew tree
	import 0 --ended 0s
	same "$(head -n 1 <<<"$stderr")" 'awf-import: 38 lines of 2 sessions of opencode'
	cmp database <(records)
	mv gone.db "$DB"
	once_more
	# One of its sessions, or the tree, as it is named.
	anew named
	import 0 -q --ended 0s "$(echo "$tree"/session/global/*Vi[D].json)"
	import 0 -q --ended 0s --from opencode "$DATA"
	cmp database <(records)
}

@test "opencode: a database that is none of its own, or of a later version, is named" {
	opencode
	db "CREATE TABLE session_message (id TEXT, session_id TEXT, type TEXT, data TEXT);
		INSERT INTO session_message SELECT 'm' || value, session.id, 'user', '{}' FROM session, json_each('[1,2,3]') WHERE parent_id IS NULL;
		DELETE FROM message WHERE session_id = (SELECT id FROM session WHERE parent_id IS NULL ORDER BY time_created LIMIT 1)"
	import 0 --ended 0s
	[[ $stderr == *'messages of OpenCode 2 3'* ]]
	anew other
	rm "$DB"*
	sqlite3 "$DB" 'CREATE TABLE session_v2 (id text)'
	import 0
	same "$stderr" 'awf-import: 0 lines of 0 sessions of opencode
awf-import: left out: databases of OpenCode 2 1'
	echo 'no database, but long enough to be one' >"$DATA/opencode-x.db"
	import 3
	[[ $stderr == *"$DATA/opencode-x.db: "*'not a database'* ]]
}

# ---- all of them ----

@test "the logs of all formats are found, each by its own" {
	gemini
	copilot
	opencode
	import 0 --ended 0s
	same "$(grep -o '[0-9]* lines of .*' <<<"$stderr" | sed 's/[0-9]* lines of //')" '1 session of copilot
1 session of gemini
2 sessions of opencode'
	sound
	mkdir logs
	mv "$HOME/.gemini/tmp" "$HOME/.copilot/session-state" "$HOME/.local/share/opencode" logs
	anew named
	import 0 --ended 0s logs
	same "$(grep -o '[0-9]* lines of .*' <<<"$stderr" | sed 's/[0-9]* lines of //')" '1 session of copilot
1 session of gemini
2 sessions of opencode'
	sound
	import 0 --ended 0s --since 2030-01-01 logs
	same "$stderr" 'awf-import: no log was found that has changed since then'
}

@test "masked: in pieces, again and whole, nothing of the masked words is recorded; nothing at all if the mask fails" {
	gemini
	copilot
	opencode
	cp "$LOG" whole
	printf '%s\n' hello.txt >secrets
	: >there
	anew plain
	import 0 -q --ended 0s
	records | grep -q hello.txt
	anew masked
	export AWF_MASK="test -e $PWD/there && '$BUILD/libexec/awf/awf-mask-patterns' $PWD/secrets"
	rm there
	import 4 -q --ended 0s
	same "$(ls "$AWF_STORAGE/transcripts")" ''
	: >there
	local lines
	for lines in $(seq 4 9 "$(wc -l <whole)"); do
		head -n "$lines" whole >"$LOG"
		import 0 -q
	done
	cp whole "$LOG"
	import 0 -q --ended 0s
	sound
	same "$(grep -rlaF hello.txt "$AWF_STORAGE")" ''
	records | grep -qF '[masked]'
	kinds() { jq -r '[.run_id, .seq, .type] | @tsv' "$1"/transcripts/*.jsonl | sort; }
	same "$(kinds masked)" "$(kinds plain)"
	records >before
	rm -r "$AWF_STORAGE/imports"
	once_more
	cmp before <(records)
	# What was masked has to be masked again, also inside of a database; what failed there is tried again.
	unset AWF_MASK
	import 3 -q --ended 0s
	import 3 -q --ended 0s --from opencode
	[[ $stderr == *"$DB/"*'was imported with a mask'* ]]
	cmp before <(records)
}

@test "a database that is named is read with all sessions in it, whether it has changed or not" {
	opencode
	import 0 -q --ended 0s
	records >before
	rm "$AWF_STORAGE"/transcripts/*
	# That it was read has not changed it.
	cat "$AWF_STORAGE"/imports/* >notes
	once_more
	cmp notes <(cat "$AWF_STORAGE"/imports/*)
	import 0 -q --ended 0s "$DB"
	cmp before <(records)
}

@test "a session that is rewritten has nothing that cannot be known again" {
	mkdir bin
	cat >bin/awf-import-notes <<-'END'
		#!/bin/sh
		for file; do :; done
		echo '{"session":"one","name":"notes","rewritten":true,"time":"2026-01-01T00:00:00Z"}'
		echo '{"prompt":[{"type":"text","text":"q"}],"id":"1","time":"2026-01-01T00:00:01Z"}'
		cat "$file"
	END
	chmod +x bin/awf-import-notes
	PATH=$PWD/bin:$PATH
	local kind
	for kind in '"step":"s","id":"3"' '"call":"c","name":"t"' '"end":"failed"'; do
		echo "{$kind}" >"log"
		import 3 --from notes --ended 0s ./log
		[[ $stderr == *"says '$(cut -d'"' -f2 log)' in a session that is rewritten"* ]]
	done
	echo '{"answer":[{"type":"text","text":"a"}],"id":"2","model":"m"}' >log
	import 0 --from notes --ended 0s ./log
	sound
	same "$(runs notes)" '["success",1,0,0]'
}

@test "a format whose program is not there is named, and the others are taken" {
	gemini
	mkdir -p "$HOME/.local/share/opencode" place/bin place/libexec/awf
	: >"$HOME/.local/share/opencode/opencode.db"
	cp "$(command -v awf-import)" place/bin
	cp "$BUILD/libexec/awf/awf-import-gemini" place/libexec/awf
	run -0 --separate-stderr place/bin/awf-import --ended 0s
	same "$stderr" 'awf-import: 31 lines of 1 session of gemini
awf-import: left out: messages of the program 1
awf-import: sessions of opencode are left out: there is no program awf-import-opencode'
	run -1 --separate-stderr place/bin/awf-import --from opencode
	same "$stderr" 'awf-import: --from: there is no program awf-import-opencode'
}
