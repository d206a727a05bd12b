#!/usr/bin/env bats
# What tools and commands print while they run, awf(7): others see it until it is recorded.
# shellcheck shell=bash disable=SC2016,SC2154
bats_require_minimum_version 1.5.0
load ../../support/helpers
load ../../support/agent
load ../../support/serve

prepare() {
	export ASAN_OPTIONS=detect_leaks=0
	mkdir agents tools
	agent op 'tools: [bash, loud]
sandbox: none'
	tool loud '"effects":"none","input_schema":{"type":"object"}' 'cat >/dev/null; echo loud; echo aside >&2; while [ ! -e '"$PWD"'/go2 ]; do sleep 0.02; done'
}

cleanup() {
	: >go
	: >go2
	serve_end
	# shellcheck disable=SC2046
	kill -9 $(jobs -p) 2>/dev/null || true
}

files() { find "$AWF_STORAGE/runs" -path '*/live/*'; }
begun() { [ -d "$(echo "$AWF_STORAGE"/runs/*)" ]; }
# Looks on at the run that has begun, in a file.
look() {
	eventually begun
	look-on "$(echo "$AWF_STORAGE"/runs/*)" >"$1" 3>&- &
}
printed() { jq -j 'select(.append).append' "$1"; }
has() { [[ $(printed "$1") == *"$2"* ]]; }
waits='while [ ! -e go ]; do sleep 0.02; done'

@test "of a command: both its outputs, while it runs; in the record it is what it was" {
	awf-step -n job -r -- sh -c "echo one; echo two >&2; $waits; echo three" >out 2>err 3>&- &
	runner=$!
	look told
	eventually has told 'two'
	has told 'one'
	same "$(files | wc -l) $(stat -c %a "$(files)")" '1 600'
	same "$(basename "$(files)")" "$(jq -r 'select(.type=="step.started").event_id' "$(transcript)")"
	: >go
	wait "$runner"
	same "$(cat out)" 'one
three'
	same "$(cat err)" two
	same "$(jq -r 'select(.type=="step.completed").payload.result' "$(transcript)")" 'one
three'
	eventually jq -se '.[-1].done' told
	awf-verify -q
}

@test "nobody looks: nothing is written; who comes late sees the end" {
	awf-step -n job -q -- sh -c "echo before; $waits" 3>&- &
	runner=$!
	eventually begun
	sleep 1.3
	same "$(files)" ''
	look told
	eventually has told before
	: >go
	wait "$runner"
}

@test "of an agent's tools: bash, which keeps its output, and one of the user; several at a time" {
	stream tool_use "$(use t1 bash "$(jq -cn --arg c "echo begin; echo aside >&2; env | grep AWF_TOOL_SHOWS; $waits; printf 'a\\0b'; exit 3" '{command:$c}')")" \
		"$(use t2 loud '{}')" >first
	text done >last
	model_server --answer first --answer last
	echo x >in
	awf-run -c 'awf-step -a op -r work' <in >out 2>err 3>&- &
	runner=$!
	look told
	eventually has told 'begin
aside'
	: >go
	eventually has told 'loud
aside'
	: >go2
	wait "$runner"
	same "$(cat out)" 'done'
	same "$(jq -r 'select(.append).call' told | sort -u)" "$(jq -r 'select(.type=="tool.call").event_id' "$(transcript)" | sort)"
	# What the model reads is what it would be otherwise; the frames are not in it, nor in what is printed.
	told=$(bodies | tail -n 1 | jq -r '.messages[-1].content[]|select(.tool_use_id=="t1").content|if type=="array" then .[0].text else . end')
	[[ $told == *'begin
aside
'* ]]
	[[ $told != *AWF_TOOL_SHOWS* ]]
	run ! grep -aq begin err
	same "$(tr -d '\0' <err | wc -c)" "$(wc -c <err)"
	awf-verify -q
	awf-verify --determinism --isolation copy
}

@test "in a sandbox, too" {
	agent op 'tools: [bash]'
	stream tool_use "$(use t1 bash "$(jq -cn --arg c "echo within; $waits" '{command:$c}')")" >first
	text done >last
	model_server --answer first --answer last
	echo x | awf-step -a op -r work >out 2>err 3>&- &
	runner=$!
	look told
	eventually has told within || { cat err; false; }
	: >go
	wait "$runner"
	run ! grep -aq within err
}

@test "keys are not shown, however they come" {
	export OPENAI_API_KEY=sk-secret-0123456789
	awf-step -n job -q --pass-key OPENAI_API_KEY -- sh -c 'printf "key sk-secret-"; sleep 0.3; echo "0123456789 end"; printf "%04000d" 0; echo " $OPENAI_API_KEY"; echo over; '"$waits" 3>&- &
	runner=$!
	look told
	eventually has told over
	: >go
	wait "$runner"
	run ! grep -q 'secret\|0123456789' told
	grep -q '\*\*\*' told
}

@test "much of it: the file stays small, and the end is there" {
	awf-step -n job -q -- sh -c "i=0; while [ \$i -lt 60 ]; do yes 'a line that is printed very often' | head -c 300000; i=\$((i + 1)); done; echo; echo the end; $waits" 3>&- &
	runner=$!
	look told
	eventually has told 'the end'
	[ "$(stat -c %s "$(files)")" -lt 1048576 ]
	: >go
	wait "$runner"
	[ "$(printed told | wc -c)" -lt 4000000 ]
}

@test "a masked run shows nothing" {
	awf-run -n --mask cat -c "awf-step -n job -q -- sh -c 'echo one; $waits'" 3>&- &
	runner=$!
	look told
	sleep 0.5
	same "$(cat told)$(files)" ''
	: >go
	wait "$runner"
}

@test "over HTTP: beside the events, with the tool it is of" {
	serve
	stream tool_use "$(use t1 loud '{}')" >first
	text done >last
	model_server --answer first --answer last
	echo x | awf-step -a op -r work >out 3>&- &
	runner=$!
	eventually test -e "$AWF_STORAGE/latest"
	ask '/api/runs/@/events/stream?live=1' >came 3>&- &
	ask '/api/runs/@/events/stream?live=1&as=agent-event' >events 3>&- &
	eventually grep -q '"kind":"output","append":"loud' came
	eventually grep -q '"stream":"live"' events
	: >go2
	wait "$runner"
	eventually grep -q '"done":true' came
	eventually grep -q '^event: end' came
	sed -n 's/^data: \(.*"kind":"output".*\)/\1/p; s/^data: \(.*"done":true.*\)/\1/p' came >live
	call=$(jq -r 'select(.type=="step.started").event_id' "$(transcript)")
	tool=$(jq -r 'select(.type=="tool.call").event_id' "$(transcript)")
	same "$(jq -c '[.call,.tool]' live | sort -u)" "[\"$call\",\"$tool\"]"
	# agent-event has it before what the record says, without a number.
	eventually grep -q '^event: end' events
	same "$(grep -A1 '^event: live' events | sed -n 's/^data: //p' | jq -sc '[(.[0].payload|.tool,.callId,.stream), ([.[].payload.message]|add), (.[0]|.type,has("seq"))]')" \
		'["loud","t1","live","loud\naside\n","tool.output",false]'
	grep '^data: ' events | grep -q '"stream":"stdout"'
	run ! grep -q '"kind":"text"' events
	same "$(ask '/api/runs/@/events/stream?live=1&as=interagent' | jq -r .error.message)" 'live goes with none of type, path and as, but as=agent-event'
}

@test "over HTTP: streams come and go while it is printed" {
	serve
	awf-step -n job -q -- sh -c "echo one; $waits; echo two; while [ ! -e go2 ]; do sleep 0.02; done" 3>&- &
	runner=$!
	eventually test -e "$AWF_STORAGE/latest"
	for each in 1 2 3; do
		ask '/api/runs/@/events/stream?live=1' >came.$each 3>&- &
		stream=$!
		eventually grep -q '"append":"one' came.$each
		kill "$stream"
	done
	ask '/api/runs/@/events/stream?live=1' >came 3>&- &
	eventually grep -q '"append":"one' came
	: >go
	eventually grep -q '"append":"two' came
	: >go2
	wait "$runner"
}

@test "on a terminal: its last line behind the name" {
	command -v tmux >/dev/null || skip "tmux is not installed"
	tool loud '"effects":"none","input_schema":{"type":"object"}' 'cat >/dev/null; printf "first\n\033[32mchecked 17 of 40\033[0m\n\n"; while [ ! -e '"$PWD"'/go ]; do sleep 0.02; done'
	stream tool_use "$(use t1 loud '{}')" >first
	text done >last
	model_server --answer first --answer last
	tmux -L "awf-live-$$" -f /dev/null new-session -d -x 120 -y 30 "exec env PS1='ready> ' bash --norc -i" 3>&-
	screen() { tmux -L "awf-live-$$" capture-pane -p; }
	shown() { eventually eval "screen | grep -qE -- '$1'" || { screen >&2; false; }; }
	shown 'ready>'
	tmux -L "awf-live-$$" send-keys "echo x | awf-run -c 'awf-step -a op -r work | awf-step -r job -- sh -c \"printf \\\"10%%\\\\r20%%\\\" >&2; while [ ! -e go2 ]; do sleep 0.05; done\"'; echo status \$?" Enter
	shown 'work.* loud  checked 17 of 40'
	: >go
	shown 'job.*20%'
	: >go2
	shown '^status 0'
	tmux -L "awf-live-$$" kill-server
}
