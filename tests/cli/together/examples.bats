#!/usr/bin/env bats
# The examples run as they stand: offline, from any directory.
bats_require_minimum_version 1.5.0
load ../../support/helpers

prepare() {
	RECORDING=$ROOT/examples/recordings/brief.jsonl
	export AWF_MODEL=replay/$RECORDING
}

# What was said and done, without times and ids.
conversation() {
	jq -c 'select(.type | test("^(message|tool)")) | [.type, .path, .payload.blocks,
		.payload.name, .payload.input, .payload.output, .payload.usage]' "$1"
}

@test "brief.awf runs from its recording, and its tools run again" {
	run -0 sh -c 'echo "solid-state batteries" | "$ROOT/examples/brief.awf"'
	[ "${lines[0]}" = "Solid-state batteries: better cells, unproven factories" ]
	same "$(conversation "$(transcript)")" "$(conversation "$RECORDING")"
	same "$(jq -r 'select(.type == "tool.result").payload.name' "$(transcript)" | sort | uniq -c |
		tr -s ' \n' ' ')" " 5 search_notes 2 word_count "
	run -0 awf-verify
}

@test "the recording is a sound transcript and up to date" {
	run -0 awf-verify "$RECORDING"
	run -0 "$ROOT/tests/support/record-examples" "$PWD/again.jsonl"
	same "$(conversation again.jsonl)" "$(conversation "$RECORDING")"
}

@test "brief.awf on something that was not recorded fails and prints nothing" {
	run -3 sh -c 'echo tea | "$ROOT/examples/brief.awf" 2>error'
	[ -z "$output" ]
	grep -q "no recorded answer for this request" error || { cat error; false; }
}

@test "the tools refuse what their schemas do not allow" {
	export JQ=jq
	cd "$ROOT/examples"
	run -3 sh -c "echo '{\"query\":\"\"}' | awf-step -i json -t search_notes find -q"
	[[ $output == *"expected a match of"* ]]
	run -0 sh -c "echo '{\"query\":\"SODIUM\"}' | awf-step -i json -t search_notes find -r | jq -r '.[].file'"
	[ "$output" = batteries.md ]
	run -0 sh -c "echo '{\"text\":\"a b\"}' | awf-step -i json -t word_count count -r"
	[ "$output" = '{"words":2,"characters":3}' ]
}

# bats test_tags=turn:4
@test "README: every workflow is there, and runs as it says on its recording" {
	cp -r "$ROOT/examples/." .
	git init -q .
	git config user.email a@example.org
	git config user.name A
	git add .
	git commit -q -m one
	echo >>notes/cost.md
	isolation=$(isolation)
	sed -n 's/^| \[\([^]]*\)\].*| `\([^`]*\)`.*/\1|\2/p' README.md | sed 's/\\|/|/g' >table
	same "$(cut -d'|' -f1 table | sort)" "$( (ls ./*.awf ./*.mk; echo ./ci) | sed 's/..//' | sort)"
	while IFS='|' read -r name command; do
		echo "$name"
		[ "$name" != ci ] || command="$command --isolation $isolation"
		AWF_MODEL=replay/$PWD/recordings/${name%.*}.jsonl run sh -c "$command" </dev/null
		same "$name $status" "$name $([ "$name" = article.awf ] && echo 75 || echo 0)"
		run -0 awf-verify
	done <table
}

# bats test_tags=turn:4
@test "the demo shows a run, its transcript, a query, its verification, its replay and a fork" {
	export TMPDIR=$BATS_TEST_TMPDIR/tmp
	mkdir "$TMPDIR"
	unset AWF_MODEL AWF_STORAGE
	run -0 "$ROOT/examples/demo"
	[[ $output == *"$ awf-tail"*"run completed (success"*"toolu_07"*"$ awf-verify && echo yes"$'\n'"yes"*"$ awf-verify --determinism"*$'\n'"yes"*"analyse agent reused"*"write agent done"* ]]
	[ -z "$(ls -A "$TMPDIR")" ]
}
