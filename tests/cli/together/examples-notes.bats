#!/usr/bin/env bats
# examples/notes.mk: make is the scheduler.
bats_require_minimum_version 1.5.0
load ../../support/helpers
load ../../support/resume
load ../../support/examples

prepare() { example notes; }

notes() { awf-run "$@" ./notes.mk -j4 </dev/null; }

# What the steps of the latest run were made of, by name: the runs of their causes.
causes() {
	jq -r 'select(.type == "step.started") | [.path, (.links[]? | if type == "object" then .run_id else "here" end)] | join(" ")' \
		"$(transcript)" | sort
}

@test "a summary of each note, and a page of them all" {
	run -0 notes --snapshot
	same "$output" ''
	same "$(head -n 1 out/overview.txt)" 'Solid-state batteries: what our notes say'
	same "$(answers "$(transcript)")" ' 1 batteries 1 cost 1 makers 1 overview 1 safety '
	deterministic
}

@test "the second run makes what is out of date, and names the run that made the rest" {
	notes
	first=$(basename "$(transcript)" .jsonl)
	touch -d '1 hour' notes/cost.md
	notes
	same "$(answers "$(transcript)")" ' 1 cost 1 overview '
	same "$(causes)" "$(printf 'cost\noverview %s %s %s' "$first" "$first" "$first")"
	sound
	touch -d '2 hours' out/*
	notes
	same "$(answers "$(transcript)")" ''
}

@test "an agent that is changed makes its targets out of date" {
	notes
	touch -d '1 hour' agents/editor.md
	notes
	same "$(answers "$(transcript)")" ' 1 overview '
}

@test "a note that fails leaves no target and no page; run again only it is asked about" {
	forget '# Makers'
	# Those that make has not begun when one fails it begins all the same.
	MAKEFLAGS=k run -2 --separate-stderr notes
	[[ $stderr == *'step makers:0:0 failed: '*'no recorded answer'* ]]
	same "$(ls out)" "$(printf '%s\n' batteries.state cost.state safety.state)"
	recall
	run -0 notes --continue
	same "$(answers "$(transcript)")" ' 1 makers 1 overview '
	same "$(head -n 1 out/overview.txt)" 'Solid-state batteries: what our notes say'
	sound
}

@test "killed in the middle, it goes on in the same run" {
	hold '# Safety'
	die ./notes.mk -j4
	run ! test -e out/safety.state
	run -0 notes --continue
	same "$(basename "$(transcript)")" "$(id).jsonl"
	same "$(answers "$(transcript)")" ' 1 batteries 1 cost 1 makers 1 overview 1 safety '
	same "$(head -n 1 out/overview.txt)" 'Solid-state batteries: what our notes say'
	sound
}
