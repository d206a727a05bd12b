/*
 * Tool calls that an agent CLI makes while it answers. Tools that it runs itself and reports are
 * recorded here (fidelity "agent_emitted"). Tools that AWF runs for it are recorded by the code
 * that runs them (toolrun.h), and only listed here, because the answer has all of them as causes.
 */
#ifndef AWF_TURN_EMITTED_H
#define AWF_TURN_EMITTED_H

#include <stddef.h>

#include "base/error.h"
#include "base/id.h"
#include "history/recall.h"
#include "json/scan.h"
#include "transcript/call.h"

struct emitted {
	struct emitted_call {
		char *call_id, *name;
		char called[ID_SIZE];
		char last[ID_SIZE];  /* its result's event, once there is one */
	} *list;
	size_t count;
};

/* Records a `tool_call` or `tool_result` line; ERROR_PROVIDER if it is invalid in a
 * transcript. The parent of a call is always the event before the answer, so that causes do
 * not depend on timing. */
int emitted_record(struct emitted *e, struct call *call, struct span line, struct error *err);
/* Records such an event of a recorded call again, with its id. */
int emitted_repeat(struct emitted *e, struct call *call, struct recalled_event *recorded,
    struct error *err);
/* Adds a call that AWF ran for the CLI, by the events of it and of its result. */
void emitted_add(struct emitted *e, const char *called, const char *resulted);
/* Makes these events the causes of the next event of the call, and clears the list. */
void emitted_follow(struct emitted *e, struct call *call);
void emitted_free(struct emitted *e);

#endif
