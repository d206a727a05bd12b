/* lib/api/key_command: what commands print, how long it is good, and how they fail. */
#include "unit.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "api/key_command.h"
#include "base/clock.h"
#include "io/polling.h"
#include "json/writer.h"

static char directory[64];

static struct key_command *
open_object(const char *json, struct error *err)
{
	struct span object = span_of(json, strlen(json));

	return key_command_open(span_member(object, "command"), object, err);
}

/* One that runs a text by sh; more: further members of the object, which begin with a comma. */
static struct key_command *
opened(const char *text, const char *more)
{
	struct buffer json = BUFFER_INIT;
	struct error err = ERROR_INIT;
	struct key_command *k;
	struct writer w;

	writer_begin(&w, &json);
	writer_object(&w);
	writer_member_array(&w, "command");
	writer_string(&w, "sh");
	writer_string(&w, "-c");
	writer_string(&w, text);
	writer_array_end(&w);
	buffer_text(&json, more);
	writer_object_end(&w);
	k = open_object(buffer_string(&json), &err);
	if (k == NULL)
		fail_msg("%s: %s", err.place, err.message);
	buffer_free(&json);
	return k;
}

static void
expect_key(const char *text, const char *key)
{
	struct key_command *k = opened(text, "");
	struct error err = ERROR_INIT;
	const char *found = key_command_key(k, &err);

	if (found == NULL)
		fail_msg("%s: %s", text, err.message);
	assert_string_equal(found, key);
	key_command_close(k);
}

static void
expect_failure(const char *text, const char *more, const char *message)
{
	struct key_command *k = opened(text, more);
	struct error err = ERROR_INIT;

	assert_null(key_command_key(k, &err));
	assert_int_equal(err.code, ERROR_AUTH);
	if (strstr(err.message, message) == NULL)
		fail_msg("%s: %s", text, err.message);
	key_command_close(k);
}

static void
what_is_printed(void **state)
{
	(void)state;
	expect_key("echo tok", "tok");
	expect_key("printf '\\n  tok \\r\\n\\n'", "tok");
	expect_key("echo 'tok two'", "tok two");
	expect_key("echo noise >&2; echo tok", "tok");
	expect_key("printf %s '{\"token\":\"t\\u0041\"}'", "tA");
	/* az account get-access-token -o json; databricks auth token */
	expect_key("printf '{\\n \"accessToken\": \"az\",\\n \"expires_on\": 99,\\n \"tenant\": \"x\"}\\n'", "az");
	expect_key("echo '{\"access_token\":\"db\",\"expiry\":\"2099-01-01T00:00:00.5Z\"}'", "db");
	expect_key("cat; pwd", getenv("HOME"));
	/* Of the environment it has what awf-endpoint(5) lists. */
	setenv("OTHER_KEY", "secret", 1);
	setenv("AWS_PROFILE", "mine", 1);
	setenv("LC_ALL", "C", 1);
	expect_key("echo \"${OTHER_KEY-none} $AWS_PROFILE $LC_ALL $HOME\" | sed \"s|$HOME|home|\"", "none mine C home");
}

static void
what_is_no_key(void **state)
{
	(void)state;
	expect_failure("printf 'a\\nb\\n'", "", "sh, printed more than one line");
	expect_failure("true", "", "sh, printed nothing");
	expect_failure("echo '{\"token\":'", "", "is no JSON");
	expect_failure("echo '{}'", "", "without a token");
	expect_failure("printf %s '{\"token\":\"a\\nb\"}'", "", "control character");
	expect_failure("printf 'a\\033b'", "", "control character");
	expect_failure("head -c 16385 /dev/zero | tr '\\0' x", "", "sh");
}

static void
commands_that_fail(void **state)
{
	int64_t begun = clock_monotonic();

	(void)state;
	expect_failure("echo first >&2; echo 'not logged in' >&2; echo tok; exit 3", "", "not logged in");
	expect_failure("kill -9 $$", "", "sh");
	expect_failure("sleep 600 & sleep 600", ",\"timeout\":1", "sh");
	assert_in_range(clock_monotonic() - begun, 1000, 20000);
	{
		static const char missing[] = "{\"command\":[\"awf-no-such-program\"]}";
		struct error err = ERROR_INIT;
		struct key_command *k = open_object(missing, &err);

		assert_non_null(k);
		assert_null(key_command_key(k, &err));
		assert_int_equal(err.code, ERROR_AUTH);
		assert_non_null(strstr(err.message, "awf-no-such-program"));
		assert_non_null(strstr(err.message, "not found"));
		key_command_close(k);
	}
}

/* How often the command has run by now, which counts that in a file. */
static void
expect_keys(const char *prints, const char *more, bool refused, const char *first,
    const char *second)
{
	struct error err = ERROR_INIT;
	char text[512];
	struct key_command *k;

	snprintf(text, sizeof text, "cd %s || exit; echo x >>n; n=$(wc -l <n); %s", directory, prints);
	k = opened(text, more);
	assert_string_equal(key_command_key(k, &err), first);
	/* That of an earlier run is not the one that there is. */
	key_command_refused(k, key_command_runs(k) - 1);
	if (refused)
		key_command_refused(k, key_command_runs(k));
	assert_string_equal(key_command_key(k, &err), second);
	key_command_close(k);
	snprintf(text, sizeof text, "%s/n", directory);
	unlink(text);
}

static void
how_long_it_is_good(void **state)
{
	(void)state;
	expect_keys("echo tok$n", "", false, "tok1", "tok1");
	expect_keys("echo tok$n", "", true, "tok1", "tok2");
	expect_keys("echo tok$n", ",\"refresh\":0", false, "tok1", "tok1");
	expect_keys("echo \"{\\\"token\\\":\\\"tok$n\\\",\\\"expires_in\\\":3600}\"", "", false, "tok1", "tok1");
	/* Its own expiry, less a minute, counts before refresh. */
	expect_keys("echo \"{\\\"token\\\":\\\"tok$n\\\",\\\"expires_in\\\":59}\"", "", false, "tok1", "tok2");
	expect_keys("echo \"{\\\"token\\\":\\\"tok$n\\\",\\\"expires_in\\\":\\\"59\\\"}\"", ",\"refresh\":0", false,
	    "tok1", "tok2");
	expect_keys("echo \"{\\\"token\\\":\\\"tok$n\\\",\\\"expires_on\\\":1700000000}\"", "", false, "tok1", "tok2");
	expect_keys("echo \"{\\\"token\\\":\\\"tok$n\\\",\\\"expires_on\\\":\\\"4000000000\\\"}\"", "", false, "tok1",
	    "tok1");
	expect_keys("echo \"{\\\"token\\\":\\\"tok$n\\\",\\\"Expiration\\\":\\\"2015-08-30T12:36:00Z\\\"}\"", "", false,
	    "tok1", "tok2");
}

/* Serves one until it has ended. */
static void
serve(struct key_command *k)
{
	struct pollfd fds[KEY_COMMAND_FDS];
	int64_t deadline;

	do {
		assert_true(key_command_poll(k, fds, &deadline));
		poll_until(fds, KEY_COMMAND_FDS, deadline);
	} while (!key_command_serve(k, fds));
	assert_false(key_command_poll(k, fds, &deadline));
}

static void
beside_other_work(void **state)
{
	struct error err = ERROR_INIT;
	struct key_command *k = opened("echo '{\"token\":\"tok\",\"expires_in\":1}'", "");
	int64_t begun;

	(void)state;
	assert_false(key_command_ready(k));
	assert_false(key_command_ready(k));
	serve(k);
	/* All who have waited have it, though it has expired. */
	assert_string_equal(key_command_key(k, &err), "tok");
	assert_true(key_command_ready(k));
	assert_string_equal(key_command_key(k, &err), "tok");
	assert_int_equal(key_command_runs(k), 1);
	key_command_settle(k);
	assert_false(key_command_ready(k));
	key_command_close(k);

	/* All fail with it, and those who come just after. */
	k = opened("echo no >&2; exit 1", "");
	assert_false(key_command_ready(k));
	serve(k);
	assert_null(key_command_key(k, &err));
	assert_non_null(strstr(err.message, "no"));
	key_command_settle(k);
	assert_true(key_command_ready(k));
	assert_null(key_command_key(k, &err));
	key_command_close(k);

	k = opened("echo '{}'", "");
	assert_false(key_command_ready(k));
	serve(k);
	assert_null(key_command_key(k, &err));
	assert_true(key_command_ready(k));
	key_command_close(k);

	/* Whoever does not serve it waits for it; one that is not needed any more is ended. */
	k = opened("sleep 0.1; echo tok", "");
	assert_false(key_command_ready(k));
	assert_string_equal(key_command_key(k, &err), "tok");
	key_command_close(k);
	begun = clock_monotonic();
	k = opened("sleep 600", "");
	assert_false(key_command_ready(k));
	key_command_close(k);
	assert_in_range(clock_monotonic() - begun, 0, 5000);
}

static void
definitions_that_are_wrong(void **state)
{
	static const char *const wrong[] = {
		"{}", "{\"command\":\"echo tok\"}", "{\"command\":[]}", "{\"command\":[1]}",
		"{\"command\":[\"\"]}", "{\"command\":[\"./token\"]}", "{\"command\":[\"tools/token\"]}",
		"{\"command\":[\"a\"],\"timeout\":-1}", "{\"command\":[\"a\"],\"refresh\":\"5m\"}",
		"{\"command\":[\"a\"],\"refresh\":86401}",
	};

	(void)state;
	for (size_t i = 0; i < COUNT(wrong); i++) {
		struct error err = ERROR_INIT;

		assert_null(open_object(wrong[i], &err));
		assert_int_equal(err.code, ERROR_DEFINITION);
	}
	key_command_close(NULL);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_printed),
		cmocka_unit_test(what_is_no_key),
		cmocka_unit_test(commands_that_fail),
		cmocka_unit_test(how_long_it_is_good),
		cmocka_unit_test(beside_other_work),
		cmocka_unit_test(definitions_that_are_wrong),
	};
	int failed;

	signal(SIGPIPE, SIG_IGN);
	if (unit_make_directory(directory, "key-command") != 0 || setenv("HOME", directory, 1) != 0)
		return 1;
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	rmdir(directory);
	return failed;
}
