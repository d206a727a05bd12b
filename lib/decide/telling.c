/*
 * The call is looked for while the mailbox is locked, so it cannot end meanwhile: either it works, and has
 * not closed its mailbox, or it waits. Calls that have ended are searched only for the error message.
 */
#include "decide/telling.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/invariant.h"
#include "base/memory.h"
#include "base/text.h"
#include "decide/due.h"
#include "storage/mailbox.h"
#include "storage/origin.h"
#include "storage/resumes.h"
#include "storage/run.h"
#include "transcript/call.h"

struct telling_search {
	const struct storage *storage;
	const struct telling *telling;
	char *path;               /* of the transcript */
	bool unknown;             /* there is no such call */
	struct word word;         /* its call is set */
	bool waits;               /* the call has no process */
};

/* Whether the name is that of this call. */
static bool
telling_is_meant(const struct model_call *c, const char *name)
{
	return c->id[0] != '\0' && call_is_named(name, c->id, c->step->path, c->iteration);
}

/* Says why no call with that name is at work. */
static int
telling_set_error(struct telling_search *t, struct error *err)
{
	const char *name = t->telling->call;
	const struct model_call *ended = NULL;
	struct buffer working = BUFFER_INIT;
	struct model m;

	model_begin(&m, MODEL_EVENTS);
	if (model_read_file(&m, t->path, err) != 0) {
		model_free(&m);
		return -1;
	}
	for (const struct model_call *c = m.first; c != NULL; c = c->next) {
		if (telling_is_meant(c, name))
			ended = c;
		if ((c->state == CALL_OPEN || c->state == CALL_WAITING) && strcmp(c->step->kind, "agent") == 0)
			buffer_format(&working, "%s%s", working.len > 0 ? ", " : "", c->id);
	}
	if (ended != NULL && strcmp(ended->step->kind, "agent") != 0)
		error_set(err, ERROR_USAGE, ended->id, "is a call of a %s step: only agents can be told something",
		    ended->step->kind);
	else if (ended != NULL)
		error_set(err, ERROR_BLOCKED, ended->id, "has ended, and reads nothing more");
	else
		t->unknown = true;
	if (ended == NULL)
		error_set(err, ERROR_USAGE, name, "no such call in run %s; agents at work: %s",
		    t->telling->run_id, working.len > 0 ? working.data : "none");
	buffer_free(&working);
	model_free(&m);
	return -1;
}

/* Called with the mailbox locked. */
static int
telling_find_call(void *context, char started[ID_SIZE], struct error *err)
{
	struct telling_search *t = context;
	const struct model_call *found = NULL;
	size_t count = 0;
	struct model m;

	model_begin(&m, MODEL_OPEN);
	if (model_read_file(&m, t->path, err) != 0) {
		model_free(&m);
		return -1;
	}
	for (const struct model_call *c = m.first_of_attempt; c != NULL; c = c->next) {
		if ((c->state != CALL_OPEN && c->state != CALL_WAITING) ||
		    strcmp(c->step->kind, "agent") != 0 || !telling_is_meant(c, t->telling->call))
			continue;
		if (found != NULL && strcmp(found->id, c->id) != 0 && count++ == 0)
			error_set(err, ERROR_USAGE, t->telling->call,
			    "several calls of it are at work, name one: %s, %s", found->id, c->id);
		found = c;
	}
	if (found != NULL && count == 0) {
		t->word.call = memory_text(found->id);
		t->waits = found->state == CALL_WAITING ||
		    !storage_run_alive(t->storage, t->telling->run_id);
		model_call_event_id(found, started);
	}
	model_free(&m);
	return count > 0 ? -1 : found == NULL ? telling_set_error(t, err) : 0;
}

static int
telling_check(const struct storage *s, const struct telling *t, struct telling_outcome *o, struct error *err)
{
	struct model m;
	char *path;
	int failed;

	if (t->text.len == 0)
		return error_set(err, ERROR_USAGE, "tell", "the text is empty: write it to standard input");
	if (t->text.len > MAILBOX_WORD_MOST)
		return error_set(err, ERROR_USAGE, "tell", "the text is longer than 1 MiB");
	if (!utf8_valid(t->text.at, t->text.len) || memchr(t->text.at, '\0', t->text.len) != NULL)
		return error_set(err, ERROR_USAGE, "tell", "the text is not UTF-8");
	if (origin_check_own(s, t->run_id, err) != 0)
		return -1;
	/* The record says that a person has sent the text, so it must have been one. */
	if (deciding_allowed(s, t->run_id, DECISION_APPROVED, t->asker, err) != 0) {
		o->forbidden = true;
		return error_set(err, ERROR_USAGE, t->run_id,
		    "the processes of a run cannot tell its own agents anything, nor those of the runs around it");
	}
	path = storage_transcript(s, t->run_id);
	model_begin(&m, MODEL_LIVE);
	failed = model_read_file(&m, path, err);
	if (failed == 0 && m.waits.masked)
		failed = error_set(err, ERROR_USAGE, t->run_id,
		    "is masked (--mask): a text to its agents would not be masked");
	model_free(&m);
	free(path);
	return failed;
}

int
telling_send(const struct storage *s, const struct telling *t, struct telling_outcome *o, struct error *err)
{
	struct telling_search search = { .storage = s, .telling = t };
	char at[CLOCK_TEXT_SIZE];
	struct due due;
	int failed;

	*o = (struct telling_outcome){ .call = NULL };
	if (telling_check(s, t, o, err) != 0)
		return -1;
	search.path = storage_transcript(s, t->run_id);
	id_new(search.word.id);
	search.word.by = memory_text(t->by);
	search.word.at = memory_text(clock_text(clock_wall(), at));
	search.word.text = memory_format("%.*s", (int)t->text.len, t->text.at);
	failed = mailbox_put(s, t->run_id, &search.word, telling_find_call, &search, err);
	if (failed == 0) {
		struct error ignored;

		o->call = memory_text(search.word.call);
		o->next = !search.waits ? NEXT_AT_ONCE :
		    due_read(&due, s, t->run_id, false, &ignored) == 0 && due.by_itself &&
		    resumes_are_served(s) ? NEXT_BY_ITSELF : NEXT_BY_RESUME;
	}
	o->unknown = search.unknown;
	INVARIANT((o->call != NULL) == (failed == 0) && !(o->unknown && failed == 0));
	word_free(&search.word);
	free(search.path);
	return failed;
}
