/*
 * What a replay finds around it: where it runs, what is shown there, what else it sees,
 * its arguments and its environment.
 *
 *   - Nothing of today's environment but HOME and XDG_CONFIG_HOME, where a user's
 *     agents and tools are looked for: all else is what was recorded. Where AWF is not
 *     in the recorded PATH, its directory stands before it.
 *   - In namespaces all is seen at its recorded path. Without them, in a copy of the
 *     workspace, arguments and search paths that name the original name the copy.
 *   - A script, agent, prompt, tool, skill or schema file that is not there, or is not
 *     what it was, is the recording's.
 *   - The second of two replays that are to be compared gets what must not matter
 *     otherwise: another umask, host name and pid, fewer processors, another day and
 *     time zone, and a copy of the workspace in which files have other inodes and times
 *     and stand in another order.
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

/* The kind that --isolation names. */
int isolation_parse(const char *text, enum isolation *isolation, struct error *err);

struct replay_env_spec {
	const struct source *source;
	enum isolation isolation;
	char *const *visible;    /* further directories, absolute; ends with NULL; may be NULL */
	const char *place;       /* directory of this replay, absolute */
	bool second;             /* of two */
};

/* Takes the directory of --visible into a list: it must be there. */
int replay_env_show(char ***visible, const char *directory, struct error *err);

struct replay_env {
	const struct replay_env_spec *spec;

	char *workspace;         /* where the workflow is started */
	char *shown;             /* what is shown there, if that is another directory */
	struct memory_place made; /* of a copy that lies outside of the replay's place */
	char *directory;         /* of the workflow */
	char **argv;
	struct environment environment; /* without what is the run's */
	char **visible;          /* directories */
	struct isolate_shown *elsewhere;
	char **paths;            /* of elsewhere */

	/* Files that are not what they were, or not there: from the recording. */
	char *restored;          /* a directory with them, below their paths */
	char *config;            /* one that is a configuration; NULL: today's */
	char **inside;           /* those of the workspace, absolute */
	struct isolate_shown *outside; /* the others */
};

/* spec stays the caller's. ERROR_SYSTEM if there is no workspace to run in, or it cannot be
 * copied. env is for replay_env_close() in all cases. */
int replay_env_open(struct replay_env *env, const struct replay_env_spec *spec, struct error *err);
/* What isolates to it, whose texts are the environment's; writable ends with NULL. */
struct isolate_spec replay_env_isolation(const struct replay_env *env,
    const char *const *writable);
/* Where it runs, before anything does: puts the restored files of the workspace there. */
int replay_env_settle(const struct replay_env *env, struct error *err);
/* What there is to say of it, in one line; NULL: nothing. */
char *replay_env_remark(const struct source *source, enum isolation isolation);
void replay_env_close(struct replay_env *env);

#endif
