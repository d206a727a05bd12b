/* Reading and following: transcript/reader.h, with a watch on the file as soon as there is a
 * wait. */
#include <awf/transcript.h>

#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/buffer.h"
#include "base/clock.h"
#include "base/id.h"
#include "base/invariant.h"
#include "base/memory.h"
#include "model/watch.h"
#include "shared/guard.h"
#include "storage/storage.h"
#include "transcript/event.h"
#include "transcript/reader.h"

struct awf_reader {
	struct reader reader;
	struct watch watch;
	bool watching;         /* from the first wait on */
	char run_id[ID_SIZE];  /* "" until a line has it */
	/* Of the line that was read last. */
	struct buffer type;
	char id[ID_SIZE];
};

/* ---- opening ---- */

struct opening {
	const char *path;
	int64_t after;
	struct awf_reader *reader;
};

static enum awf_code
open_reader(void *context, struct error *found)
{
	struct opening *o = context;
	struct awf_reader *r;
	char *path;
	int result;

	if (o->path == NULL)
		return guard_set_error(found, AWF_INVALID, NULL, "no path is given");
	r = o->reader = memory_zero(1, sizeof *r);
	r->reader.fd = r->watch.fd = -1;
	if ((path = absolute_path(o->path, found)) == NULL)
		return AWF_SYSTEM;
	result = reader_open(&r->reader, path, found);
	free(path);
	if (result == -1)
		return is_missing(o->path) ? AWF_MISSING : code_of(found);
	if (o->after > 0)
		result = reader_seek_after(&r->reader, o->after, found);
	else if (o->after < 0)
		result = reader_seek_last(&r->reader, 0, found);
	return result == -1 ? code_of(found) : AWF_OK;
}

int
awf_reader_open(struct awf_reader **reader, const char *path, int64_t after,
    struct awf_error *err)
{
	struct opening o = { .path = path, .after = after };
	enum awf_code code = guard_run(open_reader, &o, err);

	if (code != AWF_OK) {
		awf_reader_close(o.reader);
		o.reader = NULL;
	}
	*reader = o.reader;
	return code == AWF_OK ? 0 : -1;
}

void
awf_reader_close(struct awf_reader *reader)
{
	if (reader == NULL)
		return;
	reader_close(&reader->reader);
	watch_close(&reader->watch);
	buffer_free(&reader->type);
	free(reader);
}

/* ---- lines ---- */

/* Reads the head of a line. */
static void
shared_describe_line(struct awf_reader *r, const char *text, size_t len, struct awf_line *line)
{
	struct event_view view;

	buffer_clear(&r->type);
	r->id[0] = '\0';
	if (event_view(text, len, &view) == 0) {
		buffer_append(&r->type, view.type_name.at + 1, view.type_name.len - 2);
		event_copy_id(view.event_id, r->id);
		if (r->run_id[0] == '\0')
			event_copy_id(view.run_id, r->run_id);
	}
	INVARIANT(text[len] == '\n' && (r->id[0] == '\0' || id_valid(r->id, strlen(r->id))));
	*line = (struct awf_line){ .text = text, .len = len, .seq = r->type.len > 0 ? view.seq : 0,
		.type = buffer_string(&r->type), .id = r->id, .offset = r->reader.line_start };
}

struct reading {
	struct awf_reader *reader;
	int timeout_ms;
	struct awf_line *line;
	bool got;
};

static enum awf_code
shared_read_line(void *context, struct error *found)
{
	struct reading *g = context;
	struct awf_reader *r = g->reader;
	int64_t begun = g->timeout_ms > 0 ? clock_monotonic() : 0;
	bool removed = false;
	struct stat status;
	const char *text;
	size_t len;

	for (;;) {
		int got = reader_next(&r->reader, &text, &len, found);
		int64_t left = g->timeout_ms; /* milliseconds; negative: no limit */

		if (got == -1)
			return found->code == ERROR_INVALID_INPUT ? AWF_FORMAT : code_of(found);
		if (got == 1) {
			shared_describe_line(r, text, len, g->line);
			g->got = true;
			return AWF_OK;
		}
		if (removed)
			return guard_set_error(found, AWF_SYSTEM, r->reader.path, "was removed");
		/* What was written before the removal is read first. */
		removed = fstat(r->reader.fd, &status) == 0 && status.st_nlink == 0;
		if (removed)
			continue;
		if (left > 0 && (left += begun - clock_monotonic()) < 0)
			left = 0;
		if (left == 0)
			return AWF_OK;
		/* What came before the watch was set up is searched for once more. */
		if (!r->watching) {
			watch_open(&r->watch);
			if (watch_add(&r->watch, r->reader.path, found) == -1)
				watch_close(&r->watch); /* it is polled often instead */
			r->watching = true;
			continue;
		}
		errno = 0;
		watch_wait(&r->watch, -1, left < 0 ? -1 : (int)left);
		if (errno == EINTR)
			return AWF_OK; /* a signal handler ran */
		watch_drain(&r->watch);
	}
}

int
awf_read(struct awf_reader *reader, int timeout_ms, struct awf_line *line, struct awf_error *err)
{
	struct reading g = { .reader = reader, .timeout_ms = timeout_ms, .line = line };

	if (guard_run(shared_read_line, &g, err) != AWF_OK)
		return -1;
	return g.got ? 1 : 0;
}

/* ---- the run ---- */

struct liveness {
	const struct awf_reader *reader;
	bool alive;
};

static enum awf_code
shared_check_run_alive(void *context, struct error *found)
{
	struct liveness *l = context;
	const char *path = l->reader->reader.path;
	char run_id[ID_SIZE];
	struct event_view view;
	struct reader first;
	const char *text;
	struct error none;
	size_t len;

	(void)found;
	memcpy(run_id, l->reader->run_id, ID_SIZE);
	if (run_id[0] == '\0' && reader_open(&first, path, &none) == 0) {
		if (reader_next(&first, &text, &len, &none) == 1 &&
		    event_view(text, len, &view) == 0)
			event_copy_id(view.run_id, run_id);
		reader_close(&first);
	}
	l->alive = transcript_alive(path, run_id);
	return AWF_OK;
}

int
awf_reader_alive(const struct awf_reader *reader)
{
	struct liveness l = { .reader = reader };

	return guard_run(shared_check_run_alive, &l, NULL) == AWF_OK && l.alive;
}
