/*
 * The files of the workspace that a command runs: its program, and the script that an interpreter
 * is given as an argument. They are found by the words of the command alone, which are read as the
 * programs of one table read theirs: wrappers (env, timeout, xargs …), which run what their words
 * say further on; shells, whose text is taken apart; and interpreters.
 *
 * What is not found: what these files load or start in turn (modules, files that a script sources,
 * what package runners start); what a word says that only a shell can expand; and what lies
 * elsewhere, be it a link in the workspace that leads there (the python3 of a virtual environment).
 * The programs of the system lie elsewhere, also where the workspace is /.
 */
#ifndef AWF_PROC_COMMAND_FILES_H
#define AWF_PROC_COMMAND_FILES_H

struct command_files {
	const char *workspace;  /* absolute, without links */
	const char *directory;  /* absolute, in which the command starts */
	const char *path;       /* the command's PATH; NULL: names without a slash are not looked for */
	const char *input;      /* what a shell redirects its stdin from; NULL (own) */
	/* What was found: absolute paths without links, each once; lists (base/list.h) of the
	 * caller's; NULL: nothing. */
	char **list;
	char **sourced;         /* by a shell: what they set may be secrets */
};

/* Adds the files of a command line, whose words end with NULL. */
void command_files_add(struct command_files *f, char *const *words);
/* Adds those of all commands in a text for a shell. */
void command_files_add_shell(struct command_files *f, const char *text);

#endif
