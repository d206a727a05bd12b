#!/usr/bin/env bats
# awf-ctl prune when it is killed, and when the system fails it.
# shellcheck shell=bash disable=SC2016,SC2034,SC2154
load ../support/helpers
bats_require_minimum_version 1.5.0

faulty() {
	local fault=$1
	shift
	env ASAN_OPTIONS=verify_asan_link_order=0:detect_leaks=0 \
		LD_PRELOAD="$BUILD/tests/fault/preload.so" FAULT="$fault" "$@"
}

# A run with a blob, a snapshot and input kept.
made() {
	mkdir -p space
	: >space/file
	awf-run --name "${2-a}" --id-file "$1" --snapshot --workspace space -c 'awf-step -q big -- cat' <large
}
prepare() { head -c 300000 /dev/zero | tr '\0' x >large; }
traces() { find "$AWF_STORAGE" -path "*$(cat "$1")*"; }
cleanup() { [ -z "${immovable-}" ] || chattr -i "$immovable" 2>/dev/null || true; }

# Ids that anything in the storage belongs to, but a whole run with a transcript does not.
halves() {
	find "$AWF_STORAGE" -mindepth 2 -maxdepth 2 -printf '%f\n' | cut -c1-36 | sort -u |
		while read -r id; do
			[ -e "$AWF_STORAGE/transcripts/$id.jsonl" ] && [ -d "$AWF_STORAGE/blobs/$id" ] &&
				[ -d "$AWF_STORAGE/snapshots/$id" ] && [ -e "$AWF_STORAGE/inputs/$id" ] || echo "$id"
		done
}
audit() { jq -c "$1" "$AWF_STORAGE/audit.jsonl"; }

@test "a half-pruned run is finished by the next prune, whatever that one is for" {
	for removed in 'x' 'blobs/ID' 'blobs/ID snapshots/ID' 'blobs/ID snapshots/ID inputs/ID'; do
		made 1
		made 2
		id=$(cat 1)
		mv "$AWF_STORAGE/transcripts/$id.jsonl" "$AWF_STORAGE/transcripts/$id.pruned"
		for part in $removed; do rm -rf "${AWF_STORAGE:?}/${part/ID/$id}"; done
		run -1 awf-tail "$id"
		run -0 awf-tail --list
		[[ $output != *"${id:0:8}"* ]]
		run -0 --separate-stderr awf-ctl prune --max-count 100 --name other -v
		same "${#lines[@]}" 1
		same "$stderr" ""
		same "$(traces 1)" ""
		same "$(audit "select(.type == \"run.pruned\" and .run_id == \"$id\").name")" '"a"'
		same "$(halves)" ""
	done
}

@test "a half-pruned run whose end another is about to tell is left to that one" {
	made 1
	pruned="$AWF_STORAGE/transcripts/$(cat 1).pruned"
	mv "${pruned%.pruned}.jsonl" "$pruned"
	run -0 --separate-stderr flock "$pruned" awf-ctl prune --max-count 100 -v
	same "$output$stderr" ""
	[ -e "$pruned" ]
	same "$(audit 'select(.type == "run.pruned")')" ""
	run -0 awf-ctl prune --max-count 100 -v
	same "${#lines[@]}" 1
	same "$(traces 1)" ""
	same "$(audit 'select(.type == "run.pruned").run_id')" "\"$(cat 1)\""
}

# bats test_tags=turn:2
@test "killed at any moment: nothing but whole runs after the next prune" {
	for round in $(seq "$(rounds 6 24)"); do
		for i in 1 2 3 4 5 6; do made "$i"; done
		awf-ctl prune --max-count 2 3>&- &
		sleep "0.00$((round * 7 % 10))"
		kill -9 $! 2>/dev/null || true
		wait $! 2>/dev/null || true
		# What is there as a run is whole.
		awf-tail --list --json | jq -r .run_id | while read -r id; do awf-verify -q "$id"; done
		run -0 --separate-stderr awf-ctl prune --max-count 2
		same "$output$stderr" ""
		same "$(halves)" ""
		same "$(find "$AWF_STORAGE/transcripts" -type f | wc -l)" 2
		[ -e "$(transcript)" ]
	done
}

@test "killed while a run is archived: it is whole, the command goes too, and the next archives it" {
	made 1
	awf-ctl prune --max-count 0 --archive 'echo $$ >pid.new; mv pid.new pid; sleep 1000' 3>&- &
	eventually test -s pid
	kill -9 $!
	wait $! 2>/dev/null || true
	eventually gone "$(cat pid)"
	awf-verify -q "$(cat 1)"
	same "$(halves)" ""
	run -0 --separate-stderr awf-ctl prune --max-count 0 --archive 'echo "$AWF_ARCHIVE_RUN" >>archived'
	same "$output$stderr$(traces 1)" ""
	same "$(cat archived)" "$(cat 1)"
}

@test "what was archived and began to go is not archived again" {
	awf-run -n --name outer --id-file 1 -c 'awf-run -n --name inner --id-file 2 true'
	mv "$AWF_STORAGE/transcripts/$(cat 1).jsonl" "$AWF_STORAGE/transcripts/$(cat 1).pruned"
	run -0 --separate-stderr awf-ctl prune --max-count 0 --archive 'touch archived'
	same "$output$stderr$(traces 1; traces 2)" ""
	[ ! -e archived ]
}

@test "an archive that the disk is too full for leaves the run" {
	made 1
	run -3 --separate-stderr awf-ctl prune --max-count 0 --archive 'cd "$AWF_STORAGE" && cat "$1" >/dev/full'
	[[ $stderr == *"No space left on device"*"awf-ctl: --archive: run $(cat 1) stays: exit status "* ]]
	same "$(halves)" ""
	FAULT_FORK=1 run -4 --separate-stderr faulty 'none 0 0 EIO' awf-ctl prune --max-count 0 --archive true
	same "$stderr" "awf-ctl: --archive: run $(cat 1) stays: unable to fork: Resource temporarily unavailable"
	same "$(halves)" ""
}

@test "killed in the midst of a run with others inside: all of them go" {
	awf-run -n --name outer --id-file outer -c 'for i in 1 2 3; do awf-run -n --name inner --id-file inner.$i true; done'
	id=$(cat outer)
	mv "$AWF_STORAGE/transcripts/$id.jsonl" "$AWF_STORAGE/transcripts/$id.pruned"
	rm "$AWF_STORAGE/transcripts/$(cat inner.2).jsonl"
	awf-ctl prune --max-count 100
	same "$(find "$AWF_STORAGE/transcripts" -type f)" ""
}

@test "a run goes with none of those inside of it if one of them cannot be locked" {
	awf-run -n --name outer --id-file outer -c 'for i in 1 2 3; do awf-run -n --name inner --id-file inner.$i true; done'
	for child in 1 2 3; do
		: >"$AWF_STORAGE/runs/$(cat inner.$child)"
		run -4 --separate-stderr awf-ctl prune --max-count 0
		same "$stderr" "awf-ctl: $AWF_STORAGE/runs/$(cat inner.$child): unable to lock the run: Not a directory"
		rm "$AWF_STORAGE/runs/$(cat inner.$child)"
		same "$(find "$AWF_STORAGE/transcripts" -name '*.jsonl' | wc -l)" 4
		same "$(ls "$AWF_STORAGE/runs")" ""
		same "$(audit 'select(.type == "run.pruned")')" ""
	done
	run -0 awf-ctl prune --max-count 0
	same "$(find "$AWF_STORAGE/transcripts" -type f)" ""
}

# bats test_tags=turn:3
@test "more runs inside of a run than are locked at once: all of them go" {
	awf-run -n --name outer --id-file outer -c 'awf-run -n --name inner --id-file inner true'
	for i in $(seq -f %03g 300); do
		id=$(cat inner)
		sed "s/$id/${id%???}$i/g" "$AWF_STORAGE/transcripts/$id.jsonl" >"$AWF_STORAGE/transcripts/${id%???}$i.jsonl"
	done
	run -0 awf-ctl prune --max-count 0 -v
	same "$(wc -l <<<"$output")" "$(sort -u <<<"$output" | wc -l)"
	[ "${#lines[@]}" -ge 301 ]
	same "$(find "$AWF_STORAGE/transcripts" -type f)" ""
	same "$(ls "$AWF_STORAGE/runs")" ""
}

@test "what cannot be removed is told, is tried again, and does not keep the others" {
	made 1
	made 2
	immovable="$AWF_STORAGE/snapshots/$(cat 1)/file"
	chattr +i "$immovable" 2>/dev/null || skip "needs chattr"
	run -4 --separate-stderr awf-ctl prune --max-count 0
	same "$stderr" "awf-ctl: $AWF_STORAGE/snapshots/$(cat 1): unable to remove: Operation not permitted"
	same "$(traces 2)" ""
	run -0 awf-tail --list
	same "$(wc -l <<<"$output")" 1
	run -4 awf-ctl prune --max-count 100
	run -0 --separate-stderr awf-run -n --keep 1d -c 'echo ran'
	same "$output" ran
	same "$stderr" "awf-run: $AWF_STORAGE/snapshots/$(cat 1): unable to remove: Operation not permitted"
	chattr -i "$immovable"
	run -0 awf-ctl prune --max-count 100
	same "$(traces 1)" ""
}

@test "a run that cannot be read may wait, one that cannot be locked may live: they stay" {
	made 1
	made 2
	made 3
	mv "$AWF_STORAGE/transcripts/$(cat 1).jsonl" aside
	ln -s "$PWD/aside" "$AWF_STORAGE/transcripts/$(cat 1).jsonl"
	: >"$AWF_STORAGE/runs/$(cat 2)"
	run -4 --separate-stderr awf-ctl prune --max-count 0
	same "$stderr" "awf-ctl: $AWF_STORAGE/runs/$(cat 2): unable to lock the run: Not a directory"
	same "$(traces 3)" ""
	rm "$AWF_STORAGE/transcripts/$(cat 1).jsonl" "$AWF_STORAGE/runs/$(cat 2)"
	mv aside "$AWF_STORAGE/transcripts/$(cat 1).jsonl"
	same "$(halves)" ""
	run -0 awf-ctl prune --max-count 0
	same "$(traces 1; traces 2)" ""
}

@test "a full disk: pruning makes room, and says what it could not write down" {
	unshare -m true 2>/dev/null || skip "needs the right to mount"
	mkdir "$AWF_STORAGE"
	unshare -m sh -c 'mount -t tmpfs -o size=1m,mode=700 small "$AWF_STORAGE" &&
		awf-run --id-file id -c "awf-step -q big -- cat" <large
		head -c 2000000 /dev/zero >"$AWF_STORAGE/fill" 2>/dev/null
		awf-ctl prune --max-count 0
		echo "status $?"
		ls "$AWF_STORAGE"/transcripts "$AWF_STORAGE"/blobs' >out 2>&1
	grep -qx 'status 0' out
	same "$(grep -c "$(cat id)" out)" 0
}

@test "an audit trail that cannot be written is a warning; the runs go" {
	made 1
	run -0 faulty 'write 2 1 ENOSPC' env AWF_SYNC=none awf-ctl prune --max-count 0
	same "$(traces 1)" ""
	made 1
	rm "$AWF_STORAGE/audit.jsonl"
	mkdir "$AWF_STORAGE/audit.jsonl"
	run -0 awf-ctl prune --max-count 0
	same "$output" "awf-ctl: $AWF_STORAGE/audit.jsonl: unable to write the audit trail: Is a directory"
	same "$(traces 1)" ""
}

@test "a storage that cannot be read is told by its name" {
	mkdir "$AWF_STORAGE"
	: >"$AWF_STORAGE/transcripts"
	run -4 awf-ctl prune --max-count 0
	same "$output" "awf-ctl: $AWF_STORAGE/transcripts: unable to read the directory: Not a directory"
}
