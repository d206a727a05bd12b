#!/usr/bin/env bats
# The transcript when writers are many, are killed, and when the system fails them.
bats_require_minimum_version 1.5.0
load ../support/helpers

check_chain() { python3 -S "$ROOT/tests/fault/check-chain.py" "$@"; }

# Runs a command with system calls made to fail: faulty "CALL FROM TIMES ERROR [BYTES]" …
faulty() {
	local fault=$1
	shift
	run -4 --separate-stderr env ASAN_OPTIONS=verify_asan_link_order=0:detect_leaks=0 \
		LD_PRELOAD="$BUILD/tests/fault/preload.so" FAULT="$fault" "$@"
}

# Runs a script in a mount namespace of its own, with an empty tmpfs of 1 MiB at ./small.
in_small_file_system() {
	mkdir -p small
	unshare -m true 2>/dev/null || skip "needs the right to mount"
	cat >script
	unshare -m sh -euc 'mount -t tmpfs -o size=1m small small && . ./script'
}

# bats test_tags=turn:2
@test "16 processes append 2,000 events each" {
	fault_crowd run.jsonl 16 2000
	same "$(check_chain run.jsonl 32000)" 32000
}

# bats test_tags=turn:2
@test "500 processes that append at the same time all get their turn within the time for the lock" {
	fault_crowd run.jsonl 500 40
	same "$(check_chain run.jsonl 20000)" 20000
}

@test "writers killed at random moments lose nothing that was acknowledged" {
	rounds=${ROUNDS:-$(rounds 40 200)} segment=200 total=0 repairs=0 seed=${SEED:-$$}
	for ((done = 0; done < rounds; done += segment)); do
		((rounds - done >= segment)) || segment=$((rounds - done))
		rm -rf kill
		mkdir kill
		seed=$((seed + 1))
		echo "fault_kill kill $segment $seed"
		repairs=$((repairs + $(fault_kill kill $segment $seed)))
		total=$((total + $(check_chain kill/transcript.jsonl - kill/acknowledged)))
		cmp kill/transcript.jsonl kill/followed
	done
	rm -rf kill
	echo "# $rounds kills, $total lines, $repairs torn lines repaired" >&3
}

@test "a torn line is moved away, with a word" {
	fault_append run.jsonl 2 10
	cp run.jsonl whole
	for tail in '{"seq":3,"ty' '\0\0\0\0' '{"seq":3,"x":"\0\0"}\n'; do
		cp whole run.jsonl
		rm -f run.torn
		# shellcheck disable=SC2059
		printf "$tail" | tee -a run.jsonl >added
		run -0 --separate-stderr fault_append run.jsonl 1 10
		# shellcheck disable=SC2154
		same "$stderr" "fault_append: run.jsonl: moved $(wc -c <added) bytes of a torn line to run.torn"
		cmp added run.torn
		same "$(stat -c %a run.torn)" 600
		same "$(check_chain run.jsonl 3)" 3
	done
}

@test "a file in which no line is whole is not cut, unless it is one line that was never finished" {
	fault_append run.jsonl 1 10
	cp run.jsonl whole
	for how in 'sed "s/.$//" whole' 'head -c 20 whole; head -c 20 /dev/zero; echo'; do
		eval "$how" >run.jsonl
		cp run.jsonl damaged
		run --separate-stderr fault_append run.jsonl 1 10
		same "$status $stderr" '4 fault_append: run.jsonl: its first line is damaged; see awf-verify'
		cmp damaged run.jsonl
		[ ! -e run.torn ]
	done
	head -c 20 whole >run.jsonl
	run -0 --separate-stderr fault_append run.jsonl 1 10
	same "$stderr" 'fault_append: run.jsonl: moved 20 bytes of a torn line to run.torn'
}

@test "damage in the middle is not touched" {
	fault_append run.jsonl 3 10
	printf '\0\0\0' | dd of=run.jsonl bs=1 seek=400 conv=notrunc status=none
	cp run.jsonl damaged
	run -0 --separate-stderr fault_append run.jsonl 1 10
	same "$stderr" ""
	[[ $output == "4 "* ]]
	cmp -n "$(stat -c %s damaged)" damaged run.jsonl
	[ ! -e run.torn ]
}

@test "a full file system: status 4, the last line whole, and on when there is space" {
	in_small_file_system <<-'END'
		cd small
		head -c 300000 /dev/zero >ballast
		status=0
		fault_append run.jsonl 100000 3000 >../acknowledged 2>../message || status=$?
		echo $status >../status
		cp run.jsonl ..
		rm ballast
		fault_append run.jsonl 2 3000 >/dev/null
		cp run.jsonl ../later.jsonl
	END
	same "$(cat status)" 4
	same "$(cat message)" \
		"fault_append: run.jsonl: unable to append: No space left on device"
	count=$(wc -l <acknowledged)
	((count > 100))
	same "$(check_chain run.jsonl "$count")" "$count"
	same "$(check_chain later.jsonl)" $((count + 2))
}

@test "a torn line stays where it is until it can be kept" {
	in_small_file_system <<-'END'
		cd small
		fault_append run.jsonl 2 10
		printf '{"seq":3' >>run.jsonl
		cp run.jsonl ../before
		cat /dev/zero >ballast 2>/dev/null || true
		status=0
		fault_append run.jsonl 1 10 2>../message || status=$?
		echo $status >../status
		cp run.jsonl ../during
		rm ballast
		fault_append run.jsonl 1 10
		cp run.jsonl run.torn ..
	END
	same "$(cat status)" 4
	same "$(cat message)" \
		"fault_append: run.torn: unable to keep a torn line: No space left on device"
	cmp before during
	same "$(check_chain run.jsonl)" 3
	same "$(cat run.torn)" '{"seq":3'
}

@test "a read-only file system: status 4" {
	in_small_file_system <<-'END'
		cd small
		fault_append run.jsonl 1 10
		mount -o remount,ro .
		for file in run.jsonl new.jsonl; do
			status=0
			fault_append $file 1 10 2>>../message || status=$?
			echo $status >>../status
		done
		cp run.jsonl ..
	END
	same "$(cat status)" $'4\n4'
	same "$(cat message)" \
		"fault_append: run.jsonl: unable to open the transcript: Read-only file system
fault_append: new.jsonl: unable to create the transcript: Read-only file system"
	same "$(check_chain run.jsonl)" 1
}

@test "RLIMIT_FSIZE: status 4, the last line whole" {
	status=0
	(ulimit -f 16 && exec fault_append run.jsonl 100 1000) >acknowledged 2>message || status=$?
	same "$status" 4
	same "$(cat message)" "fault_append: run.jsonl: unable to append: File too large"
	count=$(wc -l <acknowledged)
	((count > 5))
	same "$(check_chain run.jsonl "$count")" "$count"
	fault_append run.jsonl 1 10
	check_chain run.jsonl $((count + 1))
}

@test "a transcript that is removed meanwhile: status 4" {
	{
		echo
		until [ -s run.jsonl ]; do sleep 0.01; done
		rm run.jsonl
		echo
	} | {
		run -4 --separate-stderr fault_append run.jsonl - 10
		same "$stderr" \
			"fault_append: run.jsonl: was removed while in use: nothing more can be recorded"
	}
	[ ! -e run.jsonl ]
}

# bats test_tags=turn:3
@test "failing writes: status 4 with the cause, nothing of the event is left" {
	for error in EIO EDQUOT ENOSPC; do
		for bytes in '' 0 1 250; do
			rm -f run.jsonl
			# a short write, and what the rest of the line meets
			faulty "write 3 2 $error $bytes" fault_append run.jsonl 5 100
			[[ $stderr == "fault_append: run.jsonl: unable to append: "* ]]
			same "$(check_chain run.jsonl 2)" 2
			fault_append run.jsonl 1 10
			check_chain run.jsonl 3
		done
	done
}

@test "a short write whose rest goes well is cut back too" {
	faulty "write 3 1 EIO 250" fault_append run.jsonl 5 100
	same "$stderr" "fault_append: run.jsonl: unable to append: Input/output error"
	check_chain run.jsonl 2
}

@test "a line that cannot be cut back is repaired by the next writer" {
	fault_append run.jsonl 2 10
	FAULT_ALSO=ftruncate faulty "write 1 2 ENOSPC 120" fault_append run.jsonl 5 100
	same "$stderr" "fault_append: run.jsonl: unable to append, and a torn line is left for the next writer to move: No space left on device"
	run -0 --separate-stderr fault_append run.jsonl 1 10
	same "$stderr" "fault_append: run.jsonl: moved 120 bytes of a torn line to run.torn"
	check_chain run.jsonl 3
}

@test "a failed sync is final" {
	for mode in step event; do
		rm -f run.jsonl
		AWF_SYNC=$mode faulty "fdatasync 2 1 EIO" fault_append -k run.jsonl 4 10
		same "$stderr" "fault_append: run.jsonl: unable to sync: Input/output error
fault_append: run.jsonl: a sync failed before: nothing more is recorded here
fault_append: run.jsonl: a sync failed before: nothing more is recorded here"
		check_chain run.jsonl 2
	done
}

@test "a torn line is not cut off before it is synced elsewhere" {
	fault_append run.jsonl 1 10
	printf '{"seq":2' >>run.jsonl
	cp run.jsonl before
	faulty "fsync 1 1 EIO" fault_append run.jsonl 1 10
	same "$stderr" "fault_append: run.torn: unable to keep a torn line: Input/output error"
	cmp before run.jsonl
	faulty "ftruncate 1 1 EIO" fault_append run.jsonl 1 10
	same "$stderr" "fault_append: run.jsonl: unable to cut off a torn line: Input/output error"
	cmp before run.jsonl
}

@test "a lock that is never free, or that cannot be had: status 4" {
	FAULT_CLOCK=300 faulty "flock 1 1000000 EWOULDBLOCK" fault_append run.jsonl 1 10
	[[ $stderr =~ ^'fault_append: run.jsonl: locked by another process for '[0-9]+' s: fuser(1) names it'$ ]]
	faulty "flock 1 1 ENOLCK" fault_append run.jsonl 1 10
	same "$stderr" "fault_append: run.jsonl: unable to lock: No locks available"
	same "$(check_chain run.jsonl)" 0
}
