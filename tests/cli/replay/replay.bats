#!/usr/bin/env bats
# bats file_tags=turn:3
# awf-replay: recorded workflows run again, and come to the same, or not.
# shellcheck disable=SC2016,SC2030,SC2031,SC2154 # $variables of inner shells; bats sets stderr, runs tests apart
bats_require_minimum_version 1.5.0
load ../../support/helpers

prepare() {
	ISOLATION=${AWF_TEST_ISOLATION:-namespaces}
	printf : | awf-run -c 'awf-step probe -q -- cat'
	awf-replay -q 2>/dev/null || ISOLATION=copy
	mkdir agents tools
}

# An agent with these tools, and the answers it gets, one block list each: the model is
# not asked again, so the file is gone when the replay runs.
agent() {
	local name=$1 tools=$2 answer
	shift 2
	for answer; do printf '{"blocks":[%s]}\n' "$answer"; done >"$name.answers"
	printf -- '---\nname: %s\nmodel: replay/%s\ntools: [%s]\n---\nBe brief.\n' "$name" \
		"$PWD/$name.answers" "$tools" >"agents/$name.md"
}
says() { jq -cn --arg text "$1" '{type: "text", text: $text}'; }
uses() { printf '{"type":"tool_use","tool_id":"%s","tool_name":"%s","tool_input":%s}' "$@"; }

# A tool of these effects: shell text.
tool() {
	printf '{"description":"%s","input_schema":{"type":"object"}%s}\n' "$1" \
		"${2:+,\"effects\":\"$2\"}" >"tools/$1.tool.json"
	printf '#!/bin/sh\n%s\n' "$3" >"tools/$1"
	chmod +x "tools/$1"
}

# Records a workflow, whose stdin is ours and which exits with CODE (0); then it must
# replay, with the same output.
replays() {
	local code=0
	awf-run "$@" >recorded 2>/dev/null || code=$?
	same "$code" "${CODE:-0}"
	again
}
again() {
	run -0 --separate-stderr awf-replay -q --isolation "$ISOLATION"
	same "$output" "$(cat recorded)"
	same "$(ls "$AWF_STORAGE/replays")" ''
}

# The replay must differ, and say so of this call and value.
differs() {
	run -3 --separate-stderr awf-replay -q --isolation "$ISOLATION" "${@:2}"
	same "$(grep '^awf-replay: ' <<<"$stderr" | sed -E 's/[0-9a-f-]{36}/ID/g; s/^[^:]*: [^:]*: //')" \
		"the replay differs from the recording: $1"
	[ -d "$(sed -n 's/^  the replay is kept in //p' <<<"$stderr")/transcripts" ]
	rm -r "$AWF_STORAGE/replays"
}

@test "files of the run that today are something else, or lie where a directory is none" {
	agent a '' "$(says ok)"
	echo 'echo hi | awf-step -a a ask -r | awf-step -m replay/a.answers -p @agents/p.txt again -r' >wf
	chmod +x wf
	echo 'Say {{data}}.' >agents/p.txt
	cp a.answers kept
	awf-run ./wf >recorded
	mkdir -p other/wf/below/it
	rm -r wf && mv other/wf . && again
	mv agents before && echo no directory >agents && again
	ln -sf /nowhere/at/all agents && again
	rm agents && mkdir -p agents/a.md/it agents/p.txt && again
}

@test "a resume tells of a FIFO that was a file, and does not wait for it" {
	printf '{"blocks":[%s]}\n' "$(says ok)" >answers
	echo hi >p.txt
	echo 'awf-step -n -m replay/answers -p @p.txt ask | awf-step fail -- false' >wf
	chmod +x wf
	run -3 awf-run ./wf
	rm p.txt && mkfifo p.txt && echo true >wf
	run -0 --separate-stderr timeout -k 1 5 awf-run --resume @
	[[ $stderr == *"p.txt: is no file any more"* ]]
}

@test "no provider has to be there, and one that was not there is not" {
	mkdir providers
	cat >providers/awf-provider-own <<-'end'
		#!/bin/sh
		exec jq -c --unbuffered 'select(.id) | {id, type: "message",
			blocks: [{type: "text", text: .model}], stop_reason: "end_turn", usage: {}, model}'
	end
	chmod +x providers/awf-provider-own
	cp providers/awf-provider-own providers/awf-provider-spare
	printf -- '---\nname: a\nprovider: own\nmodel: m\nfallback: [spare/m]\n---\nHi.\n' >agents/a.md
	printf -- '---\nname: b\nprovider: nowhere\nmodel: m\n---\nHi.\n' >agents/b.md
	local given
	for given in '-a a' '-m own/n' '-a a -m other/n' '-m spare/n'; do
		AWF_PROVIDER_PATH=$PWD/providers replays -c "echo q | awf-step $given ask -r"
	done
	for given in '-a b' '-m nowhere/m'; do
		CODE=2 AWF_PROVIDER_PATH=$PWD/providers replays -c "echo q | awf-step $given ask -r"
	done
	AWF_PROVIDER_PATH=$PWD/providers replays -c 'echo q | AWF_PROVIDER=own awf-step -m m ask -r'
}

@test "who answered in place of the agent's model is told" {
	export OPENAI_API_KEY=k OPENAI_BASE_URL=http://127.0.0.1:1/v1
	printf '{"blocks":[%s]}\n' "$(says ok)" >answer.jsonl
	printf -- '---\nmodel: openai/m\nfallback: [replay/answer.jsonl]\n---\nHi.\n' >agents/a.md
	run -0 --separate-stderr awf-step -n -p hi -a a --retries 0 -r ask
	same "$output" ok
	[[ $(awf-tail) == *'ask assistant ('*'fallback replay/answer.jsonl'*'): ok'* ]]
	[[ $(awf-replay --tree) == *'ask agent done ('*'openai/m, 1 retry)'*'turn 0 ('*'replay/answer.jsonl'* ]]
}

@test "what cannot be loaded as it is today" {
	agent a '' "$(says ok)"
	replays -c 'echo q | awf-step -a a ask -r'
	echo '---' >agents/a.md
	run -3 --separate-stderr awf-replay -q --isolation "$ISOLATION" --current
	[[ $stderr == *'agents/a.md: '*'step.started '*': /payload/input differs'* ]]
}

# bats test_tags=turn:2
@test "pipelines, items, joins, conditions, concurrency" {
	printf 'a\nb\nc\n' | replays -c 'awf-step -i lines -j 4 up -- tr a-z A-Z |
		awf-step --when "jq -e \".data != \\\"B\\\"\"" -j 2 mark -- sed "s/^/x/" |
		awf-step -s join -- jq -c . | awf-step count -r -- wc -c'
	replays -c 'for i in 1 2 3; do echo "$i" | awf-step a -q -- cat & done; wait
		{ awf-step -n b -- echo 1; awf-step -n c -- echo 2; } | awf-step -s d -r -- cat'
	printf 'x\377y' | replays -c 'awf-step a -- cat | awf-step b -r -- cat'
	head -c 600000 /dev/zero | tr '\0' z | replays -c 'awf-step a -- cat | awf-step b -r -- wc -c'
	replays -n -c 'awf-step -n outer -r -- sh -c "echo 5 | awf-step inner -- cat | awf-step -r next -- sed s/5/6/"'
}

@test "after a resume what commands and tools had in them is taken as it was" {
	printf '#!/bin/sh\nawf-step -n in -r -- echo c; exit 4\n' >c.awf
	chmod +x c.awf
	tool to read 'awf-run -n -c "awf-step -n in -r -- echo c; echo noise >&2"'
	while IFS= read -r flow; do
		printf '#!/bin/sh\n%s\nawf-step -n last -q -- test -e ok\n' "$flow" >flow
		chmod +x flow
		rm -f ok
		CODE=3 replays ./flow
		AWF_TOOL_PATH=$PWD/tools awf-run --resume @ >recorded 2>/dev/null || true
		again
	done <<-'END'
		awf-step -n ok -r -- sh -c 'awf-step -n in -r -- echo hi'
		awf-step -n --allow-failure -q al -- awf-run -n ./c.awf
		awf-step -n al -- awf-run -n ./c.awf | awf-step --rescue -r resc -- echo rescued
		awf-step -n ok -r -- sh -c 'awf-run --try -n ./c.awf; echo ok'
		echo '{}' | AWF_TOOL_PATH=$PWD/tools awf-step -i json -t to -r t
	END
}

# bats test_tags=turn:2
@test "what a signal, a time limit or a death has cut off replays as far as it went" {
	while IFS= read -r flow; do
		awf-run -n --timeout 300ms -c "$flow" >recorded 2>/dev/null || true
		again
		run awf-verify -q --determinism
		same "$status" 0
	done <<-'END'
		awf-step -n g -- sleep 9 | awf-step -r after -- cat
		awf-step -n --each g -- sleep 9 | awf-step -r after -- cat
		awf-run -n -c 'echo x; sleep 9' | awf-step -r after -- cat
		awf-step -n g -q -- sleep 9 | awf-step -r after -- cat
	END
	awf-run -n --id-file id -c 'awf-step -n one -r -- echo 1; awf-step -n g -- sleep 9 | awf-step -r after -- cat' >recorded 2>/dev/null 3>&- &
	eventually [ -s id ]
	eventually grep -sq '"name":"g"' "$AWF_STORAGE/transcripts/$(cat id).jsonl"
	# All of it at once, so that nobody tells of another's end.
	for signal in STOP KILL; do
		# shellcheck disable=SC2046
		kill -$signal $! $(grep -lsz "^AWF_RUN_ID=$(cat id)$" /proc/[0-9]*/environ | cut -d/ -f3)
	done
	wait $! || true
	again
}

@test "scripts, arguments, inputs, recorded variables, a private home" {
	printf '#!/bin/sh\necho "$1 $AWF_INPUT_k $FOO $BAR" | awf-step a -- cat | awf-step b -r -- tr a-z A-Z\n' >flow
	FOO=foo BAR=bar awf-run --input k=v --env FOO ./flow arg >recorded
	same "$(cat recorded)" 'ARG V FOO BAR'
	differs 'a:0:0: step.started ID: /payload/input differs'
	unset BAR
	FOO=foo replays --input k=v --env FOO ./flow arg
	mkdir elsewhere
	mv flow elsewhere/
	(cd elsewhere && awf-run --input k=v ./flow arg >../recorded)
	echo '# a comment' >>elsewhere/flow
	again
	replays -c 'awf-step -n ls -r -- sh -c "ls -A \"\$HOME\" | wc -l"'
}

@test "what awf-replay has in its own environment is not found in its processes" {
	awf-run -n -c 'awf-step -n look -r -- sh -c "
		cat /proc/[0-9]*/environ 2>&- | tr \\\\0 \\\\n | grep -c ^AWF_TEST_TODAY=; true"' >recorded
	same "$(cat recorded)" 0
	[ "$ISOLATION" = namespaces ] || skip 'no user namespaces here'
	export AWF_TEST_TODAY=secret
	again
}

@test "what failed, was tried, rescued or waits stays so" {
	replays -c 'awf-step -n a -- false | awf-step b -- cat | awf-step --rescue c -r -- echo saved'
	replays -c 'awf-step -n --try a -- false || awf-step -n b -r -- echo else'
	replays -c 'awf-step -n --allow-failure a -- false | awf-step b -r -- cat'
	run -3 awf-run -c 'awf-step -n --retries 1 --delay 5ms a -- sh -c "test -e f || { touch f; exit 1; }; exit 1"'
	rm f
	awf-replay -q --isolation "$ISOLATION" 2>/dev/null
	CODE=3 replays -c 'awf-step -n --timeout 100ms slow -q -- sleep 10'
	CODE=7 replays -c 'exit 7'
	CODE=137 replays -c 'awf-step -n a -r -- echo ok; kill -9 $$'
}

@test "agents are answered from the recording, the model is not asked" {
	tool add none 'jq -c .a+1'
	agent one add "$(uses t1 add '{"a":1}')" "$(uses t2 add '{"a":2}')" "$(says fine)"
	echo go | awf-run -c 'awf-step -a agents/one.md ask | awf-step after -r -- cat' >recorded
	rm one.answers
	again
	printf '#!/bin/sh\necho 9\n' >tools/add
	again
	differs 'ask:0:0: step.started ID: /payload/definition_sha256 differs' --current
}

@test "tools run again or not, as their effects say" {
	LEDGER=$BATS_TEST_TMPDIR/ledger
	tool undeclared '' "echo u; echo u >>here"
	tool pure none 'echo p'
	tool look read "echo l >>$LEDGER; echo l"
	tool build workspace "echo w >>here; cat here"
	tool mail external "echo m >>$LEDGER; echo sent"
	agent all 'undeclared, pure, look, build, mail' "$(uses 1 undeclared '{}'),$(uses 2 pure '{}')" \
		"$(uses 3 look '{}'),$(uses 4 build '{}')" "$(uses 5 mail '{}')" "$(says ok)"
	echo go | awf-run -c "awf-step -a agents/all.md ask -q; awf-step -n --effects read r -r -- sh -c 'date +%N; echo r >>$LEDGER'
		awf-step -n --effects external e -r -- sh -c 'echo e >>$LEDGER; date +%N'; echo '{}' | awf-step -i json -t mail again -r
		awf-step -n --effects workspace w -r -- sh -c 'cat here'" >recorded
	same "$(tr '\n' ' ' <"$LEDGER")" 'l m r e m '
	rm here all.answers
	again
	same "$(tr '\n' ' ' <"$LEDGER")" 'l m r e m '
	[ ! -e here ]
}

@test "another result, another input, another call: the first difference is named" {
	echo one >file
	awf-run -c 'awf-step -n read -- cat file | awf-step count -r -- wc -c' >/dev/null
	echo three >file
	differs 'read:0:0: step.completed ID: /payload/result differs'
	[[ $stderr == *'  recording: "one"'*'  replay: "three"'* ]]
	awf-run -c 'cat file | awf-step a -q -- cat' 
	echo four >file
	differs 'a:0:0: step.started ID: /payload/input differs'
	touch extra
	awf-run -c 'for f in *; do case $f in extra) awf-step -n "$f" -q -- true; esac; done; awf-step -n z -q -- true'
	mv extra other
	differs 'extra:0:0: step.started ID is in the recording only'
	awf-run -c 'test -e more && awf-step -n more -q -- true; awf-step -n z -q -- true'
	touch more
	differs 'more:0:0: step.started ID is in the replay only'
	awf-run -c 'awf-step -n z -q -- true; exit $(cat code 2>/dev/null || echo 0)'
	echo 5 >code
	differs 'run: run.completed ID: /payload/status differs'
	printf 'awf-step -n a -q -- echo one\n' >flow
	awf-run ./flow
	printf 'awf-step -n a -q -- echo two\n' >flow
	differs 'a:0:0: step.started ID: /payload/blocks/0/command differs' --current
	[[ $stderr == *"  the workflow's script has changed or does not exist any more"* ]]
}

@test "a run inside of a replay does nothing" {
	awf-run -n -c "awf-run -n -c 'awf-step -n --effects external mail -q -- sh -c \"echo >>../sent\"; echo said'"
	for kind in copy none; do
		run -0 --separate-stderr awf-replay -q --isolation $kind
		same "$output" said
	done
	awf-run -n -c 'awf-run --resume @ || awf-run --fork @ --at x || true' 2>/dev/null
	run -0 --separate-stderr awf-replay -q --isolation copy
	same "${stderr_lines[0]}" "awf-run: $(basename "$(transcript)" .jsonl): no run goes on inside of a replay, as it would do all for real"
	same "$(wc -l <../sent)" 1
}

@test "what cannot be replayed says why" {
	run -1 --separate-stderr awf-replay nosuch
	echo x | awf-step a -q -- cat
	run -1 --separate-stderr awf-replay
	[[ $stderr == *"the input of a step outside of any run is not kept: run it with awf-run" ]]
	awf-step -n b -q -- echo x
	run -0 awf-replay -q --isolation "$ISOLATION"
	echo x | awf-run -c 'cat'
	rm "$AWF_STORAGE"/inputs/*
	run -4 --separate-stderr awf-replay
	[[ $stderr == *"its standard input (inputs/"*" in the storage) is missing" ]]
	mkdir gone
	(cd gone && awf-run -c 'awf-step -n a -q -- true')
	rmdir gone
	run -4 --separate-stderr awf-replay --current
	same "$stderr" "awf-replay: $PWD/gone: the workspace is not there, and no snapshot of it"
	run -1 --separate-stderr awf-replay --isolation copi
	same "$stderr" "awf-replay: --isolation: no such word 'copi' (did you mean 'copy'?)"
	run -1 --separate-stderr awf-replay --order seq --isolation copy
	same "$stderr" "awf-replay: --isolation: not with --order, which runs nothing"
	awf-run --mask cat -n -c 'awf-step -n a -q -- true'
	run -1 --separate-stderr awf-replay
	[[ $stderr == *": the run was masked: what it was given and made is not all there" ]]
	awf-run --snapshot -n -c 'awf-step -n a -q -- true'
	rm -r "$AWF_STORAGE"/snapshots/*
	run -4 --separate-stderr awf-replay
	[[ $stderr == *"the snapshot of its workspace (snapshots/"*" in the storage that has made it) is not here: "* ]]
	mkdir empty
	run -1 --separate-stderr awf-replay empty
	same "$stderr" 'awf-replay: empty: no transcript is there (transcripts/*.jsonl)'
	mkfifo hold
	rm "$AWF_STORAGE/latest"
	awf-run -c 'awf-step -n a -q -- cat hold' &
	eventually test -e "$AWF_STORAGE/latest"
	eventually sh -c 'grep -q step.started "$(readlink -f "$AWF_STORAGE/latest")"'
	run -1 --separate-stderr awf-replay
	[[ $stderr == *": the run is alive: wait for its end" ]]
	echo >hold
	wait
}

@test "what a fork took over stands: how it was done is in another record" {
	tool count none 'jq .text'
	agent one count "$(uses t1 count '{"text":"x"}')" "$(says first)"
	agent two '' "$(says second)"
	replays -c 'awf-step -n -p ask -a one one | awf-step two -a two -r'
	awf-run --fork @ --at two >recorded
	again
	awf-run --fork @ --at two >recorded
	again
}

@test "a run that was resumed is made again as its last attempt left it" {
	echo hi | awf-run -c 'awf-step up -- tr a-z A-Z | awf-step fragile -- sh -c "test -e ok && cat" | awf-step -r last -- cat' || true
	touch ok
	awf-run --resume @ >recorded
	same "$(cat recorded)" HI
	again
	run -0 awf-verify --determinism --isolation "$ISOLATION"
	rm ok
	differs 'fragile:0:0: step.completed ID: /payload/result differs'
}

@test "an agent that was cut off and went on is made again in one piece" {
	tool count none 'read -r input; echo "$input"
		case $input in *2*) test -e went || { touch went; kill -9 $(cut -d" " -f1 "$AWF_STORAGE/runs/$AWF_RUN_ID/lock"); sleep 9; }; esac'
	agent one count "$(uses t1 count '{"n":1}')" "$(uses t2 count '{"n":2}')" "$(uses t3 count '{"n":3}')" "$(says fine)"
	echo go | awf-run -c 'awf-step -a one ask | awf-step after -r -- cat' || true
	rm one.answers
	agent one count "$(uses t3 count '{"n":3}')" "$(says fine)"
	awf-run --resume @ >recorded
	same "$(cat recorded)" fine
	rm one.answers
	again
	run -0 awf-verify -q --determinism --isolation "$ISOLATION"
	same "$output" ''
}

@test "what the user decided of an effect stands" {
	awf-run -c 'awf-step -n --effects external mail -- sh -c "kill -9 \$(cut -d\" \" -f1 \"\$AWF_STORAGE/runs/\$AWF_RUN_ID/lock\"); sleep 9" |
		awf-step --allow-empty after -q -- cat' || true
	awf-run --resume @ --skip mail >recorded 2>/dev/null || true
	again
}

@test "a replay that is kept is a storage with a sound transcript" {
	awf-run -c 'awf-step -n a -- echo x | awf-step b -q -- cat'
	run -0 awf-replay -q --isolation "$ISOLATION" --record kept
	run -0 awf-verify kept
	same "$(awf-replay --canonical kept/transcripts/*.jsonl)" "$(awf-replay --canonical)"
	run -1 --separate-stderr awf-replay --isolation "$ISOLATION" --record kept
	same "$stderr" 'awf-replay: kept: unable to make this directory for the replay: Directory not empty'
}

@test "without user namespaces the missing part is named" {
	[ "$ISOLATION" = namespaces ] || skip 'no namespaces'
	awf-run -n -c 'awf-step -n a -q -- true'
	run -4 --separate-stderr unshare -rm sh -c 'echo 0 >/proc/sys/user/max_user_namespaces; awf-replay -q'
	[[ $stderr == "awf-replay: isolation: unable to make a user namespace: "*"; --isolation copy and --isolation none do without" ]]
	run -4 --separate-stderr unshare -rm sh -c 'echo 0 >/proc/sys/user/max_user_namespaces; awf-verify --determinism'
	[[ $stderr == "awf-verify: isolation: unable to make a user namespace: "* ]]
	run -0 unshare -rm sh -c 'echo 0 >/proc/sys/user/max_user_namespaces; awf-verify --determinism --isolation copy'
	same "$output" ''
	same "$(ls "$AWF_STORAGE/replays")" ''
}

@test "it says what it runs in" {
	awf-run -c 'awf-step -n a -q -- true'
	run -0 awf-replay --isolation copy
	same "$output" "awf-replay: no namespaces: it runs in a copy of today's $PWD"
	run -0 awf-replay --isolation none
	same "$output" "awf-replay: no isolation: it runs in $PWD itself"
	[ "$ISOLATION" = namespaces ] || skip 'no namespaces'
	run -0 awf-replay
	same "$output" "awf-replay: no snapshot of the workspace: today's $PWD is used"
	awf-run --snapshot -c 'awf-step -n a -q -- cat' <<<x
	run -0 awf-replay
	same "$output" ''
}

@test "control characters of a recording do not reach the terminal" {
	mkdir $'a\033[31mb'
	cd $'a\033[31mb'
	awf-run -n -c 'awf-step -n a -q -- date +%N'
	sed $'s/"name":"pipeline"/"name":"pipe\\\\u001b[2Jline"/' "$(transcript)" >../theirs.jsonl
	run -3 --separate-stderr awf-replay --isolation "$ISOLATION" ../theirs.jsonl
	same "$(grep -c '^awf-replay: pipe?\[2Jline: the replay differs' <<<"$stderr")" 1
	[[ $stderr == *'/a?[31mb'* && $stderr != *$'\033'* ]]
}

@test "the root directory is no workspace to replay in" {
	(cd / && awf-run -n -c 'awf-step -n a -q -- true')
	for kind in "$ISOLATION" copy; do
		run -4 --separate-stderr awf-replay -q --isolation "$kind"
		same "$stderr" 'awf-replay: /: the workspace is the root directory, which cannot be isolated: record with awf-run --workspace DIR'
	done
	run -0 awf-replay --isolation none
}

@test "an agent file beside the keys is seen without them" {
	[ "$ISOLATION" = namespaces ] || skip 'no user namespaces here'
	rm "$XDG_DATA_HOME/awf/trust"
	agent one '' "$(says hello)"
	mv agents/one.md "$XDG_CONFIG_HOME/awf/"
	echo go | awf-run -c "awf-step -a $XDG_CONFIG_HOME/awf/one.md ask -r
		awf-step -n ls -r -- ls $XDG_CONFIG_HOME/awf" >recorded
	echo KEY=secret >"$XDG_CONFIG_HOME/awf/keys"
	chmod 600 "$XDG_CONFIG_HOME/awf/keys"
	again
}

@test "from a snapshot the workspace is as it was" {
	echo one >file
	awf-run --snapshot -c 'awf-step -n a -r -- sh -c "cat file; echo two >file; cat file"' >recorded
	same "$(cat file)" two
	again
	same "$(cat file)" two
}

@test "a signal ends a replay, and nothing is left of it" {
	awf-run -c 'awf-step -n a -q -- sh -c "test ! -e slow || sleep 60"'
	touch slow
	awf-replay -q --isolation "$ISOLATION" &
	eventually sh -c 'ls "$AWF_STORAGE"/replays/*/transcripts/*.jsonl'
	eventually sh -c 'grep -q step.started "$AWF_STORAGE"/replays/*/transcripts/*.jsonl'
	kill -TERM $!
	ended=0
	wait $! || ended=$?
	same "$ended" 143
	same "$(ls "$AWF_STORAGE/replays")" ''
}

# A workflow of all that an export holds, in one directory; its script in another, an
# agent in the user's configuration.
exportable() {
	mkdir -p flows/agents "$XDG_CONFIG_HOME/awf/tools"
	tool add none 'jq -c .a+1'
	tool mail external 'exit 1'
	mv tools/mail* "$XDG_CONFIG_HOME/awf/tools"
	agent one 'add, mail' "$(uses t1 add '{"a":1}')" "$(says fine)"
	mv agents/one.md flows/agents
	printf 'about {{data}}\n' >prompt
	printf 'awf-step -a one -p @prompt ask | awf-step outer -r -- sh -c "awf-step inner -r -- cat; cat given 2>/dev/null || true"\n' >flows/flow
	echo go | awf-run "$@" flows/flow >recorded
}

# Away with all that a replay of the export must not need.
elsewhere() {
	mv recorded ../recorded
	export AWF_STORAGE=$BATS_TEST_TMPDIR/other XDG_CONFIG_HOME=$BATS_TEST_TMPDIR/none
	cd ..
	rm -rf work config storage
}

replays_from() {
	run -0 --separate-stderr awf-replay -q --isolation "$1" exported
	same "$output" "$(cat recorded)"
	run -0 awf-verify --determinism --isolation "$1" exported
	same "$output" ''
}

# bats test_tags=turn:2
@test "an export replays where nothing of the recording is" {
	exportable
	run -0 awf-replay --export ../exported
	same "$output" "awf-replay: no snapshot of the workspace: only the files of steps are exported (--with-workspace takes today's)"
	elsewhere
	same "$(cd exported/workflow && find . -type f | sed "s|.*/work/|work/|" | sort)" \
"./config/awf/tools/mail
./config/awf/tools/mail.tool.json
./manifest.json
work/flows/agents/one.md
work/flows/flow
work/prompt
work/tools/add
work/tools/add.tool.json"
	same "$(jq -r '.files[].file' exported/workflow/manifest.json | wc -l)" 7
	[ "$ISOLATION" = copy ] || replays_from namespaces
	replays_from copy
	run -4 --separate-stderr awf-replay --isolation none exported
	[[ $stderr == *"/work: the workspace is not there, and no snapshot of it" ]]
	run -0 awf-verify exported
	run -0 awf-replay -q --export again exported
	rm -r exported
	mv again exported
	replays_from "$ISOLATION"
}

# The script and the agent lie in HOME itself, which is private, and beside the workspace.
@test "files outside of the workspace are seen, and exported, whatever is around them" {
	[ "$ISOLATION" = namespaces ] || skip 'no user namespaces here'
	agent one '' "$(says hello)"
	printf -- '---\nname: two\n---\nShort.\n' >"$HOME/two.md"
	mkdir ../agents
	cp agents/one.md ../agents/
	printf '#!/bin/sh\necho go | awf-step -a ../agents/one.md s -r; echo go |
		awf-step -a ~/two.md -m "replay/%s" t -r; awf-step -n u -r -- sh -c "ls -A ~"\n' "$PWD/one.answers" >"$HOME/flow"
	chmod +x "$HOME/flow"
	awf-run "$HOME/flow" >recorded
	echo flow >want; echo two.md >>want
	same "$(tail -n 2 recorded)" "$(cat want)"
	same "$(awf-replay -q | tail -n 2)" "$(cat want)"
	again
	run -0 --separate-stderr awf-replay -q --export ../exported
	same "$(jq -r '.files[].path' ../exported/workflow/manifest.json)" \
		"$(printf '%s\n' "$HOME/flow" "${PWD%/*}/agents/one.md" "$HOME/two.md")"
	rm -r ../agents "$HOME"/{flow,two.md}
	elsewhere
	replays_from namespaces
}

@test "paths of somebody else's recording do not lead out of its export" {
	agent one '' "$(says hello)"
	echo go | awf-run -c 'awf-step -a one.md s -q'
	echo key >../key
	mkdir -p ../theirs/transcripts ../x/y
	sed "s|\"files\":\[{[^]]*|\"files\":[\"/../../../..${PWD%/*}/key\"|" "$(transcript)" \
		>../theirs/transcripts/"$(basename "$(transcript)")"
	cp -r "$AWF_STORAGE/inputs" ../theirs/
	run -1 awf-replay -q --export ../x/y/z ../theirs
	run -0 awf-replay -q --visible .. --export ../x/y/z ../theirs
	same "$(jq -r '.files[].file' ../x/y/z/workflow/manifest.json)" "workflow/files${PWD%/*}/key"
	same "$(cd .. && find . -name key | sort)" "$(printf './key\n./x/y/z/workflow/files%s' "${PWD%/*}/key")"
}

@test "an export of a snapshot, and of today's workspace" {
	echo given >given
	exportable --snapshot
	same "$(cat recorded)" "$(printf 'fine\ngiven')"
	echo other >given
	run -0 awf-replay --export ../exported
	same "$output" ''
	elsewhere
	replays_from "$ISOLATION"
	mkdir work
	echo given >work/given
	(cd work && awf-run -c 'awf-step -n a -r -- cat given') >recorded
	run -0 awf-replay --with-workspace --export exported2
	rm -r work exported
	mv exported2 exported
	replays_from "$ISOLATION"
}

@test "blobs, binary input and children are exported" {
	{ head -c 300000 /dev/zero; printf '\377'; } | awf-run -c 'awf-step a -- cat | awf-step b -r -- wc -c' >recorded
	run -0 awf-replay -q --export ../exported
	elsewhere
	replays_from "$ISOLATION"
	same "$(find exported/blobs exported/inputs -type f | wc -l)" 3
}

@test "exports that would not replay are refused" {
	# What older versions recorded: the names of files alone.
	exportable
	sed -i 's/"files":\[{"path":\("[^"]*"\)[^]]*\]/"files":[\1]/; /"type":"run.started"/s/"files":\[[^]]*\],//' "$(transcript)"
	echo x >>flows/flow
	run -1 --separate-stderr awf-replay --export ../exported
	same "$stderr" "awf-replay: flow: the workflow's script has changed or does not exist any more"
	sed -i '$d' flows/flow
	file=$(grep -o '"files":\["[^"]*' "$(transcript)" | sed 's/.*"//; q')
	mv "$file" "$file.gone"
	run -1 --separate-stderr awf-replay --export ../exported
	same "$stderr" "awf-replay: $file: a step of the run was made of this file, which is not there any more"
	[ ! -e ../exported ]
	mkdir full
	touch full/file
	run -1 --separate-stderr awf-replay --export full
	same "$stderr" "awf-replay: full: unable to make this directory: Directory not empty"
	run -1 --separate-stderr awf-replay --export x --isolation copy
	same "$stderr" "awf-replay: --isolation: not with --export, which runs nothing"
	run -1 --separate-stderr awf-replay --with-workspace
	same "$stderr" "awf-replay: --with-workspace: only with --export"
	run -1 --separate-stderr awf-replay --tree --export x
	same "$stderr" "awf-replay: --export: not with --tree"
}

# bats test_tags=turn:2
@test "a reader that leaves early ends a replay where it ended the run" {
	local again
	again=$(seq "$(rounds 2 8)")
	for _ in $again; do
		replays -c 'seq 5 | awf-step -i lines l -- cat | head -n 1 | awf-step -r first -- cat'
		replays -c 'seq 9 | awf-step -i lines -j 3 l -- cat | head -n 1 | awf-step -r first -- cat'
	done
	agent slow '' "$(says one)"
	for _ in $again; do
		replays -c 'awf-step -n -p hi -a slow a | awf-step -n --try -r b -- false || echo none'
	done
	# What differs is still found.
	awf-run -c 'awf-step -n one -- date +%N | awf-step two -- cat | cat' >recorded
	run -3 --separate-stderr awf-replay -q --isolation "$ISOLATION"
}

@test "a tool that is called without a model, and fails outside" {
	tool op external 'echo trouble >&2; exit 1'
	CODE=3 replays -c 'echo "{}" | awf-step -i json -t op a -q'
	CODE=3 replays -c 'echo "{}" | awf-step -i json --retries 1 --delay 1ms --retry-on exit_status -t op a -q'
}

@test "what differs again and again is not waited for each time" {
	seq 60 | awf-run -c 'awf-step -i lines one -- date +%N | awf-step two -- cat | cat' >recorded
	run -3 --separate-stderr timeout 40 awf-replay -q --isolation "$ISOLATION"
	[[ $stderr == *"one:0:"*": step.completed"*"/payload/result differs"* ]]
}

# The one line of a transcript that says what its step was made of, with another file in it.
names_file() { sed "s|\"files\":\[[^]]*\]|\"files\":[\"$1\"]|" "$2"; }

@test "a recording chooses no files of the user" {
	mkdir -p "$HOME/.ssh" "$HOME/papers"
	agent writer '' "$(says hello)"
	echo private >"$HOME/.ssh/id_rsa"
	echo private >"$HOME/papers/tax"
	echo private >.env
	awf-run -n -c 'awf-step -n -q -a writer -p hi write'
	sent=../sent.jsonl
	ln -s "$HOME/.ssh/id_rsa" agents/link.md
	for file in "$HOME/.ssh/id_rsa" "$HOME/papers/tax" "$PWD/.env" "$PWD/agents/link.md" /etc/shadow; do
		names_file "$file" "$(transcript)" >"$sent"
		run -1 --separate-stderr awf-replay -q --export ../out "$sent"
		same "$stderr" "awf-replay: $file: the recording names this file, which lies where no step's files are expected: it is taken only with --visible and its directory"
		[ ! -e ../out ]
		run -1 awf-replay -q --isolation copy "$sent"
	done
	# In the storage, it leads to nothing that is hidden in the home directory.
	cp "$(transcript)" kept
	for file in "$HOME/.ssh/id_rsa" "$PWD/agents/link.md"; do
		names_file "$file" kept >"$(transcript)"
		run -1 awf-replay -q --export ../out
		[[ $output == "awf-replay: $file: the recording names this file"* ]]
	done
	mv kept "$(transcript)"
	names_file "$HOME/papers/tax" "$(transcript)" >"$sent"
	awf-replay -q --visible "$HOME/papers" --export ../out "$sent"
	cmp "../out/workflow/files$HOME/papers/tax" "$HOME/papers/tax"
	# The workspace that it names makes no difference.
	sed "s|\"cwd\":\"[^\"]*\"|\"cwd\":\"$HOME/papers\"|" "$sent" >../other.jsonl
	rm -r ../out
	run -1 awf-replay -q --export ../out ../other.jsonl
	[[ $output == *"$HOME/papers/tax: the recording names this file"* ]]
	run -1 awf-replay -q --with-workspace --export ../out ../other.jsonl
	[[ $output == *"$HOME/papers: the recording says that it ran here"* ]]
	(cd "$HOME/papers" && awf-replay -q --export ~-/../out ~-/../other.jsonl)
	# What is as it should be needs no word.
	rm -r ../out
	awf-replay -q --export ../out
	[ -e "../out/workflow/files$PWD/agents/writer.md" ]
}

@test "an export leads to nothing outside of it" {
	[ "$ISOLATION" = namespaces ] || skip "only namespaces keep a replay from the machine"
	mkdir ../elsewhere ../outside
	agent writer '' "$(says hello)"
	mv agents/writer.md ../elsewhere
	elsewhere=$(realpath ../elsewhere)
	awf-run -n -c "awf-step -n -q -a $elsewhere/writer.md -p hi write"
	awf-replay -q --visible ../elsewhere --export ../out
	rm -r ../elsewhere
	awf-replay -q ../out
	rm -r ../out/blobs
	mv "../out/workflow/files$elsewhere"/* ../outside
	rmdir "../out/workflow/files$elsewhere"
	ln -s "$(realpath ../outside)" "../out/workflow/files$elsewhere"
	run ! awf-replay -q ../out
}

@test "a recording of an older version: no bound thoughts, white space sent, long results not cut" {
	local recording="$ROOT/tests/fixtures/older"
	[ "$(jq -c 'select(.type == "message.assistant").payload.blocks[] | select(.bound)' "$recording"/transcripts/*.jsonl | wc -l)" = 0 ]
	run -0 --separate-stderr awf-replay "$recording"
	same "$(jq -r .data <<<"$output")" 'So be it.'
	awf-verify -q "$recording"/transcripts/*.jsonl
}
