/*
 * Collects the claims while the one transcript is read, sorts them by run, and then reads each of
 * the other runs at most once, until all claims about it are confirmed. For a line, the matching
 * claims of its run are found by bisection.
 */
#include "transcript/linkage.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/invariant.h"
#include "base/memory.h"
#include "transcript/event.h"
#include "transcript/reader.h"

void
linkage_claim(struct linkage *l, enum linkage_kind kind, struct span run_id,
    struct span event_id, int64_t line, int64_t byte)
{
	struct linkage_claim *claim;

	if (l->count == l->capacity) {
		l->capacity = l->capacity ? 2 * l->capacity : 16;
		l->claims = memory_array(l->claims, l->capacity, sizeof *l->claims);
	}
	claim = &l->claims[l->count++];
	memset(claim, 0, sizeof *claim);
	claim->kind = kind;
	claim->line = line;
	claim->byte = byte;
	span_copy(run_id, claim->run_id, sizeof claim->run_id);
	span_copy(event_id, claim->event_id, sizeof claim->event_id);
	INVARIANT(strlen(claim->run_id) == ID_SIZE - 1);
	INVARIANT((strlen(claim->event_id) == ID_SIZE - 1) == (kind == LINKAGE_EVENT));
	INVARIANT(l->count <= l->capacity);
}

/* Orders claims by run, then as linkage_confirm_claims() searches them. */
static int
linkage_compare_claims(const void *a, const void *b)
{
	const struct linkage_claim *left = a, *right = b;
	int order = strcmp(left->run_id, right->run_id);

	if (order == 0)
		order = (left->kind > right->kind) - (left->kind < right->kind);
	return order != 0 ? order : strcmp(left->event_id, right->event_id);
}

/* Whether the claims are about one run, and in the order in which linkage_confirm_claims() searches
 * them. */
static bool
claims_hold(const struct linkage_claim *claims, size_t count)
{
	for (size_t i = 1; i < count; i++)
		if (strcmp(claims[i].run_id, claims[0].run_id) != 0 ||
		    linkage_compare_claims(&claims[i - 1], &claims[i]) > 0)
			return false;
	return count > 0;
}

/* Confirms the claims of this kind about this event; returns how many were not confirmed before. */
static size_t
linkage_confirm_claims(struct linkage_claim *claims, size_t count, enum linkage_kind kind,
    const char *event_id)
{
	size_t low = 0, high = count, confirmed = 0;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		const struct linkage_claim *at = &claims[middle];

		if (at->kind < kind || (at->kind == kind && strcmp(at->event_id, event_id) < 0))
			low = middle + 1;
		else
			high = middle;
	}
	for (; low < count && claims[low].kind == kind &&
	    strcmp(claims[low].event_id, event_id) == 0; low++) {
		confirmed += !claims[low].found;
		claims[low].found = true;
	}
	return confirmed;
}

/* Reads the other run until its claims, which start at `claims`, are confirmed. If its file does
 * not exist, or has no whole line yet, all claims count as confirmed. */
static int
check_run(struct linkage_claim *claims, size_t count, const char *directory, const char *run_id,
    struct error *err)
{
	char *path = memory_format("%s/%s.jsonl", directory, claims->run_id);
	struct reader reader;
	struct event_view view;
	char event_id[ID_SIZE];
	const char *line;
	size_t len, open = count;
	bool first = true;
	int got = 0;

	INVARIANT(claims_hold(claims, count));
	if (access(path, F_OK) == 0) {
		if (reader_open(&reader, path, err) != 0) {
			free(path);
			return -1;
		}
		while (open > 0 && (got = reader_next(&reader, &line, &len, err)) == 1) {
			if (event_view(line, len, &view) == 0) {
				if (span_copy(view.event_id, event_id, sizeof event_id))
					open -= linkage_confirm_claims(claims, count, LINKAGE_EVENT,
					    event_id);
				if (first && view.parent_run_id.at && span_is(view.parent_run_id, run_id))
					open -= linkage_confirm_claims(claims, count, LINKAGE_CHILD,
					    "");
				if (view.child_run_id.at && span_is(view.child_run_id, run_id))
					open -= linkage_confirm_claims(claims, count,
					    LINKAGE_PARENT, "");
			}
			INVARIANT(open <= count);
			first = false;
		}
		reader_close(&reader);
	}
	free(path);
	if (open > 0 && got < 0)
		return -1;
	for (size_t i = 0; i < count && first; i++)
		claims[i].found = true;
	return 0;
}

int
linkage_check(struct linkage *l, const char *directory, const char *run_id,
    const struct linkage_claim **wrong, struct error *err)
{
	size_t end;

	*wrong = NULL;
	if (l->count > 0)
		qsort(l->claims, l->count, sizeof *l->claims, linkage_compare_claims);
	for (size_t i = 0; i < l->count; i = end) {
		for (end = i + 1; end < l->count &&
		    strcmp(l->claims[end].run_id, l->claims[i].run_id) == 0; end++)
			;
		if (check_run(l->claims + i, end - i, directory, run_id, err) != 0)
			return -1;
	}
	for (size_t i = 0; i < l->count; i++) {
		if (!l->claims[i].found && (!*wrong || l->claims[i].line < (*wrong)->line))
			*wrong = &l->claims[i];
	}
	return 0;
}

void
linkage_free(struct linkage *l)
{
	free(l->claims);
	memset(l, 0, sizeof *l);
}
