#!/usr/bin/env bats
# Questions: awf-step --ask, answered by awf-ctl complete while the step lives and after it.
# shellcheck shell=bash disable=SC2016
load ../../support/helpers
load ../../support/resume
bats_require_minimum_version 1.5.0

prepare() {
	resume_tools
	ME=$(command id -un)
	echo '{"type":"object","required":["ok"],"properties":{"ok":{"type":"boolean"}}}' >answer.json
	cat >flow <<-'END'
		echo cake | awf-step --ask 'Is {{data}} right?' --output-schema answer.json --accept \
			'jq -e .data.ok >/dev/null || { echo "say why not, then fix it" >&2; exit 1; }' first |
			awf-step --ask 'And {{data.ok}}?' second | awf-step --effects external go -r -- ledger go
	END
}

# Begins a run, until so many calls of it ask.
begins() {
	local count=$1
	shift
	awf-run --id-file run.id "$@" >out 2>err 3>&- &
	RUN=$!
	eventually asking "$count"
}
ends() {
	local status=0
	wait $RUN || status=$?
	same "$status" "$1"
}
asking() { [ "$(find "$AWF_STORAGE"/runs/*/questions -type s 2>/dev/null | wc -l)" = "$1" ]; }
# What the record says: the questions that were asked, ends of a path.
questions() { jq -c 'select(.payload.question).payload | [.call, .question.prompt]' "$(record)"; }
last() { jq -c "select(.type == \"step.completed\" and .path == \"$1\") | .payload$2" "$(record)" | tail -n 1; }
# Answers on standard input.
answer() { run --separate-stderr awf-ctl complete "$@"; }

@test "a question stands in the record, its answer is the call's result, and a replay has both" {
	begins 1 ./flow
	same "$(questions)" '["first:0:0","Is cake right?"]'
	answer first <<<'{"ok": true}'
	same "$status $stderr" '0 '
	eventually asking 1
	same "$(questions | tail -n 1)" '["second:0:0","And true?"]'
	answer second:0:0 <<<certainly
	same "$status $stderr" '0 '
	ends 0
	same "$(cat out)" 'done certainly'
	same "$(last first '|[.kind,.result,.approval.decision,.approval.by]')" \
		"[\"question\",{\"ok\":true},\"completed\",\"$ME\"]"
	same "$(last second .result)" '"certainly"'
	asking 0
	deserted
	awf-verify
	awf-verify --determinism
	same "$(entries go)" 1
}

@test "an answer that is not what was asked for is told why, and changes nothing" {
	begins 1 ./flow
	cp "$(record)" before
	for case in '{"ok":1}|/ok: expected boolean, got integer' 'yes|stdin: byte 1: ' \
		'{"ok":true}{"ok":true}|one JSON value is the answer, and 2 came' \
		'{"ok":false}|say why not, then fix it'; do
		answer first <<<"${case%%|*}"
		[ "$status" != 0 ]
		[[ $stderr == "awf-ctl: first:0:0: ${case#*|}" || $stderr == "awf-ctl: ${case#*|}"* ]] || { echo "$stderr"; false; }
	done
	cmp before "$(record)"
	answer --failed --reason 'no time' first </dev/null
	same "$status" 0
	ends 3
	same "$(last first .error.message)" "\"failed by $ME: no time\""
	awf-verify --determinism
}

@test "with --max-answers the call fails after so many that were not taken" {
	begins 1 -c 'awf-step -n -r --ask why --max-answers 2 --accept "jq -e \".data == 5\"" why'
	answer why <<<3
	same "$status" 3
	answer why <<<4
	same "$status" 3
	ends 3
	same "$(last why .error)" '{"code":"schema","message":"no answer was taken in 2: --accept refuses it"}'
}

@test "while nobody is there it waits for the grace, then for a decision; a resume asks again" {
	local status=0
	awf-run --id-file run.id -c 'awf-step -n --ask why --ask-grace 0 --accept "jq -e \".data != \\\"no\\\"\"" why | awf-step -r up -- tr a-z A-Z' >out 2>err || status=$?
	same "$status" 75
	same "$(last why '|[.error.code,.approval]')" '["waiting",{"asks":"completion","form":"text"}]'
	# What is decided, and would not be taken, is asked for again.
	answer why <<<no
	same "$status $stderr" "0 awf-ctl: why:0:0: completed; the run goes on with: awf-run --resume $(id | cut -c 1-8)"
	run -1 --separate-stderr awf-ctl complete why 3
	[[ $stderr == *'(the result comes on standard input)' ]]
	run -75 --separate-stderr resume
	[[ $stderr == *'awf-step: why: the answer that was given is not taken, and the question is asked again: --accept refuses it'* ]]
	answer why <<<yes
	same "$(resume)" YES
	same "$(resume 2>&1 | tail -n 1)" "$(resume 2>&1 | tail -n 1)"
	awf-verify
	awf-verify --determinism
}

@test "an answer that comes later has to fit the schema, too" {
	awf-run --id-file run.id -c 'awf-step -n --ask why --ask-grace 0 --output-schema answer.json why' >out 2>err || true
	answer why <<<'{"ok":2}'
	same "$status $stderr" '1 awf-ctl: why:0:0: the answer is not what was asked for: /ok: expected boolean, got integer'
	answer why <<<'{"ok":false}'
	same "$status" 0
	same "$(resume | jq -c .data)" '{"ok":false}'
}

@test "who stays connected keeps the question open" {
	awf-run --id-file run.id -c 'awf-step -n --ask why --ask-grace 2 -r why' >out 2>err 3>&- &
	RUN=$!
	eventually asking 1
	cat >client.py <<-'END'
		import glob, os, socket, sys
		path = glob.glob(os.environ["AWF_STORAGE"] + "/runs/*/questions/*")[0]
		os.chdir(os.path.dirname(path))
		s = socket.socket(socket.AF_UNIX)
		s.connect(os.path.basename(path))
		f = s.makefile("rw")
		print("here", flush=True)
		for line in sys.stdin:
		    f.write(line)
		    f.flush()
		    print(f.readline(), end="", flush=True)
	END
	coproc python3 client.py
	read -r line <&"${COPROC[0]}"
	sleep 2.2
	kill -0 $RUN
	for case in 'nonsense|an answer is a line of JSON' '{"data":1,"failed":true,"by":"x"}|an answer is a line' \
		'{}|an answer is a line' '{"data":1}|is missing: the name of who answers'; do
		echo "${case%%|*}" >&"${COPROC[1]}"
		read -r line <&"${COPROC[0]}"
		[[ $line == *'"code":"invalid_input"'*"${case#*|}"* ]] || { echo "$line"; false; }
	done
	echo '{"data":{"a":[1]},"by":"someone","reason":"because"}' >&"${COPROC[1]}"
	read -r line <&"${COPROC[0]}"
	same "$(jq -c '[.accepted, .event_id]' <<<"$line")" "[true,$(jq -c 'select(.type == "step.completed").event_id' "$(record)")]"
	ends 0
	same "$(cat out)" '{"a":[1]}'
	same "$(last why '.approval|[.decision,.by,.reason]')" '["completed","someone","because"]'
}

@test "who answers on and on, and does not read what he is told, holds nobody up" {
	begins 1 -c 'awf-step -n --ask why --output-schema answer.json -r why'
	cat >client.py <<-'END'
		import glob, os, socket, sys
		os.chdir(glob.glob(os.environ["AWF_STORAGE"] + "/runs/*/questions")[0])
		s = socket.socket(socket.AF_UNIX)
		s.connect(os.listdir()[0])
		try:
		    s.sendall(b'{"data":1,"by":"x"}\n' * 5000)
		except OSError:
		    pass
		print("sent", flush=True)
		sys.stdin.read()
	END
	coproc python3 client.py
	read -r line <&"${COPROC[0]}"
	answer why <<<'{"ok":true}'
	same "$status" 0
	ends 0
	same "$(cat out)" '{"ok":true}'
}

@test "branches and jobs ask at the same time, and each is answered by its call" {
	begins 4 -c 'awf-step -n --parallel p -- "awf-step -n --ask a a" "awf-step -n --ask b b" | awf-step -q -s end -- cat &
		printf "1\n2\n" | awf-step -i lines -j 2 --ask "{{data}}?" -r c; wait'
	answer c <<<x
	same "$status" 1
	[[ $stderr == *'several calls of it ask, name one: c:0:'* ]]
	answer c:0:1 <<<two
	answer p.b <<<B
	answer c:0:0 <<<one
	answer p.a <<<A
	ends 0
	same "$(cat out)" $'one\ntwo'
	same "$(last p '.result|map(.data)|tostring')" '"[\"A\",\"B\"]"'
	awf-verify --determinism
}

@test "of two answers at once one is taken, and the other is told that nobody waits" {
	local n
	begins 1 -c 'awf-step -n --ask why -r why'
	for n in 1 2 3 4 5 6 7 8; do
		(status=0; awf-ctl complete why <<<$n 2>$n.err || status=$?; echo $n $status >>taken) 3>&- &
	done
	wait
	same "$(grep -c ' 0$' taken)" 1
	same "$(cat out)" "$(grep ' 0$' taken | cut -d ' ' -f 1)"
	# Who is there when it has its end is late; who comes later finds nobody.
	same "$(cat ./*.err | sort -u | sed "s/$(id)/RUN/" | grep -vxF -e 'awf-ctl: why:0:0: does not wait any more' \
		-e 'awf-ctl: why: no call of run RUN waits for a result')" ''
}

@test "a text stays as it is given, now as later" {
	begins 1 -c 'awf-step -n --ask why -r why'
	printf yes | awf-ctl complete why
	ends 0
	printf yes | cmp - out
	awf-run --id-file run.id -c 'awf-step -n --ask why --ask-grace 0 -r why' >out 2>err || true
	printf yes | awf-ctl complete why 2>err
	resume | cmp - <(printf yes)
}

@test "a question that waited is answered where a resume asks it again" {
	echo 0 >grace
	begins 0 -c 'awf-step -n --ask why --ask-grace $(cat grace) why | awf-step -r up -- tr a-z A-Z'
	ends 75
	echo 1m >grace
	awf-run --resume @ >out 2>err 3>&- &
	RUN=$!
	eventually asking 1
	answer why <<<yes
	same "$status $stderr" '0 '
	ends 0
	same "$(cat out)" YES
	answer why <<<no
	same "$status $stderr" '3 awf-ctl: why:0:0: does not wait any more: ended in a further attempt of the run'
	awf-verify
	awf-verify --determinism
}

@test "a step that is killed while it asks leaves a question that a resume asks again" {
	begins 1 ./flow
	pkill -KILL -f -- '--ask Is'
	wait $RUN || true
	answer first <<<'{"ok":true}'
	same "$status" 1
	awf-run --resume "$(id)" >out 2>err </dev/null 3>&- &
	RUN=$!
	eventually asking 1
	answer first <<<'{"ok":true}'
	eventually asking 1
	answer second <<<good
	ends 0
	same "$(cat out)" 'done good'
	awf-verify
}

@test "cancelling, a reader that has gone, and a masked run end a question" {
	begins 1 -c 'awf-step -n --ask why why'
	awf-ctl cancel "$(id)"
	same "$(last why .error.code)" '"cancelled"'
	begins 1 -c 'awf-step -n --ask why why | sleep 0.3'
	ends 0
	same "$(last why .error.code)" '"downstream_closed"'
	run -3 --separate-stderr awf-run --mask 'sed -u s/qq/y/' -c 'awf-step -n --ask why why'
	[[ $stderr == *'nobody can decide later about a run that is masked'* ]]
}

@test "mistakes are told" {
	for case in '--ask a -- cat|not together with a command' '--accept true -- cat|only with --ask' \
		'--ask a --timeout 3|not with --timeout' '--ask a --max-answers x|--max-answers: ' \
		'--ask {{nope}}|--ask: ' '--ask @none.md|none.md: '; do
		# shellcheck disable=SC2086
		run --separate-stderr awf-step -n q ${case%%|*}
		[[ $status != 0 && $stderr == *"${case#*|}"* ]] || { echo "$case: $status $stderr"; false; }
	done
}
