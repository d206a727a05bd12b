#!/usr/bin/env bats
# awf-serve: requests that are refused cost no memory, whatever they are refused for. In a build with
# AddressSanitizer its leak check has the last word; else valgrind has, where it is there.
# shellcheck shell=bash disable=SC2154
# bats file_tags=ci
bats_require_minimum_version 1.5.0
load ../support/helpers
load ../support/serve

prepare() {
	awf-run -n --name other -c 'awf-step -n a -q -- echo x'
	RUN=$(basename "$(transcript)" .jsonl)
	mkdir flows
	printf '#!/bin/sh\ncat >/dev/null\n' >flows/deploy.awf
	for role in read decide ingest start; do
		export "TOKEN_$role=$(awf-serve --new-token "$role")"
	done
	TOKEN_named=$(awf-serve --new-token decide --name nothing)
	export RUN TOKEN_named
}

# So many rounds of all refusals.
refused() { python3 -S "$ROOT/tests/support/refused.py" "$ROOT/share/openapi.json" "$BATS_TEST_TMPDIR/socket" "$PORT" "$1"; }
with_sanitizer() { grep -qa __asan_init "$BUILD/bin/awf-serve"; }
resident() { awk '/^VmRSS/ { print $2 }' "/proc/$SERVE_PID/status"; }

@test "thousands of refused requests of every route leave the memory as it was" {
	# AddressSanitizer says at the end what nothing leads to any more; serve_end fails then.
	ASAN_OPTIONS=detect_leaks=1:abort_on_error=0:exitcode=99 serve --workflows flows
	refused 2 >counts
	# Each kind of refusal is among them.
	for status in 400 401 403 404 405 413 421 431; do
		[ "$(jq --arg s $status '.[$s] // 0' counts)" -gt 0 ] || { echo "none is refused with $status: $(cat counts)" >&2; return 1; }
	done
	before=$(resident)
	refused "$(rounds 3 6)" | tee counts
	[ "$(jq 'add' counts)" -ge "$(rounds 2500 5000)" ]
	after=$(resident)
	# A sanitizer keeps freed memory for a while.
	with_sanitizer || [ $((after - before)) -lt 600 ] ||
		{ echo "grew from $before to $after KiB" >&2; return 1; }
	serve_end
}

@test "a refused request leaks nothing" {
	! with_sanitizer || skip 'the build has its own leak check'
	command -v valgrind >/dev/null || skip 'no valgrind here'
	mkdir bin
	printf '#!/bin/sh\nexec valgrind -q --trace-children=no --error-exitcode=99 --leak-check=full --show-leak-kinds=definite,indirect --errors-for-leak-kinds=definite,indirect %s "$@"\n' \
		"$BUILD/bin/awf-serve" >bin/awf-serve
	chmod +x bin/awf-serve
	PATH="$PWD/bin:$PATH" serve --workflows flows
	refused 1 >counts
	serve_end
}
