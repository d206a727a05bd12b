/*
 * The order matters: a summary tells of doubts, which rest on what began, and the index is
 * written last, of all of it.
 */
#include "run/history_parts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

static void
add_child(struct history_summary *summary, const struct recording *rec, size_t call)
{
	const struct recorded_call *c = &rec->calls[call];
	struct history_child *child;

	summary->children = memory_array(summary->children, summary->child_count + 1,
	    sizeof *summary->children);
	child = &summary->children[summary->child_count++];
	child->call = memory_text(c->id);
	child->path = memory_text(c->path);
	snprintf(child->run_id, sizeof child->run_id, "%s", c->child);
	child->excused = recording_child_excused(rec, call);
	child->forked = c->begin.source < rec->spec->other_count;
}

static void
summarise(const struct recording *rec, struct history_summary *summary)
{
	for (size_t i = 0; i < rec->call_count; i++) {
		const struct recorded_call *c = &rec->calls[i];

		if (!recording_counts(rec, i))
			continue;
		summary->calls++;
		if (c->child != NULL && c->state != RECALL_SUCCEEDED)
			add_child(summary, rec, i);
	}
	summary->attempts = rec->own_attempts;
	snprintf(summary->status, sizeof summary->status, "%s", rec->status);
}

int
history_build(const char *path, const struct history_spec *spec,
    struct history_summary *summary, struct error *err)
{
	struct recording rec;
	int failed;

	memset(summary, 0, sizeof *summary);
	failed = recording_read(&rec, spec, err);
	if (failed == 0)
		failed = recording_check_paths(&rec, err);
	if (failed == 0) {
		recording_note_began(&rec);
		if (spec->mode == RECALL_RESUME)
			recording_note_doubts(&rec);
		summarise(&rec, summary);
		failed = recording_doubts(&rec, summary, err);
	}
	if (failed == 0 && path != NULL)
		failed = index_write(path, &rec, err);
	recording_free(&rec);
	return failed;
}

void
history_summary_free(struct history_summary *summary)
{
	for (size_t i = 0; i < summary->doubt_count; i++) {
		free(summary->doubts[i].call);
		free(summary->doubts[i].tool);
		free(summary->doubts[i].what);
	}
	for (size_t i = 0; i < summary->child_count; i++) {
		free(summary->children[i].call);
		free(summary->children[i].path);
	}
	free(summary->children);
	free(summary->doubts);
	memset(summary, 0, sizeof *summary);
}
