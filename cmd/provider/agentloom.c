/*
 * An entry is stored under the step's path, its name alone, or a hash of the request: AgentLoom's
 * newer or older one, or AWF's. An answer of a list is chosen and noted under one lock, so that no
 * two providers of a run give the same one. It is converted here into the form of AWF's own
 * recorded answers, and is handled as these from then on.
 *
 * The file of given answers is only appended to, under a lock of the whole of it (fcntl(2)). The
 * provider that takes the lock reads on from where it stopped, and has all lines in a map, so a
 * provider reads each line once however many answers are given.
 */
#include "agentloom.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/count.h"
#include "base/memory.h"
#include "io/file.h"
#include "io/lock.h"
#include "pass.h"
#include "rerun/agentloom.h"
#include "storage/storage.h"
#include "transcript/event_keys.h"

#define GIVEN "given"
#define GIVEN_LIMIT ((size_t)64 << 20)
#define GIVEN_LINE_SIZE (DIGEST_SIZE + 24)
#define SHOWN 16 /* digits of a hash in messages */

/* The names under which the answer to a request may be stored. */
struct wanted {
	const char *sha256;
	char hash[DIGEST_SIZE], old_hash[DIGEST_SIZE]; /* "" if it has none */
	char *step;                                    /* its path; NULL: unknown */
};

/* The member that has the answer. */
struct entry {
	const char *key;
	struct span value;
};

int
agentloom_load(struct agentloom *a, const char *path, struct error *err)
{
	const char *run_id = getenv("AWF_RUN_ID");
	struct storage storage;
	char *directory, *given;
	int result = 0;

	*a = (struct agentloom){ .given = { .fd = -1, .seen = MAP_INIT } };
	if (agentloom_file_load(&a->file, path, err) != 0)
		return -1;
	if (run_id == NULL || !id_valid(run_id, strlen(run_id)) ||
	    storage_locate(&storage, NULL) != 0)
		return 0;
	directory = storage_run_directory(&storage, run_id);
	given = path_join(directory, GIVEN);
	a->given.fd = file_open_plain(given, O_RDWR | O_CREAT | O_APPEND, 0600);
	if (a->given.fd == -1 && errno != ENOENT)
		result = error_errno(err, ERROR_INVALID, given, "unable to open");
	free(given);
	free(directory);
	storage_close(&storage);
	return result;
}

void
agentloom_free(struct agentloom *a)
{
	file_close(&a->given.fd);
	map_free(&a->given.seen);
	agentloom_file_free(&a->file);
}

/* Finds the entry by the step's path, by its name alone, or by a hash of the request. */
static int
find_entry(const struct agentloom *a, const struct wanted *w, struct entry *e, struct error *err)
{
	const char *dot = w->step == NULL ? NULL : strrchr(w->step, '.');
	const char *const keys[] = { w->step, dot == NULL ? NULL : dot + 1, w->hash, w->old_hash,
		w->sha256 };

	for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
		if (keys[i] == NULL || keys[i][0] == '\0' || keys[i][0] == '_')
			continue;
		*e = (struct entry){ keys[i], span_member(a->file.document, keys[i]) };
		if (e->value.at != NULL)
			return 0;
	}
	return error_set(err, ERROR_INVALID, a->file.path, "no entry for %s%s%s, nor for the request "
	    "(hash %.*s)", w->step == NULL ? "a step" : "step '", w->step == NULL ? "" : w->step,
	    w->step == NULL ? "" : "'", SHOWN, w->hash[0] == '\0' ? w->sha256 : w->hash);
}

/* Refuses an answer that was recorded for another request. */
static int
check_hash(const struct agentloom *a, const struct wanted *w, const struct entry *e,
    struct span answer, struct error *err)
{
	struct span hash = span_member(answer, "request_hash");
	char *recorded;

	if (w->hash[0] == '\0' || span_type(hash) != 's' || span_is(hash, w->hash))
		return 0;
	recorded = span_text(hash);
	error_set(err, ERROR_INVALID, a->file.path, "entry '%s': the request differs from the "
	    "recorded one (hash %.*s, not %.*s): record it again, or take out request_hash", e->key,
	    SHOWN, w->hash, SHOWN, recorded);
	free(recorded);
	return -1;
}

/* Reads which answers other providers have given. None gives any until the lock is released. */
static int
lock_given(struct given *g, struct error *err)
{
	struct buffer text = BUFFER_INIT;
	const char *line, *lf;
	int result = 0;

	if (g->fd == -1)
		return 0;
	if (lock_wait(g->fd, LOCK_WHOLE, NULL) == 0 && lseek(g->fd, g->position, SEEK_SET) != -1) {
		result = file_read(g->fd, &text, GIVEN_LIMIT);
		for (line = buffer_string(&text); (lf = strchr(line, '\n')) != NULL; line = lf + 1) {
			map_put(&g->seen, line, (size_t)(lf - line), 1);
			g->position += lf - line + 1;
		}
		buffer_free(&text);
		if (result == 0)
			return 0;
	}
	error_errno(err, ERROR_INVALID, GIVEN, "unable to read what was given in this run");
	lock_release(g->fd, LOCK_WHOLE);
	return -1;
}

static size_t
given_line(const char key[DIGEST_SIZE], size_t number, char line[GIVEN_LINE_SIZE])
{
	return (size_t)snprintf(line, GIVEN_LINE_SIZE, "%s %zu\n", key, number);
}

/* From the answers of a list that were not given yet: the one recorded for the request, else the
 * next one. */
static int
agentloom_claim_list_answer(struct agentloom *a, const struct wanted *w, const struct entry *e,
    struct span *answer, struct error *err)
{
	struct given *g = &a->given;
	char key[DIGEST_SIZE], line[GIVEN_LINE_SIZE];
	size_t number = 0, i = 0, len;
	struct digest d;
	bool made = false;
	int result = -1;

	/* The name of the entry in the run's file of given answers. */
	digest_begin(&d);
	digest_add(&d, a->file.path, strlen(a->file.path) + 1);
	digest_add(&d, e->key, strlen(e->key));
	digest_end(&d, key);
	if (lock_given(g, err) != 0)
		return -1;
	*answer = SPAN_NONE;
	for (struct span_walk each = span_walk(e->value); !made && span_next(&each); i++) {
		struct span hash = span_member(each.value, "request_hash");

		made = span_is(span_member(each.value, "request_sha256"), w->sha256) ||
		    (w->hash[0] != '\0' && span_is(hash, w->hash));
		len = given_line(key, i, line);
		if (map_get(&g->seen, line, len - 1) != NULL || (answer->at != NULL && !made)) {
			made = false;
			continue;
		}
		*answer = each.value;
		number = i;
	}
	if (answer->at == NULL) {
		error_set(err, ERROR_INVALID, a->file.path, "entry '%s': no answer is left (it has %zu)",
		    e->key, i);
	} else if (check_hash(a, w, e, *answer, err) == 0) {
		len = given_line(key, number, line);
		map_put(&g->seen, line, len - 1, 1);
		result = g->fd == -1 || file_write(g->fd, line, len) == 0 ? 0 :
		    error_errno(err, ERROR_INVALID, GIVEN, "unable to note what is given");
	}
	if (g->fd != -1)
		lock_release(g->fd, LOCK_WHOLE);
	return result;
}

static int
agentloom_write_answer(struct span answer, struct buffer *out, struct error *err)
{
	static const struct end none[] = { { NULL, NULL, ERROR_NONE } };
	struct span model = span_member(answer, "model"), word = span_member(answer, "finish_reason");
	/* Recordings have whatever word the API used: the table is that of
	 * lib/rerun/agentloom.c, and a word that is not in it is not an end. NULL: there is no
	 * word. */
	const char *reason = agentloom_stop_reason(word);
	struct span content = span_member(answer, "content"), usage = span_member(answer, "usage");
	struct span_walk call = span_walk(span_member(answer, "tool_calls"));
	long long input = 0, output = 0, reasoning = 0;
	struct writer w;
	size_t calls = 0;

	if (reason != NULL && strcmp(reason, "other") == 0 &&
	    (reason = end_reason(none, SPAN_NONE, word, SPAN_NONE, err)) == NULL)
		return -1;
	writer_begin(&w, out);
	writer_object(&w);
	writer_member_array(&w, KEY_BLOCKS);
	if (span_type(content) == 's' && !span_is(content, "")) {
		writer_object(&w);
		writer_member_string(&w, KEY_TYPE, "text");
		writer_member_span(&w, KEY_TEXT, content);
		writer_object_end(&w);
	}
	while (span_next(&call)) {
		struct span id = span_member(call.value, "id");
		struct span arguments = span_member(call.value, "arguments");
		char made[32];

		snprintf(made, sizeof made, "call_%zu", ++calls);
		writer_object(&w);
		writer_member_string(&w, KEY_TYPE, "tool_use");
		if (span_type(id) == 's' && !span_is(id, ""))
			writer_member_span(&w, KEY_TOOL_ID, id);
		else
			writer_member_string(&w, KEY_TOOL_ID, made);
		writer_member_span(&w, KEY_TOOL_NAME, span_member(call.value, "name"));
		if (span_type(arguments) == 0 || span_type(arguments) == '0')
			arguments = span_of("{}", 2);
		pass_member(&w, KEY_TOOL_INPUT, arguments);
		writer_object_end(&w);
	}
	writer_array_end(&w);
	writer_member_string(&w, KEY_STOP_REASON,
	    reason != NULL ? reason : calls > 0 ? "tool_use" : "end_turn");

	/* Reasoning is not part of the completion there. If an answer has no tokens at all, its
	 * usage was unknown. */
	number_set(&input, span_member(usage, "prompt_tokens"));
	number_set(&output, span_member(usage, "completion_tokens"));
	number_set(&reasoning, span_member(usage, "reasoning_tokens"));
	writer_member_object(&w, KEY_USAGE);
	if (input != 0 || output != 0 || reasoning != 0) {
		writer_member_integer(&w, "input_tokens", input);
		writer_member_integer(&w, "output_tokens", count_add(output, reasoning));
	}
	if (reasoning != 0)
		writer_member_integer(&w, "reasoning_tokens", reasoning);
	writer_object_end(&w);
	if (span_type(model) == 's')
		writer_member_span(&w, KEY_MODEL, model);
	writer_object_end(&w);
	return 0;
}

int
agentloom_answer(struct agentloom *a, const struct provider_request *request,
    const char sha256[DIGEST_SIZE], struct buffer *answer, struct error *err)
{
	const struct agentloom_request asked = { request->model, request->system, request->messages,
		request->tools, request->params };
	struct wanted w = { .sha256 = sha256, .step = span_text(request->step) };
	struct entry e;
	struct span found = SPAN_NONE;
	int result;

	if (!agentloom_hash(&asked, w.hash))
		w.hash[0] = '\0';
	if (!a->file.old || !agentloom_hash_old(&asked, w.old_hash))
		w.old_hash[0] = '\0';
	result = find_entry(a, &w, &e, err);
	if (result == 0 && span_type(e.value) == 'a') {
		result = agentloom_claim_list_answer(a, &w, &e, &found, err);
	} else if (result == 0) {
		found = e.value;
		result = check_hash(a, &w, &e, found, err);
	}
	if (result == 0)
		result = agentloom_write_answer(found, answer, err);
	free(w.step);
	return result;
}
