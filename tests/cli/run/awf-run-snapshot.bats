#!/usr/bin/env bats
# awf-run --workspace and --snapshot: where the workflow starts, and the copy of that
# place from before.
# shellcheck shell=bash disable=SC2016,SC2030,SC2031,SC2154
load ../../support/helpers
bats_require_minimum_version 1.5.0

cleanup() {
	local pids
	pids=$(jobs -p)
	# shellcheck disable=SC2086
	[ -z "$pids" ] || kill -9 $pids 2>/dev/null || true
	chmod -R u+rwx "$BATS_TEST_TMPDIR"
}

# The first line's payload, by a jq expression.
started() { head -n 1 "$(transcript)" | jq -c ".payload | $1"; }
snapshot() { echo "$AWF_STORAGE/snapshots/$(jq -r .run_id "$(transcript)" | head -n 1)"; }
# Everything below a directory: kind, mode, time, what a link says, and contents.
listing() { (cd "$1" && find . -printf '%y %m %T@ %p %l\n' | sort && find . -type f -exec cksum {} + | sort); }
left() { find "$AWF_STORAGE/snapshots" "$AWF_STORAGE/transcripts" "$AWF_STORAGE/runs" -mindepth 1; }

@test "the workflow starts in the workspace, and the record says so" {
	mkdir place
	run -0 awf-run -n --workspace place -c 'pwd; echo "$PWD"; touch made'
	same "$output" "$PWD/place
$PWD/place"
	[ -e place/made ]
	same "$(started '[.cwd, .workspace, .snapshot]')" "[\"$PWD/place\",\"$PWD/place\",null]"
	awf-run -n true
	same "$(started '[.cwd, .workspace, .snapshot]')" "[\"$PWD\",null,null]"
}

@test "a workspace through a symbolic link is recorded as what it is" {
	mkdir place
	ln -s place link
	same "$(awf-run -n --workspace link -c 'echo "$PWD"')" "$PWD/place"
	same "$(started .cwd)" "\"$PWD/place\""
}

@test "the workflow and files of options are relative to the current directory" {
	mkdir place
	echo 'echo script in "${PWD##*/}" "$@"' >flow
	printf '#!/bin/sh\necho exec in "${PWD##*/}"\n' >"./exec"
	printf '#!/bin/sh\nexec /bin/sh "$@"\n' >shell
	chmod +x ./exec shell
	same "$(awf-run -n --workspace place flow a)" 'script in place a'
	same "$(awf-run -n --workspace place ./exec)" 'exec in place'
	same "$(started '.argv[1]')" "\"$PWD/./exec\""
	same "$(awf-run -n --workspace place --shell ./shell flow)" 'script in place'
	same "$(awf-run -n --workspace place --id-file id -c 'ls')" ''
	[ -s id ]
}

@test "what is no directory is a mistake" {
	touch file
	while IFS='|' read -r arguments message; do
		eval "run -125 --separate-stderr awf-run $arguments"
		same "$output" ""
		same "$stderr" "awf-run: $message"
	done <<-'END'
		--workspace nowhere true|--workspace: unable to start in 'nowhere': No such file or directory
		--workspace file true|--workspace: 'file' is no directory
		--snapshot --no-transcript true|--snapshot: not with --no-transcript: there would be nothing to replay
		--snapshot --mask cat true|--snapshot: not with --mask: a masked run cannot be replayed
	END
	[ ! -e "$AWF_STORAGE" ]
}

@test "the snapshot is the workspace as it was" {
	mkdir -p a/b closed 'odd name'
	echo one >a/b/one
	head -c 300000 /dev/urandom >a/large
	truncate -s 100M a/holes
	printf x | dd of=a/holes bs=1 seek=50000000 conv=notrunc status=none
	echo run >a/run && chmod 4755 a/run
	echo read >closed/read && chmod 444 closed/read && chmod 555 closed
	ln -s nowhere dangling
	ln -s ../.. a/up
	touch 'odd name/'$'new\nline' && touch -d '2001-02-03 04:05:06.789' a/b/one 'odd name'
	listing . >"$BATS_TEST_TMPDIR/before"
	awf-run -n --snapshot -c 'rm -r a; echo new >new'
	same "$(started .snapshot)" true
	listing "$(snapshot)" >"$BATS_TEST_TMPDIR/copy"
	diff "$BATS_TEST_TMPDIR/before" "$BATS_TEST_TMPDIR/copy"
	[ "$(du -k "$(snapshot)/a/holes" | cut -f 1)" -lt 1000 ]
	awf-verify
}

@test "the snapshot of a workspace that is named" {
	mkdir place
	touch place/in out
	awf-run -n --snapshot --workspace place true
	same "$(ls "$(snapshot)")" in
}

@test "the storage inside the workspace, sockets and pipes are left out" {
	export AWF_STORAGE="$PWD/deep/storage"
	mkdir deep
	mkfifo pipe
	python3 -c 'import socket; socket.socket(socket.AF_UNIX).bind("socket")'
	touch deep/file
	awf-run -n --snapshot true
	awf-run -n --snapshot true
	same "$(cd "$(snapshot)" && find . | sort | paste -sd' ')" ". ./deep ./deep/file"
}

@test "a workspace that cannot be copied whole: the run does not begin, nothing stays" {
	mkdir -p a/b
	echo first >a/b/file
	head -c 300000 /dev/zero >a/large
	run -125 --separate-stderr sh -c 'ulimit -f 200; exec awf-run -n --snapshot -c "touch started"'
	same "$stderr" "awf-run: ./a/large: unable to copy: File too large"
	[ ! -e started ]
	same "$(left)" ""
	same "$(cat "$AWF_STORAGE/audit.jsonl" 2>/dev/null)" ""
}

@test "a file that cannot be read stops it" {
	user=()
	if [ "$(id -u)" -eq 0 ]; then
		user=(setpriv --reuid 65534 --regid 65534 --clear-groups)
		chmod 755 "$BATS_TEST_TMPDIR" "$BATS_RUN_TMPDIR" "$BATS_SUITE_TMPDIR" "$BATS_FILE_TMPDIR"
		install -d -o 65534 "$AWF_STORAGE"
	fi
	"${user[@]}" test -x "$BUILD/bin/awf-run" || skip 'another user cannot come here'
	install -m 000 /dev/null secret
	run -125 --separate-stderr "${user[@]}" awf-run -n --snapshot true
	same "$stderr" "awf-run: ./secret: unable to open: Permission denied"
	same "$(left)" ""
}

@test "a signal during the copy ends it, and awf-run with it" {
	mkdir -p many
	(cd many && seq 20000 | xargs touch)
	awf-run -n --snapshot -c 'touch started' 2>message &
	eventually test -d "$AWF_STORAGE/snapshots"
	eventually sh -c 'ls "$AWF_STORAGE/snapshots" | grep -q .'
	kill -TERM $!
	status=0
	wait $! || status=$?
	same "$status" 143
	[ ! -e started ]
	same "$(left)" ""
	grep -q 'not copied: cancelled' message
}

@test "a run that cannot be made drops its snapshot" {
	awf-run -n true
	rm "$AWF_STORAGE"/latest "$AWF_STORAGE"/transcripts/*
	rmdir "$AWF_STORAGE/runs"
	printf 'x' >"$AWF_STORAGE/runs"
	run -125 awf-run -n --snapshot true
	same "$(ls "$AWF_STORAGE/snapshots")" ""
}
