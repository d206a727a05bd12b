/*
 * Any bytes as a transcript: readers find every line, seeking lands where lines
 * begin, and an append leaves the whole lines, a new one, and the rest beside it;
 * or it refuses and leaves all as it was.
 */
#include <assert.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/memory.h"
#include "io/file.h"
#include "transcript/event.h"
#include "transcript/reader.h"
#include "transcript/torn.h"
#include "transcript/transcript.h"

#define RUN_ID "0b7a1c52-93d4-4e8f-a6b0-5c1d2e3f4a5b"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct error err;
static char *path, *torn;

static void
remove_files(void)
{
	unlink(path);
	unlink(torn);
	*strrchr(path, '/') = '\0';
	rmdir(path);
}

/* In memory, where there is such a place: repairs sync. */
static void
make_paths(void)
{
	char in_memory[] = "/dev/shm/awf-fuzz-XXXXXX", on_disk[] = "/tmp/awf-fuzz-XXXXXX";
	char *directory = mkdtemp(in_memory);

	if (directory == NULL)
		directory = mkdtemp(on_disk);
	assert(directory != NULL);
	path = memory_format("%s/" RUN_ID ".jsonl", directory);
	torn = torn_path(path);
	setenv("AWF_SYNC", "none", 1);
	atexit(remove_files);
}

static void
put(const uint8_t *data, size_t size)
{
	FILE *f = fopen(path, "w");

	assert(f != NULL && fwrite(data, 1, size, f) == size && fclose(f) == 0);
	unlink(torn);
}

static void
look_at(const char *line, size_t len)
{
	struct event_view view;
	struct event_head head;
	int64_t first = 0, seq;
	bool begins = event_seq(line, len, &first);

	if (event_peek(line, len, &head) == 0) {
		struct span type = head.type_name;

		assert(head.seq > 0 && (!begins || head.seq == first));
		assert(type.at > line && type.at + type.len < line + len);
	}
	if (event_view(line, len, &view) == 0)
		assert(view.seq > 0 && view.type_name.at > line);
	if (event_line_whole(line, len, &seq))
		assert(begins && seq == first);
}

/* Returns how many lines there are. */
static int64_t
read_lines(struct reader *r, const char *text, size_t size)
{
	const char *line;
	int64_t count = 0;
	size_t len, at = 0;

	for (; reader_next(r, &line, &len, &err) == 1; count++) {
		assert(r->line_start == (int64_t)at && at + len < size);
		assert(memcmp(line, text + at, len) == 0 && text[at + len] == '\n');
		assert(memchr(line, '\n', len) == NULL);
		look_at(line, len);
		at += len + 1;
	}
	assert(reader_unfinished(r) == (int64_t)(size - at));
	assert(memchr(text + at, '\n', size - at) == NULL);
	return count;
}

static int64_t
rest_of_lines(struct reader *r)
{
	const char *line;
	size_t len;
	int64_t count = 0;

	while (reader_next(r, &line, &len, &err) == 1)
		count++;
	return count;
}

/* From the last line to the first; returns how many there are. */
static int64_t
read_back(struct reader *r, const char *text)
{
	const char *line;
	int64_t count = 0, end;
	size_t len;

	assert(reader_seek_last(r, 0, &err) == 0);
	for (end = r->position; reader_previous(r, &line, &len, &err) == 1; count++) {
		assert(r->line_start == r->position && r->position + (int64_t)len + 1 == end);
		assert(memcmp(line, text + r->position, len) == 0 && memchr(line, '\n', len) == NULL);
		end = r->position;
	}
	assert(end == 0);
	return count;
}

static void
read_all(const char *text, size_t size)
{
	struct reader r;

	assert(reader_open(&r, path, &err) == 0);
	int64_t lines = read_lines(&r, text, size);
	assert(read_back(&r, text) == lines);
	assert(reader_seek_since(&r, "2026-11-21T08:15:30.123456Z", &err) == 0);
	assert(r.position == 0 || text[r.position - 1] == '\n');
	for (int64_t count = 0; count < 4; count++) {
		assert(reader_seek_last(&r, count, &err) == 0);
		assert(rest_of_lines(&r) == (count < lines ? count : lines));
		assert(reader_seek_after(&r, count, &err) == 0);
		assert(r.position == 0 || text[r.position - 1] == '\n');
	}
	reader_close(&r);
}

/* The new file: its first whole bytes are the old one's, a line follows. */
static void
appended(const char *text, size_t size, const struct event *e)
{
	struct buffer now = BUFFER_INIT, kept = BUFFER_INIT;
	int64_t seq;

	assert(file_load(path, SIZE_MAX, &now, &err) == 0 && now.data[now.len - 1] == '\n');
	size_t whole = now.len - 1;
	while (whole > 0 && now.data[whole - 1] != '\n')
		whole--;
	assert(whole <= size && memcmp(now.data, text, whole) == 0);
	assert(event_line_whole(now.data + whole, now.len - whole - 1, &seq) && seq == e->seq);
	if (whole < size) {
		assert(file_load(torn, SIZE_MAX, &kept, &err) == 0);
		assert(kept.len == size - whole && memcmp(kept.data, text + whole, kept.len) == 0);
	}
	buffer_free(&now);
	buffer_free(&kept);
}

static void
refused(const char *text, size_t size)
{
	struct buffer now = BUFFER_INIT;

	assert(err.code == ERROR_SYSTEM && access(torn, F_OK) == -1);
	assert(file_load(path, SIZE_MAX, &now, &err) == 0);
	assert(now.len == size && memcmp(buffer_string(&now), text, size) == 0);
	buffer_free(&now);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *text = size > 0 ? (const char *)data : "";
	struct event e = { .type = EVENT_TOOL_CALL, .path = "" };
	struct transcript t;

	if (path == NULL)
		make_paths();
	put(data, size);
	read_all(text, size);
	assert(transcript_open(&t, path, "", RUN_ID, &err) == 0);
	if (transcript_append(&t, &e, &err) == 0)
		appended(text, size, &e);
	else
		refused(text, size);
	transcript_close(&t);
	return 0;
}
