/*
 * The client at the other end of a connection.
 */
#ifndef AWF_HTTPD_CONNECTION_PEER_H
#define AWF_HTTPD_CONNECTION_PEER_H

#include <stdbool.h>
#include <sys/types.h>

#define PEER_ADDRESS 48

struct connection_peer {
	bool local;                    /* it is connected through a Unix socket */
	uid_t uid;                     /* its user, if local */
	pid_t pid;                     /* the process that connected, if local; 0: not visible from
	                                  here */
	char address[PEER_ADDRESS];    /* its IP address as text; "unix" if local */
	char own[PEER_ADDRESS];        /* the server's address of the connection */
	int port;                      /* the server's port */
	bool loopback;                 /* the server's address is a loopback address */
};

/* Describes the peer of a connected socket. */
void connection_peer_of(struct connection_peer *p, int fd);

#endif
