#!/usr/bin/env bats
# The live view of steps with many items, in real terminals of several sizes: each item has a line, as far as there is
# room; what waits, what fails alike, what is inside, and names of any characters.
# shellcheck shell=bash disable=SC2016,SC2154 # what is quoted is for others; bats sets stderr
# bats file_tags=turn:2
bats_require_minimum_version 1.5.0
load ../../support/helpers
load ../../support/terminal

prepare() {
	terminals_begin
	# An item says what it does, and goes on until the file held-ITEM is gone, or held.
	cat >item <<-'END'
		#!/bin/sh
		read -r n
		echo "page $n of 9" >&2
		while [ -e held ] || [ -e "held-$n" ]; do sleep 0.1; done
		[ ! -e "fails-$n" ] || { echo "no page $n" >&2; exit 4; }
	END
	chmod +x item
	: >held
}
cleanup() {
	rm -f held*
	terminals_end
}

# NAME WIDTH HEIGHT COUNT: items that go on, all at a time.
items() { terminal "$1" "$2" "$3" "seq $4 | awf-run --name x -c 'awf-step -q -i lines -j $4 work -- ./item 2>/dev/null'; echo status \$?"; }
# FIRST LAST: the lines of items.
rows() { for n in $(seq "$1" "$2"); do printf '  @ [%s] "%s" T  ./item  page %s of 9\n' "$n" "$((n + 1))" "$((n + 1))"; done; }
# NAME WIDTH ROWS MORE: waits until so many items have lines, and the others are counted. Which items begin first is chance.
lists() {
	is_list() { [ "$(frame "$1" | grep -cE '^  @ \[[0-9]+\] "([0-9]+)" T  \./item  page [0-9]+ of 9$')" = "$2" ] &&
		[ "$(frame "$1" | tail -n 1)" = "  … $3 more" ] && [ "$(frame "$1" | wc -l)" = "$(($2 + 3))" ]; }
	eventually is_list "$@" || { frame "$1" >&2; return 1; }
}

@test "1, 5 and 50 items in terminals of 80x24, 120x40 and 200x50" {
	for size in 80x24 120x40 200x50; do
		for count in 1 5 50; do
			AWF_STORAGE="$BATS_TEST_TMPDIR/storage-$size-$count" items "$size-$count" "${size%x*}" "${size#*x}" "$count"
		done
	done
	for size in 80x24 120x40 200x50; do
		shows "$size-1" 'x ID T   1 running
@ work T  ./item  page 1 of 9'
		shows_all "$size-5" "x ID T   5 running
@ work T  0 of 5, 0 %, 5 running
$(rows 0 4)"
	done
	# The terminal less one row, less two of the run and the step, less one for those that are not shown.
	lists 80x24-50 20 30
	lists 120x40-50 36 14
	lists 200x50-50 46 4
	shows_head() { frame "$1" | head -n 2; }
	for size in 80x24 120x40 200x50; do
		same "$(shows_head "$size-50")" 'x ID T   50 running
@ work T  0 of 50, 0 %, 50 running'
	done
	# The terminal grows: all are there; and shrinks.
	resize 80x24-50 80 60
	shows_all 80x24-50 "x ID T   50 running
@ work T  0 of 50, 0 %, 50 running
$(rows 0 49)"
	resize 80x24-50 80 6
	says 80x24-50 '^  … 48 more'
	rm held
	for size in 80x24 120x40 200x50; do
		for count in 1 5 50; do says "$size-$count" '^status 0'; done
		says "$size-50" '^✓ work +[0-9.m]+s  50 done'
	done
}

@test "lines stay where they are: a new item takes the place of one that has ended" {
	for n in $(seq 9); do : >"held-$n"; done
	rm held
	terminal t 80 24 "seq 9 | awf-run --name x -c 'awf-step -q -i lines -j 4 work -- ./item 2>/dev/null'; echo status \$?"
	shows_all t "x ID T   4 running
@ work T  0 of 9, 0 %, 4 running
$(rows 0 3)"
	frame t >before
	rm held-2
	shows t "$(sed 's/0 of 9, 0 %/1 of 9, 11 %/; s/\[1\] "2"/[4] "5"/; s/page 2/page 5/' before)"
	# Those of the others that are left close the gap.
	rm held-1 held-3 held-6 held-7 held-8
	says t '6 of 9, 66 %, 3 running'
	rm held-9 held-5 held-4
	says t '^status 0'
}

@test "the total is known once the input has ended" {
	: >writes
	rm held
	: >held-3
	terminal t 80 24 "awf-run --name x -c '(seq 3; while [ -e writes ]; do sleep 0.02; done; seq 4 6) | awf-step -q -i lines -j 2 work -- ./item 2>/dev/null'; echo status \$?"
	says t 'work .* 2 done, 1 running'
	says_not t ' of [0-9]*,'
	rm writes
	says t 'work .* 5 of 6, 83 %, 1 running'
	rm held-3
	says t '^status 0'
	# A file whose end is near.
	seq 6 >list
	: >held-3
	AWF_STORAGE=$BATS_TEST_TMPDIR/file terminal file 80 24 "awf-run --name x -c 'awf-step -q -i lines work -- ./item 2>/dev/null' <list; echo status \$?"
	says file 'work .* 2 of 6, 33 %, 1 running'
	rm held-3
	says file '^status 0'
}

@test "a resume: what was done before counts, but not for the time that is left" {
	rm held
	: >fails-4
	run -3 awf-run --name x -c 'seq 6 | awf-step -q -i lines work -- ./item 2>/dev/null'
	rm fails-4
	: >held-4
	terminal t 80 24 'awf-run --resume @; echo status $?'
	says t 'work .* [0-9] of 6, '
	says t '^  . \[3\] "4" .*  \./item  page 4 of 9'
	says_not t 'about'
	rm held-4
	says t '^status 0'
}

@test "failures that are alike: three are printed, the others counted" {
	rm held
	for n in $(seq 20); do : >"fails-$n"; done
	: >held-21
	terminal t 90 24 "seq 21 | awf-run --name x -c 'awf-step -q -i lines -j 3 work -- ./item 2>/dev/null' 2>/dev/null; echo status \$?"
	terminal f 90 24 'awf-tail -f; echo status $?'
	says f '^✗ work: \./item: exit status 4: no page # … and 17 more like it'
	says f '20 of 21, 95 %, 20 failed, 1 running'
	same "$(screen f | grep -cE '^✗ work(\[[0-9]+\] \("[0-9]+"\))? ')" 3
	rm held-21
	says f '^status 0'
	# At the end it stays.
	says f '^✗ work: \./item: exit status 4: no page # … and 17 more like it'
	says f '^✗ work +[0-9.m]+s  1 done, 20 failed'
	says f '^✗ x [0-9a-f]{8} failed'
}

@test "what is inside of items: steps, groups and child runs, as far as there is room" {
	rm held
	: >held-1
	: >held-2
	: >held-3
	cat >child.awf <<-'END'
		#!/bin/sh
		awf-step -q inner -- ./item
	END
	chmod +x child.awf
	cat >flow.awf <<-'END'
		#!/bin/sh
		seq 3 | awf-step -q -i lines -j 3 --each each -- sh -c 'awf-step first -- cat | awf-run --name child ./child.awf 2>/dev/null'
	END
	chmod +x flow.awf
	terminal t 100 24 "awf-run -n --name x ./flow.awf; echo status \$?"
	says t '^  . \[1\] "2" ▸ child ▸ inner +[0-9.]+m?s  \./item  page 2 of 9'
	rm held-1 held-2 held-3
	says t '^status 0'
	says t '^✓ each +[0-9.m]+s  3 done'
}

@test "calls that wait stand above all others, with what decides, until it is decided" {
	cat >flow.awf <<-'END'
		#!/bin/sh
		echo y | awf-step --approve check -q 2>/dev/null &
		seq 40 | awf-step -q -i lines -j 40 work -- ./item 2>/dev/null
		wait
	END
	chmod +x flow.awf
	terminal t 80 24 'awf-run -n --wait 1h --name x ./flow.awf </dev/null; echo status $?'
	says t '40 running, 1 waiting'
	says t '^… check +[0-9.m]+s +waits: awf-ctl approve check:0:0 [0-9a-f]{8}$'
	frame t | grep -A 1 '^x ID' | tail -n 1 | grep -q '^… check'
	screen t -e | grep -q $'\e\\[.*33m… check'
	says t '^  … [0-9]+ more'
	# In a narrow one the command is whole.
	resize t 54 12
	says t '^… check  waits: awf-ctl approve check:0:0 [0-9a-f]{8}$'
	awf-ctl approve check:0:0
	decided() { ! frame t | grep -A 1 '^x' | tail -n 1 | grep -q '^… check'; }
	eventually decided
	says_not t ' waiting'
	rm held
	says t '^status 0'
}

@test "names and last words of any characters keep their columns, and reach the terminal as text" {
	cat >say <<-'END'
		#!/bin/sh
		read -r line
		printf '%s\033]0;title\007\033[2J中文 \342\200\256 é\n' "$line" >&2
		while [ -e held ]; do sleep 0.1; done
	END
	chmod +x say
	printf '%s\n' plain 中文字符 '👩‍💻 and 👍🏽' "$(printf 'o\314\210o\314\210')" "$(printf 'a\342\200\256b')" "$(printf '\033[31mred')" >list
	terminal t 80 24 "awf-run --name x -c 'awf-step -q -i lines -j 9 work -- ./say 2>/dev/null' <list; echo status \$?"
	says t '^  . \[0\] "plain" '
	says t '^  . \[1\] "中文字符" '
	says t '^  . \[4\] "a\\u202eb" '
	says t '^  . \[5\] "\\u001b\[31mred" '
	says t '\\x1b\]0;title\\x07'
	# What follows the names stands in one column: terminals say how wide they are.
	starts() { screen t | python3 -c '
import re, sys, unicodedata
def columns(text):
    return sum(0 if unicodedata.combining(c) or c in "\u200d\U0001f3fd" else 2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in text)
for line in sys.stdin:
    found = re.match(r"^(  . \[[01345]\] .*?) +[0-9.]+m?s  \./say", line)
    if found: print(columns(line[:line.index("./say")]))' | sort -u | wc -l; }
	same "$(starts)" 1
	resize t 30 12
	says t '^  … |^  . \[0\]'
	rm held
	says t '^status 0'
}

@test "awf-tail -f: Ctrl-Z takes the view away, and fg brings it back; in the background there is none; TERM ends it" {
	AWF_VIEW=off awf-run -n --name x -c 'seq 5 | awf-step -q -i lines -j 5 work -- ./item 2>/dev/null' </dev/null >/dev/null 2>&1 3>&- &
	RUN=$!
	eventually test -e "$AWF_STORAGE/latest"
	prompt t 80 24
	keys t 'stty -g >before; awf-tail -f' Enter
	says t '^  . \[4\] "5"'
	keys t C-z
	says t 'Stopped'
	says_not t '"5"'
	keys t 'stty -g >after; cmp before after && echo same' Enter
	says t '^same'
	keys t 'clear; fg' Enter
	says t '^  . \[4\] "5"'
	keys t C-z
	says t 'Stopped'
	keys t 'clear; bg' Enter
	says t '&$'
	nap 0.4
	says_not t '"5"'
	keys t 'clear; fg' Enter
	says t '^  . \[4\] "5"'
	pkill -TERM -f '^awf-tail -f$' -P "$(tmux -L "$SOCKET" list-panes -F '#{pane_pid}')"
	says t 'Terminated'
	says_not t '"5"'
	rm held
	wait "$RUN"
}

# Clock ticks of a process and its threads.
ticks() { awk '{ print $14 + $15 }' "/proc/$1/stat"; }

# bats test_tags=ci
@test "500 items that all print: as many as fit, and the view costs little" {
	local viewer follower pid before took
	cat >item <<-'END'
		#!/bin/bash
		read -r n
		exec 9<>"never"
		until [ -e over ]; do echo "page $n of 9" >&2; read -rt 1 -u 9; done
		exit 0
	END
	mkfifo never
	terminal t 80 24 "seq 500 | awf-run --name x -c 'awf-step -q -i lines -j 500 work -- ./item 2>/dev/null'; echo status \$?"
	says t '500 running'
	lists t 20 480
	same "$(frame t | head -n 2)" 'x ID T   500 running
@ work T  0 of 500, 0 %, 500 running'
	terminal follower 200 50 'awf-tail -f'
	lists follower 46 454
	viewer=$(pgrep -f '^[^ ]*awf-run --name x -c' | head -n 1)
	follower=$(pgrep -f '^awf-tail -f$' -P "$(tmux -L "$SOCKET" list-panes -t follower -F '#{pane_pid}')")
	# Less than a tenth of a processor, for each of the two.
	for pid in "$viewer" "$follower"; do
		before=$(ticks "$pid")
		nap 4
		took=$(($(ticks "$pid") - before))
		[ "$took" -lt $((4 * $(getconf CLK_TCK) / 10)) ] || { echo "$took ticks" >&2; false; }
	done
	: >over
	says t '^status 0'
}
