#!/usr/bin/env bats
# Figures of many runs, and the calls behind them: GET /api/stats, /api/stats/calls.
# shellcheck shell=bash disable=SC2016,SC2154
bats_require_minimum_version 1.5.0
load ../../support/helpers
load ../../support/serve
load ../../support/agent
load ../../support/writing

# Asks until all runs are read.
stats() {
	local status
	for _ in $(seq 100); do
		status=$(curl -s --max-time 20 -H "Authorization: Bearer $TOKEN" -o body -w '%{http_code}' "$URL/api/stats$1")
		[ "$status" = 200 ] && [ "$(jq .complete body)" = false ] || break
		nap 0.05
	done
	echo "$status"
}

@test "they are those of awf-tail --stats, of what the client may read" {
	scripted_model
	script 1 'answer "one"'
	printf -- '---\nname: helper\nmodel: scripted/m\n---\nBe brief.\n' >agents/helper.md
	awf-run -n --name good -c 'awf-step -n a -q -- true; echo x | awf-step -a helper -r b'
	awf-run -n --name bad -c 'awf-step -n a -q -- sh -c "echo no database >&2; exit 4"' || true
	awf-run -n --name bad -c 'awf-step -n a -q -- sh -c "echo no disk >&2; exit 4"' || true
	awf-run -n --name outer -c 'awf-step -n in -q -- awf-run -n --name inner -c "awf-step -n deep -q -- true"'
	serve
	TOKEN=$(awf-serve --new-token read)
	for by in workflow step tool model; do
		same "$(stats "?by=$by")" 200
		jq -c '.rows[]' body >rows
		awf-tail --stats --by $by --json | jq -c . >told
		cmp rows told
		same "$(jq -c '[.by, .runs, .read, .unreadable, .whole_since]' body)" "[\"$by\",5,5,0,null]"
	done
	same "$(stats '')" 200
	jq -e '.rows[] | select(.workflow == "bad") | .count == 2 and .failed == 2 and (.last_failures | length == 2) and (.last_failure | contains("no disk"))' body
	# What links to the events behind it.
	same "$(curl -s -H "Authorization: Bearer $TOKEN" "$URL/api/runs/$(jq -r '.rows[] | select(.workflow == "bad").last_failures[0] | "\(.run_id)/events/\(.seq)"' body)" | jq -r .type)" run.completed
	TOKEN=$(awf-serve --new-token read --name 'go*,inner')
	same "$(stats '?by=step')" 200
	same "$(jq -r '.rows[].step' body | sort | paste -sd,)" 'good a,good b,inner deep'
	same "$(stats '?by=day')" 400
	same "$(stats '?since=often')" 400
	same "$(stats '?until=1d')" 400
	TOKEN=$(awf-serve --new-token start)
	same "$(stats '')" 403
}

@test "the calls behind a row: the latest, failures alone, the slowest" {
	awf-run -n --name flow -c 'awf-step -n a -q -- sleep 0.3; awf-step -n --try a -q -- sh -c "echo no disk >&2; exit 4"; awf-step -n a -q -- true; awf-step -n b -q -- true'
	serve
	TOKEN=$(awf-serve --new-token read)
	same "$(stats '/calls?by=step&name=flow%20a')" 200
	same "$(jq -c '[.calls[] | .failed], .more' body | paste -sd' ')" '[false,true,false] false'
	same "$(stats '/calls?by=step&name=flow%20a&failed=1')" 200
	jq -e '.calls | length == 1 and (.[0].reason | contains("no disk")) and .[0].workflow == "flow"' body
	same "$(curl -s -H "Authorization: Bearer $TOKEN" "$URL/api/runs/$(jq -r '.calls[0] | "\(.run_id)/events/\(.seq)"' body)" | jq -r .type)" step.completed
	same "$(stats '/calls?by=step&name=flow%20a&slowest=1&limit=1')" 200
	jq -e '.calls[0].ms >= 300 and .more' body
	same "$(stats '/calls?by=step')" 400
	TOKEN=$(awf-serve --new-token read --name other)
	same "$(stats '/calls?by=step&name=flow%20a')" 200
	same "$(jq -c .calls body)" '[]'
}

@test "a span of time; what has changed since is read again, what was removed is gone; a damaged record is told" {
	awf-run -n --name old -c true
	old=$(transcript)
	sed -i 's/"timestamp":"....-..-..T/"timestamp":"2026-01-01T/' "$old"
	touch -d 2026-01-01 "$old"
	awf-run -n --name new -c true
	serve
	TOKEN=$(awf-serve --new-token read)
	same "$(stats '?since=30d')" 200
	same "$(jq -c '[[.rows[].workflow], .runs]' body)" '[["new"],1]'
	same "$(stats '')" 200
	same "$(jq -c '[[.rows[].workflow], .runs]' body)" '[["new","old"],2]'
	awf-run -n --name newer -c true
	rm "$old"
	nap 1.1
	same "$(stats '')" 200
	same "$(jq -c '[.rows[].workflow] | sort' body)" '["new","newer"]'
	sed -i '2s/.*/{"seq":2,/' "$(transcript)"
	nap 1.1
	eventually eval '[ "$(stats "")" = 200 ] && [ "$(jq .unreadable body)" = 1 ]'
	grep -q 'damaged' "$BATS_TEST_TMPDIR/serve.err"
}
