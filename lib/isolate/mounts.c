/*
 * Each function makes one system call, with the flags that are always needed; except for the
 * replacement of mount_setattr(2).
 *
 * A remount by mount(2) sets all flags of a mount. So its current flags are given again: omitting
 * one would clear it, which a user namespace is not allowed to do (EPERM). No access time flag is
 * given, and then the kernel keeps it. mount(2) changes one mount, so those below are looked up in
 * /proc. A mount that is covered by another cannot be named or reached: it stays as it is.
 */
#define _GNU_SOURCE
#include "isolate/mounts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MOUNTS "/proc/self/mountinfo"
#define POINT_FIELD 4

/* Decodes octal escapes in place. */
static void
mounts_unescape(char *text)
{
	char *to = text;

	for (const char *from = text; *from != '\0'; from++) {
		unsigned byte;

		if (*from == '\\' && sscanf(from + 1, "%3o", &byte) == 1) {
			*to++ = (char)byte;
			from += 3;
		} else {
			*to++ = *from;
		}
	}
	*to = '\0';
}

int
mounts_each(int (*use)(const char *point, void *context), void *context)
{
	FILE *mounts = fopen(MOUNTS, "re");
	char *line = NULL, *point;
	size_t size = 0;
	int result = 0;

	if (mounts == NULL)
		return -1;
	while (result == 0 && getline(&line, &size, mounts) > 0) {
		char *rest = line;

		for (int field = 0; field < POINT_FIELD; field++)
			strsep(&rest, " ");
		point = strsep(&rest, " ");
		if (point == NULL)
			continue;
		mounts_unescape(point);
		result = use(point, context);
	}
	free(line);
	fclose(mounts);
	return result;
}

#ifndef AWF_PORTABLE
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <sys/mount.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/memory.h"
#include "io/file.h"

/* <linux/mount.h> and <sys/mount.h> of older systems cannot both be included. */
#define CLONE_TREE 1U
#define FROM_OPEN 0x4U
#define TO_OPEN 0x40U
#ifndef SYS_mount_setattr
#define SYS_mount_setattr 442
#endif
#ifndef MS_NOSYMFOLLOW
#define MS_NOSYMFOLLOW 256
#endif
#define ST_NOSYMFOLLOW_OF_LINUX 0x2000 /* no header of the C library has it */

int
mounts_part(void)
{
	return mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL);
}

int
mounts_set(int directory, const char *path, unsigned flags, const struct mount_attributes *a)
{
	return (int)syscall(SYS_mount_setattr, directory, path, flags, a, sizeof *a);
}

int
mounts_clone(int open)
{
	return (int)syscall(SYS_open_tree, open, "", CLONE_TREE | MOUNTS_RECURSIVE | AT_EMPTY_PATH | O_CLOEXEC);
}

int
mounts_place(int clone, int at)
{
	return (int)syscall(SYS_move_mount, clone, "", at, "", FROM_OPEN | TO_OPEN);
}

static int
set_closed(const char *path, unsigned flags)
{
	const struct mount_attributes closed = { .set = MOUNTS_READ_ONLY | MOUNTS_NOSUID };

	return mounts_set(AT_FDCWD, path, flags, &closed);
}

/* Whether the last call failed because the kernel does not have it, or because a filter refuses
 * it. */
static bool
is_lacking(void)
{
	return errno == ENOSYS || errno == EPERM;
}

static int
remount_closed(const char *path)
{
	static const struct { unsigned long had, flag; } had[] = {
		{ ST_NODEV, MS_NODEV }, { ST_NOEXEC, MS_NOEXEC },
		{ ST_NOSYMFOLLOW_OF_LINUX, MS_NOSYMFOLLOW },
	};
	unsigned long flags = MS_REMOUNT | MS_BIND | MS_RDONLY | MS_NOSUID;
	struct statvfs st;

	if (statvfs(path, &st) != 0)
		return -1;
	for (size_t i = 0; i < sizeof had / sizeof *had; i++)
		if (st.f_flag & had[i].had)
			flags |= had[i].flag;
	return mount(NULL, path, NULL, flags, NULL);
}

/* Ignores an error which means that the mount is covered by another one. */
static int
remount_below(const char *point, void *context)
{
	const char *path = context;

	if (!path_within(point, path) || remount_closed(point) == 0 || errno == EINVAL ||
	    errno == ENOENT || errno == ENOTDIR || errno == EACCES)
		return 0;
	return -1;
}

int
mount_close(const char *path)
{
	return set_closed(path, 0) == 0 ? 0 : is_lacking() ? remount_closed(path) : -1;
}

int
mounts_close(const char *path)
{
	char *below;
	int failed;

	if (set_closed(path, MOUNTS_RECURSIVE) == 0)
		return 0;
	if (!is_lacking() || remount_closed(path) != 0)
		return -1;
	below = memory_text(path);
	failed = mounts_each(remount_below, below);
	free(below);
	return failed;
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
	/* In one write(), otherwise the kernel may reject it. */
	failed = file_write(fd, text, strlen(text));
	close(fd);
	return failed;
}
#endif
