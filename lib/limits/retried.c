/* Retries are lines of their own, outside the chain of the call's events, so that what follows a
 * retry has the same causes as without one. */
#include "limits/retried.h"

#include <string.h>

#include "json/writer.h"
#include "proc/message.h"
#include "transcript/event_keys.h"

#define LONG_DELAY_MS 60000

/* Begins the payload of a failed try. */
static void
begin_payload(struct writer *w, struct buffer *payload)
{
	writer_begin(w, payload);
	writer_object(w);
	writer_member_string(w, KEY_ROLE, "assistant");
	writer_member_array(w, KEY_BLOCKS);
	writer_array_end(w);
	writer_member_bool(w, KEY_PARTIAL, true);
}

static int
retried_record_event(const struct call *call, const char *started, struct writer *w,
    struct error *err)
{
	int status = call_aside(call, EVENT_MESSAGE_ASSISTANT, NULL, started,
	    span_of(w->out->data, w->out->len), err);
	buffer_free(w->out);
	return status;
}

int
retried_record(const struct call *call, const char *started, const struct retried *retried,
    bool shown, struct error *err)
{
	struct buffer payload = BUFFER_INIT, text = BUFFER_INIT;
	struct writer w;

	/* Whoever waits for long wants to know why. */
	if (shown || retried->delay_ms >= LONG_DELAY_MS) {
		buffer_text(&text, retried->why->message);
		call_retry_text(retried->tried + 1, retried->tries, retried->delay_ms, &text);
		message_print(retried->name, "%s", buffer_string(&text));
		buffer_free(&text);
	}
	begin_payload(&w, &payload);
	writer_member_object(&w, KEY_RETRY);
	writer_members_error(&w, retried->why);
	writer_member_integer(&w, KEY_TRY, retried->tried + 1);
	writer_member_integer(&w, KEY_OF, retried->tries);
	writer_object_end(&w);
	writer_member_integer(&w, KEY_DELAY_MS, retried->delay_ms);
	writer_object_end(&w);
	return retried_record_event(call, started, &w, err);
}

int
retried_record_wait(const struct call *call, const char *started, const char *name,
    const struct provider_wait *wait, bool shown, struct error *err)
{
	struct buffer payload = BUFFER_INIT, text = BUFFER_INIT;
	struct writer w;

	begin_payload(&w, &payload);
	writer_member_object(&w, KEY_WAIT);
	writer_member_string(&w, KEY_PROVIDER, wait->provider);
	writer_member_string(&w, KEY_REASON, wait->reason);
	writer_object_end(&w);
	if (wait->reason == NULL)
		writer_member_integer(&w, KEY_DURATION_MS, wait->waited_ms);
	else if (wait->delay_ms > 0)
		writer_member_integer(&w, KEY_DELAY_MS, wait->delay_ms);
	writer_object_end(&w);
	if (shown && wait->reason != NULL) {
		call_wait_text(span_member(span_of(payload.data, payload.len), KEY_WAIT), wait->delay_ms,
		    &text);
		message_print(name, "%s", buffer_string(&text));
		buffer_free(&text);
	}
	return retried_record_event(call, started, &w, err);
}

int
retried_repeat(struct recalled *r, const struct call *call, const char *started,
    int64_t before, struct error *err)
{
	struct recalled_event *e;
	int status = 0;

	while (status == 0 && (e = recalled_retry(r, started, before)) != NULL) {
		e->used = true;
		status = call_aside(call, e->view.type, e->id, started, e->view.payload, err);
	}
	return status;
}

void
retried_list(struct buffer *retries, const struct failed_try *failed)
{
	struct writer w;

	if (retries->len != 0)
		buffer_byte(retries, ',');
	writer_begin(&w, retries);
	writer_object(&w);
	writer_member_string(&w, KEY_PROVIDER, failed->provider);
	writer_member_string(&w, KEY_MODEL, failed->model);
	writer_members_error(&w, failed->why);
	if (failed->exit_code >= 0)
		writer_member_integer(&w, KEY_EXIT_CODE, failed->exit_code);
	writer_member_integer(&w, KEY_DURATION_MS, failed->duration_ms);
	if (failed->turn >= 0)
		writer_member_integer(&w, KEY_TURN, failed->turn);
	writer_object_end(&w);
}
