/*
 * The history inside: what the history_*.c files share.
 *
 *   history_read.c     a recording: its calls, where their lines stand, what they
 *                      took over of one another (history_calls.c, history_tools.c)
 *   history_caught.c   failures that the run went on from
 *   history_decided.c  calls that wait, and decisions about them
 *   history_doubt.c    effects that may or may not have happened, and what the user
 *                      decided about them
 *   history_index.c    the index file, written and mapped
 *   history_claim.c    the look-up
 *   history_ahead.c    the look-up of calls that are to come
 *   history_unused.c   what an attempt has not used
 *   history_changed.c  how a recorded call differs from one that starts
 */
#ifndef AWF_RUN_HISTORY_PARTS_H
#define AWF_RUN_HISTORY_PARTS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/clock.h"
#include "base/digest.h"
#include "base/map.h"
#include "run/history.h"

#define NO_CALL SIZE_MAX
#define NO_TOOL SIZE_MAX

/* A line in one of the sources. len 0: there is none. */
struct place {
	int64_t offset;
	uint32_t len;    /* without its LF */
	uint32_t source;
};

/* One call in one attempt. Where it took over an earlier one, both are calls here,
 * and form a chain; its last stands for it. */
struct recorded_call {
	char *id;                    /* NAME:OCCURRENCE:ITEM chain */
	const char *path;            /* one of the recording's */
	char started[ID_SIZE];       /* event id */
	char *child;                 /* the run that it is; NULL: it is a step's */
	unsigned char guard[DIGEST_BYTES]; /* of input and definition */
	uint64_t definition;         /* the beginning of its digest */
	size_t attempt;              /* counted over all sources */
	size_t enclosing;            /* call, NO_CALL at top level */
	size_t claims, claimed_by;   /* neighbours in the chain */
	size_t root;                 /* its first */
	size_t input_from;           /* whose result its input is; NO_CALL: it has its own */
	size_t result_from;          /* whose result it reused; NO_CALL: its own */
	struct place begin, end;     /* its two lines */
	struct place *events;        /* messages and tool events in between */
	size_t event_count, event_capacity;
	size_t last_tool;            /* of the chain; kept at its root */
	enum recall_end state;
	const char *cut;             /* why it counts as cut off; NULL */
	bool effects, idempotent;    /* its own: it changes something */
	bool operation;              /* its effects are those of its tool's calls */
	bool members;                /* a loop or a parallel group: rounds or branches are in it */
	bool member;                 /* a round or a branch: known by its position alone */
	bool race;                   /* of its branches one is to succeed (--strategy any) */
	bool lenient;                /* its branches may fail (--strategy best-effort) */
	uint32_t left_by, reopened_by; /* the last fork that left it out, or something in it: 1 for
	                                that from the first source; 0: none did */
	size_t winner;               /* the first branch that did; kept at the root */
	bool encloses;               /* others were made in it */
	long long try_number;        /* of the call around it, in which it was made; 0: the first */
	long long last_try;          /* of its own, in which others were made */
	bool began_inside;           /* one of them began to change something; kept at the root */
	size_t changed_inside;       /* one of them that did, or may have, and is not to do so
	                                twice; NO_CALL; kept at the root */
	bool idle;                   /* it never began its work */
	bool tried;                  /* its failure stands (--try) */
	bool allowed;                /* --allow-failure */
	bool of_work;                /* its failure is what the work came to */
	bool closed;                 /* it ended because nobody read its output */
	bool runs_command;           /* what is made in it, a command of it has made */
	bool lost_lines;             /* it failed, and lines that it printed are not in its end */
	size_t failed_first;         /* whose failure it took over, or itself */
	bool caught;                 /* the run went on because of its failure; kept there */
	bool missed;                 /* of a branch: something behind it came to nothing because of
	                                its failure; kept there */
	bool redone;                 /* it, or a call in it, is to be made again; kept at the root */
	bool doubt_inside;           /* nobody knows whether an effect in it happened; kept at
	                                the root */
	bool by_user;                /* it was skipped, as the user said */
	bool reopened;               /* something in it is left out: its end does not count */
	bool decided;                /* its end is a decision, or reuses one */
	struct place own_end;        /* len > 0: the attempt's, where a decision is `end` */
};

/* A call of a tool that changes something, or may. */
struct recorded_tool {
	size_t call;
	size_t before;               /* the one before it in the chain, or NO_TOOL */
	char id[ID_SIZE], cause[ID_SIZE];
	char *call_id;
	struct place place;
	const char *cut;             /* why its end is not known; NULL: it is */
	bool idempotent;
	bool blocked;                /* it was not allowed to run */
	bool repeated;               /* by a later attempt: that one counts */
	bool answered;               /* the model was told what came of it, and went on */
};

/* That a call with --rescue was given what came of another. */
struct recorded_catch {
	size_t call, rescue;
};

/* A transcript as it was when the index was made. */
struct index_source {
	int64_t size;                /* of the transcript, when the index was made */
	uint64_t device, inode;
	uint64_t path, blobs;        /* in text */
	char run_id[ID_SIZE];
	char tail[DIGEST_SIZE];      /* the prev of the last line up to there */
	bool foreign;                /* another run's */
};

/* Events of the run around it, and of others, that a child run's steps had items of. */
struct recorded_reads {
	size_t call;                 /* the last that is that child run */
	char (*events)[ID_SIZE];
	size_t count;
};

struct recording {
	const struct history_spec *spec;
	struct recorded_call *calls;
	char **paths;                /* of all calls, each once */
	size_t path_count;
	struct map by_path;
	size_t call_count, call_capacity;
	struct recorded_tool *tools;
	size_t tool_count, tool_capacity;
	struct recorded_catch *catches;
	size_t catch_count, catch_capacity;
	bool branch_failed;          /* of a best-effort group */
	struct recorded_reads *reads; /* of child runs: those in what a fork is made from, and those
	                                that failed behind a branch that did */
	size_t read_count;
	struct map reads_by_run;     /* id of such a run, or of one in it → reads */
	size_t attempt;              /* that is being read, over all sources */
	uint32_t source;             /* that is being read */
	struct index_source *sources;
	struct map by_id;            /* calls of the attempt that is being read */
	struct map by_event;         /* event id → call */
	struct map tool_by_event;    /* tool.call → tool */
	int own_attempts;
	char status[16];             /* of the last attempt; "": it has no end */
};

/* The sources in one row: the others, then the run's own. */
size_t history_source_count(const struct history_spec *spec);
const struct history_source *history_source(const struct history_spec *spec, size_t index);

/* The digest that a whole line ends in. -1 if the line is too short for one. */
int history_tail(const char *line, size_t len, char tail[DIGEST_SIZE]);

/* Reads all sources. ERROR_SCHEMA at FILE:LINE for what is no transcript. */
int recording_read(struct recording *rec, const struct history_spec *spec, struct error *err);
void recording_free(struct recording *rec);
/* The last of a call's chain. */
size_t recording_latest(const struct recording *rec, size_t call);
/* Whether the call is one that others are compared with. */
bool recording_counts(const struct recording *rec, size_t call);

/* Whether a call went on with what the one that it took over had done. One with another
 * input or definition began anew, and so did one of another run. */
bool recorded_call_went_on(const struct recorded_call *c, const struct recorded_call *earlier);

/* Whether the PATH (a step's, or one call) names the call. */
bool path_names(const char *path, const char *call, const char *call_path);
/* What was decided about the call. */
enum recall_decision recording_decision(const struct recording *rec, size_t call);
/* Refuses PATHs that no call has, and contradictions. */
int recording_check_paths(const struct recording *rec, struct error *err);
/* Whether the call has an effect of which nobody knows whether it happened, and which
 * may happen again. */
bool recording_doubtful(const struct recording *rec, size_t call);
/* Whether the call has one of its own, wherever it was made. */
bool recording_own_doubt(const struct recording *rec, size_t call);
/* Tells the calls around those that have one. */
void recording_note_doubts(struct recording *rec);
/* Whether the call failed, and who takes it over fails as it did: the failure was allowed, or
 * caught, and all that the call did is known. Effects in it are not looked at. */
bool recording_failure_stands(const struct recording *rec, size_t call);
/* Of the call of a child run: whether that stands for what failed at its top. */
bool recording_child_excused(const struct recording *rec, size_t call);
/* Whether the call, or one made in it, began to change something, in any attempt. */
bool recording_began(const struct recording *rec, size_t call);
/* Whether all that is known of its effects is that the call was begun. */
bool recording_only_begun(const struct recording *rec, size_t call);
/* Tells the calls around those that did, or have. */
void recording_note_began(struct recording *rec);
int recording_doubts(const struct recording *rec, struct history_summary *summary,
    struct error *err);

/* The index file: head, sources, records, places, text, each an array. */
struct index_head {
	char magic[8];
	uint64_t mode, sources, records, places, text;
	uint64_t prefix;             /* in text */
	uint64_t cut_off;            /* the attempt that a replay makes was ended from outside */
};

struct index_record {
	_Atomic int64_t mark;        /* MARK_FREE, MARK_CLAIMED, or who is about to claim it */
	_Atomic uint64_t settled;    /* in the first of a key and guard: so many from here on
	                                are claimed */
	unsigned char key[DIGEST_BYTES], guard[DIGEST_BYTES];
	int64_t item, occurrence;
	uint64_t order;              /* in the recording */
	uint64_t events, event_count; /* in places */
	struct place started, completed, original;
	struct place input;          /* the line whose result is its input; len 0: started's */
	uint64_t call;               /* in text */
	uint32_t end, decided;
	bool superseded;             /* the call around it was tried again after it */
	bool doubtful, began;
	bool stands;                 /* who takes it over fails as it did */
	bool maybe;                  /* of what began nobody knows whether it happened */
	bool key_began;              /* in the first of a key: one of them did */
	bool encloses;               /* others were made in it, or in the one whose end it took over */
	/* In the first of a key: calls that were found to be new, and whose definition is that
	 * of none of the records. */
	_Atomic uint64_t anew, redefined;
	uint64_t definition;         /* part of its digest */
	uint64_t changed_inside;     /* in text: the call in it that has; "" */
	char root[ID_SIZE];
};

#define MARK_FREE INT64_C(0)
#define MARK_CLAIMED INT64_C(-1)

struct history {
	char *path;
	void *map;
	size_t map_len;
	const struct index_head *head;
	const struct index_source *sources;
	struct index_record *records;
	const struct place *places;
	const char *text;
	int *fds;                    /* of sources, -1 until one is read */
	pid_t pid;                   /* whose sign it is: workers inherit the history */
	int64_t sign;                /* what we mark records with */
	/* history_ahead.c: what this process expects. */
	bool *expected;              /* records that calls which are to come will claim; NULL:
	                                none yet */
	size_t ahead_key, ahead_from; /* first record of the key last asked for, and first of
	                                it that may be left over */
};

int index_write(const char *path, const struct recording *rec, struct error *err);
/* What calls are sorted by. item: that of one which is known by its position alone, or
 * ANY_ITEM. */
#define ANY_ITEM INT64_C(-1)
void index_key(const char *root, const char *name, int64_t item,
    unsigned char key[DIGEST_BYTES]);
uint64_t index_definition(const char *definition_sha256);
void index_guard(const char *input_sha256, const char *definition_sha256,
    unsigned char guard[DIGEST_BYTES]);

/* Reads a line, puts its blobs back. */
int history_line(struct history *h, const struct place *place, struct recalled_event *e,
    struct error *err);

/* history_claim.c: the key, and the guard, of what is asked for; guard may be NULL. */
void history_keys(const struct history *h, const struct recall_query *query,
    unsigned char key[DIGEST_BYTES], unsigned char guard[DIGEST_BYTES]);
/* The first record that is not before the key and guard; guard NULL: all of them. */
size_t history_bound(const struct history *h, const unsigned char *key,
    const unsigned char *guard);
bool history_same_key(const struct history *h, size_t i, const unsigned char *key);
bool history_same_guard(const struct history *h, size_t i, const unsigned char *key,
    const unsigned char *guard);
/* Whether nobody has claimed the record, or is about to. */
bool history_free(const struct index_record *r);
/* Whether a call with another guard is compared with the record: it is of the same item,
 * or of a process that was in the same place. */
bool history_comparable(const struct index_record *r, const struct recall_query *query);
/* How far apart two positions are. */
uint64_t history_distance(int64_t a, int64_t b);

/* As struct recall says. */
bool history_left_over(void *history, const struct recall_query *query);
bool history_expect(void *history, const struct recall_query *query);
void history_share_out(void *history, const struct recall_query *query, const int64_t *items,
    size_t count, int64_t *compared);
int history_decided_since(void *history, struct recalled *r, struct error *err);

/* Says in a line how the record differs from what starts: its input, its definition. */
int history_changed(struct history *h, const struct index_record *record,
    const struct recall_query *query, struct buffer *text, struct error *err);

#endif
