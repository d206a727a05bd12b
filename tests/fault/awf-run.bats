#!/usr/bin/env bats
# awf-run when the system fails it: full disks, failing calls, odd parents.
# shellcheck shell=bash disable=SC2016
bats_require_minimum_version 1.5.0
load ../support/helpers

faulty() {
	local fault=$1
	shift
	env ASAN_OPTIONS=verify_asan_link_order=0:detect_leaks=0 \
		LD_PRELOAD="$BUILD/tests/fault/preload.so" FAULT="$fault" "$@"
}
# Files below the storage, by their last parts, without the workflow's own.
left() { find "$AWF_STORAGE" ! -type d ! -path '*/blobs/*' | sed 's|.*/||; s/^[0-9a-f-]*\.jsonl/ID.jsonl/' | sort | paste -sd' '; }

@test "every write of awf-run that fails is told, and leaves no half of a run" {
	while IFS='|' read -r count sync code files message; do
		rm -rf "$AWF_STORAGE"
		run -"$code" --separate-stderr faulty "$count" env AWF_SYNC="$sync" awf-run -n -c 'echo ran'
		echo "$count: $stderr"
		same "$count: $(left)" "$count: $files"
		[[ $stderr == "awf-run: $AWF_STORAGE/"*"$message"* ]]
		same "$(ls "$AWF_STORAGE/runs")" ""
		for file in "$AWF_STORAGE"/transcripts/*.jsonl; do
			[ ! -e "$file" ] || awf-verify -q "$file" || [ $? -ne 4 ]
		done
	done <<-'END'
		write 1 1 ENOSPC|none|125||unable to lock the run: No space left on device
		write 2 1 ENOSPC|none|125||unable to write the run's key: No space left on device
		write 3 1 ENOSPC|none|125||lineage: unable to write: No space left on device
		write 4 1 ENOSPC|none|125||variables.key: unable to make: No space left on device
		write 5 1 ENOSPC|none|125|variables.key|start: unable to write: No space left on device
		write 6 1 ENOSPC|none|125|variables.key|No space left on device
		write 6 1 EDQUOT 100|none|125|variables.key|
		write 7 1 ENOSPC|none|0|ID.jsonl audit.jsonl latest variables.key|audit.jsonl: unable to write the audit trail: No space left on device
		write 7 1 ENOSPC 50|none|0|ID.jsonl audit.jsonl latest variables.key|audit.jsonl: unable to write the audit trail
		write 8 1 ENOSPC|none|125|ID.jsonl audit.jsonl latest variables.key|stdout: unable to keep stdout: No space left on device
		write 9 1 ENOSPC|none|125|ID.jsonl audit.jsonl latest variables.key|No space left on device
		write 9 1 EIO 70|none|125|ID.jsonl audit.jsonl latest variables.key|
		write 10 1 ENOSPC 50|none|0|ID.jsonl audit.jsonl latest variables.key|audit.jsonl: unable to write the audit trail
		fdatasync 1 1 EIO|step|125|ID.jsonl audit.jsonl latest variables.key|Input/output error
	END
}

@test "a guardian that is killed when it has just started the workflow leaves nothing of it" {
	run -125 --separate-stderr env FAULT_KILL=awf-guardian LD_PRELOAD="$BUILD/tests/fault/preload.so" \
		ASAN_OPTIONS=verify_asan_link_order=0:detect_leaks=0 \
		awf-run -n --name flow -c 'unset LD_PRELOAD; trap "" TERM; exec sleep 10'
	id=$(basename "$(transcript)" .jsonl)
	same "$(grep -lzsxF "AWF_RUN_ID=$id" /proc/[0-9]*/environ)" ''
	same "$stderr" 'awf-run: flow: the process of AWF that watches over the command was killed'
	same "$(jq -c 'select(.seq == 2).payload | [.status, .error.code, .interrupted]' "$(transcript)")" \
		'["failed","system",true]'
}

@test "an audit line that was cut short is cut off again" {
	faulty 'write 7 1 ENOSPC 50' awf-run -n true 2>/dev/null
	same "$(jq -r .type "$AWF_STORAGE/audit.jsonl")" run.completed
}

@test "stdin that cannot be kept ends the workflow and fails the run" {
	head -c 200000 /dev/zero >zeros
	# 1 lock, 2 key, 3 lineage, 4 variables.key, 5 start, 6 run.started, 7 audit, 8… what was read
	run -125 faulty 'write 10 1 ENOSPC' awf-run -c 'cat >/dev/null; sleep 1000' < <(cat zeros)
	[[ $output == "awf-run: $AWF_STORAGE/inputs/"*".part: unable to keep stdin: No space left on device" ]]
	same "$(jq -c 'select(.seq == 2).payload | [.status, .exit_code, .error.code, .stdin.bytes]' "$(transcript)")" \
		'["failed",125,"system",8192]'
	run -125 faulty 'write 7 1 ENOSPC' awf-run -c 'touch started' <zeros
	[ ! -e started ]
	[[ $output == "awf-run: $AWF_STORAGE/inputs/"*".part: unable to keep stdin: No space left on device" ]]
	same "$(ls "$AWF_STORAGE/runs")" ""
}

@test "a full disk" {
	unshare -m true 2>/dev/null || skip "needs the right to mount"
	mkdir "$AWF_STORAGE"
	unshare -m sh -c 'mount -t tmpfs -o size=64k,mode=700 small "$AWF_STORAGE" &&
		head -c 200000 /dev/zero | awf-run -c "cat >/dev/null"; echo "status $?"
		ls "$AWF_STORAGE/runs"; tail -c 1 "$AWF_STORAGE"/transcripts/* | od -An -c' >out 2>&1
	grep -q '\.part: unable to keep stdin: No space left on device$' out
	grep -q '^status 125$' out
	same "$(tail -n 1 out | tr -d ' ')" '\n'
}

@test "a limit on the size of files is an error, not a death" {
	run -125 bash -c 'ulimit -f 0; awf-run -n true'
	[[ $output == "awf-run: "*": File too large" ]]
	same "$(left)" ""
}

@test "a parent that ignores SIGCHLD or blocks signals does not mislead awf-run" {
	run -5 env --ignore-signal=CHLD awf-run -n -c 'exit 5'
	run -124 env --block-signal=TERM --block-signal=CHLD awf-run -n --timeout 200ms -c 'sleep 1000'
	env --block-signal=TERM awf-run -n -c 'touch ready; sleep 1000' 3>&- 2>/dev/null &
	until [ -e ready ]; do sleep 0.01; done
	kill -TERM $!
	code=0
	wait $! || code=$?
	same "$code" 143
}

@test "a storage on a network file system is refused" {
	FAULT_STATFS=6969 run -125 faulty 'none 0 0 EIO' awf-run -n true
	same "$output" "awf-run: $AWF_STORAGE: on a network file system (NFS), whose locks cannot be trusted: set AWF_STORAGE to a local directory (awf-record(1) brings the runs of several machines together)"
	same "$(ls "$AWF_STORAGE")" ""
}

@test "no more processes: the run fails, and says so in its record" {
	FAULT_FORK=1 run -125 faulty 'none 0 0 EIO' awf-run -n true
	same "$output" "awf-run: true: unable to fork: Resource temporarily unavailable"
	same "$(jq -c 'select(.seq == 2).payload | [.status, .exit_code, .error.code]' "$(transcript)")" '["failed",125,"system"]'
}

@test "fifty runs at once" {
	for n in $(seq 50); do awf-run -n --input "n=$n" true 3>&- & done
	wait
	same "$(ls "$AWF_STORAGE/transcripts" | wc -l)" 50
	same "$(ls "$AWF_STORAGE/runs")" ""
	same "$(jq -r .run_id "$AWF_STORAGE/audit.jsonl" | sort | uniq -c | awk '{ print $1 }' | uniq)" 2
	[ -e "$(transcript)" ]
}

@test "a command whose step is killed finds all of its input, not the beginning" {
	head -c 300000 /dev/zero | tr '\0' x >input
	for size in 3 300000; do
		rm -f got whole
		run -137 awf-run -c "head -c $size input | awf-step part -- sh -c 'kill -9 \$PPID; cat >got; mv got whole'
			status=\$?; until [ -e whole ]; do sleep 0.01; done; exit \$status"
		same "$(tr -d '\n' <whole | wc -c)" "$size"
	done
}

@test "what killed owners left of runs that have ended goes with the end of another" {
	awf-run -n true
	run -137 awf-run -n -c 'kill -9 $(ps -o ppid= $PPID)'
	died=$(ls "$AWF_STORAGE/runs")
	ended=$(ls "$AWF_STORAGE/transcripts" | sed 's/.jsonl//' | grep -v "$died")
	for name in "$ended" "$ended.gone"; do
		mkdir -p "$AWF_STORAGE/runs/$name/roster"
		touch "$AWF_STORAGE/runs/$name/lock" "$AWF_STORAGE/runs/$name/roster/a"
	done
	cp -r "$AWF_STORAGE/runs" before
	awf-run -n true
	same "$(ls "$AWF_STORAGE/runs")" "$died"
	rm -r "$AWF_STORAGE/runs"
	mv before "$AWF_STORAGE/runs"
	awf-run --resume "$ended" 2>/dev/null
	same "$(ls "$AWF_STORAGE/runs")" "$died"
}

@test "a killed step leaves nothing of the file that it was to write" {
	run awf-run -n -c 'awf-step -n -o out half -- sh -c "kill -9 \$PPID"'
	same "$(ls)" ""
	awf-run -n -c 'awf-step -n -r -o out whole -- echo yes'
	same "$(ls) $(cat out)" "out yes"
	chmod 640 out
	awf-run -n -c 'awf-step -n -r -o out whole -- echo more'
	same "$(stat -c %a out) $(cat out)" "640 more"
}

@test "a run that is stopped while it ends its workflow kills what is left when it goes on" {
	awf-run -n -c 'trap : TERM; touch began; while :; do sleep 1; done' 3>&- &
	eventually test -e began
	kill -TERM $!
	eventually sh -c 'test -e "$AWF_STORAGE"/runs/*/ending/run'
	kill -STOP $!
	sleep 1.5
	kill -CONT $!
	eventually ended $!
	same "$(payloads run.completed .status)" '"cancelled"'
}
ended() { ! kill -0 "$1" 2>/dev/null; }

# PROGRAM ARGUMENT...: as another's child, whose processes become this one's when it dies:
# else the kernel sets those going that are stopped, as nobody is left in their session who
# could. Its pid is in the file pid; ends with the last of them.
adopted() {
	python3 -c '
import ctypes, os, subprocess, sys
ctypes.CDLL(None).prctl(36, 1)  # PR_SET_CHILD_SUBREAPER
with open("pid", "w") as f:
    print(subprocess.Popen(sys.argv[1:]).pid, file=f)
try:
    while True:
        os.wait()
except ChildProcessError:
    pass' "$@"
}

@test "the end of a body counts for nothing when its run has died" {
	adopted awf-run -n --name f -c "awf-step -n --each g -- sh -c 'trap : TERM HUP INT; touch there; until test -e go; do sleep 0.05; done; awf-step -n m -- echo x | cat; touch over' | awf-step -r z -- cat" >out 2>err 3>&- &
	eventually test -e there
	guardian=$(ps -o pid= --ppid "$(cat pid)" | tr -d ' ')
	kill -STOP "$guardian"
	kill -9 "$(cat pid)"
	eventually gone "$(cat pid)"
	touch go
	eventually test -e over
	sleep 0.3
	kill -CONT "$guardian"
	wait $!
	same "$(payloads step.completed 'select(.name == "g" and (.error | not))')" ''
	run -0 --separate-stderr awf-run --resume @f
	same "$output" x
}

# bats test_tags=turn:4
@test "no process of a killed run sees another die first, whoever has the lower pid" {
	cat >first.sh <<-'END'
		# The child's pid is the lowest, and there are many between it and this shell's.
		echo 200 >/proc/sys/kernel/ns_last_pid
		sleep 60 &
		first=$!
		n=0
		while [ $n -lt 300 ]; do
			sleep 60 &
			n=$((n + 1))
		done
		[ $first -lt $$ ] && : >ready
		wait $first
		: >seen
	END
	cat >inside.sh <<-'END'
		echo 2000 >/proc/sys/kernel/ns_last_pid
		awf-run -n -- sh first.sh &
		while [ ! -e ready ]; do sleep 0.05; done
		kill -9 $!
		wait $!
		sleep 0.5
	END
	for round in 1 2 3; do
		rm -f ready seen
		unshare --user --map-root-user --pid --fork --mount-proc true 2>/dev/null ||
			skip "no pid namespaces here"
		timeout 60 unshare --user --map-root-user --pid --fork --mount-proc sh inside.sh
		[ -e ready ]
		[ ! -e seen ]
	done
}
