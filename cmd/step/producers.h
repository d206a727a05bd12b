/*
 * The producers of a stream: the awf-step processes in the same enclosing call that
 * made its items, or whose bodies did. One that died before its end has cut the stream
 * off.
 *
 * Producers that have ended are forgotten, so the list is no longer than those that
 * feed the stream at a time, however many there were. What was made outside of the
 * enclosing call is for others to answer for.
 *
 * In a child run items may come from a run around it, through a filter that no roster knows.
 * Of that run the processes at top level count, in whatever call the child is: none of those
 * that are around it is dead.
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
	const struct run *run; /* NULL: there are no runs around it to be asked about */
	struct producers *outer; /* of the runs around that one, once an item came from one; */
	char **outer_ids;      /* run id of each, ends with NULL */
	bool looked;           /* for these */
	bool foreign;          /* an item of another run came */
};

/* Remembers who made the item. */
void producers_note(struct producers *p, const struct item *item);
/* Fills *why if one of them is dead. */
bool producers_dead(const struct producers *p, struct error *why);
void producers_free(struct producers *p);

/* Length of the process's part of a call that was made in the enclosing one (*direct), or in
 * that one's calls; 0 if it was not. */
size_t producer_len(const char *enclosing, const char *call, bool *direct);

#endif
