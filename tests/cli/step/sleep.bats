#!/usr/bin/env bats
# awf-step --sleep and --sleep-until: items pass on when a time has come.
# shellcheck shell=bash disable=SC2016
load ../../support/helpers
bats_require_minimum_version 1.5.0

ends() { jq -c 'select(.type == "step.completed" and .path == "'"$1"'") | .payload | '"$2" "$(transcript)"; }

@test "a short sleep: the process sleeps, the item passes on, and a replay does not wait" {
	recorded 0 -c 'echo x | awf-step nap --sleep 700ms | awf-step -r use -- cat'
	same "$output" x
	same "$(ends nap '[.result,.duration_ms >= 700]')" '["x",true]'
	same "$(jq -c 'select(.type == "step.waiting").payload.approval.asks' "$(transcript)")" '"time"'
	begun=$(date +%s%3N)
	run -0 --separate-stderr awf-replay @
	[ $(($(date +%s%3N) - begun)) -lt 600 ]
}

@test "a long sleep: no process waits, and a resume waits for the same time" {
	recorded 75 -c 'echo x | awf-step nap --sleep 5s | awf-step -r use -- tee -a ledger'
	[[ $stderr == *'awf-step: nap: sleeps until 20'* ]]
	[[ $stderr == *'nap:0:0 sleeps; when its time has come: awf-run --resume '* ]]
	due=$(ends nap .approval.deadline)
	same "$(awf-tail --list --json | jq -c '.waits[0]|[.for,.deadline]')" "[\"time\",$due]"
	run -1 --separate-stderr awf-ctl approve nap
	[[ $stderr == *"sleeps until ${due//\"/}: there is nothing to decide" ]]
	awf-run --resume @ >out 2>err 3>&- &
	resumed=$!
	# Less than three seconds are left before it sleeps there: the test build has a twentieth of a minute.
	status=0
	wait "$resumed" || status=$?
	if [ "$status" = 75 ]; then
		same "$(ends nap .approval.deadline | tail -n 1)" "$due"
		eventually eval '[ "$(date -u +%Y-%m-%dT%H:%M:%S)" \> "${due:1:19}" ]'
		sleep 1
		run -0 awf-run --resume @
	fi
	same "$(cat ledger)" x
	awf-verify -q
}

@test "a time that is past passes at once, and wrong times are refused" {
	run -0 awf-step -r nap --sleep-until 2020-01-01T00:00:00Z <<<x
	same "$output" x
	run -1 --separate-stderr awf-step nap --sleep-until soon <<<x
	same "$stderr" "awf-step: --sleep-until: 'soon' is no time (as in 09:30, 2026-12-24, 2026-12-24T09:30Z)"
	run -1 --separate-stderr awf-step nap --sleep 1s --sleep-until 09:30 <<<x
	run -1 --separate-stderr awf-step nap --sleep 1s -- cat <<<x
	[[ $stderr == *'it passes items on, later'* ]]
	run -1 --separate-stderr awf-step nap --sleep 1s --timeout 1s <<<x
}

@test "the time zone of the user, and the next 09:30" {
	export TZ=Etc/GMT-3 # three hours east of UTC
	run -75 awf-run -c 'echo x | awf-step nap --sleep-until 2222-03-04'
	same "$(ends nap .approval.deadline)" '"2222-03-03T21:00:00.000000Z"'
	run -75 awf-run -c 'echo x | awf-step nap --sleep-until "2222-03-04 05:06"'
	same "$(ends nap .approval.deadline)" '"2222-03-04T02:06:00.000000Z"'
	run -75 awf-run -c 'echo x | awf-step nap --sleep-until 2222-03-04T05:06:07+01:00'
	same "$(ends nap .approval.deadline)" '"2222-03-04T04:06:07.000000Z"'
	run -75 awf-run -c 'echo x | awf-step nap --sleep-until 2222-03-04T05:06Z'
	same "$(ends nap .approval.deadline)" '"2222-03-04T05:06:00.000000Z"'
	soon=$(date -d '2 hours' +%H:%M)
	run -75 awf-run -c "echo x | awf-step nap --sleep-until $soon"
	same "$(ends nap .approval.deadline)" "\"$(date -u -d '2 hours' +%Y-%m-%dT%H:%M):00.000000Z\""
	past=$(date -d '-2 hours' +%H:%M)
	run -75 awf-run -c "echo x | awf-step nap --sleep-until $past"
	same "$(ends nap .approval.deadline)" "\"$(date -u -d '22 hours' +%Y-%m-%dT%H:%M):00.000000Z\""
}

@test "many items sleep at the same time" {
	begun=$(date +%s%3N)
	recorded 0 -c 'seq 20 | awf-step -i lines nap --sleep 500ms | awf-step -r use -- cat'
	[ "$(($(date +%s%3N) - begun))" -lt 5000 ]
	same "$(wc -l <<<"$output")" 20
}

@test "killed in its sleep: the run waits, and goes on after the time" {
	awf-run -c 'echo x | awf-step nap --sleep 2s | awf-step -r use -- tee -a ledger' >out 2>err 3>&- &
	eventually eval 'grep -q step.waiting "$AWF_STORAGE/latest" 2>/dev/null'
	kill -9 $!
	wait $! || true
	eventually eval '[ "$(awf-tail --list --json | jq -r .status)" = waiting ]'
	run -0 awf-run --resume @
	same "$(cat ledger)" x
	same "$(jq -r 'select(.type == "step.waiting").payload.approval.deadline' "$(transcript)" | uniq | wc -l)" 1
}

@test "without a record the process sleeps all the time" {
	begun=$(date +%s%3N)
	run -0 awf-run --no-transcript -c 'echo x | awf-step nap --sleep 4s -r'
	same "$output" x
	[ "$(($(date +%s%3N) - begun))" -ge 4000 ]
}

@test "a run whose child run sleeps does so, too, and waits for nobody" {
	printf '%s\n' '#!/usr/bin/env awf-run' 'echo x | awf-step nap --sleep 3d' >inner.awf
	chmod +x inner.awf
	recorded 75 --name outer -c './inner.awf | awf-step -r after -- cat'
	[[ $stderr == *'awf-run: outer: step inner:0:0: sleeping' ]]
	same "$(payloads run.completed .error.message)" '"sleeping"'
	run -0 awf-replay --tree @
	[[ ${lines[0]} == 'outer waiting '*': waiting: sleeping' ]]
	[[ $output != *person* ]]
}
