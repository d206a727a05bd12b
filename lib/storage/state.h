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
#include "base/error.h"
#include "json/scan.h"

/* A value as steps pass it on. */
struct data {
	struct buffer json;  /* minified JSON, never empty once set */
	bool no_newline;     /* text that did not end in LF */
	bool base64;         /* bytes that are no UTF-8, as a base64 string */
};

/* The advice when a part is requested of data that is text and looks like JSON:
 * span_holds_json(). */
#define DATA_HOLDS_JSON "the data is text that looks like JSON; -i json"

/* Longest data that makes a line; the rest is room for its metadata. */
#define DATA_LIMIT (SCAN_LINE_LIMIT - ((size_t)1 << 20))

/* Bytes as a text item: loses one final LF; base64 if they are no UTF-8, or too many
 * of them need escapes for DATA_LIMIT. */
void data_from_text(struct data *d, const char *bytes, size_t len);
/* Bytes that must be one JSON value; -1 says what is wrong. */
int data_from_json(struct data *d, const char *bytes, size_t len, struct error *err);
void data_null(struct data *d);
void data_copy(struct data *to, const struct data *from);
/* Whether it is bytes in base64. After jq has replaced the data, it may not be, although the
 * metadata still says so. */
bool data_binary(const struct data *d);
/* Whether it is an empty text. */
bool data_nothing(const struct data *d);
/* The bytes that a command gets: text with its LF, binary decoded, JSON as one
 * line, null as nothing. */
void data_feed(const struct data *d, struct buffer *out);
/* What -r prints: as data_feed(), but null is "null". */
void data_raw(const struct data *d, struct buffer *out);
void data_free(struct data *d);

/* One item of input. */
struct item {
	struct data data;
	struct buffer metadata;  /* the state line's, JSON; empty: it was no state */
	struct buffer line;      /* the state line as it came, minified; may be empty */
	bool foreign;            /* of another run: only data and error are taken */
};
/* metadata.error of an item that failed before, .at NULL if none. */
struct span item_error(const struct item *item);
/* Fills *error from {"code", "message"}; false if it is none. A code of a later version
 * counts as exit_status. */
bool state_error(struct span object, struct error *error);
/* Fills an item from a line that state_is(). */
void item_take_state(struct item *item, struct span line, const char *run_id);
/* A text of the metadata in memory of its own, or NULL. */
char *item_metadata(const struct item *item, const char *key);
void item_free(struct item *item);

enum input_form { INPUT_AUTO, INPUT_TEXT, INPUT_LINES, INPUT_NUL, INPUT_JSON, INPUT_STATE,
	INPUT_NONE };

/* Reads items from a descriptor, in pieces as they come. */
struct state_reader {
	int fd;
	enum input_form form;      /* INPUT_AUTO until recognised */
	const char *run_id;        /* of this run; "" */
	bool no_states;            /* state lines are an error in other forms than their own */
	const volatile int *signal_number; /* non-zero ends the reading; NULL */
	struct buffer pending;
	size_t taken;              /* bytes of pending that items have used */
	size_t seen;               /* bytes after taken already searched for an end */
	size_t consumed;           /* bytes of input before pending, for messages */
	struct framer framer;
	bool eof;                  /* nothing more to read */
	bool any_byte;             /* there was input at all */
	bool done;                 /* the last item was taken */
};
void state_reader_begin(struct state_reader *r, int fd, enum input_form form,
    const char *run_id);
/* Instead of a descriptor: takes over bytes that are all of the input. */
void state_reader_give(struct state_reader *r, struct buffer *bytes);
/* 1: an item; 0: none among the bytes read so far (r->done: nor will there be);
 * -1: ERROR_INVALID_INPUT naming the byte. A state line that breaks off at the
 * end is an error, not text. */
int state_reader_take(struct state_reader *r, struct item *item, struct error *err);
/* One read(). -1: ERROR_SYSTEM, or ERROR_CANCELLED by a signal. */
int state_reader_fill(struct state_reader *r, struct error *err);
/* Both, until there is an item (1), the end (0) or an error (-1). */
int state_reader_next(struct state_reader *r, struct item *item, struct error *err);
void state_reader_free(struct state_reader *r);

/* Whether a JSON value is a state line: exactly data and metadata, and metadata
 * with UUIDs run_id and event_id. */
bool state_is(struct span value);

/* What makes a new state line's metadata. NULL and absent values are left out,
 * but previous_agent is null then. */
struct state_spec {
	const char *run_id, *event_id;
	int64_t seq;
	const char *call, *path;
	int64_t iteration;
	const char *agent_name, *previous_agent;
	int64_t step_index;
	const char *timestamp;
	int64_t execution_time_ms, tool_calls_count;
	const unsigned char *key;    /* of the run, for the token of a result; NULL: none */
	int attempt;
	struct span error, failure;  /* JSON objects */
	struct span attachments;     /* JSON array: of the item that the line stands for */
	const char *skipped;         /* why the call that made the line did nothing; NULL */
	long part;                   /* number within the outputs of one call, -1: one */
};
/* Appends the line, LF included. */
void state_write(const struct state_spec *spec, const struct data *data, struct buffer *out);

/* Writes whole lines to fd: under a POSIX write lock on a pipe, socket or regular
 * file, so that processes sharing it never splice. -1 with errno: EINTR if *stop was
 * set and nobody took the bytes; the last line may be cut then. */
int state_put(int fd, const char *bytes, size_t len, const volatile int *stop);

#endif
