#!/usr/bin/env bats
# bats file_tags=turn:3
# awf-run inside of a run: a child run, and its call in the record of its parent.
# shellcheck shell=bash disable=SC2016
load ../../support/helpers
bats_require_minimum_version 1.5.0

cleanup() {
	local pids
	pids=$(jobs -p)
	# shellcheck disable=SC2086
	[ -z "$pids" ] || kill -9 $pids 2>/dev/null || true
}

# An executable script of these lines.
script() {
	local file=$1
	shift
	printf '%s\n' '#!/bin/sh' "$@" >"$file"
	chmod +x "$file"
}

# What jq makes of the events of the latest run, and of the run with this name.
events() { jq -c "$1" "$(transcript)"; }
transcript_of() { grep -l "\"type\":\"run.started\".*\"name\":\"$1\"" "$AWF_STORAGE"/transcripts/*.jsonl; }
events_of() { jq -c "$2" "$(transcript_of "$1")"; }
calls() { events 'select(.type == "step.call_workflow.completed") | .payload | '"$1"; }
runs() { find "$AWF_STORAGE/transcripts" -name '*.jsonl' | wc -l; }

@test "a child is a call in its parent's record, and both name each other" {
	export JQ=jq
	script brief.awf 'awf-step up -- tr a-z A-Z'
	run -0 awf-run -n --name top -c 'echo hello | awf-run ./brief.awf --flag | awf-step -r last -- cat'
	same "$output" HELLO
	child=$(events 'select(.type == "step.call_workflow.started").child_run_id' | tr -d '"')
	same "$(basename "$(transcript_of brief.awf)" .jsonl)" "$child"
	same "$(events 'select(.type == "step.call_workflow.started") | [.path, .iteration,
		(.payload | .name, .kind, .call, .input, .blocks[0].command)]')" \
		'["brief",0,"brief","call_workflow","brief:0:0",null,"/bin/sh ./brief.awf --flag"]'
	same "$(calls '[.call, .exit_code, .error, (.result | fromjson | .data)]')" \
		'["brief:0:0",0,null,"HELLO"]'
	parent=$(basename "$(transcript)" .jsonl)
	started=$(events 'select(.type == "step.call_workflow.started").event_id')
	same "$(events_of brief.awf 'select(.type == "run.started") | [.parent_run_id, .links]')" \
		"[\"$parent\",[{\"run_id\":\"$parent\",\"event_id\":$started}]]"
	same "$(events 'select(.type == "step.call_workflow.completed") | .links')" \
		"[{\"run_id\":\"$child\",\"event_id\":$(events_of brief.awf 'select(.type == "run.completed").event_id')}]"
	# What comes after it is linked to the child's event, and in it to the parent's.
	same "$(events 'select(.type == "step.started" and .path == "last").links[0].run_id')" "\"$child\""
	awf-verify "$AWF_STORAGE"/transcripts/*.jsonl
	same "$(readlink "$AWF_STORAGE/latest")" "transcripts/$parent.jsonl"
}

@test "each line of a child names its parent, whoever writes it" {
	export JQ=jq
	script inner 'awf-step -n ask --approve | awf-step -m replay/answers.jsonl say -q'
	echo '{"blocks":[{"type":"text","text":"x"}]}' >answers.jsonl
	run -75 awf-run -n --name top -c 'awf-run ./inner'
	child=$(basename "$(transcript_of inner)" .jsonl)
	awf-ctl approve ask "$child"
	# As an older version has left it: the first line alone says so.
	jq -c 'if .seq > 1 then del(.parent_run_id) else . end | del(.seq, .prev)' "$(transcript_of inner)" >older
	[ "$(grep -c parent_run_id older)" = 1 ]
	same "$(events_of inner .parent_run_id | sort | uniq -c | sed 's/ *//')" \
		"$(events_of inner .seq | wc -l) \"$(basename "$(transcript_of top)" .jsonl)\""
	chain <older >"$(transcript_of inner)"
	awf-run --resume @top
	awf-verify "$AWF_STORAGE"
	same "$(events_of inner 'select(.type == "run.started").payload.attempt' | paste -sd' ')" '1 2'
	same "$(events_of inner 'select(.seq > '"$(wc -l <older)"').parent_run_id' | sort -u)" \
		"\"$(basename "$(transcript_of top)" .jsonl)\""
	same "$(events 'select(has("parent_run_id"))')" ''
	run -0 --separate-stderr awf-verify --determinism --isolation copy @top
	jq -c 'if .seq > 1 and .parent_run_id then .parent_run_id = .run_id else . end | del(.seq, .prev)' "$(transcript_of inner)" |
		chain >wrong.jsonl
	run -3 awf-verify wrong.jsonl
	[[ $output == *'wrong.jsonl:'*': ids: parent_run_id is not that of line 1' ]]
}

@test "a workflow is looked for here, then beside the workflow around it, as agents are" {
	mkdir elsewhere
	script child.awf 'awf-step -n -r up -- echo beside'
	script here.awf 'cd elsewhere' 'awf-run -n ./child.awf' 'awf-run -n child.awf'
	same "$(awf-run -n ./here.awf | paste -sd' ')" 'beside beside'
	awf-verify --determinism
	script elsewhere/child.awf 'awf-step -n -r up -- echo here'
	same "$(awf-run -n ./here.awf | paste -sd' ')" 'here here'
	run -127 --separate-stderr awf-run -n -c 'cd elsewhere; awf-run -n ./none.awf; awf-run -n none'
	[[ $stderr == *"awf-run: ./none.awf: no such file in the current directory, nor in the workflow's"* ]]
	[[ $stderr == *"awf-run: none: command not found, and no such file in the workflow's directory"* ]]
}

@test "one tree: awf-tail -R, awf-replay --tree and --timeline show runs within runs" {
	script inner 'awf-step -n deep -q -- echo bottom'
	script middle 'awf-run -n ./inner; awf-step -n after -q -- true'
	awf-run -n --name top -c 'awf-run -n ./middle'
	run -0 awf-replay --tree
	same "$(sed 's/[(].*//; s/ *$//' <<<"$output")" "top success
└─ middle call_workflow done
   ├─ inner call_workflow done
   │  └─ deep command done
   └─ after command done"
	run -0 awf-tail -R
	same "$(sed -n 's/^ *[0-9:.]* \( *\)\([a-z]*\) started.*/\1\2/p' <<<"$output")" "run
  middle
    run
      inner
        run
          deep
      after"
	run -0 awf-replay --timeline
	[[ "$output" == *deep* && "$output" == *after* ]]
}

@test "awf-tail shows what a child gave by its data" {
	script sub 'awf-step up -- tr a-z A-Z'
	script text 'awf-step -r up -- cat'
	awf-run -n --name top -c 'printf "a\nb\n" | awf-run ./text; echo one | awf-run ./sub
		printf "one\ntwo\n" | awf-step -i lines gen -- cat | awf-run ./sub' >/dev/null
	same "$(awf-tail | sed -n 's/^ *[0-9:.]* *\(.*\) done (.*ms, \(.*\), run [^ ]*)/\1 \2/p' | sed 's/[0-9.]* \(KiB\|B$\)/N KiB/')" 'text 3 B: a b
sub 3 B: ONE
sub 2 lines, N KiB'
}

@test "the call takes its name from the run's, and a place like a step's" {
	while IFS='|' read -r name call; do
		awf-run -n --name top -c "awf-run -n --name '$name' -c true"
		same "$name $(calls .call)" "$name \"$call\""
	done <<-'END'
		brief.awf|brief:0:0
		a.b.sh|a_b:0:0
		.hidden|_hidden:0:0
		two words|two_words:0:0
	END
	awf-run -n --name top -c 'awf-step -n outer -- awf-run -n --name in -c true
		for i in 1 2; do awf-run -n --name in -c true; done'
	same "$(calls .call | tr '\n' ' ')" '"outer:0:0/in:0:0" "in:0:0" "in:1:0" '
	same "$(events 'select(.type == "step.call_workflow.started") | .path' | tr '\n' ' ')" '"outer.in" "in" "in" '
}

@test "inside of a child nothing of the parent's call is left" {
	awf-run -n --name top -c 'awf-step -n outer -- awf-run -n --name in -c "awf-step -n s -- true"'
	same "$(events_of in 'select(.type == "step.started") | [.path, .payload.call]')" '["s","s:0:0"]'
}

@test "the failure of the child is that of its call, and of the parent" {
	run -3 --separate-stderr awf-run -n --name top -c 'awf-run -n --name sub -c "echo hi; exit 7"; echo "got $?"'
	same "$output" "hi
got 7"
	same "${stderr_lines[-2]}" "awf-run: top: step sub:0:0 failed: exit status 7"
	same "$(calls '[.exit_code, .error, .result]')" '[7,{"code":"exit_status","message":"exit status 7"},"hi"]'
	run -7 --separate-stderr awf-run -n --name top -c 'awf-run -n --name sub -c "printf \"\\377\"; exit 7"'
	same "$output" $'\377'
	same "$(calls '[.exit_code, .error.code, .result]')" '[7,"exit_status",null]'
	run -3 awf-run -n --name top -c 'awf-run -n --name sub -c "awf-step -n s -q -- false"'
	same "$(calls '[.exit_code, .error.code]')" '[3,"exit_status"]'
	run -124 awf-run -n --name top -c 'awf-run -n --name sub --timeout 100ms -c "sleep 60"'
	same "$(calls '[.exit_code, .error.code]')" '[124,"timeout"]'
	run -127 awf-run -n --name top -c 'awf-run -n --name sub -- no-such-program'
	same "$(calls '[.exit_code, .error.code]')" '[127,"exit_status"]'
}

@test "no other child makes a failed one good; with --try it may fail" {
	while IFS='|' read -r code text; do
		run "-$code" awf-run -n -c "rm -f tried; $text"
	done <<-'END'
		3|for i in 1 2; do awf-run -n --name t -c 'test -e tried || { touch tried; exit 1; }'; done
		0|for i in 1 2; do awf-run -n --try --name t -c 'test -e tried || { touch tried; exit 1; }'; done
		0|awf-run -n --try -c 'kill -9 $PPID; sleep 1'; true
		0|awf-step -n --each --retries 1 --delay 1ms -q g -- awf-run -n -c 'mkdir tried && exit 1; rmdir tried'
		3|awf-run -n --name t -c 'exit $1' 1; awf-run -n --name t -c 'exit $1' 0
		3|for i in 1 0; do echo $i >in; awf-run --name t -c 'read x; exit $x' <in; done
		0|awf-step -n --try x -q -- awf-run -n -c 'exit 1'; true
	END
}

@test "a waiting child makes its parent wait" {
	script ask "awf-step -n ask -q -- true" 'call=ask:1:0' \
		'append step.started ask "{\"name\":\"ask\",\"kind\":\"approval\",\"call\":\"$call\"}"' \
		'append step.completed ask "{\"name\":\"ask\",\"kind\":\"approval\",\"call\":\"$call\",\"error\":{\"code\":\"waiting\",\"message\":\"w\"}}"'
	run -75 awf-run -n --name top -c 'awf-run -n ./ask; awf-step -n on -q -- true'
	same "$(calls '[.exit_code, .error.code]')" '[75,"waiting"]'
	same "$(events 'select(.type == "run.completed").payload.status')" '"waiting"'
}

@test "stdout flows, and is kept as it was: text, lines, bytes, nothing" {
	# The consumer sees the first line long before the child has ended.
	run -0 awf-run -n -c 'awf-run -n --name s -c "echo one; until [ -e seen ]; do sleep 0.02; done; printf two" |
		{ read x; touch seen; echo "$x"; cat; }'
	same "$output" "one
two"
	same "$(calls '[.result, .no_newline]')" '["one\ntwo",true]'
	awf-run -n -c 'awf-run -n --name s -c true'
	same "$(calls '[.result, .no_newline]')" '["",true]'
	awf-run -n -c 'awf-run -n --name s -c "printf \"\\377\\000\\n\""' >out
	same "$(od -An -tx1 out)" " ff 00 0a"
	same "$(events 'select(.type == "step.call_workflow.completed") | [.payload.result, .refs[0].encoding]')" '[null,"raw"]'
	awf-verify
}

@test "a megabyte that nobody hurries to read" {
	run -0 awf-run -n -c 'awf-run -n --name s -c "seq 200000" | { sleep 0.3; cksum; }'
	same "$output" "$(seq 200000 | cksum)"
	awf-verify
}

@test "a time limit is one for what nobody takes, too" {
	awf-run -n -c 'awf-run -n --name s --timeout 500ms -c "seq 20000; touch written" | until [ -e ended ]; do sleep 0.05; done' 2>err 3>&- &
	eventually test -e written
	eventually grep -q '^awf-run: s: not done after 500ms' err
	touch ended
	wait $! || same $? 3
	same "$(calls '[.exit_code, .error.code]')" '[124,"timeout"]'
}

# bats test_tags=turn:2
@test "state lines of children that share a pipe never splice" {
	run -0 awf-run -n -c '{ for i in 1 2 3 4; do seq 200 | awf-run --name c$i -c "awf-step -i lines s -- cat" & done
		wait; } | awf-step -r n -s -- jq length'
	same "$output" 800
}

@test "a reader that goes ends the child, as it would any filter" {
	run -0 --separate-stderr awf-run -n -c 'awf-run -n --name s -c yes | head -1'
	same "$output" y
	same "$stderr" ""
	same "$(calls .error.code)" '"downstream_closed"'
	# Before the next thing it would do: nobody is left to read it.
	run -0 awf-run -n -c 'awf-run -n --name s -c "awf-step -n a -r -- echo a; sleep 0.3
		awf-step -n b -- touch done" | head -1'
	same "$output" a
	[ ! -e done ]
	run -0 awf-run -n -c 'exec 3>&1; { awf-run -n --name s -c yes; echo "status $?" >&3; } | head -1'
	[[ "$output" == *"status 141"* ]]
}

@test "cancelling the parent cancels the child, and both say so" {
	awf-run -n --name top -c 'awf-run -n --name sub -c "awf-step -n s -- sleep 60"' 2>/dev/null &
	pid=$!
	eventually grep -rqs "\"path\":\"s\"" "$AWF_STORAGE/transcripts"
	kill "$pid"
	code=0
	wait "$pid" || code=$?
	same "$code" 143
	for name in top sub; do
		same "$name $(events_of $name 'select(.type == "run.completed") | .payload | [.status, .exit_code]')" \
			"$name [\"cancelled\",143]"
	done
	same "$(calls '[.call, .error.code]')" '["sub:0:0","cancelled"]'
	awf-verify "$AWF_STORAGE"/transcripts/*.jsonl
}

@test "a child whose workflow will not end records its end before its parent kills it" {
	awf-run -n --name top -c 'awf-run -n --name sub -c "trap : TERM; touch on; while :; do sleep 1; done"' 2>/dev/null &
	pid=$!
	eventually test -e on
	kill "$pid"
	code=0
	wait "$pid" || code=$?
	same "$code" 143
	same "$(events_of sub 'select(.type == "run.completed") | .payload.status')" '"cancelled"'
	same "$(calls '[.call, .error.code]')" '["sub:0:0","cancelled"]'
}

@test "SIGKILL of the child: its call never ended, and nothing of it is left" {
	run -3 --separate-stderr awf-run -n --name top -c 'awf-run -n --name sub -c "echo \$PPID >guardian; sleep 60 & echo \$! >sleeper; wait" &
		until [ -s sleeper ]; do sleep 0.02; done; kill -9 $!; wait; true'
	same "${stderr_lines[-2]}" "awf-run: top: step sub:0:0 failed: it never ended"
	eventually gone "$(cat sleeper)"
	awf-verify "$(transcript)"
}

@test "a step of the parent that died before its end has not given a child all of its input" {
	local inner="awf-step -s publish -- touch published" child
	for child in "awf-run -c '$inner'" "awf-run --no-transcript -c '$inner'" \
		"awf-run -c 'awf-run -c \"$inner\"'"; do
		run -3 --separate-stderr awf-run --name top -c "seq 2 | awf-step -i lines work -- \
			sh -c 'read -r x; test \$x = 1 || kill -9 \$PPID; echo \$x' | $child"
		[[ $stderr == *"awf-step: publish: the step work:0 died before its end"* ]]
		[ ! -e published ]
	done
	run -3 --separate-stderr awf-run --name top -c 'awf-step -n work -- sh -c "kill -9 \$PPID" |
		awf-run --name sub -c "awf-step publish -- cat | awf-step --rescue rescued -- touch published"'
	[[ $stderr == *"awf-step: publish: the step work:0 died before its end"* ]]
	[ ! -e published ]
	awf-replay -q @sub
}

@test "a step of the parent that died is known behind a filter by the items that it made" {
	local work="seq 3 | awf-step -i lines work -- sh -c 'read -r x; test \$x != 2 || kill -9 \$PPID; echo \$x'" flow
	for flow in "$work | sed '' | awf-run --name sub -c 'awf-step -s publish -- touch published'" \
		"$work | awf-run --name sub -c 'cat | awf-step -s publish -- touch published'" \
		"$work | sed '' | awf-run -c 'awf-run --name sub -c \"cat | awf-step -s publish -- touch published\"'"; do
		run -3 --separate-stderr awf-run --name top -c "$flow"
		[[ $stderr == *"awf-step: publish: the step work:0 died before its end"* ]]
		[ ! -e published ]
	done
	awf-replay -q @sub
	run -3 --separate-stderr awf-run --name top -c "$work | sed '' | awf-run --name each -c 'awf-step publish -r -- cat'"
	same "$output" 1
	[[ $stderr == *"awf-step: publish[1]: the step work:0 died before its end"* ]]
	awf-replay -q @each
}

@test "what steps of the parent that all had no items give a child is an input" {
	run -0 awf-run -c 'awf-step -i lines work -- cat </dev/null | awf-run -c "awf-step -s all -r -- jq -c ."'
	same "$output" '[]'
	run -1 awf-run -c 'true | awf-run -c "awf-step -s all -r -- jq -c ."'
}

@test "SIGKILL of the parent: nothing of the child is left" {
	awf-run -n --name top -c 'awf-run -n --name sub -c "sleep 60 & echo \$! >sleeper; wait"' &
	pid=$!
	eventually test -s sleeper
	kill -9 "$pid"
	eventually gone "$(cat sleeper)"
}

@test "a cycle is refused before anything is made" {
	script a.awf 'awf-run -n ./b.awf'
	script b.awf 'awf-run -n ./sub/../link.awf'
	mkdir sub
	ln a.awf link.awf
	run -125 --separate-stderr awf-run -n ./a.awf
	top=$(basename "$(transcript)" .jsonl)
	same "${stderr_lines[0]}" "awf-run: ./sub/../link.awf: a workflow cannot start itself inside of itself: run $top around this one runs it"
	same "$(runs)" 2
}

@test "runs nest to a depth of 16" {
	script down 'n=$1; [ "$n" -gt 0 ] || exec awf-step -n leaf -r -- echo bottom' \
		'exec awf-run -n --name "d$n" -c "sh down \$1" $((n - 1))'
	run -0 awf-run -n --name d -c './down 16'
	same "$output" bottom
	same "$(awf-replay --tree | grep -c call_workflow)" 16
	same "$(runs)" 17
	run -125 --separate-stderr awf-run -n --name d -c './down 17'
	same "${stderr_lines[0]}" "awf-run: runs are nested more than 16 deep: the outermost is $(basename "$(transcript)" .jsonl)"
	same "$(runs)" 34
}

@test "a run that has ended has no children" {
	awf-run -n -c 'env >environment'
	run -125 --separate-stderr env AWF_RUN_ID="$(basename "$(transcript)" .jsonl)" AWF_PARENT="$(events 'select(.seq == 1).event_id' | tr -d '"')" \
		AWF_TRANSCRIPT="$(transcript)" awf-run -n -c true
	same "${stderr_lines[0]}" "awf-run: $(basename "$(transcript)" .jsonl): run has ended"
	same "$(runs)" 1
}

@test "bad options of a child are refused before it is a call" {
	run -125 --separate-stderr awf-run -n -c 'awf-run --no-such-option'
	same "$(events .type | grep -c workflow)" 0
}

@test "in other vocabularies parent and child name each other" {
	script inner.awf 'awf-step -n deep -q -- echo bottom'
	awf-run -n --name top -c 'awf-run -n ./inner.awf; awf-run -n ./inner.awf'
	run -0 awf-tail -R --as otlp
	same "$(jq -rs '[.[].resourceSpans[].scopeSpans[].spans[]] as $all | [$all[] | select(.name == "invoke_workflow inner.awf") |
		.parentSpanId as $to | $all[] | select(.spanId == $to).name] | join(" ")' <<<"$output")" "invoke_workflow inner invoke_workflow inner"
	run -0 awf-tail -R --as agent-event
	same "$(jq -r 'select(.type == "child_job.started").payload.childRunId' <<<"$output" | sort)" \
		"$(events 'select(.type == "step.call_workflow.started").child_run_id' | tr -d '"' | sort)"
}

# The status of a run's last attempt, once it has one.
status_of() { events_of "$1" 'select(.type == "run.completed").payload.status' | tail -1; }
has_status() { [ "$(status_of "$1")" = "\"$2\"" ]; }

@test "--detach: the call ends at once, the child outlives its parent and what ends that" {
	run -0 awf-run -n --name top -c 'awf-run -n --detach --name sub -c "until [ -e go ]; do sleep 0.02; done; awf-step -n s -- touch done"'
	child=$(basename "$(transcript_of sub)" .jsonl)
	same "$output" "$child"
	same "$(calls '[.call, .result, .exit_code]')" "[\"sub:0:0\",\"$child\",0]"
	same "$(events 'select(.type == "step.call_workflow.started").payload.detached')" true
	awf-verify "$AWF_STORAGE"/transcripts/*.jsonl
	touch go
	eventually has_status sub success
	[ -e done ]
	awf-verify "$AWF_STORAGE"/transcripts/*.jsonl
}

@test "--detach: the id is a line, also in a replay" {
	run -0 awf-run -n --name top -c 'awf-run -n --detach --name sub true >id; awf-step count -r -- wc -l <id'
	same "$output" 1
	eventually has_status sub success
	same "$(awf-replay @top 2>/dev/null)" 1
	awf-verify --determinism @top
}

@test "--detach: cancelling or killing the parent, or ending a tool, does not touch the child" {
	for number in 15 9; do
		rm -rf "$AWF_STORAGE" pid go again
		awf-run -n --name top -c '[ ! -e again ] || exit 0; awf-step -n s -- sh -c "awf-run -n --detach --name sub -c \"echo \\\$\\\$ >pid
			until [ -e go ]; do sleep 0.02; done\"; sleep 60"' 2>/dev/null &
		parent=$!
		eventually test -s pid
		kill "-$number" "$parent"
		code=0
		wait "$parent" || code=$?
		same "$code" $((128 + number))
		sleep 0.3
		kill -0 "$(cat pid)"
		# It is no part of the parent any more, which goes on without it.
		touch again
		run -0 --separate-stderr awf-run -n --resume @top
		[[ "$stderr" != *lives* ]]
		touch go
		eventually has_status sub success
	done
}

@test "--detach outside of any run, and what it does not go with" {
	id=$(awf-run -n --detach --name alone -c 'sleep 0.1; awf-step -n s -- true')
	same "$id" "$(basename "$(transcript_of alone)" .jsonl)"
	eventually has_status alone success
	run -125 --separate-stderr awf-run --detach --resume @alone
	same "$stderr" "awf-run: --detach: not with --resume: only a new run is left to itself"
	run -125 --separate-stderr sh -c 'awf-run -n --detach -c true >/dev/full'
	same "$stderr" "awf-run: stdout: unable to write: No space left on device"
	run -125 --separate-stderr awf-run --detach --print-id true
	same "$stderr" "awf-run: --print-id: not with --detach, which prints it"
	mv "$AWF_STORAGE/runs" "$AWF_STORAGE/moved"
	ln -s moved "$AWF_STORAGE/runs"
	run -125 --separate-stderr awf-run -n --detach -c true
	[[ "$stderr" == "awf-run: $AWF_STORAGE/runs"* ]]
}

# A parent of two children, each with a step that notes its effect; nothing ends well
# before the file ok is there.
family() {
	script a.awf 'awf-step one -- sh -c "echo a1 >>ledger; cat" | awf-step two -- sh -c "echo a2 >>ledger; tr a-z A-Z"'
	script b.awf 'awf-step one -- sh -c "echo b1 >>ledger; cat" |
		awf-step two -- sh -c "[ -e ok ] || exit 1; echo b2 >>ledger; rev"'
	script top.awf 'awf-step gen -n -- echo hello | awf-run ./a.awf | awf-run ./b.awf | awf-step -r last -- cat'
}
ledger() { tr '\n' ' ' <ledger; }

@test "resume: a child that succeeded is not run again, one that failed goes on as itself" {
	family
	run -3 awf-run -n ./top.awf
	touch ok
	run -0 --separate-stderr awf-run --resume @
	same "$output" OLLEH
	same "$(ledger)" "a1 a2 b1 b2 "
	same "$(runs)" 3
	same "$(calls '[.call, .reused_from != null, .result != null]' | tail -2 | sort | tr '\n' ' ')" \
		'["a:0:0",true,false] ["b:0:0",false,true] '
	same "$(events_of b.awf 'select(.type == "run.started") | .payload.attempt' | tr '\n' ' ')" "1 2 "
	same "$(events_of a.awf 'select(.type == "run.started") | .payload.attempt' | tr '\n' ' ')" "1 "
	awf-verify "$AWF_STORAGE"/transcripts/*.jsonl
}

@test "resume: the child may be gone on with first, and nothing is done twice" {
	family
	run -3 awf-run -n ./top.awf
	touch ok
	awf-run --resume "$(basename "$(transcript_of b.awf)" .jsonl)" >/dev/null
	run -0 awf-run --resume "$(basename "$(transcript_of top.awf)" .jsonl)"
	same "$output" OLLEH
	same "$(ledger)" "a1 a2 b1 b2 "
	same "$(runs)" 3
	awf-verify "$AWF_STORAGE"/transcripts/*.jsonl
}

@test "resume: a child that is given something else goes on with that" {
	script sub 'awf-step one -- sh -c "echo one >>ledger; cat" | awf-step -r two -- cat'
	run -3 awf-run -n --name top -c 'awf-step gen -n -- sh -c "cat what" | awf-run ./sub; [ -e ok ] || exit 3'
	echo first >what
	run -3 awf-run --resume @top
	echo second >what
	touch ok
	# gen has succeeded: its result stands, and so does the child's.
	run -0 awf-run --resume @top
	same "$output" first
	same "$(ledger)" "one "
	script plain 'cat what | awf-run ./sub; [ -e ok2 ] || exit 3'
	rm ledger
	run -3 --separate-stderr awf-run -n ./plain
	same "$output" second
	echo third >what
	touch ok2
	run -0 --separate-stderr awf-run --resume @plain
	same "$output" third
	same "$(ledger)" "one one "
	awf-verify "$AWF_STORAGE"/transcripts/*.jsonl
}

@test "resume: bytes, no final newline, and a child with nothing to say come back as they were" {
	awf-run -n --name top -c 'awf-run -n --name bytes -c "printf \"\\377\\000x\""; awf-run -n --name nothing -c true
		awf-run -n --name line -c "echo y"; [ -e ok ]' >first || true
	touch ok
	run -0 awf-run --resume @top
	awf-run --resume @top >/dev/null
	same "$(calls '.reused_from != null' | tail -3 | tr '\n' ' ')" "true true true "
	rm ok
	awf-run -n --name again -c 'awf-run -n --name bytes -c "printf \"\\377\\000x\""; awf-run -n --name nothing -c true
		awf-run -n --name line -c "echo y"; [ -e ok ]' >first || true
	touch ok
	awf-run --resume @again >second
	cmp first second
}

@test "resume: an effect in doubt inside of a child is asked for by the parent, before anything runs" {
	script send.awf 'awf-step --effects external send -q -- sh -c "echo sent >>ledger; kill -9 \$PPID; sleep 1"'
	script mid.awf 'echo x | awf-run ./send.awf'
	run -3 awf-run -n --name top -c 'awf-run -n ./mid.awf; awf-step -n s -- sh -c "echo ran >>ledger"'
	ran=$(ledger)
	child=$(basename "$(transcript_of send.awf)" .jsonl)
	run -75 --separate-stderr awf-run --resume @top
	[[ "$stderr" == "awf-run: mid:0:0/send:0:0/send:0:0: sh -c echo sent"*" in run $child, may or may not have happened: say --redo mid:0:0/send:0:0/send:0:0 or --skip mid:0:0/send:0:0/send:0:0" ]]
	same "$(ledger)" "$ran"
	run -75 --separate-stderr awf-run --resume @top --skip mid:0:0
	[[ "$stderr" == *"say --redo mid:0:0/send:0:0/send:0:0 or --skip mid:0:0/send:0:0/send:0:0" ]]
	same "$(ledger)" "$ran"
	run -125 awf-run --resume @top --skip mid:0:0/other
	run -0 awf-run --resume @top --skip mid.send.send
	same "$(ledger)" "$ran"
	awf-verify "$AWF_STORAGE"/transcripts/*.jsonl
	# The child's own resume knows it by its own name.
	rm ledger
	run -137 awf-run -n --name other -c 'awf-run -n ./mid.awf'
	child=$(basename "$(transcript_of send.awf | xargs ls -t | head -1)" .jsonl)
	run -75 --separate-stderr awf-run --resume "$child"
	[[ "$stderr" == "awf-run: send:0:0: "* ]]
	run -0 awf-run --resume "$child" --skip send
	run -0 awf-run --resume @other
	same "$(ledger)" "sent "
}

@test "resume: two at once, one goes on" {
	script slow.awf 'awf-step -n s -q -- sh -c "[ -e ok ] || exit 1; echo done >>ledger; until [ -e go ]; do sleep 0.02; done"'
	run -3 awf-run -n --name top -c 'awf-run -n ./slow.awf'
	touch ok
	awf-run --resume @top 2>/dev/null &
	first=$!
	eventually test -e ledger
	run -0 awf-run --resume @top
	run -0 awf-run --resume "$(basename "$(transcript_of slow.awf)" .jsonl)"
	touch go
	wait "$first"
	same "$(ledger)" "done "
}

@test "a fork's children are forks of the children" {
	family
	touch ok
	awf-run -n ./top.awf
	original=$(basename "$(transcript)" .jsonl)
	run -0 awf-run --fork @ --at last
	same "$output" OLLEH
	same "$(ledger)" "a1 a2 b1 b2 "
	same "$(runs)" 6
	same "$(events 'select(.seq == 1).payload.forked_from')" "\"$original\""
	for name in a.awf b.awf; do
		# shellcheck disable=SC2046
		same "$(jq -r 'select(.seq == 1).payload | select(.forked_from).name' $(transcript_of $name))" "$name"
	done
	awf-verify "$AWF_STORAGE"/transcripts/*.jsonl
	# What is left out of it is done again, in the children too, as far as they are given
	# something else.
	script b.awf 'awf-step one -- sh -c "echo b1 >>ledger; cat" |
		awf-step two -- sh -c "[ -e ok ] || exit 1; echo b3 >>ledger; rev"'
	run -0 awf-run --fork "$original" --at b
	same "$(ledger)" "a1 a2 b1 b2 b1 b3 "
}

# bats test_tags=turn:3
@test "replay: what a child wrote, and how it ended, is as it was recorded" {
	family
	touch ok
	kind=$(isolation)
	awf-run -n ./top.awf >recorded
	rm ok
	awf-replay -q --isolation "$kind" >replayed
	cmp recorded replayed
	same "$(ledger)" "a1 a2 b1 b2 "
	touch ok
	awf-verify --determinism --isolation "$kind"
	awf-replay -q --export ../exported
	mv top.awf b.awf a.awf ..
	awf-replay -q --isolation "$kind" ../exported >replayed
	cmp recorded replayed
	run awf-run -n --name other -c 'awf-run -n --name f -c "exit 4" | cat; awf-run -n --name bytes -c "printf \"\\377\""
		awf-run -n --detach --name d -c true'
	run -0 --separate-stderr awf-replay -q --isolation "$kind"
	awf-verify --determinism --isolation "$kind"
}

# bats test_tags=turn:3
@test "replay: what a child printed that failed is there for who read from it" {
	printf '#!/bin/sh\necho plain; exit 3\n' >plain.awf
	printf '#!/bin/sh\nawf-step k -- cat\n' >passes.awf
	chmod +x plain.awf passes.awf
	while IFS='|' read -r code workflow; do
		run -"$code" --separate-stderr awf-run -n -c "$workflow"
		printed=${output//\"token\":\"*\"/}
		run -0 --separate-stderr awf-replay -q
		same "${output//\"token\":\"*\"/}" "$printed"
		run -0 awf-verify --determinism -q
	done <<-'END'
		0|awf-run --try -n ./plain.awf | awf-step b -- cat
		3|awf-run -n ./plain.awf
		3|echo in | awf-step a -- false | awf-run ./passes.awf | awf-step b -- cat
		3|awf-run -n --try ./missing.awf; awf-run -n -c 'exit 3'
	END
	same "$(jq -c 'select(.type == "step.call_workflow.completed").payload | has("result")' "$(transcript)")" $'false\nfalse'
}

# bats test_tags=turn:2
@test "replay: after a resume, and of the child by itself" {
	family
	run -3 awf-run -n ./top.awf
	touch ok
	kind=$(awf-run -n --name probe -c true; isolation)
	awf-run --resume @top.awf
	run -0 awf-replay -q --isolation "$kind" @top.awf
	same "$output" OLLEH
	awf-verify --determinism --isolation "$kind" @top.awf
	awf-replay -q --isolation "$kind" "$(basename "$(transcript_of a.awf)" .jsonl)"
}

@test "replay: another input, another child, or none is a divergence" {
	script sub 'awf-step one -q -- cat'
	echo first >what
	printf '%s\n' 'cat what | awf-run ./sub' >top
	awf-run -n ./top
	echo second >what
	run -3 --separate-stderr awf-replay -q --isolation copy
	[[ "$stderr" == "awf-run: sub:0:0: the child run is not given what it was given when it was recorded"* ]]
	echo first >what
	printf '%s\n' 'cat what | awf-run ./sub -x' >top
	run -3 --separate-stderr awf-replay -q --current --isolation copy
	printf '%s\n' 'cat what >/dev/null' >top
	run -3 --separate-stderr awf-replay -q --current --isolation copy
	same "$(runs)" 2
}

# In a storage of three levels: top starts middle, that starts NAME.
levels() {
	script middle "awf-run ./$1 | awf-step -r after -- cat"
	awf-run -n --name top -c 'echo word | awf-run ./middle' >/dev/null
}
# What awf-verify --determinism says, with what is another each time left out.
checked() {
	run "-$1" --separate-stderr awf-verify --determinism --isolation "$kind" "${@:2}"
	stderr=$(sed -E 's/[0-9a-f-]{36}/ID/g; s/^ .*//; s/(command|completed|started) ID.*/\1/; /^$/d' <<<"$stderr")
}

# bats test_tags=turn:4
@test "determinism: children and their children are replayed by themselves" {
	kind=$(isolation)
	script inner 'awf-step -r up -- tr a-z A-Z'
	levels inner
	checked 0
	same "$output$stderr" ''
	checked 0 -v
	id_of() { basename "$(transcript_of "$1")" .jsonl; }
	same "$(grep -o '^.*: two replays agree' <<<"$output")" "top: two replays agree
middle (child run $(id_of middle)): two replays agree
inner (child run $(id_of inner)): two replays agree"
	# It differs for the child alone, which its parent takes from the recording.
	script chance 'cat >/dev/null' 'awf-step -n -r draw -- od -An -N8 -tx1 /dev/urandom'
	levels chance
	checked 3
	same "$stderr" 'awf-verify: chance (child run ID): the replays differ: draw:0:0: step.completed'
	same "$(find "$AWF_STORAGE/replays" -mindepth 1 -maxdepth 1 | wc -l)" 2
	# The same of an export, where the scripts of all levels are.
	awf-replay -q --export ../chance 2>/dev/null
	rm chance middle
	checked 3 ../chance
	same "$stderr" 'awf-verify: chance (child run ID): the replays differ: draw:0:0: step.completed'
	levels inner
	awf-replay -q --export ../fine 2>/dev/null
	same "$(find ../fine/transcripts -type f | wc -l) $(cd ../fine/workflow/files && find . -name middle -o -name inner | wc -l)" "3 2"
	awf-replay -q --export ../again ../fine
	rm inner middle
	checked 0 ../fine
	same "$output$stderr" ''
	checked 0 ../again
	same "$output$stderr" ''
}

# bats test_tags=turn:2
@test "determinism: a child finds its own snapshot, else its parent's" {
	kind=$(isolation)
	mkdir -p sub
	script sub/look 'awf-step -n -q look -- cat word'
	echo one >sub/word
	awf-run -n --snapshot --name top -c 'cd sub && awf-run -n ./look'
	echo two >sub/word
	checked 0
	same "$output$stderr" ''
	awf-run -n --snapshot --name top -c 'cd sub && awf-step -n -q write -- sh -c "echo three >word"; awf-run -n ./look'
	checked 3
	same "$stderr" 'awf-verify: look (child run ID): the replays agree, the recording differs: look:0:0: step.completed'
	awf-run -n --snapshot --name top -c 'cd sub && awf-step -n -q write -- sh -c "echo four >word"; awf-run -n --snapshot ./look'
	echo five >sub/word
	checked 0
	same "$output$stderr" ''
	awf-replay --export ../exported
	rm -r sub
	checked 0 ../exported
	same "$output$stderr" ''
}

@test "determinism: a child that cannot be replayed is named, with what is missing" {
	kind=$(isolation)
	awf-run -n --name top -c 'echo x | awf-run --name sub -c "cat >/dev/null"'
	child=$(basename "$(transcript_of sub)" .jsonl)
	rm "$AWF_STORAGE/inputs/$child"
	checked 4
	same "$stderr" "awf-verify: sub (child run ID): ID: its standard input (inputs/ID in the storage) is missing"
}

@test "determinism: children that are not replayed are told, and change nothing" {
	kind=$(isolation)
	awf-run -n --name top -c 'awf-run -n --name sub -c true; awf-run -n --name hidden --mask "cat" -c true
		awf-run -n --timeout 0.2s --name slow -c "sleep 60" || :
		awf-run -n --detach --name live -c "until [ -e ../go ]; do sleep 0.02; done" >/dev/null' || :
	before=$(find "$AWF_STORAGE/replays" -mindepth 1 | wc -l)
	rm "$(transcript_of sub)"
	run awf-verify -q --determinism --isolation "$kind"
	told=$status
	same "$output" ''
	checked "$told"
	same "$stderr" 'awf-verify: top: warning: child run ID is not replayed: its transcript is not there
awf-verify: top: warning: child run ID is not replayed: the run was masked: what it was given and made is not all there
awf-verify: top: warning: child run ID is not replayed: a time limit ended it
awf-verify: top: warning: child run ID is not replayed: the run is alive: wait for its end'
	same "$told $(find "$AWF_STORAGE/replays" -mindepth 1 | wc -l)" "0 $before"
	touch ../go
	eventually has_status live success
	# A child that was killed: the recording of its parent ends in the middle, as ever.
	run -3 awf-run -n --name top -c 'awf-run -n --name sub -c "echo \$PPID >guardian; sleep 60 & echo \$! >sleeper; wait" &
		until [ -s sleeper ]; do sleep 0.02; done; kill -9 $!; wait; true'
	eventually gone "$(cat sleeper)"
	[[ "$(awf-verify --determinism --isolation "$kind" 2>&1)" == *'is not replayed: it never ended'* ]]
}

@test "a child run whose guardian was killed is no failure that a rescue may catch" {
	local wait='echo $PPID >guardian; touch there; sleep 5'
	printf '%s\n' "$wait" >child.sh
	awf-run -n -c 'awf-step -n --parallel g -- "awf-run ./child.sh" | awf-step --rescue r -- cat' 3>&- &
	eventually test -e there
	kill -9 "$(cat guardian)"
	ended=0
	wait $! || ended=$?
	[ "$ended" -ne 0 ]
	same "$(payloads step.completed 'select(.name == "g").error.code' | sort -u)" '"system"'
	printf 'awf-step -n w -- echo done\n' >child.sh
	run -0 --separate-stderr awf-run --resume @
	[[ $output == *'"done"'* ]]
}

@test "--id-file names the child run that is taken over, too" {
	: >open
	run -3 awf-run -n --id-file top -c 'awf-run -n --id-file sub -c "awf-step -n x -q -- true"; awf-step -n gate -q -- test ! -e open'
	mv sub first
	rm open
	run -0 awf-run --resume "$(cat top)" </dev/null
	same "$(cat sub)" "$(cat first)"
}
