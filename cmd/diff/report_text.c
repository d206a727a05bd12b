/* The text for people, on a terminal or in a pipe. */
#include <inttypes.h>
#include <string.h>

#include "base/text.h"
#include "diff/detail.h"
#include "diff/report.h"
#include "model/cost.h"

#define LINES_MOST 12      /* of a text that differs */
#define COLUMNS_MOST 200   /* of such a line */
#define VALUE_COLUMNS 160
#define INDENT "      "
#define RED "\033[31m"
#define GREEN "\033[32m"
#define YELLOW "\033[33m"
#define DIM "\033[2m"
#define PLAIN "\033[0m"

static const struct diff_detail_limits text_limits = { .lines = LINES_MOST, .brief = true };

struct telling {
	const struct diff_report *report;
	struct buffer *out;
	struct diff_summary summary;
};

static void
diff_colour(const struct telling *t, const char *colour)
{
	if (t->report->colour)
		buffer_text(t->out, colour);
}

/* ---- one detail ---- */

static void
diff_text_lines(struct telling *t, const struct diff_detail *d)
{
	for (size_t i = 0; i < d->part_count; i++) {
		const struct diff_part *line = &d->parts[i];

		buffer_text(t->out, INDENT);
		diff_colour(t, line->sign == '-' ? RED : line->sign == '+' ? GREEN : "");
		buffer_byte(t->out, line->sign == '=' ? ' ' : line->sign);
		buffer_text(t->out, line->cut ? "…" : "");
		text_visible(t->out, line->text.at, line->text.len, COLUMNS_MOST);
		diff_colour(t, line->sign == '=' ? "" : PLAIN);
		buffer_byte(t->out, '\n');
	}
	if (d->left > 0)
		buffer_format(t->out, INDENT "(%zu more lines differ)\n", d->left);
}

static void
diff_text_words(struct telling *t, const struct diff_detail *d)
{
	buffer_text(t->out, INDENT);
	for (size_t i = 0; i < d->part_count; i++) {
		const struct diff_part *word = &d->parts[i];

		if (word->sign == '.') {
			buffer_text(t->out, "… ");
			continue;
		}
		if (word->sign == '=') {
			text_visible(t->out, word->text.at, word->text.len, 0);
			continue;
		}
		diff_colour(t, word->sign == '-' ? RED : GREEN);
		buffer_text(t->out, word->sign == '-' ? "[-" : "{+");
		text_visible(t->out, word->text.at, word->text.len, 0);
		buffer_text(t->out, word->sign == '-' ? "-]" : "+}");
		diff_colour(t, PLAIN);
	}
	buffer_byte(t->out, '\n');
}

/* The part of a path after the last directory but one, which is enough to know a file by. */
static struct span
diff_file_short(struct span path)
{
	size_t slashes = 0;

	for (size_t at = path.len; at > 0; at--)
		if (path.at[at - 1] == '/' && ++slashes == 2)
			return span_of(path.at + at, path.len - at);
	return path;
}

static void
diff_text_value(struct telling *t, struct span value)
{
	text_visible(t->out, value.at != NULL ? value.at : "none", value.at != NULL ? value.len : 4, VALUE_COLUMNS);
}

static void
diff_text_detail(void *user, const struct diff_detail *d)
{
	struct telling *t = user;
	struct span file;

	switch (d->form) {
	case DETAIL_VALUES:
		buffer_format(t->out, INDENT "%-10s ", d->name);
		diff_text_value(t, d->a);
		if (d->a.len == d->b.len && d->a.at != NULL && memcmp(d->a.at, d->b.at, d->a.len) == 0) {
			buffer_text(t->out, ", with other arguments or in another order");
		} else {
			buffer_text(t->out, " -> ");
			diff_text_value(t, d->b);
		}
		buffer_byte(t->out, '\n');
		diff_text_lines(t, d);
		break;
	case DETAIL_FILE:
		file = diff_file_short(d->b.at != NULL ? d->b : d->a);
		buffer_format(t->out, INDENT "%-10s ", d->name);
		text_visible(t->out, file.at, file.len, 0);
		buffer_text(t->out, d->a.at == NULL ? " (new)\n" : d->b.at == NULL ? " (gone)\n" : "\n");
		break;
	case DETAIL_LINES:
	case DETAIL_WORDS:
		buffer_text(t->out, INDENT);
		text_visible(t->out, d->name, strlen(d->name), COLUMNS_MOST);
		buffer_byte(t->out, '\n');
		if (d->form == DETAIL_LINES)
			diff_text_lines(t, d);
		else
			diff_text_words(t, d);
		break;
	}
}

/* ---- all of them ---- */

static void
diff_tell_cause(struct telling *t, const struct diff_told *told)
{
	const struct diff_pair *pair = told->pair;
	const struct diff_call *c = diff_pair_call(pair);
	const char *reason = diff_pair_reason(pair);
	struct buffer excerpt = BUFFER_INIT;

	diff_colour(t, pair->kind == DIFF_GONE ? RED : pair->kind == DIFF_NEW ? GREEN : YELLOW);
	buffer_text(t->out, pair->kind == DIFF_GONE ? "- " : pair->kind == DIFF_NEW ? "+ " :
	    pair->kind == DIFF_RENAMED ? "= " : "! ");
	diff_call_label(c, t->out);
	diff_colour(t, PLAIN);
	if (pair->kind == DIFF_RENAMED) {
		buffer_text(t->out, " is ");
		diff_call_label(pair->b, t->out);
	} else if (pair->kind == DIFF_GONE || pair->kind == DIFF_NEW) {
		diff_call_excerpt(c, &excerpt);
		if (excerpt.len > 0) {
			buffer_text(t->out, " (");
			text_visible(t->out, excerpt.data, excerpt.len, 0);
			buffer_byte(t->out, ')');
		}
	} else if (*reason != '\0') {
		buffer_format(t->out, "   %s", reason);
	}
	if (told->count > 1)
		buffer_format(t->out, "   (%zu calls)", told->count);
	buffer_byte(t->out, '\n');
	diff_details(pair, &text_limits, diff_text_detail, t);
	buffer_free(&excerpt);
}

static void
diff_tell_follow(struct telling *t, const struct diff_told *told)
{
	const struct diff_pair *pair = told->pair;
	const struct diff_call *c = diff_pair_call(pair);
	const char *reason = diff_pair_reason(pair);

	diff_colour(t, DIM);
	buffer_text(t->out, "~ ");
	if (told->count > 1)
		text_visible(t->out, c->path, strlen(c->path), 0);
	else
		diff_call_label(c, t->out);
	if (told->count > 1)
		buffer_format(t->out, "   %zu %s", told->count, pair->kind == DIFF_MOVED ? "moved" : "follow");
	else
		buffer_text(t->out, pair->kind == DIFF_MOVED ? "   moved" : "   follows");
	if (*reason != '\0')
		buffer_format(t->out, " (%s)", reason);
	diff_colour(t, PLAIN);
	buffer_byte(t->out, '\n');
}

static void
diff_tell_cost(struct buffer *out, int64_t cost)
{
	char text[MONEY_SIZE];

	buffer_text(out, cost == COST_UNKNOWN ? "unknown cost" : money_text(cost, text));
}

static void
diff_tell_header(struct telling *t)
{
	const struct diff_side *a = t->report->a, *b = t->report->b;

	text_visible(t->out, a->root.name, strlen(a->root.name), 0);
	if (strcmp(a->root.name, b->root.name) != 0) {
		buffer_text(t->out, ", ");
		text_visible(t->out, b->root.name, strlen(b->root.name), 0);
	}
	buffer_format(t->out, "  %.8s -> %.8s%s  %s -> %s", a->run_id, b->run_id, diff_report_relation(t->report),
	    a->status, b->status);
	if (a->all.turns + b->all.turns > 0) {
		buffer_text(t->out, "  ");
		diff_tell_cost(t->out, a->all.cost);
		buffer_text(t->out, " -> ");
		diff_tell_cost(t->out, b->all.cost);
	}
	if (b->taken_over > 0)
		buffer_format(t->out, ", %zu of %zu calls taken over", b->taken_over, b->root.inside_count);
	buffer_byte(t->out, '\n');
}

static void
diff_tell_totals(struct telling *t)
{
	const char *comma = "  ";

	for (int i = 0; i < DIFF_KINDS; i++)
		if (t->summary.counts.kinds[i] > 0) {
			buffer_format(t->out, "%s%zu %s", comma, t->summary.counts.kinds[i],
			    i == DIFF_FOLLOWS && t->summary.counts.kinds[i] > 1 ? "follow" : diff_kind_words[i]);
			comma = ", ";
		}
	buffer_text(t->out, *comma == ' ' ? "  no calls\n" : "\n");
}

void
diff_report_text(const struct diff_report *r, struct buffer *out)
{
	struct telling t = { .report = r, .out = out, .summary = DIFF_SUMMARY_INIT };
	const struct diff_summary *s = &t.summary;

	diff_tell_header(&t);
	if (r->path == NULL)
		diff_details_of_runs(&r->a->root, &r->b->root, &text_limits, diff_text_detail, &t);
	diff_summary_read(&t.summary, r);
	for (size_t i = 0; i < s->causes.count; i++)
		diff_tell_cause(&t, &s->causes.list[i]);
	for (size_t i = 0; i < s->follows.count; i++)
		diff_tell_follow(&t, &s->follows.list[i]);
	if (r->path == NULL && r->root->kind != DIFF_SAME && s->causes.count + s->follows.count == 0 &&
	    r->root->what & DIFF_RESULT)
		buffer_text(out, "! the workflow printed something else\n");
	diff_tell_totals(&t);
	diff_summary_free(&t.summary);
}
