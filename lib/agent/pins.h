/*
 * Files that AWF runs itself, outside of any sandbox: they are those that were there when
 * the step began. What a sandboxed program writes over them is not run.
 *
 * A file counts as changed when it is another one, or its size or one of its times is: the
 * time of its last change is the kernel's, which no sandboxed program can set.
 */
#ifndef AWF_AGENT_PINS_H
#define AWF_AGENT_PINS_H

#include <jansson.h>
#include <stddef.h>

#include "base/error.h"

struct pin;

struct pins {
	struct pin *list;
	size_t count;
};

/* A file as it is now, or as it was when it was added first; what is none, or is not there, is
 * passed over. */
void pins_add(struct pins *p, const char *path);
/* The program of a command line (ends with NULL), if it is named by its path; and the script
 * that it is given, if it is a shell or the like. */
void pins_add_command(struct pins *p, char *const *argv);
/* ERROR_BLOCKED names the first file that was changed. */
int pins_check(const struct pins *p, struct error *err);
void pins_free(struct pins *p);

#endif
