/* A line is written at once; what a killed writer left of one is cut off under the lock. */
#include "storage/session.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/invariant.h"
#include "base/list.h"
#include "base/memory.h"
#include "base/text.h"
#include "io/file.h"
#include "io/lock.h"
#include "json/scan.h"
#include "json/writer.h"

#define SESSIONS "sessions"
#define READ_MOST ((size_t)64 << 20)

int
session_check_name(const char *name, struct error *err)
{
	return name_valid(name) && strlen(name) <= SESSION_NAME_MOST ? 0 : error_set(err, ERROR_USAGE, NULL,
	    "'%s' is no name of a session: letters, digits, _ and -, at most %d", name, SESSION_NAME_MOST);
}

static void
session_add_line(struct session *s, struct span line)
{
	struct session_call c = { .call = NULL };

	c.call = span_text(span_member(line, "call"));
	c.path = span_text(span_member(line, "path"));
	c.agent = span_text(span_member(line, "agent"));
	c.at = span_text(span_member(line, "at"));
	if (c.call == NULL || c.path == NULL || !span_copy(span_member(line, "run_id"), c.run_id, ID_SIZE) ||
	    !id_valid(c.run_id, strlen(c.run_id))) {
		free(c.call);
		free(c.path);
		free(c.agent);
		free(c.at);
		return;
	}
	s->calls = memory_array(s->calls, s->count + 1, sizeof *s->calls);
	s->calls[s->count++] = c;
}

/* Reads the calls; with the lock held, a torn line is cut off. */
static int
session_load(struct session *s, int fd, struct error *err)
{
	struct buffer lines = BUFFER_INIT;
	size_t at = 0, bad;
	const char *end;

	if (file_read_named(fd, s->path, READ_MOST, &lines, err) < 0) {
		buffer_free(&lines);
		return -1;
	}
	while (at < lines.len && (end = memchr(lines.data + at, '\n', lines.len - at)) != NULL) {
		const size_t len = (size_t)(end - (lines.data + at));

		if (scan_within(lines.data + at, len, SCAN_LINE_DEPTH, &bad) == NULL)
			session_add_line(s, span_of(lines.data + at, len));
		at += len + 1;
	}
	if (s->fd != -1 && at < lines.len && ftruncate(fd, (off_t)at) == -1) {
		buffer_free(&lines);
		return error_errno(err, ERROR_SYSTEM, s->path, "unable to cut off a torn line");
	}
	INVARIANT(s->fd == -1 || lseek(fd, 0, SEEK_END) == (off_t)at);
	buffer_free(&lines);
	return 0;
}

static void
session_name(struct session *s, const struct storage *storage, const char *name)
{
	*s = (struct session){ .path = storage_file(storage, SESSIONS, name), .fd = -1 };
}

int
session_enter(struct session *s, const struct storage *storage, const char *name, struct error *err)
{
	int failed;

	session_name(s, storage, name);
	s->fd = storage_open_file(storage, s->path, O_RDWR | O_APPEND, err);
	failed = s->fd == -1 ? -1 : 0;
	if (failed == 0 && lock_file_take(s->fd) == -1) {
		failed = errno == EWOULDBLOCK ? 1 : error_errno(err, ERROR_SYSTEM, s->path, "unable to lock");
		file_close(&s->fd);
	}
	if (failed == 0)
		failed = session_load(s, s->fd, err);
	if (failed != 0)
		session_leave(s);
	INVARIANT((failed == 0) == (s->fd != -1));
	return failed == 0 ? 1 : failed == 1 ? 0 : -1;
}

int
session_read(struct session *s, const struct storage *storage, const char *name, struct error *err)
{
	int fd, failed = 0;

	session_name(s, storage, name);
	fd = file_open_plain(s->path, O_RDONLY, 0);
	if (fd == -1 && errno != ENOENT)
		failed = error_errno(err, ERROR_SYSTEM, s->path, "unable to open");
	else if (fd != -1)
		failed = session_load(s, fd, err);
	file_close(&fd);
	return failed;
}

int
session_add(struct session *s, const struct session_call *call, struct error *err)
{
	struct buffer line = BUFFER_INIT;
	struct writer w;
	int failed = 0;

	INVARIANT(s->fd != -1 && id_valid(call->run_id, strlen(call->run_id)));
	writer_begin(&w, &line);
	writer_object(&w);
	writer_member_string(&w, "at", call->at);
	writer_member_string(&w, "run_id", call->run_id);
	writer_member_string(&w, "call", call->call);
	writer_member_string(&w, "path", call->path);
	writer_member_string(&w, "agent", call->agent);
	writer_object_end(&w);
	buffer_byte(&line, '\n');
	if (file_write(s->fd, line.data, line.len) == -1 || fdatasync(s->fd) == -1)
		failed = error_errno(err, ERROR_SYSTEM, s->path, "unable to write");
	buffer_free(&line);
	return failed == 0 && s->count == 0 ? file_sync_name(s->path, err) : failed;
}

void
session_leave(struct session *s)
{
	file_close(&s->fd);
	for (size_t i = 0; i < s->count; i++) {
		free(s->calls[i].call);
		free(s->calls[i].path);
		free(s->calls[i].agent);
		free(s->calls[i].at);
	}
	free(s->calls);
	free(s->path);
	*s = (struct session){ .fd = -1 };
}

static int
in_order(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

int
session_names(const struct storage *storage, char ***names, struct error *err)
{
	struct dirent *found;
	size_t count = 0;
	DIR *directory;

	*names = NULL;
	if (storage_names(storage, SESSIONS, &directory, err) != 0)
		return -1;
	while (directory != NULL && (found = readdir(directory)) != NULL)
		if (name_valid(found->d_name)) {
			list_add(names, found->d_name);
			count++;
		}
	if (directory != NULL)
		closedir(directory);
	if (count > 0)
		qsort(*names, count, sizeof **names, in_order);
	for (size_t i = 1; i < count; i++)
		INVARIANT(strcmp((*names)[i - 1], (*names)[i]) < 0);
	return 0;
}
