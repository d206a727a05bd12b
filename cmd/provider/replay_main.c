/*
 * Answers from a recording instead of a model: from a transcript, from a JSON Lines file of
 * `message` and `error` answers with optional `match` and `turn`, or from a recording of AgentLoom.
 * No network.
 *
 * Wherever possible the answer depends only on the request and the file, so that several providers
 * can serve the steps of a pipeline from one file at once. The first line decides whether the file
 * is a transcript; then the model of the run says which call each answer belongs to. Four rules are
 * tried for a request, the surest first; only answers that nothing distinguishes are given in their
 * order.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agentloom.h"
#include "base/list.h"
#include "base/memory.h"
#include "base/text.h"
#include "io/file.h"
#include "json/line_input.h"
#include "model/model.h"
#include "provider.h"
#include "transcript/blob.h"
#include "transcript/event.h"
#include "transcript/event_keys.h"

#define SUFFIX ".jsonl"
#define NO_CALL ((size_t)-1)

static const char usage[] =
"awf-provider-replay < requests\n"
"\n"
"Answers the requests of awf-step from a recording, see awf-provider(7): the\n"
"file that AWF_REPLAY names, or else the model of the request. It is a\n"
"transcript, or has an answer on each line.";

/* What a recorded call was asked. */
struct recorded_call {
	char question[DIGEST_SIZE]; /* digest of its system prompt and first blocks; "" if there
	                               are none */
	long long turns;            /* answers so far */
};

struct recorded_answer {
	char *line;                /* owns the text into which body points */
	struct span body;          /* object with blocks, stop_reason, usage, model */
	char sha256[DIGEST_SIZE];  /* of its request; "" if it is not known */
	size_t call;               /* index; NO_CALL for lines of a file of answers */
	char **match;              /* parts of the request, all of which must occur; NULL: any */
	long long turn;            /* number of assistant messages in the request; -1: any */
	bool used;
};

struct recording {
	char *path;                /* NULL: none is loaded */
	struct recorded_call *calls;
	size_t call_count;
	struct recorded_answer *answers;
	size_t answer_count;
	bool foreign;              /* it is AgentLoom's: */
	struct agentloom agentloom;
	struct buffer made;        /* the answer found last, in AWF's form */
	/* While the file is read: */
	size_t lines;
	char *blobs;
};

/* A digest of the system prompt and the texts of the blocks, which is the same for a request and
 * for the message.user that records it. */
static void
digest_question(struct span system, struct span blocks, char out[DIGEST_SIZE])
{
	struct buffer text = BUFFER_INIT;

	span_decode(system, &text);
	for (struct span_walk block = span_walk(blocks); span_next(&block);) {
		buffer_byte(&text, '\0');
		span_decode(span_member(block.value, KEY_TYPE), &text);
		buffer_byte(&text, '\0');
		span_decode(span_member(block.value, KEY_TEXT), &text);
	}
	digest_sha256(buffer_string(&text), text.len, out);
	buffer_free(&text);
}

/* Appends an answer, which is copied. */
static struct recorded_answer *
add_answer(struct recording *r, struct span body, size_t call, long long turn)
{
	char *line = memory_copy(body.at, body.len);

	r->answers = memory_array(r->answers, r->answer_count + 1, sizeof *r->answers);
	r->answers[r->answer_count] = (struct recorded_answer){ .line = line,
	    .body = span_of(line, body.len), .call = call, .turn = turn };
	return &r->answers[r->answer_count++];
}

/* Handles an event of a transcript, called by its model. */
static int
recording_add_transcript_event(void *context, const struct placed *at, struct error *err)
{
	struct recording *r = context;
	struct buffer whole = BUFFER_INIT;
	struct recorded_call *call;
	struct recorded_answer *a;
	struct event_view view;
	size_t count = at->run->count;
	struct span payload;

	r->lines++;
	if (at->run->damaged > 0)
		return error_set(err, ERROR_INVALID, NULL, "this is no line of a transcript");
	if (at->call == NULL || (at->event->type != EVENT_MESSAGE_USER &&
	    at->event->type != EVENT_MESSAGE_ASSISTANT))
		return 0;
	if (r->call_count < count) {
		r->calls = memory_array(r->calls, count, sizeof *r->calls);
		memset(r->calls + r->call_count, 0, (count - r->call_count) * sizeof *r->calls);
		r->call_count = count;
	}
	call = &r->calls[at->call->number];
	if (blob_inline(r->blobs, at->line.at, at->line.len, &whole, err) != 0) {
		buffer_free(&whole);
		return -1;
	}
	if (event_view(whole.data, whole.len, &view) == 0) {
		payload = view.payload;
		if (view.type == EVENT_MESSAGE_USER) {
			/* The first prompt of a call identifies it. */
			if (call->question[0] == '\0')
				digest_question(span_member(payload, KEY_SYSTEM_PROMPT),
				    span_member(payload, KEY_BLOCKS), call->question);
		} else if (!span_true(span_member(payload, KEY_PARTIAL))) {
			a = add_answer(r, payload, at->call->number, call->turns++);
			if (!span_copy(span_member(payload, KEY_REQUEST_SHA256), a->sha256,
			    sizeof a->sha256))
				a->sha256[0] = '\0';
		}
	}
	buffer_free(&whole);
	return 0;
}

static int
load_transcript(struct recording *r, const char *path, struct error *err)
{
	char *directory = path_directory(path);
	const char *name = path_base(path);
	size_t len = strlen(name);
	struct model model;
	int result;

	/* Where its blobs are, if it is in a storage. */
	if (text_ends(name, SUFFIX) && len > strlen(SUFFIX))
		len -= strlen(SUFFIX);
	r->blobs = memory_format("%s/../blobs/%.*s", directory, (int)len, name);
	free(directory);
	model_begin(&model, MODEL_EVENTS);
	model.watch = recording_add_transcript_event;
	model.context = r;
	result = model_read_file(&model, path, err);
	if (result == 0 && model.damaged > 0) {
		r->lines++;
		result = error_set(err, ERROR_INVALID, NULL, "this is no line of a transcript");
	}
	model_free(&model);
	free(r->blobs);
	r->blobs = NULL;
	return result;
}

static bool
same_match(char *const *a, char *const *b)
{
	size_t i = 0, count = list_count(a);

	for (; i < count && i < list_count(b) && strcmp(a[i], b[i]) == 0; i++)
		;
	return i == count && i == list_count(b);
}

/* A text, or a list of texts. */
static int
read_match(struct span value, char ***match, struct error *err)
{
	bool good = span_type(value) == 's' || span_type(value) == 'a';

	if (value.at == NULL)
		return 0;
	if (span_type(value) == 's')
		list_take(match, span_text(value));
	for (struct span_walk part = span_walk(value); good && !part.object && span_next(&part);) {
		good = span_type(part.value) == 's';
		if (good)
			list_take(match, span_text(part.value));
	}
	return good && *match != NULL ? 0 : error_set(err, ERROR_INVALID, NULL,
	    "match: expected a string or a list of strings");
}

/* Reads a line of a file of answers. */
static int
recording_add_answer_line(struct recording *r, const char *line, size_t len, struct error *err)
{
	struct span body = span_trim(span_of(line, len)), type;
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
	if (span_type(body) != 'o')
		return error_set(err, ERROR_INVALID, NULL, "expected an object");
	type = span_member(body, KEY_TYPE);
	if (span_is(type, "error")) {
		if (span_type(span_member(body, "category")) != 's')
			return error_set(err, ERROR_INVALID, NULL, "category: expected a string");
	} else if (type.at != NULL && !span_is(type, "message")) {
		return error_set(err, ERROR_INVALID, NULL, "type: expected \"message\" or \"error\"");
	} else if (span_type(span_member(body, KEY_BLOCKS)) != 'a') {
		return error_set(err, ERROR_INVALID, NULL, "blocks: expected an array");
	}
	if (read_match(span_member(body, "match"), &match, err) != 0) {
		list_free(match);
		return -1;
	}
	/* The number of earlier lines with the same match. */
	if (match != NULL) {
		turn = 0;
		for (size_t i = 0; i < r->answer_count; i++)
			turn += same_match(r->answers[i].match, match);
	}
	number_set(&turn, span_member(body, "turn"));
	a = add_answer(r, body, NO_CALL, turn);
	a->match = match;
	return 0;
}

static int
load_lines(struct recording *r, const char *path, struct error *err)
{
	int fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC), more;
	struct line_input input;
	struct error why = ERROR_INIT;
	struct stat status;
	const char *line;
	struct event_head head;
	size_t len;

	if (fd == -1 && errno == ELOOP)
		return error_set(err, ERROR_INVALID, path, "a symbolic link, which is not followed: name the file that it "
		    "leads to");
	if (fd == -1)
		return error_set(err, ERROR_INVALID, path, "unable to open: %s", strerror(errno));
	if (fstat(fd, &status) == -1 || !S_ISREG(status.st_mode)) {
		close(fd);
		return error_set(err, ERROR_INVALID, path, "is no regular file");
	}
	line_input_begin(&input, fd, path);
	while ((more = line_input_next(&input, &line, &len, &why)) == 1) {
		if (r->lines == 0 && event_peek(line, len, &head) == 0) {
			more = load_transcript(r, path, &why);
			break;
		}
		r->lines++;
		if ((more = recording_add_answer_line(r, line, len, &why)) != 0)
			break;
	}
	if (more == 0 && r->lines == 0 && line_input_unfinished(&input) > 0)
		more = error_set(&why, ERROR_INVALID, NULL, "no line ends");
	if (more != 0) {
		char *place = memory_format("%s:%zu", path, r->lines);

		error_set(err, ERROR_INVALID, place, "%s", why.message);
		free(place);
	}
	line_input_free(&input);
	close(fd);
	return more;
}

/* Errors: ERROR_INVALID, with FILE:LINE as place. */
static int
recording_load(struct recording *r, const char *path, struct error *err)
{
	memset(r, 0, sizeof *r);
	r->path = memory_text(path);
	if (agentloom_file_is(path, &r->foreign, err) != 0)
		return -1;
	return r->foreign ? agentloom_load(&r->agentloom, path, err) : load_lines(r, path, err);
}

static void
recording_free(struct recording *r)
{
	for (size_t i = 0; i < r->answer_count; i++) {
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

/* A request that is searched for. */
struct wanted {
	char sha256[DIGEST_SIZE]; /* as awf-step records it: of the request without its id and step */
	char question[DIGEST_SIZE];
	long long turn;
	char *text; /* the whole line */
};

/* The surest first: the digest of the whole request, the question and the turn, the line's own
 * match, the order. */
enum rule { BY_DIGEST, BY_QUESTION, BY_MATCH, BY_ORDER, RULES };

static bool
recording_answer_matches(enum rule rule, const struct recording *r, const struct recorded_answer *a,
    const struct wanted *w)
{
	switch (rule) {
	case BY_DIGEST:
		return strcmp(a->sha256, w->sha256) == 0;
	case BY_QUESTION:
		return a->call != NO_CALL && a->turn == w->turn &&
		    strcmp(r->calls[a->call].question, w->question) == 0;
	case BY_MATCH:
		if (a->match == NULL || a->turn != w->turn)
			return false;
		for (char *const *part = a->match; *part != NULL; part++)
			if (strstr(w->text, *part) == NULL)
				return false;
		return true;
	default:
		/* Lines without a match (they may have a turn) are given once each. */
		return a->call == NO_CALL && a->match == NULL && !a->used &&
		    (a->turn < 0 || a->turn == w->turn);
	}
}

/* The messages without what awf-step tells of them beside the request (loop_request.c). */
static void
write_messages(struct span messages, struct buffer *out)
{
	static const char *const beside[] = { KEY_FROM, KEY_MOVED, NULL };
	char before = '[', inner;

	for (struct span_walk message = span_walk(messages); span_next(&message);) {
		buffer_byte(out, before);
		before = ',';
		inner = '{';
		for (struct span_walk member = span_walk(message.value); span_next(&member);) {
			if (span_one_of(member.key, beside) != NULL)
				continue;
			buffer_byte(out, inner);
			inner = ',';
			buffer_append(out, member.key.at, member.key.len);
			buffer_byte(out, ':');
			scan_minify(member.value, out);
		}
		buffer_text(out, inner == '{' ? "{}" : "}");
	}
	buffer_text(out, before == '[' ? "[]" : "]");
}

/* The answer for a request, valid until the next search; absent, with ERROR_INVALID, if there is
 * none. */
static struct span
recording_find(struct recording *r, const struct provider_request *request, struct error *err)
{
	static const char *const beside[] = { "id", KEY_PROVIDER, "session_raw", "step", NULL };
	struct span first = span_element(request->messages, 0);
	struct recorded_answer *found = NULL;
	struct buffer text = BUFFER_INIT;
	struct wanted w;
	size_t most = 0;

	buffer_byte(&text, '{');
	for (struct span_walk member = span_walk(request->line); span_next(&member);) {
		if (span_one_of(member.key, beside) != NULL)
			continue;
		if (text.len > 1)
			buffer_byte(&text, ',');
		buffer_append(&text, member.key.at, member.key.len);
		buffer_byte(&text, ':');
		if (span_is(member.key, "messages"))
			write_messages(member.value, &text);
		else
			scan_minify(member.value, &text);
	}
	buffer_byte(&text, '}');
	digest_sha256(text.data, text.len, w.sha256);
	buffer_free(&text);
	if (r->foreign) {
		buffer_clear(&r->made);
		return agentloom_answer(&r->agentloom, request, w.sha256, &r->made, err) == 0 ?
		    span_of(r->made.data, r->made.len) : SPAN_NONE;
	}

	digest_question(request->system, span_member(first, KEY_BLOCKS), w.question);
	w.turn = (long long)provider_count(request, "assistant");
	w.text = memory_copy(request->line.at, request->line.len);
	/* The answer whose match has the most parts; of these the first that was not given yet,
	 * else the first. */
	for (enum rule rule = 0; rule < RULES && found == NULL; rule++)
		for (size_t i = 0; i < r->answer_count; i++) {
			struct recorded_answer *a = &r->answers[i];
			size_t parts = list_count(a->match);

			if (recording_answer_matches(rule, r, a, &w) &&
			    (found == NULL || parts > most ||
			    (parts == most && found->used && !a->used))) {
				found = a;
				most = parts;
			}
		}
	free(w.text);
	if (found == NULL) {
		error_set(err, ERROR_INVALID, r->path, "no recorded answer for this request (turn %lld)",
		    w.turn);
		return SPAN_NONE;
	}
	found->used = true;
	return found->body;
}

static void
recording_answer_request(void *context, struct provider *p, const struct provider_request *request)
{
	static const char *const kinds[] = { KEY_TEXT, KEY_THINKING };
	struct recording *r = context;
	struct failure failure = { .error = ERROR_INIT };
	struct span found = SPAN_NONE;
	struct buffer text = BUFFER_INIT;
	const char *path = environment_text("AWF_REPLAY");
	char *model = span_text(request->model);

	if (path == NULL)
		path = model;
	if (r->path == NULL || strcmp(r->path, path) != 0) {
		recording_free(r);
		if (recording_load(r, path, &failure.error) != 0)
			recording_free(r);
	}
	if (r->path != NULL)
		found = recording_find(r, request, &failure.error);
	free(model);
	if (found.at == NULL) {
		provider_error(p, &failure);
		return;
	}

	/* Text is sent as one delta per block; blocks of text and thinking have it under their
	 * type. */
	for (struct span_walk block = span_walk(span_member(found, KEY_BLOCKS)); span_next(&block);)
		for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
			if (span_is(span_member(block.value, KEY_TYPE), kinds[i])) {
				buffer_clear(&text);
				span_decode(span_member(block.value, kinds[i]), &text);
				provider_delta(p, kinds[i], buffer_string(&text), text.len);
			}
	buffer_free(&text);
	provider_recorded(p, found);
}

/* Without $AWF_REPLAY the model's name is the path of the recording. */
static int
recording_check_file(void *context, struct writer *w, struct error *err)
{
	const char *path = environment_text("AWF_REPLAY");

	(void)w;
	return path == NULL ? 0 : recording_load(context, path, err);
}

int
main(int argc, char **argv)
{
	static struct recording recording;
	static const struct provider_api api = {
		.program = "awf-provider-replay",
		.usage = usage,
		.check = recording_check_file,
		.answer = recording_answer_request,
		.context = &recording
	};
	int status = provider_main(&api, argc, argv);

	recording_free(&recording);
	return status;
}
