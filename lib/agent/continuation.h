/*
 * Continuation (continue_from in an agent file): the conversation that the latest completed
 * call of a step came to, in this run, whichever attempt made it. It goes on by the id of its
 * session, which the agent CLI keeps; the record says which that is.
 */
#ifndef AWF_AGENT_CONTINUATION_H
#define AWF_AGENT_CONTINUATION_H

#include "base/error.h"
#include "base/id.h"

struct continuation {
	char *session;           /* NULL: its answers told none */
	char *provider;          /* that it is with; may be NULL */
	char completed[ID_SIZE]; /* event id of the step.completed with its result */
};

/* Reads a transcript for the step of this path. 0, or -1: ERROR_INVALID_INPUT if no call
 * of it has completed. Free it either way. */
int continuation_find(struct continuation *c, const char *transcript, const char *path,
    struct error *err);
void continuation_free(struct continuation *c);

#endif
