/*
 * The outcome of an attempt, computed from its events alone: what failed and was
 * not made good (awf-run(1), "the end"), what waits, how much was used.
 */
#ifndef AWF_RECORD_OUTCOME_H
#define AWF_RECORD_OUTCOME_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buffer.h"
#include "base/error.h"

struct outcome {
	int64_t calls, failed, waiting;    /* failed: after the rules of section 8 */
	char first_failed[256];            /* its call, "" if none */
	struct error error;                /* of the first failed call */
	char terminal[16];                 /* of --terminal: "success", "failure", "" */
	struct buffer usage;               /* JSON object: token counts, summed */
};

/* Reads the events of the last attempt in the transcript at path. */
int outcome_read(struct outcome *o, const char *path, struct error *err);
void outcome_free(struct outcome *o);

#endif
