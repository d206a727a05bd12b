#!/usr/bin/env bats
# What awf-serve says of an evaluation, and to whom.
# shellcheck shell=bash disable=SC2016,SC2154
bats_require_minimum_version 1.5.0
load ../../support/helpers
load ../../support/serve

evaluation() { curl -s --max-time 40 -H "Authorization: Bearer $TOKEN" -o body -w '%{http_code}' "$URL/api/runs/$1/evaluation"; }
evaluate() { awf-eval -i in --name tried -k 2 --variant plain --variant up=UP=1 -c 'same=jq -e ".result == .input"' "$@" ./flow >/dev/null; }

prepare() {
	printf '%s\n' '#!/bin/sh' 'if [ -n "$UP" ]; then awf-step -r up -- tr a-z A-Z; else awf-step -r same -- sh -c "read -r x; [ \$x != bad ] && echo \$x"; fi' >flow
	chmod +x flow
	printf '%s\n' a b >in
}

@test "it says what awf-eval --report says, to who may read the run" {
	prepare
	evaluate
	awf-run -n --name other -c true
	serve
	TOKEN=$(awf-serve --new-token read)
	same "$(evaluation @tried)" 200
	same "$(jq -r '.trials[] | "\(.variant) \(.id) \(.outcome)"' body | sort | uniq -c | awk '{ print $1, $2, $4 }' | sort -u | paste -sd,)" '2 plain pass,2 up fail'
	cmp body <(awf-eval --report -o json @tried)
	cmp <(jq -c '.trials[]' body) <(awf-eval --report -o jsonl @tried | jq -c .)
	same "$(evaluation "$(awf-tail --list --json --name tried | jq -r '.run_id[:8]')")" 200
	TOKEN=$(awf-serve --new-token read --name 'tr*')
	same "$(evaluation @tried)" 200
	TOKEN=$(awf-serve --new-token read --name other)
	same "$(evaluation @tried)" 404
	jq -e '.error.message == "there is no such run"' body
	TOKEN=$(awf-serve --new-token start)
	same "$(evaluation "$(awf-tail --list --json --name tried | jq -r .run_id)")" 404
	TOKEN=$(awf-serve --new-token ingest)
	same "$(evaluation @tried)" 403
	# Nothing is left behind.
	run ! ls "$AWF_STORAGE"/serve/printed-*
}

@test "what could not be evaluated, or has not ended, is said; a run that is no evaluation has none" {
	prepare
	printf '%s\n' bad a >in
	run -2 evaluate -j1
	# As if the second input had not been tried.
	file=$(transcript)
	last=$(grep -n '"type":"step.completed","path":"case"' "$file" | tail -n 1 | cut -d: -f1)
	[ "$last" -gt 0 ]
	sed "$last,\$d" "$file" >cut
	awf-run -n --name other -c 'awf-step -n -q say -- echo awf-eval --cases'
	printf '%s\n' '#!/bin/sh' true >awf-eval
	chmod +x awf-eval
	awf-run -n --name named ./awf-eval
	serve
	TOKEN=$(awf-serve --new-token read)
	same "$(evaluation @tried)" 200
	jq -e '.trials | map(select(.outcome == "error")) | length == 2 and all(.[]; .error | contains("exit status"))' body
	cp cut "$file"
	same "$(evaluation @tried)" 200
	jq -e '.trials | map(select(.outcome == "missing" and (has("run") | not))) | length >= 2' body
	for name in other named plain; do
		same "$(evaluation "@$name")" 404
		jq -e '.error.message == "the run is no evaluation"' body
	done
}

@test "an evaluation whose record is damaged is an error, and the server goes on" {
	prepare
	evaluate
	cp "$(transcript)" whole
	# Its command line is not one that awf-eval takes.
	head -n 1 whole | sed 's/"-k","2"/"-k","0"/; s/"--repeat=2"/"--repeat=0"/' >"$(transcript)"
	run ! cmp <(head -n 1 whole) "$(transcript)"
	serve
	TOKEN=$(awf-serve --new-token read)
	same "$(evaluation @tried)" 500
	jq -e '.error.code == "internal"' body
	grep -q 'the evaluation cannot be reported on: ' "$BATS_TEST_TMPDIR/serve.err"
	cp whole "$(transcript)"
	same "$(evaluation @tried)" 200
}
