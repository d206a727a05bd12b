/* Searches for the name between quotes: no name of a provider has a quote. */
#include "history/recorded_providers.h"

#include <string.h>

#include "base/memory.h"

char *
provider_refused(const char *message)
{
	const char *at = strstr(message, PROVIDER_REFUSED_BEGIN), *end;

	if (at == NULL)
		return NULL;
	at += sizeof PROVIDER_REFUSED_BEGIN - 1;
	end = strchr(at, '\'');
	return end == NULL ? NULL : memory_copy(at, (size_t)(end - at));
}
