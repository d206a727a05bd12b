/*
 * The tally: what the runs of the storage tell for figures (stats/figures.h), so that figures of any span of
 * time are sums of what is in memory. Runs are read in pieces, those changed last first, when somebody asks
 * for figures; a run is read again only if its file has changed.
 *
 *   - It takes a bounded amount of memory, beside some 200 bytes for each run. If that is full, the runs changed longest ago are left out, and
 *     whoever asks is told up to which time figures are whole.
 *   - A run that takes long to read is read again only after many times as long, however often it changes.
 *   - What nobody has asked for in a while is forgotten.
 */
#ifndef AWF_SERVE_RUNS_TALLY_H
#define AWF_SERVE_RUNS_TALLY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <time.h>

#include "base/buffer.h"
#include "base/id.h"
#include "base/map.h"
#include "httpd/loop.h"
#include "stats/figures.h"
#include "storage/storage.h"

struct tally_entry;

struct tally_run {
	char run_id[ID_SIZE];
	ino_t inode;                 /* of the file as it was when it was read; 0: not read */
	off_t size;
	struct timespec changed;
	int64_t seen;                /* when the file was last changed as of the last look, µs since 1970; 0: it is
	                                not there */
	int64_t read_at, took;       /* clock_monotonic(), ms */
	bool due;                    /* it is to be read */
	bool unreadable;             /* not all of it could be read */
	struct tally_entry *entries;
	size_t count;
	char *texts;                 /* names and reasons of the entries; the first is the name of the
	                                workflow */
	size_t bytes;                /* that it takes */
};

/* How far the runs were read that may tell something since a time. */
struct tally_progress {
	int64_t runs, read, unreadable;
	int64_t whole_since;         /* of what was before, something was left out; 0: of nothing */
	bool complete;
};

struct tally {
	struct loop *loop;
	const struct storage *storage;
	struct cost cost;
	bool priced;
	struct tally_run **runs;     /* those changed last first, once they were looked at */
	size_t count, room;
	struct map by_id;
	size_t bytes, most;          /* that what was read takes, and may take */
	size_t holders;              /* who goes through the runs: they keep their order */
	bool unread;                 /* the storage cannot be read */

	enum { TALLY_IDLE, TALLY_LOOK, TALLY_READ } phase;
	int64_t looked_at;           /* clock_monotonic() of the last look at the files */
	size_t at;                   /* the run that is looked at or read next */
	struct figures_reading reading;
	struct tally_run *reads;     /* the run that is being read; NULL: none */
	struct tally_run new;        /* what was read of it so far */
	struct buffer texts;
	struct map places;           /* texts to their places */
	int64_t began;
	struct loop_task task;
	struct loop_timer unused;
};

void tally_open(struct tally *t, struct loop *loop, const struct storage *storage);
void tally_close(struct tally *t);
/* Looks which runs have changed, and begins to read them, unless that was done a moment ago. */
void tally_refresh(struct tally *t);
void tally_progress(const struct tally *t, int64_t since, struct tally_progress *p);
/* Whether the run may tell something since a time. If not, nor do those after it. */
bool tally_run_may_tell(const struct tally_run *run, int64_t since);
const char *tally_run_name(const struct tally_run *run);
/* Gives all that a run tells of by. */
void tally_each(const struct tally_run *run, enum figures_by by,
    void (*take)(void *context, const struct figure *figure), void *context);

#endif
