#!/usr/bin/env bats
# bats file_tags=turn:2
# awf-run --overlap: what becomes of a run while others of its name live.
# shellcheck shell=bash disable=SC2016,SC2034,SC2154
load ../../support/helpers
bats_require_minimum_version 1.5.0

POLICIES='skip buffer-one buffer-all cancel-other allow-all'

prepare() { PIDS=(); }

cleanup() {
	kill -9 "${PIDS[@]}" 2>/dev/null || true
}

# Starts a run number N of a name in the background that writes "N begins" and "N ends" to
# the file `order`, and runs until the file `go` is there: start N POLICY [OPTION…].
start() {
	local number=$1 policy=$2
	shift 2
	awf-run -n --name "${NAME-nightly}" --overlap "$policy" --id-file "id.$number" "$@" -c \
		'trap "echo $1 stopped >>order; exit 1" TERM
		echo $1 begins >>order; until [ -e go ]; do sleep 0.01; done; echo $1 ends >>order' \
		"$number" >/dev/null 2>"stderr.$number" 3>&- &
	PIDS[number]=$!
}

begun() { grep -qsx "$1 begins" order; }
# Tickets, and how many of them wait.
tickets() { find "$AWF_STORAGE/queues" -name '0*' 2>/dev/null | wc -l; }
in_line() { [ "$(tickets)" -eq "$1" ]; }
waiting() { [ "$(cat "$AWF_STORAGE"/queues/*/0* 2>/dev/null | grep -c ^waiting)" -eq "$1" ]; }
order() { paste -sd' ' order; }
# What became of number N: its exit status.
ended() {
	local status=0
	wait "${PIDS[$1]}" || status=$?
	same "$1: $status" "$1: $2"
}
transcript_of() { echo "$AWF_STORAGE/transcripts/$(cat "id.$1").jsonl"; }
audit() { jq -c "$1" "$AWF_STORAGE/audit.jsonl"; }
transcripts() { ls "$AWF_STORAGE/transcripts" | wc -l; }
# Nobody is left in line, and no file either.
clean() { same "$(find "$AWF_STORAGE/queues" -mindepth 1)" ""; }

@test "mistakes" {
	run -125 --separate-stderr awf-run --overlap sometimes true
	same "$stderr" "awf-run: --overlap: 'sometimes' is none of allow-all, skip, buffer-one, buffer-all, cancel-other"
	run -125 --separate-stderr awf-run --overlap buffer true
	same "$stderr" "awf-run: --overlap: no such word 'buffer' (did you mean 'buffer-one'?)"
	[ ! -e "$AWF_STORAGE" ]
}

@test "alone, a run runs, whatever the policy" {
	for policy in $POLICIES; do
		run -0 --separate-stderr awf-run -n --overlap "$policy" -c 'echo ran'
		same "$policy: $output$stderr" "$policy: ran"
		run -3 awf-run -n --overlap "$policy" -c 'exit 3'
	done
	clean
}

@test "skip: one runs, seven say nothing; one line each in the audit trail" {
	start 1 skip
	eventually begun 1
	for i in 2 3 4 5 6 7 8; do
		run -0 --separate-stderr awf-run -n --name nightly --overlap skip --print-id -c 'echo ran'
		same "$output$stderr" ""
	done
	touch go
	ended 1 0
	same "$(order)" '1 begins 1 ends'
	same "$(transcripts)" 1
	same "$(audit 'select(.type == "run.skipped") | [.run_id, .name, .overlap, .by]' | sort | uniq -c | xargs)" \
		"7 [null,nightly,skip,$(cat id.1)]"
	start 9 skip
	ended 9 0
	same "$(order)" '1 begins 1 ends 9 begins 9 ends'
	clean
}

@test "buffer-one: one waits, six are skipped" {
	start 1 buffer-one
	eventually begun 1
	start 2 buffer-one
	eventually waiting 1
	for i in 3 4 5 6 7 8; do
		start "$i" buffer-one
		ended "$i" 0
		[ ! -s "stderr.$i" ]
	done
	same "$(order)" '1 begins'
	touch go
	ended 1 0
	ended 2 0
	same "$(order)" '1 begins 1 ends 2 begins 2 ends'
	same "$(audit 'select(.type == "run.skipped").overlap' | sort | uniq -c | xargs)" '6 buffer-one'
	clean
}

# bats test_tags=turn:2
@test "buffer-all: all run, in the order they came" {
	for round in 1 2 3; do
		rm -f order go
		start 1 buffer-all
		eventually begun 1
		for i in 2 3 4 5 6 7 8; do
			start "$i" buffer-all
			eventually in_line "$i"
		done
		same "$(order)" '1 begins'
		touch go
		for i in 1 2 3 4 5 6 7 8; do ended "$i" 0; done
		same "$(order)" "$(for i in 1 2 3 4 5 6 7 8; do echo "$i begins $i ends"; done | paste -sd' ')"
	done
	clean
}

@test "buffer-all: whatever order they came in, never two at once, none lost" {
	for i in 1 2 3 4 5 6 7 8; do start "$i" buffer-all; done
	touch go
	for i in 1 2 3 4 5 6 7 8; do ended "$i" 0; done
	same "$(awk '{ if ($2 == "begins") { if (n++) print "two at once" } else n-- }' order)" ""
	same "$(grep -c ends order)" 8
	same "$(grep begins order | sort)" "$(for i in 1 2 3 4 5 6 7 8; do echo "$i begins"; done)"
	clean
}

# bats test_tags=turn:2
@test "cancel-other: each takes the place of the one before, which says so" {
	for i in 1 2 3 4 5 6 7 8; do
		start "$i" cancel-other
		eventually begun "$i"
	done
	touch go
	ended 8 0
	for i in 1 2 3 4 5 6 7; do
		ended "$i" 143
		by=$(cat "id.$((i + 1))")
		same "$(jq -c 'select(.type == "run.completed").payload | [.status, .exit_code, .error.code, .error.message]' "$(transcript_of "$i")")" \
			"[\"cancelled\",143,\"cancelled\",\"cancelled: run $by takes its place (--overlap cancel-other)\"]"
		same "$(tail -n 1 "stderr.$i")" "awf-run: nightly: cancelled: run $by takes its place (--overlap cancel-other)"
		awf-verify -q "$(transcript_of "$i")"
	done
	same "$(order)" "$(for i in 1 2 3 4 5 6 7; do echo "$i begins $i stopped"; done | paste -sd' ') 8 begins 8 ends"
	clean
}

@test "cancel-other: those that wait make way too, without having begun" {
	awf-run -n --name nightly --id-file id.1 -c \
		'trap "exit 1" TERM; echo 1 begins >>order; while :; do sleep 0.01; done' 2>stderr.1 3>&- &
	PIDS[1]=$!
	eventually begun 1
	# It takes its time to end, so that others come meanwhile.
	kill -STOP "${PIDS[1]}"
	for i in 2 3 4 5 6 7; do
		start "$i" cancel-other
		eventually waiting 1
		[ "$i" -eq 2 ] || ended "$((i - 1))" 0
	done
	start 8 cancel-other
	ended 7 0
	touch go
	kill -CONT "${PIDS[1]}"
	ended 1 143
	ended 8 0
	same "$(order)" '1 begins 8 begins 8 ends'
	same "$(audit 'select(.type == "run.skipped").overlap' | sort | uniq -c | xargs)" '6 cancel-other'
	grep -q "run $(cat id.8) takes its place" stderr.1
	same "$(cat stderr.[2-7])" ""
	clean
}

@test "allow-all: all at once; nobody waits, and nothing is left in the storage" {
	for i in 1 2 3 4 5 6 7 8; do start "$i" allow-all; done
	for i in 1 2 3 4 5 6 7 8; do eventually begun "$i"; done
	[ ! -e "$AWF_STORAGE/queues" ]
	touch go
	for i in 1 2 3 4 5 6 7 8; do ended "$i" 0; done
	same "$(transcripts)" 8
}

@test "runs that were started without the option count for those that were with it" {
	awf-run -n --name nightly --no-transcript -c 'echo 1 begins >>order; until [ -e go ]; do sleep 0.01; done; echo 1 ends >>order' 3>&- &
	PIDS[1]=$!
	eventually begun 1
	run -0 awf-run -n --name nightly --overlap skip -c 'echo ran'
	same "$output" ""
	start 2 buffer-one
	eventually waiting 1
	run -0 awf-run -n --name nightly --overlap buffer-one -c 'echo ran'
	same "$output" ""
	start 3 buffer-all
	eventually waiting 2
	touch go
	for i in 1 2 3; do ended "$i" 0; done
	same "$(order)" '1 begins 1 ends 2 begins 2 ends 3 begins 3 ends'
	rm go order
	start 4 allow-all
	eventually begun 4
	start 5 cancel-other
	eventually begun 5
	ended 4 143
	grep -q "run $(cat id.5) takes its place" stderr.4
	touch go
	ended 5 0
	clean
}

@test "names keep to themselves, whatever they are made of" {
	local names=(nightly Nightly 'späte Schicht' '日報' . .. '*' "a'b" "$(printf 'n%.0s' $(seq 128))")
	for i in "${!names[@]}"; do
		NAME=${names[i]} start "$i" skip
	done
	for i in "${!names[@]}"; do eventually begun "$i"; done
	same "$(find "$AWF_STORAGE/queues" -mindepth 1 -type d | grep -cE '/[0-9a-f]{64}$')" "${#names[@]}"
	for name in "${names[@]}"; do
		run -0 awf-run -n --name "$name" --overlap skip -c 'echo ran'
		same "$output" ""
	done
	# The base name of the script is a name as well.
	printf 'echo ran\n' >nightly
	run -0 awf-run -n --overlap skip ./nightly
	same "$output" ""
	touch go
	for i in "${!names[@]}"; do ended "$i" 0; done
	run -0 awf-run -n --overlap skip ./nightly
	same "$output" ran
	clean
}

@test "a process that waits ends by a signal, says so, and frees its place" {
	start 1 buffer-one
	eventually begun 1
	while read -r signal status; do
		start 2 buffer-one
		eventually waiting 1
		kill -"$signal" "${PIDS[2]}"
		ended 2 "$status"
		[[ $(cat stderr.2) == "awf-run: nightly: cancelled by signal "*" while it waited for its turn" ]]
		eventually in_line 1
		[ ! -e id.2 ]
	done <<-'END'
		TERM 143
		HUP 129
	END
	start 3 buffer-one
	eventually waiting 1
	touch go
	ended 1 0
	ended 3 0
	same "$(transcripts)" 2
	clean
}

@test "--timeout counts from the start of the workflow, not from that of waiting" {
	start 1 buffer-all
	eventually begun 1
	start 2 buffer-all --timeout 1
	eventually waiting 1
	sleep 1.5
	touch go
	ended 1 0
	ended 2 0
	same "$(order)" '1 begins 1 ends 2 begins 2 ends'
}

@test "a resume, a fork and --continue take their run's turn" {
	awf-run -n --id-file failed --name nightly -c 'awf-step -n a -q -- echo; [ -e go ]' 2>/dev/null || true
	start 1 skip
	eventually begun 1
	id=$(cat failed)
	run -0 awf-run --resume "$id" --overlap skip
	same "$output" ""
	same "$(audit 'select(.type == "run.skipped").run_id' | tail -n 1)" "\"$id\""
	run -0 awf-run --fork "$id" --at a --overlap skip
	same "$output" ""
	run -0 awf-run --continue --name nightly --overlap skip -c 'echo ran'
	same "$output" ""
	same "$(transcripts)" 2
	awf-run --resume "$id" --overlap buffer-all 3>&- &
	PIDS[2]=$!
	eventually waiting 1
	same "$(cut -d' ' -f2 "$AWF_STORAGE"/queues/*/0*2)" "$id"
	touch go
	ended 1 0
	ended 2 0
	same "$(awf-tail --list --json | jq -r "select(.run_id == \"$id\").status")" success
	clean
}

@test "--continue --overlap buffer-one goes on with the one that it waited for, if that died" {
	start 1 allow-all
	eventually begun 1
	awf-run --continue --name nightly --overlap buffer-one -c 'echo another' >out 3>&- &
	PIDS[2]=$!
	eventually waiting 1
	kill -9 "${PIDS[1]}"
	touch go
	ended 2 0
	same "$(transcripts)" 1
	same "$(jq -r .type "$(transcript_of 1)" | paste -sd' ')" 'run.started run.started run.completed'
	same "$(cat out)" ""
	clean
}

@test "a run inside a run of the same name does not wait for that one" {
	for policy in skip buffer-one buffer-all cancel-other; do
		run -0 awf-run -n --name same --overlap "$policy" -c \
			"awf-run -n --name same --overlap $policy -c 'awf-run -n --name same --overlap $policy -c \"echo inner\"'"
		same "$policy: $output" "$policy: inner"
	done
	clean
}

@test "a run inside another may be skipped, and wait for its turn; its parent goes on" {
	start 1 skip
	eventually begun 1
	run -0 awf-run -n --name outer -c 'awf-run -n --name nightly --overlap skip -c "echo ran"; echo after'
	same "$output" after
	same "$(jq -r .type "$(transcript)" | paste -sd' ')" 'run.started run.completed'
	awf-run -n --name outer -c 'awf-run -n --name nightly --overlap buffer-all -c "echo ran"; echo after' >out 3>&- &
	PIDS[2]=$!
	eventually waiting 1
	touch go
	ended 1 0
	ended 2 0
	same "$(paste -sd' ' out)" 'ran after'
	clean
}

@test "without a transcript, and masked: no name of it in the audit trail" {
	start 1 skip --no-transcript
	eventually begun 1
	run -0 awf-run -n --name nightly --overlap skip --mask cat -c 'echo ran'
	same "$output" ""
	same "$(audit 'select(.type == "run.skipped").name')" null
	touch go
	ended 1 0
	clean
}

@test "AWF_AUDIT_LOG=off: not a line" {
	start 1 skip
	eventually begun 1
	before=$(wc -l <"$AWF_STORAGE/audit.jsonl")
	AWF_AUDIT_LOG=off run -0 awf-run -n --name nightly --overlap skip true
	same "$(wc -l <"$AWF_STORAGE/audit.jsonl")" "$before"
	touch go
	ended 1 0
}

# What the list says of runs: jq's program.
listed() { awf-tail --list --json "${@:2}" | jq -c "$1"; }

@test "runs that wait are listed as queued, and no longer when they run or are gone" {
	start 1 buffer-all
	eventually begun 1
	start 2 buffer-all
	eventually waiting 1
	start 3 buffer-all --mask cat
	eventually waiting 2
	same "$(listed '[.status, .name, .child, .exit_code, .calls]' | paste -sd' ')" \
		'["queued","",false,null,0] ["queued","nightly",false,null,0] ["running","nightly",false,null,0]'
	same "$(listed 'select(.duration_ms >= 0 and .duration_ms < 600000 and .started > "2020").status' | wc -l)" 3
	same "$(awf-tail --list | awk 'NR > 1 {print $1, $2, $3}' | paste -sd' ')" \
		"$(listed 'select(.name != "")' | jq -r '[.name, .run_id[:8], .status] | join(" ")' | paste -sd' ')"
	same "$(listed .status --status queued | paste -sd' ')" '"queued" "queued"'
	same "$(listed .status --name 'night*' | paste -sd' ')" '"queued" "running"'
	same "$(listed .status -n 1)" '"queued"'
	same "$(listed .status --since 2999-01-01)" ''
	kill -KILL "${PIDS[3]}"
	ended 3 137
	same "$(listed .status | paste -sd' ')" '"queued" "running"'
	touch go
	ended 1 0
	ended 2 0
	same "$(listed .status | paste -sd' ')" '"success" "success"'
	same "$(listed .run_id | head -n 1)" "\"$(cat id.2)\""
	clean
}

@test "a run that waits to go on is queued where it began; a queued child is a child" {
	run -3 awf-run -n --name nightly --id-file id.9 -c 'awf-step -n a -q -- sh -c "test -e go || { sleep 5; false; }"'
	start 1 buffer-all
	eventually begun 1
	awf-run --overlap buffer-all --resume "$(cat id.9)" >/dev/null 2>&1 3>&- &
	PIDS[2]=$!
	eventually waiting 1
	same "$(listed '[.run_id, .status, .calls]' | paste -sd' ')" \
		"[\"$(cat id.1)\",\"running\",0] [\"$(cat id.9)\",\"queued\",1]"
	# How long it has waited, not how long it took before.
	same "$(listed '[.exit_code, .duration_ms < 5000]' --status queued)" '[null,true]'
	awf-run -n --name outer -c 'awf-run -n --name nightly --overlap buffer-all true' >/dev/null 2>&1 3>&- &
	PIDS[3]=$!
	eventually waiting 2
	same "$(listed '[.name, .status]' | paste -sd' ')" \
		'["outer","running"] ["nightly","running"] ["nightly","queued"]'
	same "$(listed '[.status, .child]' -R --status queued | paste -sd' ')" '["queued",true] ["queued",false]'
	touch go
	ended 1 0
	ended 2 0
	ended 3 0
	clean
}
