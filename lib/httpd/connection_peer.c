/* An IPv4 address that arrived mapped into IPv6 is written as IPv4. */
#define _GNU_SOURCE /* struct ucred */
#include "httpd/connection_peer.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>

static void
address_text(const struct sockaddr_storage *address, char text[PEER_ADDRESS], int *port,
    bool *loopback)
{
	const struct sockaddr_in *four = (const struct sockaddr_in *)address;
	const struct sockaddr_in6 *six = (const struct sockaddr_in6 *)address;

	text[0] = '\0';
	if (address->ss_family == AF_INET) {
		inet_ntop(AF_INET, &four->sin_addr, text, PEER_ADDRESS);
		*port = ntohs(four->sin_port);
		*loopback = (ntohl(four->sin_addr.s_addr) >> 24) == 127;
	} else if (address->ss_family == AF_INET6 && IN6_IS_ADDR_V4MAPPED(&six->sin6_addr)) {
		inet_ntop(AF_INET, &six->sin6_addr.s6_addr[12], text, PEER_ADDRESS);
		*port = ntohs(six->sin6_port);
		*loopback = six->sin6_addr.s6_addr[12] == 127;
	} else if (address->ss_family == AF_INET6) {
		inet_ntop(AF_INET6, &six->sin6_addr, text, PEER_ADDRESS);
		*port = ntohs(six->sin6_port);
		*loopback = IN6_IS_ADDR_LOOPBACK(&six->sin6_addr);
	}
}

void
connection_peer_of(struct connection_peer *p, int fd)
{
	struct sockaddr_storage address;
	struct ucred credentials;
	socklen_t len = sizeof address;
	int port;
	bool loopback = false;

	*p = (struct connection_peer){ .uid = (uid_t)-1 };
	memset(&address, 0, sizeof address);
	if (getsockname(fd, (struct sockaddr *)&address, &len) != 0)
		return;
	if (address.ss_family == AF_UNIX) {
		p->local = true;
		memcpy(p->address, "unix", sizeof "unix");
		len = sizeof credentials;
		if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &credentials, &len) == 0) {
			p->uid = credentials.uid;
			p->pid = credentials.pid;
		}
		return;
	}
	address_text(&address, p->own, &p->port, &p->loopback);
	memset(&address, 0, sizeof address);
	len = sizeof address;
	if (getpeername(fd, (struct sockaddr *)&address, &len) == 0)
		address_text(&address, p->address, &port, &loopback);
}
