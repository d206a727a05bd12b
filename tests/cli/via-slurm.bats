#!/usr/bin/env bats
# awf-step --via srun, with a Slurm of three slurmd on this machine. In make torture, where Slurm is
# installed: slurmctld, slurmd, munge.
bats_require_minimum_version 1.5.0
load ../support/helpers

# bats file_tags=torture

NODES=3

# A cluster whose state is below the directory of the file.
setup_file() {
	export SLURM_CONF="$BATS_FILE_TMPDIR/slurm.conf"
	PATH=$PATH:/usr/sbin:/sbin
	command -v slurmctld slurmd srun munged >/dev/null && [ "$(id -u)" -eq 0 ] || return 0
	cd "$BATS_FILE_TMPDIR" || return 1
	chmod 755 . ..
	mkdir -p state munge spool
	chmod 700 munge
	(umask 077 && head -c 1024 /dev/urandom >munge/key)
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
		SlurmdSpoolDir=$PWD/spool/%n
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
	END
	for ((i = 1; i <= NODES; i++)); do
		echo "NodeName=n$i NodeHostname=$(hostname -s) NodeAddr=127.0.0.1 Port=$((port + i)) CPUs=8" >>slurm.conf
	done
	echo "PartitionName=all Nodes=n[1-$NODES] Default=YES MaxTime=INFINITE State=UP" >>slurm.conf
	munged --foreground --force --key-file=munge/key --socket=munge.socket --pid-file=munged.pid \
		--log-file=munge/log --seed-file=munge/seed >>log 2>&1 3>&- &
	echo "$!" >>pids
	sleep 1
	slurmctld -D -f "$SLURM_CONF" >>log 2>&1 3>&- &
	echo "$!" >>pids
	for ((i = 1; i <= NODES; i++)); do
		mkdir -p "spool/n$i"
		slurmd -D -N "n$i" -f "$SLURM_CONF" >>log 2>&1 3>&- &
		echo "$!" >>pids
	done
	for _ in {1..300}; do
		timeout 5 srun -n1 true 2>/dev/null && touch answers && break
		sleep 0.1
	done
}

teardown_file() {
	cd "$BATS_FILE_TMPDIR" || return 0
	[ -e pids ] || return 0
	tac pids | xargs kill 2>/dev/null || :
	# A slurmd waits for what it has run.
	for _ in {1..100}; do
		xargs kill -0 <pids 2>/dev/null || break
		sleep 0.05
	done
	xargs kill -9 <pids 2>/dev/null || :
}

prepare() { [ -e "$BATS_FILE_TMPDIR/answers" ] || skip "no Slurm that answers"; }

@test "srun starts one, and more than one is refused" {
	same "$(awf-step -n --via 'srun -n1' -r a -- sh -c 'echo "$SLURM_STEP_NUM_TASKS"')" 1
	run -3 --separate-stderr awf-step -n --via 'srun -n2' a -- touch ran
	same "$(payloads step.completed .error.code)" '"cannot_launch"'
	[ ! -e ran ]
}

# NAME: the pid of one process of this name and this cluster.
one_of() {
	pgrep -x "$1" | while read -r pid; do
		! grep -qzF "$BATS_FILE_TMPDIR" "/proc/$pid/environ" 2>/dev/null || echo "$pid"
	done | shuf -n 1
}

@test "a hundred items, eight at a time, while nodes and steps are killed: each comes out once" {
	seq 100 | awf-step -i lines -j 8 --retries 20 --effects none --via 'srun -n1' -r square -- \
		sh -c 'read n; sleep 0.5; echo $((n * n))' >out 2>said &
	local step=$! ours kills=0
	# Now and then an awf-exec, what Slurm runs it by, or an srun.
	while ! gone "$step"; do
		nap 1
		case $((kills++ % 3)) in
		0) ours=$(one_of awf-exec) ;;
		1) ours=$(ps -o ppid= -p "$(one_of awf-exec)" 2>/dev/null) || ours= ;;
		2) ours=$(one_of srun) ;;
		esac
		# shellcheck disable=SC2086 # it may have a blank before it
		[ -z "$ours" ] || kill -9 $ours 2>/dev/null || :
		[ "$kills" -lt 12 ] || break
	done
	wait "$step" || { cat said; false; }
	seq 100 | awk '{ print $1 * $1 }' | cmp - out
	awf-verify -q
	# Some of them were lost.
	grep -q lost "$(transcript)"
}
