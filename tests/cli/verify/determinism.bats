#!/usr/bin/env bats
# bats file_tags=turn:3
# awf-verify --determinism: what replays does so again and again; what does not is named.
# shellcheck disable=SC2016,SC2154 # $variables of inner shells; bats sets stderr
bats_require_minimum_version 1.5.0
load ../../support/helpers
load ../../support/agent
load ../../support/scripted

# $ROUNDS says how often what is deterministic must be found so.
prepare() {
	: "${ROUNDS:=$(rounds 1 3)}"
	ISOLATION=${AWF_TEST_ISOLATION:-namespaces}
	awf-run -n -c 'awf-step -n probe -q -- true'
	awf-replay -q 2>/dev/null || ISOLATION=copy
}

needs_namespaces() { [ "$ISOLATION" = namespaces ] || skip 'no namespaces here'; }

# Records a workflow; every round of checking it is quiet.
deterministic() {
	awf-run "$@" >/dev/null
	for _ in $(seq "$ROUNDS"); do
		run -0 awf-verify --determinism --isolation "$ISOLATION"
		same "$output" ''
	done
}

# The latest run must not replay, and this is said of it: WHO differs, CALL, the event.
differs() {
	run -3 --separate-stderr awf-verify --determinism --isolation "$ISOLATION"
	same "$(head -n 1 <<<"$stderr" | sed -E 's/^awf-verify: [^:]*: //; s/ [0-9a-f-]{36}: .*//')" "$1"
}
chance() { differs "the replays differ: $1"; }
unrecorded() { differs "the replays agree, the recording differs: $1"; }

# bats test_tags=turn:1
@test "time" {
	awf-run -c 'awf-step -n now -- date +%N | awf-step -q after -- cat'
	chance 'now:0:0: step.completed'
}

# N: the commands on stdin, of which case_is_chosen N tries some, show what another day, or another
# machine, would show otherwise.
each_differs() {
	local command
	while read -r command; do
		case_is_chosen "$1" || continue
		awf-run -n -c "awf-step -n a -q -- true; awf-step -n when -q -- $command"
		chance 'when:0:0: step.completed'
	done
}

@test "the day" {
	needs_namespaces
	! grep -qa __asan_init "$BUILD/bin/awf-verify" || skip 'a sanitizer comes before the library that shows another day'
	each_differs 4 <<-'END'
		date +%F
		date -u +%Y
		date -u +%m
		date -u +%d
		date +%u
		date +%H
		sh -c 'touch x; [ -n "$(find /etc/hostname -mtime -365)" ] || date +%j'
		bash -c 'printf "%(%F)T\n"'
		perl -e 'print((localtime)[5])'
		awk 'BEGIN { print strftime("%F") }'
	END
}

# bats test_tags=turn:1
@test "the time zone and the number of processors" {
	needs_namespaces
	each_differs 1 <<-'END'
		sh -c 'TZ= date -d @0; date -d @0'
		date -d @0 +%z
	END
	awf-run -n -c 'awf-step -n many -q -- nproc'
	if [ "$(nproc)" -gt 1 ]; then chance 'many:0:0: step.completed'; else awf-verify --determinism; fi
}

@test "what does not depend on the day is no difference, and who waits until a time does not wait for another day" {
	deterministic -n -c '
		awf-step -n zone -q -- sh -c "TZ=UTC date -d @0; TZ=Europe/Berlin date -d @0"
		awf-step -n variables -q -- sh -c "env | grep -E \"^(LD_|TZ)\"; ls -a /etc/localtime"
		awf-step -n limit -q --timeout 20 -- timeout 20 sleep 0.1
		awf-step -n until -q --timeout 20 -- perl -MTime::HiRes=clock_gettime,clock_nanosleep,CLOCK_REALTIME,TIMER_ABSTIME -e \
			"clock_nanosleep(CLOCK_REALTIME, 1e9 * (clock_gettime(CLOCK_REALTIME) + 0.1), TIMER_ABSTIME); print 1"
		awf-step -n build -q -- sh -c "printf \"all: a\\na: b\\n\\tcp b a\\n\" >Makefile; echo >b; make -s; make -q && echo made"
		awf-step -n old -q -- sh -c "echo >new; sleep 0.01; echo >newer; find . -newer new -name newer"'
}

# bats test_tags=turn:1
@test "random numbers" {
	awf-run -c 'awf-step -n a -q -- true; od -An -N8 -tx1 /dev/urandom | awf-step -q draw -- cat'
	chance 'draw:0:0: step.started'
}

@test "process ids" {
	needs_namespaces
	awf-run -c 'awf-step -n who -q -- sh -c "echo \$\$"'
	chance 'who:0:0: step.completed'
}

@test "the host name" {
	needs_namespaces
	awf-run -c 'awf-step -n where -q -- uname -n'
	chance 'where:0:0: step.completed'
}

@test "the umask" {
	awf-run -c 'awf-step -n make -q -- sh -c "echo >made; stat -c %a made"'
	rm made
	chance 'make:0:0: step.completed'
}

@test "the environment" {
	SECRET=one awf-run -c 'awf-step -n say -q -- sh -c "echo \$SECRET"'
	unrecorded 'say:0:0: step.completed'
}

@test "the locale, where it is not a recorded variable" {
	LANGUAGE=de awf-run -c 'awf-step -n greet -q -- sh -c "case \$LANGUAGE in de) echo Tag;; *) echo day; esac"'
	unrecorded 'greet:0:0: step.completed'
}

@test "the order of a hash" {
	awf-run -c 'awf-step -n order -q -- perl -e "@h{1..50} = (); print join q( ), keys %h"'
	chance 'order:0:0: step.completed'
}

@test "a race between branches" {
	awf-run -c '{ for i in $(seq 16); do { sleep "0.$(od -An -N2 -tu2 /dev/urandom | tr -d " ")"; echo "$i"; } & done; wait; } |
		awf-step -q first -- cat'
	chance 'first:0:0: step.started'
}

@test "a file outside of the workspace" {
	needs_namespaces
	echo one >../outside
	awf-run -c 'awf-step -n look -q -- sh -c "cat ../outside 2>&1 || true"'
	unrecorded 'look:0:0: step.completed'
}

@test "the network" {
	needs_namespaces
	model_server
	awf-run -c "awf-step -n fetch -q -- curl -s -o /dev/null -w '%{http_code}' $MODEL_SERVER/" || true
	unrecorded 'fetch:0:0: step.completed'
}

@test "a file of the workspace that was not recorded" {
	echo one >notes
	awf-run -c 'awf-step -n read -q -- cat notes'
	echo two >notes
	unrecorded 'read:0:0: step.completed'
	awf-run --snapshot -c 'awf-step -n read -q -- cat notes'
	echo three >notes
	run -0 awf-verify --determinism --isolation "$ISOLATION"
}

@test "times of files" {
	touch notes
	awf-run --snapshot -c 'awf-step -n when -q -- stat -c %Y notes'
	chance 'when:0:0: step.completed'
}

@test "inodes" {
	touch notes
	awf-run --snapshot -c 'awf-step -n which -q -- stat -c %i notes'
	differs_somehow which
}

# Both replays, or they and the recording.
differs_somehow() {
	run -3 --separate-stderr awf-verify --determinism --isolation "$ISOLATION"
	[[ $stderr == *" $1:0:0: step.completed "* ]]
}

@test "the order of a directory's entries" {
	needs_namespaces
	[ -w /dev/shm ] || skip 'no memory file system that lists by age'
	mkdir many
	for i in $(seq 40); do touch "many/$i"; done
	awf-run --snapshot -c 'awf-step -n list -q -- ls -U many'
	chance 'list:0:0: step.completed'
}

@test "what is in HOME" {
	needs_namespaces
	echo x >"$HOME/.rc"
	awf-run -c 'awf-step -n rc -q -- sh -c "cat ~/.rc 2>/dev/null || echo none"'
	unrecorded 'rc:0:0: step.completed'
}

@test "what the workflow prints between its steps" {
	awf-run -c 'awf-step -n a -q -- true; date +%N' >/dev/null
	run -3 --separate-stderr awf-verify --determinism --isolation "$ISOLATION"
	[[ $stderr == "awf-verify: pipeline: the replays differ: line 1 of standard output differs"* ]]
}

@test "a step is named whose result differs from the recorded one, though its state line has a date" {
	WHO=one awf-run -c 'awf-step -n say -- echo $WHO' >/dev/null
	unrecorded 'say:0:0: step.started'
}

@test "what differs of a line is shown, and whose state line it is" {
	awf-run -c 'awf-step -n say -- echo hi | jq -c --arg at "$(date +%s.%N)" "del(.metadata.token) | .metadata.at = \$at"' >/dev/null
	run -3 --separate-stderr awf-verify --determinism --isolation "$ISOLATION"
	[[ $stderr == "awf-verify: pipeline: the replays differ: line 1 of standard output, of say:0:0, differs"* ]]
	[ "$(sed -n 's/^  first replay: //p' <<<"$stderr")" != "$(sed -n 's/^  second replay: //p' <<<"$stderr")" ]
}

@test "a step whose failed tries changed the workspace is tried again" {
	script='echo x >>tries; test "$(wc -l <tries)" -eq 3 && echo done'
	export script
	deterministic --snapshot --env script -c 'awf-step -n a --retries 2 --delay 1ms -q -- sh -c "$script"'
	rm tries
	awf-run --snapshot --env script -c 'awf-step -n a --retries 1 --delay 1ms -q -- sh -c "$script"' || true
	rm tries
	run -0 awf-verify --determinism --isolation "$ISOLATION"
	awf-run --snapshot -c 'awf-step -n a --retries 1 --delay 1ms -q -- sh -c "[ -e made ] || { echo >made; false; }"
		cat made | awf-step b -q -- cat'
	run -0 awf-verify --determinism --isolation "$ISOLATION"
}

@test "a program in a private place, with what it needs beside it" {
	needs_namespaces
	mkdir "$HOME/bin" "$HOME/lib"
	printf '#!/bin/sh\ncat "$HOME/lib/text"\n' >"$HOME/bin/tell"
	chmod +x "$HOME/bin/tell"
	echo text >"$HOME/lib/text"
	PATH=$HOME/bin:$PATH awf-run -c 'awf-step -n tell -q -- tell'
	unrecorded 'tell:0:0: step.completed'
	same "$(sed -n '2,3p' <<<"$stderr")" "  recording: \"text\"
  replays: failed: tell: exit status 1: cat: $HOME/lib/text: No such file or directory"
	run -0 awf-verify --determinism --visible "$HOME/lib"
	run -0 awf-replay -q --visible "$HOME/lib"
	run -1 --separate-stderr awf-replay --visible "$HOME/none"
	same "$stderr" "awf-replay: --visible: '$HOME/none' is no directory"
	run -1 --separate-stderr awf-verify --visible "$HOME"
	same "$stderr" "awf-verify: --visible: only with --determinism"
}

# A Python, or what runs like one: PREFIX/bin/python3, which needs PREFIX/lib.
interpreter() {
	mkdir -p "$1/bin" "$1/lib"
	printf '#!/bin/sh\ncat "%s/lib/text" "$@"\n' "$1" >"$1/bin/python3.11"
	chmod +x "$1/bin/python3.11"
	ln -s python3.11 "$1/bin/python3"
	echo text >"$1/lib/text"
}

@test "a Python in PATH has its modules, and a virtual environment its settings" {
	needs_namespaces
	interpreter "$HOME/tools/py"
	mkdir "$HOME/tools/py/lib/python3.11"
	touch "$HOME/tools/py/lib/python3.11/os.py"
	PATH=$HOME/tools/py/bin:$PATH awf-run -c 'awf-step -n a -q -- python3'
	run -0 awf-replay -q
	# Not all of a home directory.
	interpreter "$HOME"
	mkdir "$HOME/lib/python3.11"
	touch "$HOME/lib/python3.11/os.py"
	PATH=$HOME/bin:$PATH awf-run -c 'awf-step -n a -q -- python3'
	run -3 awf-replay -q
}

# bats test_tags=turn:2
@test "pipelines that are deterministic, in parallel" {
	seq 12 | deterministic -c 'awf-step -i lines -j 4 a -- sed s/^/x/ | awf-step -j 4 b -- tr x y |
		awf-step -s join -r -- jq -c .'
	deterministic -n -c 'for n in a b c d; do awf-step -n "$n" -- echo "$n" >"$n.out" & done; wait
		cat ?.out | awf-step -s all -r -- jq -c .; rm ?.out'
	deterministic -n --shell "$(command -v bash)" -c 'for i in 1 2 3 4; do
			{ sleep 0.0$((RANDOM % 9)); echo $i | awf-step a -- sh -c "cat; echo in | awf-step in -r -- cat" >$i.out; } &
		done; wait; cat ?.out | awf-step -s all -r -- jq -c .; rm ?.out'
	seq 3 | deterministic --shell "$(command -v bash)" -c 'tee >(awf-step -i lines one -r -- sort >one) \
		>(awf-step -i lines two -r -- sort -r >two) >/dev/null; wait; sleep 0.1; rm -f one two'
}

@test "what was done inside of a call that is not repeated is not missed" {
	deterministic -n -c 'awf-step -n --effects read look -- sh -c "awf-step -n in -r -- echo hi"'
	deterministic -n -c 'awf-step -n --timeout 300ms --allow-failure late -- \
		sh -c "awf-step -n in -q -- sh -c \"awf-step -n deep -q -- true\"; sleep 9"'
	run awf-run -n -c 'awf-step -n look -q -- sh -c "test -e done || awf-step -n in -q -- true; touch done"'
	run -3 --separate-stderr awf-verify --determinism --isolation "$ISOLATION"
	[[ $stderr == *': look:0:0/in:0:0: step.started '*' is in the recording only'* ]]
}

coder() {
	mkdir agents tools
	printf '{"description":"writes a file","input_schema":{"type":"object"},"effects":"workspace"}\n' >tools/put.tool.json
	printf '#!/bin/sh\njq -r .text >hello.c\necho written\n' >tools/put
	chmod +x tools/put
	jq -cn --arg text '#include <stdio.h>
int main(void) { puts("hello"); return 0; }' '{blocks: [{type: "tool_use", tool_id: "t1", tool_name: "put", tool_input: {text: $text}}]}' >answers
	echo '{"blocks":[{"type":"text","text":"hello.c"}]}' >>answers
	printf -- '---\nname: coder\nmodel: replay/%s\ntools: [put]\n---\nWrite a program.\n' "$PWD/answers" >agents/coder.md
	printf 'hello: hello.c\n\t$(CC) -o $@ hello.c\n' >Makefile
}

@test "an agent that writes a file, and a step that builds it" {
	coder
	echo hello | deterministic -c 'awf-step -a agents/coder.md code | awf-step --effects workspace build -- sh -c "make -s hello && ./hello" |
		awf-step -r show -- cat; rm -f hello hello.c'
}

# A git work tree in which five files have changed, and what the reviewers of
# review.awf say of them.
changed_files() {
	git init -q .
	for i in 1 2 3 4 5; do echo "$i" >"file$i"; done
	git add .
	git -c user.name=A -c user.email=a@example.org commit -q -m one
	for i in 1 2 3 4 5; do
		echo "changed $i" >"file$i"
		jq -cn --arg i "$i" '{match: "+changed \($i)", turn: 0, blocks: [{type: "text", text: "review of file\($i)"}]}'
	done >"$BATS_TEST_TMPDIR/answers"
	echo '{"match":"You chair","blocks":[{"type":"text","text":"merge"}]}' >>"$BATS_TEST_TMPDIR/answers"
}

@test "the example that reviews changes, four at a time" {
	changed_files
	AWF_MODEL=replay/$BATS_TEST_TMPDIR/answers deterministic "$ROOT/examples/review.awf"
}

@test "the example that writes a brief" {
	needs_namespaces
	export AWF_MODEL=replay/$ROOT/examples/recordings/brief.jsonl
	echo 'solid-state batteries' | deterministic "$ROOT/examples/brief.awf"
}

@test "the recording of examples/ci, and that it is up to date" {
	[ "$ISOLATION" = namespaces ] || echo '# no namespaces here: checked with --isolation copy' >&3
	run -0 "$ROOT/examples/ci/check" --isolation "$ISOLATION"
	same "$output" ''
	run -0 "$ROOT/examples/ci/check" --isolation copy
	files=$ROOT/examples/ci/recording/workflow/files/tmp/awf-release
	for file in release.awf agents/announcer.md tools/word_count tools/word_count.tool.json; do
		cmp "$ROOT/examples/ci/$file" "$files/$file"
	done
	if grep -r -e "$ROOT" "$ROOT/examples/ci/recording"; then false; fi
	# The job builds AWF beside what it checks, not out of it.
	same "$(grep -o 'make .*' "$ROOT/examples/ci/determinism.yml" | grep -vc '^make -C .awf ')" 0
}

# A lock says which are in use; a new one may not have its own yet.
@test "what a killed replay left in memory is removed by the next" {
	needs_namespaces
	local left=/dev/shm/awf-replay.test$$
	mkdir -p "$left"-{dead,held,new}/workspace
	touch -d '1 hour ago' "$left"-{dead,held}
	flock -F "$left-held" sleep 60 3>&- &
	LOCKER=$!
	eventually eval "! flock -n $left-held true"
	deterministic -n -c 'awf-step -n a -q -- true'
	ls -d "$left"-* >remaining
	kill $LOCKER
	rm -rf "$left"-*
	same "$(cat remaining)" "$(printf '%s\n' "$left-held" "$left-new")"
}

@test "what a workflow puts in the place of a replay's output is not read, nor kept" {
	for other in 'mkfifo "$AWF_STORAGE/stdout"' 'ln -s "$OLDPWD/secret" "$AWF_STORAGE/stdout"'; do
		echo secret >secret
		awf-run -n -c "awf-step -n a -q -- true; ! rm \"\$AWF_STORAGE/stdout\" 2>/dev/null || $other"
		run -0 --separate-stderr timeout 20 awf-verify --determinism --isolation "$ISOLATION"
		same "$output$stderr" ''
		same "$(ls "$AWF_STORAGE/replays")" ''
	done
}

@test "a replay that ends by itself is an error, and leaves nothing" {
	awf-run -n -c 'awf-step -n a -q -- sh -c "test ! -e fatal || kill -9 \$(cat fatal)"'
	mkdir bin
	cp -r "$BUILD/bin" "$BUILD/libexec" bin
	printf '#!/bin/sh\nkill -9 $$\n' >bin/bin/awf-replay
	run -4 --separate-stderr bin/bin/awf-verify --determinism
	[[ $stderr == "awf-verify: "*": the replay was ended: killed by signal 9 (Killed)" ]] || same "$stderr" ''
	printf '#!/bin/sh\necho "awf-replay: no luck" >&2\nexit 4\n' >bin/bin/awf-replay
	run -4 --separate-stderr bin/bin/awf-verify --determinism
	same "$stderr" 'awf-verify: no luck'
	rm bin/bin/awf-replay
	run -4 --separate-stderr bin/bin/awf-verify --determinism
	same "$stderr" 'awf-verify: unable to run it: No such file or directory'
	same "$(ls "$AWF_STORAGE/replays")" ''
}

@test "awf-replay --vary: what must not matter is another" {
	needs_namespaces
	awf-run -n -c 'awf-step -n where -q -- uname -n'
	run -3 awf-replay -q --vary
	[[ $output == *'where:0:0: step.completed '* ]]
	awf-run -n -c 'awf-step -n a -q -- echo x'
	run -0 awf-replay -q --vary
	run -1 awf-replay --vary --tree
	same "$output" 'awf-replay: --vary: not with --tree, which runs nothing'
}

@test "a damaged recording is not replayed; wrong command lines" {
	awf-run -c 'awf-step -n a -q -- true'
	sed 2s/true/fals/ "$(transcript)" >broken.jsonl
	run -3 --separate-stderr awf-verify --determinism broken.jsonl
	same "$(wc -l <<<"$stderr")" 1
	run -1 --separate-stderr awf-verify --isolation copy
	same "$stderr" 'awf-verify: --isolation: only with --determinism'
	run -0 awf-verify --determinism --isolation none
	run -0 awf-verify --determinism -v --isolation copy
	[[ $output == *"pipeline: no namespaces: it runs in a copy of today's $PWD"*"pipeline: two replays agree with the recording" ]]
	run -1 awf-verify --determinism nosuch
}

@test "a signal ends both replays" {
	awf-run -c 'awf-step -n a -q -- sh -c "test ! -e slow || sleep 60"'
	touch slow
	awf-verify --determinism --isolation "$ISOLATION" &
	eventually sh -c 'test "$(cat "$AWF_STORAGE"/replays/*/transcripts/*.jsonl 2>/dev/null | grep -c step.started)" = 2'
	kill -TERM $!
	ended=0
	wait $! || ended=$?
	same "$ended" 143
	same "$(ls "$AWF_STORAGE/replays")" ''
}

@test "the step that does something else is named, not one that reads from it" {
	for _ in 1 2 3; do
		awf-run -n -c 'seq 3 | awf-step -i lines m -- echo "$(date +%N)" | awf-run -c "awf-step c -- cat" |
			awf-step -j 3 --each y -- awf-step -j 3 x -- cat | awf-step -r z -- cat'
		run -3 --separate-stderr awf-verify --determinism
		[[ $stderr == *': m:0:0: step.started '* ]]
	done
}

cleanup() { cd / && rm -rf "${disk-}"; }

@test "where memory is short, the copy of a workspace lies on disk" {
	needs_namespaces
	unshare -rm mount -t tmpfs -o size=64k tmpfs /dev/shm || skip 'no mounts here'
	# The tests' own directory may be in memory, which is about to be short.
	disk=$(mktemp -d /var/tmp/awf-test.XXXXXX)
	export AWF_STORAGE="$disk/storage"
	cd "$disk"
	head -c 300000 /dev/urandom >large
	awf-run -n -c 'awf-step -n sum -- sha256sum large'
	run -0 unshare -rm sh -c 'mount -t tmpfs -o size=64k tmpfs /dev/shm && exec awf-verify --determinism'
	same "$output" ''
}

@test "what a child run says on stderr is no difference of the call around it" {
	deterministic -n -c 'awf-step -n --each g -q -- \
		awf-run -c "awf-step -n x -q -- sh -c \"echo told >&2; echo ok\""'
	payloads step.completed 'select(.name == "g" or .stderr) | .stderr' | grep -q told
	# Of others it is one.
	awf-run -n -c 'awf-step -n --each g -q -- sh -c "echo \$AWF_RUN_ID \$\$ >&2; awf-step -n x -q -- true"'
	differs 'the replays differ: g:0:0: step.completed'
}

@test "a child starts elsewhere than its script lies, in a copy too" {
	mkdir sub
	echo 'awf-step -n b -q -- ls' >child.awf
	printf '%s\n' 'awf-step -n a -q -- true' 'cd sub' 'awf-run -n ../child.awf' >top.awf
	awf-run -n ./top.awf
	run -0 awf-verify --determinism --isolation "$ISOLATION"
	run -0 awf-verify --determinism --isolation copy
}

@test "a failure that a resume took over with its group is what it was" {
	echo 1 >n
	run -3 awf-run -n -c 'echo a | awf-step --each g -- awf-step sub -- false | awf-step --rescue res -- cat |
		awf-step last -r -- sh -c "test \$(cat n) = 2 && cat"'
	echo 2 >n
	run -0 awf-run --resume @
	run -0 awf-verify --determinism --isolation "$ISOLATION"
}

@test "a branch that was stopped with a child run in it is no difference" {
	echo "awf-step -r w -- sh -c 'cat; sleep 20'" >child.sh
	awf-run -n -c 'echo a | awf-step --parallel --strategy any p -- "awf-run ./child.sh" "awf-step q -- sh -c \"sleep 0.3; echo Q\"" |
		awf-step last -r -- cat'
	run -0 awf-verify --determinism --isolation "$ISOLATION"
}

@test "a run that took over the result of a step with another name replays, and so does one that has asked" {
	printf '%s\n' "awf-step -n --effects external push -- sh -c 'echo x >>ledger; echo r' | awf-step -r show -- cat" \
		'awf-step -n -q gate -- test -e open' >flow.awf
	run -3 awf-run -n flow.awf
	sed -i 's/push/publish/' flow.awf
	: >open
	run -0 awf-run --resume @ --skip push:0:0
	run -0 awf-replay @
	run -0 awf-verify --determinism @

	rm open
	run -3 awf-run -n flow.awf
	sed -i 's/echo r/echo s/' flow.awf
	: >open
	run -75 awf-run --resume @
	run -0 awf-replay @
}

@test "a failure around a child run has the recorded words, whatever its other calls were called in an attempt before" {
	local gate='awf-step -n -q gate -- test -e open' group='awf-step -n -q --parallel --strategy best-effort g --'
	run -0 awf-run -n -c "$group 'awf-run -n -c \"exit 7\"' true | cat >/dev/null"
	run -0 awf-verify --determinism --isolation "$ISOLATION"
	# One that is behind a branch that was inserted.
	printf '%s\n' "$group 'awf-step -n -q a -- sh -c \"echo d >>made; exit 8\"' 'awf-run -n -c \"awf-step -n -q b -- true\"'" "$gate" >flow.awf
	run -3 awf-run -n flow.awf
	sed -i "1s/ -- / -- 'awf-step -n -q a -- true' /" flow.awf
	: >open
	run -0 awf-run --resume @
	same "$(wc -l <made)" 1
	run -0 awf-replay @
}

@test "an agent whose step was renamed, or put into a group, replays, taken over or made again" {
	scripted_provider
	mkdir agents tools
	printf -- '---\nprovider: scripted\nmodel: m\ntools: [send]\n---\nLead.\n' >agents/boss.md
	tool send '"effects":"external"' 'echo sent >>ledger; echo ok'
	local answer edit
	for answer in --skip --redo; do
		for edit in 's/ lead/ chief/' 's/ -q -a/ -q --each h -- awf-step -q -a/'; do
			rm -f open
			script "$(called t1 send '{"n":1}')" "$(said ok)"
			printf '%s\n' 'echo topic | awf-step -q -a boss lead' 'awf-step -n -q gate -- test -e open' >flow.awf
			run -3 awf-run -n flow.awf
			: >open
			sed -i "$edit" flow.awf
			run -75 awf-run --resume @
			script "$(called t1 send '{"n":1}')" "$(said ok)"
			run -0 awf-run --resume @ "$answer" lead:0:0
			run -0 awf-replay @
		done
	done
}

@test "an agent that was moved out of a child run, whose answer was taken over, replays" {
	scripted_provider
	mkdir agents tools
	printf -- '---\nprovider: scripted\nmodel: m\ntools: [send]\n---\nLead.\n' >agents/boss.md
	tool send '"effects":"external"' 'echo sent >>ledger; echo ok'
	script "$(called t1 send '{"n":1}')" "$(said ok)"
	printf '%s\n' "awf-run -n -c 'echo topic | awf-step -q -a boss lead'" 'awf-step -n -q gate -- test -e open' >flow.awf
	run -3 awf-run -n flow.awf
	: >open
	sed -i '1s/.*/echo topic | awf-step -q -a boss lead/' flow.awf
	run -75 awf-run --resume @
	run -0 awf-run --resume @ --skip pipeline:0:0/lead:0:0
	same "$(wc -l <ledger)" 1
	run -0 awf-replay @
}
