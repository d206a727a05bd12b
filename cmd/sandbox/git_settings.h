/*
 * What the user's git is told to run or to read: the files that its settings name, whoever keeps
 * the settings (a repository, the user, the system, the environment), in files that those include
 * too, to any depth. git itself is not asked: what it runs to answer is what is to be found out.
 *
 * A setting may name a file or directory (core.hooksPath, include.path), or hold a command, in
 * whose words files may stand. Most are relative to wherever git works.
 */
#ifndef AWF_SANDBOX_GIT_SETTINGS_H
#define AWF_SANDBOX_GIT_SETTINGS_H

struct git_settings {
	char **paths;   /* of files and directories, absolute, or relative to a work tree; a list */
	char **data;    /* of files that are read, and whose contents run nothing; likewise */
	char **words;   /* of commands, that may be names of files; likewise */
	char **read;    /* the files that were read for them */
};

/* Of one file of settings, if it is there. */
void git_settings_read(struct git_settings *s, const char *path);
/* Of the user, the system and the environment. home: of the user, beside that of HOME; NULL:
 * none. */
void git_settings_read_users(struct git_settings *s, const char *home);
void git_settings_free(struct git_settings *s);

#endif
