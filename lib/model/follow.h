/*
 * Following runs: returns the lines of one or more transcripts as they are written, each complete
 * line once, and reports how each run ended.
 *
 * What the code relies on:
 *   - A run has ended when run.completed follows its last run.started and is the last line, or when
 *     nobody holds its lock and a read after that found no more lines: then it died.
 *   - A child's step.call_workflow.started is on disk before the child's transcript exists, so a
 *     missing transcript is waited for while the parent lives.
 *   - No run is added twice, so that runs which name each other as children do not recurse forever.
 */
#ifndef AWF_MODEL_FOLLOW_H
#define AWF_MODEL_FOLLOW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/id.h"
#include "model/model.h"
#include "model/watch.h"
#include "storage/storage.h"
#include "transcript/event.h"
#include "transcript/reader.h"

enum followed_end { RUN_GOING, RUN_COMPLETED, RUN_DIED, RUN_MISSING };

/* One transcript. */
struct followed {
	char *path;
	char run_id[ID_SIZE];       /* "" until a line has it */
	struct followed *parent;    /* NULL for a run that the caller added */
	unsigned depth;             /* indentation: the number of runs and step paths above it */
	struct reader reader;
	struct model model;         /* begun; if the caller needs it, the caller feeds it the lines */
	bool open;
	bool unread;                /* opened, and not yet read to its end */
	bool parked;                /* closed after its end; read up to position */
	int64_t position;
	bool started;               /* a line was seen */
	int64_t began;              /* when the top-level run began: see follow_began() */
	struct event_head head;     /* of the last line that was delivered */
	int64_t counted, counted_to; /* lines before that position, for follow_line_number() */
	enum followed_end end;
	int exit_code;              /* of run.completed */
};

struct follow_callbacks {
	/* Receives one line, without its LF; -1 with *err ends the reading. */
	int (*line)(void *context, struct followed *run, const char *line, size_t len,
	    struct error *err);
	void (*warn)(void *context, const struct error *warning);
	void *context;
};

struct follow {
	const struct follow_callbacks *callbacks;
	bool children;              /* follow child runs too */
	bool live;                  /* transcripts may grow: wait for missing ones */
	enum model_level level;     /* level of the model of each run */
	struct watch watch;         /* if live */
	bool every;                 /* follow_latest(): also add runs that were the latest only
	                               between two calls of it */
	int64_t since;              /* µs: runs that started earlier are not added by that */
	char *latest_directory;     /* the watched directory of follow_latest(); NULL: none */
	struct followed **runs;
	size_t count;
};

void follow_begin(struct follow *f, const struct follow_callbacks *callbacks, bool children);
/* From now on files and directories are watched. */
void follow_live(struct follow *f);
/* Adds a transcript (run_id "": take it from the lines). It is read from its first line, unless the
 * caller moves its reader. If the run has ended, its end is known at once. NULL with *err if it
 * cannot be read. */
struct followed *follow_add(struct follow *f, const char *path, const char run_id[ID_SIZE],
    struct error *err);
/* If the caller has moved the reader forward: adds the child runs that the skipped lines name, each
 * from its present end on. */
int follow_passed_over(struct follow *f, struct followed *run, struct error *err);
/* When the top-level run began, above this one, according to its first line: µs since 1970; 0:
 * there is no first line, or it has no time. */
int64_t follow_began(struct followed *run);
/* Delivers all lines that there are now. The lines of a child are delivered between the parent's
 * line that starts it and the one that reports its end. */
int follow_read(struct follow *f, struct error *err);
/* Finds runs that died, delivers their remaining lines, marks them, and warns about them. */
int follow_check(struct follow *f, struct error *err);
/* The run's file was replaced by one whose first `same` bytes are equal. Continues with the new
 * file at the position reached so far, or at `same` if that comes first, and begins the model
 * again. */
int follow_replaced(struct follow *f, struct followed *run, int64_t same, struct error *err);
/* Whether all runs have ended. */
bool follow_over(const struct follow *f);
/* Finds the run that `latest` names. False if there is none. */
bool follow_find_latest(const struct storage *s, struct run_ref *ref);
/* Adds that run, or opens it again if it was resumed after its end. *run: the run; NULL if it is
 * followed already or there is none. */
int follow_latest(struct follow *f, const struct storage *s, struct followed **run,
    struct error *err);
struct followed *follow_find(const struct follow *f, const char *run_id);
/* The top-level run above this one. */
const struct followed *follow_root(const struct followed *run);
void follow_end(struct follow *f);

/* The number of the last line that was delivered, counted from 1. */
int64_t follow_line_number(struct followed *run);

#endif
