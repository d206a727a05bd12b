/* What the filters of system calls answer, call by call: their programs are run here as the
 * kernel runs them. */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "isolate/seccomp.h"

extern struct sock_fprog seccomp_filters[SECCOMP_FILTERS];

#if defined __x86_64__
#define MACHINE AUDIT_ARCH_X86_64
#define OTHER_MACHINE AUDIT_ARCH_I386
#elif defined __aarch64__
#define MACHINE AUDIT_ARCH_AARCH64
#define OTHER_MACHINE AUDIT_ARCH_ARM
#endif

#define ABOVE (UINT64_C(1) << 32) /* a bit that the kernel does not look at */

/* 0: allowed; else an errno, or -1: something else. */
static int
verdict(const struct sock_fprog *program, const struct seccomp_data *data)
{
	uint32_t word = 0;

	for (const struct sock_filter *i = program->filter; i < program->filter + program->len; i++) {
		switch (i->code) {
		case BPF_LD | BPF_W | BPF_ABS: memcpy(&word, (const char *)data + i->k, sizeof word); break;
		case BPF_ALU | BPF_AND | BPF_K: word &= i->k; break;
		case BPF_JMP | BPF_JA: i += i->k; break;
		case BPF_JMP | BPF_JEQ | BPF_K: i += word == i->k ? i->jt : i->jf; break;
		case BPF_JMP | BPF_JGT | BPF_K: i += word > i->k ? i->jt : i->jf; break;
		case BPF_JMP | BPF_JGE | BPF_K: i += word >= i->k ? i->jt : i->jf; break;
		case BPF_JMP | BPF_JSET | BPF_K: i += (word & i->k) != 0 ? i->jt : i->jf; break;
		case BPF_RET | BPF_K:
			if (i->k == SECCOMP_RET_ALLOW)
				return 0;
			return (i->k & SECCOMP_RET_ACTION_FULL) == SECCOMP_RET_ERRNO ?
			    (int)(i->k & SECCOMP_RET_DATA) : -1;
		default: return -1;
		}
	}
	return -1;
}

#ifdef MACHINE
/* In the order of the numbers: without and with network, then the same without namespaces. */
static void
calls_are_refused(void **state)
{
	static const struct {
		int call;
		uint64_t arguments[4];
		int answers[SECCOMP_FILTERS];
	} cases[] = {
		{ SYS_read, { 0 }, { 0, 0, 0, 0 } },
		{ SYS_execve, { 0 }, { 0, 0, 0, 0 } },
		{ SYS_ptrace, { 0 }, { EPERM, EPERM, EPERM, EPERM } },
		{ SYS_mount, { 0 }, { EPERM, EPERM, EPERM, EPERM } },
		{ 467 /* open_tree_attr */, { 0 }, { EPERM, EPERM, EPERM, EPERM } },
		{ SYS_clone3, { 0 }, { ENOSYS, ENOSYS, ENOSYS, ENOSYS } },
		{ SYS_openat2, { 0 }, { ENOSYS, ENOSYS, ENOSYS, ENOSYS } },
		{ SYS_clone, { CLONE_VM | CLONE_THREAD }, { 0, 0, 0, 0 } },
		{ SYS_clone, { CLONE_VM | CLONE_NEWUSER }, { EPERM, EPERM, EPERM, EPERM } },
		{ SYS_clone, { ABOVE | CLONE_NEWNET }, { EPERM, EPERM, EPERM, EPERM } },
		{ SYS_socket, { AF_UNIX, SOCK_STREAM }, { EPERM, EPERM, EPERM, EPERM } },
		{ SYS_socket, { AF_INET, SOCK_STREAM }, { EPERM, 0, EPERM, 0 } },
		{ SYS_socket, { AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC }, { EPERM, 0, EPERM, 0 } },
		{ SYS_socket, { AF_INET, SOCK_RAW }, { EPERM, EPERM, EPERM, EPERM } },
		{ SYS_socket, { AF_NETLINK, SOCK_DGRAM }, { EPERM, EPERM, EPERM, EPERM } },
		{ SYS_socket, { AF_VSOCK, SOCK_STREAM }, { EPERM, EPERM, EPERM, EPERM } },
		{ SYS_socket, { ABOVE | AF_UNIX, SOCK_STREAM }, { EPERM, EPERM, EPERM, EPERM } },
		{ SYS_socketpair, { AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC }, { 0, 0, 0, 0 } },
		{ SYS_socketpair, { AF_UNIX, SOCK_SEQPACKET }, { 0, 0, 0, 0 } },
		{ SYS_socketpair, { AF_UNIX, SOCK_DGRAM }, { EPERM, EPERM, EPERM, EPERM } },
		{ SYS_ioctl, { 0, TCGETS }, { 0, 0, 0, 0 } },
		{ SYS_ioctl, { 0, TIOCSTI }, { EPERM, EPERM, EPERM, EPERM } },
		{ SYS_ioctl, { 0, TIOCSETD }, { EPERM, EPERM, EPERM, EPERM } },
		{ SYS_ioctl, { 0, TIOCEXCL }, { EPERM, EPERM, EPERM, EPERM } },
		{ SYS_ioctl, { 0, 0x4b45 /* keyboard mode */ }, { EPERM, EPERM, EPERM, EPERM } },
		{ SYS_ioctl, { 0, ABOVE | TIOCSTI }, { EPERM, EPERM, EPERM, EPERM } },
		{ SYS_ioctl, { 0, 0x40086602 /* chattr */ }, { 0, 0, EPERM, EPERM } },
		{ SYS_ioctl, { 0, 0x401c5820 }, { 0, 0, EPERM, EPERM } },
		{ SYS_ioctl, { 0, 0x40305828 /* reserve */ },
		    { EOPNOTSUPP, EOPNOTSUPP, EOPNOTSUPP, EOPNOTSUPP } },
		{ SYS_ioctl, { 0, 0x4030582a }, { EOPNOTSUPP, EOPNOTSUPP, EOPNOTSUPP, EOPNOTSUPP } },
		{ SYS_ioctl, { 0, 0x40305839 }, { EOPNOTSUPP, EOPNOTSUPP, EOPNOTSUPP, EOPNOTSUPP } },
		{ SYS_fallocate, { 0, 0 }, { EOPNOTSUPP, EOPNOTSUPP, EOPNOTSUPP, EOPNOTSUPP } },
		{ SYS_fallocate, { 0, 3 /* punch a hole */ }, { 0, 0, 0, 0 } },
		{ SYS_openat, { 0, 0, O_CREAT, 0644 }, { 0, 0, 0, 0 } },
		{ SYS_openat, { 0, 0, O_CREAT | O_WRONLY, 04755 }, { EPERM, EPERM, EPERM, EPERM } },
		{ SYS_openat, { 0, 0, O_RDONLY, 04755 /* is no mode */ }, { 0, 0, 0, 0 } },
		{ SYS_fchmodat, { 0, 0, 0755 }, { 0, 0, EPERM, EPERM } },
		{ SYS_fchmodat, { 0, 0, 04755 }, { EPERM, EPERM, EPERM, EPERM } },
		{ 452 /* fchmodat2 */, { 0, 0, ABOVE | 04755 }, { EPERM, EPERM, EPERM, EPERM } },
		{ SYS_fchownat, { 0 }, { 0, 0, EPERM, EPERM } },
		{ SYS_setxattr, { 0 }, { 0, 0, EPERM, EPERM } },
		{ SYS_inotify_init1, { 0 }, { ENOSYS, ENOSYS, ENOSYS, ENOSYS } },
		{ SYS_getxattr, { 0 }, { EOPNOTSUPP, EOPNOTSUPP, EOPNOTSUPP, EOPNOTSUPP } },
		{ SYS_llistxattr, { 0 }, { EOPNOTSUPP, EOPNOTSUPP, EOPNOTSUPP, EOPNOTSUPP } },
		{ 464 /* getxattrat */, { 0 }, { EOPNOTSUPP, EOPNOTSUPP, EOPNOTSUPP, EOPNOTSUPP } },
		{ SYS_fgetxattr, { 0 }, { 0, 0, 0, 0 } },
		{ SYS_shmget, { 0 }, { 0, 0, EPERM, EPERM } },
		{ SYS_prlimit64, { 0 }, { 0, 0, 0, 0 } },
		{ SYS_prlimit64, { 1 }, { 0, 0, EPERM, EPERM } },
		{ SYS_prlimit64, { ABOVE }, { 0, 0, EPERM, EPERM } },
		{ SYS_setpriority, { 0, 1 }, { 0, 0, EPERM, EPERM } },
		{ SYS_utimensat, { 0, 0 }, { 0, 0, 0, 0 } },
		{ SYS_utimensat, { 0, 1 }, { 0, 0, EPERM, EPERM } },
#ifdef __x86_64__
		{ 0x40000000 /* read() of x32 */, { 0 }, { ENOSYS, ENOSYS, ENOSYS, ENOSYS } },
#endif
	};

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct seccomp_data data = { .nr = cases[i].call, .arch = MACHINE };

		memcpy(data.args, cases[i].arguments, sizeof cases[i].arguments);
		for (int number = 0; number < SECCOMP_FILTERS; number++) {
			int answer = verdict(&seccomp_filters[number], &data);

			if (answer != cases[i].answers[number])
				fail_msg("case %zu, filter %d: %d", i, number, answer);
		}
	}
}

/* Their numbers mean something else. */
static void
calls_of_another_machine_are_unknown(void **state)
{
	const struct seccomp_data data = { .nr = SYS_read, .arch = OTHER_MACHINE };

	(void)state;
	for (int number = 0; number < SECCOMP_FILTERS; number++)
		assert_int_equal(verdict(&seccomp_filters[number], &data), ENOSYS);
}
#endif

/* The kernel takes no longer ones, and each call that is not known to pass runs them. */
static void
programs_are_short(void **state)
{
	(void)state;
	for (int number = 0; number < SECCOMP_FILTERS; number++)
		assert_in_range(seccomp_filters[number].len, 1, BPF_MAXINSNS / 8);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
#ifdef MACHINE
		cmocka_unit_test(calls_are_refused),
		cmocka_unit_test(calls_of_another_machine_are_unknown),
#endif
		cmocka_unit_test(programs_are_short),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
