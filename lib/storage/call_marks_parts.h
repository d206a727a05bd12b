/*
 * Shared by the files call_marks*.c.
 *
 *  call_marks.c        the marks of a process, and how they differ from recorded ones
 *  call_marks_start.c  the state at the start of an attempt: the key, START_FILE, run.started
 *  call_marks_form.c   the normalized form of a value
 */
#ifndef AWF_STORAGE_CALL_MARKS_PARTS_H
#define AWF_STORAGE_CALL_MARKS_PARTS_H

#include <sodium.h>
#include <time.h>

#include "storage/call_marks.h"

#define MARKS_NAME_DIGITS 8
#define MARKS_VALUE_DIGITS (MARK_SIZE - 1)

/* A variable that the attempt was started with. */
struct start_entry {
	uint64_t name_hash, value_hash;
	uint32_t value_len, name; /* in the texts */
};

struct start_head {
	char magic[8];
	unsigned char key[MARKS_KEY_BYTES];
	unsigned char hash_key[crypto_shorthash_KEYBYTES];
	uint32_t count, texts;
	uint32_t ignored;        /* in the texts: the first of what is ignored, up to an empty one */
	uint32_t outer;          /* likewise: the first name that an outer workflow has set */
	uint32_t unmarked;       /* 1: calls are not distinguished by marks */
	uint32_t reserved;
};
_Static_assert(sizeof(struct start_head) % _Alignof(struct start_entry) == 0, "misaligned entries");

/* A START_FILE that was read. */
struct attempt_start {
	struct buffer bytes;
	const struct start_head *head;
	const struct start_entry *entries; /* by the hash of their names */
	const char *texts;
	char *workspace;         /* absolute, without links */
	struct timespec written;
};

/* NULL: the attempt was started without it. */
const struct start_entry *attempt_start_find(const struct attempt_start *s, const char *name,
    size_t len);
/* Whether that was its value. */
bool attempt_start_had(const struct attempt_start *s, const struct start_entry *entry,
    const char *value, size_t len);
/* Whether the user has a variable ignored, or awf-step --models has set it. */
bool attempt_start_ignores(const struct attempt_start *s, const char *name, size_t len);

/* The first digits of a keyed digest of a name and of that variable's value (SPAN_NONE: of the name
 * alone): two variables with equal values have different digests. */
void marks_digits(const unsigned char *key, struct span name, struct span value, char *out,
    size_t digits);

/* Appends the normalized form of a value; entry: the variable at the start of the attempt; NULL.
 * True: a part of a new path was left out. */
bool marks_form(const struct attempt_start *s, const struct start_entry *entry, const char *value,
    struct buffer *out);
/* The same for an absolute path outside of the workspace. */
bool marks_form_path(const struct attempt_start *s, const char *path, size_t len,
    struct buffer *out);

#endif
