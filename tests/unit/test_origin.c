/* run/origin: to whom a run belongs that is recorded elsewhere, and how long it lives. */
#include "record.h"
#include "unit.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "base/clock.h"
#include "storage/origin.h"
#include "transcript/layout.h"

#define OWN "aaaaaaaa-0000-4000-8000-000000000001"

static struct storage storage;
static struct error err;

static int
fresh_storage(void **state)
{
	static int count;
	char name[32];

	(void)state;
	snprintf(name, sizeof name, "storage%d", count++);
	setenv("AWF_SYNC", "none", 1);
	return storage_prepare_at(&storage, record_path(name), &err);
}

static int
leave_storage(void **state)
{
	(void)state;
	storage_close(&storage);
	return 0;
}

/* The code of the failure; ERROR_NONE: it is had, and let go of. */
static enum error_code
claimed(const char *run_id, const char *name, enum origin_kind kind)
{
	struct origin o;

	err = (struct error)ERROR_INIT;
	if (origin_claim(&o, &storage, run_id, name, kind, 1000, &err) == 0)
		origin_close(&o);
	return err.code;
}

static void
put_transcript(const char *run_id, const char *text)
{
	char *path = storage_transcript(&storage, run_id);

	record_put(path, text, strlen(text));
	free(path);
}

static void
test_owners(void **state)
{
	char *name;

	(void)state;
	assert_int_equal(origin_check_own(&storage, RUN_ID, &err), 0);
	assert_int_equal(claimed(RUN_ID, "a", ORIGIN_LINES), ERROR_NONE);
	/* Nobody has sent a line yet: whoever does first has it. */
	assert_int_equal(claimed(RUN_ID, "b", ORIGIN_EVENTS), ERROR_NONE);
	put_transcript(RUN_ID, "");
	assert_int_equal(claimed(RUN_ID, "b \\ \"c\" é", ORIGIN_LINES), ERROR_NONE);
	put_transcript(RUN_ID, "{}\n");
	assert_int_equal(claimed(RUN_ID, "b \\ \"c\" é", ORIGIN_LINES), ERROR_NONE);
	assert_int_equal(claimed(RUN_ID, "a", ORIGIN_LINES), ERROR_BLOCKED);
	assert_non_null(strstr(err.message, "'b \\ \"c\" é'"));
	assert_int_equal(claimed(RUN_ID, "b \\ \"c\" é", ORIGIN_EVENTS), ERROR_BLOCKED);
	name = origin_name(&storage, RUN_ID);
	assert_string_equal(name, "b \\ \"c\" é");
	free(name);
	assert_int_equal(origin_check_own(&storage, RUN_ID, &err), -1);
	assert_int_equal(err.code, ERROR_USAGE);
	name = storage_transcript(&storage, RUN_ID);
	assert_int_equal(origin_check_own_at(name, RUN_ID, &err), -1);
	assert_int_equal(origin_check_own_at(name, OWN, &err), 0);
	free(name);
}

/* What is there of a run of this storage's own keeps it so, and leaves no file behind. */
static void
test_own(void **state)
{
	char *path = layout_origin(storage.root, OWN), *pruned = storage_pruned(&storage, OWN);
	char *directory = storage_run_directory(&storage, OWN);
	struct stat status;

	(void)state;
	put_transcript(OWN, "{}\n");
	assert_int_equal(claimed(OWN, "a", ORIGIN_LINES), ERROR_BLOCKED);
	assert_int_equal(lstat(path, &status), -1);
	put_transcript(OWN, ""); /* it has just begun */
	assert_int_equal(claimed(OWN, "a", ORIGIN_LINES), ERROR_BLOCKED);
	assert_int_equal(origin_check_own(&storage, OWN, &err), 0);

	/* Without a transcript, as awf-run --no-transcript has it. */
	assert_int_equal(mkdir(directory, 0700), 0);
	free(path);
	path = storage_transcript(&storage, OWN);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(claimed(OWN, "a", ORIGIN_LINES), ERROR_BLOCKED);
	assert_int_equal(rmdir(directory), 0);

	record_put(pruned, "", 0);
	assert_int_equal(claimed(OWN, "a", ORIGIN_LINES), ERROR_BLOCKED);
	assert_int_equal(unlink(pruned), 0);
	assert_int_equal(claimed(OWN, "a", ORIGIN_LINES), ERROR_NONE);
	free(directory);
	free(pruned);
	free(path);
}

static void
test_damaged(void **state)
{
	char *path = layout_origin(storage.root, RUN_ID), *name;

	(void)state;
	assert_int_equal(claimed(RUN_ID, "a", ORIGIN_LINES), ERROR_NONE);
	put_transcript(RUN_ID, "{}\n");
	record_put(path, "{\"origin\":\"a", 12);
	name = origin_name(&storage, RUN_ID);
	assert_string_equal(name, "unknown");
	free(name);
	assert_int_equal(origin_check_own(&storage, RUN_ID, &err), -1);
	free(path);
}

static void
test_names(void **state)
{
	char longest[ORIGIN_NAME_LIMIT + 2];

	(void)state;
	memset(longest, 'x', sizeof longest);
	longest[sizeof longest - 1] = '\0';
	assert_false(origin_name_valid(longest));
	longest[sizeof longest - 2] = '\0';
	assert_true(origin_name_valid(longest));
	assert_true(origin_name_valid("laptop é"));
	assert_false(origin_name_valid(""));
	assert_false(origin_name_valid("a\nb"));
	assert_false(origin_name_valid("\x80"));
}

static void
test_lease(void **state)
{
	struct origin o;

	(void)state;
	assert_int_equal(origin_claim(&o, &storage, RUN_ID, "a", ORIGIN_LINES, 1000, &err), 0);
	assert_int_equal(origin_lease(&o, clock_wall() + 60000000, &err), 0);
	assert_true(storage_run_alive(&storage, RUN_ID));
	assert_false(storage_run_owner(&storage, RUN_ID, NULL));
	assert_int_equal(origin_lease(&o, clock_wall(), &err), 0);
	assert_false(storage_run_alive(&storage, RUN_ID));
	origin_close(&o);
}

/* Who writes shares, who removes does not; what was removed is not written to. */
static void
test_locks(void **state)
{
	struct origin a, b;
	int fd;

	(void)state;
	assert_int_equal(origin_hold(&storage, RUN_ID, &fd), 0);
	assert_int_equal(fd, -1);
	assert_int_equal(origin_claim(&a, &storage, RUN_ID, "a", ORIGIN_LINES, 1000, &err), 0);
	assert_int_equal(origin_hold(&storage, RUN_ID, &fd), -1);
	origin_release(&a);
	assert_int_equal(origin_claim(&b, &storage, RUN_ID, "a", ORIGIN_LINES, 1000, &err), 0);
	origin_release(&b);
	assert_int_equal(origin_share(&a, &err), 1);
	assert_int_equal(origin_share(&b, &err), 1);
	origin_release(&a);
	assert_int_equal(origin_hold(&storage, RUN_ID, &fd), -1);
	origin_release(&b);
	assert_int_equal(origin_hold(&storage, RUN_ID, &fd), 0);
	assert_int_not_equal(fd, -1);
	assert_int_equal(unlink(a.path), 0);
	close(fd);
	assert_int_equal(origin_share(&a, &err), 0);
	origin_close(&a);
	origin_close(&b);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_owners, fresh_storage, leave_storage),
		cmocka_unit_test_setup_teardown(test_own, fresh_storage, leave_storage),
		cmocka_unit_test_setup_teardown(test_damaged, fresh_storage, leave_storage),
		cmocka_unit_test_setup_teardown(test_names, fresh_storage, leave_storage),
		cmocka_unit_test_setup_teardown(test_lease, fresh_storage, leave_storage),
		cmocka_unit_test_setup_teardown(test_locks, fresh_storage, leave_storage),
	};

	return cmocka_run_group_tests(tests, record_setup, record_teardown);
}
