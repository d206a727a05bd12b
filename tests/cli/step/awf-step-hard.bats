#!/usr/bin/env bats
# awf-step in places where programs break: closed and odd descriptors, odd outputs,
# input that is nearly right, signals at the wrong time, a tampered environment.
bats_require_minimum_version 1.5.0
load ../../support/helpers

prepare() { echo x >in; }

# Every transcript is sound, and jq reads every line of it.
cleanup() {
	local file
	for file in "$AWF_STORAGE"/transcripts/*.jsonl; do
		[ -e "$file" ] || continue
		awf-verify -q "$file"
		jq -e . "$file" >/dev/null
	done
}

# Waits until the transcript holds so many ends of calls.
await_ends() {
	local i
	for i in {1..200}; do
		[ "$(jq -s 'map(select(.type == "step.completed")) | length' \
			"$(transcript)" 2>/dev/null)" = "$1" ] && return
		sleep 0.05
	done
	return 1
}

status_of_run() { jq -r 'select(.type == "run.completed").payload.status' "$(transcript)"; }

@test "a closed standard stream never becomes a file of ours" {
	run -1 --separate-stderr sh -c 'awf-step a -- echo hi <&-'
	[[ $stderr == *"no input"* ]]
	run -4 --separate-stderr sh -c 'awf-step a -- echo hi <in >&-'
	same "$stderr" 'awf-step: stdout: unable to write: Bad file descriptor'
	run -3 sh -c 'awf-step a -- sh -c "echo oops >&2; false" <in >out 2>&-'
	same "$(jq -r .metadata.error.code out)" exit_status
	run -4 sh -c 'awf-step -n a -- sh -c "echo oops >&2; echo hi" <&- >&- 2>&-'
}

@test "half of a surrogate pair is no JSON, wherever it comes from" {
	run -1 --separate-stderr awf-step -i json a -q -- cat <<<'"\ud800"'
	same "$stderr" 'awf-step: a: stdin: byte 2: half of a surrogate pair'
	run -3 --separate-stderr awf-step -O json a -q -- echo '"\udc00x"' <in
	same "$stderr" 'awf-step: a: stdout is no JSON: half of a surrogate pair'
	awf-step a -- cat <in >line
	sed 's/"data":"x"/"data":"\\ud83d\\u0041"/' line >half
	run -1 --separate-stderr awf-step b -q -- cat <half
	same "$stderr" 'awf-step: b: stdin: byte 10: half of a surrogate pair'
	sed 's/"data":"x"/"data":"\\ud83d\\ude00"/' line >whole
	same "$(awf-step -r b -- cat <whole)" '😀'
}

@test "a state line too long or too deep is told apart" {
	awf-step a -- cat <in >line
	awk '{ deep = sprintf("%0300d", 0); gsub("0", "[", deep)
		sub("\"x\"", deep); print }' line >deep
	run -1 --separate-stderr awf-step b -q -- cat <deep
	[[ $stderr == *"nested too deep" ]]
}

@test "a call that state metadata makes up is not believed" {
	awf-run -c 'awf-step a -- cat <in |
		jq -c ".metadata.call = \"a:0:0\nAAAA\n\"" | awf-step -q b -- cat'
}

@test "data that is no base64, though its metadata says so, is recorded as it is" {
	printf '\377' | awf-step a -- cat | jq -c '.data = "changed!"' >line
	same "$(awf-step -r b -- cat <line)" 'changed!'
	same "$(jq -c 'select(.type == "step.started").payload.input' "$(transcript)")" '"changed!"'
}

@test "a signal ends a step whose output nobody takes" {
	head -c 3000000 /dev/zero | tr '\0' a >big
	mkfifo pipe
	sleep 20 <pipe 3>&- &
	reader=$!
	awf-step -r a -- cat <big >pipe &
	step=$!
	await_ends 1
	sleep 0.2
	kill -TERM $step
	status=0
	wait $step || status=$?
	kill $reader
	same $status 143
}

@test "a step that was ended by a signal between two items left its output incomplete" {
	mkfifo slow
	awf-run -c '{ echo $$ >shell; sh -c "echo \$\$ >pid; exec awf-step -i lines a -- cat" <slow; } |
		awf-step -s -r b -- touch ran' 2>err 3>&- &
	run_pid=$!
	exec 8<>slow
	printf '1\n2\n' >&8
	await_ends 2
	kill -TERM "$(cat pid)"
	status=0
	wait $run_pid || status=$?
	exec 8>&-
	same $status 3
	[ ! -e ran ]
	grep -q 'the step a:0 died before its end' err
}

@test "a rescue that failed and was rescued leaves no failure" {
	awf-run -c 'awf-step a -- false <in | awf-step --rescue b -- false |
		awf-step --rescue c -q -- true'
	same "$(status_of_run)" success
	run -3 awf-run -c 'awf-step a -- false <in | awf-step --rescue b -- false |
		awf-step --rescue c -q -- false'
	same "$(status_of_run)" failed
}

@test "a storage that is a symbolic link has its audit trail too" {
	mkdir real
	ln -s "$PWD/real" link
	run -0 --separate-stderr env AWF_STORAGE="$PWD/link" awf-run -c 'awf-step -n a -q -- true'
	same "$stderr" ''
	same "$(wc -l <real/audit.jsonl)" 2
}

@test "a step that died where no call shows it makes the run fail" {
	run -4 --separate-stderr awf-run -c 'ulimit -f 3
		head -c 20000 /dev/zero | awf-step a -r -- cat | wc -c'
	[[ $stderr == *'awf-run: pipeline: step a:0 failed: '*'File too large'* ]]
	run -3 awf-run -c 'sleep 1 | timeout -s KILL 0.2 awf-step a -r -- cat | cat'
	same "$(jq -c 'select(.type == "run.completed").payload | [.status, .error.code]' "$(transcript)")" \
		'["failed","interrupted"]'
	# whatever the same step did later, unless it was only tried
	run -3 awf-run -c 'sleep 1 | timeout 0.2 awf-step a -q -- cat; awf-step -n a -q -- true'
	awf-run -c 'sleep 1 | timeout 0.2 awf-step --try a -q -- cat; true'
}

@test "without /proc all that a step or a run started is ended all the same, in time" {
	# LeakSanitizer reads /proc.
	export ASAN_OPTIONS=$ASAN_OPTIONS:detect_leaks=0
	hidden() { unshare -Urm sh -c 'mount -t tmpfs none /proc; exec "$@"' sh "$@" <&-; }
	hidden true || skip "no user namespaces here"
	run -3 --separate-stderr hidden awf-step -n -q --timeout 100ms x -- sh -c 'setsid -f sleep 619.1; sleep 619.2; true'
	same "$stderr" 'awf-step: x: sh: timed out after 100ms'
	run -124 --separate-stderr hidden awf-run --timeout 100ms -c 'setsid sleep 619.3; true'
	run -1 pgrep -f 'sleep 619\.'
	run -125 --separate-stderr hidden awf-run --detach -c true
	[[ $stderr = *'/proc is not mounted'* ]]
}

# bats test_tags=turn:2
@test "more calls at a time than the limit of open files allows are refused before anything is made" {
	run -1 --separate-stderr bash -c 'ulimit -n 256; seq 300 | awf-step -i lines -j 300 x -r -- touch made'
	same "$stderr" 'awf-step: -j 300 needs 332 open files, and the hard limit is 256 (ulimit -Hn): -j 224 is the most here'
	[ ! -e made ] && [ ! -e "$AWF_STORAGE" ]
	run -0 --separate-stderr bash -c 'ulimit -n 128; seq 96 | awf-step -i lines -j 96 x -r -- sh -c "cat; sleep 0.2"'
	same "$output" "$(seq 96)"
	# Branches that no -j bounds are made as the limit allows.
	run -0 --separate-stderr bash -c 'ulimit -n 64; branches=$(printf "true\\n%.0s" $(seq 60))
		awf-step -n -q --parallel x -- $branches && echo done'
	same "$output $stderr" 'done '
}

# bats test_tags=turn:2
@test "a stack of 64 KiB is enough for steps, workers, launchers and sandboxes" {
	run -0 --separate-stderr bash -c 'ulimit -s 64; awf-step -n x -r -- echo one &&
		seq 3 | awf-step -i lines -j 3 y -r -- cat && echo four | awf-step z -r --via "sh -c" -- cat &&
		awf-step -n w -r --sandbox workspace -- echo five && awf-run -c "awf-step -n v -r -- echo six" && awf-replay'
	same "$output" "$(printf '%s\n' one 1 2 3 four five six six)"
}

@test "which process holds the output of a command open that has ended is said" {
	mkfifo hold
	awf-step -n x -r -- sh -c 'cat hold & echo $!' >out 2>err &
	eventually grep -q waiting err
	echo late >hold
	wait $!
	same "$(sed 's/process [0-9]*/process N/' err)" \
		'awf-step: x: sh has ended, but cat (process N), which it started, holds its output open: waiting for that to end'
	same "$(sed 1d out)" late
	# One that is ended by itself is not spoken of, nor one that lives.
	run -0 --separate-stderr awf-step -n x -r -- sleep 0.6
	same "$stderr" ''
}

@test "a command that writes more than is held is ended, and told what to do" {
	[ "$AWF_TEST_TIER" = check ] && skip "writes 256 MiB"
	run -3 --separate-stderr bash -c 'set -o pipefail; awf-step -n x -r -- yes | head -1'
	same "$stderr" 'awf-step: x: yes: ended because its output is larger than 256.0 MiB, which is held until it ends: write what is larger to a file'
}

@test "a byte order mark before JSON is skipped, and is data in a text" {
	mark=$'\xef\xbb\xbf'
	run -0 --separate-stderr awf-step -i json -r x -- cat <<<"$mark{\"a\":1} 2"
	same "$output" $'{"a":1}\n2'
	same "$(awf-step -r x -- cat <<<"$mark{\"a\":1}")" '{"a":1}'
	same "$(awf-step -r x -- cat <<<"${mark}text")" "${mark}text"
	same "$(printf %s "$mark" | awf-step -r x -- cat)" "$mark"
	same "$(awf-step -n y -- echo 1 | { printf %s "$mark"; cat; } | awf-step -r x -- cat)" 1
	same "$(awf-step -n -r -O json x -- printf '\xef\xbb\xbf[1]')" '[1]'
	# However it comes.
	same "$({ printf '\xef'; sleep 0.1; printf '\xbb'; sleep 0.1; printf '\xbf'; sleep 0.1; echo 3; } | awf-step -i json -r x -- cat)" 3
	printf '%s{"name":"x","model":"replay/none"}' "$mark" >agent.json
	same "$(awf-step -n --dry-run -p hi -a agent.json x | jq -r .model)" none
}

@test "a byte order mark is no part of the first line of a file that people write" {
	mark=$'\xef\xbb\xbf'
	mkdir -p "$XDG_CONFIG_HOME/awf"
	cd "$XDG_CONFIG_HOME/awf" || false
	printf '%smodel = replay/none\n' "$mark" >config
	same "$(awf-step -n --dry-run -p hi x | jq -r .model)" none
	printf '%smine replay/answers.jsonl\n' "$mark" >models
	printf '%sreplay/* 7 7\n' "$mark" >prices
	printf '%sreplay at-once=1\n' "$mark" >limits
	printf '%sFIRST=one\n' "$mark" >keys
	chmod 600 keys
	printf '%s{"type":"message","blocks":[{"type":"text","text":"hello"}],"stop_reason":"end_turn","usage":{"input_tokens":1000000},"model":"m"}\n' \
		"$mark" >answers.jsonl
	same "$(awf-step -n -p hi -r -m mine x)" hello
	[[ $(awf-tail --cost -n 1) == *'$7.0000'* ]]
	same "$(awf-step -n -r --pass-key FIRST x -- sh -c 'echo "$FIRST"')" one
	printf '%ssecret-word\n' "$mark" >patterns
	awf-run -n --mask "patterns $PWD/patterns" -c 'awf-step -n -q x -- echo secret-word'
	run ! grep secret-word "$(transcript "$(awf-tail --list --json -n 1 | jq -r .run_id)")"
	awf doctor --json >said || :
	run ! jq -e 'select(.status == "wrong" and (.message | contains("/awf/")))' said
}

@test "standard input that somebody has made non-blocking is waited for" {
	run -0 python3 -c '
import fcntl, os, subprocess, time
for command in (["awf-step", "a", "-r", "--", "cat"], ["awf-step", "-i", "lines", "b", "-r", "--", "cat"]):
    read, write = os.pipe()
    fcntl.fcntl(read, fcntl.F_SETFL, os.O_NONBLOCK)
    step = subprocess.Popen(command, stdin=read, stdout=subprocess.PIPE)
    time.sleep(0.3)
    os.write(write, b"one\n")
    time.sleep(0.1)
    os.close(write)
    assert (step.communicate()[0], step.returncode) == (b"one\n", 0)'
}

@test "a name or an id that no transcript holds as it is breaks the protocol, and not the record" {
	cat >awf-provider-long <<-'EOF'
		#!/usr/bin/env python3
		import json, sys
		for line in sys.stdin:
		    request = json.loads(line)
		    if "messages" not in request:
		        continue
		    long, model = "x" * 300000, request["model"]
		    block = {"type": "tool_use", "tool_id": "a", "tool_name": "bash", "tool_input": {}}
		    if model in block:
		        block[model] = long
		    else:
		        print(json.dumps({"id": request["id"], "type": "tool_call", "call_id": "c", "name": "n", "input": {}, model: long}), flush=True)
		    print(json.dumps({"id": request["id"], "type": "message", "blocks": [block], "stop_reason": "tool_use", "usage": {}, "model": "m"}), flush=True)
	EOF
	chmod +x awf-provider-long
	for member in tool_id tool_name type name call_id; do
		printf -- '---\nmodel: long/%s\ntools: [bash]\n---\nx\n' $member >agent.md
		AWF_PROVIDER_PATH=$PWD run -3 --separate-stderr awf-step -n -p x -a ./agent.md --retries 0 ask
		[[ $stderr == *'the provider broke the protocol: a name or an id above 64 KiB' ]]
		awf-verify -q
	done
}
