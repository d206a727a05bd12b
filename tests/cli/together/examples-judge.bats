#!/usr/bin/env bats
# examples/judge.awf: draft, judge, and refine until the judge accepts.
bats_require_minimum_version 1.5.0
load ../../support/helpers
load ../../support/resume
load ../../support/examples

prepare() { example judge; }

judge() { ./judge.awf <samples/task.txt; }
verdicts() { jq -r 'select(.type == "step.completed" and .path == "refine.judge").payload.result.verdict.accepted' "$(transcript)" | paste -sd' '; }

@test "the second draft is accepted; task, draft and verdict come out" {
	run -0 judge
	same "$(jq -c '[(.input | startswith("Write the text of a sign")), .draft[:22], .verdict]' <<<"$output")" \
		'[true,"Closed Monday 3 to Fri",{"accepted":true,"reasons":[]}]'
	same "$(answers "$(transcript)")" ' 2 refine.draft 2 refine.judge '
	same "$(verdicts)" 'false true'
	deterministic
}

@test "a draft that is accepted at once is not refined" {
	sed -i 's/"accepted":false/"accepted":true/' "$RECORDING"
	run -0 judge
	same "$(answers "$(transcript)")" ' 1 refine.draft 1 refine.judge '
	deterministic
}

# bats test_tags=turn:2
@test "a judge who never accepts ends it after four rounds, and nothing comes out" {
	sed -i 's/"accepted":true/"accepted":false/' "$RECORDING"
	run -3 --separate-stderr judge
	same "$output" ''
	[[ ${stderr_lines[-2]} == 'awf-run: judge.awf: step refine:0:0 failed: '* ]]
	same "$(verdicts)" 'false false false false'
	same "$(jq -r 'select(.type == "run.completed").payload.error.code' "$(transcript)")" max_iterations
	deterministic
}

@test "a judge who fails ends it; resumed, no draft is written again" {
	forget 'You judge drafts'
	sed -i '/You judge drafts/d' "$RECORDING"
	run -3 --separate-stderr judge
	same "$output" ''
	same "$(answers "$(transcript)")" ' 1 refine.draft '
	recall
	run -0 awf-run --resume @
	same "$(jq -r .verdict.accepted <<<"$output")" true
	same "$(answers "$(transcript)")" ' 2 refine.draft 2 refine.judge '
	deterministic
}

@test "killed in the second round, it goes on there" {
	hold 'Please give books back'
	die ./judge.awf <samples/task.txt
	run -0 resume
	same "$(jq -r .verdict.accepted <<<"$output")" true
	same "$(answers "$(transcript)")" ' 2 refine.draft 2 refine.judge '
	deterministic
}
