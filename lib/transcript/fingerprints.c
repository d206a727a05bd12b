/*
 * What the code relies on (fingerprints_hold()):
 *   - Occupied slots ascend; each lies at or after its home, with no empty slot
 *     between, so a search stops at the first empty or greater slot.
 *   - fingerprints_home_slot() ascends with the fingerprint; that is what lets fingerprints_grow()
 * lay all of
 *     them out again in place.
 *   - The last slot is empty, so no search needs to look for the end.
 */
#include "transcript/fingerprints.h"

#include <stdlib.h>
#include <string.h>

#include "base/id.h"
#include "base/invariant.h"
#include "base/memory.h"

#define FIRST_CAPACITY ((size_t)512)
#define SLACK ((size_t)128) /* slots after the last home slot */
#define ENDED ((uint64_t)1)

void
fingerprints_begin(struct fingerprints *set)
{
	memset(set, 0, sizeof *set);
	random_bytes(set->key, sizeof set->key);
	set->capacity = FIRST_CAPACITY;
	set->length = FIRST_CAPACITY + SLACK;
	set->slots = memory_zero(set->length, sizeof *set->slots);
}

uint64_t
fingerprints_of(const struct fingerprints *set, const void *bytes, size_t len)
{
	unsigned char hash[crypto_shorthash_BYTES];
	uint64_t fingerprint;

	_Static_assert(sizeof hash == sizeof fingerprint, "SipHash gives 64 bits");
	crypto_shorthash(hash, bytes, len, set->key);
	memcpy(&fingerprint, hash, sizeof fingerprint);
	fingerprint &= ~ENDED;
	return fingerprint != 0 ? fingerprint : 2; /* 0 is an empty slot */
}

static size_t
fingerprints_home_slot(uint64_t fingerprint, size_t capacity)
{
	return (size_t)(((fingerprint >> 32) * (uint64_t)capacity) >> 32);
}

/* Checks every slot. */
static bool
fingerprints_hold(const struct fingerprints *set)
{
	size_t count = 0, open = 0;
	uint64_t last = 0;

	if (set->slots == NULL)
		return set->length == 0 && set->count == 0;
	for (size_t i = 0; i < set->length; i++) {
		uint64_t slot = set->slots[i];
		size_t first = fingerprints_home_slot(slot, set->capacity);

		if (slot == 0)
			continue;
		if ((slot | ENDED) <= (last | ENDED) || first > i || (i > first && set->slots[i - 1] == 0))
			return false;
		count++;
		open += !(slot & ENDED);
		last = slot;
	}
	return count == set->count && open == set->open && set->open <= set->count &&
	    set->slots[set->length - 1] == 0;
}

/* The slot that contains the fingerprint, or where it must be inserted. */
static size_t
slot_of(const struct fingerprints *set, uint64_t fingerprint)
{
	size_t at = fingerprints_home_slot(fingerprint, set->capacity);

	while (set->slots[at] != 0 && (set->slots[at] | ENDED) < (fingerprint | ENDED))
		at++;
	INVARIANT(at < set->length);
	return at;
}

static enum fingerprint_state
state_at(const struct fingerprints *set, size_t at, uint64_t fingerprint)
{
	if ((set->slots[at] & ~ENDED) != fingerprint)
		return FINGERPRINT_ABSENT;
	return set->slots[at] & ENDED ? FINGERPRINT_ENDED : FINGERPRINT_OPEN;
}

enum fingerprint_state
fingerprints_find(const struct fingerprints *set, uint64_t fingerprint)
{
	return state_at(set, slot_of(set, fingerprint), fingerprint);
}

/* Whether more than seven eighths of the capacity are used; searches would become long. */
static bool
fingerprints_is_full(const struct fingerprints *set, size_t count)
{
	return count >= set->capacity - set->capacity / 8;
}

/*
 * If the table is full, adds a quarter more slots; makes room after the last home slot. All entries
 * are moved to the front, then to the end of the longer array, and then one by one down to their
 * new slots. A new slot never comes after the place from which its entry is moved, so no entry is
 * overwritten before it was moved.
 */
static void
fingerprints_grow(struct fingerprints *set)
{
	size_t count = 0, next = 0, last;

	for (size_t i = 0; i < set->length; i++) {
		if (set->slots[i] != 0)
			set->slots[count++] = set->slots[i];
	}
	if (fingerprints_is_full(set, count))
		set->capacity += set->capacity / 4;
	/* Compute how many slots the entries, in ascending order, need with this capacity. */
	for (size_t i = 0; i < count; i++) {
		size_t at = fingerprints_home_slot(set->slots[i], set->capacity);

		next = (at > next ? at : next) + 1;
	}
	set->length = (next + 1 > set->capacity ? next + 1 : set->capacity) + SLACK;
	set->slots = memory_array(set->slots, set->length, sizeof *set->slots);
	last = set->length - 1;
	memmove(set->slots + last - count, set->slots, count * sizeof *set->slots);
	memset(set->slots, 0, (last - count) * sizeof *set->slots);
	set->slots[last] = 0;
	next = 0;
	for (size_t i = last - count; i < last; i++) {
		uint64_t fingerprint = set->slots[i];
		size_t at = fingerprints_home_slot(fingerprint, set->capacity);

		set->slots[i] = 0;
		if (at < next)
			at = next;
		set->slots[at] = fingerprint;
		next = at + 1;
	}
}

enum fingerprint_state
fingerprints_add(struct fingerprints *set, uint64_t fingerprint)
{
	size_t at = slot_of(set, fingerprint), end = at;
	enum fingerprint_state before = state_at(set, at, fingerprint);

	INVARIANT(fingerprint != 0 && !(fingerprint & ENDED));
	if (before != FINGERPRINT_ABSENT)
		return before;
	while (set->slots[end] != 0)
		end++;
	if (end + 1 == set->length || fingerprints_is_full(set, set->count)) {
		fingerprints_grow(set);
		INVARIANT(fingerprints_hold(set));
		return fingerprints_add(set, fingerprint);
	}
	memmove(set->slots + at + 1, set->slots + at, (end - at) * sizeof *set->slots);
	set->slots[at] = fingerprint;
	set->count++;
	set->open++;
	INVARIANT(set->slots[set->length - 1] == 0);
	INVARIANT(at == fingerprints_home_slot(fingerprint, set->capacity) ||
	    (set->slots[at - 1] != 0 &&
	    set->slots[at - 1] < fingerprint));
	INVARIANT(set->slots[at + 1] == 0 || set->slots[at + 1] > fingerprint);
	return FINGERPRINT_ABSENT;
}

enum fingerprint_state
fingerprints_end(struct fingerprints *set, uint64_t fingerprint)
{
	size_t at = slot_of(set, fingerprint);
	enum fingerprint_state before = state_at(set, at, fingerprint);

	if (before == FINGERPRINT_OPEN) {
		set->slots[at] |= ENDED;
		set->open--;
	}
	return before;
}

void
fingerprints_free(struct fingerprints *set)
{
	INVARIANT(fingerprints_hold(set));
	free(set->slots);
	memset(set, 0, sizeof *set);
}
