/* Buffers, and the memory below them. */
#include "unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/error.h"
#include "base/memory.h"

/* A sanitizer would end the program itself where malloc() returns NULL. */
const char *__asan_default_options(void);
const char *
__asan_default_options(void)
{
	return "allocator_may_return_null=1";
}

static void
holds_any_bytes(void **state)
{
	struct buffer b = BUFFER_INIT;

	(void)state;
	assert_string_equal(buffer_string(&b), "");
	buffer_append(&b, "a\0b", 3);
	buffer_byte(&b, '\0');
	buffer_text(&b, "c");
	buffer_format(&b, "%d-%s", 42, "x");
	assert_int_equal(b.len, 9);
	assert_memory_equal(b.data, "a\0b\0c42-x", 10);
	buffer_free(&b);
	assert_null(b.data);
}

static void
append_of_nothing_makes_a_string(void **state)
{
	struct buffer b = BUFFER_INIT;

	(void)state;
	buffer_append(&b, NULL, 0);
	assert_non_null(b.data);
	assert_string_equal(b.data, "");
	buffer_free(&b);
}

static void
grows(void **state)
{
	struct buffer b = BUFFER_INIT;

	(void)state;
	for (int i = 0; i < 100000; i++) {
		buffer_byte(&b, (char)('a' + i % 26));
		assert_int_equal(b.data[b.len], '\0');
	}
	assert_int_equal(b.len, 100000);
	for (int i = 0; i < 100000; i++)
		assert_int_equal(b.data[i], 'a' + i % 26);
	buffer_free(&b);
}

static void
reserve_then_add(void **state)
{
	struct buffer b = BUFFER_INIT;

	(void)state;
	buffer_text(&b, "x");
	memset(buffer_reserve(&b, 200), 'y', 200);
	b.len += 200;
	assert_int_equal(strlen(buffer_string(&b)), 201);
	buffer_free(&b);
}

static void
drop_clear_take_equal(void **state)
{
	struct buffer b = BUFFER_INIT;
	char *taken;

	(void)state;
	buffer_drop(&b, 0);
	buffer_clear(&b);
	assert_true(buffer_equal(&b, ""));
	buffer_text(&b, "hello");
	buffer_drop(&b, 2);
	assert_string_equal(b.data, "llo");
	assert_true(buffer_equal(&b, "llo"));
	assert_false(buffer_equal(&b, "ll"));
	assert_false(buffer_equal(&b, "llx"));
	taken = buffer_take(&b);
	assert_string_equal(taken, "llo");
	assert_int_equal(b.len, 0);
	free(taken);
	taken = buffer_take(&b);
	assert_string_equal(taken, "");
	free(taken);
	buffer_text(&b, "again");
	buffer_clear(&b);
	assert_string_equal(b.data, "");
	buffer_free(&b);
}

static void
memory_copies(void **state)
{
	char *a = memory_text("text"), *b = memory_copy("a\0b", 3), *c = memory_copy(NULL, 0);
	char *d = memory_format("%s-%03d", "x", 7);
	int *zero = memory_zero(4, sizeof *zero), *grown;

	(void)state;
	assert_string_equal(a, "text");
	assert_memory_equal(b, "a\0b", 4);
	assert_string_equal(c, "");
	assert_string_equal(d, "x-007");
	assert_int_equal(zero[0] | zero[1] | zero[2] | zero[3], 0);
	zero[3] = 9;
	grown = memory_array(zero, 1000, sizeof *grown);
	assert_int_equal(grown[3], 9);
	free(a);
	free(b);
	free(c);
	free(d);
	free(grown);
	free(memory_alloc(0));
	free(memory_zero(0, 0));
}

static volatile size_t huge = SIZE_MAX / 4;

static void
ask_too_much(int how)
{
	struct buffer b = BUFFER_INIT;

	switch (how) {
	case 0:
		free(memory_alloc(huge));
		break;
	case 1:
		free(memory_zero(huge, 2));
		break;
	case 2:
		free(memory_grow(NULL, huge));
		break;
	case 3:
		free(memory_array(NULL, huge, 8));
		break;
	default:
		buffer_byte(&b, 'x');
		buffer_reserve(&b, huge * 2);
		buffer_free(&b);
	}
}

static void
no_memory_ends_the_program(void **state)
{
	(void)state;
	for (int how = 0; how < 5; how++) {
		char line[64] = "";
		int fds[2], status;
		pid_t pid;

		assert_int_equal(pipe(fds), 0);
		pid = fork();
		assert_true(pid >= 0);
		if (pid == 0) {
			fclose(stdout);
			dup2(fds[1], STDERR_FILENO);
			ask_too_much(how);
			_exit(0);
		}
		close(fds[1]);
		assert_int_equal(waitpid(pid, &status, 0), pid);
		assert_true(WIFEXITED(status));
		assert_int_equal(WEXITSTATUS(status), STATUS_SYSTEM);
		for (size_t got = 0; got < sizeof line - 1; got++)
			if (read(fds[0], line + got, 1) <= 0)
				break;
		close(fds[0]);
		assert_non_null(strstr(line, how < 3 ? "" : "awf: out of memory\n"));
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(holds_any_bytes),
		cmocka_unit_test(append_of_nothing_makes_a_string),
		cmocka_unit_test(grows),
		cmocka_unit_test(reserve_then_add),
		cmocka_unit_test(drop_clear_take_equal),
		cmocka_unit_test(memory_copies),
		cmocka_unit_test(no_memory_ends_the_program),
	};

	return cmocka_run_group_tests_name("base/buffer", tests, NULL, NULL);
}
