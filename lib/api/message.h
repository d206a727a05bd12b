/*
 * A message of the model while it comes in: blocks in the vocabulary of awf-provider(7), filled
 * piece by piece, the usage in our terms, and how the answer ended.
 *
 * What an API says beyond that vocabulary is kept in `raw` (members of its own block that have
 * no place in ours) with the API's name in `api`; the provider of that API sends it back, every
 * other one leaves it out.
 *
 * Each API has a table of the words that it says for the end of an answer, taken from its
 * reference: what they are in our vocabulary, or which error. Any other word is the error
 * `cut_off`, which quotes it: half a text must not pass for an answer. A user can teach a word,
 * --known-end (providers/known_end.h).
 */
#ifndef AWF_API_MESSAGE_H
#define AWF_API_MESSAGE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buffer.h"
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
	long long index;          /* the API's number of it; -1: none */
	struct buffer text;       /* the text, the thinking; the tool's input or result as JSON */
	bool begun;               /* pieces of text have come */
	char *tool_id, *tool_name;
	bool is_error;            /* of a tool result */
	bool ran;                 /* the API ran this tool itself */
	bool waits;               /* for a client that does what it calls for */
	struct buffer signature;  /* by which the API knows its own thinking again */
	struct buffer redacted;   /* thinking that only the API can read */
	const char *api;          /* whose raw, signature or field this is */
	const char *field;        /* the API's own name for this, if it has several */
	struct buffer raw;        /* inside of an object */
	struct buffer citations;  /* inside of an array; goes into raw */
};

/* -1: unknown. */
struct usage {
	long long input, output, cache_read, cache_write, reasoning;
	long long cost;           /* nano-dollars, where who answers says so */
};
#define USAGE_INIT { -1, -1, -1, -1, -1, -1 }

/* Whether any number of it is known. */
bool usage_known(const struct usage *u);

/* Where an API tells a number of its usage. A table of them ends with USAGE_END. */
struct usage_place {
	size_t number;            /* offset in struct usage */
	const char *outer, *name; /* the member, within another if outer is not NULL */
};
#define USAGE(number, name) { offsetof(struct usage, number), NULL, name }
#define USAGE_IN(number, outer, name) { offsetof(struct usage, number), outer, name }
#define USAGE_END { 0, NULL, NULL }

struct message {
	struct block *blocks;
	size_t count;
	struct usage usage;
	char *model;
	char *request_id;         /* by which the API knows the request; NULL */
	char *session_id;         /* of an agent CLI */
	const char *stop_reason;  /* in our vocabulary; NULL: not said yet */
	bool begun;               /* the API said so, where it does */
	size_t open;              /* blocks that began and did not end, where an API says so */
	bool ended;               /* the API said that the message is whole */
};

void message_begin(struct message *m);
void message_free(struct message *m);
/* Without any block again. */
void message_clear(struct message *m);

/* A new block at the end; valid until the next one is made. */
struct block *message_add(struct message *m, enum block_type type, long long index);
/* The block with an API's number, or NULL. */
struct block *message_find(struct message *m, enum block_type type, long long index);
/* Takes the blocks with a number away. */
void message_drop(struct message *m, long long index);
/* The last block if it is of this type, else a new one: for APIs whose pieces
 * carry no number. */
struct block *message_last(struct message *m, enum block_type type);
/* Adds a member to raw; key is the token with its quotes. */
void block_keep(struct block *b, struct span key, struct span value);
/* The same with a key that needs no escaping and a value, or a text. */
void block_keep_as(struct block *b, const char *key, struct span value);
void block_note(struct block *b, const char *key, const char *text);

/* Whether a value is more than null or an empty array: nothing is lost without those. */
bool says_something(struct span value);
/* Sets *text to the decoded string, unless value is no string or *text is set. */
void text_once(char **text, struct span value);
/* Sets *number if value is an integer of 0 or more. */
void number_set(long long *number, struct span value);
/* Sets the numbers that an object tells, of those in the table; of several places of one the
 * last that has it counts. */
void usage_set(struct usage *u, struct span object, const struct usage_place *places);
/* Adds them up: all places of one, and what there was before. */
void usage_sum(struct usage *u, struct span object, const struct usage_place *places);
/* Adds a number of dollars to what it cost; anything else is passed over. */
void usage_add_cost(struct usage *u, struct span dollars);

/* A word that an API ends answers with. A table of them ends with { NULL, NULL, ERROR_NONE }. */
struct end {
	const char *word;
	const char *reason;       /* our stop reason; NULL: an error */
	enum error_code category; /* of the error */
};
/* The stop reason for a word, a JSON string; NULL: an error, *err says of which category
 * and why. said is what the API said about it, a JSON string, or absent. */
const char *end_reason(const struct end *ends, struct span word, struct span said,
    struct error *err);

/* Whether tools are to be run. */
bool message_calls(const struct message *m);
/* Gives calls without an id, and those whose id a call before them in the conversation
 * has (messages are those of the request), one of ours that no other call has. */
void message_name_calls(struct message *m, struct span messages);
/* The same, and what an answer that ended well, or did not say how, ended with: calls, if it
 * has any. For APIs whose word for an end does not tell. */
void message_settle(struct message *m, struct span messages);

/* Members "usage", of what is known, and "model". */
void message_write_usage(const struct message *m, struct writer *w);
/* Members "blocks", "stop_reason", "usage", "model", "request_id" and "session_id" of an
 * answer. */
void message_write(const struct message *m, struct writer *w);
/* Members of a `tool_call` or `tool_result` about a tool block; code: of the error that
 * the result is, ERROR_NONE if it is none. */
void message_write_tool(const struct block *b, enum error_code code, struct writer *w);

#endif
