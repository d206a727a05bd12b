#!/usr/bin/env bats
# awf-step(1): a step of a run that is refused before it has all that its kind of work needs is
# recorded as failed; the record is valid.
# shellcheck shell=bash
bats_require_minimum_version 1.5.0
load ../support/helpers

# refused WORD...: a run whose one step has these words.
refused() {
	printf 'awf-step %s </dev/null\n' "${*@Q}" >flow.awf
	run -1 --separate-stderr awf-run -n --id-file id ./flow.awf
	[[ $stderr != *'it died before its end'* ]]
	awf-verify "$(<id)"
}

@test "a group without a command is recorded as a step that was refused" {
	local options
	for options in --each --parallel '--max 2' '--until true' '--while true' '--each --retries 1'; do
		# shellcheck disable=SC2086 # several words
		refused $options group
		[[ $stderr == *'awf-step: --'* ]]
		# shellcheck disable=SC2086
		refused $options group --
	done
}

# bats test_tags=turn:2
@test "no command line makes awf-step die by a signal, and each leaves a valid record" {
	local -a names=(--each --parallel --max --until --when --try --accept --agent --approve --ask --attach
		--models --prompt --require --rescue --resume --retries --timeout --via --effects --into --once
		-n -q -r -a -m -p -c -t) values=('' 0 -1 x 1s true '{' external) words
	local i
	RANDOM=${AWF_TEST_SEED:-7}
	for ((i = 0; i < 400; i++)); do
		words=()
		while ((RANDOM % 3 > 0)); do
			words+=("${names[RANDOM % ${#names[@]}]}")
			((RANDOM % 2 > 0)) || words+=("${values[RANDOM % ${#values[@]}]}")
		done
		((RANDOM % 3 == 0)) || words+=(name)
		((RANDOM % 2 == 0)) || words+=(-- true)
		printf 'timeout 10 awf-step %s </dev/null >out 2>&1 || [ $? -lt 124 ] || echo %q >>died\n' \
			"${words[*]@Q}" "${words[*]}"
	done >flow.awf
	run awf-run -n --id-file id ./flow.awf
	same "$(cat died 2>/dev/null)" ''
	awf-verify "$(<id)"
}
