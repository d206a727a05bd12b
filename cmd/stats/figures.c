/* Percentiles are values that occurred: the nearest rank. */
#include "stats/figures.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/count.h"
#include "base/invariant.h"
#include "base/memory.h"
#include "base/text.h"
#include "json/writer.h"
#include "model/model.h"
#include "model/told_state.h"
#include "transcript/event_keys.h"

#define NAME_MOST 40      /* columns of names */
#define REASON_MOST 100   /* columns of a reason */

const char *const figures_by_words[FIGURES_BY + 1] = { "workflow", "step", "tool", "model", NULL };

/* ---- what a run tells ---- */

static void
figures_tell(struct figures_reading *r, struct figure *figure, const struct placed *p)
{
	if ((r->wants & 1u << figure->by) == 0)
		return;
	figure->run_id = p->run->run_id;
	figure->seq = p->event->seq;
	figure->wall = p->wall;
	r->take(r->context, figure);
}

/* Tells of one that has ended. took: ms; failed: its error says why. */
static void
figures_tell_end(struct figures_reading *r, struct figure *figure, int64_t took, bool failed, struct span error,
    const struct placed *p)
{
	char *reason = NULL;

	if (failed && (reason = span_text(span_member(error, KEY_MESSAGE))) == NULL)
		reason = memory_text("");
	figure->ended = true;
	figure->ms = took;
	figure->reason = reason;
	figures_tell(r, figure, p);
	free(reason);
}

/* Tells of the end of a run, a call or a tool. What waits has not ended, and what was skipped has not been done:
 * of these only what was used counts. What was cancelled, or whose reader has closed it, has not failed. */
static void
figures_tell_done(struct figures_reading *r, struct figure *figure, const struct placed *p)
{
	const enum view_saying state = told_state_of_end(p->event);

	if (state == VIEW_WAITING || state == VIEW_SKIPPED) {
		if (figure->tokens[0] != 0 || figure->tokens[1] != 0 || figure->cost != 0)
			figures_tell(r, figure, p);
		return;
	}
	figures_tell_end(r, figure, (p->wall - p->started) / 1000,
	    state == VIEW_FAILED || state == VIEW_TIMEOUT || state == VIEW_DIED,
	    span_member(p->event->payload, KEY_ERROR), p);
}

/* "WORKFLOW PATH", to be freed by the caller. */
static char *
figures_name_of_step(const struct placed *p)
{
	const char *run = p->run->name != NULL ? p->run->name : "";

	return memory_format("%s%s%s", run, *run != '\0' ? " " : "", p->step != NULL ? p->step->path : "");
}

static void
figures_tell_answer(struct figures_reading *r, const struct placed *p)
{
	static const char *const keys[] = { KEY_INPUT_TOKENS, KEY_OUTPUT_TOKENS };
	/* Another program's event has what it said in a member. */
	const struct span said = p->event->type == EVENT_TYPES && span_member(p->event->payload, KEY_DATA).at != NULL ?
	    span_member(p->event->payload, KEY_DATA) : p->event->payload, usage = span_member(said, KEY_USAGE);
	const struct model_step *step = p->step;
	const int64_t cost = cost_take(r->cost, p);
	struct figure figure = { .cost = cost >= 0 ? cost : 0, .cost_unknown = cost == COST_UNKNOWN };
	long long number;
	char *model, *name;

	if (p->event->type == EVENT_TYPES && (!r->cost->sent || span_type(usage) != 'o'))
		return;
	for (int i = 0; i < 2; i++) {
		if (span_integer(span_member(usage, keys[i]), &number))
			figure.tokens[i] = number;
		r->tokens[i] = count_add(r->tokens[i], figure.tokens[i]);
	}
	r->spent = count_add(r->spent, figure.cost);
	r->unknown |= figure.cost_unknown;
	if ((r->wants & 1u << BY_STEP) != 0 && step != NULL) {
		struct figure used = figure;

		used.by = BY_STEP;
		used.name = name = figures_name_of_step(p);
		figures_tell(r, &used, p);
		free(name);
	}
	if ((r->wants & 1u << BY_MODEL) != 0 && !event_tells_wait(p->event)) {
		model = span_text(span_member(said, KEY_MODEL));
		name = memory_format("%s%s%s", step != NULL && step->provider != NULL ? step->provider : "",
		    step != NULL && step->provider != NULL ? "/" : "", model != NULL ? model :
		    step != NULL && step->model != NULL ? step->model : "?");
		if (!span_integer(span_member(said, KEY_DURATION_MS), &number))
			number = (p->wall - p->started) / 1000;
		figure.by = BY_MODEL;
		figure.name = name;
		figures_tell_end(r, &figure, number, span_type(span_member(said, KEY_RETRY)) == 'o',
		    span_member(said, KEY_RETRY), p);
		free(name);
		free(model);
	}
}

/* What an attempt has used is counted when it ends. */
static void
figures_tell_run_end(struct figures_reading *r, const struct placed *p)
{
	struct figure figure = { .by = BY_WORKFLOW, .name = p->run->name != NULL ? p->run->name : "",
		.tokens = { r->tokens[0], r->tokens[1] }, .cost = r->spent, .cost_unknown = r->unknown };

	figures_tell_done(r, &figure, p);
}

#define PIECE_OVER 1

static int
figures_take_event(void *context, const struct placed *p, struct error *err)
{
	struct figures_reading *r = context;
	const struct span payload = p->event->payload;
	struct figure figure = { .by = BY_STEP };
	char *name;

	(void)err;
	switch (p->event->type) {
	case EVENT_RUN_STARTED:
		r->tokens[0] = r->tokens[1] = r->spent = 0;
		r->unknown = false;
		cost_take(r->cost, p);
		break;
	case EVENT_RUN_COMPLETED:
		figures_tell_run_end(r, p);
		break;
	case EVENT_STEP_COMPLETED:
	case EVENT_CALL_WORKFLOW_COMPLETED:
		if ((r->wants & 1u << BY_STEP) == 0 || span_member(payload, KEY_REUSED_FROM).at != NULL)
			break;
		figure.name = name = figures_name_of_step(p);
		figures_tell_done(r, &figure, p);
		free(name);
		break;
	case EVENT_TOOL_RESULT:
		name = span_text(span_member(payload, KEY_NAME));
		figure.by = BY_TOOL;
		figure.name = name != NULL ? name : "";
		figures_tell_done(r, &figure, p);
		free(name);
		break;
	case EVENT_MESSAGE_ASSISTANT:
	case EVENT_TYPES:
		figures_tell_answer(r, p);
		break;
	default:
		break;
	}
	return r->until != INT64_MAX && (p->event->seq & 15) == 0 && clock_monotonic() >= r->until ? PIECE_OVER : 0;
}

void
figures_reading_begin(struct figures_reading *r, struct cost *cost, unsigned wants,
    void (*take)(void *context, const struct figure *figure), void *context)
{
	*r = (struct figures_reading){ .cost = cost, .wants = wants, .take = take, .context = context,
		.until = INT64_MAX };
	model_begin(&r->model, MODEL_EVENTS);
	r->model.watch = figures_take_event;
	r->model.context = r;
}

int
figures_reading_go(struct figures_reading *r, const char *path, struct error *err)
{
	struct model *m = &r->model;
	int got = model_read_file(m, path, err);

	if (got == 0 && m->damaged > 0)
		got = error_set(err, ERROR_SYSTEM, path, "%" PRId64 " line%s damaged, and not counted (see awf-verify)",
		    m->damaged, m->damaged == 1 ? " is" : "s are");
	return got;
}

void
figures_reading_end(struct figures_reading *r)
{
	model_free(&r->model);
}

/* ---- adding ---- */

static struct figure_row *
figures_row(struct figures *f, const char *name)
{
	const size_t *at = map_get(&f->places, name, strlen(name));

	if (at != NULL && f->rows != NULL)
		return &f->rows[*at];
	map_put(&f->places, name, strlen(name), f->count);
	if ((f->count & (f->count + 1)) == 0 || f->count == 0)
		f->rows = memory_array(f->rows, f->count * 2 + 2, sizeof *f->rows);
	f->rows[f->count] = (struct figure_row){ .name = memory_text(name) };
	return &f->rows[f->count++];
}

/* Keeps the last failures, each reason once. */
static void
figure_row_add_failure(struct figure_row *row, const struct figure *figure)
{
	struct figure_failure *list = row->failures, new = { .seq = figure->seq, .wall = figure->wall };
	size_t at = 0, place;

	while (at < FIGURE_FAILURES - 1 && list[at].reason != NULL && strcmp(list[at].reason, figure->reason) != 0)
		at++;
	if (list[at].reason != NULL && list[at].wall > figure->wall)
		return;
	free(list[at].reason);
	for (place = at; place > 0 && list[place - 1].wall <= figure->wall; place--)
		list[place] = list[place - 1];
	new.reason = memory_text(figure->reason);
	snprintf(new.run_id, sizeof new.run_id, "%s", figure->run_id != NULL ? figure->run_id : "");
	list[place] = new;
}

/* Counts it in its span; what is later than now, by another clock, in the last one. */
static void
figure_row_count_span(struct figure_row *row, const struct figures *f, const struct figure *figure)
{
	const int64_t whole = f->until - f->since, at = figure->wall - f->since;
	const int64_t span = whole > 0 && at < whole ? (int64_t)((double)at / (double)whole * FIGURE_SPANS) : FIGURE_SPANS - 1;

	row->spans[span < FIGURE_SPANS ? span : FIGURE_SPANS - 1][0]++;
	if (figure->reason != NULL)
		row->spans[span < FIGURE_SPANS ? span : FIGURE_SPANS - 1][1]++;
}

void
figures_add(void *context, const struct figure *figure)
{
	struct figures *f = context;
	struct figure_row *row;

	if (figure->by != f->by || figure->wall < f->since)
		return;
	row = figures_row(f, figure->name);
	if (figure->ended) {
		row->count++;
		figure_row_count_span(row, f, figure);
		if ((row->duration_count & (row->duration_count + 1)) == 0 || row->duration_count == 0)
			row->durations = memory_array(row->durations, row->duration_count * 2 + 2, sizeof *row->durations);
		row->durations[row->duration_count++] = figure->ms;
	}
	if (figure->reason != NULL) {
		row->failed++;
		figure_row_add_failure(row, figure);
	}
	row->input_tokens = count_add(row->input_tokens, figure->tokens[0]);
	row->output_tokens = count_add(row->output_tokens, figure->tokens[1]);
	row->cost = count_add(row->cost, figure->cost);
	row->cost_unknown |= figure->cost_unknown;
}

int
figures_begin(struct figures *f, enum figures_by by, int64_t since, struct error *err)
{
	*f = (struct figures){ .by = by, .since = since, .until = clock_wall() };
	return cost_begin(&f->cost, err);
}

int
figures_add_run(struct figures *f, const char *path, struct error *err)
{
	struct figures_reading r;
	int failed;

	figures_reading_begin(&r, &f->cost, 1u << f->by, figures_add, f);
	failed = figures_reading_go(&r, path, err);
	figures_reading_end(&r);
	return failed;
}

/* ---- showing ---- */

static int
figures_compare_rows(const void *a, const void *b)
{
	const struct figure_row *one = a, *other = b;

	if (one->cost != other->cost)
		return one->cost > other->cost ? -1 : 1;
	if (one->count != other->count)
		return one->count > other->count ? -1 : 1;
	return strcmp(one->name, other->name);
}

static int
figures_compare_numbers(const void *a, const void *b)
{
	const int64_t one = *(const int64_t *)a, other = *(const int64_t *)b;

	return one < other ? -1 : one > other;
}

void
figures_sort(struct figures *f)
{
	for (size_t i = 0; i < f->count; i++)
		if (f->rows[i].duration_count > 0)
			qsort(f->rows[i].durations, f->rows[i].duration_count, sizeof *f->rows[i].durations,
			    figures_compare_numbers);
	if (f->count > 0)
		qsort(f->rows, f->count, sizeof *f->rows, figures_compare_rows);
}

/* The duration that so many percent did not exceed; 0: there is none. */
static int64_t
figure_row_percentile(const struct figure_row *row, size_t percent)
{
	const size_t rank = (row->duration_count * percent + 99) / 100;

	INVARIANT(rank <= row->duration_count);
	return row->duration_count == 0 ? 0 : row->durations[rank > 0 ? rank - 1 : 0];
}

static void
figures_duration(int64_t ms, struct buffer *out)
{
	char text[32];

	if (ms < 10000)
		snprintf(text, sizeof text, "%" PRId64 "ms", ms);
	else if (ms < 600000)
		snprintf(text, sizeof text, "%.1fs", (double)ms / 1e3);
	else
		snprintf(text, sizeof text, "%.1fh", (double)ms / 36e5);
	buffer_format(out, "%9s", text);
}

void
figures_text(const struct figures *f, struct buffer *out)
{
	size_t width = strlen(figures_by_words[f->by]);
	char money[MONEY_SIZE];

	for (size_t i = 0; i < f->count; i++)
		if (strlen(f->rows[i].name) > width)
			width = strlen(f->rows[i].name);
	width = width > NAME_MOST ? NAME_MOST : width;
	buffer_format(out, "%-*s %8s %8s %9s %9s %11s %10s  %s\n", (int)width, figures_by_words[f->by], "count",
	    "failed", "p50", "p95", "in", "out", "cost");
	for (size_t i = 0; i < f->count; i++) {
		const struct figure_row *row = &f->rows[i];
		struct buffer name = BUFFER_INIT;

		text_visible(&name, row->name, strlen(row->name), width);
		buffer_format(out, "%-*s %8" PRId64 " %8" PRId64 " ", (int)width, buffer_string(&name), row->count,
		    row->failed);
		figures_duration(figure_row_percentile(row, 50), out);
		buffer_byte(out, ' ');
		figures_duration(figure_row_percentile(row, 95), out);
		buffer_format(out, " %11" PRId64 " %10" PRId64 "  %s%s\n", row->input_tokens, row->output_tokens,
		    money_text(row->cost, money), row->cost_unknown ? " and ?" : "");
		if (row->failures[0].reason != NULL && *row->failures[0].reason != '\0') {
			buffer_text(out, "  last failure: ");
			text_visible(out, row->failures[0].reason, strlen(row->failures[0].reason), REASON_MOST);
			buffer_byte(out, '\n');
		}
		buffer_free(&name);
	}
}

void
figures_write_row(const struct figures *f, const struct figure_row *row, struct writer *w)
{
	char at[CLOCK_TEXT_SIZE];

	writer_member_string(w, figures_by_words[f->by], row->name);
	writer_member_integer(w, "count", row->count);
	writer_member_integer(w, "failed", row->failed);
	writer_member_string(w, "last_failure", row->failures[0].reason);
	if (row->failed > 0) {
		writer_member_array(w, "last_failures");
		for (size_t i = 0; i < FIGURE_FAILURES && row->failures[i].reason != NULL; i++) {
			writer_object(w);
			writer_member_string(w, "reason", row->failures[i].reason);
			writer_member_string(w, KEY_RUN_ID, row->failures[i].run_id);
			writer_member_integer(w, KEY_SEQ, row->failures[i].seq);
			writer_member_string(w, "at", clock_text(row->failures[i].wall, at));
			writer_object_end(w);
		}
		writer_array_end(w);
	}
	if (f->since > 0) {
		writer_member_array(w, "spans");
		for (size_t i = 0; i < FIGURE_SPANS; i++) {
			writer_array(w);
			writer_integer(w, row->spans[i][0]);
			writer_integer(w, row->spans[i][1]);
			writer_array_end(w);
		}
		writer_array_end(w);
	}
	writer_member_integer(w, "p50_ms", figure_row_percentile(row, 50));
	writer_member_integer(w, "p95_ms", figure_row_percentile(row, 95));
	writer_member_integer(w, "input_tokens", row->input_tokens);
	writer_member_integer(w, "output_tokens", row->output_tokens);
	cost_write(w, row->cost_unknown ? COST_UNKNOWN : row->cost);
}

void
figures_json(const struct figures *f, struct buffer *out)
{
	struct writer w;

	for (size_t i = 0; i < f->count; i++) {
		writer_begin(&w, out);
		writer_object(&w);
		figures_write_row(f, &f->rows[i], &w);
		writer_object_end(&w);
		buffer_byte(out, '\n');
	}
}

void
figures_free(struct figures *f)
{
	for (size_t i = 0; i < f->count; i++) {
		free(f->rows[i].name);
		for (size_t j = 0; j < FIGURE_FAILURES; j++)
			free(f->rows[i].failures[j].reason);
		free(f->rows[i].durations);
	}
	free(f->rows);
	map_free(&f->places);
	cost_free(&f->cost);
}
