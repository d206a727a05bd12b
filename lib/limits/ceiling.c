/*
 * The lists are kept as texts in the environment and searched there. The intersection of two lists
 * is what both cover: the names and patterns of each list that the other covers.
 */
#include "limits/ceiling.h"

#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "base/text.h"

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

/* A name in a list covers itself; one that ends in "__*" covers all names that begin so. */
static bool
in_list(const char *list, const char *name, size_t len)
{
	const char *entry;
	size_t entry_len;

	while ((entry = text_part(&list, ',', &entry_len)) != NULL) {
		bool all = entry_len > 3 && memcmp(entry + entry_len - 3, "__*", 3) == 0;

		if (all ? len >= entry_len && memcmp(entry, name, entry_len - 1) == 0 :
		    entry_len == len && memcmp(entry, name, len) == 0)
			return true;
	}
	return false;
}

/* Adds those of the names that the list covers and that are not there yet. */
static void
add_covered(struct buffer *common, const char *names, const char *list)
{
	const char *name;
	size_t len;

	while ((name = text_part(&names, ',', &len)) != NULL)
		if (len > 0 && in_list(list, name, len) && !in_list(buffer_string(common), name, len))
			buffer_format(common, "%s%.*s", common->len > 0 ? "," : "", (int)len, name);
}

static int
read_policy(enum tools_policy *policy, struct error *err)
{
	const char *text = environment_text(CEILING_POLICY);

	*policy = TOOLS_UNSAID;
	return text == NULL ? 0 : tools_policy_parse(text, CEILING_POLICY, policy, err);
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

/* A list without a policy blocks. An inner limit cannot change that. */
void
ceiling_lower(const char *tools, enum tools_policy policy)
{
	const char *list = getenv(CEILING_TOOLS);
	enum tools_policy before = ceiling_policy();
	struct buffer common = BUFFER_INIT;

	if (policy == TOOLS_WARN && (before == TOOLS_BLOCK || list != NULL))
		policy = before;
	if (policy != TOOLS_UNSAID)
		setenv(CEILING_POLICY, policies[policy], 1);
	if (tools == NULL)
		return;
	if (list == NULL) {
		setenv(CEILING_TOOLS, tools, 1);
		return;
	}
	/* What is in both lists: each may name all tools of a server. */
	add_covered(&common, tools, list);
	add_covered(&common, list, tools);
	setenv(CEILING_TOOLS, buffer_string(&common), 1);
	buffer_free(&common);
}

void
ceiling_restore(const char *tools, enum tools_policy policy)
{
	unsetenv(CEILING_TOOLS);
	unsetenv(CEILING_POLICY);
	ceiling_lower(tools, policy);
}

static bool
ceiling_excludes_tool(const char *tool)
{
	const char *list = getenv(CEILING_TOOLS);

	return list != NULL && !in_list(list, tool, strlen(tool));
}

bool
ceiling_forbids(const char *tool)
{
	return ceiling_excludes_tool(tool) && ceiling_policy() != TOOLS_WARN;
}

bool
ceiling_warns(const char *tool)
{
	return ceiling_excludes_tool(tool) && ceiling_policy() == TOOLS_WARN;
}

bool
ceiling_forbids_all(const char *prefix)
{
	const char *list = getenv(CEILING_TOOLS), *entry;
	size_t len = strlen(prefix), entry_len;

	if (list == NULL || ceiling_policy() == TOOLS_WARN)
		return false;
	while ((entry = text_part(&list, ',', &entry_len)) != NULL)
		if (entry_len >= len && memcmp(entry, prefix, len) == 0)
			return false;
	return true;
}
