/* A call of a tool that has no result when its prompt ends has none: it was interrupted. */
#include "import/session.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/count.h"
#include "base/invariant.h"
#include "base/memory.h"
#include "base/version.h"
#include "json/writer.h"
#include "transcript/event_keys.h"
#include "transcript/layout.h"

#define STEP "prompt"
#define EMITTED "agent_emitted"
#define STEP_NAME "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-"
#define STEP_NAME_MOST 64
#define MESSAGE_MOST 500 /* bytes of the message of an error */

/* A number of ms that is told, or else the time since began (µs). */
static long long
session_duration(const struct session_lines *s, struct span said, int64_t began)
{
	long long told;

	return span_integer(span_member(said, KEY_DURATION_MS), &told) && told >= 0 ? told : (s->wall - began) / 1000;
}

void
session_begin(struct session_lines *s, const struct session_spec *spec)
{
	*s = (struct session_lines){ .spec = spec };
	memset(s->prev, '0', DIGEST_SIZE - 1);
}

char *
session_run_id(const char *format, const char *parent, const char *session, char out[ID_SIZE])
{
	char *key = memory_format("awf-import\n%s\n%s\n%s", format, parent != NULL ? parent : "", session);

	id_derive(key, out);
	free(key);
	return out;
}

/* ---- lines ---- */

static int session_begin_attempt(struct session_lines *s, struct error *err);
static void session_add_usage(struct session_lines *s, struct span usage);
static void session_text(struct span blocks, struct buffer *out);

/* What an id is derived from: some servers give every answer, or call of a tool, the same id, so each but
 * the first has its number, too. */
static char *
session_id_text(const struct session_lines *s, const char *what, const char *id, size_t *times)
{
	char *text = memory_format("%s\n%s\n%s", s->run_id, what, id);
	const size_t *seen = map_get(&s->seen, text, strlen(text));

	*times = seen != NULL ? *seen + 1 : 1;
	return text;
}

static void
session_derive(const char *text, size_t times, char out[ID_SIZE])
{
	char *numbered = times > 1 ? memory_format("%s\n%zu", text, times) : NULL;

	id_derive(numbered != NULL ? numbered : text, out);
	free(numbered);
}

/* An id that depends on the session and on what it is of. */
static void
session_derive_id(struct session_lines *s, const char *what, const char *id, char out[ID_SIZE])
{
	size_t times;
	char *text = session_id_text(s, what, id, &times);

	map_put(&s->seen, text, strlen(text), times);
	session_derive(text, times, out);
	free(text);
}

static bool
session_has(const struct session_lines *s, const char id[ID_SIZE])
{
	return map_get(&s->record.ids, id, ID_SIZE - 1) != NULL;
}

/* Whether the last line recorded is not what the log has come to. */
static bool
session_is_left(const struct session_lines *s)
{
	return s->record.rewritten && s->record.seq > 0 && strcmp(s->record.last, s->last) != 0;
}

/* Goes past an event that is recorded. At the last one the prompt is the recorded one, although the log may not have
 * it any more. */
static void
session_pass(struct session_lines *s, enum event_type type, const char id[ID_SIZE])
{
	const struct session_record *r = &s->record;

	memmove(s->last, id, ID_SIZE);
	if (strcmp(id, r->last) != 0 || type == EVENT_STEP_STARTED)
		return;
	memcpy(s->prompt, r->open, ID_SIZE);
	if (*r->open != '\0')
		s->prompts = r->iteration + 1;
}

/* The number of the prompt whose call begins with this event. */
static int64_t
session_number(const struct session_lines *s, const char id[ID_SIZE])
{
	const size_t *at = map_get(&s->record.ids, id, ID_SIZE - 1);

	return at != NULL ? s->record.iterations[*at] : s->record.prompts;
}

/* Notes that an event is recorded, as the last one. */
static void
session_note(struct session_lines *s, enum event_type type, const char id[ID_SIZE], const char *path,
    int64_t iteration)
{
	struct session_record *r = &s->record;
	const bool prompt = strcmp(path, STEP) == 0;

	r->iterations = memory_array(r->iterations, r->ids.count + 1, sizeof *r->iterations);
	r->iterations[r->ids.count] = iteration;
	map_put(&r->ids, id, ID_SIZE - 1, r->ids.count);
	memmove(r->last, id, ID_SIZE);
	r->seq = s->seq;
	r->ended = type == EVENT_RUN_COMPLETED;
	if (type == EVENT_RUN_STARTED) {
		r->attempts++;
	} else if (type == EVENT_STEP_STARTED && prompt) {
		memcpy(r->open, id, ID_SIZE);
		r->iteration = iteration;
		r->prompts = iteration + 1;
	} else if (type == EVENT_STEP_COMPLETED && prompt) {
		*r->open = '\0';
	}
}

void
session_recorded(struct session_lines *s, const char *line, size_t len)
{
	struct buffer text = BUFFER_INIT;
	struct event_view view;
	char id[ID_SIZE], *path, time[CLOCK_TEXT_SIZE + 8];

	if (event_view(line, len, &view) != 0)
		return;
	if (view.type == EVENT_RUN_COMPLETED) {
		s->record.ends.list = memory_array(s->record.ends.list, s->record.ends.count + 1, sizeof *s->record.ends.list);
		s->record.ends.list[s->record.ends.count++] = view.seq;
	}
	if (!s->record.rewritten || !event_copy_id(view.event_id, id))
		return;
	if (view.type == EVENT_RUN_STARTED) {
		memset(&s->sums, 0, sizeof s->sums);
		memcpy(s->first, id, ID_SIZE);
	}
	if (view.type == EVENT_STEP_STARTED)
		buffer_clear(&s->record.text);
	if (view.type == EVENT_MESSAGE_ASSISTANT) {
		session_add_usage(s, span_member(view.payload, KEY_USAGE));
		session_text(span_member(view.payload, KEY_BLOCKS), &text);
		if (text.len > 0) {
			buffer_clear(&s->record.text);
			buffer_append(&s->record.text, text.data, text.len);
		}
		buffer_free(&text);
	}
	s->seq = view.seq;
	digest_blake2b(line, len, s->prev);
	if (span_copy(view.timestamp, time, sizeof time))
		clock_parse(time, 0, &s->wall);
	if (view.type == EVENT_RUN_STARTED)
		s->began = s->wall;
	path = span_text(view.path);
	s->sums.calls += view.type == EVENT_STEP_COMPLETED;
	session_note(s, view.type, id, path != NULL ? path : "", view.iteration);
	free(path);
}

/* Makes the next line. parent "": none. The event's id becomes that of the last one. */
static int
session_line(struct session_lines *s, enum event_type type, const char id[ID_SIZE], const char *parent,
    const char *path, int64_t iteration, const struct buffer *payload, struct error *err)
{
	const struct line_place place = { .path = s->spec->format, .blobs = s->blobs, .run_id = s->run_id };
	struct event e = { .type = type, .event_id = id, .parent_event_id = *parent != '\0' ? parent : NULL,
		.parent_run_id = *s->of != '\0' ? s->of : s->spec->parent, .child_run_id = *s->child_run_id != '\0' ? s->child_run_id : NULL,
		.path = path, .iteration = iteration, .payload = span_of(payload->data, payload->len) };
	struct span line;

	memcpy(e.id, id, ID_SIZE);
	if (s->record.rewritten && (session_has(s, id) || session_is_left(s))) {
		/* It is recorded; or it belongs to what is no longer the end of the session. */
		if (session_has(s, id))
			session_pass(s, type, id);
		return 0;
	}
	if (s->wall < s->record.wall)
		s->wall = s->record.wall;
	if (s->spec->redaction != NULL) {
		memcpy(s->spec->redaction->key, s->key, sizeof s->key);
		if (redaction_apply(s->spec->redaction, s->run_id, &e, err) != 0)
			return -1;
	}
	if (line_make(&s->line, &place, &e, err) != 0)
		return -1;
	line_finish(&s->line, &e, ++s->seq, s->wall, s->prev);
	line = line_span(&s->line);
	digest_blake2b(line.at, line.len - 1, s->prev);
	memmove(s->last, id, ID_SIZE);
	if (s->record.rewritten)
		session_note(s, type, id, path, iteration);
	return s->spec->callbacks->take(s->spec->context, line, err);
}

/* Ends the attempt if a recorded one ends at the next line, and begins another. */
static int
session_end_recorded(struct session_lines *s, struct error *err)
{
	const size_t attempt = s->attempts;

	if (attempt > s->record.ends.count || attempt == 0 ||
	    s->record.ends.list[attempt - 1] != s->seq + (*s->prompt != '\0' ? 2 : 1))
		return 0;
	return session_end(s, err) != 0 ? -1 : session_begin_attempt(s, err);
}

/* The time of what is said; times never go back. */
static void
session_time(struct session_lines *s, struct span said)
{
	char text[CLOCK_TEXT_SIZE + 8];
	int64_t wall;

	if (span_copy(span_member(said, "time"), text, sizeof text) && clock_parse(text, 0, &wall) == 0 &&
	    wall > s->wall)
		s->wall = wall;
}

static void
session_write_fidelity(struct writer *w)
{
	writer_member_string(w, KEY_FIDELITY, EMITTED);
}

static void
session_write_model(struct writer *w, struct span said)
{
	const struct span model = span_member(said, "model");

	writer_member_span(w, KEY_MODEL, span_type(model) == 's' ? model : SPAN_NONE);
}

/* The error of what has failed; why: a text, or absent. */
static void
session_write_error(struct writer *w, bool failure, const char *code, struct span why)
{
	if (!failure)
		return;
	writer_member_object(w, KEY_ERROR);
	writer_member_string(w, KEY_CODE, code);
	if (span_type(why) == 's')
		writer_member_span(w, KEY_MESSAGE, why);
	else
		writer_member_string(w, KEY_MESSAGE, code);
	writer_object_end(w);
}

/* Writes blocks: each object as it is, with its fidelity. */
static void
session_write_blocks(struct writer *w, struct span blocks)
{
	writer_member_array(w, KEY_BLOCKS);
	for (struct span_walk block = span_walk(blocks); span_next(&block);) {
		writer_object(w);
		for (struct span_walk member = span_walk(block.value); span_next(&member);)
			if (!span_is(member.key, KEY_FIDELITY))
				writer_raw_member(w, member.key, member.value);
		session_write_fidelity(w);
		writer_object_end(w);
	}
	writer_array_end(w);
}

/* ---- the run ---- */

/* The run's key: half of a digest in hexadecimal, 128 bits. */
static void
session_derive_key(struct session_lines *s)
{
	char *text = memory_format("awf-import\n%s", s->run_id), digest[DIGEST_SIZE];

	digest_hmac(s->spec->mask_key, DIGEST_BYTES, text, strlen(text), digest);
	memcpy(s->key, digest, sizeof s->key);
	free(text);
}

static int
session_start(struct session_lines *s, struct span said, struct error *err)
{
	char *id = span_text(span_member(said, "session")), *of = span_text(span_member(said, "of"));
	struct writer w;
	int64_t wall;
	int failed;

	if (*s->run_id != '\0' || id == NULL) {
		free(id);
		free(of);
		return error_set(err, ERROR_INVALID_INPUT, s->spec->format, "says the session twice, or not which");
	}
	if (of != NULL)
		session_run_id(s->spec->format, s->spec->parent, of, s->of);
	session_run_id(s->spec->format, s->spec->parent, id, s->run_id);
	s->blobs = layout_blobs(s->spec->root, s->run_id);
	if (s->spec->redaction != NULL)
		session_derive_key(s);
	session_time(s, said);
	writer_begin(&w, &s->start);
	writer_object(&w);
	writer_member_span(&w, KEY_NAME, span_member(said, "name"));
	writer_member_string(&w, KEY_KIND, "session");
	writer_member_span(&w, KEY_CWD, span_member(said, "cwd"));
	writer_member_object(&w, KEY_INPUTS);
	writer_member_string(&w, "session", id);
	for (struct span_walk member = span_walk(span_member(said, "inputs")); span_next(&member);)
		writer_raw_member(&w, member.key, member.value);
	writer_object_end(&w);
	writer_member_string(&w, KEY_AWF_VERSION, AWF_VERSION);
	writer_member_integer(&w, KEY_FORMAT, 1);
	writer_member_span(&w, KEY_TRACEPARENT, span_member(said, KEY_TRACEPARENT));
	if (s->spec->redaction != NULL)
		writer_member_bool(&w, KEY_MASKED, true);
	s->record.rewritten = span_true(span_member(said, "rewritten"));
	wall = s->wall;
	failed = s->spec->callbacks->recorded(s->spec->context, s, err);
	if (s->record.attempts > 0) {
		/* The first of its lines is there: what is said is gone through from the beginning. */
		session_derive_id(s, "run", "1", s->last);
		s->attempts = s->record.attempts;
		s->record.wall = s->wall;
		s->wall = wall;
	} else if (failed == 0) {
		failed = session_begin_attempt(s, err);
	}
	free(of);
	free(id);
	return failed;
}

/* Goes to the end of what is recorded, in the place of what the log has come to. */
static void
session_go_to_end(struct session_lines *s)
{
	const struct session_record *r = &s->record;

	memcpy(s->last, r->last, ID_SIZE);
	memcpy(s->prompt, r->open, ID_SIZE);
	if (s->wall < r->wall)
		s->wall = r->wall;
	s->prompts = r->iteration + 1;
	s->prompt_began = s->wall;
	buffer_clear(&s->text);
	buffer_append(&s->text, buffer_string(&r->text), r->text.len);
}

/* What is said next does not follow from what is recorded: a further attempt. */
static int
session_begin_anew(struct session_lines *s, struct error *err)
{
	if (!s->record.ended && session_end(s, err) != 0)
		return -1;
	session_go_to_end(s);
	*s->prompt = '\0';
	return session_begin_attempt(s, err);
}

/* What is said next is not recorded, and does not follow from what is: whether so. what, key: what the id
 * of its first event is derived from. */
static bool
session_has_left(const struct session_lines *s, const char *what, struct span key)
{
	char *id = span_text(key), *text, event[ID_SIZE];
	size_t times;
	bool left = false;

	if (id != NULL && session_is_left(s)) {
		text = session_id_text(s, what, id, &times);
		session_derive(text, times, event);
		free(text);
		left = !session_has(s, event);
	}
	free(id);
	return left;
}

static int
session_begin_attempt(struct session_lines *s, struct error *err)
{
	struct buffer payload = BUFFER_INIT;
	char number[24];
	int failed;

	s->over = false;
	s->began = s->wall;
	memset(&s->sums, 0, sizeof s->sums);
	snprintf(number, sizeof number, "%zu", ++s->attempts);
	session_derive_id(s, "run", number, s->first);
	buffer_append(&payload, s->start.data, s->start.len);
	buffer_format(&payload, ",\"" KEY_ATTEMPT "\":%s}", number);
	failed = session_line(s, EVENT_RUN_STARTED, s->first, "", "", 0, &payload, err);
	buffer_free(&payload);
	return failed;
}

/* Ends the call of the prompt that is being worked on. */
static int
session_end_prompt(struct session_lines *s, struct error *err)
{
	struct buffer payload = BUFFER_INIT;
	const int64_t before = s->seq;
	char id[ID_SIZE], *call;
	struct writer w;
	int failed;

	if (*s->prompt == '\0')
		return 0;
	call = memory_format(STEP ":0:%lld", (long long)s->prompts - 1);
	session_derive_id(s, "end", s->prompt, id);
	writer_begin(&w, &payload);
	writer_object(&w);
	writer_member_string(&w, KEY_NAME, STEP);
	writer_member_string(&w, KEY_KIND, "agent");
	writer_member_string(&w, KEY_CALL, call);
	writer_key(&w, KEY_RESULT);
	writer_bytes(&w, buffer_string(&s->text), s->text.len);
	writer_member_integer(&w, KEY_DURATION_MS, (s->wall - s->prompt_began) / 1000);
	writer_object_end(&w);
	failed = session_line(s, EVENT_STEP_COMPLETED, id, s->last, STEP, s->prompts - 1, &payload, err);
	*s->prompt = '\0';
	s->sums.calls += s->seq > before;
	buffer_clear(&s->text);
	buffer_free(&payload);
	free(call);
	return failed;
}

/* Ends the attempt, as {"end":STATUS,"error":TEXT} says; SPAN_NONE: with success. */
static int
session_end_as(struct session_lines *s, struct span said, struct error *err)
{
	const struct span status = span_member(said, "end"), why = span_member(said, KEY_ERROR);
	const bool cancelled = span_is(status, "cancelled"), failure = cancelled || span_is(status, "failed");
	struct buffer payload = BUFFER_INIT;
	char id[ID_SIZE], number[24];
	struct writer w;
	int failed;

	if (session_is_left(s))
		session_go_to_end(s);
	if (session_end_prompt(s, err) != 0)
		return -1;
	snprintf(number, sizeof number, "%zu", s->attempts);
	session_derive_id(s, "done", number, id);
	writer_begin(&w, &payload);
	writer_object(&w);
	writer_member_string(&w, KEY_STATUS, cancelled ? "cancelled" : failure ? "failed" : "success");
	writer_member_integer(&w, KEY_EXIT_CODE, failure);
	session_write_error(&w, failure, cancelled ? "cancelled" : "exit_status", why);
	writer_member_integer(&w, KEY_DURATION_MS, session_duration(s, said, s->began));
	writer_member_object(&w, KEY_USAGE);
	writer_member_integer(&w, KEY_CALLS, s->sums.calls);
	if (s->sums.answers > 0) {
		writer_member_integer(&w, KEY_INPUT_TOKENS, s->sums.tokens[0]);
		writer_member_integer(&w, KEY_OUTPUT_TOKENS, s->sums.tokens[1]);
	}
	writer_object_end(&w);
	writer_object_end(&w);
	failed = session_line(s, EVENT_RUN_COMPLETED, id, s->first, "", 0, &payload, err);
	s->over = true;
	buffer_free(&payload);
	return failed;
}

int
session_end(struct session_lines *s, struct error *err)
{
	return *s->run_id == '\0' || s->over || s->record.ended ? 0 : session_end_as(s, SPAN_NONE, err);
}

static int
session_take_end(struct session_lines *s, struct span said, struct error *err)
{
	if (s->over)
		return 0;
	session_time(s, said);
	return session_end_as(s, said, err);
}

/* ---- prompts, answers, tools ---- */

/* Appends the texts of blocks, an LF between them. */
static void
session_text(struct span blocks, struct buffer *out)
{
	for (struct span_walk block = span_walk(blocks); span_next(&block);)
		if (span_is(span_member(block.value, KEY_TYPE), "text")) {
			if (out->len > 0)
				buffer_byte(out, '\n');
			span_decode(span_member(block.value, KEY_TEXT), out);
		}
}

static int
session_start_prompt(struct session_lines *s, struct span said, struct span blocks, const char *key,
    struct error *err)
{
	char *call, sha256[DIGEST_SIZE], id[ID_SIZE];
	struct buffer payload = BUFFER_INIT, text = BUFFER_INIT;
	struct writer w;
	int failed;

	session_text(blocks, &text);
	session_derive_id(s, "start", key, id);
	if (s->record.rewritten)
		s->prompts = session_number(s, id);
	call = memory_format(STEP ":0:%lld", (long long)s->prompts);
	writer_begin(&w, &payload);
	writer_object(&w);
	writer_member_string(&w, KEY_NAME, STEP);
	writer_member_string(&w, KEY_KIND, "agent");
	writer_member_string(&w, KEY_CALL, call);
	writer_member_integer(&w, KEY_ATTEMPT, 1);
	writer_member_string(&w, KEY_INPUT_SHA256, digest_sha256(buffer_string(&text), text.len, sha256));
	writer_key(&w, KEY_INPUT);
	writer_bytes(&w, buffer_string(&text), text.len);
	if (span_type(span_member(said, KEY_AGENT)) == 's')
		writer_member_span(&w, KEY_AGENT, span_member(said, KEY_AGENT));
	else
		writer_member_string(&w, KEY_AGENT, s->spec->format);
	writer_member_span(&w, KEY_PROVIDER, span_member(said, "provider"));
	session_write_model(&w, said);
	writer_object_end(&w);
	failed = session_line(s, EVENT_STEP_STARTED, id, s->last, STEP, s->prompts, &payload, err);
	memcpy(s->prompt, id, ID_SIZE);
	s->prompts++;
	s->turns = s->children = 0;
	s->prompt_began = s->wall;
	buffer_free(&payload);
	buffer_free(&text);
	free(call);
	return failed;
}

static int
session_take_prompt(struct session_lines *s, struct span said, struct error *err)
{
	const struct span blocks = span_member(said, "prompt");
	char *key = span_text(span_member(said, "id")), id[ID_SIZE];
	struct buffer payload = BUFFER_INIT;
	struct writer w;
	int failed;

	if (key == NULL)
		return error_set(err, ERROR_INVALID_INPUT, s->spec->format, "says a prompt without an id");
	/* The call before ends when it did the last thing. */
	failed = session_end_prompt(s, err);
	session_time(s, said);
	if (failed == 0)
		failed = session_start_prompt(s, said, blocks, key, err);
	writer_begin(&w, &payload);
	writer_object(&w);
	writer_member_string(&w, KEY_ROLE, "user");
	session_write_blocks(&w, blocks);
	writer_member_integer(&w, KEY_TURN, 0);
	writer_object_end(&w);
	session_derive_id(s, "prompt", key, id);
	if (failed == 0)
		failed = session_line(s, EVENT_MESSAGE_USER, id, s->last, STEP, s->prompts - 1, &payload, err);
	buffer_free(&payload);
	free(key);
	return failed;
}

static bool
session_call_is_open(const struct session_lines *s, const char *call)
{
	const size_t *at = map_get(&s->calls, call, strlen(call));

	return at != NULL && !s->open[*at].over;
}

/* The event of a call of a tool; parent: what has asked for it. */
static int
session_tool_call(struct session_lines *s, const char *parent, struct span call_id, struct span tool,
    struct span input, struct error *err)
{
	char *call = span_text(call_id), *name = span_text(tool), id[ID_SIZE];
	struct buffer payload = BUFFER_INIT;
	struct writer w;
	int failed = 0;

	/* A call that is told again while it has no result is the same one. */
	if (call != NULL && name != NULL && !session_call_is_open(s, call)) {
		session_derive_id(s, "call", call, id);
		writer_begin(&w, &payload);
		writer_object(&w);
		writer_member_string(&w, KEY_NAME, name);
		writer_member_string(&w, KEY_CALL_ID, call);
		writer_member_span(&w, KEY_INPUT, input);
		session_write_fidelity(&w);
		writer_object_end(&w);
		failed = session_line(s, EVENT_TOOL_CALL, id, parent, STEP, s->prompts - 1, &payload, err);
		s->open = memory_array(s->open, s->open_count + 1, sizeof *s->open);
		s->open[s->open_count] = (struct open_call){ .name = name, .began = s->wall };
		memcpy(s->open[s->open_count].event_id, id, ID_SIZE);
		map_put(&s->calls, call, strlen(call), s->open_count++);
		name = NULL;
	}
	buffer_free(&payload);
	free(call);
	free(name);
	return failed;
}

static void
session_add_usage(struct session_lines *s, struct span usage)
{
	static const char *const keys[] = { KEY_INPUT_TOKENS, KEY_OUTPUT_TOKENS };
	long long number;

	s->sums.answers++;
	for (int i = 0; i < 2; i++)
		if (span_integer(span_member(usage, keys[i]), &number))
			s->sums.tokens[i] = count_add(s->sums.tokens[i], number);
}

static int
session_take_answer(struct session_lines *s, struct span said, struct error *err)
{
	const struct span blocks = span_member(said, "answer"), usage = span_member(said, KEY_USAGE);
	char *key = span_text(span_member(said, "id")), answer[ID_SIZE];
	struct buffer payload = BUFFER_INIT, text = BUFFER_INIT;
	const int64_t asked = s->wall;
	int64_t before;
	struct writer w;
	int failed = 0;

	if (key == NULL)
		return error_set(err, ERROR_INVALID_INPUT, s->spec->format, "says an answer without an id");
	session_time(s, said);
	/* A session that was cut, or continued, may begin with one. */
	if (*s->prompt == '\0')
		failed = session_start_prompt(s, said, span_of("[]", 2), key, err);
	session_text(blocks, &text);
	if (text.len > 0) {
		buffer_clear(&s->text);
		buffer_append(&s->text, text.data, text.len);
	}
	session_derive_id(s, "answer", key, answer);
	writer_begin(&w, &payload);
	writer_object(&w);
	writer_member_string(&w, KEY_ROLE, "assistant");
	session_write_blocks(&w, blocks);
	session_write_model(&w, said);
	writer_member_span(&w, KEY_STOP_REASON, span_member(said, "stop_reason"));
	writer_member_span(&w, KEY_USAGE, usage);
	/* Unless it is told, the model was asked when the last thing before it had happened. */
	writer_member_integer(&w, KEY_DURATION_MS, session_duration(s, said, asked));
	writer_member_integer(&w, KEY_TURN, s->turns++);
	writer_member_span(&w, KEY_PROVIDER, span_member(said, "provider"));
	writer_member_span(&w, KEY_PARTIAL, span_member(said, "partial"));
	writer_object_end(&w);
	before = s->seq;
	if (failed == 0)
		failed = session_line(s, EVENT_MESSAGE_ASSISTANT, answer, s->last, STEP, s->prompts - 1, &payload, err);
	if (s->seq > before)
		session_add_usage(s, usage);
	for (struct span_walk block = span_walk(blocks); failed == 0 && span_next(&block);)
		if (span_is(span_member(block.value, KEY_TYPE), "tool_use"))
			failed = session_tool_call(s, answer, span_member(block.value, KEY_TOOL_ID),
			    span_member(block.value, KEY_TOOL_NAME), span_member(block.value, KEY_TOOL_INPUT), err);
	buffer_free(&payload);
	buffer_free(&text);
	free(key);
	return failed;
}

/* {"call":ID,"name":TOOL,"input":...}: a call for which no answer has asked. */
static int
session_take_call(struct session_lines *s, struct span said, struct error *err)
{
	char *key = span_text(span_member(said, "call"));
	int failed = 0;

	session_time(s, said);
	if (*s->prompt == '\0')
		failed = session_start_prompt(s, said, span_of("[]", 2), key != NULL ? key : "", err);
	if (failed == 0)
		failed = session_tool_call(s, s->last, span_member(said, "call"), span_member(said, KEY_NAME),
		    span_member(said, KEY_INPUT), err);
	free(key);
	return failed;
}

/* The name of a step, from any text. */
static char *
session_step_name(struct span name)
{
	char *text = span_text(name);

	if (text == NULL || *text == '\0' || strcmp(text, STEP) == 0) {
		free(text);
		return memory_text("step");
	}
	for (char *c = text; *c != '\0'; c++)
		if (strchr(STEP_NAME, *c) == NULL)
			*c = '-';
	if (strlen(text) > STEP_NAME_MOST)
		text[STEP_NAME_MOST] = '\0';
	return text;
}

/* {"step":NAME,"id":ID,"input":...,"result":...,"error":TEXT,"inside":true}: a call of something that is no
 * agent; inside: of the prompt's call. */
static int
session_take_step(struct session_lines *s, struct span said, struct error *err)
{
	const struct span input = span_member(said, KEY_INPUT), why = span_member(said, KEY_ERROR);
	char *name = session_step_name(span_member(said, "step")), *key = span_text(span_member(said, "id")),
	    *around, *whole, *path, *call, id[ID_SIZE], before[ID_SIZE], sha256[DIGEST_SIZE];
	const bool inside = span_true(span_member(said, "inside")) && *s->prompt != '\0';
	const size_t *seen;
	size_t number;
	struct buffer text = BUFFER_INIT;
	int failed = key != NULL ? 0 : error_set(err, ERROR_INVALID_INPUT, s->spec->format, "says a step without an id");

	session_time(s, said);
	/* The agent goes on where it was. */
	memcpy(before, s->last, ID_SIZE);
	around = inside ? memory_format(STEP ":0:%lld/", (long long)s->prompts - 1) : memory_text("");
	whole = memory_format("%s%s", around, name);
	seen = map_get(&s->steps, whole, strlen(whole));
	number = seen != NULL ? *seen : 0;
	map_put(&s->steps, whole, strlen(whole), number + 1);
	call = memory_format("%s:0:%zu", whole, number);
	path = memory_format("%s%s", inside ? STEP "." : "", name);
	span_plain(input, &text);
	for (int end = 0; failed == 0 && end <= 1; end++) {
		struct buffer payload = BUFFER_INIT;
		struct writer w;

		writer_begin(&w, &payload);
		writer_object(&w);
		writer_member_string(&w, KEY_NAME, name);
		writer_member_string(&w, KEY_KIND, "command");
		writer_member_string(&w, KEY_CALL, call);
		if (end) {
			writer_member_span(&w, KEY_RESULT, span_member(said, KEY_RESULT));
			session_write_error(&w, span_type(why) == 's', "exit_status", why);
			writer_member_integer(&w, KEY_DURATION_MS, session_duration(s, said, s->wall));
		} else {
			writer_member_integer(&w, KEY_ATTEMPT, 1);
			writer_member_string(&w, KEY_INPUT_SHA256, digest_sha256(buffer_string(&text), text.len, sha256));
			writer_member_span(&w, KEY_INPUT, input);
		}
		writer_object_end(&w);
		session_derive_id(s, end ? "step end" : "step", key, id);
		failed = session_line(s, end ? EVENT_STEP_COMPLETED : EVENT_STEP_STARTED, id,
		    end || inside ? s->last : s->first, path, (int64_t)number, &payload, err);
		buffer_free(&payload);
	}
	if (inside)
		memcpy(s->last, before, ID_SIZE);
	s->sums.calls += failed == 0;
	buffer_free(&text);
	free(around);
	free(whole);
	free(path);
	free(call);
	free(key);
	free(name);
	return failed;
}

static int
session_take_result(struct session_lines *s, struct span said, struct error *err)
{
	char *key = span_text(span_member(said, "result")), id[ID_SIZE];
	const size_t *at = key != NULL ? map_get(&s->calls, key, strlen(key)) : NULL;
	struct buffer payload = BUFFER_INIT, text = BUFFER_INIT;
	struct open_call *call = at != NULL ? &s->open[*at] : NULL;
	struct writer w;
	int failed = 0;

	session_time(s, said);
	if (call != NULL && !call->over && *s->prompt != '\0') {
		call->over = true;
		session_derive_id(s, "result", key, id);
		writer_begin(&w, &payload);
		writer_object(&w);
		writer_member_string(&w, KEY_NAME, call->name);
		writer_member_string(&w, KEY_CALL_ID, key);
		writer_member_span(&w, KEY_OUTPUT, span_member(said, "output"));
		if (span_true(span_member(said, KEY_IS_ERROR))) {
			span_plain(span_member(said, "output"), &text);
			writer_member_object(&w, KEY_ERROR);
			writer_member_string(&w, KEY_CODE, "tool");
			writer_key(&w, KEY_MESSAGE);
			/* The mask has to see all of it: of a secret that is cut nothing can be known. */
			writer_bytes(&w, buffer_string(&text),
			    s->spec->redaction != NULL || text.len < MESSAGE_MOST ? text.len : MESSAGE_MOST);
			writer_object_end(&w);
		}
		writer_member_integer(&w, KEY_DURATION_MS, session_duration(s, said, call->began));
		session_write_fidelity(&w);
		writer_object_end(&w);
		failed = session_line(s, EVENT_TOOL_RESULT, id, call->event_id, STEP, s->prompts - 1, &payload, err);
	}
	buffer_free(&payload);
	buffer_free(&text);
	free(key);
	return failed;
}

/* {"child":PATH,"call":ID,"as":SESSION}: a sub-agent, which a call of a tool has started, or without "call"
 * the agent itself. It is a child run inside the prompt's call. PATH null: its session is in the same log. */
static int
session_take_child(struct session_lines *s, struct span said, struct error *err)
{
	char *log = span_text(span_member(said, "child")), *key = span_text(span_member(said, "call")),
	    *session = span_text(span_member(said, "as")), *call, id[ID_SIZE], child[ID_SIZE];
	const size_t *at = key != NULL ? map_get(&s->calls, key, strlen(key)) : NULL;
	struct buffer payload = BUFFER_INIT;
	int failed = 0;

	session_time(s, said);
	if (session == NULL || (key != NULL && at == NULL) || (key == NULL && log != NULL) || *s->prompt == '\0') {
		free(log);
		free(key);
		free(session);
		return 0;
	}
	session_run_id(s->spec->format, log != NULL ? s->run_id : s->spec->parent, session, child);
	call = memory_format(STEP ":0:%lld/agent:0:%lld", (long long)s->prompts - 1, (long long)s->children);
	for (int end = 0; failed == 0 && end <= 1; end++) {
		struct writer w;

		buffer_clear(&payload);
		writer_begin(&w, &payload);
		writer_object(&w);
		writer_member_string(&w, KEY_NAME, "agent");
		writer_member_string(&w, KEY_KIND, "call_workflow");
		writer_member_string(&w, KEY_CALL, call);
		if (end)
			writer_member_integer(&w, KEY_EXIT_CODE, 0);
		else
			writer_member_integer(&w, KEY_ATTEMPT, 1);
		writer_object_end(&w);
		session_derive_id(s, end ? "child end" : "child", key, id);
		memcpy(s->child_run_id, child, ID_SIZE);
		failed = session_line(s, end ? EVENT_CALL_WORKFLOW_COMPLETED : EVENT_CALL_WORKFLOW_STARTED, id,
		    end || at == NULL ? s->last : s->open[*at].event_id, STEP ".agent", s->children, &payload, err);
		*s->child_run_id = '\0';
	}
	s->children++;
	if (failed == 0 && log != NULL)
		failed = s->spec->callbacks->child(s->spec->context, log, span_type(span_member(said, "over")) != 'f', err);
	buffer_free(&payload);
	free(call);
	free(log);
	free(key);
	free(session);
	return failed;
}

/* Begins a further attempt if what is said next does not belong to this one. what, key: as above. */
static int
session_begin_further(struct session_lines *s, const char *what, struct span key, struct error *err)
{
	int failed = 0;

	if (!s->record.rewritten)
		failed = session_end_recorded(s, err);
	else if (what != NULL && session_has_left(s, what, key))
		failed = session_begin_anew(s, err);
	if (failed == 0 && s->over)
		failed = session_begin_attempt(s, err);
	return failed;
}

int
session_take(struct session_lines *s, struct span said, struct error *err)
{
	static const struct {
		const char *key;
		int (*take)(struct session_lines *s, struct span said, struct error *err);
		const char *what; /* what the id of its first event is derived from; NULL: it needs none */
		bool again;       /* it can be known again in a log that is rewritten */
	} kinds[] = {
		{ "session", session_start, NULL, true }, { "prompt", session_take_prompt, "start", true },
		{ "answer", session_take_answer, "answer", true }, { "child", session_take_child, NULL, true },
		{ "step", session_take_step, NULL, false }, { "result", session_take_result, NULL, true },
		{ "end", session_take_end, NULL, false }, { "call", session_take_call, NULL, false },
	};
	size_t bad;

	if (scan_within(said.at, said.len, SCAN_LINE_DEPTH, &bad) != NULL || span_type(said) != 'o')
		return error_set(err, ERROR_INVALID_INPUT, s->spec->format, "the format program says no JSON object");
	for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
		if (span_member(said, kinds[i].key).at != NULL) {
			if (i > 0 && *s->run_id == '\0')
				return error_set(err, ERROR_INVALID_INPUT, s->spec->format,
				    "the format program does not say which session it is");
			if (s->record.rewritten && !kinds[i].again)
				return error_set(err, ERROR_INVALID_INPUT, s->spec->format,
				    "says '%s' in a session that is rewritten", kinds[i].key);
			if (i > 0 && kinds[i].take != session_take_end &&
			    session_begin_further(s, kinds[i].what, span_member(said, "id"), err) != 0)
				return -1;
			return kinds[i].take(s, said, err);
		}
	return 0;
}

void
session_free(struct session_lines *s)
{
	for (size_t i = 0; i < s->open_count; i++)
		free(s->open[i].name);
	free(s->open);
	free(s->blobs);
	free(s->record.ends.list);
	free(s->record.iterations);
	map_free(&s->record.ids);
	buffer_free(&s->record.text);
	buffer_free(&s->start);
	map_free(&s->calls);
	map_free(&s->steps);
	map_free(&s->seen);
	line_free(&s->line);
	buffer_free(&s->text);
}

void
session_forget(struct session_lines *s)
{
	const struct session_spec *spec = s->spec;

	session_free(s);
	session_begin(s, spec);
}
