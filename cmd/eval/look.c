/* awf-diff follows what was taken over to where it was made, so it is asked for what a fork would have cost, and whether
 * it has made anything. */
#include "eval/look.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/id.h"
#include "base/memory.h"
#include "eval/verdict.h"
#include "io/file.h"
#include "json/scan.h"
#include "json/writer.h"
#include "model/cost.h"
#include "model/summary.h"
#include "proc/descendants.h"
#include "proc/subprocess.h"
#include "storage/storage.h"

#define FORKS_MOST 100       /* that are followed */

/* What is known of a run. */
struct looked {
	char run[ID_SIZE];
	int64_t ms;              /* -1: not known */
	int64_t cost, paid;      /* nano-dollars; COST_UNKNOWN */
	bool failed;
	char *error;             /* NULL */
	char forked_from[ID_SIZE]; /* "": it is no fork */
};

static void
look_read_record(const struct storage *storage, const char *run, struct looked *l)
{
	char *path = storage_transcript(storage, run);
	struct error ignored = ERROR_INIT;
	struct summary summary;
	struct cost cost;

	*l = (struct looked){ .ms = -1, .cost = COST_UNKNOWN, .paid = COST_UNKNOWN, .failed = true };
	memcpy(l->run, run, strlen(run) + 1);
	if (summary_read(&summary, path, &ignored) == 0) {
		struct span why = span_of(summary.error != NULL ? summary.error : "", summary.error != NULL ? strlen(summary.error) : 0);

		l->ms = summary.duration_ms;
		l->failed = strcmp(summary.status, "success") != 0;
		l->error = span_text(span_member(why, "message"));
		memcpy(l->forked_from, summary.forked_from, ID_SIZE);
		summary_free(&summary);
	}
	if (cost_begin(&cost, &ignored) == 0 && cost_read(&cost, path, &ignored) == 0)
		l->paid = l->cost = cost_sum(&cost);
	cost_free(&cost);
	free(path);
}

/* Compares a fork with what it was forked from: *cost is what its calls cost where they were made, and *made whether
 * it has made any. A call with others in it is made of these. false: that is not known. */
static bool
look_compare(const char *original, const char *run, int64_t *cost, bool *made)
{
	const char *const words[] = { "awf-diff", "--json", original, run, NULL };
	struct subprocess p = { .argv = (char *const *)(uintptr_t)words, .quiet = true };
	struct error ignored = ERROR_INIT;
	bool known = subprocesses_run(&p, 1, NULL, &ignored) == 0 && (p.exit_code == 0 || p.exit_code == 1), own = false;
	long long depth, before = -1;
	double dollars = 0;

	*made = false;
	for (const char *at = buffer_string(&p.output), *end; known && (end = strchr(at, '\n')) != NULL; at = end + 1) {
		struct span line = span_of(at, (size_t)(end - at)), spent = span_path(line, "figures", "b", "cost", NULL);

		if (span_member(line, "path").at == NULL)
			depth = -1;
		else if (!span_integer(span_member(line, "depth"), &depth))
			known = false;
		*made |= own && depth <= before;
		own = depth != -1 && span_type(span_member(line, "b")) == 's' && !span_true(span_path(line, "taken_over", "b", NULL));
		before = depth;
		if (depth != -1 && span_type(spent) == 'n')
			dollars += strtod(spent.at, NULL);
	}
	subprocess_free(&p);
	*cost = (int64_t)(dollars * 1e9 + 0.5);
	return known;
}

/* Follows forks in which all was taken over. */
static void
look_follow(const struct storage *storage, struct looked *l)
{
	for (int i = 0; i < FORKS_MOST && *l->forked_from != '\0'; i++) {
		struct looked original;
		int64_t cost;
		bool made;

		if (!look_compare(l->forked_from, l->run, &cost, &made))
			return;
		if (l->paid != COST_UNKNOWN && i == 0)
			l->cost = cost;
		if (made || l->failed)
			return;
		look_read_record(storage, l->forked_from, &original);
		l->ms = original.ms;
		memcpy(l->run, original.run, ID_SIZE);
		memcpy(l->forked_from, original.forked_from, ID_SIZE);
		free(original.error);
	}
}

void
eval_write_dollars(struct writer *w, const char *key, int64_t nano)
{
	struct buffer text = BUFFER_INIT;

	if (nano == COST_UNKNOWN || nano < 0)
		return;
	buffer_format(&text, "%lld.%09lld", (long long)(nano / 1000000000), (long long)(nano % 1000000000));
	while (text.data[text.len - 1] == '0' && text.data[text.len - 2] != '.')
		text.len--;
	writer_member_span(w, key, span_of(text.data, text.len));
	buffer_free(&text);
}

int
eval_look_run(struct error *err)
{
	struct storage storage = { .root = NULL };
	struct buffer line = BUFFER_INIT, out = BUFFER_INIT;
	struct looked l = { .error = NULL };
	struct span asked;
	struct writer w;
	char *run;
	int failed = file_read(STDIN_FILENO, &line, EVAL_INPUT_LIMIT) == 0 ? 0 :
	    error_errno(err, ERROR_SYSTEM, "stdin", "unable to read");

	signal(SIGPIPE, SIG_IGN);
	descendants_adopt();
	asked = span_trim(span_of(buffer_string(&line), line.len));
	run = span_text(span_member(asked, "run"));
	if (failed == 0 && (run == NULL || !id_valid(run, strlen(run))))
		failed = error_set(err, ERROR_INVALID_INPUT, "stdin", "names no run");
	if (failed == 0)
		failed = storage_locate(&storage, err);
	if (failed == 0) {
		look_read_record(&storage, run, &l);
		look_follow(&storage, &l);
		writer_begin(&w, &out);
		writer_object(&w);
		writer_member_string(&w, "run", l.run);
		if (l.ms >= 0)
			writer_member_integer(&w, "ms", l.ms);
		eval_write_dollars(&w, "cost_usd", l.cost);
		eval_write_dollars(&w, "paid_usd", l.paid);
		writer_member_bool(&w, "failed", l.failed);
		writer_member_string(&w, "error", l.error);
		writer_object_end(&w);
	}
	if (failed == 0)
		printf("%s\n", buffer_string(&out));
	storage_close(&storage);
	buffer_free(&line);
	buffer_free(&out);
	free(l.error);
	free(run);
	return failed == 0 ? STATUS_OK : -1;
}
