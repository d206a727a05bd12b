/*
 * The status of a file with the time of its birth, which tells it from another file that has got its
 * inode. Not every file system, and no portable build, knows that time.
 */
#ifndef AWF_SYSTEM_FILE_STATUS_H
#define AWF_SYSTEM_FILE_STATUS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <time.h>

struct file_status {
	uint64_t inode;
	unsigned device_major, device_minor;
	mode_t mode;
	uid_t owner;
	uint64_t links;
	bool born; /* whether birth is known */
	struct timespec birth, changed, written;
};

/* Of a path below a directory (AT_FDCWD: the current one), or of the open file itself if the path is
 * empty. follow: of what a symbolic link leads to. -1 with errno. */
int file_status_read(int directory, const char *path, bool follow, struct file_status *s);

#endif
