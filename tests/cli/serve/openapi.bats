#!/usr/bin/env bats
# openapi.json: what the server answers is what its description says. That the two have the same
# routes is tests/unit/test_openapi.c.
# shellcheck shell=bash disable=SC2016,SC2154
bats_require_minimum_version 1.5.0
load ../../support/helpers
load ../../support/serve

cleanup() {
	for job in $(jobs -p); do kill "$job" 2>/dev/null || true; done
	serve_end || true
}

hold() { python3 "$ROOT/tests/support/openapi.py" openapi.json "$URL" covered "$@"; }

# bats test_tags=turn:4
@test "each answer is as openapi.json has it, and each status that it has was answered" {
	# A run with an agent, tools and a blob; one that failed; one that waits; two ids that begin alike.
	head -c 300000 /dev/zero | tr '\0' x | awf-run --name demo -c 'awf-step big -r -- cat' | cat >/dev/null
	AWF_MODEL=replay/$ROOT/examples/recordings/brief.jsonl awf-run --name brief "$ROOT/examples/brief.awf" \
		<<<'solid-state batteries' >/dev/null
	awf-run -n --name bad -c 'awf-step -n -q a -- false' || true
	awf-run --name ask -c 'awf-step --approve check' <<<draft || true
	awf-run --name again -c 'awf-step -i json --approve check' <<<'{"a": 1}' || true
	awf-run -n --name task -c 'awf-step -n --pending=1h --effects external wait -q -- sh -c "exit 75"' || true
	for end in 1 2; do
		sed "s/\"run_id\":\"[^\"]*\"/\"run_id\":\"aaaa0000-0000-4000-8000-00000000000$end\"/" "$(transcript)" \
			>"$AWF_STORAGE/transcripts/aaaa0000-0000-4000-8000-00000000000$end.jsonl"
	done
	echo x | awf-eval -i - --name tried -c 'same=jq -e ".result == .input"' -- cat >/dev/null
	# One of another machine, with a blob.
	there() { AWF_STORAGE=$PWD/there "$@"; }
	there awf-run -n --name big -c 'awf-step -n a -q -- sh -c "head -c 300000 /dev/zero | tr \"\\0\" y"'
	sent=$(there awf-tail --list --json -n 1 | jq -r .run_id)
	blob=$(ls "there/blobs/$sent")
	there awf-tail --json >lines
	sed 1,2d lines >late
	mkdir flows
	printf '#!/bin/sh\ncat >/dev/null\n' >flows/deploy.awf
	printf 'exit 1\n' >flows/bad.awf
	serve --workflows flows
	for role in read decide ingest start; do
		TOKEN=$(awf-serve --new-token "$role" --label "$role")
		export "TOKEN_$role=$TOKEN"
	done
	TOKEN_other=$(awf-serve --new-token ingest --label other)
	export TOKEN_other
	curl -s "$URL/api/openapi.json" >openapi.json
	# The version is that of the programs, and stands in no other file of the tree.
	sed "s/@AWF_VERSION@/$(awf --version | sed 's/^awf //')/" "$ROOT/share/openapi.json" | cmp - openapi.json
	run_id=$(awf-tail --list --json --name demo | jq -r .run_id)
	sha256=$(ls "$AWF_STORAGE/blobs/$run_id" | head -n 1)
	# Something happens while the streams are looked at.
	touch busy
	(while [ -e busy ]; do awf-run -n --name new -c 'awf-step -n -q a -- true'; sleep 0.4; done) >/dev/null 2>&1 3>&- &
	busy=$!
	hold auto "{\"run\": \"$run_id\", \"seq\": \"1\", \"sha256\": \"$sha256\", \"file\": \"page.js\", \"several\": \"aaaa\", \"other\": \"@brief\",
		\"name\": \"deploy\", \"/api/runs/{run}/evaluation\": {\"run\": \"@tried\"}}"
	last=$(ask /api/runs/@demo/events/stream | messages | tail -n 2 | sed -n '1s/.* //p')
	rm busy
	wait "$busy"
	session=$(ask_tcp /api/session -H 'Content-Type: application/json' -d "{\"token\": \"$TOKEN_decide\"}" | jq -r .token)
	export TOKEN_session="$session"
	big=$(jq -nc '{decision: "approve", call: "check", data: {big: "x"}}')
	(trap '' TERM; exec awf-run -n --name deaf -c 'awf-step -n one -q -- sleep 20') >/dev/null 2>&1 3>&- &
	deaf=$!
	eventually eval 'grep -q "\"name\":\"one\"" "$AWF_STORAGE"/transcripts/*.jsonl'
	started=$(curl -s -H "Authorization: Bearer $TOKEN_start" -d y "$URL/hooks/deploy" | jq -r .run_id)
	eventually [ -s "$AWF_STORAGE/transcripts/$started.jsonl" ]
	hold table <<-END
		200 GET /runs/@brief
		200 GET '/api/waits?limit=2' as=read
		200 GET '/api/stats?by=step' as=read
		200 GET '/api/stats?by=model&since=7d' as=read
		200 GET '/api/stats/calls?by=step&name=bad%20a&failed=1' as=read
		400 GET '/api/stats?by=none' as=read
		200 GET '/api/search?q=batteries&limit=1' as=read
		400 GET '/api/search?q=' as=read
		200 GET '/api/runs?sort=cost&turned=1&limit=2' as=read
		400 GET '/api/runs?sort=none' as=read
		200 GET /api/runs/@brief/again as=read
		200 POST /api/runs/@bad/again as=read 'body={"do": "again"}'
		202 POST /api/runs/$started/again as=start 'body={"do": "again", "start": true}'
		403 POST /api/runs/@bad/again as=read 'body={"do": "again", "start": true}'
		404 GET /www/none.js
		404 GET /api/runs/@demo/events/999999 as=read
		404 GET /api/runs/@demo/blobs/0000000000000000000000000000000000000000000000000000000000000000 as=read
		404 GET /api/runs/@bad/input as=read
		404 GET /api/runs/@bad/evaluation as=read
		409 GET '/api/runs/@bad/output?wait=5s' as=read
		202 GET '/api/runs/@ask/output?wait=0' as=read
		200 GET '/api/runs?limit=2&status=failed&name=b*' as=read
		200 GET '/api/runs?children=1&since=1h' as=decide
		200 GET '/api/compare?a=@brief&b=@bad' as=read
		200 GET '/api/compare?a=@again&b=@ask' as=decide
		400 GET '/api/compare?a=@brief' as=read
		404 GET '/api/compare?a=@brief&b=@none' as=read
		409 GET '/api/compare?a=aaaa&b=@brief' as=read
		200 GET /compare/@brief/@bad
		200 GET /api/runs/@brief as=read
		200 GET /api/runs/@bad as=read
		200 GET /api/runs/@ask as=read
		200 GET /api/runs/@again as=read
		200 GET /api/runs/@task as=read
		200 GET '/api/runs/@brief/outline?limit=3' as=read
		200 GET /api/runs/@brief/outline as=read
		200 GET /api/runs/@bad/outline as=read
		200 GET '/api/runs/@brief/events?after=3&limit=4&type=message.*' as=read
		200 GET '/api/runs/@brief/events?as=otlp' as=read
		200 GET '/api/runs/@brief/events?as=interagent&follow=1' as=read
		400 GET '/api/runs/@brief/events?as=none' as=read
		200 GET /api/runs/@brief/events/stream as=read
		200 GET '/api/runs/@brief/events/stream?as=daemon-event' as=read
		200 GET '/api/runs/@brief/events/stream?live=1' as=read
		200 GET '/api/runs/@brief/events/stream?afterSeq=3-00000000' as=read
		200 GET '/api/runs/@demo/events/stream' as=read 'Last-Event-ID: 2'
		204 GET '/api/runs/@demo/events/stream?afterSeq=$last' as=read
		200 GET /workflows/@brief/events?offset=2 as=read
		200 POST /api/runs/@ask/decisions as=decide 'body={"decision": "approve", "call": "check", "reason": "good"}'
		409 POST /api/runs/@ask/decisions as=decide 'body={"decision": "deny", "call": "check"}'
		200 POST /api/runs/@again/decisions as=decide 'body=$big'
		404 POST /api/runs/@again/decisions as=decide 'body={"decision": "deny", "call": "none"}'
		400 POST /api/runs/@again/decisions as=decide 'body={"decision": "other"}'
		202 POST /api/runs/@deaf/decisions as=decide 'body={"decision": "cancel"}'
		202 POST /hooks/deploy as=start body=x type=text/plain 'X-GitHub-Delivery: 1'
		200 POST /hooks/deploy as=start body=x type=text/plain 'X-GitHub-Delivery: 1'
		200 POST /hooks/deploy as=start body=x type=text/plain 'X-GitHub-Event: ping'
		200 POST /hooks/deploy?wait=20s as=start body=x type=text/plain
		409 POST /hooks/bad?wait=20s as=start body=x type=text/plain
		401 POST /hooks/deploy body=x type=text/plain 'X-Hub-Signature-256: sha256=0'
		404 POST /hooks/none as=start body=x type=text/plain
		409 POST /api/ingest as=ingest type=application/x-ndjson file=late
		201 PUT /api/runs/$sent/blobs/$blob as=ingest type=application/octet-stream file=there/blobs/$sent/$blob
		400 PUT /api/runs/$sent/blobs/$blob as=ingest type=application/octet-stream body=x
		400 PUT /api/runs/@/blobs/$blob as=ingest type=application/octet-stream body=x
		200 POST /api/ingest as=ingest type=application/x-ndjson file=lines
		200 POST /api/ingest as=ingest type=application/x-ndjson file=lines
		403 POST /api/ingest as=other type=application/x-ndjson file=lines
		403 PUT /api/runs/$sent/blobs/$blob as=other type=application/octet-stream file=there/blobs/$sent/$blob
		400 POST /api/ingest as=ingest type=application/x-ndjson body=x
		200 POST /api/ingest as=ingest 'body={"events": [{"type": "note", "runId": "job 7", "event_id": "1"}]}'
		200 POST /v1/traces as=ingest 'body={"resourceSpans": []}'
		400 POST /v1/traces as=ingest 'body=[]'
		200 GET /api/runs/$sent as=read
		200 POST /api/runs/job%207/end as=ingest 'body={"status": "failed"}'
		409 POST /api/runs/job%207/end as=ingest 'body={"status": "failed"}'
		403 POST /api/runs/job%207/end as=other 'body={"status": "failed"}'
		400 POST /api/runs/job%207/end as=ingest 'body={"status": "odd"}'
		200 POST /api/session 'body={"code": "$CODE", "cookie": true}'
		401 POST /api/session 'body={"code": "$CODE"}'
		400 POST /api/session 'body={}'
		200 POST /api/session 'body={"token": "$TOKEN_read"}'
		200 GET /api/session as=session
		204 POST /api/session/end as=session
		401 GET /api/session as=session
		421 GET /api/runs as=read 'Host: evil.example'
		417 GET /healthz 'Expect: nothing'
	END
	kill -KILL "$deaf"
	mv "$AWF_STORAGE/transcripts" "$AWF_STORAGE/moved"
	hold table <<<'503 GET /healthz'
	mv "$AWF_STORAGE/moved" "$AWF_STORAGE/transcripts"
	serve_end
	serve --ingest-rate 1 --blob-quota 100K
	jq -nc '{events: [range(100) | {type: "x", runId: "job 8", event_id: tostring}]}' >many
	head -c 200000 /dev/zero | tr '\0' z >large
	sum=$(sha256sum <large | cut -d' ' -f1)
	hold table <<-END
		429 POST /api/ingest as=ingest file=many
		429 PUT /api/runs/22222222-2222-4222-8222-222222222222/blobs/$sum as=ingest type=text/plain file=large
	END
	hold check
}

# bats test_tags=turn:3
@test "a description that does not fit, or that nobody has held against the server, fails" {
	awf-run -n --name demo -c true
	serve
	TOKEN_read=$(awf-serve --new-token read)
	export TOKEN_read
	fails() {
		jq "$1" "$ROOT/share/openapi.json" >openapi.json
		: >covered
		run -1 hold table <<<"200 GET /api/runs/@ as=read"
		[[ $output == "GET /api/runs/@: 200: "* ]]
	}
	jq . "$ROOT/share/openapi.json" >openapi.json
	hold table <<<"200 GET /api/runs/@ as=read"
	fails 'del(.components.schemas.Run.properties.usage)'
	fails '.components.schemas.Run.required += ["colour"]'
	fails '.components.schemas.Run.properties.alive = {type: "string"}'
	fails '.paths["/api/runs/{run}"].get.responses["200"].content = {"text/plain": {}}'
	jq . "$ROOT/share/openapi.json" >openapi.json
	run -1 hold table <<<"200 GET /api/none"
	run -1 hold table <<<"404 GET /api/runs/@ as=read"
	run -1 hold check
	[[ $output == *'get /metrics: nothing was answered with 200'* ]]
}
