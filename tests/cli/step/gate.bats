#!/usr/bin/env bats
# awf-step --require: nothing runs on what the required step has not made. Every way
# to change a line is in tests/unit/test_gate.c.
bats_require_minimum_version 1.5.0
load ../../support/helpers

events() { jq -c "select(.type == \"$1\")$2" "$(transcript)"; }

# Runs a pipeline between `check` and a gate that leaves a file `ran` behind. The
# gate's status, recorded error code, and whether it ran.
gate() {
	rm -f ran out
	printf '%s\n' "${INPUT-ok}" >in
	awf-run -c "awf-step check -- cat <in | $1 awf-step --require check $2 deploy -- sh -c 'cat; : >ran'" \
		>out 2>err || true
	events step.completed ' | select(.payload.name == "deploy").payload | .error.code // .skipped // "done"' |
		tr '\n' ' '
	[ ! -e ran ] || echo ran
}

@test "what the required step made goes through, also twice and through jq" {
	same "$(gate '')" '"done" ran'
	same "$(jq -r .data out)" ok
	same "$(gate 'tee /dev/null |')" '"done" ran'
	same "$(gate "sed 'p;h' |")" '"done" "done" ran'
	same "$(gate 'jq -c . |')" '"done" ran'
	same "$(gate 'jq .  |')" '"done" ran'
	same "$(gate '' '--require other')" '"done" ran'
	same "$(events step.started ' | select(.payload.name == "deploy").payload.require')" '["check","other"]'
	awf-verify
}

@test "anything else is blocked, recorded, and nothing runs" {
	while IFS='|' read -r between; do
		same "$between: $(gate "${between//;/ | }" '')" "$between: \"blocked\" "
		same "$(jq -r .metadata.error.code out)" blocked
		grep -q '^awf-step: deploy: --require: ' err || { cat err; false; }
	done <<-'END'
	jq -c '.data += "!"';
	jq -c 'del(.metadata.token)';
	jq -c '.metadata.token |= sub("^."; "x")';
	jq -c '.metadata |= {run_id,event_id}';
	jq -c '.metadata.path = "checked"';
	jq -c '.metadata.no_newline = true';
	awf-step other -- cat;
	jq -r .data;
	jq -c .data;
	sed 's/"run_id":"......../"run_id":"00000000/';
	END
	awf-verify
}

@test "the line of another run is blocked" {
	echo ok | awf-run -c 'awf-step check -- cat' >line
	run -3 --separate-stderr awf-run -c 'awf-step --require check deploy -- touch ran' <line
	same "$(jq -r .metadata.error.message <<<"$output")" '--require: the input is of another run: have one awf-run around the steps'
	run -3 awf-step --require check deploy -q -- touch ran <line
	[ ! -e ran ]
}

@test "what a failed, excused or skipped call passes on is not what it made" {
	run -3 awf-run -c 'echo x | awf-step check -- false | jq -c "del(.metadata.error)" |
		awf-step --require check deploy -- touch ran'
	same "$(events step.completed .payload.error.code | tr '\n' ' ')" '"exit_status" "blocked" '
	run -3 awf-run -c 'echo x | awf-step --allow-failure check -- false |
		awf-step --require check deploy -- touch ran'
	run -3 awf-run -c 'echo x | awf-step --when false check -- cat |
		awf-step --require check deploy -- touch ran'
	same "$(events step.completed .payload.error.code | tr '\n' ' ')" 'null "blocked" '
	[ ! -e ran ]
}

@test "an error line travels on as ever" {
	run -0 --separate-stderr awf-run -c 'echo x | awf-step check -- false |
		awf-step --require check deploy -- touch ran | awf-step --rescue -r caught -- cat'
	same "$output" x
	same "$(events step.completed .payload.skipped | tr '\n' ' ')" 'null "upstream_failed" null '
	[ ! -e ran ]
}

@test "items are judged one by one, with -j too" {
	for jobs in 1 3; do
		run -3 --separate-stderr awf-run -c "seq 4 | awf-step -i lines check -- cat |
			jq -c 'if .data == \"3\" then .data = \"0\" else . end' |
			awf-step -j $jobs --require check deploy -- cat"
		same "$(jq -c '[.data,.metadata.error.code]' <<<"$output" | tr '\n' ' ')" \
			'["1",null] ["2",null] ["0","blocked"] ["4",null] '
	done
	run -3 awf-run -c 'seq 2 | awf-step -i lines check -- cat |
		awf-step --require check:0:1 deploy -- sh -c "cat >>ran"'
	same "$(cat ran)" 2
}

@test "-s: every item, and every step that is required" {
	both='{ echo 1 | awf-step a -- cat; echo 2 | awf-step b -- cat; }'
	same "$(awf-run -c "$both | awf-step -s --require a --require b -r c -- cat")" '["1","2"]'
	same "$(awf-run -c "$both | awf-step -s --by-name --require a --require b -r c -- cat")" '{"a":"1","b":"2"}'
	while IFS='|' read -r between message; do
		run -3 --separate-stderr awf-run -c "$both | $between"
		same "$(events step.completed '.payload.error.message // empty')" "\"--require: $message\""
		[ ! -e ran ]
	done <<-'END'
	awf-step -s --require a c -- touch ran|the input was made by b:0:0
	head -n 1 \| awf-step -s --require a --require b c -- touch ran|nothing came from b
	sed 1d \| awf-step -s --require a --require b c -- touch ran|nothing came from a
	sed d \| awf-step -s --allow-empty --require a c -- touch ran|nothing came from a
	jq -r .data \| awf-step -s -i lines --require a c -- touch ran|the input is no state line: no step has made it
	END
	run -3 --separate-stderr awf-run -c "{ $both; echo x | awf-step d -- false; } | awf-step -s --require a c -- touch ran"
	same "$(jq -r .metadata.error.code <<<"$output")" exit_status
	[ ! -e ran ]
}

@test "nothing of a blocked call runs: no condition, no retry; a model is not asked" {
	echo x | awf-run -c 'awf-step --require check --when "touch asked" --retries 3 --retry-on blocked deploy -- touch ran' >out || true
	same "$(events step.completed '.payload | [.error.code,.retries]')" '["blocked",null]'
	same "$(echo x | awf-run -c 'awf-step --allow-failure --require check -r deploy -- touch ran')" null
	run -3 --separate-stderr awf-run -c 'echo x | awf-step --try --require check deploy -- touch ran'
	same "$output" ''
	[ ! -e asked ] && [ ! -e ran ]
}

@test "usage" {
	run -1 awf-step --require a/b x -- true
	[[ $output == "awf-step: --require: 'a/b' is neither a step's path "* ]]
	run -1 awf-step -n --require a x -- true
	same "$output" "awf-step: --require: not with -n: there is no input to come from a step"
	run -1 awf-step --rescue --require a x -- true
	same "$output" "awf-step: --require: not with --rescue: what failed was not made by the step that it came from"
}
