/*
 * Answers in progress: what a model is writing at the moment, and what a tool or a command prints, for
 * other processes that display it. This is not part of the record: the transcript gets each answer and
 * each output when it is complete, or the part of an interrupted one that has arrived.
 *
 *    runs/<id>/live/<event id of the call's step.started, or of the tool.call>
 *
 * One file for each call with an answer that takes some time, JSON Lines:
 *
 *    {"turn":0,"kind":"text","append":"Of lithium "}  "text", "thinking" or "tool"
 *    {"turn":0,"kind":"output","of":ID,"name":"bash","call_id":"toolu_1","append":"ok 1\n"}  printed by
 *                                a tool; of: the step.started of the agent's call; a command's has none
 *                                of the three
 *    {"turn":0,"restart":true}   the turn is requested again: its text so far is void
 *    {"turn":0,"cut":true}       no more of this turn follows: the file is full
 *
 * Another file, whose name is an id of its own, tells how many items a step has, once that is known
 * (awf-step, cmd/step/stream_total.c):
 *
 *    {"step":"panel:0:0/crunch:0","items":96}   step: the calls' names without the number of the item
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
 *  - Of an output only its end is written: at most LIVE_OUTPUT bytes each LIVE_PAUSE_MS, and nothing
 *    as long as nobody looks: who follows a run holds flock() on its directory. When the file is half
 *    full, a new one is begun, with the next number as its turn. It is never in the way of the program.
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
#define LIVE_LIMIT ((size_t)1 << 20) /* largest file, in bytes */
#define LIVE_CALLS_LIMIT 1024        /* calls that a follower follows at a time */
#define LIVE_PAUSE_MS 50             /* how long text is collected before it is written */

#define LIVE_OUTPUT_LIMIT ((size_t)4096) /* bytes of an output that are kept until they are written */
#define LIVE_UNWATCHED_MS 1000       /* between checks whether somebody looks at an output */

enum live_kind { LIVE_TEXT, LIVE_THINKING, LIVE_TOOL, LIVE_OUTPUT, LIVE_KINDS };
extern const char *const live_kinds[]; /* their names; ends with NULL */

/* Whose output it is. The texts are the caller's. */
struct live_source {
	const char *of;      /* event id of the step.started around the tool.call */
	const char *name;    /* of the tool */
	const char *call_id; /* that the model has given */
};

/* ---- writing ---- */

/* Writes the text of one call, or of several that follow each other, such as an agent's phases. */
struct live_writer {
	const char *run_directory; /* the caller's; NULL: nothing is written (any more) */
	char call[ID_SIZE];        /* event id of the call's step.started; "" before the first
	                              turn */
	struct live_source source; /* of a tool's output; of NULL: it is none */
	int64_t turn;
	bool said;                 /* some text of the turn is in the file */
	bool cut;                  /* the file is full: the turn's text is dropped */
	enum live_kind kind;       /* kind of the collected text */
	struct buffer text;        /* not yet written: the piece that is being collected */
	struct buffer lines;       /* not yet written: earlier pieces, as lines */
	int64_t since;             /* when the oldest text that is not yet written came, monotonic
	                              ms */
	char *path;                /* path of the file */
	int fd;                    /* -1: there is none */
	size_t size;
};

/* The directory of a run whose text in progress others may see, else NULL. It belongs to r. */
const char *live_place(const struct run *r);

/* run_directory: from live_place(). */
void live_begin(struct live_writer *w, const char *run_directory);
/* Text from now on belongs to this turn of a call (event id of its step.started); the same turn
 * again means a restart. Text not written yet is dropped; the file of another call is removed. */
void live_turn(struct live_writer *w, const char *call, int64_t turn);
/* Adds a piece of the text, UTF-8. */
void live_append(struct live_writer *w, enum live_kind kind, const char *text, size_t len);
/* Writes text that was collected for LIVE_PAUSE_MS. Returns when it must be called again (monotonic
 * ms); 0: no text is left. */
int64_t live_flush(struct live_writer *w);
/* The call has ended: removes its file. */
void live_end(struct live_writer *w);
/* Tells how many items a step has; live_end() takes that back. For a writer that does nothing else. */
void live_tell_items(struct live_writer *w, const char *step, int64_t items);

/* What a tool or a command prints. */
struct live_output {
	struct live_writer writer;
	const char **secrets;      /* the caller's texts, which are not shown */
	size_t secret_count;
	struct buffer tail;        /* the end of what was not written */
	bool dropped;              /* something before it was not written either */
	int64_t next;              /* not written before this time, monotonic ms */
};

/* id: of the event that begins the call; source: of a tool, else NULL. run_directory: from
 * live_place(). */
void live_output_begin(struct live_output *o, const char *run_directory, const char *id,
    const struct live_source *source);
/* Hides this text in the output; it has to live as long as *o. NULL: hides nothing. */
void live_output_hide(struct live_output *o, const char *secret);
/* For struct subprocess: context is a struct live_output. */
void live_output_add(void *context, const char *piece, size_t len);
int64_t live_output_flush(void *context);
void live_output_end(struct live_output *o);

/* ---- following ---- */

enum live_event {
	LIVE_APPENDED,
	LIVE_RESTARTED, /* discard the text of this turn */
	LIVE_CUT,       /* no more of the turn will be reported */
	LIVE_DONE       /* the call writes nothing now; it may begin again */
};

/* Valid only during the call of told(). The text comes from a model: it may contain control
 * characters. */
struct live_news {
	enum live_event event;
	const char *call;     /* event id of its step.started, or of a tool.call */
	const struct live_source *source; /* of a tool.call; NULL */
	int64_t turn;         /* not for LIVE_DONE; when it changes, the previous turn has ended */
	enum live_kind kind;  /* of the text, or of the last one before */
	struct span text;     /* LIVE_APPENDED: UTF-8, decoded, not empty */
};

struct live_follow {
	char *run_directory;
	char *path;              /* path of live/ in the run's directory */
	DIR *looks;              /* the run's directory, locked: somebody looks; NULL */
	struct watch *watch;     /* the caller's; NULL: none */
	DIR *directory;          /* NULL: it does not exist */
	struct live_followed *calls; /* the calls that have a file */
	size_t count;
	void (*told)(void *context, const struct live_news *news);
	/* Set by the caller after live_follow_begin(), or NULL, with the same context.
	 * items: told how many items a step has, -1: not known any more. wants: whether the text of a call is looked at; that
	 * of others is not read as long as nobody wants it. */
	void (*items)(void *context, const char *run_id, const char *step, int64_t items);
	bool (*wants)(const void *context, const char *call);
	void *context;
};

/* Begins to follow a run by its directory, runs/<id>, which need not exist yet. The directories to
 * be watched are added to watch (may be NULL). If the run's directory does not exist yet at the
 * last live_follow_look(), the watch does not report it: look again. Reports nothing yet. */
void live_follow_begin(struct live_follow *f, const char *run_directory, struct watch *watch,
    void (*told)(void *context, const struct live_news *news), void *context);
/* Reports what is new since the last look; the first time everything. Does not wait. */
void live_follow_look(struct live_follow *f);
/* Stops following. What was added to the watch stays. */
void live_follow_end(struct live_follow *f);

#endif
