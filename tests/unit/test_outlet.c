/* lib/view/outlet: what is written, what is kept, what is dropped. */
#include "unit.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "io/file.h"
#include "view/outlet.h"

#define PIPE_SIZE 65536

static int in, out;

static int
setup(void **state)
{
	int fds[2];

	(void)state;
	signal(SIGPIPE, SIG_IGN);
	if (pipe(fds) != 0)
		return -1;
	in = fds[1];
	out = fds[0];
	return fcntl(out, F_SETFL, O_NONBLOCK);
}

static int
teardown(void **state)
{
	(void)state;
	close(in);
	if (out >= 0)
		close(out);
	return 0;
}

/* What can be read now. */
static void
take(struct buffer *got)
{
	ssize_t n;

	while ((n = read(out, buffer_reserve(got, PIPE_SIZE), PIPE_SIZE)) > 0)
		got->len += (size_t)n;
}

static void
test_waits_without_a_limit(void **state)
{
	struct outlet o;
	struct buffer got = BUFFER_INIT;

	(void)state;
	outlet_begin(&o, in, 0);
	assert_int_equal(outlet_event(&o, "one\n", 4, NULL), 0);
	outlet_extra(&o, "extra", 5);
	assert_int_equal(outlet_event(&o, "two\n", 4, NULL), 0);
	take(&got);
	assert_int_equal(got.len, 0); /* still in the buffer */
	assert_false(outlet_empty(&o));
	assert_int_equal(outlet_flush(&o, NULL), 0);
	assert_true(outlet_empty(&o));
	take(&got);
	assert_memory_equal(got.data, "one\nextratwo\n", 13);
	assert_int_equal(o.dropped, 0);
	buffer_free(&got);
	outlet_free(&o);
}

/* Puts numbered events of 1000 bytes. */
static void
put_events(struct outlet *o, int first, int count)
{
	char event[1001];

	for (int i = first; i < first + count; i++) {
		snprintf(event, sizeof event, "%0999d\n", i);
		assert_int_equal(outlet_event(o, event, 1000, NULL), 0);
	}
}

/* Every event is whole, and the numbers are first, first + 1 … */
static void
check_events(const struct buffer *got, int first, int count)
{
	assert_int_equal(got->len, 1000 * count);
	for (int i = 0; i < count; i++)
		assert_int_equal(strtol(got->data + 1000 * (size_t)i, NULL, 10), first + i);
}

static void
test_drops_the_newest(void **state)
{
	struct outlet o;
	struct buffer got = BUFFER_INIT;
	int whole;

	(void)state;
	outlet_begin(&o, in, 10);
	put_events(&o, 0, 200);
	/* 10 are kept; the pipe took no more than it holds, and most of that. */
	assert_in_range(o.dropped, 200 - 10 - PIPE_SIZE / 1000 - 1, 200 - 10 - PIPE_SIZE / 1500);
	whole = 200 - (int)o.dropped;
	take(&got);
	put_events(&o, 1000, 3);
	assert_int_equal(outlet_drain(&o, NULL), 0);
	take(&got);
	assert_int_equal(got.len, 1000 * (whole + 3));
	got.len -= 3000;
	check_events(&got, 0, whole);
	buffer_free(&got);
	outlet_free(&o);
}

static void
test_flush_writes_what_fits(void **state)
{
	struct outlet o;
	struct buffer got = BUFFER_INIT;

	(void)state;
	outlet_begin(&o, in, 1000);
	put_events(&o, 0, 100);
	assert_int_equal(outlet_flush(&o, NULL), 0);
	assert_false(outlet_empty(&o));
	for (int i = 0; i < 10 && !outlet_empty(&o); i++) {
		take(&got);
		assert_int_equal(outlet_flush(&o, NULL), 0);
	}
	take(&got);
	assert_true(outlet_empty(&o));
	assert_int_equal(o.dropped, 0);
	check_events(&got, 0, 100);
	buffer_free(&got);
	outlet_free(&o);
}

static void
test_nobody_reads(void **state)
{
	struct outlet waits, drops;

	(void)state;
	close(out);
	out = -1;
	outlet_begin(&waits, in, 0);
	assert_int_equal(outlet_event(&waits, "x", 1, NULL), 0);
	assert_int_equal(outlet_flush(&waits, NULL), -1);
	outlet_begin(&drops, in, 1);
	assert_int_equal(outlet_event(&drops, "x", 1, NULL), 0);
	assert_int_equal(outlet_event(&drops, "x", 1, NULL), -1);
	assert_int_equal(outlet_flush(&drops, NULL), -1);
	outlet_free(&waits);
	outlet_free(&drops);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_waits_without_a_limit, setup, teardown),
		cmocka_unit_test_setup_teardown(test_drops_the_newest, setup, teardown),
		cmocka_unit_test_setup_teardown(test_flush_writes_what_fits, setup, teardown),
		cmocka_unit_test_setup_teardown(test_nobody_reads, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
