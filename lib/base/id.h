/*
 * UUIDs, version 4 (RFC 9562, section 5.4), lower case, from the system's
 * random numbers. Safe across fork(): a child never repeats its parent's ids.
 */
#ifndef AWF_BASE_ID_H
#define AWF_BASE_ID_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ID_SIZE 37 /* 36 characters and a NUL */

/* A UUID of any version as a number; numbers are ordered as their texts are. */
struct uuid {
	uint64_t high, low;
};

char *id_new(char out[ID_SIZE]); /* returns out */
/* An id in the same form that depends on text alone. Returns out. */
char *id_derive(const char *text, char out[ID_SIZE]);
/* Whether text is a UUID in the canonical form, lower case, of any version. */
bool id_valid(const char *text, size_t len);
/* Parses a UUID; false if the text is not one. */
bool uuid_read(const char *text, size_t len, struct uuid *id);
/* Writes a UUID as text. Returns out. */
char *uuid_write(struct uuid id, char out[ID_SIZE]);
/* Fills out with size random bytes. */
void random_bytes(void *out, size_t size);

#endif
