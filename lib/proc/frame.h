/*
 * Frames: the protocol between a program here and awf-exec(1) at the far end of a launcher. Each
 * frame is a line of JSON with a type, and perhaps bytes (base64). Frames that have consequences
 * are sealed: a MAC (HMAC-SHA256) precedes the JSON, under a key made for this call, so that other
 * output of a launcher, a login shell or a broken connection cannot be mistaken for one.
 *
 *     here                     the far end
 *     request (sealed)   →
 *                        ←     hello, or refused (sealed)
 *     input …, files …   →
 *     go (sealed)        →                                the command begins
 *                        ←     output …, errors …
 *     ping, cancel       ↔     ping
 *                        ←     files …, end (sealed)
 *
 * The far end starts the command only after go, which is sent when its hello has arrived here. go
 * names the hello that it answers, so that if a launcher has started several copies, at most one
 * starts the command.
 */
#ifndef AWF_PROC_FRAME_H
#define AWF_PROC_FRAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"
#include "base/digest.h"
#include "base/error.h"
#include "base/id.h"
#include "json/scan.h"

#define FRAME_VERSION 1
#define FRAME_BYTES ((size_t)48 << 10) /* at most, in a frame: 64 KiB of base64 */

/* The variable by which a program knows that it runs at the far end: RUN/CALL of who asked. */
#define FRAME_MARKER "AWF_VIA"

struct frame_key {
	char hex[DIGEST_SIZE];
};
void frame_key_new(struct frame_key *key);

/* Appends the JSON, sealed, as a line. */
void frame_seal(struct buffer *out, const struct frame_key *key, const struct buffer *json);
/* What is sealed in a line with this key; .at NULL: nothing. Within line. */
struct span frame_open(struct span line, const struct frame_key *key);
/* Whether a frame has this type. */
bool frame_is(struct span json, const char *type);
/* Appends a frame without more. */
void frame_word(struct buffer *out, const char *type);
/* Appends frames with these bytes, as many as it takes; none for no bytes. */
void frame_bytes(struct buffer *out, const char *type, const void *bytes, size_t len);
/* Appends the bytes in such a frame; -1 if it is invalid. */
int frame_take_bytes(struct span json, struct buffer *out);

/* What to do at the far end. Lists are NULL-terminated; texts may have any bytes except NUL. */
struct frame_request {
	char **argv;
	char **environment;        /* NAME=VALUE, in addition to the launcher's
	                              environment; NULL: none */
	char **sandbox;            /* options of awf-sandbox(1); NULL: no sandbox */
	bool own;                  /* argv[0] is the name of a program in AWF's own directory */
	char *directory;           /* to work in, if there is one of this name; NULL: wherever it is */
	bool apart;                /* work in a new directory, which gets the files */
	char **fetch;              /* patterns of files to be sent back; NULL: none */
	/* Times of the far end, in ms: between pings; without any frame until it ends the
	 * command; from SIGTERM to SIGKILL after a cancel frame, and after silence. */
	int64_t ping_ms, silent_ms, grace_ms, lost_ms;
};
/* Appends the request, sealed with a new key that it contains. */
void frame_write_request(struct buffer *out, const struct frame_request *r, struct frame_key *key);
/* Parses a request, and its key. -1 with ERROR_INVALID_INPUT: it is not one, or was damaged on the
 * way. ERROR_USAGE: it has another version; key is set. */
int frame_read_request(struct span line, struct frame_request *r, struct frame_key *key,
    struct error *err);
void frame_request_free(struct frame_request *r);

#define FRAME_HOST_SIZE 256
struct frame_hello {
	char id[ID_SIZE];
	char host[FRAME_HOST_SIZE];
};
void frame_write_hello(struct buffer *out, const struct frame_hello *hello,
    const struct frame_key *key);
bool frame_read_hello(struct span json, struct frame_hello *hello);

/* Why nothing was begun. It is read as ERROR_CANNOT_LAUNCH, and as ERROR_LOST where a signal has
 * come (ERROR_INTERRUPTED), after which another try may do. */
void frame_write_refused(struct buffer *out, const struct error *why, const struct frame_key *key);
bool frame_read_refused(struct span json, struct error *err);

struct frame_go {
	char id[ID_SIZE];                /* of the hello */
	char input_sha256[DIGEST_SIZE], files_sha256[DIGEST_SIZE];
};
void frame_write_go(struct buffer *out, const struct frame_go *go, const struct frame_key *key);
bool frame_read_go(struct span json, struct frame_go *go);

/* How the command ended. */
struct frame_end {
	int exit_code;                   /* as a shell's $?, also after a signal */
	int signal_number;               /* that has ended it; 0 */
	struct error error;              /* why it could not be run, or was ended; ERROR_NONE */
	char output_sha256[DIGEST_SIZE], errors_sha256[DIGEST_SIZE]; /* of all that was sent */
	char files_sha256[DIGEST_SIZE];
	int64_t user_ms, system_ms, max_rss_kib; /* of it and all that it has waited for */
};
void frame_write_end(struct buffer *out, const struct frame_end *end, const struct frame_key *key);
bool frame_read_end(struct span json, struct frame_end *end);

#endif
