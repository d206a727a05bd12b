/*
 * The items of the Responses API of OpenAI, for who reads answers and who writes requests.
 *
 * An item is a block, a message as many as it has parts, one of the API's own tools a call and,
 * if it has one, a result. Members without a place in ours go into `raw` and come back from
 * there; an item whose type is no block of ours has the type in `raw` too. Both ways go by the
 * same tables, so that what was taken apart is put together as it was. The parts of a message
 * become blocks that share its id, and blocks in a row with the same id become one message.
 */
#ifndef AWF_API_OPENAI_RESPONSES_H
#define AWF_API_OPENAI_RESPONSES_H

#include <stdbool.h>

#define OPENAI_RESPONSES "openai-responses"
#define CUSTOM "custom_tool_call" /* one whose input is text, no JSON */
#define REFUSAL "refusal"

/* Items of the tools that the API runs itself, by how their type ends: the members that are the
 * tool's input and output. */
struct responses_tool {
	const char *type, *input, *output;
	bool encoded; /* the input is a string of JSON */
};
/* NULL: the type is none of a tool. */
const struct responses_tool *responses_tool(const char *type);
/* Whether a type is of what a tool answered, as an item of its own. */
bool responses_output(const char *type);
/* Members of a message that go back with it; all others in `raw` are of its part. Ends with
 * NULL. */
extern const char *const responses_message_members[];

#endif
