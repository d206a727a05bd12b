#!/usr/bin/env bats
# awf-run --on-complete and --on-failure: who is told of which end, what they are told,
# and that whatever they do changes nothing.
# shellcheck shell=bash disable=SC2016,SC2154
load ../../support/helpers
bats_require_minimum_version 1.5.0

prepare() {
	echo 'test/* 1 1' >prices
	export AWF_PRICES=$PWD/prices
}

cleanup() {
	local pids
	pids=$(jobs -p)
	# shellcheck disable=SC2086
	[ -z "$pids" ] || kill -9 $pids 2>/dev/null || true
}

# awf-run with both commands, each of which says that it was told, and of what.
told() { awf-run -n --on-complete 'echo complete; cat >summary' --on-failure 'echo failure; cat >summary' "$@"; }
summary() { jq -c "$1" summary; }

@test "success, failure, time limits and cancelling are told, each to whom it concerns" {
	while IFS='|' read -r arguments code who end; do
		rm -f summary
		eval "run -$code --separate-stderr told $arguments"
		same "$arguments: $output" "$arguments: $who"
		[ -z "$who" ] || same "$arguments: $(summary '[.status, .exit_code]')" "$arguments: [\"$end\",$code]"
	done <<-'END'
		true|0|complete|success
		-c 'exit 7'|7|failure|failed
		-c 'awf-step -n -q a -- false'|3|failure|failed
		--timeout 100ms sleep 100|124|failure|timeout
		no-such-program|127|failure|failed
		-c 'awf-step -n --approve sign >/dev/null'|75||waiting
		--no-transcript true|0|complete|success
	END
}

@test "the summary" {
	run -3 told --name digest --id-file id -c 'awf-step -n -q fine -- true; awf-step -n -q bad -- sh -c "exit 9"'
	same "$(wc -l <summary)" 1
	same "$(summary 'del(.started, .duration_ms)')" "$(jq -nc --arg id "$(cat id)" --arg path "$(transcript)" '{
		run_id: $id, name: "digest", attempt: 1, status: "failed", exit_code: 3,
		error: {code: "exit_status", message: "sh: exit status 9"}, step: "bad:0:0",
		usage: {calls: 2}, cost: 0, transcript: $path}')"
	same "$(summary .error)" "$(jq -c 'select(.type == "run.completed").payload.error' "$(transcript)")"
	same "$(summary .started)" "$(jq -c 'select(.seq == 1).timestamp' "$(transcript)")"
	[[ $(summary .duration_ms) =~ ^[0-9]+$ ]]
	run -3 awf-run --resume @ --on-failure 'cat >summary'
	same "$(summary '[.attempt, .name]')" '[2,"digest"]'
	run -0 told --no-transcript -c true
	same "$(summary '[.error, .step, .transcript]')" '[null,null,null]'
}

@test "run.completed is there before anybody is told, and the audit line is" {
	awf-run -n --on-complete 'awf-verify -q && jq -r .transcript | xargs tail -n 1 | jq -r .type; tail -n 1 "$AWF_STORAGE/audit.jsonl" | jq -r .type; ls "$AWF_STORAGE/runs"' true >out
	same "$(paste -sd' ' out)" 'run.completed run.completed'
}

@test "stdout and stderr are awf-run's; stdin need not be read" {
	run -0 --separate-stderr awf-run -n --on-complete 'echo to stdout; echo to stderr >&2' -c 'echo ran'
	same "$output" $'ran\nto stdout'
	same "$stderr" 'to stderr'
}

@test "a command that fails is one line, and the run is what it was" {
	run -0 --separate-stderr awf-run -n --on-complete 'exit 3' -c 'echo ran'
	same "$output" ran
	same "$stderr" 'awf-run: --on-complete: exit status 3'
	run -0 --separate-stderr awf-run -n --on-complete 'kill -9 $$' true
	same "$stderr" 'awf-run: --on-complete: killed by signal 9 (Killed)'
	run -5 --separate-stderr awf-run -n --on-failure nosuchprogram -c 'exit 5'
	same "${stderr_lines[-1]}" 'awf-run: --on-failure: exit status 127'
	same "$(jq -c 'select(.type == "run.completed").payload.exit_code' "$(transcript)")" 5
}

@test "runs that are skipped, refused or could not begin tell nobody" {
	awf-run -n --name x -c 'touch up; until [ -e go ]; do sleep 0.01; done' 3>&- &
	eventually test -e up
	run -0 told --name x --overlap skip true
	same "$output" ""
	touch go
	wait
	run -125 --separate-stderr told --timeout soon true
	same "$output" ""
	run -125 --separate-stderr env AWF_STORAGE=/dev/null/x awf-run -n --on-failure 'echo told' true
	same "$output" ""
}

@test "a run that is cancelled tells of it, then dies of the signal" {
	awf-run -n --on-failure 'echo failure; cat >summary' -c 'touch up; sleep 100' >out 2>/dev/null 3>&- &
	eventually test -e up
	kill -TERM $!
	code=0
	wait $! || code=$?
	same "$code" 143
	same "$(cat out)" failure
	same "$(summary '[.status, .error.code]')" '["cancelled","cancelled"]'
}

@test "a signal ends the command that is told, not what the run came to" {
	awf-run -n --on-complete 'touch up; sleep 100' true 2>err 3>&- &
	eventually test -e up
	kill -TERM $!
	code=0
	wait $! || code=$?
	same "$code" 0
	same "$(cat err)" 'awf-run: --on-complete: cancelled by signal 15 (Terminated)'
}

@test "cancel-other waits for a command that is told, and does not end it" {
	awf-run -n --name x --overlap cancel-other --on-complete 'touch up; until [ -e go ]; do sleep 0.01; done; echo told' true >out 2>&1 3>&- &
	eventually test -e up
	awf-run -n --name x --overlap cancel-other -c 'echo next >>out' 3>&- &
	eventually sh -c 'grep -qs ^waiting "$AWF_STORAGE"/queues/*/0*2'
	touch go
	wait
	same "$(paste -sd' ' out)" 'told next'
}

@test "what the command leaves running is ended" {
	awf-run -n --on-complete 'sleep 1000 & echo $! >pid' true
	gone "$(cat pid)"
	awf-run -n --on-complete 'setsid sleep 1000 & echo $! >pid' true
	eventually gone "$(cat pid)"
}

@test "API keys are not in its environment; the run is not either" {
	mkdir -p "$XDG_CONFIG_HOME/awf"
	(umask 077; echo 'MY_KEY=s3cret' >"$XDG_CONFIG_HOME/awf/keys")
	MY_KEY=1 ANTHROPIC_API_KEY=2 OPENAI_API_KEY=3 OTHER=4 awf-run -n --on-complete 'env >env' true
	same "$(grep -cE '^(MY_KEY|ANTHROPIC_API_KEY|OPENAI_API_KEY|AWF_RUN_ID|AWF_TRANSCRIPT)=' env)" 0
	grep -qx OTHER=4 env
	chmod 644 "$XDG_CONFIG_HOME/awf/keys"
	run -0 awf-run -n --on-complete 'echo told' true
	[[ $output == "awf-run: $XDG_CONFIG_HOME/awf/keys"* ]]
}

@test "a run inside another tells of its own end" {
	run -0 awf-run -n --name outer --on-complete 'jq -r .name' -c 'awf-run -n --name inner --on-complete "jq -r .name" true'
	same "$(paste -sd' ' <<<"$output")" 'inner outer'
}

@test "what a run inside another tells is no part of its result" {
	run -0 --separate-stderr awf-run -n --name outer -c 'awf-run -n --name inner --on-complete "echo told" -c "echo result" | awf-step show -r -- cat'
	same "$output" result
	same "$stderr" told
	awf-verify --determinism @outer
}

@test "a name and a message that are not plain text" {
	run -3 told --name $'l\u00edo "x" \u2028' -c 'awf-step -n -q a -- sh -c "printf \"\\033[2J\\n\\\"\" >&2; exit 1"'
	same "$(summary .name)" "$(jq -nc --arg name $'l\u00edo "x" \u2028' '$name')"
}

# ---- the user's config ----

# The command writes what it is told into a file, a line each; WORDS of notify_on.
config() {
	mkdir -p "$XDG_CONFIG_HOME/awf"
	printf '%s\n' "notify = ${2:-jq -c '[.name, .status, .attempt, .step]' >>$PWD/told}" \
		"${1:+notify_on = $1}" >"$XDG_CONFIG_HOME/awf/config"
}
all_told() { paste -sd' ' told 2>/dev/null; rm -f told; }

@test "notify: a command for all runs, by default told of those that fail or wait" {
	config
	awf-run -n --name fine true
	same "$(all_told)" ''
	run -7 --separate-stderr awf-run -n --name bad -c 'exit 7'
	same "$(all_told)" '["bad","failed",1,null]'
	run -124 awf-run -n --name late --timeout 100ms sleep 100
	same "$(all_told)" '["late","timeout",1,null]'
	run -75 awf-run -n --name sign -c 'awf-step -n -q --approve ok'
	same "$(all_told)" '["sign","waiting",1,"ok:0:0"]'
	config success
	awf-run -n --name fine true
	run awf-run -n --name bad false
	same "$(all_told)" '["fine","success",1,null]'
	config 'waiting,success failed'
	awf-run -n --name fine --on-complete 'echo first >>told' true
	run awf-run -n --name bad false
	same "$(all_told)" 'first ["fine","success",1,null] ["bad","failed",1,null]'
	same "$(ls "$AWF_STORAGE/runs")" ''
}

@test "notify: a run inside of another, a replay and a dry run tell nobody" {
	config 'failed success waiting'
	awf-run -n --name outer -c 'awf-run -n --name inner false || awf-run -n --name more true' 2>/dev/null || :
	same "$(all_told)" '["outer","failed",1,"inner:0:0"]'
	awf-replay -q --isolation copy @outer >/dev/null 2>&1 || :
	awf-run -n --dry-run -c 'awf-step -n a -- true' >/dev/null
	same "$(all_told)" ''
}

@test "notify: each time that a run waits for something else, and once for the same" {
	config 'failed success waiting'
	run -75 awf-run --name two -c 'awf-step one --approve | awf-step two --approve' <<<x
	same "$(all_told)" '["two","waiting",1,"one:0:0"]'
	run -75 awf-run --resume @
	run -75 awf-run --resume @
	same "$(all_told)" ''
	awf-ctl approve one
	run -75 awf-run --resume @
	same "$(all_told)" '["two","waiting",4,"two:0:0"]'
	awf-ctl deny two
	run awf-run --resume @
	[[ $(all_told) == '["two","failed",5,'* ]]
}

@test "notify: a run that a resumer resumes" {
	config 'failed success waiting'
	run -75 awf-run --name auto --auto-resume -c 'awf-step one --approve | awf-step two --approve' <<<x
	awf-ctl approve one
	awf-worker --resumer --once >/dev/null
	awf-worker --resumer --once >/dev/null
	awf-ctl approve two
	awf-worker --resumer --once >/dev/null
	same "$(all_told)" '["auto","waiting",1,"one:0:0"] ["auto","waiting",2,"two:0:0"] ["auto","success",3,null]'
}

@test "notify: whatever the command does, the run is what it was, and one line says so" {
	config 'success' 'echo told; exit 3'
	run -0 --separate-stderr awf-run -n -c 'echo ran'
	same "$output" ran
	same "$stderr" $'told\nawf-run: notify: exit status 3'
	config 'sometimes' 'echo told'
	run -0 --separate-stderr awf-run -n -c 'echo ran'
	same "$output" ran
	same "$stderr" "awf-run: $XDG_CONFIG_HOME/awf/config: notify_on: 'sometimes' is none of failed, success, waiting"
	config 'success' 'echo told'
	chmod 666 "$XDG_CONFIG_HOME/awf/config"
	run -0 --separate-stderr awf-run -n -c 'echo ran'
	[[ $stderr == *config* && $stderr != *told* ]]
	echo 'view = off' >"$XDG_CONFIG_HOME/awf/config"
	run -0 --separate-stderr awf-run -n -c 'echo ran'
	same "$stderr" ''
}

# bats test_tags=ci
@test "notify: a command that takes longer than a minute is ended" {
	config 'success' 'sleep 1000'
	run -0 --separate-stderr awf-run -n -c 'echo ran'
	same "$output" ran
	same "$stderr" 'awf-run: notify: not done after 1m00s'
}
