/*
 * Opened in the order of what needs what, and closed in the reverse.
 */
#include "serve/serve.h"

#include <microhttpd.h>
#include <stdlib.h>
#include <sys/resource.h>

#include "base/file.h"
#include "base/list.h"
#include "base/memory.h"
#include "serve/client.h"
#include "serve/listen.h"
#include "serve/request.h"
#include "serve/routes.h"
#include "serve/runs.h"
#include "serve/stream.h"

#define DESCRIPTORS_BESIDE 256   /* of files, beside those of clients */

/* As many descriptors as clients need; fewer clients if there cannot be as many. */
static void
raise_limit(struct server *s)
{
	rlim_t wanted = (rlim_t)s->settings.clients + DESCRIPTORS_BESIDE;
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= wanted)
		return;
	limit.rlim_cur = limit.rlim_max == RLIM_INFINITY || limit.rlim_max > wanted ?
	    wanted : limit.rlim_max;
	setrlimit(RLIMIT_NOFILE, &limit);
	if (limit.rlim_cur < wanted && limit.rlim_cur > (rlim_t)2 * DESCRIPTORS_BESIDE)
		s->settings.clients = (int64_t)limit.rlim_cur - DESCRIPTORS_BESIDE;
}

int
server_open(struct server *s, struct error *err)
{
	struct access *a = &s->access;

	if (storage_prepare(&s->storage, err) != 0 || loop_open(&s->loop, err) != 0)
		return -1;
	raise_limit(s);
	tokens_begin(&a->tokens, &s->storage);
	a->own = memory_zero(1, sizeof *a->own);
	*a->own = (struct token){ .may = MAY_ALL, .label = memory_text(""), .holders = 1 };
	www_open(&s->www);
	feeds_open(&s->feeds, &s->loop, &s->storage);
	s->feeds.grown = streams_send;
	s->feeds.cut = streams_reset;
	s->feeds.changed = streams_wake;
	overviews_open(&s->overviews, &s->loop, &s->storage);
	catalog_open(&s->catalog, &s->loop, &s->storage, &s->overviews);
	s->catalog.told = lists_changed;
	s->catalog.context = s;
	spools_open(&s->spools, &s->loop, &s->feeds, &s->storage);
	works_open(&s->works, &s->loop);
	s->routes = routes;
	return request_daemon(s, err);
}

int
server_run(struct server *s, const volatile int *stop, struct error *err)
{
	while (!*stop) {
		MHD_UNSIGNED_LONG_LONG left = 0;
		int64_t most = -1;

		if (s->resumed)
			most = 0;
		else if (MHD_get_timeout(s->daemon, &left) == MHD_YES)
			most = left > INT32_MAX ? INT32_MAX : (int64_t)left;
		if (loop_round(&s->loop, most, err) != 0)
			return -1;
		/* Its own descriptor tells of sockets alone: not of connections that were given back,
		 * nor of what it has read already. */
		if (most == 0 || s->resumed ||
		    (MHD_get_timeout(s->daemon, &left) == MHD_YES && left == 0)) {
			s->resumed = false;
			MHD_run(s->daemon);
		}
	}
	return 0;
}

void
server_close(struct server *s)
{
	listen_close(s);
	if (s->daemon != NULL) {
		/* What is suspended must come back before. */
		streams_end(s);
		requests_end(s);
		MHD_run(s->daemon);
		loop_remove(&s->loop, &s->library);
		MHD_stop_daemon(s->daemon);
	}
	works_close(&s->works);
	spools_close(&s->spools);
	catalog_close(&s->catalog);
	overviews_close(&s->overviews);
	feeds_close(&s->feeds);
	www_close(&s->www);
	if (s->access.own != NULL) {
		token_release(s->access.own);
		tokens_free(&s->access.tokens);
	}
	buffer_free(&s->streams.piece);
	buffer_free(&s->streams.lines);
	loop_close(&s->loop);
	list_free(s->settings.listen);
	list_free(s->access.hosts);
	list_free(s->access.proxies);
	storage_close(&s->storage);
}
