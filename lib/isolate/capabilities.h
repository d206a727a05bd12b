/*
 * Capabilities of this process, as bits by their number.
 */
#ifndef AWF_ISOLATE_CAPABILITIES_H
#define AWF_ISOLATE_CAPABILITIES_H

#include <stdint.h>

struct capabilities {
	uint64_t effective, permitted;
};

/* -1 with errno. */
int capabilities_get(struct capabilities *c);
/* Drops all but those, for good: what is not in the bounding set does not come back by
 * executing a file. Who may not change that set has none to drop from it, once
 * no_new_privs is set. -1 with errno. */
int capabilities_keep(const struct capabilities *kept);

#endif
