# Sourced by the bats files about awf-serve: a server, and what is asked of it.
# shellcheck shell=bash

# Starts a server on a free port, and on a Unix socket, with these options; waits until it
# listens. $URL is where; the link's code is in $CODE.
serve() {
	rm -f "$BATS_TEST_TMPDIR/serve.out"
	mkdir -p "$AWF_STORAGE"
	awf-serve --listen 127.0.0.1:0 --listen "unix:$BATS_TEST_TMPDIR/socket" "$@" \
		>"$BATS_TEST_TMPDIR/serve.out" 2>"$BATS_TEST_TMPDIR/serve.err" 3>&- &
	SERVE_PID=$!
	until [ -s "$BATS_TEST_TMPDIR/serve.out" ]; do
		kill -0 "$SERVE_PID" || { cat "$BATS_TEST_TMPDIR/serve.err" >&2; return 1; }
		nap 0.01
	done
	URL=$(sed 's/\/#.*//' "$BATS_TEST_TMPDIR/serve.out")
	CODE=$(sed 's/.*#code=//' "$BATS_TEST_TMPDIR/serve.out")
	PORT=${URL##*:}
	export URL CODE PORT SERVE_PID
}

# Ends it; its exit status. What it said goes to stderr.
serve_end() {
	local status=0
	[ -n "${SERVE_PID-}" ] || return 0
	kill "$SERVE_PID" 2>/dev/null
	wait "$SERVE_PID" || status=$?
	SERVE_PID=
	sed "/: http:\/\/\|: unix:/d" "$BATS_TEST_TMPDIR/serve.err" >&2
	return "$status"
}

cleanup() { serve_end; }

# A request on the Unix socket, as the user whose server it is: PATH [CURL OPTION...].
ask() { curl -sSN --max-time 20 --unix-socket "$BATS_TEST_TMPDIR/socket" "${@:2}" "http://localhost$1"; }

# The same over TCP with the token in $TOKEN.
ask_tcp() { curl -sSN --max-time 20 -H "Authorization: Bearer $TOKEN" "${@:2}" "$URL$1"; }

# The data of the messages in a stream, one per line; a name is put before it, an id behind.
messages() {
	awk '/^event: / { name = substr($0, 8) ": " } /^id: / { id = " " substr($0, 5) }
		/^data: / { data = data substr($0, 7) } /^$/ { if (data != "") print name data id; name = id = data = "" }'
}

# What status a request gets: [CURL OPTION...] URL.
status_of() { curl -s --max-time 20 -o "$BATS_TEST_TMPDIR/body" -w '%{http_code}' "$@"; }

# What bytes on stdin get, from a server that then closes, or after 2 s.
raw() { timeout 5 python3 -S "$ROOT/tests/support/raw.py" "$PORT" "$@"; }
