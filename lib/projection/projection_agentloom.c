/*
 * agentloom: the answers of a run's models, in the format in which AgentLoom records them: one
 * document, which it or awf-replay --from can replay. The answers of a step are stored under its
 * path or, if AgentLoom would take that for metadata, under a hash of the request. If there are
 * several steps, the messages between them are added in the format of `interagent`.
 */
#include <stdlib.h>
#include <string.h>

#include "base/count.h"
#include "base/map.h"
#include "base/memory.h"
#include "projection/projection_write.h"
#include "rerun/agentloom.h"
#include "transcript/event_keys.h"

#define NO_CALL ((size_t)-1)

/* A call, with all its attempts. */
struct call {
	const struct model *run;
	int64_t attempt;          /* the last attempt that made it */
};

struct answered {
	size_t call;
	int64_t attempt;
	long long turn;
	struct buffer text;       /* the object without its closing brace */
	char sha256[DIGEST_SIZE]; /* of the request; "" if it is not recorded */
};

struct entry {
	char *key;
	struct answered *answers;
	size_t count;
};

/* A call whose model was asked and has not answered yet. */
struct asked {
	const struct model_call *call;
	char hash[DIGEST_SIZE];
};

struct recording {
	struct entry *entries;
	size_t count;
	struct map by_key;
	struct call *calls;
	size_t call_count;
	struct map by_start;      /* calls, by the ids of their start events and by their call ids */
	struct asked *asked;
	size_t asked_count;
	char *first_step;         /* NULL: none yet */
	bool several;             /* there are several steps */
	struct buffer events;     /* lines */
};

/* Forgets the request of the call: its hash becomes "". */
static void
agentloom_remove_request_hash(struct recording *r, const struct model_call *call,
    char hash[DIGEST_SIZE])
{
	hash[0] = '\0';
	for (size_t i = 0; i < r->asked_count; i++)
		if (r->asked[i].call == call) {
			memcpy(hash, r->asked[i].hash, DIGEST_SIZE);
			r->asked[i] = r->asked[--r->asked_count];
			return;
		}
}

/* Adds the request that begins with a prompt, as it was sent. Later changes, or changes made before
 * it was sent, are not prompts and are ignored. */
static void
agentloom_add_prompt(struct recording *r, const struct placed *at, struct span payload)
{
	struct buffer model = BUFFER_INIT, messages = BUFFER_INIT;
	struct span blocks = span_member(payload, KEY_BLOCKS);
	struct asked asked = { .call = at->call };
	char unused[DIGEST_SIZE];

	json_quote(&model, at->call->step->model ? at->call->step->model : "",
	    at->call->step->model ? strlen(at->call->step->model) : 0);
	buffer_text(&messages, "[{\"role\":\"user\",\"blocks\":");
	buffer_append(&messages, blocks.at, blocks.len);
	buffer_text(&messages, "}]");
	const struct agentloom_request request = { span_of(model.data, model.len),
		span_member(payload, KEY_SYSTEM_PROMPT), span_of(messages.data, messages.len),
		span_member(payload, KEY_TOOLS), span_member(payload, KEY_PARAMS) };

	agentloom_remove_request_hash(r, at->call, unused);
	if (span_element(blocks, 0).at != NULL && agentloom_hash(&request, asked.hash)) {
		r->asked = memory_array(r->asked, r->asked_count + 1, sizeof *r->asked);
		r->asked[r->asked_count++] = asked;
	}
	buffer_free(&model);
	buffer_free(&messages);
}

/* Joins the texts of an answer, then lists the tool calls, except those that the API ran itself,
 * which have a type of their own. */
static void
write_blocks(struct writer *w, struct span blocks)
{
	struct buffer text = BUFFER_INIT;
	bool begun = false;

	for (struct span_walk block = span_walk(blocks); span_next(&block);)
		if (span_is(span_member(block.value, KEY_TYPE), "text"))
			span_decode(span_member(block.value, KEY_TEXT), &text);
	writer_key(w, "content");
	writer_bytes(w, buffer_string(&text), text.len);
	buffer_free(&text);
	for (struct span_walk block = span_walk(blocks); span_next(&block);) {
		if (!span_is(span_member(block.value, KEY_TYPE), "tool_use") ||
		    span_path(block.value, KEY_RAW, "type", NULL).at != NULL)
			continue;
		if (!begun)
			writer_member_array(w, "tool_calls");
		begun = true;
		writer_object(w);
		writer_member_span(w, "id", span_member(block.value, KEY_TOOL_ID));
		writer_member_span(w, "name", span_member(block.value, KEY_TOOL_NAME));
		writer_member_span(w, "arguments", span_member(block.value, KEY_TOOL_INPUT));
		writer_object_end(w);
	}
	if (begun)
		writer_array_end(w);
}

static int64_t
agentloom_token_count(struct span usage, enum model_usage what)
{
	long long number;

	return span_integer(span_member(usage, model_usage_keys[what]), &number) && number > 0 ?
	    number : 0;
}

/* Writes the entry without its closing brace. The cost of an answer is not recorded; AgentLoom
 * counts reasoning separately from the completion. */
static void
agentloom_write_answer_entry(const struct placed *at, struct span payload, const char *hash,
    struct buffer *out)
{
	struct span model = span_member(payload, KEY_MODEL), usage = span_member(payload, KEY_USAGE);
	int64_t input = agentloom_token_count(usage, MODEL_INPUT_TOKENS);
	int64_t output = agentloom_token_count(usage, MODEL_OUTPUT_TOKENS);
	int64_t reasoning = agentloom_token_count(usage, MODEL_REASONING_TOKENS);
	struct writer w;

	writer_begin(&w, out);
	writer_object(&w);
	write_blocks(&w, span_member(payload, KEY_BLOCKS));
	if (span_type(model) == 's')
		writer_member_span(&w, "model", model);
	else
		writer_member_string(&w, "model", at->call->step->model ? at->call->step->model : "");
	writer_member_object(&w, "usage");
	writer_member_integer(&w, "prompt_tokens", input);
	writer_member_integer(&w, "completion_tokens", output > reasoning ? output - reasoning : 0);
	writer_member_integer(&w, "total_tokens", count_add(input, output));
	writer_member_integer(&w, "reasoning_tokens", reasoning);
	writer_object_end(&w);
	writer_key(&w, "cost_usd");
	writer_raw(&w, "0.0", 3);
	writer_member_integer(&w, "latency_ms", placed_duration(at));
	writer_member_string(&w, "finish_reason",
	    agentloom_finish_reason(span_member(payload, KEY_STOP_REASON)));
	if (hash[0] != '\0')
		writer_member_string(&w, "request_hash", hash);
}

static void
agentloom_add_answer(struct recording *r, const struct placed *at, struct span payload)
{
	char *path = span_text(at->event->path), hash[DIGEST_SIZE], start[ID_SIZE];
	const char *key = model_call_event_id(at->call, start);
	const size_t *call = map_get(&r->by_start, key, strlen(key));
	struct answered a = { .call = call ? *call : NO_CALL, .attempt = at->run->attempt };
	const size_t *found;
	struct entry *e;
	size_t kept = 0;

	agentloom_remove_request_hash(r, at->call, hash);
	span_integer(span_member(payload, KEY_TURN), &a.turn);
	if (!span_copy(span_member(payload, KEY_REQUEST_SHA256), a.sha256, sizeof a.sha256))
		a.sha256[0] = '\0';
	agentloom_write_answer_entry(at, payload, hash, &a.text);

	key = path && path[0] != '_' ? path : hash[0] != '\0' ? hash : a.sha256;
	found = map_get(&r->by_key, key, strlen(key));
	if (found == NULL) {
		r->entries = memory_array(r->entries, r->count + 1, sizeof *r->entries);
		r->entries[r->count] = (struct entry){ .key = memory_text(key) };
		map_put(&r->by_key, key, strlen(key), r->count++);
	}
	e = &r->entries[found ? *found : r->count - 1];

	/* A later attempt replaces answers of an earlier one from this turn on. */
	for (size_t i = 0; a.attempt > 1 && i < e->count; i++) {
		struct answered *old = &e->answers[i];

		if (old->call == a.call && old->attempt < a.attempt && old->turn >= a.turn)
			buffer_free(&old->text);
		else
			e->answers[kept++] = *old;
	}
	if (a.attempt > 1)
		e->count = kept;
	e->answers = memory_array(e->answers, e->count + 1, sizeof *e->answers);
	e->answers[e->count++] = a;
	free(path);
}

/* Adds the start of a call: a new one, or one that continues or repeats the call of an earlier
 * attempt, which it claims or whose id it has. */
static void
agentloom_add_call_start(struct recording *r, const struct placed *at)
{
	char *path = span_text(at->event->path);
	char *claims = span_text(span_member(at->event->payload, KEY_CLAIMS));
	const char *key = claims ? claims : at->call->id;
	const size_t *found = map_get(&r->by_start, key, strlen(key));
	char start[ID_SIZE];
	size_t call;

	if (found && r->calls[*found].run == at->run && r->calls[*found].attempt < at->run->attempt) {
		call = *found;
	} else {
		r->calls = memory_array(r->calls, r->call_count + 1, sizeof *r->calls);
		call = r->call_count++;
	}
	r->calls[call] = (struct call){ at->run, at->run->attempt };
	key = model_call_event_id(at->call, start);
	map_put(&r->by_start, key, strlen(key), call);
	map_put(&r->by_start, at->call->id, strlen(at->call->id), call);
	if (r->first_step == NULL)
		r->first_step = memory_text(path ? path : "");
	r->several = r->several || strcmp(r->first_step, path ? path : "") != 0;
	free(claims);
	free(path);
}

static void
agentloom_add_event(void *state, const struct placed *at, struct span payload, int64_t *number)
{
	struct recording *r = state;

	projection_write(&projection_interagent, false, at, NULL, number, &r->events);
	if (at->call == NULL)
		return;
	if (event_type_starts_call(at->event->type))
		agentloom_add_call_start(r, at);
	else if (at->event->type == EVENT_MESSAGE_USER)
		agentloom_add_prompt(r, at, payload);
	else if (at->event->type == EVENT_MESSAGE_ASSISTANT && placed_whole(at))
		agentloom_add_answer(r, at, payload);
}

/* AgentLoom's recorder stores single answers; answers in a list also name their requests, for calls
 * that run at the same time. */
static void
write_document(const void *state, struct buffer *out)
{
	const struct recording *r = state;
	const char *line = buffer_string(&r->events), *lf;

	buffer_format(out, "{\"_version\":%d", AGENTLOOM_VERSION);
	for (const struct entry *e = r->entries; r->count > 0 && e < r->entries + r->count; e++) {
		if (e->count == 0)
			continue;
		buffer_text(out, ",\n");
		json_quote(out, e->key, strlen(e->key));
		buffer_text(out, e->count > 1 ? ":[\n" : ":");
		for (size_t i = 0; i < e->count; i++) {
			const struct answered *a = &e->answers[i];

			if (i > 0)
				buffer_text(out, ",\n");
			buffer_append(out, a->text.data, a->text.len);
			if (e->count > 1 && a->sha256[0] != '\0')
				buffer_format(out, ",\"request_sha256\":\"%s\"", a->sha256);
			buffer_byte(out, '}');
		}
		if (e->count > 1)
			buffer_byte(out, ']');
	}
	if (r->several) {
		buffer_text(out, ",\n\"_inter_agent_events\":[");
		for (; (lf = strchr(line, '\n')) != NULL; line = lf + 1) {
			buffer_text(out, line == r->events.data ? "\n" : ",\n");
			buffer_append(out, line, (size_t)(lf - line));
		}
		buffer_byte(out, ']');
	}
	buffer_text(out, "}\n");
}

static void
recording_free(void *state)
{
	struct recording *r = state;

	for (size_t i = 0; i < r->count; i++) {
		for (size_t j = 0; j < r->entries[i].count; j++)
			buffer_free(&r->entries[i].answers[j].text);
		free(r->entries[i].answers);
		free(r->entries[i].key);
	}
	free(r->entries);
	map_free(&r->by_key);
	free(r->calls);
	map_free(&r->by_start);
	free(r->asked);
	free(r->first_step);
	buffer_free(&r->events);
}

static const struct projection_document document = {
	sizeof(struct recording), agentloom_add_event, write_document, recording_free
};

static const struct projection_row rows[] = { { 0, 0, NULL, NULL, NULL, NULL } };

const struct projection projection_agentloom = {
	"agentloom", 1, rows, NULL, &document
};
