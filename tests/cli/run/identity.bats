#!/usr/bin/env bats
# bats file_tags=turn:3
# awf-run(1), "Which recorded call is which": calls that differ by their directory or by variables
# alone, and effects whose step was renamed, moved or removed.
# shellcheck shell=bash disable=SC2016,SC2154 # scripts expand their dollars; bats sets stderr
bats_require_minimum_version 1.5.0
load ../../support/helpers
load ../../support/agent

# flow LINE...: the workflow; its last step fails until there is a file open.
flow() {
	printf '%s\n' '#!/usr/bin/env -S awf-run --' "$@" 'wait' 'awf-step -n -q gate -- test -e open' >flow.awf
	chmod +x flow.awf
}
start() { run -"$1" --separate-stderr awf-run -n --id-file id "${@:2}" ./flow.awf; }
resume() { run -"$1" --separate-stderr awf-run --resume "$(cat id)" "${@:2}"; }
ledger() { same "$(sort ledger 2>/dev/null)" "$(printf '%s\n' "$@")"; }
PUSH='awf-step -n -q --effects external push -- sh -c'

# bats test_tags=turn:1
@test "calls in several directories each take over their own record" {
	mkdir a b c d
	flow 'for x in d c b a; do (cd $x && '"$PUSH"' '\''n=${PWD##*/}; [ $n = b ] && [ ! -e ../open ] && exit 1; echo $n >>../ledger'\''); done'
	start 3
	sed -i 's/d c b a/a b c d/' flow.awf
	: >open
	resume 0
	ledger a b c d
	[[ $stderr != *'made anew'* && $stderr != *'not come to'* ]]
}

@test "so do those that one variable tells apart, and a list that has grown makes what is new" {
	mkdir in
	touch in/b in/d
	flow 'for f in in/*; do export FILE=$f; '"$PUSH"' '\''echo "$FILE" >>ledger'\''; done'
	start 3
	touch in/a in/c in/e
	: >open
	resume 0
	ledger in/a in/b in/c in/d in/e
}

@test "what is set before a command or by env is a variable of the workflow, too; unsetting it as well" {
	flow 'STAGE=a '"$PUSH"' '\''echo $STAGE >>ledger'\' \
		'env STAGE=b '"$PUSH"' '\''echo $STAGE >>ledger'\' \
		'env -u OUTER '"$PUSH"' '\''echo "none $OUTER" >>ledger'\' \
		"$PUSH"' '\''echo "outer $OUTER" >>ledger'\'
	OUTER=o start 3
	awk 'NR == 1 { print; next } NR <= 5 { line[NR] = $0 } NR == 5 { for (i = 5; i > 1; i--) print line[i] } NR > 5' \
		flow.awf >turned
	cat turned >flow.awf
	: >open
	OUTER=o resume 0
	ledger a b 'none ' 'outer o'
}

@test "what must not matter does not: new files, a path in front of another, make, cron" {
	printf 'all: x y\nx y:\n\t@cd $@ && awf-step -n -q --effects external push -- sh -c '\''echo "$${PWD##*/}" >>../ledger'\''\n.PHONY: x y\n' >all.mk
	mkdir x y
	flow 'export TMPDIR=$(mktemp -d) LOG=$(mktemp) PATH="$PWD/bin:$PATH"' \
		'make -s -j2 -f all.mk' 'export SCRATCH=$(mktemp)' "$PUSH"' '\''echo top >>ledger'\'
	start 3
	resume 3
	: >open
	run -0 --separate-stderr env -i PATH="/nowhere:$PATH" HOME="$HOME" AWF_STORAGE="$AWF_STORAGE" LANG=C \
		awf-run --resume "$(cat id)"
	ledger top x y
	[[ $stderr != *'made anew'* ]]
}

@test "a value that changes at each start is asked about where something has changed; --ignore-env settles it for good" {
	flow 'export STARTED=$(date +%s%N)' "$PUSH"' '\''echo x >>ledger'\' 'awf-step -n -q look -- true'
	start 3
	resume 3
	[[ $stderr == *'push:0:0: STARTED has another value (--ignore-env STARTED if no call depends on it), and it has changed something before: resume with --redo push:0:0 or --skip push:0:0'* ]]
	[[ $stderr == *'look 1 (another STARTED: --ignore-env STARTED if no call depends on it)'* ]]
	ledger x
	resume 3 --ignore-env STARTED
	resume 3
	: >open
	resume 0
	ledger x
}

@test "the script says itself what is to be ignored; a name that is none is refused with its file" {
	flow '# awf: ignore-env: STARTED, CI_*' 'export STARTED=$(date +%s%N) CI_JOB=$$' "$PUSH"' '\''echo x >>ledger'\'
	start 3
	: >open
	resume 0
	ledger x
	flow '# awf: ignore-env: 9X' 'true'
	run -125 --separate-stderr awf-run -n ./flow.awf
	[[ $stderr == *"flow.awf: '9X' is neither a variable's name nor the beginning of names and a star"* ]]
	run -125 --separate-stderr awf-run --ignore-env 'A-B' -n ./flow.awf
	[[ $stderr == *"--ignore-env: 'A-B' is neither"* ]]
}

# bats test_tags=turn:1
@test "what was done for one stage is not taken for another" {
	flow 'export STAGE=staging' "$PUSH"' '\''echo $STAGE >>ledger'\'
	start 3
	sed -i 's/staging/prod/' flow.awf
	: >open
	resume 75
	[[ $stderr == *'STAGE has another value'* ]]
	ledger staging
	resume 0 --redo push:0:0
	ledger prod staging
}

@test "an approval that was given for one stage is none for another" {
	flow 'for STAGE in a b; do export STAGE; awf-step -n -q --approve ok && awf-step -n -q --effects external push -- sh -c '\''echo $STAGE >>ledger'\''; done'
	start 3
	: >open
	resume 75
	awf-ctl approve ok:0:0 "$(cat id)"
	sed -i 's/in a b/in b a/' flow.awf
	resume 75
	ledger a
	awf-ctl approve ok:0:0 "$(cat id)"
	# One call of this step is recorded, so that nothing tells whether STAGE distinguishes its calls.
	resume 75
	ledger a
	resume 0 --new push
	ledger a b
}

@test "child runs that differ by a variable or a directory go on as themselves" {
	mkdir a b
	printf '%s\n' 'awf-step -n -q --effects external send -- sh -c '\''echo "${PWD##*/} $FILE" >>"$L"'\' >child.awf
	flow 'export L=$PWD/ledger' 'for d in a b; do for f in 1 2; do (cd $d; FILE=$f exec awf-run -n "$AWF_WORKFLOW_DIR"/child.awf); done; done'
	start 3
	sed -i 's/in a b/in b a/; s/in 1 2/in 2 1/' flow.awf
	: >open
	resume 0
	ledger 'a 1' 'a 2' 'b 1' 'b 2'
}

@test "a group that is made anew for a variable takes over what was done in it" {
	flow 'export STARTED=$(date +%s%N)' \
		'printf "%s\n" p q | awf-step -i lines -q --each all -- sh -c '\''unset STARTED; awf-step -q --effects external push -- sh -c "cat >>ledger; echo >>ledger"'\'
	start 3
	resume 3
	: >open
	resume 0
	same "$(grep -c . ledger)" 2
}

# bats test_tags=turn:1
@test "no answer of a model is paid twice because of a variable" {
	mkdir agents
	agent writer
	text 'the answer' >answer
	model_server --loop --answer answer
	flow 'export STARTED=$(date +%s%N)' 'awf-step -n -a writer -p hello ask -r'
	start 3
	: >open
	resume 0
	same "$output" 'the answer'
	same "$(bodies | grep -c .)" 1
}

# bats test_tags=turn:1
@test "a step that was renamed asks before anything runs, and with --skip takes over what was done" {
	mkdir a b
	flow 'for x in a b; do (cd $x && '"$PUSH"' '\''echo ${PWD##*/} >>../ledger'\''); done'
	start 3
	sed -i 's/ push / publish /' flow.awf
	resume 75
	[[ $stderr == *'push:0:0: sh -c echo ${PWD##*/} >>../ledger (in a), begun '*'Z, was done, and no file of the run names this step any more. '*'Say --redo push:0:0 or --skip push:0:0'* ]]
	: >open
	resume 0 --skip push
	ledger a b
	[[ $stderr != *'not come to'* ]]
}

@test "a step that was wrapped in a group asks which it is" {
	flow "$PUSH"' '\''echo x >>ledger'\'
	start 3
	flow 'awf-step -n -q --each around -- sh -c '\''awf-step -n -q --effects external push -- sh -c "echo x >>ledger"'\'
	: >open
	resume 75
	[[ $stderr == *'around:0:0/push: push:0:0 has done the same before, under another name or in another place, and nothing has taken that over: to do it again, or to take it over, resume with --redo push:0:0 or --skip push:0:0'* ]]
	ledger x
	resume 0 --skip push:0:0
	ledger x
}

@test "so does one whose old name stands in a text still, and a child run of another name" {
	flow '# push: what this does' "$PUSH"' '\''echo x >>ledger'\'
	start 3
	sed -i '3s/ push / tell /' flow.awf
	: >open
	# A comment is none of the steps.
	resume 75
	[[ $stderr == *'push:0:0: sh -c '*' was done, and no file of the run names this step any more'* ]]
	sed -i '2s/.*/echo "push: what this does" >said/' flow.awf
	resume 75
	[[ $stderr == *'awf-step: tell: tell: push:0:0 has done the same before, under another name'* ]]
	resume 0 --skip push:0:0
	ledger x
	rm ledger open
	printf '%s\n' 'awf-step -n -q --effects external send -- sh -c "echo child >>ledger"' >child.awf
	flow 'awf-run -n --name old ./child.awf'
	start 3
	sed -i 's/--name old/--name new/' flow.awf
	: >open
	resume 75
	[[ $stderr == *'old:0:0'* ]]
	resume 0 --skip old:0:0
	ledger child
}

@test "a child run that is gone is told, and one that asks lets its parent wait" {
	printf '%s\n' 'awf-step -n -q --effects external send -- sh -c "echo child >>ledger"' 'awf-step -n -q end -- test -e "${GO-go}"' >child.awf
	flow 'awf-run -n --try ./child.awf'
	touch go
	start 3
	flow ':'
	: >open
	resume 0 --skip child:0:0
	[[ $stderr == *'child:0:0: '*'is an effect of an earlier attempt that this one has not come to'* ]]
	rm go ledger
	flow 'awf-run -n ./child.awf'
	start 3
	sed -i 's/ send / post /' child.awf
	resume 75
	[[ $stderr == *'child:0:0/send:0:0'* && $stderr != *'died before its end'* ]]
}

@test "branches and rounds of a group whose variables changed are made anew; what is in them finds its own" {
	local kind
	# A branch that fails ends the others: this one comes last, when the end of the other is recorded.
	printf '%s\n' '#!/bin/sh' 'until [ -e ended ]; do sleep 0.02; done' 'test -e open' >late
	chmod +x late
	for kind in '--parallel p -q -- '\''awf-step -n -q --effects external up -- sh -c "echo up \$X >>ledger"; : >ended'\'' "awf-step -n -q c -- ./late"' \
		'--max 1 p -q -- sh -c '\''awf-step -n -q --effects external up -- sh -c "echo up \$X >>ledger"'\'; do
		rm -f ledger open ended
		echo prod >value
		flow 'X=$(cat value); export X' "awf-step -n $kind"
		start 3
		ledger 'up prod'
		echo staging >value
		: >open
		run -75 awf-run --resume "$(cat id)"
		[[ $output == *'X has another value (--ignore-env X if no call depends on it)'* ]]
		ledger 'up prod'
	done
}

@test "names of variables may be any bytes" {
	flow 'for v in $(cat list); do python3 -c '\''import os, sys
os.environb[b"N\xff"] = sys.argv[1].encode()
os.execvp("awf-step", ["awf-step", "-n", "-q", "--effects", "external", "up", "--", "sh", "-c", "echo made >>ledger"])'\'' $v; done'
	printf '%s\n' one two >list
	start 3
	printf '%s\n' two three >list
	: >open
	resume 0
	same "$(grep -c made ledger)" 3
}

@test "of variables that are ignored calls are known by their position" {
	local i
	for i in 1 2 3; do
		rm -f ledger open
		flow 'for X in 1 2 3; do export X; '"$PUSH"' '\''echo did $X >>ledger; test $X != 2 -o -e open'\''; done'
		start 3
		: >open
		resume 0 --ignore-env X
		ledger 'did 1' 'did 2' 'did 2' 'did 3'
	done
}

@test "names that a script puts together are asked about by nobody" {
	flow 'for e in eu us; do '"${PUSH/push/deploy-\$e}"' "echo $e >>ledger" & done'
	start 3
	sed -i 's/eu us/us eu/' flow.awf
	: >open
	resume 0
	ledger eu us
}

@test "calls of several attempts that have one name are named by their attempt, too" {
	mkdir a b
	flow '(cd a && '"$PUSH"' '\''echo ${PWD##*/} >>../ledger; [ -e ../open ] || kill -9 $$'\'')'
	start 3
	sed -i 's/cd a/cd b/' flow.awf
	resume 75
	[[ $stderr == *'push:0:0: '*' (in a), '*'may or may not have happened: say --redo push:0:0 or --skip push:0:0'* ]]
	resume 3 --skip push:0:0 --new push
	ledger a b
	resume 75
	same "$(grep -oE '\(in .\)|--skip push:0:0@[12]' <<<"$stderr" | paste -sd' ')" '(in a) --skip push:0:0@1 (in b) --skip push:0:0@2'
	: >open
	resume 75 --skip push:0:0
	same "$(grep -oE '\(in .\)|--skip push:0:0@[12]' <<<"$stderr" | paste -sd' ')" '(in a) --skip push:0:0@1 (in b) --skip push:0:0@2'
	resume 0 --skip push:0:0@1 --redo push:0:0@2
	ledger a b b
}

@test "effects on record that nobody has taken over are listed when the run succeeds" {
	printf 'all:\n\t@awf-step -n -q --effects external push -- sh -c "echo x >>ledger"\n' >one.mk
	flow 'make -s -f one.mk'
	start 3
	printf 'all:\n\t@true\n' >one.mk
	: >open
	resume 0
	[[ $stderr == *'awf-run: push:0:0: sh -c echo x >>ledger, begun '*'Z, is an effect of an earlier attempt that this one has not come to'* ]]
}

@test "what variables hold is recorded as digests under a key that only the storage has" {
	flow 'export TOKEN=hunter2-hunter2 N=5' 'awf-step -n -q look -- true'
	start 3
	run -1 grep -q hunter2 "$AWF_STORAGE/transcripts/$(cat id).jsonl"
	same "$(stat -c %a "$AWF_STORAGE/variables.key")" 600
	same "$(payloads step.started 'select(.name == "look").variables | keys | join(" ")' | tr -d '"')" 'N TOKEN'
	[[ $(payloads step.started 'select(.name == "look").variables.N') == *' 5"' ]]
	[[ $(payloads step.started 'select(.name == "look").variables.TOKEN') != *' '* ]]
	# Without the key nothing can be compared: of what has changed something the user is asked.
	flow 'for x in 1 2; do N=$x '"$PUSH"' '\''echo $N >>ledger'\''; done'
	rm -r "$AWF_STORAGE"
	start 3
	rm "$AWF_STORAGE/variables.key"
	: >open
	resume 75
	[[ $stderr == *'nothing tells which of the recorded calls of this name it is'* ]]
	ledger 1 2
	rm open
	flow 'export S=$(cat value); '"$PUSH"' '\''echo $S >>ledger'\'
	echo prod >value
	rm ledger
	start 3
	echo staging >value
	rm "$AWF_STORAGE/variables.key"
	: >open
	resume 75
	[[ $stderr == *'their directories and variables are not known'* ]]
	ledger prod
}

@test "of calls whose command was edited each is compared with the record of its own input" {
	local line='awf-step -q --effects external push -- ./push'
	printf '%s\n' '#!/bin/sh' 'in=$(cat); [ "$in" != a ] || [ -e open ] || exit 1; echo "$in" >>ledger' >push
	chmod +x push
	flow "echo a | $line" "echo b | $line"
	start 3
	: >open
	# The one that had failed has no record of which anything happened, the other is told to be skipped.
	flow "echo b | $line -v" "echo a | $line -v"
	resume 75 --skip push:1:0
	[[ $stderr == *"push:0:0: its definition is './push -v', the recorded one './push', and it has changed something before"* ]]
	[[ $stderr != *"its input is"* ]]
	ledger b
	resume 0 --skip push:1:0 --redo push:0:0
	ledger a b
}

@test "a child run that has not ended, and had another value: made anew, or gone on with, as the user says" {
	printf '%s\n' 'awf-step -n -q --effects external send -- sh -c '\''echo "sent $FILE" >>ledger'\' 'awf-step -n -q end -- test -e go' >child.awf
	local said
	for said in '--redo child:0:0|sent a,sent b' '--skip child:0:0|sent a'; do
		rm -f ledger open go
		echo a >value
		flow 'FILE=$(cat value); export FILE; awf-run -n ./child.awf'
		start 3
		echo b >value
		: >open
		: >go
		resume 75
		[[ $stderr == *'child:0:0: FILE has another value ('*'resume with --redo child:0:0 or --skip child:0:0'* ]]
		resume 0 ${said%|*}
		same "$(paste -sd, ledger)" "${said#*|}"
		awf-verify -q
	done
}

@test "a child run that goes on is not skipped whole; another is made in its place if the user says so" {
	printf '%s\n' 'awf-step -n -q --effects external send -- sh -c "echo sent >>ledger"' 'awf-step -n -q end -- test -e go' >child.awf
	flow 'awf-run -n ./child.awf'
	start 3
	: >open
	: >go
	resume 75 --skip child:0:0
	[[ $stderr == *'child:0:0: is a child run that has not ended well, and goes on: it is not to be skipped whole; skip a call in it, or resume with --redo child:0:0 '* ]]
	ledger sent
	resume 0 --redo child:0:0
	ledger sent sent
}

@test "a directory that tells no calls apart is asked about, as a variable is" {
	flow 'D=d$(date +%s%N); mkdir "$D"; cd "$D"' 'unset D' "$PUSH"' '\''echo x >>../ledger'\' 'cd ..'
	start 3
	: >open
	resume 75
	[[ $stderr == *'push:0:0: it was made in another directory, and it has changed something before: resume with --redo push:0:0 or --skip push:0:0'* ]]
	ledger x
	resume 0 --skip push:0:0
	ledger x
	rm ledger open
	mkdir one two
	flow '(cd one && '"$PUSH"' '\''echo ${PWD##*/} >>../ledger'\'')'
	start 3
	# So does one that an edit has put in front; behind it, where the record is taken, it is another.
	flow '(cd two && '"$PUSH"' '\''echo ${PWD##*/} >>../ledger'\'')' '(cd one && '"$PUSH"' '\''echo ${PWD##*/} >>../ledger'\'')'
	: >open
	resume 75
	ledger one
	resume 0 --new push
	ledger one two
	rm ledger open
	flow '(cd one && '"$PUSH"' '\''echo ${PWD##*/} >>../ledger'\'')'
	start 3
	flow '(cd one && '"$PUSH"' '\''echo ${PWD##*/} >>../ledger'\'')' '(cd two && '"$PUSH"' '\''echo ${PWD##*/} >>../ledger'\'')'
	: >open
	resume 0
	ledger one two
}

@test "that a value stands in the script tells nothing: a call with another is asked about" {
	printf 1 >v
	flow 'export V=$(cat v)' "$PUSH"' '\''echo x$1 >>ledger'\'' - a $V'
	start 3
	printf 2 >v
	: >open
	resume 75
	[[ $stderr == *"push:0:0: its definition is"*'and it has changed something before'* ]]
	ledger xa
	resume 0 --skip push:0:0

	# Nor what has only asked: it says nothing of what was recorded.
	rm ledger open
	flow 'for i in ann bob; do '"$PUSH"' '\''echo $1 >>ledger'\'' - $i; done'
	start 3
	sed -i 's/do awf-step/do REGION=eu awf-step/' flow.awf
	resume 3
	: >open
	resume 75 --skip push:0:0
	ledger ann bob
	resume 0 --skip push:0:0 --skip push:1:0
	ledger ann bob
}

@test "what was moved into a child run, out of one, or to another asks which it is" {
	local push="$PUSH"' "echo x >>ledger"' answer
	child() { printf '%s\n' "$@" >child.awf; }
	for answer in skip redo; do
		rm -f ledger open
		# Into the text of one.
		flow "$push"
		start 3
		flow "awf-run -n -c '$push'"
		: >open
		resume 75
		[[ $stderr == *'awf-step: push: push: push:0:0 has done the same before, under another name or in another place'*'resume with --redo push:0:0 or --skip push:0:0'* ]]
		ledger x
		resume 0 "--$answer" push:0:0
		if [ $answer = skip ]; then ledger x; else ledger x x; fi
		awf-verify "$(cat id)"
		awf-verify --determinism "$(cat id)" >/dev/null

		# Out of it, also where it had succeeded.
		rm -f ledger open
		flow "awf-run -n -c '$push'"
		start 3
		flow "$push"
		: >open
		resume 75
		[[ $stderr == *'resume with --redo pipeline:0:0/push:0:0 or --skip pipeline:0:0/push:0:0'* ]]
		resume 0 "--$answer" pipeline:0:0/push:0:0
		if [ $answer = skip ]; then ledger x; else ledger x x; fi
		awf-verify "$(cat id)"
	done

	# The text was changed around it.
	rm -f ledger open
	flow "awf-run -n -c '$push'"
	start 3
	flow "awf-run -n -c '$push; :'"
	: >open
	resume 0
	ledger x

	# Out of the file of one whose result stands.
	rm -f ledger open
	child "$push"
	flow 'awf-run -n ./child.awf'
	start 3
	child :
	flow 'awf-run -n ./child.awf' "$push"
	: >open
	resume 75
	resume 0 --skip child:0:0/push:0:0
	ledger x

	# From one to another that is made in a third, whose parent's files are the same.
	rm -f ledger open
	child "$push"
	printf '%s\n' 'awf-run -n ./inner.awf' >outer.awf
	printf '%s\n' : >inner.awf
	flow 'awf-run -n ./child.awf; test -e open && awf-run -n ./outer.awf'
	start 3
	child :
	printf '%s\n' "$push" >inner.awf
	: >open
	resume 75
	[[ $stderr == *'--skip child:0:0/push:0:0'* ]]
	resume 0 --skip child:0:0/push:0:0
	ledger x
}

@test "a child run that does what another has done, and is the same, is not asked about" {
	printf '%s\n' "$PUSH"' "echo x >>ledger"' >child.awf
	flow 'for x in 1 2; do awf-run -n ./child.awf; done; [ ! -e open ] || awf-run -n --name third ./child.awf'
	start 3
	: >open
	resume 0
	ledger x x x
}

@test "of calls that run side by side and whose command was edited each is compared with the most alike" {
	printf '#!/bin/sh\n[ "$1" != -v ] || shift\necho "$1" >>ledger\n' >do
	chmod +x do
	flow 'for x in a b c d; do awf-step -n -q --effects external push -- ./do $x & done'
	start 3
	sed -i 's/do \$x/do -v $x/; s/a b c d/d e c b a/' flow.awf
	: >open
	resume 75
	for x in a b c d; do
		[[ $stderr == *"definition is './do -v $x', the recorded one './do $x'"* ]]
	done
	ledger a b c d
	# What is new leaves to each its own; if it has asked, it asks whether it is to be made.
	run awf-run --resume "$(<id)" --skip push
	[ "$status" = 0 ] || resume 0 --new push
	ledger a b c d e
}

@test "what is said of an effect in doubt is not said of a call with another input, nor of one whose command stands elsewhere" {
	printf '#!/bin/sh\nread -r x\ntest $x = d -o -e open || kill -9 $$ $PPID\necho "$x" >>ledger\n' >do
	chmod +x do
	flow 'for x in d b; do echo $x | awf-step -q --effects external push -- ./do; done'
	run -0 sh -c 'awf-run -n --id-file id ./flow.awf || :'
	sed -i 's/in d b/in d a/' flow.awf
	: >open
	resume 75
	resume 75 --skip push:1:0
	[[ $stderr == *"its input is '\"a\"', the recorded one '\"b\"', and it "*' changed something before: to leave this call out, too, resume with --skip push:1:0 twice, to make it, with --new push as well'* ]]
	resume 0 --skip push:1:0 --new push
	ledger a d

	# Of two calls the second was begun: the first is none of it.
	rm -f ledger open
	printf '#!/bin/sh\ntest "$2" = d -o -e open || kill -9 $$ $PPID\necho "$2" >>ledger\n' >do
	printf '%s\n' 'all: x y' 'x:' "	@until [ -e begun ]; do sleep 0.02; done; awf-step -n -q --effects external push -- ./do to d" \
		'y:' '	@>begun; awf-step -n -q --effects external push -- ./do to c' >all.mk
	flow 'make -s -j2 -f all.mk x y; exit 3'
	sed -i '/^x:/,/^y:/s/awf-step -n/false; awf-step -n/' all.mk
	run -0 sh -c 'awf-run -n --id-file id ./flow.awf || :'
	flow 'awf-step -n -q --effects external push -- ./do to d' 'awf-step -n -q --effects external push -- ./do to c'
	: >open
	resume 75
	[[ $stderr == *': ./do to c, begun '* ]]
	resume 0 --skip "$(grep -oE 'push:[01]:0' <<<"$stderr" | head -1)"
	ledger d
}

@test "of calls in several lines with one name, one whose input was edited is compared with the record of its place" {
	printf '#!/bin/sh\nread -r x\necho "$x" >>ledger\n' >do
	chmod +x do
	for x in a b c; do echo "echo $x | awf-step -q --effects external push -- ./do"; done >lines
	for at in 1 2 3; do
		rm -f ledger open
		flow "$(cat lines)"
		start 3
		old=$(sed -n "${at}s/echo \(.\).*/\1/p" lines)
		flow "$(sed "${at}s/echo ./echo X/" lines)"
		: >open
		resume 75
		[[ $stderr == *"push:$((at - 1)):0: its input is '\"X\"', the recorded one '\"$old\"'"* ]]
		resume 0 --redo "push:$((at - 1)):0"
		ledger X a b c
	done
}

@test "a file that is new in a loop takes neither the record of another, nor what was said of one in doubt" {
	printf '#!/bin/sh\n[ "$1" != 3 ] || [ -e open ] || kill -9 $$ $PPID\necho "$1" >>ledger\n' >do
	chmod +x do
	mkdir in
	touch in/1 in/2 in/3 in/4
	flow 'for f in in/*; do awf-step -n -q --effects external send -- ./do ${f#in/}; done'
	run -0 sh -c 'awf-run -n --id-file id ./flow.awf || :'
	: >in/0
	: >open
	resume 75
	[[ $stderr == *'send:2:0: ./do 3'*'say --redo send:2:0 or --skip send:2:0'* ]]
	resume 75 --skip send:2:0
	[[ $stderr == *"its definition is './do 0', the recorded one './do "*', and it '*' changed something before: '*'--new send'* ]]
	ledger 1 2 4
	resume 0 --skip send:2:0 --new send
	ledger 0 1 2 4

	# A call that is made for a recorded one leaves that to its own words.
	rm -f ledger open in/0
	flow 'for f in in/*; do awf-step -q --effects external send -- sh -c "cat >>ledger" <$f; done'
	for x in 1 2 3; do echo $x >in/$x; done
	rm in/4
	start 3
	echo 0 >in/0
	: >open
	resume 75
	[[ $stderr == *'send:0:0: its input is '*'with --redo send:0:0 or --skip send:0:0, or, if it is another call, with --new send'* ]]
	resume 0 --redo send:0:0
	ledger 0 1 2 3
}

@test "--new names steps that there are, in child runs too, and needs a run that goes on" {
	printf '%s\n' 'awf-step -n -q --effects external push -- sh -c "echo $1 >>ledger"' >child.awf
	flow 'for x in 1 2; do awf-run -n --name inner sh ./child.awf $x; done'
	start 3
	run -125 --separate-stderr awf-run -n --new push ./flow.awf
	[[ $stderr == *'--new: only with --resume, --continue or --fork' ]]
	resume 125 --new push:0:0
	[[ $stderr == *"--new: 'push:0:0' is one call: name its step" ]]
	resume 125 --new pusj
	[[ $stderr == *"--new: no recorded call is, or is of, 'pusj'"* ]]
	sed -i 's/echo/echo x/' child.awf
	: >open
	resume 0 --new inner.push
	ledger 1 2
}

@test "of a group that was edited each call is compared for itself, wherever the edit is" {
	flow 'awf-step -n -q --parallel all -- "awf-step -n -q --effects external one -- sh -c \"echo 1 >>ledger\"; : >made" "until [ -e made ]; do sleep 0.02; done; awf-step -n -q two -- false"'
	start 3
	sed -i 's/two -- false/two -- true/' flow.awf
	: >open
	resume 0
	ledger 1

	# A branch is the one that it was, at another position, too; what is done in a new one is new.
	local one='"awf-step -n -q --effects external one -- sh -c \"echo 1 >>ledger\"; : >made"'
	rm ledger open made
	flow "awf-step -n -q --parallel all -- $one \"until [ -e made ]; do sleep 0.02; done; false\""
	start 3
	flow "awf-step -n -q --parallel all -- \"awf-step -n -q --effects external three -- sh -c 'echo 3 >>ledger'\" $one \"true\""
	: >open
	resume 0
	ledger 1 3

	# Of a command in it that was edited the question is about that one.
	local kind
	for kind in --each --parallel '--max 1'; do
		rm ledger open
		flow "awf-step -n -q $kind g -- sh -c '$PUSH \"echo a >>ledger\"; ${PUSH/push/last} \"echo b >>ledger; false\"'"
		[ "$kind" != --parallel ] || flow "awf-step -n -q --parallel g -- '$PUSH \"echo a >>ledger\"; ${PUSH/push/last} \"echo b >>ledger; false\"'"
		start 3
		sed -i 's/; false"/; true"/' flow.awf
		: >open
		resume 75
		ledger a b
		[[ $stderr == *"/last:0:0: its definition is "* && $stderr != *'push:0:0'* ]]
		resume 0 --redo "$(grep -om1 -- '--redo [^ ]*' <<<"$stderr" | cut -d' ' -f2)"
		ledger a b b
	done
}

@test "a command and a variable that were edited together are asked about" {
	flow 'TO=ann; export TO; '"$PUSH"' '\''echo $TO >>ledger'\'
	start 3
	sed -i 's/TO=ann; export TO; //; s/echo \$TO/echo ann/' flow.awf
	: >open
	resume 75
	ledger ann
	resume 0 --skip push:0:0
	ledger ann
}

@test "child runs that differ by their standard input alone each go on as the one that was given the same" {
	local push='awf-step -q --effects external push -- sh -c "cat >>ledger; echo >>ledger"' id
	printf '%s\n' "$push" 'awf-step -n -q end -- test -e open' >child.awf
	flow 'printf a | awf-run ./child.awf' 'printf d | awf-run ./child.awf'
	start 3
	ledger a d
	flow 'printf d | awf-run ./child.awf' 'printf a | awf-run ./child.awf' 'printf c | awf-run ./child.awf'
	: >open
	resume 0
	[[ $stderr != *push* ]]
	ledger a c d
	# Each under its own id: of three, two have a further attempt.
	same "$(grep -l '"attempt":2,' "$AWF_STORAGE"/transcripts/* | wc -l)" 3

	# What is given through state lines, whose ids are others in each attempt, and slowly.
	patient
	rm -f ledger open
	slow() { printf '%s\n' "(awf-step -n say -- printf $1; sleep 0.2) | awf-run ./child.awf"; }
	flow "$(slow a)" "$(slow d)"
	start 3
	ledger a d
	flow "$(slow d)" "$(slow a)"
	: >open
	resume 0
	ledger a d
}

@test "what a child run that goes on with something else does not take over is asked about, and not repeated" {
	mkdir c
	printf '%s\n' 'awf-step -q --effects external push -- sh -c "cat >>../ledger; echo >>../ledger"' >child.awf
	local call='(cd c; printf d | awf-run "$AWF_WORKFLOW_DIR"/child.awf)'
	flow "$call"
	start 3
	flow "${call/ d/ a}" "$call"
	: >open
	resume 75
	ledger d
	[[ $stderr == *"push:0:0: its input is '\"a\"', the recorded one '\"d\"'"*'with --new child.push'* ]]
	[[ $stderr == *'push:0:0 has done the same before'*'--skip child:0:0/push:0:0'* ]]
	resume 0 --new child.push --skip child:0:0/push:0:0
	ledger a d
}

@test "of several variables with new paths the question names one that tells the recorded calls apart" {
	flow 'export LOG=$(mktemp)' \
		'(export SCRATCH=$(mktemp); '"$PUSH"' "echo x >>ledger")' '(export SCRATCH=$(mktemp); '"$PUSH"' "echo x >>ledger")'
	start 3
	: >open
	resume 75
	[[ $stderr == *'(SCRATCH was a new path: --ignore-env SCRATCH if no call depends on it)'* && $stderr != *LOG* ]]
	resume 0 --ignore-env SCRATCH
	ledger x x
}

@test "of several calls that ask about one record an answer is about the one that is most like it" {
	local loop='for i in a b; do '"${PUSH/push/send}"' '\''echo $1 >>ledger'\'' - $i; done' answers
	for answers in '--skip send:0:0 --skip send:1:0 --new send' '--skip send:0:0 --skip send:1:0'; do
		rm -f ledger open
		flow "$loop"
		start 3
		sed -i 's/a b/a c b/; s/- $i/- $i v2/' flow.awf
		: >open
		resume 75
		ledger a b
		# shellcheck disable=SC2086 # words
		case $answers in *--new*) resume 0 $answers ;; *) resume 75 $answers; ledger a b; resume 0 $answers --new send ;; esac
		ledger a b c
	done
}

@test "a child run whose text was edited goes on, and what it did is not made again" {
	local kid='awf-run -n --name kid -c '
	flow "$kid'${PUSH/push/send} \"echo a >>ledger\"; ${PUSH/push/last} \"test -e open\"'"
	start 3
	ledger a
	sed -i 's/"echo a/": mended; echo a/' flow.awf
	: >open
	resume 75
	[[ $stderr == *"send:0:0: its definition is "*'--skip kid:0:0/send:0:0'* ]]
	resume 0 --skip kid:0:0/send:0:0
	ledger a

	# A step in it that is renamed; the answer holds in the next attempt as well.
	rm ledger open
	flow "$kid'${PUSH/push/send} \"echo a >>ledger\"'"
	start 3
	sed -i 's/ send / sendmail /' flow.awf
	resume 3
	[[ $stderr == *'was done, and no file of the run names this step any more'*'--skip kid:0:0/send:0:0'* ]]
	: >open
	resume 75
	resume 0 --skip kid:0:0/send:0:0
	ledger a
}

@test "what the user has taken as done in a body that is tried again is not done then" {
	flow "${PUSH/push/mail} 'echo mail >>ledger; [ -e open ] || kill -9 \$\$'"
	start 3
	flow 'awf-step -n -q --retries 1 --delay 1ms --each g -- sh -c "'"${PUSH/push/mail}"' '\''echo mail >>ledger; [ -e open ] || kill -9 \$\$'\'' || exit; awf-step -n flaky -- sh -c '\''[ -e ok ] || { : >ok; exit 1; }'\''"'
	: >open
	resume 75 --skip mail:0:0
	[[ $stderr == *'resume with --skip mail:0:0 twice'* ]]
	resume 3 --skip mail:0:0 --skip mail:0:0
	[[ $stderr == *'not tried again, as g:0:0/mail:0:0 has changed something'* ]]
	ledger mail
}

@test "a time or an id that is new for each call does not tell calls apart whose words do" {
	flow 'for i in a b; do T=$(date +%s%N) '"$PUSH"' '\''echo $1 >>ledger'\'' - $i; done'
	start 3
	: >open
	resume 75
	[[ $stderr == *'push:0:0: T has another value (--ignore-env T if no call depends on it)'*'push:1:0: T has'* ]]
	ledger a b
	resume 0 --ignore-env T
	ledger a b
}

@test "of calls that ask about one in doubt that is skipped, one is left out if that is named twice, and none if once" {
	local loop='for i in a b; do '"${PUSH/push/send}"' '\''echo $1 >>ledger; [ $1 != b ] || [ -e open ] || kill -9 $$ $PPID'\'' - $i; done'
	# b is taken out, and two others come.
	flow "$loop"
	run -0 sh -c 'awf-run -n --id-file id ./flow.awf || :'
	sed -i 's/a b;/a c d;/' flow.awf
	: >open
	resume 75 --skip send:1:0
	[[ $stderr == *'--skip send:1:0 twice, to make it, with --new send as well'* ]]
	ledger a b
	resume 0 --skip send:1:0 --new send
	ledger a b c d

	# It is edited, and two others come.
	rm ledger open
	flow "$loop"
	run -0 sh -c 'awf-run -n --id-file id ./flow.awf || :'
	sed -i 's/a b;/a c b d;/; s/- $i/- $i v2/' flow.awf
	: >open
	resume 75 --skip send:1:0
	ledger a b
	resume 0 --skip send:0:0 --skip send:1:0 --skip send:1:0 --new send
	ledger a b c d
}

@test "an answer about one of several calls with the same words is about the one with its variables" {
	flow 'for f in c d; do FILE=$f '"$PUSH"' '\''[ $FILE != c ] || [ -e open ] || exit 1; echo $FILE >>ledger'\''; done'
	start 3
	ledger d
	sed -i 's/echo \$FILE/: edited; echo $FILE/' flow.awf
	: >open
	resume 75
	[[ $stderr == *'--redo push:0:0 or'*'--skip push:1:0, or'* ]]
	resume 0 --redo push:0:0 --skip push:1:0
	ledger c d
}

@test "--new reaches a step of a child run in a branch by the name that is printed, also in another run in its place" {
	flow "$PUSH 'echo x >>ledger'"
	start 3
	printf '%s\n' "$PUSH 'echo x >>ledger'" >child.awf
	flow ': push' 'awf-step -n -q --parallel g -- "awf-run -n ./child.awf" true'
	: >open
	resume 75
	[[ $stderr == *'--redo push:0:0 or --skip push:0:0'*'with --new g.child.push'* ]]
	ledger x
	local call
	call=$(jq -r 'select(.type == "step.call_workflow.started").payload.call' "$(transcript)" | tail -n 1)
	resume 0 --redo "$call" --new g.child.push
	ledger x x
}

@test "an agent in a group with items is not asked again when the text of the group was edited" {
	mkdir agents
	agent writer
	text 'the answer' >answer
	model_server --loop --answer answer
	flow 'printf "0\n1\n" | awf-step -i lines -q --each g -- sh -c '\''awf-step -a writer ask; true'\'''
	start 3
	same "$(bodies | grep -c .)" 2
	sed -i 's/; true/ ; true/' flow.awf
	: >open
	resume 0
	same "$(bodies | grep -c .)" 2
}

@test "in a parallel group whose branches were edited and stand elsewhere each asks about its own effect" {
	flow "awf-step -n -q --parallel g -- '$PUSH \"echo a >>ledger\"' '$PUSH \"echo b >>ledger\"' '$PUSH \"echo c >>ledger\"'"

	start 3
	flow "awf-step -n -q --parallel g -- '$PUSH \"echo b >>ledger\"' '$PUSH \"echo c  >>ledger\"'"
	: >open
	resume 75
	ledger a b c

	rm ledger open
	flow "awf-step -n -q --parallel g -- '$PUSH \"echo a >>ledger\"' '$PUSH \"echo b >>ledger\"' '$PUSH \"echo c >>ledger\"'"
	start 3
	flow "awf-step -n -q --parallel g -- '$PUSH \"echo z >>ledger\"' '$PUSH \"echo a >>ledger\"' '$PUSH \"echo b  >>ledger\"' '$PUSH \"echo c >>ledger\"'"
	: >open
	resume 75
	ledger a b c
	resume 0 --skip g:0:0/g:0:1/push:0:0 --new g.push
	ledger a b c z

	rm ledger open
	flow "awf-step -n -q --parallel g -- '$PUSH \"echo a >>ledger\"' '$PUSH \"echo b >>ledger\"' '$PUSH \"echo c >>ledger\"'"
	start 3
	flow "awf-step -n -q --parallel g -- '$PUSH \"echo c  >>ledger\"' '$PUSH \"echo b >>ledger\"' '$PUSH \"echo a >>ledger\"'"
	: >open
	resume 75
	resume 0 --skip g:0:0/g:0:2/push:0:0
	ledger a b c
}

@test "of a group with items each is compared with what was given the same, also when one was put in front" {
	flow 'awf-step -i lines -q --each g <items -- sh -c '\''x=$(jq -r .data); '"$PUSH"' "echo \$1 >>ledger" - $x'\'
	printf '%s\n' a b >items
	start 3
	ledger a b
	printf '%s\n' z a b >items
	sed -i 's/>>ledger/>> ledger/' flow.awf
	: >open
	resume 75
	ledger a b z
	resume 0 --skip g.push
	ledger a b z
}

@test "a child run in a group with items whose text was edited is asked about by names that are answered" {
	cat >flow.awf <<'X'
#!/usr/bin/env -S awf-run --
awf-step -i lines -q --each g <items -- sh -c 'x=$(jq -r .data); export x; awf-run -c "awf-step -n -q --effects external push -- sh -c \"echo \\\$x >>ledger\"; awf-step -n -q late -- test -e open"'
X
	chmod +x flow.awf
	printf '%s\n' a b >items
	start 3
	ledger a b
	sed -i 's/>>ledger/>> ledger/' flow.awf
	: >open
	resume 75
	ledger a b
	resume 0 $(grep -o -- '--skip [^ ,]*' <<<"$stderr" | sort -u)
	ledger a b
}

@test "what failed, and was done in another place since, is asked about when the edit is taken back" {
	local push="awf-step -n -q --effects external push -- sh -c \"test -e ok || exit 1; echo p >>ledger\"" kind around
	for kind in child group; do
		rm -f ledger ok open
		around="awf-run -c '$push'"
		[ $kind = child ] || around="awf-step -n -q --each grp -- sh -c '$push'"
		flow "$push"
		start 3
		: >ok
		flow "$around"
		resume 3
		ledger p
		flow "$push"
		: >open
		resume 75
		resume 0 $(grep -om1 -- '--skip [^ ,]*' <<<"$stderr")
		ledger p
		# and the other way
		rm -f ledger ok open
		flow "$around"
		start 3
		: >ok
		flow "$push"
		resume 3
		ledger p
		flow "$around"
		: >open
		resume 75
		resume 0 $(grep -om1 -- '--skip [^ ,]*' <<<"$stderr")
		[ $kind = group ] || [[ $stderr != *'not come to'* ]]
		ledger p
		# from one to another
		rm -f ledger ok open
		flow "$around"
		start 3
		: >ok
		flow "awf-run -c 'true; $push'" "$around"
		sed -i 3d flow.awf
		[ $kind = child ] || sed -i "2s/.*/awf-step -n -q --each other -- sh -c '$push'/" flow.awf
		resume 3
		ledger p
		flow "$around"
		: >open
		if [ $kind = child ]; then
			resume 0
		else
			resume 75
			resume 0 $(grep -om1 -- '--skip [^ ,]*' <<<"$stderr")
		fi
		ledger p
	done
}

@test "of child runs in a loop whose text was edited and one put in front, an answer is of the one with the same words" {
	flow 'for i in a b c; do awf-run -c "awf-step -n -q --effects external push -- sh -c '\''echo $i >>ledger'\''"; done'
	start 3
	sed -i "s/for i in a/for i in x a/; s/>>ledger'\"/>>ledger'; true\"/" flow.awf
	: >open
	resume 75
	resume 0 --skip pipeline:1:0/push:0:0 --skip pipeline:2:0/push:0:0 --skip pipeline:3:0/push:0:0 --new pipeline
	ledger a b c x
	[[ $stderr != *'not come to'* ]]
}

@test "what is new for each call beside what tells calls apart is asked about, and so is a variable that was renamed" {
	local push='awf-step -n -q --effects external push -- sh -c "echo \$FILE >>ledger"'
	mkdir in
	touch in/a in/b
	flow "for f in in/*; do export FILE=\$f STARTED=\$(date +%s%N); $push; done"
	start 3
	: >open
	resume 75
	[[ $stderr == *'push:0:0: STARTED has another value'*'push:1:0: STARTED has another value'* ]]
	ledger in/a in/b
	touch in/c
	resume 0 --ignore-env STARTED
	ledger in/a in/b in/c

	# A counter in a loop whose list has another order.
	rm ledger open
	flow "n=0; for f in a b; do n=\$((n+1)); export FILE=\$f N=\$n; $push; done"
	start 3
	sed -i 's/in a b/in b a/' flow.awf
	: >open
	resume 75
	ledger a b

	# The words of the calls tell them apart already: each is asked about its own.
	rm ledger open
	flow "n=0; for r in eu us; do n=\$((n+1)); export N=\$n; awf-step -n -q --effects external push -- sh -c \"echo \$r >>ledger\"; done"
	start 3
	sed -i 's/in eu us/in ca eu us/' flow.awf
	: >open
	resume 75
	[[ $stderr == *"push:0:0: its definition is 'sh -c echo ca"*'push:0:0: N has another value'*'push:1:0: N has another value'* ]]
	resume 75 --skip push:0:0 --skip push:1:0
	resume 0 --new push
	ledger ca eu us

	local kind
	for kind in step child; do
		rm -f ledger open
		flow 'for r in a b; do export REGION=$r; awf-run -n ./kid.awf; done'
		echo 'awf-step -n -q --effects external push -- sh -c "echo \$REGION >>ledger"' >kid.awf
		[ $kind = child ] || flow "for r in a b; do export REGION=\$r; $(<kid.awf); done"
		start 3
		sed -i 's/REGION/AREA/g' flow.awf kid.awf
		: >open
		resume 75
		ledger a b
	done
}

@test "a step whose name is new asks about an effect that is the same, whoever gave it the name" {
	printf 'all: x\nx:\n\t@awf-step -n -q --effects external push -- sh -c "echo x >>ledger"\n' >Makefile
	flow 'make -s'
	start 3
	sed -i 's/ push / publish /' Makefile
	: >open
	resume 75
	[[ $stderr == *'publish: push:0:0 has done the same before, under another name'* ]]
	resume 0 --skip push:0:0
	ledger x

	rm ledger open
	echo 1129 >today
	flow "${PUSH/push/push-\$(cat today)} 'echo x >>ledger'"
	start 3
	echo 1130 >today
	: >open
	resume 75
	resume 0 --skip push-1129:0:0
	ledger x

	# What a fork has asked about its resume asks about as well.
	rm ledger open
	flow "$PUSH 'echo x >>ledger'"
	start 3
	sed -i 's/ push / publish /' flow.awf
	run -75 awf-run --fork "$(<id)" --at gate
	run -75 awf-run --resume @
	ledger x
}

@test "where one effect becomes several calls an answer about it is said of one, and the others ask" {
	flow "printf '%s\\n' a b c d | xargs -n2 $PUSH 'for i; do echo \$i >>ledger; done' -"
	start 3
	sed -i 's/-n2/-n1/' flow.awf
	: >open
	resume 75
	resume 75 --skip push:0:0 --skip push:1:0
	[[ $stderr == *'push: has asked whether it is push:1:0, which another call has taken over: to make this one as well, resume with --new push, to take it as done, too, with --skip push'* ]]
	ledger a b c d
	cp -r "$AWF_STORAGE" other
	resume 0 --new push
	ledger a b b c d d
	rm -r "$AWF_STORAGE" ledger && mv other "$AWF_STORAGE"
	resume 0 --skip push
	[ ! -e ledger ]
	awf-replay -q

	# So do child runs; and what was said once is not asked again.
	printf '%s\n' 'for i; do' "$PUSH 'echo \$1 >>ledger' - \$i; done" >kid.awf
	for option in '' --no-transcript; do
		rm -f ledger open
		flow "printf '%s\\n' a b c d | xargs -n2 awf-run $option -n ./kid.awf"
		start 3
		sed -i 's/-n2/-n1/' flow.awf
		resume 3
		resume 3 --skip kid:0:0 --skip kid:1:0
		[[ $stderr == *'kid: has asked whether it is kid:1:0, which another call has taken over: '*' --skip kid'* ]]
		resume 3 --skip kid:0:0 --skip kid:1:0 --skip kid
		: >open
		resume 0
		ledger a b c d
	done
}

@test "what a loop has left in a variable tells no calls of other steps apart" {
	local after edit loop='for x in a b c; do export X=$x; '"$PUSH"' '\''echo $X >>ledger'\''; done'
	local mail="${PUSH/push/mail} 'echo mail >>ledger'"

	for after in "$mail" "awf-step -n -q --each g -- sh -c \"${PUSH/push/mail} 'echo mail >>ledger'\"" \
		"awf-run -n -c \"$mail\""; do
		for edit in 's/a b c/a b/' 's/a b c/c b a/' 's/a b c/a b c d/'; do
			rm -f ledger open
			[[ $after != awf-run* ]] || loop='for x in a b c; do export X=$x; awf-run -n -c '\'"$PUSH"' "echo \$X >>ledger"'\''; done'
			flow "$loop" "$after"
			start 3
			sed -i "$edit" flow.awf
			: >open
			resume 75
			[[ $stderr == *'X has another value'* ]]
			same "$(grep -c mail ledger)" 1
		done
	done

	# An answer is of the call that it is printed for, and what waits is not begun again.
	rm -f ledger open
	loop='for x in a b c; do export X=$x; '"$PUSH"' '\''echo $X >>ledger'\''; done'
	flow "$loop" "${PUSH/push/mail} 'echo mail >>ledger; test -e open || kill -9 \$\$ \$PPID'"
	run awf-run -n --id-file id ./flow.awf
	sed -i 's/a b c/a b/' flow.awf
	: >open
	resume 75
	[[ $stderr == *'--skip mail:0:0'* ]]
	resume 0 --skip mail:0:0
	ledger a b c mail
	rm -f ledger open
	flow "$loop" "awf-step -n -q --pending --effects external job -- sh -c 'echo job >>ledger; exit 75'"
	start 3
	sed -i 's/a b c/a b/' flow.awf
	: >open
	resume 75
	ledger a b c job
}

@test "groups that a variable tells apart: an item that is new, wherever it is, is made and takes the record of no other" {
	local kind list push="$PUSH \"echo \\\$X >>ledger\""
	for kind in '--each g -- sh -c' 'g -- sh -c' '--max 1 g -- sh -c' '--parallel g --'; do
		for list in 'N a b c' 'a N b c' 'a b c N' 'N c a b'; do
			rm -f ledger open
			flow "for x in a b c; do export X=\$x; awf-step -n -q $kind '$push'; done"
			start 3
			sed -i "s/a b c/$list/" flow.awf
			: >open
			resume 0
			ledger N a b c
			[[ $stderr != *'not come to'* ]]
		done
	done

	# Beside it there is another value at each start: each recorded call asks about itself.
	for list in 'N a b c' 'a N b c'; do
		rm -f ledger open
		flow 'export STARTED=$(date +%s%N)' "for x in a b c; do export X=\$x; awf-step -n -q --each g -- sh -c '$push'; done"
		start 3
		sed -i "s/a b c/$list/" flow.awf
		: >open
		resume 75
		[[ $stderr == *'STARTED has another value'* && $stderr != *'X has another value'* && $stderr != *'done the same before'* ]]
		resume 0 --skip g:0:0/push:0:0 --skip g:1:0/push:0:0 --skip g:2:0/push:0:0
		ledger N a b c
	done
}

@test "what does the same as an effect in a group that is used as a whole is made; what was moved out of its program asks" {
	local group new a="${PUSH/push/a} \"echo x >>ledger\"" again="${PUSH/push/again} \"echo x >>ledger\""
	local kid='awf-run -n ./kid.awf'
	for group in "sh -c '$a'" "awf-step -n -q h -- sh -c '$a'" 'sh ./group.sh' "awf-run -n -c '$a'" "$kid"; do
		for new in "$again" "$a" "awf-run -n -c '$again'" "awf-step -n -q k -- sh -c '$again'"; do
			rm -f ledger open
			printf '%s\n' "$a" | tee group.sh >kid.awf
			flow "awf-step -n -q --each g -- $group"
			start 3
			ledger x
			flow "awf-step -n -q --each g -- $group" "$new"
			: >open
			resume 0
			ledger x x
		done
	done
	# So is a child run that is the same as one in the group.
	rm -f ledger open
	flow "awf-step -n -q --each g -- $kid"
	start 3
	flow "awf-step -n -q --each g -- $kid" "$kid"
	: >open
	resume 0
	ledger x x

	# Nothing tells any more that the group has done it.
	for group in 'sh ./group.sh' "$kid" "sh -c 'eval \"\$(cat group.sh)\"'"; do
		for new in "$a" "$again"; do
			rm -f ledger open
			printf '%s\n' "$a" | tee group.sh >kid.awf
			flow "awf-step -n -q --each g -- $group"
			start 3
			flow "awf-step -n -q --each g -- $group" "$new"
			sed 's/^/# /' group.sh >kid.awf
			cat kid.awf >group.sh
			: >open
			resume 75
			[[ $stderr == *'has done the same before'* ]]
			resume 0 --skip "$(grep -o -- '--skip [^ ,]*' <<<"$stderr" | head -n1 | cut -d' ' -f2)"
			ledger x
		done
	done
}

@test "what was moved out of a child run asks, also where its file has another call of that name" {
	local around new x="${PUSH/push/a} \"echo x >>ledger\"" y="${PUSH/push/a} \"echo y >>ledger\""
	for around in '' 'awf-step -n -q --each g -- '; do
		for new in "$x" "${x/ a / b }" "awf-run -n -c '$x'"; do
			rm -f ledger open
			printf '%s\n' "$x" "$y" >kid.awf
			flow "${around}awf-run -n ./kid.awf"
			start 3
			flow "${around}awf-run -n ./kid.awf" "$new"
			sed -i 1d kid.awf
			: >open
			resume 75
			[[ $stderr == *'has done the same before'* ]]
			ledger x y
			# It is there still, and so this is another one.
			printf '%s\n' "echo more" "$x" "$y" >kid.awf
			resume 0
			ledger x x y
		done
	done
}

@test "a call in which another asks waits, whatever a shell, make or xargs has made of that" {
	local edited="${PUSH/push/a} 'echo a >>ledger'" body

	for body in "$edited || exit 1" "echo 1 | xargs $edited || exit" "awf-run -n -c \"$edited\" || exit 1" make; do
		rm -f ledger open
		printf '%s\n' "$body" "test -e open || awf-step -n -q late -- sh -c 'kill -9 \$PPID'" >in.sh
		if [ "$body" = make ]; then
			printf 'all:\n\t@%s\n' "$edited" >Makefile
			printf '%s\n' 'make -s || exit 2' "test -e open || awf-step -n -q late -- sh -c 'kill -9 \$PPID'" >in.sh
		fi
		printf '%s\n' "echo 1 | awf-step --each w -- sh in.sh | awf-step --rescue r -- sh -c 'echo rescued >>ledger' |
			awf-step -q --effects external pub -- sh -c 'echo pub >>ledger'" >flow.awf
		chmod +x flow.awf
		run awf-run -n --id-file id sh flow.awf
		[ "$status" -ne 0 ]
		sed -i 's/echo a/echo  a/' in.sh Makefile 2>/dev/null || true
		: >open
		resume 75
		ledger a
		resume 75
		ledger a
	done

	# A decision that a quiet step waits for, also in a child run.
	for body in 'echo x | awf-step -q --approve ok || exit 1' \
		"awf-run -n -c 'echo x | awf-step -q --approve ok' || exit 1"; do
		printf '%s\n' "$body" >in.sh
		printf '%s\n' 'echo 1 | awf-step -q --allow-failure --each w -- sh in.sh' >flow.awf
		run -75 awf-run -n --id-file id sh flow.awf
	done

	# Nor is the failure of a child run in which a call asks as well caught.
	rm -f ledger open
	printf '%s\n' "$edited" "awf-step -n -q bad -- sh -c 'test -e open && exit 3; kill -9 \$PPID'" >kid.awf
	printf '%s\n' "echo 1 | awf-step --each w -- awf-run -n ./kid.awf | awf-step --rescue r -- sh -c 'echo rescued >>ledger'" >flow.awf
	run awf-run -n --id-file id sh flow.awf
	sed -i 's/echo a/echo  a/' kid.awf
	: >open
	resume 75
	ledger a
	resume 0 --skip w:0:0/kid:0:0/a:0:0
	ledger a rescued

	# What else failed in what waits does not make the run fail.
	rm -f ledger open
	sed 's/awf-step -n -q bad/sleep 0; &/' kid.awf >in.sh
	printf '%s\n' "echo 1 | awf-step --each w -- sh in.sh | awf-step --rescue r -- sh -c 'echo rescued >>ledger'" >flow.awf
	run awf-run -n --id-file id sh flow.awf
	sed -i 's/echo  a/echo   a/' in.sh
	: >open
	resume 75
	ledger a
	resume 0 --skip w:0:0/a:0:0
	ledger a rescued

	# What a race has decided waits no more: then it is the failure that it looks like.
	printf '%s\n' "awf-step -n -q --parallel --strategy any p -- 'echo x | awf-step -q --approve ok' 'sleep 0.2'" 'exit 1' >in.sh
	printf '%s\n' 'echo 1 | awf-step -q --each w -- sh in.sh' >flow.awf
	run -3 awf-run -n --id-file id sh flow.awf
}

@test "a condition that was edited is asked again, as is one that left out a call that is to be made" {
	local when='echo 5 | awf-step -i json -q --effects external --when "jq -e \".data > 9\" >/dev/null" a -- sh -c "echo x >>ledger"'
	flow "$when"
	start 3
	: >open
	sed -i 's/> 9/> 3/' flow.awf
	resume 0
	ledger x

	# And the other way round: what was done is not done again.
	rm open
	flow "$when"
	sed -i 's/> 9/> 3/' flow.awf
	start 3
	: >open
	sed -i 's/> 3/> 9/' flow.awf
	resume 0
	ledger x x

	rm -f ledger open
	flow 'echo 5 | awf-step -q --effects external --when "test -e now" a -- sh -c "echo x >>ledger"'
	start 3
	touch now
	resume 3
	ledger
	: >open
	resume 0 --redo a
	ledger x
}

@test "a failure that was caught is not kept where what failed was edited" {
	local z="${PUSH/push/z} 'exit 7'" body
	for body in "echo x | awf-step --each a -- $z | awf-step --rescue r -q -- true" \
		"awf-step -n --allow-failure --each a -q -- $z" \
		"awf-step -n -q --parallel --strategy best-effort g -- \"${z//\"/}\" true" \
		"awf-step -n --allow-failure a -q -- awf-run -n -c \"$z\""; do
		rm -f ledger open
		flow "$body"
		start 3
		sed -i 's/exit 7/echo mended >>ledger/' flow.awf
		: >open
		resume 75
		[[ $stderr == *"its definition is 'sh -c echo mended >>ledger', the recorded one 'sh -c exit 7'"* ]]
		resume 0 "$(grep -o -- '--redo [^ ]*' <<<"$stderr" | head -1 | cut -d' ' -f1)" \
			"$(grep -o -- '--redo [^ ]*' <<<"$stderr" | head -1 | cut -d' ' -f2)"
		ledger mended
	done

	# What changes nothing is made without a question.
	rm -f ledger open
	flow "awf-step -n -q --parallel --strategy best-effort g -- 'awf-run -n -c \"exit 7\"' true"
	start 3
	sed -i 's/exit 7/echo mended >>ledger/' flow.awf
	: >open
	resume 0
	ledger mended

	# Elsewhere in the group: what failed stands.
	rm -f ledger open
	flow "awf-step -n -q --allow-failure --each a -- sh -c \"true; ${z/exit 7/echo z >>ledger; exit 7}\""
	start 3
	sed -i 's/true;/true ;/' flow.awf
	: >open
	resume 0
	ledger z
}

@test "what was moved into a child run or out of one gives its result there" {
	local one="awf-step -n --effects external one -- sh -c 'echo one >>ledger; echo r'"
	local two="awf-step -q --effects external two -- sh -c 'sed s/r/two/ >>ledger'"
	flow "$one | $two"
	start 3
	flow "awf-run -n -c \"$one | $two\""
	: >open
	resume 75
	[[ $stderr == *'--skip one:0:0'* ]]
	resume 75 --skip one:0:0
	[[ $stderr == *'two: two: two:0:0 has done the same before'* ]]
	resume 0 --skip two:0:0
	ledger one two
	awf-verify "$(<id)"
	awf-verify --determinism "$(<id)" >/dev/null
}

@test "of recorded calls the one that differs by its place alone comes before one with another variable" {
	local loop='export X=$x; awf-run -n -c "awf-step -n -q --effects external push -- sh -c '\''echo \$X >>ledger'\''"; done'
	flow "for x in i j; do $loop"
	start 3
	printf '%s\n' "for x in i j k; do $loop" >loop.sh
	flow 'awf-step --each -n -q wg -- sh loop.sh'
	: >open
	resume 75
	ledger i j k
	resume 0 --skip pipeline:0:0 --skip pipeline:1:0
	ledger i j k
}

@test "an effect in a group that a later attempt found, in one that the next took whole, is none that was not come to" {
	for g in "awf-step -n -q --parallel p -- \"$PUSH 'echo x >>ledger'; : >ended\" 'until [ -e ended ]; do sleep 0.02; done; awf-step -n -q first -- test -e open1'" \
		"awf-step -n -q --each p -- sh -ec \"awf-step -n -q --each q -- sh -ec '$PUSH \\\"echo x >>ledger\\\"'; awf-step -n -q first -- test -e open1\""; do
		rm -f open open1 ledger ended
		flow "$g"
		start 3
		: >open1
		resume 3
		ledger x
		: >open
		resume 0
		ledger x
		same "$stderr" ''
	done
	# A group that was made without it had not come to it.
	rm -f open open1 ledger
	flow "awf-step -n -q --each p -- sh w.sh"
	printf '%s\n' "awf-step -n -q --each q -- $PUSH 'echo x >>ledger'" "awf-step -n -q first -- test -e open1" >w.sh
	start 3
	sed -i 's/push/push2/' w.sh
	sed -i '/push2/d' w.sh
	: >open1
	resume 3
	: >open
	resume 0
	ledger x
	[[ $stderr == *'p:0:0/q:0:0: awf-step -n -q --effects external push -- sh -c echo x >>ledger, begun '*', is an effect of an earlier attempt that this one has not come to' ]]
}

@test "an effect that a call of a child run, or of the run around it, took over in an attempt before is none, either" {
	local step="$PUSH \"echo x >>ledger\"" in_child
	in_child="awf-run -n -c '$step'"
	for edit in "$step|$in_child" "$in_child|$step" "$in_child|awf-run -n --name kid -c 'true; $step'" \
		"$in_child|awf-run -n -c 'awf-run -n --name kid -c \"\$C\"'"; do
		rm -f open ledger
		export C=$step
		flow "${edit%%|*}"
		start 3
		flow "${edit#*|}"
		resume 3
		# shellcheck disable=SC2046
		resume 3 $(grep -o -- '--skip [^ ,]*' <<<"$stderr" | sort -u)
		: >open
		resume 0
		ledger x
		[[ $stderr != *'not come to'* ]]
	done
}

@test "a child run that has changed nothing, and is gone from the script, is no effect that was not come to" {
	flow "awf-step -n -q w -- awf-run -n -c 'awf-step -n -q look -- true'" "awf-run -n -c 'awf-step -n -q look -- true'"
	start 3
	flow
	: >open
	resume 0
	[[ $stderr != *'not come to'* ]]
}

@test "a condition that says no since it was edited undoes nothing: the effect is told of, and not made again" {
	flow "awf-step -n -q --effects external --when 'test -e flow.awf' push -- sh -c 'echo x >>ledger'"
	start 3
	sed -i 's/test -e flow.awf/test -e never/' flow.awf
	resume 3
	sed -i 's/test -e never/test -d ./' flow.awf
	resume 3
	ledger x
	sed -i 's/test -d ./test -e never/' flow.awf
	resume 3
	: >open
	resume 0
	ledger x
	[[ $stderr == *'push:0:0: sh -c echo x >>ledger, begun '*', is an effect of an earlier attempt that this one has not come to' ]]
	awf-replay "$(cat id)"
}

@test "what was done by a call that is left out now is asked about where another call does the same" {
	flow "awf-step -n -q --effects external --when true push -- sh -c 'echo x >>ledger'"
	start 3
	flow "awf-step -n -q --effects external --when false push -- sh -c 'echo x >>ledger'" \
		"awf-step -n -q --effects external send -- sh -c 'echo x >>ledger'"
	: >open
	resume 75
	[[ $stderr == *'send: '*push:0:0* ]]
	resume 0 --skip push:0:0
	ledger x
	[[ $stderr != *'not come to'* ]]
}

@test "a child run that asks before it goes on is a call that waits; what is taken over in a child run of it is told of nowhere" {
	local child="awf-run -n -c '$PUSH \"echo x >>ledger\"'" w
	for w in '' 'awf-step -n -q w -- '; do
		rm -f open ledger
		flow "$w$child"
		start 3
		echo "$child" >k.sh
		flow "${w}awf-run -n -c 'sh k.sh'"
		: >open
		resume 75
		[[ $stderr == *'pipeline:0:0/push:0:0: sh -c echo x >>ledger, begun '*', was done, and no file of the run names this step any more'* ]]
		run -0 --separate-stderr awf-replay "$(cat id)"
		awf-verify -q "$(cat id)"
		resume 75
		# shellcheck disable=SC2046
		resume 0 $(grep -o -- '--skip [^ ,]*' <<<"$stderr" | sort -u)
		ledger x
		[[ $stderr != *'not come to'* ]]
		awf-replay "$(cat id)"
	done
}

@test "--skip of a call in doubt is none for one that differs in more than a variable that is another at each start" {
	local loop='export RUN_PID=$$; for x in LIST; do STAGE=$x '"$PUSH"' '\''echo $STAGE >>ledger; test -e open || kill -9 $$ $PPID'\'' || exit; done'
	flow "${loop/LIST/a c}"
	run awf-run -n --id-file id ./flow.awf
	ledger a
	flow "${loop/LIST/b a c}"
	: >open
	resume 75
	[[ $stderr == *'push:0:0: sh -c '*', may or may not have happened: say --redo push:0:0 or --skip push:0:0'* ]]
	resume 75 --skip push:0:0
	[[ $stderr == *'to leave this call out, too, resume with --skip push:0:0 twice, to make it, with --new push as well'* ]]
	ledger a
	resume 0 --skip push:0:0 --new push
	ledger a b c
}

@test "a child run of an item that was not begun is no other one, although it does the same as one of another step there" {
	printf '%s\n' '#!/bin/sh' 'cat >>ledger' >child
	printf '%s\n' '#!/bin/sh' 'read -r line' \
		'case $line in *two*) [ -e second ] || { touch second; kill -9 "$(cat pid)"; sleep 5; } ;; esac' \
		'for kind in a b; do echo "$line" | KIND=$kind awf-run --name $kind ./child || exit; done' >each
	chmod +x child each
	printf 'one\ntwo\n' >in
	run awf-run -c 'echo $PPID >pid; awf-step -i lines --each case -- ./each' <in
	same "$(wc -l <ledger)" 2
	run -0 --separate-stderr awf-run --resume @
	same "$(wc -l <ledger)" 4
}
