/*
 * A run is made from the inside out: directory and lock, key, transcript, marks, and last its first
 * event, with which others see it; if any of this fails, everything is removed again. A step reads
 * the same files; it takes from the environment only where they are.
 */
#include "storage/run.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/id.h"
#include "base/memory.h"
#include "base/text.h"
#include "base/version.h"
#include "io/file.h"
#include "io/lock.h"
#include "json/writer.h"
#include "proc/ending.h"
#include "storage/audit.h"
#include "storage/call_marks.h"
#include "storage/definition_file_keep.h"
#include "storage/run_lock.h"
#include "transcript/event_keys.h"
#include "transcript/seal.h"

#define TRANSCRIPT_FORMAT 1
#define LOCK_TEXT_SIZE 64
/* Files in the run directory. */
#define MARK_FILE "mask"
#define RECREATED "recreated"
#define WORKSPACE "workspace"

extern char **environ;

static void
run_warn(const struct run *r, const struct error *err)
{
	if (r->warn != NULL)
		r->warn(err);
}

/* Creates a file in the run directory, for the steps of the run. */
static int
run_write_file(const struct run *r, const char *name, const void *bytes, size_t len,
    const char *message, struct error *err)
{
	char *path = path_join(r->directory, name);
	int fd = file_open_plain(path, O_WRONLY | O_CREAT | O_EXCL, 0600), failed = 0;

	if (fd < 0)
		failed = error_errno(err, ERROR_SYSTEM, path, "unable to open");
	else if (file_write(fd, bytes, len) != 0)
		failed = error_errno(err, ERROR_SYSTEM, r->directory, "%s", message);
	if (fd >= 0)
		close(fd);
	free(path);
	return failed;
}

/* The place of blobs, or of a transcript: if the transcript is not kept, they are in the run
 * directory. */
static char *
transcript_path(const struct run *r)
{
	if (r->keep_transcript)
		return storage_transcript(&r->storage, r->id);
	return memory_format("%s/%s.jsonl", r->directory, r->id);
}

/* Creates or opens the run's transcript; path NULL: at its usual place. */
static int
open_transcript(struct run *r, const char *path, bool create, struct error *err)
{
	char *own = path == NULL ? transcript_path(r) : NULL;
	char *blobs = r->keep_transcript ? storage_blobs(&r->storage, r->id) :
	    path_join(r->directory, "blobs");
	int failed = (create ? transcript_create : transcript_open)(&r->transcript,
	    path == NULL ? own : path, blobs, r->id, err);

	free(blobs);
	free(own);
	return failed;
}

/* Whether run.started records a variable: those on which any program may depend, those that say
 * where steps find definitions, and those that the user has named. */
static bool
is_recorded(const char *variable, char *const *names)
{
	static const char *const always[] = { "PATH=", "LANG=", "TZ=", "LC_", "AWF_MODEL=",
		"AWF_PROVIDER=", "AWF_TOOL_PATH=", "AWF_ALLOW_TOOLS=", "AWF_TOOLS_POLICY=" };
	size_t len = strcspn(variable, "=");

	if (variable[len] != '=')
		return false;
	for (size_t i = 0; i < sizeof always / sizeof always[0]; i++)
		if (strncmp(variable, always[i], strlen(always[i])) == 0)
			return true;
	for (; names != NULL && *names != NULL; names++)
		if (strlen(*names) == len && memcmp(*names, variable, len) == 0)
			return true;
	return false;
}

void
run_cause_read(struct run_cause *cause, const struct event_view *started)
{
	memset(cause, 0, sizeof *cause);
	if (!event_copy_id(started->parent_run_id, cause->run_id) ||
	    span_type(started->links) != 'a')
		return;
	for (struct span_walk link = span_walk(started->links); span_next(&link);)
		if (span_is(span_member(link.value, KEY_RUN_ID), cause->run_id))
			event_copy_id(span_member(link.value, KEY_EVENT_ID), cause->event_id);
}

/* Makes the attempt a span of the trace outer; if that is NULL, of a trace of its own. */
static void
enter_trace(struct run *r, const struct traceparent *outer)
{
	struct traceparent own = { .flags = 1 }; /* everything is recorded, so the sampled flag is
	                                            set */

	r->traced = outer != NULL;
	if (outer != NULL)
		own = *outer;
	else
		trace_id_of_run(r->id, own.trace_id);
	span_id_of_attempt(r->id, r->attempt, own.span_id);
	traceparent_write(&own, r->traceparent);
}

/* Finds the trace that the environment names, or that of the first attempt. A child run belongs to
 * the span of the call that started it; but if a user resumes a child run by itself, the
 * environment is not that of its parent. False: there is no trace. */
static bool
find_trace(const struct run_spec *spec, struct traceparent *outer)
{
	const struct run_cause *cause = spec->cause;
	bool child = cause != NULL && cause->event_id[0] != '\0';
	const char *around = getenv("AWF_RUN_ID");
	bool asked = !child || (around != NULL && strcmp(around, cause->run_id) == 0);

	if (!(asked && traceparent_read(getenv(TRACEPARENT), outer)) &&
	    !traceparent_read(spec->traceparent, outer)) {
		if (!child)
			return false;
		*outer = (struct traceparent){ .flags = 1 };
		trace_id_of_run(cause->run_id, outer->trace_id);
	}
	if (child)
		span_id_of_event(cause->event_id, outer->span_id);
	return true;
}

/* event_id NULL: a new id is made. */
static int
append_started(struct run *r, const char *event_id, const struct run_cause *cause,
    struct span payload, struct error *err)
{
	struct event e = { .type = EVENT_RUN_STARTED, .event_id = event_id, .path = "",
		.payload = payload };
	struct buffer links = BUFFER_INIT;
	int failed;

	if (cause != NULL && cause->run_id[0] != '\0')
		e.parent_run_id = cause->run_id;
	if (e.parent_run_id != NULL && cause->event_id[0] != '\0') {
		event_add_link(&links, cause->run_id, cause->event_id);
		e.links = span_of(links.data, links.len);
	}
	r->started_monotonic = clock_monotonic();
	failed = transcript_append(&r->transcript, &e, err);
	buffer_free(&links);
	if (failed == 0) {
		memcpy(r->started, e.id, sizeof r->started);
		r->attempt_from = r->transcript.size - (int64_t)line_span(&r->transcript.line).len;
		clock_parse(e.timestamp, 0, &r->started_wall);
	}
	return failed;
}

/* Warns about an error because of which the run does not fail. */
static void
run_announce_start(struct run *r, const struct run_spec *spec)
{
	struct audit_start start = { r->id, r->attempt, r->name, r->started_wall, spec->inputs };
	struct error err = ERROR_INIT;

	/* A masked run passes on only the recorded name and inputs, which the filter has masked. */
	if (r->transcript.masked) {
		free(r->name);
		r->name = span_text(redaction_member(r->transcript.redaction, KEY_NAME));
		start.name = r->name;
		start.inputs = redaction_member(r->transcript.redaction, KEY_INPUTS);
	}
	if (audit_started(&r->storage, &start, &err) != 0)
		run_warn(r, &err);
	if (spec->latest && spec->keep_transcript &&
	    storage_set_latest(&r->storage, r->id, &err) != 0)
		run_warn(r, &err);
}

/* Stores which directory is the run's workspace, for its steps. */
static int
write_workspace(const struct run *r, const char *workspace, struct error *err)
{
	char *path = path_join(r->directory, WORKSPACE);
	char here[PATH_MAX];
	int failed = 0;

	if (workspace == NULL)
		workspace = getcwd(here, sizeof here);
	if (workspace != NULL && ((unlink(path) != 0 && errno != ENOENT) || symlink(workspace, path) != 0))
		failed = error_errno(err, ERROR_SYSTEM, path, "unable to make");
	free(path);
	return failed;
}

char *
run_workspace(const struct run *r)
{
	char *path = path_join(r->directory, WORKSPACE), target[PATH_MAX];
	ssize_t len = readlink(path, target, sizeof target);

	free(path);
	return len > 0 && (size_t)len < sizeof target ? memory_copy(target, (size_t)len) : NULL;
}

static int
write_key(const struct run *r, struct error *err)
{
	return run_write_file(r, "key", r->key, sizeof r->key, "unable to write the run's key",
	    err);
}

/* Creates the files of a run, up to its first event. */
static int
make_run(struct run *r, const struct lineage *lineage, struct error *err)
{
	r->directory = storage_run_directory(&r->storage, r->id);
	r->lock_fd = run_lock_make(r->directory, err);
	if (r->lock_fd < 0 || run_lock_sign(r->lock_fd, r->directory, r->attempt, err) != 0 ||
	    write_key(r, err) != 0 || open_transcript(r, NULL, true, err) != 0)
		return -1;
	return lineage != NULL ? lineage_write(lineage, r->directory, err) : 0;
}

static void
write_environment(struct writer *w, const struct run_spec *spec)
{
	writer_member_object(w, KEY_ENV);
	for (char **e = environ; *e != NULL; e++) {
		size_t len = strcspn(*e, "=");

		if (!is_recorded(*e, spec->environment))
			continue;
		writer_key_quoted(w, *e, len);
		writer_string(w, *e + len + 1);
	}
	writer_object_end(w);
}

/* Writes the script, and the programs that are run by the words of the command line. A pipeline's
 * text is in argv. */
static int
keep_files(struct run *r, const struct run_spec *spec, struct writer *w, struct error *err)
{
	int failed = 0;

	writer_member_array(w, KEY_FILES);
	if (spec->script != NULL && utf8_valid(spec->script, strlen(spec->script)))
		failed = definition_file_keep(r, spec->script, w, err);
	for (char *const *path = spec->programs; failed == 0 && path != NULL && *path != NULL; path++)
		if (utf8_valid(*path, strlen(*path)))
			failed = definition_file_program(r, *path, w, err);
	for (char *const *path = spec->sourced; failed == 0 && path != NULL && *path != NULL; path++)
		if (utf8_valid(*path, strlen(*path)))
			failed = definition_file_sourced(r, *path, w, err);
	writer_array_end(w);
	return failed;
}

static int
write_start(const struct run *r, const struct run_spec *spec, unsigned char key[MARKS_KEY_BYTES],
    bool unmarked, struct error *err)
{
	char *outer = run_environment_directory();
	const struct start_spec start = { .environment = environ, .ignored = spec->marks.ignored,
		.outer = outer, .changed = spec->marks.changed, .unmarked = unmarked };
	int failed = 0;

	/* The storage's key is used only if calls may be compared with those of other attempts. */
	if (unmarked)
		random_bytes(key, MARKS_KEY_BYTES);
	else
		failed = marks_key(r->storage.root, true, key, err) == 1 ? 0 : -1;
	if (failed == 0)
		failed = marks_start(r->directory, key, &start, err);
	free(outer);
	return failed;
}

/* That the run goes on by itself, and what then holds again. */
static void
run_write_going_on(const struct run_going_on *o, struct writer *w)
{
	writer_member_string(w, KEY_RESUME, RESUME_AUTO);
	if (o->max_cost == NULL && o->timeout_ms == 0 && o->on_complete == NULL && o->on_failure == NULL)
		return;
	writer_key(w, KEY_OPTIONS);
	writer_object(w);
	writer_member_string(w, KEY_MAX_COST, o->max_cost);
	if (o->timeout_ms > 0)
		writer_member_integer(w, KEY_TIMEOUT_MS, o->timeout_ms);
	writer_member_string(w, KEY_ON_COMPLETE, o->on_complete);
	writer_member_string(w, KEY_ON_FAILURE, o->on_failure);
	writer_object_end(w);
}

/* Writes and appends the first event of an attempt. */
static int
record_started(struct run *r, const struct run_spec *spec, struct error *err)
{
	struct buffer payload = BUFFER_INIT;
	char here[PATH_MAX], traceparent[TRACEPARENT_SIZE];
	unsigned char key[MARKS_KEY_BYTES];
	struct traceparent outer;
	bool traced = find_trace(spec, &outer), workflow = strcmp(spec->kind, "workflow") == 0, marked;
	struct writer w;
	int failed;

	/* A run of one step has only one call; and a masked run is never resumed, so its calls are
	 * not compared. */
	marked = workflow && (r->keep_transcript || spec->compared) && !r->transcript.masked;
	if (marked && write_start(r, spec, key, false, err) != 0)
		return -1;

	if (spec->inside_of != NULL)
		ending_inside(r->directory, spec->inside_of);
	r->transcript.repaired = spec->repaired;
	enter_trace(r, traced ? &outer : NULL);

	writer_begin(&w, &payload);
	writer_object(&w);
	writer_member_string(&w, KEY_NAME, spec->name);
	writer_member_string(&w, KEY_KIND, spec->kind);
	writer_member_array(&w, KEY_ARGV);
	for (char *const *argv = spec->argv; argv != NULL && *argv != NULL; argv++)
		writer_string(&w, *argv);
	writer_array_end(&w);
	writer_member_string(&w, KEY_CWD,
	    spec->workspace != NULL ? spec->workspace : getcwd(here, sizeof here));
	writer_member_string(&w, KEY_WORKSPACE, spec->workspace);
	if (spec->snapshot)
		writer_member_bool(&w, KEY_SNAPSHOT, true);
	if (spec->no_input)
		writer_member_bool(&w, KEY_NO_INPUT, true);
	writer_member_string(&w, KEY_DIRECTORY, spec->directory);
	writer_member_string(&w, KEY_STORAGE, r->storage.root);
	writer_member_span(&w, KEY_INPUTS,
	    spec->inputs.at != NULL ? spec->inputs : span_of("{}", 2));

	write_environment(&w, spec);
	if (marked)
		marks_write_start(key, spec->marks.ignored, &w);
	writer_member_string(&w, KEY_WORKFLOW_SHA256, spec->workflow_sha256);
	failed = keep_files(r, spec, &w, err);
	writer_member_string(&w, KEY_AWF_VERSION, AWF_VERSION);
	writer_member_integer(&w, KEY_FORMAT, TRANSCRIPT_FORMAT);
	writer_member_integer(&w, KEY_ATTEMPT, r->attempt);
	if (spec->going_on.by_itself)
		run_write_going_on(&spec->going_on, &w);
	writer_member_string(&w, KEY_FORKED_FROM, spec->forked_from);
	writer_member_string(&w, KEY_FORKED_AT, spec->forked_at);
	if (traced)
		writer_member_string(&w, KEY_TRACEPARENT, traceparent_write(&outer, traceparent));
	if (r->transcript.masked)
		writer_member_bool(&w, KEY_MASKED, true);
	writer_member_string(&w, KEY_VOCABULARY, spec->vocabulary);
	writer_object_end(&w);

	if (failed == 0)
		failed = append_started(r, NULL, spec->cause,
		    span_of(payload.data, payload.len), err);
	/* START_FILE is written after run.started: if the mask refuses that, no file is left
	 * behind. */
	if (failed == 0 && workflow && !marked)
		failed = write_start(r, spec, key, true, err);
	buffer_free(&payload);
	return failed;
}

/* Ignores SIGXFSZ, so that exceeding the limit for file sizes (RLIMIT_FSIZE) is an error and does
 * not end the process. */
static void
run_init(struct run *r)
{
	signal(SIGXFSZ, SIG_IGN);
	memset(r, 0, sizeof *r);
	r->lock_fd = -1;
	r->transcript.fd = -1;
}

/* Removes everything of a run that could not be created; but no files of another run with its
 * id. */
static void
run_abandon_new(struct run *r)
{
	if (r->transcript.fd != -1)
		unlink(r->transcript.path);
	if (r->lock_fd >= 0)
		run_directory_drop(r->directory);
	run_close(r);
}

int
run_create(struct run *r, const struct run_spec *spec, struct error *err)
{
	struct redaction *redaction = spec->redaction;
	int failed;

	run_init(r);
	if (storage_prepare(&r->storage, err) != 0)
		return -1;
	if (spec->id != NULL)
		memcpy(r->id, spec->id, sizeof r->id);
	else
		id_new(r->id);
	r->attempt = 1;
	r->name = memory_text(spec->name);
	r->keep_transcript = spec->keep_transcript;
	r->audited = true;
	r->warn = spec->warn;
	random_bytes(r->key, sizeof r->key);
	failed = make_run(r, spec->lineage, err);
	if (failed == 0 && redaction != NULL) {
		r->transcript.masked = true;
		r->transcript.redaction = redaction;
		memcpy(redaction->key, r->key, sizeof redaction->key);
		redaction_mark(redaction, r->redaction_mark);
		failed = run_write_file(r, MARK_FILE, r->redaction_mark,
		    sizeof r->redaction_mark - 1, "unable to write the run's mask", err);
	}
	if (failed != 0 || write_workspace(r, spec->workspace, err) != 0 ||
	    record_started(r, spec, err) != 0) {
		run_abandon_new(r);
		return -1;
	}
	run_announce_start(r, spec);
	return 0;
}

/* Opens a file of the run directory for reading; -1 with errno. */
static int
open_file(const struct run *r, const char *name)
{
	char *path = path_join(r->directory, name);
	int fd = file_open_plain(path, O_RDONLY, 0), reason = errno;

	free(path);
	errno = reason;
	return fd;
}

char *
run_source(const struct run *r)
{
	struct buffer text = BUFFER_INIT;
	int fd = open_file(r, RECREATED);

	if (fd >= 0) {
		file_read(fd, &text, PATH_MAX);
		close(fd);
	}
	if (text.len > 0)
		return buffer_take(&text);
	buffer_free(&text);
	return NULL;
}

int
run_recreate(struct run *r, const struct run_recorded *recorded, struct error *err)
{
	const char *source = recorded->source == NULL ? "" : recorded->source;
	struct traceparent outer;
	char *text;

	run_init(r);
	if (storage_prepare_at(&r->storage, recorded->root, err) != 0)
		return -1;
	memcpy(r->id, recorded->id, sizeof r->id);
	memcpy(r->key, recorded->key, sizeof r->key);
	r->attempt = recorded->attempt;
	r->name = memory_text(recorded->name);
	r->keep_transcript = true;
	text = span_text(span_member(recorded->payload, KEY_TRACEPARENT));
	enter_trace(r, traceparent_read(text, &outer) ? &outer : NULL);
	free(text);
	if (make_run(r, recorded->lineage, err) != 0 || write_workspace(r, NULL, err) != 0 ||
	    run_write_file(r, RECREATED, source, strlen(source), "unable to write", err) != 0 ||
	    append_started(r, recorded->started, &recorded->cause, recorded->payload, err) != 0) {
		run_abandon_new(r);
		return -1;
	}
	return 0;
}

int
run_reopen(struct run *r, const char *id, struct error *err)
{
	run_init(r);
	if (storage_prepare(&r->storage, err) != 0)
		return -1;
	memcpy(r->id, id, sizeof r->id);
	r->keep_transcript = r->audited = true;
	r->directory = storage_run_directory(&r->storage, r->id);
	r->lock_fd = run_lock_take_over(r->directory, err);
	if (r->lock_fd < 0) {
		run_close(r);
		return -1;
	}
	if (open_transcript(r, NULL, false, err) == 0)
		return 0;
	run_let_go(r);
	return -1;
}

int
run_restart(struct run *r, int attempt, const struct run_spec *spec, struct error *err)
{
	r->attempt = attempt;
	r->name = memory_text(spec->name);
	r->warn = spec->warn;
	random_bytes(r->key, sizeof r->key);
	if (run_lock_sign(r->lock_fd, r->directory, attempt, err) != 0 || write_key(r, err) != 0 ||
	    (spec->lineage != NULL && lineage_write(spec->lineage, r->directory, err) != 0) ||
	    write_workspace(r, spec->workspace, err) != 0 || record_started(r, spec, err) != 0)
		return -1;
	run_announce_start(r, spec);
	return 0;
}

void
run_let_go(struct run *r)
{
	run_directory_drop(r->directory);
	run_close(r);
}

void
run_set_environment(const struct run *r, struct environment *e, const char *directory)
{
	environment_set(e, "AWF_RUN_ID", r->id);
	environment_set(e, "AWF_TRANSCRIPT", r->transcript.path);
	environment_set(e, "AWF_STORAGE", r->storage.root);
	environment_set(e, "AWF_PATH", "");
	environment_set(e, "AWF_CALL", "");
	environment_set(e, "AWF_PARENT", r->started);
	environment_set(e, "AWF_WORKFLOW_DIR", directory);
	environment_set(e, TRACEPARENT, r->traceparent);
	/* TRACESTATE belongs to a trace of somebody else. */
	if (!r->traced)
		environment_unset(e, "TRACESTATE");
}

bool
run_in_environment(void)
{
	const char *id = getenv("AWF_RUN_ID");

	return id != NULL && *id != '\0';
}

/* Reads a file of the run directory. Returns how many bytes were read, at most size; -1 with
 * errno if it cannot be opened. */
static ssize_t
run_read_file(const struct run *r, const char *name, void *bytes, size_t size)
{
	int fd = open_file(r, name);
	ssize_t got;

	if (fd < 0)
		return -1;
	got = read(fd, bytes, size);
	close(fd);
	return got > 0 ? got : 0;
}

/* Opens the run of the environment, including its transcript. */
static int
run_enter_environment(struct run *r, struct error *err)
{
	const struct { const char *name; char *id; } ids[] = {
		{ "AWF_RUN_ID", r->id }, { "AWF_PARENT", r->started },
	};
	const char *transcript = getenv("AWF_TRANSCRIPT");
	struct traceparent around;
	char text[LOCK_TEXT_SIZE], *path;
	int fd, held, failed = 0;
	ssize_t got;

	for (size_t i = 0; i < sizeof ids / sizeof ids[0]; i++) {
		const char *value = getenv(ids[i].name);

		if (value == NULL || !id_valid(value, strlen(value)))
			return error_set(err, ERROR_SYSTEM, ids[i].name,
			    "not a run's id: do not set it yourself");
		memcpy(ids[i].id, value, ID_SIZE);
	}
	if (transcript == NULL || *transcript != '/')
		return error_set(err, ERROR_SYSTEM, "AWF_TRANSCRIPT",
		    "not the path of a transcript: do not set it yourself");
	if (storage_locate(&r->storage, err) != 0)
		return -1;
	r->directory = storage_run_directory(&r->storage, r->id);

	/* Check that the run's owner is alive, and read the number of the attempt. */
	fd = open_file(r, "lock");
	if (fd < 0 && errno == ENOENT)
		return error_set(err, ERROR_SYSTEM, r->id, "run has ended");
	if (fd < 0)
		return error_errno(err, ERROR_SYSTEM, r->directory,
		    "unable to open the run's lock");
	got = read(fd, text, sizeof text - 1);
	text[got > 0 ? got : 0] = '\0';
	held = lock_look(fd, LOCK_WHOLE, NULL);
	if (held == -1)
		failed = error_errno(err, ERROR_SYSTEM, r->directory,
		    "unable to look at the run's lock");
	else if (held == 0)
		failed = error_set(err, ERROR_SYSTEM, r->id, "run has ended");
	else if (sscanf(text, "%*d %d", &r->attempt) != 1 || r->attempt < 1)
		failed = error_set(err, ERROR_SYSTEM, r->directory,
		    "the run's lock file is damaged");
	close(fd);
	if (failed != 0)
		return -1;

	got = run_read_file(r, "key", r->key, sizeof r->key);
	if (got == -1) {
		path = path_join(r->directory, "key");
		failed = error_errno(err, ERROR_SYSTEM, path, "unable to open");
		free(path);
		return failed;
	}
	if (got != (ssize_t)sizeof r->key)
		return error_set(err, ERROR_SYSTEM, r->directory, "the run's key is damaged");
	/* A run that is not masked has no mark file. */
	got = run_read_file(r, MARK_FILE, r->redaction_mark, sizeof r->redaction_mark - 1);
	if (got != (ssize_t)sizeof r->redaction_mark - 1 && (got != -1 || errno != ENOENT))
		return error_set(err, ERROR_SYSTEM, r->directory, "the run's mask is damaged");

	r->keep_transcript = strncmp(transcript, r->directory, strlen(r->directory)) != 0;
	if (open_transcript(r, transcript, false, err) != 0)
		return -1;
	r->transcript.masked = *r->redaction_mark != '\0';
	if (traceparent_read(getenv(TRACEPARENT), &around))
		traceparent_write(&around, r->traceparent);
	else
		enter_trace(r, NULL);
	return 0;
}

int
run_enter(struct run *r, struct error *err)
{
	run_init(r);
	r->started_wall = clock_wall();
	r->started_monotonic = clock_monotonic();
	if (run_enter_environment(r, err) == 0)
		return 0;
	run_close(r);
	return -1;
}

int
run_redact(struct run *r, struct redaction *redaction, struct error *err)
{
	char mark[DIGEST_SIZE];

	if (*r->redaction_mark == '\0' && redaction == NULL)
		return 0;
	if (*r->redaction_mark == '\0')
		return error_set(err, ERROR_SYSTEM, "AWF_MASK",
		    "is set, but the run is not masked: give --mask to awf-run");
	if (redaction == NULL)
		return error_set(err, ERROR_SYSTEM, "AWF_MASK",
		    "is not set, but the run is masked: do not unset it");
	memcpy(redaction->key, r->key, sizeof redaction->key);
	if (strcmp(redaction_mark(redaction, mark), r->redaction_mark) != 0)
		return error_set(err, ERROR_SYSTEM, "AWF_MASK",
		    "is not the filter that the run began with: do not set it yourself");
	r->transcript.redaction = redaction;
	return 0;
}

char *
run_environment_directory(void)
{
	const char *id = getenv("AWF_RUN_ID");
	struct storage storage;
	char *path;

	if (id == NULL || !id_valid(id, strlen(id)) || storage_locate(&storage, NULL) != 0)
		return NULL;
	path = storage_run_directory(&storage, id);
	storage_close(&storage);
	return path;
}

/* Whether the directory of the run in the environment has this digest of a filter. */
static bool
environment_marked(const char *mark)
{
	char *directory = run_environment_directory();
	char *path = directory == NULL ? NULL : path_join(directory, mark);
	bool marked = path != NULL && access(path, F_OK) == 0;

	free(path);
	free(directory);
	return marked;
}

bool
run_environment_masked(void)
{
	return environment_marked(MARK_FILE);
}

bool
run_environment_recreated(void)
{
	return environment_marked(RECREATED);
}

void
run_write_error(struct writer *w, const struct error *error)
{
	writer_key(w, KEY_ERROR);
	if (error == NULL || error->code == ERROR_NONE) {
		writer_null(w);
		return;
	}
	writer_object(w);
	writer_members_error(w, error);
	writer_object_end(w);
}

/* Writes the digest and size of a stored stdin or stdout; nothing if it was not stored. */
static void
write_kept(struct writer *w, const char *key, const char *sha256, int64_t bytes)
{
	if (sha256 == NULL)
		return;
	writer_member_object(w, key);
	writer_member_string(w, KEY_SHA256, sha256);
	writer_member_integer(w, KEY_BYTES, bytes);
	writer_object_end(w);
}

int
run_finish(struct run *r, const struct run_end *end, struct error *err)
{
	const int64_t duration = clock_monotonic() - r->started_monotonic;
	struct buffer payload = BUFFER_INIT;
	struct event e = { .type = EVENT_RUN_COMPLETED, .event_id = end->event_id,
		.parent_event_id = r->started, .path = "", .seal = end->seal };
	struct writer w;
	int failed;

	writer_begin(&w, &payload);
	writer_object(&w);
	writer_member_string(&w, KEY_STATUS, end->status);
	writer_member_integer(&w, KEY_EXIT_CODE, end->exit_code);
	run_write_error(&w, end->error);
	writer_member_integer(&w, KEY_DURATION_MS, duration);
	write_kept(&w, KEY_STDIN, end->stdin_sha256, end->stdin_bytes);
	write_kept(&w, KEY_STDOUT, end->stdout_sha256, end->stdout_bytes);
	writer_member_span(&w, KEY_USAGE, end->usage);
	if (end->interrupted)
		writer_member_bool(&w, KEY_INTERRUPTED, true);
	if (end->seal != NULL)
		seal_write(&w, end->seal);
	writer_object_end(&w);
	e.payload = span_of(payload.data, payload.len);
	failed = transcript_append(&r->transcript, &e, err) != 0 ||
	    transcript_sync(&r->transcript, err) != 0 ? -1 : 0;
	buffer_free(&payload);

	if (r->audited) {
		struct error audit_err = ERROR_INIT;
		struct audit_end line = { r->id, r->attempt, r->name,
			r->started_wall + duration * 1000, end->status, end->exit_code, duration,
			NULL };
		char *message = NULL;

		/* The error for the audit file; for a masked run as the filter has masked it. */
		if (end->error == NULL || end->error->code == ERROR_NONE)
			message = NULL;
		else if (!r->transcript.masked)
			message = memory_text(end->error->message);
		else if (failed != 0)
			message = memory_text("the end could not be recorded");
		else
			message = span_text(span_member(
			    redaction_member(r->transcript.redaction, KEY_ERROR), KEY_MESSAGE));
		line.error = message;
		if (audit_completed(&r->storage, &line, &audit_err) != 0)
			run_warn(r, &audit_err);
		free(message);
	}
	run_directory_drop(r->directory);
	return failed;
}

void
run_close(struct run *r)
{
	transcript_close(&r->transcript);
	if (r->lock_fd >= 0)
		close(r->lock_fd);
	r->lock_fd = -1;
	free(r->directory);
	free(r->name);
	r->directory = r->name = NULL;
	storage_close(&r->storage);
}
