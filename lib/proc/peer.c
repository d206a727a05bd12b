/*
 * Output to its stdin is queued; the written part is dropped when it is the larger one. Its stdout
 * is read as lines, and the tail of its stderr is kept. No descriptor of it blocks.
 */
#include "proc/peer.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/invariant.h"
#include "base/patience.h"
#include "base/text.h"
#include "io/file.h"
#include "io/polling.h"
#include "proc/descendants.h"
#include "proc/orphans.h"
#include "proc/wait.h"
#include "system/self.h"

enum {
	LOOK_AGAIN = 10,         /* ms between looks at orphans */
	ERRORS_KEPT = 8 << 10,
	READS_AT_ONCE = 64       /* of stderr: more than a pipe holds */
};

/* Data meant for an earlier process that has ended is not for this one. */
static void
peer_reset_streams(struct peer *p)
{
	buffer_clear(&p->outgoing);
	p->sent = 0;
	p->incoming.fd = p->process.out;
	p->incoming.ended = false;
}

int
peer_start(struct peer *p, const struct process_spec *spec, struct error *err)
{
	struct process_spec piped = *spec;

	piped.in = piped.out = PROCESS_PIPE;
	piped.group = piped.group || (SELF_NEEDS_GROUPS && !piped.session);
	INVARIANT(p->process.pid == 0 && p->hung_up == 0);
	if (process_start(&p->process, &piped, NULL, err) == -1) {
		p->process.pid = 0;
		return -1;
	}
	peer_reset_streams(p);
	descendants_keep(p->process.pid);
	return 0;
}

int
peer_connect(struct peer *p, int fd)
{
	p->process = (struct process){ .pid = PEER_CONNECTED, .err = -1,
		.in = fcntl(fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1),
		.out = fcntl(fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1) };
	if (p->process.in == -1 || p->process.out == -1) {
		peer_forget(p);
		return -1;
	}
	peer_reset_streams(p);
	return 0;
}

int
peer_send(struct peer *p)
{
	ssize_t n = 0;

	if (p->process.pid == 0 || p->process.in == -1)
		return -1;
	INVARIANT(p->sent <= p->outgoing.len);
	INVARIANT(p->outgoing.len == 0 || p->outgoing.data[p->outgoing.len - 1] == '\n');
	while (p->sent < p->outgoing.len && n != -1) {
		n = write(p->process.in, p->outgoing.data + p->sent, p->outgoing.len - p->sent);
		p->sent += n == -1 ? 0 : (size_t)n;
	}
	if (n == -1 && errno != EAGAIN && errno != EINTR) {
		file_close(&p->process.in);
		return -1;
	}
	if (p->sent == p->outgoing.len)
		buffer_free(&p->outgoing);
	else if (p->sent > p->outgoing.len / 2)
		buffer_drop(&p->outgoing, p->sent);
	else
		return 0;
	p->sent = 0;
	return 0;
}

size_t
peer_unsent(const struct peer *p)
{
	INVARIANT(p->sent <= p->outgoing.len);
	return p->outgoing.len - p->sent;
}

int
peer_receive(struct peer *p)
{
	ssize_t n = line_input_read(&p->incoming);

	if (n == -1 && (errno == EAGAIN || errno == EINTR))
		return 0;
	return n > 0 ? 1 : -1;
}

int
peer_line(struct peer *p, struct span *line)
{
	return line_input_take(&p->incoming, &line->at, &line->len);
}

size_t
peer_untaken(const struct peer *p)
{
	return line_input_unfinished(&p->incoming);
}

/* A secret may arrive in pieces, so the whole text is searched, before anything is cut off. */
void
peer_keep_errors(struct peer *p, const char *bytes, size_t len)
{
	buffer_append(&p->errors, bytes, len);
	for (char **secret = p->secrets; len > 0 && secret != NULL && *secret != NULL; secret++)
		text_hide(p->errors.data, p->errors.len, *secret);
	if (p->errors.len > 2 * (size_t)ERRORS_KEPT)
		buffer_drop(&p->errors, p->errors.len - ERRORS_KEPT);
	INVARIANT(p->errors.len <= 2 * (size_t)ERRORS_KEPT);
}

void
peer_read_errors(struct peer *p)
{
	char bytes[4096];
	ssize_t n = 0;

	for (int i = 0; i < READS_AT_ONCE && p->process.err != -1 &&
	    (n = read(p->process.err, bytes, sizeof bytes)) != -1; i++) {
		if (n == 0)
			file_close(&p->process.err);
		else
			peer_keep_errors(p, bytes, (size_t)n);
	}
	if (n == -1 && p->process.err != -1 && errno != EAGAIN && errno != EINTR)
		file_close(&p->process.err);
}

void
peer_poll(const struct peer *p, struct pollfd fds[PEER_FDS])
{
	bool runs = p->process.pid != 0;

	fds[PEER_IN] = (struct pollfd){ runs && peer_unsent(p) > 0 ? p->process.in : -1, POLLOUT, 0 };
	fds[PEER_OUT] = (struct pollfd){ runs ? p->process.out : -1, POLLIN, 0 };
	fds[PEER_ERR] = (struct pollfd){ runs ? p->process.err : -1, POLLIN, 0 };
}

int
peer_serve(struct peer *p, const struct pollfd fds[PEER_FDS])
{
	if (fds[PEER_IN].revents != 0)
		peer_send(p);
	if (fds[PEER_ERR].revents != 0)
		peer_read_errors(p);
	return fds[PEER_OUT].revents != 0 && peer_receive(p) == -1 ? -1 : 0;
}

enum peer_event
peer_wait(struct peer *p, int64_t deadline, const struct interrupts *interrupts,
    struct error *err)
{
	struct pollfd fds[1 + PEER_FDS];

	if (deadline != 0 && clock_monotonic() >= deadline)
		return PEER_LATE;
	peer_poll(p, fds + 1);
	if (interrupts_wait(interrupts, fds, 1 + PEER_FDS, deadline, err) == -1)
		return PEER_INTERRUPTED;
	return peer_serve(p, fds + 1) == -1 ? PEER_GONE : PEER_SERVED;
}

void
peer_hang_up(struct peer *p)
{
	if (p->process.pid == 0 || p->hung_up != 0)
		return;
	p->hung_up = clock_monotonic();
	file_close(&p->process.in);
	if (p->ends_unheard)
		file_close(&p->process.out);
}

void
peer_forget(struct peer *p)
{
	if (p->process.pid == 0)
		return;
	file_close(&p->process.in);
	file_close(&p->process.out);
	file_close(&p->process.err);
	p->process.pid = 0;
	buffer_free(&p->outgoing);
	buffer_clear(&p->incoming.bytes);
	p->incoming.next = p->incoming.searched = p->sent = 0;
	p->hung_up = 0;
}

/* Ends the processes that it started and left behind. */
static void
end_orphans(struct orphans *o)
{
	int64_t end = clock_monotonic() + GRACE_MS, now;
	const pid_t none[] = { 0 };
	int number = SIGTERM;

	while (orphans_end(o, number, none) && (now = clock_monotonic()) < end + GRACE_MS) {
		if (now >= end)
			number = SIGKILL;
		poll_one(-1, 0, now + LOOK_AGAIN);
	}
	orphans_free(o);
}

int
peer_end(struct peer *p)
{
	const pid_t pid = p->process.pid;
	struct orphans orphans;
	int wait_status = -1;

	if (pid == 0)
		return -1;
	peer_hang_up(p);
	if (pid == PEER_CONNECTED) {
		peer_forget(p);
		return -1;
	}
	if (p->mark != NULL)
		orphans_begin(&orphans, pid, p->mark);
	if (!wait_child(pid, p->hung_up + p->end_ms - clock_monotonic(), &wait_status)) {
		if (p->ignores_signals)
			wait_killed(pid, &wait_status);
		else
			wait_end(pid, &wait_status);
	}
	descendants_release(pid);
	if (p->mark != NULL)
		end_orphans(&orphans);
	INVARIANT(!descendants_kept(pid));
	peer_read_errors(p);
	peer_forget(p);
	return wait_status;
}

void
peer_free(struct peer *p)
{
	buffer_free(&p->outgoing);
	buffer_free(&p->errors);
	line_input_free(&p->incoming);
}
