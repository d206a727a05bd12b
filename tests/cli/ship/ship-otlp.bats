#!/usr/bin/env bats
# awf-ship to a collector of OpenTelemetry: which spans come, how often, and what is kept of it.
# shellcheck shell=bash disable=SC2016,SC2154
bats_require_minimum_version 1.5.0
load ../../support/helpers
load ../../support/ship

prepare() { :; }
cleanup() { [ -z "${COLLECTOR_PID-}" ] || kill "$COLLECTOR_PID" 2>/dev/null || true; }

# A collector, which answers with each of these before it takes all.
collector() {
	[ -z "${COLLECTOR_PID-}" ] || { kill "$COLLECTOR_PID" && wait "$COLLECTOR_PID" || true; }
	rm -f url
	python3 -S "$ROOT/tests/support/otlp-collector.py" "$PWD/spans" "$@" >url 3>&- &
	COLLECTOR_PID=$!
	eventually test -s url
	TO=otlp+$(cat url)
}
# What has come: a line for each span.
spans() { jq -c '.resourceSpans[].scopeSpans[].spans[]' "$1"; }
# The same of what awf-tail tells of all runs.
told() { for file in "$AWF_STORAGE"/transcripts/*.jsonl; do awf-tail --as otlp "$file"; done; }

@test "the spans that awf-tail tells are there, once, and those of what comes later" {
	collector
	runs
	run -0 --separate-stderr awf-ship --to "$TO"
	same "$output$stderr" ''
	spans spans | sort >have
	told | spans /dev/stdin | sort >want
	cmp have want
	same "$(sort -u spans.headers)" '/v1/traces application/json None'
	awf-ship --to "$TO"
	same "$(spans spans | wc -l)" "$(wc -l <have)"
	# What an attempt added, of what was begun before.
	awf-ctl approve check @waits
	awf-run --resume @waits >/dev/null
	awf-ship --to "$TO"
	same "$(spans spans | jq -r .spanId | sort | uniq -d)" ''
	told | spans /dev/stdin | sort | cmp - <(spans spans | sort)
	same "$(stat -c %a "$AWF_STORAGE"/ship/*/positions | sort -u)" 600
}

@test "the environment says where, and with which headers" {
	collector
	awf-run -n --name one true
	OTEL_EXPORTER_OTLP_ENDPOINT=$(cat url)/ OTEL_EXPORTER_OTLP_HEADERS='x-key=a%20b' awf-ship --to otlp:
	OTEL_EXPORTER_OTLP_TRACES_ENDPOINT=$(cat url)/other awf-ship --to otlp:
	same "$(cat spans.headers)" $'/v1/traces application/json a b\n/other application/json None'
	run -1 --separate-stderr awf-ship --to otlp:
	same "$stderr" 'awf-ship-otlp: otlp:: names no collector, nor does OTEL_EXPORTER_OTLP_ENDPOINT'
	run -1 --separate-stderr awf-ship --to otlp+ftp://x
	same "$stderr" 'awf-ship-otlp: otlp+ftp://x: is no URL of a collector (otlp+https://HOST[:PORT])'
}

@test "an attempt that died is told when another begins, and what lay open in it" {
	collector
	echo x | awf-run --name died -c 'awf-step --each outer -- awf-step inner -- cat' >/dev/null
	# Killed between the ends of two calls.
	file=$(transcript)
	sed -i '/"step.completed","path":"outer",/,$d' "$file"
	same "$(tail -n 1 "$file" | jq -r '[.type, .path] | @tsv')" $'step.completed\touter.inner'
	awf-ship --to "$TO"
	same "$(spans spans | jq -r .name)" 'step inner'
	awf-run --resume @died
	awf-ship --to "$TO"
	same "$(spans spans | jq -r 'select(.status.code == 2) | [.name, .status.message] | join(": ")')" $'invoke_workflow died: died\nstep outer: the attempt died'
	# Each span has its parent, or is a root.
	same "$(spans spans | jq -rs '(map(.spanId)) as $all | .[] | select(.parentSpanId) | .parentSpanId | select(. as $p | $all | index($p) | not)')" ''
}

@test "a collector that refuses loses nothing; what it rejects for good is said" {
	collector 500
	runs
	run -4 --separate-stderr awf-ship --to "$TO"
	same "$stderr" "awf-ship-otlp: $(cat url)/v1/traces: HTTP 500: not now"
	[ ! -e spans ]
	awf-ship --to "$TO"
	told | spans /dev/stdin | sort | cmp - <(spans spans | sort)
	rm spans
	collector 429 429 partial
	run -0 --separate-stderr awf-ship --to "$TO"
	same "$stderr" "awf-ship-otlp: $(cat url)/v1/traces: 1 spans were rejected: too old"
	told | spans /dev/stdin | sort | cmp - <(spans spans | sort)
	# Killed before it is noted: sent again, as the same spans.
	positions=$(find "$AWF_STORAGE/ship" -name positions -newer url)
	printf '%s' "$(sed '$d' "$positions")" | head -c -9 >cut
	cp cut "$positions"
	awf-ship --to "$TO"
	same "$(spans spans | sort -u)" "$(told | spans /dev/stdin | sort)"
	awf-ship --to "$TO"
}

@test "one at a time sends to a collector" {
	collector
	awf-run -n --name one -c 'until [ -e go ]; do sleep 0.02; done' 3>&- &
	flow=$!
	eventually test -e "$AWF_STORAGE/latest"
	awf-ship -f --to "$TO" @ 3>&- &
	shipping=$!
	eventually sh -c 'ls "$AWF_STORAGE"/ship/*/positions'
	run -4 --separate-stderr awf-ship --to "$TO"
	[[ $stderr == "awf-ship-otlp: $AWF_STORAGE/ship/"*': another awf-ship sends to this collector: '* ]]
	: >go
	wait $flow $shipping
	same "$(spans spans | jq -r .name)" 'invoke_workflow one'
}
