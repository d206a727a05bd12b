/*
 * The step itself, independent of any call.
 *
 * A worker sends a result as the struct in memory, because both ends are the same program after a
 * fork(), followed by the lines; the struct's own buffer of lines is sent empty.
 */
#include "step_call/step.h"

#include <stdlib.h>
#include <string.h>

#include "base/list.h"
#include "base/memory.h"
#include "json/writer.h"
#include "limits/budget.h"
#include "model/item_name.h"
#include "step_call/work.h"
#include "storage/lineage.h"
#include "transcript/call.h"

const char *const output_forms[] = { "text", "lines", "nul", "json", NULL };
const char *const step_strategies[] = { "all", "any", "best-effort", NULL };

void
step_define(struct step *s)
{
	const struct work *work = s->definition.work;
	struct buffer text = BUFFER_INIT;
	struct writer w;

	writer_begin(&w, &text);
	writer_array(&w);
	if (work->define != NULL)
		work->define(s, &w);
	writer_array_end(&w);
	digest_sha256(text.data, text.len, s->definition.sha256);
	buffer_free(&text);
}

void
step_stop(struct step *s)
{
	if (s->definition.state != NULL && s->definition.work->stop != NULL)
		s->definition.work->stop(s);
}

void
step_unload(struct step *s)
{
	if (s->definition.state != NULL)
		s->definition.work->unload(s);
	s->definition.state = NULL;
	s->definition.agent_name = NULL;
}

struct writer
step_describe_begin(struct buffer *out)
{
	struct writer w;

	writer_begin(&w, out);
	writer_object(&w);
	return w;
}

void
step_describe_end(struct writer *w, const struct item *item)
{
	writer_member_span(w, "input", span_of(item->data.json.data, item->data.json.len));
	if (item->data.base64)
		writer_member_string(w, "input_encoding", "base64");
	writer_object_end(w);
	buffer_byte(w->out, '\n');
}

/* The names of the run and of those around it, a list. */
static char **
workflow_names(const struct run *run)
{
	char **names = memory_zero(1, sizeof *names), *name;
	struct lineage around;
	struct error unread;

	if (lineage_read(&around, run->directory, &unread) == -1)
		around.count = 0;
	for (size_t i = 0; i < around.count; i++)
		if ((name = storage_run_name(&run->storage, around.runs[i].run_id)) != NULL)
			list_take(&names, name);
	if (*names == NULL && (name = storage_run_name(&run->storage, run->id)) != NULL)
		list_take(&names, name);
	return names;
}

int
step_begin_budget(struct step *s, struct budget *b, struct error *err)
{
	/* In a replay, the recorded outcome counts. */
	if (step_replays(s))
		return 0;
	if ((s->options.max_cost >= 0 || getenv(BUDGET_LIMIT) != NULL) &&
	    budget_begin(b, s->options.max_cost, err) == -1)
		return -1;
	return budget_add_day(b, s->place.run->storage.root, workflow_names(s->place.run), err);
}

bool
step_replays(const struct step *s)
{
	return s->place.recall != NULL && s->place.recall->mode == RECALL_REPLAY;
}

struct recall_query
step_query(const struct step *s, int64_t index)
{
	const char *occurrence = strrchr(s->place.process, ':');

	return (struct recall_query){ .enclosing = s->place.enclosing, .root = s->place.root,
		.tool_call = s->place.tool_call, .name = s->options.name, .path = s->place.path,
		.item = index, .tried = s->options.failure == FAILURE_TRY, .member = s->place.member,
		.effects = effects_outside(s->options.effects) && !s->options.idempotent, .marks = &s->place.marks,
		.occurrence = occurrence != NULL ? strtoll(occurrence + 1, NULL, 10) : -1 };
}

void
causes_add(struct causes *c, const struct step *s, const char *run_id, const char *event_id,
    const char *call)
{
	const char *slash = strrchr(call, '/');
	size_t around = slash != NULL ? (size_t)(slash - call) : 0;
	bool own_run = strcmp(run_id, s->place.run->id) == 0;

	if (strcmp(event_id, s->place.parent) == 0)
		return; /* it is the parent, unless there is a call in between */
	if (own_run && c->parent[0] == '\0' && around == strlen(s->place.enclosing) &&
	    memcmp(call, s->place.enclosing, around) == 0)
		memcpy(c->parent, event_id, ID_SIZE);
	else
		event_add_link(&c->links, own_run ? NULL : run_id, event_id);
}

void
causes_add_item(struct causes *c, const struct step *s, const struct item *item)
{
	char *run_id = item_metadata(item, "run_id"), *event_id = item_metadata(item, "event_id");
	char *call = item_metadata(item, "call");

	if (run_id != NULL && event_id != NULL)
		causes_add(c, s, run_id, event_id, call != NULL && call_id_valid(call) ? call : "");
	free(run_id);
	free(event_id);
	free(call);
}

void
causes_free(struct causes *c)
{
	buffer_free(&c->links);
}

/* The data is left out where it might be masked, as messages are not. Also inside a call: the
 * message is recorded as that call's stderr, next to the data itself, and a replay compares it. */
void
step_label(const struct step *s, const struct item *item, int64_t index, struct buffer *out)
{
	buffer_text(out, s->options.name);
	if (index <= 0)
		return;
	buffer_format(out, "[%lld]", (long long)index);
	if (*s->place.enclosing == '\0' && !s->place.run->transcript.masked && !data_binary(&item->data))
		item_name(span_of(buffer_string(&item->data.json), item->data.json.len), out);
}

/* ---- results ---- */

void
step_result_clear(struct step_result *result)
{
	buffer_clear(&result->out);
	result->status = STATUS_OK;
	result->stop = result->closed = result->gone = false;
	result->skipped = result->until = result->told = result->asks = false;
	result->error.code = ERROR_NONE;
	result->report[0] = '\0';
	result->report_message = 0;
}

bool
step_result_failed(const struct step_result *result)
{
	return result->status == STATUS_WORK && !result->skipped && result->error.code != ERROR_CANCELLED;
}

#define ENDED_BY_FAILURE "ended, as another item failed (--fail-fast)"

void
step_end_by_failure(struct error *err)
{
	error_set(err, ERROR_CANCELLED, NULL, ENDED_BY_FAILURE);
}

bool
step_result_ended_by_failure(const struct step_result *result)
{
	return result->error.code == ERROR_CANCELLED &&
	    strcmp(result->error.message, ENDED_BY_FAILURE) == 0;
}

struct answer_head {
	bool broken;
	struct error error;
	struct step_result result;
};

void
step_result_pack(struct buffer *answer, const struct step_result *result,
    const struct error *broken)
{
	struct answer_head head;

	memset(&head, 0, sizeof head); /* the padding is sent too */
	head.broken = broken != NULL;
	if (broken != NULL)
		head.error = *broken;
	head.result = *result;
	head.result.out = (struct buffer)BUFFER_INIT;
	buffer_append(answer, &head, sizeof head);
	buffer_append(answer, buffer_string(&result->out), result->out.len);
}

enum error_code
step_result_code(const struct buffer *answer)
{
	struct answer_head head;

	memcpy(&head, answer->data, sizeof head);
	return head.broken ? head.error.code : head.result.error.code;
}

bool
step_result_peek(const struct buffer *answer, struct step_result *result)
{
	struct answer_head head;

	memcpy(&head, answer->data, sizeof head);
	*result = head.result;
	return !head.broken;
}

int
step_result_unpack(const struct buffer *answer, struct step_result *result, struct error *err)
{
	struct buffer out = result->out;
	struct answer_head head;

	memcpy(&head, answer->data, sizeof head);
	if (head.broken) {
		*err = head.error;
		return -1;
	}
	*result = head.result;
	result->out = out;
	buffer_append(&result->out, answer->data + sizeof head, answer->len - sizeof head);
	return 0;
}
