/*
 * The id of a call is a path, so the ids of processes inside the enclosing call begin with its id.
 * When the list is full, processes that have ended according to the roster are removed before it
 * grows. If this is a child run, each run around it has a list of its own; they are made when the
 * first item from another run arrives.
 */
#include "step/producers.h"

#include <stdlib.h>
#include <string.h>

#include "base/list.h"
#include "base/memory.h"
#include "storage/lineage.h"

#define CAPACITY_MIN 16

size_t
producer_len(const char *enclosing, const char *call, bool *direct)
{
	size_t outer = strlen(enclosing), len;

	*direct = false;
	if (outer > 0 && (strncmp(call, enclosing, outer) != 0 || call[outer++] != '/'))
		return 0;
	len = outer + strcspn(call + outer, "/");
	*direct = call[len] == '\0';
	while (len > outer && call[len - 1] != ':')
		len--;
	return len > outer ? len - 1 : 0;
}

/* Adds the process that made an item to the list of its run. */
static void
producers_note_call(struct producers *p, const struct item *item)
{
	char *call = item_metadata(item, "call");
	bool direct, known = false;
	size_t len = call != NULL ? producer_len(p->enclosing, call, &direct) : 0, kept = 0;

	for (size_t i = p->count; i > 0 && len > 0 && !known; i--)
		known = strncmp(p->calls[i - 1], call, len) == 0 && p->calls[i - 1][len] == ':';
	if (len == 0 || known) {
		free(call);
		return;
	}
	/* Remove processes that have ended; if few have, the list grows. */
	if (p->count == p->capacity) {
		for (size_t i = 0; i < p->count; i++) {
			if (roster_ended(p->roster, p->calls[i]))
				free(p->calls[i]);
			else
				p->calls[kept++] = p->calls[i];
		}
		p->count = kept;
		if (kept >= p->capacity / 2) {
			p->capacity = p->capacity == 0 ? CAPACITY_MIN : p->capacity * 2;
			p->calls = memory_array(p->calls, p->capacity, sizeof *p->calls);
		}
	}
	p->calls[p->count++] = memory_format("%.*s:0", (int)len, call);
	free(call);
}

void
producers_note(struct producers *p, const struct item *item)
{
	struct lineage around;
	struct error unread; /* ignored: then nothing is known about these runs */
	size_t count = 0;
	char *run_id;

	if (!item->foreign) {
		producers_note_call(p, item);
		return;
	}
	p->foreign = true;
	run_id = p->run != NULL ? item_metadata(item, "run_id") : NULL;
	/* Find the runs around this one. */
	if (run_id != NULL && !p->looked) {
		p->looked = true;
		if (lineage_read(&around, p->run->directory, &unread) == 0)
			count = lineage_depth(&around);
		if (count > 0)
			p->outer = memory_zero(count, sizeof *p->outer);
	}
	for (size_t i = 0; i < count; i++) {
		char *directory = storage_run_directory(&p->run->storage, around.runs[i].run_id);

		list_add(&p->outer_ids, around.runs[i].run_id);
		p->outer[i].roster = memory_zero(1, sizeof *p->outer[i].roster);
		p->outer[i].enclosing = "";
		roster_look(p->outer[i].roster, directory);
		free(directory);
	}
	for (size_t i = 0; run_id != NULL && i < list_count(p->outer_ids); i++)
		if (strcmp(p->outer_ids[i], run_id) == 0)
			producers_note_call(&p->outer[i], item);
	free(run_id);
}

bool
producers_dead(const struct producers *p, struct error *why)
{
	for (size_t i = 0; i < p->count; i++) {
		const char *call = p->calls[i];

		if (!roster_dead(p->roster, call))
			continue;
		error_set(why, ERROR_UPSTREAM_INCOMPLETE, NULL,
		    "the step %.*s died before its end of the input", (int)strlen(call) - 2, call);
		return true;
	}
	for (size_t i = 0; i < list_count(p->outer_ids); i++)
		if (producers_dead(&p->outer[i], why))
			return true;
	return false;
}

void
producers_free(struct producers *p)
{
	for (size_t i = 0; i < p->count; i++)
		free(p->calls[i]);
	free(p->calls);
	for (size_t i = 0; i < list_count(p->outer_ids); i++) {
		producers_free(&p->outer[i]);
		roster_close(p->outer[i].roster);
		free(p->outer[i].roster);
	}
	free(p->outer);
	list_free(p->outer_ids);
}
