/*
 * A hash table with open addressing and linear probing, at most three quarters full. Removing an
 * entry leaves no tombstone, as in model/event_index.c. The ids are in the calls themselves, and
 * are hashed again when the table grows.
 */
#include "model/call_index.h"

#include <sodium.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/id.h"
#include "base/invariant.h"
#include "base/memory.h"
#include "model/model.h"

#define LEAST 64

_Static_assert(sizeof((struct call_index *)NULL)->secret == crypto_shorthash_KEYBYTES,
    "a key of SipHash-2-4");

/* The slot where the search for an id begins. */
static size_t
call_index_home(const struct call_index *x, const char *id, size_t len)
{
	uint64_t digest;

	crypto_shorthash((unsigned char *)&digest, (const unsigned char *)id, len, x->secret);
	return (size_t)digest & (x->capacity - 1);
}

/* The slot that holds an id, or the free slot where it would be inserted. */
static size_t
call_index_probe(const struct call_index *x, const char *id, size_t len)
{
	size_t at = call_index_home(x, id, len), mask = x->capacity - 1;

	while (x->table[at] != NULL && (strncmp(x->table[at]->id, id, len) != 0 ||
	    x->table[at]->id[len] != '\0'))
		at = (at + 1) & mask;
	return at;
}

static void
call_index_grow(struct call_index *x)
{
	struct call_index larger = *x;

	larger.capacity = x->capacity == 0 ? LEAST : 2 * x->capacity;
	larger.table = memory_zero(larger.capacity, sizeof(struct model_call *));
	if (x->capacity == 0)
		random_bytes(larger.secret, sizeof larger.secret);
	for (size_t i = 0; i < x->capacity; i++) {
		struct model_call *call = x->table[i];

		if (call != NULL)
			larger.table[call_index_probe(&larger, call->id, strlen(call->id))] = call;
	}
	free(x->table);
	*x = larger;
}

void
call_index_put(struct call_index *x, struct model_call *call)
{
	size_t at;

	if (4 * (x->count + 1) > 3 * x->capacity)
		call_index_grow(x);
	at = call_index_probe(x, call->id, strlen(call->id));
	x->count += x->table[at] == NULL;
	x->table[at] = call;
	INVARIANT((x->capacity & (x->capacity - 1)) == 0 && 4 * x->count <= 3 * x->capacity);
}

struct model_call *
call_index_find(const struct call_index *x, const char *id, size_t len)
{
	return x->count == 0 ? NULL : x->table[call_index_probe(x, id, len)];
}

void
call_index_remove(struct call_index *x, const struct model_call *call)
{
	size_t at, mask = x->capacity - 1;

	if (x->count == 0)
		return;
	at = call_index_probe(x, call->id, strlen(call->id));
	if (x->table[at] != call)
		return;
	for (size_t i = (at + 1) & mask; x->table[i] != NULL; i = (i + 1) & mask) {
		const char *id = x->table[i]->id;

		/* Move it to the free slot if its search would pass that slot. */
		if (((i - call_index_home(x, id, strlen(id))) & mask) < ((i - at) & mask))
			continue;
		x->table[at] = x->table[i];
		at = i;
	}
	x->table[at] = NULL;
	INVARIANT(x->count > 0);
	x->count--;
	INVARIANT(call_index_find(x, call->id, strlen(call->id)) == NULL);
}

void
call_index_free(struct call_index *x)
{
	free(x->table);
	*x = (struct call_index)CALL_INDEX_INIT;
}
