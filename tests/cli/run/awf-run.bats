#!/usr/bin/env bats
# awf-run: what is run, with what stdin and environment, what is recorded, how it
# ends.
# shellcheck shell=bash disable=SC2016
load ../../support/helpers
bats_require_minimum_version 1.5.0

cleanup() {
	local pids
	pids=$(jobs -p)
	# shellcheck disable=SC2086
	[ -z "$pids" ] || kill -9 $pids 2>/dev/null || true
}

completed() { jq -c 'select(.type == "run.completed") | .payload' "$(transcript)"; }
started() { jq -c 'select(.type == "run.started") | .payload' "$(transcript)"; }
# The end's payload, by a jq expression.
ended() { completed | jq -c "$1"; }

script() {
	printf '%s\n' "${@:2}" >"$1"
	chmod +x "$1"
}

@test "help goes to stdout, mistakes to stderr with 125" {
	run -0 awf-run --help
	[[ ${lines[0]} == 'usage: awf-run [options] [--] WORKFLOW [ARG...]' ]]
	run -0 awf-run --version
	[[ $output == awf-run\ * ]]
	while IFS='|' read -r arguments message; do
		eval "run -125 --separate-stderr awf-run $arguments"
		same "$output" ""
		same "$stderr" "awf-run: $message"
	done <<-'END'
		|no workflow given (see --help)
		--nmae x y|--nmae: unknown option (did you mean --name?)
		--timeout soon true|--timeout: 'soon' is not a duration (as in 30, 500ms, 20m, 2h)
		--input novalue true|--input: 'novalue' is not KEY=VALUE with a KEY of letters, digits and _
		--input 1a=b true|--input: '1a=b' is not KEY=VALUE with a KEY of letters, digits and _
		--input a-b=c true|--input: 'a-b=c' is not KEY=VALUE with a KEY of letters, digits and _
		--input a=1 --input a=2 true|--input: a is given twice
		--input a=$'\xff' true|--input: the value of a is not UTF-8
		--env A=B true|--env: 'A=B' is not a variable's name
		--name a/b true|--name: 'a/b' is no name: 1 to 128 bytes of text on one line, without /
		--name '' true|--name: '' is no name: 1 to 128 bytes of text on one line, without /
	END
	[ ! -e "$AWF_STORAGE" ]
}

@test "an API key that was given as an argument is not told" {
	export OPENAI_API_KEY=oo-test-12345678
	mkdir -p "$XDG_CONFIG_HOME/awf"
	echo OWN_KEY=own-test-12345678 >"$XDG_CONFIG_HOME/awf/keys"
	chmod 600 "$XDG_CONFIG_HOME/awf/keys"
	run -125 --separate-stderr awf-run --input "api.key=$OPENAI_API_KEY" true
	same "$stderr" "awf-run: --input: 'api.key=****************' is not KEY=VALUE with a KEY of letters, digits and _"
	run -125 --separate-stderr awf-run --timeout own-test-12345678 true
	[[ $stderr == "awf-run: --timeout: '*****************' is not a duration"* ]]
	run -1 --separate-stderr awf-tail "$OPENAI_API_KEY"
	[[ $stderr == 'awf-tail: ****************: '* ]]
}

@test "a quiet run: output passes, start and end are recorded, the run directory goes" {
	run -0 --separate-stderr awf-run -n -c 'echo out'
	same "$output" out
	same "$stderr" ""
	same "$(jq -r .type "$(transcript)" | paste -sd' ')" "run.started run.completed"
	same "$(jq -c '[.seq, .path, .iteration]' "$(transcript)" | paste -sd' ')" '[1,"",0] [2,"",0]'
	same "$(jq -s '.[1].parent_event_id == .[0].event_id' "$(transcript)")" true
	same "$(ended '[.status, .exit_code, .error]')" '["success",0,null]'
	same "$(started | jq -c '[.name, .kind, .argv, .cwd, .format, .attempt]')" \
		"[\"pipeline\",\"workflow\",[\"/bin/sh\",\"-c\",\"echo out\",\"pipeline\"],\"$PWD\",1,1]"
	same "$(ls "$AWF_STORAGE/runs")" ""
	same "$(stat -c %a "$AWF_STORAGE" "$AWF_STORAGE/transcripts" "$(transcript)" | paste -sd' ')" "700 700 600"
}

@test "run.started names what was run by its digest" {
	script flow 'true'
	awf-run -n ./flow
	same "$(started | jq -r .workflow_sha256)" "$(sha256sum flow | cut -d' ' -f1)"
	awf-run -n -c 'echo hi' >/dev/null
	same "$(started | jq -r .workflow_sha256)" "$(printf 'echo hi' | sha256sum | cut -d' ' -f1)"
	awf-run -n true
	same "$(started | jq -c .workflow_sha256)" null
}

@test "the environment is recorded by name, and given" {
	LC_TIME=C SEEN=yes UNSEEN=no awf-run -n --env SEEN --env MISSING --input k=v --input long_1='a b' -c \
		'printf "%s|%s|%s|%s|%s|%s\n" "$AWF_PATH" "$AWF_CALL" "$AWF_INPUT_k" "$AWF_INPUT_long_1" "$AWF_STORAGE" "$AWF_WORKFLOW_DIR"; echo $AWF_RUN_ID $AWF_PARENT $AWF_TRANSCRIPT' >out
	same "$(sed -n 1p out)" "||v|a b|$AWF_STORAGE|$PWD"
	same "$(sed -n 2p out)" "$(jq -r 'select(.seq == 1) | "\(.run_id) \(.event_id)"' "$(transcript)") $(transcript)"
	same "$(started | jq -c '.env | [.SEEN, .UNSEEN, .MISSING, .LC_TIME, has("PATH")]')" '["yes",null,null,"C",true]'
	same "$(started | jq -c .inputs)" '{"k":"v","long_1":"a b"}'
}

@test "inputs of a run around it do not reach a run" {
	AWF_INPUT_old=1 awf-run -n --input new=2 -c 'env | grep ^AWF_INPUT_' >out
	same "$(cat out)" AWF_INPUT_new=2
}

@test "an API key is never recorded" {
	mkdir -p "$XDG_CONFIG_HOME/awf"
	(umask 077; echo 'MY_KEY=s3cret' >"$XDG_CONFIG_HOME/awf/keys")
	run -125 awf-run -n --env MY_KEY true
	same "$output" "awf-run: --env: MY_KEY holds an API key, which is never recorded"
	run -125 awf-run -n --env ANTHROPIC_API_KEY true
	same "$output" "awf-run: --env: ANTHROPIC_API_KEY holds an API key, which is never recorded"
	chmod 644 "$XDG_CONFIG_HOME/awf/keys"
	run -125 awf-run -n --env HOME true
	[[ $output == "awf-run: $XDG_CONFIG_HOME/awf/keys"* ]]
}

@test "scripts: interpreter lines, arguments, the directory" {
	mkdir -p dir
	script dir/plain 'echo plain "$0" "$@"; echo $AWF_WORKFLOW_DIR'
	script dir/self '#!/usr/bin/env -S awf-run --' 'echo self "$0" "$@"'
	script dir/bash '#!/bin/bash -eu' 'echo ${BASH_VERSION:+bash} $- "$@"'
	script dir/env '#!/usr/bin/env -S bash -e' 'echo ${BASH_VERSION:+bash}'
	script dir/cat '#!/bin/cat' 'text'
	script dir/crlf $'#!/bin/cat\r' 'text'
	chmod -x dir/plain dir/bash
	same "$(awf-run -n dir/plain 'a b' c)" "plain dir/plain a b c"$'\n'"$PWD/dir"
	same "$(dir/self x -n)" "self dir/self x -n"
	same "$(awf-run -n dir/bash 1)" "bash ehuB 1"
	same "$(awf-run -n dir/env)" bash
	same "$(awf-run -n dir/cat)" "#!/bin/cat"$'\n'text
	awf-run -n dir/crlf >/dev/null
	same "$(awf-run -n --shell /bin/bash dir/plain x | head -n 1)" "plain dir/plain x"
	same "$(awf-run -n --shell /bin/bash -c 'echo ${BASH_VERSION:+bash}')" bash
}

@test "a readable file goes before PATH, and a binary runs as it is" {
	cp /bin/echo ./binary
	same "$(awf-run -n ./binary hello)" hello
	script true 'echo my true $0'
	same "$(awf-run -n true)" "my true ./true"
	same "$(started | jq -r .name)" true
	rm true
	same "$(awf-run -n echo found)" found
	same "$(awf-run -n <(echo 'echo streamed'))" streamed
}

@test "descriptors handed down by the shell reach the workflow" {
	same "$(awf-run -n -c 'cat "$1"' -- <(echo through))" through
}

@test "arguments of a pipeline" {
	same "$(awf-run -n -c 'echo "$1-$2"' 'a b' -x)" "a b--x"
}

@test "the name" {
	awf-run -n --name nightly true
	same "$(started | jq -r .name)" nightly
	run -5 awf-run -n --name nightly -c 'exit 5'
	same "$output" "awf-run: nightly: exit status 5"
}

@test "what cannot be run: 126 and 127, recorded" {
	touch empty-dir-file && mkdir directory
	run -127 awf-run -n no-such-command-here
	same "$output" "awf-run: no-such-command-here: command not found"
	same "$(ended '[.status, .exit_code, .error.code]')" '["failed",127,"exit_status"]'
	run -127 awf-run -n ./missing
	same "$output" "awf-run: ./missing: no such file in the current directory"
	run -126 awf-run -n ./directory
	same "$output" "awf-run: ./directory: unable to run: it is a directory"
	script bad '#!/no/such/interpreter'
	run -127 awf-run -n ./bad
	same "$output" "awf-run: /no/such/interpreter: no such file"
	chmod +x bad
	run -3 --separate-stderr awf-run -n -c 'awf-step -n -q try -- ./bad'
	[[ $stderr == "awf-step: try: ./bad: the interpreter that it names (#!) is not there"* ]]
	run -127 awf-run -n --shell /no/sh -c true
	same "$output" "awf-run: /no/sh: no such file"
	same "$(ls "$AWF_STORAGE/runs")" ""
}

@test "a workflow finds the programs beside awf-run, however that was started" {
	run="$(command -v awf-run)"
	own=$(dirname "$run")
	mkdir other linked before
	printf '#!/bin/sh\necho other\n' >other/awf-step
	chmod +x other/awf-step
	ln -s "$run" linked/awf-run
	while IFS='|' read -r path expected; do
		same "$(PATH=$path "$run" -n sh -c 'echo "$PATH"')" "$expected"
	done <<-END
		/usr/bin:/bin|/usr/bin:/bin:$own
		$PWD/before:$PWD/other:/usr/bin:/bin|$PWD/before:$own:$PWD/other:/usr/bin:/bin
		/usr/bin:$own:/bin|/usr/bin:$own:/bin
		$PWD/other:$own:/bin|$PWD/other:$own:/bin
		$PWD/linked:$PWD/other:/bin|$PWD/linked:$PWD/other:/bin
		$PWD/linked:/bin|$PWD/linked:/bin:$own
	END
	same "$(PATH=/usr/bin:/bin "$run" -n -c 'awf-step -n -r x -- echo found')" found
	same "$(started | jq -r .env.PATH)" "/usr/bin:/bin:$own"
	awf-verify --determinism
	# shellcheck disable=SC2016
	same "$(PATH=/usr/bin:/bin "$own/awf-step" -n -r x -- sh -c 'command -v awf-tail')" "$own/awf-tail"
	same "$(env -u PATH "$run" -n /bin/sh -c 'command -v awf-step')" "$own/awf-step"
}

@test "the workflow's own status counts, and is recorded" {
	while IFS='|' read -r text code word; do
		run -"$code" awf-run -n -c "$text"
		same "$(ended '[.status, .exit_code]')" "[\"$word\",$code]"
	done <<-'END'
		true|0|success
		false|1|failed
		exit 7|7|failed
		exit 75|75|failed
		kill -9 $$|137|failed
		kill -TERM $$|143|failed
		exit 130|130|failed
	END
	run -137 awf-run -n -c 'kill -9 $$'
	same "$output" "awf-run: pipeline: killed by signal 9 (Killed)"
}

@test "what a workflow prints is kept where it goes nowhere, as from cron" {
	awf-run -n -c 'awf-step -n -r a -- echo hi' >/dev/null
	same "$(awf-replay --show stdout)" hi
	awf-run -n -c 'awf-step -n -r a -- echo hi' >/dev/null 2>&1
	same "$(awf-replay --show stdout)" hi
	run -125 --separate-stderr sh -c 'awf-run -n -c "awf-step -n -r a -- echo hi" >/dev/full'
	[[ $stderr == *'No space left on device'* ]]
}

@test "a reader of stdout that goes away is no failure to speak of" {
	awf-run -n -c 'while echo y; do :; done' 2>err | head -n 1 >/dev/null
	same "$(cat err)" ""
	eventually test -n "$(completed)"
	same "$(ended .error.code)" '"downstream_closed"'
}

# Runs a command into head, which reads two lines.
headed() {
	bash -c '"$@" | head -n 2; exit "${PIPESTATUS[0]}"' - "$@"
}

# bats test_tags=turn:2
@test "a run whose reader has gone is a success, whoever makes it, and goes on when it is resumed" {
	local why='{"code":"downstream_closed","message":"nobody reads the output any more"}'
	seq 200 >list
	for command in 'awf-run --name cut -c "awf-step -i lines s -r -- cat" <list' 'awf-step -i lines s -r -- cat <list' \
		'awf-run --name plain -n -c "seq 1000000"'; do
		run -141 --separate-stderr headed sh -c "exec $command"
		same "$output" $'1\n2'
		same "$stderr" ''
		same "$(ended '[.status, .exit_code, .error]')" "[\"success\",141,$why]"
	done
	awf-verify
	[[ $(awf-tail --list) == *'plain  '*' success '*'s  '*' success '*'cut  '*' success '* ]]
	awf-verify --determinism --isolation copy @cut
	run -0 --separate-stderr awf-run --resume @cut
	same "$output" "$(seq 200)"
	same "$(ended '[.status, .exit_code, .error]' | tail -n 1)" '["success",0,null]'
	# A pipe within the workflow is its own affair, and what failed before stays a failure.
	run -141 --separate-stderr awf-run -n -c 'bash -c "set -o pipefail; yes | head -n 1"'
	same "$(ended '[.status, .error.code]')" '["failed","exit_status"]'
	run headed awf-run -c 'awf-step -i lines s -r -- sh -c "read -r x; echo \$x; [ \$x != 1 ]"' <list
	same "$(ended '[.status, .error.code]')" '["failed","exit_status"]'
}

@test "stdin: a file is passed through and copied from its offset" {
	export JQ=jq
	printf 'one\ntwo\nthree\n' >list
	{ read -r line; awf-run -c 'read -r x; echo $x; readlink /proc/self/fd/0'; read -r after; } <list >out
	same "$(cat out)" "two"$'\n'"$PWD/list"
	id=$(jq -r 'select(.seq == 1).run_id' "$(transcript)")
	same "$(cat "$AWF_STORAGE/inputs/$id")" "two"$'\n'"three"
	same "$(ended .stdin)" "{\"sha256\":\"$(printf 'two\nthree\n' | sha256sum | cut -d' ' -f1)\",\"bytes\":10}"
	same "$(stat -c %a "$AWF_STORAGE/inputs/$id")" 600
}

@test "stdin: a pipe is relayed and kept whole" {
	seq 200000 >numbers
	cat numbers | awf-run cat >out
	cmp numbers out
	id=$(jq -r 'select(.seq == 1).run_id' "$(transcript)")
	cmp numbers "$AWF_STORAGE/inputs/$id"
	same "$(ended .stdin.bytes)" "$(stat -c %s numbers)"
	same "$(ended .stdin.sha256)" "\"$(sha256sum numbers | cut -d' ' -f1)\""
}

@test "stdin: an empty pipe is kept as empty" {
	: | awf-run cat
	id=$(jq -r 'select(.seq == 1).run_id' "$(transcript)")
	[ -e "$AWF_STORAGE/inputs/$id" ] && [ ! -s "$AWF_STORAGE/inputs/$id" ]
}

@test "stdin: what a workflow does not read is no error, and stays mostly with the producer" {
	seq 200000 >numbers
	{ awf-run -c 'head -c 10 >/dev/null'; cat >rest; } < <(cat numbers)
	id=$(jq -r 'select(.seq == 1).run_id' "$(transcript)")
	[ -e "$AWF_STORAGE/inputs/$id.part" ] && [ ! -e "$AWF_STORAGE/inputs/$id" ]
	kept=$(stat -c %s "$AWF_STORAGE/inputs/$id.part")
	# What head took, and at most a page more.
	[ "$kept" -le 8192 ]
	cat "$AWF_STORAGE/inputs/$id.part" rest | cmp - numbers
	same "$(ended '[.status, .stdin.bytes]')" "[\"success\",$kept]"
}

@test "stdin: at most a page is taken from the producer before the workflow reads" {
	mkfifo fifo
	awf-run -c 'until [ -e go ]; do sleep 0.01; done; cat' <fifo >out 3>&- &
	exec 9>fifo
	dd if=/dev/zero bs=4096 count=16 status=none >&9
	# 16 pages fill the pipe of 64 KiB; one page has room again, and no more.
	eventually timeout 1 dd if=/dev/zero bs=4096 count=1 status=none >&9
	run ! sh -c 'timeout 0.3 dd if=/dev/zero bs=4096 count=1 status=none >&9'
	touch go
	exec 9>&-
	wait
	same "$(stat -c %s out)" $((17 * 4096))
}

@test "stdin: -n is /dev/null, a device is passed through, neither is kept" {
	same "$(echo text | awf-run -n -c 'readlink /proc/self/fd/0')" /dev/null
	same "$(ended .stdin)" null
	same "$(awf-run -c 'head -c 3 | od -An -c | tr -d " "' </dev/zero)" '\0\0\0'
	same "$(ended .stdin)" null
	same "$(awf-run -c 'cat; echo end' <&-)" end
	same "$(ls "$AWF_STORAGE/inputs")" ""
}

@test "a loop over a list loses nothing with -n" {
	printf '%s\n' a b c d >list
	while read -r f; do awf-run -n -c 'cat; echo "$1"' -- "$f"; done <list >out
	same "$(paste -sd' ' out)" "a b c d"
}

@test "the id: on stderr, and in a file before the start" {
	run -0 --separate-stderr awf-run -n --print-id --id-file id -c 'cat id'
	same "$output" "$(cat id)"
	same "$stderr" "$(cat id)"
	same "$(transcript)" "$AWF_STORAGE/transcripts/$(cat id).jsonl"
	run -125 awf-run -n --id-file no/such/dir -c 'touch started'
	[ ! -e started ]
	[[ $output == "awf-run: no/such/dir"*": unable to create: No such file or directory" ]]
	same "$(ended .status)" '"failed"'
}

@test "a run has the id that it is given, once" {
	id=0f1e2d3c-0000-4000-8000-00000000000a
	same "$(awf-run -n --id "$id" -c 'echo "$AWF_RUN_ID" >>ran; cat ran')" "$id"
	before=$(cat "$(transcript)")
	run -125 --separate-stderr awf-run -n --id "$id" -c 'echo again >>ran'
	same "$stderr" "awf-run: --id: there is a run $id already"
	same "$(cat ran; cat "$(transcript)")" "$id
$before"
	[ ! -e "$AWF_STORAGE/runs/$id" ]
	# Nor one that lives, or is begun at the same time.
	id=0f1e2d3c-0000-4000-8000-00000000000b
	mkfifo go
	for i in 1 2 3 4 5 6; do
		awf-run -n --id "$id" -c 'echo x >>ran.b; cat go' >/dev/null 2>>err 3>&- &
	done
	begun() { [ -s ran.b ]; }
	eventually begun
	run -125 awf-run -n --id "$id" -c 'echo x >>ran.b'
	refused() { [ "$(grep -c "^awf-run: .*: there is a run $id already\|File exists" err)" = 5 ]; }
	eventually refused
	echo >go
	wait
	same "$(wc -l <ran.b)" 1
	awf-verify "$id"
	for wrong in x "${id^^}" ''; do
		run -125 awf-run -n --id "$wrong" -c true
	done
	run -125 --separate-stderr awf-run --id "$id" --resume "$id"
	[[ $stderr == *'--id: not with --resume: that run has its own'* ]]
	run -125 awf-run -n -c 'awf-run -n --id 0f1e2d3c-0000-4000-8000-00000000000c -c true'
	run -0 awf-run -n --detach --id 0f1e2d3c-0000-4000-8000-00000000000d -c true
	same "$output" 0f1e2d3c-0000-4000-8000-00000000000d
}

@test "--no-transcript leaves the audit trail alone" {
	run -3 awf-run -n --no-transcript --input k=v -c 'test -e "$AWF_TRANSCRIPT" && exit 3'
	same "$(find "$AWF_STORAGE" -type f -o -type l | sed "s|.*/||")" audit.jsonl
	same "$(jq -c '[.type, .inputs, .status, .exit_code]' "$AWF_STORAGE/audit.jsonl" | paste -sd' ')" \
		'["run.started",{"k":"v"},null,null] ["run.completed",null,"failed",3]'
}

@test "the audit trail is the same whether or not a transcript is kept" {
	awf-run -n --input k=v true
	awf-run -n --no-transcript --input k=v true
	jq -c '.timestamp = 0 | .run_id = 0 | .duration_ms = 0' "$AWF_STORAGE/audit.jsonl" >lines
	same "$(sed -n 1,2p lines)" "$(sed -n 3,4p lines)"
}

@test "an audit file that is a pipe holds nobody up" {
	awf-run -n true
	rm "$AWF_STORAGE/audit.jsonl"
	mkfifo "$AWF_STORAGE/audit.jsonl" mine
	run -0 --separate-stderr timeout 5 awf-run -n true
	same "${stderr_lines[0]}" "awf-run: $AWF_STORAGE/audit.jsonl: unable to write the audit trail: it is a pipe that nobody reads"
	exec 8<>"$AWF_STORAGE/audit.jsonl"
	run -0 --separate-stderr timeout 5 awf-run -n true
	same "${stderr_lines[0]}" "awf-run: $AWF_STORAGE/audit.jsonl: unable to write the audit trail: it is no regular file: move it away"
	AWF_AUDIT_LOG=$PWD/mine run -0 --separate-stderr timeout 5 awf-run -n true
	same "${stderr_lines[0]}" "awf-run: $PWD/mine: unable to write the audit trail: it is a pipe that nobody reads"
	exec 8<>mine
	AWF_AUDIT_LOG=$PWD/mine timeout 5 awf-run -n true
	read -r -t 1 line <&8
	[[ $line == *run.started* ]]
	exec 8<&-
}

@test "an audit file that fails is a warning" {
	run -0 --separate-stderr env AWF_AUDIT_LOG=/no/such/file awf-run -n -c 'echo on'
	same "$output" on
	same "${stderr_lines[0]}" "awf-run: /no/such/file: unable to write the audit trail: No such file or directory"
	run -0 --separate-stderr env AWF_AUDIT_LOG=/dev/full awf-run -n -c 'echo on'
	same "$output" on
	[[ ${stderr_lines[0]} == "awf-run: /dev/full: unable to write the audit trail: No space left on device" ]]
	run -0 --separate-stderr env AWF_AUDIT_LOG=off awf-run -n true
	same "$stderr" ""
	[ ! -e "$AWF_STORAGE/audit.jsonl" ]
}

@test "a storage that cannot be made: one line, 125" {
	touch file
	AWF_STORAGE="$PWD/file" run -125 awf-run -n true
	[[ $output == "awf-run: $PWD/file"* ]]
	AWF_STORAGE='' XDG_DATA_HOME='' HOME='' run -125 awf-run -n true
	same "$output" "awf-run: HOME: not set, so there is no place for runs: set AWF_STORAGE"
}

@test "the storage: environment, XDG and home directories" {
	AWF_STORAGE='' XDG_DATA_HOME="$PWD/data" awf-run -n true
	[ -L data/awf/latest ]
	AWF_STORAGE='' XDG_DATA_HOME='' awf-run -n true
	[ -L "$HOME/.local/share/awf/latest" ]
	same "$(AWF_STORAGE=relative awf-run -n -c 'echo $AWF_STORAGE')" "$PWD/relative"
}

@test "symbolic links in the storage are not followed" {
	mkdir -p "$AWF_STORAGE" elsewhere
	ln -s "$PWD/elsewhere" "$AWF_STORAGE/transcripts"
	run -125 awf-run -n true
	same "$output" "awf-run: $AWF_STORAGE/transcripts: not a directory: move it away"
	same "$(ls elsewhere)" ""
}

@test "latest moves to the newest top-level run only" {
	awf-run -n true
	first=$(readlink "$AWF_STORAGE/latest")
	[[ $first == transcripts/*.jsonl ]]
	awf-run -n -c 'awf-run -n true'
	second=$(transcript)
	same "$(started | jq -r '.argv[2]')" 'awf-run -n true'
	[ "$second" != "$AWF_STORAGE/$first" ]
}

@test "--timeout ends the workflow and all it started" {
	run -124 awf-run -n --timeout 300ms -c 'setsid sleep 1000 & echo $! >pid; sleep 1000'
	same "$output" "awf-run: pipeline: not done after 300ms"
	gone "$(cat pid)"
	same "$(ended '[.status, .exit_code, .error.code]')" '["timeout",124,"timeout"]'
	run -0 awf-run -n --timeout 1h true
}

@test "--timeout kills what does not heed SIGTERM" {
	run -124 awf-run -n --timeout 100ms -c 'trap "" TERM; echo $$ >pid; while :; do sleep 1; done'
	gone "$(cat pid)"
}

@test "cancelling: the signal reaches all descendants, the end is recorded, awf-run dies of it" {
	for signal in TERM HUP INT; do
		rm -f ready pid got
		cat >flow <<-'END'
			trap 'echo got >>got; exit 0' TERM HUP INT
			setsid sleep 1000 &
			echo $! >pid
			touch ready
			while :; do sleep 0.05; done
		END
		# Shells without job control start jobs with SIGINT ignored.
		env --default-signal=INT awf-run -n ./flow 2>err 3>&- &
		eventually test -e ready
		kill -"$signal" $!
		code=0
		wait $! || code=$?
		same "$code" $((128 + $(kill -l $signal)))
		same "$(cat got)" got
		gone "$(cat pid)"
		same "$(ended '[.status, .exit_code, .error.code]')" "[\"cancelled\",$((128 + $(kill -l $signal))),\"cancelled\"]"
		same "$(grep -c "^awf-run: flow: cancelled by signal " err)" 1 || { cat err; false; }
	done
}

@test "nohup is respected" {
	(trap '' HUP; exec awf-run -n -c 'touch ready; sleep 0.5; echo through >out') &
	eventually test -e ready
	kill -HUP $!
	wait $!
	same "$(cat out)" through
}

# Descendants of all kinds: a child, a setsid child, a double fork.
brood() {
	cat >flow <<-'END'
		sleep 1001 & echo $! >>pids
		setsid sleep 1002 & echo $! >>pids
		( ( setsid sh -c 'echo $$ >>pids; trap "" TERM HUP INT; while :; do sleep 1; done' & ) & )
		until [ "$(wc -l <pids)" = 3 ]; do sleep 0.01; done
		touch ready
		sleep 1003
	END
}
all_gone() { local pid; while read -r pid; do gone "$pid" || return 1; done <pids; }

@test "SIGKILL to awf-run: every descendant is gone within a second" {
	brood
	awf-run -n ./flow 3>&- &
	eventually test -e ready
	kill -9 $!
	wait $! || true
	sleep 1
	all_gone
	# The run has died: nobody holds its lock, nothing says that it ended.
	same "$(jq -r .type "$(transcript)")" run.started
}

@test "SIGKILL to the guardian: nothing is orphaned, the run fails" {
	brood
	awf-run -n ./flow 2>err 3>&- &
	pid=$!
	eventually test -e ready
	kill -9 "$(pgrep -P $pid)"
	status=0
	wait $pid || status=$?
	same "$status" 125
	all_gone
	same "$(cat err)" "awf-run: flow: the process of AWF that watches over the workflow was killed"
	same "$(ended '[.status, .error.code]')" '["failed","system"]'
}

@test "what is left in the background is ended, if it is no step" {
	awf-run -n -c 'setsid sleep 1000 & echo $! >pid'
	gone "$(cat pid)"
	same "$(ended .status)" '"success"'
}

@test "a workflow gets no descriptor of awf-run" {
	list='ls /proc/self/fd'
	same "$(awf-run -n -c "$list")" "$(sh -c "$list")"
}

@test "a storage of another user, or that everybody may write, is refused" {
	mkdir -m 777 "$AWF_STORAGE"
	run -125 --separate-stderr awf-run -n true
	same "$stderr" "awf-run: $AWF_STORAGE: the storage may be written by everybody: chmod o-w $AWF_STORAGE"
	run -4 --separate-stderr awf-step -n x -- true
	same "$stderr" "awf-step: $AWF_STORAGE: the storage may be written by everybody: chmod o-w $AWF_STORAGE"
	chmod 755 "$AWF_STORAGE"
	awf-run -n true
	# Nor one that others can put another in the place of.
	mkdir -p open/by/own
	chmod 777 open
	for storage in open/by/own open/new; do
		AWF_STORAGE=$PWD/$storage run -125 --separate-stderr awf-run -n true
		same "$stderr" "awf-run: $PWD/$storage: the storage lies in $PWD/open, which may be written by everybody: chmod o-w $PWD/open"
	done
	chmod 1777 open
	AWF_STORAGE=$PWD/open/by/own awf-run -n true
	[ "$(id -u)" -eq 0 ] || skip 'only root can give a directory away'
	chown 12345 open
	AWF_STORAGE=$PWD/open/by/own run -125 --separate-stderr awf-run -n true
	same "$stderr" "awf-run: $PWD/open/by/own: the storage lies in $PWD/open, which belongs to another user: set AWF_STORAGE to a directory of your own"
	chown 65534 "$AWF_STORAGE"
	run -125 --separate-stderr awf-run -n true
	[[ "$stderr" == *"the storage belongs to another user"* ]]
}

@test "a line of settings that means nothing is told, with the word that may have been meant" {
	printf '%s\n' '#!/usr/bin/env awf-run' '# awf: resum: auto' '#  awf: env : STAGE' '# awf: resume auto' '# awf: colour: red' \
		'# awf: description: Runs' '# awf: input: {}' '# awf: ignore-env: X' '# awf: it is a workflow' '# A comment: awf: x' \
		'awf-step -n a -q -- true' '# awf: resme: auto' >flow.awf
	chmod +x flow.awf
	run -0 --separate-stderr ./flow.awf
	same "$stderr" "awf-run: ./flow.awf:2: warning: '# awf: resum' means nothing (did you mean 'resume:'?)
awf-run: ./flow.awf:3: warning: '# awf: env' means nothing (did you mean 'env:'?)
awf-run: ./flow.awf:4: warning: '# awf: resume' means nothing (did you mean 'resume:'?)
awf-run: ./flow.awf:5: warning: '# awf: colour' means nothing (known are ignore-env, env, resume, description and input)"
	run -0 --separate-stderr awf-run --dry-run ./flow.awf
	[[ $stderr == *"flow.awf:2: warning: '# awf: resum' means nothing"* ]]
	sed -i '/means\|resum: \|env :\|resume auto\|colour/d' flow.awf
	run -0 --separate-stderr ./flow.awf
	same "$stderr" ''
}

@test "the call that waits is named whole, or not at all" {
	local name command i
	name=$(printf 'a%.0s' {1..60})
	command="awf-step -n --approve x$name"
	for i in 1 2 3 4; do command="awf-step -n --each g$i$name -- $command"; done
	run -75 --separate-stderr awf-run -c "$command"
	[[ $stderr == *": waits for a decision: awf-ctl approve g4$name:0:0/"*"/x$name:0:0 "* ]]
	for i in 5 6 7 8; do command="awf-step -n --each g$i$name -- $command"; done
	run -75 --separate-stderr awf-run -c "$command"
	[[ $stderr == *': waits for a decision: awf status tells what to type'* ]]
	[[ $stderr != *'awf-ctl approve g'* ]]
	[[ $(awf status) == *"awf-ctl approve g8$name:0:0/"*"/x$name:0:0 "* ]] || [ $? = 1 ]
}
