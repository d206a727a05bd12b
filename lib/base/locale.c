/*
 * The environment variables are examined directly: setlocale() would read files at the start of
 * every program.
 */
#include "base/locale.h"

#include <stdint.h>
#include <string.h>
#include <strings.h>

#include "base/text.h"

/* Whether the value names UTF-8 ("UTF-8", "utf8"), perhaps followed by an @modifier. */
static bool
names_utf8(const char *charset)
{
	size_t len = strcspn(charset, "@");

	return (len == 5 && strncasecmp(charset, "UTF-8", len) == 0) ||
	    (len == 4 && strncasecmp(charset, "utf8", len) == 0);
}

bool
locale_is_utf8(void)
{
	static const char *const variables[] = { "LC_ALL", "LC_CTYPE", "LANG" };

	for (size_t i = 0; i < sizeof variables / sizeof *variables; i++) {
		const char *locale = environment_text(variables[i]), *dot;

		if (locale == NULL)
			continue;
		dot = strchr(locale, '.');
		return names_utf8(dot != NULL ? dot + 1 : locale);
	}
	return false;
}

void
locale_draw(struct buffer *line, size_t from)
{
	static const struct { uint32_t code; char ascii; } drawn[] = {
		{ 0x2500, '-' }, { 0x2502, '|' }, { 0x2514, '`' }, { 0x251c, '|' }, /* branches */
		{ 0x2588, '#' }, { 0x2591, '.' }, { 0x2592, ':' },                   /* bars */
		{ 0x25b8, '>' }, { 0x2713, '+' }, { 0x2717, 'x' }, { 0x2013, '-' }, { 0x2026, '.' },
		{ 0x21bb, '~' }, { 0xbb, '>' }, { 0xab, '<' }, { 0x2192, '>' }, { 0x2190, '<' },
		{ 0xb7, '.' }, { 0xd7, 'x' }, { 0x25a0, '/' },
	};
	size_t kept = from;
	uint32_t code;

	if (locale_is_utf8())
		return;
	for (size_t i = from; i < line->len;) {
		const unsigned n = utf8_decode(line->data + i, line->len - i, &code);
		char ascii = '\0';

		for (size_t d = 0; n > 1 && ascii == '\0' && d < sizeof drawn / sizeof *drawn; d++)
			if (drawn[d].code == code)
				ascii = drawn[d].ascii;
		if (ascii != '\0')
			line->data[kept++] = ascii;
		else
			for (unsigned byte = 0; byte < (n > 0 ? n : 1); byte++)
				line->data[kept++] = line->data[i + byte];
		i += n > 0 ? n : 1;
	}
	line->len = kept;
	if (line->data != NULL)
		line->data[kept] = '\0';
}

const char *
locale_choose(const char *utf8, const char *ascii)
{
	return locale_is_utf8() ? utf8 : ascii;
}
