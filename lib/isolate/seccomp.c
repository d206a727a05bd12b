/*
 * The filters are BPF programs generated when AWF is built (seccomp_rules.c); here one is passed
 * to the kernel.
 */
#define _GNU_SOURCE
#include "isolate/seccomp.h"

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/invariant.h"

extern struct sock_fprog seccomp_filters[SECCOMP_FILTERS];

bool
seccomp_available(void)
{
	const uint32_t action = SECCOMP_RET_ERRNO;

	return syscall(SYS_seccomp, SECCOMP_GET_ACTION_AVAIL, 0, &action) == 0;
}

int
seccomp_enforce(bool network, bool alone, struct error *err)
{
	const int number = (network ? SECCOMP_NETWORK : 0) | (alone ? SECCOMP_ALONE : 0);

	INVARIANT(number < SECCOMP_FILTERS && seccomp_filters[number].len > 0);
	if (syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &seccomp_filters[number]) != 0)
		return error_errno(err, ERROR_BLOCKED, NULL, "unable to filter system calls");
	return 0;
}
