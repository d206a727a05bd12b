/*
 * Questions about a record that may belong to a call, and the user's answers. The message of a
 * question names the options that answer it. A later attempt reads from the recording which call
 * has asked about which record (index_asked()), so that the answer applies only to that call.
 */
#include "history/history_claim.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/text.h"

/* Whether a call of this name has asked whether it is a recorded one. */
static bool
name_has_asked(const struct history *h, const char *name)
{
	const size_t len = strlen(name);
	bool asked = false;

	for (uint64_t i = 0; !asked && i < h->head->questions; i++) {
		const char *call = history_text(h, h->questions[i].call), *slash = strrchr(call, '/');

		call = slash != NULL ? slash + 1 : call;
		asked = strncmp(call, name, len) == 0 && call[len] == ':';
	}
	return asked;
}

bool
history_is_asker(struct history *h, struct history *of, const struct index_record *record, const unsigned char *guard,
    const struct index_question *q)
{
	if (q == NULL || strcmp(q->root, record->root) != 0 || (of == h && !q->best))
		return false;
	/* It is not the asker if a call with the record's own words has asked in another run. */
	return memcmp(record->guard, guard, DIGEST_BYTES) == 0 || !history_asked_elsewhere(h, record);
}

bool
history_is_decided_in(struct history *h, struct history *of, const struct index_record *record,
    const unsigned char *guard, const struct recall_query *query)
{
	const struct index_question *q;

	if (record->decided == RECALL_UNDECIDED)
		return false;
	/* A call with the same words reuses the recorded result. A child run itself is never in
	 * doubt. */
	if (!record->doubtful && memcmp(record->guard, guard, DIGEST_BYTES) == 0)
		return true;
	if (record->step_skipped && !record->skipped_itself)
		return name_has_asked(h, query->name);
	/* A single --skip of a record in doubt is only about the record's own call. */
	if (record->doubtful && record->decided == RECALL_SKIP && !record->skipped_twice)
		return false;
	q = history_find_question(h, guard, query);
	/* Making it does no harm: the record stays free for its own call. */
	if (record->decided == RECALL_REDO)
		return q == NULL ? !record->tools_doubtful : strcmp(q->root, record->root) == 0;
	return history_is_asker(h, of, record, guard, q);
}

bool
history_is_decided(struct history *h, const struct index_record *record, const unsigned char *guard,
    const struct recall_query *query)
{
	return history_is_decided_in(h, h, record, guard, query);
}

/* Whether a fork leaves this call out and no attempt has made it since. */
static bool
is_left_out(const struct history *h, const unsigned char *key, const unsigned char *guard,
    const struct recall_query *query)
{
	const char *all = history_text(h, h->head->left_out);
	char text[LEFT_OUT_SIZE];

	index_left_out(query->name, guard, text);
	return *all != '\0' && !history_same_guard(h, history_bound(h, key, guard), key, guard) &&
	    bsearch(text, all, strlen(all) / LEFT_OUT_SIZE, LEFT_OUT_SIZE, index_compare_left_out) != NULL;
}

bool
history_is_new(const struct history *h, const unsigned char *key, const unsigned char *guard,
    const struct recall_query *query, const struct index_question *q)
{
	if (is_left_out(h, key, guard, query))
		return true;
	if (q == NULL ? history_step_has_asked(h, query) : q->took_over)
		return false;
	return query->path != NULL &&
	    text_has_part(history_text(h, h->head->new_steps), '\n', query->path, strlen(query->path));
}

void
history_add_answers(const struct history *h, const struct index_record *record, const char *prefix, const char *call,
    const struct recall_query *query, const char *aim, struct buffer *out)
{
	char *path = memory_format("%s%s", history_steps(h), query->path != NULL ? query->path : query->name);

	if (record->doubtful && !record->child && record->decided == RECALL_SKIP)
		buffer_format(out, ": to leave this call out, too, resume with --skip %s%s twice, to make it, "
		    "with --new %s as well", prefix, call, path);
	else
		buffer_format(out, ": %sresume with --redo %s%s or --skip %s%s, or, if it is another call, with --new %s",
		    aim, prefix, call, prefix, call, path);
	free(path);
}

/* The answers are printed whole; of a long reason the beginning is. */
static void
refuse_with(struct error *err, const char *call, const struct buffer *reason, const struct buffer *answers)
{
	const size_t room = sizeof err->message - sizeof "…";
	size_t len = reason->len;

	if (answers->len < room && len > room - answers->len)
		len = utf8_whole(reason->data, room - answers->len);
	error_set(err, ERROR_WAITING, call, "%.*s%s%s", (int)len, buffer_string(reason), len < reason->len ? "…" : "",
	    buffer_string(answers));
}

int
history_refuse_changed(struct history *h, const struct index_record *record,
    const struct recall_query *query, struct recalled *r, struct error *err)
{
	const char *call = history_text(h, record->call);
	struct buffer text = BUFFER_INIT, answers = BUFFER_INIT;
	int failed = history_changed(h, record, query, &text, err);

	if (failed == 0 && h->head->mode == RECALL_REPLAY) {
		error_set(err, ERROR_DIVERGENCE, call, "%s", buffer_string(&text));
	} else if (failed == 0) {
		buffer_format(&answers, ", and it %s before%s",
		    !record->changed && !record->began && !record->child ? "has been paid for" :
		    record->maybe || record->child ? "may have changed something" : "has changed something",
		    record->tools_doubtful ? ", all of which would be made again" : "");
		history_add_answers(h, record, history_prefix(h), call, query, "", &answers);
		refuse_with(err, call, &text, &answers);
		memcpy(r->compared, record->root, ID_SIZE);
	}
	buffer_free(&text);
	buffer_free(&answers);
	return -1;
}

int
history_refuse_unknown(const struct recall_query *query, struct recalled *r, struct error *err)
{
	bool inside = query->enclosing[0] != '\0';
	char *place = memory_format("%s%s%s", query->enclosing, inside ? "/" : "", query->name);

	error_set(err, ERROR_DIVERGENCE, place, "the recording has no%s call of it for item %lld",
	    inside ? "" : " further", (long long)query->item);
	r->unknown = true;
	free(place);
	return -1;
}

int
history_refuse_asked_again(struct history *h, const struct index_record *record, const struct recall_query *query,
    struct recalled *r, struct error *err)
{
	const char *call = history_text(h, record->call);
	const char *path = query->path != NULL ? query->path : query->name;

	error_set(err, ERROR_WAITING, query->name, "has asked whether it is %s%s, which another call has taken over: "
	    "to make this one as well, resume with --new %s%s, to take it as done, too, with --skip %s%s",
	    history_prefix(h), call, history_steps(h), path, history_steps(h), path);
	memcpy(r->compared, record->root, ID_SIZE);
	return -1;
}

/* The prefix for the name of a record that is in another run. If the asking call is in a child run
 * with the same name, or in a run inside such a run, the name alone would mean a record of its own
 * run: add the attempt. */
static char *
prefix_elsewhere(const struct history *h, const struct elsewhere *found)
{
	const char *prefix = history_prefix(found->history);
	size_t len = strlen(prefix);

	if (found->inside == NULL || strncmp(prefix, history_prefix(h), len) != 0 || len == 0 ||
	    strchr(history_text(found->around, found->inside->call), '@') != NULL)
		return memory_text(prefix);
	return memory_format("%.*s@%llu/", (int)len - 1, prefix, (unsigned long long)found->inside->attempt);
}

int
history_refuse_moved(const struct history *h, const struct elsewhere *found,
    const struct recall_query *query, struct recalled *r, struct error *err)
{
	const char *label = history_text(found->history, found->record->call);
	/* Another call of this attempt may have the same name. */
	const bool again = found->history == h && strchr(label, '@') == NULL && history_has_names_of(h, found->record, query);
	char *call = again ? memory_format("%s@%llu", label, (unsigned long long)found->record->attempt) :
	    memory_text(label);
	bool inside = query->enclosing[0] != '\0';
	char *place = memory_format("%s%s%s", query->enclosing, inside ? "/" : "", query->name);
	char *prefix = found->history == h ? memory_text(history_prefix(h)) : prefix_elsewhere(h, found);
	struct buffer answers = BUFFER_INIT;

	history_add_answers(h, found->record, prefix, call, query,
	    "to do it again, or to take it over, ", &answers);
	error_set(err, ERROR_WAITING, place, "%s has done the same before, under another name or in another "
	    "place, and nothing has taken that over%s", call, buffer_string(&answers));
	memcpy(r->compared, found->record->root, ID_SIZE);
	buffer_free(&answers);
	free(call);
	free(prefix);
	free(place);
	return -1;
}

int
history_refuse_alike(const struct history *h, const struct same *same, const struct recall_query *query,
    struct recalled *r, struct error *err)
{
	const struct index_record *record = same->record;
	const struct recorded_marks marks = history_marks(h, record);
	const struct recorded_marks other = history_marks(h, same->other != NULL ? same->other : record);
	const char *call = history_text(h, record->call);
	struct buffer name = BUFFER_INIT, why = BUFFER_INIT;

	if (history_difference(h, record, query, NULL) == -1)
		buffer_text(&why, "their directories and variables are not known");
	else if ((!marks_paths_differ(query->marks, &marks, &other, &name) &&
	    marks_same_paths(query->marks, &marks, &name)) || buffer_equal(&name, MARKS_DIRECTORY))
		buffer_text(&why, "their directories were new");
	else if (marks_is_descriptor(buffer_string(&name)))
		buffer_format(&why, "what %s read is not known", buffer_string(&name));
	else
		buffer_format(&why, "%s was a new path: --ignore-env %s if no call depends on it",
		    buffer_string(&name), buffer_string(&name));
	buffer_byte(&why, ')');
	history_add_answers(h, record, history_prefix(h), call, query, "", &why);
	error_set(err, ERROR_WAITING, call, "has changed something before, and nothing tells which of the "
	    "recorded calls of this name it is (%s", buffer_string(&why));
	memcpy(r->compared, record->root, ID_SIZE);
	buffer_free(&name);
	buffer_free(&why);
	return -1;
}
