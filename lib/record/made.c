/*
 * The last attempt is read once: each call in the enclosing one adds to its process what
 * its end says it printed, and takes from those processes whose events its start names as
 * causes, unless it was skipped. So does each call further inside. What a group printed
 * twice is known by the lines in its end, of whichever attempt that is.
 */
#include "record/made.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/list.h"
#include "base/map.h"
#include "base/memory.h"
#include "record/call.h"
#include "record/event.h"
#include "record/reader.h"

#define NOBODY SIZE_MAX

struct process {
	char *id;
	bool expected;       /* it is one of the makers */
	size_t outer;        /* the group's that it is in, or itself */
	long long made, open, taken;
};

/* That a process took a line of another. */
struct taking {
	size_t from, by;
};

struct counted {
	size_t process;
	size_t first, count; /* its takings */
	bool ended;
};

struct tally {
	struct made *made;
	struct process *processes;
	struct counted *calls;
	struct taking *takings;
	size_t process_count, call_count, taking_count;
	struct map by_process, by_call, by_event; /* event: of an end -> process */
	struct map printed;  /* by groups: line -> how often */
};

/* Length of the process's part of a call in the enclosing one; 0: it is not in it. */
static size_t
process_len(const char *enclosing, const char *call, bool *direct)
{
	size_t outer = strlen(enclosing), len;

	*direct = false;
	if (outer > 0 && (strncmp(call, enclosing, outer) != 0 || call[outer++] != '/'))
		return 0;
	len = outer + strcspn(call + outer, "/");
	*direct = call[len] == '\0';
	while (len > outer && call[len - 1] != ':')
		len--;
	return len > outer ? len - 1 : 0;
}

/* Length of the process's part of a whole call. */
static size_t
own_len(const char *call)
{
	const char *item = strrchr(call, ':');

	return item != NULL ? (size_t)(item - call) : 0;
}

static size_t
find_maker(const struct made *m, const char *process, size_t len)
{
	const size_t *found = map_get(&m->by_process, process, len);

	return found != NULL ? *found : NOBODY;
}

static size_t
enter_maker(struct made *m, const char *process, size_t len, bool inside)
{
	size_t known = find_maker(m, process, len);

	if (known != NOBODY)
		return known;
	m->makers = memory_array(m->makers, m->count + 1, sizeof *m->makers);
	m->makers[m->count] = (struct maker){ memory_copy(process, len), 0, inside };
	map_put(&m->by_process, process, len, m->count);
	return m->count++;
}

/* What tells a line from all others; NULL if it has no such name. */
static char *
line_key(struct span metadata)
{
	long long part = -1;
	char id[ID_SIZE];

	if (!span_copy(span_member(metadata, "event_id"), id, sizeof id))
		return NULL;
	span_integer(span_member(metadata, "part"), &part);
	return memory_format("%s %lld", id, part);
}

/* The line was not there before. */
static void
enter_line(struct made *m, char *key, size_t outer)
{
	if (m->line_count == m->line_capacity) {
		m->line_capacity = m->line_capacity == 0 ? 64 : m->line_capacity * 2;
		m->lines = memory_array(m->lines, m->line_capacity, sizeof *m->lines);
	}
	map_put(&m->by_key, key, strlen(key), m->line_count);
	m->lines[m->line_count++] = (struct made_line){ key, outer, 1 };
}

static void
call_came(struct made *m, const char *call, struct span metadata)
{
	bool direct;
	size_t len = process_len(m->enclosing, call, &direct), outer, inner;
	char *key = len > 0 ? line_key(metadata) : NULL;
	const size_t *known;

	if (key == NULL)
		return;
	known = map_get(&m->by_key, key, strlen(key));
	if (known != NULL) {
		m->lines[*known].seen++;
		free(key);
		return;
	}
	outer = enter_maker(m, call, len, false);
	enter_line(m, key, outer);
	m->makers[outer].came++;
	/* Lines of a round or a branch need not all be those of the group. */
	if (!direct && !call_is_member(call)) {
		inner = enter_maker(m, call, own_len(call), true);
		m->makers[inner].came++;
	}
}

void
made_came(struct made *m, struct span metadata)
{
	char *call = span_text(span_member(metadata, "call"));

	if (call != NULL)
		call_came(m, call, metadata);
	free(call);
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
		.by_event = MAP_INIT, .printed = t->printed };
}

static size_t
enter_process(struct tally *t, const char *id, size_t len, size_t outer)
{
	const size_t *known = map_get(&t->by_process, id, len);

	if (known != NULL)
		return *known;
	t->processes = memory_array(t->processes, t->process_count + 1, sizeof *t->processes);
	t->processes[t->process_count] = (struct process){ .id = memory_copy(id, len),
		.expected = find_maker(t->made, id, len) != NOBODY,
		.outer = outer != NOBODY ? outer : t->process_count };
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
	struct counted *call;

	if (len == 0)
		return;
	process = enter_process(t, id, len, NOBODY);
	if (t->processes == NULL)
		return; /* never: that one is there */
	if (has_path(t->made, view->path))
		t->processes[process].expected = true;
	if (!direct)
		process = enter_process(t, id, own_len(id), process);
	t->processes[process].open++;
	t->calls = memory_array(t->calls, t->call_count + 1, sizeof *t->calls);
	call = &t->calls[t->call_count];
	*call = (struct counted){ .process = process, .first = t->taking_count };
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

/* What a group has printed, line by line. */
static void
note_printed(struct tally *t, struct span payload)
{
	struct span_walk walk;
	struct span key, line;
	const size_t *before;
	char *name;

	if (span_member(payload, "count").at == NULL ||
	    span_type(span_member(payload, "result")) != 'a')
		return;
	span_walk_begin(&walk, span_member(payload, "result"));
	while (span_walk_next(&walk, &key, &line)) {
		name = line_key(span_member(line, "metadata"));
		if (name == NULL)
			continue;
		before = map_get(&t->printed, name, strlen(name));
		map_put(&t->printed, name, strlen(name), before != NULL ? *before + 1 : 1);
		free(name);
	}
}

static void
completed(struct tally *t, const struct event_view *view, const char *id)
{
	bool direct;
	size_t len = process_len(t->made->enclosing, id, &direct);
	struct span skipped = span_member(view->payload, "skipped");
	const size_t *index = map_get(&t->by_call, id, strlen(id));
	char event[ID_SIZE];
	struct counted *call;
	size_t process = NOBODY;

	if (len > 0)
		process = enter_process(t, id, len, NOBODY);
	if (len > 0 && !direct)
		process = enter_process(t, id, own_len(id), process);
	/* The line of a failure is no result that could be taken. */
	if (len > 0 && printed(view->payload) > 0 && span_copy(view->event_id, event, sizeof event))
		map_put(&t->by_event, event, ID_SIZE - 1, process);
	if (direct)
		note_printed(t, view->payload);
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

/* Lines that a group has printed several times, and that came as often. */
static void
count_repeated(const struct tally *t)
{
	for (size_t i = 0; i < t->made->line_count; i++) {
		const struct made_line *line = &t->made->lines[i];
		const size_t *printed = map_get(&t->printed, line->key, strlen(line->key));
		long long times = printed != NULL ? (long long)*printed : 1;

		if (line->seen > 1 && times > 1)
			t->made->makers[line->outer].came +=
			    (line->seen < times ? line->seen : times) - 1;
	}
}

/* By a maker beside it; of a line that was made in a group, which is the group's too, by any
 * call in there as well. */
static void
count_taken(struct tally *t)
{
	for (size_t i = 0; i < t->taking_count; i++) {
		size_t from = t->takings[i].from, by = t->takings[i].by, outer;
		bool beside = by == t->processes[by].outer && t->processes[by].expected;

		if (from == NOBODY)
			continue;
		outer = t->processes[from].outer;
		if (outer != from && (beside || t->processes[by].outer == outer))
			t->processes[from].taken++;
		if (beside && by != outer)
			t->processes[outer].taken++;
	}
}

static int
judge(struct tally *t, struct error *err)
{
	count_repeated(t);
	count_taken(t);
	for (size_t i = 0; i < t->process_count; i++) {
		const struct process *p = &t->processes[i];
		size_t maker = find_maker(t->made, p->id, strlen(p->id));
		long long came = maker != NOBODY ? t->made->makers[maker].came : 0;

		if (p->expected && p->open > 0)
			return error_set(err, ERROR_UPSTREAM_INCOMPLETE, "--complete",
			    "the step %s has not ended yet", p->id);
		if (p->expected && came + p->taken < p->made)
			return error_set(err, ERROR_UPSTREAM_INCOMPLETE, "--complete",
			    "the step %s has made %lld results, and %lld came", p->id,
			    p->made - p->taken, came);
	}
	return 0;
}

int
made_check(struct made *m, const char *transcript, struct error *err)
{
	struct tally t = { .made = m, .by_process = MAP_INIT, .by_call = MAP_INIT,
		.by_event = MAP_INIT, .printed = MAP_INIT };
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
	map_free(&t.printed);
	reader_close(&r);
	return got;
}

char *
made_around_child(const char *transcript, const char *child)
{
	char *call = NULL, *slash;
	struct event_view view;
	struct error err = ERROR_INIT;
	struct reader r;
	const char *line;
	size_t len;

	if (reader_open(&r, transcript, &err) != 0)
		return NULL;
	while (reader_next(&r, &line, &len, &err) == 1) {
		if (event_view(line, len, &view) != 0 ||
		    view.type != EVENT_CALL_WORKFLOW_STARTED || !span_is(view.child_run_id, child))
			continue;
		free(call);
		call = span_text(span_member(view.payload, "call"));
	}
	reader_close(&r);
	if (call == NULL)
		return NULL;
	slash = strrchr(call, '/');
	*(slash != NULL ? slash : call) = '\0';
	return call;
}

void
made_free(struct made *m)
{
	for (size_t i = 0; i < m->line_count; i++)
		free(m->lines[i].key);
	free(m->lines);
	map_free(&m->by_process);
	map_free(&m->by_key);
	m->lines = NULL;
	m->line_count = m->line_capacity = 0;
	for (size_t i = 0; i < m->count; i++)
		free(m->makers[i].process);
	free(m->makers);
	m->makers = NULL;
	m->count = 0;
}
