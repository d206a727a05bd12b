#!/usr/bin/env bats
# awf-step --parallel: branches side by side, and what its strategies make of their ends.
# shellcheck disable=SC2016,SC2154 # $variables of inner shells; bats sets stderr
bats_require_minimum_version 1.5.0
load ../../support/helpers

prepare() { cd "$BATS_TEST_TMPDIR" || return 1; }

# Of a call's end or start in the latest run: PROGRAM CALL TYPE.
event() { jq -c "select(.type == \"step.$3\" and .payload.call == \"$2\") | $1" "$(transcript)"; }
ended() { event "$1" "$2" completed; }
started() { event "$1" "$2" started; }
# No process has one of these words in its command line.
none_left() { ! pgrep -f -- "$1" >/dev/null; }

@test "lines come out in the order of the branches, whoever is first" {
	run -0 --separate-stderr awf-run -c 'echo x | awf-step --parallel p -r -- \
		"sleep 0.3; echo a" "echo b" "sleep 0.1; awf-step in -- echo c" "jq -r .data"'
	same "$output" $'a\nb\nc\nx'
	same "$stderr" ''
	same "$(started .payload.strategy p:0:0)" '"all"'
	same "$(started .payload.kind p:0:0)" '"parallel"'
	same "$(started '[.payload.blocks[].command][1]' p:0:0)" '"echo b"'
	same "$(ended .payload.count p:0:0)" 4
	same "$(started .path p:0:0/p:0:2/in:0:0)" '"p.in"'
	# The end has its start as parent, and the ends of its branches in links, in order.
	same "$(ended .parent_event_id p:0:0)" "$(started .event_id p:0:0)"
	same "$(ended '.links[]' p:0:0)" "$(for b in 0 1 2 3; do ended .event_id "p:0:0/p:0:$b"; done)"
	same "$(started .iteration p:0:0/p:0:3)" 3
	run -0 awf-verify
}

# bats test_tags=turn:2
@test "the output does not depend on how many run at a time" {
	branches=()
	for i in $(seq 40); do branches+=("sleep 0.0$((RANDOM % 9)); echo $i"); done
	for j in 1 2 7 40; do
		same "$(awf-step -n --parallel -j "$j" many -r -- "${branches[@]}")" "$(seq 40)"
	done
	# -j 2 has two at a time.
	awf-step -n --parallel -j 2 two -q -- 'mkdir one && sleep 0.2; rmdir one' 'mkdir two && sleep 0.2; rmdir two' \
		'test "$(ls -d one two 2>/dev/null | wc -l)" -le 1'
}

@test "items of a stream come one after the other" {
	run -0 --separate-stderr awf-run -c 'seq 3 | awf-step -i lines --parallel p -r -- "sleep 0.1; jq -r .data" \
		"jq -r .data+\\\"b\\\""'
	same "$output" $'1\n1b\n2\n2b\n3\n3b'
	same "$(jq -rs '[.[] | select(.type == "step.completed") | .payload.call] | join(" ")' "$(transcript)" | tr ' ' '\n' | grep -c /)" 6
}

@test "all: the first failure stops the others, and their descendants" {
	run -3 --separate-stderr awf-run -c 'echo x | awf-step --parallel p -- "echo a" \
		"sh -c \"sleep 77.31; true\"; echo b" "sleep 0.2; echo no >&2; exit 4"'
	same "$(jq -c '[.data, .metadata.error.code, .metadata.error.message]' <<<"$output")" \
		'["x","exit_status","branch 2: /bin/sh: exit status 4: no"]'
	[[ $stderr == *'awf-step: p: branch 2: /bin/sh: exit status 4'* ]]
	same "$(ended .payload.error.code p:0:0/p:0:1)" '"cancelled"'
	same "$(ended .payload.error.code p:0:0/p:0:0)" null
	same "$(ended .payload.stderr p:0:0/p:0:2)" '"no\n"'
	none_left 'sleep 77.31'
	run -0 awf-verify
}

@test "all: branches that were not begun are not made" {
	run -3 awf-step -n --parallel -j 1 p -- 'exit 1' 'touch never'
	[ ! -e never ]
	same "$(started .payload.call p:0:0/p:0:1)" ''
}

@test "all: a branch that cannot be stopped is killed" {
	run -3 awf-run -c 'awf-step -n --parallel p -- "trap \"\" TERM; sleep 77.32; sleep 77.32" "sleep 0.1; exit 1"'
	same "$(ended .payload.error.code p:0:0/p:0:0)" '"cancelled"'
	none_left 'sleep 77.32'
}

@test "any: the first success stops the others; its lines alone go out" {
	run -0 --separate-stderr awf-run -c 'echo x | awf-step --parallel --strategy any p -r -- "exit 3" \
		"sleep 77.33; echo b" "sleep 0.1; awf-step in -- echo c" | cat'
	same "$output" c
	# A busy machine may be told of what still holds an output open.
	same "$(grep -v 'holds its output open' <<<"$stderr")" ''
	same "$(ended .payload.winner p:0:0)" 2
	same "$(ended .payload.error.code p:0:0/p:0:1)" '"cancelled"'
	same "$(started .payload.strategy p:0:0)" '"any"'
	none_left 'sleep 77.33'
	run -0 awf-verify
	same "$(jq -r 'select(.type == "run.completed").payload.status' "$(transcript)")" success
}

@test "any: if all fail, the first in order is the reason" {
	run -3 --separate-stderr awf-step -n --parallel --strategy any p -- 'sleep 0.1; exit 5' 'exit 4'
	same "$(jq -r .metadata.error.message <<<"$output")" 'branch 0: /bin/sh: exit status 5'
}

@test "best-effort: all lines in order, failures as error lines" {
	run -0 --separate-stderr awf-run -c 'echo x | awf-step --parallel --strategy best-effort p -- "exit 3" \
		"sleep 0.1; echo b" "awf-step in -- sh -c \"exit 6\"" "echo d"'
	same "$(jq -c '[.data, .metadata.error.code]' <<<"$output")" $'["x","exit_status"]\n["b",null]\n["x","exit_status"]\n["d",null]'
	[[ $stderr == *'awf-step: p: branch 0: /bin/sh: exit status 3'* ]]
	same "$(ended .payload.count p:0:0)" 4
	same "$(jq -r 'select(.type == "run.completed").payload.status' "$(transcript)")" success
	run -3 awf-step -n --parallel --strategy best-effort none -q -- 'exit 3' false
	# What failed goes on as any failed item.
	run -0 --separate-stderr awf-run -c 'echo x | awf-step --parallel --strategy best-effort p -- "exit 3" "echo b" |
		awf-step --rescue mend -- echo mended | jq -r .data'
	same "$output" $'mended\nb'
}

@test "a join after it records all its causes" {
	run -0 awf-run -c 'echo x | awf-step --parallel p -- "awf-step one -- echo 1" "awf-step two -- echo 2" "echo 3" |
		awf-step -s all -r -- jq -c .'
	same "$output" '["1","2","3"]'
	same "$(started '[.parent_event_id, .links[]?] | length' all:0:0)" 4
	for call in p:0:0/p:0:0/one:0:0 p:0:0/p:0:1/two:0:0 p:0:0/p:0:2; do
		same "$(started "[.links[] | select(. == $(ended .event_id "$call"))] | length" all:0:0)" 1
	done
	run -0 awf-run -c 'echo x | awf-step --parallel p -- "awf-step one -- echo 1" "awf-step two -- echo 2" |
		awf-step -s --by-name all -r -- jq -c .'
	same "$output" '{"one":"1","two":"2"}'
	run -0 awf-verify
}

@test "it composes: --rescue, --when, --into, --allow-failure, --try, -s, -o, -r, --retries, --timeout" {
	run -0 --separate-stderr awf-run -c 'echo x | awf-step a -- false | awf-step --rescue --parallel p -r -- "jq -r .data" "echo b"'
	same "$output" $'x\nb'
	run -0 awf-run -c 'echo x | awf-step --when false --parallel p -r -- "echo a"'
	same "$output" x
	run -0 awf-run -c 'echo x | awf-step --into k --parallel --strategy any p -r -- "echo a" "sleep 9"'
	same "$output" '{"input":"x","k":"a"}'
	run -0 --separate-stderr awf-run -c 'echo x | awf-step --allow-failure --parallel p -r -- "echo a" false'
	same "$output" null
	run -3 --separate-stderr awf-step -n --try --parallel p -- 'echo a' false
	same "$output" ''
	run -0 awf-run -c 'seq 2 | awf-step -i lines -s --parallel p -r -- "jq -c .data" "echo b"'
	same "$output" $'["1","2"]\nb'
	awf-step -n --parallel p -r -o out -- 'echo a' 'echo b'
	same "$(cat out)" $'a\nb'
	run -0 awf-step -n --retries 1 --delay 0s --parallel p -r -- 'echo a' 'rm again 2>/dev/null || { touch again; exit 1; }; echo b'
	same "$output" $'a\nb'
	run -3 awf-run -c 'awf-step -n --timeout 200ms --parallel p -- "echo a" "sleep 9"'
	same "$(ended .payload.error.code p:0:0)" '"timeout"'
	same "$(ended .payload.error.code p:0:0/p:0:1)" '"timeout"'
}

@test "groups in groups" {
	run -0 awf-run -c 'echo 0 | awf-step --parallel out -r -- \
		"awf-step --parallel in -- \"echo a\" \"echo b\"" \
		"awf-step --max 2 loop -- sh -c \"jq -r .data | tr 012 123\"" "echo c"'
	same "$output" $'a\nb\n2\nc'
	same "$(started .path out:0:0/out:0:0/in:0:0/in:0:1)" '"out.in"'
	run -0 awf-run -c 'echo x | awf-step --max 2 loop -r -- awf-step --parallel --strategy any p -- "jq -r .data+\\\"y\\\"" "sleep 9"'
	same "$output" xyy
	run -3 awf-run -c 'echo 0 | awf-step --parallel out -q -- "awf-step --parallel in -- \"sleep 77.34\" \"sleep 77.34\"" "sleep 0.3; exit 2"'
	none_left 'sleep 77.34'
	run -0 awf-verify
}

@test "a branch that waits stops none" {
	run -75 awf-run -c 'awf-step -n --parallel p -q -- "awf-step --approve ok" "sleep 0.3; touch done"' </dev/null
	[ -e done ]
	run -0 --separate-stderr awf-run -c 'awf-step -n --parallel --strategy any p -r -- "awf-step --approve ok" "sleep 0.3; echo b"' </dev/null
	same "$output" b
	for strategy in any best-effort; do
		run -75 --separate-stderr awf-run -c "awf-step -n --parallel --strategy $strategy p -q -- 'awf-step --approve ok' 'awf-step bad -- false'" </dev/null
		[[ "$stderr" == *"waits for a decision: awf-ctl approve p:0:0/p:0:0/ok:0:0 "* ]]
		same "$(jq -r 'select(.type == "run.completed").payload.status' "$AWF_STORAGE/latest")" waiting
		run -0 go_on_after approve p.ok @ </dev/null
	done
}

@test "wrong command lines" {
	while IFS='|' read -r arguments message; do
		# shellcheck disable=SC2086 # the arguments are words
		run -1 --separate-stderr awf-step $arguments
		same "$stderr" "awf-step: $message"
	done <<-'EOF'
	--parallel p|--parallel: only with a command, which is what is done each time
	--parallel p --|--: a command is missing after it
	--parallel --each p -- true|--parallel: not with --each
	--parallel --max 2 p -- true|--parallel: not with --max
	--strategy any p -- true|--strategy: only with --parallel
	--parallel --strategy an p -- true|--strategy: no such word 'an' (did you mean 'any'?)
	--parallel -e p -- true|-e: not with a group: what it runs reads the state line
	--parallel -a x p|--parallel: only with a command, which is what is done each time
	--parallel -j 0 p -- true|-j: 0 is not between 1 and 1024
	EOF
	run -0 awf-step --dry-run -n --parallel p -- 'echo a' 'echo b'
	same "$output" '{"branches":["echo a","echo b"],"input":null}'
}

@test "interrupted: branches are ended, and recorded as cancelled" {
	awf-run -c 'awf-step -n --parallel p -- "touch a; exec sleep 77.35" "touch b; sleep 77.36; true"' 3>&- &
	pid=$!
	eventually test -e a
	eventually test -e b
	kill -TERM "$pid"
	status=0
	wait "$pid" || status=$?
	same "$status" 143
	none_left 'sleep 77.3[56]'
	same "$(ended .payload.error.code p:0:0)" '"cancelled"'
	same "$(ended .payload.error.code p:0:0/p:0:1)" '"cancelled"'
	same "$(jq -r 'select(.type == "run.completed").payload.status' "$(transcript)")" cancelled
	run -0 awf-verify
}

@test "nobody reads the output any more: branches are ended" {
	run -0 awf-run -c 'awf-step -n --parallel p -- "echo a" "sleep 77.37" | sleep 0.3'
	same "$(ended .payload.error.code p:0:0)" '"downstream_closed"'
	none_left 'sleep 77.37'
	same "$(jq -r 'select(.type == "run.completed").payload.status' "$(transcript)")" success
}

@test "displays and projections" {
	awf-run -c 'awf-step -n --parallel --strategy any p -q -- "exit 3" "sleep 9" "sleep 0.1; awf-step in -- echo c"'
	run -0 awf-replay --tree
	same "$(sed -E 's/ \([^)]*\)//' <<<"${lines[1]}")" '└─ p parallel done: any of 3 branches'
	same "$(grep -o 'p\[.\] parallel' <<<"$output" | sort | paste -sd' ')" 'p[0] parallel p[1] parallel p[2] parallel'
	run -0 awf-tail
	same "$(sed 's/^ *[0-9:.]* *//' <<<"${lines[1]}")" 'p started (parallel, any of 3 branches)'
	for as in agent-event agentloom daemon-event interagent langgraph otlp runtime; do
		run -0 --separate-stderr awf-tail --as "$as"
		same "$stderr" ''
	done
}
