/*
 * Messages to and from models, as traces have them: in the forms of the conventions of OpenTelemetry
 * (parts), of OpenAI (content, tool_calls), Anthropic and the AI SDK (content). They become blocks of
 * awf-transcript(5); what is known of the results of tools becomes lines of awf-import(1), "Formats".
 */
#ifndef AWF_IMPORT_MESSAGES_H
#define AWF_IMPORT_MESSAGES_H

#include "base/buffer.h"
#include "import/format.h"
#include "json/scan.h"

/* What a model was asked: the last messages of the user, and results of tools, that no answer follows.
 * messages: an array, or a text. */
void messages_take_input(struct span messages, struct buffer *prompt, struct buffer *results);
/* What it answered: appends blocks. messages: an array of messages or items, one, or a text. */
void messages_take_output(struct format_log *log, struct span messages, struct buffer *blocks);
/* Appends a value; a text that is JSON becomes that. */
void messages_add_parsed(struct span value, struct buffer *out);
/* Appends AWF's word for why a model stopped, as a JSON string; text NULL: nothing. */
void messages_add_reason(const char *text, struct buffer *out);

#endif
