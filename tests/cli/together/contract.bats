#!/usr/bin/env bats
# What the manual pages promise of every event and state line, seen in whole runs.
# shellcheck disable=SC2016,SC2154 # $variables of inner shells; bats sets stderr
bats_require_minimum_version 1.5.0
load ../../support/helpers

prepare() {
	mkdir agents tools providers
	export AWF_PROVIDER_PATH="$PWD/providers" PROVIDER_LOG="$PWD/requests"
	cat >providers/awf-provider-plain <<-'END'
		#!/bin/sh
		# Answers the Nth request with the Nth line of ./answers, the last one again and
		# again; "stall" is no answer.
		n=0
		while IFS= read -r line; do
			printf '%s\n' "$line" >>"$PROVIDER_LOG"
			case $line in *'"cancel"'*) continue;; esac
			id=${line#*:}
			n=$((n + 1))
			answer=$(sed -n "$n p" answers)
			[ "$answer" ] || answer=$(tail -n 1 answers)
			[ "$answer" = stall ] || printf '{"id":%s,%s\n' "${id%%,*}" "${answer#?}"
		done
	END
	chmod +x providers/awf-provider-plain
	agent helper 'tools: [add, slow]'
	tool add '"effects":"workspace"' 'echo 5'
	tool slow '"timeout":"100ms"' 'exec sleep 20'
	tool other '"effects":"none"' 'echo other'
}

# An agent file with these further lines of front matter.
agent() {
	printf -- '---\nname: %s\nprovider: plain\nmodel: m\n%s\n---\nBe brief.\n' "$1" "${2-}" >"agents/$1.md"
}
tool() {
	echo "{\"description\":\"$1\",$2}" >"tools/$1.tool.json"
	printf '#!/bin/sh\n%s\n' "$3" >"tools/$1"
	chmod +x "tools/$1"
}
# Answers: text, or calls of tools with {}.
says() {
	jq -cn --arg text "$1" '{type: "message", blocks: [{type: "text", text: $text}],
		stop_reason: "end_turn", usage: {input_tokens: 1, output_tokens: 1}, model: "m-1"}'
}
calls() {
	jq -cn '{type: "message", blocks: [{type: "text", text: "look"}, ($ARGS.positional | to_entries[] |
		{type: "tool_use", tool_id: "t\(.key)", tool_name: .value, tool_input: {}})],
		stop_reason: "tool_use", usage: {input_tokens: 1, output_tokens: 1}, model: "m-1"}' --args "$@"
}
# Of the events of a type in the latest run.
events() { jq -c "select(.type == \"$1\") | $2" "$(transcript)"; }
keys() { events "$1" '.payload | keys_unsorted | join(" ")' | sort -u | tr -d '"'; }

# bats test_tags=turn:2
@test "keys stand in their order, those of lines and those of payloads" {
	export JQ=jq
	{ calls add slow; says fine; } >answers
	echo q | awf-run --input k=v -c 'awf-step -q --timeout 1m -a helper ask
		echo y | awf-step --when true --effects read,idempotent --try c -- sh -c "echo no >&2; exit 3"
		echo x | awf-step -q --retries 1 --delay 0 --retry-on schema --allow-failure o -t add
		echo x | awf-step --when false s -- true' >state 2>/dev/null
	same "$(jq -r 'keys_unsorted | join(" ")' "$(transcript)" | sort -u)" \
"seq timestamp event_id run_id parent_event_id links type path iteration payload prev
seq timestamp event_id run_id parent_event_id type path iteration payload prev"
	same "$(keys run.started)" 'name kind argv cwd directory storage inputs env start workflow_sha256 files awf_version format attempt'
	same "$(keys run.completed)" 'status exit_code error duration_ms stdin stdout usage'
	same "$(keys step.started)" \
"name kind call attempt input_sha256 input definition_sha256 blocks condition
name kind call attempt input_sha256 input definition_sha256 effects idempotent blocks condition mode
name kind call attempt input_sha256 input definition_sha256 files agent provider model timeout_ms
name kind call attempt input_sha256 input definition_sha256 files effects tool mode"
	same "$(events step.started '.payload | select(.tool).files | map(.path)')" \
		"[\"$PWD/tools/add.tool.json\",\"$PWD/tools/add\"]"
	same "$(keys step.completed)" \
"name kind call duration_ms skipped
name kind call error duration_ms exit_code stderr stderr_bytes
name kind call error duration_ms retries
name kind call result duration_ms"
	same "$(keys message.user)" 'role blocks system_prompt tools params turn'
	same "$(keys message.assistant)" \
"role blocks model stop_reason usage duration_ms turn request_sha256
role blocks partial retry delay_ms"
	same "$(keys tool.call)" "$(printf '%s\n' 'name call_id input effects fidelity' 'name call_id input fidelity')"
	same "$(keys tool.result)" "$(printf '%s\n' 'name call_id error duration_ms exit_code fidelity' \
		'name call_id error duration_ms fidelity' 'name call_id output duration_ms fidelity')"
	same "$(events message.assistant '.payload.turn // empty' | tr '\n' ' ')" '0 1 '
	awf-step -n ok -- echo fine >>state
	same "$(jq -r '.metadata | keys_unsorted | join(" ")' state)" \
"run_id event_id seq call path iteration agent_name previous_agent step_index timestamp execution_time_ms tool_calls_count sha256 skipped
run_id event_id seq call path iteration agent_name previous_agent step_index timestamp execution_time_ms tool_calls_count sha256 token"
}

@test "causes of several tool calls: a result has its call, the answer has all results" {
	{ calls add other slow; says fine; } >answers
	echo q | awf-step -q -a helper ask
	same "$(jq -rs '. as $all | .[] | .event_id as $id | (.links // [])[] | . as $l |
		$all[] | select(.event_id == $l) | .payload.call_id' "$(transcript)" | tr '\n' ' ')" 't1 t2 '
	same "$(jq -cs '(map({key: .event_id, value: .}) | from_entries) as $by | map($by[.parent_event_id // ""] |
		[.type, .payload.call_id])' "$(transcript)")" \
		'[[null,null],["run.started",null],["step.started",null],["message.user",null],["message.assistant",null],["tool.call","t0"],["message.assistant",null],["tool.call","t1"],["message.assistant",null],["tool.call","t2"],["tool.result","t0"],["message.assistant",null],["run.started",null]]'
}

@test "input is left out of the record only where the parent's result is the same" {
	awf-run -c 'echo x | awf-step a -- cat | awf-step b -- cat | awf-step -q c -- cat'
	same "$(events step.started '.payload | has("input")' | tr '\n' ' ')" 'true false false '
	awf-run -c 'echo x | awf-step --allow-failure a -- false 2>/dev/null | awf-step -q b -- cat'
	same "$(events step.started '.payload | [has("input"), .input]' | tail -n 1)" '[true,null]'
	awf-run -c 'echo x | awf-step --when false a -- cat | awf-step -q b -- cat'
	same "$(events step.started .payload.input | tail -n 1)" '"x"'
	awf-run -c 'echo x | awf-step --rescue a -- cat | awf-step -q b -- cat'
	same "$(events step.started .payload.input | tail -n 1)" '"x"'
	awf-run -c 'echo x | awf-step -O lines a -- cat | awf-step -q b -- cat'
	same "$(events step.started .payload.input | tail -n 1)" '"x"'
}

@test "--by-name with a name twice is an error, and what is recorded of it is JSON" {
	run -1 --separate-stderr awf-run -c '{ echo 1 | awf-step a -- cat; echo 2 | awf-step a -- cat; } |
		awf-step -s --by-name c -- cat'
	same "$(jq -c '[.data, .metadata.error.code]' <<<"$output")" '[{"a":"1"},"invalid_input"]'
	awf-verify
}

@test "the run of a step alone ends as its process does" {
	awf-step -q a -- sleep 20 <<<x 2>/dev/null &
	pid=$!
	until [ -e "$AWF_STORAGE/latest" ] && events step.started . | grep -q .; do sleep 0.01; done
	kill -TERM $pid
	wait $pid || status=$?
	same "$status" 143
	same "$(events run.completed '.payload | [.status, .exit_code, .error.code]')" '["cancelled",143,"cancelled"]'
	mkfifo out
	for jobs in 1 2; do
		rm "$AWF_STORAGE/latest"
		sh -c 'awf-step -j $0 b -- sleep 20; echo $? >status' $jobs <<<x >out &
		exec 4<out
		until [ -e "$AWF_STORAGE/latest" ] && events step.started . | grep -q .; do sleep 0.01; done
		exec 4<&-
		wait
		same "$(cat status)" 141
		same "$(events run.completed '.payload | [.status, .exit_code, .error.code]')" '["success",141,"downstream_closed"]'
		same "$(events step.completed '.payload.error.code')" '"downstream_closed"'
	done
}

@test "SIGTERM, a closed output and a timeout are told to the provider" {
	echo stall >answers
	awf-step -q -a helper ask <<<q 2>/dev/null &
	pid=$!
	until [ -s "$PROVIDER_LOG" ]; do sleep 0.01; done
	kill -TERM $pid
	wait $pid || true
	same "$(sed -n 2p "$PROVIDER_LOG")" '{"cancel":1}'
	rm "$PROVIDER_LOG"
	mkfifo out
	awf-step -a helper ask <<<q >out &
	exec 4<out
	until [ -s "$PROVIDER_LOG" ]; do sleep 0.01; done
	exec 4<&-
	wait
	same "$(sed -n 2p "$PROVIDER_LOG")" '{"cancel":1}'
	same "$(events step.completed .payload.error.code)" '"downstream_closed"'
	rm "$PROVIDER_LOG"
	run -3 awf-step -q --timeout 100ms -a helper ask <<<q
	same "$(sed -n 2p "$PROVIDER_LOG")" '{"cancel":1}'
}

# bats test_tags=turn:3
@test "a tool's time limit, no limit of turns, limits of the command line" {
	{ calls slow; says fine; } >answers
	same "$(echo q | awf-step -r -a helper ask)" fine
	same "$(events tool.result '.payload.error')" '{"code":"timeout","message":"timed out after 100ms"}'
	agent endless "$(printf 'tools: [add]\nmax_turns: 0\nstuck_after: 0')"
	agent patient "$(printf 'tools: [add]\nstuck_after: 0')"
	{ for _ in $(seq 40); do calls other; done; says 'done'; } >answers
	same "$(echo q | awf-step -r -a endless ask)" 'done'
	same "$(events message.assistant . | wc -l)" 41
	run -3 --separate-stderr awf-step -r -a patient ask <<<q
	same "$stderr" 'awf-step: ask: patient: reached max_turns (30) without a result'
	same "$(echo q | awf-step -r --max-turns 0 -a patient ask)" 'done'
}

@test "tools that are not allowed: refused, or run with a warning; --allow-tools" {
	{ calls other; says fine; } >answers
	echo q | awf-step -q -a helper ask
	same "$(events tool.result '[.payload.error.code, .payload.output]')" '["blocked",null]'
	agent loose "$(printf 'tools: [add]\ntools_policy: warn')"
	echo q | awf-step -q -a loose ask
	same "$(events tool.call .payload.warning)" '"the agent'\''s list of tools does not allow it"'
	same "$(events tool.result .payload.output)" '"other"'
	echo q | awf-step -q --allow-tools other,slow -a helper ask
	same "$(events message.user '[.payload.tools[].name]')" '["other","slow"]'
	same "$(events tool.result .payload.output)" '"other"'
	echo q | awf-step -q --allow-tools '' -a helper ask
	same "$(events message.user .payload.tools)" '[]'
	same "$(events tool.result .payload.error.code)" '"blocked"'
}

@test "stop_when asks a command, as text and as words, or waits for a tool" {
	{ calls add; says never; } >answers
	for command in '"grep -q look"' '[grep, -q, look]'; do
		agent stopped "$(printf 'tools: [add]\nstop_when: {command: %s}' "$command")"
		same "$(echo q | awf-step -r -a stopped ask)" look
	done
	agent stopped "$(printf 'tools: [add]\nstop_when: {command: "exit 1"}')"
	same "$(echo q | awf-step -r -a stopped ask)" never
	agent stopped "$(printf 'tools: [add]\nstop_when: {command: "exit 2"}')"
	run -3 --separate-stderr awf-step -r -a stopped ask <<<q
	same "$stderr" 'awf-step: ask: stopped: the command of stop_when: exit status 2'
	agent stopped "$(printf 'tools: [add]\nstop_when: {tool: add}')"
	same "$(echo q | awf-step -a stopped ask | jq -c .data)" '{}'
}

@test "--dry-run prints the requests that would be sent, whatever the input" {
	says fine >answers
	for options in '-i lines' '-i lines -s' '-n -p hi' '-i json -p {{data}}'; do
		rm -f "$PROVIDER_LOG"
		# shellcheck disable=SC2086
		printf '1\n2\n' | awf-step $options --dry-run -a helper ask | cut -d , -f 2- >dry
		# shellcheck disable=SC2086
		printf '1\n2\n' | awf-step $options -q -a helper ask
		cut -d , -f 2- "$PROVIDER_LOG" | cmp - dry
	done
	echo x | awf-step a -- false >failed 2>/dev/null || true
	same "$(awf-step --dry-run b -- cat <failed)" ''
	same "$(awf-step --dry-run --rescue b -- cat <failed)" '{"command":["cat"],"input":"x"}'
	run -1 --separate-stderr awf-step --dry-run b -- cat </dev/null
	same "$stderr" 'awf-step: stdin: no input: is a | missing? (-n if there is none to be, --allow-empty if there may be none)'
}

@test "what a provider says of an error is harmless on a terminal" {
	printf '{"type":"error","category":"invalid","message":"\\u001b[31m \\u009b31m \\u202e\\nx"}\n' >answers
	run -3 --separate-stderr awf-run -n -c 'awf-step -q -n -p x -a helper ask'
	same "${stderr_lines[0]}" 'awf-step: ask: plain: ?[31m ?31m ? x'
	same "${stderr_lines[1]}" 'awf-run: pipeline: step ask:0:0 failed: plain: ?[31m ?31m ? x'
}

@test "a long error with what was done later is cut between characters" {
	local before
	says fine >fine
	for before in '' x; do
		printf '{"type":"error","category":"invalid","message":"%s"}\n' "$before$(printf 'ä%.0s' {1..450})" >answers
		run -3 --separate-stderr awf-run -n -c 'awf-step -q -n -p x -a helper ask
			cp fine answers; awf-step -q -n -p x -a helper ask'
		[[ $stderr == *"awf-run: pipeline: step ask:0:0 failed: plain: $before"ä*'ä (ask:1:0 succeeded later: '* ]]
	done
}

@test "names that the environment brings are checked" {
	awf-run -n -c 'for pair in AWF_CALL=../x AWF_CALL=a:0 "AWF_CALL=a:0:0/" AWF_PATH=a/b AWF_PATH=a..b \
			AWF_PARENT=x AWF_RUN_ID=../../x AWF_TRANSCRIPT=relative; do
		env "$pair" awf-step -n a -- true 2>/dev/null; echo "$pair $?"
	done >statuses
	AWF_CALL=a:0:0/b:1:2 AWF_PATH=a.b awf-step -n -q c -- true'
	same "$(grep -vc ' 4$' statuses)" 0
	same "$(events step.started '[.path, .payload.call]')" '["a.b.c","a:0:0/b:1:2/c:0:0"]'
	awf-verify
}

@test "the environment of what a step runs" {
	awf-run -n -c 'awf-step -n -r a -- sh -c "env | grep ^AWF_ | sort"' >have
	grep -v '^AWF_PROVIDER_PATH\|^AWF_SYNC\|^AWF_CAPTURES\|^AWF_SCHEMA_SUITE\|^AWF_TEST_\|^AWF_INVARIANT_LOG' have >awf
	same "$(cut -d = -f 1 awf | tr '\n' ' ')" \
		'AWF_CALL AWF_PARENT AWF_PATH AWF_RUN_ID AWF_STORAGE AWF_TRANSCRIPT AWF_WAIT AWF_WORKFLOW_DIR '
	grep -qx 'AWF_CALL=a:0:0' awf
	grep -qx 'AWF_PATH=a' awf
	grep -qx "AWF_PARENT=$(events step.started .event_id | tr -d '"')" awf
	grep -qx "AWF_TRANSCRIPT=$(transcript)" awf
	same "$(awf-step -n -r a -- printenv AWF_WORKFLOW_DIR)" "$PWD"
}

@test "only the user may read what is kept, whatever the umask" {
	head -c 300000 /dev/zero | tr '\0' x >big
	for mask in 000 022 027 077; do
		rm -rf "$AWF_STORAGE"
		(umask $mask && awf-run -c 'awf-step -q a -- cat
			find "$AWF_STORAGE" ! -type l -printf "%y%m\n" | sort -u' <big >modes)
		same "$(tr '\n' ' ' <modes)" 'd700 f600 s600 '
		same "$(find "$AWF_STORAGE" ! -type l -printf '%y%m\n' | sort -u | tr '\n' ' ')" 'd700 f600 '
		[ -n "$(find "$AWF_STORAGE/blobs" -type f)" ]
	done
}

@test "the codes in awf(7) are those of the programs, with their statuses" {
	mandoc -Tutf8 "$ROOT/man/awf.7" | col -b | sed -n '/^ERROR CODES/,/^SEE ALSO/p' |
		awk '$2 ~ /^[0-9]+$/ {print $1, $2}' | sort >manual
	sed -n 's/.*\] = {"\([a-z_]*\)", [A-Z_]*, STATUS_\([A-Z]*\).*/\1 \2/p' "$ROOT/lib/base/error.c" |
		sed 's/USAGE/1/;s/DEFINITION/2/;s/WORK/3/;s/SYSTEM/4/;s/WAITING/75/' | grep -v ^none | sort >code
	cmp manual code
	[ "$(wc -l <code)" -gt 20 ]
}

@test "nesting: 128 levels pass, 129 are refused" {
	deep() { printf "%$1s" '' | tr ' ' '['; printf "%$1s" '' | tr ' ' ']'; }
	same "$(deep 128 | awf-step -i json -r a -- cat)" "$(deep 128)"
	same "$(deep 128 | awf-step -O json a -- cat | awf-step -r b -- cat)" "$(deep 128)"
	run -1 --separate-stderr awf-step -i json a -- cat <<<"$(deep 129)"
	same "$stderr" 'awf-step: a: stdin: byte 129: nested too deep'
	run -3 --separate-stderr awf-step -O json a -- cat <<<"$(deep 129)"
	same "$stderr" 'awf-step: a: stdout is no JSON: nested too deep'
	awf-verify
}

@test "results of -O that are no UTF-8 are recorded as they are" {
	awf-step -n -O lines a -- printf 'a\n\377b\nc' >results
	same "$(jq -c '[.data, .metadata.encoding]' results | tr '\n' ' ')" '["a",null] ["/2IK","base64"] ["c",null] '
	same "$(events step.completed '[.payload.result, .refs[0].at, .refs[0].encoding]')" \
		'[["a",null,"c"],"/payload/result/1","raw"]'
	same "$(cat "$AWF_STORAGE"/blobs/*/* | od -An -c | tr -d ' ')" '377b\n'
	awf-step -r b -- cat <results | cmp - <(printf 'a\n\377b\nc')
}

# bats test_tags=torture
@test "50 MB of NULs pass; a result that no line can hold is a failure" {
	same "$(awf-step -n a -- head -c 50000000 /dev/zero | awf-step -r b -- wc -c)" 50000000
	run -3 --separate-stderr awf-step -n -q a -- sh -c "printf '\\377'; head -c 210000000 /dev/zero"
	same "$stderr" 'awf-step: a: the result is longer than a line can be (256 MiB)'
	run -1 --separate-stderr sh -c '{ printf "{\"data\":\""; head -c 268435456 /dev/zero | tr "\\0" x; } | awf-step -q a -- cat'
	same "$stderr" 'awf-step: a: stdin: byte 1: an item longer than 256 MiB'
}

@test "links in place of the storage's directories are not read through" {
	awf-run -n true
	id=$(basename "$(transcript)" .jsonl)
	mv "$AWF_STORAGE/transcripts" elsewhere
	ln -s "$PWD/elsewhere" "$AWF_STORAGE/transcripts"
	for command in 'awf-tail --list' "awf-tail ${id%%-*}" 'awf-verify @true'; do
		# shellcheck disable=SC2086
		run -4 --separate-stderr $command
		same "$stderr" "${command%% *}: $AWF_STORAGE/transcripts: unable to read the directory: Not a directory"
		same "$output" ''
	done
}

@test "live text is for terminals and -v alone" {
	printf '%s' "$(says 'the answer')" >answers
	cat >providers/awf-provider-chatty <<-'END'
		#!/bin/sh
		read -r line
		printf '{"id":1,"type":"delta","kind":"text","text":"the "}\n{"id":1,"type":"delta","kind":"thinking","text":"hm"}\n'
		printf '{"id":1,"type":"delta","kind":"text","text":"answer"}\n{"id":1,%s\n' "$(cut -c 2- answers)"
	END
	chmod +x providers/awf-provider-chatty
	run -0 --separate-stderr awf-step -n -p x -r -m chatty/m a
	same "$output|$stderr" 'the answer|'
	run -0 --separate-stderr awf-step -n -p x -r -v -m chatty/m a
	same "$output|$stderr" 'the answer|the answer'
	script -qec 'awf-step -n -p x -q -m chatty/m a' typescript </dev/null >seen
	same "$(tr -d '\r' <seen)" 'the answer'
}

@test "nothing begins when nobody reads: without input, joined, after a condition, in parallel, tools, models" {
	mkfifo out
	tool mark '"effects":"external"' 'echo ran >ran'
	while read -r options; do
		: >go
		sh -c 'while [ -e go ]; do sleep 0.01; done; printf "{}\n" | eval "exec awf-step $0"' "$options" >out 2>stderr &
		exec 4<out
		exec 4<&-
		rm go
		wait
		[ ! -e ran ] || { echo "$options: ran" && false; }
	done <<-'END'
		-n a -- touch ran
		-s a -- touch ran
		-n --when 'sleep 0.1' a -- touch ran
		-i lines -j 2 a -- touch ran
		-i json -s -t mark a
		-n -p x -m plain/m a
	END
	[ ! -e "$PROVIDER_LOG" ]
}
