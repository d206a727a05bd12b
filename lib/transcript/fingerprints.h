/*
 * A set of keyed 63-bit fingerprints (SipHash-2-4 with a random key for each set), for
 * millions of ids in little memory: eight bytes each, with one bit that distinguishes ended
 * entries from open ones.
 *
 * The slots are one open-addressed array, in the order of the fingerprints. So a
 * fingerprint and the same one with its bit set are neighbours, and the array grows in
 * place, without a second copy.
 *
 * The probability that two different keys of a set of n have the same fingerprint is n^2 / 2^64:
 * less than one in a million for three million.
 */
#ifndef AWF_TRANSCRIPT_FINGERPRINTS_H
#define AWF_TRANSCRIPT_FINGERPRINTS_H

#include <sodium/crypto_shorthash.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct fingerprints {
	uint64_t *slots;    /* ascending, 0 where empty; the last is always empty */
	size_t length;      /* length of slots */
	size_t capacity;    /* number of home slots; the array is longer */
	size_t count;
	size_t open;        /* entries that have not ended */
	unsigned char key[crypto_shorthash_KEYBYTES];
};

enum fingerprint_state { FINGERPRINT_ABSENT, FINGERPRINT_OPEN, FINGERPRINT_ENDED };

void fingerprints_begin(struct fingerprints *set);
/* The fingerprint of bytes in this set. */
uint64_t fingerprints_of(const struct fingerprints *set, const void *bytes, size_t len);
enum fingerprint_state fingerprints_find(const struct fingerprints *set, uint64_t fingerprint);
/* Adds a fingerprint as open if it is absent. Returns its state before. */
enum fingerprint_state fingerprints_add(struct fingerprints *set, uint64_t fingerprint);
/* Ends a fingerprint if it is open. Returns its state before. */
enum fingerprint_state fingerprints_end(struct fingerprints *set, uint64_t fingerprint);
void fingerprints_free(struct fingerprints *set);

#endif
