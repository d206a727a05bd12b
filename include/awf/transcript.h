/*
 * libawf-transcript: append to AWF transcripts, read them, follow them while they grow, and check
 * them. awf-transcript(3) is the manual with examples; "the format" below means awf-transcript(5).
 *
 * For all functions:
 *   - A function that can fail returns -1 (or what its comment says), and fills *err, which may be
 *     NULL. It never prints, never ends the process and starts no thread. Data from files and
 *     arguments is always checked.
 *   - The only state is in the caller's objects: a transcript for each writer, a reader for each
 *     position. Each may be used by one thread at a time. Any number of them, in any threads and
 *     processes, may be open on one file.
 *   - Strings are UTF-8 and end in a NUL, except the text of a line (struct awf_line). Arguments
 *     stay the caller's, and no pointer to them is kept after a function returns.
 *   - Descriptors are close-on-exec. While a function writes, signals are blocked in the calling
 *     thread only; exceeding a file size limit (RLIMIT_FSIZE) is an error, without SIGXFSZ.
 *   - $AWF_SYNC is read when a transcript is opened. No other environment variable is used: the
 *     caller passes the path of the transcript.
 */
#ifndef AWF_TRANSCRIPT_H
#define AWF_TRANSCRIPT_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif
#if defined(__GNUC__)
#pragma GCC visibility push(default)
#endif

/* ---- errors ---- */

/* Classes of errors, by what the caller can do; the numbers never change. */
enum awf_code {
	AWF_OK = 0,
	AWF_INVALID = 1, /* an argument, or an event that the format does not allow */
	AWF_MISSING = 2, /* there is no such file */
	AWF_FORMAT = 3,  /* the file or the line is invalid */
	AWF_ENDED = 4,   /* the run has ended: only a further attempt may follow */
	AWF_MASKED = 5,  /* the run's events must pass a filter (awf-run --mask), which the
	                    library does not support */
	AWF_BUSY = 6,    /* another process kept the file locked for 30 seconds */
	AWF_SYSTEM = 7,  /* a system error: disk full, no permission, file removed */
	AWF_MEMORY = 8   /* out of memory, or no random numbers: some memory and perhaps a
	                    descriptor are leaked, but the transcript or reader stays usable */
};

#define AWF_MESSAGE_SIZE 1024

struct awf_error {
	enum awf_code code;
	char message[AWF_MESSAGE_SIZE]; /* one line, without a line feed; "" if the code is AWF_OK */
};

/* ---- appending: awf-transcript(5), "Appending", "Complete lines", "Durability" ---- */

#define AWF_ID_SIZE 37 /* a UUID of 36 characters, and a NUL */

/* A transcript that is open for appending. It has a descriptor, and holds no lock between two
 * calls. After fork(2) parent and child may both continue to use it. */
struct awf_transcript;

/* An event to be appended: awf-transcript(5), "Keys". Set unused members to zero. */
struct awf_event {
	const char *type;    /* one of the ten of "Types": "tool.call" */
	const char *parent;  /* the id of the event that caused it, in this transcript; NULL
	                        only for run.started */
	const char *path;    /* the names of the enclosing groups and the step, "draft.review";
	                        NULL: "", for events of the run */
	int64_t iteration;   /* the position of the innermost item, from 0 */
	const char *payload; /* a JSON object with the members that "Payloads" lists for the
	                        type */
	const char *links;   /* further causes, a JSON array of event ids; NULL: none */
};

/* Opens the transcript of a run. Sets *transcript, to NULL if that fails. AWF_MISSING: no such
 * file. AWF_FORMAT: it is not a transcript, has a newer format, or has no line yet. AWF_MASKED.
 * AWF_INVALID: $AWF_SYNC is invalid, or the run is recorded elsewhere and sent here
 * (awf-record(1)). AWF_SYSTEM: it cannot be opened for reading and writing, or it or its
 * directory is a symbolic link. */
int awf_open(struct awf_transcript **transcript, const char *path, struct awf_error *err);

/* Creates a transcript, mode 0600, with the run.started of a run that the caller itself
 * controls. If path is a directory, the file is RUN_ID.jsonl in it, with a new id; if path ends
 * in a UUID and .jsonl, that is the run's id; otherwise the id is new. payload is that of
 * run.started: the caller must set name; kind (workflow), awf_version, format and attempt (1)
 * are added if they are missing. id (may be NULL) is set to that event's id. No lock shows that
 * the run is alive: it ends with the run.completed that the caller appends. AWF_INVALID: the
 * payload is invalid. AWF_SYSTEM: the file exists, or cannot be created. After an error no file
 * is left. */
int awf_create(struct awf_transcript **transcript, const char *path, const char *payload,
    char id[AWF_ID_SIZE], struct awf_error *err);

/* The run's id; valid until awf_close(). */
const char *awf_run_id(const struct awf_transcript *transcript);

/* Appends an event. Returns its seq, 1 or more, and sets id (may be NULL) to its event_id,
 * which further events name as their parent. The library sets run_id, timestamp and prev, and
 * creates blobs for strings above 256 KiB in the directory that the format defines. The line is
 * written completely or not at all, and never mixes with those of other writers; an incomplete
 * line of a killed writer is moved away first (awf_repaired()). On return the event is on disk:
 * always if $AWF_SYNC is event, never if it is none, and if it is step or not set, for the
 * types that the format lists as synced. The library does not check whether the parent and the
 * links are events of this run, or whether what is completed was started: that would require
 * reading the whole file, as awf_check_file() does. On error it returns -1, and nothing of the
 * event is in the file:   AWF_INVALID: no such type; the payload is no JSON object, or not of
 * the form of its type;     an id, the path or the iteration is none; a decision or a seal,
 * which AWF's programs     make; run.started or run.completed of a run that an AWF program
 * conducts.   AWF_ENDED, AWF_BUSY, AWF_MEMORY.   AWF_FORMAT: the file has been emptied.
 * AWF_SYSTEM: but if a sync failed, which is final, the event is in the file, may be there
 * or not after a power cut, and every further call of this transcript fails. */
int64_t awf_append(struct awf_transcript *transcript, const struct awf_event *event,
    char id[AWF_ID_SIZE], struct awf_error *err);

/* How many bytes of incomplete lines this object has found after the last complete line and
 * moved to RUN_ID.torn. AWF's programs report this to the user. */
int64_t awf_repaired(const struct awf_transcript *transcript);

/* Closes it; NULL is allowed. */
void awf_close(struct awf_transcript *transcript);

/* ---- reading: awf-transcript(5), "Reading" ---- */

/* A position in a transcript that may be growing, being repaired, or damaged. It takes no lock
 * and changes nothing. After fork(2) it belongs to one of the two processes. */
struct awf_reader;

/* A line. The strings belong to the reader, and are valid until its next call. */
struct awf_line {
	const char *text; /* the JSON text in the file; no NUL at its end */
	size_t len;       /* bytes of it, without the line feed */
	int64_t seq;      /* 0: the line is not an event, the file is damaged there */
	const char *type; /* of the event, known to this version or not; "" if it is none */
	const char *id;   /* its event_id; "" if there is none */
	int64_t offset;   /* where it begins in the file, in bytes */
};

/* Opens a transcript, positioned after the line whose seq is `after`, or after the last line
 * below that: 0 means the beginning, the seq of the line that was read last continues there,
 * and a negative number means the end, so that only new lines are read. Finding the position
 * takes O(log size) reads. Sets *reader, to NULL on failure. The file may have no line yet.
 * AWF_MISSING: no such file. AWF_SYSTEM: it cannot be read, is not a regular file, or is a
 * symbolic link. */
int awf_reader_open(struct awf_reader **reader, const char *path, int64_t after,
    struct awf_error *err);

/* Reads the next line. 1: *line is it. 0: there is none yet, and the time is over: timeout_ms
 * milliseconds, 0 for none, negative for no limit; or a signal handler ran meanwhile. Each line
 * is returned once, complete, in the order of the file; a line that is still being written, or
 * that a killed writer left incomplete, is not returned. -1: AWF_SYSTEM: it cannot be read, or
 * it was removed and has no more lines. AWF_FORMAT: a line above 256 MiB. AWF_MEMORY. */
int awf_read(struct awf_reader *reader, int timeout_ms, struct awf_line *line,
    struct awf_error *err);

/* Whether an AWF program is running the run at the moment: 1 or 0. Call it before awf_read():
 * if it was 0, and no line came after that, the run is over; it died, if the last line is not a
 * run.completed. A run of awf_create() never counts as alive. */
int awf_reader_alive(const struct awf_reader *reader);

/* Closes it; NULL is allowed. */
void awf_reader_close(struct awf_reader *reader);

/* ---- checking: awf-verify(1), "What is checked" ---- */

/* Checks that a line of len bytes, without its line feed, is a valid event: its keys, their
 * order, the form of their values. 0: it is valid. -1: AWF_FORMAT, and the message names the
 * byte of the fault. */
int awf_check_line(const char *line, size_t len, struct awf_error *err);

/* Checks a whole transcript, with its blobs, as awf-verify(1) does without options. 0: it is
 * valid. -1: AWF_FORMAT, with *fault (may be NULL) set to the number of the first line with a
 * fault, from 1; any other code: it could not be checked. Takes time, and 8 bytes of memory per
 * event, in proportion to the length of the file. */
int awf_check_file(const char *path, int64_t *fault, struct awf_error *err);

#if defined(__GNUC__)
#pragma GCC visibility pop
#endif
#ifdef __cplusplus
}
#endif

#endif
