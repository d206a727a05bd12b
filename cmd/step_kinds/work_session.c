/*
 * A call is listed when it begins, so that nothing is lost if it is killed after its end is recorded.
 * Whether a listed call has completed is looked up in its transcript.
 */
#include "step_kinds/work_session.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/memory.h"
#include "base/text.h"
#include "io/file.h"
#include "proc/message.h"
#include "transcript/event_keys.h"

#define TRY_AGAIN_MS 50
#define TELL_AFTER_MS 1000
#define HELD "AWF_SESSIONS" /* sessions of the calls that enclose a process, separated by commas */

/* ---- the lock ---- */

static int
wait_for_session(const struct step_call *call, const char *name, struct work_session *ws,
    struct error *err)
{
	const struct step *s = call->step;
	const int64_t began = clock_monotonic();
	bool told = false;
	int entered;

	if (text_has_part(getenv(HELD), ',', name, strlen(name)))
		return error_set(err, ERROR_BLOCKED, "--session", "the session '%s' is that of a call around this "
		    "one, which would wait for itself", name);
	while ((entered = session_enter(&ws->session, &s->place.run->storage, name, err)) == 0) {
		const int64_t waited = clock_monotonic() - began;

		if (s->options.timeout_ms > 0 && waited >= s->options.timeout_ms)
			return error_set(err, ERROR_TIMEOUT, "--session",
			    "another call of the session '%s' did not end in time", name);
		if (!told && waited >= TELL_AFTER_MS) {
			message_print("awf-step", "%s: waits for another call of the session '%s'",
			    s->options.name, name);
			told = true;
		}
		if (interrupts_sleep(&s->place.interrupts, TRY_AGAIN_MS, err) == -1)
			return -1;
	}
	ws->entered = entered == 1;
	return entered == 1 ? 0 : -1;
}

/* ---- the conversation ---- */

/* The conversation of the latest call that has completed: 1, and it is *c, of the run run_id; 0: there
 * is none. */
static int
find_latest(const struct step_call *call, const struct session *session, struct continuation *c,
    char run_id[ID_SIZE], struct error *err)
{
	const struct run *run = call->step->place.run;
	int found = 0;

	for (size_t i = session->count; found == 0 && i-- > 0;) {
		const struct session_call *each = &session->calls[i];
		char *path = storage_transcript(&run->storage, each->run_id);
		char *blobs = storage_blobs(&run->storage, each->run_id);
		struct error why = ERROR_INIT;

		if (strcmp(each->run_id, run->id) == 0 && strcmp(each->call, call->id) == 0) {
			; /* the same call, in an earlier attempt */
		} else if (access(path, F_OK) == 0) {
			int failed = continuation_find(c, path, blobs, each->path, each->call, &why);

			if (failed == 0 && (c->messages.len > 0 || c->session != NULL)) {
				memcpy(run_id, each->run_id, ID_SIZE);
				found = 1;
			} else {
				continuation_free(c);
			}
			if (failed == -1 && why.code != ERROR_INVALID_INPUT) {
				*err = why;
				found = -1;
			}
		}
		free(blobs);
		free(path);
	}
	return found;
}

/* Takes the conversation from the recorded start of the call: 1; 0: there is none that began in
 * this session; -1: it is damaged. */
static int
recall_conversation(const struct step_call *call, const char *name, struct work_session *ws,
    struct continuation *c, struct error *err)
{
	const struct recall *recall = call->step->place.recall;
	struct recall_query query = step_query(call->step, call->index);
	struct recalled_event started = { .line = BUFFER_INIT };
	struct span session;
	int found = 0;

	query.input_sha256 = call->input_sha256;
	query.definition_sha256 = call->step->definition.sha256;
	if (recall == NULL || !recall->peek(recall->history, &query, &started))
		return 0;
	session = span_member(started.view.payload, KEY_SESSION);
	if (span_is(span_member(session, KEY_NAME), name)) {
		found = 1;
		span_decode(span_member(session, KEY_CONVERSATION), &ws->text);
		if (span_copy(span_member(session, KEY_EVENT_ID), c->completed, ID_SIZE)) {
			char completed[ID_SIZE];

			memcpy(completed, c->completed, ID_SIZE);
			span_copy(span_member(session, KEY_RUN_ID), ws->run_id, ID_SIZE);
			digest_sha256(buffer_string(&ws->text), ws->text.len, ws->sha256);
			if (!span_is(span_member(session, KEY_SHA256), ws->sha256) ||
			    continuation_restore(c, span_of(buffer_string(&ws->text), ws->text.len)) == -1)
				found = error_set(err, ERROR_DIVERGENCE, "--session", "the conversation that is "
				    "recorded with the start of %s is not that of its digest", call->id);
			memcpy(c->completed, completed, ID_SIZE);
		}
	}
	recalled_event_free(&started);
	return found;
}

/* Refuses a run that does not keep its conversations: no later call could continue one. */
static int
check_run(const struct step_call *call, struct error *err)
{
	const struct run *run = call->step->place.run;
	char *path = storage_transcript(&run->storage, run->id);
	bool kept = strcmp(path, run->transcript.path) == 0;

	free(path);
	if (run->transcript.masked)
		return error_set(err, ERROR_BLOCKED, "--session",
		    "not in a masked run, which does not keep what was said");
	return kept ? 0 : error_set(err, ERROR_BLOCKED, "--session",
	    "not in a run without a transcript, which does not keep what was said");
}

void
work_session_enter(struct step_call *call, const char *name, struct work_session *ws,
    struct continuation *c)
{
	struct error *err = &call->end.error;
	struct continuation latest = { .session = NULL };
	char run_id[ID_SIZE] = "";
	int recorded, found;

	ws->session.fd = -1;
	recorded = recall_conversation(call, name, ws, c, err);
	if (recorded == -1 || step_replays(call->step) || check_run(call, err) == -1 ||
	    wait_for_session(call, name, ws, err) == -1)
		return;
	found = find_latest(call, &ws->session, &latest, run_id, err);
	if (found == -1)
		return;
	if (recorded == 1) {
		ws->behind = strcmp(latest.completed, c->completed) != 0;
		continuation_free(&latest);
	} else if (found == 1) {
		*c = latest;
		memcpy(ws->run_id, run_id, ID_SIZE);
		continuation_write(c, &ws->text);
		digest_sha256(ws->text.data, ws->text.len, ws->sha256);
	}
}

void
work_session_record(const struct work_session *ws, const char *name, const struct continuation *c,
    struct writer *w)
{
	writer_member_object(w, KEY_SESSION);
	writer_member_string(w, KEY_NAME, name);
	if (c->completed[0] != '\0') {
		writer_member_string(w, KEY_RUN_ID, ws->run_id);
		writer_member_string(w, KEY_EVENT_ID, c->completed);
		writer_member_string(w, KEY_SHA256, ws->sha256);
		writer_member_string(w, KEY_CONVERSATION, buffer_string(&ws->text));
	}
	writer_object_end(w);
}

int
work_session_begin(const struct step_call *call, const char *name, const char *agent,
    struct work_session *ws, struct error *err)
{
	struct step *s = call->step;
	const struct run *run = s->place.run;
	const char *held = getenv(HELD);
	char at[CLOCK_TEXT_SIZE], *all;
	struct session_call listed = { .call = (char *)call->id, .path = (char *)s->place.path,
		.agent = (char *)agent, .at = clock_text(clock_wall(), at) };

	if (!ws->entered)
		return 0;
	all = memory_format("%s%s%s", held != NULL ? held : "", held != NULL ? "," : "", name);
	environment_set(&s->place.environment, HELD, all);
	free(all);
	if (ws->behind) {
		message_print("awf-step", "%s: the session '%s' has gone on since: this answer does not become part of it",
		    call->id, name);
		return 0;
	}
	memcpy(listed.run_id, run->id, ID_SIZE);
	return session_add(&ws->session, &listed, err);
}

void
work_session_leave(struct work_session *ws)
{
	session_leave(&ws->session);
	buffer_free(&ws->text);
}
