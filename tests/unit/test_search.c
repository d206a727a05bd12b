/* Looking for a text, whatever its case, and in a run within limits. */
#include "unit.h"

#include <locale.h>
#include <sys/stat.h>

#include "io/copytree.h"
#include "serve_runs/search.h"

#define RUN "aaaa0000-0000-4000-8000-000000000001"

static const struct {
	const char *sought, *in;
	int at, length;          /* -1: it is not there */
} cases[] = {
	{ "quick", "The Quick fox", 4, 5 },
	{ "QUICK F", "The quick fox", 4, 7 },
	{ "x", "The quick fox", 12, 1 },
	{ "fo x", "The quick fox", -1, 0 },
	{ "aab", "aaab", 1, 3 },
	{ "\xc3\x96konom", "der \xc3\xb6konom", 4, 7 },       /* Ökonom, ökonom */
	{ "\xd0\xb4\xd0\xb0", "\xd0\x94\xd0\x90!", 0, 4 },    /* да, ДА */
	{ "\xf0\x9f\x98\x80", "a \xf0\x9f\x98\x80", 2, 4 },
	{ "\xb6", "\xc3\xb6", -2, 0 },                        /* no UTF-8: no text to look for */
	{ "", "x", -2, 0 },
	{ "b", "a\xff" "b", 2, 1 },                           /* what is searched need not be */
};

static void
a_text_is_found_in_any_case(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		struct search_text text;
		size_t length = 0;
		const char *at = NULL;
		const bool made = search_text_make(&text, cases[i].sought);

		assert_int_equal(made, cases[i].at != -2);
		if (made)
			at = search_find(&text, cases[i].in, strlen(cases[i].in), &length);
		assert_int_equal(at != NULL, cases[i].at >= 0);
		if (at != NULL) {
			assert_int_equal(at - cases[i].in, cases[i].at);
			assert_int_equal(length, cases[i].length);
		}
		search_text_free(&text);
	}
}

static char root[64];
static const struct storage storage = { .root = root };

static int
make(void **state)
{
	char path[160];
	FILE *file;

	(void)state;
	if (unit_make_directory(root, "search") != 0)
		return -1;
	snprintf(path, sizeof path, "%s/transcripts", root);
	if (mkdir(path, 0700) != 0)
		return -1;
	snprintf(path, sizeof path, "%s/transcripts/" RUN ".jsonl", root);
	if ((file = fopen(path, "w")) == NULL)
		return -1;
	for (int i = 1; i <= 9; i++)
		fprintf(file, "{\"seq\":%d,\"timestamp\":\"2026-11-30T10:00:00.000000Z\",\"event_id\":"
		    "\"00000000-0000-4000-8000-%012d\",\"run_id\":\"" RUN "\",\"parent_event_id\":null,\"type\":\"note\","
		    "\"path\":\"\",\"iteration\":0,\"payload\":{\"needle\":[{\"text\":\"%s\"},%d]},\"prev\":\"%064d\"}\n",
		    i, i, i % 2 == 0 ? "a Needle" : "hay", 100 * i, 0);
	return fclose(file);
}

static int
clean(void **state)
{
	struct error err;

	(void)state;
	return copytree_remove(root, &err);
}

/* How a search of the run ends; hits: of these. */
static enum search_end
search(const char *sought, size_t most, int64_t until, size_t *hits)
{
	const struct search_limits limits = { .hits = most, .until = until };
	struct search_text text;
	struct buffer json = BUFFER_INIT;
	struct writer w;
	enum search_end end;

	assert_true(search_text_make(&text, sought));
	writer_begin(&w, &json);
	writer_array(&w);
	end = search_run(&text, &storage, RUN, &limits, &w, hits);
	writer_array_end(&w);
	buffer_free(&json);
	search_text_free(&text);
	return end;
}

static void
a_run_is_searched_within_limits(void **state)
{
	size_t hits;

	(void)state;
	/* In values, not in names of members. */
	assert_int_equal(search("needle", 9, INT64_MAX, &hits), SEARCH_WHOLE);
	assert_int_equal(hits, 4);
	assert_int_equal(search("700", 9, INT64_MAX, &hits), SEARCH_WHOLE);
	assert_int_equal(hits, 1);
	assert_int_equal(search("needle", 4, INT64_MAX, &hits), SEARCH_WHOLE);
	assert_int_equal(search("needle", 3, INT64_MAX, &hits), SEARCH_MORE);
	assert_int_equal(hits, 3);
	/* What takes too long is given up after a line. */
	assert_int_equal(search("hay", 9, 0, &hits), SEARCH_CUT);
	assert_int_equal(hits, 1);
	assert_int_equal(clean(NULL), 0);
	assert_int_equal(search("hay", 9, INT64_MAX, &hits), SEARCH_UNREADABLE);
	assert_int_equal(make(NULL), 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_text_is_found_in_any_case),
		cmocka_unit_test_setup_teardown(a_run_is_searched_within_limits, make, clean),
	};

	if (setlocale(LC_CTYPE, "C.UTF-8") == NULL)
		return 77;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
