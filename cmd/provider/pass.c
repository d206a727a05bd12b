/*
 * Values are spans of a request or an answer that was checked as a whole, so it is enough to copy
 * them without their white space. The inside of a string can be copied into another string: escapes
 * mean the same there.
 */
#include "pass.h"

#include "transcript/event_keys.h"

void
pass_member(struct writer *w, const char *key, struct span value)
{
	if (value.at == NULL)
		return;
	writer_key(w, key);
	scan_minify(value, w->out);
	w->comma = true;
}

void
pass_of(struct writer *w, const char *key, struct span object, const char *member)
{
	pass_member(w, key, span_member(object, member));
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
pass_arguments(struct writer *w, const char *key, struct span input)
{
	struct buffer text = BUFFER_INIT;
	struct writer object;

	if (span_type(input) == 'o') {
		pass_as_text(w, key, input);
		return;
	}
	writer_begin(&object, &text);
	writer_object(&object);
	pass_member(&object, "invalid_json", input);
	writer_object_end(&object);
	writer_key(w, key);
	writer_bytes(w, text.data, text.len);
	buffer_free(&text);
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

struct span
pass_result_blocks(struct span result)
{
	return span_member(result, KEY_TOOL_BLOCKS);
}

bool
pass_is_file(struct span block, const char *const *media_types)
{
	return !span_is(span_member(block, KEY_TYPE), "text") &&
	    span_one_of(span_member(block, KEY_MEDIA_TYPE), media_types) != NULL;
}

void
pass_data_url(struct writer *w, const char *key, struct span attachment)
{
	struct span type = span_member(attachment, KEY_MEDIA_TYPE);
	struct span data = span_member(attachment, KEY_DATA);

	writer_key(w, key);
	writer_raw(w, "\"data:", 6);
	if (span_type(type) == 's')
		buffer_append(w->out, type.at + 1, type.len - 2);
	buffer_text(w->out, ";base64,");
	if (span_type(data) == 's')
		buffer_append(w->out, data.at + 1, data.len - 2);
	buffer_byte(w->out, '"');
}
