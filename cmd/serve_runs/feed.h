/*
 * A feed: a run that somebody follows. It watches the transcript, however many follow it, makes
 * of what comes what they are sent (serve_runs/backlog.h), and knows whether the run goes on.
 *
 * What the code relies on:
 *   - Lines that end in LF stay as they are, unless the file was cut, as after a power cut: it
 *     is shorter then, or has other bytes before the place where the last one ended. Then all is
 *     read anew, and its streams are told to begin again.
 *   - A run is over when nobody holds its lock any more and all that it left was read. That is
 *     asked again and again while the run lives: no event tells of it.
 */
#ifndef AWF_SERVE_RUNS_FEED_H
#define AWF_SERVE_RUNS_FEED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"
#include "base/id.h"
#include "httpd/loop.h"
#include "serve_runs/backlog.h"
#include "storage/storage.h"

#define FEED_TAIL 64

struct live;
struct stream;
struct feeds;

struct feed {
	struct feeds *feeds;
	struct feed *next;
	unsigned holders;
	int fd;
	char *path;
	ino_t inode;
	int64_t end;             /* behind the last whole line */
	char tail[FEED_TAIL];    /* the bytes before it: fewer, if there are not so many */
	unsigned cuts;           /* how often lines that had been read were not there any more */
	int watch;               /* of inotify; -1: none was to be had, it is looked at often */
	bool gone;               /* the file was removed, or cannot be read */

	/* What its lines tell of the last attempt. */
	bool ended;              /* run.completed has come */
	bool over;               /* nothing more is to come of this attempt */
	bool alive;
	int64_t attempt;         /* 0: see feed_attempt() */
	int64_t ended_at;        /* clock_monotonic(), when that was seen; 0: before we came */
	char status[16];         /* its own */
	char run_id[ID_SIZE];

	struct backlog backlog;
	struct stream *streams;  /* that follow it */
	struct live *live;       /* text under way (serve_runs/live.h); NULL: nobody wants it */
	struct loop_timer look;
};

struct feeds {
	struct loop *loop;
	const struct storage *storage;
	/* What its streams are told: lines have come; the file was cut, and what is left of it is read
	 * after that; something else. */
	void (*grown)(struct feed *feed);
	void (*cut)(struct feed *feed);
	void (*changed)(struct feed *feed);
	struct loop_source changes; /* inotify; fd -1: there is none */
	struct feed *first;
	size_t count;
	struct buffer input;     /* lines that are looked at just now */
};

void feeds_open(struct feeds *f, struct loop *loop, const struct storage *storage);
void feeds_close(struct feeds *f);

/* The feed of a run, which is held from then on; NULL with *err. */
struct feed *feed_hold(struct feeds *f, const char *run_id, struct error *err);
/* One that is held, once more; returns it. */
struct feed *feed_share(struct feed *feed);
void feed_release(struct feed *feed);

/* Whole lines from a place on, which is where one begins: their bytes with their LF, valid until
 * the next call; at least one, else not many more than most bytes. *len 0: none is there. A line
 * longer than FRAME_LINE_MOST comes alone. -1 with errno. */
int feed_lines(struct feed *feed, int64_t from, size_t most, const char **bytes, size_t *len);
/* Bytes of whole lines, at most most of them, wherever a line ends: likewise. */
int feed_bytes(struct feed *feed, int64_t from, size_t most, const char **bytes, size_t *len);
/* "SEQ-DIGEST8" of the last line; "" if there is none. */
void feed_head(struct feed *feed, char id[]);
/* The place behind the line with this seq, if the digest is its own or "": 1; 0: there is another
 * line, or none. -1 with *err. */
int feed_find(struct feed *feed, int64_t seq, const char *digest, int64_t *offset,
    struct error *err);
/* The attempt that is the last; 0: not known. */
int64_t feed_attempt(struct feed *feed);

#endif
