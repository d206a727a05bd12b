/*
 * What steps have made, as the transcript knows: how many state lines each process has
 * printed, by the recorded ends of its calls. A stream that lost some on its way (a link
 * that was cut) ends like any other; who counts what came finds out here.
 *
 * A line that another of these makers has taken as its input, and not only passed on, is
 * not expected any more. One that came twice is one, unless a group has printed it twice.
 * Of a line of a group two processes are makers: the group's, and the step's in it that
 * made the line; what that one has made and any call in there has taken need not come.
 * A group that only passes a line on, a step's before it or a child run's, is its maker as
 * well, as far as the group's end tells which lines it printed.
 */
#ifndef AWF_STEP_MADE_H
#define AWF_STEP_MADE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "base/id.h"
#include "base/map.h"
#include "json/scan.h"
#include "storage/storage.h"

struct maker {
	char *process;       /* "ENCLOSING/NAME:OCCURRENCE" */
	long long came;      /* lines of it that were read, each once */
	long long own;       /* of these, those that no step in it made */
	bool inside;         /* of a group: it is in a call of the enclosing one */
};

/* A line that came. */
struct made_line {
	char *key;           /* event id and part */
	long long seen;
};

/* Who is expected to have been read whole: those in the list (which is grown by who has
 * one of the paths), all in the call "enclosing" of the last attempt. */
struct made {
	const char *enclosing;
	char *const *paths;  /* dotted, of steps; ends with NULL; may be NULL */
	struct maker *makers;
	size_t count;
	struct made_line *lines;
	size_t line_count, line_capacity;
	struct map by_process, by_key; /* → makers, lines */
	char (*taken)[ID_SIZE]; /* events that calls of child runs took, one for each */
	size_t taken_count;
};

/* A line with this metadata has come. It counts if its call is in the enclosing one, or in
 * one of its calls. */
void made_came(struct made *m, struct span metadata);
/* A line of another run has come: a group may have passed it on. */
void made_came_foreign(struct made *m, struct span metadata);
/* 0: all of what they made has come, or was taken by another of them. -1 with
 * ERROR_UPSTREAM_INCOMPLETE, or ERROR_SYSTEM. What they took of another run is entered
 * there unless that is NULL. */
int made_check(struct made *m, const char *transcript, struct made *other, struct error *err);
/* Where in another run the steps are whose lines may come to this run: the call in which
 * it has made this one, or the one that this was made in; "", its top, if it was itself
 * made in this run, or in one that this was made in; NULL if they are no relatives, or the
 * other's record is not here. To be freed. */
char *made_enclosing(const struct storage *storage, const char *other, const char *run);
void made_free(struct made *m);

#endif
