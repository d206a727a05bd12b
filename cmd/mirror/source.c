/*
 * One loop around poll(2). Output is written to stdout at once: if its reader is slow, the database
 * is read slowly.
 */
#include "mirror/source.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/digest.h"
#include "base/id.h"
#include "base/list.h"
#include "base/map.h"
#include "base/memory.h"
#include "base/options.h"
#include "base/patience.h"
#include "ingest/blobs.h"
#include "io/polling.h"
#include "io/terminal.h"
#include "json/line_input.h"
#include "json/writer.h"
#include "mirror/protocol.h"
#include "program.h"
#include "transcript/event.h"
#include "transcript/event_keys.h"

#define OUT_BYTES ((size_t)256 << 10)
#define NAME_SHOWN 64     /* bytes of an invalid run id in a message */

static const struct option_spec no_options[] = { { OPTION_END, 0, NULL, NULL, NULL } };

/* What was reported about a run. */
struct announced {
	char run_id[ID_SIZE];
	char digest[DIGEST_SIZE];
	int64_t seq, pruned;
	uint64_t listed;          /* number of the last list that contained it */
	bool gone;
};

/* The state of the filter, which is this process. */
static struct {
	const struct source *source;
	struct buffer out;        /* not written yet */
	struct announced *announced;
	size_t count, capacity;
	struct map places;        /* run id → index in announced; an invalid id → SIZE_MAX */
	uint64_t lists;           /* number of lists made */
	size_t runs;              /* in the current list */

	/* The current answer. */
	const char *run_id;
	int64_t sent;             /* seq */
	struct map blobs;         /* sent with this answer */
	bool refused;
} filter;

/* ---- output ---- */

static int
source_flush_output(struct error *err)
{
	int failed = filter.out.len > 0 ? terminal_write_json(STDOUT_FILENO, filter.out.data, filter.out.len) : 0;

	buffer_clear(&filter.out);
	return failed == 0 ? 0 : error_errno(err, ERROR_SYSTEM, "stdout", "unable to write");
}

static void
end_word(struct writer *w)
{
	writer_object_end(w);
	buffer_byte(&filter.out, '\n');
}

static void
begin_word(struct writer *w, const char *run_id)
{
	writer_begin(w, &filter.out);
	writer_object(w);
	if (run_id != NULL)
		writer_member_string(w, KEY_RUN_ID, run_id);
}

static void
source_write_number(const char *run_id, const char *key, int64_t number)
{
	struct writer w;

	begin_word(&w, run_id);
	writer_member_integer(&w, key, number);
	end_word(&w);
}

static void
source_write_error(const char *run_id, const struct error *why)
{
	struct writer w;

	begin_word(&w, run_id);
	writer_member_object(&w, KEY_ERROR);
	writer_members_error(&w, why);
	writer_object_end(&w);
	end_word(&w);
}

/* Reports an invalid run id, once. */
static void
source_write_bad_run_id(const char *name)
{
	struct error why = ERROR_INIT;
	char shown[NAME_SHOWN + 1];

	if (map_get(&filter.places, name, strlen(name)) != NULL)
		return;
	map_put(&filter.places, name, strlen(name), SIZE_MAX);
	snprintf(shown, sizeof shown, "%s", name);
	error_set(&why, ERROR_SCHEMA, NULL, "is no id of a run");
	source_write_error(shown, &why);
}

void
source_run(const struct source_run *run)
{
	const size_t *place = map_get(&filter.places, run->run_id, strlen(run->run_id));
	struct announced *announced;
	struct writer w;

	if (place == NULL || *place == SIZE_MAX) {
		if (!id_valid(run->run_id, strlen(run->run_id))) {
			source_write_bad_run_id(run->run_id);
			return;
		}
		if (filter.count == filter.capacity) {
			filter.capacity = filter.capacity == 0 ? 64 : 2 * filter.capacity;
			filter.announced = memory_array(filter.announced, filter.capacity, sizeof *filter.announced);
		}
		announced = &filter.announced[filter.count];
		*announced = (struct announced){ .gone = true };
		memcpy(announced->run_id, run->run_id, ID_SIZE);
		map_put(&filter.places, run->run_id, ID_SIZE - 1, filter.count++);
	} else {
		announced = &filter.announced[*place];
	}
	announced->listed = filter.lists;
	filter.runs++;
	if (!announced->gone && announced->seq == run->seq && announced->pruned == run->pruned &&
	    strcmp(announced->digest, run->digest) == 0)
		return;
	announced->gone = false;
	announced->seq = run->seq;
	announced->pruned = run->pruned;
	snprintf(announced->digest, sizeof announced->digest, "%s", run->digest);
	begin_word(&w, run->run_id);
	writer_member_integer(&w, KEY_SEQ, run->seq);
	writer_member_string(&w, FETCH_DIGEST, announced->digest);
	writer_member_string(&w, FETCH_ORIGIN, run->origin);
	if (run->pruned > 0)
		writer_member_integer(&w, FETCH_PRUNED, run->pruned);
	writer_member_integer(&w, FETCH_IDLE, run->idle_ms > 0 ? run->idle_ms : 0);
	end_word(&w);
}

/* Reports all runs, and those that do not exist any more. */
static int
list_all(struct error *err)
{
	filter.lists++;
	filter.runs = 0;
	if (filter.source->list(filter.source->context, err) != 0)
		return -1;
	for (size_t i = 0; i < filter.count; i++) {
		struct announced *announced = &filter.announced[i];
		struct writer w;

		if (announced->gone || announced->listed == filter.lists)
			continue;
		announced->gone = true;
		begin_word(&w, announced->run_id);
		writer_member_bool(&w, FETCH_GONE, true);
		end_word(&w);
	}
	source_write_number(NULL, FETCH_LISTED, (int64_t)filter.runs);
	return source_flush_output(err);
}

/* ---- answers ---- */

void
source_data(const void *bytes, size_t len)
{
	buffer_text(&filter.out, ",\"" FETCH_DATA "\":\"");
	base64_encode(bytes, len, &filter.out);
	buffer_text(&filter.out, "\"}\n");
}

/* Sends the blobs that a line names, each once per answer. */
static int
send_blobs(const char *line, size_t len, struct error *err)
{
	char **names = blobs_named(line, len);
	int failed = 0;

	for (char **name = names; name != NULL && *name != NULL && failed == 0; name++) {
		size_t before = filter.out.len, begun;
		struct writer w;

		if (map_get(&filter.blobs, *name, DIGEST_SIZE - 1) != NULL)
			continue;
		map_put(&filter.blobs, *name, DIGEST_SIZE - 1, 0);
		writer_begin(&w, &filter.out);
		writer_object(&w);
		writer_member_string(&w, FETCH_BLOB, *name);
		writer_member_string(&w, KEY_RUN_ID, filter.run_id);
		begun = filter.out.len;
		failed = filter.source->blob(filter.source->context, filter.run_id, *name, err);
		/* The database does not have it. */
		if (filter.out.len == begun)
			filter.out.len = before;
		if (failed == 0 && filter.out.len >= OUT_BYTES)
			failed = source_flush_output(err);
	}
	list_free(names);
	return failed;
}

int
source_line(const char *text, size_t len, struct error *err)
{
	struct error why = ERROR_INIT;
	struct event_view view = { .seq = 0 };

	if (text == NULL || len > SCAN_LINE_LIMIT)
		error_set(&why, ERROR_SCHEMA, NULL, "a line behind line %" PRId64 " is too long", filter.sent);
	else if (!event_view_whole(text, len, &view) || memchr(text, '\n', len) != NULL)
		error_set(&why, ERROR_SCHEMA, NULL, "the data after line %" PRId64 " is not a "
		    "line of a "
		    "transcript", filter.sent);
	if (why.code != ERROR_NONE) {
		filter.refused = true;
		source_write_error(filter.run_id, &why);
		return 1;
	}
	if (send_blobs(text, len, err) != 0)
		return -1;
	buffer_append(&filter.out, text, len);
	buffer_byte(&filter.out, '\n');
	filter.sent = view.seq;
	return filter.out.len >= OUT_BYTES ? source_flush_output(err) : 0;
}

static int
source_read_request(const char *line, size_t len, struct error *err)
{
	static const char *const names[] = { KEY_RUN_ID, FETCH_AFTER };
	struct span values[2];
	char run_id[ID_SIZE];
	long long after;
	size_t bad;
	int failed;

	if (scan_within(line, len, SCAN_LINE_DEPTH, &bad) != NULL || *line != '{')
		return error_set(err, ERROR_INVALID_INPUT, "stdin", "a line that is no JSON object: see "
		    "awf-ship(7)");
	span_members(span_of(line, len), names, 2, values);
	if (!event_copy_id(values[0], run_id) || !span_integer(values[1], &after) || after < 0)
		return 0; /* a message of a later version */
	filter.run_id = run_id;
	filter.sent = after;
	filter.refused = false;
	failed = filter.source->lines(filter.source->context, run_id, after, err);
	map_free(&filter.blobs);
	filter.blobs = (struct map)MAP_INIT;
	if (failed < 0)
		return -1;
	if (!filter.refused)
		source_write_number(run_id, FETCH_SENT, filter.sent);
	return source_flush_output(err);
}

/* ---- the loop ---- */

/* Waits until the tables exist. 1; 0: stdin ended before; -1. */
static int
await_tables(struct line_input *in, struct error *err)
{
	int ready;

	while ((ready = filter.source->ready(filter.source->context, err)) == 0 && !in->ended)
		if (poll_one(STDIN_FILENO, POLLIN, clock_monotonic() + FETCH_LOOK_MS) != 0 &&
		    line_input_read(in) == -1 && errno != EINTR && errno != EAGAIN)
			return 0;
	return ready;
}

/* Reports what has changed. Without notifications, the database is polled. */
static int
source_write_changes(struct line_input *in, int64_t *look_at, int64_t *list_at, struct error *err)
{
	const struct source *s = filter.source;
	const bool notified = s->fd(s->context) != -1;
	const int64_t now = clock_monotonic();
	int changed = 0;

	if (notified || now >= *look_at) {
		changed = s->changed(s->context, err);
		*look_at = now + s->look_ms;
	}
	/* A notification may have been read during the query; it does not wake the poll. */
	if (notified && (changed > 0 || now >= *list_at))
		*look_at = now;
	if (changed == -1 || source_flush_output(err) != 0)
		return -1;
	if ((changed == CHANGED_UNKNOWN || now >= *list_at) && !in->ended) {
		if (list_all(err) != 0)
			return -1;
		*list_at = clock_monotonic() + FETCH_LIST_MS;
		/* Listing many runs takes time: spend at most a tenth of the time on it. */
		if (!notified)
			*look_at = clock_monotonic() + s->look_ms + 10 * (clock_monotonic() - now);
	}
	return 0;
}

/* Waits for a request, or until the database may have changed. */
static int
wait_for_more(struct line_input *in, int64_t until, struct error *err)
{
	const struct source *s = filter.source;
	struct pollfd fds[2] = { { .fd = STDIN_FILENO, .events = POLLIN },
		{ .fd = s->fd(s->context), .events = POLLIN } };

	if (poll_until(fds, 2, until) == -1)
		return error_errno(err, ERROR_SYSTEM, NULL, "unable to wait");
	if (fds[0].revents != 0 && line_input_read(in) == -1 && errno != EINTR && errno != EAGAIN)
		return error_errno(err, ERROR_SYSTEM, "stdin", "unable to read");
	return 0;
}

/* Until stdin ends. */
static int
source_serve_stdin(struct error *err)
{
	int64_t look_at, list_at;
	struct line_input in;
	const char *line;
	size_t len;
	int got, failed = 0;

	line_input_begin(&in, STDIN_FILENO, "stdin");
	got = await_tables(&in, err);
	if (got == 1)
		failed = list_all(err);
	look_at = clock_monotonic() + filter.source->look_ms;
	list_at = clock_monotonic() + FETCH_LIST_MS;
	while (got == 1 && failed == 0) {
		while (failed == 0 && (got = line_input_take(&in, &line, &len)) == 1)
			failed = source_read_request(line, len, err);
		if (failed != 0 || got == -1 || in.ended)
			break;
		got = 1;
		failed = source_write_changes(&in, &look_at, &list_at, err) != 0 ? -1 :
		    wait_for_more(&in, look_at < list_at ? look_at : list_at, err);
	}
	line_input_free(&in);
	return err->code == ERROR_NONE ? 0 : -1;
}

/* Returns 0, the id of --help or --version, or -1. */
static int
source_read_options(const char **url, int argc, char **argv, struct error *err)
{
	struct options o;
	int id;

	options_begin(&o, no_options, argc, argv);
	while ((id = options_next(&o, err)) != OPTION_END) {
		if (id == -1 || OPTION_ASKS(id))
			return id;
		if (*url != NULL)
			return error_set(err, ERROR_USAGE, o.value, "is one word too many");
		*url = o.value;
	}
	return *url != NULL ? 0 : error_set(err, ERROR_USAGE, NULL, "the URL is missing: %s",
	    filter.source->form);
}

int
source_main(const struct source *s, int argc, char **argv)
{
	struct error err = ERROR_INIT;
	const char *url = NULL;
	int status = STATUS_OK;
	char *usage;

	program_begin();
	filter.source = s;
	switch (source_read_options(&url, argc, argv, &err)) {
	case -1:
		return program_fail(s->program, &err);
	case OPTION_HELP:
		usage = memory_format("%s %s", s->program, s->form);
		options_help(stdout, usage, no_options, OPTION_HELP);
		free(usage);
		return program_end(s->program, STATUS_OK);
	case OPTION_VERSION:
		return program_end(s->program, program_version(s->program));
	}
	program_ends_with_stdin();
	if (s->open(s->context, url, &err) == 0)
		source_write_number(NULL, FETCH_HELLO, FETCH_VERSION);
	if (err.code != ERROR_NONE || source_flush_output(&err) != 0 ||
	    source_serve_stdin(&err) != 0)
		status = program_fail(s->program, &err);
	s->close(s->context);
	map_free(&filter.places);
	free(filter.announced);
	buffer_free(&filter.out);
	return status;
}
