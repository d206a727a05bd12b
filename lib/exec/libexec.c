#include "exec/libexec.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/memory.h"

/* Linux says where this program lies; elsewhere the installation's must do. */
static char *
program_path(void)
{
	char path[PATH_MAX];
	ssize_t len = readlink("/proc/self/exe", path, sizeof path - 1);

	return len <= 0 ? NULL : memory_copy(path, (size_t)len);
}

char *
libexec_sibling(const char *name)
{
	char *program = program_path(), *bin, *path;

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
	char *program = program_path(), *bin, *prefix, *list;

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
