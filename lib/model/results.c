/*
 * Values are copied unchanged, since they are JSON already. Bytes, which are held as base64, are
 * decoded once, and kept until the event has been written, which stores them as blobs.
 */
#include "model/results.h"

#include <stdlib.h>
#include <string.h>

#include "base/digest.h"
#include "base/invariant.h"
#include "base/memory.h"
#include "transcript/event_keys.h"

void
data_write(const struct data *data, struct writer *w)
{
	if (data_binary(data))
		writer_null(w);
	else
		writer_raw(w, data->json.data, data->json.len);
}

void
results_write(const struct results *r, struct writer *w)
{
	bool any = false;

	INVARIANT(r->several || r->count == 1);
	writer_key(w, KEY_RESULT);
	if (!r->several) {
		data_write(&r->list[0], w);
		if (r->list[0].no_newline)
			writer_member_bool(w, KEY_NO_NEWLINE, true);
		return;
	}
	writer_array(w);
	for (size_t i = 0; i < r->count; i++)
		data_write(&r->list[i], w);
	writer_array_end(w);
	/* List the indexes of the parts that do not end in a line feed. */
	for (size_t i = 0; i < r->count; i++) {
		if (!r->list[i].no_newline)
			continue;
		if (!any)
			writer_member_array(w, KEY_NO_NEWLINE);
		any = true;
		writer_integer(w, (int64_t)i);
	}
	if (any)
		writer_array_end(w);
}

const char *
result_member(struct span payload)
{
	long long count;

	return span_integer(span_member(payload, KEY_COUNT), &count) && count == 1 ?
	    KEY_RESULT "/0/" KEY_DATA : KEY_RESULT;
}

long long
result_lines(struct span result, struct buffer *text, struct span *data)
{
	struct span first = { NULL, 0 };
	const char *at, *end;
	long long count = 0;
	size_t bad;

	if (span_type(result) != 's')
		return 0;
	span_decode(result, text);
	at = buffer_string(text);
	for (const char *stop = at + text->len; at < stop; at = end + 1) {
		struct span line;

		end = memchr(at, '\n', (size_t)(stop - at));
		end = end != NULL ? end : stop;
		line = span_of(at, (size_t)(end - at));
		if (scan_check(line.at, line.len, &bad) != NULL || !state_is(line))
			return 0;
		if (count++ == 0)
			first = span_member(line, KEY_DATA);
	}
	if (count > 0)
		*data = first;
	return count;
}

void
binaries_add(struct binaries *b, const struct data *data, char *at)
{
	struct buffer bytes = BUFFER_INIT;

	if (!data_binary(data)) {
		free(at);
		return;
	}
	base64_decode(data->json.data + 1, data->json.len - 2, &bytes);
	b->list = memory_array(b->list, b->count + 1, sizeof *b->list);
	b->bytes = memory_array(b->bytes, b->count + 1, sizeof *b->bytes);
	b->names = memory_array(b->names, b->count + 1, sizeof *b->names);
	b->list[b->count] = (struct event_raw){ at, buffer_string(&bytes), bytes.len };
	b->bytes[b->count] = bytes;
	INVARIANT(data->json.data[0] == '"' && data->json.data[data->json.len - 1] == '"' && *at == '/');
	b->names[b->count++] = at;
}

void
binaries_add_results(struct binaries *b, const struct results *results)
{
	for (size_t i = 0; i < results->count; i++)
		binaries_add(b, &results->list[i], results->several ?
		    memory_format("/" KEY_PAYLOAD "/" KEY_RESULT "/%zu", i) :
		    memory_text("/" KEY_PAYLOAD "/" KEY_RESULT));
}

void
binaries_free(struct binaries *b)
{
	for (size_t i = 0; i < b->count; i++) {
		buffer_free(&b->bytes[i]);
		free(b->names[i]);
	}
	free(b->list);
	free(b->bytes);
	free(b->names);
}
