/*
 * The model of a run says which calls there are; what they were given and what they gave is collected
 * while it reads. A run that is a fork is read after the run that it was forked from, so that the model
 * knows the calls that were taken over.
 */
#include "diff/side.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/invariant.h"
#include "base/memory.h"
#include "base/text.h"
#include "diff/filter.h"
#include "diff/value.h"
#include "io/path.h"
#include "json/writer.h"
#include "model/summary.h"
#include "transcript/blob.h"
#include "transcript/event_keys.h"

#define DEPTH_MOST 64 /* runs inside of each other, and forks of forks */

/* What is known of a call, by its number. */
struct noted {
	struct diff_call call;
	struct diff_tool *tools;
	const struct model_call *from;  /* its result was taken over from this call; NULL */
	struct diff_call *made;         /* its call in the tree; NULL: none yet */
	const char *child_run_id;
	struct uuid said;               /* key of what a model said last */
};

/* Reading one run. */
struct reading {
	struct diff_side *side;
	struct model model;
	struct noted **noted;           /* by number */
	size_t count;
	const struct diff_source *source;
	struct buffer whole;            /* a line with what is in its blobs */
	struct uuid stdin_key, stdout_key;
	char status[16];
	bool masked, by_values;         /* by_values: digests are not compared */
	struct event_place begin;       /* of the attempt */
	struct diff_files files;        /* the workflow's */
};

const struct diff_file *
diff_files_find(const struct diff_files *files, const char *path)
{
	const char *name = strrchr(path, '/');

	for (size_t i = 0; i < files->count; i++)
		if (strcmp(files->list[i].path, path) == 0)
			return &files->list[i];
	for (size_t i = 0; name != NULL && i < files->count; i++) {
		const char *other = strrchr(files->list[i].path, '/');

		if (other != NULL && strcmp(other, name) == 0)
			return &files->list[i];
	}
	return NULL;
}

bool
diff_call_is_part(const struct diff_call *c)
{
	return c->around != NULL && strcmp(c->around->name, c->name) == 0 && strcmp(c->around->path, c->path) == 0;
}

/* ---- what lines say ---- */

static const char *
diff_side_text(struct diff_side *s, struct span value)
{
	struct buffer text = BUFFER_INIT;
	const char *copy;

	if (span_type(value) != 's')
		return "";
	span_decode(value, &text);
	copy = arena_copy(&s->memory, buffer_string(&text), text.len);
	buffer_free(&text);
	return copy;
}

static struct uuid
diff_text_key(struct span value)
{
	return span_type(value) == 's' ? bytes_key(value.at, value.len) : (struct uuid){ 0, 0 };
}

/* The digest of the blob that a member of the payload is in; absent if it is in none. */
static struct span
diff_event_blob(const struct event_view *event, const char *member)
{
	char *at = memory_format("/payload/%s", member);
	struct span sha256 = SPAN_NONE;

	for (struct span_walk ref = span_walk(event->refs); event->refs.at != NULL && span_next(&ref);)
		if (span_is(span_member(ref.value, KEY_AT), at))
			sha256 = span_member(ref.value, KEY_SHA256);
	free(at);
	return sha256;
}

static struct uuid
diff_reading_key_unfiltered(const struct event_view *event, const char *member)
{
	const struct span blob = diff_event_blob(event, member);

	return blob.at != NULL ? diff_text_key(blob) : diff_value_key(span_member(event->payload, member));
}

/* The key of a member of the payload, which may be in a blob that was not read. */
static struct uuid
diff_reading_key(const struct reading *r, const struct event_view *event, const char *member)
{
	const struct span value = span_member(event->payload, member);

	if (event->refs.at != NULL && (value.at == NULL || span_type(value) == '0'))
		return diff_text_key(diff_event_blob(event, member));
	return diff_filter_add(r->side->filter, value);
}

static struct noted *
diff_reading_note(struct reading *r, const struct model_call *call)
{
	if (call->number >= r->count) {
		size_t count = ((size_t)call->number + 1) * 2;

		r->noted = memory_array(r->noted, count, sizeof *r->noted);
		memset(r->noted + r->count, 0, (count - r->count) * sizeof *r->noted);
		r->count = count;
	}
	if (r->noted[call->number] == NULL) {
		r->noted[call->number] = arena_zero(&r->side->memory, sizeof **r->noted);
		r->noted[call->number]->call.own.ms = -1;
		r->noted[call->number]->call.source = r->source;
	}
	return r->noted[call->number];
}

/* The files of a list. */
static struct diff_files
diff_reading_files(const struct reading *r, struct span files)
{
	struct diff_file *list;
	size_t room = 0, count = 0;

	for (struct span_walk file = span_walk(files); span_type(files) == 'a' && span_next(&file);)
		room++;
	list = arena_zero(&r->side->memory, (room + 1) * sizeof *list);
	for (struct span_walk file = span_walk(files); count < room && span_next(&file);)
		list[count++] = (struct diff_file){ diff_side_text(r->side, span_member(file.value, KEY_PATH)),
			r->by_values ? "" : diff_side_text(r->side, span_member(file.value, KEY_SHA256)) };
	INVARIANT(count == room);
	return (struct diff_files){ list, count };
}

static void
diff_reading_start(struct reading *r, struct noted *n, const struct event_view *event, struct event_place place)
{
	struct diff_call *c = &n->call;

	c->places.begin = place;
	c->keys.input = diff_text_key(span_member(event->payload, KEY_INPUT_SHA256));
	/* Digests of masked values differ in each run. */
	if (r->by_values)
		c->keys.input = diff_value_key(span_member(event->payload, KEY_INPUT));
	else
		c->keys.definition = diff_text_key(span_member(event->payload, KEY_DEFINITION_SHA256));
	if (r->side->filter != NULL && span_type(span_member(event->payload, KEY_INPUT)) != '0' &&
	    span_member(event->payload, KEY_INPUT).at != NULL) {
		c->keys.input = diff_filter_add(r->side->filter, span_member(event->payload, KEY_INPUT));
		c->filtered = true;
	}
	if (r->by_values && !diff_key_is(c->keys.definition))
		c->keys.definition = diff_value_key(span_member(event->payload, KEY_BLOCKS));
	c->files = diff_reading_files(r, span_member(event->payload, KEY_FILES));
}

static void
diff_reading_end(struct reading *r, struct noted *n, const struct placed *placed,
    const struct event_view *event)
{
	const struct span from = span_member(event->payload, KEY_REUSED_FROM);
	struct diff_call *c = &n->call;
	long long ms;

	c->places.end = placed->place;
	if (from.at != NULL)
		n->from = model_call_of(&r->model, from);
	c->keys.result = diff_reading_key(r, event, KEY_RESULT);
	c->changed = diff_reading_files(r, span_member(event->payload, KEY_CHANGED));
	if (span_integer(span_member(event->payload, KEY_DURATION_MS), &ms))
		c->own.ms = ms;
}

/* The text of a message. */
static void
diff_message_text(struct span blocks, struct buffer *out)
{
	for (struct span_walk block = span_walk(blocks); span_type(blocks) == 'a' && span_next(&block);) {
		const struct span text = span_member(block.value, KEY_TEXT);

		if (span_type(text) != 's')
			continue;
		buffer_text(out, out->len > 0 ? "\n" : "");
		span_decode(text, out);
	}
}

/* What a model said last is the result of a call that has no other, as those of sessions of other programs;
 * and which model it was, if the call does not say it. */
static void
diff_reading_said(struct reading *r, struct noted *n, const struct event_view *event, struct event_place place)
{
	const struct span model = span_member(event->payload, KEY_MODEL);
	struct buffer text = BUFFER_INIT, quoted = BUFFER_INIT;

	diff_message_text(span_member(event->payload, KEY_BLOCKS), &text);
	if (text.len > 0) {
		json_quote(&quoted, text.data, text.len);
		n->said = diff_filter_add(r->side->filter, span_of(quoted.data, quoted.len));
		n->call.places.said = place;
	}
	if (span_type(model) == 's')
		n->call.model = diff_side_text(r->side, model);
	buffer_free(&text);
	buffer_free(&quoted);
}

static void
diff_reading_tool(struct reading *r, struct noted *n, const struct event_view *event, struct event_place place)
{
	struct diff_call *c = &n->call;
	struct diff_tool *grown;

	/* The arena cannot grow an array: each power of two is a new one. */
	if ((c->tool_count & (c->tool_count + 1)) == 0 || c->tool_count == 0) {
		grown = arena_zero(&r->side->memory, (c->tool_count * 2 + 2) * sizeof *grown);
		if (c->tool_count > 0)
			memcpy(grown, n->tools, c->tool_count * sizeof *grown);
		n->tools = grown;
		c->tools = grown;
	}
	n->tools[c->tool_count++] = (struct diff_tool){
		.name = diff_side_text(r->side, span_member(event->payload, KEY_NAME)),
		.input = diff_reading_key(r, event, KEY_INPUT), .place = place,
		.id = diff_text_key(span_member(event->payload, KEY_CALL_ID)) };
}

/* The result of the latest call of a tool with its id. */
static void
diff_reading_answered(const struct reading *r, struct noted *n, const struct event_view *event, struct event_place place)
{
	const struct uuid id = diff_text_key(span_member(event->payload, KEY_CALL_ID));

	for (size_t i = n->call.tool_count; i-- > 0;)
		if (diff_keys_equal(n->tools[i].id, id)) {
			n->tools[i].answer = diff_reading_key(r, event, KEY_OUTPUT);
			if (!diff_key_is(n->tools[i].answer))
				n->tools[i].answer = diff_filter_add(r->side->filter,
				    span_path(event->payload, KEY_ERROR, KEY_MESSAGE, NULL));
			n->tools[i].answered = place;
			return;
		}
}

/* The key of two values. */
static struct uuid
diff_keys_join(struct uuid a, struct uuid b)
{
	const struct uuid both[2] = { a, b };

	return diff_key_is(a) || diff_key_is(b) ? bytes_key((const char *)both, sizeof both) : a;
}

static void
diff_reading_answer(struct reading *r, struct noted *n, const struct placed *placed,
    const struct event_view *event)
{
	static const struct { const char *key; size_t at; } counts[] = {
		{ KEY_INPUT_TOKENS, offsetof(struct diff_figures, input_tokens) },
		{ KEY_OUTPUT_TOKENS, offsetof(struct diff_figures, output_tokens) },
	};
	const struct span usage = span_member(event->payload, KEY_USAGE);
	struct diff_figures *f = &n->call.own;
	const int64_t cost = cost_take(&r->side->cost, placed);
	long long count;

	if (event_tells_retry(event))
		f->retries++;
	else if (!event_tells_wait(event))
		f->turns++;
	for (size_t i = 0; i < sizeof counts / sizeof *counts; i++)
		if (span_integer(span_member(usage, counts[i].key), &count))
			*(int64_t *)((char *)f + counts[i].at) += count;
	if (cost == COST_UNKNOWN || f->cost == COST_UNKNOWN)
		f->cost = COST_UNKNOWN;
	else if (cost != COST_NONE)
		f->cost += cost;
}

/* The key of what the workflow printed; all zeros if that is not kept with the transcript. */
static struct uuid
diff_reading_stdout(const struct reading *r, struct span sha256)
{
	struct buffer bytes = BUFFER_INIT, text = BUFFER_INIT;
	struct uuid key = { 0, 0 };
	char name[DIGEST_SIZE];
	struct error ignored;

	if (r->side->by_digests)
		key = diff_text_key(sha256);
	else if (span_copy(sha256, name, sizeof name) && r->source->blobs != NULL &&
	    blob_read(r->source->blobs, name, &bytes, &ignored) == 0 && utf8_valid(bytes.data, bytes.len)) {
		json_quote(&text, buffer_string(&bytes), bytes.len);
		key = diff_filter_add(r->side->filter, span_of(text.data, text.len));
	}
	buffer_free(&bytes);
	buffer_free(&text);
	return key;
}

static void
diff_reading_run(struct reading *r, const struct event_view *event, struct event_place place)
{
	if (event->type == EVENT_RUN_STARTED) {
		r->masked = span_true(span_member(event->payload, KEY_MASKED));
		r->by_values = r->masked || r->side->by_values;
		r->begin = place;
		r->files = diff_reading_files(r, span_member(event->payload, KEY_FILES));
		r->stdin_key = r->stdout_key = (struct uuid){ 0, 0 };
		*r->status = '\0';
		return;
	}
	span_copy(span_member(event->payload, KEY_STATUS), r->status, sizeof r->status);
	r->stdin_key = diff_text_key(span_path(event->payload, KEY_STDIN, KEY_SHA256, NULL));
	r->stdout_key = diff_reading_stdout(r, span_path(event->payload, KEY_STDOUT, KEY_SHA256, NULL));
	if (r->by_values)
		r->stdin_key = (struct uuid){ 0, 0 };
}

static int
diff_reading_take(void *context, const struct placed *placed, struct error *err)
{
	struct reading *r = context;
	struct event_view inlined, *event = &inlined;
	struct error ignored;
	struct noted *n;

	*event = *placed->event;
	if (placed->event->type == EVENT_RUN_STARTED || placed->event->type == EVENT_RUN_COMPLETED)
		diff_reading_run(r, placed->event, placed->place);
	if (placed->call == NULL || placed->event->type == EVENT_TYPES)
		return 0;
	(void)err;
	if (placed->event->refs.at != NULL && placed->line.at != NULL && !r->side->by_digests) {
		buffer_clear(&r->whole);
		if (blob_inline(r->source->blobs, placed->line.at, placed->line.len, &r->whole, &ignored) != 0 ||
		    event_view(r->whole.data, r->whole.len, event) != 0) {
			r->side->lacks_blobs = true;
			*event = *placed->event;
		}
	}
	n = diff_reading_note(r, placed->call);
	switch (placed->event->type) {
	case EVENT_STEP_STARTED:
	case EVENT_CALL_WORKFLOW_STARTED:
		diff_reading_start(r, n, event, placed->place);
		break;
	case EVENT_STEP_COMPLETED:
	case EVENT_CALL_WORKFLOW_COMPLETED:
		diff_reading_end(r, n, placed, event);
		break;
	case EVENT_MESSAGE_USER:
		if (n->call.places.asked.length == 0) {
			n->call.places.asked = placed->place;
			n->call.keys.prompt = diff_reading_key(r, event, KEY_SYSTEM_PROMPT);
			n->call.keys.settings = diff_keys_join(diff_value_key(span_member(event->payload, KEY_PARAMS)),
			    diff_reading_key_unfiltered(event, KEY_TOOLS));
		}
		break;
	case EVENT_MESSAGE_ASSISTANT:
		diff_reading_answer(r, n, placed, event);
		diff_reading_said(r, n, event, placed->place);
		break;
	case EVENT_TOOL_CALL:
		diff_reading_tool(r, n, event, placed->place);
		break;
	case EVENT_TOOL_RESULT:
		diff_reading_answered(r, n, event, placed->place);
		break;
	default:
		break;
	}
	return 0;
}

/* ---- the tree ---- */

static int diff_side_read_run(struct diff_side *s, struct diff_call *root, const char *path, const char *run_id,
    int depth, struct error *err);

/* The occurrence and the item in the id of a call, NAME:OCCURRENCE:ITEM. */
static void
diff_call_numbers(struct diff_call *c)
{
	const char *last = strrchr(c->id, '/'), *colon;

	colon = strchr(last != NULL ? last : c->id, ':');
	c->occurrence = colon != NULL ? strtoll(colon + 1, NULL, 10) : 0;
	colon = colon != NULL ? strchr(colon + 1, ':') : NULL;
	c->item = colon != NULL ? strtoll(colon + 1, NULL, 10) : 0;
}

static void
diff_call_append(struct diff_call *around, struct diff_call *c)
{
	c->around = around;
	if (around->last != NULL)
		around->last->beside = c;
	else
		around->first = c;
	around->last = c;
	around->inside_count++;
}

/* Makes a call of the tree, with the calls inside it. taken: its run took it over. */
static void
diff_reading_make(struct reading *r, struct diff_call *around, const struct model_call *call, bool taken)
{
	struct diff_side *s = r->side;
	struct noted *n = diff_reading_note(r, call);
	const struct model_call *origin = call;
	const struct noted *source = n;
	struct diff_call *c = arena_zero(&s->memory, sizeof *c);

	for (int i = 0; source->from != NULL && i < DEPTH_MOST; i++) {
		origin = source->from;
		source = diff_reading_note(r, origin);
	}
	*c = source->call;
	if (diff_key_is(n->call.keys.input))
		c->keys.input = n->call.keys.input;
	if (diff_key_is(n->call.keys.definition))
		c->keys.definition = n->call.keys.definition;
	c->name = arena_copy(&s->memory, call->step->name, strlen(call->step->name));
	c->kind = arena_copy(&s->memory, call->step->kind, strlen(call->step->kind));
	c->path = arena_copy(&s->memory, call->step->path, strlen(call->step->path));
	c->id = arena_copy(&s->memory, call->id, strlen(call->id));
	if (!diff_key_is(c->keys.result))
		c->keys.result = source->said;
	c->provider = call->step->provider != NULL ?
	    arena_copy(&s->memory, call->step->provider, strlen(call->step->provider)) : "";
	c->model = call->step->model != NULL ?
	    arena_copy(&s->memory, call->step->model, strlen(call->step->model)) : c->model != NULL ? c->model : "";
	c->state = call->state;
	c->code = call->code;
	c->own.retries += origin->rare->tries;
	c->taken_over = taken || source != n;
	diff_call_numbers(c);
	diff_call_append(around, c);
	n->made = c;
	n->child_run_id = *origin->rare->child_run_id == '\0' ? NULL :
	    arena_copy(&s->memory, origin->rare->child_run_id, strlen(origin->rare->child_run_id));
	for (const struct model_call *inside = origin->first_inside; inside != NULL; inside = inside->beside)
		diff_reading_make(r, c, inside, c->taken_over);
}

/* Sets of each call made which calls its input came from, and reads child runs. */
static int
diff_reading_connect(struct reading *r, const char *directory, int depth, struct error *err)
{
	int failed = 0;

	for (const struct model_call *call = r->model.first_of_attempt; failed == 0 && call != NULL; call = call->next) {
		struct noted *n = call->number < r->count ? r->noted[call->number] : NULL;
		char *path;

		if (n == NULL || n->made == NULL)
			continue;
		n->made->before = arena_zero(&r->side->memory, (call->before_count + 1) * sizeof *n->made->before);
		for (uint32_t i = 0; i < call->before_count; i++) {
			const struct model_call *before = call->before[i];

			if (before->number < r->count && r->noted[before->number] != NULL &&
			    r->noted[before->number]->made != NULL)
				n->made->before[n->made->before_count++] = r->noted[before->number]->made;
		}
		if (n->child_run_id == NULL || r->side->alone || depth >= DEPTH_MOST)
			continue;
		path = memory_format("%s/%s.jsonl", directory, n->child_run_id);
		if (access(path, R_OK) == 0)
			failed = diff_side_read_run(r->side, n->made, path, n->child_run_id, depth + 1, err);
		free(path);
	}
	return failed;
}

static struct diff_source *
diff_side_add_source(struct diff_side *s, const char *path, const char *run_id)
{
	struct diff_source *source = arena_zero(&s->memory, sizeof *source);

	source->path = memory_text(path);
	snprintf(source->run_id, sizeof source->run_id, "%s", run_id);
	source->blobs = transcript_blobs(path, run_id);
	source->filter = s->filter;
	source->next = s->sources;
	s->sources = source;
	return source;
}

/* Feeds the run at path, after the one that it was forked from, if that is there. */
static int
diff_reading_feed(struct reading *r, const char *path, const char *run_id, int depth, struct error *err)
{
	struct diff_source *source;
	int64_t before;
	struct summary summary;
	int failed = summary_read_ends(&summary, path, err);

	if (failed != 0)
		return -1;
	if (*summary.forked_from != '\0' && !r->side->alone && depth < DEPTH_MOST) {
		char *directory = path_directory(path);
		char *original = memory_format("%s/%s.jsonl", directory, summary.forked_from);

		if (access(original, R_OK) == 0)
			failed = diff_reading_feed(r, original, summary.forked_from, depth + 1, err);
		free(original);
		free(directory);
	}
	summary_free(&summary);
	if (failed == 0) {
		r->source = source = diff_side_add_source(r->side, path, run_id);
		r->model.position = 0;
		before = r->model.damaged;
		failed = model_read_file(&r->model, path, err);
		source->damaged = (int64_t)r->model.damaged - before;
	}
	return failed;
}

/* Reads the calls of a run into the tree, inside `root`, which is that of the run or the call that
 * started it: its input is what the run read, its result what it printed. */
static int
diff_side_read_run(struct diff_side *s, struct diff_call *root, const char *path, const char *run_id, int depth,
    struct error *err)
{
	struct reading r = { .side = s };
	char *directory = path_directory(path);
	int failed;

	model_begin(&r.model, MODEL_EVENTS);
	r.model.watch = diff_reading_take;
	r.model.context = &r;
	failed = diff_reading_feed(&r, path, run_id, depth, err);
	if (failed == 0) {
		if (diff_key_is(r.stdin_key))
			root->keys.input = r.stdin_key;
		if (root == &s->root) {
			root->name = r.model.name == NULL ? "" :
			    arena_copy(&s->memory, r.model.name, strlen(r.model.name));
			root->keys.result = r.stdout_key;
			root->source = r.source;
			root->places.begin = r.begin;
			root->files = r.files;
			root->own.ms = (r.model.last - r.model.started) / 1000;
			memcpy(s->status, r.status, sizeof s->status);
			s->masked = r.masked;
		}
		for (const struct model_call *c = r.model.first_of_attempt; c != NULL; c = c->next)
			if (c->around == NULL)
				diff_reading_make(&r, root, c, false);
		failed = diff_reading_connect(&r, directory, depth, err);
	}
	free(directory);
	free(r.noted);
	buffer_free(&r.whole);
	model_free(&r.model);
	return failed;
}

void
diff_figures_add(struct diff_figures *sum, const struct diff_call *c)
{
	if (c->taken_over)
		return;
	sum->turns += c->own.turns;
	sum->retries += c->own.retries;
	sum->input_tokens += c->own.input_tokens;
	sum->output_tokens += c->own.output_tokens;
	sum->cost = sum->cost == COST_UNKNOWN || c->own.cost == COST_UNKNOWN ? COST_UNKNOWN : sum->cost + c->own.cost;
	for (const struct diff_call *inside = c->first; inside != NULL; inside = inside->beside)
		diff_figures_add(sum, inside);
}

int
diff_side_read(struct diff_side *s, const struct storage *storage, const char *argument,
    const struct diff_reading_rules *rules, struct error *err)
{
	struct summary summary;
	struct run_ref ref;
	int failed;

	*s = (struct diff_side){ .root = { .name = "", .kind = "", .path = "", .id = "", .provider = "", .model = "" }, .alone = rules->alone, .by_values = rules->by_values,
		.by_digests = rules->by_digests,
		.filter = rules->filter };
	if (cost_begin(&s->cost, err) != 0)
		return -1;
	if (storage_resolve(storage, argument, &ref, err) != 0)
		return -1;
	failed = summary_read(&summary, ref.path, err);
	if (failed == 0) {
		memcpy(s->run_id, *ref.run_id != '\0' ? ref.run_id : summary.run_id, sizeof s->run_id);
		memcpy(s->forked_from, summary.forked_from, sizeof s->forked_from);
		failed = diff_side_read_run(s, &s->root, ref.path, s->run_id, 0, err);
		if (*s->status == '\0')
			memcpy(s->status, summary.status, sizeof s->status);
		summary_free(&summary);
	}
	diff_figures_add(&s->all, &s->root);
	s->all.ms = s->root.own.ms;
	for (const struct diff_call *c = s->root.first; c != NULL; c = c->beside)
		s->taken_over += c->taken_over;
	run_ref_free(&ref);
	return failed;
}

/* The keys of a call, and of those inside it, of what the filter made of their values. */
static void
diff_call_filter(const struct diff_filter *f, struct diff_call *c)
{
	if (c->filtered)
		c->keys.input = diff_filter_key(f, c->keys.input);
	c->keys.result = diff_filter_key(f, c->keys.result);
	c->keys.prompt = diff_filter_key(f, c->keys.prompt);
	for (size_t i = 0; i < c->tool_count; i++) {
		c->tools[i].input = diff_filter_key(f, c->tools[i].input);
		c->tools[i].answer = diff_filter_key(f, c->tools[i].answer);
	}
	for (struct diff_call *inside = c->first; inside != NULL; inside = inside->beside)
		diff_call_filter(f, inside);
}

void
diff_side_filter(struct diff_side *s)
{
	diff_call_filter(s->filter, &s->root);
}

void
diff_side_free(struct diff_side *s)
{
	for (struct diff_source *source = s->sources; source != NULL; source = source->next) {
		free(source->path);
		free(source->blobs);
	}
	cost_free(&s->cost);
	arena_free(&s->memory);
}

/* ---- values ---- */

/* Appends what is shown of a value, after the filter. What that made of several state lines are the lines. */
static void
diff_call_show(const struct diff_call *c, struct span value, struct buffer *out)
{
	const struct diff_filter *filter = c->source->filter;
	const struct span made = filter != NULL && value.at != NULL ? diff_filter_value(filter, value) : value;

	if (made.at == value.at || span_type(made) != 'a' || !diff_value_is_lines(value)) {
		diff_value_show(made, out);
		return;
	}
	for (struct span_walk line = span_walk(made); span_next(&line);) {
		span_plain(line.value, out);
		buffer_byte(out, '\n');
	}
}

/* Appends the member of the payload at a place. */
static void
diff_call_read(const struct diff_call *c, struct event_place place, const char *member, bool result,
    struct buffer *out)
{
	struct buffer line = BUFFER_INIT, whole = BUFFER_INIT;
	struct event_view event;
	struct error ignored;
	struct span value;

	if (place.length == 0 || event_load(c->source->path, place, &line, &ignored) != 0) {
		buffer_free(&line);
		return;
	}
	if (blob_inline(c->source->blobs, line.data, line.len, &whole, &ignored) != 0) {
		if (event_view(line.data, line.len, &event) == 0 && diff_event_blob(&event, member).at != NULL) {
			buffer_text(out, "not there: the blob ");
			span_plain(diff_event_blob(&event, member), out);
		}
	} else if (event_view(whole.data, whole.len, &event) == 0) {
		value = *member == '/' ? pointer_find(event.payload, member) : span_member(event.payload, member);
		if (result)
			diff_call_show(c, value, out);
		else if (value.at != NULL && span_type(value) != '0')
			span_plain(diff_filter_value(c->source->filter, value), out);
	}
	buffer_free(&line);
	buffer_free(&whole);
}

void
diff_call_value(const struct diff_call *c, struct event_place place, const char *member, struct buffer *out)
{
	diff_call_read(c, place, member, false, out);
}

void
diff_call_result(const struct diff_call *c, struct buffer *out)
{
	struct buffer blocks = BUFFER_INIT, text = BUFFER_INIT, quoted = BUFFER_INIT;

	diff_call_read(c, c->places.end, KEY_RESULT, true, out);
	if (out->len == 0 && c->places.said.length > 0) {
		diff_call_read(c, c->places.said, KEY_BLOCKS, false, &blocks);
		diff_message_text(span_of(buffer_string(&blocks), blocks.len), &text);
		json_quote(&quoted, buffer_string(&text), text.len);
		diff_call_show(c, span_of(quoted.data, quoted.len), out);
	}
	buffer_free(&blocks);
	buffer_free(&text);
	buffer_free(&quoted);
}

void
diff_call_answer(const struct diff_call *c, const struct diff_tool *tool, struct buffer *out)
{
	diff_call_read(c, tool->answered, KEY_OUTPUT, true, out);
	if (out->len == 0)
		diff_call_read(c, tool->answered, "/error/message", true, out);
}
