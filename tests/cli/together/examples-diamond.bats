#!/usr/bin/env bats
# examples/diamond.awf: a graph of named pipes and tee.
bats_require_minimum_version 1.5.0
load ../../support/helpers
load ../../support/resume
load ../../support/examples

prepare() { example diamond; }

# bats test_tags=turn:2
@test "both read the findings, and one writes for both" {
	run -0 ./diamond.awf <<<'solid-state batteries'
	same "${lines[0]}" 'Solid-state batteries: safer and lighter, not yet cheaper'
	same "$(answers "$(transcript)")" ' 1 gains 3 research 1 risks 2 write '
	deterministic
}

@test "the one who writes was caused by both, they by the researcher" {
	./diamond.awf <<<'solid-state batteries' >/dev/null
	same "$(jq -sr 'map({key: .event_id, value: .path}) as $paths | ($paths | from_entries) as $path |
		.[] | select(.type == "step.started" and .path != "research") |
		"\(.path) < \([.parent_event_id, .links[]?] | map($path[.]) | join(" "))"' "$(transcript)" | sort)" \
		"$(printf '%s\n' 'gains < research' 'risks < research' 'write < gains risks')"
}

# bats test_tags=turn:2
@test "one who fails is why nothing is written; the other is not asked again" {
	forget 'You are the sceptic'
	run -3 --separate-stderr ./diamond.awf <<<'solid-state batteries'
	same "$output" ''
	[[ $stderr == *'step risks:0:0 failed: '*'no recorded answer'* ]]
	recall
	run -0 awf-run --resume @
	same "${lines[0]}" 'Solid-state batteries: safer and lighter, not yet cheaper'
	same "$(answers "$(transcript)")" ' 1 gains 3 research 1 risks 2 write '
	deterministic
}

@test "a researcher who fails is heard of at the end of both ways" {
	forget 'You are the researcher'
	run -3 --separate-stderr ./diamond.awf <<<'solid-state batteries'
	same "$output" ''
	same "$(jq -r 'select(.type == "step.completed") | [.path, .payload.skipped // .payload.error.code] | join(" ")' \
		"$(transcript)" | sort | paste -sd,)" 'gains upstream_failed,research invalid,risks upstream_failed,write upstream_failed'
}

# bats test_tags=turn:2
@test "killed while one of the two reads, it goes on when it is run again" {
	hold 'You are the sceptic'
	die ./diamond.awf <<<'solid-state batteries'
	run -0 awf-run --continue ./diamond.awf <<<'solid-state batteries'
	same "${lines[0]}" 'Solid-state batteries: safer and lighter, not yet cheaper'
	same "$(basename "$(transcript)")" "$(id).jsonl"
	same "$(answers "$(transcript)")" ' 1 gains 3 research 1 risks 2 write '
	deterministic
}

# The process of this run whose command line begins so.
process() {
	for proc in /proc/[0-9]*; do
		[[ $(tr '\0' ' ' <"$proc/cmdline" 2>/dev/null) == "$1"* ]] &&
			tr '\0' '\n' <"$proc/environ" 2>/dev/null | grep -qFx "AWF_STORAGE=$AWF_STORAGE" &&
			echo "${proc##*/}"
	done | head -n 1
}

# bats test_tags=turn:4
@test "one of the two that is killed alone is missed: nothing is written without it" {
	hold 'You are the sceptic'
	: >held
	./diamond.awf <<<'solid-state batteries' >out 2>err 3>&- &
	eventually test -e ready
	kill -9 "$(process 'awf-step -a agents/sceptic.md')"
	rm held
	status=0
	wait $! || status=$?
	same "$status $(cat out)" '3 '
	same "$(answers "$(transcript)")" ' 1 gains 3 research '
	run -0 awf-run --resume @
	same "${lines[0]}" 'Solid-state batteries: safer and lighter, not yet cheaper'
	same "$(answers "$(transcript)")" ' 1 gains 3 research 1 risks 2 write '
	deterministic
}
