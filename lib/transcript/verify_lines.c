/*
 * Checks are made one after another, and each may rely on those before it. If none finds a fault,
 * the ids and calls that later lines may refer to are stored as fingerprints (open or ended), so
 * memory grows by eight bytes for each id. Ends are matched with starts: for calls by attempt and
 * call, for tools by the event that called them, for waits by the event that waits. A blob that
 * many lines name is read once.
 */
#include "transcript/verify_lines.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/digest.h"
#include "base/invariant.h"
#include "io/file.h"
#include "transcript/definition_file.h"
#include "transcript/event_keys.h"
#include "transcript/layout.h"
#include "transcript/seal.h"

bool
verify_fault(struct verify_lines *v, enum verify_rule rule, const char *at, const char *format, ...)
{
	struct verify_report *report = v->report;
	char text[512];
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(text, sizeof text, format, arguments);
	va_end(arguments);
	INVARIANT((int)rule < VERIFY_RULES);
	INVARIANT(at == NULL || (at >= v->line.at && at <= v->line.at + v->line.len));
	report->faulty = true;
	report->rule = rule;
	report->line = report->lines;
	report->byte = v->line_start + (at ? at - v->line.at : 0);
	report->intact = v->line_start;
	report->damage = rule == VERIFY_JSON || rule == VERIFY_WHOLE || rule == VERIFY_SEQ;
	error_set(&report->fault, ERROR_SCHEMA, NULL, "%s", text);
	return false;
}

/* The text of a string token, for messages; ids need no decoding. */
#define TEXT(span) (int)((span).len - 2), (span).at + 1

/* Whether the cause of an event is on an earlier line; mostly it is on the last one. */
static bool
is_known(const struct verify_lines *v, struct span event_id)
{
	if (memcmp(event_id.at + 1, v->last_id, ID_SIZE - 1) == 0)
		return true;
	return fingerprints_find(&v->ids, fingerprints_of(&v->ids, event_id.at + 1, ID_SIZE - 1)) !=
	    FINGERPRINT_ABSENT;
}

/* Checks seq and time, and that the line belongs to this run. */
static bool
check_order(struct verify_lines *v, const struct form *form)
{
	if (form->seq != v->report->lines)
		return verify_fault(v, VERIFY_SEQ, NULL,
		    "seq is %lld, not %lld: lines are missing or in disorder",
		    (long long)form->seq, (long long)v->report->lines);
	if (memcmp(form->timestamp.at + 1, v->timestamp, sizeof v->timestamp - 1) < 0)
		return verify_fault(v, VERIFY_TIME, form->timestamp.at,
		    "timestamp is earlier than that of the line before");
	if (v->run_id[0] == '\0') {
		span_copy(form->run_id, v->run_id, sizeof v->run_id);
		if (v->root != NULL)
			v->blob_directory = layout_blobs(v->root, v->run_id);
		if (form->parent_run_id.at)
			span_copy(form->parent_run_id, v->parent_run_id, sizeof v->parent_run_id);
	}
	if (memcmp(form->run_id.at + 1, v->run_id, ID_SIZE - 1) != 0)
		return verify_fault(v, VERIFY_IDS, form->run_id.at, "run_id is not that of line 1");
	/* Older versions wrote parent_run_id only into run.started. */
	if (form->parent_run_id.at &&
	    memcmp(form->parent_run_id.at + 1, v->parent_run_id, ID_SIZE - 1) != 0)
		return verify_fault(v, VERIFY_IDS, form->parent_run_id.at,
		    "parent_run_id is not that of line 1");
	return true;
}

/* Checks that parent and links are earlier events. The event's own id is added afterwards, so an
 * event cannot be its own cause; and it must be a new id. */
static bool
check_causes(struct verify_lines *v, const struct form *form)
{
	struct span parent = form->parent_event_id, event_id, run_id;

	if (parent.at[0] == 'n') {
		if (form->type != EVENT_RUN_STARTED && form->type != EVENT_TYPES)
			return verify_fault(v, VERIFY_CAUSES, parent.at, "a %s needs a parent_event_id",
			    event_type_name(form->type));
	} else if (form->type == EVENT_RUN_STARTED) {
		return verify_fault(v, VERIFY_CAUSES, parent.at, "run.started has a parent_event_id");
	} else if (!is_known(v, parent)) {
		return verify_fault(v, VERIFY_CAUSES, parent.at, "parent_event_id %.*s is no earlier event",
		    TEXT(parent));
	} else if (form->type == EVENT_RUN_COMPLETED &&
	    memcmp(parent.at + 1, v->started, ID_SIZE - 1) != 0) {
		return verify_fault(v, VERIFY_CAUSES, parent.at,
		    "the parent of run.completed is not the attempt's run.started");
	}

	if (form->links.at) {
		for (struct span_walk link = span_walk(form->links); span_next(&link);) {
			form_link(link.value, &event_id, &run_id);
			if (!(run_id.at && memcmp(run_id.at + 1, v->run_id, ID_SIZE - 1) != 0) &&
			    !is_known(v, event_id))
				return verify_fault(v, VERIFY_CAUSES, link.value.at,
				    "link %.*s is no earlier event", TEXT(event_id));
		}
	}

	event_id = form->event_id;
	v->id = fingerprints_of(&v->ids, event_id.at + 1, ID_SIZE - 1);
	if (fingerprints_find(&v->ids, v->id) != FINGERPRINT_ABSENT)
		return verify_fault(v, VERIFY_IDS, event_id.at, "event_id %.*s stands twice",
		    TEXT(event_id));
	return true;
}

/* The fingerprint by which an end is matched with its start: of the kind (call, wait, tool call),
 * of what it belongs to, and of its name there. */
static uint64_t
verify_lines_fingerprint(struct verify_lines *v, const struct fingerprints *set, char kind,
    const void *owner, size_t len, struct span name)
{
	buffer_clear(&v->key);
	buffer_byte(&v->key, kind);
	buffer_append(&v->key, owner, len);
	buffer_append(&v->key, name.at, name.len);
	return fingerprints_of(set, v->key.data, v->key.len);
}

/* A call is identified by its attempt, its kind of event and its name. */
static uint64_t
call_fingerprint(struct verify_lines *v, int64_t attempt, const struct form *form)
{
	bool workflow = form->type == EVENT_CALL_WORKFLOW_STARTED ||
	    form->type == EVENT_CALL_WORKFLOW_COMPLETED;

	return verify_lines_fingerprint(v, &v->calls, workflow ? 'w' : 's', &attempt,
	    sizeof attempt, form->call);
}

/* A tool call is identified by the event that calls it and its call_id. */
static uint64_t
tool_fingerprint(struct verify_lines *v, struct span event, const struct form *form)
{
	return verify_lines_fingerprint(v, &v->calls, 't', event.at, event.len, form->call_id);
}

/* Checks that a line ends something that was started: a call, a wait, or a tool call. A decision
 * ends a wait, wherever the decision is in the file, but only once; a wait is identified by the
 * event that ended its call as waiting. A decision that comes before that event refers to the
 * call's start instead; then there may be one for each try. */
static bool
check_end(struct verify_lines *v, const struct form *form)
{
	struct span decides = form->decides, parent = form->parent_event_id, name = form->call;
	const char *twice = "call %.*s was completed before in this attempt";
	const char *never = "call %.*s was not started in this attempt";

	v->pairs = &v->calls;
	if (form->type == EVENT_TOOL_RESULT) {
		name = form->call_id;
		v->pair = tool_fingerprint(v, parent, form);
		twice = "tool call %.*s has a second result";
		never = "the parent of this result is no tool.call %.*s";
	} else if (decides.at) {
		if (!span_same(parent, decides))
			return verify_fault(v, VERIFY_PAIRS, decides.at,
			    "a decision's parent_event_id is not what it decides about");
		v->pairs = &v->waits;
		v->pair = verify_lines_fingerprint(v, v->pairs, 'e', decides.at, decides.len, name);
		if (fingerprints_find(v->pairs, v->pair) == FINGERPRINT_OPEN) {
			v->pairs = NULL;
			return true;
		}
		v->pair = verify_lines_fingerprint(v, v->pairs, 'a', decides.at, decides.len, name);
		twice = "call %.*s was decided about before";
	} else {
		v->pair = call_fingerprint(v, v->report->attempts, form);
	}

	switch (fingerprints_find(v->pairs, v->pair)) {
	case FINGERPRINT_OPEN:
		return true;
	case FINGERPRINT_ENDED:
		return verify_fault(v, VERIFY_PAIRS, v->pairs == &v->waits ? decides.at : name.at, twice,
		    TEXT(name));
	default:
		if (v->pairs == &v->waits)
			return verify_fault(v, VERIFY_PAIRS, decides.at,
			    "%.*s is no end of call %.*s that waits", TEXT(decides), TEXT(name));
		return verify_fault(v, VERIFY_PAIRS, name.at, never, TEXT(name));
	}
}

static bool
check_pairs(struct verify_lines *v, const struct form *form)
{
	struct verify_report *report = v->report;
	long long attempt;

	if (report->lines == 1 && form->type != EVENT_RUN_STARTED)
		return verify_fault(v, VERIFY_PAIRS, form->type_name.at, "line 1 is no run.started");
	switch (form->type) {
	case EVENT_RUN_STARTED:
		if (span_integer(form->attempt, &attempt) && attempt == report->attempts + 1)
			return true;
		return verify_fault(v, VERIFY_PAIRS, form->attempt.at, "attempt is %.*s, not %lld",
		    (int)form->attempt.len, form->attempt.at, (long long)report->attempts + 1);
	case EVENT_RUN_COMPLETED:
		if (v->attempt_ended)
			return verify_fault(v, VERIFY_PAIRS, NULL, "attempt %lld has a second run.completed",
			    (long long)report->attempts);
		return true;
	case EVENT_STEP_STARTED:
	case EVENT_CALL_WORKFLOW_STARTED:
		v->pair = call_fingerprint(v, report->attempts, form);
		if (fingerprints_find(&v->calls, v->pair) == FINGERPRINT_ABSENT)
			return true;
		return verify_fault(v, VERIFY_PAIRS, form->call.at,
		    "call %.*s was started before in this attempt", TEXT(form->call));
	case EVENT_STEP_COMPLETED:
	case EVENT_CALL_WORKFLOW_COMPLETED:
	case EVENT_TOOL_RESULT:
		return check_end(v, form);
	default:
		return true;
	}
}

static bool
check_seal(struct verify_lines *v, const struct form *form)
{
	if (!form->signature.at || seal_valid(v->line, form->public_key.at + 1, form->signature.at + 1))
		return true;
	return verify_fault(v, VERIFY_SEAL, form->signature.at,
	    "the seal is no signature of this line by its public_key: one of them was changed");
}

/* Blobs. */

/* Whether the blob that an object names by sha256 and bytes exists; each is read once. */
static bool
check_blob(struct verify_lines *v, struct span ref)
{
	struct span bytes = span_member(ref, KEY_BYTES), name = span_member(ref, KEY_SHA256);
	char sha256[DIGEST_SIZE], found[DIGEST_SIZE], part[16384], *path;
	struct stat status;
	struct digest digest;
	long long size = -1;
	uint64_t blob;
	ssize_t n = -1;
	bool sound = false;
	int fd;

	span_integer(bytes, &size);
	span_copy(name, sha256, sizeof sha256);
	blob = verify_lines_fingerprint(v, &v->blobs, 'b', bytes.at, bytes.len, name);
	if (fingerprints_find(&v->blobs, blob) != FINGERPRINT_ABSENT)
		return true;

	path = path_join(v->blob_directory, sha256);
	fd = file_open_plain(path, O_RDONLY, 0);
	if (fd >= 0 && fstat(fd, &status) == 0) {
		digest_begin(&digest);
		while ((n = read(fd, part, sizeof part)) > 0)
			digest_add(&digest, part, (size_t)n);
	}
	if (fd < 0 && errno == ENOENT)
		verify_fault(v, VERIFY_BLOBS, ref.at, "blob %s is missing: no %s", sha256, path);
	else if (n < 0)
		error_errno(&v->unreadable, ERROR_SYSTEM, path, "unable to read the blob");
	else if (status.st_size != size || strcmp(digest_end(&digest, found), sha256) != 0)
		verify_fault(v, VERIFY_BLOBS, ref.at,
		    "blob %s is not the %lld bytes that it should be: see %s", sha256, size, path);
	else
		sound = true;
	if (fd >= 0)
		close(fd);
	free(path);
	if (sound) {
		fingerprints_add(&v->blobs, blob);
		v->report->blobs++;
	}
	return sound;
}

/* Places of values in a line, as fingerprints. A place is identified by the enclosing place and a
 * key or index. So one pass over the line finds the values of any number of refs. */
struct places {
	struct fingerprints set;  /* the places that refs name; ended: null was found there */
	struct buffer name;
	uint64_t other;           /* a place where something other than null was found; 0: none */
};

static uint64_t
place_of(struct places *p, uint64_t around)
{
	buffer_append(&p->name, &around, sizeof around);
	return fingerprints_of(&p->set, p->name.data, p->name.len);
}

/* The place that a JSON Pointer names. */
static uint64_t
place_of_pointer(struct places *p, struct span pointer)
{
	struct buffer text = BUFFER_INIT;
	uint64_t place = 0;
	size_t at = 0;

	span_decode(pointer, &text);
	while (at < text.len && text.data[at++] == '/') {
		buffer_clear(&p->name);
		for (; at < text.len && text.data[at] != '/'; at++) {
			bool escape = text.data[at] == '~' && at + 1 < text.len &&
			    (text.data[at + 1] == '0' || text.data[at + 1] == '1');

			at += escape;
			buffer_byte(&p->name, !escape ? text.data[at] : text.data[at] == '0' ? '~' : '/');
		}
		place = place_of(p, place);
	}
	buffer_free(&text);
	return place;
}

/* Ends the places at which a value has null. */
static void
find_nulls(struct places *p, struct span value, uint64_t place)
{
	uint64_t index = 0;

	if (span_type(value) == '0')
		fingerprints_end(&p->set, place);
	else if (fingerprints_find(&p->set, place) != FINGERPRINT_ABSENT)
		p->other = place;
	for (struct span_walk inside = span_walk(value); span_next(&inside);) {
		buffer_clear(&p->name);
		if (inside.key.at != NULL)
			span_decode(inside.key, &p->name);
		else
			buffer_format(&p->name, "%llu", (unsigned long long)index++);
		find_nulls(p, inside.value, place_of(p, place));
	}
}

/* Checks that each ref names a null in the line and a blob that exists. */
static bool
check_refs(struct verify_lines *v, const struct form *form)
{
	struct places places = { .name = BUFFER_INIT };
	const char *wrong = NULL;

	if (!form->refs.at)
		return true;
	fingerprints_begin(&places.set);
	for (struct span_walk ref = span_walk(form->refs); span_next(&ref);)
		fingerprints_add(&places.set, place_of_pointer(&places, span_member(ref.value, KEY_AT)));
	find_nulls(&places, v->line, 0);
	for (struct span_walk ref = span_walk(form->refs); wrong == NULL && span_next(&ref);) {
		uint64_t place = place_of_pointer(&places, span_member(ref.value, KEY_AT));

		if (place == places.other || fingerprints_find(&places.set, place) != FINGERPRINT_ENDED)
			wrong = ref.value.at;
	}
	fingerprints_free(&places.set);
	buffer_free(&places.name);
	if (wrong != NULL)
		return verify_fault(v, VERIFY_BLOBS, wrong,
		    "the value that this ref stands for is not null");
	for (struct span_walk ref = span_walk(form->refs); span_next(&ref);)
		if (v->root != NULL && !check_blob(v, ref.value))
			return false;
	return true;
}

/* Checks the stored copies of files and of the workflow's output. If the transcript is outside of a
 * storage, they may be missing. */
static bool
check_kept(struct verify_lines *v, const struct form *form)
{
	struct definition_file file;
	bool sound = true;

	if (v->root == NULL || (!form->output.at && !form->files.at))
		return true;
	if (access(v->blob_directory, F_OK) != 0) {
		char *path = layout_transcript(v->root, v->run_id);
		bool stored = access(path, F_OK) == 0;

		free(path);
		if (!stored)
			return true;
	}
	if (form->output.at && span_type(form->output) == 'o' && !check_blob(v, form->output))
		return false;
	if (!form->files.at || span_type(form->files) != 'a')
		return true;
	for (struct span_walk element = span_walk(form->files); sound && span_next(&element);) {
		if (span_type(element.value) != 'o' || !definition_file_read(&file, element.value))
			continue;
		sound = !file.kept || check_blob(v, element.value);
		definition_file_free(&file);
	}
	return sound;
}

/* Notes what the line claims about another run; claims are checked after all lines. */
static void
note_run(struct verify_lines *v, enum linkage_kind kind, struct span run_id)
{
	if (run_id.at)
		linkage_claim(&v->linkage, kind, run_id, SPAN_NONE, v->report->lines,
		    v->line_start + (run_id.at - v->line.at));
}

static void
note_runs(struct verify_lines *v, const struct form *form)
{
	struct span event_id, run_id;

	if (form->links.at) {
		for (struct span_walk link = span_walk(form->links); span_next(&link);) {
			form_link(link.value, &event_id, &run_id);
			if (run_id.at && memcmp(run_id.at + 1, v->run_id, ID_SIZE - 1) != 0)
				linkage_claim(&v->linkage, LINKAGE_EVENT, run_id, event_id,
				    v->report->lines, v->line_start + (link.value.at - v->line.at));
		}
	}
	note_run(v, LINKAGE_CHILD, form->child_run_id);
	if (form->type == EVENT_RUN_STARTED)
		note_run(v, LINKAGE_PARENT, form->parent_run_id);
}

static void
note_unknown(struct verify_unknown *unknown, int64_t line, struct span token)
{
	if (unknown->lines++ > 0)
		return;
	unknown->first = line;
	snprintf(unknown->name, sizeof unknown->name, "%.*s", TEXT(token));
}

static void
note_pairs(struct verify_lines *v, const struct form *form)
{
	struct verify_report *report = v->report;

	switch (form->type) {
	case EVENT_RUN_STARTED:
		v->attempts_died += report->attempts > 0 && !v->attempt_ended;
		report->attempts++;
		v->attempt_ended = false;
		memcpy(v->started, form->event_id.at + 1, ID_SIZE - 1);
		break;
	case EVENT_RUN_COMPLETED:
		v->attempt_ended = true;
		break;
	case EVENT_STEP_STARTED:
	case EVENT_CALL_WORKFLOW_STARTED:
		report->calls++;
		fingerprints_add(&v->calls, v->pair);
		if (form->task.at)
			fingerprints_add(&v->waits,
			    verify_lines_fingerprint(v, &v->waits, 'e', form->event_id.at,
			    form->event_id.len, form->call));
		break;
	case EVENT_STEP_WAITING:
		fingerprints_add(&v->waits,
		    verify_lines_fingerprint(v, &v->waits, 'a', form->event_id.at,
		    form->event_id.len, form->call));
		break;
	case EVENT_TOOL_CALL:
		report->tool_calls++;
		fingerprints_add(&v->calls, tool_fingerprint(v, form->event_id, form));
		break;
	case EVENT_STEP_COMPLETED:
	case EVENT_CALL_WORKFLOW_COMPLETED:
	case EVENT_TOOL_RESULT:
		INVARIANT(v->pairs == NULL || fingerprints_find(v->pairs, v->pair) == FINGERPRINT_OPEN);
		if (v->pairs != NULL)
			fingerprints_end(v->pairs, v->pair);
		if (form->asks.at && form->type != EVENT_TOOL_RESULT)
			fingerprints_add(&v->waits,
			    verify_lines_fingerprint(v, &v->waits, 'a', form->event_id.at,
			    form->event_id.len, form->call));
		break;
	default:
		break;
	}
}

/* Notes with which key the transcript is sealed. A line after a sealed one clears that, except a
 * decision about a call that is signed with the same key. */
static void
note_seal(struct verify_lines *v, const struct form *form)
{
	char *sealed_by = v->report->sealed_by;

	if (form->signature.at && (form->type == EVENT_RUN_COMPLETED ||
	    memcmp(form->public_key.at + 1, sealed_by, DIGEST_SIZE - 1) == 0))
		span_copy(form->public_key, sealed_by, DIGEST_SIZE);
	else
		sealed_by[0] = '\0';
}

/* Invariant: the state after a line without a fault. */
static bool
lines_hold(const struct verify_lines *v)
{
	const struct verify_report *report = v->report;

	return v->ids.count == (size_t)report->lines && strlen(v->run_id) == ID_SIZE - 1 &&
	    strlen(v->last_id) == ID_SIZE - 1 && strlen(v->started) == ID_SIZE - 1 &&
	    report->attempts >= 1 && v->attempts_died < report->attempts &&
	    v->calls.count == (size_t)(report->calls + report->tool_calls) &&
	    v->blobs.count == (size_t)report->blobs;
}

/* Stores what later lines need to know of a line without a fault. */
static void
note_line(struct verify_lines *v, const struct form *form)
{
	span_copy(form->timestamp, v->timestamp, sizeof v->timestamp);
	fingerprints_add(&v->ids, v->id);
	memcpy(v->last_id, form->event_id.at + 1, ID_SIZE - 1);
	note_pairs(v, form);
	note_seal(v, form);
	if (v->root != NULL)
		note_runs(v, form);
	if (form->type == EVENT_TYPES && !form->foreign)
		note_unknown(&v->types, v->report->lines, form->type_name);
	if (form->unknown_key.at)
		note_unknown(&v->keys, v->report->lines, form->unknown_key);
	INVARIANT(lines_hold(v));
}

static bool
check_line(struct verify_lines *v)
{
	static const enum verify_rule rules[] = {
		[FORM_JSON] = VERIFY_JSON, [FORM_SCHEMA] = VERIFY_FORM, [FORM_NOTATION] = VERIFY_FORM,
	};
	const struct form *form = &v->form;
	const struct form_fault *wrong = &v->wrong;

	if (form_check(v->line.at, v->line.len, &v->form, &v->wrong) != 0) {
		verify_fault(v, rules[wrong->rule], v->line.at + wrong->at, "%s", wrong->what.message);
		v->report->damage = wrong->rule == FORM_JSON ||
		    !event_line_whole(v->line.at, v->line.len, NULL);
		return false;
	}
	/* In this order: each check may rely on the previous ones. */
	if (!check_order(v, form) || !check_causes(v, form) || !check_pairs(v, form) ||
	    !check_seal(v, form) || !check_refs(v, form) || !check_kept(v, form))
		return false;
	note_line(v, form);
	return true;
}

int
verify_lines_check(struct verify_lines *v, const char *lines, size_t len, int64_t at,
    struct error *err)
{
	const char *line = lines, *end = lines + len;

	while (line < end) {
		const char *stop = memchr(line, '\n', (size_t)(end - line));

		v->line = span_of(line, (size_t)((stop ? stop : end) - line));
		v->line_start = at + (line - lines);
		v->report->lines++;
		if (!check_line(v))
			break;
		if (v->take != NULL)
			v->take(v->context, v->line.at, v->line.len, v->line_start);
		line = v->line.at + v->line.len + 1;
	}
	if (v->unreadable.code != ERROR_NONE) {
		*err = v->unreadable;
		return -1;
	}
	return 0;
}

int
verify_lines_next(struct verify_lines *v, const char *line, size_t len, struct error *err)
{
	struct verify_report *report = v->report;

	v->line = span_of(line, len);
	report->lines++;
	if (check_line(v))
		return 0;
	*err = report->fault;
	report->faulty = false;
	report->lines--;
	if (report->lines == 0) {
		v->run_id[0] = v->parent_run_id[0] = '\0';
		free(v->blob_directory);
		v->blob_directory = NULL;
	}
	return -1;
}

bool
verify_lines_open(struct verify_lines *v, const struct form *form, int64_t attempt)
{
	uint64_t call;

	if (form->type == EVENT_TOOL_CALL)
		call = tool_fingerprint(v, form->event_id, form);
	else if (form->type == EVENT_STEP_STARTED || form->type == EVENT_CALL_WORKFLOW_STARTED)
		call = call_fingerprint(v, attempt, form);
	else
		return false;
	return fingerprints_find(&v->calls, call) == FINGERPRINT_OPEN;
}

void
verify_lines_begin(struct verify_lines *v, const char *root, struct verify_report *report)
{
	memset(v, 0, sizeof *v);
	v->root = root;
	v->report = report;
	fingerprints_begin(&v->ids);
	fingerprints_begin(&v->calls);
	fingerprints_begin(&v->waits);
	fingerprints_begin(&v->blobs);
}

void
verify_lines_free(struct verify_lines *v)
{
	fingerprints_free(&v->ids);
	fingerprints_free(&v->calls);
	fingerprints_free(&v->waits);
	fingerprints_free(&v->blobs);
	linkage_free(&v->linkage);
	buffer_free(&v->key);
	free(v->blob_directory);
}
