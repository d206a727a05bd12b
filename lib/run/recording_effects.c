/*
 * What encloses a call stands before it, and a root before its chain: so one pass from the
 * last call to the first brings what is known of each up to all that enclose it.
 */
#include "run/recording.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/memory.h"
#include "base/text.h"
#include "transcript/call.h"
#include "transcript/event_keys.h"

#define WHAT_COLUMNS 72 /* of the text that says what was done */

static bool
unfinished(const struct recorded_call *c)
{
	return c->reopened || c->state == RECALL_OPEN || c->state == RECALL_FAILED;
}

/* Why nobody knows whether the call did what it does; NULL if that is known, or if
 * doing it twice does no harm. */
static const char *
call_doubt(const struct recorded_call *c)
{
	if (!c->effects || c->idempotent || !unfinished(c) || c->reopened)
		return NULL;
	return c->state == RECALL_OPEN ? "cut off" : c->cut;
}

static bool
tool_in_doubt(const struct recorded_tool *t)
{
	return t->cut != NULL && !t->idempotent && !t->repeated && !t->answered;
}

/* The next tool call in doubt of the call's chain, from i on. */
static size_t
next_doubt(const struct recording *rec, size_t i)
{
	while (i != NO_TOOL && !tool_in_doubt(&rec->tools[i]))
		i = rec->tools[i].before;
	return i;
}

static size_t
first_doubt(const struct recording *rec, size_t call)
{
	const struct recorded_call *c = &rec->calls[call];

	return unfinished(c) ? next_doubt(rec, rec->calls[c->root].last_tool) : NO_TOOL;
}

static bool
succeeded(const struct recorded_call *c)
{
	return c->state == RECALL_SUCCEEDED && !c->reopened && c->left_by == 0;
}

/* Whether nothing of the call will be made again: a call around it succeeded, or one
 * around it lost a race. */
static bool
over(const struct recording *rec, size_t call)
{
	for (size_t i = rec->calls[call].enclosing; i != NO_CALL; i = rec->calls[i].enclosing) {
		size_t winner = rec->calls[rec->calls[i].root].winner;

		if (succeeded(&rec->calls[recording_latest(rec, i)]) ||
		    (winner != NO_CALL && succeeded(&rec->calls[recording_latest(rec, winner)])))
			return true;
	}
	return false;
}

bool
recording_own_doubt(const struct recording *rec, size_t call)
{
	return call_doubt(&rec->calls[call]) != NULL || first_doubt(rec, call) != NO_TOOL;
}

bool
recording_doubtful(const struct recording *rec, size_t call)
{
	return recording_own_doubt(rec, call) && !over(rec, call);
}

/* What the steps of a child run did is in its own record. */
static bool
child_in_doubt(const struct recorded_call *c)
{
	return c->child != NULL && (c->state == RECALL_OPEN || c->cut != NULL);
}

void
recording_note_doubts(struct recording *rec)
{
	/* What encloses a call stands before it, and so does a root before its chain. */
	for (size_t i = rec->call_count; i-- > 0;) {
		const struct recorded_call *c = &rec->calls[i];

		if (c->enclosing != NO_CALL && ((c->root == i && c->doubt_inside) ||
		    (recording_counts(rec, i) && (recording_doubtful(rec, i) || child_in_doubt(c)))))
			rec->calls[rec->calls[c->enclosing].root].doubt_inside = true;
	}
}

/* Whether a tool of the call, in any attempt, began to change something. */
static bool
tool_began(const struct recording *rec, size_t call)
{
	size_t tool = rec->calls[rec->calls[call].root].last_tool;

	while (tool != NO_TOOL && rec->tools[tool].blocked)
		tool = rec->tools[tool].before;
	return tool != NO_TOOL;
}

static bool
attempt_began(const struct recorded_call *c)
{
	return c->effects && !c->idle && c->state != RECALL_SKIPPED;
}

bool
recording_began(const struct recording *rec, size_t call)
{
	if (rec->calls[rec->calls[call].root].began_inside || tool_began(rec, call))
		return true;
	for (; call != NO_CALL; call = rec->calls[call].claims)
		if (attempt_began(&rec->calls[call]))
			return true;
	return false;
}

bool
recording_only_begun(const struct recording *rec, size_t call)
{
	if (rec->calls[rec->calls[call].root].began_inside || tool_began(rec, call))
		return false;
	for (; call != NO_CALL; call = rec->calls[call].claims)
		if (rec->calls[call].state != RECALL_OPEN && !rec->calls[call].idle)
			return false;
	return true;
}

/* Whether a call's own work has changed something, or may have: one that failed by itself
 * has not. Of a child run that ended well nobody knows here. */
static bool
attempt_changed(const struct recorded_call *c)
{
	if (c->idle || c->state == RECALL_SKIPPED)
		return false;
	if (c->child != NULL)
		return c->state == RECALL_SUCCEEDED;
	return c->effects && !c->idempotent && (c->state != RECALL_FAILED || c->cut != NULL);
}

/* Whether a tool of the call has, in any attempt. */
static bool
tool_changed(const struct recording *rec, size_t call)
{
	size_t tool = rec->calls[rec->calls[call].root].last_tool;

	while (tool != NO_TOOL && (rec->tools[tool].blocked || rec->tools[tool].idempotent))
		tool = rec->tools[tool].before;
	return tool != NO_TOOL;
}

static void
note_changed(struct recording *rec, size_t call)
{
	const struct recorded_call *c = &rec->calls[call];
	size_t *around = &rec->calls[rec->calls[c->enclosing].root].changed_inside;

	if (attempt_changed(c) || (c->root == call && tool_changed(rec, call)))
		*around = call;
	else if (c->root == call && c->changed_inside != NO_CALL)
		*around = c->changed_inside;
}

void
recording_note_began(struct recording *rec)
{
	/* What encloses a call stands before it, and so does a root before its chain. */
	for (size_t i = rec->call_count; i-- > 0;) {
		const struct recorded_call *c = &rec->calls[i];

		if (c->enclosing != NO_CALL && c->left_by == 0 && (attempt_began(c) || (c->root == i &&
		    (c->began_inside || tool_began(rec, i)))))
			rec->calls[rec->calls[c->enclosing].root].began_inside = true;
		if (c->enclosing != NO_CALL && c->left_by == 0)
			note_changed(rec, i);
	}
}

/* Reads a line as it stands in its source. */
static int
load_line(const struct recording *rec, const struct place *place, struct buffer *line,
    struct error *err)
{
	const char *path = history_source(rec->spec, place->source)->path;
	int fd = file_open_plain(path, O_RDONLY, 0);
	ssize_t got;

	if (fd < 0)
		return error_errno(err, ERROR_SYSTEM, path, "unable to open");
	got = pread(fd, buffer_reserve(line, place->len), place->len, (off_t)place->offset);
	if (got == (ssize_t)place->len)
		line->len += place->len;
	else
		error_errno(err, ERROR_SYSTEM, path, "unable to read");
	close(fd);
	return got == (ssize_t)place->len ? 0 : -1;
}

/* One line of text on what was done: a command, or a tool's arguments. */
static char *
describe(const struct buffer *line, bool tool)
{
	struct span payload = span_member(span_of(line->data, line->len), KEY_PAYLOAD);
	struct span what = span_member(payload, tool ? KEY_INPUT : KEY_AGENT);
	struct buffer text = BUFFER_INIT, shown = BUFFER_INIT;

	if (!tool && span_member(payload, KEY_BLOCKS).at != NULL)
		what = span_member(span_element(span_member(payload, KEY_BLOCKS), 0), KEY_COMMAND);
	if (span_type(what) == 's')
		span_decode(what, &text);
	else
		buffer_append(&text, what.at, what.len);
	text_visible(&shown, buffer_string(&text), text.len, WHAT_COLUMNS);
	buffer_free(&text);
	return buffer_take(&shown);
}

static int
add_doubt(const struct recording *rec, struct history_summary *summary, size_t call,
    const struct recorded_tool *tool, struct error *err)
{
	const struct recorded_call *c = &rec->calls[call];
	struct buffer line = BUFFER_INIT;
	struct history_doubt *d;

	if (load_line(rec, tool != NULL ? &tool->place : &c->begin, &line, err) != 0) {
		buffer_free(&line);
		return -1;
	}
	summary->doubts = memory_array(summary->doubts, summary->doubt_count + 1,
	    sizeof *summary->doubts);
	d = &summary->doubts[summary->doubt_count++];
	*d = (struct history_doubt){ .call = memory_format("%s%s",
		rec->spec->prefix != NULL ? rec->spec->prefix : "", c->id),
		.why = tool != NULL ? tool->cut : call_doubt(c),
		.decided = recording_decision(rec, call) };
	if (tool != NULL)
		d->tool = span_text(span_path(span_of(line.data, line.len), KEY_PAYLOAD, KEY_NAME, NULL));
	d->what = describe(&line, tool != NULL);
	span_copy(span_member(span_of(line.data, line.len), KEY_TIMESTAMP), d->timestamp,
	    sizeof d->timestamp);
	buffer_free(&line);
	return 0;
}

int
recording_doubts(const struct recording *rec, struct history_summary *summary,
    struct error *err)
{
	if (rec->spec->mode == RECALL_REPLAY)
		return 0;
	for (size_t i = 0; i < rec->call_count; i++) {
		if (!recording_counts(rec, i) || over(rec, i))
			continue;
		if (call_doubt(&rec->calls[i]) != NULL && add_doubt(rec, summary, i, NULL, err) != 0)
			return -1;
		for (size_t t = first_doubt(rec, i); t != NO_TOOL;
		     t = next_doubt(rec, rec->tools[t].before))
			if (add_doubt(rec, summary, i, &rec->tools[t], err) != 0)
				return -1;
	}
	return 0;
}
