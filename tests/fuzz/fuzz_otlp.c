/*
 * Requests of OTLP in protocol buffers: whatever bytes come, what is accepted is JSON, and not much longer.
 */
#include <assert.h>
#include <stdint.h>

#include "json/scan.h"
#include "serve_runs/otlp.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct buffer out = BUFFER_INIT;
	size_t bad;

	if (otlp_write_json(data, size, &out))
		assert(scan_check(buffer_string(&out), out.len, &bad) == NULL);
	assert(out.len <= 64 * size + 64);
	buffer_free(&out);
	return 0;
}
