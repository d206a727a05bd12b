#!/usr/bin/env bats
# bats file_tags=turn:2
# awf-ctl prune and --keep: which runs go, and what of them.
# shellcheck shell=bash disable=SC2010,SC2016,SC2154
load ../../support/helpers
bats_require_minimum_version 1.5.0

cleanup() {
	local pids
	pids=$(jobs -p)
	# shellcheck disable=SC2086
	[ -z "$pids" ] || kill -9 $pids 2>/dev/null || true
}

# Lets a run have been DAYS days ago.
age() {
	local when
	when=$(date -u -d "-$2 days" +%Y-%m-%dT%H:%M:%S.000000Z)
	# In place: a run may have it open.
	sed "s/\"timestamp\":\"[^\"]*\"/\"timestamp\":\"$when\"/" "$AWF_STORAGE/transcripts/$1.jsonl" >aged
	cat aged >"$AWF_STORAGE/transcripts/$1.jsonl"
}
# Makes a run of a name that ended DAYS days ago: made FILE-FOR-ITS-ID NAME DAYS.
made() {
	# A run's size has in it the PATH that it records.
	PATH="$BUILD/bin:/usr/bin:/bin" awf-run -n --name "$2" --id-file "$1" -c 'echo ran' >/dev/null
	age "$(cat "$1")" "$3"
}
there() { [ -e "$AWF_STORAGE/transcripts/$(cat "$1").jsonl" ]; }
# The files of ids whose runs are left.
left() { for file; do if there "$file"; then echo "$file"; fi; done | paste -sd' '; }
# Everything in the storage that has to do with this run.
traces() { find "$AWF_STORAGE" -path "*$(cat "$1")*"; }
latest() { basename "$(readlink "$AWF_STORAGE/latest")" .jsonl; }
audit() { jq -c "$1" "$AWF_STORAGE/audit.jsonl"; }

@test "mistakes" {
	while IFS='|' read -r arguments message; do
		eval "run -1 --separate-stderr awf-ctl prune $arguments"
		same "$output" ""
		same "$stderr" "awf-ctl: $message"
	done <<-'END'
		|prune: no limit given: --older-than, --max-count or --max-size
		--name x --dry-run|prune: no limit given: --older-than, --max-count or --max-size
		--older-than soon|--older-than: 'soon' is no age and no time (as in 12h, 30d, 2026-10-01)
		--older-than 30|--older-than: '30' is no age and no time (as in 12h, 30d, 2026-10-01)
		--max-count -1|--max-count: -1 is not between 0 and 2147483647
		--max-size 5X|--max-size: '5X' is not a size (as in 500, 64K, 20M, 2G)
		--max-size 9999999T|--max-size: '9999999T' is not a size (as in 500, 64K, 20M, 2G)
		--max-size ''|--max-size: '' is not a size (as in 500, 64K, 20M, 2G)
		--max-count 1 --archive ''|--archive: the command is empty
		--archive true|prune: no limit given: --older-than, --max-count or --max-size
		--max-count 1 true|true: is one word too many: awf-ctl prune [options]
		--max-count 1 --keep 1d|--keep: unknown option (see --help)
	END
	run -125 --separate-stderr awf-run --keep always true
	same "$stderr" "awf-run: --keep: 'always' is no age and no time (as in 12h, 30d, 2026-10-01)"
	[ ! -e "$AWF_STORAGE" ]
	run -0 --separate-stderr awf-ctl prune --max-count 0
	same "$output$stderr" ""
	[ ! -e "$AWF_STORAGE" ]
}

@test "by age: silent, and nothing of them is left" {
	mkdir space && echo file >space/file
	head -c 400000 /dev/zero | tr '\0' x >large
	awf-run --name old --id-file old --snapshot --workspace space -c 'awf-step -q big -- cat' <large
	id=$(cat old)
	echo torn >"$AWF_STORAGE/transcripts/$id.torn"
	mkdir -p "$AWF_STORAGE/replays/$id/transcripts" "$AWF_STORAGE/runs/$id"
	echo {} >"$AWF_STORAGE/replays/$id/transcripts/$id.jsonl"
	: >"$AWF_STORAGE/runs/$id/lock"
	for part in blobs inputs snapshots replays runs; do [ -e "$AWF_STORAGE/$part/$id" ]; done
	cp -r "$AWF_STORAGE/blobs/$id" other.blobs
	made young young 29
	age "$id" 31
	run -0 --separate-stderr awf-ctl prune --older-than 30d
	same "$output$stderr" ""
	same "$(traces old)" ""
	there young
	same "$(audit 'select(.type == "run.pruned") | [.run_id, .name, .status]')" "[\"$id\",\"old\",\"success\"]"
	run -1 awf-tail "$id"
	[[ $output == "awf-tail: $id: no such file, and no run whose id begins so in "* ]]
}

# bats test_tags=turn:3
@test "by age, count, size and name" {
	while IFS='|' read -r options expected; do
		rm -rf "$AWF_STORAGE"
		made 1 a 50
		made 2 b 40
		made 3 a 30
		made 4 b 20
		made 5 a 10
		head -c 5000 /dev/zero >"$AWF_STORAGE/inputs/$(cat 4)"
		# shellcheck disable=SC2086
		run -0 awf-ctl prune $options
		same "$options: $output" "$options: "
		same "$options: $(left 1 2 3 4 5)" "$options: $expected"
	done <<-END
		--older-than 60d|1 2 3 4 5
		--older-than 35d|3 4 5
		--older-than $(date -d '-25 days' +%F)|4 5
		--older-than 35d --name a|2 3 4 5
		--older-than 35d --name c|1 2 3 4 5
		--max-count 5|1 2 3 4 5
		--max-count 2|4 5
		--max-count 0|
		--max-count 1 --name a|2 4 5
		--max-count 0 --name b|1 3 5
		--max-size 1G|1 2 3 4 5
		--max-size 6K|5
		--max-size 10K|4 5
		--max-size 0|
		--max-size 8K --name a|1 2 3 4 5
		--max-count 3 --older-than 15d|5
		--max-count 1 --older-than 45d --max-size 1M|5
	END
}

@test "--dry-run tells what would go, --verbose what goes: a line for each run" {
	made old nightly 40
	made older $'späte Schicht' 50
	made young nightly 1
	run -0 --separate-stderr awf-ctl prune --older-than 30d --dry-run
	same "$stderr" ""
	expected="$output"
	same "${#lines[@]}" 2
	[[ ${lines[0]} =~ ^$(cat older)\ \ success\ +$(date -d '-50 days' +%F)\ [0-9:]+\ +[0-9]+\ \ späte\ Schicht$ ]]
	[[ ${lines[1]} == "$(cat old)  success "*"  nightly" ]]
	same "$(left old older young)" 'old older young'
	same "$(audit 'select(.type == "run.pruned")')" ""
	run -0 awf-ctl prune --older-than 30d -v
	same "$output" "$expected"
	same "$(left old older young)" young
	run -0 awf-ctl prune --older-than 30d --verbose
	same "$output" ""
}

@test "a run that lives or waits stays, however old; one that died goes" {
	awf-run -n --id-file alive --name a -c 'touch ready; until [ -e go ]; do sleep 0.01; done' 3>&- &
	eventually test -e ready
	run -75 awf-run -n --id-file waits -c 'echo data | awf-step --approve sign'
	awf-run -n --id-file died -c 'touch up; sleep 1000' 3>&- 2>/dev/null &
	eventually test -e up
	kill -9 $!
	for file in alive waits died; do age "$(cat "$file")" 100; done
	run -0 awf-ctl prune --older-than 1d --max-count 0 --max-size 0
	same "$output" ""
	same "$(left alive waits died)" 'alive waits'
	same "$(traces died)" ""
	touch go
	wait
	run -0 awf-ctl prune --older-than 1d --dry-run
	# Its end is recent.
	same "$output" ""
	awf-ctl deny sign "$(cat waits)"
	age "$(cat alive)" 100
	run -0 awf-ctl prune --older-than 1d
	same "$(left alive waits)" waits
}

@test "a run that waits on and on is one that waits" {
	run -75 awf-run -n --id-file waits -c 'awf-step -n --pending=1d job -- sh -c "exit 75"'
	for _ in 1 2 3 4 5 6 7 8 9; do awf-ctl heartbeat job "$(cat waits)"; done
	age "$(cat waits)" 100
	awf-ctl prune --older-than 1d --max-count 0
	there waits
}

@test "runs inside of a run go with it, and stay with it" {
	family() {
		awf-run -n --name outer --id-file "$1" -c \
			"awf-run -n --name inner --id-file $1.inner -c 'awf-run -n --name innermost --id-file $1.innermost true'"
	}
	family a
	family b
	for file in a a.inner a.innermost b.inner b.innermost; do age "$(cat "$file")" 40; done
	age "$(cat b)" 1
	run -0 awf-ctl prune --older-than 30d -v
	same "${#lines[@]}" 3
	same "$(left a a.inner a.innermost b b.inner b.innermost)" 'b b.inner b.innermost'
	same "$(traces a; traces a.inner; traces a.innermost)" ""
	awf-ctl prune --older-than 30d --name inner
	awf-ctl prune --max-count 1
	same "$(left b b.inner b.innermost)" 'b b.inner b.innermost'
	awf-ctl prune --max-count 0 --name outer
	same "$(find "$AWF_STORAGE/transcripts" -type f)" ""
}

@test "what a run that stays was forked from stays" {
	awf-run -n --id-file first -c 'awf-step -n -q x -- true'
	awf-run --fork "$(cat first)" --at x --id-file second >/dev/null
	awf-run --fork "$(cat second)" --at x --id-file third >/dev/null
	age "$(cat first)" 60
	age "$(cat second)" 50
	awf-ctl prune --older-than 30d
	same "$(left first second third)" 'first second third'
	age "$(cat third)" 40
	awf-ctl prune --older-than 30d
	same "$(left first second third)" ''
}

@test "what runs inside of a run that stays were forked from stays" {
	for i in 1 2 3; do awf-run -n --id-file "$i" -c 'awf-step -n -q x -- true'; done
	awf-run -n --id-file outer -c 'for i in 1 2; do awf-run --fork "$(cat $i)" --at x --id-file fork.$i; done' >/dev/null
	for i in 1 2 3; do age "$(cat "$i")" 60; done
	awf-ctl prune --older-than 30d
	same "$(left 1 2 3 outer fork.1 fork.2)" '1 2 outer fork.1 fork.2'
}

@test "latest names the newest run of a workflow that is left" {
	made 1 a 3
	made 2 a 2
	awf-step -n -q alone -- true
	awf-run -n --name b --id-file 3 -c 'awf-run -n --name c true'
	same "$(latest)" "$(cat 3)"
	awf-ctl prune --older-than 1d
	same "$(latest)" "$(cat 3)"
	made 1 a 3
	made 2 a 2
	made 4 b 1
	awf-ctl prune --max-count 0 --name b
	same "$(latest)" "$(cat 2)"
	run -0 awf-tail @
	awf-ctl prune --max-count 0
	[ ! -L "$AWF_STORAGE/latest" ]
	run -1 awf-tail
	[[ $output == *"there is no run yet"* ]]
	made 5 a 0
	same "$(latest)" "$(cat 5)"
}

@test "who follows runs goes on with the next" {
	made 1 a 3
	awf-tail -F >followed 2>&1 3>&- &
	eventually grep -q 'run completed' followed
	awf-ctl prune --max-count 0
	made 2 b 0
	eventually grep -q "(b, " followed
	kill $!
}

@test "several at once: each run goes once, and none complains" {
	for i in $(seq 24); do made "$i" a 40; done
	for i in 1 2 3 4; do
		awf-ctl prune --older-than 30d -v >"out.$i" 2>"err.$i" 3>&- &
	done
	for pid in $(jobs -p); do wait "$pid"; done
	same "$(cat err.*)" ""
	same "$(cat out.* | wc -l)" 24
	same "$(cut -d' ' -f1 out.* | sort -u | wc -l)" 24
	same "$(audit 'select(.type == "run.pruned").run_id' | wc -l)" 24
	same "$(find "$AWF_STORAGE" -mindepth 2)" ""
}

@test "while others begin: none of them is touched" {
	for i in $(seq 10); do made "$i" a 40; done
	for i in 1 2 3 4 5; do
		awf-run -n --name b --id-file "new.$i" -c 'sleep 0.2' 3>&- &
		awf-ctl prune --older-than 30d 3>&- &
	done
	for pid in $(jobs -p); do wait "$pid"; done
	same "$(left new.1 new.2 new.3 new.4 new.5)" 'new.1 new.2 new.3 new.4 new.5'
	same "$(latest | xargs -I{} grep -l {} new.? | wc -l)" 1
	for i in 1 2 3 4 5; do awf-verify -q "$(cat "new.$i")"; done
}

@test "what belongs to no transcript goes when it is a day old" {
	awf-run -n --no-transcript --id-file killed -c 'touch up; sleep 1000' 3>&- 2>/dev/null &
	eventually test -e up
	kill -9 $!
	wait $! || true
	awf-ctl prune --older-than 1s
	[ -d "$AWF_STORAGE/runs/$(cat killed)" ]
	echo 5b1d5c3e-4b52-4d3c-8f0e-6f3f7f1c2a11 >half
	mkdir -p "$AWF_STORAGE/snapshots/$(cat half)/a/b"
	: >"$AWF_STORAGE/inputs/$(cat half).part"
	touch -d '-2 days' "$AWF_STORAGE/runs/$(cat killed)" "$AWF_STORAGE/snapshots/$(cat half)" "$AWF_STORAGE/inputs/$(cat half).part"
	awf-ctl prune --older-than 30d
	awf-ctl prune --older-than 1s --name x
	[ -n "$(traces killed)" ]
	[ -n "$(traces half)" ]
	run -0 awf-ctl prune --older-than 1s --dry-run
	same "${#lines[@]}" 2
	[ -n "$(traces killed)" ]
	awf-ctl prune --older-than 1s
	same "$(traces killed; traces half)" ""
}

@test "what is no run's is left alone" {
	made 1 a 40
	touch -d '-9 days' "$AWF_STORAGE/transcripts/README" "$AWF_STORAGE/blobs/notes" "$AWF_STORAGE/runs/x"
	awf-ctl prune --max-count 0
	same "$(ls "$AWF_STORAGE/transcripts" "$AWF_STORAGE/blobs" "$AWF_STORAGE/runs" | grep -v : | paste -sd' ')" 'notes  x  README'
}

@test "--keep: older runs of the same name go at the end of a run" {
	made 1 a 40
	made 2 a 20
	made 3 b 40
	run -0 --separate-stderr awf-run -n --name a --keep 30d --id-file 4 -c 'echo ran'
	same "$output$stderr" ran
	same "$(left 1 2 3 4)" '2 3 4'
	run -3 awf-run -n --name a --keep 0s --id-file 5 -c 'exit 3'
	same "$(left 2 3 4 5)" '3 5'
	same "$(latest)" "$(cat 5)"
	made 6 a 40
	run -0 awf-run -n --no-transcript --name a --keep 30d true
	same "$(left 3 5 6)" '3 5'
	made 6 a 40
	awf-run -n --name a --overlap allow-all -c 'touch up; until [ -e go ]; do sleep 0.01; done' 3>&- &
	eventually test -e up
	awf-run -n --name a --overlap skip --keep 30d true
	there 6
	touch go
	wait
}

# More than a hundred runs of another name; FILE-FOR-ITS-ID of one of them.
many() {
	made "$1" b 1
	id=$(cat "$1")
	for i in $(seq -f %03g 100); do
		sed "s/$id/${id%???}$i/g" "$AWF_STORAGE/transcripts/$id.jsonl" >"$AWF_STORAGE/transcripts/${id%???}$i.jsonl"
	done
}
# Ends a run of a name that keeps others for so long.
keeping() { awf-run -n --name "$1" --keep "$2" true; }

# bats test_tags=turn:2
@test "--keep: where many runs are stored they are looked at once in a hundredth of the age" {
	many 1
	made 2 a 40
	keeping a 30d
	same "$(left 1 2)" 1
	# Now it is known that there is none, for 7 hours.
	made 3 a 40
	made 4 a 20
	keeping a 30d
	same "$(left 3 4)" '3 4'
	# Not for another name, or another time.
	made 5 c 40
	keeping c 30d
	same "$(left 3 4 5)" '3 4'
	keeping a 29d
	same "$(left 3 4)" 4
	made 6 a 40
	keeping a 30d
	keeping a 29d
	same "$(left 4 6)" '4 6'
	keeping a "$(date -d '-10 days' +%Y-%m-%d)"
	same "$(left 4 6)" ''
	made 7 a 40
	keeping a 30d
	there 7
	# 8 hours later.
	touch -d "$(date -d '-30 days -8 hours')" "$AWF_STORAGE/kept/"*
	keeping a 30d
	same "$(left 7)" ''
	keeping a 0s
	made 8 a 0
	keeping a 0s
	same "$(left 8)" ''
}

# bats test_tags=turn:2
@test "--keep: what could not be removed is tried again after the next run" {
	many 1
	made 2 a 40
	: >"$AWF_STORAGE/runs/$(cat 2)"
	run -0 --separate-stderr keeping a 30d
	same "$stderr" "awf-run: $AWF_STORAGE/runs/$(cat 2): unable to lock the run: Not a directory"
	rm "$AWF_STORAGE/runs/$(cat 2)"
	run -0 --separate-stderr keeping a 30d
	same "$stderr$(left 2)" ''
	# Without a place for marks it looks each time.
	rm -r "$AWF_STORAGE/kept"
	: >"$AWF_STORAGE/kept"
	for i in 3 4; do
		made "$i" a 40
		run -0 --separate-stderr keeping a 30d
		same "$stderr$(left "$i")" ''
	done
}

@test "what is known of a name goes with its last run" {
	made 1 a 40
	made 2 a 20
	made 3 b 40
	mkdir "$AWF_STORAGE/kept"
	for name in a b; do
		touch "$AWF_STORAGE/kept/$(printf %s "$name" | sha256sum | cut -c1-64)"
	done
	known() { find "$AWF_STORAGE/kept" -type f | wc -l; }
	awf-ctl prune --older-than 30d --dry-run
	same "$(known)" 2
	awf-ctl prune --older-than 30d
	same "$(left 1 2 3) $(known)" '2 1'
	awf-ctl prune --older-than 10d
	same "$(known)" 0
}

@test "what is kept of a workspace goes with it" {
	"$BUILD/libexec/awf/awf-sandbox" -- true || skip "this system lacks what a sandbox takes"
	kept() { find "$AWF_STORAGE/sandboxed" -maxdepth 1 -type f | wc -l; }
	made 1 a 40
	mkdir gone
	(cd gone && awf-step -n a -q --sandbox workspace -- true)
	awf-step -n a -q --sandbox workspace -- true
	awf-step -n a -q --sandbox read-only -- true
	same "$(kept) $(ls "$AWF_STORAGE/sandboxed/times" | wc -l)" "2 2"
	rmdir gone
	awf-ctl prune --older-than 30d --dry-run
	same "$(kept) $(ls "$AWF_STORAGE/sandboxed/times" | wc -l)" "2 2"
	awf-ctl prune --older-than 30d
	same "$(find "$AWF_STORAGE/sandboxed" -maxdepth 1 -type f -exec cat {} +)" "$PWD"
	same "$(head -zn 1 "$AWF_STORAGE/sandboxed/times/"* | tr -d '\0')" "$PWD"
}

# An archive as the manual has it: a file for each run.
archive() { awf-ctl prune --archive 'tar -C "$AWF_STORAGE" -cf "kept/$AWF_ARCHIVE_RUN" -- "$@"' "$@"; }

@test "--archive: what tar has kept of a run can be put back, and is content" {
	mkdir space kept && echo file >space/file
	head -c 400000 /dev/zero | tr '\0' x >large
	awf-run --name old --id-file old --snapshot --workspace space -c 'awf-step -q big -- cat' <large
	awf-run -n --name outer --id-file outer -c 'awf-run -n --name inner --id-file inner true'
	awf-run -n --name young --id-file young true
	for part in transcripts blobs inputs snapshots; do (cd "$AWF_STORAGE" && find "$part" -path "*$(cat "$OLDPWD/old")*" -type f); done | sort >had
	cp -r "$AWF_STORAGE" before
	run -0 --separate-stderr archive --max-count 1 --dry-run
	same "$stderr$(ls kept)" ""
	run -0 --separate-stderr archive --max-count 1
	same "$output$stderr" ""
	same "$(traces old; traces outer; traces inner)" ""
	# Those inside of a run are with it.
	same "$(ls kept)" "$(cat old outer | sort)"
	there young
	same "$(tar tf "kept/$(cat outer)" | grep -c '\.jsonl$')" 2
	same "$(tar tf "kept/$(cat old)" | grep -v '/$' | sort)" "$(cat had)"
	tar -C "$AWF_STORAGE" -xf "kept/$(cat old)"
	same "$(diff -rx audit.jsonl before "$AWF_STORAGE" | grep "$(cat old)")" ""
	run -0 awf-verify "$(cat old)"
	same "$output" ""
}

@test "--archive: the command gets the run and what is there of it, and its words go to stderr" {
	made 1 $'späte Schicht' 3
	run -0 --separate-stderr awf-ctl prune --max-count 0 -v \
		--archive 'cat; echo "$0|$AWF_STORAGE|$AWF_ARCHIVE_RUN|$AWF_ARCHIVE_NAME|$PWD|$*"; cd "$AWF_STORAGE" && ls -d -- "$@" >/dev/null' <"$ROOT/README.md"
	same "${#lines[@]}" 1
	same "$stderr" "awf-ctl|$AWF_STORAGE|$(cat 1)|späte Schicht|$PWD|transcripts/$(cat 1).jsonl blobs/$(cat 1)"
	same "$(traces 1)" ""
}

@test "--archive: what is not archived stays, whole, and the others go" {
	made 1 a 30
	awf-run -n --name outer --id-file 2 -c 'awf-run -n --name inner --id-file 3 true'
	awf-run -n --name b --id-file 4 true
	run -3 --separate-stderr awf-ctl prune --max-count 0 --archive 'echo "$AWF_ARCHIVE_NAME" >>asked; test "$AWF_ARCHIVE_NAME" != outer'
	same "$stderr" "awf-ctl: --archive: run $(cat 2) stays: exit status 1"
	same "$(left 1 2 3 4)" '2 3'
	same "$(ls "$AWF_STORAGE/runs")" ""
	awf-verify -q "$(cat 2)"
	run -3 --separate-stderr awf-ctl prune --max-count 0 --archive 'kill -9 $$'
	same "$stderr" "awf-ctl: --archive: run $(cat 2) stays: killed by signal 9 (Killed)"
	run -3 --separate-stderr awf-ctl prune --max-count 0 --archive ./nothing
	[[ $stderr == *"./nothing: not found"*"stays: exit status 127" ]]
	same "$(left 2 3)" '2 3'
	run -0 awf-ctl prune --max-count 0 --archive 'echo "$AWF_ARCHIVE_NAME" >>asked'
	same "$(paste -sd' ' asked)" 'a outer b outer'
	same "$(left 1 2 3 4)" ""
}
