#!/usr/bin/env bats
# awf-step --via ssh, with a real sshd on loopback.
bats_require_minimum_version 1.5.0
load ../support/helpers

# A server for the file: its keys, its port, and what a client needs to reach it.
setup_file() {
	local server
	command -v ssh ssh-keygen >/dev/null || return 0
	server=$(PATH=$PATH:/usr/sbin:/sbin command -v sshd) || return 0
	cd "$BATS_FILE_TMPDIR" || return 1
	ssh-keygen -q -t ed25519 -N '' -f host
	ssh-keygen -q -t ed25519 -N '' -f client
	PORT=$((20000 + RANDOM % 10000))
	[ "$(id -u)" -ne 0 ] || mkdir -p /run/sshd
	cat >config <<-END
		Port $PORT
		ListenAddress 127.0.0.1
		HostKey $PWD/host
		AuthorizedKeysFile $PWD/client.pub
		StrictModes no
		UsePAM no
		PidFile none
		PermitRootLogin yes
		Banner $PWD/banner
	END
	echo 'For members only' >banner
	echo "[127.0.0.1]:$PORT $(cat host.pub)" >known
	cat >client.config <<-END
		Host there
			HostName 127.0.0.1
			Port $PORT
			IdentityFile $PWD/client
			UserKnownHostsFile $PWD/known
			BatchMode yes
			LogLevel ERROR
	END
	"$server" -D -e -f config 2>log 3>&- &
	echo "$!" >pid
	for _ in {1..500}; do
		ssh -F client.config there true 2>/dev/null && touch answers && break
		sleep 0.02
	done
}

teardown_file() {
	if [ -e "$BATS_FILE_TMPDIR/pid" ]; then kill "$(cat "$BATS_FILE_TMPDIR/pid")" 2>/dev/null || :; fi
}

prepare() {
	[ -e "$BATS_FILE_TMPDIR/answers" ] || skip "no sshd that answers"
	SSH="ssh -F $BATS_FILE_TMPDIR/client.config"
	FAR="$SSH there env PATH=$PATH"
}

ended() { payloads step.completed "$1"; }
nothing_left() { ! pgrep -fx "$1" >/dev/null; }

@test "a command runs behind ssh: data, status, stderr, and no more environment" {
	export OTHER=1
	head -c 500000 /dev/urandom >in
	awf-step --via "$FAR" -r a -- cat <in | cmp - in
	run -3 --separate-stderr awf-step --via "$FAR" a -- sh -c 'cat; env | grep ^OTHER >&2; exit 9' <<<'words'
	same "$stderr" "awf-step: a: sh: exit status 9"
	same "$(ended '[.exit_code, .far_end.host]')" "[9,\"$(hostname)\"]"
}

@test "what ssh fails with is no failure of the command" {
	run -3 --separate-stderr awf-step -n --via "$SSH -p 1 there" a -- touch ran
	same "$(ended '[.error.code, .far_end]')" '["lost",null]'
	run -3 --separate-stderr awf-step -n --via "$SSH there env PATH=/nowhere" a -- touch ran
	same "$(ended '[.error.code, .far_end]')" '["cannot_launch",null]'
	[ ! -e ran ]
	# A terminal in between changes bytes.
	run -3 --separate-stderr awf-step -n --via "$SSH -tt there env PATH=$PATH" --launch-timeout 5 a -- touch ran
	same "$(ended .error.code)" '"cannot_launch"'
	[ ! -e ran ]
}

# Cuts the connection of a call; of its command, which ignores what it can, nothing is left in 10 s.
cut_once() {
	local step from
	rm -f began
	awf-step -n --via "exec $FAR" a -- sh -c 'echo >began; trap "" TERM HUP; while :; do sleep 4001; done' 2>said &
	step=$!
	eventually test -e began
	kill -9 "$(pgrep -P "$step" ssh)"
	from=$EPOCHREALTIME
	wait "$step" || :
	same "$(ended .error.code)" '"lost"'
	until nothing_left 'sleep 4001'; do
		(( ${EPOCHREALTIME/[.,]/} - ${from/[.,]/} < 10000000 ))
		nap 0.02
	done
}

@test "a connection that is cut ends the command there, and the call is lost" { cut_once; }

# bats test_tags=torture
@test "so it is each of fifty times" {
	for _ in {1..50}; do cut_once; done
}

@test "a cancelled call ends there, through a shared connection that goes on" {
	$SSH -o ControlMaster=yes -o "ControlPath=$BATS_TEST_TMPDIR/%C" -fN there
	local shared="$SSH -o ControlPath=$BATS_TEST_TMPDIR/%C there env PATH=$PATH"
	awf-step -n --via "$shared" a -- sh -c 'trap "echo >cleaned; exit 0" TERM; echo >began; sleep 4002 & wait' &
	eventually test -e began
	kill "$!"
	wait "$!" || :
	[ -e cleaned ]
	same "$(ended .error.code)" '"cancelled"'
	nothing_left 'sleep 4002'
	seq 6 | awf-step -i lines -j 3 --via "$shared" -r twice -- sh -c 'read n; echo $((n * 2))' |
		paste -sd, | same "$(cat)" 2,4,6,8,10,12
	$SSH -o "ControlPath=$BATS_TEST_TMPDIR/%C" -O exit there 2>/dev/null
}
