/*
 * How calls with the same name, among siblings in a tree of calls, differ: in the directories in
 * which they began, and in variables that the workflow had set.
 */
#ifndef AWF_REPLAY_CALL_DIFFERENCES_H
#define AWF_REPLAY_CALL_DIFFERENCES_H

#include "replay/call_tree.h"

/* Sets `differs` of the entries from `first` on, by comparing tree->marks of those with
 * the same name. */
void call_differences_find(struct call_tree *tree, uint32_t first);

#endif
