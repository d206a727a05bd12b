/*
 * Relative to the program that runs (bin beside libexec) before the directory that was
 * compiled in: so a build directory works, and an installation that was moved.
 */
#include "proc/libexec.h"

#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/installation.h"
#include "base/memory.h"
#include "base/text.h"

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
	char *program = installation_program(), *bin, *prefix, *list;

	if (program == NULL)
		return memory_text(AWF_LIBEXECDIR);
	bin = path_directory(program);
	prefix = path_directory(bin);
	list = memory_format("%s/libexec/awf:%s", prefix, AWF_LIBEXECDIR);
	free(program);
	free(bin);
	free(prefix);
	return list;
}

bool
libexec_has(const char *program)
{
	char *list = libexec_path(), *directory = path_directory(program);
	const char *rest = list, *part;
	bool has = false;
	size_t len;

	while (!has && (part = text_part(&rest, ':', &len)) != NULL)
		has = strlen(directory) == len && memcmp(part, directory, len) == 0;
	free(directory);
	free(list);
	return has;
}
