/* When sandboxed programs ran, and which files were changed then. */
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "tier.h"
#include "unit.h"
#include "workspace/sandboxed_times.h"

static char root[64], work[72], file[96];

static int
setup(void **state)
{
	char storage[80];

	(void)state;
	assert_int_equal(unit_make_directory(root, "times"), 0);
	snprintf(storage, sizeof storage, "%s/storage", root);
	snprintf(work, sizeof work, "%s/work", root);
	snprintf(file, sizeof file, "%s/below/file", work);
	assert_int_equal(mkdir(storage, 0700), 0);
	assert_int_equal(mkdir(work, 0700), 0);
	setenv("AWF_STORAGE", storage, 1);
	return 0;
}

static int
teardown(void **state)
{
	char command[96];

	(void)state;
	snprintf(command, sizeof command, "rm -r %s", root);
	return system(command);
}

/* What one look says, and a walk that has gone to the file. */
static bool
file_have(const char *path)
{
	char directory[128], part[128];
	const bool said = sandboxed_times_have(path);
	struct sandboxed_walk *w;
	struct stat status;
	size_t below;

	if (strncmp(path, root, strlen(root)) != 0 || lstat(path, &status) != 0)
		return said;
	snprintf(directory, sizeof directory, "%.*s", (int)(strrchr(path, '/') - path), path);
	w = sandboxed_walk_begin(root);
	for (below = strlen(root) + 1; below <= strlen(directory); below++)
		if (directory[below] == '/' || directory[below] == '\0') {
			int fd;

			snprintf(part, sizeof part, "%.*s", (int)below, directory);
			fd = open(part, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
			sandboxed_walk_enter(w, fd, part);
			close(fd);
		}
	assert_int_equal(sandboxed_walk_have(w, path, &status), said);
	sandboxed_walk_end(w);
	return said;
}

static void
nap(void)
{
	nanosleep(&(struct timespec){ 0, 20000000 }, NULL);
}

static void
change(void)
{
	char command[256];

	snprintf(command, sizeof command, "mkdir -p %s/below && echo x >>%s", work, file);
	nap();
	assert_int_equal(system(command), 0);
	nap();
}

static void
a_change_counts_by_its_time(void **state)
{
	struct sandboxed_time t;
	struct error err;

	(void)state;
	change();
	assert_false(file_have(file));
	nap();
	assert_int_equal(sandboxed_time_begin(&t, work, &err), 0);
	assert_false(file_have(file));
	change();
	assert_true(file_have(file)); /* it runs yet */
	assert_int_equal(sandboxed_time_end(&t, &err), 0);
	assert_true(file_have(file));
	nap();
	assert_int_equal(utimensat(AT_FDCWD, file, NULL, 0), 0);
	/* Its directory was changed then only if it was made anew. */
	assert_false(file_have(file));
	assert_false(file_have("/etc/passwd"));
	assert_false(file_have("/nowhere/at/all"));
}

static void
a_killed_program_ends_when_somebody_looks(void **state)
{
	struct sandboxed_time t;
	struct error err;
	pid_t pid = fork();

	(void)state;
	if (pid == 0) {
		if (sandboxed_time_begin(&t, work, &err) != 0)
			_exit(1);
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &(int){ 0 }, 0), pid);
	change();
	assert_true(file_have(file));
	/* The next look ends it: what comes later is nobody else's. */
	nap();
	assert_int_equal(utimensat(AT_FDCWD, file, NULL, 0), 0);
	file_have(file);
	nap();
	assert_int_equal(utimensat(AT_FDCWD, file, NULL, 0), 0);
	assert_false(file_have(file));
}

/* COMMAND runs in the workspace at such a time. */
static void
at_such_a_time(const char *command)
{
	char line[512];
	struct sandboxed_time t;
	struct error err;

	nap();
	snprintf(line, sizeof line, "cd %s && %s", work, command);
	assert_int_equal(sandboxed_time_begin(&t, work, &err), 0);
	nap();
	assert_int_equal(system(line), 0);
	assert_int_equal(sandboxed_time_end(&t, &err), 0);
	nap();
}

static void
make_directories(void)
{
	char line[256];

	snprintf(line, sizeof line, "cd %s && rm -rf a b x && mkdir -p a/below b/below x && touch a/below/f b/below/f x/f a/f",
	    work);
	assert_int_equal(system(line), 0);
}

static bool
have(const char *name)
{
	char path[128], real[PATH_MAX];

	snprintf(path, sizeof path, "%s/%s", work, name);
	return realpath(path, real) != NULL && strcmp(real, path) == 0 ? file_have(path) :
	    sandboxed_times_have_file(path);
}

static void
a_moved_directory_takes_its_files_along(void **state)
{
	static const char *const moves[] = { "mv a c && mv b a", "mv a/below x/y && mv b/below a/below",
		"mkdir n && mv b n/a && rm -r a && mv n/a a", "mkdir n && mv b/below n/below && rm -r a && mv n a",
		"rm -r a && ln -s b a", "rm -r a && mv b c && ln -s c a",
		"rm -r a/below && mv b/below a && touch a/below/later && rm a/below/later", NULL };
	char line[256];

	(void)state;
	for (const char *const *move = moves; *move != NULL; move++) {
		make_directories();
		at_such_a_time(*move);
		assert_true(have("a/below/f"));
		assert_false(have("x/f"));
		/* What is made there later does not hide it; who has read it touches it. */
		snprintf(line, sizeof line, "cd %s && touch a/below/more", work);
		assert_int_equal(system(line), 0);
		assert_true(have("a/below/f"));
		assert_false(have("a/below/more") && strstr(*move, "ln -s") == NULL);
		snprintf(line, sizeof line, "cd %s && touch -h a a/below/f", work);
		assert_int_equal(system(line), 0);
		nap();
		assert_false(have("a/below/f"));
		snprintf(line, sizeof line, "rm -rf %s/c %s/n", work, work);
		assert_int_equal(system(line), 0);
	}
}

static void
what_is_made_beside_a_file_does_not_count_for_it(void **state)
{
	(void)state;
	make_directories();
	at_such_a_time("touch a/new a/below/new x/new && rm a/new && mkdir -p a/below/o/p && mkdir x/y && mv x/y x/z");
	assert_true(have("a/below/new"));
	assert_false(have("a/below/f"));
	assert_false(have("a/f"));
	assert_false(have("x/f"));
	at_such_a_time("mv a c && mv c a && chmod 711 a");
	assert_false(have("a/below/f"));
}

static void
too_many_directories_count_if_they_changed(void **state)
{
	(void)state;
	make_directories();
	at_such_a_time("for i in $(seq 70); do mkdir -p x/$i/y; done");
	at_such_a_time("touch a/new && for i in $(seq 70); do mv x/$i x/n$i; done");
	assert_true(have("a/f"));
	assert_true(have("x/f"));
	assert_false(have("b/below/f"));
}

static void
many_times_take_little_room(void **state)
{
	struct sandboxed_time t;
	struct error err;
	char command[160];

	(void)state;
	change();
	nap();
	for (size_t i = 0; i < 4000 / tier_stride(5); i++) {
		assert_int_equal(sandboxed_time_begin(&t, work, &err), 0);
		assert_int_equal(sandboxed_time_end(&t, &err), 0);
	}
	snprintf(command, sizeof command, "[ $(du -sb %s/storage/sandboxed/times | cut -f1) -lt 80000 ]", root);
	assert_int_equal(system(command), 0);
	nap();
	assert_false(file_have("/etc/passwd"));
	assert_int_equal(sandboxed_time_begin(&t, work, &err), 0);
	change();
	assert_int_equal(sandboxed_time_end(&t, &err), 0);
	assert_true(file_have(file));
}

/* A command of the user in the workspace. */
static void
afterwards(const char *command)
{
	char line[512];

	snprintf(line, sizeof line, "cd %s && %s", work, command);
	assert_int_equal(system(line), 0);
	nap();
}

static void
a_file_of_several_names_counts_until_it_is_written(void **state)
{
	/* What the program does, and the user, who writes nothing into a/f. */
	static const struct { const char *program, *user; } cases[] = {
		{ "echo x >>a/f && ln a/f g", "rm g" },
		{ "echo x >>a/f && ln a/f g && touch -d tomorrow g", "mv g h" },
		{ "echo x >>a/f && ln a/f g && touch -d '0.1 seconds' g", "sleep 0.2 && ln -f x/f g" },
		{ "ln a/f g && mv a c && mv b a && mv g a/f", "rm c/f" },
		{ "rm a/f && ln -s x a/f && ln a/f g", "rm g" },
		{ "for i in $(seq 100); do echo >$i && ln $i $i.also; done; ln a/f g", "rm g [0-9]*" },
		{ NULL, NULL }
	};

	(void)state;
	for (size_t i = 0; cases[i].program != NULL; i++) {
		afterwards("rm -rf a b c g h x && mkdir -p a b x && touch a/f b/f x/f");
		at_such_a_time(cases[i].program);
		assert_true(have("a/f"));
		afterwards(cases[i].user);
		assert_true(have("a/f"));
		assert_false(have("x/f"));
		afterwards("cp -P a/f new && mv new a/f && touch -h a");
		assert_false(have("a/f"));
	}
	/* It may have had them before, and be moved with its directory. */
	afterwards("rm -rf a b c g && mkdir a b && touch a/f && ln a/f g");
	at_such_a_time("mv a b/a");
	assert_true(have("b/a/f"));
	afterwards("rm g");
	assert_true(have("b/a/f"));
	afterwards("touch b/a/f");
	assert_false(have("b/a/f"));
	/* What no program changed is its user's. */
	afterwards("rm -rf a b g && touch own && ln own g");
	at_such_a_time("true");
	afterwards("rm g");
	assert_false(have("own"));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_change_counts_by_its_time),
		cmocka_unit_test(a_killed_program_ends_when_somebody_looks),
		cmocka_unit_test(a_moved_directory_takes_its_files_along),
		cmocka_unit_test(what_is_made_beside_a_file_does_not_count_for_it),
		cmocka_unit_test(a_file_of_several_names_counts_until_it_is_written),
		cmocka_unit_test(too_many_directories_count_if_they_changed),
		cmocka_unit_test(many_times_take_little_room),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
