/*
 * What happened inside and around a call, as far as only records tell it.
 *
 * What was made inside a call is found by the models of its run and of child runs. A call with
 * effects counts from its start, unless its end says that it failed by itself; the same holds for a
 * tool's call. Only the part of the run behind the call's start is read, of which the model knows
 * only what it needs: ids tell what is inside the call.
 *
 * That a call was interrupted is seen in the run's directory: processes that died leave their
 * records there, and whoever ends a run, or a call, first notes this there.
 */
#include "step_call/step_call.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "base/memory.h"
#include "model/model.h"
#include "model/outcome.h"
#include "proc/ending.h"
#include "step_call/work.h"
#include "storage/roster.h"
#include "storage/storage.h"
#include "transcript/event_keys.h"

#define DEPTH 16 /* levels of runs inside runs */

/* ---- effects ---- */

/* A call that has begun to change something. */
struct begun {
	char *name;
	bool harmless; /* it ended without a change */
};

struct inside {
	const struct run *run;
	const char *call;       /* "": the whole run */
	struct map by_start;    /* event that began it → begun */
	struct begun *list;
	size_t count;
	int depth;
	bool told;              /* `what` has the name of a call in a child run */
	struct buffer *what;
};

static bool step_inside_read_run(struct inside *in, const char *path, int64_t from);

/* Whether a call was made inside another, directly or through others. */
static bool
is_inside(const struct model_call *call, const char *around)
{
	size_t len = strlen(around);

	return strncmp(call->id, around, len) == 0 && (len == 0 || call->id[len] == '/');
}

/* Notes a beginning if the call is to change something that must not be changed twice. */
static void
step_inside_note_start(struct inside *in, const struct event_view *event, const char *name_key)
{
	struct span effects = span_member(event->payload, KEY_EFFECTS);
	char id[ID_SIZE], *name;

	if ((!span_is(effects, "workspace") && !span_is(effects, "external")) ||
	    span_true(span_member(event->payload, KEY_IDEMPOTENT)) ||
	    !event_copy_id(event->event_id, id))
		return;
	name = span_text(span_member(event->payload, name_key));
	map_put(&in->by_start, id, ID_SIZE - 1, in->count);
	in->list = memory_array(in->list, in->count + 1, sizeof *in->list);
	in->list[in->count++] = (struct begun){ name != NULL ? name : memory_text(""), false };
}

/* The call that this event began has ended: harmless if it failed by itself, and nothing around
 * it ended it. A call that the user has declared done has changed something, whoever did it. */
static void
step_inside_note_end(struct inside *in, const char *start, struct span payload)
{
	static const char *const cut[] = { "timeout", "cancelled", "interrupted",
		"downstream_closed", NULL };
	const size_t *found = map_get(&in->by_start, start, strlen(start));
	struct span code;
	long long exit_code = 0;

	if (found == NULL || in->list == NULL)
		return;
	code = span_path(payload, KEY_ERROR, KEY_CODE, NULL);
	span_integer(span_member(payload, KEY_EXIT_CODE), &exit_code);
	if ((span_member(payload, KEY_SKIPPED).at != NULL && !span_is(span_member(payload, KEY_SKIPPED), "by_user")) ||
	    (code.at != NULL && span_one_of(code, cut) == NULL && exit_code <= 128))
		in->list[*found].harmless = true;
}

static int
step_inside_read_event(void *context, const struct placed *placed, struct error *err)
{
	struct inside *in = context;
	const struct event_view *event = placed->event;
	const struct model_call *call = placed->call;
	struct span payload = event->payload;
	char cause[ID_SIZE];

	(void)err;
	if (call == NULL || !is_inside(call, in->call))
		return 0;
	if (event_type_starts_call(event->type)) {
		/* The effects of an operation are those of its tool's calls. */
		if (span_member(payload, KEY_TOOL).at == NULL)
			step_inside_note_start(in, event, KEY_CALL);
		if (event->type == EVENT_CALL_WORKFLOW_STARTED && in->depth < DEPTH &&
		    id_valid(call->rare->child_run_id, strlen(call->rare->child_run_id))) {
			struct inside child = { .run = in->run, .call = "", .depth = in->depth + 1,
				.what = in->what };
			char *path = storage_transcript(&in->run->storage, call->rare->child_run_id);

			if (transcript_begun(path) && step_inside_read_run(&child, path, 0))
				in->told = true;
			free(path);
		}
	} else if (event_type_ends_call(event->type)) {
		step_inside_note_end(in, model_call_event_id(call, cause), payload);
	} else if (event->type == EVENT_TOOL_CALL) {
		if (span_is(span_member(payload, KEY_FIDELITY), "router"))
			step_inside_note_start(in, event, KEY_NAME);
	} else if (event->type == EVENT_TOOL_RESULT && event_copy_id(event->parent_event_id, cause)) {
		step_inside_note_end(in, cause, payload);
	}
	return in->told;
}

/* Whether a call inside it has changed something, and which. */
static bool
step_inside_read_run(struct inside *in, const char *path, int64_t from)
{
	struct error err;
	struct model m;
	bool found, unreadable;

	model_begin(&m, MODEL_EVENTS);
	m.position = from;
	m.watch = step_inside_read_event;
	m.context = in;
	unreadable = model_read_file(&m, path, &err) == -1;
	model_free(&m);
	found = in->told;
	for (size_t i = 0; i < in->count; i++) {
		if (!found && !in->list[i].harmless) {
			buffer_text(in->what, in->list[i].name);
			found = true;
		}
		free(in->list[i].name);
	}
	if (!found && unreadable) {
		buffer_text(in->what, "something");
		found = true;
	}
	free(in->list);
	map_free(&in->by_start);
	return found;
}

bool
step_has_changed(const struct step_call *call, struct buffer *what)
{
	const struct run *run = call->step->place.run;
	struct inside in = { .run = run, .call = call->id, .what = what };

	return step_inside_read_run(&in, run->transcript.path, call->record_from);
}

/* ---- waiting, and deaths in calls in it ---- */

void
step_look_for_unfinished(struct step_call *call)
{
	const struct run *run = call->step->place.run;
	enum error_code code;
	char *message;

	if (call->end.error.code != ERROR_EXIT_STATUS || !roster_entered(run->directory, call->id))
		return;
	/* If the record cannot be read, the exit status remains. */
	message = outcome_unfinished_inside(run->transcript.path, call->record_from, call->id, &code);
	if (message != NULL)
		error_set(&call->end.error, code, NULL, "%s", message);
	free(message);
}

/* ---- interruptions ---- */

/* Whether the run is another process's, and that has died. */
static bool
is_deserted(const struct run *run)
{
	return run->lock_fd == -1 && !storage_run_alive(&run->storage, run->id);
}

/* Whatever a shell has made of the step's end, its output is not the result. A body that was
 * ended itself says so. What the machine did to the step it did to the body. */
void
step_look_for_dead(struct step_call *call)
{
	const struct step *s = call->step;
	struct step_end *ended = &call->end;
	struct error *error = &ended->error;
	struct roster_death death;

	if (error->code != ERROR_NONE && error->code != ERROR_EXIT_STATUS && !ended->told)
		return;
	if (!roster_died(s->place.run->directory, call->id, &death)) {
		/* A step that comes after the run's end begins nothing and only reports that. If
		 * a group's body, or the last process that its shell waited for, was killed, it
		 * was most likely a step that had no time to register in the roster: the work of
		 * a body is done by its steps. */
		if (error->code == ERROR_NONE && s->definition.work->passes && is_deserted(s->place.run))
			error_set(error, ERROR_INTERRUPTED, NULL, "awf-run of this run is gone");
		else if (s->definition.work->passes && error->code == ERROR_EXIT_STATUS && !ended->told &&
		    ended->exit_code == 128 + SIGKILL)
			error_set(error, ERROR_INTERRUPTED, NULL, "the body, or a step in it, was killed");
		else
			return;
	} else if (strcmp(death.reason, ROSTER_WAITS) == 0) {
		error_set(error, ERROR_WAITING, NULL, "%s " ROSTER_WAITS, death.process);
	} else if (*death.reason != '\0') {
		error_set(error, ERROR_SYSTEM, NULL, "step %s failed: %s", death.process, death.reason);
	} else {
		error_set(error, ERROR_INTERRUPTED, NULL, "the step %s died before its end",
		    death.process);
	}
	step_drop_lines(call);
}

void
step_note_ending(struct step_call *call)
{
	const struct run *run = call->step->place.run;
	struct error *error = &call->end.error, why = *error;
	const char *place = *why.place != '\0' ? why.place : NULL, *ending;

	if (why.code == ERROR_NONE || !error_of_work(why.code) || call->step->options.cleanup ||
	    step_replays(call->step))
		return;
	ending = ending_begun(run->directory);
	if (ending != NULL)
		error_set(error, ERROR_CANCELLED, place, "%s (%s is being ended)", why.message, ending);
	else if (is_deserted(run))
		error_set(error, ERROR_INTERRUPTED, place, "%s (awf-run of this run is gone)",
		    why.message);
}
