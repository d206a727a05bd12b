/*
 * fcntl(2) locks, since F_GETLK tells who holds one, which flock(2) does not. A path may name
 * another file by the time that its lock is held: device and inode say whether it does.
 */
#include "base/lock.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

int
lock_take(int fd)
{
	struct flock lock = { .l_type = F_WRLCK, .l_whence = SEEK_SET };

	return fcntl(fd, F_SETLK, &lock);
}

bool
lock_taken(int fd, pid_t *pid)
{
	struct flock lock = { .l_type = F_WRLCK, .l_whence = SEEK_SET };

	if (fcntl(fd, F_GETLK, &lock) != 0 || lock.l_type == F_UNLCK)
		return false;
	if (pid != NULL)
		*pid = lock.l_pid > 0 ? lock.l_pid : 0;
	return true;
}

bool
lock_named(int fd, const char *path)
{
	struct stat opened, named;

	return fstat(fd, &opened) == 0 && lstat(path, &named) == 0 &&
	    opened.st_dev == named.st_dev && opened.st_ino == named.st_ino;
}
