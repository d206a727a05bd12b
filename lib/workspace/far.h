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

/* What is known about a command that a launcher has run elsewhere. */
struct far_end {
	bool begun;                  /* false: it was not started, and nothing else is known */
	bool told;                   /* its exit status and its resource usage are known */
	char host[FRAME_HOST_SIZE];
	int64_t user_ms, system_ms, max_rss_kib;
};

/* The variables that are passed: those for language, time and tracing; FRAME_MARKER with the call,
 * by which a program can see that a launcher runs it; and `variables`, each the NAME of a variable
 * in the environment or NAME=VALUE (NULL-terminated; may be NULL). Returns a list. */
char **far_environment(const struct environment *e, char *const *variables, const char *call);
/* Copies what the launcher has reported. */
void far_take(struct far_end *far, const struct via *via);
/* Writes the member far_end of a call's record; nothing if the command was not started. */
void far_write(struct writer *w, const struct far_end *far);

#endif
