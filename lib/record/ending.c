/*
 * The mark is a file in the directory of the run; the directory of a run inside of
 * another has a link to that one's beside it, so that looking costs two access() where
 * nothing is nested.
 */
#include "record/ending.h"

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/file.h"
#include "base/memory.h"
#include "record/lineage.h"
#include "record/storage.h"

#define MARK "ending"
#define OUTER "outer"

void
ending_begin(const char *run_directory)
{
	char *path = path_join(run_directory, MARK);
	/* Where it cannot be made, the signals and their grace are what there is. */
	int fd = storage_open(path, O_WRONLY | O_CREAT, 0600);

	if (fd >= 0)
		close(fd);
	free(path);
}

bool
ending_begun(const char *run_directory)
{
	char *directory = memory_text(run_directory), *path;
	bool begun = false;

	for (int depth = 0; !begun && depth <= LINEAGE_LIMIT; depth++) {
		path = path_join(directory, MARK);
		begun = access(path, F_OK) == 0;
		free(path);
		path = path_join(directory, OUTER);
		free(directory);
		directory = path;
		if (begun || access(directory, F_OK) != 0)
			break;
	}
	free(directory);
	return begun;
}

void
ending_inside(const char *run_directory, const char *outer_id)
{
	char *path = path_join(run_directory, OUTER), *target = path_join("..", outer_id);

	if (symlink(target, path) != 0) {
		/* It was one before, or it goes by the signals alone. */
	}
	free(target);
	free(path);
}
