/* A table of bytes at the beginning of a file, some with further bytes at a later place. */
#include "base/media_type.h"

#include <string.h>

static const struct kind {
	const char *media_type;
	const char *magic;
	size_t len, later_at;
	const char *later;
} kinds[] = {
	{ "image/png", "\x89PNG\r\n\x1a\n", 8, 0, "" },
	{ "image/jpeg", "\xff\xd8\xff", 3, 0, "" },
	{ "image/gif", "GIF87a", 6, 0, "" },
	{ "image/gif", "GIF89a", 6, 0, "" },
	{ "image/webp", "RIFF", 4, 8, "WEBP" },
	{ "application/pdf", "%PDF-", 5, 0, "" }
};

const char *
media_type_of(const char *bytes, size_t len)
{
	for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
		const struct kind *k = &kinds[i];
		size_t later = strlen(k->later);

		if (len >= k->len && len >= k->later_at + later && memcmp(bytes, k->magic, k->len) == 0 &&
		    memcmp(bytes + k->later_at, k->later, later) == 0)
			return k->media_type;
	}
	return NULL;
}

bool
media_type_told(const char *media_type)
{
	for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
		if (strcmp(media_type, kinds[i].media_type) == 0)
			return true;
	return false;
}
