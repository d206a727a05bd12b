/*
 * All these paths are formed in this file only. Whether a run has an owner is found out from the
 * lock that the owner holds while it lives, never from a file that could be left behind. For a run
 * that is recorded elsewhere, no process here holds the lock: it counts as alive until the time to
 * which its origin file's modification time is set.
 */
#include "transcript/layout.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/memory.h"
#include "io/file.h"
#include "io/lock.h"

char *
layout_transcript(const char *root, const char *run_id)
{
	return memory_format("%s/transcripts/%s.jsonl", root, run_id);
}

char *
layout_blobs(const char *root, const char *run_id)
{
	return memory_format("%s/blobs/%s", root, run_id);
}

char *
layout_origin(const char *root, const char *run_id)
{
	return memory_format("%s/origins/%s", root, run_id);
}

char *
layout_beside(const char *transcript, const char *run_id)
{
	char *directory = path_directory(transcript), *name = memory_format("%s.jsonl", run_id);
	char *path = path_join(directory, name);

	free(name);
	free(directory);
	return path;
}

bool
layout_run_owner(const char *root, const char *run_id, pid_t *pid)
{
	char *path = memory_format("%s/runs/%s/lock", root, run_id);
	int fd = file_open_plain(path, O_RDONLY, 0);
	bool alive = fd >= 0 && lock_look(fd, LOCK_WHOLE, pid) == 1;

	if (fd >= 0)
		close(fd);
	free(path);
	return alive;
}

bool
layout_run_alive(const char *root, const char *run_id)
{
	char *path = layout_origin(root, run_id);
	struct stat status;
	bool leased = lstat(path, &status) == 0 && S_ISREG(status.st_mode) &&
	    clock_of(&status.st_mtim) > clock_wall();

	free(path);
	return leased || layout_run_owner(root, run_id, NULL);
}
