/*
 * Items of the Responses API of OpenAI, both ways: what they are as blocks, and the
 * blocks of a conversation as items again.
 *
 * An item is a block, a message as many as it has parts, one of the API's own tools a
 * call and, if it has one, a result. Members without a place in ours go into `raw` and
 * come back from there; an item whose type is no block of ours has the type in `raw` too.
 */
#ifndef AWF_PROVIDER_RESPONSES_H
#define AWF_PROVIDER_RESPONSES_H

#include "json/scan.h"
#include "json/writer.h"
#include "message.h"

/* Adds what an item is. A refusal is a reason to stop. */
void responses_take(struct message *m, struct span item);
/* A call that the client is to carry out, and whose output is not there; NULL: none. */
const struct block *responses_waiting(const struct message *m);
/* A member with the items that the messages of a request are. What another API alone
 * understands is left out, and thoughts that this one could not read again. */
void responses_write(struct writer *w, const char *key, struct span messages);

#endif
