/*
 * Finds which question of an earlier attempt a call has asked: the answer belongs to that call.
 *
 * A call is the one that asked if its words, input, directory and variables are the same. What is
 * another in each attempt, such as a time, is another again when the user answers. So a call whose
 * words are others is the one that asked if it differs from that only where that differed from the
 * record that it asked about, and differs from each other call that has asked in this and more.
 * Calls that asked and differ from it in the same are told apart by their position. If this leaves
 * a doubt, the call has not asked, and asks.
 */
#include "history/history_claim.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/text.h"
#include "history/words.h"
#include "transcript/event.h"
#include "transcript/event_keys.h"

/* Where two calls differ, sorted: places of words_differ(), */
struct differences {
	uint64_t *list;
	size_t count;
};
#define IN_INPUT (UINT64_C(1) << 40)      /* to which this is added in the input; */
#define OF_DEFINITION (UINT64_C(1) << 41) /* the definition differs, and its description does not; */
#define OF_INPUT (OF_DEFINITION + 1)      /* the same of the input; */
#define VARIABLE (UINT64_C(1) << 42)      /* added to the digest of a variable's name */

/* What a call does. */
struct described {
	struct buffer does, input;
	uint64_t definition, given;  /* index_digest() */
};

static void
add_difference(struct differences *d, uint64_t at)
{
	d->list = memory_array(d->list, d->count + 1, sizeof *d->list);
	d->list[d->count++] = at;
}

static int
compare_numbers(const void *a, const void *b)
{
	const uint64_t *left = a, *right = b;

	return (*left > *right) - (*left < *right);
}

static bool
differences_contain(const struct differences *all, const struct differences *some)
{
	size_t k = 0;

	for (size_t i = 0; i < some->count; i++) {
		while (k < all->count && all->list[k] < some->list[i])
			k++;
		if (k == all->count || all->list[k] != some->list[i])
			return false;
	}
	return true;
}

struct adding {
	struct differences *differences;
	uint64_t base;
};

static void
add_place(void *context, uint64_t place)
{
	const struct adding *to = context;

	add_difference(to->differences, to->base + place);
}

/* Adds where a differs from b. */
static void
add_words(struct differences *d, const struct buffer *a, const struct buffer *b, uint64_t base)
{
	struct words words = words_of(span_of(a->data, a->len)), others = words_of(span_of(b->data, b->len));

	words_differ(&words, &others, add_place, &(struct adding){ d, base });
	words_free(&words);
	words_free(&others);
}

static bool
text_has_of_third(const struct buffer *a, const struct buffer *b, const struct buffer *c)
{
	struct words words[] = { words_of(span_of(a->data, a->len)), words_of(span_of(b->data, b->len)),
		words_of(span_of(c->data, c->len)) };
	const bool has = words_have_of_third(&words[0], &words[1], &words[2]);

	for (size_t i = 0; i < sizeof words / sizeof *words; i++)
		words_free(&words[i]);
	return has;
}

/* Where a differs from b; names: the marks in which they do, each with a newline. */
static struct differences
find_differences(const struct described *a, const struct described *b, const char *names)
{
	struct differences d = { NULL, 0 };
	const char *name;
	size_t len;

	add_words(&d, &a->does, &b->does, 0);
	if (d.count == 0 && a->definition != b->definition)
		add_difference(&d, OF_DEFINITION);
	len = d.count;
	add_words(&d, &a->input, &b->input, IN_INPUT);
	if (d.count == len && a->given != b->given)
		add_difference(&d, OF_INPUT);
	while ((name = text_part(&names, '\n', &len)) != NULL) {
		uint64_t digest = 0;

		for (size_t i = 0; i < len; i++)
			digest = (digest * 31 + (unsigned char)name[i]) % VARIABLE;
		if (len > 0)
			add_difference(&d, VARIABLE + digest);
	}
	if (d.count > 1)
		qsort(d.list, d.count, sizeof *d.list, compare_numbers);
	return d;
}

static void
described_free(struct described *d)
{
	buffer_free(&d->does);
	buffer_free(&d->input);
}

static struct recorded_marks
words_marks(const struct history *h, const struct index_words *w)
{
	return (struct recorded_marks){ history_text(h, w->start), history_text(h, w->directory), history_text(h, w->variables) };
}

/* A call that has asked, compared with the one that is made. */
struct compared {
	const struct index_question *question;
	struct differences differences; /* of the call from that one */
	bool asker;                  /* they are only where that one differed from its record */
};

/* Whether the call differs from the one that asked only where that one differed from its record; and from the
 * record, in no less than that one: then it is nearer to the record. */
static bool
differs_as_asked(struct history *h, const struct index_question *q, const struct described *asked,
    const struct described *call, const char *names, const struct recall_query *query)
{
	const struct recorded_marks a = words_marks(h, &q->words), b = words_marks(h, &q->recorded);
	struct described recorded = { .definition = q->recorded.definition, .given = q->recorded.given };
	struct differences again, then, now;
	struct buffer marks = BUFFER_INIT, own = BUFFER_INIT;
	bool as_asked;

	if (q->recorded.started.len == 0 || !history_read_words(h, &q->recorded.started, &q->recorded.input, &recorded.does, &recorded.input))
		return false;
	history_add_differing(&marks, &a, &b);
	if (strcmp(a.directory, b.directory) != 0)
		buffer_text(&marks, MARKS_DIRECTORY "\n");
	again = find_differences(asked, call, names);
	then = find_differences(asked, &recorded, buffer_string(&marks));
	if (!history_has_no_marks(query))
		marks_difference(query->marks, &b, &own);
	now = find_differences(call, &recorded, buffer_string(&own));
	as_asked = differences_contain(&then, &again) && !(now.count < then.count && differences_contain(&then, &now));
	buffer_free(&own);
	free(now.list);
	described_free(&recorded);
	buffer_free(&marks);
	free(again.list);
	free(then.list);
	return as_asked;
}

static void
compare_question(struct history *h, const struct index_question *q, const struct described *call,
    const struct recall_query *query, struct compared *c)
{
	const struct recorded_marks marks = words_marks(h, &q->words);
	struct described asked = { .definition = q->words.definition, .given = q->words.given };
	struct buffer names = BUFFER_INIT;

	*c = (struct compared){ .question = q };
	if (!history_has_no_marks(query))
		marks_difference(query->marks, &marks, &names);
	if (history_read_words(h, &q->words.started, &q->words.input, &asked.does, &asked.input)) {
		c->differences = find_differences(call, &asked, buffer_string(&names));
		c->asker = differs_as_asked(h, q, &asked, call, buffer_string(&names), query);
	}
	described_free(&asked);
	buffer_free(&names);
}

/* Whether the call differs from each other that has asked in what it differs in from this one, and more; from
 * another one that it may be, perhaps in the same. */
static bool
is_nearest(const struct compared *list, size_t count, const struct compared *c)
{
	bool nearest = c->asker;

	for (size_t i = 0; nearest && i < count; i++)
		nearest = &list[i] == c || (differences_contain(&list[i].differences, &c->differences) &&
		    (list[i].asker || list[i].differences.count > c->differences.count));
	return nearest;
}

/* Whether a call has the words or variables of a recorded one, or of one that has asked, where it differs from
 * another one: then it is of that item. */
static bool
has_words_of(struct history *h, const struct described *call, const struct recall_query *query,
    const struct index_question *q, const struct described *asked, const struct index_words *other)
{
	const struct recorded_marks marks = words_marks(h, &q->words), others = words_marks(h, other);
	struct described d = { BUFFER_INIT, BUFFER_INIT, 0, 0 };
	struct buffer names = BUFFER_INIT, from = BUFFER_INIT;
	const char *rest, *name;
	bool has = false;
	size_t len;

	if (!history_read_words(h, &other->started, &other->input, &d.does, &d.input))
		return false;
	has = text_has_of_third(&call->does, &asked->does, &d.does) || text_has_of_third(&call->input, &asked->input, &d.input);
	if (!history_has_no_marks(query) && marks_difference(query->marks, &marks, &names) > 0 &&
	    marks_difference(query->marks, &others, &from) >= 0)
		for (rest = buffer_string(&names); !has && (name = text_part(&rest, '\n', &len)) != NULL;) {
			char *one = memory_copy(name, len);

			has = len > 0 && (strcmp(one, MARKS_DIRECTORY) == 0 || marks_have(&others, one)) &&
			    !text_has_part(buffer_string(&from), '\n', one, len);
			free(one);
		}
	buffer_free(&names);
	buffer_free(&from);
	described_free(&d);
	return has;
}

/* Whether the call is of an item that has a record, or has asked, itself, and so is not the one that asked. */
static bool
is_of_another_item(struct history *h, const struct described *call, const struct recall_query *query,
    const struct index_question *q)
{
	struct described asked = { BUFFER_INIT, BUFFER_INIT, 0, 0 };
	unsigned char key[DIGEST_BYTES];
	bool another = false;
	size_t looked = 0;

	if (!history_read_words(h, &q->words.started, &q->words.input, &asked.does, &asked.input))
		return false;
	history_keys(h, query, key, NULL);
	for (size_t i = history_bound(h, key, NULL); !another && history_same_key(h, i, key) && looked++ < DEFINITIONS_MOST; i++) {
		const struct index_record *r = &h->records[i];

		another = has_words_of(h, call, query, q, &asked, &(struct index_words){ .started = r->started, .input = r->input,
			.start = r->start, .directory = r->directory, .variables = r->variables });
	}
	for (uint64_t i = 0; !another && i < h->head->questions && looked++ < DEFINITIONS_MOST; i++)
		another = &h->questions[i] != q && h->questions[i].step == q->step && h->questions[i].latest &&
		    has_words_of(h, call, query, q, &asked, &h->questions[i].words);
	described_free(&asked);
	return another;
}

/* Whether a is to be chosen rather than b, if the call may have asked both: its position is the call's; then,
 * its record is to be had; then it is the later one. */
static bool
is_preferred(struct history *h, const struct index_question *a, const struct index_question *b, const char *call)
{
	const struct index_question *const both[] = { a, b };
	int worth[2] = { 0, 0 };

	if (b == NULL)
		return true;
	for (int i = 0; i < 2; i++) {
		const struct index_record *record = history_find_root(h, both[i]->root);

		worth[i] = (strcmp(history_text(h, both[i]->call), call) == 0 ? 2 : 0) +
		    (both[i]->best && record != NULL && history_unused_by_any(record));
	}
	return worth[0] >= worth[1];
}

static uint64_t
step_of(const struct recall_query *query)
{
	char *chain = memory_format("%s%s%s", query->enclosing, *query->enclosing != '\0' ? "/" : "", query->name);
	const uint64_t step = index_step(chain);

	free(chain);
	return step;
}

/* Whether the call that asked had a variable that the user has said since to ignore: what it asked is void. */
static bool
is_void(const struct history *h, const struct index_question *q, const struct recall_query *query)
{
	const struct recorded_marks marks = words_marks(h, &q->words);
	uint64_t exact;

	return !history_has_no_marks(query) &&
	    marks_rest_identity(&marks, query->marks, "") != marks_recorded_identity(&marks, &exact);
}

static bool
is_exact(const struct history *h, const struct index_question *q, const unsigned char *guard,
    const struct recall_query *query)
{
	const struct recorded_marks marks = words_marks(h, &q->words);

	return memcmp(q->guard, guard, DIGEST_BYTES) == 0 &&
	    (history_has_no_marks(query) || marks_difference(query->marks, &marks, NULL) <= 0);
}

bool
history_answer_is_of_another(const struct history *h, const struct index_record *record, const unsigned char *guard,
    const struct recall_query *query)
{
	for (uint64_t i = 0; i < h->head->questions; i++) {
		const struct index_question *q = &h->questions[i];

		if (q->best && !q->took_over && strcmp(q->root, record->root) == 0 && !is_exact(h, q, guard, query))
			return true;
	}
	return false;
}

/* How the input of the child run that is made compares with that of the one that asked: recall_query.fits. */
static int
compare_given(struct history *h, const struct index_question *q, const struct recall_query *query)
{
	struct recalled_event started = { .turn = -1 };
	char run_id[ID_SIZE];
	int fit = 0;

	if (query->fits != NULL && history_line(h, &q->words.started, &started, NULL) == 0 &&
	    span_member(started.view.payload, KEY_STDIN).at != NULL && event_copy_id(started.view.child_run_id, run_id))
		fit = query->fits(query->fits_context, run_id, span_member(started.view.payload, KEY_STDIN));
	recalled_event_free(&started);
	return fit;
}

/* Whether the child run asked because it was given something else than its record. */
static bool
asked_about_input(struct history *h, const struct index_question *q)
{
	const struct index_record *record = history_find_root(h, q->root);
	struct recalled_event started = { .turn = -1 };
	char sha256[DIGEST_SIZE], recorded[DIGEST_SIZE];
	const bool about = record != NULL && history_line(h, &q->words.started, &started, NULL) == 0 &&
	    span_copy(span_path(started.view.payload, KEY_STDIN, KEY_SHA256, NULL), sha256, sizeof sha256) &&
	    history_given(h, record, recorded) && strcmp(sha256, recorded) != 0;

	recalled_event_free(&started);
	return about;
}

enum asking { NOT_ASKED, ASKED_IN_ITS_PLACE, ASKED_WITH_ITS_INPUT };

/* A child run with an input is told from others of its words by that; if it is another one each time, or is not known,
 * by its position, and what was made since then has not asked. */
static enum asking
may_have_asked(struct history *h, const struct index_question *q, const char *call, const struct recall_query *query)
{
	int fit;

	if (!query->child || !query->given)
		return ASKED_IN_ITS_PLACE;
	fit = compare_given(h, q, query);
	if (fit > 0)
		return ASKED_WITH_ITS_INPUT;
	return q->latest && strcmp(history_text(h, q->call), call) == 0 && (fit == 0 || asked_about_input(h, q)) ?
	    ASKED_IN_ITS_PLACE : NOT_ASKED;
}

static const struct index_question *
find_changed_question(struct history *h, uint64_t step, const char *call_id, const struct recall_query *query)
{
	struct compared *list = memory_array(NULL, (size_t)h->head->questions + 1, sizeof *list);
	struct described call = { .definition = index_digest(query->definition_sha256),
		.given = index_digest(query->input_sha256) };
	const struct index_question *found = NULL;
	size_t count = 0;

	buffer_text(&call.does, query->definition != NULL ? query->definition : "");
	buffer_append(&call.input, query->input.at, query->input.len);
	for (uint64_t i = 0; i < h->head->questions; i++)
		if (h->questions[i].step == step && h->questions[i].latest &&
		    may_have_asked(h, &h->questions[i], call_id, query) != NOT_ASKED &&
		    !is_void(h, &h->questions[i], query))
			compare_question(h, &h->questions[i], &call, query, &list[count++]);
	for (size_t i = 0; i < count; i++)
		if (is_nearest(list, count, &list[i]) && is_preferred(h, list[i].question, found, call_id) &&
		    !is_of_another_item(h, &call, query, list[i].question))
			found = list[i].question;
	for (size_t i = 0; i < count; i++)
		free(list[i].differences.list);
	free(list);
	described_free(&call);
	return found;
}

const struct index_question *
history_find_question(struct history *h, const unsigned char *guard, const struct recall_query *query)
{
	const uint64_t step = step_of(query);
	const struct index_question *found = NULL;
	char *call = memory_format("%s%s%s:%lld:%lld", query->enclosing, *query->enclosing != '\0' ? "/" : "",
	    query->name, (long long)query->occurrence, (long long)query->item);
	enum asking found_by = NOT_ASKED;
	bool any = false;

	for (uint64_t i = 0; i < h->head->questions; i++) {
		const struct index_question *q = &h->questions[i];
		enum asking by;

		any |= q->step == step;
		if (q->step != step || !is_exact(h, q, guard, query) || is_void(h, q, query))
			continue;
		by = may_have_asked(h, q, call, query);
		if (by > found_by || (by == found_by && by != NOT_ASKED && is_preferred(h, q, found, call))) {
			found = q;
			found_by = by;
		}
	}
	if (found == NULL && any)
		found = find_changed_question(h, step, call, query);
	free(call);
	return found;
}

bool
history_was_asked_about(const struct history *h, const struct index_record *record)
{
	for (uint64_t i = 0; i < h->head->questions; i++)
		if (!h->questions[i].took_over && strcmp(h->questions[i].root, record->root) == 0)
			return true;
	return false;
}

bool
history_step_has_asked(const struct history *h, const struct recall_query *query)
{
	const uint64_t step = step_of(query);

	for (uint64_t i = 0; i < h->head->questions; i++)
		if (h->questions[i].step == step)
			return true;
	return false;
}
