/*
 * What the code relies on:
 *  - Trees that stay visible are cloned before everything becomes read-only, and then mounted
 *    at their old places, parents before children.
 *  - Places below a directory that gets covered are mounted in it again.
 *  - A hidden path is never inside of another hidden path, unless there is a place between them.
 */
#define _GNU_SOURCE
#include "sandbox/view.h"

#ifndef AWF_PORTABLE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/list.h"
#include "base/memory.h"
#include "io/file.h"
#include "isolate/limits.h"
#include "isolate/mounts.h"
#include "sandbox/examine.h"
#include "sandbox/resolve.h"

#define FILES_OF_PRIVATE 65536
#define RESERVED_PIDS 301

/* Private, hidden and public layers cover what is there; a tree keeps it visible. */
enum layer_kind { LAYER_PRIVATE, LAYER_HIDDEN, LAYER_PUBLIC, LAYER_TREE };

/* Something to be mounted. */
struct layer {
	enum layer_kind kind;
	char *path;
	int tree;          /* of LAYER_PUBLIC and LAYER_TREE */
	bool directory;
	bool closed;       /* a tree to be mounted read-only */
};

struct layers {
	struct layer *list;
	size_t count;
};

/* Directories that become private, unless they are in the workspace. */
static const char *const private_directories[] = { "/tmp", "/dev/shm", "/var/tmp" };
enum { PRIVATE_DIRECTORIES = 2 }; /* how many of them, the first ones that can be */

static bool
can_be_private(const struct places *p, const char *path)
{
	char *real = realpath(path, NULL);
	bool can = real != NULL && strcmp(real, path) == 0 && !path_within(path, p->workspace);

	free(real);
	return can;
}

const char *
view_temporary(const struct places *p)
{
	for (size_t i = 0; i < sizeof private_directories / sizeof *private_directories; i++)
		if (can_be_private(p, private_directories[i]))
			return private_directories[i];
	return NULL;
}

/* ERROR_BLOCKED: the machine lacks resources. Other errors mean that this system does not allow
 * such mounts. */
static int
view_set_error(struct error *err, const char *what, const char *path)
{
	const bool is_short = errno == EMFILE || errno == ENFILE || errno == ENOMEM || errno == EIO;

	return error_errno(err, is_short ? ERROR_BLOCKED : ERROR_SYSTEM, NULL, "unable to %s %s", what, path);
}

static void
add_layer(struct layers *l, enum layer_kind kind, char *path, int tree, bool directory)
{
	l->list = memory_array(l->list, l->count + 1, sizeof *l->list);
	l->list[l->count++] = (struct layer){ kind, path, tree, directory, false };
}

/* Sorts by path, so a layer comes before those inside of it; for the same path, a cover
 * comes first. */
static int
by_path(const void *a, const void *b)
{
	const struct layer *p = a, *q = b;
	int order = strcmp(p->path, q->path);

	return order != 0 ? order : (int)p->kind - (int)q->kind;
}

/* Clones a tree that is open as a descriptor. Takes over the path and the descriptor. */
static int
clone_tree(struct layers *l, char *path, int open, bool writable, struct error *err)
{
	int fd = mounts_clone(open);
	struct stat st = { .st_mode = 0 };
	bool cloned = fd >= 0 && fstat(fd, &st) == 0;

	close(open);
	add_layer(l, LAYER_TREE, path, fd, S_ISDIR(st.st_mode));
	l->list[l->count - 1].closed = !writable;
	return cloned ? 0 : view_set_error(err, "clone", path);
}

static bool
is_cloned(const struct layers *l, const char *path)
{
	for (size_t i = 0; i < l->count; i++)
		if (l->list[i].kind == LAYER_TREE && strcmp(l->list[i].path, path) == 0)
			return true;
	return false;
}

/* Makes the directories between a place and a hidden path in it mounts too, since a mount cannot be
 * renamed: otherwise the hidden path would be visible under another name the next time. */
static int
pin_way(struct layers *l, const struct place *place, const char *hidden, struct error *err)
{
	char *path = path_directory(hidden), *next;
	int failed = 0;

	for (; failed == 0 && path_within(path, place->path) && !is_cloned(l, path); path = next) {
		int fd = resolve_exact(path);

		next = path_directory(path);
		if (fd == -1) {
			failed = view_set_error(err, "open", path);
			free(path);
		} else {
			failed = clone_tree(l, path, fd, true, err);
		}
	}
	free(path);
	return failed;
}

static int
texts_compare(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Determines all layers, and clones the trees that stay visible. */
static int
view_plan_layers(struct layers *l, const struct view *v, struct places *p, struct error *err)
{
	int private = 0;

	for (size_t i = 0; i < sizeof private_directories / sizeof *private_directories; i++)
		if (private < PRIVATE_DIRECTORIES && can_be_private(p, private_directories[i])) {
			add_layer(l, LAYER_PRIVATE, memory_text(private_directories[i]), -1, true);
			private++;
		}
	for (char **path = p->hidden; path != NULL && *path != NULL; path++)
		add_layer(l, LAYER_HIDDEN, memory_text(*path), -1, path_is_directory(*path));
	if (v->configuration != -1 && !list_has(p->hidden, places_configuration))
		add_layer(l, LAYER_PUBLIC, memory_text(places_configuration), v->configuration, true);

	/* A place that is writable, or that a layer would cover, is cloned. Its descriptor was
	 * opened outside, in other mounts, where it cannot be cloned: so it is opened again, and
	 * must be the same file. */
	for (size_t i = 0; i < p->count; i++) {
		const struct place *place = &p->list[i];
		bool writable = place->access == PLACE_WRITE, covered = false;
		int fd;

		for (size_t j = 0; j < l->count && !covered; j++)
			covered = l->list[j].kind != LAYER_TREE &&
			    path_within(place->path, l->list[j].path) &&
			    strcmp(place->path, l->list[j].path) != 0;
		if (!writable && !covered)
			continue;
		fd = place->fd != -1 ? resolve_again(place->path, place->fd) :
		    resolve_exact(place->path);
		if (fd == -1 && writable)
			return view_set_error(err, "open", place->path);
		if (fd != -1 && clone_tree(l, memory_text(place->path), fd, writable, err) == -1)
			return -1;
	}

	/* Hidden and kept paths in writable places. A path that does not exist cannot be
	 * kept, nor can a link. A directory is handled before its contents, as it is made
	 * writable for them. */
	if (p->kept != NULL)
		qsort(p->kept, list_count(p->kept), sizeof *p->kept, texts_compare);
	for (size_t i = 0; i < p->count; i++) {
		const struct place *place = &p->list[i];

		if (place->access != PLACE_WRITE)
			continue;
		for (char **hidden = p->hidden; hidden != NULL && *hidden != NULL; hidden++)
			if (path_within(*hidden, place->path) && pin_way(l, place, *hidden, err) == -1)
				return -1;
		for (char **kept = p->kept; kept != NULL && *kept != NULL; kept++) {
			int fd = path_within(*kept, place->path) && !is_cloned(l, *kept) ?
			    resolve_exact(*kept) : -2;

			if (fd == -1 && !examine_note_error(AT_FDCWD, *kept))
				return view_set_error(err, "open", *kept);
			if (fd < 0)
				continue;
			if (pin_way(l, place, *kept, err) == -1) {
				close(fd);
				return -1;
			}
			if (clone_tree(l, memory_text(*kept), fd, false, err) == -1)
				return -1;
		}
	}
	if (l->count > 0)
		qsort(l->list, l->count, sizeof *l->list, by_path);
	return 0;
}

static int
view_mount_layer(const struct view *v, const struct layer *layer)
{
	char options[96], *parent;
	struct stat st;
	int at, failed = 0;

	switch (layer->kind) {
	case LAYER_PRIVATE:
		snprintf(options, sizeof options, "size=%lld,nr_inodes=%d,mode=1777",
		    (long long)v->temporary, FILES_OF_PRIVATE);
		return mount_memory(layer->path, options);
	case LAYER_HIDDEN:
		if (!layer->directory)
			return mount("/dev/null", layer->path, NULL, MS_BIND, NULL);
		snprintf(options, sizeof options, "size=%d,nr_inodes=%d,mode=0755", getpagesize(),
		    FILES_OF_PRIVATE);
		return mount_memory(layer->path, options);
	case LAYER_PUBLIC:
	case LAYER_TREE:
		break;
	}
	/* A directory that was just covered is empty, so the mount point has to be made. */
	if (lstat(layer->path, &st) != 0) {
		parent = path_directory(layer->path);
		failed = directory_make(parent, 0755, NULL);
		free(parent);
		if (failed == 0)
			failed = layer->directory ? mkdir(layer->path, 0755) :
			    mknod(layer->path, S_IFREG | 0644, 0);
	}
	at = failed == 0 ? resolve_exact(layer->path) : -1;
	if (at == -1)
		return -1;
	failed = mounts_place(layer->tree, at);
	close(at);
	/* It contains only the mounts that were cloned with it. */
	return failed == 0 && layer->closed ? mounts_close(layer->path) : failed;
}

static int
view_mount_layers(struct view *v, struct places *p, struct layers *l, struct error *err)
{
	char pids[32];

	if (mounts_part() != 0)
		return view_set_error(err, "part the mounts from those of", "/");
	if (view_plan_layers(l, v, p, err) == -1)
		return -1;
	if (mounts_close("/") != 0)
		return view_set_error(err, "make read-only", "/");
	/* A container may have covered parts of /proc; the kernel then refuses a complete one. The
	 * old one stays, and Landlock separates the command from other processes. */
	v->own_proc = mount_proc() == 0;
	/* pid_max of this namespace limits the number of processes, for root too. Before Linux
	 * 6.14 it is a setting of the whole machine, and is not changed. The first 300 pids are
	 * never reused. */
	snprintf(pids, sizeof pids, "%lld", (long long)v->processes + RESERVED_PIDS);
	v->counted = v->own_proc && limits_kernel(6, 14) &&
	    setting_write("/proc/sys/kernel/pid_max", pids) == 0;
	if (v->own_proc && mount_close("/proc") != 0)
		return view_set_error(err, "make read-only", "/proc");
	for (size_t i = 0; i < l->count; i++)
		if (view_mount_layer(v, &l->list[i]) != 0)
			return view_set_error(err, "mount", l->list[i].path);
	/* This comes last, as other layers were mounted inside of them. */
	for (size_t i = 0; i < l->count; i++)
		if (l->list[i].kind == LAYER_HIDDEN && mount_close(l->list[i].path) != 0)
			return view_set_error(err, "make read-only", l->list[i].path);
	return 0;
}

int
view_make(struct view *v, struct places *p, struct error *err)
{
	struct layers l = { NULL, 0 };
	mode_t mask = umask(0);
	int made = view_mount_layers(v, p, &l, err);

	umask(mask);
	for (size_t i = 0; i < l.count; i++) {
		if (l.list[i].tree >= 0)
			close(l.list[i].tree);
		if (made == 0 && l.list[i].kind == LAYER_PRIVATE)
			places_add(p, l.list[i].path, PLACE_WRITE);
		free(l.list[i].path);
	}
	free(l.list);
	return made;
}
#else
const char *
view_temporary(const struct places *p)
{
	(void)p;
	return NULL;
}

int
view_make(struct view *v, struct places *p, struct error *err)
{
	(void)v, (void)p;
	return error_set(err, ERROR_SYSTEM, NULL, "this system has no namespaces");
}
#endif
