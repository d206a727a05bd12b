# Terminals of tests, of tmux, and what they show. Sourced by bats files, whose prepare() and
# cleanup() call the first two.
# shellcheck shell=bash disable=SC2016,SC2317 # $1 is for the script; functions are handed on

terminals_begin() {
	command -v tmux >/dev/null || skip "tmux is not installed"
	export LC_ALL=C.UTF-8
	unset COLUMNS NO_COLOR AWF_VIEW GPG_TTY
	# Of this test alone: who comes while another is about to end is turned away.
	SOCKET="awf-view-$$-$BATS_TEST_NUMBER"
}
terminals_end() { tmux -L "$SOCKET" kill-server 2>/dev/null || true; }

# NAME WIDTH HEIGHT COMMAND: runs it in a terminal of its own.
terminal() {
	tmux -u -L "$SOCKET" -f /dev/null new-session -d -s "$1" -x "$2" -y "$3" "$4; sleep 600" 3>&-
}
# The same with a shell at its prompt.
prompt() {
	terminal "$1" "$2" "$3" "exec env PS1='ready> ' bash --norc -i"
	says "$1" 'ready>'
}
keys() { tmux -L "$SOCKET" send-keys -t "$@"; }
# NAME WIDTH HEIGHT
resize() { tmux -L "$SOCKET" resize-window -t "$1" -x "$2" -y "$3"; }

# NAME [OPTION...]: what the terminal shows.
screen() { tmux -u -L "$SOCKET" capture-pane -p -t "$@"; }
# The same without what is never twice the same: times, ids, what turns.
frame() {
	screen "$@" | sed -E 's/ *\b[0-9.]+m?s\b/ T/g; s/⠋|⠙|⠹|⠸|⠼|⠴|⠦|⠧|⠇|⠏/@/g; s/\b[0-9a-f]{8}\b/ID/g; s/ +$//' |
		sed -e :a -e '/^\n*$/{$d;N;ba' -e '}'
}
# NAME TEXT: waits until the terminal shows this, line by line.
shows() {
	is() { [ "$(frame "$1")" = "$2" ]; }
	eventually is "$@" || { printf 'have:\n%s\nwant:\n%s\n' "$(frame "$1")" "$2" >&2; return 1; }
}
# The same whatever the order: what has ended, and what others print, may come in another.
shows_all() {
	is_all() { [ "$(frame "$1" | sort)" = "$(sort <<<"$2")" ]; }
	eventually is_all "$@" || { printf 'have:\n%s\nwant:\n%s\n' "$(frame "$1")" "$2" >&2; return 1; }
}
matches() { screen "$1" | grep -qE -- "$2"; }
# NAME REGEX: waits until a line of it matches; and no line does now.
says() { eventually matches "$@" || { screen "$1" >&2; return 1; }; }
says_not() { if matches "$@"; then screen "$1" >&2; return 1; fi; }

# hold NAME goes on until the file held-NAME is gone, which a test makes and removes.
make_hold() {
	printf '%s\n' '#!/bin/sh' 'while [ -e "held-$1" ]; do sleep 0.02; done' >hold
	chmod +x hold
}
