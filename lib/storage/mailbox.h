/*
 * Texts that people send to calls of a run while they work: mailboxes/<run-id>, a file of the storage.
 * Each line is a word: a text for one call. The file is made with the first word, and removed with the
 * run. A call that has its result reads no more words, and says so in the file `closed` of the run's
 * directory, which exists as long as the run works. The writer of a word and a call that ends both hold
 * the lock of that file, so a word is either read or refused. Words that a call has read are in the
 * transcript; the mailbox is not part of the record.
 */
#ifndef AWF_STORAGE_MAILBOX_H
#define AWF_STORAGE_MAILBOX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/id.h"
#include "storage/storage.h"

#define MAILBOX_WORD_MOST ((size_t)1 << 20) /* bytes of a word */

struct word {
	char id[ID_SIZE];
	char *call, *by, *at, *text;
};
void word_free(struct word *w);

/* The words for one call, read as they come. */
struct mailbox {
	char *path, *closings;    /* the two files */
	int64_t position;         /* up to here the file was read */
	struct word *list;        /* those that were not taken yet */
	size_t count;
	bool closed;              /* the call reads no more words */
};

/* Puts a word for a call. check() is called with the lock held: started is to become the id of the
 * call's start; -1 with *err: the word is refused. ERROR_BLOCKED: the call that began there has
 * its result. On success the word is on disk. */
int mailbox_put(const struct storage *s, const char *run_id, const struct word *w,
    int (*check)(void *context, char started[ID_SIZE], struct error *err), void *context,
    struct error *err);

char *mailbox_path(const struct storage *s, const char *run_id);
/* Where the next line will be: words for a call that begins now come after it. */
int64_t mailbox_end(const struct storage *s, const char *run_id);
void mailbox_open(struct mailbox *m, const struct storage *s, const char *run_id, int64_t position);
/* Adds new words for the call to the list. */
int mailbox_read(struct mailbox *m, const char *call, struct error *err);
/* Removes the first word of the list, which the caller frees. */
void mailbox_take(struct mailbox *m, struct word *w);
/* The call (its id, and that of its start) has its result: 0, and all later words are refused; 1:
 * there are words that it has not taken; -1 with *err. */
int mailbox_close(struct mailbox *m, const char *call, const char *started, struct error *err);
void mailbox_free(struct mailbox *m);

#endif
