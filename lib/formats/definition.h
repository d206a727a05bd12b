/*
 * Definitions: the common part of agent files and tool files. Both are objects with known keys; a
 * table defines the values of each key, and every error names the file, the line if known, and the
 * key. Both are looked for in the same directories.
 */
#ifndef AWF_FORMATS_DEFINITION_H
#define AWF_FORMATS_DEFINITION_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

#define DEFINITION_LIMIT ((size_t)4 << 20) /* bytes of a file */

struct definition {
	const char *path;
	json_t *document;    /* an object; the keys of a file */
	json_t *lines;       /* an object: key → line number; NULL: not known */
};

struct definition_key {
	const char *name;
	/* Checks the value and stores it in the object; on an error, returns definition_fail(). */
	int (*read)(const struct definition *d, const struct definition_key *key,
	    json_t *value, void *object, struct error *err);
	size_t offset;       /* of the member of the object, for the readers below */
	int64_t min, max;    /* limits for numbers */
};

/* Reads all keys of the table (which ends with name NULL) that the document has; a key whose value
 * is null counts as absent. */
int definition_read(const struct definition *d, const struct definition_key *table,
    void *object, struct error *err);
/* Rejects keys that are not in the table, and suggests a similar one. */
int definition_only(const struct definition *d, const struct definition_key *table,
    struct error *err);
/* The name that other software uses for a key. */
struct definition_synonym {
	const char *name, *meant;
};

/* Finds keys that are not in the table but are similar to one of its keys, or a synonym of one
 * (synonyms end with name NULL): *doubt is set to warnings, allocated, one per line, without the
 * last LF. It is an error (-1) instead if the key that was meant is in `strict` (ends with NULL):
 * these set limits, without which the work would go on. */
int definition_doubt(const struct definition *d, const struct definition_key *table,
    const struct definition_synonym *synonyms, const char *const *strict, char **doubt,
    struct error *err);
/* ERROR_DEFINITION at the key's line: "KEY: …". Returns -1. */
int definition_fail(const struct definition *d, const char *key, struct error *err,
    const char *format, ...) __attribute__((format(printf, 4, 5)));
/* "FILE:LINE" of a key, or "FILE". Allocated. */
char *definition_place(const struct definition *d, const char *key);
/* "text", "whole number" …, for messages. */
const char *definition_type(const json_t *value);

/* Readers. The member at the offset is a char *, int64_t, bool, or char ** (ends with NULL). Texts
 * must not be empty or contain NUL. A duration, in ms, is a number of seconds or a text such as
 * "20m". Names are an array of texts or one text with commas; they are added to those that another
 * key has put into the member. */
int definition_text(const struct definition *d, const struct definition_key *key,
    json_t *value, void *object, struct error *err);
int definition_integer(const struct definition *d, const struct definition_key *key,
    json_t *value, void *object, struct error *err);
int definition_flag(const struct definition *d, const struct definition_key *key,
    json_t *value, void *object, struct error *err);
int definition_duration(const struct definition *d, const struct definition_key *key,
    json_t *value, void *object, struct error *err);
int definition_names(const struct definition *d, const struct definition_key *key,
    json_t *value, void *object, struct error *err);
/* -1: a name is in the list twice. */
int definition_once(const struct definition *d, const struct definition_key *key,
    char *const *names, struct error *err);
/* Accepts any value and stores nothing. */
int definition_ignored(const struct definition *d, const struct definition_key *key,
    json_t *value, void *object, struct error *err);

/* The member of the object in which the key is stored. */
static inline void *
definition_member(void *object, const struct definition_key *key)
{
	return (char *)object + key->offset;
}

/* Where definitions are searched for, in this order; NULL: nothing. */
struct definition_places {
	const char *beside;             /* a directory */
	const char *first;              /* directories, separated by colons */
	const char *kind;               /* the name of a directory: in the current directory, the
	                                   workflow's, the user's configuration, and the system's */
	bool elsewhere;                 /* not in the current directory or below it */
	const char *others;             /* further directories in the current directory and in the
	                                   workflow's, if they exist; separated by colons */
	const char *workflow_directory;
	const char *user;               /* further directories, after the user's configuration;
	                                   separated by colons */
	const char *last;               /* directories, separated by colons */
};

/* The directories, each once; a list (base/list.h). They need not exist. */
char **definition_directories(const struct definition_places *places);
/* The path of the first of the file names (ends with NULL) that exists in the directory, allocated;
 * NULL: none. */
char *definition_in(const char *directory, const char *const *names);
/* The same in all places. ERROR_DEFINITION with place `what`, listing the searched directories and
 * a similar name. */
char *definition_find(const struct definition_places *places, const char *what,
    const char *const *names, struct error *err);
/* Sets ERROR_DEFINITION with place `what`: it is in none of these directories (ends with NULL).
 * Returns -1. */
int definition_not_found(char *const *directories, const char *what, struct error *err);
/* Whether path is a regular file. */
bool definition_exists(const char *path);

#endif
