/*
 * The turn loop: asks the model, runs the tools it calls, gives it the results, until it answers
 * without calling any, a stop condition holds, or a limit ends the call with a named error.
 * Everything is recorded through the call. The model of a call sees its system prompt, its input
 * with the attachments, its tools, this conversation, and the conversation that it continues, if
 * any; nothing else.
 *
 *     message.user → message.assistant → tool.call → tool.result → message.assistant …
 */
#ifndef AWF_TURN_TURN_H
#define AWF_TURN_TURN_H

#include <stdbool.h>
#include <stdint.h>

#include "base/clock.h"
#include "definitions/tool.h"
#include "formats/attachment.h"
#include "history/recall.h"
#include "limits/budget.h"
#include "limits/retry.h"
#include "proc/environment.h"
#include "proc/subprocess.h"
#include "transcript/call.h"
#include "turn/continuation.h"
#include "turn/team.h"

struct turns {
	/* Given. While a phase goes on, call, started and environment are its own; a hand-over
	 * changes member and deadline. */
	const struct member *member;      /* who works */
	struct call *call;
	const struct retry *retry;        /* of model requests */
	const struct interrupts *interrupts;
	const struct environment *environment; /* of tools */
	const struct keys *keys;          /* for tools that get one by name; may be NULL */
	const char *workflow_directory;   /* where tools are looked for; may be NULL */
	struct span prompt;               /* rendered text */
	const struct continuation *continued; /* the conversation that it continues: the session of an
	                                     agent CLI, and the messages that go before the prompt where
	                                     no session has them; NULL: none */
	const struct attachments *attachments; /* that go with it; NULL: none */
	bool shown;                       /* turns_request() is for people */
	int64_t timeout_ms;               /* of each model request; 0: none */
	int64_t deadline;                 /* of the whole call, monotonic ms; 0: none */
	bool verbose;                     /* text as it comes, on stderr */
	struct recalled *recalled;        /* the call that is gone on with, or replayed; NULL */
	const char *step;                 /* path, for turns_request(); NULL */
	const char *started;              /* event id of the call's step.started */
	int attempt;                      /* of the run */
	const char *run_directory;        /* runs/<id> */
	int64_t far_gone;                 /* when nothing runs elsewhere any more that an earlier attempt
	                                     has left there (monotonic ms) */
	const struct storage *storage;    /* that it lies in */
	int64_t mailbox_from;             /* position in the run's mailbox from which on words are for
	                                     this call */
	const char *live_place;           /* the same, if others may see what the model is writing */
	struct sandbox *sandbox;          /* what the step says of its tools' */
	struct budget *budget;            /* of what it may cost; NULL: no limit */
	int64_t max_children;             /* runs that its tools may start; 0: no limit */

	/* Filled. */
	struct {
		struct buffer result;             /* JSON: the answer's text, or the stop tool's input; of an
		                                     operation that failed what the tool printed */
		int64_t tool_calls;
		int64_t children;                 /* calls of tools that start runs */
		int exit_code;                    /* of an operation's tool */
		bool begun_elsewhere;             /* that has, at a far end */
		struct buffer usage;              /* JSON object, summed over turns */
		struct buffer retries;            /* inside of a JSON array: failed requests */
	} outcome;                    /* filled */
};

/* 0, or -1 with the error that ended the call. */
int turns_run(struct turns *t, struct error *err);
/* Appends the first request as it would be sent, for --dry-run: without a call, a recording
 * or a conversation to go on with. The servers of the agent are started for their tools. */
int turns_request(const struct turns *t, struct buffer *out, struct error *err);
/* Runs one tool with its input, records tool.call and tool.result, fills
 * t->result: an operation (awf-step -t). */
int turns_operation(struct turns *t, const struct tool *tool, struct span input,
    struct error *err);
/* Records an event of the recorded call once more, under its id. */
int turns_repeat(const struct turns *t, struct recalled_event *e, struct error *err);
/* A replay of an operation: records the tries that failed, all but the last, again. */
int turns_repeat_tries(struct turns *t, const struct tool *tool, struct span input,
    struct error *err);
/* The limit in ms of something with a limit of its own (0: none) in what is left of the call:
 * at least 1, or 0 for none. */
static inline int64_t
turns_time(const struct turns *t, int64_t own)
{
	int64_t left;

	if (t->deadline == 0)
		return own;
	left = t->deadline - clock_monotonic();
	if (own != 0 && own < left)
		return own;
	return left < 1 ? 1 : left;
}
void turns_free(struct turns *t);

#endif
