#!/usr/bin/env bats
# bats file_tags=turn:2
# awf-serve: what people and programs decide over HTTP about calls that wait, and runs that are
# cancelled. The page does so in serve-page.bats.
# shellcheck shell=bash disable=SC2016,SC2154
bats_require_minimum_version 1.5.0
load ../../support/helpers
load ../../support/serve

cleanup() {
	serve_end
	[ -z "${RUN-}" ] || kill -9 "$RUN" 2>/dev/null || true
}

# WORKFLOW: runs until it waits, with what is on stdin.
waits() {
	local status=0
	awf-run --name flow "${@:2}" -c "$1" >/dev/null 2>&1 3>&- || status=$?
	[ "$status" = 75 ]
}
# BODY [RUN]: its answer, and the status behind it.
decide() {
	ask "/api/runs/${2:-@}/decisions" -H 'Content-Type: application/json' --data-binary "$1" -w '\n%{http_code}\n' |
		jq -rcs 'if .[0].error then "\(.[1]) \(.[0].error.code): \(.[0].error.message)"
			else "\(.[1]) \(.[0] | del(.run_id, .goes_on) | tostring)" end'
}
last() { payloads step.completed 'select(.call == "'"$1"'") | [.result, .error.message, .approval.decision, .approval.reason]' | tail -n 1; }
resume() { awf-run --resume @ </dev/null 2>&1; }
ME=$(command id -un)

@test "a decision says what continues the run" {
	goes_on() { ask /api/runs/@/decisions -H 'Content-Type: application/json' --data-binary "$1" | jq -r .goes_on; }
	waits 'awf-step --approve ok' <<<cake
	serve
	same "$(goes_on '{"decision":"approve","call":"ok"}')" resume
	awf-run --wait 30s -c 'echo cake | awf-step --approve ok' >out 2>&1 3>&- &
	eventually eval '[ "$(ask /api/runs/@ | jq -c ".waits[0]|[.call,.attended]")" = "[\"ok:0:0\",true]" ]'
	same "$(goes_on '{"decision":"approve","call":"ok"}')" at_once
	wait $!
	awf-run --auto-resume -c 'awf-step --approve ok' <<<cake >out 2>&1 || true
	awf-worker --resumer >/dev/null 3>&- &
	resumer=$!
	eventually test -e "$AWF_STORAGE/resumes/.lock"
	eventually eval 'grep -q ":$(stat -c %i "$AWF_STORAGE/resumes/.lock") " /proc/locks'
	same "$(goes_on '{"decision":"approve","call":"ok"}')" by_itself
	eventually eval '[ "$(ask /api/runs/@ | jq -r .status)" = success ]'
	kill "$resumer"
}

@test "a call is approved as it is: every byte stays" {
	for input in 'cake' 'one\r\ntwo\r\n' 'no line feed' '\0377\0376\0\n' '\n'; do
		printf %b "$input" >input
		waits 'awf-step --approve ok | awf-step show -r -- cat' <input
		[ -n "${SERVE_PID-}" ] || serve
		same "$(decide '{"decision":"approve","call":"ok"}')" \
			"200 {\"by\":\"$ME\",\"call\":\"ok:0:0\",\"decision\":\"approved\"}"
		awf-run --resume @ </dev/null >output
		cmp input output
		awf-verify
	done
}

# bats test_tags=turn:3
@test "the same data again is no edit; other data is, in the form that it had" {
	serve
	while IFS='|' read -r form input data decision want; do
		printf %b "$input" | waits "awf-step -i $form --approve ok | awf-step show -r -- sh -c 'od -An -c | tr -d \" \\n\"'"
		same "$(decide "{\"decision\":\"approve\",\"call\":\"ok\",\"data\":$data}" | jq -rR 'split(" ")[0], (ltrimstr("200 ") | fromjson.decision)' | paste -sd' ')" "200 $decision"
		same "$(resume)" "$want"
		awf-verify
	done <<-'END'
	text|cake\n|"cake"|approved|cake\n
	text|cake|"cake"|approved|cake
	text|a\r\nb\r\n|"a\r\nb\r"|approved|a\r\nb\r\n
	text|a\r\nb\r\n|"a\nb"|edited|a\nb\n
	text|cake\n|"tea"|edited|tea\n
	text|cake|"tea"|edited|tea
	text|cake\n|""|edited|\n
	text|cake\n|"5"|edited|5\n
	json|{"a":1}|{ "a" : 1 }|approved|{"a":1}\n
	json|{"a":1}|{"a":[2]}|edited|{"a":[2]}\n
	json|{"a":1}|"word"|edited|word\n
	json|{"a":1}|12345678901234567890.10|edited|12345678901234567890.10\n
	json|null|"5"|edited|5\n
	END
	# Text stays text.
	waits 'awf-step --approve ok' <<<cake
	same "$(decide '{"decision":"approve","call":"ok","data":{"a":1}}')" \
		"400 invalid_input: the input of the call is text: 'data' is to be text, too"
	same "$(last ok:0:0)" '[null,"waits for a decision",null,null]'
}

@test "a call is denied with a reason; who decided is the label of the token" {
	waits 'awf-step --approve ok' <<<cake
	serve
	TOKEN=$(awf-serve --new-token decide --label 'alice, on call')
	ask_tcp /api/runs/@/decisions -H 'Content-Type: application/json' \
		-d '{"decision":"deny","call":"ok:0:0","reason":"too sweet"}' >answer
	same "$(jq -c '[.run_id, .call, .decision, .by]' answer)" \
		"[\"$(basename "$(transcript)" .jsonl)\",\"ok:0:0\",\"denied\",\"alice, on call\"]"
	same "$(last ok:0:0)" '[null,"denied by alice, on call: too sweet","denied","too sweet"]'
	run -3 resume
	awf-verify
	# A session has the label of its token; a token without one is named by its digest, as
	# --list-tokens prints it; the printed link is for the user whose server it is.
	login() { curl -s -H 'Content-Type: application/json' -d "$1" "$URL/api/session" | jq -r .token; }
	plain=$(awf-serve --new-token decide)
	for who in "$(login "{\"token\":\"$TOKEN\"}")|alice, on call" "$plain|token $(awf-serve --list-tokens | awk 'END { print $1 }')" \
		"$(login "{\"code\":\"$CODE\"}")|$ME"; do
		waits 'awf-step --approve ok' <<<cake
		same "$(TOKEN=${who%%|*} ask_tcp /api/runs/@/decisions -H 'Content-Type: application/json' \
			-d '{"decision":"deny","call":"ok"}' | jq -r .by)" "${who#*|}"
	done
}

@test "who may not decide is refused" {
	waits 'awf-step --approve ok' <<<cake
	serve
	body='{"decision":"approve","call":"ok"}'
	for role in read ingest start; do
		token=$(awf-serve --new-token $role)
		same "$(status_of -H "Authorization: Bearer $token" -H 'Content-Type: application/json' -d "$body" "$URL/api/runs/@/decisions")" 403
	done
	same "$(status_of -H 'Content-Type: application/json' -d "$body" "$URL/api/runs/@/decisions")" 401
	token=$(awf-serve --new-token decide --name other)
	same "$(status_of -H "Authorization: Bearer $token" -H 'Content-Type: application/json' -d "$body" "$URL/api/runs/@/decisions")" 404
	same "$(ask /api/runs/@/decisions -d "$body" | jq -r .error.message)" 'the body is of another type: Content-Type: application/json is taken here'
	same "$(ask /api/runs/@/decisions -o /dev/null -w '%{http_code}')" 405
	same "$(last ok:0:0)" '[null,"waits for a decision",null,null]'
}

# As the last step of a run that waits: approves what waits in it on the socket, in a way of its own.
decides_itself() {
	cat >approves <<-END
		run=\${run-\$AWF_RUN_ID}
		body='{"decision":"approve","call":"ok"}'
		approve() { \$1 curl -sS --max-time 20 --unix-socket "$BATS_TEST_TMPDIR/socket" -H 'Content-Type: application/json' -d "\$body" "http://localhost/api/runs/\$run/decisions"; }
	END
	waits "awf-step --approve ok || status=\$?; . ./approves; $1; exit \$status" <<<cake
	same "$(cat answer)" "{\"error\":{\"code\":\"forbidden\",\"message\":\"$(basename "$(transcript)" .jsonl): $2\"}}"
	same "$(last ok:0:0)" '[null,"waits for a decision",null,null]'
}

@test "a run does not decide about itself on the socket, nor about one that it is inside of" {
	serve
	own='a run does not decide about itself, nor about one that it is inside of'
	decides_itself 'approve >answer' "$own"
	decides_itself 'approve "env -i PATH=$PATH" >answer' "$own"
	# Nobody but the awf-run is left of those that have started it.
	decides_itself 'rm answer; (env -i PATH=$PATH run=$AWF_RUN_ID sh -c ". ./approves; approve >new; mv new answer" &); until [ -e answer ]; do sleep 0.01; done' "$own"
	decides_itself 'awf-run -n --no-transcript -c "run=$AWF_RUN_ID; . ./approves; approve" >answer' "$own"
	# Who has gone is not known.
	cat >forks.py <<-'END'
		import os, socket, sys, time
		s = socket.socket(socket.AF_UNIX)
		s.connect(sys.argv[1])
		parent = os.getpid()
		if os.fork():
		    os._exit(0)
		while os.path.exists(f"/proc/{parent}"):
		    time.sleep(0.01)
		body = b'{"decision":"approve","call":"ok"}'
		s.sendall(b'POST /api/runs/@/decisions HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n'
		          b'Connection: close\r\nContent-Length: %d\r\n\r\n' % len(body) + body)
		print(s.makefile().read())
	END
	waits 'awf-step --approve ok' <<<cake
	[[ $(python3 forks.py "$BATS_TEST_TMPDIR/socket") == *'"forbidden"'*'the process that asks cannot be seen from here'* ]]
	same "$(last ok:0:0)" '[null,"waits for a decision",null,null]'
	# Of another one it does.
	id=$(basename "$(transcript)" .jsonl)
	awf-run -n --name other -c "run=$id; . ./approves; approve" >answer
	same "$(jq -r .decision answer)" approved
}

@test "a question is told while it is asked and after that, and can be answered" {
	serve
	echo '{"type":"object","required":["ok"]}' >answer.json
	for grace in 30 0; do
		awf-run --name flow -c "echo cake | awf-step --ask 'Is {{data}} right?' --output-schema answer.json --ask-grace $grace first" >out 2>&1 3>&- &
		RUN=$!
		[ $grace != 0 ] || wait $RUN || true
		eventually sh -c "awf-tail | grep -q 'first'"
		same "$(ask /api/runs/@ | jq -c '.waits[] | [.call, .for, .input.text, .question.prompt, .question.schema.required]')" \
			'["first:0:0","completion","cake","Is cake right?",["ok"]]'
		same "$(decide '{"decision":"complete","call":"first","data":{"no":1}}' | grep -o "^4.*input\|'ok' is missing")" \
			$'400 invalid_input\n\'ok\' is missing'
		same "$(decide '{"decision":"complete","call":"first","data":{"ok":1}}')" \
			"200 {\"by\":\"$ME\",\"call\":\"first:0:0\",\"decision\":\"completed\"}"
		same "$(ask /api/runs/@ | jq -c .waits)" '[]'
		wait $RUN || true
	done
}

# bats test_tags=turn:2
@test "a result, in the form that the step takes" {
	serve
	while IFS='|' read -r form data want; do
		waits "awf-step --pending -O $form job -- sh -c 'exit 75' | awf-step -s -r all -- cat" <<<work
		same "$(decide "{\"decision\":\"complete\",\"call\":\"job\",\"data\":$data}")" \
			"200 {\"by\":\"$ME\",\"call\":\"job:0:0\",\"decision\":\"completed\"}"
		same "$(resume | tail -n 1)" "$want"
		awf-verify
	done <<-'END'
	text|"a\nb"|["a\nb"]
	text|""|[""]
	text|null|[null]
	lines|"a\nb"|["a","b"]
	lines|null|[]
	nul|"a\nb\u0000c"|["a\nb","c"]
	json|{"a": 1.50}|[{"a":1.50}]
	json|[1, 2]|[[1,2]]
	json|"a"|["a"]
	json|null|[null]
	END
	# By the token of the task; what has no result; what may wait on.
	waits 'awf-step -n --pending=1h job -q -- sh -c "echo \$AWF_TASK >task; exit 75"'
	same "$(decide '{"decision":"heartbeat","call":"job"}')" "200 {\"by\":\"$ME\",\"call\":\"job:0:0\",\"decision\":\"heartbeat\"}"
	same "$(decide '{"decision":"complete","call":"job","failed":false}' | cut -c 1-3)" 400
	same "$(decide "{\"decision\":\"complete\",\"call\":\"00000000-0000-4000-8000-000000000000/job:0:0\",\"data\":1}")" \
		'400 invalid_input: the task is one of another run'
	same "$(decide "{\"decision\":\"complete\",\"call\":\"$(cat task)\",\"failed\":true,\"reason\":\"no room\"}")" \
		"200 {\"by\":\"$ME\",\"call\":\"job:0:0\",\"decision\":\"failed\"}"
	same "$(last job:0:0)" "[null,\"failed by $ME: no room\",\"failed\",\"no room\"]"
}

@test "what is misspelt, doubled or of another kind decides nothing" {
	waits 'awf-step --approve ok' <<<cake
	serve
	while IFS='|' read -r body message; do
		same "$(decide "$body")" "400 invalid_input: $message"
	done <<-'END'
	{"decision":"approve","call":"ok"|the body is no JSON: ends too early at byte 34
	["approve"]|the body is no object
	{"call":"ok"}|'decision' is to be approve, deny, complete, heartbeat, tell or cancel
	{"decision":"Approve","call":"ok"}|'decision' is to be approve, deny, complete, heartbeat, tell or cancel
	{"decision":"approve"}|'call' is missing: which one approve is about
	{"decision":"approve","call":"ok","text":"x"}|'text' is no member that is known here
	{"decision":"approve","call":"ok","ca\u006cl":"ok"}|'call' stands twice
	{"decision":"approve","call":1}|'call' is to be a text
	{"decision":"approve","call":null}|'call' is to be a text
	{"decision":"approve","call":"ok\u0000"}|'call' holds a NUL
	{"decision":"approve","call":"ok","reason":["x"]}|'reason' is to be a text
	{"decision":"approve","call":"ok","failed":true}|approve takes no 'failed'
	{"decision":"deny","call":"ok","data":"x"}|deny takes no 'data'
	{"decision":"heartbeat","call":"ok","reason":"x"}|heartbeat takes no 'reason'
	{"decision":"cancel","call":"ok"}|cancel takes no 'call'
	{"decision":"cancel","reason":"x"}|cancel takes no 'reason'
	{"decision":"complete","call":"ok"}|'data' is missing: the result, or null
	{"decision":"complete","call":"ok","failed":"yes"}|'failed' is to be true or false
	{"decision":"complete","call":"ok","failed":true,"data":1}|a call that failed has no 'data'
	{"decision":"complete","call":"ok","data":1,"reason":"x"}|'reason' goes with 'failed' alone
	END
	same "$(last ok:0:0)" '[null,"waits for a decision",null,null]'
	# So is a session begun.
	login() { curl -s -H 'Content-Type: application/json' -d "$1" "$URL/api/session" | jq -r .error.message; }
	same "$(login "{\"code\":\"$CODE\",\"cookie\":1}")" "'cookie' is to be true or false"
	same "$(login "{\"code\":\"$CODE\",\"code\":\"$CODE\"}")" "'code' stands twice"
	same "$(login "{\"code\":\"$CODE\",\"token\":\"x\"}")" 'either a code or a token is needed'
	same "$(login '{}')" 'either a code or a token is needed'
	same "$(login "{\"code\":\"$CODE\",\"role\":\"start\"}")" "'role' is no member that is known here"
	same "$(login "{\"code\":\"$CODE\"}")" null
}

# bats test_tags=turn:2
@test "what is not there is 404, what does not wait any more 409" {
	waits 'awf-step --approve ok' <<<cake
	id=$(basename "$(transcript)" .jsonl)
	# On a busy machine a client may take longer to begin its request than half a second.
	patient
	serve
	same "$(decide '{"decision":"approve","call":"okk"}')" \
		"404 not_found: okk: no such call waits in run $id (did you mean 'ok'?); these do: ok:0:0"
	same "$(decide '{"decision":"approve","call":"ok"}' @none)" '404 not_found: there is no such run'
	same "$(decide '{"decision":"complete","call":"ok","data":"x"}' | cut -d: -f 1)" '409 conflict'
	# Of twenty at the same time one decides.
	for i in $(seq 20); do
		decide "{\"decision\":\"$( ((i % 2)) && echo approve || echo deny)\",\"call\":\"ok\",\"reason\":\"$i\"}" >"answer.$i" 3>&- &
		deciders+=($!)
	done
	wait "${deciders[@]}"
	same "$(cut -c 1-3 answer.* | sort | uniq -c | awk '{ print $1, $2 }' | paste -sd' ')" '1 200 19 409'
	same "$(payloads step.completed 'select(.approval.decision) | .approval.reason' | jq -r .)" "$(sed 's/.*/&/' <(grep -l '^200' answer.* | sed 's/answer\.//'))"
	[[ $(decide '{"decision":"approve","call":"ok"}') == "409 conflict: ok:0:0: does not wait any more: "* ]]
	awf-verify
	# Several calls of a step.
	printf 'a\nb\n' | waits 'awf-step -i lines --approve ok'
	same "$(decide '{"decision":"approve","call":"ok"}')" '409 conflict: ok: several calls of it wait, name one: ok:0:0, ok:0:1'
	same "$(decide '{"decision":"approve","call":"ok:0:1"}' | cut -c 1-3)" 200
	# A run whose deadline is over.
	waits 'awf-step -n --pending=1ms job -q -- sh -c "exit 75"'
	[[ $(decide '{"decision":"heartbeat","call":"job"}') == '409 conflict: job:0:0: does not wait any more: its time was over at '* ]]
}

@test "runs that are recorded elsewhere, masked ones, and damaged lines" {
	serve
	(export AWF_STORAGE="$PWD/there"; waits 'awf-step --approve ok' <<<cake)
	awf-record --origin laptop -q <"$(echo "$PWD"/there/transcripts/*.jsonl)"
	id=$(basename "$PWD"/there/transcripts/*.jsonl .jsonl)
	same "$(decide '{"decision":"approve","call":"ok"}' "$id")" \
		"403 forbidden: $id: is recorded elsewhere and sent here by 'laptop': that is done where it is recorded"
	same "$(decide '{"decision":"cancel"}' "$id" | cut -c 1-3)" 403
	run -3 awf-run --mask 'sed -u s/secret/xxx/' -c 'awf-step --approve ok' <<<cake
	[[ $(decide '{"decision":"approve","call":"ok"}') == '409 conflict: '*' is masked '* ]]
	# Of the call that waits, the start cannot be read any more.
	waits 'awf-step --approve ok' <<<cake
	sed -i '/step.started/s/^{"seq"/{"seq"?/' "$(transcript)"
	same "$(decide '{"decision":"approve","call":"ok"}' | cut -d: -f 1)" '400 invalid_input'
}

@test "a sealed run takes decisions that its key signs" {
	mkdir -p "$XDG_CONFIG_HOME/awf"
	awf-verify --keygen key
	waits 'awf-step --approve ok' --seal=key <<<cake
	id=$(basename "$(transcript)" .jsonl)
	serve
	same "$(decide '{"decision":"approve","call":"ok"}')" \
		"409 conflict: $id: is sealed, and this server's user has no key: awf-ctl --seal=KEYFILE decides about it where the key is"
	awf-verify --keygen "$XDG_CONFIG_HOME/awf/seal.key"
	same "$(decide '{"decision":"approve","call":"ok"}')" \
		"409 conflict: $id: is sealed, and the key of this server's user is another: awf-ctl --seal=KEYFILE decides about it where the key is"
	awf-verify --key key.pub
	cp key "$XDG_CONFIG_HOME/awf/seal.key"
	same "$(decide '{"decision":"approve","call":"ok"}' | cut -c 1-3)" 200
	awf-verify --key key.pub
	# What cannot be read is told to the log.
	waits 'awf-step --approve ok' <<<cake
	chmod 644 "$XDG_CONFIG_HOME/awf/seal.key"
	same "$(decide '{"decision":"approve","call":"ok"}')" '500 internal: the server failed to do it: its log says why'
	grep -q seal.key "$BATS_TEST_TMPDIR/serve.err"
}

@test "a run is cancelled, and so is one that waits for its turn" {
	awf-run -n --name work -c 'awf-step -n long -- sleep 77.62' >out 2>err 3>&- &
	RUN=$!
	eventually pgrep -xf 'sleep 77.62'
	awf-run -n --name work --overlap buffer-one true 2>waiting 3>&- &
	next=$!
	queued() { awf-ctl list --json --status queued | grep -q .; }
	eventually queued
	serve
	id=$(awf-ctl list --json --status queued | jq -r .run_id)
	# Whoever may see none of its runs cannot.
	TOKEN=$(awf-serve --new-token decide --name other)
	same "$(ask_tcp "/api/runs/$id/decisions" -H 'Content-Type: application/json' -d '{"decision":"cancel"}' | jq -r .error.code)" not_found
	same "$(decide '{"decision":"cancel"}' "$id")" "200 {\"by\":\"$ME\",\"decision\":\"cancelled\"}"
	run ! wait "$next"
	same "$(decide '{"decision":"cancel"}' @work)" "200 {\"by\":\"$ME\",\"decision\":\"cancelled\"}"
	run -143 wait "$RUN"
	run ! pgrep -xf 'sleep 77.62'
	same "$(payloads run.completed '[.status, .error.message]')" "[\"cancelled\",\"cancelled by $ME\"]"
	[[ $(decide '{"decision":"cancel"}' @work) == "409 conflict: "*": is not running: it has ended as 'cancelled'" ]]
}

@test "a run that takes long to end is left to it" {
	(trap '' TERM; exec awf-run -n --name deaf -c 'awf-step -n one -q -- sleep 4') >out 2>err 3>&- &
	RUN=$!
	begun() { grep -qs '"name":"one"' "$AWF_STORAGE"/transcripts/*.jsonl; }
	eventually begun
	serve
	same "$(decide '{"decision":"cancel"}' @deaf)" '202 {"decision":"cancelled"}'
	# The others are answered meanwhile.
	same "$(ask /healthz)" ok
	wait "$RUN"
}

@test "a server that is ended leaves a decision whole" {
	waits 'awf-step --approve ok' <<<cake
	serve
	# Nobody gets its transcript's lock meanwhile.
	flock "$(transcript)" sh -c ': >locked; sleep 0.7' 3>&- &
	locker=$!
	eventually [ -e locked ]
	decide '{"decision":"approve","call":"ok"}' >answer 3>&- &
	decider=$!
	sleep 0.2
	same "$(ask /healthz)" ok
	serve_end
	wait "$decider" || true
	wait "$locker"
	decided() { [ "$(payloads step.completed 'select(.approval.decision) | 1')" = 1 ]; }
	eventually decided
	same "$(cat answer)" '503 unavailable: the server is being stopped'
	awf-verify
}
