#include "unit.h"

#include <stdlib.h>

#include "base/buffer.h"
#include "base/list.h"

/* Joined by '|'; NULL where there are none. */
static void
words(void **state)
{
	static const struct {
		const char *text, *words;
	} rows[] = {
		{ "ssh host", "ssh|host|" },
		{ "  srun   -n1 --mem=1G ", "srun|-n1|--mem=1G|" },
		{ "/usr/bin/env A=b user@host:%d,c+1/x.y", "/usr/bin/env|A=b|user@host:%d,c+1/x.y|" },
		{ "A=b ssh host", NULL },
		{ "=x", NULL },
		{ "", NULL },
		{ "  ", NULL },
		{ "ssh 'a host'", NULL },
		{ "ssh $HOST", NULL },
		{ "cd x && ssh host", NULL },
		{ "~/bin/launch", NULL },
		{ "launch *", NULL },
		{ "launch\thost", NULL },
		{ "launch\nhost", NULL },
		{ "launch <file", NULL },
		{ "launch #host", NULL },
		{ "launch {a,b}", NULL },
		{ "launch h\xc3\xb6st", NULL },
	};

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		char **list = list_words(rows[i].text);
		struct buffer out = BUFFER_INIT;

		if (rows[i].words == NULL) {
			assert_null(list);
			continue;
		}
		assert_non_null(list);
		for (char **word = list; *word != NULL; word++)
			buffer_format(&out, "%s|", *word);
		assert_string_equal(buffer_string(&out), rows[i].words);
		buffer_free(&out);
		list_free(list);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(words),
	};

	return cmocka_run_group_tests_name("base/list", tests, NULL, NULL);
}
