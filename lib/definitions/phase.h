/*
 * Phases of an agent, awf-agent(5), as its file defines them: parts of the work that the model is
 * given one after another. phases.h executes them.
 */
#ifndef AWF_DEFINITIONS_PHASE_H
#define AWF_DEFINITIONS_PHASE_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "formats/definition.h"

/* Tools with which a model ends a phase, or the last one. */
#define PHASE_CONTINUE "continue_workflow"
#define PHASE_FINISH "finish_workflow"

struct phase {
	char *name;          /* name of its step: A-Z a-z 0-9 _ - */
	char *instructions;
	char **tools;        /* names; ends with NULL; NULL: the agent's tools */
	int64_t max_turns;   /* most answers in the phase; 0: only the agent's limit */
};

struct agent;

struct phases_list {
	struct phase *list;
	size_t count;
};

/* A reader of a key: a list of objects; the member at offset is a struct phases_list. */
int phases_read(const struct definition *d, const struct definition_key *key, json_t *value,
    void *object, struct error *err);
/* The names of the tools of phase `number`, counted from 0: its own, or those of the agent if it
 * names none. */
char *const *phase_tools(const struct agent *a, size_t number);
void phases_list_free(struct phases_list *phases);

#endif
