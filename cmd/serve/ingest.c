/*
 * The request's state is an upload (serve_runs/upload.h). It is given the body piece by piece; when
 * the body is complete, the request waits for the upload. A refusal is answered at once, while the
 * client is still sending.
 */
#include "serve/ingest.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "json/writer.h"
#include "serve/body.h"
#include "serve/serve.h"
#include "serve_runs/log.h"
#include "serve_runs/upload.h"
#include "transcript/blob.h"
#include "transcript/event_keys.h"

static const struct refusal bad_type = { 415, "invalid_input",
	"the body is neither application/x-ndjson nor application/json (Content-Type)" };
static const struct refusal too_busy = { 503, "unavailable",
	"too many events are being sent: try again later" };
static const struct refusal failed = { 503, "unavailable",
	"the server failed to take it: its log says why" };
static const struct refusal no_ingest = { 403, "forbidden",
	"this server has no program that can write to its database" };
static const struct refusal revoked = { 401, "unauthorized", "the token was revoked" };
static const struct refusal no_run = { 400, "invalid_input", "the run is not named by its whole id" };
static const struct refusal no_blob = { 400, "invalid_input",
	"a blob is named by its SHA-256, in lower case" };
static const struct refusal no_status = { 400, "invalid_input",
	"the status of an end is success, failed or cancelled" };

/* The answer for each reason of a refusal. A sender is not told to whom another sender's run
 * belongs. */
static const struct fault {
	unsigned status;
	const char *code, *message; /* message NULL: that of the ingest library */
} faults[] = {
	[INGEST_NONE] = { 200, NULL, NULL },
	[INGEST_INVALID] = { 400, "invalid_input", NULL },
	[INGEST_TOO_LARGE] = { 413, "too_large", NULL },
	[INGEST_FORBIDDEN] = { 403, "forbidden", "the run is not one of this sender's" },
	[INGEST_GAP] = { 409, "gap", NULL },
	[INGEST_CONFLICT] = { 409, "conflict", NULL },
	[INGEST_TOO_FAST] = { 429, "too_many", NULL },
	[INGEST_FAILED] = { 503, "unavailable", "the server failed to take it: its log says why" },
};

/* ---- the answer ---- */

static void
write_refusal(struct writer *w, const struct ingest_refusal *refusal)
{
	const struct fault *fault = &faults[refusal->fault];

	if (refusal->fault == INGEST_NONE)
		return;
	writer_member_object(w, "error");
	writer_member_string(w, "code", fault->code);
	writer_member_string(w, "message", fault->message != NULL ? fault->message :
	    refusal->error.message);
	if (refusal->run_id[0] != '\0')
		writer_member_string(w, KEY_RUN_ID, refusal->run_id);
	if (refusal->line > 0)
		writer_member_integer(w, "line", refusal->line);
	if (refusal->event > 0)
		writer_member_integer(w, "event", refusal->event);
	writer_object_end(w);
	if (refusal->wanted > 0)
		writer_member_integer(w, "wanted", refusal->wanted);
}

static void
write_events(struct writer *w, const struct upload_result *result)
{
	writer_member_integer(w, "accepted", result->accepted);
	writer_member_integer(w, "duplicates", result->duplicates);
	writer_member_integer(w, "missing_blobs", result->missing_blobs);
	writer_member_array(w, "runs");
	for (size_t i = 0; i < result->run_count; i++)
		writer_string(w, result->runs[i]);
	writer_array_end(w);
}

static void
ingest_answer_upload(struct request *r, const struct upload *u)
{
	const struct upload_result *result = &u->result;
	const struct ingest_refusal *refusal = &result->refusal;
	unsigned status = faults[refusal->fault].status;
	char seconds[24];
	const char *const wait[] = { "Retry-After", seconds, NULL };
	struct buffer json = BUFFER_INIT;
	struct writer w;

	if (refusal->fault == INGEST_FAILED)
		log_warn(&refusal->error);
	if (refusal->fault == INGEST_NONE && u->kind == UPLOAD_BLOB)
		status = 201;
	r->server->counts.ingested += result->accepted;
	snprintf(seconds, sizeof seconds, "%lld", (long long)(result->wait_ms + 999) / 1000);
	writer_begin(&w, &json);
	writer_object(&w);
	if (u->kind == UPLOAD_LINES || u->kind == UPLOAD_DOCUMENT)
		write_events(&w, result);
	else
		writer_member_string(&w, KEY_RUN_ID, u->run_id);
	if (u->kind == UPLOAD_BLOB && refusal->fault == INGEST_NONE)
		writer_member_string(&w, KEY_SHA256, u->sha256);
	if (u->kind == UPLOAD_END && refusal->fault == INGEST_NONE)
		writer_member_string(&w, KEY_STATUS, u->status);
	write_refusal(&w, refusal);
	writer_object_end(&w);
	buffer_byte(&json, '\n');
	request_bytes(r, status, "application/json", &json,
	    refusal->fault == INGEST_TOO_FAST ? wait : NULL);
}

/* ---- the upload ---- */

static void
upload_done(void *context)
{
	struct request *r = context;

	if (r->waiting)
		request_wake(r);
	else
		ingest_answer_upload(r, r->state);
}

static void
upload_taken(void *context)
{
	request_hold(context, false);
}

static void
free_upload(void *state)
{
	upload_free(state);
}

/* Starts the upload. NULL if it has begun, else why it is refused. */
static const struct refusal *
ingest_begin_upload(struct request *r, enum upload_kind kind)
{
	struct upload *u;
	struct error err;

	if (r->server->settings.database != NULL && r->server->database.shipper == NULL)
		return &no_ingest;
	u = upload_begin(&r->server->uploads, kind, r->token, r->connection->address, &err);
	if (u == NULL && err.code == ERROR_BLOCKED)
		return &too_busy;
	if (u == NULL) {
		log_warn(&err);
		return &failed;
	}
	u->context = r;
	u->done = upload_done;
	u->taken = upload_taken;
	r->state = u;
	r->free_state = free_upload;
	return NULL;
}

/* Begins an upload. NULL if it has begun or was answered already, else why it is refused. */
typedef const struct refusal *begin_function(struct request *r);

static const struct refusal *
ingest_receive_piece(struct request *r, struct span piece, begin_function *begin_it)
{
	const struct refusal *refusal = r->state == NULL ? begin_it(r) : NULL;

	if (refusal != NULL)
		return refusal;
	if (!token_good(r->token, clock_wall()))
		return &revoked;
	if (!upload_bytes(r->state, piece.at, piece.len))
		request_hold(r, true);
	return NULL;
}

/* Called when the body is complete, and when the upload has ended. */
static void
ingest_end_body(struct request *r, begin_function *begin_it)
{
	const struct refusal *refusal = r->state == NULL ? begin_it(r) : NULL;
	struct upload *u = r->state;

	if (r->answered)
		return;
	if (refusal != NULL) {
		request_refuse(r, refusal);
	} else if (u->is_done) {
		ingest_answer_upload(r, u);
	} else {
		upload_end(u);
		request_wait(r);
	}
}

/* ---- events ---- */

static const struct refusal *
begin_ingest(struct request *r)
{
	if (request_has_type(r, "application/x-ndjson"))
		return ingest_begin_upload(r, UPLOAD_LINES);
	if (request_has_type(r, "application/json"))
		return ingest_begin_upload(r, UPLOAD_DOCUMENT);
	return &bad_type;
}

const struct refusal *
receive_ingest(struct request *r, struct span piece)
{
	return ingest_receive_piece(r, piece, begin_ingest);
}

void
answer_ingest(struct request *r)
{
	ingest_end_body(r, begin_ingest);
}

/* ---- blobs ---- */

static const struct refusal *
begin_blob(struct request *r)
{
	const char *run_id = request_segment(r, 0), *sha256 = request_segment(r, 1);
	const struct refusal *refusal;
	struct upload *u;
	long long size;

	if (!id_valid(run_id, strlen(run_id)))
		return &no_run;
	if (!blob_name_valid(sha256))
		return &no_blob;
	refusal = ingest_begin_upload(r, UPLOAD_BLOB);
	if (refusal != NULL)
		return refusal;
	u = r->state;
	memcpy(u->run_id, run_id, ID_SIZE);
	memcpy(u->sha256, sha256, DIGEST_SIZE);
	u->size = span_integer(request_header(r, "Content-Length"), &size) ? size : -1;
	return NULL;
}

const struct refusal *
receive_blob(struct request *r, struct span piece)
{
	return ingest_receive_piece(r, piece, begin_blob);
}

void
answer_blob_sent(struct request *r)
{
	ingest_end_body(r, begin_blob);
}

/* ---- ends ---- */

static const struct refusal *
begin_end(struct request *r)
{
	static const struct body_member members[] = { { "status", BODY_TEXT } };
	const struct refusal *refusal;
	const char *run = request_segment(r, 0), *status;
	struct span value;
	struct upload *u;

	if (!body_read(r, members, 1, &value))
		return NULL;
	status = value.at != NULL ? span_one_of(value, ingest_statuses) : NULL;
	refusal = status == NULL ? &no_status : ingest_begin_upload(r, UPLOAD_END);
	if (refusal != NULL)
		return refusal;
	u = r->state;
	u->status = status;
	ingest_run_id(u->sender, run, strlen(run), u->run_id);
	return NULL;
}

void
answer_run_end(struct request *r)
{
	ingest_end_body(r, begin_end);
}
