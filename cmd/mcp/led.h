/*
 * Led runs: those that this program has started or taken over, with their questions, and the
 * requests that wait for them. Based on this are mcp/status.h, what clients are told about a
 * run; mcp/approvals.h, calls that wait for an approval; and mcp/answers.h, which answers
 * questions and requests.
 *
 * What the code relies on, and keeps:
 *   - Everything that is known about a run is read from its transcript. When this program ends,
 *     only its connections to questions are lost, which keep the questions open.
 *   - Only runs of the directory's workflows are led, and a workflow that has changed since the
 *     start is neither started nor resumed: led_start(), which starts each awf-run, checks that.
 *   - Each run is an awf-run in a process group of its own, so that a signal that ends this program
 *     does not end the run.
 *   - A question is answered once. If the same answer is sent again, the response is the state of
 *     the run. A different answer is refused, and so is an answer to a question of another attempt,
 *     or of a run that is not led here.
 *   - A call that waits for an approval is decided about only if the client's user decides; without
 *     a decision it continues to wait. The decision is valid only for the wait about which the user
 *     was asked, not for a later one.
 *   - A request waits for at most GATE_WAIT_MS; the response is then that the run is
 *     still going on.
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

#define LED_NOTES "notes"    /* the member of a checkpoint, and of the state that clients get */

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
	bool waits;              /* its call waits: nobody was there to answer */
	char sha256[DIGEST_SIZE]; /* of the accepted answer; "" */
	char given[DIGEST_SIZE]; /* of the answer that was sent, and has no verdict yet; "" */
	char *refused;           /* why the last one was not taken; NULL */
	int fd;                  /* the connection to it; -1 */
	struct line_input input;
	struct buffer answer;    /* the part of an answer that is still to be written */
};

struct led {
	char run_id[ID_SIZE];
	const struct workflow_entry *workflow; /* that made it */
	struct followed *run;    /* NULL: it has not begun */
	pid_t pid;               /* awf-run; 0: not started by this program, or it has ended */
	pid_t cancelling;        /* awf-ctl, which ends the run; 0 */
	int ended_fd;            /* readable when that has; -1 */
	struct drain drain;      /* reads the stdout and stderr of the run */
	struct error failed;     /* it could not be started */
	bool again;              /* it is resumed as soon as nothing of it lives any more */
	char origin[ID_SIZE];    /* the run that it is a fork of, once that does not live any more, */
	char *fork_at;           /* at this call; NULL: not a fork, or it was started */
	int64_t attempts, started; /* that the transcript has; that it had when awf-run was started */
	int64_t done;            /* calls that have ended */
	char *last;              /* the path of the call that ended last; NULL */
	char **notes;            /* of its checkpoints; ends with NULL; NULL */
	char asked[ID_SIZE];     /* the client is asked about this wait (struct waiting), and has not
	                          * answered yet; "" */

	/* Of the latest attempt. */
	char *status;            /* NULL: it goes on */
	char *error;             /* NULL */
	char stdout_sha256[DIGEST_SIZE]; /* "" */
	int64_t stdout_bytes;
};

/* A request that is answered later. */
struct waiter {
	struct rpc_call call;
	struct led *led;
	struct gate *answered;   /* the question that it has answered; NULL */
	bool for_end;            /* it waits for the end of the run, and ignores questions */
	bool takes_over;         /* its response includes the notes */
	bool cancels;            /* a client that cancels it cancels the run */
	bool declined;           /* a person was asked, and decides nothing */
	int64_t deadline, told;  /* how much progress was reported */
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
	int64_t look;            /* when to check next whether runs have died */
	char *client;            /* the client's name, which is recorded with answers */
};

int leading_begin(struct leading *l, const struct workflows *workflows, struct error *err);
void leading_end(struct leading *l);

/* Starts awf-run with these arguments, whose run has this id; input: for its standard input, .at
 * NULL: nothing. */
struct led *leading_start(struct leading *l, const char *run_id, const struct workflow_entry *workflow,
    char *const *argv, char *const *environment, struct span input, struct error *err);
/* Finds the run that an argument names, as storage_resolve() does, and the workflow of the
 * directory that made it. @ and @NAME are the latest run of such a workflow. NULL with *err: there
 * is none, or something else made it. */
const struct workflow_entry *leading_resolve(const struct leading *l, const char *argument,
    char run_id[ID_SIZE], struct error *err);
/* Takes over a run that is there; one that does not live is resumed, unless it has ended well. */
struct led *leading_take_over(struct leading *l, const char *run, struct error *err);
/* Starts a fork of a run that has ended, from the question of the call with this id or path. NULL
 * with *err: the run itself has no such question, or it has not ended. */
struct led *leading_rewind(struct leading *l, const struct led *led, const char *call,
    struct error *err);
/* Resumes a run that has ended waiting, if all that it waited for was decided. */
int leading_go_on(struct leading *l, struct led *led, struct error *err);
/* NULL: it is not led here. */
struct led *leading_find(const struct leading *l, const char *run_id);
/* Whether it has ended, even if another attempt may follow. */
bool led_has_ended(const struct led *led);
/* Ends a run: awf-ctl does it, and is not waited for. */
int leading_cancel(struct leading *l, struct led *led, struct error *err);

/* Whether it has an answer, or one was sent. */
bool gate_answered(const struct gate *g);
/* Whether it waits for an answer, and an answer can be sent. */
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

/* For the loop: adds the descriptors to poll, from fds[from] on, and sets the deadline; and handles
 * what has happened. */
size_t leading_polls(const struct leading *l, struct pollfd **fds, size_t from, int64_t *deadline);
int leading_step(struct leading *l, struct error *err);

#endif
