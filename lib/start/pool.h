/*
 * Workers: providers that keep running, so that only the first steps of a run wait for their start. A
 * worker serves many clients at the same time, each as a provider that was started for it would; what
 * befalls a worker is a failed try of the requests that it has, and of no other.
 *
 *    runs/<id>/workers/ask-WHERE     socket of the run's guardian, to request workers
 *    runs/<id>/workers/NAME.N        the socket of a worker, N from 0 to 31
 *    runs/<id>/workers/NAME.N.lock   held by who starts it, or takes its name away
 *
 * What the code relies on, and keeps:
 *   - Workers are helpers of the run's guardian (proc/guardian.h), never children of a step: a
 *     cancelled step ends its descendants, and the worker serves others by then.
 *   - Anyone who reaches a socket connects. Only the holder of a slot's lock may bind another socket, after
 *     it has tried to connect, and request a worker for it.
 *   - A worker sends POOL_HELLO when it has accepted a connection, or POOL_FULL and closes it. Clients send
 *     nothing before.
 *   - NAME is a MAC with the run's key over everything that determines a worker: the program, where
 *     it runs (namespaces, root), and its environment, which has all the variables that it may
 *     read. So nobody is served with another client's API key. No file, argument or socket contains
 *     a key: the environment is passed to the guardian in an unnamed memory file.
 *   - WHERE identifies the guardian's namespaces: a process in others finds no guardian to ask.
 *   - Workers only save time. If none is available, the caller starts a provider itself; that
 *     is not an error.
 *
 * An MCP server that a run keeps is also behind a worker, awf-mcp-keep: there is one slot, and its lock is
 * held until the worker has sent POOL_HELLO.
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
#define POOL_FULL "{\"worker\":0}"

/* Clients of a provider that is a worker, and bytes of a request of one: a larger one is sent to a provider of
 * the client's own. */
#define POOL_CLIENTS 128
#define POOL_REQUEST_LIMIT ((size_t)4 << 20)

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
	int lock;    /* of a slot of which there is one; -1 */
	int number;  /* of the slot */
	ino_t inode; /* of the socket's name */
	bool starts; /* this client has had it started; */
	bool heard;  /* set by the caller when POOL_HELLO has arrived, as the first line */
	char slot[POOL_SLOT_SIZE];
};
#define POOL_WORKER_NONE ((struct pool_worker){ .fd = -1, .lock = -1 })
/* Connects to the worker of the first slot from number `from` on that can be reached, or can be started. The
 * caller waits for POOL_HELLO; at POOL_FULL it tries the slots after this one. False: there is none, and w is
 * POOL_WORKER_NONE. */
bool pool_connect(struct pool_worker *w, const struct pool_spec *spec, int from);
/* Connects to a worker of which there is one, after waiting for others that are just doing that. The caller
 * waits for POOL_HELLO and then calls pool_share(). */
bool pool_connect_shared(struct pool_worker *w, const struct pool_spec *spec);
/* Releases the lock, so that others can connect too. */
void pool_share(struct pool_worker *w);
/* Closes the connection, and releases what was locked; may be called twice. */
void pool_release(struct pool_worker *w);
/* The same for a worker that violated the protocol or a time limit: nobody else will be served by it. It
 * goes on for those whom it serves. */
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
/* Accepts the next client, if one waits, and sends it POOL_HELLO; if there is no room, POOL_FULL. Returns its
 * connection, which does not block; -1: none waits, or it was not accepted. */
int pool_accept_now(struct pool_slot *s, bool room);
/* Whether clients can still connect. */
bool pool_named(const struct pool_slot *s);
/* For one that has no clients: takes its name away. False: somebody is just connecting. */
bool pool_retires(struct pool_slot *s);
void pool_leave(struct pool_slot *s);

#endif
