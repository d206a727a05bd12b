#!/usr/bin/env bats
# What awf-ship sends to a collector, by the definitions of OpenTelemetry, from npm: those in
# $AWF_OTLP_MODULES, or below build/test/otlp, where `make check-otlp` puts them.
bats_require_minimum_version 1.5.0
load ../../support/helpers
load ../../support/ship

prepare() {
	OTLP_MODULES=$(realpath -m "${AWF_OTLP_MODULES:-$BUILD/otlp/node_modules}")
	export OTLP_MODULES
	command -v node >/dev/null || skip "no node"
	for package in otlp-transformer semantic-conventions; do
		[ -e "$OTLP_MODULES/@opentelemetry/$package" ] || skip "no definitions in $OTLP_MODULES (make check-otlp)"
	done
	python3 -S "$ROOT/tests/support/otlp-collector.py" "$PWD/spans" >url 3>&- &
	COLLECTOR_PID=$!
	eventually test -s url
}
cleanup() { [ -z "${COLLECTOR_PID-}" ] || kill "$COLLECTOR_PID" 2>/dev/null || true; }
decode() { node "$ROOT/tests/otlp/decode.mjs" <spans >decoded; }

@test "requests are those of the protocol, names those of the conventions, spans the tree of the run" {
	runs
	awf-ship --to "otlp+$(cat url)"
	decode
	# Each step, tool and run has a span, each with its parent among them, or none.
	for file in "$AWF_STORAGE"/transcripts/*.jsonl; do
		jq -r 'select(.type | test("^(step|step.call_workflow)[.]completed$|^tool.result$|^run.completed$")).event_id' "$file"
	done >ends
	[ "$(wc -l <decoded)" -ge "$(wc -l <ends)" ]
	awk '{ has[$1] } { parent[NR] = $2 } END { for (i in parent) if (parent[i] != "-" && !(parent[i] in has)) { print parent[i]; bad = 1 } exit bad }' decoded
	# The calls of a run hang as they were made.
	for file in "$AWF_STORAGE"/transcripts/*.jsonl; do
		jq -rn 'def call: if .type // "" | test("^(step|step.call_workflow)[.]started$") then .payload.call else "" end;
			reduce inputs as $line ({}; .[$line.event_id] = $line) | . as $events |
			.[] | select(call != "") | call + " " + ($events[.parent_event_id // ""] | call)' "$file"
	done | sort >want
	jq -rn '[inputs | .resourceSpans[].scopeSpans[].spans[]] | (map({key: .spanId,
			value: ([.attributes[] | select(.key == "awf.call").value.stringValue][0] // "")}) | from_entries) as $calls |
		.[] | select($calls[.spanId] != "") | $calls[.spanId] + " " + ($calls[.parentSpanId // ""] // "")' spans |
		sort >have
	[ "$(wc -l <want)" -ge 10 ]
	diff want have
}

@test "so are those of the recorded runs, of each kind of model" {
	cp "$ROOT"/tests/fixtures/projections/*.otlp .
	cat ./*.otlp | jq -c 'del(.seq, .source_seq)' >spans
	decode
	[ "$(wc -l <decoded)" -ge 20 ]
}
