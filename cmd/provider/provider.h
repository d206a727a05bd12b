/*
 * The provider's side of the protocol, awf-provider(7): a filter that reads one
 * request per line on stdin and answers each on stdout with `delta` lines (if
 * they are wanted) and then exactly one `message` or `error`, in the order of the
 * requests. It ends at the end of its input, or when nobody reads its output.
 *
 * A program is a table, struct provider_api, and a main() that hands it to provider_main(). An agent CLI
 * is asked and waited for, one request after another: answer(). An API is asked by HTTP, beside others:
 * begin(). That can be a worker (start/pool.h), which serves up to POOL_CLIENTS clients at the same time:
 *
 *   - each client has one request on its way; what it sends meanwhile waits
 *   - a client that hangs up ends its request
 *   - what a client does not read waits for it, up to a limit, and then the server waits: the others do
 *     not
 */
#ifndef AWF_PROVIDER_H
#define AWF_PROVIDER_H

#include <poll.h>
#include <stdbool.h>
#include <stdint.h>

#include "api/failure.h"
#include "api/message.h"
#include "base/error.h"
#include "json/scan.h"
#include "json/writer.h"
#include "workspace/changed.h"

struct provider;

/* A request, checked. Absent members have .at NULL. */
struct provider_request {
	struct span line;
	long long id;
	struct span step;     /* a string: the path of the step that asks, or absent */
	struct span provider; /* a string: under which name it is asked, or absent */
	struct span model;    /* a string */
	struct span system;   /* a string, or absent */
	struct span messages; /* an array */
	struct span tools;    /* an array, or absent */
	struct span params;   /* an object, or absent */
	struct span output_schema; /* an object, or absent */
	struct span session;  /* a string: the session of an agent CLI to go on with, or absent */
	bool project_settings;   /* an agent CLI may take the project's settings */
	struct span session_raw; /* an object: the raw members that told of it, or absent */
	bool stream;
	bool may_be_empty;    /* an answer without content is one */
};

struct provider_api {
	const char *program; /* "awf-provider-NAME" */
	const char *usage;   /* for --help */
	/* Called once, before the first request is read; may be NULL. */
	int (*start)(void *context, struct error *err);
	/* For --check: whether it has what it needs to answer, asking nobody. Writes members that
	 * say what it has, of the table in awf-provider(7). -1 with *err: it has not. */
	int (*check)(void *context, struct writer *w, struct error *err);
	/* For --ask: asks the server for a list of its models, which costs nothing. Writes members that say
	 * what it answered. -1 with *err: not what it should. NULL: there is no such server. */
	int (*ask)(void *context, struct writer *w, struct error *err);

	/* One of these is set. answer() ends with provider_message(), provider_error() or
	 * provider_recorded(). begin() does, too, and returns NULL; or it returns what goes on until it has
	 * called one of them. The request stays as it is until then. */
	void (*answer)(void *context, struct provider *p, const struct provider_request *r);
	void *(*begin)(void *context, struct provider *p, const struct provider_request *r);
	/* Of one that has begun: end it at once, with provider_error(). */
	void (*stop)(void *going);
	/* Likewise: provider_is_behind() may be false now. */
	void (*resume)(void *going);
	/* Continues all that goes on, until one of fds is ready (revents are set), something has happened or
	 * limit_ms have passed. */
	int (*wait)(void *context, struct pollfd *fds, size_t count, int64_t limit_ms, struct error *err);
	void *context;
};

/* The whole program; returns its exit status. */
int provider_main(const struct provider_api *api, int argc, char **argv);

/* A piece of text as it comes; kind is "text", "thinking" or "tool". Nothing is written
 * unless the request asked for a stream. Pieces that come at once are written at once, with what
 * follows them: whoever waits for more calls provider_flush() before. */
void provider_delta(struct provider *p, const char *kind, const char *text, size_t len);
void provider_flush(struct provider *p);
/* A `tool_call` or `tool_result`, by the block's type; code: the error of the result;
 * changed: what the tool changed, may be NULL. */
void provider_tool(struct provider *p, const struct block *b, enum error_code code,
    const struct changed *changed);
/* That whoever is asked tries again by itself, and why. */
void provider_retry(struct provider *p, const struct failure *f);
/* Has awf-step run a tool of the request; the number tells its result from others of this request. */
void provider_run_tool(struct provider *p, long long number, const char *name, struct span input);
/* Hides these secrets, a list (NULL: none), in all lines up to the end of the answer: whoever was asked may
 * repeat them anywhere. */
void provider_hide(struct provider *p, char *const *secrets);
/* Says with the next message that something of the request was sent otherwise than it was said. */
void provider_note(struct provider *p, const char *text);
void provider_message(struct provider *p, const struct message *m);
void provider_error(struct provider *p, const struct failure *f);
/* A `message` or `error` object of an earlier request, under the id of this one. */
void provider_recorded(struct provider *p, struct span answer);

/* Whether the client has not read so much of its answer that no more should come. */
bool provider_is_behind(struct provider *p);
/* How much memory the lines have that clients have not read. */
size_t provider_unread_memory(void);

/* What to do once stdin is readable, while answer() waits. */
enum provider_input {
	PROVIDER_GOES_ON,
	PROVIDER_UNWATCH, /* go on, and do not watch it any more */
	PROVIDER_CANCEL
};
enum provider_input provider_look(struct provider *p);

/* The next result that has come for this request: a line, valid until more is read. False: none. */
bool provider_tool_result(struct provider *p, struct span *line);

/* Number of messages of a role in a request. */
size_t provider_count(const struct provider_request *r, const char *role);

#endif
