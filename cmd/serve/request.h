/*
 * Requests, from the head to the response. A table (serve/routes.c) says which rights a request
 * needs; before that, httpd/head.h, serve_runs/target.h and serve_runs/access.h have refused invalid
 * requests. A route's function answers at once, or lets the request wait; then it is called again
 * when the request is woken. Bytes are read and written by httpd/connection.h.
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
#include "serve_runs/target.h"
#include "serve_runs/tokens.h"

struct request;
struct stream;

struct route {
	const char *method;      /* GET (HEAD too), POST … */
	const char *pattern;     /* segments of the path; * stands for any segment */
	unsigned may;            /* the rights that it needs; 0: none */
	size_t body;             /* most bytes of the body */
	const char *type;        /* Content-Type that the body must have; NULL: any */
	const char *parameters;  /* known parameters, each followed by a space */
	void (*answer)(struct request *r);
	/* Processes the body as it arrives, and may refuse the rest of it. NULL: the
	 * body is kept. */
	const struct refusal *(*take)(struct request *r, struct span piece);
};

struct request {
	struct server *server;
	struct connection *connection;
	struct buffer head;      /* the request's head; freed when it is answered */
	char method[8];
	bool secure;             /* a trusted proxy received the request by TLS */
	struct target target;
	const struct route *route;
	struct {
		struct refusal refusal;
		char text[512];
	} said;                        /* a refusal with a message of its own */
	struct token *token;     /* a reference; NULL: the client has no token */
	size_t received;         /* bytes of its body */
	bool answered, waiting;
	struct stream *stream;   /* the stream that is the response; NULL */
	/* Data of the route's function, while the request waits. */
	void *state;
	void (*free_state)(void *state);
};

/* ---- the request ---- */

/* The segment of the path that the star-th * of the pattern stands for, counted from 0. */
const char *request_segment(const struct request *r, size_t star);
const char *request_parameter(const struct request *r, const char *name);
/* Reads a parameter that is a number from 0 to most; *value is unchanged if it is absent. False:
 * the request was refused. */
bool request_number(struct request *r, const char *name, int64_t most, int64_t *value);
/* The value of a header field; .at is NULL if there is none. */
struct span request_header(const struct request *r, const char *name);

/* ---- the answer ---- */

void request_refuse(struct request *r, const struct refusal *refusal);
/* {"error": {"code": …, "message": …}} */
void request_error(struct request *r, unsigned status, const char *code, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
/* Answers with an error of one of AWF's libraries. */
void request_fail(struct request *r, const struct error *err);
/* Answers with JSON; frees the buffer. */
void request_json(struct request *r, unsigned status, struct buffer *json);
/* Answers with bytes of a type; frees the buffer. more: further header fields, NAME, VALUE, …,
 * NULL. */
void request_bytes(struct request *r, unsigned status, const char *type, struct buffer *bytes,
    const char *const *more);
/* Answers with a part of a file; takes ownership of the descriptor. */
void request_file(struct request *r, const char *type, int fd, int64_t offset, int64_t len,
    const char *const *more);
/* Answers with a status and no body. */
void request_status(struct request *r, unsigned status, const char *const *more);
/* Answers with a stream, of which it takes ownership. */
void request_stream(struct request *r, struct stream *stream);

/* Whether the body's Content-Type is this one, with any parameters. */
bool request_has_type(const struct request *r, const char *type);
/* Stops reading the body (held), or reads on. */
void request_hold(struct request *r, bool held);
/* Lets the request wait until request_wake(); route->answer() is then called again. */
void request_wait(struct request *r);
void request_wake(struct request *r);

/* ---- for connections ---- */

extern const struct connection_handler request_handler;

#endif
