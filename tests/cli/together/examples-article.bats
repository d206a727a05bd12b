#!/usr/bin/env bats
# examples/article.awf: research, a person who approves it, and only then the writing.
bats_require_minimum_version 1.5.0
load ../../support/helpers
load ../../support/resume
load ../../support/examples

prepare() { example article; }

# A run that waits for the person.
article() {
	run -75 --separate-stderr ./article.awf <<<'solid-state batteries'
	same "$output" ''
	same "${stderr_lines[-2]}" "awf-run: article.awf: waits for a decision: awf-ctl approve findings:0:0 $(basename "$(transcript)" | cut -c 1-8)"
}
title='Solid-state batteries: better cells, unproven factories'
written_from() {
	jq -r 'select(.type == "message.user" and .path == "write").payload.blocks[0].text' "$(transcript)"
}

# bats test_tags=turn:3
@test "it waits before anything is written, and writes when that is approved" {
	article
	same "$(answers "$(transcript)")" ' 3 research '
	deterministic
	run -0 --separate-stderr go_on_after approve findings @
	same "${lines[0]}" "$title"
	same "$(answers "$(transcript)")" ' 3 research 3 write '
	deterministic
	run -3 --separate-stderr awf-ctl deny findings
	[[ $stderr == *'findings:0:0: does not wait any more: approved by '* ]]
}

# bats test_tags=turn:2
@test "what the person has changed is what is written from" {
	article
	awf-replay --state findings | jq -r .input | sed '/factory/d' >findings.txt
	run -0 --separate-stderr go_on_after approve -e findings @ <findings.txt
	same "${lines[0]}" "$title"
	same "$(written_from)" "$(cat findings.txt)"
	deterministic
}

# bats test_tags=turn:2
@test "what is denied is not written from, and the reason is told" {
	article
	run -3 --separate-stderr go_on_after deny findings --reason 'the cost is missing' @
	same "$output" ''
	[[ ${stderr_lines[-1]} == *'denied by '*': the cost is missing' ]]
	same "$(answers "$(transcript)")" ' 3 research '
	deterministic
}

# bats test_tags=turn:2
@test "a writer who fails is asked again when it is resumed, the person is not" {
	forget 'You are the writer'
	article
	run -3 --separate-stderr go_on_after approve findings @
	same "$output" ''
	recall
	run -0 awf-run --resume @
	same "${lines[0]}" "$title"
	same "$(answers "$(transcript)")" ' 3 research 3 write '
	deterministic
}

# bats test_tags=turn:2
@test "killed while it is written, it goes on without asking the person again" {
	hold 'You are the writer'
	run -75 awf-run --id-file run.id ./article.awf <<<'solid-state batteries'
	awf-ctl approve findings "$(id)"
	die_again
	run -0 resume
	same "${lines[0]}" "$title"
	same "$(answers "$(transcript)")" ' 3 research 3 write '
	deterministic
}
