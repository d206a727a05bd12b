/*
 * In what calls of the same name among siblings in a tree of calls differ: the directories in which
 * they began, and variables that the workflow had set to different values.
 */
#ifndef AWF_REPLAY_CALL_DIFFERENCES_H
#define AWF_REPLAY_CALL_DIFFERENCES_H

#include "replay/call_tree.h"

/* Sets `differs` of the entries from `first` on, by comparing tree->marks of those with
 * the same name. */
void call_differences_find(struct call_tree *tree, uint32_t first);

#endif
