/* Workers: answers come in order, large ones whole, deaths are noticed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "step_call/workers.h"

/* A job is "DELAY_MS SIZE": answers SIZE bytes of the delay's last digit. */
static void
wait_and_answer(void *context, const struct buffer *job, struct buffer *answer)
{
	char *end;
	long delay = strtol(job->data, &end, 10), size = strtol(end, NULL, 10);
	struct timespec time = { 0, delay * 1000000 };

	(void)context;
	if (delay < 0)
		raise(SIGKILL);
	nanosleep(&time, NULL);
	memset(buffer_reserve(answer, (size_t)size + 1), '0' + (int)(delay % 10), (size_t)size);
	answer->len += (size_t)size;
}

static void
answers_come_in_the_order_of_jobs(void **state)
{
	static const char *const jobs[] = { "41 1", "2 300000", "13 5", "4 0", "25 9", "6 1000", "7 1",
		"8 1", "9 70000", "1 2" };
	const size_t count = sizeof jobs / sizeof *jobs;
	struct buffer job = BUFFER_INIT, answer = BUFFER_INIT;
	struct workers w;
	struct error err;
	size_t given = 0, taken = 0;
	long delay, size;
	char *end;

	(void)state;
	workers_open(&w, 3, wait_and_answer, NULL, NULL);
	while (taken < count) {
		while (given < count && workers_ready(&w)) {
			buffer_clear(&job);
			buffer_text(&job, jobs[given++]);
			assert_int_equal(workers_job(&w, &job, &err), 0);
		}
		while (workers_answer(&w, &answer) == 1) {
			delay = strtol(jobs[taken++], &end, 10);
			size = strtol(end, NULL, 10);
			assert_int_equal(answer.len, size);
			if (size > 0)
				assert_int_equal(answer.data[size - 1], '0' + delay % 10);
		}
		if (taken < count)
			assert_int_not_equal(workers_wait(&w, -1, &err), -1);
	}
	assert_int_equal(workers_pending(&w), 0);
	workers_close(&w);
	buffer_free(&job);
	buffer_free(&answer);
}

static void
a_slow_job_bounds_what_runs_ahead(void **state)
{
	struct buffer job = BUFFER_INIT, answer = BUFFER_INIT;
	struct workers w;
	struct error err;
	int given = 0;

	(void)state;
	workers_open(&w, 2, wait_and_answer, NULL, NULL);
	buffer_text(&job, "400 1");
	assert_int_equal(workers_job(&w, &job, &err), 0);
	buffer_clear(&job);
	buffer_text(&job, "0 1");
	for (given = 1; workers_pending(&w) < 2 * WORKERS_AHEAD; given++) {
		while (!workers_ready(&w))
			assert_int_not_equal(workers_wait(&w, -1, &err), -1);
		assert_int_equal(workers_job(&w, &job, &err), 0);
	}
	assert_int_equal(given, 2 * WORKERS_AHEAD);
	assert_false(workers_ready(&w));
	assert_int_equal(workers_answer(&w, &answer), 0);
	workers_close(&w);
	buffer_free(&job);
	buffer_free(&answer);
}

/* Whoever is first is noticed first, though its answer has its turn later. */
static void
any_answer_is_noticed(void **state)
{
	static const char *const jobs[] = { "400 1", "1 2", "200 3" };
	static const int64_t order[] = { 1, 2, 0 };
	struct buffer job = BUFFER_INIT, answer = BUFFER_INIT;
	const struct buffer *noticed;
	struct workers w;
	struct error err;
	int64_t number;

	(void)state;
	workers_open(&w, 3, wait_and_answer, NULL, NULL);
	assert_int_equal(workers_notice(&w, &noticed), -1);
	for (size_t i = 0; i < 3; i++) {
		buffer_clear(&job);
		buffer_text(&job, jobs[i]);
		assert_int_equal(workers_job(&w, &job, &err), 0);
	}
	for (size_t i = 0; i < 3; i++) {
		while ((number = workers_notice(&w, &noticed)) == -1)
			assert_int_not_equal(workers_wait(&w, -1, &err), -1);
		assert_int_equal(number, order[i]);
		assert_int_equal(noticed->len, order[i] + 1);
		assert_int_equal(workers_notice(&w, &noticed), -1);
	}
	for (size_t i = 0; i < 3; i++) {
		assert_int_equal(workers_answer(&w, &answer), 1);
		assert_int_equal(answer.len, i + 1);
	}
	workers_close(&w);
	buffer_free(&job);
	buffer_free(&answer);
}

/* With room for all, a slow one holds up nobody. */
static void
reserved_jobs_run_ahead(void **state)
{
	struct buffer job = BUFFER_INIT;
	const struct buffer *noticed;
	struct workers w;
	struct error err;
	int given = 0, seen = 0;

	(void)state;
	workers_open(&w, 2, wait_and_answer, NULL, NULL);
	workers_reserve(&w, 50);
	buffer_text(&job, "900 1");
	while (seen < 49) {
		while (given < 50 && workers_ready(&w)) {
			assert_int_equal(workers_job(&w, &job, &err), 0);
			buffer_clear(&job);
			buffer_text(&job, "0 1");
			given++;
		}
		while (workers_notice(&w, &noticed) > 0)
			seen++;
		assert_int_not_equal(workers_wait(&w, -1, &err), -1);
	}
	workers_close(&w);
	buffer_free(&job);
}

/* What a worker starts has the limits that there were. */
static void
tell_limit(void *context, const struct buffer *job, struct buffer *answer)
{
	struct rlimit limit;

	(void)context;
	(void)job;
	getrlimit(RLIMIT_NOFILE, &limit);
	buffer_format(answer, "%lld", (long long)limit.rlim_cur);
}

static void
more_workers_than_descriptors(void **state)
{
	struct buffer job = BUFFER_INIT, answer = BUFFER_INIT;
	struct rlimit before, few, after;
	struct workers w;
	struct error err;

	(void)state;
	getrlimit(RLIMIT_NOFILE, &before);
	few = (struct rlimit){ 40, before.rlim_max };
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
	workers_open(&w, 60, tell_limit, NULL, NULL);
	for (int i = 0; i < 60; i++)
		assert_int_equal(workers_job(&w, &job, &err), 0);
	while (workers_answer(&w, &answer) == 0)
		assert_int_not_equal(workers_wait(&w, -1, &err), -1);
	assert_string_equal(buffer_string(&answer), "40");
	workers_close(&w);
	getrlimit(RLIMIT_NOFILE, &after);
	assert_int_equal(after.rlim_cur, 40);
	setrlimit(RLIMIT_NOFILE, &before);
	buffer_free(&answer);
}

static void
a_dead_worker_is_an_error(void **state)
{
	struct buffer job = BUFFER_INIT;
	struct error err = ERROR_INIT;
	struct workers w;
	int woken;

	(void)state;
	workers_open(&w, 1, wait_and_answer, NULL, NULL);
	buffer_text(&job, "-1 0");
	assert_int_equal(workers_job(&w, &job, &err), 0);
	do
		woken = workers_wait(&w, -1, &err);
	while (woken == 0);
	assert_int_equal(woken, -1);
	assert_int_equal(err.code, ERROR_SYSTEM);
	workers_close(&w);
	buffer_free(&job);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(answers_come_in_the_order_of_jobs),
		cmocka_unit_test(a_slow_job_bounds_what_runs_ahead),
		cmocka_unit_test(any_answer_is_noticed),
		cmocka_unit_test(reserved_jobs_run_ahead),
		cmocka_unit_test(more_workers_than_descriptors),
		cmocka_unit_test(a_dead_worker_is_an_error),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
