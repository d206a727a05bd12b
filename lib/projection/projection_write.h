/*
 * How a projection is written: its table of rows, the lines that they make from an event, and
 * functions that the tables share. It does not know the projections, nor where events come from.
 */
#ifndef AWF_PROJECTION_PROJECTION_WRITE_H
#define AWF_PROJECTION_PROJECTION_WRITE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"
#include "json/writer.h"
#include "model/model.h"
#include "projection/projection_past.h"
#include "projection/projection_placed.h"

/* A member of a line: its key, and the value that it has. A member whose value is unknown is left
 * out. */
struct projection_member {
	const char *key;
	enum projected {
		PROJECT_PAYLOAD,       /* payload.FROM unchanged, unless it is null */
		PROJECT_PATH,
		PROJECT_ITERATION,
		PROJECT_CHILD_RUN,
		PROJECT_PARENT_RUN,
		PROJECT_CALL_ID,       /* of the event's call, as in the call's start */
		PROJECT_CALL_KIND,
		PROJECT_CALL_AGENT,
		PROJECT_CALL_PROVIDER,
		PROJECT_CALL_MODEL,
		PROJECT_ACTOR,         /* placed_actor() */
		PROJECT_STATUS,        /* placed_status() */
		PROJECT_OUTCOME,       /* placed_outcome() */
		PROJECT_DURATION,      /* placed_duration() */
		PROJECT_ERROR,         /* {code, message}, the message an excerpt */
		PROJECT_SIZE,          /* bytes of payload.FROM, or of the result of a call */
		PROJECT_CONTENTS,      /* excerpt of the same, if it may be the contents of a file */
		PROJECT_MESSAGE,       /* excerpt of the text of a message */
		PROJECT_ARGUMENTS,     /* excerpt of the arguments of a tool call */
		PROJECT_PRINTED,       /* FROM of what the run has printed: its digest or bytes */
		PROJECT_WORD           /* the text FROM itself */
	} what;
	const char *from;
};

struct projection_line {
	const struct placed *at;           /* the event from which it is made */
	const struct projection_row *row;
	int64_t number;
	size_t index;                      /* among the lines that the row makes from the event */
	const struct projection_news *news;
};

/* The condition for a row. If it names several outcomes, or several ends of runs, one of them is
 * enough. */
enum {
	WHEN_WHOLE = 1,          /* not a piece of a message */
	WHEN_CALL = 2,           /* the event's call is known */
	WHEN_AGENT = 4,          /* the call is an agent's */
	WHEN_NO_AGENT = 8,       /* the event belongs to no agent's call */
	WHEN_SUCCESS = PLACED_SUCCESS,
	WHEN_FAILED = PLACED_FAILED,
	WHEN_SKIPPED = PLACED_SKIPPED,
	WHEN_WAITING = PLACED_WAITING,
	WHEN_RUN_SUCCEEDED = 512, /* the run ended: with success; waiting for a person; in any other
	                             way */
	WHEN_RUN_WAITS = 1024,
	WHEN_RUN_FAILED = 2048,
	WHEN_ASKED = 4096,       /* only on request */
	WHEN_DECIDED = 8192,     /* the event is a decision about a waiting call; it is not */
	WHEN_NOT_DECIDED = 16384,
	WHEN_HANDOFF = 32768,    /* another agent continues a known call; not so */
	WHEN_NO_HANDOFF = 65536,
	WHEN_AGENT_BEGINS = 131072, /* see struct projection_news */
	WHEN_AGENT_BEGUN = 262144,
	WHEN_TURN_BEGINS = 524288,
	WHEN_BLOCKED = 16        /* blocked by a rule */
};

struct projection_row {
	enum event_type event;
	unsigned when;                     /* 0: always */
	const char *type;                  /* of the line */
	size_t (*count)(const struct placed *at); /* lines to make; NULL: one */
	/* Writes members before those in the list, which ends with a key of NULL. Both may be
	 * NULL. */
	void (*body)(struct writer *w, const struct projection_line *line);
	const struct projection_member *members;
};

struct projection_document {
	size_t size;                       /* of the state, which is zeroed at the start */
	/* payload: that of the event; for a message, with the values of its blobs. */
	void (*take)(void *state, const struct placed *at, struct span payload, int64_t *number);
	void (*write)(const void *state, struct buffer *out);
	void (*free)(void *state);
};

struct projection {
	const char *name;
	int64_t first;                     /* number of the first line */
	const struct projection_row *rows; /* the last one has type NULL */
	/* Writes all members but source_seq. */
	void (*line)(struct writer *w, const struct projection_line *line);
	const struct projection_document *document; /* NULL: it consists of lines */
};

/* Appends the lines of a projection for an event, numbered from *number on; asked: also those that
 * are made only on request. past: of the event's run; NULL if the projection needs none. */
void projection_write(const struct projection *projection, bool asked, const struct placed *at,
    struct projection_past *past, int64_t *number, struct buffer *out);
/* Writes the members of the line's row: its body, then its list of members. */
void projection_row_write(struct writer *w, const struct projection_line *line);

/* The first `digits` hex digits of the SHA-256 of "label:id", and a NUL. */
void derive_hex(const char *label, const char *id, size_t digits, char *out);
/* The same for an id in a line; of "" if it is not one. */
void derive_hex_of(const char *label, struct span id, size_t digits, char *out);

/* Appends otlp lines for a last attempt without an end: the attempt itself and its open calls, as
 * failures. For a sender of spans, when it finds that another attempt begins. */
void projection_otlp_died(const struct model *run, struct buffer *out);

/* The projections, each in a file of its own. */
extern const struct projection projection_interagent, projection_agent_event,
    projection_daemon_event, projection_langgraph, projection_runtime, projection_otlp,
    projection_agentloom;

#endif
