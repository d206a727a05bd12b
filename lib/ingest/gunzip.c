/*
 * A process of gzip does it. Of what it prints at most one byte more than the limit is taken.
 */
#include "ingest/gunzip.h"

#include <stdint.h>

#include "proc/subprocess.h"

#define NOT_FOUND 127

enum gunzipped
gunzip(const char *bytes, size_t len, size_t limit, struct buffer *out, struct error *err)
{
	static const char *const words[] = { "gzip", "-dc", NULL };
	struct subprocess p = { .argv = (char *const *)(uintptr_t)words, .input = bytes, .input_len = len, .quiet = true,
		.output_limit = limit + 1 };
	enum gunzipped result = GUNZIP_FAILED;

	if (len == 0)
		return GUNZIP_DAMAGED;
	if (subprocesses_run(&p, 1, NULL, err) != 0)
		;
	else if (p.exit_code == NOT_FOUND)
		error_set(err, ERROR_SYSTEM, "gzip", "%s", p.error.message);
	else if (p.output.len > limit)
		result = GUNZIP_TOO_LARGE;
	else
		result = p.exit_code == 0 ? GUNZIP_DONE : GUNZIP_DAMAGED;
	if (result == GUNZIP_DONE)
		buffer_append(out, buffer_string(&p.output), p.output.len);
	subprocess_free(&p);
	return result;
}
