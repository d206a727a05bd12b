#include "exec/ceiling.h"

#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"

static const char *const policies[] = {
	[TOOLS_BLOCK] = "block",
	[TOOLS_WARN] = "warn",
};

const char *
tools_policy_name(enum tools_policy policy)
{
	return policies[policy];
}

int
tools_policy_parse(const char *text, const char *place, enum tools_policy *policy,
    struct error *err)
{
	for (*policy = TOOLS_WARN; *policy > TOOLS_UNSAID; (*policy)--)
		if (strcmp(policies[*policy], text) == 0)
			return 0;
	*policy = TOOLS_BLOCK;
	return error_set(err, ERROR_USAGE, place, "'%s' is neither block nor warn", text);
}

static bool
in_list(const char *list, const char *name, size_t len)
{
	for (size_t part; *list != '\0'; list += part + (list[part] == ',')) {
		part = strcspn(list, ",");
		if (part == len && memcmp(list, name, len) == 0)
			return true;
	}
	return false;
}

/* Those of the names that are in the list. */
static void
set_common(const char *names, const char *list)
{
	struct buffer common = BUFFER_INIT;

	for (size_t len; *names != '\0'; names += len + (names[len] == ',')) {
		len = strcspn(names, ",");
		if (len > 0 && in_list(list, names, len))
			buffer_format(&common, "%s%.*s", common.len > 0 ? "," : "", (int)len, names);
	}
	setenv(CEILING_TOOLS, buffer_string(&common), 1);
	buffer_free(&common);
}

static int
read_policy(enum tools_policy *policy, struct error *err)
{
	const char *text = getenv(CEILING_POLICY);

	*policy = TOOLS_UNSAID;
	return text == NULL || *text == '\0' ? 0 :
	    tools_policy_parse(text, CEILING_POLICY, policy, err);
}

enum tools_policy
ceiling_policy(void)
{
	enum tools_policy policy;

	read_policy(&policy, NULL);
	return policy;
}

int
ceiling_check(struct error *err)
{
	enum tools_policy policy;

	return read_policy(&policy, err);
}

/* A list without a policy blocks. Who lowers it cannot say otherwise. */
void
ceiling_lower(const char *tools, enum tools_policy policy)
{
	const char *list = getenv(CEILING_TOOLS);
	enum tools_policy before = ceiling_policy();

	if (policy == TOOLS_WARN && (before == TOOLS_BLOCK || list != NULL))
		policy = before;
	if (policy != TOOLS_UNSAID)
		setenv(CEILING_POLICY, policies[policy], 1);
	if (tools != NULL && list != NULL)
		set_common(tools, list);
	else if (tools != NULL)
		setenv(CEILING_TOOLS, tools, 1);
}

void
ceiling_restore(const char *tools, enum tools_policy policy)
{
	unsetenv(CEILING_TOOLS);
	unsetenv(CEILING_POLICY);
	ceiling_lower(tools, policy);
}

static bool
above(const char *tool)
{
	const char *list = getenv(CEILING_TOOLS);

	return list != NULL && !in_list(list, tool, strlen(tool));
}

bool
ceiling_forbids(const char *tool)
{
	return above(tool) && ceiling_policy() != TOOLS_WARN;
}

bool
ceiling_warns(const char *tool)
{
	return above(tool) && ceiling_policy() == TOOLS_WARN;
}
