/*
 * Names of tools. On their own, as who only checks a list of them needs no more of tools.
 */
#ifndef AWF_LIMITS_TOOL_NAME_H
#define AWF_LIMITS_TOOL_NAME_H

#include <stdbool.h>

/* 1 to 64 of A-Z a-z 0-9 _ -, as model APIs demand. */
bool tool_name_valid(const char *name);
/* Puts _ in the place of what no tool's name has. Returns name. */
char *tool_name_fit(char *name);
/* Whether a name in a list of tools is for those of an MCP server, mcp__SERVER__TOOL. */
#define TOOL_SERVED_PREFIX "mcp__"
bool tool_name_served(const char *name);
/* Whether it is a pattern for all tools of a server: mcp__SERVER__*. */
bool tool_name_pattern(const char *name);
/* Whether it may be in a list of tools. */
bool tool_name_listable(const char *name);

#endif
