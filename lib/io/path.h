/*
 * Paths: their parts, and where the user's files are looked for.
 */
#ifndef AWF_IO_PATH_H
#define AWF_IO_PATH_H

#include <stdbool.h>

/* "DIR/NAME", which the caller frees; no second slash if DIR ends in one. */
char *path_join(const char *directory, const char *name);
/* The part after the last slash, within path. */
const char *path_base(const char *path);
/* The directory part ("." if there is none), to be freed by the caller. */
char *path_directory(const char *path);
/* Replaces an allocated path by its path_directory(); returns false if that is the
 * same (/ or .). */
bool path_climb(char **path);
/* Whether it is a directory, or a link to one. */
bool path_is_directory(const char *path);
/* An absolute path without empty parts, "." and "..", computed from the text only, without
 * resolving links. The caller frees it. */
char *path_normal(const char *path);
/* Whether an absolute path is the directory or is below it, comparing only the texts. */
bool path_within(const char *path, const char *directory);
/* "$XDG_CONFIG_HOME/awf/NAME" or "~/.config/awf/NAME"; NULL without a home directory. To be freed
 * by the caller. */
char *path_config(const char *name);
/* The same for "$XDG_DATA_HOME/awf/NAME" or "~/.local/share/awf/NAME". */
char *path_data(const char *name);
/* $HOME if it is an absolute path; otherwise NULL, as it would depend on the working directory. */
const char *path_home(void);
/* The first executable regular file called name in a colon-separated list of directories, to be
 * freed by the caller; NULL if there is none. */
char *path_search(const char *list, const char *name);

#endif
