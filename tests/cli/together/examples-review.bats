#!/usr/bin/env bats
# examples/review.awf: an agent for each changed file, and a chair.
bats_require_minimum_version 1.5.0
load ../../support/helpers
load ../../support/resume
load ../../support/examples

# A work tree with five changed files, and what is said of each.
prepare() {
	example review
	export AWF_MODEL=replay/$PWD/$RECORDING
	mkdir tree
	cd tree || return 1
	git init -q .
	git config user.email a@example.org
	git config user.name A
	for i in 1 2 3 4 5; do echo "$i" >"file$i"; done
	git add .
	git commit -q -m one
	for i in 1 2 3 4 5; do
		echo "changed $i" >"file$i"
		printf '{"match":["You are a reviewer","+changed %s"],"blocks":[{"type":"text","text":"review of file%s"}]}\n' "$i" "$i"
	done >>"../$RECORDING"
	RECORDING=../$RECORDING
	export LEDGERS=$PWD
}

reviews='"[\"review of file1\",\"review of file2\",\"review of file3\",\"review of file4\",\"review of file5\"]"'

# What the chair of the latest run was given.
chaired() {
	jq -c 'select(.type == "message.user" and .path == "join").payload.blocks[0].text' "$(transcript)"
}

# bats test_tags=turn:2
@test "each changed file is reviewed, and the reviews are joined" {
	run -0 ../review.awf
	same "${lines[-1]}" 'merge after fixes'
	same "$(chaired)" "$reviews"
	deterministic
}

@test "nobody is asked when nothing has changed" {
	git commit -q -a -m two
	run -0 ../review.awf
	[ "$output" = "review.awf: nothing has changed" ]
	same "$(jq -c 'select(.type == "step.started")' "$(transcript)")" ""
}

@test "nobody is asked where there is nothing to compare with" {
	cd ..
	run -1 ./review.awf
	same "${lines[0]}" "review.awf: not in a git work tree with a commit"
	same "$(jq -c 'select(.type == "step.started")' "$(transcript)")" ""
}

# bats test_tags=turn:2
@test "a review that fails keeps the chair from being asked; only it is asked again" {
	# shellcheck disable=SC2094 # what sed reads is whole before it writes
	sed -i 's/{"match":\["You are a reviewer"\(.*\)changed 3.*/{"match":["You are a reviewer"\1changed 3"],"type":"error","category":"refused","message":"no"}/' "$RECORDING"
	run -3 --separate-stderr ../review.awf
	same "$output" ''
	[[ $stderr == 'awf-step: review[2] ('*'): replay: no
awf-run: review.awf: step review:0:2 ('*') failed: replay: no
awf-run: review.awf: failed after '*'; to go on from there: awf-run --resume '* ]]
	same "$(answers "$(transcript)")" ' 4 review '
	sed -i 's/"type":"error".*/"blocks":[{"type":"text","text":"review of file3"}]}/' "$RECORDING"
	run -0 awf-run --resume @
	same "${lines[-1]}" 'merge after fixes'
	same "$(chaired)" "$reviews"
	same "$(answers "$(transcript)")" ' 1 join 5 review '
	deterministic
}

# bats test_tags=turn:2
@test "killed while a file is reviewed, it asks about none again that was reviewed" {
	hold '+changed 5'
	die ../review.awf </dev/null
	run -0 resume
	same "${lines[-1]}" 'merge after fixes'
	same "$(chaired)" "$reviews"
	same "$(answers "$(transcript)")" ' 1 join 5 review '
	deterministic
}
