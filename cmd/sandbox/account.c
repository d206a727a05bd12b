/*
 * Reads /etc/passwd itself: without shared libraries, which getpwuid(3) needs for the sources in
 * nsswitch.conf(5), this program starts in half the time. For a user who is not in that file
 * getent(1) is run.
 */
#include "sandbox/account.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/memory.h"
#include "io/file.h"
#include "proc/descendants.h"
#include "proc/subprocess.h"
#include "sandbox/examine.h"

#define ACCOUNTS "/etc/passwd"
#define ACCOUNTS_LIMIT ((size_t)16 << 20)
#define ASK_MS 10000

enum { FIELD_ID = 2, FIELD_HOME = 5, FIELDS };

/* Finds the home directory of a user in lines of passwd(5), which it modifies (NULL: none). Returns
 * NULL if the user is not there. To be freed by the caller. */
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

/* Asks getent(1), which uses all sources of the system. */
static int
account_query_getent(const char *id, char **home, struct error *err)
{
	static char program[] = "getent", database[] = "passwd", path[] = "PATH=/usr/bin:/bin",
	    *const environment[] = { path, NULL };
	char *user = memory_text(id), *const argv[] = { program, database, user, NULL };
	struct subprocess process = { .argv = argv, .environment = environment, .quiet = true,
	    .timeout_ms = ASK_MS, .output_limit = ACCOUNTS_LIMIT };
	int failed;

	descendants_adopt();
	failed = subprocesses_run(&process, 1, NULL, err);
	if (failed == 0 && process.error.code == ERROR_NONE)
		*home = find_home(process.output.data, id);
	subprocess_free(&process);
	free(user);
	return failed;
}

int
account_home(char **home, struct error *err)
{
	char *id = memory_format("%lu", (unsigned long)getuid());
	struct buffer accounts = BUFFER_INIT;
	int failed = 0;

	*home = NULL;
	if (file_load(ACCOUNTS, ACCOUNTS_LIMIT, &accounts, err) == 0)
		*home = find_home(accounts.data, id);
	else if (!examine_note_error(AT_FDCWD, ACCOUNTS))
		failed = -1;
	if (failed == 0 && *home == NULL)
		failed = account_query_getent(id, home, err);
	if (failed != 0)
		err->code = ERROR_BLOCKED;
	buffer_free(&accounts);
	free(id);
	return failed;
}
