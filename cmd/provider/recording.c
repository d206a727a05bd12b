/*
 * The first line decides whether the file is a transcript. Of that the model of the run says
 * which call each answer is of. A request is then tried with four rules, from the sure to the
 * weak: the digest of the whole request, the question and the turn, the line's own match, the
 * order.
 */
#include "recording.h"

#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/list.h"
#include "base/memory.h"
#include "run/model.h"
#include "transcript/blob.h"
#include "transcript/event.h"
#include "transcript/event_keys.h"
#include "transcript/reader.h"

#define SUFFIX ".jsonl"

/* A transcript, or a file of answers, while it is read. */
struct loader {
	struct recording *recording;
	struct model model; /* of the recorded run */
	char *blobs;
	size_t line;
};

/* A digest of the system prompt and the texts of the blocks: the same for a
 * request and for the message.user that records it. */
static void
digest_question(struct span system, struct span blocks, char out[DIGEST_SIZE])
{
	struct buffer text = BUFFER_INIT;

	span_decode(system, &text);
	for (struct span_walk block = span_walk(blocks); span_next(&block);) {
		buffer_byte(&text, '\0');
		span_decode(span_member(block.value, "type"), &text);
		buffer_byte(&text, '\0');
		span_decode(span_member(block.value, "text"), &text);
	}
	digest_sha256(buffer_string(&text), text.len, out);
	buffer_free(&text);
}

static struct recorded_answer *
add_answer(struct recording *r)
{
	struct recorded_answer *a;

	r->answers = memory_array(r->answers, r->answer_count + 1, sizeof *r->answers);
	a = &r->answers[r->answer_count++];
	memset(a, 0, sizeof *a);
	a->call = NO_CALL;
	a->turn = -1;
	return a;
}

/* The first prompt of a call is what it is known by. */
static void
take_user(struct recording *r, size_t call, struct span payload)
{
	if (r->calls[call].question[0] == '\0')
		digest_question(span_member(payload, KEY_SYSTEM_PROMPT), span_member(payload, KEY_BLOCKS),
		    r->calls[call].question);
}

static void
take_assistant(struct recording *r, size_t call, struct span payload)
{
	struct recorded_answer *a;

	if (span_true(span_member(payload, KEY_PARTIAL)))
		return;
	a = add_answer(r);
	a->line = memory_copy(payload.at, payload.len);
	a->body = span_of(a->line, payload.len);
	a->call = call;
	a->turn = r->calls[call].turns++;
	if (!span_copy(span_member(payload, KEY_REQUEST_SHA256), a->sha256, sizeof a->sha256))
		a->sha256[0] = '\0';
}

static int
take_message(struct loader *l, const char *line, size_t len, size_t call, struct error *err)
{
	struct buffer whole = BUFFER_INIT;
	struct event_view view;
	int result = blob_inline(l->blobs, line, len, &whole, err);

	if (result == 0 && event_view(whole.data, whole.len, &view) == 0) {
		if (view.type == EVENT_MESSAGE_USER)
			take_user(l->recording, call, view.payload);
		else
			take_assistant(l->recording, call, view.payload);
	}
	buffer_free(&whole);
	return result;
}

/* A line of a transcript. */
static int
take_event(struct loader *l, const char *line, size_t len, struct error *err)
{
	struct recording *r = l->recording;
	struct event_view view;
	struct placed at;

	if (event_view(line, len, &view) != 0)
		return error_set(err, ERROR_INVALID, NULL, "this is no line of a transcript");
	model_take(&l->model, &view, (struct event_place){ 0, 0 }, &at);
	if (at.call == NULL || (view.type != EVENT_MESSAGE_USER && view.type != EVENT_MESSAGE_ASSISTANT))
		return 0;
	if (r->call_count < l->model.count) {
		r->calls = memory_array(r->calls, l->model.count, sizeof *r->calls);
		memset(r->calls + r->call_count, 0, (l->model.count - r->call_count) * sizeof *r->calls);
		r->call_count = l->model.count;
	}
	return take_message(l, line, len, at.call->number, err);
}

static bool
same_match(char *const *a, char *const *b)
{
	size_t i, count = list_count(a);

	for (i = 0; i < count && i < list_count(b) && strcmp(a[i], b[i]) == 0; i++)
		;
	return i == count && i == list_count(b);
}

/* The number of lines before with the same match. */
static long long
count_matches(const struct recording *r, char *const *match)
{
	long long count = 0;
	size_t i;

	for (i = 0; i < r->answer_count; i++)
		if (same_match(r->answers[i].match, match))
			count++;
	return count;
}

/* A text, or a list of them. */
static int
read_match(struct span value, char ***match, struct error *err)
{
	bool good = span_type(value) == 's' || span_type(value) == 'a';

	if (value.at == NULL)
		return 0;
	if (span_type(value) == 's')
		list_take(match, span_text(value));
	else if (good) {
		for (struct span_walk part = span_walk(value); good && span_next(&part);) {
			good = span_type(part.value) == 's';
			if (good)
				list_take(match, span_text(part.value));
		}
	}
	return good && *match != NULL ? 0 : error_set(err, ERROR_INVALID, NULL,
	    "match: expected a string or a list of strings");
}

static int
check_answer(struct span body, struct error *err)
{
	struct span type = span_member(body, "type");

	if (span_type(body) != 'o')
		return error_set(err, ERROR_INVALID, NULL, "expected an object");
	if (span_is(type, "error"))
		return span_type(span_member(body, "category")) == 's' ? 0 :
		    error_set(err, ERROR_INVALID, NULL, "category: expected a string");
	if (type.at != NULL && !span_is(type, "message"))
		return error_set(err, ERROR_INVALID, NULL, "type: expected \"message\" or \"error\"");
	if (span_type(span_member(body, "blocks")) != 'a')
		return error_set(err, ERROR_INVALID, NULL, "blocks: expected an array");
	return 0;
}

/* A line of a file of answers. */
static int
take_answer(struct loader *l, const char *line, size_t len, struct error *err)
{
	struct span body = span_trim(span_of(line, len));
	struct recorded_answer *a;
	const char *why;
	long long turn = -1;
	char **match = NULL;
	size_t bad;

	if (body.len == 0)
		return 0;
	why = scan_within(line, len, SCAN_LINE_DEPTH, &bad);
	if (why != NULL)
		return error_set(err, ERROR_INVALID, NULL, "byte %zu: %s", bad + 1, why);
	if (check_answer(body, err) != 0)
		return -1;
	if (read_match(span_member(body, "match"), &match, err) != 0) {
		list_free(match);
		return -1;
	}
	if (match != NULL)
		turn = count_matches(l->recording, match);
	number_set(&turn, span_member(body, "turn"));
	a = add_answer(l->recording);
	a->line = memory_copy(body.at, body.len);
	a->body = span_of(a->line, body.len);
	a->match = match;
	a->turn = turn;
	return 0;
}

static int
read_lines(struct loader *l, struct reader *reader, struct error *err)
{
	int (*take)(struct loader *, const char *, size_t, struct error *) = NULL;
	const char *line;
	struct span type;
	int64_t seq;
	size_t len;
	int more;

	while ((more = reader_next(reader, &line, &len, err)) == 1) {
		l->line++;
		if (take == NULL)
			take = event_peek(line, len, &seq, &type) == 0 ? take_event : take_answer;
		if (take(l, line, len, err) != 0)
			return -1;
	}
	return more;
}

/* Where the blobs of a transcript in a storage lie. */
static char *
blob_directory(const char *path)
{
	char *directory = path_directory(path), *blobs;
	const char *name = path_base(path);
	size_t len = strlen(name);

	if (len > strlen(SUFFIX) && strcmp(name + len - strlen(SUFFIX), SUFFIX) == 0)
		len -= strlen(SUFFIX);
	blobs = memory_format("%s/../blobs/%.*s", directory, (int)len, name);
	free(directory);
	return blobs;
}

static int
load_lines(struct recording *r, const char *path, struct error *err)
{
	struct loader l = { .recording = r };
	struct reader reader;
	struct error why = ERROR_INIT;
	int result;

	if (reader_open(&reader, path, &why) != 0)
		return error_set(err, ERROR_INVALID, path, "%s", why.message);
	l.blobs = blob_directory(path);
	model_begin(&l.model, MODEL_EVENTS);
	result = read_lines(&l, &reader, &why);
	if (result == 0 && reader_unfinished(&reader) > 0 && l.line == 0)
		result = error_set(&why, ERROR_INVALID, NULL, "no line ends");
	if (result != 0) {
		char *place = memory_format("%s:%zu", path, l.line);

		error_set(err, ERROR_INVALID, place, "%s", why.message);
		free(place);
	}
	model_free(&l.model);
	free(l.blobs);
	reader_close(&reader);
	return result;
}

int
recording_load(struct recording *r, const char *path, struct error *err)
{
	memset(r, 0, sizeof *r);
	r->path = memory_text(path);
	if (agentloom_file_is(path, &r->foreign, err) != 0)
		return -1;
	return r->foreign ? agentloom_load(&r->agentloom, path, err) : load_lines(r, path, err);
}

void
recording_free(struct recording *r)
{
	size_t i;

	for (i = 0; i < r->answer_count; i++) {
		free(r->answers[i].line);
		list_free(r->answers[i].match);
	}
	if (r->foreign)
		agentloom_free(&r->agentloom);
	buffer_free(&r->made);
	free(r->calls);
	free(r->answers);
	free(r->path);
	memset(r, 0, sizeof *r);
}

/* A request, as it is looked for. */
struct wanted {
	char sha256[DIGEST_SIZE];
	char question[DIGEST_SIZE];
	long long turn;
	char *text; /* the whole line */
};

/* The digest that awf-step records: over the request without its id and step. */
static void
digest_request(struct span line, char out[DIGEST_SIZE])
{
	struct buffer text = BUFFER_INIT;

	buffer_byte(&text, '{');
	for (struct span_walk member = span_walk(line); span_next(&member);) {
		if (span_is(member.key, "id") || span_is(member.key, "step"))
			continue;
		if (text.len > 1)
			buffer_byte(&text, ',');
		buffer_append(&text, member.key.at, member.key.len);
		buffer_byte(&text, ':');
		scan_minify(member.value, &text);
	}
	buffer_byte(&text, '}');
	digest_sha256(text.data, text.len, out);
	buffer_free(&text);
}

static bool
fits_digest(const struct recording *r, const struct recorded_answer *a, const struct wanted *w)
{
	(void)r;
	return strcmp(a->sha256, w->sha256) == 0;
}

static bool
fits_question(const struct recording *r, const struct recorded_answer *a, const struct wanted *w)
{
	return a->call != NO_CALL && a->turn == w->turn &&
	    strcmp(r->calls[a->call].question, w->question) == 0;
}

static bool
fits_match(const struct recording *r, const struct recorded_answer *a, const struct wanted *w)
{
	(void)r;
	if (a->match == NULL || a->turn != w->turn)
		return false;
	for (char *const *part = a->match; *part != NULL; part++)
		if (strstr(w->text, *part) == NULL)
			return false;
	return true;
}

/* The lines that say nothing (or only a turn) are given once each, in order. */
static bool
fits_order(const struct recording *r, const struct recorded_answer *a, const struct wanted *w)
{
	(void)r;
	return a->call == NO_CALL && a->match == NULL && !a->used &&
	    (a->turn < 0 || a->turn == w->turn);
}

/* The answer whose match has the most parts; of these the first that was not given yet,
 * else the first. */
static struct recorded_answer *
find(struct recording *r, const struct wanted *w,
    bool (*fits)(const struct recording *, const struct recorded_answer *, const struct wanted *))
{
	struct recorded_answer *found = NULL;
	size_t most = 0;

	for (size_t i = 0; i < r->answer_count; i++) {
		struct recorded_answer *a = &r->answers[i];
		size_t parts = list_count(a->match);

		if (!fits(r, a, w))
			continue;
		if (found == NULL || parts > most || (parts == most && found->used && !a->used)) {
			found = a;
			most = parts;
		}
	}
	return found;
}

static const struct recorded_answer *
find_foreign(struct recording *r, const struct provider_request *request, struct error *err)
{
	char sha256[DIGEST_SIZE];

	digest_request(request->line, sha256);
	buffer_clear(&r->made);
	if (agentloom_answer(&r->agentloom, request, sha256, &r->made, err) != 0)
		return NULL;
	r->found.body = span_of(r->made.data, r->made.len);
	return &r->found;
}

static const struct recorded_answer *
find_line(struct recording *r, const struct provider_request *request, struct error *err)
{
	static bool (*const rules[])(const struct recording *, const struct recorded_answer *,
	    const struct wanted *) = { fits_digest, fits_question, fits_match, fits_order };
	struct recorded_answer *found = NULL;
	struct span first = span_element(request->messages, 0);
	struct wanted w;
	size_t i;

	digest_request(request->line, w.sha256);
	digest_question(request->system, span_member(first, "blocks"), w.question);
	w.turn = (long long)provider_count(request, "assistant");
	w.text = memory_copy(request->line.at, request->line.len);
	for (i = 0; i < sizeof rules / sizeof rules[0] && found == NULL; i++)
		found = find(r, &w, rules[i]);
	free(w.text);
	if (found != NULL)
		found->used = true;
	else
		error_set(err, ERROR_INVALID, r->path, "no recorded answer for this request (turn %lld)",
		    w.turn);
	return found;
}

const struct recorded_answer *
recording_find(struct recording *r, const struct provider_request *request, struct error *err)
{
	return r->foreign ? find_foreign(r, request, err) : find_line(r, request, err);
}
