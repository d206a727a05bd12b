/*
 * INPUT_AUTO is decided by the first value of the input: a state line begins with a brace, so input
 * with another first byte is text. Values are framed across reads without being parsed, and each is
 * checked when it is complete. On a pipe, socket or shared file, lines are written while the whole
 * file is locked (fcntl(2)): otherwise lines longer than PIPE_BUF could be mixed with others.
 */
#include "storage/state.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/digest.h"
#include "base/id.h"
#include "base/memory.h"
#include "base/text.h"
#include "io/file.h"
#include "io/lock.h"
#include "json/writer.h"
#include "storage/token.h"
#include "transcript/event.h"
#include "transcript/event_keys.h"

#define READ_SIZE ((size_t)64 << 10)

/* ---- data ---- */

void
data_from_text(struct data *d, const char *bytes, size_t len)
{
	bool newline = len > 0 && bytes[len - 1] == '\n';

	buffer_clear(&d->json);
	d->base64 = !utf8_valid(bytes, len);
	d->no_newline = !d->base64 && !newline;
	if (!d->base64)
		json_quote(&d->json, bytes, newline ? len - 1 : len);
	/* A byte may become an escape of six: a hundred megabytes of NULs would become six
	 * hundred. */
	if (d->json.len > DATA_LIMIT) {
		buffer_free(&d->json);
		d->base64 = true;
		d->no_newline = false;
	}
	if (!d->base64)
		return;
	buffer_byte(&d->json, '"');
	base64_encode(bytes, len, &d->json);
	buffer_byte(&d->json, '"');
}

int
data_from_json(struct data *d, const char *bytes, size_t len, struct error *err)
{
	size_t bad;
	const char *wrong = scan_check(bytes, len, &bad);

	if (wrong != NULL)
		return error_set(err, ERROR_INVALID_INPUT, NULL, "no JSON: %s at byte %zu", wrong,
		    bad + 1);
	buffer_clear(&d->json);
	scan_minify(span_of(bytes, len), &d->json);
	d->no_newline = d->base64 = false;
	return 0;
}

void
data_null(struct data *d)
{
	buffer_clear(&d->json);
	buffer_text(&d->json, "null");
	d->no_newline = d->base64 = false;
}

void
data_copy(struct data *to, const struct data *from)
{
	buffer_clear(&to->json);
	buffer_append(&to->json, from->json.data, from->json.len);
	to->no_newline = from->no_newline;
	to->base64 = from->base64;
}

static struct span
data_span(const struct data *d)
{
	return span_of(d->json.data, d->json.len);
}

bool
data_binary(const struct data *d)
{
	struct buffer bytes = BUFFER_INIT;
	bool decoded = d->base64 &&
	    base64_decode(d->json.data + 1, d->json.len - 2, &bytes) == 0;

	buffer_free(&bytes);
	return decoded;
}

bool
data_nothing(const struct data *d)
{
	return span_is(data_span(d), "");
}

void
data_feed(const struct data *d, struct buffer *out)
{
	switch (span_type(data_span(d))) {
	case 's':
		if (d->base64 && base64_decode(d->json.data + 1, d->json.len - 2, out) == 0)
			break;
		span_decode(data_span(d), out);
		if (!d->no_newline)
			buffer_byte(out, '\n');
		break;
	case '0':
		break;
	default:
		buffer_append(out, d->json.data, d->json.len);
		buffer_byte(out, '\n');
	}
}

void
data_raw(const struct data *d, struct buffer *out)
{
	if (span_type(data_span(d)) == '0')
		buffer_text(out, "null\n");
	else
		data_feed(d, out);
}

void
data_free(struct data *d)
{
	buffer_free(&d->json);
}

/* ---- items ---- */

struct span
item_error(const struct item *item)
{
	struct span metadata = span_of(item->metadata.data, item->metadata.len);
	struct span error = span_member(metadata, "error");

	return span_type(error) == 'o' ? error : SPAN_NONE;
}

bool
state_error(struct span object, struct error *error)
{
	char *code = span_text(span_member(object, KEY_CODE));
	char *message = span_text(span_member(object, KEY_MESSAGE));
	enum error_code known = code != NULL ? error_from_name(code, strlen(code)) : ERROR_NONE;

	if (span_type(object) == 'o')
		error_set(error, known != ERROR_NONE ? known : ERROR_EXIT_STATUS, NULL, "%s",
		    message != NULL ? message : "");
	free(code);
	free(message);
	return span_type(object) == 'o';
}

char *
item_metadata(const struct item *item, const char *key)
{
	return span_text(span_member(span_of(item->metadata.data, item->metadata.len), key));
}

static void
item_clear(struct item *item)
{
	buffer_clear(&item->data.json);
	buffer_clear(&item->metadata);
	buffer_clear(&item->line);
	item->data.no_newline = item->data.base64 = item->foreign = false;
}

void
item_free(struct item *item)
{
	data_free(&item->data);
	buffer_free(&item->metadata);
	buffer_free(&item->line);
}

bool
state_is(struct span value)
{
	struct span metadata = SPAN_NONE;
	char id[ID_SIZE];
	bool has_data = false;

	value = span_trim(value);
	if (span_type(value) != 'o')
		return false;
	for (struct span_walk member = span_walk(value); span_next(&member);) {
		if (span_is(member.key, "data"))
			has_data = true;
		else if (span_is(member.key, "metadata"))
			metadata = member.value;
		else
			return false;
	}
	return has_data && span_type(metadata) == 'o' &&
	    event_copy_id(span_member(metadata, "run_id"), id) &&
	    event_copy_id(span_member(metadata, "event_id"), id);
}

void
item_take_state(struct item *item, struct span line, const char *run_id)
{
	struct span metadata, data;

	item_clear(item);
	scan_minify(line, &item->line);
	line = span_of(item->line.data, item->line.len);
	data = span_member(line, "data");
	metadata = span_member(line, "metadata");
	buffer_append(&item->data.json, data.at, data.len);
	buffer_append(&item->metadata, metadata.at, metadata.len);
	item->data.no_newline = span_true(span_member(metadata, "no_newline"));
	item->data.base64 = span_type(data) == 's' &&
	    span_is(span_member(metadata, "encoding"), "base64");
	item->foreign = !span_is(span_member(metadata, "run_id"), run_id);
}

/* ---- reading ---- */

void
state_reader_begin(struct state_reader *r, int fd, enum input_form form, const char *run_id)
{
	memset(r, 0, sizeof *r);
	r->fd = fd;
	r->form = form;
	r->run_id = run_id;
	r->done = r->eof = form == INPUT_NONE;
	framer_begin(&r->framer);
}

void
state_reader_give(struct state_reader *r, struct buffer *bytes)
{
	r->pending = *bytes;
	r->any_byte = bytes->len > 0;
	r->eof = true;
	memset(bytes, 0, sizeof *bytes);
}

void
state_reader_free(struct state_reader *r)
{
	buffer_free(&r->pending);
}

int
state_reader_fill(struct state_reader *r, struct error *err)
{
	size_t want = r->pending.len > READ_SIZE ? r->pending.len : READ_SIZE;
	ssize_t got;

	if (r->taken > 0) {
		buffer_drop(&r->pending, r->taken);
		r->consumed += r->taken;
		r->taken = 0;
	}
	if (want > 8 * READ_SIZE)
		want = 8 * READ_SIZE;
	do
		got = read(r->fd, buffer_reserve(&r->pending, want + 1), want);
	while (got == -1 && errno == EINTR && (r->signal_number == NULL || *r->signal_number == 0));
	/* If input never pauses, no read is interrupted: check for a signal here. */
	if (r->signal_number != NULL && *r->signal_number != 0)
		return error_set(err, ERROR_CANCELLED, NULL, "ended by signal %d", *r->signal_number);
	if (got == -1)
		return error_errno(err, ERROR_SYSTEM, "stdin", "unable to read");
	r->pending.len += (size_t)got;
	r->pending.data[r->pending.len] = '\0';
	r->any_byte = r->any_byte || got > 0;
	r->eof = got == 0;
	return 0;
}

static const char *
state_unread_bytes(const struct state_reader *r, size_t *len)
{
	*len = r->pending.len - r->taken;
	return *len == 0 ? "" : r->pending.data + r->taken;
}

static int
bad_input(const struct state_reader *r, size_t at, struct error *err, const char *what)
{
	return error_set(err, ERROR_INVALID_INPUT, "stdin", "byte %zu: %s",
	    r->consumed + r->taken + at + 1, what);
}

static int
too_long(const struct state_reader *r, struct error *err)
{
	return bad_input(r, 0, err, "an item longer than 256 MiB");
}

/* Frames the next JSON value. 1: the next *len bytes are the value; 0: it is not complete yet;
 * -1: it is nested too deep. At the end of the input a scalar is complete. */
static int
frame_value(struct state_reader *r, size_t *len, struct error *err)
{
	size_t available, used;
	const char *at = state_unread_bytes(r, &available);

	switch (framer_feed(&r->framer, at + r->seen, available - r->seen, &used)) {
	case FRAME_DONE:
		*len = r->seen + used;
		break;
	case FRAME_TOO_DEEP:
		return bad_input(r, r->seen + used, err, "nested too deep");
	default:
		r->seen = available;
		if (!r->eof || !r->framer.scalar)
			return available > SCAN_LINE_LIMIT ? too_long(r, err) : 0;
		*len = available;
	}
	r->seen = 0;
	framer_begin(&r->framer);
	return 1;
}

static bool
only_space(const char *bytes, size_t len)
{
	return text_prefix_of(bytes, len, " \t\r\n") == len;
}

/* Whether the text begins with `{"data":`, with any white space: if such a line breaks off, it is
 * an incomplete state line, not text. */
static bool
begins_like_state(const char *bytes, size_t len)
{
	static const char *const tokens[] = { "{", "\"data\"", ":", NULL };
	const char *const *token;
	size_t at = 0;

	for (token = tokens; *token != NULL; token++) {
		at += text_prefix_of(bytes + at, len - at, " \t\r\n");
		if (len - at < strlen(*token) || memcmp(bytes + at, *token, strlen(*token)) != 0)
			return false;
		at += strlen(*token);
	}
	return true;
}

/* Skips a byte order mark at the beginning if JSON may follow; in text it belongs to the data.
 * False: more input is needed to decide. */
static bool
skip_byte_order_mark(struct state_reader *r)
{
	size_t available, mark;
	const char *at = state_unread_bytes(r, &available);

	if (r->consumed > 0 || r->taken > 0)
		return true;
	if (!r->eof && available < 3 && memcmp(at, "\xef\xbb\xbf", available) == 0)
		return false;
	mark = text_byte_order_mark(at, available);
	if (mark == 0)
		return true;
	mark += text_prefix_of(at + mark, available - mark, " \t\r\n");
	if (mark == available && !r->eof)
		return false;
	if (r->form == INPUT_JSON || (mark < available && at[mark] == '{')) {
		r->taken = mark;
		r->seen = 0;
	}
	return true;
}

/* Decides INPUT_AUTO from the first value. 0: decided, or more input is needed. */
static int
state_recognise_form(struct state_reader *r, struct error *err)
{
	size_t available, len, bad = 0;
	const char *at = state_unread_bytes(r, &available), *wrong = NULL;
	struct error why;
	int framed;

	if (!r->framer.started) {
		if (!skip_byte_order_mark(r))
			return 0;
		at = state_unread_bytes(r, &available);
		r->seen += strspn(at + r->seen, " \t\r\n");
		if (r->seen >= available && !r->eof)
			return available > SCAN_LINE_LIMIT ? too_long(r, err) : 0;
		if (r->seen >= available || at[r->seen] != '{') {
			r->seen = 0;
			r->form = INPUT_TEXT;
			return 0;
		}
	}
	framed = frame_value(r, &len, &why);
	if (framed == 0 && !r->eof)
		return 0;
	if (framed == 0 && begins_like_state(at, available))
		return bad_input(r, available, err,
		    "the input ends inside a state line (-i text takes it as text)");
	if (framed == 1)
		wrong = scan_within(at, len, SCAN_STATE_DEPTH, &bad);
	if (framed == -1 && begins_like_state(at, available))
		return error_set(err, why.code, why.place, "%s", why.message);
	if (wrong != NULL && begins_like_state(at, len) && state_is(span_of(at, len)))
		return bad_input(r, bad, err, wrong);
	r->form = framed == 1 && wrong == NULL && state_is(span_of(at, len)) ?
	    INPUT_STATE : INPUT_TEXT;
	r->seen = 0;
	framer_begin(&r->framer);
	return 0;
}

/* If state lines were read as plain data, their metadata, which differs in each attempt, would
 * become data. The first line shows whether they are. */
static int
refuse_state(const struct state_reader *r, const char *at, size_t len, struct error *err)
{
	const char *end;
	size_t bad;

	if (!r->no_states || !begins_like_state(at, len))
		return 0;
	end = r->form == INPUT_TEXT || r->form == INPUT_NUL ? memchr(at, '\n', len) : NULL;
	len = end == NULL ? len : (size_t)(end - at);
	if (scan_within(at, len, SCAN_STATE_DEPTH, &bad) != NULL || !state_is(span_of(at, len)))
		return 0;
	return bad_input(r, 0, err, "a state line of a step: leave -i away (-O lines, or -O json, on "
	    "the step before makes items of its output)");
}

/* Sets the length of a text up to an end byte: including it if it is LF, excluding it if it is NUL;
 * or of all input (-1). */
static int
state_read_text(struct state_reader *r, int end, struct item *item, struct error *err)
{
	size_t available, len;
	const char *at = state_unread_bytes(r, &available);
	const char *found = end == -1 ? NULL : memchr(at + r->seen, end, available - r->seen);

	if (found == NULL && !r->eof) {
		r->seen = available;
		return available > SCAN_LINE_LIMIT ? too_long(r, err) : 0;
	}
	len = found == NULL ? available : (size_t)(found - at) + 1;
	if (len > SCAN_LINE_LIMIT)
		return too_long(r, err);
	r->done = found == NULL;
	if (len == 0)
		return 0;
	if (refuse_state(r, at, len, err) == -1)
		return -1;
	item_clear(item);
	data_from_text(&item->data, at, found != NULL && end == '\0' ? len - 1 : len);
	r->taken += len;
	r->seen = 0;
	return 1;
}

static int
state_read_value(struct state_reader *r, struct item *item, struct error *err)
{
	size_t available, len, bad;
	const char *at, *wrong;
	int framed;

	if (r->form == INPUT_JSON && !skip_byte_order_mark(r))
		return 0;
	framed = frame_value(r, &len, err);
	if (framed == -1)
		return -1;
	at = state_unread_bytes(r, &available);
	if (framed == 0) {
		if (!r->eof)
			return 0;
		r->done = true;
		if (only_space(at, available))
			return 0;
		return bad_input(r, available, err, r->form == INPUT_STATE ?
		    "the input ends inside a state line" : "the input ends inside a JSON value");
	}
	if (r->eof && only_space(at, len)) {
		r->done = true;
		return 0;
	}
	wrong = scan_within(at, len, r->form == INPUT_STATE ? SCAN_STATE_DEPTH : SCAN_DEPTH, &bad);
	if (r->form == INPUT_STATE && (wrong != NULL || !state_is(span_of(at, len))))
		return bad_input(r, strspn(at, " \t\r\n"), err, "no state line among state lines");
	if (wrong != NULL && bad == strspn(at, " \t\r\n") && strchr("{[\"-", at[bad]) == NULL)
		return bad_input(r, bad, err, "no JSON begins so (-i text, or -i lines, takes what is none)");
	if (wrong != NULL)
		return bad_input(r, bad, err, wrong);
	if (r->form == INPUT_STATE) {
		item_take_state(item, span_of(at, len), r->run_id);
	} else {
		if (refuse_state(r, at, len, err) == -1)
			return -1;
		item_clear(item);
		scan_minify(span_of(at, len), &item->data.json);
	}
	r->taken += len;
	r->seen = 0;
	return 1;
}

int
state_reader_take(struct state_reader *r, struct item *item, struct error *err)
{
	if (r->done)
		return 0;
	if (r->form == INPUT_AUTO && state_recognise_form(r, err) == -1)
		return -1;
	switch (r->form) {
	case INPUT_AUTO:
		return 0;
	case INPUT_TEXT:
		return state_read_text(r, -1, item, err);
	case INPUT_LINES:
		return state_read_text(r, '\n', item, err);
	case INPUT_NUL:
		return state_read_text(r, '\0', item, err);
	default:
		return state_read_value(r, item, err);
	}
}

int
state_reader_next(struct state_reader *r, struct item *item, struct error *err)
{
	int taken;

	for (;;) {
		taken = state_reader_take(r, item, err);
		if (taken != 0 || r->done)
			return taken;
		if (state_reader_fill(r, err) == -1)
			return -1;
	}
}

int64_t
state_reader_count(const struct state_reader *r, struct buffer *more)
{
	struct buffer bytes = BUFFER_INIT;
	struct item item = { .metadata = BUFFER_INIT };
	struct state_reader copy;
	struct error ignored;
	size_t len;
	const char *at = state_unread_bytes(r, &len);
	int64_t count = 0;
	int got;

	buffer_append(&bytes, at, len);
	buffer_append(&bytes, buffer_string(more), more->len);
	buffer_clear(more);
	state_reader_begin(&copy, -1, r->form, r->run_id);
	copy.no_states = r->no_states;
	copy.consumed = r->consumed + r->taken;
	state_reader_give(&copy, &bytes);
	while ((got = state_reader_take(&copy, &item, &ignored)) == 1)
		count++;
	item_free(&item);
	state_reader_free(&copy);
	return got == 0 ? count : -1;
}

bool
state_digest(const char *bytes, size_t len, char sha256[DIGEST_SIZE])
{
	struct buffer copy = BUFFER_INIT, all = BUFFER_INIT;
	struct item item = { .metadata = BUFFER_INIT };
	struct state_reader reader;
	struct error ignored;
	bool states = true;
	int got;

	buffer_append(&copy, bytes, len);
	state_reader_begin(&reader, -1, INPUT_STATE, "");
	state_reader_give(&reader, &copy);
	while ((got = state_reader_take(&reader, &item, &ignored)) == 1) {
		const struct span error = item_error(&item);

		states = states && item.metadata.len > 0;
		buffer_append(&all, item.data.json.data, item.data.json.len);
		buffer_format(&all, " %d %d %.*s\n", item.data.no_newline, item.data.base64, (int)error.len,
		    error.at != NULL ? error.at : "");
	}
	states = states && got == 0 && all.len > 0;
	if (states)
		digest_sha256(all.data, all.len, sha256);
	item_free(&item);
	state_reader_free(&reader);
	buffer_free(&all);
	return states;
}

/* ---- writing ---- */

void
state_write(const struct state_spec *s, const struct data *data, struct buffer *out)
{
	char sha256[DIGEST_SIZE], token[DIGEST_SIZE];
	struct writer w;

	digest_sha256(data->json.data, data->json.len, sha256);
	writer_begin(&w, out);
	writer_object(&w);
	writer_member_buffer(&w, "data", &data->json);
	writer_member_object(&w, "metadata");
	writer_member_string(&w, "run_id", s->run_id);
	writer_member_string(&w, "event_id", s->event_id);
	writer_member_integer(&w, "seq", s->seq);
	writer_member_string(&w, "call", s->call);
	writer_member_string(&w, "path", s->path);
	writer_member_integer(&w, "iteration", s->iteration);
	writer_member_string(&w, "agent_name", s->agent_name);
	writer_key(&w, "previous_agent");
	writer_string(&w, s->previous_agent);
	writer_member_integer(&w, "step_index", s->step_index);
	writer_member_string(&w, "timestamp", s->timestamp);
	writer_member_integer(&w, "execution_time_ms", s->execution_time_ms);
	writer_member_integer(&w, "tool_calls_count", s->tool_calls_count);
	writer_member_string(&w, "sha256", sha256);
	if (s->key != NULL) {
		const struct token_claim claim = { s->run_id, s->attempt, s->call, s->path,
			s->event_id, sha256, data->no_newline, data->base64, s->attachments };

		writer_member_string(&w, "token", token_issue(s->key, &claim, token));
	}
	writer_member_span(&w, "error", s->error);
	writer_member_span(&w, "failure", s->failure);
	writer_member_string(&w, "skipped", s->skipped);
	writer_member_span(&w, "attachments", s->attachments);
	if (data->no_newline)
		writer_member_bool(&w, "no_newline", true);
	if (data->base64)
		writer_member_string(&w, "encoding", "base64");
	if (s->part >= 0)
		writer_member_integer(&w, "part", s->part);
	writer_object_end(&w);
	writer_object_end(&w);
	buffer_byte(out, '\n');
}

int
state_put(int fd, const char *bytes, size_t len, const volatile int *stop)
{
	bool locked = false;
	int result, saved;

	if (lock_applies(fd)) {
		locked = lock_wait(fd, LOCK_WHOLE, stop) == 0;
		if (!locked && errno == EINTR)
			return -1;
	}
	result = file_write_until(fd, bytes, len, stop);
	saved = errno;
	if (locked)
		lock_release(fd, LOCK_WHOLE);
	errno = saved;
	return result;
}
