/*
 * A step goes through the slots of a name until it reaches a worker that has room. If there is no
 * socket, or nobody behind it, the step takes the slot's lock, binds a new one, listens, connects to it, and
 * sends socket and environment to the guardian as descriptors, in one datagram. Others connect meanwhile, and
 * wait in the socket's queue. If nobody accepts, the socket closes with its last descriptor, and each reads
 * the end of its connection. A worker that does not say hello, because it is dead or stopped, is
 * abandoned by removing its socket's name, which a worker checks whenever it has no client.
 *
 * Sockets are named through /proc/self/fd, since their names are limited to 108 bytes.
 */
#define _GNU_SOURCE /* struct ucred */
#include "start/pool.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>
#ifndef AWF_PORTABLE
#include <sys/mman.h>
#endif

#include "base/buffer.h"
#include "base/clock.h"
#include "base/memory.h"
#include "base/patience.h"
#include "base/text.h"
#include "io/file.h"
#include "io/lock.h"
#include "io/polling.h"
#include "proc/descendants.h"
#include "proc/libexec.h"
#include "proc/process.h"
#include "storage/private_socket.h"
#include "system/descriptor.h"

#ifndef AWF_PORTABLE

/* Programs that may be workers: those whose names begin so, and the one that keeps MCP servers. */
#define PROVIDER "awf-provider-"
#define KEEPER "awf-mcp-keep"
#define LOCK_END ".lock"         /* the suffix of a lock's name after the socket's */
#define HELLO POOL_HELLO "\n"
#define FULL POOL_FULL "\n"
#define WORKERS "workers"

enum {
	SLOTS = GUARDIAN_HELPERS,
	NAME_SIZE = 32 + 1,          /* of a slot, without its number: POOL_SLOT_SIZE with it */
	ENVIRONMENT_LIMIT = 1 << 20,
	ASK_SIZE = 8192              /* of a datagram: program and lock, each with a NUL */
};

/* Describes where a process runs: its root directory and the namespaces that determine what a
 * provider can reach. */
static void
pool_describe_namespaces(struct buffer *text)
{
	static const char *const spaces[] = { "mnt", "net", "pid", "user" };
	struct stat root;
	char path[32], target[64];

	if (stat("/", &root) == 0)
		buffer_format(text, "%llx.%llx\n", (unsigned long long)root.st_dev,
		    (unsigned long long)root.st_ino);
	for (size_t i = 0; i < sizeof spaces / sizeof spaces[0]; i++) {
		ssize_t len;

		snprintf(path, sizeof path, "/proc/self/ns/%s", spaces[i]);
		len = readlink(path, target, sizeof target);
		buffer_append(text, target, len < 0 ? 0 : (size_t)len);
		buffer_byte(text, '\n');
	}
}

/* The name of the guardian's socket for requests. */
static void
ask_name(const struct buffer *place, char name[NAME_SIZE])
{
	char digest[DIGEST_SIZE];

	snprintf(name, NAME_SIZE, "ask-%.28s", digest_sha256(place->data, place->len, digest));
}

/* Whether the sender of a datagram belongs to this user. */
static bool
is_ours(const struct ucred *who)
{
	return who->uid == geteuid();
}

/* ---- the guardian's side ---- */

/* The environment in a datagram, as a list of pointers into text. NULL: it is invalid. */
static char **
read_environment(int fd, struct buffer *text)
{
	char **list = NULL;
	size_t count = 0;

	if (lseek(fd, 0, SEEK_SET) == -1 || file_read(fd, text, ENVIRONMENT_LIMIT) == -1 ||
	    (text->len > 0 && text->data[text->len - 1] != '\0'))
		return NULL;
	for (size_t at = 0;; at += strlen(text->data + at) + 1) {
		list = memory_array(list, count + 1, sizeof *list);
		list[count++] = at < text->len ? text->data + at : NULL;
		if (at >= text->len)
			return list;
	}
}

static pid_t
pool_start_worker_process(const char *program, const char *lock, int listener, int environment)
{
	char *argv[] = { NULL, NULL, NULL, NULL };
	struct buffer text = BUFFER_INIT;
	struct error unused;
	struct process p = { .pid = 0 };
	struct process_spec spec = { .argv = argv, .directory = "/", .in = listener,
	    .out = PROCESS_NULL, .err = PROCESS_NULL, .group = true };
	char **list = read_environment(environment, &text);
	mode_t mask = umask(077);

	argv[0] = memory_text(program);
	argv[1] = memory_format("--worker=%s", lock);
	argv[2] = memory_format("--parent=%ld", (long)getpid());
	spec.environment = list;
	if (list == NULL || process_start(&p, &spec, NULL, &unused) != 0)
		p.pid = 0;
	umask(mask);
	free(argv[0]);
	free(argv[1]);
	free(argv[2]);
	free(list);
	buffer_free(&text);
	return p.pid;
}

/* Only AWF's own programs may be requested. */
static bool
may_work(const char *program)
{
	const char *name = path_base(program);

	return (strncmp(name, PROVIDER, sizeof PROVIDER - 1) == 0 || strcmp(name, KEEPER) == 0) &&
	    libexec_has(program);
}

/* Receives what pool_request_worker() sends. */
static pid_t
pool_receive_request(int fd, bool room)
{
	char bytes[ASK_SIZE];
	union {
		char space[CMSG_SPACE(2 * sizeof(int)) + CMSG_SPACE(sizeof(struct ucred))];
		struct cmsghdr aligned;
	} control;
	struct iovec part = { bytes, sizeof bytes };
	struct msghdr message = { .msg_iov = &part, .msg_iovlen = 1, .msg_control = &control,
	    .msg_controllen = sizeof control };
	ssize_t len = recvmsg(fd, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
	int fds[2] = { -1, -1 };
	bool ours = false;
	const char *lock;
	pid_t pid = 0;

	for (struct cmsghdr *c = len >= 0 ? CMSG_FIRSTHDR(&message) : NULL; c != NULL;
	    c = CMSG_NXTHDR(&message, c)) {
		struct ucred who;

		if (c->cmsg_level != SOL_SOCKET)
			continue;
		for (size_t i = 0; c->cmsg_type == SCM_RIGHTS &&
		    i < (c->cmsg_len - CMSG_LEN(0)) / sizeof(int); i++) {
			int given;

			memcpy(&given, CMSG_DATA(c) + i * sizeof given, sizeof given);
			if (i < 2)
				fds[i] = given;
			else
				file_close(&given);
		}
		if (c->cmsg_type == SCM_CREDENTIALS) {
			memcpy(&who, CMSG_DATA(c), sizeof who);
			ours = is_ours(&who);
		}
	}
	if (len > 0 && bytes[len - 1] == '\0' && (message.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) == 0 &&
	    ours && room && fds[0] != -1 && fds[1] != -1) {
		lock = bytes + strlen(bytes) + 1;
		if (lock < bytes + len && lock[0] == '/' && may_work(bytes))
			pid = pool_start_worker_process(bytes, lock, fds[0], fds[1]);
	}
	file_close(&fds[0]);
	file_close(&fds[1]);
	return pid;
}

void
pool_open(struct guardian_service *service, const char *run_directory)
{
	char *path = path_join(run_directory, WORKERS), name[NAME_SIZE];
	struct buffer place = BUFFER_INIT;
	const int on = 1;
	int directory;

	*service = (struct guardian_service){ -1, pool_receive_request };
	if (mkdir(path, 0700) == 0 && (directory = private_socket_directory(run_directory, WORKERS)) != -1) {
		pool_describe_namespaces(&place);
		ask_name(&place, name);
		buffer_free(&place);
		service->fd = private_socket_bind(directory, name, SOCK_DGRAM);
		if (service->fd != -1 &&
		    setsockopt(service->fd, SOL_SOCKET, SO_PASSCRED, &on, sizeof on) == -1)
			file_close(&service->fd);
		file_close(&directory);
	}
	free(path);
}

void
pool_close(struct guardian_service *service)
{
	file_close(&service->fd);
}

/* ---- a step's side ---- */

/* The slot name for a worker of this kind. False: the program is gone. */
static bool
slot_name(const struct pool_spec *spec, const struct buffer *place, char name[NAME_SIZE])
{
	struct buffer text = BUFFER_INIT;
	char digest[DIGEST_SIZE];
	struct stat st;

	if (stat(spec->program, &st) == -1)
		return false;
	buffer_format(&text, "%s\n%llx.%llx %lld %lld.%09ld\n", spec->program,
	    (unsigned long long)st.st_dev, (unsigned long long)st.st_ino, (long long)st.st_size,
	    (long long)st.st_mtim.tv_sec, st.st_mtim.tv_nsec);
	buffer_append(&text, place->data, place->len);
	for (char *const *one = spec->environment; *one != NULL; one++)
		buffer_append(&text, *one, strlen(*one) + 1);
	digest_hmac(spec->key, DIGEST_BYTES, text.data, text.len, digest);
	snprintf(name, NAME_SIZE, "%.32s", digest);
	buffer_free(&text);
	return true;
}

/* Sends the guardian what it needs to start a worker. */
static bool
pool_request_worker(int directory, const char *name, const char *program, const char *lock,
    int listener, int environment)
{
	union {
		char space[CMSG_SPACE(2 * sizeof(int))];
		struct cmsghdr aligned;
	} control = { { 0 } };
	struct iovec parts[] = { { (void *)(uintptr_t)program, strlen(program) + 1 },
		{ (void *)(uintptr_t)lock, strlen(lock) + 1 } };
	struct sockaddr_un a = private_socket_address(directory, name);
	struct msghdr message = { .msg_name = &a, .msg_namelen = sizeof a, .msg_iov = parts,
	    .msg_iovlen = 2, .msg_control = &control, .msg_controllen = sizeof control };
	struct cmsghdr *c = CMSG_FIRSTHDR(&message);
	const int fds[] = { listener, environment };
	const struct timeval patience = { .tv_usec = 100000 };
	int fd = descriptor_socket(AF_UNIX, SOCK_DGRAM);
	bool sent;

	c->cmsg_level = SOL_SOCKET;
	c->cmsg_type = SCM_RIGHTS;
	c->cmsg_len = CMSG_LEN(sizeof fds);
	memcpy(CMSG_DATA(c), fds, sizeof fds);
	/* Its queue is short, so sending may have to wait. */
	sent = fd != -1 && setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience) == 0 &&
	    sendmsg(fd, &message, MSG_NOSIGNAL) != -1;
	file_close(&fd);
	return sent;
}

/* Writes the environment to an unnamed memory file. */
static int
pack_environment(char *const *list)
{
	int fd = descriptor_unnamed("awf-environment");

	for (; fd != -1 && *list != NULL; list++)
		if (file_write(fd, *list, strlen(*list) + 1) == -1)
			file_close(&fd);
	return fd;
}

/* Where workers are requested, and how they are named. */
struct pool {
	const struct pool_spec *spec;
	int directory;
	char guardian[NAME_SIZE], name[NAME_SIZE];
};

/* False: this run has no workers. */
static bool
open_pool(struct pool *p, const struct pool_spec *spec)
{
	struct buffer place = BUFFER_INIT;
	bool found;

	*p = (struct pool){ .spec = spec, .directory = private_socket_directory(spec->run_directory, WORKERS) };
	pool_describe_namespaces(&place);
	ask_name(&place, p->guardian);
	found = p->directory != -1 && faccessat(p->directory, p->guardian, F_OK, 0) == 0 &&
	    slot_name(spec, &place, p->name);
	buffer_free(&place);
	if (!found)
		file_close(&p->directory);
	return found;
}

static void
slot_of(const struct pool *p, int number, char slot[POOL_SLOT_SIZE])
{
	snprintf(slot, POOL_SLOT_SIZE, "%s.%u", p->name, (unsigned)number % SLOTS);
}

/* Takes the lock of a slot, waiting for a limited time; -1. */
static int
lock_slot(const struct pool *p, const char *slot, int wait_ms)
{
	char lock_name[POOL_SLOT_SIZE + sizeof LOCK_END];
	int fd;

	snprintf(lock_name, sizeof lock_name, "%s" LOCK_END, slot);
	fd = openat(p->directory, lock_name, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd != -1 && lock_file_within(fd, wait_ms) == -1)
		file_close(&fd);
	return fd;
}

/* Binds the slot's socket again and requests a worker for it; *connection (may be NULL) is the
 * first connection to it. */
static bool
start_worker(const struct pool *p, const char *slot, int *connection)
{
	char *lock = memory_format("%s/workers/%s" LOCK_END, p->spec->run_directory, slot);
	int listener, environment = -1;
	bool started;

	unlinkat(p->directory, slot, 0);
	listener = private_socket_bind(p->directory, slot, SOCK_STREAM);
	started = listener != -1 && listen(listener, SOMAXCONN) == 0 &&
	    (connection == NULL || (*connection = private_socket_connect(p->directory, slot)) != -1) &&
	    (environment = pack_environment(p->spec->environment)) != -1 &&
	    pool_request_worker(p->directory, p->guardian, p->spec->program, lock, listener,
	    environment);
	if (!started) {
		if (connection != NULL)
			file_close(connection);
		unlinkat(p->directory, slot, 0);
	}
	file_close(&listener);
	file_close(&environment);
	free(lock);
	return started;
}

/* Connects to who listens at the slot. -1: nobody; *busy: somebody does, who has no time. */
static int
slot_connect(const struct pool *p, struct pool_worker *w, bool *busy)
{
	struct stat st;

	/* If another socket is bound in between, its name is not the one that was left: pool_abandon(). */
	w->inode = fstatat(p->directory, w->slot, &st, AT_SYMLINK_NOFOLLOW) == 0 ? st.st_ino : 0;
	w->fd = private_socket_connect(p->directory, w->slot);
	*busy = w->fd == -1 && errno == EAGAIN;
	return w->fd;
}

/* The same; if nobody listens there, a worker is started by who has the lock. */
static int
slot_connect_or_start(const struct pool *p, struct pool_worker *w)
{
	bool busy;

	if (slot_connect(p, w, &busy) == -1)
		w->starts = !busy && start_worker(p, w->slot, &w->fd);
	return w->fd;
}

bool
pool_connect(struct pool_worker *w, const struct pool_spec *spec, int from)
{
	bool busy = true;
	struct pool p;

	*w = POOL_WORKER_NONE;
	if (!open_pool(&p, spec))
		return false;
	/* One that is busy is passed over, and so is one that somebody cannot start for long. */
	for (w->number = from; w->fd == -1 && busy && w->number < SLOTS; w->number++) {
		int lock;

		slot_of(&p, w->number, w->slot);
		if (slot_connect(&p, w, &busy) != -1 || busy)
			continue;
		lock = lock_slot(&p, w->slot, WORKER_START_MS);
		busy = lock == -1;
		if (lock != -1)
			slot_connect_or_start(&p, w);
		file_close(&lock);
	}
	w->number--;
	file_close(&p.directory);
	if (w->fd == -1)
		*w = POOL_WORKER_NONE;
	return w->fd != -1;
}

bool
pool_connect_shared(struct pool_worker *w, const struct pool_spec *spec)
{
	struct pool p;

	*w = POOL_WORKER_NONE;
	if (!open_pool(&p, spec))
		return false;
	slot_of(&p, 0, w->slot);
	w->lock = lock_slot(&p, w->slot, 2 * WORKER_START_MS);
	if (w->lock != -1)
		slot_connect_or_start(&p, w);
	file_close(&p.directory);
	if (w->fd == -1)
		pool_release(w);
	return w->fd != -1;
}

void
pool_share(struct pool_worker *w)
{
	file_close(&w->lock);
}

void
pool_abandon(struct pool_worker *w, const char *run_directory)
{
	int directory = w->fd == -1 ? -1 : private_socket_directory(run_directory, WORKERS);
	struct stat st;

	if (directory != -1 && fstatat(directory, w->slot, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
	    (w->starts || st.st_ino == w->inode))
		unlinkat(directory, w->slot, 0);
	file_close(&directory);
	pool_release(w);
}

void
pool_release(struct pool_worker *w)
{
	file_close(&w->fd);
	file_close(&w->lock);
	*w = POOL_WORKER_NONE;
}

/* ---- a worker's side ---- */

int
pool_join(struct pool_slot *s, const char *program, const char *lock, pid_t guardian,
    struct error *err)
{
	size_t len = strlen(lock);
	int listens = 0;
	socklen_t size = sizeof listens;
	struct stat st;

	*s = (struct pool_slot){ .lock = lock, .program = program, .listener = -1 };
	if (!text_ends(lock, LOCK_END) || len == sizeof LOCK_END - 1)
		return error_set(err, ERROR_USAGE, "--worker", "'%s': expected the path of a slot's lock", lock);
	if (getsockopt(STDIN_FILENO, SOL_SOCKET, SO_ACCEPTCONN, &listens, &size) == -1 || !listens)
		return error_set(err, ERROR_USAGE, "--worker", "stdin is no socket that listens");
	if (!descendants_help(guardian))
		return error_set(err, ERROR_USAGE, "--parent", "process %ld did not start this one",
		    (long)guardian);
	s->path = memory_copy(lock, len - (sizeof LOCK_END - 1));
	s->listener = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
	if (s->listener == -1 || stat(s->path, &st) == -1)
		return error_errno(err, ERROR_SYSTEM, s->path, "unable to listen");
	s->device = st.st_dev;
	s->inode = st.st_ino;
	return 0;
}

/* Whether the socket's name still belongs to this worker: a process that had the lock and got no
 * answer may have bound another socket. */
bool
pool_named(const struct pool_slot *s)
{
	struct stat st;

	return stat(s->path, &st) == 0 && st.st_dev == s->device && st.st_ino == s->inode;
}

bool
pool_retires(struct pool_slot *s)
{
	int fd = open(s->lock, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
	bool alone;

	if (fd != -1 && lock_file_take(fd) == -1) {
		close(fd);
		return false;
	}
	/* Who has connected before the name goes is served yet. */
	alone = poll_now(s->listener, POLLIN) == 0;
	if (alone && fd != -1)
		unlink(s->path);
	alone = alone && poll_now(s->listener, POLLIN) == 0;
	file_close(&fd);
	return alone;
}

int
pool_accept_now(struct pool_slot *s, bool room)
{
	const char *says = room ? HELLO : FULL;
	int fd = poll_now(s->listener, POLLIN) == 0 ? -1 :
	    descriptor_accept(s->listener);

	if (fd != -1 && (!private_socket_is_ours(fd) || file_write(fd, says, strlen(says)) != 0 || !room))
		file_close(&fd);
	return fd;
}

void
pool_leave(struct pool_slot *s)
{
	free(s->path);
	file_close(&s->listener);
}

#else

void
pool_open(struct guardian_service *service, const char *run_directory)
{
	(void)run_directory;
	*service = (struct guardian_service){ -1, NULL };
}

void
pool_close(struct guardian_service *service)
{
	(void)service;
}

bool
pool_connect(struct pool_worker *w, const struct pool_spec *spec, int from)
{
	(void)spec;
	(void)from;
	*w = POOL_WORKER_NONE;
	return false;
}

bool
pool_connect_shared(struct pool_worker *w, const struct pool_spec *spec)
{
	return pool_connect(w, spec, 0);
}

void
pool_share(struct pool_worker *w)
{
	(void)w;
}

void
pool_release(struct pool_worker *w)
{
	(void)w;
}

void
pool_abandon(struct pool_worker *w, const char *run_directory)
{
	(void)w;
	(void)run_directory;
}

int
pool_join(struct pool_slot *s, const char *program, const char *lock, pid_t guardian,
    struct error *err)
{
	(void)guardian;
	*s = (struct pool_slot){ .lock = lock, .program = program, .listener = -1 };
	return error_set(err, ERROR_USAGE, "--worker", "there are none on this system");
}

int
pool_accept_now(struct pool_slot *s, bool room)
{
	(void)s;
	(void)room;
	return -1;
}

bool
pool_retires(struct pool_slot *s)
{
	(void)s;
	return true;
}

bool
pool_named(const struct pool_slot *s)
{
	(void)s;
	return false;
}

void
pool_leave(struct pool_slot *s)
{
	(void)s;
}

#endif
