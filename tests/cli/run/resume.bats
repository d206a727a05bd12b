#!/usr/bin/env bats
# bats file_tags=turn:2
# awf-run(1), "Resuming": what a user sees. Deaths at random are in tests/fault.
# shellcheck shell=bash disable=SC2016,SC2154 # bats sets stderr
bats_require_minimum_version 1.5.0
load ../../support/helpers

# die [FILE]: kills awf-run, as soon as there is the FILE, if there is one called dying,
# which is used up, and waits to be killed. effect NAME: enters its input into NAME.ledger, prints it.
prepare() {
	mkdir bin
	cat >bin/die <<-'END'
		#!/bin/sh
		rm "$WORK/dying" 2>/dev/null || { cat; exit; }
		until [ -z "$1" ] || [ -s "$WORK/$1" ]; do sleep 0.01; done
		read -r pid _ <"$AWF_STORAGE/runs/$AWF_RUN_ID/lock"
		kill -9 "$pid"
		sleep 60
	END
	cat >bin/effect <<-'END'
		#!/bin/sh
		tee -a "$WORK/$1.ledger"
	END
	chmod +x bin/*
	export PATH="$PWD/bin:$PATH" WORK="$PWD"
}

flow() { printf '%s\n' '#!/bin/sh' "$@" >flow.awf; chmod +x flow.awf; }

# Runs it until it dies.
dies() {
	touch dying
	run -137 awf-run --id-file id "$@"
	run_id=$(cat id)
	record="$AWF_STORAGE/transcripts/$run_id.jsonl"
}

payloads() { jq -c "select(.type == \"$1\").payload | $2" "$record"; }

# The only line on stderr; the last one.
says() { same "$stderr" "awf-run: $1"; }
ends_saying() { [[ $stderr == *"awf-run: $1"$'\n'*--resume* ]] || same "${stderr_lines[-1]}" "awf-run: $1"; }

# Nothing of the attempt that was refused is left.
untouched() {
	cmp before "$record"
	same "$(ls "$AWF_STORAGE/runs")" ""
}

# bats test_tags=turn:4
@test "a resume reads its record once, and at its end the new attempt alone" {
	[ -r /proc/self/io ] || skip "the kernel does not count what is read"
	awk 'BEGIN { for (i = 0; i < 600; i++) printf "%d%08000d\n", i, 0 }' >lines
	flow '[ -e done ] || awf-step -i lines big -- cat <lines >/dev/null' '[ -e done ]'
	run -1 awf-run --id-file id ./flow.awf </dev/null
	touch done
	record="$AWF_STORAGE/transcripts/$(cat id).jsonl"
	size=$(stat -c %s "$record")
	[ "$size" -gt 8000000 ]
	# shellcheck disable=SC2016 # the inner shell's: what it and its children have read
	run -0 --separate-stderr sh -c 'awf-run --resume "$(cat id)" </dev/null; cat /proc/$$/io'
	bytes=$(awk '$1 == "rchar:" { print $2 }' <<<"$output")
	# What the programs are made of is read, too: far less than the record once more.
	echo "$bytes read: record $size"
	[ "$bytes" -gt "$size" ]
	[ "$bytes" -lt $((size + size / 2)) ]
}

@test "a run that died goes on where it was: same id, same file, next attempt" {
	flow 'echo x | awf-step --effects external mail -- effect mail | awf-step last -r -- die'
	dies ./flow.awf </dev/null
	count=$(wc -l <"$record")
	cp "$record" before
	run -0 --separate-stderr awf-run --resume "$run_id" </dev/null
	same "$output" x
	same "$stderr" ""
	same "$(cat mail.ledger)" x
	cmp before <(head -n "$count" "$record")
	same "$(payloads run.started .attempt | paste -sd' ')" "1 2"
	same "$(payloads run.completed .status)" '"success"'
	same "$(payloads step.started 'select(.attempt == 2) | [.call, .claims]' | head -n 1)" \
		"$(jq -c 'select(.seq == 2) | [.payload.call, .event_id]' before)"
	same "$(payloads step.completed 'select(.reused_from) | has("result")')" false
	awf-verify -q "$run_id"
	same "$(ls "$AWF_STORAGE/runs")" ""
	same "$(basename "$(transcript)" .jsonl)" "$run_id"
	same "$(jq -c "[.type, .attempt]" "$AWF_STORAGE/audit.jsonl" | paste -sd' ')" \
		'["run.started",1] ["run.started",2] ["run.completed",2]'
}

@test "an effect that was cut off is asked about, all of them at once, and nothing runs" {
	flow 'awf-step -n --effects external mail -- sh -c "effect mail; die post.ledger" & echo 1 | awf-step post -- effect post; wait'
	dies ./flow.awf </dev/null
	cp "$record" before
	since=$(jq -r 'select(.type == "step.started" and .payload.name == "mail").timestamp' before | cut -c1-19)
	run -75 --separate-stderr awf-run --resume "$run_id" </dev/null
	says "mail:0:0: sh -c effect mail; die post.ledger, begun ${since}Z (cut off), may or may not have happened: say --redo mail:0:0 or --skip mail:0:0"
	same "$output" ""
	untouched
	same "$(cat post.ledger)" 1
}

@test "--redo does it again, --skip passes the input on; neither is asked about again" {
	flow 'echo x | awf-step --effects external mail -- sh -c "effect mail; die" | awf-step next -r -- cat; awf-step -n last -q -- test -e fine'
	for answer in '--redo mail|2' '--redo mail:0:0|2' '--skip mail|1' '--skip mail:0:0|1'; do
		rm -f mail.ledger fine
		dies ./flow.awf </dev/null
		# shellcheck disable=SC2086
		run -3 --separate-stderr awf-run --resume "$run_id" ${answer%|*} </dev/null
		same "$output" x
		touch fine
		run -0 --separate-stderr awf-run --resume "$run_id" </dev/null
		same "$output" x
		same "$(wc -l <mail.ledger)" "${answer#*|}"
		awf-verify -q "$run_id"
	done
	# The first attempt may have come to tell of its end, before it was killed too.
	same "$(payloads step.completed 'select(.call == "mail:0:0" and .skipped).skipped' | paste -sd' ')" \
		'"by_user" "by_user"'
}

@test "what has changed something, and is another now, waits and says what is another" {
	flow 'echo x | awf-step --effects external mail -- effect mail; awf-step -n last -q -- die'
	dies ./flow.awf </dev/null
	flow 'echo y | awf-step --effects external mail -r -- effect mail'
	run -75 --separate-stderr awf-run --resume "$run_id" </dev/null
	[[ $stderr == *"mail:0:0: its input is '\"y\"', the recorded one '\"x\"'"*"--redo mail:0:0 or --skip mail:0:0"* ]]
	flow 'echo x | awf-step --effects external mail -r -- effect post'
	run -75 --separate-stderr awf-run --resume "$run_id" </dev/null
	[[ $stderr == *"mail:0:0: its definition is 'effect post', the recorded one 'effect mail'"* ]]
	same "$(cat mail.ledger)" x
	[ ! -e post.ledger ]
	same "$(payloads run.completed .status | paste -sd' ')" '"waiting" "waiting"'
	run -0 awf-run --resume "$run_id" --redo mail </dev/null
	same "$output" x
	same "$(cat post.ledger)" x
	awf-verify -q "$run_id"
}

@test "a step that changed something is not made again though a call around it is another now" {
	flow 'cat in | awf-step outer -- sh -c "echo x | awf-step -q --effects external mail -- effect mail; die"'
	echo one >in
	dies ./flow.awf </dev/null
	echo two >in
	run -0 awf-run --resume "$run_id" </dev/null
	same "$(cat mail.ledger)" x
}

@test "an effect that was ended because nobody read on is asked about" {
	flow 'echo x | awf-step --effects external mail -- sh -c "trap \"exit 1\" TERM; effect mail; sleep 5 & wait" |
		sh -c "while [ ! -s mail.ledger ]; do sleep 0.01; done"; exit 1'
	run -1 awf-run --id-file id ./flow.awf </dev/null
	run -75 --separate-stderr awf-run --resume "$(cat id)" </dev/null
	[[ $stderr == *"mail:0:0"*"(downstream_closed), may or may not have happened"* ]]
	same "$(cat mail.ledger)" x
}

@test "a tool that a signal ended is not tried again, and asked about" {
	mkdir tools
	echo '{"description":"m","input_schema":{"type":"object"},"effects":"external"}' >tools/mail.tool.json
	printf '%s\n' '#!/bin/sh' 'effect mail' '[ -e fine ] || kill -9 $$' >tools/mail
	chmod +x tools/mail
	flow 'echo "{}" | awf-step -i json -t mail --retries 2 --delay 1ms --retry-on exit_status -q m'
	run -3 awf-run --id-file id ./flow.awf </dev/null
	same "$(cat mail.ledger)" "{}"
	touch fine
	run -75 --separate-stderr awf-run --resume "$(cat id)" </dev/null
	[[ $stderr == "awf-run: m:0:0: mail {}, begun "*" (ended by a signal), may or may not have happened"* ]]
	run -0 awf-run --resume "$(cat id)" --redo m </dev/null
	same "$(cat mail.ledger)" "$(printf '{}\n{}')"
	awf-verify -q "$(cat id)"
}

@test "success is final" {
	run -0 awf-run --id-file id -c 'awf-step -n a -q -- true' </dev/null
	run -0 --separate-stderr awf-run --resume @ --redo a </dev/null
	says "$(cat id): ended with success: there is nothing to go on with"
}

@test "failed, cancelled and timed out runs are resumed" {
	flow 'awf-step -n a -q -- sh -c "test -e fine || eval \$WAY"'
	while IFS='|' read -r code ended way; do
		rm -f fine
		run -"$code" env WAY="$way" awf-run --timeout 1s --id-file id ./flow.awf </dev/null
		same "$(jq -r 'select(.type == "run.completed").payload.status' "$(transcript)")" "$ended"
		touch fine
		run -0 --separate-stderr awf-run --resume "$(cat id)" </dev/null
		same "$stderr" ""
	done <<-'END'
		3|failed|exit 1
		143|cancelled|read -r p _ <$AWF_STORAGE/runs/$AWF_RUN_ID/lock; kill $p; sleep 9
		124|timeout|sleep 9
	END
}

@test "arguments, directory and inputs are those of the first start" {
	mkdir there
	flow 'awf-step -n wait -q -- die; pwd; printf "%s|" "$0" "$@" "$AWF_INPUT_k" "$PWD"'
	touch dying
	run -137 env -C there awf-run --input 'k=a=b' --id-file ../id ../flow.awf 'a b' '' </dev/null
	run -0 --separate-stderr awf-run --resume "$(cat id)" --id-file again </dev/null
	same "$output" "$(printf '%s\n../flow.awf|a b||a=b|%s|' "$PWD/there" "$PWD/there")"
	cmp id again
}

@test "a workflow that is gone, or whose directory is" {
	mkdir there
	flow 'awf-step -n wait -q -- die'
	mv flow.awf there
	touch dying
	run -137 env -C there awf-run --id-file ../id ./flow.awf </dev/null
	record="$AWF_STORAGE/transcripts/$(cat id).jsonl"
	rm -rf "$AWF_STORAGE/runs/$(cat id)"
	cp "$record" before
	mv there/flow.awf .
	run -125 --separate-stderr awf-run --resume "$(cat id)" </dev/null
	says "$PWD/there: the script of its command line does not exist any more: /bin/sh ./flow.awf; it is recorded, and brought back by: awf-replay --show $PWD/there/flow.awf $(head -c 8 id) >$PWD/there/flow.awf"
	untouched
	# What it says to do does it.
	sh -c "${stderr##*brought back by: }"
	cmp flow.awf there/flow.awf
	rm there/flow.awf
	rmdir there
	run -125 --separate-stderr awf-run --resume "$(cat id)" </dev/null
	says "$PWD/there: unable to start there again: No such file or directory; if the workspace is elsewhere now: --workspace DIRECTORY"
	untouched
}

@test "another interpreter in the script's first line, and a pipeline" {
	flow 'awf-step -n wait -q -- die; echo "$1"'
	dies ./flow.awf x </dev/null
	printf '#!/usr/bin/env bash\nawf-step -n wait -q -- die; echo "${BASH:+bash} $1"\n' >flow.awf
	run -0 --separate-stderr awf-run --resume "$run_id" </dev/null
	same "$output" "bash x"
	[[ $stderr == *"-#!/bin/sh"*"+#!/usr/bin/env bash"* ]]
	dies -c 'awf-step -n wait -q -- die; echo "$0 $1"' x </dev/null
	run -0 awf-run --resume "$run_id" </dev/null
	same "$output" "pipeline x"
	cat >bin/program <<-'END'
		#!/bin/sh
		awf-step -n wait -q -- die; echo "program $1"
	END
	chmod +x bin/program
	dies program x </dev/null
	run -0 awf-run --resume "$run_id" </dev/null
	same "$output" "program x"
}

@test "stdin: what was kept, whole" {
	flow 'awf-step -i lines a -r -- effect a; awf-step -n wait -q -- die'
	printf '1\n2\n' >items
	for source in file pipe; do
		if [ $source = file ]; then dies ./flow.awf <items; else dies ./flow.awf < <(cat items); fi
		[ -e "$AWF_STORAGE/inputs/$run_id" ]
		run -0 --separate-stderr awf-run --resume "$run_id" </dev/null
		same "$output" "$(printf '1\n2')"
		same "$(payloads run.completed .stdin.sha256)" "\"$(sha256sum items | cut -d' ' -f1)\""
	done
	same "$(paste -sd' ' a.ledger)" "1 2 1 2"
}

# A run that has read the lines 1 and 2 of its stdin, which goes on.
dies_in_stdin() {
	flow 'awf-step -i lines a -r -- sh -c "cat >item; effect a <item; test \$(cat item) != 2 || die"'
	mkfifo pipe
	touch dying
	awf-run --id-file id ./flow.awf <pipe >out 2>err 3>&- &
	exec 9>pipe
	printf '1\n2\n' >&9
	wait $! || true
	exec 9>&-
	rm pipe
	run_id=$(cat id)
	record="$AWF_STORAGE/transcripts/$run_id.jsonl"
	same "$(cat "$AWF_STORAGE/inputs/$run_id.part")" "$(printf '1\n2')"
	cp "$record" before
}

@test "stdin: the part that was kept, then the same again" {
	for source in file pipe; do
		rm -f a.ledger
		dies_in_stdin
		printf '%s\n' 1 2 3 >all
		if [ $source = file ]; then
			run -0 --separate-stderr awf-run --resume "$run_id" <all
		else
			run -0 --separate-stderr awf-run --resume "$run_id" < <(cat all)
		fi
		same "$output" "$(cat all)"
		same "$(paste -sd' ' a.ledger)" "1 2 2 3"
		cmp all "$AWF_STORAGE/inputs/$run_id"
		same "$(payloads run.completed .stdin.bytes)" 6
	done
}

@test "stdin: another one is refused; from a file before anything runs" {
	dies_in_stdin
	run -125 --separate-stderr awf-run --resume "$run_id" < <(printf '1\n3\n4\n')
	ends_saying "stdin: is not what earlier attempts have read: of the 4 bytes that begin at byte 0 at least one differs"
	run -125 --separate-stderr awf-run --resume "$run_id" < <(printf '1\n')
	ends_saying "stdin: ended after 2 bytes, but earlier attempts have read 4: give it again from its beginning"
	awf-verify -q "$run_id"
	dies_in_stdin
	printf '1\n3\n' >items
	run -125 --separate-stderr awf-run --resume "$run_id" <items
	ends_saying "stdin: is not what earlier attempts have read: of the 4 bytes that begin at byte 0 at least one differs"
	untouched
	printf '1\n' >items
	run -125 --separate-stderr awf-run --resume "$run_id" <items
	ends_saying "stdin: ended after 2 bytes, but earlier attempts have read 4: give it again from its beginning"
	untouched
}

@test "stdin: a device has nothing to say again; -n says that there is no more" {
	dies_in_stdin
	run -125 --separate-stderr awf-run --resume "$run_id" </dev/null
	ends_saying "stdin: ended after 0 bytes, but earlier attempts have read 4: give it again from its beginning"
	run -0 --separate-stderr awf-run --resume "$run_id" -n
	same "$output" "$(printf '1\n2')"
	[ -e "$AWF_STORAGE/inputs/$run_id" ]
}

@test "stdin: a run that was started without has none later either, nor has a fork of it" {
	flow 'cat; awf-step -n last -q -- die'
	dies -n ./flow.awf
	run -0 awf-run --resume "$run_id" <<<other
	same "$output" ""
	run -0 awf-run --fork "$run_id" --at last <<<other
	same "$output" ""
}

@test "a run that lives, and one that is being resumed" {
	flow 'awf-step -n a -q -- sh -c "touch ready; while [ -e held ]; do sleep 0.02; done"; awf-step -n b -q -- die'
	touch held
	awf-run --id-file id ./flow.awf </dev/null 3>&- &
	eventually test -e ready
	run -125 --separate-stderr awf-run --resume "$(cat id)" </dev/null
	says "$(cat id): the run is alive"
	run -125 --separate-stderr awf-run --fork "$(cat id)" --at a </dev/null
	says "$(cat id): the run is alive"
	touch dying
	rm held ready
	wait $! || true
	touch held
	flow 'touch ready; while [ -e held ]; do sleep 0.02; done'
	awf-run --resume "$(cat id)" </dev/null 3>&- &
	eventually test -e ready
	run -0 --separate-stderr awf-run --resume "$(cat id)" </dev/null
	same "$stderr" "awf-run: $(cat id): resumed already"
	run -125 --separate-stderr awf-run --resume "$(cat id)" --redo a </dev/null
	says "$(cat id): the run is alive"
	rm held
	wait $!
}

@test "a process that outlived the attempt is named" {
	flow 'awf-step -n a -q -- die'
	dies ./flow.awf </dev/null
	cp "$record" before
	rm -rf "$AWF_STORAGE/runs/$run_id"
	AWF_RUN_ID=$run_id sleep 60 3>&- &
	eventually grep -qs "AWF_RUN_ID=$run_id" "/proc/$!/environ"
	run -125 --separate-stderr awf-run --resume "$run_id" </dev/null
	says "$run_id: process $! of its last attempt still lives (sleep 60): end it first"
	untouched
	AWF_RUN_ID=$run_id sleep 61 3>&- &
	run -125 --separate-stderr awf-run --resume "$run_id" </dev/null
	[[ $stderr == *", and others, of its last attempt still lives ("* ]]
	kill %1 %2
	run -0 awf-run --resume "$run_id" </dev/null
}

@test "a torn line is put aside with a word; damage is refused" {
	flow 'awf-step -n a -q -- die'
	dies ./flow.awf </dev/null
	printf '{"seq":99' >>"$record"
	run -0 --separate-stderr awf-run --resume "$run_id" </dev/null
	says "$record: moved 9 bytes of a torn line to ${record%.jsonl}.torn"
	same "$(cat "${record%.jsonl}.torn")" '{"seq":99'
	flow 'awf-step -n a -q -- true; awf-step -n b -q -- die'
	dies ./flow.awf </dev/null
	rm -rf "$AWF_STORAGE/runs/$run_id"
	sed -i '2s/"name":"a"/"name":"b"/' "$record"
	cp "$record" before
	run -125 --separate-stderr awf-run --resume "$run_id" </dev/null
	says "$record:3: prev is not the digest of line 2: that line or this one was changed (prev); see awf-verify"
	untouched
}

@test "a record whose first line is damaged is refused once, and nothing of it is moved" {
	flow 'awf-step -n a -q -- die'
	dies ./flow.awf </dev/null
	rm -rf "$AWF_STORAGE/runs/$run_id"
	cp "$record" whole
	for damage in 'sed "1s/flow/f\x01ow/" whole' 'head -n 1 whole | sed "1s/flow/f\x01ow/"; printf "{\"seq\":2"' \
		'head -c 900 whole; head -c 512 /dev/zero; echo' 'head -c 900 whole' ':'; do
		eval "$damage" >"$record"
		cp "$record" before
		for command in "awf-run --resume $run_id" "awf-ctl cancel $run_id"; do
			rc=0
			# shellcheck disable=SC2086
			timeout 20 $command </dev/null >out 2>err || rc=$?
			[ $rc -ne 124 ] && [ $rc -ne 0 ] || { echo "$damage: $command: $rc $(head -c 500 err)"; false; }
			same "$damage: $command: $(wc -l <err)" "$damage: $command: 1"
			[ "${command#awf-run}" = "$command" ] || { same $rc 125 && grep -q "^awf-run: $record.*\(awf-verify\|does not say how the run was started\)" err || { echo "$damage: $(cat err)"; false; }; }
			cmp "$record" before
			[ ! -e "${record%.jsonl}.torn" ]
		done
	done
}

@test "what is no record of how a run was started" {
	flow 'awf-step -n a -q -- die'
	dies ./flow.awf </dev/null
	rm -rf "$AWF_STORAGE/runs/$run_id"
	sed -i 's/"argv":\[[^]]*\]/"argv":[]/' "$record"
	run -125 --separate-stderr awf-run --resume "$run_id" </dev/null
	says "$record: does not say how the run was started"
	: >"$record"
	run -125 --separate-stderr awf-run --resume "$run_id" </dev/null
	says "$record: does not say how the run was started"
	cp "$ROOT/tests/fixtures/brief.events" file.jsonl
	run -125 --separate-stderr awf-run --resume ./file.jsonl </dev/null
	says "./file.jsonl: is not a transcript of the storage $AWF_STORAGE"
}

@test "masked runs and runs without a transcript are not resumed" {
	flow 'awf-step -n a -q -- die'
	dies --mask cat ./flow.awf </dev/null
	rm -rf "$AWF_STORAGE/runs/$run_id"
	for option in --resume "--at a --fork"; do
		# shellcheck disable=SC2086
		run -125 --separate-stderr awf-run $option "$run_id" </dev/null
		says "$run_id: was masked (--mask), so that it cannot be gone on from"
	done
	dies --no-transcript ./flow.awf </dev/null
	run -125 --separate-stderr awf-run --resume "$run_id" </dev/null
	says "$run_id: keeps no transcript (--no-transcript), so that it cannot be gone on from"
}

@test "--continue: the latest run of the name, if it died" {
	flow 'echo x | awf-step --effects external mail -q -- effect mail; awf-step -n wait -q -- die; echo "$1"'
	run -0 awf-run --continue ./flow.awf 1 </dev/null
	same "$output" 1
	same "$(wc -l <mail.ledger)" 1
	dies ./flow.awf 2 </dev/null
	same "$(wc -l <mail.ledger)" 2
	run -0 --separate-stderr awf-run --continue ./flow.awf 3 </dev/null
	same "$output" 2
	same "$stderr" ""
	same "$(wc -l <mail.ledger)" 2
	run -0 awf-run --continue ./flow.awf 3 </dev/null
	same "$output" 3
	same "$(wc -l <mail.ledger)" 3
	dies --name other ./flow.awf 4 </dev/null
	run -0 awf-run --continue ./flow.awf 5 </dev/null
	same "$output" 5
	run -0 awf-run --continue --name other ./flow.awf 6 </dev/null
	same "$output" 4
}

@test "a snapshot of the workspace stays that of the run" {
	flow 'awf-step -n a -q -- die'
	mkdir there
	dies --snapshot --workspace there ./flow.awf </dev/null
	run -0 awf-run --resume "$run_id" </dev/null
	same "$(payloads run.started '[.attempt, .snapshot, .workspace]' | paste -sd' ')" \
		"[1,true,\"$PWD/there\"] [2,true,\"$PWD/there\"]"
}

@test "wrong usage" {
	run -1 awf-run --id-file id -c 'awf-step -n a -q -- false || true; false' </dev/null
	id=$(cat id)
	while IFS='|' read -r arguments message; do
		eval "run -125 --separate-stderr awf-run $arguments" </dev/null
		same "$output" ""
		says "$message"
	done <<-END
		--resume $id true|--resume: not with a workflow: the run has its own
		--resume $id -c true|--resume: not with a workflow: the run has its own
		--resume $id --input a=b|--resume: not with --input: the run has its own
		--resume $id --name a|--resume: not with --name: the run has its own
		--resume $id --shell /bin/sh|--resume: not with --shell: the run has its own
		--resume $id --continue|--resume: not with --continue
		--resume $id --fork $id --at a|--resume: not with --fork
		--resume $id --snapshot|--snapshot: not with --resume: what was done before is not in the workspace
		--resume $id --no-transcript|--resume: not with --no-transcript or a mask (--mask, AWF_MASK): it goes by the record
		--resume $id --mask cat|--resume: not with --no-transcript or a mask (--mask, AWF_MASK): it goes by the record
		--continue --mask cat true|--continue: not with --no-transcript or a mask (--mask, AWF_MASK): it goes by the record
		--fork $id --no-transcript --at a|--fork: not with --no-transcript or a mask (--mask, AWF_MASK): it goes by the record
		--fork $id --continue --at a true|--fork: not with --continue
		--at a true|--at: only with --fork
		--redo a true|--redo: only with --resume, --continue or --fork
		--skip a true|--skip: only with --resume, --continue or --fork
		--continue|--continue: say the workflow whose latest run is meant
		--resume nosuch|nosuch: no such file, and no run whose id begins so in $AWF_STORAGE (awf-tail --list shows what there is; @NAME is the latest of a name)
		--resume $id --redo nosuch|--redo: no recorded call is, or is of, 'nosuch'
		--resume $id --skip a:0|--skip: no recorded call is, or is of, 'a:0' (did you mean 'a:0:0'?)
		--resume $id --skip a --redo a:0:0|--skip: a:0:0 is named by --redo too
		--fork $id --at nosuch|--at: no recorded call is, or is of, 'nosuch'
	END
	run -125 --separate-stderr env AWF_MASK=cat awf-run --resume "$id" </dev/null
	says "--resume: not with --no-transcript or a mask (--mask, AWF_MASK): it goes by the record"
	same "$(jq -c 'select(.type == "run.started").payload.attempt' "$AWF_STORAGE/transcripts/$id.jsonl")" 1
}

@test "an owner that was killed while it removed its directory" {
	flow 'awf-step -n a -q -- die'
	dies ./flow.awf </dev/null
	mkdir -p "$AWF_STORAGE/runs/$run_id.gone/roster"
	touch "$AWF_STORAGE/runs/$run_id.gone/lock"
	run -0 awf-run --resume "$run_id" </dev/null
	same "$(ls "$AWF_STORAGE/runs")" ""
}

@test "a condition that was cut off has not answered: it is asked again" {
	flow 'echo x | awf-step --when "test -e mended || kill -9 \$\$" a -- effect a | awf-step b -r -- cat'
	run -3 --separate-stderr awf-run --id-file id ./flow.awf
	run_id=$(cat id) record="$AWF_STORAGE/transcripts/$(cat id).jsonl"
	same "$(payloads step.started .condition.outcome | head -n 1)" null
	awf-verify
	awf-verify --determinism
	: >mended
	same "$(awf-run --resume @)" x
	same "$(cat a.ledger)" x
	awf-verify
}

@test "so has --until: no round is made because of it" {
	flow 'echo x | awf-step --until "test -e mended || kill -9 \$\$" l -- effect l | awf-step b -r -- cat'
	run -3 awf-run --id-file id ./flow.awf
	: >mended
	same "$(awf-run --resume @)" x
	same "$(grep -c . l.ledger)" 2
	awf-verify
}

@test "stdin: zeros that a power cut has left at the end of what was kept are read again" {
	flow 'head -c 4; [ -e go ] || die; cat' 'awf-step -n last -q -- true'
	dies ./flow.awf < <(printf abcdefgh)
	part="$AWF_STORAGE/inputs/$run_id.part"
	[ -e "$part" ] || mv "$AWF_STORAGE/inputs/$run_id" "$part"
	printf 'abcd\0\0\0\0\0\0' >"$part"
	touch go
	run -0 --separate-stderr awf-run --resume "$run_id" < <(printf abcdefgh)
	same "$output" abcdefgh
}

@test "a step whose definition is wrong is in the record" {
	printf '%s\n' --- 'provider: foo' --- >x.md
	flow 'awf-step -n -p hi -a x.md a; awf-step -n b -q -- true; exit 2'
	run -2 awf-run --id-file id ./flow.awf
	record="$AWF_STORAGE/transcripts/$(cat id).jsonl"
	same "$(payloads step.completed 'select(.call == "a:0:0").error.code')" '"definition"'
	[[ $(payloads step.completed 'select(.call == "a:0:0").error.message') == *"unknown provider 'foo'"* ]]
	[[ $(payloads run.completed .error.message) == *"unknown provider 'foo'"* ]]
	awf-verify "$(cat id)"
	printf '%s\n' '---' 'provider: openai' 'model: m' '---' >x.md
	sed -i 's/-n -p hi -a x.md a;/-n a -r -- echo fine;/; s/exit 2//' flow.awf
	run -0 --separate-stderr awf-run --resume "$(cat id)" </dev/null
	same "$output" fine
}

@test "-o FILE: a step that is killed leaves nothing beside it" {
	flow 'echo x | awf-step -o out a -- sh -c "kill -9 \$PPID"'
	run awf-run ./flow.awf </dev/null
	same "$(echo out*)" "out*"
}

@test "a relative HOME is no place for runs" {
	run -125 --separate-stderr env -u AWF_STORAGE -u XDG_DATA_HOME HOME=here awf-run true
	[[ $stderr == *"HOME: not an absolute path, which would name another place in each directory"* ]]
	[ ! -e here ]
}

@test "a body of which a try takes over an effect is not tried again" {
	flow 'echo x | awf-step --retries 1 --delay 1ms --each g -- sh -c "
		awf-step --each in -- awf-step --effects external send -- effect send |
		awf-step u -- sh -c \"die && [ -e ok ]\"" | awf-step fin -r -- cat'
	dies ./flow.awf
	run -3 --separate-stderr awf-run --resume "$run_id"
	[[ $stderr == *"not tried again, as g:0:0/in:0:0/send:0:0 has changed something"* ]]
	touch ok
	run -0 awf-run --resume "$run_id"
	same "$(cat send.ledger)" x
	# What is to be done as often as it takes is.
	rm ok id send.ledger
	flow "$(sed 's/external/external,idempotent/; s/\[ -e ok \]/{ [ -e ok ] || { touch ok; false; }; }/' flow.awf)"
	dies ./flow.awf
	run -0 awf-run --resume "$run_id"
}

@test "of the tries of a body the last is gone on with" {
	flow 'echo x | awf-step --retries 1 --delay 1ms --each g -- sh -c "
		awf-step --each in -- sh -c \"[ -e tried ] || { touch tried; exit 1; }
			awf-step --effects external send -- effect send\" |
		awf-step u -- sh -c \"[ -e ok ] && cat\"" | awf-step fin -r -- cat'
	run -3 awf-run --id-file id ./flow.awf </dev/null
	same "$(cat send.ledger)" x
	touch ok
	run -0 --separate-stderr awf-run --resume "$(cat id)"
	same "$output" x
	same "$(cat send.ledger)" x
}

@test "a failure that was caught or allowed stands: its effect is not repeated" {
	local pay='awf-step --effects external pay -- sh -c "effect pay; exit 3"' body entries
	local again='--rescue again -- sh -c "cat >/dev/null; exit 4"' refund='--rescue --effects external refund -- effect refund'
	while IFS='|' read -r entries body; do
		rm -f ok ./*.ledger
		flow "echo x | ${body//PIPE/|} | awf-step later -r -- sh -c 'cat; test -e ok'"
		run -3 awf-run --id-file id ./flow.awf </dev/null
		run -3 awf-run --resume "$(cat id)"
		touch ok
		run -0 awf-run --resume "$(cat id)"
		same "$(cat ./*.ledger | tr '\n' ' ')" "$entries "
		awf-verify -q "$(cat id)"
	done <<-END
		x x|$pay PIPE awf-step $refund
		x|${pay/pay/--allow-failure pay}
		x x|$pay PIPE awf-step $again PIPE awf-step $refund
		x x|awf-step --each g -- sh -c '$pay' PIPE awf-step $refund
		x x|awf-step --each g -- sh -c 'cat >item; awf-step up -- cat <item; cat item | $pay' PIPE awf-step $refund
		x|awf-step --each --allow-failure g -- sh -c '$pay'
	END
}

@test "a group that was tried, and failed after it had printed a line, stands" {
	flow 'echo x | awf-step --each --try g -- sh -c "awf-step up -- effect up; exit 3"' 'echo "$?" >>status' \
		'awf-step -n later -- test -e ok || exit'
	run -3 awf-run --id-file id ./flow.awf </dev/null
	touch ok
	run -0 awf-run --resume "$(cat id)"
	same "$(cat status)" $'3\n3'
	same "$(cat up.ledger)" x
	record="$AWF_STORAGE/transcripts/$(cat id).jsonl"
	same "$(payloads step.completed 'select(.call == "g:0:0") | .count')" $'1\n1'
	awf-replay -q "$(cat id)" </dev/null
}

@test "a failure that was caught is made anew with --redo, and one whose rescue failed without" {
	flow 'echo x | awf-step --effects external pay -- sh -c "effect pay; test -e paid" | awf-step --rescue refund -- sh -c "test -e refunded && cat" | awf-step later -r -- sh -c "cat; test -e ok"'
	run -3 awf-run --id-file id ./flow.awf </dev/null
	touch refunded
	run -3 awf-run --resume "$(cat id)"
	same "$(cat pay.ledger)" $'x\nx'
	touch ok
	cp -r "$AWF_STORAGE" kept
	run -0 awf-run --resume "$(cat id)"
	same "$(cat pay.ledger)" $'x\nx'
	rm -r "$AWF_STORAGE"
	mv kept "$AWF_STORAGE"
	touch paid
	run -0 awf-run --resume "$(cat id)" --redo pay
	same "$(cat pay.ledger)" $'x\nx\nx'
	same "$output" x
}

@test "an effect of unknown end is asked about, though it was caught" {
	flow 'echo x | awf-step --effects external pay -- sh -c "effect pay; kill -9 \$\$" | awf-step --rescue refund -- cat | awf-step later -r -- false'
	run -3 awf-run --id-file id ./flow.awf </dev/null
	run -75 --separate-stderr awf-run --resume "$(cat id)"
	[[ $stderr == *pay:0:0* ]]
	run -3 awf-run --resume "$(cat id)" --redo pay
	same "$(cat pay.ledger)" $'x\nx'
	run -75 awf-run --resume "$(cat id)"
}

@test "a rescue that was cut off goes on with the failure that it was given" {
	flow 'echo x | awf-step --effects external pay -- sh -c "effect pay; exit 3" | awf-step --rescue refund -r -- die'
	dies ./flow.awf </dev/null
	run -0 --separate-stderr awf-run --resume "$run_id"
	same "$output" x
	same "$(cat pay.ledger)" x
}

@test "what was ended by others is made anew, though its failure was to be let pass" {
	for mode in --allow-failure --try; do
		rm -f ok made out id begun
		flow "echo x | awf-step $mode -r d -- sh -c '
			trap \"exit 1\" TERM; echo made >>made; [ -e ok ] || { sleep 5 & wait; }; cat' |
			sh -c '[ -e ok ] || { until [ -s made ]; do sleep 0.01; done; exit 1; }; cat >out'; [ -e ok ]"
		run -1 awf-run --id-file id ./flow.awf </dev/null
		touch ok
		run -0 awf-run --resume "$(cat id)" </dev/null
		same "$(cat out)" x
		rm ok
		flow "echo y | awf-step $mode -r d -- sh -c '[ -e ok ] || { touch begun; sleep 60; }; cat'"
		awf-run --id-file id ./flow.awf </dev/null 3>&- &
		eventually [ -e begun ]
		kill $!
		wait $! || true
		touch ok
		run -0 --separate-stderr awf-run --resume "$(cat id)" </dev/null
		same "$output" y
	done
}

@test "what a body fails with because its run ends is none of the work: nothing is lost" {
	local ends failure
	# The mark that a run is being ended, and the death of all who keep it.
	printf '%s\n' '#!/bin/sh' 'mkdir "$AWF_STORAGE/runs/$AWF_RUN_ID/ending"' \
		'touch "$AWF_STORAGE/runs/$AWF_RUN_ID/ending/run"' >bin/marked
	printf '%s\n' '#!/bin/sh' 'read -r pid _ <"$AWF_STORAGE/runs/$AWF_RUN_ID/lock"' \
		'kill -9 "$pid" $(pgrep -P "$pid")' 'until ! kill -0 "$pid"; do sleep 0.01; done' >bin/killed
	chmod +x bin/*
	for ends in marked killed; do
		for failure in '-s all -r -- jq -c .' '--rescue r -- sed s,^,rescued-, | awf-step -s all -r -- jq -c .'; do
			rm -f begun id
			flow "printf '1\n2\n' | awf-step -i lines --each $([ "${failure:0:2}" = -s ] && echo --allow-failure) W -- sh -c '
				[ -e begun ] || { touch begun; $ends; }; awf-step x -- cat' | awf-step $failure"
			run awf-run --id-file id ./flow.awf </dev/null
			# What is left of it ends meanwhile.
			eventually awf-run --resume "$(cat id)" </dev/null >out
			same "$(cat out)" '["1","2"]'
		done
	done
}

@test "a branch that failed, which nobody caught, is made again" {
	flow 'echo hi | awf-step --parallel --strategy best-effort C -- "awf-step a -- sh -c \"effect a; [ -e ok ]\"" "awf-step b -- effect b" |
		awf-step -s join -r -- jq -c .'
	run -3 awf-run --id-file id ./flow.awf </dev/null
	touch ok
	run -0 --separate-stderr awf-run --resume "$(cat id)" </dev/null
	same "$output" '["hi","hi"]'
	same "$(wc -l <a.ledger) $(wc -l <b.ledger)" '2 1'
	# What was caught stands.
	rm ok *.ledger
	flow 'echo hi | awf-step --parallel --strategy best-effort C -- "awf-step a -- sh -c \"effect a; [ -e ok ]\"" "awf-step b -- effect b" |
		awf-step --rescue r -- sed s,^,r-, | awf-step -s join -r -- sh -c "[ -e ok ] && jq -c ."'
	run -3 awf-run --id-file id ./flow.awf </dev/null
	touch ok
	run -0 --separate-stderr awf-run --resume "$(cat id)" </dev/null
	same "$output" '["r-hi","hi"]'
	same "$(wc -l <a.ledger) $(wc -l <b.ledger)" '1 1'
}

# bats test_tags=turn:2
@test "a best-effort group that did not fail stands, with what its branches failed with" {
	cat >bin/group <<-'END'
		#!/bin/sh
		exec awf-step --parallel --strategy best-effort g -- 'awf-step a -- effect a' \
			'awf-step b --effects external -- sh -c "effect b; exit 3"' "$@"
	END
	printf '#!/bin/sh\nexec jq -c "select(.metadata.error | not)"\n' >bin/good
	printf '#!/bin/sh\nexec jq -c "select(.metadata.error)"\n' >bin/bad
	printf '#!/bin/sh\n[ -e ok ] && exec cat\n' >bin/fixed
	printf '#!/bin/sh\nawf-step in -- cat\n' >child.awf
	chmod +x bin/* child.awf
	# A workflow, and how often a and b have had their effects after a resume.
	while IFS='|' read -r calls workflow; do
		rm -f ok ./*.ledger
		flow "echo hi | $workflow"
		run -3 awf-run --id-file id ./flow.awf </dev/null
		touch ok
		run awf-run --resume "$(cat id)" </dev/null
		same "$workflow: $(wc -l <a.ledger) $(wc -l <b.ledger)" "$workflow: $calls"
	done <<-'END'
		1 1|group | good | awf-step z -- fixed
		1 1|awf-step --each o -- sh -c 'group | good | awf-step z -- fixed'
		1 1|awf-step --allow-failure --each o -- sh -c 'group | bad' | awf-step z -- fixed
		1 1|awf-step --allow-failure --each o -- group | awf-step z -- fixed
		1 2|awf-step --each o -- group
		1 2|group | awf-step x -- cat | awf-step -s join -- cat
		1 2|group | awf-run ./child.awf
	END
	# One that everything was killed in, after the branch had failed, is no other.
	rm -f ok ./*.ledger
	cat >bin/after <<-'END'
		#!/bin/sh
		until grep -q "\"step.completed\".*\"call\":\"$1\"" "$AWF_STORAGE/transcripts/$AWF_RUN_ID.jsonl"; do
			sleep 0.01
		done
	END
	chmod +x bin/after
	flow 'echo hi | group "after g:0:0/g:0:1; die" | jq -c "[.data, .metadata.error.code]"'
	dies ./flow.awf </dev/null
	eventually awf-run --resume "$(cat id)" </dev/null >out
	same "$(cat out)" $'["hi",null]\n["hi","exit_status"]\n["hi",null]'
	same "$(wc -l <a.ledger) $(wc -l <b.ledger)" '1 1'
	awf-verify "$AWF_STORAGE"
}

# bats test_tags=turn:2
@test "what failed or waited in a call that went on from that by itself is made again" {
	while IFS='|' read -r made body; do
		rm -f ok ./*.ledger
		flow "echo hi | awf-step $body"
		run -3 awf-run --id-file id ./flow.awf </dev/null
		run -3 awf-run --resume "$(cat id)" </dev/null
		touch ok
		run -0 --separate-stderr awf-run --resume "$(cat id)" </dev/null
		[[ $output == *done* ]]
		same "$body: $(wc -l <good.ledger) $(wc -l <bad.ledger)" "$body: $made"
	done <<-'END'
		1 3|--each g -- sh -c 'awf-step bad -q -- sh -c "effect bad; test -e ok"; echo x | awf-step good -q -- effect good; echo done'
		1 3|g -r -- sh -c 'awf-step bad -q -- sh -c "effect bad; test -e ok"; echo x | awf-step good -q -- effect good; echo done'
		1 3|--parallel --strategy best-effort g -- 'awf-run -c "effect bad >/dev/null; test -e ok"; echo x | awf-step good -q -- effect good; echo done'
		1 3|--parallel --strategy any g -- 'awf-step bad -q -- sh -c "effect bad; test -e ok"; echo x | awf-step good -q -- effect good; echo done'
	END
	# What is excused in it is excused: a race that was lost, a try that another followed.
	flow 'awf-step -n --parallel --strategy any g -r -- "awf-step -n slow -q -- sleep 9" "effect fast </dev/null; echo f >>fast.ledger; echo won"
		awf-step -n --each --retries 1 --delay 0s r -r -- sh -c "echo r >>tries.ledger; awf-step -n once -q -- mkdir made || { rmdir made; exit 1; }; echo tried"
		test -e ok'
	rm -rf ok made ./*.ledger
	mkdir made
	run -1 awf-run --id-file id ./flow.awf </dev/null
	touch ok
	run -0 awf-run --resume "$(cat id)" </dev/null
	same "$(wc -l <fast.ledger) $(wc -l <tries.ledger)" '1 2'
	# What has effects of its own is not run again.
	flow 'awf-step -n --effects external g -- sh -c "echo g >>g.ledger; awf-step -n bad -q -- false; true"'
	run -3 awf-run --id-file id ./flow.awf </dev/null
	awf-run --resume "$(cat id)" </dev/null
	same "$(cat g.ledger)" g
	# It waited.
	flow "echo x | awf-step --each g -r -- sh -c 'awf-step --approve ap | awf-step -q mail -- effect mail; echo done'"
	run -75 awf-run --id-file id ./flow.awf </dev/null
	run -0 --separate-stderr go_on_after approve g.ap "$(cat id)" </dev/null
	same "$output" 'done'
	same "$(cat mail.ledger)" x
}

@test "what an attempt has ended well is not made again for what failed in it before" {
	flow "echo hi | awf-step --each g -- sh -c 'echo g >>g.ledger; [ -e other ] || awf-step bad -q -- false; echo done' |
		awf-step last -q -- test -e ok"
	run -3 awf-run --id-file id ./flow.awf </dev/null
	touch other
	run -3 awf-run --resume "$(cat id)" </dev/null
	same "$(wc -l <g.ledger)" 2
	touch ok
	run -0 awf-run --resume "$(cat id)" </dev/null
	same "$(wc -l <g.ledger)" 2
}

@test "--skip of a rescue passes on what it was given, and the failure is made good" {
	flow 'cat | awf-step fetch -- false | awf-step --rescue --effects external mail -- sh -c "effect mail; die" |
		awf-step after -r -- tr a-z A-Z'
	touch dying
	run -137 awf-run --id-file id ./flow.awf <<<hi
	run -75 awf-run --resume "$(cat id)" </dev/null
	run -0 --separate-stderr awf-run --skip mail --resume "$(cat id)" </dev/null
	same "$output" HI
	same "$(cat mail.ledger)" hi
}

@test "questions tell the calls of a loop, and the items of a stream, apart" {
	flow 'for to in ann bob; do awf-step -n --effects external send -q -- sh -c "echo \"Subject: the weekly report is ready now\" >/dev/null; kill -9 \$PPID" - $to end; done' \
		'printf "%b\n" cyn "d\033an" | awf-step -i lines --effects external --allow-failure mail -q -- sh -c "kill -9 \$\$"' \
		'for text in eve fay; do echo $text | awf-step get -- cat | awf-step --effects external --allow-failure post -q -- sh -c "kill -9 \$\$"; done'
	run -3 awf-run --id-file id -n ./flow.awf
	run -75 --separate-stderr awf-run --resume "$(cat id)"
	same "$(sed -n 's/^awf-run: \(.*\), begun .*/\1/p' <<<"$stderr")" \
		'send:0:0: sh -c echo "Subject: th… -9 $PPID - ann end
send:1:0: sh -c echo "Subject: th… -9 $PPID - bob end
mail:0:0: sh -c kill -9 $$ ("cyn")
mail:0:1: sh -c kill -9 $$ ("d\u001ban")
post:0:0: sh -c kill -9 $$ ("eve")
post:1:0: sh -c kill -9 $$ ("fay")'
	# One alone is not cut in the middle.
	run -75 --separate-stderr awf-run --resume "$(cat id)" --skip send:0:0 --skip mail --skip post
	[[ $stderr == 'awf-run: send:1:0: sh -c echo "Subject: the weekly report is ready now" >/dev/null; kill -…, begun '* ]]
}

@test "a failure that --try let pass is made again where nothing was made after it and it failed what it is in" {
	# A branch; with set -e, at top level; a child run in a child run.
	local line
	for line in "awf-step -n -q --parallel g -- 'awf-step -n -q --try a -- sh -c \"echo a >>made; test -e open\"' true" \
		'awf-step -n -q --try a -- sh -c "echo a >>made; test -e open"; awf-step -n -q b -- true' \
		"awf-run -n -c 'set -e; awf-run -n --try -c \"awf-step -n -q a -- sh -c \\\"echo a >>made; test -e open\\\"\"'"; do
		rm -f open made
		printf '%s\n' 'set -e' "$line" >flow.awf
		run -3 awf-run -n --id-file id flow.awf
		: >open
		run -0 awf-run --resume "$(<id)"
		same "$(wc -l <made)" 2
	done
	# Where the workflow went on it stands: something was made after it.
	rm -f open made
	printf '%s\n' 'awf-step -n -q --try a -- sh -c "echo a >>made; test -e open" || awf-step -n -q b -- true' 'awf-step -n -q gate -- test -e open' >flow.awf
	run -3 awf-run -n --id-file id flow.awf
	: >open
	run -0 awf-run --resume "$(<id)"
	same "$(wc -l <made)" 1
}

@test "a failure that --try let pass does not stand for a call that is not tried any more" {
	printf '%s\n' 'awf-step -n -q --try a -- sh -c "echo a >>made; test -e open"' 'awf-run -n --try -c "awf-step -n -q b -- sh -c \"echo b >>made; test -e open\""' 'awf-step -n -q gate -- test -e open' >flow.awf
	run -3 awf-run -n --id-file id flow.awf
	sed -i 's/--try//' flow.awf
	: >open
	run -0 awf-run --resume "$(<id)"
	same "$(sort made | paste -sd' ')" "a a b b"
}

@test "a step of a resume is killed before it has begun: who gets no lines of it fails, and the next resume goes on" {
	mkdir shim
	# The first step of the workflow, as it is where KILLED is set: killed before it is anybody.
	printf '#!/bin/sh\n[ -z "$KILLED" ] || kill -9 $$\nexec awf-step "$@"\n' >shim/first-step
	chmod +x shim/first-step
	cat >flow.awf <<-'END'
		#!/usr/bin/env awf-run
		first-step -r -i lines first -- cat |
			awf-step -i lines ok --approve |
			awf-step -r use --effects external -- tee -a ledger
	END
	chmod +x flow.awf
	export PATH="$PWD/shim:$PATH" KILLED=
	run -75 awf-run --wait 0 ./flow.awf <<<$'a\nb'
	awf-ctl approve ok:0:0
	awf-ctl approve ok:0:1
	KILLED=yes run -3 --separate-stderr awf-run --resume @
	[[ $stderr == *'ok: stdin: no items, though there were some before this resume: did what writes them fail?'* ]]
	[ ! -e ledger ]
	run -0 awf-run --resume @
	same "$(cat ledger)" $'a\nb'
	awf-verify -q
	awf-verify --determinism --isolation copy
}

@test "a list that is empty in a resume alone is none, unless the step says that it may be" {
	lists() { awf-run --name "$1" -c "cat list | awf-step -i lines ${2-} use --effects external -- tee -a ledger; test -e ok"; }
	printf 'a\nb\n' >list
	run ! lists one
	: >list
	run ! --separate-stderr awf-run --resume @
	[[ $stderr == *'use: stdin: no items, though'* ]]
	same "$(jq -c 'select(.type == "step.completed" and .payload.error).payload.error.code' "$AWF_STORAGE/latest")" '"no_input"'
	awf-verify --determinism --isolation copy
	printf 'a\nb\n' >list
	touch ok
	run -0 awf-run --resume @
	same "$(cat ledger)" $'a\nb'
	rm ok
	run ! lists two --allow-empty
	: >list
	touch ok
	run -0 awf-run --resume @
	# One that was empty before may be empty again, and a fork has another list.
	rm ok
	run ! lists three
	touch ok
	run -0 awf-run --resume @
	printf 'c\n' >list
	run -0 lists four
	: >list
	run -0 awf-run --fork @ --at use
}
