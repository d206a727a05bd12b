/* How finely a test goes through what takes long when it is gone through whole. */
#ifndef AWF_TESTS_TIER_H
#define AWF_TESTS_TIER_H

#include <stdlib.h>
#include <string.h>

/* From one place that is tried to the next: this far in make check, else 1. */
static inline size_t
tier_stride(size_t check)
{
	const char *tier = getenv("AWF_TEST_TIER");

	return tier != NULL && strcmp(tier, "check") == 0 ? check : 1;
}

#endif
