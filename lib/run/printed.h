/*
 * What a workflow printed on stdout, kept as its stdin is: in a blob of the run, which
 * run.completed names by `stdout`.
 *
 * A regular file is the workflow's own, and is copied from where it was when the workflow
 * began. What goes to a pipe or socket is relayed, and kept on its way (run/output.h). A
 * terminal or another device, and what stderr goes to as well, is the workflow's own, and
 * not kept.
 */
#ifndef AWF_RUN_PRINTED_H
#define AWF_RUN_PRINTED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/digest.h"
#include "base/error.h"
#include "transcript/transcript.h"

struct printed {
	bool kept;
	bool relayed;          /* printed_add() is told of it */
	int64_t bytes;

	/* For printed.c alone. */
	int spool;             /* -1: there is none */
	char *path;            /* of it */
	struct digest digest;
	off_t start;           /* of a file */
};
#define PRINTED_INIT { .spool = -1 }

/* Looks at stdout; directory: of the run. */
int printed_begin(struct printed *p, const char *directory, struct error *err);
int printed_add(struct printed *p, const void *bytes, size_t len, struct error *err);
/* The workflow has ended: fills sha256, if it is kept. */
int printed_finish(struct printed *p, const struct transcript *t, char sha256[DIGEST_SIZE],
    struct error *err);
void printed_close(struct printed *p);

#endif
