/*
 * Workers: providers that keep running, so that only the first step of a run waits for their
 * start. A worker serves one client at a time, like a provider of its own; if it fails, only the
 * step that it serves is affected.
 *
 *     runs/<id>/workers/ask-WHERE      the guardian of the run is asked here for workers
 *     runs/<id>/workers/NAME.N         the socket of a worker, N from 0 to 31
 *     runs/<id>/workers/NAME.N.lock    who holds it
 *
 * What the code relies on, and keeps:
 *   - Workers are helpers of the run's guardian (proc/guardian.h), never children of a step: a
 *     step that is cancelled ends its descendants, and others may be served by then.
 *   - The lock of a slot says who may connect there, unlink the socket, bind another and have a
 *     worker started. It does not say that the worker is idle, which is for the worker to say:
 *     POOL_HELLO, once it has taken the connection. Nothing is asked of it before that.
 *   - NAME is a MAC under the run's key of all that a worker is made of: the program, where it
 *     runs (namespaces, root), and its environment, which is what it may read and nothing else. So
 *     nobody is served with another's key. No file, no argument and no socket has a key: the
 *     environment goes to the guardian as memory without a name.
 *   - WHERE says in which namespaces the guardian is: whoever is in others finds nobody to ask.
 *   - Workers are a matter of speed alone. Where one cannot be had, the caller starts a provider
 *     of its own; that is no error.
 *
 * An MCP server that a run keeps is behind a worker too, awf-mcp-keep, which serves all its
 * clients at once: there is one slot, its lock is held until the worker has said hello, and
 * nobody's coming late ends it.
 */
#ifndef AWF_START_POOL_H
#define AWF_START_POOL_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/digest.h"
#include "base/error.h"
#include "proc/guardian.h"

/* The line that a worker says first on each connection. */
#define POOL_HELLO "{\"worker\":1}"

/* For awf-run: makes the directory of a run's workers anew, and the socket that the guardian
 * serves. service->fd is -1 where there can be none. */
void pool_open(struct guardian_service *service, const char *run_directory);
/* The guardian has its own. */
void pool_close(struct guardian_service *service);

struct pool_spec {
	const char *run_directory;
	const unsigned char *key;     /* DIGEST_BYTES, the run's */
	const char *program;          /* absolute */
	char *const *environment;     /* NAME=VALUE, all that it reads; ends with NULL */
};
#define POOL_SLOT_SIZE 36 /* of NAME.N, with its NUL */
/* A connection to one. */
struct pool_worker {
	int fd;      /* -1: none */
	int lock;
	bool starts; /* it is being started, so that its hello may take a while, else a moment; */
	bool heard;  /* that has come, as the first line, which the caller sees to */
	char slot[POOL_SLOT_SIZE];
};
#define POOL_WORKER_NONE ((struct pool_worker){ .fd = -1, .lock = -1 })
/* Connects to an idle worker, or to one that is being started. False: there is none to be
 * had, w is POOL_WORKER_NONE. */
bool pool_connect(struct pool_worker *w, const struct pool_spec *spec);
/* Connects to the one worker of its name, of those that serve many at a time, after others that
 * do so just now. The caller sees to its hello, and then to pool_share(). */
bool pool_connect_shared(struct pool_worker *w, const struct pool_spec *spec);
/* Others may come there. */
void pool_share(struct pool_worker *w);
/* Lets it go, the slot too; twice is once. */
void pool_release(struct pool_worker *w);
/* The same with one that did not keep to the protocol, or not to the time: nobody is to be
 * served by it after this. */
void pool_abandon(struct pool_worker *w, const char *run_directory);

/* A program becomes a worker by --worker=LOCK --parent=PID: the path of its slot's lock, and its
 * guardian; stdin is its socket, which listens. */
struct pool_slot {
	const char *lock, *program; /* the caller's */
	char *path;         /* of the socket */
	int listener;
	dev_t device;       /* of the socket's name */
	ino_t inode;
};
/* ERROR_USAGE, ERROR_SYSTEM; pool_leave() is called either way. */
int pool_join(struct pool_slot *s, const char *program, const char *lock, pid_t guardian,
    struct error *err);
/* The connection of the next client, which was told POOL_HELLO; -1: it is time to end. */
int pool_accept(struct pool_slot *s);
/* Of one that serves many: a client that has come, told POOL_HELLO, without waiting; -1: there is
 * none. And whether anybody else can come. */
int pool_accept_now(struct pool_slot *s);
bool pool_named(const struct pool_slot *s);
void pool_leave(struct pool_slot *s);

#endif
