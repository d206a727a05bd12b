/*
 * The list grows until nothing waits any more, and is then emptied. Events that wait for one cause
 * are linked, the last one first.
 */
#include "ingest/awaited.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

/* Of a run and an id in it. */
#define KEY_BYTES_OF_CAUSE (2 * (ID_SIZE - 1))

static void
make_key(const char *run_id, const char *id, char key[KEY_BYTES_OF_CAUSE])
{
	memcpy(key, run_id, ID_SIZE - 1);
	memcpy(key + ID_SIZE - 1, id, ID_SIZE - 1);
}

void
awaited_add(struct awaited *a, const struct awaited_event *event)
{
	char key[KEY_BYTES_OF_CAUSE];
	const size_t *last;

	if (a->count == a->room) {
		a->room = a->room == 0 ? 64 : 2 * a->room;
		a->list = memory_array(a->list, a->room, sizeof *a->list);
	}
	make_key(event->run_id, event->cause, key);
	last = map_get(&a->causes, key, sizeof key);
	a->list[a->count] = *event;
	a->list[a->count].over = false;
	a->list[a->count].next = last != NULL ? *last : 0;
	map_put(&a->causes, key, sizeof key, ++a->count);
	a->waiting++;
	a->bytes += event->len;
}

/* Passes an event to the caller. */
static void
awaited_pass(struct awaited *a, size_t index, struct awaited_event *event)
{
	*event = a->list[index];
	a->list[index].over = true;
	a->list[index].object = NULL;
	a->bytes -= event->len;
	while (a->first < a->count && a->list[a->first].over)
		a->first++;
	if (--a->waiting == 0 && !a->settling)
		awaited_free(a);
}

bool
awaited_take(struct awaited *a, const char *run_id, const char *cause, struct awaited_event *event)
{
	char key[KEY_BYTES_OF_CAUSE];
	const size_t *last;
	size_t at;

	if (a->waiting == 0)
		return false;
	make_key(run_id, cause, key);
	last = map_get(&a->causes, key, sizeof key);
	for (at = last != NULL ? *last : 0; at != 0 && a->list[at - 1].over;)
		at = a->list[at - 1].next;
	if (last == NULL)
		return false;
	map_put(&a->causes, key, sizeof key, at == 0 ? 0 : a->list[at - 1].next);
	if (at == 0)
		return false;
	awaited_pass(a, at - 1, event);
	return true;
}

/* Whether the cause of the event is among the ids. */
static bool
awaited_has(const struct map *ids, const struct awaited_event *event)
{
	char key[KEY_BYTES_OF_CAUSE];

	make_key(event->run_id, event->cause, key);
	return map_get(ids, key, sizeof key) != NULL;
}

static int
by_id(const void *left, const void *right)
{
	const struct awaited_event *const *a = left, *const *b = right;

	return strcmp((*a)->id, (*b)->id);
}

/* Ends the waiting of events that wait for each other. */
static void
awaited_settle_circles(struct awaited *a, int64_t before,
    void (*end)(void *context, const struct awaited_event *event), void *context)
{
	const struct awaited_event **order = memory_array(NULL, a->waiting, sizeof *order);
	size_t count = 0;

	for (size_t i = a->first; i < a->count; i++)
		if (!a->list[i].over && a->list[i].since <= before)
			order[count++] = &a->list[i];
	if (count > 0)
		qsort(order, count, sizeof *order, by_id);
	for (size_t i = 0; i < count; i++)
		if (!order[i]->over) {
			struct awaited_event event;

			awaited_pass(a, (size_t)(order[i] - a->list), &event);
			end(context, &event);
		}
	free(order);
}

void
awaited_settle(struct awaited *a, int64_t before,
    void (*end)(void *context, const struct awaited_event *event), void *context)
{
	struct map ids = MAP_INIT;
	struct awaited_event event;
	char key[KEY_BYTES_OF_CAUSE];

	if (a->waiting == 0)
		return;
	a->settling = true;
	for (size_t i = a->first; i < a->count; i++) {
		make_key(a->list[i].run_id, a->list[i].id, key);
		if (!a->list[i].over)
			map_put(&ids, key, sizeof key, 1);
	}
	for (size_t i = a->first; i < a->count; i++)
		if (!a->list[i].over && a->list[i].since <= before && !awaited_has(&ids, &a->list[i])) {
			awaited_pass(a, i, &event);
			end(context, &event);
		}
	map_free(&ids);
	if (a->waiting > 0)
		awaited_settle_circles(a, before, end, context);
	a->settling = false;
	if (a->waiting == 0)
		awaited_free(a);
}

int64_t
awaited_since(const struct awaited *a)
{
	return a->waiting > 0 ? a->list[a->first].since : 0;
}

void
awaited_copy(struct awaited *to, const struct awaited *from)
{
	*to = (struct awaited){ .list = NULL };
	for (size_t i = from->first; i < from->count; i++)
		if (!from->list[i].over) {
			struct awaited_event event = from->list[i];

			event.object = memory_copy(event.object, event.len);
			awaited_add(to, &event);
		}
}

void
awaited_free(struct awaited *a)
{
	for (size_t i = 0; i < a->count; i++)
		free(a->list[i].object);
	free(a->list);
	map_free(&a->causes);
	*a = (struct awaited){ .list = NULL };
}
