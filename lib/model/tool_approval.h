/*
 * The data of a tool call's approval (turn/approve.h): what a person is asked about, and what says
 * that all further calls of the tool, by the same rule, are allowed for this run.
 *
 *    {"tool":"bash","input":{"command":"make"},"rule":"bash","always":false}
 *
 * Any workflow can ask for an approval of data like this. A tool's approval is a step in the call of
 * an agent, with the name of the tool: data elsewhere allows nothing.
 */
#ifndef AWF_MODEL_TOOL_APPROVAL_H
#define AWF_MODEL_TOOL_APPROVAL_H

#include <stdbool.h>

#include "base/buffer.h"
#include "base/error.h"
#include "json/scan.h"

struct tool_approval {
	struct span tool, input, rule;   /* JSON, in the data; tool and rule are texts */
	bool always;
};

/* Whether the data of the call is that of a tool's approval, which *a then gets. */
bool tool_approval_read(const char *call, struct span data, struct tool_approval *a);
/* Checks what the data of a call's approval was edited to: of a tool's approval only the input and
 * `always` can be others. -1: ERROR_INVALID_INPUT. */
int tool_approval_check_edit(const char *call, struct span data, struct span edited, struct error *err);
/* Writes the data with always: true, its input byte for byte. -1, ERROR_USAGE: it is not that of a
 * tool's approval. */
int tool_approval_allow_always(const char *call, struct span data, struct buffer *out,
    struct error *err);
/* Writes for people: the tool, the rule, and each argument; a text as it is, with its line feeds, each
 * line of it indented, so that none looks like another argument. */
void tool_approval_show(const struct tool_approval *a, struct buffer *out);

#endif
