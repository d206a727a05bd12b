/*
 * Makes sure that the files that AWF runs itself, outside of any sandbox, have not changed since
 * the step began, so that nothing that a sandboxed program has written is run.
 *
 * A file counts as changed if its inode, its size or one of its times is different. If users other
 * than root can write it, its contents are compared, too, since a memory mapping can change a file
 * without changing its times (storage/kept_digest.h). A program that is looked up in PATH also
 * counts as changed if another one is found before it.
 */
#ifndef AWF_DEFINITIONS_PINS_H
#define AWF_DEFINITIONS_PINS_H

#include <jansson.h>
#include <stddef.h>

#include "base/buffer.h"
#include "base/error.h"

struct pin;

struct pins {
	struct pin *list;
	size_t count;
};

/* A file as it is now, or as it was when it was added first; what is none, or is not there, is
 * passed over. */
void pins_add(struct pins *p, const char *path);
/* The program of a command line (ends with NULL), with what its first line says that it is run
 * by; and the script that it is given, if it is a shell or the like. */
void pins_add_command(struct pins *p, char *const *argv);
/* Reads what others than root can write, once. It is for who runs them outside of a sandbox, and
 * to be called before anything runs in one; of what was not read the state alone counts. */
void pins_read(struct pins *p);
/* Appends what they are: two texts that are the same are of the same files. */
void pins_describe(const struct pins *p, struct buffer *text);
/* ERROR_BLOCKED names the first file that was changed. */
int pins_check(const struct pins *p, struct error *err);
void pins_free(struct pins *p);

#endif
