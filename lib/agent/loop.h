/*
 * A turn loop while it runs: what lib/agent/turn.c and the loop_*.c files share.
 * loop_request.c makes the requests and records what was asked and answered, loop_ask.c
 * asks, loop_fallback.c chooses whom, loop_cost.c counts what it costs, loop_recall.c finds
 * it in the recording, loop_before.c asks what is to be changed, loop_handoff.c lets another
 * agent go on, loop_mcp.c has the tools of servers, loop_output.c makes the result, turn.c
 * decides what an answer leads to.
 */
#ifndef AWF_AGENT_LOOP_H
#define AWF_AGENT_LOOP_H

#include <stdbool.h>
#include <stdint.h>

#include "agent/change.h"
#include "agent/control.h"
#include "agent/emitted.h"
#include "agent/mcp_tools.h"
#include "agent/partial.h"
#include "agent/phases.h"
#include "agent/provider.h"
#include "agent/tool.h"
#include "agent/turn.h"
#include "base/buffer.h"
#include "base/digest.h"
#include "base/error.h"
#include "base/id.h"
#include "json/writer.h"

/* What a turn, or a part of it, leads to. */
enum { CONTINUES, ENDED, FAILED = -1 };

enum usage_key { USAGE_INPUT, USAGE_OUTPUT, USAGE_CACHE_READ, USAGE_CACHE_WRITE,
	USAGE_REASONING, USAGE_KEYS };

struct request {
	struct buffer text;
	char sha256[DIGEST_SIZE];
};

struct transfer;
struct tool_runs;

struct loop {
	struct turns *turns;
	const struct member *lead; /* who began */
	const struct member *next; /* who goes on after this turn; NULL: the same */
	struct transfer *transfers; /* control tools that lead there */
	size_t transfer_count;
	int64_t handoffs;          /* that were made */
	int64_t deadline;          /* of the whole call */
	struct control stopping;   /* the stop tool, if it has no executable */
	struct offer offer;        /* what the model may call */
	struct mcp_tools mcp;      /* of the agent's servers */
	struct offer withheld;     /* of them, what it may not */
	struct change change;      /* of this turn, by a before_turn program */
	struct phases phases;      /* of an agent that has any */
	struct buffer messages;    /* of the request, inside of a JSON array */
	struct digest asked;       /* of the request up to the end of the messages, as far */
	size_t asked_len;          /* as it is known */
	struct buffer text;        /* of the last answer that had any */
	struct answer answer;
	struct emitted emitted;
	struct partial partial;    /* of the answer that comes in */
	int64_t turn;              /* 0, 1, … */
	int64_t repairs;           /* of the result: how often it was refused */
	bool sent_back;            /* in this turn */
	int64_t usage[USAGE_KEYS]; /* -1: not known */
	int64_t cost;              /* of the turns so far, where there is a limit */
	size_t fallen;             /* who is asked: 0 the agent's own, else that fallback */
	bool line_open;            /* live text that did not end in LF */
};

/* Begins the conversation with the prompt. loop_free() is called either way. */
int loop_begin(struct loop *l, struct turns *t, struct error *err);
/* Sets what the agent's model may call. */
int loop_offer(struct loop *l, struct error *err);
/* Adds a message to the conversation; blocks are the inside of a JSON array. */
void loop_add_message(struct loop *l, const char *role, const char *blocks, size_t len);
/* The session that who is asked goes on with; NULL: the messages are all that it knows. */
const char *loop_session(const struct loop *l);
/* The next request, without its id, and its digest. */
void loop_request(struct loop *l, struct request *request);
/* What comes next is asked of other messages, or by another agent. */
void loop_forget_asked(struct loop *l);
/* What the model may call in this turn. */
const struct offer *loop_offered(const struct loop *l);
/* The members of the next request. */
void loop_write_asked(const struct loop *l, struct writer *w);
/* The member usage: of the turns so far. */
void loop_write_usage(const struct loop *l, struct writer *w);
int loop_record_prompt(const struct loop *l, struct error *err);
/* Records what the agent that goes on is given, beside the conversation. */
int loop_record_handoff(const struct loop *l, const struct agent *from, struct error *err);
/* Records what a before_turn program makes of the turn. */
int loop_record_change(const struct loop *l, struct error *err);
/* Records that the servers have other tools from this turn on. */
int loop_record_tools(const struct loop *l, struct error *err);
/* Records a further message of the user, of one text, before the next turn. */
int loop_record_text(const struct loop *l, const struct buffer *text, struct error *err);
/* Writes a text as a block; fidelity NULL: as it is sent. */
void loop_write_text(struct writer *w, struct span text, const char *fidelity);
/* Writes a block of an answer: as the model's word; what the API ran says so already. */
void loop_write_block(struct writer *w, struct span block);
/* Writes a block of a recorded answer as it came from the provider. */
void loop_write_original(struct writer *w, struct span block);
int loop_record_answer(struct loop *l, const struct request *request, int64_t duration_ms,
    char id[ID_SIZE], struct error *err);
/* Records what came of an answer that was cut off, if anything did. */
int loop_record_partial(struct loop *l, const struct request *request, int64_t duration_ms,
    struct error *err);
void loop_free(struct loop *l);

/* loop_handoff.c: offers the transfers to other agents; lets l->next go on. */
int loop_offer_transfers(struct loop *l, struct error *err);
void loop_drop_transfers(struct loop *l);
int loop_hand_over(struct loop *l, struct error *err);

/* loop_mcp.c: what the servers of the agent offer, from the message of the user that the
 * agent began with, if that is recorded (NULL: it is not); and whether they offer something
 * else since. */
int loop_begin_mcp(struct loop *l, const struct recalled_event *prompt, struct error *err);
int loop_refresh_mcp(struct loop *l, struct error *err);

/* loop_output.c: the last text as the result, which ends the call; one that the agent's
 * schema refuses is sent back, or fails it. */
int loop_finish(struct loop *l, struct error *err);
/* Whether the recorded call went on because its result was sent back. */
bool loop_was_sent_back(const struct loop *l);
/* Counts results that were refused as arguments of the tool that gives them; -1: they
 * were too many. */
int loop_count_refused(struct loop *l, const struct tool_runs *runs, struct error *err);

/* loop_before.c: asks the agent's before_turn program; l->change, or the call's end. */
int loop_before_turn(struct loop *l, struct error *err);

/* loop_recall.c: the prompt, the handing over after this turn, and the answer of this
 * turn, from the recorded call if that has them; a replay records them again, under their
 * ids. The last returns 1 if there was one, 0 if the model is to be asked. */
int loop_recall_prompt(struct loop *l, struct error *err);
/* The recorded message of the user that the call began with; NULL: there is none. */
const struct recalled_event *loop_first_prompt(const struct loop *l);
/* The recorded message of the user that follows the event before; NULL: there is none. */
const struct recalled_event *loop_recorded_prompt(const struct loop *l);
/* Takes it, if it was recorded. 1: it is taken; 0: it is to be recorded, under its id in a
 * replay; -1: the recording ends here. */
int loop_take_prompt(struct loop *l, const struct recalled_event *e, struct error *err);
int loop_recall_handoff(struct loop *l, const struct agent *from, struct error *err);
/* Adds a text to the conversation, as a message of the user before the next turn. */
int loop_prompt_again(struct loop *l, const struct buffer *text, struct error *err);
int loop_recall_answer(struct loop *l, struct request *request, char id[ID_SIZE],
    struct error *err);
/* What ended the recorded call ends this one, as there is nothing more of it. */
int loop_recorded_end(struct loop *l, struct error *err);
/* Whether a replay has come to where circumstances ended the recorded call. */
bool loop_ends_as_recorded(const struct loop *l);
/* Whether the recorded call went on to another turn after this one. */
bool loop_went_on(const struct loop *l);

/* loop_fallback.c: who is asked; and to ask another from now on, by a request that is made
 * anew, as the recorded answer is another's, or as this one does not answer. */
const char *loop_model(const struct loop *l);
const char *loop_provider_name(const struct loop *l);
struct provider *loop_provider(const struct loop *l);
void loop_fall_back(struct loop *l, size_t number, struct request *request);
int loop_recall_fallback(struct loop *l, const struct recalled_event *answer,
    struct request *request, struct error *err);

/* loop_cost.c: whether a request is within what the call may cost; counts its answer. */
int loop_check_cost(const struct loop *l, struct error *err);
int loop_add_cost(struct loop *l, bool recorded, struct error *err);

/* Asks until there is an answer (l->answer) or no try is left, and nobody else to ask. */
int loop_ask(struct loop *l, struct request *request, int64_t *duration_ms,
    struct error *err);
/* Time left of the call; 0: no limit; -1: none. */
int64_t loop_time_left(const struct loop *l);
/* A command of an agent file as argv: text is for the shell. Free the array alone. */
char **loop_command(json_t *command);
/* Time for a request: its own limit, or what is left of the call's if that is
 * less; 0: no limit. -1 if nothing is left. */
int64_t loop_time(const struct loop *l);

#endif
