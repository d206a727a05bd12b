/*
 * Checks the form of one line of a transcript, awf-transcript(5): its keys, their order and their
 * values, against the event table, in one pass over the bytes. The result is the same as with the
 * published schema, except for rules that a schema cannot express: the order of keys, duplicate
 * keys, and the notation of ids and integers (no escapes, no fraction, no exponent).
 *
 * Unknown types and keys are not faults; their values only have to be valid JSON.
 */
#ifndef AWF_TRANSCRIPT_FORM_H
#define AWF_TRANSCRIPT_FORM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "json/scan.h"
#include "transcript/event.h"

enum form_rule {
	FORM_JSON,     /* not JSON */
	FORM_SCHEMA,   /* the published schema refuses it */
	FORM_NOTATION  /* the schema accepts it, but awf-transcript(5) does not */
};

struct form_fault {
	enum form_rule rule;
	size_t at;          /* offset in the line */
	struct error what;  /* an ERROR_SCHEMA */
};

/* The parts of a checked line. Spans are of values, strings with their quotes; .at is NULL if the
 * part is absent. */
struct form {
	struct span other;  /* for values that are not needed */
	struct span payload;
	int64_t seq;
	enum event_type type;               /* EVENT_TYPES for foreign events, too */
	bool foreign;
	struct span timestamp, event_id, run_id, parent_run_id, child_run_id,
	    parent_event_id, links, type_name, path, refs;
	struct span attempt, call, call_id; /* members of the payload */
	struct span files, output;          /* `files` and `stdout` of the payload */
	struct span asks, decides;          /* members of payload.approval */
	struct span task;                   /* set for a call about which a decision is possible
	                                       before its end */
	struct span public_key, signature;  /* members of payload.seal */
	struct span unknown_key;            /* the first unknown key, with its quotes */
};

/* Checks a line, without its LF. 0, or -1 with *fault. */
int form_check(const char *line, size_t len, struct form *form, struct form_fault *fault);

/* Checks the output of a provider in the same way, so that it can be recorded: an answer (its
 * `blocks`, `model`, `stop_reason`, `usage`), and the payloads of tool.call and tool.result. Other
 * keys are ignored. */
int form_check_answer(const char *line, size_t len, struct form_fault *fault);
int form_check_tool(const char *payload, size_t len, struct form_fault *fault);
/* Checks the payload of an event as form_check() does within a line. For a type that is not one of
 * AWF's ten, it must only be an object. */
int form_check_payload(enum event_type type, const char *payload, size_t len,
    struct form_fault *fault);

/* Links: the event id of an element of `links`, and its run id (.at NULL if it is
 * an event of the same file). */
void form_link(struct span link, struct span *event_id, struct span *run_id);

#endif
