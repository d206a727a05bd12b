/*
 * An index of the events of a run: which call each is of, when it was and what. Also of
 * calls by other ids, which are digests, keyed so that nobody can make two that are the same
 * (SipHash-2-4 of 128 bits). Entries can be taken out again. One costs some 40 bytes.
 */
#ifndef AWF_MODEL_EVENT_INDEX_H
#define AWF_MODEL_EVENT_INDEX_H

#include <stddef.h>
#include <stdint.h>

#include "base/id.h"
#include "transcript/event.h"

struct model_call;

struct indexed_event {
	struct uuid id;              /* not the one of zeros alone: no entry has that */
	struct model_call *call;     /* NULL: none */
	int64_t wall;                /* µs since 1970 */
};

struct event_index {
	struct indexed_event *entries; /* one behind the other, in no order */
	uint8_t *types;              /* of each the enum event_type */
	size_t count;
	uint32_t *table;             /* numbers of entries, from 1 on; 0: none */
	size_t capacity;             /* of the table: a power of two, or 0 */
	uint64_t seed[2];            /* where an entry stands in it: not for others to foresee */
};

#define EVENT_INDEX_INIT { .entries = NULL }

/* The key of an event as a line names it, by its id, or by an object that has it (of another run):
 * the UUID; of a text that is none, a digest of it. That of zeros if value names none. */
struct uuid event_key(struct span value);
/* A key for any bytes, of this process. */
struct uuid bytes_key(const char *bytes, size_t len);

/* Sets, or overwrites, the entry of an id. An id of zeros has none. */
void event_index_put(struct event_index *x, struct indexed_event event, enum event_type type);
/* NULL if there is none; valid until the next event_index_put() or event_index_remove(). */
struct indexed_event *event_index_find(const struct event_index *x, struct uuid id);
/* What it was put as. */
enum event_type event_index_type(const struct event_index *x, const struct indexed_event *entry);
void event_index_remove(struct event_index *x, struct uuid id);
void event_index_free(struct event_index *x);

#endif
