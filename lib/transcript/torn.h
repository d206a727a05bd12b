/*
 * Torn lines: bytes after the last complete line, which a killed process has left. They are
 * appended to <run-id>.torn next to the transcript and synced, before they may be cut off from the
 * transcript.
 */
#ifndef AWF_TRANSCRIPT_TORN_H
#define AWF_TRANSCRIPT_TORN_H

#include <stdint.h>

#include "base/error.h"
#include "transcript/window.h"

/* The path of that file; to be freed by the caller. */
char *torn_path(const char *path);
/* Copies the bytes [from, to) of the transcript at path into that file. */
int torn_keep(const char *path, struct window *w, int64_t from, int64_t to, struct error *err);

#endif
