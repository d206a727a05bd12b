/*
 * Reads /proc/PID/environ of all readable processes; repeats that when the first one with the
 * variable exits, and at intervals, until none is left or the time is over: processes that are just
 * being killed exit in that time.
 */
#include "run_resume/survivors.h"

#include <dirent.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/clock.h"
#include "base/patience.h"
#include "base/text.h"
#include "io/polling.h"
#include "proc/process.h"
#include "proc/wait.h"

#define LOOK_EVERY_MS 20

/* Counts the processes, and describes the first. */
static size_t
survivors_count_marked(const char *variable, struct survivor *first)
{
	DIR *proc = opendir("/proc");
	struct dirent *found;
	size_t count = 0;

	while (proc != NULL && (found = readdir(proc)) != NULL) {
		pid_t pid = (pid_t)strtol(found->d_name, NULL, 10);
		struct buffer text = BUFFER_INIT;
		const char *at, *end;

		/* Processes of other users cannot be read, and do not count. */
		if (pid <= 0 || pid == getpid() || !process_read(pid, "environ", &text))
			buffer_clear(&text);
		at = buffer_string(&text);
		end = at + text.len;
		while (at < end && strcmp(at, variable) != 0)
			at += strlen(at) + 1;
		if (at < end && count++ == 0) {
			/* Its command line, with blanks between the words. */
			buffer_clear(&text);
			if (!process_read(pid, "cmdline", &text) || text.len == 0)
				buffer_text(&text, "?");
			for (size_t i = 0; i + 1 < text.len; i++)
				if (text.data[i] == '\0')
					text.data[i] = ' ';
			first->pid = pid;
			snprintf(first->command, sizeof first->command, "%s", buffer_string(&text));
			text_line(first->command);
		}
		buffer_free(&text);
	}
	if (proc != NULL)
		closedir(proc);
	return count;
}

/* Whether it is awf-exec(1), which gets the step's environment from some launchers. */
static bool
is_far_end(const struct survivor *s)
{
	static const char name[] = "awf-exec";
	const size_t len = strcspn(s->command, " ");

	return len >= strlen(name) && strncmp(s->command + len - strlen(name), name, strlen(name)) == 0;
}

size_t
survivors_find(const char *variable, int patience_ms, struct survivor *first)
{
	const int64_t began = clock_monotonic();
	int64_t now, deadline;
	size_t count = survivors_count_marked(variable, first);

	/* When the first has exited, others may remain. */
	while (count > 0) {
		deadline = began + patience_ms + (is_far_end(first) ? FAR_GONE_MS : 0);
		now = clock_monotonic();
		if (now >= deadline)
			break;
		int fd = wait_descriptor(first->pid);

		poll_one(fd, POLLIN, now + LOOK_EVERY_MS > deadline ? deadline : now + LOOK_EVERY_MS);
		if (fd >= 0)
			close(fd);
		count = survivors_count_marked(variable, first);
	}
	return count;
}
