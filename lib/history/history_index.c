/*
 * The index of a history, mapped into memory. Finds records by bisection, since they are sorted by
 * key and guard; marks records that a process is about to claim; and reads their lines. A mark is a
 * pid with the start time of its process, so that a reused pid does not stand for the process that
 * died. Before a line is read, the transcript is checked to be the file from which the index was
 * made: device, inode, and the digest at its end.
 */
#include "history/history_parts.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/invariant.h"
#include "base/memory.h"
#include "base/text.h"
#include "io/file.h"
#include "proc/process.h"
#include "transcript/blob.h"
#include "transcript/event_keys.h"

#define AROUND_FILE "around"   /* in the run directory: contains the path of another run
                                  directory */
#define PATH_LIMIT ((size_t)64 << 10)

/* ---- opened ---- */

static int
history_set_damaged_error(const char *path, struct error *err)
{
	return error_set(err, ERROR_SYSTEM, path,
	    "is no history of this version: start the run again with --resume");
}

/* Maps the file and finds its parts; fails unless they make up the whole file. */
static int
map_index(struct history *h, int fd, struct error *err)
{
	const struct index_head *head;
	struct stat status;
	uint64_t room, need;

	if (fstat(fd, &status) != 0)
		return error_errno(err, ERROR_SYSTEM, h->path, "unable to look at it");
	h->map_len = (size_t)status.st_size;
	if (h->map_len == 0)
		return history_set_damaged_error(h->path, err);
	h->map = mmap(NULL, h->map_len, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (h->map == MAP_FAILED) {
		h->map = NULL;
		return error_errno(err, ERROR_SYSTEM, h->path, "unable to map");
	}
	head = h->map;
	room = h->map_len;
	if (room < sizeof *head || memcmp(head->magic, HISTORY_MAGIC, sizeof head->magic) != 0 ||
	    head->sources > room || head->records > room || head->keys > room ||
	    head->questions > room || head->places > room || head->text > room)
		return history_set_damaged_error(h->path, err);
	need = sizeof *head + head->sources * sizeof *h->sources +
	    head->records * sizeof *h->records + head->keys * sizeof *h->keys +
	    head->questions * sizeof *h->questions +
	    head->places * sizeof *h->places + head->text;
	if (need != room || head->text == 0 || (head->records > 0 && head->keys == 0))
		return history_set_damaged_error(h->path, err);
	h->head = head;
	h->sources = (const void *)(head + 1);
	h->records = (void *)((char *)h->map + sizeof *head + head->sources * sizeof *h->sources);
	h->keys = (void *)(h->records + head->records);
	h->questions = (const void *)(h->keys + head->keys);
	h->places = (const void *)(h->questions + head->questions);
	h->text = (const char *)(h->places + head->places);
	return h->text[head->text - 1] == '\0' ? 0 : history_set_damaged_error(h->path, err);
}

int
history_open_index(struct history **opened, const char *path, struct error *err)
{
	int fd = file_open_plain(path, O_RDWR, 0), failed;
	struct history *h;

	*opened = NULL;
	if (fd < 0)
		return errno == ENOENT ? 0 : error_errno(err, ERROR_SYSTEM, path, "unable to open");
	h = memory_zero(1, sizeof *h);
	h->path = memory_text(path);
	failed = map_index(h, fd, err);
	close(fd);
	if (failed != 0) {
		history_close(h);
		return -1;
	}
	h->ahead_key = SIZE_MAX;
	h->fds = memory_zero((size_t)h->head->sources, sizeof *h->fds);
	memset(h->fds, 0xff, (size_t)h->head->sources * sizeof *h->fds);
	*opened = h;
	return 0;
}

char *
history_inside(const char *run_directory, const char *run_id)
{
	return memory_format("%s/" HISTORY_FILE "-%s", run_directory, run_id);
}

int
history_set_around(const char *run_directory, const char *around, const char *place,
    const char *call, const char *step_path, struct error *err)
{
	const char *const texts[] = { around, place != NULL ? place : "", call, step_path };
	char *path = path_join(run_directory, AROUND_FILE);
	struct buffer text = BUFFER_INIT;
	int fd = file_open_plain(path, O_WRONLY | O_CREAT | O_TRUNC, 0600), failed = 0;

	for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
		buffer_append(&text, texts[i], strlen(texts[i]) + 1);
	if (fd < 0 || file_write(fd, text.data, text.len) != 0)
		failed = error_errno(err, ERROR_SYSTEM, path, "unable to write");
	file_close(&fd);
	buffer_free(&text);
	free(path);
	return failed;
}

void
history_around_free(struct history_around *around)
{
	free(around->directory);
	free(around->place);
	free(around->call);
	free(around->path);
	*around = (struct history_around){ .directory = NULL };
}

int
history_around(const char *run_directory, struct history_around *around, struct error *err)
{
	char *path = path_join(run_directory, AROUND_FILE);
	char **const texts[] = { &around->directory, &around->place, &around->call, &around->path };
	const size_t count = sizeof texts / sizeof *texts;
	int fd = file_open_plain(path, O_RDONLY, 0), found = 0;
	struct buffer text = BUFFER_INIT;
	size_t at = 0, got = 0;

	*around = (struct history_around){ .directory = NULL };
	if (fd < 0 && errno != ENOENT)
		found = error_errno(err, ERROR_SYSTEM, path, "unable to open");
	else if (fd >= 0 && file_read(fd, &text, PATH_LIMIT) != 0)
		found = error_errno(err, ERROR_SYSTEM, path, "unable to read");
	for (; found == 0 && got < count && at < text.len && memchr(text.data + at, 0, text.len - at) != NULL; got++) {
		*texts[got] = memory_text(text.data + at);
		at += strlen(text.data + at) + 1;
	}
	if (found == 0 && got == count)
		found = 1;
	else
		history_around_free(around);
	buffer_free(&text);
	file_close(&fd);
	free(path);
	return found;
}

/* The history of a child run of which nothing was recorded, in a run that is resumed: it has no
 * records, but the user may have said that calls of its steps are new. */
static struct history *
make_empty(const struct history *outer, const struct history_around *around)
{
	const char *rest = history_text(outer, outer->head->new_steps), *line;
	struct history *h = memory_zero(1, sizeof *h);
	const size_t inside = strlen(around->path);
	struct buffer text = BUFFER_INIT;
	size_t len;

	h->own_head = memory_zero(1, sizeof *h->own_head);
	h->own_head->mode = RECALL_RESUME;
	buffer_byte(&text, '\0');
	h->own_head->prefix = text.len;
	buffer_format(&text, "%s%s/", history_prefix(outer), around->call);
	buffer_byte(&text, '\0');
	h->own_head->steps = text.len;
	buffer_format(&text, "%s%s.", history_steps(outer), around->path);
	buffer_byte(&text, '\0');
	h->own_head->new_steps = text.len;
	while ((line = text_part(&rest, '\n', &len)) != NULL)
		if (len > inside && memcmp(line, around->path, inside) == 0 && line[inside] == '.')
			buffer_format(&text, "%.*s\n", (int)(len - inside - 1), line + inside + 1);
	buffer_byte(&text, '\0');
	h->own_head->text = text.len;
	h->own_text = buffer_take(&text);
	h->head = h->own_head;
	h->text = h->own_text;
	h->ahead_key = SIZE_MAX;
	return h;
}

int
history_open(struct history **opened, const char *run_directory, struct error *err)
{
	char *path = path_join(run_directory, HISTORY_FILE);
	struct history_around around = { .directory = NULL };
	struct history *outer = NULL;
	int failed = history_open_index(opened, path, err);

	if (failed == 0 && *opened == NULL && (failed = history_around(run_directory, &around, err)) == 1) {
		failed = history_open(&outer, around.directory, err);
		if (outer != NULL)
			*opened = make_empty(outer, &around);
		history_close(outer);
	}
	if (*opened != NULL)
		(*opened)->directory = memory_text(run_directory);
	history_around_free(&around);
	free(path);
	return failed;
}

static void
close_list(struct history **list)
{
	for (size_t i = 0; list != NULL && list[i] != NULL; i++)
		history_close(list[i]);
	free(list);
}

void
history_close(struct history *h)
{
	if (h == NULL)
		return;
	close_list(h->elsewhere);
	close_list(h->copies);
	for (size_t i = 0; h->fds != NULL && i < h->head->sources; i++)
		if (h->fds[i] >= 0)
			close(h->fds[i]);
	if (h->map != NULL)
		munmap(h->map, h->map_len);
	for (size_t i = 0; i < HISTORY_NAMES; i++)
		free(h->names[i].names);
	free(h->fds);
	free(h->expected);
	free(h->path);
	free(h->directory);
	free(h->own_head);
	free(h->own_text);
	free(h);
}

/* ---- keys and marks ---- */

int
index_compare_left_out(const void *a, const void *b)
{
	return memcmp(a, b, LEFT_OUT_SIZE - 1); /* without the last byte, a newline or a NUL */
}

void
history_keys(const struct history *h, const struct recall_query *query,
    unsigned char key[DIGEST_BYTES], unsigned char guard[DIGEST_BYTES])
{
	bool placed = query->member || h->head->mode == RECALL_REPLAY;

	const char *root = query->root != NULL ? query->root : "none";
	const int64_t item = placed ? query->item : ANY_ITEM;

	/* Versions that did not record which tool had made a call identified it by the agent's
	 * call. */
	if (query->tool_call != NULL)
		index_key(query->tool_call, query->name, item, key);
	if (query->tool_call == NULL || !history_same_key(h, history_bound(h, key, NULL), key))
		index_key(root, query->name, item, key);
	if (guard != NULL)
		index_guard(query->input_sha256, query->definition_sha256, guard);
}

size_t
history_bound(const struct history *h, const unsigned char *key, const unsigned char *guard)
{
	size_t low = 0, high = (size_t)h->head->records;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		const struct index_record *r = &h->records[middle];
		int order = memcmp(r->key, key, DIGEST_BYTES);

		if (order == 0 && guard != NULL)
			order = memcmp(r->guard, guard, DIGEST_BYTES);
		if (order < 0)
			low = middle + 1;
		else
			high = middle;
	}
	INVARIANT(low == 0 || !history_same_key(h, low - 1, key) || (guard != NULL &&
	    memcmp(h->records[low - 1].guard, guard, DIGEST_BYTES) < 0));
	return low;
}

/* The first record of the guard whose identity is not before this one. */
size_t
history_bound_identity(const struct history *h, const unsigned char *key,
    const unsigned char *guard, uint64_t identity)
{
	size_t low = history_bound(h, key, guard), high = (size_t)h->head->records;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (history_same_guard(h, middle, key, guard) && h->records[middle].identity < identity)
			low = middle + 1;
		else
			high = middle;
	}
	INVARIANT(low == 0 || !history_same_guard(h, low - 1, key, guard) ||
	    h->records[low - 1].identity < identity);
	return low;
}

struct index_key *
history_key(const struct history *h, const struct index_record *r)
{
	return &h->keys[r->key_number < h->head->keys ? r->key_number : h->head->keys - 1];
}

struct recorded_marks
history_marks(const struct history *h, const struct index_record *r)
{
	return (struct recorded_marks){ history_text(h, r->start), history_text(h, r->directory),
		history_text(h, r->variables) };
}

bool
history_same_key(const struct history *h, size_t i, const unsigned char *key)
{
	return i < h->head->records && memcmp(h->records[i].key, key, DIGEST_BYTES) == 0;
}

bool
history_same_guard(const struct history *h, size_t i, const unsigned char *key,
    const unsigned char *guard)
{
	return history_same_key(h, i, key) && memcmp(h->records[i].guard, guard, DIGEST_BYTES) == 0;
}

/* Packs a pid and the start time of its process, as far as they fit. */
static int64_t
sign_of(pid_t pid, int64_t birth)
{
	return ((birth & INT32_MAX) << 32) | (int64_t)pid;
}

/* Whether a mark keeps other calls away: the mark of a process that died before it recorded its
 * claim does not, even if another process has its pid now. */
static bool
mark_holds(int64_t mark)
{
	pid_t pid = (pid_t)(mark & INT32_MAX);
	int64_t birth;

	if (mark == MARK_CLAIMED || mark == MARK_FREE)
		return mark == MARK_CLAIMED;
	birth = process_birth(pid);
	return birth == 0 || (birth > 0 && (mark >> 32 == 0 || sign_of(pid, birth) == mark));
}

bool
history_free(const struct index_record *r)
{
	return !mark_holds(atomic_load(&r->mark));
}

bool
history_unused_by_any(const struct index_record *r)
{
	return history_free(r) && !mark_holds(atomic_load(&r->lent));
}

static bool
set_mark(struct history *h, _Atomic int64_t *at)
{
	int64_t mark = atomic_load(at);
	pid_t pid = getpid();

	if (h->pid != pid) {
		h->pid = pid;
		h->sign = sign_of(pid, process_birth(pid));
	}
	INVARIANT(h->sign > 0 && h->sign != MARK_CLAIMED && mark_holds(h->sign));
	return !mark_holds(mark) && atomic_compare_exchange_strong(at, &mark, h->sign);
}

bool
history_mark(struct history *h, struct index_record *r)
{
	return set_mark(h, &r->mark);
}

bool
history_lend(struct history *h, struct index_record *r)
{
	return history_free(r) && set_mark(h, &r->lent);
}

bool
history_child_runs(const struct index_record *r)
{
	return mark_holds(atomic_load(&r->runner));
}

void
history_child_goes_on(struct history *h, const struct recalled *r)
{
	struct index_record *record = &h->records[r->record];

	INVARIANT(r->elsewhere == NULL && r->record < h->head->records && record->child);
	atomic_store(&record->fits, r->fit > 0);
	atomic_store(&record->runner, h->sign);
}

const char *
history_call_label(const struct history *h, const struct recalled *r, const char **names)
{
	const struct index_record *record = &h->records[r->record];

	if (names != NULL)
		*names = history_text(h, record->names);
	return history_text(h, record->call);
}

/* ---- records that enclosing runs have of it ---- */

static void
add_copy(struct history *h, const char *run_directory, const char *run_id, size_t *count)
{
	char *path = history_inside(run_directory, run_id);
	struct history *copy = NULL;

	/* A process that cannot open it asks one question more than needed. */
	if (history_open_index(&copy, path, NULL) == 0 && copy != NULL) {
		h->copies = memory_array(h->copies, *count + 2, sizeof *h->copies);
		h->copies[(*count)++] = copy;
		h->copies[*count] = NULL;
	}
	free(path);
}

static void
find_copies(struct history *h, const char *run_id)
{
	char *directory = memory_text(h->directory);
	struct history_around around;
	size_t count = 0;

	h->copies_known = true;
	for (size_t depth = 0; depth < HISTORY_AROUND_MOST &&
	    history_around(directory, &around, NULL) == 1; depth++) {
		free(directory);
		directory = memory_text(around.directory);
		history_around_free(&around);
		add_copy(h, directory, run_id, &count);
	}
	free(directory);
}

void
history_copy_mark(struct history *h, const struct index_record *r, bool lent)
{
	/* An outermost run has none. */
	if (h->directory == NULL || *history_prefix(h) == '\0' || r->started.source >= h->head->sources)
		return;
	if (!h->copies_known)
		find_copies(h, h->sources[r->started.source].run_id);
	for (size_t i = 0; h->copies != NULL && h->copies[i] != NULL; i++) {
		const struct history *copy = h->copies[i];

		for (size_t k = history_bound(copy, r->key, r->guard); history_same_guard(copy, k, r->key, r->guard); k++) {
			struct index_record *same = &copy->records[k];

			if (same->started.offset != r->started.offset)
				continue;
			atomic_store(&same->fits, atomic_load(&r->fits));
			atomic_store(&same->runner, atomic_load(&r->runner));
			atomic_store(lent ? &same->lent : &same->mark, MARK_CLAIMED);
		}
	}
}

uint64_t
history_distance(int64_t a, int64_t b)
{
	return a < b ? (uint64_t)b - (uint64_t)a : (uint64_t)a - (uint64_t)b;
}

bool
history_comparable(const struct index_record *r, const struct recall_query *query)
{
	return r->item == query->item || r->occurrence == query->occurrence;
}

/* ---- lines ---- */

const char *
history_text(const struct history *h, uint64_t at)
{
	return h->text + (at < h->head->text ? at : h->head->text - 1);
}

const char *
history_prefix(const struct history *h)
{
	return history_text(h, h->head->prefix);
}

const char *
history_steps(const struct history *h)
{
	return history_text(h, h->head->steps);
}

/* Opens a source if it is still the file from which the index was made. */
static int
open_source(struct history *h, uint32_t number, struct error *err)
{
	const struct index_source *source = &h->sources[number];
	const char *path = history_text(h, source->path);
	char bytes[DIGEST_SIZE + 2], tail[DIGEST_SIZE];
	struct stat status;
	int fd = file_open_plain(path, O_RDONLY, 0);

	if (fd < 0)
		return error_errno(err, ERROR_SYSTEM, path, "unable to open");
	if (fstat(fd, &status) != 0 || (uint64_t)status.st_dev != source->device ||
	    (uint64_t)status.st_ino != source->inode || status.st_size < source->size ||
	    pread(fd, bytes, sizeof bytes, (off_t)(source->size - (int64_t)sizeof bytes)) !=
	    (ssize_t)sizeof bytes || history_tail(bytes, sizeof bytes - 1, tail) != 0 ||
	    strcmp(tail, source->tail) != 0) {
		close(fd);
		return error_set(err, ERROR_SYSTEM, path,
		    "is not the transcript any more that the history was made of");
	}
	h->fds[number] = fd;
	return 0;
}

int
history_line(struct history *h, const struct place *place, struct recalled_event *e,
    struct error *err)
{
	struct buffer line = BUFFER_INIT;
	const struct index_source *source;
	struct span refs;
	int failed;

	memset(e, 0, sizeof *e);
	if (place->len == 0)
		return 0;
	if (place->source >= h->head->sources)
		return error_set(err, ERROR_SYSTEM, h->path, "is damaged");
	if (h->fds[place->source] < 0 && open_source(h, place->source, err) != 0)
		return -1;
	source = &h->sources[place->source];
	if (pread(h->fds[place->source], buffer_reserve(&line, place->len), place->len,
	    (off_t)place->offset) != (ssize_t)place->len) {
		failed = error_errno(err, ERROR_SYSTEM, history_text(h, source->path), "unable to read");
		buffer_free(&line);
		return failed;
	}
	line.len = place->len;

	/* Inserts the values of its blobs, and keeps which values were in blobs. */
	refs = span_member(span_of(line.data, line.len), KEY_REFS);
	if (refs.at != NULL)
		buffer_append(&e->refs, refs.at, refs.len);
	failed = blob_inline(history_text(h, source->blobs), line.data, line.len, &e->line, err);
	if (failed == 0 && recalled_event_view(e) != 0)
		failed = error_set(err, ERROR_SYSTEM, history_text(h, source->path),
		    "no event at byte %lld", (long long)place->offset);
	buffer_free(&line);
	return failed != 0 ? -1 : 0;
}
