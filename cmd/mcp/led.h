/*
 * Runs that are led: those that this program has started or taken over, with their questions and
 * the requests that wait until one of them gets on. On this stand mcp/status.h, what a client is
 * told of a run; mcp/approvals.h, what waits for a person; and mcp/answers.h, what questions and
 * requests are answered.
 *
 * What the code relies on, and keeps:
 *   - All that is known of a run is read from its transcript. This program keeps nothing that its
 *     end would lose but the connections to questions, which hold them open.
 *   - Only runs that the workflows of the directory made are led, and no workflow that has changed
 *     since is started or resumed: each awf-run is started by led_start(), which looks.
 *   - A run is an awf-run of its own, in a group of its own: whatever ends this program ends none.
 *   - A question is answered once. The same answer again gets what became of the run; another one
 *     is refused, and so is one to a question of another attempt, or of a run that is not led here.
 *   - A call that waits for a person is decided about only as one says whom the client has asked: one
 *     who says nothing decides nothing. What was asked is about one wait, and not a later one.
 *   - No request waits longer than GATE_WAIT_MS: then it is told that the run goes on.
 */
#ifndef AWF_MCP_LED_H
#define AWF_MCP_LED_H

#include <poll.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/digest.h"
#include "base/error.h"
#include "base/id.h"
#include "decide/open_question.h"
#include "json/line_input.h"
#include "mcp/drain.h"
#include "mcp/rpc.h"
#include "mcp/workflows.h"
#include "model/follow.h"
#include "storage/storage.h"

#define LED_NOTES "notes"    /* the member of a checkpoint, and of what is told */

/* A call that asks. */
struct gate {
	struct led *led;
	struct followed *run;    /* that it is of: the led one, or a child */
	char *call, *path;
	int64_t iteration;
	char token[QUESTION_TOKEN_SIZE];
	char start[ID_SIZE];     /* event of its start */
	char *prompt;            /* JSON */
	char *schema;            /* JSON; NULL: any answer will do */
	bool over;               /* it has its end: */
	bool waits;              /* as one that waits, as nobody was there */
	char sha256[DIGEST_SIZE]; /* of the answer that was taken; "" */
	char given[DIGEST_SIZE]; /* of the one that is on its way; "" */
	char *refused;           /* why the last one was not taken; NULL */
	int fd;                  /* the connection to it; -1 */
	struct line_input input;
	struct buffer answer;    /* what it does not take yet of one */
};

struct led {
	char run_id[ID_SIZE];
	const struct workflow_entry *workflow; /* that made it */
	struct followed *run;    /* NULL: it has not begun */
	pid_t pid;               /* awf-run; 0: none of ours, or it has ended */
	pid_t cancelling;        /* awf-ctl, which ends the run; 0 */
	int ended_fd;            /* readable when that has; -1 */
	struct drain drain;      /* of what it prints and says */
	struct error failed;     /* it could not be started */
	bool again;              /* it is resumed as soon as nothing of it lives any more */
	char origin[ID_SIZE];    /* the run that it is a fork of, once that does not live any more, */
	char *fork_at;           /* at this call; NULL: it is none, or has been started */
	int64_t attempts, started; /* that the transcript has; that it had when awf-run was started */
	int64_t done;            /* calls that have ended */
	char *last;              /* the path of the last of them; NULL */
	char **notes;            /* of its checkpoints; ends with NULL; NULL */
	char asked[ID_SIZE];     /* the client is asked about this wait (struct waiting), and has not
	                          * answered yet; "" */

	/* Of the attempt that is the last. */
	char *status;            /* NULL: it goes on */
	char *error;             /* NULL */
	char stdout_sha256[DIGEST_SIZE]; /* "" */
	int64_t stdout_bytes;
};

/* A request that is answered later. */
struct waiter {
	struct rpc_call call;
	struct led *led;
	struct gate *answered;   /* that it has given an answer to; NULL */
	bool for_end;            /* it waits for the end of the run, whatever that asks */
	bool takes_over;         /* it is told the notes, too */
	bool cancels;            /* a client that cancels it cancels the run */
	bool declined;           /* a person was asked, and decides nothing */
	int64_t deadline, told;  /* how far it was told the run is */
	struct waiter *next;
};

struct leading {
	const struct workflows *workflows; /* whose runs alone are led */
	struct storage storage;
	struct follow_callbacks callbacks;
	struct follow follow;
	struct led **list;
	size_t count;
	struct gate **gates;
	size_t gate_count;
	struct waiter *waiters;
	int64_t look;            /* when it is asked again who has died */
	char *client;            /* who answers, for the record */
};

int leading_begin(struct leading *l, const struct workflows *workflows, struct error *err);
void leading_end(struct leading *l);

/* Starts awf-run with these arguments, whose run has this id; input: for its standard input, .at
 * NULL: nothing. */
struct led *leading_start(struct leading *l, const char *run_id, const struct workflow_entry *workflow,
    char *const *argv, char *const *environment, struct span input, struct error *err);
/* The run that an argument names, as storage_resolve() has it, and the workflow of the directory that
 * made it: with @ and @NAME the latest of these. NULL with *err: there is none, or something else
 * made it. */
const struct workflow_entry *leading_resolve(const struct leading *l, const char *argument,
    char run_id[ID_SIZE], struct error *err);
/* Takes over a run that is there; one that does not live is resumed, unless it has ended well. */
struct led *leading_take_over(struct leading *l, const char *run, struct error *err);
/* Starts a fork of a run that has ended, from the question of this call, or path, on. NULL with *err:
 * it has asked no such question itself, or goes on. */
struct led *leading_rewind(struct leading *l, const struct led *led, const char *call,
    struct error *err);
/* Resumes a run that has ended waiting, if all that it waited for was decided. */
int leading_go_on(struct leading *l, struct led *led, struct error *err);
/* NULL: it is not led here. */
struct led *leading_find(const struct leading *l, const char *run_id);
/* Whether it has come to an end, be it one that another attempt may follow. */
bool led_has_ended(const struct led *led);
/* Ends a run: awf-ctl does it, and is not waited for. */
int leading_cancel(struct leading *l, struct led *led, struct error *err);

/* Whether it has an answer, be it on its way. */
bool gate_answered(const struct gate *g);
/* Whether it waits for one, and can take it. */
bool gate_pending(const struct gate *g);
/* Lets go of the connection, and of an answer that is on its way. */
void gate_disconnect(struct gate *g);

/* The request, which is taken over, waits until the run has a question, ends, or for long:
 * answers_step(). */
struct waiter *leading_wait(struct leading *l, struct rpc_call *call, struct led *led);
/* It has been answered, or need not be. An answer that it has given stays on its way. */
void waiter_drop(struct leading *l, struct waiter *w);

/* Records a note in the run: awf-record does it. */
int leading_note(struct leading *l, const struct led *led, const char *note, struct error *err);

/* For the loop: what it is to poll, from fds[from] on, until when; and what has come. */
size_t leading_polls(const struct leading *l, struct pollfd **fds, size_t from, int64_t *deadline);
int leading_step(struct leading *l, struct error *err);

#endif
