/* The path of an open directory is read from /proc/self/fd. */
#define _GNU_SOURCE
#include "sandbox/examine.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/list.h"
#include "base/memory.h"
#include "io/file.h"

enum { NAMED = 100, SPARE = 72 /* two for each level of directories, and some more */ };

static struct {
	size_t count;
	char **names;
	char *first;         /* the path of the first */
	int reason;          /* its errno */
	int spare[SPARE];
	size_t spare_count;
} missed;

void
examine_begin(void)
{
	list_free(missed.names);
	free(missed.first);
	missed.names = NULL;
	missed.first = NULL;
	missed.count = 0;
}

/* The path of a name, for messages; to be freed by the caller. */
static char *
path_of(int at, const char *name)
{
	char link[48], directory[PATH_MAX];
	ssize_t len;

	snprintf(link, sizeof link, "/proc/self/fd/%d", at);
	len = at == AT_FDCWD || *name == '/' ? -1 : readlink(link, directory, sizeof directory - 1);
	if (len <= 0)
		return memory_text(name);
	directory[len] = '\0';
	return *name == '\0' || strcmp(name, ".") == 0 ? memory_text(directory) : path_join(directory, name);
}

/* Whether its mode or owner prevents everybody but root from opening it. */
static bool
is_closed(int at, const char *name)
{
	struct stat st;

	if (fstatat(at, name, &st, 0) != 0) {
		if (errno != EACCES)
			return false;
		/* The containing directory, or one on the path, cannot be entered. */
		return at == AT_FDCWD || strchr(name, '/') != NULL || fstat(at, &st) != 0 ||
		    st.st_uid != geteuid() || (st.st_mode & S_IXUSR) == 0;
	}
	return st.st_uid != geteuid() || (~st.st_mode & (S_ISDIR(st.st_mode) ? S_IRUSR | S_IXUSR : S_IRUSR)) != 0;
}

static bool
error_tells(int reason, int at, const char *name)
{
	switch (reason) {
	case ENOENT:
	case ENOTDIR:
	case ELOOP:          /* a link, opened with O_NOFOLLOW */
	case EXDEV:          /* it leads out of the workspace */
	case ENAMETOOLONG:
	case EFBIG:          /* larger than the limit for such files */
	case ENXIO:          /* a socket, or a device that does not exist */
	case ENODEV:
		return true;
	case EBADF:          /* the containing directory could not be opened */
		return at == -1;
	case EACCES:
		return is_closed(at, name);
	default:
		return false;
	}
}

bool
examine_note_error(int at, const char *name)
{
	const int reason = errno;
	const bool tells = error_tells(reason, at, name);

	if (!tells) {
		char *path = path_of(at, name);

		if (missed.count == 0) {
			missed.first = memory_text(path);
			missed.reason = reason;
		}
		if (missed.count++ < NAMED)
			list_take(&missed.names, memory_format("%s (%s)", path, strerror(reason)));
		free(path);
	}
	errno = reason;
	return tells;
}

int
examine_status(int at, const char *name, struct stat *st)
{
	const int failed = fstatat(at, name, st, AT_SYMLINK_NOFOLLOW);

	if (failed != 0)
		examine_note_error(at, name);
	return failed;
}

size_t
examine_count_missed(void)
{
	return missed.count;
}

char *const *
examine_missed_names(void)
{
	static char *const none[] = { NULL };

	return missed.names == NULL ? none : missed.names;
}

int
examine_check(struct error *err)
{
	return missed.count == 0 ? 0 : error_set(err, ERROR_BLOCKED, missed.first,
	    "cannot be looked at, and nothing is run then: %s", strerror(missed.reason));
}

int
examine_reserve(int fd)
{
	for (; missed.spare_count < SPARE; missed.spare_count++)
		if ((missed.spare[missed.spare_count] = fcntl(fd, F_DUPFD_CLOEXEC, 0)) == -1)
			return -1;
	return 0;
}

void
examine_release(void)
{
	while (missed.spare_count > 0)
		close(missed.spare[--missed.spare_count]);
}
