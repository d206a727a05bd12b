/* Causes of one step that are alike are told once: a script that changed has changed for all items. */
#include "diff/report.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

#define ALONE_MOST 5       /* of the calls of a step that differ each for itself, so many are told each */

bool
diff_report_has(const struct diff_report *r, const struct diff_pair *pair)
{
	const struct diff_call *c = diff_pair_call(pair);
	const size_t len = r->path != NULL ? strlen(r->path) : 0;

	return r->path == NULL || (strncmp(c->path, r->path, len) == 0 && (c->path[len] == '\0' || c->path[len] == '.'));
}

static bool
diff_pairs_have(const struct diff_report *r, const struct diff_pair *around)
{
	for (const struct diff_pair *pair = around->inside; pair != NULL; pair = pair->beside)
		if (diff_report_has(r, pair) || diff_pairs_have(r, pair))
			return true;
	return false;
}

bool
diff_report_has_any(const struct diff_report *r)
{
	return r->path == NULL || diff_pairs_have(r, r->root);
}

static bool
diff_pairs_differ(const struct diff_report *r, const struct diff_pair *around)
{
	for (const struct diff_pair *pair = around->inside; pair != NULL; pair = pair->beside)
		if ((pair->kind != DIFF_SAME && diff_report_has(r, pair)) || diff_pairs_differ(r, pair))
			return true;
	return false;
}

bool
diff_report_differs(const struct diff_report *r)
{
	return (r->path == NULL && r->root->kind != DIFF_SAME) || diff_pairs_differ(r, r->root);
}

/* Makes of the key of calls that differ each for itself one that is of this call alone, but for the first few
 * of a step only. */
static void
diff_told_alone(struct diff_told_list *told, struct buffer *alike, const struct diff_pair *pair)
{
	const size_t *count = map_get(&told->alone, alike->data, alike->len);
	const size_t before = count != NULL ? *count : 0;

	map_put(&told->alone, alike->data, alike->len, before + 1);
	if (before < ALONE_MOST)
		buffer_append(alike, &pair, sizeof pair);
}

/* Adds a pair to a list of those that are alike. */
static void
diff_told_add(struct diff_told_list *told, const struct buffer *alike, struct diff_pair *pair)
{
	const size_t *at = map_get(&told->places, alike->data, alike->len);

	if (at != NULL && told->list != NULL) {
		told->list[*at].count++;
		pair->like = told->list[*at].pair;
		return;
	}
	map_put(&told->places, alike->data, alike->len, told->count);
	told->list = memory_array(told->list, told->count + 1, sizeof *told->list);
	told->list[told->count++] = (struct diff_told){ pair, 1 };
	pair->like = pair;
}

static void
diff_summary_add(struct diff_summary *s, const struct diff_report *r, struct diff_pair *around)
{
	struct buffer alike = BUFFER_INIT;

	for (struct diff_pair *pair = around->inside; pair != NULL; pair = pair->beside) {
		if (diff_report_has(r, pair)) {
			s->counts.kinds[pair->kind]++;
			buffer_clear(&alike);
			buffer_format(&alike, "%s\n%d\n", diff_pair_call(pair)->path, pair->kind);
			if (pair->kind == DIFF_FOLLOWS || pair->kind == DIFF_MOVED) {
				diff_told_add(&s->follows, &alike, pair);
			} else if (diff_pair_causes(pair)) {
				/* What differs is the same if definitions are what makes the difference. */
				if (pair->kind == DIFF_CHANGED && pair->what & DIFF_DEFINITION) {
					buffer_append(&alike, &pair->a->keys.definition, sizeof pair->a->keys.definition);
					buffer_append(&alike, &pair->b->keys.definition, sizeof pair->b->keys.definition);
				} else if (pair->kind == DIFF_CHANGED && pair->what & DIFF_MODEL) {
					buffer_format(&alike, "%s %s\n%s %s", pair->a->provider, pair->a->model,
					    pair->b->provider, pair->b->model);
				} else if (pair->kind != DIFF_CHANGED || !(pair->what & DIFF_INPUT)) {
					buffer_text(&alike, diff_pair_reason(pair));
					diff_told_alone(&s->causes, &alike, pair);
				}
				diff_told_add(&s->causes, &alike, pair);
			}
		}
		diff_summary_add(s, r, pair);
	}
	buffer_free(&alike);
}

void
diff_summary_read(struct diff_summary *s, const struct diff_report *r)
{
	diff_summary_add(s, r, r->root);
}

void
diff_summary_free(struct diff_summary *s)
{
	free(s->causes.list);
	free(s->follows.list);
	map_free(&s->causes.places);
	map_free(&s->follows.places);
	map_free(&s->causes.alone);
}

const char *
diff_pair_reason(const struct diff_pair *pair)
{
	if (pair->kind == DIFF_FOLLOWS && (pair->a == NULL || pair->b == NULL))
		return diff_call_follows(diff_pair_call(pair)) ?
		    pair->a == NULL ? "new since what is before it" : "gone since what is before it" :
		    diff_call_is_called(diff_pair_call(pair)) ?
		    pair->a == NULL ? "called in the second run alone" : "called in the first run alone" :
		    pair->a == NULL ? "not reached in the first run" : "not reached in the second run";
	if (pair->kind == DIFF_FOLLOWS)
		return pair->what & DIFF_STATUS && pair->b->state == CALL_SKIPPED ? "skipped in the second run" :
		    pair->what & DIFF_STATUS && pair->a->state == CALL_SKIPPED ? "skipped in the first run" :
		    pair->what & DIFF_INPUT ? "its input changed" :
		    pair->what & DIFF_INSIDE ? "what is inside it changed" : "";
	if (pair->kind != DIFF_CHANGED || pair->what & (DIFF_DEFINITION | DIFF_MODEL))
		return "";
	if (pair->what & DIFF_INPUT)
		return "was given something else";
	return pair->what & DIFF_ANSWERS ? "a tool answered otherwise to the same call" :
	    pair->what & DIFF_STATUS ? "ended otherwise on the same input" :
	    pair->what & DIFF_RESULT ? "gave something else for the same input" :
	    pair->what & DIFF_FILES ? "wrote something else for the same input" :
	    pair->what & DIFF_TOOLS ? "called tools otherwise for the same input" :
	    pair->what & DIFF_TOKENS ? "took other tokens for the same input" : "did otherwise with the same input";
}

const char *
diff_report_relation(const struct diff_report *r)
{
	return strcmp(r->b->forked_from, r->a->run_id) == 0 ? " (its fork)" :
	    strcmp(r->a->forked_from, r->b->run_id) == 0 ? " (forked from it)" : "";
}
