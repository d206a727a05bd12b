/* ingest/ingest, ingest/mirror, ingest/recorder, ingest/blobs: whatever is sent how, transcripts
 * come to be the same as where they were recorded, and events are recorded once. What is sent is
 * made up from a seed where it is many things; a failing test names it. */
#include "record.h"
#include "unit.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <utime.h>

#include "base/clock.h"
#include "ingest/blobs.h"
#include "ingest/ingest.h"
#include "tier.h"
#include "transcript/blob.h"
#include "transcript/event.h"
#include "transcript/layout.h"
#include "transcript/verify.h"

#define ORIGINALS 3
#define LINES 24

/* A transcript as it is recorded elsewhere. */
static struct original {
	char run_id[ID_SIZE];
	struct buffer bytes;
	size_t starts[LINES + 1];
} originals[ORIGINALS];

static struct storage storage;
static struct ingest ingest;
static struct error err;

static int
fresh_storage(void **state)
{
	static int count;
	char name[32];

	(void)state;
	snprintf(name, sizeof name, "storage%d", count++);
	if (storage_prepare_at(&storage, record_path(name), &err) != 0)
		return -1;
	ingest_begin(&ingest, &storage);
	return 0;
}

static int
leave_storage(void **state)
{
	(void)state;
	ingest_end(&ingest);
	storage_close(&storage);
	return 0;
}

/* ---- originals ---- */

/* The id of the event that was appended last. */
static char appended[ID_SIZE];

static void
append(struct transcript *t, enum event_type type, const char *parent, const char *payload)
{
	struct event e = { .type = type, .path = "", .parent_event_id = parent,
		.payload = span_of(payload, strlen(payload)) };

	if (transcript_append(t, &e, &err) != 0)
		fail_msg("%s", err.message);
	memcpy(appended, e.id, ID_SIZE);
}

/* The last line is no end yet. */
static void
make_original(struct original *o, int number)
{
	char *path, payload[4096];
	struct transcript t;
	const char *lf;

	id_new(o->run_id);
	path = memory_format("%s/%s.jsonl", record_directory, o->run_id);
	assert_int_equal(transcript_create(&t, path, record_path("elsewhere"), o->run_id, &err), 0);
	append(&t, EVENT_RUN_STARTED, NULL, "{\"name\":\"w\",\"kind\":\"workflow\",\"awf_version\":\"0\","
	    "\"format\":1,\"attempt\":1}");
	for (int i = 1; i < LINES; i++) {
		snprintf(payload, sizeof payload, "{\"role\":\"user\",\"blocks\":[{\"type\":\"text\",\"text\":\"%d %0*d\"}]}",
		    number, rand() % 2000, i);
		append(&t, EVENT_MESSAGE_USER, appended, payload);
	}
	transcript_close(&t);
	record_load(path, &o->bytes);
	for (int i = 0; i < LINES; i++) {
		lf = strchr(o->bytes.data + o->starts[i], '\n');
		o->starts[i + 1] = (size_t)(lf + 1 - o->bytes.data);
	}
	free(path);
}

static int
make_originals(void **state)
{
	if (record_setup(state) != 0)
		return -1;
	setenv("AWF_SYNC", "none", 1);
	unsetenv("AWF_RUN_ID");
	srand(1);
	for (int i = 0; i < ORIGINALS; i++)
		make_original(&originals[i], i);
	return 0;
}

static int
free_originals(void **state)
{
	for (int i = 0; i < ORIGINALS; i++)
		buffer_free(&originals[i].bytes);
	return record_teardown(state);
}

/* Lines from one to before another, from 0. */
static void
add_lines(struct buffer *out, const struct original *o, size_t from, size_t to)
{
	buffer_append(out, o->bytes.data + o->starts[from], o->starts[to] - o->starts[from]);
}

/* How many of the original's lines are there; fails if anything else is. */
static size_t
lines_there(const struct original *o)
{
	char *path = storage_transcript(&storage, o->run_id);
	struct buffer there = BUFFER_INIT;
	size_t lines = 0;

	if (access(path, F_OK) == 0)
		record_load(path, &there);
	while (lines < LINES && o->starts[lines] < there.len)
		lines++;
	if (there.len > 0)
		assert_memory_equal(there.data, o->bytes.data, there.len);
	assert_int_equal(there.len, o->starts[lines]);
	buffer_free(&there);
	free(path);
	return lines;
}

/* ---- sending ---- */

/* What an input came to. */
static struct told {
	struct ingest_refusal refusals[64];
	size_t refused;
	char last[256];       /* what was taken last */
	size_t taken;
} told;

static bool
note_refusal(void *context, const struct ingest_refusal *refusal)
{
	if (told.refused < COUNT(told.refusals))
		told.refusals[told.refused++] = *refusal;
	return context != NULL;
}

static void
note_taken(void *context, const struct ingest_taken *taken)
{
	(void)context;
	snprintf(told.last, sizeof told.last, "%.8s %.*s %lld", taken->run_id, (int)taken->event_id.len,
	    taken->event_id.at != NULL ? taken->event_id.at : "", (long long)taken->seq);
	told.taken++;
}

/* piece: bytes at once, 0: all; goes_on: behind what is refused, too. What is left in *in holds
 * until the next. */
static struct ingest_input
send_as(const char *sender, const char *bytes, size_t len, size_t piece, bool goes_on, bool document)
{
	const struct ingest_spec spec = { .sender = sender, .document = document, .taken = note_taken,
		.refused = note_refusal, .context = goes_on ? &told : NULL };
	struct ingest_input in;

	memset(&told, 0, sizeof told);
	ingest_input_begin(&in, &ingest, &spec);
	for (size_t at = 0, n; at < len; at += n) {
		n = piece > 0 && piece < len - at ? piece : len - at;
		ingest_feed(&in, bytes + at, n);
	}
	ingest_input_end(&in);
	ingest_input_free(&in);
	return in;
}

static struct ingest_input
send_text(const char *text)
{
	return send_as("a", text, strlen(text), 0, true, false);
}

/* It is what awf-verify takes. */
static struct verify_report
verified(const char *run_id)
{
	const struct verify_spec spec = { .warn = NULL };
	char *path = storage_transcript(&storage, run_id);
	struct verify_report report;

	assert_int_equal(verify_transcript(path, &spec, &report, &err), 0);
	if (report.faulty)
		fail_msg("line %lld: %s", (long long)report.line, report.fault.message);
	free(path);
	return report;
}

/* ---- lines ---- */

static void
test_lines(void **state)
{
	const struct original *o = &originals[0], *other = &originals[1];
	struct buffer text = BUFFER_INIT;
	struct ingest_input in;
	char last[64];

	(void)state;
	add_lines(&text, o, 0, 5);
	in = send_as("a", text.data, text.len, 1, false, false);
	assert_int_equal(in.accepted, 5);
	assert_int_equal(in.duplicates, 0);
	assert_int_equal(in.refusal.fault, INGEST_NONE);
	snprintf(last, sizeof last, "%.8s  5", o->run_id);
	assert_string_equal(told.last, last);
	assert_int_equal(told.taken, 1);
	assert_int_equal(lines_there(o), 5);
	assert_true(storage_run_alive(&storage, o->run_id));

	/* What is there is known; a gap is none that anybody makes. */
	add_lines(&text, o, 5, 7);
	add_lines(&text, o, 8, 9);
	in = send_as("a", text.data, text.len, 0, false, false);
	assert_int_equal(in.accepted, 2);
	assert_int_equal(in.duplicates, 5);
	assert_int_equal(in.refusal.fault, INGEST_GAP);
	assert_int_equal(in.refusal.wanted, 8);
	assert_int_equal(in.refusal.line, 8);
	assert_string_equal(in.refusal.run_id, o->run_id);
	assert_int_equal(lines_there(o), 7);

	/* Lines of several runs, with empty ones between, the last without its end; who goes on
	 * passes over what comes of the run that has the gap. */
	buffer_clear(&text);
	add_lines(&text, other, 0, 2);
	add_lines(&text, o, 9, 11);
	buffer_text(&text, "\n \r\n");
	add_lines(&text, other, 2, 4);
	add_lines(&text, o, 7, 8);
	add_lines(&text, other, 4, LINES);
	in = send_as("a", text.data, text.len - 1, 0, true, false);
	assert_int_equal(in.accepted, LINES);
	assert_int_equal(told.refused, 1);
	assert_int_equal(told.refusals[0].line, 3);
	assert_int_equal(told.refusals[0].wanted, 8);
	assert_int_equal(lines_there(other), LINES);
	assert_int_equal(lines_there(o), 7);

	/* One that never began begins with its first line, and nothing is made before. */
	buffer_clear(&text);
	add_lines(&text, &originals[2], 1, 3);
	in = send_as("a", text.data, text.len, 0, false, false);
	assert_int_equal(in.refusal.fault, INGEST_GAP);
	assert_int_equal(in.refusal.wanted, 1);
	assert_int_equal(origin_check_own(&storage, originals[2].run_id, &err), 0);
	buffer_free(&text);
}

/* Changes one byte of a line, behind `after`. */
static void
change(struct buffer *text, const char *after, const char *to)
{
	char *at = strstr(text->data, after);

	assert_non_null(at);
	memcpy(at + strlen(after), to, strlen(to));
}

static void
test_lines_that_are_others(void **state)
{
	static const struct { const char *after, *to; enum ingest_fault fault; } changes[] = {
		{ "\"text\":\"", "9", INGEST_CONFLICT },
		{ "\"event_id\":\"", "ffffffff", INGEST_CONFLICT },
		{ "\"timestamp\":\"", "2030", INGEST_CONFLICT },
		{ "\"iteration\":", "x", INGEST_INVALID },
		{ "\"iteration\"", ";", INGEST_INVALID },
		{ "\"timestamp\":\"", "20x6", INGEST_INVALID },
		{ "\"path\":\"\"", "\n", INGEST_INVALID },
	};
	const struct original *o = &originals[0];
	struct buffer text = BUFFER_INIT;
	struct ingest_input in;

	(void)state;
	add_lines(&text, o, 0, 6);
	send_as("a", text.data, text.len, 0, false, false);
	for (size_t i = 0; i < COUNT(changes); i++) {
		/* The fourth of five is another: what is before it is known. */
		buffer_clear(&text);
		add_lines(&text, o, 3, 4);
		change(&text, changes[i].after, changes[i].to);
		struct buffer sent = BUFFER_INIT;
		add_lines(&sent, o, 0, 3);
		buffer_append(&sent, text.data, text.len);
		add_lines(&sent, o, 4, 5);
		in = send_as("a", sent.data, sent.len, 7, false, false);
		if (in.refusal.fault != changes[i].fault || in.duplicates != 3 || in.accepted != 0 ||
		    in.refusal.line != 4)
			fail_msg("change %zu: fault %d at %lld: %s", i, in.refusal.fault,
			    (long long)in.refusal.line, in.refusal.error.message);
		assert_int_equal(lines_there(o), 6);
		buffer_free(&sent);
	}

	/* The next line, but behind another; a line of another time. */
	buffer_clear(&text);
	add_lines(&text, o, 6, 7);
	memcpy(text.data + text.len - 10, "00000", 5);
	in = send_as("a", text.data, text.len, 0, false, false);
	assert_int_equal(in.refusal.fault, INGEST_CONFLICT);
	assert_int_equal(in.refusal.wanted, 7);
	assert_int_equal(lines_there(o), 6);

	/* A first line that is none, and what has lost its form on the way. */
	buffer_clear(&text);
	add_lines(&text, &originals[1], 0, 1);
	memcpy(text.data + text.len - 10, "11111", 5);
	in = send_as("a", text.data, text.len, 0, false, false);
	assert_int_equal(in.refusal.fault, INGEST_INVALID);
	buffer_clear(&text);
	buffer_byte(&text, ' ');
	add_lines(&text, &originals[1], 0, 1);
	in = send_as("a", text.data, text.len, 0, false, false);
	assert_int_equal(in.refusal.fault, INGEST_INVALID);
	assert_non_null(strstr(in.refusal.error.message, "has been changed"));
	assert_int_equal(lines_there(&originals[1]), 0);
	buffer_free(&text);
}

/* A line behind those in text: what stands in it between its run id and its prev. */
static void
chain_line(struct buffer *text, int64_t seq, const char *event_id, int second, const char *rest)
{
	char prev[DIGEST_SIZE] = ZEROS;
	const char *end = text->len > 0 ? text->data + text->len - 1 : NULL, *line = end;

	if (line != NULL) {
		while (line > text->data && line[-1] != '\n')
			line--;
		digest_blake2b(line, (size_t)(end - line), prev);
	}
	buffer_format(text, "{\"seq\":%lld,\"timestamp\":\"2026-11-21T08:15:%02d.123456Z\",\"event_id\":\"%s\","
	    "\"run_id\":\"" RUN_ID "\",%s,\"prev\":\"%s\"}\n", (long long)seq, second, event_id, rest, prev);
}

/* Lines that follow from those before them, but in which awf-verify finds a fault. */
static void
test_lines_that_verify_refuses(void **state)
{
#define EVENT(n) "0000000" n "-0000-4000-8000-000000000000"
#define AFTER(parent, type) "\"parent_event_id\":\"" EVENT(parent) "\",\"type\":\"" type "\",\"path\":\"\",\"iteration\":0,\"payload\":"
#define CALL "\"name\":\"a\",\"kind\":\"command\",\"call\":\"a:0:0\""
#define STARTED "\"name\":\"w\",\"kind\":\"workflow\",\"awf_version\":\"0\",\"format\":1,\"attempt\":"
#define FIRST "\"parent_event_id\":null,\"type\":\"run.started\",\"path\":\"\",\"iteration\":0,\"payload\":{" STARTED "1}"
	static const struct { const char *event_id; int second; const char *rest, *message; } faults[] = {
		{ EVENT("2"), 40, AFTER("1", "x") "{}", "stands twice" },
		{ EVENT("9"), 40, AFTER("8", "x") "{}", "is no earlier event" },
		{ EVENT("9"), 40, AFTER("9", "x") "{}", "is no earlier event" },
		{ EVENT("9"), 40, "\"links\":[\"" EVENT("7") "\"]," AFTER("1", "x") "{}", "out of order" },
		{ EVENT("9"), 40, AFTER("1", "step.started") "{" CALL "}", "was started before" },
		{ EVENT("9"), 40, AFTER("1", "tool.result") "{\"name\":\"t\",\"call_id\":\"c\"}", "is no tool.call" },
		{ EVENT("9"), 40, AFTER("2", "run.completed") "{\"status\":\"success\"}", "not the attempt's run.started" },
		{ EVENT("9"), 40, "\"parent_event_id\":null,\"type\":\"run.started\",\"path\":\"\",\"iteration\":0,"
		  "\"payload\":{" STARTED "3}", "attempt is 3, not 2" },
		{ EVENT("9"), 40, AFTER("1", "x") "{\"a\":1},\"refs\":[{\"at\":\"/payload/a\",\"sha256\":\"" ZEROS
		  "\",\"bytes\":3,\"encoding\":\"raw\"}]", "is not null" },
		{ EVENT("9"), 30, AFTER("1", "x") "{}", "is earlier" },
		{ EVENT("9"), 40, "\"parent_run_id\":\"" OTHER_ID "\"," AFTER("1", "x") "{}", "is not that of line 1" },
	}, firsts[] = {
		{ EVENT("1"), 30, AFTER("1", "x") "{}", "no run.started" },
		{ EVENT("1"), 30, "\"parent_event_id\":null,\"type\":\"run.started\",\"path\":\"\",\"iteration\":0,"
		  "\"payload\":{" STARTED "2}", "attempt is 2, not 1" },
		{ EVENT("1"), 30, AFTER("1", "run.started") "{" STARTED "1}", "has a parent_event_id" },
	};
	struct buffer begun = BUFFER_INIT, text = BUFFER_INIT, there = BUFFER_INIT;
	char *path = storage_transcript(&storage, RUN_ID), *origin = layout_origin(storage.root, RUN_ID);
	struct ingest_input in;

	(void)state;
	for (size_t i = 0; i < COUNT(firsts); i++) {
		buffer_clear(&text);
		chain_line(&text, 1, firsts[i].event_id, firsts[i].second, firsts[i].rest);
		in = send_as("a", text.data, text.len, 0, false, false);
		if (in.refusal.fault != INGEST_INVALID || strstr(in.refusal.error.message, firsts[i].message) == NULL)
			fail_msg("first %zu: %d %s", i, in.refusal.fault, in.refusal.error.message);
		assert_int_equal(access(path, F_OK), -1);
		assert_int_equal(access(origin, F_OK), -1);
	}
	chain_line(&begun, 1, EVENT("1"), 31, FIRST);
	chain_line(&begun, 2, EVENT("2"), 32, AFTER("1", "step.started") "{" CALL "}");
	chain_line(&begun, 3, EVENT("3"), 33, AFTER("2", "step.completed") "{" CALL "}");
	for (size_t i = 0; i < 2 * COUNT(faults); i++) {
		size_t fault = i / 2;

		/* At once with those before it, or when these are there; known, or to be read first. */
		buffer_clear(&text);
		buffer_append(&text, begun.data, begun.len);
		chain_line(&text, 4, faults[fault].event_id, faults[fault].second, faults[fault].rest);
		if (i % 2 == 1) {
			ingest_end(&ingest);
			ingest_begin(&ingest, &storage);
		}
		in = send_as("a", text.data, text.len, 0, false, false);
		if (in.refusal.fault != INGEST_INVALID || in.accepted + in.duplicates != 3 ||
		    in.refusal.line != 4 || strstr(in.refusal.error.message, faults[fault].message) == NULL)
			fail_msg("fault %zu: %d at %lld: %s", i, in.refusal.fault, (long long)in.refusal.line,
			    in.refusal.error.message);
		buffer_clear(&there);
		record_load(path, &there);
		assert_true(buffer_equal(&there, buffer_string(&begun)));
	}
	/* And the right one follows. */
	chain_line(&begun, 4, EVENT("4"), 34, "\"parent_event_id\":\"" EVENT("3") "\",\"links\":[\"" EVENT("2")
	    "\"],\"type\":\"x\",\"path\":\"\",\"iteration\":0,\"payload\":{}");
	chain_line(&begun, 5, EVENT("5"), 35, AFTER("1", "run.completed") "{\"status\":\"success\"}");
	in = send_as("a", begun.data, begun.len, 0, false, false);
	assert_int_equal(in.accepted, 2);
	verified(RUN_ID);
	buffer_free(&begun);
	buffer_free(&there);
	buffer_free(&text);
	free(origin);
	free(path);
}

/* A transcript that has come by other ways, and is none, is not made longer. */
static void
test_what_is_there_is_none(void **state)
{
	char *path = storage_transcript(&storage, RUN_ID);
	struct buffer text = BUFFER_INIT;
	struct ingest_input in;

	(void)state;
	chain_line(&text, 1, EVENT("1"), 31, FIRST);
	in = send_as("a", text.data, text.len, 0, false, false);
	assert_int_equal(in.accepted, 1);
	chain_line(&text, 2, EVENT("1"), 32, AFTER("1", "x") "{}");
	record_put(path, text.data, text.len);
	chain_line(&text, 3, EVENT("3"), 33, AFTER("1", "x") "{}");
	in = send_as("a", text.data, text.len, 0, false, false);
	assert_int_equal(in.refusal.fault, INGEST_CONFLICT);
	assert_int_equal(in.duplicates, 2);
	assert_non_null(strstr(in.refusal.error.message, "line 2 here is none that may follow"));
	buffer_free(&text);
	free(path);
#undef EVENT
#undef AFTER
#undef CALL
#undef STARTED
#undef FIRST
}

static void
test_whose_runs_they_are(void **state)
{
	const struct original *o = &originals[0], *own = &originals[1];
	char *path = storage_transcript(&storage, own->run_id), text_id[128];
	struct buffer text = BUFFER_INIT;
	struct ingest_input in;

	(void)state;
	add_lines(&text, o, 0, 4);
	send_as("a", text.data, text.len, 0, false, false);
	in = send_as("b", text.data, text.len, 0, false, false);
	assert_int_equal(in.refusal.fault, INGEST_FORBIDDEN);
	assert_non_null(strstr(in.refusal.error.message, "'a'"));
	in = send_as("a", text.data, text.len, 0, false, false);
	assert_int_equal(in.duplicates, 4);
	snprintf(text_id, sizeof text_id, "{\"type\":\"x\",\"runId\":\"%s\"}", o->run_id);
	in = send_text(text_id);
	assert_int_equal(in.refusal.fault, INGEST_FORBIDDEN);
	assert_int_equal(lines_there(o), 4);

	record_put(path, own->bytes.data, own->starts[3]);
	buffer_clear(&text);
	add_lines(&text, own, 0, 5);
	in = send_as("a", text.data, text.len, 0, false, false);
	assert_int_equal(in.refusal.fault, INGEST_FORBIDDEN);
	assert_int_equal(in.accepted + in.duplicates, 0);
	snprintf(text_id, sizeof text_id, "{\"type\":\"x\",\"runId\":\"%s\"}", own->run_id);
	in = send_text(text_id);
	assert_int_equal(in.refusal.fault, INGEST_FORBIDDEN);
	assert_int_equal(lines_there(own), 3);
	assert_int_equal(origin_check_own(&storage, own->run_id, &err), 0);
	buffer_free(&text);
	free(path);
}

/* The end of a run ends its lease; a further attempt begins another. What was removed is sent
 * from its first line on. */
static void
test_life(void **state)
{
	struct original o = { .bytes = BUFFER_INIT };
	char *from, *path, *origin;
	struct transcript t;
	struct ingest_input in;

	(void)state;
	id_new(o.run_id);
	from = memory_format("%s/%s.jsonl", record_directory, o.run_id);
	assert_int_equal(transcript_create(&t, from, record_path("elsewhere"), o.run_id, &err), 0);
	append(&t, EVENT_RUN_STARTED, NULL, "{\"name\":\"w\",\"kind\":\"workflow\",\"awf_version\":\"0\","
	    "\"format\":1,\"attempt\":1}");
	append(&t, EVENT_RUN_COMPLETED, appended, "{\"status\":\"success\"}");
	record_load(from, &o.bytes);
	in = send_as("a", o.bytes.data, o.bytes.len, 0, false, false);
	assert_int_equal(in.accepted, 2);
	assert_false(storage_run_alive(&storage, o.run_id));
	append(&t, EVENT_RUN_STARTED, NULL, "{\"name\":\"w\",\"kind\":\"workflow\",\"awf_version\":\"0\","
	    "\"format\":1,\"attempt\":2}");
	record_load(from, &o.bytes);
	in = send_as("a", o.bytes.data, o.bytes.len, 0, false, false);
	assert_int_equal(in.accepted, 1);
	assert_true(storage_run_alive(&storage, o.run_id));

	path = storage_transcript(&storage, o.run_id);
	origin = layout_origin(storage.root, o.run_id);
	assert_int_equal(unlink(path), 0);
	in = send_as("a", o.bytes.data, o.bytes.len, 0, false, false);
	assert_int_equal(in.accepted, 3);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(unlink(origin), 0);
	in = send_as("b", o.bytes.data, o.bytes.len, 0, false, false);
	assert_int_equal(in.accepted, 3);
	transcript_close(&t);
	buffer_free(&o.bytes);
	free(origin);
	free(path);
	free(from);
}

/* Somebody holds a run when what came of it is synced: it is on disk, and lives, all the same, and
 * others are not held up by it. */
static void
test_held_run(void **state)
{
	const struct original *o = &originals[0], *other = &originals[1];
	const struct ingest_spec spec = { .sender = "a" };
	char *origin = layout_origin(storage.root, o->run_id);
	struct ingest_input in;
	int lock;

	(void)state;
	ingest.lock_ms = 10;
	ingest_input_begin(&in, &ingest, &spec);
	assert_int_equal(ingest_feed(&in, o->bytes.data, o->starts[5]), 0);
	assert_true(storage_run_alive(&storage, o->run_id));
	lock = open(origin, O_RDONLY | O_CLOEXEC);
	assert_int_equal(flock(lock, LOCK_EX), 0);
	assert_int_equal(ingest_flush(&in), 0);
	assert_true(storage_run_alive(&storage, o->run_id));
	assert_int_equal(ingest_feed(&in, other->bytes.data, other->starts[LINES]), 0);
	assert_int_equal(ingest_input_end(&in), 0);
	ingest_input_free(&in);

	/* Nothing is added meanwhile. */
	in = send_as("a", o->bytes.data, o->starts[7], 0, false, false);
	assert_int_equal(in.refusal.fault, INGEST_FAILED);
	close(lock);
	in = send_as("a", o->bytes.data, o->starts[7], 0, false, false);
	assert_int_equal(in.accepted, 2);
	assert_int_equal(in.duplicates, 5);
	free(origin);
}

/* Any lines, in any order, from many senders in turn, in pieces of any size: what is there is at
 * any time a beginning of the original, and in the end the original. */
static void
test_any_order(void **state)
{
	unsigned last = (unsigned)(400 / tier_stride(4));

	(void)state;
	for (unsigned seed = 1; seed <= last; seed++) {
		struct buffer text = BUFFER_INIT;

		leave_storage(NULL);
		fresh_storage(NULL);
		srand(seed);
		for (int round = 0; round < 12; round++) {
			bool goes_on = rand() % 2;
			size_t before[ORIGINALS], sum = 0, after = 0;
			struct ingest_input in;

			buffer_clear(&text);
			for (int i = 0; i < ORIGINALS; i++)
				sum += before[i] = lines_there(&originals[i]);
			for (int part = rand() % 6; part >= 0; part--) {
				const struct original *o = &originals[rand() % ORIGINALS];
				size_t from = (size_t)(rand() % LINES) * (size_t)(rand() % 2);

				add_lines(&text, o, from, from + (size_t)rand() % (LINES - from) + 1);
				if (rand() % 8 == 0 && text.len > 0) /* it was cut off there */
					text.len -= (size_t)rand() % text.len;
			}
			in = send_as("a", text.data, text.len, (size_t)(rand() % 3000), goes_on, false);
			for (int i = 0; i < ORIGINALS; i++) {
				size_t there = lines_there(&originals[i]);

				assert_true(there >= before[i]);
				after += there;
			}
			if ((int64_t)(after - sum) != in.accepted || in.refusal.fault == INGEST_FAILED ||
			    in.refusal.fault == INGEST_FORBIDDEN || in.refusal.fault == INGEST_CONFLICT)
				fail_msg("seed %u: %zu lines more, %lld accepted, fault %d: %s", seed, after - sum,
				    (long long)in.accepted, in.refusal.fault, in.refusal.error.message);
		}
		for (int i = 0; i < ORIGINALS; i++) {
			send_as("a", originals[i].bytes.data, originals[i].bytes.len, 0, false, false);
			assert_int_equal(lines_there(&originals[i]), LINES);
		}
		buffer_free(&text);
	}
}

/* ---- what is too long, or of no use ---- */

static void
test_limits(void **state)
{
	static const char small[] = "{\"type\":\"x\",\"event_id\":\"1\",\"runId\":\"r\"}\n";
	struct buffer text = BUFFER_INIT;
	struct ingest_input in;

	(void)state;
	ingest.line_limit = 100;
	for (size_t piece = 0; piece < 500; piece += 7) {
		buffer_clear(&text);
		buffer_text(&text, small);
		buffer_format(&text, "{\"type\":\"x\",\"runId\":\"r\",\"data\":\"%0200d\"}\n", 0);
		buffer_text(&text, small);
		in = send_as("a", text.data, text.len, piece, true, false);
		assert_int_equal(in.accepted + in.duplicates, 2);
		assert_int_equal(told.refused, 1);
		assert_int_equal(told.refusals[0].fault, INGEST_TOO_LARGE);
		assert_int_equal(told.refusals[0].line, 2);
		in = send_as("a", text.data, text.len - sizeof small + 1, piece, false, false);
		assert_int_equal(in.duplicates, 1);
		assert_int_equal(in.refusal.fault, INGEST_TOO_LARGE);
		in = send_as("a", text.data, text.len, piece, true, true);
		assert_int_equal(in.refusal.fault, INGEST_TOO_LARGE);
		assert_int_equal(told.refused, 1);
	}
	buffer_free(&text);
}

static void
test_malformed(void **state)
{
	static const char *const lines[] = { "x", "{", "[]", "7", "\"a\"", "{}", "{\"type\":null}",
		"{\"type\":\"x\"}", /* no run */ "{\"events\":[3],\"runId\":\"r\"}", "{\"type\":\"x\",\"runId\":\"\"}",
		"{\"type\":\"x\",\"runId\":7}", "{\"type\":\"tool.call\",\"runId\":\"r\"}", "\xff",
		"{\"type\":\"x\",\"runId\":\"r\",\"a\":\"\xff\"}", "{\"type\":\"x\",\"runId\":\"r\"} x",
		"{\"seq\":1,\"prev\":\"\",\"payload\":{},\"type\":\"x\",\"runId\":\"r\"}",
		"{\"events\":[{\"seq\":1,\"prev\":\"\",\"payload\":{},\"type\":\"x\",\"runId\":\"r\"}]}",
		"{\"seq\":1,\"prev\":\"" ZEROS "\"}" };
	DIR *directory;
	size_t names = 0;
	char *path;

	(void)state;
	for (size_t i = 0; i < COUNT(lines); i++) {
		struct ingest_input in = send_text(lines[i]);

		if (in.refusal.fault != INGEST_INVALID || in.accepted != 0 || told.taken != 0 ||
		    in.refusal.line != 1)
			fail_msg("%s: fault %d, %s", lines[i], in.refusal.fault, in.refusal.error.message);
		in = send_as("a", lines[i], strlen(lines[i]), 0, false, true);
		assert_int_equal(in.refusal.fault, INGEST_INVALID);
	}
	/* Nothing was made of them. */
	path = path_join(storage.root, "transcripts");
	directory = opendir(path);
	while (readdir(directory) != NULL)
		names++;
	assert_int_equal(names, 2);
	closedir(directory);
	free(path);
}

/* ---- events ---- */

static void
test_events(void **state)
{
	static const char document[] = "{\n \"events\": [\n  {\"type\": \"a\", \"event_id\": \"1\", \"runId\": \"" RUN_ID
		"\"},\n  {\"type\": \"b\", \"event_id\": \"2\", \"runId\": \"" RUN_ID "\"},\n  {\"type\": 3},\n"
		"  {\"type\": \"c\", \"event_id\": \"3\", \"runId\": \"" RUN_ID "\"}]\n}\n";
	static const char job[] = "{\"type\":\"x\",\"runId\":\"job 7\"}";
	struct ingest_input in;
	char first[256];

	(void)state;
	in = send_as("a", document, sizeof document - 1, 3, false, true);
	assert_int_equal(in.accepted, 2);
	assert_int_equal(in.refusal.fault, INGEST_INVALID);
	assert_int_equal(in.refusal.line, 1);
	assert_int_equal(in.refusal.event, 3);
	assert_string_equal(told.last, "0b7a1c52 \"2\" 3");
	in = send_as("a", document, sizeof document - 1, 3, true, true);
	assert_int_equal(in.duplicates, 2);
	assert_int_equal(in.accepted, 1);
	assert_string_equal(told.last, "0b7a1c52 \"3\" 4");
	assert_int_equal(verified(RUN_ID).lines, 4);
	assert_true(storage_run_alive(&storage, RUN_ID));
	in = send_as("b", document, sizeof document - 1, 0, false, true);
	assert_int_equal(in.refusal.fault, INGEST_FORBIDDEN);
	assert_int_equal(in.refusal.event, 1);

	/* A name that is no id is of one run for each sender. */
	send_as("a", job, strlen(job), 0, false, false);
	assert_string_not_equal(told.last, "");
	memcpy(first, told.last, sizeof first);
	send_as("a", job, strlen(job), 0, false, false);
	assert_memory_equal(first, told.last, 8);
	send_as("b", job, strlen(job), 0, false, false);
	assert_memory_not_equal(first, told.last, 8);

	/* No event ends the run; its sender does, once. */
	in = send_text("{\"type\":\"run.completed\",\"runId\":\"" RUN_ID "\"}\n");
	assert_int_equal(in.accepted, 1);
	assert_int_equal(ingest_finish(&ingest, "b", RUN_ID, "success", &err), INGEST_FORBIDDEN);
	assert_int_equal(ingest_finish(&ingest, "a", RUN_ID, "done", &err), INGEST_INVALID);
	assert_int_equal(ingest_finish(&ingest, "a", OTHER_ID, "failed", &err), INGEST_FORBIDDEN);
	if (ingest_finish(&ingest, "a", RUN_ID, "failed", &err) != INGEST_NONE)
		fail_msg("%s", err.message);
	assert_false(storage_run_alive(&storage, RUN_ID));
	assert_int_equal(ingest_finish(&ingest, "a", RUN_ID, "failed", &err), INGEST_CONFLICT);
	in = send_text("{\"type\":\"x\",\"runId\":\"" RUN_ID "\"}\n{\"type\":\"a\",\"event_id\":\"1\",\"runId\":\"" RUN_ID
	    "\"}\n");
	assert_int_equal(in.refusal.fault, INGEST_CONFLICT);
	assert_int_equal(in.duplicates, 1);
	verified(RUN_ID);
}

/* How much may come, and of runs of which names; what was told of it. */
static struct allowed {
	int64_t most, taken;
	const char *name;
} allowed;

static bool
note_pace(void *context, const char *run_id, int64_t taken)
{
	(void)context, (void)run_id;
	allowed.taken += taken > 0 ? taken : 0;
	return allowed.taken < allowed.most;
}

static bool
is_named(void *context, struct span name)
{
	(void)context;
	return span_is(name, allowed.name);
}

static struct ingest_input
send_allowed(const char *bytes, size_t len, int64_t most, const char *name)
{
	const struct ingest_spec spec = { .sender = "a", .named = is_named, .pace = note_pace,
		.refused = note_refusal, .context = &told };
	struct ingest_input in;

	memset(&told, 0, sizeof told);
	allowed = (struct allowed){ .most = most, .name = name };
	ingest_input_begin(&in, &ingest, &spec);
	for (size_t at = 0; at < len; at += 1000)
		ingest_feed(&in, bytes + at, len - at < 1000 ? len - at : 1000);
	ingest_input_end(&in);
	ingest_input_free(&in);
	return in;
}

/* Who sends too fast gets to know where he can go on; what is there already counts for nothing. */
static void
test_pace_and_names(void **state)
{
	static const char events[] = "{\"type\":\"x\",\"event_id\":1,\"runId\":\"job\"}\n"
	    "{\"type\":\"x\",\"event_id\":1,\"runId\":\"job\"}\n{\"type\":\"x\",\"event_id\":2,\"runId\":\"job\"}\n"
	    "{\"type\":\"x\",\"event_id\":3,\"runId\":\"job\"}\n";
	const struct original *o = &originals[0];
	struct ingest_input in;
	char run_id[ID_SIZE], again[ID_SIZE];
	size_t there;

	(void)state;
	in = send_allowed(o->bytes.data, o->bytes.len, 5, "other");
	assert_int_equal(in.refusal.fault, INGEST_FORBIDDEN);
	assert_int_equal(lines_there(o), 0);
	assert_int_equal(origin_check_own(&storage, o->run_id, &err), 0);
	do {
		there = lines_there(o);
		in = send_allowed(o->bytes.data, o->bytes.len, 5, "w");
		assert_int_equal(in.accepted, allowed.taken);
		assert_int_equal(in.accepted, lines_there(o) - there);
		assert_int_equal(in.duplicates, there);
		assert_int_equal(told.refused, in.refusal.fault != INGEST_NONE);
		if (in.refusal.fault != INGEST_NONE) {
			assert_int_equal(in.refusal.fault, INGEST_TOO_FAST);
			assert_int_equal(in.refusal.wanted, lines_there(o) + 1);
			assert_in_range(in.accepted, 5, 9);
		}
	} while (in.refusal.fault != INGEST_NONE);
	assert_int_equal(lines_there(o), LINES);

	in = send_allowed(events, sizeof events - 1, 2, "another");
	assert_int_equal(in.refusal.fault, INGEST_FORBIDDEN);
	assert_int_equal(told.refused, 1);
	in = send_allowed(events, sizeof events - 1, 2, "job");
	assert_int_equal(in.refusal.fault, INGEST_TOO_FAST);
	assert_int_equal(in.refusal.line, 4);
	assert_int_equal(in.accepted, 2);
	assert_int_equal(in.duplicates, 1);
	/* Of a run that has begun the name is not asked. */
	in = send_allowed(events, sizeof events - 1, 2, "another");
	assert_int_equal(in.accepted, 1);
	ingest_run_id("a", "job", 3, run_id);
	assert_int_equal(verified(run_id).lines, 4);
	ingest_run_id("b", "job", 3, again);
	assert_string_not_equal(run_id, again);
	ingest_run_id("b", RUN_ID, ID_SIZE - 1, again);
	assert_string_equal(again, RUN_ID);
}

/* More runs than are kept open, in any order; what was told of is there. */
static void
test_many_runs(void **state)
{
	struct buffer text = BUFFER_INIT;
	struct ingest_input in;

	(void)state;
	ingest.run_limit = 16;
	srand(7);
	for (int i = 0; i < 1000; i++)
		buffer_format(&text, "{\"type\":\"x\",\"runId\":\"%d\",\"event_id\":%d}\n", rand() % 40, rand() % 60);
	in = send_as("a", text.data, text.len, 100, false, false);
	assert_int_equal(in.refusal.fault, INGEST_NONE);
	assert_int_equal(in.accepted + in.duplicates, 1000);
	assert_int_equal(told.taken, 1000);
	int64_t accepted = in.accepted;
	in = send_as("a", text.data, text.len, 0, false, false);
	assert_int_equal(in.duplicates, 1000);
	assert_true(accepted > 500);
	buffer_free(&text);
}

/* ---- blobs ---- */

#define COUNTED (INT64_C(64) << 10) /* what a blob counts at least */
#define ROOM (10 * COUNTED)

static int
put_blob(const char *sender, const char *run_id, const char *bytes, const char *as, int64_t quota)
{
	char sha256[DIGEST_SIZE];
	struct blob_upload u;
	const struct blob_upload_spec spec = { .storage = &storage, .sender = sender, .run_id = run_id,
		.sha256 = digest_sha256(as, strlen(as), sha256), .size = strlen(bytes) % 2 == 0 ? (int64_t)strlen(bytes) : -1,
		.limit = 1000, .quota = quota };

	err = (struct error)ERROR_INIT;
	if (blob_upload_begin(&u, &spec, &err) != 0)
		return -1;
	for (size_t i = 0; i < strlen(bytes); i += 3)
		if (blob_upload_feed(&u, bytes + i, strlen(bytes + i) < 3 ? strlen(bytes + i) : 3, &err) != 0)
			return -1;
	return blob_upload_end(&u, &err);
}

static bool
has_blob(const char *below, const char *run_id, const char *bytes)
{
	char sha256[DIGEST_SIZE], *path;
	bool there;

	digest_sha256(bytes, strlen(bytes), sha256);
	path = memory_format("%s/%s/%s/%s", storage.root, below, run_id, sha256);
	there = access(path, F_OK) == 0;
	free(path);
	return there;
}

static size_t
count_incoming(void)
{
	char *path = path_join(storage.root, "incoming");
	DIR *directory = opendir(path);
	size_t count = 0;

	while (directory != NULL && readdir(directory) != NULL)
		count++;
	if (directory != NULL)
		closedir(directory);
	free(path);
	return count - 3; /* ".", "..", the lock */
}

static void
test_blobs(void **state)
{
	const struct original *o = &originals[0];
	char *path, *own = storage_transcript(&storage, OTHER_ID);
	struct buffer text = BUFFER_INIT;

	(void)state;
	assert_int_equal(put_blob("a", o->run_id, "first", "first", ROOM), 0);
	assert_int_equal(put_blob("b", o->run_id, "second", "second", ROOM), 0);
	assert_true(has_blob("incoming", o->run_id, "first"));
	assert_int_equal(put_blob("a", o->run_id, "first", "other", ROOM), -1);
	assert_int_equal(err.code, ERROR_INVALID_INPUT);
	assert_false(has_blob("incoming", o->run_id, "other"));
	assert_int_equal(put_blob("a", o->run_id, "much more", "much more", 3 * COUNTED - 1), -1);
	assert_int_equal(err.code, ERROR_INVALID_INPUT);
	assert_int_equal(count_incoming(), 1);

	/* With the first line they are the run's. */
	add_lines(&text, o, 0, 2);
	assert_int_equal(send_as("a", text.data, text.len, 0, false, false).accepted, 2);
	assert_true(has_blob("blobs", o->run_id, "first"));
	assert_true(has_blob("blobs", o->run_id, "second"));
	assert_int_equal(count_incoming(), 0);
	assert_int_equal(put_blob("a", o->run_id, "third", "third", 0), 0);
	assert_true(has_blob("blobs", o->run_id, "third"));
	assert_int_equal(put_blob("b", o->run_id, "fourth", "fourth", ROOM), -1);
	assert_int_equal(err.code, ERROR_BLOCKED);
	record_put(own, "{}\n", 3);
	assert_int_equal(put_blob("a", OTHER_ID, "first", "first", ROOM), -1);
	assert_int_equal(err.code, ERROR_BLOCKED);

	/* What waits goes after a day. */
	assert_int_equal(put_blob("a", RUN_ID, "first", "first", ROOM), 0);
	path = memory_format("%s/incoming/%s", storage.root, RUN_ID);
	const struct utimbuf old = { time(NULL) - 90000, time(NULL) - 90000 };
	assert_int_equal(utime(path, &old), 0);
	assert_int_equal(put_blob("a", originals[1].run_id, "x", "x", ROOM), 0);
	assert_int_equal(access(path, F_OK), -1);
	buffer_free(&text);
	free(own);
	free(path);
}

/* Uploads that are under way count as what they may come to, and come to no more. */
static void
test_blobs_under_way(void **state)
{
	char sha256[DIGEST_SIZE];
	struct blob_upload u, other;
	struct blob_upload_spec spec = { .storage = &storage, .sender = "a", .run_id = RUN_ID,
		.sha256 = digest_sha256("abc", 3, sha256), .size = -1, .limit = 8 * COUNTED, .quota = ROOM };

	(void)state;
	assert_int_equal(blob_upload_begin(&u, &spec, &err), 0);
	spec.size = 3 * COUNTED;
	assert_int_equal(blob_upload_begin(&other, &spec, &err), -1);
	assert_int_equal(err.code, ERROR_INVALID_INPUT);
	blob_upload_abandon(&other);
	assert_int_equal(blob_upload_feed(&u, "abc", 3, &err), 0);
	assert_int_equal(blob_upload_end(&u, &err), 0);
	assert_true(has_blob("incoming", RUN_ID, "abc"));
	assert_int_equal(put_blob("a", RUN_ID, "x", "x", ROOM), 0);
	assert_int_equal(blob_upload_begin(&other, &spec, &err), 0);
	blob_upload_abandon(&other);
	spec.size = 9 * COUNTED;
	assert_int_equal(blob_upload_begin(&other, &spec, &err), -1);
	assert_int_equal(err.code, ERROR_INVALID_INPUT);
	spec.size = 2;
	assert_int_equal(blob_upload_begin(&other, &spec, &err), 0);
	assert_int_equal(blob_upload_feed(&other, "abc", 3, &err), -1);
	assert_int_equal(err.code, ERROR_INVALID_INPUT);
	assert_int_equal(count_incoming(), 1);
}

/* Where some are there already, the others are put beside them. */
static void
test_blobs_adopted_twice(void **state)
{
	char *directory = storage_blobs(&storage, RUN_ID), name[DIGEST_SIZE];

	(void)state;
	assert_int_equal(put_blob("a", RUN_ID, "first", "first", ROOM), 0);
	assert_int_equal(blob_write(directory, "second", 6, false, name, &err), 0);
	assert_int_equal(blobs_adopt(&storage, RUN_ID, &err), 0);
	assert_true(has_blob("blobs", RUN_ID, "first"));
	assert_true(has_blob("blobs", RUN_ID, "second"));
	assert_int_equal(count_incoming(), 0);
	assert_int_equal(blobs_adopt(&storage, RUN_ID, &err), 0);
	free(directory);
}

static void
test_blobs_missing(void **state)
{
#define LINE(type, payload, refs) "{\"seq\":1,\"timestamp\":\"2026-11-21T08:15:30.123456Z\",\"event_id\":\"" \
	OTHER_ID "\",\"run_id\":\"" RUN_ID "\",\"parent_event_id\":null,\"type\":\"" type "\",\"path\":\"\"," \
	"\"iteration\":0,\"payload\":" payload refs ",\"prev\":\"" ZEROS "\"}"
	char name[DIGEST_SIZE], *directory = storage_blobs(&storage, RUN_ID), *line;

	(void)state;
	assert_int_equal(blob_write(directory, "x", 1, false, name, &err), 0);
	line = memory_format(LINE("step.started", "{\"files\":[{\"path\":\"/a\",\"sha256\":\"%s\"},"
	    "{\"path\":\"/b\",\"sha256\":\"" ZEROS "\"},{\"path\":\"/c\",\"sha256\":\"" ZEROS
	    "\",\"kept\":false},\"/d\"],\"input_sha256\":\"" ZEROS "\"}", ""), name);
	assert_int_equal(blobs_missing(&storage, RUN_ID, line, strlen(line)), 1);
	free(line);
	line = memory_format(LINE("x", "{\"a\":null,\"b\":null}", ",\"refs\":[{\"at\":\"/payload/a\",\"sha256\":\"%s\"},"
	    "{\"at\":\"/payload/b\",\"sha256\":\"" ZEROS "\"}]"), name);
	assert_int_equal(blobs_missing(&storage, RUN_ID, line, strlen(line)), 1);
	free(line);
	line = memory_text(LINE("run.completed", "{\"stdout\":{\"sha256\":\"" ZEROS "\"}}", ""));
	assert_int_equal(blobs_missing(&storage, RUN_ID, line, strlen(line)), 1);
	free(line);
	line = memory_text(LINE("tool.call", "{\"input\":{\"sha256\":\"" ZEROS "\"}}", ""));
	assert_int_equal(blobs_missing(&storage, RUN_ID, line, strlen(line)), 0);
	free(line);
	free(directory);
#undef LINE
}

/* ---- a full disk ---- */

/* What was not written is not told of, and what was stands; with room again it goes on. */
static void
test_no_room(void **state)
{
	const struct original *o = &originals[0];
	struct rlimit limit, before;
	struct ingest_input in;

	(void)state;
	signal(SIGXFSZ, SIG_IGN);
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
	limit = before;
	for (size_t lines = 1; lines < LINES; lines += 5) {
		leave_storage(NULL);
		fresh_storage(NULL);
		limit.rlim_cur = o->starts[lines] + 7;
		assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
		in = send_as("a", o->bytes.data, o->bytes.len, 0, true, false);
		assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
		assert_int_equal(in.refusal.fault, INGEST_FAILED);
		assert_int_equal(told.refused, 1);
		assert_int_equal(in.accepted, lines);
		assert_int_equal(in.refusal.line, lines + 1);
		assert_int_equal(lines_there(o), lines);
		in = send_as("a", o->bytes.data, o->bytes.len, 0, true, false);
		assert_int_equal(in.accepted, LINES - lines);
		assert_int_equal(in.duplicates, lines);
		assert_int_equal(lines_there(o), LINES);
	}
	signal(SIGXFSZ, SIG_DFL);
}

int
main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, fresh_storage, leave_storage)
	const struct CMUnitTest tests[] = {
		TEST(test_lines), TEST(test_lines_that_are_others),
		TEST(test_lines_that_verify_refuses), TEST(test_what_is_there_is_none),
		TEST(test_whose_runs_they_are), TEST(test_life), TEST(test_held_run), TEST(test_any_order), TEST(test_limits), TEST(test_malformed),
		TEST(test_events), TEST(test_pace_and_names), TEST(test_many_runs), TEST(test_blobs), TEST(test_blobs_under_way),
		TEST(test_blobs_adopted_twice),
		TEST(test_blobs_missing), TEST(test_no_room),
	};

	return cmocka_run_group_tests(tests, make_originals, free_originals);
}
