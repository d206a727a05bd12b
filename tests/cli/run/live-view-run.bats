#!/usr/bin/env bats
# The live view of awf-run, and the pseudo-terminal below it, in real terminals. See also
# awf-run-terminal.bats, whose workflows have one too.
# shellcheck shell=bash disable=SC2016,SC2154 # what is quoted is for others; bats sets stderr
bats_require_minimum_version 1.5.0
load ../../support/helpers
load ../../support/terminal

prepare() {
	terminals_begin
	make_hold
}
cleanup() {
	rm -f held*
	terminals_end
}

@test "what a workflow prints and what it does, in terminals of several sizes" {
	: >held-a
	: >held-b
	cat >flow.awf <<-'END'
		#!/bin/sh
		echo begun
		awf-step -n -q first -- ./hold a
		echo x | awf-step -q --parallel panel --strategy best-effort -- './hold b' \
			'awf-step con -- sh -c "exit 4"' 'awf-run --name child -c "awf-step -q inner -- ./hold b"'
		echo done
	END
	chmod +x flow.awf
	for size in '40 12' '80 24' '200 50'; do
		export AWF_STORAGE="$BATS_TEST_TMPDIR/storage-${size% *}"
		# shellcheck disable=SC2086
		terminal "${size% *}" $size 'awf-run -n ./flow.awf; echo "status $?"'
	done
	shows 40 'begun
flow.awf T   1 running
@ first T  ./hold a'
	shows 80 'begun
flow.awf ID T   1 running
@ first T  ./hold a'
	rm held-a
	for name in 80 200; do
		shows_all "$name" 'begun
awf-step: con: sh: exit status 4
✓ first T
✗ panel ▸ con T  sh: exit status 4   (best-effort)
flow.awf ID T   2 running, 1 failed
@ panel T  1 of 3
  @ panel[0] T  /bin/sh -c ./hold b
  @ child ▸ inner T  ./hold b'
	done
	rm held-b
	for name in 40 80 200; do says "$name" '^status 0'; done
	shows_all 200 'begun
awf-step: con: sh: exit status 4
✓ first T
✗ panel ▸ con T  sh: exit status 4   (best-effort)
✓ panel ▸ child ▸ inner T
✓ panel ▸ child T
✓ panel ▸ panel[0] T
awf-step: panel: branch 1: sh: exit status 4
done
✓ panel T  3 lines
awf-run: flow.awf: done after T
status 0'
}

# What is left on the terminal of output that is written now and then, in pieces, with colours,
# lines that are written over, and moves.
# bats test_tags=turn:2
@test "every byte that a workflow prints is there once, wherever the view is drawn" {
	cat >print.py <<-'END'
		import os, random, sys, time
		r = random.Random(int(sys.argv[1]))
		pieces = ["text %d", "\u00e4\u4e2d %d", "\x1b[31mred %d\x1b[0m", "\x1b]0;title %d\a", "%d\r", "\t%d",
		          "\x1b[1A\x1b[2Kover %d\n", "line %d\n", "line %d\n", "line %d\n", "\x1b[s\x1b[u%d\n"]
		for n in range(120):
		    data = (r.choice(pieces) % n).encode()
		    while data:
		        cut = r.randint(1, len(data))
		        os.write(1, data[:cut])
		        data = data[cut:]
		        if r.random() < 0.1:
		            time.sleep(r.choice([0, 0.01, 0.06, 0.12]))
		os.write(1, b"\n\x1b[0mend\n")
	END
	terminal keep 80 24 : # the server ends with its last terminal
	for seed in $(seq "$(rounds 2 100)"); do
		for view in live off; do
			terminal "$view" 80 24 "tmux -L $SOCKET set-option history-limit 5000; AWF_VIEW=$view awf-run --name x -n -c 'awf-step -n -q s -- sleep 0.3 & seq 30 | awf-step -q -i lines -j 6 items -- sleep 0.2 & python3 print.py $seed; wait'; echo status \$?"
		done
		for view in live off; do
			says "$view" '^status 0'
			screen "$view" -S - | grep -v '^✓ s \|^✓ items \|^awf-run: x: done' | sed 's/ *[0-9.]*m\?s$//' >"$view.$seed"
			tmux -L "$SOCKET" kill-session -t "$view"
		done
		cmp "live.$seed" "off.$seed" || { diff "live.$seed" "off.$seed" >&2; false; }
	done
}

@test "an outsider who goes on to print to the terminal of a workflow keeps nobody waiting" {
	local writer
	: >held-a
	terminal t 80 24 'awf-run --name x -n -c "tty <&1 >where; awf-step -n -q s -- ./hold a"; echo "status $?" >status'
	eventually grep -q /dev where 2>/dev/null
	yes on >"$(cat where)" 2>/dev/null 3>&- &
	writer=$!
	rm held-a
	eventually test -s status
	same "$(cat status)" 'status 0'
	kill "$writer" 2>/dev/null || true
}

# bats test_tags=turn:2
@test "it has the terminal only where nobody else may want it" {
	: >held-a
	prompt t 100 30
	run='awf-run --name x -n -c "awf-step -n -q work -- ./hold a"'
	while IFS=@ read -r command view; do
		: >held-a
		keys t "clear; $command; echo over" Enter
		eventually holds || { echo "$command" >&2; screen t >&2; return 1; }
		if [ "$view" = yes ]; then says t '^x .*   1 running'; else sleep 0.3; says_not t '1 running'; fi
		rm held-a
		says t '^over'
		eventually gone_hold
	done <<-END
		$run@yes
		$run | cat@
		$run >out@yes
		$run 2>err@
		sleep 3 | ${run/ -n/}@
		true | ${run/ -n/}@yes
		$run & wait@
		${run/ -n/ -n --no-view}@
		${run/ -n/ -n --log}@
		AWF_VIEW=off $run@
		TERM=dumb $run@
	END
}
holds() { pgrep -f "sh ./hold a" >/dev/null; }
gone_hold() { ! holds; }

@test "the terminal is as it was: after the end, a stop, and SIGKILL" {
	: >held-a
	cat >try.sh <<-'END'
		stty -g >before
		awf-run --name x -n -c 'echo $$ >pid; tty <&2 >tty; echo "$GPG_TTY" >gpg; awf-step -n -q work -- ./hold a'
		echo "status $?"
		i=0
		until stty -g >after && cmp -s before after || [ $i -gt 100 ]; do i=$((i + 1)); sleep 0.05; done
		cmp before after && echo restored
	END
	prompt t 80 24
	keys t 'sh try.sh' Enter
	says t '^x .*   1 running'
	same "$(cat gpg)" "$(cat tty)"
	keys t C-z
	says t 'Stopped'
	says_not t '1 running'
	keys t 'fg' Enter
	says t '^x .*   1 running'
	# shellcheck disable=SC2046 # ps puts blanks before numbers
	kill -9 $(ps -o ppid= -p $(ps -o ppid= -p "$(cat pid)"))
	# Its shell may say so before the guardian has taken the view away.
	says t 'status 137'
	says t '^restored'
	gone "$(cat pid)"
	keys t 'clear; sh try.sh' Enter
	says t '^x .*   1 running'
	rm held-a
	says t '^restored'
	same "$(frame t)" '✓ work T
awf-run: x: done after T
status 0
restored
ready>'
}

@test "the terminal of the workflow has the size of its user's, and the view that, too" {
	: >held-a
	terminal t 80 24 "awf-run --name x -n -c 'stty size <&2; awf-step -n -q work -- ./hold a; stty size <&2'; echo status \$?"
	says t '^24 80'
	says t '^x [0-9a-f]{8} .* 1 running'
	resize t 30 10
	says t '^x  .* 1 runn'
	rm held-a
	says t '^status 0'
	same "$(frame t -S -)" '24 80
10 30
✓ work T
awf-run: x: done after T
status 0'
}

@test "stopped by others, and continued in the background, it draws nothing" {
	: >held-a
	prompt t 80 24
	keys t "awf-run --name x -n -c 'echo \$\$ >pid; awf-step -n -q work -- ./hold a; echo printed'" Enter
	says t '^x .*   1 running'
	# shellcheck disable=SC2046 # ps puts blanks before numbers
	kill -STOP $(ps -o ppid= -p $(ps -o ppid= -p "$(cat pid)"))
	says t 'Stopped'
	keys t 'clear; stty sane; bg' Enter
	says t '&$'
	rm held-a
	says t '(> |^)printed'
	says_not t '1 running'
}

@test "a pager has the whole screen, and the view comes back behind it" {
	: >held-a
	seq 100 >numbers
	terminal t 80 24 "LESS= awf-run --name x -c 'echo one; awf-step -n -q work -- ./hold a & less numbers; echo two; wait'; echo status \$?"
	says t '^numbers'
	says_not t '1 running'
	keys t G
	says t '^100$'
	# A key more than less has read would stand below the view.
	keys t q
	says t '^two'
	shows t 'one
two
x ID T   1 running
@ work T  ./hold a'
	rm held-a
	says t '^status 0'
}

@test "a run inside has no view of its own, and its steps say nothing" {
	: >held-a
	export AWF_PROVIDER_PATH="$ROOT/tests/fixtures/providers"
	terminal t 80 24 "awf-run --name x -n -c 'awf-step -n -q -p hello -m chatty/m a; awf-run -n --name inner -c \"awf-step -n -q work -- ./hold a\"'; echo status \$?"
	says t '^. inner ▸ work .* \./hold a'
	rm held-a
	says t '^status 0'
	shows_all t '✓ a T  1 turn  "140"
✓ inner ▸ work T
✓ inner T
awf-run: x: done after T
status 0'
}
