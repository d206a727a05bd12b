#!/usr/bin/env bats
# What awf-serve says of two runs, and to whom.
# shellcheck shell=bash disable=SC2016,SC2154
bats_require_minimum_version 1.5.0
load ../../support/helpers
load ../../support/serve

compare() { curl -s --max-time 40 -H "Authorization: Bearer $TOKEN" -o body -w '%{http_code}' "$URL/api/compare?a=$1&b=$2"; }

@test "it says what awf-diff says, to who may read both runs" {
	echo x | awf-run --id-file a --name one -c 'awf-step -q up -- tr a-z A-Z'
	echo y | awf-run --id-file b --name one -c 'awf-step -q up -- tr a-z A-Z'
	awf-run -n --id-file c --name two -c 'awf-step -n -q other -- true'
	serve
	TOKEN=$(awf-serve --new-token read)
	same "$(compare "$(cat a)" "$(cat b)")" 200
	[ "$(awf-diff --json "$(cat a)" "$(cat b)")" = "$(cat body)" ]
	same "$(compare @one "$(cut -c1-8 c)")" 200
	TOKEN=$(awf-serve --new-token read --name 'on*')
	same "$(compare "$(cat a)" "$(cat b)")" 200
	same "$(compare "$(cat a)" "$(cat c)")" 404
	same "$(compare "$(cat c)" "$(cat a)")" 404
	TOKEN=$(awf-serve --new-token start)
	same "$(compare "$(cat a)" "$(cat b)")" 404
	TOKEN=$(awf-serve --new-token ingest)
	same "$(compare "$(cat a)" "$(cat b)")" 403
	# Nothing is left behind.
	run ! ls "$AWF_STORAGE"/serve/printed-*
}

@test "who may read some workflows sees nothing of others that these have started, or were forked from" {
	flow='echo secret | awf-run --name inner -c "awf-step -q hidden -- tr a-z A-Z"; awf-step -n -q say -- true'
	awf-run -n --id-file a --name one -c "$flow"
	awf-run -n --id-file b --name one -c "${flow/secret/another}"
	serve
	TOKEN=$(awf-serve --new-token read)
	same "$(compare "$(cat a)" "$(cat b)")" 200
	jq -e 'select(.path == "hidden").result.a == "SECRET"' body
	TOKEN=$(awf-serve --new-token read --name one)
	same "$(compare "$(cat a)" "$(cat b)")" 200
	run ! grep -i 'secret"\|"hidden"' body
	jq -se '.[-1].counts | type == "object"' body
}

@test "what cannot be compared is said, and the server goes on" {
	awf-run -n --id-file a --name one -c 'awf-step -n -q say -- true'
	echo '{' >"$AWF_STORAGE/transcripts/11111111-1111-4111-8111-111111111111.jsonl"
	serve
	TOKEN=$(awf-serve --new-token read)
	same "$(compare "$(cat a)" 11111111-1111-4111-8111-111111111111)" 500
	jq -e '.error.code == "internal"' body
	same "$(compare "$(cat a)" "$(cat a)")" 200
}

# bats test_tags=turn:4
@test "an answer that is too large is refused" {
	python3 -Sc '
import json, uuid
run = "0f1e2d3c-0000-4000-8000-000000000001"
first = str(uuid.UUID(int=1))
def line(seq, type, path, parent, payload, event):
    print(json.dumps({"seq": seq, "timestamp": "2026-11-30T10:00:00.000000Z", "event_id": event, "run_id": run,
        "parent_event_id": parent, "type": type, "path": path, "iteration": 0, "payload": payload, "prev": "0" * 64}))
line(1, "run.started", "", None, {"name": "f", "attempt": 1}, first)
for i in range(1, 60001):
    name = "long" * 60
    line(2 * i, "step.started", name, first, {"name": name, "kind": "command", "call": f"{name}:0:{i}", "attempt": 1,
        "input_sha256": "%064d" % i, "definition_sha256": "0" * 64}, str(uuid.UUID(int=2 * i)))
' >"$BATS_TEST_TMPDIR/big"
	awf-run -n --name one -c true
	cp "$BATS_TEST_TMPDIR/big" "$AWF_STORAGE/transcripts/0f1e2d3c-0000-4000-8000-000000000001.jsonl"
	serve
	TOKEN=$(awf-serve --new-token read)
	same "$(compare 0f1e2d3c-0000-4000-8000-000000000001 0f1e2d3c-0000-4000-8000-000000000001)" 413
	jq -e '.error.code == "too_large"' body
}
