/*
 * The client at the other end of a connection.
 */
#ifndef AWF_HTTPD_CONNECTION_PEER_H
#define AWF_HTTPD_CONNECTION_PEER_H

#include <stdbool.h>
#include <sys/types.h>

#define PEER_ADDRESS 48

struct connection_peer {
	bool local;                    /* of a Unix socket */
	uid_t uid;                     /* then */
	pid_t pid;                     /* the process that connected; 0: not visible from here */
	char address[PEER_ADDRESS];    /* otherwise its IP address as text; "unix" for a local one */
	char own[PEER_ADDRESS];        /* ours, that it came to */
	int port;                      /* ours */
	bool loopback;                 /* ours is one */
};

/* Of a connected socket. */
void connection_peer_of(struct connection_peer *p, int fd);

#endif
