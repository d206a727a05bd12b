#!/usr/bin/env bats
# Programs whose model traffic is recorded, killed at random moments, alone or with all that is
# around them, and resumed until they are done: no answer that stands in the record is asked for
# again, and what comes out is what comes out undisturbed.
# shellcheck shell=bash
bats_require_minimum_version 1.5.0
load ../support/helpers
load ../support/agent

QUESTIONS=12

prepare() {
	cat >program.py <<-END
		import http.client, json, os, sys, urllib.parse
		url = urllib.parse.urlsplit(os.environ["ANTHROPIC_BASE_URL"])
		api = http.client.HTTPConnection(url.hostname, url.port)
		open("program.pid", "w").write(str(os.getpid()))
		for number in range($QUESTIONS):
		    body = {"model": "m", "max_tokens": 9, "stream": True,
		            "messages": [{"role": "user", "content": f"question {number}"}]}
		    api.request("POST", "/v1/messages", json.dumps(body), {
		        "x-api-key": os.environ["ANTHROPIC_API_KEY"], "content-type": "application/json"})
		    answer = api.getresponse()
		    text = answer.read().decode()
		    assert answer.status == 200, text
		    deltas = (json.loads(line[6:]) for line in text.splitlines() if line.startswith("data: "))
		    print("".join(delta.get("delta", {}).get("text", "") for delta in deltas))
	END
	for i in $(seq 0 $((QUESTIONS - 1))); do
		text "answer $i" >"$i.jsonl"
		answers+=(--answer-for "question $i\"" "$i.jsonl")
		echo "answer $i" >>want
	done
}

# All processes of the run, from awf-run on.
tree() {
	local pid
	echo "$1"
	for pid in $(pgrep -P "$1"); do tree "$pid"; done
}

# Kills something of a run that goes on, $1 its awf-run.
strike() {
	local pids program
	mapfile -t pids < <(tree "$1")
	program=$(cat program.pid 2>/dev/null || echo "$1")
	case $((RANDOM % 3)) in
	0) kill -9 "$program" 2>/dev/null || : ;;
	1) kill -9 "${pids[@]}" 2>/dev/null || : ;;
	2) kill -9 "${pids[RANDOM % ${#pids[@]}]}" 2>/dev/null || : ;;
	esac
}

# The requests that have a whole answer in the record, a line each.
answered() {
	if [ -e "$AWF_STORAGE/latest" ]; then
		payloads message.assistant 'select(.partial | not).request_sha256'
	fi
}

@test "no answered request is asked again, whatever is killed" {
	local kills=0 asked run before status=1
	# A piece of an answer takes some milliseconds, and its end too.
	model_server "${answers[@]}" --loop --fault '*:slow:1'
	: >>"$MODEL_SERVER_LOG"
	# A place that a killed one left taken would hold up the next for good.
	mkdir -p "$XDG_CONFIG_HOME/awf"
	echo 'anthropic at-once=1 down-after=0' >"$XDG_CONFIG_HOME/awf/limits"
	while [ "$kills" -lt "$(rounds 3 100)" ]; do
		rm -rf "$AWF_STORAGE" program.pid
		before=$(wc -l <"$MODEL_SERVER_LOG")
		set -- -c 'awf-step -n -r --models app -- python3 -S program.py'
		status=1 asked=0
		until [ "$status" -eq 0 ]; do
			awf-run "$@" >now 2>err 3>&- &
			run=$!
			nap "0.$(printf %03d $((RANDOM % 400)))"
			if ! gone "$run" && [ "$kills" -lt 100 ]; then
				strike "$run"
				kills=$((kills + 1))
				asked=$((asked + 1))
			fi
			status=0
			wait "$run" || status=$?
			# One that was killed when it was done has printed all.
			grep -q 'ended with success: there is nothing' err || mv now out
			[ ! -e "$AWF_STORAGE/latest" ] || set -- --resume @
		done
		cmp out want
		# Each once; and asked once, but for one that was under way at each kill.
		same "$(answered | sort | uniq -d)" ''
		same "$(answered | wc -l)" "$QUESTIONS"
		[ $(($(wc -l <"$MODEL_SERVER_LOG") - before)) -le $((QUESTIONS + asked)) ]
		awf-verify -q
	done
}

# bats test_tags=turn:3
@test "bytes reach the program as they would without a proxy, and again in a replay, however they come" {
	local seed=$RANDOM$RANDOM files count api directory server
	[ -z "${AWF_TEST_SEED-}" ] || seed=$AWF_TEST_SEED
	for api in anthropic openai openai-responses google; do
		for directory in "$ROOT/tests/fixtures/$api" "${AWF_CAPTURES:-$ROOT/../shared/captures}/http/${api/%openai/openai-chat}"; do
			[ ! -d "$directory" ] || files+=("$directory"/*.jsonl)
		done
	done
	count=$((${#files[@]} + $(rounds 20 240)))
	echo "seed $seed, $count streams"
	# By itself: of a function its shell would be killed, and not the server.
	python3 -S "$ROOT/tests/support/streams.py" serve "$seed" "$count" "${files[@]}" >port 3>&- &
	server=$!
	echo "$server" >>"$BATS_TEST_TMPDIR/model-server.pids"
	eventually test -s port
	export ANTHROPIC_BASE_URL=http://127.0.0.1:$(cat port) ANTHROPIC_API_KEY=key-of-a OPENAI_API_KEY=key-of-o GEMINI_API_KEY=key-of-g
	export OPENAI_BASE_URL=$ANTHROPIC_BASE_URL/v1 GEMINI_BASE_URL=$ANTHROPIC_BASE_URL
	python3 -S "$ROOT/tests/support/streams.py" ask "$seed" "$count" "${files[@]}" >direct
	same "$(wc -l <direct)" "$count"
	# Each is another.
	same "$(cut -d' ' -f2- direct | sort -u | wc -l)" "$count"
	run --separate-stderr awf-run -n -- awf-step -n -r --models app -- \
		python3 -S "$ROOT/tests/support/streams.py" ask "$seed" "$count" "${files[@]}"
	echo "$output" >proxied
	diff direct proxied
	same "$(payloads message.user 1 | wc -l)" "$count"
	kill "$server"
	awf-replay -q --isolation copy >replayed
	diff direct replayed
}
