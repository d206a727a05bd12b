/*
 * Clients: one for each connection, from its accept to its close. They are limited in number, all
 * together and by address; and in time: for a head, for a body, and for the next request. These
 * limits are whole times, so that a client who sends a byte a second is gone when they are over.
 */
#ifndef AWF_SERVE_CLIENT_H
#define AWF_SERVE_CLIENT_H

#include <microhttpd.h>

#include "serve/access.h"
#include "serve/loop.h"

struct request;
struct server;

struct client {
	struct server *server;
	struct MHD_Connection *connection;
	int fd;
	struct peer peer;
	char address[PEER_ADDRESS];  /* by which it is counted */
	bool crowded;                /* there are too many from there */
	struct request *request;     /* that it waits for the answer of; NULL */
	struct loop_timer limit;
	struct client *previous, *next;
};

/* Takes in who waits at a listener. */
void client_accept(struct server *s, int listener);
/* The same of a socket that is connected; it is closed if it cannot be. Returns -1 then. */
int client_add(struct server *s, int fd);
/* From now on this long for what comes; 0: without a limit. */
void client_limit(struct client *c, int64_t ms);
/* Another address, told by a proxy: false if there are too many from there. */
bool client_from(struct client *c, const char *address);

/* That a connection comes or goes. */
void client_notify(void *context, struct MHD_Connection *connection, void **socket_context,
    enum MHD_ConnectionNotificationCode code);

#endif
