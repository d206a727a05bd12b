/*
 * Answers to serve again: from a transcript, from a JSON Lines file of `message` and
 * `error` answers with optional `match` and `turn`, or from a recording of AgentLoom.
 *
 * Which answer a request gets depends on the request and the file alone wherever
 * that is possible, so that several providers can serve the steps of a pipeline
 * from one file at once. Only answers that nothing tells apart are given in
 * their order.
 */
#ifndef AWF_PROVIDER_RECORDING_H
#define AWF_PROVIDER_RECORDING_H

#include <stdbool.h>
#include <stddef.h>

#include "agentloom.h"
#include "base/digest.h"
#include "base/error.h"
#include "json/scan.h"
#include "provider.h"

/* What a recorded call was asked. */
struct recorded_call {
	char question[DIGEST_SIZE]; /* of its system prompt and first blocks; "" if none */
	long long turns;            /* answers so far */
};

struct recorded_answer {
	char *line;                /* owns what body points into */
	struct span body;          /* object with blocks, stop_reason, usage, model */
	char sha256[DIGEST_SIZE];  /* of its request; "" if it is not known */
	size_t call;               /* index; NO_CALL for lines of a file of answers */
	char **match;              /* parts of the request, all of them; NULL: any */
	long long turn;            /* assistant messages in the request; -1: any */
	bool used;
};
#define NO_CALL ((size_t)-1)

struct recording {
	char *path;
	struct recorded_call *calls;
	size_t call_count;
	struct recorded_answer *answers;
	size_t answer_count;
	bool foreign;                   /* it is AgentLoom's: */
	struct agentloom agentloom;
	struct buffer made;             /* of it, what was found last */
	struct recorded_answer found;
};

/* Errors: ERROR_INVALID, with FILE:LINE as place. */
int recording_load(struct recording *r, const char *path, struct error *err);
/* The answer for a request, marked as used, valid until the next is looked for;
 * ERROR_INVALID if there is none. */
const struct recorded_answer *recording_find(struct recording *r,
    const struct provider_request *request, struct error *err);
void recording_free(struct recording *r);

#endif
