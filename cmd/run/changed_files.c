/*
 * A file is read only if its digest is another one. What is not kept is named alone.
 */
#include "run/changed_files.h"

#include <string.h>
#include <sys/stat.h>

#include "base/file.h"
#include "base/text.h"
#include "run/line_diff.h"
#include "transcript/blob.h"

#define DIFF_LINES 100 /* of one file */

static void
tell(const struct definition_file *f, const char *who, const char *what, struct buffer *out)
{
	buffer_format(out, "%s: ", who);
	text_visible(out, f->path, strlen(f->path), 0);
	buffer_format(out, ": %s\n", what);
}

static bool
is_text(const struct buffer *bytes)
{
	return memchr(buffer_string(bytes), '\0', bytes->len) == NULL;
}

static void
tell_changes(const struct definition_file *f, const char *blobs, const char *who,
    struct buffer *out)
{
	struct buffer before = BUFFER_INIT, now = BUFFER_INIT;
	struct stat status;

	if (stat(f->path, &status) != 0) {
		tell(f, who, "is not there any more", out);
		return;
	}
	if (!S_ISREG(status.st_mode)) { /* to read a FIFO is to wait for it */
		tell(f, who, "is no file any more", out);
		return;
	}
	tell(f, who, "has changed since it was recorded", out);
	if (f->kept && blob_read(blobs, f->sha256, &before, NULL) == 0 &&
	    file_load(f->path, DEFINITION_FILE_LIMIT, &now, NULL) == 0 && is_text(&before) &&
	    is_text(&now))
		line_diff(buffer_string(&before), before.len, buffer_string(&now), now.len, DIFF_LINES,
		    out);
	buffer_free(&before);
	buffer_free(&now);
}

void
changed_files_tell(const struct definition_files *files, const char *blobs, const char *who,
    struct buffer *out)
{
	for (size_t i = 0; i < files->count; i++)
		if (files->list[i].sha256[0] != '\0' &&
		    !definition_file_is_at(&files->list[i], files->list[i].path))
			tell_changes(&files->list[i], blobs, who, out);
}
