/*
 * An object that came in pieces: each piece has some of its members, or more of a text or list.
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

/* Adds a member, or a piece of it. The key is a token with its quotes. null adds nothing; a text
 * that is the same as all before is a repetition. */
void joined_add(struct joined *j, struct span key, struct span value);
/* The same with a value that takes the place of what came before. */
void joined_set(struct joined *j, struct span key, struct span value);
void joined_drop(struct joined *j, const char *key);
bool joined_has(const struct joined *j, const char *key);
/* Writes the members, without the braces. */
void joined_write(const struct joined *j, struct writer *w);
void joined_free(struct joined *j);

#endif
