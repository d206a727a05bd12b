#!/usr/bin/env bats
# awf-worker killed at any moment, many of it on one directory, and a disk that is full: each job is
# done once, and what its steps did is not done twice.
# shellcheck shell=bash disable=SC2016,SC2154
bats_require_minimum_version 1.5.0
load ../support/helpers

prepare() {
	mkdir jobs
	printf '#!/usr/bin/env -S awf-run\n%s\n' \
		'awf-step first -- sh -c "cat; cat >/dev/null; echo \$AWF_INPUT_job >>effects" |
		awf-step -r second --effects read -- sh -c "cat; . ./pause"' >up.awf
	chmod +x up.awf
	: >pause
}
cleanup() { ! mountpoint -q small || umount small; }

give() { echo "$2" >"jobs/.$1" && mv "jobs/.$1" "jobs/$1"; }
places() { (cd jobs && find . -mindepth 1 -maxdepth 2 \( -type f -o -path './*/*' \) | sed 's,^\./,,' | sort | paste -sd' '); }
runs() { ls "$AWF_STORAGE/transcripts" | wc -l; }
# A process and all that it has started.
tree() { echo "$1"; local child; for child in $(pgrep -P "$1"); do tree "$child"; done; }

@test "a worker that is killed alone: its run ends, and the next one tells of that" {
	echo ': >here; while [ ! -e room ]; do sleep 0.05; done' >pause
	give a text
	awf-worker jobs ./up.awf >told 3>&- &
	worker=$!
	eventually test -e here
	kill -9 "$worker"
	# Nobody takes it while it runs.
	run -0 awf-worker -1 jobs ./up.awf
	same "$output $(places)" ' running/a'
	touch room
	awf-worker jobs ./up.awf >told 3>&- &
	worker=$!
	eventually test -s told
	kill "$worker"
	wait "$worker" || true
	same "$(cut -f1-2 told)" $'a\tsuccess'
	same "$(cat jobs/done/a/out) $(cat effects) $(runs)" 'text a 1'
	same "$(jq -c '[.status, .exit_code]' jobs/done/a/outcome)" '["success",0]'
	same "$(payloads run.started .attempt | wc -l)" 1
}

@test "a worker that is killed with its run: that is resumed" {
	echo '[ -e room ] || { : >here; sleep 60; }' >pause
	give a text
	awf-worker jobs ./up.awf >told 3>&- &
	worker=$!
	eventually test -e here
	touch room
	# shellcheck disable=SC2046 # pids
	kill -9 $(tree "$worker")
	eventually finishes
	same "$(cat jobs/done/a/out) $(cat effects) $(runs)" 'text a 1'
	same "$(payloads run.started .attempt | wc -l)" 2
	awf-verify -q
}
finishes() { awf-worker -1 jobs ./up.awf >/dev/null 2>&1; [ -e jobs/done/a/outcome ]; }

@test "killed again and again, many at once on one directory" {
	local i pids=()
	for i in $(seq "$(rounds 12 200)"); do give "j$i" "text $i"; done
	for i in $(seq "$(rounds 4 60)"); do
		awf-worker -1 -j 3 jobs ./up.awf >>told 2>/dev/null 3>&- &
		pids=($!)
		awf-worker -1 -j 3 jobs ./up.awf >>told 2>/dev/null 3>&- &
		pids+=($!)
		nap "0.0$((RANDOM % 10))"
		kill -9 "${pids[@]}" 2>/dev/null || true
	done
	eventually drained
	same "$(ls jobs/done | wc -l)" "$(rounds 12 200)"
	same "$(find jobs/failed jobs/waiting jobs/running -mindepth 1)" ''
	same "$(sort effects | uniq -d)" ''
	same "$(sort -u effects | wc -l) $(runs)" "$(rounds 12 200) $(rounds 12 200)"
	for i in jobs/done/*; do same "$(cat "$i/out")" "text ${i##*/j}"; done
}
drained() { awf-worker -1 -j 4 jobs ./up.awf >/dev/null 2>&1; [ -z "$(ls jobs/running)" ] && [ -z "$(find jobs -maxdepth 1 -type f)" ]; }

@test "two workers take each job once" {
	local i
	for i in $(seq 20); do give "j$i" "text $i"; done
	awf-worker -1 -j 4 jobs ./up.awf >one 3>&- &
	awf-worker -1 -j 4 jobs ./up.awf >two 3>&-
	wait $!
	same "$(cat one two | cut -f1 | sort | uniq -d)" ''
	same "$(cat one two | wc -l) $(wc -l <effects) $(runs)" '20 20 20'
}

@test "killed between any two of its own steps" {
	command -v strace >/dev/null && strace -o /dev/null true 2>/dev/null || skip 'no strace'
	local call status
	for call in mkdir:1 flock:1 rename:1 rename:2 linkat:1 linkat:2 fsync:1 rename:3 rename:4; do
		rm -rf jobs effects
		mkdir jobs
		give a text
		# A signal at the N-th such call of the worker itself.
		strace -o /dev/null -e "trace=${call%:*}" -e "inject=${call%:*}:signal=KILL:when=${call#*:}" \
			awf-worker -1 jobs ./up.awf >/dev/null 2>&1 3>&- && status=0 || status=$?
		same "$call $status" "$call 137"
		eventually finishes
		same "$call $(cat jobs/done/a/out) $(cat effects)" "$call text a"
		same "$call $(places)" "$call done/a"
	done
}

@test "a full disk is no loss" {
	mkdir small
	mount -t tmpfs -o size=64k none small 2>/dev/null || skip 'needs to mount'
	rmdir jobs
	ln -s small jobs
	give a text
	head -c 1m /dev/zero >small/.full 2>/dev/null || true
	run -4 --separate-stderr awf-worker -1 jobs ./up.awf
	[[ $stderr == *'No space left on device'* ]]
	same "$(cat small/a small/running/a/job 2>/dev/null)" text
	rm small/.full
	run -0 --separate-stderr awf-worker -1 jobs ./up.awf
	same "$(cat small/done/a/out) $(cat effects)" 'text a'
}
