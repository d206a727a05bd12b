/*
 * A change of a file's contents, its name or its place moves st_ctime, so that nothing has to
 * be read again.
 */
#include "agent/pins.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/file.h"
#include "base/memory.h"

struct pin {
	char *path;
	struct stat was;
};

void
pins_add(struct pins *p, const char *path)
{
	struct stat st;

	for (size_t i = 0; i < p->count; i++)
		if (strcmp(p->list[i].path, path) == 0)
			return;
	if (stat(path, &st) != 0 || !S_ISREG(st.st_mode))
		return;
	p->list = memory_array(p->list, p->count + 1, sizeof *p->list);
	p->list[p->count++] = (struct pin){ memory_text(path), st };
}

void
pins_add_command(struct pins *p, char *const *argv)
{
	static const char *const interpreters[] = { "sh", "bash", "dash", "ksh", "zsh", "python",
		"perl", "ruby", "node" };
	const char *base;

	if (*argv == NULL)
		return;
	if (strchr(*argv, '/') != NULL)
		pins_add(p, *argv);
	base = path_base(*argv);
	for (size_t i = 0; i < sizeof interpreters / sizeof *interpreters; i++) {
		size_t len = strlen(interpreters[i]);

		/* python3.12 */
		if (strncmp(base, interpreters[i], len) != 0 ||
		    base[len + strspn(base + len, "0123456789.")] != '\0')
			continue;
		while (*++argv != NULL && **argv == '-')
			;
		if (*argv != NULL)
			pins_add(p, *argv);
		return;
	}
}

int
pins_check(const struct pins *p, struct error *err)
{
	for (size_t i = 0; i < p->count; i++) {
		struct stat is;

		if (stat(p->list[i].path, &is) != 0 || !file_unchanged(&p->list[i].was, &is))
			return error_set(err, ERROR_BLOCKED, NULL, "%s was changed since the step began, and "
			    "is not run any more: a sandboxed program may have written it", p->list[i].path);
	}
	return 0;
}

void
pins_free(struct pins *p)
{
	for (size_t i = 0; i < p->count; i++)
		free(p->list[i].path);
	free(p->list);
	*p = (struct pins){ NULL, 0 };
}
