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
	json_t *document;    /* an object */
	json_t *lines;       /* key to line number; NULL: not known */
};

struct definition_key {
	const char *name;
	/* Checks the value and stores it in the object; ends with definition_fail(). */
	int (*read)(const struct definition *d, const struct definition_key *key,
	    json_t *value, void *object, struct error *err);
	size_t offset;       /* of the object's member, for the readers below */
	int64_t min, max;    /* of numbers */
};

/* Reads all keys of the table (which ends with name NULL) that the document has; a
 * key that is null counts as absent. */
int definition_read(const struct definition *d, const struct definition_key *table,
    void *object, struct error *err);
/* Refuses keys that are not in the table, with a suggestion. */
int definition_only(const struct definition *d, const struct definition_key *table,
    struct error *err);
/* What other software calls a key. */
struct definition_synonym {
	const char *name, *meant;
};

/* Of keys that are not in the table, but are near to one that is, or are synonyms of it
 * (which end with name NULL): *doubt becomes warnings, one line for each, without the last LF,
 * in memory of its own. Where what is meant is one of strict (ends with NULL), as the work
 * would go on without a limit, it is an error: -1. */
int definition_doubt(const struct definition *d, const struct definition_key *table,
    const struct definition_synonym *synonyms, const char *const *strict, char **doubt,
    struct error *err);
/* ERROR_DEFINITION at the key's line: "KEY: …". Returns -1. */
int definition_fail(const struct definition *d, const char *key, struct error *err,
    const char *format, ...) __attribute__((format(printf, 4, 5)));
/* "FILE:LINE" of a key, or "FILE". In memory of its own. */
char *definition_place(const struct definition *d, const char *key);
/* "text", "whole number" … for messages. */
const char *definition_type(const json_t *value);

/* Readers. The member at offset is a char *, int64_t, bool, char ** (ends with
 * NULL). Texts are not empty and hold no NUL. A duration in ms is a number of
 * seconds or a text such as "20m". Names are an array of texts or one text with
 * commas, and are added to those that another key gave the member. */
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
/* -1: one of a key's names is there twice. */
int definition_once(const struct definition *d, const struct definition_key *key,
    char *const *names, struct error *err);
/* Takes anything and stores nothing. */
int definition_ignored(const struct definition *d, const struct definition_key *key,
    json_t *value, void *object, struct error *err);

/* The object's member that a key is for. */
static inline void *
definition_member(void *object, const struct definition_key *key)
{
	return (char *)object + key->offset;
}

/* Where definitions are looked for, in this order; NULL: not there. */
struct definition_places {
	const char *beside;             /* a directory */
	const char *first;              /* directories, with colons between */
	const char *kind;               /* so called here, in the workflow's directory, in the
	                                   user's configuration, in the system's */
	bool elsewhere;                 /* but not here, or below */
	const char *others;             /* directories after that here, and in the workflow's, as far
	                                   as they are there */
	const char *workflow_directory;
	const char *user;               /* directories after that in the user's configuration */
	const char *last;               /* directories, with colons between */
};

/* The directories, each once; a list (base/list.h). They need not be there. */
char **definition_directories(const struct definition_places *places);
/* The first of the file names (ends with NULL) that is there, in memory of its own; NULL: none. */
char *definition_in(const char *directory, const char *const *names);
/* The same in all places. ERROR_DEFINITION
 * with place what, listing where was looked, with a suggestion. */
char *definition_find(const struct definition_places *places, const char *what,
    const char *const *names, struct error *err);
/* ERROR_DEFINITION with place what: it is in none of these directories (ends with NULL). Returns -1. */
int definition_not_found(char *const *directories, const char *what, struct error *err);
/* Whether there is a regular file. */
bool definition_exists(const char *path);

#endif
