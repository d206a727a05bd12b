/* Capabilities of this process; bit n is capability number n. */
#ifndef AWF_ISOLATE_CAPABILITIES_H
#define AWF_ISOLATE_CAPABILITIES_H

#include <stdint.h>

struct capabilities {
	uint64_t effective, permitted;
};

/* -1 with errno. */
int capabilities_get(struct capabilities *c);
/* Drops all other capabilities for good: they are removed from the bounding set, too, so that
 * executing a file does not restore them. If the process may not change that set, no_new_privs has
 * the same effect. -1 with errno. */
int capabilities_keep(const struct capabilities *kept);

#endif
