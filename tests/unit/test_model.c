/*
 * run/model, run/event_index and run/call_index: what holds for every transcript. Random ones
 * are made here from a seed; what the model says of single cases is in test_outcome.c,
 * test_projection.c and the tests of the programs.
 */
#include <stdlib.h>

#include "unit.h"

#include "base/memory.h"
#include "graph.h"
#include "model/call_index.h"
#include "model/event_index.h"
#include "model/model.h"
#include "model/outcome.h"
#include "record.h"

/* ---- the index ---- */

#define IDS 3000
#define STEPS 60000

static struct uuid
id_of(size_t number)
{
	return (struct uuid){ 1 + number % 7, number };
}

static void
test_index_holds_what_was_put_and_not_removed(void **state)
{
	static bool there[IDS];
	struct event_index x = EVENT_INDEX_INIT;
	size_t count = 0;

	(void)state;
	srand(7);
	for (size_t step = 0; step < STEPS; step++) {
		size_t number = (size_t)rand() % IDS;
		bool put = rand() % (step < STEPS / 2 ? 2 : 4) == 0;

		if (put)
			event_index_put(&x, (struct indexed_event){ .id = id_of(number), .wall = (int64_t)number },
			    (enum event_type)(number % EVENT_TYPES));
		else
			event_index_remove(&x, id_of(number));
		count += (size_t)(put && !there[number]) - (size_t)(!put && there[number]);
		there[number] = put;
		assert_int_equal(x.count, count);
		if (step % 5000 != 0)
			continue;
		for (size_t i = 0; i < IDS; i++) {
			const struct indexed_event *found = event_index_find(&x, id_of(i));

			assert_int_equal(found != NULL, there[i]);
			if (found == NULL)
				continue;
			assert_int_equal(found->wall, i);
			assert_int_equal(event_index_type(&x, found), i % EVENT_TYPES);
		}
	}
	event_index_put(&x, (struct indexed_event){ .id = { 0, 0 } }, EVENT_TYPES);
	assert_null(event_index_find(&x, (struct uuid){ 0, 0 }));
	event_index_free(&x);
	assert_null(event_index_find(&x, id_of(1)));
}

static void
test_calls_are_found_by_their_ids(void **state)
{
	static struct model_call *calls[2][IDS];
	static int there[IDS]; /* which of the two; 0: none */
	struct call_index x = CALL_INDEX_INIT;
	char id[16];

	(void)state;
	srand(8);
	for (size_t i = 0; i < 2 * IDS; i++) {
		struct model_call **c = &calls[i / IDS][i % IDS];

		*c = memory_zero(1, sizeof **c + sizeof id);
		snprintf((*c)->id, sizeof id, "c:%zu", i % IDS);
	}
	for (size_t step = 0; step < STEPS; step++) {
		size_t number = (size_t)rand() % IDS;
		int which = rand() % 2;

		if (rand() % (step < STEPS / 2 ? 2 : 4) == 0) {
			call_index_put(&x, calls[which][number]);
			there[number] = which + 1;
		} else {
			/* One that another has the place of does not take that out. */
			call_index_remove(&x, calls[which][number]);
			if (there[number] == which + 1)
				there[number] = 0;
		}
		if (step % 5000 != 0)
			continue;
		for (size_t i = 0; i < IDS; i++) {
			snprintf(id, sizeof id, "c:%zu, x", i);
			assert_ptr_equal(call_index_find(&x, id, strcspn(id, ",")),
			    there[i] == 0 ? NULL : calls[there[i] - 1][i]);
		}
	}
	assert_null(call_index_find(&x, "", 0));
	call_index_free(&x);
	assert_null(call_index_find(&x, "c:1", 3));
	for (size_t i = 0; i < 2 * IDS; i++)
		free(calls[i / IDS][i % IDS]);
}

/* ---- random transcripts ---- */

#define CALLS 60

struct random_run {
	struct buffer lines;
	long seq;
	struct random_call {
		char id[400];
		long started, ended; /* seqs, which make event ids; 0: not */
	} calls[CALLS];
	size_t count;
	long tool;               /* that is open; 0 */
};

/* One of the texts, as likely as each other. */
#define ONE_OF(...) one_of((const char *const[]){ __VA_ARGS__, NULL })
static const char *
one_of(const char *const *texts)
{
	size_t count = 0;

	while (texts[count] != NULL)
		count++;
	return texts[(size_t)rand() % count];
}

static long
add(struct random_run *r, const char *type, long parent, long link, const char *payload)
{
	char links[64] = "", cause[48] = "null";

	r->seq++;
	if (parent != 0)
		snprintf(cause, sizeof cause, "\"%08lx-0000-4000-8000-000000000000\"", parent);
	if (link != 0)
		snprintf(links, sizeof links, ",\"links\":[\"%08lx-0000-4000-8000-000000000000\"]", link);
	buffer_format(&r->lines, "{\"seq\":%ld,\"timestamp\":\"2026-11-21T08:15:%02ld.%06ldZ\","
	    "\"event_id\":\"%08lx-0000-4000-8000-000000000000\",\"run_id\":\"" RUN_ID "\","
	    "\"parent_event_id\":%s%s,\"type\":\"%s\",\"path\":\"a\",\"iteration\":0,\"payload\":%s,"
	    "\"prev\":\"" ZEROS "\"}\n", r->seq, r->seq / 100 % 60, r->seq, r->seq, cause, links, type, payload);
	return r->seq;
}

static struct random_call *
any_call(struct random_run *r)
{
	return r->count == 0 ? NULL : &r->calls[(size_t)rand() % r->count];
}

static void
add_start(struct random_run *r)
{
	struct random_call *around = rand() % 3 != 0 ? any_call(r) : NULL, *given = any_call(r);
	struct random_call *c = &r->calls[r->count];
	const char *mode = ONE_OF("", "", "", ",\"mode\":\"try\"", ",\"mode\":\"allow-failure\"",
	    ",\"mode\":\"rescue\"", ",\"strategy\":\"any\"", ",\"strategy\":\"best-effort\"");
	const char *name = ONE_OF("a", "b", "c");
	char payload[1024];
	long parent;

	if (r->count == CALLS || (around != NULL && (around->ended != 0 || strlen(around->id) > 300)))
		return;
	snprintf(c->id, sizeof c->id, "%s%s%s:%zu:%d", around != NULL ? around->id : "",
	    around != NULL ? "/" : "", name, r->count, rand() % 2);
	parent = given != NULL && given->ended != 0 ? given->ended : around != NULL ? around->started : 1;
	if (r->tool != 0 && rand() % 4 == 0)
		parent = r->tool;
	given = any_call(r);
	snprintf(payload, sizeof payload, "{\"name\":\"%s\",\"kind\":\"command\",\"call\":\"%s\","
	    "\"input_sha256\":\"%d\",\"try\":%d%s}", name, c->id, rand() % 2, rand() % 3, mode);
	c->ended = 0;
	r->count++;
	c->started = add(r, "step.started", parent, given != NULL ? given->ended : 0, payload);
}

static void
add_end(struct random_run *r)
{
	struct random_call *c = any_call(r);
	char payload[1024];

	if (c == NULL || c->ended != 0)
		return;
	snprintf(payload, sizeof payload, "{\"call\":\"%s\"%s%s}", c->id,
	    ONE_OF("", "", "", ",\"skipped\":\"by_user\"", ",\"skipped\":\"upstream_failed\"",
	    ",\"error\":{\"code\":\"exit_status\",\"message\":\"m\"}",
	    ",\"error\":{\"code\":\"schema\",\"message\":\"n\"}", ",\"error\":{\"code\":\"cancelled\"}",
	    ",\"error\":{\"code\":\"waiting\"}", ",\"error\":{\"code\":\"downstream_closed\"}",
	    ",\"error\":{\"code\":\"waiting\"},\"approval\":{\"asks\":\"completion\"}",
	    ",\"outcome\":\"failure\",\"reason\":\"r\"", ",\"outcome\":\"success\""),
	    ONE_OF("", "", ",\"retries\":[{}]", ",\"retries\":[{},{}]"));
	/* A record may be wrong about what ends. */
	c->ended = add(r, rand() % 20 == 0 ? "step.call_workflow.completed" : "step.completed",
	    c->started, 0, payload);
}

static void
add_other(struct random_run *r)
{
	struct random_call *c = any_call(r);

	if (r->tool != 0) {
		add(r, "tool.result", r->tool, 0, "{}");
		r->tool = 0;
	} else if (rand() % 2 == 0) {
		r->tool = add(r, "tool.call", c != NULL ? c->started : 0, 0, "{\"name\":\"t\"}");
	} else if (c != NULL && c->ended != 0) {
		char payload[600];

		snprintf(payload, sizeof payload, "{\"call\":\"%s\",\"approval\":{\"decides\":\"x\","
		    "\"decision\":\"completed\"}}", c->id);
		add(r, "step.completed", c->ended, 0, payload);
	} else {
		add(r, "message.assistant", c != NULL ? c->started : 0, 0,
		    "{\"usage\":{\"input_tokens\":3,\"output_tokens\":1}}");
	}
}

static void
make_run(struct random_run *r, unsigned seed)
{
	srand(seed);
	*r = (struct random_run){ .lines = BUFFER_INIT };
	for (int attempt = 1, attempts = 1 + rand() % 2; attempt <= attempts; attempt++) {
		add(r, "run.started", 0, 0, "{\"name\":\"w\",\"attempt\":1}");
		r->count = 0;
		r->tool = 0;
		for (int steps = rand() % 150; steps > 0; steps--)
			switch (rand() % 5) {
			case 0:
			case 1:
				add_start(r);
				break;
			case 2:
			case 3:
				add_end(r);
				break;
			default:
				add_other(r);
			}
	}
}

static void
assert_same_outcome(const struct model *a, const struct model *b, const char *path, unsigned seed)
{
	struct outcome x, y;

	outcome_of(&x, a, path);
	outcome_of(&y, b, path);
	if (x.failed != y.failed || x.waiting != y.waiting || strcmp(x.first_failed, y.first_failed) != 0)
		print_message("seed %u\n", seed);
	assert_int_equal(x.calls, y.calls);
	assert_int_equal(x.failed, y.failed);
	assert_string_equal(x.first_failed, y.first_failed);
	assert_string_equal(x.repeated_by, y.repeated_by);
	assert_int_equal(x.error.code, y.error.code);
	assert_string_equal(x.error.message, y.error.message);
	assert_int_equal(x.waiting, y.waiting);
	assert_string_equal(x.first_waiting, y.first_waiting);
	assert_int_equal(x.asking, y.asking);
	assert_int_equal(x.decisions, y.decisions);
	assert_int_equal(x.decision, y.decision);
	assert_string_equal(buffer_string(&x.usage), buffer_string(&y.usage));
	outcome_free(&x);
	outcome_free(&y);
}

/* The whole, and its beginning and then the rest; and whatever is forgotten. */
static void
test_outcomes_depend_on_neither_level_nor_pieces(void **state)
{
	const char *path = record_path("random.jsonl");
	int64_t failed = 0, waiting = 0;

	(void)state;
	for (unsigned seed = 1; seed <= 800; seed++) {
		struct model events, open, pieces;
		struct random_run run;
		struct reader reader;
		struct outcome o;
		size_t cut;

		make_run(&run, seed);
		cut = (size_t)rand() % run.lines.len;
		record_put(path, run.lines.data, cut);
		model_begin(&pieces, MODEL_INSIDE);
		assert_int_equal(reader_open(&reader, path, NULL), 0);
		assert_int_equal(model_read(&pieces, &reader, NULL), 0);
		record_put(path, run.lines.data, run.lines.len);
		assert_int_equal(model_read(&pieces, &reader, NULL), 0);
		reader_close(&reader);
		model_begin(&open, MODEL_OPEN);
		assert_int_equal(model_read_file(&open, path, NULL), 0);
		model_begin(&events, MODEL_EVENTS);
		assert_int_equal(model_read_file(&events, path, NULL), 0);
		assert_same_outcome(&open, &events, path, seed);
		assert_same_outcome(&open, &pieces, path, seed);
		outcome_of(&o, &open, path);
		failed += o.failed;
		waiting += o.waiting;
		outcome_free(&o);
		model_free(&pieces);
		model_free(&open);
		model_free(&events);
		buffer_free(&run.lines);
	}
	/* There was something to judge. */
	assert_true(failed > 1000 && waiting > 200);
}

/* The tree holds together, whatever was forgotten. */
static void
test_calls_stand_in_what_they_are_in(void **state)
{
	static const enum model_level levels[] = { MODEL_OPEN, MODEL_INSIDE, MODEL_EVENTS };
	const char *path = record_path("random.jsonl");

	(void)state;
	for (unsigned seed = 1; seed <= 200; seed++) {
		struct random_run run;
		struct model m;

		make_run(&run, seed);
		record_put(path, run.lines.data, run.lines.len);
		model_begin(&m, levels[seed % COUNT(levels)]);
		assert_int_equal(model_read_file(&m, path, NULL), 0);
		for (const struct model_call *c = m.first; c != NULL; c = c->next) {
			const struct model_call *inside;
			const char *slash = strrchr(c->id, '/');

			assert_true(c->next != NULL ? c->next->number > c->number : c == m.final);
			if (slash != NULL) {
				assert_non_null(c->around);
				assert_int_equal(strlen(c->around->id), slash - c->id);
				assert_memory_equal(c->around->id, c->id, (size_t)(slash - c->id));
			} else {
				assert_null(c->around);
			}
			if (m.level < MODEL_EVENTS)
				assert_true(c->first_inside != NULL || c->state == CALL_OPEN ||
				    c->state == CALL_FAILED || c->state == CALL_WAITING);
			for (inside = c->first_inside; inside != NULL; inside = inside->beside)
				assert_ptr_equal(inside->around, c);
		}
		model_free(&m);
		buffer_free(&run.lines);
	}
}

/* Messages and tools are of the same call whether those that are done are forgotten or not; and
 * with the calls goes all that is known of what was in them. */
static void
test_what_is_in_an_open_call_is_known(void **state)
{
	static const struct { unsigned id, parent; const char *type, *payload; const char *of; } events[] = {
		{ 1, 0, "run.started", "{\"name\":\"x\",\"attempt\":1}", NULL },
		{ 2, 1, "step.started", "{\"name\":\"a\",\"call\":\"a:0:0\"}", "a" },
		{ 3, 1, "step.started", "{\"name\":\"b\",\"call\":\"b:0:0\"}", "b" },
		{ 4, 2, "message.user", "{}", "a" },
		{ 5, 4, "message.assistant", "{}", "a" },
		{ 6, 3, "message.user", "{}", "b" },
		{ 7, 5, "tool.call", "{}", "a" },
		{ 8, 7, "tool.result", "{}", "a" },
		{ 8, 6, "message.assistant", "{}", "b" }, /* an id that was there before */
		{ 9, 8, "message.assistant", "{}", "a" },
		{ 10, 9, "step.completed", "{\"call\":\"a:0:0\"}", "a" },
		{ 11, 6, "step.completed", "{\"call\":\"b:0:0\",\"error\":{\"code\":\"exit_status\"}}", "b" },
		{ 12, 11, "run.completed", "{\"status\":\"failed\"}", NULL },
	};
	struct model m;

	(void)state;
	model_begin(&m, MODEL_INSIDE);
	for (unsigned i = 0; i < COUNT(events); i++) {
		struct buffer line = BUFFER_INIT;
		struct event_view event;
		struct placed placed;

		graph_event(&line, i + 1, events[i].id, events[i].parent, NULL, events[i].type,
		    events[i].payload);
		assert_true(model_line(&m, line.data, line.len - 1, (struct event_place){ 0, 0 }, &event,
		    &placed));
		if (events[i].of == NULL) {
			assert_null(placed.step);
		} else {
			assert_string_equal(placed.step->name, events[i].of);
			assert_int_equal(placed.number, events[i].of[0] - 'a');
		}
		buffer_free(&line);
	}
	/* What is left is the start and the end of the one that has failed. */
	assert_int_equal(m.index.events.count, 2);
	model_free(&m);
}

/* Calls that begin as a step's and end as a child run's, in a record that is not what it should
 * be, are of one work at their start, and of one at their end: what repeated it first, stays. */
static void
test_work_is_repeated_by_the_first_that_succeeded(void **state)
{
	static const struct { const char *type, *call, *rest; } events[] = {
		{ "step.started", "a:0:0", "" },
		{ "step.started", "a:1:0", "" },
		{ "step.completed", "a:1:0", "" },
		{ "step.call_workflow.completed", "a:0:0", ",\"error\":{\"code\":\"exit_status\",\"message\":\"1\"}" },
		{ "step.started", "a:2:0", "" },
		{ "step.call_workflow.completed", "a:2:0", "" },
	};
	struct buffer lines = BUFFER_INIT;
	const struct model_call *call;
	struct model m;
	const char *path;

	(void)state;
	graph_event(&lines, 1, 1, 0, NULL, "run.started", "{\"name\":\"x\",\"attempt\":1}");
	for (unsigned i = 0; i < COUNT(events); i++) {
		char *payload = memory_format("{\"name\":\"a\",\"kind\":\"command\",\"call\":\"%s\"%s}",
		    events[i].call, events[i].rest);

		graph_event(&lines, i + 2, i + 2, i + 1, NULL, events[i].type, payload);
		free(payload);
	}
	path = graph_put("repeated.jsonl", &lines);
	model_begin(&m, MODEL_OPEN);
	assert_int_equal(model_read_file(&m, path, NULL), 0);
	call = model_find(&m, "a:0:0", 5);
	assert_non_null(call);
	assert_int_equal(call->state, CALL_FAILED);
	assert_string_equal(call->work->repeated_by, "a:1:0");
	model_free(&m);
	buffer_free(&lines);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_index_holds_what_was_put_and_not_removed),
		cmocka_unit_test(test_calls_are_found_by_their_ids),
		cmocka_unit_test(test_outcomes_depend_on_neither_level_nor_pieces),
		cmocka_unit_test(test_calls_stand_in_what_they_are_in),
		cmocka_unit_test(test_what_is_in_an_open_call_is_known),
		cmocka_unit_test(test_work_is_repeated_by_the_first_that_succeeded),
	};

	return cmocka_run_group_tests(tests, record_setup, record_teardown);
}
