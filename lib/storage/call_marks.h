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
 * In a fork without --at, inputs (AWF_INPUT_*) and variables of --env that a run before had with other values count
 * as set by the workflow, too.
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
#define MARKS_KEY_FILE "variables.key" /* name of the key's file in the storage */
#define START_FILE "start" /* name of the file in the run directory */
#define MARKS_OWN "AWF_OWN_VARIABLES" /* names of the variables that awf-step --models has set,
                                         separated by spaces */
#define MARKS_DIRECTORY "." /* stands for the directory in lists of differences */
#define MARKS_NEVER_EXACT UINT64_MAX

struct attempt_start;

struct call_mark {
	char *name;
	char bytes[MARK_SIZE], form[MARK_SIZE]; /* both "" if the variable is unset */
	bool new_path;             /* form leaves out a part of a new path */
	char *shown;               /* the value, if it is certainly no secret; else NULL */
};

/* The marks of a process; all its calls have the same. */
struct call_marks {
	bool known;                /* false: the run has no marks */
	char *directory;           /* relative to the workspace, or absolute; '*' in place of random
	                              parts of new paths; NULL: the workspace itself */
	struct call_mark *list;         /* sorted by name */
	size_t count;
	struct attempt_start *start; /* state at the start of the attempt */
};

/* Reads the storage's key; with make, creates it if there is none. 1; 0: there is none; -1:
 * *err. */
int marks_key(const char *storage, bool make, unsigned char key[MARKS_KEY_BYTES],
    struct error *err);
struct start_spec {
	char *const *environment;  /* environment with which the attempt is started */
	char *const *ignored;      /* variables that the user has excluded: names, or beginnings of
	                              names followed by a star; ends with NULL; may be NULL */
	const char *outer;         /* run directory of the outer run; variables that its workflow
	                              has set also count as set by this one; NULL: none */
	char *const *changed;      /* variables that are marks whatever their value, since a run that
	                              this one is forked from had others; ends with NULL; may be NULL */
	bool unmarked;             /* its calls get no marks */
};
/* Writes the START_FILE of an attempt. */
int marks_start(const char *run_directory, const unsigned char key[MARKS_KEY_BYTES],
    const struct start_spec *spec, struct error *err);
/* Reads the START_FILE. 1; 0: the run has none; -1: *err. workspace: absolute, with links resolved;
 * NULL: not known. */
int attempt_start_open(struct attempt_start **opened, const char *run_directory,
    const char *workspace, struct error *err);
/* Whether the workflow has set the variable to this value since the attempt was started. */
bool attempt_start_set_since(const struct attempt_start *s, const char *name, size_t len,
    const char *value);
void attempt_start_free(struct attempt_start *s);
/* Writes the members of run.started about the environment and about excluded variables. */
void marks_write_start(const unsigned char key[MARKS_KEY_BYTES], char *const *ignored,
    struct writer *w);

/* Determines the marks of this process. run_directory: of its run; workspace: absolute, with links
 * resolved (NULL: not known); directory: absolute, where its calls begin (NULL: the current one).
 * 1; 0: the run has no START_FILE; -1: *err. */
int marks_find(struct call_marks *m, const char *run_directory, const char *workspace,
    const char *directory, struct error *err);
/* Writes the marks into a call's start event; nothing if there are none. */
void marks_write(const struct call_marks *m, struct writer *w);
void marks_free(struct call_marks *m);

/* Adds a variable on which no call shall depend to a list (base/list.h): its name, or the beginning
 * of names followed by a star. Otherwise an error with this code and place. */
int marks_ignore(char ***list, const char *name, enum error_code code, const char *place,
    struct error *err);
/* Whether a variable never distinguishes calls: it belongs to a shell, make, parallel or AWF. */
bool marks_name_listed(const char *name, size_t len);
/* The same for what is read from descriptors above 2 that the workflow has opened: the name of the mark is this and the
 * number. A pipe, as of <(command), is a new path. */
#define MARKS_DESCRIPTOR "descriptor "
bool marks_is_descriptor(const char *name);
#define MARKS_FUNCTIONS "BASH_FUNC_*" /* variables with the functions that bash exports */
/* Whether a variable is a function: another value is most often an edited one, which is told with the script,
 * unless two calls of the step had two functions of the name. */
bool marks_is_function(const char *name);

/* The recorded marks of a call. */
struct recorded_marks {
	const char *start;         /* of the call's attempt, from marks_read_start(); "": not
	                              recorded */
	const char *directory;     /* "": the workspace itself */
	const char *variables;     /* JSON of the member `variables`; "": none */
};
/* Copies what comparisons need from a run.started, as text. */
void marks_read_start(struct span started, struct buffer *out);

/* Whether a variable of this process has the value, or has none, with which an attempt was started,
 * from marks_read_start(): 1, 0, or -1: that is not known. */
int marks_start_agrees(const unsigned char key[MARKS_KEY_BYTES], const char *start, const char *name);

/* A number that is equal for marks that are equal in their normalized forms; 0 for calls without
 * marks. *exact: 0 if no new paths occur; otherwise a number that is equal for marks that are equal
 * byte by byte, or MARKS_NEVER_EXACT if that cannot be known. */
uint64_t marks_identity(const struct call_marks *m, uint64_t *exact);
uint64_t marks_recorded_identity(const struct recorded_marks *r, uint64_t *exact);

/* The same without the marks that are named (each name ends with a newline; MARKS_DIRECTORY is
 * one), and without variables that the call excludes. */
uint64_t marks_rest_identity(const struct recorded_marks *r, const struct call_marks *m, const char *names);

/* In how many marks a call differs from a recorded one; their names, or MARKS_DIRECTORY, are
 * appended to names (may be NULL), each with a newline. -1: they cannot be compared, because the
 * record has none, or they were made with another key. */
int marks_difference(const struct call_marks *m, const struct recorded_marks *r,
    struct buffer *names);
/* Whether the new paths in a record are the same as those of the call: their normalized forms do
 * not show that. If not, appends the first variable that differs, or MARKS_DIRECTORY, to name (may
 * be NULL). */
bool marks_same_paths(const struct call_marks *m, const struct recorded_marks *r, struct buffer *name);
/* Whether two recorded calls of an attempt had different new paths, apart from excluded variables:
 * then a call cannot know which of the two it is. The first variable in which they differ, or
 * MARKS_DIRECTORY, is appended to name (may be NULL). */
bool marks_paths_differ(const struct call_marks *m, const struct recorded_marks *a,
    const struct recorded_marks *b, struct buffer *name);
/* Whether the variable is in a call's record: the workflow had set or unset it. */
bool marks_have(const struct recorded_marks *r, const char *name);
/* Whether two recorded calls of the same attempt had different values of a variable. */
bool marks_recorded_differ(const struct recorded_marks *a, const struct recorded_marks *b,
    const char *name);
/* Appends the text of a recorded value; false if the record does not contain the text. */
bool marks_shown(struct span value, struct buffer *out);
/* Appends a recorded variable to a message, after a comma if needed: "STAGE=prod"; "TOKEN", if the
 * record does not contain the text; or "HOME unset". */
void marks_describe(const char *name, struct span value, struct buffer *out);

#endif
