#!/usr/bin/env bats
# awf-step --approve at a terminal: yes, no, an editor, Ctrl-C, several questions.
# shellcheck shell=bash disable=SC2016
load ../../support/helpers
bats_require_minimum_version 1.5.0

prepare() {
	command -v tmux >/dev/null || skip "tmux is not installed"
	ME=$(id -un)
	SOCKET="awf-$$-$RANDOM"
	tmux -L "$SOCKET" -f /dev/null new-session -d -x 120 -y 40 \
		"exec env PS1='ready> ' EDITOR=./editor bash --norc -i" 3>&-
	shown 'ready>'
	cat >flow <<-'END'
		awf-step -i json --approve ok <in | awf-step -r show -- cat
	END
	echo '{"a":[1.50]}' >in
	printf '#!/bin/sh\n' >editor
	chmod +x editor
}
cleanup() { tmux -L "$SOCKET" kill-server 2>/dev/null || true; }

keys() { tmux -L "$SOCKET" send-keys "$@"; }
screen() { tmux -L "$SOCKET" capture-pane -p; }
on_screen() { screen | grep -qE -- "$1"; }
shown() {
	eventually on_screen "$1" && return 0
	screen >&2
	return 1
}
# What is typed before a question is thrown away.
asked() { [ "$(screen | grep -c '^Approve ok:0:0')" -ge "$1" ]; }
# Starts the workflow and answers its first question.
answer() {
	keys "awf-run -n ./flow; echo status \$?" Enter
	shown 'Approve ok:0:0\? \(yes, no, edit\)'
	keys "$1" Enter
}
decided() {
	jq -c 'select(.payload.approval.decision) | .payload | [.approval.decision,.approval.by,.result]' \
		"$(transcript)"
}

@test "yes: what is shown goes on" {
	export JQ=jq
	answer yes
	shown '^status 0'
	shown '^ok:0:0 waits for a decision about:'
	shown '^  "a": \['
	shown '^    1\.50'
	shown '^\{"a":\[1\.50\]\}'
	same "$(jq -c 'select(.payload.approval) | .payload.approval' "$(transcript)")" \
		"{\"decision\":\"approved\",\"by\":\"$ME\"}"
	awf-verify
	awf-verify --determinism
}

@test "no, and why" {
	answer n
	shown '^Why\?'
	keys 'not today' Enter
	shown "^awf-run: flow: step ok:0:0 failed: denied by $ME: not today"
	shown '^status 3'
	awf-verify
	awf-verify --determinism
	run -3 awf-run --resume @ </dev/null
}

@test "edit: what the editor leaves is shown and asked about" {
	cat >editor <<-'END'
		#!/bin/sh
		cat "$1" >seen
		echo '{"a": 2}' >"$1"
	END
	answer edit
	shown '^Approve ok:0:0 as edited\? '
	shown '^  "a": 2|^\{"a": 2\}'
	keys y Enter
	shown '^\{"a":2\}'
	shown '^status 0'
	same "$(cat seen)" $'{\n  "a": [\n    1.50\n  ]\n}'
	same "$(decided)" "[\"edited\",\"$ME\",{\"a\":2}]"
	[ -z "$(ls "$AWF_STORAGE/runs")" ]
	awf-verify
	awf-verify --determinism
}

@test "an editor that fails, or leaves no JSON, has edited nothing" {
	cat >editor <<-'END'
		#!/bin/sh
		echo '{"a": 2}' >"$1"
		[ ! -e once ] || { echo '{"a":' >"$1"; exit 0; }
		: >once
		exit 1
	END
	answer e
	eventually test -e once
	shown 'Approve ok:0:0\? \(yes, no, edit\) *$'
	keys e Enter
	shown '^Not taken: no JSON: '
	shown 'Approve ok:0:0\? \(yes, no, edit\) *$'
	keys y Enter
	shown '^\{"a":\[1\.50\]\}'
	same "$(decided | jq -c '.[0]')" '"approved"'
}

@test "Ctrl-C in the editor is the editor's, and the terminal comes back" {
	cat >editor <<-'END'
		#!/bin/sh
		trap 'echo caught; exit 0' INT
		stty -echo
		echo editing
		sleep 1000 & wait
	END
	answer e
	shown '^editing'
	keys C-c
	shown '^(\^C)?caught'
	eventually asked 2
	keys y Enter
	shown '^status 0'
	keys 'echo visible' Enter
	shown 'echo visible$'
}

@test "Ctrl-C at the question cancels the run" {
	answer ''
	shown 'edit\).*edit\)|Approve'
	keys C-c
	shown 'awf-run: flow: cancelled by signal 2'
	same "$(jq -r 'select(.type == "run.completed") | .payload.status' "$(transcript)")" cancelled
	same "$(decided)" ''
	awf-verify
	run -75 awf-run --resume @ </dev/null
}

@test "end of file is no answer: the call waits" {
	keys "awf-run -n ./flow; echo status \$?" Enter
	shown 'Approve ok:0:0'
	keys C-d
	shown '^awf-run: flow: waits for a decision: awf-ctl approve ok:0:0 '
	shown '^status 75'
}

@test "a run that was waiting asks at a terminal when it goes on" {
	run -75 awf-run -n ./flow
	keys 'awf-run --resume @; echo status $?' Enter
	shown 'Approve ok:0:0'
	keys yes Enter
	shown '^\{"a":\[1\.50\]\}'
	shown '^status 0'
	awf-verify
	awf-verify --determinism
}

@test "decided from elsewhere while the question stands: that counts" {
	run -75 awf-run -n ./flow
	keys 'awf-run --resume @; echo status $?' Enter
	shown 'Approve ok:0:0'
	awf-ctl approve -e ok <<<'{"b":1}'
	keys no Enter
	shown 'Why'
	keys Enter
	shown '^\{"b":1\}'
	shown "^awf-step: ok:0:0: $ME has decided meanwhile"
	shown '^status 0'
	awf-verify
	awf-verify --determinism
}

@test "several calls are asked about one after the other" {
	printf '1\n2\n3\n' >in
	cat >flow <<-'END'
		awf-step -i json -j 3 --approve ok <in | awf-step -s -r all -- cat
	END
	keys "awf-run -n ./flow; echo status \$?" Enter
	for i in 1 2 3; do
		eventually eval "[ \$(screen | grep -c '^Approve ok:0:') = $i ]"
		keys y Enter
	done
	shown '^\[1,2,3\]'
	shown '^status 0'
	same "$(screen | grep -c '^Approve ok:0:.*yes, no, edit. y')" 3
}

@test "what does harm to a terminal is shown harmlessly; typing ahead is no answer" {
	printf '"a\\u001b[31mred\\u202e"' >in
	keys 'sleep 0.5; awf-run -n ./flow; echo status $?' Enter y Enter
	shown '^a\\x1b\[31mred\\u202e'
	shown 'Approve ok:0:0'
	sleep 0.3
	same "$(decided)" ''
	keys no Enter
	shown 'Why'
	keys Enter
	shown '^status 3'
}

@test "a text that scrolls away, or that is not what it looks like, is told of" {
	sed -i 's/-i json //' flow
	{ echo 'rm -rf ~'; printf '\n%.0s' {1..60}; printf 'ok:0:0 waits for a decision about:\n\necho hi\n'; } >in
	keys "awf-run -n ./flow; echo status \$?" Enter
	shown '^\(These are 64 lines, 113 B\.\)$'
	shown 'Approve ok:0:0\? \(yes, no, edit\)'
	same "$(screen | grep -c 'rm -rf')" 0
	keys no Enter
	shown 'Why'
	keys Enter
	shown '^status 3'
	printf 'curl https://g\xd1\x96thub.com/ привет - мир/world don\xe2\x80\x99t' >in
	keys "clear; awf-run -n ./flow; echo status \$?" Enter
	shown '^\(Letters that look like others: https://g\\u0456thub\.com/\.\)$'
	same "$(screen | grep -c '^.These')" 0
	keys no Enter
	shown 'Why'
	keys Enter
	shown '^status 3'
}

@test "bytes that are no text cannot be edited" {
	printf '\377\376' >in
	sed -i 's/-i json //' flow
	keys "awf-run -n ./flow; echo status \$?" Enter
	shown '^bytes that are no text'
	shown 'Approve ok:0:0\? \(yes, no\)'
	keys e Enter
	eventually eval '[ "$(screen | grep -c "^Approve ok:0:0")" = 2 ]'
	keys y Enter
	shown '^\\xff\\xfe$'
	shown '^awf-run: flow: done after [0-9.]+m?s$'
	shown '^status 0'
}

@test "signed where there is a key; asked nobody where stderr is no terminal" {
	mkdir -p "$XDG_CONFIG_HOME/awf"
	awf-verify --keygen "$XDG_CONFIG_HOME/awf/seal.key"
	answer yes
	shown '^status 0'
	same "$(jq -r 'select(.payload.approval).payload.seal.signature | length' "$(transcript)")" 128
	awf-verify
	awf-verify --determinism
	keys 'clear; awf-run -n ./flow 2>err; echo status $?' Enter
	shown '^status 75'
}
