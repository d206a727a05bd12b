/*
 * What a history is built in: the recording is read, by itself or with the lines that
 * somebody else reads; then it is summarized, and the index is written, of all of it.
 */
#include "run/history_parts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/memory.h"

struct history_reading {
	struct history_spec spec;
	struct recording recording;
};

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
history_begin(struct history_reading **reading, const struct history_spec *spec,
    struct error *err)
{
	struct history_reading *r = *reading = memory_zero(1, sizeof *r);

	r->spec = *spec;
	return recording_begin(&r->recording, &r->spec, err);
}

int
history_take(struct history_reading *r, const char *line, size_t len, int64_t offset,
    struct error *err)
{
	return recording_take(&r->recording, line, len, offset, err);
}

int
history_take_file(struct history_reading *r, struct error *err)
{
	return recording_read_source(&r->recording, err);
}

void
history_end(struct history_reading *r)
{
	recording_end(&r->recording);
}

bool
history_is_of(const struct history_reading *r)
{
	const struct recording *rec = &r->recording;
	const struct index_source *last = &rec->sources[rec->source];
	struct stat status;

	return lstat(history_source(rec->spec, rec->source)->path, &status) == 0 &&
	    (uint64_t)status.st_dev == last->device && (uint64_t)status.st_ino == last->inode &&
	    status.st_size == last->size;
}

int
history_summarize(const struct history_reading *r, struct history_summary *summary,
    struct error *err)
{
	memset(summary, 0, sizeof *summary);
	if (recording_check_paths(&r->recording, err) != 0)
		return -1;
	summarise(&r->recording, summary);
	return recording_doubts(&r->recording, summary, err);
}

int
history_write(const struct history_reading *r, const char *path, struct error *err)
{
	return index_write(path, &r->recording, err);
}

void
history_reading_free(struct history_reading *r)
{
	if (r == NULL)
		return;
	recording_free(&r->recording);
	free(r);
}

int
history_build(const char *path, const struct history_spec *spec,
    struct history_summary *summary, struct error *err)
{
	struct history_reading *r;
	int failed;

	memset(summary, 0, sizeof *summary);
	failed = history_begin(&r, spec, err);
	if (failed == 0)
		failed = history_take_file(r, err);
	if (failed == 0) {
		history_end(r);
		failed = history_summarize(r, summary, err);
	}
	if (failed == 0 && path != NULL)
		failed = history_write(r, path, err);
	history_reading_free(r);
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
