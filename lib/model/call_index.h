/*
 * The calls of an attempt by their ids. It keeps nothing of them but where they are, which costs
 * some 15 bytes a call; who forgets a call takes it out before.
 */
#ifndef AWF_MODEL_CALL_INDEX_H
#define AWF_MODEL_CALL_INDEX_H

#include <stddef.h>

struct model_call;

struct call_index {
	struct model_call **table;
	size_t count, capacity;      /* a power of two, or 0 */
	unsigned char secret[16];    /* where a call stands in it: not for others to foresee */
};

#define CALL_INDEX_INIT { .table = NULL }

/* Enters a call, in place of one that has the same id. */
void call_index_put(struct call_index *x, struct model_call *call);
/* NULL if there is none of that id. */
struct model_call *call_index_find(const struct call_index *x, const char *id, size_t len);
/* Takes a call out, unless another has its place. */
void call_index_remove(struct call_index *x, const struct model_call *call);
void call_index_free(struct call_index *x);

#endif
