#!/usr/bin/env bats
# examples/coder.awf: a project is changed until its build and tests pass.
bats_require_minimum_version 1.5.0
load ../../support/helpers
load ../../support/resume
load ../../support/examples

prepare() {
	example coder
	export AWF_MODEL=replay/$PWD/$RECORDING
	cd project || return 1
	RECORDING=../$RECORDING
	export LEDGERS=$PWD
}

# What sanitizers are told is of the environment, which a replay has from the record.
coder() { awf-run --env ASAN_OPTIONS --snapshot ../coder.awf <../samples/bug.txt; }
passes() { make -s check; }

# bats test_tags=turn:2
@test "a change that does not build is mended, and the tests pass" {
	run ! passes
	run -0 coder
	[[ $output == 'A numeral before a greater one is now subtracted. '* ]]
	same "$(answers "$(transcript)")" ' 5 fix.change '
	same "$(jq -r 'select(.type == "step.completed" and .path == "fix.build").payload.result.build | split("\n")[-1]' \
		"$(transcript)")" "$(printf 'exit status 2\nexit status 0')"
	run -0 passes
	run -0 awf-run ../coder.awf <<<'Is there anything left?'
	same "$output" 'The tests pass already.'
	same "$(answers "$(transcript)")" ''
}

# bats test_tags=turn:4
@test "it replays from the files that it began with" {
	coder
	deterministic
	run -0 passes
}

# bats test_tags=turn:2
@test "tests that never pass end it after five rounds" {
	sed -i 's/at\[1\]/at[0]/g' "$RECORDING"
	run -3 --separate-stderr coder
	same "$output" ''
	same "$(jq -r 'select(.type == "run.completed").payload.error.code' "$(transcript)")" max_iterations
	same "$(jq -r 'select(.type == "step.completed" and .path == "fix.build").iteration' "$(transcript)" | wc -l)" 5
}

# bats test_tags=turn:2
@test "what the coder may not write is not written" {
	sed -i 's/"roman.c","old_string"/"..\/coder.awf","old_string"/' "$RECORDING"
	cp ../coder.awf before
	run -3 --separate-stderr coder
	cmp before ../coder.awf
	same "$(jq -r 'select(.type == "tool.result").payload.error.code // empty' "$(transcript)" | sort -u)" blocked
}

# bats test_tags=turn:2
@test "without an answer it stops; resumed, it reads and writes no file again" {
	cp "$RECORDING" ../whole
	sed -i '/"undeclared"/d' "$RECORDING"
	run -3 --separate-stderr coder
	same "$output" ''
	mv ../whole "$RECORDING"
	run -0 awf-run --resume @
	[[ $output == 'A numeral before a greater one is now subtracted. '* ]]
	same "$(jq -r 'select(.type == "tool.call").payload.name' "$(transcript)" | paste -sd' ')" 'read edit write'
	run -0 passes
	deterministic
}

# bats test_tags=turn:3
@test "killed while the change is mended, it goes on there" {
	hold undeclared
	die --env ASAN_OPTIONS --snapshot ../coder.awf <../samples/bug.txt
	run -0 resume
	same "$(answers "$(transcript)")" ' 5 fix.change '
	run -0 passes
	deterministic
}
