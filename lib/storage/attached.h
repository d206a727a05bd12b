/*
 * How an attachment is shown: never its bytes. The block of one, in message.user, has its
 * media type, its name and how many bytes it is.
 */
#ifndef AWF_STORAGE_ATTACHED_H
#define AWF_STORAGE_ATTACHED_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buffer.h"
#include "json/scan.h"

/* Appends "[image/png x.png, 12.0 KiB]"; name NULL, bytes -1: not known. */
void attached_label(const char *media_type, const char *name, int64_t bytes, struct buffer *out);
/* The same from a block; false if it is no attachment. */
bool attached_text(struct span block, struct buffer *out);
/* Appends a line for each content block of a tool's result, some of which have their bytes in
 * blobs: its text, or a description. refs: those of the event. False if it is not such a
 * result. */
bool attached_output(struct span output, struct span refs, struct buffer *out);

#endif
