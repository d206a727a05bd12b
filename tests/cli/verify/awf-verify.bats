#!/usr/bin/env bats
# awf-verify: verdicts, places, repair, exit status. Every kind of fault is in
# tests/unit/test_verify.c.
load ../../support/helpers
bats_require_minimum_version 1.5.0

# Two calls, the second of them after the first.
prepare() {
	echo hi | awf-run --name pair -c 'awf-step a -- tr a-z A-Z | awf-step -r b -- cat' >out
	file=$(transcript)
	id=$(basename "$file" .jsonl)
	events=$(wc -l <"$file")
}

cleanup() {
	[ -z "${LIVE_PID-}" ] || kill "$LIVE_PID" 2>/dev/null || true
}

@test "a whole transcript is passed over in silence, however it is named" {
	for argument in "" @ @pair "$id" "${id:0:8}" "$file" "$AWF_STORAGE" \
		"$AWF_STORAGE/transcripts"; do
		run -0 --separate-stderr awf-verify ${argument:+"$argument"}
		same "$output$stderr" ""
	done
}

@test "-v says what was checked" {
	run -0 awf-verify -v
	[[ $output == *": $events events, 1 attempts, 2 calls, 0 tool calls, 1 blobs"* ]]
	[[ $output == *"checked: JSON, whole lines, schema, seq, prev, time, ids, causes, pairs"* ]]
}

@test "a fault is one line with its place, and status 3" {
	sed -i '3s/"HI"/"HO"/' "$file"
	run -3 --separate-stderr awf-verify
	same "$output" ""
	byte=$(head -n 3 "$file" | wc -c)
	same "$stderr" "awf-verify: $file:4: byte $byte: prev: prev is not the digest of line 3: that line or this one was changed"
}

@test "every file of a directory is checked, and the worst counts" {
	awf-run -n -c 'awf-step -n c -- true >/dev/null'
	sed -i '2s/,"seq":2,/,"seq":3,/; 2s/^{"seq":2,/{"seq":3,/' "$file"
	run -3 awf-verify -v "$AWF_STORAGE"
	[[ $output == *"$(basename "$(transcript)"): "*"1 calls"* ]]
	[[ $output == *":2: byte "*": seq: seq is 3, not 2"* ]]
	run -3 awf-verify @ "$file" @
}

@test "what is not there is status 1, what cannot be read 4" {
	mkdir empty
	run -1 awf-verify empty
	same "$output" "awf-verify: empty: no transcript (*.jsonl) is there"
	run -1 awf-verify no-such-run
	[[ $output == *no-such-run* ]]
	run -1 awf-verify ./no-such-file.jsonl
	mkdir transcripts
	mkdir transcripts/x.jsonl
	run -4 awf-verify transcripts
	[[ $output == *"x.jsonl: is no regular file" ]]
	run -4 awf-verify transcripts "$file"
	run -4 bash -c 'awf-verify <(cat "$0")' "$file"
	[[ $output == "awf-verify: /dev/fd/"*": is no regular file" ]]
}

@test "a wrong command line is status 1" {
	run -1 awf-verify --repiar
	[[ $output == *"--repair"* ]]
	run -1 awf-verify -q -v
	[[ $output == *"-q: not with -v" ]]
}

@test "help, version, and a full disk under stdout" {
	run -0 awf-verify --help
	[[ $output == "usage: awf-verify "* && $output == *--schema* ]]
	run -0 awf-verify --version
	[[ $output == "awf-verify "* ]]
	[ ! -e /dev/full ] || run -4 sh -c 'awf-verify --schema >/dev/full'
}

@test "a missing and a changed blob are found" {
	head -c 1000 /dev/urandom | awf-run -c 'awf-step -r a -- cat' >/dev/null
	awf-verify
	blob=$(find "$AWF_STORAGE/blobs" -type f -size +511c -exec ls -S {} + | head -n 1)
	printf x >>"$blob"
	run -3 awf-verify
	[[ $output == *": blobs: blob "*"is not the 1000 bytes that it should be: see $blob" ]]
	rm "$blob"
	run -3 awf-verify
	[[ $output == *": blobs: blob "*"is missing: no $blob" ]]
}

@test "what the workflow printed is checked as all else that is kept" {
	awf-run -c 'echo printed' >out
	awf-verify
	blob=$(grep -lx printed "$AWF_STORAGE"/blobs/*/*)
	echo changed >"$blob"
	run -3 awf-verify
	[[ $output == *": blobs: blob "*": see $blob" ]]
	rm "$blob"
	run -3 awf-verify
	[[ $output == *": blobs: blob "*"is missing: no $blob" ]]
}

@test "--repair moves a torn tail to .torn, once" {
	printf '{"seq":%d,"timest' $((events + 1)) >>"$file"
	run -3 awf-verify
	[[ $output == *":$((events + 1)): byte "*": whole lines: the last line is torn: 16 bytes"* ]]
	run -0 awf-verify --repair
	[[ $output == *"repaired: 16 bytes moved to ${file%.jsonl}.torn" ]]
	same "$(cat "${file%.jsonl}.torn")" "{\"seq\":$((events + 1)),\"timest"
	same "$(wc -l <"$file")" "$events"
	run -0 --separate-stderr awf-verify --repair
	same "$stderr" ""
}

@test "--repair touches nothing where synced lines would be lost" {
	sed -i '3s/"HI"/"HO"/' "$file"
	cp "$file" before
	run -3 awf-verify --repair
	[[ $output == *"not repaired, nothing was touched: a "*" that was safe on disk"* ]]
	cmp before "$file"
	[ ! -e "${file%.jsonl}.torn" ]
}

# lose [OPTION…]: two steps have begun, the latter with these options, when the machine stops,
# and the line of the former is zeros, with $all its line feed too.
lose() {
	rm -f begun.*
	awf-run -n --name lost --id-file lost sh -c 'for step in one two; do
			options=; [ $step = one ] || options=$*
			awf-step -n $options $step -q -- sh -c "touch begun.$step; [ -e go ] || sleep 9" &
			until [ -e begun.$step ]; do sleep 0.01; done
		done; wait' sh "$@" 3>&- &
	LIVE_PID=$!
	eventually test -e begun.two
	kill -9 $LIVE_PID
	wait $LIVE_PID || true
	file=$AWF_STORAGE/transcripts/$(cat lost).jsonl
	same "$(jq -r .type "$file" | paste -sd' ')" 'run.started step.started step.started'
	perl -pi -e "s/./\\0/g${all:+s} if \$. == 2" "$file"
}

@test "the start of a step without effects may be lost behind one that is not: the run goes on" {
	for all in "" y; do
		lose --effects external
		run -3 awf-verify --repair "$file"
		[[ $output == *"not repaired, nothing was touched: a step.started (seq 3) that was safe on disk"* ]]
	done
	all=
	for effects in "" "--effects read"; do
		# shellcheck disable=SC2086 # several words
		lose $effects
		touch go
		run -0 awf-run --resume "$(cat lost)"
		rm go
		[[ $output == *".torn"* ]]
		same "$(jq -r .type "$file" | sort | uniq -c | xargs)" \
			'1 run.completed 2 run.started 2 step.completed 2 step.started'
		awf-verify -q "$file"
	done
}

@test "what never ended is a warning, and -q is silent" {
	sed -i '$d' "$file"
	sed -i '$d' "$file"
	run -0 --separate-stderr awf-verify
	same "$stderr" "awf-verify: $file:4: warning: call b:0:0 never ended: it has no step.completed
awf-verify: $file:4: warning: attempt 1 never ended: it has no run.completed"
	run -0 --separate-stderr awf-verify -q
	same "$stderr" ""
}

@test "a line that a live run is writing is in progress, not damage" {
	mkfifo hold
	awf-run -n --id-file live -c 'awf-step -n a -- true >/dev/null; read -r x <hold' &
	LIVE_PID=$!
	for _ in $(seq 100); do
		[ -s live ] && grep -qs '"step.completed"' "$AWF_STORAGE/transcripts/$(cat live).jsonl" && break
		sleep 0.05
	done
	live=$AWF_STORAGE/transcripts/$(cat live).jsonl
	printf '{"seq":4,"ti' >>"$live"
	run -0 --separate-stderr awf-verify -v "$(cat live)"
	same "$stderr" ""
	[[ $output == *", in progress"*"a line is being written: 12 bytes so far"* ]]
	cp "$live" before
	run -0 awf-verify --repair "$(cat live)"
	cmp before "$live"
	echo >hold
	wait "$LIVE_PID"
	run -0 awf-verify "$(cat live)"
}

@test "unknown types and keys are no fault; -v names them" {
	export JQ=jq
	prev=$(tail -n 1 "$file" | tr -d '\n' | b2sum -l 256 | cut -c 1-64)
	tail -n 1 "$file" | jq -c --arg prev "$prev" --argjson seq $((events + 1)) \
		'.seq = $seq | .event_id = "00000000-0000-4000-8000-000000000000" | .type = "later" |
		 del(.prev) | .more = 1 | .prev = $prev' >line
	cat line >>"$file"
	run -0 --separate-stderr awf-verify
	same "$stderr" ""
	run -0 awf-verify -v
	[[ $output == *":$((events + 1)): warning: type \"later\" is not known"* ]]
	[[ $output == *":$((events + 1)): warning: key \"more\" is not known"* ]]
}

# A list of members behind a line with nothing but types of events is that of their payloads.
@test "--schema has the members that awf-transcript(5) lists, and no others" {
	awf-verify --schema >schema.json
	python3 - "$ROOT/man/awf-transcript.5" <<'EOF'
import json, re, sys
schema = json.load(open("schema.json"))
shapes = {condition["if"]["properties"]["type"]["const"]:
    schema["$defs"][condition["then"]["properties"]["payload"]["$ref"].split("/")[-1]]
    for condition in schema["allOf"]}
page, types, heading, keys, depth = {}, [], [], None, 0
def listed(words):
    return [word for word in words.split() if re.fullmatch("[a-z][a-z0-9_]*", word)]
for line in open(sys.argv[1]):
    line = line.rstrip("\n")
    named = re.fullmatch(r"\.Li ([a-z_]+\.[a-z_.]+)( :)?", line)
    if named:
        heading.append(named[1])
    elif line.startswith(".Bl"):
        depth += 1
        if depth == 1:
            types, heading = heading, []
            for name in types:
                page.setdefault(name, [])
    elif line.startswith(".El"):
        depth -= 1
        types = types if depth else []
    elif line.startswith(".It") and types and depth == 1:
        for name in types:
            page[name] += listed(line[3:].replace("Sy ", "").replace(",", " "))
    elif line != "and":
        heading = []
assert sorted(page) == sorted(shapes), (sorted(page), sorted(shapes))
odd = {name: set(page[name]) ^ set(shapes[name]["properties"]) for name in shapes}
assert not any(odd.values()), odd
lines = re.search(r"\.Ss Keys(.*?)\.Ss", open(sys.argv[1]).read(), re.S)[1]
keys = re.findall(r"^\.It Li (\w+)", lines, re.M)
assert keys == list(schema["properties"]), keys
EOF
}

@test "an independent validator knows the schema, and agrees on real lines" {
	python3 -c 'import jsonschema' 2>/dev/null || skip "python3-jsonschema is not installed"
	awf-verify --schema >schema.json
	cat "$AWF_STORAGE"/transcripts/*.jsonl >lines
	python3 - <<'EOF'
import json, jsonschema
schema = json.load(open("schema.json"))
jsonschema.Draft202012Validator.check_schema(schema)
validator = jsonschema.Draft202012Validator(schema)
for line in open("lines"):
    event = json.loads(line)
    validator.validate(event)
    for key in schema["required"]:
        assert not validator.is_valid({k: v for k, v in event.items() if k != key}), key
EOF
}

@test "data as deep as it may be passes through steps, and its record is whole" {
	deep=$(printf '%0128d' 0 | sed 's/0/[/g')$(printf '%0128d' 0 | sed 's/0/]/g')
	printf '%s\n' "$deep" | awf-run -c 'awf-step -i json a -O json -- cat | awf-step -s b -- cat | awf-step -r c -- wc -c' >out
	same "$(cat out)" "$((256 + 3))"
	run -0 --separate-stderr awf-verify
	same "$stderr" ""
	awf-tail >/dev/null
	run -1 --separate-stderr sh -c "echo '{\"data\":[$deep],\"metadata\":{\"run_id\":\"$id\",\"event_id\":\"$id\"}}' | awf-step d -- cat"
	[[ $stderr == *"nested too deep"* ]]
}

@test "a name of a file cannot speak to the terminal" {
	mkdir odd
	printf 'x\n' >"odd/$(printf 'a\033[2Jb').jsonl"
	run -3 awf-verify odd
	[[ $output == *'a\x1b[2Jb.jsonl:1: byte 0:'* ]]
}

@test "a FIFO in the place of a blob or a torn line holds nothing up" {
	awf-step -n a -- head -c 300000 /dev/zero >/dev/null
	blob=$(find "$AWF_STORAGE/blobs" -type f -size +511c -exec ls -S {} + | head -n 1)
	rm "$blob"
	mkfifo "$blob"
	run -4 timeout 10 awf-verify
	[[ $output == *"unable to read the blob: No such device or address"* ]]
	run -4 timeout 10 awf-tail --inline --json
	rm "$blob"
	awf-step -n a -- true
	printf '{"seq":' >>"$(transcript)"
	mkfifo "$(transcript | sed 's/jsonl$/torn/')"
	run -4 timeout 10 awf-verify --repair
	mkfifo "$AWF_STORAGE/transcripts/11111111-1111-4111-8111-111111111111.jsonl"
	timeout 10 awf-tail --list
}

@test "a run that was killed before it began is no fault of a storage, and --repair removes it" {
	awf-run -n -c 'awf-step -n a -- true' >/dev/null
	empty="$AWF_STORAGE/transcripts/11111111-1111-4111-8111-111111111111.jsonl"
	: >"$empty"
	run -0 awf-verify "$AWF_STORAGE"
	same "$output" ""
	run -0 --separate-stderr awf-tail --list
	same "$stderr" ""
	run -0 awf-verify --repair "$AWF_STORAGE"
	same "${lines[-1]}" "awf-verify: $empty: removed: it is empty, as its run never began"
	[ ! -e "$empty" ]
}

@test "-v knows every key that is recorded" {
	mkdir agents tools
	printf '{"description":"x","input_schema":{"type":"object"},"effects":"external","idempotent":true}' >tools/touch.tool.json
	printf '#!/bin/sh\necho "{}"\n' >tools/touch
	chmod +x tools/touch
	printf '%s\n' '{"blocks":[{"type":"tool_use","tool_id":"t","tool_name":"touch","tool_input":{}},{"type":"tool_use","tool_id":"u","tool_name":"bash","tool_input":{"command":"true"}}]}' \
		'{"blocks":[{"type":"thinking","thinking":"hm","signature":"s","api":"anthropic"},{"type":"text","text":"done"}]}' >answers
	printf -- '---\nmodel: replay/%s\ntools: [touch, bash]\nmax_turns: 4\n---\nBe brief.\n' "$PWD/answers" >agents/one.md
	printf '\x89PNG\r\n\x1a\n' >x.png
	cat >all.awf <<-'END'
		echo go | awf-step -a one --attach x.png ask -q || true
		awf-step -n --sandbox workspace --sandbox-mode prefer boxed -q -- true || true
		awf-step -n --effects external,idempotent mail -q -- true
		awf-step -n --try --retries 1 --delay 0 fail -q -- sh -c 'echo why >&2; exit 1' || true
		printf 'a\nb\n' | awf-step -i lines --parallel p -- 'awf-step x -- cat' 'awf-step y -- cat' | awf-step -s join -q -- cat
		awf-step -n --until true --max 2 loop -q -- awf-step z -- true
		awf-step -n --when false no -q -- true
		awf-step -n -t touch op -q
		echo in | awf-run --input k=v --timeout 1m --name child -c 'awf-step c -q -- cat'
		awf-run --detach -n --name later -c true >/dev/null
		awf-step -n --terminal success end -q
	END
	awf-run --seal=key --snapshot --name all all.awf 2>/dev/null </dev/null || awf-verify --keygen key
	awf-run --seal=key --snapshot --name all all.awf </dev/null 2>err || { cat err; false; }
	run awf-verify -v @all
	[[ $status == 0 && $output != *warning* ]] || { echo "$output"; false; }
	for file in "$AWF_STORAGE"/transcripts/*.jsonl; do
		run awf-verify -v "$file"
		[[ $output != *'is not known'* ]] || { echo "$output"; false; }
	done
}

@test "--repair removes the transcript of a run of which a power cut left zeros alone" {
	awf-run -n true
	file=$(transcript)
	for bytes in 0 3 9; do
		head -n 1 "$file" | head -c "$bytes" >"$AWF_STORAGE/transcripts/11111111-2222-4333-8444-555555555555.jsonl"
		head -c 500 /dev/zero >>"$AWF_STORAGE/transcripts/11111111-2222-4333-8444-555555555555.jsonl"
		run -0 awf-verify --repair "$AWF_STORAGE"
		[ ! -e "$AWF_STORAGE/transcripts/11111111-2222-4333-8444-555555555555.jsonl" ]
		awf-verify "$AWF_STORAGE"
	done
}
