/*
 * The parts are opened in the order in which they need each other, and closed in reverse.
 */
#include "serve/serve.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/list.h"
#include "base/memory.h"
#include "httpd/descriptors.h"
#include "io/file.h"
#include "serve/listen.h"
#include "serve/request.h"
#include "serve/routes.h"
#include "serve/runs.h"
#include "serve_runs/stream.h"

static void
signal_ready(struct loop_source *source, uint32_t events)
{
	struct server *s = (struct server *)(void *)((char *)source - offsetof(struct server, signals));
	struct signalfd_siginfo info;

	(void)events;
	while (read(source->fd, &info, sizeof info) == (ssize_t)sizeof info) {
		s->stopped |= info.ssi_signo != SIGCHLD;
		/* If no other process adopts orphans, runs that hooks have started become
		 * children of this process. */
		while (info.ssi_signo == SIGCHLD && s->settings.workflows != NULL &&
		    waitpid(-1, NULL, WNOHANG) > 0)
			continue;
	}
}

/* Signals are read from a descriptor in the loop, so they are also seen by a loop that is too busy
 * ever to wait. */
static int
watch_signals(struct server *s, struct error *err)
{
	sigset_t watched;

	sigemptyset(&watched);
	sigaddset(&watched, SIGINT);
	sigaddset(&watched, SIGTERM);
	sigaddset(&watched, SIGCHLD);
	sigprocmask(SIG_BLOCK, &watched, NULL);
	signal(SIGPIPE, SIG_IGN);
	s->signals = (struct loop_source){ .fd = signalfd(-1, &watched, SFD_NONBLOCK | SFD_CLOEXEC),
		.ready = signal_ready };
	if (s->signals.fd == -1)
		return error_errno(err, ERROR_SYSTEM, NULL, "unable to watch for signals");
	return loop_add(&s->loop, &s->signals, EPOLLIN, err);
}

/* Called when lines were added to a transcript, or something else about its run has changed. */
static void
feed_grown(struct feed *feed)
{
	streams_send(feed);
	feed_tell(feed);
	if (feed->live != NULL)
		live_wake(feed->live);
}

static void
feed_changed(struct feed *feed)
{
	streams_wake(feed);
	feed_tell(feed);
	if (feed->live != NULL)
		live_wake(feed->live);
}

int
server_storage(struct storage *s, struct error *err)
{
	bool there;

	if (storage_locate(s, err) != 0)
		return -1;
	there = access(s->root, F_OK) == 0;
	if (!there)
		error_errno(err, ERROR_SYSTEM, s->root, "there is no storage (mkdir makes an empty one; "
		    "AWF_STORAGE names another place)");
	storage_close(s);
	return there ? storage_prepare(s, err) : -1;
}

static void
database_failed(struct database *d, int status)
{
	struct server *s = (struct server *)(void *)((char *)d - offsetof(struct server, database));

	s->stopped = true;
	s->status = status;
}

/* Finds the storage to serve: the given one, or the directory into which a database is copied. */
static int
open_record(struct server *s, struct error *err)
{
	int failed;

	if (server_storage(&s->home, err) != 0)
		return -1;
	if (s->settings.database == NULL)
		return storage_prepare_at(&s->storage, s->home.root, err) != 0 ? -1 :
		    storage_prepare_at(&s->outgoing, s->home.root, err);
	failed = database_open(&s->database, s->settings.database, &s->storage, &s->outgoing, err);
	s->database.failed = database_failed;
	return failed;
}

int
server_open(struct server *s, struct error *err)
{
	struct access *a = &s->access;

	s->signals.fd = s->uploads.told.fd = s->database.lock = -1;
	if (open_record(s, err) != 0 || loop_open(&s->loop, err) != 0 || watch_signals(s, err) != 0)
		return -1;
	s->httpd = (struct httpd){ .loop = &s->loop, .handler = &request_handler,
		.limits = connection_limits_of(CONNECTION_SERVE),
		.per_address = (size_t)s->settings.clients_per_address,
		.spare_files = DESCRIPTORS_CLIENT, .turns_away = true, .half_closed = true };
	connection_limits_resize(&s->httpd.limits, (size_t)s->settings.clients);
	descriptors_begin(s->settings.clients);
	tokens_begin(&a->tokens, &s->home);
	a->own = memory_zero(1, sizeof *a->own);
	*a->own = (struct token){ .may = MAY_ALL, .label = memory_text(""), .holders = 1 };
	www_open(&s->www);
	feeds_open(&s->feeds, &s->loop, &s->storage);
	streams_open(&s->streams, s, &s->loop, &a->tokens);
	s->feeds.grown = feed_grown;
	s->feeds.cut = streams_reset;
	s->feeds.changed = feed_changed;
	overviews_open(&s->overviews, &s->loop, &s->storage);
	lives_open(&s->lives, &s->loop, &s->overviews, &s->storage, events_live_changed);
	catalog_open(&s->catalog, &s->loop, &s->storage, &s->overviews);
	tally_open(&s->tally, &s->loop, &s->storage);
	s->catalog.told = lists_changed;
	s->catalog.context = s;
	spools_open(&s->spools, &s->loop, &s->feeds, &s->storage);
	works_open(&s->works, &s->loop);
	uploads_open(&s->uploads, &s->loop, &s->outgoing, s->settings.ingest_rate,
	    s->settings.blob_quota);
	if (s->settings.database != NULL &&
	    uploads_to_database(&s->uploads, &s->database, &s->storage, err) != 0)
		return -1;
	s->routes = routes;
	return s->settings.database != NULL ? database_begin(&s->database, &s->loop, err) : 0;
}

int
server_run(struct server *s, struct error *err)
{
	while (!s->stopped)
		if (loop_round(&s->loop, -1, err) != 0)
			return -1;
	return 0;
}

void
server_close(struct server *s)
{
	listen_close(s);
	file_close(&s->resumer); /* it ends */
	if (s->signals.fd != -1)
		loop_remove(&s->loop, &s->signals);
	file_close(&s->signals.fd);
	s->closing = true;
	httpd_close(&s->httpd);
	uploads_close(&s->uploads);
	works_close(&s->works);
	spools_close(&s->spools);
	tally_close(&s->tally);
	catalog_close(&s->catalog);
	overviews_close(&s->overviews);
	feeds_close(&s->feeds);
	www_close(&s->www);
	if (s->access.own != NULL) {
		token_release(s->access.own);
		tokens_free(&s->access.tokens);
	}
	streams_close(&s->streams);
	database_close(&s->database);
	loop_close(&s->loop);
	list_free(s->settings.listen);
	free(s->settings.workflows);
	list_free(s->access.hosts);
	list_free(s->access.proxies);
	storage_close(&s->storage);
	storage_close(&s->outgoing);
	storage_close(&s->home);
}
