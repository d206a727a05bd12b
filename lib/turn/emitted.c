/*
 * Each call is remembered with its event and its last event: a result is a child of its call, and
 * the answer follows the last events of all calls. Everything is checked like any tool event before
 * it is recorded, since a provider is another program.
 */
#include "turn/emitted.h"

#include <stdlib.h>
#include <string.h>

#include "base/invariant.h"
#include "base/memory.h"
#include "json/writer.h"
#include "transcript/event_keys.h"
#include "transcript/form.h"

/* Members that tool.call and tool.result can have besides the name, awf-transcript(5). */
static const char *const members[] = { KEY_CALL_ID, KEY_INPUT, KEY_OUTPUT, KEY_ERROR, KEY_EFFECTS,
	KEY_DURATION_MS, KEY_CHANGED, KEY_STDERR, NULL };

static struct emitted_call *
emitted_find(const struct emitted *e, struct span call_id)
{
	for (size_t i = e->count; i-- > 0;)
		if (span_is(call_id, e->list[i].call_id))
			return &e->list[i];
	return NULL;
}

static int
emitted_set_protocol_error(struct error *err, const char *what)
{
	return error_set(err, ERROR_PROVIDER, NULL, "the provider broke the protocol: %s", what);
}

/* Records a call, or the result of a known call, from a line or payload. */
static int
emitted_record_event(struct emitted *e, struct call *call, struct span told,
    struct emitted_call *known, const struct buffer *payload, struct error *err)
{
	struct emitted_call *added;
	char id[ID_SIZE], before[ID_SIZE];

	INVARIANT(known == NULL || (known >= e->list && known < e->list + e->count));
	if (known != NULL)
		return call_event(call, EVENT_TOOL_RESULT, known->called, payload, known->last, err);
	memcpy(before, call->last, sizeof before);
	if (call_event(call, EVENT_TOOL_CALL, before, payload, id, err) == -1)
		return -1;
	e->list = memory_array(e->list, e->count + 1, sizeof *e->list);
	added = &e->list[e->count++];
	added->call_id = span_text(span_member(told, KEY_CALL_ID));
	added->name = span_text(span_member(told, KEY_NAME));
	memcpy(added->called, id, ID_SIZE);
	memcpy(added->last, id, ID_SIZE);
	return 0;
}

int
emitted_record(struct emitted *e, struct call *call, struct span line, struct error *err)
{
	bool result = span_is(span_member(line, KEY_TYPE), "tool_result");
	struct emitted_call *known = result ? emitted_find(e, span_member(line, KEY_CALL_ID)) : NULL;
	struct buffer payload = BUFFER_INIT, value = BUFFER_INIT;
	struct form_fault wrong;
	struct writer w;
	int status;

	if (result && known == NULL)
		return emitted_set_protocol_error(err, "a tool_result without its tool_call");
	if (result && strcmp(known->called, known->last) != 0)
		return emitted_set_protocol_error(err, "a second tool_result of one tool_call");

	/* A result may leave out the name: it is that of its call. */
	writer_begin(&w, &payload);
	writer_object(&w);
	if (known != NULL)
		writer_member_string(&w, KEY_NAME, known->name);
	else
		writer_member_span(&w, KEY_NAME, span_member(line, KEY_NAME));
	for (size_t i = 0; members[i] != NULL; i++) {
		struct span member = span_member(line, members[i]);

		buffer_clear(&value);
		if (member.at == NULL)
			continue;
		scan_minify(member, &value);
		writer_member_buffer(&w, members[i], &value);
	}
	buffer_free(&value);
	writer_member_string(&w, KEY_FIDELITY, "agent_emitted");
	writer_object_end(&w);

	status = form_check_tool(payload.data, payload.len, &wrong) == -1 ?
	    emitted_set_protocol_error(err, wrong.what.message) :
	    emitted_record_event(e, call, line, known, &payload, err);
	buffer_free(&payload);
	return status;
}

int
emitted_repeat(struct emitted *e, struct call *call, struct recalled_event *recorded,
    struct error *err)
{
	struct span payload = recorded->view.payload;
	bool result = recorded->view.type == EVENT_TOOL_RESULT;
	struct emitted_call *known = result ? emitted_find(e, span_member(payload, KEY_CALL_ID)) : NULL;
	struct buffer copy = BUFFER_INIT;
	int status;

	buffer_append(&copy, payload.at, payload.len);
	recorded->used = true;
	call_name_next(call, recorded->id);
	status = emitted_record_event(e, call, payload, known, &copy, err);
	buffer_free(&copy);
	return status;
}

void
emitted_add(struct emitted *e, const char *called, const char *resulted)
{
	struct emitted_call *added;

	e->list = memory_array(e->list, e->count + 1, sizeof *e->list);
	added = &e->list[e->count++];
	*added = (struct emitted_call){ .call_id = memory_text("") };
	memcpy(added->called, called, ID_SIZE);
	memcpy(added->last, resulted[0] == '\0' ? called : resulted, ID_SIZE);
}

void
emitted_follow(struct emitted *e, struct call *call)
{
	const char **ids = memory_array(NULL, e->count + 1, sizeof *ids);

	/* They follow the events that the answer would follow without them. */
	if (e->count > 0)
		buffer_clear(&call->links);
	for (size_t i = 0; i < e->count; i++)
		ids[i] = e->list[i].last;
	call_follow(call, ids, e->count);
	free(ids);
	emitted_free(e);
}

void
emitted_free(struct emitted *e)
{
	for (size_t i = 0; i < e->count; i++) {
		free(e->list[i].call_id);
		free(e->list[i].name);
	}
	free(e->list);
	*e = (struct emitted){ NULL, 0 };
}
