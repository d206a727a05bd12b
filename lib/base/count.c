/* Prints numbers for people. */
#include "base/count.h"

#include <stdio.h>

char *
count_text(int64_t count, char *out, size_t size)
{
	if (count < 1000)
		snprintf(out, size, "%d", (int)count);
	else if (count < 999950)
		snprintf(out, size, "%.1fk", (double)count / 1000);
	else
		snprintf(out, size, "%.1fM", (double)count / 1000000);
	return out;
}
