/*
 * The relations between the lines of a transcript: order, time, ids, causes, pairs, blobs. A
 * part of verification (verify.h), which gets one line after the other, stops at the first
 * fault, and reports it.
 *
 * Of ids and calls only fingerprints are kept, eight bytes each.
 */
#ifndef AWF_TRANSCRIPT_VERIFY_LINES_H
#define AWF_TRANSCRIPT_VERIFY_LINES_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buffer.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/id.h"
#include "transcript/fingerprints.h"
#include "transcript/form.h"
#include "transcript/linkage.h"
#include "transcript/verify.h"

/* Lines with something that this version does not know. */
struct verify_unknown {
	int64_t lines;
	int64_t first; /* line */
	char name[64];
};

struct verify_lines {
	struct verify_report *report;
	void (*take)(void *context, const char *line, size_t len, int64_t at); /* verify_spec */
	void *context;
	const char *root;            /* of the storage; NULL: nothing in it is checked */
	struct span line;            /* being checked; .at NULL: none */
	int64_t line_start;          /* its first byte in the file */
	struct form form;            /* of it */
	struct form_fault wrong;     /* with its form */

	char run_id[ID_SIZE];        /* of line 1, "" before it */
	char parent_run_id[ID_SIZE]; /* of line 1, "" if it has none */
	char *blob_directory;
	char timestamp[CLOCK_TEXT_SIZE];
	char last_id[ID_SIZE];       /* of the line before */
	char started[ID_SIZE];       /* of the attempt's run.started */
	bool attempt_ended;
	int64_t attempts_died;       /* begun, not ended, and another began */

	/* Of the line being checked, to be noted if it has no fault. */
	uint64_t id, pair;
	struct fingerprints *pairs;  /* that the pair is of */

	struct fingerprints ids;     /* of events */
	struct fingerprints calls;   /* of steps and tools; open until completed */
	struct fingerprints waits;   /* ends that wait; open until decided about */
	struct fingerprints blobs;   /* whose digest was right */
	struct linkage linkage;      /* statements about other runs */
	struct verify_unknown types, keys;
	struct buffer key;           /* the text of which a fingerprint is made */
	struct error unreadable;     /* a blob that could not be read */
};

/* root: of the storage that contains the transcript; NULL: only the lines are checked, but neither
 * blobs nor other runs. */
void verify_lines_begin(struct verify_lines *v, const char *root, struct verify_report *report);
/* Checks whole lines that begin at byte `at` of the file, until one is faulty. -1:
 * a blob could not be read. */
int verify_lines_check(struct verify_lines *v, const char *lines, size_t len, int64_t at,
    struct error *err);
/* Checks the next line. A faulty line leaves the state unchanged; *err says what is wrong. */
int verify_lines_next(struct verify_lines *v, const char *line, size_t len, struct error *err);
/* Whether a call or tool call that this line starts has not ended. attempt is that
 * of the line. */
bool verify_lines_open(struct verify_lines *v, const struct form *form, int64_t attempt);
void verify_lines_free(struct verify_lines *v);

/* Reports a fault at a byte of the current line (NULL: its start). Returns false. */
bool verify_fault(struct verify_lines *v, enum verify_rule rule, const char *at,
    const char *format, ...) __attribute__((format(printf, 4, 5)));

#endif
