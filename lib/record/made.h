/*
 * What steps have made, as the transcript knows: how many state lines each process has
 * printed, by the recorded ends of its calls. A stream that lost some on its way (a link
 * that was cut) ends like any other; who counts what came finds out here.
 *
 * A line that another of these makers has taken as its input, and not only passed on, is
 * not expected any more. One that came twice is one, unless a group has printed it twice.
 * Of a line of a group two processes are makers: the group's, and the step's in it that
 * made the line; what that one has made and any call in there has taken need not come.
 */
#ifndef AWF_RECORD_MADE_H
#define AWF_RECORD_MADE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "base/map.h"
#include "json/scan.h"

struct maker {
	char *process;       /* "ENCLOSING/NAME:OCCURRENCE" */
	long long came;      /* lines of it that were read, each once */
	bool inside;         /* of a group: it is in a call of the enclosing one */
};

/* A line that came. */
struct made_line {
	char *key;           /* event id and part */
	size_t outer;        /* its maker in the enclosing call */
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
};

/* A line with this metadata has come. It counts if its call is in the enclosing one, or in
 * one of its calls. */
void made_came(struct made *m, struct span metadata);
/* 0: all of what they made has come, or was taken by another of them. -1 with
 * ERROR_UPSTREAM_INCOMPLETE, or ERROR_SYSTEM. */
int made_check(struct made *m, const char *transcript, struct error *err);
/* The call in which a run, with this transcript, has made another, its child; NULL if it
 * has not. To be freed. */
char *made_around_child(const char *transcript, const char *child);
void made_free(struct made *m);

#endif
