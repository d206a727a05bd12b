/*
 * Limits for each process are set with setrlimit(2), which cannot limit all processes together. So
 * free space is checked repeatedly; how much must remain is computed once, at the start. Counting
 * processes one by one is expensive: /proc/loadavg, a single read, tells when it may be necessary.
 */
#include "isolate/limits.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/statvfs.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/invariant.h"
#include "isolate/mounts.h"
#include "proc/descendants.h"

#define OPEN_FILES 65536
#define KEPT_FREE (UINT64_C(1) << 30)
#define KEPT_PART 20         /* space that must remain: at most this part of the disk (1/20) */
#define COUNTING_LOOK 5      /* processes are counted at every fifth check, */
#define CLOSER_LOOK 10       /* and at every tenth of these one by one */
#define SMALL_FILE 4096      /* assumed size of a file, to compute a limit for their number */

bool
limits_kernel(int major, int minor)
{
	struct utsname name;
	int is_major, is_minor;

	return uname(&name) == 0 && sscanf(name.release, "%d.%d", &is_major, &is_minor) == 2 &&
	    (is_major > major || (is_major == major && is_minor >= minor));
}

void
limits_volunteer(void)
{
	/* If this fails, the kernel may kill another process first; the limits hold
	 * nevertheless. */
	(void)setting_write("/proc/self/oom_score_adj", "500"); /* of 1000 */
}

/* Lowers a resource limit of this process. */
static int
limits_lower_resource(int resource, rlim_t limit, struct error *err)
{
	struct rlimit now;

	if (getrlimit(resource, &now) != 0)
		return error_errno(err, ERROR_BLOCKED, NULL, "unable to read a limit");
	if (now.rlim_max > limit)
		now.rlim_max = limit;
	if (now.rlim_cur > now.rlim_max)
		now.rlim_cur = now.rlim_max;
	INVARIANT(now.rlim_cur <= now.rlim_max && now.rlim_max <= limit);
	if (setrlimit(resource, &now) != 0)
		return error_errno(err, ERROR_BLOCKED, NULL, "unable to set a limit");
	return 0;
}

int
limits_set(const struct limits *l, bool apart, struct error *err)
{
	/* RLIMIT_NPROC counts by user, and in a user namespace only the processes in it; root is
	 * not limited. */
	bool counted = apart && getuid() != 0 && limits_kernel(5, 14);

	return limits_lower_resource(RLIMIT_CORE, 0, err) == -1 ||
	    limits_lower_resource(RLIMIT_FSIZE, (rlim_t)(l->file_size < l->disk ? l->file_size :
	    l->disk), err) == -1 ||
	    limits_lower_resource(RLIMIT_NOFILE, OPEN_FILES, err) == -1 ||
	    (counted && limits_lower_resource(RLIMIT_NPROC, (rlim_t)l->processes, err) == -1) ? -1 :
	    0;
}

/* How much space must remain free, given the size of the disk, its free space and how much may be
 * used; on a nearly full disk, half of the free space. */
static uint64_t
limits_space_to_keep(uint64_t all, uint64_t available, uint64_t may_go, uint64_t kept)
{
	const uint64_t stays = available > may_go ? available - may_go : 0;

	INVARIANT(stays <= available);

	if (kept > all / KEPT_PART)
		kept = all / KEPT_PART;
	if (kept > available / 2)
		kept = available / 2;
	return stays > kept ? stays : kept;
}

static void
watched_begin(struct watched *w, const char *path, const struct limits *l)
{
	const uint64_t disk = (uint64_t)l->disk;
	struct statvfs fs;

	w->fd = path == NULL ? -1 : open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (w->fd < 0 || fstatvfs(w->fd, &fs) != 0)
		return;
	w->bytes = limits_space_to_keep((uint64_t)fs.f_blocks * fs.f_frsize,
	    (uint64_t)fs.f_bavail * fs.f_frsize, disk, KEPT_FREE);
	w->files = limits_space_to_keep(fs.f_files, fs.f_favail, disk / SMALL_FILE,
	    KEPT_FREE / SMALL_FILE);
}

static bool
watched_spent(const struct watched *w)
{
	struct statvfs fs;

	return w->fd >= 0 && fstatvfs(w->fd, &fs) == 0 &&
	    ((uint64_t)fs.f_bavail * fs.f_frsize < w->bytes ||
	    (fs.f_files > 0 && fs.f_favail < w->files));
}

/* The number of processes of the machine; *last is set to the pid that was given last in this
 * namespace. */
static long
count_all(int *last)
{
	char text[128];
	int fd = open("/proc/loadavg", O_RDONLY | O_CLOEXEC);
	ssize_t len = fd < 0 ? -1 : read(fd, text, sizeof text - 1);
	long all = 0;

	if (fd >= 0)
		close(fd);
	text[len > 0 ? len : 0] = '\0';
	if (sscanf(text, "%*s %*s %*s %*d/%ld %d", &all, last) != 2)
		return 0;
	return all;
}

void
watch_begin(struct watch *w, const char *workspace, const char *temporary)
{
	int last;

	watched_begin(&w->workspace, workspace, w->limits);
	watched_begin(&w->temporary, temporary, w->limits);
	w->before = count_all(&last);
}

const char *
watch_last_look(const struct watch *w)
{
	return watched_spent(&w->workspace) || watched_spent(&w->temporary) ?
	    "too much was written: the disk has lost what --disk allows, or is full" : NULL;
}

const char *
watch_look(struct watch *w)
{
	const char *spent = watch_last_look(w);
	int64_t count = 0;
	int last = 0;
	long all;

	if (spent != NULL)
		return spent;
	if (!w->processes || ++w->looks % COUNTING_LOOK != 0)
		return NULL;
	/* Count one by one only if the machine has so many more processes than at the start; and
	 * sometimes in any case, since other processes may have ended meanwhile. */
	all = count_all(&last);
	if (all - w->before < w->limits->processes && ++w->counts % CLOSER_LOOK != 0)
		return NULL;
	if (w->apart) {
		/* In a PID namespace, pids are small numbers; kill() with signal 0 shows which
		 * exist. */
		if (last > w->highest)
			w->highest = last;
		for (int pid = 2; pid <= w->highest; pid++)
			count += kill(pid, 0) == 0 || errno == EPERM;
	} else {
		count = (int64_t)descendants_signal(getpid(), 0, NULL);
	}
	return count > w->limits->processes ? "more processes than --processes allows" : NULL;
}
