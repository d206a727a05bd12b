/*
 * awf-tail: shows, filters and follows transcripts; lists runs.
 */
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "program.h"

#include "base/clock.h"
#include "base/folded_messages.h"
#include "base/list.h"
#include "base/locale.h"
#include "base/memory.h"
#include "base/options.h"
#include "base/patience.h"
#include "base/text.h"
#include "io/file.h"
#include "io/polling.h"
#include "io/terminal.h"
#include "json/line_input.h"
#include "json/writer.h"
#include "model/cost.h"
#include "model/follow.h"
#include "model/listing.h"
#include "proc/libexec.h"
#include "proc/message.h"
#include "projection/projection.h"
#include "storage/served.h"
#include "storage/session.h"
#include "tail/printer.h"
#include "view/progress.h"

#define PROGRAM "awf-tail"
#define BUFFER_DEFAULT 256
#define LIST_DEFAULT 20
#define PATHS_SUGGESTED 1000
#define NAMES_SUGGESTED 1000 /* newest runs whose names are compared with a misspelt one */
#define SLEEP_UNWATCHED 10 /* ms between checks if changes are not reported */

enum {
	OPT_LINES = 1, OPT_FOLLOW, OPT_FOREVER, OPT_CHILDREN, OPT_EXIT_STATUS, OPT_AFTER,
	OPT_SINCE, OPT_TYPE, OPT_PATH, OPT_GREP, OPT_ERRORS, OPT_JSON, OPT_INLINE, OPT_COLOR,
	OPT_DROP, OPT_BUFFER, OPT_LIST, OPT_SESSIONS, OPT_NAME, OPT_STATUS, OPT_AS, OPT_TOOLS, OPT_COST, OPT_LIMITS, OPT_STATS, OPT_BY,
	OPT_LOG, OPT_NO_VIEW, OPT_FULL,
	/* conditions for rules, not options */
	WITH_RUN, WITH_STDIN, AS_DOCUMENT, JSON_LINES
};

static const char usage[] =
    "awf-tail [options] [RUN|FILE|URL|-]\n"
    "awf-tail --list [-R] [-n N] [--name GLOB] [--status STATUS] [--json]\n"
    "awf-tail --sessions [--json]\n"
    "awf-tail --limits | --stats [--by WHAT] [--since TIME] [--json]";

static const char *const statuses[] = {
	"queued", "running", "waiting", "success", "failed", "cancelled", "timeout", "died", NULL
};
static const char *const stats_by[] = { "workflow", "step", "tool", "model", NULL };
static const char *const colors[] = { "auto", "always", "never", NULL };

struct tail {
	uint64_t said;             /* OPTION_SAID() */
	int64_t lines, after, buffer;
	bool at_server;            /* RUN is a URL */
	const char *run;           /* NULL: the latest */
	const char *color, *status, *by;
	int64_t since;
	struct globs names;
	struct filter filter;
	bool passed;               /* a line has passed the filter */
	char **seen;               /* paths that did not match, for suggestions; ends with NULL */

	struct storage storage;
	struct served served;
	struct printer printer;
	struct projector projector;
	struct cost cost;
	int64_t line_cost;         /* cost of the shown event; of the whole run for its end */
	bool told_unknown;
	struct buffer projected;   /* lines that are printed instead of an event */
	struct follow_callbacks callbacks;
	struct follow follow;
	struct live_feed live;     /* started only if the printer draws it */
	struct followed *subject;  /* the run for whose end awf-tail waits; NULL: none yet */
	int64_t checked_at;
};

static const struct option_spec options_table[] = {
	{ OPT_LINES, 'n', "lines", "N", "the last N events; with --list, runs (20)",
	    OPTION_INTO_NUMBER(struct tail, lines, 0, INT32_MAX) },
	{ OPT_FOLLOW, 'f', "follow", NULL, "follow to the end of the run, or of the next one",
	    OPTION_ONLY_SAID },
	{ OPT_FOREVER, 'F', "follow-latest", NULL, "follow the latest run, for ever", OPTION_ONLY_SAID },
	{ OPT_CHILDREN, 'R', "children", NULL, "take in child runs", OPTION_ONLY_SAID },
	{ OPT_LIST, 0, "list", NULL, "list runs, the newest first", OPTION_ONLY_SAID },
	{ OPT_NAME, 0, "name", "GLOB,...", "list runs of these workflows" },
	{ OPT_STATUS, 0, "status", "STATUS", "list runs with this status",
	    OPTION_INTO_CHOICE(struct tail, status, statuses) },
	{ OPT_SINCE, 0, "since", "TIME", "events, or runs, since a time or an age such as 2h",
	    OPTION_INTO_TIME(struct tail, since) },
	{ OPT_TYPE, 0, "type", "GLOB,...", "events of these types" },
	{ OPT_PATH, 0, "path", "GLOB,...", "events of these step paths" },
	{ OPT_GREP, 0, "grep", "REGEX", "events whose line matches" },
	{ OPT_ERRORS, 0, "errors", NULL, "failed calls, with their stderr", OPTION_ONLY_SAID },
	{ OPT_FULL, 0, "full", NULL, "with all that was said, for a pager: --full | less -R",
	    OPTION_ONLY_SAID },
	{ OPT_LOG, 0, "log", NULL, "while following on a terminal, events line by line", OPTION_ONLY_SAID },
	{ OPT_COST, 0, "cost", NULL, "what answers have cost, see awf-prices(5)", OPTION_ONLY_SAID },
	{ OPT_JSON, 0, "json", NULL, "print the lines; with --list, an object per "
	    "run", OPTION_ONLY_SAID },
	{ OPT_AS, 0, "as", "NAME", "print another vocabulary, see awf-projections(7)" },

	{ OPTION_SECTION, 0, NULL, NULL, "Seldom needed" },
	{ OPT_SESSIONS, 0, "sessions", NULL, "list conversations that go on (awf-step --session)",
	    OPTION_ONLY_SAID },
	{ OPT_LIMITS, 0, "limits", NULL, "what is used of the limits of awf-limits(5)", OPTION_ONLY_SAID },
	{ OPT_STATS, 0, "stats", NULL, "figures of all runs: counts, failures, times, cost", OPTION_ONLY_SAID },
	{ OPT_BY, 0, "by", "WHAT", "of --stats: workflow (default), step, tool or model",
	    OPTION_INTO_CHOICE(struct tail, by, stats_by) },
	{ OPT_AFTER, 0, "after", "SEQ", "events after this number",
	    OPTION_INTO_NUMBER(struct tail, after, 0, INT64_MAX) },
	{ OPT_INLINE, 0, "inline", NULL, "put blobs back into their lines", OPTION_ONLY_SAID },
	{ OPT_TOOLS, 0, "tools", NULL, "with --as daemon-event: tool calls too",
	    OPTION_INTO_FLAG(struct tail, projector.tools) },
	{ OPT_COLOR, 0, "color", "WHEN", "auto (default), always or never",
	    OPTION_INTO_CHOICE(struct tail, color, colors) },
	{ OPT_NO_VIEW, 0, "no-view", NULL, "events line by line, and no line of calls in "
	    "progress", OPTION_ONLY_SAID },
	{ OPT_EXIT_STATUS, 0, "exit-status", NULL, "exit with the run's exit code", OPTION_ONLY_SAID },
	{ OPT_DROP, 0, "drop", NULL, "drop events that a slow reader has no room for", OPTION_ONLY_SAID },
	{ OPT_BUFFER, 0, "buffer", "N", "events kept before any is dropped (256)",
	    OPTION_INTO_NUMBER(struct tail, buffer, 1, INT32_MAX) },

	OPTION_PSEUDO(WITH_RUN, "RUN"), OPTION_PSEUDO(WITH_STDIN, "-"), OPTION_PSEUDO(JSON_LINES, "--json"),
	OPTION_PSEUDO(AS_DOCUMENT, "--as agentloom"),
	{ 0, 0, NULL, NULL, NULL },
};

#define SAID(id) OPTION_SAID(id)
#define LIVE (SAID(OPT_FOLLOW) | SAID(OPT_FOREVER))
/* Options that select events, and those that set their format. */
#define SOME_EVENTS (SAID(OPT_AFTER) | SAID(OPT_TYPE) | SAID(OPT_PATH) | SAID(OPT_GREP) | SAID(OPT_ERRORS))
#define OF_THE_LOG (SOME_EVENTS | SAID(OPT_LINES) | SAID(OPT_SINCE) | SAID(OPT_LOG) | SAID(OPT_NO_VIEW) | \
    SAID(OPT_FULL) | SAID(OPT_JSON) | SAID(OPT_INLINE) | SAID(OPT_AS) | SAID(OPT_DROP))

static const struct option_rule rules[] = {
	{ SAID(OPT_BUFFER), 0, SAID(OPT_DROP), NULL },
	{ SAID(OPT_NAME) | SAID(OPT_STATUS), 0, SAID(OPT_LIST), NULL },
	{ SAID(OPT_TOOLS), 0, SAID(OPT_AS), NULL },
	{ SAID(OPT_COST), SAID(JSON_LINES) | SAID(OPT_AS) | SAID(WITH_STDIN), 0, NULL },
	{ SAID(OPT_FOLLOW), SAID(OPT_FOREVER), 0, NULL },
	{ SAID(OPT_FULL), SAID(OPT_JSON) | SAID(OPT_AS) | SAID(OPT_LIST), 0, NULL },
	{ SAID(OPT_AS), SAID(OPT_JSON) | SAID(OPT_INLINE) | SAID(WITH_STDIN) | SAID(OPT_LIST), 0, NULL },
	{ SOME_EVENTS | LIVE | SAID(OPT_LINES) | SAID(OPT_SINCE) | SAID(OPT_DROP) | SAID(OPT_TOOLS),
	    SAID(AS_DOCUMENT), 0, NULL },
	{ SAID(OPT_EXIT_STATUS) | SAID(WITH_RUN), SAID(OPT_FOREVER), 0, NULL },
	{ LIVE | SAID(OPT_CHILDREN) | SAID(OPT_EXIT_STATUS), SAID(WITH_STDIN), 0, NULL },
	{ SAID(OPT_BY), 0, SAID(OPT_STATS), NULL },
	{ SAID(OPT_STATS), ~(SAID(OPT_STATS) | SAID(OPT_BY) | SAID(OPT_SINCE) | SAID(OPT_JSON) | SAID(JSON_LINES)), 0, NULL },
	{ SAID(OPT_LIMITS), ~(SAID(OPT_LIMITS) | SAID(OPT_JSON) | SAID(JSON_LINES)), 0, NULL },
	{ SOME_EVENTS | LIVE | SAID(WITH_RUN) | SAID(WITH_STDIN) | SAID(OPT_LOG) | SAID(OPT_NO_VIEW) |
	    SAID(OPT_EXIT_STATUS) | SAID(OPT_INLINE) | SAID(OPT_DROP), SAID(OPT_LIST), 0, NULL },
	{ SOME_EVENTS | LIVE | SAID(WITH_RUN) | SAID(WITH_STDIN) | SAID(OPT_LOG) | SAID(OPT_NO_VIEW) |
	    SAID(OPT_EXIT_STATUS) | SAID(OPT_INLINE) | SAID(OPT_DROP) | SAID(OPT_LIST) | SAID(OPT_LINES) |
	    SAID(OPT_SINCE) | SAID(OPT_CHILDREN) | SAID(OPT_COST) | SAID(OPT_FULL) | SAID(OPT_AS),
	    SAID(OPT_SESSIONS), 0, NULL },
};

static bool
has_option(const struct tail *t, int id)
{
	return (t->said & SAID(id)) != 0;
}

static struct tail tail = { .color = "auto", .buffer = BUFFER_DEFAULT };
static volatile sig_atomic_t end_signal, resized, stopping, continued;

static void
on_end(int number)
{
	end_signal = number;
}

static void
on_resize(int number)
{
	(void)number;
	resized = 1;
}

static void
on_stop(int number)
{
	(void)number;
	stopping = 1;
}

static void
on_continue(int number)
{
	(void)number;
	continued = 1;
}

/* Prints an error or a warning; returns the exit status. */
static int
tail_print_error(const struct error *err)
{
	struct error named = *err;

	served_name(&tail.served, &named);
	return program_fail(PROGRAM, &named);
}

static void
print_warning(const char *text)
{
	message_print(PROGRAM, "%s", text);
}

/* A damaged file may cause any number of warnings, so similar ones are counted. */
static struct folded_messages warnings = FOLDED_MESSAGES_INIT(print_warning);

/* With -f, each warning is printed at once. */
static void
tail_print_or_fold_warning(const struct error *warning)
{
	char text[sizeof warning->place + sizeof warning->message + 4];
	struct error named = *warning;

	if ((tail.said & LIVE) != 0) {
		tail_print_error(warning);
		return;
	}
	served_name(&tail.served, &named);
	error_text(&named, text, sizeof text);
	folded_messages_add(&warnings, NULL, text);
}

/* Handles an operand, or an option for which it is not enough to store its value. */
static int
accept_value(struct tail *t, struct options *o, int id, struct error *err)
{
	const char *value = o->value;

	switch (id) {
	case OPTION_WORD:
		if (t->run)
			return error_set(err, ERROR_USAGE, value, "only one run at a time");
		t->run = value;
		o->said |= SAID(strcmp(value, "-") == 0 ? WITH_STDIN : WITH_RUN);
		t->at_server = served_is_url(value);
		return 0;
	case OPT_TYPE:
		filter_types(&t->filter, value);
		return 0;
	case OPT_PATH:
		globs_add(&t->filter.paths, value);
		return 0;
	case OPT_NAME:
		globs_add(&t->names, value);
		return 0;
	case OPT_GREP:
		return filter_grep(&t->filter, value, err);
	default: /* --as */
		t->projector.projection = projection_find(value, "--as", err);
		return t->projector.projection != NULL ? 0 : -1;
	}
}

/* Reads the options. 0, the id of --help or --version if that was given, or -1. */
static int
tail_read_options(struct tail *t, int argc, char **argv, struct error *err)
{
	struct options o;
	int id;

	options_begin(&o, options_table, argc, argv);
	options_bind(&o, t);
	while ((id = options_next(&o, err)) != OPTION_END) {
		if (id == -1 || OPTION_ASKS(id))
			return id;
		if (accept_value(t, &o, id, err) != 0)
			return -1;
	}
	if (t->since != 0)
		clock_text(t->since, t->filter.since);
	if (t->projector.projection != NULL && t->projector.projection->document != NULL)
		o.said |= SAID(AS_DOCUMENT);
	/* With -F, a server's latest run is followed, then each run that becomes the latest. */
	if ((o.said & SAID(OPT_FOREVER)) != 0 && t->at_server && text_ends(t->run, "/@"))
		o.said &= ~SAID(WITH_RUN);
	if ((o.said & (SAID(OPT_JSON) | SAID(OPT_LIST) | SAID(OPT_SESSIONS))) == SAID(OPT_JSON))
		o.said |= SAID(JSON_LINES);
	t->said = o.said;
	if (options_check(&o, rules, sizeof rules / sizeof *rules, err) != 0)
		return -1;
	if (t->projector.tools && !projection_has_tools(t->projector.projection))
		return error_set(err, ERROR_USAGE, "--tools", "--as %s has them always",
		    t->projector.projection->name);
	return 0;
}

static bool
tail_is_live(const struct tail *t)
{
	return (t->said & LIVE) != 0;
}

/* Whether blobs are put back into their lines. */
static bool
wants_blobs(const struct tail *t)
{
	return has_option(t, OPT_INLINE) || has_option(t, OPT_FULL);
}

/* Erases the status line, then warns about what was read; place may be NULL. */
static void tail_warn_of_place(struct tail *t, const char *place, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
static void
tail_warn_of_place(struct tail *t, const char *place, const char *format, ...)
{
	struct error warning;
	char text[sizeof warning.message];
	va_list list;

	va_start(list, format);
	vsnprintf(text, sizeof text, format, list);
	va_end(list);
	error_set(&warning, ERROR_INVALID_INPUT, place, "%s", text);
	printer_warn(&t->printer, &warning);
}

static void
tail_warn_of_damage(struct tail *t, const char *place, int64_t line)
{
	tail_warn_of_place(t, place, "line %lld is damaged (see awf-verify)", (long long)line);
}

static void
tail_warn_of_torn_end(struct tail *t, const char *place, int64_t bytes)
{
	if (bytes > 0)
		tail_warn_of_place(t, place,
		    "%lld bytes after the last whole line (see awf-verify)", (long long)bytes);
}

/* Passes a line, shown or not, to the model of its run, if a model is needed. When a run ends, the
 * cost of all of it is shown. */
static void
tail_add_line_to_model(struct tail *t, struct followed *run, const char *line, size_t len)
{
	const struct event_place place = { run->reader.line_start, (uint32_t)len };
	struct event_view event;
	struct placed placed;

	t->line_cost = COST_NONE;
	if (!has_option(t, OPT_COST) && !t->printer.status_line)
		return;
	if (!model_line(&run->model, line, len, place, &event, &placed))
		return;
	if (t->printer.live != NULL)
		live_feed_take(&t->live, &placed);
	else if (has_option(t, OPT_COST))
		t->line_cost = cost_take(&t->cost, &placed);
	if (!has_option(t, OPT_COST))
		return;
	if (event.type == EVENT_RUN_COMPLETED && run->depth == 0)
		t->line_cost = cost_sum(&t->cost);
	if (t->cost.unknown != NULL && !t->told_unknown)
		tail_warn_of_place(t, "--cost", "no price of %s is known (see awf-prices(5))",
		    t->cost.unknown);
	t->told_unknown |= t->cost.unknown != NULL;
}

/* Remembers the paths of events, until one matches. */
static void
note_path(struct tail *t, const char *line, size_t len, enum verdict verdict)
{
	struct event_view event;
	char *path;

	t->passed |= verdict == VERDICT_YES;
	if (t->passed || !has_option(t, OPT_PATH) || event_view(line, len, &event) != 0 ||
	    (path = span_text(event.path)) == NULL)
		return;
	if (list_count(t->seen) < PATHS_SUGGESTED && !list_has(t->seen, path))
		list_add(&t->seen, path);
	free(path);
}

/* If no line has matched, checks whether the user has misspelt a type or a path. */
static void
tail_suggest_filters(struct tail *t)
{
	const struct globs *types = &t->printer.filter.types, *paths = &t->printer.filter.paths;
	const char *names[EVENT_TYPES + 1] = { NULL };
	char *hint;

	for (size_t i = 0; i < EVENT_TYPES; i++)
		names[i] = event_type_name((enum event_type)i);
	for (size_t i = 0; has_option(t, OPT_TYPE) && i < types->count; i++)
		if (strpbrk(types->patterns[i], "*?[") == NULL && text_index(types->patterns[i], names) == -1) {
			hint = text_hint(types->patterns[i], names);
			tail_warn_of_place(t, "--type", "no event has the type '%s'%s",
			    types->patterns[i], hint);
			free(hint);
		}
	for (size_t i = 0; i < paths->count; i++)
		if (strpbrk(paths->patterns[i], "*?[") == NULL && !list_has(t->seen, paths->patterns[i])) {
			hint = text_hint(paths->patterns[i], (const char *const *)(uintptr_t)t->seen);
			tail_warn_of_place(t, "--path", "no event has the path '%s'%s",
			    paths->patterns[i], hint);
			free(hint);
		}
}

static int
on_line(void *context, struct followed *run, const char *line, size_t len, struct error *err)
{
	struct tail *t = context;
	char *blobs = wants_blobs(t) ? transcript_blobs(run->path, run->run_id) : NULL;
	struct origin origin = { follow_root(run)->run_id, blobs, run->depth,
		follow_began(run) };
	enum verdict verdict = VERDICT_NO;
	int failed = 0;

	tail_add_line_to_model(t, run, line, len);
	/* Project lines that are not shown, too: a projection numbers its lines. */
	buffer_clear(&t->projected);
	if (t->projector.projection)
		failed = projector_line(&t->projector, run->path, run->reader.line_start, line, len,
		    &t->projected, err);
	if (failed == 0)
		failed = printer_line(&t->printer, &origin, &run->head, line, len, &verdict, err);
	note_path(t, line, len, verdict);
	if (verdict == VERDICT_DAMAGED)
		tail_warn_of_damage(t, run->path, t->served.skipped + follow_line_number(run));
	free(blobs);
	return failed;
}

static void
on_warning(void *context, const struct error *warning)
{
	struct tail *t = context;

	if (t->printer.live != NULL && warning->code == ERROR_INTERRUPTED)
		live_feed_died(&t->live, warning->place);
	printer_warn(&t->printer, warning);
}

/* Moves the reader of a run to where --after, --since and -n say. Earlier lines must be read as
 * well in some cases: a child run that began before that time has later events, and the status line
 * may depend on them. */
static int
start_reading(struct tail *t, struct followed *run, struct error *err)
{
	struct reader *r = &run->reader;
	int64_t after = 0, begin;
	const char *line;
	size_t len;
	int got = 1;

	if (has_option(t, OPT_AFTER)) {
		if (reader_seek_after(r, t->after, err) != 0)
			return -1;
		after = r->position;
	}
	if (has_option(t, OPT_SINCE) && !has_option(t, OPT_CHILDREN) && !t->printer.status_line) {
		if (reader_seek_since(r, t->printer.filter.since, err) != 0)
			return -1;
		if (r->position < after)
			reader_seek(r, after);
		after = r->position;
	}
	if (has_option(t, OPT_LINES) &&
	    filter_seek_last(&t->printer.filter, r, t->lines, after, err) != 0)
		return -1;
	begin = r->position;
	if (has_option(t, OPT_COST) && begin > 0) {
		reader_seek(r, 0);
		while (r->position < begin && (got = reader_next(r, &line, &len, err)) == 1)
			tail_add_line_to_model(t, run, line, len);
		reader_seek(r, begin);
		if (got == -1)
			return -1;
	}
	if (tail_is_live(t) && has_option(t, OPT_CHILDREN))
		return follow_passed_over(&t->follow, run, err);
	return 0;
}

/* Adds the run that the command line names, or the latest. */
static int
add_subject(struct tail *t, struct error *err)
{
	struct run_ref ref;
	char *path;

	if (storage_resolve(&t->storage, t->run, &ref, err) != 0)
		return -1;
	path = ref.in_storage ? NULL : realpath(ref.path, NULL);
	t->subject = follow_add(&t->follow, path ? path : ref.path, ref.run_id, err);
	free(path);
	run_ref_free(&ref);
	return t->subject ? start_reading(t, t->subject, err) : -1;
}

/* Ctrl-Z: erases the view, and stops as if nothing had been drawn. */
static void
stop_here(struct tail *t)
{
	struct sigaction usual = { .sa_handler = SIG_DFL }, before;

	stopping = 0;
	printer_hide(&t->printer);
	sigaction(SIGTSTP, &usual, &before);
	raise(SIGTSTP);
	sigaction(SIGTSTP, &before, NULL);
	continued = 1;
}

/* Waits until transcripts may have grown, or stdout can be written to. If nobody reads stdout any
 * more, this process dies of SIGPIPE, as if it had written. */
static void
wait_for_change(struct tail *t)
{
	struct watch *w = &t->follow.watch;
	struct pollfd fds[] = {
		{ .fd = w->fd, .events = POLLIN },
		{ .fd = STDOUT_FILENO, .events = outlet_empty(&t->printer.outlet) ? 0 : POLLOUT },
		served_poll(&t->served),
	};

	poll_until(fds, sizeof fds / sizeof *fds, clock_monotonic() +
	    printer_patience(&t->printer, w->fd == -1 ? SLEEP_UNWATCHED : FOLLOW_LOOK_MS));
	watch_drain(w);
	if (fds[1].revents & (POLLERR | POLLNVAL))
		raise(SIGPIPE);
	if (stopping)
		stop_here(t);
	if (continued) { /* others have used the terminal meanwhile */
		continued = 0;
		screen_forget(&t->printer.screen);
		resized = 1;
	}
	if (resized) {
		resized = 0;
		printer_resize(&t->printer);
	}
}

/* The server's recording differs from the one that was shown; the beginning that both have in
 * common is not shown again. The model is built again from the new lines; projections read the
 * recording themselves. */
static int
start_over(struct tail *t, const struct served_change *change, struct error *err)
{
	struct followed *run = follow_find(&t->follow, change->run_id);
	const char *line;
	int64_t position;
	size_t len;
	int got = 1;

	if (!run)
		return 0;
	if (follow_replaced(&t->follow, run, change->bytes, err) != 0)
		return -1;
	projector_forget(&t->projector, run->path);
	position = run->reader.position;
	if (run->open && (has_option(t, OPT_COST) || t->printer.status_line)) {
		reader_seek(&run->reader, 0);
		while (run->reader.position < position &&
		    (got = reader_next(&run->reader, &line, &len, err)) == 1) {
			const struct event_place place = { run->reader.line_start, (uint32_t)len };
			struct event_view event;
			struct placed placed;

			if (model_line(&run->model, line, len, place, &event, &placed) &&
			    t->printer.live != NULL)
				live_feed_take(&t->live, &placed);
		}
		/* These ends were printed before: drop them. */
		if (t->printer.live != NULL)
			live_view_told(&t->live.view, 0, &t->projected);
		reader_seek(&run->reader, position);
	}
	if (got == -1)
		return -1;
	tail_warn_of_place(t, run->path,
	    "the record has changed after event %lld, as after a power failure: discard what was "
	    "shown after that", (long long)change->seq);
	return 0;
}

/* Handles the changes that the server has sent. -1: no more will come. */
static int
tail_read_served_changes(struct tail *t, struct error *err)
{
	struct served_change change;

	for (;;)
		switch (served_next(&t->served, &change)) {
		case SERVED_NOTHING:
			return 0;
		case SERVED_WARNING:
			printer_warn(&t->printer, &change.error);
			break;
		case SERVED_REPLACED:
			if (start_over(t, &change, err) != 0)
				return -1;
			break;
		case SERVED_FAILED:
			*err = change.error;
			return -1;
		}
}

/* Shows everything that is new. */
static int
follow_round(struct tail *t, struct error *err)
{
	int64_t now = clock_monotonic();
	struct error why;
	int failed = tail_read_served_changes(t, &why);

	if (follow_read(&t->follow, err) != 0)
		return -1;
	if (failed != 0) {
		*err = why;
		return -1;
	}
	if (now - t->checked_at >= FOLLOW_LOOK_MS) {
		t->checked_at = now;
		if (follow_check(&t->follow, err) != 0)
			return -1;
	}
	if (t->printer.status_line && t->printer.live == NULL) {
		struct progress progress = PROGRESS_INIT;

		buffer_clear(&t->printer.status);
		for (size_t i = 0; i < t->follow.count; i++)
			progress_add(&progress, &t->follow.runs[i]->model);
		progress_text(&progress, clock_wall(), &t->printer.status);
		progress_free(&progress);
	}
	return printer_pause(&t->printer, err);
}

static int
follow_to_end(struct tail *t, struct error *err)
{
	while (!end_signal) {
		if (follow_round(t, err) != 0)
			return -1;
		if (follow_over(&t->follow))
			return 0;
		wait_for_change(t);
	}
	return 0;
}

/* -F: follows every run that becomes the latest. */
static int
follow_forever(struct tail *t, struct error *err)
{
	t->follow.every = true;
	while (!end_signal) {
		struct followed *run;

		t->printer.idle = follow_over(&t->follow) ? "waiting for a run" : NULL;
		if (follow_round(t, err) != 0 ||
		    follow_latest(&t->follow, &t->storage, &run, err) != 0)
			return -1;
		if (!run)
			wait_for_change(t);
	}
	return 0;
}

/* The latest run has ended: waits until another begins, or this one is resumed. */
static int
wait_for_run(struct tail *t, struct error *err)
{
	struct followed *run = NULL;

	t->printer.idle = "waiting for a run";
	while (!end_signal) {
		if (follow_round(t, err) != 0 ||
		    follow_latest(&t->follow, &t->storage, &run, err) != 0)
			return -1;
		if (run)
			t->subject = run;
		if (run || !follow_over(&t->follow))
			break;
		wait_for_change(t);
	}
	t->printer.idle = NULL;
	return 0;
}

/* The user named no run: follows the latest if it is alive, else the next one. */
static int
follow_default(struct tail *t, struct error *err)
{
	struct run_ref ref;

	if (follow_find_latest(&t->storage, &ref)) {
		run_ref_free(&ref);
		if (add_subject(t, err) != 0)
			return -1;
	}
	if (has_option(t, OPT_FOREVER))
		return follow_forever(t, err);
	if (!t->subject || !transcript_alive(t->subject->path, t->subject->run_id)) {
		if (t->subject && reader_seek_last(&t->subject->reader, 0, err) != 0)
			return -1;
		if (wait_for_run(t, err) != 0)
			return -1;
	}
	return follow_to_end(t, err);
}

static int
write_whole(const struct buffer *out, struct error *err)
{
	if (file_write(STDOUT_FILENO, buffer_string(out), out->len) == 0)
		return 0;
	return error_errno(err, ERROR_SYSTEM, "stdout", "unable to write");
}

/* Writes a JSON value, whose contents are data, harmless for a terminal. */
static int
write_json(const struct buffer *out, struct error *err)
{
	if (terminal_write_json(STDOUT_FILENO, buffer_string(out), out->len) == 0)
		return 0;
	return error_errno(err, ERROR_SYSTEM, "stdout", "unable to write");
}

/* If lines are printed unchanged, they do not depend on earlier ones: so request only those that
 * are needed. */
static void
choose_range(const struct tail *t, struct served_range *range)
{
	*range = (struct served_range){ .last = -1 };
	if (tail_is_live(t) || !has_option(t, OPT_JSON) || has_option(t, OPT_AS) ||
	    has_option(t, OPT_CHILDREN) ||
	    has_option(t, OPT_COST))
		return;
	if (has_option(t, OPT_AFTER))
		range->after = t->after;
	if (has_option(t, OPT_LINES) && filter_open(&t->printer.filter))
		range->last = t->lines;
}

/* Opens a copy of a server's run, which is read instead of the storage. */
static int
tail_open_served_run(struct tail *t, struct error *err)
{
	struct served_range range;
	bool blobs = wants_blobs(t) || has_option(t, AS_DOCUMENT);
	unsigned what = (tail_is_live(t) ? SERVED_FOLLOW : 0) | (blobs ? SERVED_BLOBS : 0) |
	    (has_option(t, OPT_CHILDREN) ? SERVED_CHILDREN : 0) |
	    (has_option(t, OPT_FOREVER) ? SERVED_LATEST : 0);

	choose_range(t, &range);
	if (served_open(&t->served, t->run, what, &range, tail_print_or_fold_warning, err) != 0)
		return -1;
	t->storage.root = memory_text(t->served.storage.root);
	t->run = has_option(t, OPT_FOREVER) ? NULL : t->served.run_id;
	t->follow.since = 0; /* the copy is new: show all of it, whatever the clocks say */
	return 0;
}

static int
show_runs(struct tail *t, struct error *err)
{
	int failed;

	follow_begin(&t->follow, &t->callbacks, has_option(t, OPT_CHILDREN) || t->printer.live != NULL);
	t->follow.level = t->printer.live != NULL ? MODEL_INSIDE :
	    has_option(t, OPT_COST) ? MODEL_EVENTS : MODEL_LIVE;
	if (tail_is_live(t))
		follow_live(&t->follow);
	if (t->at_server ? tail_open_served_run(t, err) != 0 :
	    (tail_is_live(t) ? storage_prepare(&t->storage, err) :
	    storage_locate(&t->storage, err)) != 0)
		return -1;
	if (tail_is_live(t) && !has_option(t, WITH_RUN))
		failed = follow_default(t, err);
	else if ((failed = add_subject(t, err)) == 0)
		failed = tail_is_live(t) ? follow_to_end(t, err) : follow_read(&t->follow, err);

	/* While the run is alive, bytes after the last LF belong to a line that is being written;
	 * later they are damage. */
	for (size_t i = 0; failed == 0 && !end_signal && i < t->follow.count; i++) {
		struct followed *run = t->follow.runs[i];

		if (run->open && !transcript_alive(run->path, run->run_id))
			tail_warn_of_torn_end(t, run->path, reader_unfinished(&run->reader));
	}
	/* A document is complete only after everything was read. */
	if (failed != 0 || !has_option(t, AS_DOCUMENT))
		return failed;
	buffer_clear(&t->projected);
	projector_document(&t->projector, &t->projected);
	return write_json(&t->projected, err);
}

/* Prints a line of stdin; number: of the line, for messages. */
static int
print_line(struct tail *t, const char *line, size_t len, int64_t number, struct error *err)
{
	static const char no_run[ID_SIZE];
	static char begun[ID_SIZE]; /* the run whose run.started was read */
	static int64_t began;
	struct event_view event;
	struct event_head head;
	char run_id[ID_SIZE] = "", *blobs = NULL;
	enum verdict verdict;
	int failed;

	event_peek(line, len, &head);
	if (event_view(line, len, &event) == 0 && span_copy(event.run_id, run_id, sizeof run_id) &&
	    id_valid(run_id, strlen(run_id))) {
		if (event.type == EVENT_RUN_STARTED && strcmp(begun, run_id) != 0) {
			memcpy(begun, run_id, sizeof begun);
			began = event_wall(&event);
		}
		if (wants_blobs(t))
			blobs = storage_blobs(&t->storage, run_id);
	}
	failed = printer_line(&t->printer, &(struct origin){ no_run, blobs, 0,
	    strcmp(begun, run_id) == 0 ? began : 0 }, &head, line, len,
	    &verdict, err);
	note_path(t, line, len, verdict);
	if (verdict == VERDICT_DAMAGED)
		tail_warn_of_damage(t, "stdin", number);
	free(blobs);
	return failed;
}

/* Reads the lines of stdin as they come: prints each, or with -n keeps the last ones. */
static int
read_stdin(struct tail *t, struct line_input *in, struct line_ring *kept,
    struct error *err)
{
	struct event_head head;
	const char *line;
	size_t len;
	int got;

	for (;;) {
		if (line_input_waits(in) && printer_pause(&t->printer, err) != 0)
			return -1;
		if ((got = line_input_next(in, &line, &len, err)) != 1)
			return got;
		if (!has_option(t, OPT_LINES)) {
			if (print_line(t, line, len, in->lines, err) != 0)
				return -1;
			continue;
		}
		event_peek(line, len, &head);
		switch (filter_event(&t->printer.filter, &head, line, len)) {
		case VERDICT_YES:
			line_ring_put(kept, line, len + 1);
			break;
		case VERDICT_DAMAGED:
			tail_warn_of_damage(t, "stdin", in->lines);
			break;
		case VERDICT_NO:
			break;
		}
	}
}

static int
show_stdin(struct tail *t, struct error *err)
{
	struct line_ring kept = { .room = (size_t)t->lines };
	struct line_input in;
	int failed;

	if (storage_locate(&t->storage, err) != 0)
		return -1;
	t->printer.filter.after = t->after;
	line_input_begin(&in, STDIN_FILENO, "stdin");
	failed = read_stdin(t, &in, &kept, err);
	for (size_t i = 0; failed == 0 && i < kept.count; i++) {
		const struct buffer *line = line_ring_get(&kept, i);

		failed = print_line(t, line->data, line->len - 1, 0, err);
	}
	if (failed == 0)
		tail_warn_of_torn_end(t, "stdin", (int64_t)line_input_unfinished(&in));
	line_ring_free(&kept);
	line_input_free(&in);
	return failed;
}

/* No run was listed: checks whether its name was misspelt. */
static void
tail_suggest_run_names(const struct tail *t)
{
	const struct listing_spec spec = { .names = &(struct globs){ NULL, 0 }, .count = NAMES_SUGGESTED,
		.children = true, .warn = tail_print_or_fold_warning };
	char **names = memory_zero(1, sizeof *names), *hint;
	struct error ignored, said;
	struct listing list;

	if (listing_read(&list, &t->storage, &spec, &ignored) == 0) {
		for (size_t i = 0; i < list.count; i++)
			if (!list_has(names, list.runs[i].name))
				list_add(&names, list.runs[i].name);
		listing_free(&list);
	}
	for (size_t i = 0; i < t->names.count; i++)
		if (strpbrk(t->names.patterns[i], "*?[") == NULL && !list_has(names, t->names.patterns[i])) {
			hint = text_hint(t->names.patterns[i], (const char *const *)(uintptr_t)names);
			error_set(&said, ERROR_USAGE, "--name", "no run has the name '%s'%s",
			    t->names.patterns[i], hint);
			tail_print_or_fold_warning(&said);
			free(hint);
		}
	list_free(names);
}

static int
list_runs(struct tail *t, struct error *err)
{
	const struct listing_spec spec = {
		.names = &t->names,
		.status = t->status,
		.since = t->since,
		/* ask for one more, to know whether there are more */
		.count = has_option(t, OPT_LINES) ? (size_t)t->lines : LIST_DEFAULT + 1,
		.children = has_option(t, OPT_CHILDREN),
		.waits = has_option(t, OPT_JSON),
		.cost = has_option(t, OPT_COST) ? &t->cost : NULL,
		.warn = tail_print_or_fold_warning,
	};
	struct buffer out = BUFFER_INIT;
	struct listing list;
	struct error said;
	bool more;
	int failed;

	if (storage_locate(&t->storage, err) != 0 ||
	    listing_read(&list, &t->storage, &spec, err) != 0)
		return -1;
	more = !has_option(t, OPT_LINES) && list.count > LIST_DEFAULT;
	if (more)
		summary_free(&list.runs[--list.count]);
	if (has_option(t, OPT_JSON))
		listing_json(&list, &out);
	else
		listing_table(&list, isatty(STDOUT_FILENO),
		    terminal_colour(STDOUT_FILENO, t->color), &out);
	failed = has_option(t, OPT_JSON) ? write_json(&out, err) : write_whole(&out, err);
	if (failed == 0 && list.count == 0 && t->names.count > 0)
		tail_suggest_run_names(t);
	if (failed == 0 && more && !has_option(t, OPT_JSON)) {
		error_set(&said, ERROR_USAGE, NULL, "these are the newest %d runs: -n N lists more",
		    LIST_DEFAULT);
		tail_print_or_fold_warning(&said);
	}
	listing_free(&list);
	buffer_free(&out);
	return failed;
}

/* A line for a session: its name, how many calls have gone on with it, and the last of these. */
static void
write_session(const struct tail *t, const char *name, const struct session *s, struct buffer *out)
{
	const struct session_call *last = &s->calls[s->count - 1];
	struct writer w;
	char id[ID_SIZE];
	int64_t at = 0;
	struct tm local;
	char when[32] = "";

	if (has_option(t, OPT_JSON)) {
		writer_begin(&w, out);
		writer_object(&w);
		writer_member_string(&w, "session", name);
		writer_member_integer(&w, "calls", (int64_t)s->count);
		writer_member_string(&w, "at", last->at);
		writer_member_string(&w, "run_id", last->run_id);
		writer_member_string(&w, "call", last->call);
		writer_member_string(&w, "agent", last->agent);
		writer_object_end(&w);
		buffer_byte(out, '\n');
		return;
	}
	if (last->at != NULL && clock_parse(last->at, 0, &at) == 0) {
		clock_local(at, &local);
		strftime(when, sizeof when, "%Y-%m-%d %H:%M:%S", &local);
	}
	buffer_format(out, "%-20s  %5zu  %-19s  %-8s  ", name, s->count, when,
	    storage_short_id(&t->storage, last->run_id, id));
	text_visible(out, last->agent != NULL ? last->agent : "", last->agent != NULL ? strlen(last->agent) : 0, 0);
	buffer_byte(out, '\n');
}

static int
list_sessions(struct tail *t, struct error *err)
{
	struct buffer out = BUFFER_INIT;
	char **names = NULL;
	int failed;

	if (storage_locate(&t->storage, err) != 0)
		return -1;
	failed = session_names(&t->storage, &names, err);
	if (failed == 0 && names != NULL && !has_option(t, OPT_JSON))
		buffer_format(&out, "%-20s  %5s  %-19s  %-8s  %s\n", "SESSION", "CALLS", "LAST", "RUN", "AGENT");
	for (char **name = names; failed == 0 && name != NULL && *name != NULL; name++) {
		struct session session;

		failed = session_read(&session, &t->storage, *name, err);
		if (failed == 0 && session.count > 0)
			write_session(t, *name, &session, &out);
		session_leave(&session);
	}
	if (failed == 0)
		failed = has_option(t, OPT_JSON) ? write_json(&out, err) : write_whole(&out, err);
	list_free(names);
	buffer_free(&out);
	return failed;
}

/* SIGPIPE ends this program at once, as other filters. Other signals first erase the status line on
 * a terminal. */
static void
set_up_signals(const struct tail *t)
{
	static const int ends[] = { SIGINT, SIGTERM, SIGHUP };
	struct sigaction action = { .sa_handler = on_end, .sa_flags = (int)SA_RESETHAND };

	signal(SIGPIPE, SIG_DFL);
	if (!t->printer.status_line)
		return;
	for (size_t i = 0; i < sizeof ends / sizeof *ends; i++)
		sigaction(ends[i], &action, NULL);
	action = (struct sigaction){ .sa_handler = on_resize };
	sigaction(SIGWINCH, &action, NULL);
	action.sa_handler = on_continue;
	sigaction(SIGCONT, &action, NULL);
	/* Who started this program may ignore SIGTSTP: where there is no job control. */
	if (!has_option(t, WITH_STDIN) && sigaction(SIGTSTP, NULL, &action) == 0 && action.sa_handler == SIG_DFL) {
		action = (struct sigaction){ .sa_handler = on_stop };
		sigaction(SIGTSTP, &action, NULL);
	}
}

/* Chooses between the live view, the status line, and neither. */
static int
choose_view(struct tail *t, struct error *err)
{
	struct printer *p = &t->printer;
	enum screen_mode mode;
	struct error none;

	if (screen_mode(&mode, NULL, err) != 0)
		return -1;
	/* A user who selects events, or how they are shown, wants to see the events. */
	if (mode == SCREEN_LIVE && (t->said & OF_THE_LOG) != 0)
		mode = SCREEN_LOG;
	if (has_option(t, OPT_NO_VIEW) || !terminal_moves(STDOUT_FILENO) || !tail_is_live(t))
		mode = SCREEN_OFF;
	p->status_line = mode != SCREEN_OFF;
	if (mode != SCREEN_LIVE)
		return 0;
	live_feed_begin(&t->live, &t->storage);
	t->live.view.ends = true;
	t->live.view.colour = terminal_colour(STDOUT_FILENO, t->color);
	t->live.view.utf8 = locale_is_utf8();
	/* Show costs in the view if prices can be loaded. */
	if (has_option(t, OPT_COST) || cost_begin(&t->cost, &none) == 0)
		t->live.view.cost = &t->cost;
	p->live = &t->live;
	return 0;
}

static int
tail_show_runs(struct tail *t, struct error *err)
{
	struct printer *p = &t->printer;
	bool terminal = isatty(STDOUT_FILENO);
	int64_t unchained;
	struct error late;
	int failed;

	printer_begin(p, STDOUT_FILENO, has_option(t, OPT_DROP) ? (size_t)t->buffer : 0);
	p->warn = tail_print_or_fold_warning;
	p->filter = t->filter;
	p->filter.errors = has_option(t, OPT_ERRORS);
	p->view.errors = has_option(t, OPT_ERRORS) && !has_option(t, OPT_FULL);
	p->json = has_option(t, OPT_JSON);
	p->full = p->view.untold = has_option(t, OPT_FULL);
	p->inlined = wants_blobs(t);
	p->view.cost = has_option(t, OPT_COST) ? &t->line_cost : NULL;
	p->instead = has_option(t, OPT_AS) ? &t->projected : NULL;
	p->headed = has_option(t, OPT_FOREVER);
	if (choose_view(t, err) != 0)
		return -1;
	p->view.colour = p->screen.colour = terminal_colour(STDOUT_FILENO, t->color);
	p->view.symbols = terminal || strcmp(t->color, "always") == 0;
	printer_resize(p);
	set_up_signals(t);

	failed = has_option(t, WITH_STDIN) ? show_stdin(t, err) : show_runs(t, err);
	if (failed == 0 && !t->passed && !tail_is_live(t) && !has_option(t, OPT_LINES))
		tail_suggest_filters(t);
	/* Lines without a "prev" are shown, but nothing protects them from changes; only awf-verify
	 * checks the chain. */
	unchained = p->unchained;
	if (unchained > 0)
		tail_warn_of_place(t, NULL,
		    "%lld %s not end in \"prev\": no chain vouches for %s (see awf-verify)",
		    (long long)unchained, unchained == 1 ? "line does" : "lines do",
		    unchained == 1 ? "it" : "them");
	if (printer_finish(p, &late) != 0 && failed == 0) {
		*err = late;
		failed = -1;
	}
	if (end_signal)
		raise(end_signal);
	return failed;
}

/* The exit status when everything was shown. */
static int
status_of(const struct tail *t)
{
	const struct followed *run = t->subject;
	struct error warning;

	if (t->printer.incomplete)
		return STATUS_SYSTEM;
	if (!has_option(t, OPT_EXIT_STATUS) || !run)
		return STATUS_OK;
	if (run->end == RUN_COMPLETED)
		return run->exit_code;
	if (run->end == RUN_GOING && transcript_alive(run->path, run->run_id)) {
		error_set(&warning, ERROR_WAITING, run->run_id,
		    "run has not ended (wait for its end with -f)");
		tail_print_or_fold_warning(&warning);
	}
	return STATUS_WORK;
}

/* --limits and --stats: other programs know them. Returns only if that cannot be run. */
static int
tail_run_helper(const struct tail *t, const char *name, struct error *err)
{
	char *list = libexec_path(), *program = path_search(list, name), **argv = NULL, since[CLOCK_TEXT_SIZE];

	list_add(&argv, name);
	if (has_option(t, OPT_JSON))
		list_add(&argv, "--json");
	if (t->by != NULL) {
		list_add(&argv, "--by");
		list_add(&argv, t->by);
	}
	if (has_option(t, OPT_SINCE)) {
		list_add(&argv, "--since");
		list_add(&argv, clock_text(t->since, since));
	}
	if (program != NULL)
		execv(program, argv);
	error_errno(err, ERROR_SYSTEM, program != NULL ? program : name, "unable to run it");
	list_free(argv);
	free(program);
	free(list);
	return -1;
}

int
main(int argc, char **argv)
{
	struct tail *t = &tail;
	struct error err = ERROR_INIT;
	int id, status;

	program_begin();
	filter_begin(&t->filter);
	t->seen = memory_zero(1, sizeof *t->seen);
	t->callbacks = (struct follow_callbacks){ on_line, on_warning, t };
	id = tail_read_options(t, argc, argv, &err);
	switch (id) {
	case -1:
		return tail_print_error(&err);
	case OPTION_HELP:
	case OPTION_HELP_ALL:
		options_help(stdout, usage, options_table, id);
		return program_end(PROGRAM, STATUS_OK);
	case OPTION_VERSION:
		return program_end(PROGRAM, program_version(PROGRAM));
	}
	if ((has_option(t, OPT_LIMITS) && tail_run_helper(t, "awf-limits", &err) != 0) ||
	    (has_option(t, OPT_STATS) && tail_run_helper(t, "awf-stats", &err) != 0) || (has_option(t, OPT_COST) && cost_begin(&t->cost, &err) != 0) ||
	    (has_option(t, OPT_SESSIONS) ? list_sessions(t, &err) : has_option(t, OPT_LIST) ? list_runs(t, &err) : tail_show_runs(t, &err)) != 0)
		status = tail_print_error(&err);
	else
		status = status_of(t);
	folded_messages_end(&warnings);
	follow_end(&t->follow);
	if (t->printer.live != NULL)
		live_feed_free(&t->live);
	printer_free(&t->printer);
	projector_free(&t->projector);
	cost_free(&t->cost);
	buffer_free(&t->projected);
	globs_free(&t->names);
	list_free(t->seen);
	storage_close(&t->storage);
	served_close(&t->served);
	return status;
}
