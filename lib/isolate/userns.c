/*
 * What the code relies on: a process in a new user namespace does nothing until its parent has
 * written the id maps and sent a byte; from then on its ids are the same as outside (asserted). If
 * the byte does not arrive, the parent has died; if the parent dies later, PDEATHSIG kills the
 * process (tests/cli/sandbox/isolate.bats: "when it ends, by SIGKILL too, nothing goes on
 * running").
 */
#define _GNU_SOURCE
#include "isolate/userns.h"

#ifndef AWF_PORTABLE
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
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
#include "base/invariant.h"
#include "base/memory.h"
#include "io/file.h"
#include "isolate/capabilities.h"
#include "isolate/mounts.h"

#define MAP_LIMIT 65536

/* Maps every id that this process knows to itself. */
static void
read_known(const char *name, struct buffer *map)
{
	struct buffer own = BUFFER_INIT;
	char *path = path_join("/proc/self", name), *line, *rest;

	if (file_load(path, MAP_LIMIT, &own, NULL) == 0 && own.len > 0)
		for (rest = own.data; (line = strsep(&rest, "\n")) != NULL;) {
			unsigned long first, outside, count;

			if (sscanf(line, "%lu %lu %lu", &first, &outside, &count) == 3)
				buffer_format(map, "%lu %lu %lu\n", first, first, count);
		}
	buffer_free(&own);
	free(path);
}

/* Maps all ids if the user may do that (root). Otherwise only the user's own ids are mapped; the
 * group only after setgroups() was disabled. */
static int
write_map(pid_t pid, const char *name, unsigned long id, bool all)
{
	char *path = memory_format("/proc/%ld/%s", (long)pid, name);
	char *groups = memory_format("/proc/%ld/setgroups", (long)pid);
	struct buffer map = BUFFER_INIT;
	int failed = -1;

	if (all) {
		read_known(name, &map);
		failed = setting_write(path, buffer_string(&map));
		buffer_clear(&map);
	}
	if (failed) {
		buffer_format(&map, "%lu %lu 1\n", id, id);
		failed = setting_write(path, map.data);
	}
	if (failed && setting_write(groups, "deny") == 0)
		failed = setting_write(path, map.data);
	buffer_free(&map);
	free(groups);
	free(path);
	return failed;
}

static bool
maps_all(void)
{
	const uint64_t needed = UINT64_C(1) << CAP_SETUID | UINT64_C(1) << CAP_SETGID;
	struct capabilities c;

	return capabilities_get(&c) == 0 && (c.effective & needed) == needed;
}

/* fork() with flags. It uses clone(2): filters of many containers refuse clone3(2), as they cannot
 * see its arguments. */
static pid_t
fork_into(unsigned long flags)
{
	flags |= SIGCHLD;
#ifdef __s390__
	return (pid_t)syscall(SYS_clone, NULL, flags, NULL, NULL, 0L);
#else
	return (pid_t)syscall(SYS_clone, flags, NULL, NULL, NULL, 0L);
#endif
}

pid_t
userns_fork(unsigned long flags, void (*body)(void *context), void *context, bool *mapped)
{
	const bool all = maps_all();
	const uid_t user = geteuid();
	const gid_t group = getegid();
	int go[2], reason;
	ssize_t got;
	pid_t pid;
	char byte;

	if (mapped != NULL)
		*mapped = false;
	if (pipe2(go, O_CLOEXEC) != 0)
		return -1;
	pid = fork_into(CLONE_NEWUSER | flags);
	reason = errno;
	if (pid == 0) {
		close(go[1]);
		if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0)
			_exit(EXIT_FAILURE);
		do
			got = read(go[0], &byte, 1);
		while (got < 0 && errno == EINTR);
		INVARIANT(got != 1 || (geteuid() == user && getegid() == group));
		if (got == 1)
			body(context);
		_exit(EXIT_FAILURE);
	}
	close(go[0]);
	if (pid > 0 && (write_map(pid, "uid_map", user, all) != 0 ||
	    write_map(pid, "gid_map", group, all) != 0 || file_write(go[1], "", 1) != 0)) {
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
