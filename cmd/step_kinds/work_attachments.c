/*
 * The digests of attachments are part of the input's digest, by which a recorded call is found. If
 * an attached file is gone, its digest is taken from the start of the recorded call at this
 * position, which is only read, not claimed.
 */
#include "step_kinds/work_attachments.h"

#include "json/writer.h"
#include "transcript/event_keys.h"

void
work_attachments_read(struct step_call *call, const struct attachments *own,
    struct attachments *a)
{
	const struct step *s = call->step;
	struct span list = step_listed_attachments(call->item), recorded = SPAN_NONE;
	struct recalled_event started = { .line = BUFFER_INIT };
	struct writer w;

	if (list.at == NULL && own == NULL)
		return;
	if (own != NULL)
		attachments_share(a, own);
	/* Read the start of the call at this position, which has the digests of missing files. */
	if (list.at != NULL && s->place.recall != NULL) {
		const struct recall_query query = step_query(s, call->index);

		if (s->place.recall->peek(s->place.recall->history, &query, &started))
			recorded = span_member(started.view.payload, KEY_ATTACHMENTS);
	}
	if (attachments_read(a, list, recorded, &call->end.error) == -1) {
		attachments_free(a);
	} else if (a->count > a->shared) {
		/* In the item's lines, add the digest of the bytes that were read to each entry of
		 * its list, so that a later reader notices if the file has changed. */
		struct span_walk entry = span_walk(list);

		writer_begin(&w, &call->attached);
		writer_array(&w);
		for (size_t i = a->shared; i < a->count && span_next(&entry); i++) {
			writer_object(&w);
			for (struct span_walk member = span_walk(entry.value); span_next(&member);)
				writer_raw_member(&w, member.key, member.value);
			if (a->list[i]->path != NULL && span_member(entry.value, "sha256").at == NULL)
				writer_member_string(&w, "sha256", a->list[i]->sha256);
			writer_object_end(&w);
		}
		writer_array_end(&w);
	}
	recalled_event_free(&started);
	attachments_digest(a, &call->item->data.json, call->input_sha256);
	writer_begin(&w, &call->completed_by);
	writer_object(&w);
	attachments_write(a, &w);
	writer_object_end(&w);
}
