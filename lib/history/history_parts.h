/*
 * Shared by the history_*.c files.
 *
 *  history.c          the index file, made from a recording (history/recording.h)
 *  history_index.c    the mapped file; its records: finding them, marks, and their lines
 *  history_claim.c    the look-up, with history_find.c, history_ask.c and, for future calls, history_ahead.c
 *                     (history_claim.h)
 *  history_likeness.c what a call and a record have in common besides input and definition
 *  history_elsewhere.c effects in the histories of inner and outer runs
 *  history_changed.c  how a recorded call differs from a new one, and what an attempt has
 *                     not used
 */
#ifndef AWF_HISTORY_HISTORY_PARTS_H
#define AWF_HISTORY_HISTORY_PARTS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "history/history.h"
#include "history/recording.h"

#define HISTORY_MAGIC "awf-hs21"
#define OTHER_SIZE 64 /* of a variable's name, cut */
#define HISTORY_AROUND_MOST 64 /* nesting of runs */

/* The index file: head, sources, records, keys, questions, places, text, each an array. */
struct index_head {
	char magic[8];
	uint64_t mode, sources, records, keys, questions, places, text;
	uint64_t prefix, steps;      /* in text */
	uint64_t edited;             /* history_names.edited */
	uint64_t used_before;        /* in text: recalled_used_before() */
	uint64_t left_out;           /* in text: index_left_out() of the calls that the fork leaves out, each with a
	                                newline, LEFT_OUT_SIZE in all; sorted */
	uint64_t new_steps;          /* in text: history_answers.new_steps, each with a newline */
	uint64_t children;           /* records of child runs */
	uint64_t cut_off;            /* the attempt that a replay makes was ended from outside */
};

struct index_record {
	_Atomic int64_t mark;        /* MARK_FREE, MARK_CLAIMED, or the process that is about
	                                to claim it */
	_Atomic int64_t lent;        /* the same for a call with other words, or in another place,
	                                that was made instead: the record stays for its own call */
	_Atomic uint32_t edited_now; /* who it is lent to has other words */
	_Atomic int64_t runner;      /* of a child run that is resumed: the process that runs it;
	                                MARK_FREE: none in this attempt */
	_Atomic uint32_t fits;       /* and it gets the recorded input */
	_Atomic uint64_t settled;    /* in the first record of a key, guard and identity: how many
	                                records from here on are claimed */
	unsigned char key[DIGEST_BYTES], guard[DIGEST_BYTES];
	uint64_t identity, exact;    /* marks_recorded_identity() */
	int64_t item, occurrence;
	uint64_t order;              /* in the recording */
	uint64_t events, event_count; /* in places */
	struct place started, completed, original;
	struct place input;          /* the line whose result is its input; len 0: started's */
	uint64_t call;               /* recording_call_label(), in text */
	uint64_t names;              /* of a child run, likewise: history_child.names */
	uint64_t attempt;
	uint64_t tool_answers;       /* in text: recalled.tool_answers; "" */
	uint32_t end, decided;
	uint32_t key_number;         /* in keys */
	bool superseded;             /* the call around it was tried again after it */
	bool doubtful, began;
	bool tools_doubtful;         /* only calls of its tools are in doubt */
	bool skipped_twice;          /* a call that was compared with it is left out, too */
	bool step_skipped;           /* the user wants the calls of its step taken as done, */
	bool skipped_itself;         /* and this one by its name */
	bool child;                  /* a child run */
	bool edited;                 /* it took over one of other words, in some attempt */
	bool runs_calls;             /* its command made others, and changed nothing itself */
	bool changed;                /* recording_changed() */
	bool dropped;                /* no file of the run names its step any more */
	bool stands;                 /* who takes it over fails as it did, */
	bool tried;                  /* as long as it is tried */
	bool maybe;                  /* of what began nobody knows whether it happened */
	bool repeated;               /* the user wants it made again: nothing of it is used */
	bool outdated;               /* its programs have changed since */
	bool child_inside;           /* a child run was made in it, in any attempt */
	bool named;                  /* a file of the run has its name and its command in a line */
	bool encloses;               /* others were made in it, or in the one whose end it took over */
	uint64_t given, definition;  /* parts of the digests of its input and definition */
	uint64_t start, directory, variables; /* recorded_marks, in text */
	uint64_t changed_inside;     /* in text: the call in it that has; "" */
	char root[ID_SIZE], around[ID_SIZE]; /* around: of the enclosing call; "" */
};

/* What a call did, as in index_record. */
struct index_words {
	struct place started, input;
	uint64_t given, definition;
	uint64_t start, directory, variables;
};

/* A call of an earlier attempt that was asked about: it did nothing but ask whether it is a recorded one, or it
 * took over one of other words by the user's answer. */
struct index_question {
	struct index_words words;
	struct index_words recorded; /* of the record; started.len 0: it is not known */
	char root[ID_SIZE];          /* of the record; "": it is not known */
	uint64_t call;               /* its id, in text */
	uint64_t step;               /* index_step() */
	uint64_t attempt;            /* in which it was asked */
	unsigned char guard[DIGEST_BYTES];
	bool took_over;              /* it did not ask then, but took the record over */
	bool latest;                 /* the call was neither made nor has it asked in a later attempt, as far as
	                                is known */
	bool recent;                 /* it asked in the last attempt of all */
	bool best;                   /* the user has answered, and of the calls that asked about the record
	                                it is the most similar: the answer is for it */
};

/* Shared by the records of a key: what calls of this attempt have asked for. */
struct index_key {
	_Atomic uint64_t anew;       /* calls that were found to be new */
	_Atomic uint64_t redefined;  /* those of them whose definition differs from that of the
	                                first record */
	_Atomic uint64_t differing;  /* calls made anew in place of records with other variables */
	_Atomic uint32_t left_to_own; /* how often a call has waited for another to take its own record */
	_Atomic uint32_t other_said; /* 2: `other` is written; 1: it is about to be */
	char other[OTHER_SIZE];      /* the first variable in which a new call differs from a record of the
	                                same input and definition */
	bool began;                  /* a call of the records began an effect, or made
	                                other calls */
};

#define MARK_FREE INT64_C(0)
#define MARK_CLAIMED INT64_C(-1)

/* Whether marks distinguish calls. */
struct history_name {
	char *names;                 /* NULL: none */
	unsigned char key[DIGEST_BYTES], guard[DIGEST_BYTES]; /* of a call that they tell apart from others, */
	bool anywhere;               /* which may be in other calls */
	bool apart;
};
#define HISTORY_NAMES 8

struct history {
	char *path;
	char *directory;             /* of the run */
	struct history **elsewhere;  /* opened indexes of other runs; NULL-terminated */
	struct history **copies;     /* copies of this history in outer runs, opened at the first
	                                claim; NULL-terminated */
	bool copies_known;
	void *map;
	size_t map_len;
	struct index_head *own_head; /* of a child run without a record; NULL */
	char *own_text;
	const struct index_head *head;
	const struct index_source *sources;
	struct index_record *records;
	struct index_key *keys;
	const struct index_question *questions;
	const struct place *places;
	const char *text;
	int *fds;                    /* of sources, -1 until one is read */
	pid_t pid;                   /* whose sign it is: workers inherit the history */
	int64_t sign;                /* this process's mark */
	struct {
		size_t source;
		int64_t until;       /* offset up to which there is no decision of this attempt's time */
	} undecided;
	/* What this process knows about future calls. */
	bool *expected;              /* records that future calls will claim; NULL: none yet */
	struct history_name names[HISTORY_NAMES]; /* those last asked for */
	size_t next_name;
	size_t ahead_key, ahead_from; /* first record of the key last asked for, and first of
	                                it that may be left over */
};

/* The key, and the guard, of what is asked for; guard may be NULL. */
void history_keys(const struct history *h, const struct recall_query *query,
    unsigned char key[DIGEST_BYTES], unsigned char guard[DIGEST_BYTES]);
/* The first record that is not before the key and guard; guard NULL: all of them. */
size_t history_bound(const struct history *h, const unsigned char *key,
    const unsigned char *guard);
size_t history_bound_identity(const struct history *h, const unsigned char *key,
    const unsigned char *guard, uint64_t identity);
/* The data shared by the records of the same key. */
struct index_key *history_key(const struct history *h, const struct index_record *r);
/* The marks of the recorded call. */
struct recorded_marks history_marks(const struct history *h, const struct index_record *r);
bool history_same_key(const struct history *h, size_t i, const unsigned char *key);
bool history_same_guard(const struct history *h, size_t i, const unsigned char *key,
    const unsigned char *guard);
/* Whether the record is not claimed, and no process is about to. */
bool history_free(const struct index_record *r);
/* Whether it was also not lent to a call that is not its own. */
bool history_unused_by_any(const struct index_record *r);
/* Whether a call has used the record, or one that encloses it was taken over as a whole and contains the call
 * that was recorded still. query: the call that is compared with it. */
bool history_is_used(struct history *h, const struct index_record *record, const struct recall_query *query);
/* Whether a call that encloses the record was taken over as a whole, and its programs are as they were. */
bool history_is_in_whole(const struct history *h, const struct index_record *record);
/* Marks it for this process; false if another process was faster. */
bool history_mark(struct history *h, struct index_record *r);
/* Marks it as lent to us; false if somebody was faster, or has claimed it. */
bool history_lend(struct history *h, struct index_record *r);
/* Whether a call with another guard is compared with the record: it is of the same item,
 * or of a process that was in the same place. */
bool history_comparable(const struct index_record *r, const struct recall_query *query);
/* Whether the child run is resumed and its process lives. */
bool history_child_runs(const struct index_record *r);
/* Marks the record in copies of this history in outer runs too, so that their calls see what calls
 * of this run have claimed. */
void history_copy_mark(struct history *h, const struct index_record *r, bool lent);
/* How far apart two positions are. */
uint64_t history_distance(int64_t a, int64_t b);
/* The text at an offset of the index. */
const char *history_text(const struct history *h, uint64_t at);
/* Reads a line, puts its blobs back. */
int history_line(struct history *h, const struct place *place, struct recalled_event *e,
    struct error *err);

/* history_index.c: of two entries of index_head.left_out, for bsearch(). */
int index_compare_left_out(const void *a, const void *b);
/* history_index.c: as history_open(), of a path; *h is NULL if there is no such file. */
int history_open_index(struct history **h, const char *path, struct error *err);
/* Where a run is inside of another, owned: history_set_around(). */
struct history_around {
	char *directory;             /* of the run around; NULL: none is known */
	char *place, *call, *path;
};
/* 1: there is a run around; 0: none is known; -1: ERROR_SYSTEM. To be freed either way. */
int history_around(const char *run_directory, struct history_around *around, struct error *err);
void history_around_free(struct history_around *around);

/* history.c: appends the names of the variables in which two recorded calls differ, each once and with a
 * newline. */
void history_add_differing(struct buffer *names, const struct recorded_marks *a, const struct recorded_marks *b);
/* history_likeness.c: whether marks have no part in finding the record of a call: it reads no environment,
 * or nothing is known of its run's. */
bool history_has_no_marks(const struct recall_query *query);
/* In how many marks the call differs from the record: marks_difference(). */
int history_difference(const struct history *h, const struct index_record *r,
    const struct recall_query *query, struct buffer *names);
/* What a resumed call has to do with a record, by their marks. */
enum likeness {
	LIKE,      /* they agree, or cannot be compared */
	DIFFERING, /* in a directory or variables that distinguish no calls */
	ANOTHER    /* in what distinguishes calls */
};
enum likeness history_likeness(struct history *h, const struct index_record *r,
    const struct recall_query *query);
/* Whether marks (their names, each with a newline) tell a recorded call apart from others: two recorded calls
 * of its step, of one attempt and with its words, differ in some of them and in nothing else. anywhere: the
 * step in all calls, else in the call that the record is in. m: what is ignored. */
bool history_tells_apart(struct history *h, const struct call_marks *m, const char *names,
    const struct index_record *of, bool anywhere);
/* Whether the directory of a record tells it from other calls: one of its step was made elsewhere in its
 * attempt. */
bool history_directory_tells_apart(const struct history *h, const struct index_record *r);
/* Whether a is what a call with another guard is compared with, rather than b: by its item, then its place
 * among the calls of its name. */
bool history_nearer(const struct index_record *a, const struct index_record *b,
    const struct recall_query *query);

/* history_elsewhere.c: a record of an effect that is the call's but for its place. */
struct elsewhere {
	struct history *history;     /* that it is in, which lives as long as the one that was asked */
	struct index_record *record; /* NULL: there is none */
	struct history *owners;      /* the history with the record of the child run, which owns it
	                                until that is claimed; */
	struct index_record *owner;  /* or the record itself */
	struct history *around;      /* the record of the child run that it is in, and whose that is; NULL: it is of */
	const struct index_record *inside; /* a run around */
	int differences;             /* of its directory and variables from those of the call, in
	                                that run; -1: unknown */
};
/* Adds the effects of this run alone that no call has taken over (history_unclaimed()), but for those of which
 * taken() says, by the offset of their start, that calls of other runs have. */
int history_list_unclaimed(const struct history *h, bool (*taken)(void *context, int64_t offset), void *context,
    struct history_summary *summary, struct error *err);
/* Whether the run is inside of a run that is resumed. */
bool history_is_inside(struct history *h);
/* Whether a call with the words of the record has asked about it in the last attempt of another run: of one
 * around this run, or of one in these. */
bool history_asked_elsewhere(struct history *h, const struct index_record *record);
/* Whether the child run of a record has changed something, or may have, or an answer in it was paid for. */
bool history_child_changed(struct history *h, const struct index_record *child);
/* Whether files of the run, or of one around it, were edited since it was recorded. */
bool history_edited_around(struct history *h);
/* Looks for a record there that no call has claimed. -1: ERROR_SYSTEM. */
int history_find_elsewhere(struct history *h, const unsigned char *guard,
    const struct recall_query *query, struct elsewhere *found, struct error *err);

/* history_changed.c: describes in one line how the record differs from the new call: its input, its
 * definition. */
int history_changed(struct history *h, const struct index_record *record,
    const struct recall_query *query, struct buffer *text, struct error *err);
/* Describes what a call does, from the payload of its step.started. */
void history_describe(struct buffer *out, struct span payload);
/* Whether the text of the record has this name as a word and this command (NULL: any): quotes and the number of
 * blanks do not matter. programs: or a program that it ran, as that is now. */
bool history_text_contains(struct history *h, const struct index_record *record, const char *name,
    const char *command, bool programs);
/* What a call does, and what it was given. */
struct call_words {
	struct span does, input;
};
/* Reads them of a recorded call: its start, and the line whose result is its input, if that is not in the start
 * (len 0). False: they cannot be read. */
bool history_read_words(struct history *h, const struct place *started, const struct place *input, struct buffer *does,
    struct buffer *given);
/* How many words two calls have in common: ALIKE_WHOLE if all; else at most half of that. */
size_t history_words_alike(const struct call_words *a, const struct call_words *b);
/* The same of a record and a call. */
size_t history_has_words_of(struct history *h, const struct index_record *record, const struct recall_query *query);
/* Whether a record and a call have the same words but for times, ids or new paths. */
bool history_differs_by_chance(struct history *h, const struct index_record *record, const struct recall_query *query);
/* How similar two texts are, as history_alike() returns it. */
size_t history_texts_alike(struct span a, struct span b);
/* How much of what the call and the record do is the same, at the beginning and at the end: ALIKE_WHOLE if
 * one of them is all in the other, or they differ in blanks alone; else at most half of that. */
#define ALIKE_WHOLE ((size_t)1000)
size_t history_alike(struct history *h, const struct index_record *record,
    const struct recall_query *query);

#endif
