#!/usr/bin/env bats
# Several steps in one run: causes, errors that travel, cut streams, shared pipes.
bats_require_minimum_version 1.5.0
load ../../support/helpers

events() { jq -c "select(.type == \"$1\")$2" "$(transcript)"; }
status_of_run() { events run.completed .payload.status | tr -d '"'; }

# A command that passes items on, but kills its awf-step at the fourth.
killing_feed() {
	cat >feed <<-'END'
	#!/bin/sh
	n=$(cat)
	if [ "$n" = 4 ]; then kill -9 $(awk '{print $4}' /proc/$$/stat); sleep 9; fi
	echo "$n"
	END
	chmod +x feed
}

@test "state lines of a step are no lines, texts or values" {
	for form in lines text nul json; do
		run -1 --separate-stderr awf-run -n -c "awf-step -n -O lines fetch -- seq 3 |
			awf-step -i $form square -- touch ran"
		[[ ${stderr_lines[0]} == 'awf-step: square: stdin: byte 1: a state line of a step: leave -i away (-O lines, or '* ]]
	done
	[ ! -e ran ]
	run -1 awf-step -i lines again -- touch ran <<<"$(awf-step -n alone -- echo hi)"
	same "$(payloads step.completed .error.code)" '"invalid_input"'
	same "$(awf-run -n -c "awf-step -n -O lines fetch -- seq 3 | awf-step square -- cat | awf-step -s all -r -- jq -c .")" \
		'["1","2","3"]'
	# What is like one is none, and stays as it is.
	for line in '{"data":1,"metadata":{}}' '{"data":' '{"data":1,"metadata":{"run_id":'; do
		same "$(awf-step -i lines like -r -- cat <<<"$line")" "$line"
	done
}

@test "three steps in a row: order, causes, metadata" {
	same "$(echo in | awf-run -c 'awf-step a -- cat | awf-step b -- cat | awf-step -r c -- cat')" in
	same "$(events step.started .payload.call | tr '\n' ' ')" '"a:0:0" "b:0:0" "c:0:0" '
	same "$(jq -rs '[.[] | select(.type == "step.completed")] | map(.event_id) | .[0:2]' "$(transcript)")" \
		"$(jq -rs '[.[] | select(.type == "step.started")] | map(.parent_event_id) | .[1:3]' "$(transcript)")"
	same "$(jq -rs '[.[] | select(.type == "run.started")][0].event_id' "$(transcript)")" \
		"$(jq -rs '[.[] | select(.type == "step.started")][0].parent_event_id' "$(transcript)")"
	# the result of the step before is not repeated
	same "$(events step.started '.payload | has("input")' | tr '\n' ' ')" 'true false false '
	awf-run -c 'echo x | awf-step a -- cat | awf-step b -- cat' >line
	same "$(jq -c '.metadata | [.agent_name,.previous_agent,.step_index]' line)" '["b","a",1]'
}

@test "data changed on the way is recorded as input, and stays linked" {
	awf-run -c 'echo x | awf-step a -- cat | jq -c ".data |= . + \"y\"" | awf-step -q b -- cat'
	same "$(events step.started .payload.input | tr '\n' ' ')" '"x" "xy" '
	same "$(jq -rs '[.[] | select(.type == "step.completed")][0].event_id' "$(transcript)")" \
		"$(jq -rs '[.[] | select(.type == "step.started")][1].parent_event_id' "$(transcript)")"
}

@test "-s: the first is the parent, the others are links" {
	awf-run -c 'printf "1\n2\n3\n" | awf-step -i lines a -- cat | awf-step -s -q b -- cat'
	same "$(jq -cs '[.[] | select(.type == "step.completed" and .path == "a").event_id] as $a
		| .[] | select(.type == "step.started" and .path == "b")
		| [.parent_event_id == $a[0], .links == $a[1:]]' "$(transcript)")" '[true,true]'
}

@test "input of another run is linked by run and event, and only its data counts" {
	echo x | awf-run -c 'awf-step a -- cat' >line
	first=$(jq -r .metadata.run_id line)
	awf-run -c 'awf-step b -- cat' <line >second
	same "$(events step.started '.links[0].run_id' | tr -d '"')" "$first"
	same "$(jq -c '.metadata | [.previous_agent,.step_index]' second)" '[null,0]'
}

@test "a failure in the middle calls no later step, and the run fails, in plain dash" {
	run -3 --separate-stderr awf-run --shell /bin/dash -c \
		'printf x | awf-step a -- false | awf-step b -- touch ran | awf-step c -- touch ran'
	[ ! -e ran ]
	same "$(status_of_run)" failed
	same "$(events step.completed .payload.skipped | tr '\n' ' ')" 'null "upstream_failed" "upstream_failed" '
}

@test "the run fails if the last step hides it, unless it was rescued, tried or allowed" {
	run -3 awf-run -c 'awf-step -n a -- false >/dev/null; true'
	same "$(status_of_run)" failed
	run -0 awf-run -c 'echo x | awf-step a -- false | awf-step --rescue -r b -- cat'
	same "$(status_of_run)" success
	run -0 awf-run -c 'if awf-step --try -n a -- false; then exit 9; fi'
	same "$(status_of_run)" success
	run -0 awf-run -c 'awf-step --allow-failure -n -q a -- false'
	same "$(status_of_run)" success
	run -0 awf-run -c 'awf-step --try -n -q a -- test -e later || { touch later; awf-step -n -q a -- test -e later; }'
	same "$(status_of_run)" success
}

@test "a failed call is not made good by other work, and a later success is named" {
	local hint="(fetch:2:0 succeeded later: with --try a step may fail)"
	run -3 --separate-stderr awf-run -n -c \
		'for f in 1 2 3; do awf-step -n fetch -q -- sh -c "test $f != 2"; done'
	[[ "$stderr" == *"step fetch:1:0 failed: sh: exit status 1 $hint"* ]]
	run -3 awf-run -n -c 'for f in 1 2 3; do F=$f awf-step -n fetch -q -- sh -c "test \$F != 2"; done'
	run -3 awf-run -n -c 'seq 3 | xargs -n 1 -P 2 sh -c "awf-step -n fetch -q -- test \$0 != 2 || true"'
	same "$(status_of_run)" failed
	run -3 --separate-stderr awf-run -n -c 'printf "1\n2\n3\n" | awf-step -i lines -q f -- grep -v 2'
	[[ "$stderr" != *"succeeded later"* ]]
	run -0 awf-run -n -c 'until awf-step --try -n -q a -- test -e now; do touch now; done'
	same "$(status_of_run)" success
	run -0 awf-run -n -c 'awf-step --try -n -q a -- sh -c "kill -9 \$PPID; sleep 1" || awf-step -n -q a -- true'
	same "$(status_of_run)" success
}

@test "what failed in a try of a group that succeeded in a later one is made good, no more" {
	local group='awf-step -n -q --each --retries 1 --delay 1ms'
	echo 'awf-step -n -q a -- test -e later || { touch later; exit 1; }' >body
	run -0 awf-run -n -c "$group g -- sh body"
	same "$(status_of_run) $(events step.started .payload.try | tr '\n' ' ')" "success null null 1 "
	rm later
	run -0 awf-run -n -c "$group g -- awf-step -n --each in -- sh body"
	same "$(status_of_run)" success
	rm later
	echo 'awf-step -n -q a -- test -e later || touch later' >body
	run -3 awf-run -n -c "$group g -- sh body"
	same "$(status_of_run)" failed
}

@test "a step that is killed in a group makes its call fail, whatever the shell makes of it" {
	local kill='[ -e killed ] || { touch killed; kill -9 $PPID; sleep 1; }; cat'
	run -3 --separate-stderr env KILL="$kill" awf-run -c 'printf "a\nb\n" |
		awf-step -i lines --each g -- sh -c '"'awf-step x -- sh -c \"\$KILL\" | jq -c .data' | awf-step -s j -r -- jq -c ."
	same "$output" ""
	[[ "$stderr" == *"awf-step: g: the step g:0:0/x:0 died before its end"* ]]
	run -0 --separate-stderr env KILL="$kill" awf-run --resume @
	same "$output" '["\"a\"","\"b\""]'
	rm killed
	run -0 env KILL="$kill" awf-run -c 'printf "a\nb\n" | awf-step -i lines --each --retries 1 --delay 1ms g -- sh -c '"'
		awf-step x -- sh -c \"\$KILL\" | jq -c .data' | awf-step -s j -q -- jq -c ."
	same "$(status_of_run)" success
}

@test "--rescue catches no step that died, and nothing that read from one" {
	local dies='awf-step -n a -- sh -c "kill -9 \$PPID; sleep 1"'
	run -3 awf-run -c "$dies | awf-step b -- cat | awf-step --rescue c -- touch caught"
	run -3 awf-run -c "$dies | sed 1q | awf-step b -- cat | awf-step --rescue c -- touch caught"
	run -3 awf-run -c "{ awf-step -n z -- echo z; $dies; } | awf-step b -- cat | awf-step --rescue c -- touch caught"
	run -3 awf-run -c "awf-step -n --each g -- sh -c '${dies//\\\$/\\\$} | cat' | awf-step --rescue c -- touch caught"
	[ ! -e caught ]
	same "$(jq -r 'select(.type == "step.completed" and .path == "g").payload.error.code' "$(transcript)")" interrupted
	run -0 awf-run -c 'awf-step -n a -- sh -c "kill -9 \$\$" | awf-step --rescue c -q -- touch caught'
	[ -e caught ]
}

@test "--allow-failure allows what the work came to, not that who is read from died" {
	run -3 awf-run -c '{ awf-step -n z -- echo z; awf-step -n a -- sh -c "kill -9 \$PPID; sleep 1"; } |
		awf-step --allow-failure b -- cat | awf-step -q c -- tee -a got'
	same "$(cat got)" z
	same "$(payloads step.completed 'select(.call == "b:0:1").error.code')" '"upstream_incomplete"'
	run -3 awf-run -c 'awf-step -n --allow-failure --each g -- sh -c "awf-step -n a -- sh -c \"kill -9 \\\$PPID; sleep 1\" | cat" |
		awf-step -q c -- touch acted'
	[ ! -e acted ]
}

@test "--rescue catches no group whose body was killed, be it before a step in it was known" {
	for body in 'kill -9 $$' 'sh -c "kill -9 \$\$"; exit $?'; do
		run -3 --separate-stderr env BODY="$body" awf-run -c 'awf-step -n --each g -- sh -c "$BODY" |
			awf-step --rescue c -- touch caught'
		[[ "$stderr" == *"g: the body, or a step in it, was killed"* ]]
		run -3 env BODY="$body" awf-run -c 'echo x | awf-step --parallel --strategy any p -- "eval \"\$BODY\"" false |
			awf-step --rescue c -- touch caught'
		[ ! -e caught ]
	done
	run -0 awf-run -n -c 'awf-step -n -q --each --retries 1 --delay 1ms g -- sh -c "[ -e once ] || { touch once; kill -9 \$\$; }"'
}

@test "a stream that a step has ended well without items is an input of none" {
	run -0 awf-run -c 'awf-step -i lines a -- cat </dev/null | awf-step b -- touch ran | awf-step -s c -r -- jq -c .'
	same "$output" "[]"
	[ ! -e ran ]
	run -0 awf-run -c 'awf-step -n -O lines a -- true | awf-step -j 2 b -- touch ran'
	[ ! -e ran ]
	run -1 awf-run -c 'awf-step -i lines a -- cat </dev/null | cat | awf-step b -- cat'
	run -1 awf-run -c 'awf-step -n a -r -- true | awf-step b -- cat'
	run -1 awf-run -c 'awf-step --try -n a -- false | awf-step b -- cat'
}

@test "a producer killed after 3 of 10 items: -s runs nothing, upstream_incomplete" {
	killing_feed
	run -3 --separate-stderr awf-run -c 'seq 10 | awf-step -i lines a -- ./feed | awf-step -s b -- touch ran'
	[ ! -e ran ]
	[[ "$stderr" == *"the step a:0 died before its end of the input"* ]]
	same "$(jq -r 'select(.type == "step.completed" and .path == "b").payload.error.code' "$(transcript)")" upstream_incomplete
	same "$(jq -rs '[.[] | select(.type == "step.completed" and .path == "a")] | length' "$(transcript)")" 3
}

@test "a producer killed: the items that came are worked on, then it fails" {
	killing_feed
	run -3 --separate-stderr awf-run -c 'seq 10 | awf-step -i lines a -- ./feed | awf-step -r b -- cat'
	same "$(tr '\n' ' ' <<<"$output")" '1 2 3 '
	same "$(jq -rs '[.[] | select(.type == "step.completed" and .path == "b")][-1].payload.error.code' "$(transcript)")" upstream_incomplete
}

# bats test_tags=turn:2
@test "--complete: results that were lost on the way fail the join" {
	local lost='{ head -n 2; cat >rest; }' code flow
	while IFS='|' read -r code flow; do
		run "-$code" --separate-stderr awf-run -n -c "${flow//PIPE/|}"
		[ "$code" -eq 0 ] || [[ "$stderr" == *"awf-step: z: --complete: the step "* ]]
	done <<-END
		0|seq 3 PIPE awf-step -i lines a -- cat PIPE awf-step b -- cat PIPE awf-step -s --complete z -r -- cat
		0|seq 3 PIPE awf-step -i lines a -- cat PIPE awf-step b -- cat PIPE awf-step -s --complete=a,b z -r -- cat
		3|seq 3 PIPE awf-step -i lines a -- cat PIPE awf-step b -- cat PIPE $lost PIPE awf-step -s --complete z -r -- cat
		0|seq 3 PIPE awf-step -i lines a -- cat PIPE awf-step b -- cat PIPE $lost PIPE awf-step -s z -r -- cat
		0|awf-step -n -O lines a -- seq 3 PIPE awf-step -s --complete z -r -- cat
		3|awf-step -n -O lines a -- seq 3 PIPE $lost PIPE awf-step -s --complete z -r -- cat
		3|awf-step -n -O lines a -- seq 3 PIPE cat >rest PIPE awf-step -s --allow-empty --complete=a z -r -- cat
		0|awf-step -n -O lines a -- true PIPE awf-step -s --allow-empty --complete=a z -r -- cat
		0|awf-step -n -O lines a -- seq 3 PIPE awf-step --when 'jq -e ".data == \\"2\\""' b -- cat PIPE awf-step -s --complete=a,b z -r -- cat
		0|awf-step -n -O lines a -- seq 3 PIPE awf-step --each g -- awf-step x -- cat PIPE awf-step -s --complete=g z -r -- cat
		3|awf-step -n -O lines a -- seq 3 PIPE awf-step --each g -- awf-step x -- cat PIPE $lost PIPE awf-step -s --complete z -r -- cat
		0|awf-step -n -O lines a -- seq 3 PIPE awf-step --each g -- awf-step x -- cat PIPE awf-step b -- cat PIPE awf-step -s --complete=a,g,b z -r -- cat
		3|seq 3 PIPE awf-step -i lines a -- cat >all; sed -n "1p;2p;2p" all PIPE awf-step -s --complete z -r -- cat
		0|seq 3 PIPE awf-step -i lines a -- cat >all; sed -n "p;2p" all PIPE awf-step -s --complete z -r -- cat
		3|seq 2 PIPE awf-step -i lines --each g -- sh -c "awf-step -O lines a -- seq 2 >got; head -n 1 got" PIPE awf-step -s --complete z -r -- cat
		0|seq 2 PIPE awf-step -i lines --each g -- sh -c "awf-step -O lines a -- seq 2 >got; head -n 1 got; tail -n 1 got PIPE awf-step -q b -- cat" PIPE awf-step -s --complete z -r -- cat
		0|seq 2 PIPE awf-step -i lines --each g -- sh -c "awf-step a -- cat PIPE tee all; cat all" PIPE awf-step -s --complete z -r -- cat
		3|seq 2 PIPE awf-step -i lines --each g -- sh -c "awf-step a -- cat >got; cat got got" >all; sed -n "1p;2p;2p;3p" all PIPE awf-step -s --complete z -r -- cat
		0|echo PIPE awf-step --max 3 g -- awf-step x -- cat PIPE awf-step -s --complete z -r -- cat
		0|echo PIPE awf-step --parallel g -- "awf-step x -- cat" "awf-step y -- cat" PIPE awf-step -s --complete z -r -- cat
		0|seq 3 PIPE awf-step -i lines a -- cat >all; cat all PIPE awf-run -c "awf-step -s --complete z -r -- cat"
		3|seq 3 PIPE awf-step -i lines a -- cat >all; head -n 2 all PIPE awf-run -c "awf-step -s --complete z -r -- cat"
		3|seq 3 PIPE awf-step -i lines a -- cat >all; sed -n "1p;2p;2p" all PIPE awf-run -c "awf-step -s --complete z -r -- cat"
		0|echo PIPE awf-step --each g -- sh -c "awf-step a -- cat PIPE awf-run -c \"awf-step -s --complete z -r -- cat\""
		0|seq 3 PIPE awf-step -i lines a -- cat PIPE awf-step --each g -- cat PIPE awf-step -s --complete=a,g z -r -- cat
		3|seq 3 PIPE awf-step -i lines a -- cat PIPE awf-step --each g -- cat PIPE $lost PIPE awf-step -s --complete=g z -r -- cat
		0|seq 3 PIPE awf-step -i lines a -- cat PIPE awf-step --each g -- cat PIPE awf-step b -- cat PIPE awf-step -s --complete=a,g,b z -r -- cat
		0|seq 3 PIPE awf-step -i lines a -- cat PIPE awf-step --each g -- sh -c "tee got; cat got" PIPE awf-step -s --complete z -r -- cat
		3|seq 3 PIPE awf-step -i lines a -- cat PIPE awf-step --each g -- sh -c "tee got; cat got" PIPE $lost PIPE awf-step -s --complete z -r -- cat
		3|seq 3 PIPE awf-step -i lines a -- cat PIPE awf-step --each g -- sh -c "tee got; cat got" PIPE $lost PIPE awf-step -s --complete=a,g z -r -- cat
		0|seq 3 PIPE awf-step -i lines --allow-failure a -- grep 2 PIPE awf-step -s --complete z -r -- cat
		3|seq 3 PIPE awf-step -i lines --allow-failure a -- grep 2 PIPE $lost PIPE awf-step -s --complete z -r -- cat
		0|seq 3 PIPE awf-step -i lines --allow-failure a -- grep 2 PIPE awf-step b -- cat PIPE awf-step -s --complete=a,b z -r -- cat
		0|seq 3 PIPE awf-step -i lines a -- cat PIPE awf-run -c "awf-step b -- cat" PIPE awf-step -s --complete z -r -- cat
		0|seq 3 PIPE awf-step -i lines a -- cat PIPE awf-run -c "awf-step b -- cat" PIPE awf-step -s --complete=a z -r -- cat
		3|seq 3 PIPE awf-step -i lines a -- cat PIPE awf-run -c "awf-step b -- cat" PIPE $lost PIPE awf-step -s --complete z -r -- cat
		3|seq 3 PIPE awf-step -i lines a -- cat PIPE awf-run -c "awf-step b -- cat" PIPE $lost PIPE awf-run -c "awf-step -s --complete z -r -- cat"
		0|seq 3 PIPE awf-step -i lines a -- cat PIPE awf-run -c "awf-run -c \"awf-step b -- cat\"" PIPE awf-run -c "awf-step -s --complete z -r -- cat"
		3|seq 3 PIPE awf-step -i lines a -- cat PIPE awf-run -c "awf-run -c \"awf-step b -- cat\" PIPE $lost" PIPE awf-step -s --complete z -r -- cat
		0|seq 3 PIPE awf-step -i lines a -- cat PIPE awf-step --each g -- awf-run -c "awf-step b -- cat" PIPE awf-step -s --complete=a,g z -r -- cat
		3|seq 3 PIPE awf-step -i lines a -- cat PIPE awf-step --each g -- awf-run -c "awf-step b -- cat" PIPE $lost PIPE awf-step -s --complete z -r -- cat
		0|seq 3 PIPE awf-step -i lines a -- cat PIPE awf-run -c "awf-run -c \"awf-step -s --complete z -r -- cat\""
		3|seq 3 PIPE awf-step -i lines a -- cat PIPE $lost PIPE awf-run -c "awf-run -c \"awf-step -s --complete z -r -- cat\""
	END
}

@test "a producer that lives on is no fault" {
	run -0 awf-run -c '{ echo x | awf-step a -- cat; } | { awf-step -r b -- cat; }'
	same "$output" x
	run -0 awf-run -c 'echo x | awf-step a -- cat >f; awf-step -s -r b -- cat <f'
	same "$output" '["x"]'
}

# bats test_tags=turn:2
@test "steps that share a pipe never splice: 200-KB items" {
	head -c 200000 /dev/zero | tr '\0' a >A
	head -c 200000 /dev/zero | tr '\0' b >B
	for _ in $(seq "${ROUNDS:-10}"); do
		awf-run -c '{ awf-step a -- cat <A & awf-step b -- cat <B & wait; } |
			awf-step -s -O lines c -- jq -r "map(length) | @csv"' </dev/null >out
		same "$(jq -r .data out)" 200000,200000
	done
}

@test "head ends the pipeline without further calls; the run succeeds" {
	run -0 awf-run -c 'seq 50 | awf-step -i lines a -- cat | awf-step -r b -- cat | head -n 1'
	same "$output" 1
	same "$(status_of_run)" success
	[ "$(jq -rs '[.[] | select(.type == "step.started" and .path == "b")] | length' "$(transcript)")" -lt 50 ]
}

@test "steps in the background are waited for" {
	awf-run -c '(sleep 0.3; awf-step -n -q late -- true) & awf-step -n -q early -- true; sleep 0.4 & awf-step -n -q slow -- sleep 0.5 &'
	same "$(events step.completed .payload.name | tr -d '"' | sort | tr '\n' ' ')" 'early late slow '
	same "$(jq -r .type "$(transcript)" | tail -n 1)" run.completed
}

@test "a step inside a command of a step has a path, a call and a cause of its own" {
	awf-run -c 'awf-step -n -q outer -- awf-step -n -q inner -- true'
	same "$(events step.started '| [.path,.payload.call]' | tr '\n' ' ')" '["outer","outer:0:0"] ["outer.inner","outer:0:0/inner:0:0"] '
	same "$(jq -rs '[.[] | select(.type == "step.started")] | .[0].event_id == .[1].parent_event_id' "$(transcript)")" true
}

@test "occurrences count the processes of a name" {
	awf-run -c 'for i in 1 2 3; do awf-step -n -q a -- true; done'
	same "$(events step.started .payload.call | tr '\n' ' ')" '"a:0:0" "a:1:0" "a:2:0" '
}

@test "a step of a run that has ended is refused" {
	awf-run -c 'env | grep ^AWF_ >env'
	# shellcheck disable=SC2046
	run -4 env $(cat env) awf-step -n x -- true
	[[ "$output" == *"run has ended"* ]]
}

@test "--by-name joins by the names of the steps" {
	same "$(awf-run -c '{ awf-step -n a -- echo 1; awf-step -n b -- echo 2; } | awf-step -s --by-name -r c -- cat')" '{"a":"1","b":"2"}'
	run -1 --separate-stderr awf-run -c '{ awf-step -n a -- echo 1; awf-step -n a -- echo 2; } | awf-step -s --by-name -r c -- cat'
	[[ "$stderr" == *"--by-name: there are two items of a"* ]]
}

@test "--by-name makes no difference of which came first" {
	for first in b a; do
		awf-run -c '{ awf-step -n '$first' -- echo x; awf-step -n '"$(tr ab ba <<<$first)"' -- echo x; } |
			awf-step -s --by-name -q c -- cat'
		same "$(jq -c 'select(.type == "step.started" and .path == "c").payload.input' "$(transcript)")" \
			'{"a":"x","b":"x"}'
		same "$(jq -sr '(.[] | select(.type == "step.started" and .path == "c")) as $c |
			[.[] | select(.event_id == ($c | .parent_event_id, .links[0]))] |
			sort_by(.event_id != $c.parent_event_id)[].path' "$(transcript)" | paste -sd' ')" 'a b'
	done
}

@test "--by-name takes no name that is none, whatever a filter made of the path" {
	run -1 --separate-stderr awf-run -c '{ awf-step -n a -- echo 1 | jq -c ".metadata.path = \"x\\\":1,\\n\""; } | awf-step -s --by-name -r c -- cat'
	[[ "$stderr" == *"--by-name: an item that no step of this run has made"* ]]
	awf-verify
}

@test "a step works where SIGCHLD is ignored" {
	same "$(env --ignore-signal=CHLD awf-step -n -r a -- echo 1)" 1
}

# bats test_tags=turn:2
@test "white space without end is too long an input" {
	run -1 --separate-stderr bash -c "head -c 280000000 /dev/zero | tr '\\0' ' ' | awf-step a -- cat"
	[[ "$stderr" == *"an item longer than 256 MiB"* ]]
}

@test "tokens of state lines differ by data, call and run" {
	awf-run -c 'printf "a\na\nb\n" | awf-step -i lines x -- cat' >lines
	same "$(jq -r .metadata.token lines | sort -u | wc -l)" 3
	same "$(jq -r '.metadata.token | length' lines | sort -u)" 64
}

@test "--complete: what was taken over by a resume, or a fork, counts as it did" {
	local flow='seq 2 | awf-step -i lines --each g -- awf-step x -- cat | awf-step h -- cat | awf-step -s --complete=g,h all -r -- sh -c "test -e ok && wc -l"' group
	for group in '--each g -- awf-step x -- cat' '--parallel g -- "awf-step x -- cat" "awf-step y -- cat"' '--each g -- cat'; do
		rm -f ok
		run -3 awf-run -n --name f -c "${flow/--each g -- awf-step x -- cat/$group}"
		touch ok
		run -0 awf-run --resume @f
		run -0 awf-run --fork @f --at h
		run -0 awf-run --fork @f --at g:0:1
	done
	run -0 awf-run -n -c 'echo a | awf-step --parallel --strategy best-effort g -- "awf-step x -- cat" "awf-step y -- false" |
		awf-step --rescue z -- cat | awf-step -s --complete -r all -- jq -c length'
}

@test "--complete: what a rescue was given is none of the results that may be lost" {
	local rescued='seq 8 | awf-step -i lines f -- grep -v [37] 2>/dev/null | awf-step --rescue r -- cat'
	same "$(awf-run -c "$rescued | awf-step -s --complete=f J -r -- jq -c length" 2>/dev/null)" 8
	run -3 --separate-stderr awf-run -c "$rescued | sed 1,2d | awf-step -s --complete J -r -- jq -c ."
	[[ $stderr == *"--complete: the step f:0 has made 6 results, and 4 came"* ]]
}
