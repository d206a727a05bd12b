/* Capabilities of this process; bit n is capability number n. */
#ifndef AWF_ISOLATE_CAPABILITIES_H
#define AWF_ISOLATE_CAPABILITIES_H

#include <stdint.h>

struct capabilities {
	uint64_t effective, permitted;
};

/* -1 with errno. */
int capabilities_get(struct capabilities *c);
/* Drops all other capabilities for good: without a bit in the bounding set, executing a file does
 * not restore it. A process that may not change that set gets none from files once no_new_privs is
 * set. -1 with errno. */
int capabilities_keep(const struct capabilities *kept);

#endif
