/*
 * A Unix socket is accessible only to its owner. A socket file on which nobody listens any more is
 * removed; one on which somebody listens, or a file that is no socket, is an error.
 */
#include "serve/listen.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <fcntl.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/text.h"
#include "io/file.h"
#include "serve/serve.h"

#define LISTEN_DEFAULT "127.0.0.1:8741"
#define UNIX "unix:"
#define PASSED_FIRST 3           /* sd_listen_fds(3) */
#define BACKLOG 1024

/* "127.0.0.1:8741", "[::1]:8741", ":8741" (all addresses); a name is looked up. */
static int
split_address(const char *text, char **host, const char **port, struct error *err)
{
	const char *colon = strrchr(text, ':');
	size_t len = colon != NULL ? (size_t)(colon - text) : 0;
	long number = colon != NULL ? strtol(colon + 1, NULL, 10) : -1;

	if (colon == NULL || colon[1] == '\0' || colon[1 + strspn(colon + 1, "0123456789")] != '\0' ||
	    strlen(colon + 1) > 5 || number > 65535)
		return error_set(err, ERROR_USAGE, "--listen",
		    "'%s' is neither ADDRESS:PORT (as in 127.0.0.1:8741) nor unix:PATH", text);
	if (len >= 2 && text[0] == '[' && text[len - 1] == ']')
		*host = memory_copy(text + 1, len - 2);
	else
		*host = memory_copy(text, len);
	*port = colon + 1;
	return 0;
}

int
listen_check(const char *text, struct error *err)
{
	const char *port;
	char *host;

	if (strncmp(text, UNIX, sizeof UNIX - 1) == 0) {
		size_t len = strlen(text + sizeof UNIX - 1);

		if (len > 0 && len < sizeof((struct sockaddr_un *)0)->sun_path)
			return 0;
		return error_set(err, ERROR_USAGE, "--listen", "a path of 1 to %zu bytes is needed: '%s'",
		    sizeof((struct sockaddr_un *)0)->sun_path - 1, text);
	}
	if (split_address(text, &host, &port, err) != 0)
		return -1;
	free(host);
	return 0;
}

/* The URL of a listening socket, such as "http://127.0.0.1:8741"; or "unix:PATH". */
static char *
url_of(int fd, bool *local)
{
	struct sockaddr_storage address;
	const struct sockaddr_un *un = (const struct sockaddr_un *)&address;
	socklen_t len = sizeof address;
	char host[INET6_ADDRSTRLEN] = "", port[8] = "";

	memset(&address, 0, sizeof address);
	if (getsockname(fd, (struct sockaddr *)&address, &len) != 0)
		return NULL;
	*local = address.ss_family == AF_UNIX;
	if (*local)
		return memory_format(UNIX "%s", un->sun_path);
	if (getnameinfo((struct sockaddr *)&address, len, host, sizeof host, port, sizeof port,
	    NI_NUMERICHOST | NI_NUMERICSERV) != 0)
		return NULL;
	return memory_format(strchr(host, ':') != NULL ? "http://[%s]:%s" : "http://%s:%s", host, port);
}

/* Adds a listening socket; path: its file, if it was made by this process. */
static int
add_listener(struct server *s, int fd, char *path, struct error *err)
{
	struct listener *l;

	s->listeners = memory_array(s->listeners, s->listener_count + 1, sizeof *s->listeners);
	l = &s->listeners[s->listener_count++];
	*l = (struct listener){ .fd = fd, .path = path };
	l->url = url_of(fd, &l->local);
	if (l->url == NULL)
		return error_errno(err, ERROR_SYSTEM, NULL, "unable to get the address of a listening socket");
	return 0;
}

/* Whether a process accepts connections at a Unix socket. */
static bool
is_answered(const struct sockaddr_un *address)
{
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	bool answered = fd != -1 &&
	    connect(fd, (const struct sockaddr *)address, sizeof *address) == 0;

	file_close(&fd);
	return answered;
}

static int
open_unix(struct server *s, const char *path, struct error *err)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	struct stat status;
	mode_t mask;
	int fd, failed;

	memcpy(address.sun_path, path, strlen(path) + 1);
	if (lstat(path, &status) == 0) {
		if (!S_ISSOCK(status.st_mode))
			return error_set(err, ERROR_SYSTEM, path, "is there, and no socket");
		if (is_answered(&address))
			return error_set(err, ERROR_SYSTEM, path, "another process listens there");
		unlink(path);
	}
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	mask = umask(077);
	failed = fd == -1 || bind(fd, (struct sockaddr *)&address, sizeof address) != 0 ||
	    listen(fd, BACKLOG) != 0;
	umask(mask);
	if (failed) {
		error_errno(err, ERROR_SYSTEM, path, "unable to listen");
		file_close(&fd);
		return -1;
	}
	return add_listener(s, fd, memory_text(path), err);
}

static int
open_tcp(struct server *s, const char *text, struct error *err)
{
	struct addrinfo hints = { .ai_socktype = SOCK_STREAM, .ai_flags = AI_PASSIVE }, *found, *a;
	const char *port;
	char *host;
	int on = 1, failed = -1, wrong, fd = -1;

	if (split_address(text, &host, &port, err) != 0)
		return -1;
	wrong = getaddrinfo(*host != '\0' ? host : NULL, port, &hints, &found);
	free(host);
	if (wrong != 0)
		return error_set(err, ERROR_USAGE, "--listen", "%s: %s", text, gai_strerror(wrong));
	for (a = found; a != NULL && fd == -1; a = a->ai_next) {
		fd = socket(a->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
		if (fd == -1)
			continue;
		setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
		if (bind(fd, a->ai_addr, a->ai_addrlen) != 0 || listen(fd, BACKLOG) != 0)
			file_close(&fd);
	}
	freeaddrinfo(found);
	if (fd == -1 && errno == EADDRINUSE)
		return error_set(err, ERROR_SYSTEM, text, "unable to listen: another process listens there "
		    "(--listen ADDRESS:PORT names another place)");
	if (fd == -1)
		return error_errno(err, ERROR_SYSTEM, text, "unable to listen");
	failed = add_listener(s, fd, NULL, err);
	return failed;
}

/* Adds the sockets that were passed to this process: returns how many; -1 with *err. */
static int
listen_add_passed_sockets(struct server *s, struct error *err)
{
	const char *pid = environment_text("LISTEN_PID"), *count = environment_text("LISTEN_FDS");
	long number = count != NULL ? strtol(count, NULL, 10) : 0;

	if (pid == NULL || number <= 0 || number > 64 || strtol(pid, NULL, 10) != (long)getpid())
		return 0;
	for (int fd = PASSED_FIRST; fd < PASSED_FIRST + (int)number; fd++) {
		int listens = 0;
		socklen_t len = sizeof listens;

		if (getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listens, &len) != 0 || listens == 0)
			return error_set(err, ERROR_SYSTEM, "LISTEN_FDS",
			    "descriptor %d is no listening socket", fd);
		fcntl(fd, F_SETFD, FD_CLOEXEC);
		fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK);
		if (add_listener(s, fd, NULL, err) != 0)
			return -1;
	}
	unsetenv("LISTEN_PID");
	unsetenv("LISTEN_FDS");
	unsetenv("LISTEN_FDNAMES");
	return (int)number;
}

int
listen_open(struct server *s, struct error *err)
{
	int passed = listen_add_passed_sockets(s, err), failed = passed < 0 ? -1 : 0;

	for (char **text = s->settings.listen; failed == 0 && text != NULL && *text != NULL; text++)
		failed = strncmp(*text, UNIX, sizeof UNIX - 1) == 0 ?
		    open_unix(s, *text + sizeof UNIX - 1, err) : open_tcp(s, *text, err);
	if (failed == 0 && s->listener_count == 0)
		failed = open_tcp(s, LISTEN_DEFAULT, err);
	/* From now on the listeners own the descriptors. */
	for (size_t i = 0; failed == 0 && i < s->listener_count; i++) {
		failed = httpd_listener_add(&s->listeners[i].accepts, &s->httpd, s->listeners[i].fd, err);
		s->listeners[i].fd = -1;
	}
	return failed;
}

void
listen_close(struct server *s)
{
	for (size_t i = 0; i < s->listener_count; i++) {
		struct listener *l = &s->listeners[i];

		httpd_listener_remove(&l->accepts);
		file_close(&l->fd);
		if (l->path != NULL)
			unlink(l->path);
		free(l->path);
		free(l->url);
	}
	free(s->listeners);
	s->listeners = NULL;
	s->listener_count = 0;
}
