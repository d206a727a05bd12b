/*
 * The files of a directory that the words of a command line name, be it within a shell's text, a value of a
 * variable or a default, with what their first lines say that they are run by; and whether that is all that the
 * command line itself has read.
 */
#ifndef AWF_DEFINITIONS_TRUST_FILES_H
#define AWF_DEFINITIONS_TRUST_FILES_H

#include <stdbool.h>

#define TRUST_FILES_MOST 1000 /* of one command line; what it names beyond is not in the list */

struct trust_command {
	char *const *words;      /* ends with NULL */
	char *const *values;     /* of the variables that are set for it; ends with NULL; may be NULL */
	const char *path;        /* PATH, if that is one of them; NULL */
	bool shaped;             /* its definition sets variables, a directory or a launcher */
	const char *directory;   /* in which it runs */
	const char *beside;      /* of the file that defines it */
};

struct trust_files {
	char **files;    /* absolute paths without links, in the order of the texts, each once */
	char **links;    /* links on the ways there, wherever they lead */
};

/* Those alone that lie in the directory within, which has no links in its path. Both are lists
 * (base/list.h). */
void trust_files_find(struct trust_files *found, const struct trust_command *command, const char *within);
/* Whether the command line is of one of two forms: a script or program of the directory, or an interpreter that
 * is known and installed elsewhere, with a script of the directory; with words behind it that a shell would not
 * change, and of which none names a directory here. Of every other one nobody can tell what it reads. What the
 * script loads in turn is not asked. */
bool trust_command_is_plain(const struct trust_command *command, const char *within);
/* The same of one file, that a path names from here. */
void trust_files_find_one(struct trust_files *found, const char *path, const char *within);

#endif
