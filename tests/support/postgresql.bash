# Sourced by the bats files that need a PostgreSQL: a server for each file, on a Unix socket alone.
# shellcheck shell=bash

# As who the server runs, which refuses root.
as_postgres() {
	if [ "$(id -u)" = 0 ]; then
		setpriv --reuid=postgres --regid=postgres --clear-groups "$@"
	else
		"$@"
	fi
}

# Makes and starts it; without its programs, or a user for it, the tests are left out.
postgresql_begin() {
	local bin
	bin=$(find /usr/lib/postgresql /usr/local/bin -maxdepth 3 -name initdb -printf '%h\n' 2>/dev/null | sort -V | tail -n 1)
	if [ -z "$bin" ] || ! command -v psql >/dev/null || [ ! -e "$BUILD/libexec/awf/awf-ship-postgresql" ] ||
		{ [ "$(id -u)" = 0 ] && ! id postgres >/dev/null 2>&1; }; then
		return 0
	fi
	PGROOT=$(mktemp -d /tmp/awf-pg.XXXXXX)
	export PGROOT PGBIN=$bin PGHOST=$PGROOT PGPORT=5432 PGUSER=postgres PGDATABASE=postgres
	chmod 711 "$PGROOT"
	[ "$(id -u)" != 0 ] || chown postgres: "$PGROOT"
	PATH=$bin:$PATH # not the psql that is a script which looks for one
	postgresql_template
	cp -a "$BUILD/tests/postgresql" "$PGROOT/data"
	printf '%s\n' "listen_addresses = ''" "unix_socket_directories = '$PGROOT'" "fsync = ${PGFSYNC:-off}" >>"$PGROOT/data/postgresql.conf"
	postgresql_start
}

# The directory that each server begins with, made once.
postgresql_template() {
	local template=$BUILD/tests/postgresql
	(
		flock 9
		[ ! -e "$template" ] || exit 0
		cd / && as_postgres initdb -D "$PGROOT/new" -U postgres -A trust -E UTF8 --no-locale --no-sync --wal-segsize=1 &&
			cp -a "$PGROOT/new" "$template.new" && mv "$template.new" "$template" && rm -r "$PGROOT/new"
	) 9>"$template.lock" >/dev/null </dev/null
}

postgresql_start() {
	(cd / && as_postgres "$PGBIN/pg_ctl" -D "$PGROOT/data" -l "$PGROOT/log" -w -t 60 start) >/dev/null </dev/null 3>&-
}

postgresql_end() {
	[ -n "${PGROOT-}" ] || return 0
	(cd / && as_postgres "$PGBIN/pg_ctl" -D "$PGROOT/data" -m immediate -w stop) >/dev/null </dev/null
	rm -rf "$PGROOT"
}

# Kills all of the server at once, and starts it anew.
postgresql_crash() {
	postgresql_crash_begin
	eventually postgresql_start
}

postgresql_crash_begin() {
	local pid
	pid=$(head -n 1 "$PGROOT/data/postmaster.pid")
	# shellcheck disable=SC2046
	kill -9 "$pid" $(cat "/proc/$pid/task/$pid/children") 2>/dev/null
	while kill -0 "$pid" 2>/dev/null && [ "$(cut -d' ' -f3 "/proc/$pid/stat" 2>/dev/null)" != Z ]; do nap 0.01; done
	# Its children that were just begun go, too.
	eventually sh -c '! grep -lsx "$0" /proc/[0-9]*/cwd' "$PGROOT/data"
	rm -f "$PGROOT/data/postmaster.pid" "$PGROOT"/.s.PGSQL*
}

# SIGNAL: all of the server stands still (STOP), or goes on (CONT).
postgresql_signal() {
	local pid
	pid=$(head -n 1 "$PGROOT/data/postmaster.pid")
	# shellcheck disable=SC2046
	kill "-$1" "$pid" $(cat "/proc/$pid/task/$pid/children")
}

# A database of its own for each test.
prepare() {
	[ -n "${PGROOT-}" ] || skip 'needs PostgreSQL, and awf-ship built with libpq'
	PGDATABASE=t$BATS_TEST_NUMBER
	psql -Xq -d postgres -c "CREATE DATABASE $PGDATABASE"
	TO=postgresql:///$PGDATABASE
}

# What the target answers to a query, columns with | between.
sql() { psql -XqAt -v ON_ERROR_STOP=1 -c "$1"; }
