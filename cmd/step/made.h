/*
 * Whether all lines that other steps have made have arrived: the transcript tells how many state
 * lines each process has printed, in the ends of its calls. A stream that has lost lines on its way
 * (a connection that was cut) ends like any other stream; the reader that counts the lines notices.
 *
 * A line that another of these processes has taken as its input, and not only passed on, need not
 * arrive. A line that arrived twice is counted once, unless a group has printed it twice. A line of
 * a group has two makers: the process of the group, and the process of the step inside it that made
 * the line. What was taken by any call inside the group need not arrive. A group that only passes a
 * line on, of a step before it or of a child run, is also its maker, if the group's end says which
 * lines it printed.
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
	long long came;      /* different lines of it that arrived */
	long long own;       /* those of them that no step inside it made */
	bool inside;         /* it is inside a group in the enclosing call */
};

/* A line that arrived. */
struct made_line {
	char *key;           /* event id and part of the result */
	long long seen;
};

/* The processes whose lines must all have arrived: those in the list, and all with one of the
 * paths, which are added to the list. All are inside the call "enclosing" of the last attempt. */
struct made {
	const char *enclosing;
	char *const *paths;  /* dotted paths of steps; ends with NULL; may be NULL */
	struct maker *makers;
	size_t count;
	struct made_line *lines;
	size_t line_count, line_capacity;
	struct map by_process, by_key; /* → makers, lines */
	char (*taken)[ID_SIZE]; /* events that calls of child runs took; one entry each time */
	size_t taken_count;
};

/* Counts a line with this metadata, if its call is inside the enclosing call or inside one of that
 * call's calls. */
void made_came(struct made *m, struct span metadata);
/* Counts a line of another run: a group may have passed it on. */
void made_came_foreign(struct made *m, struct span metadata);
/* 0: all lines that the processes have made have arrived, or were taken by another of them. -1 with
 * ERROR_UPSTREAM_INCOMPLETE, or ERROR_SYSTEM. Events of another run that they took are added to
 * `other`, unless it is NULL. */
int made_check(struct made *m, const char *transcript, struct made *other, struct error *err);
/* The enclosing call in another run for the steps whose lines may arrive in this run. If this run
 * is a descendant of the other: the call in which the other started it or its ancestor. If the
 * other run is a descendant of this run or of its ancestors: "", its top level. NULL: the runs are
 * not related, or the other's transcript is not available. Allocated. */
char *made_enclosing(const struct storage *storage, const char *other, const char *run);
void made_free(struct made *m);

#endif
