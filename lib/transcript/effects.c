/* The names of effects, in a table in the order of the enum. */
#include "transcript/effects.h"

#include <stddef.h>

#include "base/text.h"

static const char *const effects_names[] = {
	[EFFECTS_UNDECLARED] = NULL,
	[EFFECTS_NONE] = "none",
	[EFFECTS_READ] = "read",
	[EFFECTS_WORKSPACE] = "workspace",
	[EFFECTS_EXTERNAL] = "external",
	NULL
};

const char *
effects_name(enum effects effects)
{
	return effects_names[effects];
}

const char *const *
effects_words(void)
{
	return effects_names + EFFECTS_NONE;
}

int
effects_parse(const char *text, enum effects *effects)
{
	int index = text_index(text, effects_names + EFFECTS_NONE);

	if (index == -1)
		return -1;
	*effects = (enum effects)((int)EFFECTS_NONE + index);
	return 0;
}

bool
effects_outside(enum effects effects)
{
	return effects == EFFECTS_WORKSPACE || effects == EFFECTS_EXTERNAL;
}
