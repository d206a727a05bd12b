#!/usr/bin/env bats
# awf-step --each: a pipeline of steps as one step. Deaths at random: tests/fault/groups.bats.
# shellcheck disable=SC2016,SC2154 # $variables of inner shells; bats sets stderr
bats_require_minimum_version 1.5.0
load ../../support/helpers

calls() { jq -r 'select(.type == "step.completed").payload.call' "$(transcript)"; }

@test "a body is run once per item, and the lines of its steps pass" {
	printf 'a\nb\n' >items
	recorded 0 -c 'awf-step -i lines --each g -- sh -c "awf-step up -- tr a-z A-Z | awf-step end -- sed s/\$/!/" |
		awf-step last -r -- cat' <items
	same "$output" $'A!\nB!'
	same "$(calls | sort | paste -sd' ')" \
		'g:0:0 g:0:0/end:0:0 g:0:0/up:0:0 g:0:1 g:0:1/end:0:0 g:0:1/up:0:0 last:0:0 last:0:1'
	same "$(jq -r 'select(.type == "step.started") | .path' "$(transcript)" | sort -u | paste -sd' ')" \
		'g g.end g.up last'
	same "$(payloads step.started 'select(.name == "g") | .kind' | sort -u)" '"for_each"'
}

@test "what the end of a group tells: how many lines, which, and who made them" {
	echo x | awf-run -c 'awf-step --each g -- sh -c "awf-step one -O lines -- printf \"1\n2\n\""' >out
	same "$(payloads step.completed 'select(.name == "g") | [.count, (.result | map(.data)), .error]')" \
		'[2,["1","2"],null]'
	same "$(jq -r 'select(.payload.name == "g" and .type == "step.completed").links[]' "$(transcript)")" \
		"$(jq -r 'select(.payload.name == "one" and .type == "step.completed").event_id' "$(transcript)")"
	same "$(payloads step.completed 'select(.name == "g") | .result | map(.metadata.token)')" '[true,true]'
	same "$(jq -r .metadata.path out | sort -u)" g.one
	# The lines themselves are what the step in the body has printed.
	same "$(jq -c '[.data, .metadata | del(.token?)]' out)" \
		"$(payloads step.completed 'select(.name == "g") | .result[] | [.data, .metadata | del(.token?)]')"
	same "$(awf-tail | sed -n 's/.*g done (.*, 2 lines, .*)$/shown/p')" shown
}

@test "other output is the group's own result" {
	recorded 0 -n -c 'awf-step -n --each g -- echo plain | awf-step last -r -- cat'
	same "$output" plain
	same "$(payloads step.completed 'select(.name == "g") | [.result, .count]')" '["plain",null]'
	run -0 awf-run -n -c 'awf-step -n -O json --each g -- echo "1 [2]" | jq -c .data'
	same "$output" $'1\n[2]'
}

@test "the body reads the state line; an item without one gets one that names the call" {
	echo hello | awf-run -c 'awf-step --each g -r -- cat' >text
	same "$(cat text)" hello
	echo hello | awf-run -c 'awf-step --each g -r -- jq -c "[.data, .metadata.call, .metadata.event_id]"' >seen
	same "$(cat seen)" "$(jq -c 'select(.type == "step.started") | ["hello", "g:0:0", .event_id]' "$(transcript)")"
	echo hello | awf-run -c 'awf-step one -- cat | awf-step --each g -r -- jq -r .metadata.call' >seen
	same "$(cat seen)" one:0:0
}

@test "text, binary data, JSON and big data come through as they were" {
	printf 'no end' >plain
	printf 'a\377\0b' >binary
	head -c 700000 /dev/zero | tr '\0' x >big
	echo '{"a":1.0,"b":[1e2]}' >json
	for item in plain binary big; do
		recorded 0 -c 'awf-step --each g -- awf-step in -- cat | awf-step out -o got -r -- cat' <"$item"
		cmp got "$item"
		recorded 0 -c 'awf-step --each g -- cat | awf-step out -o got -r -- cat' <"$item"
		cmp got "$item"
	done
	recorded 0 -c 'awf-step -i json --each g -- awf-step -O json in -- cat | awf-step out -o got -r -- cat' <json
	cmp got json
}

@test "a body that fails, or gives an error line, fails the call with its own input" {
	recorded 3 -c 'echo in | awf-step --each g -- sh -c "exit 4"'
	same "$(jq -c '[.data, .metadata.call, .metadata.error]' <<<"$output")" \
		'["in","g:0:0",{"code":"exit_status","message":"sh: exit status 4"}]'
	recorded 3 -c 'echo in | awf-step --each g -- sh -c "awf-step a -- tr a-z A-Z | awf-step b -- false; true"'
	same "$(jq -c '[.data, .metadata.call, .metadata.error.code]' <<<"$output")" '["in","g:0:0","exit_status"]'
	same "${stderr_lines[-2]}" 'awf-run: pipeline: step g:0:0 failed: false: exit status 1'
}

@test "what was good of a body's lines goes out before its error line" {
	recorded 0 -c 'echo in | awf-step --each g -- sh -c "printf \"1\n2\n3\n\" |
		awf-step -i lines each -- grep -v 2" | tee lines | awf-step --rescue caught -q -- cat'
	same "$(jq -c '[.data, .metadata.call, .metadata.error.code]' lines)" \
		$'["1","g:0:0/each:0:0",null]\n["3","g:0:0/each:0:2",null]\n["in","g:0:0","exit_status"]'
	same "$(payloads step.completed 'select(.name == "g") | [.count, has("result")]')" '[2,false]'
}

@test "a failure in a group can be rescued after it, and in it" {
	recorded 0 -c 'echo in | awf-step --each g -- awf-step a -- false | awf-step --rescue caught -r -- sed s/^/saved:/'
	same "$output" saved:in
	recorded 0 -c 'echo in | awf-step --each g -- sh -c "awf-step a -- false | awf-step --rescue b -- cat" |
		awf-step out -r -- cat'
	same "$output" in
	recorded 0 -c 'echo in | awf-step bad -- false | awf-step --rescue --each g -- awf-step a -- sed s/^/again:/ |
		awf-step out -r -- cat'
	same "$output" again:in
}

@test "--try and --allow-failure are of the group" {
	recorded 0 -n -c 'awf-step -n --try --each g -- awf-step a -- false || echo tried'
	same "$output" tried
	recorded 0 -n -c 'awf-step -n --allow-failure --each g -- awf-step a -- false | awf-step out -r -- wc -c'
	same "$output" 0
}

@test "--retries and --timeout are of a run of the body" {
	recorded 0 -n -c 'awf-step -n --retries 2 --delay 1ms -q --each g -- sh -c \
		"test -e once && awf-step a -- echo good || { touch once; exit 1; }"'
	same "$(payloads step.completed 'select(.name == "g") | .retries | length')" 1
	rm -f once
	awf-run -n -c 'awf-step -n --retries 1 --delay 1ms -q --each g -- \
		awf-step -n --until "test -e once || { touch once; false; }" --max 1 l -- true' 2>err
	rm once
	awf-verify --determinism --isolation copy
	same "$(payloads step.completed 'select(.retries) | .retries[].code')" '"max_iterations"'
	run -3 --separate-stderr awf-run -n -c 'awf-step -n --timeout 200ms --each g -- awf-step a -- sleep 60'
	same "$(jq -r .metadata.error.code <<<"${lines[0]}")" timeout
	same "$(payloads step.completed '[.name, .error.code]' | sort | paste -sd' ')" '["a","cancelled"] ["g","timeout"]'
	awf-verify --determinism --isolation copy
}

@test "--into takes the one result, and only that" {
	export JQ=jq
	recorded 0 -c 'echo q | awf-step --into answer --each g -- awf-step a -- echo 42 | jq -c .data'
	same "$output" '{"input":"q","answer":"42"}'
	same "$(payloads step.completed 'select(.name == "g") | [.result, .count]')" \
		'[{"input":"q","answer":"42"},null]'
	recorded 3 -c 'echo q | awf-step --into answer --each g -- awf-step -O lines a -- printf "1\n2\n"'
	same "$(jq -r .metadata.error.message <<<"$output")" '--into: takes one result, and 2 came'
}

@test "-j runs bodies at a time, and the output keeps its order" {
	seq 8 >items
	recorded 0 -c 'awf-step -i lines -j 4 --each g -- awf-step a -- sh -c "read n; sleep 0.\$((8 - n)); echo \$n" |
		awf-step -i state out -r -- cat' <items
	same "$(paste -sd' ' <<<"$output")" '1 2 3 4 5 6 7 8'
}

@test "-s gives the body all items, and joins what bodies give" {
	printf '1\n2\n' >items
	recorded 0 -c 'awf-step -i lines --each g -- awf-step a -- sed s/^/x/ | awf-step -s all -r -- cat' <items
	same "$output" '["x1","x2"]'
	recorded 0 -c 'awf-step -i lines -s --each g -- awf-step a -- cat | awf-step out -r -- cat' <items
	same "$output" '["1","2"]'
}

@test "-r, -q and -o" {
	run -0 awf-run -n -c 'awf-step -n --each g -r -- awf-step -O lines a -- printf "1\n2\n"'
	same "$output" $'1\n2'
	run -0 awf-run -n -c 'awf-step -n --each g -q -- awf-step a -- echo 1'
	same "$output" ''
	awf-run -n -c 'awf-step -n --each g -o file -- awf-step a -- echo 1'
	same "$(jq -r .data file)" 1
}

@test "--when passes the item, a gate looks at it first" {
	recorded 0 -c 'echo x | awf-step --when false --each g -r -- false'
	same "$output" x
	recorded 3 -c 'echo x | awf-step --require check --each g -- awf-step a -- cat'
	same "$(jq -r .metadata.error.code <<<"$output")" blocked
	same "$(calls)" g:0:0
}

@test "a gate takes what a step in a group has made, by its path" {
	recorded 0 -c 'echo x | awf-step --each g -- awf-step check -- cat | awf-step --require g.check go -r -- cat'
	same "$output" x
	recorded 0 -c 'echo x | awf-step --each g -- cat | awf-step --require g go -r -- cat'
	same "$output" x
	recorded 3 -c 'echo x | awf-step --each g -- awf-step g -- cat | awf-step --require g go -- cat'
	recorded 3 -c 'echo x | awf-step --each g -- sh -c "awf-step check -- cat | jq -c \".data = 1\"" |
		awf-step --require g.check go -- cat'
	same "$(jq -r .metadata.error.code <<<"$output")" blocked
}

@test "groups in groups" {
	printf '1\n2\n' >items
	recorded 0 -c 'awf-step -i lines --each a -- awf-step --each a -- sh -c \
		"awf-step b -- cat | awf-step --each c -- awf-step b -- sed s/^/x/" | awf-step -i state last -r -- cat' <items
	same "$output" $'x1\nx2'
	same "$(jq -r 'select(.payload.name == "b" and .type == "step.started") | "\(.path) \(.payload.call)"' "$(transcript)" | sort)" \
		'a.a.b a:0:0/a:0:0/b:0:0
a.a.b a:0:1/a:0:0/b:0:0
a.a.c.b a:0:0/a:0:0/c:0:0/b:0:0
a.a.c.b a:0:1/a:0:0/c:0:0/b:0:0'
}

@test "a line of another run is data" {
	awf-run -n -c 'awf-step -n old -- echo then' >other
	recorded 0 -c 'awf-step -n --each g -- cat other | awf-step out -r -- cat'
	same "$output" then
	same "$(payloads step.completed 'select(.name == "g") | [.count, .result]')" '[1,[{"data":"then","metadata":{}}]]'
}

@test "lines among which something else stands fail the call" {
	recorded 3 -n -c 'awf-step -n --each g -- sh -c "awf-step a -- echo 1; echo and more"'
	same "$(jq -c '[.data, .metadata.error.code]' <<<"$output")" $'["1",null]\n[null,"invalid_input"]'
	[[ $(jq -r .metadata.error.message <<<"${lines[1]}") == 'stdout: byte '*': '* ]]
}

@test "a body that says nothing gives an empty text, or no line with -O lines" {
	run -0 awf-run -n -c 'awf-step -n --each g -- true | jq -c .data'
	same "$output" '""'
	run -0 awf-run -n -c 'awf-step -n -O lines --each g -- awf-step a -q -- true'
	same "$output" ''
}

@test "cancelled: every call in the group says so" {
	awf-run -n -c 'awf-step -n --each g -- awf-step a -- sh -c "touch there; sleep 60"' &
	eventually test -e there
	kill -TERM $!
	wait $! && false
	same "$(payloads step.completed '[.call, .error.code]' | sort | paste -sd' ')" \
		'["g:0:0","cancelled"] ["g:0:0/a:0:0","cancelled"]'
	same "$(payloads run.completed .status)" '"cancelled"'
	awf-verify -q
	awf-verify --determinism --isolation copy
}

@test "when nobody reads any more, the steps in it end" {
	run -0 --separate-stderr bash -c 'seq 1000 | awf-run -c "awf-step -i lines --each g -- awf-step a -- cat" | head -n 2 | jq -r .data'
	same "$output" $'1\n2'
	[[ $stderr != *failed* ]]
	same "$(payloads run.completed .error.code)" '"downstream_closed"'
	[ "$(calls | grep -c '^g:0:[0-9]*$')" -lt 900 ]
	awf-verify -q
}

@test "a group that has ended is not run again: its lines go out with tokens of the attempt" {
	printf '%s\n' '#!/bin/sh' 'echo x | awf-step --each g -- sh -c "echo run >>ran; awf-step check -- cat" |
		awf-step --require g.check go -r -- sh -c "test -e now && cat"' >flow.awf
	chmod +x flow.awf
	run -3 awf-run -n --id-file id ./flow.awf
	touch now
	run -0 --separate-stderr awf-run --resume "$(cat id)"
	same "$output" x
	same "$(cat ran)" run
	same "$(payloads step.completed 'select(.call == "g:0:0") | [has("result"), has("reused_from"), .count]')" \
		$'[true,false,1]\n[false,true,1]'
	awf-verify -q
	awf-verify --determinism --isolation copy
}

@test "a line that had no valid token has none when it goes out again" {
	printf '%s\n' '#!/bin/sh' 'echo x | awf-step --each g -- sh -c "awf-step check -- cat | jq -c .data=1" |
		awf-step -q pass -- test -e now
		jq -c .data=1 </dev/null
		echo y | awf-step --each h -- sh -c "awf-step check -- cat | jq -c .data=1" | awf-step --require h.check go -r -- cat' >flow.awf
	chmod +x flow.awf
	run -3 awf-run -n --id-file id ./flow.awf
	touch now
	run -3 awf-run --resume "$(cat id)"
	same "$(payloads step.completed 'select(.name == "go") | .error.code')" $'"blocked"\n"blocked"'
}

@test "a fork takes over what a group gave as its own" {
	printf '%s\n' '#!/bin/sh' 'echo x | awf-step --each g -- sh -c "echo run >>ran; awf-step a -- cat" |
		awf-step last -r -- cat' >flow.awf
	chmod +x flow.awf
	awf-run -n ./flow.awf
	run -0 awf-run -n --fork @ --at last ./flow.awf
	same "$output" x
	same "$(cat ran)" run
	awf-verify -q
	awf-verify --determinism --isolation copy
}

@test "what cannot be said together" {
	while IFS='|' read -r options message; do
		# shellcheck disable=SC2086
		run -1 --separate-stderr awf-step $options
		same "$stderr" "awf-step: $message"
		same "$output" ''
	done <<-'END'
		--each g|--each: only with a command, which is what is done each time
		--each -a x g|--each: only with a command, which is what is done each time
		--each -e g -- cat|-e: not with a group: what it runs reads the state line
		--each --effects none g -- cat|--effects: not with a group: its effects are those of the steps in it
		--each --max 2 g -- cat|--each: not with --max: it makes a loop of each item
		--each --into x -O lines g -- cat|--into: not with -O: there may be several results
	END
}

@test "--retries: what has changed something in the body is not done again" {
	printf '%s\n' '#!/bin/sh' 'echo x | awf-step --each --retries 2 --delay 1ms g -- sh -c "$1"' >flow.awf
	chmod +x flow.awf
	send='awf-step --effects external send -- tee -a ledger | awf-step -r flaky -- sh -c "echo >>tries; [ \$(wc -l <tries) -gt 1 ]"'
	run -3 --separate-stderr awf-run ./flow.awf "$send"
	[[ $stderr == *"not tried again, as g:0:0/send:0:0 has changed something"* ]]
	same "$(cat ledger)" x
	rm ledger tries
	run -0 awf-run ./flow.awf "${send/external/external,idempotent}"
	same "$(paste -sd' ' ledger)" "x x"
	rm ledger tries
	# What failed by itself has not, and is what is to be tried again.
	run -0 awf-run ./flow.awf 'awf-step --effects external send -- sh -c "tee -a ledger; [ -e ledger2 ] || { touch ledger2; exit 1; }"'
	same "$(paste -sd' ' ledger)" "x x"
	rm ledger
	printf '%s\n' '#!/bin/sh' 'awf-step --effects external send -- tee -a ledger' >child.awf
	chmod +x child.awf
	run -3 --separate-stderr awf-run ./flow.awf 'awf-run ./child.awf; exit 1'
	[[ $stderr == *"as send:0:0 has changed something"* ]]
	same "$(cat ledger)" x
}

@test "what was ended because nobody reads any more is no failure of the run" {
	run -141 --separate-stderr bash -c 'set -o pipefail
		seq 3 | awf-run -c "awf-step -i lines --each g -- sh -c \"awf-step -q a -- sh -c \\\"touch begun; sleep 5\\\"; cat\"" |
			{ until [ -e begun ]; do sleep 0.01; done; exec <&-; }'
	same "$(payloads step.completed '[.call, .error.code]' | paste -sd' ')" \
		'["g:0:0/a:0:0","cancelled"] ["g:0:0","downstream_closed"]'
	same "$(payloads run.completed .error.code)" '"downstream_closed"'
	[[ $stderr != *failed* ]]
}
