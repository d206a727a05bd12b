#!/usr/bin/env bats
# The tool bash: output, status, time limit, processes left behind.
# shellcheck shell=bash disable=SC2154,SC2016 # bats sets stderr; the shell of a step reads dollars
bats_require_minimum_version 1.5.0
load ../../support/helpers
load ../../support/tools

bash_tool() { "$LIBEXEC/awf-tool-bash" <<<"$1"; }
# COMMAND [MEMBERS]: the arguments.
command() { jq -cn --arg command "$1" "{\$command${2:+,$2}}"; }

@test "stdout and stderr in their order, in bash, without stdin" {
	answers bash <<-'END'
		{"command":"echo out; echo err >&2; echo out again"}
		out
		err
		out again
		=
		{"command":"[[ x == x ]] && cat; echo end","description":"shows the end"}
		end
		=
		{"command":"pwd | sed 's/.*work$/here/'"}
		here
		=
		{"command":"true"}
		[no output]
		=
		{"command":"printf 'a\\n\\n'"}
		a
		=
		{"command":"echo '{\"a\":  1}'"}
		{"a":  1}
		=
	END
	same "$(bash_tool "$(command 'printf "\xff\x00x"')" | jq -c explode)" '[65533,0,120]'
	# Descriptors of the tool stay its own.
	same "$(tool bash '{"command":"ls /proc/self/fd"}' | paste -sd' ')" '0 1 2 3'
}

@test "the command's status is the tool's, with its output" {
	for status in 1 3 126 255; do
		run "-$status" --separate-stderr bash_tool "$(command "echo so far; exit $status")"
		same "$output" '"so far"'
		same "$stderr" ''
	done
	run -127 --separate-stderr bash_tool "$(command 'no-such-command')"
	[[ $output == *'no-such-command: command not found"' ]]
	run -137 bash_tool "$(command 'kill -9 $$')"
	same "$output" '""'
	run -1 bash_tool "$(command 'echo skipped; exit 77')"
	same "$output" '"skipped\n[exit status 77]"'
	run -1 --separate-stderr bash_tool '{"command":""}'
	same "$stderr" "bash: the argument 'command' must be a text that is not empty and has no NUL in it"
	refuses bash <<-'END'
		{} the argument 'command' is missing
		{"command":"true","timeout":0} the argument 'timeout' must be a whole number from 1 to 600000
		{"command":"true","timeout":600001} the argument 'timeout' must be a whole number from 1 to 600000
	END
}

@test "of a step that fails the tool is named, and its output shown" {
	echo '{"command":"echo out; echo err >&2; exit 3"}' >fails
	for sandbox in '' none; do
		run -3 --separate-stderr awf-step -i json ${sandbox:+--sandbox $sandbox} -t bash x -r <fails
		same "$output" ''
		same "$stderr" $'out\nerr\nawf-step: x: bash: exit status 3: err'
		same "$(payloads tool.result '[.output, .exit_code, .error.message]')" \
			'["out\nerr",3,"exit status 3: err"]'
		run -3 --separate-stderr awf-step -i json ${sandbox:+--sandbox $sandbox} -t bash x -r \
			<<<"$(command 'echo out; sleep 9' '"timeout":100')"
		same "$stderr" $'bash: timed out after 100ms\nout\nawf-step: x: bash: exit status 3: bash: timed out after 100ms'
	done
	[[ $(awf-tail --errors) == *'| out'*'| bash: timed out after 100ms'* ]]
	run -3 --separate-stderr awf-step -n --sandbox workspace x -r -- sh -c 'exit 5'
	same "${stderr_lines[-1]}" 'awf-step: x: sh: exit status 5'
	run -3 --separate-stderr awf-step -n --timeout 100ms --sandbox workspace x -r -- sleep 9
	same "$stderr" 'awf-step: x: sleep: timed out after 100ms'
	run -3 --separate-stderr awf-step -t bash x -r <fails
	same "$stderr" 'awf-step: x: the input is text, the tool takes a JSON object (-i json, or -O json of the step before, makes one of it)'
}

@test "without bash it is sh" {
	mkdir empty
	same "$(PATH=$PWD/empty bash_tool '{"command":"echo ${BASH_VERSION-none}"}')" '"none"' ||
		[ "$(readlink -f /bin/sh)" = "$(readlink -f /bin/bash)" ]
}

# bats test_tags=turn:2
@test "at the time limit everything is ended, and what came until then is told" {
	run -3 --separate-stderr bash_tool "$(command 'echo begun; sleep 61.5 & setsid sleep 62.5 & wait' '"timeout":300')"
	same "$output" '"begun"'
	same "$stderr" 'bash: timed out after 300ms'
	run -1 pgrep -f 'sleep 6[12].5'
	# One that writes all the time, too.
	run -3 --separate-stderr bash_tool "$(command yes '"timeout":300')"
	same "$stderr" 'bash: timed out after 300ms'
	[ "${#output}" -lt 61000 ]
}

@test "what runs in the background ends with the command, and holds nothing up" {
	run -0 timeout 10 "$LIBEXEC/awf-tool-bash" <<<"$(command 'sleep 63.5 & setsid sleep 64.5 & echo started')"
	same "$output" '"started"'
	run -1 pgrep -f 'sleep 6[34].5'
	run -0 timeout 10 "$LIBEXEC/awf-tool-bash" <<<"$(command 'exec >/dev/null 2>&1; sleep 0.1')"
	same "$output" '"[no output]"'
	# Its last words are heard.
	same "$(tool bash "$(command '(trap "echo bye; exit" TERM; echo >ready; while :; do sleep 0.01; done) & until [ -e ready ]; do sleep 0.01; done')" | tail -n 1)" bye
}

@test "a signal ends it with all that runs" {
	bash_tool "$(command ': >ready; sleep 65.5')" >out 2>err 3>&- &
	eventually test -e ready
	pkill -TERM -x -P $! awf-tool-bash || kill -TERM $!
	status=0
	wait $! || status=$?
	[ "$status" -ne 0 ]
	eventually sh -c '! pgrep -f "sleep 65[.]5"'
}

@test "of long output both ends are kept" {
	same "$(tool bash "$(command 'seq -w 6000 | head -c 30000')" | wc -c)" 30000
	tool bash "$(command 'seq -w 10000 20000')" >long
	same "$(sed -n '1p;/\[/p;$p' long)" '10000
[30006 bytes of output are not shown here]
20000'
	same "$(wc -c <long)" $((30000 + 43))
	# At the borders of characters.
	tool bash "$(command 'printf x; for i in $(seq 20000); do printf é; done; printf z')" >wide
	iconv -f UTF-8 -t UTF-8 wide >/dev/null
	run -1 grep -q '�' wide
	same "$(grep '\[' wide)" '[10004 bytes of output are not shown here]'
}
