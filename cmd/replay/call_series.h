/*
 * Series: the items of one step among siblings in a tree of calls. For many items users want to
 * know how many there are, how they ended, and which failed: "map ×200: 199 ✓ 1 ✗". Items of
 * several steps may be interleaved. Iterations and branches of a group are not items: there are
 * few, and each is a different part of the work.
 */
#ifndef AWF_REPLAY_CALL_SERIES_H
#define AWF_REPLAY_CALL_SERIES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"
#include "base/map.h"
#include "replay/call_tree.h"

#define CALL_SERIES_LEAST 12  /* items of a step from which they are shown as a series */

struct call_series {
	uint32_t first;               /* its first entry */
	uint32_t last;                /* index of its last item among the siblings */
	uint32_t count;
	uint32_t ended[VIEW_SAYINGS]; /* number of items in each state */
	int64_t began, until;         /* µs since 1970 */
};

/* Siblings, each with its series. */
struct call_siblings {
	const struct call_tree *tree;
	struct call_sibling {
		uint32_t entry;
		uint32_t series;          /* index of its series */
		uint32_t next;            /* index of the next item of the series; CALL_TREE_NONE */
	} *list;
	size_t count;
	struct call_series *series;
	size_t series_count;
};

/* Reads the entries from `first` on. Free with call_siblings_free(). */
void call_siblings_read(struct call_siblings *s, const struct call_tree *tree, uint32_t first);
/* The series that is shown in place of this entry; NULL: it is shown by itself. */
const struct call_series *call_siblings_series(const struct call_siblings *s, size_t index);
/* Whether an item needs attention: it has failed, waits, is running, or did not end. */
bool call_series_tells(const struct call_tree_entry *entry);
/* Appends "map ×200". */
void call_series_label(const struct call_tree *tree, const struct call_series *series,
    struct buffer *out);
/* Appends "199 ✓ 1 ✗". */
void call_series_counts(const struct call_series *series, struct buffer *out);
/* The worst of its items' states. */
enum view_saying call_series_status(const struct call_series *series);
void call_siblings_free(struct call_siblings *s);

#endif
