/*
 * The files of a workspace that command lines run: a table of lines and of what is found in them.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <cmocka.h>

#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/list.h"
#include "base/memory.h"
#include "proc/command_files.h"

#define WORDS 10

static char workspace[PATH_MAX];

static void
make_file(const char *name, const char *text)
{
	FILE *file = fopen(name, "w");

	assert_non_null(file);
	fputs(text, file);
	fclose(file);
	assert_int_equal(chmod(name, 0755), 0);
}

static int
set_up(void **state)
{
	static const char *const directories[] = { "sub", "bin", "pkg", "pkg/inner", "app" };
	static const char *const files[] = { "x", "y", "-dash", "x.sh", "x.py", "x.js", "x.awk", "data.txt",
		"a b.sh", "sub/x", "sub/y.sh", "bin/tool", "pkg/__main__.py", "pkg/mod.py", "pkg/inner/__main__.py", "app/index.js",
		"Makefile", "sub/makefile", "other.mk", "pre.js", "interp" };
	char made[] = "/tmp/awf-command-files-XXXXXX";

	(void)state;
	assert_non_null(mkdtemp(made));
	assert_non_null(realpath(made, workspace));
	assert_int_equal(chdir(workspace), 0);
	for (size_t i = 0; i < sizeof directories / sizeof *directories; i++)
		assert_int_equal(mkdir(directories[i], 0755), 0);
	for (size_t i = 0; i < sizeof files / sizeof *files; i++)
		make_file(files[i], "");
	make_file("by-interp", "#!./interp -x\n");
	make_file("by-env", "#!/usr/bin/env -S ./interp -x\n");
	assert_int_equal(symlink("/bin/sh", "elsewhere"), 0);
	assert_int_equal(symlink("sub/x", "link"), 0);
	return 0;
}

static int
tear_down(void **state)
{
	char *command = memory_format("rm -rf '%s'", workspace);
	int failed = chdir("/") != 0 || system(command) != 0;

	(void)state;
	free(command);
	return failed ? -1 : 0;
}

/* What was found, relative to the workspace, with commas between. */
static char *
take_found(struct command_files *f)
{
	struct buffer text = BUFFER_INIT;

	for (char **path = f->list; path != NULL && *path != NULL; path++) {
		assert_true(strncmp(*path, workspace, strlen(workspace)) == 0);
		buffer_format(&text, "%s%s", text.len > 0 ? "," : "", *path + strlen(workspace) + 1);
	}
	for (char **path = f->sourced; path != NULL && *path != NULL; path++)
		buffer_format(&text, "%ssourced:%s", text.len > 0 ? "," : "",
		    *path + strlen(workspace) + 1);
	list_free(f->list);
	list_free(f->sourced);
	buffer_string(&text);
	return buffer_take(&text);
}

static struct command_files
begin(const char *path)
{
	return (struct command_files){ .workspace = workspace, .directory = workspace, .path = path };
}

static void
finds_in_words(void **state)
{
	static const struct {
		const char *words[WORDS], *found;
	} lines[] = {
		{ { "./x", "data.txt" }, "x" },
		{ { "x" }, "" },
		{ { "true" }, "" },
		{ { "/bin/sh", "x.sh" }, "x.sh" },
		{ { "./missing" }, "" },
		{ { "./sub" }, "" },
		{ { "./link" }, "sub/x" },
		{ { "./elsewhere", "x.sh" }, "" },
		{ { "cat", "data.txt" }, "" },
		{ { "./by-interp" }, "by-interp,interp" },
		{ { "./by-env" }, "by-env,interp" },
		/* shells */
		{ { "sh", "x.sh", "data.txt" }, "x.sh" },
		{ { "bash", "-e", "x.sh" }, "x.sh" },
		{ { "bash", "-euo", "pipefail", "x.sh" }, "x.sh" },
		{ { "bash", "-o", "errexit", "--", "x.sh" }, "x.sh" },
		{ { "bash", "--rcfile", "y", "x.sh" }, "x.sh" },
		{ { "sh", "-c", "./x data.txt" }, "x" },
		{ { "sh", "-ec", "./x", "./y" }, "x" },
		{ { "bash", "-euo", "pipefail", "-c", "./x | ./y" }, "x,y" },
		{ { "sh", "-s", "x.sh" }, "" },
		/* interpreters */
		{ { "python3", "x.py" }, "x.py" },
		{ { "python3.12", "-u", "x.py" }, "x.py" },
		{ { "/usr/bin/python3", "-W", "ignore", "x.py", "data.txt" }, "x.py" },
		{ { "python3", "-Wignore", "x.py" }, "x.py" },
		{ { "python3", "-c", "print(1)", "x.py" }, "" },
		{ { "python3", "-m", "pkg" }, "pkg/__main__.py" },
		{ { "python3", "-m", "pkg.mod", "x.py" }, "pkg/mod.py" },
		{ { "python3", "-m", "pkg.inner" }, "pkg/inner/__main__.py" },
		{ { "python3", "-um", "pkg" }, "pkg/__main__.py" },
		{ { "python3", "pkg" }, "pkg/__main__.py" },
		{ { "node", "x.js" }, "x.js" },
		{ { "node", "--require", "./pre.js", "x.js" }, "pre.js,x.js" },
		{ { "node", "--require=./pre.js", "x.js" }, "pre.js,x.js" },
		{ { "node", "app" }, "app/index.js" },
		{ { "node", "-e", "1", "x.js" }, "" },
		{ { "deno", "run", "--allow-read", "x.js" }, "x.js" },
		{ { "perl", "-w", "x" }, "x" },
		{ { "awk", "-f", "x.awk", "data.txt" }, "x.awk" },
		{ { "awk", "-F", ":", "{ print }", "data.txt" }, "" },
		{ { "awk", "-fx.awk", "data.txt" }, "x.awk" },
		{ { "jq", "--from-file", "x", "data.txt" }, "x" },
		{ { "make", "all" }, "Makefile" },
		{ { "make", "-f", "other.mk" }, "other.mk" },
		{ { "make", "-C", "sub" }, "sub/makefile" },
		/* wrappers */
		{ { "env", "./x" }, "x" },
		{ { "env", "-i", "FOO=1", "B=2", "./x" }, "x" },
		{ { "env", "-u", "HOME", "./x" }, "x" },
		{ { "env", "-S", "python3 -u x.py" }, "x.py" },
		{ { "env", "-S", "sh -e", "x.sh" }, "x.sh" },
		{ { "env", "-C", "sub", "./x" }, "sub/x" },
		{ { "FOO=1", "./x" }, "x" },
		{ { "timeout", "5", "./x" }, "x" },
		{ { "timeout", "-k", "1", "5", "./x" }, "x" },
		{ { "timeout", "--signal=KILL", "5", "sh", "x.sh" }, "x.sh" },
		{ { "nice", "./x" }, "x" },
		{ { "nice", "-n", "5", "./x" }, "x" },
		{ { "nice", "-n5", "./x" }, "x" },
		{ { "nohup", "setsid", "./x" }, "x" },
		{ { "stdbuf", "-oL", "./x" }, "x" },
		{ { "xargs", "./x" }, "x" },
		{ { "xargs", "-n", "1", "-I{}", "./x", "{}" }, "x" },
		{ { "xargs", "-0", "-P4", "sh", "-c", "./y", "_" }, "y" },
		{ { "find", ".", "-exec", "./x", "{}", ";" }, "x" },
		{ { "flock", "lock", "./x" }, "x" },
		{ { "flock", "-n", "lock", "sh", "-c", "./x" }, "x" },
		{ { "flock", "lock", "-c", "./x data.txt; ./y" }, "x,y" },
		{ { "flock", "-w", "5", "lock", "--command", "./x" }, "x" },
		{ { "su", "me", "-c", "./x" }, "x" },
		{ { "su", "-c", "./x", "me" }, "x" },
		{ { "sg", "staff", "-c", "./x" }, "x" },
		{ { "script", "-qc", "./x", "/dev/null" }, "x" },
		{ { "watch", "-n", "2", "./x", "data.txt" }, "x" },
		{ { "uv", "run", "x.py" }, "x.py" },
		{ { "uv", "run", "python", "x.py" }, "x.py" },
		{ { "uv", "pip", "x.py" }, "" },
		{ { "sudo", "-u", "me", "./x" }, "x" },
		{ { "env", "timeout", "5", "bash", "-c", "exec nice ./x" }, "x" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
		struct command_files f = begin("/usr/bin:/bin");
		char *found;

		command_files_add(&f, (char *const *)(uintptr_t)lines[i].words);
		found = take_found(&f);
		if (strcmp(found, lines[i].found) != 0)
			print_error("line %zu: %s %s\n", i, lines[i].words[0],
			    lines[i].words[1] != NULL ? lines[i].words[1] : "");
		assert_string_equal(found, lines[i].found);
		free(found);
	}
}

static void
finds_in_shell_text(void **state)
{
	static const struct {
		const char *text, *found;
	} texts[] = {
		{ "", "" },
		{ "./x", "x" },
		{ "  ./x; ./y", "x,y" },
		{ "./x && ./y || true", "x,y" },
		{ "cat data.txt | ./x >y", "x" },
		{ "A=1 B='2 3' ./x", "x" },
		{ "if ./x; then ./y; else sub/x; fi", "x,y,sub/x" },
		{ "while read l; do ./x \"$l\"; done <data.txt", "x" },
		{ "for f in ./y; do ./x $f; done", "x" },
		{ "! ./x", "x" },
		{ "{ ./x; }", "x" },
		{ "(./x)", "x" },
		{ "exec ./x", "x" },
		{ ". ./x.sh", "sourced:x.sh" },
		{ ". ./x.sh; ./x", "x,sourced:x.sh" },
		{ "\"./a b.sh\"", "a b.sh" },
		{ "./a\\ b.sh", "a b.sh" },
		{ "'./a b.sh' data.txt", "a b.sh" },
		{ "echo $(./x)", "x" },
		{ "echo \"$(./x | ./y)\" done", "x,y" },
		{ "echo `./x`", "x" },
		{ "echo '$(./x)'", "" },
		{ "echo $((1 + 2)); ./x", "x" },
		{ "$X ./x", "" },
		{ "./$X", "" },
		{ "./x 2>&1 >/dev/null", "x" },
		{ "2>err ./x", "x" },
		{ ">out ./x; ./y", "x,y" },
		{ "# ./x\n./y", "y" },
		{ "cat <<E\n./x\nE\n./y", "y" },
		{ "cat <<'E' | ./y\n./x\nE\nsub/x", "y,sub/x" },
		{ "sh <x.sh", "x.sh" },
		{ "bash -s data.txt < ./x.sh", "x.sh" },
		{ "<'x.sh' sh", "x.sh" },
		{ "python3 - <x.py", "x.py" },
		{ "timeout 5 sh <\"x.sh\"; ./y", "x.sh,y" },
		{ "./x <data.txt; sh", "x" },
		{ "sh x.sh <data.txt", "x.sh" },
		{ "sh -c ./x <data.txt", "x" },
		{ "python3 -c 1 <data.txt", "" },
		{ "xargs python3 <data.txt", "" },
		{ "sh <$X", "" },
		{ "sh 3<x.sh", "" },
		{ "sh <&3", "" },
		{ "eval ./x data.txt", "x" },
		{ "eval './x; ./y'", "x,y" },
		{ "trap './x' EXIT", "x" },
		{ "cd sub && ./x", "sub/x" },
		{ "cd sub; sh y.sh", "sub/y.sh" },
		{ "cd \"$D\" && ./x", "" },
		{ "sh -c './x arg'", "x" },
		{ "bash -c \"sh -c './x'\"", "x" },
		{ "case $1 in a) ./x ;; *) ./y ;; esac", "x,y" },
		{ "test -x ./x && ./y", "y" },
		{ "grep -q ok data.txt", "" },
		{ "echo $", "" },
		{ "echo \"", "" },
		{ "echo $(", "" },
		{ "\\", "" },
		{ "cat <<", "" },
		{ "./x &", "x" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
		struct command_files f = begin("/usr/bin:/bin");
		char *found;

		command_files_add_shell(&f, texts[i].text);
		found = take_found(&f);
		if (strcmp(found, texts[i].found) != 0)
			print_error("text %zu: %s\n", i, texts[i].text);
		assert_string_equal(found, texts[i].found);
		free(found);
	}
}

static void
finds_by_path_where_that_leads_to_the_workspace(void **state)
{
	char *const tool[] = { (char *)(uintptr_t)"tool", NULL };
	char *path = memory_format("/usr/bin:%s/bin", workspace);
	const char *const paths[] = { path, "/usr/bin:bin", "/usr/bin", NULL };
	static const char *const expected[] = { "bin/tool", "bin/tool", "", "" };

	(void)state;
	for (size_t i = 0; i < sizeof paths / sizeof *paths; i++) {
		struct command_files f = begin(paths[i]);
		char *found;

		command_files_add(&f, tool);
		found = take_found(&f);
		assert_string_equal(found, expected[i]);
		free(found);
	}
	free(path);
}

static void
what_lies_outside_is_none(void **state)
{
	char *within = memory_format("%s/sub", workspace);
	struct command_files f = { .workspace = within, .directory = within };
	char *const up[] = { (char *)(uintptr_t)"../x", NULL };
	char *const here[] = { (char *)(uintptr_t)"./x", NULL };

	(void)state;
	command_files_add(&f, up);
	assert_null(f.list);
	command_files_add(&f, here);
	assert_int_equal(list_count(f.list), 1);
	list_free(f.list);
	free(within);
}

static void
the_systems_programs_are_none_wherever_one_works(void **state)
{
	struct command_files f = { .workspace = "/", .directory = "/", .path = "/usr/bin:/bin" };
	char *const sh[] = { (char *)(uintptr_t)"sh", NULL };
	char *own = memory_format("%s/x", workspace);
	char *const words[] = { own, NULL };

	(void)state;
	command_files_add(&f, sh);
	assert_null(f.list);
	command_files_add(&f, words);
	assert_int_equal(list_count(f.list), 1);
	list_free(f.list);
	free(own);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(finds_in_words),
		cmocka_unit_test(finds_in_shell_text),
		cmocka_unit_test(finds_by_path_where_that_leads_to_the_workspace),
		cmocka_unit_test(what_lies_outside_is_none),
		cmocka_unit_test(the_systems_programs_are_none_wherever_one_works),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
