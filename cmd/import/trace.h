/*
 * Spans of traces as sessions: what format programs of traces (otel, agents) do the same way. They give
 * spans as they come; trace_say() says, in the words of awf-import(1), "Formats", what they say.
 *
 * What the code relies on, and keeps:
 *   - A span comes when it has ended: those inside it before it. So a session is said when its outermost
 *     span has come, all that came up to then in the order of their times; and it is over then.
 *     A span that is open says its session from the beginning, as spans in it come, and not its end.
 *   - What comes later is said after it, the spans of each line of the log together, as a further attempt.
 *     So what is said of a log begins with what was said of a part of it.
 *   - Tokens are counted where a model was asked: what spans around say is a sum of these.
 *   - A span that comes again is the same one.
 */
#ifndef AWF_IMPORT_TRACE_H
#define AWF_IMPORT_TRACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"
#include "base/map.h"
#include "import/format.h"

enum trace_kind {
	TRACE_OTHER, /* of no interest, but others are in it */
	TRACE_AGENT, /* outermost: a prompt; inside of another: a sub-agent */
	TRACE_CHAT,  /* a model was asked */
	TRACE_TOOL,
	TRACE_STEP   /* of something that is no agent */
};

struct trace_span {
	char *trace, *id, *parent;    /* parent NULL: none */
	enum trace_kind kind;
	char *name;                   /* of the agent, tool or step; NULL */
	int64_t start, end;           /* µs since 1970 */
	int64_t line;                 /* of the log */
	bool remote;                  /* its parent is of another program */
	bool open;
	bool failed;
	/* JSON, of which an empty one is not known. */
	struct buffer inputs;         /* of a session whose outermost span it is: members of an object */
	struct buffer prompt, answer; /* the inside of arrays of blocks; a prompt is the user's last */
	struct buffer results;        /* lines about results of tools that it was told */
	struct buffer usage, provider, model, stop_reason, input, output, error;
	char *call;                   /* of a tool: its id; NULL */

	/* Set by trace_say(). */
	struct trace_span *around;    /* NULL: none that is known */
	struct trace_span *session;   /* the outermost span of its session; NULL: not known yet */
	int64_t attached;             /* the line with which it was known of which session it is */
	size_t group;                 /* of an agent, while a portion is said */
	bool counted;                 /* its usage was said, of an agent */
	bool hidden;                  /* what it says is said by one around it */
};

struct trace {
	struct trace_span **spans;
	size_t count;
	struct map places;            /* trace and id → index */
};

/* Adds a span, whose texts and buffers the trace owns then; returns it, or NULL: it was there. */
struct trace_span *trace_add(struct trace *t, struct trace_span *span);
/* Says all sessions. name: of those whose outermost span has none; whole: a parent that has not come will
 * not. */
void trace_say(struct trace *t, struct format_log *log, const char *name, bool whole);
/* Frees what a span owns that was not added. */
void trace_free_span(struct trace_span *s);
void trace_free(struct trace *t);

#endif
