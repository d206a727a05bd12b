#!/usr/bin/env bats
# awf-step --via 'podman exec -i' and 'docker exec -i', with a container that has the programs of this
# machine, of each of the two that is installed; of docker, as root, with a dockerd of its own.
# bats file_tags=ci
bats_require_minimum_version 1.5.0
load ../../support/helpers
load ../../support/via

# NAME CLIENT...: starts a container, of an image that is a root directory without programs, in which
# those of this machine are mounted. If it runs, NAME.client says by what it is spoken to.
box() {
	local name=$1 mounted=() directory
	shift
	for directory in bin lib lib64; do
		[ ! -d "root/$directory" ] || [ -L "root/$directory" ] || mounted+=(-v "/$directory:/$directory:ro")
	done
	# The limits are such as anybody may set.
	tar -C root -c . | timeout 20 "$@" import - awf-test >>log 2>&1 &&
		timeout 20 "$@" run -d --init --network none --ulimit nofile=1024:1024 --ulimit nproc=1000:1000 \
			-v /usr:/usr:ro "${mounted[@]}" -v "$BUILD:$BUILD:ro" -v "${PWD%/*}:${PWD%/*}" --name box \
			awf-test sleep 3600 >>log 2>&1 && echo "$*" >"$name.client"
}

setup_file() {
	local directory runtime
	: "${BUILD:=${BATS_TEST_DIRNAME%/tests/*}/build/test}"
	PATH=$PATH:/usr/sbin:/sbin
	cd "$BATS_FILE_TMPDIR" || return 1
	mkdir -p root/{usr,sbin,tmp,proc,sys,dev,etc,run}
	for directory in bin lib lib64; do
		if [ -L "/$directory" ]; then cp -P "/$directory" root/; elif [ -d "/$directory" ]; then mkdir "root/$directory"; fi
	done
	if command -v podman >/dev/null; then
		# Not each runtime runs on each machine.
		for runtime in crun runc; do
			box podman podman --root "$PWD/podman-$runtime" --runroot "$PWD/state-$runtime" --tmpdir "$PWD/tmp" \
				--storage-driver vfs --cgroup-manager cgroupfs --runtime "$runtime" && break
		done
	fi
	if command -v docker dockerd >/dev/null && [ "$(id -u)" -eq 0 ]; then
		dockerd --data-root "$PWD/docker" --exec-root "$PWD/exec" -p "$PWD/dockerd.pid" -H "unix://$PWD/dockerd" \
			--bridge none --iptables=false --storage-driver vfs </dev/null >>log 2>&1 3>&- &
		echo "$!" >dockerd.started
		for _ in {1..250}; do
			! [ -S dockerd ] || ! timeout 5 docker -H "unix://$PWD/dockerd" ps >/dev/null 2>&1 || break
			nap 0.04
		done
		box docker docker -H "unix://$PWD/dockerd" || :
	fi
}

teardown_file() {
	local client pid
	cd "$BATS_FILE_TMPDIR" || return 1
	for client in *.client; do
		# shellcheck disable=SC2046 # a list
		[ ! -e "$client" ] || $(cat "$client") rm -f box >>log 2>&1
	done
	[ -e dockerd.started ] || return 0
	pid=$(cat dockerd.started)
	kill "$pid" 2>/dev/null || :
	for _ in {1..100}; do
		kill -0 "$pid" 2>/dev/null || break
		nap 0.1
	done
}

prepare() {
	local client
	CLIENTS=()
	for client in "$BATS_FILE_TMPDIR"/*.client; do [ ! -e "$client" ] || CLIENTS+=("$(cat "$client")"); done
	[ "${#CLIENTS[@]}" -gt 0 ] || skip "neither podman nor dockerd that runs a container"
	THERE="env PATH=$BUILD/bin:/usr/bin:/bin OF=$BATS_FILE_TMPDIR"
}

@test "a command runs in a container: data, status, stderr, where" {
	local client launcher
	head -c 500000 /dev/urandom >in
	for client in "${CLIENTS[@]}"; do
		launcher="$client exec -i box $THERE"
		awf-step --via "$launcher" -r a -- cat <in | cmp - in
		run -3 --separate-stderr awf-step -n --via "$launcher" a -- sh -c 'echo said >&2; exit 9'
		same "$stderr" "$(printf 'said\nawf-step: a: sh: exit status 9')"
		same "$(payloads step.completed '[.exit_code, .far_end.host]')" "[9,\"$($client exec box uname -n)\"]"
		same "$(awf-step -n --via "$launcher" -r a -- pwd)" "$PWD"
		run -3 --separate-stderr awf-step -n --via "$client exec -i box env PATH=/nowhere" a -- true
		same "$(payloads step.completed .error.code)" '"cannot_launch"'
	done
}

@test "what ends the launcher, or the container, leaves nothing of a command, and the call is lost" {
	local client launcher way step from
	for client in "${CLIENTS[@]}"; do
		launcher="$client exec -i box $THERE"
		for way in launcher container; do
			rm -f began
			awf-step -n --via "exec $launcher" a -- sh -c 'echo >began; trap "" TERM; while :; do sleep 4031; done' 2>said &
			step=$!
			eventually test -e began
			from=$EPOCHREALTIME
			if [ "$way" = launcher ]; then
				kill -9 "$(pgrep -P "$step" "${client%% *}")"
			else
				$client restart -t 0 box >/dev/null
			fi
			wait "$step" || :
			same "$launcher $(payloads step.completed .error.code)" "$launcher \"lost\""
			until nothing_left 'sleep 4031'; do
				((${EPOCHREALTIME/[.,]/} - ${from/[.,]/} < 10000000))
				nap 0.02
			done
		done
	done
}

WAYS=(client awf-exec container)
disrupt() {
	case $1 in
	container) $CLIENT restart -t 0 box >/dev/null ;;
	client) kill_one_of "${CLIENT%% *}" ;;
	*) kill_one_of "$1" ;;
	esac
}

# bats test_tags=torture
@test "items go to a container that is killed again and again, and no effect is doubled" {
	# shellcheck disable=SC2034 # for disrupted_rounds
	RETRY_ON=lost,cannot_launch # while the container stops, there is nothing in it
	for CLIENT in "${CLIENTS[@]}"; do
		# shellcheck disable=SC2034
		LAUNCHER="$CLIENT exec -i box $THERE"
		disrupted_rounds "${CONTAINER_SEED:-${TORTURE_SEED:-$$}}" "${CONTAINER_ROUNDS:-3}" 50
	done
}
