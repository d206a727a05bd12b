/*
 * Limits repeated messages: the first three messages of a kind are printed, further ones are
 * counted, and the count is printed at the end:
 *
 *     rev: no API key: set ANTHROPIC_API_KEY
 *     rev[1] ("2"): no API key: set ANTHROPIC_API_KEY
 *     rev[2] ("3"): no API key: set ANTHROPIC_API_KEY
 *     rev: no API key: set ANTHROPIC_API_KEY … and 27 more like it
 *
 * Two messages are of one kind if they differ only in numbers (line numbers, durations, ids with
 * digits), except numbers that say what happened: exit status 4, HTTP 503, signal 9. To limit
 * memory, messages beyond FOLDED_KINDS_MOST kinds are counted together.
 */
#ifndef AWF_BASE_FOLDED_MESSAGES_H
#define AWF_BASE_FOLDED_MESSAGES_H

#include <stddef.h>

#include "base/buffer.h"
#include "base/map.h"

#define FOLDED_SHOWN 3           /* messages of a kind that are printed */
#define FOLDED_KINDS_MOST 100

struct folded_messages {
	void (*print)(const char *text); /* one line */

	struct map kinds;            /* kind to index in list */
	struct folded_kind {
		char *text;              /* the kind, as it is printed with the count */
		size_t count;            /* of all */
	} *list;
	size_t count;
	size_t others;               /* messages of kinds beyond FOLDED_KINDS_MOST */
};

#define FOLDED_MESSAGES_INIT(print) { (print), MAP_INIT, NULL, 0, 0 }

/* Prints the message, or counts it. kind: the message without the parts that are specific to
 * this one (the item, the file); NULL: the message itself. */
void folded_messages_add(struct folded_messages *f, const char *kind, const char *text);
/* Prints the count of each kind, and starts again. Long-running programs call it from time to
 * time. */
void folded_messages_end(struct folded_messages *f);

/* Appends the kind of a message: the message with each number replaced by "#". */
void folded_kind(struct buffer *out, const char *message);
/* Appends "KIND … and COUNT more like it". */
void folded_count(struct buffer *out, const char *kind, size_t count);

#endif
