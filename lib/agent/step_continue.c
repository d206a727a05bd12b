#include "agent/working.h"

#include <string.h>

#include "base/digest.h"

/* Whether the agent can go on with it: -1 with work->error. */
static int
check_continuation(struct working *work)
{
	const struct agent *agent = work->step->agent;
	const struct continuation *c = &work->continued;

	if (c->session == NULL)
		return error_set(&work->error, ERROR_INVALID_INPUT, agent->name,
		    "continue_from: the answer of '%s' tells no session (only those of agent CLIs do)",
		    agent->continue_from);
	if (c->provider != NULL && strcmp(c->provider, agent->provider) != 0)
		return error_set(&work->error, ERROR_INVALID_INPUT, agent->name,
		    "continue_from: '%s' was answered by %s, which %s cannot go on with",
		    agent->continue_from, c->provider, agent->provider);
	return 0;
}

void
working_continue(struct working *work)
{
	const struct step *s = work->step;
	char digests[DIGEST_SIZE + ID_SIZE];
	size_t len = strlen(work->input_sha256);

	if (s->agent == NULL || s->agent->continue_from == NULL ||
	    work->error.code != ERROR_NONE)
		return;
	if (continuation_find(&work->continued, s->run->transcript.path,
	    s->agent->continue_from, &work->error) == -1 || check_continuation(work) == -1)
		return;
	memcpy(digests, work->input_sha256, len);
	memcpy(digests + len, work->continued.completed, ID_SIZE);
	digest_sha256(digests, strlen(digests), work->input_sha256);
}
