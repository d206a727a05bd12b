#include "record/retention.h"

#include "base/count.h"

/* What stays so far. */
struct room {
	int64_t count, bytes;
};

static void
take_up(struct room *room, const struct retention_item *item)
{
	room->count++;
	room->bytes = count_add(room->bytes, item->bytes);
}

/* Whether there is room for one more. */
static bool
fits(const struct room *room, const struct retention_item *item,
    const struct retention_rule *rule)
{
	return room->count < rule->max_count &&
	    count_add(room->bytes, item->bytes) <= rule->max_bytes;
}

void
retention_plan(struct retention_item *items, size_t count, const struct retention_rule *rule)
{
	struct room room = { 0, 0 };
	bool full = false;

	for (size_t i = 0; i < count; i++)
		if (items[i].selected && items[i].protected)
			take_up(&room, &items[i]);
	for (size_t i = 0; i < count; i++) {
		struct retention_item *item = &items[i];

		item->goes = false;
		if (item->selected && !item->protected) {
			item->goes = item->ended < rule->before;
			full |= !item->goes && !fits(&room, item, rule);
			item->goes |= full;
			if (!item->goes)
				take_up(&room, item);
		}
		/* An origin is older, so its turn comes. */
		if (!item->goes && item->origin < count)
			items[item->origin].protected = true;
	}
	for (size_t i = 0; i < count; i++) /* where clocks say otherwise */
		if (!items[i].goes && items[i].origin < count)
			items[items[i].origin].goes = false;
}
