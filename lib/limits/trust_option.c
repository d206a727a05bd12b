/* The list is kept in the environment, so that runs and steps inside get it too. */
#include "limits/trust_option.h"

#include <stdlib.h>

#include "base/digest.h"
#include "base/text.h"

int
trust_option(const char *list, struct error *err)
{
	const char *rest = list, *part;
	size_t len;

	while ((part = text_part(&rest, ',', &len)) != NULL)
		if (len != DIGEST_SIZE - 1 || text_prefix_of(part, len, "0123456789abcdef") != len)
			return error_set(err, ERROR_USAGE, "--trust", "'%.*s' is not a digest: "
			    "awf trust --digests "
			    "prints those of this project", (int)(len < 80 ? len : 80), part);
	setenv(TRUST_VARIABLE, list, 1);
	return 0;
}
