/*
 * Before the lock is taken, the line is made (transcript/line.h), blobs are written, and the filter
 * has masked the event.
 */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/invariant.h"
#include "base/memory.h"
#include "transcript/event.h"
#include "transcript/event_keys.h"
#include "transcript/torn.h"
#include "transcript/transcript.h"
#include "transcript/transcript_file.h"

/* The members of the first line before its causes have a fixed form, and fit into this many
 * bytes. */
#define FIRST_IDS ((size_t)256)

/* Checks that of an event of a masked run only text is written that has passed the filter. */
static bool
event_is_masked(const struct transcript *t, const struct event *e)
{
	return !t->masked || (t->redaction != NULL &&
	    (e->payload.at == NULL || e->payload.at == t->redaction->payload.data));
}

/* Reads the parent run's id from the first line; only the first call does. */
static void
find_parent_run(struct transcript *t)
{
	static const char key[] = ",\"" KEY_PARENT_RUN_ID "\":\"";
	char text[FIRST_IDS];
	ssize_t len = pread(t->fd, text, sizeof text - 1, 0);
	const char *at;

	if (len <= 0)
		return;
	t->parent_known = true;
	text[len] = '\0';
	at = strstr(text, key);
	if (at == NULL || strcspn(at + strlen(key), "\"") != ID_SIZE - 1 ||
	    !id_valid(at + strlen(key), ID_SIZE - 1))
		return;
	memcpy(t->parent_run_id, at + strlen(key), ID_SIZE - 1);
}

/* Builds t->line, except for what is known only with the lock held. */
static int
transcript_line(struct transcript *t, struct event *e, struct error *err)
{
	const struct line_place place = { t->path, t->blobs, t->run_id, t->sync != SYNC_NONE };

	if (e->event_id == NULL)
		id_new(e->id);
	else
		memcpy(e->id, e->event_id, ID_SIZE);
	if (e->parent_run_id == NULL && !t->parent_known)
		find_parent_run(t);
	if (e->parent_run_id == NULL && t->parent_run_id[0] != '\0')
		e->parent_run_id = t->parent_run_id;
	if (t->masked && t->redaction == NULL)
		return error_set(err, ERROR_SYSTEM, t->path,
		    "the run is masked, and its filter is not known here: nothing is written");
	if (t->masked && redaction_apply(t->redaction, t->run_id, e, err) == -1)
		return -1;
	return line_make(&t->line, &place, e, err);
}

/* Appends t->line; the caller has read the file up to its end. */
static int
append_line(struct transcript *t, struct event *e, struct error *err)
{
	int64_t wall = clock_wall(), last = t->wall;
	struct span line;
	ssize_t n;

	if (t->wall < wall)
		t->wall = wall;
	line_finish(&t->line, e, t->seq + 1, t->wall, t->prev);
	line = line_span(&t->line);
	INVARIANT(transcript_may_write(t) && event_is_masked(t, e));
	INVARIANT(e->seq == t->seq + 1 && t->wall >= last);
	INVARIANT(t->parent_run_id[0] == '\0' || e->parent_run_id != NULL);
	n = write(t->fd, line.at, line.len);
	if (n == (ssize_t)line.len) {
		t->seq = e->seq;
		t->last = e->type;
		t->decided = false;
		t->size += (int64_t)line.len;
		INVARIANT(transcript_holds(t));
		return 0;
	}

	/* Writing the rest shows why the write was short. Its LF is not written with it, since a
	 * reader would then take the line for complete before it is cut off. */
	int cause = errno;
	if (n != -1) {
		size_t rest = line.len - (size_t)n;

		cause = rest > 1 && write(t->fd, line.at + n, rest - 1) == -1 ? errno : EIO;
	}
	bool cut = ftruncate(t->fd, t->size) == 0;
	errno = cause;
	return error_errno(err, ERROR_SYSTEM, t->path, "unable to append%s",
	    cut || n == -1 ? "" : ", and a torn line is left for the next writer to move");
}

/* Appends lines that were built elsewhere; the caller has read the file up to its end. If a write
 * fails, lines that are complete in the file stay there. */
static int
append_lines(struct transcript *t, struct span lines, struct error *err)
{
	int64_t start = t->size;
	size_t done = 0, whole;
	ssize_t n = 1;
	int result = 1;

	INVARIANT(transcript_may_write(t) && lines.len > 0 && lines.at[lines.len - 1] == '\n');
	while (n > 0 && done < lines.len) {
		n = write(t->fd, lines.at + done, lines.len - done);
		done += n > 0 ? (size_t)n : 0;
	}
	whole = done;
	if (done < lines.len) {
		int cause = n == 0 ? EIO : errno;
		bool cut;

		while (whole > 0 && lines.at[whole - 1] != '\n')
			whole--;
		cut = done == whole || ftruncate(t->fd, start + (int64_t)whole) == 0;
		errno = cause;
		result = error_errno(err, ERROR_SYSTEM, t->path, "unable to append%s",
		    cut ? "" : ", and a torn line is left for the next writer to move");
	}
	if (whole > 0 && transcript_learn_tail(t, start + (int64_t)whole, err) == -1)
		result = -1;
	return result;
}

/* Called with the lock held. */
typedef int decide_function(void *context, struct event *e, struct error *err);

/* Called after the lock was released, because the reader of the text may be slow. */
static void
transcript_report_repair(const struct transcript *t, int64_t moved)
{
	char *torn, *text;

	if (moved == 0 || t->repaired == NULL)
		return;
	torn = torn_path(t->path);
	text = memory_format("%s: moved %lld bytes of a torn line to %s", t->path, (long long)moved,
	    torn);
	t->repaired(text);
	free(text);
	free(torn);
}

/* ahead: build the line before the lock is taken. */
static int
transcript_append_event(struct transcript *t, struct event *e, bool ahead, decide_function *decide,
    void *context, struct error *err)
{
	sigset_t before;
	int64_t moved = 0;
	int result;

	if (transcript_own(t, err) == -1 || (ahead && transcript_line(t, e, err) == -1) ||
	    transcript_lock(t, &before, err) == -1)
		return -1;
	result = transcript_catch_up(t, &moved, err);
	if (result == 0 && decide != NULL)
		result = decide(context, e, err);
	if (result != -1 && !ahead)
		result = transcript_line(t, e, err);
	if (result != -1)
		result = append_line(t, e, err);
	transcript_unlock(t, &before);

	transcript_report_repair(t, moved);
	if (result == -1)
		return -1;
	/* Outside the lock, because hashing takes time. */
	struct span line = line_span(&t->line);
	digest_blake2b(line.at, line.len - 1, t->prev);
	return t->sync == SYNC_EVENT ? transcript_sync(t, err) : 0;
}

int
transcript_append(struct transcript *t, struct event *e, struct error *err)
{
	return transcript_append_event(t, e, true, NULL, NULL, err);
}

int
transcript_append_deciding(struct transcript *t, struct event *e,
    int (*decide)(void *context, struct event *e, struct error *err), void *context,
    struct error *err)
{
	return transcript_append_event(t, e, false, decide, context, err);
}

int
transcript_append_allowed(struct transcript *t, struct event *e,
    int (*allow)(void *context, struct event *e, struct error *err), void *context,
    struct error *err)
{
	return transcript_append_event(t, e, true, allow, context, err);
}

int
transcript_extend(struct transcript *t, struct span lines, int64_t seq, const char *prev,
    struct error *err)
{
	sigset_t before;
	int64_t moved = 0;
	int result;

	if (transcript_own(t, err) == -1 || transcript_lock(t, &before, err) == -1)
		return -1;
	result = transcript_catch_up(t, &moved, err);
	if (result == 0 && seq == t->seq + 1 && memcmp(prev, t->prev, DIGEST_SIZE - 1) == 0)
		result = append_lines(t, lines, err);
	transcript_unlock(t, &before);
	transcript_report_repair(t, moved);
	return result;
}
