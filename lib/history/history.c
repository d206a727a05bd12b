/*
 * Builds a history: reads the recording, or uses the lines that another reader passes in,
 * summarizes it, then writes the index of the whole.
 *
 * The index file is a head, then arrays of sources, records, places and texts, laid out as in
 * memory: the first bytes name the version, and only the same version maps the file. Parts refer to
 * each other by number, and the sizes in the head must add up to the size of the file.
 */
#include "history/history_parts.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/invariant.h"
#include "base/list.h"
#include "base/memory.h"
#include "base/text.h"
#include "io/file.h"
#include "transcript/call.h"
#include "transcript/event_keys.h"

#define OUT_SIZE ((size_t)64 << 10) /* bytes of the index that are written at a time */

struct history_reading {
	struct history_spec spec;
	struct recording recording;
};

/* ---- the index ---- */

/* A record before it is written, as it is sorted. */
struct sorted_call {
	unsigned char key[DIGEST_BYTES];
	const struct recorded_call *call;
	bool superseded;             /* index_record.superseded */
	uint64_t identity, exact;
};

/* The index file while it is being written. Records are written one by one, the rest after all
 * of them. */
struct index {
	const struct recording *rec;
	int fd;
	struct buffer out;           /* not written yet */
	struct place *places;
	size_t place_count, place_capacity;
	struct buffer text;
	uint64_t empty;              /* in text */
	uint64_t marks;              /* offset in text where the marks of the recording begin */
	char (*asked_about)[ID_SIZE]; /* index_question of each call: root; "": it is none, or it is not known */
	bool *asked, *latest, *best; /* it is one; the members of the same name */
};

static uint64_t
history_add_text(struct index *x, const char *text)
{
	uint64_t at = x->text.len;

	buffer_append(&x->text, text, strlen(text) + 1);
	return at;
}

static int
compare_places(const void *a, const void *b)
{
	const struct place *left = a, *right = b;

	if (left->source != right->source)
		return left->source < right->source ? -1 : 1;
	return (left->offset > right->offset) - (left->offset < right->offset);
}

/* Collects the events of a call and of the calls that it continued, in recorded order. */
static void
add_events(struct index *x, const struct recorded_call *c, struct index_record *r)
{
	const struct recording *rec = x->rec;

	r->events = x->place_count;
	for (;;) {
		for (uint32_t i = c->last_event; i != NO_EVENT; i = rec->events[i].before) {
			if (x->place_count == x->place_capacity) {
				x->place_capacity = x->place_capacity == 0 ? 256 : x->place_capacity * 2;
				x->places = memory_array(x->places, x->place_capacity, sizeof *x->places);
			}
			x->places[x->place_count++] = recording_event_place(rec, i);
		}
		if (c->links.claims == NO_CALL || !recorded_call_went_on(c, &rec->calls[c->links.claims]))
			break;
		c = &rec->calls[c->links.claims];
	}
	r->event_count = x->place_count - r->events;
	if (r->event_count > 1)
		qsort(x->places + r->events, (size_t)r->event_count, sizeof *x->places, compare_places);
}

/* An id ends in NAME:OCCURRENCE:ITEM. */
static void
read_position(const char *id, int64_t *occurrence, int64_t *item)
{
	const char *slash = strrchr(id, '/'), *number = strchr(slash != NULL ? slash : id, ':') + 1;

	INVARIANT(call_id_valid(id));
	*occurrence = strtoll(number, NULL, 10);
	*item = strtoll(strchr(number, ':') + 1, NULL, 10);
}

/* The names by which the call is found. Calls inside know a chain of calls by the id of its
 * first call; if the enclosing call is not recorded, nothing finds this one. */
static struct sorted_call
sort_by(const struct recording *rec, const struct recorded_call *c)
{
	struct sorted_call sorted = { .call = c };
	bool replay = rec->spec->mode == RECALL_REPLAY;
	const char *id = c->call->id, *slash = strrchr(id, '/'), *root = slash != NULL ? id : "";
	char *name = call_id_name(id), around[ID_SIZE];
	int64_t occurrence, item;
	struct recorded_marks marks;

	if (c->links.enclosing != NO_CALL)
		root = model_call_event_id(rec->calls[replay ? c->links.enclosing :
		    rec->calls[c->links.enclosing].links.root].call, around);
	if (c->key.use != NO_USE)
		root = rec->marks.data + rec->tool_uses.uses[c->key.use].id;
	read_position(id, &occurrence, &item);
	index_key(root, name, c->kind.member || replay ? item : ANY_ITEM, sorted.key);
	sorted.superseded = !replay && c->links.enclosing != NO_CALL &&
	    c->call->rare->try_number < rec->calls[c->links.enclosing].last_try;
	free(name);
	marks = recording_marks(rec, c);
	sorted.identity = marks_recorded_identity(&marks, &sorted.exact);
	return sorted;
}

static int
compare_calls(const void *a, const void *b)
{
	const struct sorted_call *left = a, *right = b;
	const struct recorded_call *x = left->call, *y = right->call;
	int64_t x_occurrence, y_occurrence, x_item, y_item;
	int order = memcmp(left->key, right->key, DIGEST_BYTES);

	if (order == 0)
		order = memcmp(x->key.guard, y->key.guard, DIGEST_BYTES);
	if (order != 0)
		return order;
	if (left->identity != right->identity)
		return left->identity < right->identity ? -1 : 1;
	if (x->source != y->source) /* the run's own records come last within a key */
		return x->source > y->source ? -1 : 1;
	if (left->superseded != right->superseded)
		return left->superseded ? 1 : -1;
	read_position(x->call->id, &x_occurrence, &x_item);
	read_position(y->call->id, &y_occurrence, &y_item);
	if (x_item != y_item)
		return x_item < y_item ? -1 : 1;
	if (x->attempt != y->attempt) /* those of the last attempt come first */
		return x->attempt > y->attempt ? -1 : 1;
	if (x_occurrence != y_occurrence)
		return x_occurrence < y_occurrence ? -1 : 1;
	return (x > y) - (x < y);
}

/* Whether a command of the call made other calls, in any attempt. */
static bool
chain_runs_calls(const struct recording *rec, uint32_t call)
{
	for (; call != NO_CALL; call = rec->calls[call].links.claims)
		if (rec->calls[call].kind.encloses && rec->calls[call].kind.runs_command)
			return true;
	return false;
}

/* Whether a call that it took over, in any attempt, had another input or definition. */
static bool
chain_edited(const struct recording *rec, uint32_t call)
{
	const struct recorded_call *c = &rec->calls[call];

	for (uint32_t before = c->links.claims; before != NO_CALL; before = rec->calls[before].links.claims)
		if (memcmp(rec->calls[before].key.guard, c->key.guard, DIGEST_BYTES) != 0)
			return true;
	return false;
}

/* Appends what a call does and its input, which is its own or the result of the call before it. */
static void
describe_call(const struct recording *rec, uint32_t call, struct buffer *does, struct buffer *input)
{
	const struct recorded_call *c = &rec->calls[call];
	struct buffer line = BUFFER_INIT, before = BUFFER_INIT;
	struct span payload, given = SPAN_NONE;

	if (event_load(history_source(rec->spec, c->source)->path, c->call->begin, &line, NULL) == 0) {
		payload = span_member(span_of(line.data, line.len), KEY_PAYLOAD);
		history_describe(does, payload);
		given = span_member(payload, KEY_INPUT);
	}
	if (given.at == NULL && c->links.input_from != NO_CALL) {
		const struct place end = rec->calls[c->links.input_from].end;

		if (end.len > 0 && event_load(history_source(rec->spec, end.source)->path,
		    (struct event_place){ end.offset, end.len }, &before, NULL) == 0)
			given = span_path(span_of(before.data, before.len), KEY_PAYLOAD, KEY_RESULT, NULL);
	}
	if (given.at != NULL)
		buffer_append(input, given.at, given.len);
	buffer_free(&line);
	buffer_free(&before);
}

static size_t
calls_alike(const struct recording *rec, uint32_t a, uint32_t b)
{
	struct buffer does[2] = { BUFFER_INIT, BUFFER_INIT }, input[2] = { BUFFER_INIT, BUFFER_INIT };
	struct call_words words[2];
	size_t alike;

	describe_call(rec, a, &does[0], &input[0]);
	describe_call(rec, b, &does[1], &input[1]);
	for (int i = 0; i < 2; i++)
		words[i] = (struct call_words){ span_of(does[i].data, does[i].len), span_of(input[i].data, input[i].len) };
	alike = 2 * history_words_alike(&words[0], &words[1]);
	for (int i = 0; i < 2; i++) {
		buffer_free(&does[i]);
		buffer_free(&input[i]);
	}
	return alike;
}

void
history_add_differing(struct buffer *names, const struct recorded_marks *a, const struct recorded_marks *b)
{
	const struct recorded_marks *const both[] = { a, b };

	for (int i = 0; i < 2; i++) {
		struct span variables = span_of(both[i]->variables, strlen(both[i]->variables));

		for (struct span_walk member = span_walk(variables); variables.len > 0 && span_next(&member);) {
			char *name = span_text(member.key);

			if (name != NULL && marks_recorded_differ(a, b, name) &&
			    !text_has_part(buffer_string(names), '\n', name, strlen(name)))
				buffer_format(names, "%s\n", name);
			free(name);
		}
	}
}

/* ALIKE_WHOLE: they have the same variables; else less, the more of them differ. */
static size_t
variables_alike(const struct recorded_marks *a, const struct recorded_marks *b)
{
	struct buffer names = BUFFER_INIT;
	size_t differing = 0;

	history_add_differing(&names, a, b);
	for (size_t i = 0; i < names.len; i++)
		differing += names.data[i] == '\n';
	buffer_free(&names);
	return ALIKE_WHOLE / (1 + differing);
}

/* Of the calls that asked about a record, named by its root: the most similar, and of equally similar ones
 * the last, then the nearest. What asked in the attempt in which another call took over the record is not that
 * call. NO_CALL: none has asked. */
static uint32_t
find_asker(const struct index *x, uint32_t call, const struct index_record *r)
{
	const struct recording *rec = x->rec;
	const struct recorded_marks marks = recording_marks(rec, &rec->calls[call]);
	uint32_t asker = NO_CALL;
	size_t most = 0, alike;
	uint64_t nearest = 0, away;
	int64_t occurrence, item;

	for (uint32_t i = rec->calls[call].links.root + 1; i < rec->call_count; i++) {
		const struct recorded_call *c = &rec->calls[i];
		struct recorded_marks own;

		if (!x->latest[i] || strcmp(x->asked_about[i], r->root) != 0 ||
		    (c->attempt == rec->calls[call].attempt && i != call))
			continue;
		own = recording_marks(rec, c);
		alike = calls_alike(rec, i, call) + variables_alike(&own, &marks) +
		    (strcmp(own.directory, marks.directory) == 0 ? ALIKE_WHOLE : 0);
		read_position(c->call->id, &occurrence, &item);
		away = history_distance(item, r->item) + history_distance(occurrence, r->occurrence);
		if (asker != NO_CALL && (alike < most || (alike == most && c->attempt == rec->calls[asker].attempt &&
		    away >= nearest)))
			continue;
		most = alike;
		nearest = away;
		asker = i;
	}
	return asker;
}

static struct index_record
make_record(struct index *x, const struct sorted_call *sorted)
{
	const struct recording *rec = x->rec;
	const struct recorded_call *c = sorted->call, *root = &rec->calls[c->links.root];
	const uint32_t call = (uint32_t)(c - rec->calls);
	struct buffer answers = BUFFER_INIT;
	char *label;
	struct index_record r;

	memset(&r, 0, sizeof r); /* the padding is written too */
	if (recording_used_up(rec, call))
		r.mark = MARK_CLAIMED;
	memcpy(r.key, sorted->key, sizeof r.key);
	memcpy(r.guard, c->key.guard, sizeof r.guard);
	r.given = c->key.input;
	r.definition = c->key.definition;
	r.identity = sorted->identity;
	r.exact = sorted->exact;
	r.start = x->marks + c->key.start;
	r.directory = x->marks + c->key.directory;
	r.variables = x->marks + c->key.variables;
	r.superseded = sorted->superseded;
	r.order = call;
	read_position(c->call->id, &r.occurrence, &r.item);

	r.started = (struct place){ c->call->begin.offset, c->call->begin.length, c->source };
	r.end = c->status.reopened || c->status.repeated ? RECALL_OPEN : c->status.state;
	r.repeated = c->status.repeated && !c->status.reopened;
	r.outdated = c->status.outdated;
	if (r.end != RECALL_OPEN)
		r.completed = c->end;
	if (rec->spec->mode == RECALL_REPLAY && c->status.attended) {
		r.end = RECALL_OPEN; /* the process was killed while it waited */
	} else if (rec->spec->mode == RECALL_REPLAY && c->status.waited) {
		r.end = RECALL_WAITING; /* a replay repeats what the attempt did */
		r.completed = (struct place){ c->call->end.offset, c->call->end.length, c->source };
	}
	if (r.end != RECALL_OPEN && c->links.result_from != NO_CALL)
		r.original = rec->calls[c->links.result_from].end;
	if (c->links.input_from != NO_CALL)
		r.input = rec->calls[c->links.input_from].end;
	label = recording_call_label(rec, call);
	r.call = history_add_text(x, label);
	free(label);
	r.attempt = c->attempt;
	label = c->kind.child ? recording_child_names(rec, call) : memory_text("");
	r.names = history_add_text(x, label);
	free(label);
	r.decided = recording_decision(rec, call);
	/* What nobody knows of a call that is over matters if it is made after all: the call around it was edited. */
	r.doubtful = recording_own_doubt(rec, call) && !recording_tool_answers(rec, call, &answers);
	r.tool_answers = answers.len > 0 ? history_add_text(x, buffer_string(&answers)) : x->empty;
	buffer_free(&answers);
	r.tools_doubtful = recording_tools_doubtful(rec, call);
	r.step_skipped = recording_step_skipped(rec, call);
	r.skipped_itself = recording_skipped_itself(rec, call);
	r.skipped_twice = recording_skipped_twice(rec, call);
	r.began = recording_began(rec, call);
	r.child = c->kind.child;
	r.changed = recording_changed(rec, call);
	r.dropped = recording_dropped(rec, call, false);
	r.stands = c->kind.child ? recording_child_excused(rec, call) :
	    recording_failure_stands(rec, call) && (c->call->tried || !root->chain.doubt_inside);
	r.tried = r.stands && recording_only_tried(rec, call);
	r.maybe = recording_only_begun(rec, call);
	r.encloses = c->kind.encloses || rec->calls[c->failure.first].kind.encloses ||
	    (c->links.result_from != NO_CALL && rec->calls[c->links.result_from].kind.encloses);
	r.child_inside = root->chain.child_inside;
	r.named = recording_named(rec, call);
	r.runs_calls = !r.changed && !r.child && chain_runs_calls(rec, call);
	r.changed_inside = root->chain.changed_inside != NO_CALL ?
	    history_add_text(x, rec->calls[root->chain.changed_inside].call->id) : x->empty;
	r.edited = chain_edited(rec, call) || recording_child_answered(rec, call);
	/* What an attempt made in two calls that took over the same one, its replay makes in these two. */
	model_call_event_id(rec->spec->mode == RECALL_REPLAY ? c->call : root->call, r.root);
	if (c->links.enclosing != NO_CALL)
		model_call_event_id(rec->calls[rec->calls[c->links.enclosing].links.root].call, r.around);
	if (r.decided != RECALL_UNDECIDED && (!r.step_skipped || r.skipped_itself)) {
		const uint32_t asker = find_asker(x, call, &r);

		if (asker != NO_CALL)
			x->best[asker] = true;
	}
	add_events(x, c, &r);
	INVARIANT(r.events + r.event_count == x->place_count);
	INVARIANT(r.start < x->text.len && r.directory < x->text.len && r.variables < x->text.len &&
	    r.call < x->text.len && r.changed_inside < x->text.len && r.tool_answers < x->text.len);
	INVARIANT(id_valid(r.root, strlen(r.root)) && (r.end != RECALL_OPEN || r.completed.len == 0));
	return r;
}

static int
put_bytes(struct index *x, const void *bytes, size_t len)
{
	if (len > 0)
		buffer_append(&x->out, bytes, len);
	if (x->out.len < OUT_SIZE)
		return 0;
	if (file_write(x->fd, x->out.data, x->out.len) != 0)
		return -1;
	buffer_clear(&x->out);
	return 0;
}

static bool
begins_key(const struct sorted_call *calls, size_t i)
{
	return i == 0 || memcmp(calls[i - 1].key, calls[i].key, DIGEST_BYTES) != 0;
}

static int
put_records(struct index *x, const struct sorted_call *calls, size_t count)
{
	uint32_t keys = 0;

	for (size_t i = 0; i < count; i++) {
		struct index_record r = make_record(x, &calls[i]);

		keys += begins_key(calls, i);
		r.key_number = keys - 1;
		if (put_bytes(x, &r, sizeof r) != 0)
			return -1;
	}
	return 0;
}

/* Whether a call with another input or definition is compared with this record. */
static bool
may_be_compared(const struct recording *rec, uint32_t call)
{
	return recording_began(rec, call) || (!rec->calls[call].kind.child && chain_runs_calls(rec, call));
}

/* Computes for each key what its records have in common, in the order of the records. */
static int
put_keys(struct index *x, const struct sorted_call *calls, size_t count, uint64_t *keys)
{
	struct index_key key;
	size_t next;

	*keys = 0;
	for (size_t i = 0; i < count; i = next) {
		memset(&key, 0, sizeof key); /* the padding is written too */
		for (next = i; next == i || (next < count && !begins_key(calls, next)); next++)
			key.began |= may_be_compared(x->rec, (uint32_t)(calls[next].call - x->rec->calls));
		if (put_bytes(x, &key, sizeof key) != 0)
			return -1;
		(*keys)++;
	}
	return 0;
}

/* Whether two calls that have asked have the same words and surroundings. */
static bool
are_same_askers(const struct recording *rec, const struct recorded_call *a, const struct recorded_call *b)
{
	const struct recorded_marks of_a = recording_marks(rec, a), of_b = recording_marks(rec, b);
	uint64_t exact;

	/* The words of a child run do not tell what it was given. */
	return memcmp(a->key.guard, b->key.guard, DIGEST_BYTES) == 0 &&
	    (!a->kind.child || strcmp(a->call->id, b->call->id) == 0) &&
	    marks_recorded_identity(&of_a, &exact) == marks_recorded_identity(&of_b, &exact);
}

/* Whether a call with the words of this one was asked about in that attempt. */
static bool
was_asked_in(const struct index *x, uint32_t call, uint32_t attempt)
{
	const struct recorded_call *c = &x->rec->calls[call];

	for (uint32_t i = 0; i < x->rec->call_count; i++)
		if (x->asked[i] && x->rec->calls[i].attempt == attempt && are_same_askers(x->rec, &x->rec->calls[i], c))
			return true;
	return false;
}

/* Whether b, of a later attempt, is a, which was asked about: with the same words; or at the same position with
 * words that nobody had then, so that they were edited, or have a time. */
static bool
is_later_form(const struct index *x, uint32_t a, uint32_t b)
{
	const struct recorded_call *of_a = &x->rec->calls[a], *of_b = &x->rec->calls[b];

	return of_b->attempt > of_a->attempt && (x->asked[b] || !of_b->status.idle) &&
	    (are_same_askers(x->rec, of_a, of_b) ||
	    (strcmp(of_a->call->id, of_b->call->id) == 0 && !was_asked_in(x, b, of_a->attempt)));
}

/* Determines which calls were asked about, and about which record: those that asked, and those that took over one of
 * other words; and which of them were made, or have asked, in a later attempt. */
static void
find_asked(struct index *x)
{
	const struct recording *rec = x->rec;

	for (uint32_t i = 0; i < rec->call_count; i++) {
		const struct recorded_call *c = &rec->calls[i];

		if (rec->spec->mode == RECALL_REPLAY || c->kind.member)
			continue;
		x->asked[i] = c->status.asked || recording_child_answered(rec, i) || (c->links.claims != NO_CALL &&
		    memcmp(rec->calls[c->links.claims].key.guard, c->key.guard, DIGEST_BYTES) != 0);
		if (c->status.asked)
			snprintf(x->asked_about[i], ID_SIZE, "%s", rec->marks.data + c->key.compared);
		else if (x->asked[i])
			model_call_event_id(rec->calls[c->links.root].call, x->asked_about[i]);
	}
	for (uint32_t i = 0; i < rec->call_count; i++) {
		x->latest[i] = x->asked[i];
		for (uint32_t k = i + 1; x->latest[i] && k < rec->call_count; k++)
			x->latest[i] = !is_later_form(x, i, k);
	}
}

static struct index_words
make_words(const struct index *x, uint32_t call)
{
	const struct recorded_call *c = &x->rec->calls[call];

	return (struct index_words){ .started = { c->call->begin.offset, c->call->begin.length, c->source },
		.input = c->links.input_from != NO_CALL ? x->rec->calls[c->links.input_from].end : (struct place){ .len = 0 },
		.given = c->key.input, .definition = c->key.definition, .start = x->marks + c->key.start,
		.directory = x->marks + c->key.directory, .variables = x->marks + c->key.variables };
}

/* The call, of those before another one, whose start is the event with this id. */
static uint32_t
find_by_id(const struct recording *rec, const char *id, uint32_t before)
{
	char text[ID_SIZE];

	for (uint32_t i = 0; *id != '\0' && i < before; i++)
		if (strcmp(model_call_event_id(rec->calls[i].call, text), id) == 0)
			return i;
	return NO_CALL;
}

static struct index_question
make_question(struct index *x, uint32_t call)
{
	const struct recording *rec = x->rec;
	const struct recorded_call *c = &rec->calls[call];
	const char *root = x->asked_about[call];
	uint32_t record = find_by_id(rec, root, call);
	struct index_question q;

	memset(&q, 0, sizeof q); /* the padding is written too */
	q.words = make_words(x, call);
	/* As it was when the call asked. */
	while (record != NO_CALL && rec->calls[record].links.claimed_by != NO_CALL &&
	    rec->calls[rec->calls[record].links.claimed_by].attempt < c->attempt)
		record = rec->calls[record].links.claimed_by;
	if (record != NO_CALL)
		q.recorded = make_words(x, record);
	memcpy(q.root, root, sizeof q.root);
	q.call = history_add_text(x, c->call->id);
	q.step = index_step(c->call->id);
	memcpy(q.guard, c->key.guard, sizeof q.guard);
	q.attempt = c->attempt;
	q.took_over = !c->status.asked;
	q.latest = x->latest[call];
	q.recent = c->status.asked && c->attempt == rec->now.attempt;
	q.best = x->best[call];
	return q;
}

static int
put_questions(struct index *x, uint64_t *count)
{
	int failed = 0;

	*count = 0;
	for (uint32_t i = 0; failed == 0 && i < x->rec->call_count; i++) {
		struct index_question q;

		if (!x->asked[i])
			continue;
		q = make_question(x, i);
		failed = put_bytes(x, &q, sizeof q);
		(*count)++;
	}
	return failed;
}

/* Whether every record comes before the next in the order in which a history is searched. */
static bool
sorted_calls_hold(const struct sorted_call *calls, size_t count)
{
	for (size_t i = 1; i < count; i++)
		if (compare_calls(&calls[i - 1], &calls[i]) >= 0)
			return false;
	return true;
}

/* The size in bytes that a file with this head must have. */
static uint64_t
index_size(const struct index_head *head)
{
	return sizeof *head + head->sources * sizeof(struct index_source) +
	    head->records * sizeof(struct index_record) + head->keys * sizeof(struct index_key) +
	    head->questions * sizeof(struct index_question) + head->places * sizeof(struct place) + head->text;
}

/* What a fork leaves out has no record, but its call is in the list of calls left out. */
static uint64_t
add_left_out(struct index *x)
{
	const struct recording *rec = x->rec;
	struct buffer all = BUFFER_INIT;
	char text[LEFT_OUT_SIZE];
	uint64_t at;

	for (uint32_t i = 0; i < rec->call_count; i++) {
		char *name = rec->calls[i].links.left_by != 0 && rec->calls[i].links.claimed_by == NO_CALL ?
		    call_id_name(rec->calls[i].call->id) : NULL;

		if (name == NULL)
			continue;
		index_left_out(name, rec->calls[i].key.guard, text);
		buffer_format(&all, "%s\n", text);
		free(name);
	}
	INVARIANT(all.len % LEFT_OUT_SIZE == 0);
	if (all.len > 0)
		qsort(all.data, all.len / LEFT_OUT_SIZE, LEFT_OUT_SIZE, index_compare_left_out);
	at = history_add_text(x, buffer_string(&all));
	buffer_free(&all);
	return at;
}

static uint64_t
add_used_before(struct index *x)
{
	const struct recording *rec = x->rec;
	bool *now = memory_zero(rec->tool_uses.use_count + 1, sizeof *now);
	struct buffer all = BUFFER_INIT;
	uint64_t at;

	for (uint32_t i = 0; i < rec->call_count; i++)
		if (rec->calls[i].key.use != NO_USE && rec->calls[i].attempt == rec->now.attempt)
			now[rec->calls[i].key.use] = true;
	for (uint32_t use = 0; rec->spec->mode == RECALL_REPLAY && use < rec->tool_uses.use_count; use++)
		if (!now[use])
			buffer_format(&all, "%s\n", rec->marks.data + rec->tool_uses.uses[use].id);
	at = history_add_text(x, buffer_string(&all));
	buffer_free(&all);
	free(now);
	return at;
}

static uint64_t
add_new_steps(struct index *x)
{
	char *const *step = x->rec->spec->answers.new_steps;
	struct buffer all = BUFFER_INIT;
	uint64_t at;

	for (; step != NULL && *step != NULL; step++)
		buffer_format(&all, "%s\n", *step);
	at = history_add_text(x, buffer_string(&all));
	buffer_free(&all);
	return at;
}

/* The head is written last: until then the file is not valid. */
static int
put_index(struct index *x, struct index_source *sources, struct sorted_call *calls, size_t count)
{
	const struct recording *rec = x->rec;
	struct index_head head = { .sources = history_source_count(rec->spec), .records = count,
		.mode = rec->spec->mode };

	head.used_before = add_used_before(x);
	head.left_out = add_left_out(x);
	head.new_steps = add_new_steps(x);
	head.edited = rec->spec->names != NULL && rec->spec->names->edited;
	head.prefix = history_add_text(x, rec->spec->prefix != NULL ? rec->spec->prefix : "");
	head.steps = history_add_text(x, rec->spec->steps != NULL ? rec->spec->steps : "");
	x->empty = history_add_text(x, "");
	x->marks = x->text.len;
	buffer_append(&x->text, rec->marks.data, rec->marks.len);
	for (size_t i = 0; i < head.sources; i++) {
		sources[i].path = history_add_text(x, history_source(rec->spec, i)->path);
		sources[i].blobs = history_add_text(x, history_source(rec->spec, i)->blobs);
	}
	if (count > 1)
		qsort(calls, count, sizeof *calls, compare_calls);
	INVARIANT(sorted_calls_hold(calls, count));
	for (size_t i = 0; i < count; i++)
		head.children += calls[i].call->kind.child;
	if (put_bytes(x, &head, sizeof head) != 0 ||
	    put_bytes(x, sources, (size_t)head.sources * sizeof *sources) != 0 ||
	    put_records(x, calls, count) != 0 || put_keys(x, calls, count, &head.keys) != 0 ||
	    put_questions(x, &head.questions) != 0 ||
	    put_bytes(x, x->places, x->place_count * sizeof *x->places) != 0 ||
	    put_bytes(x, x->text.data, x->text.len) != 0 ||
	    file_write(x->fd, x->out.data, x->out.len) != 0)
		return -1;
	memcpy(head.magic, HISTORY_MAGIC, sizeof head.magic);
	head.places = x->place_count;
	head.text = x->text.len;
	INVARIANT((uint64_t)lseek(x->fd, 0, SEEK_CUR) == index_size(&head));
	INVARIANT(head.keys <= head.records && (head.keys > 0) == (head.records > 0));
	/* A signal, a time limit, a death or a reader that leaves does not happen again in a
	 * replay. */
	head.cut_off = rec->spec->mode == RECALL_REPLAY && (rec->status[0] == '\0' || rec->reader_gone ||
	    strcmp(rec->status, "cancelled") == 0 || strcmp(rec->status, "timeout") == 0);
	return lseek(x->fd, 0, SEEK_SET) == 0 && file_write(x->fd, &head, sizeof head) == 0 ? 0 : -1;
}

static int
index_write(const char *path, const struct recording *rec, struct error *err)
{
	struct index x = { .rec = rec, .fd = file_open_plain(path, O_WRONLY | O_CREAT | O_EXCL, 0600) };
	struct sorted_call *calls;
	size_t count = 0;
	int failed;

	if (x.fd < 0)
		return error_errno(err, ERROR_SYSTEM, path, "unable to make");
	calls = memory_array(NULL, (size_t)rec->call_count + 1, sizeof *calls);
	x.best = memory_zero((size_t)rec->call_count + 1, sizeof *x.best);
	x.asked = memory_zero((size_t)rec->call_count + 1, sizeof *x.asked);
	x.asked_about = memory_zero((size_t)rec->call_count + 1, sizeof *x.asked_about);
	x.latest = memory_zero((size_t)rec->call_count + 1, sizeof *x.latest);
	find_asked(&x);
	for (uint32_t i = 0; i < rec->call_count; i++)
		if (recording_counts(rec, i))
			calls[count++] = sort_by(rec, &rec->calls[i]);
	failed = put_index(&x, rec->now.sources, calls, count);
	if (failed != 0)
		error_errno(err, ERROR_SYSTEM, path, "unable to write");
	close(x.fd);
	free(calls);
	free(x.best);
	free(x.latest);
	free(x.asked);
	free(x.asked_about);
	free(x.places);
	buffer_free(&x.text);
	buffer_free(&x.out);
	return failed;
}

/* ---- reading the recording, and its summary ---- */

static struct history_child
describe_child(const struct recording *rec, uint32_t call)
{
	const struct recorded_call *c = &rec->calls[call];
	struct history_child child = { .call = recording_call_label(rec, call),
		.names = recording_child_names(rec, call),
		.path = memory_text(c->call->step->path), .excused = recording_child_excused(rec, call),
		.succeeded = c->status.state == RECALL_SUCCEEDED,
		.forked = c->source < rec->spec->other_count, .kept = ERROR_INIT };
	enum kept_by why;
	const uint32_t by = recording_kept_by(rec, call, &why);

	if (by != NO_CALL)
		recording_refuse_kept(rec, call, by, why, &child.kept);
	snprintf(child.run_id, sizeof child.run_id, "%s", c->call->rare->child_run_id);
	return child;
}

static void
free_child(struct history_child *child)
{
	free(child->call);
	free(child->names);
	free(child->path);
}

int
history_begin(struct history_reading **reading, const struct history_spec *spec,
    struct error *err)
{
	struct history_reading *r = *reading = memory_zero(1, sizeof *r);

	r->spec = *spec;
	return recording_begin(&r->recording, &r->spec, err);
}

int
history_take(struct history_reading *r, const char *line, size_t len, int64_t offset,
    struct error *err)
{
	return recording_take(&r->recording, line, len, offset, err);
}

int
history_take_file(struct history_reading *r, struct error *err)
{
	return recording_read_source(&r->recording, err);
}

void
history_end(struct history_reading *r)
{
	recording_end(&r->recording);
}

void
history_check_programs(struct history_reading *r, const char *workspace)
{
	recording_check_programs(&r->recording, workspace);
}

/* Notes why no call in a detached child run is made again: it goes on by itself alone. */
static void
note_detached(const struct recording *rec, uint32_t call, struct history_child *child)
{
	const struct recorded_call *c = &rec->calls[call];
	struct buffer line = BUFFER_INIT;

	if (event_load(history_source(rec->spec, c->source)->path, c->call->begin, &line, NULL) == 0 &&
	    span_true(span_path(span_of(line.data, line.len), KEY_PAYLOAD, KEY_DETACHED, NULL)))
		error_set(&child->kept, ERROR_USAGE, "--redo", "%s%s was detached: resume that run by itself, %s",
		    rec->spec->prefix != NULL ? rec->spec->prefix : "", child->call, child->run_id);
	buffer_free(&line);
}

void
history_check_children(struct history_reading *r,
    enum child_contains (*check)(void *context, const struct history_child *child), void *context)
{
	struct recording *rec = &r->recording;
	bool again = false;

	for (uint32_t i = 0; i < rec->call_count; i++) {
		struct recorded_call *c = &rec->calls[i];
		const bool succeeded = c->status.state == RECALL_SUCCEEDED;
		struct history_child child;
		enum child_contains contains;

		if (!c->kind.child || !recording_counts(rec, i) ||
		    (!succeeded && (c->links.enclosing == NO_CALL || rec->spec->answers.redo == NULL)))
			continue;
		child = describe_child(rec, i);
		if (rec->spec->answers.redo != NULL && succeeded)
			note_detached(rec, i, &child);
		contains = check(context, &child);
		if (contains == CHILD_OUTDATED && succeeded && rec->spec->answers.redo_changed) {
			recording_repeat(rec, i);
			again = true;
		} else if (contains == CHILD_REDONE && child.kept.code == ERROR_NONE) {
			c->status.reopened |= succeeded;
			recording_reopen_around(rec, i);
			again = true;
		}
		free_child(&child);
	}
	if (again)
		recording_note_effects(rec);
}

bool
history_is_of(const struct history_reading *r)
{
	const struct recording *rec = &r->recording;
	const struct index_source *last = &rec->now.sources[rec->now.source];
	struct stat status;

	return lstat(history_source(rec->spec, rec->now.source)->path, &status) == 0 &&
	    (uint64_t)status.st_dev == last->device && (uint64_t)status.st_ino == last->inode &&
	    status.st_size == last->size;
}

int
history_summarize(const struct history_reading *r, struct history_summary *summary,
    struct error *err)
{
	const struct recording *rec = &r->recording;

	memset(summary, 0, sizeof *summary);
	for (uint32_t i = 0; i < rec->call_count; i++) {
		const struct recorded_call *c = &rec->calls[i];

		summary->asked |= c->status.asked;
		if (!recording_counts(rec, i))
			continue;
		summary->calls++;
		summary->changed |= recording_changed(rec, i);
		summary->has_children |= c->kind.child;
		if (!c->kind.child || c->status.state == RECALL_SUCCEEDED)
			continue;
		summary->children = memory_array(summary->children, summary->child_count + 1,
		    sizeof *summary->children);
		summary->children[summary->child_count++] = describe_child(rec, i);
	}
	for (char *const *id = rec->seen.taken; id != NULL && *id != NULL; id++)
		list_add(&summary->taken, *id);
	summary->attempts = rec->now.own_attempts;
	snprintf(summary->status, sizeof summary->status, "%s", rec->status);
	summary->reader_gone = rec->reader_gone;
	recording_changed_programs(rec, summary);
	return recording_check_paths(rec, summary, err) != 0 ? -1 : recording_doubts(rec, summary, err);
}

int
history_check_answers(const struct history_answers *answers, const struct history_summary *summary,
    struct error *err)
{
	char *const *const lists[] = { answers->redo, answers->skip, answers->new_steps };

	for (size_t i = 0; i < sizeof lists / sizeof *lists; i++)
		for (char *const *path = lists[i]; path != NULL && *path != NULL; path++) {
			if (list_has(summary->named, *path))
				continue;
			for (size_t r = 0; r < summary->refused_count; r++)
				if (strcmp(summary->refused[r].path, *path) == 0)
					*err = summary->refused[r].why;
			return -1;
		}
	return 0;
}

int
history_write(const struct history_reading *r, const char *path, struct error *err)
{
	return index_write(path, &r->recording, err);
}

void
history_reading_free(struct history_reading *r)
{
	if (r == NULL)
		return;
	recording_close(&r->recording);
	free(r);
}

int
history_build(const char *path, const struct history_spec *spec,
    struct history_summary *summary, struct error *err)
{
	struct history_reading *r;
	int failed;

	memset(summary, 0, sizeof *summary);
	failed = history_begin(&r, spec, err);
	if (failed == 0)
		failed = history_take_file(r, err);
	if (failed == 0) {
		history_end(r);
		failed = history_summarize(r, summary, err);
	}
	if (failed == 0)
		failed = history_check_answers(&spec->answers, summary, err);
	if (failed == 0 && path != NULL)
		failed = history_write(r, path, err);
	history_reading_free(r);
	return failed;
}

int
history_list_unclaimed(const struct history *h, bool (*taken)(void *, int64_t), void *context,
    struct history_summary *summary, struct error *err)
{
	struct history_spec spec = { .mode = RECALL_RESUME };
	struct history_reading *r;
	bool any = false;
	int failed;

	for (size_t i = 0; !any && i < h->head->records; i++)
		any = (h->records[i].changed || h->records[i].child) && history_free(&h->records[i]);
	if (!any || h->head->mode != RECALL_RESUME || h->head->sources == 0)
		return 0;
	spec.own.path = h->text + h->sources[h->head->sources - 1].path;
	spec.own.blobs = h->text + h->sources[h->head->sources - 1].blobs;
	if (h->sources[h->head->sources - 1].foreign)
		return 0;
	failed = history_begin(&r, &spec, err);
	if (failed == 0)
		failed = history_take_file(r, err);
	if (failed == 0) {
		history_end(r);
		failed = recording_list_unclaimed(&r->recording, taken, context, summary, err);
	}
	history_reading_free(r);
	return failed;
}

static void
free_doubts(struct history_doubt *list, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		free(list[i].call);
		free(list[i].tool);
		free(list[i].what);
		free(list[i].data);
		free(list[i].marks);
	}
	free(list);
}

void
history_summary_free(struct history_summary *summary)
{
	free_doubts(summary->doubts, summary->doubt_count);
	free_doubts(summary->unclaimed, summary->unclaimed_count);
	for (size_t i = 0; i < summary->child_count; i++)
		free_child(&summary->children[i]);
	for (size_t i = 0; i < summary->program_count; i++)
		free(summary->programs[i].path);
	for (size_t i = 0; i < summary->refused_count; i++)
		free(summary->refused[i].path);
	free(summary->refused);
	list_free(summary->named);
	list_free(summary->redone);
	list_free(summary->used);
	list_free(summary->taken);
	free(summary->programs);
	free(summary->children);
	memset(summary, 0, sizeof *summary);
}
