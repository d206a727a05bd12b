# Sourced by the bats files about commands elsewhere: calls through a real LAUNCHER, of which
# everything breaks, and is mended.
#
# What sources it has WAYS, an array, and disrupt WAY, which breaks something and mends it.
# shellcheck shell=bash

# NAME: the pids of the processes of this name that this file has started, by their environment.
all_of() {
	pgrep -x "$1" | while read -r pid; do
		! grep -qszF "$BATS_FILE_TMPDIR" "/proc/$pid/environ" || echo "$pid"
	done
}
kill_one_of() { kill -9 "$(all_of "$1" | shuf -n 1)" 2>/dev/null || :; }

nothing_left() { ! pgrep -fx "$1" >/dev/null; }

# PID: breaks one thing after another until the process has ended.
disrupt_until_gone() {
	local way
	while true; do
		for way in $(shuf -e "${WAYS[@]}" --random-source=<(yes "$RANDOM")); do
			nap "0.$((RANDOM % 6 + 2))"
			! gone "$1" || return 0
			echo "$EPOCHREALTIME $way" >>disruptions
			disrupt "$way"
		done
	done
}

# A call's effect: it notes the key of the call, and whether it was alone with that.
effect() {
	cat >effect <<-'END'
		read -r n
		key=${AWF_VIA##*/}
		exec 9>"locks/$key"
		flock -n 9 || echo "$key" >>overlaps
		echo "$key" >>effects
		sleep "0.$((n % 5 + 1))"
		echo $((n * n))
	END
	rm -rf locks effects overlaps disruptions
	mkdir locks
}

squares() { seq "$1" | awk '{ print $1 * $1 }'; }
noted() { if [ -e effects ]; then sort effects; fi; }

# COUNT: of calls that may be made again each comes out once, and none while it runs.
idempotent_round() {
	local step
	effect
	seq "$1" | awf-step -i lines -j 8 --retries 100 --delay 0.2 --backoff constant --launch-timeout 20 \
		--retry-on "$RETRY_ON,interrupted,exit_status" --effects external,idempotent --via "$LAUNCHER" -r \
		square -- sh effect >out 2>said &
	step=$!
	disrupt_until_gone "$step"
	wait "$step" || { cat said disruptions; false; }
	squares "$1" | cmp - out
	awf-verify -q
	same "$(noted | uniq | wc -l)" "$1"
	[ ! -e overlaps ]
}

# COUNT: of calls that may not, each is made once at most. What may have happened is asked about, and
# made anew when that is said.
external_round() {
	local step
	effect
	cat >flow <<-END
		awf-step -i lines -j 8 --retries 100 --delay 0.2 --backoff constant --launch-timeout 20 \\
			--retry-on $RETRY_ON --effects external --via "$LAUNCHER" -r square -- sh effect
	END
	seq "$1" | awf-run --name far flow >out 2>said &
	step=$!
	disrupt_until_gone "$step"
	wait "$step" || [ "$?" -eq 3 ] || { cat said disruptions; false; }
	awf-verify -q
	noted >once
	same "$(uniq -d once)" ''
	# What came out was made, and what did not is known by its code.
	jq -r 'select(.type == "step.completed" and (.payload.error | not)).payload.call' "$(transcript)" | sort >made
	same "$(comm -23 made once)" ''
	same "$(wc -l <made)" "$(wc -l <out)"
	same "$(payloads step.completed '.error.code // empty' | grep -vxE '"(lost|interrupted|exit_status)"')" ''
	[ "$(wc -l <out)" -lt "$1" ] || return 0
	run -75 --separate-stderr awf-run --resume @far </dev/null
	noted | cmp - once
	awf-run --resume @far --redo square </dev/null >again
	squares "$1" | cmp - again
	noted | uniq -c | awk '$1 > 2' | same "$(cat)" ''
	[ ! -e overlaps ]
}

# COUNT: the run itself is killed, and resumed until it is done: each comes out once, and none is made
# anew while it runs.
killed_round() {
	local run
	effect
	cat >flow <<-END
		awf-step -i lines -j 8 --retries 100 --delay 0.2 --backoff constant --launch-timeout 20 \\
			--retry-on $RETRY_ON,interrupted,exit_status --effects external,idempotent --via "$LAUNCHER" -r \\
			square -- sh effect
	END
	seq "$1" >in
	awf-run --name killed flow <in >out 2>said &
	run=$!
	for _ in 1 2 3; do
		nap "1.$((RANDOM % 10))"
		! gone "$run" || break
		kill -9 "$run"
		wait "$run" || :
		awf-run --resume @killed <in >out 2>>said &
		run=$!
	done
	wait "$run" || { cat said; false; }
	squares "$1" | cmp - out
	awf-verify -q
	same "$(noted | uniq | wc -l)" "$1"
	[ ! -e overlaps ]
}

# What a launcher that has begun nothing may fail with.
RETRY_ON=lost

# SEED ROUNDS COUNT: of all three, with choices that follow from the seed.
disrupted_rounds() {
	local round
	RANDOM=$(($1 & 32767))
	for ((round = 1; round <= $2; round++)); do
		echo "seed $1, round $round"
		case $((round % 3)) in
		1) external_round "$3" ;;
		2) idempotent_round "$3" ;;
		0) killed_round "$3" ;;
		esac
	done
}
