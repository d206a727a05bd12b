/*
 * If inputs are too long for a line, they are written again with strings cut shorter, several times
 * if necessary, and at last without the members that do not fit. A line is written by one write()
 * under flock(2) with O_APPEND; if the disk takes only a part of it, that part is cut off again.
 * The file is opened with O_NONBLOCK, since the user may have named a pipe that nobody reads.
 */
#include "storage/audit.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/memory.h"
#include "base/patience.h"
#include "base/text.h"
#include "io/file.h"
#include "io/lock.h"
#include "json/writer.h"

#define MASK "\"***\""
#define ELLIPSIS "\xe2\x80\xa6"
/* Most bytes of a name or message. Even if two of them become six times as long by escapes, there
 * is room for the rest of the line. */
#define TEXT_LIMIT 300

/* Strings of inputs are cut to the first of these lengths with which the line is short enough. */
static const size_t cuts[] = { 1024, 512, 256, 128, 64, 32, 16, 8 };

/* Whether a key (raw token, quotes included) names a secret, in upper or lower case and with any
 * separators: apiKey, X-API-KEY, db.password. */
static bool
audit_key_is_secret(struct span key)
{
	static const char *const words[] = { "secret", "apikey", "password", "token" };
	struct buffer name = BUFFER_INIT, plain = BUFFER_INIT;
	bool found = false;

	span_decode(key, &name);
	for (size_t i = 0; i < name.len; i++)
		if (isalnum((unsigned char)name.data[i]))
			buffer_byte(&plain, (char)tolower((unsigned char)name.data[i]));
	for (size_t i = 0; i < sizeof words / sizeof words[0] && !found; i++)
		found = strstr(buffer_string(&plain), words[i]) != NULL;
	buffer_free(&plain);
	buffer_free(&name);
	return found;
}

/* Appends value with secrets masked; strings and numbers longer than limit are cut, and become
 * strings. The members of the object end where out would become longer than room. */
static void
write_redacted(struct span value, size_t limit, size_t room, struct buffer *out)
{
	char type = span_type(value);
	struct buffer text = BUFFER_INIT;
	size_t count = 0;

	if (type != 'o' && type != 'a' && value.len <= limit) {
		buffer_append(out, value.at, value.len);
		return;
	}
	if (type != 'o' && type != 'a') {
		span_plain(value, &text);
		if (text.len > limit)
			text.len = utf8_whole(text.data, limit);
		buffer_text(&text, ELLIPSIS);
		json_quote(out, text.data, text.len);
		buffer_free(&text);
		return;
	}
	buffer_byte(out, type == 'o' ? '{' : '[');
	for (struct span_walk member = span_walk(value); span_next(&member);) {
		size_t before = out->len;

		if (count++ > 0)
			buffer_byte(out, ',');
		if (member.key.at != NULL) {
			buffer_append(out, member.key.at, member.key.len);
			buffer_byte(out, ':');
		}
		if (member.key.at != NULL && audit_key_is_secret(member.key))
			buffer_text(out, MASK);
		else
			write_redacted(member.value, limit, room, out);
		if (out->len + 1 > room) {
			out->len = before;
			break;
		}
	}
	buffer_byte(out, type == 'o' ? '}' : ']');
}

int
audit_inputs(struct span inputs, size_t limit, struct buffer *out)
{
	size_t start = out->len;

	write_redacted(inputs, SIZE_MAX, SIZE_MAX, out);
	if (out->len - start <= limit)
		return 0;
	for (size_t i = 0; i < sizeof cuts / sizeof cuts[0]; i++) {
		out->len = start;
		write_redacted(inputs, cuts[i], SIZE_MAX, out);
		if (out->len - start <= limit)
			return 1;
	}
	out->len = start;
	write_redacted(inputs, cuts[sizeof cuts / sizeof cuts[0] - 1], start + limit, out);
	return 1;
}

/* text NULL: writes null. */
static void
audit_write_text(struct writer *w, const char *key, const char *text)
{
	size_t len = text != NULL ? strlen(text) : 0;

	writer_key(w, key);
	if (text == NULL)
		writer_null(w);
	else
		writer_bytes(w, text, len > TEXT_LIMIT ? utf8_whole(text, TEXT_LIMIT) : len);
}

/* attempt 0: the line has no attempt. */
static void
write_head(struct writer *w, struct buffer *line, const char *type, int64_t wall,
    const char *run_id, int attempt, const char *name)
{
	char timestamp[CLOCK_TEXT_SIZE];

	writer_begin(w, line);
	writer_object(w);
	writer_member_string(w, "timestamp", clock_text(wall, timestamp));
	writer_member_string(w, "type", type);
	writer_key(w, "run_id");
	writer_string(w, run_id);
	if (attempt > 0)
		writer_member_integer(w, "attempt", attempt);
	audit_write_text(w, "name", name);
}

/* Ends the line, appends it to the file, and frees it. A file that the user has chosen may be a
 * symbolic link or a pipe, and so may the storage; writing to a pipe never waits for a reader. */
static int
audit_append_line(const struct storage *s, struct writer *w, struct error *err)
{
	int flags = O_WRONLY | O_APPEND | O_CREAT | O_NOCTTY | O_CLOEXEC | O_NONBLOCK;
	const char *given = environment_text("AWF_AUDIT_LOG");
	char *path = given != NULL ? memory_text(given) : path_join(s->root, "audit.jsonl");
	struct buffer *line = w->out;
	struct stat status = { .st_mode = 0 };
	ssize_t written = -1;
	int fd = -1, failed = 0, reason;

	writer_object_end(w);
	buffer_byte(line, '\n');
	if (given != NULL && strcmp(given, "off") == 0)
		goto end;
	if (given == NULL)
		flags |= O_NOFOLLOW;
	fd = open(path, flags, 0600);
	if (fd < 0 && errno == ENXIO)
		failed = error_set(err, ERROR_SYSTEM, path,
		    "unable to write the audit trail: it is a pipe that nobody reads");
	else if (fd >= 0 && given == NULL && fstat(fd, &status) == 0 && !S_ISREG(status.st_mode))
		failed = error_set(err, ERROR_SYSTEM, path,
		    "unable to write the audit trail: it is no regular file: move it away");
	if (failed != 0)
		goto end;

	/* One write at the end; if there is no room for it, the part that was written is cut off again.
	 * Only writing the rest shows whether the disk is full or a limit was reached. */
	if (fd >= 0 && lock_file_within(fd, AUDIT_LOCK_MS) == 0 && fstat(fd, &status) == 0)
		written = write(fd, line->data, line->len);
	if (written >= 0 && written < (ssize_t)line->len) {
		if (!S_ISREG(status.st_mode) || write(fd, line->data + written, line->len - (size_t)written) != -1)
			errno = ENOSPC;
		reason = errno;
		if (S_ISREG(status.st_mode) && ftruncate(fd, status.st_size) != 0)
			written = -1;
		errno = reason;
	}
	if (written != (ssize_t)line->len)
		failed = error_errno(err, ERROR_SYSTEM, path, "unable to write the audit trail");
end:
	file_close(&fd);
	buffer_free(line);
	free(path);
	return failed;
}

int
audit_started(const struct storage *s, const struct audit_start *a, struct error *err)
{
	static const char truncated[] = ",\"inputs_truncated\":true";
	struct span inputs = a->inputs.at != NULL ? a->inputs : span_of("{}", 2);
	struct buffer line = BUFFER_INIT;
	struct writer w;

	write_head(&w, &line, "run.started", a->wall, a->run_id, a->attempt, a->name);
	writer_key(&w, "inputs");
	if (audit_inputs(inputs, AUDIT_LINE_LIMIT - line.len - sizeof truncated - 1, &line))
		buffer_text(&line, truncated);
	return audit_append_line(s, &w, err);
}

int
audit_completed(const struct storage *s, const struct audit_end *a, struct error *err)
{
	struct buffer line = BUFFER_INIT;
	struct writer w;

	write_head(&w, &line, "run.completed", a->wall, a->run_id, a->attempt, a->name);
	writer_member_string(&w, "status", a->status);
	writer_member_integer(&w, "exit_code", a->exit_code);
	writer_member_integer(&w, "duration_ms", a->duration_ms);
	audit_write_text(&w, "error", a->error);
	return audit_append_line(s, &w, err);
}

int
audit_skipped(const struct storage *s, const struct audit_skip *a, struct error *err)
{
	struct buffer line = BUFFER_INIT;
	struct writer w;

	write_head(&w, &line, "run.skipped", clock_wall(), a->run_id, 0, a->name);
	writer_member_string(&w, "overlap", a->policy);
	writer_key(&w, "by");
	writer_string(&w, *a->by != '\0' ? a->by : NULL);
	return audit_append_line(s, &w, err);
}

int
audit_pruned(const struct storage *s, const struct audit_prune *a, struct error *err)
{
	struct buffer line = BUFFER_INIT;
	struct writer w;

	write_head(&w, &line, "run.pruned", clock_wall(), a->run_id, 0, a->name);
	writer_member_string(&w, "status", a->status);
	return audit_append_line(s, &w, err);
}
