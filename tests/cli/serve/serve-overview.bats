#!/usr/bin/env bats
# bats file_tags=ci
# The views of awf-serve's page that show many runs, in Chromium: figures, lists, the search; and runs again.
# shellcheck shell=bash disable=SC2016,SC2154
bats_require_minimum_version 1.5.0
load ../../support/helpers
load ../../support/agent
load ../../support/writing
load ../../support/serve
load ../../support/page

prepare() { page_prepare; }
drive() { PAGE=views page_drive "$@"; }

@test "figures: sorted, filtered, with the last failures, and from each row to the calls behind it" {
	scripted_model
	script 1 'answer "one"'
	printf -- '---\nname: helper\nmodel: scripted/m\n---\nBe brief.\n' >agents/helper.md
	awf-run -n --name good -c 'awf-step -n a -q -- true; echo x | awf-step -a helper -r b'
	for why in database disk; do
		awf-run -n --name '<b>bad' -c "awf-step -n a -q -- sh -c 'echo \"no <i>$why\" >&2; exit 4'" || true
	done
	serve
	drive overview
}

# A storage of so many runs of two steps each, as copies of one.
many() {
	local line
	awf-run -n --name many -c 'awf-step -n a -q -- echo one; awf-step -n b -q -- echo two'
	line=$(transcript)
	python3 - "$line" "$1" "$AWF_STORAGE/transcripts" <<-'END'
		import sys
		text, count, directory = open(sys.argv[1]).read(), int(sys.argv[2]), sys.argv[3]
		old = sys.argv[1].split("/")[-1].removesuffix(".jsonl")
		for i in range(count - 1):
		    run = "aaaa0000-0000-4000-8000-%012d" % i
		    with open(f"{directory}/{run}.jsonl", "w") as file:
		        file.write(text.replace(old, run))
	END
}

@test "20,000 runs: first figures within a second, and how far they reach" {
	many 20000
	serve
	drive many 20000 >&3
	# A search tells how far it got, and goes on from there.
	TOKEN=$(awf-serve --new-token read)
	next= read=0 requests=0
	while [ "$next" != null ]; do
		ask_tcp "/api/search?q=nowhere-at-all${next:+&before=$next}" >body
		[ "$(jq .read body)" -gt "$read" ]
		read=$(jq .read body) next=$(jq -r .next body) requests=$((requests + 1))
	done
	same "$(jq -c '[.runs, .read, (.found | length)]' body)" '[20000,20000,0]'
	echo "a search of 20000 runs: $requests requests" >&3
	# What the server keeps of them is bounded.
	resident=$(awk '/^VmRSS/ { print $2 }' "/proc/$SERVE_PID/status")
	echo "resident: $resident KiB" >&3
	[ "$resident" -lt 200000 ]
}

@test "the list is sorted by its heads, and two runs of it are compared" {
	awf-run -n --name gamma -c 'awf-step -n a -q -- true; awf-step -n b -q -- true; awf-step -n c -q -- true'
	awf-run -n --name alpha -c 'awf-step -n a -q -- true'
	awf-run -n --name beta -c 'awf-step -n a -q -- sleep 1'
	serve
	drive lists
}

@test "a text is looked for in all runs, and leads to its event" {
	awf-run -n --name one -c 'awf-step -n say -q -- echo "The Quick <b>brown"'
	awf-run -n --name two -c 'awf-step -n say -q -- echo "The Quick <b>red"'
	awf-run -n --name three -c true
	serve
	drive search
}

@test "a run again: the command that is shown is what sh does; a workflow of --workflows is started" {
	mkdir flows
	printf '%s\n' '#!/bin/sh' 'awf-step -r -q say -- cat' >flows/deploy.awf
	awf-run -n --name talk --input who=me -c 'awf-step -n a -q -- true; awf-step -n say -r -q -- echo plain; exit 3' || true
	talk=$(awf-tail --list --json | jq -r .run_id)
	serve --workflows flows
	TOKEN=$(awf-serve --new-token start)
	run=$(curl -s -H "Authorization: Bearer $TOKEN" --data-binary cake "$URL/hooks/deploy" | jq -r .run_id)
	eventually eval '[ "$(ask "/api/runs/$run" | jq -r .status)" = success ]'
	drive again "$talk" "$run" "$PWD/copied"
	(cd / && sh "$OLDPWD/copied" </dev/null) || true
	same "$(jq -r 'select(.type == "run.started").payload | "\(.forked_from) \(.inputs.who)"' "$AWF_STORAGE/latest")" "$talk J. O'Neil"
	jq -r 'select(.type == "step.completed" and .path == "say") | .payload.result' "$AWF_STORAGE/latest" | grep -qF "it's <b>edited"
}
