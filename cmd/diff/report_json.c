/* Values are excerpts (model/excerpt.h): whole ones are in the transcripts. */
#include <stdlib.h>
#include <string.h>

#include "diff/report.h"
#include "json/writer.h"
#include "model/excerpt.h"

bool
diff_report_has(const struct diff_report *r, const struct diff_pair *pair)
{
	const struct diff_call *c = diff_pair_call(pair);
	const size_t len = r->path != NULL ? strlen(r->path) : 0;

	return r->path == NULL || (strncmp(c->path, r->path, len) == 0 && (c->path[len] == '\0' || c->path[len] == '.'));
}

static bool
diff_pairs_differ(const struct diff_report *r, const struct diff_pair *around)
{
	for (const struct diff_pair *pair = around->inside; pair != NULL; pair = pair->beside)
		if ((pair->kind != DIFF_SAME && diff_report_has(r, pair)) || diff_pairs_differ(r, pair))
			return true;
	return false;
}

bool
diff_report_differs(const struct diff_report *r)
{
	return (r->path == NULL && r->root->kind != DIFF_SAME) || diff_pairs_differ(r, r->root);
}

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

static void
diff_json_pair(const struct diff_pair *pair, struct buffer *out)
{
	const struct diff_call *c = diff_pair_call(pair);
	struct writer w;

	writer_begin(&w, out);
	writer_object(&w);
	writer_member_string(&w, "path", c->path);
	diff_json_sides(&w, pair);
	writer_member_string(&w, "kind", diff_kind_words[pair->kind]);
	writer_member_array(&w, "what");
	for (int i = 0; i < DIFF_WHATS; i++)
		if (pair->what & 1u << i)
			writer_string(&w, diff_what_words[i]);
	writer_array_end(&w);
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
	writer_object_end(&w);
	buffer_byte(out, '\n');
}

static void
diff_json_inside(const struct diff_report *r, const struct diff_pair *around, struct diff_counts *counts,
    struct buffer *out)
{
	for (const struct diff_pair *pair = around->inside; pair != NULL; pair = pair->beside) {
		if (diff_report_has(r, pair)) {
			counts->kinds[pair->kind]++;
			diff_json_pair(pair, out);
		}
		diff_json_inside(r, pair, counts, out);
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
	struct diff_counts counts = { .kinds = { 0 } };
	struct writer w;

	diff_json_inside(r, r->root, &counts, out);
	writer_begin(&w, out);
	writer_object(&w);
	diff_json_side(&w, "a", r->a);
	diff_json_side(&w, "b", r->b);
	writer_member_bool(&w, "differ", diff_report_differs(r));
	writer_member_object(&w, "counts");
	for (int i = 0; i < DIFF_KINDS; i++)
		if (counts.kinds[i] > 0)
			writer_member_integer(&w, diff_kind_words[i], (int64_t)counts.kinds[i]);
	writer_object_end(&w);
	writer_object_end(&w);
	buffer_byte(out, '\n');
}
