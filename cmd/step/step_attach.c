/*
 * Digests of attachments go into the input's digest before a recorded call is looked for. For
 * a file that has gone since, the start of the call that this may be is peeked at, without
 * claiming it.
 */
#include "json/writer.h"
#include "step/working.h"

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
peek(const struct working *work, struct recalled_event *started)
{
	const struct recall *recall = work->step->recall;
	const struct recall_query query = step_query(work->step, work->index);

	if (recall == NULL || !recall->peek(recall->history, &query, started))
		return span_of(NULL, 0);
	return span_member(started->view.payload, "attachments");
}

/* An entry of the item's list, held to the bytes that were found. */
static void
write_pinned(struct writer *w, struct span entry, const struct attachment *one)
{
	struct span_walk walk;
	struct span key, value;

	writer_object(w);
	span_walk_begin(&walk, entry);
	while (span_walk_next(&walk, &key, &value))
		writer_raw_member(w, key, value);
	if (one->path != NULL && span_member(entry, "sha256").at == NULL)
		writer_member_string(w, "sha256", one->sha256);
	writer_object_end(w);
}

/* What is attached to lines that stand for the item: a file that is another one when it is
 * read again is noticed. */
static void
pin(struct working *work, struct span list)
{
	const struct attachments *a = &work->attachments;
	struct span_walk walk;
	struct span key, entry;
	struct writer w;

	writer_begin(&w, &work->attached);
	writer_array(&w);
	span_walk_begin(&walk, list);
	for (size_t i = a->shared; i < a->count && span_walk_next(&walk, &key, &entry); i++)
		write_pinned(&w, entry, a->list[i]);
	writer_array_end(&w);
}

void
working_attach(struct working *work)
{
	struct step *s = work->step;
	struct span list = listed(work->item), recorded = { NULL, 0 };
	struct recalled_event started = { .line = BUFFER_INIT };

	if (!takes_attachments(s) || (list.at == NULL && s->attached == NULL))
		return;
	if (s->attached != NULL)
		attachments_share(&work->attachments, s->attached);
	if (list.at != NULL)
		recorded = peek(work, &started);
	if (attachments_read(&work->attachments, list, recorded, &work->error) == -1)
		attachments_free(&work->attachments);
	else if (work->attachments.count > work->attachments.shared)
		pin(work, list);
	recalled_event_free(&started);
	attachments_digest(&work->attachments, &work->item->data.json, work->input_sha256);
	if (s->team == NULL)
		attachments_drop_bytes(&work->attachments);
}

int
working_restore_attachments(struct working *work)
{
	struct span blocks = { NULL, 0 };

	if (!attachments_lack(&work->attachments))
		return 0;
	for (size_t i = 0; work->recalls && i < work->recalled.event_count && blocks.at == NULL; i++)
		if (work->recalled.events[i].view.type == EVENT_MESSAGE_USER)
			blocks = span_member(work->recalled.events[i].view.payload, "blocks");
	return attachments_restore(&work->attachments, blocks, &work->error);
}

struct span
working_attached(const struct working *work)
{
	return work->attached.len > 0 ? span_of(work->attached.data, work->attached.len) :
	    listed(work->item);
}
