/*
 * The sender has checked that lines follow one another. So comparing one line is enough: each has
 * the digest of the line before it, and so of all before it.
 */
#include "ship/batch.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "transcript/event.h"

struct batch_run *
batch_run(struct batch *b, const char *run_id, const char *origin, const char *transcript,
    int64_t size)
{
	const size_t *place = map_get(&b->places, run_id, ID_SIZE - 1);
	struct batch_run *run;

	if (place != NULL) {
		run = b->runs[*place];
	} else {
		run = memory_zero(1, sizeof *run);
		memcpy(run->run_id, run_id, ID_SIZE);
		b->runs = memory_array(b->runs, b->run_count + 1, sizeof *b->runs);
		b->runs[b->run_count] = run;
		map_put(&b->places, run_id, ID_SIZE - 1, b->run_count++);
	}
	free(run->origin);
	free(run->transcript);
	run->origin = memory_text(origin);
	run->transcript = memory_text(transcript);
	run->size = size;
	run->refused = false;
	return run;
}

struct batch_run *
batch_find(const struct batch *b, struct span run_id)
{
	char id[ID_SIZE];
	const size_t *place = event_copy_id(run_id, id) ? map_get(&b->places, id, ID_SIZE - 1) : NULL;

	return place != NULL ? b->runs[*place] : NULL;
}

void
batch_add(struct batch *b, struct batch_run *run, struct span line, int64_t seq, const char *call,
    const char *cost)
{
	struct batch_line *new;

	if (run->count == 0) {
		b->with = memory_array(b->with, b->with_count + 1, sizeof *b->with);
		b->with[b->with_count++] = run;
	}
	if ((run->count & (run->count - 1)) == 0)
		run->lines = memory_array(run->lines, run->count == 0 ? 1 : 2 * run->count,
		    sizeof *run->lines);
	new = &run->lines[run->count++];
	*new = (struct batch_line){ .at = run->text.len, .len = line.len, .seq = seq };
	memcpy(new->call, call, strlen(call) + 1);
	memcpy(new->cost, cost, strlen(cost) + 1);
	buffer_append(&run->text, line.at, line.len);
	buffer_byte(&run->text, '\n');
	b->bytes += line.len;
	b->lines++;
}

void
batch_add_blob(struct batch_run *run, const char *sha256, char *path)
{
	struct batch_blob *new;

	run->blobs = memory_array(run->blobs, run->blob_count + 1, sizeof *run->blobs);
	new = &run->blobs[run->blob_count++];
	memcpy(new->sha256, sha256, DIGEST_SIZE);
	new->path = path;
}

struct span
batch_line_text(const struct batch_run *run, size_t number)
{
	return span_of(run->text.data + run->lines[number].at, run->lines[number].len);
}

static int
by_id(const void *a, const void *b)
{
	const struct batch_run *const *left = a, *const *right = b;

	return strcmp((*left)->run_id, (*right)->run_id);
}

void
batch_sort(struct batch *b)
{
	if (b->with_count > 1)
		qsort(b->with, b->with_count, sizeof *b->with, by_id);
}

static void
clear_run(struct batch_run *run)
{
	buffer_free(&run->text);
	free(run->lines);
	run->lines = NULL;
	for (size_t i = 0; i < run->blob_count; i++)
		free(run->blobs[i].path);
	free(run->blobs);
	run->blobs = NULL;
	run->count = run->blob_count = 0;
}

void
batch_clear(struct batch *b)
{
	for (size_t i = 0; i < b->with_count; i++)
		clear_run(b->with[i]);
	b->with_count = b->bytes = b->lines = 0;
}

void
batch_free(struct batch *b)
{
	batch_clear(b);
	for (size_t i = 0; i < b->run_count; i++) {
		clear_run(b->runs[i]);
		free(b->runs[i]->origin);
		free(b->runs[i]->transcript);
		free(b->runs[i]);
	}
	free(b->runs);
	free(b->with);
	map_free(&b->places);
}

int
batch_new_lines(const struct batch_run *run, const struct position *have, size_t *first,
    int (*same)(void *context, const struct batch_run *run, size_t number, struct error *err),
    void *context, struct error *err)
{
	const struct batch_line *lines = run->lines;
	char digest[DIGEST_SIZE] = "";
	struct event_view view;
	struct span line;

	if (lines[0].seq > have->seq + 1)
		return error_set(err, ERROR_DIVERGENCE, run->run_id, "the target has lost lines: it has %lld, "
		    "and had %lld", (long long)have->seq, (long long)lines[0].seq - 1);
	*first = (size_t)(have->seq + 1 - lines[0].seq);
	if (*first > run->count) {
		*first = run->count;
		return same(context, run, run->count - 1, err);
	}
	/* The last line there is the one before the first new line. */
	if (*first == run->count) {
		line = batch_line_text(run, run->count - 1);
		digest_blake2b(line.at, line.len, digest);
	} else if (have->seq == 0) {
		return 0;
	} else {
		line = batch_line_text(run, *first);
		if (event_view(line.at, line.len, &view) == 0)
			span_copy(view.prev, digest, sizeof digest);
	}
	if (strcmp(digest, have->digest) == 0)
		return 0;
	return error_set(err, ERROR_DIVERGENCE, run->run_id, "the target has another line %lld: it is "
	    "another transcript from there on, and nothing more of it is sent", (long long)have->seq);
}

void
batch_position(const struct batch_run *run, struct position *position)
{
	struct span line = batch_line_text(run, run->count - 1);

	position->seq = run->lines[run->count - 1].seq;
	position->pruned = 0;
	digest_blake2b(line.at, line.len, position->digest);
}
