#!/usr/bin/env bats
# bats file_tags=turn:2
# awf-run --mask: no byte of a secret reaches the storage, whatever way it takes; and a
# filter that does not do its work stops the run.
# shellcheck disable=SC2016,SC2089,SC2090,SC2154 # what is quoted is for others; bats sets stderr
bats_require_minimum_version 1.5.0
load ../../support/helpers

prepare() {
	secret='s3cr3t"Ω\pass+word'
	printf '%s\n' "$secret" >secrets
	all_forms >forms
	export secret
	export PATH="$PATH:$BUILD/libexec/awf"
}

# Every form in which the secret could be written.
all_forms() {
	local pad code
	printf '%s\n' "$secret"
	jq -nr --arg s "$secret" '$s | tojson | .[1:-1]'
	jq -nra --arg s "$secret" '$s | tojson | .[1:-1]'
	for pad in '' x xx; do
		code=$(printf '%s%s' "$pad" "$secret" | base64 -w 0)
		# The characters that hold bits of the secret alone.
		code=${code%%=*}
		echo "${code:${#pad} * 2:-1}"
	done
	printf '%s' "$secret" | od -An -v -tx1 | tr -d ' \n'
	echo
	for text in "$secret" "\"$secret\"" "$(jq -nc --arg s "$secret" '$s')" "$secret"$'\n'; do
		printf '%s' "$text" | sha256sum | cut -d' ' -f1
	done
}

# Whether anything of it is in the storage: contents or names.
leaks() {
	grep -raFf forms "$AWF_STORAGE" || find "$AWF_STORAGE" | grep -Ff forms
}

# Whether a step has begun.
begun() { grep -qs step.started "$AWF_STORAGE"/transcripts/*; }

# The filters of this test that are there.
filters() {
	local pid
	for pid in $(pgrep -x awf-mask-patter); do
		if grep -qzsx "AWF_STORAGE=$AWF_STORAGE" "/proc/$pid/environ"; then echo "$pid"; fi
	done
}

tool() {
	mkdir -p tools
	echo "{\"description\":\"$1\",\"effects\":\"none\"}" >"tools/$1.tool.json"
	printf '#!/bin/sh\n%s\n' "$2" >"tools/$1"
	chmod +x "tools/$1"
}

# Answers of the model, the secret in each kind of block.
answers() {
	jq -nc --arg s "$secret" '
		{blocks: [{type: "thinking", thinking: "think \($s)"}, {type: "text", text: "say \($s)"},
			{type: "tool_use", tool_id: "t1", tool_name: "show", tool_input: {($s): [$s]}},
			{type: "tool_use", tool_id: "t2", tool_name: "break", tool_input: {a: "x\($s)y"}}],
			stop_reason: "tool_use"},
		{blocks: [{type: "text", text: "done \($s)"}]}'
}

# A filter from this shell text, in an executable file.
filter() {
	printf '#!/bin/sh\n%s\n' "$1" >filter
	chmod +x filter
}

# What a run leaves that is stopped at its first event: one line, nothing in the storage.
stops_at_once() {
	run -125 --separate-stderr awf-run -n --mask ./filter -c 'touch ran'
	same "$output" ''
	same "${stderr_lines[-1]}" "awf-run: --mask: the filter $1"
	same "$(grep -c ^awf-run: <<<"$stderr")" 1
	[ ! -e ran ]
	same "$(find "$AWF_STORAGE" -type f -size +0)" ''
	same "$(ls "$AWF_STORAGE/runs")" ''
}

# bats test_tags=turn:2
@test "no byte of a secret reaches the storage" {
	tool show 'cat; echo "shown $secret" >&2'
	tool break 'cat >&2; exit 3'
	printf -- '---\ntools: [show, break]\n---\nBe brief about %s.\n' "$secret" >helper.md
	answers >answers.jsonl
	cat >flow <<'END'
printf 'binary \377 %s \377\n' "$secret" | awf-step bytes -- cat >bytes
awf-step -n bits -O lines -- printf '\377%s\nx\377\n' "$secret" >bits
printf '%s' "$secret" | base64 | awf-step coded -- cat >coded
awf-step -n large -- sh -c 'printf "%s" "$secret"; head -c 300000 /dev/zero | tr "\0" x; printf "%s" "$secret"' >large
awf-step -n flood -- sh -c 'head -c 99999 /dev/zero | tr "\0" "\n" >&2; printf "%s" "$secret" >&2' >flood
awf-step -n --when "test -n '$secret'" when -- echo "$secret" >when
yes "$secret" | head -n 40 | awf-step -i lines -j 4 many -- sh -c 'cat; echo "$secret" >&2' >many
jq -nc --arg s "$secret" '{($s): {deep: [$s, 1]}}' | awf-step -i json -O json data -- cat >data
awf-step -a ./helper.md -m replay/answers.jsonl -p 'Ask {{data}} {{inputs.key}}' ask >asked <bytes
awf-step --into "$secret" into -- cat <data >into
awf-step --retries 1 --delay 1ms fails -- sh -c 'echo "$0" >&2; exit 5' "$secret" <when >fails
awf-step -r missing -- "./no-$secret" <when >missing
awf-step -s join -- wc -c <many
exit 3
END
	mkdir -p "$AWF_STORAGE"
	for _ in $(seq 1500); do
		[ ! -e stop ] || break
		if leaks >>seen 2>/dev/null; then touch leaked; fi
		sleep 0.02
	done 3>&- &
	watcher=$!
	run -3 awf-run --mask "patterns secrets" --env secret --input "key=$secret" \
		--name "of $secret" --shell /bin/bash ./flow "$secret" <<<"$secret"
	touch stop
	wait "$watcher"
	[ ! -e leaked ] || { cat seen; false; }
	run ! leaks
	# It was all there to be masked, and the workflow's own data is as it was.
	[ "$(grep -c '\[masked\]' "$(transcript)")" -ge 90 ]
	same "$(jq -r .data when)" "$secret"
	same "$(jq -r .data many | sort -u)" "$secret"
	grep -q '"base64"' bytes
	[ "$(find "$AWF_STORAGE"/blobs -type f | wc -l)" -ge 3 ]
	grep -lra '\[masked\]' "$AWF_STORAGE/blobs" | grep -q .
	[ -z "$(find "$AWF_STORAGE/inputs" -type f)" ]
	same "$(grep -c '\[masked\]' "$AWF_STORAGE/audit.jsonl")" 2
	awf-verify
	same "$(jq -c 'select(.type == "run.started").payload | [.masked, .inputs, .env.secret, .name]' "$(transcript)")" \
		'[true,{"key":"[masked]"},"[masked]","of [masked]"]'
	same "$(jq -c 'select(.type == "run.completed").payload | has("stdin")' "$(transcript)")" false
}

@test "the forms that are looked for are those in which a secret is recorded" {
	awf-run -n -c 'awf-step -n a -- echo "$secret"
		printf "%s" "$secret" | base64 | awf-step -q b -- cat
		printf "\377%s" "$secret" | awf-step -q c -- cat
		printf "%s" "$secret" | awf-step -q d -- cat' >/dev/null
	for form in $(seq 8); do
		sed -n "$form p" forms >one
		[ -s one ]
		grep -rqaFf one "$AWF_STORAGE" || missing="$missing $form"
	done
	# Written by AWF: plain (in a blob), escaped, base64, the digest of the JSON text.
	same "$missing" ' 3 5 6 7 8'
	sed -n 10p forms >one
	grep -rqaFf one "$AWF_STORAGE"
}

@test "what is asked and done in a masked run is not masked" {
	tool show 'cat'
	printf -- '---\ntools: [show]\n---\nKnow %s.\n' "$secret" >helper.md
	model_server --answer "$ROOT/tests/fixtures/anthropic/text.jsonl"
	printf '%s' "$secret" | awf-run --mask 'patterns secrets' -c 'awf-step -q -a ./helper.md -m anthropic/x ask'
	jq -r '.. | strings' "$MODEL_SERVER_LOG" | grep -qF "$secret"
	grep -q 'Know \[masked\]' "$(transcript)"
	run ! leaks
}

@test "a step that is a run of its own is masked by AWF_MASK, and so is a run without the option" {
	export AWF_MASK='patterns secrets'
	printf '%s' "$secret" | awf-step -q own -- cat
	awf-verify
	run ! leaks
	same "$(jq -c 'select(.type == "run.started").payload.masked' "$(transcript)")" true
	awf-run -n -c 'cd / && awf-step -n -q a -- echo "$secret"'
	run ! leaks
	same "$(grep -c '\[masked\]' "$(transcript)")" 2
	# Runs within runs have the filter of the outermost.
	awf-run -n -c 'awf-run -n -c "awf-step -n -q b -- echo \"\$secret\""'
	run ! leaks
	same "$(grep -l '"masked":true' "$AWF_STORAGE"/transcripts/* | wc -l)" 4
}

@test "a step that has lost its filter, or has another, records nothing" {
	run -4 --separate-stderr awf-run -n --mask 'patterns secrets' -c 'unset AWF_MASK; awf-step -n a -- echo "$secret"'
	same "${stderr_lines[0]}" 'awf-step: AWF_MASK: is not set, but the run is masked: do not unset it'
	run -4 --separate-stderr awf-run -n --mask 'patterns secrets' -c 'AWF_MASK=cat awf-step -n a -- echo "$secret"'
	same "${stderr_lines[0]}" 'awf-step: AWF_MASK: is not the filter that the run began with: do not set it yourself'
	run -125 --separate-stderr awf-run -n --mask 'patterns secrets' -c 'unset AWF_MASK; awf-run -n -c "echo \"$secret\""'
	same "${stderr_lines[0]}" 'awf-run: AWF_MASK: is not set, but the run is masked: do not unset it'
	run -125 --separate-stderr awf-run -n --mask 'patterns secrets' -c 'AWF_MASK=cat awf-run -n -c "echo \"$secret\""'
	same "${stderr_lines[0]}" 'awf-run: AWF_MASK: is not the filter that the run began with: do not set it yourself'
	run -125 --separate-stderr awf-run -n --mask 'patterns secrets' -c 'awf-run --mask cat -n true'
	same "${stderr_lines[0]}" 'awf-run: --mask: not inside a run that is masked: its filter masks this one too'
	run -4 --separate-stderr awf-run -n --mask 'patterns secrets' -c 'unset AWF_MASK_DIR; awf-step -n a -- echo "$secret"'
	same "${stderr_lines[0]}" 'awf-step: AWF_MASK: is not the filter that the run began with: do not set it yourself'
	run -4 --separate-stderr awf-run -n -c 'AWF_MASK=cat awf-step -n a -- true'
	same "${stderr_lines[0]}" 'awf-step: AWF_MASK: is set, but the run is not masked: give --mask to awf-run'
	same "$(cat "$AWF_STORAGE"/transcripts/* | grep -c '"type":"step')" 0
	run ! leaks
}

@test "the command of the filter is in no file: it may hold what it masks" {
	printf '%s\n' plainsecret >forms
	awf-run -n --mask "sed -u 's/plainsecret/X/g'" -c 'awf-step -n -q a -- echo plainsecret
		grep -ra plainsecret "$AWF_STORAGE" >during || true; ls "$AWF_STORAGE/runs/$AWF_RUN_ID" >files'
	same "$(cat during)" ''
	grep -qx mask files
	run ! leaks
	same "$(jq -r 'select(.type == "step.completed").payload.result' "$(transcript)")" X
}

@test "digests are keyed: equal inputs have equal ones, but none that could be guessed" {
	printf 'x\nx\ny\n' >lines
	run_digests() {
		awf-run -n --mask cat -c 'awf-step -i lines -q a -- cat <lines'
		jq -r 'select(.payload.input_sha256).payload.input_sha256' "$(transcript)"
	}
	run_digests >one
	run_digests >two
	same "$(sort -u one | wc -l)" 2
	same "$(sort one two | uniq | wc -l)" 4
	for text in '"x"' x; do
		printf '%s' "$text" | sha256sum | cut -d' ' -f1 >guess
		run ! grep -rqFf guess "$AWF_STORAGE"
	done
	# The outcome is what it is without: what may fail is told from what may not.
	awf-run -n --mask cat -c 'awf-step --try a -- test -e there <lines >/dev/null 2>&1; touch there
		awf-step -q a -- test -e there <lines'
}

# bats test_tags=turn:2
@test "a filter with large and binary values: what it leaves as it is comes back as it was" {
	flow='printf "a\377b" | awf-step -q bytes -- cat
		awf-step -n -q large -- sh -c "head -c 3000000 /dev/zero | tr \"\\0\" x"
		awf-step -n -q -O nul parts -- printf "\377\0x\0\376\0"'
	awf-run -n --name plain -c "$flow"
	awf-run -n --name masked --mask cat -c "$flow"
	awf-verify
	for run in @plain @masked; do
		awf-tail --json --inline "$run" | jq -c 'select(.type == "step.completed").payload | [.name, .result]'
		awf-tail --json "$run" | jq -c 'select(.refs).refs'
	done >both
	same "$(head -n "$(($(wc -l <both) / 2))" both)" "$(tail -n "$(($(wc -l <both) / 2))" both)"
	# Text in the place of bytes is recorded as such.
	awf-run -n --mask 'jq -c --unbuffered "if .refs then .payload.result |= (if . then \"[gone]\" else . end) else . end"' \
		-c 'awf-step -n -q bytes -- printf "\377"'
	awf-verify
	same "$(jq -c 'select(.type == "step.completed") | [.payload.result, .refs]' "$(transcript)")" '["[gone]",null]'
}

@test "a filter may write JSON as it likes, and a sealed run is sealed over what was masked" {
	awf-verify --keygen key
	awf-run -n --seal=key --mask 'jq -cSa --unbuffered .' -c 'awf-step -n -q a -- echo Ω'
	awf-verify --key key.pub
	same "$(jq -r 'select(.type == "step.completed").payload.result' "$(transcript)")" Ω
}

@test "--no-transcript: what is there while the run lives is masked too" {
	awf-run -n --no-transcript --mask 'patterns secrets' --input "a=$secret" -c 'awf-step -n -q a -- echo "$secret"
		grep -raFf forms "$AWF_STORAGE" >during || true; grep -ra -c masked "$AWF_STORAGE/runs" >>during'
	run ! grep -Ff forms during
	run ! leaks
}

@test "a filter that fails stops the run before anything of it exists" {
	filter 'exit 7'
	stops_at_once 'ended (exit status 7) instead of answering: nothing is written unmasked, so this ends'
	filter 'read -r line; exit 0'
	stops_at_once 'ended (exit status 0) instead of answering: nothing is written unmasked, so this ends'
	filter 'kill -9 $$'
	stops_at_once 'ended (exit status 137) instead of answering: nothing is written unmasked, so this ends'
	filter 'while read -r line; do echo garbage; done'
	run -125 awf-run -n --mask ./filter -c 'touch ran'
	same "$output" "awf-run: --mask: the filter's answer is no JSON: byte 1: expected a value"
	filter 'while read -r line; do echo 1; done'
	run -125 awf-run -n --mask ./filter -c 'touch ran'
	same "$output" "awf-run: --mask: the filter's answer is no JSON object"
	filter 'while read -r line; do echo "$line"; echo "$line"; done'
	run awf-run -n --mask ./filter -c 'awf-step -n -q a -- true'
	[[ $output == *'answered more than one line for an event'* || $output == *'changed "event_id" of an event'* ]]
	filter 'yes {}'
	run -125 awf-run -n --mask ./filter -c 'touch ran'
	[[ $output == *'answered more than one line for an event'* || $output == *'changed "event_id" of an event'* ]]
	[ ! -e ran ]
	run -125 awf-run -n --mask ./no-such-filter -c 'touch ran'
	[[ $output == *'the filter ended (exit status 127) instead of answering'* ]]
	run -125 awf-run -n --mask ' ' -c 'touch ran'
	same "$output" 'awf-run: --mask: the command is empty'
	[ ! -e ran ]
}

@test "a filter that stalls is not waited for any longer than ten seconds" {
	filter "read -r line; exec sleep 3472.$$"
	began=$(date +%s)
	stops_at_once "did not answer within 10 s: nothing is written unmasked, so this ends"
	[ $(($(date +%s) - began)) -lt 20 ]
	run ! pgrep -f "^sleep 3472.$$"
}

@test "what identifies an event must not change" {
	while IFS='|' read -r change message; do
		echo "$change"
		run -125 --separate-stderr awf-run -n --mask "jq -c --unbuffered '$change'" -c 'touch ran'
		same "$stderr" "awf-run: --mask: the filter$message"
	done <<-'END'
		.event_id = "0b7a1c52-93d4-4e8f-a6b0-5c1d2e3f4a5b"| changed "event_id" of an event, which identifies it: nothing of the event is written
		.run_id = null| changed "run_id" of an event, which identifies it: nothing of the event is written
		del(.parent_event_id)| changed "parent_event_id" of an event, which identifies it: nothing of the event is written
		.type = "run.completed"| changed "type" of an event, which identifies it: nothing of the event is written
		.path = "x"| changed "path" of an event, which identifies it: nothing of the event is written
		.iteration = 1| changed "iteration" of an event, which identifies it: nothing of the event is written
		.payload = null| changed "payload" of an event, which identifies it: nothing of the event is written
		del(.payload)| changed "payload" of an event, which identifies it: nothing of the event is written
		.payload.attempt = 2| changed "attempt" of an event, which identifies it: nothing of the event is written
		del(.payload.masked)| changed "masked" of an event, which identifies it: nothing of the event is written
		.payload.status = "x"| changed "status" of an event, which identifies it: nothing of the event is written
		.payload.argv = "x"|'s answer has not the form of an event: "argv" is not an array
	END
	[ ! -e ran ]
	[ -z "$(find "$AWF_STORAGE" -type f -size +0)" ]
}

@test "a filter that fails later stops the step, and what was recorded stays whole" {
	while IFS='|' read -r fault message; do
		echo "$fault"
		filter 'while IFS= read -r line; do case $line in *\"path\":\"b\"*step.'"${fault%%:*}"'*|*step.'"${fault%%:*}"'*\"path\":\"b\"*) '"${fault#*:}"';; esac; printf "%s\n" "$line" | awf-mask-patterns secrets; done'
		run --separate-stderr awf-run -n --mask ./filter \
			-c 'awf-step -n a -- echo "$secret" | awf-step b -- cat; echo "status $?" >status'
		[ "$status" -ne 0 ]
		same "$(cat status)" 'status 4'
		[[ $(grep ^awf-step: <<<"$stderr") == "awf-step: --mask: the filter$message"* ]]
		same "$(grep -c '^awf-step' <<<"$stderr")" 1
		same "$output" ''
		awf-verify -q
		same "$(tail -n 1 "$(transcript)" | jq -r '[.type, .payload.status] | join(" ")')" 'run.completed failed'
		run ! leaks
	done <<-'END'
		started:exit 9| ended (exit status
		completed:exit 9| ended (exit status
		completed:echo nonsense; continue|'s answer is no JSON: byte 1: 
		completed:kill -9 $$| ended (exit status
	END
}

@test "a filter that fails in the middle of parallel calls, and of an agent's" {
	tool show 'cat; touch shown'
	printf -- '---\ntools: [show]\n---\nBe brief.\n' >helper.md
	answers | jq -c 'del(.blocks[]? | select(.tool_name == "break"))' >answers.jsonl
	filter 'while IFS= read -r line; do case $line in *tool.call*|*\"iteration\":7*) exit 9;; esac
		printf "%s\n" "$line" | awf-mask-patterns secrets; done'
	for step in '-i lines -j 4 many -- cat' '-a ./helper.md -m replay/answers.jsonl ask'; do
		yes "$secret" | head -n 20 >lines
		run -4 --separate-stderr awf-run -n --mask ./filter -c "awf-step $step <lines"
		same "${stderr_lines[0]}" 'awf-step: --mask: the filter ended (exit status 9) instead of answering: nothing is written unmasked, so this ends'
		same "$(grep -c ^awf-step <<<"$stderr")" 1
		[ ! -e shown ]
		same "$(tail -n 1 "$(transcript)" | jq -r .payload.status)" failed
		run ! leaks
	done
}

@test "a filter that does not end at the end of its input is ended" {
	filter "cat; exec sleep 3471.$$"
	began=$(date +%s)
	awf-run -n --mask ./filter -c 'awf-step -n -q a -- true'
	[ $(($(date +%s) - began)) -lt 8 ]
	awf-verify
	run ! pgrep -f "^sleep 3471.$$"
}

@test "a filter that is killed while it waits" {
	mkfifo hold
	awf-run -n --mask 'awf-mask-patterns secrets' -c 'awf-step -n a -- cat hold; awf-step -n -q b -- true' 2>stderr &
	run_pid=$!
	eventually begun
	same "$(filters | wc -l)" 2
	# shellcheck disable=SC2046
	kill -9 $(filters)
	echo "$secret" >hold
	ended=0
	wait "$run_pid" || ended=$?
	same "$ended" 125
	grep -q '^awf-step: --mask: the filter ended (exit status 137) instead of answering' stderr
	grep -q '^awf-run: --mask: the filter ended (exit status 137) instead of answering' stderr
	same "$(jq -r .type "$AWF_STORAGE"/transcripts/* | paste -sd' ')" \
		'run.started step.started step.started step.completed'
	run ! leaks
	same "$(ls "$AWF_STORAGE/runs")" ''
}

@test "cancelling: the end is masked and recorded, no filter is left" {
	awf-run -n --mask 'patterns secrets' -c "awf-step -n a -- sh -c 'echo \"\$secret\" >&2; sleep 60'" 2>stderr >out &
	run_pid=$!
	eventually begun
	sleep 0.3
	kill -TERM "$run_pid"
	ended=0
	wait "$run_pid" || ended=$?
	same "$ended" 143
	run ! grep -- --mask stderr
	same "$(jq -r 'select(.type == "run.completed").payload.status' "$(transcript)")" cancelled
	same "$(jq -r 'select(.type == "step.completed").payload.error.code' "$(transcript)")" cancelled
	awf-verify
	run ! leaks
	same "$(filters)" ''
}

@test "API keys are in the environment of no filter" {
	mkdir -p "$XDG_CONFIG_HOME/awf"
	echo MY_KEY=topsecret >"$XDG_CONFIG_HOME/awf/keys"
	chmod 600 "$XDG_CONFIG_HOME/awf/keys"
	export MY_KEY=topsecret ANTHROPIC_API_KEY=topsecret
	awf-run -n --mask 'env >>seen; cat' -c 'awf-step -n -q a -- true'
	[ "$(grep -c ^HOME= seen)" -ge 2 ]
	run ! grep topsecret seen
}

# bats test_tags=turn:3
@test "patterns: what is masked where" {
	export JQ=jq
	cat >patterns <<'END'
# a comment

hunter2secret
re:sk-[a-z0-9]{6,}
fixed:#lead "q"
fixed:re:x
abc
bcd
4711
END
	while IFS='~' read -r input expected; do
		echo "$input"
		same "$(jq -nc "{type: \"tool.call\", payload: $input}" | awf-mask-patterns patterns | jq -c .payload)" "$expected"
	done <<-'END'
		{input: "x hunter2secrethunter2secret sk-abcdefgh sk-xyz"}~{"input":"x [masked] [masked] sk-xyz"}
		{input: {"ahunter2secret": 1, "hunter2secret": {"hunter2secret": null}, "[masked] 2": 3}}~{"input":{"a[masked] 1":1,"[masked] 2'":{"[masked] 1":null},"[masked] 2":3}}
		{input: [4711, 47110, true, 471]}~{"input":["[masked]","[masked]0",true,471]}
		{input: "nul\u0000sk-aaaaaaa\u0000\u0001"}~{"input":"nul\u0000[masked]\u0000\u0001"}
		{input: "xabcdx re:x"}~{"input":"x[masked]x [masked]"}
		{input: "#lead \"q\" {\"k\":\"#lead \\\"q\\\"\"}"}~{"input":"[masked] {\"k\":\"[masked]\"}"}
		{input: ("xhunter2secret" | @base64)}~{"input":"e[masked]="}
		{input: ("xxhunter2secretxx" | @base64)}~{"input":"eH[masked]Hg="}
		{name: "abc", call_id: "x", duration_ms: 4711}~{"name":"[masked]","call_id":"x","duration_ms":4711}
		{stderr: "cret rest hunter2se", error: {code: "4711", message: "cut hunter2se"}}~{"stderr":"[masked] rest hunter2se","error":{"code":"4711","message":"cut [masked]"}}
		{blocks: [{type: "abc", text: "abc", tool_input: {type: "abc"}}]}~{"blocks":[{"type":"abc","text":"[masked]","tool_input":{"type":"[masked]"}}]}
	END
	same "$(printf '{"type":"x","payload":{"input":"\\u0068unter2secret \\/ 1.10"}}\n' | awf-mask-patterns patterns)" \
		'{"type":"x","payload":{"input":"[masked] / 1.10"}}'
	bytes=$(printf '\377hunter2secret\0abc' | base64 -w 0)
	masked=$(printf '\377[masked]\0[masked]' | base64 -w 0)
	same "$(echo "{\"payload\":{\"result\":[\"a\",\"$bytes\"]},\"refs\":[{\"at\":\"/payload/result/1\",\"encoding\":\"base64\"}]}" |
		awf-mask-patterns patterns | jq -c .payload)" "{\"result\":[\"a\",\"$masked\"]}"
}

@test "patterns: what cannot be masked, or read, ends it" {
	echo abc >patterns
	while IFS='|' read -r event status message; do
		echo "$event"
		run "-$status" awf-mask-patterns patterns <<<"$event"
		same "${lines[-1]}" "awf-mask-patterns: $message"
	done <<-'END'
		{"payload":{"call":"xabc:0:0"}}|4|stdin:1: a secret is in "call", which cannot be masked
		{"payload":{"call_id":"abc"}}|4|stdin:1: a secret is in "call_id", which cannot be masked
		{"path":"abc","payload":null}|4|stdin:1: a secret is in "path", which cannot be masked
		[1]|1|stdin:1: is no object
		{"a":|1|stdin:1: byte 6: ends too early
	END
	run -1 awf-mask-patterns patterns < <(printf '{}')
	same "$output" 'awf-mask-patterns: stdin: the last line has no end'
	while IFS='|' read -r pattern message; do
		echo "$pattern" >bad
		run -1 awf-mask-patterns bad </dev/null
		same "$output" "awf-mask-patterns: bad$message"
	done <<-'END'
		# nothing|: holds no pattern: nothing would be masked
		re:x*|:1: matches the empty text, so it would match anywhere
		re:(|:1: Unmatched ( or \(
		fixed:|:1: is an empty string
	END
	run -4 awf-mask-patterns nowhere </dev/null
	same "$output" 'awf-mask-patterns: nowhere: unable to open: No such file or directory'
	run -1 awf-mask-patterns </dev/null
	same "$output" 'awf-mask-patterns: no FILE of patterns given (see --help)'
	run -1 awf-mask-patterns patterns patterns </dev/null
	same "$output" 'awf-mask-patterns: patterns: one FILE only'
	run -0 awf-mask-patterns --help
	run -0 awf-mask-patterns --version
}

@test "no snapshot of a masked run, whatever says that it is masked" {
	echo "$secret" >file
	for mask in AWF_MASK=cat 'awf-run -n --mask cat --'; do
		# shellcheck disable=SC2086
		run -125 env $mask awf-run --snapshot -n true
		[[ $output == *'awf-run: --snapshot: not with --mask: a masked run cannot be replayed'* ]]
	done
	run ! leaks
}

@test "a secret in the name of a step stops it" {
	echo draft >secrets
	run --separate-stderr awf-run -n --mask 'patterns secrets' -c 'awf-step -n draft -- true'
	same "$status" 4
	same "${stderr_lines[0]}" 'awf-mask-patterns: stdin:1: a secret is in "call", which cannot be masked'
	same "$(grep -c draft "$(transcript)")" 0
}
