# Sourced by the bats files about awf-serve --db: servers by number, each with a cache of its own.
# shellcheck shell=bash

# A test says itself which kind of database it is about.
prepare() { :; }

on_sqlite() {
	[ -e "$BUILD/libexec/awf/awf-mirror-sqlite" ] || skip 'built without libsqlite3'
	command -v sqlite3 >/dev/null || skip 'no sqlite3 here'
	TO=sqlite:$PWD/runs.db
	sql() { sqlite3 -cmd '.timeout 20000' "${TO#sqlite:}" "$1"; }
}

on_postgresql() {
	[ -n "${PGROOT-}" ] || skip 'needs PostgreSQL, and awf-ship built with libpq'
	PGDATABASE=t$BATS_TEST_NUMBER
	psql -Xq -d postgres -c "CREATE DATABASE $PGDATABASE"
	TO=postgresql:///$PGDATABASE
	sql() { psql -XqAt -v ON_ERROR_STOP=1 -c "$1"; }
}

# serve_db N [OPTION...]: the server with this number; it listens on the socket "socketN".
serve_db() {
	mkdir -p "$AWF_STORAGE"
	rm -f "socket$1"
	XDG_CACHE_HOME=$PWD/cache$1 awf-serve --db "$TO" --listen "unix:$PWD/socket$1" "${@:2}" 2>>"serve$1.err" 3>&- &
	SERVERS[$1]=$!
	eventually test -S "socket$1"
}

serve_db_end() {
	kill "${SERVERS[$1]}"
	wait "${SERVERS[$1]}" || true
	unset "SERVERS[$1]"
}

cleanup() {
	local pid
	[ -z "${STOPPED-}" ] || postgresql_signal CONT
	for pid in "${SERVERS[@]}" ${SHIP_PID-} ${RUN_PID-}; do
		kill "$pid" 2>/dev/null || true
		wait "$pid" 2>/dev/null || true
	done
}

SERVERS=()

# N PATH [CURL OPTION...]
ask() { curl -sSN --max-time 30 --unix-socket "socket$1" "${@:3}" "http://localhost$2"; }
status_of_run() { curl -s -o /dev/null -w '%{http_code}' --unix-socket "socket$1" "${@:3}" "http://localhost/api/runs/$2" | tail -c 3; }

# N NAME VALUE: one of the figures of the database.
metric_is() { ask "$1" /metrics | grep -qx "awf_database_$2 $3"; }

# Waits until all that the database has is there.
copied() { eventually copied_now "$1"; }
copied_now() { metric_is "$1" connected 1 && metric_is "$1" runs_behind 0; }

names() { ask "$1" /api/runs | jq -r '[.runs[].name] | sort | join(" ")'; }
names_are() { [ "$(names "$1")" = "$2" ]; }
has_begun() { [ "$(status_of_run "$1" "$2")" = 200 ]; }
latest() { basename "$(transcript)" .jsonl; }
