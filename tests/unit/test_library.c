/* lib/transcript: what other programs link, as they see it. */
#include "record.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/wait.h>

#include <awf/transcript.h>

#include "transcript/transcript.h"

#define COUNT(table) (sizeof(table) / sizeof *(table))

static struct awf_error err;

/* ---- memory that runs out (the Makefile links with --wrap) ---- */

static long allocations_left = -1; /* negative: no end */

static bool
allowed(void)
{
	return allocations_left < 0 || allocations_left-- > 0;
}

void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *old, size_t size);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *old, size_t size);

void *
__wrap_malloc(size_t size)
{
	return allowed() ? __real_malloc(size) : NULL;
}

void *
__wrap_calloc(size_t count, size_t size)
{
	return allowed() ? __real_calloc(count, size) : NULL;
}

void *
__wrap_realloc(void *old, size_t size)
{
	return allowed() ? __real_realloc(old, size) : NULL;
}

/* ---- what the tests share ---- */

#define NAMED "{\"name\":\"test\"}"
#define CALL "{\"name\":\"t\",\"call_id\":\"c\"}"

/* A directory transcripts/, as a storage has one, and a transcript in it. */
static const char *
a_path(const char *name)
{
	char *path = memory_format("transcripts/%s.jsonl", name);
	const char *whole = record_path(path);

	mkdir(record_path("transcripts"), 0700);
	free(path);
	return whole;
}

static struct awf_transcript *
made(const char *path, char id[AWF_ID_SIZE])
{
	struct awf_transcript *t;

	if (awf_create(&t, path, NAMED, id, &err) != 0)
		fail_msg("%s", err.message);
	return t;
}

static int64_t
append(struct awf_transcript *t, const char *type, const char *parent, const char *payload,
    char id[AWF_ID_SIZE])
{
	struct awf_event e = { .type = type, .parent = parent, .payload = payload };

	return awf_append(t, &e, id, &err);
}

static void
assert_code(enum awf_code code)
{
	if (err.code != code)
		fail_msg("code %d, not %d: %s", err.code, code, err.message);
	if (code == AWF_OK)
		assert_string_equal(err.message, "");
	else
		assert_true(err.message[0] != '\0' && strchr(err.message, '\n') == NULL);
}

static void
assert_sound(const char *path)
{
	int64_t fault;

	if (awf_check_file(path, &fault, &err) != 0)
		fail_msg("line %lld: %s", (long long)fault, err.message);
}

static int64_t
size_of(const char *path)
{
	struct stat status;

	return stat(path, &status) == 0 ? (int64_t)status.st_size : -1;
}

static void
add_bytes(const char *path, const char *bytes)
{
	int fd = open(path, O_WRONLY | O_APPEND);

	assert_int_equal(write(fd, bytes, strlen(bytes)), strlen(bytes));
	close(fd);
}

static bool
holds(const struct awf_line *line, const char *text)
{
	char *copy = memory_copy(line->text, line->len);
	bool found = strstr(copy, text) != NULL;

	free(copy);
	return found;
}

/* A text of this many letters, never freed. */
static char *
letters(size_t count)
{
	char *text = memory_alloc(count + 1);

	memset(text, 'a', count);
	text[count] = '\0';
	return text;
}

/* ---- appending ---- */

static void
a_run_from_its_start_to_its_end(void **state)
{
	const char *path = a_path("whole");
	char started[AWF_ID_SIZE], call[AWF_ID_SIZE], result[AWF_ID_SIZE];
	struct awf_transcript *t;
	struct awf_reader *r;
	struct awf_line line;

	(void)state;
	t = made(path, started);
	assert_int_equal(strlen(awf_run_id(t)), AWF_ID_SIZE - 1);
	assert_int_equal(append(t, "tool.call", started, " { \"name\" : \"t\", \"call_id\":\"c\" }\n",
	    call), 2);
	assert_int_equal(append(t, "tool.result", call, CALL, result), 3);
	struct awf_event e = { .type = "message.user", .parent = result, .path = "draft.review",
		.iteration = 4, .payload = "{\"role\":\"user\",\"blocks\":[]}", .links = "[ ]" };
	char links[64];
	snprintf(links, sizeof links, " [ \"%s\" ] ", call);
	e.links = links;
	assert_int_equal(awf_append(t, &e, NULL, NULL), 4);
	assert_int_equal(append(t, "run.completed", started, "{\"status\":\"success\"}", NULL), 5);
	assert_int_equal(awf_repaired(t), 0);
	awf_close(t);
	assert_sound(path);

	assert_int_equal(awf_reader_open(&r, path, 0, &err), 0);
	assert_int_equal(awf_read(r, 0, &line, &err), 1);
	assert_int_equal(line.seq, 1);
	assert_int_equal(line.offset, 0);
	assert_string_equal(line.type, "run.started");
	assert_string_equal(line.id, started);
	assert_true(holds(&line, "{\"name\":\"test\",\"kind\":\"workflow\","));
	assert_true(holds(&line, "\"format\":1,\"attempt\":1}"));
	assert_int_equal(awf_check_line(line.text, line.len, &err), 0);
	int64_t end = (int64_t)line.len + 1;
	assert_int_equal(awf_read(r, 0, &line, &err), 1);
	assert_int_equal(line.offset, end);
	assert_string_equal(line.id, call);
	assert_true(holds(&line, "\"payload\":" CALL));
	assert_int_equal(awf_read(r, 0, &line, &err), 1);
	assert_int_equal(awf_read(r, 0, &line, &err), 1);
	snprintf(links, sizeof links, "\"links\":[\"%s\"],", call);
	assert_true(holds(&line, links));
	assert_true(holds(&line, "\"path\":\"draft.review\",\"iteration\":4"));
	assert_int_equal(awf_read(r, 0, &line, &err), 1);
	assert_int_equal(awf_read(r, 0, &line, &err), 0);
	assert_code(AWF_OK);
	assert_int_equal(awf_reader_alive(r), 0);
	awf_reader_close(r);
}

static void
what_is_refused_leaves_no_byte(void **state)
{
	const char *path = a_path("refused");
	char started[AWF_ID_SIZE], *deep = letters(400), *long_name;
	struct awf_transcript *t = made(path, started);
	int64_t size = size_of(path);

	(void)state;
	memset(deep, '[', 200);
	memset(deep + 200, ']', 200);
	char *nested = memory_format("{\"name\":\"t\",\"call_id\":\"c\",\"input\":%s}", deep);
	long_name = memory_format("{\"call_id\":\"c\",\"name\":\"%s\"}", letters(300000));
	const struct awf_event refused[] = {
		{ 0 },
		{ .type = "tool.call", .parent = started },
		{ .payload = CALL, .parent = started },
		{ .type = "tool.calls", .parent = started, .payload = CALL },
		{ .type = "", .parent = started, .payload = CALL },
		{ .type = "tool.call", .parent = started, .payload = "" },
		{ .type = "tool.call", .parent = started, .payload = "call" },
		{ .type = "tool.call", .parent = started, .payload = "null" },
		{ .type = "tool.call", .parent = started, .payload = "[]" },
		{ .type = "tool.call", .parent = started, .payload = "{}" },
		{ .type = "tool.call", .parent = started, .payload = CALL "{}" },
		{ .type = "tool.call", .parent = started, .payload = "{\"name\":1,\"call_id\":\"c\"}" },
		{ .type = "tool.call", .parent = started, .payload = "{\"name\":\"\xff\",\"call_id\":\"c\"}" },
		{ .type = "tool.call", .parent = started, .payload = nested },
		{ .type = "tool.call", .parent = started, .payload = long_name },
		{ .type = "tool.call", .payload = CALL },
		{ .type = "tool.call", .parent = "", .payload = CALL },
		{ .type = "tool.call", .parent = "an event", .payload = CALL },
		{ .type = "tool.call", .parent = started, .payload = CALL, .path = "a b" },
		{ .type = "tool.call", .parent = started, .payload = CALL, .path = "a\"," },
		{ .type = "tool.call", .parent = started, .payload = CALL, .path = ".a" },
		{ .type = "tool.call", .parent = started, .payload = CALL, .iteration = -1 },
		{ .type = "tool.call", .parent = started, .payload = CALL, .links = "" },
		{ .type = "tool.call", .parent = started, .payload = CALL, .links = "{}" },
		{ .type = "tool.call", .parent = started, .payload = CALL, .links = "[1]" },
		{ .type = "run.started", .parent = started,
			.payload = "{\"name\":\"test\",\"attempt\":2}" },
		{ .type = "run.started", .payload = NAMED },
		{ .type = "step.completed", .parent = started, .payload = "{\"name\":\"a\",\"kind\":"
			"\"command\",\"call\":\"a:0:0\",\"approval\":{\"decision\":\"approved\",\"decides\":\""
			RUN_ID "\"}}" },
		{ .type = "run.completed", .parent = started, .payload = "{\"status\":\"success\","
			"\"seal\":{\"algorithm\":\"ed25519\",\"public_key\":\"" ZEROS "\",\"signature\":\""
			ZEROS ZEROS "\"}}" },
	};
	for (size_t i = 0; i < COUNT(refused); i++) {
		if (awf_append(t, &refused[i], NULL, &err) != -1 || err.code != AWF_INVALID)
			fail_msg("event %zu: code %d: %s", i, err.code, err.message);
		assert_code(AWF_INVALID);
	}
	assert_int_equal(awf_append(t, NULL, NULL, &err), -1);
	assert_code(AWF_INVALID);
	assert_int_equal(size_of(path), size);
	assert_int_equal(access(record_path("blobs"), F_OK), -1);
	assert_int_equal(append(t, "tool.call", started, CALL, NULL), 2);
	awf_close(t);
	assert_sound(path);
	free(deep);
	free(nested);
	free(long_name);
}

static void
nothing_follows_the_end_of_a_run_but_another_attempt(void **state)
{
	const char *path = a_path("ended");
	char started[AWF_ID_SIZE];
	struct awf_transcript *t = made(path, started), *late;

	(void)state;
	assert_int_equal(awf_open(&late, path, &err), 0);
	assert_int_equal(append(t, "run.completed", started, "{\"status\":\"failed\"}", NULL), 2);
	assert_int_equal(append(t, "tool.call", started, CALL, NULL), -1);
	assert_code(AWF_ENDED);
	assert_int_equal(append(late, "tool.call", started, CALL, NULL), -1);
	assert_code(AWF_ENDED);
	assert_int_equal(append(late, "run.started", NULL,
	    "{\"name\":\"test\",\"attempt\":2}", started), 3);
	assert_int_equal(append(t, "tool.call", started, CALL, NULL), 4);
	awf_close(t);
	awf_close(late);
	assert_sound(path);
}

/* An AWF program appends an event of a step. */
static void
decide(const char *path, const char *run_id, const char *parent, const char *payload,
    char id[AWF_ID_SIZE])
{
	struct event e = { .type = EVENT_STEP_COMPLETED, .parent_event_id = parent, .path = "a",
		.payload = span_of(payload, strlen(payload)) };
	struct error error;
	struct transcript t;

	assert_int_equal(transcript_open(&t, path, "", run_id, &error), 0);
	assert_int_equal(transcript_append(&t, &e, &error), 0);
	memcpy(id, e.id, AWF_ID_SIZE);
	transcript_close(&t);
}

static void
a_decision_ends_no_run_and_begins_none(void **state)
{
	static const char step[] = "{\"name\":\"a\",\"kind\":\"approval\",\"call\":\"a:0:0\"";
	const char *path = a_path("decided");
	char started[AWF_ID_SIZE], call[AWF_ID_SIZE], wait[2][AWF_ID_SIZE], id[AWF_ID_SIZE];
	struct awf_transcript *t = made(path, started);

	(void)state;
	for (int i = 0; i < 2; i++) {
		char *payload = memory_format("{\"name\":\"a\",\"kind\":\"approval\",\"call\":\"a:0:%d\"}", i);
		assert_true(append(t, "step.started", started, payload, call) > 0);
		payload[strlen(payload) - 1] = '\0';
		char *waits = memory_format("%s,\"error\":{\"code\":\"waiting\",\"message\":\"w\"},"
		    "\"approval\":{\"asks\":\"approval\"}}", payload);
		assert_true(append(t, "step.completed", call, waits, wait[i]) > 0);
		free(waits);
		free(payload);
	}
	char *decision = memory_format("%s,\"result\":1,\"approval\":{\"decision\":\"approved\","
	    "\"decides\":\"%s\"}}", step, wait[0]);
	decide(path, awf_run_id(t), wait[0], decision, id);
	assert_int_equal(append(t, "tool.call", id, CALL, NULL), 7);
	assert_int_equal(append(t, "run.completed", started, "{\"status\":\"waiting\"}", NULL), 8);
	decision[strlen("{\"name\":\"a\",\"kind\":\"approval\",\"call\":\"a:0:")] = '1';
	memcpy(strstr(decision, wait[0]), wait[1], AWF_ID_SIZE - 1);
	decide(path, awf_run_id(t), wait[1], decision, id);
	assert_int_equal(append(t, "tool.call", id, CALL, NULL), -1);
	assert_code(AWF_ENDED);
	awf_close(t);
	assert_sound(path);
	free(decision);
}

static void
what_is_no_transcript_is_not_opened(void **state)
{
	static const struct {
		const char *content;
		enum awf_code code;
	} files[] = {
		{ "", AWF_FORMAT },
		{ "hello\n", AWF_FORMAT },
		{ "{\"seq\":1,", AWF_FORMAT },
		{ "{\"seq\":1,\"run_id\":\"" RUN_ID "\",\"type\":\"tool.call\",\"prev\":\"" ZEROS "\"}\n",
			AWF_FORMAT },
		{ "{\"seq\":1,\"run_id\":\"../../x\",\"type\":\"run.started\",\"prev\":\"" ZEROS "\"}\n",
			AWF_FORMAT },
		{ "{\"seq\":1,\"run_id\":\"" RUN_ID "\",\"type\":\"run.started\",\"payload\":"
			"{\"format\":2},\"prev\":\"" ZEROS "\"}\n", AWF_FORMAT },
		{ "{\"seq\":1,\"run_id\":\"" RUN_ID "\",\"type\":\"run.started\",\"payload\":"
			"{\"format\":1,\"masked\":true},\"prev\":\"" ZEROS "\"}\n", AWF_MASKED },
	};
	const char *path = a_path("none"), *link = a_path("link");
	struct awf_transcript *t;
	struct buffer after = BUFFER_INIT;

	(void)state;
	for (size_t i = 0; i < COUNT(files); i++) {
		record_put(path, files[i].content, strlen(files[i].content));
		assert_int_equal(awf_open(&t, path, &err), -1);
		assert_null(t);
		assert_code(files[i].code);
		record_load(path, &after);
		assert_string_equal(buffer_string(&after), files[i].content);
	}
	assert_int_equal(symlink(path, link), 0);
	assert_int_equal(awf_open(&t, link, &err), -1);
	assert_code(AWF_SYSTEM);
	assert_int_equal(awf_open(&t, record_directory, &err), -1);
	assert_code(AWF_SYSTEM);
	assert_int_equal(awf_open(&t, a_path("missing"), &err), -1);
	assert_code(AWF_MISSING);
	assert_int_equal(awf_open(&t, NULL, &err), -1);
	assert_code(AWF_INVALID);
	awf_close(NULL);
	buffer_free(&after);
}

static void
a_run_is_made_where_there_is_none(void **state)
{
	const char *directory = record_path("transcripts"), *path = a_path(RUN_ID);
	struct awf_transcript *t;

	(void)state;
	t = made(path, NULL);
	assert_string_equal(awf_run_id(t), RUN_ID);
	int64_t size = size_of(path);
	awf_close(t);
	assert_int_equal(awf_create(&t, path, NAMED, NULL, &err), -1);
	assert_null(t);
	assert_code(AWF_SYSTEM);
	assert_int_equal(size_of(path), size);

	assert_int_equal(awf_create(&t, directory, "{\"name\":\"n\",\"kind\":\"step\",\"inputs\":{}}",
	    NULL, &err), 0);
	char *name = memory_format("%s/%s.jsonl", directory, awf_run_id(t));
	assert_sound(name);
	struct stat status;
	assert_int_equal(stat(name, &status), 0);
	assert_int_equal(status.st_mode & 0777, 0600);
	awf_close(t);
	free(name);

	static const char *const refused[] = { NULL, "{}", "[]", "{\"name\":1}",
		"{\"name\":\"n\",\"attempt\":0}" };
	for (size_t i = 0; i < COUNT(refused); i++) {
		assert_int_equal(awf_create(&t, a_path("new"), refused[i], NULL, &err), -1);
		assert_code(AWF_INVALID);
	}
	assert_int_equal(awf_create(&t, a_path("new"), "{\"name\":\"n\",\"masked\":true}", NULL, &err),
	    -1);
	assert_code(AWF_MASKED);
	setenv("AWF_SYNC", "sometimes", 1);
	assert_int_equal(awf_create(&t, a_path("new"), NAMED, NULL, &err), -1);
	assert_code(AWF_INVALID);
	setenv("AWF_SYNC", "none", 1);
	assert_int_equal(access(a_path("new"), F_OK), -1);
	assert_int_equal(awf_create(&t, record_path("no/such/x.jsonl"), NAMED, NULL, &err), -1);
	assert_code(AWF_SYSTEM);
}

static void
a_torn_line_is_moved_by_the_next_writer(void **state)
{
	static const char torn[] = "{\"seq\":2,\"timestamp\":\"2026-";
	const char *path = a_path("torn");
	char started[AWF_ID_SIZE];
	struct buffer kept = BUFFER_INIT;
	struct awf_transcript *t = made(path, started);
	struct awf_reader *r;
	struct awf_line line;
	int64_t fault;

	(void)state;
	add_bytes(path, torn);
	assert_int_equal(awf_check_file(path, &fault, &err), -1);
	assert_code(AWF_FORMAT);
	assert_int_equal(fault, 2);
	assert_int_equal(awf_reader_open(&r, path, 1, &err), 0);
	assert_int_equal(awf_read(r, 0, &line, &err), 0);
	assert_int_equal(append(t, "tool.call", started, CALL, NULL), 2);
	assert_int_equal(awf_repaired(t), sizeof torn - 1);
	assert_int_equal(awf_read(r, 0, &line, &err), 1);
	assert_int_equal(line.seq, 2);
	assert_string_equal(line.type, "tool.call");
	assert_int_equal(awf_read(r, 0, &line, &err), 0);
	awf_reader_close(r);
	awf_close(t);
	assert_sound(path);
	record_load(record_path("transcripts/torn.torn"), &kept);
	assert_string_equal(kept.data, torn);
	buffer_free(&kept);
}

static void
long_strings_lie_in_blobs(void **state)
{
	const char *path = a_path("blobs");
	char started[AWF_ID_SIZE], *text = letters(300000);
	char *payload = memory_format("{\"name\":\"t\",\"call_id\":\"c\",\"input\":[\"%s\",1]}", text);
	struct awf_transcript *t = made(path, started);

	(void)state;
	assert_int_equal(append(t, "tool.call", started, payload, NULL), 2);
	assert_true(size_of(path) < 2000);
	assert_sound(path);
	char *blobs = memory_format("blobs/%s", awf_run_id(t));
	assert_true(size_of(record_path(blobs)) > 0);
	awf_close(t);
	free(blobs);
	free(payload);
	free(text);
}

static void
another_directory_makes_no_difference(void **state)
{
	char *directory = record_directory, before[256], started[AWF_ID_SIZE];
	struct awf_transcript *t;
	struct awf_reader *r;
	struct awf_line line;

	(void)state;
	assert_non_null(getcwd(before, sizeof before));
	a_path("moving");
	assert_int_equal(chdir(directory), 0);
	t = made("transcripts/moving.jsonl", started);
	assert_int_equal(awf_reader_open(&r, "transcripts/moving.jsonl", 0, &err), 0);
	assert_int_equal(chdir("/"), 0);
	add_bytes(a_path("moving"), "torn");
	assert_int_equal(append(t, "tool.call", started, CALL, NULL), 2);
	assert_int_equal(size_of(record_path("transcripts/moving.torn")), 4);
	assert_int_equal(awf_read(r, 0, &line, &err), 1);
	awf_reader_close(r);
	awf_close(t);
	assert_int_equal(chdir(before), 0);
}

static void
parent_and_child_append_after_a_fork(void **state)
{
	const char *path = a_path("fork");
	char started[AWF_ID_SIZE];
	struct awf_transcript *t = made(path, started);
	int status = 0;

	(void)state;
	pid_t child = fork();
	for (int i = 0; i < 100; i++)
		status |= append(t, "tool.call", started, CALL, NULL) < 0;
	if (child == 0)
		_exit(status);
	assert_int_equal(status, 0);
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	assert_int_equal(append(t, "tool.call", started, CALL, NULL), 202);
	awf_close(t);
	assert_sound(path);
}

struct job {
	const char *path, *started;
	int failed;
};

static void *
append_in_a_thread(void *argument)
{
	struct job *job = argument;
	struct awf_transcript *t;
	struct awf_error mine;
	struct awf_event e = { .type = "tool.call", .parent = job->started, .payload = CALL };

	job->failed = awf_open(&t, job->path, &mine) != 0;
	for (int i = 0; i < 200 && !job->failed; i++)
		job->failed = awf_append(t, &e, NULL, &mine) < 0;
	awf_close(t);
	return NULL;
}

static void
threads_append_at_once(void **state)
{
	const char *path = a_path("threads");
	char started[AWF_ID_SIZE];
	struct awf_transcript *t = made(path, started);
	struct job jobs[8];
	pthread_t threads[8];

	(void)state;
	for (size_t i = 0; i < COUNT(jobs); i++) {
		jobs[i] = (struct job){ .path = path, .started = started };
		assert_int_equal(pthread_create(&threads[i], NULL, append_in_a_thread, &jobs[i]), 0);
	}
	for (size_t i = 0; i < COUNT(jobs); i++) {
		pthread_join(threads[i], NULL);
		assert_int_equal(jobs[i].failed, 0);
	}
	assert_int_equal(append(t, "tool.call", started, CALL, NULL), 8 * 200 + 2);
	awf_close(t);
	assert_sound(path);
}

/* ---- what the machine refuses ---- */

static void
a_lock_that_is_kept_is_an_error(void **state)
{
	const char *path = a_path("busy");
	char started[AWF_ID_SIZE];
	struct awf_transcript *t = made(path, started);
	int fd = open(path, O_RDWR);

	(void)state;
	assert_int_equal(flock(fd, LOCK_EX), 0);
	assert_int_equal(append(t, "tool.call", started, CALL, NULL), -1);
	assert_code(AWF_BUSY);
	close(fd);
	assert_int_equal(append(t, "tool.call", started, CALL, NULL), 2);
	awf_close(t);
}

static void
a_file_that_is_removed_is_an_error(void **state)
{
	const char *path = a_path("removed");
	char started[AWF_ID_SIZE];
	struct awf_transcript *t = made(path, started);
	struct awf_reader *r;
	struct awf_line line;

	(void)state;
	assert_int_equal(awf_reader_open(&r, path, 0, &err), 0);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(append(t, "tool.call", started, CALL, NULL), -1);
	assert_code(AWF_SYSTEM);
	assert_int_equal(awf_read(r, -1, &line, &err), 1);
	assert_int_equal(awf_read(r, -1, &line, &err), -1);
	assert_code(AWF_SYSTEM);
	awf_reader_close(r);
	awf_close(t);
}

static void
a_file_size_limit_is_an_error_and_no_signal(void **state)
{
	const char *path = a_path("limit");
	char started[AWF_ID_SIZE], *text = letters(5000);
	char *payload = memory_format("{\"name\":\"t\",\"call_id\":\"c\",\"input\":\"%s\"}", text);
	struct awf_transcript *t = made(path, started);
	struct rlimit before, limit;
	sigset_t pending;

	(void)state;
	assert_true(signal(SIGXFSZ, SIG_DFL) == SIG_DFL);
	getrlimit(RLIMIT_FSIZE, &before);
	limit = before;
	limit.rlim_cur = 3000;
	setrlimit(RLIMIT_FSIZE, &limit);
	assert_int_equal(append(t, "tool.call", started, payload, NULL), -1);
	setrlimit(RLIMIT_FSIZE, &before);
	assert_code(AWF_SYSTEM);
	sigpending(&pending);
	assert_false(sigismember(&pending, SIGXFSZ));
	assert_true(signal(SIGXFSZ, SIG_DFL) == SIG_DFL);
	assert_sound(path);
	assert_int_equal(append(t, "tool.call", started, payload, NULL), 2);
	awf_close(t);
	assert_sound(path);
	free(payload);
	free(text);
}

/* Opens, appends a large event, and reads and checks another file, with so many allocations.
 * The first code that is not AWF_OK. */
static enum awf_code
work_with(long allocations, const char *path, const char *other, const char *parent,
    const char *payload)
{
	struct awf_transcript *t;
	struct awf_reader *r = NULL;
	struct awf_line line;
	enum awf_code code = AWF_OK;

	allocations_left = allocations;
	if (awf_open(&t, path, &err) != 0)
		code = err.code;
	if (code == AWF_OK && append(t, "tool.call", parent, payload, NULL) < 0) {
		code = err.code;
		allocations_left = -1;
		/* Neither locked nor at odds with the file. */
		if (append(t, "tool.call", parent, CALL, NULL) < 0)
			fail_msg("%s", err.message);
	}
	if (code == AWF_OK && awf_reader_open(&r, other, 0, &err) != 0)
		code = err.code;
	while (code == AWF_OK) {
		int got = awf_read(r, 1, &line, &err);
		if (got == 0)
			break;
		code = err.code;
	}
	if (code == AWF_OK && awf_check_file(other, NULL, &err) != 0)
		code = err.code;
	allocations_left = -1;
	awf_reader_close(r);
	awf_close(t);
	return code;
}

static void
no_memory_is_an_error(void **state)
{
	const char *path = a_path("memory"), *other = a_path("sound"), *new = a_path("made");
	char started[AWF_ID_SIZE], *text = letters(300000);
	char *payload = memory_format("{\"name\":\"t\",\"call_id\":\"c\",\"input\":\"%s\"}", text);
	struct awf_transcript *t = made(other, started);
	enum awf_code code;
	long count = 0;

	(void)state;
	assert_int_equal(append(t, "tool.call", started, payload, NULL), 2);
	awf_close(t);
	awf_close(made(path, started));
	do {
		/* A torn line each time, so that it is repaired with little memory too. */
		add_bytes(path, "torn");
		code = work_with(count, path, other, started, payload);
		if (code != AWF_OK && code != AWF_MEMORY)
			fail_msg("allocation %ld: code %d: %s", count, code, err.message);
		count++;
	} while (code != AWF_OK);
	assert_true(count > 20);
	t = NULL;
	assert_int_equal(awf_open(&t, path, &err), 0);
	assert_true(append(t, "tool.call", started, CALL, NULL) > 0);
	awf_close(t);
	assert_sound(path);

	code = AWF_MEMORY;
	for (count = 0; code == AWF_MEMORY; count++) {
		allocations_left = count;
		awf_create(&t, new, NAMED, NULL, &err);
		allocations_left = -1;
		code = err.code;
		assert_true((t == NULL) == (code != AWF_OK));
		assert_int_equal(access(new, F_OK), code == AWF_OK ? 0 : -1);
	}
	assert_code(AWF_OK);
	assert_true(count > 3);
	awf_close(t);
	free(payload);
	free(text);
}

/* ---- reading ---- */

static void
reading_goes_on_where_it_was(void **state)
{
	static const struct {
		int64_t after, next;
	} places[] = { { 0, 1 }, { 1, 2 }, { 7, 8 }, { 10, 0 }, { 99, 0 }, { -1, 0 } };
	const char *path = a_path("places");
	char started[AWF_ID_SIZE];
	struct awf_transcript *t = made(path, started);
	struct awf_reader *r;
	struct awf_line line;

	(void)state;
	for (int i = 0; i < 9; i++)
		append(t, "tool.call", started, CALL, NULL);
	for (size_t i = 0; i < COUNT(places); i++) {
		assert_int_equal(awf_reader_open(&r, path, places[i].after, &err), 0);
		int got = awf_read(r, 0, &line, &err);
		assert_int_equal(got, places[i].next != 0);
		if (got == 1)
			assert_int_equal(line.seq, places[i].next);
		awf_reader_close(r);
	}
	awf_close(t);
	assert_int_equal(awf_reader_open(&r, a_path("nowhere"), 0, &err), -1);
	assert_null(r);
	assert_code(AWF_MISSING);
	assert_int_equal(awf_reader_open(&r, record_directory, 0, &err), -1);
	assert_code(AWF_SYSTEM);
	assert_int_equal(awf_reader_open(&r, NULL, 0, &err), -1);
	assert_code(AWF_INVALID);
	awf_reader_close(NULL);
}

static void
damaged_lines_are_read_as_they_are(void **state)
{
	const char *path = a_path("damaged");
	char started[AWF_ID_SIZE];
	struct awf_transcript *t = made(path, started);
	struct awf_reader *r;
	struct awf_line line;
	int64_t fault;

	(void)state;
	awf_close(t);
	add_bytes(path, "{}\nno JSON\n{\"seq\":9,\"type\":\"a.new\",\"event_id\":7}\n{\"seq\":10");
	assert_int_equal(awf_reader_open(&r, path, 1, &err), 0);
	assert_int_equal(awf_read(r, 0, &line, &err), 1);
	assert_int_equal(line.seq, 0);
	assert_string_equal(line.type, "");
	assert_int_equal(awf_check_line(line.text, line.len, &err), -1);
	assert_code(AWF_FORMAT);
	assert_int_equal(awf_read(r, 0, &line, &err), 1);
	assert_int_equal(line.len, 7);
	assert_memory_equal(line.text, "no JSON\n", 8);
	assert_int_equal(awf_read(r, 0, &line, &err), 1);
	assert_int_equal(line.seq, 9);
	assert_string_equal(line.type, "a.new");
	assert_string_equal(line.id, "");
	assert_int_equal(awf_read(r, 20, &line, &err), 0);
	awf_reader_close(r);
	assert_int_equal(awf_check_file(path, &fault, &err), -1);
	assert_code(AWF_FORMAT);
	assert_int_equal(fault, 2);
	assert_int_equal(awf_check_file(a_path("nowhere"), &fault, &err), -1);
	assert_code(AWF_MISSING);
	assert_int_equal(fault, 0);
	assert_int_equal(awf_check_file(NULL, NULL, NULL), -1);
	assert_int_equal(awf_check_line(NULL, 0, &err), -1);
	assert_int_equal(awf_check_line("", 0, &err), -1);
	assert_code(AWF_FORMAT);
}

static void
a_line_wakes_who_waits_for_it(void **state)
{
	const char *path = a_path("wakes");
	char started[AWF_ID_SIZE];
	struct awf_transcript *t = made(path, started);
	struct awf_reader *r;
	struct awf_line line;
	int status;

	(void)state;
	assert_int_equal(awf_reader_open(&r, path, -1, &err), 0);
	assert_int_equal(awf_read(r, 10, &line, &err), 0);
	pid_t child = fork();
	if (child == 0) {
		for (int i = 0; i < 3; i++) {
			usleep(30000);
			if (append(t, "tool.call", started, CALL, NULL) < 0)
				_exit(1);
		}
		_exit(0);
	}
	for (int i = 2; i < 5; i++) {
		assert_int_equal(awf_read(r, i == 2 ? -1 : 10000, &line, &err), 1);
		assert_int_equal(line.seq, i);
	}
	waitpid(child, &status, 0);
	assert_int_equal(status, 0);
	awf_reader_close(r);
	awf_close(t);
}

static void
nothing_to_do(int number)
{
	(void)number;
}

static void
a_signal_ends_the_wait(void **state)
{
	const char *path = a_path("signal");
	struct awf_transcript *t = made(path, NULL);
	struct sigaction action = { .sa_handler = nothing_to_do }, before;
	struct itimerval soon = { .it_value = { .tv_usec = 50000 } };
	struct awf_reader *r;
	struct awf_line line;

	(void)state;
	sigaction(SIGALRM, &action, &before);
	assert_int_equal(awf_reader_open(&r, path, -1, &err), 0);
	setitimer(ITIMER_REAL, &soon, NULL);
	assert_int_equal(awf_read(r, -1, &line, &err), 0);
	assert_code(AWF_OK);
	sigaction(SIGALRM, &before, NULL);
	awf_reader_close(r);
	awf_close(t);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_run_from_its_start_to_its_end),
		cmocka_unit_test(what_is_refused_leaves_no_byte),
		cmocka_unit_test(nothing_follows_the_end_of_a_run_but_another_attempt),
		cmocka_unit_test(a_decision_ends_no_run_and_begins_none),
		cmocka_unit_test(what_is_no_transcript_is_not_opened),
		cmocka_unit_test(a_run_is_made_where_there_is_none),
		cmocka_unit_test(a_torn_line_is_moved_by_the_next_writer),
		cmocka_unit_test(long_strings_lie_in_blobs),
		cmocka_unit_test(another_directory_makes_no_difference),
		cmocka_unit_test(parent_and_child_append_after_a_fork),
		cmocka_unit_test(threads_append_at_once),
		cmocka_unit_test(a_lock_that_is_kept_is_an_error),
		cmocka_unit_test(a_file_that_is_removed_is_an_error),
		cmocka_unit_test(a_file_size_limit_is_an_error_and_no_signal),
		cmocka_unit_test(no_memory_is_an_error),
		cmocka_unit_test(reading_goes_on_where_it_was),
		cmocka_unit_test(damaged_lines_are_read_as_they_are),
		cmocka_unit_test(a_line_wakes_who_waits_for_it),
		cmocka_unit_test(a_signal_ends_the_wait),
	};

	setenv("AWF_SYNC", "none", 1);
	return cmocka_run_group_tests(tests, record_setup, record_teardown);
}
