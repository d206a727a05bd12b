/* statx(2), which Linux has had since 4.11, and musl has no function for; else fstatat(2). */
#define _GNU_SOURCE /* struct statx, AT_EMPTY_PATH */
#include "system/file_status.h"

#include <fcntl.h>
#include <sys/stat.h>

#ifndef AWF_PORTABLE
#include <sys/syscall.h>
#include <unistd.h>
#ifndef STATX_BTIME
#include <linux/stat.h>
#endif

static struct timespec
time_of(const struct statx_timestamp *t)
{
	return (struct timespec){ (time_t)t->tv_sec, (long)t->tv_nsec };
}

int
file_status_read(int directory, const char *path, bool follow, struct file_status *s)
{
	const int flags = (*path == '\0' ? AT_EMPTY_PATH : 0) | (follow ? 0 : AT_SYMLINK_NOFOLLOW) |
	    AT_NO_AUTOMOUNT;
	struct statx st;

	if (syscall(SYS_statx, directory, path, flags, STATX_BASIC_STATS | STATX_BTIME, &st) != 0)
		return -1;
	*s = (struct file_status){ st.stx_ino, st.stx_dev_major, st.stx_dev_minor, st.stx_mode, st.stx_uid,
		st.stx_nlink, (st.stx_mask & STATX_BTIME) != 0, time_of(&st.stx_btime), time_of(&st.stx_ctime),
		time_of(&st.stx_mtime) };
	return 0;
}

#else

/* The device has no parts in POSIX. */
int
file_status_read(int directory, const char *path, bool follow, struct file_status *s)
{
	struct stat st;

	if ((*path == '\0' ? fstat(directory, &st) :
	    fstatat(directory, path, &st, follow ? 0 : AT_SYMLINK_NOFOLLOW)) != 0)
		return -1;
	*s = (struct file_status){ .inode = st.st_ino, .device_major = (unsigned)((uint64_t)st.st_dev >> 32),
		.device_minor = (unsigned)st.st_dev, .mode = st.st_mode, .owner = st.st_uid, .links = st.st_nlink,
		.changed = st.st_ctim, .written = st.st_mtim };
	return 0;
}

#endif
