#!/usr/bin/env bats
# bats file_tags=turn:2
# awf-import: session logs become runs; what comes later is added, and nothing twice.
# shellcheck shell=bash disable=SC2016,SC2154
bats_require_minimum_version 1.5.0
load ../../support/helpers
load ../../support/import

prepare() {
	mkdir -p "$HOME/.claude/projects/-work-shop"
	LOG=$HOME/.claude/projects/-work-shop/$SESSION.jsonl
	clock=0
	: >"$LOG"
}

last_run() { awf-tail --list --json -n 1 | jq -r .run_id; }
record() { cat "$AWF_STORAGE/transcripts/$(last_run).jsonl"; }

@test "prompts, answers, tools, tokens and cost, with the times of the log" {
	{ first; second; } >"$LOG"
	import 0 --ended 0s
	same "$stderr" 'awf-import: 15 lines of 1 session of claude
awf-import: left out: file-history-snapshot 1, progress 1'
	sound
	same "$(awf-tail --list --json | jq -c '[.name, .status, .calls, .input_tokens, .output_tokens, .started, .duration_ms, .origin]')" \
		'["claude","success",2,3330,55,"2026-03-01T10:01:00.000000Z",540000,"claude"]'
	awf-tail --list --json --cost | jq -e '.cost > 0'
	same "$(record | jq -r '.type + " " + (.payload.name // .payload.call_id // "")' | paste -sd,)" \
		'run.started claude,step.started prompt,message.user ,message.assistant ,tool.call Read,tool.call Bash,tool.result Read,tool.result Bash,message.assistant ,step.completed prompt,step.started prompt,message.user ,message.assistant ,step.completed prompt,run.completed '
	same "$(record | jq -c 'select(.type == "message.assistant").payload | [.usage.input_tokens, .usage.output_tokens, .usage.cache_read_tokens, .usage.cache_write_tokens, .model, .provider]' | head -n 1)" \
		'[1110,20,1000,100,"claude-opus-4-6","anthropic"]'
	same "$(record | jq -c 'select(.type == "step.completed").payload.result' | paste -sd' ')" '"It counts twice." "Done."'
	same "$(record | jq -c 'select(.type == "tool.result").payload | [.name, .error.code]' | paste -sd' ')" '["Read",null] ["Bash","tool"]'
	same "$(record | jq -c 'select(.seq == 1).payload | [.cwd, (.inputs | .session, .version, .branch)]')" "[\"/work/shop\",\"$SESSION\",\"2.1.40\",\"main\"]"
	[[ $(awf-replay --tree "$(last_run)") == *'Read done'*'Bash failed'* ]]
}

@test "again: nothing is added, and a log that did not change is not read" {
	first >"$LOG"
	import 0
	[[ $stderr == 'awf-import: '*' lines of 1 session of claude'* ]]
	record >before
	import 0
	same "$stderr" 'awf-import: 0 lines of 0 sessions of claude'
	touch -d '2 hours ago' "$LOG"
	import 0
	same "$(head -n 1 <<<"$stderr")" 'awf-import: 0 lines of 0 sessions of claude'
	cmp before <(record)
}

@test "a log that grows, cut anywhere, gives the lines of one import" {
	{ first; second; } >whole
	local bytes
	for bytes in $(seq 40 "$(rounds 611 97)" "$(stat -c %s whole)"); do
		head -c "$bytes" whole >"$LOG"
		import 0 -q
	done
	cp whole "$LOG"
	import 0 -q --ended 0s
	record >pieces
	sound
	export AWF_STORAGE=$PWD/other
	import 0 -q --ended 0s
	cmp pieces <(record)
}

@test "a session that goes on after it was over is a further attempt" {
	first >"$LOG"
	import 0 -q --ended 0s
	same "$(awf-tail --list --json | jq -r .status)" success
	second >>"$LOG"
	import 0 -q --ended 0s
	sound
	same "$(record | jq -c 'select(.type == "run.started").payload.attempt' | paste -sd' ')" '1 2'
	same "$(record | jq -c 'select(.type == "run.completed").payload.usage.calls' | paste -sd' ')" '1 1'
	import 0 -q --ended 0s
	sound
	# Also from the beginning: the ends that are recorded are kept.
	rm -r "$AWF_STORAGE/imports"
	record >before
	import 0 -q --ended 0s
	cmp before <(record)
}

@test "a sub-agent is a child run, with its cost and its tools" {
	mkdir -p "${LOG%.jsonl}/subagents"
	{
		prompt 1 'Look.'
		answer m1 "$(use t1 Task '{"prompt":"find it"}')" 9
		result t1 'found' '' ',"toolUseResult":{"agentId":"a17"}'
		answer m2 "$(text Good.)" 2
	} >"$LOG"
	{ prompt s1 'find it'; answer s2 "$(use t9 Grep '{"pattern":"x"}')" 7; result t9 'x.c'; answer s3 "$(text found)" 3; } >"${LOG%.jsonl}/subagents/agent-a17.jsonl"
	import 0 --ended 0s
	[[ $stderr == 'awf-import: '*' lines of 1 session of claude' ]]
	sound
	same "$(awf-tail --list --json | jq -r .output_tokens)" 11
	same "$(awf-tail --list -R --json | jq -r .output_tokens | sort -n | paste -sd' ')" '10 11'
	[[ $(awf-tail -R "$(awf-tail --list --json | jq -r .run_id)") == *Grep* ]]
	awf-tail --stats --by tool --json | jq -e 'select(.tool == "Grep").count == 1'
}

@test "a server that gives each answer and each call of a tool the same id" {
	{
		prompt 1 One.
		for _ in 1 2 3; do
			answer m1 "$(use t1 Read '{}')" 8
			result t1 yes
			prompt 2 Next.
		done
		answer m1 "$(text Done.)" 5
	} >"$LOG"
	import 0 -q --ended 0s
	sound
	same "$(record | jq -r .type | sort | uniq -c | awk '{ print $2, $1 }' | grep 'assistant\|tool' | paste -sd,)" 'message.assistant 4,tool.call 3,tool.result 3'
}

@test "a server that gives each answer the same id, and each request its own" {
	{
		prompt 1 One.
		for request in 1 2; do
			answer m1 "$(text 'I look.')" 3 | sed "s/\"message\"/\"requestId\":\"req_$request\",&/"
			answer m1 "$(use "t$request" Read '{}')" 8 | sed "s/\"message\"/\"requestId\":\"req_$request\",&/"
			result "t$request" yes
		done
	} >"$LOG"
	import 0 -q --ended 0s
	sound
	same "$(awf-tail --list --json | jq -c '[.input_tokens, .output_tokens]')" '[2220,16]'
}

@test "codex: an answer is the items of a response, its usage what comes after them, once" {
	mkdir -p "$HOME/.codex/sessions/2026/03/02"
	rollout >"$HOME/.codex/sessions/2026/03/02/rollout-2026-03-02T10-01-00-x.jsonl" <<-'END'
		session_meta|{"id":"s1","cwd":"/work","cli_version":"0.171.0","model_provider":"openai","git":{"branch":"main"}}
		response_item|{"type":"message","role":"developer","content":[{"type":"input_text","text":"rules"}]}
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
	END
	prompt 1 'And Claude.' >"$LOG"
	import 0 --ended 0s
	[[ $stderr == *'sessions'* || $stderr == *'1 session of claude'*'1 session of codex'* ]]
	sound
	same "$(awf-tail --list --json | jq -c 'select(.name == "codex") | [.status, .calls, .input_tokens, .output_tokens]')" '["success",1,220,9]'
	run=$(awf-tail --list --json | jq -r 'select(.name == "codex").run_id')
	same "$(awf-tail --json "$run" | jq -c 'select(.type == "message.assistant").payload | [.provider, .model, (.blocks | map(.type)), .usage.cache_read_tokens, .usage.reasoning_tokens]' | paste -sd' ')" \
		'["openai","gpt-5.2",["thinking","tool_use"],40,3] ["openai","gpt-5.2",["text"],null,null]'
	same "$(awf-tail --json "$run" | jq -c 'select(.type == "tool.call").payload | [.name, .input]')" '["exec_command",{"cmd":"wc"}]'
	same "$(awf-tail --json "$run" | jq -c 'select(.type == "step.completed").payload.result')" '"Three."'
}

@test "what is none of ours, damaged, large, or says nothing" {
	{
		first
		echo 'not json'
		echo '{"no":"type"}'
		prompt 3 "$(head -c 300000 /dev/zero | tr '\0' x)"
		answer m9 '{"type":"server_tool_use","id":"x"}' 1
		printf '{"type":"user","uuid":"u","timest'
	} >"$LOG"
	import 0 --ended 0s
	sound
	[[ $stderr == *'damaged lines 1'* && $stderr == *'lines without a type 1'* && $stderr == *'server_tool_use 1'* ]]
	record | jq -e 'select(.refs != null)' >/dev/null
	: >empty.jsonl
	import 0 ./empty.jsonl
	same "$stderr" 'awf-import: 0 lines of 0 sessions of claude'
	import 1 ./nothing.jsonl
	same "$stderr" 'awf-import: ./nothing.jsonl: unable to look at it: No such file or directory'
	import 1 --from nosuch "$LOG"
	same "$stderr" 'awf-import: --from: there is no program awf-import-nosuch'
	import 1 --from '../x' "$LOG"
	same "$stderr" "awf-import: --from: '../x' is no name of a format"
}

@test "a format of the user's own; one that says nonsense, and one that fails" {
	mkdir bin
	cat >bin/awf-import-notes <<-'END'
		#!/bin/sh
		for file; do :; done
		echo "{\"session\":\"$(basename "$file")\",\"name\":\"notes\",\"time\":\"2026-01-01T00:00:00Z\"}"
		echo '{"prompt":[{"type":"text","text":"q"}],"id":"1","time":"2026-01-01T00:00:01Z"}'
		echo '{"answer":[{"type":"text","text":"a"}],"id":"2","time":"2026-01-01T00:00:02Z","model":"m"}'
		[ ! -s "$file" ] || cat "$file"
	END
	chmod +x bin/awf-import-notes
	PATH=$PWD/bin:$PATH
	: >one
	import 0 --from notes --ended 0s ./one
	same "$(awf-tail --list --json | jq -c '[.name, .calls]')" '["notes",1]'
	sound
	echo '{"answer":[]}' >two
	import 3 --from notes ./two
	[[ $stderr == *'says an answer without an id'* ]]
	echo nonsense >three
	import 3 --from notes ./three
	[[ $stderr == *'the format program says no JSON object'* ]]
	printf '#!/bin/sh\nexit 7\n' >bin/awf-import-notes
	: >four
	import 3 --from notes ./four
	[[ $stderr == *'awf-import-notes: exit status 7'* ]]
}

@test "a session that was changed where it was imported is refused, others are taken" {
	first >"$LOG"
	import 0 -q
	sed -i 's/Why is/Where is/' "$LOG"
	prompt 1 other >"${LOG%/*}/11111111-2222-4b5d-8a3c-1d2e3f405162.jsonl"
	import 3
	[[ $stderr == *"$SESSION.jsonl: "* ]]
	same "$(awf-tail --list --json | wc -l)" 2
	sound
}

@test "followed: what comes is there a second later" {
	first >"$LOG"
	awf-import -f -q 3>&- &
	follower=$!
	has_prompts() { [ "$(record 2>/dev/null | grep -c '"type":"message.user"')" = "$1" ]; }
	eventually has_prompts 1
	second >>"$LOG"
	eventually has_prompts 2
	kill "$follower"
	wait "$follower" || true
	sound
}

@test "what is no log is refused, and not waited for; that there is none is said" {
	mkfifo pipe.jsonl
	run -1 timeout 20 awf-import pipe.jsonl
	same "$output" 'awf-import: pipe.jsonl: neither a file nor a directory'
	run -1 timeout 20 awf-import /dev/zero
	same "$output" 'awf-import: /dev/zero: neither a file nor a directory'
	# In a directory it is passed over.
	first >"$LOG"
	mkfifo "${LOG%/*}/pipe.jsonl"
	run -0 timeout 20 awf-import
	[[ $output == 'awf-import: '*' lines of 1 session of claude'* ]]
	mkdir nothing
	run -0 awf-import nothing
	same "$output" 'awf-import: no log was found'
	run -0 awf-import --since 2100-01-01
	same "$output" 'awf-import: no log was found that has changed since then in the home directory: awf-import FILE or DIR takes others'
	run -0 awf-import -q nothing
	same "$output" ''
}

# Files of the storage that hold one of these words, in their contents or names.
holding() {
	local word
	for word; do
		grep -rl -- "$word" "$AWF_STORAGE"
		find "$AWF_STORAGE" -name "*$word*"
	done
}

@test "masked: what was imported holds nothing of the masked words, in pieces, again and whole" {
	local secret='hunter2-ruby' cut bytes
	printf '%s\n' "$secret" >secrets
	export AWF_MASK="patterns $PWD/secrets"
	mkdir -p "${LOG%.jsonl}/subagents"
	cut=$(head -c 490 /dev/zero | tr '\0' x)
	{
		prompt 1 "Open it with $secret"
		answer m1 "$(use t1 Bash "{\"command\":\"login $secret\"}"),$(use "t2" "$secret" '{}'),$(use t3 Task '{}')" 9
		# In the middle of what the message of an error has of it.
		result t1 "$cut$secret$cut" ',"is_error":true'
		result t2 "$(head -c 300000 /dev/zero | tr '\0' y) $secret"
		result t3 found '' ',"toolUseResult":{"agentId":"a17"}'
		answer m2 "$(text "It said $secret.")" 2
		prompt 2 "$(head -c 300000 /dev/zero | tr '\0' z)$secret"
		answer m3 "$(text "Well.")" 2
	} | sed "s/\"gitBranch\":\"main\"/\"gitBranch\":\"$secret\"/; s/shop/$secret/" >whole
	{ prompt s1 "find $secret"; answer s2 "$(text "$secret")" 7; } >"${LOG%.jsonl}/subagents/agent-a17.jsonl"
	for bytes in 900 1500 2500 400000; do
		head -c "$bytes" whole >"$LOG"
		import 0 -q
	done
	cp whole "$LOG"
	import 0 -q --ended 0s
	sound
	same "$(holding "$secret" hunter2 hunter)" ''
	same "$(record | jq -c 'select(.seq == 1).payload.masked')" true
	[[ $(record | jq -r 'select(.type == "tool.result").payload.error.message // empty') == *'[masked]'* ]]
	[ -n "$(ls "$AWF_STORAGE"/blobs/*/*)" ]
	# What of a prompt is recorded is no digest of it.
	! record | grep -q "$(printf 'Open it with %s' "$secret" | sha256sum | cut -c 1-64)"
	record >before
	rm -r "$AWF_STORAGE/imports"
	import 0 --ended 0s
	[[ $stderr == 'awf-import: 0 lines of 0 sessions of claude'* ]]
	cmp before <(record)
}

@test "masked now and not before, or the other way, is refused; so is all if the mask fails" {
	first >"$LOG"
	import 0 -q
	AWF_MASK=cat import 3
	[[ $stderr == *'was imported without a mask'* ]]
	export AWF_STORAGE=$PWD/other
	import 0 -q --mask cat
	import 3
	[[ $stderr == *'was imported with a mask'* ]]
	import 0 --mask cat
	same "$stderr" 'awf-import: 0 lines of 0 sessions of claude'
	export AWF_STORAGE=$PWD/third
	import 4 --mask 'exit 7'
	[[ $stderr == 'awf-import: --mask: the filter ended'* ]]
	same "$(ls "$AWF_STORAGE/transcripts")" ''
	import 1 --mask ' '
	same "$stderr" 'awf-import: --mask: the command is empty'
}
