# Sourced by every bats file: a storage, a config directory and a working
# directory of its own for each test.
# shellcheck shell=bash

setup() {
	export AWF_STORAGE="$BATS_TEST_TMPDIR/storage"
	export XDG_CONFIG_HOME="$BATS_TEST_TMPDIR/config"
	export XDG_DATA_HOME="$BATS_TEST_TMPDIR/data"
	export HOME="$BATS_TEST_TMPDIR/home"
	export LANG=C.UTF-8
	unset LC_ALL LC_CTYPE
	export AWF_SYNC="${AWF_TEST_SYNC:-none}"
	# No test may reach a real model API.
	unset ANTHROPIC_API_KEY OPENAI_API_KEY GEMINI_API_KEY GOOGLE_API_KEY
	export ANTHROPIC_BASE_URL=http://127.0.0.1:1 OPENAI_BASE_URL=http://127.0.0.1:1/v1
	export GEMINI_BASE_URL=http://127.0.0.1:1
	export no_proxy=127.0.0.1
	ROOT=${BATS_TEST_DIRNAME%/tests/*}
	: "${BUILD:=$ROOT/build/test}"
	export ROOT BUILD
	export PATH="$BUILD/bin:$BUILD/tests/support:$BUILD/tests/fault:$PATH"
	# bats.bash has made them for all tests of a file at once.
	[ -d "$XDG_DATA_HOME/awf" ] ||
		mkdir -p "$HOME" "$BATS_TEST_TMPDIR/work" "$XDG_CONFIG_HOME/awf" "$XDG_DATA_HOME/awf"
	# What tests define is their own: as awf trust --edits has it.
	(umask 077 && printf 'edits %s\n' "$BATS_TEST_TMPDIR" "$BATS_TEST_TMPDIR/work" >"$XDG_DATA_HOME/awf/trust")
	cd "$BATS_TEST_TMPDIR/work" || return 1
	if declare -F prepare >/dev/null; then prepare; fi
}

teardown() {
	# What a program said before the test failed.
	if [ -z "${BATS_TEST_COMPLETED-}" ] && [ -n "${stderr-}" ]; then printf 'stderr: %s\n' "$stderr"; fi
	if declare -F cleanup >/dev/null; then cleanup; fi
	# Servers that a subshell started are known by this file alone.
	if [ -f "$BATS_TEST_TMPDIR/model-server.pids" ]; then
		xargs kill <"$BATS_TEST_TMPDIR/model-server.pids" 2>/dev/null || true
	fi
}

# The transcript of the latest run.
transcript() { readlink -f "$AWF_STORAGE/latest"; }

# TYPE FILTER [FILE]: what jq makes of the payloads of a type, in a line each; of the
# latest run unless a FILE, or $RECORD, is another's transcript.
payloads() { jq -c "select(.type == \"$1\").payload | $2" "${3:-${RECORD:-$(transcript)}}"; }

# STATUS ARGUMENT...: records a workflow with awf-run, which ends with STATUS; the record
# is well-formed, and replays as it was (in make check, the first of a file is replayed).
recorded() {
	local status=$1
	shift
	run "-$status" --separate-stderr awf-run "$@"
	awf-verify -q
	if [ "$(rounds few many)" = many ] || mkdir "$BATS_FILE_TMPDIR/replayed" 2>/dev/null; then
		awf-verify --determinism --isolation copy
	fi
}

# The page of a program: its own, or that of several.
page_of() {
	local page
	for page in "$1.1" awf.1 awf-import.1 awf-tools.7 awf-provider-cli.7 awf-ship.7; do
		grep -qs "^\.Nm $1\b" "$ROOT/man/$page" && echo "$page" && return
	done
}

# Fails, showing both, unless the two texts are the same.
same() {
	[ "$1" = "$2" ] && return 0
	printf 'have: %s\nwant: %s\n' "$1" "$2" >&2
	return 1
}

# Sleeps so many seconds, without a process for it: nobody writes to that pipe.
nap() {
	[ -p "$BATS_FILE_TMPDIR/nap" ] || mkfifo "$BATS_FILE_TMPDIR/nap" 2>/dev/null || :
	read -rt "$1" <>"$BATS_FILE_TMPDIR/nap" || :
}

# Waits at most 20 s until a command succeeds, and looks ever less often: looks cost others their time.
eventually() {
	local looks
	for ((looks = 0; looks < 220; looks++)); do
		"$@" && return 0
		if [ "$looks" -lt 10 ]; then nap 0.02; elif [ "$looks" -lt 30 ]; then nap 0.05; else nap 0.1; fi
	done
	echo "never came true: $*" >&2
	return 1
}

# How many ms the programs under test wait that would wait this long, as patience_of() in
# lib/base/patience.h says it.
patience_of() {
	local ms=$(($1 / 20))
	if [ "${AWF_TEST_PATIENCE:-short}" = real ] || [ "$1" -lt 250 ]; then
		ms=$1
	elif [ "$ms" -lt 250 ]; then
		ms=250
	fi
	echo "$ms"
}

# rounds FEW MANY: how often, or how finely, something is tried: few times in make check.
rounds() { if [ "${AWF_TEST_TIER:-check}" = torture ]; then echo "$2"; else echo "$1"; fi; }

# SMALL LARGE: how large something is that a test makes: the first in make check, the second in CI.
size_of_tier() { if [ "${AWF_TEST_TIER:-check}" = check ]; then echo "$1"; else echo "$2"; fi; }

# N: whether the next case of a list is tried: every Nth in make check, others with each AWF_TEST_TURN,
# and each one in CI.
case_is_chosen() {
	case_number=$((${case_number:--1} + 1))
	[ "${AWF_TEST_TIER:-check}" != check ] || [ $(((case_number + ${AWF_TEST_TURN:-0}) % $1)) = 0 ]
}

# VERB PATH [OPTION...] RUN: decides with awf-ctl, then goes on with the run.
go_on_after() { awf-ctl "$@" && awf-run --resume "${@: -1}"; }

# DAYS PROGRAM...: runs a program, and what it starts, so many days ahead.
ahead() {
	ASAN_OPTIONS=verify_asan_link_order=0:detect_leaks=0 LD_PRELOAD="$BUILD/tests/fault/preload.so" FAULT_DAYS="$1" "${@:2}"
}

# The programs with whole patience, for a test that acts while they wait.
patient() { export PATH="${BUILD%/test}/bin:$PATH"; }

# Whether a process has ended.
gone() { ! kill -0 "$1" 2>/dev/null; }
# No process belongs to the latest run any more.
deserted_latest() { ! grep -qszxF "AWF_RUN_ID=$(basename "$(transcript)" .jsonl)" /proc/[0-9]*/environ; }

# Starts a model server with these options; requests are logged to
# $MODEL_SERVER_LOG, and the HTTP providers are pointed at it.
model_server() {
	local url="$BATS_TEST_TMPDIR/model-server.url"
	MODEL_SERVER_LOG="$BATS_TEST_TMPDIR/requests.jsonl"
	rm -f "$url" "$MODEL_SERVER_LOG"
	model-server --log "$MODEL_SERVER_LOG" "$@" >"$url" 2>"$BATS_TEST_TMPDIR/model-server.stderr" 3>&- &
	MODEL_SERVER_PID=$!
	echo "$MODEL_SERVER_PID" >>"$BATS_TEST_TMPDIR/model-server.pids"
	until [ -s "$url" ]; do
		kill -0 "$MODEL_SERVER_PID" || return 1
		nap 0.01
	done
	MODEL_SERVER=$(cat "$url")
	export ANTHROPIC_BASE_URL="$MODEL_SERVER" ANTHROPIC_API_KEY=anthropic-test-key
	export OPENAI_BASE_URL="$MODEL_SERVER/v1" OPENAI_API_KEY=openai-test-key
	export GEMINI_BASE_URL="$MODEL_SERVER" GEMINI_API_KEY=gemini-test-key
}

# How replays are kept apart here: copy where namespaces are missing.
isolation() {
	awf-run -n --name probe -c 'awf-step -n probe -q -- true' >/dev/null
	awf-replay -q @probe 2>/dev/null && echo namespaces || echo copy
}
