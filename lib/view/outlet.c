/*
 * Pending output is one buffer. With a limit, a ring of offsets says where each kept event ends,
 * counted in bytes from the very first event, so that the number of bytes written tells which
 * events are done. A blocking descriptor is polled, then at most 4096 bytes are written to it:
 * poll(2) reports a pipe as writable only if these fit (PIPE_BUF on Linux).
 */
#include "view/outlet.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/memory.h"
#include "io/file.h"
#include "io/polling.h"
#include "io/terminal.h"

#define FLUSH_ABOVE ((size_t)256 << 10)
/* A pipe that poll(2) reports as writable takes this many bytes without blocking. */
#define WRITE_UNBLOCKED ((size_t)4096)

void
outlet_begin(struct outlet *o, int fd, size_t limit)
{
	memset(o, 0, sizeof *o);
	o->fd = fd;
	o->terminal = terminal_is(fd);
	o->limit = limit;
	if (limit > 0)
		o->ends = memory_zero(limit, sizeof *o->ends);
}

bool
outlet_empty(const struct outlet *o)
{
	return o->sent == o->pending.len;
}

static void
outlet_count_written(struct outlet *o, size_t len)
{
	o->sent += len;
	o->given += len;
	assert(o->limit > 0 || o->kept == 0);
	while (o->kept > 0 && o->ends[o->first] <= o->given) {
		o->first = (o->first + 1) % o->limit;
		o->kept--;
	}
	if (outlet_empty(o)) {
		buffer_clear(&o->pending);
		o->sent = 0;
	} else if (o->sent >= FLUSH_ABOVE) {
		buffer_drop(&o->pending, o->sent);
		o->sent = 0;
	}
}

static int
outlet_set_write_error(struct error *err)
{
	return error_errno(err, ERROR_SYSTEM, "stdout", "unable to write");
}

/* Writes as much as possible without waiting. */
static int
give_some(struct outlet *o, struct error *err)
{
	while (!outlet_empty(o) && poll_now(o->fd, POLLOUT) != 0) {
		size_t len = o->pending.len - o->sent;
		ssize_t n = write(o->fd, o->pending.data + o->sent,
		    len < WRITE_UNBLOCKED ? len : WRITE_UNBLOCKED);

		if (n < 0 && errno != EINTR && errno != EAGAIN)
			return outlet_set_write_error(err);
		if (n > 0)
			outlet_count_written(o, (size_t)n);
	}
	return 0;
}

void
outlet_extra(struct outlet *o, const void *bytes, size_t len)
{
	buffer_append(&o->pending, bytes, len);
	o->taken += len;
}

int
outlet_event(struct outlet *o, const void *bytes, size_t len, struct error *err)
{
	if (o->limit == 0) {
		outlet_extra(o, bytes, len);
		return o->pending.len < FLUSH_ABOVE ? 0 : outlet_drain(o, err);
	}
	if (o->kept == o->limit && give_some(o, err) != 0)
		return -1;
	if (o->kept == o->limit) {
		o->dropped++;
		return 0;
	}
	outlet_extra(o, bytes, len);
	o->ends[(o->first + o->kept++) % o->limit] = o->taken;
	return 0;
}

int
outlet_json(struct outlet *o, const char *bytes, size_t len, struct error *err)
{
	struct buffer escaped = BUFFER_INIT;
	int result;

	if (!o->terminal)
		return outlet_event(o, bytes, len, err);
	terminal_json(&escaped, bytes, len);
	result = outlet_event(o, buffer_string(&escaped), escaped.len, err);
	buffer_free(&escaped);
	return result;
}

int
outlet_flush(struct outlet *o, struct error *err)
{
	return o->limit == 0 ? outlet_drain(o, err) : give_some(o, err);
}

int
outlet_drain(struct outlet *o, struct error *err)
{
	size_t len = o->pending.len - o->sent;

	if (len == 0)
		return 0;
	if (file_write(o->fd, o->pending.data + o->sent, len) != 0)
		return outlet_set_write_error(err);
	outlet_count_written(o, len);
	return 0;
}

void
outlet_free(struct outlet *o)
{
	buffer_free(&o->pending);
	free(o->ends);
}
