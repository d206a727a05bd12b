/*
 * A row of checks, each of which may rely on those before it. What has to be remembered of
 * all lines are sets of fingerprints (open, ended), so that memory grows by eight bytes an
 * id. Calls end by the pair of attempt and call, tools by the event that called them, waits
 * by the event that waits. A blob that many lines name is read once.
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
#include "base/file.h"
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
	report->faulty = true;
	report->rule = rule;
	report->line = report->lines;
	report->byte = v->line_start + (at ? at - v->line.at : 0);
	report->intact = v->line_start;
	report->damage = rule == VERIFY_JSON || rule == VERIFY_WHOLE || rule == VERIFY_SEQ;
	error_set(&report->fault, ERROR_SCHEMA, NULL, "%s", text);
	return false;
}

/* A string token's text, for messages; ids need no decoding. */
#define TEXT(span) (int)((span).len - 2), (span).at + 1

/* What holds between a line and those before it. */

static bool
check_seq(struct verify_lines *v, const struct form *form)
{
	if (form->seq == v->report->lines)
		return true;
	return verify_fault(v, VERIFY_SEQ, NULL, "seq is %lld, not %lld: lines are missing or in disorder",
	    (long long)form->seq, (long long)v->report->lines);
}

static bool
check_time(struct verify_lines *v, const struct form *form)
{
	if (memcmp(form->timestamp.at + 1, v->timestamp, sizeof v->timestamp - 1) < 0)
		return verify_fault(v, VERIFY_TIME, form->timestamp.at,
		    "timestamp is earlier than that of the line before");
	span_copy(form->timestamp, v->timestamp, sizeof v->timestamp);
	return true;
}

static bool
check_run_id(struct verify_lines *v, const struct form *form)
{
	if (v->run_id[0] == '\0') {
		span_copy(form->run_id, v->run_id, sizeof v->run_id);
		v->blob_directory = layout_blobs(v->root, v->run_id);
		if (form->parent_run_id.at)
			span_copy(form->parent_run_id, v->parent_run_id, sizeof v->parent_run_id);
	}
	if (memcmp(form->run_id.at + 1, v->run_id, ID_SIZE - 1) != 0)
		return verify_fault(v, VERIFY_IDS, form->run_id.at, "run_id is not that of line 1");
	/* Older versions wrote it on run.started alone. */
	if (form->parent_run_id.at &&
	    memcmp(form->parent_run_id.at + 1, v->parent_run_id, ID_SIZE - 1) != 0)
		return verify_fault(v, VERIFY_IDS, form->parent_run_id.at,
		    "parent_run_id is not that of line 1");
	return true;
}

/* Whether the event stands on an earlier line: mostly on the last one. */
static bool
is_known(const struct verify_lines *v, struct span event_id)
{
	if (memcmp(event_id.at + 1, v->last_id, ID_SIZE - 1) == 0)
		return true;
	return fingerprints_find(&v->ids, fingerprints_of(&v->ids, event_id.at + 1, ID_SIZE - 1)) !=
	    FINGERPRINT_ABSENT;
}

static bool
check_link(struct verify_lines *v, struct span link)
{
	struct span event_id, run_id;

	form_link(link, &event_id, &run_id);
	if (run_id.at && memcmp(run_id.at + 1, v->run_id, ID_SIZE - 1) != 0) {
		linkage_claim(&v->linkage, LINKAGE_EVENT, run_id, event_id, v->report->lines,
		    v->line_start + (link.at - v->line.at));
		return true;
	}
	return is_known(v, event_id) ||
	    verify_fault(v, VERIFY_CAUSES, link.at, "link %.*s is no earlier event", TEXT(event_id));
}

static bool
check_links(struct verify_lines *v, const struct form *form)
{
	if (!form->links.at)
		return true;
	for (struct span_walk link = span_walk(form->links); span_next(&link);) {
		if (!check_link(v, link.value))
			return false;
	}
	return true;
}

static bool
check_parent(struct verify_lines *v, const struct form *form)
{
	struct span parent = form->parent_event_id;

	if (parent.at[0] == 'n')
		return form->type == EVENT_RUN_STARTED || form->type == EVENT_TYPES ||
		    verify_fault(v, VERIFY_CAUSES, parent.at, "a %s needs a parent_event_id",
		        event_type_name(form->type));
	if (form->type == EVENT_RUN_STARTED)
		return verify_fault(v, VERIFY_CAUSES, parent.at, "run.started has a parent_event_id");
	if (!is_known(v, parent))
		return verify_fault(v, VERIFY_CAUSES, parent.at, "parent_event_id %.*s is no earlier event",
		    TEXT(parent));
	if (form->type == EVENT_RUN_COMPLETED &&
	    memcmp(parent.at + 1, v->started, ID_SIZE - 1) != 0)
		return verify_fault(v, VERIFY_CAUSES, parent.at,
		    "the parent of run.completed is not the attempt's run.started");
	return true;
}

/* After the causes: an event is not its own. */
static bool
check_event_id(struct verify_lines *v, const struct form *form)
{
	uint64_t fingerprint = fingerprints_of(&v->ids, form->event_id.at + 1, ID_SIZE - 1);

	if (fingerprints_add(&v->ids, fingerprint) != FINGERPRINT_ABSENT)
		return verify_fault(v, VERIFY_IDS, form->event_id.at, "event_id %.*s stands twice",
		    TEXT(form->event_id));
	memcpy(v->last_id, form->event_id.at + 1, ID_SIZE - 1);
	return true;
}

/* Pairs. */

static bool
start_attempt(struct verify_lines *v, const struct form *form)
{
	long long attempt;

	if (v->report->attempts > 0 && !v->attempt_ended)
		v->attempts_died++;
	v->report->attempts++;
	v->attempt_ended = false;
	memcpy(v->started, form->event_id.at + 1, ID_SIZE - 1);
	if (!span_integer(form->attempt, &attempt) || attempt != v->report->attempts)
		return verify_fault(v, VERIFY_PAIRS, form->attempt.at, "attempt is %.*s, not %lld",
		    (int)form->attempt.len, form->attempt.at, (long long)v->report->attempts);
	return true;
}

static bool
end_attempt(struct verify_lines *v, const struct form *form)
{
	(void)form;
	if (v->attempt_ended)
		return verify_fault(v, VERIFY_PAIRS, NULL, "attempt %lld has a second run.completed",
		    (long long)v->report->attempts);
	v->attempt_ended = true;
	return true;
}

/* A call is what its attempt, its kind of event and its name say. */
static uint64_t
call_fingerprint(struct verify_lines *v, int64_t attempt, const struct form *form)
{
	bool workflow = form->type == EVENT_CALL_WORKFLOW_STARTED ||
	    form->type == EVENT_CALL_WORKFLOW_COMPLETED;

	buffer_clear(&v->key);
	buffer_byte(&v->key, workflow ? 'w' : 's');
	buffer_append(&v->key, &attempt, sizeof attempt);
	buffer_append(&v->key, form->call.at, form->call.len);
	return fingerprints_of(&v->calls, v->key.data, v->key.len);
}

/* A tool's call is the event that calls it and its call_id. */
static uint64_t
tool_fingerprint(struct verify_lines *v, struct span call_event, const struct form *form)
{
	buffer_clear(&v->key);
	buffer_byte(&v->key, 't');
	buffer_append(&v->key, call_event.at, call_event.len);
	buffer_append(&v->key, form->call_id.at, form->call_id.len);
	return fingerprints_of(&v->calls, v->key.data, v->key.len);
}

static bool
start_call(struct verify_lines *v, const struct form *form)
{
	uint64_t call = call_fingerprint(v, v->report->attempts, form);

	v->report->calls++;
	if (fingerprints_add(&v->calls, call) == FINGERPRINT_ABSENT)
		return true;
	return verify_fault(v, VERIFY_PAIRS, form->call.at, "call %.*s was started before in this attempt",
	    TEXT(form->call));
}

/* An end that waits is the event and its call. */
static uint64_t
wait_fingerprint(struct verify_lines *v, struct span end, const struct form *form)
{
	buffer_clear(&v->key);
	buffer_append(&v->key, end.at, end.len);
	buffer_append(&v->key, form->call.at, form->call.len);
	return fingerprints_of(&v->waits, v->key.data, v->key.len);
}

/* A decision ends a wait, once, wherever it stands. */
static bool
end_wait(struct verify_lines *v, const struct form *form)
{
	if (form->parent_event_id.len != form->decides.len ||
	    memcmp(form->parent_event_id.at, form->decides.at, form->decides.len) != 0)
		return verify_fault(v, VERIFY_PAIRS, form->decides.at,
		    "a decision's parent_event_id is not what it decides about");
	switch (fingerprints_end(&v->waits, wait_fingerprint(v, form->decides, form))) {
	case FINGERPRINT_OPEN:
		return true;
	case FINGERPRINT_ENDED:
		return verify_fault(v, VERIFY_PAIRS, form->decides.at,
		    "call %.*s was decided about before", TEXT(form->call));
	default:
		return verify_fault(v, VERIFY_PAIRS, form->decides.at,
		    "%.*s is no end of call %.*s that waits", TEXT(form->decides), TEXT(form->call));
	}
}

static bool
end_call(struct verify_lines *v, const struct form *form)
{
	uint64_t call = call_fingerprint(v, v->report->attempts, form);

	if (form->asks.at)
		fingerprints_add(&v->waits, wait_fingerprint(v, form->event_id, form));
	if (form->decides.at)
		return end_wait(v, form);

	switch (fingerprints_end(&v->calls, call)) {
	case FINGERPRINT_OPEN:
		return true;
	case FINGERPRINT_ENDED:
		return verify_fault(v, VERIFY_PAIRS, form->call.at,
		    "call %.*s was completed before in this attempt", TEXT(form->call));
	default:
		return verify_fault(v, VERIFY_PAIRS, form->call.at,
		    "call %.*s was not started in this attempt", TEXT(form->call));
	}
}

static bool
start_tool(struct verify_lines *v, const struct form *form)
{
	v->report->tool_calls++;
	fingerprints_add(&v->calls, tool_fingerprint(v, form->event_id, form));
	return true;
}

static bool
end_tool(struct verify_lines *v, const struct form *form)
{
	uint64_t call = tool_fingerprint(v, form->parent_event_id, form);

	switch (fingerprints_end(&v->calls, call)) {
	case FINGERPRINT_OPEN:
		return true;
	case FINGERPRINT_ENDED:
		return verify_fault(v, VERIFY_PAIRS, form->call_id.at, "tool call %.*s has a second result",
		    TEXT(form->call_id));
	default:
		return verify_fault(v, VERIFY_PAIRS, form->call_id.at,
		    "the parent of this result is no tool.call %.*s", TEXT(form->call_id));
	}
}

static bool (*const pair_checks[EVENT_TYPES])(struct verify_lines *, const struct form *) = {
	[EVENT_RUN_STARTED] = start_attempt,
	[EVENT_RUN_COMPLETED] = end_attempt,
	[EVENT_STEP_STARTED] = start_call,
	[EVENT_STEP_COMPLETED] = end_call,
	[EVENT_CALL_WORKFLOW_STARTED] = start_call,
	[EVENT_CALL_WORKFLOW_COMPLETED] = end_call,
	[EVENT_TOOL_CALL] = start_tool,
	[EVENT_TOOL_RESULT] = end_tool,
};

static bool
check_pairs(struct verify_lines *v, const struct form *form)
{
	if (v->report->lines == 1 && form->type != EVENT_RUN_STARTED)
		return verify_fault(v, VERIFY_PAIRS, form->type_name.at, "line 1 is no run.started");
	if (form->type == EVENT_TYPES || !pair_checks[form->type])
		return true;
	return pair_checks[form->type](v, form);
}

/* Each line ends what a seal before it had sealed, but for a decision about a call of it
 * that the same key has signed. */
static bool
check_seal(struct verify_lines *v, const struct form *form)
{
	char before[DIGEST_SIZE];

	memcpy(before, v->report->sealed_by, sizeof before);
	v->report->sealed_by[0] = '\0';
	if (!form->signature.at)
		return true;
	if (!seal_valid(v->line, form->public_key.at + 1, form->signature.at + 1))
		return verify_fault(v, VERIFY_SEAL, form->signature.at,
		    "the seal is no signature of this line by its public_key: one of them was changed");
	if (form->type == EVENT_RUN_COMPLETED ||
	    memcmp(form->public_key.at + 1, before, sizeof before - 1) == 0)
		span_copy(form->public_key, v->report->sealed_by, sizeof v->report->sealed_by);
	return true;
}

/* Blobs. */

/* Whether fd holds size bytes of this digest; -1 with errno. */
static int
blob_matches(int fd, int64_t size, const char *sha256)
{
	struct stat status;
	struct digest digest;
	char bytes[16384], found[DIGEST_SIZE];
	ssize_t n;

	if (fstat(fd, &status) != 0)
		return -1;
	digest_begin(&digest);
	while ((n = read(fd, bytes, sizeof bytes)) > 0)
		digest_add(&digest, bytes, (size_t)n);
	if (n < 0)
		return -1;
	return status.st_size == size && strcmp(digest_end(&digest, found), sha256) == 0;
}

static bool
check_blob(struct verify_lines *v, struct span ref, const char *sha256, int64_t size)
{
	char *path = path_join(v->blob_directory, sha256);
	int fd = file_open_plain(path, O_RDONLY, 0);
	int matches = fd >= 0 ? blob_matches(fd, size, sha256) : -1;

	if (fd < 0 && errno == ENOENT)
		verify_fault(v, VERIFY_BLOBS, ref.at, "blob %s is missing: no %s", sha256, path);
	else if (matches < 0)
		error_errno(&v->unreadable, ERROR_SYSTEM, path, "unable to read the blob");
	else if (matches == 0)
		verify_fault(v, VERIFY_BLOBS, ref.at,
		    "blob %s is not the %lld bytes that it should be: see %s", sha256,
		    (long long)size, path);
	if (fd >= 0)
		close(fd);
	free(path);
	return matches > 0;
}

/* Whether the blob that an object names by sha256 and bytes is there; each is looked at once. */
static bool
check_named(struct verify_lines *v, struct span ref)
{
	struct span bytes = span_member(ref, KEY_BYTES), name = span_member(ref, KEY_SHA256);
	char sha256[DIGEST_SIZE];
	long long size = -1;
	uint64_t blob;

	span_integer(bytes, &size);
	span_copy(name, sha256, sizeof sha256);
	buffer_clear(&v->key);
	buffer_append(&v->key, bytes.at, bytes.len);
	buffer_append(&v->key, name.at, name.len);
	blob = fingerprints_of(&v->blobs, v->key.data, v->key.len);
	if (fingerprints_find(&v->blobs, blob) != FINGERPRINT_ABSENT)
		return true;
	if (!check_blob(v, ref, sha256, size))
		return false;
	fingerprints_add(&v->blobs, blob);
	v->report->blobs++;
	return true;
}

static bool
check_ref(struct verify_lines *v, struct span ref)
{
	char *at = span_text(span_member(ref, KEY_AT));
	bool in_place = span_type(pointer_find(v->line, at)) == '0';

	free(at);
	if (!in_place)
		return verify_fault(v, VERIFY_BLOBS, ref.at, "the value that this ref stands for is not null");
	return check_named(v, ref);
}

static bool
check_refs(struct verify_lines *v, const struct form *form)
{
	if (!form->refs.at)
		return true;
	for (struct span_walk ref = span_walk(form->refs); span_next(&ref);) {
		if (!check_ref(v, ref.value))
			return false;
	}
	return true;
}

/* A transcript that lies by itself may be without what goes with it. */
static bool
is_alone(const struct verify_lines *v)
{
	char *path;
	bool stored;

	if (access(v->blob_directory, F_OK) == 0)
		return false;
	path = layout_transcript(v->root, v->run_id);
	stored = access(path, F_OK) == 0;
	free(path);
	return !stored;
}

/* What is kept of files, and of what the workflow printed. */
static bool
check_kept(struct verify_lines *v, const struct form *form)
{
	struct definition_file file;
	bool sound = true;

	if ((!form->output.at && !form->files.at) || is_alone(v))
		return true;
	if (form->output.at && span_type(form->output) == 'o' && !check_named(v, form->output))
		return false;
	if (!form->files.at || span_type(form->files) != 'a')
		return true;
	for (struct span_walk element = span_walk(form->files); sound && span_next(&element);) {
		if (span_type(element.value) != 'o' || !definition_file_read(&file, element.value))
			continue;
		sound = !file.kept || check_named(v, element.value);
		definition_file_free(&file);
	}
	return sound;
}

/* What is claimed about other runs, and what is unknown. */

static bool
note_runs(struct verify_lines *v, const struct form *form)
{
	struct span none = { NULL, 0 };

	if (form->child_run_id.at)
		linkage_claim(&v->linkage, LINKAGE_CHILD, form->child_run_id, none,
		    v->report->lines, v->line_start + (form->child_run_id.at - v->line.at));
	if (form->parent_run_id.at && form->type == EVENT_RUN_STARTED)
		linkage_claim(&v->linkage, LINKAGE_PARENT, form->parent_run_id, none,
		    v->report->lines, v->line_start + (form->parent_run_id.at - v->line.at));
	return true;
}

static void
note(struct verify_unknown *unknown, int64_t line, struct span token)
{
	if (unknown->lines++ > 0)
		return;
	unknown->first = line;
	snprintf(unknown->name, sizeof unknown->name, "%.*s", TEXT(token));
}

static bool
note_unknown(struct verify_lines *v, const struct form *form)
{
	if (form->type == EVENT_TYPES)
		note(&v->types, v->report->lines, form->type_name);
	if (form->unknown_key.at)
		note(&v->keys, v->report->lines, form->unknown_key);
	return true;
}

/* In this order: each may rely on those before it. */
static bool (*const line_checks[])(struct verify_lines *, const struct form *) = {
	check_seq, check_time, check_run_id, check_parent, check_links, check_event_id,
	check_pairs, check_seal, check_refs, check_kept, note_runs, note_unknown,
};

static bool
check_form(struct verify_lines *v)
{
	static const enum verify_rule rules[] = {
		[FORM_JSON] = VERIFY_JSON, [FORM_SCHEMA] = VERIFY_FORM, [FORM_NOTATION] = VERIFY_FORM,
	};
	const struct form_fault *wrong = &v->wrong;

	if (form_check(v->line.at, v->line.len, &v->form, &v->wrong) == 0)
		return true;
	verify_fault(v, rules[wrong->rule], v->line.at + wrong->at, "%s", wrong->what.message);
	v->report->damage = wrong->rule == FORM_JSON ||
	    !event_line_whole(v->line.at, v->line.len, NULL);
	return false;
}

static bool
check_line(struct verify_lines *v)
{
	if (!check_form(v))
		return false;
	for (size_t i = 0; i < sizeof line_checks / sizeof *line_checks; i++) {
		if (!line_checks[i](v, &v->form))
			return false;
	}
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
