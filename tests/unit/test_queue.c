/* run/queue: who is in line for a name, who came first, and what the dead leave. */
#include "unit.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "base/id.h"
#include "io/file.h"
#include "io/lock.h"
#include "record.h"
#include "storage/queue.h"
#include "storage/run_lock.h"

static struct storage storage;

static int
setup(void **state)
{
	struct error err;

	return record_setup(state) != 0 ? -1 :
	    storage_prepare_at(&storage, record_path("storage"), &err);
}

static int
teardown(void **state)
{
	storage_close(&storage);
	return record_teardown(state);
}

/* A process that draws a ticket and lives until it is killed. */
static pid_t
start_holder(const char *name, enum queue_state state, const char *run_id, const char *policy)
{
	struct error err;
	int ready[2];
	char byte;

	assert_int_equal(pipe(ready), 0);
	pid_t pid = fork();
	if (pid == 0) {
		struct queue q;

		queue_open(&q, &storage, name);
		if (queue_lock(&q, &err) != 0 || queue_look(&q, &err) != 0 ||
		    queue_draw(&q, state, run_id, policy, &err) != 0)
			_exit(1);
		queue_unlock(&q);
		if (write(ready[1], "x", 1) != 1)
			_exit(1);
		for (;;)
			pause();
	}
	close(ready[1]);
	assert_int_equal(read(ready[0], &byte, 1), 1);
	close(ready[0]);
	return pid;
}

static void
end_holder(pid_t pid)
{
	int status;

	kill(pid, SIGKILL);
	assert_int_equal(waitpid(pid, &status, 0), pid);
}

static void
look(struct queue *q)
{
	struct error err = ERROR_INIT;

	assert_int_equal(queue_lock(q, &err), 0);
	assert_int_equal(queue_look(q, &err), 0);
}

static void
test_order(void **state)
{
	pid_t pids[3];
	struct queue q;

	(void)state;
	for (int i = 0; i < 3; i++)
		pids[i] = start_holder("order", i == 0 ? QUEUE_RUNNING : QUEUE_WAITING, RUN_ID,
		    i == 2 ? "cancel-other" : "buffer-all");
	queue_open(&q, &storage, "order");
	look(&q);
	assert_int_equal(q.count, 3);
	for (int i = 0; i < 3; i++) {
		assert_int_equal(q.others[i].pid, pids[i]);
		assert_int_equal(q.others[i].number, i + 1);
		assert_int_equal(q.others[i].state, i == 0 ? QUEUE_RUNNING : QUEUE_WAITING);
		assert_string_equal(q.others[i].run_id, RUN_ID);
	}
	assert_string_equal(q.others[2].policy, "cancel-other");
	queue_unlock(&q);
	end_holder(pids[1]);
	end_holder(pids[0]);
	look(&q);
	assert_int_equal(q.count, 1);
	assert_int_equal(q.others[0].pid, pids[2]);
	queue_unlock(&q);
	end_holder(pids[2]);
	queue_close(&q);
}

static void
test_own(void **state)
{
	struct error err = ERROR_INIT;
	struct queue q;
	pid_t other;

	(void)state;
	queue_open(&q, &storage, "own");
	look(&q);
	assert_int_equal(queue_draw(&q, QUEUE_WAITING, RUN_ID, "skip", &err), 0);
	assert_int_equal(queue_sign(&q, QUEUE_RUNNING, OTHER_ID, &err), 0);
	assert_int_equal(queue_look(&q, &err), 0);
	assert_int_equal(q.count, 0); /* its own is none of the others */
	queue_unlock(&q);
	other = start_holder("own", QUEUE_WAITING, RUN_ID, "skip");
	look(&q);
	assert_int_equal(q.count, 1);
	assert_int_equal(q.others[0].number, 2);
	queue_unlock(&q);
	end_holder(other);
	queue_close(&q);
}

/* What a process left that is gone is nobody's, whatever it says. */
static void
test_stale(void **state)
{
	static const struct { const char *name, *text; } files[] = {
		{ "0000000000000000001", "running " RUN_ID " skip\n" },
		{ "0000000000000000007", "" },
		{ "9999999999999999999", "\xff\xff" },
		{ "0000000000000000009", "running" },
	};
	struct error err = ERROR_INIT;
	struct queue q;
	char *directory;

	(void)state;
	queue_open(&q, &storage, "stale");
	look(&q);
	for (size_t i = 0; i < COUNT(files); i++) {
		char *path = path_join(q.directory, files[i].name);

		record_put(path, files[i].text, strlen(files[i].text));
		free(path);
	}
	assert_int_equal(queue_look(&q, &err), 0);
	assert_int_equal(q.count, 0);
	assert_int_equal(queue_draw(&q, QUEUE_RUNNING, RUN_ID, "skip", &err), 0);
	assert_int_equal(q.number, 1);
	directory = memory_text(q.directory);
	queue_close(&q);
	assert_int_equal(access(directory, F_OK), -1); /* the last one has left */
	free(directory);
}

/* A file that a process holds, and behind whose name no ticket can come. */
static void
test_last_number(void **state)
{
	struct error err = ERROR_INIT;
	struct queue q;
	int ready[2];
	char byte, *path;
	pid_t pid;

	(void)state;
	queue_open(&q, &storage, "last number");
	look(&q);
	path = path_join(q.directory, "9999999999999999999");
	assert_int_equal(pipe(ready), 0);
	if ((pid = fork()) == 0) {
		int fd = file_open_plain(path, O_RDWR | O_CREAT, 0600);

		if (fd < 0 || lock_take(fd, LOCK_WHOLE) != 0 || write(ready[1], "x", 1) != 1)
			_exit(1);
		for (;;)
			pause();
	}
	close(ready[1]);
	assert_int_equal(read(ready[0], &byte, 1), 1);
	close(ready[0]);
	assert_int_equal(queue_look(&q, &err), 0);
	assert_int_equal(q.count, 1);
	assert_int_equal(queue_draw(&q, QUEUE_WAITING, RUN_ID, "skip", &err), -1);
	assert_int_equal(err.code, ERROR_SYSTEM);
	assert_non_null(strstr(err.message, "the last ticket that there can be"));
	end_holder(pid);
	assert_int_equal(queue_look(&q, &err), 0);
	assert_int_equal(queue_draw(&q, QUEUE_WAITING, RUN_ID, "skip", &err), 0);
	assert_int_equal(q.number, 1);
	queue_close(&q);
	free(path);
}

/* Who is not of the queue is left alone, and no reason to fail. */
static void
test_foreign(void **state)
{
	struct error err = ERROR_INIT;
	struct queue q;
	char *path;

	(void)state;
	queue_open(&q, &storage, "foreign");
	look(&q);
	path = path_join(q.directory, "note");
	record_put(path, "x", 1);
	assert_int_equal(queue_look(&q, &err), 0);
	assert_int_equal(q.count, 0);
	assert_int_equal(queue_draw(&q, QUEUE_RUNNING, RUN_ID, "skip", &err), 0);
	queue_close(&q);
	assert_int_equal(access(path, F_OK), 0);
	assert_int_equal(unlink(path), 0);
	free(path);
}

/* Runs without a ticket are seen by their locks and transcripts. */
static void
test_runs(void **state)
{
	static const char *const names[] = { "runs", "other", "\\u0072uns" };
	char id[3][ID_SIZE];
	struct error err = ERROR_INIT;
	struct queue q;
	pid_t pid;

	(void)state;
	for (int i = 0; i < 3; i++) {
		struct buffer line = BUFFER_INIT;
		char *members;

		id_new(id[i]);
		members = memory_format("\"run_id\":\"%s\",\"payload\":{\"name\":\"%s\"}", id[i], names[i]);
		record_line(&line, 1, members);
		record_put(storage_transcript(&storage, id[i]), line.data, line.len);
		buffer_free(&line);
		free(members);
	}
	pid = fork();
	if (pid == 0) {
		for (int i = 0; i < 3; i++)
			if (run_lock_make(storage_run_directory(&storage, id[i]), &err) < 0)
				_exit(1);
		kill(getpid(), SIGSTOP);
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &(int){ 0 }, WUNTRACED), pid);
	queue_open(&q, &storage, "runs");
	look(&q);
	assert_int_equal(queue_look_at_runs(&q, &err), 0);
	assert_int_equal(q.count, 2);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(q.others[i].number, 0);
		assert_int_equal(q.others[i].pid, pid);
	}
	queue_close(&q);
	end_holder(pid);
	look((queue_open(&q, &storage, "runs"), &q));
	assert_int_equal(queue_look_at_runs(&q, &err), 0);
	assert_int_equal(q.count, 0);
	queue_close(&q);
}

/* The last one to leave removes the directory, under everybody's feet: 4 processes that
 * come and go find each other all the same. */
static void
test_churn(void **state)
{
	enum { PROCESSES = 4, ROUNDS = 200 };
	char *busy = path_join(storage.root, "busy");
	pid_t pids[PROCESSES];

	(void)state;
	for (int p = 0; p < PROCESSES; p++) {
		pids[p] = fork();
		for (int i = 0; pids[p] == 0 && i < ROUNDS; i++) {
			struct error err;
			struct queue q;

			queue_open(&q, &storage, "churn");
			if (queue_lock(&q, &err) != 0 || queue_look(&q, &err) != 0)
				_exit(1);
			if (q.count == 0) {
				if (queue_draw(&q, QUEUE_RUNNING, RUN_ID, "skip", &err) != 0 || mkdir(busy, 0700) != 0)
					_exit(2);
				queue_unlock(&q);
				if (rmdir(busy) != 0)
					_exit(3);
			}
			queue_close(&q);
		}
		if (pids[p] == 0)
			_exit(0);
	}
	for (int p = 0; p < PROCESSES; p++) {
		int status;

		assert_int_equal(waitpid(pids[p], &status, 0), pids[p]);
		assert_int_equal(status, 0);
	}
	free(busy);
	assert_int_equal(access(record_path("storage/busy"), F_OK), -1);
}

static void
test_unable(void **state)
{
	struct error err = ERROR_INIT;
	struct storage other = { .root = (char *)(uintptr_t)record_path("file") };
	struct queue q;

	(void)state;
	record_put(other.root, "", 0);
	queue_open(&q, &other, "x");
	assert_int_equal(queue_lock(&q, &err), -1);
	assert_int_equal(err.code, ERROR_SYSTEM);
	assert_non_null(strstr(err.place, "/file/queues"));
	queue_close(&q);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_order), cmocka_unit_test(test_own), cmocka_unit_test(test_stale),
		cmocka_unit_test(test_last_number),
		cmocka_unit_test(test_foreign), cmocka_unit_test(test_runs),
		cmocka_unit_test(test_churn), cmocka_unit_test(test_unable),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
