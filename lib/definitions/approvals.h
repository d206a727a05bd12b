/*
 * Which tool calls of an agent a person is asked about, awf-agent(5), approve_tools: a list of rules,
 * each with a pattern of tools' names, perhaps with names that it is not for (`except`), and with a JSON
 * Schema of the arguments that need no question (`unless`).
 *
 * A pattern in such a schema has to match the whole text, though JSON Schema does not demand that; and
 * a text with signs that mean something to a shell needs a question unless the pattern has that sign
 * itself: '^git (status|diff)' allows neither `git statuses` nor `git diff; rm -r ~`.
 */
#ifndef AWF_DEFINITIONS_APPROVALS_H
#define AWF_DEFINITIONS_APPROVALS_H

#include <jansson.h>
#include <stddef.h>

#include "base/error.h"
#include "formats/definition.h"
#include "json/scan.h"
#include "schema/schema.h"

struct approval_rule {
	char *tool;              /* a name, or a pattern of fnmatch(3) */
	char **except;           /* names and patterns of tools that the rule is not for; NULL: none */
	json_t *document;        /* of `unless`, with patterns that match whole texts; NULL: none */
	struct schema *unless;   /* it, compiled; NULL */
};

struct approvals {
	struct approval_rule *list;
	size_t count;
};

/* A reader of the key: the member at offset is a struct approvals. */
int approvals_read(const struct definition *d, const struct definition_key *key, json_t *value,
    void *object, struct error *err);
/* The first rule that names one tool, none of these (ends with NULL); NULL: there is none. Names of MCP
 * servers' tools are known only when the servers run. */
const char *approvals_unknown_tool(const struct approvals *a, char *const *tools);
/* The first rule by which a person is asked about this call; NULL: none. */
const struct approval_rule *approvals_find(const struct approvals *a, const char *tool,
    struct span input);
void approvals_free(struct approvals *a);

#endif
