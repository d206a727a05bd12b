/*
 * A feed: a run that clients follow. It watches the transcript once for all of them, makes
 * what is sent to them from the new lines (serve_runs/backlog.h), and knows whether the run is
 * still going on.
 *
 * What the code relies on:
 *   - Lines that end in LF do not change, unless the file was cut, for example by a power failure.
 *     It is then shorter, or has other bytes before the previous end. All of it is then read again,
 *     and the streams start again.
 *   - A run is over when no process holds its lock and everything that it wrote was read. While the
 *     run is alive, the lock is checked periodically, since no event reports its release.
 *   - A run that waits in a queue has no transcript yet. Its feed is empty until the transcript
 *     appears; if the run leaves the queue without one, the feed is gone.
 */
#ifndef AWF_SERVE_RUNS_FEED_H
#define AWF_SERVE_RUNS_FEED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/digest.h"
#include "base/error.h"
#include "base/id.h"
#include "httpd/loop.h"
#include "serve_runs/backlog.h"
#include "storage/storage.h"

#define FEED_TAIL 64

struct live;
struct stream;
struct feeds;

/* Called each time that something about the run has changed. */
struct feed_waiter {
	void (*changed)(struct feed_waiter *waiter);
	struct feed_waiter *next, *previous;
};

struct feed {
	struct feeds *feeds;
	struct feed *next;
	unsigned holders;
	int fd;                  /* -1: there is no transcript yet */
	char *path;
	ino_t inode;
	int64_t end;             /* position after the last whole line */
	char tail[FEED_TAIL];    /* the last bytes before end, fewer if the file has fewer */
	unsigned cuts;           /* how often the file was truncated */
	int watch;               /* inotify's watch; -1: none, the file is checked by timer */
	bool gone;               /* the file was removed, or cannot be read */

	/* What the lines say about the last attempt. */
	bool ended;              /* run.completed was read */
	bool over;               /* no more lines of this attempt are expected */
	bool alive;
	bool coming;             /* a process waits in a queue with the run, or is about to begin
	                            it */
	int64_t attempt;         /* 0: see feed_attempt() */
	int64_t ended_at;        /* clock_monotonic() when run.completed was read; 0: before the
	                            feed was opened */
	char status[16];         /* status in run.completed */
	char output[DIGEST_SIZE]; /* the blob with what the attempt has printed; "": none is known */
	char run_id[ID_SIZE];

	struct backlog backlog;
	struct stream *streams;  /* the streams that follow the run */
	struct live *live;       /* text in progress (serve_runs/live.h); NULL: no
	                            client wants it */
	struct feed_waiter *waiters;
	struct loop_timer look;
};

struct feeds {
	struct loop *loop;
	const struct storage *storage;
	/* Called when lines have been added, when the file was cut (before the rest is read), and
	 * when anything else has changed. */
	void (*grown)(struct feed *feed);
	void (*cut)(struct feed *feed);
	void (*changed)(struct feed *feed);
	struct loop_source changes; /* inotify; fd -1: not available */
	int appearing;           /* inotify's watch of the directory of transcripts; -1: none */
	struct feed *first;
	size_t count;
	struct buffer input;     /* the lines that are being processed */
};

void feeds_open(struct feeds *f, struct loop *loop, const struct storage *storage);
void feeds_close(struct feeds *f);

/* Returns the feed of a run, which has a transcript or is queued, with a reference that
 * feed_release() gives back; NULL with *err. */
struct feed *feed_hold(struct feeds *f, const char *run_id, struct error *err);
/* Adds a reference to a feed, and returns it. */
struct feed *feed_share(struct feed *feed);
void feed_release(struct feed *feed);
/* Adds a waiter, which must be removed before the feed is released, or removes it. */
void feed_await(struct feed *feed, struct feed_waiter *waiter);
void feed_forget(struct feed *feed, struct feed_waiter *waiter);
/* Calls the waiters. */
void feed_tell(struct feed *feed);

/* Reads whole lines, with their LF, from `from`, where a line begins; the bytes are valid until the
 * next call. It reads about `most` bytes, but at least one line; *len is 0 at the end of the file.
 * A line longer than FRAME_LINE_MOST is returned alone. -1 with errno. */
int feed_lines(struct feed *feed, int64_t from, size_t most, const char **bytes, size_t *len);
/* Like feed_lines(), but gets at most `most` bytes, which need not end with a line. */
int feed_bytes(struct feed *feed, int64_t from, size_t most, const char **bytes, size_t *len);
/* "SEQ-DIGEST8" of the last line; "" if there is none. */
void feed_head(struct feed *feed, char id[]);
/* Finds the position after the line with this seq. 1; 0: there is no such line, or it has another
 * digest (digest "": any). -1 with *err. */
int feed_find(struct feed *feed, int64_t seq, const char *digest, int64_t *offset,
    struct error *err);
/* The number of the last attempt; 0: not known. */
int64_t feed_attempt(struct feed *feed);

#endif
