#!/usr/bin/env bats
# awf-ctl: its commands, list, and cancel. Decisions are in approve.bats and pending.bats, prune
# in prune.bats.
# shellcheck shell=bash disable=SC2016
bats_require_minimum_version 1.5.0
load ../../support/helpers

cleanup() {
	[ -z "${RUN-}" ] || kill -9 "$RUN" 2>/dev/null || true
}

# Starts a run that goes on until it is ended; its id is in ./id.
goes_on() {
	awf-run --id-file id "$@" -c 'awf-step -n one -r -- echo 1; awf-step -n long -- sleep 77.61' >out 2>err 3>&- &
	RUN=$!
	eventually [ -s id ]
	eventually pgrep -xf 'sleep 77.61'
}
ended() { jq -c "select(.type == \"run.completed\").payload | $1" "$(transcript)"; }

@test "each command has its help" {
	help=$(awf-ctl --help)
	for command in approve deny complete heartbeat cancel prune list; do
		[[ $help == *" awf-ctl $command "*"  $command "* ]]
		run -0 awf-ctl "$command" --help
		[[ $output == "usage: awf-ctl $command "* || $command == list && $output == 'usage: awf-tail '* ]]
	done
	run -0 awf-ctl --version
	[[ $output == awf-ctl\ * ]]
	run -0 awf-ctl cancel --version
	[ ! -e /dev/full ] || run -4 sh -c 'awf-ctl --help >/dev/full'
}

@test "list is awf-tail --list" {
	awf-run --name one true
	awf-run --name two false || true
	same "$(awf-ctl list)" "$(awf-tail --list)"
	same "$(awf-ctl list --json --status failed | jq -r .name)" two
	run -1 --separate-stderr awf-ctl list --nothing
	[[ $stderr == 'awf-tail: --nothing: '* ]]
}

@test "cancel ends a run, and the record says who did" {
	goes_on
	run -0 --separate-stderr awf-ctl cancel "$(cut -c 1-8 id)"
	same "$output$stderr" ''
	# It has ended when that returns, and nothing of it is left.
	run ! pgrep -xf 'sleep 77.61'
	run -143 wait "$RUN"
	same "$(ended '[.status, .error.message, .interrupted]')" "[\"cancelled\",\"cancelled by $(id -un)\",null]"
	same "$(awf-tail --list | awk 'NR == 1 { print $3 }')" cancelled
	awf-verify
}

@test "a run that somebody has cancelled is not continued, but resumed if that is wanted" {
	goes_on --name work
	awf-ctl cancel @work
	run -0 awf-run --name work --continue -c 'echo new'
	same "$output" new
	run -0 awf-tail --list
	same "$(awf-tail --list | wc -l)" 2
	# A signal from elsewhere means no end of the work.
	goes_on --name other
	kill -TERM "$RUN"
	wait "$RUN" || true
	same "$(ended '[.status, .interrupted]')" '["cancelled",true]'
}

@test "cancel reaches what waits in a workflow: a child run, a step by itself, a run without a transcript" {
	awf-run --id-file id -c 'awf-run -n --name kid -c "awf-step -n long -- sleep 77.61"' >out 2>err 3>&- &
	RUN=$!
	eventually pgrep -xf 'sleep 77.61'
	awf-ctl cancel "$(awf-tail --list -R --json | jq -r 'select(.name == "kid").run_id')"
	wait "$RUN" || true
	same "$(jq -c 'select(.type == "step.call_workflow.completed").payload.error.code' "$AWF_STORAGE/transcripts/$(cat id).jsonl")" '"cancelled"'
	awf-step -n long -- sleep 77.61 2>err 3>&- &
	RUN=$!
	eventually pgrep -xf 'sleep 77.61'
	awf-ctl cancel @
	wait "$RUN" || true
	run ! pgrep -xf 'sleep 77.61'
	rm -f id
	goes_on --no-transcript
	awf-ctl cancel "$(cat id)"
	run -143 wait "$RUN"
}

@test "cancel takes a run out of the line that it waits in" {
	goes_on --name work
	awf-run --name work --overlap buffer-one true 2>waiting 3>&- &
	next=$!
	queued() { awf-ctl list --json --status queued | grep -q .; }
	eventually queued
	awf-ctl cancel "$(awf-ctl list --json --status queued | jq -r .run_id)"
	run ! wait "$next"
	same "$(awf-ctl list --json --status queued)" ''
	kill -0 "$RUN"
	awf-ctl cancel @work
}

@test "what ignores the signal, and ends otherwise, is told" {
	(trap '' TERM; exec awf-run -n --id-file id -c 'awf-step -n one -q -- sleep 1') >out 2>err 3>&- &
	RUN=$!
	eventually [ -s id ]
	eventually grep -sq '"name":"one"' "$AWF_STORAGE/transcripts/$(cat id).jsonl"
	run -3 awf-ctl cancel "$(cat id)"
	same "$output" "awf-ctl: $(cat id): was not cancelled: it has ended as 'success'"
	run -0 wait "$RUN"
}

@test "what does not live is not cancelled" {
	awf-run --name done true
	run -3 awf-ctl cancel @done
	[[ $output == "awf-ctl: "*": is not running: it has ended as 'success'" ]]
	run -1 awf-ctl cancel 00000000-0000-4000-8000-000000000000
	run -1 awf-ctl cancel @nobody
	same "$output" "awf-ctl: @nobody: no run of this name in $AWF_STORAGE (awf-tail --list shows what there is)"
	cp "$(transcript)" copy.jsonl
	run -1 awf-ctl cancel ./copy.jsonl
	[[ $output == 'awf-ctl: ./copy.jsonl: is not a transcript of the storage '* ]]
}

@test "list --json tells which calls wait, and the tokens of those that wait for a result" {
	local id
	awf-run -n --id-file id -c 'awf-step -n --approve ok -q; printf "a\nb\n" |
		awf-step -i lines --pending=1h -O json job -q -- sh -c "echo \$AWF_TASK_TOKEN >>tokens; exit 75"' 2>err || [ $? = 75 ]
	id=$(cat id)
	same "$(awf-ctl list --json | jq -c '[.waits[] | [.call, .path, .iteration, .for, .form, .token]]')" \
		"[[\"ok:0:0\",\"ok\",0,\"approval\",null,null],[\"job:0:0\",\"job\",0,\"completion\",\"json\",\"$id/job:0:0@1.1\"],[\"job:0:1\",\"job\",1,\"completion\",\"json\",\"$id/job:0:1@1.1\"]]"
	same "$(awf-ctl list --json | jq -r '.waits[].token // empty')" "$(cat tokens)"
	same "$(awf-ctl list --json | jq -r '.waits[1].deadline')" "$(jq -r 'select(.payload.call == "job:0:0" and .type == "step.completed") | .payload.approval.deadline' "$AWF_STORAGE/transcripts/$id.jsonl")"
	# What was decided does not wait any more; nor does anything in a run that has succeeded.
	awf-ctl list --json | jq -r '.waits[].token // empty' | while read -r token; do echo 1 | awf-ctl complete "$token"; done
	same "$(awf-ctl list --json | jq -c '[.waits[].call]')" '["ok:0:0"]'
	awf-ctl approve ok
	awf-run --resume @
	same "$(awf-ctl list --json | jq -c '[.status, .waits]')" '["success",null]'
}
