/*
 * What is UTF-8 stays the string that it has always been, so recorded digests hold.
 */
#include "json/exact.h"

#include <string.h>

#include "base/digest.h"
#include "base/text.h"

void
writer_exact_string(struct writer *w, const char *text)
{
	const size_t len = text != NULL ? strlen(text) : 0;
	struct buffer hex = BUFFER_INIT;

	if (utf8_valid(text, len)) {
		writer_string(w, text);
		return;
	}
	hex_encode((const unsigned char *)text, len, buffer_reserve(&hex, 2 * len + 1));
	writer_array(w);
	writer_bytes(w, hex.data, 2 * len);
	writer_array_end(w);
	buffer_free(&hex);
}
