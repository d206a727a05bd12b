/*
 * The state reader: any input, in any form, gives the same items however it is
 * split; every item is valid JSON; and what an item becomes as a state line of this
 * run is read back as the same data.
 * The first byte chooses the form and the size of the pieces.
 */
#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "storage/state.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define RUN "11111111-1111-4111-8111-111111111111"
#define EVENT "22222222-2222-4222-8222-222222222222"

static void
note(struct buffer *out, const struct item *item)
{
	buffer_append(out, item->data.json.data, item->data.json.len);
	buffer_format(out, " %d%d%d\n", item->data.no_newline, item->data.base64, item->foreign);
	buffer_append(out, item->metadata.data, item->metadata.len);
	buffer_byte(out, '\n');
}

static void
read_back(const struct item *item)
{
	struct state_spec spec = { .run_id = RUN, .event_id = EVENT, .seq = 1, .call = "a:0:0",
		.path = "a", .timestamp = "", .part = -1 };
	struct buffer line = BUFFER_INIT;
	struct span data, written;

	state_write(&spec, &item->data, &line);
	written = span_of(line.data, line.len - 1);
	assert(state_is(written));
	data = span_member(written, "data");
	assert(data.len == item->data.json.len);
	assert(memcmp(data.at, item->data.json.data, data.len) == 0);
	buffer_free(&line);
}

/* Reads all items, the input coming in pieces; what went wrong ends the notes. */
static void
read_all(const uint8_t *bytes, size_t size, enum input_form form, size_t piece,
    struct buffer *out)
{
	struct state_reader r;
	struct error err = ERROR_INIT;
	struct item item;
	size_t at = 0, bad, len;
	int fds[2], got;

	memset(&item, 0, sizeof item);
	assert(pipe(fds) == 0);
	state_reader_begin(&r, fds[0], form, RUN);
	for (;;) {
		got = state_reader_take(&r, &item, &err);
		if (got == -1 || (got == 0 && r.done))
			break;
		if (got == 1) {
			assert(scan_check(item.data.json.data, item.data.json.len, &bad) == NULL);
			note(out, &item);
			read_back(&item);
			continue;
		}
		len = size - at < piece ? size - at : piece;
		if (len > 0)
			assert(write(fds[1], bytes + at, len) == (ssize_t)len);
		else if (fds[1] != -1) {
			close(fds[1]);
			fds[1] = -1;
		}
		at += len;
		assert(state_reader_fill(&r, &err) == 0);
	}
	if (got == -1)
		buffer_format(out, "%s", err.message);
	if (fds[1] != -1)
		close(fds[1]);
	close(fds[0]);
	state_reader_free(&r);
	item_free(&item);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct buffer whole = BUFFER_INIT, pieces = BUFFER_INIT;
	enum input_form form;

	if (size < 2 || size > 32768)
		return 0;
	form = (enum input_form)(data[0] % INPUT_NONE);
	read_all(data + 1, size - 1, form, size, &whole);
	read_all(data + 1, size - 1, form, (size_t)data[0] / 8 + 1, &pieces);
	assert(whole.len == pieces.len);
	assert(whole.len == 0 || memcmp(whole.data, pieces.data, whole.len) == 0);
	buffer_free(&whole);
	buffer_free(&pieces);
	return 0;
}
