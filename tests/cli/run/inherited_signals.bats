#!/usr/bin/env bats
# Programs that are started with signals ignored or blocked, as by a daemon, a cron or a wrapper that
# is careless with them: each hears of the ends of its children, and is ended by signals.
# shellcheck shell=bash disable=SC2016 # $variables of inner shells
load ../../support/helpers
load ../../support/agent
bats_require_minimum_version 1.5.0

BLOCKED=CHLD,TERM,ALRM,HUP,INT,QUIT,USR1,PIPE

prepare() {
	env --ignore-signal=CHLD true 2>/dev/null || skip 'env that sets signals is missing'
	sandbox="$BUILD/libexec/awf/awf-sandbox"
}

# Runs a program in the way of a careless parent. One that waits for ever is killed.
careless() { timeout -s KILL 60 env --ignore-signal=CHLD,PIPE --block-signal="$BLOCKED" "$@" 3>&-; }

@test "a sandboxed command's end is seen, with namespaces and without" {
	"$sandbox" -- true || skip "this system lacks what a sandbox takes"
	run -3 careless "$sandbox" -q -- sh -c 'exit 3'
	run -0 careless "$sandbox" --check
	run -3 careless "$sandbox" -q --without namespaces -- sh -c 'sleep 0 & exit 3'
	# It is ended by the signal that its command is ended by.
	run -143 careless "$sandbox" -q -- sh -c 'kill -TERM $$'
}

@test "a run and its steps end as their commands do" {
	run -3 careless awf-run -n -c 'awf-step -n one -q -- sh -c "exit 4" || exit 3'
	same "$(payloads step.completed .exit_code)" 4
	same "$(seq 4 | careless awf-step -r -i lines -j 2 two -- cat | sort | paste -sd' ')" '1 2 3 4'
}

# The mask that follows this word in /proc/PID/status, without the two signals that are the C library's own.
mask_of() { printf '%x\n' $((0x$(sed -n "s/^$1:[[:space:]]*//p" "$2") & ~0x180000000)); }

@test "commands of a step are started with no signal blocked, and SIGCHLD not ignored" {
	careless awf-step -n one -r -- cat /proc/self/status >step
	careless awf-run -n -c 'cat /proc/self/status >workflow'
	same "$(mask_of SigBlk step) $(mask_of SigIgn step)" '0 0'
	same "$(mask_of SigBlk workflow) $(mask_of SigIgn workflow)" '0 0'
}

@test "what was ignored to be so stays ignored in commands" {
	env --ignore-signal=HUP,INT,QUIT awf-step -n one -r -- cat /proc/self/status >step
	env --ignore-signal=HUP,INT,QUIT awf-run -n -c 'cat /proc/self/status >workflow'
	same "$(mask_of SigIgn step) $(mask_of SigIgn workflow)" '7 7'
	"$sandbox" -- true || skip "this system lacks what a sandbox takes"
	env --ignore-signal=HUP,PIPE "$sandbox" -q -- cat /proc/self/status >sandboxed
	same "$(mask_of SigIgn sandboxed)" 1001
}

@test "an agent's tools end" {
	stream tool_use "$(use t1 bash '{"command":"exit 4"}')" >first
	text finished >answer
	model_server --loop --answer-for tool_use_id answer --answer first
	mkdir agents
	agent scout 'tools: [bash]'
	same "$(careless awf-step -p go -n -r -a scout ask 2>/dev/null)" finished
	same "$(payloads tool.result '.error.message')" '"exit status 4"' || payloads tool.result .
}

@test "a command that a launcher starts elsewhere ends" {
	run -3 careless awf-step -n far -q --via env -- sh -c 'exit 4'
	same "$(payloads step.completed .exit_code)" 4
}

@test "a run is replayed twice and compared" {
	awf-run -n -c 'awf-step -n one -r -- echo hi' >/dev/null
	run -0 careless awf-verify --determinism
}

@test "a worker hears of the ends of its runs, and ends by SIGTERM" {
	printf '#!/usr/bin/env awf-run\nawf-step -r work -- tr a-z A-Z\n' >up.awf
	chmod +x up.awf
	mkdir jobs
	echo one >jobs/a
	same "$(careless awf-worker --once jobs ./up.awf | cut -f1-2)" $'a\tsuccess'
	env --ignore-signal=CHLD --block-signal=$BLOCKED awf-worker jobs ./up.awf >told 3>&- &
	worker=$!
	echo two >jobs/b
	eventually grep -q ^b told
	kill "$worker"
	ended() { ! kill -0 "$worker" 2>/dev/null; }
	eventually ended
}

# A child ends by this signal.
ends_by() {
	local status=0
	wait "$2" || status=$?
	same "$status" $((128 + $1))
}

@test "a run is cancelled by awf-ctl, and by SIGTERM" {
	env --ignore-signal=CHLD --block-signal=$BLOCKED awf-run -n --id-file id -c 'awf-step -n one -q -- sleep 60' 2>err 3>&- &
	run=$!
	eventually grep -qs step.started "$AWF_STORAGE/latest"
	careless awf-ctl cancel "$(cat id)"
	ends_by 15 "$run"
	env --ignore-signal=CHLD --block-signal=$BLOCKED awf-run -n -c 'touch up; awf-step -n one -q -- sleep 60' 2>err 3>&- &
	run=$!
	eventually test -e up
	kill "$run"
	ends_by 15 "$run"
}

@test "awf-mcp starts a workflow, and answers with what came of it" {
	mkdir flows
	printf '#!/usr/bin/env awf-run\ncat\n' >flows/echo.awf
	chmod +x flows/echo.awf
	echo 'TOOL:start_workflow {"workflow":"echo","input":"cake"}' |
		careless python3 -S "$ROOT/tests/support/mcp-client.py" awf-mcp -w flows >out
	same "$(jq -rc '.ok // .failed | .status' out)" success
}
