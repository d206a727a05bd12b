#!/usr/bin/env bats
# bats file_tags=turn:3
# Attempts to get out of a sandbox (fault_escape.c), with all parts of it and with each
# one missing: as root, if the tests run as root, and as an ordinary user. All that is
# aimed at is made here: files below /var/tmp, and a process.
# shellcheck disable=SC2016,SC2030,SC2031,SC2046,SC2154 # tables are expanded later; options are words
bats_require_minimum_version 1.5.0
load ../support/helpers

SANDBOX_USERS="self nobody"

prepare() {
	sandbox="$BUILD/libexec/awf/awf-sandbox"
	outside=$(mktemp -d /var/tmp/awf-sandbox-test.XXXXXX)
	mkdir "$outside/shared" "$outside/writable"
	echo secret >"$outside/secret"
	echo shared >"$outside/shared/file"
	# Where every attempt sees it, wherever it was built.
	escape="$outside/shared/escape"
	cp "$BUILD/tests/fault/fault_escape" "$escape"
	env SECRET=of-another-process sleep 300 3>&- &
	victim=$!
}

cleanup() {
	kill "$victim" "${listener:-$victim}" "${swapper:-$victim}" 2>/dev/null || true
	cd /
	umount "$outside/small" 2>/dev/null || true
	rm -rf "$outside"
}

# What each configuration is called with.
options() {
	case $1 in
	full) ;;
	namespaces) echo --without namespaces ;;
	landlock) echo --prefer -q --without landlock ;;
	seccomp) echo --prefer -q --without seccomp ;;
	esac
}

# A directory and a victim for a user, who owns both.
as_user() {
	as=()
	[ "$1" = nobody ] || return 0
	if [ "$(id -u)" != 0 ]; then return 1; fi
	as=(setpriv --reuid 65534 --regid 65534 --clear-groups env "HOME=$outside/nohome")
	chmod 755 "$BATS_TEST_TMPDIR" "$BATS_FILE_TMPDIR" "$BATS_SUITE_TMPDIR" "$BATS_RUN_TMPDIR"
	chown -R 65534:65534 "$outside" "$PWD"
	kill "$victim"
	"${as[@]}" SECRET=of-another-process sleep 300 3>&- &
	victim=$!
}

# CONFIGURATION WORD...: one attempt in a fresh workspace.
attempt() {
	local config=$1
	shift
	"${as[@]}" "$sandbox" $(options "$config") --readable "$outside/shared" -- "$escape" "$@"
}

# CONFIGURATION: reads lines "WORDS # configurations in which it is prevented"; all attempts are made
# in one sandbox, one after the other, each in a fresh workspace.
all_prevented() {
	local config=$1 words where lines=() said
	while IFS='#' read -r words where; do
		[[ " $where " == *" all "* || " $where " == *" $config "* ]] || continue
		lines+=("$(eval "echo \"$words\"")")
	done
	said=$("${as[@]}" "$sandbox" $(options "$config") --readable "$outside/shared" -- sh -c '
		for line; do
			rm -rf ./* && echo mine >mine && mkdir dir || exit
			said=$("$0" $line 2>&1)
			echo "$? $line: $said"
		done' "$escape" "${lines[@]}")
	[ "$(grep -c '^1 ' <<<"$said")" -eq ${#lines[@]} ] || { printf '%s: %s attempts\n%s\n' "$config" ${#lines[@]} "$said" >&2; return 1; }
}

# Runs a table for each user and configuration; in make check, each of both with some of the
# other.
every_way() {
	local table user config configs
	table=$(cat)
	for user in $SANDBOX_USERS; do
		as_user "$user" || continue
		case $user in
		self) configs=$(rounds "full landlock" "full namespaces landlock seccomp") ;;
		*) configs=$(rounds "namespaces seccomp" "full namespaces landlock seccomp") ;;
		esac
		for config in $configs; do
			all_prevented "$config" <<<"$table"
		done
	done
}

@test "files: what is elsewhere is not read" {
	every_way <<'END'
read $outside/secret # full namespaces seccomp
read $PWD/../storage/x # all
read ../../../../../../../$outside/secret # full namespaces seccomp
list $outside # full namespaces seccomp
list $HOME # full namespaces seccomp
symlink-read $outside/secret link # full namespaces seccomp
symlink-read ../../../../../..$outside/secret link # full namespaces seccomp
link $outside/secret link # all
link $outside/shared/file link # all
rename $outside/secret here # all
rename $outside/shared/file here # all
read /proc/self/root$outside/secret # full namespaces seccomp
read /proc/self/cwd/../../../../../../..$outside/secret # full namespaces seccomp
END
}

# bats test_tags=turn:2
@test "files: what is elsewhere is not changed" {
	every_way <<'END'
write $outside/secret # all
write $outside/shared/file # all
create $outside/new # all
create $outside/shared/new # all
create /var/tmp/awf-sandbox-test-new # all
truncate $outside/secret # all
truncate $outside/shared/file # all
remove $outside/secret # all
remove $outside/shared/file # all
remove $outside/writable # all
mkdir $outside/dir # all
rename mine $outside/mine # all
rename dir $outside/dir # all
exchange mine $outside/secret # all
exchange mine $outside/shared/file # all
link mine $outside/mine # all
symlink-write $outside/secret link # all
write /proc/self/root$outside/secret # all
write /proc/self/oom_score_adj # all
write /proc/sys/kernel/ns_last_pid # all
write /etc/hostname # all
END
	same "$(cat "$outside/secret" "$outside/shared/file")" $'secret\nshared'
	[ "$(ls "$outside")" = $'secret\nshared\nwritable' ]
}

@test "files: modes, owners, times and attributes elsewhere stay" {
	touch -d 2001-01-01 "$outside/secret" "$outside/shared/file"
	every_way <<'END'
chmod $outside/secret # all
chmod $outside # all
chmod $outside/shared/file # all
fchmod $outside/shared/file # all
chown $outside/secret # all
utimes $outside/secret # all
utimes-far $outside/secret # all
utimes-far $outside/shared/file # all
setxattr $outside/secret # all
setxattr $outside/shared/file # all
END
	same "$(stat -c '%a %Y' "$outside/secret" "$outside/shared/file" | sort -u)" \
		"644 $(date -d 2001-01-01 +%s)"
}

@test "files: nobody hears what is done elsewhere, nor reads attributes there" {
	setfattr -n user.awf -v secret "$outside/secret" 2>/dev/null ||
		python3 -Sc 'import os, sys; os.setxattr(sys.argv[1], "user.awf", b"secret")' "$outside/secret" || skip 'no attributes of files here'
	"$escape" watch "$outside" && "$escape" getxattr "$outside/secret" && "$escape" listxattr "$outside/secret"
	# Attributes such as "immutable" are told by a path from Linux 6.17 on.
	every_way < <(
		cat <<'END'
watch $outside # full namespaces landlock
watch $HOME # full namespaces landlock
getxattr $outside/secret # full namespaces landlock
listxattr $outside/secret # full namespaces landlock
END
		! "$escape" file-attributes "$outside/secret" 2>/dev/null || echo 'file-attributes $outside/secret # full namespaces landlock'
	)
	# Those of the workspace are for who opens the file; who follows a file looks again and again.
	as=()
	rm -rf ./* && echo mine >mine
	same "$("$sandbox" -- python3 -Sc 'import os; os.setxattr("mine", "user.x", b"y"); print(os.getxattr(os.open("mine", 0), "user.x"))')" "b'y'"
	same "$("$sandbox" -- sh -c 'tail -f -s 0.1 --pid=$$ mine 2>/dev/null & sleep 0.3; echo more >>mine; sleep 0.5; :')" $'mine\nmore'
}

@test "processes elsewhere are neither looked into, nor signalled, nor changed" {
	for user in $SANDBOX_USERS; do
		as_user "$user" || continue
		case $user in
		self) configs=$(rounds "full landlock" "full namespaces landlock seccomp") ;;
		*) configs=$(rounds "namespaces seccomp" "full namespaces landlock seccomp") ;;
		esac
		for config in $configs; do
			all_prevented "$config" <<'END'
process-file $victim environ # all
process-file $victim maps # all
list /proc/$victim/root # all
list /proc/$victim/cwd # all
read /proc/$victim/fd/0 # all
process-memory $victim # all
ptrace $victim # all
readv $victim # all
signal $victim # all
pidfd-signal $victim # all
prlimit $victim # all
renice $victim # all
END
			kill -0 "$victim"
		done
	done
}

@test "no file is left that gives a user's rights to others" {
	mkdir others
	"$sandbox" -w others -- sh -c 'mkdir dir; chmod 2775 dir; >x; chmod 1755 x'
	same "$(stat -c %a others/dir others/x)" $'2775\n1755'
	for way in chmod fchmod fchmodat2 open openat2 mknod; do
		"$escape" set-user-id "$way" mine || same $? 1
		rm -f mine
	done
	every_way <<'END'
set-user-id chmod file # full namespaces landlock
set-user-id fchmod file # full namespaces landlock
set-user-id fchmodat2 file # full namespaces landlock
set-user-id open file # full namespaces landlock
set-user-id openat2 file # full namespaces landlock
set-user-id mknod file # full namespaces landlock
END
}

# What a socket of the outside would tell if somebody came.
listen() {
	coproc LISTENER { exec python3 -Su -c '
import socket, sys
base = sys.argv[1]
tcp = socket.create_server(("127.0.0.1", 0)); udp = socket.socket(type=socket.SOCK_DGRAM)
udp.bind(("127.0.0.1", 0))
path = socket.socket(socket.AF_UNIX); path.bind(base + "/socket"); path.listen()
name = socket.socket(socket.AF_UNIX); name.bind("\0" + base); name.listen()
gram = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM); gram.bind(base + "/datagrams")
abstract = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM); abstract.bind("\0" + base + "-datagrams")
print(tcp.getsockname()[1], udp.getsockname()[1])
sys.stdin.read()' "$outside" 3>&-; }
	listener=$LISTENER_PID
	read -r tcp udp <&"${LISTENER[0]}"
	chmod 777 "$outside/socket" "$outside/datagrams" "$outside"
}

@test "without network, no socket reaches anything" {
	listen
	"$escape" tcp "$tcp" && "$escape" udp "$udp" && "$escape" unix "$outside/socket"
	"$escape" unix "@$outside" && "$escape" pair "$outside/datagrams"
	"$escape" pair "@$outside-datagrams"
	every_way <<'END'
tcp $tcp # all
udp $udp # full namespaces landlock
unix $outside/socket # full namespaces landlock
unix @$outside # all
pair $outside/datagrams # full namespaces landlock
pair @$outside-datagrams # all
socket raw # all
socket ping # full namespaces landlock
socket netlink # full namespaces landlock
socket packet # all
socket vsock # full namespaces landlock
socket alg # full namespaces landlock
socket unix # full namespaces landlock
socket inet # full namespaces landlock
socket inet6 # full namespaces landlock
END
	as=()
	run -0 attempt full stream-pair
}

# bats test_tags=turn:2
@test "with network, TCP and UDP alone" {
	listen
	for config in full namespaces; do
		with() { "$sandbox" $(options "$config") --network -- "$escape" "$@"; }
		with tcp "$tcp"
		with udp "$udp"
		with stream-pair
		for words in "unix $outside/socket" "unix @$outside" "pair $outside/datagrams" \
			"pair @$outside-datagrams" 'socket raw' 'socket netlink' 'socket packet' \
			'socket vsock' 'socket alg' 'socket unix'; do
			# shellcheck disable=SC2086
			run with $words
			[ "$status" = 1 ] || { echo "$config: $words: $status $output"; false; }
		done
	done
}

# bats test_tags=turn:2
@test "the kernel's ways around are closed" {
	every_way <<'END'
privileges # all
capabilities # all
clone # full namespaces landlock
open-terminal # all
call io_uring_setup # full namespaces landlock
call clone3 # full namespaces landlock
call open_tree # full namespaces landlock
call fsopen # full namespaces landlock
call mount # full namespaces landlock
call umount2 # full namespaces landlock
call unshare # full namespaces landlock
call setns # full namespaces landlock
call pivot_root # full namespaces landlock
call chroot # full namespaces landlock
call bpf # full namespaces landlock
call perf_event_open # full namespaces landlock
call userfaultfd # full namespaces landlock
call keyctl # full namespaces landlock
call add_key # full namespaces landlock
call open_by_handle_at # full namespaces landlock
call finit_module # full namespaces landlock
call ptrace # full namespaces landlock
call process_vm_writev # full namespaces landlock
call fanotify_init # full namespaces landlock
END
}

@test "system calls of another kind of machine are none" {
	[ "$(uname -m)" = x86_64 ] || skip "x86-64 alone has them"
	every_way <<'END'
other-machine x32 # full namespaces landlock
other-machine i386 # full namespaces landlock
END
}

@test "shared memory of others is not attached" {
	id=$(python3 -Sc '
import ctypes; libc = ctypes.CDLL(None); print(libc.shmget(0, 4096, 0o1666))')
	"$escape" shm "$id"
	as=()
	for config in full namespaces landlock seccomp; do run -1 attempt "$config" shm "$id"; done
	ipcrm -m "$id"
}

@test "descriptors do not come along, nor a directory as stdin, nor the terminal" {
	as=()
	for config in full namespaces; do
		run -1 attempt "$config" descriptor 7 7<"$outside/secret"
		run -1 attempt "$config" stdin-directory <"$outside"
	done
	run -1 script -qec "$sandbox -- $escape terminal" /dev/null
	# It may be written to, and keystrokes are for stdin alone.
	run -0 script -qec "$sandbox -- sh -c 'echo out; echo err >&2' </dev/null" /dev/null
	[[ $output == *out*err* ]]
	run -0 script -qec "$sandbox -- python3 -Sc 'import os
for fd in 1, 2:
    try: os.read(fd, 1); print(\"read\")
    except OSError as e: assert e.errno == 9' </dev/null" /dev/null <<<keys
	[[ $output != *read* ]]
	run -1 script -qec "$sandbox --without seccomp --prefer -q -- $escape terminal" /dev/null
}

@test "a storage and a home directory in the workspace are not seen; without namespaces it is refused" {
	mkdir -p storage/runs/x home/.ssh
	echo key >storage/runs/x/key
	echo key >home/.ssh/id
	export AWF_STORAGE=$PWD/storage HOME=$PWD/home
	as=()
	for path in storage/runs/x/key home/.ssh/id; do
		run -1 attempt full read "$path"
		run -1 attempt landlock read "$path"
	done
	run -1 attempt full create storage/x
	run -0 attempt full create x
	run -77 --separate-stderr attempt namespaces read mine
	[[ $stderr == "awf-sandbox: $PWD/"*": would be seen in the sandbox, and this system has no namespaces to hide it"* ]]
}

@test "what is hidden is not seen under another name, in a later sandbox" {
	mkdir -p way/to/storage
	echo key >way/to/storage/key
	export AWF_STORAGE=$PWD/way/to/storage
	as=()
	for words in 'rename way new' 'rename way/to new' 'rename way/to/storage new' \
		'exchange way dir'; do
		rm -rf ./new dir && mkdir dir
		# shellcheck disable=SC2086
		run -1 attempt full $words
	done
	run -0 attempt full mkdir way/to/dir
	same "$(find . -name key)" ./way/to/storage/key
	run -1 attempt full read way/to/storage/key
}

@test "what is hidden may lie in what is hidden, and be named from the current directory" {
	mkdir -p storage home/.config/awf
	touch storage/audit home/.config/awf/mcp.json
	env "HOME=$PWD/home" AWF_STORAGE=storage "AWF_AUDIT_LOG=$PWD/storage/audit" \
		"$sandbox" --hide home/.config -- sh -c '[ -z "$(find storage home -type f)" ]'
	echo x >x
	run -1 --separate-stderr "$sandbox" --hide storage/audit -w storage -- cat audit x
	same "$("$sandbox" --hide x -- cat x)" ''
}

@test "the workspace is no home directory, no storage and not the machine" {
	for place in "$HOME" / "$AWF_STORAGE" "$AWF_STORAGE/runs" "$XDG_CONFIG_HOME/awf"; do
		mkdir -p "$place"
		run -77 --separate-stderr "$sandbox" -w "$place" -- true
		[[ $stderr == "awf-sandbox: "*": can be no workspace: "* ]]
	done
}

@test "read-only: nothing changes but what is temporary" {
	echo mine >mine
	mkdir dir
	for config in full namespaces landlock seccomp; do
		inside() { "$sandbox" $(options "$config") --read-only -- "$@"; }
		for words in 'write mine' 'create new' 'remove mine' 'mkdir new' 'truncate mine' \
			'chmod mine' 'utimes mine' 'rename mine dir/mine'; do
			# shellcheck disable=SC2086
			run inside "$escape" $words
			[ "$status" = 1 ] || { echo "$config: $words: $status $output"; false; }
		done
		same "$(inside sh -c 'cat mine; echo $AWF_SANDBOX; echo x >"$TMPDIR/x" && cat "$TMPDIR/x"')" \
			$'mine\nread-only\nx'
	done
	same "$(ls)" $'dir\nmine'
}

# The processes whose environment has this mark.
marked() { grep -lz "^SANDBOX_MARK=$1$" /proc/[0-9]*/environ 2>/dev/null | wc -l; }

none_marked() { [ "$(marked "$1")" = 0 ]; }

some_marked() { [ "$(marked "$1")" -ge "$2" ]; }

# bats test_tags=turn:2
@test "all ends with whoever asked, with the keeper, and with the command" {
	for config in full namespaces; do
		mark="$BATS_TEST_TMPDIR-$config"
		set -- env SANDBOX_MARK="$mark" "$sandbox" --pass-env SANDBOX_MARK $(options "$config") -- sh -c
		for aim in parent sandbox keeper; do
			sh -c '"$@"; :' sh "$@" 'setsid sleep 300 & setsid sleep 301 & sleep 302' >/dev/null 2>&1 3>&- &
			parent=$!
			eventually some_marked "$mark" 6
			own=$(pgrep -P "$parent")
			keeper=$(pgrep -P "$own" awf-sandbox)
			case $aim in
			parent) kill -KILL "$parent" ;;
			sandbox) kill -KILL "$own" ;;
			keeper) kill -KILL "$keeper" ;;
			esac
			eventually none_marked "$mark" || { echo "$config: $aim"; false; }
		done
		"$@" 'setsid sleep 300 >/dev/null 2>&1 & :'
		eventually none_marked "$mark"
	done
}

@test "a private directory goes with whoever asked, too" {
	mkdir "$BATS_TEST_TMPDIR/private"
	is_empty() { [ -z "$(ls "$BATS_TEST_TMPDIR/private")" ]; }
	has_one() { [ -e "$(echo "$BATS_TEST_TMPDIR"/private/*/made)" ]; }
	for config in full namespaces; do
		for aim in parent sandbox keeper; do
			TMPDIR="$BATS_TEST_TMPDIR/private" sh -c '"$@"; :' sh "$sandbox" $(options "$config") -- \
				sh -c 'mkdir "$TMPDIR/made"; chmod 0 "$TMPDIR/made" 2>/dev/null; >begun; exec sleep 300' 3>&- &
			parent=$!
			eventually test -e begun
			[ "$config" = full ] || has_one
			own=$(pgrep -P "$parent")
			case $aim in
			parent) kill -KILL "$parent" ;;
			sandbox) kill -KILL "$own" ;;
			keeper) kill -KILL "$(pgrep -P "$own" awf-sandbox)" ;;
			esac
			eventually is_empty || { echo "$config: $aim"; false; }
			rm begun
		done
	done
}

@test "a step that is killed amid a tool's call leaves nothing behind" {
	mkdir "$BATS_TEST_TMPDIR/private"
	mark="$BATS_TEST_TMPDIR-step"
	mounts=$(cat /proc/self/mountinfo)
	TMPDIR="$BATS_TEST_TMPDIR/private" SANDBOX_MARK="$mark" awf-step -i json -t bash call -r --pass-env SANDBOX_MARK 3>&- \
		<<<'{"command":"setsid sleep 301 & echo x >/tmp/awf-left; >begun; sleep 300"}' &
	step=$!
	eventually test -e begun
	kill -KILL "$step"
	eventually none_marked "$mark"
	[ ! -e /tmp/awf-left ] && [ -z "$(ls "$BATS_TEST_TMPDIR/private")" ]
	same "$(cat /proc/self/mountinfo)" "$mounts"
	same "$(ls)" begun
	same "$(awf-step -i json -t bash call -r <<<'{"command":"ls"}')" begun
}

@test "a name that others spare does not help to outlive the command" {
	for config in full namespaces; do
		env SANDBOX_MARK="$BATS_TEST_TMPDIR-detached" "$sandbox" --pass-env SANDBOX_MARK $(options "$config") -- python3 -Sc '
import ctypes, os, time
if os.fork() == 0:
    ctypes.CDLL(None).prctl(15, b"awf-detached", 0, 0, 0); os.setsid()
    os.close(0); os.close(1); os.close(2); time.sleep(300)
time.sleep(0.1)'
		eventually none_marked "$BATS_TEST_TMPDIR-detached"
	done
}

# bats test_tags=turn:2
@test "processes are limited" {
	for user in $SANDBOX_USERS; do
		as_user "$user" || continue
		# The kernel counts in a namespace, or a watch does.
		run -1 --separate-stderr "${as[@]}" "$sandbox" -q --processes 400 -- "$escape" forks 2000
		[ "${stderr#made }" -lt 800 ]
		# What is over before the watch looks has done no harm.
		run -77 --separate-stderr "${as[@]}" "$sandbox" --processes 40 --without namespaces -- \
			sh -c 'i=0; while [ $i -lt 200 ]; do sleep 50 & i=$((i+1)); done; sleep 60'
		[[ $stderr == *"more processes than --processes allows"* ]]
	done
}

# bats test_tags=turn:3
@test "a disk is not filled" {
	as=()
	small="$outside/small"
	mkdir "$small"
	[ "$(id -u)" = 0 ] && mount -t tmpfs -o size=64m,nr_inodes=4000 none "$small" || skip "takes a file system to fill"
	cd "$small"
	for config in full namespaces; do
		inside() { "$sandbox" $(options "$config") "$@"; }
		# A file; many of them, and as many as there is room for; the temporary directory.
		run -153 inside --file-size 1M -- sh -c 'exec dd if=/dev/zero of=x bs=64k 2>/dev/null'
		[ "$(stat -c %s x)" = 1048576 ]
		rm x
		run -77 --separate-stderr inside --disk 8M -- sh -c \
			'i=0; while [ $i -lt 400 ]; do dd if=/dev/zero of=f$i bs=64k count=4 2>/dev/null; i=$((i+1)); sleep 0.01; done'
		[[ $stderr == *"too much was written"* ]]
		[ "$(df --output=avail -m . | tail -1)" -gt 16 ]
		rm -f f*
		# Orphans that end all the time keep nobody from looking.
		run -77 --separate-stderr inside --disk 8M -- python3 -Sc '
import os, time
i = 0
while True:
    i += 1
    if os.fork() == 0:
        if os.fork() == 0: time.sleep(0.002)
        os._exit(0)
    os.wait()
    with open("f%d" % i, "wb") as f: f.write(b"x" * 65536)
    time.sleep(0.001)'
		[ "$(du -sm . | cut -f1)" -lt 24 ]
		rm -f f*
		# Nor is a disk filled without writing, nor at the end.
		run -1 inside -- python3 -Sc 'import ctypes, os
fd = os.open("g", os.O_RDWR | os.O_CREAT)
os._exit(ctypes.CDLL(None).fallocate(fd, 0, ctypes.c_long(0), ctypes.c_long(1 << 20)) & 1)'
		[ "$(stat -c %b g)" = 0 ]
		rm -f g
		# By the limit of a file, or by a look at the disk, whichever comes first.
		run inside --disk 8M -- sh -c 'exec dd if=/dev/zero of=g bs=64k 2>/dev/null'
		[[ $status == 153 || $status == 77 ]]
		[ "$(stat -c %s g)" -le 8388608 ]
		run -77 --separate-stderr inside --disk 1M -- sh -c 'for i in 1 2 3 4; do head -c 1048576 /dev/zero >f$i; done'
		rm -f g f*
		# Nor are all its files made, though most were before.
		seq -f old%g 3400 | xargs touch
		run -77 --separate-stderr inside -- sh -c \
			'i=0; while [ $i -lt 1000 ]; do touch n$i; i=$((i+1)); done'
		[ "$(df --output=iavail . | tail -1)" -gt 0 ]
		find . -name 'n*' -delete -o -name 'old*' -delete
	done
	run -1 --separate-stderr inside_full_temporary
	cd / || false
}

inside_full_temporary() { "$sandbox" --temporary 1M -- dd if=/dev/zero of=/tmp/x bs=64k count=64; }

# CONFIGURATION: what a sandbox shows of secrets by places in the workspace that were swapped
# for links, and by each way in which a place is named.
shown_by_links() {
	"${as[@]}" env "AWF_STORAGE=$outside/storage" "HOME=$outside/home" \
		"PATH=$PWD/kit/bin:$PATH" "AWF_WORKFLOW_DIR=$PWD/flow" "AWF_SANDBOX_PATH=$PWD/more" \
		"$sandbox" $(options "$1") "${@:2}" -- sh -c 'cat kit/*/id flow/id more/id asked/id run/id "$@" 2>/dev/null; :' - "${secrets[@]}"
}

# bats test_tags=turn:2
@test "a place that was swapped for a link shows nothing, before, between and during calls" {
	mkdir -p "$outside/home/.ssh" "$outside/storage/runs/x" "$outside/vault"
	secrets=("$outside/home/.ssh/id" "$outside/storage/runs/x/id" "$outside/vault/id" "$outside/home/id")
	for secret in "${secrets[@]}"; do echo secret >"$secret"; done
	chmod 755 "$outside" "$outside/home"
	for user in $SANDBOX_USERS; do
		as_user "$user" || continue
		for config in full namespaces; do
			rm -rf ./* && mkdir -p kit/{bin,lib,share} flow more asked run
			[ ${#as[@]} = 0 ] || chown -R 65534:65534 .
			same "$(shown_by_links "$config" --readable asked)" ''
			for first in 0 2; do
				rm -rf ./* && mkdir kit "$PWD-beside"
				for link in kit/bin kit/lib flow more run; do
					ln -s "${secrets[first++ % 4]%/id}" "$link"
				done
				same "$(shown_by_links "$config")" ''
				# Nor in another workspace.
				[ ${#as[@]} = 0 ] || chown 65534:65534 "$PWD-beside"
				same "$(shown_by_links "$config" -w "$PWD-beside")" ''
				rm -r "$PWD-beside"
				ln -s "$outside/vault" asked
				run -77 --separate-stderr shown_by_links "$config" --readable asked
				[[ $stderr == *"asked: leads to $outside/vault by a symbolic link in a directory that sandboxed programs can write to"* ]]
			done
		done
	done
}

# bats test_tags=turn:4
@test "swaps beside calls show nothing" {
	mkdir -p kit/bin more "$outside/vault"
	secrets=("$outside/vault/id")
	echo secret >"$outside/vault/id"
	ln -s "$outside/vault" kit/link
	ln -s "$outside/vault" link
	as=()
	python3 -Sc '
import ctypes, os
renameat2 = ctypes.CDLL(None).renameat2
while not os.path.exists("stop"):
    renameat2(-100, b"kit/bin", -100, b"kit/link", 2)
    renameat2(-100, b"more", -100, b"link", 2)
' 3>&- &
	swapper=$!
	for config in full namespaces full namespaces full namespaces full namespaces; do
		for _ in 1 2 3; do same "$(shown_by_links "$config")" ''; done
	done
	touch stop
	wait "$swapper"
}

@test "a tool that swaps the directory of its file for a link sees nothing by it" {
	mkdir tools "$outside/vault"
	echo secret >"$outside/vault/id"
	echo '{"description":"swaps","effects":"none","sandbox":"workspace"}' >tools/swap.tool.json
	printf '#!/bin/sh\ncat tools/id 2>/dev/null; [ -L tools ] || { mv tools was; ln -s "%s" tools; }\n' "$outside/vault" >tools/swap
	chmod +x tools/swap
	cp tools/swap* "$outside/vault"
	printf '{}\n{}\n' | awf-step -i json -r -t swap x >out 2>err || same $? 3
	run -1 grep secret out
	# The directory cannot be moved; where it can, for want of namespaces, it opens nothing.
	grep -E 'tools: leads to .* by a symbolic link|resource busy' err
}

@test "home is no workspace, whatever HOME says; nor is it shown" {
	home=$(getent passwd "$(id -u)" | cut -d: -f6)
	[ -d "$home" ] && [ "$home" != / ] || skip 'a user without a home'
	for wrong in '-u HOME' HOME=/nowhere "HOME=$PWD" HOME=home; do
		# shellcheck disable=SC2086
		run -77 --separate-stderr env $wrong "$sandbox" -w "$home" -- true
		[[ $stderr == "awf-sandbox: $home: can be no workspace: a sandbox opens no whole home directory"* ]]
		# shellcheck disable=SC2086
		run -2 env $wrong PATH="$home:$PATH" AWF_WORKFLOW_DIR="$home" "$sandbox" -q -w "$outside" -- ls "$home"
		[[ $output == *'Permission denied' ]]
	done
}

@test "home is no workspace of a user whom another source than /etc/passwd knows" {
	[ "$(id -u)" = 0 ] || skip 'not root'
	unshare -m true || skip 'no mount namespaces'
	home="$outside/home"
	mkdir -p "$home/work"
	chown -R 4711:4711 "$home" && chmod 755 "$outside"
	run -0 --separate-stderr unshare -m sh -c '
		mount --make-rprivate / && mount -t tmpfs none /run && mkdir /run/userdb && cd /run/userdb &&
		echo "{\"userName\":\"outsider\",\"uid\":4711,\"gid\":4711,\"homeDirectory\":\"$1\",\"disposition\":\"regular\"}" >outsider.user &&
		ln -s outsider.user 4711.user && getent passwd 4711 >/dev/null || { echo "unknown" && exit; }
		for directory in "$1" "$1/work"; do
			cd "$directory" && setpriv --reuid 4711 --regid 4711 --clear-groups env -u HOME "$2" -- pwd
		done' - "$home" "$sandbox"
	[ "$output" != unknown ] || skip 'no users of systemd here'
	same "$output" "$home/work"
	[[ $stderr == "awf-sandbox: $home: can be no workspace: a sandbox opens no whole home directory"* ]]
}
