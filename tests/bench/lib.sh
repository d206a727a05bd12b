# Sourced by rows.
# shellcheck shell=sh

# Milliseconds that a command takes, the best of RUNS (3); its output is dropped.
time_ms() {
	best=
	for _ in $(seq "${RUNS:-3}"); do
		begun=$(date +%s%N)
		"$@" >/dev/null 2>&1 || true
		took=$(($(date +%s%N) - begun))
		[ -n "$best" ] && [ "$best" -le "$took" ] || best=$took
	done
	awk "BEGIN { printf \"%.2f\", $best / 1000000 }"
}

# A ratio of two figures with one digit: ratio A B.
ratio() { awk "BEGIN { printf \"%.1f\", $1 / $2 }"; }

# Microseconds of each: each MILLISECONDS COUNT.
each() { awk "BEGIN { printf \"%.0f\", $1 * 1000 / $2 }"; }

# The transcript that rows read, made once.
big_transcript() {
	big="$BENCH_TMP/big.jsonl"
	[ -e "$big" ] || gen_transcript "$BENCH_BYTES" "$big"
	cat "$big" >/dev/null
}
