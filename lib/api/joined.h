/*
 * Joins an object that arrives in pieces: each piece has some of its members, or more of a string
 * or list.
 */
#ifndef AWF_API_JOINED_H
#define AWF_API_JOINED_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buffer.h"
#include "json/scan.h"
#include "json/writer.h"

struct joined {
	struct joined_member *members;
	size_t count;
};

/* Adds a member, or a piece of it. The key is a raw token with its quotes. null adds nothing; a
 * string that equals everything so far is a repetition and adds nothing. */
void joined_add(struct joined *j, struct span key, struct span value);
/* Sets a member, replacing its previous value. */
void joined_set(struct joined *j, struct span key, struct span value);
void joined_drop(struct joined *j, const char *key);
bool joined_has(const struct joined *j, const char *key);
/* Writes the members, without the braces. */
void joined_write(const struct joined *j, struct writer *w);
void joined_free(struct joined *j);

#endif
