/*
 * /etc/passwd is read itself: a program that has no shared library starts in half the time, and has
 * no getpwuid(3) that asks all that nsswitch.conf(5) names. Of a user who is not in there
 * getent(1) does that.
 */
#include "sandbox/account.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/memory.h"
#include "io/file.h"
#include "proc/descendants.h"
#include "proc/subprocess.h"

#define ACCOUNTS "/etc/passwd"
#define ACCOUNTS_LIMIT ((size_t)16 << 20)
#define ASK_MS 10000

enum { FIELD_ID = 2, FIELD_HOME = 5, FIELDS };

/* The home directory of a user in lines as passwd(5) has them (NULL: none), which it takes apart;
 * NULL. In memory of its own. */
static char *
find_home(char *lines, const char *id)
{
	for (char *line; (line = strsep(&lines, "\n")) != NULL;) {
		char *fields[FIELDS] = { NULL };
		int count = 0;

		while (count < FIELDS && (fields[count] = strsep(&line, ":")) != NULL)
			count++;
		if (count == FIELDS && strcmp(fields[FIELD_ID], id) == 0)
			return memory_text(fields[FIELD_HOME]);
	}
	return NULL;
}

/* The same as all sources of the system have it. */
static char *
account_query_getent(const char *id)
{
	static char program[] = "getent", database[] = "passwd", path[] = "PATH=/usr/bin:/bin",
	    *const environment[] = { path, NULL };
	char *user = memory_text(id), *const argv[] = { program, database, user, NULL }, *home = NULL;
	struct subprocess process = { .argv = argv, .environment = environment, .quiet = true,
	    .timeout_ms = ASK_MS, .output_limit = ACCOUNTS_LIMIT };

	descendants_adopt();
	if (subprocesses_run(&process, 1, NULL, NULL) == 0 && process.error.code == ERROR_NONE)
		home = find_home(process.output.data, id);
	subprocess_free(&process);
	free(user);
	return home;
}

char *
account_home(void)
{
	char *id = memory_format("%lu", (unsigned long)getuid()), *home = NULL;
	struct buffer accounts = BUFFER_INIT;

	if (file_load(ACCOUNTS, ACCOUNTS_LIMIT, &accounts, NULL) == 0)
		home = find_home(accounts.data, id);
	if (home == NULL)
		home = account_query_getent(id);
	buffer_free(&accounts);
	free(id);
	return home;
}
