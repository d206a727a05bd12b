/*
 * Answers in progress: what a model is writing at the moment, for other processes that display it.
 * It is not part of the record: the transcript gets each answer when it is complete, or what
 * arrived of an interrupted one.
 *
 *     runs/<id>/live/<event id of the call's step.started>
 *
 * One file for each call of whose answers one takes its time, JSON Lines:
 *
 *     {"turn":0,"kind":"text","append":"Of lithium "}  "text", "thinking" or "tool"
 *     {"turn":0,"restart":true}   the turn is asked anew: its text so far is void
 *     {"turn":0,"cut":true}       no more comes of this turn: the file is full
 *
 * The answer in progress is the text of the last turn in the file, after its last restart. The end
 * of an answer may never appear here; the transcript then has the complete answer.
 *
 * What the code relies on, and keeps:
 *   - One process writes a file, which it makes when there is something to write and removes when
 *     the call has ended; it only grows. Where it is half full when a turn is asked, it is removed
 *     then, and begins anew.
 *   - A piece waits for LIVE_PAUSE_MS, and what has come meanwhile is written with it; nothing is
 *     synced. What waits when the answer is whole is not written at all: a call whose answers come
 *     sooner costs no system call, and no file, of which file systems make and remove some slowly.
 *   - An error ends the file, silently and without other consequences.
 *   - There is none of a run that is masked, or keeps no transcript (live_place()).
 *   - It goes with the run's directory, whoever removes that: so does the file of a process that
 *     was killed, which until then tells of what no longer happens. Whether the run lives, and the
 *     call is open, others know.
 *   - Readers do not trust the contents: anything that is not a regular file, not a valid line or
 *     beyond the limits is skipped, and only the descriptor of the directory is kept open.
 */
#ifndef AWF_VIEW_LIVE_H
#define AWF_VIEW_LIVE_H

#include <dirent.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/buffer.h"
#include "base/id.h"
#include "json/scan.h"
#include "model/watch.h"
#include "storage/run.h"

#define LIVE_DIRECTORY "live"
#define LIVE_LIMIT ((size_t)1 << 20) /* bytes of a file */
#define LIVE_CALLS_LIMIT 1024        /* that are followed at a time */
#define LIVE_PAUSE_MS 50             /* for which a piece waits for others */

enum live_kind { LIVE_TEXT, LIVE_THINKING, LIVE_TOOL, LIVE_KINDS };
extern const char *const live_kinds[]; /* their names; ends with NULL */

/* ---- writing ---- */

/* The text of one call, or of several that follow each other, such as an agent's phases. */
struct live_writer {
	const char *run_directory; /* the caller's; NULL: nothing is written, any more */
	char call[ID_SIZE];        /* whose text comes; "" before the first turn */
	int64_t turn;
	bool said;                 /* some of its text is in the file */
	bool cut;                  /* no more of it is taken */
	enum live_kind kind;       /* of text */
	struct buffer text;        /* not written yet: the last piece, */
	struct buffer lines;       /* and those before it, as lines */
	int64_t since;             /* when the first of that came, monotonic ms */
	char *path;                /* of the file */
	int fd;                    /* -1: there is none */
	size_t size;
};

/* The directory of a run whose text under way others may see; NULL of any other. r's. */
const char *live_place(const struct run *r);

/* run_directory as live_place() gives it. */
void live_begin(struct live_writer *w, const char *run_directory);
/* The text that comes from now on is of this turn of a call (event id of its step.started).
 * The same turn once more: it begins anew. What was not written yet is dropped; the file of
 * another call is removed. */
void live_turn(struct live_writer *w, const char *call, int64_t turn);
/* A piece of it, UTF-8. */
void live_append(struct live_writer *w, enum live_kind kind, const char *text, size_t len);
/* Writes what is due. Returns when more will be (monotonic ms), 0: nothing waits. */
int64_t live_flush(struct live_writer *w);
/* The call has ended: removes its file. */
void live_end(struct live_writer *w);

/* ---- following ---- */

enum live_event {
	LIVE_APPENDED,
	LIVE_RESTARTED, /* what was told of the turn is void */
	LIVE_CUT,       /* no more will be told of the turn */
	LIVE_DONE       /* nothing is being written in the call; that may begin again */
};

/* Valid while it is told. Text is data from outside, control characters and all. */
struct live_news {
	enum live_event event;
	const char *call;     /* event id of its step.started */
	int64_t turn;         /* another than before: what was told of that is over. Not LIVE_DONE */
	enum live_kind kind;  /* LIVE_APPENDED */
	struct span text;     /* LIVE_APPENDED: UTF-8, decoded, not empty */
};

struct live_follow {
	char *run_directory;
	char *path;              /* of live/ in it */
	struct watch *watch;     /* the caller's; NULL: none */
	DIR *directory;          /* NULL: it is not there */
	struct live_followed *calls; /* that have a file */
	size_t count;
	void (*told)(void *context, const struct live_news *news);
	void *context;
};

/* Follows a run by its directory, runs/<id>, which need not be there. To the watch (which may
 * be NULL) is added what changes when there is news; a run whose directory comes later than
 * the last look is only noticed by another look. Tells nothing yet. */
void live_follow_begin(struct live_follow *f, const char *run_directory, struct watch *watch,
    void (*told)(void *context, const struct live_news *news), void *context);
/* Tells what has come since the last look; the first tells all that is there. Does not wait. */
void live_follow_look(struct live_follow *f);
/* Tells nothing more. What was watched stays so. */
void live_follow_end(struct live_follow *f);

#endif
