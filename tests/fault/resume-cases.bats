#!/usr/bin/env bats
# bats file_tags=turn:3
# Resume where it is likely to go wrong: deaths at chosen moments.
# shellcheck shell=bash disable=SC2016,SC2154 # bats sets stderr
bats_require_minimum_version 1.5.0
load ../support/helpers
load ../support/resume

prepare() { resume_tools; }

# A workflow of these lines.
flow() {
	printf '%s\n' '#!/bin/sh' "$@" >flow.awf
	chmod +x flow.awf
}

# Of the ends of calls named so: an expression.
ends() { jq -c "select(.type == \"step.completed\" and .payload.name == \"$1\").payload | $2" "$(record)"; }
attempts() { jq -c 'select(.type == "run.started").payload.attempt' "$(record)" | paste -sd' '; }
last_status() { jq -r 'select(.type == "run.completed").payload.status' "$(record)" | tail -n 1; }

# The run is done, well, and in order.
sound() {
	same "$(last_status)" success
	awf-verify -q "$(id)"
}

# One line, from awf-run, that holds these words.
one_line() {
	[ "${#stderr_lines[@]}" -eq 1 ] && [[ ${stderr_lines[0]} == "awf-run: "*$1* ]] && return
	echo "have: $stderr" >&2
	return 1
}

@test "same run, same file, next attempt; what completed is not done again" {
	flow 'echo x | awf-step --effects external first -- ledger first | awf-step second -- ledger second | awf-step third -r -- hold'
	die -n ./flow.awf
	count=$(wc -l <"$(record)")
	head -n "$count" "$(record)" >before
	run -0 --separate-stderr resume
	same "$output" "done done x"
	same "$stderr" ""
	same "$(entries first) $(entries second)" "1 1"
	same "$(head -n "$count" "$(record)" | cmp - before)" ""
	same "$(attempts)" "1 2"
	same "$(ends first 'has("result")' | paste -sd' ')" "true false"
	same "$(ends first .reused_from | tail -n 1)" \
		"$(jq -c 'select(.type == "step.completed" and .payload.call == "first:0:0").event_id' before)"
	sound
}

@test "success is final" {
	flow 'awf-step -n --effects external a -- ledger a'
	awf-run -n --id-file run.id ./flow.awf >out1
	cp "$(record)" before
	run -0 --separate-stderr resume
	one_line success
	run -0 resume --redo a
	cmp before "$(record)"
	same "$(entries a)" 1
}

@test "a living run is not resumed" {
	flow 'awf-step -n a -- hold'
	: >held
	awf-run -n --id-file run.id ./flow.awf >out1 3>&- &
	eventually test -e ready
	cp "$(record)" before
	run ! --separate-stderr resume
	[ "$status" -eq 125 ] || [ "$status" -eq 4 ]
	one_line "$(id)"
	cmp before "$(record)"
	rm held
	wait $!
	same "$(attempts)" 1
}

@test "of two resumes at once the second has nothing to do" {
	flow 'awf-step -n a -- hold'
	die -n ./flow.awf
	: >held
	awf-run --resume "$(id)" </dev/null >out2 3>&- &
	eventually test -e ready
	run -0 --separate-stderr resume
	one_line "$(id): resumed already"
	rm held
	wait $!
	same "$(attempts)" "1 2"
	sound
}

@test "ten resumes at once: one does it" {
	flow 'awf-step -n --effects external a -- ledger a; awf-step -n b -- hold; awf-step -n --effects external c -- ledger c'
	die -n ./flow.awf
	for n in $(seq 10); do
		{ awf-run --resume "$(id)" </dev/null >"out.$n" 2>"err.$n" 3>&-; echo $? >"status.$n"; } &
	done
	wait
	# Those that came when it was done say so.
	same "$(cat status.* | grep -vc '^0$\|^125$\|^4$')" 0
	grep -qx 0 status.*
	same "$(entries a) $(entries c)" "1 1"
	same "$(attempts)" "1 2"
	sound
}

@test "a resumed run that dies is resumed again" {
	flow 'awf-step -n --effects external a -q -- ledger a; awf-step -n b -q -- hold; awf-step -n --effects external c -r -- ledger c'
	die -n ./flow.awf
	for _ in 1 2 3; do die_again; done
	run -0 --separate-stderr resume
	same "$output" "done "
	same "$(entries a) $(entries c)" "1 1"
	same "$(attempts)" "1 2 3 4 5"
	sound
}

@test "cut off, redone and cut off again: asked each time" {
	flow 'awf-step -n --effects external a -- sh -c "ledger a; hold"'
	die -n ./flow.awf
	run -75 resume
	die_again --redo a
	same "$(entries a)" 2
	run -75 --separate-stderr resume
	[[ $stderr == *'say --redo a:0:0@2 or --skip a:0:0@2'* ]]
	same "$(attempts)" "1 2"
	# What was said about the first of them is said again, from the history of a shell: it is not about this one.
	run -75 resume --skip a:0:0
	run -0 resume --skip a:0:0@2
	same "$(entries a)" 2
	same "$(ends a .skipped | tail -n 1)" '"by_user"'
	sound
}

@test "nothing runs before every question is answered" {
	flow 'awf-step -n --effects read a -- ledger a' \
		'awf-step -n --effects external b -- sh -c "ledger b; hold" & awf-step -n --effects workspace c -- sh -c "ledger c; hold" & wait'
	: >held
	awf-run -n --id-file run.id ./flow.awf >out1 3>&- &
	eventually test -e b.ledger
	eventually test -e c.ledger
	kill -9 $!
	wait $! || true
	eventually deserted
	rm -f held
	cp "$(record)" before
	for answer in '' '--redo b' '--skip c:0:0' '--skip a'; do
		# shellcheck disable=SC2086
		run -75 --separate-stderr resume $answer
		same "$output" ""
		same "$(entries a) $(entries b) $(entries c)" "1 1 1"
		cmp before "$(record)"
	done
	run -0 resume --redo b --skip c
	same "$(entries a) $(entries b) $(entries c)" "1 2 1"
	sound
}

@test "idempotent, reading and undeclared commands just run again" {
	for effects in --effects=none --effects=read --effects=external,idempotent --effects=workspace,idempotent --kind=command; do
		rm -f a.ledger
		flow "awf-step -n $effects a -r -- sh -c 'ledger a; hold'"
		die -n ./flow.awf
		run -0 --separate-stderr resume
		same "$effects: $(entries a)" "$effects: 2"
		sound
	done
}

@test "the one that completed is not the one that was cut off, though they are the same" {
	cat >bin/twice <<-'END'
		#!/bin/sh
		ledger a
		[ "$(wc -l <a.ledger)" -lt 2 ] || hold
	END
	chmod +x bin/twice
	flow 'for n in 1 2 3; do echo same | awf-step --effects external a -- twice; done'
	die -n ./flow.awf
	same "$(entries a)" 2
	run -75 --separate-stderr resume
	[[ $stderr == *a:1:0* ]]
	[[ $stderr != *a:0:0* ]]
	run -0 resume --redo a:1:0
	same "$(entries a)" 4
	same "$(cut -d' ' -f1 a.ledger | paste -sd' ')" "a:0:0 a:1:0 a:1:0 a:2:0"
	sound
}

@test "a loop of the shell that makes the same call ten times" {
	cat >bin/tick <<-'END'
		#!/bin/sh
		ledger a
		[ "$(wc -l <a.ledger)" -ne 6 ] || hold
	END
	chmod +x bin/tick
	flow 'i=0; while [ $i -lt 10 ]; do awf-step -n --effects external tick -r -- tick; i=$((i + 1)); done'
	die -n ./flow.awf
	same "$(entries a)" 6
	run -75 --separate-stderr resume
	[[ $stderr == *tick:5:0* ]]
	run -0 --separate-stderr resume --skip tick:5:0
	same "$(cut -d' ' -f1 a.ledger | paste -sd' ')" \
		"tick:0:0 tick:1:0 tick:2:0 tick:3:0 tick:4:0 tick:5:0 tick:6:0 tick:7:0 tick:8:0 tick:9:0"
	same "$(grep -c '^done' <<<"$output")" 9
	sound
}

@test "items in flight at once: each for itself" {
	cat >bin/odd <<-'END'
		#!/bin/sh
		item=$(cat)
		echo "$item" | ledger a >/dev/null
		[ $((item % 2)) -eq 0 ] || hold
		echo "out $item"
	END
	chmod +x bin/odd
	flow 'awf-step -i lines -j 4 --effects external a -r -- odd'
	printf '%s\n' 0 2 3 4 5 6 7 9 8 >items
	: >held
	awf-run --id-file run.id ./flow.awf <items >out1 3>&- &
	eventually grep -q 9 a.ledger
	eventually sh -c 'test "$(grep -c step.completed "$AWF_STORAGE"/transcripts/*.jsonl)" -eq 4'
	kill -9 $!
	wait $! || true
	eventually deserted
	rm -f held
	run -75 --separate-stderr resume
	for item in 2 4 6 7; do [[ $stderr == *a:0:$item* ]]; done
	for item in 0 1 3 5 8; do [[ $stderr != *a:0:$item* ]]; done
	run -0 --separate-stderr resume --redo a:0:2 --redo a:0:7 --skip a:0:4 --skip a:0:6
	same "$output" "$(printf '%s\n' 'out 0' 'out 2' 'out 3' 'out 4' 5 'out 6' 7 'out 9' 'out 8')"
	same "$(cut -d' ' -f2 a.ledger | sort | paste -sd' ')" "0 2 3 3 4 5 6 7 8 9 9"
	sound
}

@test "steps inside of a command that was cut off" {
	flow 'awf-step -n outer -r -- ./inner'
	cat >inner <<-'END'
		#!/bin/sh
		echo 1 | awf-step --effects external in -r -- ledger in
		awf-step -n middle -q -- hold
		echo 2 | awf-step --effects external in -r -- ledger in
	END
	chmod +x inner
	die -n ./flow.awf
	same "$(entries in)" 1
	run -0 --separate-stderr resume
	same "$output" "$(printf 'done 1\ndone 2')"
	same "$(cat in.ledger)" "$(printf 'outer:0:0/in:0:0 1\nouter:0:0/in:1:0 2')"
	sound
}

@test "an outer command with effects that was cut off is asked about, redone, and finds its inner calls" {
	flow 'awf-step -n --effects workspace outer -r -- ./inner'
	cat >inner <<-'END'
		#!/bin/sh
		echo 1 | awf-step --effects external in -r -- ledger in
		awf-step -n middle -q -- hold
	END
	chmod +x inner
	die -n ./flow.awf
	run -75 --separate-stderr resume
	[[ $stderr == *outer:0:0* ]]
	run -0 --separate-stderr resume --redo outer
	same "$output" "done 1"
	same "$(entries in)" 1
	sound
}

@test "large results, and bytes that are no text, come back as they were" {
	head -c 700000 /dev/urandom >bytes
	head -c 400000 /dev/zero | tr '\0' 'x' >text
	flow 'awf-step -n --effects external big -- sh -c "ledger a >/dev/null; cat bytes" >kept1' \
		'awf-step -n --effects external text -- sh -c "ledger a >/dev/null; cat text" >kept2' \
		'awf-step -n wait -q -- hold' \
		'awf-step out1 -r -- cat <kept1 >out.bytes; awf-step out2 -r -- cat <kept2 >out.text'
	die -n ./flow.awf
	run -0 --separate-stderr resume
	cmp bytes out.bytes
	cmp <(cat text) <(tr -d '\n' <out.text)
	same "$(entries a)" 2
	sound
}

@test "several results of one call, and one without a final line feed" {
	flow 'awf-step -n -O lines --effects external many -- sh -c "ledger a >/dev/null; printf \"1\n\n3\"" >kept' \
		'awf-step -n wait -q -- hold' 'awf-step -j 2 count -r -- od -An -c <kept'
	die -n ./flow.awf
	cp kept kept1
	run -0 --separate-stderr resume
	expected=$(printf '1\n\n3' | awf-step -i lines x -r -- od -An -c)
	same "$output" "$expected"
	same "$(jq -c '[.data, .metadata.no_newline]' kept)" "$(jq -c '[.data, .metadata.no_newline]' kept1)"
	same "$(entries a)" 1
	sound
}

@test "a --try that failed stands, though it would succeed now" {
	flow 'if awf-step -n --try check -q -- sh -c "ledger check; test -e fine"; then echo yes; else echo no; fi' \
		'awf-step -n wait -q -- hold'
	die -n ./flow.awf
	: >fine
	run -0 --separate-stderr resume
	same "$output" no
	same "$(entries check)" 1
	sound
}

@test "the outcome of --when stands, though it would be another now" {
	flow 'for n in 1 2; do echo $n | awf-step --when "cat >/dev/null; ledger when </dev/null >/dev/null; test -e fine" --effects external a -r -- ledger a; : >fine; done' \
		'awf-step -n wait -q -- hold'
	die -n ./flow.awf
	same "$(entries when) $(cat a.ledger)" "2 a:1:0 2"
	: >fine
	run -0 --separate-stderr resume
	same "$output" "$(printf '1\ndone 2')"
	same "$(entries when) $(cat a.ledger)" "2 a:1:0 2"
	sound
}

@test "a failed call runs again, and what it failed no longer counts" {
	flow 'awf-step -n a -r -- sh -c "ledger a; test -e fine"'
	run -3 awf-run -n --id-file run.id ./flow.awf
	: >fine
	run -0 --separate-stderr resume
	same "$output" "done "
	same "$(entries a)" 2
	sound
}

@test "a rescue stands with the failure that it caught" {
	flow 'awf-step -n --effects external a -- sh -c "ledger a; exit 1" | awf-step --rescue b -r -- ledger b' \
		'awf-step -n wait -q -- hold'
	die -n ./flow.awf
	same "$(entries a) $(entries b)" "1 1"
	run -0 --separate-stderr resume
	same "$output" "done "
	same "$(entries b)" 1
	sound
}

@test "what has effects and was cut off by its time limit is asked about, and not tried again" {
	flow 'awf-step -n --effects external --timeout 300ms --retries 3 --delay 10ms a -- sh -c "ledger a; hold"'
	: >held
	run -3 awf-run -n --id-file run.id ./flow.awf
	rm held
	same "$(entries a)" 1
	run -75 --separate-stderr resume
	[[ $stderr == *a:0:0* ]]
	run -0 resume --redo a
	same "$(entries a)" 2
	sound
}

@test "a plain failure of something with effects runs again without a question" {
	flow 'awf-step -n --effects external a -r -- sh -c "ledger a; test -e fine"'
	run -3 awf-run -n --id-file run.id ./flow.awf
	: >fine
	run -0 --separate-stderr resume
	same "$(entries a)" 2
	sound
}

@test "a changed command with effects stops with what changed, one without runs" {
	flow 'echo x | awf-step --effects external a -r -- ledger a; awf-step -n wait -q -- hold'
	die -n ./flow.awf
	flow 'echo x | awf-step --effects external a -r -- ledger other; awf-step -n wait -q -- hold'
	run -75 --separate-stderr resume
	[[ $stderr == *"ledger other"*"ledger a"* ]]
	[ ! -e other.ledger ]
	run -0 resume --skip a
	[ ! -e other.ledger ]
	sound
	flow 'echo x | awf-step a -r -- ledger b; awf-step -n wait -q -- hold'
	die -n ./flow.awf
	flow 'echo x | awf-step a -r -- ledger c; awf-step -n wait -q -- hold'
	run -0 --separate-stderr resume
	same "$(entries b) $(entries c)" "1 1"
}

@test "stdin that was cut in the middle goes on where it was" {
	flow 'awf-step -i lines --effects external a -r -- ./third'
	printf '#!/bin/sh\nitem=$(cat); echo "$item" | ledger a; [ "$item" != 3 ] || hold\n' >third
	chmod +x third
	mkfifo pipe
	: >held
	awf-run --id-file run.id ./flow.awf <pipe >out1 3>&- &
	exec 9>pipe
	printf '1\n2\n3\n' >&9
	eventually test -e ready
	kill -9 $!
	wait $! || true
	eventually deserted
	exec 9>&-
	rm -f held ready
	[ -e "$AWF_STORAGE/inputs/$(id).part" ]
	# Its own stdin must begin with the same bytes.
	printf '1\n2\nX\n4\n' >other
	run ! --separate-stderr awf-run --resume "$(id)" --redo a <other
	same "$(grep -c X a.ledger)" 0
	printf '1\n2\n3\n4\n5\n' >all
	run -0 --separate-stderr awf-run --resume "$(id)" --redo a <all
	same "$output" "$(printf 'done %s\n' 1 2 3 4 5)"
	same "$(cut -d' ' -f2 a.ledger | paste -sd' ')" "1 2 3 3 4 5"
	same "$(cat "$AWF_STORAGE/inputs/$(id)")" "$(cat all)"
	sound
}

@test "stdin that was read to its end is not asked for again" {
	flow 'awf-step -i lines a -r -- ledger a; awf-step -n wait -q -- hold'
	printf '1\n2\n' >items
	die ./flow.awf <items
	run -0 --separate-stderr resume
	same "$output" "$(printf 'done %s\n' 1 2)"
	same "$(entries a)" 2
	sound
}

@test "a torn last line is put aside, and the call it was of is known" {
	flow 'awf-step -n --effects external a -- ledger a; awf-step -n wait -q -- hold'
	die -n ./flow.awf
	whole=$(wc -c <"$(record)")
	cp "$(record)" before
	for torn in '{"seq":9999,"timest' '{' '\0\0\0\0' '{"seq":5,"x":"\0\0\0\0\0'; do
		truncate -s "$whole" "$(record)"
		# shellcheck disable=SC2059
		printf "$torn" >>"$(record)"
		rm -f "$AWF_STORAGE/transcripts/"*.torn
		die_again
		cmp -n "$whole" "$(record)" before
		# shellcheck disable=SC2059
		cmp <(printf "$torn") "$AWF_STORAGE/transcripts/$(id).torn"
		awf-verify -q "$(id)"
	done
	same "$(entries a)" 1
	resume
	sound
}

@test "damage before the end is reported, and nothing is touched" {
	flow 'awf-step -n --effects external a -- ledger a; awf-step -n wait -q -- hold'
	die -n ./flow.awf
	sed -i '2s/"name":"a"/"name":"b"/' "$(record)"
	cp "$(record)" before
	run ! --separate-stderr resume
	[[ $stderr == *"$(id)"* ]]
	cmp before "$(record)"
	same "$(entries a)" 1
}

@test "the machine has been down: nothing is left of the run but its record" {
	flow 'awf-step -n --effects external a -- ledger a; awf-step -n --effects external wait -q -- hold'
	for state in gone stale emptied; do
		rm -f a.ledger
		die -n ./flow.awf
		case $state in
		gone) rm -rf "$AWF_STORAGE/runs/$(id)" ;;
		stale) mkdir -p "$AWF_STORAGE/runs/$(id)/roster"; echo '1 1' >"$AWF_STORAGE/runs/$(id)/lock" ;;
		emptied) find "$AWF_STORAGE/runs/$(id)" -type f -exec truncate -s 0 {} + ;;
		esac
		run -75 --separate-stderr resume
		[[ $stderr == *wait:0:0* ]]
		run -0 --separate-stderr resume --redo wait
		same "$state: $(entries a)" "$state: 1"
		sound
		same "$(ls "$AWF_STORAGE/runs")" ""
	done
}

@test "a death while the run became the latest one" {
	flow 'awf-step -n a -q -- hold'
	die -n ./flow.awf
	ln -s nowhere "$AWF_STORAGE/.latest.$(id)"
	rm "$AWF_STORAGE/latest"
	run -0 --separate-stderr resume
	same "$stderr" ""
	same "$(transcript)" "$(record)"
	same "$(find "$AWF_STORAGE" -name '.latest*')" ""
}

@test "a survivor of the dead attempt is named, and resume refuses" {
	flow 'awf-step -n a -- hold'
	die -n ./flow.awf
	env AWF_RUN_ID="$(id)" setsid sleep 1000 3>&- &
	survivor=$!
	eventually grep -qs "AWF_RUN_ID=$(id)" "/proc/$survivor/environ"
	cp "$(record)" before
	run ! --separate-stderr resume
	[ "$status" -eq 125 ] || [ "$status" -eq 4 ]
	[[ $stderr == *"$survivor"* ]]
	cmp before "$(record)"
	kill "$survivor"
	wait "$survivor" || true
	run -0 resume
	sound
}

@test "a process of another run, or the caller's own, is no survivor" {
	flow 'awf-step -n a -- hold'
	die -n ./flow.awf
	env AWF_RUN_ID=3b241101-e2bb-4255-8caf-4136c566a962 sleep 1000 3>&- &
	run -0 resume
	kill $!
	sound
}

@test "--no-transcript cannot be resumed" {
	flow 'awf-step -n a -- hold'
	die -n --no-transcript ./flow.awf
	run ! --separate-stderr resume
	[ "$status" -ne 75 ]
	[ "${#stderr_lines[@]}" -eq 1 ]
}

@test "a masked run cannot be resumed" {
	flow 'awf-step -n a -- hold'
	die -n --mask 'sed -u s/secret/xxx/g' ./flow.awf
	cp "$(record)" before
	run ! --separate-stderr resume
	[ "$status" -ne 75 ]
	one_line mask
	cmp before "$(record)"
}

@test "wrong usage" {
	flow 'awf-step -n a -- hold'
	die -n ./flow.awf
	while IFS='|' read -r arguments; do
		eval "run -125 --separate-stderr awf-run $arguments" </dev/null
		[ "${#stderr_lines[@]}" -eq 1 ]
		same "$output" ""
		[[ ${stderr_lines[0]} == awf-run:* ]]
	done <<-END
		--resume
		--resume 00000000-0000-4000-8000-000000000000
		--resume nosuchrun
		--redo a true
		--skip a true
		--resume $(id) --redo
		--resume $(id) --redo a --skip a
		--resume $(id) --redo 'a b'
		--resume $(id) --redo a:0
	END
	same "$(attempts)" 1
}

@test "what is done is not done again by an answer that it does not need" {
	flow 'awf-step -n --effects external a -- ledger a; awf-step -n wait -q -- hold'
	die -n ./flow.awf
	die_again --redo a
	same "$(entries a)" 1
	same "$(attempts)" "1 2"
}

@test "a step in a run of its own" {
	: >held
	awf-step -n --effects external a -- sh -c 'ledger a; hold' >out1 3>&- &
	eventually test -e ready
	kill -9 $!
	wait $! || true
	basename "$(readlink "$AWF_STORAGE/latest")" .jsonl >run.id
	# Nobody ends what it ran, so that is a survivor.
	run -125 --separate-stderr resume
	rm -f held
	eventually deserted
	run --separate-stderr resume
	echo "$stderr" >&2
	same "$(entries a)" 1
	same "$status" 75
}

@test "the directory and the arguments are those of the first start" {
	mkdir there elsewhere
	export LEDGERS="$PWD/there"
	flow 'awf-step -n wait -q -- hold' 'pwd; printf "%s|" "$@"; echo "$AWF_INPUT_k"'
	(cd there && die -n --input k=v ../flow.awf 'a b' c)
	mv there/run.id .
	run -0 --separate-stderr env -C elsewhere awf-run --resume "$(id)" </dev/null
	same "$output" "$(printf '%s\na b|c|v' "$PWD/there")"
	sound
}

@test "a pipeline on the command line is resumed too" {
	die -n -c 'awf-step -n --effects external a -r -- ledger a; awf-step -n wait -q -- hold; echo "$1"' arg
	run -0 --separate-stderr resume
	same "$output" "$(printf 'done \narg')"
	same "$(entries a)" 1
	sound
}

@test "the latest run is resumed by @, and by a prefix of its id" {
	flow 'awf-step -n wait -r -- hold'
	for name in @ @flow.awf prefix file; do
		die -n ./flow.awf
		case $name in
		prefix) name=$(id | cut -c1-8) ;;
		file) name=$(record) ;;
		esac
		run -0 --separate-stderr awf-run --resume "$name" </dev/null
		same "$(attempts)" "1 2"
		sound
	done
}

@test "a workflow that is gone or changed" {
	flow 'awf-step -n --effects external a -- ledger a; awf-step -n wait -q -- hold'
	die -n ./flow.awf
	mv flow.awf aside
	run ! --separate-stderr resume
	[[ $stderr == *flow.awf* ]]
	mv aside flow.awf
	run -0 resume
	same "$(entries a)" 1
}

@test "an operation whose tool ended by a signal or its time limit is asked about" {
	mkdir tools
	while IFS='|' read -r members text code; do
		rm -f ./*.ledger
		echo "{$members}" >tools/op.tool.json
		printf '#!/bin/sh\nledger op\n[ -e fine ] || %s\n' "$text" >tools/op
		chmod +x tools/op
		rm -f fine
		run -3 awf-run -n --id-file run.id -c "echo '{}' | awf-step -i json -t op a -q"
		: >fine
		run -"$code" --separate-stderr resume
		same "$members $text: $(entries op)" "$members $text: $((code == 0 ? 2 : 1))"
		[ "$code" -eq 0 ] || [[ $stderr == *a:0:0* ]]
		[ "$code" -eq 0 ] || run -0 resume --redo a:0:0
		same "$(entries op)" 2
	done <<-'END'
		"effects":"external"|kill -9 $$|75
		"effects":"external","timeout":"1s"|sleep 5|75
		"effects":"external"|exit 1|0
		"effects":"external","idempotent":true|kill -9 $$|0
		"effects":"read"|kill -9 $$|0
		"title":"undeclared"|kill -9 $$|75
	END
}

@test "what was ended because nobody read its output any more is asked about" {
	flow 'awf-step -n --effects external a -- sh -c "trap \"exit 0\" TERM; ledger a; hold" | sh -c "until [ -e a.ledger ]; do sleep 0.02; done; test -e fine && cat >out"'
	: >held
	run ! awf-run -n --id-file run.id ./flow.awf
	rm held
	: >fine
	same "$(ends a .error.code)" '"downstream_closed"'
	run -75 --separate-stderr resume
	[[ $stderr == *a:0:0* ]]
	same "$(entries a)" 1
	run -0 resume --skip a
	same "$(entries a)" 1
	sound
}

@test "what failed in a child run that its parent went on from is not made again" {
	local effect='awf-step -n --effects external e -q -- sh -c \"echo x >>ledger; exit 7\"' last='awf-step -n last -q -- test -e go' flow
	for flow in \
		"awf-run --try -c \"$effect\"; $last" \
		"awf-run --try -c \"awf-step -n p -q -- echo printed; $effect\"; $last" \
		"awf-run --try -c \"awf-run -c '$effect'\"; $last" \
		"awf-step -n --allow-failure --each g -q -- awf-run -c \"$effect\"; $last" \
		"awf-step -n --each g -- awf-run -c \"$effect\" | awf-step --rescue r -q -- cat; $last"; do
		rm -f go
		: >ledger
		run -3 awf-run -n -c "$flow"
		run -3 awf-run --resume @
		touch go
		run -0 awf-run --resume @
		same "$(cat ledger)" x
	done
	# One that nobody caught is tried anew.
	rm -f go
	run -3 awf-run -n -c "awf-run -c \"$effect\"; $last"
	run -3 awf-run --resume @
	same "$(tr '\n' ' ' <ledger)" 'x x x '
	# Somebody may say so of the others too.
	run -3 awf-run -n -c "awf-run --try -c \"$effect\"; $last"
	call=$(payloads step.call_workflow.started .call)
	touch go
	run -0 awf-run --resume @ --redo "${call//\"/}/e:0:0"
	same "$(wc -l <ledger)" 5
}

# A group with an effect in it, one behind it, and an end that fails until there is ./ok.
effects_in_a_group() {
	cat >flow.sh <<-END
		printf 'a\\nb\\n' | awf-step -i lines --each g -- sh -c 'awf-step send --effects external -- sh -c "cat; echo send >>log" | awf-step chk -- $1' |
			awf-step ${2-} --effects external pub -- sh -c 'cat >/dev/null; echo pub >>log' | awf-step -s last -r -- sh -c 'test -e ok && cat'
	END
	rm -f ok okc log
	run -3 awf-run -n ./flow.sh
}

@test "a fork leaves out a call in a group that a resume has taken over" {
	effects_in_a_group cat
	touch ok
	run -0 awf-run --resume @
	ran=$(basename "$(transcript)" .jsonl)
	rm log
	run -0 awf-run --fork "$ran" --at g.send
	same "$(sort log | uniq -c | tr -s ' \n' ' ')" ' 2 pub 2 send '
	rm log
	run -0 awf-run --fork "$ran" --at g:0:1/send:0:0
	same "$(sort log | uniq -c | tr -s ' \n' ' ')" ' 1 pub 1 send '
	# Once more, of an attempt that has only taken over.
	rm log
	run -0 awf-run --fork @ --at g.chk
	same "$(sort log | uniq -c | tr -s ' \n' ' ')" ' 2 pub '
	# What a fork has made again is not made once more, be it resumed or forked.
	rm log ok
	run -3 awf-run --fork "$ran" --at g.send
	same "$(sort log | uniq -c | tr -s ' \n' ' ')" ' 2 pub 2 send '
	run -3 awf-run --resume @
	touch ok
	run -0 awf-run --fork @ --at last
	run -0 awf-run --fork @ --at last
	same "$(sort log | uniq -c | tr -s ' \n' ' ')" ' 2 pub 2 send '
	run -0 awf-run --fork @ --at g:0:0/send:0:0
	same "$(sort log | uniq -c | tr -s ' \n' ' ')" ' 3 pub 3 send '
}

@test "--redo makes a failure again that was caught, in its group, and what failed in a group that it names" {
	local redo made
	while read -r redo made; do
		effects_in_a_group 'sh -c "echo chk >>log; test -e okc && cat"' --rescue
		rm log
		touch ok okc
		# shellcheck disable=SC2086
		run -0 awf-run --resume @ ${redo//,/ --redo }
		same "$(sort log | uniq -c | tr -s ' \n' ' ')" " $made "
	done <<-'END'
		,g:0:1/chk:0:0 1 chk
		,g.chk 2 chk
		,g:0:0 1 chk
		,g,g.chk 2 chk
	END
}

@test "while a best-effort group waits, what failed in its branches is not made again" {
	: >log
	run -75 awf-run -n -c 'echo a | awf-step --parallel --strategy best-effort g -- "awf-step --approve ap" \
		"awf-step --effects external e -- sh -c \"echo x >>log; exit 1\"" |
		jq -c "select(.metadata.error | not)" | awf-step -s --allow-empty z -r -- cat'
	run -75 awf-run --resume @
	call=$(payloads step.started 'select(.name == "ap").call' | head -n 1 | tr -d '"')
	run -0 --separate-stderr go_on_after approve "$call" @
	same "$output" '["a"]'
	same "$(cat log)" x
}

@test "what a killed step cut off in a child run is no result of the branch that the child is in" {
	local kill branch
	for kill in 'sh -c "test -e ok || kill -9 \$\$; exec cat"' \
		'awf-step b -- sh -c "test -e ok || kill -9 \$PPID; cat"'; do
		printf 'awf-step -n a -- echo x | %s\n' "$kill" >child.sh
		for branch in 'awf-run ./child.sh | awf-step m -- cat' 'awf-run ./child.sh | cat' \
			'awf-run -c "awf-run ./child.sh" | awf-step m -- cat'; do
			rm -f ok
			run ! awf-run -n -c "awf-step -n --parallel --strategy best-effort g -- '$branch' 'awf-step -n d -- echo d' | jq -c 'select(.metadata.error | not)' | awf-step -r -s z -- jq -c length"
			touch ok
			run -0 --separate-stderr awf-run --resume @
			same "$output" 2
		done
	done
}
