#include "unit.h"

#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/id.h"

#define MANY 2000

static void
form_is_version_4(void **state)
{
	char id[ID_SIZE];

	(void)state;
	for (int i = 0; i < 1000; i++) {
		assert_ptr_equal(id_new(id), id);
		assert_true(id_valid(id, strlen(id)));
		assert_int_equal(id[14], '4');
		assert_non_null(strchr("89ab", id[19]));
	}
}

static void
validity(void **state)
{
	static const struct {
		const char *text;
		bool valid;
	} rows[] = {
		{"ea67234d-31b0-4ce0-84ff-06f46450a3e7", true},
		{"00000000-0000-0000-0000-000000000000", true},
		{"", false},
		{"EA67234D-31B0-4CE0-84FF-06F46450A3E7", false},
		{"ea67234d-31b0-4ce0-84ff-06f46450a3e", false},
		{"ea67234d-31b0-4ce0-84ff-06f46450a3e77", false},
		{"ea67234d31b0-4ce0-84ff-06f46450a3e7-", false},
		{"ea67234g-31b0-4ce0-84ff-06f46450a3e7", false},
		{"ea67234d/31b0-4ce0-84ff-06f46450a3e7", false},
		{"../../../../../../../../../../etc/pw", false},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++)
		if (id_valid(rows[i].text, strlen(rows[i].text)) != rows[i].valid)
			fail_msg("%s", rows[i].text);
}

static int
compare(const void *a, const void *b)
{
	return memcmp(a, b, ID_SIZE);
}

static void
write_ids(int fd, int count)
{
	char id[ID_SIZE];

	for (; count > 0; count--)
		if (write(fd, id_new(id), ID_SIZE) != ID_SIZE)
			_exit(1);
}

/* Parent and children start from the same pool, partly used. */
static void
forks_never_repeat(void **state)
{
	static char ids[3 * MANY][ID_SIZE];
	char first[ID_SIZE];
	size_t count = 0;
	int fds[2];

	(void)state;
	id_new(first);
	assert_int_equal(pipe(fds), 0);
	for (int child = 0; child < 2; child++) {
		pid_t pid = fork();

		assert_true(pid >= 0);
		if (pid == 0) {
			close(fds[0]);
			write_ids(fds[1], MANY);
			_exit(0);
		}
	}
	close(fds[1]);
	for (; count < MANY; count++)
		id_new(ids[count]);
	while (count < 3 * MANY && read(fds[0], ids[count], ID_SIZE) == ID_SIZE)
		count++;
	assert_int_equal(count, 3 * MANY);
	close(fds[0]);
	while (wait(NULL) > 0)
		continue;
	qsort(ids, count, ID_SIZE, compare);
	for (size_t i = 1; i < count; i++)
		assert_true(memcmp(ids[i - 1], ids[i], ID_SIZE) != 0);
}

static void
random_bytes_fill_everything(void **state)
{
	unsigned char bytes[1000], seen[1000] = {0};

	(void)state;
	for (int round = 0; round < 8; round++) {
		random_bytes(bytes, sizeof bytes);
		for (size_t i = 0; i < sizeof bytes; i++)
			seen[i] |= bytes[i];
	}
	for (size_t i = 0; i < sizeof seen; i++)
		assert_int_not_equal(seen[i], 0);
	random_bytes(bytes, 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(form_is_version_4),
		cmocka_unit_test(validity),
		cmocka_unit_test(forks_never_repeat),
		cmocka_unit_test(random_bytes_fill_everything),
	};

	return cmocka_run_group_tests_name("base/id", tests, NULL, NULL);
}
