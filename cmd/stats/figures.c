/* Percentiles are values that occurred: the nearest rank. */
#include "stats/figures.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/count.h"
#include "base/invariant.h"
#include "base/memory.h"
#include "base/text.h"
#include "json/writer.h"
#include "model/model.h"
#include "transcript/event_keys.h"

#define NAME_MOST 40      /* columns of names */
#define REASON_MOST 100   /* columns of a reason */

const char *const figures_by_words[FIGURES_BY + 1] = { "workflow", "step", "tool", "model", NULL };

/* Reading one run. */
struct reading {
	struct figures *figures;
	int64_t since;
	int64_t tokens[2], cost; /* of the attempt so far */
	bool cost_unknown;
};

static struct figure_row *
figures_row(struct figures *f, const char *name)
{
	const size_t *at = map_get(&f->places, name, strlen(name));

	if (at != NULL && f->rows != NULL)
		return &f->rows[*at];
	map_put(&f->places, name, strlen(name), f->count);
	f->rows = memory_array(f->rows, f->count + 1, sizeof *f->rows);
	f->rows[f->count] = (struct figure_row){ .name = memory_text(name) };
	return &f->rows[f->count++];
}

/* The text of a member; "" if there is none. To be freed by the caller. */
static char *
figures_text_of(struct span value)
{
	char *text = span_text(value);

	return text != NULL ? text : memory_text("");
}

/* Counts one that has ended. error: its error; .at NULL: it did not fail. */
static void
figure_row_count(struct figure_row *row, int64_t ms, struct span error)
{
	row->count++;
	if ((row->duration_count & (row->duration_count + 1)) == 0 || row->duration_count == 0)
		row->durations = memory_array(row->durations, row->duration_count * 2 + 2, sizeof *row->durations);
	row->durations[row->duration_count++] = ms;
	if (span_type(error) == 'o') {
		row->failed++;
		free(row->last_reason);
		row->last_reason = figures_text_of(span_member(error, KEY_MESSAGE));
	}
}

static void
figure_row_use(struct figure_row *row, const int64_t tokens[2], int64_t cost)
{
	row->input_tokens = count_add(row->input_tokens, tokens[0]);
	row->output_tokens = count_add(row->output_tokens, tokens[1]);
	if (cost == COST_UNKNOWN)
		row->cost_unknown = true;
	else if (cost != COST_NONE)
		row->cost = count_add(row->cost, cost);
}

/* ---- events ---- */

/* The row of a step: "WORKFLOW PATH". */
static struct figure_row *
figures_row_of_step(const struct reading *r, const struct placed *p)
{
	char *name = memory_format("%s %s", p->run->name != NULL ? p->run->name : "",
	    p->step != NULL ? p->step->path : "");
	struct figure_row *row = figures_row(r->figures, *name == ' ' ? name + 1 : name);

	free(name);
	return row;
}

static void
figures_add_answer(struct reading *r, const struct placed *p)
{
	static const char *const keys[] = { KEY_INPUT_TOKENS, KEY_OUTPUT_TOKENS };
	/* Another program's event has what it said in a member. */
	const struct span said = p->event->type == EVENT_TYPES && span_member(p->event->payload, KEY_DATA).at != NULL ?
	    span_member(p->event->payload, KEY_DATA) : p->event->payload, usage = span_member(said, KEY_USAGE);
	const struct model_step *step = p->step;
	const int64_t cost = cost_take(&r->figures->cost, p);
	int64_t tokens[2] = { 0, 0 };
	long long number;
	char *model, *name;

	if (p->event->type == EVENT_TYPES && (!r->figures->cost.sent || span_type(usage) != 'o'))
		return;
	for (int i = 0; i < 2; i++) {
		if (span_integer(span_member(usage, keys[i]), &number))
			tokens[i] = number;
		r->tokens[i] = count_add(r->tokens[i], tokens[i]);
	}
	if (cost >= 0)
		r->cost = count_add(r->cost, cost);
	r->cost_unknown |= cost == COST_UNKNOWN;
	if (r->figures->by == BY_STEP && step != NULL) {
		figure_row_use(figures_row_of_step(r, p), tokens, cost);
	} else if (r->figures->by == BY_MODEL && !event_tells_wait(p->event)) {
		model = span_text(span_member(said, KEY_MODEL));
		name = memory_format("%s%s%s", step != NULL && step->provider != NULL ? step->provider : "",
		    step != NULL && step->provider != NULL ? "/" : "", model != NULL ? model :
		    step != NULL && step->model != NULL ? step->model : "?");
		if (!span_integer(span_member(said, KEY_DURATION_MS), &number))
			number = (p->wall - p->started) / 1000;
		figure_row_count(figures_row(r->figures, name), number, span_member(said, KEY_RETRY));
		figure_row_use(figures_row(r->figures, name), tokens, cost);
		free(name);
		free(model);
	}
}

static void
figures_add_run_end(struct reading *r, const struct placed *p)
{
	struct figure_row *row;

	if (r->figures->by != BY_WORKFLOW)
		return;
	row = figures_row(r->figures, p->run->name != NULL ? p->run->name : "");
	figure_row_count(row, (p->wall - p->started) / 1000, span_member(p->event->payload, KEY_ERROR));
	figure_row_use(row, r->tokens, r->cost_unknown ? COST_UNKNOWN : r->cost);
	if (r->cost_unknown)
		row->cost = count_add(row->cost, r->cost);
}

static int
figures_take_event(void *context, const struct placed *p, struct error *err)
{
	struct reading *r = context;
	const struct span payload = p->event->payload;
	char *name;

	(void)err;
	if (p->event->type == EVENT_RUN_STARTED) {
		r->tokens[0] = r->tokens[1] = r->cost = 0;
		r->cost_unknown = false;
		cost_take(&r->figures->cost, p);
	}
	if (p->wall < r->since)
		return 0;
	switch (p->event->type) {
	case EVENT_RUN_COMPLETED:
		figures_add_run_end(r, p);
		break;
	case EVENT_STEP_COMPLETED:
	case EVENT_CALL_WORKFLOW_COMPLETED:
		if (r->figures->by == BY_STEP && span_member(payload, KEY_REUSED_FROM).at == NULL)
			figure_row_count(figures_row_of_step(r, p), (p->wall - p->started) / 1000,
			    span_member(payload, KEY_ERROR));
		break;
	case EVENT_TOOL_RESULT:
		if (r->figures->by != BY_TOOL)
			break;
		name = figures_text_of(span_member(payload, KEY_NAME));
		figure_row_count(figures_row(r->figures, name), (p->wall - p->started) / 1000,
		    span_member(payload, KEY_ERROR));
		free(name);
		break;
	case EVENT_MESSAGE_ASSISTANT:
	case EVENT_TYPES:
		figures_add_answer(r, p);
		break;
	default:
		break;
	}
	return 0;
}

int
figures_begin(struct figures *f, enum figures_by by, struct error *err)
{
	*f = (struct figures){ .by = by };
	return cost_begin(&f->cost, err);
}

int
figures_add_run(struct figures *f, const char *path, int64_t since, struct error *err)
{
	struct reading r = { .figures = f, .since = since };
	struct model m;
	int failed;

	model_begin(&m, MODEL_EVENTS);
	m.watch = figures_take_event;
	m.context = &r;
	failed = model_read_file(&m, path, err);
	if (failed == 0 && m.damaged > 0)
		failed = error_set(err, ERROR_SYSTEM, path, "%" PRId64 " line%s damaged, and not counted (see awf-verify)",
		    m.damaged, m.damaged == 1 ? " is" : "s are");
	model_free(&m);
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
		if (row->last_reason != NULL && *row->last_reason != '\0') {
			buffer_text(out, "  last failure: ");
			text_visible(out, row->last_reason, strlen(row->last_reason), REASON_MOST);
			buffer_byte(out, '\n');
		}
		buffer_free(&name);
	}
}

void
figures_json(const struct figures *f, struct buffer *out)
{
	struct writer w;

	for (size_t i = 0; i < f->count; i++) {
		const struct figure_row *row = &f->rows[i];

		writer_begin(&w, out);
		writer_object(&w);
		writer_member_string(&w, figures_by_words[f->by], row->name);
		writer_member_integer(&w, "count", row->count);
		writer_member_integer(&w, "failed", row->failed);
		writer_member_string(&w, "last_failure", row->last_reason);
		writer_member_integer(&w, "p50_ms", figure_row_percentile(row, 50));
		writer_member_integer(&w, "p95_ms", figure_row_percentile(row, 95));
		writer_member_integer(&w, "input_tokens", row->input_tokens);
		writer_member_integer(&w, "output_tokens", row->output_tokens);
		cost_write(&w, row->cost_unknown ? COST_UNKNOWN : row->cost);
		writer_object_end(&w);
		buffer_byte(out, '\n');
	}
}

void
figures_free(struct figures *f)
{
	for (size_t i = 0; i < f->count; i++) {
		free(f->rows[i].name);
		free(f->rows[i].last_reason);
		free(f->rows[i].durations);
	}
	free(f->rows);
	map_free(&f->places);
	cost_free(&f->cost);
}
