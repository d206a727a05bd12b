/*
 * Every change of a file's contents, name or place updates st_ctime, with one exception: writing to
 * a mapping of it that was modified before. So if only root can write a file, comparing its state
 * is enough; any other file is read again.
 */
#include "definitions/pins.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/digest.h"
#include "base/memory.h"
#include "io/file.h"
#include "storage/kept_digest.h"

#define INTERPRETERS 5 /* most interpreters of interpreters; the kernel has the same limit */

struct pin {
	char *path;
	char *name;                /* name that is looked up in PATH; NULL */
	struct stat was;
	char digest[DIGEST_SIZE];  /* "": none; "-": the file cannot be read any more */
};

static struct pin *
pins_add_file(struct pins *p, const char *path)
{
	struct stat st;

	for (size_t i = 0; i < p->count; i++)
		if (strcmp(p->list[i].path, path) == 0)
			return &p->list[i];
	if (stat(path, &st) != 0 || !S_ISREG(st.st_mode))
		return NULL;
	p->list = memory_array(p->list, p->count + 1, sizeof *p->list);
	p->list[p->count] = (struct pin){ .path = memory_text(path), .was = st };
	return &p->list[p->count++];
}

void
pins_add(struct pins *p, const char *path)
{
	pins_add_file(p, path);
}

/* The path of the program that PATH leads to, to be freed by the caller; NULL. */
static char *
pins_search_path(const char *name)
{
	const char *list = getenv("PATH");

	return list == NULL ? NULL : path_search(list, name);
}

/* Pins a program, given by name or path, and the interpreters in its first line. */
static void
add_program(struct pins *p, const char *word, int depth)
{
	char *line, *rest, *next, *found = NULL;
	struct pin *pin;

	if (depth == 0)
		return;
	if (strchr(word, '/') == NULL) {
		found = pins_search_path(word);
		if (found == NULL)
			return;
	}
	pin = pins_add_file(p, found != NULL ? found : word);
	if (pin == NULL) {
		free(found);
		return;
	}
	if (found != NULL && pin->name == NULL)
		pin->name = memory_text(word);
	rest = line = file_interpreter(pin->path);
	free(found);

	/* The interpreter; if that is env, also the program after its options and variables. */
	while ((next = strsep(&rest, " \t\r")) != NULL) {
		if (strncmp(next, "-S", 2) == 0)
			next += 2;
		if (*next == '\0' || *next == '-' || strchr(next, '=') != NULL)
			continue;
		add_program(p, next, depth - 1);
		if (strcmp(path_base(next), "env") != 0)
			break;
	}
	free(line);
}

void
pins_add_command(struct pins *p, char *const *argv)
{
	static const char *const interpreters[] = { "sh", "bash", "dash", "ksh", "zsh", "python",
		"perl", "ruby", "node" };
	const char *base;

	if (*argv == NULL)
		return;
	add_program(p, *argv, INTERPRETERS);
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

/* The digest of a file if its state has not changed; otherwise "-". */
static void
digest_unchanged(const struct pin *pin, char digest[DIGEST_SIZE])
{
	struct digest_reading reading;
	bool same = digest_reading_begin(&reading, pin->path) == 0;

	if (same) {
		same = file_unchanged(&pin->was, &reading.st) && digest_fd_blake2b(reading.fd, digest) == 0;
		digest_reading_end(&reading);
	}
	if (!same)
		memcpy(digest, "-", 2);
}

void
pins_read(struct pins *p)
{
	for (size_t i = 0; i < p->count; i++)
		if (*p->list[i].digest == '\0' &&
		    !kept_digest_state_tells(p->list[i].path, &p->list[i].was))
			digest_unchanged(&p->list[i], p->list[i].digest);
}

void
pins_describe(const struct pins *p, struct buffer *text)
{
	for (const struct pin *pin = p->list; pin < p->list + p->count; pin++) {
		buffer_format(text, "%s ", pin->path);
		if (*pin->digest != '\0')
			buffer_format(text, "%s\n", pin->digest);
		else
			buffer_format(text, "%llx.%llx %lld %lld.%09ld\n", (unsigned long long)pin->was.st_dev,
			    (unsigned long long)pin->was.st_ino, (long long)pin->was.st_size,
			    (long long)pin->was.st_ctim.tv_sec, pin->was.st_ctim.tv_nsec);
	}
}

/* Whether a file has not changed, as far as can be known. */
static bool
pin_is_same(const struct pin *pin)
{
	char digest[DIGEST_SIZE];
	struct stat is;

	if (stat(pin->path, &is) != 0 || !file_unchanged(&pin->was, &is))
		return false;
	if (*pin->digest == '\0')
		return true;
	digest_unchanged(pin, digest);
	return *digest != '-' && strcmp(digest, pin->digest) == 0;
}

int
pins_check(const struct pins *p, struct error *err)
{
	int result = 0;

	for (const struct pin *pin = p->list; result == 0 && pin < p->list + p->count; pin++) {
		char *found = pin->name == NULL ? NULL : pins_search_path(pin->name);

		if (found != NULL && strcmp(found, pin->path) != 0)
			result = error_set(err, ERROR_BLOCKED, NULL, "%s is found in $PATH where %s was when the "
			    "step began, and is not run: a sandboxed program may have written it", found,
			    pin->path);
		else if (!pin_is_same(pin))
			result = error_set(err, ERROR_BLOCKED, NULL, "%s was changed since the "
			    "step began, and is refused: a sandboxed program may have written "
			    "it", pin->path);
		free(found);
	}
	return result;
}

void
pins_free(struct pins *p)
{
	for (size_t i = 0; i < p->count; i++) {
		free(p->list[i].path);
		free(p->list[i].name);
	}
	free(p->list);
	*p = (struct pins){ NULL, 0 };
}
