/*
 * The line of a head is found by bisection and hashed, that one alone. That it stands for all
 * before it is for the check of the chain to say.
 */
#include "transcript/heads.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "base/file.h"
#include "base/memory.h"
#include "json/scan.h"
#include "transcript/event.h"
#include "transcript/reader.h"

#define FILE_LIMIT ((size_t)256 << 20)

/* A line's next word, up to the byte that ends it; .at NULL if none is there. */
static struct span
take_word(struct span *line, char end)
{
	const char *stop = memchr(line->at, end, line->len);
	size_t len = stop != NULL ? (size_t)(stop - line->at) : line->len;
	struct span word = span_of(stop != NULL || end == '\n' ? line->at : NULL, len);

	if (stop != NULL)
		len++;
	*line = span_of(line->at + len, line->len - len);
	return word;
}

static bool
read_head(struct head *head, struct span line)
{
	struct span run_id = take_word(&line, ' '), seq = take_word(&line, ' ');
	long long number;

	if (run_id.at == NULL || seq.at == NULL || !id_valid(run_id.at, run_id.len) ||
	    !span_integer(seq, &number) || number < 1 || line.len != DIGEST_SIZE - 1 ||
	    strspn(line.at, "0123456789abcdef") < line.len)
		return false;
	memcpy(head->run_id, run_id.at, ID_SIZE - 1);
	head->seq = number;
	memcpy(head->digest, line.at, DIGEST_SIZE - 1);
	head->run_id[ID_SIZE - 1] = head->digest[DIGEST_SIZE - 1] = '\0';
	return true;
}

static int
read_heads(struct heads *h, struct span text, struct error *err)
{
	char place[256];

	while (text.len > 0) {
		struct span line = take_word(&text, '\n');

		h->list = memory_array(h->list, h->count + 1, sizeof *h->list);
		if (read_head(&h->list[h->count++], line))
			continue;
		snprintf(place, sizeof place, "%s:%zu", h->path, h->count);
		return error_set(err, ERROR_USAGE, place,
		    "is no head, which is RUN_ID SEQ DIGEST: awf-verify --print-head prints one");
	}
	return 0;
}

int
heads_load(struct heads *h, const char *path, struct error *err)
{
	struct buffer text = BUFFER_INIT;
	int failed;

	*h = (struct heads){ .path = memory_text(path) };
	failed = file_load(path, FILE_LIMIT, &text, err);
	if (failed == 0)
		failed = read_heads(h, span_of(buffer_string(&text), text.len), err);
	buffer_free(&text);
	if (failed != 0)
		heads_free(h);
	return failed;
}

/* 1 if the transcript has the head; 0; -1 with *err. */
static int
has_head(struct reader *reader, const struct head *head, struct error *err)
{
	char digest[DIGEST_SIZE];
	const char *line;
	size_t len;
	int64_t seq;
	int got;

	if (reader_seek_after(reader, head->seq - 1, err) != 0)
		return -1;
	got = reader_next(reader, &line, &len, err);
	if (got != 1)
		return got;
	return event_seq(line, len, &seq) && seq == head->seq &&
	    strcmp(digest_blake2b(line, len, digest), head->digest) == 0;
}

int
heads_check(const struct heads *h, const char *run_id, const char *transcript, size_t *found,
    size_t *missing, struct error *err)
{
	struct reader reader;
	int has = 1;

	*found = *missing = 0;
	if (reader_open(&reader, transcript, err) != 0)
		return -1;
	for (size_t i = 0; i < h->count && has == 1; i++) {
		if (strcmp(h->list[i].run_id, run_id) != 0)
			continue;
		++*found;
		has = has_head(&reader, &h->list[i], err);
		if (has == 0)
			*missing = i + 1;
	}
	reader_close(&reader);
	return has == -1 ? -1 : 0;
}

void
heads_free(struct heads *h)
{
	free(h->list);
	free(h->path);
	*h = (struct heads){ .path = NULL };
}
