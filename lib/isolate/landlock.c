/*
 * landlock(7) is used by system calls, as no library has functions for it. Constants of newer
 * kernels are defined here, so that the program can be built with older headers; a kernel gets only
 * the rights and fields that its version knows.
 */
#define _GNU_SOURCE
#include "isolate/landlock.h"

#ifdef __linux__
#include <errno.h>
#include <fcntl.h>
#include <linux/landlock.h>
#include <stddef.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/invariant.h"

/* Missing in older headers. */
#define ACCESS_TRUNCATE (UINT64_C(1) << 14)
#define ACCESS_IOCTL_DEV (UINT64_C(1) << 15)
#define NET_BIND_AND_CONNECT_TCP UINT64_C(3)
#define SCOPE_ABSTRACT_SOCKETS_AND_SIGNALS UINT64_C(3)


#define READ (LANDLOCK_ACCESS_FS_EXECUTE | LANDLOCK_ACCESS_FS_READ_FILE | \
    LANDLOCK_ACCESS_FS_READ_DIR)
#define WRITE (LANDLOCK_ACCESS_FS_WRITE_FILE | LANDLOCK_ACCESS_FS_REMOVE_DIR | \
    LANDLOCK_ACCESS_FS_REMOVE_FILE | LANDLOCK_ACCESS_FS_MAKE_DIR | LANDLOCK_ACCESS_FS_MAKE_REG | \
    LANDLOCK_ACCESS_FS_MAKE_SOCK | LANDLOCK_ACCESS_FS_MAKE_FIFO | LANDLOCK_ACCESS_FS_MAKE_SYM | \
    LANDLOCK_ACCESS_FS_REFER | ACCESS_TRUNCATE)
#define DEVICE (LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_WRITE_FILE | \
    ACCESS_TRUNCATE | ACCESS_IOCTL_DEV)
#define OF_FILES (LANDLOCK_ACCESS_FS_EXECUTE | LANDLOCK_ACCESS_FS_READ_FILE | \
    LANDLOCK_ACCESS_FS_WRITE_FILE | ACCESS_TRUNCATE | ACCESS_IOCTL_DEV)
#define ALL (READ | WRITE | DEVICE | LANDLOCK_ACCESS_FS_MAKE_CHAR | LANDLOCK_ACCESS_FS_MAKE_BLOCK)

static const uint64_t accesses[] = {
	[PLACE_LIST] = LANDLOCK_ACCESS_FS_READ_DIR, [PLACE_PUBLIC] = READ, [PLACE_READ] = READ,
	[PLACE_DEVICE] = DEVICE, [PLACE_WRITE] = READ | WRITE,
};

int
landlock_version(void)
{
	long version = syscall(SYS_landlock_create_ruleset, NULL, 0, LANDLOCK_CREATE_RULESET_VERSION);

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
		r.files &= ~LANDLOCK_ACCESS_FS_REFER;
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
	struct landlock_path_beneath_attr rule = { accesses[access] & l->files, fd };
	struct stat st;

	INVARIANT((size_t)access < sizeof accesses / sizeof *accesses && (l->files & ~(uint64_t)ALL) == 0);
	if (fstat(fd, &st) == 0 && !S_ISDIR(st.st_mode))
		rule.allowed_access &= OF_FILES;
	if (syscall(SYS_landlock_add_rule, l->fd, LANDLOCK_RULE_PATH_BENEATH, &rule, 0) != 0)
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
