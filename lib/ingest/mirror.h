/*
 * Mirrors: transcripts of runs that are recorded elsewhere, made from the lines that a sender sends
 * (awf-tail --json, -F), byte for byte.
 *
 * What the code relies on, and keeps:
 *   - A line is accepted if it belongs to this run, continues the last line by its seq and by that
 *     line's digest, and passes the checks of awf-verify (transcript/verify_lines.h), except those
 *     of blobs, which may come later, and of other runs. So the file is always a beginning of the
 *     original, whoever sends which lines, how often, and in which order.
 *   - A line that exists already counts as known if it is the same, otherwise as a conflict:
 *     existing lines are never changed. A line that would leave a gap is refused, with the seq
 *     that is wanted.
 *   - The run belongs to the sender of its first line (storage/origin.h), and no file of it is
 *     created before that line.
 *   - What must be known about earlier lines is read when the first new line comes, and takes about
 *     8 to 24 bytes per event while the mirror is open.
 *   - Consecutive lines are written at once, under the transcript's lock. If that fails, the lines
 *     that were written completely remain. They are on disk after mirror_sync().
 */
#ifndef AWF_INGEST_MIRROR_H
#define AWF_INGEST_MIRROR_H

#include <stdbool.h>
#include <stdint.h>

#include "base/digest.h"
#include "base/error.h"
#include "base/id.h"
#include "json/scan.h"
#include "storage/origin.h"
#include "storage/storage.h"
#include "transcript/reader.h"
#include "transcript/transcript.h"
#include "transcript/verify_lines.h"

/* Consecutive lines, in memory and by their contents. */
struct mirror_lines {
	struct span text;             /* with their LFs; the caller's */
	int64_t seq;                  /* of the first */
	size_t count;
	char digest[DIGEST_SIZE];     /* of the last */
};

struct mirror {
	const struct storage *storage;
	char run_id[ID_SIZE];
	char *sender;                 /* the origin's name */
	struct origin origin;
	struct transcript transcript;
	bool open;
	void (*repaired)(const char *text); /* as the transcript's; may be set */
	int lock_ms;                  /* how long to wait for its locks; may be set */
	int64_t lease_ms;             /* how long it counts as alive after its first line; may be set */
	struct reader reader;         /* for existing lines */
	bool reading;
	int64_t read_seq;             /* of the line at the reader's position; 0: unknown */
	struct verify_lines checked;  /* state of the check after line number report.lines */
	struct verify_report report;
	char checked_digest[DIGEST_SIZE]; /* of line number report.lines */
	bool checking;
	bool unsynced;
};

enum mirror_fault {
	MIRROR_NONE,
	MIRROR_INVALID,    /* not an event, or one that cannot follow the lines before it */
	MIRROR_FORBIDDEN,  /* the run belongs to another sender, or to this storage */
	MIRROR_GAP,        /* lines are missing before it */
	MIRROR_CONFLICT,   /* another line is there */
	MIRROR_FAILED      /* the system refused: ERROR_SYSTEM */
};

struct mirror_result {
	int64_t taken, known;         /* lines from the first on */
	int64_t missing;              /* blobs that recorded lines name, and that are not there */
	enum mirror_fault fault;      /* of the line after them */
	int64_t wanted;               /* seq, of MIRROR_GAP and MIRROR_CONFLICT */
};

/* Reads the run of a whole line (event_line_whole()); false if it names none. */
bool mirror_line_run(const char *line, size_t len, char run_id[ID_SIZE]);
/* Adds a whole line, len without its LF, to lines that are just before it in memory; or begins
 * with it, if there are none. 1: added; 0: it does not follow them, and may be useless, or begin
 * another sequence; -1: MIRROR_INVALID with *err. */
int mirror_lines_add(struct mirror_lines *lines, const char *line, size_t len, struct error *err);

/* sender: origin_name_valid(). Nothing is opened yet. */
void mirror_begin(struct mirror *m, const struct storage *s, const char *run_id,
    const char *sender);
/* Records lines. -1 with *err, and in *result the reason and how many were recorded. */
int mirror_take(struct mirror *m, const struct mirror_lines *lines, struct mirror_result *result,
    struct error *err);
/* Makes everything that was recorded, or was there, safe on disk (unless AWF_SYNC is none). */
int mirror_sync(struct mirror *m, struct error *err);
/* Frees memory that long lines needed. */
void mirror_trim(struct mirror *m);
void mirror_end(struct mirror *m);

#endif
