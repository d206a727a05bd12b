/*
 * The files that a step is made of, while they are named for its record: by its kind of work
 * (work.h), which calls these, and by its options (step_files.c).
 */
#ifndef AWF_STEP_CALL_STEP_FILES_H
#define AWF_STEP_CALL_STEP_FILES_H

#include <limits.h>

#include "base/error.h"
#include "json/writer.h"
#include "proc/command_files.h"
#include "storage/run.h"

struct step_files {
	const struct run *run;
	char here[PATH_MAX];
	char *own;                   /* directories of what comes along with AWF, colons between */
	char **named;                /* paths; a list */
	struct command_files programs; /* that commands run: named last */
	struct writer writer;
	int failed;
	struct error *err;
};

/* Names a file, whose bytes are kept; or only its digest, where they may hold keys. path NULL: none. */
void step_files_name(struct step_files *f, const char *path);
void step_files_name_digest(struct step_files *f, const char *path);
/* Adds what a command, or all commands in a text for a shell (NULL: none), run. */
void step_files_add_command(struct step_files *f, char *const *words);
void step_files_add_shell(struct step_files *f, const char *text);
/* The same of a command in another directory; NULL: in this one. */
void step_files_add_command_in(struct step_files *f, char *const *words, const char *directory);

#endif
