#!/usr/bin/env bats
# bats file_tags=turn:2
# awf-step --while, --until, --max: rounds. Deaths at random: tests/fault/groups.bats.
# shellcheck disable=SC2016,SC2154 # $variables of inner shells; bats sets stderr
bats_require_minimum_version 1.5.0
load ../../support/helpers

rounds() { payloads step.completed 'select(.call | test("^l:0:[0-9]+/l:0:[0-9]+$")) | [.call, .skipped, .error.code]'; }

# grow: a body that makes its text longer by one; long N: whether it has N characters.
prepare() {
	mkdir bin
	cat >bin/grow <<-'END'
		#!/bin/sh
		awf-step grow -- sed 's/^./&&/'
	END
	cat >bin/long <<-'END'
		#!/bin/sh
		jq -e ".data | length >= $1" >/dev/null
	END
	chmod +x bin/*
	export PATH="$PWD/bin:$PATH"
}

@test "--until: each round is made on what the one before gave, and the last one goes out" {
	export JQ=jq
	recorded 0 -c 'echo x | awf-step --until "long 4" l -- grow | awf-step out -r -- cat'
	same "$output" xxxx
	same "$(rounds)" '["l:0:0/l:0:0",null,null]
["l:0:0/l:0:1",null,null]
["l:0:0/l:0:2",null,null]'
	same "$(jq -r 'select(.type == "step.started" and .path == "l.grow").payload.call' "$(transcript)")" \
		'l:0:0/l:0:0/grow:0:0
l:0:0/l:0:1/grow:0:0
l:0:0/l:0:2/grow:0:0'
	same "$(payloads step.completed 'select(.condition) | [.call, .condition.until, .condition.outcome]')" \
		'["l:0:0/l:0:0","long 4",false]
["l:0:0/l:0:1","long 4",false]
["l:0:0/l:0:2","long 4",true]'
	same "$(payloads step.started 'select(.call == "l:0:0") | [.kind, .loop]')" '["while",{"until":"long 4","max":10}]'
}

@test "the causes of rounds: the round before, and what made the item" {
	echo x | awf-run -c 'awf-step --max 2 l -q -- grow'
	jq -c 'select(.type | startswith("step.")) | [.payload.call, .type[5:], .event_id, .parent_event_id, .links]' \
		"$(transcript)" >events
	id() { jq -r "select(.[0] == \"$1\" and .[1] == \"$2\")[2]" events; }
	same "$(jq -c 'select(.[0] == "l:0:0/l:0:0" and .[1] == "started") | .[3:]' events)" "[\"$(id l:0:0 started)\",null]"
	same "$(jq -c 'select(.[0] == "l:0:0/l:0:1" and .[1] == "started") | .[3:]' events)" \
		"[\"$(id l:0:0/l:0:0 completed)\",[\"$(id l:0:0/l:0:0/grow:0:0 completed)\"]]"
	same "$(jq -c 'select(.[0] == "l:0:0" and .[1] == "completed") | .[3:]' events)" \
		"[\"$(id l:0:0 started)\",[\"$(id l:0:0/l:0:1 completed)\"]]"
}

@test "--while is asked before a round; the round that is not made is skipped" {
	export JQ=jq
	recorded 0 -c 'echo x | awf-step --while "! long 3" l -- grow | awf-step out -r -- cat'
	same "$output" xxx
	same "$(rounds | tail -n 1)" '["l:0:0/l:0:2","condition",null]'
	same "$(payloads step.started 'select(.condition) | [.call, .condition]' | tail -n 1)" \
		'["l:0:0/l:0:2",{"while":"! long 3","outcome":false}]'
}

@test "no round at all: the item passes, as it is" {
	recorded 0 -c 'echo x | awf-step --while false l -r -- false'
	same "$output" x
	awf-run -c 'echo x | awf-step a -- cat | tee before | awf-step --while false l -- false' >after
	cmp before after
}

@test "both conditions" {
	recorded 0 -c 'echo x | awf-step --while "! long 3" --until "long 9" l -- grow | awf-step out -r -- cat'
	same "$output" xxx
	recorded 0 -c 'echo x | awf-step --while "! long 9" --until "long 3" l -- grow | awf-step out -r -- cat'
	same "$output" xxx
}

@test "--max alone counts rounds, which is no failure" {
	recorded 0 -c 'echo x | awf-step --max 3 l -- grow | awf-step out -r -- cat'
	same "$output" xxxx
}

@test "max_iterations: the call's input, and how many rounds there were" {
	recorded 3 -c 'echo x | awf-step --until false --max 2 l -- grow'
	same "$(jq -c '[.data, .metadata.call, .metadata.error]' <<<"$output")" \
		'["x","l:0:0",{"code":"max_iterations","message":"no end after 2 rounds (--max)"}]'
	recorded 3 -c 'echo x | awf-step --while true --max 2 l -- grow'
	same "$(jq -c '.metadata.error' <<<"$output")" '{"code":"max_iterations","message":"no end after 2 rounds (--max)"}'
	recorded 3 -c 'echo x | awf-step --until false l -- grow'
	same "$(jq -r '.metadata.error.message' <<<"$output")" 'no end after 10 rounds (--max)'
	recorded 0 -c 'echo x | awf-step --until false --max 2 l -- grow | awf-step --rescue -r last -- cat'
	same "$output" x
}

@test "--while is asked once more after the last round: it may have had its end" {
	recorded 0 -c 'echo x | awf-step --while "! long 3" --max 2 l -- grow | awf-step out -r -- cat'
	same "$output" xxx
}

@test "a round that fails fails the loop, with its error and the loop's input" {
	recorded 3 -c 'echo x | awf-step --until "long 9" l -- sh -c "grow | awf-step --when \"long 3\" bad -- false"'
	same "$(jq -c '[.data, .metadata.error]' <<<"$output")" \
		'["x",{"code":"exit_status","message":"round 1: false: exit status 1"}]'
	same "$(rounds)" '["l:0:0/l:0:0",null,null]
["l:0:0/l:0:1",null,"exit_status"]'
}

@test "a condition that fails is the round's failure" {
	recorded 3 -c 'echo x | awf-step --until "exit 2" l -- grow'
	same "$(jq -r .metadata.error.message <<<"$output")" 'round 0: the condition of --until ended with status 2'
	recorded 3 -c 'echo x | awf-step --while "exit 2" l -- grow'
	same "$(jq -r .metadata.error.message <<<"$output")" 'round 0: the condition of --while ended with status 2'
}

@test "a round gives exactly one item" {
	recorded 3 -c 'echo x | awf-step --max 2 l -- awf-step -O lines a -- printf "1\n2\n"'
	same "$(jq -c .metadata.error <<<"$output")" \
		'{"code":"invalid_input","message":"round 0 gave 2 items; a round gives one"}'
	recorded 3 -c 'echo x | awf-step --max 2 -O lines l -- awf-step -q a -- true'
	same "$(jq -r .metadata.error.message <<<"$output")" 'round 0 gave 0 items; a round gives one'
}

# bats test_tags=turn:2
@test "plain commands as bodies, with text, JSON, binary and big data" {
	recorded 0 -c 'echo x | awf-step --max 3 l -r -- jq -r ".data + \"y\""'
	same "$output" xyyy
	recorded 0 -c 'echo 1 | awf-step -i json -O json --until "jq -e \".data > 4\"" l -r -- jq ".data * 2"'
	same "$output" 8
	printf 'a\377\0b' >binary
	head -c 700000 /dev/zero | tr '\0' x >big
	printf 'no end' >plain
	for item in binary big plain; do
		recorded 0 -c 'awf-step --max 3 l -- awf-step a -- cat | awf-step out -o got -r -- cat' <"$item"
		cmp got "$item"
		recorded 0 -c 'awf-step --max 3 l -- cat | awf-step out -o got -r -- cat' <"$item"
		cmp got "$item"
	done
}

@test "--into, --when, --rescue, -s, --retries and -j with a loop" {
	printf 'x\ny\n' >items
	recorded 0 -c 'awf-step -i lines -j 2 --into long --max 2 l -- grow | jq -c .data' <items
	same "$output" $'{"input":"x","long":"xxx"}\n{"input":"y","long":"yyy"}'
	recorded 0 -c 'echo x | awf-step --when false --max 2 l -r -- false'
	same "$output" x
	recorded 0 -c 'echo x | awf-step bad -- false | awf-step --rescue --max 2 l -- grow | awf-step out -r -- cat'
	same "$output" xxx
	recorded 0 -c 'awf-step -i lines -s -O json --max 2 l -r -- jq -c ".data + [1]"' <items
	same "$output" '["x","y",1,1]'
	recorded 0 -c 'echo x | awf-step --retries 1 --delay 1ms --max 2 -q l -- sh -c "test -e once || { touch once; exit 1; }; grow"'
	same "$(payloads step.completed 'select(.retries) | [.call, (.retries | length)]')" '["l:0:0/l:0:0",1]'
}

@test "--timeout is of a round" {
	recorded 3 -c 'echo x | awf-step --timeout 300ms --max 3 l -- sh -c "read -r line; case \$line in *xxx*) sleep 60 ;; esac; printf %s\\\\n \"\$line\" | grow"'
	same "$(jq -r .metadata.error.code <<<"$output")" timeout
	same "$(rounds | tail -n 1)" '["l:0:0/l:0:2",null,"timeout"]'
}

@test "a condition that takes too long is not asked so again by a replay" {
	for condition in while until; do
		recorded 3 -c "echo x | awf-step --timeout 200ms --$condition 'sleep 60' l -- cat"
		same "$(jq -r .metadata.error.code <<<"$output")" timeout
	done
	recorded 3 -c "echo x | awf-step --timeout 200ms --when 'sleep 60' l -- cat"
	[ "$SECONDS" -lt 60 ]
}

@test "a gate takes what the last round has made" {
	recorded 0 -c 'echo x | awf-step --max 2 l -- cat | awf-step --require l out -r -- cat'
	same "$output" x
	recorded 0 -c 'echo x | awf-step --max 2 l -- grow | awf-step --require l.grow out -r -- cat'
	same "$output" xxx
}

@test "loops in loops, and in groups of each item" {
	recorded 0 -c 'echo x | awf-step --max 2 l -- awf-step --max 2 l -- grow | awf-step out -r -- cat'
	same "$output" xxxxx
	same "$(jq -r 'select(.payload.name == "grow" and .type == "step.started") | "\(.path) \(.payload.call)"' "$(transcript)" | tail -n 1)" \
		'l.l.grow l:0:0/l:0:1/l:0:0/l:0:1/grow:0:0'
	printf 'x\ny\n' >items
	recorded 0 -c 'awf-step -i lines --each g -- awf-step --until "long 3" l -- grow | awf-step out -r -- cat' <items
	same "$output" $'xxx\nyyy'
	awf-replay --tree >/dev/null
}

@test "cancelled: the loop, its round and the steps in it say so" {
	for signal in HUP TERM; do
		rm -f there
		awf-run -n -c 'awf-step -n --max 3 l -- awf-step a -- sh -c "touch there; sleep 60"' &
		eventually test -e there
		kill -"$signal" $!
		wait $! && false
		same "$(payloads step.completed '[.call, .error.code]' | sort | paste -sd' ')" \
			'["l:0:0","cancelled"] ["l:0:0/l:0:0","cancelled"] ["l:0:0/l:0:0/a:0:0","cancelled"]'
		same "$(payloads run.completed .status)" '"cancelled"'
		awf-verify -q
		awf-verify --determinism --isolation copy
	done
}

# A loop that is cut off in its third round.
cut_off() {
	printf '%s\n' '#!/bin/sh' "echo x | awf-step --until 'echo asked >>asked; long ${1:-5}' --max ${2:-10} l -- sh -c '
		awf-step count -- tee -a made | grow | awf-step --when \"long 4\" wait -- sh -c \"test -e now && cat\"' |
		awf-step out -r -- cat" >flow.awf
	chmod +x flow.awf
	run -3 awf-run -n --id-file id ./flow.awf
	same "$(cat made)" $'x\nxx\nxxx'
	same "$(wc -l <asked)" 2
}

@test "resume: no round is made twice, and conditions stand as they were answered" {
	cut_off
	touch now
	run -0 --separate-stderr awf-run --resume "$(cat id)"
	same "$output" xxxxx
	same "$(cat made)" $'x\nxx\nxxx\nxxxx'
	same "$(wc -l <asked)" 4
	awf-verify -q
	awf-verify --determinism --isolation copy
}

@test "resume: another condition makes another loop" {
	cut_off
	touch now
	sed -i 's/long 5/long 4/' flow.awf
	run -0 --separate-stderr awf-run --resume "$(cat id)"
	same "$output" xxxx
}

@test "resume: with a greater --max a loop goes on after its last round" {
	printf '%s\n' '#!/bin/sh' "echo x | awf-step --until 'long 4' --max 2 l -- sh -c 'awf-step count -- tee -a made | grow' |
		awf-step out -r -- cat" >flow.awf
	chmod +x flow.awf
	run -3 awf-run -n --id-file id ./flow.awf
	sed -i 's/max 2/max 3/' flow.awf
	run -0 --separate-stderr awf-run --resume "$(cat id)"
	same "$output" xxxx
	same "$(cat made)" $'x\nxx\nxxx'
}

@test "displays tell rounds from their loop" {
	awf-run -c 'printf "a\\nb\\n" | awf-step -i lines --max 2 l -q -- grow'
	run -0 awf-replay --tree
	same "$(sed 's/ *(.*//; s/^[^a-z]*//' <<<"$(tail -n +2 <<<"$output")" | paste -sd,)" \
		"$(printf '%s,' 'l while done' 'l[0] while done' 'grow command done' 'l[1] while done' 'grow command done' \
			'l[1] while done' 'l[1][0] while done' 'grow command done' 'l[1][1] while done' 'grow command done' | sed 's/,$//')"
	same "$(awf-tail | sed -n 's/^ *[0-9:.]* \( *l[^ ]* started\).*/\1/p')" "  l started
    l[0] started
    l[1] started
  l[1] started
    l[1][0] started
    l[1][1] started"
}

@test "what cannot be said together" {
	while IFS='|' read -r options message; do
		# shellcheck disable=SC2086
		run -1 --separate-stderr awf-step $options
		same "$stderr" "awf-step: $message"
		same "$output" ''
	done <<-'END'
		--until true l|--until: only with a command, which is what is done each time
		--while true -t tool l|--while: only with a command, which is what is done each time
		--max 3 -a x l|--max: only with a command, which is what is done each time
		--max 0 l -- cat|--max: 0 is not between 1 and 1000000000
		--max x l -- cat|--max: 'x' is not a whole number
		--until true -e l -- cat|-e: not with a group: what it runs reads the state line
		--until true --effects none l -- cat|--effects: not with a group: its effects are those of the steps in it
	END
}
