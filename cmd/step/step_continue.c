/*
 * The end of the call that is gone on from becomes a part of the input's digest, so that with
 * another conversation before it this is another call.
 */
#include "step/working.h"

#include <stdlib.h>
#include <string.h>

#include "base/digest.h"

/* A session is of the CLI that answered; whoever else goes on gets the messages. -1 with
 * work->error: there is neither. */
static int
choose_continuation(struct working *work)
{
	const struct agent *agent = work->step->agent;
	struct continuation *c = &work->continued;

	if (c->session != NULL && c->provider != NULL && strcmp(c->provider, agent->provider) == 0)
		return 0;
	free(c->session);
	c->session = NULL;
	if (c->lacks)
		return error_set(&work->error, ERROR_INVALID_INPUT, agent->name, "continue_from: '%s' "
		    "had attachments, whose bytes a masked run does not keep", agent->continue_from);
	return c->messages.len > 0 ? 0 : error_set(&work->error, ERROR_INVALID_INPUT, agent->name,
	    "continue_from: '%s' had no conversation in this run", agent->continue_from);
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
	if (continuation_find(&work->continued, &s->run->transcript, s->agent->continue_from,
	    &work->error) == -1 || choose_continuation(work) == -1)
		return;
	memcpy(digests, work->input_sha256, len);
	memcpy(digests + len, work->continued.completed, ID_SIZE);
	digest_sha256(digests, strlen(digests), work->input_sha256);
}
