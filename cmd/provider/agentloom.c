/*
 * An entry stands under the step's path, its name alone, or a hash of the request:
 * AgentLoom's newer or older one, or ours. Of a list an answer is chosen and noted under one
 * lock (given.h), so that no two providers of a run give the same. It is put together here as
 * our own answers are, and goes the way of these from then on.
 */
#include "agentloom.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/agentloom.h"
#include "base/count.h"
#include "base/memory.h"
#include "end.h"
#include "pass.h"

#define SHOWN 16 /* digits of a hash in messages */

/* A request and the names that its answer may stand under. */
struct wanted {
	const struct provider_request *request;
	const char *sha256;
	char hash[DIGEST_SIZE], old_hash[DIGEST_SIZE]; /* "" if it has none */
	char *step;                                    /* its path; NULL: not said */
};

/* The member that answers a request. */
struct entry {
	char *key;
	struct span value;
};

int
agentloom_load(struct agentloom *a, const char *path, struct error *err)
{
	*a = (struct agentloom){ .given = { .fd = -1 } };
	if (agentloom_file_load(&a->file, path, err) != 0)
		return -1;
	return given_open(&a->given, err);
}

void
agentloom_free(struct agentloom *a)
{
	given_close(&a->given);
	agentloom_file_free(&a->file);
}

static void
want(struct wanted *w, const struct agentloom *a, const struct provider_request *r,
    const char *sha256)
{
	const struct agentloom_request request = { r->model, r->system, r->messages, r->tools,
		r->params };

	*w = (struct wanted){ .request = r, .sha256 = sha256 };
	w->step = span_text(r->step);
	if (!agentloom_hash(&request, w->hash))
		w->hash[0] = '\0';
	if (!a->file.old || !agentloom_hash_old(&request, w->old_hash))
		w->old_hash[0] = '\0';
}

static bool
entry_set(struct entry *e, const struct agentloom *a, const char *key)
{
	if (key == NULL || key[0] == '\0' || key[0] == '_')
		return false;
	e->value = span_member(a->file.document, key);
	if (e->value.at == NULL)
		return false;
	e->key = memory_text(key);
	return true;
}

/* By the step's path, by its name alone, by a hash of the request. */
static int
find_entry(const struct agentloom *a, const struct wanted *w, struct entry *e, struct error *err)
{
	const char *dot = w->step == NULL ? NULL : strrchr(w->step, '.');
	const char *const keys[] = { w->step, dot == NULL ? NULL : dot + 1, w->hash, w->old_hash,
		w->sha256 };

	for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
		if (entry_set(e, a, keys[i]))
			return 0;
	return error_set(err, ERROR_INVALID, a->file.path, "no entry for %s%s%s, nor for the request "
	    "(hash %.*s)", w->step == NULL ? "a step" : "step '", w->step == NULL ? "" : w->step,
	    w->step == NULL ? "" : "'", SHOWN, w->hash[0] == '\0' ? w->sha256 : w->hash);
}

/* An answer that was made for another request. */
static bool
differs(const struct wanted *w, struct span answer)
{
	struct span hash = span_member(answer, "request_hash");

	return w->hash[0] != '\0' && span_type(hash) == 's' && !span_is(hash, w->hash);
}

static bool
is_made_for(const struct wanted *w, struct span answer)
{
	struct span hash = span_member(answer, "request_hash");

	return span_is(span_member(answer, "request_sha256"), w->sha256) ||
	    (w->hash[0] != '\0' && span_is(hash, w->hash));
}

/* The answer of a list that was made for the request, else the next one; of those that
 * were not given yet. *number is the end of the list if there is none. */
static struct span
choose(const struct agentloom *a, const struct wanted *w, struct span list, const char *key,
    size_t *number)
{
	struct span next = SPAN_NONE;
	size_t i = 0;

	for (struct span_walk answer = span_walk(list); span_next(&answer); i++) {
		bool made = is_made_for(w, answer.value);

		if (given_has(&a->given, key, i) || (next.at != NULL && !made))
			continue;
		next = answer.value;
		*number = i;
		if (made)
			return next;
	}
	if (next.at == NULL)
		*number = i;
	return next;
}

/* What an entry is called in the notes of the run. */
static void
digest_entry(const struct agentloom *a, const struct entry *e, char out[DIGEST_SIZE])
{
	struct digest d;

	digest_begin(&d);
	digest_add(&d, a->file.path, strlen(a->file.path) + 1);
	digest_add(&d, e->key, strlen(e->key));
	digest_end(&d, out);
}

static int
refuse_request(const struct agentloom *a, const struct wanted *w, const struct entry *e,
    struct span answer, struct error *err)
{
	char *recorded = span_text(span_member(answer, "request_hash"));

	error_set(err, ERROR_INVALID, a->file.path, "entry '%s': the request differs from the "
	    "recorded one (hash %.*s, not %.*s): record it again, or take out request_hash", e->key, SHOWN, w->hash,
	    SHOWN, recorded);
	free(recorded);
	return -1;
}

static int
take_from_list(struct agentloom *a, const struct wanted *w, const struct entry *e,
    struct span *answer, struct error *err)
{
	char key[DIGEST_SIZE];
	size_t number = 0;
	int result;

	digest_entry(a, e, key);
	if (given_lock(&a->given, err) != 0)
		return -1;
	*answer = choose(a, w, e->value, key, &number);
	if (answer->at == NULL)
		result = error_set(err, ERROR_INVALID, a->file.path,
		    "entry '%s': no answer is left (it has %zu)", e->key, number);
	else if (differs(w, *answer))
		result = refuse_request(a, w, e, *answer, err);
	else
		result = given_add(&a->given, key, number, err);
	given_unlock(&a->given);
	return result;
}

static int
take(struct agentloom *a, const struct wanted *w, const struct entry *e, struct span *answer,
    struct error *err)
{
	if (span_type(e->value) == 'a')
		return take_from_list(a, w, e, answer, err);
	*answer = e->value;
	return differs(w, *answer) ? refuse_request(a, w, e, *answer, err) : 0;
}

static void
write_tool_call(struct writer *w, struct span call, size_t number)
{
	struct span id = span_member(call, "id"), arguments = span_member(call, "arguments");
	char made[32];

	snprintf(made, sizeof made, "call_%zu", number);
	writer_object(w);
	writer_member_string(w, "type", "tool_use");
	if (span_type(id) == 's' && !span_is(id, ""))
		writer_member_span(w, "tool_id", id);
	else
		writer_member_string(w, "tool_id", made);
	writer_member_span(w, "tool_name", span_member(call, "name"));
	if (span_type(arguments) == 0 || span_type(arguments) == '0')
		arguments = span_of("{}", 2);
	pass_member(w, "tool_input", arguments);
	writer_object_end(w);
}

/* The number of tool calls. */
static size_t
write_blocks(struct writer *w, struct span answer)
{
	struct span content = span_member(answer, "content");
	size_t number = 0;

	writer_member_array(w, "blocks");
	if (span_type(content) == 's' && !span_is(content, "")) {
		writer_object(w);
		writer_member_string(w, "type", "text");
		writer_member_span(w, "text", content);
		writer_object_end(w);
	}
	for (struct span_walk call = span_walk(span_member(answer, "tool_calls")); span_next(&call);)
		write_tool_call(w, call.value, ++number);
	writer_array_end(w);
	return number;
}

static long long
tokens(struct span usage, const char *key)
{
	long long number = 0;

	number_set(&number, span_member(usage, key));
	return number;
}

/* Reasoning is no part of the completion there. An answer without any token is one whose
 * usage nobody knew. */
static void
write_usage(struct writer *w, struct span usage)
{
	long long input = tokens(usage, "prompt_tokens");
	long long output = tokens(usage, "completion_tokens");
	long long reasoning = tokens(usage, "reasoning_tokens");

	writer_member_object(w, "usage");
	if (input != 0 || output != 0 || reasoning != 0) {
		writer_member_integer(w, "input_tokens", input);
		writer_member_integer(w, "output_tokens", count_add(output, reasoning));
	}
	if (reasoning != 0)
		writer_member_integer(w, "reasoning_tokens", reasoning);
	writer_object_end(w);
}

/* Why the answer ended; NULL: it does not say. What recordings have is whatever word the
 * API used: the table is that of lib/agent/agentloom.c, and what it has not is no end. */
static int
find_reason(struct span answer, const char **reason, struct error *err)
{
	static const struct end none[] = { { NULL, NULL, ERROR_NONE } };
	struct span word = span_member(answer, "finish_reason");

	*reason = agentloom_stop_reason(word);
	if (*reason != NULL && strcmp(*reason, "other") == 0)
		*reason = end_reason(none, word, SPAN_NONE, err);
	else if (*reason == NULL)
		return 0;
	return *reason == NULL ? -1 : 0;
}

static int
write_answer(struct span answer, struct buffer *out, struct error *err)
{
	struct span model = span_member(answer, "model");
	const char *reason;
	struct writer w;
	size_t calls;

	if (find_reason(answer, &reason, err) != 0)
		return -1;
	writer_begin(&w, out);
	writer_object(&w);
	calls = write_blocks(&w, answer);
	writer_member_string(&w, "stop_reason",
	    reason != NULL ? reason : calls > 0 ? "tool_use" : "end_turn");
	write_usage(&w, span_member(answer, "usage"));
	if (span_type(model) == 's')
		writer_member_span(&w, "model", model);
	writer_object_end(&w);
	return 0;
}

int
agentloom_answer(struct agentloom *a, const struct provider_request *request,
    const char sha256[DIGEST_SIZE], struct buffer *answer, struct error *err)
{
	struct entry e = { NULL, { NULL, 0 } };
	struct span found;
	struct wanted w;
	int result;

	want(&w, a, request, sha256);
	result = find_entry(a, &w, &e, err);
	if (result == 0)
		result = take(a, &w, &e, &found, err);
	if (result == 0)
		result = write_answer(found, answer, err);
	free(e.key);
	free(w.step);
	return result;
}
