/*
 * A member is a string, to which pieces are appended, a list of parts, or any other value, of which
 * the last one counts. Objects in a list that have an index are joined too, if they have the same
 * index and type; so are thoughts without an index, up to the one with the signature.
 */
#include "api/joined.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

#define NO_INDEX (-1)

struct joined_part {
	bool joins;             /* whether further pieces of it may follow */
	long long index;        /* NO_INDEX: none */
	char *type;             /* "": none */
	struct joined object;   /* if it joins */
	struct buffer value;    /* otherwise */
};

struct joined_member {
	char *key;              /* the raw token */
	char type;              /* span_type() of its value */
	struct buffer text;     /* of a string: decoded; otherwise JSON */
	struct joined_part *parts; /* of a list */
	size_t count;
};

static struct joined_member *
joined_find(const struct joined *j, struct span key)
{
	for (size_t i = 0; i < j->count; i++)
		if (strlen(j->members[i].key) == key.len &&
		    memcmp(j->members[i].key, key.at, key.len) == 0)
			return &j->members[i];
	return NULL;
}

static void
member_clear(struct joined_member *m)
{
	buffer_free(&m->text);
	for (size_t i = 0; i < m->count; i++) {
		free(m->parts[i].type);
		joined_free(&m->parts[i].object);
		buffer_free(&m->parts[i].value);
	}
	free(m->parts);
	m->parts = NULL;
	m->count = 0;
}

static struct joined_member *
joined_make(struct joined *j, struct span key)
{
	struct joined_member *m = joined_find(j, key);

	if (m != NULL)
		return m;
	j->members = memory_array(j->members, j->count + 1, sizeof *j->members);
	m = &j->members[j->count++];
	*m = (struct joined_member){ .key = memory_copy(key.at, key.len) };
	return m;
}

/* Adds to a part: pieces of its texts are appended; other members replace the previous value. */
static void
add_to_part(struct joined *j, struct span part)
{
	static const char *const texts[] = { "data", "summary", "text", "thinking", NULL };

	for (struct span_walk member = span_walk(part); span_next(&member);) {
		struct joined_member *m = joined_find(j, member.key);

		if (m != NULL && m->type == 's' && span_one_of(member.key, texts) != NULL)
			span_decode(member.value, &m->text);
		else if (span_type(member.value) != '0')
			joined_set(j, member.key, member.value);
	}
}

/* Whether a piece has another id than the part: then it belongs to another part, despite the same
 * index. */
static bool
has_other_id(const struct joined *j, struct span piece)
{
	const struct joined_member *m = joined_find(j, span_of("\"id\"", 4));
	char *id = span_text(span_member(piece, "id"));
	bool other = m != NULL && m->type == 's' && id != NULL &&
	    strcmp(id, buffer_string(&m->text)) != 0;

	free(id);
	return other;
}

/* LiteLLM splits the thoughts in `thinking_blocks`, without an index: each piece has more of the
 * text; the last one has the signature, and no text or all of it. Returns the part that a piece
 * continues, or NULL if it begins one; removes the text so far if the piece has all of it. */
static struct joined_part *
find_unsigned_thought(struct joined_member *m, struct span piece)
{
	struct joined_part *last = m->count > 0 ? &m->parts[m->count - 1] : NULL;
	const struct span signed_by = span_member(piece, "signature");
	struct joined_member *text, *signature;
	struct buffer whole = BUFFER_INIT;

	if (last == NULL || !last->joins || last->index != NO_INDEX || has_other_id(&last->object, piece))
		return NULL;
	signature = joined_find(&last->object, span_of("\"signature\"", 11));
	if (signature != NULL && signature->text.len > 0)
		return NULL;
	text = joined_find(&last->object, span_of("\"thinking\"", 10));
	span_decode(span_member(piece, "thinking"), &whole);
	if (text != NULL && span_type(signed_by) == 's' && !span_is(signed_by, "") &&
	    whole.len >= text->text.len &&
	    memcmp(buffer_string(&whole), buffer_string(&text->text), text->text.len) == 0)
		buffer_clear(&text->text);
	buffer_free(&whole);
	return last;
}

static void
add_part(struct joined_member *m, struct span part)
{
	struct joined_part *found = NULL;
	char *type = span_text(span_member(part, "type"));
	long long index = NO_INDEX;
	const bool indexed = span_integer(span_member(part, "index"), &index);
	const bool thought = !indexed && type != NULL && strcmp(type, "thinking") == 0 &&
	    span_type(span_member(part, "thinking")) != 'a';

	if (type == NULL)
		type = memory_text("");
	if (thought)
		found = find_unsigned_thought(m, part);
	for (size_t i = 0; indexed && found == NULL && i < m->count; i++)
		if (m->parts[i].joins && m->parts[i].index == index &&
		    strcmp(m->parts[i].type, type) == 0 && !has_other_id(&m->parts[i].object, part))
			found = &m->parts[i];
	if (found == NULL) {
		m->parts = memory_array(m->parts, m->count + 1, sizeof *m->parts);
		found = &m->parts[m->count++];
		*found = (struct joined_part){ .joins = indexed || thought, .index = index,
		    .type = memory_text(type) };
	}
	free(type);
	if (found->joins)
		add_to_part(&found->object, part);
	else
		scan_minify(part, &found->value);
}

void
joined_add(struct joined *j, struct span key, struct span value)
{
	const char type = span_type(value);
	struct joined_member *m;
	struct buffer text = BUFFER_INIT;

	if (type == '0' || type == 0)
		return;
	m = joined_make(j, key);
	if (m->type != type)
		member_clear(m);
	m->type = type;
	if (type == 'a') {
		for (struct span_walk part = span_walk(value); span_next(&part);)
			add_part(m, part.value);
	} else if (type == 's') {
		span_decode(value, &text);
		if (text.len != m->text.len || (text.len > 0 && memcmp(text.data, m->text.data, text.len) != 0))
			buffer_append(&m->text, buffer_string(&text), text.len);
	} else {
		buffer_clear(&m->text);
		scan_minify(value, &m->text);
	}
	buffer_free(&text);
}

void
joined_set(struct joined *j, struct span key, struct span value)
{
	struct joined_member *m = joined_find(j, key);

	if (m != NULL)
		member_clear(m);
	joined_add(j, key, value);
}

bool
joined_has(const struct joined *j, const char *key)
{
	for (size_t i = 0; i < j->count; i++)
		if (span_is(span_of(j->members[i].key, strlen(j->members[i].key)), key))
			return true;
	return false;
}

void
joined_drop(struct joined *j, const char *key)
{
	size_t kept = 0;

	for (size_t i = 0; i < j->count; i++)
		if (span_is(span_of(j->members[i].key, strlen(j->members[i].key)), key)) {
			member_clear(&j->members[i]);
			free(j->members[i].key);
		} else {
			j->members[kept++] = j->members[i];
		}
	j->count = kept;
}

static void
write_member(const struct joined_member *m, struct writer *w)
{
	if (m->type == 's') {
		writer_bytes(w, buffer_string(&m->text), m->text.len);
		return;
	}
	if (m->type != 'a') {
		writer_raw(w, m->text.data, m->text.len);
		return;
	}
	writer_array(w);
	for (size_t i = 0; i < m->count; i++) {
		if (!m->parts[i].joins) {
			writer_raw(w, m->parts[i].value.data, m->parts[i].value.len);
			continue;
		}
		writer_object(w);
		joined_write(&m->parts[i].object, w);
		writer_object_end(w);
	}
	writer_array_end(w);
}

void
joined_write(const struct joined *j, struct writer *w)
{
	for (size_t i = 0; i < j->count; i++) {
		const char *key = j->members[i].key;
		struct buffer value = BUFFER_INIT;
		struct writer inner;

		writer_begin(&inner, &value);
		write_member(&j->members[i], &inner);
		writer_raw_member(w, span_of(key, strlen(key)), span_of(value.data, value.len));
		buffer_free(&value);
	}
}

void
joined_free(struct joined *j)
{
	for (size_t i = 0; i < j->count; i++) {
		member_clear(&j->members[i]);
		free(j->members[i].key);
	}
	free(j->members);
	*j = (struct joined){ .members = NULL };
}
