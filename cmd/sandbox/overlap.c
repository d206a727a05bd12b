/*
 * A record is a sequence of numbers and of bytes with their length, written and read by the same
 * functions. Its file is written under the lock of the directory, so nobody reads a part of it.
 *
 * Paths in a record are relative to its workspace. It is the same as the one that is examined, or
 * contains it, or lies in it; all that was found in the part that both have in common is replaced.
 */
#define _GNU_SOURCE
#include "sandbox/overlap.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/id.h"
#include "base/list.h"
#include "base/memory.h"
#include "base/text.h"
#include "io/file.h"
#include "io/lock.h"
#include "sandbox/repositories_parts.h"
#include "storage/storage.h"

#define RECORD_LIMIT ((size_t)1 << 30)

/* ---- what is written and read ---- */

struct record {
	struct buffer *to;      /* it is written to this; NULL: it is read */
	const char *at, *end;
	bool damaged;
};

static void
record_bytes(struct record *c, void *bytes, size_t len)
{
	if (c->to != NULL) {
		buffer_append(c->to, bytes, len);
	} else if (c->damaged || (size_t)(c->end - c->at) < len) {
		c->damaged = true;
		memset(bytes, 0, len);
	} else {
		memcpy(bytes, c->at, len);
		c->at += len;
	}
}

/* A text of any bytes; NULL is one of its own. */
static void
record_content(struct record *c, char **text, size_t *len)
{
	uint64_t size = *text == NULL ? 0 : *len + 1;

	record_bytes(c, &size, sizeof size);
	if (c->to != NULL) {
		buffer_append(c->to, *text == NULL ? "" : *text, *text == NULL ? 0 : *len);
		return;
	}
	c->damaged = c->damaged || (size > 0 && size - 1 > (uint64_t)(c->end - c->at));
	*text = NULL;
	*len = 0;
	if (!c->damaged && size > 0) {
		*len = (size_t)size - 1;
		*text = memory_copy(c->at, *len);
		c->at += *len;
	}
}

static void
record_text(struct record *c, char **text)
{
	size_t len = *text == NULL ? 0 : strlen(*text);

	record_content(c, text, &len);
}

static uint64_t
record_count(struct record *c, uint64_t count)
{
	record_bytes(c, &count, sizeof count);
	c->damaged = c->damaged || (c->to == NULL && count > (uint64_t)(c->end - c->at));
	return c->damaged ? 0 : count;
}

static void
record_list(struct record *c, char ***list)
{
	const uint64_t count = record_count(c, list_count(*list));

	for (uint64_t i = 0; i < count && !c->damaged; i++) {
		char *text = c->to == NULL || *list == NULL ? NULL : (*list)[i];

		record_text(c, &text);
		if (c->to == NULL && text != NULL)
			list_take(list, text);
	}
}

static void
record_item(struct record *c, struct odd_item *item)
{
	bool *const flags[] = { &item->whole, &item->linked, &item->plain, &item->leads, &item->hides,
		&item->sparse, &item->waits };

	record_text(c, &item->path);
	record_text(c, &item->repository);
	record_bytes(c, &item->mode, sizeof item->mode);
	record_bytes(c, &item->changed, sizeof item->changed);
	record_list(c, &item->settings);
	record_content(c, &item->content, &item->len);
	for (size_t i = 0; i < sizeof flags / sizeof *flags; i++)
		record_bytes(c, flags[i], sizeof **flags);
	if (c->to == NULL) {
		item->copy = -1;
		c->damaged = c->damaged || item->path == NULL || item->content == NULL;
	}
}

static void
record_repositories(struct record *c, struct repositories *r)
{
	char ***const lists[] = { &r->found, &r->settings.paths, &r->settings.data, &r->settings.words,
		&r->settings.read, &r->used, &r->used_there, &r->data, &r->pointers, &r->unknown, &r->shared };

	record_text(c, &r->root);
	c->damaged = c->damaged || r->root == NULL;
	record_bytes(c, &r->began, sizeof r->began);
	for (size_t i = 0; i < sizeof lists / sizeof *lists; i++)
		record_list(c, lists[i]);
	r->noted_count = (size_t)record_count(c, r->noted_count);
	if (c->to == NULL)
		r->noted = memory_zero(r->noted_count + 1, sizeof *r->noted);
	for (size_t i = 0; i < r->noted_count; i++) {
		record_text(c, &r->noted[i]);
		c->damaged = c->damaged || r->noted[i] == NULL;
	}
	r->count = (size_t)record_count(c, r->count);
	if (c->to == NULL)
		r->items = memory_zero(r->count + 1, sizeof *r->items);
	for (size_t i = 0; i < r->count; i++)
		record_item(c, &r->items[i]);
	r->seen_count = (size_t)record_count(c, r->seen_count);
	if (c->to == NULL)
		r->seen = memory_zero(r->seen_count + 1, sizeof *r->seen);
	for (size_t i = 0; i < r->seen_count; i++) {
		record_text(c, &r->seen[i].path);
		record_bytes(c, &r->seen[i].device, sizeof r->seen[i].device);
		record_bytes(c, &r->seen[i].inode, sizeof r->seen[i].inode);
		record_bytes(c, &r->seen[i].changed, sizeof r->seen[i].changed);
		c->damaged = c->damaged || r->seen[i].path == NULL;
	}
}

/* ---- what two workspaces have in common ---- */

/* How paths of a record become paths of the workspace that is examined. One of them at least is
 * "". */
struct common {
	const char *above;   /* the record's workspace, seen from the other one */
	const char *below;   /* the other way round */
};

/* Where the record's workspace and another one have directories in common; false: nowhere. */
static bool
find_common(struct common *m, const char *recorded, const char *examined)
{
	const bool inside = path_within(recorded, examined), around = path_within(examined, recorded);

	*m = (struct common){ "", "" };
	if (inside && !around)
		m->above = recorded + strlen(examined) + (strcmp(examined, "/") != 0);
	else if (around && !inside)
		m->below = examined + strlen(recorded) + (strcmp(recorded, "/") != 0);
	return inside || around;
}

/* Whether a path of the examined workspace is in the common part. */
static bool
is_common(const struct common *m, const char *path)
{
	return *m->above == '\0' || path_within(path, m->above);
}

/* The same for an absolute path, which the workspace contains. */
static bool
is_common_whole(const struct common *m, const char *root, const char *path)
{
	return is_common(m, path + strlen(root) + (strcmp(root, "/") != 0));
}

/* The path in the examined workspace of a path in the record's, allocated; NULL: it is not in
 * there. */
static char *
map_path(const struct common *m, const char *path)
{
	const size_t len = strlen(m->below);

	if (len > 0 && !path_within(path, m->below))
		return NULL;
	path += len > 0 && path[len] == '/' ? len + 1 : len;
	if (*m->above == '\0')
		return memory_text(path);
	return *path == '\0' ? memory_text(m->above) : path_join(m->above, path);
}

/* The same for the part of a text from `start` to `end`. */
static char *
map_part(const struct common *m, const char *text, size_t start, size_t end)
{
	char *path = memory_copy(text + start, end - start), *mapped = map_path(m, path), *whole = NULL;

	if (mapped != NULL)
		whole = memory_format("%.*s%s%s", (int)start, text, mapped, text + end);
	free(mapped);
	free(path);
	return whole;
}

/* Removes the paths of a list that are in the common part; root: they are absolute, and this is the
 * workspace. */
static void
drop_common(const struct common *m, const char *root, char ***list)
{
	char **kept = NULL;

	for (char **path = *list; path != NULL && *path != NULL; path++)
		if (root == NULL ? is_common(m, *path) : is_common_whole(m, root, *path))
			free(*path);
		else
			list_take(&kept, *path);
	free(*list);
	*list = kept;
}

static void
join_lists(const struct common *m, struct repositories *r, const struct repositories *was)
{
	char ***const to[] = { &r->found, &r->data, &r->pointers, &r->unknown };
	char **const from[] = { was->found, was->data, was->pointers, was->unknown };
	char ***const to_whole[] = { &r->used, &r->used_there };
	char **const from_whole[] = { was->used, was->used_there };
	char **shared = NULL, *mapped;

	for (size_t i = 0; i < sizeof to / sizeof *to; i++) {
		drop_common(m, NULL, to[i]);
		for (char **path = from[i]; path != NULL && *path != NULL; path++)
			if ((mapped = map_path(m, *path)) != NULL)
				list_take(to[i], mapped);
	}
	for (size_t i = 0; i < sizeof to_whole / sizeof *to_whole; i++) {
		drop_common(m, r->root, to_whole[i]);
		for (char **path = from_whole[i]; path != NULL && *path != NULL; path++)
			if (path_within(*path, r->root) && strcmp(*path, r->root) != 0)
				list_add(to_whole[i], *path);
	}
	/* In these the path comes after a space. */
	for (char **file = r->shared; file != NULL && *file != NULL; file++)
		if (is_common(m, strchr(*file, ' ') + 1))
			free(*file);
		else
			list_take(&shared, *file);
	for (char **file = was->shared; file != NULL && *file != NULL; file++)
		if (strchr(*file, ' ') != NULL &&
		    (mapped = map_part(m, *file, (size_t)(strchr(*file, ' ') + 1 - *file), strlen(*file))) != NULL)
			list_take(&shared, mapped);
	free(r->shared);
	r->shared = shared;
}

static void
join_noted(const struct common *m, struct repositories *r, const struct repositories *was)
{
	size_t kept = 0;
	char *mapped;

	for (size_t i = 0; i < r->noted_count; i++) {
		char *path = memory_copy(r->noted[i], strcspn(r->noted[i], "\n"));

		if (is_common(m, path))
			free(r->noted[i]);
		else
			r->noted[kept++] = r->noted[i];
		free(path);
	}
	r->noted = memory_array(r->noted, kept + was->noted_count + 1, sizeof *r->noted);
	for (size_t i = 0; i < was->noted_count; i++)
		if ((mapped = map_part(m, was->noted[i], 0, strcspn(was->noted[i], "\n"))) != NULL)
			r->noted[kept++] = mapped;
	r->noted_count = kept;
	qsort(r->noted, r->noted_count, sizeof *r->noted, repositories_compare_texts);
}

/* Items are moved from one to the other. */
static void
join_items(const struct common *m, struct repositories *r, struct repositories *was)
{
	size_t kept = 0;

	for (size_t i = 0; i < r->count; i++)
		if (is_common(m, r->items[i].path))
			repositories_free_item(&r->items[i]);
		else
			r->items[kept++] = r->items[i];
	r->items = memory_array(r->items, kept + was->count + 1, sizeof *r->items);
	for (size_t i = 0; i < was->count; i++) {
		struct odd_item item = was->items[i];
		char *path = map_path(m, item.path),
		     *repository = item.repository == NULL ? NULL : map_path(m, item.repository);

		if (path == NULL || (item.repository != NULL && repository == NULL)) {
			free(path);
			free(repository);
			continue;
		}
		was->items[i].settings = NULL;
		was->items[i].content = NULL;
		item.path = path;
		item.repository = repository;
		r->items[kept++] = item;
	}
	r->count = kept;
}

static void
join_seen(const struct common *m, struct repositories *r, const struct repositories *was)
{
	bool top = false;
	size_t kept = 0;
	char *mapped;

	for (size_t i = 0; i < r->seen_count; i++)
		if (is_common(m, r->seen[i].path))
			free(r->seen[i].path);
		else
			r->seen[kept++] = r->seen[i];
	r->seen = memory_array(r->seen, kept + was->seen_count + 1, sizeof *r->seen);
	for (size_t i = 0; i < was->seen_count; i++)
		if ((mapped = map_path(m, was->seen[i].path)) != NULL) {
			r->seen[kept] = was->seen[i];
			r->seen[kept++].path = mapped;
			top = top || strcmp(mapped, m->above) == 0;
		}
	/* If a running program made the whole of the common part, all of it is examined afterwards. */
	if (!top)
		r->seen[kept++] = (struct seen_directory){ .path = memory_text(m->above) };
	r->seen_count = kept;
	qsort(r->seen, r->seen_count, sizeof *r->seen, repositories_compare_seen);
}

/* Replaces what was found by what is recorded, where both workspaces have directories in common. */
static void
join_record(struct repositories *r, struct repositories *was)
{
	struct common m;
	struct git_settings settings;

	if (!find_common(&m, was->root, r->root))
		return;
	join_lists(&m, r, was);
	join_noted(&m, r, was);
	join_items(&m, r, was);
	join_seen(&m, r, was);
	/* Others have settings that a repository of the record had before. */
	if (*m.above == '\0') {
		settings = r->settings;
		r->settings = was->settings;
		was->settings = settings;
	}
	if (repositories_is_earlier(&was->began, &r->began))
		r->began = was->began;
}

/* ---- the records ---- */

/* Reads the record of a program that is running, or removes that of a killed one. */
static int
read_record(struct overlap *o, const char *name)
{
	char *path = path_join(o->directory, name);
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK), failed = 0;

	if (fd == -1) {
		failed = errno == ENOENT ? 0 : -1;
	} else if (lock_file_take(fd) == 0) {
		unlink(path);
	} else {
		o->others = memory_array(o->others, o->count + 1, sizeof *o->others);
		o->others[o->count] = (struct buffer)BUFFER_INIT;
		failed = file_read(fd, &o->others[o->count++], RECORD_LIMIT);
	}
	file_close(&fd);
	free(path);
	return failed;
}

/* -1 with errno. */
static int
read_records(struct overlap *o)
{
	int fd = fcntl(o->lock, F_DUPFD_CLOEXEC, 0), failed = 0;
	DIR *dir = fd == -1 ? NULL : fdopendir(fd);
	const struct dirent *entry;

	if (dir == NULL) {
		file_close(&fd);
		return -1;
	}
	rewinddir(dir);
	while (failed == 0 && (entry = repositories_next_entry(dir)) != NULL)
		if (*entry->d_name != '.')
			failed = read_record(o, entry->d_name);
	closedir(dir);
	return failed;
}

void
overlap_lock(struct overlap *o)
{
	if (o->directory == NULL || o->lock != -1)
		return;
	o->lock = open(o->directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	/* Whoever holds it examines a workspace, and waits for nobody. */
	if (o->lock != -1 && lock_file_wait(o->lock) != 0)
		file_close(&o->lock);
}

void
overlap_unlock(struct overlap *o)
{
	file_close(&o->lock);
}

int
overlap_begin(struct overlap *o, struct error *err)
{
	struct storage storage;
	char *parent;

	if (storage_locate(&storage, NULL) != 0)
		return 0;
	parent = path_join(storage.root, STORAGE_SANDBOXED);
	o->directory = path_join(parent, "overlap");
	storage_close(&storage);
	overlap_lock(o);
	if (o->lock == -1 && errno == ENOENT && (mkdir(parent, 0700) == 0 || errno == EEXIST) &&
	    (mkdir(o->directory, 0700) == 0 || errno == EEXIST))
		overlap_lock(o);
	free(parent);
	if (o->lock == -1 && errno == ENOENT) { /* a storage that does not exist yet has no runs */
		free(o->directory);
		o->directory = NULL;
		return 0;
	}
	if (o->lock == -1 || read_records(o) != 0)
		return error_errno(err, ERROR_BLOCKED, o->directory, "unable to see which other sandboxed programs run");
	return 0;
}

/* Writes the record. -1 with errno. */
static int
write_record(struct overlap *o, struct repositories *r)
{
	struct buffer text = BUFFER_INIT;
	struct record out = { .to = &text };
	char id[ID_SIZE];
	int failed = -1, reason;

	record_repositories(&out, r);
	o->path = path_join(o->directory, id_new(id));
	o->fd = open(o->path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (o->fd != -1 && lock_file_take(o->fd) == 0)
		failed = file_write(o->fd, text.data, text.len);
	reason = errno;
	buffer_free(&text);
	errno = reason;
	return failed;
}

int
overlap_join(struct overlap *o, struct repositories *r, struct error *err)
{
	int failed = 0;

	for (size_t i = 0; i < o->count && failed == 0; i++) {
		struct record in = { .at = o->others[i].data, .end = o->others[i].data + o->others[i].len };
		struct repositories was = { .workspace = -1, .ballast = -1 };

		record_repositories(&in, &was);
		if (in.damaged)
			failed = error_set(err, ERROR_BLOCKED, o->directory, "holds a damaged record");
		else
			join_record(r, &was);
		repositories_free(&was);
	}
	if (failed == 0 && o->directory != NULL && write_record(o, r) != 0)
		failed = error_errno(err, ERROR_BLOCKED, o->directory, "unable to note what was there before the command");
	overlap_unlock(o);
	return failed;
}

void
overlap_end(struct overlap *o)
{
	if (o->fd != -1)
		unlink(o->path);
	file_close(&o->fd);
	overlap_unlock(o);
	for (size_t i = 0; i < o->count; i++)
		buffer_free(&o->others[i]);
	free(o->others);
	free(o->path);
	free(o->directory);
	*o = (struct overlap)OVERLAP_INIT;
}
