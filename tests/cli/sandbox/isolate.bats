#!/usr/bin/env bats
# bats file_tags=turn:2
# The hermetic place that replays run in (lib/isolate/isolate.h), through a program that
# runs a command there: what is seen, what can be changed, reached and undone.
# shellcheck shell=bash disable=SC2016,SC2030,SC2031,SC2154
load ../../support/helpers
bats_require_minimum_version 1.5.0

prepare() {
	unshare -Urmpnf true 2>/dev/null || skip 'no user namespaces here'
	WORK=$PWD
}

cleanup() {
	local pids
	pids=$(jobs -p)
	# shellcheck disable=SC2086
	[ -z "$pids" ] || kill -9 $pids 2>/dev/null || true
	rm -f "$BUILD/isolate.$$.sock"
}

# Runs a shell text isolated, in the workspace.
inside() { isolated "$WORK" /bin/sh -c "$@"; }
# Everything below the workspace: kind, mode, time, contents.
listing() { (cd "$WORK" && find . -printf '%y %m %T@ %C@ %p %l\n' | sort && find . -type f -exec cksum {} + | sort); }
# Mounts of this test; others mount beside it.
mounts() { grep -cF " $BATS_TEST_TMPDIR" /proc/self/mountinfo || true; }
# Whether a process has these words in its command line.
running() { pgrep -f -- "$1" >/dev/null; }
stopped() { ! running "$1"; }

# Listens on a path, or with @ on an abstract name, until it is killed.
listen() {
	perl -MSocket -e '
		($name = $ARGV[0]) =~ s/^@/\0/;
		socket(S, AF_UNIX, SOCK_STREAM, 0) && bind(S, pack_sockaddr_un($name)) && listen(S, 9) or die;
		open(F, ">", $ARGV[1]) && close(F); sleep 60' "$1" "$WORK/../up.$2" 3>&- &
	eventually test -e "$WORK/../up.$2"
}
CONNECT='($name = $ARGV[0]) =~ s/^@/\0/; socket(S, AF_UNIX, SOCK_STREAM, 0);
	connect(S, pack_sockaddr_un($name)) or die "$!\n"; print "connected\n"'

@test "the status, the output and the arguments pass" {
	run -0 --separate-stderr inside 'echo "out $0 $1"; echo err >&2' a b
	same "$output" 'out a b'
	same "$stderr" err
	run -7 inside 'exit 7'
	run -137 inside 'kill -9 $$'
	run -127 isolated "$WORK" nosuchcommand
}

@test "no file system can be written but what is private or thrown away" {
	mkdir ../seen
	isolated -v "$PWD/../seen" "$WORK" /bin/sh -c '
		while read -r _ _ _ _ place _; do
			(: >"$place/probe") 2>/dev/null && echo "$place"
		done </proc/self/mountinfo' | sort -u >../written
	for place in /dev/shm /home /root /run /tmp /var/tmp "$HOME" "$WORK"; do
		[ ! -d "$place" ] || readlink -f "$place"
	done | sort -u >../wanted
	diff ../wanted ../written
	run -2 inside 'echo x >/proc/sys/kernel/hostname'
	[[ $output == *'Read-only file system'* ]]
	inside 'for place in / /etc /usr /usr/bin /var /var/lib /dev /sys /sys/kernel /proc /proc/sys; do
		(: >"$place/probe") 2>/dev/null && exit 1; done; true'
	inside 'for file in /etc/passwd /etc/hosts /proc/sysrq-trigger /proc/sys/vm/drop_caches; do
		(: >>"$file") 2>/dev/null && exit 1; done; true'
}

@test "what changes in the workspace is forgotten" {
	mkdir -p old/deep closed
	echo one >old/deep/file
	echo keep >kept
	ln -s kept link
	chmod 555 closed
	listing >../before
	run -0 inside 'echo two >>kept; rm -r old; mkdir old; echo new >old/file; mv link moved
		chmod 700 closed; touch closed/x; mkdir -p a/b/c; mv a d; cat kept old/file; ls'
	same "${lines[*]}" 'keep two new closed d kept moved old'
	listing >../after
	diff ../before ../after
	same "$(inside 'cat old/deep/file')" one
}

@test "changes can be kept on disk, and go all the same" {
	mkdir ../scratch
	echo one >file
	run -0 isolated -t "$PWD/../scratch" "$WORK" /bin/sh -c 'rm file; mkdir -p x/y z; touch x/y/f
		chmod 555 x/y x; chmod 0 z; grep " $PWD " /proc/self/mountinfo | grep -c upperdir; ls'
	same "${lines[*]}" '1 x z'
	same "$(ls -A ../scratch)" ''
	same "$(ls)" file
	run -4 --separate-stderr isolated -t /nowhere "$WORK" true
	same "$stderr" 'isolated: /nowhere: unable to make a directory in it: No such file or directory'
}

@test "another directory is shown as the workspace, which need not exist" {
	mkdir ../snapshot
	echo earlier >../snapshot/file
	echo now >file
	same "$(isolated -s "$PWD/../snapshot" "$WORK" cat file)" earlier
	for place in /nowhere/at/all "$HOME/gone" /usr/share/gone/too; do
		same "$(isolated -s "$PWD/../snapshot" "$place" sh -c 'pwd; cat file; echo x >file; cat file' |
			paste -sd' ')" "$place earlier x"
		[ ! -e "$place" ]
	done
	same "$(isolated -s "$PWD/../snapshot" /usr/share/gone ls /usr/share | grep -vx gone)" "$(ls /usr/share)"
	run -4 --separate-stderr isolated /nowhere/at/all true
	same "$stderr" 'isolated: /nowhere/at/all: unable to show it: No such file or directory'
	run -4 --separate-stderr isolated "$WORK/file" true
	same "$stderr" "isolated: $WORK/file: is no directory"
}

@test "files in /tmp and HOME are not seen, but what is named is, and cannot be written" {
	mkdir -p ../seen/deep ../store/replay
	touch "$HOME/secret" ../secret ../seen/deep/tool
	same "$(inside "find ~ /var/tmp /run /dev/shm -mindepth 1 -path '$BATS_RUN_TMPDIR' -prune -o -mindepth 1 -print")" ''
	same "$(inside 'find /tmp /dev/shm -name secret')" ''
	same "$(isolated -v "$PWD/../seen" -v /nowhere "$WORK" ls "$PWD/../seen/deep")" tool
	same "$(isolated -v "$HOME/secret" -v "$PWD/../seen" -v "$PWD/../seen/deep/tool" "$WORK" sh -c '
		(echo x >~/secret) 2>/dev/null || find ~ ../seen -type f')" "$(printf '%s\n' "$HOME/secret" ../seen/deep/tool)"
	isolated -v "$PWD/../store" -w "$PWD/../store/replay" "$WORK" sh -c 'touch ../store/replay/result
		touch ../store/no 2>/dev/null && exit 1; touch "$HOME/a" /tmp/b /run/c'
	same "$(ls ../store/replay)" result
	same "$(ls "$HOME")" secret
	[ ! -e /run/c ]
}

@test "a directory named through a hidden link is seen by that name" {
	mkdir -p ../real/bin
	echo 'echo tool' >../real/bin/tool
	ln -s "$PWD/../real" ../link
	same "$(isolated -v "${WORK%/*}/link/bin" "$WORK" sh "${WORK%/*}/link/bin/tool")" tool
}

@test "names that an option of a mount would misread" {
	place=$PWD/$'a:b,c\\d e"f\ng'
	mkdir "$place"
	echo there >"$place/file"
	same "$(isolated -v "$place" "$place" sh -c 'cat file; echo x >file; cat file' | paste -sd' ')" 'there x'
	same "$(isolated -v "$place" "$HOME" cat "$place/file")" there
	same "$(cat "$place/file")" there
}

@test "no server of the machine can be reached, one inside can" {
	mkdir ../seen
	listen "$WORK/sock" 1
	listen "${WORK%/*}/seen/sock" 2
	listen "$BUILD/isolate.$$.sock" 3
	listen "@awf-isolate-$$" 4
	perl -MIO::Socket::INET -e '$s = IO::Socket::INET->new(Listen => 9, LocalAddr => "127.0.0.1") or die;
		open(F, ">", $ARGV[0]); print F $s->sockport; close F; sleep 60' "$WORK/../port" 3>&- &
	eventually test -s "$WORK/../port"
	for name in "$WORK/sock" "${WORK%/*}/seen/sock" "$BUILD/isolate.$$.sock" "@awf-isolate-$$"; do
		same "$(perl -MSocket -e "$CONNECT" "$name")" connected
		run ! isolated -v "${WORK%/*}/seen" -v "$BUILD" "$WORK" perl -MSocket -e "$CONNECT" "$name"
		same "$output" 'Connection refused'
	done
	bash -c "exec 5<>/dev/tcp/127.0.0.1/$(cat ../port)"
	run ! isolated "$WORK" bash -c "exec 5<>/dev/tcp/127.0.0.1/$(cat ../port)"
	[[ $output == *'Connection refused'* ]]
	same "$(inside 'ls /sys/class/net >/dev/null; cut -d: -f1 -s /proc/net/dev | tr -d " "')" lo
	isolated "$WORK" perl -MIO::Socket::INET -e '$s = IO::Socket::INET->new(Listen => 9, LocalAddr => "127.0.0.1") or die;
		IO::Socket::INET->new("127.0.0.1:" . $s->sockport) or die'
}

@test "only its own processes are there" {
	same "$(inside 'cd /proc; echo [0-9]*')" '1 2'
	inside 'kill -9 1; kill -STOP 1; sleep 0.1; true'
	run ! inside "kill -0 $$"
	run ! inside "kill -0 $PPID"
	same "$(inside 'readlink /proc/1/exe' 2>/dev/null)" ''
}

@test "the user, the host name, the pids" {
	same "$(inside 'id -u; id -g; hostname')" "$(id -u; id -g; hostname)"
	same "$(isolated -n elsewhere "$WORK" hostname)" elsewhere
	same "$(isolated -p 700 "$WORK" sh -c 'echo $$; sh -c "echo \$\$; :"' | paste -sd' ')" '700 701'
	same "$(umask 027; inside umask)" 0027
	same "$(isolated -d / "$WORK" pwd)" /
	run -4 --separate-stderr isolated -d /nowhere "$WORK" pwd
	same "$stderr" 'isolated: /nowhere: unable to start in it: No such file or directory'
	run -4 --separate-stderr isolated -n "$(printf %0100d 1)" "$WORK" pwd
	[[ $stderr == "isolated: isolation: unable to set the host name 0"* ]]
}

# bats test_tags=turn:2
@test "nothing can be undone from inside" {
	echo 'echo x' >script
	while read -r attempt; do
		run inside "$attempt"
		[ "$status" -ne 0 ] || { echo "it did: $attempt" >&2; return 1; }
	done <<-'END'
		umount /proc
		umount -l /tmp
		umount .
		mount -o remount,rw /
		mount -o remount,bind,rw /usr
		mount -t tmpfs none /mnt
		mount -t tmpfs none .
		mount --bind /usr /mnt
		mount --move /tmp /mnt
		nsenter -t 1 -m true
		nsenter -t 1 -U true
		nsenter -t 1 -n true
		nsenter -t 1 -p true
		chroot /proc/1/root true
		ls /proc/1/root/
		ls /proc/1/cwd/
		chroot /usr/.. true
		mknod device b 8 0
		mknod device c 1 3
		hostname other
		cat /dev/kmsg
		cat /proc/1/environ
		: </proc/1/mem
		unshare -m true
		unshare -n true
		echo x >/proc/1/comm
		: >/proc/sys/kernel/core_pattern
	END
}

@test "capabilities are gone but those over files that the caller had; no privilege comes back" {
	same "$(inside 'grep NoNewPrivs /proc/self/status' | tr -d '\t')" NoNewPrivs:1
	kept=$((0x$(awk '/^CapEff/ { print $2 }' /proc/self/status) & 0x8000001b))
	for set in CapPrm CapEff CapBnd; do
		same "$((0x$(inside "awk '/^$set/ { print \$2 }' /proc/self/status")))" "$kept"
	done
	for set in CapInh CapAmb; do
		same "$((0x$(inside "awk '/^$set/ { print \$2 }' /proc/self/status")))" 0
	done
}

@test "a user who is not root: the same, and namespaces inside give nothing back" {
	user=()
	if [ "$(id -u)" -eq 0 ]; then
		user=(setpriv --reuid 65534 --regid 65534 --clear-groups)
		chmod 755 "$BATS_TEST_TMPDIR" "$BATS_RUN_TMPDIR" "$BATS_SUITE_TMPDIR" "$BATS_FILE_TMPDIR"
		chown 65534:65534 "$WORK"
	fi
	"${user[@]}" test -x "$BUILD/tests/support/isolated" || skip 'another user cannot come here'
	"${user[@]}" unshare -Urm true || skip 'no user namespaces for another user'
	run -0 --separate-stderr "${user[@]}" isolated "$WORK" sh -c 'id -u; : >a; ls; grep CapBnd /proc/self/status | cut -f2'
	same "${lines[*]}" "$("${user[@]}" id -u) a 0000000000000000"
	same "$(ls)" ''
	while read -r attempt; do
		run "${user[@]}" isolated "$WORK" unshare -Urmpnf sh -c "$attempt"
		[ "$status" -ne 0 ] || { echo "it did: $attempt" >&2; return 1; }
	done <<-'END'
		unshare -C true
		umount /usr
		umount -l /tmp
		umount -l .
		umount /proc/sys
		mount -o remount,rw /usr
		mount -o remount,bind,rw /usr
		mount --bind /usr /mnt && : >/mnt/probe
		mount --bind / /mnt && : >/mnt/probe
		mount --rbind / /mnt && : >/mnt/usr/probe
		mount -t proc none /proc && : >/proc/sys/kernel/core_pattern
		: >/proc/sys/kernel/core_pattern
	END
	"${user[@]}" isolated "$WORK" unshare -Urmf mount -t tmpfs none /tmp
}

@test "no descriptor comes in, stdin is empty, no terminal" {
	echo text >file
	same "$(inside 'ls /proc/self/fd | paste -sd" "; cat' 7<file 8<. <file)" '0 1 2 3'
	# A directory there would lead to the machine's files.
	same "$(inside 'ls /proc/self/fd/1/ >&2' 2>&1 1<.)" "ls: cannot access '/proc/self/fd/1/': Not a directory"
	run ! inside ': </dev/tty'
	same "$(inside 'ls /dev | paste -sd" "')" \
		'fd full null ptmx pts random shm stderr stdin stdout tty urandom zero'
	same "$(inside 'head -c 9 /dev/zero | wc -c; echo a >/dev/null; echo to stdout >/dev/stdout')" '9
to stdout'
	isolated "$WORK" perl -e 'open(P, "+<", "/dev/ptmx") or die "$!"'
}

@test "keys of the session are not found" {
	perl -e 'require "sys/syscall.ph"' 2>/dev/null || skip 'no numbers of system calls here'
	cat >../keys.pl <<-'END'
		require "sys/syscall.ph";
		my ($type, $name, $value) = ("user", "awf-test", "secret");
		if (@ARGV) {
			syscall(SYS_keyctl(), 1, 0) >= 0 and syscall(SYS_add_key(), $type, $name, $value, 6, -3) > 0 or exit 9;
			exec @ARGV;
		}
		print syscall(SYS_keyctl(), 10, -3, $type, $name, 0) > 0 ? "found\n" : "none\n";
	END
	run perl ../keys.pl perl ../keys.pl
	[ "$status" -ne 9 ] || skip 'no keys here'
	same "$output" found
	mv ../keys.pl .
	same "$(perl keys.pl isolated "$WORK" perl keys.pl)" none
}

@test "signals are passed on, those ignored before are not" {
	for pair in HUP:1 INT:2 QUIT:3 TERM:15; do
		rm -f ../out
		perl -e '$SIG{$_} = "DEFAULT" for qw(INT QUIT HUP TERM); exec @ARGV' isolated "$WORK" sh -c \
			'trap "echo caught; exit 5" HUP INT QUIT TERM; echo up; while :; do sleep 0.05; done' \
			>../out 2>../err 3>&- &
		pid=$!
		eventually grep -q up ../out
		kill -s "${pair%:*}" $pid
		status=0
		wait $pid || status=$?
		same "$status $(tail -n 1 ../out) $(cat ../err)" "5 caught isolated: passed on signal ${pair#*:}"
	done
	rm -f ../out
	nohup isolated "$WORK" sh -c 'echo up; sleep 0.5; exit 6' >../out 2>/dev/null 3>&- &
	eventually grep -q up ../out
	kill -HUP $!
	status=0
	wait $! || status=$?
	same "$status" 6
}

@test "when it ends, by SIGKILL too, nothing goes on running" {
	word=$((RANDOM + 10000)).$$
	inside "setsid sleep $word & sleep $word & exit 0" >/dev/null
	stopped "sleep $word"
	for victim in outer first; do
		isolated "$WORK" sh -c "setsid sleep $word & sleep $word & sleep $word" 2>../message 3>&- &
		pid=$!
		eventually running "sleep $word"
		if [ $victim = outer ]; then
			kill -9 $pid
		else
			kill -9 "$(pgrep -P $pid)"
		fi
		status=0
		wait $pid || status=$?
		eventually stopped "sleep $word"
		[ $victim = outer ] || same "$status $(cat ../message)" \
			'4 isolated: isolation: its first process was killed'
	done
}

@test "twenty times, and nothing is left" {
	mkdir ../scratch
	before="$(mounts) $(find "${WORK%/*}" -maxdepth 1 | sort | paste -sd" ")"
	for _ in $(seq 10); do
		inside ': >file' && isolated -t "$WORK/../scratch" "$WORK" sh -c 'mkdir a; : >a/file'
	done
	same "$(mounts) $(find "${WORK%/*}" -maxdepth 1 | sort | paste -sd" ")" "$before"
	same "$(ls -A . ../scratch)" "$(printf '.:\n\n../scratch:\n')"
}

@test "directories in which something is mounted" {
	mkdir -p ../seen/sub
	touch ../seen/below sub
	run -0 unshare -Urm sh -c 'mount -t tmpfs none ../seen/sub; touch ../seen/sub/file
		isolated -v "$PWD/../seen" "$PWD" sh -c "find ../seen | sort; touch ../seen/x ../seen/sub/x 2>/dev/null; ls ../seen/sub"'
	same "${lines[*]}" '../seen ../seen/below ../seen/sub ../seen/sub/file file'
	mkdir part
	run -4 unshare -Urm sh -c 'mount -t tmpfs none part; isolated "$PWD" true'
	same "$output" "isolated: isolation: unable to lay an overlay over $PWD, in which something is mounted: Invalid argument; --isolation copy and --isolation none do without"
}

@test "a file on which something is mounted" {
	run -0 unshare -Urm sh -c 'mount --bind /etc/passwd /etc/group
		ls /etc >../there; isolated "$PWD" sh -c "ls /etc" | diff ../there - && isolated "$PWD" cat /etc/group'
	same "$output" "$(cat /etc/passwd)"
}

@test "a namespace that is missing is named" {
	while IFS='|' read -r limit value name; do
		run -4 --separate-stderr unshare -Ur sh -c "echo $value >/proc/sys/user/max_${limit}_namespaces
			exec isolated '$WORK' touch ran"
		same "$output" ''
		same "$stderr" "isolated: isolation: unable to make a $name namespace: No space left on device; --isolation copy and --isolation none do without"
	done <<-'END'
		user|0|user
		user|1|second user
		pid|0|PID
		mnt|0|mount
		net|0|network
		ipc|0|IPC
		uts|0|UTS (host name)
	END
	[ ! -e ran ]
}

@test "a mount or call that is refused is named" {
	! grep -qa __asan_init "$BUILD/tests/support/isolated" || skip 'a sanitizer comes before the faults'
	mkdir ../scratch
	while IFS='|' read -r fault what; do
		run -4 --separate-stderr env LD_PRELOAD="$BUILD/tests/fault/preload.so" "$fault" \
			isolated -p 300 -w "$PWD/../scratch" "$WORK" touch ran
		same "$output" ''
		[[ $stderr == 'isolated: isolation: unable to '$what': Operation not permitted; --isolation copy and --isolation none do without' ]] ||
			{ echo "$fault: $stderr" >&2; return 1; }
	done <<-END
		FAULT_MOUNT=tmpfs|mount an empty file system
		FAULT_MOUNT=overlay|mount an overlay
		FAULT_MOUNT=proc|mount /proc
		FAULT_MOUNT=/host/sys|mount /sys
		FAULT_MOUNT=/proc/sys|make /proc read-only
		FAULT_MOUNT=devpts|make /dev
		FAULT_MOUNT=/dev/null|make /dev
		FAULT_MOUNT=scratch|mount ${WORK%/*}/scratch
		FAULT_SYSCALL=pivot_root|change the root
		FAULT_SYSCALL=clone|make a user namespace
	END
	[ ! -e ran ]
}

@test "a system or filter without clone3 or mount_setattr isolates all the same" {
	mkdir -p dir/below
	echo was >dir/file
	for call in clone3 mount_setattr; do
		for reason in ENOSYS EPERM; do
			same "$(python3 "$BATS_TEST_DIRNAME/../../support/refuse.py" $call $reason isolated "$WORK" sh -c '
				touch /usr/new /etc/new 2>/dev/null && echo changed
				touch /sys/new /proc/sys/kernel/hostname 2>/dev/null && echo changed
				echo is >dir/file && cat dir/file')" is
			same "$(cat dir/file)" was
		done
	done
}
