/*
 * Finds the files of a directory that the words of a command line name, also within a shell text, a
 * value of a variable or a default, and the interpreters that their first lines name; and says
 * whether the command line itself reads no other files.
 */
#ifndef AWF_DEFINITIONS_TRUST_FILES_H
#define AWF_DEFINITIONS_TRUST_FILES_H

#include <stdbool.h>

#define TRUST_FILES_MOST 1000 /* most files of one command line; further ones are not listed */

struct trust_command {
	char *const *words;      /* the command line; ends with NULL */
	char *const *values;     /* values of variables that are set for it; ends with NULL; may be
	                            NULL */
	const char *path;        /* value of PATH, if that is one of them; NULL */
	bool shaped;             /* the definition sets variables, a directory or a launcher */
	const char *directory;   /* its working directory */
	const char *beside;      /* directory of the file that defines it */
};

struct trust_files {
	char **files;    /* absolute paths with links resolved, in the order of the texts, each
	                    once */
	char **links;    /* links on the way to them, wherever they lead */
};

/* Finds the files in the directory `within`, whose path must not contain links. Both results are
 * lists (base/list.h). */
void trust_files_find(struct trust_files *found, const struct trust_command *command, const char *within);
/* Whether the command line has one of two forms: a script or program of the directory; or a known
 * interpreter that is installed elsewhere, with a script of the directory. The words after it must
 * be plain words for a shell, and must not name a directory here. For other forms it is not known
 * which files are read. Files that the script itself loads do not count. */
bool trust_command_is_plain(const struct trust_command *command, const char *within);
/* The same for one file, at a path that is relative to the current directory. */
void trust_files_find_one(struct trust_files *found, const char *path, const char *within);

#endif
