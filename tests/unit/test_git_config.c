/*
 * What of git's configuration is plain, and what is odd: lines of it, and what is said of them.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "base/list.h"
#include "isolate/git_config.h"

static void
test_lines(void **state)
{
	/* The text, and the first setting that is odd; NULL: none is. */
	static const struct { const char *text, *odd; } cases[] = {
		{ "", NULL },
		{ "[core]\n\trepositoryformatversion = 0\n\tfilemode = true\n\tbare\n", NULL },
		{ "# a\n; b\n\n[user]\r\n\tname = A. B\r\n", NULL },
		{ "[remote \"origin\"]\n\turl = https://x.org/a\n\tfetch = +refs/heads/*:refs/remotes/origin/*\n", NULL },
		{ "[branch \"a/b\"]\n\tremote = origin\n\tmerge = refs/heads/a/b\n", NULL },
		{ "[advice]\n\tdetachedHead = false\n", NULL },
		{ "[core]\n\tfsmonitor = x\n", "core.fsmonitor=x" },
		{ "[CORE]\nFSMonitor=x", "core.fsmonitor=x" },
		{ "[core]\n\tbare = a \"b\n", "core.bare=a \"b" },
		{ "[core] fsmonitor = x\n", "[core] fsmonitor = x" },
		{ "[core]bare = x\n", "[core]bare = x" },
		{ "[core]\n\tbare = false \\\nx\n\tfsmonitor = y\n", "[core]\n\tbare = false \\\nx\n\tfsmonitor = y\n" },
		{ "[core]\n\tbare = \\", "[core]\n\tbare = \\" },
		{ "\xef\xbb\xbf[core]\nfsmonitor = x\n", "\xef\xbb\xbf[core]" },
		{ "bare = x\n", "bare = x" },
		{ "[core.bare]\nbare = x\n", "[core.bare]" },
		{ "[core \"x\"]\nbare = x\n", "core.x.bare=x" },
		{ "[remote \"a\\\"b\"]\nurl = x\n", "[remote \"a\\\"b\"]" },
		{ "[remote \"o\"]\nurl = ext::sh -c x\n", "remote.o.url=ext::sh -c x" },
		{ "[remote \"o\"]\nurl = --upload-pack=x\n", "remote.o.url=--upload-pack=x" },
		{ "[submodule \"o\"]\nupdate = !x\n", "submodule.o.update=!x" },
		{ "[branch \"b\"]\nremote = fd::1\n", "branch.b.remote=fd::1" },
		{ "[include]\npath = x\n", "include.path=x" },
		{ "[includeIf \"onbranch:**\"]\npath = x\n", "includeif.onbranch:**.path=x" },
		{ "[filter \"d\"]\nclean = x\n", "filter.d.clean=x" },
		{ "[advice \"x\"]\ny = z\n", "advice.x.y=z" },
		{ "[core]\nworktree = ../x\n", "core.worktree=../x" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		char **odd = git_config_odd(cases[i].text, strlen(cases[i].text));

		if (cases[i].odd == NULL)
			assert_null(odd);
		else if (odd == NULL)
			fail_msg("plain: %s", cases[i].text);
		else
			assert_string_equal(odd[0], cases[i].odd);
		list_free(odd);
	}
}

static void
test_bytes(void **state)
{
	static const char text[] = "[core]\n\0fsmonitor = x\n";
	char **odd = git_config_odd(text, sizeof text - 1);

	(void)state;
	assert_non_null(odd);
	list_free(odd);
}

static void
test_options(void **state)
{
	static const char plain[] = "[options]\n\tno-commit = true\n", strategy[] = "[options]\n\tstrategy = ../x\n";
	char **odd = git_config_odd_options(strategy, sizeof strategy - 1);

	(void)state;
	assert_null(git_config_odd_options(plain, sizeof plain - 1));
	assert_string_equal(odd[0], "options.strategy=../x");
	list_free(odd);
}

int
main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_lines), cmocka_unit_test(test_bytes),
		cmocka_unit_test(test_options) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
