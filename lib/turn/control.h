/*
 * Control tools: tools that are implemented inside awf-step, not by a program. They control the
 * call (hand over to another agent, begin the next phase, give the result), or call a tool of an
 * MCP server (mcp_tools.h). Their calls and results are recorded, and sent back to the model, like
 * those of any tool. Their effect on the call is applied by settle() when the result is final,
 * wherever it comes from:
 *
 *    tool.call → answer() → tool.result → settle()    live, and in a replay
 *    the recorded result → settle()                   in a resumed call
 *
 * The calls of one answer are answered and settled in their order; adjacent ones are answered
 * together if their controls support that.
 */
#ifndef AWF_TURN_CONTROL_H
#define AWF_TURN_CONTROL_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "base/map.h"
#include "definitions/tool.h"

struct tool_run;

struct control {
	struct tool tool;    /* its argv is NULL; its effects are those of answer() */
	bool judges;         /* answer() checks the arguments, beyond that they are an object */
	bool foreign;        /* the work is a server's: the run's list of tools counts */
	/* Sets run->output (JSON), or run->error, which the model then reads, followed by the
	 * output if there is one. In a replay, run->recorded is the recorded result, from which
	 * random values are taken. -1: the call of the step ends with *err. */
	int (*answer)(void *context, struct tool_run *run, struct error *err);
	/* In place of answer(), if it is not NULL: of calls at once, whose controls all have it, and
	 * tools that are concurrent. Each has its error also where this returns -1. */
	int (*answer_all)(struct tool_run *runs, size_t count, struct error *err);
	/* Called when the result is final; run->error is set if the call failed. NULL: it has no
	 * effect on the call. */
	void (*settle)(void *context, const struct tool_run *run);
	void *context;
};

/* Makes a control. Its effects are none; the caller may change them. schema: JSON that is part of
 * the program. */
int control_begin(struct control *c, const char *name, const char *description,
    const char *schema, struct error *err);
/* An answer() that accepts whatever the schema does. */
int control_accept(void *context, struct tool_run *run, struct error *err);
void control_free(struct control *c);

/* What is offered to a model in a turn, in the order of the request. The caller owns tools
 * and controls. */
struct offer {
	struct offered {
		const struct tool *tool;
		const struct control *control; /* that answers it; NULL: a program does */
	} *list;
	size_t count;
	struct map numbers;  /* places in the list, by names: servers may have thousands of tools */
};

void offer_add(struct offer *o, const struct tool *tool);
void offer_add_control(struct offer *o, const struct control *control);
/* NULL: it is not offered. */
const struct offered *offer_find(const struct offer *o, const char *name);
void offer_clear(struct offer *o);

#endif
