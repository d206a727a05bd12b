/*
 * How a projection is written: its table of rows, the lines that they make of an event, and
 * what the tables share. It calls none of them, and knows nothing of where events come from.
 */
#ifndef AWF_INSPECT_PROJECTION_WRITE_H
#define AWF_INSPECT_PROJECTION_WRITE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"
#include "json/writer.h"
#include "run/model.h"

struct projection_line {
	const struct placed *at;           /* the event that it is made of */
	const struct projection_row *row;
	int64_t number;
	size_t index;                      /* among those that the row makes of the event */
};

struct projection_row {
	enum event_type event;
	bool tools;                        /* made on request only */
	const char *type;                  /* of the line */
	size_t (*count)(const struct placed *at); /* lines to make; NULL: one */
	void (*body)(struct writer *w, const struct projection_line *line);
};

struct projection_document {
	size_t size;                       /* of the state, zeroed at the start */
	/* payload: the event's; of a message with its blobs put back. */
	void (*take)(void *state, const struct placed *at, struct span payload, int64_t *number);
	void (*write)(const void *state, struct buffer *out);
	void (*free)(void *state);
};

struct projection {
	const char *name, *schema;
	int64_t first;                     /* number of the first line */
	const struct projection_row *rows; /* the last has no type */
	/* Writes all members but source_seq. */
	void (*line)(struct writer *w, const struct projection_line *line);
	const struct projection_document *document; /* NULL: it has lines */
};

/* Appends the lines that a projection makes of an event, from *number on; tools: with those
 * that are made on request. */
void projection_write(const struct projection *projection, bool tools, const struct placed *at,
    int64_t *number, struct buffer *out);

/* What the tables share. */
size_t placed_failed(const struct placed *at);   /* what failed here, and not before */
size_t placed_by_agent(const struct placed *at); /* part of an agent's call */
size_t placed_whole(const struct placed *at);    /* no piece of a message */
size_t placed_blocked(const struct placed *at);  /* refused by a rule */
/* Agent of the call, else its name, else that of the workflow. */
const char *placed_actor(const struct placed *at);
const char *call_actor(const struct model_call *call);
/* The status of a run.completed, "" if it has none. */
const char *placed_status(const struct placed *at);
/* How it ended: well; waiting for a person; in any other way. */
size_t run_succeeded(const struct placed *at);
size_t run_waits(const struct placed *at);
size_t run_failed(const struct placed *at);
/* "success", "failed", "skipped" or "waiting", of what ended. */
const char *placed_outcome(const struct placed *at);
/* Writes payload.MEMBER under another key; nothing if there is none. */
void placed_copy(struct writer *w, const char *key, const struct placed *at,
    const char *member);
/* Member error: {code, message}, the message an excerpt; nothing if there is none. */
void placed_error(struct writer *w, const struct placed *at);
int64_t placed_duration(const struct placed *at); /* ms */
/* The first digits hex digits of the SHA-256 of "label:id", and a NUL. */
void derive_hex(const char *label, const char *id, size_t digits, char *out);

/* Each in a file of its own. */
extern const struct projection projection_interagent, projection_agent_event,
    projection_daemon_event, projection_runtime, projection_otlp, projection_agentloom;

#endif
