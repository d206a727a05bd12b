# Sourced by every bats file: a storage, a config directory and a working
# directory of its own for each test.
# shellcheck shell=bash
setup() {
	export AWF_STORAGE="$BATS_TEST_TMPDIR/storage"
	export XDG_CONFIG_HOME="$BATS_TEST_TMPDIR/config"
	export HOME="$BATS_TEST_TMPDIR/home"
	export AWF_SYNC="${AWF_TEST_SYNC:-none}"
	ROOT="$(cd "$BATS_TEST_DIRNAME/../.." && pwd)"
	: "${BUILD:=$ROOT/build}"
	export ROOT BUILD
	export PATH="$BUILD/bin:$BUILD/tests/support:$BUILD/tests/fault:$PATH"
	mkdir -p "$HOME" "$BATS_TEST_TMPDIR/work"
	cd "$BATS_TEST_TMPDIR/work" || return 1
	if declare -F prepare >/dev/null; then prepare; fi
}

teardown() {
	if declare -F cleanup >/dev/null; then cleanup; fi
	[ -z "${MODEL_SERVER_PID-}" ] || kill "$MODEL_SERVER_PID" 2>/dev/null || true
}

# The transcript of the latest run.
transcript() { readlink -f "$AWF_STORAGE/latest"; }

# Fails, showing both, unless the two texts are the same.
same() {
	[ "$1" = "$2" ] && return 0
	printf 'have: %s\nwant: %s\n' "$1" "$2" >&2
	return 1
}
