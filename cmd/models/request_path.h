/*
 * Normalizes the path of a request that is checked here and parsed again by another server, so that
 * both parse it alike. Unnecessary escapes are decoded (%63 is c), empty segments removed; and
 * whatever a server may interpret as another path is refused: escaped separators, backslashes, .
 * and .. in any form, control characters, invalid escapes. An escaped percent sign is data,
 * whatever follows.
 */
#ifndef AWF_MODELS_REQUEST_PATH_H
#define AWF_MODELS_REQUEST_PATH_H

#include "base/buffer.h"
#include "json/scan.h"

/* Appends the normalized path. Returns NULL, or why it is refused. */
const char *request_path_normalize(struct span path, struct buffer *out);

#endif
