/*
 * How many items a step has, for the live view (view/live.h): this is known once the writers of its input are gone,
 * or if the rest of a file is short. What is left in a pipe then, not more than a pipe holds, is read at once; a file is
 * only looked at, as it may still grow.
 */
#include "step/stream.h"

#include <sys/stat.h>
#include <unistd.h>

#include "io/polling.h"

#define REST_OF_FILE ((off_t)1 << 20) /* not more of a file is looked at */

/* Appends what is left of a regular file, without reading it for the step. False: too much is left. */
static bool
total_peek(const struct state_reader *r, const struct stat *status, struct buffer *rest)
{
	const off_t at = lseek(r->fd, 0, SEEK_CUR);
	ssize_t got = 1;

	if (at == -1 || status->st_size - at > REST_OF_FILE)
		return false;
	for (off_t read = at; got > 0 && read < status->st_size; read += got) {
		const size_t want = (size_t)(status->st_size - read);

		got = pread(r->fd, buffer_reserve(rest, want), want, read);
		rest->len += got > 0 ? (size_t)got : 0;
	}
	return got >= 0;
}

/* Reads the rest of a pipe whose writers are gone; else fails without a message: the next read says what is wrong. */
static bool
total_read_rest(struct state_reader *r)
{
	struct error ignored;

	while (!r->eof)
		if ((poll_now(r->fd, POLLIN) & POLLHUP) == 0 || state_reader_fill(r, &ignored) == -1)
			return false;
	return true;
}

void
stream_tell_total(struct stream *s)
{
	struct state_reader *r = s->reader;
	struct buffer rest = BUFFER_INIT;
	struct stat status;
	int64_t items;

	if (s->total_told || s->live.run_directory == NULL || r->form == INPUT_AUTO || r->form == INPUT_TEXT)
		return;
	if (!r->eof && fstat(r->fd, &status) == 0 && S_ISREG(status.st_mode))
		s->total_told = total_peek(r, &status, &rest);
	else
		s->total_told = total_read_rest(r);
	if (s->total_told) {
		items = state_reader_count(r, &rest);
		if (items >= 0 && s->index + items > 1)
			live_tell_items(&s->live, s->step->place.process, s->index + items);
	}
	buffer_free(&rest);
}
