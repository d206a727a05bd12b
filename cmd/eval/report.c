/* Tables are made of cells, which are then drawn as text, Markdown or HTML. */
#include "eval/report.h"

#include <stdlib.h>
#include <string.h>

#include "base/list.h"
#include "base/memory.h"
#include "base/text.h"

#define WORST_MOST 5         /* inputs that are named as the worst */
#define DIFFER_MOST 8        /* inputs that are named as those in which variants differ */
#define COLUMNS_MOST 64

enum drawn { DRAWN_TEXT, DRAWN_MARKDOWN, DRAWN_HTML };

/* A table on its way: cells, row by row. */
struct cells {
	enum drawn as;
	size_t columns;
	char **list;             /* base/list.h */
};

static void
html_escape(struct buffer *out, const char *text)
{
	text_escape_markup(out, text, strlen(text));
}

/* A text in a table of Markdown, as text. */
static void
markdown_escape(struct buffer *out, const char *text)
{
	for (; *text != '\0'; text++) {
		if (strchr("|\\`*_<>[]&", *text) != NULL)
			buffer_byte(out, '\\');
		buffer_byte(out, *text == '\n' ? ' ' : *text);
	}
}

static void
cells_draw_text(const struct cells *t, struct buffer *out)
{
	const size_t count = list_count(t->list);
	size_t widths[COLUMNS_MOST] = { 0 };

	for (size_t i = 0; i < count; i++) {
		size_t width = strlen(t->list[i]), column = i % t->columns;

		if (column < COLUMNS_MOST && width > widths[column])
			widths[column] = width;
	}
	for (size_t i = 0; i < count; i++) {
		const size_t column = i % t->columns;
		const bool last = column + 1 == t->columns;

		if (column == 0)
			buffer_format(out, "%-*s", (int)widths[column], t->list[i]);
		else if (last)
			buffer_format(out, "  %s", t->list[i]);
		else
			buffer_format(out, "  %*s", (int)widths[column < COLUMNS_MOST ? column : 0], t->list[i]);
		if (last) {
			while (out->len > 0 && out->data[out->len - 1] == ' ')
				out->len--;
			buffer_byte(out, '\n');
		}
	}
}

static void
cells_draw(struct cells *t, struct buffer *out)
{
	const size_t count = list_count(t->list);

	if (t->as == DRAWN_TEXT)
		cells_draw_text(t, out);
	else if (t->as == DRAWN_HTML)
		buffer_text(out, "<table>\n");
	for (size_t i = 0; t->as != DRAWN_TEXT && i < count; i++) {
		const size_t column = i % t->columns;
		const char *element = i < t->columns ? "th" : "td";

		if (t->as == DRAWN_MARKDOWN) {
			buffer_text(out, "| ");
			markdown_escape(out, t->list[i]);
			buffer_text(out, column + 1 == t->columns ? " |\n" : " ");
			if (i + 1 == t->columns) {
				for (size_t j = 0; j < t->columns; j++)
					buffer_text(out, j == 0 || j + 1 == t->columns ? "|---" : "|--:");
				buffer_text(out, "|\n");
			}
		} else {
			buffer_format(out, "%s<%s>", column == 0 ? "<tr>" : "", element);
			html_escape(out, t->list[i]);
			buffer_format(out, "</%s>%s", element, column + 1 == t->columns ? "</tr>\n" : "");
		}
	}
	if (t->as == DRAWN_HTML)
		buffer_text(out, "</table>\n");
	else if (t->as == DRAWN_MARKDOWN)
		buffer_byte(out, '\n');
	list_free(t->list);
	t->list = NULL;
}

/* A line between tables. An error may be any text: on a terminal it must not be a sequence that the terminal obeys, nor
 * begin a line in the log of a CI job. */
static void
report_line(enum drawn as, struct buffer *out, const char *said)
{
	char *text = memory_text(said);

	for (unsigned char *at = (unsigned char *)text; *at != '\0'; at++)
		if (*at < 0x20 || *at == 0x7f)
			*at = ' ';
	if (as == DRAWN_HTML) {
		buffer_text(out, "<p>");
		html_escape(out, text);
		buffer_text(out, "</p>\n");
	} else if (as == DRAWN_MARKDOWN) {
		markdown_escape(out, text);
		buffer_text(out, "\n\n");
	} else {
		buffer_format(out, "%s\n", text);
	}
	free(text);
}

/* ---- the table ---- */

static char *
dollars(double amount)
{
	return amount >= 0 ? memory_format("%.4f", amount) : memory_text("-");
}

static void
report_variants(const struct eval_results *r, enum drawn as, struct buffer *out)
{
	static const char *const heads[] = { "variant", "pass", "", "95 %", "all", "error", "p50 ms", "$ each", "$ paid" };
	const size_t columns = sizeof heads / sizeof *heads;
	struct cells t = { .as = as, .columns = columns };

	for (size_t i = 0; i < columns; i++)
		list_take(&t.list, i == 4 && r->settings.repetitions > 1 ?
		    memory_format("%lld of %lld", r->settings.repetitions, r->settings.repetitions) : memory_text(heads[i]));
	for (size_t v = 0; v < r->settings.variant_count; v++) {
		struct eval_figures f;

		eval_figures_read(r, v, &f);
		list_take(&t.list, memory_text(r->settings.variants[v].name));
		list_take(&t.list, memory_format("%lld/%lld", (long long)f.rate.passed, (long long)f.rate.count));
		list_take(&t.list, f.rate.count > 0 ? memory_format("%.0f%%", 100.0 * (double)f.rate.passed / (double)f.rate.count) :
		    memory_text("-"));
		list_take(&t.list, f.rate.count > 0 ? memory_format("%.0f%%..%.0f%%", 100 * f.rate.low, 100 * f.rate.high) :
		    memory_text("-"));
		list_take(&t.list, memory_format("%lld/%lld", (long long)f.all_passed, (long long)f.inputs));
		list_take(&t.list, memory_format("%lld", (long long)f.errors));
		list_take(&t.list, f.p50 >= 0 ? memory_format("%lld", (long long)f.p50) : memory_text("-"));
		list_take(&t.list, dollars(f.each));
		list_take(&t.list, dollars(f.paid));
	}
	cells_draw(&t, out);
}

/* Compares each further variant with the first. */
static void
report_comparisons(const struct eval_results *r, enum drawn as, struct buffer *out)
{
	const struct eval_settings *s = &r->settings;

	for (size_t v = 1; v < s->variant_count; v++) {
		struct rate_comparison c;
		char p[RATE_CHANCE_SIZE], *text;

		eval_figures_compare(r, v, &c);
		text = memory_format("%s against %s, by input: better %zu, worse %zu, equal %zu   %s   %s", s->variants[v].name,
		    s->variants[0].name, c.better, c.worse, c.equal, rate_chance_text(c.p, p),
		    eval_figures_comparison_word(&c));
		report_line(as, out, text);
		free(text);
	}
}

/* The inputs in which variants differ by a check. */
static char *
report_differing(const struct eval_results *r, int check)
{
	struct buffer out = BUFFER_INIT;
	size_t count = 0;

	for (size_t i = 0; i < r->count; i++) {
		struct rate_group first = eval_input_passes(r, i, 0, check);
		bool differ = false;

		for (size_t v = 1; v < r->settings.variant_count; v++) {
			struct rate_group group = eval_input_passes(r, i, v, check);

			differ |= first.count > 0 && group.count > 0 && group.passed * first.count != first.passed * group.count;
		}
		if (differ && ++count <= DIFFER_MOST)
			buffer_format(&out, "%s%s", out.len > 0 ? " " : "", r->inputs[i].id);
	}
	if (count > DIFFER_MOST)
		buffer_format(&out, " and %zu more", count - DIFFER_MOST);
	return buffer_take(&out);
}

static void
report_checks(const struct eval_results *r, enum drawn as, struct buffer *out)
{
	const struct eval_settings *s = &r->settings;
	const bool several = s->variant_count > 1;
	struct cells t = { .as = as, .columns = 1 + s->variant_count + several };

	if (s->check_count == 0)
		return;
	list_take(&t.list, memory_text("check"));
	for (size_t v = 0; v < s->variant_count; v++)
		list_take(&t.list, memory_text(s->variants[v].name));
	if (several)
		list_take(&t.list, memory_text("differ in"));
	for (size_t c = 0; c < s->check_count; c++) {
		list_take(&t.list, memory_text(s->checks[c].name));
		for (size_t v = 0; v < s->variant_count; v++) {
			struct rate rate;

			eval_variant_rate(r, v, (int)c, &rate);
			list_take(&t.list, memory_format("%lld/%lld", (long long)rate.passed, (long long)rate.count));
		}
		if (several)
			list_take(&t.list, report_differing(r, (int)c));
	}
	cells_draw(&t, out);
}

/* The first run of an input in a variant that has not passed, else its first run. */
static const char *
report_run_of(const struct eval_results *r, size_t input, size_t variant)
{
	const char *run = "";

	for (size_t k = (size_t)r->settings.repetitions; k >= 1; k--) {
		const struct eval_trial *t = eval_trial_at(r, input, variant, k);

		if (t->run[0] != '\0' && (t->outcome == EVAL_FAIL || *run == '\0'))
			run = t->run;
	}
	return run;
}

static void
report_worst(const struct eval_results *r, enum drawn as, struct buffer *out)
{
	size_t *worst = eval_figures_worst(r), shown = 0;

	for (size_t i = 0; i < r->count && shown < WORST_MOST; i++) {
		struct buffer line = BUFFER_INIT;
		bool passes = true;

		buffer_format(&line, "worst: %s", r->inputs[worst[i]].id);
		for (size_t v = 0; v < r->settings.variant_count; v++) {
			struct rate_group group = eval_input_passes(r, worst[i], v, -1);

			passes &= group.passed == group.count;
			buffer_format(&line, " %lld/%lld", (long long)group.passed, (long long)group.count);
		}
		if (r->settings.variant_count > 1)
			buffer_format(&line, "   awf-diff %.8s %.8s", report_run_of(r, worst[i], 0), report_run_of(r, worst[i], 1));
		else
			buffer_format(&line, "   awf-tail %.8s", report_run_of(r, worst[i], 0));
		if (!passes) {
			report_line(as, out, buffer_string(&line));
			shown++;
		}
		buffer_free(&line);
	}
	free(worst);
}

/* Each error that occurs, once. */
static void
report_errors(const struct eval_results *r, enum drawn as, struct buffer *out)
{
	struct map counts = MAP_INIT;

	for (size_t i = 0; i < r->count; i++)
		for (size_t j = 0; j < r->settings.variant_count * (size_t)r->settings.repetitions; j++) {
			const struct eval_trial *t = &r->inputs[i].trials[j];
			const char *why = t->error;
			struct buffer line = BUFFER_INIT;

			for (size_t c = 0; t->outcome == EVAL_ERROR && why == NULL && c < r->settings.check_count; c++)
				if (t->verdicts[c].outcome == EVAL_ERROR)
					why = t->verdicts[c].why;
			if (t->outcome == EVAL_ERROR && why != NULL && map_get(&counts, why, strlen(why)) == NULL &&
			    counts.count < WORST_MOST) {
				map_put(&counts, why, strlen(why), 1);
				buffer_format(&line, "error: %s: %.300s", r->inputs[i].id, why);
				if (t->run[0] != '\0')
					buffer_format(&line, "   awf-tail %.8s", t->run);
				report_line(as, out, buffer_string(&line));
			}
			buffer_free(&line);
		}
	map_free(&counts);
}

/* The lines of a text, each with a beginning. */
static void
report_lines(enum drawn as, struct buffer *out, const char *before, const struct buffer *lines)
{
	for (const char *at = buffer_string(lines), *end; (end = strchr(at, '\n')) != NULL; at = end + 1) {
		char *text = memory_format("%s%.*s", before, (int)(end - at), at);

		report_line(as, out, text);
		free(text);
	}
}

static void
report_table(const struct eval_results *r, enum drawn as, const struct eval_gates *gates, struct buffer *out)
{
	int64_t missing = eval_count(r, -1, EVAL_MISSING);
	char *head = memory_format("%s: %zu input%s x %lld%s  %.8s", r->name, r->count, r->count == 1 ? "" : "s",
	    r->settings.repetitions, r->settings.repetitions > 1 ? " times" : "", r->run_id);

	report_line(as, out, head);
	free(head);
	report_variants(r, as, out);
	report_comparisons(r, as, out);
	report_checks(r, as, out);
	report_worst(r, as, out);
	report_errors(r, as, out);
	if (missing > 0) {
		head = memory_format("%lld of %lld trials have not ended: %s%.8s", (long long)missing,
		    (long long)r->count * (long long)r->settings.variant_count * r->settings.repetitions,
		    r->alive ? "the evaluation is still running: awf-tail -f " : "awf-run --resume ", r->run_id);
		report_line(as, out, head);
		free(head);
	}
	report_lines(as, out, "baseline: ", &gates->told);
	report_lines(as, out, "does not hold: ", &gates->failed);
}

static void
report_html(const struct eval_results *r, const struct eval_gates *gates, struct buffer *out)
{
	buffer_text(out, "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n"
	    "<meta name=\"viewport\" content=\"width=device-width\">\n<title>");
	html_escape(out, r->name);
	buffer_text(out, "</title>\n<style>\n:root { color-scheme: light dark }\n"
	    "body { font: 15px/1.5 system-ui, sans-serif; margin: 2em auto; max-width: 70em; padding: 0 1em }\n"
	    "table { border-collapse: collapse; margin: 1em 0 }\n"
	    "th, td { text-align: right; padding: .2em .8em; border-bottom: 1px solid #8884 }\n"
	    "th:first-child, td:first-child, th:last-child, td:last-child { text-align: left }\n"
	    "</style></head><body>\n<h1>");
	html_escape(out, r->name);
	buffer_text(out, "</h1>\n");
	report_table(r, DRAWN_HTML, gates, out);
	buffer_text(out, "</body></html>\n");
}

void
eval_report(const struct eval_results *r, const char *form, const struct eval_gates *gates, struct buffer *out)
{
	if (strcmp(form, "md") == 0)
		report_table(r, DRAWN_MARKDOWN, gates, out);
	else if (strcmp(form, "html") == 0)
		report_html(r, gates, out);
	else if (strcmp(form, "csv") == 0)
		eval_report_csv(r, out);
	else if (strcmp(form, "json") == 0)
		eval_report_json(r, out);
	else if (strcmp(form, "jsonl") == 0)
		eval_report_jsonl(r, out);
	else if (strcmp(form, "junit") == 0)
		eval_report_junit(r, out);
	else if (strcmp(form, "tap") == 0)
		eval_report_tap(r, out);
	else if (strcmp(form, "github") == 0) {
		eval_report_github(r, gates, out);
		report_table(r, DRAWN_MARKDOWN, gates, out);
	} else
		report_table(r, DRAWN_TEXT, gates, out);
}
