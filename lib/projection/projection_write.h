/*
 * How a projection is written: its table of rows, the lines that they make of an event, and what
 * the tables share. It calls none of the projections, and does not know where events come from.
 */
#ifndef AWF_PROJECTION_PROJECTION_WRITE_H
#define AWF_PROJECTION_PROJECTION_WRITE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"
#include "json/writer.h"
#include "model/model.h"

/* A member of a line: its key, and what it says about the event. An unknown value is left out. */
struct projection_member {
	const char *key;
	enum projected {
		PROJECT_PAYLOAD,       /* payload.FROM as it is, unless it is null */
		PROJECT_PATH,
		PROJECT_ITERATION,
		PROJECT_CHILD_RUN,
		PROJECT_PARENT_RUN,
		PROJECT_CALL_ID,       /* of the event's call, as in its start */
		PROJECT_CALL_KIND,
		PROJECT_CALL_AGENT,
		PROJECT_CALL_MODEL,
		PROJECT_ACTOR,         /* placed_actor() */
		PROJECT_STATUS,        /* placed_status() */
		PROJECT_OUTCOME,       /* placed_outcome() */
		PROJECT_DURATION,      /* placed_duration() */
		PROJECT_ERROR,         /* {code, message}, the message an excerpt */
		PROJECT_SIZE,          /* bytes of payload.FROM, or of the result of a call */
		PROJECT_CONTENTS,      /* excerpt of the same, which may be the contents of a file */
		PROJECT_MESSAGE,       /* excerpt of what a message says */
		PROJECT_ARGUMENTS,     /* excerpt of what a tool is given */
		PROJECT_WORD           /* FROM itself */
	} what;
	const char *from;
};

struct projection_line {
	const struct placed *at;           /* the event that it is made of */
	const struct projection_row *row;
	int64_t number;
	size_t index;                      /* among the lines that the row makes of the event */
};

/* Which events a row is for. If it names several outcomes, or ends of runs, one of them is
 * enough. */
enum {
	WHEN_WHOLE = 1,          /* no piece of a message */
	WHEN_CALL = 2,           /* the event's call is known */
	WHEN_AGENT = 4,          /* and that is an agent's */
	WHEN_NO_AGENT = 8,       /* it is part of no agent's call */
	WHEN_SUCCESS = 32,       /* outcomes, see placed_outcome() */
	WHEN_FAILED = 64,
	WHEN_SKIPPED = 128,
	WHEN_WAITING = 256,
	WHEN_RUN_SUCCEEDED = 512, /* the run ended: successfully; waiting for a person; in any
	                             other way */
	WHEN_RUN_WAITS = 1024,
	WHEN_RUN_FAILED = 2048,
	WHEN_ASKED = 4096,       /* the line is made on request only */
	WHEN_DECIDED = 8192,     /* it is a decision about a waiting call; or about none */
	WHEN_NOT_DECIDED = 16384,
	WHEN_HANDOFF = 32768,    /* another agent continues a known call; or not */
	WHEN_NO_HANDOFF = 65536,
	WHEN_BLOCKED = 16        /* refused by a rule */
};

struct projection_row {
	enum event_type event;
	unsigned when;                     /* 0: always */
	const char *type;                  /* of the line */
	size_t (*count)(const struct placed *at); /* lines to make; NULL: one */
	/* Written before the members, which end with a key of NULL. Either may be NULL. */
	void (*body)(struct writer *w, const struct projection_line *line);
	const struct projection_member *members;
};

struct projection_document {
	size_t size;                       /* of the state, zeroed at the start */
	/* payload: the event's; for a message with the values of its blobs. */
	void (*take)(void *state, const struct placed *at, struct span payload, int64_t *number);
	void (*write)(const void *state, struct buffer *out);
	void (*free)(void *state);
};

struct projection {
	const char *name;
	int64_t first;                     /* number of the first line */
	const struct projection_row *rows; /* the last has no type */
	/* Writes all members but source_seq. */
	void (*line)(struct writer *w, const struct projection_line *line);
	const struct projection_document *document; /* NULL: it has lines */
};

/* Appends the lines that a projection makes of an event, from *number on; asked: including those
 * that are made on request. */
void projection_write(const struct projection *projection, bool asked, const struct placed *at,
    int64_t *number, struct buffer *out);
/* Writes what the row of the line has: its body, then its members. */
void projection_row_write(struct writer *w, const struct projection_line *line);

/* What the tables share. */
bool placed_failed(const struct placed *at);   /* what failed here, and not before */
bool placed_by_agent(const struct placed *at); /* part of an agent's call */
bool placed_whole(const struct placed *at);    /* no piece of a message */
/* The call's agent, else its name, else the name of the workflow. */
const char *placed_actor(const struct placed *at);
const char *call_actor(const struct model_call *call);
/* The status of a run.completed, "" if it has none. */
const char *placed_status(const struct placed *at);
/* "success", "failed", "skipped" or "waiting": the outcome of what has ended. */
const char *placed_outcome(const struct placed *at);
int64_t placed_duration(const struct placed *at); /* ms */
/* The first `digits` hex digits of the SHA-256 of "label:id", and a NUL. */
void derive_hex(const char *label, const char *id, size_t digits, char *out);
/* The same for an id in a line; of "" if it is not one. */
void derive_hex_of(const char *label, struct span id, size_t digits, char *out);

/* Appends otlp lines for what the last attempt of a run has left open, if it has no end: the
 * attempt itself, and its calls without an end, as failures. For a sender of spans inside these,
 * when another attempt begins. */
void projection_otlp_died(const struct model *run, struct buffer *out);

/* Each in a file of its own. */
extern const struct projection projection_interagent, projection_agent_event,
    projection_daemon_event, projection_langgraph, projection_runtime, projection_otlp,
    projection_agentloom;

#endif
