/* lib/turn/result_cut: results that are too long for a model. */
#define _GNU_SOURCE
#include "unit.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "turn/result_cut.h"

static char directory[64];

/* Cuts a text of 4000 bytes; returns whether the whole is in the directory. */
static bool
cut_and_look(char letter)
{
	struct buffer text = BUFFER_INIT;
	const char *begin, *end;
	char *name, *path;
	bool kept;

	for (int i = 0; i < 4000; i++)
		buffer_byte(&text, letter);
	result_cut(&text, 10, "call", directory);
	assert_memory_equal(text.data + 10, "\n[These are the first 10 of 4000 bytes.", 39);
	begin = strstr(buffer_string(&text), "file_path \"");
	assert_non_null(begin);
	begin += strlen("file_path \"");
	end = strchr(begin, '"');
	assert_non_null(end);
	name = strndup(begin, (size_t)(end - begin));
	assert_true(asprintf(&path, "%s/%s", directory, name) > 0);
	kept = access(path, F_OK) == 0;
	free(path);
	free(name);
	buffer_free(&text);
	return kept;
}

static void
a_part_is_not_kept(void **state)
{
	struct rlimit limit, before;

	(void)state;
	assert_true(cut_and_look('a'));
	signal(SIGXFSZ, SIG_IGN);
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
	limit = before;
	limit.rlim_cur = 1000;
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
	assert_false(cut_and_look('b'));
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
	assert_true(cut_and_look('b'));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_part_is_not_kept),
	};

	if (unit_make_directory(directory, "result-cut") != 0)
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
