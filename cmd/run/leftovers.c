/*
 * A directory with the name "ID.gone" was about to be removed, so it is removed. Any other is
 * removed only by a process that holds its lock (run_lock.h), and only if the transcript says that
 * the run has ended.
 */
#include "run/leftovers.h"

#include <dirent.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/id.h"
#include "base/memory.h"
#include "io/file.h"
#include "model/summary.h"
#include "storage/run_lock.h"

/* Removes the directory of a run that no process owns, if its transcript says that it has ended. */
static void
remove_ended(const struct storage *s, const char *run_id)
{
	char *directory = storage_run_directory(s, run_id), *path = storage_transcript(s, run_id);
	struct summary summary;
	struct error error;
	bool ended = false;
	int lock;

	if (!storage_run_alive(s, run_id) && summary_read_ends(&summary, path, &error) == 0) {
		ended = strcmp(summary.status, "running") != 0 && strcmp(summary.status, "died") != 0;
		summary_free(&summary);
	}
	if (ended && (lock = run_lock_take_over(directory, &error)) >= 0) {
		run_directory_drop(directory);
		close(lock);
	}
	free(path);
	free(directory);
}

void
leftovers_remove(const struct storage *s)
{
	char *runs = memory_format("%s/runs", s->root);
	DIR *directory = storage_opendir(runs);
	struct dirent *found;

	while (directory != NULL && (found = readdir(directory)) != NULL) {
		const char *name = found->d_name;
		size_t len = strlen(name);

		if (len < ID_SIZE - 1 || !id_valid(name, ID_SIZE - 1))
			continue;
		if (len == ID_SIZE - 1) {
			remove_ended(s, name);
		} else if (strcmp(name + ID_SIZE - 1, RUN_DIRECTORY_GONE) == 0) {
			char *gone = path_join(runs, name);

			run_directory_empty(gone);
			free(gone);
		}
	}
	if (directory != NULL)
		closedir(directory);
	free(runs);
}
