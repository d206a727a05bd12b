/*
 * The files of a directory that a command line runs, as far as that is known from its words: those
 * that it names, be it within a shell's text, a value of a variable or a default; what their first
 * lines say that they are run by; and what package and task runners read without being told. What
 * these files load in turn is not known.
 */
#ifndef AWF_AGENT_TRUST_FILES_H
#define AWF_AGENT_TRUST_FILES_H

struct trust_command {
	char *const *words;      /* ends with NULL */
	char *const *values;     /* of the variables that are set for it; ends with NULL; may be NULL */
	const char *path;        /* PATH, if that is one of them; NULL */
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
/* The same of one file, that a path names from here. */
void trust_files_find_one(struct trust_files *found, const char *path, const char *within);

#endif
