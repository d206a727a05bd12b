/*
 * The files of a project that other programs read as their settings when they are started there:
 * agent CLIs, the runtimes that these use, and version managers through which they may be started.
 * Anybody who can write such a file controls what the program runs, or where it sends its login.
 * So sandboxed programs may not change them (cmd/sandbox), and those of a cloned repository are
 * not used unless the user allows it.
 *
 * One table, from which everything reads: what the sandbox keeps, what `project_settings` asks
 * about, the list in awf-provider-cli(7). How it was found: each CLI, in the versions of `make
 * check-clis`, under `strace -f -e trace=%file` in a subdirectory of a repository; its
 * documentation; its source where that is public.
 *
 * A name is a path relative to a directory, and a file or a directory with all that is in it. The
 * CLIs look for it in the directory that they start in, and in those above it.
 */
#ifndef AWF_PROC_PROJECT_FILES_H
#define AWF_PROC_PROJECT_FILES_H

#include <stdbool.h>

enum project_file_use {
	PROJECT_FILE_RUNS, /* it can name commands, code, plugins, servers, URLs or environments */
	PROJECT_FILE_TEXT  /* it is text for the model, or names files that are left out: no code */
};

struct project_file {
	const char *program;
	const char *name;
	enum project_file_use use;
};

/* By program; ends with { NULL, NULL, 0 }. Several programs may read one name. */
extern const struct project_file project_files[];

/* Whether a relative path is, or is inside of, a name in the table that can run something, in
 * whatever directory: "a/.claude/settings.json". */
bool project_files_has(const char *path);

#endif
