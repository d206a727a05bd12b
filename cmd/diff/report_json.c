/* Values are excerpts (model/excerpt.h), and details have the lines and words that differ: whole ones are
 * in the transcripts. */
#include <stdlib.h>
#include <string.h>

#include "diff/detail.h"
#include "diff/report.h"
#include "json/writer.h"
#include "model/excerpt.h"

#define LINES_MOST 200     /* of a text that differs */
#define LINE_BYTES 2000
#define FOLLOWS_MOST 20    /* of calls of a step that follow, so many have details */

static const struct diff_detail_limits json_limits = { .lines = LINES_MOST, .context = 3 };

struct json_report {
	const struct diff_report *report;
	struct diff_summary summary;
	struct map lines;        /* the number of the line of a pair that others are like, by its address */
	struct map told;         /* how many that follow were told with details, by the pair they are like */
	size_t line;
	struct buffer *out;
};

static void
diff_json_result(struct writer *w, const char *key, const struct diff_call *c)
{
	struct buffer text = BUFFER_INIT, shown = BUFFER_INIT;

	diff_call_result(c, &text);
	excerpt_text(&shown, buffer_string(&text), text.len, EXCERPT_BYTES);
	writer_key(w, key);
	writer_bytes(w, buffer_string(&shown), shown.len);
	buffer_free(&text);
	buffer_free(&shown);
}

static void
diff_json_figures(struct writer *w, const char *key, const struct diff_figures *f)
{
	writer_member_object(w, key);
	if (f->ms >= 0)
		writer_member_integer(w, "ms", f->ms);
	if (f->retries > 0)
		writer_member_integer(w, "retries", f->retries);
	if (f->turns > 0) {
		writer_member_integer(w, "turns", f->turns);
		writer_member_integer(w, "input_tokens", f->input_tokens);
		writer_member_integer(w, "output_tokens", f->output_tokens);
		cost_write(w, f->cost);
	}
	writer_object_end(w);
}

/* A member with a value of each side that has the call. */
static void
diff_json_sides(struct writer *w, const struct diff_pair *pair)
{
	writer_member_string(w, "a", pair->a != NULL ? pair->a->id : NULL);
	writer_member_string(w, "b", pair->b != NULL ? pair->b->id : NULL);
	if ((pair->a != NULL && pair->a->taken_over) || (pair->b != NULL && pair->b->taken_over)) {
		writer_member_object(w, "taken_over");
		writer_member_bool(w, "a", pair->a != NULL && pair->a->taken_over);
		writer_member_bool(w, "b", pair->b != NULL && pair->b->taken_over);
		writer_object_end(w);
	}
}

/* ---- details ---- */

static void
diff_json_text(struct writer *w, struct span text, bool cut)
{
	struct buffer shown = BUFFER_INIT;

	buffer_text(&shown, cut ? "…" : "");

	excerpt_text(&shown, text.at, text.len, LINE_BYTES);
	writer_bytes(w, buffer_string(&shown), shown.len);
	buffer_free(&shown);
}

static void
diff_json_detail(void *user, const struct diff_detail *d)
{
	struct writer *w = user;

	writer_object(w);
	writer_key(w, "name");
	diff_json_text(w, span_of(d->name, strlen(d->name)), false);
	if (d->a.at != NULL) {
		writer_key(w, "a");
		diff_json_text(w, d->a, false);
	}
	if (d->b.at != NULL) {
		writer_key(w, "b");
		diff_json_text(w, d->b, false);
	}
	if (d->part_count > 0) {
		writer_member_array(w, d->form == DETAIL_WORDS ? "words" : "lines");
		for (size_t i = 0; i < d->part_count; i++) {
			const char sign[2] = { d->parts[i].sign, '\0' };

			writer_array(w);
			writer_string(w, sign);
			diff_json_text(w, d->parts[i].text, d->parts[i].cut);
			writer_array_end(w);
		}
		writer_array_end(w);
	}
	if (d->left > 0)
		writer_member_integer(w, "left", (int64_t)d->left);
	writer_object_end(w);
}

/* Whether a pair is one whose details are told: the first of causes that are alike, and some of those that
 * follow. */
static bool
diff_json_tells(struct json_report *j, const struct diff_pair *pair)
{
	const size_t *told;
	size_t count;

	if (pair->like == NULL)
		return false;
	if (pair->kind != DIFF_FOLLOWS)
		return pair->like == pair;
	told = map_get(&j->told, (const char *)&pair->like, sizeof pair->like);
	count = told != NULL ? *told : 0;
	map_put(&j->told, (const char *)&pair->like, sizeof pair->like, count + 1);
	return count < FOLLOWS_MOST;
}

static void
diff_json_details(struct json_report *j, struct writer *w, const struct diff_pair *pair)
{
	const size_t *first = pair->like != NULL && pair->like != pair ?
	    map_get(&j->lines, (const char *)&pair->like, sizeof pair->like) : NULL;

	if (pair->like == pair)
		map_put(&j->lines, (const char *)&pair, sizeof pair, j->line);
	if (first != NULL)
		writer_member_integer(w, "like", (int64_t)*first);
	if (!diff_json_tells(j, pair))
		return;
	writer_member_array(w, "details");
	diff_details(pair, &json_limits, diff_json_detail, w);
	writer_array_end(w);
}

static void
diff_json_label(struct writer *w, const char *key, const struct diff_call *c)
{
	struct buffer label = BUFFER_INIT;

	diff_call_label(c, &label);
	writer_member_string(w, key, buffer_string(&label));
	buffer_free(&label);
}

/* What a call that one side alone has was given. */
static void
diff_json_excerpt(struct writer *w, const struct diff_pair *pair)
{
	struct buffer text = BUFFER_INIT;

	if (pair->a != NULL && pair->b != NULL)
		return;
	diff_call_excerpt(diff_pair_call(pair), &text);
	if (text.len > 0) {
		writer_key(w, "input");
		writer_bytes(w, text.data, text.len);
	}
	buffer_free(&text);
}

/* ---- pairs ---- */

/* The runs that the calls are of, unless these are the two that are compared: child runs, and those that
 * results were taken over from. */
static void
diff_json_runs(const struct json_report *j, struct writer *w, const struct diff_pair *pair)
{
	const char *a = pair->a != NULL ? pair->a->source->run_id : NULL;
	const char *b = pair->b != NULL ? pair->b->source->run_id : NULL;

	a = a != NULL && strcmp(a, j->report->a->run_id) == 0 ? NULL : a;
	b = b != NULL && strcmp(b, j->report->b->run_id) == 0 ? NULL : b;
	if (a == NULL && b == NULL)
		return;
	writer_member_object(w, "runs");
	writer_member_string(w, "a", a);
	writer_member_string(w, "b", b);
	writer_object_end(w);
}

static void
diff_json_pair(struct json_report *j, const struct diff_pair *pair, int depth)
{
	const struct diff_call *c = diff_pair_call(pair);
	const char *reason = diff_pair_reason(pair);
	struct writer w;

	writer_begin(&w, j->out);
	writer_object(&w);
	writer_member_string(&w, "path", c->path);
	diff_json_label(&w, "label", c);
	if (pair->kind == DIFF_RENAMED)
		diff_json_label(&w, "now", pair->b);
	writer_member_integer(&w, "depth", depth);
	writer_member_string(&w, "step", c->kind);
	diff_json_sides(&w, pair);
	diff_json_runs(j, &w, pair);
	writer_member_string(&w, "kind", diff_kind_words[pair->kind]);
	writer_member_array(&w, "what");
	for (int i = 0; i < DIFF_WHATS; i++)
		if (pair->what & 1u << i)
			writer_string(&w, diff_what_words[i]);
	writer_array_end(&w);
	writer_member_string(&w, "why", *reason != '\0' ? reason : NULL);
	diff_json_excerpt(&w, pair);
	writer_member_object(&w, "figures");
	if (pair->a != NULL)
		diff_json_figures(&w, "a", &pair->a->own);
	if (pair->b != NULL)
		diff_json_figures(&w, "b", &pair->b->own);
	writer_object_end(&w);
	if (pair->what & DIFF_RESULT) {
		writer_member_object(&w, "result");
		diff_json_result(&w, "a", pair->a);
		diff_json_result(&w, "b", pair->b);
		writer_object_end(&w);
	}
	diff_json_details(j, &w, pair);
	writer_object_end(&w);
	buffer_byte(j->out, '\n');
	j->line++;
}

static void
diff_json_inside(struct json_report *j, const struct diff_pair *around, int depth)
{
	for (const struct diff_pair *pair = around->inside; pair != NULL; pair = pair->beside) {
		if (diff_report_has(j->report, pair))
			diff_json_pair(j, pair, depth);
		diff_json_inside(j, pair, depth + 1);
	}
}

static void
diff_json_side(struct writer *w, const char *key, const struct diff_side *s)
{
	writer_member_object(w, key);
	writer_member_string(w, "run_id", s->run_id);
	writer_member_string(w, "name", s->root.name);
	writer_member_string(w, "status", s->status);
	writer_member_string(w, "forked_from", *s->forked_from != '\0' ? s->forked_from : NULL);
	diff_json_figures(w, "figures", &s->all);
	writer_object_end(w);
}

void
diff_report_json(const struct diff_report *r, struct buffer *out)
{
	struct json_report j = { .report = r, .summary = DIFF_SUMMARY_INIT, .out = out };
	struct writer w;

	diff_summary_read(&j.summary, r);
	diff_json_inside(&j, r->root, 0);
	writer_begin(&w, out);
	writer_object(&w);
	diff_json_side(&w, "a", r->a);
	diff_json_side(&w, "b", r->b);
	writer_member_bool(&w, "differ", diff_report_differs(r));
	writer_member_array(&w, "what");
	for (int i = 0; i < DIFF_WHATS; i++)
		if (r->path == NULL && r->root->what & 1u << i)
			writer_string(&w, diff_what_words[i]);
	writer_array_end(&w);
	if (r->path == NULL) {
		writer_member_array(&w, "details");
		diff_details_of_runs(&r->a->root, &r->b->root, &json_limits, diff_json_detail, &w);
		writer_array_end(&w);
	}
	writer_member_object(&w, "counts");
	for (int i = 0; i < DIFF_KINDS; i++)
		if (j.summary.counts.kinds[i] > 0)
			writer_member_integer(&w, diff_kind_words[i], (int64_t)j.summary.counts.kinds[i]);
	writer_object_end(&w);
	writer_object_end(&w);
	buffer_byte(out, '\n');
	diff_summary_free(&j.summary);
	map_free(&j.lines);
	map_free(&j.told);
}
