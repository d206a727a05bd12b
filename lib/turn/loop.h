/*
 * A turn loop while it runs: what lib/turn/turn.c and the files beside it share. Each needs
 * only those before it:
 *
 *     loop_sent.c     what goes out beside the request
 *     loop_request.c  the conversation, who is asked, and the request
 *     loop_record.c   what was asked and answered, as events
 *     loop_recall.c   the same, found in the recorded call
 *     phases.c        the part of the work that is given
 *     loop_offer.c    what the model may call
 *     loop_ask.c      asks the model, within what it may cost
 *     loop_before.c   what comes before a turn: what people have told the agent, and what a
 *                     before_turn program changes
 *     turn.c          a turn in order, the result, and who goes on
 */
#ifndef AWF_TURN_LOOP_H
#define AWF_TURN_LOOP_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buffer.h"
#include "base/digest.h"
#include "base/error.h"
#include "base/id.h"
#include "definitions/tool.h"
#include "json/writer.h"
#include "providers/held.h"
#include "providers/provider.h"
#include "providers/throttle.h"
#include "storage/mailbox.h"
#include "turn/change.h"
#include "turn/control.h"
#include "turn/emitted.h"
#include "turn/mcp_tools.h"
#include "turn/phases.h"
#include "turn/turn.h"
#include "turn/usage.h"
#include "view/live.h"

/* What a turn, or a part of it, leads to. */
enum { CONTINUES, ENDED, FAILED = -1 };

struct request {
	struct buffer text;
	char sha256[DIGEST_SIZE];
};

struct transfer;

/* Who gave each message of the conversation, in their order. */
struct givers {
	struct giver {
		char *from;                /* NAME/MODEL as it was asked; NULL: no model, or not known */
		size_t offered;            /* conversation.offered then; 0: of an earlier conversation, or
		                              the request was another than the conversation */
	} *list;
	size_t count;
};

struct loop {
	/* Given, and what is filled in the end. A phase puts its call in the place of the step's
	 * there, a hand-over the agent that goes on. */
	struct turns *turns;
	const struct member *lead;     /* who began */
	int64_t deadline;              /* of the whole call */
	const char *call_id, *call_started; /* the call itself, whichever phase goes on */

	/* What the agent that has the conversation may call, and what it works on. */
	struct {
		struct offer offer;        /* all of it */
		struct offer withheld;     /* of its servers' tools, what it may not */
		struct mcp_tools mcp;      /* of its servers */
		struct transfer *transfers; /* control tools that lead to others */
		size_t transfer_count;
		struct control stopping;   /* the stop tool, if it has no executable */
	} tools;
	struct phases phases;          /* of an agent that has any */
	struct live_writer live;       /* what its model is writing, for who looks on */
	struct throttle throttle;      /* what it holds of its provider's limits while it is asked */
	struct mailbox mailbox;        /* what people tell the agent while it works */
	struct held held;              /* the request that is asked, among those of the same model */

	/* The state of the conversation. */
	struct {
		struct buffer messages;    /* of the request, inside of a JSON array */
		struct digest asked;       /* of the request up to the end of the messages, as far */
		size_t asked_len;          /* as it is known */
		struct givers givers;      /* of the messages */
		size_t offered;            /* how often it was set who is asked, and with which tools */
		struct buffer text;        /* of the last answer that had any */
		size_t fallen;             /* who is asked: 0 the agent's own, else that fallback */
		int64_t handoffs;          /* that were made */
		char calls_sha256[DIGEST_SIZE]; /* of the tools that the last turn has called */
		int64_t same_calls;        /* and how many turns in a row have called the same */
		int64_t repairs;           /* of the result: how often it was refused */
		struct usage usage;
		int64_t tokens;            /* of the conversation with its last answer, as the API counts; 0:
		                              none yet */
		size_t tokens_len;         /* length of the messages then */
		int64_t cost;              /* of the turns so far, where there is a limit */
	} conversation;

	/* What came of this turn. */
	struct {
		int64_t number;            /* 0, 1, … */
		struct change change;      /* of its request, by a before_turn program */
		struct answer answer;
		int64_t reserved;          /* of the budget, for the request that is asked */
		struct emitted emitted;    /* by an agent CLI, while it answers */
		int64_t began;             /* its last try, monotonic ms, */
		bool asked;                /* in which a model was asked */
		int64_t ran;               /* tools that AWF ran for it then */
		struct partial {           /* what has come of an answer that may be cut off */
			struct buffer blocks;  /* inside of a JSON array: those that others followed */
			struct buffer text;    /* of the last */
			bool thinking;         /* it is a thought */
		} partial;
		bool line_open;            /* text on stderr that did not end in LF */
		bool sent_back;            /* the result, to be given again */
		const struct member *next; /* who goes on after it; NULL: the same */
	} turn;
};

/* ---- loop_sent.c ---- */

/* Lists who gave the message that comes next; NULL: no model. */
void loop_add_giver(struct loop *l, const char *from, size_t offered);
/* Lists first who gave the messages before the call's own. */
void loop_add_givers_before(struct loop *l);
void givers_free(struct givers *g);
/* Adds to the request what goes out beside it: provider is who is asked; its messages end before
 * messages_end. */
void loop_add_beside(const struct loop *l, const char *provider, struct buffer *text,
    size_t messages_end);

/* ---- loop_request.c ---- */

/* Who is asked: the agent's own model, or the fallback that the conversation has come to. */
struct asked {
	const char *provider, *model;
	struct provider *client; /* NULL: nobody is asked, it is a replay */
};
struct asked loop_asked(const struct loop *l);
/* The model of this turn. */
char *loop_asked_model(const struct loop *l);
/* What the model may call in this turn. */
const struct offer *loop_offered(const struct loop *l);
/* Members of requests and of events. */
void loop_write_tools(struct writer *w, const struct offer *offer);
void loop_write_params(struct writer *w, const json_t *values);
/* Writes a text as a block; fidelity NULL: as it is sent. */
void loop_write_text(struct writer *w, struct span text, const char *fidelity);
/* The prompt, and what tells of the first phase, as blocks. */
void loop_write_prompt(struct writer *w, const struct loop *l, const char *fidelity);
/* Adds a message to the conversation; blocks are the inside of a JSON array. One of the
 * assistant's was given by the model that is asked in this turn. */
void loop_add_message(struct loop *l, const char *role, const char *blocks, size_t len);
void loop_add_message_of(struct loop *l, const char *role, const char *blocks, size_t len,
    const struct giver *giver);
/* The members of the next request; returns how long w's buffer is with its messages, before
 * what ends their array. */
size_t loop_write_asked(const struct loop *l, struct writer *w);
/* The next request, without its id, and its digest. */
void loop_request(struct loop *l, struct request *request);
/* What comes next is asked of other messages, or by another agent. */
void loop_forget_asked(struct loop *l);
/* The fallback of that number (1, 2, …) is asked from now on, by the request made anew: the
 * recorded answer is its, or the one before does not answer. */
void loop_fall_back(struct loop *l, size_t number, struct request *request);

/* ---- loop_record.c ---- */

/* Writes a block of an answer: as the model's word; what the API ran says so already. */
void loop_write_block(struct writer *w, struct span block);
/* Writes a block of a recorded answer as it came from the provider. */
void loop_write_original(struct writer *w, struct span block);
/* Whether a block of a recorded answer came without a fidelity: if it is a call, for AWF. */
bool loop_block_is_plain(struct span block);

/* A message of the user. */
struct user_message {
	enum {
		MESSAGE_PROMPT,  /* that the call begins with */
		MESSAGE_HANDOFF, /* what the agent that goes on is given, beside the conversation */
		MESSAGE_CHANGE,  /* what a before_turn program makes of the turn */
		MESSAGE_TOOLS,   /* the servers have other tools from this turn on */
		MESSAGE_TEXT,    /* one text, before the next turn */
		MESSAGE_WORD     /* one that a person has told the agent, before this turn */
	} kind;
	const struct agent *from;  /* who hands over */
	const struct buffer *text;
	const struct word *word;
};
int loop_record_user(const struct loop *l, const struct user_message *m, struct error *err);
/* turn.answer, whose event's id becomes id; or turn.partial.blocks, if the answer was cut off, with
 * what was used in vain: id is NULL then. */
int loop_record_answer(const struct loop *l, const struct request *request, int64_t duration_ms,
    char id[ID_SIZE], struct error *err);

/* ---- loop_recall.c ---- */

/* The recorded answer of this turn becomes turn.answer, with what an agent CLI told before it;
 * id is its event's. A replay checks that it would have asked the same, and records it again,
 * the tries before it too. 1: it is taken; 0: there is none that stands, the model is to be
 * asked; -1: the call ends with *err. */
int loop_recall_answer(struct loop *l, struct request *request, char id[ID_SIZE],
    struct error *err);
/* What ended the recorded call ends this one, as there is nothing more of it. Returns -1. */
int loop_recorded_end(struct loop *l, struct error *err);
/* Whether this turn has a recorded answer that stands: the model is not asked. */
bool loop_is_answered(const struct loop *l);
/* Whether the recorded call went on to another turn after this one. */
bool loop_went_on(const struct loop *l);
/* The recorded message of the user that the call began with; NULL: there is none. */
const struct recalled_event *loop_first_prompt(const struct loop *l);
/* The recorded message of the user that follows the event before; NULL: there is none. */
const struct recalled_event *loop_recorded_prompt(const struct loop *l);
/* A message of the user: the recorded one (NULL: none) is taken, or, by a replay, recorded
 * again. -1: *err, also where a replay has come to the end of the recording. */
int loop_tell(struct loop *l, const struct recalled_event *recorded,
    const struct user_message *m, struct error *err);
/* Adds a text to the conversation, as a message of the user before the next turn. */
int loop_prompt_again(struct loop *l, const struct buffer *text, struct error *err);

/* ---- loop_offer.c ---- */

/* Sets what the agent's model may call; withdraws it. */
int loop_offer(struct loop *l, struct error *err);
void loop_withdraw(struct loop *l);
/* What the servers of the agent offer, from the message of the user that the agent began
 * with, if that is recorded (NULL: it is not). */
int loop_begin_mcp(struct loop *l, const struct recalled_event *prompt, struct error *err);
/* Before a turn: whether they offer something else since. CONTINUES, or FAILED. */
int loop_refresh_mcp(struct loop *l, struct error *err);

/* ---- loop_ask.c ---- */

/* Asks until there is an answer (turn.answer), which is recorded, or no try is left, and
 * nobody else to ask. */
int loop_ask(struct loop *l, struct request *request, char id[ID_SIZE], struct error *err);
/* Counts for the call what an answer, or a try in vain, used: tokens, and dollars, which are
 * returned, if there is a limit. */
int64_t loop_count(struct loop *l, struct span model, struct span usage);
/* The same of turn.answer, and, unless it is a recorded one, for the run. */
int loop_count_answer(struct loop *l, bool recorded, struct error *err);
void loop_partial_clear(struct loop *l);

/* ---- loop_run.c ---- */

/* Runs a tool of ours that an agent CLI calls while it answers; appends its result, a block. */
int loop_run_tool(struct loop *l, struct span name, struct span input, struct buffer *block,
    struct error *err);
/* The recorded ones that led to this answer; NULL: to the end of the recorded call, which has
 * none. A replay runs them anew, or takes their results, as of any tool. */
int loop_repeat_tools(struct loop *l, const struct recalled_event *answer, struct error *err);

/* Asks for something that is no answer of a turn, with the tries of a request, and records it as a
 * message of the assistant that nothing follows (compact). turn.answer is it. */
int loop_ask_aside(struct loop *l, struct request *request, struct error *err);

/* ---- loop_compact.c ---- */

/* Replaces old messages by a summary, if the conversation has come to the agent's limit: that of the
 * record, or one that the model makes. CONTINUES, or FAILED. */
int loop_compact(struct loop *l, struct error *err);
/* The messages of which the last `kept` are kept, after a message of the user with these blocks:
 * the inside of a JSON array. Thoughts that are bound to what was before them are left out. */
void compact_messages(const struct buffer *messages, size_t kept, struct span blocks,
    struct buffer *out);

/* ---- loop_before.c ---- */

/* The recorded word of a person that follows the event before; NULL: there is none. */
const struct recalled_event *loop_recorded_word(const struct loop *l);
/* Adds what people have told the agent since the last turn, each word as a message of the user:
 * first the recorded ones, then, if the model is to be asked, new ones. CONTINUES, or FAILED. */
int loop_hear(struct loop *l, struct error *err);
/* Whether the agent, which has its result, was told something else meanwhile, and goes on with
 * another turn. If not, nothing can be told to it any more. */
bool loop_is_told_more(struct loop *l);
/* Warns of words that came too late to be read. */
void loop_leave_mailbox(struct loop *l);
/* Asks the agent's before_turn program: turn.change, or the call's end. */
int loop_before_turn(struct loop *l, struct error *err);

#endif
