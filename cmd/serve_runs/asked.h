/*
 * What calls of a run ask: each call that waits for a decision, a result or a time, and each question that
 * a live run asks right now. The page of a run and the list of all that waits show the same of them.
 */
#ifndef AWF_SERVE_RUNS_ASKED_H
#define AWF_SERVE_RUNS_ASKED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "json/writer.h"
#include "serve_runs/overview.h"

struct asked {
	const struct waiting *wait;  /* NULL: an open call asks a question */
	const struct model_call *call; /* NULL: it is not known any more */
	int64_t since;               /* µs since 1970; 0: not known */
};

/* The calls that ask, in the order of the record; a list that the caller frees. alive: of the run. The
 * caller has found that the run asks at all (summary_asks()). */
size_t asked_list(const struct overview *o, bool alive, struct asked **list);
/* Whether a person is asked, not the clock. */
bool asked_person(const struct asked *a);
/* Writes the members of an object that tell what is asked, with the data that it is about. */
void asked_write(const struct overview *o, const struct asked *a, bool alive, struct writer *w);

#endif
