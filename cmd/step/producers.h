/*
 * The producers of a stream: the awf-step processes in the same enclosing call that made its items,
 * or whose bodies made them. If one of them died before its end, the stream was cut off.
 *
 * Producers that have ended are removed, so the list is no longer than the number of producers that
 * write at the same time. Items that were made outside the enclosing call are not considered.
 *
 * In a child run, items may come from a run around it, through a filter that is in no roster. For
 * these, the top-level processes of that run are considered, whatever call the child is in: none of
 * the processes that enclose it is dead.
 */
#ifndef AWF_STEP_PRODUCERS_H
#define AWF_STEP_PRODUCERS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "storage/roster.h"
#include "storage/run.h"
#include "storage/state.h"

struct producers {
	struct roster *roster;
	const char *enclosing; /* the enclosing call, "" at top level */
	char **calls;          /* "ENCLOSING/NAME:OCCURRENCE:0" of each */
	size_t count, capacity;
	const struct run *run; /* NULL: the runs around it are not considered */
	struct producers *outer; /* one for each run around this one, once an item of another run
	                            has arrived; */
	char **outer_ids;      /* their run ids; ends with NULL */
	bool looked;           /* outer has been set */
	bool foreign;          /* an item of another run has arrived */
};

/* Remembers the producer of an item. */
void producers_note(struct producers *p, const struct item *item);
/* Whether one of them is dead; *why says which. */
bool producers_dead(const struct producers *p, struct error *why);
void producers_free(struct producers *p);

/* The length of the part of a call's id that names its process, if the call was made in the
 * enclosing call (*direct), or inside one of that call's calls; 0 if not. */
size_t producer_len(const char *enclosing, const char *call, bool *direct);

#endif
