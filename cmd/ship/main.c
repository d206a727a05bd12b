/*
 * awf-ship: copies transcripts to a place where those of many machines are collected. Only a
 * filter, awf-ship-NAME, knows the target; it is sent lines, and reports how far they are safe
 * there (awf-ship(7)).
 *
 * What the code relies on:
 *   - Only the target knows what it has. It is asked, for each run, whenever the filter was
 *     started; so nothing is lost or stored twice, whichever process is killed at any time.
 *   - At most PIPED bytes wait for the filter, and no run sends more than SHARE of them before
 *     the others had their turn.
 *   - A run that cannot be sent, because the target has another one of its id, does not delay
 *     the others.
 */
#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/folded_messages.h"
#include "base/list.h"
#include "base/map.h"
#include "base/memory.h"
#include "base/options.h"
#include "base/patience.h"
#include "base/text.h"
#include "ingest/ship_protocol.h"
#include "ingest/shipment.h"
#include "io/file.h"
#include "model/watch.h"
#include "proc/interrupts.h"
#include "proc/libexec.h"
#include "proc/peer.h"
#include "program.h"
#include "storage/origin.h"
#include "system/descriptor.h"
#include "transcript/event_keys.h"
#include "transcript/sync_mode.h"

#define PROGRAM "awf-ship"
#define PIPED ((size_t)8 << 20)
#define PIPE_SIZE (1 << 20) /* of the filter's stdin: as much as users may have */
#define SHARE ((size_t)256 << 10)
#define BLOBS_MOST ((int64_t)1 << 20)
#define ASKED_AT_ONCE 256  /* runs */
#define LOOKS_PAUSE_MS 20  /* between looks at all runs, at least */
#define LOOKS_SHARE 10     /* and at least this many times as long as a look takes */

enum { OPT_TO = 1, OPT_FOLLOW, OPT_BLOBS, OPT_KEEP, OPT_ORIGIN };

struct shipper {
	struct storage storage;
	struct shipping with;
	struct cost cost;
	const char *to, *keep;
	char *filter;              /* its path */
	bool all;                  /* no runs were named */
	struct shipment **runs;
	size_t count;
	struct map places;         /* run id → its place in runs */
	size_t turn;               /* of the run whose turn is next */
	size_t asked;              /* runs about which the target was asked, without an answer yet */

	struct peer peer;
	bool ready;                /* it has said what it accepts */
	int64_t hello_until;       /* deadline for that */
	int64_t pause;             /* until it is started again */
	int64_t start_at;
	struct watch watch;
	int64_t look_at;           /* next look at all runs, clock_monotonic() */
	bool changed;              /* something in the storage */
	bool last_look;            /* all runs were over before the last look */
	int status;                /* of the first failure */
};

static const struct interrupts *interrupts; /* of signals */

static void
ship_print_error(struct shipper *p, const struct error *err)
{
	int status = program_fail(PROGRAM, err);

	if (p->status == STATUS_OK)
		p->status = status;
}

static void
print_refused(const char *text)
{
	message_print(PROGRAM, "%s", text);
}

/* A storage may have any number of runs that cannot be sent. */
static struct folded_messages refusals = FOLDED_MESSAGES_INIT(print_refused);

/* ---- runs ---- */

static void
ship_add_run(struct shipper *p, const char *run_id, const char *path)
{
	if (map_get(&p->places, run_id, ID_SIZE - 1) != NULL)
		return;
	p->runs = memory_array(p->runs, p->count + 1, sizeof *p->runs);
	p->runs[p->count] = shipment_new(&p->storage, run_id, path);
	map_put(&p->places, run_id, ID_SIZE - 1, p->count++);
}

/* Adds all runs of the storage. */
static int
add_all(struct shipper *p, struct error *err)
{
	char run_id[ID_SIZE];
	DIR *directory;

	if (storage_names(&p->storage, "transcripts", &directory, err) != 0)
		return -1;
	while (storage_next_run(directory, run_id))
		ship_add_run(p, run_id, NULL);
	return 0;
}

/* Looks for new lines, as often as is worth the time. */
static int
ship_check_runs(struct shipper *p, struct error *err)
{
	int64_t now = clock_monotonic();

	if (!p->changed || now < p->look_at)
		return 0;
	p->changed = false;
	/* With -f, counts of refusals are reported now and then, otherwise at the end. */
	if (p->with.follow)
		folded_messages_end(&refusals);
	if (p->all && add_all(p, err) != 0)
		return -1;
	for (size_t i = 0; i < p->count; i++) {
		struct shipment *run = p->runs[i];

		shipment_look(run);
		if (run->state == SHIPMENT_REFUSED && now >= run->again)
			shipment_restart(run);
	}
	p->look_at = clock_monotonic() + LOOKS_PAUSE_MS + LOOKS_SHARE * (clock_monotonic() - now);
	return 0;
}

static void
ship_refuse_run(struct shipper *p, struct shipment *run, const struct error *err)
{
	/* It may have been removed meanwhile. */
	shipment_look(run);
	if (!run->gone && !run->told) {
		char text[sizeof err->place + sizeof err->message + 4];

		folded_messages_add(&refusals, err->message, error_text(err, text, sizeof text));
		if (p->status == STATUS_OK)
			p->status = error_status(err->code);
	}
	run->told = true;
	shipment_refuse(run, clock_monotonic() + SHIP_REFUSED_MS);
}

/* Sends as much as there is room for. */
static void
send_lines(struct shipper *p)
{
	size_t left = p->count;

	for (; left > 0 && peer_unsent(&p->peer) < PIPED; left--) {
		struct shipment *run = p->runs[p->turn++ % p->count];
		struct error err = ERROR_INIT;
		int failed = 0;

		p->turn %= p->count;
		if (run->gone || !run->more)
			continue;
		if (run->state == SHIPMENT_NEW && run->seen.st_size > 0 && p->asked < ASKED_AT_ONCE) {
			failed = shipment_ask(run, &p->with, &p->peer.outgoing, &err);
			p->asked += failed == 0;
		} else if (run->state == SHIPMENT_NEW && run->seen.st_size == 0) {
			run->more = false; /* a run that never began */
		} else if (run->state == SHIPMENT_SENDING) {
			failed = shipment_send(run, &p->with, p->peer.outgoing.len + SHARE, &p->peer.outgoing,
			    &err);
			left = p->count + 1; /* all are looked at once more */
		}
		if (failed != 0)
			ship_refuse_run(p, run, &err);
		peer_send(&p->peer);
	}
}

/* ---- the filter ---- */

static int
ship_start_filter(struct shipper *p, struct error *err)
{
	struct process_spec spec = { .err = PROCESS_INHERIT };
	char **argv = NULL;
	int failed;

	list_add(&argv, p->filter);
	if (p->keep != NULL) {
		list_add(&argv, "--keep");
		list_add(&argv, p->keep);
	}
	list_add(&argv, p->to);
	spec.argv = argv;
	/* The filter stores what it was sent, however long that takes. */
	p->peer.end_ms = SHIP_END_MS;
	p->ready = false;
	p->asked = 0;
	p->hello_until = clock_monotonic() + SHIP_HELLO_MS;
	for (size_t i = 0; i < p->count; i++)
		shipment_restart(p->runs[i]);
	failed = peer_start(&p->peer, &spec, err);
	/* Otherwise both wait for one another after each 64 KiB. If it cannot be had, it stays as it is. */
	if (failed == 0)
		descriptor_pipe_size(p->peer.process.in, PIPE_SIZE);
	list_free(argv);
	return failed;
}

static void
ship_read_hello(struct shipper *p, struct span line, struct error *err)
{
	struct span takes = span_member(line, SHIP_TAKES);
	long long version;

	if (!span_integer(span_member(line, SHIP_HELLO), &version) || version != SHIP_VERSION) {
		error_set(err, ERROR_SYSTEM, p->filter, "does not speak as awf-ship(7) says");
		return;
	}
	if (span_type(takes) == 'a')
		for (struct span_walk word = span_walk(takes); span_next(&word);) {
			p->with.takes_about |= span_is(word.value, SHIP_TAKES_ABOUT);
			p->with.takes_blobs |= span_is(word.value, SHIP_TAKES_BLOBS);
		}
	p->ready = true;
	p->pause = SERVER_RETRY_MS;
}

/* The filter has reported an error about a run. */
static void
ship_read_refusal(struct shipper *p, struct shipment *run, struct span error)
{
	struct span code = span_member(error, KEY_CODE);
	char *message = span_text(span_member(error, KEY_MESSAGE));
	char name[32] = "";
	struct error err;

	span_copy(code, name, sizeof name);
	err.code = error_from_name(name, strlen(name));
	error_set(&err, err.code != ERROR_NONE ? err.code : ERROR_SYSTEM, run->run_id, "%s",
	    message != NULL ? message : "the target does not accept it");
	if (run->state != SHIPMENT_REFUSED)
		ship_refuse_run(p, run, &err);
	free(message);
}

static void
ship_read_line(struct shipper *p, struct span line, struct error *err)
{
	char run_id[ID_SIZE], digest[DIGEST_SIZE] = "";
	const size_t *place = NULL;
	struct error why = ERROR_INIT;
	struct shipment *run;
	long long seq = 0;
	size_t bad;

	if (scan_within(line.at, line.len, SCAN_LINE_DEPTH, &bad) != NULL || span_type(line) != 'o') {
		error_set(err, ERROR_SYSTEM, p->filter, "sends invalid JSON");
		return;
	}
	if (!p->ready) {
		ship_read_hello(p, line, err);
		return;
	}
	if (event_copy_id(span_member(line, KEY_RUN_ID), run_id))
		place = map_get(&p->places, run_id, ID_SIZE - 1);
	if (place == NULL) {
		error_set(err, ERROR_SYSTEM, p->filter, "names a run that it was not asked about");
		return;
	}
	run = p->runs[*place];
	span_copy(span_member(line, SHIP_DIGEST), digest, sizeof digest);
	if (run->state == SHIPMENT_ASKED)
		p->asked--;
	if (span_member(line, KEY_ERROR).at != NULL)
		ship_read_refusal(p, run, span_member(line, KEY_ERROR));
	else if (!span_integer(span_member(line, KEY_SEQ), &seq) || seq < 0)
		error_set(err, ERROR_SYSTEM, p->filter, "does not report what it has of "
		    "%s", run_id);
	else if (run->state == SHIPMENT_ASKED) {
		if (shipment_begin(run, seq, digest, &why) != 0)
			ship_refuse_run(p, run, &why);
	} else if (run->state == SHIPMENT_SENDING && seq <= run->seq)
		run->acknowledged = seq;
}

/* Handles all of the filter's lines. */
static int
ship_read_lines(struct shipper *p, struct error *err)
{
	struct span line;
	int got;

	while (err->code == ERROR_NONE && (got = peer_line(&p->peer, &line)) != 0) {
		if (got == -1)
			error_set(err, ERROR_SYSTEM, p->filter, "sends a line that is too long");
		else
			ship_read_line(p, line, err);
	}
	return err->code == ERROR_NONE ? 0 : -1;
}

/* The filter has ended, or must be ended, with the error `failed`, if there is one: starts it
 * again after a while, or ends. -1 with *err. */
static int
give_up(struct shipper *p, const struct error *failure, struct error *err)
{
	const int before = p->status;
	int wait_status = peer_end(&p->peer), status;
	char text[64];

	status = process_exit_code(wait_status);
	if (failure->code != ERROR_NONE)
		ship_print_error(p, failure);
	else if (status >= STATUS_USAGE && status <= STATUS_SYSTEM)
		p->status = status; /* it has printed the reason */
	else if (error_set(err, ERROR_SYSTEM, p->filter, "has ended before everything was "
	    "stored: %s",
	    process_status_text(wait_status, text, sizeof text)) != 0)
		ship_print_error(p, err);
	*err = (struct error)ERROR_INIT;
	/* A wrong name of the target, or a fault of this program, will not change. */
	if (!p->with.follow || status == STATUS_USAGE || status == STATUS_DEFINITION)
		return -1;
	p->start_at = clock_monotonic() + p->pause;
	p->pause = p->pause * 2 < SERVER_RETRY_MOST_MS ? p->pause * 2 : SERVER_RETRY_MOST_MS;
	p->status = before; /* refused runs do not count */
	return 0;
}

/* Waits for the next event, and serves the filter. */
static int
wait_round(struct shipper *p, struct error *err)
{
	struct pollfd fds[2 + PEER_FDS];
	int64_t until = 0, now = clock_monotonic();
	struct error failure = ERROR_INIT;
	bool runs = p->peer.process.pid != 0, ended;

	fds[1] = (struct pollfd){ .fd = p->with.follow && !p->changed ? p->watch.fd : -1,
		.events = POLLIN };
	peer_poll(&p->peer, fds + 2);
	if (p->with.follow)
		until = p->changed ? p->look_at : now + SHIP_LOOK_MS;
	if (!runs && (until == 0 || p->start_at < until))
		until = p->start_at;
	if (runs && !p->ready && (until == 0 || p->hello_until < until))
		until = p->hello_until;
	if (p->with.follow && p->watch.fd == -1 && until > p->look_at)
		until = p->look_at;
	if (interrupts_wait(interrupts, fds, 2 + PEER_FDS, until > now || until == 0 ? until : now, err) != 0)
		return -1;
	if (fds[1].revents != 0)
		watch_drain(&p->watch);
	p->changed |= fds[1].revents != 0 || p->watch.fd == -1 ||
	    (until != 0 && clock_monotonic() >= until);
	if (!runs)
		return 0;
	ended = peer_serve(&p->peer, fds + 2) != 0;
	if (!p->ready && peer_untaken(&p->peer) == 0 && clock_monotonic() >= p->hello_until)
		error_set(&failure, ERROR_SYSTEM, p->filter, "does not reach its target, or "
		    "sends nothing");
	if (failure.code == ERROR_NONE && ship_read_lines(p, &failure) == 0 && !ended)
		return 0;
	return give_up(p, &failure, err);
}

/* Whether the target has everything that it should have. */
static bool
is_over(struct shipper *p)
{
	for (size_t i = 0; i < p->count; i++) {
		const struct shipment *run = p->runs[i];

		if (!run->gone && run->state != SHIPMENT_REFUSED && (!shipment_done(run) ||
		    (p->with.follow && storage_run_alive(&p->storage, run->run_id))))
			return false;
	}
	return true;
}

/* Works until everything is sent; with -f for ever, or until the named runs have ended. -1 with
 * *err; if *err is empty, the error was printed. */
static int
ship_send_until_done(struct shipper *p, struct error *err)
{
	while (ship_check_runs(p, err) == 0) {
		if (p->peer.process.pid == 0 && clock_monotonic() >= p->start_at &&
		    ship_start_filter(p, err) != 0)
			return -1;
		if (p->ready && p->peer.process.pid != 0 && p->count > 0)
			send_lines(p);
		if (p->ready && !(p->with.follow && p->all) && is_over(p)) {
			/* Lines from just before the end of a run were read after it. */
			if (!p->with.follow || p->last_look)
				return 0;
			p->last_look = p->changed = true;
			p->look_at = 0;
			continue;
		}
		p->last_look = false;
		if (wait_round(p, err) != 0)
			return -1;
	}
	return -1;
}

/* Lets lines in transit arrive, if the filter can still receive them. */
static void
ship_end_filter(struct shipper *p)
{
	int status = STATUS_OK;

	folded_messages_end(&refusals);
	if (p->peer.process.pid != 0)
		status = process_exit_code(peer_end(&p->peer));
	if (p->status == STATUS_OK && status != STATUS_OK && *interrupts->signal_number == 0)
		p->status = status <= STATUS_SYSTEM ? status : STATUS_SYSTEM;
	peer_free(&p->peer);
	for (size_t i = 0; i < p->count; i++)
		shipment_free(p->runs[i]);
	free(p->runs);
	map_free(&p->places);
	watch_close(&p->watch);
	cost_free(&p->cost);
	free(p->filter);
	storage_close(&p->storage);
}

/* ---- setting up ---- */

static int
check_age(const char *age, struct error *err)
{
	long long ms;

	if (options_duration("--keep", age, &ms, err) != 0)
		return -1;
	return ms > 0 ? 0 : error_set(err, ERROR_USAGE, NULL, "is no time at all");
}

static int
check_origin(const char *name, struct error *err)
{
	return origin_name_valid(name) ? 0 : error_set(err, ERROR_USAGE, NULL,
	    "is no name: 1 to %d bytes of text", ORIGIN_NAME_LIMIT);
}

static const struct option_spec options_table[] = {
	{ OPT_TO, 0, "to", "URL", "where: sqlite:FILE (default: runs.db in the storage) ...",
	    OPTION_INTO_TEXT(struct shipper, to) },
	{ OPT_FOLLOW, 'f', "follow", NULL, "go on with what comes",
	    OPTION_INTO_FLAG(struct shipper, with.follow) },
	{ OPT_BLOBS, 0, "blobs", "SIZE", "send blobs of at most so many bytes (1M; 0: none)",
	    OPTION_INTO_SIZE(struct shipper, with.blobs) },
	{ OPT_KEEP, 0, "keep", "AGE", "remove older runs from a database (90d)",
	    OPTION_INTO_TEXT_CHECKED(struct shipper, keep, check_age) },
	{ OPT_ORIGIN, 0, "origin", "NAME", "who sends (the name of this machine)",
	    OPTION_INTO_TEXT_CHECKED(struct shipper, with.origin, check_origin) },
	{ OPTION_END, 0, NULL, NULL, NULL },
};

/* Adds the named runs, or all. */
static int
find_runs(struct shipper *p, char *const *names, struct error *err)
{
	p->all = *names == NULL;
	for (; *names != NULL; names++) {
		struct run_ref ref;

		if (storage_resolve(&p->storage, *names, &ref, err) != 0)
			return -1;
		if (!ref.in_storage) {
			error_set(err, ERROR_USAGE, ref.path, "is not a transcript of the storage %s",
			    p->storage.root);
			run_ref_free(&ref);
			return -1;
		}
		ship_add_run(p, ref.run_id, ref.path);
		run_ref_free(&ref);
	}
	return 0;
}

/* Everything except the filter. */
static int
ship_open_runs(struct shipper *p, char *const *names, struct error *err)
{
	enum sync_mode sync;
	char *transcripts;
	int failed;

	/* The filter must exist before anything is created. */
	p->filter = libexec_filter(PROGRAM, p->to, "--to", err);
	if (p->filter == NULL || sync_mode_from_environment(&sync, err) != 0 ||
	    storage_prepare_for(&p->storage, (const char *const *)names, err) != 0 || cost_begin(&p->cost, err) != 0)
		return -1;
	p->with.synced = sync != SYNC_NONE;
	p->with.storage = &p->storage;
	p->with.cost = &p->cost;
	p->pause = SERVER_RETRY_MS;
	p->changed = true;
	if (p->with.follow) {
		watch_open(&p->watch);
		transcripts = path_join(p->storage.root, "transcripts");
		failed = watch_add_files(&p->watch, transcripts, err);
		free(transcripts);
		if (failed != 0)
			return -1;
	}
	return find_runs(p, names, err);
}

int
main(int argc, char **argv)
{
	static const int ends[] = { SIGINT, SIGTERM, SIGHUP, 0 };
	char machine[HOST_NAME_MAX + 1] = "", **names = NULL;
	struct shipper p = { .to = "sqlite:", .with = { .blobs = BLOBS_MOST, .origin = machine },
		.watch = { .fd = -1 } };
	struct error err = ERROR_INIT;
	struct options o;
	int id;

	program_begin();
	options_begin(&o, options_table, argc, argv);
	options_bind(&o, &p);
	while ((id = options_next(&o, &err)) == OPTION_WORD)
		list_add(&names, o.value);
	if (id == OPTION_HELP) {
		options_help(stdout, "awf-ship [-f] [--to URL] [RUN...]", options_table, OPTION_HELP);
		return program_end(PROGRAM, STATUS_OK);
	}
	if (id == OPTION_VERSION)
		return program_end(PROGRAM, program_version(PROGRAM));
	if (id != OPTION_END)
		return program_fail(PROGRAM, &err);
	if (*machine == '\0' && (gethostname(machine, sizeof machine - 1) != 0 || *machine == '\0'))
		snprintf(machine, sizeof machine, "local");
	interrupts = interrupts_catch(ends);
	signal(SIGPIPE, SIG_IGN);
	if (ship_open_runs(&p, names != NULL ? names : (char *[]){ NULL }, &err) != 0 ||
	    ship_send_until_done(&p, &err) != 0) {
		if (*interrupts->signal_number == 0 && err.code != ERROR_NONE)
			ship_print_error(&p, &err);
	}
	list_free(names);
	ship_end_filter(&p);
	if (*interrupts->signal_number != 0)
		signals_die(*interrupts->signal_number);
	return program_end(PROGRAM, p.status);
}
