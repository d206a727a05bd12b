#!/usr/bin/env bats
# awf status: what needs a person, what failed, waits and runs, and what today has cost.
# shellcheck shell=bash disable=SC2016
load ../../support/helpers
bats_require_minimum_version 1.5.0

cleanup() { [ -z "${BACKGROUND-}" ] || kill "$BACKGROUND" 2>/dev/null || true; }
id() { basename "$(transcript)" .jsonl; }
waits() { run -75 --separate-stderr awf-run --name "$1" -c "$2" "${@:3}" <<<x; }
# SECTION MEMBER: of the items of that part.
of() { awf status --json | jq -r ".$1[] | $2"; }

@test "a storage that is empty or missing needs nobody" {
	run -0 --separate-stderr awf status
	same "$output" 'nothing runs or waits, and nothing has failed in the last 24 hours'
	same "$stderr" ''
	[ ! -e "$AWF_STORAGE" ]
	run -0 awf status --json
	same "$output" '{"needs_person":[],"failed":[],"waiting":[],"running":[]}'
	awf-run -n -c 'awf-step -n a -q -- true'
	run -0 awf status
	same "$output" 'nothing runs or waits, and nothing has failed in the last 24 hours'
}

@test "a call that waits for a decision: the command that decides, and what continues the run" {
	waits review 'awf-step -q check --approve'
	local run
	run=$(id)
	run -1 --separate-stderr awf status
	[[ ${lines[0]} == 'needs you  1' ]]
	[[ ${lines[1]} =~ ^'  review  '${run:0:8}\ +[0-9a-z.]+'  awf-ctl approve check:0:0 '${run:0:8}'  (check waits for a decision)'$ ]]
	eval "$(of needs_person .command)"
	run -1 awf status
	[[ ${lines[1]} == *"awf-run --resume ${run:0:8}  (can go on)" ]]
	eval "$(of needs_person .command)"
	run -0 awf status
}

@test "calls that wait with their processes, and those of a run that was killed meanwhile" {
	awf-run --name held --wait 10m -c 'seq 3 | awf-step -i lines -j 3 check --approve' >out 2>err 3>&- &
	BACKGROUND=$!
	eventually eval '[[ $(of needs_person .message) == "check waits for a decision (and 2 more)" ]]'
	same "$(of needs_person .status) $(of running .name)" 'running '
	kill -9 "$BACKGROUND"
	eventually eval '[ "$(of needs_person .status)" = waiting ]'
	same "$(of needs_person .message) $(of failed .name)" 'check waits for a decision (and 2 more) '
}

@test "a question that nobody has answered needs a person, a result that something else gives does not" {
	waits handed 'awf-step -q job --pending -- sh -c "exit 75"'
	run -0 awf status
	[[ ${lines[0]} == 'waiting  1' ]]
	[[ ${lines[1]} == *'job waits for its result: awf-ctl complete job:0:0 '* ]]
	waits asked 'awf-step -q name --ask "Who?"'
	run -1 awf status
	[[ ${lines[1]} == *'awf-ctl complete name:0:0 '*'  (name waits for an answer)' ]]
}

@test "runs that sleep: whether they go on by themselves" {
	waits alone 'awf-step -q nap --sleep 3d'
	waits auto 'awf-step -q nap --sleep 2d' --auto-resume
	run -0 awf status
	[[ $output == *'alone '*'nap sleeps until '*', then goes on with: awf-run --resume '* ]]
	[[ $output == *'auto '*', then goes on by itself if a resumer runs (awf-worker --resumer)'* ]]
	awf-worker --resumer >resumer.out 2>&1 3>&- &
	BACKGROUND=$!
	eventually eval '[[ $(awf status) == *", then goes on by itself"* && $(awf status) != *"if a resumer"* ]]'
}

@test "a run that is to go on by itself, and cannot" {
	printf '#!/usr/bin/env awf-run\n# awf: resume: auto\nawf-step -q ok --approve\n' >flow.awf
	chmod +x flow.awf
	run -75 awf-run ./flow.awf <<<x
	awf-ctl approve ok
	same "$(of needs_person .command)" 'awf-worker --resumer'
	echo '# more' >>flow.awf
	awf-worker --resumer >resumer.out 2>&1 3>&- &
	BACKGROUND=$!
	eventually eval '[ "$(jq .failures "$AWF_STORAGE/resumes/$(id)")" = 3 ]'
	[[ $(of needs_person .message) == 'could not be resumed: '*'files that it is made of have changed'* ]]
	same "$(of needs_person .command)" "awf-run --resume $(id | cut -c 1-8)"
}

@test "what waits inside of another run is shown once, with the run that waits" {
	printf '#!/usr/bin/env awf-run\nawf-step -q inner --approve\n' >child.awf
	chmod +x child.awf
	run -75 awf-run --name parent -c 'awf-step -q outer -- ./child.awf' <<<x
	same "$(of needs_person '[.name, .message] | join(" ")')" 'child.awf inner waits for a decision'
	eval "$(of needs_person .command)"
	same "$(of needs_person '[.name, .message] | join(" ")')" 'parent can go on'
	# The outer run is given up: nobody is to decide about what is inside of it.
	run -75 awf-run --name other -c 'awf-step -q outer -- ./child.awf' <<<x
	same "$(of needs_person .name | sort | tr '\n' ' ')" 'child.awf parent '
	run awf-run --resume @ --timeout 1ms </dev/null
	[[ $(of needs_person .name) != *child.awf* ]] || [ "$status" = 75 ]
}

@test "what failed in the last day, and why; not what was resumed since, nor what is older" {
	run -3 awf-run -n --name nightly -c 'awf-step -n -q fetch -- sh -c "[ -e there ] || { echo gone >&2; exit 4; }"'
	run -0 awf status
	[[ ${lines[0]} == 'failed in the last 24 hours  1' ]]
	[[ ${lines[1]} =~ ^'  nightly  '.*'exit status 4'.*'gone' ]]
	same "$(of failed .command)" "awf-run --resume $(id | cut -c 1-8)"
	touch there
	awf-run --resume @
	run -0 awf status
	[[ $output != *failed*hours' '* ]]
	run -3 awf-run -n --name old -c 'awf-step -n -q a -- false'
	sed -i 's/"timestamp":"2/"timestamp":"1/' "$(transcript)"
	run -0 awf status
	[[ $output != *old* ]]
}

@test "what runs, was killed, or is cancelled" {
	awf-run -n --name long -c 'awf-step -n -q a -- sleep 60' 3>&- &
	BACKGROUND=$!
	eventually eval '[ "$(of running .name)" = long ]'
	run -0 awf status
	[[ ${lines[1]} =~ ^'  long  '.*'  1 call'$ ]]
	kill -9 "$BACKGROUND"
	eventually eval '[ "$(of failed .message)" = "was killed, or its machine was" ]'
	same "$(of running .name)" ''
	run awf-run -n --name given-up -c 'kill -INT $PPID; sleep 1'
	[[ $(of failed .name) != *given-up* ]]
}

@test "what the answers of today have cost; unknown prices are told" {
	printf 'replay/cheap 1 2\n' >prices
	export AWF_PRICES=$PWD/prices
	printf '%s\n' '{"type":"message","blocks":[{"type":"text","text":"hello"}],"stop_reason":"end_turn","usage":{"input_tokens":1000000,"output_tokens":500000},"model":"m"}' >r.jsonl
	awf-run -n -c 'awf-step -n -q -m replay/r.jsonl -p hi ask'
	run -0 awf status
	[[ $output == *'cost today (UTC)  $?' ]]
	printf 'replay/* 1 2\n' >prices
	run -0 awf status
	[[ $output == *'cost today (UTC)  $2.0000' ]]
	same "$(awf status --json | jq .cost)" 2
	sed -i 's/"timestamp":"2/"timestamp":"1/' "$(transcript)"
	run -0 awf status
	[[ $output != *cost* ]]
}

@test "no more than fits the screen: the rest is counted" {
	local i
	for i in {1..30}; do
		run awf-run -n --name "fails-$i" -c 'awf-step -n -q a -- false'
	done
	waits review 'awf-step -q check --approve'
	run -1 awf status
	[ "${#lines[@]}" -le 23 ]
	[[ ${lines[0]} == 'needs you  1' && ${lines[2]} == 'failed in the last 24 hours  30' ]]
	[[ ${lines[3]} == *fails-30* ]]
	[[ ${lines[-1]} =~ ^'  and '[0-9]+' more'$ ]]
	same "$(awf status --json | jq '.failed | length')" 30
}

@test "its command line" {
	run -0 awf status --help
	[[ $output == *--json* ]]
	run -1 --separate-stderr awf status more
	same "$stderr" 'awf: more: unexpected argument'
}

@test "JSON on a terminal shows what is invisible as escapes, and means the same" {
	name=$(printf 'a\342\200\256b.awf')
	waits "$name" 'awf-step --approve ok -q'
	awf-run --name "$name" -c 'awf-step -n ok -q -- true'
	for command in 'awf status --json' 'awf stats --json'; do
		script -qec "$command" /dev/null </dev/null >out || [ $? = 1 ]
		grep -q 'a\\u202eb.awf' out
		run -1 grep -q "$(printf '\342\200\256')" out
		$command >raw || [ $? = 1 ]
		grep -q "$name" raw
	done
}
