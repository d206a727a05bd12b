#!/usr/bin/env bats
# What programs need of memory for a record of many calls, and for many items at once: in
# bytes for each, above what they need for one. Bounds are a third above what was measured.
# shellcheck disable=SC2154 # bats sets stderr
# bats file_tags=ci

bats_require_minimum_version 1.5.0
load ../../support/helpers

CALLS=20000

# COMMAND...: the peak memory, in KiB, of the largest of its processes.
peak() { "$BUILD/tests/bench/bench_cost" "$@" | cut -d ' ' -f 2; }

# BOUND SMALL LARGE COUNT: SMALL and LARGE are KiB for one and for COUNT.
bytes_each() {
	local each=$((($3 - $2) * 1024 / $4))
	[ "$each" -le "$1" ] || { echo "$each bytes each, above $1"; return 1; }
}

# What sanitizers keep is not what is bounded here.
prepare() { ! grep -qa __asan_init "$BUILD/bin/awf-step" || skip 'a sanitizer keeps what is freed'; }

# COUNT: a run of so many calls, which is made once, in a storage of that name.
record() {
	[ -e "$BATS_FILE_TMPDIR/$1" ] ||
		AWF_STORAGE="$BATS_FILE_TMPDIR/$1" awf-run -c "seq $1 | awf-step -i lines --terminal success -q each"
	cp -r "$BATS_FILE_TMPDIR/$1" .
}

@test "what reads all calls of a run keeps some hundred bytes of each" {
	record 1
	record $CALLS
	while IFS='|' read -r bound command; do
		# shellcheck disable=SC2086 # its words
		small=$(AWF_STORAGE=1 peak $command)
		# shellcheck disable=SC2086
		large=$(AWF_STORAGE=$CALLS peak $command)
		bytes_each "$bound" "$small" "$large" $CALLS || { echo "$command"; return 1; }
	done <<-'end'
		600|awf-replay --tree
		600|awf-replay --timeline
		600|awf-replay --timeline --html page.html
		400|awf-tail --cost
		360|awf-tail --as otlp
		560|awf-replay -q
	end
}

@test "a resume keeps some hundred bytes of each recorded call" {
	local count
	for count in 1 $CALLS; do
		record "$count"
		sed -i '$d' "$(readlink -f "$count/latest")"
	done
	bytes_each 840 "$(AWF_STORAGE=1 peak awf-run --resume @)" \
		"$(AWF_STORAGE=$CALLS peak awf-run --resume @)" $CALLS
}

@test "the index of agents' calls, with their messages and tools, is made in some hundred bytes of each event" {
	local tools="$BUILD/tests/bench"
	"$tools/gen_transcript" 1 small.jsonl
	"$tools/gen_transcript" $((40 << 20)) large.jsonl
	bytes_each 115 "$(peak "$tools/bench_history" 1 small.jsonl index)" \
		"$(peak "$tools/bench_history" 1 large.jsonl index)" "$(wc -l <large.jsonl)"
}

@test "the one call of all items holds their data once, and of their makers what it records" {
	cat >lines <<-'end'
		jq -nc --arg run "$AWF_RUN_ID" --argjson count "$1" 'range($count) | {data: "x", metadata: {
			run_id: $run, event_id: "0b7a4c1e-6a1f-4d5c-9b1a-\(. + 100000000000)", call: "each:0:\(.)",
			path: "each", agent_name: "each", sha256: ("0" * 64)}}'
	end
	step="$BUILD/tests/bench/bench_cost awf-step -s -q all -- true >peak"
	awf-run -c "sh ./lines 1 | $step"
	small=$(cut -d ' ' -f 2 peak)
	awf-run -c "sh ./lines $CALLS | $step"
	same "$(jq 'select(.type == "step.started").links | length' "$(transcript)")" $((CALLS - 1))
	bytes_each 160 "$small" "$(cut -d ' ' -f 2 peak)" $CALLS
}

@test "a line above the limit is told of, and not held, whichever way the file is read" {
	record 1
	head -n 2 "$(readlink -f 1/latest)" >long.jsonl
	truncate -s $(((256 << 20) + 4096)) long.jsonl
	echo >>long.jsonl
	tail -n 1 "$(readlink -f 1/latest)" >>long.jsonl
	for options in '' '-n 3' '--type step.started -n 9' '--cost'; do
		# shellcheck disable=SC2086 # its words
		run -1 --separate-stderr "$BUILD/tests/bench/bench_cost" awf-tail $options long.jsonl
		[[ $stderr == "awf-tail: $PWD/long.jsonl: the line at byte "*" is above the limit of 268435456 bytes" ]]
		[ "${output#* }" -le 8192 ]
	done
}
