/* What a call depends on besides its input and definition, and what must not matter. */
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/memory.h"
#include "io/file.h"
#include "json/writer.h"
#include "storage/call_marks.h"
#include "unit.h"

static char root[] = "/tmp/test_call_marks-XXXXXX";
static char *run, *workspace;
static unsigned char key[MARKS_KEY_BYTES] = "a key of this test";
extern char **environ;
static char **own_environment;

/* An environment. */
#define WITH(...) ((char **)(uintptr_t)(const char *[]){ __VA_ARGS__, NULL })

static char *
in_root(const char *name)
{
	return path_join(root, name);
}

static int
setup(void **state)
{
	(void)state;
	assert_non_null(mkdtemp(root));
	workspace = in_root("work");
	run = in_root("run");
	assert_int_equal(mkdir(run, 0700), 0);
	assert_int_equal(mkdir(workspace, 0700), 0);
	assert_int_equal(chdir(workspace), 0);
	return 0;
}

static int
begin(void **state)
{
	(void)state;
	own_environment = environ;
	return 0;
}

static int
end(void **state)
{
	(void)state;
	environ = own_environment;
	return 0;
}

static int
teardown(void **state)
{
	char command[PATH_MAX];

	(void)state;
	free(run);
	free(workspace);
	snprintf(command, sizeof command, "rm -r %s", root);
	return chdir("/") != 0 || system(command) != 0;
}

/* An attempt is started with these variables. */
static void
start(char *const *variables, char *const *ignored)
{
	struct error err = ERROR_INIT;

	environ = (char **)(uintptr_t)variables;
	assert_int_equal(marks_start(run, key,
	    &(struct start_spec){ .environment = environ, .ignored = ignored }, &err), 0);
}

/* The marks of a call, as the record has them; they are to be compared with those of another. */
static void
record(struct recorded_marks *r, struct buffer *texts, char *const *variables)
{
	struct error err = ERROR_INIT;
	struct buffer payload = BUFFER_INIT, started = BUFFER_INIT;
	struct call_marks m;
	struct writer w;
	struct span member;

	writer_begin(&w, &started);
	writer_object(&w);
	marks_write_start(key, NULL, &w);
	writer_object_end(&w);
	environ = (char **)(uintptr_t)variables;
	assert_int_equal(marks_find(&m, run, workspace, NULL, &err), 1);
	writer_begin(&w, &payload);
	writer_object(&w);
	marks_write(&m, &w);
	writer_object_end(&w);
	marks_read_start(span_of(started.data, started.len), &texts[0]);
	member = span_member(span_of(payload.data, payload.len), "directory");
	if (member.at != NULL)
		span_decode(member, &texts[1]);
	member = span_member(span_of(payload.data, payload.len), "variables");
	if (member.at != NULL)
		buffer_append(&texts[2], member.at, member.len);
	*r = (struct recorded_marks){ buffer_string(&texts[0]), buffer_string(&texts[1]),
		buffer_string(&texts[2]) };
	buffer_free(&payload);
	buffer_free(&started);
	marks_free(&m);
}

/* In what a call with the variables `now`, of an attempt started with `later`, differs from one with
 * `then`, of an attempt started with `earlier`: names with spaces behind. */
static void
differs(char *const *earlier, char *const *then, char *const *later, char *const *now,
    const char *expected)
{
	struct error err = ERROR_INIT;
	struct buffer texts[3] = { BUFFER_INIT, BUFFER_INIT, BUFFER_INIT }, names = BUFFER_INIT;
	struct recorded_marks recorded;
	struct call_marks m;
	uint64_t exact[2], identity[2];

	start(earlier, NULL);
	record(&recorded, texts, then);
	start(later, NULL);
	environ = (char **)(uintptr_t)now;
	assert_int_equal(marks_find(&m, run, workspace, NULL, &err), 1);
	identity[0] = marks_identity(&m, &exact[0]);
	identity[1] = marks_recorded_identity(&recorded, &exact[1]);
	marks_difference(&m, &recorded, &names);
	for (size_t i = 0; i < names.len; i++)
		names.data[i] = names.data[i] == '\n' ? ' ' : names.data[i];
	assert_string_equal(buffer_string(&names), expected);
	/* Those that agree by what is sorted by agree indeed. */
	if (identity[0] == identity[1])
		assert_string_equal(buffer_string(&names), "");
	marks_free(&m);
	for (int i = 0; i < 3; i++)
		buffer_free(&texts[i]);
	buffer_free(&names);
}



static void
test_variables(void **state)
{
	(void)state;
	differs(WITH("A=1"), WITH("A=1"), WITH("A=2"), WITH("A=2"), "");
	differs(WITH("A=1"), WITH("A=1", "STAGE=a"), WITH("A=1"), WITH("A=1", "STAGE=b"), "STAGE ");
	differs(WITH("A=1"), WITH("A=1", "STAGE=a"), WITH("A=1"), WITH("A=1", "STAGE=a"), "");
	/* Set in one of them alone. */
	differs(WITH("A=1"), WITH("A=1", "STAGE=a"), WITH("A=1"), WITH("A=1"), "STAGE ");
	differs(WITH("A=1"), WITH("A=1"), WITH("A=1"), WITH("A=1", "STAGE=a"), "STAGE ");
	/* What one has set, the other was started with. */
	differs(WITH("A=1"), WITH("A=1", "STAGE=a"), WITH("A=1", "STAGE=a"), WITH("A=1", "STAGE=a"), "");
	differs(WITH("A=1", "STAGE=a"), WITH("A=1", "STAGE=a"), WITH("A=1"), WITH("A=1", "STAGE=a"), "");
	/* Unset is a value, and an empty text another. */
	differs(WITH("A=1"), WITH("B="), WITH("A=1"), WITH("B="), "");
	differs(WITH("A=1"), WITH("X=1"), WITH("A=1"), WITH("A=1", "X=1"), "A ");
	differs(WITH("A=1"), WITH("A="), WITH("A=1"), WITH("X=1"), "A X ");
}

static void
test_what_must_not_matter(void **state)
{
	char made[PATH_MAX], later[PATH_MAX], value[PATH_MAX + 16], other[PATH_MAX + 16];
	struct error err = ERROR_INIT;
	struct buffer texts[3] = { BUFFER_INIT, BUFFER_INIT, BUFFER_INIT }, name = BUFFER_INIT;
	struct recorded_marks recorded;
	struct call_marks m;

	(void)state;
	differs(WITH("PATH=/bin"), WITH("PATH=x:/bin"), WITH("PATH=/usr/bin:/sbin"),
	    WITH("PATH=x:/usr/bin:/sbin"), "");
	differs(WITH("PATH=/bin"), WITH("PATH=x:/bin"), WITH("PATH=/usr/bin"), WITH("PATH=y:/usr/bin"),
	    "PATH ");
	/* Another home, search path, place of new files, in whatever value. */
	differs(WITH("PATH=/bin", "HOME=/home/ann"), WITH("PATH=/bin", "HOME=/home/ann", "Y=/z:/bin:/home/ann/x"),
	    WITH("PATH=/usr/bin", "HOME=/root"), WITH("PATH=/usr/bin", "HOME=/root", "Y=/z:/usr/bin:/root/x"), "");
	differs(WITH("PATH=/bin", "HOME=/home/ann"), WITH("PATH=/bin", "HOME=/home/ann", "Y=/home/ann/x"),
	    WITH("PATH=/bin", "HOME=/root"), WITH("PATH=/bin", "HOME=/root", "Y=/root/y"), "Y ");
	differs(WITH("A=1"), WITH("A=1", "SHLVL=2", "MAKEFLAGS=w", "PWD=/a"), WITH("A=1"), WITH("A=1"), "");
	/* A file that is new, wherever such are made. */
	/* Names as mkstemp() makes them, but for those that by chance are words. */
	snprintf(made, sizeof made, "%s/tmp.a8Xq2Z", root);
	start(WITH("A=1"), NULL);
	assert_int_equal(close(open(made, O_WRONLY | O_CREAT | O_EXCL, 0600)), 0);
	snprintf(value, sizeof value, "LOG=%s", made);
	snprintf(later, sizeof later, "%s/tmp.Zk3w9Q", root);
	assert_int_equal(close(open(later, O_WRONLY | O_CREAT | O_EXCL, 0600)), 0);
	snprintf(other, sizeof other, "LOG=%s", later);
	record(&recorded, texts, WITH("A=1", value));
	environ = WITH("A=1", other);
	assert_int_equal(marks_find(&m, run, workspace, NULL, &err), 1);
	assert_int_equal(marks_difference(&m, &recorded, NULL), 0);
	/* But which of several it was, is not known. */
	assert_false(marks_same_paths(&m, &recorded, &name));
	assert_string_equal(buffer_string(&name), "LOG");
	marks_free(&m);
	buffer_free(&name);
	for (int i = 0; i < 3; i++)
		buffer_free(&texts[i]);
	/* One that was there before is none. */
	start(WITH("A=1"), NULL);
	differs(WITH("A=1"), WITH("A=1", value), WITH("A=1"), WITH("A=1", other), "LOG ");
}

static void
test_directories(void **state)
{
	struct error err = ERROR_INIT;
	struct buffer texts[3] = { BUFFER_INIT, BUFFER_INIT, BUFFER_INIT }, names = BUFFER_INIT;
	struct recorded_marks recorded;
	struct call_marks m;

	(void)state;
	start(WITH("A=1"), NULL);
	assert_int_equal(mkdir("below", 0700), 0);
	assert_int_equal(chdir("below"), 0);
	record(&recorded, texts, WITH("A=1"));
	assert_string_equal(recorded.directory, "below");
	assert_int_equal(chdir(".."), 0);
	assert_int_equal(marks_find(&m, run, workspace, NULL, &err), 1);
	assert_null(m.directory);
	assert_int_equal(marks_difference(&m, &recorded, &names), 1);
	assert_string_equal(buffer_string(&names), MARKS_DIRECTORY "\n");
	marks_free(&m);
	buffer_free(&names);
	for (int i = 0; i < 3; i++)
		buffer_free(&texts[i]);
}

static void
test_ignored(void **state)
{
	struct error err = ERROR_INIT;
	char **list = NULL;
	struct call_marks m;

	(void)state;
	start(WITH("A=1"), WITH("STARTED", "CI_*"));
	environ = WITH("A=1", "STARTED=5", "CI_JOB=7", "CI=1");
	assert_int_equal(marks_find(&m, run, workspace, NULL, &err), 1);
	assert_int_equal(m.count, 1);
	assert_string_equal(m.list[0].name, "CI");
	marks_free(&m);
	assert_int_equal(marks_ignore(&list, "*", ERROR_USAGE, "--ignore-env", &err), -1);
	assert_int_equal(marks_ignore(&list, "", ERROR_USAGE, "--ignore-env", &err), -1);
	assert_null(list);
}

/* A secret is not told by its digest, nor are equal ones of two names. */
static void
test_digests(void **state)
{
	struct error err = ERROR_INIT;
	struct call_marks m;

	(void)state;
	start(WITH("A=1"), NULL);
	environ = WITH("A=1", "ONE=correct horse", "TWO=correct horse", "MODE=fast");
	assert_int_equal(marks_find(&m, run, workspace, NULL, &err), 1);
	assert_int_equal(m.count, 3);
	assert_string_not_equal(m.list[1].bytes, m.list[2].bytes);
	assert_null(m.list[1].shown);
	assert_string_equal(m.list[0].shown, "fast");
	marks_free(&m);
}

static void
test_damage(void **state)
{
	struct error err = ERROR_INIT;
	char *path = path_join(run, START_FILE), *file = in_root(MARKS_KEY_FILE);
	unsigned char got[MARKS_KEY_BYTES], again[MARKS_KEY_BYTES];
	struct call_marks m;

	(void)state;
	start(WITH("A=1"), NULL);
	assert_int_equal(truncate(path, 40), 0);
	assert_int_equal(marks_find(&m, run, workspace, NULL, &err), -1);
	assert_string_equal(err.message, "is damaged");
	assert_int_equal(unlink(path), 0);
	assert_int_equal(marks_find(&m, run, workspace, NULL, &err), 0);
	assert_false(m.known);
	marks_free(&m);

	assert_int_equal(marks_key(root, false, got, &err), 0);
	assert_int_equal(marks_key(root, true, got, &err), 1);
	assert_int_equal(marks_key(root, false, again, &err), 1);
	assert_memory_equal(got, again, sizeof got);
	assert_int_equal(truncate(file, 5), 0);
	assert_int_equal(marks_key(root, true, got, &err), -1);
	assert_string_equal(err.message, "is damaged: remove it");
	assert_int_equal(unlink(file), 0);
	assert_int_equal(symlink("/dev/zero", file), 0);
	assert_int_equal(marks_key(root, true, got, &err), -1);
	free(file);
	free(path);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_variables, begin, end),
		cmocka_unit_test_setup_teardown(test_what_must_not_matter, begin, end),
		cmocka_unit_test_setup_teardown(test_directories, begin, end),
		cmocka_unit_test_setup_teardown(test_ignored, begin, end),
		cmocka_unit_test_setup_teardown(test_digests, begin, end),
		cmocka_unit_test_setup_teardown(test_damage, begin, end),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
