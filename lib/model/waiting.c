/*
 * A waiting call is found by the event ids of its starts and ends, in any attempt, and by the id of
 * the call that has its last end. While nothing waits, nothing is looked up.
 */
#include "model/waiting.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/invariant.h"
#include "base/memory.h"
#include "transcript/event.h"
#include "transcript/event_keys.h"

static const char *const words[] = {
	[WAITING_APPROVAL] = "approval", [WAITING_COMPLETION] = "completion",
	[WAITING_TIME] = "time", [WAITING_NOTHING] = NULL
};

const char *
waiting_word(enum waiting_for what)
{
	return words[what];
}

const char *
waiting_words(enum waiting_for what)
{
	return what == WAITING_APPROVAL ? WAITING_FOR_DECISION : what == WAITING_TIME ? WAITING_FOR_TIME :
	    WAITING_FOR_RESULT;
}

char *
waiting_token(const char *call, int64_t attempt, int64_t number)
{
	return memory_format("%s@%lld.%lld", call, (long long)attempt, (long long)number);
}

bool
waiting_is_first(const char *task, int64_t attempt, int64_t number)
{
	const char *began = strrchr(task, '@');

	return number == 1 && attempt == (began != NULL ? strtoll(began + 1, NULL, 10) : 1);
}

enum waiting_named
waiting_is_named(const char *text, const char *task, const char *token, bool first)
{
	size_t call = token != NULL ? strcspn(token, "@") + 1 : 0;

	if (token == NULL)
		return strcmp(text, task) == 0 ? WAITING_THIS : WAITING_OTHER;
	if (strcmp(text, token) == 0 || (first && strcmp(text, task) == 0))
		return WAITING_THIS;
	return strcmp(text, task) == 0 ||
	    (strncmp(text, token, call) == 0 && strchr(text + call, '.') != NULL) ?
	    WAITING_OTHER_TRY : WAITING_OTHER;
}

static struct span
waiting_approval_of(const struct event_view *event)
{
	return event->type == EVENT_STEP_COMPLETED || event->type == EVENT_STEP_WAITING ?
	    span_member(event->payload, KEY_APPROVAL) : span_of(NULL, 0);
}

enum waiting_for
waiting_of(const struct event_view *event)
{
	struct span asks = span_member(waiting_approval_of(event), KEY_ASKS);
	int what = 0;

	while (words[what] != NULL && !span_is(asks, words[what]))
		what++;
	return (enum waiting_for)what;
}

int
waiting_seek_end(struct reader *r, struct error *err)
{
	struct event_view event;
	const char *line;
	int64_t last = -1, from = 1;
	size_t len;
	int got;

	for (int64_t count = 1; last == -1 && from > 0; count *= 8) {
		if (reader_seek_last(r, count, err) != 0)
			return -1;
		from = r->position;
		while ((got = reader_next(r, &line, &len, err)) == 1)
			if (event_view(line, len, &event) != 0 || !event_decides(&event))
				last = r->line_start;
		if (got != 0) {
			reader_seek(r, 0);
			return -1;
		}
	}
	reader_seek(r, last > 0 ? last : 0);
	return 0;
}

int
waiting_run_ended(const struct transcript *t, struct error *err)
{
	struct event_view event;
	struct reader r;
	const char *line;
	size_t len;
	int got = -1;

	if (!t->decided)
		return t->last == EVENT_RUN_COMPLETED;
	if (reader_open(&r, t->path, err) == -1)
		return -1;
	if (waiting_seek_end(&r, err) == 0 && (got = reader_next(&r, &line, &len, err)) == 1)
		got = event_view(line, len, &event) == 0 && event.type == EVENT_RUN_COMPLETED;
	reader_close(&r);
	return got;
}

static struct waiting *
waiting_find(const struct waitings *w, const struct map *map, const char *key)
{
	const size_t *found = map_get(map, key, strlen(key));

	return found != NULL ? &w->list[*found] : NULL;
}

static struct waiting *
find_event(const struct waitings *w, struct span id)
{
	char text[ID_SIZE];

	return span_copy(id, text, sizeof text) ? waiting_find(w, &w->by_event, text) : NULL;
}

static void
note_event(struct waitings *w, const struct waiting *at, struct span id)
{
	char text[ID_SIZE];

	if (span_copy(id, text, sizeof text))
		map_put(&w->by_event, text, strlen(text), (size_t)(at - w->list));
}

/* Takes ownership of how, which is allocated. */
static void
end_wait(struct waiting *at, char *how)
{
	if (at->over)
		free(how);
	else
		at->how = how;
	at->over = true;
}

/* Checks a waiting call: that its data is complete, and that it is found by its last end. */
static bool
waiting_holds(const struct waitings *w, const struct waiting *at)
{
	return at->call != NULL && at->path != NULL && at->name != NULL && at->kind != NULL &&
	    (at->token == NULL || at->task != NULL) && (at->over || at->how == NULL) &&
	    (at->early || at->end[0] == '\0' || waiting_find(w, &w->by_event, at->end) == at);
}

static void
waiting_reopen(struct waiting *at)
{
	free(at->how);
	at->how = NULL;
	at->over = false;
}

/* An attempt makes the call again: it claims the wait, or starts the work afresh, which ends the
 * wait. */
static void
waiting_read_started(struct waitings *w, const struct event_view *event, struct event_place begin)
{
	struct waiting *at;
	char *call;

	if (w->count == 0)
		return;
	at = find_event(w, span_member(event->payload, KEY_CLAIMS));
	call = span_text(span_member(event->payload, KEY_CALL));
	if (at != NULL) {
		if (at->over && at->how == NULL)
			waiting_reopen(at);
		at->used = at->over;
		at->attempt = w->attempt;
		at->begin = begin;
		note_event(w, at, event->event_id);
	} else if (call != NULL && (at = waiting_find(w, &w->by_call, call)) != NULL) {
		at->used = true;
		end_wait(at, NULL);
	}
	free(call);
}

static char *
text_or_empty(struct span value)
{
	char *text = span_text(value);

	return text != NULL ? text : memory_text("");
}

/* Makes the call wait from the end in this event on. */
static void
wait_from(struct waitings *w, struct waiting *at, const struct event_view *event)
{
	struct span said = waiting_approval_of(event);
	char *call = span_text(span_member(event->payload, KEY_CALL)), deadline[CLOCK_TEXT_SIZE];
	long long timeout;

	span_copy(event->event_id, at->end, sizeof at->end);
	note_event(w, at, event->event_id);
	/* A heartbeat changes the deadline alone. */
	if (!event_decides(event))
		at->attended = event->type == EVENT_STEP_WAITING;
	at->timeout_ms = at->deadline = 0;
	if (span_integer(span_member(said, KEY_TIMEOUT_MS), &timeout))
		at->timeout_ms = timeout;
	if (span_copy(span_member(said, KEY_DEADLINE), deadline, sizeof deadline) &&
	    clock_parse(deadline, 0, &at->deadline) != 0)
		at->deadline = 0;
	if (!span_copy(span_member(said, KEY_FORM), at->form, sizeof at->form))
		memcpy(at->form, "text", sizeof "text");
	if (call == NULL)
		return;
	free(at->call);
	at->call = call;
	/* Its step may have been renamed between two attempts. */
	free(at->path);
	at->path = text_or_empty(event->path);
	map_put(&w->by_call, call, strlen(call), (size_t)(at - w->list));
}

/* Reads the task and the token of work that the call handed over, from its end or from an earlier
 * decision. */
static void
name_task(const struct waitings *w, struct waiting *at, const struct event_view *event)
{
	struct span said = waiting_approval_of(event), task = span_member(said, KEY_TASK);
	long long number = 1;

	if (at->task != NULL && task.at == NULL)
		return;
	free(at->task);
	free(at->token);
	at->task = span_text(task);
	at->token = NULL;
	if (at->task == NULL) {
		at->task = memory_text(at->call);
		return;
	}
	span_integer(span_member(said, KEY_TRY), &number);
	at->token = waiting_token(at->call, w->attempt, number);
	at->first = waiting_is_first(at->task, w->attempt, number);
	INVARIANT(at->token != NULL && waiting_is_named(at->token, at->task, at->token, at->first) == WAITING_THIS);
}

static struct waiting *
add_waiting(struct waitings *w, enum waiting_for what, const struct event_view *event,
    struct event_place begin)
{
	struct waiting *at;

	w->list = memory_array(w->list, w->count + 1, sizeof *w->list);
	at = &w->list[w->count++];
	*at = (struct waiting){ .what = what, .iteration = event->iteration, .begin = begin,
		.attempt = w->attempt,
		.name = text_or_empty(span_member(event->payload, KEY_NAME)),
		.kind = text_or_empty(span_member(event->payload, KEY_KIND)),
		.path = text_or_empty(event->path),
		.call = text_or_empty(span_member(event->payload, KEY_CALL)) };
	return at;
}

static void
waiting_read_decision(struct waitings *w, const struct event_view *event, struct event_place begin,
    struct event_place place)
{
	struct span said = waiting_approval_of(event), decides = span_member(said, KEY_DECIDES);
	struct waiting *at = w->count > 0 ? find_event(w, decides) : NULL;
	char *word, *by;

	if (at == NULL && span_member(said, KEY_TASK).at != NULL) {
		at = add_waiting(w, WAITING_COMPLETION, event, begin);
		at->early = true;
		span_copy(decides, at->end, sizeof at->end);
		name_task(w, at, event);
	}
	if (at == NULL || at->over || !span_is(decides, at->end))
		return;
	if (waiting_of(event) != WAITING_NOTHING) {
		wait_from(w, at, event);
		return;
	}
	word = text_or_empty(span_member(said, KEY_DECISION));
	by = text_or_empty(span_member(said, KEY_BY));
	end_wait(at, memory_format("%s by %s", word, by));
	at->decision = place;
	free(word);
	free(by);
}

/* Tries that failed may stand between a call's start and its end: then its wait, which began in the
 * same attempt, is found by the call. */
static struct waiting *
find_wait_of_end(const struct waitings *w, const struct event_view *event)
{
	char *call = span_text(span_member(event->payload, KEY_CALL));
	struct waiting *at = call != NULL ? waiting_find(w, &w->by_call, call) : NULL;

	free(call);
	return at != NULL && !at->used && at->attempt == w->attempt ? at : NULL;
}

static void
waiting_read_completed(struct waitings *w, const struct event_view *event, struct event_place begin,
    struct event_place place)
{
	struct waiting *at = w->count > 0 ? find_event(w, event->parent_event_id) : NULL;
	enum waiting_for what = waiting_of(event);

	if (at == NULL && w->count > 0)
		at = find_wait_of_end(w, event);
	if (event_decides(event)) {
		waiting_read_decision(w, event, begin, place);
	} else if (at != NULL && what != WAITING_NOTHING) {
		/* A further attempt left it waiting, or, if the wait was over, did its work again
		 * and waits for that. */
		bool again = at->over;

		if (again)
			waiting_reopen(at);
		wait_from(w, at, event);
		if (again) {
			free(at->task);
			at->task = NULL;
		}
		name_task(w, at, event);
	} else if (at != NULL) {
		at->used = true;
		end_wait(at, memory_text("ended in a further attempt of the run"));
	} else if (what != WAITING_NOTHING) {
		at = add_waiting(w, what, event, begin);
		note_event(w, at, event->parent_event_id);
		wait_from(w, at, event);
		name_task(w, at, event);
	}
	INVARIANT(at == NULL || waiting_holds(w, at));
}

void
waitings_take(struct waitings *w, const struct event_view *event, struct event_place begin,
    struct event_place place)
{
	long long attempt;
	char id[ID_SIZE];
	bool waits;

	switch (event->type) {
	case EVENT_RUN_STARTED:
		w->masked |= span_true(span_member(event->payload, KEY_MASKED));
		if (span_integer(span_member(event->payload, KEY_ATTEMPT), &attempt))
			w->attempt = attempt;
		break;
	case EVENT_RUN_COMPLETED:
		if (span_is(span_member(event->payload, KEY_STATUS), "success"))
			for (size_t i = 0; i < w->count; i++)
				end_wait(&w->list[i], memory_text("left behind, as the run has succeeded"));
		break;
	case EVENT_STEP_STARTED:
		waiting_read_started(w, event, begin);
		break;
	case EVENT_STEP_COMPLETED:
	case EVENT_STEP_WAITING:
		waiting_read_completed(w, event, begin, place);
		break;
	case EVENT_CALL_WORKFLOW_COMPLETED:
		/* A child run waits, or no longer waits. It is decided about by its own run id. */
		waits = span_is(span_path(event->payload, KEY_ERROR, KEY_CODE, NULL),
		    error_name(ERROR_WAITING));
		if (span_copy(event->child_run_id, id, sizeof id) &&
		    (waits || strcmp(id, w->child) == 0))
			memcpy(w->child, waits ? id : "", waits ? sizeof id : 1);
		break;
	default:
		break;
	}
}

void
waitings_free(struct waitings *w)
{
	for (size_t i = 0; i < w->count; i++) {
		struct waiting *at = &w->list[i];
		char *const texts[] = { at->name, at->kind, at->path, at->call, at->task, at->token,
			at->how };

		for (size_t t = 0; t < sizeof texts / sizeof *texts; t++)
			free(texts[t]);
	}
	free(w->list);
	map_free(&w->by_event);
	map_free(&w->by_call);
	*w = (struct waitings)WAITINGS_INIT;
}
