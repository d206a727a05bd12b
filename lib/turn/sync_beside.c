/* Signals are meant for the thread that waits for them; this thread blocks all of them. */
#include "turn/sync_beside.h"

#include <errno.h>
#include <signal.h>
#include <unistd.h>

static void *
sync_file(void *context)
{
	struct sync_beside *s = context;

	s->reason = fdatasync(s->transcript->fd) == 0 ? 0 : errno;
	return NULL;
}

void
sync_begin(struct sync_beside *s, struct transcript *t)
{
	sigset_t all, before;

	*s = (struct sync_beside){ .transcript = t };
	/* A forked child has its parent's file, and opens its own with the next line. */
	if (t->sync == SYNC_NONE || t->broken || t->owner != getpid())
		return;
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	s->runs = pthread_create(&s->thread, NULL, sync_file, s) == 0;
	pthread_sigmask(SIG_SETMASK, &before, NULL);
}

int
sync_end(struct sync_beside *s, struct error *err)
{
	struct transcript *t = s->transcript;

	if (!s->runs)
		return transcript_sync(t, err);
	pthread_join(s->thread, NULL);
	if (s->reason == 0)
		return 0;
	t->broken = true;
	errno = s->reason;
	return error_errno(err, ERROR_SYSTEM, t->path, "unable to sync");
}
