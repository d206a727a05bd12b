/*
 * What reading and writing AgentLoom's recordings share, awf-projections(7): the
 * words for why an answer ended, and the hash that a request is known by there.
 *
 * That hash is the SHA-256 of what Python's json.dumps(…, sort_keys=True) makes of the
 * messages, the model, the temperature and the limit of tokens; in the older form, of
 * the messages alone. Requests with tools, thinking or further parameters have none: what
 * AgentLoom makes of those depends on its providers.
 */
#ifndef AWF_RERUN_AGENTLOOM_H
#define AWF_RERUN_AGENTLOOM_H

#include <stdbool.h>

#include "base/digest.h"
#include "json/scan.h"

#define AGENTLOOM_VERSION 2

/* A request in the words of awf-provider(7); what is absent has .at NULL. */
struct agentloom_request {
	struct span model;    /* a string */
	struct span system;   /* a string */
	struct span messages; /* an array of {role, blocks} */
	struct span tools;    /* an array */
	struct span params;   /* an object */
};

/* Whether the request has a hash. */
bool agentloom_hash(const struct agentloom_request *r, char out[DIGEST_SIZE]);
/* The same of the older form. */
bool agentloom_hash_old(const struct agentloom_request *r, char out[DIGEST_SIZE]);

/* AgentLoom's finish_reason for a stop_reason. */
const char *agentloom_finish_reason(struct span stop_reason);
/* The stop_reason for a finish_reason, which is whatever word the API used; NULL if it
 * says nothing. */
const char *agentloom_stop_reason(struct span finish_reason);

#endif
