/*
 * A batch: lines that are stored at the target together, by run, and blobs that they name. Runs are
 * sorted by id, so that two processes that lock them one after another cannot deadlock.
 */
#ifndef AWF_SHIP_BATCH_H
#define AWF_SHIP_BATCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"
#include "base/digest.h"
#include "base/error.h"
#include "base/id.h"
#include "base/map.h"
#include "json/scan.h"

struct batch_line {
	size_t at, len;         /* in the text, without its LF */
	int64_t seq;
	char call[ID_SIZE];     /* event id of the start of its call; "" */
	char cost[32];          /* dollars, a JSON number; "" */
};

struct batch_blob {
	char sha256[DIGEST_SIZE];
	char *path;
};

struct batch_run {
	char run_id[ID_SIZE];
	char *origin;
	char *transcript;       /* its path */
	int64_t size;           /* bytes of that on disk when it was asked about */
	struct buffer text;     /* of its lines, each with its LF */
	struct batch_line *lines;
	size_t count;
	struct batch_blob *blobs;
	size_t blob_count;
	bool refused;           /* nothing more of it is taken before it is asked about again */
};

struct batch {
	struct batch_run **runs; /* all that were asked about; sorted by batch_sort() */
	size_t run_count;
	struct map places;       /* run id to its place */
	struct batch_run **with; /* runs that have lines now */
	size_t with_count;
	size_t bytes, lines;     /* of all */
};

/* The run, added if needed; what is given about it here is used from now on. */
struct batch_run *batch_run(struct batch *b, const char *run_id, const char *origin,
    const char *transcript, int64_t size);
/* NULL: it was not asked about. */
struct batch_run *batch_find(const struct batch *b, struct span run_id);
void batch_add(struct batch *b, struct batch_run *run, struct span line, int64_t seq,
    const char *call, const char *cost);
void batch_add_blob(struct batch_run *run, const char *sha256, char *path);
struct span batch_line_text(const struct batch_run *run, size_t number);
/* Puts the runs that have lines in order. */
void batch_sort(struct batch *b);
/* The lines are safe, or are dropped. */
void batch_clear(struct batch *b);
void batch_free(struct batch *b);

/* The last line of a run at the target. */
struct position {
	int64_t seq;
	char digest[DIGEST_SIZE]; /* of that line; "": it is not known */
	int64_t pruned;           /* lines up to that were removed; 0: none */
};
/* Which lines the target does not have, that has this: *first is the number of the first of them.
 * -1, ERROR_DIVERGENCE, if they do not follow, or are others; 0 otherwise. same() is asked
 * whether the target has a line, if it has all of them and more. */
int batch_new_lines(const struct batch_run *run, const struct position *have, size_t *first,
    int (*same)(void *context, const struct batch_run *run, size_t number, struct error *err),
    void *context, struct error *err);
/* The position after its last line. */
void batch_position(const struct batch_run *run, struct position *position);

#endif
