#!/usr/bin/env bats
# examples/digest.awf: what was committed since yesterday.
bats_require_minimum_version 1.5.0
load ../../support/helpers
load ../../support/resume
load ../../support/examples

# Repositories with a commit of now, and one that has been quiet for long.
prepare() {
	example digest
	export GIT_AUTHOR_NAME=A GIT_AUTHOR_EMAIL=a@example.org GIT_COMMITTER_NAME=A \
		GIT_COMMITTER_EMAIL=a@example.org
	for repository in parser website; do
		git init -q "$repository"
		git -C "$repository" commit -q --allow-empty -m "Change the $repository"
	done
	git init -q quiet
	GIT_AUTHOR_DATE=2020-01-01T00:00Z GIT_COMMITTER_DATE=2020-01-01T00:00Z \
		git -C quiet commit -q --allow-empty -m 'Begin'
	printf '%s\n' "$PWD/parser" "$PWD/quiet" "$PWD/website" >repositories
}

# What the agent was asked about, without the numbers of commits.
asked() {
	jq -r 'select(.type == "message.user" and .path == "digest").payload.blocks[0].text | fromjson[] | rtrimstr("\n")' \
		"$(transcript)" | sed 's/ [0-9a-f]\{7,\},/,/'
}

@test "the commits of all repositories make one digest" {
	run -0 ./digest.awf <repositories
	same "${lines[0]}" 'The parser no longer loses the last line of a file that ends without a line feed.'
	same "$(asked)" "$(printf '%s\n' 'parser, A: Change the parser' 'website, A: Change the website')"
	git -C parser commit -q --allow-empty -m 'Change it again'
	deterministic
}

@test "where nothing was committed nobody is asked, and nothing printed for cron to mail" {
	run -0 ./digest.awf <<<"$PWD/quiet"
	same "$output" ''
	same "$(answers "$(transcript)")" ''
	deterministic
}

@test "a repository that is gone is told of, and the others are read" {
	rm -rf parser
	run -0 --separate-stderr ./digest.awf <repositories
	[[ $stderr == *"cannot change to '$PWD/parser'"* ]]
	same "$(asked)" 'website, A: Change the website'
	deterministic
}

@test "without an answer cron mails one line; resumed, it is about the same commits" {
	forget 'the nightly digest'
	run -3 --separate-stderr ./digest.awf <repositories
	same "$output" ''
	[[ $stderr == *'awf-run: digest.awf: step digest:0:0 failed: '*'no recorded answer'* ]]
	recall
	git -C parser commit -q --allow-empty -m 'Change it again'
	run -0 awf-run --resume @
	same "${lines[1]}" 'parser'
	same "$(asked | head -n 1)" 'parser, A: Change the parser'
	deterministic
}

@test "killed while the digest is written, it reads no repository again" {
	hold 'the nightly digest'
	die ./digest.awf <repositories
	rm -rf parser
	run -0 awf-run --continue ./digest.awf <repositories
	same "${lines[1]}" parser
	same "$(jq -c 'select(.type == "step.completed" and .path == "log") | .payload | has("reused_from")' \
		"$(transcript)" | paste -sd' ')" 'false false false true true true'
	deterministic
}
