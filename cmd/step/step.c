/*
 * What a step is, apart from any call: the digest of its definition is over a list of all that
 * makes its result, in an order that never changes, as earlier recordings are known by it.
 *
 * A result goes from a worker as a struct as it is in memory, as both ends are the same program
 * after a fork(), and behind it the lines, whose buffer in the struct is empty.
 */
#include "step/step.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/polling.h"
#include "json/value.h"
#include "json/writer.h"
#include "run/item_name.h"
#include "transcript/call.h"

const char *const output_forms[] = { "text", "lines", "nul", "json", NULL };
const char *const step_strategies[] = { "all", "any", "best-effort", NULL };

/* The step's prompt is the first member's: in this order calls of earlier recordings are
 * known again. */
static void
define_member(const struct step *s, const struct member *m, struct writer *w)
{
	bool first = m == s->definition.team->members[0];
	struct buffer params = BUFFER_INIT;

	writer_string(w, m->agent.sha256);
	if (first)
		writer_string(w, s->definition.prompt);
	writer_string(w, m->agent.provider);
	writer_string(w, m->agent.model);
	for (size_t i = 0; i < m->agent.fallback.count; i++) {
		writer_string(w, m->agent.fallback.list[i].provider);
		writer_string(w, m->agent.fallback.list[i].model);
	}
	if (first && s->definition.prompt != NULL && strstr(s->definition.prompt, "inputs.") != NULL)
		writer_raw(w, buffer_string(&s->place.inputs), s->place.inputs.len);
	if (m->agent.params != NULL) {
		value_write(m->agent.params, &params);
		writer_raw(w, params.data, params.len);
	}
	for (size_t i = 0; i < m->tool_count; i++)
		writer_string(w, m->tools[i].sha256);
	if (m->stop.name != NULL)
		writer_string(w, m->stop.sha256);
	for (size_t i = 0; i < m->server_count; i++)
		writer_raw(w, m->servers[i]->definition.text.data, m->servers[i]->definition.text.len);
	for (char *const *name = m->allowed; m->server_count > 0 && name != NULL && *name != NULL; name++)
		writer_string(w, *name);
	if (m->agent.output.path != NULL)
		writer_raw(w, m->agent.output.text.data, m->agent.output.text.len);
	buffer_free(&params);
}

void
step_define(struct step *s)
{
	struct buffer text = BUFFER_INIT;
	struct writer w;
	size_t i;

	writer_begin(&w, &text);
	writer_array(&w);
	for (i = 0; s->options.command.argv != NULL && s->options.command.argv[i] != NULL; i++)
		writer_string(&w, s->options.command.argv[i]);
	if (s->options.command.feed_state)
		writer_string(&w, "-e");
	if (s->options.output != OUTPUT_TEXT)
		writer_integer(&w, (int64_t)s->options.output);
	if (s->options.into != NULL)
		writer_string(&w, s->options.into);
	if (s->options.terminal != NULL)
		writer_string(&w, s->options.terminal);
	if (s->options.group.kind != GROUP_NONE)
		writer_integer(&w, (int64_t)s->options.group.kind);
	if (s->options.group.kind == GROUP_PARALLEL)
		writer_string(&w, step_strategies[s->options.group.strategy]);
	if (s->options.group.kind == GROUP_LOOP) {
		/* --max is a limit, unless nothing else ends the loop: then it says what is done. */
		writer_string(&w, s->options.group.until.text);
		writer_string(&w, s->options.group.proceed.text);
		if (s->options.group.until.text == NULL && s->options.group.proceed.text == NULL)
			writer_integer(&w, s->options.group.max_rounds);
	}
	for (i = 0; s->definition.team != NULL && i < s->definition.team->count; i++)
		define_member(s, s->definition.team->members[i], &w);
	if (s->definition.team != NULL && s->definition.team->policy != TOOLS_UNSAID)
		writer_string(&w, tools_policy_name(s->definition.team->policy));
	if (s->definition.operation != NULL)
		writer_string(&w, s->definition.operation->sha256);
	if (s->options.approve)
		writer_string(&w, "--approve");
	if (s->options.question.text != NULL) {
		writer_string(&w, "--ask");
		writer_string(&w, s->definition.prompt);
		if (strstr(s->definition.prompt, "inputs.") != NULL)
			writer_raw(&w, buffer_string(&s->place.inputs), s->place.inputs.len);
		writer_string(&w, s->definition.answer_schema->text.len > 0 ? s->definition.answer_schema->text.data : NULL);
		writer_string(&w, s->options.question.accept.text);
	}
	writer_array_end(&w);
	digest_sha256(text.data, text.len, s->definition.sha256);
	buffer_free(&text);
}

int
step_start_provider(struct step *s, struct error *err)
{
	if (s->definition.team == NULL)
		return 0;
	team_connect(s->definition.team, s->place.keys, s->place.run, s->place.path);
	return provider_start(s->definition.team->members[0]->provider, err);
}

int
step_start_provider_early(struct step *s, int in, struct error *err)
{
	if (s->definition.team == NULL)
		return 0;
	team_connect(s->definition.team, s->place.keys, s->place.run, s->place.path);
	if (provider_shared(s->definition.team->members[0]->provider) && poll_now(in, POLLIN) == 0)
		return 0;
	return step_start_provider(s, err);
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

	return (struct recall_query){ .enclosing = s->place.enclosing, .root = s->place.root, .name = s->options.name,
		.item = index, .member = s->place.member, .marks = &s->place.marks,
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
		return; /* it is the parent, unless a call in between is */
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

/* The data is not told where it might be masked, as what is told is not. Neither within a
 * call: what is told there is recorded as the call's stderr, beside the data itself, and
 * a replay compares it. */
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
	result->skipped = result->until = result->told = false;
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

	memset(&head, 0, sizeof head); /* its padding is sent too */
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
