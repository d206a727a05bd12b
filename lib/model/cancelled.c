/* The name of who has cancelled a run is written whole, or not at all. */
#include "model/cancelled.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buffer.h"
#include "io/file.h"

#define FILE_NAME "cancelled"
#define NAME_LIMIT ((size_t)256)

void
cancelled_note(const char *run_directory, const char *by)
{
	char *path = path_join(run_directory, FILE_NAME);
	int fd = file_open_plain(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);

	if (fd >= 0 && file_write(fd, by, strlen(by)) != 0)
		unlink(path);
	if (fd >= 0)
		close(fd);
	free(path);
}

void
cancelled_forget(const char *run_directory)
{
	char *path = path_join(run_directory, FILE_NAME);

	unlink(path);
	free(path);
}

char *
cancelled_by(const char *run_directory)
{
	char *path = path_join(run_directory, FILE_NAME);
	int fd = file_open_plain(path, O_RDONLY, 0);
	struct buffer name = BUFFER_INIT;
	int failed = fd < 0 ? -1 : file_read(fd, &name, NAME_LIMIT);

	if (fd >= 0)
		close(fd);
	free(path);
	if (failed == 0)
		return buffer_take(&name);
	buffer_free(&name);
	return NULL;
}
