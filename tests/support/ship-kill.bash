# Sourced by the bats files in which awf-ship is killed, or has company.
# shellcheck shell=bash

# Transcripts that take a while: some hundred lines each.
many_lines() {
	local i
	for i in 1 2 3; do
		awf-run -n --name "run$i" -c 'seq 60 | awf-step -i lines a -q -- sh -c "head -c $((RANDOM % 3000)) /dev/zero | tr \"\\0\" x"' >/dev/null
	done
}

# The children of a process.
children() { cat "/proc/$1/task/$1/children" 2>/dev/null || true; }

# ROUNDS: awf-ship or its filter is killed after up to 60 ms, and then it is started anew.
killed() {
	local round pid victims
	RANDOM=${SEED:-1}
	for ((round = 0; round < $1; round++)); do
		awf-ship --to "$TO" 2>/dev/null 3>&- &
		pid=$!
		nap "0.0$((RANDOM % 50 + 10))"
		victims=$pid
		((RANDOM % 2)) || victims=$(children "$pid")
		# shellcheck disable=SC2086
		[ -z "$victims" ] || kill -9 $victims 2>/dev/null || true
		wait "$pid" 2>/dev/null || true
		# What is there is a beginning of each run.
		same "$(sql 'SELECT (SELECT count(*) FROM agent_run_events) - (SELECT coalesce(sum(seq), 0) FROM runs_head)')" 0
		awf-ship --to "$TO"
		same_lines
		empty
	done
}

# Whether the target has as many rows as there are lines.
all_there() {
	[ "$(sql 'SELECT count(*) FROM agent_run_events' 2>/dev/null)" = "$(cat "$AWF_STORAGE"/transcripts/*.jsonl | wc -l)" ]
}

# 20 at once.
at_once() {
	local pids=() i status=0
	for i in {1..20}; do
		awf-ship --to "$TO" 2>"err.$i" 3>&- &
		pids+=($!)
	done
	for i in "${pids[@]}"; do wait "$i" || status=$?; done
	same "$(cat err.*)" ''
	same "$status" 0
	same_lines
}
