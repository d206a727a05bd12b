/*
 * The environment of a replay: where it runs, which files it sees, its arguments and variables.
 *
 *   - Of the current environment only HOME and XDG_CONFIG_HOME are kept, where the user's agents
 *     and tools are looked for; all other variables are the recorded ones. If the recorded PATH
 *     does not contain AWF, its directory is put first.
 *   - With namespaces everything is seen at its recorded path. Without them, in a copy of the
 *     workspace, arguments and search paths that name the original are changed to name the copy.
 *   - A script, agent, prompt, tool, skill or schema file that is missing or has changed is taken
 *     from the recording.
 *   - For the second of two replays to be compared, conditions that must not matter are changed:
 *     umask, host name and pid, number of processors, date and time zone, and a copy of the
 *     workspace whose files have other inodes, times and order.
 */
#ifndef AWF_REPLAY_RUN_REPLAY_ENV_H
#define AWF_REPLAY_RUN_REPLAY_ENV_H

#include <stdbool.h>

#include "base/error.h"
#include "isolate/isolate.h"
#include "proc/environment.h"
#include "replay_run/source.h"
#include "replay_run/workspace_copy.h"

enum isolation { ISOLATION_NAMESPACES, ISOLATION_COPY, ISOLATION_NONE };

/* Parses the value of --isolation. */
int isolation_parse(const char *text, enum isolation *isolation, struct error *err);

struct replay_env_spec {
	const struct source *source;
	enum isolation isolation;
	char *const *visible;    /* additional directories, absolute; NULL-terminated;
	                            may be NULL */
	const char *place;       /* directory of this replay, absolute */
	bool second;             /* it is the second of two */
};

/* Adds the directory of --visible to a list; it must exist. */
int replay_env_show(char ***visible, const char *directory, struct error *err);

struct replay_env {
	const struct replay_env_spec *spec;

	char *workspace;         /* working directory of the workflow */
	char *shown;             /* directory that is shown there; NULL: itself */
	struct memory_place made; /* of a copy outside of the replay's directory */
	char *directory;         /* of the workflow */
	char **argv;
	struct environment environment; /* without the variables of the run */
	char **visible;          /* directories */
	struct isolate_shown *elsewhere;
	char **paths;            /* texts of elsewhere */

	/* Files that have changed or are missing, from the recording. */
	char *restored;          /* directory that contains them, with their paths below it */
	char *config;            /* a directory that is a configuration; NULL: use the
	                            current one */
	char **inside;           /* those in the workspace, absolute */
	struct isolate_shown *outside; /* the others */
};

/* spec stays the caller's. ERROR_SYSTEM if there is no workspace to run in, or it cannot be copied.
 * Call replay_env_close() in all cases. */
int replay_env_open(struct replay_env *env, const struct replay_env_spec *spec, struct error *err);
/* The isolation for it, whose texts belong to env; writable is NULL-terminated. */
struct isolate_spec replay_env_isolation(const struct replay_env *env,
    const char *const *writable);
/* Called inside of the isolation before anything runs: writes the restored files of
 * the workspace. */
int replay_env_settle(const struct replay_env *env, struct error *err);
/* A remark to print, on one line; NULL: none. */
char *replay_env_remark(const struct source *source, enum isolation isolation);
void replay_env_close(struct replay_env *env);

#endif
