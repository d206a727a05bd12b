/* What several policies come to, and the words in front of a command line. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/list.h"
#include "isolate/sandbox.h"

#define NONE SANDBOX_NONE
#define WORKSPACE SANDBOX_WORKSPACE
#define READ_ONLY SANDBOX_READ_ONLY
#define YES SANDBOX_NETWORK_ALLOWED
#define NO SANDBOX_NETWORK_DENIED

static void
strictest_holds(void **state)
{
	static const struct {
		struct sandbox step, agent, tool;
		enum sandbox_mode mode;
		enum sandbox_network network;
	} cases[] = {
		{ { 0 }, { 0 }, { 0 }, NONE, YES },
		{ { .mode = WORKSPACE }, { 0 }, { 0 }, WORKSPACE, NO },
		{ { .mode = NONE }, { .mode = WORKSPACE }, { .mode = READ_ONLY }, READ_ONLY, NO },
		{ { .mode = READ_ONLY }, { .mode = NONE }, { .mode = WORKSPACE }, READ_ONLY, NO },
		{ { .mode = WORKSPACE, .network = YES }, { 0 }, { 0 }, WORKSPACE, YES },
		{ { .network = YES }, { .network = NO }, { .mode = WORKSPACE }, WORKSPACE, NO },
		{ { .network = YES }, { 0 }, { .mode = WORKSPACE, .network = NO }, WORKSPACE, NO },
		/* What is preset holds as far as nobody says anything. */
		{ { 0 }, { 0 }, { WORKSPACE, NO, true, 0, false, NULL, NULL, NULL, 0 }, WORKSPACE, NO },
		{ { .mode = NONE }, { 0 }, { WORKSPACE, NO, true, 0, false, NULL, NULL, NULL, 0 }, NONE, YES },
		{ { 0 }, { .mode = NONE }, { WORKSPACE, NO, true, 0, false, NULL, NULL, NULL, 0 }, NONE, YES },
		{ { .network = YES }, { 0 }, { WORKSPACE, NO, true, 0, false, NULL, NULL, NULL, 0 }, WORKSPACE, YES },
		{ { .mode = WORKSPACE }, { 0 }, { READ_ONLY, NO, true, 0, false, NULL, NULL, NULL, 0 }, WORKSPACE, NO },
	};

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		const struct sandbox *said[] = { &cases[i].step, &cases[i].agent, &cases[i].tool, NULL };
		struct sandbox decided;

		assert_int_equal(sandbox_decide(&decided, said, NULL), 0);
		if (decided.mode != cases[i].mode || decided.network != cases[i].network)
			fail_msg("case %zu: mode %d, network %d", i, (int)decided.mode, (int)decided.network);
		assert_int_equal(sandbox_holds(&decided), cases[i].mode != NONE);
	}
}

static void
no_network_takes_a_sandbox(void **state)
{
	static const struct sandbox offline = { .network = NO }, none = { .mode = NONE };
	const struct sandbox *said[] = { &offline, &none, NULL };
	struct sandbox decided;
	struct error err = ERROR_INIT;

	(void)state;
	assert_int_equal(sandbox_decide(&decided, said, &err), -1);
	assert_int_equal(err.code, ERROR_DEFINITION);
	assert_string_equal(err.message,
	    "to be without network takes a sandbox: workspace or read-only");
}

static void
words_go_in_front(void **state)
{
	char mine[] = "MY_TOKEN", its[] = "ITS_TOKEN", *kept[] = { mine, NULL }, *more[] = { its, NULL };
	const struct sandbox s = { READ_ONLY, YES, false, SANDBOX_PREFERS, true, NULL, kept, NULL, 0 };
	char cat[] = "cat", file[] = "a b", beside[] = "/tools";
	char *argv[] = { cat, file, NULL }, *readable[] = { beside, NULL }, pid[32], **words;
	const char *wanted[] = { "--parent", pid, "--workspace", "/w", "--read-only", "--network",
		"--prefer", "--quiet", "--readable", "/tools", "--pass-env", "MY_TOKEN",
		"--pass-env", "ITS_TOKEN", "--", "cat", "a b" };

	(void)state;
	snprintf(pid, sizeof pid, "%ld", (long)getpid());
	words = sandbox_argv(&s, "/w", readable, more, argv);
	assert_int_equal(list_count(words), 1 + sizeof wanted / sizeof *wanted);
	assert_string_equal(strrchr(words[0], '/'), "/awf-sandbox");
	for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++)
		assert_string_equal(words[i + 1], wanted[i]);
	list_free(words);
}

/* No argument has the value: other processes see those. */
static void
variables_are_handed_over_beside_the_words(void **state)
{
	struct environment e = { NULL, 0, 0 }, variables = { NULL, 0, 0 };
	const struct sandbox s = { .mode = READ_ONLY, .directory = "sub" };
	char cat[] = "cat", *argv[] = { cat, NULL }, **words;

	(void)state;
	environment_set(&e, "PATH", "/bin");
	sandbox_set_variable(&e, "PATH", "/elsewhere");
	sandbox_set_variable(&e, "LD_PRELOAD", "./x.so");
	assert_string_equal(environment_get(&e, "PATH"), "/bin");
	assert_null(environment_get(&e, "LD_PRELOAD"));
	sandbox_take_variables(&e, &variables);
	assert_int_equal(e.count, 1);
	assert_null(e.list[1]);
	assert_int_equal(variables.count, 2);
	assert_string_equal(environment_get(&variables, "PATH"), "/elsewhere");
	assert_string_equal(environment_get(&variables, "LD_PRELOAD"), "./x.so");
	environment_free(&e);
	environment_free(&variables);

	words = sandbox_words(&s, NULL, NULL, NULL);
	assert_string_equal(words[0], "--directory");
	assert_string_equal(words[1], "sub");
	list_free(words);
	list_free(sandbox_argv(&s, NULL, NULL, NULL, argv));
}

static void
refusal_is_blocked(void **state)
{
	static const struct {
		int exit_code;
		enum error_code before, after;
		const char *errors, *message;
	} cases[] = {
		{ 77, ERROR_EXIT_STATUS, ERROR_BLOCKED, "not this\n", "not this" },
		{ 77, ERROR_EXIT_STATUS, ERROR_BLOCKED, "", "refused by the sandbox" },
		{ 76, ERROR_EXIT_STATUS, ERROR_EXIT_STATUS, "not this\n", "as it was" },
		{ 77, ERROR_TIMEOUT, ERROR_TIMEOUT, "not this\n", "as it was" },
	};
	char many[5000];
	struct error err;

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		error_set(&err, cases[i].before, NULL, "as it was");
		sandbox_blocked(cases[i].exit_code, cases[i].errors, strlen(cases[i].errors), &err);
		assert_int_equal(err.code, cases[i].after);
		assert_string_equal(err.message, cases[i].message);
	}
	/* Of much, the end. */
	memset(many, 'x', sizeof many);
	memcpy(many + sizeof many - 4, "end", 3);
	many[sizeof many - 1] = '\n';
	error_set(&err, ERROR_EXIT_STATUS, NULL, "as it was");
	sandbox_blocked(77, many, sizeof many, &err);
	assert_int_equal(strlen(err.message), sizeof err.message - 1);
	assert_string_equal(strstr(err.message, "end"), "end");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(strictest_holds),
		cmocka_unit_test(no_network_takes_a_sandbox),
		cmocka_unit_test(words_go_in_front),
		cmocka_unit_test(variables_are_handed_over_beside_the_words),
		cmocka_unit_test(refusal_is_blocked),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
