/*
 * The calls of an attempt, by id. The index stores only a pointer to each call, some 15 bytes per
 * call: remove a call from the index before freeing it.
 */
#ifndef AWF_MODEL_CALL_INDEX_H
#define AWF_MODEL_CALL_INDEX_H

#include <stddef.h>

struct model_call;

struct call_index {
	struct model_call **table;
	size_t count, capacity;      /* a power of two, or 0 */
	unsigned char secret[16];    /* hash key, so that nobody can choose ids that collide */
};

#define CALL_INDEX_INIT { .table = NULL }

/* Inserts a call; it replaces one with the same id. */
void call_index_put(struct call_index *x, struct model_call *call);
/* NULL if no call has this id. */
struct model_call *call_index_find(const struct call_index *x, const char *id, size_t len);
/* Removes a call, unless another call with its id has replaced it. */
void call_index_remove(struct call_index *x, const struct model_call *call);
void call_index_free(struct call_index *x);

#endif
