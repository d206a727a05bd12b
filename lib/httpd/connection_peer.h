/*
 * Who is at the other end of a connection.
 */
#ifndef AWF_HTTPD_CONNECTION_PEER_H
#define AWF_HTTPD_CONNECTION_PEER_H

#include <stdbool.h>
#include <sys/types.h>

#define PEER_ADDRESS 48

struct connection_peer {
	bool local;                    /* of a Unix socket */
	uid_t uid;                     /* then */
	pid_t pid;                     /* who has connected then; 0: he cannot be seen from here */
	char address[PEER_ADDRESS];    /* else, its IP address as text; of a local one "unix" */
	char own[PEER_ADDRESS];        /* ours, that it came to */
	int port;                      /* ours */
	bool loopback;                 /* ours is one */
};

/* Of a connected socket. */
void connection_peer_of(struct connection_peer *p, int fd);

#endif
