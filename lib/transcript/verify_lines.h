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
	int64_t first; /* number of the first such line */
	char name[64];
};

struct verify_lines {
	struct verify_report *report;
	void (*take)(void *context, const char *line, size_t len, int64_t at); /* as in
	                                                                          verify_spec */
	void *context;
	const char *root;            /* root of the storage; NULL: nothing in it is checked */
	struct span line;            /* the line that is being checked; .at NULL: none */
	int64_t line_start;          /* its first byte in the file */
	struct form form;            /* form of the line */
	struct form_fault wrong;     /* the error in the form of the line */

	char run_id[ID_SIZE];        /* run id of the first line; "" before it */
	char parent_run_id[ID_SIZE]; /* parent run id of the first line; "" if it has none */
	char *blob_directory;
	char timestamp[CLOCK_TEXT_SIZE];
	char last_id[ID_SIZE];       /* id of the previous event */
	char started[ID_SIZE];       /* id of the run.started of the attempt */
	bool attempt_ended;
	int64_t attempts_died;       /* attempts without an end, followed by another attempt */

	/* Of the line that is being checked: added if the line has no fault. */
	uint64_t id, pair;
	struct fingerprints *pairs;  /* the set to which the pair belongs */

	struct fingerprints ids;     /* ids of all events */
	struct fingerprints calls;   /* calls of steps and tools; open until completed */
	struct fingerprints waits;   /* ends of calls that wait; open until there is a decision */
	struct fingerprints blobs;   /* blobs whose digest was found to be right */
	struct linkage linkage;      /* claims about other runs */
	struct verify_unknown types, keys;
	struct buffer key;           /* the text for a fingerprint */
	struct error unreadable;     /* the error of a blob that could not be read */
};

/* root: of the storage that contains the transcript; NULL: only the lines are checked, but neither
 * blobs nor other runs. */
void verify_lines_begin(struct verify_lines *v, const char *root, struct verify_report *report);
/* Checks complete lines, which begin at byte `at` of the file, until one is faulty. -1: a blob
 * could not be read. */
int verify_lines_check(struct verify_lines *v, const char *lines, size_t len, int64_t at,
    struct error *err);
/* Checks the next line. A faulty line leaves the state unchanged; *err says what is wrong. */
int verify_lines_next(struct verify_lines *v, const char *line, size_t len, struct error *err);
/* Whether the call or tool call that a line starts has no end. attempt: that of the line. */
bool verify_lines_open(struct verify_lines *v, const struct form *form, int64_t attempt);
void verify_lines_free(struct verify_lines *v);

/* Reports a fault at a byte of the current line (NULL: its start). Returns false. */
bool verify_fault(struct verify_lines *v, enum verify_rule rule, const char *at,
    const char *format, ...) __attribute__((format(printf, 4, 5)));

#endif
