/*
 * Values are spans of a request or an answer that was checked as a whole, so copying them
 * without their white space is all there is to do. A string's inside can go into another
 * string as it is: escapes mean the same there.
 */
#include "pass.h"

void
pass_member(struct writer *w, const char *key, struct span value)
{
	struct buffer minified = BUFFER_INIT;

	if (value.at == NULL)
		return;
	scan_minify(value, &minified);
	writer_member_buffer(w, key, &minified);
	buffer_free(&minified);
}

void
pass_raw(struct writer *w, struct span key, struct span value)
{
	if (w->comma)
		buffer_byte(w->out, ',');
	buffer_append(w->out, key.at, key.len);
	buffer_byte(w->out, ':');
	scan_minify(value, w->out);
	w->comma = true;
}

void
pass_others(struct writer *w, struct span object, const char *const *without)
{
	for (struct span_walk member = span_walk(object); member.object && span_next(&member);)
		if (without == NULL || span_one_of(member.key, without) == NULL)
			pass_raw(w, member.key, member.value);
}

void
pass_input(struct writer *w, const char *key, struct span input)
{
	if (span_type(input) == 'o') {
		pass_member(w, key, input);
		return;
	}
	writer_member_object(w, key);
	pass_member(w, "invalid_json", input);
	writer_object_end(w);
}

void
pass_tool(struct writer *w, struct span tool, const char *schema_key)
{
	pass_member(w, "name", span_member(tool, "name"));
	pass_member(w, "description", span_member(tool, "description"));
	pass_member(w, schema_key, span_member(tool, "input_schema"));
}

void
pass_as_text(struct writer *w, const char *key, struct span value)
{
	struct buffer minified = BUFFER_INIT;

	if (span_type(value) == 's') {
		writer_member_span(w, key, value);
		return;
	}
	if (value.at != NULL)
		scan_minify(value, &minified);
	writer_key(w, key);
	writer_bytes(w, buffer_string(&minified), minified.len);
	buffer_free(&minified);
}

/* Appends the inside of a string. */
static void
add_inside(struct buffer *out, struct span string)
{
	if (span_type(string) == 's')
		buffer_append(out, string.at + 1, string.len - 2);
}

void
pass_data_url(struct writer *w, const char *key, struct span media_type, struct span data)
{
	writer_key(w, key);
	writer_raw(w, "\"data:", 6);
	add_inside(w->out, media_type);
	buffer_text(w->out, ";base64,");
	add_inside(w->out, data);
	buffer_byte(w->out, '"');
}
