/*
 * Torn lines: what a killed writer left after the last whole line. It is appended
 * to <run-id>.torn beside the transcript, and synced there before anybody cuts it
 * off here.
 */
#ifndef AWF_TRANSCRIPT_TORN_H
#define AWF_TRANSCRIPT_TORN_H

#include <stdint.h>

#include "base/error.h"
#include "transcript/window.h"

/* <path minus .jsonl>.torn, in memory of its own. */
char *torn_path(const char *path);
/* Copies the bytes [from, to) of the transcript at path into that file. */
int torn_keep(const char *path, struct window *w, int64_t from, int64_t to, struct error *err);

#endif
