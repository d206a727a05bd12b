#!/usr/bin/env bats
# Text under way, awf(7): what models are writing can be seen by other processes, until it
# stands in the record.
# shellcheck shell=bash disable=SC2016,SC2154 # what is quoted is for others; bats sets stderr
bats_require_minimum_version 1.5.0
load ../../support/helpers
load ../../support/agent
load ../../support/writing
load ../../support/cli

prepare() { scripted_model; }

cleanup() {
	local pids
	pids=$(jobs -p)
	rm -f held
	# shellcheck disable=SC2086
	[ -z "$pids" ] || kill -9 $pids 2>/dev/null || true
}

ask() { awf-step -r -m scripted/m -p '{{data}}' "$@" <<<x; }
run_directory() { echo "$AWF_STORAGE"/runs/*; }
files() { find "$AWF_STORAGE/runs" -path '*/live/*'; }
# What is under way: the text of each file's last turn since it began.
text_now() {
	local file
	for file in $(files | sort); do
		jq -rs 'reduce .[] as $l ({};
			if $l.turn != .turn or $l.restart then {turn: $l.turn, text: ""} else . end |
			.text += ($l.append // "")) | "\(.turn) \(.text)"' "$file"
	done
}
says() { [[ $(text_now) == *"$1"* ]]; }
is_now() { [ "$(text_now)" = "$1" ]; }

# Waits until a provider is held; then what is under way is as it says.
under_way() {
	eventually test -e ready
	eventually is_now "$1" || { text_now >&2; return 1; }
}

begun() { [ -d "$(run_directory)" ]; }

# What look-on tells of the run that has begun, in a file.
look() {
	eventually begun
	look-on "$(run_directory)" >"$1" 3>&- &
}

@test "the text is there while it is written, and gone when it is recorded" {
	script 1 'say "one "' 'say "two "' 'say "look {" tool' hold 'say three' 'answer "one two three"'
	ask s >out &
	# The pieces came within a pause of the first, and nothing after them.
	under_way '0 one two look {'
	look told
	same "$(stat -c %a "$(files)") $(stat -c %a "$(run_directory)/live")" '600 700'
	same "$(basename "$(files)")" "$(jq -r 'select(.type == "step.started").event_id' "$(transcript)")"
	same "$(cat "$(files)")" '{"turn":0,"kind":"text","append":"one two "}
{"turn":0,"kind":"tool","append":"look {"}'
	go_on
	wait
	same "$(cat out)" 'one two three'
	[ ! -e "$(run_directory)" ]
	same "$(sed 's/"call":"[^"]*",//' told | sed '/three/d')" '{"turn":0,"kind":"text","append":"one two "}
{"turn":0,"kind":"tool","append":"look {"}
{"done":true}'
	run ! grep -q append "$(transcript)"
}

@test "a call that has ended has no text under way, though its run goes on" {
	script 1 'say one' 'sleep 0.2' 'answer done'
	script 2 'say three' 'sleep 0.2' 'fails invalid'
	run -3 awf-run -c 'awf-step -q -i lines -m scripted/m -p x s; ls -A "$AWF_STORAGE/runs/$AWF_RUN_ID/live"; exit 3' <<-'END'
		a
		b
	END
	same "$(grep -v ^awf- <<<"$output")" ''
	same "$(payloads step.completed .error.code | paste -sd' ')" 'null "invalid"'
	same "$(payloads message.assistant '.blocks[0].text' | paste -sd' ')" '"done" "three"'
}

# bats test_tags=turn:2
@test "the text of each model API" {
	export -n AWF_PROVIDER_PATH
	printf -- '---\nname: adder\nmodel: model-1\ntools: [add, fail]\n---\nBe brief.\n' >agents/adder.md
	tool add '"input_schema":{"type":"object"},"effects":"none"' 'jq -c "{sum: (.a + .b)}"'
	tool fail '"input_schema":{"type":"object"},"effects":"none"' 'exit 7'
	for name in anthropic google openai openai-responses; do
		model_server --answer "$ROOT/tests/fixtures/same/$name.1.jsonl" \
			--answer "$ROOT/tests/fixtures/same/$name.2.jsonl" --fault '*:slow:20'
		AWF_PROVIDER=$name awf-run -c 'awf-step -r -a adder call' <<<'two and three?' >out &
		run=$!
		look told
		wait "$run" "$!"
		kill "$MODEL_SERVER_PID"
		same "$name $(cat out)" "$name It is five."
		# The end of a turn may come in no piece. All that came is of its answer.
		jq -sc 'map(select(.append)) | group_by([.turn, .kind])[] | [.[0].turn, .[0].kind, (map(.append) | add)]' told >pieces
		payloads message.assistant '.turn as $t | .blocks[] | [$t, (.type | sub("_use"; "")),
			(.thinking // .text // (.tool_name + " "))]' >blocks
		same "$name $(jq -c --slurpfile blocks blocks '. as [$t, $k, $text] |
			$blocks | any(.[0] == $t and .[1] == $k and
				(if $k == "tool" then .[2] as $name | $text | startswith($name)
				else .[2] | startswith($text) end))' pieces | sort -u)" "$name true"
		grep -q '^\[0,"thinking","Add' pieces
		grep -q '^\[1,"text","It' pieces
		same "$name $(jq -c .done told | sort | uniq -c | tr -s ' ' | tail -n 1)" "$name  1 true"
		awf-verify -q
	done
}

@test "the text of agent CLIs" {
	fake_clis
	unset FAKE_CLI_LOG
	for name in $CLIS; do
		cat >"clis/$name.new" <<-'END'
			#!/bin/sh
			cat >/dev/null
			cat "$FAKE_CLI.stdout.jsonl"
			: >"$SCRIPT/ready"
			while [ -e "$SCRIPT/held" ]; do sleep 0.02; done
		END
		chmod +x "clis/$name.new"
		mv "clis/$name.new" "clis/$name"
		: >held
		FAKE_CLI="$ROOT/tests/fixtures/cli/$name/tool" awf-step -q -m "$name/m" -p x s <<<x &
		eventually test -e ready
		used="read"
		[ "$name" != codex ] || used=bash
		eventually says "I will look.$used {" || { echo "$name" >&2; return 1; }
		go_on
		wait
		same "$name $(files)" "$name "
		awf-verify -q
	done
}

@test "a turn that is asked anew begins anew" {
	script 1 'say "the first try"' 'sleep 0.2' 'fails overloaded'
	script 2 'say "the second"' hold 'answer done'
	ask s --retries 2 --delay 1ms >out &
	under_way '0 the second'
	same "$(grep restart "$(files)")" '{"turn":0,"restart":true}'
	go_on
	wait
	same "$(cat out)" "done"

	# Nothing said, nothing void.
	script 1 'fails overloaded'
	: >held
	ask s --retries 2 --delay 1ms >out &
	under_way '0 the second'
	same "$(grep restart "$(files)")" ''
	go_on
	wait
}

@test "an answer that is whole at once is not under way, nor is its end" {
	script 1 'say "all of it"' 'answer "all of it"'
	run -0 awf-run -c 'awf-step -q -m scripted/m -p x s; [ ! -e "$AWF_STORAGE/runs/$AWF_RUN_ID/live" ]' <<<x
	script 1 'say "some "' 'sleep 0.2' 'say "and the end"' 'answer "some and the end"'
	ask s >out &
	look told
	wait
	same "$(jq -rs 'map(.append // empty) | add' told)" 'some '
	same "$(cat out)" 'some and the end'
}

@test "a fallback begins anew" {
	mkdir other
	agent writer 'fallback: [scripted/other]'
	sed -i 's/^provider: .*/provider: scripted/' agents/writer.md
	script 1 'say "of the first"' 'fails overloaded'
	script 2 'say "of the other"' hold 'answer done'
	awf-step -q -a writer --retries 0 s <<<x &
	under_way '0 of the other'
	go_on
	wait
}

@test "each turn has its number, whoever goes on, and a phase a file of its own" {
	tool note '"effects":"none"' cat
	agent first 'handoffs: [second]
tools: [note]'
	agent second
	sed -i 's/^provider: .*/provider: scripted/' agents/*.md
	script 1 'say "let me see"' 'sleep 0.2' 'blocks '"'"'{"type":"tool_use","tool_id":"a","tool_name":"note","tool_input":{}}'"' tool_use"
	script 2 'say "over to you"' 'sleep 0.2' 'blocks '"'"'{"type":"tool_use","tool_id":"b","tool_name":"transfer_to_second","tool_input":{}}'"' tool_use"
	script 3 'say "I am the second"' hold 'answer done'
	awf-step -q -a first s <<<x &
	under_way '2 I am the second'
	same "$(files | wc -l)" 1
	same "$(jq -c .turn "$(files)" | uniq | paste -sd' ')" '0 1 2'
	go_on
	wait
	same "$(payloads message.assistant .turn | paste -sd' ')" '0 1 2'

	printf -- '---\nname: phased\nprovider: scripted\nmodel: m\nphases: [{name: collect, instructions: One.}, {name: write, instructions: Two.}]\n---\n' >agents/phased.md
	: >held
	script 1 'say "collecting"' 'token=$(printf %s "$line" | grep -o "[0-9a-f]\{32\}" | tail -n 1)' \
		'blocks "{\"type\":\"tool_use\",\"tool_id\":\"a\",\"tool_name\":\"continue_workflow\",\"tool_input\":{\"token\":\"$token\",\"output\":1}}" tool_use'
	script 2 'say "writing"' hold 'token=$(printf %s "$line" | grep -o "[0-9a-f]\{32\}" | tail -n 1)' \
		'blocks "{\"type\":\"tool_use\",\"tool_id\":\"b\",\"tool_name\":\"finish_workflow\",\"tool_input\":{\"token\":\"$token\",\"output\":\"text\"}}" tool_use'
	awf-step -r -a phased s <<<x >out &
	under_way '1 writing'
	same "$(basename "$(files)")" "$(jq -r 'select(.type == "step.started" and .path == "s.write").event_id' "$(transcript)")"
	go_on
	wait
	same "$(cat out)" text
}

@test "items and branches at once have files of their own" {
	script 1 'say "${line##*item }" | sed "s/\\\\n.*\"/\"/; s/\"}.*/\"}/" ' hold 'answer done'
	printf '%s\n' a b c | awf-step -q -i lines -j 3 -m scripted/m -p 'item {{data}}' s &
	eventually test -e ready
	# One more says how many items there are.
	four() { [ "$(files | wc -l)" = 4 ]; }
	eventually four
	same "$(files | xargs jq -c 'select(.items) | [.step, .items]')" '["s:0",3]'
	calls() { files | xargs grep -L '"items"'; }
	same "$(calls | xargs jq -r .append | sort | paste -sd' ')" 'a b c'
	same "$(calls | xargs -n 1 basename | sort)" \
		"$(jq -r 'select(.type == "step.started").event_id' "$(transcript)" | sort)"
	go_on
	wait
	: >held
	awf-step -q --parallel p -- 'awf-step -m scripted/m -p "item one" x' 'awf-step -m scripted/m -p "item two" y' <<<x &
	eventually test -e ready
	two() { [ "$(files | wc -l)" = 2 ]; }
	eventually two
	same "$(files | xargs jq -r .append | sort | paste -sd' ')" 'one two'
	go_on
	wait
}

@test "there is none of a masked run, nor of one that keeps no transcript, nor of what says nothing" {
	script 1 'say secret' hold 'answer secret'
	for options in '--no-transcript' '--mask cat'; do
		: >held
		# shellcheck disable=SC2086
		awf-run -n $options -c 'awf-step -q -n -m scripted/m -p x s' &
		eventually test -e ready
		sleep 0.2
		[ -d "$(run_directory)" ]
		[ ! -e "$(run_directory)/live" ]
		go_on
		wait
	done
	: >held
	script 1 hold 'answer silent'
	ask s >out &
	eventually test -e ready
	sleep 0.2
	[ ! -e "$(run_directory)/live" ]
	go_on
	wait
	same "$(cat out)" silent
}

@test "what a killed step leaves goes with the run" {
	script 1 'say half' hold 'answer whole'
	awf-run -n --id-file id -c 'sh -c "echo \$\$ >pid; exec awf-step -q -n -m scripted/m -p x s"; : >went-on; while [ -e waiting ]; do sleep 0.02; done' 2>err &
	: >waiting
	under_way '0 half'
	kill -9 "$(cat pid)"
	go_on
	eventually test -e went-on
	same "$(text_now)" '0 half'
	rm waiting
	wait
	[ ! -e "$AWF_STORAGE/runs/$(cat id)" ]
}

# Kills a run while the model writes.
killed() {
	: >held
	rm -f ready
	script 1 'say half' hold 'answer whole'
	awf-run -n --id-file id -c 'echo $$ >pid; exec awf-step -r -n -m scripted/m -p x s' 3>&- &
	under_way '0 half'
	kill -9 $!
	wait $! 2>/dev/null || true
	# What ends a dead run's processes may take a moment.
	eventually gone "$(cat pid)"
	go_on
	same "$(text_now)" '0 half'
}

@test "what a killed run leaves goes with a resume, or when it is pruned" {
	killed
	script 1 'say anew' hold 'answer whole'
	: >held
	awf-run --resume "$(cat id)" >out 3>&- &
	under_way '0 anew'
	same "$(files | wc -l)" 1
	go_on
	wait
	same "$(cat out)" whole
	same "$(files)" ''

	killed
	awf-ctl prune --max-count 0
	same "$(find "$AWF_STORAGE/runs" -mindepth 1)" ''
}

# bats test_tags=turn:3
@test "a disk that is full ends the text under way, and nothing else" {
	local number succeeded=0 quiet=0 status
	for number in $(seq 14); do
		: >held
		rm -f ready
		script 1 'say "one "' hold 'say two' 'answer "one two"'
		cat >faulty <<-END
			#!/bin/sh
			[ ! -e fail ] || { export FAULT="write $number 1 ENOSPC" LD_PRELOAD="$BUILD/tests/fault/preload.so"
			export ASAN_OPTIONS=verify_asan_link_order=0:detect_leaks=0; }
			exec awf-step "\$@"
		END
		chmod +x faulty
		: >fail
		awf-run -n -c './faulty -r -n -m scripted/m -p x s' >out 2>err &
		run=$!
		until [ -e ready ] || gone "$run"; do sleep 0.02; done
		sleep 0.1
		text=$(text_now)
		go_on
		status=0
		wait "$run" || status=$?
		if [ "$status" = 0 ]; then
			same "$(cat out)" 'one two'
			succeeded=$((succeeded + 1))
			[ -n "$text" ] || quiet=$((quiet + 1))
			same "$(cat err)" ''
			awf-verify -q
		fi
		same "$(files)" ''
	done
	# The write that failed was the first of the text, and each other was of the record, or none.
	same "$quiet" 1
	[ "$succeeded" -gt 1 ]
}
