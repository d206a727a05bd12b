/* The roster: occurrences count up, the dead are told from the living. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/buffer.h"
#include "io/lock.h"
#include "storage/roster.h"
#include "storage/run_lock.h"

static char directory[] = "/tmp/test_roster.XXXXXX";

static int
make_directory(void **state)
{
	(void)state;
	return mkdtemp(directory) == NULL;
}

static int
remove_directory(void **state)
{
	char command[256];

	(void)state;
	snprintf(command, sizeof command, "rm -r %s", directory);
	return system(command);
}

/* As roster_begin() of a step that prints to nobody. */
static int
begin(struct roster *r, const char *run, const char *enclosing, const char *name,
    struct error *err)
{
	const struct roster_entry entry = { .enclosing = enclosing, .name = name, .out = -1 };

	return roster_begin(r, run, &entry, err);
}

/* A process that begins, says so, and waits to be killed or told to end. */
static pid_t
begin_elsewhere(const char *enclosing, const char *name, int *tell)
{
	struct roster r;
	struct error err;
	int ready[2], go[2];
	char byte;
	pid_t pid;

	assert_int_equal(pipe(ready), 0);
	assert_int_equal(pipe(go), 0);
	pid = fork();
	if (pid == 0) {
		close(go[1]);
		if (begin(&r, directory, enclosing, name, &err) == -1)
			_exit(1);
		byte = (char)r.occurrence;
		if (write(ready[1], &byte, 1) != 1 || read(go[0], &byte, 1) != 1)
			_exit(1);
		roster_end(&r);
		if (write(ready[1], &byte, 1) != 1)
			_exit(1);
		pause();
		_exit(0);
	}
	assert_int_equal(read(ready[0], &byte, 1), 1);
	close(ready[1]);
	close(go[0]);
	close(ready[0]);
	*tell = go[1];
	return pid;
}

static void
end_process(pid_t pid)
{
	kill(pid, SIGKILL);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
}

static void
occurrences_count_per_enclosing_call_and_name(void **state)
{
	static const struct { const char *enclosing, *name; long occurrence; } cases[] = {
		{ "", "a", 0 }, { "", "a", 1 }, { "", "b", 0 }, { "g:0:0", "a", 0 },
		{ "g:0:1", "a", 0 }, { "g:0:0", "a", 1 }, { "", "a", 2 },
	};
	struct roster r;
	struct error err;
	size_t i;

	(void)state;
	for (i = 0; i < sizeof cases / sizeof *cases; i++) {
		assert_int_equal(begin(&r, directory, cases[i].enclosing, cases[i].name, &err), 0);
		assert_int_equal(r.occurrence, cases[i].occurrence);
		roster_end(&r);
		roster_close(&r);
	}
	assert_int_equal(begin(&r, directory, "", "watcher", &err), 0);
	assert_true(roster_ended(&r, "a:1:0"));
	assert_true(roster_ended(&r, "g:0:0/a:1:7"));
	assert_false(roster_ended(&r, "a:3:0"));
	assert_false(roster_ended(&r, "no call"));
	roster_end(&r);
	roster_close(&r);
	assert_false(roster_busy(directory, NULL));
}

static void
the_dead_are_known(void **state)
{
	struct buffer names = BUFFER_INIT;
	struct roster r;
	struct error err;
	int tell;
	pid_t pid;

	(void)state;
	assert_int_equal(begin(&r, directory, "", "watcher", &err), 0);
	pid = begin_elsewhere("", "producer", &tell);
	assert_false(roster_dead(&r, "producer:0:3"));
	assert_false(roster_ended(&r, "producer:0:3"));
	assert_true(roster_busy(directory, &names));
	assert_non_null(strstr(names.data, "producer"));
	end_process(pid);
	assert_true(roster_dead(&r, "producer:0:3"));
	assert_false(roster_ended(&r, "producer:0:3"));
	assert_false(roster_dead(&r, "producer:1:0"));
	assert_false(roster_dead(&r, "unknown:0:0"));
	assert_false(roster_dead(&r, "no call"));
	assert_false(roster_dead(&r, "../../etc/passwd:0:0"));
	assert_false(roster_dead(&r, "watcher:0:0"));
	roster_end(&r);
	assert_false(roster_busy(directory, NULL));
	roster_close(&r);
	close(tell);
	buffer_free(&names);
}

static void
looking_at_a_neighbour_keeps_the_own_lock(void **state)
{
	struct roster r;
	struct error err;
	int tell;
	pid_t dead, child;
	int status;

	(void)state;
	dead = begin_elsewhere("", "same", &tell);
	end_process(dead);
	assert_int_equal(begin(&r, directory, "", "same", &err), 0);
	assert_int_equal(r.occurrence, 1);
	assert_true(roster_dead(&r, "same:0:0"));
	child = fork();
	if (child == 0) {
		struct roster other;

		if (begin(&other, directory, "", "other", &err) == -1)
			_exit(2);
		_exit(roster_dead(&other, "same:1:0") ? 1 : 0);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(WEXITSTATUS(status), 0);
	roster_end(&r);
	roster_close(&r);
	close(tell);
}

/* How many files the roster has. */
static long
count_files(void)
{
	char path[256], command[300];
	long count = 0;
	FILE *out;

	snprintf(path, sizeof path, "%s/roster", directory);
	snprintf(command, sizeof command, "find %s -type f | wc -l", path);
	out = popen(command, "r");
	assert_non_null(out);
	assert_int_equal(fscanf(out, "%ld", &count), 1);
	assert_int_equal(pclose(out), 0);
	return count;
}

/* They share files, and are told apart all the same. */
static void
many_calls_have_one_file(void **state)
{
	static const char *const outer[] = { "many:0:%d", "outer:0:0/many:0:%d", "many:%d:0/x:0:0" };
	const struct error why = { .code = ERROR_SYSTEM, .message = "no room" };
	struct roster_death death;
	struct roster r, watcher;
	struct error err;
	char enclosing[64], call[80];
	long files, ended = 0;

	(void)state;
	assert_int_equal(begin(&watcher, directory, "watch:0:0", "a", &err), 0);
	for (size_t i = 0; i < sizeof outer / sizeof *outer; i++) {
		files = count_files();
		for (int item = 0; item < 64; item++) {
			snprintf(enclosing, sizeof enclosing, outer[i], item);
			for (long twice = 0; twice < 2; twice++) {
				assert_int_equal(begin(&r, directory, enclosing, twice ? "b" : "a", &err), 0);
				assert_int_equal(r.occurrence, 0);
				if (item == 20 && twice)
					roster_fail(&r, &why);
				else
					roster_end(&r);
				roster_close(&r);
			}
		}
		assert_int_equal(count_files() - files, 4);
		for (int item = 0; item < 64; item++) {
			snprintf(enclosing, sizeof enclosing, outer[i], item);
			assert_int_equal(roster_died(directory, enclosing, &death), item == 20);
			assert_true(roster_entered(directory, enclosing));
			snprintf(call, sizeof call, "%s/b:0:0", enclosing);
			assert_int_equal(roster_dead(&watcher, call), item == 20);
			ended += roster_ended(&watcher, call);
			snprintf(call, sizeof call, "%s/b:1:0", enclosing);
			assert_false(roster_ended(&watcher, call));
		}
		snprintf(enclosing, sizeof enclosing, outer[i], 64);
		assert_false(roster_entered(directory, enclosing));
		/* That one was tried only, and another as it. */
		snprintf(enclosing, sizeof enclosing, outer[i], 21);
		roster_forgive(directory, enclosing);
		snprintf(enclosing, sizeof enclosing, outer[i], 20);
		assert_true(roster_died(directory, enclosing, &death));
		assert_string_equal(death.reason, "no room");
		roster_forgive(directory, enclosing);
		assert_false(roster_died(directory, enclosing, &death));
	}
	assert_int_equal(ended, 3 * 63);
	roster_end(&watcher);
	roster_close(&watcher);
}

/* Who is in a call that shares its file with others sees them, and is not let go. */
static void
neighbours_are_of_the_same_call(void **state)
{
	struct roster_death death;
	struct roster r, other;
	struct error err;
	int tell[2];
	pid_t same, beside;

	(void)state;
	same = begin_elsewhere("n:0:1", "a", &tell[0]);
	beside = begin_elsewhere("n:0:2", "b", &tell[1]);
	assert_int_equal(begin(&r, directory, "n:0:1", "r", &err), 0);
	assert_false(roster_died_beside(&r, &death));
	end_process(beside);
	assert_false(roster_died_beside(&r, &death));
	assert_true(roster_dead(&r, "n:0:2/b:0:0"));
	assert_false(roster_all_ended(&r, "a"));
	assert_false(roster_all_ended(&r, "b"));
	assert_false(roster_died(directory, "n:0:1/r:0:0", &death));
	end_process(same);
	assert_true(roster_died_beside(&r, &death));
	assert_string_equal(death.process, "n:0:1/a:0");

	same = fork();
	if (same == 0) {
		if (begin(&other, directory, "n:0:3", "other", &err) == -1)
			_exit(2);
		_exit(roster_dead(&other, "n:0:1/r:0:0") ? 1 : 0);
	}
	int status;
	assert_int_equal(waitpid(same, &status, 0), same);
	assert_int_equal(WEXITSTATUS(status), 0);
	roster_end(&r);
	roster_close(&r);
	close(tell[0]);
	close(tell[1]);
}

/* What was not written whole died, whoever it was. */
static void
a_torn_record_is_of_anybody(void **state)
{
	struct roster_death death;
	struct roster r;
	struct error err;
	char path[256];
	FILE *file;

	(void)state;
	for (int top = 0; top < 2; top++) {
		const char *enclosing = top ? "" : "torn:0:1";

		snprintf(path, sizeof path, "%s/roster/%s", directory, top ? "torn" : "+torn:0:0");
		assert_int_equal(begin(&r, directory, enclosing, "torn", &err), 0);
		roster_end(&r);
		roster_close(&r);
		file = fopen(path, "a");
		assert_non_null(file);
		assert_true(fputs("B- 12", file) >= 0);
		assert_int_equal(fclose(file), 0);
		assert_true(roster_died(directory, enclosing, &death));
		assert_int_equal(begin(&r, directory, enclosing, "torn", &err), 0);
		assert_int_equal(r.occurrence, 2);
		assert_true(roster_died_beside(&r, &death));
		roster_end(&r);
		roster_close(&r);
		assert_int_equal(begin(&r, directory, enclosing, "torn", &err), 0);
		assert_int_equal(r.occurrence, 3);
		roster_end(&r);
		roster_close(&r);
		assert_int_equal(unlink(path), 0);
	}
}

/* Why the machine failed a process, as far as there is place for it; it is dead all the same. */
static void
the_machine_is_named(void **state)
{
	static const struct { const char *place, *message, *reason; } cases[] = {
		{ "stdout", "unable to write: Input/output error",
		    "stdout: unable to write: Input/output error" },
		{ "/a/place/of/which/the/name/is/long.jsonl", "unable to append: No space left on device",
		    "unable to append: No space left on device" },
		{ "", "unable to append, and a torn line is left for the next writer to move: No space",
		    "No space" },
		{ "", "", "system" },
	};
	struct roster_death death;
	struct roster r, watcher;
	struct error why, err;

	(void)state;
	assert_int_equal(begin(&watcher, directory, "m:0:9", "watcher", &err), 0);
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		char enclosing[16], process[32];

		snprintf(enclosing, sizeof enclosing, "m:0:%zu", i);
		snprintf(process, sizeof process, "m:0:%zu/a:0", i);
		error_set(&why, ERROR_SYSTEM, cases[i].place, "%s", cases[i].message);
		assert_int_equal(begin(&r, directory, enclosing, "a", &err), 0);
		roster_fail(&r, &why);
		roster_end(&r);
		roster_close(&r);
		assert_true(roster_died(directory, enclosing, &death));
		assert_string_equal(death.process, process);
		assert_string_equal(death.reason, cases[i].reason);
		strcat(process, ":0");
		assert_true(roster_dead(&watcher, process));
		assert_false(roster_ended(&watcher, process));
	}
	roster_end(&watcher);
	roster_close(&watcher);
}

/* Bytes that this process has read so far; -1: not known here. */
static long long
bytes_read(void)
{
	FILE *file = fopen("/proc/self/io", "r");
	long long bytes = -1;

	if (file == NULL)
		return -1;
	if (fscanf(file, "rchar: %lld", &bytes) != 1)
		bytes = -1;
	fclose(file);
	return bytes;
}

/* Each round of a loop in a call looks at as many records, be there 100 or 6000. */
static void
a_begin_costs_the_same_however_many_there_were(void **state)
{
	const long rounds = 3000;
	struct roster r;
	struct error err;
	long long before, costs[2] = { 0, 0 };

	(void)state;
	if (bytes_read() < 0)
		skip();
	for (long round = 0; round < rounds; round++) {
		before = bytes_read();
		for (long twice = 0; twice < 2; twice++) {
			assert_int_equal(begin(&r, directory, "rounds:0:0", twice ? "b" : "a", &err), 0);
			assert_int_equal(r.occurrence, round);
			roster_end(&r);
			roster_close(&r);
		}
		if (round == 50 || round == rounds - 1)
			costs[round > 50] = bytes_read() - before;
	}
	/* But for the digits of the count itself. */
	assert_in_range(costs[1], 1, costs[0] + 100);
}

/* Of what keeps a process from being entered the owner of the run is told; who is that itself
 * keeps its lock. */
static void
the_owner_is_told_of_a_begin_that_failed(void **state)
{
	char run[256], path[300];
	struct roster_entry entry = { .enclosing = "", .name = "a", .out = -1, .owner = true };
	struct error err, why;
	struct roster r;
	int lock, status;
	pid_t pid;
	FILE *file;

	(void)state;
	snprintf(run, sizeof run, "%s/run", directory);
	lock = run_lock_make(run, &err);
	assert_true(lock >= 0);
	assert_int_equal(run_lock_sign(lock, run, 1, &err), 0);
	snprintf(path, sizeof path, "%s/roster", run);
	file = fopen(path, "w"); /* where a directory should be */
	assert_non_null(file);
	fclose(file);

	assert_int_equal(roster_begin(&r, run, &entry, &err), -1);
	roster_close(&r);
	assert_false(run_lock_failed(lock, &why));
	pid = fork();
	if (pid == 0) {
		pid_t owner = 0;
		int other;

		snprintf(path, sizeof path, "%s/lock", run);
		other = open(path, O_RDONLY);
		if (lock_look(other, LOCK_WHOLE, &owner) != 1 || owner != getppid())
			_exit(1);
		entry.owner = false;
		entry.tried = true;
		if (roster_begin(&r, run, &entry, &err) != -1 || run_lock_failed(other, &why))
			_exit(2);
		roster_close(&r);
		entry.tried = false;
		_exit(roster_begin(&r, run, &entry, &err) == -1 ? 0 : 3);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	assert_true(run_lock_failed(lock, &why));
	assert_non_null(strstr(why.message, "unable to open the roster: Not a directory"));
	close(lock);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(occurrences_count_per_enclosing_call_and_name),
		cmocka_unit_test(the_dead_are_known),
		cmocka_unit_test(many_calls_have_one_file),
		cmocka_unit_test(neighbours_are_of_the_same_call),
		cmocka_unit_test(a_torn_record_is_of_anybody),
		cmocka_unit_test(the_machine_is_named),
		cmocka_unit_test(a_begin_costs_the_same_however_many_there_were),
		cmocka_unit_test(the_owner_is_told_of_a_begin_that_failed),
		cmocka_unit_test(looking_at_a_neighbour_keeps_the_own_lock),
	};

	return cmocka_run_group_tests(tests, make_directory, remove_directory);
}
