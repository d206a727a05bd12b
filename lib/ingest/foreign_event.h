/*
 * Foreign events: converts an event reported by another program, a JSON object, into an event of a
 * transcript, awf-transcript(5), depending on its type:
 *
 *   - message.user, message.assistant, tool.call, tool.result are AWF's own types, with the members
 *     that are documented there;
 *   - tool.start, tool.end, llm.turn.start and llm.turn.end of agent-event, and tool_call and
 *     tool_return of interagent (awf-projections(7)), are converted to these;
 *   - all others keep their type, but "foreign." is prepended if it begins with "run." or "step.",
 *     so that another program cannot begin or end an attempt or a call.
 *
 * Nothing is lost: other members of the reported event become `source`, and members of the payload
 * without a place of their own become `data`. What has another name than the sender's is listed in
 * `names`, so that lib/projection can give the event back as it came.
 *
 * Ids come from the sender, so that an event that comes twice is recognized. A UUID (version
 * 4, lower case) is used as it is; from any other text or number an id is derived, always the
 * same one in a run.
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
	enum event_type type;     /* a message or tool type; or EVENT_TYPES, with the type
	                             in type_name */
	char *type_name;
	char id[ID_SIZE];
	bool identified;          /* the sender gave it */
	char parent[ID_SIZE];     /* that the sender named; "": none */
	char *path;               /* "" */
	int64_t iteration;
	struct buffer payload;    /* minified */
};

/* From what ids are derived. run_id: the run in which the event is recorded; key: of a masked run,
 * in which it must not be possible to check guessed ids; otherwise NULL; anonymous: the id for an
 * event without one; NULL: a new one. */
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
