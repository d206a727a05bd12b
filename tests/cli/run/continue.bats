#!/usr/bin/env bats
# What ends a run from outside: nothing of it begins any more, and --continue goes on with it.
# shellcheck shell=bash disable=SC2016
load ../../support/helpers
bats_require_minimum_version 1.5.0

events() { jq -c "select(.type == \"$1\")$2" "$(transcript)"; }
status_of_run() { jq -r 'select(.type == "run.completed").payload.status' "$(transcript)" | tail -n 1; }

# Starts ./flow with these options in the background, and waits until its step is there.
begin() {
	rm -f ready
	awf-run --name flow "$@" ./flow <&0 2>>errors 3>&- &
	started=$!
	eventually test -e ready
}

# By a signal, and waits for the end.
stop() {
	kill "-$1" "$started"
	wait "$started" || true
}

# How many runs there are, and how the latest ended.
runs() { echo "$(ls "$AWF_STORAGE/transcripts" | wc -l) $(status_of_run)"; }

@test "from the first signal on no step and no child begins, but --cleanup works" {
	cat >flow <<-'END'
		trap 'awf-step --cleanup -n c -q -- touch cleaned
			awf-step -n e --effects external -q -- touch effect
			awf-run -n -c "touch child"' TERM
		awf-step -n a -q -- sh -c 'touch ready; sleep 9'
		awf-step -n late -q -- touch late
	END
	begin -n
	stop TERM
	[ -e cleaned ]
	[ ! -e effect ]
	[ ! -e child ]
	[ ! -e late ]
	grep -q "awf-step: e: not started: the run is being ended" errors
	same "$(events step.started .payload.name | tr -d '\n')" '"a""c"'
}

@test "what begins in a child run after its parent's time is over is nothing either" {
	cat >flow <<-'END'
		trap "" TERM
		awf-run -n -c 'trap "awf-step -n e -q -- touch effect" TERM; awf-step -n a -q -- sleep 9'
	END
	run -124 awf-run -n --timeout 0.3 ./flow
	[ ! -e effect ]
}

@test "from the first signal on nothing begins in a call whose time is over; its next try is whole" {
	cat >body <<-'END'
		trap 'awf-step --cleanup -n c -q -- touch "cleaned$(cat tries)"
			awf-step -n e --effects external -q -- touch effect
			awf-run -n -c "touch child"' TERM
		echo x >>tries
		awf-step -n --each inner -- sh -c 'awf-step -n begun -q -- touch begun
			test "$(wc -l <tries)" -gt 1 || { trap "awf-step -n deep -q -- touch deep" TERM; sleep 9; }'
		awf-step -n late -- echo late
	END
	echo 'awf-step -n --timeout 0.5 --retries 1 --each g -- sh ./body | awf-step other -q -- touch other' >flow
	run -0 awf-run -n --name flow sh ./flow
	same "$(wc -l <tries)" 2
	[ -e cleanedx ]
	[ ! -e effect ]
	[ ! -e child ]
	[ ! -e deep ]
	[ -e other ]
	[[ $output == *"awf-step: e: not started: the call around it is being ended"* ]]
	[[ $output == *"not started: the call around it is being ended"* ]]
	same "$(ls "$AWF_STORAGE/runs")" ''
}

@test "nothing begins in a branch that is not needed any more" {
	run -0 awf-run -n --name flow -c "awf-step -n --parallel --strategy any p -- \
		'trap \"awf-step -n e -q -- touch effect\" TERM; awf-step -n s -q -- sh -c \"touch ready; sleep 9\"' \
		'awf-step -n w -- sh -c \"until [ -e ready ]; do sleep 0.01; done; echo won\"' | awf-step end -q -- touch end"
	[ ! -e effect ]
	[ -e end ]
}

@test "--continue goes on after SIGTERM, SIGHUP and the death of the guardian, not after SIGINT or a time limit" {
	echo 'awf-step -n once -q -- sh -c "echo x >>once"
		awf-step -n a -q -- sh -c "test -e go || { touch ready; sleep 9; }"' >flow
	begin -n
	stop TERM
	same "$(runs)" "1 cancelled"
	begin -n --continue
	stop HUP
	same "$(runs)" "1 cancelled"
	begin -n --continue
	kill -9 "$(pgrep -P "$started" | head -n 1)"
	wait "$started" || true
	same "$(runs)" "1 failed"
	touch go
	run -0 awf-run --name flow -n --continue ./flow
	same "$(runs) $(cat once)" "1 success x"
	rm go
	run -124 awf-run --name flow -n --timeout 0.2 ./flow
	touch go
	run -0 awf-run --name flow -n --continue ./flow
	same "$(runs)" "3 success"
}

@test "--continue refuses another standard input than the run has, and names both" {
	echo 'cat >got; test -e go || { touch ready; sleep 9; }; cat got' >flow
	echo monday >monday
	echo tuesday >tuesday
	begin <monday
	kill -9 "$started"
	wait "$started" || true
	local id
	id=$(basename "$(transcript)" .jsonl)
	touch go
	run -125 --separate-stderr awf-run --name flow --continue ./flow <tuesday
	same "$output" ""
	[[ "$stderr" == *"standard input is another than that of the run $id, which was kept as $AWF_STORAGE/inputs/$id"* ]]
	run -125 --separate-stderr awf-run --name flow --continue ./flow < <(cat tuesday)
	run -125 --separate-stderr awf-run --name flow --continue ./flow < <(cat monday monday)
	run -0 --separate-stderr awf-run --name flow --continue ./flow < <(cat monday)
	same "$output" monday
	same "$(runs)" "1 success"
}

# bats test_tags=turn:2
@test "what a step would have begun in while its run is being ended has not succeeded, whatever a filter makes of it" {
	local wait='touch there; until test -e go; do sleep 0.05; done;' body
	for body in 'awf-step -n m -- echo x | cat' 'awf-step --try -n m -- echo x | cat' \
		"awf-run -c 'awf-step -n m -- echo x' | cat" "awf-run --try -c 'awf-step -n m -- echo x' | cat"; do
		printf '%s\n' "$wait $body" >body.sh
		for flow in 'awf-step -n --each g -- sh ./body.sh | awf-step -r z -- cat' 'sh ./body.sh'; do
			rm -f there go
			awf-run -n -c "$flow" >out 2>err 3>&- &
			eventually test -e there
			# The mark is there, and the signals have not gone round yet.
			mkdir "$AWF_STORAGE/runs/$(basename "$(transcript)" .jsonl)/ending"
			touch "$AWF_STORAGE/runs/$(basename "$(transcript)" .jsonl)/ending/run" go
			ended=0
			wait $! || ended=$?
			[ "$ended" -ne 0 ]
			same "$(payloads run.completed .status | tail -n 1)" '"failed"'
			run -0 --separate-stderr awf-run --resume @
			if [[ $flow == *z* ]]; then same "$output" x; else [[ $output == *'"x"'* ]]; fi
		done
	done
}
