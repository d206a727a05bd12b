/*
 * landlock(7) is used by system calls, as no library has functions for it. Its constants are defined
 * here, so that the program can be built with older headers, which lack some or all of them (Linux
 * before 5.13); a kernel gets only the rights and fields that its version knows.
 */
#define _GNU_SOURCE
#include "isolate/landlock.h"

#ifndef AWF_PORTABLE
#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/invariant.h"

#ifndef SYS_landlock_create_ruleset
#define SYS_landlock_create_ruleset 444
#define SYS_landlock_add_rule 445
#define SYS_landlock_restrict_self 446
#endif
#define CREATE_RULESET_VERSION 1U
#define RULE_PATH_BENEATH 1

#define ACCESS_EXECUTE (UINT64_C(1) << 0)
#define ACCESS_WRITE_FILE (UINT64_C(1) << 1)
#define ACCESS_READ_FILE (UINT64_C(1) << 2)
#define ACCESS_READ_DIR (UINT64_C(1) << 3)
#define ACCESS_REMOVE_DIR (UINT64_C(1) << 4)
#define ACCESS_REMOVE_FILE (UINT64_C(1) << 5)
#define ACCESS_MAKE_CHAR (UINT64_C(1) << 6)
#define ACCESS_MAKE_DIR (UINT64_C(1) << 7)
#define ACCESS_MAKE_REG (UINT64_C(1) << 8)
#define ACCESS_MAKE_SOCK (UINT64_C(1) << 9)
#define ACCESS_MAKE_FIFO (UINT64_C(1) << 10)
#define ACCESS_MAKE_BLOCK (UINT64_C(1) << 11)
#define ACCESS_MAKE_SYM (UINT64_C(1) << 12)
#define ACCESS_REFER (UINT64_C(1) << 13)
#define ACCESS_TRUNCATE (UINT64_C(1) << 14)
#define ACCESS_IOCTL_DEV (UINT64_C(1) << 15)
#define NET_BIND_AND_CONNECT_TCP UINT64_C(3)
#define SCOPE_ABSTRACT_SOCKETS_AND_SIGNALS UINT64_C(3)

#define READ (ACCESS_EXECUTE | ACCESS_READ_FILE | \
    ACCESS_READ_DIR)
#define WRITE (ACCESS_WRITE_FILE | ACCESS_REMOVE_DIR | \
    ACCESS_REMOVE_FILE | ACCESS_MAKE_DIR | ACCESS_MAKE_REG | \
    ACCESS_MAKE_SOCK | ACCESS_MAKE_FIFO | ACCESS_MAKE_SYM | \
    ACCESS_REFER | ACCESS_TRUNCATE)
#define DEVICE (ACCESS_READ_FILE | ACCESS_WRITE_FILE | \
    ACCESS_TRUNCATE | ACCESS_IOCTL_DEV)
#define OF_FILES (ACCESS_EXECUTE | ACCESS_READ_FILE | \
    ACCESS_WRITE_FILE | ACCESS_TRUNCATE | ACCESS_IOCTL_DEV)
#define ALL (READ | WRITE | DEVICE | ACCESS_MAKE_CHAR | ACCESS_MAKE_BLOCK)

static const uint64_t accesses[] = {
	[PLACE_LIST] = ACCESS_READ_DIR, [PLACE_PUBLIC] = READ, [PLACE_READ] = READ,
	[PLACE_DEVICE] = DEVICE, [PLACE_WRITE] = READ | WRITE,
};

int
landlock_version(void)
{
	long version = syscall(SYS_landlock_create_ruleset, NULL, 0, CREATE_RULESET_VERSION);

	return version < 0 ? LANDLOCK_NONE : (int)version;
}

int
landlock_begin(struct landlock *l, int version, bool network, struct error *err)
{
	/* Fields were added at the end; older kernels do not accept them. */
	struct ruleset { uint64_t files, net, scope; } r = { ALL, 0, 0 };
	const size_t size = version >= LANDLOCK_SCOPE ? sizeof r :
	    version >= LANDLOCK_TCP ? offsetof(struct ruleset, scope) : offsetof(struct ruleset, net);

	if (version < LANDLOCK_REFER)
		r.files &= ~ACCESS_REFER;
	if (version < LANDLOCK_TRUNCATE)
		r.files &= ~ACCESS_TRUNCATE;
	if (version < LANDLOCK_DEVICES)
		r.files &= ~ACCESS_IOCTL_DEV;
	if (version >= LANDLOCK_TCP && !network)
		r.net = NET_BIND_AND_CONNECT_TCP;
	if (version >= LANDLOCK_SCOPE)
		r.scope = SCOPE_ABSTRACT_SOCKETS_AND_SIGNALS;
	*l = (struct landlock){ (int)syscall(SYS_landlock_create_ruleset, &r, size, 0), r.files };
	return l->fd >= 0 ? 0 :
	    error_errno(err, ERROR_BLOCKED, NULL, "unable to make rules of Landlock");
}

int
landlock_allow(struct landlock *l, int fd, enum place_access access, const char *path,
    struct error *err)
{
	/* As the kernel has it, without a gap. */
	struct __attribute__((packed)) { uint64_t allowed_access; int32_t parent; } rule =
	    { accesses[access] & l->files, fd };
	struct stat st;

	INVARIANT((size_t)access < sizeof accesses / sizeof *accesses && (l->files & ~(uint64_t)ALL) == 0);
	if (fstat(fd, &st) == 0 && !S_ISDIR(st.st_mode))
		rule.allowed_access &= OF_FILES;
	if (syscall(SYS_landlock_add_rule, l->fd, RULE_PATH_BENEATH, &rule, 0) != 0)
		return error_errno(err, ERROR_BLOCKED, path, "unable to allow it");
	return 0;
}

int
landlock_enforce(struct landlock *l, struct error *err)
{
	int failed = 0;

	if (syscall(SYS_landlock_restrict_self, l->fd, 0) != 0)
		failed = error_errno(err, ERROR_BLOCKED, NULL, "unable to enforce the rules of Landlock");
	close(l->fd);
	return failed;
}
#endif
