/* Each block is read once, for its type, the place of its bytes, and its name. */
#include "formats/content.h"

#include <stdlib.h>
#include <string.h>

#include "base/digest.h"
#include "base/media_type.h"
#include "base/memory.h"
#include "storage/attached.h"
#include "transcript/event_keys.h"

/* A block of the list. */
struct piece {
	enum { PIECE_NONE, PIECE_TEXT, PIECE_FILE, PIECE_LINK } kind;
	struct span text;          /* string */
	struct span data;          /* string, base64 */
	const char *at;            /* where the data is in the block: "data" or "resource/blob" */
	struct span media_type;    /* string; .at NULL: none is given */
	struct span name;          /* string: a resource's URI, or the name of a link */
	bool image;                /* according to its block */
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
		p.image = span_is(type, "image");
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

/* Decodes a base64 string. -1: it is not one. */
static int
content_decode_base64(struct span data, struct buffer *bytes)
{
	struct buffer text = BUFFER_INIT;
	size_t kept = 0;
	int result;

	span_decode(data, &text);
	for (size_t i = 0; i < text.len; i++) /* it may be wrapped into lines, as in mail */
		if (strchr("\r\n", text.data[i]) == NULL)
			text.data[kept++] = text.data[i];
	result = base64_decode(buffer_string(&text), kept, bytes);
	buffer_free(&text);
	return result;
}

/* Replaces an output that is too large by an error. */
static void
content_refuse_output(struct buffer *output, struct error *err, size_t most, const char *what)
{
	buffer_free(output);
	if (err->code == ERROR_NONE)
		error_set(err, ERROR_TOOL, NULL, "the result of a tool has at most %zu %s", most, what);
}

static size_t
count_files(struct span list)
{
	size_t count = 0;

	for (struct span_walk x = span_walk(list); span_next(&x);)
		count += piece_of(x.value).kind == PIECE_FILE;
	return count;
}

void
content_take(struct buffer *output, size_t limit, struct error *err)
{
	struct span list = span_trim(span_of(buffer_string(output), output->len));
	struct buffer changed = BUFFER_INIT;
	const char *from = list.at;

	if (limit > 0 && output->len > limit) {
		content_refuse_output(output, err, limit >> 20, "MiB");
		return;
	}
	if (!content_is(list))
		return;
	if (count_files(list) > CONTENT_FILES_LIMIT) {
		content_refuse_output(output, err, CONTENT_FILES_LIMIT, "files");
		return;
	}
	for (struct span_walk x = span_walk(list); span_next(&x);) {
		struct piece p = piece_of(x.value);
		struct buffer bytes = BUFFER_INIT;

		if (p.kind == PIECE_FILE && content_decode_base64(p.data, &bytes) == 0) {
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

			if (p.kind != PIECE_FILE || content_decode_base64(p.data, &bytes) != 0 ||
			    bytes.len == 0) {
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

/* ---- in a request to a model ---- */

/* A file for a model. An API rejects the whole conversation because of an image that is invalid or
 * has another type than declared: so the type is determined from the bytes where possible. */
struct file {
	char *type;          /* its media type; NULL: unknown */
	const char *wrong;   /* why only its label is sent; NULL: the file is sent */
	int64_t size;        /* -1: not known */
};

static struct file
file_of(const struct piece *p)
{
	struct file f = { span_text(p->media_type), NULL, -1 };
	struct buffer bytes = BUFFER_INIT;
	const char *found;

	if (content_decode_base64(p->data, &bytes) != 0) {
		f.wrong = "no base64";
	} else {
		f.size = (int64_t)bytes.len;
		found = media_type_of(buffer_string(&bytes), bytes.len);
		if (found != NULL) {
			free(f.type);
			f.type = memory_text(found);
		} else if (bytes.len == 0) {
			f.wrong = "empty";
		} else if (f.type != NULL && media_type_told(f.type)) {
			f.wrong = "its bytes are none";
		}
	}
	buffer_free(&bytes);
	return f;
}

/* Appends "[image/png, 12.0 KiB]" or "[image/png, 5 B]: its bytes are none". */
static void
content_write_label(const struct piece *p, const struct file *f, struct buffer *out)
{
	char *name = span_text(p->name);

	attached_label(f->type != NULL ? f->type : "file", name, f->size, out);
	if (f->wrong != NULL)
		buffer_format(out, ": %s", f->wrong);
	free(name);
}

static void
content_write_text(struct writer *w, const struct buffer *text)
{
	writer_object(w);
	writer_member_string(w, KEY_TYPE, "text");
	writer_key(w, KEY_TEXT);
	writer_bytes(w, buffer_string(text), text->len);
	writer_object_end(w);
}

/* Appends a piece as text. */
static void
content_describe_piece(const struct piece *p, const struct file *f, struct buffer *out)
{
	if (p->kind == PIECE_TEXT)
		span_decode(p->text, out);
	else if (p->kind == PIECE_LINK)
		span_decode(p->name, out);
	else
		content_write_label(p, f, out);
}

static void
content_write_file(struct writer *w, const struct piece *p, const struct file *f,
    const struct buffer *words)
{
	bool image = p->image && !media_type_told(f->type);

	writer_object(w);
	writer_member_string(w, KEY_TYPE, image || strncmp(f->type, "image/", 6) == 0 ? "image" :
	    strncmp(f->type, "audio/", 6) == 0 ? "audio" : "document");
	writer_member_string(w, KEY_MEDIA_TYPE, f->type);
	writer_member_span(w, KEY_NAME, p->name);
	writer_member_span(w, KEY_DATA, p->data);
	/* The text for models that do not accept files. */
	writer_key(w, KEY_TEXT);
	writer_bytes(w, words->data, words->len);
	writer_object_end(w);
}

void
content_write(struct writer *w, struct span output)
{
	struct buffer words = BUFFER_INIT, own = BUFFER_INIT, blocks = BUFFER_INIT;
	struct writer list;

	if (!content_is(output)) {
		writer_member_span(w, KEY_TOOL_CONTENT, output);
		return;
	}
	writer_begin(&list, &blocks);
	writer_array(&list);
	for (struct span_walk x = span_walk(span_trim(output)); span_next(&x);) {
		struct piece p = piece_of(x.value);
		struct file f = p.kind == PIECE_FILE ? file_of(&p) : (struct file){ NULL, NULL, -1 };

		buffer_clear(&own);
		content_describe_piece(&p, &f, &own);
		if (words.len > 0)
			buffer_byte(&words, '\n');
		buffer_append(&words, buffer_string(&own), own.len);
		if (f.type == NULL || f.wrong != NULL)
			content_write_text(&list, &own);
		else
			content_write_file(&list, &p, &f, &own);
		free(f.type);
	}
	writer_array_end(&list);
	writer_key(w, KEY_TOOL_CONTENT);
	writer_bytes(w, words.data, words.len);
	writer_key(w, KEY_TOOL_BLOCKS);
	writer_raw(w, blocks.data, blocks.len);
	buffer_free(&words);
	buffer_free(&own);
	buffer_free(&blocks);
}
