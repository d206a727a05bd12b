/*
 * awf-tool-glob: lists the files whose paths match a pattern.
 */
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/memory.h"
#include "builtin.h"
#include "files.h"
#include "glob.h"

#define FILES_LIMIT 1000

static bool
matches(const void *pattern, const char *path)
{
	return pattern_matches(pattern, path, strlen(path));
}

static void
tell(const struct files *f, struct builtin *b)
{
	for (size_t i = 0; i < f->count && i < FILES_LIMIT; i++) {
		buffer_text(&b->answer, f->list[i]);
		buffer_byte(&b->answer, '\n');
	}
	if (f->count > FILES_LIMIT)
		builtin_remark(b, "%zu files match, these are the first %d: narrow the pattern",
		    f->count, FILES_LIMIT);
	if (f->count == 0)
		builtin_remark(b, "no file matches");
	if (f->unread > 0)
		builtin_remark(b, "%zu directories could not be read", f->unread);
}

/* The directory to look in: what of the pattern is one, from the directory that is
 * given. In memory of its own. */
static char *
directory_of(const char *given, const char *pattern, size_t base)
{
	char *part, *joined;

	if (base == 0)
		return memory_text(given);
	part = memory_copy(pattern, base > 1 ? base - 1 : 1);
	if (*part == '/' || strcmp(given, ".") == 0)
		return part;
	joined = path_join(given, part);
	free(part);
	return joined;
}

static int
list(struct builtin *b, const char *given, const char *glob, struct error *err)
{
	size_t base = glob_base(glob);
	struct pattern *pattern = glob_compile(glob + base, err);
	char *directory = directory_of(given, glob, base);
	struct files files = { .list = NULL };
	int failed = pattern == NULL ? -1 : files_find(&files, directory, matches, pattern, err);

	if (failed == 0)
		tell(&files, b);
	files_free(&files);
	pattern_free(pattern);
	free(directory);
	return failed;
}

static int
list_files(struct builtin *b, struct error *err)
{
	const char *pattern = NULL, *path = ".";
	const struct argument arguments[] = {
		{ "pattern", &pattern, ARGUMENT_NAME, .required = true },
		{ "path", &path, ARGUMENT_NAME, .required = false },
		{ .name = NULL }
	};

	return builtin_arguments(b, arguments, err) == 0 ? list(b, path, pattern, err) : -1;
}

int
main(int argc, char **argv)
{
	return builtin_main("glob", list_files, argc, argv);
}
