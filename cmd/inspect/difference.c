/* The first difference of two canonical transcripts. */
#include "inspect/canonical.h"

#include <assert.h>
#include <string.h>

#include "base/text.h"

#define SHOWN_COLUMNS 72 /* of a value */
#define SHOWN_BEFORE 24  /* bytes before the first that differs */
#define SHOWN_LINES 5    /* of what a call wrote on stderr */
#define SHOWN_ERROR_COLUMNS 200

/* Both sides of what is compared; .at NULL: one has it not. */
struct sides {
	struct span first, second;
};

static bool differs(struct sides s, struct buffer *pointer, struct sides *found);

/* The same token: keys are compared as they stand. */
static bool
same(struct span a, struct span b)
{
	return a.len == b.len && (a.len == 0 || memcmp(a.at, b.at, a.len) == 0);
}

static bool
has_member(struct span object, struct span key)
{
	for (struct span_walk member = span_walk(object); span_next(&member);)
		if (same(member.key, key))
			return true;
	return false;
}

static void
pointer_cut(struct buffer *pointer, size_t len)
{
	if (pointer->len == len)
		return;
	pointer->len = len;
	pointer->data[len] = '\0';
}

/* Where the keys part, one is missing in the other object, or their order differs:
 * then it is the object that does. */
static void
keys_differ(struct sides s, const struct span_walk *first, const struct span_walk *second,
    struct buffer *pointer, struct sides *found)
{
	if (first->key.at && !has_member(s.second, first->key)) {
		pointer_append(pointer, first->key);
		*found = (struct sides){ first->value, SPAN_NONE };
	} else if (second->key.at && !has_member(s.first, second->key)) {
		pointer_append(pointer, second->key);
		*found = (struct sides){ SPAN_NONE, second->value };
	} else {
		*found = s;
	}
}

static void
object_differs(struct sides s, struct buffer *pointer, struct sides *found)
{
	size_t len = pointer->len;
	struct span_walk first = span_walk(s.first), second = span_walk(s.second);

	for (;;) {
		/* Behind the last member there is no key. */
		span_next(&first);
		span_next(&second);
		if (!first.key.at || !same(first.key, second.key)) {
			keys_differ(s, &first, &second, pointer, found);
			return;
		}
		pointer_append(pointer, first.key);
		if (differs((struct sides){ first.value, second.value }, pointer, found))
			return;
		pointer_cut(pointer, len);
	}
}

static void
array_differs(struct sides s, struct buffer *pointer, struct sides *found)
{
	size_t len = pointer->len;
	struct span_walk first = span_walk(s.first), second = span_walk(s.second);

	for (size_t i = 0;; i++) {
		bool more = span_next(&first);

		if (!span_next(&second) && !more)
			break;
		buffer_format(pointer, "/%zu", i);
		if (differs((struct sides){ first.value, second.value }, pointer, found))
			return;
		pointer_cut(pointer, len);
	}
	*found = s;
}

/* Whether they differ; then *found is the first and innermost pair of values that do,
 * and pointer leads there. */
static bool
differs(struct sides s, struct buffer *pointer, struct sides *found)
{
	char type = span_type(s.first);

	if (s.first.at && s.second.at && same(s.first, s.second))
		return false;
	*found = s;
	if (type != span_type(s.second))
		return true;
	if (type == 'o')
		object_differs(s, pointer, found);
	else if (type == 'a')
		array_differs(s, pointer, found);
	return true;
}

void
difference_excerpt(struct span value, size_t from, struct buffer *out)
{
	size_t start = from > SHOWN_BEFORE ? from - SHOWN_BEFORE : 0;

	if (!value.at)
		return;
	while (start > 0 && start < value.len && ((unsigned char)value.at[start] & 0xc0) == 0x80)
		start--;
	if (start > 0)
		buffer_text(out, "…");
	text_visible(out, value.at + start, value.len - start, SHOWN_COLUMNS);
}

void
difference_values(struct difference *d, struct span first, struct span second)
{
	struct sides found = { first, second };
	size_t same_bytes = 0, most;

	d->kind = DIFFERENCE_VALUE;
	buffer_clear(&d->pointer);
	differs(found, &d->pointer, &found);
	most = found.first.len < found.second.len ? found.first.len : found.second.len;
	while (same_bytes < most && found.first.at[same_bytes] == found.second.at[same_bytes])
		same_bytes++;
	difference_excerpt(found.first, same_bytes, &d->first);
	difference_excerpt(found.second, same_bytes, &d->second);
}

/* The transcripts, each at an event. */
struct pair {
	struct canonical first, second;
};

int
difference_event(struct difference *d, enum difference_kind kind, struct canonical *c,
    const struct graph_node *node, struct error *err)
{
	d->kind = kind;
	uuid_write(node->id, d->event_id);
	d->type = (enum event_type)node->type;
	buffer_clear(&d->call);
	return canonical_call(c, node, &d->call, err);
}

/* The event that one transcript has come to, against the same one of the other. 1:
 * *d tells how they differ; 0: they do not; -1: *err. */
static int
compare_event(struct difference *d, enum difference_kind alone, struct canonical *c,
    struct canonical *other, struct error *err)
{
	uint32_t counterpart = graph_find(&other->graph, c->node->id);
	const struct graph_node *node;
	struct buffer bytes = BUFFER_INIT;
	struct span here, there;
	int differ;

	if (difference_event(d, alone, c, c->node, err) != 0)
		return -1;
	if (counterpart == GRAPH_NONE)
		return 1;
	node = &other->graph.nodes[counterpart];
	if (canonical_read(other, node, &bytes, err) != 0)
		return -1;
	here = span_of(c->bytes.data, c->bytes.len);
	there = span_of(bytes.data, bytes.len);
	differ = !same(here, there);
	if (differ && alone == DIFFERENCE_FIRST_ONLY)
		difference_values(d, here, there);
	else if (differ)
		difference_values(d, there, here);
	buffer_free(&bytes);
	return differ;
}

/* Where two orders part, one of the two events is missing in the other transcript or
 * has other causes there: else the smaller one would have come first in both. */
static int
compare_parted(struct pair *p, int first, int second, struct difference *d, struct error *err)
{
	int differ = 0;

	if (first == 1)
		differ = compare_event(d, DIFFERENCE_FIRST_ONLY, &p->first, &p->second, err);
	if (differ == 0 && second == 1)
		differ = compare_event(d, DIFFERENCE_SECOND_ONLY, &p->second, &p->first, err);
	assert(differ != 0);
	return differ;
}

static int
compare_events(struct pair *p, struct difference *d, struct error *err)
{
	for (;;) {
		int first = canonical_next(&p->first, err);
		int second = first < 0 ? -1 : canonical_next(&p->second, err);

		if (first < 0 || second < 0)
			return -1;
		if (first == 0 && second == 0)
			return 0;
		if (first != second || !same(span_of(p->first.bytes.data, p->first.bytes.len),
		    span_of(p->second.bytes.data, p->second.bytes.len)))
			return compare_parted(p, first, second, d, err);
	}
}

int
canonical_compare(const char *first, const char *second, struct difference *d,
    struct error *err)
{
	struct pair p;
	int differ;

	memset(d, 0, sizeof *d);
	if (canonical_open_both(&p.first, &p.second, first, second, err) != 0)
		return -1;
	differ = compare_events(&p, d, err);
	canonical_close(&p.first);
	canonical_close(&p.second);
	return differ;
}

static void
side_text(const char *name, const struct buffer *value, struct buffer *out)
{
	buffer_format(out, "  %s: %s\n", name, value->len > 0 ? value->data : "(absent)");
}

/* Why it failed, and the end of what it wrote. */
static void
failure_text(const struct difference *d, const char *name, struct buffer *out)
{
	const char *at = buffer_string(&d->errors), *end = at + d->errors.len;
	size_t lines = 0;

	buffer_format(out, "  %s: failed: ", name);
	text_visible(out, d->failure.data, d->failure.len, 0);
	buffer_byte(out, '\n');
	while (end > at && end[-1] == '\n')
		end--;
	for (const char *from = end; from > at; from--)
		if (from[-1] == '\n' && ++lines == SHOWN_LINES)
			at = from;
	while (at < end) {
		const char *next = memchr(at, '\n', (size_t)(end - at));
		size_t len = (size_t)((next != NULL ? next : end) - at);

		buffer_text(out, "    ");
		text_visible(out, at, len, SHOWN_ERROR_COLUMNS);
		buffer_byte(out, '\n');
		at += len + (next != NULL);
	}
}

void
difference_text(const struct difference *d, const char *first, const char *second,
    struct buffer *out)
{
	if (d->call.len > 0)
		text_visible(out, d->call.data, d->call.len, 0);
	else
		buffer_text(out, "run");
	buffer_format(out, ": %s %s", event_type_name(d->type), d->event_id);
	if (d->kind != DIFFERENCE_VALUE) {
		buffer_format(out, " is in the %s only\n",
		    d->kind == DIFFERENCE_FIRST_ONLY ? first : second);
		return;
	}
	buffer_text(out, ": ");
	text_visible(out, d->pointer.data, d->pointer.len, 0);
	buffer_text(out, " differs\n");
	side_text(first, &d->first, out);
	if (d->failure.len > 0)
		failure_text(d, second, out);
	else
		side_text(second, &d->second, out);
}

void
difference_free(struct difference *d)
{
	buffer_free(&d->call);
	buffer_free(&d->pointer);
	buffer_free(&d->first);
	buffer_free(&d->second);
	buffer_free(&d->failure);
	buffer_free(&d->errors);
}
