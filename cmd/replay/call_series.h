/*
 * Series: the items of one step among calls that stand beside each other, in a tree of calls. Of
 * many a person wants to know how many there are, how they ended, and which did not end well:
 * "map ×200: 199 ✓ 1 ✗". Items of several steps may have begun in turn. Rounds and branches of a
 * group are no items: there are few, and each is another part of the work.
 */
#ifndef AWF_REPLAY_CALL_SERIES_H
#define AWF_REPLAY_CALL_SERIES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"
#include "base/map.h"
#include "replay/call_tree.h"

#define CALL_SERIES_LEAST 12  /* so many are shown as one */

struct call_series {
	uint32_t first;               /* its first entry */
	uint32_t last;                /* among the siblings: index */
	uint32_t count;
	uint32_t ended[VIEW_SAYINGS]; /* how many ended how */
	int64_t began, until;         /* µs since 1970 */
};

/* Entries beside each other, each with what it is one of. */
struct call_siblings {
	const struct call_tree *tree;
	struct call_sibling {
		uint32_t entry;
		uint32_t series;          /* index */
		uint32_t next;            /* of the same series: index; CALL_TREE_NONE */
	} *list;
	size_t count;
	struct call_series *series;
	size_t series_count;
};

/* Those from the first on. call_siblings_free() */
void call_siblings_read(struct call_siblings *s, const struct call_tree *tree, uint32_t first);
/* The series that is shown in place of this one and the rest of it; NULL: it stands for itself. */
const struct call_series *call_siblings_series(const struct call_siblings *s, size_t index);
/* Whether an item is one to be seen: it has failed, waits, runs or never ended. */
bool call_series_tells(const struct call_tree_entry *entry);
/* Appends "map ×200". */
void call_series_label(const struct call_tree *tree, const struct call_series *series,
    struct buffer *out);
/* Appends "199 ✓ 1 ✗". */
void call_series_counts(const struct call_series *series, struct buffer *out);
/* What is to be said of all of it: that of the worst. */
enum view_saying call_series_status(const struct call_series *series);
void call_siblings_free(struct call_siblings *s);

#endif
