/*
 * The client's side of the provider protocol, awf-provider(7): a provider is a
 * filter that reads one request per line and answers on stdout. It is started
 * before its first request, so that its start-up overlaps with reading input.
 */
#ifndef AWF_PROVIDERS_PROVIDER_H
#define AWF_PROVIDERS_PROVIDER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buffer.h"
#include "base/error.h"
#include "json/scan.h"
#include "proc/environment.h"
#include "proc/interrupts.h"
#include "proc/peer.h"
#include "start/pool.h"

struct endpoint;
struct run;

struct provider {
	char *name;
	const struct endpoint *endpoint; /* the caller's; NULL: it speaks to none */
	const char *program;      /* the name of the provider that is its program, mostly its own */
	const struct keys *keys;  /* of the keys file; the caller's */
	const char *step;         /* path of the step that asks; NULL: requests do not say */
	const struct run *run;    /* whose workers it may be; NULL: none's */
	struct peer peer;         /* that does not run is started by the next request */
	struct pool_worker worker;     /* that the peer is, if it is none of its own */
	bool alone;               /* none is used any more */
	int slots_full;           /* slots that are not tried, as their workers have no room */
	bool worker_lost;         /* the last request was lost with its worker */
	long next_id;
};

/* The answer to a request. Spans point into line. */
struct answer {
	struct buffer line;       /* the `message` or `error` line, minified */
	struct span blocks;       /* array of objects, each with a type */
	struct span usage, model; /* also of an error, where tokens were used in vain */
	struct span stop_reason, request_id;
	struct span explanation;  /* of a refusal */
	struct span session_id;   /* of an agent CLI */
	struct span params_note;  /* what of the request was sent otherwise than it was said */
	bool recorded;            /* an earlier attempt's, from the record; then: */
	struct span origin;       /* of the server that gave it, if a fallback's was another; absent */
	int64_t retry_after_ms;   /* of an error; 0: not said */
	long status;              /* HTTP status of an error; 0: none */
	bool lost;                /* with its worker, for the first time: it is asked again, which is no retry */
};

/* The provider whose program speaks to the endpoint of a name (NULL: there is none), for a model. */
const char *provider_program(const char *name, const struct endpoint *endpoint, const char *model);
/* Says which provider it is, and for which model; nothing runs yet. endpoint: that of its name
 * (provider_endpoint()), NULL if there is none. */
void provider_begin(struct provider *p, const char *name, const struct endpoint *endpoint,
    const char *model, const struct keys *keys);
/* Starts it, if it does not run, with provider_environment(). Its stderr is ours. It lives on
 * whatever is ended around it. Where the run has a worker that is the same (start/pool.h), or
 * can have one, it is that: of those that ask an API by HTTP and came with AWF. */
int provider_start(struct provider *p, struct error *err);
/* Whether it may be a worker. */
bool provider_shared(const struct provider *p);
/* Sends a request (JSON object without id and step, not empty) and waits for its message.
 * Text deltas go to delta() if it is not NULL (kind is "text", "thinking" or "tool");
 * tool_call and tool_result lines of agent CLIs to event() if it is not NULL, whose
 * -1 ends the request. due() if it is not NULL is called before each wait; when it wants to be
 * called again, though nothing has come by then (monotonic ms; 0: never), it returns. timeout_ms 0: none. Errors carry the category as code, as does
 * a timeout while the provider tried again by itself; on a timeout or an interrupt the request is
 * cancelled, and what still comes of it is ignored. A provider that dies, or breaks the protocol, is ERROR_PROVIDER; the
 * next request starts it anew. callbacks and interrupts may be NULL. */
struct provider_callbacks {
	void (*delta)(void *context, const char *kind, const char *text, size_t len);
	int (*event)(void *context, struct span line, struct error *err);
	int64_t (*due)(void *context);
	/* A `tool_run` line of an agent CLI: runs the tool and appends its result, a block; -1 ends the
	 * request. While it runs, nothing that the provider says is read. NULL: there are no tools. */
	int (*run)(void *context, struct span line, struct buffer *block, struct error *err);
	void *context;
};
int provider_ask(struct provider *p, const struct buffer *request, int64_t timeout_ms,
    const struct interrupts *interrupts, const struct provider_callbacks *callbacks,
    struct answer *answer, struct error *err);
/* Finds the members of the message in a->line. */
void answer_read(struct answer *a);
void answer_free(struct answer *a);
/* Closes its stdin, waits at most a second, then ends it. p can be stopped twice. */
void provider_stop(struct provider *p);

#endif
