/* Pieces of a kind that follow each other are one block. */
#include "agent/partial.h"

#include "transcript/event_keys.h"

#include <string.h>

/* Appends the last block behind the others. */
static void
append_last(const struct partial *p, struct buffer *blocks)
{
	struct writer w;

	if (p->text.len == 0)
		return;
	if (p->blocks.len != 0)
		buffer_byte(blocks, ',');
	writer_begin(&w, blocks);
	writer_object(&w);
	writer_member_string(&w, KEY_TYPE, p->thinking ? "thinking" : "stream");
	writer_key(&w, p->thinking ? "thinking" : "text");
	writer_bytes(&w, p->text.data, p->text.len);
	writer_member_string(&w, KEY_FIDELITY, "agent_emitted");
	writer_object_end(&w);
}

void
partial_add(struct partial *p, const char *kind, const char *text, size_t len)
{
	bool thinking = strcmp(kind, "thinking") == 0;

	if (thinking != p->thinking) {
		append_last(p, &p->blocks);
		buffer_clear(&p->text);
	}
	p->thinking = thinking;
	buffer_append(&p->text, text, len);
}

bool
partial_empty(const struct partial *p)
{
	return p->blocks.len == 0 && p->text.len == 0;
}

void
partial_write(const struct partial *p, struct writer *w)
{
	writer_key(w, KEY_BLOCKS);
	writer_array(w);
	buffer_append(w->out, p->blocks.data, p->blocks.len);
	append_last(p, w->out);
	writer_array_end(w);
}

void
partial_clear(struct partial *p)
{
	buffer_free(&p->blocks);
	buffer_free(&p->text);
	p->thinking = false;
}
