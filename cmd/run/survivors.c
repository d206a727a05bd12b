/*
 * /proc/PID/environ of every process that may be read, again and again until none has the
 * variable or patience is over: who is just being killed goes in that time.
 */
#include "run/survivors.h"

#include <dirent.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/clock.h"
#include "base/text.h"
#include "proc/process.h"

#define LOOK_EVERY_MS 20

static bool
has_variable(const struct buffer *environment, const char *variable)
{
	const char *at = buffer_string(environment), *end = at + environment->len;

	for (; at < end; at += strlen(at) + 1)
		if (strcmp(at, variable) == 0)
			return true;
	return false;
}

/* Its command line, with blanks between the words. */
static void
describe(pid_t pid, struct survivor *s)
{
	struct buffer words = BUFFER_INIT;

	s->pid = pid;
	if (!process_read(pid, "cmdline", &words) || words.len == 0)
		buffer_text(&words, "?");
	for (size_t i = 0; i + 1 < words.len; i++)
		if (words.data[i] == '\0')
			words.data[i] = ' ';
	snprintf(s->command, sizeof s->command, "%s", words.data);
	text_line(s->command);
	buffer_free(&words);
}

static size_t
look(const char *variable, struct survivor *first)
{
	DIR *proc = opendir("/proc");
	struct dirent *found;
	size_t count = 0;

	if (proc == NULL)
		return 0;
	while ((found = readdir(proc)) != NULL) {
		pid_t pid = (pid_t)strtol(found->d_name, NULL, 10);
		struct buffer environment = BUFFER_INIT;

		/* Those of other users cannot be read, and are no survivors. */
		if (pid > 0 && pid != getpid() && process_read(pid, "environ", &environment) &&
		    has_variable(&environment, variable) && count++ == 0)
			describe(pid, first);
		buffer_free(&environment);
	}
	closedir(proc);
	return count;
}

size_t
survivors_find(const char *variable, int patience_ms, struct survivor *first)
{
	const struct timespec pause = { 0, LOOK_EVERY_MS * 1000000L };
	int64_t deadline = clock_monotonic() + patience_ms;
	size_t count = look(variable, first);

	while (count > 0 && clock_monotonic() < deadline) {
		nanosleep(&pause, NULL);
		count = look(variable, first);
	}
	return count;
}
