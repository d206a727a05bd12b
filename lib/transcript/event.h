/*
 * Events: the lines of a transcript, awf-transcript(5). A table lists the eleven types that AWF
 * itself writes; readers must accept other types, too.
 *
 * A foreign event was reported by another program (lib/ingest). It has a type of its own, or that
 * of a message or tool event, and its payload begins with its origin (`source`). Code that reads a
 * run treats it like an event of an unknown type, so that it has no influence except where code
 * explicitly asks for foreign events.
 */
#ifndef AWF_TRANSCRIPT_EVENT_H
#define AWF_TRANSCRIPT_EVENT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buffer.h"
#include "base/clock.h"
#include "base/digest.h"
#include "base/id.h"
#include "json/scan.h"
#include "json/writer.h"

enum event_type {
	EVENT_RUN_STARTED,
	EVENT_RUN_COMPLETED,
	EVENT_STEP_STARTED,
	EVENT_STEP_COMPLETED,
	EVENT_CALL_WORKFLOW_STARTED,
	EVENT_CALL_WORKFLOW_COMPLETED,
	EVENT_MESSAGE_USER,
	EVENT_MESSAGE_ASSISTANT,
	EVENT_TOOL_CALL,
	EVENT_TOOL_RESULT,
	EVENT_STEP_WAITING,
	EVENT_TYPES /* also: a type that this version does not know */
};

const char *event_type_name(enum event_type type);
enum event_type event_type_from_name(const char *name, size_t len);
/* Whether lines of this type are synced when AWF_SYNC=step. (Damage at or before such a line
 * means lost data, not just an incomplete last line.) */
bool event_type_synced(enum event_type type);
/* Whether a call begins, or ends, with an event of this type. */
bool event_type_starts_call(enum event_type type);
bool event_type_ends_call(enum event_type type);

struct seal_key;

/* An event to be appended. The caller owns what the pointers point to. */
struct event {
	enum event_type type;
	const char *type_name;       /* type of a foreign event (EVENT_TYPES) */
	const char *event_id;        /* NULL: transcript_append() makes one */
	const char *parent_run_id;   /* NULL: transcript_append() copies it from the first line, if
	                                that has one */
	const char *child_run_id;    /* NULL: absent */
	const char *parent_event_id; /* NULL: written as null */
	struct span links;           /* the inside of a JSON array; empty: absent */
	const char *path;            /* "" for run events */
	int64_t iteration;
	struct span payload;         /* JSON object; .at NULL: null */
	/* Bytes for payload values that are not UTF-8: the value in place is null. */
	const struct event_raw *raws;
	size_t raw_count;
	/* Signs the line; seal_write() wrote the payload's last member. NULL: no seal. */
	const struct seal_key *seal;
	/* Set by transcript_append(). */
	int64_t seq;
	char id[ID_SIZE];
	char timestamp[CLOCK_TEXT_SIZE];
};

/* The name of the event's type. */
const char *event_named(const struct event *e);

struct event_raw {
	const char *at; /* JSON pointer to the value in the line, such as "/payload/result" */
	const void *bytes;
	size_t len;
};

/* The parts of a line that readers need, found without parsing the payload. Spans point into
 * the line; .at is NULL for absent keys. */
struct event_view {
	int64_t seq;
	enum event_type type;      /* EVENT_TYPES if unknown, and of foreign events */
	enum event_type told;      /* the type that the line names, even in a foreign event */
	struct span timestamp, event_id, run_id, parent_run_id, child_run_id,
	    parent_event_id, links, type_name, path, payload, refs, prev;
	int64_t iteration;
};
/* line without its LF. -1 if it is no JSON object with a seq and a type. */
int event_view(const char *line, size_t len, struct event_view *view);
/* The same for a line from any source: false if it is incomplete (event_line_whole()), not
 * JSON, nested too deep, or not an event. */
bool event_view_whole(const char *line, size_t len, struct event_view *view);
/* The beginning of a line, up to its path. Spans are of the text between the quotes. */
struct event_head {
	int64_t seq;
	enum event_type type; /* EVENT_TYPES if unknown */
	struct span type_name;
	/* If the beginning of the line has exactly the form that AWF writes (each key in its
	 * place, no escapes): the timestamp, and the length up to the type. Otherwise SPAN_NONE
	 * and 0. */
	struct span timestamp;
	size_t len;
};
/* Finds only seq and type: directly if the line begins exactly as AWF writes it, otherwise by
 * reading all members. -1, and a seq of 0, if the line does not begin like one of a transcript. */
int event_peek(const char *line, size_t len, struct event_head *head);
/* Whether an event of this type, with this payload, is a foreign one. */
bool event_is_foreign(enum event_type told, struct span payload);
/* Whether the event is not an answer, but reports that a try failed and another one follows. */
bool event_tells_retry(const struct event_view *view);
/* Whether the event reports that the call waits until its provider may be asked, or has waited. */
bool event_tells_wait(const struct event_view *view);
/* Copies an id out of a line; "", and false, if the value is not an id. */
bool event_copy_id(struct span value, char id[ID_SIZE]);
/* Adds a cause to the links of an event that is to be appended. run_id NULL: it is in the same
 * file. */
void event_add_link(struct buffer *links, const char *run_id, const char *event_id);
/* Writes the member `links` of the line, if there are any. */
void event_write_links(struct writer *w, struct span links);

/* seq of a line that begins {"seq":N, (its first bytes are enough); false if it
 * does not. */
bool event_seq(const char *line, size_t len, int64_t *seq);
/* The time of a line that begins {"seq":N,"timestamp":"TIME", (its first EVENT_TIME_WITHIN bytes
 * are enough), without its quotes; .at NULL if it does not. */
struct span event_time(const char *line, size_t len);
#define EVENT_TIME_WITHIN 80
/* Whole in the sense of awf-transcript(5): begins {"seq":N, ends "prev":"64 hex"}
 * and holds no NUL. line without its LF; *seq is set (may be NULL). */
bool event_line_whole(const char *line, size_t len, int64_t *seq);
/* The same for a line that is known to be JSON, and therefore contains no NUL. */
bool event_line_chained(const char *line, size_t len);
/* Whether the event is a decision: one further end of a call that waits. */
bool event_decides(const struct event_view *event);
/* How many names the path of an event has. */
unsigned event_path_depth(struct span path);

#endif
