/*
 * Resolves a path once, name by name, from one open directory to the next: so what was checked is
 * what is opened, even if names are changed meanwhile. A symbolic link in a directory that
 * sandboxed programs can or could write to (grounds.h) may be theirs: it must not make more visible
 * than they see anyway.
 */
#ifndef AWF_SANDBOX_RESOLVE_H
#define AWF_SANDBOX_RESOLVE_H

#include <stdbool.h>
#include <sys/types.h>

struct resolved {
	int fd;        /* O_PATH */
	char *path;    /* absolute, without links */
	bool strayed;  /* a link in such a directory was followed */
	bool here;     /* one in the workspace was */
};

/* workspace: an open directory that such programs may write to; -1: none. Returns -1 with errno if
 * the path cannot be resolved. */
int resolve_path(struct resolved *r, const char *path, int workspace);
void resolved_free(struct resolved *r);

/* Opens a path that has no links. -1 with errno: ELOOP if it has one now. */
int resolve_exact(const char *path);
/* The same, but only if it is still the file that is open as fd; otherwise -1 with ESTALE. */
int resolve_again(const char *path, int fd);

#endif
