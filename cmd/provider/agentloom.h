/*
 * Answers from a recording of AgentLoom, rerun/agentloom_file.h. A single answer is
 * given as often as it is asked for; those of a list once each in a run. One that names
 * the request it was made for (request_hash) is given to no other.
 */
#ifndef AWF_PROVIDER_AGENTLOOM_H
#define AWF_PROVIDER_AGENTLOOM_H

#include <sys/types.h>

#include "base/buffer.h"
#include "base/digest.h"
#include "base/error.h"
#include "base/map.h"
#include "provider.h"
#include "rerun/agentloom_file.h"

/* Which answers of recordings were given in this run. Each step has a provider of its own, or
 * several, yet the answers of a list are given once each, in their order: what was given stands
 * in runs/<run-id>/given, a line "KEY NUMBER" each, KEY being a digest. It is coordination, not
 * record. Outside of a run each provider counts for itself. */
struct given {
	int fd;          /* -1: outside of a run */
	off_t position;  /* in the file: what was read */
	struct map seen;
};

struct agentloom {
	struct agentloom_file file;
	struct given given;
};

/* agentloom_free() is called either way. */
int agentloom_load(struct agentloom *a, const char *path, struct error *err);
/* The answer to a request, as an object with blocks, stop_reason, usage and model;
 * sha256 is the digest that awf-step records of the request. ERROR_INVALID if there is
 * none. */
int agentloom_answer(struct agentloom *a, const struct provider_request *request,
    const char sha256[DIGEST_SIZE], struct buffer *answer, struct error *err);
void agentloom_free(struct agentloom *a);

#endif
