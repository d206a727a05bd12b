/*
 * Finds the value of the variable in a table of words, which are in the order of the modes.
 */
#include "transcript/sync_mode.h"

#include <stdlib.h>
#include <string.h>

int
sync_mode_from_environment(enum sync_mode *mode, struct error *err)
{
	static const char *const names[] = {
		[SYNC_NONE] = "none", [SYNC_STEP] = "step", [SYNC_EVENT] = "event"
	};
	const char *text = getenv("AWF_SYNC");

	*mode = SYNC_STEP;
	if (text == NULL || *text == '\0')
		return 0;
	for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
		if (strcmp(text, names[i]) == 0) {
			*mode = (enum sync_mode)i;
			return 0;
		}
	}
	return error_set(err, ERROR_USAGE, "AWF_SYNC", "'%s' is none of none, step, event", text);
}
