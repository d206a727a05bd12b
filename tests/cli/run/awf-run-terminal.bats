#!/usr/bin/env bats
# awf-run in a real terminal: Ctrl-C, Ctrl-Z and fg, a pager, a password prompt.
# shellcheck shell=bash disable=SC2016
load ../../support/helpers
bats_require_minimum_version 1.5.0

prepare() {
	command -v tmux >/dev/null || skip "tmux is not installed"
	SOCKET="awf-$$-$RANDOM"
	tmux -L "$SOCKET" -f /dev/null new-session -d -x 100 -y 30 \
		"exec env PS1='ready> ' bash --norc -i" 3>&-
	shown 'ready>'
}
cleanup() { tmux -L "$SOCKET" kill-server 2>/dev/null || true; }

keys() { tmux -L "$SOCKET" send-keys "$@"; }
screen() { tmux -L "$SOCKET" capture-pane -p; }

# Waits until the screen has a line that matches.
on_screen() { screen | grep -qE -- "$1"; }
shown() {
	eventually on_screen "$1" && return 0
	screen >&2
	return 1
}
# Waits until the program that a shell starts for this is there: dash, which catches SIGINT
# itself, loses one that comes while it starts another.
sleeps() { eventually pgrep -xf "sleep $1"; }
completed() { jq -c 'select(.type == "run.completed") | .payload' "$(transcript)"; }

@test "Ctrl-C ends workflow and awf-run, the run is cancelled" {
	keys "awf-run -c 'echo started; sleep 1000.1'; echo status \$?" Enter
	shown '^started'
	sleeps 1000.1
	keys C-c
	shown '^(\^C)?awf-run: pipeline: cancelled by signal 2'
	# bash goes back to its prompt, as awf-run died of the signal.
	keys 'echo was $?' Enter
	shown '^was 130'
	[ "$(completed | jq -r .status)" = cancelled ]
	[ -z "$(ls "$AWF_STORAGE/runs")" ]
}

@test "Ctrl-C that the workflow answers itself is waited through" {
	cat >flow <<-'END'
		trap 'echo caught' INT
		sh -c 'echo started; exec sleep 1000.2'
		echo went on
	END
	keys 'awf-run ./flow; echo status $?' Enter
	shown '^started'
	sleeps 1000.2
	keys C-c
	shown '^(\^C)?caught'
	shown '^went on'
	shown '^status 0'
	[ "$(completed | jq -r .status)" = success ]
}

@test "Ctrl-C reaches a background process that a workflow left" {
	keys "awf-run -c 'env --default-signal=INT setsid sleep 1000.3 & echo \$! >pid; echo started; sleep 1000.4'" Enter
	shown '^started'
	sleeps 1000.3
	sleeps 1000.4
	keys C-c
	shown '^(\^C)?awf-run: pipeline: cancelled by signal 2'
	gone "$(cat pid)"
}

@test "Ctrl-Z stops, fg goes on" {
	keys "awf-run -c 'echo started; read x; echo got \$x; sleep 0.2'; echo status \$?" Enter
	shown '^started'
	keys C-z
	shown 'Stopped'
	keys 'fg' Enter
	shown '^ready> fg'
	# What is typed while the shell hands the terminal over is lost.
	sleep 0.5
	keys 'text' Enter
	shown '^got text'
	# What is typed before it has ended is the workflow's.
	shown '^awf-run: .* done after'
	keys 'echo again $?' Enter
	shown '^again 0'
	[ "$(completed | jq -r .status)" = success ]
}

# Again and again: a pager that has not yet seen Ctrl-C may lose what comes with it.
quit() {
	keys q
	sleep 0.2
	on_screen '^status 0'
}

@test "a pager works" {
	seq 1000 >numbers
	keys "LESS= awf-run less numbers; echo status \$?" Enter
	shown '^1$'
	keys G
	shown '^1000$'
	keys g
	shown '^1$'
	keys C-c
	eventually quit
}

@test "a password prompt works, and is not echoed" {
	cat >flow <<-'END'
		#!/bin/bash
		read -rsp 'Password: ' word </dev/tty
		echo
		echo "length ${#word}"
	END
	keys 'awf-run ./flow; echo status $?' Enter
	shown '^Password:'
	keys 's3cret' Enter
	shown '^length 6'
	shown '^status 0'
	run ! on_screen s3cret
}

@test "stdin that is a terminal is passed through and not kept" {
	keys 'awf-run sh -c "echo begun; cat"; echo status $?' Enter
	shown '^begun'
	keys 'line' Enter C-d
	shown '^status 0'
	[ "$(completed | jq -c .stdin)" = null ]
	[ -z "$(ls "$AWF_STORAGE/inputs")" ]
}

@test "a run in the background has a process group of its own" {
	keys "awf-run -n -c 'ps -o pgid= -p \$\$ >workflow; ps -o pgid= -p \$(ps -o ppid= -p \$PPID) >runner' & wait; echo waited" Enter
	shown '^waited'
	[ "$(cat workflow)" != "$(cat runner)" ]
	keys "awf-run --no-view -n -c 'ps -o pgid= -p \$\$ >workflow; ps -o pgid= -p \$(ps -o ppid= -p \$PPID) >runner'; echo done" Enter
	shown '^done'
	[ "$(cat workflow)" = "$(cat runner)" ]
	# With a view it has a terminal of its own, whose foreground it is.
	keys "awf-run -n -c 'ps -o tty=,pgid=,tpgid= -p \$\$ >workflow; ps -o tty= -p \$(ps -o ppid= -p \$PPID) >runner'; echo viewed" Enter
	shown '^viewed'
	read -r tty group foreground <workflow
	[ "$tty" != "$(cat runner)" ]
	same "$group" "$foreground"
}

@test "closing the terminal ends the run" {
	keys "awf-run -c 'setsid sleep 1000.3 & echo \$! >pid; echo started; sleep 1000.4'" Enter
	shown '^started'
	sleeps 1000.3
	sleeps 1000.4
	tmux -L "$SOCKET" kill-server
	has_ended() { [ -n "$(completed)" ]; }
	eventually has_ended
	[ "$(completed | jq -r .status)" = cancelled ]
	gone "$(cat pid)"
}
