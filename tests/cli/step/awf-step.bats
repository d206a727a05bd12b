#!/usr/bin/env bats
# bats file_tags=turn:2
# awf-step with commands: items, exactness, output, failure. What one process does;
# pipelines of several are in awf-step-pipeline.bats.
bats_require_minimum_version 1.5.0
load ../../support/helpers

data() { jq -c .data; }
# Events of the latest run of one type.
events() { jq -c "select(.type == \"$1\")$2" "$(transcript)"; }

@test "a command gets the text and its output is the result" {
	same "$(printf 'one two\n' | awf-step count -- wc -w | data)" '"2"'
	same "$(events step.completed .payload.result)" '"2"'
	same "$(events step.started .payload.input)" '"one two"'
}

@test "-r prints strings raw and JSON compact" {
	same "$(printf 'a b\n' | awf-step -r x -- cat)" 'a b'
	same "$(echo '{"a": [1, 2.50]}' | awf-step -i json -r x -O json -- cat)" '{"a":[1,2.50]}'
	same "$(awf-step -n -r x -O json -- echo null)" null
}

@test "text is exact: with and without its last newline, empty, CRLF, long" {
	printf 'x' | awf-step a -- cat | awf-step -r b -- cat >out
	printf 'x' | cmp - out
	same "$(events step.started .payload.no_newline; events step.completed .payload.no_newline)" "$(printf 'true\ntrue')"
	printf 'x\n' | awf-step -q -O nul a -- printf 'a\nb\n\0c\0'
	same "$(events step.started .payload.no_newline; events step.completed .payload.no_newline)" "$(printf 'null\n[1]')"
	printf 'x\n\n' | awf-step a -- cat | awf-step -r b -- cat >out
	printf 'x\n\n' | cmp - out
	printf 'a\r\nb' | awf-step -r a -- cat >out
	printf 'a\r\nb' | cmp - out
	awf-step -n a -- true | awf-step -r b -- cat >out
	cmp /dev/null out
	head -c 300000 /dev/zero | tr '\0' y >in
	awf-step a -- cat <in | awf-step -r b -- cat | cmp - in
}

@test "bytes that are no UTF-8, and NULs, pass unharmed and are recorded as they are" {
	head -c 100000 /dev/urandom >in
	awf-step a -- cat <in | awf-step b -- cat | awf-step -r c -- cat | cmp - in
	same "$(events step.completed .payload.result)" null
	same "$(events step.completed '.refs[0].encoding')" '"raw"'
	id=$(events run.started .run_id | tr -d '"')
	sha=$(events step.completed '.refs[0].sha256' | tr -d '"')
	cmp in "$AWF_STORAGE/blobs/$id/$sha"
	printf 'a\0b\n' | awf-step a -- cat | awf-step -r c -- cat >out
	printf 'a\0b\n' | cmp - out
	same "$(events step.completed .payload.result)" '"a\u0000b"'
}

much_output() { # BYTES
	head -c "$1" /dev/zero | tr '\0' z >in
	awf-step -n a -- cat in | awf-step -r b -- cat | cmp - in
	same "$(events step.completed '.refs[0].encoding')" '"json"'
	[ "$(wc -c <"$(transcript)")" -lt 10000 ]
}

@test "10 MB of output pass" { much_output 10000000; }

# bats test_tags=torture
@test "100 MB of output pass" { much_output 100000000; }

@test "items: lines, nul, json, state" {
	same "$(printf 'a\nb' | awf-step -i lines x -- cat | data | tr '\n' ' ')" '"a" "b" '
	same "$(printf 'a\0b c\0' | awf-step -i nul x -- cat | data | tr '\n' ' ')" '"a" "b c" '
	same "$(echo '1 {"a":2}' | awf-step -i json -O json x -- cat | data | tr '\n' ' ')" '1 {"a":2} '
	run -1 --separate-stderr awf-step -i state x -- cat <<<'{"a":1}'
	same "$stderr" 'awf-step: x: stdin: byte 1: no state line among state lines'
}

@test "-i json with big and exact numbers keeps their bytes" {
	same "$(echo '[12345678901234567890, 1.0, 1e5, "\u00e4"]' | awf-step -i json -r x -O json -- cat)" \
		'[12345678901234567890,1.0,1e5,"\u00e4"]'
}

@test "state in, state out: pretty-printed by jq, changed by jq" {
	printf 'a\nb\n' | awf-step -i lines one -- cat | jq '.data |= . + "!"' >lines
	same "$(awf-step -r two -- cat <lines | tr '\n' ' ')" 'a! b! '
}

@test "-n gives one null and no input to the command" {
	same "$(awf-step -n -r x -- sh -c 'cat; echo done')" done
	same "$(events step.started .payload.input)" null
}

@test "no input is an error unless it may be empty" {
	run -1 --separate-stderr awf-step x -- cat </dev/null
	same "$stderr" 'awf-step: x: stdin: no input: is a | missing? (-n if there is none to be, --allow-empty if there may be none)'
	same "$(jq -r .metadata.error.code <<<"$output")" no_input
	run -0 awf-step --allow-empty x -- cat </dev/null
	same "$output" ''
	run -0 awf-step -i lines x -- cat </dev/null
	same "$output" ''
	same "$(awf-step -i json -s -r x -O json -- cat </dev/null)" '[]'
}

@test "-s joins, --by-name keys" {
	same "$(printf '1 2 3' | awf-step -i json -s -r x -- cat)" '[1,2,3]'
	{ echo x | awf-step a -- echo A; echo x | awf-step b -- echo B; } >lines
	same "$(awf-step -s -r x -- cat <lines)" '["A","B"]'
	run -1 --separate-stderr awf-step -s --by-name x -- cat <lines
	[[ "$stderr" == *"--by-name: an item that no step of this run has made"* ]]
}

@test "-O splits the output, and the record keeps all of it" {
	same "$(awf-step -n -O lines x -- printf 'a\nb\n' | data | tr '\n' ' ')" '"a" "b" '
	same "$(events step.completed .payload.result)" '["a","b"]'
	same "$(awf-step -n -O nul x -- printf 'a\0b\0' | data | tr '\n' ' ')" '"a" "b" '
	same "$(awf-step -n -O json x -- echo '{"a":1} 2' | jq -c '[.data,.metadata.part]' | tr '\n' ' ')" '[{"a":1},0] [2,1] '
	run -3 --separate-stderr awf-step -n -O json x -- echo '{'
	[[ "$stderr" == "awf-step: x: stdout is no JSON: "* ]]
	same "$(awf-step -n -O lines x -- true)" ''
}

@test "--into keeps the rest" {
	same "$(echo '{"a":1,"k":2}' | awf-step -i json -r --into k x -- echo new)" '{"a":1,"k":"new"}'
	same "$(echo 'text' | awf-step -r --into k x -- echo new)" '{"input":"text","k":"new"}'
	same "$(echo '{}' | awf-step -i json -r --into k x -- echo new)" '{"k":"new"}'
}

@test "-e gives the state line; an item without one gets the step's" {
	echo hi | awf-step a -- cat >line
	same "$(awf-step -e -r b -- jq -r .metadata.path <line)" a
	same "$(echo hi | awf-step -e -r b -- jq -r .metadata.event_id)" \
		"$(events step.started .event_id | tr -d '"')"
}

@test "-j keeps the order and runs at the same time" {
	# Each waits until all four are there, and the first ends last.
	together='read n; touch here.$n
		for i in $(seq 1000); do set -- here.*; [ $# -lt 4 ] || break; sleep 0.02; done
		[ $# -eq 4 ] || exit 1
		sleep 0.$n; echo $n'
	same "$(printf '4\n3\n2\n1\n' | awf-step -i lines -j 4 -r x -- sh -c "$together" | tr '\n' ' ')" '4 3 2 1 '
	same "$(events step.started .iteration | sort | tr '\n' ' ')" '0 1 2 3 '
	same "$(seq 200 | awf-step -i lines -j 7 -r x -- cat | md5sum)" "$(seq 200 | md5sum)"
}

@test "-o replaces the file only if all succeeded; -q prints nothing" {
	echo old >out
	run -3 awf-step -n -o out x -- false
	same "$(cat out)" old
	run -0 awf-step -n -o out -r x -- echo new
	same "$output" ''
	same "$(cat out)" new
	same "$(ls)" out
	run -0 awf-step -n -q x -- echo new
	same "$output" ''
	chmod 600 out
	ln -s out link
	awf-step -n -o link -r x -- echo newer
	same "$(cat out; stat -c %a out; readlink link)" "$(printf 'newer\n600\nout')"
	# A link to what is not there yet makes that.
	mkdir later
	ln -s later/out made
	ln -s made again
	awf-step -n -o again -r x -- echo first
	same "$(cat later/out; readlink again made)" "$(printf 'first\nmade\nlater/out')"
	ln -s loop loop
	run -4 awf-step -n -o loop x -- true
	same "$output" "awf-step: loop: unable to follow: Too many levels of symbolic links"
	mkfifo fifo
	cat fifo >copy &
	awf-step -n -o fifo -r x -- echo piped
	wait $!
	[ -p fifo ]
	same "$(cat copy)" piped
	run -4 awf-step -n -o /nonexistent/out x -- true
	[[ "$output" == "awf-step: /nonexistent/out"* ]]
}

@test "a failed call goes on as an error line with its input" {
	run -3 --separate-stderr awf-step x -- sh -c 'echo partial; echo why >&2; exit 7' <<<in
	same "$stderr" "$(printf 'why\nawf-step: x: sh: exit status 7: why')"
	same "$(jq -c '[.data,.metadata.error.code]' <<<"$output")" '["in","exit_status"]'
	same "$(events step.completed '|[.payload.exit_code,.payload.stderr,.payload.stderr_bytes]')" '[7,"why\n",4]'
	run -3 --separate-stderr awf-step x -- sh -c 'kill -9 $$' <<<in
	same "$(events step.completed .payload.exit_code)" 137
}

@test "the next items are worked on after a failure" {
	run -3 --separate-stderr awf-step -i lines x -- grep -v b < <(printf 'a\nb\nc\n')
	same "$(jq -c '[.data,.metadata.error.code]' <<<"$output" | tr '\n' ' ')" '["a",null] ["b","exit_status"] ["c",null] '
}

@test "errors travel: skipped, recorded, passed on as they came" {
	echo in | awf-step a -- false >line 2>/dev/null || true
	run -3 --separate-stderr awf-step b -- touch ran <line
	[ ! -e ran ]
	same "$stderr" ''
	same "$(events step.completed .payload.skipped)" '"upstream_failed"'
	same "$(jq -c .metadata.error.code <<<"$output")" '"exit_status"'
	run -3 awf-step -r b -- cat <line
	same "$output" ''
	run -3 awf-step -s b -- touch ran < <(cat line; echo good | awf-step g -- cat)
	[ ! -e ran ]
}

@test "--rescue runs on what failed, with its input, and passes the others" {
	{ echo bad | awf-step a -- false || true; echo good | awf-step a -- cat; } >lines 2>/dev/null
	same "$(awf-step --rescue -r b -- sed 's/^/saved /' <lines | tr '\n' ' ')" 'saved bad good '
	same "$(events step.started .payload.mode | sort -u)" '"rescue"'
}

@test "--allow-failure goes on with null" {
	run -0 --separate-stderr awf-step --allow-failure x -- false <<<in
	same "$stderr" ''
	same "$(jq -c '[.data,.metadata.failure.code,.metadata.error]' <<<"$output")" '[null,"exit_status",null]'
	same "$(events run.completed .payload.status)" '"success"'
}

@test "--try prints nothing and exits 3" {
	run -3 --separate-stderr awf-step --try x -- false <<<in
	same "$output" ''
	same "$(events run.completed .payload.status)" '"success"'
	same "$(awf-step --try -r x -- cat <<<in)" in
}

@test "--when calls, passes or fails" {
	same "$(echo yes | awf-step --when 'jq -e ".data == \"yes\""' -r x -- echo called)" called
	same "$(echo no | awf-step --when 'jq -e ".data == \"yes\""' -r x -- echo called)" no
	same "$(events step.completed .payload.skipped)" '"condition"'
	same "$(events step.started .payload.condition.outcome)" false
	run -3 --separate-stderr awf-step --when 'exit 2' x -- touch ran <<<in
	same "$stderr" 'awf-step: x: the condition of --when ended with status 2'
	[ ! -e ran ]
}

@test "--timeout ends all descendants" {
	run -3 --separate-stderr awf-step -n --timeout 300ms x -- sh -c 'setsid sleep 77.01 & sleep 77.01'
	same "$(jq -r .metadata.error.code <<<"$output")" timeout
	run ! pgrep -f 'sleep 77.01'
}

@test "--timeout kills what ignores SIGTERM after 5 s" {
	start=$(date +%s%3N)
	run -3 --separate-stderr awf-step -n --timeout 200ms x -- sh -c 'trap "" TERM; while :; do sleep 0.1; done'
	took=$(($(date +%s%3N) - start))
	[ "$took" -ge $((200 + $(patience_of 4000))) ]
	[ "$took" -le 9000 ]
}

@test "retries: tried again, recorded, bounded" {
	run -0 --separate-stderr awf-step -n -r --retries 3 --delay 10ms --backoff constant x -- \
		sh -c 'n=$(cat n 2>/dev/null || echo 0); echo $((n+1)) >n; [ $n -ge 2 ] && echo ok'
	same "$output" ok
	same "$(events step.completed '.payload.retries | length')" 2
	same "$(events step.completed '.payload.retries[0].code')" '"exit_status"'
	run -3 awf-step -n --retries 1 --delay 10ms x -- sh -c 'echo x >>tries; false'
	same "$(wc -l <tries)" 2
	# shellcheck disable=SC2016
	run -0 --separate-stderr awf-step -n -r -O json --retries 1 --delay 10ms x -- \
		sh -c 'if [ -e half ]; then echo 1 2; else touch half; echo "7 {"; fi'
	same "$output" $'1\n2'
	run -3 awf-step -n --retries 5 --delay 10ms --retry-on timeout x -- sh -c 'echo x >>once; false'
	same "$(wc -l <once)" 1
}

@test "what was cut off and may have had effects is not tried again" {
	run -3 awf-step -n --effects external --retries 3 --delay 10ms --timeout 200ms x -- \
		sh -c 'echo x >>tries; sleep 5'
	same "$(wc -l <tries)" 1
	run -3 awf-step -n --effects external,idempotent --retries 1 --delay 10ms --timeout 200ms x -- \
		sh -c 'echo x >>again; sleep 5'
	same "$(wc -l <again)" 2
	same "$(events step.started .payload.effects)" '"external"'
}

@test "a command that cannot be run" {
	run -3 --separate-stderr awf-step -n x -- /nonexistent/command
	[[ "$stderr" == "awf-step: x: /nonexistent/command: "* ]]
	same "$(events step.completed .payload.exit_code)" 127
	touch plain
	run -3 --separate-stderr awf-step -n x -- ./plain
	same "$(events step.completed .payload.exit_code)" 126
}

@test "a command need not read its input" {
	head -c 3000000 /dev/zero | tr '\0' x | awf-step -r x -- echo done >out
	same "$(cat out)" done
}

@test "stderr passes through and its tail is recorded" {
	awf-step -n -q x -- sh -c 'seq 1 30000 >&2' 2>err
	same "$(md5sum <err)" "$(seq 1 30000 | md5sum)"
	same "$(events step.completed .payload.stderr_bytes)" "$(seq 1 30000 | wc -c)"
	same "$(events step.completed '.payload.stderr|length')" 65536
}

@test "SIGPIPE is default in commands" {
	run -0 --separate-stderr awf-step -n -r x -- sh -c 'yes | head -n 1'
	same "$output" y
	same "$stderr" ''
}

@test "nobody reads: ends, is no failure" {
	seq 100 | awf-step -i lines x -- cat | head -n 1 >out
	same "$(jq -r .data out)" 1
	same "$(events run.completed .payload.status)" '"success"'
	[ "$(events step.started .seq | wc -l)" -lt 100 ]
}

@test "nobody reads while a command runs: it is cancelled and recorded" {
	awf-step -n x -- sh -c 'sleep 78' | sleep 0.3
	run ! pgrep -f 'sleep 78'
	same "$(events step.completed .payload.error.code)" '"downstream_closed"'
	same "$(events run.completed .payload.status)" '"success"'
}

@test "a signal cancels, is recorded, and kills" {
	awf-step -n x -- sleep 79 >out 2>err &
	pid=$!
	sleep 0.4
	kill -TERM $pid
	code=0
	wait $pid || code=$?
	same $code 143
	run ! pgrep -f 'sleep 79'
	same "$(events step.completed .payload.error.code)" '"cancelled"'
	same "$(events run.completed .payload.status)" '"cancelled"'
	same "$(jq -r .metadata.error.code out)" cancelled
}

@test "API keys stay out of the environment of commands, unless let through" {
	export ANTHROPIC_API_KEY=sk-1 MY_KEY=sk-2
	mkdir -p "$XDG_CONFIG_HOME/awf"
	echo 'MY_KEY=sk-3' >"$XDG_CONFIG_HOME/awf/keys"
	chmod 600 "$XDG_CONFIG_HOME/awf/keys"
	same "$(awf-step -n -r x -- sh -c 'env | grep sk- || echo none')" none
	same "$(awf-step -n -r --pass-key MY_KEY x -- sh -c 'env | grep sk-')" 'MY_KEY=sk-3'
	# Bodies of groups are made of steps, which need them.
	same "$(awf-step -n -r --each x -- sh -c '[ -z "$ANTHROPIC_API_KEY" ] || echo there')" there
	same "$(awf-step -n --each x -- awf-step -n -r y -- sh -c 'env | grep sk- || echo none' | jq -r .data)" none
	run ! grep -rl sk-1 "$AWF_STORAGE"
	# What a command says with one is shown as it says it, and recorded without it.
	export OPENAI_API_KEY=sk-of-the-environment
	echo MY_KEY=sk-of-the-file >"$XDG_CONFIG_HOME/awf/keys"
	run -3 --separate-stderr awf-step -n -q --pass-key MY_KEY --pass-key OPENAI_API_KEY x -- \
		sh -c 'echo "with $MY_KEY and $OPENAI_API_KEY" >&2; exit 1'
	[[ $stderr = *'with sk-of-the-file and sk-of-the-environment'* ]]
	same "$(payloads step.completed .stderr)" '"with ************** and *********************\n"'
	awf-step -n -q --each x -- sh -c 'echo $OPENAI_API_KEY >&2'
	run ! grep -rlE 'sk-of-the-(file|environment)' "$AWF_STORAGE"
	chmod 644 "$XDG_CONFIG_HOME/awf/keys"
	run -4 awf-step -n x -- true
	[[ "$output" == *keys*"chmod 600"* ]]
}

# The processes of this name that work in this directory.
called() {
	local pid
	for pid in $(pgrep -x "$1"); do [ "$(readlink "/proc/$pid/cwd")" != "$PWD" ] || echo "$pid"; done
}

@test "a process that makes calls beside others is known by its name, and the step ends with it" {
	seq 3 | awf-run -c 'awf-step -i lines -j 3 x -- sleep 61' 2>err &
	run=$!
	all_there() { [ "$(called awf-step-job | wc -l)" = 3 ] && [ "$(called sleep | wc -l)" = 3 ]; }
	eventually all_there
	job=$(called awf-step-job | head -n 1)
	kill -KILL "$job"
	wait "$run" || same $? 4
	grep "awf-step: process $job, one of those that make the calls (awf-step-job), died amid one" err
	same "$(called sleep)" ''
	awf-verify -q
}

@test "--dry-run prints and records nothing" {
	same "$(echo hi | awf-step --dry-run x -- tr a b)" '{"command":["tr","a","b"],"input":"hi"}'
	same "$(printf '\377\376' | awf-step --dry-run x -- cat)" '{"command":["cat"],"input":"//4=","input_encoding":"base64"}'
	[ ! -e "$AWF_STORAGE" ]
	# The gate is not asked: there may be no run whose tokens could be.
	same "$(echo hi | awf-step --dry-run --require a x -- cat)" '{"command":["cat"],"input":"hi"}'
}

@test "-s --dry-run takes lines of steps, in their run and outside, and judges none of them" {
	for options in '' --complete '--require b'; do
		run -0 --separate-stderr awf-run -c \
			"awf-step -n a -- echo hi | tee line | awf-step -s $options --dry-run c -- cat"
		same "$output" '{"command":["cat"],"input":["hi"]}'
		# shellcheck disable=SC2086
		run -0 --separate-stderr awf-step -s $options --dry-run c -- cat <line
		same "$output" '{"command":["cat"],"input":["hi"]}'
	done
	run -0 --separate-stderr awf-run -c \
		'awf-step -n a -- echo hi | awf-step -s --by-name --dry-run c -- cat'
	same "$output" '{"command":["cat"],"input":{"a":"hi"}}'
}

@test "--kind renames" {
	awf-step -n -q --kind build x -- true
	same "$(events step.started .payload.kind)" '"build"'
}

@test "usage errors are one line and exit 1" {
	while IFS='|' read -r args message; do
		# shellcheck disable=SC2086
		run -1 --separate-stderr awf-step $args
		same "$stderr" "awf-step: $message"
	done <<-'END'
	|a NAME for the step is missing (awf-step --help)
	a/b -- true|a/b: no name of a step: A-Z a-z 0-9 _ - only
	x|x: nothing to do: say -- command, -a AGENT, -m MODEL, -t TOOL, --approve or --ask
	x --|--: a command is missing after it
	wc -w|-w: unknown option (a command goes after --: awf-step NAME -- COMMAND)
	x y -- true|y: one NAME only (a command goes after --)
	x -m openai/x -- true|--: no command together with -m: one of them does the work
	-i line x -- true|-i: no such word 'line' (did you mean 'lines'?)
	--by-name x -- true|--by-name: only with -s
	-s -j 2 x -- true|-j: not with -s: there is one call
	-s --rescue x -- true|--rescue: not with -s
	--rescue --try x -- true|--rescue: not with --try
	--try --allow-failure x -- true|--try: not with --allow-failure
	--into k -O lines x -- true|--into: not with -O: there may be several results
	-e -m openai/x x|-e: only with a command
	-p hi x -- true|-p: only with -a or -m
	-v x -- true|-v: only with -a or -m
	--delay 1 x -- true|--delay: only with --retries: nothing is tried again
	--retry-on timeout x -- true|--retry-on: only with --retries: nothing is tried again
	--max-turns 2 x -- true|--max-turns: only with -a or -m
	--max-tokens-total 2 x -- true|--max-tokens-total: only with -a or -m
	--terminal success --delay 1 x|--terminal: not with --delay, which is about work or its result: it does none
	--approve --retry-on timeout x|--approve: not with --retry-on: nothing is run
	-n --max 2 -m openai/x x|--max: only with a command, which is what is done each time
	-m openai/ x|-m: the model's name is empty
	--retry-on timout x -- true|--retry-on: unknown error code 'timout' (did you mean 'timeout'?)
	--backoff exp x -- true|--backoff: unknown backoff 'exp' (did you mean 'exponential'?)
	-o f -q x -- true|-o: not with -q
	--effects some x -- true|--effects: 'some' is none of none, read, workspace, external
	--kind a.b x -- true|--kind: 'a.b' is no word of A-Z a-z 0-9 _ -
	END
	[ ! -e "$AWF_STORAGE" ]
}

@test "mistakes in definitions are one line, exit 2, and nothing is asked or recorded" {
	mkdir agents
	echo 'You are x.' >agents/x.md
	printf -- '---\nmodel: org/large\n---\n' >agents/y.md
	printf -- '---\ntools: [serch]\n---\n' >agents/z.md
	while IFS='|' read -r model args message; do
		# shellcheck disable=SC2086
		AWF_MODEL=$model run -2 --separate-stderr awf-step a $args
		[ "${#stderr_lines[@]}" = 1 ] && [[ $stderr == "awf-step: $message"* ]] || same "$stderr" "$message"
	done <<-'END'
	|-m anthropc/m|-m: unknown provider 'anthropc' (did you mean 'anthropic'?)
	|-m m|-m: no provider for the model m: say -m PROVIDER/MODEL, or provider and model in the agent file, or AWF_MODEL
	opnai/m|-a x|AWF_MODEL: unknown provider 'opnai' (did you mean 'openai'?)
	|-a x|agents/x.md: no model: say -m PROVIDER/MODEL, or provider and model in the agent file, or AWF_MODEL
	replay/f|-a y|agents/y.md: unknown provider 'org': there is no awf-provider-org in $AWF_PROVIDER_PATH, AWF's own directory or $PATH, nor an endpoint of that name
	replay/f|-a z|agents/z.md: tools: serch.tool.json: not found in tools, 
	replay/f|-a x --allow-tools serch|serch.tool.json: not found in tools, 
	replay/f|-a x -p {{dat}}|-p: {{dat}}: expected data or inputs (\{{ stands for two braces)
	replay/f|-a x -p {{data|-p: {{ has no }} (\{{ stands for two braces)
	END
	[ ! -e "$AWF_STORAGE" ]
}

@test "an agent file that names a provider is asked of no other, whatever the environment or the config names" {
	mkdir -p agents "$XDG_CONFIG_HOME/awf"
	printf -- '---\nprovider: openai\n---\nYou are x.\n' >agents/x.md
	asked() { awf-step --dry-run -n -p hi "$@" ask | jq -r .model; }
	export ANTHROPIC_API_KEY=of-another
	AWF_MODEL=anthropic/claude-x run -2 --separate-stderr awf-step -n -p hi -a x ask
	same "$stderr" 'awf-step: agents/x.md: no model: its provider is openai, and AWF_MODEL names anthropic/claude-x: say model there, too, or -m PROVIDER/MODEL'
	echo 'model = sonnet' >"$XDG_CONFIG_HOME/awf/config"
	run -2 --separate-stderr env -u AWF_MODEL awf-step -n -p hi -a x ask
	[[ $stderr == 'awf-step: agents/x.md: no model: its provider is openai, and ~/.config/awf/config names sonnet: '* ]]
	rm "$XDG_CONFIG_HOME/awf/config"
	# One of the provider itself counts, and so does what the command line says.
	same "$(AWF_MODEL=openai/gpt-x asked -a x)" gpt-x
	same "$(AWF_MODEL=openai/gpt-x awf-step --dry-run -n -p hi -a x -m anthropic/m ask | jq -r .model)" m
	# An agent CLI chooses its own.
	sed -i 's/openai/claude/' agents/x.md
	same "$(AWF_MODEL=anthropic/claude-x asked -a x)" default
	# So it is of whom the agent hands over to.
	sed -i 's/claude/openai/' agents/x.md
	printf -- '---\nmodel: anthropic/m\nhandoffs: [x]\n---\n' >agents/y.md
	AWF_MODEL=anthropic/claude-x run -2 --separate-stderr awf-step -n -p hi -a y ask
	[[ $stderr == *'agents/x.md: no model: its provider is openai, and AWF_MODEL names anthropic/claude-x'* ]]
}

@test "a failure names its item, as awf-tail does" {
	run -3 --separate-stderr awf-step -i lines -q a -- false < <(printf '1\n2\n')
	same "$stderr" 'awf-step: a: false: exit status 1
awf-step: a[1] ("2"): false: exit status 1'
}

@test "an item is named by its data as JSON, in one line of some 40 columns" {
	local long=123456789012345678901234567890
	# Each with a status of its own, so that none is counted with the others.
	# shellcheck disable=SC2016
	run -3 --separate-stderr awf-step -i json -q a -- sh -c 'echo x >>n; exit $(($(wc -l <n)))' <<<"0 7 \"7\" null {\"id\": 7} [\"$long$long\"] \"e\\u001b\\n\""
	same "$(sed 's/: sh: exit status [1-7]$//' <<<"$stderr")" 'awf-step: a
awf-step: a[1] (7)
awf-step: a[2] ("7")
awf-step: a[3]
awf-step: a[4] ({"id":7})
awf-step: a[5] (["1234567890123456789012345678901234567…)
awf-step: a[6] ("e\u001b\n")'
	run -3 --separate-stderr awf-step -i nul -q a -- false < <(printf 'x\0\377\0\302\233y\0')
	same "$(sed 's/: false: exit status 1//' <<<"$stderr")" 'awf-step: a
awf-step: a[1]
awf-step: a[2] ("\u009by")'
}

@test "-o names its file when that cannot be" {
	run -4 --separate-stderr awf-step -n -o missing/x a -- true
	same "$stderr" "awf-step: missing/x: unable to create: No such file or directory"
}

@test "a person who pipes input past a prompt is told" {
	echo '{"blocks":[{"type":"text","text":"said"}]}' >answers.jsonl
	unset AWF_VIEW
	export AWF_MODEL=replay/answers.jsonl
	hint='awf-step: review: the prompt has no {{data}}: what is read is not in it (-n reads nothing)'
	on_terminal() { script -qec "$1" /dev/null </dev/null | tr -d '\r' | grep -cF "$hint" || true; }
	same "$(on_terminal "echo diff | awf-step -r -p 'Review this' review")" 1
	same "$(on_terminal "echo diff | awf-step -r -p 'Review {{data}}' review; awf-step -n -r -p 'Review this' review")" 0
	same "$(on_terminal "awf-run -n --no-view -c 'echo diff | awf-step -r -p \"Review this\" review'")" 0
	run -0 --separate-stderr awf-step -r -p 'Review this' review <<<diff
	same "$stderr" ''
}

@test "a key of an agent that is nearly one of ours is worth a warning" {
	echo '{"blocks":[{"type":"text","text":"said"}]}' >answers.jsonl
	printf -- '---\ncolor: red\ndescripton: x\nallowed_tools: []\nbefore-turn: true\n---\n' >x.md
	run -0 --separate-stderr awf-step a -r -m replay/answers.jsonl -a x.md <<<q
	same "$output" said
	same "$stderr" "awf-step: x.md:3: warning: 'descripton' means nothing (did you mean 'description'?)
awf-step: x.md:4: warning: 'allowed_tools' means nothing (did you mean 'tools'?)
awf-step: x.md:5: warning: 'before-turn' means nothing (did you mean 'before_turn'?)"
	for pair in max_turn:max_turns max-tokens:max_tokens timeot:timeout schema:output_schema sandbx:sandbox netwrok:network; do
		printf -- '---\ndescripton: x\n%s: 2\n---\n' "${pair%:*}" >x.md
		run -2 --separate-stderr awf-step a -r -m replay/answers.jsonl -a x.md <<<q
		same "$stderr" "awf-step: x.md:3: ${pair%:*}: unknown key (did you mean '${pair#*:}'?)"
	done
	printf -- '---\ncolor: red\nmax_turns: 2\n---\n' >x.md
	run -0 --separate-stderr awf-step a -r -m replay/answers.jsonl -a x.md <<<q
	same "$stderr" ""
}

@test "--help and --version go to stdout" {
	run -0 --separate-stderr awf-step --help
	[[ "$output" == "usage: awf-step [options] NAME -- command"* ]]
	run -0 awf-step --version
	[[ "$output" == "awf-step "[0-9]* ]]
}
