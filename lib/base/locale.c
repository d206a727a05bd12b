/*
 * setlocale() would read files at the start of every program to learn what the variables say.
 */
#include "base/locale.h"

#include <string.h>
#include <strings.h>

#include "base/text.h"

/* "UTF-8", "utf8": before an @modifier, if there is one. */
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

const char *
locale_choose(const char *utf8, const char *ascii)
{
	return locale_is_utf8() ? utf8 : ascii;
}
