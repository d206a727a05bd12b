/* storage/mailbox: a word is either read or refused. */
#include "record.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "storage/mailbox.h"

#define STARTED "3c22f647-0a61-4000-b690-27a747707e37"

static struct storage storage;

static int
setup(void **state)
{
	struct error err;
	char *run;
	int failed = record_setup(state);

	storage = (struct storage){ .root = record_directory };
	run = storage_run_directory(&storage, RUN_ID);
	if (failed == 0)
		failed = directory_make(run, 0700, &err);
	free(run);
	return failed;
}

static int
check(void *context, char started[ID_SIZE], struct error *err)
{
	(void)context, (void)err;
	memcpy(started, STARTED, ID_SIZE);
	return 0;
}

static int
put(const char *run_id, const char *text, struct error *err)
{
	struct word w = { .id = STARTED, .call = (char *)(uintptr_t)"a:0:0", .by = (char *)(uintptr_t)"me",
		.at = (char *)(uintptr_t)"2026-11-30T15:31:32.037565Z", .text = (char *)(uintptr_t)text };

	return mailbox_put(&storage, run_id, &w, check, NULL, err);
}

static void
a_word_is_read_or_refused(void **state)
{
	struct error err = ERROR_INIT;
	struct mailbox m;
	struct word w;

	(void)state;
	mailbox_open(&m, &storage, RUN_ID, mailbox_end(&storage, RUN_ID));
	assert_int_equal(put(RUN_ID, "one", &err), 0);
	assert_int_equal(mailbox_close(&m, "a:0:0", STARTED, &err), 1);
	mailbox_take(&m, &w);
	assert_string_equal(w.text, "one");
	word_free(&w);
	assert_int_equal(mailbox_close(&m, "a:0:0", STARTED, &err), 0);
	assert_int_equal(put(RUN_ID, "two", &err), -1);
	assert_int_equal(err.code, ERROR_BLOCKED);
	mailbox_free(&m);
}

/* If it cannot be written that the call reads no more, it is said again. */
static void
what_is_not_written_is_not_closed(void **state)
{
	const char *closings = record_path("runs/" RUN_ID "/closed");
	struct rlimit limit, least;
	struct error err = ERROR_INIT;
	struct stat status;
	struct mailbox m;

	(void)state;
	mailbox_open(&m, &storage, RUN_ID, mailbox_end(&storage, RUN_ID));
	assert_int_equal(truncate(closings, 0), 0);
	signal(SIGXFSZ, SIG_IGN);
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &limit), 0);
	least = (struct rlimit){ 0, limit.rlim_max };
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &least), 0);
	assert_int_equal(mailbox_close(&m, "a:0:0", STARTED, &err), -1);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
	assert_int_equal(mailbox_close(&m, "a:0:0", STARTED, &err), 0);
	assert_int_equal(stat(closings, &status), 0);
	assert_true(status.st_size > 0);
	assert_int_equal(put(RUN_ID, "late", &err), -1);
	mailbox_free(&m);
}

static void
a_run_that_does_not_work_is_told(void **state)
{
	struct error err = ERROR_INIT;
	char *run = storage_run_directory(&storage, OTHER_ID);

	(void)state;
	assert_int_equal(put(OTHER_ID, "for later", &err), 0);
	assert_true(mailbox_end(&storage, OTHER_ID) > 0);
	assert_int_equal(access(run, F_OK), -1);
	free(run);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_word_is_read_or_refused),
		cmocka_unit_test(what_is_not_written_is_not_closed),
		cmocka_unit_test(a_run_that_does_not_work_is_told),
	};

	return cmocka_run_group_tests(tests, setup, record_teardown);
}
