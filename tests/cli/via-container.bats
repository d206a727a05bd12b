#!/usr/bin/env bats
# awf-step --via 'podman exec -i' and 'docker exec -i', with a container of podman that has the
# programs of this machine; docker, if it is there, speaks to podman's service.
bats_require_minimum_version 1.5.0
load ../support/helpers
load ../support/via

# A container: a root directory of its own, in which what has the programs is mounted.
setup_file() {
	local directory runtime mounted=()
	: "${BUILD:=${BATS_TEST_DIRNAME%/tests/*}/build/test}"
	command -v podman >/dev/null || return 0
	cd "$BATS_FILE_TMPDIR" || return 1
	mkdir -p root/{usr,tmp,proc,sys,dev,etc,run}
	for directory in bin lib lib64 sbin; do
		if [ -L "/$directory" ]; then
			cp -P "/$directory" root/
		elif [ -d "/$directory" ]; then
			mkdir "root/$directory"
			mounted+=(-v "/$directory:/$directory:ro")
		fi
	done
	for runtime in crun runc; do
		echo "--root $PWD/storage --runroot $PWD/state --tmpdir $PWD/tmp --storage-driver vfs" \
			"--cgroup-manager cgroupfs --runtime $runtime" >options
		# The limits are such as anybody may set.
		# shellcheck disable=SC2046 # a list
		timeout 20 podman $(cat options) run -d --replace --init --network none --ulimit nofile=1024:1024 \
			--ulimit nproc=1000:1000 -v /usr:/usr:ro "${mounted[@]}" -v "$BUILD:$BUILD:ro" -v "${PWD%/*}:${PWD%/*}" \
			--name box --rootfs "$PWD/root" sleep 100000 >log 2>&1 && touch answers && break
	done
	[ -e answers ] && command -v docker >/dev/null || return 0
	# shellcheck disable=SC2046
	podman $(cat options) system service -t 0 "unix://$PWD/service" >>log 2>&1 3>&- </dev/null &
	echo "$!" >service.pid
	for _ in {1..250}; do
		DOCKER_HOST="unix://$PWD/service" timeout 5 docker ps >/dev/null 2>&1 && touch docker && break
		nap 0.02
	done
}

teardown_file() {
	[ -e "$BATS_FILE_TMPDIR/options" ] || return 0
	cd "$BATS_FILE_TMPDIR" || return 1
	[ ! -e service.pid ] || kill "$(cat service.pid)" 2>/dev/null || :
	# shellcheck disable=SC2046
	podman $(cat options) rm -f -t 0 box >>log 2>&1
}

prepare() {
	[ -e "$BATS_FILE_TMPDIR/answers" ] || skip "no podman that runs a container"
	PODMAN="podman $(cat "$BATS_FILE_TMPDIR/options")"
	HOST=$($PODMAN exec box uname -n)
	THERE="env PATH=$BUILD/bin:/usr/bin:/bin OF=$BATS_FILE_TMPDIR"
	LAUNCHERS=("$PODMAN exec -i box $THERE")
	if [ -e "$BATS_FILE_TMPDIR/docker" ]; then
		export DOCKER_HOST="unix://$BATS_FILE_TMPDIR/service"
		LAUNCHERS+=("docker exec -i box $THERE")
	fi
}

@test "a command runs in a container: data, status, stderr, where" {
	local launcher
	head -c 500000 /dev/urandom >in
	for launcher in "${LAUNCHERS[@]}"; do
		awf-step --via "$launcher" -r a -- cat <in | cmp - in
		run -3 --separate-stderr awf-step -n --via "$launcher" a -- sh -c 'echo said >&2; exit 9'
		same "$stderr" "$(printf 'said\nawf-step: a: sh: exit status 9')"
		same "$(payloads step.completed '[.exit_code, .far_end.host]')" "[9,\"$HOST\"]"
		same "$(awf-step -n --via "$launcher" -r a -- pwd)" "$PWD"
		run -3 --separate-stderr awf-step -n --via "${launcher%% env *} env PATH=/nowhere" a -- true
		same "$(payloads step.completed .error.code)" '"cannot_launch"'
	done
}

@test "what ends the launcher, or the container, leaves nothing of a command, and the call is lost" {
	local launcher way step from
	for launcher in "${LAUNCHERS[@]}"; do
		for way in launcher container; do
			rm -f began
			awf-step -n --via "exec $launcher" a -- sh -c 'echo >began; trap "" TERM; while :; do sleep 4031; done' 2>said &
			step=$!
			eventually test -e began
			from=$EPOCHREALTIME
			if [ "$way" = launcher ]; then
				kill -9 "$(pgrep -P "$step" "${launcher%% *}")"
			else
				$PODMAN restart -t 0 box >/dev/null
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

WAYS=(podman awf-exec container)
disrupt() {
	case $1 in
	container) $PODMAN restart -t 0 box >/dev/null ;;
	*) kill_one_of "$1" ;;
	esac
}

# bats test_tags=torture
@test "items go to a container that is killed again and again, and no effect is doubled" {
	# shellcheck disable=SC2034 # for disrupted_rounds
	LAUNCHER=${LAUNCHERS[0]}
	disrupted_rounds "${CONTAINER_SEED:-${TORTURE_SEED:-$$}}" "${CONTAINER_ROUNDS:-2}" 50
}
