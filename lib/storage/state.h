/*
 * State lines: what flows in pipes between steps, awf(7). One object per line,
 * {"data": ANY, "metadata": {…}}. Data is kept as JSON text throughout: text is a
 * JSON string, JSON its own minified bytes, other bytes a base64 string with
 * metadata.encoding "base64".
 */
#ifndef AWF_STORAGE_STATE_H
#define AWF_STORAGE_STATE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buffer.h"
#include "base/digest.h"
#include "base/error.h"
#include "json/scan.h"

/* A value that steps pass to each other. */
struct data {
	struct buffer json;  /* minified JSON, never empty once set */
	bool no_newline;     /* a text without LF at its end */
	bool base64;         /* bytes that are not UTF-8, as a base64 string */
};

/* A hint for users who select a part of data that is a text but looks like JSON:
 * span_holds_json(). */
#define DATA_HOLDS_JSON "the data is text that looks like JSON; -i json"

/* Longest data in a line; the rest of a line's limit is room for metadata. */
#define DATA_LIMIT (SCAN_LINE_LIMIT - ((size_t)1 << 20))

/* Makes a text of bytes: one LF at the end is dropped; it becomes base64 if it is not UTF-8, or if
 * its escapes would exceed DATA_LIMIT. */
void data_from_text(struct data *d, const char *bytes, size_t len);
/* Makes a value of bytes, which must be one JSON value; -1 with what is wrong. */
int data_from_json(struct data *d, const char *bytes, size_t len, struct error *err);
void data_null(struct data *d);
void data_copy(struct data *to, const struct data *from);
/* Whether the data is bytes in base64. After jq has replaced the data, it may be something else
 * although the metadata still says so. */
bool data_binary(const struct data *d);
/* Whether it is an empty text. */
bool data_nothing(const struct data *d);
/* Appends the bytes that a command gets as input: text with its LF, base64 decoded, JSON as one
 * line, nothing for null. */
void data_feed(const struct data *d, struct buffer *out);
/* Appends what -r prints: like data_feed(), but "null" for null. */
void data_raw(const struct data *d, struct buffer *out);
void data_free(struct data *d);

/* One item of input. */
struct item {
	struct data data;
	struct buffer metadata;  /* metadata of the state line, JSON; empty: the item was no state
	                            line */
	struct buffer line;      /* the state line itself, minified; may be empty */
	bool foreign;            /* of another run: only its data and error are used */
};
/* metadata.error of an item that has failed; .at NULL: it has not. */
struct span item_error(const struct item *item);
/* Fills *error from an object with code and message; false if it is not one. An unknown code, which
 * a later version may write, becomes exit_status. */
bool state_error(struct span object, struct error *error);
/* Fills an item from a state line (state_is()). */
void item_take_state(struct item *item, struct span line, const char *run_id);
/* A text in the metadata, to be freed by the caller; NULL: there is none. */
char *item_metadata(const struct item *item, const char *key);
void item_free(struct item *item);

enum input_form { INPUT_AUTO, INPUT_TEXT, INPUT_LINES, INPUT_NUL, INPUT_JSON, INPUT_STATE,
	INPUT_NONE };

/* Reads items from a descriptor, piece by piece. */
struct state_reader {
	int fd;
	enum input_form form;      /* INPUT_AUTO until the form was recognized */
	const char *run_id;        /* of this run; "": no run */
	bool no_states;            /* refuse state lines unless the form is theirs */
	const volatile int *signal_number; /* reading ends when it is not 0; NULL */
	struct buffer pending;
	size_t taken;              /* bytes at the beginning of pending that belong to returned
	                              items */
	size_t seen;               /* bytes after these that contain no end of an item */
	size_t consumed;           /* bytes of input before pending, for messages */
	struct framer framer;
	bool eof;                  /* the end of the input was read */
	bool any_byte;             /* the input was not empty */
	bool done;                 /* the last item was returned */
};
void state_reader_begin(struct state_reader *r, int fd, enum input_form form,
    const char *run_id);
/* Reads from bytes instead of a descriptor; takes ownership of them. */
void state_reader_give(struct state_reader *r, struct buffer *bytes);
/* Returns the next item from the bytes that were read. 1; 0: no item is complete (if r->done is
 * set, none will come); -1: ERROR_INVALID_INPUT, with the number of the byte. A state line that
 * breaks off at the end is an error, not text. */
int state_reader_take(struct state_reader *r, struct item *item, struct error *err);
/* Reads once. -1: ERROR_SYSTEM, or ERROR_CANCELLED after a signal. */
int state_reader_fill(struct state_reader *r, struct error *err);
/* Reads until there is an item (1), the end (0) or an error (-1). */
int state_reader_next(struct state_reader *r, struct item *item, struct error *err);
/* How many items are in the bytes that were read and not returned yet, with more bytes after them, which are
 * the rest of the input; more is emptied. -1: they are no valid input. */
int64_t state_reader_count(const struct state_reader *r, struct buffer *more);
void state_reader_free(struct state_reader *r);

/* The digest of what state lines say, whatever their ids, times and tokens: of their data and errors. False: the
 * bytes are anything else, or nothing. */
bool state_digest(const char *bytes, size_t len, char sha256[DIGEST_SIZE]);

/* Whether a JSON value is a state line: exactly data and metadata, and metadata
 * with UUIDs run_id and event_id. */
bool state_is(struct span value);

/* What is written into the metadata of a new state line. Members that are NULL or absent are left
 * out, except previous_agent, which is null then. */
struct state_spec {
	const char *run_id, *event_id;
	int64_t seq;
	const char *call, *path;
	int64_t iteration;
	const char *agent_name, *previous_agent;
	int64_t step_index;
	const char *timestamp;
	int64_t execution_time_ms, tool_calls_count;
	const unsigned char *key;    /* key of the run, for the token of a result; NULL: no token */
	int attempt;
	struct span error, failure;  /* JSON objects */
	struct span attachments;     /* JSON array, of the item from which the line is made */
	const char *skipped;         /* why the call that writes the line did nothing; NULL */
	long part;                   /* number of this output of a call with several; -1: it has
	                                one */
};
/* Appends the line, with LF. */
void state_write(const struct state_spec *spec, const struct data *data, struct buffer *out);

/* Writes whole lines to fd; a pipe, socket or regular file is locked meanwhile (POSIX write lock),
 * so that lines of several processes are not mixed. -1 with errno: EINTR if *stop was set and
 * nobody has read the bytes; then the last line may be incomplete. */
int state_put(int fd, const char *bytes, size_t len, const volatile int *stop);

#endif
