/*
 * Finds step names in the files that a run and its steps were made of. A name that is in a recorded
 * version but in no current file belongs to a step that was renamed or removed.
 */
#ifndef AWF_RUN_RESUME_FILE_NAMES_H
#define AWF_RUN_RESUME_FILE_NAMES_H

#include <stdbool.h>

#include "base/buffer.h"
#include "transcript/definition_file.h"

struct file_names {
	bool read;
	bool edited;                 /* one of the files has changed since some attempt */
	struct buffer earlier, latest, now; /* texts: replaced versions of files from earlier
	                                       attempts; versions of the last attempt that have
	                                       changed since; current files */
};
/* Reads the files; blobs is the directory of their recorded versions. */
void file_names_read(struct file_names *n, const struct definition_files *files,
    const char *blobs);
/* For a run of a text (awf-run -c): adds the recorded texts, a NULL-terminated list, and the
 * current one. */
void file_names_add_texts(struct file_names *n, char *const *recorded, const char *now);
/* For a child run of a text: adds the names of the run around it, whose files may
 * contain that text. */
void file_names_add(struct file_names *n, const struct file_names *around);
/* Whether a recorded text has the name (lately: one of the last attempt) and no current
 * one has it. */
bool file_names_dropped(const struct file_names *n, const char *name, bool lately);
/* Whether one of them has the command of a child run now, "TEXT NAME ARGUMENT ...": the text as one word of a
 * shell, without its quotes, and each argument as a word anywhere. */
bool file_names_written(const struct file_names *n, const char *command, const char *name);
/* Whether one of them has a line now with the name of a step and its command as words, whatever stands
 * before the last slash of its program. */
bool file_names_calls(const struct file_names *n, const char *name, const char *command);
void file_names_free(struct file_names *n);

#endif
