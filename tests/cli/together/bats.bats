#!/usr/bin/env bats
# tests/support/bats.bash, which runs these files: a test that should fail is seen to fail.
bats_require_minimum_version 1.5.0

load ../../support/helpers

# Stdin: a file of tests, its lines after a "|", as they would be tests of this file, too.
tell() {
	sed 's/^|//' >t.bats
	run --separate-stderr bash "$ROOT/tests/support/bats.bash" t.bats "$@"
}

# RESULT WHAT-IT-SAYS: of a test whose body is stdin.
body() {
	printf '@test "x" {\n%s\n}\n' "$(cat)" >t.bats
	run --separate-stderr bash "$ROOT/tests/support/bats.bash" t.bats
	same "$(sed 1d <<<"$output")" "$1 1 x$2"
	same "$status" "$([ "$1" = ok ] && echo 0 || echo 1)"
}

@test "a test fails where a command of it does, at any depth, and nothing after it is run" {
	body ok '' <<<true
	body 'not ok' $'\n# t.bats:3: false\n# first' <<<$'echo first; \nfalse\necho second'
	body 'not ok' $'\n# t.bats:2: [[ a == b ]]' <<<'[[ a == b ]]'
	body 'not ok' $'\n# t.bats:2: f() { false; true; }\n# t.bats:3: f' <<<$'f() { false; true; }\nf'
	body 'not ok' $'\n# t.bats:2: x=$(false)' <<<$'x=$(false)\ntrue'
	body 'not ok' $'\n# t.bats:3: true | false' <<<$'true\ntrue | false\ntrue'
	body 'not ok' $'\n# t.bats:2: (exit 7)' <<<$'(exit 7)\ntrue'
	body 'not ok' $'\n# t.bats:3: [ $i = 1 ]' <<<$'for i in 1 2 3; do\n[ $i = 1 ]\ndone'
	body ok '' <<<$'! true\nx=$(false) || true\nif false; then true; fi\nfalse & wait'
}

@test "a test that leaves, or is killed, has failed" {
	body 'not ok' $'\n# it left with exit status 0' <<<'exit 0'
	body 'not ok' $'\n# it left with exit status 3\n# why' <<<'echo why; exit 3'
	body 'not ok' $'\n# its shell ended with 137' <<<'kill -9 $BASHPID'
}

@test "run fails unless the command ended as is said" {
	body 'not ok' $'\n# t.bats:2: run -0 false\n# it ended with 1, not with 0: false' <<<$'run -0 false\ntrue'
	body 'not ok' $'\n# t.bats:2: run -1 true\n# it ended with 0, not with 1: true' <<<'run -1 true'
	body 'not ok' $'\n# t.bats:2: run ! true\n# it ended with 0: true' <<<'run ! true'
	body 'not ok' $'\n# t.bats:2: run --seperate-stderr true\n# run: there is no option --seperate-stderr' \
		<<<'run --seperate-stderr true'
	body ok '' <<<$'run -0 true\nrun ! false\nrun false\nrun -3 sh -c "exit 3"\n[ "$status" = 3 ]'
}

@test "run keeps what the command said: all, and the lines that are not empty" {
	run -0 --separate-stderr printf '\n a  *\n\nb\n\n'
	same "$output" $'\n a  *\n\nb'
	same "${#lines[@]}:${lines[0]}:${lines[1]}:$stderr:${#stderr_lines[@]}" '2: a  *:b::0'
	run -4 --separate-stderr sh -c 'echo out; echo err >&2; echo more >&2; exit 4'
	same "$output:$stderr:${stderr_lines[1]}" $'out:err\nmore:more'
	run sh -c 'echo out; echo err >&2'
	same "$output" $'out\nerr'
	both() { false; echo "$wanted"; }
	wanted=reached
	run -0 both
	same "$output" reached
	[[ $- == *e* ]]
}

@test "teardown is run whatever the test did, and its failure is one" {
	tell <<-'EOF'
		|teardown() { echo "torn" >&3; [ ! -e "$BATS_TEST_TMPDIR/bad" ]; }
		|@test "well" { true; }
		|@test "fails" { false; }
		|@test "is left out" { skip "no time"; }
		|@test "cannot be torn down" { : >"$BATS_TEST_TMPDIR/bad"; }
	EOF
	same "$output" $'1..4\ntorn\nok 1 well\ntorn\nnot ok 2 fails\n# t.bats:3: @test "fails" { false; }
torn\nok 3 is left out # skip no time\ntorn\nnot ok 4 cannot be torn down\n# teardown() ended with 1'
	same "$status" 1
}

@test "a test has variables, functions and a directory of its own; setup_file is run once" {
	tell <<-'EOF'
		|setup_file() { export ONCE=$((${ONCE-0} + 1)); }
		|setup() { cd "$BATS_TEST_TMPDIR"; }
		|f() { echo outer; }
		|@test "one" { x=1; f() { echo inner; }; : >mine; cd /; }
		|@test "two" { [ -z "${x-}" ]; [ "$(f)" = outer ]; [ ! -e mine ]; [ "$ONCE" = 1 ]; [ "$PWD" != / ]; }
	EOF
	same "$output" $'1..2\nok 1 one\nok 2 two'
}

@test "teardown_file is run once, and where setup_file failed; its failure is one of the file" {
	local tests=$'@test "a" { :; }\n@test "b" { :; }\nteardown_file() { echo torn; '
	tell <<<"$tests [ -e none ]; }"
	same "$status:$output" $'1:1..2\nok 1 a\nok 2 b'
	same "$stderr" $'torn\nteardown_file ended with 1'
	tell <<<"$tests }"$'\nsetup_file() { false; }'
	same "$status:$output:$stderr" '1:1..2:torn'
}

@test "tags say which tests are run" {
	tests=$'@test "a" { :; }\n# bats test_tags=torture\n@test "b" { :; }\n@test "c" { :; }'
	tell <<<"$tests"
	same "$output" $'1..3\nok 1 a\nok 2 b\nok 3 c'
	tell torture <<<"$tests"
	same "$output" $'1..1\nok 1 b'
	tell '!torture' <<<"$tests"
	same "$output" $'1..2\nok 1 a\nok 2 c'
	tell '!torture' '!ci' <<<"$tests"$'\n# bats test_tags=ci\n@test "d" { :; }'
	same "$output" $'1..2\nok 1 a\nok 2 c'
	tell other <<<"$tests"
	same "$status:$output" '0:1..0'
}

@test "in make check tests with the tag turn:N take turns, and so do cases of a list; elsewhere all are run" {
	tests=$'# bats test_tags=turn:2\n@test "a" { :; }\n@test "b" { :; }\n# bats test_tags=turn:2\n@test "c" { :; }\n# bats test_tags=ci\n@test "d" { :; }'
	names() { sed -n 's/^ok [0-9]* //p' <<<"$output" | paste -sd' '; }
	while IFS='|' read -r tier turn want; do
		AWF_TEST_TIER=$tier AWF_TEST_TURN=$turn tell '!torture' '!ci' <<<"$tests"
		same "$(names)" "$want"
		AWF_TEST_TIER=$tier AWF_TEST_TURN=$turn tell <<<"# bats file_tags=turn:4"$'\n'"${tests//test_tags=turn:2/}"
		same "$(names | wc -w)" "$([ "$tier" = check ] && echo 1 || echo 4)"
	done <<-'END'
		check|0|a b
		check|1|b c
		check|20786|a b
		ci|1|a b c
	END
	chosen() { for i in 1 2 3 4 5 6; do if case_is_chosen 3; then echo "$i"; fi; done | paste -sd' '; }
	same "$(AWF_TEST_TIER=check AWF_TEST_TURN=0 chosen),$(AWF_TEST_TIER=check AWF_TEST_TURN=1 chosen),$(AWF_TEST_TIER=ci chosen)" \
		'1 4,3 6,1 2 3 4 5 6'
}

@test "a file that cannot be read is not run" {
	tell <<<$'@test "a" { :; }\n@test "a" { :; }'
	same "$status:$output:$stderr" '2::t.bats:2: a test before this has the same name: a'
	tell <<<$'  @test "a" { :; }'
	same "$status:$output:$stderr" '2::t.bats:1: this is not @test "NAME" {'
	tell <<<$'@test "a" {\n'
	same "$output" ''
	[ "$status" -ne 0 ]
	tell <<<$'load ../nowhere\n@test "a" { :; }'
	same "$output" ''
	[ "$status" -ne 0 ]
	tell <<<$'setup_file() { false; }\n@test "a" { :; }'
	same "$output" 1..1
	[ "$status" -ne 0 ]
	run -2 bash "$ROOT/tests/support/bats.bash" none
	same "$output" 'bats.bash: there is no file none'
}

@test "what a test leaves behind is gone with the file" {
	mkdir there
	TMPDIR=$PWD/there tell <<<$'@test "a" { : >"$BATS_TEST_TMPDIR/x"; ls "$TMPDIR" >&3; }'
	[[ $output == $'1..1\nbats-'*$'\nok 1 a' ]]
	same "$(ls there)" ''
}

@test "an invariant that did not hold fails the run, though a test accepts the failure" {
	mkdir -p build/tests/support
	printf '%s\n' '@test "x" {' "printf '%s\\n' 'x.c:1: 1 == 2 does not hold' >>\"\$AWF_INVARIANT_LOG\"" '}' >t.bats
	run -1 --separate-stderr env BUILD="$PWD/build" AWF_TEST_PATIENCE=real sh "$ROOT/tests/run" "$PWD/t.bats"
	[[ $output == *'== invariants that did not hold'*'x.c:1: 1 == 2 does not hold'*'1 passed, 1 failed'* ]]
	sed -i 's/>>.*/>\/dev\/null/' t.bats
	run -0 --separate-stderr env BUILD="$PWD/build" AWF_TEST_PATIENCE=real sh "$ROOT/tests/run" "$PWD/t.bats"
}
