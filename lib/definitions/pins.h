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

/* Adds a file with its present state, unless it is there already. Does nothing if the path is not
 * that of a regular file. */
void pins_add(struct pins *p, const char *path);
/* Adds the program of a command line (ends with NULL), and the interpreters that its first line
 * names; and its script, if the program is a shell or another known interpreter. */
void pins_add_command(struct pins *p, char *const *argv);
/* Reads once the files that others than root can write. For callers that run them outside of a
 * sandbox; must be called before anything runs in a sandbox. Of files that are not read, only the
 * state is compared. */
void pins_read(struct pins *p);
/* Appends a description of the pinned files; equal texts mean equal files. */
void pins_describe(const struct pins *p, struct buffer *text);
/* -1 with ERROR_BLOCKED, naming the first file that has changed. */
int pins_check(const struct pins *p, struct error *err);
void pins_free(struct pins *p);

#endif
