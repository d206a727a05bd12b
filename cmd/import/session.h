/*
 * A session of another program as a run: from what a format program says (awf-import(1), "Formats"),
 * the lines of a transcript are made.
 *
 * What the code relies on, and keeps:
 *   - The lines are a function of what was said: ids are derived from the session's and those in it,
 *     times are those of the session, and never go back. So a session that has grown gives the same
 *     lines, and more after them.
 *   - What was recorded as the end of a session that went on is an end here, too: what came later is a
 *     further attempt.
 *   - A log that its program rewrites (the session says so) may have changed, or lost, what was recorded:
 *     that stays. Only what is not recorded is added: if it does not follow from the last line, as a
 *     further attempt.
 *   - Each prompt is a call of the step `prompt`, which ends with the next prompt or the session.
 *   - What a tool gave is told by the agent itself (fidelity agent_emitted).
 *   - With a mask, each event passes it before its line is made. Digests in payloads are keyed with a key
 *     of the storage and the run: it stays, so that they are the same with the next import.
 */
#ifndef AWF_IMPORT_SESSION_H
#define AWF_IMPORT_SESSION_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buffer.h"
#include "base/digest.h"
#include "base/error.h"
#include "base/id.h"
#include "base/map.h"
#include "json/scan.h"
#include "transcript/event.h"
#include "transcript/line.h"
#include "transcript/redaction.h"

/* The seqs of run.completed lines, in order. */
struct session_ends { int64_t *list; size_t count; };

/* What is recorded of a session. All but the ends is known only if its log is rewritten, with what was added
 * since. */
struct session_record {
	struct session_ends ends;
	bool rewritten;
	int64_t seq, wall;            /* of the last line; seq 0: nothing is recorded */
	char digest[DIGEST_SIZE], last[ID_SIZE]; /* of the last line, and its event id */
	struct map ids;               /* of events → index in iterations */
	int64_t *iterations;
	size_t attempts;              /* how often it has begun */
	bool ended;
	char open[ID_SIZE];           /* event id of the prompt's call that has not ended; "": none */
	int64_t iteration, prompts;   /* of that; of all prompts */
	struct buffer text;           /* of the last answer to it */
};

struct session_lines;

struct session_callbacks {
	/* Called with each line, with its LF. -1 with *err. */
	int (*take)(void *context, struct span line, struct error *err);
	/* Called for a sub-agent that has a log of its own, with the path of that. over: it has ended. */
	int (*child)(void *context, const char *log, bool over, struct error *err);
	/* Called once, when the session is known: has session_recorded() called with each recorded line. */
	int (*recorded)(void *context, struct session_lines *s, struct error *err);
};

/* What is the caller's. */
struct session_spec {
	const char *format;           /* claude */
	const char *root;             /* of the storage: for blobs */
	const char *parent;           /* the run whose agent started this one as a sub-agent; NULL: none */
	const struct session_callbacks *callbacks;
	void *context;
	struct redaction *redaction;  /* the mask; NULL: none */
	const unsigned char *mask_key; /* DIGEST_BYTES, the storage's */
};

struct session_lines {
	const struct session_spec *spec;

	char run_id[ID_SIZE];         /* "": nothing was said yet */
	char of[ID_SIZE];             /* the run that has started it, if that is in the same log; "" */
	bool over;                    /* the log has said its end; what comes is a further attempt */
	unsigned char key[DIGEST_BYTES]; /* of the run: for digests in masked events */
	char *blobs;
	struct line line;
	int64_t seq, wall;            /* of the last line */
	char prev[DIGEST_SIZE];
	char first[ID_SIZE], last[ID_SIZE]; /* event ids: of the attempt's run.started, of the last line */
	int64_t began;                /* µs since 1970 */

	/* The prompt that is being worked on. */
	char prompt[ID_SIZE];         /* event id of its step.started; "": none */
	int64_t prompts, turns;       /* prompts so far, answers to this one */
	int64_t prompt_began, children; /* children: of this prompt */
	char child_run_id[ID_SIZE];   /* of the line that is being made; "": none */
	struct buffer text;           /* of the last answer: the call's result */
	struct map steps;             /* name of a step → how many calls it had */
	struct map seen;              /* what ids were derived from → how often */
	struct map calls;             /* of tools: id → index in open, of the last with it */
	struct open_call { char event_id[ID_SIZE]; char *name; int64_t began; bool over; } *open;
	size_t open_count;
	struct { int64_t tokens[2], answers, calls; } sums; /* of the attempt; calls: that have ended */
	struct session_record record;
	size_t attempts;
	struct buffer start;          /* payload of run.started up to its attempt */
};

void session_begin(struct session_lines *s, const struct session_spec *spec);
/* Takes a line of a format program. ERROR_INVALID_INPUT: it is none. */
int session_take(struct session_lines *s, struct span said, struct error *err);
/* Takes a line that is recorded, without its LF. */
void session_recorded(struct session_lines *s, const char *line, size_t len);
/* Forgets the session, so that another can be taken; what is the caller's stays. */
void session_forget(struct session_lines *s);
/* The session is over: ends the call and the run. */
int session_end(struct session_lines *s, struct error *err);
/* The run that a session is; parent: as in struct session_lines. Returns out. */
char *session_run_id(const char *format, const char *parent, const char *session, char out[ID_SIZE]);
void session_free(struct session_lines *s);

#endif
