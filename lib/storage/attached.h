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
/* What a tool gave, of whose content blocks some have their bytes in blobs: a line for each, its
 * text or what it is. refs: the event's. False if it is none. */
bool attached_output(struct span output, struct span refs, struct buffer *out);

#endif
