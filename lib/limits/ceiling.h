/*
 * The ceiling of a run: the only tools that its steps may use, whatever they declare themselves,
 * and how calls of other tools are treated; mcp__SERVER__* stands for all tools of a server.
 * awf-run sets it for itself and its steps in the environment, in $AWF_ALLOW_TOOLS (names
 * separated by commas) and $AWF_TOOLS_POLICY, which run.started records. A child run can restrict
 * it further, but not extend it.
 */
#ifndef AWF_LIMITS_CEILING_H
#define AWF_LIMITS_CEILING_H

#include <stdbool.h>

#include "base/error.h"

#define CEILING_TOOLS "AWF_ALLOW_TOOLS"
#define CEILING_POLICY "AWF_TOOLS_POLICY"

/* What is done about a call of a tool that is not allowed. */
enum tools_policy { TOOLS_UNSAID, TOOLS_BLOCK, TOOLS_WARN };

/* ERROR_USAGE at place if it is neither block nor warn; *policy is block then. */
int tools_policy_parse(const char *text, const char *place, enum tools_policy *policy,
    struct error *err);
const char *tools_policy_name(enum tools_policy policy); /* not of TOOLS_UNSAID */

/* Restricts the ceiling; tools NULL, policy TOOLS_UNSAID: not restricted. */
void ceiling_lower(const char *tools, enum tools_policy policy);
/* Sets it to that of a recorded run; NULL, TOOLS_UNSAID: none. */
void ceiling_restore(const char *tools, enum tools_policy policy);

/* ERROR_USAGE if the environment has an invalid policy. */
int ceiling_check(struct error *err);
/* The policy of the run; TOOLS_UNSAID: its steps decide. */
enum tools_policy ceiling_policy(void);
/* Whether the tool is above it, so that it may not be used; or may, with a warning. */
bool ceiling_forbids(const char *tool);
bool ceiling_warns(const char *tool);
/* Whether that holds for every tool whose name begins so. */
bool ceiling_forbids_all(const char *prefix);

#endif
