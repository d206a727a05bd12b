/*
 * The head of the request is checked in the server's process; a child process (serve_runs/work.h)
 * checks the signature, makes the claims and starts the run. If the server is killed in between,
 * nothing is lost and nothing is started twice: when the sender repeats the delivery, its claim is
 * found.
 */
#include "serve/hooks.h"

#include <errno.h>
#include <fcntl.h>
#include <sodium/utils.h>
#include <stdlib.h>
#include <string.h>

#include "base/list.h"
#include "base/memory.h"
#include "base/text.h"
#include "io/file.h"
#include "json/writer.h"
#include "serve/runs.h"
#include "serve/serve.h"
#include "serve_runs/work.h"
#include "serve_start/claims.h"
#include "serve_start/start.h"
#include "serve_start/starters.h"
#include "transcript/event_keys.h"
#include "workspace/workflow_file.h"

#define DELIVERY "X-GitHub-Delivery"
#define EVENT "X-GitHub-Event"
#define SIGNATURE_BEGINS "sha256="
#define DELIVERY_LIMIT 200
#define SECRET_LIMIT ((size_t)4096)

static const struct refusal no_hook = { 404, "not_found", "there is no such hook" };
static const struct refusal unsigned_body = { 401, "unauthorized",
	"the signature is not that of the body by the hook's secret" };

enum hook_result { HOOK_STARTED, HOOK_QUEUED, HOOK_SKIPPED, HOOK_AGAIN, HOOK_PING,
	HOOK_UNSIGNED, HOOK_FAILED };

struct hook_outcome {
	enum hook_result result;
	char run_id[ID_SIZE];
	struct error err;        /* for HOOK_FAILED */
};

/* A delivery, while its request waits. */
struct delivery {
	struct request *request;
	const char *hook;        /* name of the hook */
	char *file;              /* name of the workflow's file in the directory */
	char *id, *event;        /* NULL */
	char *signature;         /* hex digits; NULL: the sender has a token instead */
	int64_t wait;            /* how many seconds its sender waits for the end of the run */
	struct work *work;
	bool done, died;
	struct hook_outcome outcome;
};

/* ---- in the child process ---- */

/* Whether the body has the hook's signature. -1: the secret cannot be read. */
static int
check_signature(const struct delivery *d, struct error *err)
{
	const struct request *r = d->request;
	char *path = memory_format("%s/%s.secret", r->server->settings.workflows, d->hook);
	char digest[DIGEST_SIZE];
	struct buffer secret = BUFFER_INIT;
	int fd = file_open_plain(path, O_RDONLY, 0), result = -1;

	if (fd == -1 && errno == ENOENT) {
		result = 0; /* no secret, so no signature is valid */
	} else if (fd == -1) {
		error_errno(err, ERROR_SYSTEM, path, "unable to open the secret");
	} else if (file_check_private(fd, path, err) == 0) {
		if (file_read(fd, &secret, SECRET_LIMIT) != 0)
			error_errno(err, ERROR_SYSTEM, path, "unable to read the secret");
		else if (secret.len > 0 && secret.data[secret.len - 1] == '\n')
			secret.len--;
		if (secret.len == 0)
			error_set(err, ERROR_SYSTEM, path, "holds no secret");
		else
			result = 0;
	}
	if (result == 0 && secret.len > 0) {
		digest_hmac(secret.data, secret.len, buffer_string(&r->connection->body), r->connection->body.len, digest);
		result = sodium_memcmp(digest, d->signature, DIGEST_SIZE) == 0;
	}
	if (secret.len > 0)
		sodium_memzero(secret.data, secret.len);
	buffer_free(&secret);
	file_close(&fd);
	free(path);
	return result;
}

static enum hook_result
hooks_start_workflow(const struct delivery *d, struct claims *claims, struct error *err)
{
	const struct request *r = d->request;
	struct start_spec spec = { .storage = &r->server->storage,
		.directory = r->server->settings.workflows, .file = d->file, .run_id = claims->run_id,
		.stdin = span_of(buffer_string(&r->connection->body), r->connection->body.len) };
	char **inputs = NULL, *input;
	enum started found;

	if (claims->started)
		return HOOK_AGAIN;
	/* A process that was killed afterwards may have started the run. */
	if (start_look(spec.storage, claims->run_id) != START_FAILED)
		return claims_keep(claims, err) == 0 ? HOOK_AGAIN : HOOK_FAILED;
	if (d->event != NULL) {
		input = memory_format("event=%s", d->event);
		list_add(&inputs, input);
		free(input);
	}
	if (d->id != NULL) {
		input = memory_format("delivery=%s", d->id);
		list_add(&inputs, input);
		free(input);
	}
	spec.inputs = inputs;
	/* Whoever is told the run's id may read it at once. */
	if (r->token != NULL && *token_digest(r->token) != '\0' &&
	    starters_note(spec.storage, spec.run_id, token_digest(r->token), err) != 0)
		found = START_FAILED;
	else
		found = start_workflow(&spec, err);
	list_free(inputs);
	if (found == START_FAILED || found == START_SKIPPED)
		starters_drop(spec.storage, spec.run_id);
	if (found == START_FAILED) {
		claims_drop(claims);
		return HOOK_FAILED;
	}
	if (claims_keep(claims, err) != 0)
		return HOOK_FAILED;
	return found == START_QUEUED ? HOOK_QUEUED : found == START_SKIPPED ? HOOK_SKIPPED :
	    HOOK_STARTED;
}

static void
hooks_handle_in_worker(void *context, void *answer)
{
	const struct delivery *d = context;
	struct hook_outcome *o = answer;
	const struct request *r = d->request;
	/* Only a signed body identifies a delivery: without a signature, several deliveries may
	 * have the same body. */
	struct span body = d->signature != NULL ? span_of(buffer_string(&r->connection->body), r->connection->body.len) :
	    SPAN_NONE;
	struct claims claims;
	int is_signed = d->signature != NULL ? check_signature(d, &o->err) : 1;

	o->result = is_signed == 0 ? HOOK_UNSIGNED : HOOK_FAILED;
	if (is_signed != 1)
		return;
	/* GitHub sends this to test whether the hook exists. */
	if (d->event != NULL && strcmp(d->event, "ping") == 0) {
		o->result = HOOK_PING;
		return;
	}
	if (claims_take(&claims, &r->server->storage, d->hook, d->id, body, &o->err) == 0) {
		o->result = hooks_start_workflow(d, &claims, &o->err);
		memcpy(o->run_id, claims.run_id, ID_SIZE);
	}
	claims_close(&claims);
}

/* ---- in the server's process ---- */

static void
hooks_store_outcome(void *context, const void *answer)
{
	struct delivery *d = context;

	d->work = NULL;
	d->done = true;
	d->died = answer == NULL;
	if (answer != NULL)
		memcpy(&d->outcome, answer, sizeof d->outcome);
	request_wake(d->request);
}

static void
free_delivery(void *state)
{
	struct delivery *d = state;

	if (d->work != NULL)
		work_abandon(d->work);
	free(d->file);
	free(d->id);
	free(d->event);
	free(d->signature);
	free(d);
}

static bool
is_workflow(const char *directory, const char *name)
{
	char *path = path_join(directory, name);
	bool is = workflow_file_is(path);

	free(path);
	return is;
}

/* Finds the file of the hook's workflow, if there is one and the token allows it. */
static bool
find_workflow(struct request *r, struct delivery *d)
{
	const char *directory = r->server->settings.workflows;

	d->hook = request_segment(r, 0);
	if (directory == NULL || !name_valid(d->hook))
		return false;
	d->file = memory_format("%s" WORKFLOW_SUFFIX, d->hook);
	if (!is_workflow(directory, d->file)) {
		free(d->file);
		d->file = memory_text(d->hook);
		if (!is_workflow(directory, d->file))
			return false;
	}
	return r->token == NULL || token_names(r->token, d->file);
}

/* The digits of "sha256=" and hex digits, in either case. */
static char *
read_signature(struct span value)
{
	size_t begins = sizeof SIGNATURE_BEGINS - 1;
	char *hex;

	if (value.len != begins + DIGEST_SIZE - 1 || memcmp(value.at, SIGNATURE_BEGINS, begins) != 0)
		return NULL;
	hex = memory_copy(value.at + begins, value.len - begins);
	for (char *at = hex; *at != '\0'; at++)
		if (*at >= 'A' && *at <= 'F')
			*at = (char)(*at - 'A' + 'a');
	return hex;
}

/* Reads the header fields about the delivery; false: the request was refused. */
static bool
read_head(struct request *r, struct delivery *d)
{
	struct span id = request_header(r, DELIVERY), event = request_header(r, EVENT);

	if (id.at != NULL && (id.len == 0 || id.len > DELIVERY_LIMIT || !utf8_valid(id.at, id.len))) {
		request_error(r, 400, "invalid_input", DELIVERY " is to be some text in UTF-8, of at most "
		    "%d bytes", DELIVERY_LIMIT);
		return false;
	}
	d->id = id.at != NULL ? memory_copy(id.at, id.len) : NULL;
	d->event = event.at != NULL ? memory_copy(event.at, event.len) : NULL;
	if (d->event != NULL && !name_valid(d->event)) {
		request_error(r, 400, "invalid_input", EVENT " is to be a name");
		return false;
	}
	if (r->token != NULL)
		return true;
	d->signature = read_signature(request_header(r, ACCESS_SIGNATURE));
	if (d->signature == NULL)
		request_refuse(r, &unsigned_body);
	return d->signature != NULL;
}

static void
hooks_answer_request(struct request *r, const struct delivery *d)
{
	static const struct { unsigned status; const char *word; } answers[] = {
		[HOOK_STARTED] = { 202, "started" }, [HOOK_QUEUED] = { 202, "queued" },
		[HOOK_SKIPPED] = { 200, "skipped" }, [HOOK_AGAIN] = { 200, "duplicate" },
		[HOOK_PING] = { 200, "pong" },
	};
	const struct hook_outcome *o = &d->outcome;
	struct buffer json = BUFFER_INIT;
	struct writer w;

	writer_begin(&w, &json);
	writer_object(&w);
	if (o->result != HOOK_SKIPPED && o->result != HOOK_PING)
		writer_member_string(&w, KEY_RUN_ID, o->run_id);
	writer_member_string(&w, KEY_NAME, d->file);
	writer_member_string(&w, "status", answers[o->result].word);
	writer_object_end(&w);
	buffer_byte(&json, '\n');
	request_json(r, answers[o->result].status, &json);
}

/* If the sender waits for the end of the run: answers with its output. False: it does not, or it may
 * not read the run, because another token has started it. */
static bool
hooks_answer_result(struct request *r, const struct delivery *d)
{
	const struct hook_outcome *o = &d->outcome;
	char run_id[ID_SIZE];
	struct error ignored;

	if (d->wait == 0 || (o->result != HOOK_STARTED && o->result != HOOK_QUEUED &&
	    o->result != HOOK_AGAIN))
		return false;
	memcpy(run_id, o->run_id, ID_SIZE);
	if (!token_reads(r->token) &&
	    !starters_has(&r->server->storage, run_id, token_digest(r->token)))
		return false;
	return request_result(r, run_id, d->wait, false, &ignored) == 0;
}

void
answer_hook(struct request *r)
{
	struct delivery *d = r->state;
	struct error err;

	if (request_blob_fetched(r) || request_result_due(r))
		return;
	if (d != NULL && d->done) {
		if (d->died) {
			error_set(&err, ERROR_SYSTEM, d->hook, "the process that was to start it has died");
			request_fail(r, &err);
		} else if (d->outcome.result == HOOK_UNSIGNED) {
			request_refuse(r, &unsigned_body);
		} else if (d->outcome.result == HOOK_FAILED) {
			request_fail(r, &d->outcome.err);
		} else if (!hooks_answer_result(r, d)) {
			hooks_answer_request(r, d);
		}
		return;
	}
	d = memory_zero(1, sizeof *d);
	d->request = r;
	r->state = d;
	r->free_state = free_delivery;
	if (!find_workflow(r, d)) {
		request_refuse(r, &no_hook);
		return;
	}
	if (!read_head(r, d) || !request_waits(r, &d->wait))
		return;
	/* Whoever repeats somebody else's signed delivery must not get the output. */
	if (d->wait > 0 && r->token == NULL) {
		request_error(r, 400, "invalid_input", "wait goes with a token, not with a signature");
		return;
	}
	d->work = work_start(&r->server->works, hooks_handle_in_worker, d, sizeof d->outcome,
	    hooks_store_outcome);
	request_wait(r);
}
