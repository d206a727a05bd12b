/*
 * Kinds of work: what a step does for an item. Each is a row of one table (kinds.h) and a file of its
 * own, work_NAME.c, which alone knows its options, its state, and what is recorded of it. All others
 * call the row, or read a fact of it, and ask no step which kind it is of.
 *
 * A member is NULL where a kind has nothing to do. The functions are called in this order:
 *
 *     load → define → files → begin → (calls) → stop → unload
 *     a call: prepare → label, judge → open → record_work, record_place
 *             → taken, or run → record_end → ended → close
 *
 * How a kind is added, in one commit of five files:
 *   1. cmd/step_kinds/work_NAME.c: its functions, and its row, const struct work work_NAME;
 *   2. cmd/step_call/step_options.h: its line in WORKS, and what its option sets;
 *   3. cmd/step/settings.c: that option, in the table and in WORK, and what it does not go together with
 *      (one that runs nothing: as --approve and --terminal);
 *   4. man/awf-step.1: the option, and at --kind the word that is recorded;
 *   5. tests/cli/step/NAME.bats.
 */
#ifndef AWF_STEP_CALL_WORK_H
#define AWF_STEP_CALL_WORK_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buffer.h"
#include "base/error.h"
#include "json/writer.h"
#include "step_call/step_options.h"
#include "storage/state.h"
#include "transcript/event.h"

struct step;
struct step_call;
struct step_files;
struct call_verdict;

struct work {
	const char *kind;            /* as the record has it */

	/* Facts. */
	bool passes;                 /* a body: it reads state lines, and those that it prints are its output */
	bool decides;                /* it decides about the item, which is its result, and recorded with it */
	bool asks;                   /* it asks somebody: a resume asks again while there
	                                is no answer */
	bool goes_on;                /* a resume continues inside of it: the user's decisions about
	                                effects are about the calls in it */
	bool repeats_tries;          /* in a replay it records the tries that failed itself, in their turn */
	bool undeclared_changes;     /* if it declares no effects, it may have any */

	/* ---- the step, before any input is read ---- */

	/* Whether the options ask for this kind. The first row whose function says so is chosen. */
	bool (*asked)(const struct step_options *o);
	/* Reads its definitions, and checks all that can be wrong with them; fills definition.state. -1:
	 * ERROR_DEFINITION, ERROR_USAGE; unload() is called either way. Without it, as of a command line
	 * that is refused, definition.state is NULL. */
	int (*load)(struct step *s, struct error *err);
	/* Writes all that makes its result, in an order that never changes: the calls of earlier
	 * recordings are known by the digest. */
	void (*define)(const struct step *s, struct writer *w);
	/* Names the files that it is made of, and what its commands run (step_files.h). */
	void (*files)(const struct step *s, struct step_files *f);
	/* Whether its result depends on the directory and the variables. NULL: it does. */
	bool (*reads_environment)(const struct step *s);
	/* Why its input makes no difference to it, for people; NULL: it does. */
	const char *(*ignores_input)(const struct step *s);
	/* The step has entered its run. in: descriptor from which this process reads items one
	 * after the other, so that the kind can start what they need while waiting for the first;
	 * -1: not so. */
	int (*begin)(struct step *s, int in, struct error *err);
	/* How many calls at a time can work: more would only wait for each other. 0, or NULL: any number. */
	int (*most_at_once)(const struct step *s);
	/* Appends what would be asked or run for an item, as a JSON line (--dry-run). */
	int (*describe)(struct step *s, const struct item *item, struct buffer *out, struct error *err);

	/* ---- a call ---- */

	/* Completes the input: adds to call->input_sha256 what matters besides the item's data.
	 * Errors are the call's error. */
	void (*prepare)(struct step_call *call);
	/* Appends what it does, for people, where that is not what was recorded. */
	void (*label)(const struct step *s, struct buffer *out);
	/* What stands of the recorded call, by one of the rules of step_call.h: step_judge_again() and so on.
	 * NULL: nothing, in a resume neither: it is done again. */
	void (*judge)(const struct step *s, struct call_verdict *v);
	/* It is to be made, and its start is recorded next. */
	void (*open)(struct step_call *call);
	/* Members of the start's payload: what it does (NULL: its time limit), and where. */
	void (*record_work)(const struct step_call *call, struct writer *w);
	void (*record_place)(const struct step_call *call, struct writer *w);
	/* The recorded end was taken over. 1: it stands; 0: the work is to be done after all; -1: the
	 * machine failed. */
	int (*taken)(struct step_call *call, struct error *err);
	/* Does the work; what that comes to is call->end. repeats: so many tries of a recording that
	 * failed are made again (step_try()). -1: the machine failed. */
	int (*run)(struct step_call *call, int repeats, struct error *err);
	/* Members of the end's payload. */
	void (*record_end)(const struct step_call *call, struct writer *w);
	/* The end is recorded. */
	void (*ended)(struct step_call *call, const struct event *completed);
	/* Frees call->state, which may be NULL. */
	void (*close)(struct step_call *call);

	/* ---- the step, after its calls ---- */

	/* Ends what runs for it in this process. */
	void (*stop)(struct step *s);
	/* Frees definition.state, which is not NULL. */
	void (*unload)(struct step *s);
};

#endif
