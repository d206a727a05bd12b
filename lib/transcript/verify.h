/*
 * Verification: reads a transcript from its first byte to its last, and reports whether it is as
 * awf-transcript(5) says, or where the first fault is.
 *
 * It checks each line by itself (form.h), the chain, the relations between lines (order, causes,
 * pairs, blobs: verify_lines.h) and between files (linkage.h). It takes no lock, maps nothing,
 * changes nothing except in verify_repair(), and keeps a piece of the file and eight bytes for each
 * event in memory.
 *
 * Faults that a crash can leave behind are distinguished from all others: only the former are
 * `damage`. Damage is repaired only if it is not followed by anything that must have been on disk.
 */
#ifndef AWF_TRANSCRIPT_VERIFY_H
#define AWF_TRANSCRIPT_VERIFY_H

#include <stdbool.h>
#include <stdint.h>

#include "base/digest.h"
#include "base/error.h"
#include "base/id.h"
#include "transcript/checkpoint.h"

enum verify_rule {
	VERIFY_JSON,    /* a line is one JSON object */
	VERIFY_WHOLE,   /* the last line ends in LF */
	VERIFY_FORM,    /* keys, their order, their values */
	VERIFY_SEQ,     /* 1, 2, 3 … */
	VERIFY_CHAIN,   /* prev is the digest of the previous line */
	VERIFY_TIME,    /* never earlier than the line before */
	VERIFY_IDS,     /* one run id; no event id occurs twice */
	VERIFY_CAUSES,  /* parents and links are earlier events */
	VERIFY_PAIRS,   /* what is completed was started, and is completed once */
	VERIFY_BLOBS,   /* refs name blobs that exist and have the right digest */
	VERIFY_LINKAGE, /* parent, child and linked runs agree */
	VERIFY_SEAL,    /* seals are signatures of their lines, by the right key */
	VERIFY_CHECKPOINTS, /* checkpoints that were kept elsewhere are in it */
	VERIFY_RULES
};

/* "chain", "pairs" … */
const char *verify_rule_name(enum verify_rule rule);

struct verify_report {
	int64_t lines, bytes, attempts, calls, tool_calls, blobs;
	int64_t size;            /* size of the file; bytes: up to its last LF */
	int64_t unfinished;      /* bytes after the last LF, in a live run */
	char run_id[ID_SIZE];
	char head[DIGEST_SIZE];  /* digest of the last line */
	char sealed_by[DIGEST_SIZE]; /* public key, if the last line has a seal; otherwise "" */
	bool alive;              /* the run is being written */
	bool faulty;             /* the following members describe the first fault */
	enum verify_rule rule;
	int64_t line, byte;      /* line counted from 1, byte of the file from 0 */
	struct error fault;
	bool damage;             /* a crash may have caused it */
	int64_t intact;          /* the bytes before this one are proved intact */
};

struct verify_spec {
	/* Called for what is unusual but no fault; text is one line. */
	void (*warn)(void *context, int64_t line, const char *text);
	/* Called for each line that passed the check by itself, without its LF, with its offset, so
	 * that a caller that continues to read need not read it again. It may start again with
	 * offset 0, and the lines are valid only if the report has no fault. May be NULL. */
	void (*take)(void *context, const char *line, size_t len, int64_t at);
	void *context;
	bool unknown; /* warn about unknown types and keys, too */
	bool one_thread; /* check the chain in the same thread */
	const char *seal_key;      /* the key that must have sealed the last line, 64 hex
	                              digits; NULL */
	const struct checkpoints *checkpoints; /* checkpoints that must be in the transcript;
	                                          NULL */
};

/* Checks the transcript at path; blobs and other runs are looked for in the storage to which its
 * directory belongs. 0: *report is the result; -1: the transcript could not be read to its end
 * (ERROR_SYSTEM). */
int verify_transcript(const char *path, const struct verify_spec *spec,
    struct verify_report *report, struct error *err);

/* Moves what follows the intact part of a damaged transcript to <run-id>.torn; *moved is the
 * number of bytes. -1 with nothing changed: the run is alive, the fault is not damage, or the part
 * to be moved has a line that must have been on disk (ERROR_SCHEMA); or the repair failed
 * (ERROR_SYSTEM). */
int verify_repair(const char *path, const struct verify_report *report, int64_t *moved,
    struct error *err);

#endif
