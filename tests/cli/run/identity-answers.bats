#!/usr/bin/env bats
# bats file_tags=turn:3
# awf-run(1), "Resuming": the answers that a question prints are accepted, and do what it says.
# shellcheck shell=bash disable=SC2016,SC2154 # scripts expand their dollars; bats sets stderr
bats_require_minimum_version 1.5.0
load ../../support/helpers

# flow LINE...: the workflow; its last step fails until there is a file open.
flow() {
	printf '%s\n' '#!/usr/bin/env -S awf-run --' "$@" 'wait' 'awf-step -n -q gate -- test -e open' >flow.awf
	chmod +x flow.awf
}
start() { run -"$1" --separate-stderr awf-run -n --id-file id "${@:2}" ./flow.awf; }
resume() { run -"$1" --separate-stderr awf-run --resume "$(cat id)" "${@:2}"; }
# printed OPTION: as the last question has it, each once.
printed() { grep -o -- "$1 [^ ,]*" <<<"$stderr" | sort -u; }
ledger() { same "$(sort ledger 2>/dev/null)" "$(printf '%s\n' "$@")"; }
PUSH='awf-step -n -q --effects external push -- sh -c'

@test "a child run in a child run of its name: its calls and its steps have the names that are printed" {
	flow "export C=\"$PUSH 'echo x >>ledger'\"; awf-run -n -c \"\$C\""
	start 3
	sed -i 's/awf-run -n -c "$C"/awf-run -n -c "awf-run -n -c \\"\\$C\\""/' flow.awf
	: >open
	resume 75
	same "$(printed --skip)" '--skip pipeline:0:0@1/push:0:0'
	same "$(printed --new)" '--new pipeline.pipeline.push'
	# shellcheck disable=SC2046
	resume 0 $(printed --skip)
	ledger x

	rm open ledger
	start 3
	sed -i 's/>>ledger/>> ledger/' flow.awf
	: >open
	resume 75
	# shellcheck disable=SC2046
	resume 0 $(printed --new)
	ledger x x
}

@test "a child run is named by its attempt, or as it was in an attempt before, if no other has that name" {
	cat >g.sh <<-'F'
		export x=$(jq -r .data); awf-run -n -c "awf-step -n -q --effects external push -- sh -c \"echo \\\$x >>ledger; test -e open || exit 143\""
	F
	echo 'echo a | awf-step -i lines -q --each g -- sh g.sh' >flow.awf
	run -3 awf-run -n --id-file id flow.awf
	echo 'awf-step -n -q --each w -- sh -c "echo a | awf-step -i lines -q --each g -- sh g.sh"' >flow.awf
	resume 75
	[[ $stderr == *'g:0:0/pipeline:0:0/push:0:0: sh -c'*'may or may not have happened'* ]]
	resume 75 --skip g:0:0/pipeline:0:0@1/push:0:0
	same "$(printed --skip)" '--skip g:0:0/pipeline:0:0
--skip g:0:0/pipeline:0:0/push:0:0'
	: >open
	resume 0 --skip g:0:0/pipeline:0:0 --skip g:0:0/pipeline:0:0@1/push:0:0
	ledger a
}

@test "that a child run is the recorded one is said again, and again" {
	flow 'awf-run -n -c "awf-step -n -q --effects external push -- sh -c \"echo x >>ledger\"; awf-step -n -q inner -- test -e open"'
	sed -i '$d' flow.awf
	start 3
	sed -i '2s/^/export STAGE=prod; /' flow.awf
	resume 75
	same "$(printed --skip)" '--skip pipeline:0:0'
	resume 3 --skip pipeline:0:0
	: >open
	resume 0 --skip pipeline:0:0
	ledger x
}

@test "an effect that is in a child run in another place is asked about once, not by a name that it has in a copy" {
	mkdir a b
	flow 'awf-run -n --name kid -c '\''for x in a b; do export X=$x; (cd $x; awf-step -n -q --each fg -- sh -c "awf-step -n -q --effects external push -- sh -c \"test \\\$X = a -o -e ../open || exit 7; echo \\\$X >>../ledger\""); done'\'
	start 3
	ledger a
	flow 'awf-run -n --name kid -c '\''awf-step -n -q --each wg -- sh x.sh'\'
	sed -n 's/.*-c '\''\(for .*\)'\''$/\1/p' <<<'awf-run -c '\''for x in a b; do export X=$x; (cd $x; awf-step -n -q --each fg -- sh -c "awf-step -n -q --effects external push -- sh -c \"test \\\$X = a -o -e ../open || exit 7; echo \\\$X >>../ledger\""); done'\' >x.sh
	: >open
	resume 75
	same "$(printed --skip)" '--skip kid:0:0/fg:0:0/push:0:0'
	resume 0 --skip kid:0:0/fg:0:0/push:0:0
	ledger a b
}

@test "a child run that kept no transcript is taken as done, made again, or another one, as its question says" {
	local answer
	for answer in --skip --redo --new; do
		rm -f ledger open
		flow "awf-run --no-transcript -n -c \"$PUSH 'echo a >>ledger'; echo out\" >printed"
		start 3
		sed -i 's/>>ledger/>> ledger/' flow.awf
		: >open
		resume 75
		[[ $stderr == *'to take it as done, with --skip pipeline:0:0, or, if it is another one, with --new pipeline'* ]]
		# shellcheck disable=SC2046
		resume 0 $(printed "$answer")
		same "$(cat printed)" out
		same "$(wc -l <ledger)" "$([ "$answer" = --skip ] && echo 1 || echo 2)"
	done
}

@test "a step that waits for its result and was renamed waits for that, if it is to be taken over" {
	printf '%s\n' 'awf-step -n --pending --effects external batch -- sh -c "echo sub >>ledger; exit 75" | awf-step use -- sh -c "cat >>used"' >flow.awf
	local of
	for of in order order:0:0; do
		rm -f ledger used
		run -75 --separate-stderr awf-run -n --id-file id flow.awf
		sed -i 's/ batch / order /' flow.awf
		resume 75
		[[ $stderr == *'batch:0:0: '*', waits for its result, and no file of the run names this step any more.'*'--skip batch:0:0'* ]]
		resume 75 --skip batch:0:0
		[[ $stderr == *'awf-ctl complete order:0:0'* ]]
		run -0 awf-ctl complete "$of" <<<result
		resume 0
		same "$(cat used)" result
		ledger sub
		sed -i 's/ order / batch /' flow.awf
	done
}

@test "a branch that lost a race in the middle of its effect is not begun again because the group was edited" {
	flow "awf-step -n -q --parallel --strategy any g -- '$PUSH \"echo a >>ledger; sleep 30\"' 'until [ -s ledger ]; do sleep 0.02; done; sleep 1; true'"
	start 3
	ledger a
	sed -i 's/sleep 1; true/sleep 1; true; true/' flow.awf
	: >open
	run --separate-stderr awf-run --resume "$(cat id)"
	[[ $status = 0 || $status = 75 ]]
	[[ $stderr == *'g:0:0/g:0:0/push:0:0: may or may not have happened: resume with --redo g:0:0/g:0:0/push:0:0 or --skip g:0:0/g:0:0/push:0:0'* ]]
	ledger a
}

@test "a group whose effects were taken over elsewhere is not told of as one that was not come to" {
	flow "awf-step -n -q --each g -- $PUSH 'echo a >>ledger'"
	start 3
	sed -i 's/ g / h /' flow.awf
	: >open
	resume 75
	# shellcheck disable=SC2046
	resume 0 $(printed --skip)
	ledger a
	[[ $stderr != *'not come to'* ]]
}

@test "a group that stood in the attempt before, and is gone from the file, is told of at the end" {
	flow "awf-step -n -q --parallel g -- \"$PUSH 'echo a >>ledger'\" \"$PUSH 'echo b >>ledger'\""
	start 3
	resume 3
	sed -i '/--parallel/d' flow.awf
	: >open
	resume 0
	ledger a b
	[[ $stderr == *'not come to'* ]]
}

@test "renamed calls that make starts at the same time: what one has asked about is its own by the printed answer" {
	printf '%s\n' 'all: x0 x1' 'x0:' $'\t@cd c && awf-step -n w -- pwd | awf-step -q --effects external n -- ../effect' \
		'x1:' $'\t@sleep 0.05; cd d && awf-step -n w -- pwd | awf-step -q --effects external n -- ../effect' >t.mk
	mkdir c d
	printf '#!/bin/sh\ncase $(cat) in */d) [ -e ../db ] || exit 1 ;; esac\necho "${PWD##*/}" >>../ledger\n' >effect
	chmod +x effect
	flow 'make -s -k -j 3 -f t.mk all'
	start 3
	ledger c
	sed -i 's/ w / wy /; s/ n / ny /' t.mk
	: >db
	resume 3
	same "$(printed --skip)" '--skip n:0:0'
	ledger c d
	# Not answered, it asks again.
	run ! awf-run --resume "$(cat id)"
	[[ $output == *'--skip n:0:0'* ]]
	ledger c d
	: >open
	run awf-run --resume "$(cat id)" --skip n:0:0
	ledger c d
	[ "$status" = 0 ]
}

# answer: resumes until nothing is asked any more, with all --skip and --new that were printed so far.
answer() {
	local answers='' status=75
	for _ in 1 2 3 4 5 6; do
		answers=$(printf '%s\n' $answers $(printed --skip) $(printed --new) | paste -d ' ' - - | sort -u)
		# shellcheck disable=SC2086
		run --separate-stderr awf-run --resume "$(cat id)" $answers
		[ "$status" = 75 ] || break
	done
	same "$status" 0
}

@test "an answer is for the call that asked, also where its words have another time then: the one beside it asks again" {
	local of kind line list
	for of in "eval@for x in a b c; do $PUSH \"echo \$x >>ledger # \$(date +%s%N)\"; done" \
		"g@for x in a b c; do awf-step -n -q --each g -- sh -c \"$PUSH 'echo \$x >>ledger # \$(date +%s%N)'\"; done" \
		"items@printf '%s\\n' a b c | ${PUSH/-n -q/-i lines -q} \"cat >>ledger # \$(date +%s%N)\"" \
		"child@for x in a b c; do awf-run --no-transcript -n -c \"$PUSH 'echo \$x >>ledger'\" \$(date +%s%N); done"; do
		kind=${of%%@*} line=${of#*@}
		for list in 'N a b c' 'a N b c' 'a b c N'; do
			case_is_chosen 5 || continue
			rm -f ledger open
			flow "$line"
			start 3
			sed -i "s/a b c/$list/" flow.awf
			: >open
			resume 75
			ledger a b c
			same "$(printed --skip | grep -c .)" 3
			if [ "$kind" != items ]; then
				# shellcheck disable=SC2046
				[[ $stderr == *"--skip $asked"* ]]
		# shellcheck disable=SC2046
		resume 75 $(printed --skip)
				ledger a b c
			fi
			answer
			ledger N a b c
		done
	done
}

@test "answers that are given in turn do what they say: each is for the call that asked" {
	local kind skip
	# shellcheck disable=SC2016
	printf '%s\n' "$PUSH \"echo \$1 >>ledger\"" >k.awf
	for kind in "$PUSH \"echo \$f >>ledger # of \$#\"" 'awf-run -n ./k.awf $f $#' 'awf-run --no-transcript -n ./k.awf $f $#'; do
		rm -f ledger open
		flow "set -- x/a x/b; for f; do $kind; done"
		start 3
		sed -i 's#x/a x/b#x/a x/aa x/b#' flow.awf
		: >open
		resume 75
		skip=$(printed --skip)
		# shellcheck disable=SC2086
		resume 75 $skip
		ledger x/a x/b
		# shellcheck disable=SC2046,SC2086
		resume 0 $skip $(printed --new)
		ledger x/a x/aa x/b
	done
}

@test "a group whose calls were answered in turn: what was taken as done is not made again by what is said of another" {
	flow "for x in a b c; do awf-step -n -q --each g -- sh -c \"$PUSH 'echo \$x >>ledger # \$(date +%s%N)'\"; done"
	start 3
	sed -i 's/a b c/a N c/' flow.awf
	: >open
	resume 75
	resume 75 --skip g:0:0/push:0:0 --skip g:2:0/push:0:0
	same "$(printed --new)" '--new g.push'
	resume 0 --skip g:0:0/push:0:0 --skip g:2:0/push:0:0 --new g.push
	ledger N a b c
}

@test "a child run whose arguments have a time continues as often as that is said of it" {
	printf '%s\n' "$PUSH 'echo x >>ledger'" 'awf-step -n -q inner -- test -e open' >k.awf
	flow 'awf-run -n ./k.awf $(date +%s%N)'
	start 3
	resume 3
	same "$(printed --skip)" '--skip k:0:0'
	resume 3 --skip k:0:0
	resume 3 --skip k:0:0
	: >open
	resume 0 --skip k:0:0
	ledger x

	# Its effects are not asked about where it was continued.
	rm ledger open
	printf '%s\n' "$PUSH \"echo \$1 >>ledger\"" >k.awf
	flow 'for x in a b c; do awf-run -n ./k.awf $x $(date +%s%N); done'
	start 3
	sed -i 's/a b c/N a b c/' flow.awf
	: >open
	resume 75
	# shellcheck disable=SC2046
	resume 0 $(printed --skip) $(printed --new)
	ledger N a b c
}

@test "a call that is new since the others have asked takes none of their answers" {
	flow "for x in a b c; do $PUSH \"echo \$x >>ledger # \$(date +%s%N)\"; done"
	start 3
	sed -i 's/a b c/N a b c/' flow.awf
	: >open
	resume 75
	sed -i 's/N a b c/M N a b c/' flow.awf
	resume 75 --skip push:0:0 --skip push:1:0 --skip push:2:0 --new push
	[[ $stderr == *"echo M >>ledger"* ]]
	answer
	ledger M N a b c
}

@test "a step that died two levels inside what catches failures has died there, too, and is asked about" {
	# It kills the awf-step that runs it, once its effect is there.
	printf '%s\n' '#!/bin/sh' 'echo z >>ledger; p=$PPID' \
		'until grep -q awf-step /proc/$p/comm; do p=$(awk "/PPid/{print \$2}" /proc/$p/status); done' 'kill -9 $p; sleep 1' >kz
	chmod +x kz
	local inner='awf-step -n -q --each b -- sh -c "awf-step -n -q --effects external z -- ./kz"' line
	for line in "echo x | awf-step a -- sh -c '$inner' | awf-step --rescue r -q -- sh -c 'echo fallback >>ledger'" \
		"awf-step -n -q --parallel --strategy best-effort a -- '$inner' true" \
		"awf-step -n -q --allow-failure --each a -- sh -c '$inner'"; do
		rm -f ledger
		printf '%s\n' "$line" >flow.awf
		run -3 --separate-stderr awf-run -n --id-file id flow.awf
		ledger z
		resume 75
		[[ $stderr == *'b:0:0/z:0:0: ./kz'*'may or may not have happened'* ]]
	done
}

@test "a fork uses the result of a child run that kept no transcript" {
	flow "awf-run --no-transcript -n -c \"$PUSH 'echo a >>ledger'; echo out\" >printed"
	start 3
	: >open
	run -0 --separate-stderr awf-run --fork "$(cat id)" --at gate
	same "$(cat printed)" out
	ledger a
}

@test "a child run that has not asked is not begun anew because another one that asked about it is" {
	flow 'set -e' 'for x in a b; do STAGE=$x awf-run -n ./kid.awf; done'
	printf '%s\n' "$PUSH 'echo \$STAGE >>ledger'" 'awf-step -n -q last -- test -e open' >kid.awf
	start 3
	ledger a
	sed -i 's/in a b/in N a b/' flow.awf
	: >open
	resume 75
	[[ $stderr == *'STAGE has another value'* ]]
	resume 0 --redo kid:0:0
	ledger N a b
}

# How a loop gives an item and what is another at each start to a step, and what is another.
LOOPS=('for x in a b c; do echo "$x ID" | awf-step -q --effects external push -- sh -c "cut -d\" \" -f1 >>ledger"; done'
	'for x in a b c; do printf "{\"at\":\"%s\",\"x\":\"%s\"}\n" "ID" $x | awf-step -i json -q --effects external push -- sh -c "jq -r .x >>ledger"; done'
	'for x in a b c; do echo "$x ID"; done | awf-step -i lines -q --effects external push -- sh -c "cut -d\" \" -f1 >>ledger"'
	'for x in a b c; do awf-step -n -q --effects external push -- sh -c "echo $x >>ledger # ID"; done'
	'for x in a b c; do awf-step -n -q --effects external push -- sh -c "echo $x >>ledger" ID; done')
IDS=('$(date +%s%N)' '$(cat /proc/sys/kernel/random/uuid)' '$(mktemp -u)' '$(date +%H:%M:%S.%N)')

# bats test_tags=turn:3
# bats test_tags=ci
@test "what is another at each start stands in the input or the words: each call asks about its own record, and an item more about itself" {
	local line id list
	for line in "${LOOPS[@]}"; do
		for id in "${IDS[@]}"; do
			for list in 'N a b c' 'a N b c' 'a b c N'; do
				case_is_chosen 5 || continue
				rm -f ledger open
				flow "${line/ID/"$id"}"
				start 3
				sed -i "s/a b c/$list/" flow.awf
				: >open
				resume 75
				ledger a b c
				same "$(printed --skip | grep -c .)" 3
				# Of a stream all items are known: when the others have their records, N is new.
				# shellcheck disable=SC2046
				run --separate-stderr awf-run --resume "$(cat id)" $(printed --skip)
				[ "$status" = 0 ] || ledger a b c
				[ "$status" = 0 ] || answer
				ledger N a b c
			done
		done
	done
}

@test "each of many questions is printed: an answer to the others makes none that nobody has seen" {
	flow "${LOOPS[0]/ID/'$(date +%s%N)'}"
	sed -i 's/a b c/a b c d e f/' flow.awf
	start 3
	sed -i 's/f; do/f N; do/' flow.awf
	: >open
	resume 75
	same "$(grep -c '^awf-step: push: push:.*--new push' <<<"$stderr")" 7
	[[ $stderr != *'more like it'* ]]
	# shellcheck disable=SC2046
	resume 0 $(printed --skip) --new push
	ledger N a b c d e f
}

@test "an item that nobody was asked about yet does not get the answer of one that stands before it" {
	flow 'set -e' 'T=$(date +%s%N)' "for x in a b c; do $PUSH \"echo \$x >>ledger # \$T\"; done"
	start 3
	sed -i 's/a b c/N a b c/; s/# \$T/# more \$T/' flow.awf
	: >open
	resume 75
	same "$(printed --new)" '--new push'
	resume 75 --new push
	ledger N a b c
	[[ $stderr == *'echo a >>ledger # more'* ]]
}

@test "an item in front of calls that are numbered, with an id in their words: the last one asks, too" {
	flow 'i=0' "for x in a b; do i=\$((i+1)); awf-step -n -q --effects external pay\$i -- sh -c \"echo \$x >>ledger\" \$(cat /proc/sys/kernel/random/uuid) & done"
	start 3
	sed -i 's/in a b/in N a b/' flow.awf
	: >open
	resume 75
	ledger a b
	[[ $stderr == *'--new pay1'*'--new pay2'*'--new pay3'* || $stderr == *'--new pay3'* ]]
	# What is done under another name is taken as done.
	resume 75 --skip pay2:0:0
	ledger a b
}

@test "child runs without a transcript that are given a time: what was taken as done stays so, and one that was killed asks for itself" {
	local line='for x in a b c; do echo "$x $(date +%s%N)" | awf-run --no-transcript -c "awf-step -q --effects external push -- sh -c \"cut -d\\\" \\\" -f1 >>ledger\""; done'
	flow "$line"
	start 3
	sed -i 's/a b c/a b c N/' flow.awf
	: >open
	resume 75
	ledger a b c
	same "$(printed --skip)" "$(printf -- '--skip pipeline:%s:0\n' 0 1 2)"
	resume 75 --skip pipeline:0:0 --skip pipeline:1:0 --skip pipeline:2:0
	[[ $stderr == *'with --new pipeline'* ]]
	resume 0 --skip pipeline:0:0 --skip pipeline:1:0 --skip pipeline:2:0 --new pipeline
	ledger N a b c

	local answer
	flow 'for x in a b; do echo "$x $(date +%s%N)" | awf-run --no-transcript -c "awf-step -q --effects external push -- ./once"; done'
	printf '#!/bin/sh\ncut -d" " -f1 >>ledger\n[ -e once.done ] || [ "$(wc -l <ledger)" -lt 2 ] || { touch once.done; kill -9 $PPID; sleep 9; }\n' >once
	chmod +x once
	for answer in '--skip pipeline:1:0' '--new pipeline'; do
		rm -f ledger open once.done
		run awf-run -n --id-file id ./flow.awf
		ledger a b
		: >open
		resume 75
		[[ $stderr == *'--skip pipeline:0:0'*'--skip pipeline:1:0, or, if it is another'*'--new pipeline'* ]]
		# shellcheck disable=SC2086
		resume 0 --skip pipeline:0:0 $answer
		same "$(sort ledger | tr -d '\n')" "$([ "$answer" = '--new pipeline' ] && echo abb || echo ab)"
	done
}

@test "child runs without a transcript that were killed, and come in another order: what each asks is answered for it" {
	local feed answers
	printf '%s\n' '#!/bin/sh' 'read x' '[ ! -e calm ] || exec sh -c "echo $x >>ledger"' '[ $x = c ] || echo $x >>ledger' \
		'[ $x = a ] || { kill -9 "$(cut -d" " -f1 "$AWF_STORAGE/runs/$AWF_RUN_ID/lock")"; sleep 9; }' >once
	chmod +x once
	# What was there at the start is known later, what came after it is not.
	patient
	for feed in '<$x' '< <(until [ -e begun ] || [ -e calm ]; do sleep 0.01; done; echo $x)'; do
		rm -f ledger open calm
		for x in a b c; do echo "$x" >"$x"; done
		flow "for x in \$(cat order); do rm -f begun; awf-run --no-transcript -c ': >begun; awf-step -q --effects external push -- ./once' $feed; done"
		echo a b c >order
		run awf-run -n --id-file id --shell /bin/bash ./flow.awf
		ledger a b
		: >calm
		echo c b a >order
		run --separate-stderr awf-run --resume "$(cat id)"
		[[ $stderr == *': given "c": '*': given "b": '*'--skip pipeline:1:0'* ]]
		answers='--skip pipeline:1:0 --redo pipeline:2:0'
		[ "$feed" = '<$x' ] || answers='--skip pipeline:1:0 --new pipeline'
		echo b c a >order
		# shellcheck disable=SC2086
		resume 3 $answers
		ledger a b c
		: >open
		resume 0
		ledger a b c
	done
}

@test "an answer that is given again is none for another call in doubt that has the name now" {
	printf '%s\n' '#!/bin/sh' '[ -e "no.$1" ] || echo $1 >>ledger' '[ -e calm ] || kill -9 $$' >once
	chmod +x once
	flow 'for x in $(cat order); do awf-step -n -q --effects external push -- ./once $x; done'
	echo a b c >order
	touch no.b no.c
	start 3
	ledger a
	rm no.c
	echo a c b >order
	resume 3 --skip push:0:0 --redo push:1:0 --redo push:2:0
	ledger a c
	# As a shell has it in its history: b is push:2:0 now, and c is push:1:0.
	rm no.b
	: >calm
	resume 75 --skip push:0:0 --redo push:1:0 --redo push:2:0
	ledger a c
	[[ $stderr == *'push:1:0@2: ./once c, '*'--skip push:1:0@2'* ]]
	: >open
	resume 0 --skip push:1:0@2 --redo push:2:0@2
	ledger a b c
}

@test "answers about what an attempt has not come to are told, so that questions come to an end" {
	printf '%s\n' '#!/bin/sh' 'echo $1 >>ledger' '[ -e calm ] || [ $1 != b ] || kill -9 $$' >once
	chmod +x once
	echo "$PUSH './once \$1' - \$1" >kid.awf
	flow 'set -e' 'for x in a b c; do awf-run -n ./kid.awf $x; done'
	start 3
	: >calm
	: >open
	sed -i 's/kid.awf $x/kid.awf $x more/' flow.awf
	sed -i 's/- $1/- $1 $2/' kid.awf
	resume 75
	resume 75 --skip kid:1:0/push:0:0
	[[ $stderr == *'kid:0:0: its definition is '* ]]
	[[ $stderr == *'answers about calls that this attempt has not come to, to be given again: --skip kid:1:0/push:0:0' ]]
	# What is printed is all that is needed.
	local asked
	for asked in kid:0:0 kid:0:0/push:0:0 kid:1:0; do
		[[ $stderr == *"--skip $asked"* ]]
		# shellcheck disable=SC2046
		resume 75 $(printed --skip)
	done
	resume 0 --skip kid:1:0/push:0:0 --skip kid:1:0/push:0:0
	ledger a b c
	[[ $stderr != *'to be given again'* ]]
}

@test "calls whose text or input has other random bytes each time are known by their other words" {
	local random
	for random in '$(head -c 300 /dev/urandom | base64)' '"$(head -c 1000 /dev/urandom | base64 -w0)"'; do
		rm -f ledger open
		flow "for x in a b; do $PUSH 'echo \$1 >>ledger' - \$x $random; done" \
			"for x in c d; do echo \$x $random | awf-step -q --effects external post -- sh -c 'read x rest; echo \$x >>ledger'; done"
		start 3
		: >open
		resume 75
		# shellcheck disable=SC2046
		resume 0 $(printed --skip)
		ledger a b c d
	done
}

@test "--skip of a call that is named with its attempt is said once, and leaves out no call beside it" {
	printf '%s\n' '#!/bin/sh' 'echo $1 >>ledger' '[ -e calm ] || [ $1 != a ] || kill -9 $$' >once
	chmod +x once
	flow 'for x in $(cat list); do awf-step -n -q --effects external push -- ./once $x; done'
	echo a b >list
	start 3
	: >calm
	echo b N >list
	resume 3 --skip push:0:0
	[[ $stderr == *"its definition is './once N', the recorded one './once a'"*'--skip push:0:0 twice, to make it, with --new push as well'* ]]
	resume 75
	[[ $stderr == *'say --redo push:0:0@1 or --skip push:0:0@1'* ]]
	: >open
	resume 0 --skip push:0:0@1 --new push
	ledger N a b
}

@test "a long reason leaves room for the answers" {
	local names
	names=$(printf 'VARIABLE_WITH_A_LONG_NAME_%d=1 ' {1..30})
	flow "export $names; $PUSH 'echo a >>ledger'"
	start 3
	sed -i 's/=1/=2/g' flow.awf
	: >open
	resume 75
	same "$(printed --skip)" '--skip push:0:0'
	resume 0 --skip push:0:0
	ledger a
}

@test "a question names both values of a variable, and --redo of what has succeeded says what it does" {
	flow "export STAGE=staging; $PUSH 'echo a >>ledger'"
	start 3
	resume 3 --redo push:0:0
	[[ $stderr == *"--redo push:0:0: it has succeeded, so its result is used"*"--fork $(cat id) --at push:0:0"* ]]
	ledger a
	sed -i 's/=staging/=prod/' flow.awf
	: >open
	resume 75
	[[ $stderr == *'STAGE has another value (--ignore-env STAGE if no call depends on it): it is prod, the recorded one staging'* ]]
	resume 0 --redo push:0:0
	[[ $stderr != *'it has succeeded'* ]]
	ledger a a
}
