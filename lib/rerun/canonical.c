/*
 * The canonical form of a transcript, and the first difference of two.
 *
 * Members are removed while a line is copied. The lists of removed keys share one array: each is
 * the tail of a longer one. Whether a call contains a child run is found by names: the name of a
 * call begins with those of the calls around it. When two recordings are compared, a call that
 * contains a child run in one of them is treated as such in both.
 */
#include "rerun/canonical.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/line_diff.h"
#include "base/text.h"
#include "transcript/event_keys.h"

#define SHOWN_COLUMNS 72 /* columns shown of a value */
#define SHOWN_BEFORE 24  /* bytes shown before the first difference */
#define SHOWN_LINES 5    /* lines shown of a failed call's stderr */
#define SHOWN_ERROR_COLUMNS 200
#define SHOWN_CHANGED 16 /* lines shown where two texts differ */

/* Keys that are removed; NULL-terminated. */
static const char *const line_drops[] = { KEY_SEQ, KEY_TIMESTAMP, KEY_PREV, NULL };
static const char *const drops_of_cut_off[] = {
	KEY_RESULT, KEY_STDOUT_BYTES, KEY_STDERR, KEY_STDERR_BYTES,
	KEY_CHANGED, KEY_CHANGED_MORE, KEY_COMMIT, KEY_DELAY_MS, KEY_DURATION_MS, KEY_FAR_END, KEY_PARTS,
	KEY_SEAL, KEY_TOOL_CALL, KEY_TRY, KEY_VIA, NULL };
static const char *const *const drops_with_stderr = drops_of_cut_off + 2;
static const char *const *const payload_drops = drops_of_cut_off + 4; /* of all other calls */
static const char *const retry_drops[] = { KEY_DURATION_MS, NULL };
/* The message of an error ends with the end of stderr (proc/last_words.h). */
static const char *const error_drops[] = { KEY_MESSAGE, NULL };

/* Which keys are removed from an object, and from some of its members, or from each element of a
 * member that is a list. */
struct form {
	const char *const *drops;
	const struct form_member {
		const char *key;
		const struct form *form;
		bool each;                   /* it is a list, and form applies to its elements */
	} *members;                  /* NULL: none; otherwise ends with key NULL */
};

static const struct form error_form = { error_drops, NULL }, retry_form = { retry_drops, NULL };
static const struct form_member members_of_retry_around[] = { { KEY_ERROR, &error_form, false }, { NULL, NULL, false } };
static const struct form retry_form_around = { retry_drops, members_of_retry_around };
static const struct form_member members[] = { { KEY_RETRIES, &retry_form, true }, { NULL, NULL, false } },
    members_around[] = { { KEY_RETRIES, &retry_form_around, true }, { KEY_ERROR, &error_form, false }, { NULL, NULL, false } };
static const struct form payload_form = { payload_drops, members },
    payload_form_around = { drops_with_stderr, members_around },
    payload_form_cut_off = { drops_of_cut_off, members_around };
static const struct form_member plain_payload[] = { { KEY_PAYLOAD, &payload_form, false }, { NULL, NULL, false } },
    around_payload[] = { { KEY_PAYLOAD, &payload_form_around, false }, { NULL, NULL, false } },
    cut_off_payload[] = { { KEY_PAYLOAD, &payload_form_cut_off, false }, { NULL, NULL, false } };
/* Of a run that consists of other programs' events, what its sender has said. */
static const char *const sent_drops[] = { KEY_SEQ, KEY_TIMESTAMP, KEY_PREV, KEY_EVENT_ID, KEY_RUN_ID,
	KEY_PARENT_EVENT_ID, KEY_LINKS, NULL };
static const struct form sent_form = { sent_drops, NULL };
static const struct form plain_form = { line_drops, plain_payload },
    around_form = { line_drops, around_payload }, cut_off_form = { line_drops, cut_off_payload };

static const struct form_member *
form_member_find(const struct form *form, struct span key)
{
	for (const struct form_member *m = form->members; m != NULL && m->key != NULL; m++)
		if (span_is(key, m->key))
			return m;
	return NULL;
}

/* Writes an object without the removed keys, any other value unchanged. */
static void
write_object(struct span value, const struct form *form, struct buffer *out)
{
	char before = '{', between = '[';

	if (span_type(value) != 'o') {
		buffer_append(out, value.at, value.len);
		return;
	}
	for (struct span_walk member = span_walk(value); span_next(&member);) {
		const struct form_member *inner;

		if (span_one_of(member.key, form->drops))
			continue;
		inner = form_member_find(form, member.key);
		buffer_byte(out, before);
		before = ',';
		buffer_append(out, member.key.at, member.key.len);
		buffer_byte(out, ':');
		if (inner != NULL && !inner->each) {
			write_object(member.value, inner->form, out);
		} else if (inner != NULL && span_type(member.value) == 'a') {
			for (struct span_walk line = span_walk(member.value); span_next(&line);) {
				buffer_byte(out, between);
				between = ',';
				write_object(line.value, inner->form, out);
			}
			buffer_text(out, between == '[' ? "[]" : "]");
		} else {
			buffer_append(out, member.value.at, member.value.len);
		}
	}
	buffer_text(out, before == '{' ? "{}" : "}");
}

static void
canonical_write_line(struct span line, bool around, struct buffer *out)
{
	static const char *const cut_off[] = { "cancelled", "interrupted", "timeout",
		"downstream_closed", NULL };
	struct span code = span_path(line, KEY_PAYLOAD, KEY_ERROR, KEY_CODE, NULL);

	/* A call that was cut off has written an amount of stderr that depends on chance. The
	 * message at the end of a run may be that of a call around another run. */
	write_object(line, span_one_of(code, cut_off) != NULL ? &cut_off_form :
	    around || span_is(code, error_name(ERROR_DIVERGENCE)) ||
	    span_is(span_member(line, KEY_TYPE), "run.completed") ? &around_form : &plain_form, out);
}

void
canonical_line(const char *line, size_t len, struct buffer *out)
{
	canonical_write_line(span_of(line, len), false, out);
}

/* Adds the names of all calls around a call whose stderr cannot be the same in a replay. */
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

/* Whether the run consists of events of other programs: its first line says so. */
static int
canonical_look_at_start(struct canonical *c, struct error *err)
{
	const char *line;

	for (uint32_t i = 0; i < c->graph.count; i++) {
		const struct graph_node *node = &c->graph.nodes[i];

		if (node->seq != 1 || node->type != EVENT_RUN_STARTED)
			continue;
		line = graph_line(&c->graph, node, err);
		if (line == NULL)
			return -1;
		c->sent = span_is(span_path(span_of(line, node->length), KEY_PAYLOAD, KEY_KIND, NULL),
		    "record");
		return 0;
	}
	return 0;
}

int
canonical_open(struct canonical *c, const char *path, struct error *err)
{
	memset(c, 0, sizeof *c);
	if (graph_open(&c->graph, path, err) != 0)
		return -1;
	c->order = graph_order(&c->graph, err);
	if (c->order && canonical_look_at_start(c, err) == 0 && find_around(c, &c->around, err) == 0)
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
canonical_is_around(struct canonical *c, const struct graph_node *node, struct error *err)
{
	struct buffer name = BUFFER_INIT;
	int around = 0;

	if (c->around.count == 0 || (node->type != EVENT_STEP_COMPLETED && node->type != EVENT_TOOL_RESULT))
		return 0;
	if (canonical_call(c, node, &name, err) != 0)
		around = -1;
	else
		around = map_get(&c->around, name.data, name.len) != NULL;
	buffer_free(&name);
	return around;
}

int
canonical_read_as(struct canonical *c, const struct graph_node *node, bool around, struct buffer *out,
    struct error *err)
{
	const char *line = graph_line(&c->graph, node, err);

	if (!line)
		return -1;
	if (c->sent)
		write_object(span_of(line, node->length), &sent_form, out);
	else
		canonical_write_line(span_of(line, node->length), around, out);
	return 0;
}

int
canonical_read(struct canonical *c, const struct graph_node *node, struct buffer *out,
    struct error *err)
{
	int around = canonical_is_around(c, node, err);

	return around == -1 ? -1 : canonical_read_as(c, node, around, out, err);
}

int
canonical_next(struct canonical *c, struct error *err)
{
	do {
		if (c->next == c->graph.count)
			return 0;
		c->node = &c->graph.nodes[c->order[c->next++]];
	} while (c->node->foreign != c->sent);
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

/* ---- differences ---- */

/* The two values that are compared; .at NULL: missing. */
struct sides {
	struct span first, second;
};

static bool canonical_find_difference(struct sides s, struct buffer *pointer, struct sides *found);

static bool
has_member(struct span object, struct span key)
{
	for (struct span_walk member = span_walk(object); span_next(&member);)
		if (span_same(member.key, key))
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

static void
object_differs(struct sides s, struct buffer *pointer, struct sides *found)
{
	size_t len = pointer->len;
	struct span_walk first = span_walk(s.first), second = span_walk(s.second);

	/* After the last member the key's .at is NULL. */
	while (span_next(&first), span_next(&second), first.key.at &&
	    span_same(first.key, second.key)) {
		pointer_append(pointer, first.key);
		if (canonical_find_difference((struct sides){ first.value, second.value }, pointer,
		    found))
			return;
		pointer_cut(pointer, len);
	}
	/* If the keys differ, one is missing in the other object, or the order differs: then the
	 * object itself differs. */
	if (first.key.at && !has_member(s.second, first.key)) {
		pointer_append(pointer, first.key);
		*found = (struct sides){ first.value, SPAN_NONE };
	} else if (second.key.at && !has_member(s.first, second.key)) {
		pointer_append(pointer, second.key);
		*found = (struct sides){ SPAN_NONE, second.value };
	} else {
		*found = s;
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
		if (canonical_find_difference((struct sides){ first.value, second.value }, pointer,
		    found))
			return;
		pointer_cut(pointer, len);
	}
	*found = s;
}

/* Whether they differ; then *found is the first, innermost pair of values that differ, and pointer
 * leads to it. */
static bool
canonical_find_difference(struct sides s, struct buffer *pointer, struct sides *found)
{
	char type = span_type(s.first);

	if (s.first.at && s.second.at && span_same(s.first, s.second))
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

struct changed_lines {
	struct buffer *out;
	size_t count;
	bool long_ones; /* the values are too long to be shown whole */
};

static void
canonical_add_changed_line(void *user, char sign, const char *line, size_t len, bool lf)
{
	struct changed_lines *changed = user;

	(void)lf;
	changed->long_ones |= len > SHOWN_ERROR_COLUMNS;
	if (++changed->count > SHOWN_CHANGED)
		return;
	buffer_format(changed->out, "    %c", sign);
	text_visible(changed->out, line, len, SHOWN_ERROR_COLUMNS);
	buffer_byte(changed->out, '\n');
}

/* Writes the differing lines of two texts, of which at least one has several lines. */
static void
write_changed_lines(struct difference *d, const struct sides *found)
{
	struct buffer first = BUFFER_INIT, second = BUFFER_INIT;
	struct changed_lines changed = { .out = &d->lines };
	struct line_hunk hunk = LINE_HUNK_INIT;
	struct line_diff diff;

	if (span_type(found->first) == 's' && span_type(found->second) == 's') {
		span_decode(found->first, &first);
		span_decode(found->second, &second);
	}
	if (strchr(buffer_string(&first), '\n') != NULL || strchr(buffer_string(&second), '\n') != NULL) {
		line_diff_begin(&diff, buffer_string(&first), first.len, buffer_string(&second), second.len, false);
		while (line_diff_next_hunk(&diff, 0, &hunk))
			line_diff_hunk_lines(&diff, &hunk, canonical_add_changed_line, &changed);
		line_diff_free(&diff);
	}
	if (changed.count > SHOWN_CHANGED)
		buffer_format(&d->lines, "    and %zu more lines\n", changed.count - SHOWN_CHANGED);
	if (changed.long_ones)
		buffer_clear(&d->lines);
	buffer_free(&first);
	buffer_free(&second);
}

void
difference_values(struct difference *d, struct span first, struct span second)
{
	struct sides found = { first, second };
	size_t same_bytes = 0, most;

	d->kind = DIFFERENCE_VALUE;
	buffer_clear(&d->pointer);
	canonical_find_difference(found, &d->pointer, &found);
	most = found.first.len < found.second.len ? found.first.len : found.second.len;
	while (same_bytes < most && found.first.at[same_bytes] == found.second.at[same_bytes])
		same_bytes++;
	difference_excerpt(found.first, same_bytes, &d->first);
	difference_excerpt(found.second, same_bytes, &d->second);
	write_changed_lines(d, &found);
}

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

/* Compares the current event of a transcript with the same event in the other. 1: *d describes the
 * difference; 0: none; -1: *err. */
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
	differ = !span_same(here, there);
	if (differ && alone == DIFFERENCE_FIRST_ONLY)
		difference_values(d, here, there);
	else if (differ)
		difference_values(d, there, here);
	buffer_free(&bytes);
	return differ;
}

int
canonical_compare(const char *first, const char *second, struct difference *d,
    struct error *err)
{
	struct canonical a, b;
	int got_a, got_b, differ = 0;

	memset(d, 0, sizeof *d);
	if (canonical_open_both(&a, &b, first, second, err) != 0)
		return -1;
	do {
		got_a = canonical_next(&a, err);
		got_b = got_a < 0 ? -1 : canonical_next(&b, err);
	} while (got_a == 1 && got_b == 1 && span_same(span_of(a.bytes.data,
	    a.bytes.len), span_of(b.bytes.data, b.bytes.len)));
	if (got_a < 0 || got_b < 0)
		differ = -1;
	/* If the two orders differ here, one of the two events is missing in the other transcript,
	 * or has other causes there; otherwise the one with the smaller id would come first in
	 * both. */
	if (differ == 0 && got_a == 1)
		differ = compare_event(d, DIFFERENCE_FIRST_ONLY, &a, &b, err);
	if (differ == 0 && got_b == 1)
		differ = compare_event(d, DIFFERENCE_SECOND_ONLY, &b, &a, err);
	assert(differ != 0 || (got_a == 0 && got_b == 0));
	canonical_close(&a);
	canonical_close(&b);
	return differ;
}

/* Writes why the call failed only in the second transcript, and the end of its stderr. */
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
	} else {
		buffer_text(out, ": ");
		text_visible(out, d->pointer.data, d->pointer.len, 0);
		buffer_format(out, " differs\n  %s: %s\n", first,
		    d->first.len > 0 ? d->first.data : "(absent)");
		/* If the end of a call differs, the failure printed below says enough. */
		if (d->failure.len == 0 || d->type != EVENT_STEP_COMPLETED)
			buffer_format(out, "  %s: %s\n", second,
			    d->second.len > 0 ? d->second.data : "(absent)");
		buffer_append(out, d->lines.data, d->lines.len);
	}
	if (d->failure.len > 0)
		failure_text(d, second, out);
}

void
difference_free(struct difference *d)
{
	buffer_free(&d->call);
	buffer_free(&d->pointer);
	buffer_free(&d->first);
	buffer_free(&d->second);
	buffer_free(&d->lines);
	buffer_free(&d->failure);
	buffer_free(&d->errors);
}
