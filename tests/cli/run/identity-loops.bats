#!/usr/bin/env bats
# bats file_tags=turn:2
# awf-run(1), "Which recorded call is which": loops whose list and whose command were edited at once, and lists that
# have grown while their calls run at the same time: no call takes the record of another that is to come.
# shellcheck shell=bash disable=SC2016,SC2154 # scripts expand their dollars; bats sets stderr
bats_require_minimum_version 1.5.0
load ../../support/helpers

GATE='awf-step -n -q gate -- test -e open'
PUSH='awf-step -n -q --effects external push -- sh -c'
start() { run -3 --separate-stderr awf-run -n --id-file id flow.awf; }
resume() { run -"$1" --separate-stderr awf-run --resume "$(cat id)" "${@:2}"; }
# printed OPTION: as the last question has it, each once.
printed() { grep -o -- "$1 [^ ,]*" <<<"$stderr" | sort -u; }
ledger() { same "$(sort ledger 2>/dev/null)" "$(printf '%s\n' "$@")"; }

# bats test_tags=turn:3
@test "an item in front and a blank in the command: each call is compared with its own record, and asks" {
	local kind
	for kind in 'awf-step -n -q --parallel g --' 'awf-step -n -q --each g -- sh -c' 'awf-run -n -c' 'awf-step -n -q w -- sh -c' \
		'awf-step -n -q --max 1 m -- sh -c' eval; do
		rm -f open ledger
		printf '%s\n' "for x in a b c; do $kind \"$PUSH 'echo \$x >>ledger'\"; done" "$GATE" >flow.awf
		start
		sed -i 's/in a/in z a/; s/>>ledger/>> ledger/' flow.awf
		: >open
		resume 75
		ledger a b c
		same "$(grep '^awf-step: push: ' <<<"$stderr" | grep -c "its definition is 'sh -c echo [abc] >> ledger', the recorded one 'sh -c echo [abc] >>ledger'")" 3
		[[ $stderr == *'echo z >> ledger'* ]]
		local IFS=$' \n'
		# shellcheck disable=SC2046
		resume 75 $(printed --skip | grep push)
		ledger a b c
		# shellcheck disable=SC2046
		resume 0 $(printed --new)
		ledger a b c z
	done
}

@test "a child run that is not started does not leave its record to the next of its name" {
	printf '%s\n' "awf-run -n -c \"awf-step -n -q --effects external mk -- sh -c 'echo a >>ledger'\" && awf-run -n -c \"awf-step -n -q --effects external mk -- sh -c 'echo b >>ledger; test -e open'\"" \
		"awf-run -n -c \"for i in d e f; do awf-step -n -q --effects external \\\$i -- sh -c \\\"echo \\\$i >>ledger\\\"; done\"" "$GATE" >flow.awf
	start
	sed -i 's/>>ledger/>> ledger/g' flow.awf
	: >open
	resume 75
	ledger a b d e f
	# shellcheck disable=SC2046
	resume 75 $(printed --skip)
	ledger a b d e f
	same "$(printed --skip)" '--skip pipeline:1:0/mk:0:0'
}

@test "a list of child runs that has grown makes what is new, in whichever order they come" {
	printf '%s\n' "printf '%s\\n' \$(cat list) | xargs -P4 -n1 awf-run -n -c '$PUSH \"sleep 0.\\\$0; echo \\\$0 >>ledger\" \$1'" "$GATE" >flow.awf
	for _ in 1 2 3; do
		rm -f open ledger
		echo 1 2 3 >list
		start
		# shellcheck disable=SC2016
		sed -i 's/\$(cat list)/0 1 2 3/' flow.awf
		: >open
		resume 0
		ledger 0 1 2 3
		sed -i 's/0 1 2 3/$(cat list)/' flow.awf
	done
}

@test "a child run that is put into another one, between two loops of child runs, asks about itself" {
	local c='awf-step -n -q --effects external e -- sh -c "echo e >>ledger"' loop
	loop='xargs -P4 -n1 awf-run -n -c '\''awf-step -n -q --effects external xx -- sh -c "echo \$0 >>ledger" $1'\'
	printf '%s\n' "printf '%s\\n' a b c | $loop" "awf-run -n -c '$c'" "printf '%s\\n' g h | $loop" "$GATE" >flow.awf
	start
	printf '%s\n' '2c\' "awf-run -n -c 'awf-run -n -c \"${c//\"/\\\\\"}\"'" >edit.sed
	sed -i -f edit.sed flow.awf
	: >open
	resume 75
	same "$(printed --skip)" '--skip pipeline:3:0'
	resume 75 --new pipeline
	same "$(printed --skip)" '--skip pipeline:3:0@1/e:0:0'
	resume 0 --skip pipeline:3:0@1/e:0:0
	ledger a b c e g h
}

# bats test_tags=turn:2
@test "a call that failed before its effect is not taken for what its brothers in other items did" {
	printf '%s\n' 'export x=$(jq -r .data); awf-run -n -c "awf-step -n -q --effects external push -- sh -c \"test \\\$x = d && ! test -e open && exit 7; echo \\\$x >>ledger\""' >g.sh
	local edit answers
	for edit in '1s/^/export STAGE=prod; /' '1s/.*/awf-step -n -q --each w -- sh list.sh/'; do
		rm -f open ledger
		printf '%s\n' 'printf "%s\n" c d e | awf-step -i lines -q --each g -- sh g.sh' "$GATE" | tee flow.awf | head -1 >list.sh
		start
		ledger c e
		sed -i "$edit" flow.awf
		: >open
		resume 75
		answers=$(printed --skip)
		# shellcheck disable=SC2086
		resume 0 $answers
		ledger c d e
	done
}

@test "an item more, and its number in the words of all: each call asks about its own record, in whatever it is made" {
	local kind
	for kind in 'awf-step -n -q --parallel g --' 'awf-step -n -q --each g -- sh -c' 'awf-step -n -q w -- sh -c' \
		'awf-step -n -q --max 1 m -- sh -c' eval; do
		for list in 'N a b c' 'a N b c'; do
			case_is_chosen 3 || continue
			rm -f open ledger
			printf '%s\n' "set -- a b c; for x; do $kind \"$PUSH 'echo \$x >>ledger # of \$#'\"; done" "$GATE" >flow.awf
			start
			sed -i "s/-- a b c/-- $list/" flow.awf
			: >open
			resume 75
			ledger a b c
			same "$(printed --skip | grep -c push)" 3
			# shellcheck disable=SC2046
			resume 0 $(printed --skip | grep push) $(printed --new | grep push)
			ledger N a b c
		done
	done
}

@test "the items of a group have others beside them, and each was given the number of all: none is made again unasked" {
	printf '%s\n' "set -- a b c; printf '%s\n' \"\$@\" | sed \"s/\$/ \$#/\" | awf-step -i lines -q --each g -- awf-step -q --effects external push -- sh -c 'cat >>ledger'" "$GATE" >flow.awf
	start
	sed -i 's/-- a b c/-- N a b c/' flow.awf
	: >open
	resume 75
	ledger 'a 3' 'b 3' 'c 3'
}

@test "branches that stand elsewhere, and whose words have another number, each ask about their own record" {
	group() {
		printf 'awf-step -n -q --parallel g --'
		for x; do printf " '%s \"echo %s >>ledger # of %s\"'" "$PUSH" "$x" $#; done
		printf '\n%s\n' "$GATE"
	}
	group a b c >flow.awf
	start
	group N a b c >flow.awf
	: >open
	resume 75
	ledger a b c
	[[ $stderr != *"echo a >>ledger # of 4', the recorded one 'sh -c echo b"* ]]
	# shellcheck disable=SC2046
	resume 0 $(printed --skip) $(printed --new)
	ledger N a b c

	rm open ledger
	group a b c >flow.awf
	start
	group b c >flow.awf
	: >open
	resume 75
	same "$(printed --skip)" "$(printf '%s\n' '--skip g:0:0/g:0:1/push:0:0' '--skip g:0:0/g:0:2/push:0:0')"
	# shellcheck disable=SC2046
	resume 0 $(printed --skip)
	ledger a b c
}
