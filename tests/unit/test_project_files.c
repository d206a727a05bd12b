/* The table of what programs read of a project, and which paths it means. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "proc/project_files.h"

static void
paths_are_known_in_any_directory(void **state)
{
	static const struct {
		const char *path;
		bool runs;
	} cases[] = {
		{ ".claude", true },
		{ ".claude/settings.json", true },
		{ "a/b/.claude/settings.local.json", true },
		{ ".env", true },
		{ "web/.env", true },
		{ ".config/mise/config.toml", true },
		{ ".github/hooks/x.json", true },
		{ ".github/workflows/ci.yml", false },
		{ "CLAUDE.md", false },
		{ ".claude2", false },
		{ "x.env", false },
		{ ".environment", false },
		{ "", false },
	};

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
		if (project_files_has(cases[i].path) != cases[i].runs)
			fail_msg("%s", cases[i].path);
}

/* Who keeps these names joins them to a directory. */
static void
names_are_relative_and_told_once_by_program(void **state)
{
	(void)state;
	for (const struct project_file *file = project_files; file->program != NULL; file++) {
		assert_true(*file->name != '/' && *file->name != '\0');
		assert_null(strstr(file->name, ".."));
		assert_int_not_equal(file->name[strlen(file->name) - 1], '/');
		for (const struct project_file *other = project_files; other < file; other++)
			if (strcmp(other->program, file->program) == 0 && strcmp(other->name, file->name) == 0)
				fail_msg("%s %s", file->program, file->name);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(paths_are_known_in_any_directory),
		cmocka_unit_test(names_are_relative_and_told_once_by_program),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
