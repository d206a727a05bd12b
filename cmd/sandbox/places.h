/*
 * Which paths a sandboxed program may see and change on this machine: paths without symbolic links,
 * each once in the list, and none inside of another that allows as much.
 *
 * A place is opened when it is found, and stays open: if its path is replaced afterwards, the
 * replacement is no place. Places that the user did not name (from PATH, the workflow's directory)
 * never contain, and are never inside of, the secrets of a home directory.
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
	int fd;              /* O_PATH; -1: a path of the system, where nobody else changes names */
};

struct places {
	struct place *list;
	size_t count;
	char **hidden;       /* paths inside of places that must not be seen; ends with NULL */
	char **kept;         /* paths in the workspace that must not be changed; ends with NULL */
	char **opened;       /* paths there that may be changed although they would be
	                        kept; likewise */
	char **linked;       /* what links in the user's agents, tools and skills lead to; likewise */
	char **homes;        /* $HOME and the user's home directory; ends with NULL; NULL: none */
	char *workspace;
	int workspace_fd;    /* O_PATH */
	char *start;         /* directory that the command starts in */
	char *temporary;     /* private directory; set by the caller that makes it */
};

/* In this directory root in a sandbox sees only what every user may read (public.h). */
extern const char places_configuration[];

/* ERROR_BLOCKED if the workspace is not allowed to be one. */
int places_find(struct places *p, const struct settings *s, struct error *err);
/* Adds a place that no sandboxed program can have made. */
void places_add(struct places *p, const char *path, enum place_access access);
/* Makes something in the workspace read-only, unless it is opened; the path is absolute, or
 * relative to the workspace. */
void places_keep(struct places *p, const char *path);
/* Whether AWF itself uses the kept path `name` of a workspace; those of git it does not. */
bool places_taken_up(const char *name);
void places_free(struct places *p);

#endif
