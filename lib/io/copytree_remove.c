/* A directory is removed, or measured, from its open descriptor, without following links. */
#include "io/copytree.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/count.h"

static bool
is_itself(const char *name)
{
	return strcmp(name, ".") == 0 || strcmp(name, "..") == 0;
}

static int
remove_at(int parent, const char *name)
{
	const int flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
	struct dirent *entry;
	DIR *entries;
	int fd, reason, failed = 0;

	if (unlinkat(parent, name, 0) == 0 || errno == ENOENT)
		return 0;
	if (errno != EISDIR && errno != EPERM)
		return -1;
	reason = errno;
	fd = openat(parent, name, flags);
	if (fd < 0 && errno == EACCES && fchmodat(parent, name, 0700, 0) == 0)
		fd = openat(parent, name, flags);
	if (fd < 0) {
		errno = errno == ENOTDIR ? reason : errno;
		return -1;
	}
	fchmod(fd, 0700);
	entries = fdopendir(fd);
	if (entries == NULL) {
		close(fd);
		return -1;
	}
	while (failed == 0 && (entry = readdir(entries)) != NULL)
		if (!is_itself(entry->d_name))
			failed = remove_at(fd, entry->d_name);
	closedir(entries);
	return failed == 0 ? unlinkat(parent, name, AT_REMOVEDIR) : -1;
}

int
copytree_remove(const char *path, struct error *err)
{
	if (remove_at(AT_FDCWD, path) == 0)
		return 0;
	return error_errno(err, ERROR_SYSTEM, path, "unable to remove");
}

static int64_t
bytes_at(int parent, const char *name)
{
	struct dirent *entry;
	struct stat status;
	int64_t bytes = 0;
	DIR *entries;
	int fd;

	if (fstatat(parent, name, &status, AT_SYMLINK_NOFOLLOW) != 0)
		return 0;
	if (!S_ISDIR(status.st_mode))
		return S_ISREG(status.st_mode) ? status.st_size : 0;
	fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	entries = fd >= 0 ? fdopendir(fd) : NULL;
	if (entries == NULL) {
		if (fd >= 0)
			close(fd);
		return 0;
	}
	while ((entry = readdir(entries)) != NULL)
		if (!is_itself(entry->d_name))
			bytes = count_add(bytes, bytes_at(fd, entry->d_name));
	closedir(entries);
	return bytes;
}

int64_t
copytree_bytes(const char *path)
{
	return bytes_at(AT_FDCWD, path);
}
