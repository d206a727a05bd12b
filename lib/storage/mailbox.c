/*
 * A line is written at once; what a killed writer left of one is cut off by the next writer, under
 * the file's own lock.
 */
#include "storage/mailbox.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/invariant.h"
#include "base/memory.h"
#include "io/file.h"
#include "io/lock.h"
#include "json/scan.h"
#include "json/writer.h"

#define CLOSINGS "closed" /* in the directory of the run */
#define LOCK_MS 10000
#define READ_MOST ((size_t)256 << 20)

void
word_free(struct word *w)
{
	free(w->call);
	free(w->by);
	free(w->at);
	free(w->text);
	*w = (struct word){ .call = NULL };
}

/* ---- the files ---- */

char *
mailbox_path(const struct storage *s, const char *run_id)
{
	return storage_file(s, "mailboxes", run_id);
}

static char *
closings_path(const struct storage *s, const char *run_id)
{
	char *directory = storage_run_directory(s, run_id), *path = path_join(directory, CLOSINGS);

	free(directory);
	return path;
}

/* Whether the file ends with a complete line, if it has any. */
static bool
mailbox_is_whole(int fd)
{
	const off_t size = lseek(fd, 0, SEEK_END);
	char last = '\0';

	return size == 0 || (pread(fd, &last, 1, size - 1) == 1 && last == '\n');
}

/* Locks the open file, and cuts off a torn line. -1: it is closed; *err. */
static int
mailbox_lock(const char *path, int *fd, struct error *err)
{
	char last = '\n';
	struct stat status;
	off_t size;

	if (lock_file_within(*fd, LOCK_MS) == -1 || fstat(*fd, &status) == -1) {
		error_errno(err, ERROR_SYSTEM, path, "unable to lock");
		file_close(fd);
		return -1;
	}
	for (size = status.st_size; size > 0 && pread(*fd, &last, 1, size - 1) == 1 && last != '\n';)
		size--;
	if (size != status.st_size && ftruncate(*fd, size) == -1) {
		error_errno(err, ERROR_SYSTEM, path, "unable to cut off a torn line");
		file_close(fd);
		return -1;
	}
	INVARIANT(mailbox_is_whole(*fd));
	return 0;
}

/* Loads the complete lines from a position on, which moves behind them. */
static int
mailbox_load(int fd, const char *path, int64_t *position, struct buffer *lines, struct error *err)
{
	size_t whole;

	if (lseek(fd, *position, SEEK_SET) == -1)
		return error_errno(err, ERROR_SYSTEM, path, "unable to read");
	if (file_read_named(fd, path, READ_MOST, lines, err) < 0)
		return -1;
	whole = lines->len;
	while (whole > 0 && lines->data[whole - 1] != '\n')
		whole--;
	lines->len = whole;
	*position += (int64_t)whole;
	INVARIANT(whole == 0 || lines->data[whole - 1] == '\n');
	return 0;
}

static bool
next_line(const struct buffer *lines, size_t *at, struct span *line)
{
	const char *end;
	size_t bad;

	while (*at < lines->len) {
		end = memchr(lines->data + *at, '\n', lines->len - *at);
		*line = span_of(lines->data + *at, (size_t)(end - (lines->data + *at)));
		*at += line->len + 1;
		if (scan_within(line->at, line->len, SCAN_LINE_DEPTH, &bad) == NULL)
			return true;
	}
	return false;
}

static int
write_line(int fd, const char *path, struct buffer *line, bool synced, struct error *err)
{
	buffer_byte(line, '\n');
	if (file_write(fd, line->data, line->len) == -1 || (synced && fdatasync(fd) == -1))
		return error_errno(err, ERROR_SYSTEM, path, "unable to write");
	return 0;
}

/* ---- who tells ---- */

static bool
is_closed(const struct buffer *lines, const char *started)
{
	bool closed = false;
	struct span line;

	for (size_t at = 0; !closed && next_line(lines, &at, &line);)
		closed = span_is(span_member(line, "ended"), started);
	return closed;
}

/* Appends the word to the mailbox, and syncs it. */
static int
append_word(const struct storage *s, const char *path, const struct word *word, struct error *err)
{
	int fd = storage_open_file(s, path, O_RDWR | O_APPEND, err);
	int failed = fd == -1 ? -1 : mailbox_lock(path, &fd, err);
	struct buffer line = BUFFER_INIT;
	struct writer w;

	if (failed == 0) {
		writer_begin(&w, &line);
		writer_object(&w);
		writer_member_string(&w, "id", word->id);
		writer_member_string(&w, "at", word->at);
		writer_member_string(&w, "by", word->by);
		writer_member_string(&w, "call", word->call);
		writer_member_string(&w, "text", word->text);
		writer_object_end(&w);
		failed = write_line(fd, path, &line, true, err);
	}
	/* The name of a new file is to survive a power cut, too. */
	if (failed == 0)
		failed = file_sync_name(path, err);
	file_close(&fd);
	buffer_free(&line);
	return failed;
}

int
mailbox_put(const struct storage *s, const char *run_id, const struct word *word,
    int (*check)(void *context, char started[ID_SIZE], struct error *err), void *context,
    struct error *err)
{
	char *path = mailbox_path(s, run_id), *closings = closings_path(s, run_id), started[ID_SIZE] = "";
	struct buffer lines = BUFFER_INIT;
	int64_t position = 0;
	int fd = file_open_plain(closings, O_RDWR | O_CREAT | O_APPEND, 0600), failed = 0;

	/* A run that does not work has no directory, and no call of it ends. */
	if (fd != -1)
		failed = mailbox_lock(closings, &fd, err);
	else if (errno != ENOENT)
		failed = error_errno(err, ERROR_SYSTEM, closings, "unable to open");
	if (failed == 0)
		failed = check(context, started, err);
	if (failed == 0 && fd != -1)
		failed = mailbox_load(fd, closings, &position, &lines, err);
	if (failed == 0 && is_closed(&lines, started))
		failed = error_set(err, ERROR_BLOCKED, word->call, "has its result, and reads nothing more");
	if (failed == 0)
		failed = append_word(s, path, word, err);
	file_close(&fd);
	buffer_free(&lines);
	free(closings);
	free(path);
	return failed;
}

/* ---- who is told ---- */

int64_t
mailbox_end(const struct storage *s, const char *run_id)
{
	char *path = mailbox_path(s, run_id);
	struct stat status;
	int64_t end = stat(path, &status) == 0 ? status.st_size : 0;

	free(path);
	return end;
}

void
mailbox_open(struct mailbox *m, const struct storage *s, const char *run_id, int64_t position)
{
	*m = (struct mailbox){ .path = mailbox_path(s, run_id), .closings = closings_path(s, run_id),
		.position = position };
}

static int
mailbox_add(struct mailbox *m, int fd, const char *call, struct error *err)
{
	struct buffer lines = BUFFER_INIT;
	struct span line;
	int failed = mailbox_load(fd, m->path, &m->position, &lines, err);

	for (size_t at = 0; failed == 0 && next_line(&lines, &at, &line);) {
		struct word w = { .call = NULL };

		if (!span_is(span_member(line, "call"), call) ||
		    !span_copy(span_member(line, "id"), w.id, sizeof w.id))
			continue;
		w.call = memory_text(call);
		w.by = span_text(span_member(line, "by"));
		w.at = span_text(span_member(line, "at"));
		w.text = span_text(span_member(line, "text"));
		if (w.by == NULL || w.text == NULL) {
			word_free(&w);
			continue;
		}
		m->list = memory_array(m->list, m->count + 1, sizeof *m->list);
		m->list[m->count++] = w;
	}
	buffer_free(&lines);
	return failed;
}

int
mailbox_read(struct mailbox *m, const char *call, struct error *err)
{
	struct stat status;
	int fd = -1, failed = 0;

	if (m->path == NULL || stat(m->path, &status) == -1 || status.st_size <= m->position)
		return 0;
	fd = file_open_plain(m->path, O_RDONLY, 0);
	failed = fd == -1 ? error_errno(err, ERROR_SYSTEM, m->path, "unable to open") :
	    mailbox_add(m, fd, call, err);
	file_close(&fd);
	return failed;
}

void
mailbox_take(struct mailbox *m, struct word *w)
{
	INVARIANT(m->count > 0 && !m->closed);
	*w = m->list[0];
	memmove(m->list, m->list + 1, --m->count * sizeof *m->list);
}

int
mailbox_close(struct mailbox *m, const char *call, const char *started, struct error *err)
{
	struct buffer line = BUFFER_INIT;
	struct writer w;
	int fd = -1, failed;

	if (m->path == NULL || m->closed)
		return 0;
	fd = file_open_plain(m->closings, O_RDWR | O_CREAT | O_APPEND, 0600);
	failed = fd != -1 ? mailbox_lock(m->closings, &fd, err) :
	    error_errno(err, ERROR_SYSTEM, m->closings, "unable to open");
	if (failed == 0)
		failed = mailbox_read(m, call, err);
	if (failed == 0 && m->count > 0) {
		failed = 1;
	} else if (failed == 0) {
		writer_begin(&w, &line);
		writer_object(&w);
		writer_member_string(&w, "ended", started);
		writer_object_end(&w);
		failed = write_line(fd, m->closings, &line, false, err);
		m->closed = failed == 0;
	}
	INVARIANT(!m->closed || m->count == 0);
	file_close(&fd);
	buffer_free(&line);
	return failed;
}

void
mailbox_free(struct mailbox *m)
{
	for (size_t i = 0; i < m->count; i++)
		word_free(&m->list[i]);
	free(m->list);
	free(m->path);
	free(m->closings);
	*m = (struct mailbox){ .path = NULL };
}
