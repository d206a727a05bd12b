/*
 * Led runs: the runs that this program has started or taken over for its client, with their
 * questions, and the client's requests that wait for them. Based on this are mcp/status.h, what
 * clients are told about a run; mcp/approvals.h, calls that wait for an approval; and
 * mcp/answers.h, which answers questions and requests.
 *
 * What the code relies on, and keeps:
 *   - Everything that is known about a run is read from its transcript. When this program ends,
 *     only its connections are lost, which keep questions open.
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
#define LED_WAIT "--wait=" ATTENDED_USUALLY /* option of awf-run */

/* A question of a call. */
struct gate {
	struct led *led;
	struct followed *run;    /* the run that the call is in: the led run, or a child of it */
	char *call, *path;
	int64_t iteration;
	char token[QUESTION_TOKEN_SIZE];
	char start[ID_SIZE];     /* event id of its step.started */
	char *prompt;            /* JSON */
	char *schema;            /* JSON schema of the answer; NULL: any answer is valid */
	bool over;               /* the call has ended: */
	bool waits;              /* nobody has answered it in time, and it ended as waiting */
	char sha256[DIGEST_SIZE]; /* digest of the accepted answer; "": none */
	char given[DIGEST_SIZE]; /* digest of the answer that was sent and has no reply yet; "":
	                            none */
	char *refused;           /* why the last answer was refused; NULL */
	int fd;                  /* connection to the call; -1: none */
	struct line_input input;
	struct buffer answer;    /* the rest of an answer that could not be written yet */
};

struct led {
	char run_id[ID_SIZE];
	const struct workflow_entry *workflow; /* the workflow that the run executes */
	struct followed *run;    /* NULL: the run has not begun */
	pid_t pid;               /* pid of awf-run; 0: it has ended, or another program has started
	                            it */
	pid_t cancelling;        /* pid of awf-ctl, which cancels the run; 0: none */
	int ended_fd;            /* pidfd of awf-ctl, readable when it has ended; -1: none */
	struct drain drain;      /* reads the stdout and stderr of the run */
	struct error failed;     /* why it could not be started */
	bool again;              /* resume it as soon as its process has ended */
	char origin[ID_SIZE];    /* if it is a fork: the original run, whose process must have ended
	                            first, */
	char *fork_at;           /* and the call from which it is forked; NULL: it is no fork, or
	                            was started */
	int64_t attempts, started; /* number of attempts in the transcript, now and when awf-run was
	                              started */
	int64_t done;            /* number of calls that have ended */
	char *last;              /* path of the last call that has ended; NULL */
	char **notes;            /* notes that were recorded in the run; ends with NULL; NULL:
	                            none */
	char asked[ID_SIZE];     /* event id of the wait (struct waiting) about which the user is
	                            being asked; "": none */

	/* Of the latest attempt. */
	char *status;            /* NULL: the attempt has not ended */
	char *error;             /* NULL */
	char stdout_sha256[DIGEST_SIZE]; /* "" */
	int64_t stdout_bytes;
};

/* A request that is answered later. */
struct waiter {
	struct rpc_call call;
	struct led *led;
	struct gate *answered;   /* the question that was answered by the request; NULL */
	bool for_end;            /* it waits for the end of the run, even if there are questions */
	bool takes_over;         /* the notes are part of its response */
	bool cancels;            /* if the client cancels it, the run is cancelled */
	bool declined;           /* the user was asked and did not decide */
	int64_t deadline, told;  /* told: how much progress was reported */
	struct waiter *next;
};

struct leading {
	const struct workflows *workflows; /* only runs of these are led */
	struct storage storage;
	struct follow_callbacks callbacks;
	struct follow follow;
	struct led **list;
	size_t count;
	struct gate **gates;
	size_t gate_count;
	struct waiter *waiters;
	int64_t look;            /* when to check again whether runs have died */
	char *client;            /* the client's name, which is recorded with its answers */
};

int leading_begin(struct leading *l, const struct workflows *workflows, struct error *err);
void leading_end(struct leading *l);

/* Starts awf-run with these arguments; run_id is the id of its run; input: text for its stdin, .at
 * NULL: none. */
struct led *leading_start(struct leading *l, const char *run_id, const struct workflow_entry *workflow,
    char *const *argv, char *const *environment, struct span input, struct error *err);
/* Finds the run that an argument names, as storage_resolve() does, and the workflow of the
 * directory that it executes. @ and @NAME mean the latest run of such a workflow. NULL with *err:
 * there is no such run, or it executes something else. */
const struct workflow_entry *leading_resolve(const struct leading *l, const char *argument,
    char run_id[ID_SIZE], struct error *err);
/* Takes over an existing run. If its process has ended, it is resumed, unless it was successful. */
struct led *leading_take_over(struct leading *l, const char *run, struct error *err);
/* Starts a fork of a run that has ended, from the question of the call with this id or path. NULL
 * with *err: the run has no such question of its own, or it has not ended. */
struct led *leading_rewind(struct leading *l, const struct led *led, const char *call,
    struct error *err);
/* Resumes a run that has ended as waiting, if there are decisions about everything that it waited
 * for. */
int leading_go_on(struct leading *l, struct led *led, struct error *err);
/* A run of this session; NULL: it is none. */
struct led *leading_find(const struct leading *l, const char *run_id);
/* Whether the run has ended; another attempt may follow. */
bool led_has_ended(const struct led *led);
/* The next call, of a run that has not ended or of a run inside it, that waits for a person or for a
 * result with its process; NULL: there is none more. Zero the walk first; walk.in: the run of the call. */
struct attended_walk {
	const struct followed *in;
	size_t run, wait;
};
const struct waiting *leading_attended(const struct leading *l, const struct led *led,
    struct attended_walk *walk);
bool led_attends(const struct leading *l, const struct led *led);
/* Starts awf-ctl to cancel a run, and does not wait for it. */
int leading_cancel(struct leading *l, struct led *led, struct error *err);

/* Whether the question has an answer, or one was sent. */
bool gate_answered(const struct gate *g);
/* Whether the question is open, and an answer can be sent. */
bool gate_pending(const struct gate *g);
/* Closes the connection, and drops an answer that was not yet written completely. */
void gate_disconnect(struct gate *g);

/* Lets a request wait, of which it takes ownership, until the run asks something or ends, or the
 * time limit is over: see answers_step(). */
struct waiter *leading_wait(struct leading *l, struct rpc_call *call, struct led *led);
/* Drops a request that was responded to, or needs no response. An answer that it has sent is not
 * affected. */
void waiter_drop(struct leading *l, struct waiter *w);

/* Starts awf-record to record a note in the run. */
int leading_note(struct leading *l, const struct led *led, const char *note, struct error *err);

/* For the loop: leading_polls() adds the descriptors to poll, from fds[from] on, and sets the
 * deadline; leading_handle() handles what has happened. */
size_t leading_polls(const struct leading *l, struct pollfd **fds, size_t from, int64_t *deadline);
int leading_step(struct leading *l, struct error *err);

#endif
