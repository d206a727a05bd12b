/*
 * Where prev stands in a line is known from the line's end, so nothing is parsed: a line is
 * compared there with the digest of the one before, then hashed.
 */
#include "transcript/chain.h"

#include <string.h>

#define HEX (DIGEST_SIZE - 1)

void
chain_begin(struct chain *c)
{
	memset(c, 0, sizeof *c);
	memset(c->digest, '0', HEX);
}

/* Whether the line ends in "prev":"<the digest>"}. */
static bool
follows(const struct chain *c, const char *line, size_t len)
{
	static const char key[] = "\"prev\":\"";
	const size_t key_len = sizeof key - 1, tail = key_len + HEX + 2;

	return len >= tail && memcmp(line + len - tail, key, key_len) == 0 &&
	    memcmp(line + len - tail + key_len, c->digest, HEX) == 0;
}

void
chain_check(struct chain *c, const char *lines, size_t len, int64_t at)
{
	const char *line = lines, *end = lines + len;

	while (line < end && !c->broken) {
		const char *stop = memchr(line, '\n', (size_t)(end - line));
		size_t line_len = (size_t)((stop ? stop : end) - line);

		c->before = c->start;
		c->start = at + (line - lines);
		c->line++;
		if (!follows(c, line, line_len))
			c->broken = true;
		else
			digest_blake2b(line, line_len, c->digest);
		line += line_len + 1;
	}
}
