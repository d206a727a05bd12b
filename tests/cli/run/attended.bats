#!/usr/bin/env bats
# Runs that wait with their processes (awf-run --wait): a decision continues them at once.
# shellcheck shell=bash disable=SC2016
load ../../support/helpers
bats_require_minimum_version 1.5.0

# Starts the workflow in the background, with standard input from the file in; ended() waits for it.
begin() {
	awf-run --wait 30s "$@" <in >out 2>err 3>&- &
	BEGUN=$!
}
ended() {
	local status=0
	wait "$BEGUN" || status=$?
	same "$status" "$1"
}
waits() { awf-tail --list --json 2>/dev/null | jq -c '.waits // [] | map(.call)' | head -n 1; }
wait_for() { eventually eval "[ \"\$(waits)\" = '$1' ]"; }
ends() { jq -c 'select(.type == "step.completed" and .path == "'"$1"'") | .payload | '"$2" "$(transcript)"; }

@test "a decision continues the run at once, with the same or other data, or as a failure" {
	echo '{"n":1}' >in
	echo 'awf-step -i json ok --approve | awf-step -r use -- tee -a ledger' >flow
	begin -- ./flow
	wait_for '["ok:0:0"]'
	same "$(awf-tail --list --json | jq -c '[.status,.waits[0].attended]')" '["running",true]'
	same "$(awf-tail --list --status waiting --json | jq -r .run_id)" "$(basename "$(transcript)" .jsonl)"
	same "$(cat err)" "awf-step: ok: waits for a decision: awf-ctl approve ok:0:0 $(basename "$(transcript)" | head -c 8)"
	same "$(awf-tail --color=never @ | grep -c 'ok waiting: waits for a decision')" 1
	run -0 --separate-stderr awf-ctl approve ok
	same "$stderr" 'awf-ctl: ok:0:0: approved; the run goes on'
	ended 0
	same "$(cat ledger)" '{"n":1}'
	same "$(awf-tail --list --status waiting)" ''
	same "$(ends ok '[.result,.approval.decision,.approval.decides != null]')" '[{"n":1},"approved",true]
[{"n":1},"approved",false]'
	run -3 awf-ctl approve ok
	awf-verify -q
	awf-verify --determinism --isolation copy

	begin -- ./flow
	wait_for '["ok:0:0"]'
	awf-ctl approve -e ok <<<'{"n":2}'
	ended 0
	same "$(tail -n 1 ledger)" '{"n":2}'
	awf-verify --determinism --isolation copy

	begin -- ./flow
	wait_for '["ok:0:0"]'
	awf-ctl deny --reason 'not today' ok
	ended 3
	same "$(sed -n 2p err)" "awf-step: ok: denied by $(id -un): not today"
	same "$(wc -l <ledger)" 2
	awf-verify -q
}

@test "a denial holds for all further resumes" {
	echo x >in
	begin -c 'awf-step ok --approve | awf-step use -- tee -a ledger'
	wait_for '["ok:0:0"]'
	awf-ctl deny ok
	ended 3
	for attempt in 2 3 4; do
		run -3 awf-run --resume @
		same "$(ends ok .error.code | sort -u)" '"denied"'
		same "$(grep -c '"type":"run.started"' "$(transcript)")" "$attempt"
	done
}

@test "after the time the run ends as one that waits, and a resume uses the decision" {
	echo 'awf-step ok --approve | awf-step use -- tee -a ledger' >flow
	run -75 --separate-stderr awf-run --wait 200ms -- ./flow <<<x
	same "$(jq -r .type "$(transcript)" | grep -c '^step.waiting')" 1
	same "$(ends ok .approval.asks)" '"approval"'
	awf-verify -q
	awf-verify --determinism --isolation copy
	run -0 --separate-stderr awf-ctl approve ok
	[[ $stderr == *"the run goes on with: awf-run --resume"* ]]
	run -0 awf-run --resume @
	same "$(cat ledger)" x
}

@test "--wait 0, and no terminal: nothing waits" {
	echo 'awf-step ok --approve' >flow
	run -75 awf-run -- ./flow <<<x
	run -75 awf-run --wait 0 -- ./flow <<<x
	same "$(jq -r .type "$(transcript)" | grep -c '^step.waiting' || true)" 0
	run -125 --separate-stderr awf-run --wait soon -- ./flow
	same "$stderr" "awf-run: --wait: 'soon' is not a duration (as in 30, 500ms, 20m, 2h)"
}

@test "many items wait at a time, decided in any order; the lines come in the order of the items" {
	seq 5 >in
	begin -c 'awf-step -i lines ok --approve | awf-step -r use -- tee -a ledger'
	wait_for '["ok:0:0","ok:0:1","ok:0:2","ok:0:3","ok:0:4"]'
	for item in 4 0 2 1 3; do awf-ctl approve "ok:0:$item" 2>/dev/null; done
	ended 0
	same "$(paste -sd ' ' ledger)" '1 2 3 4 5'
	awf-verify -q
	awf-verify --determinism --isolation copy
}

@test "more items than may wait with processes: the rest waits without" {
	seq 300 >in
	begin -c 'awf-step -i lines ok --approve'
	eventually eval '[ "$(waits | jq length)" = 300 ]'
	kill -TERM "$BEGUN"
	ended 143
	same "$(jq -r .type "$(transcript)" | grep -c '^step.waiting')" 256
	run -75 awf-run --wait 0 --resume @
	same "$(waits | jq length)" 300
}

@test "killed while it waits: the run waits still, is decided about, and goes on" {
	echo x >in
	begin -c 'awf-step ok --approve | awf-step use -- tee -a ledger'
	wait_for '["ok:0:0"]'
	kill -9 "$BEGUN"
	wait "$BEGUN" || true
	eventually deserted_latest
	same "$(awf-tail --list --json | jq -r .status)" waiting
	same "$(awf-tail --list --json | jq -c '.waits[0]|[.call,.attended]')" '["ok:0:0",null]'
	run -0 --separate-stderr awf-ctl approve ok
	[[ $stderr == *"the run goes on with: awf-run --resume"* ]]
	same "$(awf-tail --list --json | jq -r .status)" waiting
	run -0 awf-run --resume @
	same "$(cat ledger)" x
	awf-verify -q 2>/dev/null
}

@test "work that was handed on: result, failure, heartbeat, and the time that is over" {
	echo x >in
	cat >flow <<-'END'
		awf-step job --pending=${TIME-30s} -- sh -c 'echo "$AWF_TASK_TOKEN" >token; echo . >>made; exit 75' |
			awf-step -r use -- cat
	END
	begin -- ./flow
	wait_for '["job:0:0"]'
	awf-ctl heartbeat job
	awf-ctl complete "$(cat token)" <<<done
	ended 0
	same "$(cat out)" 'done'
	same "$(wc -l <made)" 1
	awf-verify -q
	awf-verify --determinism --isolation copy

	begin -- ./flow
	wait_for '["job:0:0"]'
	awf-ctl complete --failed --reason lost job </dev/null
	ended 3
	[[ $(cat err) == *lost* ]]
	TIME=300ms run -3 --separate-stderr awf-run --wait 30s -- ./flow <in
	[[ $stderr == *"no result came until"* ]]
	run -3 --separate-stderr awf-ctl complete job <<<late
	awf-verify -q
}

@test "killed while work is elsewhere: it is not handed on again" {
	echo x >in
	cat >flow <<-'END'
		awf-step job --effects external --pending -- sh -c 'echo . >>made; exit 75' | awf-step -r use -- cat
	END
	begin -- ./flow
	wait_for '["job:0:0"]'
	kill -9 "$BEGUN"
	wait "$BEGUN" || true
	eventually deserted_latest
	same "$(awf-tail --list --json | jq -r .status)" waiting
	awf-run --wait 30s --resume @ >out 2>err 3>&- &
	BEGUN=$!
	eventually eval '[ "$(grep -c step.waiting "$(transcript)")" = 2 ]'
	awf-ctl complete job <<<done
	ended 0
	same "$(cat out)" 'done'
	same "$(wc -l <made)" 1
	awf-verify -q 2>/dev/null
}

@test "a child run, a group and its branches wait, and so does what is behind them" {
	echo x >in
	cat >child <<-'END'
		#!/usr/bin/env awf-run
		awf-step inner --approve
	END
	chmod +x child
	begin -c './child | awf-step both --parallel -- "awf-step left --approve" "awf-step right --approve" | awf-step -r use -- cat'
	eventually eval 'awf-ctl approve inner "@child" 2>/dev/null'
	eventually eval '[ "$(waits | jq length)" = 2 ]'
	awf-ctl approve both.right
	awf-ctl approve both.left
	ended 0
	same "$(cat out)" $'x\nx'
	awf-verify -q
}

@test "cancelled while it waits: the run ends at once, and waits for nobody" {
	echo x >in
	begin -c 'awf-step ok --approve | awf-step use -- tee -a ledger'
	wait_for '["ok:0:0"]'
	awf-ctl cancel @
	ended 143
	same "$(awf-tail --list --json | jq -r .status)" cancelled
	[ ! -e ledger ]
}

@test "a step behind one that waits and prints data alone finds no input, and the run waits all the same" {
	flow='awf-step ok --approve -r | awf-step -r use --effects external -- tee -a ledger'
	run -75 --separate-stderr awf-run --wait 0 -c "$flow" <<<cake
	[[ $stderr == *'awf-run: pipeline: waits for a decision: awf-ctl approve ok:0:0 '* ]]
	same "$(payloads run.completed '[.status, .exit_code]')" '["waiting",75]'
	awf-ctl approve ok
	run -0 awf-run --resume @
	same "$(cat ledger)" cake
	awf-verify -q
	awf-verify --determinism --isolation copy
	# Without anything that waits it has failed.
	run -1 awf-run -c 'true | awf-step use -- cat'
	same "$(payloads run.completed .status)" '"failed"'
}
