/*
 * Records are sorted by key and guard, and found by bisection. A mark is a pid with the time
 * at which its process began, so that a pid given anew does not stand for one that died. The
 * first record of a guard counts how many at its front are claimed for good, and a search
 * begins behind these. Before a line is read, the transcript must be the file that the index
 * was made of: by device, inode, and the digest that stood at its end.
 */
#include "run/history_parts.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/memory.h"
#include "proc/process.h"
#include "transcript/blob.h"

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
	return low;
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

/* A pid, and when its process began, as far as there is room for it. */
static int64_t
sign_of(pid_t pid, int64_t birth)
{
	return ((birth & INT32_MAX) << 32) | (int64_t)pid;
}

static int64_t
own_sign(struct history *h)
{
	pid_t pid = getpid();

	if (h->pid != pid) {
		h->pid = pid;
		h->sign = sign_of(pid, process_birth(pid));
	}
	return h->sign;
}

/* Whether a mark keeps others away: that of a process which died before its claim was
 * recorded does not, though another may have its pid now. */
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

static bool
take(struct history *h, struct index_record *r)
{
	int64_t mark = atomic_load(&r->mark);

	return !mark_holds(mark) &&
	    atomic_compare_exchange_strong(&r->mark, &mark, own_sign(h));
}

uint64_t
history_distance(int64_t a, int64_t b)
{
	return a < b ? (uint64_t)b - (uint64_t)a : (uint64_t)a - (uint64_t)b;
}

/* The free record of this key and guard that is nearest to the item, the lowest
 * occurrence first; one of a try that was followed by another comes after all of the last
 * try. Those at the front that are claimed for good are passed over from
 * then on: a name that is called thousands of times with the same input is not looked
 * through from its first each time. */
static struct index_record *
find_same(struct history *h, const unsigned char *key, const unsigned char *guard, int64_t item)
{
	size_t first = history_bound(h, key, guard);
	struct index_record *found = NULL;
	uint64_t settled;

	if (!history_same_guard(h, first, key, guard))
		return NULL;
	settled = atomic_load(&h->records[first].settled);
	for (size_t i = first + (size_t)settled; history_same_guard(h, i, key, guard); i++) {
		struct index_record *r = &h->records[i];

		if (found != NULL && r->superseded && !found->superseded)
			break;
		if (atomic_load(&r->mark) == MARK_CLAIMED) {
			settled += i == first + settled;
			continue;
		}
		if ((found == NULL || history_distance(r->item, item) <
		    history_distance(found->item, item)) && history_free(r))
			found = r;
		if (found != NULL && found->item == item)
			break;
	}
	atomic_store(&h->records[first].settled, settled);
	return found;
}

static struct index_record *
take_same(struct history *h, const unsigned char *key, const unsigned char *guard, int64_t item)
{
	struct index_record *found;

	do
		found = find_same(h, key, guard, item);
	while (found != NULL && !take(h, found));
	return found;
}

bool
history_comparable(const struct index_record *r, const struct recall_query *query)
{
	return r->item == query->item || r->occurrence == query->occurrence;
}

/* Whether a is what a call of the item with another guard is compared with, rather than
 * b. */
static bool
nearer(const struct index_record *a, const struct index_record *b, int64_t item)
{
	if (b == NULL)
		return true;
	if ((a->decided != RECALL_UNDECIDED) != (b->decided != RECALL_UNDECIDED))
		return a->decided != RECALL_UNDECIDED;
	if (a->superseded != b->superseded)
		return b->superseded;
	if (a->item != b->item)
		return history_distance(a->item, item) < history_distance(b->item, item);
	if (a->occurrence != b->occurrence)
		return a->occurrence < b->occurrence;
	return a->order < b->order;
}

/* The free record of this key that a call with another guard is compared with; of a
 * resume only those count that began to change something. */
static struct index_record *
find_changed(const struct history *h, const unsigned char *key, const struct recall_query *query)
{
	size_t first = history_bound(h, key, NULL);
	struct index_record *found = NULL;

	if (!history_same_key(h, first, key) ||
	    (h->head->mode == RECALL_RESUME && !h->records[first].key_began))
		return NULL;
	for (size_t i = first; history_same_key(h, i, key); i++) {
		struct index_record *r = &h->records[i];

		if ((r->began || h->head->mode == RECALL_REPLAY) && history_comparable(r, query) &&
		    nearer(r, found, query->item) && history_free(r))
			found = r;
	}
	return found;
}

static const char *
text_at(const struct history *h, uint64_t at)
{
	return h->text + (at < h->head->text ? at : h->head->text - 1);
}

/* Opens a source, if it is still what the index was made of. */
static int
open_source(struct history *h, uint32_t number, struct error *err)
{
	const struct index_source *source = &h->sources[number];
	const char *path = text_at(h, source->path);
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

static int
read_bytes(struct history *h, const struct place *place, struct buffer *line,
    struct error *err)
{
	ssize_t got;

	if (place->source >= h->head->sources)
		return error_set(err, ERROR_SYSTEM, h->path, "is damaged");
	if (h->fds[place->source] < 0 && open_source(h, place->source, err) != 0)
		return -1;
	got = pread(h->fds[place->source], buffer_reserve(line, place->len), place->len,
	    (off_t)place->offset);
	if (got != (ssize_t)place->len)
		return error_errno(err, ERROR_SYSTEM, text_at(h, h->sources[place->source].path),
		    "unable to read");
	line->len += place->len;
	return 0;
}

/* Puts the blobs back; which values were in blobs is kept. */
static int
fill_event(const struct history *h, const struct place *place, const struct buffer *line,
    struct recalled_event *e, struct error *err)
{
	const char *blobs = text_at(h, h->sources[place->source].blobs);
	struct span refs = span_member(span_of(line->data, line->len), "refs");

	if (refs.at != NULL)
		buffer_append(&e->refs, refs.at, refs.len);
	if (blob_inline(blobs, line->data, line->len, &e->line, err) != 0)
		return -1;
	if (recalled_event_view(e) != 0)
		return error_set(err, ERROR_SYSTEM, text_at(h, h->sources[place->source].path),
		    "no event at byte %lld", (long long)place->offset);
	return 0;
}

int
history_line(struct history *h, const struct place *place, struct recalled_event *e,
    struct error *err)
{
	struct buffer line = BUFFER_INIT;
	int failed;

	memset(e, 0, sizeof *e);
	if (place->len == 0)
		return 0;
	failed = read_bytes(h, place, &line, err) != 0 ||
	    fill_event(h, place, &line, e, err) != 0;
	buffer_free(&line);
	return failed ? -1 : 0;
}

static int
read_events(struct history *h, const struct index_record *record, struct recalled *r,
    struct error *err)
{
	if (record->events + record->event_count > h->head->places)
		return error_set(err, ERROR_SYSTEM, h->path, "is damaged");
	r->events = memory_zero((size_t)record->event_count + 1, sizeof *r->events);
	for (; r->event_count < record->event_count; r->event_count++)
		if (history_line(h, &h->places[record->events + r->event_count],
		    &r->events[r->event_count], err) != 0) {
			r->event_count++;
			return -1;
		}
	return 0;
}

/* Fills *r from a record that is taken; it is free again if that fails. */
static int
fill(struct history *h, struct index_record *record, struct recalled *r, struct error *err)
{
	const struct index_source *source = &h->sources[record->started.source];

	r->mode = (enum recall_mode)h->head->mode;
	r->end = (enum recall_end)record->end;
	r->stands = record->stands;
	r->encloses = record->encloses;
	if (record->doubtful || record->stands)
		r->decided = (enum recall_decision)record->decided;
	if (source->foreign)
		memcpy(r->run_id, source->run_id, ID_SIZE);
	memcpy(r->root, record->root, ID_SIZE);
	if (*text_at(h, record->changed_inside) != '\0')
		r->changed_inside = text_at(h, record->changed_inside);
	r->record = (size_t)(record - h->records);
	if (history_line(h, &record->started, &r->started, err) == 0 &&
	    history_line(h, &record->completed, &r->completed, err) == 0 &&
	    history_line(h, &record->original, &r->original, err) == 0 &&
	    read_events(h, record, r, err) == 0) {
		recalled_index(r);
		return 1;
	}
	recalled_free(r);
	atomic_store(&record->mark, MARK_FREE);
	return -1;
}

/* awf-run asked about every such call before; this is where none gets through. */
static int
refuse_doubtful(const struct history *h, const struct index_record *record, struct error *err)
{
	const char *call = text_at(h, record->call);

	return error_set(err, ERROR_WAITING, call,
	    "may or may not have happened: resume with --redo %s%s or --skip %s%s",
	    history_prefix(h), call, history_prefix(h), call);
}

static int
decided_anyhow(struct history *h, struct index_record *record, struct recalled *r,
    struct error *err)
{
	int status = fill(h, record, r, err);

	if (status != 1)
		return status;
	r->changed = true;
	r->decided = (enum recall_decision)record->decided;
	r->end = RECALL_OPEN;
	return 1;
}

/* There is a record, but of another input or definition. */
static int
refuse_changed(struct history *h, const struct index_record *record,
    const struct recall_query *query, struct error *err)
{
	const char *call = text_at(h, record->call);
	struct buffer text = BUFFER_INIT;
	int failed = history_changed(h, record, query, &text, err);

	if (failed == 0 && h->head->mode == RECALL_REPLAY)
		error_set(err, ERROR_DIVERGENCE, call, "%s", buffer_string(&text));
	else if (failed == 0)
		error_set(err, ERROR_WAITING, call,
		    "%s, and it %s changed something before: resume with --redo %s%s or --skip %s%s",
		    buffer_string(&text), record->maybe ? "may have" : "has", history_prefix(h), call,
		    history_prefix(h), call);
	buffer_free(&text);
	return -1;
}

static int
refuse_unknown(const struct recall_query *query, struct recalled *r, struct error *err)
{
	char *place = memory_format("%s%s%s", query->enclosing,
	    query->enclosing[0] != '\0' ? "/" : "", query->name);

	error_set(err, ERROR_DIVERGENCE, place, "the recording has no%s call of it for item %lld",
	    query->enclosing[0] != '\0' ? "" : " further", (long long)query->item);
	r->unknown = true;
	free(place);
	return -1;
}

/* What the call is compared with, as whoever looked ahead has found. */
static struct index_record *
compared(struct history *h, const unsigned char *key, const struct recall_query *query)
{
	if (query->compared == RECALL_COMPARED_WITH_NONE)
		return NULL;
	if (query->compared > 0 && (uint64_t)query->compared <= h->head->records &&
	    history_free(&h->records[query->compared - 1]))
		return &h->records[query->compared - 1];
	return find_changed(h, key, query);
}

/* Counts a call that is like no record of its key, for whoever wonders at the end what was not
 * used again. */
static void
note_anew(struct history *h, const unsigned char *key, const struct recall_query *query)
{
	size_t first = history_bound(h, key, NULL);

	if (!history_same_key(h, first, key))
		return;
	atomic_fetch_add(&h->records[first].anew, 1);
	if (h->records[first].definition != index_definition(query->definition_sha256))
		atomic_fetch_add(&h->records[first].redefined, 1);
}

/* No record has the same guard. */
static int
claim_changed(struct history *h, const unsigned char *key, const struct recall_query *query,
    struct recalled *r, struct error *err)
{
	struct index_record *record = compared(h, key, query);

	if (record == NULL && h->head->mode == RECALL_REPLAY)
		return refuse_unknown(query, r, err);
	if (record == NULL) {
		note_anew(h, key, query);
		return 0;
	}
	if (h->head->mode == RECALL_REPLAY || record->decided == RECALL_UNDECIDED)
		return refuse_changed(h, record, query, err);
	if (!take(h, record))
		return claim_changed(h, key, query, r, err);
	return decided_anyhow(h, record, r, err);
}

/* Whether the call is an agent's (or a tool's) that another run has begun and not ended
 * well: its conversation is in that one's record, and would be in none if it went on. */
static bool
begun_elsewhere(const struct recalled *r)
{
	return r->mode == RECALL_RESUME && r->run_id[0] != '\0' && r->event_count > 0 &&
	    (r->end == RECALL_OPEN || (r->end == RECALL_FAILED && !r->stands));
}

static int
begin_anew(const struct history *h, struct index_record *record, struct recalled *r,
    struct error *err)
{
	const char *call = text_at(h, record->call);

	if (record->began && record->decided == RECALL_UNDECIDED) {
		error_set(err, ERROR_WAITING, call, "has changed something in the run that this "
		    "was forked from, and did not end: fork with --redo %s%s or --skip %s%s",
		    history_prefix(h), call, history_prefix(h), call);
		recalled_free(r);
		atomic_store(&record->mark, MARK_FREE);
		return -1;
	}
	r->changed = true;
	r->decided = (enum recall_decision)record->decided;
	r->end = RECALL_OPEN;
	return 1;
}

void
history_keys(const struct history *h, const struct recall_query *query,
    unsigned char key[DIGEST_BYTES], unsigned char guard[DIGEST_BYTES])
{
	bool placed = query->member || h->head->mode == RECALL_REPLAY;

	index_key(query->root != NULL ? query->root : "none", query->name,
	    placed ? query->item : ANY_ITEM, key);
	if (guard != NULL)
		index_guard(query->input_sha256, query->definition_sha256, guard);
}

static bool
look(void *history, const struct recall_query *query, enum recall_end *end)
{
	const struct history *h = history;
	unsigned char key[DIGEST_BYTES], guard[DIGEST_BYTES];

	history_keys(h, query, key, guard);
	for (size_t i = history_bound(h, key, guard); history_same_guard(h, i, key, guard); i++) {
		if (!history_free(&h->records[i]))
			continue;
		*end = (enum recall_end)h->records[i].end;
		return true;
	}
	return false;
}

static bool
peek(void *history, const struct recall_query *query, struct recalled_event *started)
{
	struct history *h = history;
	const struct index_record *found = NULL;
	unsigned char key[DIGEST_BYTES];

	history_keys(h, query, key, NULL);
	for (size_t i = history_bound(h, key, NULL); history_same_key(h, i, key); i++)
		if (h->records[i].item == query->item && nearer(&h->records[i], found, query->item) &&
		    history_free(&h->records[i]))
			found = &h->records[i];
	return found != NULL && history_line(h, &found->started, started, NULL) == 0;
}

static int
claim(void *history, const struct recall_query *query, struct recalled *r, struct error *err)
{
	struct history *h = history;
	unsigned char key[DIGEST_BYTES], guard[DIGEST_BYTES];
	struct index_record *record;
	int status;

	memset(r, 0, sizeof *r);
	history_keys(h, query, key, guard);
	record = take_same(h, key, guard, query->item);
	if (record == NULL)
		return claim_changed(h, key, query, r, err);
	if (h->head->mode == RECALL_RESUME && record->doubtful &&
	    record->decided == RECALL_UNDECIDED) {
		atomic_store(&record->mark, MARK_FREE);
		return refuse_doubtful(h, record, err);
	}
	status = fill(h, record, r, err);
	return status == 1 && begun_elsewhere(r) ? begin_anew(h, record, r, err) : status;
}

static void
claimed(void *history, const struct recalled *r)
{
	struct history *h = history;

	atomic_store(&h->records[r->record].mark, MARK_CLAIMED);
}

struct recall
history_recall(struct history *h)
{
	return (struct recall){ .mode = (enum recall_mode)h->head->mode,
		.cut_off = h->head->cut_off != 0, .history = h,
		.claim = claim, .look = look, .peek = peek, .claimed = claimed,
		.left_over = history_left_over, .expect = history_expect,
		.share_out = history_share_out, .decided_since = history_decided_since };
}
