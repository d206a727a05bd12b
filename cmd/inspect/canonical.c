/*
 * Members are left out while a line is copied. The lists of their keys are one array, each a
 * tail of the longer one. Which calls have another run in them is told by names, as that of a
 * call begins with those around it; where two recordings are compared, a call counts as such
 * in both if it is in one.
 */
#include "inspect/canonical.h"

#include "transcript/event_keys.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Keys that a canonical object has not, NULL at the end. */
static const char *const line_drops[] = { "seq", "timestamp", "prev", NULL };
static const char *const drops_of_cut_off[] = {
	KEY_RESULT, KEY_STDOUT_BYTES, KEY_STDERR, KEY_STDERR_BYTES,
	"changed", KEY_CHANGED_MORE, "commit", KEY_DELAY_MS, "duration_ms", "parts", "seal", "try", NULL };
static const char *const *const drops_with_stderr = drops_of_cut_off + 2;
static const char *const *const payload_drops = drops_of_cut_off + 4; /* any other's */
static const char *const retry_drops[] = { "duration_ms", NULL };

/* What of an object is left out, and of one of its members, or of each element of that. */
struct form {
	const char *const *drops;
	const char *key;
	const struct form *member, *element;
};

static const struct form retry_form = { retry_drops, NULL, NULL, NULL },
    payload_form = { payload_drops, "retries", NULL, &retry_form },
    payload_form_around = { drops_with_stderr, "retries", NULL, &retry_form },
    payload_form_cut_off = { drops_of_cut_off, "retries", NULL, &retry_form },
    plain_form = { line_drops, "payload", &payload_form, NULL },
    around_form = { line_drops, "payload", &payload_form_around, NULL },
    cut_off_form = { line_drops, "payload", &payload_form_cut_off, NULL };

/* Anything but an object as it is. */
static void
write_object(struct span value, const struct form *form, struct buffer *out)
{
	char before = '{', between = '[';

	if (span_type(value) != 'o') {
		buffer_append(out, value.at, value.len);
		return;
	}
	for (struct span_walk member = span_walk(value); span_next(&member);) {
		if (span_one_of(member.key, form->drops))
			continue;
		buffer_byte(out, before);
		before = ',';
		buffer_append(out, member.key.at, member.key.len);
		buffer_byte(out, ':');
		if (form->key != NULL && span_is(member.key, form->key) && form->member != NULL) {
			write_object(member.value, form->member, out);
		} else if (form->key != NULL && span_is(member.key, form->key) &&
		    span_type(member.value) == 'a') {
			for (struct span_walk line = span_walk(member.value); span_next(&line);) {
				buffer_byte(out, between);
				between = ',';
				write_object(line.value, form->element, out);
			}
			buffer_text(out, between == '[' ? "[]" : "]");
		} else {
			buffer_append(out, member.value.at, member.value.len);
		}
	}
	buffer_text(out, before == '{' ? "{}" : "}");
}

static void
write_line(struct span line, bool around, struct buffer *out)
{
	static const char *const cut_off[] = { "cancelled", "interrupted", "timeout",
		"downstream_closed", NULL };
	struct span code = span_path(line, KEY_PAYLOAD, KEY_ERROR, KEY_CODE, NULL);

	/* How far it came is chance. */
	write_object(line, span_one_of(code, cut_off) != NULL ? &cut_off_form :
	    around ? &around_form : &plain_form, out);
}

void
canonical_line(const char *line, size_t len, struct buffer *out)
{
	write_line(span_of(line, len), false, out);
}

/* Enters the calls in whose names the name of one begins that has no stderr as it was. */
static int
find_around(struct canonical *c, struct map *around, struct error *err)
{
	struct buffer name = BUFFER_INIT;
	int failed = 0;

	for (uint32_t i = 0; i < c->graph.count && !failed; i++) {
		if (!c->graph.nodes[i].unlike)
			continue;
		buffer_clear(&name);
		failed = canonical_call(c, &c->graph.nodes[i], &name, err);
		for (size_t at = 0; at < name.len && !failed; at++)
			if (name.data[at] == '/')
				map_put(around, name.data, at, 1);
	}
	buffer_free(&name);
	return failed;
}

/* 1: such a one is in the call of this event; -1 with *err. */
static int
is_around(struct canonical *c, const struct graph_node *node, struct error *err)
{
	struct buffer name = BUFFER_INIT;
	int found;

	if (c->around.count == 0 ||
	    (node->type != EVENT_STEP_COMPLETED && node->type != EVENT_TOOL_RESULT))
		return 0;
	found = canonical_call(c, node, &name, err);
	if (found == 0)
		found = map_get(&c->around, name.data, name.len) != NULL;
	buffer_free(&name);
	return found;
}

int
canonical_open(struct canonical *c, const char *path, struct error *err)
{
	memset(c, 0, sizeof *c);
	if (graph_open(&c->graph, path, err) != 0)
		return -1;
	c->order = graph_order(&c->graph, err);
	if (c->order && find_around(c, &c->around, err) == 0)
		return 0;
	canonical_close(c);
	return -1;
}

int
canonical_open_both(struct canonical *a, struct canonical *b, const char *first,
    const char *second, struct error *err)
{
	if (canonical_open(a, first, err) != 0)
		return -1;
	if (canonical_open(b, second, err) == 0) {
		if (find_around(a, &b->around, err) == 0 && find_around(b, &a->around, err) == 0)
			return 0;
		canonical_close(b);
	}
	canonical_close(a);
	return -1;
}

int
canonical_read(struct canonical *c, const struct graph_node *node, struct buffer *out,
    struct error *err)
{
	int around = is_around(c, node, err);
	const char *line = around < 0 ? NULL : graph_line(&c->graph, node, err);

	if (!line)
		return -1;
	write_line(span_of(line, node->length), around == 1, out);
	return 0;
}

int
canonical_next(struct canonical *c, struct error *err)
{
	if (c->next == c->graph.count)
		return 0;
	c->node = &c->graph.nodes[c->order[c->next++]];
	buffer_clear(&c->bytes);
	return canonical_read(c, c->node, &c->bytes, err) == 0 ? 1 : -1;
}

int
canonical_call(struct canonical *c, const struct graph_node *node, struct buffer *out,
    struct error *err)
{
	const struct graph_node *start;
	const char *line;

	if (node->call == GRAPH_NONE)
		return 0;
	start = &c->graph.nodes[node->call];
	line = graph_line(&c->graph, start, err);
	if (!line)
		return -1;
	span_decode(span_path(span_of(line, start->length), KEY_PAYLOAD, KEY_CALL, NULL), out);
	return 0;
}

void
canonical_close(struct canonical *c)
{
	graph_close(&c->graph);
	map_free(&c->around);
	free(c->order);
	buffer_free(&c->bytes);
}

int
canonical_write(const char *path, struct outlet *out, struct error *err)
{
	struct canonical c;
	int got;

	if (canonical_open(&c, path, err) != 0)
		return -1;
	while ((got = canonical_next(&c, err)) == 1) {
		buffer_byte(&c.bytes, '\n');
		if ((got = outlet_json(out, c.bytes.data, c.bytes.len, err)) != 0)
			break;
	}
	canonical_close(&c);
	return got;
}
