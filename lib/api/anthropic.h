/*
 * How the blocks of Anthropic's Messages API correspond to AWF's blocks, member by member, for code
 * that reads answers and code that writes requests.
 */
#ifndef AWF_API_ANTHROPIC_H
#define AWF_API_ANTHROPIC_H

#include <stddef.h>

#include "api/message.h"

#define ANTHROPIC "anthropic"

/* Kinds of the API's blocks. */
enum anthropic_kind {
	KIND_TEXT,
	KIND_THINKING,
	KIND_REDACTED,
	KIND_TOOL_USE,    /* also tools that the API runs itself */
	KIND_TOOL_RESULT, /* of tools that the API or AWF ran */
	KIND_OTHER,       /* an unknown type: kept in raw, with an empty text */
	KIND_IMAGE,       /* attachments, only in requests */
	KIND_DOCUMENT
};

extern const struct anthropic_block {
	const char *type;
	enum block_type ours;
} anthropic_blocks[];

/* The form of a value in a block: a string decoded into a buffer, JSON unchanged, a string decoded
 * into a char *, a bool. */
enum anthropic_form { FORM_STRING, FORM_JSON, FORM_TEXT, FORM_BOOL };

#define ANTHROPIC_MEMBERS 10
extern const struct anthropic_member {
	enum anthropic_kind kind;
	enum anthropic_form form;
	const char *theirs, *ours;
	size_t place; /* in struct block */
} anthropic_members[ANTHROPIC_MEMBERS];

#endif
