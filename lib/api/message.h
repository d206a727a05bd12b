/*
 * A message of the model while it arrives: blocks in the vocabulary of awf-provider(7), filled
 * piece by piece, the usage in AWF's terms, and how the answer ended.
 *
 * What an API sends beyond that vocabulary is kept in `raw` (members of the API's block that have
 * no place in AWF's), with the API's name in `api`; the provider for that API sends it back, others
 * leave it out.
 *
 * Each API has a table of its words for the end of an answer, from its reference: the stop reason
 * in AWF's vocabulary, or the error. Any other word is the error `cut_off`, which quotes it, since
 * an incomplete text must not count as an answer. A user can define a word with --known-end
 * (providers/known_end.h).
 */
#ifndef AWF_API_MESSAGE_H
#define AWF_API_MESSAGE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buffer.h"
#include "base/digest.h"
#include "base/error.h"
#include "json/scan.h"
#include "json/writer.h"

enum block_type {
	BLOCK_TEXT,
	BLOCK_THINKING,
	BLOCK_TOOL_USE,
	BLOCK_TOOL_RESULT
};

struct block {
	enum block_type type;
	long long index;          /* the number that the API has given it; -1: none */
	struct buffer text;       /* the text or thoughts; the tool's input or result as JSON */
	long long part;           /* of a draft: the API's index of the last part of the text */
	size_t part_begin;        /* of a draft: where this part begins in the text */
	bool begun;               /* pieces of its text have arrived; of a draft: all of them */
	char *tool_id, *tool_name;
	bool is_error;            /* of a tool result */
	bool ran;                 /* the API ran this tool itself */
	bool waits;               /* the API waits for the client to carry out the call */
	bool commentary;          /* a text about the work on the answer, not the answer */
	const char *note;         /* what AWF has changed in it, for its reader; NULL: nothing */
	long event;               /* the number of the stream's event in which it began */
	struct buffer signature;  /* by which the API recognizes its own thoughts */
	struct buffer redacted;   /* thoughts that only the API can read */
	char bound[DIGEST_SIZE];  /* the digest of what was sent before it, if the API ties it to
	                             that; "" */
	const char *api;          /* the API to which raw, signature or field belong */
	const char *field;        /* the API's name for the text, if there are several */
	struct buffer raw;        /* members of an object, without its braces */
	struct buffer citations;  /* elements of an array, without its brackets; written into raw */
};

/* -1: unknown. */
struct usage {
	long long input, output, cache_read, cache_write, reasoning;
	long long cost;           /* nano-dollars, if the server tells its cost */
};
#define USAGE_INIT { -1, -1, -1, -1, -1, -1 }

/* Whether any of its numbers is known. */
bool usage_known(const struct usage *u);

/* Where an API has a number of its usage. A table of these ends with USAGE_END. */
struct usage_place {
	size_t number;            /* offset in struct usage */
	const char *outer, *name; /* the member; in the member `outer` if that is not NULL */
};
#define USAGE(number, name) { offsetof(struct usage, number), NULL, name }
#define USAGE_IN(number, outer, name) { offsetof(struct usage, number), outer, name }
#define USAGE_END { 0, NULL, NULL }

struct message {
	struct block *blocks;
	size_t count;
	long long highest;        /* index of a block so far; -1 */
	struct usage usage;
	char *model;
	char *id;                 /* the API's id of the message; NULL */
	char *request_id;         /* the API's id of the request; NULL */
	char *session_id;         /* of an agent CLI; NULL */
	const char *stop_reason;  /* in AWF's vocabulary; NULL: not known yet */
	char *explanation;        /* the API's text about a refusal; NULL: none */
	bool begun;               /* the API has reported the beginning, if it does so */
	size_t open;              /* blocks that have begun and not ended, if the API reports their
	                             ends */
	bool ended;               /* the API has reported that the message is complete */
};

void message_begin(struct message *m);
void message_free(struct message *m);
/* Removes all blocks. */
void message_clear(struct message *m);

/* Appends a new block; the pointer is valid until the next block is appended. */
struct block *message_add(struct message *m, enum block_type type, long long index);
/* Gives the block at a place in the list another index. */
void message_set_index(struct message *m, size_t at, long long index);
/* Moves the last block to an index in the list; removes the block at an index. */
void message_raise(struct message *m, size_t to);
void message_remove(struct message *m, size_t at);
/* The block with this type and API index, or NULL. */
struct block *message_find(struct message *m, enum block_type type, long long index);
/* Removes the blocks with this API index. */
void message_drop(struct message *m, long long index);
/* The last block if it has this type, else a new one: for APIs whose pieces have no index. */
struct block *message_last(struct message *m, enum block_type type);
/* Adds a member of the API's block to b->raw; key is a raw token with its quotes. */
void block_keep(struct block *b, struct span key, struct span value);
/* The same with a plain key that needs no escaping, and a value or a text. */
void block_keep_as(struct block *b, const char *key, struct span value);
void block_note(struct block *b, const char *key, const char *text);

/* Whether a value is neither null nor an empty array, so that leaving it out would lose
 * something. */
bool says_something(struct span value);
/* Sets *text to the decoded string, unless value is not a string or *text is set already. */
void text_once(char **text, struct span value);
/* Sets *number if value is an integer that is not negative. */
void number_set(long long *number, struct span value);
/* Sets the usage from an object, by the table; if a number is in several places, the last one
 * counts. A 0 does not replace a number: gateways send it where they do not know the number. */
void usage_set(struct usage *u, struct span object, const struct usage_place *places);
/* Adds the usage in an object, by the table, to the present one; several places for one number
 * are added. */
void usage_sum(struct usage *u, struct span object, const struct usage_place *places);
/* Adds an amount in dollars to the cost; anything else is ignored. */
void usage_add_cost(struct usage *u, struct span dollars);

/* An API's word for the end of an answer. A table of these ends with { NULL, NULL, ERROR_NONE }. */
struct end {
	const char *word;
	const char *reason;       /* AWF's stop reason; NULL: an error */
	enum error_code category; /* of the error */
};
/* The stop reason for a word, which is a JSON string; NULL: it is an error, whose category and
 * message are in *err. defined: words of the endpoint, which take precedence over the table
 * (known_end.h). said is the API's text about it, a JSON string, or absent. */
const char *end_reason(const struct end *ends, struct span defined, struct span word,
    struct span said, struct error *err);

/* Replaces the input of a call by the JSON object that was meant: if `{}` is followed by an object,
 * that object; if an object is sent twice, one of them; {} for null; if it is a string that
 * contains an object, that object, with a note. Any other input is kept. */
void block_repair_input(struct block *b);

/* Whether it contains only thoughts and empty texts. */
bool message_says_nothing(const struct message *m);
/* Whether it has calls of tools that AWF must run. */
bool message_calls(const struct message *m);
/* Removes calls that were sent twice: with the same id and name, and the same input or none. Gives
 * a new id to calls without one, and to those whose id an earlier call of the conversation has
 * (messages are those of the request). */
void message_name_calls(struct message *m, struct span messages);
/* The same; and if the answer has calls and ended well, or without a reason, sets the stop reason
 * to tool_use. For APIs whose word for the end does not say so. */
void message_settle(struct message *m, struct span messages);

/* Writes a block in the form that it has in answers. */
void message_write_block(struct writer *w, const struct block *b);
/* Writes the members "usage", as far as known, and "model". */
void message_write_usage(const struct message *m, struct writer *w);
/* Writes the members "blocks", "stop_reason", "usage", "model", "request_id" and "session_id" of
 * an answer. */
void message_write(const struct message *m, struct writer *w);
/* Writes the members of a `tool_call` or `tool_result` from a tool block; code: the error code of
 * the result, or ERROR_NONE. */
void message_write_tool(const struct block *b, enum error_code code, struct writer *w);

#endif
