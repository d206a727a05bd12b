/*
 * The event table: every type of event, and every member that a line of a transcript may
 * have, awf-transcript(5). What depends on it reads it from here: the check of a line
 * (transcript/form), the published schema (awf-verify --schema), and what a filter of
 * awf-run --mask must leave as it is (transcript/redaction). The man page names the same members:
 * a test compares them.
 *
 * A shape lists the members of an object in the order of the writers. Members that it does
 * not list are allowed, and may be anything.
 */
#ifndef AWF_TRANSCRIPT_EVENT_TABLE_H
#define AWF_TRANSCRIPT_EVENT_TABLE_H

#include <stdbool.h>
#include <stddef.h>

#include "transcript/event.h"

enum event_kind {
	KIND_ANY,
	KIND_OBJECT,    /* of its shape, if it has one */
	KIND_ARRAY,
	KIND_TEXT,
	KIND_BOOL,
	KIND_INTEGER,
	KIND_COUNT,     /* an integer, 0 or more */
	KIND_POSITIVE,  /* an integer, 1 or more */
	KIND_SEQ,       /* the same of 63 bits: form.seq */
	KIND_UUID,      /* version 4, in lower case */
	KIND_DIGEST,    /* 64 hex digits; the same of a public key */
	KIND_SIGNATURE, /* 128 of them */
	KIND_TIME,      /* 2026-11-21T08:15:30.123456Z */
	KIND_PATH,      /* names with dots between, or nothing */
	KIND_POINTER,   /* a JSON pointer */
	KIND_WORD,      /* one of its words */
	KIND_TYPE,      /* of event: form.type */
	KIND_PAYLOAD    /* an object of the shape of form.type, which stands before it */
};

enum {
	MEMBER_REQUIRED = 1,
	MEMBER_NULLABLE = 2,
	MEMBER_LIST = 4,        /* an array of such values */
	MEMBER_NOT_EMPTY = 8,   /* that has at least one */
	/* What filters of --mask may do. Digests are fixed, whatever stands here. */
	MEMBER_DATA = 16,       /* of users, models and tools: any key and value in it may change */
	MEMBER_FIXED = 32,      /* identifies the event, or is a word that readers go by */
	MEMBER_FIXED_OF_STEP = 64 /* that, in events of a step's call */
};

struct event_member {
	const char *key;
	size_t len;
	enum event_kind kind;
	unsigned flags;
	/* An object of this shape; if the kind is another, either is allowed. */
	const struct event_shape *shape;
	const char *const *words;   /* of KIND_WORD; the last is NULL */
	size_t into;                /* where in struct form a checked value is kept */
};

struct event_shape {
	const char *id;             /* among the definitions of the schema; NULL: none of its own */
	const char *name;           /* for messages, "an error" */
	const char *about;          /* a sentence for the schema; NULL: none */
	const struct event_member *members;
	size_t count;               /* 64 at most */
	bool ordered;               /* members out of this order are a fault */
};

extern const struct event_shape event_line;
/* What a provider answers, which becomes a message.assistant. */
extern const struct event_shape event_answer;
extern const struct event_shape event_tool;

struct event_description {
	const char *name;
	size_t len;
	bool synced;                /* see event_type_synced() */
	const struct event_shape *payload;
};
extern const struct event_description event_table[EVENT_TYPES];

/* All shapes that have an id, each once. */
extern const struct event_shape *const event_shapes[];
extern const size_t event_shape_count;

#endif
