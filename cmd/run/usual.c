/*
 * The link is replaced only where it says something else, so that mostly a run reads it twice and
 * writes nothing.
 */
#include "run/usual.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/memory.h"
#include "io/file.h"
#include "proc/api_keys.h"
#include "providers/provider.h"
#include "start/pool.h"
#include "storage/storage.h"

/* The link for runs of this name, in memory of its own; NULL: none is kept. */
static char *
find_link(const struct job *j)
{
	const struct run *r = &j->run;

	if (run_in_environment() || r->attempt > 1 || j->forks ||
	    environment_get(&j->environment, "AWF_PROVIDER") != NULL || *r->name == '.' ||
	    strchr(r->name, '/') != NULL || strlen(r->name) > NAME_MAX)
		return NULL;
	return memory_format("%s/" STORAGE_USUAL "/%s", r->storage.root, r->name);
}

/* What it says, which is "" where there is none. */
static void
read_link(const char *path, char provider[NAME_MAX + 1])
{
	ssize_t len = readlink(path, provider, NAME_MAX);

	provider[len > 0 ? len : 0] = '\0';
}

void
usual_start(const struct job *j)
{
	char *path = find_link(j), provider[NAME_MAX + 1] = "";

	if (path != NULL)
		read_link(path, provider);
	if (provider_variables(provider) != NULL)
		provider_expect(provider, &j->run, &j->environment);
	free(path);
}

void
usual_keep(const struct job *j)
{
	char *path = find_link(j), *asked = pool_first(j->run.directory), *directory;
	char before[NAME_MAX + 1];

	if (path != NULL)
		read_link(path, before);
	if (path != NULL && strcmp(before, asked != NULL ? asked : "") != 0) {
		directory = path_directory(path);
		unlink(path);
		if (asked != NULL && (mkdir(directory, 0700) == 0 || errno == EEXIST) &&
		    symlink(asked, path) == -1)
			errno = 0; /* the next run starts none ahead */
		free(directory);
	}
	free(asked);
	free(path);
}
