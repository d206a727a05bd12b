/*
 * Most paths have no link: openat2() opens them at once. Others are walked with a stack of open
 * directories; ".." removes the top one.
 */
#define _GNU_SOURCE
#include "sandbox/resolve.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#ifndef AWF_PORTABLE
#include <linux/openat2.h>
#include <sys/syscall.h>
#ifndef SYS_openat2
#define SYS_openat2 437
#endif
#endif

#include "base/buffer.h"
#include "base/memory.h"
#include "io/file.h"
#include "sandbox/grounds.h"

#define LINKS 40      /* the kernel's limit */
#define DEPTH 256

struct directory {
	int fd;       /* may be a file at the end */
	size_t len;   /* length of the path up to it */
};

struct walk {
	struct directory stack[DEPTH];
	size_t depth;
	struct buffer path;   /* of the top directory; "" is the root */
	char *rest;           /* remaining names, without a leading slash */
	struct stat workspace;
	bool has_workspace, strayed, here;
	int links;
};

#ifndef AWF_PORTABLE
int
resolve_exact(const char *path)
{
	const struct open_how how = { .flags = O_PATH | O_CLOEXEC, .resolve = RESOLVE_NO_SYMLINKS };

	return (int)syscall(SYS_openat2, AT_FDCWD, path, &how, sizeof how);
}
#else
int
resolve_exact(const char *path)
{
	char *real = realpath(path, NULL);
	bool exact = real != NULL && strcmp(real, path) == 0;

	free(real);
	errno = exact ? errno : ELOOP;
	return exact ? open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC) : -1;
}
#endif

static bool
resolve_is_same_file(const struct stat *a, const struct stat *b)
{
	return a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

int
resolve_again(const char *path, int fd)
{
	struct stat was, is;
	int again = resolve_exact(path);

	if (again == -1 || (fstat(fd, &was) == 0 && fstat(again, &is) == 0 &&
	    resolve_is_same_file(&was, &is)))
		return again;
	close(again);
	errno = ESTALE;
	return -1;
}

/* Removes the top directory unless it is the root. */
static void
resolve_pop_directory(struct walk *w)
{
	if (w->depth == 1)
		return;
	close(w->stack[--w->depth].fd);
	w->path.len = w->stack[w->depth - 1].len;
}

/* Takes over fd. */
static int
resolve_push_directory(struct walk *w, int fd, const char *name)
{
	if (w->depth == DEPTH) {
		close(fd);
		errno = ENAMETOOLONG;
		return -1;
	}
	if (w->depth > 0) {
		buffer_byte(&w->path, '/');
		buffer_text(&w->path, name);
	}
	w->stack[w->depth++] = (struct directory){ fd, w->path.len };
	return 0;
}

/* Continues with the target of a link. It may have been made by a sandboxed program if the top
 * directory is, or is inside of, one that such programs may write to. */
static int
resolve_follow_link(struct walk *w, int link)
{
	char target[PATH_MAX], *rest;
	ssize_t len = readlinkat(link, "", target, sizeof target - 1);
	struct stat st;

	if (len < 0)
		return -1;
	target[len] = '\0';
	if (++w->links > LINKS) {
		errno = ELOOP;
		return -1;
	}
	for (size_t i = 1; !w->here && w->has_workspace && i < w->depth; i++)
		w->here = fstat(w->stack[i].fd, &st) == 0 &&
		    resolve_is_same_file(&st, &w->workspace);
	w->strayed = w->strayed || w->here;
	if (!w->strayed)
		w->strayed = w->path.len > 0 && grounds_have(buffer_string(&w->path));
	rest = memory_format("%s/%s", target, w->rest);
	free(w->rest);
	w->rest = rest;
	while (*target == '/' && w->depth > 1)
		resolve_pop_directory(w);
	return 0;
}

static int
resolve_walk_path(struct walk *w)
{
	int root = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	int failed = root == -1 ? -1 : resolve_push_directory(w, root, "");

	while (failed == 0 && *w->rest != '\0') {
		size_t len = strcspn(w->rest, "/");
		char *name = memory_copy(w->rest, len), *rest = w->rest + len + strspn(w->rest + len, "/");
		struct stat st;
		int fd;

		memmove(w->rest, rest, strlen(rest) + 1);
		if (strcmp(name, "..") == 0) {
			resolve_pop_directory(w);
		} else if (*name != '\0' && strcmp(name, ".") != 0) {
			fd = openat(w->stack[w->depth - 1].fd, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
			if (fd == -1) {
				failed = -1;
			} else if (fstat(fd, &st) == 0 && !S_ISLNK(st.st_mode)) {
				failed = resolve_push_directory(w, fd, name);
			} else {
				failed = resolve_follow_link(w, fd);
				close(fd);
			}
		}
		free(name);
	}
	return failed;
}

int
resolve_path(struct resolved *r, const char *path, int workspace)
{
	char here[PATH_MAX], *whole;
	bool up = false;
	int failed = 0, reason;

	*r = (struct resolved){ -1, NULL, false, false };
	if (*path != '/' && getcwd(here, sizeof here) == NULL)
		return -1;
	whole = *path == '/' ? memory_text(path) : path_join(here, path);
	/* For ".." the kernel would use a directory's current parent, and it may have
	 * been moved. */
	for (const char *dots = strstr(whole, "/.."); dots != NULL; dots = strstr(dots + 1, "/.."))
		up = up || dots[3] == '/' || dots[3] == '\0';
	r->fd = up ? -1 : resolve_exact(whole);
	if (r->fd != -1) {
		r->path = path_normal(whole);
	} else if (!up && (errno == ENOENT || errno == EACCES || errno == ENOTDIR)) {
		failed = -1; /* no link before the name at which it failed */
	} else {
		struct walk w = { .path = BUFFER_INIT, .rest = memory_text(whole + strspn(whole, "/")) };

		w.has_workspace = workspace != -1 && fstat(workspace, &w.workspace) == 0;
		failed = resolve_walk_path(&w);
		reason = errno;
		if (failed == 0) {
			r->fd = w.stack[--w.depth].fd;
			r->path = w.path.len == 0 ? memory_text("/") :
			    memory_copy(w.path.data, w.path.len);
			r->strayed = w.strayed;
			r->here = w.here;
		}
		while (w.depth > 0)
			close(w.stack[--w.depth].fd);
		buffer_free(&w.path);
		free(w.rest);
		errno = reason;
	}
	free(whole);
	return failed;
}

void
resolved_free(struct resolved *r)
{
	if (r->fd != -1)
		close(r->fd);
	free(r->path);
	*r = (struct resolved){ -1, NULL, false, false };
}
