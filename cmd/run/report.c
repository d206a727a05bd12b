/*
 * The last stderr lines of a failed call are in its step.completed event, which is read again from
 * the transcript. For a group or a child workflow, they are those of the call inside it that
 * failed.
 */
#include "run/report.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/count.h"
#include "base/folded_messages.h"
#include "base/invariant.h"
#include "base/memory.h"
#include "base/text.h"
#include "decide/decision.h"
#include "io/terminal.h"
#include "model/cost.h"
#include "model/price.h"
#include "model/told_failures.h"
#include "proc/last_words.h"
#include "proc/message.h"
#include "program.h"
#include "transcript/blob.h"
#include "transcript/event_keys.h"
#include "view/screen.h"
#include "view/view.h"

#define FAILED_MOST ((size_t)700) /* most bytes of an error message that is followed by more text */
#define LINES_MOST 5
#define INDENT "  | "

bool
report_successor(struct job *j, char id[ID_SIZE])
{
	const struct supervision *s = &j->supervision;

	return s->verdict == VERDICT_CANCELLED && s->signal_number == SIGTERM &&
	    overlap_successor(&j->overlap, id);
}

/* Whether this run is inside of another, whose transcript gets its messages. */
static bool
is_recorded(void)
{
	return environment_text("AWF_CALL") != NULL;
}

/* Whether a user is watching on a terminal: then success is reported, too. */
static bool
is_watched(const struct job *j)
{
	return j->settings.view != SCREEN_OFF && terminal_is(STDERR_FILENO);
}

bool
report_tells_cost(const struct job *j)
{
	const struct span usage = span_of(j->outcome.usage.data, j->outcome.usage.len);

	return !is_recorded() && span_member(usage, KEY_INPUT_TOKENS).at != NULL &&
	    (j->conclusion.error.code != ERROR_NONE || is_watched(j) || j->settings.max_cost != NULL);
}

/* Appends the figures of this attempt, " after 12.4s, 1.7k in, 320 out, $0.0310"; the cost is that
 * of all attempts. */
static void
report_add_figures(const struct job *j, int64_t cost, struct buffer *out)
{
	static const struct { const char *key, *word; } tokens[] = {
		{ KEY_INPUT_TOKENS, "in" }, { KEY_OUTPUT_TOKENS, "out" },
	};
	const struct span usage = span_of(j->outcome.usage.data, j->outcome.usage.len);
	char text[MONEY_SIZE];
	long long count;

	buffer_format(out, " after %s", duration_text(clock_monotonic() - j->run.started_monotonic,
	    text, sizeof text));
	for (size_t i = 0; i < sizeof tokens / sizeof *tokens; i++)
		if (span_integer(span_member(usage, tokens[i].key), &count))
			buffer_format(out, ", %s %s", count_text(count, text, sizeof text), tokens[i].word);
	if (cost > 0)
		buffer_format(out, ", %s%s", money_text(cost, text), j->run.attempt > 1 ? " in all" : "");
}

/* By how much the cost exceeds --max-cost, in nano-dollars; 0: not at all. Calls are started as
 * long as the limit is not reached, so it may be exceeded. */
static int64_t
over_limit(const struct job *j, int64_t cost)
{
	int64_t limit;

	return j->settings.max_cost != NULL && money_parse(j->settings.max_cost, &limit) && cost > limit ?
	    cost - limit : 0;
}

/* The beginning of the last lines of a text; *len is reduced by the LF at its end. */
static const char *
last_lines(const char *text, size_t *len)
{
	const char *from;
	int lines = 0;

	while (*len > 0 && text[*len - 1] == '\n')
		--*len;
	for (from = text + *len; from > text && (from[-1] != '\n' || ++lines < LINES_MOST); from--)
		;
	*len -= (size_t)(from - text);
	INVARIANT(lines <= LINES_MOST && (*len == 0 || from[*len - 1] != '\n'));
	return from;
}

/* Prints the last lines that the failed call wrote to stderr. If they cannot be read, nothing
 * is printed. */
static void
report_print_last_stderr(const struct job *j)
{
	const char *path = j->run.transcript.path, *at;
	const size_t width = terminal_is(STDERR_FILENO) ? terminal_width(STDERR_FILENO) : 0;
	struct buffer line = BUFFER_INIT, whole = BUFFER_INIT, text = BUFFER_INIT, shown = BUFFER_INIT,
	    words = BUFFER_INIT;
	char *blobs = storage_blobs(&j->run.storage, j->run.id);
	struct error ignored = ERROR_INIT;
	struct event_view event;
	size_t len, part;

	if (j->outcome.failed_end.length > 0 &&
	    event_load(path, j->outcome.failed_end, &line, &ignored) == 0 &&
	    blob_inline(blobs, line.data, line.len, &whole, &ignored) == 0 &&
	    event_view(whole.data, whole.len, &event) == 0)
		span_decode(span_member(event.payload, KEY_STDERR), &text);
	len = text.len;
	at = last_lines(buffer_string(&text), &len);
	/* If stderr has only one line, it is already in the error's message, except for colours and
	 * the like; but there it may be cut off. */
	last_words(at, len, &words);
	if (words.len > 0 && words.len <= len && memchr(at, '\n', len) == NULL &&
	    !text_ends(buffer_string(&words), "…"))
		len = 0;
	for (const char *end = at + len; at < end; at += part + 1) {
		part = strcspn(at, "\n");
		part = part < (size_t)(end - at) ? part : (size_t)(end - at);
		buffer_text(&shown, INDENT);
		/* Some programs end lines with CR LF. */
		text_visible(&shown, at, part > 0 && at[part - 1] == '\r' ? part - 1 : part,
		    width > sizeof INDENT ? width - sizeof INDENT : 0);
		buffer_byte(&shown, '\n');
	}
	if (shown.len > 0)
		message_print_lines(shown.data);
	buffer_free(&line);
	buffer_free(&whole);
	buffer_free(&text);
	buffer_free(&shown);
	buffer_free(&words);
	free(blobs);
}

/* Prints who may make the decision that the run waits for. */
static void
report_print_decider(const struct job *j)
{
	char *by;

	if (is_recorded() || !j->run.keep_transcript)
		return;
	by = decision_maker();
	message_print(PROGRAM, "%s: %s decides, or who may on the page of awf-serve; "
	    "awf-ctl deny says no", j->run.name, by);
	free(by);
}

/* The command that resumes the run. It repeats --max-cost, which is not recorded; if that limit was
 * reached, it has USD in its place, for which the user must insert a higher one. To be freed by the
 * caller. */
static char *
resume_command(const struct job *j, const char *run)
{
	const char *limit = j->settings.max_cost;

	if (limit == NULL)
		return memory_format("awf-run --resume %s", run);
	if (j->conclusion.error.code == ERROR_MAX_COST)
		limit = "USD";
	return memory_format("awf-run --max-cost %s --resume %s", limit, run);
}

/* Failures that steps have counted instead of printing each. */
struct counted {
	const char *run;           /* name of the run */
	struct buffer reason;      /* the kind of failure because of which the run failed */
	size_t more;               /* number of counted failures of this kind */
};

/* Adds failures of the run's own kind to c->more, to be printed with the reason; prints a line for
 * each other kind. */
static void
report_print_counted(void *context, const char *text, size_t more)
{
	struct counted *c = context;
	struct buffer line = BUFFER_INIT;

	if (text != NULL)
		folded_kind(&line, text);
	if (text != NULL && buffer_equal(&line, buffer_string(&c->reason))) {
		c->more = more;
	} else {
		buffer_clear(&line);
		told_failures_line(&line, text, more);
		message_print(PROGRAM, "%s: %s", c->run, buffer_string(&line));
	}
	buffer_free(&line);
}

/* Prints the failures that steps have counted. If the first failed call is the reason why the run
 * failed, returns how many more failures are of the same kind. */
static size_t
report_print_failures(const struct job *j, bool first_failed)
{
	const char *step = j->outcome.first_failed;
	struct counted c = { j->run.name, BUFFER_INIT, 0 };
	char *text = memory_format("%.*s: %s", (int)strcspn(step, ":"), step, j->outcome.error.message);

	if (first_failed)
		folded_kind(&c.reason, text);
	told_failures_read(j->run.directory, report_print_counted, &c);
	buffer_free(&c.reason);
	free(text);
	return c.more;
}

/* Prints what failed or waits, with the reason. */
static void
report_print_reason(const struct job *j, const char *run)
{
	const struct conclusion *e = &j->conclusion;
	const struct outcome *o = &j->outcome;
	const bool waits = e->error.code == ERROR_WAITING, approval = o->asks == WAITING_APPROVAL;
	const bool first_failed = strcmp(e->step, o->first_failed) == 0;
	const char *place = *e->error.place != '\0' ? e->error.place : j->run.name;
	const char *item = first_failed && !is_recorded() ? o->failed_item : "";
	char *command = resume_command(j, run);
	const size_t alike = report_print_failures(j, first_failed && *e->step != '\0');
	char more[64] = "";
	struct error line;

	if (o->asking > 1)
		snprintf(more, sizeof more, " (and %lld more)", (long long)o->asking - 1);
	if (waits && o->asks == WAITING_TIME)
		error_set(&line, ERROR_WAITING, j->run.name, "%s%s sleeps; when its time has come: %s", e->step,
		    strlen(e->step) == sizeof e->step - 1 ? "..." : "", command);
	else if (waits && o->asks != WAITING_NOTHING && strlen(e->step) == sizeof e->step - 1)
		error_set(&line, ERROR_WAITING, j->run.name, "waits for %s: awf status tells what to type%s",
		    approval ? "a decision" : "a result", more);
	else if (waits && o->asks != WAITING_NOTHING)
		error_set(&line, ERROR_WAITING, j->run.name, "waits for %s: awf-ctl %s %s %s%s",
		    approval ? "a decision" : "a result", approval ? "approve" : "complete", e->step,
		    run, more);
	else if (waits && o->decisions > 0) /* decided while the run was still alive */
		error_set(&line, ERROR_WAITING, j->run.name, "goes on as was decided: %s",
		    command);
	else if (*e->step == '\0')
		error_set(&line, e->error.code, place, "%s", e->error.message);
	else
		error_set(&line, e->error.code, place, "step %s%s%s: %s", e->step, item,
		    waits ? "" : " failed", e->error.message);
	if (alike > 0) {
		const struct error one = line;
		struct buffer text = BUFFER_INIT;

		folded_count(&text, one.message, alike);
		error_set(&line, one.code, one.place, "%s", buffer_string(&text));
		buffer_free(&text);
	}

	/* A later step, which succeeded, may have done the same work, or other work. */
	if (*o->repeated_by != '\0' && first_failed) {
		const struct error failed = line;
		const size_t len = strlen(failed.message);

		error_set(&line, failed.code, failed.place, "%.*s (%s succeeded later: "
		    "with --try a step may fail)",
		    (int)utf8_whole(failed.message, len < FAILED_MOST ? len : FAILED_MOST),
		    failed.message, o->repeated_by);
	}
	program_fail(PROGRAM, &line);
	free(command);
	if (waits && o->asks == WAITING_APPROVAL)
		report_print_decider(j);
	if (first_failed && *o->first_failed != '\0' && !is_recorded())
		report_print_last_stderr(j);
}

/* Whether to print the command that resumes the run: only if some work need not be done again. Not
 * after a terminal failure or a person's denial, which would end the run again; and not inside of
 * another run, which is resumed instead. */
static bool
goes_on(struct job *j)
{
	const struct error *error = &j->conclusion.error;
	char successor[ID_SIZE];

	return error->code != ERROR_NONE && error->code != ERROR_WAITING && j->outcome.calls > 0 &&
	    j->outcome.decision != RUN_FAILS && error->code != ERROR_DENIED &&
	    j->run.keep_transcript && !run_in_environment() &&
	    redactor_redaction(&j->redactor) == NULL && !report_successor(j, successor);
}

void
report_end(struct job *j, int64_t cost)
{
	const enum error_code code = j->conclusion.error.code;
	struct buffer line = BUFFER_INIT;
	const bool way_on = goes_on(j);
	const int64_t over = over_limit(j, cost);
	char run[ID_SIZE], money[MONEY_SIZE], *command;

	storage_short_id(&j->run.storage, j->run.id, run);
	if (code == ERROR_DOWNSTREAM_CLOSED) /* the reader closed the pipe on purpose */
		return;
	if (code != ERROR_NONE)
		report_print_reason(j, run);
	if (!is_recorded() && ((code != ERROR_WAITING && (way_on || is_watched(j))) || over > 0)) {
		buffer_text(&line, code == ERROR_NONE ? "done" : j->conclusion.status);
		report_add_figures(j, cost, &line);
	}
	if (!is_recorded() && over > 0)
		buffer_format(&line, ", %s more than --max-cost", money_text(over, money));
	if (way_on) {
		command = resume_command(j, run);
		buffer_format(&line, "%sto go on from there: %s", line.len > 0 ? "; " : "", command);
		free(command);
	}
	if (line.len > 0)
		message_print(PROGRAM, "%s: %s", j->run.name, line.data);
	buffer_free(&line);
}
