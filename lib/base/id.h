/*
 * UUIDs, version 4 (RFC 9562, section 5.4), lower case, from the system's
 * random numbers. Safe across fork(): a child never repeats its parent's ids.
 */
#ifndef AWF_BASE_ID_H
#define AWF_BASE_ID_H

#include <stdbool.h>
#include <stddef.h>

#define ID_SIZE 37 /* 36 characters and a NUL */

char *id_new(char out[ID_SIZE]); /* returns out */
/* An id in the same form that depends on text alone. Returns out. */
char *id_derive(const char *text, char out[ID_SIZE]);
/* Whether text is a UUID in the canonical form, lower case, of any version. */
bool id_valid(const char *text, size_t len);
/* size bytes of random numbers. */
void random_bytes(void *out, size_t size);

#endif
