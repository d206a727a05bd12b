/*
 * A file is named by the digest of the path, so a lookup costs the same however many there are.
 * Several runs may add the same path at once: the first one makes the file.
 */
#include "sandbox/grounds.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/digest.h"
#include "base/memory.h"
#include "io/file.h"
#include "storage/storage.h"

/* To be freed by the caller; NULL: there is no storage. */
static char *
file_of(const char *path)
{
	const char *storage = getenv("AWF_STORAGE");
	char digest[DIGEST_SIZE];

	if (storage == NULL || *storage != '/')
		return NULL;
	return memory_format("%s/" STORAGE_SANDBOXED "/%s", storage,
	    digest_sha256(path, strlen(path), digest));
}

int
grounds_keep(const char *path, struct error *err)
{
	char *file = file_of(path), *directory;
	int failed = 0, fd;

	if (file != NULL && access(file, F_OK) != 0) {
		directory = path_directory(file);
		if (mkdir(directory, 0700) == 0 || errno == EEXIST) {
			fd = open(file, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
			if (fd == -1)
				failed = errno == EEXIST ? 0 : -1;
			else if (file_write(fd, path, strlen(path)) != 0)
				failed = -1;
			if (fd != -1 && close(fd) != 0)
				failed = -1;
		} else if (errno != ENOENT) { /* a storage that does not exist yet has no runs */
			failed = -1;
		}
		if (failed != 0)
			error_errno(err, ERROR_BLOCKED, file, "unable to note the workspace");
		free(directory);
	}
	free(file);
	return failed;
}

bool
grounds_have(const char *path)
{
	char *place = memory_text(path), *end = place + strlen(place);
	bool have = false;

	for (; !have && end != NULL && end > place; end = strrchr(place, '/')) {
		char *file;

		*end = '\0';
		file = file_of(place);
		have = file != NULL && access(file, F_OK) == 0;
		free(file);
	}
	free(place);
	return have;
}
