/*
 * Effects: what a call may change outside of itself, in the words in which its start records it.
 */
#ifndef AWF_TRANSCRIPT_EFFECTS_H
#define AWF_TRANSCRIPT_EFFECTS_H

#include <stdbool.h>

enum effects { EFFECTS_UNDECLARED, EFFECTS_NONE, EFFECTS_READ, EFFECTS_WORKSPACE,
	EFFECTS_EXTERNAL };

/* "none" …; NULL for EFFECTS_UNDECLARED. */
const char *effects_name(enum effects effects);
int effects_parse(const char *text, enum effects *effects);
/* The names from EFFECTS_NONE on, which end with NULL. */
const char *const *effects_words(void);
/* Whether the start of the call must be on disk before the call begins: workspace or external. */
bool effects_outside(enum effects effects);

#endif
