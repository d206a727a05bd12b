#!/usr/bin/env bats
# bats file_tags=turn:2
# awf-step --via ssh, with a real sshd on loopback; as root, with ip, nft and nsenter, on the loopback
# of a network of its own, that is cut.
# SSH_ROUNDS=20 for a long run; SSH_SEED=N for the same choices again.
bats_require_minimum_version 1.5.0
load ../../support/helpers
load ../../support/via

# In a network of its own, where this user may make one, of which the file can drop all packets.
network() {
	local nft
	nft=$(PATH=$PATH:/usr/sbin:/sbin command -v nft) && command -v nsenter unshare >/dev/null || return 0
	unshare -n sh -c 'ip link set lo up && exec sleep 1000000' 2>/dev/null 3>&- &
	echo "$!" >"$BATS_FILE_TMPDIR/network.pid"
	# It is there, and can be closed.
	for _ in {1..100}; do
		INSIDE="nsenter --net=/proc/$!/ns/net"
		if [ "$(readlink "/proc/$!/ns/net")" != "$(readlink /proc/self/ns/net)" ] &&
			$INSIDE "$nft" list ruleset >/dev/null 2>&1; then
			echo "$INSIDE" >"$BATS_FILE_TMPDIR/inside"
			return 0
		fi
		nap 0.02
	done
	INSIDE=''
}

# Starts the server, again if it was killed.
server() {
	$INSIDE "$(PATH=$PATH:/usr/sbin:/sbin command -v sshd)" -D -e -f "$BATS_FILE_TMPDIR/config" \
		2>>"$BATS_FILE_TMPDIR/log" </dev/null 3>&- &
	echo "$!" >"$BATS_FILE_TMPDIR/pid"
}

# A server for the file: its keys, its port, and what a client needs to reach it.
setup_file() {
	INSIDE=''
	command -v ssh ssh-keygen >/dev/null && PATH=$PATH:/usr/sbin:/sbin command -v sshd >/dev/null || return 0
	cd "$BATS_FILE_TMPDIR" || return 1
	ssh-keygen -q -t ed25519 -N '' -f host
	ssh-keygen -q -t ed25519 -N '' -f client
	ssh-keygen -q -t ed25519 -N '' -f greeted
	# A shell that greets on standard output.
	printf 'command="echo Welcome; eval \\"$SSH_ORIGINAL_COMMAND\\"" %s\n' "$(cat greeted.pub)" | cat client.pub - >keys
	PORT=$((20000 + RANDOM % 10000))
	[ "$(id -u)" -ne 0 ] || mkdir -p /run/sshd
	cat >config <<-END
		Port $PORT
		ListenAddress 127.0.0.1
		HostKey $PWD/host
		AuthorizedKeysFile $PWD/keys
		StrictModes no
		UsePAM no
		PidFile none
		PermitRootLogin yes
		MaxStartups 100
		Banner $PWD/banner
	END
	echo 'For members only' >banner
	echo "[127.0.0.1]:$PORT $(cat host.pub)" >known
	cat >client.config <<-END
		Host there
			IdentityFile $PWD/client
		Host greets
			IdentityFile $PWD/greeted
		Host *
			HostName 127.0.0.1
			Port $PORT
			UserKnownHostsFile $PWD/known
			IdentitiesOnly yes
			BatchMode yes
			LogLevel ERROR
	END
	network
	server
	for _ in {1..500}; do
		$INSIDE ssh -F client.config there true 2>/dev/null && touch answers && break
		nap 0.02
	done
}

teardown_file() {
	cat "$BATS_FILE_TMPDIR/pid" "$BATS_FILE_TMPDIR/network.pid" 2>/dev/null | xargs -r kill 2>/dev/null || :
}

prepare() {
	[ -e "$BATS_FILE_TMPDIR/answers" ] || skip "no sshd that answers"
	INSIDE=$(cat "$BATS_FILE_TMPDIR/inside" 2>/dev/null) || :
	SSH="$INSIDE ssh -F $BATS_FILE_TMPDIR/client.config"
	FAR="$SSH there env PATH=$PATH OF=$BATS_FILE_TMPDIR"
}

ended() { payloads step.completed "$1"; }

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

# WAY: ends the connections of ten calls, of few in make check; of their commands, which ignore what they can, nothing is
# left in 10 s.
cut() {
	local step from count
	count=$(rounds 4 10)
	rm -f began
	seq "$count" | awf-step -i lines -j 10 --via "exec $FAR" a -- \
		sh -c 'echo >>began; trap "" TERM HUP; while :; do sleep 4001; done' >out 2>said &
	step=$!
	eventually eval '[ "$(cat began 2>/dev/null | wc -l)" -eq '"$count"' ]'
	from=$EPOCHREALTIME
	# shellcheck disable=SC2046 # lists
	case $1 in
	client) kill -9 $(all_of ssh) ;;
	server) kill -9 $(pgrep -P "$(cat "$BATS_FILE_TMPDIR/pid")") ;;
	network) drop_packets ;;
	esac
	wait "$step" || :
	same "$(payloads step.completed .error.code | sort | uniq -c | xargs)" "$count lost"
	until nothing_left 'sleep 4001'; do
		((${EPOCHREALTIME/[.,]/} - ${from/[.,]/} < 10000000))
		nap 0.02
	done
	[ "$1" != network ] || pass_packets
}

# Nobody is told that the network is cut.
drop_packets() {
	$INSIDE nft -f - <<-'END'
		table inet cut {
			chain packets {
				type filter hook input priority 0
				meta l4proto tcp drop
			}
		}
	END
}
pass_packets() { $INSIDE nft delete table inet cut; }
can_be_cut() { [ -n "$INSIDE" ] || skip "no network of its own: needs root, ip, nft and nsenter"; }

# bats test_tags=turn:2
@test "connections that are cut end the commands there, and the calls are lost" { cut client; }

# bats test_tags=turn:2
@test "so does a network that is cut without a word" {
	can_be_cut
	cut network
}

# bats test_tags=torture
@test "so it is of fifty, with whole patience" {
	local way
	patient
	prepare
	for way in client server client server client; do cut "$way"; done
}

# bats test_tags=torture
@test "and of fifty without a word" {
	can_be_cut
	patient
	prepare
	for _ in 1 2 3 4 5; do cut network; done
}

@test "a greeting on standard output is dropped, and told" {
	run --separate-stderr awf-step -n --via "$SSH greets env PATH=$PATH" -r a -- echo done
	same "$output" "done"
	same "$stderr" 'dropped 9 bytes that came before awf-exec answered: Welcome'
}

WAYS=(ssh awf-exec session server)
disrupt() {
	local pid
	pid=$(cat "$BATS_FILE_TMPDIR/pid")
	case $1 in
	ssh | awf-exec) kill_one_of "$1" ;;
	session) kill -9 "$(pgrep -P "$pid" | shuf -n 1)" 2>/dev/null || : ;;
	server)
		kill -9 "$pid"
		nap 0.5
		server
		;;
	network)
		drop_packets
		# As long as both ends wait, and more or less.
		nap "$((RANDOM % 4 + 1))"
		pass_packets
		;;
	esac
}

# ROUNDS COUNT: through a connection that greets, of which all may break.
rounds_of() {
	LAUNCHER="$SSH greets env PATH=$PATH OF=$BATS_FILE_TMPDIR"
	[ -z "$INSIDE" ] || [ "$(rounds few many)" = few ] || WAYS+=(network)
	disrupted_rounds "${SSH_SEED:-${TORTURE_SEED:-$$}}" "$1" "$2"
}

# bats test_tags=ci
@test "items go through connections of which everything breaks, and no effect is doubled" { rounds_of 1 8; }

# bats test_tags=torture
@test "so it is with a hundred items, again and again" {
	rounds_of "${SSH_ROUNDS:-3}" 100
	grep -q '"lost"' "$AWF_STORAGE"/transcripts/*
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
