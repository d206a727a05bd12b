/*
 * Lines that AWF writes begin with seq, end with prev, and have their keys in one order. So seq,
 * type and prev are found by position, and a key is first compared with the next one in that order.
 * A line that does not fit is walked as JSON: other programs may write lines too.
 */
#include "transcript/event.h"

#include <stddef.h>
#include <string.h>

#include "base/invariant.h"
#include "base/memory.h"
#include "json/bytes.h"
#include "transcript/event_keys.h"
#include "transcript/event_table.h"

const char *
event_type_name(enum event_type type)
{
	return type < EVENT_TYPES ? event_table[type].name : "unknown";
}

const char *
event_named(const struct event *e)
{
	INVARIANT(e->type <= EVENT_TYPES && (e->type != EVENT_TYPES || e->type_name != NULL));
	return e->type == EVENT_TYPES ? e->type_name : event_type_name(e->type);
}

enum event_type
event_type_from_name(const char *name, size_t len)
{
	enum event_type type = 0;

	while (type < EVENT_TYPES && (event_table[type].len != len ||
	    memcmp(event_table[type].name, name, len) != 0))
		type++;
	return type;
}

bool
event_type_synced(enum event_type type)
{
	return type < EVENT_TYPES && event_table[type].synced;
}

bool
event_type_starts_call(enum event_type type)
{
	return type == EVENT_STEP_STARTED || type == EVENT_CALL_WORKFLOW_STARTED;
}

bool
event_type_ends_call(enum event_type type)
{
	return type == EVENT_STEP_COMPLETED || type == EVENT_CALL_WORKFLOW_COMPLETED;
}

#define SEQ_HEAD "{\"seq\":"
#define SEQ_HEAD_LEN (sizeof SEQ_HEAD - 1)

/* Reads the seq at the start of a line; returns the byte after its comma, or NULL. */
static const char *
seq_head(const char *line, size_t len, int64_t *seq)
{
	const char *at = line + SEQ_HEAD_LEN, *end = line + len;
	int64_t value = 0;

	if (len < SEQ_HEAD_LEN + 2 || memcmp(line, SEQ_HEAD, SEQ_HEAD_LEN) != 0 || *at == '0')
		return NULL;
	for (; at < end && *at >= '0' && *at <= '9'; at++) {
		if (value > (INT64_MAX - 9) / 10)
			return NULL;
		value = value * 10 + (*at - '0');
	}
	if (value == 0 || at == end || *at != ',')
		return NULL;
	*seq = value;
	return at + 1;
}

bool
event_seq(const char *line, size_t len, int64_t *seq)
{
	return seq_head(line, len, seq) != NULL;
}

/* The keys of a line, with the place in struct event_view for their values. Writers keep this
 * order, so a key is searched for from the previous one on. */
static const struct {
	const char *name;
	size_t len;
	size_t offset; /* offset of the value's span in struct event_view */
} view_keys[] = {
#define VIEW_KEY(name, member) { name, sizeof name - 1, offsetof(struct event_view, member) }
	VIEW_KEY(KEY_TIMESTAMP, timestamp),
	VIEW_KEY(KEY_EVENT_ID, event_id),
	VIEW_KEY(KEY_RUN_ID, run_id),
	VIEW_KEY(KEY_PARENT_RUN_ID, parent_run_id),
	VIEW_KEY(KEY_CHILD_RUN_ID, child_run_id),
	VIEW_KEY(KEY_PARENT_EVENT_ID, parent_event_id),
	VIEW_KEY(KEY_LINKS, links),
	VIEW_KEY(KEY_TYPE, type_name),
	VIEW_KEY(KEY_PATH, path),
	VIEW_KEY(KEY_PAYLOAD, payload),
	VIEW_KEY(KEY_REFS, refs),
	VIEW_KEY(KEY_PREV, prev),
#undef VIEW_KEY
};
#define VIEW_KEYS (sizeof view_keys / sizeof view_keys[0])

/* Whether a raw key token, quotes included, is name: AWF's keys need no escapes. */
static bool
key_is(struct span key, const char *name, size_t len)
{
	return key.len == len + 2 && memcmp(key.at + 1, name, len) == 0;
}

/* Where the value of a key is stored, or NULL; the search starts at *next. */
static struct span *
view_member(struct event_view *view, struct span key, size_t *next)
{
	for (size_t tried = 0; tried < VIEW_KEYS; tried++) {
		size_t i = (*next + tried) % VIEW_KEYS;
		if (key_is(key, view_keys[i].name, view_keys[i].len)) {
			*next = i + 1;
			return (struct span *)(void *)((char *)view + view_keys[i].offset);
		}
	}
	return NULL;
}

/* The raw text between the quotes of a string; .at NULL if value is not a string, or is cut off. */
static struct span
event_unquote(struct span value)
{
	if (value.at == NULL || value.len < 2 || value.at[0] != '"' || value.at[value.len - 1] != '"')
		return span_of(NULL, 0);
	return span_of(value.at + 1, value.len - 2);
}

/* An integer of a line; 0 if the value is not an integer. */
static int64_t
view_integer(struct span value)
{
	long long integer = 0;

	return span_integer(value, &integer) ? integer : 0;
}

int
event_view(const char *line, size_t len, struct event_view *view)
{
	struct span *member;
	size_t next = 0;

	*view = (struct event_view){ .type = EVENT_TYPES, .told = EVENT_TYPES };
	if (span_type(span_of(line, len)) != 'o')
		return -1;
	for (struct span_walk walk = span_walk(span_of(line, len)); span_next(&walk);) {
		if ((member = view_member(view, walk.key, &next)) != NULL)
			*member = walk.value;
		else if (key_is(walk.key, KEY_SEQ, 3))
			view->seq = view_integer(walk.value);
		else if (key_is(walk.key, KEY_ITERATION, 9))
			view->iteration = view_integer(walk.value);
	}
	struct span name = event_unquote(view->type_name);
	if (view->seq < 1 || name.at == NULL)
		return -1;
	view->told = event_type_from_name(name.at, name.len);
	view->type = event_is_foreign(view->told, view->payload) ? EVENT_TYPES : view->told;
	INVARIANT(name.at > line && name.at + name.len < line + len);
	return 0;
}

/* `source` is always the first member of a foreign event's payload, so its first bytes decide. An
 * event that begins or ends an attempt or a call is never foreign. */
bool
event_is_foreign(enum event_type told, struct span payload)
{
	static const char mark[] = "{\"" KEY_SOURCE "\":{";

	return told >= EVENT_MESSAGE_USER && payload.len >= sizeof mark - 1 &&
	    memcmp(payload.at, mark, sizeof mark - 1) == 0;
}

/* Skips text if it comes next; returns whether it did. */
static inline bool
event_accept_text(const char **at, const char *end, const char *text, size_t len)
{
	if ((size_t)(end - *at) < len || memcmp(*at, text, len) != 0)
		return false;
	*at += len;
	return true;
}

/* The same for a string of len bytes without escapes, after its first quote. */
static inline bool
event_accept_plain_string(const char **at, const char *end, size_t len)
{
	const char *stop = bytes_not_plain(*at, end);

	if ((size_t)(stop - *at) != len || stop == end || *stop != '"')
		return false;
	*at = stop + 1;
	return true;
}

#define TAKE(at, end, text) event_accept_text(at, end, text, sizeof text - 1)
#define FIRST(key) "\"" key "\":\""
#define NEXT(key) "," FIRST(key)

struct span
event_time(const char *line, size_t len)
{
	int64_t seq;
	const char *at = seq_head(line, len, &seq), *end = line + len, *time;

	if (at == NULL || !TAKE(&at, end, FIRST(KEY_TIMESTAMP)))
		return SPAN_NONE;
	time = at;
	return event_accept_plain_string(&at, end, CLOCK_TEXT_SIZE - 1) ?
	    span_of(time, CLOCK_TEXT_SIZE - 1) :
	    SPAN_NONE;
}

/* Reads the head of a line if it is byte for byte as AWF writes it, and its causes are events of
 * the same file. Otherwise false. */
static bool
usual_head(const char *line, size_t len, struct event_head *head)
{
	const char *at = seq_head(line, len, &head->seq), *end = line + len, *stop;

	if (at == NULL || !TAKE(&at, end, FIRST(KEY_TIMESTAMP)))
		return false;
	head->timestamp = span_of(at, CLOCK_TEXT_SIZE - 1);
	if (!event_accept_plain_string(&at, end, CLOCK_TEXT_SIZE - 1) ||
	    !TAKE(&at, end, NEXT(KEY_EVENT_ID)) || !event_accept_plain_string(&at, end,
	    ID_SIZE - 1) ||
	    !TAKE(&at, end, NEXT(KEY_RUN_ID)) || !event_accept_plain_string(&at, end,
	    ID_SIZE - 1) ||
	    (TAKE(&at, end, NEXT(KEY_PARENT_RUN_ID)) &&
	    !event_accept_plain_string(&at, end, ID_SIZE - 1)) ||
	    (TAKE(&at, end, NEXT(KEY_CHILD_RUN_ID)) &&
	    !event_accept_plain_string(&at, end, ID_SIZE - 1)))
		return false;
	if (TAKE(&at, end, NEXT(KEY_PARENT_EVENT_ID)) ?
	    !event_accept_plain_string(&at, end, ID_SIZE - 1) :
	    !TAKE(&at, end, ",\"" KEY_PARENT_EVENT_ID "\":null"))
		return false;
	if (TAKE(&at, end, ",\"" KEY_LINKS "\":[")) {
		do {
			if (!TAKE(&at, end, "\"") ||
			    !event_accept_plain_string(&at, end, ID_SIZE - 1))
				return false;
		} while (TAKE(&at, end, ","));
		if (!TAKE(&at, end, "]"))
			return false;
	}
	if (!TAKE(&at, end, NEXT(KEY_TYPE)))
		return false;
	stop = bytes_not_plain(at, end);
	if (stop == end || *stop != '"')
		return false;
	head->type_name = span_of(at, (size_t)(stop - at));
	head->type = event_type_from_name(at, head->type_name.len);
	head->len = (size_t)(stop + 1 - line);
	INVARIANT(head->seq > 0 && head->len <= len);
	return true;
}

int
event_peek(const char *line, size_t len, struct event_head *head)
{
	if (usual_head(line, len, head))
		return 0;
	*head = (struct event_head){ .type = EVENT_TYPES };
	if (span_type(span_of(line, len)) != 'o')
		return -1;
	for (struct span_walk member = span_walk(span_of(line, len));
	    (head->seq == 0 || head->type_name.at == NULL) && span_next(&member);) {
		if (key_is(member.key, KEY_SEQ, 3))
			head->seq = view_integer(member.value);
		else if (key_is(member.key, KEY_TYPE, 4))
			head->type_name = event_unquote(member.value);
	}
	if (head->seq < 1 || head->type_name.at == NULL) {
		head->seq = 0;
		return -1;
	}
	head->type = event_type_from_name(head->type_name.at, head->type_name.len);
	return 0;
}

bool
event_tells_retry(const struct event_view *view)
{
	return view->type == EVENT_MESSAGE_ASSISTANT &&
	    span_type(span_member(view->payload, KEY_RETRY)) == 'o';
}

bool
event_tells_wait(const struct event_view *view)
{
	return view->type == EVENT_MESSAGE_ASSISTANT &&
	    span_type(span_member(view->payload, KEY_WAIT)) == 'o';
}

bool
event_copy_id(struct span value, char id[ID_SIZE])
{
	if (span_copy(value, id, ID_SIZE) && id_valid(id, strlen(id)))
		return true;
	id[0] = '\0';
	return false;
}

void
event_add_link(struct buffer *links, const char *run_id, const char *event_id)
{
	INVARIANT(id_valid(event_id, strlen(event_id)));
	if (links->len > 0)
		buffer_byte(links, ',');
	if (run_id != NULL)
		buffer_format(links, "{\"" KEY_RUN_ID "\":\"%s\",\"" KEY_EVENT_ID "\":\"%s\"}", run_id,
		    event_id);
	else
		json_quote(links, event_id, strlen(event_id));
}

void
event_write_links(struct writer *w, struct span links)
{
	if (links.len == 0)
		return;
	writer_member_array(w, KEY_LINKS);
	writer_span(w, links);
	writer_array_end(w);
}

#define PREV_HEAD "\"" KEY_PREV "\":\""
#define PREV_HEAD_LEN (sizeof PREV_HEAD - 1)
#define PREV_LEN (PREV_HEAD_LEN + DIGEST_SIZE - 1 + 2) /* with the closing quote and brace */

bool
event_line_chained(const char *line, size_t len)
{
	const char *tail, *digest;
	int64_t seq;

	if (len < PREV_LEN || !event_seq(line, len, &seq))
		return false;
	tail = line + len - PREV_LEN;
	digest = tail + PREV_HEAD_LEN;
	return memcmp(tail, PREV_HEAD, PREV_HEAD_LEN) == 0 &&
	    memcmp(digest + DIGEST_SIZE - 1, "\"}", 2) == 0 &&
	    bytes_not_hex(digest, line + len) == digest + DIGEST_SIZE - 1;
}

bool
event_line_whole(const char *line, size_t len, int64_t *seq)
{
	if (!event_line_chained(line, len) || memchr(line, '\0', len) != NULL)
		return false;
	return seq == NULL || event_seq(line, len, seq);
}

bool
event_view_whole(const char *line, size_t len, struct event_view *view)
{
	size_t bad;

	return event_line_whole(line, len, NULL) &&
	    scan_within(line, len, SCAN_LINE_DEPTH, &bad) == NULL && event_view(line, len, view) == 0;
}

bool
event_decides(const struct event_view *event)
{
	return event->type == EVENT_STEP_COMPLETED &&
	    span_type(span_path(event->payload, KEY_APPROVAL, KEY_DECIDES, NULL)) == 's';
}

unsigned
event_path_depth(struct span path)
{
	unsigned depth = path.len > 2;

	for (size_t i = 0; i < path.len; i++)
		depth += path.at[i] == '.';
	return depth;
}
