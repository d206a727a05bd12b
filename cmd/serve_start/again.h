/*
 * Running a recorded run again: going on with it, forking it, perhaps with another text of its pipeline or other
 * named inputs, or starting what it was once more, with the same input. The words of awf-run are made here alone:
 * those that are shown, as a line for sh, are those that are executed.
 */
#ifndef AWF_SERVE_START_AGAIN_H
#define AWF_SERVE_START_AGAIN_H

#include <stdbool.h>

#include "base/buffer.h"
#include "base/error.h"
#include "base/id.h"
#include "serve_start/start.h"
#include "storage/storage.h"

enum again_what { AGAIN_RESUME, AGAIN_FORK, AGAIN_NEW, AGAIN_WHATS };
extern const char *const again_words[AGAIN_WHATS + 1]; /* "resume", "fork", "again" */

/* How a run was started. */
struct again {
	char run_id[ID_SIZE];
	char *name, *kind, *cwd, *directory; /* NULL: not recorded */
	char **argv;
	char **inputs;           /* KEY=VALUE */
	bool no_input, masked;
	bool pipeline;           /* argv is a shell, -c, the pipeline, $0, and the arguments */
	size_t script;           /* which word of argv is its file; 0: none is */
	char *input;             /* the file that has its standard input; NULL: it is not kept */
	bool part;               /* the run had not read all of it */
	char *origin;            /* of a run of elsewhere, who has sent it; NULL */
};

struct again_choice {
	enum again_what what;
	const char *at;          /* of a fork: a step or call; NULL */
	char *const *inputs;     /* of a fork or a new run: KEY=VALUE, in place of those of the run; NULL */
	const char *pipeline;    /* of a fork: in place of its own; NULL */
	bool unattended;         /* with the options with which the server starts runs */
};

/* -1 with *err: the record does not tell; again_free() is called either way. */
int again_read(struct again *a, const struct storage *s, const char *run_id, struct error *err);
void again_free(struct again *a);
/* Why this cannot be done with the run; NULL: it can. */
const char *again_impossible(const struct again *a, const struct again_choice *c);
/* Writes the command as a line for sh. */
void again_write_command(const struct again *a, const struct again_choice *c, const struct storage *s,
    struct buffer *out);
/* The name of the workflow's file in a directory whose workflows may be started (to be freed by the caller);
 * NULL: the run is of no such file, or more than its file and its inputs made it what it was. */
char *again_file(const struct again *a, const char *directory);
/* Starts it; the run gets the id, unless it is resumed. As start_workflow(). */
enum started again_start(const struct again *a, const struct again_choice *c, const struct start_spec *spec,
    struct error *err);

#endif
