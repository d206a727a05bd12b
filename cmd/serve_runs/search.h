/*
 * Searching for a text in what the events of runs hold: in their paths, and all values of their payloads, but in
 * no name of a member, and in no blob. Case does not matter. The page looks in one run by the same rules
 * (share/www/search.js).
 */
#ifndef AWF_SERVE_RUNS_SEARCH_H
#define AWF_SERVE_RUNS_SEARCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"
#include "base/id.h"
#include "json/writer.h"
#include "storage/storage.h"

#define SEARCH_TEXT ((size_t)1000) /* bytes of a text that is looked for */

/* What is looked for. */
struct search_text {
	uint32_t *characters;        /* folded */
	size_t count;
	char *part;                  /* its longest part of plain characters, which each line has that
	                                holds it, in lower case; "": none */
};

/* False: the text is not in UTF-8, or has nothing in it. search_text_free() is called either way. */
bool search_text_make(struct search_text *s, const char *text);
void search_text_free(struct search_text *s);
/* Where the text is in another one; its bytes there in *length. NULL: nowhere. */
const char *search_find(const struct search_text *s, const char *text, size_t len, size_t *length);

/* How much of a run is told. */
struct search_limits {
	size_t hits;                 /* at most, of one run */
	int64_t until;               /* clock_monotonic() at which the search of a run is given up */
};

enum search_end { SEARCH_WHOLE, SEARCH_MORE /* there are more hits */, SEARCH_CUT /* it took too long */,
	SEARCH_UNREADABLE };

/* Writes the hits in a run as objects: the event's number, type, path and time, and what stands before and after
 * what was found. */
enum search_end search_run(const struct search_text *s, const struct storage *storage, const char *run_id,
    const struct search_limits *limits, struct writer *w, size_t *hits);

#endif
