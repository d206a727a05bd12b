/*
 * A file recorded by AgentLoom, awf-provider-replay(1): one JSON object whose members are answers,
 * or lists of answers, by the id of a step or the hash of a request. Members that begin with an
 * underscore describe the file.
 */
#ifndef AWF_RERUN_AGENTLOOM_FILE_H
#define AWF_RERUN_AGENTLOOM_FILE_H

#include <stdbool.h>

#include "base/buffer.h"
#include "base/error.h"
#include "json/scan.h"

struct agentloom_file {
	char *path;
	struct buffer text;
	struct span document;
	bool old;             /* the older form, without a version */
};

/* Whether a file was recorded by AgentLoom, judged by its first line, and not a transcript or
 * another file of answers. -1 with ERROR_INVALID if it cannot be opened. */
int agentloom_file_is(const char *path, bool *is, struct error *err);
/* Loads and checks it; call agentloom_file_free() in any case. Errors: ERROR_INVALID with FILE or
 * FILE:LINE as place. */
int agentloom_file_load(struct agentloom_file *f, const char *path, struct error *err);
/* The same from the content of a file, of which it takes ownership. */
int agentloom_file_parse(struct agentloom_file *f, const char *path, struct buffer *text,
    struct error *err);
void agentloom_file_free(struct agentloom_file *f);

#endif
