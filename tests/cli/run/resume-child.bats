#!/usr/bin/env bats
# bats file_tags=turn:2
# awf-run(1), "Resuming": child runs that did not come to be, and what is asked of them.
# shellcheck shell=bash disable=SC2016,SC2154 # bats sets stderr
bats_require_minimum_version 1.5.0
load ../../support/helpers

script() {
	printf '%s\n' '#!/bin/sh' "${@:2}" >"$1"
	chmod +x "$1"
}
resume() { run -"$1" --separate-stderr awf-run --resume "$(cat id)" "${@:2}" </dev/null; }

@test "a child that could not be made is made when its parent goes on" {
	script child.awf 'awf-step -n -r in -- echo done'
	script flow.awf 'ulimit -n "$FILES"; awf-run -n ./child.awf'
	export FILES
	# With so few descriptors that the call is recorded, and there is no run.
	for FILES in {5..40}; do
		awf-run --id-file id ./flow.awf </dev/null 2>/dev/null && skip "a child is made with few files"
		record="$AWF_STORAGE/transcripts/$(cat id).jsonl"
		child=$(jq -r 'select(.type == "step.call_workflow.completed" and .payload.error.code == "system").child_run_id' "$record")
		[ -z "$child" ] || [ -e "$AWF_STORAGE/transcripts/$child.jsonl" ] || break
		child=
	done
	[ -n "$child" ] || skip "no number of files lets the call alone be recorded"
	sed -i 's/ulimit[^;]*;//' flow.awf
	resume 0
	same "$output" "done"
	awf-verify "$(cat id)"
}

@test "a child that is given more than before goes on, though it was killed when it did" {
	script child.awf 'cat >bytes; { [ -e calm ] || [ "$(wc -l <bytes)" = 1 ] || kill -9 "$(cut -d" " -f1 "$AWF_STORAGE/runs/$AWF_RUN_ID/lock")"; } 2>/dev/null; cat bytes'
	script flow.awf 'awf-step -i lines each -- cat <in | awf-run ./child.awf | awf-step -s all -r -- jq -c .; awf-step -n -q last -- test -e calm'
	echo a >in
	run -3 awf-run --id-file id ./flow.awf </dev/null
	printf '%s\n' a b >in
	run awf-run --resume "$(cat id)" </dev/null
	[ "$status" -ne 0 ]
	touch calm
	resume 0
	same "$output" '["a","b"]'
}

@test "what a child's step asks names the call as whoever resumes its parent has to" {
	script inner.awf 'awf-step --effects external send -- tee -a ledger; [ -e ok ]'
	script middle.awf 'cat in | awf-run ./inner.awf'
	script flow.awf 'awf-run ./middle.awf'
	echo one >in
	run -1 awf-run --id-file id ./flow.awf </dev/null
	echo two >in
	touch ok
	resume 75
	[[ $stderr == *"--redo middle.awf:0:0/inner.awf:0:0/send:0:0 or --skip middle.awf:0:0/inner.awf:0:0/send:0:0"* ]] || [[ $stderr == *"--redo middle:0:0/inner:0:0/send:0:0 or --skip middle:0:0/inner:0:0/send:0:0"* ]]
	path=$(grep -o -- '--redo [^ ]*' <<<"$stderr" | head -n 1)
	# shellcheck disable=SC2086
	resume 0 $path
	same "$(paste -sd' ' ledger)" "one two"
}

@test "a child run whose reader was killed is asked about before anything runs" {
	printf 'awf-step -n --effects external send -- sh -c "echo x >>ledger; sleep 5"\n' >child.awf
	printf '%s\n' '#!/bin/sh' 'awf-step -n before -q -- sh -c "echo before >>runs"' \
		'awf-run -n sh ./child.awf | sh -c "echo \$\$ >reader; exec awf-step last -r -- cat"' >top.awf
	chmod +x top.awf
	awf-run -n --id-file id ./top.awf >/dev/null 2>&1 3>&- &
	eventually test -s ledger
	kill -9 "$(cat reader)"
	wait $! || :
	rm runs
	run -75 --separate-stderr awf-run --resume "$(cat id)" </dev/null
	[[ $stderr == *'/send:0:0: sh -c echo x'*', may or may not have happened: say --redo '*'/send:0:0' ]]
	[ ! -e runs ]
	same "$(cat ledger)" x
}

# A child run with an effect, and a later call that has failed.
effect_in_child() {
	script send 'echo "$1" >>ledger'
	kid="awf-run -n --name kid -c 'awf-step -n --effects external send -q -- ./send a'"
	last='awf-step -n --effects external last -q -- test -e ok'
	script flow.awf "$kid" "$last"
	run -3 awf-run -n --id-file id ./flow.awf
	: >ok
}

# bats test_tags=turn:2
@test "a child run in a group that may be a recorded one waits, and its answer is taken as it is printed" {
	effect_in_child
	script flow.awf "awf-step -n --parallel g -q -- \"$kid\"" "$last"
	resume 75
	[[ $stderr == *'--redo kid:0:0 or --skip kid:0:0, or, if it is another call, with --new g.kid'* ]]
	[[ $stderr == *'step g:0:0: waiting for a person' ]]
	same "$(jq -r 'select(.type == "run.completed").payload.status' "$AWF_STORAGE/transcripts/$(cat id).jsonl" | tail -1)" waiting
	awf-verify -q "$(cat id)"
	same "$(awf-verify --determinism "$(cat id)" 2>&1)" ''
	# It is another child run: each call in it asks for itself.
	resume 75 --new g.kid
	[[ $stderr == *'--skip kid:0:0/send:0:0, or, if it is another call, with --new g.kid.send'* ]]
	same "$(cat ledger)" a
	resume 0 --new g.kid.send
	same "$(cat ledger)" "a
a"
	awf-verify --determinism "$(cat id)"
}

@test "a question in a child run of a group of a child run in a group that is tried again waits" {
	effect_in_child
	script flow.awf "awf-step -n --each --retries 2 o -q -- awf-run -n --name mid -c 'awf-step -n --parallel g -q -- \"awf-run -n --name kid ./kid.awf\"'" "$last"
	script kid.awf 'awf-step -n --effects external send -q -- ./send a'
	resume 75
	[[ $stderr == *'--skip kid:0:0/send:0:0, or, if it is another call, with --new o.mid.g.kid.send'* ]]
	[[ $stderr == *'step o:0:0: waiting for a person' ]]
	same "$(cat ledger)" a
	resume 0 --skip kid:0:0/send:0:0
	same "$(cat ledger)" a
	awf-verify --determinism "$(cat id)"
}

@test "what names no effect on record decides nothing, and nothing runs" {
	script send 'echo "$1" >>ledger'
	script flow.awf 'echo run >>runs' "awf-run -n --name kid -c 'awf-step -n --effects external send -q -- ./send a'" \
		'awf-step -n last -q -- test -e ok'
	run -3 awf-run -n --id-file id ./flow.awf
	: >ok
	# The step that asks has been renamed, and stands in two kids by now.
	script flow.awf 'echo run >>runs' "awf-run -n --name kid -c 'awf-step -n --effects external post -q -- ./send a; awf-step send -n -q -- true'" \
		'awf-step -n last -q -- test -e ok'
	resume 75
	[[ $stderr == *'--redo kid:0:0/send:0:0 or --skip kid:0:0/send:0:0, or, if it is another call, with --new kid.post'* ]]
	rm runs
	for option in --skip --redo; do
		resume 125 "$option" kid:0:0/post:0:0
		[[ $stderr == *"awf-run: $option: kid:0:0/post:0:0 has done nothing but ask about a recorded call: "*"--redo kid:0:0/send:0:0 or --skip kid:0:0/send:0:0"* ]]
		resume 125 "$option" kid.post
		[[ $stderr == *"awf-run: $option: kid:0:0/post has done nothing but ask"* ]]
		resume 125 "$option" kid:0:0/past:0:0
		[[ $stderr == *"awf-run: $option: no recorded call in kid:0:0 is, or is of, 'past:0:0' (did you mean 'post:0:0'?)" ]]
	done
	resume 125 --redo kid.send --skip kid:0:0/send:0:0
	[[ $stderr == *"awf-run: --skip: kid:0:0/send:0:0 is named by --redo too" ]]
	[ ! -e runs ]
	same "$(cat ledger)" a
	resume 0 --skip kid:0:0/send:0:0
	same "$(cat ledger)" a
}

@test "a failure without effects that the run went on from can be decided about" {
	script flow.awf 'awf-step -n --allow-failure may -q -- test -e mended' 'awf-step -n last -q -- test -e ok'
	run -3 awf-run -n --id-file id ./flow.awf
	touch mended ok
	resume 0 --redo may
	same "$(jq -r 'select(.path == "may" and .type == "step.completed").payload.error.code' "$AWF_STORAGE/transcripts/$(cat id).jsonl" | paste -sd' ')" "exit_status null"
}

@test "a child run that kept no transcript is not run again if it succeeded, and asked about if it did not" {
	local push="awf-step -n -q --effects external push -- sh -c 'echo x >>ledger'"
	printf '%s\n' "$push" >kid.awf
	printf '%s\n' 'awf-run --no-transcript -n ./kid.awf' 'awf-step -n -q gate -- test -e open' >flow.awf
	run -3 awf-run -n --id-file id flow.awf
	: >open
	run -0 awf-run --resume "$(<id)"
	same "$(cat ledger)" x

	rm open
	printf '%s\n' "$push" 'awf-step -n -q gate -- test -e open' >kid.awf
	printf '%s\n' 'set -e' 'awf-run --no-transcript -n ./kid.awf' >flow.awf
	run -3 awf-run -n --id-file id flow.awf
	: >open
	run -75 --separate-stderr awf-run --resume "$(<id)"
	[[ $stderr == *'kid:0:0: the record of this child run, '*', is gone (--no-transcript?), and it may have changed something: to run it once more, resume with --redo kid:0:0'* ]]
	same "$(cat ledger)" "$(printf 'x\nx')"
	run -0 awf-run --resume "$(<id)" --redo kid:0:0
	same "$(cat ledger)" "$(printf 'x\nx\nx')"
}

@test "a child run without a transcript that was killed is asked about: what it did is not known" {
	local push="awf-step -n -q --effects external push -- sh -c 'echo x >>ledger; test -e open ||"
	printf '%s\n' 'awf-run --no-transcript -n ./kid.awf' >flow.awf
	printf '%s\n' "$push { touch began; sleep 30; }'" >kid.awf
	awf-run -n --id-file id flow.awf &
	eventually test -e began
	kill -9 $!
	wait $! || true
	: >open
	eventually resume 75
	[[ $stderr == *'kid:0:0: the record of this child run, '*', is gone'*'to run it once more, resume with --redo kid:0:0'* ]]
	same "$(cat ledger)" x
	resume 0 --redo kid:0:0
	same "$(cat ledger)" "$(printf 'x\nx')"

	# Its own awf-run alone.
	rm ledger open
	printf '%s\n' "$push kill -9 \$(ps -o ppid= -p \$(ps -o ppid= -p \$PPID))'; sleep 30" >kid.awf
	run awf-run -n --id-file id flow.awf
	[ "$status" -ne 0 ]
	: >open
	resume 75
	same "$(cat ledger)" x
}

# bats test_tags=turn:2
@test "a child run whose text, arguments or inputs are others than those of one that changed something is asked about" {
	local push='awf-step -n -q --effects external push -- sh -c' kind
	echo "$push \"echo x >>ledger # \$1 \$AWF_INPUT_at\"" >kid.awf
	for kind in "-c \"$push 'echo x >>ledger # \$(cat now)'\"" './kid.awf $(cat now)' '--input at=$(cat now) ./kid.awf'; do
		rm -f ledger open
		echo 1129 >now
		printf '%s\n' "awf-run --name kid -n $kind" 'awf-step -n -q gate -- test -e open' >flow.awf
		run -3 awf-run -n --id-file id flow.awf
		: >open
		echo 1130 >now
		resume 75
		[[ $stderr == *'kid:0:0: its definition is '*1130*', the recorded one '*1129*', and it may have changed something before: resume with --redo kid:0:0 or --skip kid:0:0, or, if it is another call, with --new kid'* ]]
		same "$(cat ledger)" x
		# It is that one, and goes on; in it the step is compared.
		resume 75 --skip kid:0:0
		[[ $stderr == *'--skip kid:0:0/push:0:0'* ]]
		resume 0 --skip kid:0:0 --skip kid:0:0/push:0:0
		same "$(cat ledger)" x
	done

	# A list that has grown: those that are others now ask about what is most like them, and one is new.
	rm ledger open
	mkdir in
	touch in/a in/b
	echo "$push \"echo \$1 >>ledger\"" >kid.awf
	printf '%s\n' 'set -- in/*; n=0; for f; do n=$((n + 1)); awf-run -n ./kid.awf $f $n $#; done' \
		'awf-step -n -q gate -- test -e open' >flow.awf
	run -3 awf-run -n --id-file id flow.awf
	touch open in/c
	resume 75
	same "$(cat ledger)" "$(printf 'in/a\nin/b')"
	resume 0 --skip kid:0:0 --skip kid:1:0 --new kid
	same "$(cat ledger)" "$(printf 'in/a\nin/b\nin/c')"

	# What stands in front of the others takes nothing that is theirs.
	rm ledger open
	printf '%s\n' 'for f in in/*; do awf-run -n ./kid.awf $f; done' 'awf-step -n -q gate -- test -e open' >flow.awf
	run -3 awf-run -n --id-file id flow.awf
	touch open in/0
	resume 75
	[[ $stderr == *"kid:0:0: its definition is '"*'in/0'* ]]
	resume 0 --new kid
	same "$(sort ledger)" "$(printf 'in/%s\n' 0 a b c)"

	# One that has changed nothing is made again without a question.
	rm ledger open
	echo 'awf-step -n -q look -- true' >kid.awf
	printf '%s\n' 'awf-run -n ./kid.awf $(cat now)' 'awf-step -n -q gate -- test -e open' >flow.awf
	run -3 awf-run -n --id-file id flow.awf
	: >open
	echo 1201 >now
	resume 0
}

@test "what was moved into a child run without a transcript asks which it is, and is answered as printed" {
	local push="awf-step -n -q --effects external push -- sh -c 'echo x >>ledger'" answer
	for answer in '--skip push:0:0' '--redo push:0:0' '--new kid.push'; do
		rm -f ledger open
		printf '%s\n' "$push" 'awf-step -n -q gate -- test -e open' >flow.awf
		run -3 awf-run -n --id-file id flow.awf
		: >open
		printf '%s\n' "awf-run --no-transcript --name kid -n -c \"$push\"" 'awf-step -n -q gate -- test -e open' >flow.awf
		resume 75
		[[ $stderr == *'resume with --redo push:0:0 or --skip push:0:0, or, if it is another call, with --new kid.push'* ]]
		same "$(cat ledger)" x
		# shellcheck disable=SC2086 # an option and its argument
		resume 0 $answer
		same "$(grep -c x ledger)" "$([ "${answer%% *}" = --skip ] && echo 1 || echo 2)"
	done

	# What had changed something before it asked is not begun again without a question.
	rm ledger open
	printf '%s\n' "$push" 'awf-step -n -q gate -- test -e open' >flow.awf
	run -3 awf-run -n --id-file id flow.awf
	: >open
	printf '%s\n' "awf-run --no-transcript --name kid -n -c \"awf-step -n -q --effects external first -- sh -c 'echo x >>first'; $push\"" \
		'awf-step -n -q gate -- test -e open' >flow.awf
	resume 75
	resume 75 --skip push:0:0
	[[ $stderr == *'kid:0:0: the record of this child run, '*', is gone'* ]]
	same "$(cat ledger first)" "$(printf 'x\nx')"
}

@test "what was moved out of a child run without a transcript may have been done there" {
	local a="awf-step -n -q --effects external a -- sh -c 'echo a  >>ledger'" b
	b=${a/ a / b } b=${b/echo a/echo b}
	moved() {
		rm -f ledger open
		printf '%s\n' "awf-run --no-transcript -n -c \"$a; $b\"" 'awf-step -n -q gate -- test -e open' >flow.awf
		run -3 awf-run -n --id-file id flow.awf
		: >open
		printf '%s\n' "$a" "$b" 'awf-step -n -q --effects external c -- sh -c "echo c >>ledger"' \
			'awf-step -n -q gate -- test -e open' >flow.awf
		resume 75
		[[ $stderr == *'a: may have been done before, in the child run pipeline:0:0, which has no record (--no-transcript)'*'resume with --redo pipeline:0:0 or --skip pipeline:0:0, or, if it is another call, with --new a'* ]]
		same "$(sort ledger)" "$(printf '%s\n' a b c)"
	}
	moved
	resume 75 --skip pipeline:0:0
	[[ $stderr == *'to make this one as well, resume with --new b'* ]]
	resume 0 --new b
	same "$(sort ledger)" "$(printf '%s\n' a b b c)"
	awf-verify "$(<id)"
	moved
	resume 0 --redo pipeline:0:0
	same "$(sort ledger)" "$(printf '%s\n' a a b b c)"
}

@test "a detached child run that is new in a run that goes on is run" {
	printf '%s\n' "awf-step -n -q --effects external push -- sh -c 'echo x >>ledger'" >kid.awf
	printf '%s\n' 'set -e' 'awf-step -n -q gate -- test -e open' 'awf-run --detach -n ./kid.awf' >flow.awf
	run -3 awf-run -n --id-file id flow.awf
	: >open
	run -0 awf-run --resume "$(<id)"
	eventually test -s ledger
}

@test "child runs that keep no transcript are known by what they read, also from a step" {
	patient
	echo 'awf-step -q --effects external mail -- sh -c "cat >>mails"' >kid.awf
	for feed in 'echo $x |' 'awf-step -n say -- echo $x |' 'cat $x | cat | '; do
		rm -f mails open
		for x in a b c N; do echo "$x" >"$x"; done
		printf '%s\n' "for x in a b c; do $feed awf-run --no-transcript ./kid.awf; done" 'awf-step -n -q gate -- test -e open' >flow.awf
		run -3 awf-run -n --id-file id flow.awf
		same "$(<mails)" "$(printf '%s\n' a b c)"
		# Nothing is edited, then the order is.
		run -3 --separate-stderr awf-run --resume "$(<id)"
		sed -i 's/a b c/c a b/' flow.awf
		run -3 --separate-stderr awf-run --resume "$(<id)"
		same "$(<mails)" "$(printf '%s\n' a b c)"
		# One item more is asked about, and is that alone which --new makes.
		sed -i 's/c a b/c N a b/' flow.awf
		run -3 --separate-stderr awf-run --resume "$(<id)"
		[[ $stderr == *': its standard input is another, and it may have changed something before: resume with --redo kid:'*', or, if it is another call, with --new kid'* ]]
		same "$(<mails)" "$(printf '%s\n' a b c)"
		run -3 --separate-stderr awf-run --resume "$(<id)" --new kid
		same "$(<mails)" "$(printf '%s\n' a b c N)"
		: >open
		run -0 --separate-stderr awf-run --resume "$(<id)"
		same "$(<mails)" "$(printf '%s\n' a b c N)"
		[[ $stderr != *'not come to'* ]]
		run -0 awf-verify -q "$(<id)"
	done
}

@test "one whose input was edited is taken as done, and known again; it is made again by --redo" {
	echo 'awf-step -i lines -q --effects external mail -- sh -c "cat >>mails"' >kid.awf
	for answer in skip redo; do
		rm -f mails open
		for x in a b c N; do echo "$x" >"$x"; done
		printf '%s\n' 'for x in a b c; do awf-run --no-transcript ./kid.awf <$x; done' 'awf-step -n -q gate -- test -e open' >flow.awf
		run -3 awf-run -n --id-file id flow.awf
		sed -i 's/a b c/N b c/' flow.awf
		run -3 --separate-stderr awf-run --resume "$(<id)"
		[[ $stderr == *'kid:0:0: given "N": its standard input is another'* ]]
		run -3 --separate-stderr awf-run --resume "$(<id)" --$answer kid:0:0
		: >open
		run -0 --separate-stderr awf-run --resume "$(<id)"
		[ "$answer" = redo ] || same "$(<mails)" "$(printf '%s\n' a b c)"
		[ "$answer" = skip ] || same "$(<mails)" "$(printf '%s\n' a b c N)"
		awf-replay "$(<id)"
	done
}
