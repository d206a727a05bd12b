#!/usr/bin/env bats
# awf-run --dry-run: what the steps of a workflow would ask or run.
# shellcheck disable=SC2016,SC2154 # $variables of inner shells; bats sets stderr
bats_require_minimum_version 1.5.0
load ../../support/helpers

# Nothing was recorded, and no file is left.
nothing_left() { [ ! -e "$AWF_STORAGE" ] && [ -z "$(ls "$BATS_TEST_TMPDIR/tmp")" ]; }
prepare() {
	mkdir "$BATS_TEST_TMPDIR/tmp"
	export TMPDIR=$BATS_TEST_TMPDIR/tmp
}

@test "what each step would be given, in turn; nothing is asked, run or recorded" {
	printf -- '---\nname: writer\nmodel: openai/m\n---\nWrite of it.\n' >writer.md
	cat >flow <<-'END'
		#!/usr/bin/env -S awf-run --
		awf-step -i lines fetch -- touch fetched | awf-step -a writer.md write | awf-step -r -o made mail -- touch mailed
		awf-step -n --parallel both -- 'awf-step a -- touch a' 'awf-step b -- touch b' >/dev/null
	END
	chmod +x flow
	run -0 --separate-stderr awf-run --dry-run ./flow <<<$'one\ntwo'
	same "$stderr" ''
	same "$(jq -r .step <<<"$output" | paste -sd' ')" 'fetch fetch write mail both'
	same "${lines[0]}" '{"step":"fetch","command":["touch","fetched"],"input":"one"}'
	same "$(jq -r 'select(.step == "write") | [.model, .system, .messages[0].blocks[0].text] | join("|")' <<<"$output")" \
		$'m|Write of it.|(what fetch gives)'
	same "$(jq -r 'select(.step == "mail").input' <<<"$output")" '(what write gives)'
	[ ! -e fetched ] && [ ! -e mailed ] && [ ! -e a ] && [ ! -e made ]
	nothing_left
}

@test "inputs, a workspace, workflows within, and what the workflow runs itself" {
	mkdir there
	printf 'awf-step -n in -p "{{inputs.topic}}" -m openai/m\n' >inner.awf
	run -3 --separate-stderr awf-run --dry-run -n --input topic=cells --workspace there \
		-c 'touch own; awf-run --input topic="of $AWF_INPUT_topic" "$1"; cat; exit 3' "$PWD/inner.awf"
	same "$(jq -r '.messages[0].blocks[0].text' <<<"$output")" 'of cells'
	[ -e there/own ]
	nothing_left
}

@test "what is wrong is said, and what came before it told" {
	run -2 --separate-stderr awf-run --dry-run -n -c 'set -e; awf-step -n a -- true; awf-step -n b -a nobody.md -p hi'
	same "$output" '{"step":"a","command":["true"],"input":null}'
	[[ $stderr == 'awf-step: '*nobody.md* ]]
	run -127 --separate-stderr awf-run --dry-run none
	[[ $stderr == 'awf-run: none: command not found'* ]]
	while read -r options; do
		# shellcheck disable=SC2086
		run -125 --separate-stderr awf-run --dry-run $options
		same "$stderr" 'awf-run: --dry-run: only with -c, -n, --input, --shell and --workspace: there is no run'
	done <<-'END'
		--resume @
		--keep 3d -c true
		--detach -c true
	END
	TMPDIR=$PWD/none run -125 --separate-stderr awf-run --dry-run -n -c true
	[[ $stderr == "awf-run: $PWD/none/awf-dry-run."*': unable to make the file: No such file or directory' ]]
	run -125 --separate-stderr sh -c 'awf-run --dry-run -n -c "awf-step -n a -- true" >/dev/full'
	same "$stderr" 'awf-run: stdout: unable to write: No space left on device'
	run -4 --separate-stderr env AWF_DRY_RUN=/none/x awf-step -n a -- true
	same "$stderr" 'awf-step: /none/x: unable to write: No such file or directory'
	nothing_left
}

@test "in a run it runs nothing either, and in it no recorded run goes on" {
	echo "awf-step -n -q --effects external push -- sh -c 'echo x >>ledger'" >kid.awf
	run -0 awf-run -n -c 'awf-run --dry-run -n ./kid.awf'
	same "$output" "{\"step\":\"push\",\"command\":[\"sh\",\"-c\",\"echo x >>ledger\"],\"input\":null}"
	[ ! -e ledger ]
	awf-run -n -c false || :
	local option
	for option in --resume '--at x --fork'; do
		run -125 --separate-stderr awf-run --dry-run -n -c "awf-run $option @"
		same "$stderr" "awf-run: ${option##* }: not in a workflow that is run by awf-run --dry-run: what it would do is not known"
	done
}

@test "a worker in a workflow takes no job" {
	mkdir jobs
	echo one >jobs/a
	echo 'awf-step work -- touch made' >work.awf
	run -0 --separate-stderr awf-run -n --dry-run -c 'awf-worker --once jobs ./work.awf'
	same "$stderr$output" ''
	same "$(ls jobs)" a
	[ ! -e made ]
	nothing_left
}
