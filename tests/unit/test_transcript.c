/* transcript/transcript: what is appended, what is repaired, what is refused. */
#include "record.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "json/scan.h"
#include "transcript/blob.h"
#include "transcript/transcript.h"

static struct error err;
static char repaired[512];

static void
note_repair(const char *text)
{
	snprintf(repaired, sizeof repaired, "%s", text);
}

/* A transcript called name.jsonl, new or as it lies there. */
static void
open_transcript(struct transcript *t, const char *path)
{
	int result = access(path, F_OK) == 0
	    ? transcript_open(t, path, record_path("blobs"), RUN_ID, &err)
	    : transcript_create(t, path, record_path("blobs"), RUN_ID, &err);

	if (result == -1)
		fail_msg("%s: %s", err.place, err.message);
	t->repaired = note_repair;
	repaired[0] = '\0';
}

static struct event
event_of(const char *payload)
{
	return (struct event){ .type = EVENT_MESSAGE_USER, .path = "a.b", .iteration = 2,
		.payload = span_of(payload, strlen(payload)) };
}

static void
append(struct transcript *t, const char *payload)
{
	struct event e = event_of(payload);

	if (transcript_append(t, &e, &err) == -1)
		fail_msg("%s: %s", err.place, err.message);
}

/* The file is a chain of count whole lines, as events of this run. */
static void
assert_chain(const char *path, long count)
{
	struct buffer file = BUFFER_INIT;
	char prev[DIGEST_SIZE] = ZEROS, last[CLOCK_TEXT_SIZE] = "";
	long seq = 0;

	record_load(path, &file);
	for (const char *line = buffer_string(&file), *lf; *line != '\0'; line = lf + 1) {
		struct event_view view;
		char timestamp[CLOCK_TEXT_SIZE], in_line[DIGEST_SIZE];
		size_t bad;
		lf = strchr(line, '\n');
		assert_non_null(lf);
		assert_null(scan_check(line, (size_t)(lf - line), &bad));
		assert_true(event_line_whole(line, (size_t)(lf - line), NULL));
		assert_int_equal(event_view(line, (size_t)(lf - line), &view), 0);
		assert_int_equal(view.seq, ++seq);
		assert_true(span_copy(view.prev, in_line, sizeof in_line));
		assert_string_equal(in_line, prev);
		assert_true(span_copy(view.timestamp, timestamp, sizeof timestamp));
		assert_true(strcmp(timestamp, last) >= 0);
		strcpy(last, timestamp);
		digest_blake2b(line, (size_t)(lf - line), prev);
	}
	assert_int_equal(seq, count);
	buffer_free(&file);
}

static void
test_sync_mode(void **state)
{
	static const struct { const char *text; int result; enum sync_mode mode; } modes[] = {
		{ NULL, 0, SYNC_STEP }, { "", 0, SYNC_STEP }, { "none", 0, SYNC_NONE },
		{ "step", 0, SYNC_STEP }, { "event", 0, SYNC_EVENT }, { "None", -1, SYNC_STEP },
		{ "all", -1, SYNC_STEP },
	};
	struct transcript t;
	enum sync_mode mode;

	(void)state;
	for (size_t i = 0; i < sizeof modes / sizeof modes[0]; i++) {
		if (modes[i].text == NULL)
			unsetenv("AWF_SYNC");
		else
			setenv("AWF_SYNC", modes[i].text, 1);
		assert_int_equal(sync_mode_from_environment(&mode, &err), modes[i].result);
		assert_int_equal(mode, modes[i].mode);
	}
	assert_int_equal(err.code, ERROR_USAGE);
	assert_int_equal(transcript_create(&t, record_path("mode.jsonl"), "", RUN_ID, &err), -1);
	assert_int_equal(err.code, ERROR_USAGE);
	assert_int_equal(access(record_path("mode.jsonl"), F_OK), -1);
	setenv("AWF_SYNC", "none", 1);
}

static void
test_line(void **state)
{
	const char *path = record_path("line.jsonl");
	struct buffer file = BUFFER_INIT;
	struct transcript t;
	struct stat status;
	char *expected;

	(void)state;
	open_transcript(&t, path);
	struct event e = event_of("{\"role\":\"user\"}");
	assert_int_equal(transcript_append(&t, &e, &err), 0);
	record_load(path, &file);
	expected = memory_format("{\"seq\":1,\"timestamp\":\"%s\",\"event_id\":\"%s\",\"run_id\":\"" RUN_ID
	    "\",\"parent_event_id\":null,\"type\":\"message.user\",\"path\":\"a.b\",\"iteration\":2,"
	    "\"payload\":{\"role\":\"user\"},\"prev\":\"" ZEROS "\"}\n", e.timestamp, e.id);
	assert_string_equal(file.data, expected);
	assert_int_equal(e.seq, 1);
	assert_true(id_valid(e.id, strlen(e.id)));
	assert_int_equal(stat(path, &status), 0);
	assert_int_equal(status.st_mode & 07777, 0600);
	assert_true(fcntl(t.fd, F_GETFD) & FD_CLOEXEC);
	free(expected);
	buffer_free(&file);
	transcript_close(&t);
}

static void
test_line_with_all_keys(void **state)
{
	static const char links[] = "\"" RUN_ID "\"";
	const char *path = record_path("keys.jsonl");
	struct buffer file = BUFFER_INIT;
	struct transcript t;
	char *expected;

	(void)state;
	open_transcript(&t, path);
	struct event e = { .type = EVENT_RUN_STARTED, .event_id = OTHER_ID, .parent_run_id = RUN_ID,
		.child_run_id = OTHER_ID, .parent_event_id = RUN_ID, .path = "",
		.links = span_of(links, sizeof links - 1) };
	assert_int_equal(transcript_append(&t, &e, &err), 0);
	assert_string_equal(e.id, OTHER_ID);
	record_load(path, &file);
	expected = memory_format("{\"seq\":1,\"timestamp\":\"%s\",\"event_id\":\"" OTHER_ID
	    "\",\"run_id\":\"" RUN_ID "\",\"parent_run_id\":\"" RUN_ID "\",\"child_run_id\":\"" OTHER_ID
	    "\",\"parent_event_id\":\"" RUN_ID "\",\"links\":[%s],\"type\":\"run.started\",\"path\":\"\","
	    "\"iteration\":0,\"payload\":null,\"prev\":\"" ZEROS "\"}\n", e.timestamp, links);
	assert_string_equal(file.data, expected);
	e.links = span_of("", 0);
	assert_int_equal(transcript_append(&t, &e, &err), 0);
	record_load(path, &file);
	assert_null(strstr(strchr(file.data, '\n'), "links"));
	free(expected);
	buffer_free(&file);
	transcript_close(&t);
}

/* Three writers in turn: each finds what the others wrote. */
static void
test_writers_in_turn(void **state)
{
	const char *path = record_path("turns.jsonl");
	struct transcript t[3];
	char *large = memory_alloc(100001);

	(void)state;
	memset(large, 'x', 100000);
	memcpy(large, "{\"text\":\"", 9);
	memcpy(large + 99998, "\"}", 3);
	for (int i = 0; i < 3; i++)
		open_transcript(&t[i], path);
	for (int i = 0; i < 60; i++)
		append(&t[i * 7 % 5 % 3], i % 11 == 0 ? large : "{}");
	assert_chain(path, 60);
	for (int i = 0; i < 3; i++)
		transcript_close(&t[i]);
	free(large);
}

/* Through an inherited descriptor a child would hold its parent's lock with it. */
static void
test_forked_child_opens_anew(void **state)
{
	const char *path = record_path("forked.jsonl");
	struct transcript t;
	int status;

	(void)state;
	open_transcript(&t, path);
	append(&t, "{}");
	assert_int_equal(flock(t.fd, LOCK_EX), 0);
	pid_t child = fork();
	if (child == 0) {
		struct event e = event_of("{}");
		/* waits for its parent's lock; one through the same descriptor would not */
		_exit(transcript_append(&t, &e, &err) == 0 && e.seq == 2 ? 0 : 1);
	}
	usleep(50000);
	assert_int_equal(waitpid(child, &status, WNOHANG), 0);
	assert_int_equal(flock(t.fd, LOCK_UN), 0);
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	append(&t, "{}");
	assert_chain(path, 3);
	transcript_close(&t);
}

static void
test_timestamps_never_go_back(void **state)
{
	const char *path = record_path("clock.jsonl");
	struct buffer file = BUFFER_INIT;
	struct transcript t;

	(void)state;
	record_line(&file, 1, "\"timestamp\":\"2999-01-01T00:00:00.000007Z\",\"type\":\"run.started\"");
	record_put(path, file.data, file.len);
	open_transcript(&t, path);
	struct event e = event_of("{}");
	for (int i = 0; i < 2; i++) {
		assert_int_equal(transcript_append(&t, &e, &err), 0);
		assert_string_equal(e.timestamp, "2999-01-01T00:00:00.000007Z");
	}
	assert_chain(path, 3);
	buffer_free(&file);
	transcript_close(&t);
}

#define GOOD "\"type\":\"step.started\""
#define TAIL "{\"seq\":3,\"type\":\"tool.result\",\"payload\":{\"text\":\"abc"

/* What stands after two good lines, and is moved away. */
static const struct damage { const char *tail; size_t len; } damages[] = {
#define DAMAGE(tail) { tail, sizeof tail - 1 }
	DAMAGE(""),
	DAMAGE("{"),
	DAMAGE(TAIL),
	DAMAGE("\0\0\0\0\0\0\0\0"),
	DAMAGE("\n"),
	DAMAGE("{\"seq\":3,\"x\":\"\0\0\0\",\"prev\":\"" ZEROS "\"}\n"),
	DAMAGE("{\"seq\":3,\"x\":1,\"prev\":\"" ZEROS "\"}"),
	DAMAGE("{\"seq\":3,\"prev\":\"" ZEROS "\",\"x\":1}\n"),
	DAMAGE("junk\n\0\0\n" TAIL),
#undef DAMAGE
};

static void
test_repair_of_tails(void **state)
{
	const char *path = record_path("tail.jsonl"), *torn = record_path("tail.torn");
	struct buffer file = BUFFER_INIT;
	struct transcript t;

	(void)state;
	for (size_t i = 0; i < sizeof damages / sizeof damages[0]; i++) {
		const struct damage *d = &damages[i];
		struct event e = event_of("{}");
		unlink(path);
		unlink(torn);
		open_transcript(&t, path);
		append(&t, "{}");
		append(&t, "{}");
		int64_t whole = t.size;
		transcript_close(&t);
		record_load(path, &file);
		buffer_append(&file, d->tail, d->len);
		record_put(path, file.data, file.len);

		open_transcript(&t, path);
		assert_int_equal(transcript_append(&t, &e, &err), 0);
		assert_int_equal(e.seq, 3);
		assert_chain(path, 3);
		if (d->len == 0) {
			assert_int_equal(access(torn, F_OK), -1);
			assert_string_equal(repaired, "");
		} else {
			char *text = memory_format("%s: moved %zu bytes of a torn line to %s", path,
			    d->len, torn);
			assert_string_equal(repaired, text);
			free(text);
			record_load(torn, &file);
			assert_int_equal(file.len, d->len);
			assert_memory_equal(file.data, d->tail, d->len);
		}
		assert_true(t.size > whole);
		transcript_close(&t);
	}
	buffer_free(&file);
}

/* The first line itself was torn; and a second torn line joins the first. */
static void
test_repair_of_first_line(void **state)
{
	const char *path = record_path("first.jsonl");
	struct buffer file = BUFFER_INIT;
	struct transcript t;
	int64_t moved = -1;

	(void)state;
	record_put(path, "{\"seq\":1,\"ti", 12);
	assert_int_equal(transcript_repair(path, &moved, &err), 0);
	assert_int_equal(moved, 12);
	record_put(path, "\0\0\0", 3);
	assert_int_equal(transcript_repair(path, &moved, &err), 0);
	assert_int_equal(moved, 3);
	assert_int_equal(transcript_repair(path, &moved, &err), 0);
	assert_int_equal(moved, 0);
	record_load(record_path("first.torn"), &file);
	assert_int_equal(file.len, 15);
	assert_memory_equal(file.data, "{\"seq\":1,\"ti\0\0\0", 15);
	open_transcript(&t, path);
	append(&t, "{}");
	assert_chain(path, 1);
	transcript_close(&t);
	buffer_free(&file);
}

/* A torn line longer than what is read at once, after a long one. */
static void
test_repair_of_long_line(void **state)
{
	const char *path = record_path("long.jsonl");
	struct buffer file = BUFFER_INIT;
	struct transcript t;
	int64_t moved;

	(void)state;
	buffer_text(&file, "{\"text\":[\"x\"");
	for (int i = 0; i < 3000; i++)
		buffer_format(&file, ",\"%0100d\"", i);
	buffer_text(&file, "]}");
	open_transcript(&t, path);
	append(&t, buffer_string(&file));
	append(&t, buffer_string(&file));
	append(&t, buffer_string(&file));
	assert_int_equal(truncate(path, t.size - 5), 0);
	transcript_close(&t);
	assert_int_equal(transcript_repair(path, &moved, &err), 0);
	assert_true(moved > 300000);
	assert_chain(path, 2);
	buffer_free(&file);
}

static void
test_damage_in_the_middle_is_left_alone(void **state)
{
	const char *path = record_path("middle.jsonl");
	struct buffer file = BUFFER_INIT, after = BUFFER_INIT;
	struct transcript t;

	(void)state;
	record_line(&file, 1, GOOD);
	buffer_append(&file, "{\"seq\":2,\0\0\0\n", 13);
	record_line(&file, 3, GOOD);
	record_put(path, file.data, file.len);
	open_transcript(&t, path);
	struct event e = event_of("{}");
	assert_int_equal(transcript_append(&t, &e, &err), 0);
	assert_int_equal(e.seq, 4);
	record_load(path, &after);
	assert_memory_equal(after.data, file.data, file.len);
	assert_string_equal(repaired, "");
	buffer_free(&file);
	buffer_free(&after);
	transcript_close(&t);
}

static void
test_file_of_another_kind_is_left_alone(void **state)
{
	const char *path = record_path("letter.jsonl");
	struct buffer file = BUFFER_INIT;
	struct transcript t;

	(void)state;
	record_put(path, "Dear Sir,\nnever mind\n", 21);
	open_transcript(&t, path);
	struct event e = event_of("{}");
	assert_int_equal(transcript_append(&t, &e, &err), -1);
	assert_int_equal(err.code, ERROR_SYSTEM);
	assert_string_equal(err.message, "is no transcript");
	record_load(path, &file);
	assert_int_equal(file.len, 21);
	assert_int_equal(access(record_path("letter.torn"), F_OK), -1);
	buffer_free(&file);
	transcript_close(&t);
}

/* A torn line is not cut off before it is safe elsewhere. */
static void
test_repair_needs_a_place(void **state)
{
	const char *path = record_path("noplace.jsonl"), *torn = record_path("noplace.torn");
	struct buffer file = BUFFER_INIT;
	struct transcript t;
	int64_t moved;
	struct stat status;

	(void)state;
	open_transcript(&t, path);
	append(&t, "{}");
	transcript_close(&t);
	record_load(path, &file);
	buffer_text(&file, "torn");
	record_put(path, file.data, file.len);
	assert_int_equal(symlink("elsewhere", torn), 0);
	assert_int_equal(transcript_repair(path, &moved, &err), -1);
	assert_int_equal(err.code, ERROR_SYSTEM);
	assert_string_equal(err.place, torn);
	assert_int_equal(stat(path, &status), 0);
	assert_int_equal(status.st_size, file.len);
	assert_int_equal(access(record_path("elsewhere"), F_OK), -1);
	buffer_free(&file);
}

static void
test_shrunk_file(void **state)
{
	const char *path = record_path("shrunk.jsonl");
	struct transcript t;

	(void)state;
	open_transcript(&t, path);
	append(&t, "{}");
	int64_t first = t.size;
	append(&t, "{\"longer\":true}");
	assert_int_equal(truncate(path, first), 0);
	append(&t, "{}");
	assert_chain(path, 2);
	assert_int_equal(truncate(path, 0), 0);
	append(&t, "{}");
	assert_chain(path, 1);
	transcript_close(&t);
}

static void
test_removed_file(void **state)
{
	const char *path = record_path("removed.jsonl");
	struct transcript t;
	struct event e = event_of("{}");

	(void)state;
	open_transcript(&t, path);
	append(&t, "{}");
	assert_int_equal(unlink(path), 0);
	assert_int_equal(transcript_append(&t, &e, &err), -1);
	assert_int_equal(err.code, ERROR_SYSTEM);
	assert_string_equal(err.place, path);
	assert_non_null(strstr(err.message, "was removed"));
	if (fork() == 0)
		_exit(transcript_append(&t, &e, &err) == -1 && err.code == ERROR_SYSTEM ? 0 : 1);
	int status;
	wait(&status);
	assert_int_equal(status, 0);
	transcript_close(&t);
}

static void
test_what_cannot_be_opened(void **state)
{
	const char *link = record_path("link.jsonl"), *fifo = record_path("fifo.jsonl");
	const char *there = record_path("there.jsonl");
	struct transcript t;

	(void)state;
	record_put(there, "", 0);
	assert_int_equal(symlink(there, link), 0);
	assert_int_equal(mkfifo(fifo, 0600), 0);
	const char *const paths[] = { link, fifo, record_path("none/x.jsonl"), record_path("no.jsonl") };
	for (size_t i = 0; i < sizeof paths / sizeof paths[0]; i++) {
		assert_int_equal(transcript_open(&t, paths[i], "", RUN_ID, &err), -1);
		transcript_close(&t);
		assert_int_equal(err.code, ERROR_SYSTEM);
		assert_string_equal(err.place, paths[i]);
	}
	assert_int_equal(transcript_create(&t, there, "", RUN_ID, &err), -1);
	assert_string_equal(err.place, there);
	assert_int_equal(transcript_create(&t, link, "", RUN_ID, &err), -1);
	int64_t moved;
	assert_int_equal(transcript_repair(link, &moved, &err), -1);
}

static void
test_events_that_are_refused(void **state)
{
	const char *path = record_path("refused.jsonl");
	struct transcript t;
	char with_nul[] = "{\"a\":\"b?c\"}";

	(void)state;
	open_transcript(&t, path);
	append(&t, "{}");
	struct event pretty = event_of("{\n\"a\":1}"), nul = event_of(with_nul);
	with_nul[7] = '\0';
	assert_int_equal(transcript_append(&t, &pretty, &err), -1);
	assert_int_equal(err.code, ERROR_INVALID_INPUT);
	assert_int_equal(transcript_append(&t, &nul, &err), -1);
	assert_int_equal(err.code, ERROR_INVALID_INPUT);

	size_t len = SCAN_LINE_LIMIT, part = 100 << 10;
	char *huge = memory_alloc(len);
	memset(huge, 'x', len);
	huge[0] = '[';
	for (size_t at = 1; at + part < len; at += part)
		memcpy(huge + at, "\"", 1), memcpy(huge + at + part - 2, "\",", 2);
	struct event large = { .type = EVENT_TOOL_RESULT, .path = "", .payload = { huge, len } };
	assert_int_equal(transcript_append(&t, &large, &err), -1);
	assert_int_equal(err.code, ERROR_INVALID_INPUT);
	assert_non_null(strstr(err.message, "above the limit"));
	free(huge);
	append(&t, "{}");
	assert_chain(path, 2);
	transcript_close(&t);
}

static void
test_large_values_lie_in_blobs(void **state)
{
	const char *path = record_path("blob.jsonl"), *blobs = record_path("blobs");
	struct buffer payload = BUFFER_INIT, file = BUFFER_INIT, whole = BUFFER_INIT;
	struct event_raw raw = { "/payload/raw", "\xff\x00\xfe", 3 };
	struct event_view view;
	struct transcript t;

	(void)state;
	buffer_format(&payload, "{\"text\":\"%0*d\",\"raw\":null}", (int)BLOB_THRESHOLD, 7);
	open_transcript(&t, path);
	struct event e = event_of(payload.data);
	e.raws = &raw;
	e.raw_count = 1;
	assert_int_equal(transcript_append(&t, &e, &err), 0);
	assert_chain(path, 1);
	record_load(path, &file);
	assert_int_equal(event_view(file.data, file.len - 1, &view), 0);
	assert_int_equal(view.payload.len, strlen("{\"text\":null,\"raw\":null}"));
	assert_true(span_is(span_member(span_element(view.refs, 0), "at"), "/payload/text"));
	assert_true(span_is(span_member(span_element(view.refs, 0), "encoding"), "json"));
	assert_true(span_is(span_member(span_element(view.refs, 1), "at"), "/payload/raw"));
	assert_true(span_is(span_member(span_element(view.refs, 1), "encoding"), "raw"));
	assert_int_equal(blob_inline(blobs, file.data, file.len - 1, &whole, &err), 0);
	assert_int_equal(event_view(whole.data, whole.len, &view), 0);
	assert_null(view.refs.at);
	assert_true(span_is(span_member(view.payload, "raw"), "/wD+"));
	assert_int_equal(span_member(view.payload, "text").len, BLOB_THRESHOLD + 2);
	transcript_close(&t);
	buffer_free(&payload);
	buffer_free(&file);
	buffer_free(&whole);
}

/* No line names a blob that could not be written. */
static void
test_blob_that_cannot_be_written(void **state)
{
	const char *path = record_path("noblob.jsonl"), *blobs = record_path("taken");
	struct buffer payload = BUFFER_INIT;
	struct event_raw raw = { "/payload/raw", "\xff", 1 };
	struct transcript t;

	(void)state;
	record_put(blobs, "", 0);
	assert_int_equal(transcript_create(&t, path, blobs, RUN_ID, &err), 0);
	buffer_format(&payload, "{\"text\":\"%0*d\"}", (int)BLOB_THRESHOLD, 7);
	struct event large = event_of(payload.data), binary = event_of("{\"raw\":null}");
	binary.raws = &raw;
	binary.raw_count = 1;
	assert_int_equal(transcript_append(&t, &large, &err), -1);
	assert_string_equal(err.place, blobs);
	assert_int_equal(transcript_append(&t, &binary, &err), -1);
	assert_int_equal(err.code, ERROR_SYSTEM);
	assert_chain(path, 0);
	append(&t, "{}");
	assert_chain(path, 1);
	buffer_free(&payload);
	transcript_close(&t);
}

struct choice { struct transcript *t; int result; int64_t seen; };

static int
choose(void *context, struct event *e, struct error *error)
{
	static const char chosen[] = "{\"chosen\":true}";
	struct choice *choice = context;

	choice->seen = choice->t->seq;
	/* nobody else gets the lock now */
	int fd = open(choice->t->path, O_RDONLY);
	assert_int_equal(flock(fd, LOCK_EX | LOCK_NB), -1);
	close(fd);
	if (choice->result == -1)
		return error_set(error, ERROR_DIVERGENCE, NULL, "nothing to choose");
	e->payload = span_of(chosen, sizeof chosen - 1);
	return 0;
}

static void
test_deciding(void **state)
{
	const char *path = record_path("decide.jsonl");
	struct buffer file = BUFFER_INIT;
	struct transcript t, other;
	struct choice choice = { &t, 0, -1 };

	(void)state;
	open_transcript(&t, path);
	open_transcript(&other, path);
	append(&other, "{}");
	append(&other, "{}");
	struct event e = event_of("{\"chosen\":false}");
	assert_int_equal(transcript_append_deciding(&t, &e, choose, &choice, &err), 0);
	assert_int_equal(choice.seen, 2);
	assert_int_equal(e.seq, 3);
	choice.result = -1;
	assert_int_equal(transcript_append_deciding(&t, &e, choose, &choice, &err), -1);
	assert_int_equal(err.code, ERROR_DIVERGENCE);
	assert_chain(path, 3);
	record_load(path, &file);
	assert_non_null(strstr(file.data, "{\"chosen\":true}"));
	append(&other, "{}");
	assert_chain(path, 4);
	buffer_free(&file);
	transcript_close(&t);
	transcript_close(&other);
}

static int signals;

static void
count_signal(int signal)
{
	(void)signal;
	signals++;
}

static int
raise_inside(void *context, struct event *e, struct error *error)
{
	(void)context, (void)e, (void)error;
	raise(SIGTERM);
	raise(SIGTSTP);
	assert_int_equal(signals, 0);
	return 0;
}

/* Signals wait until the lock is free, and are delivered then. */
static void
test_signals_wait(void **state)
{
	struct transcript t;
	struct event e = event_of("{}");

	(void)state;
	signal(SIGTERM, count_signal);
	signal(SIGTSTP, count_signal);
	open_transcript(&t, record_path("signals.jsonl"));
	assert_int_equal(transcript_append_deciding(&t, &e, raise_inside, NULL, &err), 0);
	assert_int_equal(signals, 2);
	transcript_close(&t);
	signal(SIGTERM, SIG_DFL);
	signal(SIGTSTP, SIG_DFL);
}

static void
test_synced(void **state)
{
	static const char *const modes[] = { "step", "event" };

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		struct transcript t;
		char *path = memory_format("%s.jsonl", record_path(modes[i]));
		setenv("AWF_SYNC", modes[i], 1);
		open_transcript(&t, path);
		append(&t, "{}");
		assert_int_equal(transcript_sync(&t, &err), 0);
		assert_chain(path, 1);
		transcript_close(&t);
		free(path);
	}
	setenv("AWF_SYNC", "none", 1);
}

/* Extends a copy by the lines of the original from number `from` on, `count` of them. */
static int
extend(struct transcript *t, const struct buffer *original, int64_t from, long count)
{
	const char *at = original->data, *end;
	char prev[DIGEST_SIZE] = ZEROS;
	struct event_view view;

	for (int64_t seq = 1; seq < from; seq++)
		at = strchr(at, '\n') + 1;
	for (end = at; count > 0; count--)
		end = strchr(end, '\n') + 1;
	assert_int_equal(event_view(at, strcspn(at, "\n"), &view), 0);
	assert_true(span_copy(view.prev, prev, sizeof prev));
	return transcript_extend(t, span_of(at, (size_t)(end - at)), from, prev, &err);
}

static void
assert_same_files(const char *path, const struct buffer *original, size_t len)
{
	struct buffer copy = BUFFER_INIT;

	record_load(path, &copy);
	assert_int_equal(copy.len, len);
	assert_memory_equal(copy.data, original->data, len);
	buffer_free(&copy);
}

/* Lines of another storage's transcript come to stand as they are, in their order alone. */
static void
test_extended(void **state)
{
	const char *from = record_path("original.jsonl"), *to = record_path("copy.jsonl");
	struct buffer original = BUFFER_INIT;
	struct transcript t, other;
	struct stat status;

	(void)state;
	open_transcript(&t, from);
	for (int i = 0; i < 9; i++)
		append(&t, "{\"x\":1}");
	transcript_close(&t);
	record_load(from, &original);

	open_transcript(&t, to);
	open_transcript(&other, to);
	assert_int_equal(extend(&t, &original, 2, 1), 0);
	assert_int_equal(t.seq, 0);
	assert_int_equal(extend(&t, &original, 1, 3), 1);
	assert_int_equal(t.seq, 3);
	assert_int_equal(extend(&other, &original, 1, 3), 0);
	assert_int_equal(other.seq, 3);
	assert_int_equal(extend(&other, &original, 4, 2), 1);
	assert_int_equal(extend(&t, &original, 7, 1), 0);
	assert_int_equal(t.seq, 5);
	assert_string_equal(t.prev, other.prev);
	/* Another line before it. */
	assert_int_equal(transcript_extend(&t, span_of("x\n", 2), 6, ZEROS, &err), 0);
	assert_int_equal(extend(&t, &original, 6, 4), 1);
	assert_same_files(to, &original, original.len);

	/* What a killed writer has left is moved away, and one that is ours goes on behind. */
	assert_int_equal(stat(to, &status), 0);
	assert_int_equal(truncate(to, status.st_size - 10), 0);
	assert_int_equal(extend(&other, &original, 9, 1), 1);
	assert_non_null(strstr(repaired, "torn line"));
	assert_same_files(to, &original, original.len);
	append(&t, "{}");
	assert_chain(to, 10);
	transcript_close(&t);
	transcript_close(&other);
	buffer_free(&original);
}

/* Where there is no room for all, the whole lines that were written stand. */
static void
test_extended_as_far_as_there_is_room(void **state)
{
	const char *from = record_path("original.jsonl"), *to = record_path("full.jsonl");
	struct rlimit limit, before;
	struct buffer original = BUFFER_INIT;
	struct transcript t;
	size_t third;

	(void)state;
	record_load(from, &original);
	third = (size_t)(strchr(strchr(strchr(original.data, '\n') + 1, '\n') + 1, '\n') + 1 - original.data);
	signal(SIGXFSZ, SIG_IGN);
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
	open_transcript(&t, to);
	limit = before;
	limit.rlim_cur = third + 20;
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
	assert_int_equal(extend(&t, &original, 1, 9), -1);
	assert_int_equal(err.code, ERROR_SYSTEM);
	assert_int_equal(t.seq, 3);
	assert_same_files(to, &original, third);
	assert_int_equal(extend(&t, &original, 4, 1), -1);
	assert_int_equal(t.seq, 3);
	assert_same_files(to, &original, third);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
	assert_int_equal(extend(&t, &original, 4, 6), 1);
	assert_same_files(to, &original, original.len);
	transcript_close(&t);
	buffer_free(&original);
	signal(SIGXFSZ, SIG_DFL);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_sync_mode),
		cmocka_unit_test(test_line),
		cmocka_unit_test(test_line_with_all_keys),
		cmocka_unit_test(test_writers_in_turn),
		cmocka_unit_test(test_forked_child_opens_anew),
		cmocka_unit_test(test_timestamps_never_go_back),
		cmocka_unit_test(test_repair_of_tails),
		cmocka_unit_test(test_repair_of_first_line),
		cmocka_unit_test(test_repair_of_long_line),
		cmocka_unit_test(test_damage_in_the_middle_is_left_alone),
		cmocka_unit_test(test_file_of_another_kind_is_left_alone),
		cmocka_unit_test(test_repair_needs_a_place),
		cmocka_unit_test(test_shrunk_file),
		cmocka_unit_test(test_removed_file),
		cmocka_unit_test(test_what_cannot_be_opened),
		cmocka_unit_test(test_events_that_are_refused),
		cmocka_unit_test(test_large_values_lie_in_blobs),
		cmocka_unit_test(test_blob_that_cannot_be_written),
		cmocka_unit_test(test_deciding),
		cmocka_unit_test(test_signals_wait),
		cmocka_unit_test(test_synced),
		cmocka_unit_test(test_extended),
		cmocka_unit_test(test_extended_as_far_as_there_is_room),
	};

	setenv("AWF_SYNC", "none", 1);
	return cmocka_run_group_tests(tests, record_setup, record_teardown);
}
