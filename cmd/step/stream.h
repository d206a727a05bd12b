/*
 * The stream of a step: reads items, makes one call for each (or one for all), and writes lines in
 * the order of the input. It checks the input (was there any? did a producer die?) and notices when
 * nobody reads the output any more.
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
#include "view/live.h"

/* Items that have been read but not processed: a further attempt reads ahead until it knows which
 * recorded call belongs to the first of them. */
struct ahead {
	struct ahead_item {
		struct item item;
		int64_t index;
		int64_t compared;      /* for step.place.compared */
		char input_sha256[DIGEST_SIZE]; /* of its input; "": it has no input to be compared */
		bool expected;         /* a recorded call is reserved for it, or it needs none */
	} *items;
	size_t first, count;   /* the items that wait */
	size_t capacity;
	bool ended;            /* the end of the input was read, */
	bool told;             /* the wait of the first item was reported */
	bool shared_out;       /* it is decided for each item with which call it is compared */
	int end;               /* the result of the reader at the end: 0, or -1 with the error
	                          `wrong` */
	struct error wrong;
};

struct stream {
	/* Set by the caller. */
	struct step *step;
	struct state_reader *reader;
	struct roster *roster;
	int out;               /* where lines are written; -1: print nothing */
	size_t jobs;           /* calls at the same time */
	bool joined;           /* -s */
	bool by_name;          /* -s --by-name */
	bool complete;         /* -s --complete: all lines of the makers must have arrived, */
	char *const *makers;   /* and all lines of the steps with these paths; NULL */
	bool allow_empty;
	void (*report)(const char *text); /* prints one line on stderr */
	struct folded_messages failures;  /* failures that were printed with it, counted by kind */
	bool owner_counts;     /* count them in the run's directory instead (model/told_failures.h) */

	/* Set by stream_run(). */
	int status;            /* the exit status, determined by the calls */
	bool closed;           /* nobody reads the output any more, and the step has ended because
	                          of that */
	bool gone;             /* nobody reads the output any more */
	bool printed;          /* something was printed */
	size_t ended;          /* calls that --fail-fast has ended */
	/* For stream_run() only. */
	struct producers producers;
	struct ahead ahead;
	int64_t index;         /* of the next item */
	bool *failed;          /* --fail-fast with -j: set when a call has failed; NULL */
	struct live_writer live; /* tells how many items there are, */
	bool total_told;       /* as far as that is known */
};

/* 0: the input has been processed, see status and closed; -1: a system error. */
int stream_run(struct stream *s, struct error *err);
/* Appends what would be requested or run for each item that would be processed (with --rescue only
 * errors; --when is not evaluated). Only the members step and reader and those for joining are
 * used. */
int stream_describe(struct stream *s, struct buffer *out, struct error *err);
void stream_free(struct stream *s);

/* stream_join.c, for stream.c: one call for all items (-s). */
int stream_run_joined(struct stream *s, struct error *err);
int stream_describe_joined(struct stream *s, struct buffer *out, struct error *err);

/* stream_total.c, for stream.c: tells the live view how many items there are, once this is known. */
void stream_tell_total(struct stream *s);

/* For stream_join.c: processing an item, its lines, and the end of the input. */

/* Whether it is an error here that there is no input; sets that error. */
bool stream_lacks_input(const struct stream *s);
int stream_no_input(const struct stream *s, struct error *err);
/* Whether the input, which could be read, ended with an error. */
bool stream_wrong_end(const struct stream *s, struct error *why);
/* Records an error of the input as a call that was not made; item NULL: null. -1: a system
 * error. */
int stream_fail_input(struct stream *s, const struct item *item, const struct error *why,
    struct error *err);
/* Makes the call of an item, if the gate accepts it, and writes its lines. */
int stream_call_item(struct stream *s, const struct item *item, int64_t index,
    struct step_result *result, struct error *err);
/* Handles the result of a call: prints its failure, counts it, and writes its lines. */
int stream_deliver(struct stream *s, const struct step_result *result, struct error *err);
/* Whether no further call may be made. */
bool stream_must_stop(struct stream *s, const struct step_result *result);
/* Describes what would be done for an item (--dry-run). */
int stream_describe_item(struct stream *s, const struct item *item, struct buffer *out,
    struct error *err);

#endif
