/* lib/rerun/graph: causes and the order that follows from them. */
#include "graph.h"

#include "rerun/graph.h"
#include "unit.h"

#define EVENTS 300
#define CHAIN 50000

static void
open_graph(struct graph *g, const struct buffer *lines)
{
	struct error err = ERROR_INIT;

	if (graph_open(g, graph_put("t.jsonl", lines), &err) != 0)
		fail_msg("%s: %s", err.place, err.message);
}

/* The number of an event, from graph_uuid(). */
static unsigned
number_of(const struct graph *g, uint32_t node)
{
	char text[ID_SIZE];

	uuid_write(g->nodes[node].id, text);
	return (unsigned)strtoul(text + 24, NULL, 10);
}

static void
test_ids(void **state)
{
	struct buffer lines = BUFFER_INIT;
	struct graph g;
	struct error err = ERROR_INIT;
	char text[ID_SIZE];

	(void)state;
	record_line(&lines, 1, "\"event_id\":\"fedcba98-7654-4321-9abc-def012345678\","
	    "\"parent_event_id\":null,\"type\":\"run.started\",\"payload\":{}");
	record_line(&lines, 2, "\"event_id\":\"0123abcd-ef00-4a5b-8c6d-00000000000f\","
	    "\"parent_event_id\":\"fedcba98-7654-4321-9abc-def012345678\",\"type\":\"later\","
	    "\"payload\":null");
	open_graph(&g, &lines);
	assert_int_equal(g.count, 2);
	assert_string_equal(uuid_write(g.nodes[0].id, text), "0123abcd-ef00-4a5b-8c6d-00000000000f");
	assert_string_equal(uuid_write(g.nodes[1].id, text), "fedcba98-7654-4321-9abc-def012345678");
	assert_int_equal(graph_find(&g, g.nodes[1].id), 1);
	assert_int_equal(graph_find(&g, (struct uuid){ 1, 2 }), GRAPH_NONE);
	assert_memory_equal(graph_line(&g, &g.nodes[0], &err), "{\"seq\":2,", 9);
	assert_int_equal(graph_line(&g, &g.nodes[1], &err)[g.nodes[1].length], '\n');
	graph_close(&g);
	buffer_free(&lines);
}

/* A run of random causes: event 1 starts it, 2 ends it, each other follows from up to
 * three with a smaller place in a random order. */
struct random_run {
	unsigned place[EVENTS];     /* the event at each place */
	unsigned causes[EVENTS][3]; /* of each event; 0: none */
};

static void
make_random(struct random_run *r)
{
	memset(r, 0, sizeof *r);
	for (unsigned i = 0; i < EVENTS; i++)
		r->place[i] = i;
	for (unsigned i = EVENTS - 1; i > 3; i--) {
		unsigned other = 3 + (unsigned)rand() % (i - 2), kept = r->place[i];

		r->place[i] = r->place[other];
		r->place[other] = kept;
	}
	for (unsigned i = 3; i < EVENTS; i++) {
		unsigned *causes = r->causes[r->place[i]], reach = 1 + (unsigned)rand() % 40;

		causes[0] = 1;
		for (int c = 0; c < 3 && i > 3 && rand() % 3 > 0; c++)
			causes[c] = r->place[i - 1 - (unsigned)rand() % (i - 3 < reach ? i - 3 : reach)];
	}
	r->causes[2][0] = 1;
}

static void
write_random(const struct random_run *r, const unsigned *order, struct buffer *lines)
{
	buffer_clear(lines);
	for (unsigned i = 0; i < EVENTS - 1; i++) {
		const unsigned *causes = r->causes[order[i]];
		struct buffer links = BUFFER_INIT;

		buffer_text(&links, "[{\"run_id\":\"" OTHER_ID "\",\"event_id\":\"" OTHER_ID "\"}");
		for (int c = 1; c < 3; c++)
			if (causes[c] > 0)
				buffer_format(&links, ",\"%s\"", graph_uuid(causes[c]));
		buffer_byte(&links, ']');
		graph_event(lines, (long)i + 1, order[i], causes[0], links.data, order[i] == 1 ?
		    "run.started" : order[i] == 2 ? "run.completed" : "message.user", "{}");
		buffer_free(&links);
	}
}

static bool
is_out(const unsigned *out, unsigned count, unsigned event)
{
	while (count > 0 && out[count - 1] != event)
		count--;
	return count > 0;
}

/* Kahn's algorithm as its definition says it. */
static void
expected_order(const struct random_run *r, unsigned *out)
{
	unsigned count = 1, next;

	for (out[0] = 1; count < EVENTS - 2; out[count++] = next) {
		for (next = 3; next < EVENTS; next++) {
			bool ready = !is_out(out, count, next);

			for (int c = 0; ready && c < 3; c++)
				ready = r->causes[next][c] == 0 || is_out(out, count, r->causes[next][c]);
			if (ready)
				break;
		}
	}
	out[count] = 2;
}

static void
shuffle(unsigned *order, unsigned count)
{
	for (unsigned i = count - 1; i > 0; i--) {
		unsigned other = (unsigned)rand() % (i + 1), kept = order[i];

		order[i] = order[other];
		order[other] = kept;
	}
}

static void
test_order_is_kahns(void **state)
{
	struct random_run r;
	struct buffer lines = BUFFER_INIT;
	unsigned expected[EVENTS], order[EVENTS];

	(void)state;
	srand(1);
	for (unsigned i = 0; i < EVENTS - 1; i++)
		order[i] = i + 1;
	for (int round = 0; round < 20; round++) {
		struct graph g;
		struct error err = ERROR_INIT;
		uint32_t *found;

		make_random(&r);
		expected_order(&r, expected);
		shuffle(order, EVENTS - 1);
		write_random(&r, order, &lines);
		open_graph(&g, &lines);
		found = graph_order(&g, &err);
		if (!found)
			fail_msg("%s: %s", err.place, err.message);
		for (unsigned i = 0; i < EVENTS - 1; i++)
			assert_int_equal(number_of(&g, found[i]), expected[i]);
		free(found);
		found = graph_order_seq(&g);
		for (unsigned i = 0; i < EVENTS - 1; i++)
			assert_int_equal(number_of(&g, found[i]), order[i]);
		free(found);
		graph_close(&g);
	}
	buffer_free(&lines);
}

/* Nothing recurses, and what says no attempt has that of what it follows from. */
static void
test_long_chain(void **state)
{
	struct buffer lines = BUFFER_INIT;
	struct graph g;
	struct error err = ERROR_INIT;
	uint32_t *order;

	(void)state;
	graph_event(&lines, 1, CHAIN + 1, 0, NULL, "run.started", "{\"attempt\":3}");
	graph_event(&lines, 2, CHAIN, CHAIN + 1, NULL, "step.started", "{\"attempt\":3}");
	for (unsigned i = CHAIN - 1; i > 0; i--)
		graph_event(&lines, (long)(CHAIN + 2 - i), i, i + 1, NULL, "message.user", "{}");
	open_graph(&g, &lines);
	order = graph_order(&g, &err);
	assert_non_null(order);
	for (uint32_t i = 0; i <= CHAIN; i++) {
		assert_int_equal(number_of(&g, order[i]), CHAIN + 1 - i);
		assert_int_equal(g.nodes[order[i]].attempt, 3);
		assert_int_equal(g.nodes[order[i]].call, i == 0 ? GRAPH_NONE : order[1]);
	}
	free(order);
	graph_close(&g);
	buffer_free(&lines);
}

/* A transcript that begins with a later attempt may link to what an earlier one made; its
 * parents, and all causes in one that begins with the first attempt, must be there. */
static void
test_late_start(void **state)
{
	static const struct { unsigned attempt, parent; const char *wrong; } starts[] = {
		{ 2, 1, NULL },
		{ 1, 1, "the link of this step.started (seq 2), event 00000000-0000-4000-8000-000000000009, "
		    "is not recorded" },
		{ 2, 8, "the parent of this step.started (seq 2), event 00000000-0000-4000-8000-000000000008, "
		    "is not recorded" },
	};

	(void)state;
	for (size_t i = 0; i < COUNT(starts); i++) {
		struct buffer lines = BUFFER_INIT, said = BUFFER_INIT;
		struct error err = ERROR_INIT;
		struct graph g;
		uint32_t *order;

		buffer_format(&said, "{\"attempt\":%u}", starts[i].attempt);
		graph_event(&lines, 1, 1, 0, NULL, "run.started", said.data);
		graph_event(&lines, 2, 2, starts[i].parent,
		    "[\"00000000-0000-4000-8000-000000000009\"]", "step.started", said.data);
		open_graph(&g, &lines);
		order = graph_order(&g, &err);
		if (starts[i].wrong == NULL)
			assert_non_null(order);
		else
			assert_string_equal(err.message, starts[i].wrong);
		free(order);
		graph_close(&g);
		buffer_free(&said);
		buffer_free(&lines);
	}
}

/* A circle of so many events, and some that follow from it. */
static void
write_circle(struct buffer *lines, unsigned length)
{
	graph_event(lines, 1, 1, 0, NULL, "run.started", "{\"attempt\":1}");
	for (unsigned i = 0; i < length; i++)
		graph_event(lines, 2 + (long)i, 100 + i, 100 + (i + 1) % length, NULL, "message.user", "{}");
	graph_event(lines, 2 + (long)length, 50, 100, NULL, "message.user", "{}");
	graph_event(lines, 3 + (long)length, 51, 50, NULL, "message.user", "{}");
}

static void
test_circles(void **state)
{
	static const struct { unsigned length; const char *end; } circles[] = {
		{ 1, "is a cause of itself" },
		{ 2, "by way of 00000000-0000-4000-8000-000000000101" },
		{ 9, ", 00000000-0000-4000-8000-000000000101" },
		{ 10, ", 00000000-0000-4000-8000-000000000102 and 1 more" },
		{ 5000, " and 4991 more" },
	};

	(void)state;
	for (size_t i = 0; i < COUNT(circles); i++) {
		struct buffer lines = BUFFER_INIT;
		struct error err = ERROR_INIT;
		struct graph g;
		size_t end = strlen(circles[i].end);

		write_circle(&lines, circles[i].length);
		open_graph(&g, &lines);
		assert_null(graph_order(&g, &err));
		assert_int_equal(err.code, ERROR_SCHEMA);
		assert_string_equal(err.place, graph_uuid(100));
		assert_true(strlen(err.message) > end);
		assert_string_equal(err.message + strlen(err.message) - end, circles[i].end);
		graph_close(&g);
		buffer_free(&lines);
	}
}

/* Of two circles through an event the shorter one is told. */
static void
test_shortest_circle(void **state)
{
	struct buffer lines = BUFFER_INIT;
	struct error err = ERROR_INIT;
	struct graph g;

	(void)state;
	graph_event(&lines, 1, 1, 0, NULL, "run.started", "{}");
	graph_event(&lines, 2, 2, 3, "[\"00000000-0000-4000-8000-000000000005\"]", "message.user", "{}");
	graph_event(&lines, 3, 3, 4, NULL, "message.user", "{}");
	graph_event(&lines, 4, 4, 2, NULL, "message.user", "{}");
	graph_event(&lines, 5, 5, 2, NULL, "message.user", "{}");
	open_graph(&g, &lines);
	assert_null(graph_order(&g, &err));
	assert_string_equal(err.message, "this message.user (seq 2) is a cause of itself, by way of "
	    "00000000-0000-4000-8000-000000000005");
	graph_close(&g);
	buffer_free(&lines);
}

static void
test_not_opened(void **state)
{
	static const struct { const char *second, *message; enum error_code code; } faults[] = {
		{ "{\"seq\":2,\"type\":\"x\"}\n", "line 2 is damaged: it is not whole (see awf-verify)",
		    ERROR_INVALID_INPUT },
		{ "{\"seq\":2,\"type\":5,\"prev\":\"" ZEROS "\"}\n",
		    "line 2 is damaged: it is no event (see awf-verify)", ERROR_INVALID_INPUT },
		{ "{\"seq\":2,\"type\":\"x\",\"event_id\":\"" OTHER_ID "\",\"links\":[5],\"prev\":\"" ZEROS
		    "\"}\n", "line 2 is damaged: its ids are no UUIDs (see awf-verify)",
		    ERROR_INVALID_INPUT },
		{ "{\"seq\":2,\"type\":\"x\",\"event_id\":\"00000000-0000-4000-8000-000000000001\",\"prev\":\""
		    ZEROS "\"}\n", "this event is recorded twice, as seq 1 and 2", ERROR_SCHEMA },
	};
	struct graph g;

	(void)state;
	for (size_t i = 0; i < COUNT(faults); i++) {
		struct buffer lines = BUFFER_INIT;
		struct error err = ERROR_INIT;

		graph_event(&lines, 1, 1, 0, NULL, "run.started", "{}");
		buffer_text(&lines, faults[i].second);
		assert_int_equal(graph_open(&g, graph_put("bad.jsonl", &lines), &err), -1);
		assert_string_equal(err.message, faults[i].message);
		assert_int_equal(err.code, faults[i].code);
		buffer_free(&lines);
	}
	struct error err = ERROR_INIT;
	assert_int_equal(graph_open(&g, record_path("none"), &err), -1);
	assert_int_equal(err.code, ERROR_SYSTEM);
}

/* A line that was there may not be any more: somebody cut the file. */
static void
test_cut_behind(void **state)
{
	struct buffer lines = BUFFER_INIT;
	struct error err = ERROR_INIT;
	struct graph g;

	(void)state;
	graph_event(&lines, 1, 1, 0, NULL, "run.started", "{}");
	open_graph(&g, &lines);
	assert_int_equal(truncate(g.reader.path, 5), 0);
	assert_null(graph_line(&g, &g.nodes[0], &err));
	assert_int_equal(err.code, ERROR_SYSTEM);
	graph_close(&g);
	buffer_free(&lines);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_ids),
		cmocka_unit_test(test_order_is_kahns),
		cmocka_unit_test(test_long_chain),
		cmocka_unit_test(test_late_start),
		cmocka_unit_test(test_circles),
		cmocka_unit_test(test_shortest_circle),
		cmocka_unit_test(test_not_opened),
		cmocka_unit_test(test_cut_behind),
	};

	return cmocka_run_group_tests_name("graph", tests, record_setup, record_teardown);
}
