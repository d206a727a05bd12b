/* A descriptor is sent over a Unix socket together with one byte, as an empty message is
 * not delivered. */
#define _GNU_SOURCE
#include "isolate/loopback.h"

#include <arpa/inet.h>
#include <errno.h>
#include <net/if.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

int
loopback_start(void)
{
	struct ifreq loopback = { .ifr_name = "lo", .ifr_flags = IFF_UP };
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0), failed, why;

	failed = fd < 0 || ioctl(fd, SIOCSIFFLAGS, &loopback) != 0;
	why = errno;
	if (fd >= 0)
		close(fd);
	errno = why;
	return failed ? -1 : 0;
}

/* A message of one byte and a descriptor. */
struct carrier {
	struct msghdr message;
	struct iovec part;
	char byte;
	_Alignas(struct cmsghdr) char control[CMSG_SPACE(sizeof (int))];
};

static void
carrier_begin(struct carrier *c)
{
	memset(c, 0, sizeof *c);
	c->part = (struct iovec){ &c->byte, 1 };
	c->message = (struct msghdr){ .msg_iov = &c->part, .msg_iovlen = 1,
		.msg_control = c->control, .msg_controllen = sizeof c->control };
}

int
loopback_lend(int over, struct error *err)
{
	struct sockaddr_in address = { .sin_family = AF_INET, .sin_port = htons(LOOPBACK_PORT),
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	struct carrier c;
	struct cmsghdr *header;
	int fd, failed = 0;

	if (loopback_start() != 0)
		return error_errno(err, ERROR_BLOCKED, NULL, "unable to start the loopback interface");
	fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd < 0 || bind(fd, (struct sockaddr *)&address, sizeof address) != 0 ||
	    listen(fd, SOMAXCONN) != 0)
		failed = error_errno(err, ERROR_BLOCKED, "127.0.0.1", "unable to listen");
	if (failed == 0) {
		carrier_begin(&c);
		header = CMSG_FIRSTHDR(&c.message);
		header->cmsg_level = SOL_SOCKET;
		header->cmsg_type = SCM_RIGHTS;
		header->cmsg_len = CMSG_LEN(sizeof fd);
		memcpy(CMSG_DATA(header), &fd, sizeof fd);
		if (sendmsg(over, &c.message, MSG_NOSIGNAL) != 1)
			failed = error_errno(err, ERROR_BLOCKED, NULL, "unable to hand the socket out");
	}
	if (fd >= 0)
		close(fd);
	return failed;
}

int
loopback_borrow(int over)
{
	struct carrier c;
	struct cmsghdr *header;
	ssize_t got;
	int fd;

	carrier_begin(&c);
	got = recvmsg(over, &c.message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
	header = got == 1 ? CMSG_FIRSTHDR(&c.message) : NULL;
	if (got <= 0)
		return (int)got;
	if (header == NULL || header->cmsg_type != SCM_RIGHTS || header->cmsg_len != CMSG_LEN(sizeof fd)) {
		errno = EBADMSG;
		return -1;
	}
	memcpy(&fd, CMSG_DATA(header), sizeof fd);
	return fd;
}
