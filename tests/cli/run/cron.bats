#!/usr/bin/env bats
# examples/cron: the table under a real cron daemon, which sees its own spool and no other,
# and the units of systemd. Cron starts on the minute, so this
# takes up to 60 s
# shellcheck shell=bash disable=SC2016,SC2154
load ../../support/helpers
bats_require_minimum_version 1.5.0

# A workflow in ~/flows.
flow() {
	: >"$HOME/flows/repositories"
	printf '%s\n' '#!/usr/bin/env -S awf-run --' "$2" >"$HOME/flows/$1"
	chmod +x "$HOME/flows/$1"
}

# The example's line, every minute, for another workflow: the storage, home and programs
# are the test's.
table() {
	local file
	printf '%s\n' "HOME=$HOME" "AWF_STORAGE=$AWF_STORAGE" AWF_SYNC=none \
		"PATH=$PATH" MAILTO=root
	for file; do sed -n "s|^0 6 |* * |; s|digest.awf|$file|p" "$ROOT/examples/cron/crontab" | grep awf-run; done
}

# Runs a command with cron(8) in namespaces of its own: its spool, its mail and its pid
# are in $SPOOL, and nothing of it is left when the command has ended.
with_cron() {
	SPOOL=$BATS_TEST_TMPDIR/spool
	export SPOOL
	mkdir -p "$SPOOL/cron/crontabs" "$SPOOL/run" "$SPOOL/sbin" "$SPOOL/pam.d" "$SPOOL/empty" "$SPOOL/mail"
	cp "$(command -v cron)" "$SPOOL/sbin/cron"
	printf '#!/bin/sh\ncat >"%s/mail/$$"\n' "$SPOOL" >"$SPOOL/sbin/sendmail"
	chmod +x "$SPOOL/sbin/sendmail"
	printf '%s\n' 'auth required pam_permit.so' 'account required pam_permit.so' 'session required pam_permit.so' >"$SPOOL/pam.d/cron"
	: >"$SPOOL/crontab"
	install -m 600 table "$SPOOL/cron/crontabs/root"
	unshare --mount --pid --fork --mount-proc --kill-child --propagation private sh -euc '
		mount --bind "$SPOOL/cron" /var/spool/cron
		mount --bind "$SPOOL/run" /run
		mount --bind "$SPOOL/empty" /etc/cron.d
		mount --bind "$SPOOL/crontab" /etc/crontab
		mount --bind "$SPOOL/pam.d" /etc/pam.d
		mount --bind "$SPOOL/sbin" /usr/sbin
		/usr/sbin/cron -f -L 0 &
		"$@"' sh "$@" 3>&-
}

# What the test waits for: each of the three lines has run once.
waiting() {
	cat <<-'END'
		awf-run -n --name busy.awf sleep 1000 &
		for _ in $(seq 450); do
			sleep 0.2
			# The mail is what comes last, of what fails.
			mails=("$SPOOL"/mail/*)
			[ -e "${mails[0]}" ] || continue
			ended=$(jq -r 'select(.type != "run.started") | "\(.name) \(.status // .type)"' "$AWF_STORAGE/audit.jsonl" 2>/dev/null | sort -u | paste -sd,)
			case $ended in
			*bad.awf\ failed*busy.awf\ run.skipped*good.awf\ success*) exit 0 ;;
			esac
		done
		exit 1
	END
}

# bats test_tags=turn:2
@test "the table: silent on success, one line mailed on failure, skipped while it runs, older runs removed" {
	command -v cron >/dev/null || skip "needs cron"
	[ "$(id -u)" -eq 0 ] && unshare --mount --pid --fork true 2>/dev/null || skip "needs root and namespaces"
	for file in /etc/crontab /etc/cron.d /var/spool/cron; do [ -e "$file" ] || skip "needs Debian's places: $file"; done
	mkdir -p "$HOME/flows"
	flow good.awf 'awf-step -n -o out.txt say -- echo done'
	flow bad.awf 'exit 7'
	flow busy.awf 'touch ~/two; true'
	awf-run -n --name good.awf --id-file old true
	sed -i 's/"timestamp":"[^"]*"/"timestamp":"2001-01-01T00:00:00.000000Z"/' "$AWF_STORAGE/transcripts/$(cat old).jsonl"
	rm "$AWF_STORAGE/audit.jsonl"
	table good.awf bad.awf busy.awf >table
	same "$(grep -c '^\* \* \* \* \*  cd flows && awf-run --overlap skip --keep 30d' table)" 3
	waiting >wait.sh
	with_cron bash ./wait.sh
	same "$(ls "$SPOOL/mail" | wc -l)" 1
	# What is mailed, behind its headers.
	grep -q '^Subject: Cron <root@.*bad.awf' "$SPOOL"/mail/*
	same "$(sed '1,/^$/d' "$SPOOL"/mail/*)" 'awf-run: bad.awf: exit status 7'
	jq -e '.data == "done\n" or .data == "done"' "$HOME/flows/out.txt" >/dev/null
	[ ! -e "$HOME/two" ]
	[ ! -e "$AWF_STORAGE/transcripts/$(cat old).jsonl" ]
	grep -q '"run.pruned"' "$AWF_STORAGE/audit.jsonl"
}

@test "the units are what systemd takes, and run what the table runs" {
	cd "$ROOT/examples/cron"
	same "$(sed -n 's|^ExecStart=/usr/local/bin/||p' awf-digest.service)" "$(sed -n 's/^0 6 .*&& \(.*\) <repositories$/\1/p' crontab)"
	same "$(sed -n 's/^OnCalendar=.* 0*\([0-9]*\):0*\([0-9]\).*/\2 \1/p' awf-digest.timer)" "$(sed -n 's/^\(0 6\) .*/\1/p' crontab)"
	command -v systemd-analyze >/dev/null || skip "needs systemd-analyze"
	mkdir -p "$BATS_TEST_TMPDIR/units" "$HOME/flows"
	for unit in awf-digest.service awf-digest.timer; do
		sed "s|/usr/local/bin/|$BUILD/bin/|" "$unit" >"$BATS_TEST_TMPDIR/units/$unit"
	done
	cd "$BATS_TEST_TMPDIR/units"
	run -0 env XDG_RUNTIME_DIR="$BATS_TEST_TMPDIR" systemd-analyze --user --man=no verify awf-digest.timer awf-digest.service
	same "$output" ""
}

@test "the units that are among the examples are restricted, and sandboxes in them work" {
	command -v systemd-analyze >/dev/null || skip "needs systemd-analyze"
	for unit in "$ROOT"/examples/*/*.service; do
		sed "s|/usr/local/bin/|$BUILD/bin/|" "$unit" >"$(basename "$unit")"
		grep -q '^NoNewPrivileges=yes$' "$unit"
		grep -q '^ProtectSystem=' "$unit"
		run -0 systemd-analyze --no-pager --offline=true --threshold=60 security "$(basename "$unit")"
	done
	# These would leave a sandboxed tool without namespaces, or without its own /proc.
	run -1 grep -E '^(RestrictNamespaces|ProtectKernelTunables|ProtectKernelLogs|ProtectProc|SystemCallFilter)=' \
		"$ROOT"/examples/{cron,serve,worker}/*.service
	[ "$(id -u)" = 0 ] || skip "needs root to give up what a service of a user lacks"
	mkdir -p place/below
	chown -R 65534 place
	chmod 711 "$BATS_RUN_TMPDIR" "$BATS_TEST_TMPDIR" .
	cd place/below
	run -0 --separate-stderr setpriv --reuid=65534 --regid=65534 --clear-groups --no-new-privs --inh-caps=-all --bounding-set=-all \
		env HOME="$PWD/.." XDG_CONFIG_HOME="$PWD/.." XDG_DATA_HOME="$PWD/.." AWF_STORAGE="$PWD/../storage" awf-step -i json -t bash call -r <<<'{"command":"id -u; touch inside"}'
	same "$output" 65534
	[ -e inside ]
}

@test "the line runs as it stands, by the user's own shell" {
	mkdir -p "$HOME/flows"
	flow digest.awf 'awf-step -n -q say -- true'
	line=$(sed -n 's/^0 6 \* \* \*  //p' "$ROOT/examples/cron/crontab")
	run -0 --separate-stderr sh -c "cd && $line"
	same "$output$stderr" ""
	flow digest.awf 'awf-step -n -q say -- false'
	run -3 sh -c "cd && $line"
	same "${lines[-2]}" 'awf-run: digest.awf: step say:0:0 failed: false: exit status 1'
}
