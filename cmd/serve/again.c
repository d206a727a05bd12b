/*
 * What may be started is what hooks may start (serve/hooks.h): a file in the directory of --workflows whose name
 * the client's token allows. A text that the client has edited is only put into the command that is shown.
 */
#include "serve/again.h"

#include <stdlib.h>
#include <string.h>

#include "base/list.h"
#include "base/memory.h"
#include "json/writer.h"
#include "serve/body.h"
#include "serve/runs.h"
#include "serve/serve.h"
#include "serve_runs/work.h"
#include "serve_start/again.h"
#include "serve_start/starters.h"
#include "transcript/event_keys.h"

enum { DO, AT, INPUTS, PIPELINE, START, MEMBERS };

static const struct body_member members[MEMBERS] = {
	[DO] = { "do", BODY_TEXT }, [AT] = { "at", BODY_TEXT }, [INPUTS] = { "inputs", BODY_ANY },
	[PIPELINE] = { "pipeline", BODY_TEXT }, [START] = { "start", BODY_BOOLEAN },
};

struct again_outcome {
	enum started started;
	struct error err;
};

struct again_request {
	struct request *request;
	struct again run;
	struct again_choice choice;
	char *at, *pipeline;
	char **inputs;
	char *file;              /* of the workflow, which may be started; NULL: it may not */
	char run_id[ID_SIZE];    /* of the run that is started */
	struct work *work;
	bool begun, died;
	struct again_outcome outcome;
};

static void
again_request_free(void *state)
{
	struct again_request *x = state;

	if (x->work != NULL)
		work_abandon(x->work);
	again_free(&x->run);
	free(x->at);
	free(x->pipeline);
	free(x->file);
	list_free(x->inputs);
	free(x);
}

/* Reads the run that is named; NULL: the request was refused. */
static struct again_request *
again_request_begin(struct request *r)
{
	struct again_request *x;
	char run_id[ID_SIZE];
	struct error err;

	if (!request_run(r, request_segment(r, 0), run_id))
		return NULL;
	x = memory_zero(1, sizeof *x);
	x->request = r;
	r->state = x;
	r->free_state = again_request_free;
	if (again_read(&x->run, &r->server->storage, run_id, &err) != 0) {
		request_unopened(r, run_id, &err);
		return NULL;
	}
	x->file = r->server->settings.database == NULL ? again_file(&x->run, r->server->settings.workflows) : NULL;
	if (x->file != NULL && (r->token == NULL || (r->token->may & MAY_START) == 0 || !token_names(r->token, x->file))) {
		free(x->file);
		x->file = NULL;
	}
	return x;
}

/* ---- how it was started ---- */

void
answer_again(struct request *r)
{
	const struct again_choice any = { .what = AGAIN_FORK };
	struct again_request *x = again_request_begin(r);
	const struct again *run;
	struct buffer json = BUFFER_INIT;
	struct writer w;

	if (x == NULL)
		return;
	run = &x->run;
	writer_begin(&w, &json);
	writer_object(&w);
	writer_member_string(&w, KEY_RUN_ID, run->run_id);
	writer_key(&w, "impossible");
	writer_string(&w, again_impossible(run, &any));
	writer_member_string(&w, KEY_KIND, run->kind);
	writer_key(&w, "cwd");
	writer_string(&w, run->cwd);
	writer_key(&w, "pipeline");
	writer_string(&w, run->pipeline ? run->argv[2] : NULL);
	writer_key(&w, "file");
	writer_string(&w, run->script > 0 ? run->argv[run->script] : NULL);
	writer_member_object(&w, KEY_INPUTS);
	for (char *const *input = run->inputs; input != NULL && *input != NULL; input++) {
		const char *value = strchr(*input, '=');
		char *key = memory_copy(*input, (size_t)(value - *input));

		writer_member_string(&w, key, value + 1);
		free(key);
	}
	writer_object_end(&w);
	writer_member_string(&w, "input", run->no_input ? "none" : run->input == NULL ? "not_kept" :
	    run->part ? "part" : "whole");
	writer_key(&w, "origin");
	writer_string(&w, run->origin);
	writer_member_bool(&w, "may_start", x->file != NULL);
	writer_object_end(&w);
	buffer_byte(&json, '\n');
	request_json(r, 200, &json);
}

/* ---- the command ---- */

/* Reads the body; false: the request was refused. */
static bool
again_read_choice(struct request *r, struct again_request *x, bool *starts)
{
	struct span values[MEMBERS];
	const char *word;

	if (!body_read(r, members, MEMBERS, values))
		return false;
	word = values[DO].at != NULL ? span_one_of(values[DO], again_words) : NULL;
	if (word == NULL) {
		request_error(r, 400, "invalid_input", "'do' is resume, fork or again");
		return false;
	}
	while (strcmp(again_words[x->choice.what], word) != 0)
		x->choice.what++;
	if (values[INPUTS].at != NULL && span_type(values[INPUTS]) != 'o') {
		request_error(r, 400, "invalid_input", "'inputs' is to be an object of texts");
		return false;
	}
	for (struct span_walk input = span_walk(values[INPUTS]); values[INPUTS].at != NULL && span_next(&input);) {
		char *key = span_text(input.key), *value = span_text(input.value);
		const bool good = key != NULL && value != NULL && *key != '\0' &&
		    key[strspn(key, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_")] == '\0';

		if (good)
			list_take(&x->inputs, memory_format("%s=%s", key, value));
		free(value);
		free(key);
		if (!good) {
			request_error(r, 400, "invalid_input", "'inputs' is to be an object of texts");
			return false;
		}
	}
	x->at = values[AT].at != NULL ? span_text(values[AT]) : NULL;
	x->pipeline = values[PIPELINE].at != NULL ? span_text(values[PIPELINE]) : NULL;
	if ((x->choice.what != AGAIN_FORK && (x->at != NULL || x->pipeline != NULL)) ||
	    (x->choice.what == AGAIN_RESUME && x->inputs != NULL)) {
		request_error(r, 400, "invalid_input", "'at' and 'pipeline' go with a fork, 'inputs' not with resume");
		return false;
	}
	x->choice.at = x->at;
	x->choice.pipeline = x->pipeline;
	x->choice.inputs = x->inputs;
	*starts = span_true(values[START]);
	x->choice.unattended = x->file != NULL && x->pipeline == NULL;
	return true;
}

static void
again_answer_command(struct request *r, const struct again_request *x, const char *status)
{
	struct buffer json = BUFFER_INIT, command = BUFFER_INIT;
	struct writer w;

	again_write_command(&x->run, &x->choice, &r->server->storage, &command);
	writer_begin(&w, &json);
	writer_object(&w);
	writer_key(&w, "command");
	writer_bytes(&w, command.data, command.len);
	writer_member_bool(&w, "may_start", x->choice.unattended);
	if (status != NULL) {
		writer_member_string(&w, KEY_RUN_ID, x->run_id);
		writer_member_string(&w, "status", status);
	}
	writer_object_end(&w);
	buffer_byte(&json, '\n');
	buffer_free(&command);
	request_json(r, status != NULL ? 202 : 200, &json);
}

/* ---- starting it ---- */

static void
again_start_in_worker(void *context, void *answer)
{
	const struct again_request *x = context;
	struct again_outcome *o = answer;
	const struct server *s = x->request->server;
	const struct start_spec spec = { .storage = &s->storage, .directory = s->settings.workflows,
		.file = x->file, .run_id = x->run_id };
	const char *digest = token_digest(x->request->token);
	const bool noted = x->choice.what != AGAIN_RESUME && *digest != '\0';

	o->started = START_FAILED;
	/* Whoever is told the run's id may read it at once. */
	if (noted && starters_note(&s->storage, x->run_id, digest, &o->err) != 0)
		return;
	o->started = again_start(&x->run, &x->choice, &spec, &o->err);
	if (noted && (o->started == START_FAILED || o->started == START_SKIPPED))
		starters_drop(&s->storage, x->run_id);
}

static void
again_store_outcome(void *context, const void *answer)
{
	struct again_request *x = context;

	x->work = NULL;
	x->died = answer == NULL;
	if (answer != NULL)
		memcpy(&x->outcome, answer, sizeof x->outcome);
	request_wake(x->request);
}

static void
again_answer_started(struct request *r, const struct again_request *x)
{
	if (x->died)
		request_error(r, 500, "internal", "the process that was to start it has died");
	else if (x->outcome.started == START_FAILED)
		request_fail(r, &x->outcome.err);
	else if (x->outcome.started == START_SKIPPED)
		request_error(r, 409, "conflict", "it was not started, as another run of it goes on (--overlap)");
	else
		again_answer_command(r, x, x->outcome.started == START_QUEUED ? "queued" : "started");
}

void
answer_again_command(struct request *r)
{
	struct again_request *x = r->state;
	const char *impossible;
	bool starts;

	if (x != NULL && x->begun) {
		again_answer_started(r, x);
		return;
	}
	if ((x = again_request_begin(r)) == NULL || !again_read_choice(r, x, &starts))
		return;
	impossible = again_impossible(&x->run, &x->choice);
	if (impossible != NULL) {
		request_error(r, 409, "conflict", "%s", impossible);
	} else if (!starts) {
		again_answer_command(r, x, NULL);
	} else if (!x->choice.unattended) {
		request_error(r, 403, "forbidden", "this server does not start it for you: use the command");
	} else if (storage_run_alive(&r->server->storage, x->run.run_id) && x->choice.what == AGAIN_RESUME) {
		request_error(r, 409, "conflict", "the run goes on");
	} else {
		if (x->choice.what == AGAIN_RESUME)
			memcpy(x->run_id, x->run.run_id, ID_SIZE);
		else
			id_new(x->run_id);
		x->begun = true;
		x->work = work_start(&r->server->works, again_start_in_worker, x, sizeof x->outcome, again_store_outcome);
		request_wait(r);
	}
}
