/*
 * What the code relies on: a process with a user namespace of its own does nothing before
 * its parent has written the maps of ids (the "go" byte). If that byte does not come, the
 * parent has died; if it dies later, PDEATHSIG kills.
 */
#define _GNU_SOURCE
#include "isolate/userns.h"

#ifdef __linux__
#include <errno.h>
#include <fcntl.h>
#include <linux/sched.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/file.h"

#define MAP_LIMIT 65536

static int
write_process_file(pid_t pid, const char *name, const char *text)
{
	char path[64];
	int fd, failed;

	snprintf(path, sizeof path, "/proc/%ld/%s", (long)pid, name);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd < 0)
		return -1;
	/* In one piece, or the kernel takes none of it. */
	failed = write(fd, text, strlen(text)) < 0;
	close(fd);
	return failed ? -1 : 0;
}

/* Every id that this process knows, as it is. */
static void
whole_map(const char *name, struct buffer *map)
{
	char *path = path_join("/proc/self", name), *line, *rest;
	struct buffer own = BUFFER_INIT;

	if (file_load(path, MAP_LIMIT, &own, NULL) == 0 && own.len > 0)
		for (rest = own.data; (line = strsep(&rest, "\n")) != NULL;) {
			unsigned long first, outside, count;

			if (sscanf(line, "%lu %lu %lu", &first, &outside, &count) == 3)
				buffer_format(map, "%lu %lu %lu\n", first, first, count);
		}
	free(path);
	buffer_free(&own);
}

/* All ids where the user may map them (root), else the user's own. */
static int
write_map(pid_t pid, const char *name, unsigned long id)
{
	struct buffer map = BUFFER_INIT;
	int failed;

	whole_map(name, &map);
	failed = write_process_file(pid, name, buffer_string(&map));
	if (failed) {
		buffer_clear(&map);
		buffer_format(&map, "%lu %lu 1\n", id, id);
		failed = write_process_file(pid, name, map.data);
	}
	/* Who may not map groups may only if groups cannot be dropped. */
	if (failed && write_process_file(pid, "setgroups", "deny") == 0)
		failed = write_process_file(pid, name, map.data);
	buffer_free(&map);
	return failed;
}

static int
write_maps(pid_t pid)
{
	return write_map(pid, "uid_map", geteuid()) != 0 ||
	    write_map(pid, "gid_map", getegid()) != 0 ? -1 : 0;
}

static pid_t
clone_process(unsigned long long flags)
{
	struct clone_args arguments = { .flags = flags, .exit_signal = SIGCHLD };

	return (pid_t)syscall(SYS_clone3, &arguments, sizeof arguments);
}

/* Whether a byte came, so that the other end lives. */
static bool
wait_for_go(int fd)
{
	char go;
	ssize_t got;

	do
		got = read(fd, &go, 1);
	while (got < 0 && errno == EINTR);
	return got == 1;
}

pid_t
userns_fork(unsigned long long flags, void (*body)(void *context), void *context, bool *mapped)
{
	int go[2], reason;
	pid_t pid;

	if (mapped != NULL)
		*mapped = false;
	if (pipe2(go, O_CLOEXEC) != 0)
		return -1;
	pid = clone_process(CLONE_NEWUSER | flags);
	reason = errno;
	if (pid == 0) {
		close(go[1]);
		if (prctl(PR_SET_PDEATHSIG, SIGKILL) == 0 && wait_for_go(go[0]))
			body(context);
		_exit(EXIT_FAILURE);
	}
	close(go[0]);
	if (pid > 0 && (write_maps(pid) != 0 || file_write(go[1], "", 1) != 0)) {
		reason = errno;
		kill(pid, SIGKILL);
		waitpid(pid, NULL, 0);
		pid = -1;
		if (mapped != NULL)
			*mapped = true;
	}
	close(go[1]);
	errno = reason;
	return pid;
}
#endif
