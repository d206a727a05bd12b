/*
 * The user's name is read from id(1): looking it up directly may need shared libraries (NSS), which
 * a statically linked program cannot load.
 */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/memory.h"
#include "decide/decision.h"
#include "io/file.h"
#include "io/polling.h"
#include "proc/process.h"

/* Asks id(1) for the name of this process's user (name NULL), or for the uid of a user; "" if it
 * fails. */
static void
ask_id(const char *name, char text[LOGIN_NAME_MAX])
{
	char program[] = "id", login[] = "-un", number[] = "-u", operands[] = "--";
	char *copy = memory_text(name != NULL ? name : "");
	char *own[] = { program, login, NULL }, *named[] = { program, number, operands, copy, NULL };
	struct process_spec spec = { .argv = name != NULL ? named : own, .in = PROCESS_NULL, .out = PROCESS_PIPE,
		.err = PROCESS_NULL };
	struct process id;
	struct error err;
	size_t len = 0;
	ssize_t got = 0;
	int status = -1;

	if (process_start(&id, &spec, NULL, &err) == 0) {
		while (len < LOGIN_NAME_MAX - 1 && poll_one(id.out, POLLIN, 0) != 0 &&
		    (got = read(id.out, text + len, LOGIN_NAME_MAX - 1 - len)) > 0)
			len += (size_t)got;
		file_close(&id.out);
		waitpid(id.pid, &status, 0);
	}
	text[status == 0 ? len : 0] = '\0';
	text[strcspn(text, "\n")] = '\0';
	free(copy);
}

char *
decision_maker(void)
{
	const char *name = getenv("LOGNAME");
	char number[LOGIN_NAME_MAX], own[32];

	snprintf(own, sizeof own, "%lu", (unsigned long)getuid());
	if (name != NULL && *name != '\0') {
		ask_id(name, number);
		if (strcmp(number, own) == 0)
			return memory_text(name);
	}
	ask_id(NULL, number);
	return *number != '\0' ? memory_text(number) : memory_format("uid %s", own);
}
