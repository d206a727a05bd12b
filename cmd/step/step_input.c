/*
 * What completes the input of a call besides the item's data, and goes into its digest before a
 * recorded call is looked for: the digests of attachments, and the end of the call whose
 * conversation is gone on from, so that with another one before it this is another call. For
 * an attached file that has gone since, the start of the call that this may be is peeked at,
 * without claiming it.
 */
#include "step/step_call.h"

#include <stdlib.h>
#include <string.h>

#include "base/digest.h"
#include "json/writer.h"
#include "transcript/event_keys.h"

/* Commands and tools are given the data alone. */
static bool
takes_attachments(const struct step *s)
{
	return s->team != NULL || s->passes;
}

static struct span
listed(const struct item *item)
{
	if (item->foreign || item->metadata.len == 0)
		return span_of(NULL, 0);
	return span_member(span_of(item->metadata.data, item->metadata.len), "attachments");
}

/* The start of a call that this may be, for what it says of files that have gone since. */
static struct span
peek(const struct step_call *call, struct recalled_event *started)
{
	const struct recall *recall = call->step->recall;
	const struct recall_query query = step_query(call->step, call->index);

	if (recall == NULL || !recall->peek(recall->history, &query, started))
		return span_of(NULL, 0);
	return span_member(started->view.payload, KEY_ATTACHMENTS);
}

/* An entry of the item's list, held to the bytes that were found. */
static void
write_pinned(struct writer *w, struct span entry, const struct attachment *one)
{
	writer_object(w);
	for (struct span_walk member = span_walk(entry); span_next(&member);)
		writer_raw_member(w, member.key, member.value);
	if (one->path != NULL && span_member(entry, "sha256").at == NULL)
		writer_member_string(w, "sha256", one->sha256);
	writer_object_end(w);
}

/* What is attached to lines that stand for the item: a file that is another one when it is
 * read again is noticed. */
static void
pin(struct step_call *call, struct span list)
{
	const struct attachments *a = &call->attachments;
	struct span_walk entry = span_walk(list);
	struct writer w;

	writer_begin(&w, &call->attached);
	writer_array(&w);
	for (size_t i = a->shared; i < a->count && span_next(&entry); i++)
		write_pinned(&w, entry.value, a->list[i]);
	writer_array_end(&w);
}

void
step_read_attachments(struct step_call *call)
{
	struct step *s = call->step;
	struct span list = listed(call->item), recorded = { NULL, 0 };
	struct recalled_event started = { .line = BUFFER_INIT };

	if (!takes_attachments(s) || (list.at == NULL && s->attached == NULL))
		return;
	if (s->attached != NULL)
		attachments_share(&call->attachments, s->attached);
	if (list.at != NULL)
		recorded = peek(call, &started);
	if (attachments_read(&call->attachments, list, recorded, &call->end.error) == -1)
		attachments_free(&call->attachments);
	else if (call->attachments.count > call->attachments.shared)
		pin(call, list);
	recalled_event_free(&started);
	attachments_digest(&call->attachments, &call->item->data.json, call->input_sha256);
	if (s->team == NULL)
		attachments_drop_bytes(&call->attachments);
}

int
step_restore_attachments(struct step_call *call)
{
	const struct recalled *r = &call->verdict.recalled;
	struct span blocks = { NULL, 0 };

	if (!attachments_lack(&call->attachments))
		return 0;
	for (size_t i = 0; call->verdict.recalls && i < r->event_count && blocks.at == NULL; i++)
		if (r->events[i].view.type == EVENT_MESSAGE_USER)
			blocks = span_member(r->events[i].view.payload, KEY_BLOCKS);
	return attachments_restore(&call->attachments, blocks, &call->end.error);
}

struct span
step_attachments(const struct step_call *call)
{
	return call->attached.len > 0 ? span_of(call->attached.data, call->attached.len) :
	    listed(call->item);
}

/* A session is of the CLI that answered; whoever else goes on gets the messages. -1 with
 * call->end.error: there is neither. */
static int
choose_continuation(struct step_call *call)
{
	const struct agent *agent = call->step->agent;
	struct continuation *c = &call->continued;

	if (c->session != NULL && c->provider != NULL && strcmp(c->provider, agent->provider) == 0)
		return 0;
	free(c->session);
	c->session = NULL;
	if (c->lacks)
		return error_set(&call->end.error, ERROR_INVALID_INPUT, agent->name, "continue_from: '%s' "
		    "had attachments, whose bytes a masked run does not keep", agent->continue_from);
	return c->messages.len > 0 ? 0 : error_set(&call->end.error, ERROR_INVALID_INPUT, agent->name,
	    "continue_from: '%s' had no conversation in this run", agent->continue_from);
}

void
step_find_conversation(struct step_call *call)
{
	const struct step *s = call->step;
	char digests[DIGEST_SIZE + ID_SIZE];
	size_t len = strlen(call->input_sha256);

	if (s->agent == NULL || s->agent->continue_from == NULL ||
	    call->end.error.code != ERROR_NONE)
		return;
	if (continuation_find(&call->continued, &s->run->transcript, s->agent->continue_from,
	    &call->end.error) == -1 || choose_continuation(call) == -1)
		return;
	memcpy(digests, call->input_sha256, len);
	memcpy(digests + len, call->continued.completed, ID_SIZE);
	digest_sha256(digests, strlen(digests), call->input_sha256);
}
