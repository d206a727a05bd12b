/*
 * Branches are calls in workers, a process each, whose answers are taken in order but looked
 * at as they come, to stop the rest as soon as one decides. What the group comes to is judged
 * from all results together, by rank and then by order, so it is the same whoever was first.
 */
#include "step/group.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "step/answer.h"
#include "step/workers.h"

#define JOBS_MOST 1024 /* branches at a time, unless -j says so */

/* A parallel group while its branches are made. Those that an earlier attempt, or the
 * recording of a replay, rules out are not. */
struct branches {
	struct group group;
	struct item item;          /* as each reads it */
	struct buffer causes;
	char *argv[4];             /* of the branch at hand */
	int64_t *numbers;          /* of those that are made, in order */
	size_t count;
	struct step_result *results; /* of each of them */
	struct workers workers;
	size_t begun, ended;
	bool stopped;              /* no further one is begun */
	struct error interrupted;  /* why the group ends before its time; ERROR_NONE */
};

static bool
is_cut(enum error_code code)
{
	return code == ERROR_CANCELLED || code == ERROR_DOWNSTREAM_CLOSED;
}

/* ---- which branches there are ---- */

static void
turn_to(struct branches *b, int64_t number)
{
	const struct step *s = b->group.call->step;

	process_shell(b->argv, s->command[number]);
	step_define(&b->group.step);
}

static bool
recorded(struct branches *b, int64_t number, enum recall_end *end)
{
	const struct step *s = &b->group.step;
	char sha256[DIGEST_SIZE];
	struct recall_query query = step_query(s, number);

	query.definition_sha256 = s->definition_sha256;
	attachments_digest(&b->group.call->attachments, &b->item.data.json, sha256);
	query.input_sha256 = sha256;
	turn_to(b, number);
	return s->recall->look(s->recall->history, &query, end);
}

/* The recorded winner is the one branch that is made again; a replay makes those that
 * were made, whoever was stopped by whom. */
static void
choose(struct branches *b)
{
	const struct step *s = b->group.call->step;
	bool replays = step_replays(b->group.call->step);
	enum recall_end end = RECALL_OPEN;

	for (int64_t i = 0; s->command[i] != NULL; i++) {
		bool known = s->recall != NULL && recorded(b, i, &end);

		if (replays && !known)
			continue;
		if (!replays && known && end == RECALL_SUCCEEDED && s->strategy == STRATEGY_ANY) {
			b->numbers[0] = i;
			b->count = 1;
			return;
		}
		b->numbers[b->count++] = i;
	}
}

/* ---- their work ---- */

/* In a worker: one branch. */
static void
make_branch(void *context, const struct buffer *job, struct buffer *answer)
{
	struct branches *b = context;
	struct step_result result = { .out = BUFFER_INIT };
	struct error err = ERROR_INIT;
	int64_t number;
	int called;

	memcpy(&number, job->data, sizeof number);
	turn_to(b, number);
	called = group_call(&b->group, &b->item, &b->causes, number, &result, &err);
	answer_pack(answer, &result, called == -1 ? &err : NULL);
	buffer_free(&result.out);
}

static void
end_worker(void *context)
{
	struct branches *b = context;

	transcript_close(&b->group.step.run->transcript);
}

/* Whether the end of one branch is the end of the others. */
static bool
is_decisive(const struct branches *b, enum error_code code)
{
	const struct step *s = b->group.call->step;

	if (step_replays(s))
		return false;
	switch (s->strategy) {
	case STRATEGY_ALL:
		return code != ERROR_NONE && code != ERROR_WAITING;
	case STRATEGY_ANY:
		return code == ERROR_NONE;
	default:
		return false;
	}
}

/* Stops the rest once a branch has decided, or the group is to end. */
static void
look_around(struct branches *b)
{
	const struct interrupts *interrupts = &b->group.call->step->interrupts;
	const struct buffer *answer;
	bool decided = false;

	while (workers_notice(&b->workers, &answer) != -1)
		decided |= is_decisive(b, answer_code(answer));
	if (b->stopped)
		return;
	b->stopped = decided || interrupted(interrupts, &b->interrupted);
	if (decided)
		workers_signal(&b->workers, SIGTERM);
	else if (b->interrupted.code == ERROR_CANCELLED)
		workers_signal(&b->workers, *interrupts->signal_number);
	/* That nobody reads, those that work see themselves. */
}

/* Begins what can be, waits for some of it, and takes what has ended. 1: there is more; 0:
 * all have ended; -1: the machine failed. */
static int
go_on(struct branches *b, struct error *err)
{
	struct buffer message = BUFFER_INIT;
	int done = 0;

	while (done == 0 && !b->stopped && b->begun < b->count && workers_ready(&b->workers)) {
		buffer_clear(&message);
		buffer_append(&message, &b->numbers[b->begun++], sizeof *b->numbers);
		done = workers_job(&b->workers, &message, err);
	}
	if (done == 0 && workers_pending(&b->workers) > 0) {
		done = workers_wait(&b->workers, -1, err);
		if (done == 0)
			look_around(b);
		while (done == 0 && workers_answer(&b->workers, &message) == 1)
			done = answer_unpack(&message, &b->results[b->ended++], err);
		if (done == 0)
			done = 1;
	}
	buffer_free(&message);
	return done;
}

/* Makes them all, or as many as are begun before they are stopped. */
static int
make(struct branches *b, struct error *err)
{
	const struct step *s = b->group.call->step;
	size_t at_a_time = s->jobs > 0 ? s->jobs : JOBS_MOST;
	int made;

	workers_open(&b->workers, b->count < at_a_time ? b->count : at_a_time, make_branch,
	    end_worker, b);
	workers_reserve(&b->workers, b->count);
	while ((made = go_on(b, err)) == 1)
		;
	if (made == -1)
		workers_signal(&b->workers, SIGTERM);
	workers_close(&b->workers);
	return made;
}

/* ---- what they come to ---- */

/* Which failure is the group's, the lowest. What waits may still succeed: it counts
 * less than a failure only if that decides. Where all had to fail, so might what did not
 * fail by its work. */
static int
rank(const struct branches *b, const struct step_result *r)
{
	enum step_strategy strategy = b->group.call->step->strategy;
	bool all = strategy == STRATEGY_ALL;

	if (r->error.code == ERROR_NONE)
		return 4;
	if (r->error.code == ERROR_WAITING)
		return all ? 1 : 0;
	if (is_cut(r->error.code) && !r->told && strategy != STRATEGY_BEST_EFFORT)
		return 3;
	if (all)
		return 0;
	return error_of_work(r->error.code) ? 2 : 1;
}

/* The first of the lowest rank; begun if there is none at all. */
static size_t
foremost(const struct branches *b)
{
	size_t found = b->begun;

	for (size_t i = 0; i < b->begun; i++)
		if (found == b->begun || rank(b, &b->results[i]) < rank(b, &b->results[found]))
			found = i;
	return found;
}

static void
name_failure(const struct branches *b, size_t i, struct error *error)
{
	const struct error *why = &b->results[i].error;
	char text[sizeof why->place + sizeof why->message + 4];

	error_set(error, why->code, NULL, "branch %lld: %s", (long long)b->numbers[i],
	    error_text(why, text, sizeof text));
}

static void
pass_lines(struct branches *b, size_t i)
{
	struct step_call *call = b->group.call;
	struct state_reader r;
	struct error why;
	struct item item;

	memset(&item, 0, sizeof item);
	state_reader_begin(&r, -1, INPUT_STATE, call->step->run->id);
	state_reader_give(&r, &b->results[i].out);
	while (state_reader_next(&r, &item, &why) == 1)
		step_pass(call, &item);
	state_reader_free(&r);
	item_free(&item);
}

/* What all results together are to the strategy. A failure is let pass only if it is what the
 * work of the branch came to. */
static void
conclude(struct branches *b)
{
	struct step_call *call = b->group.call;
	struct step_end *end = &call->end;
	size_t worst = foremost(b), success = 0;
	bool made = worst < b->begun, succeeds;
	enum error_code code = made ? b->results[worst].error.code : ERROR_NONE;

	for (size_t i = 0; i < b->begun; i++)
		call_add_link(&call->events, b->results[i].ended);
	while (success < b->begun && b->results[success].error.code != ERROR_NONE)
		success++;

	switch (call->step->strategy) {
	case STRATEGY_ANY:
		if (success < b->begun) {
			end->winner = b->numbers[success];
			pass_lines(b, success);
			return;
		}
		succeeds = false;
		break;
	case STRATEGY_BEST_EFFORT:
		succeeds = b->interrupted.code == ERROR_NONE && success < b->begun &&
		    (code == ERROR_NONE || error_of_work(code));
		break;
	default:
		succeeds = b->begun == b->count && made && code == ERROR_NONE;
	}
	if (succeeds) {
		/* The lines of all, be they of a failure. */
		for (size_t i = 0; i < b->begun; i++)
			pass_lines(b, i);
		if (code != ERROR_NONE)
			name_failure(b, worst, &end->lost);
		return;
	}

	/* Who works may have seen it before us. */
	if (b->interrupted.code == ERROR_NONE && made && is_cut(code))
		interrupted(&call->step->interrupts, &b->interrupted);
	if (b->interrupted.code != ERROR_NONE) {
		end->error = b->interrupted;
	} else if (made) {
		name_failure(b, worst, &end->error);
		end->told = b->results[worst].told;
	} else {
		error_set(&end->error, ERROR_DIVERGENCE, NULL, "the recording has no branch of it");
	}
}

int
group_run_parallel(struct step_call *call, struct error *err)
{
	struct branches b;
	size_t count = 0;
	int made = 0;

	memset(&b, 0, sizeof b);
	group_open(&b.group, call);
	b.group.step.command = b.argv;
	b.group.step.when.text = NULL;
	group_take_input(call, &b.item);
	step_causes(&b.item, &b.causes);
	while (call->step->command[count] != NULL)
		count++;
	b.numbers = memory_zero(count, sizeof *b.numbers);
	b.results = memory_zero(count, sizeof *b.results);
	choose(&b);

	if (b.count > 0)
		made = make(&b, err);
	if (made == 0)
		conclude(&b);

	for (size_t i = 0; i < b.count; i++)
		buffer_free(&b.results[i].out);
	free(b.results);
	free(b.numbers);
	group_close(&b.group);
	item_free(&b.item);
	buffer_free(&b.causes);
	return made;
}
