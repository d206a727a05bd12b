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

#include "exec/workers.h"

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
		cmocka_unit_test(a_dead_worker_is_an_error),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
