/*
 * JSON Merge Patch (RFC 7396): an object of changes, in which null takes a member away, and an
 * object changes the members of an object. Values must have been checked (json/scan.h).
 */
#ifndef AWF_JSON_MERGE_H
#define AWF_JSON_MERGE_H

#include "base/buffer.h"
#include "json/scan.h"

/* Appends the target (.at NULL: there is none) as a patch changes it. Members keep their order,
 * and new ones follow them. */
void merge_patch(struct span target, struct span patch, struct buffer *out);
/* Appends the one patch that changes what first and then second change: as merge_patch(), but null
 * stays, since it still has to take a member away. */
void merge_patches(struct span first, struct span second, struct buffer *out);

#endif
