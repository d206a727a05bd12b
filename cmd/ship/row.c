/*
 * One pass over the bytes of a line finds out whether anything must be replaced: most lines are
 * passed on unchanged.
 */
#include "ship/row.h"

#include <stdlib.h>
#include <string.h>

#include "transcript/event_keys.h"

#define EVENT_MOST ((size_t)64 << 20)
#define NUMBER_MOST 300 /* digits, and the largest exponent: a double has 308 */
#define REPLACEMENT "\\ufffd"

/* Reads four hexadecimal digits; there are at least four bytes. */
static unsigned
row_parse_hex_digits(const char *at)
{
	char digits[5] = { at[0], at[1], at[2], at[3], '\0' };

	return (unsigned)strtoul(digits, NULL, 16);
}

/* The length of a valid escape \uXXXX, or of a pair of them; 0: it must be replaced. */
static size_t
good_escape(const char *at, const char *end)
{
	unsigned code = end - at >= 6 ? row_parse_hex_digits(at + 2) : 0;

	if (code == 0 || (code >= 0xdc00 && code < 0xe000))
		return 0;
	if (code < 0xd800 || code >= 0xe000)
		return 6;
	if (end - at < 12 || at[6] != '\\' || at[7] != 'u')
		return 0;
	code = row_parse_hex_digits(at + 8);
	return code >= 0xdc00 && code < 0xe000 ? 12 : 0;
}

static bool
is_number(char byte)
{
	return (byte >= '0' && byte <= '9') || byte == '-' || byte == '+' || byte == '.' || byte == 'e' ||
	    byte == 'E';
}

/* Whether a double can represent the number, with a margin to its limits. */
static bool
good_number(const char *at, size_t len)
{
	const char *exponent = memchr(at, 'e', len);

	if (exponent == NULL)
		exponent = memchr(at, 'E', len);
	if (len > NUMBER_MOST)
		return false;
	return exponent == NULL || labs(strtol(exponent + 1, NULL, 10)) + (exponent - at) < NUMBER_MOST;
}

bool
row_clean(struct span json, struct buffer *out)
{
	const char *at = json.at, *end = at + json.len, *kept = at;
	const size_t before = out->len;
	bool string = false;

	while (at < end) {
		const char *from = at, *instead = NULL;
		size_t good;

		if (string && *at == '\\' && end - at > 1 && at[1] == 'u') {
			good = good_escape(at, end);
			at += good != 0 ? good : 6;
			instead = good != 0 ? NULL : REPLACEMENT;
		} else if (string && *at == '\\') {
			at += 2;
		} else if (string) {
			string = *at++ != '"';
		} else if (*at == '"') {
			string = true;
			at++;
		} else if (*at == '-' || (*at >= '0' && *at <= '9')) {
			while (at < end && is_number(*at))
				at++;
			instead = good_number(from, (size_t)(at - from)) ? NULL : "null";
		} else {
			at++;
		}
		if (instead != NULL) {
			buffer_append(out, kept, (size_t)(from - kept));
			buffer_text(out, instead);
			kept = at < end ? at : end;
		}
	}
	if (kept == json.at)
		return false;
	buffer_append(out, kept, (size_t)(end - kept));
	return out->len > before;
}

/* Without its payload. */
static void
drop_payload(struct span line, struct span payload, struct buffer *out)
{
	const size_t before = (size_t)(payload.at - line.at);

	buffer_append(out, line.at, before);
	buffer_text(out, "null");
	buffer_append(out, payload.at + payload.len, line.len - before - payload.len);
}

/* Text as databases accept it: without NULs. */
static void
row_add_text_without_nuls(struct span value, struct buffer *out)
{
	const size_t from = out->len;
	char *nul;

	if (span_type(value) != 's')
		return;
	span_decode(value, out);
	while (out->len > from && (nul = memchr(out->data + from, '\0', out->len - from)) != NULL)
		*nul = '?';
}

/* The text of a message, or of a tool's result. */
static void
search_text(const struct event_view *view, struct buffer *text)
{
	struct span blocks;

	if (view->told == EVENT_TOOL_RESULT)
		row_add_text_without_nuls(span_member(view->payload, KEY_OUTPUT), text);
	if (view->told != EVENT_MESSAGE_USER && view->told != EVENT_MESSAGE_ASSISTANT)
		return;
	blocks = span_member(view->payload, KEY_BLOCKS);
	if (span_type(blocks) != 'a')
		return;
	for (struct span_walk block = span_walk(blocks); span_next(&block);) {
		if (!span_is(span_member(block.value, KEY_TYPE), KEY_TEXT))
			continue;
		if (text->len > 0)
			buffer_byte(text, '\n');
		row_add_text_without_nuls(span_member(block.value, KEY_TEXT), text);
	}
}

int
row_make(struct row *r, const struct batch_run *run, size_t number, struct error *err)
{
	const struct batch_line *line = &run->lines[number];
	struct event_view view;

	r->line = batch_line_text(run, number);
	if (event_view(r->line.at, r->line.len, &view) != 0 || !event_copy_id(view.event_id, r->event_id))
		return error_set(err, ERROR_INVALID_INPUT, run->run_id, "line %lld is no event of AWF",
		    (long long)line->seq);
	r->seq = line->seq;
	r->type = view.type;
	r->call = line->call;
	r->cost = line->cost;
	event_copy_id(view.parent_event_id, r->parent_event_id);
	buffer_clear(&r->type_name);
	buffer_clear(&r->path);
	buffer_clear(&r->cleaned);
	buffer_clear(&r->text);
	row_add_text_without_nuls(view.type_name, &r->type_name);
	row_add_text_without_nuls(view.path, &r->path);
	/* An invalid timestamp counts as the earliest time. */
	if (!span_copy(view.timestamp, r->ts, sizeof r->ts) || clock_parse(r->ts, 0, &r->wall) != 0)
		clock_text(r->wall = 0, r->ts);
	r->event = r->line;
	if (r->line.len > EVENT_MOST)
		drop_payload(r->line, view.payload, &r->cleaned);
	else
		row_clean(r->line, &r->cleaned);
	if (r->cleaned.len > 0)
		r->event = span_of(r->cleaned.data, r->cleaned.len);
	search_text(&view, &r->text);
	return 0;
}

void
row_free(struct row *r)
{
	buffer_free(&r->type_name);
	buffer_free(&r->path);
	buffer_free(&r->cleaned);
	buffer_free(&r->text);
}

/* As much of a text as fits, without a partial character at its end. */
static void
copy_text(struct span value, char *out, size_t size)
{
	struct buffer text = BUFFER_INIT;
	size_t len;

	row_add_text_without_nuls(value, &text);
	len = text.len < size ? text.len : size - 1;
	while (len > 0 && len < text.len && (text.data[len] & 0xc0) == 0x80)
		len--;
	memcpy(out, buffer_string(&text), len);
	out[len] = '\0';
	buffer_free(&text);
}

void
run_row_take(struct run_row *run, const struct row *row)
{
	struct span payload;

	if (row->seq == 1)
		memcpy(run->started, row->ts, sizeof run->started);
	if (row->type != EVENT_RUN_STARTED && row->type != EVENT_RUN_COMPLETED)
		return;
	payload = span_member(row->line, KEY_PAYLOAD);
	if (row->type == EVENT_RUN_STARTED) {
		copy_text(span_member(payload, KEY_NAME), run->name, sizeof run->name);
		memcpy(run->status, "running", sizeof "running");
		run->started_seq = row->seq;
		run->ended_seq = 0;
		run->begun = true;
	} else {
		copy_text(span_member(payload, KEY_STATUS), run->status, sizeof run->status);
		run->ended_seq = row->seq;
	}
}
