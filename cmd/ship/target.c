/*
 * One loop around poll(2). Answers are written to stdout at once: they fit into a pipe, and
 * awf-ship reads while it writes.
 */
#include "ship/target.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/memory.h"
#include "base/options.h"
#include "ingest/ship_protocol.h"
#include "io/file.h"
#include "io/polling.h"
#include "io/terminal.h"
#include "json/line_input.h"
#include "json/writer.h"
#include "program.h"
#include "transcript/blob.h"
#include "transcript/event.h"
#include "transcript/event_keys.h"

#define BATCH_BYTES ((size_t)32 << 20)
#define BATCH_LINES ((size_t)40000)
#define BATCH_MS 500              /* the longest wait of a batch's first line */
#define QUIET_MS 20               /* after which the batch is not held for more lines */
#define PRUNE_PAUSE_MS 3600000

struct filter {
	const struct target *target;
	struct batch batch;
	char call[ID_SIZE], cost[32]; /* of the next line */
	struct batch_run *last;       /* the run of the previous line, usually the same */
	int64_t keep_ms, prune_at;
};

static struct buffer answers; /* not written yet */

/* ---- answers ---- */

void
target_have(const struct batch_run *run, const struct position *have)
{
	struct writer w;

	writer_begin(&w, &answers);
	writer_object(&w);
	writer_member_string(&w, KEY_RUN_ID, run->run_id);
	writer_member_integer(&w, KEY_SEQ, have->seq);
	if (have->seq > 0 && have->digest[0] != '\0')
		writer_member_string(&w, SHIP_DIGEST, have->digest);
	if (have->pruned > 0)
		writer_member_integer(&w, SHIP_PRUNED, have->pruned);
	writer_object_end(&w);
	buffer_byte(&answers, '\n');
}

void
target_refuse(struct batch_run *run, const struct error *err)
{
	struct writer w;

	run->refused = true;
	writer_begin(&w, &answers);
	writer_object(&w);
	writer_member_string(&w, KEY_RUN_ID, run->run_id);
	writer_member_object(&w, KEY_ERROR);
	writer_members_error(&w, err);
	writer_object_end(&w);
	writer_object_end(&w);
	buffer_byte(&answers, '\n');
}

static int
target_flush_answers(struct error *err)
{
	int failed = answers.len > 0 ? terminal_write_json(STDOUT_FILENO, answers.data, answers.len) : 0;

	buffer_clear(&answers);
	return failed == 0 ? 0 : error_errno(err, ERROR_SYSTEM, "stdout", "unable to write");
}

static void
target_write_hello(const struct target *t)
{
	struct writer w;

	writer_begin(&w, &answers);
	writer_object(&w);
	writer_member_integer(&w, SHIP_HELLO, SHIP_VERSION);
	writer_member_array(&w, SHIP_TAKES);
	if (t->about)
		writer_string(&w, SHIP_TAKES_ABOUT);
	if (t->blobs)
		writer_string(&w, SHIP_TAKES_BLOBS);
	if (t->put_blob != NULL)
		writer_string(&w, SHIP_TAKES_ALONE);
	if (t->get_blob != NULL)
		writer_string(&w, SHIP_TAKES_FETCH);
	writer_array_end(&w);
	writer_object_end(&w);
	buffer_byte(&answers, '\n');
}

/* Whether the file of a blob exists and is complete. */
static bool
read_blob(const char *path, const char *sha256, struct buffer *bytes)
{
	char *directory = path_directory(path);
	bool read = blob_read(directory, sha256, bytes, NULL) == 0;

	free(directory);
	return read;
}

int
target_put_blobs(const struct batch_run *run, target_put_blob *put, void *context,
    struct error *err)
{
	int failed = 0;

	for (size_t i = 0; i < run->blob_count && failed == 0; i++) {
		struct buffer bytes = BUFFER_INIT;

		if (read_blob(run->blobs[i].path, run->blobs[i].sha256, &bytes))
			failed = put(context, run->run_id, run->blobs[i].sha256, &bytes, err);
		buffer_free(&bytes);
	}
	return failed;
}

int
target_blob(const char *path, const void *bytes, size_t len, struct error *err)
{
	int fd = file_open_plain(path, O_WRONLY | O_CREAT | O_TRUNC, 0600), made = 1;

	if (fd == -1 || file_write(fd, bytes, len) != 0)
		made = error_errno(err, ERROR_SYSTEM, path, "unable to write");
	file_close(&fd);
	return made;
}

/* ---- input ---- */

static int
no_such(const char *what, struct error *err)
{
	return error_set(err, ERROR_INVALID_INPUT, "stdin", "%s: see awf-ship(7)", what);
}

/* Writes the batch run by run, and refuses runs that the target cannot store. */
static int
write_apart(struct filter *f, struct error *err)
{
	for (size_t i = 0; i < f->batch.with_count; i++) {
		struct batch_run *run = f->batch.with[i];
		struct batch one = { .with = &run, .with_count = 1 };
		struct error why;

		*err = (struct error)ERROR_INIT;
		if (run->refused || f->target->write(f->target->context, &one, err) == 0)
			continue;
		if (err->code != ERROR_INVALID_INPUT)
			return -1;
		error_set(&why, ERROR_BLOCKED, NULL, "the target cannot hold it, and nothing more of the "
		    "run is sent: %s", err->message);
		target_refuse(run, &why);
	}
	*err = (struct error)ERROR_INIT;
	return 0;
}

/* Makes what has arrived safe, and acknowledges it. */
static int
target_write_batch(struct filter *f, struct error *err)
{
	int failed;

	if (f->batch.with_count == 0)
		return 0;
	batch_sort(&f->batch);
	failed = f->target->write(f->target->context, &f->batch, err);
	if (failed != 0 && err->code == ERROR_INVALID_INPUT)
		failed = write_apart(f, err);
	if (failed != 0)
		return -1;
	batch_clear(&f->batch);
	return target_flush_answers(err);
}

static int
target_answer_position(struct filter *f, struct span line, struct error *err)
{
	static const char *const names[] = { KEY_RUN_ID, SHIP_ORIGIN, SHIP_TRANSCRIPT, SHIP_SIZE };
	struct position have = { .seq = 0 };
	struct span values[4];
	struct batch_run *run;
	char run_id[ID_SIZE];
	char *origin, *path;
	long long size = 0;

	span_members(line, names, 4, values);
	if (!event_copy_id(values[0], run_id))
		return no_such("a question without a run", err);
	/* If asked again, the run continues from the answer, which includes the lines before. */
	run = batch_find(&f->batch, values[0]);
	if (run != NULL && run->count > 0 && target_write_batch(f, err) != 0)
		return -1;
	origin = span_text(values[1]);
	path = span_text(values[2]);
	span_integer(values[3], &size);
	run = batch_run(&f->batch, run_id, origin != NULL ? origin : "", path != NULL ? path : "", size);
	free(path);
	free(origin);
	if (f->target->ask(f->target->context, run, &have, err) == 0)
		target_have(run, &have);
	else if (err->code == ERROR_DIVERGENCE || err->code == ERROR_BLOCKED)
		target_refuse(run, err);
	else
		return -1;
	*err = (struct error)ERROR_INIT;
	return target_flush_answers(err);
}

/* A blob without lines behind it is stored, or fetched, at once, and acknowledged. */
static int
serve_blob(struct filter *f, struct span line, const char *sha256, const char *path,
    struct error *err)
{
	const struct target *t = f->target;
	const bool fetch = span_true(span_member(line, SHIP_FETCH));
	char run_id[ID_SIZE];
	struct writer w;
	int got;

	if ((fetch ? t->get_blob == NULL : t->put_blob == NULL) ||
	    !event_copy_id(span_member(line, KEY_RUN_ID), run_id))
		return no_such("a blob alone", err);
	if (fetch) {
		got = t->get_blob(t->context, run_id, sha256, path, err);
	} else {
		struct buffer bytes = BUFFER_INIT;

		if (read_blob(path, sha256, &bytes))
			got = t->put_blob(t->context, run_id, sha256, &bytes, err);
		else
			got = error_set(err, ERROR_SYSTEM, path, "is not the blob that it is to be");
		buffer_free(&bytes);
	}
	if (got == -1)
		return -1;
	writer_begin(&w, &answers);
	writer_object(&w);
	writer_member_string(&w, SHIP_BLOB, sha256);
	writer_member_string(&w, KEY_RUN_ID, run_id);
	if (fetch && got == 0)
		writer_member_bool(&w, SHIP_MISSING, true);
	writer_object_end(&w);
	buffer_byte(&answers, '\n');
	return target_flush_answers(err);
}

static int
target_read_blob_line(struct filter *f, struct span line, struct error *err)
{
	struct batch_run *run = batch_find(&f->batch, span_member(line, KEY_RUN_ID));
	char *path = span_text(span_member(line, SHIP_PATH)), sha256[DIGEST_SIZE];
	int failed = 0;

	if (path == NULL || !span_copy(span_member(line, SHIP_BLOB), sha256, sizeof sha256)) {
		failed = no_such("a blob without a name", err);
	} else if (span_true(span_member(line, SHIP_ALONE)) || span_true(span_member(line, SHIP_FETCH))) {
		failed = serve_blob(f, line, sha256, path, err);
	} else if (run != NULL) {
		batch_add_blob(run, sha256, path);
		return 0;
	} else {
		failed = no_such("a blob of no run that was asked about", err);
	}
	free(path);
	return failed;
}

static int
target_add_event(struct filter *f, struct span line, struct error *err)
{
	struct event_view view;

	if (event_view(line.at, line.len, &view) != 0)
		return no_such("a line that is no event", err);
	if (f->last == NULL || !span_is(view.run_id, f->last->run_id))
		f->last = batch_find(&f->batch, view.run_id);
	if (f->last == NULL)
		return no_such("a line of a run that was not asked about", err);
	if (!f->last->refused)
		batch_add(&f->batch, f->last, line, view.seq, f->call, f->cost);
	f->call[0] = f->cost[0] = '\0';
	return 0;
}

/* The first key of a line tells its kind. */
static int
target_read_line(struct filter *f, struct span line, struct error *err)
{
	struct span_walk first;
	struct span cost;
	size_t bad;

	if (line.len > 7 && memcmp(line.at, "{\"seq\":", 7) == 0)
		return target_add_event(f, line, err);
	if (scan_within(line.at, line.len, SCAN_LINE_DEPTH, &bad) != NULL || span_type(line) != 'o')
		return no_such("a line that is no JSON object", err);
	first = span_walk(line);
	if (!span_next(&first))
		return 0;
	if (span_is(first.key, KEY_RUN_ID))
		return target_answer_position(f, line, err);
	if (span_is(first.key, SHIP_BLOB))
		return target_read_blob_line(f, line, err);
	if (span_is(first.key, KEY_CALL) || span_is(first.key, SHIP_COST)) {
		cost = span_member(line, SHIP_COST);
		event_copy_id(span_member(line, KEY_CALL), f->call);
		if (span_type(cost) == 'n' && cost.len < sizeof f->cost) {
			memcpy(f->cost, cost.at, cost.len);
			f->cost[cost.len] = '\0';
		}
	}
	return 0; /* a kind of a later version */
}

static int
target_prune_if_due(struct filter *f, struct error *err)
{
	if (f->keep_ms == 0 || clock_monotonic() < f->prune_at)
		return 0;
	f->prune_at = clock_monotonic() + PRUNE_PAUSE_MS;
	return f->target->prune(f->target->context, err);
}

/* Until stdin ends. */
static int
read_lines(struct filter *f, struct error *err)
{
	struct line_input in;
	struct span line;
	int64_t since = 0;
	int got = 0;

	line_input_begin(&in, STDIN_FILENO, "stdin");
	while (target_prune_if_due(f, err) == 0) {
		struct batch *b = &f->batch;
		int64_t wait = f->keep_ms > 0 ? f->prune_at : 0;

		while (b->bytes < BATCH_BYTES && b->lines < BATCH_LINES &&
		    (got = line_input_take(&in, &line.at, &line.len)) == 1)
			if (target_read_line(f, line, err) != 0)
				goto end;
		if (got == -1) {
			no_such("a line above 256 MiB", err);
			break;
		}
		if (b->with_count > 0) {
			if (since == 0)
				since = clock_monotonic();
			/* If awf-ship is about to send more, it is stored together with that. */
			if (b->bytes >= BATCH_BYTES || b->lines >= BATCH_LINES || in.ended ||
			    clock_monotonic() - since >= BATCH_MS ||
			    poll_one(STDIN_FILENO, POLLIN, clock_monotonic() + QUIET_MS) == 0) {
				if (target_write_batch(f, err) != 0)
					break;
				since = 0;
				continue;
			}
		}
		if (in.ended)
			break;
		if (poll_one(STDIN_FILENO, POLLIN, wait) != 0 && line_input_read(&in) == -1 &&
		    errno != EINTR && errno != EAGAIN) {
			error_errno(err, ERROR_SYSTEM, "stdin", "unable to read");
			break;
		}
	}
end:
	line_input_free(&in);
	return err->code == ERROR_NONE ? 0 : -1;
}

/* ---- the command line ---- */

enum { OPT_KEEP = 1 };

static const struct option_spec keeping_options[] = {
	{ OPT_KEEP, 0, "keep", "AGE", "remove what is older (90d)",
	    OPTION_INTO_DURATION(struct filter, keep_ms) },
	{ OPTION_END, 0, NULL, NULL, NULL },
};
static const struct option_spec *const no_options = keeping_options + 1;

/* 0, or the id of --help or --version, or -1. */
static int
target_read_options(struct filter *f, const char **url, int argc, char **argv, struct error *err)
{
	struct options o;
	int id;

	options_begin(&o, f->target->keeps ? keeping_options : no_options, argc, argv);
	options_bind(&o, f);
	while ((id = options_next(&o, err)) != OPTION_END) {
		if (id == -1 || OPTION_ASKS(id))
			return id;
		if (*url != NULL)
			return error_set(err, ERROR_USAGE, o.value, "is one word too many");
		*url = o.value;
	}
	return *url != NULL ? 0 : error_set(err, ERROR_USAGE, NULL, "the URL is missing: %s",
	    f->target->form);
}

int
target_main(const struct target *t, int argc, char **argv)
{
	struct filter f = { .target = t };
	struct error err = ERROR_INIT;
	const char *url = NULL;
	int status = STATUS_OK;
	char *usage;

	program_begin();
	switch (target_read_options(&f, &url, argc, argv, &err)) {
	case -1:
		return program_fail(t->program, &err);
	case OPTION_HELP:
		usage = memory_format("%s %s%s", t->program, t->keeps ? "[options] " : "", t->form);
		options_help(stdout, usage, t->keeps ? keeping_options : no_options, OPTION_HELP);
		free(usage);
		return program_end(t->program, STATUS_OK);
	case OPTION_VERSION:
		return program_end(t->program, program_version(t->program));
	}
	program_ends_with_stdin();
	target_write_hello(t);
	if (t->open(t->context, url, f.keep_ms, &err) != 0 || target_flush_answers(&err) != 0 ||
	    read_lines(&f, &err) != 0)
		status = program_fail(t->program, &err);
	t->close(t->context);
	batch_free(&f.batch);
	buffer_free(&answers);
	return status;
}
