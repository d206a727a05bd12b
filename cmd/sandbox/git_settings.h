/*
 * Which files the user's git would execute or read because its settings name them: settings of a
 * repository, the user, the system and the environment, with included files to any depth. git
 * itself is not asked, since answering could already run such a program. A setting may be a path
 * (core.hooksPath, include.path) or a command that contains paths. Most paths are relative to the
 * directory that git works in.
 */
#ifndef AWF_SANDBOX_GIT_SETTINGS_H
#define AWF_SANDBOX_GIT_SETTINGS_H

struct git_settings {
	char **paths;   /* of files and directories, absolute, or relative to a work tree; a list */
	char **data;    /* of files that are read, and whose contents run nothing; likewise */
	char **words;   /* of commands, that may be names of files; likewise */
	char **read;    /* the files that were read for them */
};

/* Reads one file of settings, if it exists. */
void git_settings_read(struct git_settings *s, const char *path);
/* Reads the settings of the user, the system and the environment. home: the user's, in addition to
 * HOME; NULL: none. */
void git_settings_read_users(struct git_settings *s, const char *home);
void git_settings_free(struct git_settings *s);

#endif
