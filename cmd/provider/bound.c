/* A running digest; each addition is a line, so that no two lists of additions look alike. */
#include "bound.h"

#include <string.h>

#include "json/sorted.h"

void
bound_begin(struct bound *b)
{
	digest_begin(&b->digest);
}

void
bound_add(struct bound *b, const char *what, struct span value)
{
	struct buffer line = BUFFER_INIT;

	buffer_format(&line, "%s ", what);
	if (value.at != NULL)
		sorted_write(value, &line);
	buffer_byte(&line, '\n');
	digest_add(&b->digest, line.data, line.len);
	buffer_free(&line);
}

void
bound_tell(const struct bound *b, char sha256[DIGEST_SIZE])
{
	struct digest copy = b->digest;

	digest_end(&copy, sha256);
}

bool
bound_is(const struct bound *b, struct span recorded)
{
	char sha256[DIGEST_SIZE];

	bound_tell(b, sha256);
	return span_is(recorded, sha256);
}
