#!/usr/bin/env bats
# bats file_tags=turn:3
# awf-eval(1).
# shellcheck shell=bash disable=SC2016,SC2154
bats_require_minimum_version 1.5.0
load ../../support/helpers
load ../../support/agent

# Agents that are right at these rates, and a judge; a workflow with one of them; a server, and prices.
prepare() {
	export ASAN_OPTIONS=detect_leaks=0
	mkdir -p agents
	for of in solve:0.7 steps:0.95 judge:1; do
		printf -- '---\nname: %s\nprovider: anthropic\nmodel: test\n---\nrate %s\n' "${of%:*}" "${of#*:}" >"agents/${of%:*}.md"
	done
	printf '%s\n' '#!/bin/sh' 'awf-step -r solve -a "agents/${AGENT:-solve}.md"' >flow
	chmod +x flow
	seq -f 'question %g' "${1-6}" >in
	echo 'anthropic/* 3 15' >prices
	export AWF_PRICES=$PWD/prices
	luck
}
luck() {
	rm -f port asked
	python3 -S "$ROOT/tests/support/luck-server.py" asked "$@" >port 2>/dev/null 3>&- &
	LUCK=$!
	echo "$LUCK" >>"$BATS_TEST_TMPDIR/model-server.pids"
	eventually test -s port
	ANTHROPIC_BASE_URL="http://127.0.0.1:$(cat port)"
	export ANTHROPIC_BASE_URL ANTHROPIC_API_KEY=k
}
# An evaluation with two variants and two checks, one of which asks a model.
judged() {
	awf-eval -k 2 --inputs in --variant solve --variant steps=AGENT=steps \
		--check 'exact=jq -e ".result == \"right\"" >/dev/null' \
		--check 'judge=awf-step -r -a agents/judge.md judge | jq -Re ". == \"right\""' "$@" ./flow
}
timeless() { jq -c 'del(.ms, .run, .checks[].run)'; }
asked() { wc -l <asked; }

@test "variants are tried with all inputs, as often as told; checks say what is right, and the report how sure that is" {
	prepare
	run -0 --separate-stderr judged
	same "$(asked)" $((6 * 2 * 2 * 2))
	same "${lines[0]}" "eval-flow: 6 inputs x 2 times  $(basename "$(transcript)" | head -c 8)"
	[[ ${lines[1]} == variant*pass*'95 %'*'2 of 2'*error*'p50 ms'*'$ each'*'$ paid' ]]
	awf-eval --report -o jsonl @ | timeless >report
	same "$(wc -l <report)" 24
	same "$(jq -c 'select(.outcome == "pass") | .checks | map_values(.outcome)' report | sort -u)" '{"exact":"pass","judge":"pass"}'
	for variant in solve steps; do
		passed=$(jq -s "map(select(.variant == \"$variant\" and .outcome == \"pass\")) | length" report)
		[[ $output == *"$variant"*" $passed/12 "* ]]
	done
	# Each answer has cost 1,000 tokens of input and 10 of output.
	same "$(jq -c '[.cost_usd, .paid_usd]' report | sort -u)" '[0.00315,0.00315]'
	[[ ${lines[2]} == *' 0.0032  0.0378' ]]
	# It is a run, whose child runs are those of the workflow.
	same "$(awf-tail --list --json | jq -r .name)" eval-flow
	same "$(awf-tail --list --children -n 100 --json | jq -r .name | sort | uniq -c | xargs)" '1 eval-flow 12 solve 12 solve-judge 12 steps 12 steps-judge'
	awf-verify -q "$AWF_STORAGE"
	# The same in other forms.
	awf-eval --report -o csv @ | tr -d '\r' >csv
	same "$(head -n 1 csv)" 'variant,id,k,outcome,ms,cost_usd,paid_usd,run,exact,judge'
	same "$(grep -c '^"steps",.*,pass,' csv)" "$(jq -s 'map(select(.variant == "steps" and .outcome == "pass")) | length' report)"
	awf-eval --report -o tap @ >tap
	same "$(head -n 2 tap | paste -sd' ')" 'TAP version 13 1..12'
	same "$(grep -c '^ok' tap)" "$(jq -s 'group_by([.variant, .id]) | map(select(all(.outcome == "pass"))) | length' report)"
	awf-eval --report -o junit @ >junit.xml
	python3 -c 'import sys, xml.etree.ElementTree as e
print(len(list(e.parse("junit.xml").iter("testcase"))), len(list(e.parse("junit.xml").iter("failure"))))' >counts
	same "$(cat counts)" "12 $(grep -c '^not ok' tap)"
	awf-eval --report -o md @ | grep -q '^| variant | pass '
	awf-eval --report -o json @ >report.json
	cmp <(jq -c '.trials[]' report.json) <(awf-eval --report -o jsonl @ | jq -c .)
	same "$(jq -r '.variants[] | "\(.variant) \(.passed)/\(.count) \(.low * 100 | round)%..\(.high * 100 | round)%"' report.json)" \
		"$(awf-eval --report @ | awk '/^(solve|steps) +[0-9]/ { print $1, $2, $4 }')"
	same "$(jq -r '.variants | map("\(.checks.exact.passed)/\(.checks.exact.count)") | join(" ")' report.json)" \
		"$(awf-eval --report @ | awk '/^exact / { print $2, $3 }')"
	same "$(jq -c '.variants | map(.against.variant)' report.json)" '[null,"solve"]'
	awf-eval --report -o html @ | grep -q '<td>steps</td>'
	same "$(awf-eval --report -o github @ | grep -c '^::warning title=')" \
		"$(jq -s 'group_by([.variant, .id]) | map(select(all(.outcome == "fail"))) | length' report)"
}

@test "killed at ten moments and resumed, it gives the same, and asks each model once" {
	prepare
	kill "$LUCK"
	luck 1 steady
	judged -o jsonl | timeless >whole
	same "$(asked)" 48
	kill "$LUCK"
	luck 1 steady
	judged >/dev/null 2>&1 3>&- &
	eventually test -s asked
	id=$(basename "$(readlink "$AWF_STORAGE/latest")" .jsonl)
	for n in 1 2 3 4 5 6 7 8 9 10; do
		sleep "0.$((RANDOM % 4 + 1))"
		pkill -9 -f "awf-run .*--id=$id|awf-run --resume $id" || true
		eventually eval '[ "$(awf-tail --list --json | jq -r .status)" != running ]'
		awf-run --resume "$id" >/dev/null 2>&1 3>&- &
		last=$!
	done
	wait "$last" || awf-run --resume "$id" >/dev/null
	awf-eval --report -o jsonl "$id" | timeless >killed
	diff whole killed
	# A request that was under way when its worker was killed may have been sent again; each answer is on record once (stop_reason: not the tries that had none).
	[ "$(asked)" -ge 48 ]
	same "$(cat "$AWF_STORAGE"/transcripts/*.jsonl | grep -c '"stop_reason":"end_turn"')" $((2 * 48))
	same "$(jq -s 'map(select(.outcome == "error" or .outcome == "missing")) | length' killed)" 0
}

@test "--reuse: a variant, or a further evaluation, pays only for what is different" {
	prepare
	printf '%s\n' '#!/bin/sh' 'awf-step plan -a agents/judge.md | awf-step -r solve -a "agents/${AGENT:-solve}.md"' >flow
	run -0 awf-eval -k 2 -i in --variant solve --variant steps=AGENT=steps --check 'any=true' --reuse ./flow
	same "$(jq -r .system asked | sort | uniq -c | xargs)" '12 rate 0.7 12 rate 0.95 12 rate 1'
	awf-eval --report -o jsonl @ >report
	same "$(jq -c '[.variant, .cost_usd, .paid_usd]' report | sort -u | paste -sd' ')" \
		'["solve",0.0063,0.0063] ["steps",0.0063,0.00315]'
	first=$(basename "$(transcript)" .jsonl)
	: >asked
	run -0 awf-eval -k 2 -i in --variant steps=AGENT=steps --variant solve --check 'any=true' --reuse="$first" ./flow
	same "$(asked)" 0
	sed -i 's/0.7/0.8/' agents/solve.md
	run -0 --separate-stderr awf-eval -k 2 -i in --variant steps=AGENT=steps --variant solve --check 'any=true' --reuse="$first" ./flow
	same "$(jq -r .system asked | sort | uniq -c | xargs)" '12 rate 0.8'
	[[ $stderr != *'made again'* ]]
	# Commands depend on the variables of a variant.
	printf '%s\n' '#!/bin/sh' 'awf-step -r say -- sh -c "cat; echo \$STYLE"' >flow
	run -0 awf-eval -i in --variant a=STYLE=a --variant b='STYLE="b c"' --reuse --check 'is=jq -e ".result | test(\"b c\")" >/dev/null' ./flow
	same "$(awf-eval --report -o jsonl @ | jq -c '[.variant, .outcome]' | sort -u | paste -sd' ')" '["a","fail"] ["b","pass"]'
}

# A check in which a judge is given what is said.
judging() { printf 'judge=%s | awf-step -r -i json -a agents/judge.md judge | jq -Re ". == \\"right\\"" >/dev/null' "$1"; }

@test "--reuse: what judges have answered is taken over where they are asked the same" {
	prepare 4
	run -0 awf-eval -i in -c "$(judging 'jq .result')" -c "all=$(judging cat | cut -d= -f2-)" ./flow
	same "$(asked)" 12
	awf-eval --report -o jsonl @ | timeless >before
	for reused in @ @; do
		: >asked
		run -0 awf-eval -i in -c "$(judging 'jq .result')" -c "all=$(judging cat | cut -d= -f2-)" --reuse="$reused" ./flow
		same "$(asked)" 0
		awf-eval --report -o jsonl @ | timeless | jq -c '.paid_usd' | grep -qx 0
		diff <(jq -c 'del(.paid_usd)' before) <(awf-eval --report -o jsonl @ | timeless | jq -c 'del(.paid_usd)')
	done
	# Another output is judged anew, the same one is not; and all are by another judge.
	printf '%s\n' '#!/bin/bash' 'read -r x; awf-step -r solve -a agents/solve.md <<<"$x"' >flow
	run -0 awf-eval -i in -c "$(judging 'jq .result')" ./flow
	sed -i "s/awf-step/case \$x in *1) echo changed; exit;; esac; awf-step/" flow
	: >asked
	run -0 awf-eval -i in -c "$(judging 'jq .result')" --reuse=@ ./flow
	same "$(jq -r .system asked)" 'rate 1'
	same "$(jq -r .user asked)" changed
	sed -i 's/rate 1/& again/' agents/judge.md
	: >asked
	run -0 awf-eval -i in -c "$(judging 'jq .result')" --reuse=@ ./flow
	same "$(jq -r .system asked | sort | uniq -c | xargs)" '4 rate 1 again'
	# In a further variant.
	: >asked
	run -0 awf-eval -i in -c "$(judging 'jq .result')" --variant one --variant two=X=1 --reuse ./flow
	same "$(jq -r .system asked | sort | uniq -c | xargs)" '3 rate 0.7 4 rate 1 again'
	sound
}
sound() { same "$(awf-verify "$AWF_STORAGE" 2>&1)" ''; }

@test "an evaluation is replayed: checks are run, what was read of the child runs is in its record" {
	prepare 3
	echo '{"type":"string"}' >schema.json
	run -0 judged --check 'fast=jq -e ".ms < 600000 and .cost_usd > 0.003 and (.run | length) == 36" >/dev/null' --schema schema.json --max-ms 600000
	kill "$LUCK"
	run -0 --separate-stderr awf-replay @
	same "$output" ''
	awf-verify --determinism @
	# A check that says something else now is a difference.
	sed -i 's/string/null/' schema.json
	run -3 awf-replay @
	[[ $output == *'case'* ]]
	sed -i 's/null/string/' schema.json
	# One with forks, an error, and what was resumed.
	luck
	echo refused >>in
	run -2 judged --reuse
	run -3 awf-run --resume @
	run -0 awf-replay @
}

@test "--report with checks: what was tried is checked anew, and not tried" {
	prepare
	echo 'refused' >>in
	run -2 awf-eval -k 2 -i in --variant solve --variant steps=AGENT=steps --check 'any=true' ./flow
	first=$(basename "$(transcript)" .jsonl)
	: >asked
	run -2 --separate-stderr awf-eval --report --check 'exact=jq -e ".result == \"right\"" >/dev/null' --check "$(judging 'jq .result')" "$first"
	same "$(jq -r .system asked | sort | uniq -c | xargs)" '24 rate 1'
	[[ $output == 'eval-flow: 7 inputs x 2 times  '*'error: '*refused* ]]
	second=$(basename "$(transcript)" .jsonl)
	[ "$second" != "$first" ]
	awf-eval --report -o jsonl "$first" >before || same "$?" 2
	awf-eval --report -o jsonl "$second" >after || same "$?" 2
	diff <(jq -c '[.variant, .id, .k, .run, .ms, .cost_usd]' before) <(jq -c '[.variant, .id, .k, .run, .ms, .cost_usd]' after)
	same "$(jq -c '[.paid_usd, (.checks | keys)]' after | sort -u)" '[0,["exact","judge"]]'
	same "$(jq -r '[.outcome, .checks.exact.outcome] | join(" ")' after | sort -u | paste -sd,)" 'error missing,fail fail,pass pass'
	# Judges can be asked for what is new alone; the baseline, and what is required, are as ever.
	: >asked
	run -2 awf-eval --report --check "$(judging 'jq .result')" --reuse="$second" "$first"
	same "$(asked)" 0
	run -2 awf-eval --report --check "$(judging 'jq .result')" --reuse "$second"
	same "$(asked)" 0
	run -1 awf-eval --report --check-failures --check 'failed=jq -e .error >/dev/null' --require 'failed>=0.5' "$first"
	same "$(grep '^failed ' <<<"$output" | xargs)" 'failed 2/14 2/14'
	echo '{"maxLength":4}' >schema.json
	run -2 awf-eval --report --schema schema.json "$first"
	run -2 awf-eval --report -o json @
	run -2 --separate-stderr awf-eval --report --check 'no=true' -k 2 "$first"
	same "$stderr" 'awf-eval: --report: not with -k'
	sound
}

@test "--with: a variant has other contents in a file, which is not changed" {
	prepare 2
	unshare -rm true 2>/dev/null || skip 'no user namespaces here'
	printf '%s\n' '#!/bin/sh' 'awf-step -r solve -a agents/solve.md' >flow
	same_files() { sha256sum agents/* flow | sha256sum; }
	before=$(same_files)
	run -0 awf-eval -i in --variant solve --variant 'steps=--with agents/solve.md=agents/steps.md' \
		--variant 'judge=--with=agents/solve.md=agents/judge.md X=1' ./flow
	same "$(jq -r .system asked | sort | uniq -c | xargs)" '2 rate 0.7 2 rate 0.95 2 rate 1'
	same "$(same_files)" "$before"
	awf-eval --report -o jsonl @ >report
	a=$(jq -rs 'map(select(.variant == "solve"))[0].run' report)
	b=$(jq -rs 'map(select(.variant == "steps"))[0].run' report)
	run -1 awf-diff "$a" "$b"
	[[ $output == *'agents/solve.md'*'-'*'0.7'*'+'*'0.95'* ]]
	run -0 awf-replay "$b"
	run -0 awf-replay @eval-flow
	# Two files exchanged, the workflow itself replaced, and steps that run in a sandbox.
	echo one >a
	echo two >b
	printf '%s\n' '#!/bin/sh' 'awf-step -n -r say -- cat a b | tr "\n" " "; awf-step -n -r boxed --sandbox workspace -- cat a' >flow
	printf '%s\n' '#!/bin/sh' 'echo another' >flow2
	chmod +x flow flow2
	run -0 awf-eval -i in --variant plain --variant 'turned=--with a=b --with b=a' --variant 'other=--with flow=flow2' \
		-c 'said=jq -c "{pass: true, why: .result}"' ./flow
	awf-eval --report -o jsonl @eval-flow >report
	said() { jq -r "select(.variant == \"$1\").checks.said.why" report | sort -u; }
	same "$(said plain)" "$(printf 'one two one')"
	same "$(said turned)" "$(printf 'two one two')"
	same "$(said other)" another
	while IFS='|' read -r words said; do
		run -2 --separate-stderr awf-eval -i in --variant "x=$words" ./flow
		same "$stderr" "awf-eval: --variant: --with $said"
	done <<-'EOF'
		--with a=none|a=none: unable to look at none: No such file or directory
		--with none=a|none=a: unable to look at none: No such file or directory
		--with agents=a|agents=a: agents is no file
		--with a|takes FILE=OTHER, not 'a'
		--with|takes FILE=OTHER
	EOF
}

@test "errors are no failures: a step of a check that fails, a workflow that does; a resume tries them again" {
	prepare 2
	echo 'refused' >>in
	run -2 --separate-stderr awf-eval -i in --check 'judge=awf-step -r -a agents/none.md judge >/dev/null' ./flow
	awf-eval --report -o jsonl @ >report || same "$?" 2
	same "$(jq -r '[.outcome, .checks.judge.outcome] | join(" ")' report | paste -sd,)" 'error error,error error,error missing'
	[[ $(jq -r 'select(.error) | .error' report) == *refused* ]]
	[[ $output == *'error: '*refused* ]]
	id=$(basename "$(transcript)" .jsonl)
	cp agents/judge.md agents/none.md
	: >asked
	run -3 --separate-stderr awf-run --resume "$id"
	[[ $stderr != *'made again'* ]]
	same "$(jq -r .system asked | sort | uniq -c | xargs)" '1 rate 0.7 2 rate 1'
	awf-eval --report -o jsonl "$id" >report || same "$?" 2
	same "$(jq -r .outcome report | paste -sd,)" pass,pass,error
	# Unless failures are what is to be checked.
	run -0 awf-eval -i in --check-failures --check 'fails=jq -e .error >/dev/null' ./flow
	same "$(awf-eval --report -o jsonl @ | jq -r .outcome | paste -sd,)" fail,fail,pass
	# A check that says neither: an exit status above 1.
	run -2 awf-eval -i in --check-failures --check 'odd=exit 7' ./flow
	[[ $output == *'exit status 7'* ]]
}

@test "verdicts: exit status, true and false, scores, objects, state lines" {
	printf '%s\n' '#!/bin/sh' 'cat' >flow
	chmod +x flow
	echo x >in
	while IFS='|' read -r wanted command; do
		awf-eval -i in --check "c=$command" ./flow >/dev/null
		same "$command: $(awf-eval --report -o jsonl @ | jq -c '[.checks.c | .outcome, .score, .why]')" "$command: $wanted"
	done <<-'EOF'
		["pass",null,null]|true
		["fail",null,"no good"]|echo "no good"; false
		["fail",null,null]|echo false
		["pass",0.5,null]|echo 0.5
		["fail",0.4,null]|echo 0.4
		["pass",1,"well said"]|echo '{"pass": true, "score": 1, "why": "well said"}'
		["fail",0,null]|echo '{"pass": false, "score": 0}'
		["fail",0.2,null]|echo '{"score": 0.2}'
		["pass",0.5,null]|echo '{"score": 0.5}'
		["fail",null,null]|echo False
		["pass",null,null]|echo True
		["pass",null,null]|grep -o x
		["pass",null,null]|jq .
		["fail",null,null]|echo null; false
		["fail",null,null]|awf-step -n said -- echo '{"pass": false}'
		["pass",null,null]|awf-step -i json -r said -- jq -e '.input == "x" and .result == "x" and .id != null and .k == 1'
	EOF
	# What looks like a verdict, and is none, does not pass: a judge may answer so.
	while IFS='|' read -r wanted command; do
		run -2 awf-eval -i in --check "c=echo '$command'" ./flow
		same "$command: $(awf-eval --report -o jsonl @ | jq -r '.checks.c | .outcome + " " + .why')" \
			"$command: error printed $wanted, which is no verdict; if the exit status is to decide, discard the output (>/dev/null)"
	done <<-'EOF'
		an object with neither pass nor score|{"verdict": "bad"}
		a pass that is neither true nor false|{"pass": "no"}
		a score that is no number from 0 to 1|{"pass": true, "score": 4}
		a score that is no number from 0 to 1|4
		an object that is not JSON|{pass: false}
		an array|[false]
		null|null
	EOF
	# Why a check could not tell is said once.
	run -2 --separate-stderr awf-eval -i in --check 'c=echo "no such table" >&2; exit 9' ./flow
	same "$(awf-eval --report -o jsonl @ | jq -r .checks.c.why)" 'exit status 9: no such table'
	echo '{"type":"string","maxLength":1}' >schema.json
	run -0 awf-eval -i in --max-ms 600000 --schema schema.json ./flow
	same "$(awf-eval --report -o jsonl @ | jq -c '[.checks.schema.outcome, .checks.ms.outcome]')" '["pass","pass"]'
}

@test "inputs: lines and objects, with expected results; what is wrong is said in one line" {
	printf '%s\n' '#!/bin/sh' 'cat' >flow
	chmod +x flow
	printf '%s\n' '{"id":"a","input":{"n":1},"expected":{"n":1},"metadata":{"x":[1]}}' '{"n":2}' '' 'plain "text"' '{"id":7,"input":"x\ny"}' >in
	run -0 awf-eval -i in --check 'same=jq -e "if .expected then .result == .expected and .metadata.x == [1] else (.result | tostring) == .input end" >/dev/null' ./flow
	awf-eval --report -o jsonl @ >report
	same "$(jq -r .outcome report | sort -u)" pass
	same "$(jq -r .id report | sed -n '1p;4p' | paste -sd,)" a,7
	[[ $(jq -r .id report | sed -n 2p) =~ ^[0-9a-f]{8}$ ]]
	while IFS='|' read -r line said; do
		printf 'one\n%s\n' "$line" >in
		run -2 --separate-stderr awf-eval -i in ./flow
		same "$stderr" "awf-eval: $said"
	done <<-'EOF'
		one|in:2: is the same as line 1: give each an id, or try all inputs several times with --repeat
		{"id":"a\u001b[31m","input":1}|in:2: has an id of more than 200 bytes, or with control characters
		{"id":"a\u0000b","input":1}|in:2: has an id of more than 200 bytes, or with control characters
		{"input":"x","expectd":1}|in:2: has the member "expectd", and is made of id, input, expected, cluster and metadata
	EOF
	printf '%s\n' '{"id":"a","input":1}' '{"id":"a","input":2}' >in
	run -2 --separate-stderr awf-eval -i in ./flow
	same "$stderr" 'awf-eval: in:2: has the id a, as line 1 has'
	# A mistake in a file of objects is no text, which it may be elsewhere.
	printf '%s\n' '{"id":"a","input":1,}' '{"id":"b","input":2}' >in
	run -2 --separate-stderr awf-eval -i in ./flow
	same "$stderr" 'awf-eval: in:1: begins as an object does, and is not JSON'
	sed -i 2d in
	run -0 awf-eval -i in ./flow
	: >in
	run -2 --separate-stderr awf-eval -i in ./flow
	same "$stderr" 'awf-eval: in: has no inputs'
	run -2 --separate-stderr awf-eval -i none ./flow
	same "$stderr" 'awf-eval: none: unable to open: No such file or directory'
	same "$(printf 'a\nb' | awf-eval -i - ./flow | head -n 1 | sed 's/  .*//')" 'eval-flow: 2 inputs x 1'
}

@test "a command line that is wrong is refused in one line" {
	echo x >in
	while IFS='|' read -r words said; do
		eval "run -2 --separate-stderr awf-eval $words"
		same "$stderr" "awf-eval: $said"
	done <<-'EOF'
		./flow|takes --inputs FILE
		-i in|takes the workflow to be evaluated
		-i in --variant 'a b' ./flow|--variant: 'a b' has no name of letters, digits, _ and -
		-i in --variant a --variant a=X=1 ./flow|--variant: there are two of the name a
		-i in --variant 'a=X="1' ./flow|--variant: a " has no other one
		-i in --variant 'a=1x=1' ./flow|--variant: '1x=1' is neither VARIABLE=VALUE nor inputs.KEY=VALUE, nor a workflow
		-i in --check exact ./flow|--check: 'exact' is not NAME=COMMAND
		-i in --check ms=true --max-ms 3 ./flow|--check: there are two of the name ms
		-i in --require 'exact>0.9' ./flow|--require: 'exact>0.9' is not NAME>=RATE
		-i in --per-input 2 ./flow|--per-input: '2' is no rate from 0 to 1
		--report|--report: takes one run: an id or its beginning, @NAME, a file
		--report -k 2 @|--report: not with -k
		-i in --update ./flow|--update: only with --baseline
		-i in --schema none.json ./flow|none.json: unable to open: No such file or directory
		-i in -o xml ./flow|-o: 'xml' is none of table, md, csv, json, jsonl, junit, tap, github, html
		--report -j 2 @|--report: takes -j, --reuse, --name, --max-cost and --check-failures with a check alone: -c, --schema or --max-ms
	EOF
	long=$(printf %0128d 1)
	run -2 --separate-stderr awf-eval -i in --check "$long=true" ./flow
	same "$stderr" "awf-eval: --check: flow-$long is longer than 128 characters"
	awf-run -n -c true
	run -2 --separate-stderr awf-eval --report @
	[[ $stderr == 'awf-eval: '*'.jsonl: is no evaluation' ]]
}

@test "what is required, of checks, variants and inputs; a baseline" {
	printf '%s\n' '#!/bin/sh' 'if grep -q bad; then echo "${BAD-no}"; else echo yes; fi' >flow
	chmod +x flow
	seq -f 'good %g' 1 30 >in
	seq -f 'bad %g' 1 3 >>in
	check=(-i in -k 2 -j 8 --check 'yes=jq -e ".result == \"yes\"" >/dev/null')
	run -0 awf-eval "${check[@]}" --require 'yes>=0.9,flow/yes>=0.9,flow>=0.9' ./flow
	run -1 awf-eval --report --require 'pass>=0.95' @
	same "${lines[-1]}" 'does not hold: pass>=0.95: flow has 60/66'
	run -1 awf-eval --report --per-input 0.5 @
	same "$(grep -c '^does not hold: --per-input 0.5: [0-9a-f]* of flow has 0/2' <<<"$output")" 3
	run -2 --separate-stderr awf-eval --report --require 'none>=1' @
	same "$stderr" "awf-eval: --require: 'none' is neither a variant nor a check"
	run -0 awf-eval --report --baseline base.json --update @
	same "$(jq -c '.variants.flow | length' base.json)" 33
	same "$(wc -l <base.json)" 35
	cp base.json before.json
	# Better, and the same, hold; a baseline that is made again is the same.
	run -0 awf-eval "${check[@]}" --baseline base.json --update ./flow
	cmp base.json before.json
	BAD=yes run -0 awf-eval "${check[@]}" --baseline base.json ./flow
	[[ $output == *'baseline: flow: 60/66 in the baseline, 66/66 now: better 3, worse 0, equal 30'* ]]
	# Ten of them broken.
	sed -i 's/grep -q bad/grep -q "bad\\|good 1"/' flow
	run -1 awf-eval "${check[@]}" --baseline base.json ./flow
	[[ $output == *'worse 11'*': worse'*'does not hold: base.json: it is worse'* ]]
	# Inputs that one of them has alone are named.
	sed -i '1,2d' in
	echo new >>in
	run -1 awf-eval "${check[@]}" --baseline base.json ./flow
	[[ $output == *'not in the baseline:'*'in the baseline alone:'* ]]
	# Nothing to compare with is no success.
	run -1 awf-eval "${check[@]}" --variant renamed --baseline base.json ./flow
	same "${lines[-1]}" 'does not hold: base.json: it has no variant with an input of this evaluation'
	# What could not be reported on is not tried.
	printf '%s\n' '#!/bin/sh' 'echo >>tried' >unused
	chmod +x unused
	echo '{}' >bad.json
	while IFS='|' read -r option value said; do
		run -2 --separate-stderr awf-eval -i in "$option" "$value" ./unused
		same "$stderr" "awf-eval: $said"
	done <<-'EOF'
		--require|nothing>=1|--require: 'nothing' is neither a variant nor a check
		--name|unused|--name: unused is the name of a variant, whose runs @unused would find instead of the evaluation
		--baseline|none.json|none.json: there is no such file: make it with --update
		--baseline|bad.json|bad.json: is no baseline: make one with --update
	EOF
	[ ! -e tried ]
	# A baseline that can be read only once is.
	run -1 awf-eval "${check[@]}" --baseline <(cat before.json) ./flow
	[[ ${lines[-1]} == *'it is worse' ]]
	echo '{}' >base.json
	run -2 --separate-stderr awf-eval --report --baseline base.json @
	same "$stderr" 'awf-eval: base.json: is no baseline: make one with --update'
}

@test "a check that waits for a person: the evaluation waits, and goes on when it is resumed" {
	printf '%s\n' '#!/bin/sh' 'cat' >flow
	chmod +x flow
	echo x >in
	run -75 awf-eval -i in --check 'person=awf-step -i json -r look --approve' ./flow
	[[ $output == *'have not ended: awf-run --resume'* ]]
	awf-tail --list --children --json | jq -r 'select(.waits) | .waits[0].call + " " + .run_id' | {
		read -r call run
		awf-ctl approve "$call" "$run"
	}
	awf-run --resume @ >/dev/null
	run -0 awf-eval --report @
	[[ $output == *' 1/1 '* ]]
}

@test "a signal to awf-eval alone ends its run, which is resumed; a report says whether the run goes on" {
	printf '%s\n' '#!/bin/sh' 'touch begun' 'while [ ! -e go ]; do sleep 0.1; done' 'cat' >flow
	chmod +x flow
	seq 3 >in
	mkdir tmp
	export TMPDIR=$PWD/tmp
	for signal in TERM HUP INT; do
		rm -f go begun
		env --default-signal=INT awf-eval -i in -j 1 ./flow >out 2>&1 3>&- &
		eval=$!
		eventually test -e begun
		run -2 awf-eval --report @eval-flow
		[[ ${lines[-1]} == '3 of 3 trials have not ended: the evaluation is still running: awf-tail -f '* ]]
		kill "-$signal" "$eval"
		wait "$eval" || same "$?" 2
		same "$(awf-tail --list --json | jq -r .status | head -n 1)" cancelled
		[[ $(tail -n 1 out) == '3 of 3 trials have not ended: awf-run --resume '* ]]
		touch go
		same "$(awf-run --resume @eval-flow 2>/dev/null)" ""
		run -0 awf-eval --report @eval-flow
		[[ $output == *' 3/3 '* ]]
	done
	same "$(ls tmp)" ''
}

@test "in a run, an evaluation is a child run, and is not made again when that is resumed" {
	printf '%s\n' '#!/bin/sh' 'echo made >>made; cat' >flow
	printf '%s\n' '#!/bin/sh' 'awf-eval -i in --name nightly --check "x=jq -e \".result == \\\"x\\\"\" >/dev/null" ./flow || exit' '[ -e go ]' >night
	chmod +x flow night
	echo x >in
	mkdir tmp
	export TMPDIR=$PWD/tmp
	run -1 awf-run ./night
	[[ $output == *'flow '*' 1/1 '* ]]
	same "$(awf-tail --json @night | jq -r 'select(.payload.call) | .type + " " + .path' | head -n 1)" 'step.call_workflow.started nightly'
	touch go
	run -0 awf-run --resume @night
	[[ $output == *'flow '*' 1/1 '* ]]
	same "$(wc -l <made)" 1
	same "$(ls tmp)" ''
}

@test "ids, reasons and errors of any text: each form stays whole, and no terminal or CI job obeys them" {
	printf '%s\n' '#!/bin/sh' 'read -r word' 'printf "boo\\033[31m\\r::error::pwned" >&2' '[ "$word" != fail ]' >flow
	chmod +x flow
	printf '%s\n' '{"id":"a,\"b\"|<i>c</i> ::error::d %0A ]]> \uffff\ufffe","input":"x"}' '{"id":"e","input":"fail"}' >in
	cat >why <<-'EOF'
		{"pass":false,"why":"<b>no</b> \uffff, \u0001 \"q\"\n::error::no %0A"}
	EOF
	run -2 awf-eval -i in --check 'no=cat why' ./flow
	id=$(basename "$(readlink "$AWF_STORAGE/latest")" .jsonl)
	for form in table md csv junit tap github html; do
		awf-eval --report -o "$form" "$id" >"report.$form" || same "$?" 2
	done
	python3 -c 'import sys, xml.etree.ElementTree as t
cases = t.parse("report.junit").getroot().findall(".//testcase")
assert [c.get("name")[:3] for c in cases] == ["a,\"", "e"] and "<b>no</b>" in cases[0][0].get("message"), cases
import csv
rows = list(csv.reader(open("report.csv", newline="")))
assert len(rows) == 3 and len({len(r) for r in rows}) == 1 and rows[1][1].startswith("a,\"b\"|<i>c</i>"), rows'
	for form in table md html github; do
		same "$form: $(grep -c "$(printf '[\001\r\033]')" "report.$form")" "$form: 0"
	done
	same "$(grep -c '^::' report.github) $(grep -c '^::warning title=\|^::error title=' report.github)" '2 2'
	same "$(grep -c '<[ib]>' report.html)" 0
	# A baseline is a file that somebody proposes.
	echo '{"awf-eval":1,"variants":{"flow":{"e":{"pass":[1,1]},"a\u001b[31m":{"pass":[1,1]}}}}' >base.json
	run -0 awf-eval -i in --check-failures --check ok=true --baseline base.json ./flow
	[[ $output == *'  in the baseline alone: a [31m' ]]
}

@test "the example: six mails, and the job for CI" {
	cp -R "$ROOT/examples/evaluate" "$ROOT/examples/agents" .
	cd evaluate
	command=$(grep -o 'AWF_MODEL=replay.*' README)
	command=${command% ./sort.awf}
	run -0 --separate-stderr sh -c "$command --baseline baseline.json ./sort.awf"
	same "$(grep -c '^sort .* 5/6 ' <<<"$output")" 1
	[[ $output == *'baseline: sort: 5/6 in the baseline, 5/6 now'* ]]
	run -0 sh -c "$command --baseline baseline.json --update ./sort.awf"
	cmp baseline.json "$ROOT/examples/evaluate/baseline.json"
	# Two steps of the job, with one try of each mail.
	export WORKFLOW=./sort.awf INPUTS=mails.jsonl CHECK="topic=jq -e '.result == .expected'" AWF_MODEL=replay/answers.jsonl
	evaluate=$(sed -n 's/^ *run: \(awf-eval -i .*\)/\1/p' "$ROOT/examples/ci/evaluation.yml")
	# The answers of the example have no price.
	run -0 --separate-stderr sh -c "${evaluate/ --max-cost 2/}"
	[[ $output == '::warning title=sort/refund::topic: 0 of 5 passed'* ]]
	export GITHUB_STEP_SUMMARY=$PWD/summary
	sh -c "$(sed -n 's/^ *run: \(awf-eval --report .*\)/\1/p' "$ROOT/examples/ci/evaluation.yml")"
	grep -q '^| sort | 25/30 |' summary
}
