/*
 * JSON Merge Patch (RFC 7396): an object of changes, in which null removes a member, and an object
 * changes the members of an object. Values must have been checked (json/scan.h).
 */
#ifndef AWF_JSON_MERGE_H
#define AWF_JSON_MERGE_H

#include "base/buffer.h"
#include "json/scan.h"

/* Appends the target (.at NULL: none) with the patch applied. Members keep their order, and new
 * members follow them. */
void merge_patch(struct span target, struct span patch, struct buffer *out);
/* Appends the single patch that has the effect of both: as merge_patch(), but null values are kept,
 * as they must still remove a member. */
void merge_patches(struct span first, struct span second, struct buffer *out);

#endif
