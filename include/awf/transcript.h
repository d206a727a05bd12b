/*
 * libawf-transcript: append to AWF transcripts, read them, follow them while they grow, and
 * check them. awf-transcript(3) shows it at work; awf-transcript(5) is the format, and what
 * is said of "the format" below stands there.
 *
 * What holds for all of it:
 *   - A function that can fail returns -1 (or what its comment says), and fills *err, which
 *     may be NULL. It never prints, never ends the process and starts no thread; what comes
 *     from a file or from the caller is checked, never trusted.
 *   - There is no state but what the caller holds: a transcript for each writer, a reader for
 *     each position. Either may be used by one thread at a time. Any number of them, in any
 *     threads and processes, may be open on one file.
 *   - Texts are UTF-8 and end in a NUL, but for a line (struct awf_line). What a function is
 *     given stays the caller's, and is not looked at after it has returned.
 *   - Descriptors are close-on-exec. Signals are blocked, in the calling thread alone, while
 *     a function writes; a file size limit (RLIMIT_FSIZE) is an error, no SIGXFSZ.
 *   - $AWF_SYNC is read when a transcript is opened. Nothing else is taken from the
 *     environment: where a run's transcript is, the caller says.
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

/* What a caller can do about it; the numbers stay. */
enum awf_code {
	AWF_OK = 0,
	AWF_INVALID = 1, /* an argument, or an event that the format does not allow */
	AWF_MISSING = 2, /* there is no such file */
	AWF_FORMAT = 3,  /* the file, or the line, is not what the format says */
	AWF_ENDED = 4,   /* the run has ended: only a further attempt is recorded behind that */
	AWF_MASKED = 5,  /* the run's events pass a filter (awf-run --mask), which is not had here */
	AWF_BUSY = 6,    /* another process kept the file locked for 30 seconds */
	AWF_SYSTEM = 7,  /* the system refused: disk full, no permission, file removed */
	AWF_MEMORY = 8   /* no memory, or no random numbers: what the call had taken up is lost, some
	                    memory and perhaps a descriptor, but the transcript or reader is not */
};

#define AWF_MESSAGE_SIZE 1024

struct awf_error {
	enum awf_code code;
	char message[AWF_MESSAGE_SIZE]; /* one line, without a line feed; "" if the code is AWF_OK */
};

/* ---- appending: awf-transcript(5), "Appending", "Wholeness", "Durability" ---- */

#define AWF_ID_SIZE 37 /* a UUID of 36 characters, and a NUL */

/* A transcript that is open for appending. It holds a descriptor, and no lock between two
 * calls. After fork(2) parent and child may both go on with it. */
struct awf_transcript;

/* An event to be appended: awf-transcript(5), "Keys". Set to zero what is not needed. */
struct awf_event {
	const char *type;    /* one of the ten of "Types": "tool.call" */
	const char *parent;  /* the id of the event that caused it, which the transcript has;
	                        NULL for run.started alone */
	const char *path;    /* the names of the step and the groups around it, "draft.review";
	                        NULL: of the run, "" */
	int64_t iteration;   /* the position of the innermost item, from 0 */
	const char *payload; /* a JSON object with what "Payloads" says of the type */
	const char *links;   /* further causes, a JSON array of event ids; NULL: none */
};

/* Opens the transcript of a run. Sets *transcript, to NULL if that fails.
 * AWF_MISSING: no such file. AWF_FORMAT: it is no transcript, of a later format, or its run
 * has not come to its first line. AWF_MASKED. AWF_INVALID: $AWF_SYNC is none of its words,
 * or the run is recorded elsewhere and sent here (awf-record(1)).
 * AWF_SYSTEM: it cannot be read and written, or it is a symbolic link, or its directory is. */
int awf_open(struct awf_transcript **transcript, const char *path, struct awf_error *err);

/* Makes a transcript, mode 0600, with the run.started of a run that the caller conducts. If
 * path is a directory, the file is RUN_ID.jsonl in it; if it ends in a UUID and .jsonl, the
 * run's id is that; otherwise, too, the id is a new one. payload is that of run.started, of
 * which name is the caller's to give; kind (workflow), awf_version, format and attempt (1) are
 * put in where they are missing. id (may be NULL) is set to that event's id.
 * No lock tells that the run is alive: it ends with the run.completed that the caller appends.
 * AWF_INVALID: the payload is not right. AWF_SYSTEM: the file exists, or cannot be made.
 * Nothing is left of it then. */
int awf_create(struct awf_transcript **transcript, const char *path, const char *payload,
    char id[AWF_ID_SIZE], struct awf_error *err);

/* The run's id; valid until awf_close(). */
const char *awf_run_id(const struct awf_transcript *transcript);

/* Appends an event. Returns its seq, 1 or more, and sets id (may be NULL) to its event_id,
 * which further events name as their parent.
 * run_id, timestamp and prev are the library's to make, as are blobs for strings above
 * 256 KiB, in the directory that the format says. The line is written whole or not at all,
 * between those of other writers; what a killed writer left is moved away first
 * (awf_repaired()). If $AWF_SYNC is step, or not set, the event is on disk on return if its
 * type is one that the format has synced; if it is event, always; if it is none, never.
 * Whether the parent and the links are events of this run, and what is completed was started,
 * is not looked at: that would take reading the whole file, as awf_check_file() does.
 * -1, and nothing of the event is in the file:
 *   AWF_INVALID: no such type; the payload is no JSON object, or not of the form of its type;
 *     an id, the path or the iteration is none; a decision or a seal, which AWF's programs
 *     make; run.started or run.completed of a run that an AWF program conducts.
 *   AWF_ENDED, AWF_BUSY, AWF_MEMORY.
 *   AWF_FORMAT: the file has been emptied.
 *   AWF_SYSTEM: but if a sync failed, which is final, the event is in the file, may be there
 *     or not after a power cut, and every further call of this transcript fails. */
int64_t awf_append(struct awf_transcript *transcript, const struct awf_event *event,
    char id[AWF_ID_SIZE], struct awf_error *err);

/* How many bytes of torn lines this transcript has found behind the last whole line and moved
 * to RUN_ID.torn. A program may want to say so to its user, as AWF's do. */
int64_t awf_repaired(const struct awf_transcript *transcript);

/* Closes it; NULL is allowed. */
void awf_close(struct awf_transcript *transcript);

/* ---- reading: awf-transcript(5), "Reading" ---- */

/* A position in a transcript that may be growing, being repaired, or damaged. It takes no lock
 * and changes nothing. After fork(2) it belongs to one of the two processes. */
struct awf_reader;

/* A line. The texts are the reader's, and valid until the next call with it. */
struct awf_line {
	const char *text; /* the JSON text, as it stands in the file; no NUL at its end */
	size_t len;       /* bytes of it, without the line feed */
	int64_t seq;      /* 0: the line is no event, the file is damaged there */
	const char *type; /* of the event, known to this version or not; "" if it is none */
	const char *id;   /* its event_id; "" if there is none */
	int64_t offset;   /* where it begins in the file, in bytes */
};

/* Opens a transcript behind the line whose seq is `after`, or the last one below that: 0 is
 * the beginning, the seq of the line that was read last goes on where one was, and a negative
 * number is the end, so that only what comes from now on is read. Finding the place takes
 * O(log size) reads. Sets *reader, to NULL if that fails. The file may be without a line yet.
 * AWF_MISSING: no such file. AWF_SYSTEM: it cannot be read, is no regular file or a symbolic
 * link. */
int awf_reader_open(struct awf_reader **reader, const char *path, int64_t after,
    struct awf_error *err);

/* Reads the next line. 1: *line is it. 0: there is none yet, and the time is over: timeout_ms
 * milliseconds, 0 for none, negative for no limit; or a signal handler ran meanwhile.
 * Each line comes once, whole, in the order of the file: the beginning of a line that is still
 * being written, or that a killed writer left, never does.
 * -1: AWF_SYSTEM: it cannot be read, or it was removed and has no more lines. AWF_FORMAT: a
 * line above 256 MiB. AWF_MEMORY. */
int awf_read(struct awf_reader *reader, int timeout_ms, struct awf_line *line,
    struct awf_error *err);

/* Whether an AWF program conducts the run now: 1 or 0. Asked before awf_read(): if it was 0,
 * and no line came since, the run is over; it died, if the last line is no run.completed. A
 * run of awf_create() is never said to be alive. */
int awf_reader_alive(const struct awf_reader *reader);

/* Closes it; NULL is allowed. */
void awf_reader_close(struct awf_reader *reader);

/* ---- checking: awf-verify(1), "What is checked" ---- */

/* Whether a line, of len bytes without its line feed, is an event as the format says: its
 * keys, their order, the form of their values. 0: it is. -1: AWF_FORMAT, and the message
 * says at which byte it is not. */
int awf_check_line(const char *line, size_t len, struct awf_error *err);

/* Whether a transcript is what the format promises, from its first byte to its last, with its
 * blobs: what awf-verify(1) says without options. 0: it is. -1: AWF_FORMAT, with *fault (may
 * be NULL) the number of the first line that is not, from 1; any other code: it could not be
 * checked. Takes time and a little memory (8 bytes an event) by the length of the file. */
int awf_check_file(const char *path, int64_t *fault, struct awf_error *err);

#if defined(__GNUC__)
#pragma GCC visibility pop
#endif
#ifdef __cplusplus
}
#endif

#endif
