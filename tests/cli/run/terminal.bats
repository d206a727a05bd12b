#!/usr/bin/env bats
# awf-step --terminal: a step that decides how the run ends.
# shellcheck disable=SC2016,SC2154 # $variables of inner shells; bats sets stderr
bats_require_minimum_version 1.5.0
load ../../support/helpers

ended() { payloads run.completed '[.status, .exit_code, .error.code]'; }

@test "failure: the run fails, with the data as its message, and the item passes" {
	recorded 3 -c 'echo no stock | awf-step a -- cat | awf-step --terminal failure stop -r'
	same "$output" 'no stock'
	same "$stderr" 'awf-run: pipeline: no stock'
	same "$(ended)" '["failed",3,"terminal"]'
	same "$(payloads step.started 'select(.name == "stop") | .kind')" '"terminal"'
	same "$(payloads step.completed 'select(.name == "stop") | [.outcome, .reason, .error]')" '["failure","no stock",null]'
	awf-tail | grep -q 'stop done (.*): failure: no stock$'
}

@test "failure leaves the workflow its own status" {
	recorded 7 -c 'echo x | awf-step --terminal failure stop -q; exit 7'
	same "$(ended)" '["failed",7,"terminal"]'
}

@test "success: whatever failed before, and whatever the workflow says" {
	recorded 0 -c 'echo x | awf-step bad -q -- false; echo y | awf-step --terminal success ok -r; exit 9'
	same "$output" y
	same "$stderr" 'awf-step: bad: false: exit status 1'
	same "$(ended)" '["success",0,null]'
}

@test "the last one that was made decides" {
	recorded 0 -c 'awf-step -n --terminal failure one -q; awf-step -n --terminal success two -q'
	recorded 3 -c 'awf-step -n --terminal success two -q; awf-step -n --terminal failure one -q'
	recorded 3 -c 'awf-step -n --terminal failure one -q; awf-step -n --when false --terminal success two -q'
	printf 'a\nb\n' >items
	recorded 3 -c 'awf-step -i lines --terminal failure each -q' <items
	same "$stderr" 'awf-run: pipeline: b'
}

@test "--when, --rescue, --require and -s" {
	recorded 0 -c 'echo x | awf-step --when false --terminal failure stop -r'
	same "$output" x
	recorded 3 -c 'echo x | awf-step bad -- false | awf-step --rescue --terminal failure stop'
	same "$(jq -r .metadata.call <<<"$output")" bad:0:0
	same "$(ended)" '["failed",3,"terminal"]'
	recorded 0 -c 'echo x | awf-step bad -- false | awf-step --rescue --terminal success stop -q'
	recorded 3 -c 'echo x | awf-step bad -- false | awf-step --terminal success stop -q'
	same "$(ended)" '["failed",3,"exit_status"]'
	recorded 3 -c 'echo x | awf-step --require check --terminal success stop -q'
	same "$(ended)" '["failed",3,"blocked"]'
	printf 'a\nb\n' >items
	recorded 3 -c 'awf-step -i lines -s --terminal failure all -r' <items
	same "$output" '["a","b"]'
	same "$stderr" 'awf-run: pipeline: ["a","b"]'
}

@test "the item passes as it is, be it text, JSON, bytes, or none" {
	awf-run -c 'echo x | awf-step a -- cat | tee before | awf-step --terminal success ok' >after
	cmp before after
	printf 'a\377\0b' >binary
	recorded 0 -c 'awf-step --terminal success ok | awf-step out -o got -r -- cat' <binary
	cmp got binary
	recorded 3 -n -c 'awf-step -n --terminal failure stop -r'
	same "$output" null
	same "$stderr" 'awf-run: pipeline: a terminal step said so'
}

@test "a long reason is cut, a reason of several lines is one" {
	head -c 5000 /dev/zero | tr '\0' x >long
	recorded 3 -c 'awf-step --terminal failure stop -q' <long
	[ "$(payloads run.completed '.error.message | length')" -le 1023 ]
	recorded 3 -c 'printf "one\ntwo\n" | awf-step --terminal failure stop -q'
	[ "${#stderr_lines[@]}" = 1 ]
}

@test "in a group" {
	recorded 3 -c 'echo x | awf-step --each g -- sh -c "awf-step a -- cat | awf-step --terminal failure stop" -q'
	same "$(ended)" '["failed",3,"terminal"]'
	same "$(payloads step.completed 'select(.outcome) | .call')" '"g:0:0/stop:0:0"'
}

@test "a call that waits comes first" {
	run -75 awf-run -c 'echo x | awf-step --approve ask -q </dev/null; echo y | awf-step --approve asked -q; awf-step -n --terminal success ok -q' </dev/null
	same "$(payloads run.completed .status)" '"waiting"'
}

@test "cancelling comes first" {
	awf-run -c 'awf-step -n --terminal success ok -q; touch there; sleep 60' &
	eventually test -e there
	kill -TERM $!
	wait $! && false
	same "$(payloads run.completed .status)" '"cancelled"'
}

@test "a time limit comes first" {
	run -124 awf-run --timeout 300ms -c 'awf-step -n --terminal success ok -q; sleep 60'
	same "$(payloads run.completed .status)" '"timeout"'
}

@test "a run of its own" {
	run -3 awf-step -n --terminal failure stop -q
	same "$(ended)" '["failed",3,"terminal"]'
	run -0 awf-step -n --terminal success ok -q
	same "$(ended)" '["success",0,null]'
	run -0 awf-step -n -q --each g -- sh -c 'awf-step -n bad -q -- false; awf-step -n --terminal success ok'
	same "$(ended)" '["success",0,null]'
}

@test "resume: what was decided is decided again" {
	printf '%s\n' '#!/bin/sh' 'awf-step -n a -q -- sh -c "echo >>ran"
		test -e now && awf-step -n --terminal success ok -q || awf-step -n --terminal failure stop -q' >flow.awf
	chmod +x flow.awf
	run -3 awf-run -n --id-file id ./flow.awf
	run -3 awf-run --resume "$(cat id)"
	touch now
	run -0 awf-run --resume "$(cat id)"
	same "$(ended)" '["failed",3,"terminal"]
["failed",3,"terminal"]
["success",0,null]'
	same "$(wc -l <ran)" 1
	awf-verify -q
}

@test "killed after it was decided: resume comes to the same end" {
	printf '%s\n' '#!/bin/sh' 'awf-step -n --terminal failure stop -q; test -e now || { touch there; sleep 60; }' >flow.awf
	chmod +x flow.awf
	awf-run -n --id-file id ./flow.awf &
	eventually test -e there
	kill -9 $!
	wait $! || true
	touch now
	run -3 awf-run --resume "$(cat id)"
	awf-verify -q
	awf-verify --determinism --isolation copy
}

@test "--dry-run says what would be" {
	run -0 awf-step -n --dry-run --terminal failure stop
	same "$output" '{"terminal":"failure","input":null}'
}

@test "what cannot be said together" {
	while IFS='|' read -r options message; do
		# shellcheck disable=SC2086
		run -1 --separate-stderr awf-step $options
		same "$stderr" "awf-step: $message"
		same "$output" ''
	done <<-'END'
		--terminal fail stop|--terminal: no such word 'fail' (did you mean 'failure'?)
		--terminal failure stop -- cat|--terminal: not with work to do: it decides about the run alone
		--terminal failure -a x stop|--terminal: not with work to do: it decides about the run alone
		--terminal failure --each stop -- cat|--terminal: not with work to do: it decides about the run alone
		--terminal failure --into k stop|--terminal: not with --into, which is about work or its result: it does none
		--terminal failure --try stop|--terminal: not with --try, which is about work or its result: it does none
		--terminal failure --retries 2 stop|--terminal: not with --retries, which is about work or its result: it does none
		--terminal failure --timeout 1 stop|--terminal: not with --timeout, which is about work or its result: it does none
		--terminal failure --effects none stop|--terminal: not with --effects, which is about work or its result: it does none
		--terminal failure --approve stop|--terminal: not with work to do: it decides about the run alone
	END
}
