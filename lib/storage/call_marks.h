/*
 * Marks: what a call depends on besides its input and its definition: the directory in which it
 * starts, and the variables that the workflow has set since the run was started.
 *
 * A variable counts as set by the workflow if its value, or its absence, differs from the
 * environment with which the attempt was started (START_FILE in the run directory; run.started has
 * digests of it). The transcript has digests of values: 72 bits of a BLAKE2b under a key that only
 * the storage has (mode 600, storage/storage.h), so that a secret cannot be found by trying. If a
 * value is certainly not a secret, the transcript also has its text, for messages.
 *
 * A run that needs no marks (a masked run, or one without a transcript) has a START_FILE, too: it
 * determines which variables a sandboxed program gets (workspace/sandbox_environment.h).
 *
 * A value has two digests: that of its bytes, and, if it differs, that of its normalized form, in
 * which
 *   - the value that the attempt was started with (x:$PATH) is a mark for itself,
 *   - the workspace is another, so that one that was moved agrees,
 *   - of a path that is new (made since the attempt began, for its owner alone, outside of the
 *     workspace) the random part of the name is left out: mktemp(1).
 * Values match if either digest is equal. Variables in the list of marks_name_listed(), which
 * belong to the shell, make or AWF itself, are ignored.
 */
#ifndef AWF_STORAGE_CALL_MARKS_H
#define AWF_STORAGE_CALL_MARKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"
#include "base/error.h"
#include "json/scan.h"
#include "json/writer.h"

#define MARK_SIZE 13       /* a digest: 12 digits of base64 and a NUL */
#define MARKS_KEY_BYTES 32
#define MARKS_KEY_FILE "variables.key" /* in the storage */
#define START_FILE "start" /* in the run directory */
#define MARKS_OWN "AWF_OWN_VARIABLES" /* names that awf-step --models has set, spaces between */
#define MARKS_DIRECTORY "." /* stands for the directory where differences are named */
#define MARKS_NEVER_EXACT UINT64_MAX

struct attempt_start;

struct call_mark {
	char *name;
	char bytes[MARK_SIZE], form[MARK_SIZE]; /* both "": it is unset */
	bool new_path;             /* the form leaves out a part of a new path */
	char *shown;               /* the value, if it is certainly no secret; NULL */
};

/* Of one process; all its calls have the same. */
struct call_marks {
	bool known;                /* false: the run has none */
	char *directory;           /* below the workspace, or absolute; random parts of new paths are
	                              '*'; NULL: the workspace itself */
	struct call_mark *list;         /* by name */
	size_t count;
	struct attempt_start *start; /* state at the start of the attempt */
};

/* The storage's key: 1; 0: it has none, and none is to be made. */
int marks_key(const char *storage, bool make, unsigned char key[MARKS_KEY_BYTES],
    struct error *err);
struct start_spec {
	char *const *environment;  /* that the attempt is started with */
	char *const *ignored;      /* names, or beginnings with a star, that the user said to ignore;
	                              ends with NULL; may be NULL */
	const char *outer;         /* run directory of the outer run: what its workflow has set
	                              counts as set by this workflow too; NULL: none */
	bool unmarked;             /* its calls are not distinguished by marks */
};
/* Writes the START_FILE of an attempt. */
int marks_start(const char *run_directory, const unsigned char key[MARKS_KEY_BYTES],
    const struct start_spec *spec, struct error *err);
/* Reads it: 1; 0: the run has none. workspace: absolute, without links; NULL: not known. */
int attempt_start_open(struct attempt_start **opened, const char *run_directory,
    const char *workspace, struct error *err);
/* Whether the workflow has set the variable to that value since. */
bool attempt_start_set_since(const struct attempt_start *s, const char *name, size_t len,
    const char *value);
void attempt_start_free(struct attempt_start *s);
/* Writes the members of run.started about environ, and about ignored variables. */
void marks_write_start(const unsigned char key[MARKS_KEY_BYTES], char *const *ignored,
    struct writer *w);

/* Finds the marks of this process in the run of that directory, whose workspace is absolute, without
 * links (NULL: not known); its calls begin in a directory, absolute (NULL: the current one). 1; 0:
 * nothing is known of the run's; -1. */
int marks_find(struct call_marks *m, const char *run_directory, const char *workspace,
    const char *directory, struct error *err);
/* Writes the marks as members of a call's start; nothing if there are none. */
void marks_write(const struct call_marks *m, struct writer *w);
void marks_free(struct call_marks *m);

/* Adds a variable that no call is to depend on to a list (base/list.h): a name, or the beginning of
 * names and a star. An error of that code at the place if it is neither. */
int marks_ignore(char ***list, const char *name, enum error_code code, const char *place,
    struct error *err);
/* Whether a variable never distinguishes calls: it belongs to a shell, make, parallel or AWF. */
bool marks_name_listed(const char *name, size_t len);

/* The recorded marks of a call. */
struct recorded_marks {
	const char *start;         /* of its attempt: marks_read_start(); "": not recorded */
	const char *directory;     /* "": the workspace */
	const char *variables;     /* JSON of the member; "": none */
};
/* run.started's part as text, to be kept. */
void marks_read_start(struct span started, struct buffer *out);

/* A number that is equal for marks that agree in everything that matters; 0 for calls without
 * marks. *exact: 0 if they contain no new paths; otherwise equal for marks that agree byte by byte,
 * or MARKS_NEVER_EXACT. */
uint64_t marks_identity(const struct call_marks *m, uint64_t *exact);
uint64_t marks_recorded_identity(const struct recorded_marks *r, uint64_t *exact);

/* The same of all but the marks of these names (each with a newline; MARKS_DIRECTORY is one), and but for what
 * the call ignores. */
uint64_t marks_rest_identity(const struct recorded_marks *r, const struct call_marks *m, const char *names);

/* How a call's marks differ from recorded ones: -1: not to be compared, as the record has none,
 * or they are under another key. Else in how many they do; each is appended to names (may be NULL),
 * with a newline: a name, or MARKS_DIRECTORY. */
int marks_difference(const struct call_marks *m, const struct recorded_marks *r,
    struct buffer *names);
/* Whether the new paths in a record are those of the call, which the normalized form does not tell.
 * If not, appends the first variable that differs, or MARKS_DIRECTORY, to name (may be NULL). */
bool marks_same_paths(const struct call_marks *m, const struct recorded_marks *r, struct buffer *name);
/* Whether two recorded calls of an attempt had other new paths, but for variables that are ignored:
 * a call cannot tell which of them it is. The first variable in which they differ is appended to name
 * (may be NULL), or MARKS_DIRECTORY. */
bool marks_paths_differ(const struct call_marks *m, const struct recorded_marks *a,
    const struct recorded_marks *b, struct buffer *name);
/* Whether the workflow had set, or unset, the variable for the call. */
bool marks_have(const struct recorded_marks *r, const char *name);
/* Whether two recorded calls of the same attempt had different values of a variable. */
bool marks_recorded_differ(const struct recorded_marks *a, const struct recorded_marks *b,
    const char *name);
/* Appends the value of a recorded variable; false: the record does not have it. */
bool marks_shown(struct span value, struct buffer *out);
/* Appends a recorded variable for messages, after a comma if needed: STAGE=prod, or TOKEN if its
 * value is not known, or "HOME unset". */
void marks_describe(const char *name, struct span value, struct buffer *out);

#endif
