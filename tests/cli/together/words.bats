#!/usr/bin/env bats
# What the programs say to a person: what happened, where, and how to go on.
# shellcheck shell=bash disable=SC2016,SC2154
load ../../support/helpers
bats_require_minimum_version 1.5.0

# The beginning of the latest run's id that is named to people.
short() { basename "$(transcript)" | cut -c 1-8; }
untimed() { sed -E 's/(after )[0-9.]+m?s/\1_/' <<<"$stderr"; }

@test "a failure says which run it is and how it goes on; a success says nothing" {
	run -3 --separate-stderr awf-run -n --name nightly -c 'awf-step -n -q a -- true; awf-step -n -q b -- sh -c "echo disk full >&2; exit 2"'
	same "$(untimed)" "disk full
awf-step: b: sh: exit status 2: disk full
awf-run: nightly: step b:0:0 failed: sh: exit status 2: disk full
awf-run: nightly: failed after _; to go on from there: awf-run --resume $(short)"
	run -3 --separate-stderr awf-run --resume "$(short)"
	same "$(untimed | tail -n 1)" "awf-run: nightly: failed after _; to go on from there: awf-run --resume $(short)"
	run -0 --separate-stderr awf-run -n -c 'awf-step -n -q a -- true'
	same "$output$stderr" ''
}

@test "a failure shows the last lines of the stderr of the call that failed, harmless" {
	run -3 --separate-stderr awf-run -n --name map -c 'seq 40 | awf-step -i lines -q -j 20 map -- sh -c '\''
		read -r x; seq 3 >&2; test "$x" != 7 || { seq -f "line %.0f" 9 >&2; printf "\033[31mred\n\n" >&2; exit 4; }'\'
	same "$(untimed | tail -n 7)" "awf-run: map: step map:0:6 (\"7\") failed: sh: exit status 4: red
  | line 6
  | line 7
  | line 8
  | line 9
  | \x1b[31mred
awf-run: map: failed after _; to go on from there: awf-run --resume $(short)"
}

@test "a group shows what failed in it wrote; a text in a blob is shown too; what is recorded of a run inside has neither" {
	run -3 --separate-stderr awf-run -n --name loop -c 'awf-step -n -q --until false --max 2 refine -- sh -c "
		awf-step -n -q a -- sh -c \"yes deep | head -n 60000 >&2; exit 2\""'
	same "$(untimed | tail -n 3)" "  | deep
  | deep
awf-run: loop: failed after _; to go on from there: awf-run --resume $(short)"
	run -3 --separate-stderr awf-run -n -c 'awf-step -n -q outer -- awf-run -n -c "awf-step -n -q a -- sh -c \"echo no >&2; exit 1\""'
	same "$(jq -r 'select(.path == "outer" and .type == "step.completed").payload.stderr' "$(transcript)" | sed -n '/^awf-run/,$p')" \
		'awf-run: pipeline: step a:0:0 failed: sh: exit status 1: no'
}

@test "a step at a prompt shows its data; a second one behind it says that it is another run" {
	command -v script >/dev/null || skip 'script is not installed'
	at_prompt() { script -qec "$1" /dev/null | tr -d '\r'; }
	same "$(at_prompt 'seq 2 | awf-step -i lines -O json double -- jq ". * 2"')" $'2\n4'
	awf-verify
	same "$(at_prompt 'awf-step -n a -- echo y')" y
	awf-replay -q --isolation copy >/dev/null
	same "$(at_prompt 'awf-step -n a -- echo x | awf-step b -- cat')" "x
awf-step: b: its input is of another run, and this is a run of its own: awf-run -c 'awf-step … | awf-step …' makes one of all"
	output=$(at_prompt 'awf-step -n a -- echo x | awf-step b -- cat | cat')
	[[ $output == *'{"data":"x",'* && $output == *'another run'* ]]
	same "$(at_prompt 'awf-step -n -o out a -- echo x')" ''
	[[ $(<out) == '{"data":"x",'* ]]
	run -0 --separate-stderr sh -c 'awf-step -n a -- echo x | awf-step b -- cat'
	same "$stderr" ''
}

@test "no way on is named where there is none" {
	while IFS='|' read -r options text words; do
		# shellcheck disable=SC2086
		run --separate-stderr awf-run -n $options -c "$text"
		same "${stderr_lines[-1]}" "$words"
	done <<-'END'
		|exit 7|awf-run: pipeline: exit status 7
		--no-transcript|awf-step -n -q a -- false|awf-run: pipeline: step a:0:0 failed: false: exit status 1
		--mask cat|awf-step -n -q a -- false|awf-run: pipeline: step a:0:0 failed: false: exit status 1
	END
}

@test "what fails inside of another run goes on with that" {
	run -3 --separate-stderr awf-run -n --name outer -c 'awf-run -n --name inner -c "awf-step -n -q a -- false"'
	same "$(grep -c -- --resume <<<"$stderr")" 1
	same "$(untimed | tail -n 1)" "awf-run: outer: failed after _; to go on from there: awf-run --resume $(short)"
}

@test "so much of the id is named as no other run has" {
	run -3 --separate-stderr awf-run -n -c 'awf-step -n -q a -- false'
	id=$(basename "$(transcript)" .jsonl)
	cp "$(transcript)" "$AWF_STORAGE/transcripts/${id:0:9}$(tr 0-9a-f 1-9a-f0 <<<"${id:9}").jsonl"
	run -3 --separate-stderr awf-run --resume "$id"
	same "$(untimed | tail -n 1)" "awf-run: pipeline: failed after _; to go on from there: awf-run --resume ${id:0:10}"
	run -3 --separate-stderr awf-run --resume "${id:0:10}"
}

@test "a decision says what was decided, and what goes on now" {
	local verdict words
	while IFS='|' read -r verdict words; do
		run -75 --separate-stderr awf-run -n -c 'echo x | awf-step --approve a -q; echo y | awf-step --approve b -q'
		run -0 --separate-stderr awf-ctl "$verdict" a </dev/null
		same "$stderr" "awf-ctl: a:0:0: $words; the run goes on with: awf-run --resume $(short) (1 more waits)"
		run -0 --separate-stderr awf-ctl "$verdict" b </dev/null
		same "$stderr" "awf-ctl: b:0:0: $words; the run goes on with: awf-run --resume $(short)"
	done <<-'END'
		approve|approved
		deny|denied
	END
	run -75 --separate-stderr awf-run -n -c 'echo x | awf-step --approve a -q'
	run -0 --separate-stderr go_on_after approve a @
	[[ $stderr == "awf-ctl: a:0:0: approved; the run goes on with: awf-run --resume "* ]]
}

@test "what was probably meant is said" {
	local input options words
	while IFS='|' read -r input options words; do
		eval "run --separate-stderr awf-step -q $options" <<<"$input"
		[ "$status" != 0 ]
		same "${stderr_lines[-1]}" "awf-step: $words"
	done <<-'END'
		x|--parallel p -- awf-step a -- cat|--parallel: each word after -- is a branch of its own: quote each, as in -- 'awf-step a -- cat' 'awf-step b -- wc -w'
		x|w -- "wc -w"|w: wc -w: command not found: its words are quoted together (a line for the shell is run by sh -c, or awf-run -c)
		x|w -- wc-w|w: wc-w: command not found
		{"x":1}|--when .data.x w -- cat|w: the condition of --when ended with status 127: it is a shell command that reads the state line, such as jq -e .data
		{"x":1}|--when 'exit 127' w -- cat|w: the condition of --when ended with status 127
		{"x":1}|--when 'jq -e .data.x 2>&-' w -- cat|w: the condition of --when ended with status 5: the data is text that looks like JSON; -i json
		{"x":1}|--until 'jq -e .data.x 2>&-' w -- cat|w: round 0: the condition of --until ended with status 5: the data is text that looks like JSON; -i json
		{"x":1}|-m anthropic/x -p "{{data.x}}" w|w: -p: {{data.x}} is missing: the data is text that looks like JSON; -i json
		x|-m anthropic/x -p "{{data.x}}" w|w: -p: {{data.x}} is missing in the input ({{data.x?}} may be)
		x|-m anthropic/x -p "{{inputs.topic}}" w|w: -p: {{inputs.topic}} is missing: awf-run --input topic=VALUE names it ({{inputs.topic?}} may be missing)
		x|-p hello w|-p: no model is to be asked: say -m PROVIDER/MODEL, or -a AGENT, or set AWF_MODEL
	END
}

@test "a prompt alone is for the model that AWF_MODEL names" {
	export AWF_MODEL=anthropic/some
	run -0 --separate-stderr awf-step --dry-run -n -p hello w
	same "$(jq -r '.request.model // .model' <<<"$output")" some
	run -1 --separate-stderr awf-step -n w
	same "$stderr" "awf-step: w: nothing to do: say -- command, -a AGENT, -m MODEL, -t TOOL, --approve or --ask"
	run -1 --separate-stderr awf-step -p hello w -- cat
	same "$stderr" "awf-step: -p: only with -a or -m"
}

@test "what is behind a step that waits waits too; what is behind one that failed does not" {
	local step words
	while IFS='|' read -r step words; do
		run awf-run -c "echo x | $step | awf-step b -- cat | awf-step c -q -- cat"
		same "$(awf-tail | grep -oE ' [bc] (waiting|skipped).*' | sed 's/([^)]*)//' | paste -sd,)" "$words"
	done <<-'END'
		awf-step --approve ok| b waiting : for the step before it, c waiting : for the step before it
		awf-step ok -- false| b skipped : upstream_failed, c skipped : upstream_failed
	END
}

@test "which item failed is told by its data, wherever it came from" {
	run -3 --separate-stderr awf-run -c 'awf-step -i lines fetch -- cat | awf-step map -q -- sh -c "read -r x; [ \$x != 137 ]"' < <(seq 136 138)
	same "${stderr_lines[0]}" 'awf-step: map[1] ("137"): sh: exit status 1'
	same "${stderr_lines[1]}" 'awf-run: pipeline: step map:0:1 ("137") failed: sh: exit status 1'
	run -0 awf-tail
	[[ $output == *'  map[1] ("137") failed ('* ]]
	run -0 awf-tail --errors
	[[ ${lines[0]} == *'  map[1] ("137") failed ('* ]]
	run -0 awf-tail --path map --type step.completed
	[[ $output == *'  map[1] ("137") failed ('* ]]
	run -3 --separate-stderr awf-run -c 'awf-step -i json -q map -- sh -c "read -r x; [ \$x != 137 ]"' < <(seq 136 138)
	same "${stderr_lines[1]}" 'awf-run: pipeline: step map:0:1 (137) failed: sh: exit status 1'
	run -0 awf-tail --errors
	[[ ${lines[0]} == *'  map[1] (137) failed ('* ]]
}

@test "an item of a child run is told by its data" {
	cat >child.awf <<-'END'
		awf-step -i lines -q say -- sh -c 'read -r x; [ "$x" != two ]'
	END
	run -3 --separate-stderr awf-run -c 'awf-run child.awf' < <(printf 'one\ntwo\n')
	[[ $stderr == *'step say:0:1 ("two") failed: '* ]]
	run -0 awf-tail -R --errors
	[[ $output == *'  say[1] ("two") failed ('* ]]
}

@test "rounds and branches have their number alone; what may be masked is not told" {
	run -3 --separate-stderr awf-run -n -c 'awf-step -n -q --parallel p -- true false'
	run -0 awf-tail --errors
	[[ ${lines[0]} == *' p[1] failed ('* ]]
	run -3 --separate-stderr awf-run --mask 'sed -u s/secret/masked/g' -c 'awf-step -i lines -q a -- false' < <(printf 'x\nsecret\n')
	same "${stderr_lines[1]}" 'awf-step: a[1]: false: exit status 1'
	[[ $stderr != *secret* ]]
	run -0 awf-tail --errors
	[[ $output == *' a[1] ("masked") failed ('* ]]
}

@test "what is recorded of a failed item within a call has its data once" {
	run -3 --separate-stderr awf-run -n -c 'awf-step -n -q g -- sh -c "seq 2 | awf-step -i lines -q a -- false"'
	[[ $stderr == *'awf-step: a[1]: false: exit status 1'* ]]
	run -0 awf-tail --errors
	[[ $output == *' a[1] ("2") failed ('* ]]
	echo 'awf-step -i lines -q a -- sh -c "read -r x; [ \$x = 1 ]"' >child.awf
	run -3 --separate-stderr awf-run -c 'awf-step -q g -- awf-run child.awf' < <(seq 2)
	[[ $stderr == *'awf-run: child.awf: step a:0:1 failed: '* ]]
}
