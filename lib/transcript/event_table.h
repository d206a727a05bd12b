/*
 * The event table: every type of event, and every member that a line of a transcript may have,
 * awf-transcript(5). It is used by the check of a line (transcript/form), the published schema
 * (awf-verify --schema), and the check of what a filter of awf-run --mask must not change
 * (transcript/redaction). The man page names the same members: a test compares them.
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
	KIND_OBJECT,    /* an object of the member's shape, if it has one */
	KIND_ARRAY,
	KIND_TEXT,
	KIND_BOOL,
	KIND_INTEGER,
	KIND_COUNT,     /* an integer, 0 or more */
	KIND_POSITIVE,  /* an integer, 1 or more */
	KIND_SEQ,       /* the same of 63 bits; stored in form.seq */
	KIND_UUID,      /* a UUID of version 4, in lower case */
	KIND_DIGEST,    /* 64 hex digits: a digest, or a public key */
	KIND_SIGNATURE, /* 128 hex digits */
	KIND_TIME,      /* 2026-11-21T08:15:30.123456Z */
	KIND_PATH,      /* names with dots between, or nothing */
	KIND_POINTER,   /* a JSON pointer */
	KIND_WORD,      /* one of the member's words */
	KIND_TYPE,      /* the type of the event; stored in form.type */
	KIND_PAYLOAD    /* an object, whose shape depends on form.type, which was read before it */
};

enum {
	MEMBER_REQUIRED = 1,
	MEMBER_NULLABLE = 2,
	MEMBER_LIST = 4,        /* an array of such values */
	MEMBER_NOT_EMPTY = 8,   /* the array has at least one element */
	/* What a filter of --mask may change. Digests are fixed in any case. */
	MEMBER_DATA = 16,       /* data of users, models and tools: any key and value in it may
	                           change */
	MEMBER_FIXED = 32,      /* identifies the event, or is a word on which readers depend */
	MEMBER_FIXED_OF_STEP = 64 /* fixed, but only in events of a step's call */
};

struct event_member {
	const char *key;
	size_t len;
	enum event_kind kind;
	unsigned flags;
	/* The shape of an object; if the member is of another kind, either is allowed. */
	const struct event_shape *shape;
	const char *const *words;   /* for KIND_WORD; ends with NULL */
	size_t into;                /* where in struct form the value's span is stored */
};

struct event_shape {
	const char *id;             /* its name in the published schema; NULL: none */
	const char *name;           /* its name in messages, such as "an error" */
	const char *about;          /* sentence that describes it in the schema; NULL: none */
	const struct event_member *members;
	size_t count;               /* at most 64 */
	bool ordered;               /* members in another order are an error */
};

extern const struct event_shape event_line;
/* The answer of a provider, which becomes a message.assistant. */
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
