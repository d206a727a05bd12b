/*
 * Workers: providers that keep running, so that only the first step of a run waits for their start.
 * A worker serves one client at a time, like a provider started for it; if it fails, only the step
 * that it serves is affected.
 *
 *    runs/<id>/workers/ask-WHERE     socket of the run's guardian, to request workers
 *    runs/<id>/workers/NAME.N        the socket of a worker, N from 0 to 31
 *    runs/<id>/workers/NAME.N.lock   who holds it
 *
 * What the code relies on, and keeps:
 *   - Workers are helpers of the run's guardian (proc/guardian.h), never children of a step: a
 *     cancelled step ends its descendants, and the worker may serve others by then.
 *   - Only the holder of a slot's lock may connect there, unlink the socket, bind another and
 *     request a worker. The lock does not mean that the worker is idle: the worker says so by
 *     sending POOL_HELLO when it has accepted the connection. Clients send nothing before.
 *   - NAME is a MAC with the run's key over everything that determines a worker: the program, where
 *     it runs (namespaces, root), and its environment, which has all the variables that it may
 *     read. So nobody is served with another client's API key. No file, argument or socket contains
 *     a key: the environment is passed to the guardian in an unnamed memory file.
 *   - WHERE identifies the guardian's namespaces: a process in others finds no guardian to ask.
 *   - Workers only save time. If none is available, the caller starts a provider itself; that
 *     is not an error.
 *
 * An MCP server that a run keeps is also behind a worker, awf-mcp-keep, which serves all its
 * clients at once: there is one slot, its lock is held only until the worker has sent POOL_HELLO,
 * and a client that comes late does not end it.
 */
#ifndef AWF_START_POOL_H
#define AWF_START_POOL_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/digest.h"
#include "base/error.h"
#include "proc/guardian.h"

/* The first line that a worker sends on each connection. */
#define POOL_HELLO "{\"worker\":1}"

/* For awf-run: makes the directory of the run's workers, and the socket that the guardian serves.
 * service->fd is -1 if that is not possible. */
void pool_open(struct guardian_service *service, const char *run_directory);
/* Closes the caller's copy; the guardian has its own. */
void pool_close(struct guardian_service *service);

struct pool_spec {
	const char *run_directory;
	const unsigned char *key;     /* DIGEST_BYTES, the run's */
	const char *program;          /* absolute */
	char *const *environment;     /* NAME=VALUE, all variables that it reads; NULL-terminated */
};
#define POOL_SLOT_SIZE 36 /* of NAME.N, with its NUL */
/* A connection to a worker. */
struct pool_worker {
	int fd;      /* -1: none */
	int lock;
	bool starts; /* it is being started, so POOL_HELLO may take longer; */
	bool heard;  /* set by the caller when that has arrived, as the first line */
	char slot[POOL_SLOT_SIZE];
};
#define POOL_WORKER_NONE ((struct pool_worker){ .fd = -1, .lock = -1 })
/* Connects to an idle worker, or to one that is being started. False: there is none, and w is
 * POOL_WORKER_NONE. */
bool pool_connect(struct pool_worker *w, const struct pool_spec *spec);
/* Connects to a worker that serves many clients, of which there is one, after waiting for others
 * that are just doing that. The caller waits for POOL_HELLO and then calls pool_share(). */
bool pool_connect_shared(struct pool_worker *w, const struct pool_spec *spec);
/* Releases the lock, so that others can connect too. */
void pool_share(struct pool_worker *w);
/* Closes the connection and releases the slot; may be called twice. */
void pool_release(struct pool_worker *w);
/* The same for a worker that violated the protocol or a time limit: nobody will be served by
 * it any more. */
void pool_abandon(struct pool_worker *w, const char *run_directory);

/* A program becomes a worker by --worker=LOCK --parent=PID: the path of its slot's lock, and its
 * guardian; stdin is its listening socket. */
struct pool_slot {
	const char *lock, *program; /* the caller's */
	char *path;         /* of the socket */
	int listener;
	dev_t device;       /* identify the socket's name */
	ino_t inode;
};
/* ERROR_USAGE, ERROR_SYSTEM; call pool_leave() whatever the result. */
int pool_join(struct pool_slot *s, const char *program, const char *lock, pid_t guardian,
    struct error *err);
/* Waits for the next client and sends it POOL_HELLO. Returns its connection; -1: the
 * worker must exit. */
int pool_accept(struct pool_slot *s);
/* For a worker that serves many clients: pool_accept_now() is the same without waiting, -1: no
 * client; pool_named() tells whether clients can still connect. */
int pool_accept_now(struct pool_slot *s);
bool pool_named(const struct pool_slot *s);
void pool_leave(struct pool_slot *s);

#endif
