#!/usr/bin/env bats
# Many failures at once: three of a kind are printed, the others counted; --fail-fast.
# shellcheck disable=SC2154,SC2086 # bats sets stderr; words of $MODEL
bats_require_minimum_version 1.5.0
load ../../support/helpers

NO_KEY='anthropic: no API key: set ANTHROPIC_API_KEY'
MODEL='-m anthropic/claude-sonnet-4-5'

@test "30 items without a key are four lines" {
	run -3 --separate-stderr awf-step -i lines $MODEL -p 'x {{data}}' rev < <(seq 30)
	same "$stderr" "awf-step: rev: $NO_KEY
awf-step: rev[1] (\"2\"): $NO_KEY
awf-step: rev[2] (\"3\"): $NO_KEY
awf-step: rev: $NO_KEY … and 27 more like it"
	same "$(jq -c 'select(.type == "step.completed") | .payload.error.code' "$(transcript)" | sort | uniq -c | xargs)" '30 auth'
	# With several at a time, too; three are no more than three.
	run -3 --separate-stderr awf-step -i lines -j 4 $MODEL -p 'x {{data}}' rev < <(seq 4)
	[[ $stderr == *$'\n'"awf-step: rev: $NO_KEY … and 1 more like it" ]]
	run -3 --separate-stderr awf-step -i lines $MODEL -p 'x {{data}}' rev < <(seq 3)
	same "$(wc -l <<<"$stderr")" 3
	[[ $stderr != *more* ]]
}

# What is run tells so of its failures, in three lines, and the end of the run counts.
counts() {
	run --separate-stderr awf-run -n --name all -c "$1"
	same "$(sed '$d' <<<"$stderr" | sed 's/\[.*\]//; s/ ("[0-9]*")//g; s/rev:[0-9]*:[0-9]*/rev:0:0/')" "$(printf 'awf-step: rev: %s\n' "$NO_KEY" "$NO_KEY" "$NO_KEY")
awf-run: all: step rev:0:0 failed: $NO_KEY … and 27 more like it"
}

@test "failures of a run are counted over its processes" {
	counts "seq 30 | awf-step -q -i lines $MODEL -p x rev"
	# shellcheck disable=SC2016
	counts 'for i in $(seq 30); do awf-step -n -q '"$MODEL"' -p x rev; done'
	counts "seq 30 | xargs -P 4 -I{} awf-step -n -q $MODEL -p x rev"
}

@test "failures within calls are recorded whole, and printed three times" {
	run -3 --separate-stderr awf-run --name all -c "awf-step -q -i lines -j 4 --each g -- sh -c 'awf-step -q $MODEL -p x a'" < <(seq 30)
	same "$(grep -c '^awf-step: a: ' <<<"$stderr") $(grep -c '^awf-step: g.*: exit status' <<<"$stderr")" '3 3'
	[[ $stderr == *$'\n'"awf-run: all: a: $NO_KEY … and 27 more like it"$'\n'* ]]
	[[ $stderr == *"step g:0:"[0-3]*" failed: "*" … and 27 more like it"* ]]
	same "$(payloads step.completed 'select(.stderr != null) | .stderr' | sort | uniq -c | sed 's/^ *//')" "30 \"awf-step: a: $NO_KEY\\n\""
	# What others write passes as it is, whole lines or not.
	run -0 --separate-stderr awf-step -q -i lines g -- sh -c 'printf "awf-step: same\nother\nawf" >&2; printf "ul\n" >&2' < <(seq 5)
	same "$(grep -c '^other$' <<<"$stderr") $(grep -c '^awful$' <<<"$stderr") $(grep -c '^awf-step: same$' <<<"$stderr")" '5 5 3'
	[[ $stderr == *"awf-step: same … and 2 more like it" ]]
	run -0 --separate-stderr awf-step -n -q g -- sh -c 'printf "awf-step: cut off" >&2'
	same "$stderr" 'awf-step: cut off'
}

@test "kinds of failures are told apart, and those of an own run" {
	# shellcheck disable=SC2016
	run -3 --separate-stderr awf-run --name all -c 'awf-step -q -i lines two -- sh -c "read -r x; exit \$((x % 2 + 4))"' < <(seq 10)
	same "$(grep -c 'exit status 4' <<<"$stderr") $(grep -c 'exit status 5' <<<"$stderr")" '4 4'
	[[ $stderr == *"awf-run: all: two: sh: exit status 4 … and 2 more like it"$'\n'"awf-run: all: step two:0:0 failed: sh: exit status 5 … and 2 more like it"* ]]
}

@test "a run that is cancelled counts the calls that were" {
	patient
	: >begun
	seq 20 | awf-run --name all -c 'awf-step -q -i lines -j 20 g -- sh -c "echo x >>begun; sleep 60"' 2>told &
	pid=$!
	eventually sh -c '[ "$(wc -l <begun)" -eq 20 ]'
	kill $pid
	wait $pid || status=$?
	same "$status" 143
	same "$(grep -c '^awf-step: g' told)" 3
	grep -q '^awf-run: all: g: cancelled .* … and 17 more like it$' told
}

@test "a replay counts as the run did" {
	run -3 --separate-stderr awf-run --name all -c 'awf-step -q -i lines g -- false' < <(seq 8)
	run -0 --separate-stderr awf-replay --isolation copy
	[[ $stderr == *$'\n''awf-step: g: false: exit status 1 … and 5 more like it' ]]
}

@test "a masked run keeps nothing of its failures in its directory" {
	cat >mask <<'M'
#!/bin/sh
exec sed -u 's/s3cr3t/***/g'
M
	chmod +x mask
	# shellcheck disable=SC2016
	run -3 --separate-stderr awf-run --name all --mask ./mask -c 'awf-step -q -i lines g -- sh -c "cat \"\${AWF_TRANSCRIPT%/transcripts*}/runs/\$AWF_RUN_ID/failures\" >>kept 2>/dev/null; exec /nosuch/s3cr3t"' < <(seq 8)
	same "$(grep -c '^awf-step: g' <<<"$stderr")" 3
	[[ $stderr == *"awf-run: all: g: exit_status … and 5 more like it"* ]]
	grep -q 'g: exit_status' kept
	run ! grep -q s3cr3t kept
}

@test "with LC_ALL=C the count is ASCII" {
	run -3 --separate-stderr env LC_ALL=C awf-step -q -i lines g -- false < <(seq 8)
	[[ $stderr == *$'\n''awf-step: g: false: exit status 1 ... and 5 more like it' ]]
}

# A step of 40 items, of which one fails until there is a file "mended"; what was begun is in ledger.
flow() {
	cat >flow.awf <<F
#!/usr/bin/env -S awf-run --
seq 40 | awf-step -i lines $1 -O text s -r -- sh -c 'read -r x; echo \$x >>ledger; if [ ! -e mended ]; then
	[ \$x != 6 ] || { while [ ! -e going ]; do sleep 0.01; done; exit 4; }
	[ \$x != 1 ] || { [ "$1" = --fail-fast ] || { touch going; exec sleep 60; }; }; fi; echo \$x'
F
	chmod +x flow.awf
}

@test "--fail-fast begins no further item" {
	touch going
	flow --fail-fast
	run -3 --separate-stderr ./flow.awf
	same "$output" "$(seq 5)"
	[[ $stderr == 'awf-step: s[5] ("6"): sh: exit status 4
awf-step: s: --fail-fast: no further item is begun
awf-run: flow.awf: step s:0:5 ("6") failed: sh: exit status 4
awf-run: flow.awf: failed after '* ]]
	same "$(cat ledger)" "$(seq 6)"
	same "$(payloads step.completed 'select(.fail_fast) | .call')" '"s:0:5"'
	[[ $(awf-tail) == *'s[5] ("6") failed ('*'no further item is begun (--fail-fast))'* ]]
	awf-verify
	awf-verify --determinism --isolation copy
	# What a resume goes on with.
	touch mended
	run -0 --separate-stderr awf-run --resume @flow
	same "$output" "$(seq 40)"
	same "$(sort -n ledger | uniq -c | awk '{ print $1 }' | paste -sd' ')" "1 1 1 1 1 2 $(printf '1 %.0s' {1..33})1"
	run -0 awf-replay -q --isolation copy
}

@test "--fail-fast ends the calls that run" {
	flow '-j 4 --fail-fast'
	run -3 --separate-stderr ./flow.awf
	[[ $stderr == *'awf-step: s: --fail-fast: '*' ended, and no further item is begun'* ]]
	[[ $stderr == *'awf-run: flow.awf: step s:0:5 ("6") failed: sh: exit status 4'* ]]
	[[ $stderr != *'ended, as another'* ]]
	same "$(payloads step.completed 'select(.fail_fast) | .call')" '"s:0:5"'
	same "$(payloads step.completed 'select(.call == "s:0:0") | .error | [.code, .message]')" \
		'["cancelled","ended, as another item failed (--fail-fast)"]'
	[ "$(wc -l <ledger)" -lt 40 ]
	awf-verify
	awf-verify --determinism --isolation copy
	run -0 --separate-stderr awf-replay --isolation copy
	[[ $stderr == *'awf-step: s: --fail-fast: '*' ended, and no further item is begun'* ]]
	touch mended
	run -0 --separate-stderr awf-run --resume @flow
	same "$output" "$(seq 40)"
	same "$(sort -un ledger)" "$(seq 40)"
	run -0 awf-replay -q --isolation copy
}

# bats test_tags=turn:2
@test "a replay of --fail-fast begins no further item, whichever call ends last" {
	cat >flow.awf <<-'F'
		#!/usr/bin/env -S awf-run --
		seq 9 | awf-step -i lines -j 4 --fail-fast s -- sh -c 'read -r x
			[ $x = 1 ] || { touch going.$x; exec sleep 60; }
			until [ -e going.2 ] && [ -e going.3 ] && [ -e going.4 ]; do sleep 0.01; done; exit 4'
	F
	chmod +x flow.awf
	run -3 ./flow.awf
	same "$(payloads step.started .call | sort | xargs)" 's:0:0 s:0:1 s:0:2 s:0:3'
	# On one processor, all four answers are there before they are looked at, now and then.
	for _ in {1..20}; do taskset -c "$(taskset -cp $$ | grep -oE '[0-9]+$')" awf-replay -q --isolation copy; done
}

@test "--fail-fast of a group, after retries, in a run of its own" {
	run -3 --separate-stderr awf-step -i lines --each --fail-fast g -- sh -c 'awf-step one -- sh -c "read -r x; echo x >>tries; [ \$x != 2 ]"' < <(seq 5)
	same "$(wc -l <tries)" 2
	[[ $stderr == *'awf-step: g[1] ("2"): '*'awf-step: g: --fail-fast: no further item is begun' ]]
	rm tries
	run -3 --separate-stderr awf-step -i lines --fail-fast --retries 2 --delay 1ms g -- sh -c 'echo x >>tries; exit 1' < <(seq 5)
	same "$(wc -l <tries)" 3
	# What failed before, waits, or is only tried ends nothing, or only the step.
	run -3 awf-run -c 'seq 4 | awf-step -i lines a -- sh -c "read -r x; [ \$x != 1 ] && echo \$x" | awf-step --fail-fast b -r -- cat'
	[[ $output == *'2
3
4'* ]]
	run -75 awf-step -q --fail-fast -i lines --approve a < <(seq 3)
	same "$(payloads step.completed .error.code | sort | uniq -c | xargs)" '3 waiting'
	run -0 awf-run -c 'seq 4 | awf-step -q -i lines --try --fail-fast a -- false || echo told'
	same "${lines[-1]}" told
	same "$(payloads step.completed .call)" '"a:0:0"'
}

@test "--fail-fast does not wait for input, and its reader is told" {
	run -3 --separate-stderr timeout 20 awf-run -c 'yes | awf-step -i lines --fail-fast a -- false | awf-step -s b -r -- cat'
	same "$(payloads step.completed '[.name, .skipped // .error.code]')" '["a","exit_status"]
["b","upstream_failed"]'
	for words in '-s a -- cat' '-n a -- cat' '--allow-failure a -- cat' '--terminal failure a'; do
		run -1 awf-step --fail-fast $words <<<x
		[[ $output == 'awf-step: --fail-fast: not with '* ]]
	done
}

@test "--fail-fast ends agents that run, and a replay comes to the same" {
	printf '%s\n' '{"match":"1","turn":0,"blocks":[{"type":"text","text":"one"}],"delay_ms":0}' >answers.jsonl
	run -3 --separate-stderr awf-run --name agents -c 'printf "1\n2\n3\n" | awf-step -i lines -j 2 --fail-fast -m replay/answers.jsonl -p "say {{data}}" s -r'
	[[ $stderr == *'awf-step: s: --fail-fast: '* ]]
	awf-verify
	awf-verify --determinism --isolation copy
}

@test "the end of a run says by how much it has passed --max-cost" {
	mkdir -p "$XDG_CONFIG_HOME/awf"
	echo 'replay/* 0.90 0' >"$XDG_CONFIG_HOME/awf/prices"
	printf '%s\n' '{"type":"message","blocks":[{"type":"text","text":"hello"}],"stop_reason":"end_turn","usage":{"input_tokens":1000000,"output_tokens":0},"model":"m"}' >answer.jsonl
	step='awf-step -n -q -p hi -m replay/answer.jsonl'
	run -0 --separate-stderr awf-run -n --name one --max-cost 0.40 -c "$step ask"
	[[ $stderr == 'awf-run: one: done after '*', $0.9000, $0.5000 more than --max-cost' ]]
	run -0 --separate-stderr awf-run -n --max-cost 0.90 -c "$step ask"
	same "$stderr" ''
	run -3 --separate-stderr awf-run --name many --max-cost 0.50 -c "awf-step -i lines -q -p x -m replay/answer.jsonl ask" < <(seq 40)
	[ "$(wc -l <<<"$stderr")" -le 5 ]
	[[ $stderr == *'--max-cost'*' … and 36 more like it'*', $0.9000, $0.4000 more than --max-cost; to go on '* ]]
}
