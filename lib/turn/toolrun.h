/*
 * The tool calls of one answer: each is looked up, checked, recorded, run, and its
 * result recorded. Whatever is wrong with a call (no such tool, arguments that
 * break the schema, a tool that fails) becomes its result, for the model to read;
 * only an interrupt, the deadline of the whole call, or a failing machine ends
 * them all.
 *
 * Adjacent calls run at once if all their tools allow it (`concurrent`; those of MCP servers do
 * that only read), else one after another; control tools (control.h) answer one by one.
 * What is recorded is in the order of the calls:
 *
 *     message.assistant → tool.call → tool.result
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
	TOOL_SKIPPED,  /* the call is; the user has said not to run it again */
	TOOL_RECORDED  /* recorded once more as it was, by a replay */
};

struct tool_run {
	/* The call, as it came. */
	char *name, *call_id;
	struct span asked;              /* its arguments; the caller's memory */

	/* What it is run as. */
	struct span input;              /* JSON that the tool gets */
	struct buffer filled;           /* with what it lacked; "" if it lacks nothing */
	const struct tool *tool;        /* NULL: it cannot be run */
	const struct control *control;  /* that answers it; NULL: a program does */
	struct tool own;                /* loaded for this call (tools_policy warn) */
	const char *warning;            /* NULL */
	bool refused;                   /* it is not to be run */
	struct sandbox sandbox;         /* that it runs in */
	struct environment environment; /* its own, if the tool names keys */
	struct via via;                 /* where it runs, if that is elsewhere, */
	char **far_variables;           /* what of the environment goes there, and */
	char **far_sandbox;             /* its sandbox there */
	bool cut_off;                   /* (resume) it was, elsewhere, and may run on there for a while */

	/* What came of it. */
	struct error error;             /* why it did not run, or failed; ERROR_NONE */
	struct buffer output;           /* JSON */
	struct subprocess process;
	struct far_end far;             /* of one that ran elsewhere */
	struct changed changed;         /* in the workspace, by it */
	size_t limit;                   /* bytes of it that the model is given; 0: all */
	char called[ID_SIZE], resulted[ID_SIZE]; /* event ids */

	/* What is recorded of it. */
	enum tool_source source;
	char named_call[ID_SIZE], named_result[ID_SIZE]; /* the ids that a replay gives; "" */
	const struct recalled_event *recorded; /* what a replay has to come to; NULL */
};

struct tool_runs {
	struct turns *turns;
	const struct offer *offer; /* what the model may call; NULL: an operation */
	const struct offer *withheld; /* what may be called with a warning (tools_policy); NULL */
	const char *cause;         /* event id of the message.assistant; NULL: the event before */
	bool answers;              /* the cause is the answer that asks for them, which is the same event in
	                              each attempt */
	bool went_on;            /* a recorded answer followed these results */
	bool synced;             /* nothing that must be on disk before a tool runs is not */
	struct tool_run *list;
	size_t count;
	size_t reach;            /* a replay ends before this run, as the recorded call did */
	struct error ending;     /* with this; ERROR_NONE: it goes on */
};

void tool_runs_begin(struct tool_runs *r, struct turns *t, const struct offer *offer,
    const char *cause);
/* Adds the calls in an answer that are for AWF to run. */
void tool_runs_take(struct tool_runs *r, struct span blocks);
/* Adds one call. */
void tool_runs_add(struct tool_runs *r, struct span name, struct span call_id,
    struct span input);
/* Whether what ended the recorded call tells of what went on around it. */
bool ended_by_circumstance(const struct recalled *recalled, struct error *error);
/* Runs and records them. -1: the call of the step ends with *err. */
int tool_runs_run(struct tool_runs *r, struct error *err);
/* The members of a failed call's block: why, and what AWF or the tool said of it, which is
 * its output (JSON, may be empty) and stderr. limit: bytes of it (0: all); directory: where all of
 * it is kept, or NULL (result_cut.h). */
void tool_write_failure(struct writer *w, const struct error *why, struct span output,
    const struct buffer *errors, size_t limit, const char *directory);
/* Those of a result. */
void tool_write_output(struct writer *w, struct span output, size_t limit, const char *directory);
/* Appends the results as blocks, inside of a JSON array. */
void tool_runs_blocks(const struct tool_runs *r, struct buffer *out);
void tool_runs_free(struct tool_runs *r);

#endif
