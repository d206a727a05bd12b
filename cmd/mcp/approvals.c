/*
 * The waiting call is searched for again when the user decides: if another call has begun to wait
 * since, the user was not asked about that one.
 */
#include "mcp/approvals.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/lookalikes.h"
#include "base/text.h"
#include "decide/deciding.h"
#include "io/terminal.h"
#include "mcp/status.h"
#include "model/tool_approval.h"

#define DATA_SHOWN ((size_t)8192)    /* most bytes of the data that is to be approved */
#define WORDS_TOLD ((size_t)8)       /* words with letters that look like others */
#define ELICIT "elicitation/create"
/* Schema of the user's answer; MCP clients support only flat schemas. */
#define APPROVAL_SCHEMA_BEGIN "{\"type\":\"object\",\"properties\":{\"approve\":{\"type\":\"boolean\"," \
	"\"title\":\"Approve\",\"description\":\"yes: the run goes on with it; no: the call fails\"}," \
	"\"reason\":{\"type\":\"string\",\"title\":\"Reason\",\"description\":\"for the record\"}," \
	"\"edited\":{\"type\":\"string\",\"title\":\"Edited\",\"description\":\""
#define APPROVAL_SCHEMA_EDIT_DATA "what the run goes on with in place of it; empty: with it as it is\"}"
#define APPROVAL_SCHEMA_EDIT_TOOL "the tool's arguments in place of these, a JSON object; empty: these\"}"
#define APPROVAL_SCHEMA_ALWAYS ",\"always\":{\"type\":\"boolean\",\"title\":\"Always for this run\"," \
	"\"description\":\"yes: further calls of this tool are not asked about in this run\",\"default\":false}"
#define APPROVAL_SCHEMA_END "},\"required\":[\"approve\"]}"

/* The first call that waits for an approval; or the one whose wait began with this event; NULL:
 * none. Calls of child runs are not handled here. */
static const struct waiting *
find_approval(const struct led *led, const char *wait)
{
	const struct waitings *waits = led->run != NULL ? &led->run->model.waits : NULL;

	for (size_t i = 0; waits != NULL && i < waits->count; i++) {
		const struct waiting *at = &waits->list[i];

		if (!at->over && at->what == WAITING_APPROVAL && (wait == NULL || strcmp(at->end, wait) == 0))
			return at;
	}
	return NULL;
}

/* Finds the waiting call, with its data. */
static int
open_approval(struct deciding *d, const struct leading *l, const struct led *led,
    const struct waiting *at, enum decision_verdict verdict, struct error *err)
{
	if (deciding_allowed(&l->storage, led->run_id, verdict, getpid(), err) != 0 ||
	    deciding_open(d, &l->storage, led->run_id, verdict, err) != 0 ||
	    deciding_find(d, at->call, false, err) != 0)
		return -1;
	if (strcmp(d->at->end, at->end) != 0)
		return error_set(err, ERROR_BLOCKED, at->call, "waits anew since it was asked about");
	return verdict == DECISION_APPROVED ? deciding_approve(d, err) : 0;
}

static void
add_lookalikes(struct buffer *out, const struct buffer *text)
{
	struct buffer words = BUFFER_INIT;
	const size_t count = lookalikes_list(&words, text->data, text->len, WORDS_TOLD);

	if (count > 0)
		buffer_format(out, "\n\n(Letters that look like others: %s%s.)", buffer_string(&words),
		    count > WORDS_TOLD ? " and more" : "");
	buffer_free(&words);
}

/* Writes the question for the user: the params of ELICIT. */
static void
write_approval(const struct led *led, const struct deciding *d, struct buffer *params)
{
	struct buffer text = BUFFER_INIT, data = BUFFER_INIT;
	const struct data *asked = &d->results[0];
	struct tool_approval tool;
	const bool is_tool = tool_approval_read(d->at->call, span_of(asked->json.data, asked->json.len),
	    &tool);
	const char *schema = is_tool ?
	    APPROVAL_SCHEMA_BEGIN APPROVAL_SCHEMA_EDIT_TOOL APPROVAL_SCHEMA_ALWAYS APPROVAL_SCHEMA_END :
	    APPROVAL_SCHEMA_BEGIN APPROVAL_SCHEMA_EDIT_DATA APPROVAL_SCHEMA_END;
	size_t shown;
	struct writer w;

	if (is_tool)
		tool_approval_show(&tool, &data);
	else
		data_raw(asked, &data);
	shown = data.len > DATA_SHOWN ? utf8_whole(data.data, DATA_SHOWN) : data.len;
	buffer_format(&text, "%s: %s waits for your approval of:\n\n", led->workflow->name, d->at->call);
	/* Clients show no invisible characters. */
	terminal_text(&text, buffer_string(&data), shown);
	if (shown < data.len)
		buffer_format(&text, "\n\n(%zu bytes more: awf-replay --state %s %s)", data.len - shown,
		    d->at->path, led->run_id);
	add_lookalikes(&text, &data);
	writer_begin(&w, params);
	writer_object(&w);
	writer_key(&w, "message");
	writer_bytes(&w, buffer_string(&text), text.len);
	writer_member_span(&w, "requestedSchema", span_of(schema, strlen(schema)));
	writer_object_end(&w);
	buffer_free(&data);
	buffer_free(&text);
}

bool
approvals_ask(struct leading *l, struct waiter *w)
{
	struct led *led = w->led;
	struct deciding d = DECIDING_INIT;
	struct buffer params = BUFFER_INIT;
	const struct waiting *at;
	struct error none;
	bool asks;

	if (!w->call.elicits || w->for_end || w->declined || led->again || clock_monotonic() >= w->deadline ||
	    (led->status != NULL ? strcmp(led->status, "waiting") != 0 : !led_attends(l, led)))
		return false;
	if (led->asked[0] != '\0' && find_approval(led, led->asked) == NULL)
		led->asked[0] = '\0'; /* somebody else has decided, and the run goes on */
	if (led->asked[0] != '\0' && !w->call.modern)
		return true;
	at = find_approval(led, NULL);
	asks = at != NULL && open_approval(&d, l, led, at, DECISION_APPROVED, &none) == 0;
	if (asks) {
		write_approval(led, &d, &params);
		if (w->call.modern) {
			rpc_input_required(&w->call, at->end, ELICIT, &params, led->run_id);
			waiter_drop(l, w);
		} else {
			rpc_ask(at->end, ELICIT, &params);
			memcpy(led->asked, at->end, ID_SIZE);
		}
	}
	deciding_close(&d);
	buffer_free(&params);
	return asks;
}

/* Puts what the user has written in the place of what is approved; of a tool's call, of its arguments. */
static int
edit_as_said(struct deciding *d, struct span edited, struct error *err)
{
	const struct data *asked = &d->results[0];
	struct buffer text = BUFFER_INIT, whole = BUFFER_INIT;
	struct tool_approval tool;
	struct writer w;
	size_t bad;
	int failed;

	span_decode(edited, &text);
	if (!tool_approval_read(d->at->call, span_of(asked->json.data, asked->json.len), &tool)) {
		failed = text.len == 0 ? 0 : deciding_edit(d, text.data, text.len, err);
	} else if (text.len == 0) {
		failed = 0;
	} else if (scan_within(text.data, text.len, SCAN_LINE_DEPTH, &bad) != NULL) {
		failed = error_set(err, ERROR_INVALID_INPUT, "edited", "is to be the arguments as JSON");
	} else {
		writer_begin(&w, &whole);
		writer_object(&w);
		writer_member_span(&w, "tool", tool.tool);
		writer_member_span(&w, "input", span_trim(span_of(text.data, text.len)));
		writer_member_span(&w, "rule", tool.rule);
		writer_member_bool(&w, "always", tool.always);
		writer_object_end(&w);
		failed = deciding_edit(d, whole.data, whole.len, err);
	}
	buffer_free(&whole);
	buffer_free(&text);
	return failed;
}

/* Applies the user's decision and continues the run: 1; 0: the user has not decided. */
static int
decide_as_said(struct leading *l, struct led *led, const char *wait, struct span said,
    struct error *err)
{
	struct span content = span_member(said, "content"), approve = span_member(content, "approve");
	struct span edited = span_member(content, "edited");
	enum decision_verdict verdict = span_true(approve) ? DECISION_APPROVED : DECISION_DENIED;
	struct deciding d = DECIDING_INIT;
	const struct waiting *at;
	char *reason;
	int failed;

	if (!span_is(span_member(said, "action"), "accept"))
		return 0;
	if (span_type(approve) != 't' && span_type(approve) != 'f')
		return error_set(err, ERROR_INVALID_INPUT, "approve", "is to be true or false");
	if (edited.at != NULL && span_type(edited) != 's')
		return error_set(err, ERROR_INVALID_INPUT, "edited", "is to be a text");
	if (edited.at != NULL && edited.len > 2 && verdict == DECISION_DENIED)
		return error_set(err, ERROR_INVALID_INPUT, "edited", "is for what is approved");
	if (follow_read(&l->follow, err) != 0)
		return -1;
	at = find_approval(led, wait);
	if (at == NULL)
		return error_set(err, ERROR_BLOCKED, NULL, "what was asked about does not wait "
		    "any more: "
		    "wait_workflow tells how the run stands");
	reason = span_text(span_member(content, "reason"));
	failed = open_approval(&d, l, led, at, verdict, err);
	if (failed == 0 && edited.at != NULL && verdict == DECISION_APPROVED)
		failed = edit_as_said(&d, edited, err);
	if (failed == 0 && verdict == DECISION_APPROVED && span_true(span_member(content, "always")))
		failed = deciding_always(&d, err);
	if (failed == 0)
		failed = deciding_sign(&d, NULL, false, err);
	if (failed == 0) {
		d.decision.by = l->client;
		d.decision.reason = reason != NULL && *reason != '\0' ? reason : NULL;
		failed = deciding_record(&d, err);
	}
	deciding_close(&d);
	free(reason);
	return failed == 0 && leading_go_on(l, led, err) == 0 ? 1 : -1;
}

/* Adds to an error which run it is about. */
static int
approvals_decide_with_run_id(struct leading *l, struct led *led, const char *wait, struct span said,
    struct error *err)
{
	int decided = decide_as_said(l, led, wait, said, err);
	char text[sizeof err->place + sizeof err->message + 4];

	if (decided == -1) {
		error_text(err, text, sizeof text);
		error_set(err, err->code, NULL, "run %s: %s", led->run_id, text);
	}
	return decided;
}

int
leading_decide(struct leading *l, struct led *led, const char *wait, struct span said,
    struct rpc_call *call, struct error *err)
{
	int decided = approvals_decide_with_run_id(l, led, wait, said, err);

	if (decided == -1)
		return -1;
	leading_wait(l, call, led)->declined = decided == 0;
	return 0;
}

void
leading_said(struct leading *l, struct span id, struct span said)
{
	struct led *led = NULL;
	struct error err = ERROR_INIT;
	char wait[ID_SIZE];
	int decided;

	for (size_t i = 0; i < l->count && led == NULL; i++)
		if (l->list[i]->asked[0] != '\0' && span_is(id, l->list[i]->asked))
			led = l->list[i];
	if (led == NULL)
		return; /* the user has decided about a wait that is over */
	memcpy(wait, led->asked, sizeof wait);
	led->asked[0] = '\0';
	decided = approvals_decide_with_run_id(l, led, wait, said, &err);
	for (struct waiter *w = l->waiters, *next; w != NULL; w = next) {
		next = w->next;
		if (w->led != led || w->for_end)
			continue;
		w->declined |= decided == 0;
		if (decided == -1) {
			status_refused(&w->call, &err, NULL);
			waiter_drop(l, w);
		}
	}
}
