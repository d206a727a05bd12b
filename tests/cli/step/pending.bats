#!/usr/bin/env bats
# bats file_tags=turn:2
# Async completion: awf-step --pending, awf-ctl complete and heartbeat.
# shellcheck shell=bash disable=SC2016
load ../../support/helpers
load ../../support/resume
bats_require_minimum_version 1.5.0

prepare() {
	resume_tools
	ME=$(command id -un)
	# submit: hands its input on, and notes the token.
	cat >bin/submit <<-'END'
		#!/bin/sh
		cat >>"$LEDGERS/submitted"
		echo "$AWF_TASK" >>"$LEDGERS/tasks"
		echo "$AWF_TASK_TOKEN" >>"$LEDGERS/tokens"
		echo 'on its way'
		exit 75
	END
	chmod +x bin/submit
	cat >flow <<-'END'
		awf-step --pending job -- submit | awf-step use -r -- sed 's/^/got: /'
	END
}

waits() {
	local status=0
	awf-run --id-file run.id "$@" >out 2>err 3>&- || status=$?
	[ "$status" = 75 ] || { cat err; false; }
}
events() { jq -c "select(.type == \"step.completed\" and .path == \"$1\") | .payload$2" "$(record)"; }
last() { events "$1" "$2" | tail -n 1; }
submitted() { wc -l <tasks; }

@test "a command that exits 75 waits for its result" {
	waits ./flow <<<work
	same "$(cat err)" "awf-step: job: waits for its result
awf-run: flow: waits for a result: awf-ctl complete job:0:0 $(id | cut -c 1-8)"
	same "$(cat tasks)" "$(id)/job:0:0"
	same "$(cat tokens)" "$(id)/job:0:0@1.1"
	same "$(last job '|[.error.code,.approval,.exit_code,.result]')" \
		'["waiting",{"asks":"completion","form":"text","task":"job:0:0","try":1},75,null]'
	[ -z "$(ls "$AWF_STORAGE/runs")" ]
	deserted
	awf-verify
	echo result | awf-ctl complete job
	same "$(last job '|[.result,.approval.decision,.approval.by]')" "[\"result\",\"completed\",\"$ME\"]"
	same "$(resume)" 'got: result'
	same "$(submitted)" 1
	awf-verify
	awf-verify --determinism
}

@test "without --pending 75 is a failure; with it every other status is what it was" {
	run -3 awf-run -c 'awf-step job -- submit' <<<work
	[[ $output == *'job:0:0 failed: submit: exit status 75'* ]]
	same "$(awf-run -c 'awf-step --pending job -r -- cat' <<<work)" work
	run -3 awf-run -c 'awf-step --pending job -- false' <<<work
	[[ $output == *'job:0:0 failed: false: exit status 1'* ]]
	run -75 awf-run -c 'awf-step --pending --retries 3 --delay 0 job -- submit' <<<work
	same "$(submitted)" 2
}

# bats test_tags=turn:3
@test "the token names run and call; the result takes the form of -O" {
	local form input want
	while IFS='|' read -r form input want; do
		waits -c "awf-step --pending -O $form job -- submit | awf-step -s -r all -- cat" <<<work
		printf %b "$input" | awf-ctl complete "$(tail -n 1 tasks)"
		same "$(resume)" "$want"
		awf-verify
		awf-verify --determinism
	done <<-'END'
	text|a\nb\n|["a\nb"]
	text||[""]
	lines|a\nb\n|["a","b"]
	nul|a\0000b\0000|["a","b"]
	json|{"a": 1.50} [2]|[{"a":1.50},[2]]
	END
	waits -c 'awf-step --pending job -- submit | awf-step -r bytes -- od -An -tx1' <<<work
	printf '\377\0' | awf-ctl complete job
	same "$(resume)" ' ff 00'
	waits ./flow <<<work
	awf-ctl complete -n job
	same "$(last job '|[has("result"),.result]')" '[true,null]'
}

@test "--into puts the result where it belongs" {
	waits -c 'awf-step -i json --pending --into job job -- submit | awf-step show -r -- cat' <<<'{"n":1}'
	echo r | awf-ctl complete job
	same "$(resume)" '{"n":1,"job":"r"}'
	awf-verify --determinism
	# The merged result is what a further attempt takes.
	waits -c 'awf-step -i json --pending --into job job -- submit | awf-step --approve ok | awf-step show -r -- cat' <<<'{"n":1}'
	echo r | awf-ctl complete job
	run -75 resume
	awf-ctl approve ok </dev/null
	same "$(resume)" '{"n":1,"job":"r"}'
	awf-verify
}

@test "a resume without the result waits on, and does not do the work again" {
	waits ./flow <<<work
	run -75 resume
	run -75 resume
	same "$(submitted)" 1
	same "$(last job '|[.error.code,.approval.asks,.exit_code]')" '["waiting","completion",null]'
	awf-verify
	awf-verify --determinism
	echo late | awf-ctl complete "$(cat tasks)"
	same "$(resume)" 'got: late'
	same "$(submitted)" 1
	awf-verify
	awf-verify --determinism
}

@test "--failed: the call fails, for good, and --rescue catches it" {
	waits -c 'awf-step --pending job -- submit | awf-step --rescue r -r -- sed s/^/kept:/' <<<work
	awf-ctl complete job --failed --reason 'out of paper' </dev/null
	same "$(last job .error)" "{\"code\":\"exit_status\",\"message\":\"failed by $ME: out of paper\"}"
	same "$(resume)" kept:work
	same "$(submitted)" 1
	waits ./flow <<<work
	awf-ctl complete job --failed </dev/null
	run -3 resume
	run -3 resume
	same "$(submitted)" 2
	awf-verify --determinism
}

@test "its time may be over: completions are refused, and a resume says timeout" {
	waits -c 'awf-step --pending=3s job -- submit' <<<work
	[[ $(last job .approval.timeout_ms) == 3000 ]]
	sleep 3.1
	run -3 awf-ctl complete job <<<late
	[[ $output == 'awf-ctl: job:0:0: does not wait any more: its time was over at '*Z ]]
	run -3 awf-ctl heartbeat job
	run -3 resume
	[[ $output == *'step job:0:0 failed: no result came until '*Z* ]]
	same "$(last job .error.code)" '"timeout"'
	awf-verify
	awf-verify --determinism
	# A call that has failed is made again.
	run -75 resume
	same "$(submitted)" 2
	# The task's name is that of both, and a result of the first is none of the second.
	run -3 awf-ctl complete "$(id)/job:0:0" <<<slow
	[[ $output == "awf-ctl: job:0:0: was tried more than once: "*AWF_TASK_TOKEN ]]
	run -3 awf-ctl complete "$(head -n 1 tokens)" <<<slow
	[[ $output == "awf-ctl: job:0:0@1.1: that try of the call has ended"* ]]
	echo fast | awf-ctl complete "$(tail -n 1 tokens)"
	same "$(resume | jq -r .data)" fast
	awf-verify
}

@test "a heartbeat lets it wait as long again, each time" {
	waits -c 'awf-step --pending=20s job -- submit | awf-step use -r -- cat' <<<work
	local first second i
	first=$(last job .approval.deadline)
	awf-ctl heartbeat job
	second=$(last job .approval.deadline)
	[[ $second > $first ]]
	for i in $(seq 12); do awf-ctl heartbeat "$(cat tasks)"; done
	same "$(awf-tail --list | awk '{print $3}')" waiting
	awf-tail -n 1 | grep -q "job waiting (heartbeat by $ME, until "
	run -75 resume
	same "$(last job .approval.decision)" null
	[[ $(last job .approval.deadline) > $second ]]
	awf-verify
	awf-verify --determinism
	echo r | awf-ctl complete job
	same "$(resume)" r
	same "$(submitted)" 1
	awf-verify
}

@test "of twenty completions at the same time exactly one is taken" {
	local i
	waits ./flow <<<work
	for i in $(seq 20); do
		{ awf-ctl complete job <<<"$i" 2>>refused && echo "$i" >>taken; } 3>&- &
	done
	wait
	same "$(wc -l <taken) $(wc -l <refused)" '1 19'
	same "$(resume)" "got: $(cat taken)"
	awf-verify
}

@test "killed anywhere: the work is handed on once, and its result taken" {
	cat >flow <<-'END'
		awf-step --pending job -- submit | awf-step slow -- hold | awf-step use -r -- sed 's/^/got: /'
	END
	waits ./flow <<<work
	run -75 resume
	# As if that attempt had died between start and end of the call.
	sed -i "$(($(jq -r 'select(.type == "step.started" and .path == "job") | .seq' "$(record)" | tail -n 1) + 1)),\$d" "$(record)"
	run -75 resume
	same "$(submitted)" 1
	echo r | awf-ctl complete job
	die_again
	same "$(resume)" 'got: r'
	same "$(submitted)" 1
	awf-verify
}

@test "cancelled while it submits: nothing waits" {
	cat >flow <<-'END'
		awf-step --pending job -- sh -c ': >ready; exec sleep 1000'
	END
	awf-run --id-file run.id ./flow <<<work >out 2>err 3>&- &
	eventually test -e ready
	kill -TERM $!
	wait $! || same $? 143
	run -1 awf-ctl complete job <<<r
	same "$output" "awf-ctl: job: no call of run $(id) waits for a result"
	awf-verify
}

@test "tokens, paths and options that do not fit are refused" {
	waits ./flow <<<work
	while IFS='|' read -r options message; do
		# shellcheck disable=SC2086
		run -1 awf-ctl $options </dev/null
		same "$output" "awf-ctl: ${message//ID/$(id)}"
	done <<-END
	complete $(id)/jib:0:0|jib:0:0: no such call waits in run ID (did you mean 'job:0:0'?); these do: job:0:0
	complete $(id)/job:0:0 @|@: not with a task's token, which names the run
	complete 00000000-0000-4000-8000-000000000000/job:0:0|00000000-0000-4000-8000-000000000000: $(awf-tail 00000000-0000-4000-8000-000000000000 2>&1 | sed 's/.*0000: //')
	approve job|approve: job:0:0 waits for its result: say complete or heartbeat
	END
}

# tries SCRIPT: a flow whose command is the script in sh, tried again at once.
tries() {
	cat >work <<-END
		echo "\$AWF_TASK" >>"\$LEDGERS/tasks"; echo "\$AWF_TASK_TOKEN" >>"\$LEDGERS/tokens"
		$1
	END
	waits -c 'awf-step --pending --retries 2 --delay 0 -n job -- sh work | awf-step use -r -- cat'
}

@test "the task's name is the same for each try, and a result is of the try that its token names" {
	tries '[ "$(wc -l <"$LEDGERS/tasks")" = 1 ] && exit 1; exit 75'
	same "$(sort -u tasks)" "$(id)/job:0:0"
	same "$(cat tokens)" "$(id)/job:0:0@1.1
$(id)/job:0:0@1.2"
	local of
	for of in tokens tasks; do
		run -3 awf-ctl complete "$(head -n 1 $of)" <<<'of the first'
		same "$(last job .approval.decision)" null
	done
	awf-ctl complete "$(tail -n 1 tokens)" <<<'of the second'
	same "$(resume)" 'of the second'
	awf-verify
	awf-verify --determinism
}

@test "the task keeps its name in further attempts, where the call has another, and nobody else gets it" {
	cat >flow <<-'END'
		for item in $(cat order); do
			echo "$item" | awf-step --pending job -q -- sh -c '
				read item; echo "$item $AWF_TASK" >>tasks; [ -e ok ] || [ $item = c ] || exit 1; exit 75'
		done
	END
	chmod +x flow
	echo b >order
	run -3 awf-run --id-file run.id ./flow
	echo a b >order
	: >ok
	run -75 awf-run --resume "$(id)"
	same "$(sort -u tasks)" "a $(id)/job:0:0@2
b $(id)/job:0:0"
	awf-verify
}

@test "a result that comes before the command has ended as pending is kept for it" {
	local option decision
	cat >flow <<-'END'
		awf-step -n --pending --into job job -- sh -c '
			echo "$AWF_TASK_TOKEN" >task; until [ -e go ]; do sleep 0.01; done; exit $(cat go)' |
			awf-step use -r -- cat
	END
	awf-run --id-file run.id ./flow >out 2>err 3>&- &
	eventually test -s task
	awf-ctl heartbeat "$(cat task)"
	awf-ctl complete "$(cat task)" <<<early
	# The same again is no error, another one is.
	awf-ctl complete "$(cat task)" <<<early
	awf-ctl complete job <<<early
	run -3 awf-ctl complete "$(cat task)" <<<other
	same "$output" 'awf-ctl: job:0:0: has another result already'
	run -3 awf-ctl complete --failed job </dev/null
	echo 75 >go
	wait $!
	same "$(cat out)" '{"input":null,"job":"early"}'
	same "$(last job '|[.result.job,.exit_code,.approval.decision,.approval.by]')" "[\"early\",75,\"completed\",\"$ME\"]"
	awf-ctl complete "$(cat task)" <<<early
	run -3 awf-ctl complete "$(cat task)" <<<other
	same "$output" "awf-ctl: job:0:0: does not wait any more: completed by $ME"
	awf-verify
	awf-verify --determinism
}

# early FLOW RESULT STATUS: runs it; the result comes early, and the command ends so.
early() {
	rm -f task go
	awf-run --id-file run.id "$1" >out 2>err 3>&- &
	eventually test -s task
	# shellcheck disable=SC2086
	awf-ctl complete $2 "$(cat task)" <<<early
	echo "$3" >go
	wait $! || return $?
}

@test "a command that fails after its result has come has failed; one said to have failed has, too" {
	cat >flow <<-'END'
		awf-step -n --pending job -r -- sh -c '
			echo "$AWF_TASK_TOKEN" >task; until [ -e go ]; do sleep 0.01; done; exit $(cat go)'
	END
	chmod +x flow
	run -3 early ./flow '' 4
	same "$(last job '|[.error.message,.approval]')" '["sh: exit status 4",null]'
	run -3 awf-ctl complete "$(cat task)" <<<other
	awf-verify
	# A resume makes it again, and what came for the try before is not taken.
	rm -f task go
	awf-run --resume "$(id)" >out 2>err 3>&- &
	eventually test -s task
	echo 75 >go
	wait $! || same $? 75
	run -3 awf-ctl complete "$(id)/job:0:0" <<<early
	awf-ctl complete "$(cat task)" <<<late
	same "$(resume)" late
	awf-verify
	run -3 early ./flow --failed 75
	same "$(last job '|[.error.message,.exit_code]')" "[\"failed by $ME\",75]"
	awf-verify
}

@test "a result that came early is there after the machine has died" {
	cat >flow <<-'END'
		awf-step -n --pending --effects external job -r -- sh -c '
			echo "$AWF_TASK_TOKEN" >>task; sleep 1000'
	END
	chmod +x flow
	awf-run --id-file run.id ./flow >out 2>err 3>&- &
	eventually test -s task
	awf-ctl complete "$(cat task)" <<<early
	kill -KILL $!
	wait $! || same $? 137
	eventually deserted
	same "$(resume)" early
	same "$(wc -l <task)" 1
	awf-verify
	awf-verify --determinism
}
