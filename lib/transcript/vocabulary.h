/*
 * The vocabularies in which other programs report events that can be given back as they came: those
 * of awf-projections(7) that other programs write, too.
 */
#ifndef AWF_TRANSCRIPT_VOCABULARY_H
#define AWF_TRANSCRIPT_VOCABULARY_H

#include "json/scan.h"

#define VOCABULARY_AGENT_EVENT "agent-event"
#define VOCABULARY_INTERAGENT "interagent"

/* The vocabulary of an event, an object with the members beside its payload; NULL: it is an event of
 * none of them. */
const char *vocabulary_of(struct span event);

#endif
