/*
 * One system call each, with the flags that hold everywhere.
 */
#define _GNU_SOURCE
#include "isolate/mounts.h"

#include <string.h>

#ifdef __linux__
#include <fcntl.h>
#include <linux/mount.h>
#include <sys/mount.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/file.h"

int
mounts_part(void)
{
	return mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL);
}

int
mount_close(int at, const char *path, unsigned flags)
{
	struct mount_attr attr = { .attr_set = MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID };

	return (int)syscall(SYS_mount_setattr, at, path, flags, &attr, sizeof attr);
}

int
mount_memory(const char *path, const char *options)
{
	return mount("tmpfs", path, "tmpfs", MS_NOSUID | MS_NODEV, options);
}

int
mount_proc(void)
{
	return mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, NULL);
}

int
setting_write(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC), failed;

	if (fd < 0)
		return -1;
	/* In one piece, or the kernel may take none of it. */
	failed = file_write(fd, text, strlen(text));
	close(fd);
	return failed;
}
#endif
