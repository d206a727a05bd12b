/*
 * Rules of opencode's `permission` about one tool: allowed, to be asked about, or forbidden; and, as
 * rules of approve_tools (definitions/approvals.h), what a person is asked about.
 *
 *    {"*": ask, read: allow, bash: {"*": ask, "git diff *": allow}, "github_*": ask}
 *
 * Of all rules whose name matches a tool, and whose pattern matches its argument (the command of bash,
 * the path of read, edit and write, the pattern of glob and grep), the last one applies; if none does,
 * the call is allowed. Of what a rule with patterns allows, a star stands for no sign that means
 * something to a shell, a path must be one without "..", and a quotation mark is asked about where
 * patterns take something away again, since the shell removes it.
 */
#ifndef AWF_DEFINITIONS_PERMISSION_H
#define AWF_DEFINITIONS_PERMISSION_H

#include <jansson.h>
#include <stddef.h>

enum permission {
	PERMISSION_ALLOW,
	PERMISSION_ASK,
	PERMISSION_DENY,
	PERMISSION_DENY_SOME /* patterns forbid some of its calls; AWF has no such rules */
};

/* What the value of one rule says about tools whose arguments have no patterns. */
enum permission permission_of_rule(json_t *rule);
/* What the rules say about one of AWF's built-in tools, which has the name `theirs` there. A rule for
 * what is to be asked about is added to approve, a list. */
enum permission permission_of_tool(json_t *rules, const char *tool, const char *theirs,
    json_t *approve);
/* Adds rules for all other tools that need approval: the user's and those of MCP servers.
 * built_ins: the names of built-in tools, about which permission_of_tool() decides; ends with NULL. */
void permission_ask_others(json_t *rules, const char *const *built_ins, json_t *approve);

#endif
