/*
 * One pass from the newest to the oldest decides. If a fork is kept, its origin is protected:
 * usually the origin is older, so this pass has not come to it yet. Otherwise further passes
 * follow, until a pass protects nothing more.
 */
#include "decide/retention.h"

#include "base/count.h"
#include "base/invariant.h"

/* Protects the runs from which a kept item was forked. Returns whether any of them was to be
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

/* Checks that everything is kept that is protected or not selected, or from which a kept run was
 * forked. */
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
	int64_t staying = 0, bytes = 0; /* of the items that are kept so far */
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
		/* An origin is usually older, so this loop comes to it later. */
		if (!item->goes)
			protect_origins(items, item);
	}
	/* Origins that came earlier in the loop, because they began later or the clocks were
	 * wrong. */
	while (rescued) {
		rescued = false;
		for (size_t i = 0; i < count; i++)
			if (!items[i].goes)
				rescued |= protect_origins(items, &items[i]);
	}
	INVARIANT(retention_plan_holds(items, count));
}
