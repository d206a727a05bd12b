#!/usr/bin/env bats
# examples/panel.awf: three reviewers side by side, and a chair.
bats_require_minimum_version 1.5.0
load ../../support/helpers
load ../../support/resume
load ../../support/examples

prepare() { example panel; }

panel() { ./panel.awf <samples/change.diff; }
all=' 1 decide 1 panel.clarity 1 panel.correctness 1 panel.security '

@test "all three read the change, and the chair has what each of them says" {
	run -0 panel
	same "${lines[0]}" 'do not merge'
	same "$(answers "$(transcript)")" "$all"
	same "$(jq -r 'select(.type == "message.user" and (.path | startswith("panel"))).payload.blocks[0].text' \
		"$(transcript)" | sort | uniq -c | sort -u | awk '$1 != 3' | wc -l)" 0
	same "$(jq -c 'select(.type == "message.user" and .path == "decide").payload.blocks[0].text | fromjson | map_values(.[:14])' \
		"$(transcript)")" '{"clarity":"upload.py:19: ","correctness":"upload.py:20: ","security":"upload.py:15: "}'
	deterministic
}

@test "one who fails keeps the chair from deciding; resumed, the chair has all three" {
	forget 'the correctness reviewer'
	run -3 --separate-stderr panel
	same "$output" ''
	[[ ${stderr_lines[-2]} == 'awf-run: panel.awf: step panel'*'no recorded answer'* ]]
	same "$(answers "$(transcript)" | grep -o decide)" ''
	recall
	run -0 awf-run --resume @
	same "${lines[0]}" 'do not merge'
	deterministic
}

@test "killed while one reviews, it asks nobody again who has answered" {
	hold 'the clarity reviewer'
	die ./panel.awf <samples/change.diff
	run -0 resume
	same "${lines[0]}" 'do not merge'
	same "$(answers "$(transcript)")" "$all"
	deterministic
}
