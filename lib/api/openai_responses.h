/*
 * The items of OpenAI's Responses API, for code that reads answers and code that writes requests.
 *
 * An item is one block; a message has one block per part; an item of the API's own tools has a call
 * and, if there is one, a result. Members without a place in a block are kept in `raw` and sent
 * back from there; if the type of an item corresponds to no block, `raw` has the type too. Both
 * directions use the same tables, so that an item that was split is put together as it was. The
 * parts of a message become blocks that share its id, and consecutive blocks with the same id
 * become one message.
 */
#ifndef AWF_API_OPENAI_RESPONSES_H
#define AWF_API_OPENAI_RESPONSES_H

#include <stdbool.h>

#define OPENAI_RESPONSES "openai-responses"
#define CUSTOM "custom_tool_call" /* a call whose input is text, not JSON */
#define REFUSAL "refusal"

/* Items of tools that the API runs itself, by the suffix of their type, and the members with the
 * tool's input and output. */
struct responses_tool {
	const char *type, *input, *output;
	bool encoded; /* the input is a string that contains JSON */
};
/* NULL: the type is not that of a tool. */
const struct responses_tool *responses_tool(const char *type);
/* Whether items of this type are results of a tool. */
bool responses_output(const char *type);
/* Members that are sent back with a message; other members in `raw` belong to its part. Ends with
 * NULL. */
extern const char *const responses_message_members[];

#endif
