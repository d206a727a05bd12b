/* One walk over the list does it all: it tells of each block what it is, where its bytes stand, and
 * how they are called. */
#include "agent/content.h"

#include <stdlib.h>
#include <string.h>

#include "base/digest.h"
#include "base/memory.h"
#include "run/attached.h"
#include "transcript/event_keys.h"

/* A block of the list. */
struct piece {
	enum { PIECE_NONE, PIECE_TEXT, PIECE_FILE, PIECE_LINK } kind;
	struct span text;          /* string */
	struct span data;          /* string, base64 */
	const char *at;            /* where data stands in the block: "data", "resource/blob" */
	struct span media_type;    /* string; .at NULL: not said */
	struct span name;          /* string: a resource's URI, or the name of a link */
};

static struct piece
piece_of(struct span block)
{
	struct span type = span_member(block, "type"), resource = span_member(block, "resource");
	struct piece p = { .kind = PIECE_NONE };

	if (span_is(type, "text")) {
		p.text = span_member(block, "text");
		p.kind = span_type(p.text) == 's' ? PIECE_TEXT : PIECE_NONE;
	} else if (span_is(type, "image") || span_is(type, "audio")) {
		p.data = span_member(block, "data");
		p.at = "data";
		p.media_type = span_member(block, "mimeType");
		p.kind = span_type(p.data) == 's' && span_type(p.media_type) == 's' ? PIECE_FILE : PIECE_NONE;
	} else if (span_is(type, "resource") && span_type(resource) == 'o') {
		p.text = span_member(resource, "text");
		p.data = span_member(resource, "blob");
		p.at = "resource/blob";
		p.media_type = span_member(resource, "mimeType");
		p.name = span_member(resource, "uri");
		p.kind = span_type(p.data) == 's' ? PIECE_FILE :
		    span_type(p.text) == 's' ? PIECE_TEXT : PIECE_NONE;
	} else if (span_is(type, "resource_link")) {
		p.name = span_member(block, "uri");
		p.kind = span_type(p.name) == 's' ? PIECE_LINK : PIECE_NONE;
	}
	return p;
}

bool
content_is(struct span output)
{
	bool files = false;

	output = span_trim(output);
	if (span_type(output) != 'a')
		return false;
	for (struct span_walk x = span_walk(output); span_next(&x);) {
		struct piece p = piece_of(x.value);

		if (p.kind == PIECE_NONE)
			return false;
		files = files || p.kind == PIECE_FILE;
	}
	return files;
}

/* The bytes of a string of base64. -1: it is none. */
static int
decode(struct span data, struct buffer *bytes)
{
	struct buffer text = BUFFER_INIT;
	size_t kept = 0;
	int result;

	span_decode(data, &text);
	for (size_t i = 0; i < text.len; i++) /* as it is wrapped for mail */
		if (strchr("\r\n", text.data[i]) == NULL)
			text.data[kept++] = text.data[i];
	result = base64_decode(buffer_string(&text), kept, bytes);
	buffer_free(&text);
	return result;
}

void
content_normalise(struct buffer *output)
{
	struct span list = span_trim(span_of(buffer_string(output), output->len));
	struct buffer changed = BUFFER_INIT;
	const char *from = list.at;

	if (!content_is(list))
		return;
	for (struct span_walk x = span_walk(list); span_next(&x);) {
		struct piece p = piece_of(x.value);
		struct buffer bytes = BUFFER_INIT;

		if (p.kind == PIECE_FILE && decode(p.data, &bytes) == 0) {
			buffer_append(&changed, from, (size_t)(p.data.at - from));
			buffer_byte(&changed, '"');
			base64_encode(buffer_string(&bytes), bytes.len, &changed);
			buffer_byte(&changed, '"');
			from = p.data.at + p.data.len;
		}
		buffer_free(&bytes);
	}
	buffer_append(&changed, from, (size_t)(list.at + list.len - from));
	buffer_free(output);
	*output = changed;
}

void
content_take_blobs(struct content_blobs *b, struct span output)
{
	const char *from = output.at;
	size_t number = 0;

	*b = (struct content_blobs){ BUFFER_INIT, NULL, 0 };
	if (content_is(output))
		for (struct span_walk x = span_walk(span_trim(output)); span_next(&x); number++) {
			struct piece p = piece_of(x.value);
			struct buffer bytes = BUFFER_INIT;

			if (p.kind != PIECE_FILE || decode(p.data, &bytes) != 0 || bytes.len == 0) {
				buffer_free(&bytes);
				continue;
			}
			buffer_append(&b->output, from, (size_t)(p.data.at - from));
			buffer_text(&b->output, "null");
			from = p.data.at + p.data.len;
			b->raws = memory_array(b->raws, b->count + 1, sizeof *b->raws);
			b->raws[b->count++] = (struct event_raw){
				memory_format("/payload/output/%zu/%s", number, p.at), bytes.data, bytes.len };
		}
	if (output.at != NULL)
		buffer_append(&b->output, from, (size_t)(output.at + output.len - from));
}

void
content_free_blobs(struct content_blobs *b)
{
	for (size_t i = 0; i < b->count; i++) {
		free((char *)(uintptr_t)b->raws[i].at);
		free((void *)(uintptr_t)b->raws[i].bytes);
	}
	free(b->raws);
	buffer_free(&b->output);
}

/* ---- as a model gets it ---- */

/* "[image/png, 12.0 KiB]". */
static void
label(const struct piece *p, struct buffer *out)
{
	char *type = span_text(p->media_type), *name = span_text(p->name);
	struct buffer bytes = BUFFER_INIT;

	decode(p->data, &bytes);
	attached_label(type != NULL ? type : "file", name, (int64_t)bytes.len, out);
	buffer_free(&bytes);
	free(type);
	free(name);
}

static void
write_text(struct writer *w, const struct buffer *text)
{
	writer_object(w);
	writer_member_string(w, KEY_TYPE, "text");
	writer_key(w, KEY_TEXT);
	writer_bytes(w, buffer_string(text), text->len);
	writer_object_end(w);
}

/* What a piece is in words. */
static void
say(const struct piece *p, struct buffer *out)
{
	if (p->kind == PIECE_TEXT)
		span_decode(p->text, out);
	else if (p->kind == PIECE_LINK)
		span_decode(p->name, out);
	else
		label(p, out);
}

void
content_write(struct writer *w, struct span output)
{
	struct buffer words = BUFFER_INIT;

	if (!content_is(output)) {
		writer_member_span(w, KEY_TOOL_CONTENT, output);
		return;
	}
	output = span_trim(output);
	for (struct span_walk x = span_walk(output); span_next(&x);) {
		struct piece p = piece_of(x.value);

		if (words.len > 0)
			buffer_byte(&words, '\n');
		say(&p, &words);
	}
	writer_key(w, KEY_TOOL_CONTENT);
	writer_bytes(w, words.data, words.len);
	writer_member_array(w, KEY_TOOL_BLOCKS);
	for (struct span_walk x = span_walk(output); span_next(&x);) {
		struct piece p = piece_of(x.value);
		bool image = span_is(span_member(x.value, "type"), "image");
		char *type = span_text(p.media_type);

		buffer_clear(&words);
		say(&p, &words);
		if (p.kind != PIECE_FILE || type == NULL) {
			write_text(w, &words);
		} else {
			image = image || strncmp(type, "image/", 6) == 0;
			writer_object(w);
			writer_member_string(w, KEY_TYPE, image ? "image" :
			    strncmp(type, "audio/", 6) == 0 ? "audio" : "document");
			writer_member_string(w, KEY_MEDIA_TYPE, type);
			writer_member_span(w, KEY_NAME, p.name);
			writer_member_span(w, KEY_DATA, p.data);
			/* For those who do not take it. */
			writer_key(w, KEY_TEXT);
			writer_bytes(w, words.data, words.len);
			writer_object_end(w);
		}
		free(type);
	}
	writer_array_end(w);
	buffer_free(&words);
}
