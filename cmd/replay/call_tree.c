/*
 * The model of a run says to what each event belongs. An entry is made when something begins, and
 * completed when it ends. It is found by the number of its call; for a turn or tool call by the id
 * of its event. Child runs are read after their parent, from transcripts in the same directory.
 */
#include "replay/call_tree.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/invariant.h"
#include "base/memory.h"
#include "model/excerpt.h"
#include "model/follow.h"
#include "model/model.h"
#include "proc/last_words.h"
#include "replay/call_differences.h"
#include "transcript/event_keys.h"
#include "transcript/filter.h"
#include "transcript/layout.h"
#include "transcript/reader.h"

#define ALL_TAKEN SIZE_MAX /* value in `taken`: all attempts of the run were added */

/* A transcript that is being added to the tree. */
struct reading {
	struct call_tree *tree;
	const struct call_tree_spec *spec;
	struct reader reader;
	struct model model;
	uint32_t under;        /* entry to which attempts are added */
	uint32_t attempt;      /* CALL_TREE_NONE: the attempt is left out */
	size_t seen;           /* attempts that were met so far */
	size_t skip;           /* number of attempts that were added before */
	int64_t until;         /* attempts that began later are left out, too; µs since 1970 */
	bool more;             /* some were left out */
	uint32_t *calls;       /* entries of the model's calls, by number */
	struct event_place *asked; /* for each call, its model's last input; NULL: not needed */
	struct map entries;    /* entries of turns and tool calls, by event_key() */
	int64_t lines;
	char timestamp[64];    /* timestamp of the previous line */
	struct buffer whole, scratch; /* memory for excerpts */
};

static struct call_tree_entry *
add_entry(struct call_tree *tree, enum call_tree_kind what, uint32_t above)
{
	uint32_t at = tree->count++;
	struct call_tree_entry *e, *group;

	tree->entries = memory_array(tree->entries, tree->count, sizeof *tree->entries);
	e = &tree->entries[at];
	*e = (struct call_tree_entry){ .what = what, .status = VIEW_RUNNING,
		.first = CALL_TREE_NONE, .last = CALL_TREE_NONE, .next = CALL_TREE_NONE,
		.above = CALL_TREE_NONE, .took = -1, .input_tokens = -1, .output_tokens = -1 };
	if (tree->lines) {
		tree->lines = memory_array(tree->lines, tree->count, sizeof *tree->lines);
		tree->lines[at] = (struct call_tree_lines){ .cost = 0 };
	}
	if (tree->marks) {
		tree->marks = memory_array(tree->marks, tree->count, sizeof *tree->marks);
		tree->marks[at] = (struct call_tree_marks){ NULL, NULL };
	}
	if (above == CALL_TREE_NONE)
		return e;
	if (tree->entries[above].depth == CALL_TREE_DEPTH)
		above = tree->entries[above].above;
	group = &tree->entries[above];
	INVARIANT(above < at && group->depth < CALL_TREE_DEPTH);
	INVARIANT((group->first == CALL_TREE_NONE) == (group->last == CALL_TREE_NONE));
	INVARIANT(group->last == CALL_TREE_NONE || tree->entries[group->last].next == CALL_TREE_NONE);
	e->above = above;
	e->depth = group->depth + 1;
	if (group->last == CALL_TREE_NONE)
		group->first = at;
	else
		tree->entries[group->last].next = at;
	group->last = at;
	return e;
}

/* Copies a text into the tree's memory; NULL stays NULL. */
static const char *
call_tree_copy_text(struct call_tree *tree, const char *text)
{
	return text ? arena_copy(&tree->memory, text, strlen(text)) : NULL;
}

/* The same for a text that several entries may have: it is stored once. */
static const char *
keep_shared(struct call_tree *tree, const char *text)
{
	const size_t *at = text ? map_get(&tree->shared, text, strlen(text)) : NULL;

	if (!text || at)
		return text ? tree->list[*at] : NULL;
	map_put(&tree->shared, text, strlen(text), tree->list_count);
	tree->list = memory_array(tree->list, tree->list_count + 1, sizeof *tree->list);
	return tree->list[tree->list_count++] = call_tree_copy_text(tree, text);
}

/* The first line of a text, or of the JSON of another value, in scratch memory; NULL if there is
 * none. */
static const char *
excerpt_value(struct reading *r, struct span value)
{
	if (!member_set(value))
		return NULL;
	buffer_clear(&r->whole);
	buffer_clear(&r->scratch);
	span_plain(value, &r->whole);
	excerpt_text(&r->scratch, buffer_string(&r->whole), r->whole.len, EXCERPT_BYTES);
	return buffer_string(&r->scratch);
}

static void
call_tree_read_usage(struct call_tree_entry *e, struct span usage)
{
	long long count;

	if (span_integer(span_member(usage, model_usage_keys[MODEL_INPUT_TOKENS]), &count))
		e->input_tokens = count;
	if (span_integer(span_member(usage, model_usage_keys[MODEL_OUTPUT_TOKENS]), &count))
		e->output_tokens = count;
}

/* The entry of a call; none if its attempt is left out. */
static uint32_t
entry_of_call(const struct reading *r, const struct model_call *call)
{
	uint32_t entry = call ? r->calls[call->number] : CALL_TREE_NONE;

	return entry != CALL_TREE_NONE ? entry : r->attempt;
}

/* Handles the end of an attempt, or of what was read of it. Its outcome determines what is shown
 * for open calls. */
static void
leave_attempt(const struct reading *r, bool alive)
{
	struct call_tree *tree = r->tree;
	struct call_tree_entry *attempt;
	int64_t known = 0;

	if (r->attempt == CALL_TREE_NONE)
		return;
	attempt = &tree->entries[r->attempt];
	if (attempt->status == VIEW_RUNNING)
		attempt->status = told_state_of_run(told_state_status("", alive));
	clock_parse(r->timestamp, 0, &known);
	for (uint32_t i = r->attempt; i < tree->count; i++) {
		struct call_tree_entry *e = &tree->entries[i];

		e->status = told_state_within(e->status, attempt->status);
		if (e->ended == 0)
			e->known = known;
	}
}

/* Adds an attempt; attempts are sorted by time. */
static void
start_attempt(struct reading *r, const struct placed *p)
{
	struct call_tree_entry *e;

	leave_attempt(r, false);
	r->attempt = CALL_TREE_NONE;
	if (r->seen >= r->skip && p->wall >= r->until) {
		r->more = true;
		return;
	}
	if (r->seen++ < r->skip)
		return;
	e = add_entry(r->tree, CALL_TREE_ATTEMPT, r->under);
	r->attempt = (uint32_t)(e - r->tree->entries);
	e->began = p->wall;
	e->attempt = r->model.attempt > 0 ? r->model.attempt : 1;
	e->label = keep_shared(r->tree, r->model.name);
}

static void
keep_marks(struct reading *r, uint32_t entry, struct span payload)
{
	struct call_tree_marks *marks = &r->tree->marks[entry];
	struct span directory = span_member(payload, KEY_DIRECTORY);
	struct span variables = span_member(payload, KEY_VARIABLES);

	if (span_type(directory) == 's') {
		buffer_clear(&r->scratch);
		span_decode(directory, &r->scratch);
		marks->directory = keep_shared(r->tree, buffer_string(&r->scratch));
	}
	if (span_type(variables) == 'o') {
		buffer_clear(&r->scratch);
		buffer_append(&r->scratch, variables.at, variables.len);
		marks->variables = keep_shared(r->tree, buffer_string(&r->scratch));
	}
}

static void
start_call(struct reading *r, const struct placed *p)
{
	struct call_tree *tree = r->tree;
	const struct model_call *call = p->call;
	const struct model_step *step = call->step;
	struct span payload = p->event->payload;
	struct call_tree_entry *e = add_entry(tree, CALL_TREE_CALL, entry_of_call(r, call->around));
	struct buffer *text = &r->scratch;

	r->calls[call->number] = (uint32_t)(e - tree->entries);
	e->began = p->wall;
	buffer_clear(text);
	view_label(p->event, text);
	e->label = text->len > 0 ? call_tree_copy_text(tree, text->data) :
	    keep_shared(tree, step->name);
	e->kind = keep_shared(tree, step->kind);
	e->call = call_tree_copy_text(tree, call->id);
	buffer_clear(text);
	if (step->provider && step->model)
		buffer_format(text, "%s/%s", step->provider, step->model);
	e->model = keep_shared(tree, text->len > 0 ? text->data :
	    step->provider ? step->provider : step->model);
	buffer_clear(text);
	if (step->tool)
		e->does = keep_shared(tree, step->tool);
	else if (view_branches(payload, text))
		e->does = keep_shared(tree, text->data);
	else
		e->does = keep_shared(tree, excerpt_value(r,
		    span_member(span_element(span_member(payload, KEY_BLOCKS), 0), KEY_COMMAND)));
	if (call->rare->child_run_id[0] != '\0')
		e->child = call_tree_copy_text(tree, call->rare->child_run_id);
	keep_marks(r, r->calls[call->number], payload);
}

/* Appends the end of stderr, unless it is in the reason already. It is not there in records of
 * other programs and of older versions. */
static void
add_last_words(struct span payload, struct buffer *why)
{
	struct span stderr_text = span_member(payload, KEY_STDERR);
	struct buffer text = BUFFER_INIT, words = BUFFER_INIT, line = BUFFER_INIT;

	if (span_type(stderr_text) == 's') {
		span_decode(stderr_text, &text);
		last_words(buffer_string(&text), text.len, &words);
		excerpt_text(&line, buffer_string(&words), words.len, EXCERPT_BYTES);
	}
	if (line.len > 0 && strstr(buffer_string(why), buffer_string(&line)) == NULL)
		buffer_format(why, ": %s", buffer_string(&line));
	buffer_free(&text);
	buffer_free(&words);
	buffer_free(&line);
}

/* Writes the reason for an end: "CODE: MESSAGE" of an error, or why the call was skipped. */
static void
end_entry(struct reading *r, struct call_tree_entry *e, const struct placed *p)
{
	struct span error = span_member(p->event->payload, KEY_ERROR);
	struct span skipped = span_member(p->event->payload, KEY_SKIPPED);
	struct buffer why = BUFFER_INIT;
	long long ms;

	if (e->what == CALL_TREE_CALL) {
		e->status = told_state_of_call(p->call);
		e->behind = p->call->behind;
	} else {
		e->status = told_state_of_end(p->event);
	}
	e->ended = p->wall;
	e->took = span_integer(span_member(p->event->payload, KEY_DURATION_MS), &ms) ? ms : -1;
	if (!member_set(error)) {
		if (e->behind)
			e->why = VIEW_BEHIND;
		else if (span_type(skipped) == 's')
			e->why = keep_shared(r->tree, excerpt_value(r, skipped));
		return;
	}
	if (member_set(span_member(error, KEY_CODE)) && member_set(span_member(error, KEY_MESSAGE))) {
		buffer_text(&why, excerpt_value(r, span_member(error, KEY_CODE)));
		buffer_format(&why, ": %s", excerpt_value(r, span_member(error, KEY_MESSAGE)));
	} else {
		buffer_text(&why, excerpt_value(r, error));
	}
	add_last_words(p->event->payload, &why);
	e->why = keep_shared(r->tree, buffer_string(&why));
	buffer_free(&why);
}

/* Notes the decision about a waiting call, and who has made it. The call still counts as waiting
 * until the run is resumed. */
static void
keep_decision(struct reading *r, struct call_tree_entry *e, const struct event_view *event)
{
	const struct span approval = span_member(event->payload, KEY_APPROVAL);
	struct buffer why = BUFFER_INIT;

	if (!event_decides(event) || !member_set(span_member(approval, KEY_DECISION)))
		return;
	buffer_text(&why, excerpt_value(r, span_member(approval, KEY_DECISION)));
	if (member_set(span_member(approval, KEY_BY)))
		buffer_format(&why, " by %s", excerpt_value(r, span_member(approval, KEY_BY)));
	e->why = keep_shared(r->tree, buffer_string(&why));
	buffer_free(&why);
}

/* Turns and tool calls are found by the ids of their events. */
static void
call_tree_index_entry(struct reading *r, const struct placed *p, const struct call_tree_entry *e)
{
	const struct uuid id = event_key(p->event->event_id);

	if (span_type(p->event->event_id) == 's')
		map_put(&r->entries, (const char *)&id, sizeof id, (size_t)(e - r->tree->entries));
}

/* The turn or tool call that is the cause of an event; NULL: there is none. */
static struct call_tree_entry *
cause_of(const struct reading *r, const struct placed *p, enum call_tree_kind what)
{
	const struct uuid id = event_key(p->event->parent_event_id);
	const size_t *at = span_type(p->event->parent_event_id) == 's' ?
	    map_get(&r->entries, (const char *)&id, sizeof id) : NULL;

	return at && r->tree->entries[*at].what == what ? &r->tree->entries[*at] : NULL;
}

static struct call_tree_lines *
lines_of(const struct reading *r, const struct call_tree_entry *e)
{
	return r->tree->lines ? &r->tree->lines[e - r->tree->entries] : NULL;
}

static void
keep_begin(const struct reading *r, const struct call_tree_entry *e, struct event_place place)
{
	struct call_tree_lines *lines = lines_of(r, e);

	if (lines) {
		lines->begin = place.offset;
		lines->begin_length = place.length;
	}
}

static void
keep_end(const struct reading *r, const struct call_tree_entry *e, struct event_place place)
{
	struct call_tree_lines *lines = lines_of(r, e);

	if (lines) {
		lines->end = place.offset;
		lines->end_length = place.length;
	}
}

/* Adds the cost of an answer to its turn and everything around it. */
static void
add_cost(const struct reading *r, uint32_t entry, int64_t cost)
{
	for (; r->tree->lines && cost > 0 && entry != CALL_TREE_NONE; entry = r->tree->entries[entry].above)
		r->tree->lines[entry].cost += cost;
}

/* If it does not start an attempt, the transcript continues one that was added. */
static void
call_tree_add_event(struct reading *r, const struct placed *p)
{
	struct span payload = p->event->payload;
	struct call_tree_entry *e;
	int64_t cost = r->spec->cost ? cost_take(r->spec->cost, p) : COST_NONE;
	long long turn = 0;

	switch (p->event->type) {
	case EVENT_RUN_STARTED:
		start_attempt(r, p);
		if (r->attempt != CALL_TREE_NONE)
			keep_begin(r, &r->tree->entries[r->attempt], p->place);
		break;
	case EVENT_RUN_COMPLETED:
		e = &r->tree->entries[r->attempt];
		if (e->ended != 0)
			break;
		keep_end(r, e, p->place);
		end_entry(r, e, p);
		call_tree_read_usage(e, span_member(payload, KEY_USAGE));
		if (e->status == VIEW_FAILED && !e->why)
			e->why = keep_shared(r->tree, excerpt_value(r, span_member(payload, KEY_STATUS)));
		break;
	case EVENT_STEP_STARTED:
	case EVENT_CALL_WORKFLOW_STARTED:
		start_call(r, p);
		keep_begin(r, &r->tree->entries[r->calls[p->call->number]], p->place);
		break;
	case EVENT_STEP_COMPLETED:
	case EVENT_CALL_WORKFLOW_COMPLETED:
		e = &r->tree->entries[entry_of_call(r, p->call)];
		if (e->what == CALL_TREE_CALL && e->ended != 0)
			keep_decision(r, e, p->event);
		if (e->what != CALL_TREE_CALL || e->ended != 0)
			break;
		end_entry(r, e, p);
		keep_end(r, e, p->place);
		if (span_type(span_member(payload, KEY_RETRIES)) == 'a')
			for (struct span_walk retry = span_walk(span_member(payload, KEY_RETRIES));
			    span_next(&retry);)
				e->retries++;
		break;
	case EVENT_MESSAGE_USER:
		if (r->asked && p->call)
			r->asked[p->call->number] = p->place;
		break;
	case EVENT_MESSAGE_ASSISTANT:
		if (p->call && span_true(span_member(payload, KEY_PARTIAL)))
			add_cost(r, entry_of_call(r, p->call), cost);
		if (!p->call || span_true(span_member(payload, KEY_PARTIAL)))
			break;
		e = add_entry(r->tree, CALL_TREE_TURN, entry_of_call(r, p->call));
		span_integer(span_member(payload, KEY_TURN), &turn);
		e->began = p->started;
		e->ended = p->wall;
		e->status = VIEW_DONE;
		e->attempt = turn;
		e->label = keep_shared(r->tree, excerpt_value(r, span_member(payload, KEY_AGENT)));
		/* The call's own entry names the agent's model. */
		if (p->call->step->fallback_provider != NULL) {
			buffer_clear(&r->scratch);
			buffer_format(&r->scratch, "%s/%s", p->call->step->fallback_provider,
			    p->call->step->fallback_model);
			e->model = keep_shared(r->tree, r->scratch.data);
		}
		call_tree_read_usage(e, span_member(payload, KEY_USAGE));
		call_tree_index_entry(r, p, e);
		keep_end(r, e, p->place);
		add_cost(r, (uint32_t)(e - r->tree->entries), cost);
		if (r->asked) {
			keep_begin(r, e, r->asked[p->call->number]);
			r->asked[p->call->number].length = 0;
		}
		break;
	case EVENT_TOOL_CALL:
		/* Put it below the turn that called it; without one, below the call. */
		e = cause_of(r, p, CALL_TREE_TURN);
		e = add_entry(r->tree, CALL_TREE_TOOL,
		    e ? (uint32_t)(e - r->tree->entries) : entry_of_call(r, p->call));
		e->began = p->wall;
		e->label = keep_shared(r->tree, excerpt_value(r, span_member(payload, KEY_NAME)));
		e->does = call_tree_copy_text(r->tree,
		    excerpt_value(r, span_member(payload, KEY_INPUT)));
		call_tree_index_entry(r, p, e);
		keep_begin(r, e, p->place);
		break;
	case EVENT_TOOL_RESULT:
		e = cause_of(r, p, CALL_TREE_TOOL);
		if (!e || e->ended != 0)
			break;
		end_entry(r, e, p);
		keep_end(r, e, p->place);
		break;
	default:
		break;
	}
}

/* model_read_file() is not used here: it would read messages and tools even if they are not needed,
 * and accept incomplete lines, which are reported here by their numbers. */
static int
read_lines(struct reading *r, struct error *err)
{
	static const enum call_tree_kind kinds[EVENT_TYPES + 1] = {
		[EVENT_RUN_STARTED] = CALL_TREE_ATTEMPT, [EVENT_RUN_COMPLETED] = CALL_TREE_ATTEMPT,
		[EVENT_STEP_STARTED] = CALL_TREE_CALL, [EVENT_STEP_COMPLETED] = CALL_TREE_CALL,
		[EVENT_CALL_WORKFLOW_STARTED] = CALL_TREE_CALL,
		[EVENT_CALL_WORKFLOW_COMPLETED] = CALL_TREE_CALL,
		[EVENT_MESSAGE_USER] = CALL_TREE_TURN, [EVENT_MESSAGE_ASSISTANT] = CALL_TREE_TURN,
		[EVENT_TOOL_CALL] = CALL_TREE_TOOL, [EVENT_TOOL_RESULT] = CALL_TREE_TOOL,
	};
	struct event_view event;
	struct placed placed;
	struct error warning;
	const char *line;
	size_t len;
	int got;

	while ((got = reader_next(&r->reader, &line, &len, err)) == 1) {
		size_t calls = r->model.count;

		r->lines++;
		if (!event_view_whole(line, len, &event)) {
			error_set(&warning, ERROR_INVALID_INPUT, r->reader.path,
			    "line %lld is damaged (see awf-verify)", (long long)r->lines);
			if (r->spec->warn)
				r->spec->warn(&warning);
			continue;
		}
		/* The causes of calls are calls, so calls can be placed without reading the events
		 * inside them. */
		if (kinds[event.type] <= r->spec->least) {
			model_take(&r->model, &event,
			    (struct event_place){ r->reader.line_start, (uint32_t)len }, &placed);
			if (r->model.count > calls) {
				r->calls = memory_array(r->calls, r->model.count, sizeof *r->calls);
				r->calls[calls] = CALL_TREE_NONE;
				if (r->tree->lines) {
					r->asked = memory_array(r->asked, r->model.count, sizeof *r->asked);
					r->asked[calls] = (struct event_place){ .length = 0 };
				}
			}
			/* The line of run.started may be damaged. */
			if (r->seen == 0 && event.type != EVENT_RUN_STARTED)
				start_attempt(r, &placed);
			if (r->attempt != CALL_TREE_NONE || event.type == EVENT_RUN_STARTED)
				call_tree_add_event(r, &placed);
		}
		/* Do not count decisions: they may come long after the end of an attempt. */
		if (!event_decides(&event) && !span_copy(event.timestamp, r->timestamp, sizeof r->timestamp))
			r->timestamp[0] = '\0';
	}
	return got;
}

static size_t
attempts_taken(const struct call_tree *tree, const char *run_id)
{
	const size_t *taken = map_get(&tree->taken, run_id, strlen(run_id));

	return taken ? *taken : 0;
}

static int read_child(const struct reading *parent, uint32_t call, struct error *err);

/* Adds those attempts of a transcript that began before `until`, below the entry of the call. */
static int
call_tree_read_run(struct reading *r, const char *path, uint32_t under, int64_t until,
    struct error *err)
{
	struct call_tree *tree = r->tree;
	const char *child = tree->entries[under].child, *run_id;
	uint32_t from = tree->count, to;
	int failed;

	if (reader_open(&r->reader, path, err) != 0)
		return -1;
	model_begin(&r->model, MODEL_EVENTS);
	r->under = under;
	r->attempt = CALL_TREE_NONE;
	r->until = until;
	r->skip = child ? attempts_taken(tree, child) : 0;
	failed = read_lines(r, err);
	if (failed == 0) {
		bool alive = transcript_alive(path, r->model.run_id);

		leave_attempt(r, alive);
		run_id = child ? child : r->model.run_id;
		map_put(&tree->taken, run_id, strlen(run_id), r->more ? r->seen : ALL_TAKEN);
		if (!child) {
			memcpy(tree->run_id, r->model.run_id, ID_SIZE);
			tree->alive = alive;
		}
		to = tree->count;
		for (uint32_t i = from; failed == 0 && i < to; i++)
			if (tree->entries[i].child)
				failed = read_child(r, i, err);
	}
	model_free(&r->model);
	map_free(&r->entries);
	free(r->calls);
	free(r->asked);
	buffer_free(&r->whole);
	buffer_free(&r->scratch);
	reader_close(&r->reader);
	return failed;
}

/* Reads a child run. It began before the end of the call that names it; or before the start of the
 * attempt after that call's. If its transcript is missing, that is reported, but is no error. */
static int
read_child(const struct reading *parent, uint32_t at, struct error *err)
{
	struct call_tree *tree = parent->tree;
	const struct call_tree_entry *call = &tree->entries[at];
	struct reading r = { .tree = tree, .spec = parent->spec };
	uint32_t next = tree->entries[parent->under].first; /* entry of the next attempt */
	int64_t until;
	struct error warning;
	char *path;
	int failed = 0;

	if (!id_valid(call->child, strlen(call->child)) ||
	    attempts_taken(tree, call->child) == ALL_TAKEN)
		return 0;
	while (next != CALL_TREE_NONE && tree->entries[next].began <= call->began)
		next = tree->entries[next].next;
	until = call->ended != 0 ? call->ended + 1 :
	    next != CALL_TREE_NONE ? tree->entries[next].began : INT64_MAX;
	path = layout_beside(parent->reader.path, call->child);
	if (access(path, F_OK) == 0) {
		failed = call_tree_read_run(&r, path, at, until, err);
	} else if (r.spec->warn) {
		error_set(&warning, ERROR_SYSTEM, path, "child run has no transcript");
		r.spec->warn(&warning);
	}
	free(path);
	return failed;
}

/* A call among its siblings: its series (items of a step, iterations and branches of a group), and
 * its number in that. */
struct numbered {
	uint32_t entry;
	size_t series, place;         /* place: its index so far */
	long long number;
};

static int
compare_numbered(const void *a, const void *b)
{
	const struct numbered *x = a, *y = b;

	if (x->series != y->series)
		return x->series < y->series ? -1 : 1;
	if (x->number != y->number)
		return x->number < y->number ? -1 : 1;
	return x->place < y->place ? -1 : x->place > y->place;
}

/* Sorts items, iterations and branches by their numbers. They exchange places only within their
 * series, so that series stay interleaved as they were. */
static void
order_children(struct call_tree *tree, uint32_t above)
{
	struct call_tree_entry *entries = tree->entries;
	struct numbered *list = NULL, *sorted;
	struct map known = MAP_INIT;
	size_t count = 0, *taken, series_count = 0;
	bool mixed = false;

	for (uint32_t i = entries[above].first; i != CALL_TREE_NONE; i = entries[i].next)
		count++;
	if (count < 2)
		return;
	list = memory_array(NULL, count, sizeof *list);
	sorted = memory_array(NULL, count, sizeof *sorted);
	taken = memory_array(NULL, count, sizeof *taken);
	count = 0;
	for (uint32_t i = entries[above].first; i != CALL_TREE_NONE; i = entries[i].next, count++) {
		const char *call = entries[i].what == CALL_TREE_CALL ? entries[i].call : NULL;
		const char *colon = call != NULL ? strrchr(call, ':') : NULL;
		const size_t *at = colon != NULL ? map_get(&known, call, (size_t)(colon - call)) : NULL;

		list[count] = (struct numbered){ .entry = i, .place = count,
		    .series = at != NULL ? *at : series_count, .number = colon != NULL ? atoll(colon + 1) : 0 };
		if (at == NULL && colon != NULL)
			map_put(&known, call, (size_t)(colon - call), series_count);
		if (at == NULL)
			series_count++;
		mixed = mixed || (at != NULL && list[taken[*at]].number > list[count].number);
		taken[list[count].series] = count;
	}
	memcpy(sorted, list, count * sizeof *sorted);
	if (mixed)
		qsort(sorted, count, sizeof *sorted, compare_numbered);
	/* Find out where the first call of each series is now. */
	for (size_t i = count; mixed && i-- > 0;)
		taken[sorted[i].series] = i;
	for (size_t i = 0; mixed && i < count; i++)
		list[i].entry = sorted[taken[list[i].series]++].entry;
	for (size_t i = 0; mixed && i < count; i++)
		entries[list[i].entry].next = i + 1 < count ? list[i + 1].entry : CALL_TREE_NONE;
	entries[above].first = list[0].entry;
	entries[above].last = list[count - 1].entry;
	free(list);
	free(sorted);
	free(taken);
	map_free(&known);
}

/* The state of a run is that of its last attempt. */
int
call_tree_read(struct call_tree *tree, const struct run_ref *run,
    const struct call_tree_spec *spec, struct error *err)
{
	struct reading r = { .tree = tree, .spec = spec };
	struct call_tree_entry *all;

	memset(tree, 0, sizeof *tree);
	if (spec->cost)
		tree->lines = memory_array(NULL, 1, sizeof *tree->lines);
	tree->marks = memory_array(NULL, 1, sizeof *tree->marks);
	add_entry(tree, CALL_TREE_RUN, CALL_TREE_NONE);
	if (call_tree_read_run(&r, run->path, 0, INT64_MAX, err) != 0) {
		call_tree_free(tree);
		return -1;
	}
	all = &tree->entries[0];
	if (all->first == CALL_TREE_NONE) {
		all->status = VIEW_DIED;
	} else {
		const struct call_tree_entry *last = &tree->entries[all->last];

		all->label = last->label;
		all->why = last->why;
		all->began = tree->entries[all->first].began;
		all->ended = last->ended;
		all->took = all->first == all->last ? last->took : -1;
		all->status = last->status;
		all->input_tokens = last->input_tokens;
		all->output_tokens = last->output_tokens;
	}
	for (uint32_t i = 0; i < tree->count; i++)
		order_children(tree, i);
	for (uint32_t i = 0; i < tree->count; i++)
		call_differences_find(tree, tree->entries[i].first);
	free(tree->marks);
	tree->marks = NULL;
	if (r.lines > 0 && tree->count > 1)
		return 0;
	call_tree_free(tree);
	return error_set(err, ERROR_INVALID_INPUT, run->path, r.lines > 0 ?
	    "no run is in it: it is no transcript" : "no whole line is in it");
}

uint32_t
call_tree_first(const struct call_tree *tree, uint32_t entry)
{
	uint32_t first = tree->entries[entry].first;

	if (first != CALL_TREE_NONE && tree->entries[first].what == CALL_TREE_ATTEMPT &&
	    tree->entries[first].next == CALL_TREE_NONE)
		return tree->entries[first].first;
	return first;
}

int64_t
call_tree_duration(const struct call_tree *tree, const struct call_tree_entry *entry)
{
	int64_t end = entry->ended;

	/* took was measured with the monotonic clock, which is not changed by setting the time of
	 * day. */
	if (end != 0 && entry->took >= 0)
		return entry->took;
	if (end == 0)
		end = tree->alive && entry->status == VIEW_RUNNING ? clock_wall() : entry->known;
	return end > entry->began ? (end - entry->began) / 1000 : 0;
}

void
call_tree_free(struct call_tree *tree)
{
	free(tree->entries);
	free(tree->lines);
	free(tree->marks);
	map_free(&tree->taken);
	arena_free(&tree->memory);
	map_free(&tree->shared);
	free(tree->list);
}
