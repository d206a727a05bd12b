/*
 * The tool calls of one answer: each is looked up, checked, recorded and run, and its result is
 * recorded. Any failure of a call (an unknown tool, arguments that do not match the schema, a tool
 * that fails) becomes its result, which the model reads. Only an interrupt, the deadline of the
 * whole call, or a failure of the machine ends all of them.
 *
 * Adjacent calls run at the same time if all their tools allow it (`concurrent`, and tools of MCP
 * servers that only read), otherwise one after another; control tools (control.h) are answered one
 * by one. Events are recorded in the order of the calls:
 *
 *    message.assistant → tool.call → tool.result
 */
#ifndef AWF_TURN_TOOLRUN_H
#define AWF_TURN_TOOLRUN_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buffer.h"
#include "base/error.h"
#include "base/id.h"
#include "definitions/tool.h"
#include "history/recall.h"
#include "json/scan.h"
#include "json/writer.h"
#include "proc/environment.h"
#include "proc/subprocess.h"
#include "turn/control.h"
#include "turn/turn.h"
#include "workspace/changed.h"
#include "workspace/far.h"

/* Where a result comes from, if there are recorded calls. */
enum tool_source {
	TOOL_RUN,      /* the tool is run */
	TOOL_TAKEN,    /* both events are in the file already */
	TOOL_SKIPPED,  /* the call is not run: the user said not to run it again */
	TOOL_RECORDED  /* a replay records it again as it was */
};

struct tool_run {
	/* The call, as it came. */
	char *name, *call_id;
	struct span asked;              /* its arguments; the caller's memory */

	/* What is run. */
	struct span input;              /* JSON that the tool gets */
	struct buffer filled;           /* the input with defaults added; "": none were needed */
	struct buffer edited;           /* the input as a person has edited it; "": nobody has */
	const struct tool *tool;        /* NULL: it cannot be run */
	const struct control *control;  /* that answers it; NULL: a program does */
	struct tool own;                /* loaded for this call (tools_policy warn) */
	const char *warning;            /* NULL */
	bool refused;                   /* it is not to be run */
	struct sandbox sandbox;         /* that it runs in */
	struct environment environment; /* of this call, if the tool names keys */
	struct via via;                 /* where it runs, if that is elsewhere, */
	char **far_variables;           /* the variables that are passed on to there, and */
	char **far_sandbox;             /* its sandbox there */
	bool cut_off;                   /* (resume) it was, elsewhere, and may run on there for a while */

	/* What came of it. */
	struct error error;             /* why it did not run, or failed; ERROR_NONE */
	struct buffer output;           /* JSON */
	struct subprocess process;
	struct far_end far;             /* of a tool that ran elsewhere */
	struct changed changed;         /* in the workspace, by it */
	size_t limit;                   /* bytes of it that the model is given; 0: all */
	char called[ID_SIZE], resulted[ID_SIZE]; /* event ids */

	/* How it is recorded. */
	enum tool_source source;
	char named_call[ID_SIZE], named_result[ID_SIZE]; /* the ids that a replay gives; "" */
	const struct recalled_event *recorded; /* the recorded result that a replay must
	                                          reproduce; NULL */
};

struct tool_runs {
	struct turns *turns;
	const struct offer *offer; /* what the model may call; NULL: for an operation */
	const struct offer *withheld; /* tools that may be called with a warning
	                                 (tools_policy); NULL */
	const char *cause;         /* event id of the message.assistant; NULL: the previous event */
	bool answers;              /* the cause is the answer that asks for them, which is the same event in
	                              each attempt */
	bool went_on;            /* a recorded answer followed these results */
	bool synced;             /* nothing that must be on disk before a tool runs is not */
	struct tool_run *list;
	size_t count;
	size_t reach;            /* a replay ends before this run, as the recorded call did */
	struct error ending;     /* with this error; ERROR_NONE: it does not end */
};

void tool_runs_begin(struct tool_runs *r, struct turns *t, const struct offer *offer,
    const char *cause);
/* Adds the calls in an answer that are for AWF to run. */
void tool_runs_take(struct tool_runs *r, struct span blocks);
/* Adds one call. */
void tool_runs_add(struct tool_runs *r, struct span name, struct span call_id,
    struct span input);
/* Whether the error that ended the recorded call was caused by circumstances outside
 * of the call. */
bool ended_by_circumstance(const struct recalled *recalled, struct error *error);
/* Runs and records them. -1: the call of the step ends with *err. */
int tool_runs_run(struct tool_runs *r, struct error *err);
/* The members of a failed call's block: why, and what AWF or the tool said of it, which is
 * its output (JSON, may be empty) and stderr. limit: bytes of it (0: all); directory: where all of
 * it is kept, or NULL (result_cut.h). */
void tool_write_failure(struct writer *w, const struct error *why, struct span output,
    const struct buffer *errors, size_t limit, const char *call_id, const char *directory);
/* Those of a result. */
void tool_write_output(struct writer *w, struct span output, size_t limit, const char *call_id,
    const char *directory);
/* Bytes of a recorded result, by the payload of its event, that the model was given; 0: all. */
size_t tool_result_limit(struct span payload);
/* Appends the results as blocks, inside of a JSON array. */
void tool_runs_blocks(const struct tool_runs *r, struct buffer *out);
void tool_runs_free(struct tool_runs *r);

#endif
