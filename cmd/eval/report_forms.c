/* Forms of the report for other programs: CSV (RFC 4180), JSON, JSON Lines, JUnit's XML, TAP 13, and commands of GitHub's
 * workflows. In JUnit, TAP and GitHub's a test is an input in a variant, which passes if all its repetitions do. */
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "eval/report.h"
#include "json/writer.h"

/* What is known of an input in a variant. */
struct judged {
	enum eval_outcome outcome; /* the worst of its repetitions: an error, a failure, missing, passed */
	int64_t passed, repetitions, ms;
	const char *why;         /* NULL: nothing is known */
	const char *check;       /* that says so; NULL: the workflow has failed */
};

static void
forms_judge(const struct eval_results *r, size_t input, size_t variant, struct judged *j)
{
	*j = (struct judged){ .outcome = EVAL_PASS, .repetitions = r->settings.repetitions };
	for (size_t k = 1; k <= (size_t)r->settings.repetitions; k++) {
		const struct eval_trial *t = eval_trial_at(r, input, variant, k);
		const bool worse = t->outcome == EVAL_ERROR ? j->outcome != EVAL_ERROR :
		    t->outcome == EVAL_FAIL ? j->outcome == EVAL_PASS || j->outcome == EVAL_MISSING :
		    t->outcome == EVAL_MISSING && j->outcome == EVAL_PASS;

		j->passed += t->outcome == EVAL_PASS;
		j->ms += t->ms > 0 ? t->ms : 0;
		if (!worse)
			continue;
		j->outcome = t->outcome;
		j->why = t->error;
		j->check = NULL;
		for (size_t c = 0; t->error == NULL && j->check == NULL && c < r->settings.check_count; c++)
			if (t->verdicts[c].outcome == t->outcome) {
				j->check = r->settings.checks[c].name;
				j->why = t->verdicts[c].why;
			}
	}
}

/* "exact: 2 of 3 passed: WHY" */
static void
forms_say(const struct judged *j, struct buffer *out)
{
	if (j->check != NULL)
		buffer_format(out, "%s: ", j->check);
	buffer_format(out, "%lld of %lld passed", (long long)j->passed, (long long)j->repetitions);
	if (j->outcome == EVAL_MISSING)
		buffer_text(out, "; not all have ended");
	if (j->why != NULL)
		buffer_format(out, ": %s", j->why);
}

static void
csv_field(struct buffer *out, const char *text)
{
	buffer_byte(out, '"');
	for (; *text != '\0'; text++) {
		if (*text == '"')
			buffer_byte(out, '"');
		buffer_byte(out, *text);
	}
	buffer_byte(out, '"');
}

void
eval_report_csv(const struct eval_results *r, struct buffer *out)
{
	buffer_text(out, "variant,id,k,outcome,ms,cost_usd,paid_usd,run");
	for (size_t c = 0; c < r->settings.check_count; c++)
		buffer_format(out, ",%s", r->settings.checks[c].name);
	buffer_text(out, "\r\n");
	for (size_t v = 0; v < r->settings.variant_count; v++)
		for (size_t i = 0; i < r->count; i++)
			for (size_t k = 1; k <= (size_t)r->settings.repetitions; k++) {
				const struct eval_trial *t = eval_trial_at(r, i, v, k);

				csv_field(out, r->settings.variants[v].name);
				buffer_byte(out, ',');
				csv_field(out, r->inputs[i].id);
				buffer_format(out, ",%zu,%s,", k, eval_outcome_words[t->outcome]);
				if (t->ms >= 0)
					buffer_format(out, "%lld", (long long)t->ms);
				buffer_byte(out, ',');
				if (t->cost >= 0)
					buffer_format(out, "%.9g", t->cost);
				buffer_byte(out, ',');
				if (t->paid >= 0)
					buffer_format(out, "%.9g", t->paid);
				buffer_format(out, ",%s", t->run);
				for (size_t c = 0; c < r->settings.check_count; c++)
					buffer_format(out, ",%s", eval_outcome_words[t->verdicts[c].outcome]);
				buffer_text(out, "\r\n");
			}
}

static void
forms_number(struct writer *w, const char *key, double value)
{
	struct buffer text = BUFFER_INIT;

	buffer_format(&text, "%.9g", value);
	if (value >= 0)
		writer_member_span(w, key, span_of(text.data, text.len));
	buffer_free(&text);
}

/* Writes a repetition of an input in a variant. */
static void
forms_write_trial(const struct eval_results *r, size_t input, size_t variant, size_t k, struct writer *w)
{
	const struct eval_trial *t = eval_trial_at(r, input, variant, k);

	writer_object(w);
	writer_member_string(w, "variant", r->settings.variants[variant].name);
	writer_member_string(w, "id", r->inputs[input].id);
	writer_member_integer(w, "k", (int64_t)k);
	writer_member_string(w, "outcome", eval_outcome_words[t->outcome]);
	if (t->run[0] != '\0')
		writer_member_string(w, "run", t->run);
	if (t->ms >= 0)
		writer_member_integer(w, "ms", t->ms);
	forms_number(w, "cost_usd", t->cost);
	forms_number(w, "paid_usd", t->paid);
	writer_member_string(w, "error", t->error);
	writer_member_object(w, "checks");
	for (size_t c = 0; c < r->settings.check_count; c++) {
		const struct eval_verdict *v = &t->verdicts[c];

		writer_member_object(w, r->settings.checks[c].name);
		writer_member_string(w, "outcome", eval_outcome_words[v->outcome]);
		forms_number(w, "score", v->score);
		writer_member_string(w, "why", v->why);
		if (v->run[0] != '\0')
			writer_member_string(w, "run", v->run);
		writer_object_end(w);
	}
	writer_object_end(w);
	writer_object_end(w);
}

void
eval_report_jsonl(const struct eval_results *r, struct buffer *out)
{
	for (size_t v = 0; v < r->settings.variant_count; v++)
		for (size_t i = 0; i < r->count; i++)
			for (size_t k = 1; k <= (size_t)r->settings.repetitions; k++) {
				struct writer w;

				writer_begin(&w, out);
				forms_write_trial(r, i, v, k, &w);
				buffer_byte(out, '\n');
			}
}

static void
forms_write_rate(const struct rate *rate, struct writer *w)
{
	writer_member_integer(w, "passed", rate->passed);
	writer_member_integer(w, "count", rate->count);
	if (rate->count > 0) {
		forms_number(w, "low", rate->low);
		forms_number(w, "high", rate->high);
	}
}

/* A variant: how often it and its checks passed, with the 95 % intervals, its figures, and how it compares with the
 * first one. */
static void
forms_write_variant(const struct eval_results *r, size_t variant, struct writer *w)
{
	const struct eval_settings *s = &r->settings;
	struct rate_comparison c;
	struct eval_figures f;

	eval_figures_read(r, variant, &f);
	writer_object(w);
	writer_member_string(w, "variant", s->variants[variant].name);
	forms_write_rate(&f.rate, w);
	writer_member_integer(w, "inputs", f.inputs);
	writer_member_integer(w, "all_passed", f.all_passed);
	writer_member_integer(w, "errors", f.errors);
	writer_member_integer(w, "missing", f.missing);
	if (f.p50 >= 0)
		writer_member_integer(w, "p50_ms", f.p50);
	forms_number(w, "each_usd", f.each);
	forms_number(w, "paid_usd", f.paid);
	writer_member_object(w, "checks");
	for (size_t i = 0; i < s->check_count; i++) {
		struct rate rate;

		eval_variant_rate(r, variant, (int)i, &rate);
		writer_member_object(w, s->checks[i].name);
		forms_write_rate(&rate, w);
		writer_object_end(w);
	}
	writer_object_end(w);
	if (variant > 0) {
		eval_figures_compare(r, variant, &c);
		writer_member_object(w, "against");
		writer_member_string(w, "variant", s->variants[0].name);
		writer_member_integer(w, "better", (int64_t)c.better);
		writer_member_integer(w, "worse", (int64_t)c.worse);
		writer_member_integer(w, "equal", (int64_t)c.equal);
		forms_number(w, "p", c.p);
		writer_member_string(w, "says", eval_figures_comparison_word(&c));
		writer_object_end(w);
	}
	writer_object_end(w);
}

void
eval_report_json(const struct eval_results *r, struct buffer *out)
{
	struct writer w;

	writer_begin(&w, out);
	writer_object(&w);
	writer_member_string(&w, "name", r->name);
	writer_member_string(&w, "run_id", r->run_id);
	writer_member_integer(&w, "inputs", (int64_t)r->count);
	writer_member_integer(&w, "repetitions", r->settings.repetitions);
	writer_member_array(&w, "variants");
	for (size_t v = 0; v < r->settings.variant_count; v++)
		forms_write_variant(r, v, &w);
	writer_array_end(&w);
	writer_member_array(&w, "trials");
	for (size_t v = 0; v < r->settings.variant_count; v++)
		for (size_t i = 0; i < r->count; i++)
			for (size_t k = 1; k <= (size_t)r->settings.repetitions; k++)
				forms_write_trial(r, i, v, k, &w);
	writer_array_end(&w);
	writer_object_end(&w);
	buffer_byte(out, '\n');
}

/* Text in XML 1.0, which has no control characters but TAB and LF, and neither U+FFFE nor U+FFFF. */
static void
xml_text(struct buffer *out, const char *text)
{
	for (; *text != '\0'; text++)
		switch (*text) {
		case '\n': buffer_text(out, "&#10;"); break;
		case '\xef':
			if (strncmp(text, "\xef\xbf\xbe", 3) == 0 || strncmp(text, "\xef\xbf\xbf", 3) == 0) {
				buffer_byte(out, '?');
				text += 2;
				break;
			}
			buffer_byte(out, *text);
			break;
		default: text_escape_markup(out, (unsigned char)*text < 0x20 ? "?" : text, 1); break;
		}
}

void
eval_report_junit(const struct eval_results *r, struct buffer *out)
{
	buffer_text(out, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"");
	xml_text(out, r->name);
	buffer_text(out, "\">\n");
	for (size_t v = 0; v < r->settings.variant_count; v++) {
		struct buffer cases = BUFFER_INIT;
		int64_t failures = 0, errors = 0, skipped = 0;

		for (size_t i = 0; i < r->count; i++) {
			struct buffer said = BUFFER_INIT;
			struct judged j;

			forms_judge(r, i, v, &j);
			forms_say(&j, &said);
			failures += j.outcome == EVAL_FAIL;
			errors += j.outcome == EVAL_ERROR;
			skipped += j.outcome == EVAL_MISSING;
			buffer_text(&cases, "<testcase classname=\"");
			xml_text(&cases, r->settings.variants[v].name);
			buffer_text(&cases, "\" name=\"");
			xml_text(&cases, r->inputs[i].id);
			buffer_format(&cases, "\" time=\"%.3f\"", (double)j.ms / 1000);
			if (j.outcome == EVAL_PASS) {
				buffer_text(&cases, "/>\n");
			} else {
				buffer_format(&cases, "><%s message=\"",
				    j.outcome == EVAL_FAIL ? "failure" : j.outcome == EVAL_ERROR ? "error" : "skipped");
				xml_text(&cases, buffer_string(&said));
				buffer_text(&cases, "\"/></testcase>\n");
			}
			buffer_free(&said);
		}
		buffer_text(out, "<testsuite name=\"");
		xml_text(out, r->settings.variants[v].name);
		buffer_format(out, "\" tests=\"%zu\" failures=\"%lld\" errors=\"%lld\" skipped=\"%lld\">\n", r->count,
		    (long long)failures, (long long)errors, (long long)skipped);
		buffer_append(out, buffer_string(&cases), cases.len);
		buffer_text(out, "</testsuite>\n");
		buffer_free(&cases);
	}
	buffer_text(out, "</testsuites>\n");
}

/* A text as part of a line. */
static void
forms_line_text(struct buffer *out, const char *text)
{
	for (; *text != '\0'; text++)
		buffer_byte(out, (unsigned char)*text < 0x20 ? ' ' : *text);
}

void
eval_report_tap(const struct eval_results *r, struct buffer *out)
{
	size_t number = 0;

	buffer_format(out, "TAP version 13\n1..%zu\n", r->count * r->settings.variant_count);
	for (size_t v = 0; v < r->settings.variant_count; v++)
		for (size_t i = 0; i < r->count; i++) {
			struct buffer said = BUFFER_INIT;
			struct judged j;

			forms_judge(r, i, v, &j);
			forms_say(&j, &said);
			buffer_format(out, "%sok %zu - %s/", j.outcome == EVAL_PASS ? "" : "not ", ++number,
			    r->settings.variants[v].name);
			/* A number sign begins a directive. */
			for (const char *at = r->inputs[i].id; *at != '\0'; at++)
				buffer_format(out, *at == '#' || *at == '\\' ? "\\%c" : "%c", (unsigned char)*at < 0x20 ? ' ' : *at);
			buffer_byte(out, '\n');
			if (j.outcome != EVAL_PASS) {
				buffer_format(out, "# %s: ", eval_outcome_words[j.outcome]);
				forms_line_text(out, buffer_string(&said));
				buffer_byte(out, '\n');
			}
			buffer_free(&said);
		}
}

/* The value of a workflow command: % CR LF, and in properties also : and , are encoded. Other control characters are left
 * out, as the log shows the text. */
static void
github_text(struct buffer *out, const char *text, bool property)
{
	for (; *text != '\0'; text++)
		if (*text == '%' || *text == '\r' || *text == '\n' || (property && (*text == ':' || *text == ',')))
			buffer_format(out, "%%%02X", (unsigned)(unsigned char)*text);
		else
			buffer_byte(out, (unsigned char)*text < 0x20 ? ' ' : *text);
}

void
eval_report_github(const struct eval_results *r, const struct eval_gates *gates, struct buffer *out)
{
	for (const char *at = buffer_string(&gates->failed), *end; (end = strchr(at, '\n')) != NULL; at = end + 1) {
		struct buffer line = BUFFER_INIT;

		buffer_append(&line, at, (size_t)(end - at));
		buffer_text(out, "::error title=awf-eval::");
		github_text(out, buffer_string(&line), false);
		buffer_byte(out, '\n');
		buffer_free(&line);
	}
	for (size_t v = 0; v < r->settings.variant_count; v++)
		for (size_t i = 0; i < r->count; i++) {
			struct buffer said = BUFFER_INIT;
			struct judged j;

			forms_judge(r, i, v, &j);
			forms_say(&j, &said);
			if (j.outcome == EVAL_ERROR || (j.outcome == EVAL_FAIL && j.passed == 0)) {
				buffer_format(out, "::%s title=", j.outcome == EVAL_ERROR ? "error" : "warning");
				github_text(out, r->settings.variants[v].name, true);
				buffer_byte(out, '/');
				github_text(out, r->inputs[i].id, true);
				buffer_text(out, "::");
				github_text(out, buffer_string(&said), false);
				buffer_byte(out, '\n');
			}
			buffer_free(&said);
		}
}
