/*
 * The session of an agent's call (awf-step --session): the conversation with which the call goes on,
 * and the lock that keeps other calls of the session waiting until this one has ended.
 *
 * The start of the call records with whose end it goes on, and the conversation itself. A resume and
 * a replay take both from there: so they have what there was then, whatever became of the session
 * and its runs.
 */
#ifndef AWF_STEP_KINDS_WORK_SESSION_H
#define AWF_STEP_KINDS_WORK_SESSION_H

#include <stdbool.h>

#include "base/buffer.h"
#include "base/digest.h"
#include "base/id.h"
#include "step_call/step_call.h"
#include "storage/session.h"
#include "turn/continuation.h"

struct work_session {
	struct session session;
	char run_id[ID_SIZE];     /* of the call with whose conversation this one goes on; "": none */
	struct buffer text;       /* that conversation (continuation_write()) */
	char sha256[DIGEST_SIZE]; /* its digest */
	bool entered;             /* the lock is held */
	bool behind;              /* the session has gone on without this call, which is made again */
};

/* Waits for the lock, and finds the conversation; *c is it. On failure the call has the error. */
void work_session_enter(struct step_call *call, const char *name, struct work_session *ws,
    struct continuation *c);
/* The member of the call's start. */
void work_session_record(const struct work_session *ws, const char *name, const struct continuation *c,
    struct writer *w);
/* The call begins its work: it is listed in the session. */
int work_session_begin(const struct step_call *call, const char *name, const char *agent,
    struct work_session *ws, struct error *err);
void work_session_leave(struct work_session *ws);

#endif
