/*
 * Sessions: named conversations that go on over runs (awf-step --session). sessions/<name> of the
 * storage lists the calls of a session, one line for each, in the order in which they began. The
 * latest call that has completed is the one that the next call goes on with; a call that failed or
 * was killed is ignored. The messages themselves are in the transcripts.
 *
 * A call holds the file's lock from before it looks for the latest call until it has ended: so the
 * calls of a session are made one after another, whichever shells they come from.
 */
#ifndef AWF_STORAGE_SESSION_H
#define AWF_STORAGE_SESSION_H

#include <stddef.h>

#include "base/error.h"
#include "base/id.h"
#include "storage/storage.h"

struct session_call {
	char run_id[ID_SIZE];
	char *call, *path;        /* its id, and the path of its step */
	char *agent, *at;
};

struct session {
	char *path;
	int fd;                   /* -1: it is not locked */
	struct session_call *calls;
	size_t count;
};

#define SESSION_NAME_MOST 64
int session_check_name(const char *name, struct error *err);
/* Locks the session, which is made if need be, and reads its calls. 1; 0: another call has the
 * lock; -1 with *err. */
int session_enter(struct session *s, const struct storage *storage, const char *name, struct error *err);
/* Only reads them; one that is not there has no calls. */
int session_read(struct session *s, const struct storage *storage, const char *name, struct error *err);
/* Adds a call, on disk when this returns. */
int session_add(struct session *s, const struct session_call *call, struct error *err);
/* Also releases the lock. */
void session_leave(struct session *s);

/* The names of all sessions, sorted; a list (base/list.h), NULL: there are none. */
int session_names(const struct storage *storage, char ***names, struct error *err);

#endif
