/*
 * What has changed since a run was recorded, of the files that it and its steps were made
 * of: told to whoever resumes or forks it.
 */
#ifndef AWF_RUN_RESUME_CHANGED_FILES_H
#define AWF_RUN_RESUME_CHANGED_FILES_H

#include <stdbool.h>

#include "base/buffer.h"
#include "run_resume/resume.h"

/* Appends, for each of the files of a recorded run that is not what it was, one line that says so,
 * begun with who, and, unless commands run the file, what changed, as diff -u tells it, each line as
 * text_visible() makes it. The line of a program says how many results are kept, or, if they
 * are not to stand, are made again. The history of the run has been made. */
void changed_files_tell(const struct resume *r, bool redo_changed, const char *who,
    struct buffer *out);

#endif
