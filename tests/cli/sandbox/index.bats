#!/usr/bin/env bats
# The index of a repository that a sandboxed program has written (awf-sandbox(1), "Repositories"):
# git believes nothing of it that hides a change.
# shellcheck disable=SC2154 # bats sets stderr
bats_require_minimum_version 1.5.0
load ../../support/helpers
load ../../support/sandbox

prepare() {
	sandbox_and_git
	git init -q .
	mkdir s
	echo make >Makefile
	echo b >s/b
	# What is said of a file in an index: all at the beginning of an entry up to its size.
	cat >../forge.py <<-'X'
		import os, struct, hashlib, sys, time
		def known(path, mode):
		    s = os.stat(path)
		    words = [s.st_ctime_ns // 10**9, s.st_ctime_ns % 10**9, s.st_mtime_ns // 10**9, s.st_mtime_ns % 10**9,
		        s.st_dev & 0xffffffff, s.st_ino & 0xffffffff] + mode + [s.st_uid, s.st_gid, s.st_size & 0xffffffff]
		    return struct.pack('>%dI' % len(words), *words)
		def forge(index, was, now):
		    data = open(index, 'rb').read()[:-20]
		    assert was in data
		    data = data.replace(was, now)
		    open(index, 'wb').write(data + hashlib.sha1(data).digest())
		    os.utime(index, (4e9, 4e9))
	X
}

commit() {
	git add -A
	git commit -qm "$1"
	# Times of files and of an index in the same second tell nothing.
	touch -d '1 minute ago' Makefile s/b
	git update-index -q --refresh || true
	git status >/dev/null
}

forge() { "$sandbox" -q --readable ../forge.py -- python3 -c "import sys; sys.path.insert(0, '..'); from forge import *
$1"; }

@test "an index that says of a changed file that it is unchanged is not believed" {
	commit one
	forge "
for file in 'Makefile', 's/b':
    was = known(file, [0o100644])
    open(file, 'a').write('evil\n')
    os.utime(file, (9, 9))
    forge('.git/index', was, known(file, [0o100644]))"
	[ "$(git diff --name-only)" = "$(printf 'Makefile\ns/b')" ]
	[ "$(git status --short)" = "$(printf ' M Makefile\n M s/b')" ]
	git commit -qam two
	[ "$(git show --format= --name-only HEAD)" = "$(printf 'Makefile\ns/b')" ]
	git fsck --strict
}

@test "a file that was changed by an earlier program is not hidden by a later one" {
	commit one
	"$sandbox" -- sh -c 'echo evil >>Makefile'
	forge "
data = open('.git/index', 'rb').read()
at = data.index(b'Makefile') - 62
forge('.git/index', data[at:at + 40], known('Makefile', [0o100644]))"
	[ "$(git status --short)" = ' M Makefile' ]
}

@test "what an index says of directories is not believed" {
	git config core.untrackedCache true
	commit one
	git update-index --force-untracked-cache
	touch -d '1 minute ago' s
	git status >/dev/null
	forge "
was = known('s', [])
open('s/new', 'w').write('evil')
os.utime('s', (9, 9))
forge('.git/index', was, known('s', []))"
	[ "$(git status --short)" = '?? s/new' ]
	# A tree that is not the one of the entries.
	"$sandbox" -- sh -c 'mkdir t && echo evil >t/b && cp .git/index .git/index.lock && GIT_INDEX_FILE=.git/index.lock git add t && GIT_INDEX_FILE=.git/index.lock git write-tree --prefix=t >tree && rm -r .git/index.lock t'
	forge "
import subprocess
subprocess.check_call(['git', 'write-tree'], stdout=subprocess.DEVNULL)
old = bytes.fromhex(subprocess.check_output(['git', 'rev-parse', 'HEAD:s'], text=True).strip())
forge('.git/index', b's\0001 0\n' + old, b's\0001 0\n' + bytes.fromhex(open('tree').read().strip()))"
	rm tree
	echo more >>Makefile
	git add Makefile
	git commit -qm three
	[ "$(git show HEAD:s/b)" = b ]
}

@test "a time of an index that makes git overlook a change is put back" {
	git add -A
	git commit -qm one
	touch -d '1 minute ago' Makefile .git/index
	before=$(stat -c %y .git/index)
	"$sandbox" -- sh -c 'touch .git/index'
	[ "$(stat -c %y .git/index)" = "$before" ]
}

# bats test_tags=turn:2
@test "what a sandboxed program stages is staged, in an index of any kind" {
	for kind in 2 3 4 split sparse; do
		rm -rf .git x
		git init -q .
		case $kind in
		split) git config core.splitIndex true ;;
		sparse) git config index.sparse true ;;
		*) git config index.version $kind ;;
		esac
		commit one
		"$sandbox" -q -- sh -c 'echo x >x; git add x; echo more >>s/b; git status >/dev/null'
		[ "$(git status --short)" = "$(printf ' M s/b\nA  x')" ]
		git fsck --strict
		"$sandbox" -q --pass-env 'GIT_*' -- sh -c 'git commit -qam two; git rm -q Makefile; echo make >Makefile; git add -A; git stash -q; git merge -q HEAD'
		[ -z "$(git status --short)" ]
		echo again >>x
		[ "$(git status --short)" = ' M x' ]
		[ ! -e .git/awf-unreviewed ]
		git checkout -q . && git clean -qfd && echo b >s/b
	done
	# The conflict that a program has resolved can still be undone.
	git init -q -b main ../other
	cd ../other
	echo a >f && git add f && git commit -qm one && git branch side
	echo b >f && git commit -qam two && git checkout -q side && echo c >f && git commit -qam three
	"$sandbox" -q --pass-env 'GIT_*' -- sh -c 'git merge main; echo d >f; git add f'
	[ "$(git status --short)" = 'M  f' ]
	git update-index --unresolve f
	[ "$(git status --short)" = 'UU f' ]
}

@test "an index that cannot be replaced is put back" {
	[ "$(id -u)" = 0 ] && unshare -m true 2>/dev/null || skip 'no file system can be mounted here'
	commit one
	export sandbox
	run -0 unshare -m sh -c 'mkdir ../disk && mount -t tmpfs -o size=2m,nr_inodes=5000 none ../disk && cp -a . ../disk/w && cd ../disk/w &&
		git status >/dev/null
		"$sandbox" -q -- sh -c "
			i=0; while [ \$i -lt 3000 ]; do : >x\$i; i=\$((i+1)); done; git add . 2>/dev/null; rm x*; cat /dev/zero >big 2>/dev/null"
		rm -f big
		git ls-files
		git status --short'
	[[ "$output" == *'.git/index: git status may not tell of files by what it says,'*'what was there is there again'* ]]
	[ "$(printf '%s\n' "${lines[@]:2}")" = "$(printf 'Makefile\ns/b')" ]
}
