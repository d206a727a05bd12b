/*
 * Shared by code that reads and writes AgentLoom's recordings, awf-projections(7): the words for
 * why an answer ended, and the hash that identifies a request.
 *
 * The hash is the SHA-256 of what Python's json.dumps(…, sort_keys=True) makes of the messages, the
 * model, the temperature and the token limit; in the older form, only of the messages. Requests
 * with tools, thinking or other parameters have no hash here: AgentLoom hashes those differently
 * for each provider.
 */
#ifndef AWF_RERUN_AGENTLOOM_H
#define AWF_RERUN_AGENTLOOM_H

#include <stdbool.h>

#include "base/digest.h"
#include "json/scan.h"

#define AGENTLOOM_VERSION 2

/* A request in the terms of awf-provider(7); .at is NULL for missing parts. */
struct agentloom_request {
	struct span model;    /* a string */
	struct span system;   /* a string */
	struct span messages; /* an array of {role, blocks} */
	struct span tools;    /* an array */
	struct span params;   /* an object */
};

/* Returns whether the request has a hash. */
bool agentloom_hash(const struct agentloom_request *r, char out[DIGEST_SIZE]);
/* The same in the older form. */
bool agentloom_hash_old(const struct agentloom_request *r, char out[DIGEST_SIZE]);

/* AgentLoom's finish_reason for a stop_reason. */
const char *agentloom_finish_reason(struct span stop_reason);
/* The stop_reason for a finish_reason, which is the word of the provider's API; NULL if it is
 * unknown. */
const char *agentloom_stop_reason(struct span finish_reason);

#endif
