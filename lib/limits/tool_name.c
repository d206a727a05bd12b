/*
 * Kinds of tools are recognized only by the form of the name; whether such a tool or server exists
 * is found out by the code that searches for it.
 */
#include "limits/tool_name.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/text.h"

#define TOOL_NAME_LIMIT 64

bool
tool_name_valid(const char *name)
{
	return name_valid(name) && strlen(name) <= TOOL_NAME_LIMIT;
}

char *
tool_name_fit(char *name)
{
	for (char *at = name; *at != '\0'; at++)
		if (!tool_name_valid((char[]){ *at, '\0' }))
			*at = '_';
	return name;
}

bool
tool_name_served(const char *name)
{
	return strncmp(name, TOOL_SERVED_PREFIX, sizeof TOOL_SERVED_PREFIX - 1) == 0;
}

bool
tool_name_pattern(const char *name)
{
	static const char all[] = "__*";
	size_t len = strlen(name), end = sizeof all - 1;
	char *before;
	bool valid;

	if (!tool_name_served(name) || len <= sizeof TOOL_SERVED_PREFIX - 1 + end ||
	    !text_ends(name, all))
		return false;
	before = memory_copy(name, len - end);
	valid = tool_name_valid(before);
	free(before);
	return valid;
}

bool
tool_name_listable(const char *name)
{
	return tool_name_valid(name) || tool_name_pattern(name);
}
