/*
 * The first open question is also written outside of the list, so that an agent that answers one
 * question after the other need not read the list.
 */
#include "mcp/status.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "transcript/blob.h"

#define OUTPUT_SHOWN ((size_t)20000) /* most bytes of a run's output in a response */

int
status_output(const struct leading *l, const struct led *led, struct buffer *out, struct error *err)
{
	char *blobs = storage_blobs(&l->storage, led->run_id);
	int failed = 0;

	if (led->stdout_sha256[0] != '\0')
		failed = blob_read(blobs, led->stdout_sha256, out, err);
	free(blobs);
	return failed;
}

static void
write_gate(const struct gate *g, struct writer *w)
{
	writer_member_string(w, "continueToken", g->token);
	writer_member_span(w, "prompt", span_of(g->prompt, strlen(g->prompt)));
	if (g->schema != NULL)
		writer_member_span(w, "schema", span_of(g->schema, strlen(g->schema)));
}

static void
write_output(const struct leading *l, const struct led *led, struct writer *w)
{
	struct buffer text = BUFFER_INIT;
	char uri[64];
	struct error none;

	snprintf(uri, sizeof uri, "awf://runs/%s/output", led->run_id);
	if (led->stdout_bytes > (int64_t)OUTPUT_SHOWN) {
		writer_member_string(w, "outputUri", uri);
	} else if (status_output(l, led, &text, &none) == 0 && led->stdout_sha256[0] != '\0') {
		writer_key(w, "output");
		writer_bytes(w, buffer_string(&text), text.len);
	}
	buffer_free(&text);
}

static void
write_wait(const struct led *led, const struct followed *in, const struct waiting *at, struct writer *w)
{
	writer_object(w);
	writer_member_string(w, "call", at->call);
	writer_member_string(w, "asks", waiting_word(at->what));
	if (in != led->run)
		writer_member_string(w, "run", in->run_id);
	writer_object_end(w);
}

/* Writes what a run waits for, with its processes or after its end, if that cannot be decided here. */
static void
write_waits(const struct leading *l, const struct led *led, struct writer *w)
{
	const struct waitings *waits = &led->run->model.waits;
	struct attended_walk walk = { .run = 0 };
	const struct waiting *at;

	writer_member_array(w, "waitsFor");
	while ((at = leading_attended(l, led, &walk)) != NULL)
		write_wait(led, walk.in, at, w);
	for (size_t i = 0; led->status != NULL && i < waits->count; i++)
		if (!waits->list[i].over)
			write_wait(led, led->run, &waits->list[i], w);
	writer_array_end(w);
}

void
status_write(const struct leading *l, const struct led *led, bool with_notes, struct buffer *json)
{
	const struct gate *first = NULL;
	bool over = led_has_ended(led), attends = led_attends(l, led);
	bool waiting = attends || (led->status != NULL && strcmp(led->status, "waiting") == 0);
	struct writer w;

	for (size_t i = 0; i < l->gate_count && first == NULL; i++)
		if (l->gates[i]->led == led && gate_pending(l->gates[i]))
			first = l->gates[i];
	writer_begin(&w, json);
	writer_object(&w);
	writer_member_string(&w, "run", led->run_id);
	writer_member_string(&w, "workflow", led->workflow->name);
	writer_member_string(&w, "status", led->failed.code != ERROR_NONE ? "failed" :
	    led->status != NULL ? led->status : over ? "died" : first != NULL || attends ? "waiting" : "running");
	writer_member_bool(&w, "isComplete", over && !waiting && (led->status != NULL ||
	    led->failed.code != ERROR_NONE));
	writer_member_array(&w, "pending");
	for (size_t i = 0; i < l->gate_count; i++) {
		const struct gate *g = l->gates[i];

		if (g->led != led || !gate_pending(g))
			continue;
		writer_object(&w);
		write_gate(g, &w);
		writer_member_string(&w, "refused", g->refused);
		writer_member_string(&w, "call", g->call);
		writer_member_integer(&w, "item", g->iteration);
		if (g->run != led->run)
			writer_member_string(&w, "run", g->run->run_id);
		writer_object_end(&w);
	}
	writer_array_end(&w);
	if (first != NULL) {
		write_gate(first, &w);
		writer_member_string(&w, "refused", first->refused);
	}
	if (led->failed.code != ERROR_NONE)
		writer_member_string(&w, "error", led->failed.message);
	else
		writer_member_string(&w, "error", led->error);
	if (waiting)
		write_waits(l, led, &w);
	if (over)
		write_output(l, led, &w);
	if (with_notes && led->notes != NULL) {
		writer_member_array(&w, LED_NOTES);
		for (char *const *note = led->notes; *note != NULL; note++)
			writer_string(&w, *note);
		writer_array_end(&w);
	}
	writer_object_end(&w);
}

void
status_refused(const struct rpc_call *call, const struct error *err, const struct gate *g)
{
	char text[sizeof err->place + sizeof err->message + 4];
	struct buffer json = BUFFER_INIT;
	struct writer w;

	writer_begin(&w, &json);
	writer_object(&w);
	writer_member_object(&w, "error");
	writer_member_string(&w, "code", error_name(err->code));
	writer_member_string(&w, "message", error_text(err, text, sizeof text));
	writer_object_end(&w);
	if (g != NULL)
		write_gate(g, &w);
	writer_object_end(&w);
	rpc_tool_result(call, &json, true);
	buffer_free(&json);
}
