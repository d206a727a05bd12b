#!/usr/bin/env bats
# What is data reaches no terminal as a control: nothing that a command, a tool or a model
# says sets titles, fills the clipboard, or turns text around.
# shellcheck disable=SC2016 # dollars of inner shells
bats_require_minimum_version 1.5.0
load ../support/helpers
load ../support/agent

# A title (OSC, C0 and C1), a clipboard, DEL, a bidirectional override, a bell; in octal, as
# printf has it.
ATTACK='t\033]0;title\007 \302\2330m \033]52;c;QQ==\033\\ \177 \342\200\256 \302\205 é\r'

# Runs a command on a terminal; what that got is in the file seen.
shown() { script -qec "$1" typescript </dev/null >seen || true; tr -d '\r' <seen >said; }
# The same of awf-run, without what it draws its view with (bold and dim, up and down, erase).
shown_run() {
	shown "$1"
	LC_ALL=C sed -i 's/\x1b\[\([012]m\|3[0-9]m\|[0-9]*A\|B\|K\|J\)//g' said
}
# Nothing in it but what a terminal prints, and it has come.
harmless() {
	grep -q 't' said
	if LC_ALL=C grep -qP '[\x00-\x08\x0b-\x1f\x7f]|\xc2[\x80-\x9f]|\xe2\x80\xae' said; then
		od -c said
		return 1
	fi
	grep -q 'é' said
}

@test "stderr of commands and tools" {
	mkdir tools
	printf '{"description":"x","input_schema":{"type":"object"}}' >tools/talk.tool.json
	printf '#!/bin/sh\nprintf "%s" >&2\nexit 1\n' "${ATTACK//\\/\\\\}" >tools/talk
	printf '#!/bin/sh\nprintf "%s" >&2\n' "${ATTACK//\\/\\\\}" >say
	chmod +x tools/talk say
	shown 'awf-step -n -q a -- ./say'
	harmless
	shown 'awf-step -n -q --sandbox workspace a -- ./say'
	grep -q 'sandbox' said || harmless
	shown 'echo "{}" | awf-step -i json -q -t talk a'
	harmless
	shown_run 'awf-run -n -c "awf-step -n -q --each a -- awf-step -q b -- ./say"'
	harmless
	# Not on a terminal it is as it came; a character may come in two pieces there.
	awf-step -n -q a -- ./say 2>err
	printf "$ATTACK" | cmp - err
	shown 'awf-step -n -q a -- sh -c "printf \"\\303\" >&2; sleep 0.1; printf \"\\251 t\" >&2"'
	harmless
}

@test "data of -r, state lines, descriptions" {
	printf "$ATTACK" >attack
	shown 'awf-step -n -r a -- cat attack'
	harmless
	shown 'awf-step -n a -- cat attack'
	harmless
	shown_run 'awf-run -n -c "awf-step -n -r a -- cat attack"'
	harmless
	awf-step -n -r a -- cat attack | cmp - attack
	mkdir agents
	agent writer
	text 't\u001b]0;title\u0007 \u009b0m \u007f \u202e é\r' >answer
	model_server --answer answer --loop
	shown 'awf-step -n -p x -a writer -r a'
	harmless
	shown 'awf-step -a writer a --dry-run <attack'
	harmless
}

@test "lines of transcripts, as they are, of projections, of displays" {
	printf "$ATTACK" >attack
	awf-run -n -c 'awf-step -n a -- cat attack | awf-step -q b -- cat'
	for as in interagent agent-event daemon-event langgraph runtime otlp agentloom; do
		shown "awf-tail --as $as"
		run ! env LC_ALL=C grep -qP '[\x00-\x08\x0b-\x1f\x7f]|\xc2[\x80-\x9f]|\xe2\x80\xae' said
	done
	for command in 'awf-tail --json' 'awf-replay --state a' 'awf-replay --canonical' \
		'awf-replay --order causal'; do
		shown "$command"
		harmless
		# It means the same.
		same "$($command | jq -c .)" "$(jq -c . said)"
	done
}
