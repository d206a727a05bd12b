/*
 * In what calls of one name that stand beside each other in a tree of calls differ: the directories
 * in which they began, and the variables that the workflow had set to another value for some.
 */
#ifndef AWF_REPLAY_CALL_DIFFERENCES_H
#define AWF_REPLAY_CALL_DIFFERENCES_H

#include "replay/call_tree.h"

/* Tells the calls of each name among the entries from the first on apart: their `differs`, of what
 * tree->marks has of them. */
void call_differences_find(struct call_tree *tree, uint32_t first);

#endif
