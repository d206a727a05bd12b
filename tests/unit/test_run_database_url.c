/* run/database_url: what tells a database from others. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "ingest/database_url.h"
#include "unit.h"

static const struct { const char *url, *identity; } cases[] = {
	{ "postgresql://db.example.org/awf", "postgresql://db.example.org/awf" },
	{ "postgresql://awf@db/awf", "postgresql://awf@db/awf" },
	{ "postgresql://awf:secret@db/awf", "postgresql://awf@db/awf" },
	{ "postgresql://awf:@db:5432/awf", "postgresql://awf@db:5432/awf" },
	{ "postgresql://db:5432/awf", "postgresql://db:5432/awf" },
	{ "postgresql:///awf", "postgresql:///awf" },
	{ "postgresql:///awf?host=/run/x@y:z", "postgresql:///awf?host=/run/x@y:z" },
	{ "postgresql://db/awf?password=secret&user=me", "postgresql://db/awf?&user=me" },
	{ "postgresql://db/awf?user=me&password=secret", "postgresql://db/awf?user=me&" },
	{ "mine:somewhere", "mine:somewhere" },
	{ "sqlite:/var/lib/runs.db", "sqlite:/var/lib/runs.db" },
	{ "sqlite:///var/lib//x/../runs.db", "sqlite:/var/lib/runs.db" },
};

static void
identities(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct buffer identity = BUFFER_INIT;
		struct error err = ERROR_INIT;

		assert_int_equal(database_identity(cases[i].url, &identity, &err), 0);
		assert_string_equal(buffer_string(&identity), cases[i].identity);
		buffer_free(&identity);
	}
}

static void
files_are_told_by_their_whole_path(void **state)
{
	struct buffer here = BUFFER_INIT, there = BUFFER_INIT;
	struct error err = ERROR_INIT;
	char *file;

	(void)state;
	assert_int_equal(chdir("/tmp"), 0);
	setenv("AWF_STORAGE", "/tmp/storage", 1);
	assert_int_equal(database_identity("sqlite:storage/runs.db", &here, &err), 0);
	assert_int_equal(database_identity("sqlite:", &there, &err), 0);
	assert_string_equal(buffer_string(&here), "sqlite:/tmp/storage/runs.db");
	assert_string_equal(buffer_string(&there), buffer_string(&here));
	buffer_free(&here);
	buffer_free(&there);
	file = database_file("sqlite:x.db", &err);
	assert_string_equal(file, "x.db");
	free(file);
	assert_null(database_file("postgresql:///x", &err));
	assert_int_equal(err.code, ERROR_USAGE);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(identities),
		cmocka_unit_test(files_are_told_by_their_whole_path),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
