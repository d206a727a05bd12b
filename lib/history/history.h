/*
 * History: an index of the recorded calls of a run. The calls of a further attempt (resume), of a
 * fork or of a replay look up their recorded calls in it.
 *
 * The program that starts the attempt builds it once, in time linear in the length of the
 * recording, as an index file in the run directory: fixed-size records, sorted by lookup key, with
 * the positions of the call's lines. awf-step maps the file, finds a record by bisection, marks it
 * as claimed, and reads only the lines of that call.
 *
 *   key     the enclosing call (the recorded one that the enclosing call claimed, by
 *           the event id of its first step.started; "" at top level), name; of a round
 *           and a branch, and in a replay, the item
 *   guard   the digests of input and definition
 *
 * Of the unclaimed calls of a key, one with the same guard is used: first those made in the last
 * try of the enclosing call, then those of earlier tries; among these the one with the nearest
 * item (items of a stream may have changed position), then the one with the lowest occurrence. A
 * call that was recorded in several attempts counts once, in its latest form: a call that claims a
 * recorded one (step.started, claims) replaces it. For a resume and a fork, a call that never
 * began its work (skipped because something before it failed, waiting, no input) does not count,
 * unless calls were made in it; for a replay exactly the calls of the last attempt count.
 *
 * A failure that the run handled (recording_caught.c) is used again, like a result.
 *
 * If a step was moved between a run and its child runs, its record is in the history of the other
 * run. Every child run has its own index, and its directory names that of the enclosing run, so
 * that a new call can be compared with the unclaimed effects there (history_elsewhere.c).
 *
 * What the code relies on:
 *   - A mark is set by compare-and-swap in the shared mapping, so two processes never claim the
 *     same record; it names its process until the claim is recorded, and is void if that process
 *     died before.
 *   - The index lies in the run directory and goes with it; the transcript alone says what was
 *     claimed, and the next history is built from that.
 *   - Inside a call that claimed no record there are no recorded calls. $AWF_CLAIMED, which
 *     awf-step sets for the body of a call, names the root of the enclosing call for the processes
 *     in it.
 */
#ifndef AWF_HISTORY_HISTORY_H
#define AWF_HISTORY_HISTORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"
#include "base/error.h"
#include "base/id.h"
#include "history/recall.h"

#define HISTORY_FILE "history" /* in the run directory */

/* The path of the index of a child run, or of a run inside of that, in the run directory of the
 * outermost run. To be freed by the caller. */
char *history_inside(const char *run_directory, const char *run_id);
/* Writes into the directory of a child run which run encloses it, so that calls of the child run
 * can find records that the enclosing run made before a step was moved into the child run.
 * around: the directory of the enclosing run; place: the directory, in that run's workspace, in
 * which the child run starts (call_marks.directory; NULL: none is known); call and path: the call
 * and the step of the enclosing run that start the child run. -1: ERROR_SYSTEM. */
int history_set_around(const char *run_directory, const char *around, const char *place,
    const char *call, const char *path, struct error *err);

/* An effect that was begun and whose end is not known. */
struct history_doubt {
	char *call;                  /* chain of the call of the step */
	char *tool;                  /* of an agent or operation; NULL: the command itself */
	char *what;                  /* the command, or the tool's arguments */
	char *data;                  /* item_name() of the input of a command, a tool or an agent;
	                                NULL: unknown, or no input */
	const char *why;             /* "cut off", or the code of the error that ended it;
	                                NULL: its end is known, but no file of the run names
	                                its step any more */
	char *marks;                 /* marks_describe(); NULL: nothing */
	bool waits;                  /* of one whose step is not named: its result is waited for */
	bool anew;                   /* the call of the tool is made anew from its beginning: it is of a run
	                                that this one forks from, whose conversation does not go on here */
	char timestamp[CLOCK_TEXT_SIZE];
	char run_id[ID_SIZE];        /* id of the child run that contains it; "": none */
	enum recall_decision decided;
};

/* A child run, as far as its parent knows; of a summary one that did not succeed. */
struct history_child {
	char *call, *path;           /* call: with its attempt (kid:0:0@1) where others have its name, too */
	char *names;                 /* what else the user may call it, each with a newline: with its attempt; without,
	                                if it is the last of the name; by a name that it had in an earlier attempt, if
	                                no other call has that now */
	char run_id[ID_SIZE];
	bool succeeded;
	bool excused;                /* it failed, and its parent went on from that */
	bool forked;                 /* it is of what the run was forked from, and will be too */
	struct error kept;           /* why no call in it can be made again */
};

/* A file that commands of the run ran, and that is another one now. */
struct history_program {
	char *path;                  /* where it is, or was looked for */
	int64_t results;             /* valid results that other versions of it made */
};

struct history_source {
	const char *path;            /* of the transcript */
	const char *blobs;           /* directory */
	const char *left_out;        /* PATH that the fork from it left out, with what it
	                                caused, in older sources too; NULL: nothing */
};

/* The names of steps in the files that a run is made of. */
struct history_names {
	bool edited;                 /* one of them has changed since some attempt */
	/* Whether a recorded version of them names the step (lately: one of the last attempt, of a
	 * file that has changed since), and no current one does. */
	bool (*dropped)(void *context, const char *name, bool lately);
	/* Whether one has the command of a child run now: "TEXT NAME ARGUMENT ...", the text as one word of a shell,
	 * and each argument as a word: the child run that a record says ran it may come yet. */
	bool (*written)(void *context, const char *command, const char *name);
	/* Whether one has a line now with the name of a step and its command, whatever stands before the last
	 * slash of its program. */
	bool (*calls)(void *context, const char *name, const char *command);
	void *context;
};

/* The user's decisions about recorded calls, and about calls without a record. Lists are
 * NULL-terminated, and may be NULL. */
struct history_answers {
	char *const *redo, *const *skip; /* PATHs of recorded calls: to be made again, or taken as done */
	char *const *new_steps;      /* paths of steps: a call of one that is like no record is new */
	bool redo_changed;           /* results of programs that have changed are not valid */
};

struct history_spec {
	enum recall_mode mode;
	struct history_source own;   /* the run's own transcript, or the one to replay; path
	                                NULL: a fork's first attempt */
	/* The chain of runs from which the run was forked, the oldest first. */
	const struct history_source *others;
	size_t other_count;
	struct history_answers answers;
	/* In a child run: the prefix by which the user who resumes the outermost run names its
	 * calls; ends with a slash. NULL: none. */
	const char *prefix;
	/* The same of the paths of its steps: "brief." */
	const char *steps;
	bool excused;                /* history_child.excused: what failed at its top stands */
	const struct history_names *names; /* NULL: not known */
};

/* Of a PATH in the answers: why nothing in the run is named by it. */
struct history_refusal {
	char *path;
	struct error why;
};

struct history_summary {
	int64_t calls;               /* records */
	char **redone;               /* paths of --redo that make a call again which had ended, here or inside */
	char **used;                 /* paths of --redo whose calls have succeeded, so that their results are used */
	char **named;                /* paths in the answers that match something, and others: */
	struct history_refusal *refused;
	size_t refused_count;
	char **taken;                /* ids of the starts of other runs' calls that calls of this one, or of its
	                                child runs, have taken over */
	struct history_doubt *doubts;
	size_t doubt_count;
	struct history_doubt *unclaimed; /* history_unclaimed() alone; recording_unclaimed() */
	size_t unclaimed_count;
	struct history_child *children;
	size_t child_count;
	struct history_program *programs; /* if they were checked */
	size_t program_count;
	bool changed;                /* a call has changed something, or may have */
	bool asked;                  /* a call has asked whether it is a recorded one */
	bool has_children;           /* there are calls of child runs */
	int attempts;                /* in own */
	char status[16];             /* of own's last run.completed, "" if it has none */
	bool reader_gone;            /* it ended because the reader of its output closed the pipe */
};

/* Marks these calls (history_summary.taken) as lent, in the index of a run directory and in those of its child
 * runs that are there. ERROR_SYSTEM. */
int history_note_taken(const char *run_directory, char *const *taken, struct error *err);

/* The part of path that names something inside of the call, or of calls with call_path; NULL if it
 * names nothing there. */
const char *path_inside(const char *path, const char *call, const char *call_path);

/* Begins to read the recorded calls: all sources except the last are read at once; the lines of the
 * last one are passed in one by one, with the offset of each in the file, so that a caller who
 * reads it anyway need not read it twice. ERROR_SCHEMA if a transcript is invalid; ERROR_SYSTEM.
 * What spec points at must live as long. Call history_reading_free() in any case. */
struct history_reading;
int history_begin(struct history_reading **reading, const struct history_spec *spec,
    struct error *err);
int history_take(struct history_reading *r, const char *line, size_t len, int64_t offset,
    struct error *err);
/* Takes all lines from the file. */
int history_take_file(struct history_reading *r, struct error *err);
/* After the last line. */
void history_end(struct history_reading *r);
/* After that: compares the recorded programs with those in the workspace. Then calls check() for
 * each child run that succeeded, which tells what it contains: such a child is resumed too. If there
 * are PATHs of --redo, also for child runs that did not succeed, but are in another call. */
enum child_contains {
	CHILD_NOTHING,
	CHILD_OUTDATED,              /* results of other programs, */
	CHILD_REDONE                 /* or a call that --redo makes again */
};
void history_check_programs(struct history_reading *r, const char *workspace);
void history_check_children(struct history_reading *r,
    enum child_contains (*check)(void *context, const struct history_child *child), void *context);
/* Whether the last source is still as it was read. */
bool history_is_of(const struct history_reading *r);
/* ERROR_USAGE for a PATH in left_out that no recorded call has, and for answers that contradict each other.
 * *summary is to be freed either way. */
int history_summarize(const struct history_reading *r, struct history_summary *summary,
    struct error *err);
/* Notes why a PATH names nothing in a run; what is noted last counts. */
void history_refuse(struct history_summary *summary, const char *path, const struct error *why);
/* ERROR_USAGE for a path in the answers that matches nothing to which it could apply; what child
 * runs contain is in the summary too. */
int history_check_answers(const struct history_answers *answers, const struct history_summary *summary,
    struct error *err);
/* Writes the index at path (0600, O_EXCL). */
int history_write(const struct history_reading *r, const char *path, struct error *err);
void history_reading_free(struct history_reading *r);

/* All of it, and the answers are checked; path NULL: the summary alone. */
int history_build(const char *path, const struct history_spec *spec,
    struct history_summary *summary, struct error *err);
void history_summary_free(struct history_summary *summary);

struct history;

/* Opens the history of a run directory; *h is NULL if it has none, and none around it. */
int history_open(struct history **h, const char *run_directory, struct error *err);
/* The number of calls that were made again although recorded calls of the same name had
 * succeeded and were not used; text: which calls, and what is different. */
int64_t history_unused(const struct history *h, struct buffer *text);
/* Lists the recorded effects of earlier attempts that no call of this attempt has claimed in
 * summary->unclaimed, when a resumed run has ended: those of the run itself, and of its child
 * runs that were resumed. For a child run of a resumed run none are listed yet, since calls of
 * the enclosing run may still claim them. */
int history_unclaimed(struct history *h, struct history_summary *summary, struct error *err);
/* Appends the user's decisions about records that no call has come to, as options. ERROR_SYSTEM. */
int history_answers_left(struct history *h, struct buffer *out, struct error *err);
/* spec.prefix, spec.steps; "". */
const char *history_prefix(const struct history *h);
const char *history_steps(const struct history *h);
/* What a step asks it. */
struct recall history_recall(struct history *h);
/* The recorded child run is resumed in this process: while it lives, its effects belong to it, if
 * it gets the recorded input. Those that it has not claimed by its end are compared with other
 * calls. Call it before the claim is final. */
void history_child_goes_on(struct history *h, const struct recalled *r);
/* What the user names the recorded call by; names: history_child.names, NULL if they are not asked for. The
 * history's. */
const char *history_call_label(const struct history *h, const struct recalled *r, const char **names);
void history_close(struct history *h);

#endif
