/*
 * How attachments are shown: by a label, never by their bytes. In message.user, the block of an
 * attachment has its media type, its name and its size.
 */
#ifndef AWF_STORAGE_ATTACHED_H
#define AWF_STORAGE_ATTACHED_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buffer.h"
#include "json/scan.h"

/* Appends "[image/png x.png, 12.0 KiB]"; name NULL, bytes -1: not known. */
void attached_label(const char *media_type, const char *name, int64_t bytes, struct buffer *out);
/* The same from the block of a message; false if the block is no attachment. */
bool attached_text(struct span block, struct buffer *out);
/* Appends a line for each content block of a tool's result, even if its bytes are in a blob: its
 * text, or a description. refs: those of the event. False if output is no such result. */
bool attached_output(struct span output, struct span refs, struct buffer *out);

#endif
