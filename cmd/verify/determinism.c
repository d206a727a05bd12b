/*
 * Two processes of awf-replay make the replays; each writes its output to files and keeps its
 * record (--record). They run at the same time, unless both use the workspace itself. A signal that
 * ends this program ends both first. The two records are compared with each other before one is
 * compared with the recording: otherwise chance would look like a difference from the recording.
 *
 * The run is checked first, then its children one after another, and theirs: each run once, noted
 * in a map. A child that cannot be replayed (it was cancelled, timed out or never ended) is a
 * warning, not an error.
 */
#include "verify/determinism.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/list.h"
#include "base/map.h"
#include "base/memory.h"
#include "base/text.h"
#include "io/copytree.h"
#include "io/file.h"
#include "io/terminal.h"
#include "proc/interrupts.h"
#include "proc/libexec.h"
#include "proc/message.h"
#include "proc/process.h"
#include "program.h"
#include "rerun/against.h"
#include "rerun/child_runs.h"
#include "rerun/found_run.h"
#include "transcript/event_keys.h"
#include "transcript/reader.h"
#include "verify/children.h"

#define PROGRAM "awf-verify"
#define REPLAYER "awf-replay"
#define SHOWN_COLUMNS 72
#define TOLD_MOST ((size_t)64 << 20) /* of a replay's stderr */

/* What a transcript says about its run; for several attempts, about the last. */
struct recorded {
	struct storage storage;     /* that contains it; root NULL: a file outside of a storage */
	char *transcript, *name;
	char run_id[ID_SIZE];
	char status[16];            /* status of its end; "": it did not end */
	int attempt;
	struct child_runs children;
};

enum { TO_STDOUT, TO_STDERR, STREAMS };
static const char *const stream_names[STREAMS] = { "stdout", "stderr" };

struct pair {
	const struct recorded *recorded;
	const struct determinism_spec *spec;
	char *places[2];        /* directories of the replays: each becomes a storage, with files
	                           stdout and stderr */
	struct replacement streams[2][STREAMS];
	pid_t pids[2];          /* 0: not running */
	int ends[2];            /* wait statuses */
};

/* ---- reading the transcript ---- */

static void
recorded_note_event(struct recorded *r, const struct event_view *event)
{
	long long attempt;

	child_runs_note(&r->children, event);
	if (event->type == EVENT_RUN_STARTED) {
		free(r->name);
		r->name = span_text(span_member(event->payload, KEY_NAME));
		if (r->name != NULL)
			text_line(r->name); /* it is printed in messages */
		if (span_integer(span_member(event->payload, KEY_ATTEMPT), &attempt) &&
		    attempt > 0 && attempt <= INT_MAX)
			r->attempt = (int)attempt;
		event_copy_id(event->run_id, r->run_id);
		r->status[0] = '\0';
	} else if (event->type == EVENT_RUN_COMPLETED) {
		span_copy(span_member(event->payload, KEY_STATUS), r->status, sizeof r->status);
	}
}

/* Takes over the members of found. awf-replay itself refuses runs that cannot be replayed for
 * other reasons. */
static int
recorded_read(struct recorded *r, const struct found_run *found, struct error *err)
{
	struct event_view event;
	struct reader reader;
	const char *line;
	size_t len;
	int got = 0;

	*r = (struct recorded){ .storage = found->storage, .transcript = found->transcript,
		.children = CHILD_RUNS_INIT };
	if (reader_open(&reader, r->transcript, err) != 0)
		return -1;
	while ((got = reader_next(&reader, &line, &len, err)) == 1)
		if (event_view_whole(line, len, &event))
			recorded_note_event(r, &event);
	reader_close(&reader);
	if (r->name == NULL)
		r->name = memory_text(r->run_id);
	return got < 0 ? -1 : 0;
}

static void
recorded_free(struct recorded *r)
{
	child_runs_free(&r->children);
	storage_close(&r->storage);
	free(r->transcript);
	free(r->name);
}

/* ---- two processes ---- */

/* The command line of awf-replay; the list is the caller's. */
static char **
determinism_list_arguments(const struct pair *p, int i)
{
	char **argv = NULL;

	list_take(&argv, libexec_sibling(REPLAYER));
	list_take(&argv, memory_format("--record=%s", p->places[i]));
	list_take(&argv, memory_format("--isolation=%s", p->spec->isolation));
	for (char *const *directory = p->spec->visible; directory != NULL && *directory != NULL; directory++)
		list_take(&argv, memory_format("--visible=%s", *directory));
	if (i == 1)
		list_add(&argv, "--vary");
	/* Only one replay reports how it is isolated, and only with --verbose. */
	if (i == 1 || !p->spec->verbose)
		list_add(&argv, "--quiet");
	list_add(&argv, "--");
	list_add(&argv, p->recorded->transcript);
	return argv;
}

/* Until it ends, its stdout and stderr go to files beside its directory. */
static int
determinism_open_streams(struct pair *p, int i, struct error *err)
{
	int failed = 0;

	for (int stream = 0; failed == 0 && stream < STREAMS; stream++) {
		char *path = memory_format("%s.%s", p->places[i], stream_names[stream]);

		failed = replacement_open(&p->streams[i][stream], path, 0600, err);
		free(path);
	}
	return failed;
}

static int
determinism_start_replay(struct pair *p, int i, const struct held_signals *held, struct error *err)
{
	char **argv;
	pid_t pid;

	if (determinism_open_streams(p, i, err) != 0)
		return -1;
	argv = determinism_list_arguments(p, i);
	pid = children_start(argv, p->streams[i][TO_STDOUT].fd, p->streams[i][TO_STDERR].fd, SIGKILL,
	    held, err);
	list_free(argv);
	if (pid < 0)
		return -1;
	p->pids[i] = pid;
	return 0;
}

/* Moves the files stdout and stderr into the replay's directory, replacing any that the
 * workflow made. */
static int
determinism_keep_streams(struct pair *p, int i, struct error *err)
{
	int failed = 0;

	directory_make(p->places[i], 0700, NULL); /* a replay that was refused may not
	                                             have made it */
	for (int stream = 0; failed == 0 && stream < STREAMS; stream++) {
		char *path = memory_format("%s.%s", p->places[i], stream_names[stream]);
		char *to = path_join(p->places[i], stream_names[stream]);

		failed = replacement_commit(&p->streams[i][stream], false, err);
		if (failed == 0 && rename(path, to) != 0) {
			failed = error_errno(err, ERROR_SYSTEM, to, "unable to keep what the replay wrote");
			unlink(path);
		}
		free(path);
		free(to);
	}
	return failed;
}

/* The first or last message of awf-replay itself, without the program's name and the place;
 * NULL: none. */
static char *
determinism_find_said(const struct pair *p, int i, bool first)
{
	char *path = path_join(p->places[i], stream_names[TO_STDERR]), *found = NULL;
	struct buffer text = BUFFER_INIT;
	size_t at = 0;

	file_load(path, TOLD_MOST, &text, NULL);
	free(path);
	for (char *line = text.len > 0 ? (char *)(uintptr_t)buffer_string(&text) : NULL; line != NULL && at < text.len;) {
		size_t len = strcspn(line, "\n");

		if (strncmp(line, REPLAYER ": ", sizeof REPLAYER + 1) == 0) {
			free(found);
			found = memory_copy(line + sizeof REPLAYER + 1, len - (sizeof REPLAYER + 1));
		}
		if (first)
			break;
		at += len + 1;
		line += len + 1;
	}
	buffer_free(&text);
	return found;
}

/* Whether a replay was made; status 3 is one of its results. */
static int
determinism_check_end(const struct pair *p, int i, int *signal_number, struct error *err)
{
	static const int ending[] = { SIGHUP, SIGINT, SIGQUIT, SIGTERM };
	const char *run_id = p->recorded->run_id;
	const int end = p->ends[i];
	char *said, *transcript, text[64];
	enum error_code code = ERROR_SYSTEM;
	bool made;

	for (size_t s = 0; s < sizeof ending / sizeof *ending; s++)
		if (WIFSIGNALED(end) && WTERMSIG(end) == ending[s]) {
			*signal_number = ending[s];
			return 0;
		}
	if (!WIFEXITED(end))
		return error_set(err, ERROR_SYSTEM, p->places[i], "the replay was ended: %s",
		    process_status_text(end, text, sizeof text));
	transcript = memory_format("%s/transcripts/%s.jsonl", p->places[i], run_id);
	made = transcript_begun(transcript);
	free(transcript);
	if (made && (WEXITSTATUS(end) == STATUS_OK || WEXITSTATUS(end) == STATUS_WORK))
		return 0;
	if (WEXITSTATUS(end) == STATUS_USAGE)
		code = ERROR_USAGE;
	else if (WEXITSTATUS(end) == STATUS_WORK)
		code = ERROR_SCHEMA;
	said = determinism_find_said(p, i, false);
	if (said == NULL)
		error_set(err, code, p->places[i], "the replay was ended: %s",
		    process_status_text(end, text, sizeof text));
	else if (strncmp(said, run_id, strlen(run_id)) == 0 && said[strlen(run_id)] == ':')
		error_set(err, code, run_id, "%s", said + strlen(run_id) + 2);
	else
		error_set(err, code, NULL, "%s", said);
	free(said);
	return -1;
}

/* Makes both replays: at the same time, unless they share the workspace itself. */
static int
run_both(struct pair *p, int *signal_number, struct error *err)
{
	const bool at_once = strcmp(p->spec->isolation, "none") != 0;
	struct held_signals held;
	int failed;

	children_hold_signals(&held);
	failed = determinism_start_replay(p, 0, &held, err);
	if (!at_once)
		*signal_number = children_wait(p->pids, p->ends, 2, &held);
	if (failed == 0 && *signal_number == 0)
		failed = determinism_start_replay(p, 1, &held, err);
	if (failed != 0 && p->pids[0] > 0)
		kill(p->pids[0], SIGTERM);
	if (*signal_number == 0)
		*signal_number = children_wait(p->pids, p->ends, 2, &held);
	children_let_go(&held);
	for (int i = 0; failed == 0 && i < 2 && *signal_number == 0; i++)
		failed = determinism_keep_streams(p, i, err) != 0 ||
		    determinism_check_end(p, i, signal_number, err) != 0 ? -1 : 0;
	return failed;
}

/* ---- comparison ---- */

/* The number (from 1) of the first line in which two streams differ; 0: none. If one stream has
 * ended, its line is NULL. */
static long
first_difference(FILE *streams[2], char *lines[2])
{
	size_t sizes[2] = { 0, 0 };

	for (long number = 1;; number++) {
		ssize_t lens[2];

		for (int i = 0; i < 2; i++)
			lens[i] = getline(&lines[i], &sizes[i], streams[i]);
		if (lens[0] < 0 && lens[1] < 0)
			return 0;
		if (lens[0] == lens[1] && memcmp(lines[0], lines[1], (size_t)lens[0]) == 0)
			continue;
		for (int i = 0; i < 2; i++)
			if (lens[i] < 0) {
				free(lines[i]);
				lines[i] = NULL;
			}
		return number;
	}
}

/* If it is a state line, adds its call. */
static void
determinism_describe_lines(struct buffer *text, long number, char *const lines[2])
{
	static const char *const names[] = { "first replay", "second replay" };
	struct buffer call = BUFFER_INIT;
	size_t from = 0;

	buffer_format(text, "line %ld of standard output", number);
	if (lines[0] != NULL)
		span_decode(span_path(span_trim(span_of(lines[0], strlen(lines[0]))), "metadata", "call",
		    NULL), &call);
	if (call.len > 0) {
		buffer_text(text, ", of ");
		text_visible(text, call.data, call.len, SHOWN_COLUMNS);
		buffer_byte(text, ',');
	}
	buffer_free(&call);
	buffer_text(text, " differs\n");
	while (lines[0] != NULL && lines[1] != NULL && lines[0][from] != '\0' &&
	    lines[0][from] == lines[1][from])
		from++;
	for (int i = 0; i < 2; i++) {
		buffer_format(text, "  %s: ", names[i]);
		if (lines[i] != NULL)
			difference_excerpt(span_of(lines[i], strlen(lines[i])), from, text);
		else
			buffer_text(text, "(its end)");
		buffer_byte(text, '\n');
	}
}

/* Compares the output of the replays. 1: it differs, and *text says how; -1: *err. */
static int
compare_output(const struct pair *p, struct buffer *text, struct error *err)
{
	FILE *streams[2] = { NULL, NULL };
	char *lines[2] = { NULL, NULL };
	long number = -1;

	for (int i = 0; i < 2; i++) {
		char *path = path_join(p->places[i], stream_names[TO_STDOUT]);
		int fd = file_open_plain(path, O_RDONLY, 0);
		struct stat status;

		if (fd >= 0 && fstat(fd, &status) == 0 && S_ISREG(status.st_mode))
			streams[i] = fdopen(fd, "r");
		else if (fd >= 0)
			errno = EINVAL;
		if (streams[i] == NULL) {
			error_errno(err, ERROR_SYSTEM, path, "unable to read what the replay wrote");
			file_close(&fd);
		}
		free(path);
	}
	if (streams[0] != NULL && streams[1] != NULL)
		number = first_difference(streams, lines);
	if (number > 0)
		determinism_describe_lines(text, number, lines);
	for (int i = 0; i < 2; i++) {
		if (streams[i] != NULL)
			fclose(streams[i]);
		free(lines[i]);
	}
	return number < 0 ? -1 : number > 0;
}

/* Without namespaces the two run in different directories, so recorded paths are not compared. The
 * first difference in causal order may be the consequence of something that no event links to; so
 * the first one in the order of time, call by call, is reported. 1: *text says how; -1: *err. */
static int
compare_events(const struct pair *p, char *const transcripts[2], struct buffer *text,
    struct error *err)
{
	const int attempt = p->recorded->attempt;
	bool whole = strcmp(p->spec->isolation, "namespaces") == 0;
	struct difference first = { .kind = DIFFERENCE_VALUE }, by_call = first;
	int differ = 1, told = 0;

	if (whole)
		differ = canonical_compare(transcripts[0], transcripts[1], &first, err);
	if (differ == 1)
		told = against_recording(transcripts[0], transcripts[1], attempt, &by_call, err);
	if (!whole || told < 0)
		differ = told;
	if (differ == 1)
		difference_text(told == 1 ? &by_call : &first, "first replay", "second replay", text);
	difference_free(&first);
	difference_free(&by_call);
	return differ;
}

/* Sets *verdict to the result; NULL: the replays agree with each other and with the recording.
 * *text has details. -1: *err. */
static int
determinism_compare_replays(const struct pair *p, const char **verdict, struct buffer *text,
    struct error *err)
{
	const struct recorded *r = p->recorded;
	char *transcripts[2] = {
		memory_format("%s/transcripts/%s.jsonl", p->places[0], r->run_id),
		memory_format("%s/transcripts/%s.jsonl", p->places[1], r->run_id),
	};
	struct difference d;
	int differ = compare_events(p, transcripts, text, err);

	if (differ == 1)
		*verdict = "the replays differ";
	/* The recording is compared before the outputs: a call that differs from the recording
	 * writes state lines with the current time, so the outputs would differ too, and naming the
	 * step says more. */
	if (differ == 0) {
		differ = against_recording(r->transcript, transcripts[0], r->attempt, &d, err);
		if (differ == 1) {
			*verdict = "the replays agree, the recording differs";
			difference_text(&d, "recording", "replays", text);
		}
		difference_free(&d);
	}
	if (differ == 0 && (differ = compare_output(p, text, err)) == 1)
		*verdict = "the replays differ";
	free(transcripts[0]);
	free(transcripts[1]);
	return differ < 0 ? -1 : 0;
}

/* ---- runs ---- */

struct checking {
	const struct determinism_spec *spec;
	struct map seen;   /* runs: transcripts could name each other in a cycle */
	int status;        /* the greatest so far */
};

static void
determinism_raise_status(struct checking *c, int status)
{
	if (status > c->status)
		c->status = status;
}

/* -1: it could not be replayed or compared. */
static int
check_one(struct checking *c, const struct recorded *recorded, const char *who, struct error *err)
{
	struct pair p = { .recorded = recorded, .spec = c->spec };
	struct buffer text = BUFFER_INIT, lines = BUFFER_INIT;
	const char *verdict = NULL;
	int failed = 0, signal_number = 0;

	for (int i = 0; i < 2; i++)
		for (int stream = 0; stream < STREAMS; stream++)
			p.streams[i][stream].fd = -1;
	for (int i = 0; failed == 0 && i < 2; i++) {
		p.places[i] = found_run_make_place(c->spec->storage, err);
		failed = p.places[i] != NULL ? 0 : -1;
	}
	if (failed == 0)
		failed = run_both(&p, &signal_number, err);
	if (failed == 0 && signal_number == 0)
		failed = determinism_compare_replays(&p, &verdict, &text, err);

	if (verdict != NULL) {
		buffer_format(&lines, PROGRAM ": %s: %s: %s  the replays are kept in %s and %s\n", who, verdict,
		    buffer_string(&text), p.places[0], p.places[1]);
		message_print_lines(buffer_string(&lines));
		buffer_free(&lines);
		determinism_raise_status(c, STATUS_WORK);
	} else if (failed == 0 && signal_number == 0 && c->spec->verbose) {
		char *remark = determinism_find_said(&p, 0, true);

		if (remark)
			terminal_printf("%s: %s\n", who, remark);
		terminal_printf("%s: two replays agree with the recording\n", who);
		free(remark);
	}
	/* Replays that differ are kept, so that the user can examine them. */
	for (int i = 0; i < 2; i++) {
		for (int stream = 0; stream < STREAMS; stream++)
			replacement_abandon(&p.streams[i][stream]);
		if (p.places[i] != NULL && verdict == NULL)
			copytree_remove(p.places[i], NULL);
		free(p.places[i]);
	}
	buffer_free(&text);
	if (failed == 0 && signal_number != 0)
		signals_die(signal_number);
	return failed;
}

/* Why a child run cannot be replayed; NULL: no reason is known. */
static const char *
determinism_find_hindrance(const struct recorded *child)
{
	static const struct { const char *status, *why; } ends[] = {
		{ "", "it never ended" }, { "cancelled", "it was cancelled" },
		{ "timeout", "a time limit ended it" },
	};

	if (child->storage.root != NULL && storage_run_alive(&child->storage, child->run_id))
		return "the run is alive: wait for its end";
	for (size_t e = 0; e < sizeof ends / sizeof *ends; e++)
		if (strcmp(child->status, ends[e].status) == 0)
			return ends[e].why;
	return NULL;
}

/* Reads the transcript of a child run, which is beside its parent's. ERROR_USAGE if
 * there is none. */
static int
recorded_read_child(struct recorded *child, const struct recorded *parent, const char *run_id,
    struct error *err)
{
	char *directory = path_directory(parent->transcript);
	char *path = memory_format("%s/%s.jsonl", directory, run_id);
	struct found_run found;
	int failed;

	memset(child, 0, sizeof *child);
	if (!transcript_begun(path))
		failed = error_set(err, ERROR_USAGE, path, "its transcript is not there");
	else if ((failed = found_run_find(&found, &parent->storage, path, err)) == 0)
		failed = recorded_read(child, &found, err);
	free(path);
	free(directory);
	return failed;
}

static void
check_children(struct checking *c, const struct recorded *parent)
{
	for (size_t i = 0; i < parent->children.count; i++) {
		const char *run_id = parent->children.ids[i], *why = NULL;
		struct error err = ERROR_INIT, named;
		struct recorded child;
		char *who = NULL, text[sizeof err.place + sizeof err.message + 4];
		int failed;

		if (map_get(&c->seen, run_id, strlen(run_id)) != NULL)
			continue;
		map_put(&c->seen, run_id, strlen(run_id), 0);
		failed = recorded_read_child(&child, parent, run_id, &err);
		if (failed == 0) {
			who = memory_format("%s (child run %s)", child.name, child.run_id);
			why = determinism_find_hindrance(&child);
		}
		if (failed == 0 && why == NULL)
			failed = check_one(c, &child, who, &err);
		if (failed != 0 && err.code == ERROR_USAGE)
			why = err.message;
		if (why != NULL && !c->spec->quiet)
			message_print(PROGRAM, "%s: warning: child run %s is not replayed: %s",
			    parent->name, run_id, why);
		if (why == NULL && failed == 0) {
			check_children(c, &child);
		} else if (why == NULL) {
			error_set(&named, err.code, who, "%s", error_text(&err, text, sizeof text));
			determinism_raise_status(c, program_fail(PROGRAM, &named));
		}
		free(who);
		recorded_free(&child);
	}
}

int
determinism_check(const struct determinism_spec *spec, const char *argument)
{
	struct checking c = { .spec = spec, .seen = MAP_INIT };
	struct recorded recorded = { .transcript = NULL };
	struct error err = ERROR_INIT;
	struct found_run found;

	if (found_run_find(&found, spec->storage, argument, &err) != 0) {
		free(found.transcript);
		storage_close(&found.storage);
		return program_fail(PROGRAM, &err);
	}
	if (recorded_read(&recorded, &found, &err) != 0 ||
	    check_one(&c, &recorded, recorded.name, &err) != 0) {
		determinism_raise_status(&c, program_fail(PROGRAM, &err));
	} else {
		map_put(&c.seen, recorded.run_id, strlen(recorded.run_id), 0);
		check_children(&c, &recorded);
	}
	recorded_free(&recorded);
	map_free(&c.seen);
	return c.status;
}
