#!/usr/bin/env bats
# Workers of a run that are killed at random under the steps that they serve.
bats_require_minimum_version 1.5.0
load ../support/helpers
load ../support/agent

prepare() {
	mkdir agents
	agent writer
}

# STEPS ROUNDS: so many steps at once, again and again, with a worker killed every few ms.
storm() {
	local steps=$1 rounds=$2 round run tries
	RANDOM=${SEED:-$(od -An -N2 -tu2 /dev/urandom)}
	echo "SEED=$RANDOM"
	text 'an answer of some length, that takes its time to come' >answer
	for round in $(seq "$rounds"); do
		model_server --answer answer --loop --fault '*:slow:1'
		awf-run -n --name "w$round" -- bash -c 'for i in $(seq '"$steps"'); do
			echo x | awf-step -r --retries 10 --delay 1ms "s$i" -a writer & done; wait' >out &
		run=$!
		while kill -0 "$run" 2>/dev/null; do
			sleep "0.0$((RANDOM % 40 + 10))"
			workers | shuf -n 1 --random-source=<(yes "$RANDOM") | xargs -r kill -9 2>/dev/null || true
		done
		wait "$run"
		eventually no_workers
		same "$(sort out | uniq -c | tr -s ' ')" " $steps an answer of some length, that takes its time to come"
		awf-verify -q
		# Each request but the last of a step is a try on its record.
		tries=$(payloads step.completed '(.retries // []) | length' | awk '{ s += $1 } END { print s + 0 }')
		[ "$(sent)" -le $((steps + tries)) ]
		kill "$MODEL_SERVER_PID"
	done
}

@test "workers killed at random: each step has its answer, and no request is made but by a try" {
	storm "$(rounds 6 50)" "$(rounds 1 20)"
}
