/*
 * Shared by the files that look a call up:
 *
 *  history_find.c     the record of a call
 *  history_question.c what the call has asked about in an earlier attempt
 *  history_ask.c      what the user is asked about a record, and has answered
 *  history_claim.c    who claims which record
 *  history_ahead.c    the same for calls that are to come
 */
#ifndef AWF_HISTORY_HISTORY_CLAIM_H
#define AWF_HISTORY_HISTORY_CLAIM_H

#include "history/history_parts.h"

#define DEFINITIONS_MOST 256 /* records of other definitions that a call is compared with */
#define TEXT_ALIKE_LEAST (ALIKE_WHOLE / 4) /* half of an edited text */

/* ---- history_find.c ---- */

/* What a search among the records with the guard of a call has found. */
struct same {
	struct index_record *record; /* the call's record; one of several if nothing
	                                distinguishes them; or NULL */
	bool exact;                  /* it has the same names of new paths */
	bool alike;                  /* another free one matches equally well, but was made elsewhere */
	const struct index_record *other; /* that record; NULL: not known */
	int fit;                     /* of a child run: recall_query.fits */
};

/* Finds the free record of this key and guard that is the call's. */
void history_find_same(struct history *h, const unsigned char *key, const unsigned char *guard,
    const struct recall_query *query, struct same *same);
/* Finds the free record of this key and guard that the call would have if the variables still
 * had the values that they had then. */
struct index_record *history_find_differing(struct history *h, const unsigned char *key, const unsigned char *guard,
    const struct recall_query *query);
/* Finds the free record of an effect, or of a child run, that has another name or was made in
 * other calls, and agrees with the call in everything else that distinguishes calls. If no file
 * that is known was edited, a file that is not known, or a variable, may have changed the name;
 * then only a call whose name is new is considered. */
struct index_record *history_find_moved(struct history *h, const unsigned char *key, const unsigned char *guard,
    const struct recall_query *query);
/* Finds the free record of an effect of another name that has the words of a call whose name is new, but for times, ids
 * or new paths: where calls are numbered (pay1, pay2), an item in front gives all of them other names. */
struct index_record *history_find_renumbered(struct history *h, const unsigned char *key, const struct recall_query *query);
/* Finds the free record of this key with which a call of another guard is compared. For a resume
 * only records count that began to change something. */
struct index_record *history_find_changed(struct history *h, const unsigned char *key, const unsigned char *guard,
    const struct recall_query *query, bool same_input);
/* As history_find_changed(), for a branch of a parallel group that was edited: branches before and behind it may
 * have been removed or added, so its record may be at another position, if the commands are
 * similar. */
struct index_record *history_find_changed_branch(struct history *h, const unsigned char *key, const unsigned char *guard,
    const struct recall_query *query);
/* In a parallel group that was edited a branch may be at another position: finds the nearest
 * record of an identical branch. */
void history_find_branch(struct history *h, unsigned char *key, const unsigned char *guard, const struct recall_query *query,
    struct same *same);
/* The first record of the calls with this root; NULL: none. */
const struct index_record *history_find_root(const struct history *h, const char *root);
/* Whether the call and the calls around it have the names of the record and of those around it. */
bool history_has_names_of(const struct history *h, const struct index_record *r, const struct recall_query *query);
/* Whether a resumed call ended without any result, so that it is made again without asking. */
bool history_is_harmless(const struct history *h, const struct index_record *r);
/* Whether it is a child run that kept no transcript (--no-transcript): it cannot go on with another
 * input, so a call with another input is another call, or was edited. */
bool history_kept_nothing(struct history *h, const struct index_record *r);
/* The digest of what a child run was given; false: it is not known. */
bool history_given(struct history *h, const struct index_record *r, char sha256[DIGEST_SIZE]);
/* Whether it has answers of models. */
bool history_is_paid(const struct index_record *r);

/* ---- history_ask.c ---- */

/* Whether the user's answer about a record, which is in the history `of`, is for the call that has asked this
 * question: of those that have asked about the record it is the most similar. NULL: it has asked none. */
bool history_is_asker(struct history *h, struct history *of, const struct index_record *record,
    const unsigned char *guard, const struct index_question *q);
/* Whether the user has decided what happens to a call that has other words than the record, or
 * another place. An answer about a recorded call in doubt, given by its name, is about that call
 * only: the user was not asked whether another call is skipped, or whether an agent repeats all
 * that it did. Making another call does no harm: the record stays free for its own call. of: the
 * history that has the record. */
bool history_is_decided_in(struct history *h, struct history *of, const struct index_record *record,
    const unsigned char *guard, const struct recall_query *query);
/* The same of a record of this history. */
bool history_is_decided(struct history *h, const struct index_record *record, const unsigned char *guard,
    const struct recall_query *query);
/* Whether the user has said that a call which matches no record, and has asked that question (NULL: none), is new,
 * or it is left out by a fork. What is said after calls of a step have asked is for these alone. */
bool history_is_new(const struct history *h, const unsigned char *key, const unsigned char *guard,
    const struct recall_query *query, const struct index_question *q);
/* The end of a question about a record: how to answer it, and to what effect. If the record was
 * in doubt, the user has said already that it is skipped. h: the history of the call that asks;
 * prefix: text in front of the record's name. */
void history_add_answers(const struct history *h, const struct index_record *record, const char *prefix, const char *call,
    const struct recall_query *query, const char *aim, struct buffer *out);
/* The rest ask the user, or end a replay: they return -1 with *err, and note what was asked about. */
/* Handles a record with another input or definition, or with other variables. */
int history_refuse_changed(struct history *h, const struct index_record *record,
    const struct recall_query *query, struct recalled *r, struct error *err);
/* Handles a call for which a replay has no record. */
int history_refuse_unknown(const struct recall_query *query, struct recalled *r, struct error *err);
/* Handles a call that has asked about a record which another call has taken over since. */
int history_refuse_asked_again(struct history *h, const struct index_record *record, const struct recall_query *query,
    struct recalled *r, struct error *err);
/* Handles a record under another name, or in another place. */
int history_refuse_moved(const struct history *h, const struct elsewhere *found,
    const struct recall_query *query, struct recalled *r, struct error *err);
/* Handles several records of which nothing tells which is the call's. */
int history_refuse_alike(const struct history *h, const struct same *same, const struct recall_query *query,
    struct recalled *r, struct error *err);

/* ---- history_question.c ---- */

/* The question that this call has asked in an earlier attempt; NULL: it has asked none, or it is not certain
 * which. */
const struct index_question *history_find_question(struct history *h, const unsigned char *guard,
    const struct recall_query *query);
/* Whether the user's answer about a record is for a call that has asked about it, and this one is none of those. */
bool history_answer_is_of_another(const struct history *h, const struct index_record *record,
    const unsigned char *guard, const struct recall_query *query);
/* Whether a call has asked about the record. */
bool history_was_asked_about(const struct history *h, const struct index_record *record);
/* Whether a call of its step has asked. */
bool history_step_has_asked(const struct history *h, const struct recall_query *query);
/* ---- history_ahead.c: struct recall ---- */

/* Whether a call that is to come will claim the record. */
bool history_is_expected(const struct history *h, size_t i);
bool history_left_over(void *history, const struct recall_query *query);
bool history_expect_call(void *history, const struct recall_query *query);
void history_share_out(void *history, const struct recall_query *query, const struct recall_item *items,
    size_t count, int64_t *compared);

#endif
