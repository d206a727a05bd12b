/*
 * One inotify descriptor watches everything. Which file changed is not asked: the caller reads all
 * of them. Without inotify each wait is at most 10 ms.
 */
#include "model/watch.h"

#include <errno.h>
#include <stdint.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "io/file.h"
#include "io/polling.h"

#define WATCH_NAP 10 /* ms between looks if nothing reports changes */

#ifndef AWF_PORTABLE
#include <sys/inotify.h>

#define CHANGES_OF_NAMES (IN_CREATE | IN_DELETE | IN_MOVED_FROM | IN_MOVED_TO)
#define CHANGES_OF_FILE (IN_MODIFY | IN_ATTRIB | IN_DELETE_SELF | IN_MOVE_SELF)
#define CHANGES_IN_FILES (CHANGES_OF_NAMES | IN_MODIFY)

/* -1 if inotify is not available, or the user has reached the limit of instances. */
static int
changes_open(void)
{
	return inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
}

static int
changes_add(int fd, const char *path, uint32_t changes)
{
	return inotify_add_watch(fd, path, changes);
}
#else
#define CHANGES_OF_NAMES 0
#define CHANGES_OF_FILE 0
#define CHANGES_IN_FILES 0

static int
changes_open(void)
{
	return -1;
}

static int
changes_add(int fd, const char *path, uint32_t changes)
{
	(void)fd, (void)path, (void)changes;
	errno = ENOSYS;
	return -1;
}
#endif

void
watch_open(struct watch *w)
{
	w->fd = changes_open();
}

static int
watch_add_path(struct watch *w, const char *path, uint32_t changes, struct error *err)
{
	if (w->fd == -1 || changes_add(w->fd, path, changes) != -1)
		return 0;
	if (errno != ENOSPC && errno != ENOMEM)
		return error_errno(err, ERROR_SYSTEM, path, "unable to watch");
	/* The user has reached the limit of watches: poll often instead. */
	watch_close(w);
	return 0;
}

int
watch_add(struct watch *w, const char *path, struct error *err)
{
	struct stat status;

	if (stat(path, &status) == -1)
		return error_errno(err, ERROR_SYSTEM, path, "unable to watch");
	return watch_add_path(w, path, S_ISDIR(status.st_mode) ? CHANGES_OF_NAMES : CHANGES_OF_FILE,
	    err);
}

int
watch_add_files(struct watch *w, const char *path, struct error *err)
{
	return watch_add_path(w, path, CHANGES_IN_FILES, err);
}

void
watch_drain(struct watch *w)
{
	char events[4096];

	while (w->fd != -1 && read(w->fd, events, sizeof events) > 0)
		continue;
}

void
watch_wait(struct watch *w, int also_fd, int milliseconds)
{
	struct pollfd fds[] = {
		{ .fd = w->fd, .events = POLLIN },
		{ .fd = also_fd, .events = 0 }, /* a hang-up is always reported */
	};

	if (w->fd == -1 && (milliseconds < 0 || milliseconds > WATCH_NAP))
		milliseconds = WATCH_NAP;
	poll_until(fds, 2, milliseconds < 0 ? 0 : clock_monotonic() + milliseconds);
}

void
watch_close(struct watch *w)
{
	file_close(&w->fd);
}
