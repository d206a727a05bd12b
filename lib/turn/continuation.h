/*
 * Continuation (continue_from in an agent file, awf-step --session): the conversation of the latest
 * completed call of a step in a run, from any attempt. If the same agent CLI answered that call, it continues its
 * session by the session's id; any other provider gets the recorded messages.
 */
#ifndef AWF_TURN_CONTINUATION_H
#define AWF_TURN_CONTINUATION_H

#include <stdbool.h>

#include "base/buffer.h"
#include "base/error.h"
#include "base/id.h"
#include "json/scan.h"

struct continuation {
	char *session;           /* NULL: its answers told none */
	struct buffer raw;       /* what the provider noted with the session (`raw` of the last block)
	                            in the latest answer of the run that has it; JSON, or empty */
	char *provider;          /* that answered; may be NULL */
	struct buffer messages;  /* as in a request, inside of a JSON array */
	char **from;             /* who gave each of these, NAME/MODEL as it was asked, "": no model, or
	                            none that is known; a list (base/list.h) */
	bool lacks;              /* the bytes of an attachment, which a masked run does not keep */
	char completed[ID_SIZE]; /* event id of the step.completed with its result */
};

/* Reads a transcript for the step of this path; call: only for the call of this id (NULL: for all
 * of the step). 0, or -1: ERROR_INVALID_INPUT if none has completed. Free it either way. */
int continuation_find(struct continuation *c, const char *transcript, const char *blobs,
    const char *path, const char *call, struct error *err);
/* The conversation as a JSON object, and the same from that; -1: it is none. */
void continuation_write(const struct continuation *c, struct buffer *out);
int continuation_restore(struct continuation *c, struct span text);
void continuation_free(struct continuation *c);

#endif
