/*
 * Run while AWF is built: writes the filters of seccomp.h as C to standard output, for the machine
 * that its argument names (as in `cc -dumpmachine`), by default for this one. libseccomp compiles
 * the rules below to BPF programs; doing that whenever a sandboxed tool starts would take longer
 * than the rest of its setup.
 *
 * Why these calls:
 *
 *  - Without a socket a program cannot talk to anything outside. socketpair() stays allowed, as
 *    programs use it as a pipe; but a pair of datagram sockets can send to any address, so only
 *    stream sockets are allowed.
 *  - Calls whose effect a filter cannot see (clone3() and openat2() have flags in memory,
 *    io_uring makes calls by itself, socketcall() and ipc() of some machines are many calls
 *    in one) are denied completely; C libraries work without them.
 *  - A file with the set-user-ID bit gives this user's rights to all who execute it, outside too.
 *  - Allocating blocks without writing them fills a disk between two checks of the watch. It
 *    fails as on a file system that does not support it: C libraries then write the blocks.
 *  - Landlock restricts neither watching a directory, which reveals the names used in it, nor
 *    reading extended attributes of a file by its path, which may be as sensitive as its
 *    contents, such as the URL it was downloaded from. These fail as if not supported, for
 *    which programs are prepared. Attributes of an open file may be read.
 *  - The rest is useless without capabilities, or serves only to attack the kernel.
 *
 * A rule denies; a call that no rule names is allowed. The kernel uses only the lower 32 bits of
 * many arguments, so only these are compared: other bits can neither avoid nor trigger a rule.
 */
#define _GNU_SOURCE
#include "isolate/seccomp.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/falloc.h>
#include <linux/filter.h>
#include <linux/fs.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <seccomp.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <linux/kd.h>
#include <linux/vt.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>

/* Calls since Linux 5.1 have one number on all machines, on some plus an offset. libseccomp may not
 * know the newest, and then cannot tell their numbers on another machine: rules for such calls are
 * put before the filter that it generates. */
#define MOUNT_SETATTR 442
#define QUOTACTL_FD 443
#define FCHMODAT2 452
#define SETXATTRAT 463
#define GETXATTRAT 464
#define LISTXATTRAT 465
#define REMOVEXATTRAT 466
#define OPEN_TREE_ATTR 467
#define FILE_GETATTR 468
#define FILE_SETATTR 469

#ifdef __s390__
#define CLONE_FLAGS 1 /* the stack is the first argument */
#else
#define CLONE_FLAGS 0
#endif
#ifndef CLONE_NEWTIME
#define CLONE_NEWTIME 0x80
#endif
#define CREATE_UNNAMED (O_TMPFILE & ~O_DIRECTORY)
/* The argument of ioctl() that does the same as fallocate(), from XFS headers. */
struct range {
	int16_t type, whence;
	int64_t start, len;
	int32_t words[6];
};
#define RESERVE _IOW('X', 40, struct range)
#define RESERVE_64 _IOW('X', 42, struct range)
#define ZERO_RANGE _IOW('X', 57, struct range)

/* Conditions on an argument (place is its index) under which a call is denied. */
#define BITS(place, mask, bits) { place, SCMP_CMP_MASKED_EQ, mask, bits }
#define IS(place, value) BITS(place, UINT32_MAX, value)
#define HAS(place, bit) BITS(place, bit, bit)
#define TYPE(place, type) BITS(place, 15, type) /* type of a socket; higher bits are flags */
#define OTHER(place, value) { place, SCMP_CMP_NE, value, 0 }
#define BELOW(place, value) { place, SCMP_CMP_LT, value, 0 }
#define ABOVE(place, value) { place, SCMP_CMP_GT, value, 0 }

struct rule {
	int call, error;
	int latest;                     /* number of a call that libseccomp may not know; then
	                                   `call` is not used */
	unsigned conditions;            /* number of conditions, which must all be true */
	struct scmp_arg_cmp condition[2];
};
#define NEVER(number) { .latest = (number), .error = EPERM }
#define DENY(name) { .call = SCMP_SYS(name), .error = EPERM }
#define UNKNOWN(name) { .call = SCMP_SYS(name), .error = ENOSYS } /* fails as on an older kernel */
#define LACKING(name) { .call = SCMP_SYS(name), .error = EOPNOTSUPP } /* fails as on a file system
                                                                         without it */
#define LACKING_LATEST(number) { .latest = (number), .error = EOPNOTSUPP }
#define FAIL_IF(reason, number, ...) \
	{ .call = (number), .error = (reason), .conditions = 1, .condition = { __VA_ARGS__ } }
#define DENY_IF(name, ...) FAIL_IF(EPERM, SCMP_SYS(name), __VA_ARGS__)
#define DENY_IF_BOTH(name, ...) { .call = SCMP_SYS(name), .error = EPERM, .conditions = 2, \
	.condition = { __VA_ARGS__ } }
#define CLONE(flag) DENY_IF(clone, HAS(CLONE_FLAGS, flag))

static const struct rule always[] = {
	/* other processes */
	DENY(ptrace), DENY(process_vm_readv), DENY(process_vm_writev), DENY(kcmp), DENY(move_pages),
	DENY(migrate_pages), DENY(pidfd_getfd), DENY(process_madvise),
	/* namespaces and mounts; clone() with such flags is the same as unshare() */
	DENY(unshare), DENY(setns), DENY(mount), DENY(umount), DENY(umount2), DENY(pivot_root),
	DENY(chroot), DENY(open_tree), DENY(move_mount), DENY(fsopen), DENY(fsconfig), DENY(fsmount),
	DENY(fspick), NEVER(MOUNT_SETATTR), NEVER(OPEN_TREE_ATTR), UNKNOWN(clone3),
	CLONE(CLONE_NEWNS), CLONE(CLONE_NEWCGROUP), CLONE(CLONE_NEWUTS), CLONE(CLONE_NEWIPC),
	CLONE(CLONE_NEWUSER), CLONE(CLONE_NEWPID), CLONE(CLONE_NEWNET), CLONE(CLONE_NEWTIME),
	/* ways around checks of paths and calls */
	DENY(open_by_handle_at), DENY(name_to_handle_at), DENY(io_uring_setup), DENY(io_uring_enter),
	DENY(io_uring_register), DENY(fanotify_init), DENY(fanotify_mark), UNKNOWN(openat2),
	UNKNOWN(socketcall),
	/* observing what other programs do; attributes of their files */
	UNKNOWN(inotify_init), UNKNOWN(inotify_init1), LACKING(getxattr),
	LACKING(lgetxattr), LACKING_LATEST(GETXATTRAT), LACKING(listxattr),
	LACKING(llistxattr), LACKING_LATEST(LISTXATTRAT), LACKING_LATEST(FILE_GETATTR),
	/* keys, and the kernel itself */
	DENY(keyctl), DENY(add_key), DENY(request_key), DENY(bpf), DENY(perf_event_open),
	DENY(userfaultfd), DENY(init_module), DENY(finit_module), DENY(delete_module),
	DENY(kexec_load), DENY(kexec_file_load), DENY(reboot), DENY(swapon), DENY(swapoff), DENY(acct),
	DENY(quotactl), NEVER(QUOTACTL_FD), DENY(syslog), DENY(vhangup), DENY(lookup_dcookie),
	DENY(nfsservctl), DENY(settimeofday), DENY(stime), DENY(clock_settime), DENY(clock_settime64),
	DENY(clock_adjtime), DENY(clock_adjtime64), DENY(adjtimex), DENY(sethostname),
	DENY(setdomainname), DENY(iopl), DENY(ioperm), DENY(uselib), DENY(_sysctl), DENY(sysfs),
	DENY(modify_ldt), DENY(vm86), DENY(vm86old),
	/* the terminal must not be given input or be disabled; cmd/sandbox/terminals.c restores its
	 * other settings */
	DENY_IF(ioctl, IS(1, TIOCSTI)), DENY_IF(ioctl, IS(1, TIOCLINUX)),
	DENY_IF(ioctl, IS(1, TIOCSETD)), DENY_IF(ioctl, IS(1, TIOCEXCL)), DENY_IF(ioctl, IS(1, TIOCCONS)),
	DENY_IF(ioctl, IS(1, KDSETMODE)), DENY_IF(ioctl, IS(1, KDSKBMODE)), DENY_IF(ioctl, IS(1, KDSKBENT)),
	DENY_IF(ioctl, IS(1, KDSKBSENT)), DENY_IF(ioctl, IS(1, 0x4b51 /* KDSKBMUTE */)), DENY_IF(ioctl, IS(1, VT_SETMODE)),
	DENY_IF(ioctl, IS(1, VT_LOCKSWITCH)), DENY_IF(ioctl, IS(1, VT_ACTIVATE)),
	/* allocating blocks without writing them; punching a hole is allowed, as it frees blocks */
	FAIL_IF(EOPNOTSUPP, SCMP_SYS(fallocate), OTHER(1, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE)),
	FAIL_IF(EOPNOTSUPP, SCMP_SYS(ioctl), IS(1, RESERVE)),
	FAIL_IF(EOPNOTSUPP, SCMP_SYS(ioctl), IS(1, RESERVE_64)),
	FAIL_IF(EOPNOTSUPP, SCMP_SYS(ioctl), IS(1, ZERO_RANGE)),
	/* setting the set-user-ID bit; open() has a mode only if it may create a file */
	DENY_IF(creat, HAS(1, S_ISUID)), DENY_IF(mknod, HAS(1, S_ISUID)),
	DENY_IF(mknodat, HAS(2, S_ISUID)),
	DENY_IF_BOTH(open, HAS(1, O_CREAT), HAS(2, S_ISUID)),
	DENY_IF_BOTH(open, HAS(1, CREATE_UNNAMED), HAS(2, S_ISUID)),
	DENY_IF_BOTH(openat, HAS(2, O_CREAT), HAS(3, S_ISUID)),
	DENY_IF_BOTH(openat, HAS(2, CREATE_UNNAMED), HAS(3, S_ISUID)),
	/* socket pairs other than streams */
	DENY_IF(socketpair, TYPE(1, 0)), DENY_IF(socketpair, TYPE(1, SOCK_DGRAM)),
	DENY_IF(socketpair, TYPE(1, SOCK_RAW)), DENY_IF(socketpair, TYPE(1, SOCK_RDM)),
	DENY_IF(socketpair, TYPE(1, 6)), DENY_IF(socketpair, TYPE(1, 7)),
	DENY_IF(socketpair, HAS(1, 8)),
};

static const struct rule without_network[] = { DENY(socket) };

/* Only TCP and UDP. */
static const struct rule with_network[] = {
	DENY_IF(socket, BELOW(0, AF_INET)),
	DENY_IF(socket, IS(0, 3)), DENY_IF(socket, IS(0, 4)), DENY_IF(socket, IS(0, 5)),
	DENY_IF(socket, IS(0, 6)), DENY_IF(socket, IS(0, 7)), DENY_IF(socket, IS(0, 8)),
	DENY_IF(socket, IS(0, 9)), DENY_IF(socket, ABOVE(0, AF_INET6)),
	DENY_IF(socket, TYPE(1, 0)), DENY_IF(socket, TYPE(1, SOCK_RAW)), DENY_IF(socket, HAS(1, 4)),
	DENY_IF(socket, HAS(1, 8)),
};
_Static_assert(AF_INET == 2 && AF_INET6 == 10, "the families between them are counted up");
_Static_assert(SOCK_STREAM + SOCK_DGRAM == 3 && SOCK_RAW == 3 && SOCK_RDM == 4 &&
    SOCK_SEQPACKET == 5, "the types without a name are counted up");

/* Namespaces protect other files and processes, so only one bit of modes is denied. */
static const struct rule with_namespaces[] = {
	DENY_IF(chmod, HAS(1, S_ISUID)), DENY_IF(fchmod, HAS(1, S_ISUID)),
	DENY_IF(fchmodat, HAS(2, S_ISUID)), { .latest = FCHMODAT2, .error = EPERM, .conditions = 1, .condition = { HAS(2, S_ISUID) } },
};

static const struct rule without_namespaces[] = {
	/* modes, owners, times and attributes of files */
	DENY(chmod), DENY(fchmod), DENY(fchmodat), NEVER(FCHMODAT2), DENY(chown), DENY(chown32),
	DENY(fchown), DENY(fchown32), DENY(fchownat), DENY(lchown), DENY(lchown32), DENY(setxattr),
	DENY(lsetxattr), DENY(fsetxattr), NEVER(SETXATTRAT), DENY(removexattr), DENY(lremovexattr),
	DENY(fremovexattr), NEVER(REMOVEXATTRAT), NEVER(FILE_SETATTR), DENY(utime), DENY(utimes),
	DENY(futimesat), DENY_IF(ioctl, IS(1, FS_IOC_SETFLAGS)),
	DENY_IF(ioctl, IS(1, FS_IOC_FSSETXATTR)),
	/* memory and messages shared by all processes */
	DENY(shmget), DENY(shmat), DENY(shmctl), DENY(semget), DENY(semctl), DENY(semop),
	DENY(semtimedop), DENY(semtimedop_time64), DENY(msgget), DENY(msgctl), DENY(msgsnd),
	DENY(msgrcv), DENY(mq_open), DENY(mq_unlink), UNKNOWN(ipc),
	/* for other processes (0 is this one); and the times of an open file */
	DENY(ioprio_set), DENY_IF(prlimit64, OTHER(0, 0)), DENY_IF(setpriority, OTHER(0, 0)),
	DENY_IF(setpriority, OTHER(1, 0)), DENY_IF(sched_setaffinity, OTHER(0, 0)),
	DENY_IF(sched_setscheduler, OTHER(0, 0)), DENY_IF(sched_setparam, OTHER(0, 0)),
	DENY_IF(sched_setattr, OTHER(0, 0)), DENY_IF(utimensat, OTHER(1, 0)),
	DENY_IF(utimensat_time64, OTHER(1, 0)),
};

static void
seccomp_check_code(int code)
{
	if (code >= 0)
		return;
	fprintf(stderr, "seccomp_rules: %s\n", strerror(-code));
	exit(EXIT_FAILURE);
}

/* ---- writing the filters ---- */

/* The architecture for which filters are written. */
static uint32_t target;

static void
instruction_write(uint16_t code, uint8_t if_true, uint8_t if_false, uint32_t k)
{
	printf("\t{ 0x%02x, %u, %u, 0x%x },\n", code, if_true, if_false, k);
}

/* The number of instructions that latest_write() writes. */
static unsigned
latest_length(const struct rule *rules, size_t count)
{
	unsigned length = 0;

	for (const struct rule *r = rules; r < rules + count; r++)
		if (r->latest != 0)
			length += r->conditions == 0 ? 3 : 5;
	return length;
}

/* Writes the rules for the newest calls; they have at most one condition, on the lower half of
 * an argument. */
static void
latest_write(const struct rule *rules, size_t count)
{
	const uint32_t offset = (uint32_t)(seccomp_syscall_resolve_name_arch(target, "clone3") - 435);
	const size_t lower = (target & __AUDIT_ARCH_LE) != 0 ? 0 : 4;

	for (const struct rule *r = rules; r < rules + count; r++) {
		const struct scmp_arg_cmp *argument = r->condition;

		if (r->latest == 0)
			continue;
		instruction_write(BPF_LD | BPF_W | BPF_ABS, 0, 0, offsetof(struct seccomp_data, nr));
		instruction_write(BPF_JMP | BPF_JEQ | BPF_K, 0, r->conditions == 0 ? 1 : 3,
		    offset + (uint32_t)r->latest);
		if (r->conditions > 0) {
			instruction_write(BPF_LD | BPF_W | BPF_ABS, 0, 0, (uint32_t)(offsetof(struct seccomp_data,
			    args) + argument->arg * sizeof (uint64_t) + lower));
			instruction_write(BPF_JMP | BPF_JSET | BPF_K, 0, 1, (uint32_t)argument->datum_b);
		}
		instruction_write(BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ERRNO | (uint32_t)r->error);
	}
}

static void
rules_add(scmp_filter_ctx filter, const struct rule *rules, size_t count)
{
	for (const struct rule *r = rules; r < rules + count; r++)
		if (r->latest == 0)
			seccomp_check_code(seccomp_rule_add_array(filter,
			    SCMP_ACT_ERRNO((uint16_t)r->error), r->call,
			    r->conditions, r->condition));
}

/* A part of a filter. */
struct part {
	const struct rule *rules;
	size_t count;
};
#define PART(rules) (struct part){ rules, sizeof (rules) / sizeof *(rules) }

/* Writes a part as C. Returns the number of instructions. */
static unsigned
filter_write(unsigned number)
{
	const struct part parts[] = {
		PART(always),
		number & SECCOMP_NETWORK ? PART(with_network) : PART(without_network),
		number & SECCOMP_ALONE ? PART(without_namespaces) : PART(with_namespaces),
	};
	/* On another architecture the number means another call. */
	scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ALLOW);
	struct sock_filter instruction;
	FILE *program = tmpfile();
	unsigned count = 0, latest = 0;

	if (filter == NULL || program == NULL)
		seccomp_check_code(-ENOMEM);
	if (target != seccomp_arch_native()) {
		seccomp_check_code(seccomp_arch_add(filter, target));
		seccomp_check_code(seccomp_arch_remove(filter, seccomp_arch_native()));
	}
	seccomp_check_code(seccomp_attr_set(filter, SCMP_FLTATR_ACT_BADARCH,
	    SCMP_ACT_ERRNO(ENOSYS)));
	/* generate a search tree instead of a list */
	seccomp_check_code(seccomp_attr_set(filter, SCMP_FLTATR_CTL_OPTIMIZE, 2));
	for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
		rules_add(filter, parts[i].rules, parts[i].count);
		latest += latest_length(parts[i].rules, parts[i].count);
	}
	seccomp_check_code(seccomp_export_bpf(filter, fileno(program)));
	seccomp_release(filter);

	printf("static struct sock_filter filter_%u[] = {\n", number);
	/* For another architecture the rest of the filter denies every call. */
	instruction_write(BPF_LD | BPF_W | BPF_ABS, 0, 0, offsetof(struct seccomp_data, arch));
	instruction_write(BPF_JMP | BPF_JEQ | BPF_K, 0, (uint8_t)latest, target);
	for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
		latest_write(parts[i].rules, parts[i].count);
	rewind(program);
	for (; fread(&instruction, sizeof instruction, 1, program) == 1; count++)
		instruction_write(instruction.code, instruction.jt, instruction.jf, instruction.k);
	puts("};");
	fclose(program);
	return count + latest + 2;
}

/* Architectures on which the numbers in the rules, such as those of ioctl(), are the
 * same as here. */
static void
target_choose(const char *machine)
{
	static const char *const alike[] = { "x86_64", "aarch64", "riscv64", "loongarch64" };

	target = seccomp_arch_native();
	if (machine == NULL)
		return;
	target = 0;
	for (size_t i = 0; i < sizeof alike / sizeof *alike; i++)
		if (strcmp(machine, alike[i]) == 0)
			target = seccomp_arch_resolve_name(machine);
	if (target == 0 || sizeof (long) != 8) {
		fprintf(stderr, "seccomp_rules: unable to make filters for %s on this machine: build there\n",
		    machine);
		exit(EXIT_FAILURE);
	}
}

int
main(int argc, char **argv)
{
	unsigned counts[SECCOMP_FILTERS];

	target_choose(argc > 1 ? argv[1] : NULL);
	puts("#include \"isolate/seccomp.h\"\n#include <linux/filter.h>");
	for (unsigned number = 0; number < SECCOMP_FILTERS; number++)
		counts[number] = filter_write(number);
	puts("struct sock_fprog seccomp_filters[SECCOMP_FILTERS] = {");
	for (unsigned number = 0; number < SECCOMP_FILTERS; number++)
		printf("\t{ %u, filter_%u },\n", counts[number], number);
	puts("};");
	return fflush(stdout) == 0 && !ferror(stdout) ? EXIT_SUCCESS : EXIT_FAILURE;
}
