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
/* The directory part ("." if there is none), in memory of its own. */
char *path_directory(const char *path);
/* Replaces a path, which is in memory of its own, by path_directory() of it; false if that is the
 * same: / or . */
bool path_climb(char **path);
/* Whether it is a directory, or a link to one. */
bool path_is_directory(const char *path);
/* An absolute path without empty parts, "." and "..", computed from the text only, without
 * resolving links. The caller frees it. */
char *path_normal(const char *path);
/* Whether an absolute path is the directory or is below it, comparing only the texts. */
bool path_within(const char *path, const char *directory);
/* "$XDG_CONFIG_HOME/awf/NAME", "~/.config/awf/NAME"; NULL without a home. In memory
 * of its own. */
char *path_config(const char *name);
/* The same of "$XDG_DATA_HOME/awf/NAME", "~/.local/share/awf/NAME". */
char *path_data(const char *name);
/* $HOME, if it is an absolute path; else NULL: it would name another place in each
 * directory. */
const char *path_home(void);
/* First executable regular file called name in a colon-separated list; NULL if
 * there is none. In memory of its own. */
char *path_search(const char *list, const char *name);

#endif
