/* cmd/step/producers: who made the items of a stream, and whether one of them died. */
#include "unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/memory.h"
#include "step/producers.h"

#define RUN "0a1b2c3d-0000-4000-8000-000000000000"

static char directory[] = "/tmp/awf-producers-XXXXXX";

/* As roster_begin() of a step that prints to nobody. */
static int
begin(struct roster *r, const char *run, const char *enclosing, const char *name,
    struct error *err)
{
	const struct roster_entry entry = { .enclosing = enclosing, .name = name, .out = -1 };

	return roster_begin(r, run, &entry, err);
}

static void
note(struct producers *p, const char *call, bool foreign)
{
	struct item item;

	memset(&item, 0, sizeof item);
	item.foreign = foreign;
	if (call != NULL)
		buffer_format(&item.metadata, "{\"call\":\"%s\"}", call);
	producers_note(p, &item);
	buffer_free(&item.metadata);
}

/* What is remembered of a call is the process in the enclosing one. */
static void
processes_of_the_enclosing_call_count(void **state)
{
	static const struct { const char *enclosing, *call; bool foreign; const char *noted; } rows[] = {
		{ "", "a:0:7", false, "a:0:0" },
		{ "", "a:12:7", false, "a:12:0" },
		{ "", "g:1:2/g:1:3/a:0:7", false, "g:1:0" },
		{ "g:0:1", "g:0:1/a:2:7", false, "g:0:1/a:2:0" },
		{ "g:0:1", "g:0:1/h:2:7/a:3:4", false, "g:0:1/h:2:0" },
		{ "g:0:1", "g:0:11/a:2:7", false, NULL },
		{ "g:0:1", "a:0:7", false, NULL },
		{ "g:0:1", "g:0:1", false, NULL },
		{ "", "a:0:7", true, NULL },
		{ "", NULL, false, NULL },
		{ "", "none", false, NULL },
		{ "", "", false, NULL },
	};

	(void)state;
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		struct producers p = { .enclosing = rows[i].enclosing };

		note(&p, rows[i].call, rows[i].foreign);
		note(&p, rows[i].call, rows[i].foreign);
		assert_int_equal(p.count, rows[i].noted != NULL);
		if (rows[i].noted != NULL)
			assert_string_equal(p.calls[0], rows[i].noted);
		producers_free(&p);
	}
}

static pid_t
begin_and_die(void)
{
	struct error err = ERROR_INIT;
	struct roster r;
	pid_t pid = fork();

	if (pid == 0)
		_exit(begin(&r, directory, "", "dead", &err) == 0 ? 0 : 1);
	return pid;
}

/* Thousands of processes that have ended take no room; one that died is not lost. */
static void
those_that_ended_are_forgotten(void **state)
{
	struct error err = ERROR_INIT, why = ERROR_INIT;
	struct roster own, r;
	struct producers p = { .roster = &own, .enclosing = "" };
	int status;

	(void)state;
	assert_int_equal(begin(&own, directory, "", "own", &err), 0);
	assert_true(waitpid(begin_and_die(), &status, 0) > 0 && status == 0);
	note(&p, "dead:0:4", false);
	for (int i = 0; i < 2000; i++) {
		char call[32];

		assert_int_equal(begin(&r, directory, "", "a", &err), 0);
		roster_end(&r);
		roster_close(&r);
		snprintf(call, sizeof call, "a:%d:0", i);
		note(&p, call, false);
	}
	assert_in_range(p.capacity, 1, 64);
	assert_true(producers_dead(&p, &why));
	assert_int_equal(why.code, ERROR_UPSTREAM_INCOMPLETE);
	assert_string_equal(why.message, "the step dead:0 died before its end of the input");
	roster_end(&own);
	roster_close(&own);
	producers_free(&p);
}

static int
make_directory(void **state)
{
	(void)state;
	return mkdtemp(directory) == NULL ? -1 : 0;
}

static int
remove_directory(void **state)
{
	char *command = memory_format("rm -rf %s", directory);
	int result = system(command);

	(void)state;
	free(command);
	return result;
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(processes_of_the_enclosing_call_count),
		cmocka_unit_test(those_that_ended_are_forgotten),
	};

	return cmocka_run_group_tests(tests, make_directory, remove_directory);
}
