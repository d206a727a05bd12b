#!/usr/bin/env bats
# Sandboxed programs that run at the same time in one workspace (awf-sandbox(1), "Repositories"):
# what one of them makes in a repository is not the user's for the others.
# shellcheck disable=SC2016 # the shell of a sandbox reads dollars
bats_require_minimum_version 1.5.0
load ../../support/helpers
load ../../support/sandbox

prepare() {
	sandbox_and_git
	mkdir -m 700 -p "$AWF_STORAGE"
	ran="$BATS_TEST_TMPDIR/ran"
	for name in . lib; do
		git init -q "$name"
		(cd "$name" && echo a >f && git add f && git commit -qm one)
	done
	evil='printf "#!/bin/sh\ntouch '"$ran"'\n" >lib/.git/hooks/pre-commit; chmod 755 lib/.git/hooks/pre-commit
		git -C lib config core.fsmonitor "touch '"$ran"';:"; git update-index --assume-unchanged f; echo evil >>f'
}

# Starts a program in the background that does what $1 says, makes the file $2, and ends when that
# is removed. Options follow.
begin() {
	"$sandbox" -q "${@:3}" -- sh -c "$1; echo >$2; while [ -e $2 ]; do sleep 0.05; done" 2>>"$BATS_TEST_TMPDIR/said" 3>&- &
}

wait_for() {
	for _ in $(seq 200); do
		[ ! -e "$1" ] || return 0
		sleep 0.05
	done
	return 1
}

user_goes_on() {
	git -C lib status >/dev/null 2>&1
	git -C lib commit -qm later --allow-empty
	[ ! -e "$ran" ]
	[ "$(git status --short f)" = ' M f' ]
	for _ in $(seq 100); do
		[ -n "$(ls "$AWF_STORAGE/sandboxed/overlap")" ] || return 0
		sleep 0.05
	done
	return 1
}

# What a program does that makes it all again when the files of another one were renamed.
again='while [ -e lib/.git/hooks/pre-commit ]; do sleep 0.05; done; '

@test "what a sandboxed program made is not the user's for one that starts before it has ended" {
	for options in '' '--without namespaces'; do
		# shellcheck disable=SC2086 # words
		begin "$evil" one $options
		wait_for one
		# shellcheck disable=SC2086
		begin "echo >ready; $again $evil" two $options
		wait_for ready
		rm one ready
		wait_for two
		rm two
		wait
		user_goes_on
		git checkout -q f
	done
}

@test "a sandboxed program does not put back what another one has made" {
	begin "$evil" one --without namespaces
	first=$!
	wait_for one
	begin : two --without namespaces
	wait_for two
	rm one
	wait "$first"
	rm two
	wait
	run -1 grep 'was removed, and is there again' "$BATS_TEST_TMPDIR/said"
	user_goes_on
}

@test "programs overlap in a directory of a workspace, and in one that contains it" {
	inside="${evil//lib/.}"
	inside="${inside%%git update-index*} :"
	begin "$evil" one
	wait_for one
	cd lib
	begin "echo >ready; ${again//lib\//} $inside" two
	cd ..
	wait_for lib/ready
	rm one lib/ready
	wait_for lib/two
	rm lib/two
	wait
	user_goes_on
	git checkout -q f
	cd lib
	begin "$inside" one
	cd ..
	wait_for lib/one
	begin "echo >ready; $again $evil" two
	wait_for ready
	rm lib/one
	wait_for two
	rm two
	wait
	user_goes_on
}

@test "what the user had before the first of the programs that overlap stays" {
	printf '#!/bin/sh\n' >lib/.git/hooks/post-commit
	chmod 755 lib/.git/hooks/post-commit
	git -C lib config alias.x '!true'
	git update-index --assume-unchanged f
	begin 'echo b >b; git add b' one
	first=$!
	wait_for one
	begin 'echo c >c; git add c; git -C lib branch more' two
	wait_for two
	rm one
	wait "$first"
	rm two
	wait
	[ ! -e .git/awf-unreviewed ] && [ ! -e lib/.git/awf-unreviewed ]
	[ ! -s "$BATS_TEST_TMPDIR/said" ]
	[ "$(git ls-files)" = "$(printf 'b\nc\nf')" ]
	git -C lib x
}

@test "a program that is killed overlaps until its files are renamed" {
	begin "$evil" one
	first=$!
	wait_for one
	kill -9 "$first"
	wait "$first" || true
	"$sandbox" -q -- sh -c "$again $evil" 2>/dev/null || true
	user_goes_on
}

@test "a file that the user replaces while a sandboxed program runs is judged when it ends" {
	"$sandbox" --check | grep -q '"namespaces":true' || skip 'no namespaces'
	begin 'echo >ready; while [ ! -e replaced ]; do sleep 0.05; done; printf "[alias]\n\tx = !touch '"$ran"'\n" >>.git/config' one
	wait_for ready
	git config user.name other
	echo >replaced
	wait_for one
	rm one
	wait
	run git x
	[ ! -e "$ran" ]
}
