#!/usr/bin/env bats
# A short round of each campaign in tests/torture, which tell what they check. `make
# torture` makes long ones; TORTURE_SEED=N for the same choices again.
# bats file_tags=ci
bats_require_minimum_version 1.5.0
load ../support/helpers

# The same workflows each time: what is new is found by the long rounds.
export TORTURE_SEED=${TORTURE_SEED:-1}

torture() { TMPDIR="$BATS_TEST_TMPDIR" python3 -B "$ROOT/tests/torture/campaign-$1" 3>&-; }

@test "random workflows, killed at random and resumed" { CYCLES=5 torture kill; }

@test "states that a power cut may leave" { CYCLES=$(rounds 12 50) torture powercut; }

@test "without syncs power cuts are noticed, so the others mean something" {
	export CYCLES=100 TORTURE_STOP=1 TORTURE_SYNC=none
	run -1 torture powercut
	# No other violation will do.
	grep -qE 'violation: .*(is not on record|was begun|happened [0-9]+ times|asked again|blob [0-9a-f]+ is not the)' <<<"$output"
}

@test "workflows that depend on chance are flagged, and no others" {
	[ "$(isolation)" = namespaces ] || skip "needs namespaces"
	CYCLES=3 torture determinism
}
