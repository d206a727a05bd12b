/*
 * The path of a request that is judged here and read once more by another server: in one form, which
 * both read alike. What stands for itself is written plainly (%63 is c), empty segments go, and what a
 * server may take for another path than this one is refused: separators that are escaped, backslashes,
 * parts . and .. in any writing, control characters, escapes that are none. An escaped percent sign is
 * data, whatever stands behind it.
 */
#ifndef AWF_MODELS_REQUEST_PATH_H
#define AWF_MODELS_REQUEST_PATH_H

#include "base/buffer.h"
#include "json/scan.h"

/* Appends the path in that form. NULL, or why it is refused. */
const char *request_path_normalize(struct span path, struct buffer *out);

#endif
