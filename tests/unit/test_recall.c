/* run/recall in the turn loop: conversations that are cut off after each event and
 * gone on with, once and once more, and replays of them all.
 *
 * The events of the undisturbed conversation are the measure. What a further attempt
 * has to append follows from which of them are recorded, and stand. */
#include "tier.h"
#include "turns.h"

#include "base/clock.h"
#include "json/writer.h"
#include "transcript/blob.h"

#define NONE SIZE_MAX

struct script {
	const char *what, *answers[4];
	const char *stop_tool, *stop_command;
};

static char large[300 << 10]; /* is a blob in a transcript */

#define OWN_LAST "{\"type\":\"tool_use\",\"tool_id\":\"s1\",\"tool_name\":\"search\"," \
	"\"tool_input\":{},\"fidelity\":\"agent_emitted\"}"
#define OWN_FIRST "{\"fidelity\":\"agent_emitted\",\"type\":\"tool_result\",\"tool_id\":\"s1\"," \
	"\"tool_content\":\"found\"}"
#define EMITTED(type, rest) "{\"id\":@ID@,\"type\":\"tool_" type "\"," rest "}\n"

static const struct script scripts[] = {
	{ .what = "a tool of every kind of effects",
	  .answers = { ANSWER(USE("t1", "look", "{}") "," USE("t2", "fetch", "{}") ","
	    USE("t3", "plain", "{}") "," USE("t4", "make", "{}") "," USE("t5", "pay", "{}") ","
	    USE("t6", "again", "{}"), "tool_use"), DONE } },
	{ .what = "turns",
	  .answers = { ANSWER(TEXT("first") "," USE("t1", "make", "{}"), "tool_use"),
	    ANSWER(USE("t2", "fetch", "{}"), "tool_use"),
	    ANSWER("{\"type\":\"thinking\",\"thinking\":\"hm\",\"signature\":\"s\"},"
	    USE("t3", "make", "{\"n\":3.10}"), "tool_use"), DONE } },
	{ .what = "effects of which one fails and one is refused",
	  .answers = { ANSWER(USE("t1", "fail", "{}") "," USE("t2", "unlisted", "{}") ","
	    USE("t3", "make", "{}"), "tool_use"), DONE } },
	{ .what = "one id for two calls",
	  .answers = { ANSWER(USE("t", "make", "{\"n\":1}") "," USE("t", "make", "{\"n\":2}") ","
	    USE("t", "echo", "{\"x\":1}") "," USE("t", "echo", "{\"x\":2}"), "tool_use"), DONE } },
	{ .what = "two calls that are alike",
	  .answers = { ANSWER(USE("", "look", "{}") "," USE("", "look", "{}"), "tool_use"), DONE } },
	{ .what = "a stop tool", .stop_tool = "finish",
	  .answers = { ANSWER(USE("t1", "make", "{}"), "tool_use"),
	    ANSWER(USE("t2", "plain", "{}") "," USE("t3", "finish", "{\"a\": 1}"), "tool_use") } },
	{ .what = "a stop tool with a file", .stop_tool = "again",
	  .answers = { ANSWER(USE("t1", "again", "{}"), "tool_use") } },
	{ .what = "a stop command", .stop_command = "\"grep -q seven\"",
	  .answers = { ANSWER(TEXT("one") "," USE("t1", "plain", "{}"), "tool_use"),
	    ANSWER(TEXT("seven") "," USE("t2", "make", "{}"), "tool_use") } },
	{ .what = "pauses between tools",
	  .answers = { ANSWER(USE("t1", "make", "{}"), "tool_use"), ANSWER(TEXT("wait"), "pause"),
	    ANSWER("", "pause"), DONE } },
	{ .what = "blocks with a fidelity of their own",
	  .answers = { ANSWER(OWN_LAST "," OWN_FIRST "," USE("t1", "look", "{}"), "tool_use"), DONE } },
	{ .what = "an agent CLI's calls in two turns",
	  .answers = { EMITTED("call", "\"name\":\"A\",\"call_id\":\"a\"")
	    EMITTED("call", "\"name\":\"B\",\"call_id\":\"b\",\"input\":{\"n\":1}")
	    EMITTED("result", "\"call_id\":\"a\",\"output\":1") ANSWER(TEXT("more"), "pause"),
	    EMITTED("call", "\"name\":\"A\",\"call_id\":\"a\"")
	    EMITTED("result", "\"call_id\":\"a\",\"output\":2") DONE } },
	{ .what = "an agent CLI's calls after tools",
	  .answers = { ANSWER(USE("t1", "look", "{}") "," USE("t2", "make", "{}"), "tool_use"),
	    EMITTED("call", "\"name\":\"A\",\"call_id\":\"t1\"")
	    EMITTED("result", "\"call_id\":\"t1\",\"output\":2") DONE } },
	{ .what = "an agent CLI that fails once",
	  .answers = { EMITTED("call", "\"name\":\"A\",\"call_id\":\"a\"") FAILURE("overloaded"),
	    EMITTED("call", "\"name\":\"B\",\"call_id\":\"b\"") DONE } },
	{ .what = "an agent CLI that fails",
	  .answers = { EMITTED("call", "\"name\":\"A\",\"call_id\":\"a\"") FAILURE("auth") } },
	{ .what = "bytes that are no text",
	  .answers = { ANSWER(USE("t1", "bytes", "{}") "," USE("t2", "worse", "{}"), "tool_use"),
	    DONE } },
	{ .what = "large parts",
	  .answers = { ANSWER("{\"type\":\"text\",\"text\":\"@LARGE@\"},"
	    USE("t1", "make", "{\"n\":\"@LARGE@\"}"), "tool_use"), DONE } },
};

static const char *const tools[] = { "echo", "plain", "fail", "slow", "liar", "meet", "look",
	"fetch", "make", "pay", "again", "bytes", "worse", "vary", NULL };

/* What the conversation at hand is, and where it was cut; for messages. */
static struct buffer where;

#define wrong(...) wrong_at(__LINE__, __VA_ARGS__)

static void wrong_at(int number, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void
wrong_at(int number, const char *format, ...)
{
	char text[4096];
	va_list list;

	va_start(list, format);
	vsnprintf(text, sizeof text, format, list);
	va_end(list);
	fail_msg("%d: %s: %s", number, buffer_string(&where), text);
}

/* ---- events ---- */

struct record {
	struct recalled_event *list;
	size_t count;
	struct buffer bytes;      /* of the file */
	size_t *ends;             /* of lines in it */
};

static void
record_add(struct record *r, const struct bench *b, const char *at, size_t len)
{
	struct recalled_event *e;
	struct span refs = span_member(span_of(at, len), "refs");
	struct event_view view;
	struct error err;

	/* Retries stand beside: what is recalled of them is in test_step. */
	if (event_view(at, len, &view) == 0 && event_tells_retry(&view))
		return;
	r->list = memory_array(r->list, r->count + 1, sizeof *r->list);
	r->ends = memory_array(r->ends, r->count + 1, sizeof *r->ends);
	e = &r->list[r->count];
	memset(e, 0, sizeof *e);
	if (refs.at != NULL)
		buffer_append(&e->refs, refs.at, refs.len);
	assert_int_equal(blob_inline(b->blobs, at, len, &e->line, &err), 0);
	assert_int_equal(recalled_event_view(e), 0);
	buffer_append(&r->bytes, at, len);
	buffer_byte(&r->bytes, '\n');
	r->ends[r->count++] = r->bytes.len;
}

static void
record_read(struct record *r, const struct bench *b)
{
	struct reader reader;
	struct error err;
	const char *at;
	size_t len;

	memset(r, 0, sizeof *r);
	assert_int_equal(reader_open(&reader, b->path, &err), 0);
	while (reader_next(&reader, &at, &len, &err) == 1)
		record_add(r, b, at, len);
	reader_close(&reader);
}

static void
record_free(struct record *r)
{
	for (size_t i = 0; i < r->count; i++) {
		buffer_free(&r->list[i].line);
		buffer_free(&r->list[i].refs);
	}
	free(r->list);
	free(r->ends);
	buffer_free(&r->bytes);
}

static struct span
member(const struct recalled_event *e, const char *key)
{
	return span_member(e->view.payload, key);
}

static bool
emitted(const struct recalled_event *e)
{
	return (e->view.type == EVENT_TOOL_CALL || e->view.type == EVENT_TOOL_RESULT) &&
	    span_is(member(e, "fidelity"), "agent_emitted");
}

static bool
failed_by(const struct recalled_event *e, const char *code)
{
	return span_is(span_member(member(e, "error"), "code"), code);
}

static bool
cut_short(const struct recalled_event *e)
{
	return failed_by(e, "timeout") || failed_by(e, "cancelled");
}

static bool
repeatable(const struct recalled_event *call)
{
	return span_is(member(call, "effects"), "none") || span_is(member(call, "effects"), "read") ||
	    span_true(member(call, "idempotent"));
}

static size_t
event_index(const struct record *r, struct span id)
{
	for (size_t i = 0; i < r->count; i++)
		if (span_is(id, r->list[i].id))
			return i;
	return NONE;
}

static size_t
result_of(const struct record *r, size_t call)
{
	for (size_t i = call; i < r->count; i++)
		if (r->list[i].view.type == EVENT_TOOL_RESULT &&
		    span_is(r->list[i].view.parent_event_id, r->list[call].id))
			return i;
	return NONE;
}

/* The payload but for durations, and one more member. */
static void
payload_text(const struct recalled_event *e, const char *but, struct buffer *out)
{
	buffer_clear(out);
	for (struct span_walk member = span_walk(e->view.payload); span_next(&member);)
		if (!span_is(member.key, "duration_ms") && !span_is(member.key, but))
			buffer_format(out, "%.*s:%.*s\n", (int)member.key.len, member.key.at,
			    (int)member.value.len, member.value.at);
}

static bool
same_payload(const struct recalled_event *have, const struct recalled_event *want,
    const char *but)
{
	struct buffer texts[2] = { BUFFER_INIT, BUFFER_INIT };
	bool same;

	payload_text(have, but, &texts[0]);
	payload_text(want, but, &texts[1]);
	same = strcmp(buffer_string(&texts[0]), buffer_string(&texts[1])) == 0;
	buffer_free(&texts[0]);
	buffer_free(&texts[1]);
	return same;
}

/* ---- conversations ---- */

/* What came of an attempt. */
struct outcome {
	int status;
	struct error err;
	struct buffer result, usage;
	int64_t tool_calls;
	struct buffer log, ran;
	struct record record;
};

static void
outcome_free(struct outcome *o)
{
	buffer_free(&o->result);
	buffer_free(&o->usage);
	buffer_free(&o->log);
	buffer_free(&o->ran);
	record_free(&o->record);
}

static void
load(const char *name, struct buffer *out)
{
	char *path = path_join(directory, name);
	struct error err;

	if (access(path, F_OK) == 0)
		assert_int_equal(file_load(path, 1 << 24, out, &err), 0);
	free(path);
}

static void
discard(const char *name)
{
	char *path = path_join(directory, name);

	unlink(path);
	free(path);
}

static bool
is_message(const char *answer)
{
	return answer != NULL && strstr(answer, "\"type\":\"message\"") != NULL;
}

/* How many of the answers it takes for so many messages. */
static size_t
answers_until(const struct script *s, size_t messages)
{
	size_t i;

	for (i = 0; messages > 0; i++)
		messages -= is_message(s->answers[i]);
	return i;
}

/* Answers from the given one on, for a provider that counts from 1. */
static void
put_answers(const struct script *s, size_t from)
{
	for (size_t i = 0; i < COUNT(s->answers); i++) {
		char name[] = { (char)('1' + i), '\0' };
		struct buffer text = BUFFER_INIT;
		const char *at = i + from < COUNT(s->answers) ? s->answers[i + from] : NULL, *mark;

		discard(name);
		if (at == NULL)
			continue;
		for (; (mark = strstr(at, "@LARGE@")) != NULL; at = mark + strlen("@LARGE@")) {
			buffer_append(&text, at, (size_t)(mark - at));
			buffer_append(&text, large, sizeof large);
		}
		buffer_text(&text, at);
		put(name, buffer_string(&text), 0600);
		buffer_free(&text);
	}
}

static void
bench_script(struct bench *b, const struct script *s)
{
	struct error err;

	discard("log");
	discard("ran");
	if (s->stop_tool != NULL)
		b->member.agent.stop_tool = memory_text(s->stop_tool);
	if (s->stop_command != NULL)
		b->member.agent.stop_command = value_parse(s->stop_command, strlen(s->stop_command), "",
		    ERROR_USAGE, &err);
}

static void
bench_outcome(struct bench *b, int status, struct outcome *o)
{
	provider_stop(&b->provider);
	memset(o, 0, sizeof *o);
	o->status = status;
	if (status == -1)
		o->err = b->err;
	buffer_text(&o->result, buffer_string(&b->turns.outcome.result));
	buffer_text(&o->usage, buffer_string(&b->turns.outcome.usage));
	o->tool_calls = b->turns.outcome.tool_calls;
	load("log", &o->log);
	load("ran", &o->ran);
	record_read(&o->record, b);
	bench_close(b);
}

static void
undisturbed(const struct script *s, struct outcome *o)
{
	struct bench b;

	bench_open(&b, tools);
	bench_script(&b, s);
	put_answers(s, 0);
	bench_outcome(&b, turns_run(&b.turns, &b.err), o);
}

/* The recorded call of a file: its last attempt's start, and all events inside. */
static void
recall_record(struct recalled *r, const struct record *record)
{
	r->events = memory_zero(record->count + 1, sizeof *r->events);
	for (size_t i = 0; i < record->count; i++) {
		const struct recalled_event *from = &record->list[i];
		struct recalled_event *e = from->view.type == EVENT_STEP_STARTED ? &r->started :
		    &r->events[r->event_count];

		r->event_count += from->view.type != EVENT_STEP_STARTED;
		buffer_free(&e->line);
		memset(e, 0, sizeof *e);
		buffer_append(&e->line, from->line.data, from->line.len);
		recalled_event_view(e);
		memcpy(e->id, from->id, ID_SIZE);
		if (r->root[0] == '\0')
			memcpy(r->root, e->id, ID_SIZE);
	}
	recalled_index(r);
}

static void
recall_end(struct recalled *r, const struct outcome *o)
{
	struct buffer *line = &r->completed.line;
	char text[2048];

	r->end = o->status == 0 ? RECALL_SUCCEEDED : RECALL_FAILED;
	buffer_text(line, "{\"seq\":99,\"type\":\"step.completed\",\"payload\":{");
	if (o->status == -1) {
		buffer_format(line, "\"error\":{\"code\":\"%s\",\"message\":", error_name(o->err.code));
		error_text(&o->err, text, sizeof text);
		json_quote(line, text, strlen(text));
		buffer_byte(line, '}');
	}
	buffer_text(line, "}}");
	assert_int_equal(event_view(line->data, line->len, &r->completed.view), 0);
}

/* ---- what is recorded of the undisturbed events ---- */

struct progress {
	const struct record *all;    /* the undisturbed events */
	char id[64][ID_SIZE];        /* of each as it is recorded; "": it is not */
	bool skipped[64];            /* a result, or a call whose result that is */
};

static bool
answered(const struct progress *p, size_t i)
{
	while (++i < p->all->count)
		if (p->all->list[i].view.type == EVENT_MESSAGE_ASSISTANT)
			return p->id[i][0] != '\0';
	return false;
}

/* Whether what is recorded is the last word on it. */
static bool
stands(const struct progress *p, size_t i)
{
	const struct recalled_event *e = &p->all->list[i];
	size_t result;

	if (p->id[i][0] == '\0' || p->skipped[i] || emitted(e))
		return p->id[i][0] != '\0' && (p->skipped[i] || answered(p, i));
	if (e->view.type == EVENT_TOOL_RESULT)
		return !cut_short(e) || answered(p, i);
	if (e->view.type != EVENT_TOOL_CALL)
		return true;
	result = result_of(p->all, i);
	return result != NONE && stands(p, result);
}

static bool
in_doubt(const struct progress *p, size_t i)
{
	const struct recalled_event *e = &p->all->list[i];

	return e->view.type == EVENT_TOOL_CALL && !emitted(e) && p->id[i][0] != '\0' &&
	    !stands(p, i) && !repeatable(e);
}

static bool
any_doubt(const struct progress *p)
{
	for (size_t i = 1; i < p->all->count; i++)
		if (in_doubt(p, i))
			return true;
	return false;
}

/* The model has read, or will, that something was not done. */
static bool
any_skipped(const struct progress *p)
{
	for (size_t i = 1; i < p->all->count; i++)
		if (p->skipped[i])
			return true;
	return false;
}

/* What is in doubt counts as done: its result, if it has none, is still to be made. */
static void
skip_doubts(struct progress *p)
{
	for (size_t i = 1; i < p->all->count; i++) {
		size_t result = in_doubt(p, i) ? result_of(p->all, i) : NONE;

		if (result != NONE)
			p->skipped[i] = p->skipped[result] = true;
	}
}

/* Whether an undisturbed result is one of a tool that ran. */
static bool
tool_ran(const struct record *whole, size_t i)
{
	const struct recalled_event *e = &whole->list[i];
	char *why = span_text(span_member(member(e, "error"), "message"));
	bool ran = e->view.type == EVENT_TOOL_RESULT && !emitted(e) && !failed_by(e, "blocked") &&
	    !span_is(member(e, "name"), "finish") &&
	    (why == NULL || strstr(why, "the arguments ") != why);

	free(why);
	return ran;
}

/* ---- a further attempt ---- */

static size_t
messages_of(const struct progress *p)
{
	size_t count = 0;

	for (size_t i = 0; i < p->all->count; i++)
		count += p->all->list[i].view.type == EVENT_MESSAGE_ASSISTANT && p->id[i][0] != '\0';
	return count;
}

static void
write_file(const struct bench *b, const char *bytes, size_t len)
{
	FILE *file = fopen(b->path, "w");

	assert_non_null(file);
	assert_int_equal(fwrite(bytes, 1, len, file), len);
	assert_int_equal(fclose(file), 0);
}

/* Goes on from the first len bytes of a file. ended: how the call did; NULL: not. */
static void
attempt(const struct script *s, const struct progress *p, const char *bytes, size_t len,
    const struct outcome *ended, enum recall_decision decided, struct outcome *o)
{
	struct recalled recalled = { .mode = RECALL_RESUME, .end = RECALL_OPEN, .decided = decided };
	struct record before;
	char started[ID_SIZE];
	struct bench b;
	int status;

	bench_begin(&b, tools);
	bench_script(&b, s);
	put_answers(s, answers_until(s, messages_of(p)));
	write_file(&b, bytes, len);
	record_read(&before, &b);
	recall_record(&recalled, &before);
	if (ended != NULL)
		recall_end(&recalled, ended);
	assert_int_equal(transcript_open(&b.transcript, b.path, b.blobs, RUN_ID, &b.err), 0);
	assert_int_equal(call_event(&b.call, EVENT_STEP_STARTED, NULL, NULL, started, &b.err), 0);
	provider_begin(&b.provider, "scripted", NULL, NULL, NULL);
	b.turns.recalled = &recalled;
	b.turns.started = started;
	b.turns.timeout_ms = 60000; /* of a request that the undisturbed run did not send */
	status = turns_run(&b.turns, &b.err);
	bench_outcome(&b, status, o);
	record_free(&before);
	recalled_free(&recalled);
}

/* The causes that an event has to have, as "ID ID …"; the step.started among them if
 * no other is of this attempt. own: which events are. */
static void
causes_wanted(const struct progress *p, const bool *own, const char *started, size_t i,
    struct buffer *out)
{
	const struct event_view *view = &p->all->list[i].view;
	size_t cause = event_index(p->all, view->parent_event_id);
	struct buffer links = BUFFER_INIT;
	bool new = cause == 0 || own[cause];

	buffer_format(out, "%s", cause == 0 ? started : p->id[cause]);
	for (struct span_walk id = span_walk(view->links);
	    view->links.at != NULL && span_next(&id);) {
		cause = event_index(p->all, id.value);
		new = new || own[cause];
		buffer_format(&links, " %s", p->id[cause]);
	}
	if (!new)
		buffer_format(out, " %s", started);
	buffer_text(out, buffer_string(&links));
	buffer_free(&links);
}

static void
causes_had(const struct recalled_event *e, struct buffer *out)
{
	buffer_append(out, e->view.parent_event_id.at + 1, e->view.parent_event_id.len - 2);
	if (e->view.links.at == NULL)
		return;
	for (struct span_walk id = span_walk(e->view.links); span_next(&id);)
		buffer_format(out, " %.*s", (int)id.value.len - 2, id.value.at + 1);
}

static void
assert_causes(const struct progress *p, const bool *own, const char *started, size_t i,
    const struct recalled_event *e)
{
	struct buffer have = BUFFER_INIT, want = BUFFER_INIT;

	causes_wanted(p, own, started, i, &want);
	causes_had(e, &have);
	if (strcmp(have.data, want.data) != 0)
		wrong("causes of event %zu (%s) are %s, not %s", i, event_type_name(e->view.type),
		    have.data, want.data);
	buffer_free(&have);
	buffer_free(&want);
}

/* Enters that an event was recorded: what was known of its result is old now. */
static void
progress_enter(struct progress *p, size_t i, const char *id)
{
	size_t result = p->all->list[i].view.type == EVENT_TOOL_CALL ? result_of(p->all, i) : NONE;

	memcpy(p->id[i], id, ID_SIZE);
	if (result != NONE)
		p->id[result][0] = '\0';
}

/* Whether the next attempt has to append this event. */
static bool
to_come(const struct progress *p, size_t i)
{
	if (p->skipped[i])
		return p->id[i][0] == '\0';
	return !stands(p, i);
}

/* The first of the undisturbed events that are to come which this one is. Those of
 * tools that run at once may come in another order than they did. */
static size_t
find_coming(const struct progress *p, const bool *coming, const struct recalled_event *have)
{
	const char *but = any_skipped(p) ? "request_sha256" : "";
	size_t i = 1;

	for (; i < p->all->count; i++) {
		const struct recalled_event *want = &p->all->list[i];
		char *call_id = span_text(member(want, "call_id"));
		bool same = coming[i] && have->view.type == want->view.type && (p->skipped[i] ?
		    span_is(member(have, "call_id"), call_id) && failed_by(have, "interrupted") :
		    same_payload(have, want, but));

		free(call_id);
		if (same)
			break;
	}
	return i;
}

/* Checks what an attempt appended after its step.started. order gets the undisturbed
 * events that those are. */
static size_t
check_events(struct progress *p, const struct record *r, size_t first, size_t order[64])
{
	bool own[64] = { false }, coming[64];
	size_t count = 0, i;

	for (i = 1; i < p->all->count; i++)
		coming[i] = to_come(p, i);
	for (; first + count < r->count; count++) {
		const struct recalled_event *have = &r->list[first + count];

		i = find_coming(p, coming, have);
		if (i == p->all->count)
			wrong("an event that is not missing: %.1500s", have->line.data);
		assert_causes(p, own, r->list[first - 1].id, i, have);
		progress_enter(p, i, have->id);
		coming[i] = false;
		own[i] = true;
		order[count] = i;
	}
	for (i = 1; i < p->all->count; i++)
		if (coming[i])
			wrong("event %zu (%s) was not appended", i,
			    event_type_name(p->all->list[i].view.type));
	return count;
}

static size_t
lines_of(const struct buffer *text)
{
	size_t count = 0;

	for (size_t i = 0; i < text->len; i++)
		count += text->data[i] == '\n';
	return count;
}

/* Requests are those of the undisturbed run but the first ones; their ids start anew. */
static void
check_requests(const struct buffer *have, const struct buffer *want, size_t skip, bool same)
{
	const char *had = buffer_string(have), *wanted = buffer_string(want);

	for (; skip > 0; skip--)
		wanted = strchr(wanted, '\n') + 1;
	for (; *had != '\0' && *wanted != '\0'; had = strchr(had, '\n') + 1,
	    wanted = strchr(wanted, '\n') + 1) {
		size_t len = strcspn(strchr(wanted, ','), "\n");

		if (same && memcmp(strchr(had, ','), strchr(wanted, ','), len + 1) != 0)
			wrong("request is %.1500s, not %.1500s", had, wanted);
		if (!same && strstr(had, "\"interrupted: it may have done its work, and was not run "
		    "again\",\"is_error\":true") == NULL && strstr(had, "\"is_error\":true") == NULL)
			wrong("the model does not read that a tool was skipped: %.1500s", had);
	}
	if (*had != '\0' || *wanted != '\0')
		wrong("%s requests than expected", *had != '\0' ? "more" : "fewer");
}

static void
check_result(const struct outcome *have, const struct outcome *want)
{
	if (have->status != want->status || have->err.code != want->err.code)
		wrong("ended with %s (%s), not %s (%s)", error_name(have->err.code), have->err.message,
		    error_name(want->err.code), want->err.message);
	if (strcmp(buffer_string(&have->result), buffer_string(&want->result)) != 0)
		wrong("result is %.500s, not %.500s", have->result.data, want->result.data);
	if (strcmp(buffer_string(&have->usage), buffer_string(&want->usage)) != 0)
		wrong("usage is %s, not %s", have->usage.data, want->usage.data);
	if (have->status == 0 && have->tool_calls != want->tool_calls)
		wrong("%d tool calls, not %d", (int)have->tool_calls, (int)want->tool_calls);
}

/* ---- replay ---- */

static bool
replay_runs(const struct progress *p, size_t i)
{
	const struct recalled_event *call =
	    &p->all->list[event_index(p->all, p->all->list[i].view.parent_event_id)];

	return tool_ran(p->all, i) && !p->skipped[i] && !cut_short(&p->all->list[i]) &&
	    !span_is(member(call, "effects"), "read") && !span_is(member(call, "effects"), "external");
}

static size_t
index_of_id(const struct progress *p, const char *id)
{
	size_t i = 1;

	while (i < p->all->count && strcmp(p->id[i], id) != 0)
		i++;
	return i;
}

/* The transcript of a replay: the undisturbed events, under the ids that were recorded
 * last, and nothing else. */
static void
check_replay(const struct progress *p, const struct record *recorded, const struct outcome *o)
{
	const struct record *r = &o->record;
	size_t ran = 0;
	bool own[64];

	memset(own, true, sizeof own);
	for (size_t n = 1; n < r->count; n++) {
		const struct recalled_event *e = &r->list[n];
		size_t i = index_of_id(p, e->id), at = event_index(recorded, e->view.event_id);

		if (i == p->all->count || e->view.type != p->all->list[i].view.type)
			wrong("an event that is not the recorded one: %.1500s", e->line.data);
		if (!same_payload(e, &recorded->list[at], ""))
			wrong("%.1500s, not %.1500s", e->line.data, recorded->list[at].line.data);
		assert_causes(p, own, r->list[0].id, i, e);
	}
	for (size_t i = 1; i < p->all->count; i++)
		ran += replay_runs(p, i);
	if (r->count != p->all->count)
		wrong("%zu events, not %zu", r->count, p->all->count);
	if (lines_of(&o->ran) != ran)
		wrong("%zu tools ran, not %zu", lines_of(&o->ran), ran);
}

/* Replays what came of a file; nothing may start a provider. */
static void
replay_call(const struct script *s, const struct record *recorded, struct recalled *recalled,
    const char *prompt, struct outcome *o)
{
	struct bench b;

	bench_begin(&b, tools);
	bench_script(&b, s);
	recalled->mode = RECALL_REPLAY;
	recall_record(recalled, recorded);
	unlink(b.path);
	assert_int_equal(transcript_create(&b.transcript, b.path, b.blobs, RUN_ID, &b.err), 0);
	call_name_next(&b.call, recalled->started.id);
	assert_int_equal(call_event(&b.call, EVENT_STEP_STARTED, NULL, NULL, NULL, &b.err), 0);
	b.provider.name = memory_text("no-such-provider");
	b.turns.recalled = recalled;
	b.turns.started = recalled->started.id;
	b.turns.prompt = span_of(prompt, strlen(prompt));
	bench_outcome(&b, turns_run(&b.turns, &b.err), o);
}

static void
replay(const struct script *s, const struct progress *p, const struct outcome *recorded)
{
	struct recalled recalled = { .mode = RECALL_REPLAY };
	size_t len = where.len;
	struct outcome o;

	buffer_text(&where, ", replayed");
	recall_end(&recalled, recorded);
	replay_call(s, &recorded->record, &recalled, "ask", &o);
	check_result(&o, recorded);
	check_replay(p, &recorded->record, &o);
	where.len = len;
	where.data[len] = '\0';
	recalled_free(&recalled);
	outcome_free(&o);
}

/* ---- cut off after each event ---- */

/* What was skipped but not recorded yet is in doubt as before. */
static void
unskip_missing(struct progress *p)
{
	for (size_t i = 1; i < p->all->count; i++) {
		size_t result = p->all->list[i].view.type == EVENT_TOOL_CALL ? result_of(p->all, i) : NONE;

		if (result != NONE && p->id[result][0] == '\0')
			p->skipped[i] = p->skipped[result] = false;
	}
}

static void
check_waiting(const struct outcome *o, size_t first)
{
	if (o->status != -1 || o->err.code != ERROR_WAITING || o->record.count != first ||
	    o->log.len + o->ran.len != 0)
		wrong("it goes on although nobody has decided");
}

/* Goes on from the first `kept` events of a file. */
static void
resume(const struct script *s, const struct outcome *whole, const struct progress *before,
    const struct record *file, size_t kept, enum recall_decision decided, bool last)
{
	static const char *const words[] = { "undecided", "redo", "skip" };
	struct progress p = *before, cut, part;
	size_t len = where.len, order[64], count, ran = 0;
	struct outcome o;

	buffer_format(&where, ", cut after %zu, %s", kept, words[decided]);
	attempt(s, before, file->bytes.data, file->ends[kept - 1], NULL, decided, &o);
	if (any_doubt(&p) && decided == RECALL_UNDECIDED) {
		check_waiting(&o, kept + 1);
	} else {
		if (decided == RECALL_SKIP)
			skip_doubts(&p);
		cut = p;
		for (size_t i = 1; i < p.all->count; i++)
			ran += to_come(&p, i) && !p.skipped[i] && tool_ran(p.all, i);
		count = check_events(&p, &o.record, kept + 1, order);
		check_result(&o, whole);
		check_requests(&o.log, &whole->log, answers_until(s, messages_of(before)),
		    !any_skipped(&p));
		if (lines_of(&o.ran) != ran)
			wrong("%zu tools ran, not %zu", lines_of(&o.ran), ran);
		replay(s, &p, &o);
		for (size_t i = 0; !last && i < count; i++) {
			progress_enter(&cut, order[i], o.record.list[kept + 1 + i].id);
			if (i % tier_stride(30) != 0)
				continue;
			part = cut;
			unskip_missing(&part);
			resume(s, whole, &part, &o.record, kept + 2 + i,
			    any_doubt(&part) ? decided : RECALL_UNDECIDED, true);
		}
	}
	where.len = len;
	where.data[len] = '\0';
	outcome_free(&o);
}

static void
resume_each(const struct script *s, const struct outcome *whole, const struct progress *before,
    size_t kept)
{
	resume(s, whole, before, before->all, kept, RECALL_UNDECIDED, false);
	if (!any_doubt(before))
		return;
	resume(s, whole, before, before->all, kept, RECALL_REDO, false);
	resume(s, whole, before, before->all, kept, RECALL_SKIP, false);
}

static void
try_script(const struct script *s)
{
	struct progress p;
	struct outcome whole;

	buffer_clear(&where);
	buffer_text(&where, s->what);
	print_message("# %s\n", s->what);
	undisturbed(s, &whole);
	memset(&p, 0, sizeof p);
	p.all = &whole.record;
	for (size_t i = 0; i < p.all->count; i++)
		memcpy(p.id[i], p.all->list[i].id, ID_SIZE);
	replay(s, &p, &whole);
	memset(p.id, 0, sizeof p.id);
	for (size_t i = 0; i < p.all->count; i++) {
		progress_enter(&p, i, p.all->list[i].id);
		if (i % tier_stride(10) == 0)
			resume_each(s, &whole, &p, i + 1);
	}
	outcome_free(&whole);
}

static void
conversations_cut_off_go_on(void **state)
{
	for (size_t i = 0; i < COUNT(conversations); i++) {
		struct script s = { .what = conversations[i].what };

		memcpy(s.answers, conversations[i].answers, sizeof s.answers);
		try_script(&s);
		clean(state);
	}
}

static void
scripts_cut_off_go_on(void **state)
{
	for (size_t i = 0; i < COUNT(scripts); i++) {
		try_script(&scripts[i]);
		clean(state);
	}
}

/* A call that failed with an answer asks again; the replay knows the last one alone. */
static void
an_answer_that_failed_is_asked_for_again(void **state)
{
	static const struct script s = { .what = "a failed answer", .answers = {
	    ANSWER(USE("t1", "look", "{}"), "tool_use"),
	    ANSWER(OWN_LAST "," TEXT("half"), "max_tokens"), DONE } };
	struct progress p = { .all = NULL };
	struct outcome whole, again;
	size_t last;

	(void)state;
	buffer_clear(&where);
	undisturbed(&s, &whole);
	assert_int_equal(whole.err.code, ERROR_MAX_TOKENS);
	p.all = &whole.record;
	last = p.all->count - 1;
	for (size_t i = 0; i < p.all->count; i++)
		memcpy(p.id[i], p.all->list[i].id, ID_SIZE);
	attempt(&s, &p, p.all->bytes.data, p.all->bytes.len, &whole, RECALL_UNDECIDED, &again);
	assert_int_equal(again.status, 0);
	assert_string_equal(buffer_string(&again.result), "\"done\"");
	assert_int_equal(again.record.count, p.all->count + 2);
	assert_causes(&p, (const bool[64]){ false }, again.record.list[last + 1].id, last,
	    &again.record.list[last + 2]);
	memcpy(p.id[last], again.record.list[last + 2].id, ID_SIZE);
	replay(&s, &p, &again);
	outcome_free(&whole);
	outcome_free(&again);
}

static void
ways_to_differ(void **state)
{
	static const struct { const char *what, *tool[2], *prompt, *stop[2]; size_t kept;
		enum error_code ended, code; const char *message; } rows[] = {
		{ "nothing", { "echo one", "echo one" }, "ask", { NULL, NULL }, 6, ERROR_NONE,
		    ERROR_NONE, "" },
		{ "a result", { "echo one", "echo two" }, "ask", { NULL, NULL }, 6, ERROR_NONE,
		    ERROR_DIVERGENCE, "its result is \"two\", the recorded one \"one\"" },
		{ "a failure", { "echo one", "exit 3" }, "ask", { NULL, NULL }, 6, ERROR_NONE,
		    ERROR_DIVERGENCE, "it failed, the recorded one did not: exit status 3" },
		{ "another failure", { "exit 3", "exit 4" }, "ask", { NULL, NULL }, 6, ERROR_NONE,
		    ERROR_DIVERGENCE, "it failed in another way than the recorded one: exit status 3" },
		{ "a success", { "exit 3", "echo one" }, "ask", { NULL, NULL }, 6, ERROR_NONE,
		    ERROR_DIVERGENCE, "it succeeded, the recorded one failed: exit status 3" },
		{ "what a failed tool says", { "echo a >&2; exit 3", "echo b >&2; exit 3" }, "ask",
		    { NULL, NULL }, 6, ERROR_NONE, ERROR_DIVERGENCE,
		    "turn 1: the request differs from the recorded one (" },
		{ "the prompt", { "echo one", "echo one" }, "ask more", { NULL, NULL }, 6, ERROR_NONE,
		    ERROR_DIVERGENCE, "turn 0: the request differs from the recorded one (" },
		{ "a stop", { "echo one", "echo one" }, "ask", { "\"exit 1\"", "\"exit 0\"" }, 6,
		    ERROR_NONE, ERROR_DIVERGENCE, "turn 0: ends with a result, the recorded call went on" },
		{ "no stop", { "echo one", "echo one" }, "ask", { "\"exit 0\"", "\"exit 1\"" }, 5,
		    ERROR_NONE, ERROR_DIVERGENCE,
		    "turn 1: asks the model again, the recorded call ended here" },
		/* where a recording ends that has no end */
		{ "no answer", { "echo one", "echo one" }, "ask", { NULL, NULL }, 5, ERROR_CODES,
		    ERROR_DIVERGENCE, "the recording ends in turn 1" },
		{ "no result", { "echo one", "echo one" }, "ask", { NULL, NULL }, 4, ERROR_CODES,
		    ERROR_DIVERGENCE, "the recording ends in this tool's call" },
		{ "no call", { "echo one", "echo one" }, "ask", { NULL, NULL }, 3, ERROR_CODES,
		    ERROR_DIVERGENCE, "the recording has no such call of this tool" },
		{ "nothing at all", { "echo one", "echo one" }, "ask", { NULL, NULL }, 1, ERROR_CODES,
		    ERROR_DIVERGENCE, "the recording ends in turn 0" },
		/* what stands */
		{ "a provider's error", { "echo one", "echo one" }, "ask", { NULL, NULL }, 5,
		    ERROR_RATE_LIMIT, ERROR_RATE_LIMIT, "recorded" },
		{ "a timeout in a tool", { "echo one", "echo one" }, "ask", { NULL, NULL }, 4,
		    ERROR_TIMEOUT, ERROR_TIMEOUT, "recorded" },
		{ "a signal before a tool", { "echo one", "echo one" }, "ask", { NULL, NULL }, 3,
		    ERROR_CANCELLED, ERROR_CANCELLED, "recorded" },
		/* what does not */
		{ "a limit", { "echo one", "echo one" }, "ask", { NULL, NULL }, 5,
		    ERROR_MAX_TURNS, ERROR_DIVERGENCE,
		    "turn 1: asks the model again, the recorded call ended here" },
	};

	for (size_t i = 0; i < COUNT(rows); i++) {
		struct script s = { .what = rows[i].what, .stop_command = rows[i].stop[0],
		    .answers = { ANSWER(TEXT("one") "," USE("t1", "vary", "{}"), "tool_use"), DONE } };
		struct recalled recalled = { .mode = RECALL_REPLAY };
		struct outcome whole, ended = { .status = 0 }, o;
		struct record kept;

		print_message("# %s\n", rows[i].what);
		put("vary.sh", rows[i].tool[0], 0600);
		undisturbed(&s, &whole);
		assert_int_equal(whole.status, 0);
		put("vary.sh", rows[i].tool[1], 0600);
		s.stop_command = rows[i].stop[1];
		kept = whole.record;
		assert_true(kept.count >= rows[i].kept);
		kept.count = rows[i].kept;
		ended.status = rows[i].ended == ERROR_NONE ? 0 : -1;
		if (rows[i].ended != ERROR_CODES) {
			error_set(&ended.err, rows[i].ended, NULL, "recorded");
			recall_end(&recalled, &ended);
		}
		replay_call(&s, &kept, &recalled, rows[i].prompt, &o);
		assert_int_equal(o.err.code, rows[i].code);
		assert_ptr_equal(strstr(o.err.message, rows[i].message), o.err.message);
		assert_int_equal(o.log.len, 0);
		recalled_free(&recalled);
		outcome_free(&whole);
		outcome_free(&o);
		clean(state);
	}
}

/* The deadline of the call ends a tool, and the call before the next tool. */
static void
a_deadline_stands(void **state)
{
	static const struct script s = { .what = "a deadline", .answers = {
	    ANSWER(USE("t1", "slow", "{}") "," USE("t2", "plain", "{}"), "tool_use") } };
	struct progress p = { .all = NULL };
	struct outcome whole;
	struct bench b;

	(void)state;
	buffer_clear(&where);
	bench_open(&b, tools);
	bench_script(&b, &s);
	put_answers(&s, 0);
	b.tools[3].timeout_ms = 0;
	b.turns.deadline = clock_monotonic() + 2000;
	bench_outcome(&b, turns_run(&b.turns, &b.err), &whole);
	assert_int_equal(whole.err.code, ERROR_TIMEOUT);
	assert_int_equal(whole.record.count, 5);
	p.all = &whole.record;
	for (size_t i = 0; i < p.all->count; i++)
		memcpy(p.id[i], p.all->list[i].id, ID_SIZE);
	replay(&s, &p, &whole);
	outcome_free(&whole);
}

/* An operation (awf-step -t) that was cut off after its tool had ended is not done
 * again; one that failed is. */
static void
operations_go_on(void **state)
{
	static const struct { const char *tool; size_t kept; enum recall_decision decided;
		enum error_code code; size_t ran, appended; } rows[] = {
		{ "pay", 3, RECALL_UNDECIDED, ERROR_NONE, 0, 0 },
		{ "pay", 2, RECALL_UNDECIDED, ERROR_WAITING, 0, 0 },
		{ "pay", 2, RECALL_REDO, ERROR_NONE, 1, 2 },
		{ "pay", 1, RECALL_UNDECIDED, ERROR_NONE, 1, 2 },
		{ "again", 2, RECALL_UNDECIDED, ERROR_NONE, 1, 2 },
		{ "look", 2, RECALL_UNDECIDED, ERROR_NONE, 1, 2 },
		{ "fail", 3, RECALL_UNDECIDED, ERROR_EXIT_STATUS, 1, 2 },
		{ "slow", 3, RECALL_UNDECIDED, ERROR_WAITING, 0, 0 },
	};
	static const struct script s = { .what = "an operation" };

	for (size_t i = 0; i < COUNT(rows); i++) {
		struct recalled recalled = { .decided = rows[i].decided };
		char started[ID_SIZE], last[ID_SIZE];
		struct outcome first, second;
		struct record kept;
		struct bench b;
		int status;

		print_message("# %s after %zu\n", rows[i].tool, rows[i].kept);
		bench_open(&b, (const char *const[]){ rows[i].tool, NULL });
		status = turns_operation(&b.turns, &b.tools[0], span_of("{}", 2), &b.err);
		bench_outcome(&b, status, &first);
		kept = first.record;
		kept.count = rows[i].kept;
		bench_begin(&b, (const char *const[]){ rows[i].tool, NULL });
		bench_script(&b, &s);
		recall_record(&recalled, &kept);
		write_file(&b, first.record.bytes.data, first.record.ends[rows[i].kept - 1]);
		assert_int_equal(transcript_open(&b.transcript, b.path, b.blobs, RUN_ID, &b.err), 0);
		assert_int_equal(call_event(&b.call, EVENT_STEP_STARTED, NULL, NULL, started, &b.err), 0);
		b.turns.recalled = &recalled;
		b.turns.started = started;
		status = turns_operation(&b.turns, &b.tools[0], span_of("{}", 2), &b.err);
		memcpy(last, b.call.last, ID_SIZE);
		bench_outcome(&b, status, &second);
		assert_int_equal(second.err.code, rows[i].code);
		assert_int_equal(lines_of(&second.ran), rows[i].ran);
		assert_int_equal(second.record.count, rows[i].kept + 1 + rows[i].appended);
		if (status == 0)
			assert_string_equal(buffer_string(&second.result), buffer_string(&first.result));
		if (status == 0 && rows[i].ran == 0)
			assert_string_equal(last, first.record.list[2].id);
		recalled_free(&recalled);
		outcome_free(&first);
		outcome_free(&second);
		clean(state);
	}
}

static void
the_call_around_has_a_root(void **state)
{
	static const char root[] = "9f8b1c9e-0f1c-4a53-8f0e-5f3f2a6f4d10";
	static const struct { const char *claimed, *enclosing, *root; } rows[] = {
		{ NULL, "", "" }, { root, "", "" }, { root, "g:0:0", root },
		{ NULL, "g:0:0", NULL }, { "", "g:0:0", NULL }, { "none", "g:0:0", NULL },
	};

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		const char *found;

		unsetenv("AWF_CLAIMED");
		if (rows[i].claimed != NULL)
			setenv("AWF_CLAIMED", rows[i].claimed, 1);
		found = recall_root(rows[i].enclosing);
		if (rows[i].root == NULL)
			assert_null(found);
		else
			assert_string_equal(found, rows[i].root);
	}
	unsetenv("AWF_CLAIMED");
}

static int
begin_recall(void **state)
{
	int status = begin(state);

	memset(large, 'x', sizeof large);
	put_tool("look", "{\"effects\":\"none\"}", "echo seen\n");
	put_tool("fetch", "{\"effects\":\"read\"}", "echo fetched\n");
	put_tool("make", "{\"effects\":\"workspace\"}", "cat\n");
	put_tool("pay", "{\"effects\":\"external\"}", "echo paid\n");
	put_tool("again", "{\"effects\":\"external\",\"idempotent\":true}", "echo once more\n");
	put_tool("vary", "{}", "sh $SCRIPT/vary.sh\n");
	put_tool("bytes", "{\"effects\":\"none\"}", "printf 'a\\377b'\n");
	put_tool("worse", "{\"effects\":\"none\"}", "printf 'a\\377b' >&2\nexit 1\n");
	return status;
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_call_around_has_a_root),
		cmocka_unit_test_teardown(ways_to_differ, clean),
		cmocka_unit_test_teardown(operations_go_on, clean),
		cmocka_unit_test_teardown(a_deadline_stands, clean),
		cmocka_unit_test_teardown(an_answer_that_failed_is_asked_for_again, clean),
		cmocka_unit_test_teardown(scripts_cut_off_go_on, clean),
		cmocka_unit_test_teardown(conversations_cut_off_go_on, clean),
	};

	return cmocka_run_group_tests(tests, begin_recall, end);
}
