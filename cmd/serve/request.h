/*
 * Requests, from the head to the response. A table (serve/routes.c) says which rights a request
 * needs; before that, httpd/head.h, serve/target.h and serve_runs/access.h have refused invalid
 * requests. A response is made at once or later: the code that answers may let the request wait,
 * and is then called again. Bytes are read and written by httpd/connection.h.
 */
#ifndef AWF_SERVE_REQUEST_H
#define AWF_SERVE_REQUEST_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"
#include "base/error.h"
#include "httpd/connection.h"
#include "httpd/head.h"
#include "httpd/refusal.h"
#include "serve/target.h"
#include "serve_runs/tokens.h"

struct request;
struct stream;

struct route {
	const char *method;      /* GET (HEAD too), POST … */
	const char *pattern;     /* segments; an asterisk is any one */
	unsigned may;            /* the rights that it needs; 0: none */
	size_t body;             /* bytes of the body, at most */
	const char *type;        /* that the body must have; NULL: any */
	const char *parameters;  /* known parameters, each followed by a space */
	void (*answer)(struct request *r);
	/* Processes the body as it arrives, and may refuse the rest of it. NULL: the
	 * body is kept. */
	const struct refusal *(*take)(struct request *r, struct span piece);
};

struct request {
	struct server *server;
	struct connection *connection;
	struct buffer head;      /* its bytes, until it is answered */
	char method[8];
	bool secure;             /* it came to a proxy by TLS */
	struct target target;
	const struct route *route;
	struct {
		struct refusal refusal;
		char text[512];
	} said;                        /* a refusal with a text of its own */
	struct token *token;     /* held; NULL: nobody's */
	size_t received;         /* bytes of its body */
	bool answered, waiting;
	struct stream *stream;   /* that it is answered with; NULL */
	/* Of the code that answers, while the request waits. */
	void *state;
	void (*free_state)(void *state);
};

/* ---- the request ---- */

/* The segment for the star-th * of the pattern, counted from 0. */
const char *request_segment(const struct request *r, size_t star);
const char *request_parameter(const struct request *r, const char *name);
/* False if it was refused: the parameter is no number up to most. Absent: *value is left. */
bool request_number(struct request *r, const char *name, int64_t most, int64_t *value);
/* The value of a header field; .at is NULL if there is none. */
struct span request_header(const struct request *r, const char *name);

/* ---- the answer ---- */

void request_refuse(struct request *r, const struct refusal *refusal);
/* {"error": {"code": …, "message": …}} */
void request_error(struct request *r, unsigned status, const char *code, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
/* The same, from an error of AWF's library. */
void request_fail(struct request *r, const struct error *err);
/* JSON, whose memory is taken. */
void request_json(struct request *r, unsigned status, struct buffer *json);
/* Bytes of a type, whose memory is taken. more: further header fields, NAME, VALUE, …, NULL. */
void request_bytes(struct request *r, unsigned status, const char *type, struct buffer *bytes,
    const char *const *more);
/* A part of a file; takes ownership of the descriptor. */
void request_file(struct request *r, const char *type, int fd, int64_t offset, int64_t len,
    const char *const *more);
/* Nothing but a status. */
void request_status(struct request *r, unsigned status, const char *const *more);
/* A response that continues. Takes ownership of the stream. */
void request_stream(struct request *r, struct stream *stream);

/* Whether its Content-Type is this one, with any parameters. */
bool request_has_type(const struct request *r, const char *type);
/* Whether no more of its body is read for now. */
void request_hold(struct request *r, bool held);
/* Lets the request wait until request_wake(); route->answer() is then called again. */
void request_wait(struct request *r);
void request_wake(struct request *r);

/* ---- for connections ---- */

extern const struct connection_handler request_handler;

#endif
