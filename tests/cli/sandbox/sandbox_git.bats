#!/usr/bin/env bats
# bats file_tags=turn:2
# Repositories in a sandbox's workspace (awf-sandbox(1), "Repositories"): whatever a sandboxed
# program leaves there, the user's git runs nothing of it; and git's usual work goes on inside.
# shellcheck disable=SC2016,SC2154 # the shell of a sandbox reads dollars; bats sets stderr
bats_require_minimum_version 1.5.0
load ../../support/helpers

# The user's settings of git, and a repository of the user's, once for all tests.
setup_file() {
	command -v git >/dev/null || return 0
	export GIT_CONFIG_NOSYSTEM=1 GIT_EDITOR=true GIT_TERMINAL_PROMPT=0
	export HOME=$BATS_FILE_TMPDIR/home
	mkdir "$HOME"
	printf '[user]\n\tname = user\n\temail = user@example.org\n[init]\n\tdefaultBranch = main\n[protocol "file"]\n\tallow = always\n' \
		>"$HOME/.gitconfig"
	git init -q "$BATS_FILE_TMPDIR/first"
	cd "$BATS_FILE_TMPDIR/first"
	echo one >a && git add a && git commit -qm one
	git branch side && echo two >>a && git commit -qam two
	git tag v1 && echo stashed >>a && git stash -q
	echo '*.x diff=d filter=d merge=d' >.gitattributes && git add . && git commit -qm attributes
	cd "$OLDPWD"
}

prepare() {
	command -v git >/dev/null || skip 'no git'
	WORK=$PWD
	sandbox="$BUILD/libexec/awf/awf-sandbox"
	"$sandbox" -- true || skip 'this system lacks what a sandbox takes'
	# What the user's git must not run makes this file, which no sandbox can make.
	ran="$BATS_TEST_TMPDIR/ran"
	cp "$BATS_FILE_TMPDIR/home/.gitconfig" "$HOME"
	cp -a "$BATS_FILE_TMPDIR/first" ..
	payloads ../payloads
}

# A directory of files that run the payload, by the names under which git would take them up.
payloads() {
	local name hostile="touch '$ran'"
	mkdir -p "$1/hooks" "$1/rebase-merge" "$1/rebase-apply" "$1/sequencer" "$1/remotes" "$1/branches"
	printf '[core]\n\trepositoryformatversion = 0\n\tfsmonitor = "%s"\n\thooksPath = %s\n\tpager = "%s"\n\teditor = "%s"\n\tsshCommand = "%s"\n[diff]\n\texternal = "%s"\n[diff "d"]\n\ttextconv = "%s"\n[filter "d"]\n\tclean = "%s"\n\tsmudge = "%s"\n\tprocess = "%s"\n[gpg]\n\tprogram = "%s"\n[alias]\n\tst = "!%s"\n[extensions]\n\tworktreeConfig = true\n' \
		"$hostile" hooks "$hostile" "$hostile" "$hostile" "$hostile" "$hostile" "$hostile" "$hostile" "$hostile" "$hostile" "$hostile" >"$1/config"
	cp "$1/config" "$1/config.worktree"
	for name in applypatch-msg commit-msg fsmonitor-watchman post-applypatch post-checkout post-commit \
		post-index-change post-merge post-rewrite pre-applypatch pre-auto-gc pre-commit pre-merge-commit \
		pre-push pre-rebase prepare-commit-msg push-to-checkout reference-transaction update; do
		printf '#!/bin/sh\n%s\n' "$hostile" >"$1/hooks/$name"
	done
	chmod +x "$1"/hooks/*
	git -C ../first rev-parse HEAD >"$1/onto"
	printf 'exec %s\n' "$hostile" | tee "$1/rebase-merge/git-rebase-todo" >"$1/rebase-merge/git-rebase-todo.backup"
	cp "$1/onto" "$1/rebase-merge/onto"
	cp "$1/onto" "$1/rebase-merge/orig-head"
	echo refs/heads/main >"$1/rebase-merge/head-name"
	: >"$1/rebase-merge/interactive"
	: >"$1/rebase-merge/done"
	echo 1 | tee "$1/rebase-merge/msgnum" >"$1/rebase-merge/end"
	printf 'GIT_AUTHOR_NAME=x\n%s\n' "$hostile" | tee "$1/rebase-merge/author-script" >"$1/rebase-apply/author-script"
	printf '[options]\n\tstrategy = %s\n' ../../evil >"$1/sequencer/opts"
	echo "pick $(cat "$1/onto") x" >"$1/sequencer/todo"
	cp "$1/onto" "$1/sequencer/head"
	echo "$WORK/evil" >"$1/commondir"
	echo "gitdir: evil" >"$1/gitfile"
	printf 'URL: ext::sh -c "%s" %%S\n' "$hostile" | tee "$1/remotes/origin" >"$1/branches/origin"
	echo '* filter=d diff=d' >"$1/attributes"
}

# A fresh repository, the workspace of the next attempt.
fresh() {
	cd "$WORK/.."
	find "$WORK" -mindepth 1 -delete 2>/dev/null || {
		chmod -R u+rwX work 2>/dev/null || true
		find "$WORK" -mindepth 1 -delete
	}
	cp -a first/. "$WORK"
	cp -a payloads "$WORK/evil"
	rm -f "$ran"
	cd "$WORK"
}

# A sandboxed program's attempt, with the options after it; evil has the payloads, and is a repository.
attempt() {
	local data=:
	if [ -d evil ]; then
		data=$(git rev-parse --git-common-dir) || true
		data="cp -r $data/objects $data/refs $data/HEAD evil"
	fi
	"$sandbox" "${@:2}" -- sh -c "$data; $1" >/dev/null 2>"$BATS_TEST_TMPDIR/said" || true
}

# Where that is which was set aside of a repository.
aside_of() {
	local top="${1%%.git/*}.git"
	local inside="${1#"$top/"}"
	echo "$top/awf-unreviewed/${inside//\//-}.unreviewed"
}

# What a user does in the workspace later, in each directory that git may take for a repository by then.
user_goes_on() {
	local directory
	while read -r directory; do
		(
			set +e
			cd "$directory" || exit
			git status
			git rebase --continue
			git log -1 -p
			git add -A
			git commit -qm later --allow-empty
			[ "$directory" = "$WORK" ] || exit 0
			git diff HEAD~1
			git stash list
			git submodule status
			git cherry-pick --continue
			git checkout -q -B elsewhere
			git fetch -q origin
			true
		)
	done < <({ echo "$WORK"; find "$WORK" -name .git -prune -printf '%h\n' -o -path '*/.git/*' -prune -o -name HEAD -printf '%h\n' -o -name .git -prune; } | sort -u) >/dev/null 2>&1
	if [ -e "$ran" ]; then
		echo "git ran what a sandboxed program left: $1"
		return 1
	fi
}

# All that git looks for in a repository, as far as commands of these kinds tell.
looked_for_by_git() {
	command -v strace >/dev/null || skip 'no strace'
	(
		git init -q ../traced && cd ../traced && echo x >x && git add x && git commit -qm x && git branch other
		trace() { strace -qf -e trace=%file -o ../trace "$@" >/dev/null 2>&1 || true; cat ../trace; }
		trace git status
		trace git log -1
		trace git diff
		trace git add -A
		trace git commit --allow-empty -m y
		trace git checkout -q other
		trace git merge main
		trace git stash list
		trace git rebase main
		trace git rebase --continue
		trace git cherry-pick --continue
		trace git am --continue
		trace git fetch . main
		trace git submodule status
		trace git worktree list
		trace git gc -q
		trace git remote -v
	) | grep -oE '"[^"]*\.git/[^"]*"' | sed 's/^".*\.git\///; s/"$//' |
		grep -vE '^(objects/([0-9a-f]{2}|pack)(/|$)|refs(/|$)|logs(/|$)|objects/?$|objects/(tmp|maint|commit)|.*\.lock$)|^$|//' | sort -u
}

# What git writes as data, which a sandboxed program may: no name of these leads to a program.
is_data() {
	case $1 in
	index | packed-refs | packed-refs.new | shallow | description | gc.log | gc.pid | rr-cache | \
		info | info/exclude | info/refs* | info/sparse-checkout | info/rev-cache | \
		objects/info | objects/info/packs* | objects/info/commit-graph* | modules | modules/ | worktrees | worktrees/* | \
		hooks | branches | remotes | gitk.cache | fsmonitor--daemon* | addp-hunk-edit.diff) return 0 ;;
	*[!A-Z_]*) return 1 ;;
	esac
}

# bats test_tags=turn:2
@test "a program in a sandbox does git's usual work" {
	fresh
	git clone -q --bare . ../origin.git
	git remote add origin "$PWD/../origin.git"
	git config core.pager cat
	run -0 --separate-stderr "$sandbox" --readable "$PWD/../origin.git" -- sh -ec '
		git config --global user.name agent; git config --global user.email a@example.org
		git config --global --add safe.directory "*"
		git status -s; echo three >>a; git add a; git commit -qm three; git checkout -qb topic; echo four >b; git add b
		git commit -qm four; echo five >>b; git stash -q; git stash pop -q; git commit -qam five; git checkout -q main; git merge -q --no-ff -m merged topic
		git branch -D topic >/dev/null 2>&1; git tag v2; git log --oneline | wc -l; git diff HEAD~1 --stat | wc -l
		git fetch -q origin; git rebase -q side; git cherry-pick --allow-empty v2~1 >/dev/null 2>&1 || git cherry-pick --abort
		git reset -q --hard v2; git pack-refs --all; git reflog | wc -l; git worktree add -q ../work/linked side'
	same "$stderr" ''
	same "$(git log -1 --format=%s)" merged
	same "$(git rev-parse v2)" "$(git rev-parse HEAD)"
	git fsck --no-progress 2>/dev/null
	same "$(git -C linked log -1 --format=%s)" one
	# What it made itself goes on being its: settings that name no program, further work, and its end.
	run -0 --separate-stderr "$sandbox" -- sh -ec '
		export GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=safe.directory GIT_CONFIG_VALUE_0="*"
		git init -q made; git clone -q . cloned
		for repository in made cloned; do cd $repository; git config user.name agent; git config user.email a@example.org; git commit -q --allow-empty -m new; cd ..; done'
	same "$stderr" ''
	same "$(git -C cloned log -1 --format=%an/%s) $(git -C made log -1 --format=%an/%s)" 'agent/new agent/new'
	run -0 --separate-stderr "$sandbox" -- sh -ec '
		git -C made config pull.rebase true; git -C made commit -q --allow-empty -m again; git worktree remove linked; rm -r made cloned'
	same "$stderr$(ls -d made cloned linked 2>/dev/null)" ''
	# A rebase that has stopped goes on in the next call, as it runs no command.
	rm -rf evil && git checkout -q -b late main~1 && echo other >b && git add b && git commit -qm late
	attempt 'git -c safe.directory="*" -c user.name=x -c user.email=x@y rebase main'
	[ -d .git/rebase-merge ]
	run -0 "$sandbox" -- sh -ec 'git config --global safe.directory "*"; echo both >b; git add b; GIT_EDITOR=true git -c user.name=x -c user.email=x@y rebase --continue'
	same "$(git log -1 --format=%s)$(ls -d .git/rebase-merge 2>/dev/null)" late
}

# bats test_tags=turn:3
@test "a worktree and a submodule whose repository lies elsewhere, or in the workspace, work and are guarded" {
	fresh
	git worktree add -q "$WORK/../tree" side
	cd ../tree
	"$sandbox" --readable "$WORK/.git" -- git -c safe.directory='*' log -1 --format=%s >/dev/null
	attempt 'rm -f .git; cp -r ../work/evil .; echo "gitdir: evil" >.git'
	same "$(git log -1 --format=%s)" one
	cd "$WORK"
	# What links that tree to its repository is not to be changed from the workspace of the repository.
	attempt 'echo ../../../evil >.git/worktrees/tree/commondir; cp evil/config.worktree .git/worktrees/tree/; cp evil/config.worktree .git'
	same "$(git -C ../tree log -1 --format=%s)" one
	git -C ../tree status >/dev/null 2>&1
	[ ! -e "$ran" ]
	git worktree remove --force ../tree
	# A submodule: its data is written, its settings and hooks are not.
	rm -rf evil
	git init -q ../part && git -C ../part commit -q --allow-empty -m part
	git submodule add -q "$WORK/../part" part && git commit -qm submodule
	cp -a ../payloads evil
	run -0 "$sandbox" -- sh -ec 'export GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=safe.directory GIT_CONFIG_VALUE_0="*"
		cd part; git -c user.name=a -c user.email=a@b commit -q --allow-empty -m inside; cd ..; git -c user.name=a -c user.email=a@b commit -qam moved; git submodule status'
	same "$(git -C part log -1 --format=%s)" inside
	for way in 'cp evil/config .git/modules/part/config' 'cp -r evil/hooks .git/modules/part/' 'echo ../../../evil >.git/modules/part/commondir' \
		'cp evil/config.worktree .git/modules/part/' 'rm part/.git; cp -r evil part/evil; echo "gitdir: evil" >part/.git' \
		'mv .git/modules .git/m; mkdir -p .git/modules/part; cp -r evil/* .git/modules/part'; do
		rm -f "$ran"
		attempt "$way"
		user_goes_on "$way"
	done
}

# bats test_tags=turn:3
@test "names under which git reads more than data are not left, however they are made" {
	fresh
	looked_for_by_git >../names
	for name in HEAD commondir config config.worktree info/attributes info/grafts objects/info/alternates rebase-merge rebase-apply sequencer/todo hooks/pre-commit shallow; do
		grep -qx "$name" ../names || [ "$name" = config.worktree ] || { echo "git did not look for $name"; false; }
	done
	printf '%s\n' config.worktree commondir gitdir hooks/post-checkout hooks/reference-transaction hooks/fsmonitor-watchman rebase-merge/git-rebase-todo \
		rebase-merge/strategy rebase-apply/author-script sequencer/opts sequencer/todo remotes/origin branches/origin objects/info/http-alternates \
		modules/x/config modules/x/hooks/post-checkout worktrees/x/config.worktree worktrees/x/commondir unheard-of info/unheard-of >>../names
	number=0
	while read -r name; do
		is_data "$name" && continue
		number=$((number + 1))
		case_is_chosen 7 || continue
		ways=(write rename link symlink directory)
		[ "$(rounds few many)" = many ] || ways=("${ways[number % 5]}")
		for way in "${ways[@]}"; do
			fresh
			git config --list --local >../settings
			source=evil/$name
			[ -e "$source" ] || source=evil/config
			"$sandbox" -- sh -c 'name=.git/$1; source=$2; mkdir -p "$(dirname "$name")"; rm -f "$name"
				case $3 in
				write) cat "$source" >"$name"; chmod +x "$name" ;;
				rename) mv -T "$source" "$name" ;;
				link) ln -T "$source" "$name" ;;
				symlink) ln -sT "$PWD/$source" "$name" ;;
				directory) mkdir "$name"; cp -r evil/* "$name" ;;
				esac' - "$name" "$source" "$way" >/dev/null 2>&1 || true
			same "$(git config --list --local)" "$(cat ../settings)"
			user_goes_on "$way $name"
		done
	done <../names
	[ "$number" -gt 25 ]
}

# Attempts, a line each; evil has the payloads, and what makes a repository of them.
attempts() {
	cat <<'END'
echo ../evil >.git/commondir
echo ../evil >.git/commondir; cp evil/config.worktree .git
cp evil/hooks/* .git/hooks
cat evil/config >.git/config
cat evil/config >>.git/config
mv evil/config .git/config
git config core.fsmonitor "sh evil/hooks/pre-commit"
mv .git .other; mv evil .git
mv .git/hooks .git/other; cp -r evil/hooks .git
cp -r evil/rebase-merge .git
cp -r evil/rebase-apply .git; touch .git/rebase-apply/applying
cp -r evil/sequencer .git; cp evil/onto .git/CHERRY_PICK_HEAD
mkdir sub; cp -r evil sub/.git
mkdir sub; cp -r evil sub/.git; git add sub
mkdir sub; cp -r evil sub/.git; git update-index --add --cacheinfo 160000,$(cat evil/onto),sub
mkdir -p a1/b/c; cp -r evil a1/b/c/.git; git update-index --add --cacheinfo 160000,$(cat evil/onto),a1/b/c
mkdir sub; mv evil x; cp -r x evil; echo "gitdir: ../evil" >sub/.git; git update-index --add --cacheinfo 160000,$(cat evil/onto),sub
mkdir sub; echo "gitdir: ../.git/objects/zz" >sub/.git; cp -r evil .git/objects/zz; git update-index --add --cacheinfo 160000,$(cat evil/onto),sub
mkdir sub; echo "gitdir: ../.git/lfs/zz" >sub/.git; mkdir .git/lfs; cp -r evil .git/lfs/zz; git update-index --add --cacheinfo 160000,$(cat evil/onto),sub
mkdir sub; ln -s ../evil sub/.git; git update-index --add --cacheinfo 160000,$(cat evil/onto),sub
mkdir sub; cp -r evil/. sub
mkdir sub; cp -r evil/. sub; rm -r sub/refs; ln -s ../.git/refs sub/refs
mkdir sub; cp -r evil/config evil/HEAD sub; ln -s ../.git/refs sub/refs; ln -s ../.git/objects sub/objects
mkdir sub; echo ../evil >sub/commondir; cp evil/HEAD sub
mkdir sub; echo ../other >sub/commondir; cp evil/HEAD sub; cp -r evil other; rm other/HEAD
mkdir sub; cp -r evil sub/.git; chmod 311 sub
mkdir sub; cp -r evil sub/.git; chmod 555 sub/.git sub/.git/hooks sub
mkdir sub; cp -r evil sub/.GIT; mv sub/.GIT sub/.git
git init -q sub; git -C sub config core.fsmonitor "sh ../evil/hooks/pre-commit"; git -C sub config core.hooksPath ../evil/hooks
git init -q sub; cp evil/hooks/* sub/.git/hooks
git init -q sub; git -C sub config include.path ../../evil/config
git init -q sub; git -C sub config includeIf.onbranch:**.path ../../evil/config
git init -q sub; git -C sub config extensions.worktreeConfig true; cp evil/config.worktree sub/.git
git init -q sub; git -C sub config remote.origin.url "ext::sh evil/hooks/pre-commit"; git -C sub config protocol.ext.allow always
git init -q sub; printf '[core] fsmonitor = sh evil/hooks/pre-commit
' >>sub/.git/config
git init -q sub; printf '[core]
	bare = false \
	x
	fsmonitor = "sh" \
 ../evil/hooks/pre-commit
' >>sub/.git/config
git init -q sub; printf '[CORE]
	FsMonitor = sh ../evil/hooks/pre-commit
' >>sub/.git/config
git init -q sub; printf 'ï»¿[core]
fsmonitor = sh ../evil/hooks/pre-commit
' >sub/.git/config
git init -q sub; printf '[alias]
	st = !sh ../evil/hooks/pre-commit
[filter "d"]
	clean = sh ../evil/hooks/pre-commit
' >>sub/.git/config; echo '* filter=d' >sub/.gitattributes; echo x >sub/x
git init -q sub; ln -sf ../../evil/config sub/.git/config
git init -q sub; rm -r sub/.git/hooks; ln -s ../../evil/hooks sub/.git/hooks
git init -q sub; cp -r evil/rebase-merge sub/.git
git init -q --bare sub; cp evil/hooks/* sub/hooks; cat evil/config >>sub/config
git init -q sub; git -C sub worktree add ../tree 2>/dev/null; mkdir -p sub/.git/worktrees/t; echo ../../../../evil >sub/.git/worktrees/t/commondir; cp evil/HEAD sub/.git/worktrees/t; mkdir t; echo "gitdir: ../sub/.git/worktrees/t" >t/.git
mkdir -p .git/modules/m; cp -r evil/. .git/modules/m; mkdir m; echo "gitdir: ../.git/modules/m" >m/.git; git update-index --add --cacheinfo 160000,$(cat evil/onto),m
mkdir -p .git/modules/a/b; cp -r evil/. .git/modules/a/b; mkdir -p m; echo "gitdir: ../.git/modules/a/b" >m/.git; git update-index --add --cacheinfo 160000,$(cat evil/onto),m
ln -s "$PWD/evil" .git/modules; mkdir -p .git/modules/x; mkdir m; echo "gitdir: ../.git/modules" >m/.git
mkdir -p .git/worktrees/w; cp evil/HEAD .git/worktrees/w; echo ../../../evil >.git/worktrees/w/commondir; mkdir w; echo "gitdir: ../.git/worktrees/w" >w/.git
printf '[submodule "m"]
	path = m
	url = ./evil
	update = !sh evil/hooks/pre-commit
' >.gitmodules; git submodule add ./evil m
printf '[submodule "../../evil"]
	path = m
	url = ./evil
' >.gitmodules; mkdir m; cp -r evil m/.git; git update-index --add --cacheinfo 160000,$(cat evil/onto),m
cp evil/attributes .git/info/attributes; cp evil/attributes .gitattributes; echo y >z.x
cp -r evil/remotes evil/branches .git; git config remote.origin.url x
echo "$PWD/evil/objects" >.git/objects/info/alternates
rm -f .git/HEAD; cp -r evil/config evil/hooks .; cp -r evil/HEAD evil/objects evil/refs .
mv .git/index .git/x; ln -s "$HOME/.bashrc" .git/index
rm -f .git/logs/HEAD; ln -s "$HOME/.profile" .git/logs/HEAD; ln -sf "$HOME/.zshrc" .git/COMMIT_EDITMSG
(sleep 1; echo ../evil >.git/commondir) & mkdir sub; cp -r evil sub/.git
setsid sh -c 'sleep 0.3; while :; do echo ../evil >.git/commondir; done' & sleep 0.1
printf 'x %s
' "sh evil/hooks/pre-commit" >t; mkdir .git/rebase-merge; cp evil/rebase-merge/* .git/rebase-merge; { echo "noop"; cat t; } >.git/rebase-merge/git-rebase-todo
mkdir .git/rebase-merge; cp evil/rebase-merge/* .git/rebase-merge; echo "pick $(cat evil/onto)" >.git/rebase-merge/git-rebase-todo; rm .git/rebase-merge/*backup; echo ../../evil >.git/rebase-merge/strategy
END
}

# bats test_tags=turn:4
@test "whatever a sandboxed program leaves, the user's git runs nothing of it" {
	for options in '' '--without namespaces'; do
		while read -r line; do
			# In make check few of them without namespaces.
			case_is_chosen $((${#options} > 0 ? 23 : 11)) || continue
			fresh
			# shellcheck disable=SC2086
			attempt "export GIT_CONFIG_COUNT=2 GIT_CONFIG_KEY_0=safe.directory GIT_CONFIG_VALUE_0='*' GIT_CONFIG_KEY_1=user.email GIT_CONFIG_VALUE_1=a@b
$line" $options
			user_goes_on "$line ($options)"
			same "$(ls -A "$HOME" | grep -v gitconfig)" ''
			[[ $line == *'rm -f .git/HEAD'* ]] || git fsck --no-progress >/dev/null 2>&1 || { echo "the repository is broken by: $line"; cat "$BATS_TEST_TMPDIR/said"; false; }
		done < <(attempts)
	done
	# The payloads are ones: what nobody holds back runs.
	fresh
	cp -r .git/objects .git/refs .git/HEAD evil && mkdir sub && cp -r evil sub/.git
	run -1 user_goes_on unguarded
}

@test "what was set aside is named, and so is what was put back; the user's own stays" {
	fresh
	rm -r evil
	cp -r ../payloads/hooks/pre-push .git/hooks/pre-push
	git config alias.st 'status -s'
	run -0 --separate-stderr "$sandbox" -- sh -c 'echo x >.git/commondir; echo y >.git/hooks/new; git config alias.z "!z"; cat .git/hooks/pre-push' 
	same "$(grep -c commondir <<<"$stderr")" 1
	[[ $stderr == *'awf-sandbox: .git/commondir: git may run it, or what it says, outside of the sandbox: it is now called .git/awf-unreviewed/commondir.unreviewed'* ]]
	[ -e .git/awf-unreviewed/commondir.unreviewed ] && [ ! -e .git/commondir ]
	# Without namespaces what was there is there again.
	run -0 --separate-stderr "$sandbox" --without namespaces -- sh -c 'printf "[alias]\n\tst = !z\n" >.git/config; echo x >.git/hooks/pre-push; ln -sf /x .git/ORIG_HEAD'
	[[ $stderr == *'.git/config: '*'it is now called .git/awf-unreviewed/config.unreviewed, and what was there is there again'* ]]
	[[ $stderr == *'.git/hooks/pre-push: '*'what was there is there again'* ]]
	same "$(git config alias.st)" 'status -s'
	cmp .git/hooks/pre-push ../payloads/hooks/pre-push
	run -0 --separate-stderr "$sandbox" --without namespaces -- rm .git/hooks/pre-push
	same "$stderr" 'awf-sandbox: .git/hooks/pre-push: was removed, and is there again'
	# What is opened is the program's.
	run -0 --separate-stderr "$sandbox" --open .git -- sh -c 'echo x >.git/hooks/new; printf "[alias]\n\tst = !z\n" >>.git/config'
	same "$stderr $(git config alias.st)" ' !z'
	# Hooks that lie in the workspace are kept, where the settings say so.
	mkdir ours && echo x >ours/pre-commit && git config core.hooksPath ours
	run -2 "$sandbox" -- sh -c 'echo y >ours/pre-commit'
}

# A program that writes an index with these paths, of a file that says "left"; -v4 with prefixes left out, -damaged with
# a byte too few, -blocks with a good path in the list and a bad one where IEOT says.
index_writer() {
	cat >"$1" <<-'END'
		use Digest::SHA qw(sha1);
		my $blob = pack 'H40', `echo left | git -c safe.directory='*' -C . hash-object -w --stdin`;
		my ($file, $how, @paths) = @ARGV;
		my $version = $how eq 'v4' ? 4 : 2;
		my ($entries, $before) = ('', '');
		for my $path (sort @paths) {
			my $entry = pack('N10', (0) x 6, 0100755, 0, 0, 0) . $blob . pack('n', $how eq 'short' ? 1 : length $path);
			my $common = 0;
			$common++ while $common < length $before && substr($before, $common, 1) eq substr($path, $common, 1);
			if ($version == 4) { $entry .= pack('C', length($before) - $common) . substr($path, $common) . "\0"; }
			else { $entry .= $path . "\0" x (8 - length($entry . $path) % 8); }
			$entries .= $entry;
			$before = $path;
		}
		my $index = 'DIRC' . pack('N2', $how eq 'version' ? 9 : $version, scalar @paths) . $entries;
		$index .= 'IEOT' . pack('N4', 12, 1, 20, scalar @paths) if $how eq 'blocks';
		$index .= sha1($index);
		$index = substr($index, 0, -30) if $how eq 'damaged';
		unlink $file;
		open my $out, '>', $file or die;
		print $out $index;
	END
}

# What the user's git writes later in a directory, without a look at what a sandboxed program left.
user_restores() {
	(
		set +e
		cd "$1" || exit
		echo more >>a
		git restore .
		git checkout .
		echo more >>a
		git commit -qam later
		echo more >>a
		git stash
		git stash pop
		git rerere
		git commit -qam later
		git gc -q
		true
	) >/dev/null 2>&1
}

# Nothing came where a sandboxed program's paths lead: beside the workspace, and among what git runs or believes.
nothing_written() {
	if [ -n "$(find "$WORK/.." -maxdepth 1 -name 'out*')" ] || find "$WORK" -path '*/hooks/*' -name 'post-checkout' | grep -q . ||
		find "$WORK" -path '*.git/outside*' | grep -q . || grep -rqs left "$WORK"/.git/hooks; then
		echo "the user's git wrote outside: $1"
		cat "$BATS_TEST_TMPDIR/said"
		return 1
	fi
}

# bats test_tags=turn:3
@test "an index that a sandboxed program left leads the user's git to no other file" {
	perl -MDigest::SHA -e 1 2>/dev/null || skip 'no perl'
	index_writer ../writer
	for options in '' '--without namespaces'; do
		while read -r how paths; do
			case_is_chosen 5 || continue
			fresh
			rm -r evil
			cp ../writer .
			# shellcheck disable=SC2086
			attempt "perl writer .git/index $how $paths" $options
			grep -q '.git/index: git may write to other files by what it says, outside of the sandbox: it is now called .git/awf-unreviewed/index.unreviewed, and what was there is there again' "$BATS_TEST_TMPDIR/said" || { cat "$BATS_TEST_TMPDIR/said"; false; }
			user_restores .
			nothing_written "$how $paths"
			same "$(git ls-files)" "$(printf '.gitattributes\na')"
		done <<-'END'
			v2 ../outside a
			v2 x/../../outside
			v2 /tmp/outside
			v2 .git/hooks/post-checkout a
			v2 x/.GIT/hooks/post-checkout
			v2 .git./x
			v2 GIT~1/x
			v2 x//y
			v4 ../out ../outside .git/hooks/post-checkout
			damaged a
			version a
			short ../outside
			blocks a
		END
	done
	# The other file of a split index, and the index of a repository in the workspace and of a linked work tree.
	fresh
	rm -r evil && cp ../writer . && cp -a ../first nested && git worktree add -q linked side
	attempt 'perl writer .git/sharedindex.1234567890123456789012345678901234567890 v2 ../outside; cd nested; perl ../writer .git/index v2 ../../outside; cd ..; perl writer .git/worktrees/linked/index v2 ../../outside'
	same "$(grep -c 'it is now called' "$BATS_TEST_TMPDIR/said")" 3
	for directory in . nested linked; do user_restores $directory; done
	nothing_written elsewhere
	# One that was there before and is not changed stays.
	fresh
	rm -r evil && cp ../writer . && perl writer .git/index v2 ../outside
	cp .git/index ../index
	run -0 --separate-stderr "$sandbox" -- true
	same "$stderr" ''
	cmp .git/index ../index
}

# bats test_tags=turn:3
@test "a symbolic ref that a sandboxed program left leads the user's git to no other file" {
	for options in '' '--without namespaces'; do
		while IFS='|' read -r file content; do
			case_is_chosen 5 || continue
			fresh
			rm -r evil
			cp -a ../first nested
			git worktree add -q linked side
			# shellcheck disable=SC2086
			attempt "mkdir -p \$(dirname $file); rm -f $file; printf '$content' >$file" $options
			grep -q "awf-sandbox: $file: git may write to other files by what it says" "$BATS_TEST_TMPDIR/said"
			[ -e "$(aside_of "$file")" ]
			for directory in . nested linked; do user_restores $directory; done
			nothing_written "$file $content"
			git rev-parse -q --verify HEAD >/dev/null
			[ -e .git/HEAD ] && [ -e nested/.git/HEAD ]
		done <<-'END'
			.git/HEAD|ref: refs/heads/../../../../outside\n
			.git/HEAD|ref: refs/heads/../../outside\n
			.git/HEAD|ref:refs/heads//x\n
			.git/HEAD|ref: HEAD.x\n
			.git/HEAD|ref: refs/heads/x.lock\n
			.git/HEAD|ref: refs/heads/x.unreviewed\n
			.git/refs/stash|ref: refs/heads/../../../../outside\n
			.git/refs/heads/new|ref: refs/../hooks/post-checkout
			.git/refs/heads/a..b|0000
			.git/ORIG_HEAD|ref: refs/heads/../../../outside\n
			.git/FETCH_HEAD|ref: /outside\n
			nested/.git/HEAD|ref: refs/heads/../../../../outside\n
			nested/.git/refs/stash|ref: refs/heads/../../../../outside\n
			.git/worktrees/linked/HEAD|ref: refs/heads/../../../../../../outside\n
			.git/packed-refs|1234567890123456789012345678901234567890 refs/heads/../../../outside\n
			.git/MERGE_RR|1234567890123456789012345678901234567890\t../outside\0
		END
	done
}

# bats test_tags=turn:3
@test "a file that git writes into, and that has a second name, leads the user's git to no other file" {
	local name
	for name in COMMIT_EDITMSG logs/HEAD FETCH_HEAD ORIG_HEAD; do
		fresh
		git commit -qm before --allow-empty
		# git commit begins its message with what MERGE_MSG says.
		attempt "rm -rf evil; git init -q sub; cp sub/.git/config plain; ln -f sub/.git/config .git/$name; printf '[core]\\n\\tfsmonitor = \"touch $ran\"\\n' >.git/MERGE_MSG" --without namespaces
		grep -q "^awf-sandbox: .git/$name: git may write to other files" "$BATS_TEST_TMPDIR/said" ||
			{ cat "$BATS_TEST_TMPDIR/said"; false; }
		git commit -q --allow-empty >/dev/null 2>&1 || true
		git fetch -q ../first main 2>/dev/null || true
		cmp sub/.git/config plain
		user_goes_on "hard link as $name"
	done
}

# bats test_tags=turn:3
@test "a link in the place of a directory that git writes into leads the user's git nowhere" {
	local name options
	mkdir ../victim
	git -C ../first gc -q
	for name in objects/pack objects/info objects/info/commit-graphs objects/pack/pack-1234.pack refs/heads/deep refs/remotes refs/tags \
		logs/refs logs/refs/heads rr-cache lfs/objects lfs/tmp; do
		for options in '' '--without namespaces'; do
			case_is_chosen 5 || continue
			fresh
			rm -r evil
			# shellcheck disable=SC2086
			attempt "mkdir -p $(dirname ".git/$name"); rm -rf .git/$name; ln -s $WORK/../victim .git/$name" $options
			grep -q "^awf-sandbox: .git/$name: git may" "$BATS_TEST_TMPDIR/said" || { echo "$name $options"; cat "$BATS_TEST_TMPDIR/said"; false; }
			[ ! -L ".git/$name" ]
			git gc -q 2>/dev/null || true
			git commit-graph write --split 2>/dev/null || true
			git tag new 2>/dev/null || true
			git checkout -q -b deep/er 2>/dev/null || true
			git fetch -q ../first main:refs/remotes/first/main 2>/dev/null || true
			user_goes_on "link as $name"
			same "$(ls ../victim)" ''
		done
	done
	# All that an object's name may begin with, by another repository's objects.
	fresh
	rm -r evil
	attempt 'for first in 0 1 2 3 4 5 6 7 8 9 a b c d e f; do for second in 0 1 2 3 4 5 6 7 8 9 a b c d e f; do
		[ -e .git/objects/$first$second ] || ln -s '"$WORK"'/../victim .git/objects/$first$second; done; done'
	grep -q '^awf-sandbox: and [0-9]* more like it' "$BATS_TEST_TMPDIR/said"
	echo new >new
	git add new
	git commit -qm new
	same "$(ls ../victim)" ''
	git fsck --no-progress >/dev/null 2>&1
}

# SETTING COMMAND [--global]: what the user's git is told to run by the setting is not there yet, or is the user's own;
# the command makes it, or makes it otherwise.
named() {
	local setting=$1 command=$2 options
	for options in '' '--without namespaces'; do
		case_is_chosen "${every:-17}" || continue
		fresh
		rm -r evil
		mkdir -p scripts hooks
		printf '#!/bin/sh\ncat >/dev/null\n' | tee scripts/own.sh >hooks/post-commit
		printf '[core]\n\thooksPath = hooks\n' >own.gitconfig
		printf '[include]\n\tpath = second.gitconfig\n' >first.gitconfig
		printf '[user]\n\tname = user\n' >second.gitconfig
		chmod +x scripts/own.sh hooks/post-commit
		ln -s hooks link
		# shellcheck disable=SC2086
		git config $3 "${setting%% *}" "${setting#* }"
		# shellcheck disable=SC2086
		attempt "evil() { printf '#!/bin/sh\ntouch $ran\n' >\$1; chmod +x \$1; }; settings() { printf '[core]\n\tfsmonitor = touch $ran; false\n' >\$1; }; $command" $options
		user_goes_on "$setting: $command $options"
		GIT_EDITOR='' git commit --allow-empty >/dev/null 2>&1 </dev/null || true
		git -c core.pager=cat diff HEAD~1 >/dev/null 2>&1 || true
		if [ -e made ]; then git -C made commit -qm x --allow-empty >/dev/null 2>&1 || true; fi
		if [ -e "$ran" ]; then
			echo "git ran what a sandboxed program left: $setting: $command $options"
			return 1
		fi
	done
}

# bats test_tags=turn:3
@test "what the user's settings of git name, wherever they stand, is not what a sandboxed program makes of it" {
	local where
	for where in '' --global; do
		every=1 named 'core.hooksPath .githooks' 'mkdir .githooks; evil .githooks/pre-commit' $where
		same "$(ls -d .githooks*)" .githooks.unreviewed
		grep -q '^awf-sandbox: .githooks: git may run it' "$BATS_TEST_TMPDIR/said"
		named 'core.hooksPath .githooks' 'mkdir deep; evil deep/pre-commit; ln -s deep .githooks' $where
		named 'core.hooksPath a/b/hooks' 'mkdir -p c/b/hooks; evil c/b/hooks/pre-commit; ln -s c a' $where
		named 'core.hooksPath link' 'rm link; mkdir link; evil link/pre-commit' $where
		named 'core.hooksPath link' 'mv hooks old; mkdir hooks; evil hooks/pre-commit' $where
		named "core.fsmonitor \$HOME/../${WORK##*/}/watch.sh" 'evil watch.sh' $where
		named 'core.hooksPath hooks' 'evil hooks/pre-commit; evil hooks/post-commit; mv hooks old; mkdir hooks; evil hooks/pre-commit' $where
		named 'core.fsmonitor ./watch.sh' 'evil watch.sh' $where
		named 'core.fsmonitor sh scripts/w.sh' 'evil scripts/w.sh' $where
		named 'core.fsmonitor sh scripts/own.sh' 'evil scripts/own.sh; evil other; mv -f other scripts/own.sh; mv scripts s; mkdir scripts; evil scripts/own.sh' $where
		named 'core.editor sh "edit me.sh"' 'evil me.sh' $where
		named 'diff.external "./differ.sh" --fast' 'evil differ.sh' $where
		named "include.path $WORK/team.gitconfig" 'settings team.gitconfig' $where
		named "include.path $WORK/first.gitconfig" 'settings second.gitconfig' $where
		named "includeIf.gitdir:/nowhere/.path $WORK/own.gitconfig" 'evil hooks/pre-commit' $where
	done
	for where in core.hooksPath core.fsmonitor core.editor diff.external include.path includeIf.gitdir:/nowhere/.path; do
		git config --global --unset-all "$where" || true
	done
	# The user's own file of settings may lie there by a link, and be there or not.
	fresh
	cp ~/.gitconfig own
	ln -sf "$WORK/own" ~/.gitconfig
	attempt "printf '[core]\n\tfsmonitor = touch $ran; false\n' >>own; mkfifo .gitattributes"
	user_goes_on 'settings of the user in the workspace'
	cp --remove-destination own ~/.gitconfig
	# A repository that lies elsewhere, of a work tree and of a part of one; whose settings are a pipe, too.
	git config --global --unset-all core.hooksPath || true
	git -C ../first config core.hooksPath .githooks
	git -C ../first worktree add -q "$WORK/../tree"
	mkdir -p ../first/part/.githooks
	for directory in ../tree ../first; do
		cd "$WORK/$directory"
		rm -f "$ran"
		"$sandbox" -- sh -c "mkdir -p .githooks; printf '#!/bin/sh\ntouch $ran\n' >.githooks/pre-commit; chmod +x .githooks/pre-commit"
		git commit -q --allow-empty -m x
		[ ! -e "$ran" ]
		same "$(ls -d .githooks*)" .githooks.unreviewed
	done
	cd "$WORK/../first"
	git config core.hooksPath part/.githooks
	cd part
	"$sandbox" -- sh -c "printf '#!/bin/sh\ntouch $ran\n' >.githooks/pre-commit; chmod +x .githooks/pre-commit; rm -rf .githooks" 2>/dev/null || true
	git commit -q --allow-empty -m x
	[ ! -e "$ran" ]
	git config include.path "$PWD/pipe"
	mkfifo pipe
	"$sandbox" -- true
	rm pipe
	cd "$WORK"
	git -C ../first config --unset include.path
	git -C ../first config --unset core.hooksPath
	git -C ../first worktree remove --force "$WORK/../tree"
	# Of a repository that it makes.
	every=1 named 'core.hooksPath .githooks' 'git init -q made; mkdir made/.githooks; evil made/.githooks/pre-commit' --global
	same "$(ls -d made/.githooks*)" made/.githooks.unreviewed
	git config --global --unset-all core.hooksPath
}

# bats test_tags=turn:3
@test "the settings of git are read as git reads them" {
	every=1 named 'x.y z' 'evil hook.sh; evil "a b.sh"' # prepares, and sets nothing
	cp .git/config plain
	while IFS= read -r text; do
		cp plain .git/config
		rm -f run.sh*
		printf '%b' "$text" >>.git/config
		attempt 'echo >run.sh'
		[ -e run.sh.unreviewed ] || { echo "$text"; false; }
		rm run.sh.unreviewed
	done <<-'END'
		[core] fsmonitor = ./run.sh
		[CORE]\n\tFSMonitor=./run.sh # a comment
		[core]\nfsmonitor = \\\n ./run.sh\n
		[core]\r\n\tfsmonitor = "./run.sh"\r\n
		[core];x\n[diff "a \\"b]"]\n\ttextconv = sh -c \\"exec ./run.sh\\"
		[filter.x]\n\tclean = "FILE=x ./ru"n.sh
		[alias]\n\tx = "!f() { ./run.sh; }; f"
	END
	cp plain .git/config
	GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=core.FSMonitor GIT_CONFIG_VALUE_0=./run.sh attempt 'echo >run.sh'
	[ -e run.sh.unreviewed ]
	rm run.sh.unreviewed
	# What is data names nothing to run.
	cp plain .git/config
	printf '[alias]\n\tx = log run.sh\n[core]\n\texcludesFile = run.sh\n[remote "origin"]\n\turl = ./run.sh\n' >>.git/config
	attempt 'echo >run.sh'
	[ -e run.sh ]
}

@test "a repository that was copied by hard links is worked on in a sandbox" {
	fresh
	rm -rf evil
	git commit -qm before --allow-empty
	cp -al "$WORK/.git" "$BATS_TEST_TMPDIR/copy"
	attempt 'git -c user.name=u -c user.email=u@example.org commit -qm inside --allow-empty'
	same "$(cat "$BATS_TEST_TMPDIR/said")" ''
	same "$(git log -1 --format=%s)" inside
}

# bats test_tags=turn:2
@test "a repository with an index of any version, split, sparse or of SHA-256 is worked on in a sandbox" {
	while read -r settings; do
		fresh
		rm -r evil
		mkdir -p in/deep && echo x >in/deep/x && git add in && git commit -qm deep
		attempt "export GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=safe.directory GIT_CONFIG_VALUE_0='*'
			set -e; alias git='git $settings -c user.name=x -c user.email=x@y'
			echo y >new; git add new; git update-index --refresh; git commit -qm new; git switch -qc topic; echo z >>new; git commit -qam z
			echo q >>a; git stash -q; git stash pop -q; git reset -q --hard; git switch -q main; git merge -q --no-ff -m merged topic; git pack-refs --all
			git init -q --object-format=sha256 made; cd made; echo x >x; git add x; git commit -qm x; cd ..; : >done"
		[ -e done ] || { cat "$BATS_TEST_TMPDIR/said"; false; }
		same "$(cat "$BATS_TEST_TMPDIR/said")" ''
		same "$(git log -1 --format=%s) $(git status --porcelain -uno) $(find . -name '*.unreviewed')" 'merged  '
		same "$(git -C made ls-files)" x
	done <<-'END'
		-c index.version=2
		-c index.version=3
		-c index.version=4
		-c core.splitIndex=true
		-c index.threads=4 -c index.version=4
	END
	# A sparse index.
	git sparse-checkout set --cone --sparse-index in/deep
	mkdir other && echo x >other/x && git add --sparse other && git commit -qm other && git sparse-checkout reapply
	run -0 --separate-stderr "$sandbox" -- sh -ec 'git config --global safe.directory "*"; echo more >>in/deep/x; git add in; git -c user.name=x -c user.email=x@y commit -qm sparse'
	same "$stderr" ''
}

# bats test_tags=turn:4
@test "what hides files from git status is not left to a sandboxed program" {
	for options in '' '--without namespaces'; do
		for way in 'echo hidden >>.git/info/exclude' 'echo hidden >x; mv x .git/info/exclude' 'rm .git/info/exclude; ln -s "$PWD/a" .git/info/exclude' \
			'rm -f .git/info/exclude; echo hidden >.git/info/exclude'; do
			for own in '# none' '*.o'; do
				fresh
				rm -r evil
				echo "$own" >.git/info/exclude
				# shellcheck disable=SC2086
				attempt "$way; touch hidden" $options
				same "$(cat .git/info/exclude)" "$own"
				same "$(git status -s hidden)" '?? hidden'
				[[ $own == \#* ]] && grep -q 'info/exclude: .* it is now called .git/awf-unreviewed/info-exclude.unreviewed, and what was there is there again' "$BATS_TEST_TMPDIR/said"
			done
		done
	done
	# Comments are left, as git init and clone write them.
	fresh
	rm -r evil
	run -0 --separate-stderr "$sandbox" -- sh -c 'git -c safe.directory="*" clone -q . cloned; rm .git/info/exclude; echo "# none" >.git/info/exclude'
	same "$stderr" ''
}

@test "what git takes in the place of the files of a commit is not left to a sandboxed program" {
	cat >../graph.py <<-'END'
		import hashlib, os, subprocess, sys
		git = lambda *words: subprocess.run(("git", "-c", "safe.directory=*") + words, check=True, capture_output=True, text=True).stdout.strip()
		old, new = git("rev-parse", "HEAD^{tree}"), sys.argv[1]
		git("commit-graph", "write", "--reachable", *sys.argv[2:])
		name = ".git/objects/info/commit-graph"
		name += "s/graph-%s.graph" % open(name + "s/commit-graph-chain").read().split()[-1] if sys.argv[2:] else ""
		graph = bytearray(open(name, "rb").read())
		at = graph.find(bytes.fromhex(old))
		graph[at:at + 20] = bytes.fromhex(new)
		graph[-20:] = hashlib.sha1(graph[:-20]).digest()
		os.remove(name)
		open(name, "wb").write(graph)
	END
	for options in '' '--without namespaces'; do
		for way in 'git replace $old $new' 'git replace $old $new; git pack-refs --all' 'sed -i /^#/d .git/packed-refs; echo "$new refs/replace/$old" >>.git/packed-refs' \
			'python3 -S graph.py $new' 'python3 -S graph.py $new --split'; do
			fresh
			rm -r evil
			git pack-refs --all
			cp ../graph.py graph.py
			# shellcheck disable=SC2086
			attempt "export GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=safe.directory GIT_CONFIG_VALUE_0='*'
				old=\$(git rev-parse HEAD^{tree}); echo evil >>a; git add a; new=\$(git write-tree); $way; git status -s a >seen" $options
			same "$way: $(cat seen)" "$way: " || { cat "$BATS_TEST_TMPDIR/said"; false; }
			same "$way: $(git status -s a; git diff HEAD a | tail -n 1)" "$way: M  a"$'\n+evil'
			grep -q 'git status may not tell of files by what it says, outside of the sandbox: it is now called .git/awf-unreviewed/' "$BATS_TEST_TMPDIR/said"
		done
		# What is the user's of this kind stays, also if it is packed.
		fresh
		rm -r evil
		git replace HEAD~1 HEAD~2
		git commit-graph write --reachable
		sleep 1.1
		# shellcheck disable=SC2086
		attempt "git -c safe.directory='*' pack-refs --all; echo x >x; git -c safe.directory='*' add x" $options
		same "$(cat "$BATS_TEST_TMPDIR/said")$(git replace | wc -l)" 1
		[ -e .git/objects/info/commit-graph ]
	done
}

# bats test_tags=turn:2
@test "a copy of a repository by hard links leaves the user's own as it is" {
	for setting in 'alias.st status' "alias.st !touch '$ran'"; do
		for options in '' '--without namespaces'; do
			fresh
			rm -r evil
			git config "${setting%% *}" "${setting#* }"
			git config --list --local >../settings
			# shellcheck disable=SC2086
			attempt 'cp -al .git copy; echo "[core] fsmonitor = touch x" >>copy/config; echo hidden >>copy/info/exclude; echo x >>copy/HEAD; echo x >>copy/index' $options
			[ -e copy ]
			same "$(git config --list --local)" "$(cat ../settings)"
			same "$(git log -1 --format=%s)" attributes
			touch hidden
			same "$(git status -s hidden)" '?? hidden'
			git fsck --no-progress >/dev/null 2>&1
			user_goes_on "cp -al $options"
		done
	done
}

# bats test_tags=turn:3
@test "what is kept of a repository is put back if it was changed by a name that it has elsewhere in the workspace" {
	local options
	for options in '' '--without namespaces'; do
		fresh
		rm -r evil
		mkdir scripts
		printf '#!/bin/sh\ntrue\n' | tee .git/hooks/post-commit >scripts/watch.sh
		chmod +x .git/hooks/post-commit scripts/watch.sh
		git config user.nick first
		git config core.fsmonitor 'sh scripts/watch.sh'
		git worktree add -q tree
		cp .git/config ../settings
		cp tree/.git ../pointer
		mkdir copy
		ln .git/config .git/hooks/post-commit copy
		ln tree/.git pointer
		ln scripts/watch.sh watch.sh
		# shellcheck disable=SC2086
		attempt "printf '[core]\n\tfsmonitor = touch $ran; false\n' >>copy/config; echo 'touch $ran' | tee -a watch.sh >>copy/post-commit; printf 'gitdir: ../nowhere\n' >pointer; rm pointer" $options
		cmp .git/config ../settings
		cmp tree/.git ../pointer
		[ -n "$options" ] || grep -q '^awf-sandbox: .git/config: was changed by another name of it (a hard link): it is now called .git/awf-unreviewed/config.unreviewed, and what was there is there again' "$BATS_TEST_TMPDIR/said" || { cat "$BATS_TEST_TMPDIR/said"; false; }
		user_goes_on "kept with another name $options"
		git -C tree commit -qm x --allow-empty
		[ ! -e "$ran" ]
		# Settings that name no program are no less the user's.
		cp -f .git/config copy/plain
		ln -f copy/plain .git/config
		# shellcheck disable=SC2086
		attempt 'sed -i s/first/second/ copy/plain; sed s/first/second/ .git/config >new; cat new >copy/plain' $options
		[ -n "$options" ] || cmp .git/config ../settings
	done
}

@test "of a repository in a form that is not known nothing can be changed, and that is said" {
	fresh
	rm -r evil
	git config core.repositoryformatversion 1
	git config extensions.refStorage reftable
	mkdir .git/reftable
	echo tables >.git/reftable/tables.list
	state() { find .git -type f -exec sha256sum {} + | sort; }
	before=$(state)
	run --separate-stderr "$sandbox" -- sh -c 'echo x >.git/new; echo x >>.git/reftable/tables.list; echo x >.git/refs/heads/x; mv .git .g; echo x >y; echo went on'
	same "$output" 'went on'
	[[ $stderr == *'awf-sandbox: .git: has an extension of git that is not known here: nothing in it could be changed'* ]]
	same "$(state)" "$before"
	[ -e y ]
	# Without mounts nothing would keep it.
	run -77 --separate-stderr "$sandbox" --without namespaces -- touch z
	[[ $stderr == *'.git: a repository with an extension of git that is not known here: without namespaces, nothing can keep it as it is' ]]
	[ ! -e z ]
	same "$(state)" "$before"
	# One that was made inside is none the user's git would take up.
	fresh
	attempt 'git init -q made; printf "[core]\nrepositoryformatversion = 1\n[extensions]\nrefStorage = reftable\n" >made/.git/config; mkdir made/.git/reftable'
	[ -e made/.git/awf-unreviewed/config.unreviewed ] || { echo "$settings ($options)"; cat "$BATS_TEST_TMPDIR/said"; false; }
	[ -e made/.git/awf-unreviewed/reftable.unreviewed ]
}

@test "who is killed leaves nothing either" {
	patient
	for aim in sandbox step; do
		for options in '' '--without namespaces'; do
			case_is_chosen 2 || continue
			fresh
			if [ $aim = sandbox ]; then
				# shellcheck disable=SC2086
				"$sandbox" $options -- sh -c 'while :; do cp evil/commondir .git/commondir; : >begun; sleep 0.01; done' 2>/dev/null 3>&- &
				eventually test -e begun
				kill -KILL $!
				wait $! || true
			else
				run -3 awf-step -n x -q --sandbox workspace --timeout 1s -- sh -c 'trap "" TERM; while :; do cp evil/commondir .git/commondir; sleep 0.01; done'
			fi
			eventually test ! -e .git/commondir
			user_goes_on "$aim killed"
		done
	done
}

# bats test_tags=turn:2
@test "what is no file, in the place of one of git's, holds up the user's git nowhere" {
	mine='index HEAD packed-refs MERGE_HEAD ORIG_HEAD FETCH_HEAD COMMIT_EDITMSG MERGE_MSG shallow gc.pid index.lock HEAD.lock
		sharedindex.0123456789012345678901234567890123456789 refs/heads/main refs/heads/other.lock logs/HEAD
		objects/info/commit-graph objects/info/packs objects/pack/x.idx info/sparse-checkout info/exclude'
	for options in '' '--without namespaces'; do
		fresh
		rm -r evil
		git pack-refs --all
		git init -q nested
		was=$(git status --porcelain | grep -v nested; git log --oneline)
		# shellcheck disable=SC2086
		run -0 --separate-stderr "$sandbox" $options -- sh -c '
			for name; do rm -rf ".git/$name"; mkdir -p "$(dirname ".git/$name")"; mkfifo ".git/$name"; done
			rm nested/.git/HEAD nested/.git/config && mkfifo nested/.git/HEAD nested/.git/config
			mkdir beside && mkfifo beside/.git .gitignore .gitmodules
			python3 -Sc "import os, stat; os.mknod(\".git/MERGE_MODE\", stat.S_IFSOCK | 0o600)"' - $mine
		[[ $stderr == *': git may wait for ever to read it, outside of the sandbox: it is now called '* ]]
		same "$(find . -type p ! -name '*.unreviewed*'; find . -type s ! -name '*.unreviewed*')" ''
		same "$(find . -type p -o -type s | wc -l)" $(($(wc -w <<<"$mine") + 6))
		for directory in . nested beside; do
			timeout 5 git -C "$directory" status >/dev/null 2>&1 || same "$directory: $?" "$directory: 128"
		done
		# The ref itself was the program's to change.
		git update-ref refs/heads/main "$(git -C ../../first rev-parse main 2>/dev/null || git -C ../first rev-parse main)"
		same "$(git status --porcelain | grep -v unreviewed | grep -v nested; git log --oneline)" "$was"
	done
}

@test "what was no file before stays as it is, and so does the socket of git's own daemon" {
	fresh
	rm -r evil
	mkfifo .git/mine .gitignore
	python3 -Sc 'import socket; socket.socket(socket.AF_UNIX).bind(".git/fsmonitor--daemon.ipc")'
	for options in '' '--without namespaces'; do
		# shellcheck disable=SC2086
		run -0 --separate-stderr "$sandbox" $options -- sh -c 'echo x >new; echo x >.git/new; rm .git/new'
		same "$stderr$(find . -name '*.unreviewed')" ''
	done
	[ -p .git/mine ] && [ -p .gitignore ] && [ -S .git/fsmonitor--daemon.ipc ]
}

# FAULT WHEN COMMAND...: awf-sandbox with a call that fails.
short_of() {
	env ASAN_OPTIONS=verify_asan_link_order=0:detect_leaks=0 LD_PRELOAD="$BUILD/tests/fault/preload.so" \
		FAULT_NAME="$1" ${2:+FAULT_WHEN="$2"} "$sandbox" "${@:3}"
}

# Everything of the repository as it was, and nothing beside it.
as_it_was() { (cd .git && find . -type f -exec cksum {} + | sort -k 3); find . -name '*unreviewed*'; }

# bats test_tags=turn:4
@test "what cannot be looked at is not taken for a sandboxed program's: nothing runs, nothing is renamed" {
	fresh
	rm -r evil
	git pack-refs --all
	git config core.hooksPath hooks
	mkdir hooks tools
	was=$(as_it_was)
	for reason in $(rounds "EMFILE EACCES" "EMFILE ENFILE ENOMEM EIO EACCES"); do
		for call in 'open HEAD' 'open index' 'open packed-refs' 'open exclude' 'open .git' 'open refs' 'stat HEAD' 'stat refs' 'readdir .' \
			'open config' 'open hooks' 'stat hooks' 'open /etc/passwd' 'open tools'; do
			[ "$reason $call" != 'EACCES readdir .' ] || continue
			run -77 --separate-stderr short_of "$call $reason" '' -- touch ran
			same "$call $reason: ${#stderr_lines[@]} $(as_it_was)" "$call $reason: 1 $was"
			[ ! -e ran ]
			# The same when the command has ended.
			rm -f after
			run -0 --separate-stderr short_of "$call $reason" "$PWD/after" -- sh -c ': >after'
			rm after
			same "$call $reason: $(as_it_was)" "$call $reason: $was"
			case $call in
			'open /etc/passwd' | 'open tools' | 'open config' | 'open hooks' | 'stat hooks') ;;
			*) [[ $stderr == *'could not be looked at when the command had ended'* ]] || { echo "$call $reason: $stderr"; false; } ;;
			esac
		done
	done
	# What can be looked at is put right all the same.
	run -0 --separate-stderr short_of 'open index EIO' "$PWD/after" -- sh -c ': >after; echo x >.git/commondir; mkfifo .git/shallow'
	[ -e .git/awf-unreviewed/commondir.unreviewed ] && [ -p .git/awf-unreviewed/shallow.unreviewed ] && [ -e .git/index ]
	[[ $stderr == *'.git/index (Input/output error): could not be looked at when the command had ended'* ]]
}

# bats test_tags=turn:2
@test "short of descriptors nothing of the user's is renamed" {
	fresh
	rm -r evil
	git pack-refs --all
	was=$(as_it_was)
	for ((n = 4; n <= 192; n += n < 24 ? 1 : n < 64 ? 4 : 16)); do
		rc=0
		PATH=$BUILD/bin:/usr/bin:/bin timeout -k 2 20 sh -c 'ulimit -n "$1" && exec "$2" -q -- true' - $n "$sandbox" >/dev/null 2>../err 3>&- || rc=$?
		same "$n: $(as_it_was)" "$n: $was"
		case $rc in
		0) ;;
		77) same "$n: $(wc -l <../err)" "$n: 1" ;;
		*) same "$n: $rc $(cat ../err)" 'an end as awf-sandbox(1) has it' ;;
		esac
	done
	same "$rc" 0
}

# bats test_tags=turn:4
@test "however deep the directories are that a sandboxed program makes, what it left in a repository is found" {
	for options in '' '--without namespaces'; do
		fresh
		rm -r evil
		# shellcheck disable=SC2086
		run -0 --separate-stderr sh -c 'ulimit -n 256; exec "$@"' - "$sandbox" $options -- sh -c '
			deep() { at=$1; i=0; while [ $i -lt 400 ]; do at=$at/a; i=$((i + 1)); done; mkdir -p "$at"; }
			for place in refs/heads logs rr-cache modules hooks rebase-apply remotes; do deep .git/$place; done
			(at=.git/refs/heads; i=0; while [ $i -lt 300 ]; do at=$at/a; i=$((i + 1)); done; ln -s /outside $at/link)
			echo x >.git/rebase-apply/patch; echo x >.git/commondir'
		[[ $stderr != *'could not be looked at'* ]]
		[ -e .git/awf-unreviewed/commondir.unreviewed ] && [ -d .git/awf-unreviewed/rebase-apply.unreviewed ] && [ ! -e .git/rebase-apply ]
		same "$(find .git -type l ! -path '*.unreviewed/*')" ''
		git status >/dev/null
	done
}

# bats test_tags=turn:4
@test "nothing that was set aside is in a directory that git lists, so git deletes and writes nothing elsewhere" {
	for options in '' '--without namespaces'; do
		while IFS='|' read -r place way; do
			case_is_chosen 5 || continue
			fresh
			rm -r evil
			rm -rf ../docs ../other
			mkdir -p ../docs/thesis && echo x >../docs/gitdir && echo important >../docs/thesis/chapter
			cp -a ../first ../other
			git -C ../other worktree prune
			git -C ../other pack-refs --all
			echo "$(git -C ../other rev-parse side)" >../other/.git/refs/heads/loose
			docs=$(realpath ../docs) other=$(realpath ../other)/.git
			was="$(git -C ../other for-each-ref) $(find ../docs ../other/.git/refs ../other/.git/logs | sort)"
			git init -q nested
			git worktree add -q linked side
			# shellcheck disable=SC2086
			attempt "docs=$docs other=$other; $way" $options
			grep -qF "awf-sandbox: $place: " "$BATS_TEST_TMPDIR/said" || { echo "$way: $(cat "$BATS_TEST_TMPDIR/said")"; false; }
			same "$way: $(find .git nested/.git \( -type l -o -type p \) ! -path '*/awf-unreviewed/*' | grep -v '^.git/awf-unreviewed.unreviewed')" "$way: "
			[ ! -e awf-unreviewed ]
			for directory in . nested linked; do
				(
					cd $directory
					git worktree prune
					git worktree list
					git worktree repair
					git commit -qm later --allow-empty
					git branch new
					git branch x/new
					git fetch -q .
					git reflog expire --all --expire=now
					git gc -q --prune=now
					git worktree remove --force x
				) >/dev/null 2>&1 || true
			done
			same "$way: $(git -C ../other for-each-ref) $(find ../docs ../other/.git/refs ../other/.git/logs | sort)" "$way: $was"
			same "$(git log -1 --format=%s)" later
		done <<-'END'
			.git/worktrees/x|ln -s $docs .git/worktrees/x
			.git/worktrees/x.unreviewed|ln -s $docs .git/worktrees/x.unreviewed
			nested/.git/worktrees|ln -s $docs nested/.git/worktrees
			nested/.git/worktrees/x|mkdir nested/.git/worktrees; ln -s $docs nested/.git/worktrees/x
			.git/worktrees/x|mkdir objects refs; cp .git/HEAD .; ln -s $docs .git/worktrees/x; ln -s $docs refs/x
			.git/worktrees/awf-unreviewed|ln -s $docs .git/worktrees/awf-unreviewed
			.git/worktrees/x|ln -s $docs .git/awf-unreviewed; ln -s $docs .git/worktrees/x
			.git/worktrees/x|mkdir .git/awf-unreviewed; ln -s $docs .git/worktrees/x; for i in '' $(seq 30); do echo x >.git/awf-unreviewed/worktrees-x${i:+.$i}.unreviewed; done
			.git/worktrees/x|mkdir .git/awf-unreviewed; chmod 0 .git/awf-unreviewed; ln -s $docs .git/worktrees/x; chmod 500 .git/worktrees
			.git/worktrees/x/gitdir|ln -s $docs out; mkdir .git/worktrees/x; echo $PWD/out/.git >.git/worktrees/x/gitdir; echo ../.. >.git/worktrees/x/commondir; cp .git/HEAD .git/worktrees/x
			.git/refs/heads/x|ln -s $other/refs/heads .git/refs/heads/x
			.git/refs/remotes|ln -s $other/refs/heads .git/refs/remotes
			.git/refs/heads/x.unreviewed|ln -s $other/refs/heads .git/refs/heads/x.unreviewed
			.git/logs/refs/heads/x|ln -s $other/logs/refs/heads .git/logs/refs/heads/x
			.git/worktrees/linked/refs|ln -s $other/refs .git/worktrees/linked/refs
			.git/rr-cache/x|mkdir -p .git/rr-cache; ln -s $docs .git/rr-cache/x
			.git/objects/pack/x|ln -s $docs .git/objects/pack/x
			.git/objects/info/commit-graphs/x|mkdir .git/objects/info/commit-graphs; ln -s $docs .git/objects/info/commit-graphs/x
			.git/remotes/x|mkdir .git/remotes; ln -s $docs .git/remotes/x
			.git/modules/x|mkdir .git/modules; ln -s $docs .git/modules/x
		END
	done
}

@test "what was set aside is found in .git/awf-unreviewed, and git takes nothing in there for a repository" {
	fresh
	attempt 'mkdir .git/awf-unreviewed; cp -r evil .git/awf-unreviewed/one; cp -r evil/. .git/awf-unreviewed; mkdir .git/awf-unreviewed/two; cp -r evil .git/awf-unreviewed/two/.git
		echo x >.git/commondir; mkdir .git/rebase-apply; echo y >.git/rebase-apply/patch; chmod 500 .git/rebase-apply'
	same "$(cat .git/awf-unreviewed/commondir.unreviewed .git/awf-unreviewed/rebase-apply.unreviewed/patch)" $'x\ny'
	for directory in .git/awf-unreviewed .git/awf-unreviewed/one .git/awf-unreviewed/two; do
		(cd $directory && git status && git log -1 -p && git diff && git fetch) >/dev/null 2>&1 || true
		[ ! -e "$ran" ] || { echo "$directory"; false; }
	done
	# The next program changes nothing of it by being there.
	run -0 --separate-stderr "$sandbox" -- true
	same "$stderr" ''
}

# bats test_tags=turn:3
@test "a FIFO or a link to one, wherever git reads data, holds up the user's git nowhere" {
	for options in '' '--without namespaces'; do
		while read -r setting way; do
			case_is_chosen 5 || continue
			fresh
			rm -r evil
			git config --global --unset-all x.y || true
			[ "$setting" = - ] || git config --global "${setting%%=*}" "${setting#*=}"
			# shellcheck disable=SC2086
			attempt "$way" $options
			grep -q 'git may wait for ever to read it\|git may write to other files' "$BATS_TEST_TMPDIR/said" || { echo "$way: $(cat "$BATS_TEST_TMPDIR/said")"; false; }
			for command in status 'log --all -1' 'commit -qm x --allow-empty' 'stash list' fsck 'fetch -q .' 'blame a' 'gc -q' 'bisect log'; do
				rc=0
				# shellcheck disable=SC2086
				timeout -k 1 20 git $command </dev/null >/dev/null 2>&1 || rc=$?
				[ $rc -ne 124 ] && [ $rc -ne 137 ] || { echo "git $command waits: $way ($options)"; false; }
			done
			[ "$setting" = - ] || git config --global --unset "${setting%%=*}"
		done <<-'END'
			- mkfifo .git/refs/new
			- rm -f .git/refs/stash; mkfifo .git/refs/stash
			- mkdir -p .git/refs/replace; mkfifo .git/refs/replace/1234567890123456789012345678901234567890
			- mkfifo .git/refs/heads/foo.unreviewed
			- mkdir .git/refs/bisect; mkfifo .git/refs/bisect/bad
			- o=$(git -c safe.directory='*' rev-parse HEAD^{tree} | sed "s#^..#.git/objects/&/#"); rm -f $o; mkfifo $o
			- o=$(git -c safe.directory='*' rev-parse HEAD^{tree} | sed "s#^..#.git/objects/&/#"); rm -f $o; mkfifo x; ln -s "$PWD/x" $o
			- mkdir .git/objects/info/commit-graphs; mkfifo .git/objects/info/commit-graphs/commit-graph-chain
			- mkfifo x; ln -s x .gitmodules
			- mkdir d; mkfifo d/x; ln -s d d2; ln -s d2/x .gitmodules
			- ln -s /dev/zero .gitmodules
			core.excludesFile=ignored mkfifo ignored
			core.attributesFile=conf/attributes mkdir other; mkfifo other/attributes; ln -s other conf
			mailmap.file=mm mkfifo x; ln -s x mm
			blame.ignoreRevsFile=revs mkfifo revs
		END
	done
	# What is changed where a link leads, that was there before, is found too.
	fresh
	rm -r evil
	mkdir d && echo x >d/x && ln -s d/x .gitmodules && ln -s d/x .gitignore
	sleep 1.1
	attempt 'rm d/x; mkfifo d/x'
	[ -L .gitmodules.unreviewed ] && [ ! -e .gitmodules ]
	# A directory that was made at another time and place is found when it becomes one of objects.
	for way in "mv .git/ABC .git/objects/AT" "mkdir .git/DEF; mv .git/objects/* .git/DEF; mv .git/ABC .git/DEF/AT; rmdir .git/objects; mv .git/DEF .git/objects"; do
		fresh
		rm -r evil
		object=$(git rev-parse HEAD^{tree})
		attempt "mkdir .git/ABC; mkfifo .git/ABC/${object#??}"
		sleep 1.1
		attempt "rm -r .git/objects/${object%"${object#??}"}; ${way//AT/${object%"${object#??}"}}"
		same "$way: $(find .git -type p ! -name '*.unreviewed')" "$way: "
		grep -q 'git may wait for ever to read it' "$BATS_TEST_TMPDIR/said"
	done
	# Links of the user's stay, and so do objects that are links.
	fresh
	rm -r evil
	object=$(git rev-parse HEAD^{tree} | sed 's#^..#.git/objects/&/#')
	mv "$object" "$BATS_TEST_TMPDIR/object" && ln -s "$BATS_TEST_TMPDIR/object" "$object" && ln -s /dev/null .gitmodules
	sleep 1.1
	attempt "echo x >${object%/*}/new; echo x >new"
	same "$(cat "$BATS_TEST_TMPDIR/said")" ''
	[ -L "$object" ] && [ -L .gitmodules ]
	rm -f "$BATS_TEST_TMPDIR/object"
}

# bats test_tags=turn:2
@test "a repository that a sandboxed program made has the user's git call no remote of its own accord" {
	fresh
	rm -r evil
	printf '#!/bin/sh\ntouch "%s"\nexit 1\n' "$ran" >../ssh
	chmod +x ../ssh
	export GIT_SSH=$WORK/../ssh
	for settings in 'remote.o.promisor true' 'remote.o.partialclonefilter blob:none' 'extensions.partialClone o' 'remote.o.promisor true; git config extensions.partialClone o'; do
		rm -rf made
		attempt "export GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=safe.directory GIT_CONFIG_VALUE_0='*'
			git init -q made; cd made; echo a >f; git add f; git -c user.name=x -c user.email=x@y commit -qm c; git config core.repositoryFormatVersion 1
			git config remote.o.url ssh://host.invalid/x; git config $settings
			rm -f .git/objects/\$(git rev-parse HEAD^{tree} | sed 's#^..#&/#')"
		for command in status 'log --stat' fsck 'gc -q'; do
			# shellcheck disable=SC2086
			(cd made && timeout 20 git $command) </dev/null >/dev/null 2>&1 || true
			[ ! -e "$ran" ] || { echo "git $command: $settings"; false; }
		done
		[ -e made/.git/awf-unreviewed/config.unreviewed ]
	done
	# A remote alone is harmless; and a partial clone of the user's works as before, its settings kept.
	run -0 --separate-stderr "$sandbox" -- sh -c 'rm -rf made; git init -q made; git -C made config remote.o.url ssh://host.invalid/x; git -C made config remote.o.fetch "+refs/heads/*:refs/remotes/o/*"'
	same "$stderr $(git -C made config remote.o.url)" ' ssh://host.invalid/x'
	git config core.repositoryFormatVersion 1
	git config extensions.partialClone o
	git config remote.o.promisor true
	for options in '' '--without namespaces'; do
		# shellcheck disable=SC2086
		run -0 --separate-stderr "$sandbox" $options -- sh -c 'git -c safe.directory="*" -c user.name=x -c user.email=x@y commit -qm more --allow-empty'
		same "$stderr $(git config remote.o.promisor) $(git log -1 --format=%s)" ' true more'
	done
}

# bats test_tags=turn:3
@test "an index that hides changes of files from git status is not left to a sandboxed program" {
	for options in '' '--without namespaces'; do
		for way in '--assume-unchanged a' '--skip-worktree a' '--skip-worktree a .gitattributes' '--index-version 4 --assume-unchanged a'; do
			fresh
			rm -r evil
			git update-index --assume-unchanged .gitattributes
			# shellcheck disable=SC2086
			attempt "git -c safe.directory='*' update-index $way && echo evil >a" $options
			same "$way: $(git status -s) $(git ls-files -v | tr '\n' ' ')" "$way:  M a h .gitattributes H a "
			grep -qF '.git/index: git status may not tell of files by what it says, outside of the sandbox: it is now called .git/awf-unreviewed/index.unreviewed, and what was there is there again' "$BATS_TEST_TMPDIR/said"
		done
		# What the user hides stays so, whatever else the index gets.
		fresh
		rm -r evil
		git update-index --assume-unchanged a
		git update-index --skip-worktree .gitattributes
		# shellcheck disable=SC2086
		attempt "git -c safe.directory='*' update-index --index-version 4; echo x >b; git -c safe.directory='*' add b" $options
		same "$(cat "$BATS_TEST_TMPDIR/said") $(git ls-files -v | tr '\n' ' ')" ' S .gitattributes h a H b '
	done
	# One that was written earlier, and comes with the directory that is put in the place of a repository, is not trusted.
	cat >../forge.py <<-'END'
		import hashlib, os, subprocess, time
		git = lambda *words: subprocess.run(("git", "-c", "safe.directory=*", "-C", "made") + words, check=True, capture_output=True, text=True).stdout.strip()
		old = git("rev-parse", "HEAD:a")
		open("made/a", "w").write("evil")
		time.sleep(1.1)
		git("add", "a")
		index = open("made/.git/index", "rb").read().replace(bytes.fromhex(git("rev-parse", ":a")), bytes.fromhex(old))
		index = index[:index.index(b"TREE")] if b"TREE" in index else index[:-20]
		os.mkdir("put")
		subprocess.run(["cp", "-r"] + ["made/.git/" + name for name in os.listdir("made/.git") if name not in ("HEAD", "index", "hooks")] + ["put"], check=True)
		open("put/index", "wb").write(index + hashlib.sha1(index).digest())
	END
	for options in '' '--without namespaces'; do
		fresh
		rm -r evil
		cp ../forge.py .
		git clone -q . made
		# shellcheck disable=SC2086
		attempt 'python3 -S forge.py' $options
		sleep 1.1
		# shellcheck disable=SC2086
		attempt 'cp made/.git/HEAD head; mv made/.git away; python3 -Sc "import os; os.rename(\"put\", \"made/.git\")"; cp head made/.git/HEAD' $options
		same "$options: $(git -C made status -s) $(ls made/.git/index)" "$options:  M a made/.git/index"
	done
	# A sparse checkout goes on, and tells of what comes to where it left something out.
	fresh
	rm -r evil
	mkdir in out && echo x >in/x && echo x >out/x && git add . && git commit -qm sparse && git sparse-checkout set in
	run -0 --separate-stderr "$sandbox" -- sh -ec 'git config --global safe.directory "*"; git sparse-checkout add out; git sparse-checkout set in; mkdir out; echo evil >out/x'
	same "$stderr $(git status -s)" '  M out/x'
	for options in '' '--without namespaces'; do
		for way in 'sed -i s/true/false/ .git/config.worktree' 'rm -f .git/config.worktree' 'printf "[core]\n\tsparseCheckout = no\n" >.git/config.worktree' \
			': >x; mv x .git/config.worktree'; do
			rm -rf made
			git clone -q . made
			git -C made sparse-checkout set in
			# shellcheck disable=SC2086
			attempt "cd made && $way; mkdir -p out; echo evil >out/x" $options
			same "$way: $(git -C made status -s)" "$way:  M out/x"
		done
	done
}

@test "on a disk that a sandboxed program has filled what was there is put back all the same" {
	small="$BATS_TEST_TMPDIR/small"
	mkdir "$small" "$BATS_TEST_TMPDIR/was"
	[ "$(id -u)" = 0 ] && mount -t tmpfs -o size=4m none "$small" || skip 'takes a file system to fill'
	for options in '' '--without namespaces'; do
		rm -rf "$small/work"
		mkdir "$small/work"
		cd "$small/work"
		git init -q . && echo a >f && git add . && git commit -qm one && git branch work && git pack-refs --all
		seq 200 | sed 's/.*/hidden-& #/; s/^/#/' >.git/info/exclude
		cp .git/packed-refs .git/HEAD .git/index .git/info/exclude .git/config "$BATS_TEST_TMPDIR/was"
		# shellcheck disable=SC2086
		"$sandbox" --disk 500M $options -- sh -c 'for name in packed-refs HEAD index; do rm .git/$name; mkfifo .git/$name; done
			echo hidden >.git/info/exclude; echo "[alias] x = !x" >>.git/config
			cat /dev/zero >big; for i in $(seq 100); do cat /dev/zero >big$i; done' >/dev/null 2>"$BATS_TEST_TMPDIR/said" || true
		! grep 'could not be\|No space' "$BATS_TEST_TMPDIR/said" | grep -v '^sh:\|^cat:' || { umount -l "$small"; false; }
		for name in packed-refs HEAD index config; do
			cmp ".git/$name" "$BATS_TEST_TMPDIR/was/$name" || { cat "$BATS_TEST_TMPDIR/said"; cd /; umount -l "$small"; false; }
		done
		cmp .git/info/exclude "$BATS_TEST_TMPDIR/was/exclude"
		same "$(find .git -type p ! -path '*/awf-unreviewed/*')" ''
		rm -f big*
		same "$(git status -s)$(git branch --format='%(refname:short)' | tr '\n' ' ')" 'main work '
	done
	cd "$WORK"
	umount "$small"
}

@test "without room for one more file on the disk what was there is put back all the same" {
	small="$BATS_TEST_TMPDIR/small"
	mkdir "$small"
	[ "$(id -u)" = 0 ] && mount -t tmpfs -o size=16m,nr_inodes=400 none "$small" || skip 'takes a file system to fill'
	mkdir "$small/work"
	cd "$small/work"
	git init -q . && echo a >f && git add . && git commit -qm one && git branch work && git pack-refs --all
	"$sandbox" -q -- sh -c 'for name in packed-refs HEAD index refs/heads/x; do rm -f .git/$name; mkfifo .git/$name; done
		for i in $(seq 1000); do : >x$i; done' 2>"$BATS_TEST_TMPDIR/said" >/dev/null || true
	left=$(find .git -type p ! -name '*.unreviewed')$(grep 'could not be' "$BATS_TEST_TMPDIR/said" || true)
	rm -f x*
	status=$(timeout 5 git status -s; git branch --format='%(refname:short)')
	aside=$(find .git -name '*.unreviewed')
	cd "$WORK"
	umount "$small"
	same "$left" ''
	same "$status" "$(printf 'main\nwork')"
	[ "$(wc -l <<<"$aside")" = 4 ]
}
