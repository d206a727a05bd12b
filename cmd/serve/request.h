/*
 * Requests: from their head to their answer. What stands in a table (serve/routes.c) says who may
 * ask for what; before that httpd/head.h, serve/target.h and serve_runs/access.h have refused what
 * may not be asked at all. An answer is made at once, or later: its maker lets the request wait,
 * and is called again. Bytes are read and written by httpd/connection.h.
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
	unsigned may;            /* what its asker must be allowed to do; 0: nothing */
	size_t body;             /* at most so many bytes of one */
	const char *type;        /* that the body must have; NULL: any */
	const char *parameters;  /* that it knows, each with a space behind it */
	void (*answer)(struct request *r);
	/* Takes its body as it comes, and refuses the rest of it if need be. NULL: it is kept. */
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
	} said;                        /* one that says what was meant */
	struct token *token;     /* held; NULL: nobody's */
	size_t received;         /* bytes of its body */
	bool answered, waiting;
	struct stream *stream;   /* that it is answered with; NULL */
	/* Of who answers, while it waits. */
	void *state;
	void (*free_state)(void *state);
};

/* ---- the request ---- */

/* The segment that a * of the pattern stands for, counted from 0. */
const char *request_segment(const struct request *r, size_t star);
const char *request_parameter(const struct request *r, const char *name);
/* False if it was refused: the parameter is no number up to most. Absent: *value is left. */
bool request_number(struct request *r, const char *name, int64_t most, int64_t *value);
/* The value of a header field; .at NULL: there is none. */
struct span request_header(const struct request *r, const char *name);

/* ---- the answer ---- */

void request_refuse(struct request *r, const struct refusal *refusal);
/* {"error": {"code": …, "message": …}} */
void request_error(struct request *r, unsigned status, const char *code, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
/* The same of what the library of AWF says. */
void request_fail(struct request *r, const struct error *err);
/* JSON, whose memory is taken. */
void request_json(struct request *r, unsigned status, struct buffer *json);
/* Bytes of a type, whose memory is taken. more: further header fields, NAME, VALUE, …, NULL. */
void request_bytes(struct request *r, unsigned status, const char *type, struct buffer *bytes,
    const char *const *more);
/* A part of a file, whose descriptor is taken. */
void request_file(struct request *r, const char *type, int fd, int64_t offset, int64_t len,
    const char *const *more);
/* Nothing but a status. */
void request_status(struct request *r, unsigned status, const char *const *more);
/* What goes on. The stream is the request's from then on. */
void request_stream(struct request *r, struct stream *stream);

/* Whether its Content-Type is this one, whatever its parameters. */
bool request_has_type(const struct request *r, const char *type);
/* Whether no more of its body is read for now. */
void request_hold(struct request *r, bool held);
/* Until request_wake() nobody asks; then route->answer() is called again. */
void request_wait(struct request *r);
void request_wake(struct request *r);

/* ---- for connections ---- */

extern const struct connection_handler request_handler;

#endif
