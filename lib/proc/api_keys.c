/* The file of keys is read anew each time: only who tells of an error asks. */
#include "proc/api_keys.h"

#include <string.h>

#include "base/error.h"
#include "base/text.h"
#include "proc/environment.h"

static const char *const key_names[] = { "ANTHROPIC_API_KEY", "GEMINI_API_KEY", "GOOGLE_API_KEY",
    "OPENAI_API_KEY", NULL };

const char *const *
provider_key_names(void)
{
	return key_names;
}

void
api_keys_hide(char *text)
{
	const size_t len = strlen(text);
	struct error unread; /* then nobody has a key of it */
	struct keys keys;

	for (const char *const *name = key_names; *name != NULL; name++)
		text_hide(text, len, keys_value(NULL, *name));
	if (keys_load(&keys, &unread) != 0)
		return;
	for (size_t i = 0; i < keys.count; i++) {
		text_hide(text, len, keys.values[i]);
		text_hide(text, len, keys_value(NULL, keys.names[i])); /* which is the one that counts */
	}
	keys_free(&keys);
}
