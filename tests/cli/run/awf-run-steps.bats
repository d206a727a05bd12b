#!/usr/bin/env bats
# awf-run with awf-step inside: what becomes of the run when calls fail, go on in
# the background, or are killed.
# shellcheck shell=bash disable=SC2016
load ../../support/helpers
bats_require_minimum_version 1.5.0

cleanup() {
	local pids
	pids=$(jobs -p)
	# shellcheck disable=SC2086
	[ -z "$pids" ] || kill -9 $pids 2>/dev/null || true
}

ended() { jq -c "select(.type == \"run.completed\") | .payload | $1" "$(transcript)"; }

@test "what the calls came to decides: pipeline, exit status, status of the run" {
	while IFS='|' read -r text code word; do
		text=${text//PIPE/|}
		run awf-run -n -c "$text"
		same "$text: $(ended '[.status, .exit_code]')" "$text: [\"$word\",$code]"
		[ "$code" -ne 0 ] || ! grep -q "^awf-run:" <<<"$output"
	done <<-'END'
		awf-step -n a -q -- true|0|success
		awf-step -n a -q -- false|3|failed
		awf-step -n a -q -- false; true|3|failed
		awf-step -n a -q -- false; exit 9|9|failed
		awf-step -n a -- false PIPE awf-step b -q -- cat|3|failed
		awf-step -n a -q --try -- false; true|0|success
		set -e; awf-step -n a -q --try -- false; true|3|failed
		awf-step -n a -q --try -- false PIPEPIPE awf-step -n a -q -- true|0|success
		awf-step -n a -q -- false PIPEPIPE awf-step -n a -q -- true|3|failed
		awf-step -n a -q -- false PIPEPIPE awf-step -n b -q -- true|3|failed
		awf-step -n a -q --allow-failure -- false|0|success
		awf-step -n a -- false PIPE awf-step --rescue r -q -- true|0|success
		awf-step -n a -- false PIPE awf-step --rescue r -q -- false|3|failed
		printf '1\n2\n' PIPE awf-step -i lines a -- sh -c 'test $(cat) = 1' PIPE awf-step --rescue r -q -- true|0|success
		awf-step -n a -- sh -c 'yes PIPE head -c 1000000' PIPE head -c 1 >/dev/null|0|success
	END
}

# Events of a call as a step writes them: its name, and how it ended.
call() {
	append step.started "$1" "{\"name\":\"$1\",\"call\":\"$1:0:0\"}"
	append step.completed "$1" "{\"name\":\"$1\",\"call\":\"$1:0:0\"$2}"
}

@test "a call that waits makes the run wait, whatever the script says, unless one failed" {
	export -f call
	waiting=',"error":{"code":"waiting","message":"w"}' failed=',"error":{"code":"auth","message":"no key"}'
	export waiting failed
	for code in 0 1 75; do
		run -75 awf-run -n --shell /bin/bash -c "call ask \"\$waiting\"; exit $code"
		same "$output" "awf-run: pipeline: step ask:0:0: waiting for a person"
		same "$(ended '[.status, .exit_code, .error.code]')" '["waiting",75,"waiting"]'
	done
	run -3 awf-run -n --shell /bin/bash -c 'call ask "$waiting"; call do "$failed"'
	same "${lines[0]}" "awf-run: pipeline: step do:0:0 failed: no key"
	same "$(ended '[.status, .exit_code, .error.code]')" '["failed",3,"auth"]'
}

@test "one line says which step failed first, and why" {
	run -3 --separate-stderr awf-run -n --name brief -c 'awf-step -n a -- sh -c "exit 7" | awf-step b -q -- cat'
	same "$output" ""
	[[ ${stderr_lines[-2]} == "awf-run: brief: step a:0:0 failed: "*7* ]]
	same "$(ended .error.code)" '"exit_status"'
}

@test "steps left in the background are waited for" {
	awf-run -n -c 'awf-step -n slow -q -- sh -c "sleep 1; echo done >out" &'
	same "$(cat out)" "done"
	same "$(ended .status)" '"success"'
	same "$(jq -r .type "$(transcript)" | paste -sd' ')" \
		"run.started step.started step.completed run.completed"
}

@test "a step in the background that fails makes the run fail" {
	run -3 awf-run -n -c 'awf-step -n slow -q -- sh -c "sleep 0.3; exit 1" &'
	same "$(ended .status)" '"failed"'
}

@test "a step that was killed never ended, and the run failed" {
	run -3 awf-run -n -c 'awf-step -n a -q -- sh -c "touch ready; sleep 1000" & until [ -e ready ]; do sleep 0.01; done; kill -9 $!; wait'
	[[ $output == *"awf-run: pipeline: step a:0:0 failed: it never ended"* ]]
	same "$(ended '[.status, .error.code]')" '["failed","interrupted"]'
}

@test "cancelling ends the bodies of steps, and they record it" {
	env --default-signal=INT awf-run -n -c 'awf-step -n a -q -- sh -c "echo \$\$ >pid; touch ready; exec sleep 1000"' 3>&- 2>/dev/null &
	eventually test -e ready
	kill -TERM $!
	code=0
	wait $! || code=$?
	same "$code" 143
	gone "$(cat pid)"
	same "$(ended .status)" '"cancelled"'
	same "$(jq -c 'select(.type == "step.completed").payload.error.code' "$(transcript)")" '"cancelled"'
}

@test "SIGKILL to awf-run: steps and their bodies are gone within a second, later steps refuse" {
	awf-run -n -c 'cp /proc/self/environ env; awf-step -n a -q -- sh -c "echo \$\$ >pid; touch ready; exec setsid sleep 1000"' 3>&- &
	eventually test -e ready
	kill -9 $!
	wait $! || true
	sleep 1
	gone "$(cat pid)"
	id=$(basename "$(transcript)" .jsonl)
	run -4 env AWF_RUN_ID="$id" AWF_TRANSCRIPT="$(transcript)" AWF_CALL= AWF_PATH= \
		AWF_PARENT="$(jq -r 'select(.seq == 1).event_id' "$(transcript)")" awf-step -n b -- true
	[[ $output == *"run has ended"* ]]
}

@test "--no-transcript: steps work, nothing is left" {
	same "$(awf-run -n --no-transcript -c 'awf-step -n a -- head -c 300000 /dev/zero | awf-step b -r -- wc -c')" 300000
	run -3 awf-run -n --no-transcript -c 'awf-step -n a -q -- false; true'
	same "$(find "$AWF_STORAGE" -type f -o -type l | sed 's|.*/||')" audit.jsonl
}

@test "the tokens of all calls are summed" {
	awf-run -n -c 'awf-step -n a -q -- true'
	same "$(ended '.usage | has("input_tokens")')" false
	same "$(ended .usage.calls)" 1
}
