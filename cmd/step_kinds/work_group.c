/*
 * Groups: steps whose command is a body. A body reads the item's state line. If it prints state
 * lines of this run, made by the steps inside, they are passed on unchanged. Anything else that it
 * prints is its result, as for a command.
 *
 *   for_each   --each: the call is one body call (work_body)
 *   while      --while, --until, --max: a call makes one iteration after the other; each is a
 *              body call on the output of the one before it
 *   parallel   --parallel: a call makes one body call per branch
 *
 * The iterations of a loop and the branches of a parallel group are calls inside the group's call,
 * with its name and path: NAME:OCC:ITEM/NAME:0:ITERATION. Their step is a copy of the group's step
 * without the group's own options, and the group's call encloses them. Retries and time limits
 * apply to them; options for the result (--into, -r, --try …) apply to the group. The end of a
 * group records the lines that it has printed ("count" marks "result" as a list of {data,
 * metadata}), so that a resume can print them again, with new tokens in place of valid ones.
 *
 * If a body fails, or one of its lines is an error line, the group's call fails with that error,
 * the first in order, and passes its own input on. A parallel group does so according to its
 * strategy:
 *
 *   all          the first failure stops the other branches
 *   any          the first success stops them; only its lines are output
 *   best-effort  all are made, and one success is enough; for a branch that failed,
 *                its error line is output
 *
 * A branch that waits does not stop the others; the group then waits, unless it reaches its end
 * without that branch. The outcome of a parallel group never depends on which of several branches
 * was faster. Branches are calls in workers, one process each. Their answers are looked at as they
 * arrive, so that a deciding branch can stop the others, but the outcome is determined from all
 * results together, by rank and then by order. If several have succeeded before they could be
 * stopped, the first in order wins. A replay stops no branch: each reaches its recorded end, and
 * branches that were not made are not made. If a branch of an `any` group has won in an earlier
 * attempt, only this one is made again.
 */
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "base/invariant.h"
#include "base/memory.h"
#include "step_call/workers.h"
#include "step_kinds/kinds.h"
#include "step_kinds/work_attachments.h"
#include "step_kinds/work_command.h"
#include "transcript/call.h"
#include "transcript/event_keys.h"

#define JOBS_MOST 1024 /* branches at a time, unless -j sets it */

static const struct work work_body;

/* The body calls in a call of a group. */
struct group {
	struct step_call *call;    /* the call of the group */
	struct step step;          /* the step of the body calls, whose command and conditions may
	                              be changed */
	struct item item;          /* the input of body calls, always with a line; in a loop, the
	                              output of the last iteration */
	struct causes causes;      /* causes of the next body call, besides the group's step.started */
	bool spent;                /* no further iteration may be made */
};

static void
group_open(struct group *g, struct step_call *call)
{
	const struct step *s = call->step;
	bool recalled = call->verdict.recalled.root[0] != '\0' && !call->verdict.recalled.changed;
	struct buffer line = BUFFER_INIT;

	memset(g, 0, sizeof *g);
	g->call = call;
	g->step = *s;
	g->step.definition.work = &work_body;
	g->step.definition.state = g;
	g->step.place.member = true;
	g->step.place.compared = 0;
	g->step.place.reader = 0;
	g->step.place.enclosing = call->id;
	g->step.place.try_number = 0;
	g->step.place.tool_call = NULL; /* the call is inside the group's call, not the tool call's */
	g->step.place.root = recalled ? call->verdict.recalled.root : NULL;
	g->step.place.parent = call->started;
	g->step.place.process = memory_format("%s/%s:0", call->id, s->options.name);
	memset(&g->step.place.environment, 0, sizeof g->step.place.environment);
	environment_copy(&g->step.place.environment, &s->place.environment);
	/* Options that the group itself handles. */
	g->step.options.output.into = NULL;
	g->step.options.gate.count = 0;
	g->step.options.rescue = g->step.options.output.raw = false;
	g->step.options.failure = FAILURE_TRAVELS;
	g->step.options.fail_fast = false;

	step_state_line(call, false, &line);
	item_take_state(&g->item, span_of(line.data, line.len), s->place.run->id);
	buffer_free(&line);
	causes_add_item(&g->causes, &g->step, &g->item);
}

static int
group_call(struct group *g, int64_t index, struct step_result *result, struct error *err)
{
	step_result_clear(result);
	return step_call(&g->step, &g->item, &g->causes, NULL, index, result, err);
}

static void
group_close(struct group *g)
{
	free(g->step.place.process);
	environment_free(&g->step.place.environment);
	item_free(&g->item);
	causes_free(&g->causes);
}

/* ---- loops ---- */

/* Applies the result of an iteration: sets the error of the call, or the single item for the next
 * iteration, whose causes are the end of this iteration and the makers of that item. */
static void
loop_apply_round(struct group *g, int64_t round, struct step_result *result)
{
	struct step_call *call = g->call;
	const struct error *why = &result->error;
	char text[sizeof why->place + sizeof why->message + 4];
	char *own, *maker;
	struct state_reader r;
	struct error ignored;
	size_t count = 0;

	if (why->code != ERROR_NONE) {
		call->end.told = result->told;
		/* beyond --max: only its condition was evaluated */
		if (round >= call->step->options.group.max_rounds)
			call->end.error = *why;
		else
			error_set(&call->end.error, why->code, NULL, "round %lld: %s", (long long)round,
			    error_text(why, text, sizeof text));
		return;
	}
	if (result->skipped)
		return;
	state_reader_begin(&r, -1, INPUT_STATE, call->step->place.run->id);
	state_reader_give(&r, &result->out);
	while (state_reader_next(&r, &g->item, &ignored) == 1)
		count++;
	state_reader_free(&r);
	if (count != 1) {
		error_set(&call->end.error, ERROR_INVALID_INPUT, NULL,
		    "round %lld gave %zu items; a round gives one", (long long)round, count);
		return;
	}
	causes_free(&g->causes);
	memset(&g->causes, 0, sizeof g->causes);
	own = memory_format("%s:%lld", g->step.place.process, (long long)round);
	causes_add(&g->causes, &g->step, g->step.place.run->id, result->ended, own);
	maker = item_metadata(&g->item, "event_id");
	if (maker == NULL || strcmp(maker, result->ended) != 0)
		causes_add_item(&g->causes, &g->step, &g->item);
	free(own);
	free(maker);
}

/* --while is the --when of an iteration. It is evaluated for one iteration more than allowed, to
 * find out whether the limit ended the loop. */
static int
loop_run(struct step_call *call, int repeats, struct error *err)
{
	const struct step *s = call->step;
	struct error *error = &call->end.error;
	struct step_result result = { .out = BUFFER_INIT };
	struct group group;
	int made = 0;

	(void)repeats;
	group_open(&group, call);
	group.step.options.when = s->options.group.proceed;
	group.step.definition.until = s->options.group.until;
	for (int64_t round = 0;; round++) {
		if (round >= s->options.group.max_rounds && s->options.group.proceed.text == NULL) {
			if (s->options.group.until.text != NULL)
				error_set(error, ERROR_MAX_ITERATIONS, NULL, "no end after %lld round%s (--max)",
				    (long long)round, round == 1 ? "" : "s");
			break;
		}
		/* The condition of --while may still say that no further iteration is needed. */
		group.spent = round >= s->options.group.max_rounds;
		INVARIANT(round <= s->options.group.max_rounds && error->code == ERROR_NONE);
		made = group_call(&group, round, &result, err);
		if (made == -1)
			break;
		loop_apply_round(&group, round, &result);
		if (result.skipped || result.until || error->code != ERROR_NONE)
			break;
	}
	if (result.ended[0] != '\0')
		call_add_link(&call->events, result.ended);
	if (made == 0 && error->code == ERROR_NONE)
		step_pass(call, &group.item);
	group_close(&group);
	buffer_free(&result.out);
	return made;
}

/* ---- branches ---- */

/* A parallel group while its branches run. Branches that were not made in the recording of a
 * replay, or need not be made after an earlier attempt, are left out. */
struct branches {
	struct group group;
	char *argv[4];             /* of the current branch */
	int64_t *numbers;          /* indexes of the branches to make, in order */
	size_t count;
	struct step_result *results; /* one for each of these */
	struct workers workers;
	size_t begun, ended;
	bool stopped;              /* begin no further branch */
	struct error interrupted;  /* why the group is ended early; ERROR_NONE */
};

static bool
is_cut(enum error_code code)
{
	return code == ERROR_CANCELLED || code == ERROR_DOWNSTREAM_CLOSED;
}

static void
turn_to(struct branches *b, int64_t number)
{
	process_shell(b->argv, b->group.call->step->options.command.argv[number]);
	step_define(&b->group.step);
}

/* Chooses the branches to make: only the recorded winner, if there is one; in a replay all that
 * were made, even if they were stopped. */
static void
branches_choose_begun(struct branches *b)
{
	const struct step *s = b->group.call->step;
	char sha256[DIGEST_SIZE];

	for (int64_t i = 0; s->options.command.argv[i] != NULL; i++) {
		enum recall_end end = RECALL_OPEN;
		bool known = false;

		if (s->place.recall != NULL) {
			struct recall_query query = step_query(&b->group.step, i);

			query.definition_sha256 = b->group.step.definition.sha256;
			attachments_digest(b->group.call->state, &b->group.item.data.json, sha256);
			query.input_sha256 = sha256;
			turn_to(b, i);
			known = s->place.recall->look(s->place.recall->history, &query, &end);
		}
		if (step_replays(s)) {
			if (known)
				b->numbers[b->count++] = i;
			continue;
		}
		if (known && end == RECALL_SUCCEEDED && s->options.group.strategy == STRATEGY_ANY) {
			b->numbers[0] = i;
			b->count = 1;
			return;
		}
		b->numbers[b->count++] = i;
	}
}

/* In a worker: makes one branch. */
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
	called = group_call(&b->group, number, &result, &err);
	step_result_pack(answer, &result, called == -1 ? &err : NULL);
	buffer_free(&result.out);
}

static void
end_worker(void *context)
{
	struct branches *b = context;

	transcript_close(&b->group.step.place.run->transcript);
}

/* Looks at answers as they arrive, and stops the other branches if one has decided or the group
 * must end. */
static void
branches_check_answers(struct branches *b)
{
	const struct step *s = b->group.call->step;
	const struct buffer *answer;
	bool decided = false;

	while (workers_notice(&b->workers, &answer) != -1) {
		enum error_code code = step_result_code(answer);

		if (step_replays(s))
			continue;
		if (s->options.group.strategy == STRATEGY_ALL)
			decided |= code != ERROR_NONE && code != ERROR_WAITING;
		else if (s->options.group.strategy == STRATEGY_ANY)
			decided |= code == ERROR_NONE;
	}
	if (b->stopped)
		return;
	b->stopped = decided || interrupts_arrived(&s->place.interrupts, &b->interrupted);
	if (decided)
		workers_signal(&b->workers, SIGTERM);
	else if (b->interrupted.code == ERROR_CANCELLED)
		workers_signal(&b->workers, *s->place.interrupts.signal_number);
	/* If nobody reads the output any more, running branches notice it themselves. */
}

/* Makes all branches, or those that begin before they are stopped. */
static int
make_branches(struct branches *b, struct error *err)
{
	struct workers *w = &b->workers;
	size_t jobs = b->group.call->step->options.group.jobs, at_a_time = jobs > 0 ? jobs : JOBS_MOST;
	const size_t most = open_files_most(&workers_files);
	struct buffer message = BUFFER_INIT;
	int done = 0;

	if (at_a_time > most)
		at_a_time = most;
	workers_open(w, b->count < at_a_time ? b->count : at_a_time, make_branch, end_worker, b);
	workers_reserve(w, b->count);
	for (;;) {
		/* Begin as many as possible, wait for some, and take the answers of those that have
		 * ended. */
		while (done == 0 && !b->stopped && b->begun < b->count && workers_ready(w)) {
			buffer_clear(&message);
			buffer_append(&message, &b->numbers[b->begun++], sizeof *b->numbers);
			done = workers_job(w, &message, err);
		}
		if (done == -1 || workers_pending(w) == 0)
			break;
		done = workers_wait(w, -1, err);
		if (done == 0)
			branches_check_answers(b);
		while (done == 0 && workers_answer(w, &message) == 1)
			done = step_result_unpack(&message, &b->results[b->ended++], err);
	}
	if (done == -1)
		workers_signal(w, SIGTERM);
	workers_close(w);
	buffer_free(&message);
	return done;
}

/* The rank of a result; the lowest determines the group's error. A branch that waits may still
 * succeed, so it comes before failures, except with --strategy all, where any failure decides.
 * Failures for other reasons than the work come before failures of the work, since such a branch
 * might have succeeded. */
static int
branches_rank_failure(enum step_strategy strategy, const struct step_result *r)
{
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

/* Passes on the lines of the branches from `from` up to, not including, `to`. */
static void
pass_branches(struct branches *b, size_t from, size_t to)
{
	struct error ignored;

	for (size_t i = from; i < to; i++)
		step_pass_lines(b->group.call, &b->results[i].out, INPUT_STATE, &ignored);
}

/* Checks that branches are made in order, each once, and that each that was begun has a result. */
static bool
branches_hold(const struct branches *b)
{
	for (size_t i = 1; i < b->count; i++)
		if (b->numbers[i - 1] >= b->numbers[i])
			return false;
	return b->ended == b->begun && b->begun <= b->count && (b->stopped || b->begun == b->count);
}

/* Determines the outcome by the strategy, from all results. Only failures of the work are
 * excused. */
static void
branches_judge_results(struct branches *b)
{
	struct step_call *call = b->group.call;
	struct step_end *end = &call->end;
	enum step_strategy strategy = call->step->options.group.strategy;
	const struct step_result *worst = NULL; /* the first result with the lowest rank */
	size_t first = b->begun;                /* index of the first branch that succeeded */
	struct error named = ERROR_INIT;
	enum error_code code = ERROR_NONE;
	bool succeeds;

	for (size_t i = 0; i < b->begun; i++) {
		const struct step_result *r = &b->results[i];

		call_add_link(&call->events, r->ended);
		if (worst == NULL || branches_rank_failure(strategy,
		    r) < branches_rank_failure(strategy, worst))
			worst = r;
		if (first == b->begun && r->error.code == ERROR_NONE)
			first = i;
	}
	INVARIANT(branches_hold(b) && (worst == NULL) == (b->begun == 0));
	if (worst != NULL) {
		char text[sizeof worst->error.place + sizeof worst->error.message + 4];

		code = worst->error.code;
		error_set(&named, code, NULL, "branch %lld: %s",
		    (long long)b->numbers[worst - b->results],
		    error_text(&worst->error, text, sizeof text));
	}

	switch (strategy) {
	case STRATEGY_ANY:
		if (first < b->begun) {
			end->winner = b->numbers[first];
			pass_branches(b, first, first + 1);
			return;
		}
		succeeds = false;
		break;
	case STRATEGY_BEST_EFFORT:
		succeeds = b->interrupted.code == ERROR_NONE && first < b->begun &&
		    (code == ERROR_NONE || error_of_work(code));
		break;
	default:
		succeeds = b->begun == b->count && worst != NULL && code == ERROR_NONE;
	}
	if (succeeds) {
		pass_branches(b, 0, b->begun); /* the lines of all branches, even if the group fails */
		if (code != ERROR_NONE)
			end->lost = named;
		return;
	}

	/* The interrupt may have reached a branch before the group has noticed it. */
	if (b->interrupted.code == ERROR_NONE && worst != NULL && is_cut(code))
		interrupts_arrived(&call->step->place.interrupts, &b->interrupted);
	if (b->interrupted.code != ERROR_NONE) {
		end->error = b->interrupted;
	} else if (worst != NULL) {
		end->error = named;
		end->told = worst->told;
	} else {
		error_set(&end->error, ERROR_DIVERGENCE, NULL, "the recording has no branch of it");
	}
}

static int
parallel_run(struct step_call *call, int repeats, struct error *err)
{
	struct branches b;
	size_t count = 0;
	int made = 0;

	(void)repeats;
	memset(&b, 0, sizeof b);
	group_open(&b.group, call);
	b.group.step.options.command.argv = b.argv;
	b.group.step.options.when.text = NULL;
	while (call->step->options.command.argv[count] != NULL)
		count++;
	b.numbers = memory_zero(count, sizeof *b.numbers);
	b.results = memory_zero(count, sizeof *b.results);
	branches_choose_begun(&b);

	if (b.count > 0)
		made = make_branches(&b, err);
	if (made == 0)
		branches_judge_results(&b);

	for (size_t i = 0; i < b.count; i++)
		buffer_free(&b.results[i].out);
	free(b.results);
	free(b.numbers);
	group_close(&b.group);
	return made;
}

/* ---- all groups ---- */

/* Reads the attachments of the item, whose digests are added to the lines that are passed on. */
static void
group_prepare(struct step_call *call)
{
	struct attachments *a = memory_zero(1, sizeof *a);

	call->state = a;
	work_attachments_read(call, NULL, a);
	attachments_drop_bytes(a);
}

static void
group_close_call(struct step_call *call)
{
	if (call->state != NULL)
		attachments_free(call->state);
	free(call->state);
}

static void
group_define(const struct step *s, struct writer *w)
{
	const struct group_options *o = &s->options.group;

	command_define(s, w);
	writer_integer(w, (int64_t)o->kind);
	if (o->kind == GROUP_PARALLEL)
		writer_string(w, step_strategies[o->strategy]);
	if (o->kind != GROUP_LOOP)
		return;
	/* --max is a limit and not part of the definition, unless nothing else ends the loop. */
	writer_string(w, o->until.text);
	writer_string(w, o->proceed.text);
	if (o->until.text == NULL && o->proceed.text == NULL)
		writer_integer(w, o->max_rounds);
}

/* ---- a body: of --each, of an iteration, of a branch ---- */

static int
body_run(struct step_call *call, int repeats, struct error *err)
{
	return command_run(call, NULL, repeats, err);
}

/* If the body was ended early, its lines were not counted: take its recorded end. */
static void
body_judge(const struct step *s, struct call_verdict *v)
{
	struct error error;

	if (step_judge_command(s, v) && step_ended_by_circumstance(s, &v->recalled, &error) &&
	    span_member(recalled_result(&v->recalled)->view.payload, KEY_COUNT).at == NULL)
		v->says = VERDICT_TAKE;
}

static void
body_open(struct step_call *call)
{
	const struct group *g = call->step->definition.state;

	if (g->spent)
		error_set(&call->end.error, ERROR_MAX_ITERATIONS, NULL, "no end after %lld round%s (--max)",
		    (long long)call->index, call->index == 1 ? "" : "s");
}

static const struct work work_body = {
	.passes = true,
	.define = command_define,
	.prepare = group_prepare,
	.label = command_label,
	.judge = body_judge,
	.open = body_open,
	.record_work = command_record_work,
	.run = body_run,
	.close = group_close_call,
};

static bool
each_asked(const struct step_options *o)
{
	return o->group.kind == GROUP_EACH;
}

const struct work work_each = {
	.kind = "for_each",
	.passes = true,
	.asked = each_asked,
	.load = command_load,
	.define = group_define,
	.files = command_files,
	.describe = command_describe,
	.prepare = group_prepare,
	.label = command_label,
	.judge = body_judge,
	.record_work = command_record_work,
	.run = body_run,
	.close = group_close_call,
};

/* ---- a loop ---- */

static bool
loop_asked(const struct step_options *o)
{
	return o->group.kind == GROUP_LOOP;
}

/* What ended a call inside the loop is recorded there: the repeated loop ends in the same way. */
static void
loop_judge(const struct step *s, struct call_verdict *v)
{
	step_judge_command(s, v);
}

static void
loop_record_work(const struct step_call *call, struct writer *w)
{
	const struct step_options *o = &call->step->options;

	call_write_command(w, o->command.argv);
	writer_member_object(w, KEY_LOOP);
	writer_member_string(w, KEY_WHILE, o->group.proceed.text);
	writer_member_string(w, KEY_UNTIL, o->group.until.text);
	writer_member_integer(w, KEY_MAX, o->group.max_rounds);
	writer_object_end(w);
}

const struct work work_loop = {
	.kind = "while",
	.passes = true,
	.asked = loop_asked,
	.load = command_load,
	.define = group_define,
	.files = command_files,
	.describe = command_describe,
	.prepare = group_prepare,
	.label = command_label,
	.judge = loop_judge,
	.record_work = loop_record_work,
	.run = loop_run,
	.close = group_close_call,
};

/* ---- parallel branches ---- */

static bool
parallel_asked(const struct step_options *o)
{
	return o->group.kind == GROUP_PARALLEL;
}

static void
parallel_files(const struct step *s, struct step_files *f)
{
	for (char *const *branch = s->options.command.argv; *branch != NULL; branch++)
		step_files_add_shell(f, *branch);
}

static int
parallel_describe(struct step *s, const struct item *item, struct buffer *out, struct error *err)
{
	struct writer w = step_describe_begin(out);

	(void)err;
	writer_member_array(&w, "branches");
	for (char *const *branch = s->options.command.argv; *branch != NULL; branch++)
		writer_string(&w, *branch);
	writer_array_end(&w);
	step_describe_end(&w, item);
	return 0;
}

/* If the group was cancelled, its repeated branches would not end it in the same way: take its
 * recorded end. */
static void
parallel_judge(const struct step *s, struct call_verdict *v)
{
	struct error error;

	if (step_judge_command(s, v) && step_ended_by_circumstance(s, &v->recalled, &error) &&
	    is_cut(error.code))
		v->says = VERDICT_TAKE;
}

static void
parallel_record_work(const struct step_call *call, struct writer *w)
{
	const struct step_options *o = &call->step->options;

	call_write_branches(w, o->command.argv);
	writer_member_string(w, KEY_STRATEGY, step_strategies[o->group.strategy]);
}

const struct work work_parallel = {
	.kind = "parallel",
	.passes = true,
	.asked = parallel_asked,
	.load = command_load,
	.define = group_define,
	.files = parallel_files,
	.describe = parallel_describe,
	.prepare = group_prepare,
	.label = command_label,
	.judge = parallel_judge,
	.record_work = parallel_record_work,
	.run = parallel_run,
	.close = group_close_call,
};
