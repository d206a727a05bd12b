/*
 * Answers in progress: what a model is writing at the moment, for other processes that display it.
 * This is not part of the record: the transcript gets each answer when it is complete, or the part
 * of an interrupted one that has arrived.
 *
 *    runs/<id>/live/<event id of the call's step.started>
 *
 * One file for each call with an answer that takes some time, JSON Lines:
 *
 *    {"turn":0,"kind":"text","append":"Of lithium "}  "text", "thinking" or "tool"
 *    {"turn":0,"restart":true}   the turn is requested again: its text so far is void
 *    {"turn":0,"cut":true}       no more of this turn follows: the file is full
 *
 * The answer in progress is the text of the last turn in the file, after its last restart. The end
 * of an answer may be missing here; the transcript then has the complete answer.
 *
 * What the code relies on, and keeps:
 *  - One process writes a file: it creates it when there is something to write, and removes it when
 *    the call has ended. A file only grows; if it is half full when a turn begins, it is removed,
 *    and a new one begun.
 *  - Text is collected for LIVE_PAUSE_MS before it is written; nothing is synced. What has not been
 *    written when the answer is complete is dropped: so a call with fast answers needs no system
 *    call and no file, which some file systems create and remove slowly.
 *  - An error ends the file, silently and without other consequences.
 *  - A run that is masked or keeps no transcript has no such files (live_place()).
 *  - It is removed with the run's directory, also the file of a killed process, which until then
 *    shows an answer that is no longer written. Readers must know from elsewhere whether the run
 *    lives and the call is open.
 *  - Readers do not trust the contents: anything that is not a regular file, not a valid line or
 *    beyond the limits is skipped, and only the descriptor of the directory is kept open.
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
	char call[ID_SIZE];        /* the call that writes; "" before the first turn */
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
/* Text from now on belongs to this turn of a call (event id of its step.started); the same turn
 * again means a restart. Text not written yet is dropped; the file of another call is removed. */
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
	LIVE_RESTARTED, /* text reported of the turn so far is void */
	LIVE_CUT,       /* no more of the turn will be reported */
	LIVE_DONE       /* nothing is being written in the call; that may begin again */
};

/* Valid while it is told. Text is data from outside, control characters and all. */
struct live_news {
	enum live_event event;
	const char *call;     /* event id of its step.started */
	int64_t turn;         /* a new turn: the one before has ended. Not for LIVE_DONE */
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

/* Begins to follow a run by its directory, runs/<id>, which need not exist yet. What must be
 * watched is added to watch (may be NULL); if the directory is created later than the last look,
 * only another look notices it. Reports nothing yet. */
void live_follow_begin(struct live_follow *f, const char *run_directory, struct watch *watch,
    void (*told)(void *context, const struct live_news *news), void *context);
/* Reports what is new since the last look; the first time everything. Does not wait. */
void live_follow_look(struct live_follow *f);
/* Stops following. What was added to the watch stays. */
void live_follow_end(struct live_follow *f);

#endif
