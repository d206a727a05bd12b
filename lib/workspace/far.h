/*
 * Commands and tools that a launcher runs on another machine (proc/via.h): which variables of a
 * step are passed, and what is recorded about that machine.
 */
#ifndef AWF_WORKSPACE_FAR_H
#define AWF_WORKSPACE_FAR_H

#include <stdbool.h>
#include <stdint.h>

#include "json/writer.h"
#include "proc/environment.h"
#include "proc/via.h"

/* Where something has run. */
struct far_end {
	bool begun;                  /* if false, it was not, and nothing else is known */
	bool told;                   /* its end, and its resource usage, are known */
	char host[FRAME_HOST_SIZE];
	int64_t user_ms, system_ms, max_rss_kib;
};

/* The variables that are passed: those for language, time and tracing; FRAME_MARKER with the call,
 * by which a program recognizes that it runs there; and the given ones, NAME of the environment or
 * NAME=VALUE, NULL-terminated, may be NULL. A list. */
char **far_environment(const struct environment *e, char *const *variables, const char *call);
/* What came of it. */
void far_take(struct far_end *far, const struct via *via);
/* The member far_end of a call's record; none if it did not begin. */
void far_write(struct writer *w, const struct far_end *far);

#endif
