/*
 * Lines are collected in memory while an answer arrives, and written at once: so a reader of the
 * file sees only whole lines, except during a write.
 */
#include "copy.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/memory.h"
#include "io/file.h"
#include "transcript/event.h"
#include "transcript/reader.h"

static int
copy_set_error(const struct copy *c, const char *what, struct error *err)
{
	return error_errno(err, ERROR_SYSTEM, c->path, "unable to %s the copy (TMPDIR says where it "
	    "lies)", what);
}

static int
copy_create_file(struct copy *c, const char *path, struct error *err)
{
	c->fd = file_open_plain(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
	c->end = c->at = 0;
	c->last.seq = c->last.end = c->before.seq = c->before.end = 0;
	buffer_clear(&c->unwritten);
	return c->fd == -1 ? copy_set_error(c, "make", err) : 0;
}

int
copy_open(struct copy *c, const char *path, struct error *err)
{
	*c = (struct copy){ .path = memory_text(path), .new_path = memory_format("%s.new", path),
		.fd = -1, .old = -1 };
	return copy_create_file(c, path, err);
}

void
copy_skip(struct copy *c, int64_t seq)
{
	c->last.seq = c->before.seq = seq;
}

void
copy_close(struct copy *c)
{
	file_close(&c->fd);
	file_close(&c->old);
	buffer_free(&c->unwritten);
	free(c->path);
	free(c->new_path);
}

int64_t
copy_begin(struct copy *c)
{
	c->at = c->whole ? 0 : c->before.end;
	return c->whole ? 0 : c->before.seq;
}

/* ---- an answer ---- */

enum copied
copy_compare(const struct copy *c, const char *line, size_t len, struct error *err)
{
	int64_t at = c->at;
	char there[16384];
	ssize_t got;

	if (c->at == c->end)
		return COPY_NEW;
	if (c->end - at < (int64_t)len + 1)
		return COPY_OTHER;
	for (size_t done = 0; done < len; done += (size_t)got) {
		size_t want = len - done < sizeof there ? len - done : sizeof there;

		got = pread(c->fd, there, want, at + (int64_t)done);
		if (got <= 0) {
			copy_set_error(c, "read", err);
			return COPY_FAILED;
		}
		if (memcmp(there, line + done, (size_t)got) != 0)
			return COPY_OTHER;
	}
	/* The line here may be longer. */
	if (pread(c->fd, there, 1, at + (int64_t)len) != 1) {
		copy_set_error(c, "read", err);
		return COPY_FAILED;
	}
	return there[0] == '\n' ? COPY_KNOWN : COPY_OTHER;
}

void
copy_take(struct copy *c, enum copied copied, const char *line, size_t len)
{
	int64_t seq;

	c->at += (int64_t)len + 1;
	if (copied != COPY_NEW)
		return;
	buffer_append(&c->unwritten, line, len);
	buffer_byte(&c->unwritten, '\n');
	c->end = c->at;
	if (!event_seq(line, len, &seq))
		return;
	c->before = c->last;
	c->last.seq = seq;
	c->last.end = c->end;
}

bool
copy_is_ahead(const struct copy *c)
{
	return c->at < c->end;
}

int
copy_write(struct copy *c, struct error *err)
{
	if (c->unwritten.len == 0)
		return 0;
	if (file_write(c->fd, c->unwritten.data, c->unwritten.len) != 0)
		return copy_set_error(c, "write", err);
	buffer_clear(&c->unwritten);
	return 0;
}

/* ---- replacing the copy ---- */

int
copy_renew(struct copy *c, struct error *err)
{
	if (c->old == -1)
		c->old = c->fd;
	else
		file_close(&c->fd);
	return copy_create_file(c, c->new_path, err);
}

/* Compares two files: *same: bytes of equal whole lines at their beginning; *seq: number of the
 * last of these. */
static int
copy_compare_files(struct copy *c, int64_t *same, int64_t *seq, int64_t *old_end, struct error *err)
{
	struct reader old, new;
	const char *old_line, *line;
	size_t old_len, len;
	int failed, got_old, got = 1;

	*same = *seq = 0;
	if (reader_open(&old, c->path, err) != 0)
		return -1;
	if (reader_open(&new, c->new_path, err) != 0) {
		reader_close(&old);
		return -1;
	}
	while ((got_old = reader_next(&old, &old_line, &old_len, err)) == 1 &&
	    (got = reader_next(&new, &line, &len, err)) == 1 &&
	    len == old_len && memcmp(line, old_line, len) == 0) {
		*same = new.position;
		event_seq(line, len, seq);
	}
	failed = got_old == -1 || got == -1;
	if (!failed)
		failed = reader_seek_last(&old, 0, err);
	*old_end = old.position;
	reader_close(&old);
	reader_close(&new);
	return failed ? -1 : 0;
}

int
copy_replace(struct copy *c, int64_t *same, int64_t *seq, struct error *err)
{
	int64_t old_end;

	if (copy_compare_files(c, same, seq, &old_end, err) != 0)
		return -1;
	/* The lines are the same, so only the numbers were misleading. */
	c->whole |= *same == old_end;
	if (*same == old_end && *same == c->end) {
		file_close(&c->fd);
		c->fd = c->old;
		c->old = -1;
		unlink(c->new_path);
		return 0;
	}
	if (rename(c->new_path, c->path) != 0)
		return copy_set_error(c, "replace", err);
	file_close(&c->old);
	return 1;
}
