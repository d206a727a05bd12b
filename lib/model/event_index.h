/*
 * An index of the events of a run: for each event id, the call that the event belongs to, its time
 * and its type. Keys may also be digests of other ids; the digest is keyed (SipHash-2-4, 128 bits),
 * so that nobody can construct two ids with the same digest. Entries can be removed. An entry takes
 * some 40 bytes.
 */
#ifndef AWF_MODEL_EVENT_INDEX_H
#define AWF_MODEL_EVENT_INDEX_H

#include <stddef.h>
#include <stdint.h>

#include "base/id.h"
#include "transcript/event.h"

struct model_call;

struct indexed_event {
	struct uuid id;              /* never all zeros */
	struct model_call *call;     /* NULL: none */
	int64_t wall;                /* µs since 1970 */
};

struct event_index {
	struct indexed_event *entries; /* an array without gaps, in no order */
	uint8_t *types;              /* the enum event_type of each entry */
	size_t count;
	uint32_t *table;             /* numbers of entries, counted from 1; 0: free */
	size_t capacity;             /* of the table: a power of two, or 0 */
	uint64_t seed[2];            /* random, so that nobody can choose ids that collide */
};

#define EVENT_INDEX_INIT { .entries = NULL }

/* The key of an event whose id stands in a line: value is the id, or an object that contains it
 * (for an event of another run). The UUID, or a digest if the text is no UUID; all zeros if there
 * is no id. */
struct uuid event_key(struct span value);
/* A key for any bytes; it differs between processes. */
struct uuid bytes_key(const char *bytes, size_t len);

/* Inserts or replaces the entry of an id. An id of all zeros is ignored. */
void event_index_put(struct event_index *x, struct indexed_event event, enum event_type type);
/* NULL if there is none; valid until the next event_index_put() or event_index_remove(). */
struct indexed_event *event_index_find(const struct event_index *x, struct uuid id);
/* The type that was passed to event_index_put(). */
enum event_type event_index_type(const struct event_index *x, const struct indexed_event *entry);
void event_index_remove(struct event_index *x, struct uuid id);
void event_index_free(struct event_index *x);

#endif
