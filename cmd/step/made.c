/*
 * Reads the last attempt once. For each call in the enclosing call, at any depth: its end adds the
 * number of lines that it printed to its process, and the causes in its start say from which
 * processes it took lines, unless it was skipped. Which lines a group has printed, and how often,
 * is in its end, even if that is from an earlier attempt. The run's model is used only to read
 * starts and ends: lines are counted here, by process and by the event that is their cause, not
 * calls.
 */
#include "step/made.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/invariant.h"
#include "base/memory.h"
#include "model/model.h"
#include "model/summary.h"
#include "step/producers.h"
#include "storage/lineage.h"
#include "transcript/call.h"
#include "transcript/event.h"
#include "transcript/event_keys.h"

#define NOBODY SIZE_MAX
#define NOT_KNOWN (-1)

/* ---- lines that arrived ---- */

/* The length of the part of a call's whole id that names its process. */
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

static struct maker *
enter_maker(struct made *m, const char *process, size_t len, bool inside)
{
	size_t known = find_maker(m, process, len);

	if (known != NOBODY)
		return &m->makers[known];
	m->makers = memory_array(m->makers, m->count + 1, sizeof *m->makers);
	m->makers[m->count] = (struct maker){ .process = memory_copy(process, len), .inside = inside };
	map_put(&m->by_process, process, len, m->count);
	return &m->makers[m->count++];
}

/* The key that distinguishes a line from all others; NULL if it has none. */
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

/* Counts a line; false if it was counted before, or has no key. */
static bool
enter_line(struct made *m, struct span metadata)
{
	char *key = line_key(metadata);
	const size_t *known = key != NULL ? map_get(&m->by_key, key, strlen(key)) : NULL;

	if (known != NULL)
		m->lines[*known].seen++;
	if (key == NULL || known != NULL) {
		free(key);
		return false;
	}
	if (m->line_count == m->line_capacity) {
		m->line_capacity = m->line_capacity == 0 ? 64 : m->line_capacity * 2;
		m->lines = memory_array(m->lines, m->line_capacity, sizeof *m->lines);
	}
	INVARIANT(m->by_key.count == m->line_count);
	map_put(&m->by_key, key, strlen(key), m->line_count);
	m->lines[m->line_count++] = (struct made_line){ key, 1 };
	return true;
}

void
made_came(struct made *m, struct span metadata)
{
	char *call = span_text(span_member(metadata, "call"));
	bool direct;
	size_t len = call != NULL ? producer_len(m->enclosing, call, &direct) : 0;

	if (len > 0 && enter_line(m, metadata)) {
		struct maker *outer = enter_maker(m, call, len, false);

		outer->came++;
		outer->own += direct;
		/* A line of an iteration or a branch need not have been printed by the group. */
		if (!direct && !call_is_member(call))
			enter_maker(m, call, own_len(call), true)->came++;
	}
	free(call);
}

void
made_came_foreign(struct made *m, struct span metadata)
{
	enter_line(m, metadata);
}

/* ---- lines that were made ---- */

struct process {
	char *id;
	bool expected;       /* it is one of the expected makers */
	size_t outer;        /* the process of the group that encloses it, or itself */
	long long made, open, taken;
};

/* A line of one process, which another took as input. */
struct taking {
	size_t from, by;     /* from NOBODY: the line of a failure, or of an earlier attempt */
	char event[ID_SIZE]; /* "": the line was only passed on */
};

/* A line that a group has printed. */
struct printing {
	char *process;       /* the process of the group */
	char *key;           /* event id and part of the result */
	long long times;
};

struct counted {
	size_t process;
	size_t first, count; /* its takings */
	bool allowed;        /* --allow-failure: if it fails it outputs null */
	bool ended;
};

struct tally {
	struct made *made;
	struct process *processes;
	struct counted *calls;
	struct taking *takings;
	size_t process_count, call_count, taking_count;
	struct map by_process, by_call, by_event; /* event: id of an end -> process */
	struct map by_group; /* group and key → printings */
	struct printing *printings;
	size_t printing_count;
	struct map unread;   /* groups for which it is not known which lines they printed */
	struct made *other;  /* another run, in which lines that were taken may have been made */
};

/* Resets the data of an attempt, when another one begins. */
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
		.by_event = MAP_INIT, .by_group = t->by_group, .printings = t->printings,
		.printing_count = t->printing_count, .unread = t->unread, .other = t->other };
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
	INVARIANT(t->by_process.count == t->process_count && (outer == NOBODY || outer < t->process_count));
	map_put(&t->by_process, id, len, t->process_count);
	return t->process_count++;
}

/* Enters the process of a call. *outer is the process directly inside the enclosing call that
 * contains it, or is it; NOBODY: the call is not inside the enclosing call. */
static size_t
enter_call(struct tally *t, const char *id, size_t *outer)
{
	bool direct;
	size_t len = producer_len(t->made->enclosing, id, &direct);

	if (len == 0)
		return NOBODY;
	*outer = enter_process(t, id, len, NOBODY);
	return direct ? *outer : enter_process(t, id, own_len(id), *outer);
}

static void
count_up(struct map *map, const char *key, size_t len)
{
	const size_t *before = map_get(map, key, len);

	map_put(map, key, len, before != NULL ? *before + 1 : 1);
}

static void
add_cause(struct tally *t, size_t by, struct span event)
{
	struct made *o = t->other;
	const size_t *from;
	char id[ID_SIZE];

	if (span_type(event) == 'o') {
		/* It is an event of another run. */
		if (o != NULL && span_copy(span_member(event, KEY_EVENT_ID), id, sizeof id)) {
			o->taken = memory_array(o->taken, o->taken_count + 1, sizeof *o->taken);
			memcpy(o->taken[o->taken_count++], id, sizeof id);
		}
		return;
	}
	if (!span_copy(event, id, sizeof id))
		return;
	from = map_get(&t->by_event, id, ID_SIZE - 1);
	if (from != NULL && *from == by)
		return;
	t->takings = memory_array(t->takings, t->taking_count + 1, sizeof *t->takings);
	INVARIANT(by < t->process_count && (from == NULL || *from < t->process_count));
	t->takings[t->taking_count] = (struct taking){
		.from = from != NULL ? *from : NOBODY, .by = by };
	memcpy(t->takings[t->taking_count++].event, id, sizeof id);
}

static void
made_note_step_started(struct tally *t, const struct event_view *view, const char *id)
{
	size_t outer, process = enter_call(t, id, &outer);
	struct counted *call;

	if (process == NOBODY || t->processes == NULL)
		return; /* NULL: cannot happen, since the process exists */
	for (char *const *path = t->made->paths; path != NULL && *path != NULL; path++)
		if (span_is(view->path, *path))
			t->processes[outer].expected = true;
	t->processes[process].open++;
	t->calls = memory_array(t->calls, t->call_count + 1, sizeof *t->calls);
	call = &t->calls[t->call_count];
	*call = (struct counted){ .process = process, .first = t->taking_count,
		.allowed = span_is(span_member(view->payload, KEY_MODE), "allow-failure") };
	map_put(&t->by_call, id, strlen(id), t->call_count++);
	add_cause(t, process, view->parent_event_id);
	for (struct span_walk link = span_walk(view->links); span_next(&link);)
		add_cause(t, process, link.value);
	call->count = t->taking_count - call->first;
}

/* How many lines a call has printed. */
static long long
made_count_printed_lines(struct span payload, bool skipped, bool allowed)
{
	struct span error = span_member(payload, KEY_ERROR);
	long long count = 1;

	if (skipped)
		return 0;
	/* The line of a failure that was not allowed needs no counting: it makes the join fail. */
	if (error.at != NULL && span_type(error) != '0') {
		char *code = span_text(span_member(error, KEY_CODE));
		bool of_work = code != NULL && error_of_work(error_from_name(code, strlen(code)));

		free(code);
		return allowed && of_work;
	}
	if (!span_integer(span_member(payload, KEY_COUNT), &count))
		span_integer(span_member(payload, KEY_PARTS), &count);
	return count;
}

/* Notes each line that a group has printed. */
static void
note_printed(struct tally *t, const char *group, struct span payload)
{
	struct span result = span_member(payload, KEY_RESULT);

	if (span_member(payload, KEY_COUNT).at == NULL)
		return;
	if (span_member(payload, KEY_REUSED_FROM).at != NULL)
		return; /* the earlier end says which lines it printed */
	if (span_type(result) != 'a') {
		map_put(&t->unread, group, strlen(group), 1);
		return;
	}
	for (struct span_walk line = span_walk(result); span_next(&line);) {
		char *name = line_key(span_member(line.value, "metadata")), *both;
		const size_t *known;

		if (name == NULL)
			continue;
		both = memory_format("%s %s", group, name);
		known = map_get(&t->by_group, both, strlen(both));
		if (known != NULL && t->printings != NULL) {
			t->printings[*known].times++;
			free(name);
		} else {
			map_put(&t->by_group, both, strlen(both), t->printing_count);
			t->printings = memory_array(t->printings, t->printing_count + 1, sizeof *t->printings);
			t->printings[t->printing_count++] = (struct printing){ memory_text(group), name, 1 };
		}
		free(both);
	}
}

static void
made_note_step_completed(struct tally *t, const struct event_view *view, const char *id)
{
	size_t outer, process = enter_call(t, id, &outer);
	struct span payload = view->payload, reason = span_member(payload, KEY_SKIPPED);
	bool skipped = reason.at != NULL && span_type(reason) != '0';
	const size_t *index = map_get(&t->by_call, id, strlen(id));
	struct counted *call = index != NULL && t->calls != NULL ? &t->calls[*index] : NULL;
	long long lines = made_count_printed_lines(payload, skipped, call != NULL && call->allowed);
	char event[ID_SIZE];

	if (process == NOBODY)
		return;
	/* The line of a failure is not a result, so no call can take it. */
	if (lines > 0 && span_copy(view->event_id, event, sizeof event))
		map_put(&t->by_event, event, ID_SIZE - 1, process);
	if (process == outer)
		note_printed(t, t->processes[process].id, payload);
	if (call == NULL || call->ended)
		return;
	call->ended = true;
	t->processes[call->process].open--;
	/* If a fork reuses a group's result, its lines were counted in the original run. */
	if (span_type(span_member(payload, KEY_REUSED_FROM)) != 'o' ||
	    span_member(payload, KEY_COUNT).at == NULL)
		t->processes[call->process].made += lines;
	/* A skipped call has passed the lines on and not taken them. */
	for (size_t i = 0; skipped && i < call->count; i++)
		t->takings[call->first + i].event[0] = '\0';
}

static int
made_note_event(void *context, const struct placed *placed, struct error *err)
{
	struct tally *t = context;
	const struct event_view *view = placed->event;
	char *id;

	(void)err;
	if (view->type == EVENT_RUN_STARTED)
		tally_reset(t);
	if (view->type != EVENT_STEP_STARTED && view->type != EVENT_STEP_COMPLETED)
		return 0;
	id = span_text(span_member(view->payload, KEY_CALL));
	if (id != NULL && view->type == EVENT_STEP_STARTED)
		made_note_step_started(t, view, id);
	else if (id != NULL)
		made_note_step_completed(t, view, id);
	free(id);
	return 0;
}

/* ---- whether the lines arrived ---- */

static const struct made_line *
line_of(const struct made *m, const char *key)
{
	const size_t *known = map_get(&m->by_key, key, strlen(key));

	return known != NULL ? &m->lines[*known] : NULL;
}

/* The group, in the last attempt, that printed a line; NULL: it is not in this attempt, or not all
 * of its printed lines are known. */
static struct process *
group_of(const struct tally *t, const struct printing *p)
{
	size_t len = strlen(p->process);
	const size_t *known = map_get(&t->by_process, p->process, len);

	return known != NULL && t->processes != NULL &&
	    map_get(&t->unread, p->process, len) == NULL ? &t->processes[*known] : NULL;
}

/* Counts the lines that were taken: by an expected process beside the maker; by any call inside the
 * same group, if the line was made in a group and is therefore also the group's; and by child runs.
 * Also counts in `events` how many expected processes and child runs took an event ("EVENT"), and
 * how often one of them did ("EVENT PROCESS"). */
static void
count_taken(struct tally *t, struct map *events)
{
	for (size_t i = 0; i < t->taking_count; i++) {
		const struct taking *taking = &t->takings[i];
		size_t from = taking->from, by = taking->by;
		size_t outer = from != NOBODY ? t->processes[from].outer : NOBODY;
		bool beside = by == t->processes[by].outer && t->processes[by].expected;
		char *own;

		if (taking->event[0] == '\0')
			continue;
		if (outer != from && (beside || t->processes[by].outer == outer))
			t->processes[from].taken++;
		if (!beside)
			continue;
		if (outer != NOBODY && by != outer)
			t->processes[outer].taken++;
		count_up(events, taking->event, ID_SIZE - 1);
		own = memory_format("%s %zu", taking->event, by);
		count_up(events, own, strlen(own));
		free(own);
	}
	for (size_t i = 0; i < t->made->taken_count; i++) {
		const char *event = t->made->taken[i];
		const size_t *from = map_get(&t->by_event, event, ID_SIZE - 1);

		count_up(events, event, ID_SIZE - 1);
		if (from == NULL || t->processes == NULL)
			continue;
		t->processes[*from].taken++;
		if (t->processes[*from].outer != *from)
			t->processes[t->processes[*from].outer].taken++;
	}
}

/* For each group whose printed lines are all known, counts those that arrived or were taken.
 * NOT_KNOWN for other processes. */
static void
count_passed(struct tally *t, const struct map *events, long long *passed)
{
	struct map left = MAP_INIT; /* "EVENT PROCESS" → how many more lines may count as taken */

	for (size_t i = 0; i < t->process_count; i++)
		passed[i] = NOT_KNOWN;
	for (size_t i = 0; i < t->printing_count; i++) {
		const struct printing *p = &t->printings[i];
		const struct made_line *line = line_of(t->made, p->key);
		const struct process *in = group_of(t, p);
		size_t group, taken = 0;
		long long seen = line == NULL ? 0 : line->seen;
		const size_t *all, *own, *known;
		char *key;

		if (in == NULL)
			continue;
		group = (size_t)(in - t->processes);
		if (passed[group] == NOT_KNOWN)
			passed[group] = 0;
		passed[group] += seen < p->times ? seen : p->times;
		key = memory_format("%.*s %zu", ID_SIZE - 1, p->key, group);
		all = map_get(events, p->key, ID_SIZE - 1);
		own = map_get(events, key, strlen(key));
		known = map_get(&left, key, strlen(key));
		if (known != NULL)
			taken = *known;
		else if (all != NULL)
			taken = *all - (own != NULL ? *own : 0);
		for (; taken > 0 && seen < p->times; taken--, seen++)
			passed[group]++;
		map_put(&left, key, strlen(key), taken);
		free(key);
	}
	map_free(&left);
}

static int
made_judge_tally(struct tally *t, struct error *err)
{
	struct map events = MAP_INIT;
	long long *passed = memory_zero(t->process_count + 1, sizeof *passed);
	int result = 0;

	/* A group is expected too if it only passed on lines that arrived. */
	for (size_t i = 0; i < t->printing_count; i++) {
		struct process *group = group_of(t, &t->printings[i]);

		if (group != NULL && line_of(t->made, t->printings[i].key) != NULL)
			group->expected = true;
	}
	count_taken(t, &events);
	count_passed(t, &events, passed);
	for (size_t i = 0; i < t->process_count && result == 0; i++) {
		const struct process *p = &t->processes[i];
		size_t index = find_maker(t->made, p->id, strlen(p->id));
		const struct maker *maker = index != NOBODY ? &t->made->makers[index] : NULL;
		long long came = maker != NULL ? maker->came : 0, made = p->made - p->taken;

		if (!p->expected)
			continue;
		if (passed[i] != NOT_KNOWN) {
			came = (maker != NULL ? maker->own : 0) + passed[i];
			made = p->made;
		}
		if (p->open > 0)
			result = error_set(err, ERROR_UPSTREAM_INCOMPLETE, "--complete",
			    "the step %s has not ended yet", p->id);
		else if (came < made)
			result = error_set(err, ERROR_UPSTREAM_INCOMPLETE, "--complete",
			    "the step %s has made %lld results, and %lld came", p->id, made, came);
	}
	free(passed);
	map_free(&events);
	return result;
}

int
made_check(struct made *m, const char *transcript, struct made *other, struct error *err)
{
	struct tally t = { .made = m, .by_process = MAP_INIT, .by_call = MAP_INIT,
		.by_event = MAP_INIT, .by_group = MAP_INIT, .unread = MAP_INIT, .other = other };
	struct model model;
	int failed;

	model_begin(&model, MODEL_LIVE);
	model.watch = made_note_event;
	model.context = &t;
	failed = model_read_file(&model, transcript, err);
	if (failed == 0)
		failed = made_judge_tally(&t, err);
	model_free(&model);
	tally_reset(&t);
	for (size_t i = 0; i < t.printing_count; i++) {
		free(t.printings[i].process);
		free(t.printings[i].key);
	}
	free(t.printings);
	map_free(&t.by_group);
	map_free(&t.unread);
	return failed;
}

/* ---- other runs ---- */

struct child_search {
	const char *child;
	char *call;          /* the last call that started that run; NULL: none */
};

static int
find_child(void *context, const struct placed *placed, struct error *err)
{
	struct child_search *s = context;

	(void)err;
	if (placed->event->type == EVENT_CALL_WORKFLOW_STARTED &&
	    span_is(placed->event->child_run_id, s->child)) {
		free(s->call);
		s->call = span_text(span_member(placed->event->payload, KEY_CALL));
	}
	return 0;
}

/* The call that encloses the call in which a run started a child run; "" at top level, NULL if the
 * run has no such call. */
static char *
around_child(const struct storage *storage, const char *run, const char *child)
{
	struct child_search search = { .child = child };
	char *transcript = storage_transcript(storage, run), *slash;
	struct error ignored = ERROR_INIT;
	struct model m;

	model_begin(&m, MODEL_LIVE);
	m.watch = find_child;
	m.context = &search;
	model_read_file(&m, transcript, &ignored);
	model_free(&m);
	free(transcript);
	if (search.call == NULL)
		return NULL;
	slash = strrchr(search.call, '/');
	*(slash != NULL ? slash : search.call) = '\0';
	return search.call;
}

/* A run and the runs that enclose it, from the inside out, as named by the first line of each. */
struct family {
	char runs[LINEAGE_LIMIT + 1][ID_SIZE];
	size_t count;
};

static struct family
family_of(const struct storage *storage, const char *run)
{
	struct family f = { .count = 1 };
	bool made_in_another = true;

	memcpy(f.runs[0], run, ID_SIZE);
	while (f.count <= LINEAGE_LIMIT && made_in_another) {
		char *path = storage_transcript(storage, f.runs[f.count - 1]);
		struct error ignored = ERROR_INIT;
		struct summary summary;

		made_in_another = false;
		if (summary_read_ends(&summary, path, &ignored) == 0) {
			made_in_another = summary.parent[0] != '\0';
			memcpy(f.runs[f.count], summary.parent, ID_SIZE);
			summary_free(&summary);
		}
		free(path);
		f.count += made_in_another;
	}
	return f;
}

char *
made_enclosing(const struct storage *storage, const char *other, const char *run)
{
	const struct family own = family_of(storage, run);
	struct family others;

	for (size_t i = 1; i < own.count; i++)
		if (strcmp(own.runs[i], other) == 0)
			return around_child(storage, other, own.runs[i - 1]);
	others = family_of(storage, other);
	for (size_t i = 1; i < others.count; i++)
		for (size_t k = 0; k < own.count; k++)
			if (strcmp(others.runs[i], own.runs[k]) == 0)
				return memory_text("");
	return NULL;
}

void
made_free(struct made *m)
{
	for (size_t i = 0; i < m->line_count; i++)
		free(m->lines[i].key);
	free(m->lines);
	map_free(&m->by_process);
	map_free(&m->by_key);
	for (size_t i = 0; i < m->count; i++)
		free(m->makers[i].process);
	free(m->makers);
	free(m->taken);
}
