/*
 * The new file is written beside the old one and renamed over it (base/file.h). For that only
 * the directory's permission counts, so the file's own is asked with access(2) before.
 */
#include "change.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "builtin.h"

int
change_check(const char *path, bool *exists, struct error *err)
{
	struct stat status;

	if (builtin_within(path, err) != 0)
		return -1;
	*exists = stat(path, &status) == 0;
	if (!*exists)
		return errno == ENOENT ? 0 : builtin_errno(path, true, err);
	if (!S_ISREG(status.st_mode))
		return error_set(err, ERROR_INVALID_INPUT, path, S_ISDIR(status.st_mode) ?
		    "this is a directory" : "this is no regular file");
	return access(path, W_OK) == 0 ? 0 : builtin_errno(path, true, err);
}

static int
replace(const char *path, const char *bytes, size_t len, struct error *err)
{
	struct replacement r;

	if (replacement_open(&r, path, 0666, err) != 0)
		return -1;
	if (file_write(r.fd, bytes, len) == 0)
		return replacement_commit(&r, false, err);
	error_errno(err, ERROR_SYSTEM, path, "unable to write");
	replacement_abandon(&r);
	return -1;
}

int
change_write(const char *path, const char *bytes, size_t len, struct error *err)
{
	char *directory = path_directory(path);
	int failed = directory_make(directory, 0777, err);

	free(directory);
	if (failed == 0)
		failed = replace(path, bytes, len, err);
	return failed == 0 ? 0 : builtin_refused(path, true, err);
}

void
change_tell(const char *path, bool existed, size_t len, struct buffer *answer)
{
	buffer_format(answer, "%s %s (%zu byte%s)", existed ? "overwrote" : "created", path, len,
	    len == 1 ? "" : "s");
}
