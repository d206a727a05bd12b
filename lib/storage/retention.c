/*
 * One pass from the newest to the oldest decides. The origin of a fork that stays is protected in
 * this pass, since it is usually older and comes later; if it is not, further passes follow until
 * no pass protects anything more.
 */
#include "storage/retention.h"

#include "base/count.h"
#include "base/invariant.h"

/* Protects what an item that stays was forked from. Returns whether any of that was to be
 * removed. */
static bool
protect_origins(struct retention_item *items, const struct retention_item *item)
{
	bool rescued = false;

	for (size_t i = 0; i < item->origin_count; i++) {
		struct retention_item *origin = &items[item->origins[i]];

		rescued |= origin->goes;
		origin->protected = true;
		origin->goes = false;
	}
	return rescued;
}

/* What is protected or was not selected stays, and with each its origins. */
static bool
retention_plan_holds(const struct retention_item *items, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		if (items[i].goes && (items[i].protected || !items[i].selected))
			return false;
		for (size_t n = 0; !items[i].goes && n < items[i].origin_count; n++)
			if (items[i].origins[n] >= count || items[items[i].origins[n]].goes)
				return false;
	}
	return true;
}

void
retention_plan(struct retention_item *items, size_t count, const struct retention_rule *rule)
{
	int64_t staying = 0, bytes = 0; /* of the items that stay so far */
	bool full = false, rescued = true;

	for (size_t i = 0; i < count; i++) {
		items[i].goes = false;
		if (items[i].selected && items[i].protected) {
			staying++;
			bytes = count_add(bytes, items[i].bytes);
		}
	}
	for (size_t i = 0; i < count; i++) {
		struct retention_item *item = &items[i];
		int64_t more = count_add(bytes, item->bytes);

		if (item->selected && !item->protected) {
			item->goes = item->ended < rule->before;
			full |= !item->goes &&
			    (staying >= rule->max_count || more > rule->max_bytes);
			item->goes |= full;
			if (!item->goes) {
				staying++;
				bytes = more;
			}
		}
		/* An origin is older, so its turn comes later in this loop. */
		if (!item->goes)
			protect_origins(items, item);
	}
	/* Unless the origin began later, or the clocks were wrong. */
	while (rescued) {
		rescued = false;
		for (size_t i = 0; i < count; i++)
			if (!items[i].goes)
				rescued |= protect_origins(items, &items[i]);
	}
	INVARIANT(retention_plan_holds(items, count));
}
