/*
 * What has changed since a run was recorded, of the files that it and its steps were made
 * of: told to whoever resumes or forks it.
 */
#ifndef AWF_RUN_CHANGED_FILES_H
#define AWF_RUN_CHANGED_FILES_H

#include "base/buffer.h"
#include "transcript/definition_file.h"

/* Appends, for each of the files, whose blobs are in a directory, that is not what it was:
 * one line that says so, begun with who, and what changed, as diff -u tells it, each line as
 * text_visible() makes it. */
void changed_files_tell(const struct definition_files *files, const char *blobs,
    const char *who, struct buffer *out);

#endif
