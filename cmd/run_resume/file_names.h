/*
 * The names of steps in the files that a run and its steps were made of: a name that a recorded
 * version has, and none has now, was changed, or its step was removed.
 */
#ifndef AWF_RUN_RESUME_FILE_NAMES_H
#define AWF_RUN_RESUME_FILE_NAMES_H

#include <stdbool.h>

#include "base/buffer.h"
#include "transcript/definition_file.h"

struct file_names {
	bool read;
	bool edited;                 /* one of the files is not what it was in some attempt */
	struct buffer earlier, latest, now; /* texts: of files as earlier attempts had them; as the last
	                                one had those that have changed since; as they are */
};
/* Reads the files, whose blobs are in a directory. */
void file_names_read(struct file_names *n, const struct definition_files *files,
    const char *blobs);
/* Of a run of a text (awf-run -c): those of its attempts, a list that ends with NULL, and what it is now. */
void file_names_add_texts(struct file_names *n, char *const *recorded, const char *now);
/* Of one whose text stands in the files of the run around it, as far as is known. */
void file_names_add(struct file_names *n, const struct file_names *around);
/* Whether a text that was recorded has the name (lately: of the last attempt's), and none has it
 * now. */
bool file_names_dropped(const struct file_names *n, const char *name, bool lately);
/* Whether one of them has the command of a child run now, "TEXT NAME ARGUMENT ...": the text as one word of a
 * shell, without its quotes, and each argument as a word anywhere. */
bool file_names_written(const struct file_names *n, const char *command, const char *name);
/* Whether one of them has a line now with the name of a step and its command as words, whatever stands
 * before the last slash of its program. */
bool file_names_calls(const struct file_names *n, const char *name, const char *command);
void file_names_free(struct file_names *n);

#endif
