/*
 * Why these calls:
 *   - Without a socket nothing outside is spoken to. socketpair() stays, for programs use
 *     it as a pipe; but a pair of datagram sockets can send to any name, so only streams.
 *   - What a filter cannot look into (clone3() and openat2() take flags in memory, io_uring
 *     makes calls by itself) is denied as a whole; C libraries do without.
 *   - A file with the set-user-ID bit gives this user's rights to all who run it, outside too.
 *   - What gives a file its blocks without writing them fills a disk between two looks of
 *     the watch. It fails as on a file system that cannot: C libraries write them then.
 *   - The rest is of no use without capabilities, or only to get at the kernel.
 */
#define _GNU_SOURCE
#include "sandbox/seccomp.h"

#ifdef __linux__
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/syscall.h>

#if defined __x86_64__
#define MACHINE AUDIT_ARCH_X86_64
#elif defined __aarch64__ && !defined __ILP32__
#define MACHINE AUDIT_ARCH_AARCH64
#endif
#endif

#ifdef MACHINE
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#define FILTER_LIMIT 512
#define X32_BIT 0x40000000u
#define NEW_NAMESPACES (CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS | CLONE_NEWIPC | \
    CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNET | 0x80u /* CLONE_NEWTIME */)
#define SOCKET_TYPE 0xfu
/* chattr: through a file that is open, of ext4 and of XFS. */
#define SET_FLAGS 0x40086602u
#define SET_XFLAGS 0x401c5820u

/* fallocate() by an older name, as headers of XFS have it. */
#define RESERVE 0x40305828u
#define RESERVE_64 0x4030582au
#define ZERO_RANGE 0x40305839u
#define PUNCH_HOLE 3u /* with FALLOC_FL_KEEP_SIZE: gives back */

/* Calls since Linux 5.1 have one number on all machines; headers may not know them. */
enum {
	CALL_IO_URING_SETUP = 425, CALL_IO_URING_ENTER, CALL_IO_URING_REGISTER, CALL_OPEN_TREE,
	CALL_MOVE_MOUNT, CALL_FSOPEN, CALL_FSCONFIG, CALL_FSMOUNT, CALL_FSPICK,
	CALL_CLONE3 = 435, CALL_OPENAT2 = 437, CALL_PIDFD_GETFD = 438, CALL_PROCESS_MADVISE = 440,
	CALL_MOUNT_SETATTR = 442, CALL_QUOTACTL_FD, CALL_FCHMODAT2 = 452,
	CALL_SETXATTRAT = 463, CALL_REMOVEXATTRAT = 466, CALL_OPEN_TREE_ATTR, CALL_FILE_SETATTR = 469
};

static const uint16_t denied[] = {
	/* other processes */
	SYS_ptrace, SYS_process_vm_readv, SYS_process_vm_writev, SYS_kcmp, SYS_move_pages,
	SYS_migrate_pages, CALL_PIDFD_GETFD, CALL_PROCESS_MADVISE,
	/* namespaces and mounts */
	SYS_unshare, SYS_setns, SYS_mount, SYS_umount2, SYS_pivot_root, SYS_chroot, CALL_OPEN_TREE,
	CALL_MOVE_MOUNT, CALL_FSOPEN, CALL_FSCONFIG, CALL_FSMOUNT, CALL_FSPICK, CALL_MOUNT_SETATTR,
	CALL_OPEN_TREE_ATTR,
	/* ways around the checks of paths and calls */
	SYS_open_by_handle_at, SYS_name_to_handle_at, CALL_IO_URING_SETUP, CALL_IO_URING_ENTER,
	CALL_IO_URING_REGISTER, SYS_fanotify_init, SYS_fanotify_mark,
	/* keys, and the kernel itself */
	SYS_keyctl, SYS_add_key, SYS_request_key, SYS_bpf, SYS_perf_event_open, SYS_userfaultfd,
	SYS_init_module, SYS_finit_module, SYS_delete_module, SYS_kexec_load, SYS_reboot, SYS_swapon,
	SYS_swapoff, SYS_acct, SYS_quotactl, CALL_QUOTACTL_FD, SYS_syslog, SYS_vhangup,
	SYS_lookup_dcookie, SYS_nfsservctl, SYS_settimeofday, SYS_clock_settime, SYS_clock_adjtime,
	SYS_adjtimex, SYS_sethostname, SYS_setdomainname,
#ifdef SYS_kexec_file_load
	SYS_kexec_file_load,
#endif
#ifdef __x86_64__
	SYS_iopl, SYS_ioperm, SYS_uselib, SYS__sysctl, SYS_sysfs, SYS_modify_ldt,
#endif
};

/* Where no namespaces are. */
static const uint16_t denied_alone[] = {
	SYS_fchmod, SYS_fchmodat, CALL_FCHMODAT2, SYS_fchown, SYS_fchownat, SYS_setxattr,
	SYS_lsetxattr, SYS_fsetxattr, SYS_removexattr, SYS_lremovexattr, SYS_fremovexattr,
	CALL_SETXATTRAT, CALL_REMOVEXATTRAT, CALL_FILE_SETATTR,
	SYS_shmget, SYS_shmat, SYS_shmctl, SYS_semget, SYS_semctl, SYS_semop, SYS_semtimedop,
	SYS_msgget, SYS_msgctl, SYS_msgsnd, SYS_msgrcv, SYS_mq_open, SYS_mq_unlink, SYS_ioprio_set,
#ifdef __x86_64__
	SYS_chmod, SYS_chown, SYS_lchown, SYS_utime, SYS_utimes, SYS_futimesat,
#endif
};

/* Where no namespaces are: denied unless an argument is 0, so that a process reaches
 * nothing but itself; and the times of an open file. */
static const struct { uint16_t call; unsigned argument; } own_only[] = {
	{ SYS_prlimit64, 0 }, { SYS_setpriority, 0 }, { SYS_setpriority, 1 },
	{ SYS_sched_setaffinity, 0 }, { SYS_sched_setscheduler, 0 }, { SYS_sched_setparam, 0 },
	{ SYS_sched_setattr, 0 }, { SYS_utimensat, 1 },
};

/* Calls that set modes, and which argument is the mode; flags: that which tells whether
 * there is one. */
enum { ALWAYS = 6 };
static const struct { uint16_t call; uint8_t mode, flags; } set_modes[] = {
	{ SYS_fchmod, 1, ALWAYS }, { SYS_fchmodat, 2, ALWAYS }, { CALL_FCHMODAT2, 2, ALWAYS },
	{ SYS_mknodat, 2, ALWAYS }, { SYS_openat, 3, 2 },
#ifdef __x86_64__
	{ SYS_chmod, 1, ALWAYS }, { SYS_creat, 1, ALWAYS }, { SYS_mknod, 1, ALWAYS },
	{ SYS_open, 2, 1 },
#endif
};

struct filter {
	struct sock_filter list[FILTER_LIMIT];
	unsigned short count;
};

static void
add(struct filter *f, unsigned code, uint32_t k, unsigned yes, unsigned no)
{
	f->list[f->count++] = (struct sock_filter){ (uint16_t)code, (uint8_t)yes, (uint8_t)no, k };
}

static void
load(struct filter *f, size_t offset)
{
	add(f, BPF_LD | BPF_W | BPF_ABS, (uint32_t)offset, 0, 0);
}

/* Both machines have the low half of an argument first. */
static size_t
argument_at(unsigned argument)
{
	return offsetof(struct seccomp_data, args) + argument * sizeof(uint64_t);
}

static void
load_argument(struct filter *f, unsigned argument)
{
	load(f, argument_at(argument));
}

static void
load_call(struct filter *f)
{
	load(f, offsetof(struct seccomp_data, nr));
}

static void
fail(struct filter *f, int number)
{
	add(f, BPF_RET | BPF_K, SECCOMP_RET_ERRNO | (uint32_t)number, 0, 0);
}

static void
pass(struct filter *f)
{
	add(f, BPF_RET | BPF_K, SECCOMP_RET_ALLOW, 0, 0);
}

/* Calls of another kind of machine have numbers that mean something else. */
static void
add_machine(struct filter *f)
{
	load(f, offsetof(struct seccomp_data, arch));
	add(f, BPF_JMP | BPF_JEQ | BPF_K, MACHINE, 1, 0);
	fail(f, ENOSYS);
	load_call(f);
#ifdef __x86_64__
	add(f, BPF_JMP | BPF_JGE | BPF_K, X32_BIT, 0, 1);
	fail(f, ENOSYS);
#endif
}

static void
add_denied(struct filter *f, const uint16_t *calls, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		add(f, BPF_JMP | BPF_JEQ | BPF_K, calls[i], 0, 1);
		fail(f, EPERM);
	}
}

/* What follows for a call is its own: it ends with pass() or fail(). Returns where, for
 * call_end(). */
static unsigned short
call_begin(struct filter *f, uint16_t call)
{
	add(f, BPF_JMP | BPF_JEQ | BPF_K, call, 0, 0);
	return f->count;
}

static void
call_end(struct filter *f, unsigned short begun)
{
	f->list[begun - 1].jf = (uint8_t)(f->count - begun);
}

/* As if the kernel were older. */
static void
add_unknown(struct filter *f, uint16_t call)
{
	unsigned short begun = call_begin(f, call);

	fail(f, ENOSYS);
	call_end(f, begun);
}

/* No set-user-ID bit. The call is to pass what follows, too. */
static void
add_set_modes(struct filter *f)
{
	const uint32_t creates = O_CREAT | (O_TMPFILE & ~O_DIRECTORY);

	for (size_t i = 0; i < sizeof set_modes / sizeof *set_modes; i++) {
		unsigned short begun = call_begin(f, set_modes[i].call);

		if (set_modes[i].flags != ALWAYS) {
			load_argument(f, set_modes[i].flags);
			add(f, BPF_JMP | BPF_JSET | BPF_K, creates, 0, 3);
		}
		load_argument(f, set_modes[i].mode);
		add(f, BPF_JMP | BPF_JSET | BPF_K, S_ISUID, 0, 1);
		fail(f, EPERM);
		load_call(f);
		call_end(f, begun);
	}
}

/* An unshare() by another name. */
static void
add_clone(struct filter *f)
{
	unsigned short begun = call_begin(f, SYS_clone);

	load_argument(f, 0);
	add(f, BPF_JMP | BPF_JSET | BPF_K, NEW_NAMESPACES, 0, 1);
	fail(f, EPERM);
	pass(f);
	call_end(f, begun);
}

static void
add_fallocate(struct filter *f)
{
	unsigned short begun = call_begin(f, SYS_fallocate);

	load_argument(f, 1);
	add(f, BPF_JMP | BPF_JEQ | BPF_K, PUNCH_HOLE, 1, 0);
	fail(f, EOPNOTSUPP);
	pass(f);
	call_end(f, begun);
}

/* A terminal that is at hand is not typed on. */
static void
add_ioctl(struct filter *f, bool alone)
{
	const uint32_t always[] = { TIOCSTI, TIOCLINUX }, flags[] = { SET_FLAGS, SET_XFLAGS };
	const uint32_t allocate[] = { RESERVE, RESERVE_64, ZERO_RANGE };
	unsigned short begun = call_begin(f, SYS_ioctl);

	load_argument(f, 1);
	for (size_t i = 0; i < 2; i++) {
		add(f, BPF_JMP | BPF_JEQ | BPF_K, always[i], 0, 1);
		fail(f, EPERM);
	}
	for (size_t i = 0; i < 3; i++) {
		add(f, BPF_JMP | BPF_JEQ | BPF_K, allocate[i], 0, 1);
		fail(f, EOPNOTSUPP);
	}
	for (size_t i = 0; alone && i < 2; i++) {
		add(f, BPF_JMP | BPF_JEQ | BPF_K, flags[i], 0, 1);
		fail(f, EPERM);
	}
	pass(f);
	call_end(f, begun);
}

/* TCP and UDP, or nothing. */
static void
add_socket(struct filter *f, bool network)
{
	unsigned short begun = call_begin(f, SYS_socket);

	if (network) {
		load_argument(f, 0);
		add(f, BPF_JMP | BPF_JEQ | BPF_K, AF_INET, 2, 0);
		add(f, BPF_JMP | BPF_JEQ | BPF_K, AF_INET6, 1, 0);
		fail(f, EPERM);
		load_argument(f, 1);
		add(f, BPF_ALU | BPF_AND | BPF_K, SOCKET_TYPE, 0, 0);
		add(f, BPF_JMP | BPF_JEQ | BPF_K, SOCK_STREAM, 2, 0);
		add(f, BPF_JMP | BPF_JEQ | BPF_K, SOCK_DGRAM, 1, 0);
		fail(f, EPERM);
		pass(f);
	} else {
		fail(f, EPERM);
	}
	call_end(f, begun);
	begun = call_begin(f, SYS_socketpair);
	load_argument(f, 1);
	add(f, BPF_ALU | BPF_AND | BPF_K, SOCKET_TYPE, 0, 0);
	add(f, BPF_JMP | BPF_JEQ | BPF_K, SOCK_STREAM, 2, 0);
	add(f, BPF_JMP | BPF_JEQ | BPF_K, SOCK_SEQPACKET, 1, 0);
	fail(f, EPERM);
	pass(f);
	call_end(f, begun);
}

/* A call that is here twice is to pass both. */
static void
add_own_only(struct filter *f)
{
	for (size_t i = 0; i < sizeof own_only / sizeof *own_only; i++) {
		unsigned short begun = call_begin(f, own_only[i].call);

		load_argument(f, own_only[i].argument);
		add(f, BPF_JMP | BPF_JEQ | BPF_K, 0, 0, 2);
		load(f, argument_at(own_only[i].argument) + sizeof(uint32_t));
		add(f, BPF_JMP | BPF_JEQ | BPF_K, 0, 1, 0);
		fail(f, EPERM);
		load_call(f);
		call_end(f, begun);
	}
}

static void
build(struct filter *f, bool network, bool alone)
{
	f->count = 0;
	add_machine(f);
	add_denied(f, denied, sizeof denied / sizeof *denied);
	add_unknown(f, CALL_CLONE3);
	add_unknown(f, CALL_OPENAT2);
	add_set_modes(f);
	add_clone(f);
	add_socket(f, network);
	add_ioctl(f, alone);
	add_fallocate(f);
	if (alone) {
		add_denied(f, denied_alone, sizeof denied_alone / sizeof *denied_alone);
		add_own_only(f);
	}
	pass(f);
}

bool
seccomp_available(void)
{
	const uint32_t action = SECCOMP_RET_ERRNO;

	return syscall(SYS_seccomp, SECCOMP_GET_ACTION_AVAIL, 0, &action) == 0;
}

int
seccomp_enforce(bool network, bool alone, struct error *err)
{
	struct filter f;
	struct sock_fprog program = { .filter = f.list };

	build(&f, network, alone);
	program.len = f.count;
	if (syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program) != 0)
		return error_errno(err, ERROR_BLOCKED, NULL, "unable to filter system calls");
	return 0;
}

#else

bool
seccomp_available(void)
{
	return false;
}

int
seccomp_enforce(bool network, bool alone, struct error *err)
{
	(void)network, (void)alone;
	return error_set(err, ERROR_BLOCKED, NULL, "the system calls of this machine are not known");
}
#endif
