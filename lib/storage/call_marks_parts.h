/*
 * Shared by the files call_marks*.c.
 *
 *  call_marks.c        the marks of a process, and how they differ from recorded ones
 *  call_marks_start.c  the state at the start of an attempt: the key, START_FILE, run.started; what
 *                      descriptors a process hands on
 *  call_marks_form.c   the normalized form of a value
 */
#ifndef AWF_STORAGE_CALL_MARKS_PARTS_H
#define AWF_STORAGE_CALL_MARKS_PARTS_H

#include <sodium.h>
#include <time.h>

#include "storage/call_marks.h"

#define MARKS_NAME_DIGITS 8
#define MARKS_VALUE_DIGITS (MARK_SIZE - 1)

/* A variable at the start of the attempt. */
struct start_entry {
	uint64_t name_hash, value_hash;
	uint32_t value_len, name; /* value_len: length of its value; name: offset in the texts */
};

struct start_head {
	char magic[8];
	unsigned char key[MARKS_KEY_BYTES];
	unsigned char hash_key[crypto_shorthash_KEYBYTES];
	uint32_t count, texts;
	uint32_t ignored;        /* offset in the texts of the names of excluded variables; an empty
	                            one ends them */
	uint32_t outer;          /* the same for the names of variables that an outer workflow has
	                            set */
	uint32_t unmarked;       /* 1: calls get no marks */
	uint32_t changed;        /* as outer: variables that are marks whatever their value; 0: the file of an
	                            older version, which has none */
};
_Static_assert(sizeof(struct start_head) % _Alignof(struct start_entry) == 0, "misaligned entries");

/* The contents of a START_FILE. */
struct attempt_start {
	struct buffer bytes;
	const struct start_head *head;
	const struct start_entry *entries; /* sorted by the hash of their names */
	const char *texts;
	char *workspace;         /* absolute, with links resolved */
	struct timespec written;
};

/* The variable at the attempt's start; NULL: it was not set. */
const struct start_entry *attempt_start_find(const struct attempt_start *s, const char *name,
    size_t len);
/* Calls each() for the descriptors that programs of this process inherit and can read. once: it is another pipe or file
 * in each attempt. */
void marks_each_descriptor(void (*each)(void *context, const char *name, const char *text, bool once), void *context);
/* Whether the variable had this value at the attempt's start. */
bool attempt_start_had(const struct attempt_start *s, const struct start_entry *entry,
    const char *value, size_t len);
/* Whether the variable is a mark whatever its value (start_spec.changed). */
bool attempt_start_has_changed(const struct attempt_start *s, const char *name, size_t len);
/* Whether the user has excluded the variable, or awf-step --models has set it. */
bool attempt_start_ignores(const struct attempt_start *s, const char *name, size_t len);

/* The first digits of a keyed digest of a variable's name and value (SPAN_NONE: only of its name).
 * As the name is included, variables with equal values have different digests. */
void marks_digits(const unsigned char *key, struct span name, struct span value, char *out,
    size_t digits);

/* Appends the normalized form of a value; entry: the variable at the attempt's start, or NULL. True
 * if a part of a new path was left out. */
bool marks_form(const struct attempt_start *s, const struct start_entry *entry, const char *value,
    struct buffer *out);
/* The same for an absolute path outside of the workspace. */
bool marks_form_path(const struct attempt_start *s, const char *path, size_t len,
    struct buffer *out);

#endif
