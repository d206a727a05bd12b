/* run/storage and run/run: names, links, look-up; a run's life. */
#include "unit.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "io/file.h"
#include "record.h"
#include "storage/run.h"
#include "storage/storage.h"

#define FIRST "aaaaaaaa-0000-4000-8000-000000000001"
#define SECOND "aaaaaaaa-0000-4000-8000-000000000002"
#define THIRD "bbbbbbbb-0000-4000-8000-000000000003"

/* An empty storage of its own for each test. */
static int
fresh_storage(void **state)
{
	static int count;
	char name[32];

	(void)state;
	snprintf(name, sizeof name, "storage%d", count++);
	setenv("AWF_STORAGE", record_path(name), 1);
	setenv("AWF_SYNC", "none", 1);
	unsetenv("AWF_RUN_ID");
	unsetenv("AWF_AUDIT_LOG");
	return 0;
}

static struct storage
prepared(void)
{
	struct storage s;
	struct error err = ERROR_INIT;

	assert_int_equal(storage_prepare(&s, &err), 0);
	return s;
}

static void
add_run(const struct storage *s, const char *id, const char *timestamp, const char *name)
{
	char *path = storage_transcript(s, id);
	struct buffer line = BUFFER_INIT;

	buffer_format(&line, "{\"seq\":1,\"timestamp\":\"%s\",\"event_id\":\"" OTHER_ID
	    "\",\"type\":\"run.started\",\"payload\":{\"name\":\"%s\"},\"prev\":\"" ZEROS "\"}\n",
	    timestamp, name);
	record_put(path, line.data, line.len);
	buffer_free(&line);
	free(path);
}

static void
test_locate(void **state)
{
	static const struct {
		const char *storage, *data, *home, *want;
	} cases[] = {
		{ "/a/b", "/data", "/home/u", "/a/b" },
		{ "", "/data", "/home/u", "/data/awf" },
		{ "", "relative", "/home/u", "/home/u/.local/share/awf" },
		{ "", "", "/home/u", "/home/u/.local/share/awf" },
		{ "", "", "", NULL },
	};

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		struct storage s;
		struct error err = ERROR_INIT;
		int result;

		setenv("AWF_STORAGE", cases[i].storage, 1);
		setenv("XDG_DATA_HOME", cases[i].data, 1);
		setenv("HOME", cases[i].home, 1);
		result = storage_locate(&s, &err);
		assert_int_equal(result, cases[i].want != NULL ? 0 : -1);
		if (result == 0)
			assert_string_equal(s.root, cases[i].want);
		else
			assert_int_equal(err.code, ERROR_SYSTEM);
		storage_close(&s);
	}
}

static void
test_prepare_makes_private_directories(void **state)
{
	static const char *const names[] = { "", "transcripts", "blobs", "inputs", "runs" };
	struct storage s = prepared();

	(void)state;
	for (size_t i = 0; i < COUNT(names); i++) {
		char *path = path_join(s.root, names[i]);
		struct stat status;

		assert_int_equal(stat(path, &status), 0);
		assert_int_equal(status.st_mode & 07777, 0700);
		free(path);
	}
	storage_close(&s);
	s = prepared();
	storage_close(&s);
}

/* What is wrong with a storage at "storage", and what is said of it. */
static void
spoil(const char *storage, const char *how)
{
	char *path = path_join(storage, how);

	if (strcmp(how, "new") == 0 || strcmp(how, "deep/er") == 0)
		return;
	if (strcmp(how, "file") == 0) {
		record_put(storage, "x", 1);
	} else if (strcmp(how, "sync") == 0) {
		setenv("AWF_SYNC", "somewhat", 1);
	} else {
		assert_int_equal(mkdir(storage, 0700), 0);
		if (strcmp(how, "open") == 0)
			assert_int_equal(chmod(storage, 0777), 0);
		else if (strcmp(how, "empty") != 0)
			record_put(path, "x", 1);
	}
	free(path);
}

static void
test_check_says_what_prepare_would(void **state)
{
	static const struct {
		const char *how, *below, *message; /* NULL: all is well */
	} cases[] = {
		{ "new", "", NULL },
		{ "deep/er", "/deep/er", NULL },
		{ "empty", "", NULL },
		{ "file", "", "not a directory: move it away" },
		{ "file", "/deep/er", "not a directory: move it away" },
		{ "runs", "", "not a directory: move it away" },
		{ "open", "", "the storage may be written by everybody: chmod o-w" },
		{ "open", "/deep", "may be written by everybody: chmod o-w" },
		{ "sync", "", "somewhat" },
	};

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		struct error checked = ERROR_INIT, refused = ERROR_INIT;
		char *storage, *root;
		struct storage s;
		bool there;
		int failed;

		fresh_storage(NULL);
		storage = memory_text(getenv("AWF_STORAGE"));
		root = memory_format("%s%s", storage, cases[i].below);
		setenv("AWF_STORAGE", root, 1);
		spoil(storage, cases[i].how);
		assert_int_equal(storage_locate(&s, NULL), 0);
		failed = storage_check(&s, &there, &checked);
		assert_int_equal(failed, cases[i].message == NULL ? 0 : -1);
		if (failed != 0 && strstr(checked.message, cases[i].message) == NULL)
			fail_msg("%s: %s", cases[i].how, checked.message);
		/* It was not made. */
		assert_int_equal(access(root, F_OK) == 0, there);
		storage_close(&s);
		assert_int_equal(storage_prepare(&s, &refused), failed);
		if (failed == 0) {
			assert_int_equal(storage_check(&s, &there, &checked), 0);
			assert_true(there);
			storage_close(&s);
		}
		free(root);
		free(storage);
	}
}

static void
test_open_follows_no_link(void **state)
{
	struct storage s = prepared();
	char *file = path_join(s.root, "runs/file"), *link = path_join(s.root, "runs/link");
	char *linked = path_join(s.root, "linked"), *below = path_join(s.root, "linked/file");
	int fd;

	(void)state;
	record_put(file, "x", 1);
	assert_int_equal(symlink("file", link), 0);
	assert_int_equal(symlink("runs", linked), 0);
	fd = file_open_plain(file, O_RDONLY, 0);
	assert_true(fd >= 0);
	assert_int_equal(fcntl(fd, F_GETFD) & FD_CLOEXEC, FD_CLOEXEC);
	close(fd);
	assert_int_equal(file_open_plain(link, O_RDONLY, 0), -1);
	assert_int_equal(errno, ELOOP);
	assert_int_equal(file_open_plain(below, O_RDONLY, 0), -1);
	free(file);
	free(link);
	free(linked);
	free(below);
	storage_close(&s);
}

static void
test_resolve(void **state)
{
	static const struct {
		const char *argument, *run_id, *message;
		enum error_code code;
	} cases[] = {
		{ NULL, SECOND, NULL, ERROR_NONE },
		{ "@", SECOND, NULL, ERROR_NONE },
		{ "@brief", SECOND, NULL, ERROR_NONE },
		{ "@other.awf", THIRD, NULL, ERROR_NONE },
		{ "@none", NULL, "@none: no run of this name in ", ERROR_USAGE },
		{ FIRST, FIRST, NULL, ERROR_NONE },
		{ "bbbb", THIRD, NULL, ERROR_NONE },
		{ "bbbbbbbb-0000-4000", THIRD, NULL, ERROR_NONE },
		{ "aaaaaaaa", NULL, "begins several run ids (", ERROR_USAGE },
		{ "bbb", NULL, "no such file, and no run whose id begins so in ", ERROR_USAGE },
		{ "cccc", NULL, "no such file, and no run whose id begins so in ", ERROR_USAGE },
		{ "cccccccc-0000-4000-8000-000000000001", NULL, "no such file, and no run", ERROR_USAGE },
		{ "../transcripts", NULL, "no such file, and no run", ERROR_USAGE },
		{ "./bbbb", NULL, "no such file, and no run", ERROR_USAGE },
		{ "/tmp", NULL, "a directory, not a transcript", ERROR_USAGE },
		{ "/etc/passwd", "", NULL, ERROR_NONE },
		{ "", NULL, "no such file", ERROR_USAGE },
	};
	struct storage s = prepared();

	(void)state;
	add_run(&s, FIRST, "2026-11-21T08:00:00.000000Z", "brief");
	add_run(&s, SECOND, "2026-11-21T10:00:00.000000Z", "brief");
	add_run(&s, THIRD, "2026-11-21T09:00:00.000000Z", "other.awf");
	assert_int_equal(storage_set_latest(&s, FIRST, NULL), 0);
	assert_int_equal(storage_set_latest(&s, SECOND, NULL), 0);
	for (size_t i = 0; i < COUNT(cases); i++) {
		struct run_ref ref;
		struct error err = ERROR_INIT;
		int result = storage_resolve(&s, cases[i].argument, &ref, &err);

		if (cases[i].run_id == NULL) {
			assert_int_equal(result, -1);
			assert_int_equal(err.code, cases[i].code);
			assert_ptr_equal(strstr(err.message, cases[i].message), err.message);
			assert_null(ref.path);
			continue;
		}
		assert_int_equal(result, 0);
		assert_string_equal(ref.run_id, cases[i].run_id);
		assert_int_equal(ref.in_storage, *cases[i].run_id != '\0');
		assert_int_equal(access(ref.path, R_OK), 0);
		run_ref_free(&ref);
	}
	storage_close(&s);
}

static void
test_resolve_a_path_into_the_storage(void **state)
{
	struct storage s = prepared();
	char *path = storage_transcript(&s, FIRST);
	struct run_ref ref;

	(void)state;
	add_run(&s, FIRST, "2026-11-21T08:00:00.000000Z", "brief");
	assert_int_equal(storage_resolve(&s, path, &ref, NULL), 0);
	assert_true(ref.in_storage);
	assert_string_equal(ref.run_id, FIRST);
	run_ref_free(&ref);
	free(path);
	path = memory_format("%s/" FIRST ".jsonl", record_directory);
	record_put(path, "", 0);
	assert_int_equal(storage_resolve(&s, path, &ref, NULL), 0);
	assert_false(ref.in_storage);
	assert_string_equal(ref.run_id, "");
	run_ref_free(&ref);
	free(path);
	storage_close(&s);
}

/* What `latest` says is checked before it becomes a path. */
static void
test_resolve_a_bad_latest(void **state)
{
	static const char *const targets[] = {
		"/etc/passwd", "transcripts/../../x", "transcripts/" FIRST, "transcripts/x.jsonl",
		"elsewhere/" FIRST ".jsonl", "transcripts/" FIRST ".jsonl.jsonl",
	};
	struct storage s = prepared();
	char *latest = path_join(s.root, "latest");
	struct error err = ERROR_INIT;
	struct run_ref ref;

	(void)state;
	assert_int_equal(storage_resolve(&s, "@", &ref, &err), -1);
	assert_int_equal(err.code, ERROR_USAGE);
	assert_ptr_equal(strstr(err.message, "there is no run yet in "), err.message);
	for (size_t i = 0; i < COUNT(targets); i++) {
		unlink(latest);
		assert_int_equal(symlink(targets[i], latest), 0);
		assert_int_equal(storage_resolve(&s, NULL, &ref, &err), -1);
		assert_int_equal(err.code, ERROR_SYSTEM);
	}
	free(latest);
	storage_close(&s);
}

static void
test_list(void **state)
{
	struct storage s = prepared();
	struct run_entry *entries;
	size_t count;
	char *junk = path_join(s.root, "transcripts/" FIRST ".torn");

	(void)state;
	assert_int_equal(storage_list(&s, &entries, &count, NULL), 0);
	assert_int_equal(count, 0);
	free(entries);
	add_run(&s, FIRST, "2026-11-21T08:00:00.000000Z", "a");
	add_run(&s, SECOND, "2026-11-21T10:00:00.000001Z", "b");
	add_run(&s, THIRD, "2026-11-21T10:00:00.000000Z", "c");
	record_put(junk, "", 0);
	assert_int_equal(storage_list(&s, &entries, &count, NULL), 0);
	assert_int_equal(count, 3);
	assert_string_equal(entries[0].run_id, SECOND);
	assert_string_equal(entries[1].run_id, THIRD);
	assert_string_equal(entries[2].run_id, FIRST);
	assert_int_equal(entries[0].started - entries[1].started, 1);
	free(entries);
	assert_int_equal(storage_count(&s, &count, NULL), 0);
	assert_int_equal(count, 3);
	free(junk);
	storage_close(&s);
}

static void
test_a_storage_never_used_has_no_runs(void **state)
{
	struct storage s;
	struct run_entry *entries;
	size_t count;

	(void)state;
	assert_int_equal(storage_locate(&s, NULL), 0);
	assert_int_equal(storage_list(&s, &entries, &count, NULL), 0);
	assert_int_equal(count, 0);
	assert_int_equal(storage_count(&s, &count, NULL), 0);
	assert_int_equal(count, 0);
	storage_close(&s);
}

static const struct run_spec spec = { .name = "brief", .kind = "workflow",
	.keep_transcript = true, .latest = true };

static void
set_environment(const struct run *r)
{
	setenv("AWF_RUN_ID", r->id, 1);
	setenv("AWF_TRANSCRIPT", r->transcript.path, 1);
	setenv("AWF_PARENT", r->started, 1);
}

/* Enters in a child, as awf-step does; the exit status says how it went. */
static int
enter_elsewhere(const struct run *owner)
{
	int status;
	pid_t pid;

	set_environment(owner);
	pid = fork();
	if (pid == 0) {
		struct error err = ERROR_INIT;
		struct run r;

		if (run_enter(&r, &err) != 0)
			_exit(strcmp(err.message, "run has ended") == 0 ? 2 : 1);
		if (memcmp(r.key, owner->key, sizeof r.key) != 0 || r.attempt != 1 ||
		    strcmp(r.started, owner->started) != 0 || r.lock_fd != -1 ||
		    r.keep_transcript != owner->keep_transcript)
			_exit(3);
		run_close(&r);
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return WEXITSTATUS(status);
}

static bool
alive_elsewhere(const struct run *r)
{
	int status;
	pid_t pid = fork();

	if (pid == 0)
		_exit(storage_run_alive(&r->storage, r->id));
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return WEXITSTATUS(status) == 1;
}

static void
live(bool keep)
{
	struct run_spec mine = spec;
	const struct run_end end = { .status = "success" };
	struct error err = ERROR_INIT;
	struct stat status;
	struct run r;

	mine.keep_transcript = keep;
	assert_int_equal(run_create(&r, &mine, &err), 0);
	assert_true(alive_elsewhere(&r));
	assert_int_equal(enter_elsewhere(&r), 0);
	assert_int_equal(stat(r.directory, &status), 0);
	assert_int_equal(status.st_mode & 07777, 0700);
	assert_int_equal(run_finish(&r, &end, &err), 0);
	assert_int_equal(stat(r.directory, &status), -1);
	assert_int_equal(stat(r.transcript.path, &status), keep ? 0 : -1);
	assert_false(alive_elsewhere(&r));
	assert_int_equal(enter_elsewhere(&r), 2);
	run_close(&r);
}

static void
test_life_of_a_run(void **state)
{
	(void)state;
	live(true);
	live(false);
}

/* An owner that was killed leaves its directory, but a free lock. */
static void
test_a_dead_owner(void **state)
{
	struct run_spec mine = spec;
	struct run r;
	int ends[2], status;
	pid_t pid;

	(void)state;
	assert_int_equal(pipe(ends), 0);
	pid = fork();
	if (pid == 0) {
		struct error err;

		if (run_create(&r, &mine, &err) != 0)
			_exit(1);
		/* path and ids by value; the pointers mean the same in the parent */
		if (write(ends[1], r.id, sizeof r.id) < 0 ||
		    write(ends[1], r.started, sizeof r.started) < 0)
			_exit(1);
		kill(getpid(), SIGKILL);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFSIGNALED(status));
	assert_int_equal(read(ends[0], r.id, sizeof r.id), sizeof r.id);
	assert_int_equal(read(ends[0], r.started, sizeof r.started), sizeof r.started);
	assert_int_equal(storage_locate(&r.storage, NULL), 0);
	r.transcript.path = storage_transcript(&r.storage, r.id);
	assert_false(alive_elsewhere(&r));
	assert_int_equal(enter_elsewhere(&r), 2);
	free(r.transcript.path);
	storage_close(&r.storage);
	close(ends[0]);
	close(ends[1]);
}

static void
test_enter_checks_the_environment(void **state)
{
	static const struct {
		const char *name, *value;
	} cases[] = {
		{ "AWF_RUN_ID", "../../etc" }, { "AWF_RUN_ID", "" }, { "AWF_PARENT", "x" },
		{ "AWF_TRANSCRIPT", "relative.jsonl" }, { "AWF_TRANSCRIPT", "" },
	};
	struct run owner;

	(void)state;
	assert_int_equal(run_create(&owner, &spec, NULL), 0);
	for (size_t i = 0; i < COUNT(cases); i++) {
		struct error err = ERROR_INIT;
		struct run r;

		set_environment(&owner);
		setenv(cases[i].name, cases[i].value, 1);
		assert_int_equal(run_enter(&r, &err), -1);
		assert_int_equal(err.code, ERROR_SYSTEM);
		assert_string_equal(err.place, cases[i].name);
	}
	run_close(&owner);
}

static size_t
count_files(const char *root, const char *name)
{
	char *path = path_join(root, name);
	DIR *directory = opendir(path);
	struct dirent *found;
	size_t count = 0;

	assert_non_null(directory);
	while ((found = readdir(directory)) != NULL)
		count += found->d_name[0] != '.';
	closedir(directory);
	free(path);
	return count;
}

/* A run that cannot be made leaves nothing. */
static void
test_create_fails_clean(void **state)
{
	struct storage s = prepared();
	char *transcripts = path_join(s.root, "transcripts");
	struct error err = ERROR_INIT;
	struct run r;

	(void)state;
	if (geteuid() == 0)
		setenv("AWF_SYNC", "nonsense", 1);
	else
		assert_int_equal(chmod(transcripts, 0500), 0);
	assert_int_equal(run_create(&r, &spec, &err), -1);
	assert_int_not_equal(err.code, ERROR_NONE);
	chmod(transcripts, 0700);
	assert_int_equal(count_files(s.root, "runs"), 0);
	assert_int_equal(count_files(s.root, "transcripts"), 0);
	free(transcripts);
	storage_close(&s);
}

static int warnings;

static void
count_warning(const struct error *err)
{
	assert_int_equal(err->code, ERROR_SYSTEM);
	warnings++;
}

static void
test_warnings_stop_nothing(void **state)
{
	struct storage s = prepared();
	char *audit = path_join(s.root, "audit.jsonl"), *latest = path_join(s.root, "latest");
	const struct run_end end = { .status = "success" };
	struct run_spec mine = spec;
	struct run r;

	(void)state;
	mine.warn = count_warning;
	warnings = 0;
	assert_int_equal(mkdir(audit, 0700), 0);
	assert_int_equal(mkdir(latest, 0700), 0);
	assert_int_equal(run_create(&r, &mine, NULL), 0);
	assert_int_equal(warnings, 2);
	assert_int_equal(run_finish(&r, &end, NULL), 0);
	assert_int_equal(warnings, 3);
	run_close(&r);
	free(audit);
	free(latest);
	storage_close(&s);
}

/* Dropping the directory of a run follows no link out of it. */
static void
test_finish_removes_below_only(void **state)
{
	const struct run_end end = { .status = "success" };
	char *link, *deep;
	struct stat status;
	struct run r;

	(void)state;
	assert_int_equal(mkdir(record_path("outside"), 0700), 0);
	record_put(record_path("outside/file"), "x", 1);
	assert_int_equal(run_create(&r, &spec, NULL), 0);
	link = path_join(r.directory, "link");
	deep = path_join(r.directory, "roster/deep");
	assert_int_equal(symlink(record_path("outside"), link), 0);
	assert_int_equal(directory_make(deep, 0700, NULL), 0);
	assert_int_equal(run_finish(&r, &end, NULL), 0);
	assert_int_equal(stat(r.directory, &status), -1);
	assert_int_equal(stat(record_path("outside/file"), &status), 0);
	run_close(&r);
	free(link);
	free(deep);
}

#define TEST(f) cmocka_unit_test_setup(f, fresh_storage)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_locate),
		TEST(test_prepare_makes_private_directories),
		TEST(test_check_says_what_prepare_would),
		TEST(test_open_follows_no_link),
		TEST(test_resolve),
		TEST(test_resolve_a_path_into_the_storage),
		TEST(test_resolve_a_bad_latest),
		TEST(test_list),
		TEST(test_a_storage_never_used_has_no_runs),
		TEST(test_life_of_a_run),
		TEST(test_a_dead_owner),
		TEST(test_enter_checks_the_environment),
		TEST(test_create_fails_clean),
		TEST(test_warnings_stop_nothing),
		TEST(test_finish_removes_below_only),
	};

	return cmocka_run_group_tests(tests, record_setup, record_teardown);
}
