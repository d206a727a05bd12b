#!/usr/bin/env bats
# bats file_tags=turn:2
# Workflows killed at random moments, and at every line of their record, and resumed
# until they are done: crash.py tells what is checked.
# CRASH_ROUNDS=500 for the long run; CRASH_SEED=N for the same choices again.
bats_require_minimum_version 1.5.0
load ../support/helpers

crash() {
	CRASH_DIRECTORY="$BATS_TEST_TMPDIR/crash"
	python3 -B "$BATS_TEST_DIRNAME/$1.py" ${CRASH_SEED:+--seed "$CRASH_SEED"} \
		--directory "$CRASH_DIRECTORY" "${@:2}" 3>&-
}

@test "everything is killed at random moments" { crash crash --rounds "${CRASH_ROUNDS:-$(rounds 2 12)}"; }

@test "awf-run alone is killed at random moments" {
	crash crash --kill run --rounds "${CRASH_ROUNDS:-$(rounds 1 5)}"
}

@test "any one process is killed at random moments" {
	crash crash --kill one --rounds "${CRASH_ROUNDS:-$(rounds 1 5)}"
}

@test "the power fails at random moments" { crash crash --kill power --rounds "${CRASH_ROUNDS:-$(rounds 2 10)}"; }

@test "everything dies right after a line is written, or amid the next" {
	crash crash_prefix --every "${CRASH_EVERY:-$(rounds 40 6)}"
}

# bats test_tags=torture
@test "without syncs a power cut is noticed, so the others mean something" {
	run crash crash --kill power --sync none --rounds 20
	[ "$status" -eq 1 ]
	# No other failure will do.
	grep -qE 'happened without a record|the record is gone|times of 1|recorded lines have changed' \
		<<<"$output"
}
