/*
 * awf-diff: what differs between two runs, and why. A reader: nothing is recorded.
 *
 * Exit status as that of diff(1): 0 nothing differs, 1 something does, 2 trouble.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/list.h"
#include "base/memory.h"
#include "base/options.h"
#include "base/text.h"
#include "diff/filter.h"
#include "diff/report.h"
#include "diff/statistics.h"
#include "io/file.h"
#include "io/terminal.h"
#include "program.h"

#define PROGRAM "awf-diff"
#define STATUS_SAME 0
#define STATUS_DIFFERENT 1
#define STATUS_TROUBLE 2

enum { OPT_QUIET = 1, OPT_JSON, OPT_STAT, OPT_PATH, OPT_IGNORE, OPT_RESULTS, OPT_NO_CHILDREN, OPT_HTML, OPT_MAP };

struct request {
	const char *path;
	unsigned ignored;
	const char *html;     /* file; "-": stdout; NULL: no page */
	const char *map;      /* filter that values pass; NULL: none */
	bool quiet, json, results, stat, alone;
	char **runs;          /* the first group */
	char **others;        /* after "--" */
};

static unsigned ignored_words;

/* WHAT of --ignore: words with commas between them. */
static int
diff_check_ignored(const char *value, struct error *err)
{
	char **words = list_split(value, ',');
	int failed = 0;

	for (size_t i = 0; failed == 0 && words != NULL && words[i] != NULL; i++) {
		const int at = text_index(words[i], diff_what_words);

		if (at == -1 || 1 << at == DIFF_INSIDE) {
			char *hint = at == -1 ? text_hint(words[i], diff_what_words) : memory_text("");

			failed = error_set(err, ERROR_USAGE, NULL, "'%s' is nothing that can differ%s", words[i], hint);
			free(hint);
		} else {
			ignored_words |= 1u << at;
		}
	}
	list_free(words);
	return failed;
}

static const struct option_spec options[] = {
	{ OPT_QUIET, 'q', "quiet", NULL, "print nothing: the exit status tells", OPTION_INTO_FLAG(struct request, quiet) },
	{ OPT_RESULTS, 0, "results", NULL, "only how calls ended and what they gave counts",
	    OPTION_INTO_FLAG(struct request, results) },
	{ OPT_IGNORE, 0, "ignore", "WHAT[,WHAT...]",
	    "tokens, order, definition, model, result ... are no difference", OPTION_CALL(diff_check_ignored) },
	{ OPT_PATH, 'p', "path", "PATH", "only this step, and what is inside it",
	    OPTION_INTO_TEXT(struct request, path) },
	{ OPT_MAP, 0, "map", "COMMAND", "values pass this filter first: a line of JSON in, a line out",
	    OPTION_INTO_TEXT(struct request, map) },
	{ OPT_NO_CHILDREN, 0, "no-children", NULL, "look neither into child runs nor where a result was taken over from",
	    OPTION_INTO_FLAG(struct request, alone) },
	{ OPT_STAT, 0, "stat", NULL, "runs against runs (A... -- B...), step by step: calls, failures, figures",
	    OPTION_INTO_FLAG(struct request, stat) },
	{ OPT_JSON, 0, "json", NULL, "a JSON object in each line", OPTION_INTO_FLAG(struct request, json) },
	{ OPT_HTML, 0, "html", "FILE", "a page for browsers, which needs no other file; - for stdout",
	    OPTION_INTO_TEXT(struct request, html) },
	{ OPTION_END, 0, NULL, NULL, NULL },
};

static const struct option_rule rules[] = {
	{ OPTION_SAID(OPT_QUIET), OPTION_SAID(OPT_JSON), 0, NULL },
	{ OPTION_SAID(OPT_HTML), OPTION_SAID(OPT_QUIET) | OPTION_SAID(OPT_JSON), 0, NULL },
	{ OPTION_SAID(OPT_STAT), OPTION_SAID(OPT_QUIET) | OPTION_SAID(OPT_RESULTS) | OPTION_SAID(OPT_IGNORE) |
	    OPTION_SAID(OPT_PATH) | OPTION_SAID(OPT_HTML) | OPTION_SAID(OPT_MAP), 0, NULL },
};

static const char usage[] =
	"awf-diff [options] A B\n"
	"awf-diff --stat [options] A... -- B...\n\n"
	"A, B: runs, as for awf-tail: an id or its beginning, @NAME, a file\n";

/* ---- work ---- */

/* Writes the page to a file, whole or not at all. */
static int
diff_write_file(const char *path, const struct buffer *out, struct error *err)
{
	struct replacement file;

	if (replacement_open(&file, path, 0666, err) != 0)
		return -1;
	if (file_write(file.fd, out->data, out->len) != 0) {
		error_errno(err, ERROR_SYSTEM, path, "unable to write");
		replacement_abandon(&file);
		return -1;
	}
	return replacement_commit(&file, false, err);
}

static void
diff_warn(const struct diff_source *source, const char *text)
{
	struct error warning;

	error_set(&warning, ERROR_SYSTEM, source->path, "%s", text);
	program_fail(PROGRAM, &warning);
}

/* Says that what damaged lines tell is missing. */
static void
diff_warn_of_damage(const struct diff_side *s)
{
	char text[128];

	for (const struct diff_source *source = s->sources; source != NULL; source = source->next)
		if (source->damaged > 0) {
			snprintf(text, sizeof text, "%" PRId64 " line%s damaged, and not compared (see awf-verify)", source->damaged,
			    source->damaged == 1 ? " is" : "s are");
			diff_warn(source, text);
		}
}

/* Reads both runs; again, if one of them does not have what the other is compared by: digests of a masked run
 * are not those of another, and what is in a blob that is not there counts by its digest. */
static int
diff_read_sides(const struct request *r, const struct storage *storage, struct diff_reading_rules how,
    struct diff_side sides[2], struct error *err)
{
	for (;;) {
		const struct diff_reading_rules before = how;

		for (int i = 0; i < 2; i++)
			if (diff_side_read(&sides[i], storage, r->runs[i], &how, err) != 0)
				return -1;
		how.by_values |= sides[0].masked != sides[1].masked;
		how.by_digests |= sides[0].lacks_blobs || sides[1].lacks_blobs;
		if (how.by_values == before.by_values && how.by_digests == before.by_digests)
			return 0;
		for (int i = 0; i < 2; i++) {
			if (sides[i].lacks_blobs)
				diff_warn(sides[i].sources, "has values whose blobs are not there: they count by their digests");
			diff_side_free(&sides[i]);
			sides[i] = (struct diff_side){ .sources = NULL };
		}
	}
}

static int
diff_compare(const struct request *r, const struct storage *storage, bool *differ, struct error *err)
{
	struct diff_side sides[2] = { { .sources = NULL }, { .sources = NULL } };
	struct diff_side *a = &sides[0], *b = &sides[1];
	struct buffer out = BUFFER_INIT;
	struct diff_report report;
	struct diff_filter filter = DIFF_FILTER_INIT(r->map);
	const struct diff_reading_rules how = { .alone = r->alone, .filter = r->map != NULL ? &filter : NULL };
	int failed = diff_read_sides(r, storage, how, sides, err);

	if (failed == 0 && r->map != NULL) {
		failed = diff_filter_run(&filter, err);
		if (failed == 0) {
			diff_side_filter(a);
			diff_side_filter(b);
		}
	}
	if (failed == 0) {
		report = (struct diff_report){ .a = a, .b = b, .path = r->path,
			.colour = terminal_is(STDOUT_FILENO) && environment_text("NO_COLOR") == NULL };
		report.root = diff_match(a, b, r->ignored, r->results);
		if (!diff_report_has_any(&report))
			failed = error_set(err, ERROR_USAGE, "--path", "neither run has a step of the path '%s'", r->path);
	}
	if (failed == 0) {
		diff_warn_of_damage(a);
		diff_warn_of_damage(b);
		*differ = diff_report_differs(&report);
		if (r->html != NULL)
			diff_report_html(&report, &out);
		else if (r->json)
			diff_report_json(&report, &out);
		else if (*differ && !r->quiet)
			diff_report_text(&report, &out);
		if (r->html != NULL && strcmp(r->html, "-") != 0)
			failed = diff_write_file(r->html, &out, err);
		else
			fwrite(buffer_string(&out), 1, out.len, stdout);
	}
	diff_side_free(a);
	diff_side_free(b);
	diff_filter_free(&filter);
	buffer_free(&out);
	return failed;
}

static int
diff_add_group(struct diff_statistics *s, int group, char *const *runs, bool alone,
    const struct storage *storage, struct error *err)
{
	const struct diff_reading_rules how = { .alone = alone };
	int failed = 0;

	for (size_t i = 0; failed == 0 && runs[i] != NULL; i++) {
		struct diff_side side;

		failed = diff_side_read(&side, storage, runs[i], &how, err);
		if (failed == 0)
			diff_statistics_add(s, group, &side);
		diff_side_free(&side);
	}
	return failed;
}

static int
diff_compare_groups(const struct request *r, const struct storage *storage, struct error *err)
{
	struct diff_statistics s = DIFF_STATISTICS_INIT;
	struct buffer out = BUFFER_INIT;
	int failed = diff_add_group(&s, 0, r->runs, r->alone, storage, err);

	if (failed == 0)
		failed = diff_add_group(&s, 1, r->others, r->alone, storage, err);
	if (failed == 0) {
		if (r->json)
			diff_statistics_json(&s, &out);
		else
			diff_statistics_text(&s, &out);
		fwrite(buffer_string(&out), 1, out.len, stdout);
	}
	diff_statistics_free(&s);
	buffer_free(&out);
	return failed;
}

/* Whether there are as many runs as the options need. */
static int
diff_check_runs(const struct request *r, struct error *err)
{
	if (r->stat && (list_count(r->runs) == 0 || list_count(r->others) == 0))
		return error_set(err, ERROR_USAGE, "--stat", "takes runs, --, and runs that are compared with them");
	if (r->html != NULL && *r->html == '\0')
		return error_set(err, ERROR_USAGE, "--html", "takes the name of a file, or - for stdout");
	if (!r->stat && list_count(r->runs) != 2)
		return error_set(err, ERROR_USAGE, NULL, "takes two runs, and got %zu: awf-tail --list shows some",
		    list_count(r->runs));
	return 0;
}

int
main(int argc, char **argv)
{
	struct request r = { .path = NULL };
	struct storage storage = { .root = NULL };
	struct error err = ERROR_INIT;
	bool differ = false;
	struct options o;
	int id, failed;

	program_begin();
	options_begin(&o, options, argc, argv);
	options_bind(&o, &r);
	o.stop_at_dashes = true;
	while ((id = options_next(&o, &err)) == OPTION_WORD)
		list_add(&r.runs, o.value);
	if (OPTION_ASKS(id)) {
		if (id == OPTION_VERSION)
			return program_end(PROGRAM, program_version(PROGRAM));
		options_help(stdout, usage, options, id);
		return program_end(PROGRAM, STATUS_OK);
	}
	failed = id != OPTION_END || options_check(&o, rules, sizeof rules / sizeof *rules, &err) != 0;
	/* Without --stat, what is after "--" is two runs as well. */
	for (int i = o.next; !failed && i < argc; i++)
		list_add(r.stat ? &r.others : &r.runs, argv[i]);
	r.ignored = ignored_words;
	failed = failed || diff_check_runs(&r, &err) != 0 || storage_locate(&storage, &err) != 0 ||
	    (r.stat ? diff_compare_groups(&r, &storage, &err) : diff_compare(&r, &storage, &differ, &err)) != 0;
	list_free(r.runs);
	list_free(r.others);
	storage_close(&storage);
	if (failed) {
		program_fail(PROGRAM, &err);
		return program_end(PROGRAM, STATUS_TROUBLE);
	}
	return program_end(PROGRAM, differ ? STATUS_DIFFERENT : STATUS_SAME) == STATUS_SYSTEM ? STATUS_TROUBLE :
	    differ ? STATUS_DIFFERENT : STATUS_SAME;
}
