/*
 * awf-tool-glob: lists the files whose paths match a pattern.
 */
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "builtin.h"
#include "files.h"
#include "glob.h"
#include "io/file.h"

#define FILES_LIMIT 1000

static bool
glob_matches_path(const void *pattern, const char *path)
{
	return pattern_matches(pattern, path, strlen(path));
}

static int
list_files(struct builtin *b, struct error *err)
{
	const char *glob = NULL, *path = ".";
	const struct argument arguments[] = {
		{ "pattern", &glob, ARGUMENT_NAME, .required = true },
		{ "path", &path, ARGUMENT_NAME, .required = false },
		{ .name = NULL }
	};
	struct files files = { .list = NULL };
	struct pattern *pattern;
	char *directory;
	size_t base;
	int failed;

	if (builtin_arguments(b, arguments, err) != 0)
		return -1;
	/* To look in: what of the pattern is a directory, from the one that is given. */
	base = glob_base(glob);
	if (base == 0) {
		directory = memory_text(path);
	} else {
		char *part = memory_copy(glob, base > 1 ? base - 1 : 1);

		directory = *part == '/' || strcmp(path, ".") == 0 ? memory_text(part) :
		    path_join(path, part);
		free(part);
	}
	pattern = glob_compile(glob + base, err);
	failed = pattern == NULL ? -1 : files_find(&files, directory, glob_matches_path, pattern,
	    err);
	if (failed == 0) {
		for (size_t i = 0; i < files.count && i < FILES_LIMIT; i++) {
			buffer_text(&b->answer, files.list[i]);
			buffer_byte(&b->answer, '\n');
		}
		if (files.count > FILES_LIMIT)
			builtin_remark(b, "%zu files match, these are the first %d: narrow the pattern",
			    files.count, FILES_LIMIT);
		if (files.count == 0)
			builtin_remark(b, "no file matches");
		if (files.unread > 0)
			builtin_remark(b, "%zu directories could not be read", files.unread);
	}
	files_free(&files);
	pattern_free(pattern);
	free(directory);
	return failed;
}

int
main(int argc, char **argv)
{
	return builtin_main("glob", list_files, argc, argv);
}
