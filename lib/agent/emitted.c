#include "agent/emitted.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "json/writer.h"

/* Members that tool.call and tool.result can have, awf-transcript(5). */
static const char *const members[] = { "name", "call_id", "input", "output", "error", "effects",
	"duration_ms", "changed", "stderr", NULL };

static struct emitted_call *
emitted_find(const struct emitted *e, struct span call_id)
{
	for (size_t i = e->count; i-- > 0;)
		if (span_is(call_id, e->list[i].call_id))
			return &e->list[i];
	return NULL;
}

static struct emitted_call *
emitted_add(struct emitted *e, struct span call_id)
{
	struct emitted_call *call;
	char *text = span_text(call_id);

	e->list = memory_array(e->list, e->count + 1, sizeof *e->list);
	call = &e->list[e->count++];
	call->call_id = text == NULL ? memory_text("") : text;
	return call;
}

static void
write_payload(struct span line, struct buffer *payload)
{
	struct writer w;

	writer_begin(&w, payload);
	writer_object(&w);
	for (size_t i = 0; members[i] != NULL; i++) {
		struct buffer value = BUFFER_INIT;
		struct span member = span_member(line, members[i]);

		if (member.at != NULL) {
			scan_minify(member, &value);
			writer_member_buffer(&w, members[i], &value);
		}
		buffer_free(&value);
	}
	writer_member_string(&w, "fidelity", "agent_emitted");
	writer_object_end(&w);
}

int
emitted_record(struct emitted *e, struct call *call, struct span line, struct error *err)
{
	bool result = span_is(span_member(line, "type"), "tool_result");
	struct span call_id = span_member(line, "call_id");
	struct emitted_call *known = result ? emitted_find(e, call_id) : NULL;
	struct buffer payload = BUFFER_INIT;
	char id[ID_SIZE], before[ID_SIZE];
	int status;

	memcpy(before, known != NULL ? known->called : call->last, sizeof before);
	write_payload(line, &payload);
	status = call_event(call, result ? EVENT_TOOL_RESULT : EVENT_TOOL_CALL, before, &payload,
	    id, err);
	buffer_free(&payload);
	if (status == -1)
		return -1;
	if (known == NULL) {
		known = emitted_add(e, call_id);
		memcpy(known->called, id, sizeof id);
	}
	memcpy(known->last, id, sizeof id);
	return 0;
}

void
emitted_follow(struct emitted *e, struct call *call)
{
	const char **ids = memory_array(NULL, e->count + 1, sizeof *ids);

	for (size_t i = 0; i < e->count; i++)
		ids[i] = e->list[i].last;
	call_follow(call, ids, e->count);
	free(ids);
	emitted_free(e);
}

void
emitted_free(struct emitted *e)
{
	for (size_t i = 0; i < e->count; i++)
		free(e->list[i].call_id);
	free(e->list);
	*e = (struct emitted){ NULL, 0 };
}
