/*
 * Which places a sandboxed program may see and change, as they lie on this machine: paths
 * without symbolic links, each in the list once, under no other that allows as much.
 *
 * A place is found once, and open from then on: what somebody makes of its path meanwhile
 * is no place. Nothing that nobody asked for by name (of PATH, the workflow's directory)
 * holds or lies in a home directory's secrets.
 */
#ifndef AWF_SANDBOX_PLACES_H
#define AWF_SANDBOX_PLACES_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "isolate/landlock.h"
#include "sandbox/settings.h"

struct place {
	char *path;
	enum place_access access;
	int fd;              /* O_PATH; -1: of the system, where nobody else changes names */
};

struct places {
	struct place *list;
	size_t count;
	char **hidden;       /* what lies in one of them, and is not to be seen; ends with NULL */
	char **kept;         /* what lies in the workspace and is not to be changed; ends with NULL */
	char **opened;       /* what lies there and may be changed though it would be kept; likewise */
	char **homes;        /* $HOME's and the user's; ends with NULL; NULL: there is none */
	char *workspace;
	int workspace_fd;    /* O_PATH */
	char *start;         /* directory to start in */
	char *temporary;     /* directory that is private; set by the one who makes it */
};

/* Of it, for root, what every user may read is for others to find (public.h). */
extern const char places_configuration[];

/* ERROR_BLOCKED if the workspace can be none. */
int places_find(struct places *p, const struct settings *s, struct error *err);
/* One that no sandboxed program can have made. */
void places_add(struct places *p, const char *path, enum place_access access);
/* Something in the workspace is not to be changed, unless it is opened; an absolute path, or relative to
 * the workspace. */
void places_keep(struct places *p, const char *path);
/* Whether AWF itself takes up what is kept of a workspace at this path in it: git's is not
 * AWF's. */
bool places_taken_up(const char *name);
void places_free(struct places *p);

#endif
