#!/usr/bin/env bats
# Why something failed is told in its own words wherever a failure is summed up: the line of stderr
# that says it, and not its exit status alone.
# shellcheck disable=SC2016,SC2154 # $variables of inner shells; bats sets stderr
bats_require_minimum_version 1.5.0
load ../../support/helpers

@test "every summary of a failed run has the last words of what failed" {
	run -3 --separate-stderr awf-run -n --name fetch -c 'awf-step -n get -q -- sh -c "echo no database >&2; exit 4"'
	grep -q 'awf-run: fetch: step get:0:0 failed: sh: exit status 4: no database' <<<"$stderr"
	same "$(jq -r 'select(.payload.error).payload.error.message' "$(transcript)" | sort -u)" 'sh: exit status 4: no database'
	awf-tail --list --json | jq -e '.error.message == "sh: exit status 4: no database"'
	for display in --json --errors --full; do
		awf-tail "$display" >told
		grep -q "no database" told
	done
}

@test "ten failures read differently, and a nested one has its cause" {
	for i in 1 2 3; do awf-run -n --name "n$i" -c "awf-step -n a -q -- sh -c 'echo cause $i >&2; exit 4'" || [ $? = 3 ]; done
	same "$(awf-tail --list --json | jq -r .error.message | sort -u | wc -l)" 3
	run -3 awf-run -n --name outer -c 'awf-step -n in -q -- awf-run -n --name inner -c "awf-step -n deep -q -- sh -c \"echo deeper >&2; exit 3\""'
	awf-tail --list --json | jq -e 'select(.name == "outer").error.message | endswith("deeper")'
}

# The error of the run of a command line, after the last line that its programs print on stderr.
reason_of() {
	run -3 --separate-stderr awf-run -n --name why -c "$1"
	awf-tail --list --json -n 1 | jq -r .error.message
}

@test "last words stand behind a time limit, a condition, a launcher that went and a tool that prints its complaint" {
	same "$(reason_of 'awf-step -n -q --timeout 200ms get -- sh -c "echo waiting for the lock >&2; sleep 60"')" \
		'sh: timed out after 200ms: waiting for the lock'
	awf-verify --determinism
	same "$(reason_of 'awf-step -n -q --when "echo no table >&2; exit 9" get -- true')" 'the condition of --when ended with status 9: no table'
	printf '#!/bin/sh\nprintf "ssh: no host build\\r\\n" >&2; exit 255\n' >launch
	chmod +x launch
	same "$(reason_of 'awf-step -n -q --via ./launch get -- true')" \
		'true: the launcher ended (exit status 255) before awf-exec answered: the command was not started: ssh: no host build'
	same "$(reason_of 'echo "{\"command\": \"echo one; echo disk full >&2; exit 7\"}" | awf-step -i json -q -t bash get')" \
		'bash: exit status 7: disk full'
	awf-replay --tree | grep -qF 'bash failed'
	awf-replay --tree | grep -qF 'disk full; asked {"command":"echo one; echo disk full >&2; exit 7"}'
}

@test "the lines of a failure are shown without what ends them on a terminal, and one alone not twice" {
	run -3 --separate-stderr awf-run -n --name why -c 'awf-step -n -q get -- sh -c "printf \"one\\r\\ntwo\\r\\n\" >&2; exit 3"'
	grep -qx '  | one' <<<"$stderr"
	grep -qx '  | two' <<<"$stderr"
	run -3 --separate-stderr awf-run -n --name why -c 'awf-step -n -q get -- sh -c "printf \"\\033[31mtwo\\033[0m\\r\\n\" >&2; exit 3"'
	run ! grep '^  | ' <<<"$stderr"
}

@test "what a replay may have otherwise takes no part in the comparison" {
	awf-run -n -c 'set +e; awf-step -n --try in -q -- awf-run -n --name inner -c "awf-step -n deep -q -- sh -c \"echo deeper >&2; exit 3\""; true'
	awf-verify --determinism
}

@test "a step that is refused before it begins is the one cause that a pipeline tells" {
	run -3 --separate-stderr awf-run --name chain -c 'echo hi | awf-step -a nobody.md first | awf-step -a alike.md second | awf-step third -r -- cat'
	same "$output" ''
	same "$(grep -c '^awf-step: ' <<<"$stderr")" 2 # each that is refused says why
	run ! grep 'no input' <<<"$stderr"
	run -3 --separate-stderr awf-run --name chain -c 'echo hi | awf-step -a nobody.md first | awf-step second -- cat | awf-step third -r -- cat'
	same "$(grep -c '^awf-step: ' <<<"$stderr")" 1
	grep -q '^awf-run: chain: step first:0:0 failed: nobody.md: not found' <<<"$stderr"
	same "$(jq -r 'select(.payload.skipped == "upstream_failed").payload.call' "$(transcript "$(awf-tail --list --json -n 1 | jq -r .run_id)")")" $'second:0:0\nthird:0:0'
	# The error reaches whoever reads the pipeline, but for -q.
	same "$(awf-run --name chain -c 'echo hi | awf-step -a nobody.md first' 2>/dev/null | jq -r .metadata.error.code)" definition
	same "$(awf-run --name chain -c 'echo hi | awf-step -q -a nobody.md first' 2>/dev/null)" ''
}

@test "a step whose command line is wrong, or that its run refuses, is the cause that is told, wherever its NAME stands" {
	# COMMAND LINE of the first step, its name, the message
	while IFS='|' read -r line name message; do
		run -3 --separate-stderr awf-run --name chain -c "echo hi | $line | awf-step second -r -- cat"
		same "$(grep -c '^awf-step: ' <<<"$stderr")" 1
		grep -qF "awf-run: chain: step $name:0:0 failed: $message" <<<"$stderr"
		same "$(awf-tail --list --json -n 1 | jq -r .error.message)" "$message"
		awf-replay --tree | grep -q 'second command skipped: upstream_failed'
		awf-verify
	done <<-'END'
		awf-step --approve --wait=60 first|first|--wait: unknown option (see --help)
		awf-step --wait 60 first -q -- cat|first|--wait: unknown option (see --help)
		awf-step first -Z -- cat|first|-Z: unknown option (see --help)
		awf-step first other -- cat|first|other: one NAME only (a command goes after --)
		awf-step -i xml first -- cat|first|-i: 'xml' is none of auto, text, lines, nul, json, state
		awf-step -s -n first -- cat|first|-s: not with -n: there are no items
	END
	printf '%s\n' '{"type":"message","blocks":[],"stop_reason":"end_turn","usage":{},"model":"m"}' >a.jsonl
	run -3 --separate-stderr awf-run --max-cost 1 --name chain -c 'echo hi | awf-step -m replay/a.jsonl -p x first | awf-step second -r -- cat'
	awf-tail --list --json -n 1 | jq -e '.error.message | startswith("--max-cost: no price of replay/a.jsonl is known")'
	# Without a name nothing can be recorded.
	run -1 --separate-stderr awf-run --name chain -c 'echo hi | awf-step --nothing | awf-step second -r -- cat'
	same "$(awf-tail --list --json -n 1 | jq -r .error.code)" no_input
}
