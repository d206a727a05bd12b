/*
 * A recording of AgentLoom, awf-provider-replay(1): one JSON object, whose members are
 * answers, or lists of answers, by the id of a step or the hash of a request. Members
 * that begin with an underscore tell of the file.
 *
 * A single answer is given as often as it is asked for; those of a list once each. One
 * that names the request it was made for (request_hash) is given to no other.
 */
#ifndef AWF_PROVIDER_AGENTLOOM_H
#define AWF_PROVIDER_AGENTLOOM_H

#include <stdbool.h>

#include "base/buffer.h"
#include "base/digest.h"
#include "base/error.h"
#include "given.h"
#include "json/scan.h"
#include "provider.h"

struct agentloom {
	char *path;
	struct buffer text;
	struct span document;
	bool old;             /* the form without a version */
	struct given given;
};

/* Whether a file that begins with this line (without its LF) is such a recording. */
bool agentloom_begins(const char *line, size_t len);
/* Errors: ERROR_INVALID, with FILE or FILE:LINE as place. agentloom_free() is called
 * either way. */
int agentloom_load(struct agentloom *a, const char *path, struct error *err);
/* The answer to a request, as an object with blocks, stop_reason, usage and model;
 * sha256 is the digest that awf-step records of the request. ERROR_INVALID if there is
 * none. */
int agentloom_answer(struct agentloom *a, const struct provider_request *request,
    const char sha256[DIGEST_SIZE], struct buffer *answer, struct error *err);
void agentloom_free(struct agentloom *a);

#endif
