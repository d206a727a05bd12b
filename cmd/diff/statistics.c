/* Quartiles are those of the values that are there: the nearest rank, without a value in between. */
#include "diff/statistics.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/text.h"
#include "json/writer.h"
#include "model/price.h"

enum figure { FIGURE_MS, FIGURE_COST, FIGURE_TOKENS, FIGURE_TURNS, FIGURES };

static const char *const figure_words[FIGURES] = { "ms", "cost", "tokens", "turns" };

struct values {
	int64_t *list;
	size_t count;
};

struct group_series {
	size_t calls, failed;
	struct values figures[FIGURES];
};

struct step_series {
	char *path;                   /* "": the runs */
	struct group_series groups[2];
};

struct quartiles { int64_t lower, median, upper; };

static void
diff_values_add(struct values *v, int64_t value)
{
	if ((v->count & (v->count + 1)) == 0 || v->count == 0)
		v->list = memory_array(v->list, v->count * 2 + 2, sizeof *v->list);
	v->list[v->count++] = value;
}

static struct step_series *
diff_statistics_step(struct diff_statistics *s, const char *path)
{
	const size_t *at = map_get(&s->places, path, strlen(path));

	if (at != NULL)
		return &s->steps[*at];
	map_put(&s->places, path, strlen(path), s->count);
	s->steps = memory_array(s->steps, s->count + 1, sizeof *s->steps);
	s->steps[s->count] = (struct step_series){ .path = memory_text(path) };
	return &s->steps[s->count++];
}

static void
diff_group_add(struct group_series *g, const struct diff_figures *f, bool failed)
{
	g->calls++;
	g->failed += failed;
	if (f->ms >= 0)
		diff_values_add(&g->figures[FIGURE_MS], f->ms);
	if (f->turns == 0)
		return;
	if (f->cost != COST_UNKNOWN)
		diff_values_add(&g->figures[FIGURE_COST], f->cost);
	diff_values_add(&g->figures[FIGURE_TOKENS], f->input_tokens + f->output_tokens);
	diff_values_add(&g->figures[FIGURE_TURNS], f->turns);
}

static void
diff_statistics_add_calls(struct diff_statistics *s, int group, const struct diff_call *around)
{
	for (const struct diff_call *c = around->first; c != NULL; c = c->beside) {
		if (!c->taken_over)
			diff_group_add(&diff_statistics_step(s, c->path)->groups[group], &c->own,
			    c->state == CALL_FAILED || c->state == CALL_OPEN);
		diff_statistics_add_calls(s, group, c);
	}
}

void
diff_statistics_add(struct diff_statistics *s, int group, const struct diff_side *side)
{
	s->runs[group]++;
	diff_group_add(&diff_statistics_step(s, "")->groups[group], &side->all, strcmp(side->status, "success") != 0);
	diff_statistics_add_calls(s, group, &side->root);
}

static int
diff_values_compare(const void *a, const void *b)
{
	const int64_t one = *(const int64_t *)a, other = *(const int64_t *)b;

	return one < other ? -1 : one > other;
}

static int64_t
diff_values_at(const struct values *v, size_t quarter)
{
	const size_t rank = (v->count * quarter + 3) / 4;

	return v->list[rank > 0 ? rank - 1 : 0];
}

/* The list becomes sorted. */
static struct quartiles
diff_values_quartiles(const struct values *v)
{
	qsort(v->list, v->count, sizeof *v->list, diff_values_compare);
	return (struct quartiles){ diff_values_at(v, 1), diff_values_at(v, 2), diff_values_at(v, 3) };
}

static void
diff_figure_text(enum figure figure, int64_t value, struct buffer *out)
{
	char text[MONEY_SIZE];

	if (figure == FIGURE_COST)
		buffer_text(out, money_text(value, text));
	else
		buffer_format(out, "%" PRId64, value);
}

/* "510 (480..620)" of a group; "-" if it has no such figure. */
static void
diff_values_text(enum figure figure, const struct values *v, struct buffer *out)
{
	struct quartiles q;

	if (v->count == 0) {
		buffer_byte(out, '-');
		return;
	}
	q = diff_values_quartiles(v);
	diff_figure_text(figure, q.median, out);
	if (v->count > 1 && q.lower != q.upper) {
		buffer_text(out, " (");
		diff_figure_text(figure, q.lower, out);
		buffer_text(out, "..");
		diff_figure_text(figure, q.upper, out);
		buffer_byte(out, ')');
	}
}

void
diff_statistics_text(const struct diff_statistics *s, struct buffer *out)
{
	struct buffer cell = BUFFER_INIT;

	buffer_format(out, "%zu run%s -> %zu run%s; median (quartiles)\n", s->runs[0], s->runs[0] == 1 ? "" : "s",
	    s->runs[1], s->runs[1] == 1 ? "" : "s");
	for (size_t i = 0; i < s->count; i++) {
		const struct step_series *step = &s->steps[i];
		const struct group_series *a = &step->groups[0], *b = &step->groups[1];

		if (*step->path == '\0')
			buffer_text(out, "runs");
		else
			text_visible(out, step->path, strlen(step->path), 0);
		buffer_format(out, "\n  calls   %zu -> %zu\n", a->calls, b->calls);
		if (a->failed + b->failed > 0)
			buffer_format(out, "  failed  %zu -> %zu\n", a->failed, b->failed);
		for (enum figure figure = 0; figure < FIGURES; figure++) {
			if (a->figures[figure].count + b->figures[figure].count == 0)
				continue;
			buffer_clear(&cell);
			diff_values_text(figure, &a->figures[figure], &cell);
			buffer_text(&cell, " -> ");
			diff_values_text(figure, &b->figures[figure], &cell);
			buffer_format(out, "  %-7s %s\n", figure_words[figure], buffer_string(&cell));
		}
	}
	buffer_free(&cell);
}

static void
diff_values_json(struct writer *w, enum figure figure, const struct values *v)
{
	struct quartiles q;
	int64_t numbers[3];
	char text[MONEY_SIZE];

	if (v->count == 0)
		return;
	q = diff_values_quartiles(v);
	numbers[0] = q.lower;
	numbers[1] = q.median;
	numbers[2] = q.upper;
	writer_member_array(w, figure_words[figure]);
	for (int i = 0; i < 3; i++) {
		if (figure == FIGURE_COST) {
			money_number(numbers[i], text);
			writer_raw(w, text, strlen(text));
		} else {
			writer_integer(w, numbers[i]);
		}
	}
	writer_array_end(w);
}

void
diff_statistics_json(const struct diff_statistics *s, struct buffer *out)
{
	static const char *const names[] = { "a", "b" };
	struct writer w;

	for (size_t i = 0; i < s->count; i++) {
		writer_begin(&w, out);
		writer_object(&w);
		writer_member_string(&w, "path", s->steps[i].path);
		for (int group = 0; group < 2; group++) {
			const struct group_series *g = &s->steps[i].groups[group];

			writer_member_object(&w, names[group]);
			writer_member_integer(&w, "calls", (int64_t)g->calls);
			writer_member_integer(&w, "failed", (int64_t)g->failed);
			for (enum figure figure = 0; figure < FIGURES; figure++)
				diff_values_json(&w, figure, &g->figures[figure]);
			writer_object_end(&w);
		}
		writer_object_end(&w);
		buffer_byte(out, '\n');
	}
}

void
diff_statistics_free(struct diff_statistics *s)
{
	for (size_t i = 0; i < s->count; i++) {
		free(s->steps[i].path);
		for (int group = 0; group < 2; group++)
			for (enum figure figure = 0; figure < FIGURES; figure++)
				free(s->steps[i].groups[group].figures[figure].list);
	}
	free(s->steps);
	map_free(&s->places);
}
