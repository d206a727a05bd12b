/*
 * The last attempt is read once: each call in the enclosing one adds to its process what
 * its end says it printed, and takes from those processes whose events its start names as
 * causes, unless it was skipped.
 */
#include "record/made.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/list.h"
#include "base/map.h"
#include "base/memory.h"
#include "record/event.h"
#include "record/reader.h"

#define NOBODY SIZE_MAX

struct process {
	char *id;
	bool expected;       /* it is one of the makers */
	long long made, open;
};

/* That a process took a line of another. */
struct taking {
	size_t from, by;
};

struct call {
	size_t process;
	size_t first, count; /* its takings */
	bool ended;
};

struct tally {
	const struct made *made;
	struct process *processes;
	struct call *calls;
	struct taking *takings;
	size_t process_count, call_count, taking_count;
	struct map by_process, by_call, by_event; /* event: of an end -> process */
};

/* Length of the process's part of a call in the enclosing one; 0: it is not in it. */
static size_t
process_len(const char *enclosing, const char *call, bool *direct)
{
	size_t outer = strlen(enclosing), len;

	if (outer > 0 && (strncmp(call, enclosing, outer) != 0 || call[outer++] != '/'))
		return 0;
	len = outer + strcspn(call + outer, "/");
	*direct = call[len] == '\0';
	while (len > outer && call[len - 1] != ':')
		len--;
	return len > outer ? len - 1 : 0;
}

static size_t
find_maker(const struct made *m, const char *process, size_t len)
{
	for (size_t i = m->count; i-- > 0;)
		if (strncmp(m->makers[i].process, process, len) == 0 && m->makers[i].process[len] == '\0')
			return i;
	return NOBODY;
}

void
made_came(struct made *m, const char *call)
{
	bool direct;
	size_t len = process_len(m->enclosing, call, &direct), i;

	if (len == 0)
		return;
	i = find_maker(m, call, len);
	if (i == NOBODY) {
		m->makers = memory_array(m->makers, m->count + 1, sizeof *m->makers);
		i = m->count++;
		m->makers[i] = (struct maker){ memory_copy(call, len), 0 };
	}
	m->makers[i].came++;
}

static void
tally_reset(struct tally *t)
{
	for (size_t i = 0; i < t->process_count; i++)
		free(t->processes[i].id);
	free(t->processes);
	free(t->calls);
	free(t->takings);
	map_free(&t->by_process);
	map_free(&t->by_call);
	map_free(&t->by_event);
	*t = (struct tally){ .made = t->made, .by_process = MAP_INIT, .by_call = MAP_INIT,
		.by_event = MAP_INIT };
}

static size_t
enter_process(struct tally *t, const char *id, size_t len)
{
	const size_t *known = map_get(&t->by_process, id, len);

	if (known != NULL)
		return *known;
	t->processes = memory_array(t->processes, t->process_count + 1, sizeof *t->processes);
	t->processes[t->process_count] = (struct process){ .id = memory_copy(id, len),
		.expected = find_maker(t->made, id, len) != NOBODY };
	map_put(&t->by_process, id, len, t->process_count);
	return t->process_count++;
}

static bool
has_path(const struct made *m, struct span path)
{
	for (char *const *p = m->paths; p != NULL && *p != NULL; p++)
		if (span_is(path, *p))
			return true;
	return false;
}

static void
add_cause(struct tally *t, size_t by, struct span event)
{
	char id[ID_SIZE];
	const size_t *from;

	if (!span_copy(event, id, sizeof id))
		return;
	from = map_get(&t->by_event, id, ID_SIZE - 1);
	if (from == NULL || *from == by)
		return;
	t->takings = memory_array(t->takings, t->taking_count + 1, sizeof *t->takings);
	t->takings[t->taking_count++] = (struct taking){ *from, by };
}

static void
started(struct tally *t, const struct event_view *view, const char *id)
{
	struct span_walk walk;
	struct span key, link;
	bool direct;
	size_t len = process_len(t->made->enclosing, id, &direct), process;
	struct call *call;

	if (len == 0)
		return;
	process = enter_process(t, id, len);
	if (t->processes == NULL)
		return; /* never: that one is there */
	if (has_path(t->made, view->path))
		t->processes[process].expected = true;
	if (!direct)
		return;
	t->processes[process].open++;
	t->calls = memory_array(t->calls, t->call_count + 1, sizeof *t->calls);
	call = &t->calls[t->call_count];
	*call = (struct call){ .process = process, .first = t->taking_count };
	map_put(&t->by_call, id, strlen(id), t->call_count++);
	add_cause(t, process, view->parent_event_id);
	if (view->links.at != NULL) {
		span_walk_begin(&walk, view->links);
		while (span_walk_next(&walk, &key, &link))
			add_cause(t, process, link);
	}
	call->count = t->taking_count - call->first;
}

/* How many lines a call has printed. */
static long long
printed(struct span payload)
{
	struct span skipped = span_member(payload, "skipped");
	struct span error = span_member(payload, "error");
	long long count;

	if (skipped.at != NULL && span_type(skipped) != '0')
		return 0;
	if (error.at != NULL && span_type(error) != '0')
		return 0; /* a line that tells of it stops the join by itself */
	if (span_integer(span_member(payload, "count"), &count) ||
	    span_integer(span_member(payload, "parts"), &count))
		return count;
	return 1;
}

static void
completed(struct tally *t, const struct event_view *view, const char *id)
{
	bool direct;
	size_t len = process_len(t->made->enclosing, id, &direct);
	struct span skipped = span_member(view->payload, "skipped");
	const size_t *index = map_get(&t->by_call, id, strlen(id));
	char event[ID_SIZE];
	struct call *call;

	if (len > 0 && span_copy(view->event_id, event, sizeof event))
		map_put(&t->by_event, event, ID_SIZE - 1, enter_process(t, id, len));
	if (index == NULL || t->calls == NULL || t->calls[*index].ended)
		return;
	call = &t->calls[*index];
	call->ended = true;
	t->processes[call->process].open--;
	t->processes[call->process].made += printed(view->payload);
	/* What was passed on was not taken. */
	if (skipped.at != NULL && span_type(skipped) != '0')
		for (size_t i = 0; i < call->count; i++)
			t->takings[call->first + i].from = NOBODY;
}

static void
take_event(struct tally *t, const struct event_view *view)
{
	char *id;

	if (view->type == EVENT_RUN_STARTED)
		tally_reset(t);
	if (view->type != EVENT_STEP_STARTED && view->type != EVENT_STEP_COMPLETED)
		return;
	id = span_text(span_member(view->payload, "call"));
	if (id != NULL && view->type == EVENT_STEP_STARTED)
		started(t, view, id);
	else if (id != NULL)
		completed(t, view, id);
	free(id);
}

static int
judge(const struct tally *t, struct error *err)
{
	for (size_t i = 0; i < t->process_count; i++) {
		const struct process *p = &t->processes[i];
		size_t maker = find_maker(t->made, p->id, strlen(p->id));
		long long came = maker != NOBODY ? t->made->makers[maker].came : 0, taken = 0;

		for (size_t k = 0; p->expected && k < t->taking_count; k++)
			taken += t->takings[k].from == i && t->processes[t->takings[k].by].expected;
		if (p->expected && p->open > 0)
			return error_set(err, ERROR_UPSTREAM_INCOMPLETE, "--complete",
			    "the step %s has not ended yet", p->id);
		if (p->expected && came + taken < p->made)
			return error_set(err, ERROR_UPSTREAM_INCOMPLETE, "--complete",
			    "the step %s has made %lld results, and %lld came", p->id, p->made - taken, came);
	}
	return 0;
}

int
made_check(struct made *m, const char *transcript, struct error *err)
{
	struct tally t = { .made = m, .by_process = MAP_INIT, .by_call = MAP_INIT,
		.by_event = MAP_INIT };
	struct event_view view;
	struct reader r;
	const char *line;
	size_t len;
	int got;

	if (reader_open(&r, transcript, err) != 0)
		return -1;
	while ((got = reader_next(&r, &line, &len, err)) == 1)
		if (event_view(line, len, &view) == 0)
			take_event(&t, &view);
	if (got == 0)
		got = judge(&t, err);
	tally_reset(&t);
	reader_close(&r);
	return got;
}

void
made_free(struct made *m)
{
	for (size_t i = 0; i < m->count; i++)
		free(m->makers[i].process);
	free(m->makers);
	m->makers = NULL;
	m->count = 0;
}
