#!/usr/bin/env bats
# bats file_tags=turn:2
# awf-serve takes in spans of OpenTelemetry: in JSON and protocol buffers, in pieces, late, again, at once.
# shellcheck shell=bash disable=SC2016,SC2154
bats_require_minimum_version 1.5.0
load ../../support/helpers
load ../../support/serve

prepare() { DATA=$ROOT/tests/fixtures/import; }
start() {
	mkdir -p "$AWF_STORAGE"
	TOKEN=$(awf-serve --new-token ingest --label app)
	serve "$@"
}
# TYPE FILE [CURL OPTION ...]: sends a file; its status.
send() { status_of -D head -H "Authorization: Bearer $TOKEN" -H "Content-Type: $1" "${@:3}" --data-binary "@$2" "$URL/v1/traces"; }
json() { send application/json "$@"; }
protobuf() { send application/x-protobuf "$@"; }
answer() { cat "$BATS_TEST_TMPDIR/body"; }
sound() { same "$(awf-verify "$AWF_STORAGE" 2>&1)" ''; }
all() { cat "$AWF_STORAGE"/transcripts/*.jsonl; }
# The lines of the AI SDK's trace, a file for each.
lines() {
	split -l 1 -d "$DATA/ai-sdk-6.otlp.jsonl" line.
}

@test "spans in JSON: a run when the outermost one is there, of the sender, once" {
	start
	lines
	for line in line.00 line.01 line.02; do
		same "$(json "$line")" 200
		same "$(answer)" '{}'
	done
	same "$(awf-tail --list --json)" ''
	same "$(json line.03)" 200
	same "$(awf-tail --list --json | jq -c '[.name, .status, .calls, .input_tokens, .output_tokens, .origin[:5]]')" '["forecast","success",1,44,10,"app ("]'
	sound
	all >before
	for line in line.*; do same "$(json "$line")" 200; done
	cmp before <(all)
	# What awf-import makes of a file is the same, but for whose it is.
	AWF_STORAGE=$PWD/other awf-import -q --from otel "$DATA/ai-sdk-6.otlp.jsonl"
	cmp before <(cat other/transcripts/*)
}

@test "spans in protocol buffers: the answer is of that type, and what is recorded the same" {
	start
	for file in "$DATA"/openllmetry-*.otlp; do
		same "$(protobuf "$file")" 200
		same "$(answer)" ''
		grep -qi '^content-type: application/x-protobuf' head
	done
	sound
	same "$(awf-tail --list --json | jq -c '[.name, .status, .calls, .input_tokens, .output_tokens]')" '["weather.workflow","success",1,46,10]'
	same "$(all | jq -c 'select(.type == "tool.result").payload.output, select(.type == "step.completed").payload.result' | paste -sd' ')" '"sunny" "It is sunny in Bern."'
	# Every member that OTLP/JSON of the same program has, in the same form.
	form='[.. | objects | to_entries[] | select(.key != "droppedAttributesCount" and .key != "droppedEventsCount" and .key != "droppedLinksCount" and .key != "links" and .key != "events") | "\(.key) \(.value | type)"] | unique | map(select(test("intValue|version|code|attributes array") | not))[]'
	same "$(jq -s "$form" "$AWF_STORAGE"/traces/*/*.jsonl)" "$(jq -s "$form" "$DATA/openllmetry-0.27.otlp.jsonl")"
}

@test "spans compressed by gzip, as collectors send them; what is damaged, cut off, or larger than told is refused" {
	start
	lines
	for line in line.*; do gzip -c "$line" >"$line.gz"; done
	same "$(json line.00.gz -H 'Content-Encoding: gzip')" 200
	same "$(answer)" '{}'
	same "$(json line.01.gz -H 'Content-Encoding: x-gzip')" 200
	same "$(json line.02 -H 'Content-Encoding: identity')" 200
	same "$(json line.03.gz -H 'Content-Encoding: GZIP')" 200
	same "$(awf-tail --list --json | jq -c '[.name, .status, .calls, .input_tokens, .output_tokens]')" '["forecast","success",1,44,10]'
	sound
	all >before
	gzip -c "$DATA/openllmetry-0.27.0.otlp" >whole.gz
	for bytes in 0 1 9 10 30 $(($(stat -c %s whole.gz) - 1)); do
		head -c "$bytes" whole.gz >bad
		same "$bytes: $(protobuf bad -H 'Content-Encoding: gzip')" "$bytes: 400"
	done
	# The sum is another, and what is not compressed.
	{ head -c -8 whole.gz; printf '\1\2\3\4'; tail -c 4 whole.gz; } >bad
	same "$(protobuf bad -H 'Content-Encoding: gzip')" 400
	same "$(protobuf "$DATA/openllmetry-0.27.0.otlp" -H 'Content-Encoding: gzip')" 400
	# Much in little: spaces are JSON too.
	{ printf '{"resourceSpans":[]'; head -c 70000000 /dev/zero | tr '\0' ' '; printf '}'; } | gzip -c >bomb
	[ "$(stat -c %s bomb)" -lt 100000 ]
	same "$(json bomb -H 'Content-Encoding: gzip')" 413
	[[ $(answer) == *'64 MiB when it is decompressed'* ]]
	cmp before <(all)
	same "$(protobuf whole.gz -H 'Content-Encoding: gzip')" 200
	sound
}

@test "what is no request is refused, wherever it is cut, and leaves nothing" {
	start
	lines
	same "$(send text/plain line.00)" 415
	same "$(json line.00 -H 'Content-Encoding: zstd')" 415
	[[ $(answer) == *OTEL_EXPORTER_OTLP_COMPRESSION* ]]
	printf '{"resourceSpans":' >bad
	same "$(json bad)" 400
	printf '[]' >bad
	same "$(json bad)" 400
	same "$(TOKEN=$(awf-serve --new-token read) json line.00)" 403
	same "$(TOKEN=x json line.00)" 401
	same "$(TOKEN=$(awf-serve --new-token ingest --name 'x*') json line.00)" 403
	local file=$DATA/openllmetry-0.27.0.otlp
	for bytes in $(seq 1 "$(rounds 97 7)" "$(($(stat -c %s "$file") - 1))"); do
		head -c "$bytes" "$file" >bad
		same "$(protobuf bad)" 400
	done
	same "$(protobuf "$ROOT/tests/fuzz/corpus/otlp/ends-after-a-key")" 400
	# Messages in each other, without end.
	python3 -c '
import sys
value = b""
for _ in range(200):
    value = b"\x0a" + bytes([len(value) & 127 | 128, len(value) >> 7]) + value
    value = b"\x2a" + bytes([len(value) & 127 | 128, len(value) >> 7]) + value
def field(number, data): return bytes([number << 3 | 2, len(data) & 127 | 128, len(data) >> 7]) + data
sys.stdout.buffer.write(field(1, field(2, field(2, field(9, field(2, value))))))' >bad
	same "$(protobuf bad)" 400
	printf '{"resourceSpans":[{"scopeSpans":[{"spans":[{"traceId":"../../x","spanId":"1"},{"spanId":"2"}]}]}]}' >odd
	same "$(json odd)" 200
	same "$(find "$AWF_STORAGE" -name '*.jsonl')" ''
	printf '' >empty
	same "$(protobuf empty)" 200
}

@test "a trace that another sender has sent is not changed, and that is told" {
	start
	jq -sc '{resourceSpans: map(.resourceSpans[])}' "$DATA/ai-sdk-6.otlp.jsonl" >one
	same "$(json one)" 200
	all >before
	TOKEN=$(awf-serve --new-token ingest --label other)
	same "$(json one)" 200
	same "$(answer | jq -c '.partialSuccess | keys')" '["errorMessage"]'
	cmp before <(all)
	sound
}

@test "many requests of a trace at once, of which some were cut off before" {
	start
	lines
	jq -c '.resourceSpans[].scopeSpans[].spans[].spanId |= . + "" | .' line.00 >one
	for i in $(seq 10 33); do
		jq -c --arg i "00000000000000$i" '.resourceSpans[].scopeSpans[].spans[].spanId = $i' line.00 >"more.$i"
	done
	same "$(json line.03)" 200
	printf '{"resourceSpans":[{"sco' >>"$(echo "$AWF_STORAGE"/traces/*/*.jsonl)"
	for i in $(seq 10 33); do json "more.$i" -D /dev/null >"status.$i" 3>&- & done
	wait $(jobs -p | grep -vx "$SERVE_PID")
	same "$(cat status.* | tr -d '\n' | sed 's/200//g')" ''
	same "$(json line.01)" 200
	same "$(all | jq -c 'select(.type == "message.assistant").event_id' | sort -u | wc -l)" 25
	sound
}

@test "what nothing came to for long is recorded as it is, and not kept" {
	start
	lines
	same "$(json line.02)" 200
	same "$(awf-tail --list --json)" ''
	touch -d '13 hours ago' "$AWF_STORAGE"/traces/*/*
	same "$(protobuf "$DATA/openllmetry-0.27.0.otlp")" 200
	same "$(awf-tail --list --json | jq -c '[.name, .status, .input_tokens]')" '["ai.generateText.doGenerate","success",23]'
	same "$(find "$AWF_STORAGE"/traces -name '*.jsonl' | wc -l)" 1
	# One that has come to its end goes with its mark.
	for line in line.*; do same "$(json "$line")" 200; done
	same "$(find "$AWF_STORAGE"/traces -name '*.begun' | wc -l)" 1
	touch -d '13 hours ago' "$AWF_STORAGE"/traces/*/*
	same "$(protobuf "$DATA/openllmetry-0.27.0.otlp")" 200
	same "$(find "$AWF_STORAGE"/traces -name '*.begun' | wc -l)" 0
	sound
}

@test "awf-ship sends here what awf-run has recorded, in its own trace" {
	start
	AWF_STORAGE=$PWD/there awf-run -n --name flow -c 'awf-step -n one -q -- true; awf-step -n two -q -- false' || true
	AWF_STORAGE=$PWD/there OTEL_EXPORTER_OTLP_HEADERS="Authorization=Bearer%20$TOKEN" awf-ship --to "otlp+$URL"
	sound
	same "$(awf-tail --list --json | jq -c '[.name, .status, .calls]')" '["flow","failed",2]'
	same "$(all | jq -c 'select(.type == "step.completed").payload | [.name, .error.code]' | paste -sd' ')" '["one",null] ["two","exit_status"]'
}

@test "a request with spans of very many traces" {
	start
	python3 -c '
import json
print(json.dumps({"resourceSpans": [{"scopeSpans": [{"spans": [{"traceId": f"{n:032x}", "spanId": f"{n:016x}", "name": "x",
    "startTimeUnixNano": "1700000000000000000", "endTimeUnixNano": "1700000000000000500",
    "attributes": [{"key": "gen_ai.operation.name", "value": {"stringValue": "chat"}}]} for n in range(1, 122)]}]}]}))' >many
	same "$(json many)" 200
	same "$(find "$AWF_STORAGE/transcripts" -name '*.jsonl' | wc -l)" 121
}
