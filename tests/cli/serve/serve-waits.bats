#!/usr/bin/env bats
# What waits for a person, of all runs: GET /api/waits.
# shellcheck shell=bash disable=SC2016,SC2154
bats_require_minimum_version 1.5.0
load ../../support/helpers
load ../../support/serve

waits() { curl -s --max-time 20 -H "Authorization: Bearer $TOKEN" -o body -w '%{http_code}' "$URL/api/waits$1"; }
calls() { jq -r '.waits[] | "\(.name) \(.call) \(.for)"' body | paste -sd,; }
asks() { awf-run --name "$1" -c 'awf-step --approve ok | awf-step go -r -- cat' <<<"$2" || [ $? = 75 ]; }

@test "all that waits, of all runs, the oldest first, to who may read them" {
	asks first cake
	awf-run -n --name second -c 'awf-step -n --pending job -q -- sh -c "exit 75"' || [ $? = 75 ]
	awf-run -n --name sleeps -c 'awf-step -n --sleep 1h later' || [ $? = 75 ]
	awf-run -n --name third -c 'awf-step -n --try in -q -- awf-run --name inner -c "echo bread | awf-step --approve inside"' || [ $? = 75 ]
	awf-run -n --name done -c true
	serve
	TOKEN=$(awf-serve --new-token read)
	same "$(waits '')" 200
	same "$(calls)" 'first ok:0:0 approval,second job:0:0 completion,inner inside:0:0 approval'
	same "$(jq -r '.waits[0] | "\(.input.text) \(.alive) \(.run_id)"' body)" "cake false $(awf-tail --list --json --name first | jq -r .run_id)"
	same "$(jq -c '[.total, .more]' body)" '[3,false]'
	# As the run itself has it.
	ask_tcp /api/runs/@first | jq -S '.waits[0]' >one
	jq -S '.waits[0] | del(.run_id, .name, .alive)' body >same
	cmp one same
	same "$(waits '?limit=2')" 200
	same "$(calls)" 'first ok:0:0 approval,second job:0:0 completion'
	same "$(jq -c '[.total, .more]' body)" '[3,true]'
	same "$(waits '?limit=0')" 200
	same "$(jq -c '[.waits, .total, .more]' body)" '[[],3,true]'
	same "$(waits '?limit=201')" 400
	same "$(waits '?status=waiting')" 400
	TOKEN=$(awf-serve --new-token read --name 'f*,inner')
	same "$(waits '')" 200
	same "$(calls)" 'first ok:0:0 approval,inner inside:0:0 approval'
	for role in ingest start; do
		TOKEN=$(awf-serve --new-token $role)
		same "$(waits '')" 403
	done
	TOKEN=none
	same "$(waits '')" 401
}

@test "what is decided is gone, what asks anew is there; a live question, too" {
	asks first cake
	asks second bread
	awf-run --name asking -c 'echo x | awf-step --ask "Is {{data}} right?" --ask-grace 300 -r q' >answered 3>&- &
	runner=$!
	serve
	TOKEN=$(awf-serve --new-token decide)
	eventually eval '[ "$(waits "")" = 200 ] && [ "$(calls)" = "first ok:0:0 approval,second ok:0:0 approval,asking q:0:0 completion" ]'
	same "$(jq -r '.waits[2].question.prompt' body)" 'Is x right?'
	run -0 curl -sf -H "Authorization: Bearer $TOKEN" -H 'Content-Type: application/json' \
		-d '{"decision": "approve", "call": "ok"}' "$URL/api/runs/@first/decisions"
	same "$(waits '')" 200
	same "$(calls)" 'second ok:0:0 approval,asking q:0:0 completion'
	awf-ctl deny ok @second
	printf yes | awf-ctl complete q @asking
	wait "$runner"
	same "$(cat answered)" yes
	same "$(waits '')" 200
	same "$(jq -c '[.waits, .total, .more]' body)" '[[],0,false]'
	# One that is removed asks nothing.
	asks third x
	same "$(waits '')" 200
	same "$(calls)" 'third ok:0:0 approval'
	rm "$(transcript)"
	same "$(waits '')" 200
	same "$(calls)" ''
}

@test "the oldest of many, although runs with younger ones have begun before" {
	# Runs of one call each, begun in one order, of calls that wait in the reverse one.
	mkdir -p "$AWF_STORAGE/transcripts"
	asks one x
	line=$(transcript)
	for i in 1 2 3 4 5 6; do
		sed -e "s/$(basename "$line" .jsonl)/aaaa0000-0000-4000-8000-00000000000$i/g" -e "1s/\"timestamp\":\"....-..-..T..:../\"timestamp\":\"2026-01-01T00:0$i/" \
			-e "2,\$s/\"timestamp\":\"....-..-..T..:../\"timestamp\":\"2026-01-02T00:0$((7 - i))/" -e "s/\"name\":\"one\"/\"name\":\"n$i\"/" "$line" \
			>"$AWF_STORAGE/transcripts/aaaa0000-0000-4000-8000-00000000000$i.jsonl"
	done
	serve
	TOKEN=$(awf-serve --new-token read)
	same "$(waits '?limit=3')" 200
	same "$(jq -r '.waits[].name' body | paste -sd,)" n6,n5,n4
	same "$(jq -c '[.total, .more]' body)" '[7,true]'
}
