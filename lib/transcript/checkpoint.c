/*
 * Finds the line of a checkpoint by bisection, and hashes only that line. That the lines before it
 * are unchanged is shown by the check of the chain.
 */
#include "transcript/checkpoint.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "base/invariant.h"
#include "base/memory.h"
#include "base/text.h"
#include "io/file.h"
#include "json/scan.h"
#include "transcript/event.h"
#include "transcript/reader.h"

#define FILE_LIMIT ((size_t)256 << 20)

/* A line's next word, up to the byte that ends it; .at NULL if none is there. */
static struct span
checkpoint_split_word(struct span *line, char end)
{
	const char *stop = memchr(line->at, end, line->len);
	size_t len = stop != NULL ? (size_t)(stop - line->at) : line->len;
	struct span word = span_of(stop != NULL || end == '\n' ? line->at : NULL, len);

	if (stop != NULL)
		len++;
	*line = span_of(line->at + len, line->len - len);
	return word;
}

int
checkpoints_load(struct checkpoints *c, const char *path, struct error *err)
{
	struct buffer text = BUFFER_INIT;
	struct span rest;
	char place[256];
	int failed;

	*c = (struct checkpoints){ .path = memory_text(path) };
	failed = file_load(path, FILE_LIMIT, &text, err);
	rest = span_of(buffer_string(&text), text.len);
	while (failed == 0 && rest.len > 0) {
		struct span line = checkpoint_split_word(&rest, '\n');
		struct span run_id = checkpoint_split_word(&line, ' '),
		    seq = checkpoint_split_word(&line, ' ');
		struct checkpoint *checkpoint;
		long long number;

		c->list = memory_array(c->list, c->count + 1, sizeof *c->list);
		checkpoint = &c->list[c->count++];
		if (run_id.at == NULL || seq.at == NULL || !id_valid(run_id.at, run_id.len) ||
		    !span_integer(seq, &number) || number < 1 || line.len != DIGEST_SIZE - 1 ||
		    text_prefix_of(line.at, line.len, "0123456789abcdef") < line.len) {
			snprintf(place, sizeof place, "%s:%zu", c->path, c->count);
			failed = error_set(err, ERROR_USAGE, place, "is no head, which is RUN_ID SEQ "
			    "DIGEST: awf-verify --print-head prints one");
			break;
		}
		memcpy(checkpoint->run_id, run_id.at, ID_SIZE - 1);
		checkpoint->seq = number;
		memcpy(checkpoint->digest, line.at, DIGEST_SIZE - 1);
		checkpoint->run_id[ID_SIZE - 1] = checkpoint->digest[DIGEST_SIZE - 1] = '\0';
	}
	buffer_free(&text);
	if (failed != 0)
		checkpoints_free(c);
	return failed;
}

int
checkpoints_check(const struct checkpoints *c, const char *run_id, const char *transcript,
    size_t *found, size_t *missing, struct error *err)
{
	struct reader reader;
	char digest[DIGEST_SIZE];
	const char *line;
	size_t len;
	int64_t seq;
	int got = 1;

	*found = *missing = 0;
	if (reader_open(&reader, transcript, err) != 0)
		return -1;
	for (size_t i = 0; i < c->count && got >= 0 && *missing == 0; i++) {
		const struct checkpoint *checkpoint = &c->list[i];

		if (strcmp(checkpoint->run_id, run_id) != 0)
			continue;
		INVARIANT(checkpoint->seq >= 1 && strlen(checkpoint->digest) == DIGEST_SIZE - 1);
		++*found;
		got = reader_seek_after(&reader, checkpoint->seq - 1, err) != 0 ? -1 :
		    reader_next(&reader, &line, &len, err);
		if (got == 0 || (got == 1 && (!event_seq(line, len, &seq) || seq != checkpoint->seq ||
		    strcmp(digest_blake2b(line, len, digest), checkpoint->digest) != 0)))
			*missing = i + 1;
	}
	reader_close(&reader);
	return got == -1 ? -1 : 0;
}

void
checkpoints_free(struct checkpoints *c)
{
	free(c->list);
	free(c->path);
	*c = (struct checkpoints){ .path = NULL };
}
