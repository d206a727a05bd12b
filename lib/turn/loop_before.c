/*
 * Words of people come from the run's mailbox. Each becomes an event before the turn, which is all
 * that a resume and a replay go by: a word whose event is recorded is not read from the mailbox
 * again.
 *
 * Runs the before_turn program before each turn; its answer is an event, and later events follow
 * it. A resumed call takes the recorded answer; a replay runs the program again and compares.
 */
#include <stdlib.h>
#include <string.h>

#include "definitions/trust.h"
#include "json/writer.h"
#include "proc/message.h"
#include "proc/subprocess.h"
#include "transcript/event_keys.h"
#include "turn/loop.h"
#include "turn/toolrun.h"

/* ---- what people tell ---- */

const struct recalled_event *
loop_recorded_word(const struct loop *l)
{
	const struct turns *t = l->turns;
	const struct recalled_event *e = t->recalled == NULL ? NULL :
	    recalled_effect(t->recalled, t->call->last, EVENT_MESSAGE_USER);

	return e != NULL && span_member(e->view.payload, KEY_TOLD).at != NULL ? e : NULL;
}

static void
add_word(struct loop *l, struct span text)
{
	struct buffer block = BUFFER_INIT;
	struct writer w;

	writer_begin(&w, &block);
	loop_write_text(&w, text, NULL);
	loop_add_message(l, "user", block.data, block.len);
	buffer_free(&block);
}

/* Adds the words that are recorded before this turn: a resume takes them over, a replay records
 * them again. */
static int
hear_recorded(struct loop *l, struct error *err)
{
	const struct turns *t = l->turns;
	const struct recalled_event *e;

	while ((e = loop_recorded_word(l)) != NULL) {
		struct buffer text = BUFFER_INIT;

		span_decode(span_member(span_element(span_member(e->view.payload, KEY_BLOCKS), 0), KEY_TEXT),
		    &text);
		add_word(l, span_of(buffer_string(&text), text.len));
		buffer_free(&text);
		if (!recalled_replays(t->recalled))
			call_follow_recorded(t->call, e->id, t->started);
		else if (turns_repeat(t, (struct recalled_event *)e, err) == -1)
			return FAILED;
	}
	return CONTINUES;
}

/* Whether a word is in the record already. */
static bool
is_heard(const struct loop *l, const char *id)
{
	const struct recalled *r = l->turns->recalled;
	bool heard = false;

	for (size_t i = 0; r != NULL && !heard && i < r->event_count; i++)
		heard = r->events[i].view.type == EVENT_MESSAGE_USER &&
		    span_is(span_path(r->events[i].view.payload, KEY_TOLD, KEY_ID, NULL), id);
	return heard;
}

/* Adds the words to the list, without those that are recorded. */
static int
read_words(struct loop *l, struct error *err)
{
	struct mailbox *m = &l->mailbox;
	size_t kept = 0;

	if (mailbox_read(m, l->call_id, err) == -1)
		return -1;
	for (size_t i = 0; i < m->count; i++)
		if (is_heard(l, m->list[i].id))
			word_free(&m->list[i]);
		else
			m->list[kept++] = m->list[i];
	m->count = kept;
	return 0;
}

int
loop_hear(struct loop *l, struct error *err)
{
	/* A pause is in the middle of an answer: nothing can stand there. */
	const bool paused = l->turn.number > 0 && span_is(l->turn.answer.stop_reason, "pause");

	if (hear_recorded(l, err) == FAILED)
		return FAILED;
	if (recalled_replays(l->turns->recalled) || loop_is_answered(l) || paused)
		return CONTINUES;
	if (read_words(l, err) == -1)
		return FAILED;
	while (l->mailbox.count > 0) {
		struct word word;
		const struct user_message message = { .kind = MESSAGE_WORD, .word = &word };
		int failed;

		mailbox_take(&l->mailbox, &word);
		add_word(l, span_of(word.text, strlen(word.text)));
		failed = loop_record_user(l, &message, err);
		word_free(&word);
		if (failed == -1)
			return FAILED;
	}
	return CONTINUES;
}

bool
loop_is_told_more(struct loop *l)
{
	const struct turns *t = l->turns;
	const int64_t most = t->member->agent.limits.max_turns;
	struct error ignored;

	if (loop_recorded_word(l) != NULL)
		return true;
	/* With no turn left, or the last phase over, the result stands. */
	if (recalled_replays(t->recalled) || phases_given(l) || (most != 0 && l->turn.number + 1 >= most))
		return false;
	return read_words(l, &ignored) == 0 && (l->mailbox.count > 0 ||
	    mailbox_close(&l->mailbox, l->call_id, l->call_started, &ignored) == 1);
}

void
loop_leave_mailbox(struct loop *l)
{
	struct error ignored;

	if (recalled_replays(l->turns->recalled) || read_words(l, &ignored) == -1 ||
	    mailbox_close(&l->mailbox, l->call_id, l->call_started, &ignored) != 1)
		return;
	for (size_t i = 0; i < l->mailbox.count; i++)
		message_print("awf-step", "%s: the text from %s came too late, and was not read",
		    l->call_id, l->mailbox.list[i].by);
}

/* ---- the program ---- */

static int
read_change(struct loop *l, struct span answer, struct error *err)
{
	const struct agent *agent = &l->turns->member->agent;
	struct error why = ERROR_INIT;

	if (change_read(&l->turn.change, answer.at, answer.len, &l->tools.offer, agent->params,
	    &why) == 0)
		return 0;
	return error_set(err, why.code, agent->name, "the answer of before_turn: %s", why.message);
}

/* Runs the program, which reads the request that is about to be sent; it may answer nothing. */
static int
ask_program(struct loop *l, struct error *err)
{
	const struct turns *t = l->turns;
	const struct agent *agent = &t->member->agent;
	struct subprocess process = { .environment = t->environment->list,
	    .timeout_ms = turns_time(t, agent->limits.before_turn_ms) };
	struct trust_items items = { NULL, 0 };
	struct buffer input = BUFFER_INIT;
	struct writer w;
	char **argv;
	int status;

	if (interrupts_arrived(t->interrupts, err) || pins_check(&agent->pins, err) != 0)
		return -1;
	process.argv = argv = agent_command(agent->before_turn);
	if (trust_is_checked_anew())
		trust_add_command(&items, agent, "before_turn", argv);
	if (trust_check_anew(&items, err) != 0) {
		free(argv);
		return -1;
	}
	writer_begin(&w, &input);
	writer_object(&w);
	writer_member_integer(&w, "turn", l->turn.number);
	writer_member_string(&w, "agent", agent->name);
	writer_key(&w, "usage");
	usage_write(&l->conversation.usage, &w);
	loop_write_asked(l, &w);
	writer_object_end(&w);
	buffer_byte(&input, '\n');

	process.input = input.data;
	process.input_len = input.len;
	status = subprocesses_run(&process, 1, t->interrupts, err);
	if (status == 0 && process.error.code != ERROR_NONE)
		status = error_set(err, process.error.code, agent->name, "the command of before_turn: %s",
		    process.error.message);
	if (status == 0)
		status = read_change(l, span_of(buffer_string(&process.output), process.output.len), err);
	subprocess_free(&process);
	buffer_free(&input);
	free((void *)argv);
	return status;
}

/* Applies the program's answer to the turn. A result from the program cannot be sent back. */
static int
loop_apply_change(const struct loop *l, struct error *err)
{
	const struct agent *agent = &l->turns->member->agent;
	const struct change *c = &l->turn.change;
	struct buffer why = BUFFER_INIT;
	int status = CONTINUES;

	if (c->result.at != NULL && output_schema_check(&agent->output, c->result, &why) == 0) {
		buffer_append(&l->turns->outcome.result, c->result.at, c->result.len);
		status = ENDED;
	} else if (c->result.at != NULL) {
		status = error_set(err, ERROR_SCHEMA, agent->name,
		    "the result of before_turn does not keep to output_schema: %s", why.data);
	} else if (c->failure.at != NULL) {
		span_decode(c->failure, &why);
		status = error_set(err, ERROR_BLOCKED, agent->name, "before_turn: %s",
		    buffer_string(&why));
	}
	buffer_free(&why);
	return status;
}

int
loop_before_turn(struct loop *l, struct error *err)
{
	static const struct user_message message = { .kind = MESSAGE_CHANGE };
	const struct recalled *r = l->turns->recalled;
	const struct agent *agent = &l->turns->member->agent;
	const struct buffer *text = &l->turn.change.text;
	const bool replays = recalled_replays(r);
	const struct recalled_event *told;
	struct span recorded = SPAN_NONE;
	struct error ended = ERROR_INIT;

	change_free(&l->turn.change);
	if (agent->before_turn == NULL)
		return CONTINUES;

	/* The event with the recorded prompt; if there is none, but the model has answered, none
	 * was needed. */
	told = loop_recorded_prompt(l);
	if (told != NULL)
		recorded = span_member(told->view.payload, KEY_BEFORE_TURN);
	if (recorded.at == NULL)
		told = NULL;
	if (replays && told == NULL && recalled_answer(r, l->turn.number) == NULL &&
	    ended_by_circumstance(r, &ended))
		return loop_recorded_end(l, err);
	if (r != NULL && !replays && told == NULL && recalled_answer(r, l->turn.number) != NULL)
		return CONTINUES;

	/* If the call failed because of the program, run it again. */
	if (!replays && told != NULL && span_path(recorded, "end", "error", NULL).at == NULL) {
		call_follow_recorded(l->turns->call, told->id, l->turns->started);
		return read_change(l, recorded, err) == -1 ? FAILED : loop_apply_change(l, err);
	}
	if (ask_program(l, err) == -1)
		return FAILED;
	if (replays && (text->len != recorded.len ||
	    (recorded.at != NULL && memcmp(buffer_string(text), recorded.at, recorded.len) != 0)))
		return error_set(err, ERROR_DIVERGENCE, agent->name,
		    "turn %lld: the answer of before_turn is %.*s, the recorded one %.*s",
		    (long long)l->turn.number, text->len > 120 ? 120 : (int)text->len,
		    buffer_string(text), recorded.len > 120 ? 120 : (int)recorded.len,
		    recorded.at == NULL ? "" : recorded.at);
	if (text->len > 0) {
		if (replays)
			call_name_next(l->turns->call, told->id);
		if (loop_record_user(l, &message, err) == -1)
			return FAILED;
	}
	return loop_apply_change(l, err);
}
