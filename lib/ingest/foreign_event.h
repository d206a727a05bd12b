/*
 * Foreign events: converts an event reported by another program, a JSON object, into an event of a
 * transcript, awf-transcript(5), depending on its type:
 *
 *   - message.user, message.assistant, tool.call, tool.result: AWF's own, as that page has them;
 *   - tool.start, tool.end, llm.turn.start, llm.turn.end of agent-event, and tool_call,
 *     tool_return of interagent (awf-projections(7)) become these;
 *   - all others keep their type, but for "foreign." before what begins with "run." or "step.": no
 *     attempt and no call begins, or ends, because another program says so.
 *
 * Nothing is lost: other members of the reported event become `source`, and members of the payload
 * without a place of their own become `data`.
 *
 * Ids are the sender's, so that what comes twice is known. One that is a UUID (version 4, lower
 * case) is the event's; from any other text or number one is derived, always the same in a run.
 */
#ifndef AWF_INGEST_FOREIGN_EVENT_H
#define AWF_INGEST_FOREIGN_EVENT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buffer.h"
#include "base/digest.h"
#include "base/error.h"
#include "base/id.h"
#include "json/scan.h"
#include "transcript/event.h"

struct foreign_event {
	enum event_type type;     /* of a message or tool; EVENT_TYPES: type_name has it */
	char *type_name;
	char id[ID_SIZE];
	bool identified;          /* the sender gave it */
	char parent[ID_SIZE];     /* that the sender named; "": none */
	char *path;               /* "" */
	int64_t iteration;
	struct buffer payload;    /* minified */
};

/* What ids are derived from: the run in which the event is recorded; key: for a masked run, in
 * which a guessed id must not be confirmed, else NULL. anonymous: the id for an event without
 * one; NULL: a new one. */
struct foreign_scope {
	const char *run_id;
	const unsigned char *key;
	const char *anonymous;
};

/* Reads an object that is valid and has no white space. ERROR_INVALID_INPUT with what is wrong:
 * then f is empty. */
int foreign_event_read(struct foreign_event *f, struct span object,
    const struct foreign_scope *scope, struct error *err);
void foreign_event_free(struct foreign_event *f);

/* The run that the sender names, a string; .at NULL: none. */
struct span foreign_event_run(struct span object);
/* Its id from the sender, a string or number; .at NULL: none. */
struct span foreign_event_id(struct span object);

#endif
