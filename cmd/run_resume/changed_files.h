/*
 * Tells the user who resumes or forks a run which files it and its steps were made of have changed
 * since they were recorded.
 */
#ifndef AWF_RUN_RESUME_CHANGED_FILES_H
#define AWF_RUN_RESUME_CHANGED_FILES_H

#include <stdbool.h>

#include "base/buffer.h"
#include "run_resume/resume.h"

/* For each changed file appends a line that starts with who, followed by a unified diff unless
 * commands execute the file; each line passes text_visible(). The line of a program says how
 * many recorded results are kept or, if redo_changed, are made again. Call it after the run's
 * history was built. */
void changed_files_tell(const struct resume *r, bool redo_changed, const char *who,
    struct buffer *out);

#endif
