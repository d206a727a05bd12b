/*
 * A message of the model while it arrives: blocks in the vocabulary of awf-provider(7), filled
 * piece by piece, the usage in AWF's terms, and how the answer ended.
 *
 * What an API sends beyond that vocabulary is kept in `raw` (members of the API's block that have
 * no place in AWF's) with the API's name in `api`; the provider of that API sends it back, all
 * others leave it out.
 *
 * Each API has a table of its words for the end of an answer, from its reference: the reason in
 * AWF's vocabulary, or the error. Any other word is the error `cut_off`, which quotes it, since an
 * incomplete text must not count as an answer. A user can define a word with --known-end
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
	long long index;          /* the API's number of it; -1: none */
	struct buffer text;       /* the text or thoughts; the tool's input or result as JSON */
	bool begun;               /* pieces of text have come; of a draft: all of them */
	char *tool_id, *tool_name;
	bool is_error;            /* of a tool result */
	bool ran;                 /* the API ran this tool itself */
	bool waits;               /* for a client that carries out the call */
	bool commentary;          /* a text about the work on the answer, not the answer */
	const char *note;         /* what AWF changed in it, for its reader; NULL: nothing */
	long event;               /* of the stream, in which it began */
	struct buffer signature;  /* with which the API recognizes its own thoughts */
	struct buffer redacted;   /* thinking that only the API can read */
	char bound[DIGEST_SIZE];  /* digest of what was sent before it, to which the API ties it; "" */
	const char *api;          /* whose raw, signature or field this is */
	const char *field;        /* the API's name for the text, if it has several */
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

/* Where an API puts a number of its usage. A table of these ends with USAGE_END. */
struct usage_place {
	size_t number;            /* offset in struct usage */
	const char *outer, *name; /* the member; inside another one if outer is not NULL */
};
#define USAGE(number, name) { offsetof(struct usage, number), NULL, name }
#define USAGE_IN(number, outer, name) { offsetof(struct usage, number), outer, name }
#define USAGE_END { 0, NULL, NULL }

struct message {
	struct block *blocks;
	size_t count;
	struct usage usage;
	char *model;
	char *id;                 /* the API's of the message, while it is read; NULL */
	char *request_id;         /* the API's id of the request; NULL */
	char *session_id;         /* of an agent CLI */
	const char *stop_reason;  /* in our vocabulary; NULL: not said yet */
	char *explanation;        /* of a refusal, the API's text about it; NULL: none */
	bool begun;               /* the API said so, where it does */
	size_t open;              /* blocks that have begun and not ended, if the API reports that */
	bool ended;               /* the API said that the message is complete */
};

void message_begin(struct message *m);
void message_free(struct message *m);
/* Without any block again. */
void message_clear(struct message *m);

/* Appends a new block; the pointer is valid until the next one is made. */
struct block *message_add(struct message *m, enum block_type type, long long index);
/* Moves the last block to this place among the others; takes one away. */
void message_raise(struct message *m, size_t to);
void message_remove(struct message *m, size_t at);
/* The block with the API's index, or NULL. */
struct block *message_find(struct message *m, enum block_type type, long long index);
/* Takes the blocks with a number away. */
void message_drop(struct message *m, long long index);
/* The last block if it has this type, else a new one: for APIs whose pieces have no index. */
struct block *message_last(struct message *m, enum block_type type);
/* Adds a member of the API's block to b's raw object; key is the token with its quotes. */
void block_keep(struct block *b, struct span key, struct span value);
/* The same with a key that needs no escaping and a value, or a text. */
void block_keep_as(struct block *b, const char *key, struct span value);
void block_note(struct block *b, const char *key, const char *text);

/* Whether a value is not null and not an empty array, so that something would be lost without
 * it. */
bool says_something(struct span value);
/* Sets *text to the decoded string, unless value is no string or *text is set. */
void text_once(char **text, struct span value);
/* Sets *number if value is an integer that is not negative. */
void number_set(long long *number, struct span value);
/* Sets the usage from an object, by the table; of several places for one number the last one
 * present counts. A 0 does not replace a number: gateways send it where they do not know it. */
void usage_set(struct usage *u, struct span object, const struct usage_place *places);
/* Adds the usage in an object, by the table, to the present one; several places for one number
 * are added. */
void usage_sum(struct usage *u, struct span object, const struct usage_place *places);
/* Adds a number of dollars to the cost; anything else is ignored. */
void usage_add_cost(struct usage *u, struct span dollars);

/* An API's word for the end of an answer. A table of these ends with { NULL, NULL, ERROR_NONE }. */
struct end {
	const char *word;
	const char *reason;       /* our stop reason; NULL: an error */
	enum error_code category; /* of the error */
};
/* The stop reason for a word, a JSON string; NULL: it is an error, whose category and message
 * are in *err. defined: words of the endpoint, which come before those of the table (known_end.h).
 * said is the API's text about it, a JSON string, or absent. */
const char *end_reason(const struct end *ends, struct span defined, struct span word,
    struct span said, struct error *err);

/* Makes the input of a call the JSON object that the model meant: `{}` and then an object is the
 * object, null is {}, and a text that holds an object is that object, which a note says. Anything else stays as
 * it came. */
void block_repair_input(struct block *b);

/* Whether it has nothing but thoughts and empty texts. */
bool message_says_nothing(const struct message *m);
/* Whether tools are to be run. */
bool message_calls(const struct message *m);
/* Takes out calls that were told twice: of one id and name, with the same input or none. Gives calls without an id, and those whose id an earlier call of the conversation has
 * (messages are the request's), an id of AWF's that no other call has. */
void message_name_calls(struct message *m, struct span messages);
/* The same; and if the answer has calls and ended well, or gave no reason, sets the stop reason
 * to calls. For APIs whose word for an end does not say that. */
void message_settle(struct message *m, struct span messages);

/* Writes a block as answers have it. */
void message_write_block(struct writer *w, const struct block *b);
/* Writes the members "usage", as far as known, and "model". */
void message_write_usage(const struct message *m, struct writer *w);
/* Writes the members "blocks", "stop_reason", "usage", "model", "request_id" and "session_id" of
 * an answer. */
void message_write(const struct message *m, struct writer *w);
/* Writes the members of a `tool_call` or `tool_result` from a tool block; code: the error that
 * the result is, or ERROR_NONE. */
void message_write_tool(const struct block *b, enum error_code code, struct writer *w);

#endif
