#!/usr/bin/env bats
# bats file_tags=turn:2
# What the calls of a run do when the server refuses some of them for its rate limit (429).
bats_require_minimum_version 1.5.0

load ../../support/helpers
load ../../support/agent

# Starts a server that refuses calls, tests/support/crowd-server.py, with these options.
refuser() {
	LOG=$BATS_TEST_TMPDIR/crowd.log
	python3 -S "$ROOT/tests/support/crowd-server.py" "$LOG" "$@" >crowd.url 3>&- &
	echo $! >>"$BATS_TEST_TMPDIR/model-server.pids"
	eventually test -s crowd.url
	OPENAI_BASE_URL=$(cat crowd.url)
	export OPENAI_BASE_URL OPENAI_API_KEY=k
}

# Whether a refusal is known to other runs, not only to the server.
refusal_is_kept() { [ -n "$(find "$AWF_STORAGE/limits/.held" -type f -size +0 2>/dev/null)" ]; }
export -f refusal_is_kept
# How many requests had this status.
count() { awk -v status="$1" '$3 == status' "$LOG" | wc -l; }
# The most requests within a second after the first that was refused, and what it was to wait (ms).
most_after() {
	awk -v wait="$1" '$3 == 429 && !first { first = $1 } first && $1 > first + wait / 1000 { at[n++] = $1 }
		END { for (i = 0; i < n; i++) { for (k = i; k < n && at[k] < at[i] + 1; k++); if (k - i > most) most = k - i }
			print most + 0 }' "$LOG"
}

@test "one that is refused holds the calls of all steps of the run that were not sent" {
	refuser --first 1 --retry-after 700
	awf-run -n -- bash -c 'echo a | awf-step -q -m openai/m -p "Say {{data}}" a &
		until grep -q "a 429" "$1" && refusal_is_kept; do sleep 0.01; done
		for i in b c d; do echo $i | awf-step -q -m openai/m -p "Say {{data}}" $i & done; wait' sh "$LOG"
	same "$(count 200) $(count 429)" '4 1'
	# One after another, once the wait is over.
	awk '$3 == 429 { until = $1 + 0.7; last = until - 0.04 } $3 == 200 && $1 < last + 0.04 { exit 1 } $3 == 200 { last = $1 }' "$LOG"
	same "$(cut -d ' ' -f 2 "$LOG" | sort -u | tr -d '\n')" abcd
	awf-verify -q
}

@test "one that is refused holds those of other runs, too" {
	refuser --first 1 --retry-after 1200
	for i in 1 2 3 4 5 6 7 8 9 10; do
		[ "$i" = 1 ] || eventually refusal_is_kept
		awf-run -n -c "echo r$i | awf-step -q -m openai/m -p 'Say {{data}}' a" >"out$i" 2>&1 3>&- &
		runs[i]=$!
	done
	wait "${runs[@]}"
	same "$(count 200) $(count 429)" '10 1'
	# Nobody before the time is over, and then one after another.
	awk '$3 == 429 { until = $1 + 1.2 } $3 == 200 && $1 < until - 0.04 { exit 1 }' "$LOG"
	same "$(ls "$AWF_STORAGE/limits/.held" | wc -l)" 1
	same "$(awf-tail --limits 2>&1 | grep -c held)" 0
}

@test "a large request, which no worker has, holds the others too" {
	refuser --first 1 --retry-after 900
	head -c 5000000 /dev/zero | tr '\0' y >large
	awf-run -n -- bash -c '{ cat large; echo " a"; } | awf-step -q -m openai/m a &
		until grep -q "a 429" "$1" && refusal_is_kept; do sleep 0.01; done
		echo b | awf-step -q -m openai/m -p "Say {{data}}" b; wait' sh "$LOG"
	same "$(count 200) $(count 429)" '2 1'
	awk '$3 == 429 { until = $1 + 0.9 } $3 == 200 && $1 < until - 0.04 { exit 1 }' "$LOG"
}

@test "calls of another model or key are not held" {
	refuser --first 1 --retry-after 800
	awf-run -n -- bash -c 'echo a | awf-step -q -m openai/m -p "Say {{data}}" a &
		until grep -q "a 429" "$1" && refusal_is_kept; do sleep 0.01; done
		echo b | awf-step -q -m openai/other -p "Say {{data}}" b
		echo c | OPENAI_API_KEY=other awf-step -q -m openai/m -p "Say {{data}}" c; wait' sh "$LOG"
	same "$(cut -d ' ' -f 2,3 "$LOG")" $'a 429\nb 200\nc 200\na 200'
}

@test "so many at once use up no retries, and never ask more than the server allows after the first wait" {
	refuser --limit 40 --retry-after 1000
	awf-run -n -- sh -c 'seq 80 | awf-step -i lines -j 80 -m openai/m -p "Say {{data}}" -q ask'
	same "$(count 200)" 80
	[ "$(most_after 900)" -le 56 ]
	# Nobody asks more often than it may, or sooner than it was told.
	awk '{ if (refused[$2] && $1 < refused[$2] + 1) exit 1; if ($3 == 429) refused[$2] = $1; if (++tries[$2] > 3) exit 1 }' "$LOG"
	[ "$(count 429)" -lt 100 ]
}

@test "refusals by chance hold those who were refused, and slow down no others" {
	refuser --refuse 0.333 --retry-after 400 --seed 7
	awf-run -n -- sh -c 'seq 200 | awf-step -i lines -j 60 --retries 25 -m openai/m -p "Say {{data}}" -q ask'
	same "$(count 200)" 200
	# Nobody asks sooner than it was told, and the end comes in much less than one refusal after the other would take.
	awk '{ if (refused[$2] && $1 < refused[$2] + 0.4) exit 1; refused[$2] = $3 == 429 ? $1 : 0; last = $1 } END { if (last > 40) exit 1 }' "$LOG"
}

@test "a wait is recorded, told, and within the time of the call" {
	refuser --first 1 --retry-after 5000
	run -3 --separate-stderr awf-run -n -- sh -c 'echo a | awf-step -q --retries 0 -m openai/m -p "Say {{data}}" a
		echo b | awf-step -v -q --timeout 600ms -m openai/m -p "Say {{data}}" b 2>err; grep -q "rate limit reached" err'
	# shellcheck disable=SC2154
	[[ $stderr == *"too many"* ]]
	grep -q 'waiting for openai: rate limit reached, next try in' err
	grep -q 'openai: was not asked: rate limit reached' err
	same "$(wc -l <"$LOG")" 1
	same "$(jq -r 'select(.payload.wait).payload.wait | [.provider, .reason // "over"] | join(": ")' "$(transcript)")" \
		$'openai: rate limit reached\nopenai: over'
	same "$(jq -r 'select(.type == "step.completed" and .path == "b").payload.error.code' "$(transcript)")" rate_limit
	awf-verify -q
	awf-verify --determinism --isolation copy
}

@test "a cancel ends the wait" {
	refuser --first 1 --retry-after 60000
	awf-run -n -- bash -c 'echo a | awf-step -q -m openai/m -p "Say {{data}}" a &
		until grep -q "a 429" "$1" && refusal_is_kept; do sleep 0.01; done
		echo b | awf-step -q -m openai/m -p "Say {{data}}" b; wait' sh "$LOG" 3>&- &
	eventually grep -q "a 429" "$LOG"
	nap 0.5
	began=$(date +%s%3N)
	kill $!
	wait $! || true
	[ $(($(date +%s%3N) - began)) -lt 3000 ]
	same "$(wc -l <"$LOG")" 1
}

@test "where there is another model, it is asked instead of a wait of more than a minute" {
	refuser --first 1 --retry-after 90000
	mkdir agents
	printf -- '---\nname: w\nmodel: openai/m\nfallback: [openai/other]\n---\nx\n' >agents/w.md
	awf-run -n -- sh -c 'for i in a b; do echo $i | awf-step -q -a w -p "Say {{data}}" $i; done'
	same "$(cut -d ' ' -f 2- "$LOG")" $'a 429 m\na 200 other\nb 200 other'
}

@test "who is killed while it waits holds nobody" {
	refuser --first 1 --retry-after 500
	awf-run -n -- sh -c 'echo a | awf-step -q --retries 0 -m openai/m -p "Say {{data}}" a
		pids=
		for i in 1 2 3 4 5; do (echo $i | exec awf-step -q -m openai/m -p "Say {{data}}" k$i) & pids="$pids $!"; done
		sleep 0.2
		kill -9 $pids
		echo z | awf-step -q -m openai/m -p "Say {{data}}" z' || true
	grep -q 'z 200' "$LOG"
}

# Moves all times of a hold by so many ms.
shift_hold() {
	python3 - "$1" "$2" <<-'END'
		import struct, sys
		with open(sys.argv[1], "r+b") as file:
		    numbers = list(struct.unpack("18q", file.read()))
		    for at, unit in ((0, 1), (2, 1000), (6, 1), (7, 1), (10, 1), (11, 1), (17, 1)):
		        numbers[at] += int(sys.argv[2]) * unit
		    file.seek(0)
		    file.write(struct.pack("18q", *numbers))
	END
}

@test "what was refused long ago holds nobody, and the next refusal removes it, as what is of an earlier boot" {
	refuser --first 2 --retry-after 60000
	held=$AWF_STORAGE/limits/.held
	echo a | { ! awf-step -q --retries 0 -m openai/m -p 'Say {{data}}' a; }
	file=$(ls "$held")
	cp "$held/$file" "$held/earlier"
	shift_hold "$held/earlier" 90000000
	touch "$held/cut-off"
	shift_hold "$held/$file" -840000
	echo b | { ! awf-step -q --retries 0 -m openai/other -p 'Say {{data}}' b; }
	same "$(ls "$held" | wc -l)" 1
	[ ! -e "$held/$file" ]
	echo c | awf-step -q --timeout 20s -m openai/m -p 'Say {{data}}' c
	same "$(cut -d ' ' -f 2,3 "$LOG")" $'a 429\nb 429\nc 200'
}

@test "a refusal holds others even if the file that its call had mapped was removed meanwhile" {
	refuser --first 2 --refusing 1 --retry-after 100
	held=$AWF_STORAGE/limits/.held
	echo a | { ! awf-step -q --retries 0 -m openai/m -p 'Say {{data}}' a; }
	echo b | { ! awf-step -q --retries 0 -m openai/m -p 'Say {{data}}' b; } 3>&- &
	eventually grep -q 'b 429' "$LOG"
	rm "$held"/*
	wait $!
	same "$(ls "$held" | wc -l)" 1
}

@test "a run in which nothing is refused has one open more" {
	command -v strace >/dev/null && strace -o /dev/null true 2>/dev/null || skip "no strace"
	refuser
	echo x | strace -f -e trace=file -o traced awf-step -q -m openai/m -p 'Say {{data}}' a
	same "$(grep -c '/.held' traced)" 1
	grep -q 'open.*/.held"' traced
}
