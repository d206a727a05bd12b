/*
 * The blocks of the Messages API, both ways: what an answer streams becomes blocks of a
 * message, and the messages of a request become the API's again.
 */
#ifndef AWF_PROVIDER_ANTHROPIC_BLOCKS_H
#define AWF_PROVIDER_ANTHROPIC_BLOCKS_H

#include <stdbool.h>

#include "stream.h"

/* The events content_block_start and content_block_delta. */
void anthropic_block_start(struct stream *s, struct span event);
void anthropic_block_delta(struct stream *s, struct span event);

/* The member "messages"; cached: its last block that can be is marked. */
void anthropic_write_messages(struct writer *w, struct span messages, bool cached);
/* The mark in a block: the input up to here is worth keeping, what follows it the next time is
 * new. */
void anthropic_write_cache_mark(struct writer *w);
/* The API refuses a conversation with calls of tools if it is told of no tool, as when an
 * agent without any goes on with it: those that were called, not to be called again. */
void anthropic_write_called_tools(struct writer *w, const struct provider_request *r);

#endif
