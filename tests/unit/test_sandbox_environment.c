/* run/sandbox_environment: what a sandboxed program sees, and what it is told of the rest. */
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/list.h"
#include "io/file.h"
#include "storage/call_marks.h"
#include "workspace/sandbox_environment.h"

#define LIST(...) ((char *const *)(uintptr_t)(const char *const []){ __VA_ARGS__ NULL })

extern char **environ;

static char root[] = "/tmp/test_sandbox_environment-XXXXXX";
static const unsigned char key[MARKS_KEY_BYTES] = "key";

static char *
make_run(const char *name, char *const *environment, const char *outer)
{
	const struct start_spec spec = { .environment = environment, .outer = outer };
	struct error err = ERROR_INIT;
	char *run = path_join(root, name);

	assert_int_equal(mkdir(run, 0700), 0);
	assert_int_equal(marks_start(run, key, &spec, &err), 0);
	return run;
}

/* What is seen of the variables, and what is not, as names with spaces between. */
static void
sees(char *const *variables, const char *run, char *const *passed, const char *seen,
    const char *not_seen)
{
	struct buffer names = BUFFER_INIT;
	struct error err = ERROR_INIT;
	struct environment e;
	char **before = environ, **left = NULL;

	environ = (char **)(uintptr_t)variables;
	environment_begin(&e);
	environ = before;
	assert_int_equal(sandbox_environment_close(&e, run, passed, &left, &err), 0);
	for (size_t i = 0; i < e.count; i++)
		buffer_format(&names, "%s%.*s", i > 0 ? " " : "", (int)strcspn(e.list[i], "="), e.list[i]);
	assert_null(e.list[e.count]);
	assert_string_equal(buffer_string(&names), seen);
	buffer_free(&names);
	for (size_t i = 0; i < list_count(left); i++)
		buffer_format(&names, "%s%s", i > 0 ? " " : "", left[i]);
	assert_string_equal(buffer_string(&names), not_seen);
	buffer_free(&names);
	list_free(left);
	environment_free(&e);
}

static void
what_is_listed_is_seen_and_nothing_else(void **state)
{
	(void)state;
	sees(LIST("LANG=C", "LC_TIME=C", "LC_MYPW=x", "TZ=UTC", "CUDA_HOME=/c", "FOO=1", "MY_CREDS=x", "REDIS=x",
	    "lang=C", "LANGX=C", "PATH=/bin",), NULL, NULL, "LANG LC_TIME TZ CUDA_HOME PATH",
	    "LC_MYPW FOO MY_CREDS REDIS lang LANGX");
	sees(LIST("HTTPS_PROXY=http://p:80", "https_proxy=http://u:p@p:80", "GOPROXY=https://x@p",
	    "NVIDIA_API_KEY=x", "AWF_RUN_ID=x", "AWF_SERVE_TOKEN=x", "AWF_INPUT_k=v", "AWF_ANY=x",), NULL,
	    NULL, "HTTPS_PROXY AWF_RUN_ID AWF_INPUT_k",
	    "https_proxy GOPROXY NVIDIA_API_KEY AWF_SERVE_TOKEN AWF_ANY");
}

static void
what_is_passed_is_seen(void **state)
{
	(void)state;
	sees(LIST("MY_A=1", "MY_TOKEN=2", "YOUR_A=3", "B=4", "BC=5",), NULL, LIST("MY_*", "B", "NONE",),
	    "MY_A MY_TOKEN B", "YOUR_A BC");
}

static void
what_the_workflow_has_set_is_seen_but_for_secrets(void **state)
{
	char *run = make_run("set", LIST("MODE=a", "OLD=1", "KEPT=1",), NULL);

	(void)state;
	sees(LIST("MODE=b", "OLD=1", "NEW=2", "DB_PW=x", "URL=https://u:p@h", "STRIPE=sk_live_0123456789ab",
	    "AWF_MASK=x",), run, NULL, "MODE NEW", "OLD DB_PW URL STRIPE AWF_MASK");
	sees(LIST("NEW=2",), root, NULL, "", "NEW"); /* a run without a start */
	free(run);
}

static void
what_an_outer_workflow_has_set_is_set(void **state)
{
	char *outer = make_run("outer", LIST("MINE=1",), NULL);
	char *middle = make_run("middle", LIST("MINE=1", "SET=1",), outer);
	char *inner = make_run("inner", LIST("MINE=1", "SET=1", "TOO=1",), middle);

	(void)state;
	sees(LIST("MINE=1", "SET=1", "TOO=1",), outer, NULL, "SET TOO", "MINE");
	sees(LIST("MINE=1", "SET=1", "TOO=1",), middle, NULL, "SET TOO", "MINE");
	sees(LIST("MINE=1", "SET=1", "TOO=1",), inner, NULL, "SET TOO", "MINE");
	sees(LIST("MINE=2",), inner, NULL, "MINE", "");
	free(outer);
	free(middle);
	free(inner);
}

static void
what_AWF_has_set_for_the_program_is_seen(void **state)
{
	(void)state;
	sees(LIST("A_URL=1", "B_URL=2", "AWF_OWN_VARIABLES=A_URL ",), NULL, NULL, "A_URL",
	    "B_URL AWF_OWN_VARIABLES");
}

static void
a_damaged_start_is_an_error(void **state)
{
	char *run = make_run("damaged", LIST("A=1",), NULL), *path = path_join(run, START_FILE);
	struct error err = ERROR_INIT;
	struct environment e;

	(void)state;
	assert_int_equal(truncate(path, 9), 0);
	environment_begin(&e);
	environment_set(&e, "SOME_NAME", "1");
	assert_int_equal(sandbox_environment_close(&e, run, NULL, NULL, &err), -1);
	assert_string_equal(err.message, "is damaged");
	assert_null(environment_get(&e, "SOME_NAME"));
	environment_free(&e);
	free(path);
	free(run);
}

static void
hints(char *const *left, const char *errors, bool only_named, const char *expected)
{
	struct buffer out = BUFFER_INIT;
	bool tells = sandbox_environment_hint(left, NULL, errors, errors == NULL ? 0 : strlen(errors),
	    only_named, &out);

	assert_int_equal(tells, *expected != '\0');
	assert_string_equal(buffer_string(&out), expected);
	buffer_free(&out);
}

static void
a_hint_names_what_the_program_names(void **state)
{
	char *const *left = LIST("XDG_SEAT", "AB", "DB", "DB_URL", "FOO", "BAR",);

	(void)state;
	hints(left, "KeyError: 'DB_URL'", false,
	    "the sandbox left 1 variable out of its environment: DB_URL (--pass-env DB_URL passes it)");
	hints(left, "sh: FOO: unset, BAR", true,
	    "the sandbox left 2 variables out of its environment: FOO, BAR (--pass-env NAME passes one)");
	hints(left, "MY_DB FOOD BARE xAB", true, "");
	hints(left, NULL, true, "");
	hints(left, NULL, false, "the sandbox left 5 variables out of its environment: AB, DB, DB_URL and "
	    "others (--pass-env NAME passes one)");
	hints(LIST("XDG_SEAT", "AWF_OWN_VARIABLES",), "", false, "");
	hints(NULL, "DB", false, "");
}

static void
a_hint_is_told_once_in_a_run(void **state)
{
	char *run = make_run("once", LIST("FOO=1",), NULL);
	struct buffer out = BUFFER_INIT;
	struct environment e;
	char **before = environ;

	(void)state;
	environ = (char **)(uintptr_t)LIST("FOO=1", "SET=2",);
	environment_begin(&e);
	environ = before;
	assert_false(sandbox_environment_hint_of(&e, NULL, NULL, run, "x", 1, true, &out));
	assert_false(sandbox_environment_hint_of(&e, LIST("FOO",), NULL, run, "x", 1, false, &out));
	assert_true(sandbox_environment_hint_of(&e, NULL, NULL, run, "x", 1, false, &out));
	assert_string_equal(buffer_string(&out),
	    "the sandbox left 1 variable out of its environment: FOO (--pass-env FOO passes it)");
	assert_false(sandbox_environment_hint_of(&e, NULL, NULL, run, "x", 1, false, &out));
	assert_string_equal(environment_get(&e, "FOO"), "1");
	buffer_free(&out);
	environment_free(&e);
	free(run);
}

static int
begin(void **state)
{
	(void)state;
	return mkdtemp(root) == NULL;
}

static int
end(void **state)
{
	char command[PATH_MAX];

	(void)state;
	snprintf(command, sizeof command, "rm -r %s", root);
	return system(command) != 0;
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_listed_is_seen_and_nothing_else),
		cmocka_unit_test(what_is_passed_is_seen),
		cmocka_unit_test(what_the_workflow_has_set_is_seen_but_for_secrets),
		cmocka_unit_test(what_an_outer_workflow_has_set_is_set),
		cmocka_unit_test(what_AWF_has_set_for_the_program_is_seen),
		cmocka_unit_test(a_damaged_start_is_an_error),
		cmocka_unit_test(a_hint_names_what_the_program_names),
		cmocka_unit_test(a_hint_is_told_once_in_a_run),
	};

	return cmocka_run_group_tests(tests, begin, end);
}
