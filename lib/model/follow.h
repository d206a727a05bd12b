/*
 * Following runs: returns the lines of one or more transcripts as they are written, each complete
 * line once, and reports how each run ended.
 *
 * What the code relies on:
 *   - A run has ended when run.completed stands after its last run.started and no line follows, or
 *     when nobody holds its lock and no more lines came after that was seen: then it died.
 *   - A child's step.call_workflow.started is on disk before the child's transcript exists, so a
 *     missing transcript is waited for while the parent lives.
 *   - No run is taken in twice, so records that name each other in a circle end.
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
	struct followed *parent;    /* NULL for a run that was asked for */
	unsigned depth;             /* indentation: the runs and paths above it */
	struct reader reader;
	struct model model;         /* begun; who is handed the lines feeds it, if he asks it */
	bool open;
	bool unread;                /* opened, and not read to its end since */
	bool parked;                /* closed after its end; read up to position */
	int64_t position;
	bool started;               /* a line was seen */
	int64_t began;              /* when, as its first line says: follow_began() */
	struct event_head head;     /* of the line that was handed on last */
	int64_t counted, counted_to; /* lines before that position */
	enum followed_end end;
	int exit_code;              /* of run.completed */
};

struct follow_callbacks {
	/* One line, without its LF; -1 with *err ends the reading. */
	int (*line)(void *context, struct followed *run, const char *line, size_t len,
	    struct error *err);
	void (*warn)(void *context, const struct error *warning);
	void *context;
};

struct follow {
	const struct follow_callbacks *callbacks;
	bool children;              /* child runs are taken in */
	bool live;                  /* more may come: what is missing is waited for */
	enum model_level level;     /* of the models of runs that are taken in */
	struct watch watch;         /* if live */
	bool every;                 /* follow_latest(): also what was the latest between two
	                               looks */
	int64_t since;              /* µs: what started earlier was not missed */
	char *latest_directory;     /* watched for `latest`; NULL: not */
	struct followed **runs;
	size_t count;
};

void follow_begin(struct follow *f, const struct follow_callbacks *callbacks, bool children);
/* From now on files and directories are watched. */
void follow_live(struct follow *f);
/* Adds a transcript (run_id "" if its lines have to tell), read from its first line
 * unless its reader is moved; its end is known at once if it has one. NULL with
 * *err if it cannot be read. */
struct followed *follow_add(struct follow *f, const char *path, const char run_id[ID_SIZE],
    struct error *err);
/* With children: takes in those that lines before the reader's position name, from
 * what they write next on. */
int follow_passed_over(struct follow *f, struct followed *run, struct error *err);
/* When the run began that was asked for, of which this is one, or a child of a child, as its first
 * line says: µs since 1970; 0: there is none, or it does not say. */
int64_t follow_began(struct followed *run);
/* Hands on all lines there are now; a child's between the line that names it and the one that
 * tells of its end. */
int follow_read(struct follow *f, struct error *err);
/* Marks runs that died, after reading what they left, and warns of them. */
int follow_check(struct follow *f, struct error *err);
/* The run's file was replaced by one that is the same up to so many bytes: from now on that is
 * read, from there on at the latest. What the model knows of the old one is forgotten. */
int follow_replaced(struct follow *f, struct followed *run, int64_t same, struct error *err);
/* Whether all runs have ended. */
bool follow_over(const struct follow *f);
/* The run that `latest` names, if there is one. */
bool follow_find_latest(const struct storage *s, struct run_ref *ref);
/* Takes in that run: *run is it, or NULL if it is followed already, or if there is
 * none. */
int follow_latest(struct follow *f, const struct storage *s, struct followed **run,
    struct error *err);
struct followed *follow_find(const struct follow *f, const char *run_id);
/* The run that was asked for, above this one. */
const struct followed *follow_root(const struct followed *run);
void follow_end(struct follow *f);

/* The number of the line that was handed on last, 1 for the first. */
int64_t follow_line_number(struct followed *run);

#endif
