/*
 * The directory relative to the running program (libexec next to bin) is tried before the
 * compiled-in one: so a build directory works, and an installation that was moved.
 */
#include "proc/libexec.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/text.h"
#include "io/file.h"
#include "io/installation.h"

char *
libexec_sibling(const char *name)
{
	char *program = installation_program(), *bin, *path;

	if (program == NULL)
		return memory_text(name);
	bin = path_directory(program);
	path = path_join(bin, name);
	free(program);
	free(bin);
	return path;
}

char *
libexec_path(void)
{
	char *bin = installation_programs(), *prefix, *list;

	if (bin == NULL)
		return memory_text(AWF_LIBEXECDIR);
	prefix = path_directory(bin);
	list = memory_format("%s/libexec/awf:%s", prefix, AWF_LIBEXECDIR);
	free(bin);
	free(prefix);
	return list;
}

bool
libexec_has(const char *program)
{
	char *list = libexec_path(), *directory = path_directory(program);
	const bool has = text_has_part(list, ':', directory, strlen(directory));

	free(directory);
	free(list);
	return has;
}

char *
libexec_filter(const char *prefix, const char *url, const char *place, struct error *err)
{
	static const struct { const char *scheme, *name; } others[] = {
		{ "https", "http" }, { "postgres", "postgresql" },
	};
	char *name = memory_copy(url, strcspn(url, ":+")), *program, *own, *sibling, *beside, *list, *filter;
	const char *path = environment_text("PATH");

	for (size_t i = 0; i < sizeof others / sizeof *others; i++)
		if (strcmp(name, others[i].scheme) == 0) {
			free(name);
			name = memory_text(others[i].name);
		}
	if (strchr(url, ':') == NULL || *url == '-' || !name_valid(name)) {
		free(name);
		error_set(err, ERROR_USAGE, place, "'%.*s' is no URL, such as sqlite:FILE",
		    (int)strcspn(url, ":"), url);
		return NULL;
	}
	program = memory_format("%s-%s", prefix, name);
	own = libexec_path();
	/* The program that searches may be in the same directory. */
	sibling = libexec_sibling(program);
	beside = path_directory(sibling);
	list = memory_format("%s:%s:%s", own, beside, path != NULL ? path : "");
	filter = path_search(list, program);
	if (filter == NULL)
		error_set(err, ERROR_USAGE, place, "nothing here can %s %s: there is no %s in %s, nor in PATH "
		    "(is its package, such as awf-sql, not installed, or was AWF built where its library was missing?)",
		    strcmp(prefix, "awf-ship") == 0 ? "write to" : "read from", name, program, own);
	free(list);
	free(beside);
	free(sibling);
	free(own);
	free(program);
	free(name);
	return filter;
}
