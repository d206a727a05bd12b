/*
 * Where a path leads, followed once, name by name, from one open directory to the next:
 * what is looked at is what is opened, whatever somebody makes of the names meanwhile.
 *
 * A symbolic link in a directory that sandboxed programs may write to, or might at some
 * time (grounds.h), may be theirs: it leads nowhere but to what they see anyway.
 */
#ifndef AWF_SANDBOX_RESOLVE_H
#define AWF_SANDBOX_RESOLVE_H

#include <stdbool.h>
#include <sys/types.h>

struct resolved {
	int fd;        /* O_PATH */
	char *path;    /* absolute, without links */
	bool strayed;  /* a link in such a directory was on the way */
};

/* workspace: open, one of these directories; -1: there is none. -1 with errno: it leads
 * nowhere. */
int resolve_path(struct resolved *r, const char *path, int workspace);
void resolved_free(struct resolved *r);

/* Opens a path that is without links. -1 with errno: ELOOP if it no longer is. */
int resolve_exact(const char *path);
/* The same, if it still is what is open as fd; -1 with ESTALE if not. */
int resolve_again(const char *path, int fd);

#endif
