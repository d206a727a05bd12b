#!/usr/bin/env bats
# awf-step --via srun, with a Slurm of three slurmd on this machine, where it is installed: munge,
# slurmctld, slurmd, slurm-client.
# SLURM_ROUNDS=20 for a long run; SLURM_SEED=N for the same choices again.
# bats file_tags=ci
bats_require_minimum_version 1.5.0
load ../../support/helpers
load ../../support/via

NODES=3

# NAME: starts a daemon of the cluster, again if it was killed.
daemon() {
	local name=$1
	case $name in
	munged)
		set -- munged --foreground --force --key-file="$CLUSTER/key" --socket="$CLUSTER/munge.socket" \
			--pid-file="$CLUSTER/munge.pid" --log-file="$CLUSTER/munge.log" --seed-file="$CLUSTER/seed"
		;;
	slurmctld) set -- slurmctld -D -f "$SLURM_CONF" ;;
	*) set -- slurmd -D -N "$name" -f "$SLURM_CONF" ;;
	esac
	"$@" </dev/null >>"$CLUSTER/log" 2>&1 3>&- &
	echo "$!" >"$CLUSTER/$name.daemon"
}

# A cluster whose state is below the directory of the file.
setup_file() {
	export CLUSTER="$BATS_FILE_TMPDIR/cluster" SLURM_CONF="$BATS_FILE_TMPDIR/cluster/slurm.conf"
	PATH=$PATH:/usr/sbin:/sbin
	command -v slurmctld slurmd srun munged >/dev/null && [ "$(id -u)" -eq 0 ] || return 0
	mkdir "$CLUSTER"
	cd "$CLUSTER" || return 1
	chmod 755 . .. ../..
	mkdir state
	(umask 077 && head -c 1024 /dev/urandom >key)
	local port=$((20000 + RANDOM % 10000)) i
	cat >slurm.conf <<-END
		ClusterName=test
		SlurmctldHost=$(hostname -s)(127.0.0.1)
		SlurmctldPort=$port
		SlurmUser=root
		SlurmdUser=root
		AuthType=auth/munge
		AuthInfo=socket=$PWD/munge.socket
		CredType=cred/munge
		CommunicationParameters=NoCtldInAddrAny,NoInAddrAny
		StateSaveLocation=$PWD/state
		SlurmdSpoolDir=$PWD/spool-%n
		SlurmctldPidFile=$PWD/slurmctld.pid
		SlurmdPidFile=$PWD/slurmd-%n.pid
		SlurmctldLogFile=$PWD/slurmctld.log
		SlurmdLogFile=$PWD/slurmd-%n.log
		ProctrackType=proctrack/linuxproc
		TaskPlugin=task/none
		JobAcctGatherType=jobacct_gather/none
		AccountingStorageType=accounting_storage/none
		JobCompType=jobcomp/none
		SwitchType=switch/none
		MpiDefault=none
		SelectType=select/cons_tres
		SelectTypeParameters=CR_CPU
		SchedulerType=sched/backfill
		SchedulerParameters=batch_sched_delay=0,sched_interval=1,sched_min_interval=0
		ReturnToService=2
		SlurmdParameters=config_overrides
		SlurmdTimeout=10
		KillWait=2
		InactiveLimit=5
	END
	for ((i = 1; i <= NODES; i++)); do
		echo "NodeName=n$i NodeHostname=$(hostname -s) NodeAddr=127.0.0.1 Port=$((port + i)) CPUs=8" >>slurm.conf
	done
	echo "PartitionName=all Nodes=n[1-$NODES] Default=YES MaxTime=INFINITE State=UP" >>slurm.conf
	daemon munged
	eventually test -S munge.socket
	daemon slurmctld
	for ((i = 1; i <= NODES; i++)); do
		mkdir "spool-n$i"
		daemon "n$i"
	done
	for _ in {1..300}; do
		timeout 5 srun -n1 true 2>/dev/null && touch answers && break
		nap 0.1
	done
}

teardown_file() {
	local pids
	[ -d "$CLUSTER" ] || return 0
	PATH=$PATH:/usr/sbin:/sbin
	# What a job was killed of is ended by its slurmstepd, which outlives all of them.
	! timeout 5 scancel -u root 2>/dev/null || nap 0.5
	pids=$(cat "$CLUSTER"/*.daemon)
	# shellcheck disable=SC2086 # a list
	kill $pids 2>/dev/null || :
	for _ in {1..100}; do
		# shellcheck disable=SC2086
		kill -0 $pids 2>/dev/null || break
		nap 0.05
	done
	# shellcheck disable=SC2046,SC2086
	kill -9 $pids $(all_of slurmstepd) 2>/dev/null || :
}

prepare() {
	[ -e "$CLUSTER/answers" ] || skip "no Slurm that answers"
	PATH=$PATH:/usr/sbin:/sbin
}

@test "srun starts one, and more than one is refused" {
	same "$(awf-step -n --via 'srun -n1' -r a -- sh -c 'echo "$SLURM_STEP_NUM_TASKS"')" 1
	run -3 --separate-stderr awf-step -n --via 'srun -n2' a -- touch ran
	same "$(payloads step.completed .error.code)" '"cannot_launch"'
	[ ! -e ran ]
	run -3 --separate-stderr awf-step -n --via 'srun -n1 env PATH=/nowhere' a -- touch ran
	same "$(payloads step.completed .error.code)" '"cannot_launch"'
}

@test "in an allocation each call is a step of its job" {
	salloc -Q -n2 sh -c 'seq 4 | awf-step -i lines -j 2 --via "srun -n1 --exact --quiet" -r a -- \
		sh -c "echo \$SLURM_JOB_ID"' | uniq -c | awk '{ print $1 }' | same "$(cat)" 4
}

WAYS=(awf-exec srun slurmstepd slurmd down job step slurmctld)
disrupt() {
	local node=n$((RANDOM % NODES + 1))
	case $1 in
	awf-exec | srun | slurmstepd) kill_one_of "$1" ;;
	slurmd)
		kill -9 "$(cat "$CLUSTER/$node.daemon")"
		nap 0.5
		daemon "$node"
		;;
	down)
		scontrol update nodename="$node" state=DOWN reason=test || :
		nap 0.5
		# A slurmd that is started says so itself.
		eventually eval "scontrol update nodename=$node state=RESUME || sinfo -h -n $node -t idle,mix | grep -q ." 2>/dev/null
		;;
	job) scancel "$(squeue -h -t R -o %i | shuf -n 1)" 2>/dev/null || : ;;
	step) scancel "$(squeue -h -s -o %i | shuf -n 1)" 2>/dev/null || : ;;
	slurmctld)
		kill -9 "$(cat "$CLUSTER/slurmctld.daemon")"
		nap 1
		daemon slurmctld
		;;
	esac
}

@test "items go to a cluster of which everything breaks, and no effect is doubled" {
	LAUNCHER='srun -n1 --quiet'
	disrupted_rounds "${SLURM_SEED:-$$}" 1 12
}

# bats test_tags=torture
@test "so it is with a hundred items, again and again" {
	LAUNCHER='srun -n1 --quiet'
	disrupted_rounds "${SLURM_SEED:-${TORTURE_SEED:-$$}}" "${SLURM_ROUNDS:-3}" 100
	# Some of them were lost.
	grep -q '"lost"' "$AWF_STORAGE"/transcripts/*
}

# A command that starts nothing any more: Slurm without cgroups kills leaves first, and what a shell
# starts in their place is found by nobody once the guardian was killed, too.
#
# SIGNAL: ends ten calls, few in make check, by what it does to their srun; of their commands, which ignore what they
# can, nothing is left in 10 s.
cut() {
	local step from count
	count=$(rounds 4 10)
	rm -f began
	seq "$count" | awf-step -i lines -j 10 --via 'srun -n1 --quiet' a -- \
		sh -c 'echo >>began; trap "" TERM HUP; exec sleep 4021' >out 2>said &
	step=$!
	eventually eval '[ "$(cat began 2>/dev/null | wc -l)" -eq '"$count"' ]'
	# shellcheck disable=SC2046 # a list
	kill "-$1" $(all_of srun)
	from=$EPOCHREALTIME
	wait "$step" || :
	same "$(payloads step.completed .error.code | sort | uniq -c | xargs)" "$count lost"
	until nothing_left 'sleep 4021'; do
		((${EPOCHREALTIME/[.,]/} - ${from/[.,]/} < 10000000))
		nap 0.02
	done
	# Their allocations stay for a while.
	scancel -u root
	eventually eval '[ -z "$(squeue -h)" ]'
}

@test "of calls whose srun is killed, or says nothing any more, nothing is left in ten seconds" {
	cut KILL
	cut STOP
}

# bats test_tags=torture
@test "so it is of fifty, with whole patience" {
	local way
	patient
	for way in KILL STOP KILL STOP KILL; do cut "$way"; done
}
