/*
 * awf-record: reads from stdin what other programs have done, or runs that are recorded elsewhere;
 * records it, and acknowledges on stdout what is on disk.
 *
 * What the code relies on:
 *   - lib/ingest does everything about events, lines and runs. This file decides in which run
 *     events are recorded: the named one, the one that this process is in, or a new one.
 *   - A new run is made when its first event arrives, and ends when stdin ends.
 *   - Nothing is acknowledged before it is on disk. So a sender may send again what was not
 *     acknowledged; it is recorded once.
 *   - Received data is synced when nothing more can be read at once, or when there is much of it.
 */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/folded_messages.h"
#include "base/memory.h"
#include "base/options.h"
#include "base/patience.h"
#include "base/text.h"
#include "ingest/ingest.h"
#include "io/polling.h"
#include "io/terminal.h"
#include "json/writer.h"
#include "model/model.h"
#include "proc/interrupts.h"
#include "proc/message.h"
#include "program.h"
#include "storage/origin.h"
#include "storage/redactor.h"
#include "storage/run.h"
#include "transcript/call.h"
#include "transcript/event_keys.h"

#define PROGRAM "awf-record"
#define PIECE ((size_t)256 << 10)     /* bytes read at once */
#define UNSYNCED ((size_t)4 << 20)    /* bytes after which received data is synced, */
#define UNSYNCED_MS 200               /* and the time after which it is */
#define LEASE_MOST_MS (INT64_C(3650) * 24 * 3600 * 1000)

enum { OPT_NAME = 1, OPT_ORIGIN, OPT_LEASE, OPT_MAX_LINE, OPT_QUIET };

/* The run in which events are recorded. */
struct destination {
	const char *argument;    /* RUN; NULL: not given */
	struct run_ref ref;      /* the run that argument names */
	const char *name;        /* name of a new run */
	const char *vocabulary;  /* of the first event; NULL */
	char *const *argv;
	struct run run;          /* the run that this process is in, or a new one */
	bool entered, own;
	struct transcript guest; /* transcript of another process's run */
	bool is_guest;
	struct redactor redactor;
	struct recorder recorder;
	bool opened;
};

struct program {
	struct storage storage;
	struct destination to;
	struct ingest ingest;
	const char *sender;      /* for runs recorded elsewhere */
	int64_t max_line;        /* bytes */
	bool quiet;
	struct buffer out;       /* acknowledgements for stdout */
};

static const struct interrupts *interrupts; /* for waits that signals interrupt */

static void
print_refused(const char *text)
{
	message_print(PROGRAM, "%s", text);
}

/* A sender may cause any number of refusals, so similar messages are counted. */
static struct folded_messages refusals = FOLDED_MESSAGES_INIT(print_refused);

static void
record_print_message(const char *text)
{
	message_print(PROGRAM, "%s", text);
}

static void
record_print_warning(const struct error *warning)
{
	program_fail(PROGRAM, warning);
}

/* ---- the run of the events ---- */

/* Reads the first line of a transcript. */
static int
read_first(const char *path, char **name, char **kind, bool *masked, struct error *err)
{
	struct event_view view;
	struct reader r;
	const char *line;
	size_t len;
	int got;

	if (reader_open(&r, path, err) != 0)
		return -1;
	got = reader_next(&r, &line, &len, err);
	if (got == 0 || (got == 1 && (event_view(line, len, &view) != 0 ||
	    view.type != EVENT_RUN_STARTED)))
		got = error_set(err, ERROR_SCHEMA, path, "does not begin with a run.started");
	if (got == 1) {
		*name = span_text(span_member(view.payload, KEY_NAME));
		*kind = span_text(span_member(view.payload, KEY_KIND));
		*masked = span_true(span_member(view.payload, KEY_MASKED));
	}
	reader_close(&r);
	return got == 1 ? 0 : -1;
}

/* Continues a run of awf-record that has ended or died, as a new attempt. */
static int
record_reopen_run(struct destination *to, const char *name, struct error *err)
{
	const struct run_spec spec = { .name = name, .kind = INGEST_KIND, .argv = to->argv,
		.vocabulary = to->vocabulary, .keep_transcript = true, .latest = true,
		.repaired = record_print_message, .warn = record_print_warning };
	struct model model;
	int failed;

	if (run_reopen(&to->run, to->ref.run_id, err) != 0)
		return -1;
	model_begin(&model, MODEL_OPEN);
	failed = model_read_file(&model, to->ref.path, err);
	if (failed == 0)
		failed = run_restart(&to->run, (int)model.attempt + 1, &spec, err);
	model_free(&model);
	if (failed != 0)
		run_let_go(&to->run);
	to->own = failed == 0;
	return failed;
}

/* Opens the run that the user has named; if its process is alive, only its transcript. */
static int
open_named(struct destination *to, const struct storage *s, struct error *err)
{
	char *name = NULL, *kind = NULL, *blobs;
	bool masked = false;
	int failed = read_first(to->ref.path, &name, &kind, &masked, err);

	if (failed == 0 && masked)
		failed = error_set(err, ERROR_BLOCKED, to->ref.run_id,
		    "is masked (--mask): its filter is known inside of it alone");
	else if (failed == 0 && storage_run_alive(s, to->ref.run_id)) {
		blobs = storage_blobs(s, to->ref.run_id);
		failed = transcript_open(&to->guest, to->ref.path, blobs, to->ref.run_id, err);
		to->is_guest = failed == 0;
		to->guest.repaired = record_print_message;
		free(blobs);
	} else if (failed == 0 && kind != NULL && strcmp(kind, INGEST_KIND) == 0) {
		failed = record_reopen_run(to, name != NULL ? name : to->name, err);
	} else if (failed == 0) {
		failed = error_set(err, ERROR_BLOCKED, to->ref.run_id,
		    "is not running, and was not made by awf-record, so it cannot be continued");
	}
	free(kind);
	free(name);
	return failed;
}

static int
make_own(struct destination *to, struct error *err)
{
	struct run_spec spec = { .name = to->name, .kind = INGEST_KIND, .argv = to->argv,
		.vocabulary = to->vocabulary, .keep_transcript = true, .latest = true,
		.repaired = record_print_message, .warn = record_print_warning };

	if (redactor_open(&to->redactor, NULL, err) != 0)
		return -1;
	spec.redaction = redactor_redaction(&to->redactor);
	if (run_create(&to->run, &spec, err) != 0)
		return -1;
	to->own = true;
	return 0;
}

/* Opens the run for the events, when the first of them arrives. */
static int
open_destination(void *context, const char *vocabulary, struct recorder **recorder,
    struct error *err)
{
	struct program *p = context;
	struct destination *to = &p->to;
	const char *call, *path = "", *parent = NULL;
	struct transcript *t;
	int failed;

	to->vocabulary = vocabulary;
	if (to->argument != NULL) {
		failed = open_named(to, &p->storage, err);
	} else if (run_in_environment()) {
		failed = run_enter(&to->run, err);
		to->entered = failed == 0;
		if (failed == 0)
			failed = redactor_join(&to->redactor, &to->run, err);
		if (failed == 0)
			failed = call_around(&call, &path, err);
		parent = to->run.started;
		to->run.transcript.repaired = record_print_message;
	} else {
		failed = make_own(to, err);
	}
	if (failed != 0)
		return -1;
	t = to->is_guest ? &to->guest : &to->run.transcript;
	recorder_begin(&to->recorder, t, to->entered || to->own ? to->run.started : parent, path,
	    t->masked ? to->run.key : NULL);
	to->opened = true;
	*recorder = &to->recorder;
	return 0;
}

/* Ends a new run, and records its result. */
static int
close_destination(struct destination *to, const struct error *failure, int status, struct error *err)
{
	struct run_end end = { .status = "success", .exit_code = status, .error = failure };
	struct error cancelled;
	int failed = 0;

	if (to->opened)
		recorder_end(&to->recorder);
	if (to->own && interrupts_arrived(interrupts, &cancelled)) {
		end.status = "cancelled";
		end.exit_code = 128 + *interrupts->signal_number;
		end.error = &cancelled;
	} else if (failure->code != ERROR_NONE) {
		end.status = "failed";
	}
	if (to->own)
		failed = run_finish(&to->run, &end, err);
	if (to->own || to->entered)
		run_close(&to->run);
	if (to->is_guest)
		transcript_close(&to->guest);
	redactor_free(&to->redactor);
	run_ref_free(&to->ref);
	return failed;
}

/* ---- messages ---- */

static void
record_acknowledge_event(void *context, const struct ingest_taken *taken)
{
	struct program *p = context;
	struct writer w;

	if (p->quiet)
		return;
	writer_begin(&w, &p->out);
	writer_object(&w);
	writer_member_string(&w, KEY_RUN_ID, taken->run_id);
	writer_member_span(&w, KEY_EVENT_ID, taken->event_id);
	if (taken->seq > 0)
		writer_member_integer(&w, KEY_SEQ, taken->seq);
	else
		writer_member_bool(&w, "duplicate", true);
	writer_object_end(&w);
	buffer_byte(&p->out, '\n');
}

/* Prints "stdin:LINE: RUN: MESSAGE" about a refused line. */
static bool
record_print_refused_event(void *context, const struct ingest_refusal *refusal)
{
	char text[sizeof refusal->error.place + sizeof refusal->error.message + 4], place[64];
	char whole[sizeof text + sizeof place + 4];
	struct error told;
	struct buffer said = BUFFER_INIT;

	(void)context;
	snprintf(place, sizeof place, refusal->event > 0 ? "stdin:%lld, event %lld" :
	    refusal->line > 0 ? "stdin:%lld" : "stdin", (long long)refusal->line,
	    (long long)refusal->event);
	error_text(&refusal->error, text, sizeof text);
	error_set(&told, refusal->error.code, place, "%s", text);
	buffer_text(&said, error_text(&told, whole, sizeof whole));
	folded_messages_add(&refusals, refusal->error.message, said.data);
	buffer_free(&said);
	return true;
}

static int
status_of(enum ingest_fault fault)
{
	static const int statuses[] = { [INGEST_NONE] = STATUS_OK, [INGEST_INVALID] = STATUS_USAGE,
		[INGEST_TOO_LARGE] = STATUS_USAGE, [INGEST_FORBIDDEN] = STATUS_WORK,
		[INGEST_GAP] = STATUS_WORK, [INGEST_CONFLICT] = STATUS_WORK,
		[INGEST_TOO_FAST] = STATUS_WORK,
		[INGEST_FAILED] = STATUS_SYSTEM };

	return statuses[fault];
}

/* ---- the input ---- */

/* Syncs and acknowledges what was received. -1 with *err: acknowledging failed. */
static int
record_flush_acknowledged(struct program *p, struct ingest_input *in, struct error *err)
{
	int failed;

	ingest_flush(in);
	failed = p->out.len > 0 ? terminal_write_json(STDOUT_FILENO, p->out.data, p->out.len) : 0;
	buffer_clear(&p->out);
	return failed == 0 ? 0 : error_errno(err, ERROR_SYSTEM, "stdout", "unable to write");
}

/* Waits until stdin can be read, or a sender has waited long enough for an acknowledgement of an
 * event whose cause does not come. -1: interrupted, or with *err. */
static int
record_wait_for_input(struct ingest_input *in, struct error *err)
{
	struct pollfd fds[2] = { [1] = { .fd = STDIN_FILENO, .events = POLLIN } };
	int64_t since = awaited_since(&in->awaited);
	int64_t until = since == 0 ? 0 : since + CAUSE_AWAITED_MS;

	if (interrupts_wait(interrupts, fds, 2, until, err) != 0)
		return -1;
	if (until != 0 && clock_monotonic() >= until)
		ingest_settle(in, clock_monotonic() - CAUSE_AWAITED_MS);
	return fds[1].revents != 0;
}

/* Reads stdin to its end. -1 with *err; a signal is not an error. */
static int
read_input(struct program *p, struct ingest_input *in, struct error *err)
{
	char *piece = memory_array(NULL, PIECE, 1);
	size_t unsynced = 0;
	int64_t since = 0;
	int failed = 0;
	bool ended = false;

	while (failed == 0 && !ended && !in->over) {
		ssize_t got;
		int ready;

		/* Acknowledge what was received before waiting for more: the sender may be waiting
		 * for that. */
		if (unsynced > 0 && (unsynced >= UNSYNCED || clock_monotonic() - since >= UNSYNCED_MS ||
		    poll_now(STDIN_FILENO, POLLIN) == 0)) {
			failed = record_flush_acknowledged(p, in, err);
			unsynced = 0;
			continue;
		}
		ready = record_wait_for_input(in, err);
		if (ready == -1) {
			failed = *interrupts->signal_number != 0 ? 0 : -1;
			break;
		}
		if (ready == 0) {
			unsynced++; /* acknowledge what was settled */
			continue;
		}
		got = read(STDIN_FILENO, piece, PIECE);
		if (got == -1 && errno != EINTR && errno != EAGAIN) {
			failed = error_errno(err, ERROR_SYSTEM, "stdin", "unable to read");
		} else if (got == 0) {
			ended = true;
		} else if (got > 0) {
			if (unsynced == 0)
				since = clock_monotonic();
			unsynced += (size_t)got;
			ingest_feed(in, piece, (size_t)got);
		}
	}
	if (ended)
		ingest_input_end(in);
	if (record_flush_acknowledged(p, in, failed == 0 ? err : NULL) != 0)
		failed = -1;
	free(piece);
	return failed;
}

/* Records everything, and returns the exit status. */
static int
record_read_stdin(struct program *p, const struct ingest_spec *spec)
{
	struct error err = ERROR_INIT, late = ERROR_INIT;
	struct ingest_input in;
	int status;

	ingest_input_begin(&in, &p->ingest, spec);
	status = read_input(p, &in, &err) == 0 ? status_of(in.refusal.fault) : program_fail(PROGRAM, &err);
	folded_messages_end(&refusals);
	/* A line that is refused is told, and no failure of the run: all others are recorded. */
	if (err.code == ERROR_NONE && in.refusal.fault == INGEST_FAILED)
		err = in.refusal.error;
	if (in.missing_blobs > 0)
		message_print(PROGRAM, "%lld %s not come", (long long)in.missing_blobs,
		    in.missing_blobs == 1 ? "blob that a line names has" : "blobs that lines name have");
	ingest_input_free(&in);
	ingest_end(&p->ingest);
	if (close_destination(&p->to, &err, status, &late) != 0)
		status = program_fail(PROGRAM, &late);
	buffer_free(&p->out);
	storage_close(&p->storage);
	if (*interrupts->signal_number != 0)
		signals_die(*interrupts->signal_number);
	return program_end(PROGRAM, status);
}

static int
check_name(const char *name, struct error *err)
{
	return name_valid(name) ? 0 : error_set(err, ERROR_USAGE, NULL,
	    "'%s' is no name: 1 to 128 letters, digits, _ and -", name);
}

static int
check_origin(const char *name, struct error *err)
{
	return origin_name_valid(name) ? 0 : error_set(err, ERROR_USAGE, NULL,
	    "is no name: 1 to %d bytes of text", ORIGIN_NAME_LIMIT);
}

static const struct option_spec options_table[] = {
	{ OPT_NAME, 0, "name", "NAME", "name of the run, if one is created (record)",
	    OPTION_INTO_TEXT_CHECKED(struct program, to.name, check_name) },
	{ OPT_ORIGIN, 0, "origin", "NAME", "who sends runs that are recorded elsewhere (local)",
	    OPTION_INTO_TEXT_CHECKED(struct program, sender, check_origin) },
	{ OPT_LEASE, 0, "lease", "DURATION", "how long these count as running after a line (10m)",
	    OPTION_INTO_DURATION(struct program, ingest.lease_ms) },
	{ OPT_MAX_LINE, 0, "max-line", "SIZE", "refuse longer lines (256M)",
	    OPTION_INTO_SIZE(struct program, max_line) },
	{ OPT_QUIET, 'q', "quiet", NULL, "acknowledge nothing",
	    OPTION_INTO_FLAG(struct program, quiet) },
	{ OPTION_END, 0, NULL, NULL, NULL },
};

/* Reads the options. Returns OPTION_END, the id of --help or --version, or -1. */
static int
record_read_options(struct program *p, int argc, char **argv, struct error *err)
{
	struct options o;
	int id;

	options_begin(&o, options_table, argc, argv);
	options_bind(&o, p);
	while ((id = options_next(&o, err)) == OPTION_WORD) {
		if (p->to.argument != NULL)
			return error_set(err, ERROR_USAGE, o.value,
			    "is one word too many (see --help)");
		p->to.argument = o.value;
	}
	if (id == OPTION_END && p->ingest.lease_ms > LEASE_MOST_MS)
		return error_set(err, ERROR_USAGE, "--lease", "is longer than ten years");
	if (id == OPTION_END && (p->max_line < 1 || (uint64_t)p->max_line > SCAN_LINE_LIMIT))
		return error_set(err, ERROR_USAGE, "--max-line", "is not between 1 and 256M");
	p->ingest.line_limit = (size_t)p->max_line;
	return id;
}

int
main(int argc, char **argv)
{
	static const int ends[] = { SIGINT, SIGTERM, SIGHUP, 0 };
	struct program p = { .to = { .name = "record", .argv = argv }, .sender = "local" };
	struct ingest_spec spec = { .recorder = open_destination,
		.taken = record_acknowledge_event, .refused = record_print_refused_event,
		.context = &p };
	struct error err = ERROR_INIT;
	int id;

	program_begin();
	ingest_begin(&p.ingest, &p.storage);
	p.ingest.repaired = record_print_message;
	p.max_line = (int64_t)p.ingest.line_limit;
	id = record_read_options(&p, argc, argv, &err);
	spec.sender = p.sender;
	if (id == OPTION_HELP) {
		options_help(stdout, "awf-record [options] [RUN]", options_table, OPTION_HELP);
		return program_end(PROGRAM, STATUS_OK);
	}
	if (id == OPTION_VERSION)
		return program_end(PROGRAM, program_version(PROGRAM));
	if (id != OPTION_END ||
	    storage_prepare_for(&p.storage, (const char *const[]){ p.to.argument, NULL }, &err) != 0)
		return program_fail(PROGRAM, &err);
	if (p.to.argument != NULL && storage_resolve(&p.storage, p.to.argument, &p.to.ref, &err) != 0)
		return program_fail(PROGRAM, &err);
	if (p.to.argument != NULL && !p.to.ref.in_storage) {
		error_set(&err, ERROR_USAGE, p.to.ref.path, "is not a transcript of the storage %s",
		    p.storage.root);
		return program_fail(PROGRAM, &err);
	}
	if (p.to.argument != NULL && origin_check_own(&p.storage, p.to.ref.run_id, &err) != 0)
		return program_fail(PROGRAM, &err);
	interrupts = interrupts_catch(ends);
	signal(SIGPIPE, SIG_IGN);
	return record_read_stdin(&p, &spec);
}
