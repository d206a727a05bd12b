#!/usr/bin/env bats
# The examples run as they stand: offline, from any directory.
bats_require_minimum_version 1.5.0
load ../support/helpers

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

changed_files() {
	git init -q .
	git config user.email a@example.org
	git config user.name A
	for i in 1 2 3 4 5; do echo "$i" >"file$i"; done
	git add .
	git commit -q -m one
	for i in 1 2 3 4 5; do echo "changed $i" >"file$i"; done
}

review_answers() {
	for i in 1 2 3 4 5; do
		printf '{"type":"message","match":"+changed %s","turn":0,"stop_reason":"end_turn","blocks":[{"type":"text","text":"review of file%s"}]}\n' "$i" "$i"
	done
	printf '{"type":"message","match":"You chair","stop_reason":"end_turn","blocks":[{"type":"text","text":"merge"}]}\n'
}

@test "review.awf reviews each changed file and joins the reviews" {
	changed_files
	review_answers >"$BATS_TEST_TMPDIR/answers.jsonl"
	AWF_MODEL=replay/$BATS_TEST_TMPDIR/answers.jsonl run -0 "$ROOT/examples/review.awf"
	[ "$output" = merge ]
	same "$(jq -c 'select(.type == "message.user" and .path == "join").payload.blocks[0].text' \
		"$(transcript)")" \
		'"[\"review of file1\",\"review of file2\",\"review of file3\",\"review of file4\",\"review of file5\"]"'
}

@test "review.awf asks nobody when nothing has changed" {
	changed_files
	git commit -q -a -m two
	run -0 "$ROOT/examples/review.awf"
	[ "$output" = "review.awf: nothing has changed" ]
	same "$(jq -c 'select(.type == "step.started")' "$(transcript)")" ""
}

@test "review.awf asks nobody where there is nothing to compare with" {
	run -1 "$ROOT/examples/review.awf"
	same "${lines[0]}" "review.awf: not in a git work tree with a commit"
	same "$(jq -c 'select(.type == "step.started")' "$(transcript)")" ""
}

@test "the tools refuse what their schemas do not allow" {
	cd "$ROOT/examples"
	run -3 sh -c "echo '{\"query\":\"\"}' | awf-step -i json -t search_notes find -q"
	[[ $output == *"expected a match of"* ]]
	run -0 sh -c "echo '{\"query\":\"SODIUM\"}' | awf-step -i json -t search_notes find -r | jq -r '.[].file'"
	[ "$output" = batteries.md ]
	run -0 sh -c "echo '{\"text\":\"a b\"}' | awf-step -i json -t word_count count -r"
	[ "$output" = '{"words":2,"characters":3}' ]
}

@test "the demo shows a run, its transcript, a query, its verification, its replay and a fork" {
	export TMPDIR=$BATS_TEST_TMPDIR/tmp
	mkdir "$TMPDIR"
	unset AWF_MODEL AWF_STORAGE
	run -0 "$ROOT/examples/demo"
	[[ $output == *"$ awf-tail"*"run completed (success"*"toolu_07"*"$ awf-verify && echo yes"$'\n'"yes"*"$ awf-verify --determinism"*$'\n'"yes"*"analyse agent reused"*"write agent done"* ]]
	[ -z "$(ls -A "$TMPDIR")" ]
}
