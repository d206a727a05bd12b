#!/usr/bin/env bats
# Wherever in the workspace a sandboxed program leaves a repository, or a part of one
# (awf-sandbox(1), "Repositories"), the user's git runs nothing of it.
bats_require_minimum_version 1.5.0
load ../../support/helpers
load ../../support/sandbox

prepare() {
	sandbox_and_git
	ran="$BATS_TEST_TMPDIR/ran"
	printf '[core]\n\trepositoryformatversion = 0\n\tbare = false\n\tworktree = /\n\tfsmonitor = "touch %s; :"\n' "$ran" >../evil
	git init -q .
	echo a >f && git add f && git commit -qm one
}

# In all directories that git may take for a repository.
user_looks() {
	while read -r directory; do
		(cd "$directory" && git status) >/dev/null 2>&1 || true
	done < <(find . \( -name HEAD -o -name .git \) -printf '%h\n' | sort -u)
	if [ -e "$ran" ]; then
		echo "git ran what a sandboxed program left: $1"
		return 1
	fi
	git status --short
}

@test "a directory inside of a repository is no other repository" {
	for place in refs/heads/x refs/heads/x/y objects/x objects/ab objects/ab/x objects/pack/x objects/pack objects \
		objects/x/y/z logs/x logs/refs rr-cache/x lfs/x lfs/objects/ab/cd modules worktrees info/x X .x x~ x.unreviewed awf-unreviewed awf-unreviewed/x x; do
		case_is_chosen 4 || continue
		rm -rf .git/awf-unreviewed
		# shellcheck disable=SC2016
		"$sandbox" -q --readable ../evil -- sh -c '[ -d ".git/$1" ] || mkdir -p ".git/$1"; git init -q --bare x
			cp -rn x/* ".git/$1"; cat ../evil >".git/$1/config"; rm -r x' _ "$place" 2>/dev/null
		user_looks "a bare repository in $place"
		git clean -qffdx
		rm -rf ".git/$place/config" .git/lfs .git/rr-cache .git/X .git/.x .git/x~ .git/x.unreviewed .git/objects/x .git/logs/x .git/refs/heads/x
		"$sandbox" -q --readable ../evil -- sh -c 'mkdir -p ".git/$1"; git init -q x
			mv x/.git ".git/$1/.git"; cat ../evil >".git/$1/.git/config"; rm -r x' _ "$place" 2>/dev/null || true
		user_looks "a repository in $place"
		git clean -qffdx
		rm -rf .git/lfs .git/rr-cache .git/X .git/.x .git/x~ .git/x.unreviewed .git/objects/x .git/logs/x .git/refs/heads/x
	done
	"$sandbox" -q --readable ../evil -- sh -c 'git init -q x; mv x/.git .git/.git; cat ../evil >.git/.git/config'
	user_looks 'a repository in .git'
}

@test "what was set aside contains no repository, however deep it is in others" {
	"$sandbox" -q --readable ../evil -- sh -c 'for place in .git/x .git/x/rebase-merge/y .git/x/branches/z .git/branches/x/y; do
			mkdir -p $place; git init -q --bare x; cp -r x/* $place; cat ../evil >$place/config; rm -r x
			git init -q x; mv x/.git $place/.git; cat ../evil >$place/.git/config; rm -r x
		done'
	user_looks 'a repository in another one that was set aside'
}

@test "a repository of the user's with directories of these names is left as it is" {
	git branch x/HEAD && git branch x/y && git pack-refs --all
	mkdir -p .git/lfs/objects/ab/cd .git/rr-cache/0123
	: >.git/lfs/objects/ab/cd/abcd
	git worktree add -q ../work/tree 2>/dev/null
	git clone -q . sub && git -C sub branch a
	run "$sandbox" -- sh -c 'git add f; git status; git -C sub checkout -q a; git -C sub -c gc.writeCommitGraph=false gc -q'
	[[ "$output" != *'awf-sandbox: .'* && "$output" != *'awf-sandbox: sub'* ]]
	[ ! -e .git/awf-unreviewed ]
}

# bats test_tags=turn:3
@test "what is below a directory that cannot be entered is looked at" {
	user=()
	if [ "$(id -u)" = 0 ]; then
		command -v setpriv >/dev/null || skip 'takes another user than root'
		user=(setpriv --reuid 65534 --regid 65534 --clear-groups)
		mkdir -m 700 -p "$AWF_STORAGE"
		chown -R 65534:65534 "$BATS_TEST_TMPDIR"
		chmod 755 "$BATS_TEST_TMPDIR" "$BATS_RUN_TMPDIR" "$BATS_SUITE_TMPDIR" "$BATS_FILE_TMPDIR"
	fi
	"${user[@]}" "$sandbox" -- true 2>/dev/null || skip 'another user has no sandbox here'
	"${user[@]}" mkdir -m 700 closed
	"${user[@]}" git init -q closed/own
	printf '#!/bin/sh\n' >closed/own/.git/hooks/post-commit
	chmod 755 closed/own/.git/hooks/post-commit
	[ "${#user[@]}" = 0 ] || chown -R 65534:65534 closed
	chmod 000 closed
	for mode in 000 111 200 300 400 444 600; do
		for place in sub/.git/hooks sub/.git sub .; do
			run "${user[@]}" "$sandbox" -q -- sh -c "mkdir d; cd d; git init -q sub; printf '#!/bin/sh\ntouch $ran\n' >sub/.git/hooks/pre-commit
				ln -s /etc sub/.git/refs/heads/x; chmod 755 sub/.git/hooks/pre-commit; chmod $mode sub/.git/refs/heads; chmod $mode $place"
			[[ "$output" == *hooks/pre-commit*hooks-pre-commit.unreviewed* && "$output" == *refs/heads/x*refs-heads-x.unreviewed* ]] || {
				echo "$mode $place: $output"
				return 1
			}
			[ "$(stat -c %a "d/$place")" = "$((10#$mode))" ] || [ "$mode" = 000 ]
			chmod -R u+rwX d
			[ ! -e d/sub/.git/hooks/pre-commit ]
			rm -r d
		done
	done
	# The user's own stays as it is.
	[ "$(stat -c %a closed)" = 0 ]
	chmod 700 closed
	[ -x closed/own/.git/hooks/post-commit ]
}
