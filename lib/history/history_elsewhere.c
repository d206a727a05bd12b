/*
 * A step that was moved into a child run, out of one, or from one to another has its record in the
 * history of another run. awf-run writes an index of every run inside a resumed run in which
 * something has changed, and passes each child run the directory of the run around it. A new call
 * is compared with the effects found there that no call has taken over.
 *
 * What a child run did is taken over together with the call that started it, unless the child's
 * files no longer have the step: then the step may be the one that moved. Of a child run that
 * continues, the records that its calls have not taken over become free when it ends; if it is
 * given another input than the recorded one, when it begins.
 */
#include "history/history_parts.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/list.h"
#include "base/memory.h"
#include "base/text.h"
#include "io/file.h"
#include "transcript/call.h"
#include "transcript/event.h"
#include "transcript/event_keys.h"

/* Opens the index at a path once; *opened is NULL if there is none. */
static int
open_other(struct history *h, const char *path, struct history **opened, struct error *err)
{
	size_t count = 0;

	for (; h->elsewhere != NULL && h->elsewhere[count] != NULL; count++) {
		*opened = h->elsewhere[count];
		if (strcmp((*opened)->path, path) == 0)
			return 0;
	}
	if (history_open_index(opened, path, err) != 0)
		return -1;
	if (*opened != NULL) {
		/* What is marked in it is marked in the copies that runs around have. */
		(*opened)->directory = path_directory(path);
		h->elsewhere = memory_array(h->elsewhere, count + 2, sizeof *h->elsewhere);
		h->elsewhere[count] = *opened;
		h->elsewhere[count + 1] = NULL;
	}
	return 0;
}

/* What is searched for, and from where. */
struct looking {
	struct history *asked;       /* keeps the other indexes open */
	const char *directory;       /* of a run that holds the indexes of the runs inside it */
	const unsigned char *guard;
	const struct recall_query *query;
	struct call_marks marks;     /* marks of the call, relative to that run */
	struct elsewhere *found;
	enum likeness like;          /* what was found */
};

/* Joins a directory to another, in the form of call_marks: "" is the workspace. */
static char *
directory_in(const char *around, const char *directory)
{
	if (*directory == '/' || *around == '\0')
		return memory_text(directory);
	return *directory == '\0' ? memory_text(around) : path_join(around, directory);
}

/* The variables with which a run was started: those that enclosing workflows had set, and those
 * that its own workflow had set for a call. */
static char *
variables_in(const char *around, const char *variables)
{
	struct span outer = span_of(around, strlen(around)), inner = span_of(variables, strlen(variables));
	struct buffer all = BUFFER_INIT;

	if (*around == '\0' || *variables == '\0')
		return memory_text(*around == '\0' ? variables : around);
	buffer_append(&all, inner.at, strlen(variables) - 1);
	for (struct span_walk member = span_walk(outer); span_next(&member);) {
		char *name = span_text(member.key);

		if (name != NULL && span_member(inner, name).at == NULL)
			buffer_format(&all, ",%.*s:%.*s", (int)member.key.len, member.key.at, (int)member.value.len,
			    member.value.at);
		free(name);
	}
	buffer_byte(&all, '}');
	return buffer_take(&all);
}

/* Marks of a call, where its run was started with the marks of another. */
static struct recorded_marks
marks_in(const struct recorded_marks *around, const struct recorded_marks *call)
{
	return (struct recorded_marks){ call->start, directory_in(around->directory, call->directory),
		variables_in(around->variables, call->variables) };
}

static void
free_marks(struct recorded_marks *marks)
{
	free((char *)(uintptr_t)marks->directory);
	free((char *)(uintptr_t)marks->variables);
}

/* How similar the call is to an effect in the history of a run that was started with these
 * marks. A variable that distinguishes child runs distinguishes their calls too. */
static enum likeness
compare_effect(const struct looking *l, struct elsewhere *at, const struct recorded_marks *around)
{
	struct recorded_marks recorded = history_marks(at->history, at->record);
	struct buffer names = BUFFER_INIT;
	enum likeness found = LIKE;

	recorded = marks_in(around, &recorded);
	at->differences = marks_difference(&l->marks, &recorded, &names);
	if (at->differences > 0)
		found = DIFFERING;
	if (found == DIFFERING &&
	    (history_tells_apart(at->history, &l->marks, buffer_string(&names), at->record, true) ||
	    history_tells_apart(at->owners, &l->marks, buffer_string(&names), at->owner, true)))
		found = ANOTHER;
	free_marks(&recorded);
	buffer_free(&names);
	return found;
}

/* Whether the effect may have been moved out of the run that a record of a child run is about: its files name
 * the step no more, or they have changed and do not have its name and command any more. */
static bool
may_have_moved_out(const struct looking *l, struct history *of, const struct index_record *child, struct history *inside,
    const struct index_record *r)
{
	char *name;
	bool moved;

	if (r->dropped || child == NULL || !child->outdated || l->query->definition == NULL)
		return r->dropped;
	name = call_id_name(history_text(inside, r->call));
	moved = !history_text_contains(of, child, name, l->query->definition, true);
	free(name);
	return moved;
}

/* Finds effects in the history of a run started with these marks that match the call in all but
 * the place where they were made. owner: the record of that run in the history of owners; NULL:
 * the effects are free. taken: only effects that may have been moved out of the run. */
static void
find_effect(struct looking *l, struct history *h, const struct recorded_marks *around,
    struct history *owners, struct index_record *owner, const struct index_record *inside, bool taken)
{
	struct index_record *nearest = l->found->record;

	for (size_t i = 0; i < h->head->records; i++) {
		struct index_record *r = &h->records[i];
		struct elsewhere at = { h, r, owner != NULL ? owners : h, owner != NULL ? owner : r, owners, inside, 0 };
		enum likeness like;

		if (!r->changed || r->child || memcmp(r->guard, l->guard, DIGEST_BYTES) != 0 ||
		    history_is_used(h, r, l->query) || (taken && !may_have_moved_out(l, owners, inside, h, r)))
			continue;
		like = compare_effect(l, &at, around);
		if (like == ANOTHER || (nearest != NULL && (like > l->like ||
		    (like == l->like && !history_nearer(r, nearest, l->query)))))
			continue;
		/* A call that was taken over does not wait for its owner. */
		if (taken)
			at.owners = h, at.owner = r;
		nearest = r;
		l->like = like;
		*l->found = at;
	}
}

/* Whether a child run that continued has ended, or continues with another input: its own calls
 * will not take over the records that are still free. */
static bool
left_behind(const struct index_record *child)
{
	return !history_unused_by_any(child) && atomic_load(&child->runner) != MARK_FREE &&
	    !(history_child_runs(child) && atomic_load(&child->fits) != 0);
}

/* Opens the index of the inner run that a record of a child run is about; NULL: it has none. */
static int
open_inside(struct history *h, const char *directory, struct history *around, const struct index_record *child,
    struct history **inside, struct error *err)
{
	struct recalled_event started = { .turn = -1 };
	char run_id[ID_SIZE], *path;
	int failed = history_line(around, &child->started, &started, err);

	*inside = NULL;
	if (failed == 0 && event_copy_id(started.view.child_run_id, run_id)) {
		path = history_inside(directory, run_id);
		failed = open_other(h, path, inside, err);
		free(path);
	}
	recalled_event_free(&started);
	return failed;
}

static bool
is_of_one_run(const struct history *a, const struct history *b)
{
	return a->head->sources > 0 && b->head->sources > 0 &&
	    strcmp(a->sources[a->head->sources - 1].run_id, b->sources[b->head->sources - 1].run_id) == 0;
}

/* In a history, and in those of the runs inside. */
static int
note_taken(struct history *h, struct history *at, char *const *taken, struct error *err)
{
	int failed = 0;

	for (size_t i = 0; failed == 0 && i < at->head->records; i++) {
		struct index_record *r = &at->records[i];
		struct recalled_event started = { .turn = -1 };
		struct history *inside;

		if (r->child)
			failed = open_inside(h, h->directory, at, r, &inside, err);
		if (failed == 0 && r->child && inside != NULL)
			failed = note_taken(h, inside, taken, err);
		if (r->child || !r->changed)
			continue;
		failed = history_line(at, &r->started, &started, err);
		if (failed == 0 && list_has(taken, started.id))
			atomic_store(&r->lent, MARK_CLAIMED);
		recalled_event_free(&started);
	}
	return failed;
}

int
history_note_taken(const char *run_directory, char *const *taken, struct error *err)
{
	struct history *h;
	int failed = history_open(&h, run_directory, err);

	if (failed == 0 && h != NULL)
		failed = note_taken(h, h, taken, err);
	history_close(h);
	return failed;
}

static bool
child_changed(struct history *h, struct history *around, const struct index_record *child, size_t depth)
{
	struct recalled_event started = { .turn = -1 };
	struct history *inside;
	bool changed = false;

	if (open_inside(h, h->directory, around, child, &inside, NULL) != 0)
		return true;
	/* Where nothing has changed there is no index; where nothing was kept, there is none either. */
	if (inside == NULL && history_line(around, &child->started, &started, NULL) == 0)
		changed = span_true(span_member(started.view.payload, KEY_NO_TRANSCRIPT));
	recalled_event_free(&started);
	for (size_t i = 0; inside != NULL && !changed && i < inside->head->records; i++)
		changed = inside->records[i].changed || inside->records[i].event_count > 0 ||
		    (inside->records[i].child && (depth >= HISTORY_AROUND_MOST ||
		    child_changed(h, inside, &inside->records[i], depth + 1)));
	return changed;
}

bool
history_child_changed(struct history *h, const struct index_record *child)
{
	return h->directory != NULL && child_changed(h, h, child, 0);
}

/* Searches the child runs of a history, and the runs inside these; taken: the call that started
 * this run was taken over. */
static int
history_search_inside(struct looking *l, struct history *around, const struct recorded_marks *marks,
    bool taken, struct error *err)
{
	int failed = 0;

	for (size_t i = 0; failed == 0 && around->head->children > 0 && i < around->head->records; i++) {
		struct index_record *child = &around->records[i];
		struct history *inside;
		struct recorded_marks inner;
		bool gone, loose;

		if (!child->child)
			continue;
		gone = taken || history_is_in_whole(around, child) || history_is_used(around, child, l->query);
		loose = !taken && left_behind(child);
		failed = open_inside(l->asked, l->directory, around, child, &inside, err);
		/* Of the run of the call that asks, its own index is searched. */
		if (inside == NULL || is_of_one_run(inside, l->asked))
			continue;
		inner = history_marks(around, child);
		inner = marks_in(marks, &inner);
		find_effect(l, inside, &inner, around, loose ? NULL : child, child, gone && !loose);
		failed = history_search_inside(l, inside, &inner, gone && !loose, err);
		free_marks(&inner);
	}
	return failed;
}

/* Whether calls of a history, or of the runs inside, with the words of the record have asked about it in the
 * last attempt. */
static bool
was_asked_inside(struct history *h, const char *directory, struct history *at, const struct index_record *record)
{
	struct history *inside;

	for (uint64_t i = 0; !is_of_one_run(at, h) && i < at->head->questions; i++)
		if (at->questions[i].recent && strcmp(at->questions[i].root, record->root) == 0 &&
		    memcmp(at->questions[i].guard, record->guard, DIGEST_BYTES) == 0)
			return true;
	for (size_t i = 0; at->head->children > 0 && i < at->head->records; i++)
		if (at->records[i].child && open_inside(h, directory, at, &at->records[i], &inside, NULL) == 0 &&
		    inside != NULL && was_asked_inside(h, directory, inside, record))
			return true;
	return false;
}

/* Goes from the directory of a run to that of the run around it, which replaces it; *outer is that run's
 * index, or NULL. False: there is no run around it. */
static bool
climb_out(struct history *h, char **directory, struct history **outer)
{
	struct history_around around;
	char *path;

	*outer = NULL;
	if (*directory == NULL || history_around(*directory, &around, NULL) != 1)
		return false;
	free(*directory);
	*directory = memory_text(around.directory);
	history_around_free(&around);
	path = path_join(*directory, HISTORY_FILE);
	if (open_other(h, path, outer, NULL) != 0)
		*outer = NULL;
	free(path);
	return true;
}

bool
history_asked_elsewhere(struct history *h, const struct index_record *record)
{
	char *directory = h->directory != NULL ? memory_text(h->directory) : NULL;
	struct history *at = h, *outer;
	bool asked;

	for (size_t depth = 0; depth < HISTORY_AROUND_MOST && climb_out(h, &directory, &outer); depth++)
		at = outer != NULL ? outer : at;
	asked = directory != NULL && was_asked_inside(h, directory, at, record);
	free(directory);
	return asked;
}

bool
history_is_inside(struct history *h)
{
	char *directory = h->directory != NULL ? memory_text(h->directory) : NULL;
	struct history *outer;

	climb_out(h, &directory, &outer);
	free(directory);
	return outer != NULL && outer->head->mode == RECALL_RESUME;
}

/* A history whose effects are listed, and the one that keeps the others open. */
struct listing {
	struct history *asked, *of;
};

/* Whether an effect of a child run, or of one inside, has not been taken over; or nobody knows what it did. */
static bool
child_has_more(struct history *h, struct history *around, const struct index_record *child)
{
	struct recalled_event started = { .turn = -1 };
	struct history *inside;
	char run_id[ID_SIZE];
	bool more = false;

	if (open_inside(h, h->directory, around, child, &inside, NULL) != 0)
		return true;
	/* Of one that has changed nothing there is no index, but a transcript. */
	if (inside == NULL && history_line(around, &child->started, &started, NULL) == 0 &&
	    event_copy_id(started.view.child_run_id, run_id)) {
		char *directory = path_directory(around->text + around->sources[child->started.source].path);
		char *path = memory_format("%s/%s.jsonl", directory, run_id);

		more = access(path, F_OK) != 0;
		free(path);
		free(directory);
	}
	recalled_event_free(&started);
	for (size_t i = 0; inside != NULL && !more && i < inside->head->records; i++)
		more = inside->records[i].child ? child_has_more(h, inside, &inside->records[i]) :
		    inside->records[i].changed && atomic_load(&inside->records[i].lent) != MARK_CLAIMED;
	return more;
}

/* Whether calls of other runs have taken over the record that starts there in the run's transcript, or all that
 * the child run did. */
static bool
is_taken(void *context, int64_t offset)
{
	const struct listing *l = context;

	for (size_t i = 0; i < l->of->head->records; i++) {
		const struct index_record *r = &l->of->records[i];

		if (r->started.offset == offset && !l->of->sources[r->started.source].foreign)
			return atomic_load(&r->lent) == MARK_CLAIMED ||
			    (r->child && l->asked->directory != NULL && !child_has_more(l->asked, l->of, r));
	}
	return false;
}

/* Adds those of an inner run, under the names that they have from the outermost run. */
static int
list_unclaimed_inside(struct history *h, struct history *inside, struct history_summary *summary, struct error *err)
{
	const char *prefix = history_prefix(inside);
	size_t from = summary->unclaimed_count;
	int failed = history_list_unclaimed(inside, is_taken, &(struct listing){ h, inside }, summary, err);

	for (size_t i = from; i < summary->unclaimed_count; i++) {
		char *call = summary->unclaimed[i].call;

		summary->unclaimed[i].call = memory_format("%s%s", prefix, call);
		free(call);
	}
	return failed;
}

/* Of inner runs that continued. */
static int
search_unclaimed(struct history *h, struct history *around, struct history_summary *summary, struct error *err)
{
	struct history *inside;
	int failed = 0;

	for (size_t i = 0; failed == 0 && around->head->children > 0 && i < around->head->records; i++) {
		const struct index_record *child = &around->records[i];

		if (!child->child || history_free(child))
			continue;
		failed = open_inside(h, h->directory, around, child, &inside, err);
		if (failed == 0 && inside != NULL)
			failed = list_unclaimed_inside(h, inside, summary, err);
		if (failed == 0 && inside != NULL)
			failed = search_unclaimed(h, inside, summary, err);
	}
	return failed;
}

int
history_unclaimed(struct history *h, struct history_summary *summary, struct error *err)
{
	memset(summary, 0, sizeof *summary);
	if (h->head->mode != RECALL_RESUME || history_is_inside(h))
		return 0;
	if (history_list_unclaimed(h, is_taken, &(struct listing){ h, h }, summary, err) != 0)
		return -1;
	return h->directory != NULL ? search_unclaimed(h, h, summary, err) : 0;
}

/* Adds those of a history, and of the runs inside. */
static int
add_answers_left(struct history *h, struct history *of, struct buffer *out, struct error *err)
{
	struct history *inside;
	int failed = 0;

	for (size_t i = 0; failed == 0 && i < of->head->records; i++) {
		const struct index_record *r = &of->records[i];
		const int times = r->decided == RECALL_SKIP && r->skipped_twice ? 2 : 1;

		if (r->decided != RECALL_UNDECIDED && (!r->step_skipped || r->skipped_itself) && history_unused_by_any(r))
			for (int n = 0; n < times; n++)
				buffer_format(out, " --%s %s%s", r->decided == RECALL_SKIP ? "skip" : "redo", history_prefix(of),
				    history_text(of, r->call));
		if (!r->child || of->head->children == 0)
			continue;
		failed = open_inside(h, h->directory, of, r, &inside, err);
		if (failed == 0 && inside != NULL)
			failed = add_answers_left(h, inside, out, err);
	}
	return failed;
}

int
history_answers_left(struct history *h, struct buffer *out, struct error *err)
{
	return h->head->mode != RECALL_RESUME || h->directory == NULL ? 0 : add_answers_left(h, h, out, err);
}

bool
history_edited_around(struct history *h)
{
	char *directory = h->directory != NULL ? memory_text(h->directory) : NULL;
	bool edited = h->head->edited;
	struct history *outer;

	for (size_t depth = 0; !edited && depth < HISTORY_AROUND_MOST && climb_out(h, &directory, &outer); depth++)
		edited = outer != NULL && outer->head->edited;
	free(directory);
	return edited;
}

int
history_find_elsewhere(struct history *h, const unsigned char *guard,
    const struct recall_query *query, struct elsewhere *found, struct error *err)
{
	static const struct recorded_marks none = { "", "", "" };
	const char *own = query->marks->directory != NULL ? query->marks->directory : "";
	struct looking l = { h, h->directory, guard, query, *query->marks, found, LIKE };
	char *directory = h->directory != NULL ? memory_text(h->directory) : NULL;
	char *here = memory_text(own);
	struct history *at = h;
	size_t depth = 0;
	int failed = 0;

	*found = (struct elsewhere){ .record = NULL };
	while (directory != NULL && depth < HISTORY_AROUND_MOST) {
		struct history_around around;
		char *path, *outer;

		l.directory = directory;
		/* A new child run has no history, though the run around it may have one. */
		if (at != NULL)
			failed = history_search_inside(&l, at, &none, false, err);
		if (failed != 0 || (failed = history_around(directory, &around, err)) <= 0)
			break;
		outer = directory_in(around.place, here);
		free(directory);
		free(here);
		directory = memory_text(around.directory);
		here = outer;
		history_around_free(&around);
		if (depth++ > 0)
			marks_free(&l.marks);
		failed = marks_find(&l.marks, directory, NULL, NULL, err);
		if (failed == -1)
			break;
		free(l.marks.directory);
		l.marks.directory = memory_text(here);
		path = path_join(directory, HISTORY_FILE);
		failed = open_other(h, path, &at, err);
		free(path);
		if (failed != 0)
			break;
		if (at != NULL)
			find_effect(&l, at, &none, at, NULL, NULL, false);
	}
	if (depth > 0)
		marks_free(&l.marks);
	free(directory);
	free(here);
	return failed < 0 ? -1 : 0;
}
