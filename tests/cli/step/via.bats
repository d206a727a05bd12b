#!/usr/bin/env bats
# bats file_tags=turn:2
# awf-step --via: commands that a launcher runs elsewhere, with launchers that do it here, well or
# badly; each starts the real awf-exec.
bats_require_minimum_version 1.5.0
load ../../support/helpers

prepare() {
	export FAR="env -i PATH=$PATH ASAN_OPTIONS=${ASAN_OPTIONS-}"
}

# What a test that failed has stopped.
cleanup() { [ -z "${STOPPED-}" ] || kill -9 "$STOPPED" 2>/dev/null || :; }

# The members of the latest step.completed.
ended() { payloads step.completed "$1"; }
code() { ended '.error.code // "none"'; }
# NAME <<TEXT: a launcher of shell text, whose words are "$@".
launcher() { cat >"$1"; }
# No process of the command is left, wherever it is.
nothing_left() { ! pgrep -fx "$1" >/dev/null; }

@test "a command runs elsewhere: data in, result and stderr out, where and what it used" {
	run --separate-stderr awf-step --via "$FAR" -r count -- sh -c 'echo to stderr >&2; wc -w' <<<'one two'
	same "$status $output $stderr" "0 2 to stderr"
	same "$(payloads step.started .via)" "\"$FAR\""
	same "$(ended '[.result, .exit_code, .stderr, .far_end.host, (.far_end | keys)]')" \
		"[\"2\",0,\"to stderr\\n\",\"$(hostname)\",[\"host\",\"max_rss_kib\",\"system_ms\",\"user_ms\"]]"
	awf-verify -q
}

@test "bytes pass as they are, both ways, also many" {
	head -c 3000000 /dev/urandom >in
	awf-step --via "$FAR" -r a -- cat <in | cmp - in
	awf-step -n --via "$FAR" -r a -- printf 'a\0b\r\n' | cmp - <(printf 'a\0b\r\n')
	awf-step -n --via "$FAR" -O lines a -- seq 3 | jq -c .data | same "$(cat)" "$(printf '"1"\n"2"\n"3"')"
	# Words that are no UTF-8, and empty ones.
	awf-step -n --via "$FAR" -r a -- printf '%s|' $'\xff' '' "a'b" | cmp - <(printf '\xff||a'"'"'b|')
}

@test "how the command ends there is how the call ends" {
	run -3 --separate-stderr awf-step -n --via "$FAR" a -- sh -c 'echo part; exit 7'
	same "$stderr" "awf-step: a: sh: exit status 7"
	same "$(ended '[.error.code, .exit_code]')" '["exit_status",7]'
	run -3 --separate-stderr awf-step -n --via "$FAR" a -- sh -c 'kill -9 $$'
	same "$stderr" "awf-step: a: sh: killed by signal 9 (Killed)"
	same "$(ended .exit_code)" 137
	run -3 --separate-stderr awf-step -n --via "$FAR" a -- no-such-command
	same "$stderr" "awf-step: a: no-such-command: command not found"
	same "$(ended '[.error.code, .exit_code]')" '["exit_status",127]'
}

@test "what holds no pipe of a command that has ended is ended there, what holds one is waited for" {
	awf-step -n --via "$FAR" -r a -- sh -c 'sleep 3001 >/dev/null 2>&1 </dev/null & echo done'
	nothing_left 'sleep 3001'
	same "$(awf-step -n --via "$FAR" -r a -- sh -c '{ sleep 0.2; echo late; } & echo done')" "$(printf 'done\nlate')"
}

@test "the environment there is the launcher's, with language, time and what --env and --pass-key say" {
	export OTHER=x LC_TIME=C TZ=UTC FIRST=1 OPENAI_API_KEY=sk-0123456789
	unset LANG
	awf-step -n --via "$FAR" --env FIRST --env SECOND=2=3 --env MISSING --pass-key OPENAI_API_KEY -r a -- \
		env | grep -v -e ^PATH -e ^TRACEPARENT -e ^AWF_VIA -e ^ASAN_OPTIONS | sort >out
	same "$(cat out)" "$(printf '%s\n' FIRST=1 LC_TIME=C OPENAI_API_KEY=sk-0123456789 SECOND=2=3 TZ=UTC)"
	# A launcher that passes the environment, as srun does, passes nothing of the run.
	awf-step -n --via env -r a -- env >out
	same "$(grep -e ^AWF_ out)" "AWF_VIA=$(jq -r .run_id "$(transcript)" | head -n 1)/a:0:0"
	grep -q ^OTHER=x out
	run ! grep OPENAI_API_KEY out
}

@test "it works in the same directory, if there is one of that name" {
	same "$(awf-step -n --via "$FAR" -r a -- pwd)" "$PWD"
	same "$(awf-step -n --via "cd / && $FAR" -r a -- pwd)" "$PWD"
	mkdir gone
	(cd gone && rmdir ../gone && awf-step -n --via "cd / && $FAR" -r a -- pwd >../there)
	same "$(cat there)" /
}

@test "what is said before the hello is dropped, and told" {
	launcher banner <<-'END'
		echo 'Welcome to this machine'
		printf 'no line feed'
		exec "$@"
	END
	run --separate-stderr awf-step -n --via 'sh banner' -r a -- echo done
	same "$output" "done"
	same "$stderr" 'dropped 37 bytes that came before awf-exec answered: Welcome to this machine\nno line feed'
	same "$(ended .stderr | jq -r .)" "$stderr"
	launcher banner <<-'END'
		head -c 70000 /dev/zero
		exec "$@"
	END
	run -3 --separate-stderr awf-step -n --via 'sh banner' a -- touch ran
	same "$stderr" "awf-step: a: touch: the launcher has printed more than 64 KiB, and awf-exec has not answered"
	same "$(code)" '"cannot_launch"'
	[ ! -e ran ]
}

@test "a launcher that starts nothing is no command that failed, and not tried again" {
	local case expected
	while read -r case expected; do
		printf 'echo >>tried; exit %s\n' "$case" >fails
		rm -f tried
		run -3 --separate-stderr awf-step -n --retries 2 --delay 0 --via 'sh fails' a -- true
		same "$(code)" "\"$expected\""
		[ "$expected" = lost ] || same "$(wc -l <tried)" 1
		[ "$expected" != lost ] || same "$(wc -l <tried)" 3
		same "$(ended '[.far_end, .exit_code]')" '[null,null]'
	done <<-'END'
		127 cannot_launch
		126 cannot_launch
		2 cannot_launch
		3 cannot_launch
		0 lost
		1 lost
		255 lost
	END
	run -3 --separate-stderr awf-step -n --via 'env PATH=/nonexistent' a -- true
	[[ ${stderr##*$'\n'} == "awf-step: a: true: awf-exec, or the launcher, was not found (the launcher: exit status 127): env: "*"No such file or directory" ]]
}

@test "a far end that a signal ends before it has begun is tried again" {
	local asked
	# Before it knows what to do, and when it waits to be told to begin.
	launcher early <<-'END'
		if [ -e "$1" ]; then shift; exec "$@"; fi
		touch "$1"; shift; rm -f in; mkfifo in
		"$@" <in >out & far=$!
		exec 9>in
		if [ -n "$ASKED" ]; then
			IFS= read -r request
			echo "$request" >&9
			until grep -q '"hello"' out; do sleep 0.01; done
		else
			until grep -q awf-exec "/proc/$far/cmdline" && grep -q '^SigCgt:.*[4567cdef]...$' "/proc/$far/status"; do
				sleep 0.01
			done
		fi
		kill -TERM "$far"; wait "$far"; status=$?
		cat out
		exit "$status"
	END
	for asked in '' 1; do
		export ASKED=$asked
		run -0 --separate-stderr awf-step -n --retries 1 --delay 0 --retry-on lost --via "sh early tried$asked" a -r -- echo done
		same "$output" "done"
		same "$(ended '.retries[0].code')" '"lost"'
		ended ".retries[0].message" | grep -F "the command was not started"
	done
}

@test "a launcher of plain words is run without a shell, any other text by one" {
	local text
	printf 'tr "\\0" " " </proc/$PPID/cmdline >parent; exec "$@"\n' >bare
	launcher here <bare
	mkdir -p "$HOME/bin"
	{ echo '#!/bin/sh'; cat bare; } >"$HOME/bin/launch"
	chmod +x "$HOME/bin/launch" bare
	for text in "sh here" launch "$HOME/bin/launch" "env A=b launch"; do
		PATH=$HOME/bin:$PATH run -0 --separate-stderr awf-step -n --via "$text" a -r -- echo "$text"
		same "$output" "$text"
		grep -q ^awf-step parent || [ "$text" = "env A=b launch" ]
	done
	# An assignment, a builtin, a variable, two commands, and a script that does not say what runs it.
	for text in 'A=b sh here' 'exec sh here' 'sh $EMPTY here' 'true && sh here' ./bare; do
		run -0 --separate-stderr awf-step -n --via "$text" a -r -- echo "$text"
		same "$output" "$text"
	done
	# A line feed at the end, as of a file that was read whole, is none of its own.
	for text in $'launch\n' $'sh here \r\n' $'A=b sh here\n\n'; do
		rm -f parent
		PATH=$HOME/bin:$PATH run -0 --separate-stderr awf-step -n --via "$text" a -r -- echo "$text"
		[ -e parent ]
	done
	run -3 --separate-stderr awf-step -n --via $'true\n' a -- touch here-after-all
	[ ! -e here-after-all ]
	run -3 --separate-stderr awf-step -n --via 'no-such-launcher' a -- true
	[[ ${stderr##*$'\n'} == "awf-step: a: true: awf-exec, or the launcher, was not found (the launcher: exit status 127): "*"no-such-launcher: not found" ]]
}

@test "--launch-timeout is for the hello, --timeout for what comes after it" {
	launcher slow <<-'END'
		sleep 1
		exec "$@"
	END
	awf-step -n --via 'sh slow' --timeout 0.9 -r a -- echo in time
	run -3 --separate-stderr awf-step -n --via 'sleep 3002; true' --launch-timeout 0.2 a -- touch ran
	same "$stderr" "awf-step: a: touch: the command was not started: awf-exec has not answered within 200ms"
	same "$(code)" '"lost"'
	nothing_left 'sleep 3002'
	run -3 --separate-stderr awf-step -n --via "$FAR" --timeout 0.3 a -- sh -c 'trap "echo ended; exit 3" TERM; sleep 3003 & wait'
	same "$stderr" "awf-step: a: sh: timed out after 300ms"
	same "$(ended '[.error.code, .exit_code]')" '["timeout",3]'
	nothing_left 'sleep 3003'
}

@test "without the last frame a call is lost, whatever the launcher ends with" {
	launcher dies <<-'END'
		exec 3<&0
		"$@" <&3 &
		until [ -e began ]; do sleep 0.01; done
		kill -9 $!
		wait
		exit 0
	END
	run -3 --separate-stderr awf-step -n --via 'sh dies' a -- sh -c 'echo part; echo >began; exec sleep 3004'
	same "${stderr##*$'\n'}" "awf-step: a: sh: the launcher ended (exit status 0) before the end of the command was reported"
	same "$(ended '[.error.code, .exit_code, .result, .far_end.host]')" "[\"lost\",null,null,\"$(hostname)\"]"
	# The guardian has ended the command.
	eventually nothing_left 'sleep 3004'
}

@test "a lost call is tried again as its effects allow" {
	launcher dies <<-'END'
		exec 3<&0
		"$@" <&3 &
		until [ -s began ]; do sleep 0.01; done
		kill -9 $!
		: >began
	END
	local effects times
	while read -r effects times; do
		rm -f ran began
		run -3 --separate-stderr awf-step -n --retries 1 --effects "$effects" --via 'sh dies' a -- \
			sh -c 'echo >>ran; echo >began; exec sleep 3005'
		same "$effects $(wc -l <ran)" "$effects $times"
	done <<-'END'
		read 2
		external 1
		external,idempotent 2
	END
}

@test "frames that were changed on the way are not believed" {
	# What the command printed, a frame's form, the last frame.
	local change
	for change in 's/"output","data":"aG/"output","data":"bG/' 's/^{"type":"output"/{"type":"output/' \
		's/"exit_code":3/"exit_code":0/' 's/"type":"ping"/"type":"gnip"/;s/output","data/tuptuo","data/'; do
		printf '"$@" | sed -u '"'%s'" "$change" >flips
		run -3 --separate-stderr awf-step -n --via 'sh flips' a -- sh -c 'echo hello; exit 3'
		same "$change $(code)" "$change \"lost\""
	done
	# The request, the input: nothing is begun.
	for change in 's/"argv":"./"argv":"a/' 's/"input","data":"./"input","data":"b/'; do
		printf 'sed -u '"'%s'"' | "$@"' "$change" >flips
		run -3 --separate-stderr awf-step --via 'sh flips' --launch-timeout 5 a -- sh -c 'cat; touch ran' <<<input
		same "$change $(code)" "$change \"cannot_launch\""
		[ ! -e ran ]
	done
	# Who doubles all that is said ends the call; a line behind the last frame is nobody's.
	printf '"$@" | sed -u p' >flips
	run -3 --separate-stderr awf-step -n --via 'sh flips' a -- true
	same "$(ended .error.message)" '"true: the launcher has started awf-exec more than once: it is to start one (srun -n1)"'
	printf '"$@"; echo logout' >flips
	awf-step -n --via 'sh flips' a -- true
}

@test "of several that a launcher starts one begins at most" {
	launcher fan <<-'END'
		exec 3>&1
		tee >("$@" >&3) | "$@"
	END
	run -3 --separate-stderr awf-step -n --via 'bash fan' a -- sh -c 'echo >>ran; sleep 0.5'
	same "$(code)" '"lost"'
	[ ! -e ran ] || same "$(wc -l <ran)" 1
	run -3 --separate-stderr awf-step -n --via 'env SLURM_STEP_NUM_TASKS=2' a -- touch never
	same "$stderr" "awf-step: a: touch: the launcher has started 2 of this program (SLURM_STEP_NUM_TASKS): it is to start one (srun -n1)"
	same "$(code)" '"cannot_launch"'
	[ ! -e never ]
}

@test "a call that is cancelled ends there first" {
	awf-step -n --via "$FAR" a -- sh -c 'trap "sleep 0.2; echo >cleaned; exit 0" TERM; echo >began; sleep 3006 & wait' &
	eventually test -e began
	kill "$!"
	wait "$!" || :
	[ -e cleaned ]
	same "$(ended '[.error.code, .exit_code]')" '["cancelled",0]'
	nothing_left 'sleep 3006'
}

# bats test_tags=turn:2
@test "a command ends with who started it, by death or by silence" {
	awf-step -n --via "$FAR" a -- sh -c 'echo >began; exec sleep 3007' &
	eventually test -e began
	kill -9 "$!"
	eventually nothing_left 'sleep 3007'
	rm began
	awf-step -n --via "$FAR" a -- sh -c 'echo >began; exec sleep 3008' &
	eventually test -e began
	STOPPED=$!
	kill -STOP "$STOPPED"
	eventually nothing_left 'sleep 3008' || eventually nothing_left 'sleep 3008'
	kill -CONT "$STOPPED"
	wait "$STOPPED" || :
}

# bats test_tags=torture
@test "nothing runs nine seconds after the last word, though the end of the input comes late" {
	patient
	FAR="env -i PATH=$PATH"
	launcher holds <<-'END'
		trap '' PIPE
		{ cat; sleep 6; } | "$@" | { cat 2>/dev/null; cat >/dev/null; }
	END
	awf-step -n --via "sh holds $FAR" a -- sh -c 'trap "" TERM; echo >began; while :; do sleep 3021; done' &
	eventually test -e began
	kill -9 "$!"
	local from=$EPOCHREALTIME
	until nothing_left 'sleep 3021'; do
		((${EPOCHREALTIME/[.,]/} - ${from/[.,]/} < 9500000))
		nap 0.02
	done
	((${EPOCHREALTIME/[.,]/} - ${from/[.,]/} > 6000000))
}

@test "a far end that says nothing any more is lost" {
	launcher stops <<-'END'
		exec 3<&0
		"$@" <&3 &
		echo "$!" >pid
		wait
	END
	awf-step -n --via 'sh stops' a -- sh -c 'echo >began; exec sleep 3009' 2>said &
	eventually test -e began
	STOPPED=$(cat pid)
	kill -STOP "$STOPPED"
	wait "$!" || :
	same "$(cat said)" "awf-step: a: sh: nothing has arrived from the far machine any more"
	same "$(code)" '"lost"'
	kill -CONT "$STOPPED" 2>/dev/null || :
	eventually nothing_left 'sleep 3009'
}

@test "TERM at the far end is told as interrupted" {
	launcher terms <<-'END'
		exec 3<&0
		"$@" <&3 &
		until [ -e began ]; do sleep 0.01; done
		kill $!
		wait
	END
	run -3 --separate-stderr awf-step -n --via 'sh terms' a -- sh -c 'echo >began; exec sleep 3010'
	same "$(ended '[.error.code, .error.message, .exit_code]')" \
		'["interrupted","ended on the far machine by signal 15 (Terminated)",143]'
}

@test "TERM that the command gets before awf-exec does is told as interrupted, too" {
	launcher terms <<-'END'
		exec 3<&0
		"$@" <&3 &
		until [ -s began ]; do sleep 0.01; done
		kill "$(cat began)"
		for _ in 1 2 3; do (:); done
		kill $!
		wait
	END
	# A shell that ends by what its own command was ended by.
	run -3 --separate-stderr awf-step -n --retries 1 --delay 0 --via 'sh terms' a -- \
		sh -c 'echo >>ran; sleep 3012 & echo "$!" >began; wait "$!"; exit "$?"'
	same "$(ended '[.error.code, .error.message, .exit_code]')" \
		'["interrupted","ended on the far machine by signal 15 (Terminated)",143]'
	same "$(wc -l <ran)" 1
	# Without it, it is the command's own.
	printf '"$@"' >own
	run -3 --separate-stderr awf-step -n --via 'sh own' a -- sh -c 'exit 143'
	same "$(ended '[.error.code, .exit_code]')" '["exit_status",143]'
}

@test "TERM at the far end takes nothing of a command that has ended" {
	launcher late <<-'END'
		exec 3<&0
		{ "$@" <&3 & echo $! >pid; wait; } | {
			read -r _
			read -r hello
			printf '\n%s\n' "$hello"
			until [ -e ended ]; do sleep 0.01; done
			sleep 0.1
			kill "$(cat pid)"
			for _ in $(seq 25); do dd bs=32k count=1 iflag=fullblock 2>/dev/null; sleep 0.05; done
			cat
		}
	END
	# More than a pipe takes, and less than awf-exec keeps.
	awf-step -n --via 'sh late' -r a -- sh -c 'head -c 700000 /dev/zero; echo >ended' | wc -c | same "$(cat)" 700000
	same "$(code)" '"none"'
}

@test "no step is recorded at the far end; a workflow there is a run of its own in the same trace" {
	run -3 --separate-stderr awf-step -n --via "$FAR" a -- awf-step -n b -- true
	same "${stderr%%$'\n'*}" "awf-step: b: this is the far end of a launcher, where no step is recorded: --via belongs to the awf-step there (awf-run makes a run of its own here)"
	awf-step -n --via "$FAR HOME=$HOME AWF=x" --env AWF_STORAGE="$PWD/far" -q a -- awf-run -n -c 'awf-step -n b -- true'
	jq -r 'select(.type == "run.started").payload.traceparent' far/latest |
		grep "^00-$(jq -r .run_id "$(transcript)" | head -n 1 | tr -d -)-"
}

@test "a sandbox is made at the far end, or the call is refused" {
	"$BUILD/libexec/awf/awf-sandbox" -- true || skip "no sandbox can be made here"
	mkdir -p far/bin
	run --separate-stderr awf-step -n --sandbox workspace --via "$FAR" a -- sh -c 'echo in >here; echo out >"$1"' sh "$BATS_TEST_TMPDIR/there"
	same "$(cat here)" in
	[ ! -e "$BATS_TEST_TMPDIR/there" ]
	cp "$BUILD/bin/awf-exec" far/bin
	run -3 --separate-stderr awf-step -n --sandbox workspace --via "env PATH=$PWD/far/bin:/usr/bin:/bin" a -- touch ran
	same "$stderr" "awf-step: a: touch: no sandbox can be made here: there is no awf-sandbox"
	same "$(code)" '"cannot_launch"'
	[ ! -e ran ]
}

@test "a replay takes what ran elsewhere from the recording" {
	awf-run -c "awf-step -n --via '$FAR' a -- sh -c 'echo >>ran; date +%N' | awf-step -r b -- cat" >first
	awf-replay -q
	awf-verify --determinism --isolation copy
	same "$(wc -l <ran)" 1
}

@test "a resume waits until nothing runs at the far end, and asks about what may have been done" {
	local run
	cat >flow <<-END
		awf-step -n --effects "\$EFFECTS" --via "$FAR" a -- sh -c '
			echo >>ran; [ ! -e hold ] || { echo >began; exec sleep 3011; }'
	END
	touch hold
	EFFECTS=read awf-run --name kept flow &
	eventually test -e began
	kill -9 "$!"
	wait "$!" || :
	rm hold
	local from=$EPOCHREALTIME
	EFFECTS=read awf-run --resume @kept
	(( ${EPOCHREALTIME/[.,]/} - ${from/[.,]/} > $(patience_of 8000) * 900 ))
	same "$(wc -l <ran)" 2
	rm began
	touch hold
	EFFECTS=external awf-run --name kept2 flow &
	eventually test -e began
	kill -9 "$!"
	wait "$!" || :
	rm hold
	run -75 --separate-stderr env EFFECTS=external awf-run --resume @kept2
	same "$(wc -l <ran)" 3
}

@test "a resume waits for a far end that is on its own machine, and has the run's environment" {
	# As by a daemon, which no guardian of the run knows.
	mkfifo ask in out
	while read -r id <ask; do env AWF_RUN_ID="$id" awf-exec <in >out; done 3>&- &
	STOPPED=$!
	launcher asks <<-'END'
		exec 3<&0
		echo "$AWF_RUN_ID" >ask
		cat <&3 >in &
		exec cat out
	END
	cat >flow <<-'END'
		awf-step -n --effects read --via 'sh asks' a -- sh -c '
			echo >>ran; [ ! -e hold ] || { trap "" TERM; echo >began; while :; do sleep 0.1; done; }'
	END
	touch hold
	awf-run --name near flow &
	eventually test -e began
	kill -9 "$!"
	wait "$!" || :
	rm hold
	awf-run --resume @near
	same "$(wc -l <ran)" 2
}

@test "--dry-run shows the launcher, and starts none" {
	same "$(awf-step -n --dry-run --via 'touch ran;' a -- true)" '{"via":"touch ran;","command":["true"],"input":null}'
	[ ! -e ran ]
}

@test "what goes with --via, and what does not" {
	local rest
	for rest in '--via x a' '--via x --each a -- cat' '--launch-timeout 1 a -- cat' '--env X a -- cat' \
		"--via ' ' a -- cat" '--via x --env =1 a -- cat'; do
		run -1 --separate-stderr eval "awf-step $rest"
	done
	same "$stderr" "awf-step: --env: '=1' is no variable: NAME, or NAME=VALUE"
}

@test "awf-exec itself says who starts it" {
	run -1 --separate-stderr awf-exec </dev/null
	same "$stderr" "awf-exec: stdin: no request on stdin: this program is started by awf-step --via"
	run -1 --separate-stderr awf-exec <<<'{"type":"request"}'
	same "$stderr" "awf-exec: is no request: this program is started by awf-step --via"
	run -1 --separate-stderr awf-exec word
	run -3 --separate-stderr script -qec awf-exec /dev/null </dev/null
	[[ $output == *"there is a terminal in between"* ]]
	awf-exec --help | grep -q 'awf-step --via'
	awf-exec --version
}

@test "--send and --fetch carry files between directories that share nothing" {
	mkdir -p src/deep
	head -c 200000 /dev/urandom >src/deep/data
	printf '#!/bin/sh\ncat src/deep/*\n' >run
	chmod +x run
	echo other >other
	: >src/empty
	cat >build <<-'END'
		[ ! -e other ] && [ -e src/empty ] && [ ! -s src/empty ] && [ ! -x src/empty ] || exit 1
		mkdir -p out/more && ./run >out/more/copy && echo one >out/a.txt && echo no >out/b && pwd >out/c.txt
		cp run out/run.txt
	END
	mkdir -p out && echo old >out/a.txt
	awf-step -n --via "$FAR" --effects workspace --send 'src/*' --send 'src/deep/*' --send run --send build \
		--fetch 'out/*.txt' --fetch 'out/more/*' a -- sh build
	cmp src/deep/data out/more/copy
	same "$(cd out && ls)" "$(printf '%s\n' a.txt c.txt more run.txt)"
	same "$(cat out/a.txt)" one
	[ -x out/run.txt ]
	[ ! -x out/more/copy ]
	same "$(payloads step.completed '[.changed[].path] | sort')" '["out/a.txt","out/c.txt","out/more/copy","out/run.txt"]'
	# Nothing is left, here or there.
	[ ! -e "$(cat out/c.txt)" ]
	same "$(find . -name '.awf*')" ''
	awf-verify -q
}

@test "a directory for files goes with an awf-exec that is killed, and what is in it" {
	launcher dies <<-'END'
		exec 3<&0
		"$@" <&3 &
		until [ -e began ]; do sleep 0.01; done
		kill -9 $!
	END
	mkdir there
	echo >sent
	run -3 --separate-stderr awf-step -n --via "sh dies env TMPDIR=there" --send sent a -- \
		sh -c "mkdir -p a/b; pwd >a/b/c; mv a/b/c '$PWD/began'; while :; do echo >\$(date +%N); done"
	same "$(code)" '"lost"'
	[[ $(cat began) == "$PWD"/there/* ]]
	eventually eval '[ -z "$(ls there)" ]'
}

@test "files come only of a command that has succeeded, and all that were asked for" {
	run -3 --separate-stderr awf-step -n --via "$FAR" --fetch 'o*' a -- sh -c 'echo >out; exit 2'
	[ ! -e out ]
	run -3 --separate-stderr awf-step -n --via "$FAR" --fetch 'o*' --fetch 'p*' a -- touch out
	same "$stderr" "awf-step: a: p*: there is no such file"
	same "$(code)" '"exit_status"'
	[ ! -e out ]
	run -3 --separate-stderr awf-step -n --via 'touch launched;' --send 'none*' a -- true
	same "$stderr" "awf-step: a: none*: there is no such file"
	same "$(code)" '"cannot_launch"'
	[ ! -e launched ]
	local pattern
	for pattern in /etc/passwd ../x a/../b '' a//b; do
		run -1 --separate-stderr awf-step -n --via "$FAR" --fetch "$pattern" a -- true
	done
	same "$stderr" "awf-step: --fetch: 'a//b' does not stay below this directory: DIR/*.txt"
	same "$(find . -name '.awf*')" ''
}

@test "files that are too much are refused where they are, and leave nothing there" {
	mkdir tmp
	export TMPDIR=$PWD/tmp
	run -3 --separate-stderr awf-step -n --via "$FAR" --fetch big a -- truncate -s 1100000000 big
	same "$stderr" 'awf-step: a: big: is too much: no more than 10000 files, and 1024 MiB in all'
	same "$(jq -r .metadata.error.code <<<"$output")" exit_status
	same "$(ls tmp)" ''
}

@test "files lead nowhere else: links out of the directory, here and there" {
	echo secret >"$BATS_TEST_TMPDIR/secret"
	ln -s "$BATS_TEST_TMPDIR/secret" link
	run -3 --separate-stderr awf-step -n --via "$FAR" --send 'l*' a -- true
	[[ $stderr == "awf-step: a: link: leads out of the directory" ]]
	run -3 --separate-stderr awf-step -n --via "$FAR" --fetch 'o*' a -- ln -s "$BATS_TEST_TMPDIR/secret" out
	[[ $stderr == "awf-step: a: out: leads out of the directory" ]]
	mkdir "$BATS_TEST_TMPDIR/elsewhere"
	ln -s "$BATS_TEST_TMPDIR/elsewhere" out
	run -3 --separate-stderr awf-step -n --via "$FAR" --fetch 'out/*' a -- sh -c 'mkdir out; echo >out/file'
	[[ $stderr == "awf-step: a: out/file: leads out of the directory" ]]
	same "$(ls "$BATS_TEST_TMPDIR/elsewhere")" ''
}

@test "a far end that sends what was not asked for is not believed" {
	# Its path, as base64: of ../x, and of y.
	local path
	for path in Li4veA== eQ==; do
		printf '"$@" | sed -u '"'"'/"type":"file"/s|"data":"[^"]*"|"data":"%s"|'"'" "$path" >flips
		run -3 --separate-stderr awf-step -n --via 'sh flips' --fetch 'x*' a -- touch x1
		same "$(code)" '"lost"'
		[[ $stderr == *': was not asked for' ]]
	done
	[ ! -e x1 ]
	[ ! -e ../x ]
	# A byte of a file.
	printf '"$@" | sed -u '"'"'s/"type":"data","data":"./"type":"data","data":"b/'"'" >flips
	run -3 --separate-stderr awf-step -n --via 'sh flips' --fetch 'x*' a -- sh -c 'echo hello >x1'
	same "$(ended .error.message)" '"sh: what came is not what awf-exec has sent"'
	[ ! -e x1 ]
	printf 'sed -u '"'"'s/"type":"data","data":"./"type":"data","data":"b/'"'"' | "$@"' >flips
	echo two >y1
	run -3 --separate-stderr awf-step -n --via 'sh flips' --send 'y*' a -- touch ran
	same "$(code)" '"cannot_launch"'
}

# NAME LAUNCHER EFFECTS COMMAND: a tool that a launcher runs, its command as JSON.
far_tool() {
	mkdir -p tools
	jq -n --arg via "$2" --arg effects "$3" --argjson command "$4" '{description: "x",
		input_schema: {type: "object"}, command: $command, via: $via, effects: $effects}' >"tools/$1.tool.json"
}

@test "a tool runs where its file says, with its keys, and is recorded here" {
	export OPENAI_API_KEY=sk-0123456789
	far_tool there "$FAR" read '["sh", "-c", "cat; echo ${OPENAI_API_KEY-none} >&2"]'
	same "$(echo '{"a":1}' | awf-step -i json -t there call | jq -c .data)" '{"a":1}'
	same "$(payloads tool.call '[.via, .effects]')" "[\"$FAR\",\"read\"]"
	same "$(payloads tool.result '[.far_end.host, .stderr]')" "[\"$(hostname)\",\"none\\n\"]"
	jq '.env = "OPENAI_API_KEY"' tools/there.tool.json >tools/keyed.tool.json
	awf-step -n -q -i json -t keyed call <<<'{}'
	same "$(payloads tool.result .stderr)" '"*************\n"'
	awf-verify -q
}

@test "what ends a tool elsewhere without its end is lost; a launcher that starts nothing is told" {
	far_tool none 'exit 127;' read '["true"]'
	run -3 --separate-stderr awf-step -i json -t none call <<<'{}'
	same "$(payloads tool.result '[.error.code, .far_end]')" '["cannot_launch",null]'
	launcher dies <<-'END'
		exec 3<&0
		"$@" <&3 &
		until [ -s began ]; do sleep 0.01; done
		kill -9 $!
	END
	far_tool dies 'sh dies' external '["sh", "-c", "echo >began; exec sleep 3020"]'
	run -3 --separate-stderr awf-step --retries 3 -i json -t dies call <<<'{}'
	same "$(payloads tool.result .error.code)" '"lost"'
	same "$(payloads step.completed .retries)" null
}

@test "AWF's own tools run in their sandbox at the far end" {
	"$BUILD/libexec/awf/awf-sandbox" -- true || skip "no sandbox can be made here"
	mkdir -p "$XDG_CONFIG_HOME/awf/tools"
	jq --arg via "$FAR" '.via = $via | .command = ["awf-tool-bash"]' "$BUILD/libexec/awf/bash.tool.json" \
		>"$XDG_CONFIG_HOME/awf/tools/bash.tool.json"
	run --separate-stderr awf-step -i json -t bash -r call <<<"{\"command\": \"echo in >here; echo out >$BATS_TEST_TMPDIR/there; echo \$AWF_SANDBOX\"}"
	[[ $output == *workspace* ]]
	same "$(cat here)" in
	[ ! -e "$BATS_TEST_TMPDIR/there" ]
	same "$(payloads tool.call '[.via, .sandbox]')" "[\"$FAR\",\"workspace\"]"
}

@test "a replay takes the results of tools elsewhere; another launcher is the same tool" {
	far_tool there "$FAR" none '["sh", "-c", "echo >>ran; date +%N"]'
	awf-run -n -c 'echo "{}" | awf-step -i json -t there -q call'
	awf-replay -q
	same "$(wc -l <ran)" 1
	far_tool there "env $FAR" none '["sh", "-c", "echo >>ran; date +%N"]'
	awf-replay -q
	same "$(wc -l <ran)" 1
}

@test "what a tool file with via lacks, or has too much" {
	mkdir tools
	local rest
	for rest in '"via": "x"' '"via": " ", "command": ["true"]' '"via": "x", "command": ["true"], "starts_run": true'; do
		echo "{\"description\": \"x\", $rest}" >tools/bad.tool.json
		run -2 --separate-stderr awf-step -i json -t bad call <<<'{}'
	done
	same "$stderr" "awf-step: tools/bad.tool.json: via: not with starts_run: its runs would be recorded there"
}

@test "examples/elsewhere.awf counts where the launcher leads" {
	cp -r "$ROOT/examples/." .
	same "$(ls samples/*.txt | LAUNCHER=$FAR ./elsewhere.awf)" "$(cat samples/*.txt | wc -w)"
	same "$(payloads step.completed '.far_end.host // empty' | sort -u)" "\"$(hostname)\""
}
