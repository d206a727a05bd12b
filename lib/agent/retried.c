/* Lines of their own, beside the chain of the call's events, so that what follows a retry
 * has the same causes as without. */
#include "agent/retried.h"

#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/text.h"
#include "json/writer.h"
#include "transcript/event_keys.h"

static void
write_payload(struct buffer *out, const struct retried *retried)
{
	struct writer w;

	writer_begin(&w, out);
	writer_object(&w);
	writer_member_string(&w, KEY_ROLE, "assistant");
	writer_key(&w, KEY_BLOCKS);
	writer_array(&w);
	writer_array_end(&w);
	writer_member_bool(&w, KEY_PARTIAL, true);
	writer_key(&w, KEY_RETRY);
	writer_object(&w);
	writer_members_error(&w, retried->why);
	writer_member_integer(&w, KEY_TRY, retried->tried + 1);
	writer_member_integer(&w, KEY_OF, retried->tries);
	writer_object_end(&w);
	writer_member_integer(&w, KEY_DELAY_MS, retried->delay_ms);
	writer_object_end(&w);
}

static void
show(const struct retried *retried)
{
	struct buffer line = BUFFER_INIT;

	buffer_format(&line, "%s: ", retried->name);
	text_visible(&line, retried->why->message, strlen(retried->why->message), 0);
	call_retry_text(retried->tried + 1, retried->tries, retried->delay_ms, &line);
	buffer_byte(&line, '\n');
	file_write(STDERR_FILENO, buffer_string(&line), line.len);
	buffer_free(&line);
}

int
retried_record(const struct call *call, const char *started, const struct retried *retried,
    bool shown, struct error *err)
{
	struct buffer payload = BUFFER_INIT;
	int status;

	if (shown)
		show(retried);
	write_payload(&payload, retried);
	status = call_aside(call, EVENT_MESSAGE_ASSISTANT, NULL, started,
	    span_of(payload.data, payload.len), err);
	buffer_free(&payload);
	return status;
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
