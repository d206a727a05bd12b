#!/usr/bin/env bats
# The examples of awf-serve(1), run as they stand there, but for the port; and a line for each route.
# shellcheck shell=bash disable=SC2016,SC2154
bats_require_minimum_version 1.5.0
load ../../support/helpers
load ../../support/serve

# The displays of the page's EXAMPLES, in files display.N.
displays() {
	awk '/^\.Sh/ { examples = /EXAMPLES/ } !examples { next }
		/^\.Bd -literal/ { file = "display." ++count; next } /^\.Ed/ { file = ""; next }
		file != "" { gsub(/\\e/, "\\"); gsub(/\\&/, ""); print >file }' "$ROOT/man/awf-serve.1"
}

# bats test_tags=turn:2
@test "each request in the examples of awf-serve(1) is answered" {
	displays
	awf-run --name flow -c 'awf-step --approve check' <<<draft || [ $? = 75 ]
	flow=$(transcript)
	mkdir flows
	echo 'awf-step -q take -- cat >/dev/null' >flows/deploy.awf
	echo 'awf-step -r upper -- tr a-z A-Z' >flows/summary.awf
	echo '{"order":1}' >order.json
	echo notes >notes.txt
	mkdir build
	AWF_STORAGE=$PWD/build/.local/share/awf awf-run -n --name nightly -c 'awf-step -n a -q -- sh -c "head -c 300000 /dev/zero | tr \"\\0\" x"'
	export XDG_RUNTIME_DIR="$PWD"
	serve --workflows flows
	# What is asked succeeds, as it is asked.
	cat >prelude <<-'END'
		set -eu -o pipefail
		trap 'kill $(jobs -p) 2>/dev/null || true' EXIT
		# The other machine.
		ssh() { shift; (cd "$PWD/build" && HOME=$PWD && AWF_STORAGE=$HOME/.local/share/awf "$@"); }
		curl() { echo >>requests; command curl --fail --max-time 10 "$@"; }
	END
	: >requests
	for display in display.*; do
		! grep -q 'awf-serve --db' "$display" || continue
		sed "s/127\.0\.0\.1:8741/127.0.0.1:$PORT/g" "$display" | cat prelude - >script
		run -0 timeout 30 bash script </dev/null 3>&-
		printf '%s\n' "$output" >"said.$display"
	done
	# The loop over blobs has several.
	[ "$(wc -l <requests)" -ge "$(cat display.* | grep -c '\<curl\>')" ]
	[ "$(wc -l <requests)" -ge 4 ]
	# What they say is so.
	same "$(cat said.* | grep -c '^NOTES$')" 2
	same "$(awf-tail --list --json --name deploy.awf | jq -r .run_id | wc -l)" 2
	same "$(payloads step.completed 'select(.approval.decision) | [.result, .approval.by]' "$flow")" '["a better draft","alice"]'
	same "$(awf-tail --list --json | jq -r 'select(.origin) | [.name, .status, (.origin | split(" ")[0])] | join(" ")' | sort)" 'nightly success build
release 7 success ci'
	awf-verify "$(awf-tail --list --json | jq -r 'select(.name == "nightly").run_id')"
}

@test "the example with a database serves what was shipped there" {
	displays
	awf-run -n --name shipped true
	db=$(grep -l 'awf-serve --db sqlite:' display.*)
	(cat "$db"; echo) | sed 's/^awf-serve .*/& >served \&/' >script
	echo 'until [ -s served ] && grep -qs run.completed ~/.cache/awf/db/*/*/record/transcripts/*; do sleep 0.01; done; kill $!; wait' >>script
	run -0 timeout 30 bash script </dev/null 3>&-
	[[ $(cat served) == http://127.0.0.1:*'/#code='* ]]
	same "$(jq -r 'select(.type == "run.started").payload.name' ~/.cache/awf/db/*/*/record/transcripts/*)" shipped
}

# bats test_tags=turn:2
@test "each route is had by a line of curl" {
	awf-run --name flow -c 'awf-step --approve check' <<<draft || [ $? = 75 ]
	awf-run -n --name big -c 'awf-step -n -r -q big -- sh -c "head -c 300000 /dev/zero | tr \"\\0\" x"' >/dev/null
	blob=$(ls "$AWF_STORAGE"/blobs/*/)
	awf-run -n --name piped -c 'awf-step -n -r a -- echo piped' | cat >/dev/null
	echo x | awf-eval -i - --name tried -- cat >/dev/null
	sent=$(printf hello | sha256sum | cut -c 1-64)
	mkdir flows
	echo 'awf-step -q take -- cat >/dev/null' >flows/deploy.awf
	serve --workflows flows
	api=$URL/api json='Content-Type: application/json' lines='Content-Type: application/x-ndjson'
	for role in read decide ingest start; do
		declare "$role=Authorization: Bearer $(awf-serve --new-token "$role")"
	done
	: >routes
	while IFS='|' read -r route want line; do
		echo "$route" >>routes
		eval "curl -sN --fail --max-time 20 $line" >answer </dev/null || { echo "$route: $line" >&2; return 1; }
		mv answer body
		grep -qE -- "$want" body || { echo "$route: $line" >&2; cat body >&2; return 1; }
	done <<-'END'
		get /|<title>|$URL/
		get /runs/{run}|<title>|$URL/runs/@flow
		get /compare/{run}/{other}|<title>|$URL/compare/@flow/@big
		get /inbox|<title>|$URL/inbox
		get /overview|<title>|$URL/overview
		get /search|<title>|$URL/search
		get /www/{file}|^export|$URL/www/dom.js
		get /healthz|^ok$|$URL/healthz
		get /metrics|^awf_runs\{|-H "$read" $URL/metrics
		get /api/openapi.json|"openapi": "3\.1|$api/openapi.json
		get /api/runs|"next":null|-H "$read" "$api/runs?name=flow,b*&limit=2"
		get /api/runs/stream|^retry: |-H "$read" $api/runs/stream | head -n 1
		get /api/runs/{run}|"call":"check:0:0"|-H "$read" $api/runs/@flow
		get /api/runs/{run}/outline|"calls":|-H "$read" "$api/runs/@flow/outline?limit=2"
		get /api/runs/{run}/events|^\{"seq":2,|-H "$read" "$api/runs/@flow/events?after=1&limit=1"
		get /api/runs/{run}/events/stream|^id: 2-|-H "$read" -H "Last-Event-ID: 1" $api/runs/@flow/events/stream
		get /api/runs/{run}/events/{seq}|^\{"seq":2,|-H "$read" $api/runs/@flow/events/2
		get /api/runs/{run}/blobs/{sha256}|^"x+$|-H "$read" $api/runs/@big/blobs/$blob | head -c 100
		get /api/runs/{run}/input|^draft$|-H "$read" $api/runs/@flow/input
		get /api/runs/{run}/output|^piped$|-H "$read" "$api/runs/@piped/output?wait=5s"
		get /api/runs/{run}/evaluation|"outcome":"pass"|-H "$read" $api/runs/@tried/evaluation
		get /api/waits|"call":"check:0:0"|-H "$read" "$api/waits?limit=5"
		get /api/stats|"step":"big big"|-H "$read" "$api/stats?by=step&since=7d"
		get /api/stats/calls|"workflow":"big"|-H "$read" "$api/stats/calls?by=step&name=big%20big"
		get /api/search|"found":"draft"|-H "$read" "$api/search?q=DRAFT&limit=5"
		get /api/runs/{run}/again|"input":"whole"|-H "$read" $api/runs/@flow/again
		post /api/runs/{run}/again|awf-run --resume [0-9a-f-]+"|-H "$read" -H "$json" -d '{"do": "resume"}' $api/runs/@flow/again
		get /api/compare|"differ":true|-H "$read" "$api/compare?a=@flow&b=@big"
		get /workflows/{run}/events|"workflow_id"|-H "$read" "$URL/workflows/@flow/events?offset=1"
		post /api/runs/{run}/decisions|"approved"|-H "$decide" -H "$json" -d '{"decision": "approve", "call": "check"}' $api/runs/@flow/decisions
		put /api/runs/{run}/blobs/{sha256}|^|-H "$ingest" -d hello -X PUT $api/runs/0f1e2d3c-0000-4000-8000-000000000001/blobs/$sent
		post /api/ingest|"accepted":1|-H "$ingest" -H "$lines" -d '{"type": "deploy", "event_id": "1", "runId": "release 7"}' $api/ingest
		post /api/runs/{run}/end|"run_id":|-H "$ingest" -H "$json" -d '{"status": "success"}' $api/runs/release%207/end
		post /v1/traces|^\{\}$|-H "$ingest" -H "$json" -d '{"resourceSpans": []}' $URL/v1/traces
		post /hooks/{name}|"started"|-H "$start" -d x $URL/hooks/deploy
		get /api/session|"decide"|-H "$decide" $api/session
		post /api/session|"token":|-H "$json" -d "{\"token\": \"${read##* }\"}" $api/session
		post /api/session/end|^204$|-w '%{http_code}\n' -H "Authorization: Bearer $(jq -r .token body)" -X POST $api/session/end
	END
	same "$(sort routes)" "$(jq -r '.paths | to_entries[] | .key as $path | .value | keys[] | select(. != "parameters") | "\(.) \($path)"' "$ROOT/share/openapi.json" | sort)"
}
