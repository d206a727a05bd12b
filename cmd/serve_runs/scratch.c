/* Should this process be killed before the child has opened the file, an empty file with a name is left. */
#define _GNU_SOURCE /* mkostemp() */
#include "serve_runs/scratch.h"

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/memory.h"
#include "io/file.h"

int
scratch_open(struct scratch *s, const struct storage *home, struct error *err)
{
	char *directory = path_join(home->root, "serve");

	*s = (struct scratch)SCRATCH_INIT;
	if (storage_make_directory(directory, false, err) == 0) {
		s->name = path_join(directory, "printed-XXXXXX");
		s->fd = mkostemp(s->name, O_CLOEXEC);
		if (s->fd == -1)
			error_errno(err, ERROR_SYSTEM, directory, "unable to make a file there");
	}
	free(directory);
	return s->fd == -1 ? -1 : 0;
}

int
scratch_take(const struct scratch *s, struct error *err)
{
	int fd = open(s->name, O_WRONLY | O_NOFOLLOW | O_CLOEXEC);

	unlink(s->name);
	if (fd == -1)
		error_errno(err, ERROR_SYSTEM, NULL, "unable to open the file for the answer");
	return fd;
}

void
scratch_close(struct scratch *s)
{
	if (s->name != NULL)
		unlink(s->name);
	file_close(&s->fd);
	free(s->name);
	s->name = NULL;
}
