/* run/output: who stops reading is noticed at once, whatever they read from. */
#include "unit.h"

#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "io/polling.h"
#include "start/output.h"

static int
make_socket(int ends[2])
{
	return socketpair(AF_UNIX, SOCK_STREAM, 0, ends);
}

static const struct {
	const char *name;
	int (*make)(int ends[2]);
} sinks[] = {
	{ "a pipe", pipe }, { "a socket", make_socket },
};

static void
test_reader_goes(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT(sinks); i++) {
		struct pollfd fds[OUTPUT_POLLS];
		int64_t deadline = clock_monotonic() + 1000;
		int ends[2];
		struct output o;
		nfds_t count;

		assert_int_equal(sinks[i].make(ends), 0);
		assert_int_equal(output_open(&o, ends[1], NULL), 0);
		count = output_poll(&o, fds, &deadline);
		assert_int_equal(poll_until(fds, count, clock_monotonic()), 0);
		close(ends[0]);
		assert_int_equal(poll_until(fds, count, deadline), 1);
		assert_int_equal(output_step(&o, fds, count, NULL), 0);
		if (!o.closed)
			print_error("%s\n", sinks[i].name);
		assert_true(o.closed);
		assert_int_equal(output_poll(&o, fds, &deadline), 0);
		output_close(&o);
		close(ends[1]);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_reader_goes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
