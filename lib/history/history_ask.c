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

/* Whether an earlier attempt asked the user whether a call of this name is the recorded one, or,
 * if `any` is set, whether such a call is any recorded one. */
static bool
has_asked(const struct history *h, const struct index_record *record, const unsigned char *guard,
    const struct recall_query *query, bool any)
{
	const char *rest = history_text(h, h->head->asked), *asked;
	char one[ASKED_SIZE], unsaid[ASKED_SIZE];
	size_t len;

	index_asked(query->name, guard, record->root, one);
	/* Older versions did not record about which record a call has asked. */
	index_asked(query->name, guard, "", unsaid);
	while ((asked = text_part(&rest, '\n', &len)) != NULL)
		if ((len == strlen(unsaid) && memcmp(asked, unsaid, len) == 0) ||
		    (len == strlen(one) && memcmp(asked, one, any ? strcspn(one, ":") : len) == 0))
			return true;
	return false;
}

/* Whether a call with these words (definition) has asked about the record. */
static bool
words_have_asked(const struct history *h, const struct index_record *record, const unsigned char *guard)
{
	char text[ASKED_SIZE];

	index_asked_words(guard, record->root, text);
	return text_has_part(history_text(h, h->head->asked), '\n', text, strlen(text));
}

bool
history_is_asker(struct history *h, const struct index_record *record, const unsigned char *guard,
    const struct recall_query *query)
{
	const struct recorded_marks marks = { history_text(h, record->asker_start),
		history_text(h, record->asker_directory), history_text(h, record->asker_variables) };
	const char *apart = history_text(h, record->asker_apart), *name;
	struct buffer names = BUFFER_INIT;
	bool same = record->askers > 0 && memcmp(record->asker, guard, DIGEST_BYTES) == 0;
	size_t len;

	if (same && query->marks != NULL) {
		same = strcmp(marks.directory, query->marks->directory != NULL ? query->marks->directory : "") == 0;
		marks_difference(query->marks, &marks, &names);
		while (same && (name = text_part(&apart, '\n', &len)) != NULL)
			same = len == 0 || !text_has_part(buffer_string(&names), '\n', name, len);
		buffer_free(&names);
	}
	/* It is not the asker if a call with the record's own words has asked in another run. */
	return same && (memcmp(record->guard, guard, DIGEST_BYTES) == 0 || !history_asked_elsewhere(h, record));
}

bool
history_is_decided_in(struct history *h, struct history *of, const struct index_record *record,
    const unsigned char *guard, const struct recall_query *query)
{
	if (record->decided == RECALL_UNDECIDED)
		return false;
	if (record->decided == RECALL_REDO && !record->tools_doubtful)
		return true;
	/* A call with the same words reuses the recorded result. A child run itself is never in
	 * doubt. */
	if (!record->doubtful && memcmp(record->guard, guard, DIGEST_BYTES) == 0)
		return true;
	/* If several calls have asked, the answer is for the one that resembles the record most. */
	if (record->askers > 0 && !record->step_skipped && !history_is_asker(of, record, guard, query) && words_have_asked(h, record, guard))
		return false;
	/* A single --skip of a record in doubt is only about the record's own call. */
	if (record->doubtful && record->decided == RECALL_SKIP && !record->step_skipped && !record->skipped_twice)
		return false;
	return has_asked(h, record, guard, query, record->step_skipped);
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
	char text[ASKED_SIZE];

	index_asked(query->name, guard, "", text);
	return *all != '\0' && !history_same_guard(h, history_bound(h, key, guard), key, guard) &&
	    bsearch(text, all, strlen(all) / LEFT_OUT_SIZE, LEFT_OUT_SIZE, index_compare_left_out) != NULL;
}

bool
history_is_new(const struct history *h, const unsigned char *key, const unsigned char *guard,
    const struct recall_query *query)
{
	if (is_left_out(h, key, guard, query))
		return true;
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

int
history_refuse_changed(struct history *h, const struct index_record *record,
    const struct recall_query *query, struct recalled *r, struct error *err)
{
	const char *call = history_text(h, record->call);
	struct buffer text = BUFFER_INIT;
	int failed = history_changed(h, record, query, &text, err);

	if (failed == 0 && h->head->mode == RECALL_REPLAY) {
		error_set(err, ERROR_DIVERGENCE, call, "%s", buffer_string(&text));
	} else if (failed == 0) {
		buffer_format(&text, ", and it %s before%s",
		    !record->changed && !record->began && !record->child ? "has been paid for" :
		    record->maybe || record->child ? "may have changed something" : "has changed something",
		    record->tools_doubtful ? ", all of which would be made again" : "");
		history_add_answers(h, record, history_prefix(h), call, query, "", &text);
		error_set(err, ERROR_WAITING, call, "%s", buffer_string(&text));
		memcpy(r->compared, record->root, ID_SIZE);
	}
	buffer_free(&text);
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

const struct index_record *
history_find_asked(const struct history *h, const unsigned char *guard, const struct recall_query *query)
{
	const char *rest = history_text(h, h->head->asked), *asked;
	const struct index_record *found = NULL;
	char text[ASKED_MARKED_SIZE];
	uint64_t exact;
	size_t len, begin;

	if (history_has_no_marks(query))
		return NULL;
	index_asked_marked(guard, marks_identity(query->marks, &exact), "", text);
	begin = strlen(text);
	while (found == NULL && (asked = text_part(&rest, '\n', &len)) != NULL)
		if (len > begin && memcmp(asked, text, begin) == 0) {
			char *root = memory_copy(asked + begin, len - begin);

			found = history_find_root(h, root);
			free(root);
		}
	return found == NULL || (found->child && found->decided == RECALL_REDO) ? NULL : found;
}

int
history_refuse_asked_again(struct history *h, const struct index_record *record, const struct recall_query *query,
    struct recalled *r, struct error *err)
{
	const char *call = history_text(h, record->call);
	const char *path = query->path != NULL ? query->path : query->name;

	error_set(err, ERROR_WAITING, query->name, "has asked whether it is %s%s, which another call has taken over: "
	    "to make this one as well, resume with --new %s%s", history_prefix(h), call, history_steps(h), path);
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
