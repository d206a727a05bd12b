/*
 * The stream of a step: items in, one call each (or one for all), lines out in the
 * order of the input. It judges the input (was there any? did a producer die?) and
 * notices that nobody reads the output any more.
 */
#ifndef AWF_STEP_STREAM_H
#define AWF_STEP_STREAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/folded_messages.h"
#include "step/producers.h"
#include "step_call/step.h"
#include "storage/roster.h"
#include "storage/state.h"

/* Items that have been read and are not called for yet: a further attempt looks ahead, as
 * far as it takes to know which recorded call the first of them is. */
struct ahead {
	struct ahead_item {
		struct item item;
		int64_t index;
		int64_t compared;      /* of step */
		char input_sha256[DIGEST_SIZE]; /* of its call; "": there is none to be compared */
		bool expected;         /* a record is kept for it, or it needs none */
	} *items;
	size_t first, count;   /* of those that wait */
	size_t capacity;
	bool ended;            /* nothing more is to be read, */
	bool told;             /* people know that the first waits */
	bool shared_out;       /* and each item has what it is compared with */
	int end;               /* what the reader came to then: 0, or -1 because of */
	struct error wrong;
};

struct stream {
	/* Set by the caller. */
	struct step *step;
	struct state_reader *reader;
	struct roster *roster;
	int out;               /* descriptor of the lines; -1: print nothing */
	size_t jobs;           /* calls at a time */
	bool joined;           /* -s */
	bool by_name;          /* -s --by-name */
	bool complete;         /* -s --complete: all that its makers made must have come, */
	char *const *makers;   /* and all of the steps of these paths; NULL */
	bool allow_empty;
	void (*report)(const char *text); /* one line for stderr */
	struct folded_messages failures;  /* that are reported by it, and counted here */
	bool owner_counts;     /* they are counted for the run (model/told_failures.h) instead */

	/* Filled. */
	int status;            /* exit status because of the calls */
	bool closed;           /* nobody reads the output, and it ended for that */
	bool gone;             /* nobody reads it */
	bool printed;          /* anything */
	size_t ended;          /* calls that were ended as another had failed (--fail-fast) */
	/* For stream_run() alone. */
	struct producers producers;
	struct ahead ahead;
	int64_t index;         /* of the next item */
	bool *failed;          /* --fail-fast, of several at a time: set when one has failed; NULL */
};

/* 0: the input is done, see status and closed; -1: the machine failed. */
int stream_run(struct stream *s, struct error *err);
/* Appends what would be asked or run for the items that have their turn (errors only
 * with --rescue; --when is not asked); of s step, reader and the forms are read. */
int stream_describe(struct stream *s, struct buffer *out, struct error *err);
void stream_free(struct stream *s);

/* stream_join.c: one call for all items (-s), for stream.c. */
int stream_run_joined(struct stream *s, struct error *err);
int stream_describe_joined(struct stream *s, struct buffer *out, struct error *err);

/* What becomes of an item, of its lines, and of the input's end, for stream_join.c. */

/* Whether no input at all is a fault here, and that fault. */
bool stream_lacks_input(const struct stream *s);
int stream_no_input(const struct stream *s, struct error *err);
/* What is wrong with the end of an input that could be read, if anything. */
bool stream_wrong_end(const struct stream *s, struct error *why);
/* Records a fault of the input itself as a call that did not run; item NULL: null. -1: the
 * machine failed. */
int stream_fail_input(struct stream *s, const struct item *item, const struct error *why,
    struct error *err);
/* The call of an item, if the gate takes it, and its lines. */
int stream_call_item(struct stream *s, const struct item *item, int64_t index,
    struct step_result *result, struct error *err);
/* The output: reports, counts and writes a result. */
int stream_deliver(struct stream *s, const struct step_result *result, struct error *err);
/* Whether no further call may begin. */
bool stream_must_stop(struct stream *s, const struct step_result *result);
/* What would be done for an item (--dry-run). */
int stream_describe_item(struct stream *s, const struct item *item, struct buffer *out,
    struct error *err);

#endif
