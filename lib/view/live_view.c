/*
 * Applies events to the live view. Calls are identified by their numbers, because their ends may
 * come when the model has forgotten them. A step whose last call has ended waits in a list for a
 * second, by the time of the events or of the clock, whichever comes first; then it is printed and
 * removed. What is inside a call is printed, or dropped, before the call itself.
 */
#include "view/live_view.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/count.h"
#include "base/memory.h"
#include "base/text.h"
#include "model/results.h"
#include "transcript/call.h"
#include "transcript/event_keys.h"
#include "transcript/filter.h"

#define OF_A_CHILD UINT32_MAX      /* no call of the run itself has this number */
#define LABEL_WIDTH 12            /* at least this many columns in front of durations */
#define PROCESSES_MOST ((size_t)64) /* of a step; if there are more, nobody knows how many items it has */
#define SAID_BYTES ((size_t)400) /* bytes of a quoted text; no terminal shows more in a line */

/* ---- calls, steps, runs ---- */

static void
free_call(struct live_call *c)
{
	for (size_t i = 0; i < c->asking.tool_count; i++)
		free(c->asking.tools[i].name);
	free(c->asking.tools);
	free(c->label);
	free(c->item);
	free(c->child);
	free(c->command);
	free(c->whom);
	buffer_free(&c->output);
	free(c->asking.retry);
	buffer_free(&c->asking.text);
	free(c);
}

/* Appends a step; branches are inserted in the order of their numbers. */
static void
add_step(struct live_steps *steps, struct live_step *s)
{
	size_t at = steps->count;

	steps->list = memory_array(steps->list, steps->count + 1, sizeof(struct live_step *));
	for (; s->member && at > 0 && steps->list[at - 1]->member &&
	    steps->list[at - 1]->iteration > s->iteration; at--)
		steps->list[at] = steps->list[at - 1];
	steps->list[at] = s;
	steps->count++;
}

static void
live_view_remove_step(struct live_steps *steps, const struct live_step *s)
{
	size_t kept = 0;

	for (size_t i = 0; i < steps->count; i++)
		if (steps->list[i] != s)
			steps->list[kept++] = steps->list[i];
	steps->count = kept;
}

/* The list that has the step. */
static struct live_steps *
live_view_sibling_steps(const struct live_step *s)
{
	return s->around != NULL ? &s->around->inside : &s->run->steps;
}

static void
free_step(struct live_step *s)
{
	for (size_t i = 0; i < s->process_count; i++)
		free(s->processes[i]);
	free(s->processes);
	free(s->open);
	free(s->path);
	free(s->ended);
	free(s->ended_label);
	free(s);
}

struct live_run *
live_view_run(const struct live_view *v, const char *id)
{
	for (size_t i = 0; i < v->run_count; i++)
		if (strcmp(v->runs[i]->id, id) == 0)
			return v->runs[i];
	return NULL;
}

/* The index of the call with this number, or the index at which to insert it. */
static size_t
place_of(const struct live_run *r, uint32_t number)
{
	size_t low = 0, high = r->open_count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (r->open[middle]->number < number)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static struct live_call *
find_call(const struct live_run *r, uint32_t number)
{
	size_t at = place_of(r, number);

	return at < r->open_count && r->open[at]->number == number ? r->open[at] : NULL;
}

/* Removes an open call from its run and step. */
static void
close_call(struct live_call *c)
{
	struct live_run *r = c->run;
	struct live_step *s = c->step;
	size_t at = place_of(r, c->number), kept = 0;

	memmove(r->open + at, r->open + at + 1, (r->open_count - at - 1) * sizeof *r->open);
	r->open_count--;
	for (size_t i = 0; i < s->open_count; i++)
		if (s->open[i] != c)
			s->open[kept++] = s->open[i];
	s->open_count = kept;
	if (s->around != NULL)
		s->around->open_inside--;
}

/* The call in the parent run that started a child run; NULL if the parent is not shown. */
static const struct live_call *
child_call(const struct live_run *child)
{
	const struct live_run *r = child->parent;

	for (size_t i = 0; r != NULL && i < r->open_count; i++)
		if (r->open[i]->child != NULL && strcmp(r->open[i]->child, child->id) == 0)
			return r->open[i];
	return NULL;
}

const struct live_run *
live_view_child(const struct live_view *v, const struct live_call *c)
{
	const struct live_run *r = c->child != NULL ? live_view_run(v, c->child) : NULL;

	return r != NULL && r->parent == c->run ? r : NULL;
}

struct live_call *
live_view_only_call(const struct live_steps *steps)
{
	const struct live_step *only = NULL;

	for (size_t i = 0; i < steps->count; i++) {
		if (steps->list[i]->open_count == 0)
			continue;
		if (only != NULL)
			return NULL;
		only = steps->list[i];
	}
	return only != NULL && only->begun == 1 ? only->open[0] : NULL;
}

/* How many steps and runs enclose a step. */
static unsigned
depth_of(const struct live_step *s)
{
	const struct live_call *call = child_call(s->run);
	unsigned depth = 1;

	for (; s->around != NULL; s = s->around->step)
		depth += !s->around->step->member;
	return depth + (call != NULL ? depth_of(call->step) : 0);
}

/* Appends the names of what a step is in: "panel ▸ child ▸ ". */
static void
add_surroundings(struct buffer *out, const struct live_step *s)
{
	const struct live_call *call = s->around != NULL ? s->around : child_call(s->run);

	if (call == NULL)
		return;
	add_surroundings(out, call->step);
	/* A branch has no name of its own; an iteration is named instead of its group. */
	if (call->step->member && call->step->around->branches > 0)
		return;
	if (call->branches == 0 && s->member)
		return;
	buffer_format(out, "%s ▸ ", call->label);
}

/* ---- items ---- */

void
live_view_note_items(void *context, const char *run_id, const char *step, int64_t items)
{
	struct live_run *r = live_view_run(context, run_id);
	size_t at = 0;

	if (r == NULL)
		return;
	while (at < r->items_count && strcmp(r->items[at].process, step) != 0)
		at++;
	if (items < 0) {
		if (at == r->items_count)
			return;
		free(r->items[at].process);
		r->items[at] = r->items[--r->items_count];
		return;
	}
	if (at == r->items_count) {
		r->items = memory_array(r->items, at + 1, sizeof *r->items);
		r->items[r->items_count++].process = memory_text(step);
	}
	r->items[at].count = items;
}

/* Notes which process a call is of. */
static void
live_view_note_process(struct live_step *s, const char *call)
{
	const char *colon = strrchr(call, ':');
	const size_t len = colon != NULL ? (size_t)(colon - call) : 0;

	for (size_t i = s->process_count; i > 0; i--)
		if (strncmp(s->processes[i - 1], call, len) == 0 && s->processes[i - 1][len] == '\0')
			return;
	if (s->process_count > PROCESSES_MOST)
		return;
	s->processes = memory_array(s->processes, s->process_count + 1, sizeof *s->processes);
	s->processes[s->process_count++] = memory_format("%.*s", (int)len, call);
}

int64_t
live_view_ended(const struct live_step *s)
{
	return s->done + s->failed + s->cancelled + s->skipped + s->waiting;
}

int64_t
live_view_items(const struct live_step *s)
{
	const struct live_run *r = s->run;
	int64_t sum = 0;

	if (s->process_count > PROCESSES_MOST)
		return -1;
	for (size_t i = 0; i < s->process_count; i++) {
		size_t at = 0;

		while (at < r->items_count && strcmp(r->items[at].process, s->processes[i]) != 0)
			at++;
		if (at == r->items_count)
			return -1;
		sum = count_add(sum, r->items[at].count);
	}
	return sum >= s->begun ? sum : -1;
}

/* ---- usage ---- */

static void
live_view_add_figures(struct live_figures *to, const struct live_figures *from)
{
	to->input = count_add(to->input, from->input);
	to->output = count_add(to->output, from->output);
	to->cost = count_add(to->cost, from->cost);
	to->unknown |= from->unknown;
	to->failed += from->failed;
	to->waiting += from->waiting;
}

static void
live_view_sum_figures(const struct live_view *v, const struct live_run *r, struct live_figures *f)
{
	live_view_add_figures(f, &r->own);
	live_view_add_figures(f, &r->children);
	for (size_t i = 0; i < r->wait_count; i++)
		f->waiting += find_call(r, r->waits[i].number) != NULL;
	for (size_t i = 0; i < v->run_count; i++)
		if (v->runs[i]->parent == r)
			live_view_sum_figures(v, v->runs[i], f);
}

struct live_figures
live_view_figures(const struct live_view *v, const struct live_run *r)
{
	struct live_figures f = { .cost = 0 };

	live_view_sum_figures(v, r, &f);
	return f;
}

static void
add_usage(const struct live_figures *f, struct buffer *out)
{
	char in[32], written[32], money[MONEY_SIZE];

	if (f->cost > 0)
		buffer_format(out, "   %s%s", money_text(f->cost, money), f->unknown ? "?" : "");
	if (f->input > 0 || f->output > 0)
		buffer_format(out, "   %s in %s out", count_text(f->input, in, sizeof in),
		    count_text(f->output, written, sizeof written));
}

/* ---- ends ---- */

/* Adds an end to those to be printed. s: the step that it is of; NULL: a run's. took is in µs, -1:
 * unknown. */
static void
live_view_add_end(struct live_view *v, const struct live_step *s, enum view_saying how, const char *label,
    int64_t took, const char *said)
{
	struct buffer name = BUFFER_INIT;

	if (s != NULL)
		add_surroundings(&name, s);
	buffer_text(&name, label);
	v->told = memory_array(v->told, v->told_count + 1, sizeof *v->told);
	v->told[v->told_count++] = (struct live_end){ s == NULL, how, buffer_take(&name), took,
		memory_text(said) };
}

/* Prints how many failures there were beyond those that were printed, unless the owner of the run does
 * so itself. */
static void
live_view_add_failures_end(struct live_view *v, const struct live_run *r)
{
	struct buffer text = BUFFER_INIT;

	for (size_t i = 0; v->ends && i < r->failures_count; i++) {
		if (r->failures[i].count <= FOLDED_SHOWN)
			continue;
		buffer_clear(&text);
		folded_count(&text, r->failures[i].kind, (size_t)r->failures[i].count - FOLDED_SHOWN);
		live_view_add_end(v, NULL, VIEW_FAILED, buffer_string(&text), -1, "");
	}
	if (v->ends && r->other_failures > 0) {
		buffer_clear(&text);
		buffer_format(&text, "%lld failures of other kinds", (long long)r->other_failures);
		live_view_add_end(v, NULL, VIEW_FAILED, buffer_string(&text), -1, "");
	}
	buffer_free(&text);
}

/* Adds the end of a run, if ends are to be printed and the run is not a child. */
static void
live_view_add_run_end(struct live_view *v, const struct live_run *r, enum view_saying how,
    int64_t took, const char *status)
{
	const struct live_figures figures = live_view_figures(v, r);
	struct buffer text = BUFFER_INIT;
	char duration[32];

	if (!v->ends || r->parent != NULL)
		return;
	live_view_add_failures_end(v, r);
	buffer_format(&text, "%s %.8s %s", r->name, r->id, status);
	if (took >= 0)
		buffer_format(&text, "   %s", duration_text(took / 1000, duration, sizeof duration));
	add_usage(&figures, &text);
	live_view_add_end(v, NULL, how, buffer_string(&text), -1, "");
	buffer_free(&text);
}

static void
live_view_add_step_end(struct live_view *v, const struct live_step *s)
{
	struct buffer counts = BUFFER_INIT;

	if (s->begun > 1) {
		const struct { int64_t count; const char *word; } parts[] = {
			{ s->done, "done" }, { s->failed, "failed" }, { s->cancelled, "cancelled" },
			{ s->skipped, "skipped" }, { s->waiting, "waiting" },
		};

		for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
			if (parts[i].count > 0)
				buffer_format(&counts, "%s%lld %s", counts.len > 0 ? ", " : "",
				    (long long)parts[i].count, parts[i].word);
		live_view_add_end(v, s, s->failed > 0 ? VIEW_FAILED : s->waiting > 0 ?
		    VIEW_WAITING :
		    s->done > 0 ? VIEW_DONE : s->cancelled > 0 ? VIEW_CANCELLED : VIEW_SKIPPED, s->name, s->last - s->first,
		    buffer_string(&counts));
	} else if (s->ended != NULL) {
		live_view_add_end(v, s, s->how, s->ended_label, s->last - s->first,
		    s->ended);
	}
	if (s->around != NULL)
		s->around->told_inside = true;
	buffer_free(&counts);
}

void
live_view_settle(struct live_view *v, int64_t now)
{
	size_t kept = 0;

	for (size_t i = 0; i < v->settling.count; i++) {
		struct live_step *s = v->settling.list[i];

		if (s->last > now - LIVE_VIEW_SETTLED_US ||
		    (now != LIVE_VIEW_OVER && live_view_items(s) > live_view_ended(s))) {
			v->settling.list[kept++] = s;
			continue;
		}
		live_view_add_step_end(v, s);
		live_view_remove_step(live_view_sibling_steps(s), s);
		free_step(s);
	}
	v->settling.count = kept;
}

/* Ends all steps of the list: prints their ends, and drops calls that are still open, because no
 * event will end them. */
static void
end_steps(struct live_view *v, struct live_steps *held)
{
	const struct live_steps steps = *held;

	*held = (struct live_steps){ .list = NULL };
	for (size_t i = 0; i < steps.count; i++) {
		struct live_step *s = steps.list[i];

		while (s->open_count > 0) {
			struct live_call *c = s->open[s->open_count - 1];

			end_steps(v, &c->inside);
			close_call(c);
			free_call(c);
			s->begun--;
		}
		if (s->done + s->failed + s->cancelled + s->skipped + s->waiting > 0)
			live_view_add_step_end(v, s);
		live_view_remove_step(&v->settling, s);
		free_step(s);
	}
	free(steps.list);
}

static struct live_run *
child_of(const struct live_view *v, const struct live_run *r)
{
	for (size_t i = 0; i < v->run_count; i++)
		if (v->runs[i]->parent == r)
			return v->runs[i];
	return NULL;
}

/* ---- calls that wait ---- */

static void
live_view_remove_wait(struct live_run *r, uint32_t number)
{
	size_t kept = 0;

	for (size_t i = 0; i < r->wait_count; i++) {
		if (r->waits[i].number != number) {
			r->waits[kept++] = r->waits[i];
			continue;
		}
		free(r->waits[i].label);
		free(r->waits[i].said);
	}
	r->wait_count = kept;
}

static void
live_view_add_wait(const struct live_call *c, const struct placed *p, const char *label, const char *said)
{
	struct live_run *r = c->run;
	struct buffer name = BUFFER_INIT;

	live_view_remove_wait(r, c->number);
	add_surroundings(&name, c->step);
	buffer_text(&name, label);
	r->waits = memory_array(r->waits, r->wait_count + 1, sizeof *r->waits);
	r->waits[r->wait_count++] = (struct live_wait){ c->number, buffer_take(&name), memory_text(said), p->wall };
}

/* What has ended as waiting in a child run waits in its parent, which ends with it. */
static void
live_view_pass_waits(struct live_run *r)
{
	struct live_run *to = r->parent;

	if (r->wait_count == 0)
		return;
	to->waits = memory_array(to->waits, to->wait_count + r->wait_count, sizeof *to->waits);
	for (size_t i = 0; i < r->wait_count; i++) {
		to->waits[to->wait_count] = r->waits[i];
		to->waits[to->wait_count++].number = OF_A_CHILD;
	}
	r->wait_count = 0;
}

/* A call was decided about: it goes on, or the next attempt does. */
static void
live_view_note_decision(struct live_run *r, const struct placed *p)
{
	const size_t before = r->wait_count;
	struct live_call *c = find_call(r, p->number);

	live_view_remove_wait(r, p->number);
	if (r->wait_count == before)
		return;
	if (c != NULL)
		c->asks = c->attended = false;
	else if (r->own.waiting > 0)
		r->own.waiting--;
}

static void
live_view_end_run(struct live_view *v, struct live_run *r)
{
	struct live_run *child;
	size_t kept = 0;

	for (size_t i = 0; i < v->run_count; i++)
		if (v->runs[i] != r)
			v->runs[kept++] = v->runs[i];
	v->run_count = kept;
	while ((child = child_of(v, r)) != NULL)
		live_view_end_run(v, child);
	end_steps(v, &r->steps);
	if (r->parent != NULL) {
		live_view_add_figures(&r->parent->children, &r->own);
		live_view_add_figures(&r->parent->children, &r->children);
		live_view_pass_waits(r);
	}
	for (size_t i = 0; i < r->wait_count; i++) {
		free(r->waits[i].label);
		free(r->waits[i].said);
	}
	free(r->waits);
	for (size_t i = 0; i < r->failures_count; i++)
		free(r->failures[i].kind);
	free(r->failures);
	for (size_t i = 0; i < r->items_count; i++)
		free(r->items[i].process);
	free(r->items);
	free(r->open);
	free(r->name);
	free(r);
}

static void
run_completed(struct live_view *v, struct live_run *r, const struct placed *p)
{
	char status[32] = "";

	span_copy(span_member(p->event->payload, KEY_STATUS), status, sizeof status);
	end_steps(v, &r->steps);
	live_view_add_run_end(v, r, told_state_of_end(p->event), p->wall - r->started, status);
	live_view_end_run(v, r);
}

void
live_view_died(struct live_view *v, const char *run_id)
{
	struct live_run *r = live_view_run(v, run_id);

	if (r == NULL)
		return;
	end_steps(v, &r->steps);
	live_view_add_run_end(v, r, VIEW_DIED, -1, view_words[VIEW_DIED].text);
	live_view_end_run(v, r);
}

/* Counts a failure, of a run or of a child of it, among those that are alike. Returns whether to print
 * it. */
static bool
live_view_count_failure(struct live_run *r, const char *name, const char *said)
{
	char *message = memory_format("%s: %s", name, said);
	struct buffer kind = BUFFER_INIT;
	size_t at = 0;
	bool prints = false;

	while (r->parent != NULL)
		r = r->parent;
	folded_kind(&kind, message);
	while (at < r->failures_count && strcmp(r->failures[at].kind, buffer_string(&kind)) != 0)
		at++;
	if (at == r->failures_count && at < FOLDED_KINDS_MOST) {
		r->failures = memory_array(r->failures, at + 1, sizeof *r->failures);
		r->failures[r->failures_count++] = (struct live_failures){ buffer_take(&kind), 0 };
	}
	if (at < r->failures_count)
		prints = ++r->failures[at].count <= FOLDED_SHOWN;
	else
		r->other_failures++;
	buffer_free(&kind);
	free(message);
	return prints;
}

/* ---- texts ---- */

void
live_view_flat(struct buffer *out, const char *bytes, size_t len)
{
	bool space = true;

	for (size_t i = 0; i < len; i++) {
		const bool blank = bytes[i] == ' ' || (bytes[i] >= '\t' && bytes[i] <= '\r');

		if (!blank)
			buffer_byte(out, bytes[i]);
		else if (!space)
			buffer_byte(out, ' ');
		space = blank;
	}
	if (len > 0 && space && out->len > 0 && out->data[out->len - 1] == ' ')
		out->data[--out->len] = '\0';
}

/* A value on one line: a string as its text, anything else as JSON. */
static void
add_value(struct buffer *out, struct span value)
{
	struct buffer text = BUFFER_INIT;

	if (span_type(value) == 's') {
		span_decode(value, &text);
		value = span_of(buffer_string(&text), text.len);
	}
	live_view_flat(out, value.at,
	    value.len > SAID_BYTES ? utf8_whole(value.at, SAID_BYTES) : value.len);
	buffer_free(&text);
}

/* Appends an error's message; it contains the end of stderr. */
static void
add_failure(struct buffer *out, const struct placed *p)
{
	const struct span error = span_member(p->event->payload, KEY_ERROR);
	const struct model_call *c = p->call;

	add_value(out, span_type(error) == 'o' ? span_member(error, KEY_MESSAGE) : error);
	if (c == NULL)
		return;
	if (c->tried)
		buffer_text(out, "   (--try)");
	else if (c->allowed)
		buffer_text(out, "   (--allow-failure)");
	for (c = c->around; c != NULL && !c->race && !c->lenient; c = c->around)
		continue;
	if (c != NULL)
		buffer_format(out, "   (%s)", c->race ? "any" : "best-effort");
}

/* Appends what an agent did, and the result, of a call that succeeded. */
static void
add_success(struct buffer *out, const struct live_call *c, const struct placed *p)
{
	const struct span payload = p->event->payload;
	struct buffer text = BUFFER_INIT;
	char pointer[64];
	struct span result;
	long long lines = 0;

	if (c->asking.turns > 0)
		buffer_format(out, "%lld turn%s", (long long)c->asking.turns, c->asking.turns == 1 ? "" : "s");
	for (size_t i = 0; i < c->asking.tool_count; i++) {
		buffer_format(out, "%s%s", out->len > 0 ? ", " : "", c->asking.tools[i].name);
		if (c->asking.tools[i].times > 1)
			buffer_format(out, " ×%u", c->asking.tools[i].times);
	}
	if (c->rounds > 0 && c->branches == 0)
		buffer_format(out, "%lld round%s", (long long)c->rounds, c->rounds == 1 ? "" : "s");
	snprintf(pointer, sizeof pointer, "/%s", result_member(payload));
	result = pointer_find(payload, pointer);
	if (p->event->type == EVENT_CALL_WORKFLOW_COMPLETED)
		lines = result_lines(result, &text, &result);
	if (lines == 0 && !span_integer(span_member(payload, KEY_COUNT), &lines))
		lines = 1;
	if (lines != 1) {
		buffer_format(out, "%s%lld lines", out->len > 0 ? ", " : "", lines);
	} else if (result.at != NULL && result.len > 0 && span_type(result) != '0' &&
	    !span_is(result, "")) {
		buffer_text(out, out->len > 0 ? "  \"" : "\"");
		add_value(out, result);
		buffer_byte(out, '"');
	}
	buffer_free(&text);
}

static void
add_waiting(struct buffer *out, const struct placed *p)
{
	const bool approval = waiting_of(p->event) == WAITING_APPROVAL;
	struct span until = span_path(p->event->payload, KEY_APPROVAL, KEY_DEADLINE, NULL);

	if (waiting_of(p->event) == WAITING_TIME) {
		buffer_text(out, "sleeps until ");
		add_value(out, until);
		return;
	}
	buffer_format(out, "waits: awf-ctl %s %s %.8s", approval ? "approve" : "complete",
	    p->call != NULL && p->call->id[0] != '\0' ? p->call->id : "STEP", p->run->run_id);
}

/* ---- events ---- */

/* If there was a previous attempt, it is over. */
static void
run_started(struct live_view *v, const struct placed *p)
{
	struct live_run *r = live_view_run(v, p->run->run_id);

	if (r != NULL)
		live_view_end_run(v, r);
	r = memory_zero(1, sizeof *r);
	memcpy(r->id, p->run->run_id, sizeof r->id);
	r->name = memory_text(p->run->name);
	r->started = p->wall;
	r->parent = p->run->parent_run_id[0] != '\0' ? live_view_run(v, p->run->parent_run_id) : NULL;
	v->runs = memory_array(v->runs, v->run_count + 1, sizeof(struct live_run *));
	v->runs[v->run_count++] = r;
}

static struct live_step *
step_of(struct live_view *v, struct live_run *r, struct live_call *around, const struct placed *p)
{
	const char *path = p->step->path, *dot = strrchr(path, '.');
	const bool member = around != NULL && strcmp(around->step->path, path) == 0;
	struct live_steps *steps = around != NULL ? &around->inside : &r->steps;
	struct live_step *s;

	for (size_t i = steps->count; !member && i > 0; i--)
		if (!steps->list[i - 1]->member && strcmp(steps->list[i - 1]->path, path) == 0) {
			live_view_remove_step(&v->settling, steps->list[i - 1]);
			return steps->list[i - 1];
		}
	s = memory_zero(1, sizeof *s);
	s->run = r;
	s->around = around;
	s->path = memory_text(path);
	s->name = s->path + (dot != NULL ? dot + 1 - path : 0);
	s->member = member;
	s->iteration = p->event->iteration;
	s->first = p->wall;
	add_step(steps, s);
	return s;
}

/* What tells a call from others of its step: "[5] \"item 5\"". */
static char *
live_view_item_label(const struct live_view *v, const struct event_view *event)
{
	struct buffer name = BUFFER_INIT, label = BUFFER_INIT;

	item_names_start(&v->items, event, &name); /* " (NAME)" */
	buffer_format(&label, "[%lld]", (long long)event->iteration);
	if (name.len > 3)
		buffer_format(&label, " %.*s", (int)name.len - 3, name.data + 2);
	buffer_free(&name);
	return buffer_take(&label);
}

static void
call_started(struct live_view *v, struct live_run *r, const struct placed *p)
{
	const struct span payload = p->event->payload;
	const struct span blocks = span_member(payload, KEY_BLOCKS);
	const struct span command = span_member(span_element(blocks, 0), KEY_COMMAND);
	const bool parallel = span_type(span_member(payload, KEY_STRATEGY)) == 's';
	const struct model_call *m = p->call;
	struct live_call *around = m->around != NULL ? find_call(r, m->around->number) : NULL;
	struct live_call *c = memory_zero(1, sizeof *c);
	struct live_step *s = step_of(v, r, around, p);
	struct buffer text = BUFFER_INIT;
	size_t at = place_of(r, p->number), width;

	c->number = p->number;
	c->run = r;
	c->step = s;
	c->started = p->wall;
	c->iteration = p->event->iteration;
	c->asking.answered = -1;
	model_call_event_id(m, c->start);
	view_call_label(m, &text);
	c->label = memory_text(buffer_string(&text));
	buffer_clear(&text);
	if (!s->member) {
		c->item = live_view_item_label(v, p->event);
		live_view_note_process(s, m->id);
	}
	if (m->rare->child_run_id[0] != '\0')
		c->child = memory_text(m->rare->child_run_id);
	c->agent = p->step->provider != NULL || p->step->agent != NULL;
	c->asks = strcmp(p->step->kind, "approval") == 0;
	if (strcmp(p->step->kind, "question") == 0) {
		c->asks = true;
		c->command = memory_format("asks: awf-ctl complete %s %.8s", m->id, p->run->run_id);
	} else if (parallel) {
		for (struct span_walk block = span_walk(blocks); span_next(&block);)
			c->branches++;
	} else if (span_type(command) == 's') {
		add_value(&text, command);
		c->command = buffer_take(&text);
	}
	if (around != NULL && s->member)
		around->rounds++;

	r->open = memory_array(r->open, r->open_count + 1, sizeof(struct live_call *));
	memmove(r->open + at + 1, r->open + at, (r->open_count - at) * sizeof *r->open);
	r->open[at] = c;
	r->open_count++;
	s->open = memory_array(s->open, s->open_count + 1, sizeof(struct live_call *));
	s->open[s->open_count++] = c;
	s->begun++;
	if (around != NULL)
		around->open_inside++;
	width = 2 * (size_t)depth_of(s) + strlen(s->begun == 1 ? c->label : s->name);
	if (width > v->label_width)
		v->label_width = width;
	buffer_free(&text);
}

static void
call_ended(struct live_view *v, struct live_call *c, const struct placed *p)
{
	const struct span error = span_member(p->event->payload, KEY_ERROR);
	const enum view_saying how = told_state_of_end(p->event);
	struct live_step *s = c->step;
	struct buffer said = BUFFER_INIT, label = BUFFER_INIT;
	bool at_once;

	end_steps(v, &c->inside);
	close_call(c);
	buffer_text(&label, c->label);
	switch (how) {
	case VIEW_FAILED:
		s->failed++;
		add_failure(&said, p);
		break;
	case VIEW_WAITING:
		s->waiting++;
		add_waiting(&said, p);
		break;
	case VIEW_CANCELLED:
	case VIEW_CLOSED:
	case VIEW_SKIPPED:
		*(how == VIEW_CANCELLED ? &s->cancelled : &s->skipped) += 1;
		add_value(&said, member_set(error) ? span_member(error, KEY_MESSAGE) :
		    span_member(p->event->payload, KEY_SKIPPED));
		break;
	default:
		s->done++;
		add_success(&said, c, p);
	}
	/* If something inside a branch failed or waits, that was printed; do not print the branch,
	 * too. */
	at_once = (how == VIEW_FAILED && !(s->member && c->told_inside)) ||
	    (how == VIEW_WAITING && waiting_of(p->event) != WAITING_NOTHING);
	if (at_once && p->event->iteration != 0 && !s->member)
		buffer_text(&label, item_names_find(&v->items, p->event));
	c->run->own.failed += at_once && how == VIEW_FAILED && !c->told_inside;
	c->run->own.waiting += at_once && how == VIEW_WAITING;
	s->last = p->wall;
	if ((how == VIEW_DONE || how == VIEW_FAILED) && (p->call == NULL || !p->call->reused)) {
		s->paced_since = s->paced == 0 || c->started < s->paced_since ? c->started : s->paced_since;
		s->paced++;
	}
	live_view_remove_wait(c->run, c->number);
	if (how == VIEW_WAITING && waiting_of(p->event) != WAITING_NOTHING)
		live_view_add_wait(c, p, buffer_string(&label), buffer_string(&said));
	free(s->ended);
	free(s->ended_label);
	s->ended = s->ended_label = NULL;
	s->how = how;
	if (at_once && !(how == VIEW_WAITING && c->attended)) {
		live_view_settle(v, p->wall + LIVE_VIEW_SETTLED_US); /* print what ended before it */
		if (how != VIEW_FAILED || live_view_count_failure(c->run, s->name, buffer_string(&said)))
			live_view_add_end(v, s, how, buffer_string(&label), p->wall - c->started,
			    buffer_string(&said));
		if (s->around != NULL)
			s->around->told_inside = true;
	} else if (!(s->member && c->told_inside) && how != VIEW_WAITING) {
		s->ended = buffer_take(&said);
		s->ended_label = buffer_take(&label);
	}
	if (s->member && s->around->branches > 0)
		s->around->branches_done++;
	if (s->open_count == 0) {
		v->settling.list = memory_array(v->settling.list, v->settling.count + 1,
		    sizeof(struct live_step *));
		v->settling.list[v->settling.count++] = s;
	}
	if (s->around != NULL)
		s->around->told_inside |= c->told_inside;
	buffer_free(&said);
	buffer_free(&label);
	free_call(c);
}

/* The call waits, and its process with it: how it is decided about is printed now. */
static void
call_waits(struct live_view *v, struct live_call *c, const struct placed *p)
{
	struct buffer said = BUFFER_INIT, label = BUFFER_INIT;

	c->asks = c->attended = true;
	buffer_text(&label, c->label);
	if (p->event->iteration != 0 && !c->step->member)
		buffer_text(&label, item_names_find(&v->items, p->event));
	add_waiting(&said, p);
	live_view_add_end(v, c->step, VIEW_WAITING, buffer_string(&label), p->wall - c->started,
	    buffer_string(&said));
	live_view_add_wait(c, p, buffer_string(&label), buffer_string(&said));
	buffer_free(&said);
	buffer_free(&label);
}

/* The text of the turn was recorded or discarded. */
static void
drop_text(struct live_call *c)
{
	buffer_clear(&c->asking.text);
	c->asking.words = 0;
	c->asking.in_word = false;
}

static void
live_view_note_answer(struct live_view *v, struct live_call *c, const struct placed *p)
{
	const struct span payload = p->event->payload, retry = span_member(payload, KEY_RETRY);
	struct live_figures *own = &c->run->own;
	long long turn, next = 0, of = 0, delay = 0;
	struct buffer text = BUFFER_INIT;
	int64_t cost;

	drop_text(c);
	c->asking.asked = false;
	free(c->asking.retry);
	c->asking.retry = NULL;
	if (event_tells_retry(p->event)) {
		span_integer(span_member(retry, KEY_TRY), &next);
		span_integer(span_member(retry, KEY_OF), &of);
		span_integer(span_member(payload, KEY_DELAY_MS), &delay);
		add_value(&text, span_member(retry, KEY_MESSAGE));
		buffer_format(&text, ", try %lld of %lld", next, of);
		c->asking.retry = buffer_take(&text);
		c->asking.retry_at = p->wall + delay * 1000;
		return;
	}
	if (event_tells_wait(p->event)) {
		const struct span wait = span_member(payload, KEY_WAIT);

		/* If it waits before a request, the model is not asked before the wait is over. */
		c->asking.asked = span_type(span_member(wait, KEY_REASON)) != 's';
		if (c->asking.asked)
			return;
		span_integer(span_member(payload, KEY_DELAY_MS), &delay);
		call_wait_text(wait, 0, &text);
		if (delay > 0)
			buffer_text(&text, ", next try");
		c->asking.retry = buffer_take(&text);
		c->asking.retry_at = p->wall + delay * 1000;
		return;
	}
	c->asking.turns++;
	if (span_integer(span_member(payload, KEY_TURN), &turn))
		c->asking.answered = turn;
	cost = v->cost != NULL ? cost_take(v->cost, p) : COST_NONE;
	if (cost > 0)
		own->cost = count_add(own->cost, cost);
	for (struct live_step *s = c->step; cost > 0; s = s->around->step) {
		s->cost = count_add(s->cost, cost);
		if (s->around == NULL)
			break;
	}
	own->unknown |= cost == COST_UNKNOWN;
	own->input = p->run->usage[MODEL_INPUT_TOKENS];
	own->output = p->run->usage[MODEL_OUTPUT_TOKENS];
}

static void
tool_called(struct live_call *c, const struct placed *p)
{
	char *name = span_text(span_member(p->event->payload, KEY_NAME));
	size_t at = 0;

	c->asking.open_tools++;
	c->asking.asked = false;
	buffer_clear(&c->output);
	if (name == NULL)
		return;
	while (at < c->asking.tool_count && strcmp(c->asking.tools[at].name, name) != 0)
		at++;
	if (at == c->asking.tool_count) {
		c->asking.tools = memory_array(c->asking.tools, at + 1, sizeof *c->asking.tools);
		c->asking.tools[c->asking.tool_count++] = (struct live_tool){ name, 0 };
	} else {
		free(name);
	}
	c->asking.tools[at].times++;
	c->asking.tool = c->asking.tools[at].name;
}

/* The model is asked for the next turn. */
static void
live_view_note_request(struct live_call *c, const struct placed *p)
{
	const struct model_step *step = p->step;
	const char *provider = step->fallback_provider != NULL ? step->fallback_provider : step->provider;
	const char *model = step->fallback_model != NULL ? step->fallback_model : step->model;

	drop_text(c);
	c->asking.asked = true;
	free(c->whom);
	c->whom = provider == NULL ? NULL : model == NULL ? memory_text(provider) :
	    memory_format("%s/%s", provider, model);
}

void
live_view_take(struct live_view *v, const struct placed *p)
{
	const struct event_view *event = p->event;
	struct live_run *r;
	struct live_call *c;

	live_view_settle(v, p->wall);
	if (event->type == EVENT_RUN_STARTED) {
		run_started(v, p);
		return;
	}
	r = live_view_run(v, p->run->run_id);
	if (r == NULL)
		return;
	item_names_note(&v->items, event);
	if (event->type == EVENT_RUN_COMPLETED) {
		run_completed(v, r, p);
	} else if (event_type_starts_call(event->type)) {
		call_started(v, r, p);
	} else if (p->step != NULL && (c = find_call(r, p->number)) != NULL) {
		if (event->type == EVENT_MESSAGE_USER)
			live_view_note_request(c, p);
		else if (event->type == EVENT_MESSAGE_ASSISTANT)
			live_view_note_answer(v, c, p);
		else if (event->type == EVENT_TOOL_CALL)
			tool_called(c, p);
		else if (event->type == EVENT_TOOL_RESULT && c->asking.open_tools > 0 && --c->asking.open_tools == 0 &&
		    c->agent)
			live_view_note_request(c, p);
		else if (event->type == EVENT_STEP_WAITING)
			call_waits(v, c, p);
		else if (event_type_ends_call(event->type) && !event_decides(event))
			call_ended(v, c, p);
	}
	if (event_decides(event))
		live_view_note_decision(r, p);
}

/* Keeps the end of what is printed; of several tools at a time, of all in turn. */
static void
live_view_note_output(struct live_call *c, const struct live_news *news)
{
	if (news->event == LIVE_DONE)
		buffer_clear(&c->output);
	if (news->event != LIVE_APPENDED)
		return;
	buffer_append(&c->output, news->text.at, news->text.len);
	if (c->output.len > LIVE_VIEW_OUTPUT) {
		size_t from = c->output.len - LIVE_VIEW_OUTPUT;

		while (from < c->output.len && ((unsigned char)c->output.data[from] & 0xc0) == 0x80)
			from++;
		buffer_drop(&c->output, from);
	}
}

void
live_view_write(void *context, const struct live_news *news)
{
	const struct live_view *v = context;
	const char *start = news->source != NULL ? news->source->of : news->call;
	struct live_call *c = NULL;

	for (size_t r = 0; r < v->run_count; r++)
		for (size_t i = 0; i < v->runs[r]->open_count; i++)
			if (strcmp(v->runs[r]->open[i]->start, start) == 0)
				c = v->runs[r]->open[i];
	if (c != NULL && news->kind == LIVE_OUTPUT)
		live_view_note_output(c, news);
	if (c == NULL || news->kind == LIVE_OUTPUT || news->turn <= c->asking.answered)
		return;
	if (news->event == LIVE_RESTARTED || news->event == LIVE_DONE || news->turn != c->asking.turn ||
	    (news->event == LIVE_APPENDED && news->kind != c->asking.kind))
		drop_text(c);
	c->asking.turn = news->turn;
	if (news->event != LIVE_APPENDED)
		return;
	c->asking.asked = false;
	free(c->asking.retry);
	c->asking.retry = NULL;
	c->asking.kind = news->kind;
	for (size_t i = 0; i < news->text.len; i++) {
		const bool blank = strchr(" \t\r\n", news->text.at[i]) != NULL;

		c->asking.words += !blank && !c->asking.in_word;
		c->asking.in_word = !blank;
	}
	buffer_append(&c->asking.text, news->text.at, news->text.len);
	if (c->asking.text.len > 2 * LIVE_VIEW_TEXT) {
		size_t from = c->asking.text.len - LIVE_VIEW_TEXT;

		while (from < c->asking.text.len && ((unsigned char)c->asking.text.data[from] & 0xc0) == 0x80)
			from++;
		buffer_drop(&c->asking.text, from);
	}
}

void
live_view_begin(struct live_view *v)
{
	*v = (struct live_view){ .label_width = LABEL_WIDTH, .told_width = LABEL_WIDTH };
}

bool
live_view_wants(const void *context, const char *call)
{
	const struct live_view *v = context;

	for (size_t i = 0; i < v->drawn_count; i++)
		if (strcmp(v->drawn[i], call) == 0)
			return true;
	return false;
}

bool
live_view_moves(const struct live_view *v)
{
	return v->run_count > 0;
}

void
live_view_free(struct live_view *v)
{
	while (v->run_count > 0)
		live_view_end_run(v, v->runs[0]);
	free(v->runs);
	free(v->settling.list);
	free(v->drawn);
	for (size_t i = 0; i < v->told_count; i++) {
		free(v->told[i].label);
		free(v->told[i].said);
	}
	free(v->told);
	item_names_free(&v->items);
}
