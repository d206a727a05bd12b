/*
 * Finds the files of the workspace that a command runs: its program, and the script that is passed
 * to an interpreter. They are found only from the words of the command, with a table of known
 * programs: wrappers (env, timeout, xargs …), which run the command in their arguments; shells,
 * whose command text is parsed; and interpreters.
 *
 * Not found are files that these files load or start in turn (modules, files that a script
 * sources, programs that package runners start); words that only a shell can expand; and files
 * outside of the workspace, even if a link in the workspace leads there (the python3 of a virtual
 * environment). Programs of the system count as outside even if the workspace is /.
 */
#ifndef AWF_PROC_COMMAND_FILES_H
#define AWF_PROC_COMMAND_FILES_H

struct command_files {
	const char *workspace;  /* absolute, without links */
	const char *directory;  /* absolute, in which the command starts */
	const char *path;       /* the command's PATH; NULL: names without a slash are not looked for */
	const char *input;      /* file that a shell redirects stdin from; NULL (own) */
	/* The result: absolute paths without links, each once; lists (base/list.h) owned by the
	 * caller; NULL: none. */
	char **list;
	char **sourced;         /* files sourced by a shell, which may set secrets */
};

/* Adds the files of a command line; words is NULL-terminated. */
void command_files_add(struct command_files *f, char *const *words);
/* Adds the files of all commands in a shell text. */
void command_files_add_shell(struct command_files *f, const char *text);

#endif
