/*
 * A pass over the file goes in pieces of whole lines. The chain of a piece is
 * checked in a second thread, beside all else: hashing takes as long as the rest.
 *
 * Invariants:
 *   - The last LF is looked for first and nothing behind it is read as lines: a
 *     writer may cut that off and write over it at any moment.
 *   - The first fault in the file is the one reported: a fault ends the pass, and
 *     of the two threads the earlier line counts.
 *   - What began and did not end is named in a second pass, which is rare, so that
 *     the first need not remember names.
 */
#include "transcript/verify.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/memory.h"
#include "transcript/chain.h"
#include "transcript/event.h"
#include "transcript/event_keys.h"
#include "transcript/layout.h"
#include "transcript/reader.h"
#include "transcript/transcript.h"
#include "transcript/verify_lines.h"

#define PIECE ((int64_t)1 << 20)
#define PIECE_WORTH_A_THREAD ((size_t)64 << 10)
#define DANGLING_NAMED 8
#define SUFFIX ".jsonl"

static const char *const rule_names[VERIFY_RULES] = {
	[VERIFY_JSON] = "JSON", [VERIFY_WHOLE] = "whole lines", [VERIFY_FORM] = "schema",
	[VERIFY_SEQ] = "seq", [VERIFY_CHAIN] = "prev", [VERIFY_TIME] = "time",
	[VERIFY_IDS] = "ids", [VERIFY_CAUSES] = "causes", [VERIFY_PAIRS] = "pairs",
	[VERIFY_BLOBS] = "blobs", [VERIFY_LINKAGE] = "linkage",
	[VERIFY_SEAL] = "seal", [VERIFY_CHECKPOINTS] = "heads",
};

const char *
verify_rule_name(enum verify_rule rule)
{
	return rule_names[rule];
}

struct verify {
	const struct verify_spec *spec;
	struct verify_report *report;
	const char *path;
	char *directory;         /* of the transcript */
	char *root;              /* of the storage that it is part of */
	int fd;
	struct buffer piece;
	struct verify_lines lines;
	struct chain chain;
};

static void
warn(const struct verify *v, int64_t line, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

static void
warn(const struct verify *v, int64_t line, const char *format, ...)
{
	struct error text;
	char message[512];
	va_list arguments;

	if (!v->spec->warn)
		return;
	va_start(arguments, format);
	vsnprintf(message, sizeof message, format, arguments);
	va_end(arguments);
	error_set(&text, ERROR_NONE, NULL, "%s", message); /* makes it one line */
	v->spec->warn(v->spec->context, line, text.message);
}

/* A fault at byte `at` that is no matter of one line's content. */
static void
fault_at(struct verify *v, enum verify_rule rule, int64_t line, int64_t at, const char *text)
{
	v->lines.line = span_of(NULL, 0);
	v->lines.line_start = at;
	verify_fault(&v->lines, rule, NULL, "%s", text);
	v->report->line = line;
}

/* Reading. */

/* Fills the piece with up to len bytes from at. -1 with errno. */
static int
read_piece(struct verify *v, int64_t at, int64_t len)
{
	buffer_clear(&v->piece);
	buffer_reserve(&v->piece, (size_t)len);
	while ((int64_t)v->piece.len < len) {
		ssize_t n = pread(v->fd, v->piece.data + v->piece.len,
		    (size_t)len - v->piece.len, (off_t)(at + (int64_t)v->piece.len));

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -1;
		if (n == 0)
			break;
		v->piece.len += (size_t)n;
	}
	return 0;
}

/* Bytes of the piece up to its last LF. */
static size_t
whole_lines(const struct buffer *piece)
{
	size_t len = piece->len;

	while (len > 0 && piece->data[len - 1] != '\n')
		len--;
	return len;
}

/* Just after the last LF of the file as it is now, and how long that is. -1 with
 * errno. */
static int64_t
find_settled(struct verify *v, int64_t *size)
{
	struct stat status;

	if (fstat(v->fd, &status) != 0)
		return -1;
	*size = status.st_size;
	for (int64_t end = *size; end > 0; end -= PIECE) {
		int64_t start = end > PIECE ? end - PIECE : 0;
		size_t whole;

		if (read_piece(v, start, end - start) != 0)
			return -1;
		whole = whole_lines(&v->piece);
		if (whole > 0)
			return start + (int64_t)whole;
	}
	return 0;
}

/* Reads the whole lines of about a piece from byte `at`; none if the next line is
 * above the limit, or is not there any more. -1 with errno. */
static int
read_lines(struct verify *v, int64_t at, int64_t settled)
{
	int64_t left = settled - at;

	for (int64_t want = PIECE; ; want *= 2) {
		if (read_piece(v, at, want < left ? want : left) != 0)
			return -1;
		v->piece.len = whole_lines(&v->piece);
		if (v->piece.len > 0 || want >= left || want > (int64_t)SCAN_LINE_LIMIT)
			return 0;
	}
}

/* Checking. */

struct chain_work {
	struct chain *chain;
	const char *lines;
	size_t len;
	int64_t at;
};

static void *
check_chain(void *argument)
{
	struct chain_work *work = argument;

	chain_check(work->chain, work->lines, work->len, work->at);
	return NULL;
}

/* The line that prev is about may be the changed one, so it is not proved either. */
static void
chain_fault(struct verify *v)
{
	char text[128];

	snprintf(text, sizeof text, "prev is not the digest of line %lld: "
	    "that line or this one was changed", (long long)v->chain.line - 1);
	fault_at(v, VERIFY_CHAIN, v->chain.line, v->chain.start,
	    v->chain.line == 1 ? "prev of line 1 is not 64 zeros" : text);
	v->report->damage = true;
	v->report->intact = v->chain.before;
}

/* The lines in the piece, which begins at byte `at`. */
static int
check_piece(struct verify *v, int64_t at, struct error *err)
{
	struct chain_work work = { &v->chain, v->piece.data, v->piece.len, at };
	pthread_t thread;
	int result;
	bool beside = work.len >= PIECE_WORTH_A_THREAD && !v->spec->one_thread &&
	    pthread_create(&thread, NULL, check_chain, &work) == 0;

	if (!beside)
		check_chain(&work);
	result = verify_lines_check(&v->lines, work.lines, work.len, at, err);
	if (beside)
		pthread_join(thread, NULL);
	if (v->chain.broken && (!v->report->faulty || v->chain.line < v->report->line))
		chain_fault(v);
	return result;
}

/* What stands behind the last LF. */
static void
check_tail(struct verify *v, int64_t settled, int64_t size)
{
	struct verify_report *report = v->report;
	char text[96];

	if (report->alive) {
		report->unfinished = size - settled;
		return;
	}
	if (size == settled && size > 0)
		return;
	snprintf(text, sizeof text, "the last line is torn: %lld bytes without a LF at the end",
	    (long long)(size - settled));
	fault_at(v, VERIFY_WHOLE, report->lines + 1, settled,
	    size == 0 ? "the transcript is empty" : text);
}

static int
check_lines(struct verify *v, struct error *err)
{
	int64_t size, settled = find_settled(v, &size);

	if (settled < 0)
		return error_errno(err, ERROR_SYSTEM, v->path, "unable to read");
	v->report->bytes = settled;
	v->report->size = size;
	for (int64_t at = 0; at < settled && !v->report->faulty; at += (int64_t)v->piece.len) {
		if (read_lines(v, at, settled) != 0)
			return error_errno(err, ERROR_SYSTEM, v->path, "unable to read");
		if (v->piece.len == 0)
			fault_at(v, VERIFY_FORM, v->report->lines + 1, at, "the line is above 256 MiB");
		else if (check_piece(v, at, err) != 0)
			return -1;
	}
	if (!v->report->faulty)
		check_tail(v, settled, size);
	memcpy(v->report->run_id, v->lines.run_id, ID_SIZE);
	memcpy(v->report->head, v->chain.digest, DIGEST_SIZE);
	return 0;
}

static int
check_linkage(struct verify *v, struct error *err)
{
	static const char *const texts[] = {
		[LINKAGE_EVENT] = "run %s has no event %s",
		[LINKAGE_CHILD] = "run %s does not name this run as its parent%s",
		[LINKAGE_PARENT] = "run %s does not name this run as its child%s",
	};
	const struct linkage_claim *wrong;
	char text[160];

	if (linkage_check(&v->lines.linkage, v->directory, v->lines.run_id, &wrong, err) != 0)
		return -1;
	if (!wrong || (v->report->faulty && v->report->line <= wrong->line))
		return 0;
	snprintf(text, sizeof text, texts[wrong->kind], wrong->run_id, wrong->event_id);
	fault_at(v, VERIFY_LINKAGE, wrong->line, wrong->byte, text);
	return 0;
}

/* Seals and checkpoints: whether this is the transcript that was meant. */

static void
check_sealed(struct verify *v)
{
	struct verify_report *report = v->report;
	char text[192];

	if (!v->spec->seal_key || strcmp(report->sealed_by, v->spec->seal_key) == 0)
		return;
	if (report->sealed_by[0] != '\0')
		snprintf(text, sizeof text, "sealed by another key: %s", report->sealed_by);
	else
		snprintf(text, sizeof text, "%s: the last line is %s",
		    report->alive ? "not sealed yet, as the run is alive" : "not sealed",
		    v->lines.form.decides.at ? "a decision that the key of the seal has not signed" :
		    "no run.completed with a seal");
	fault_at(v, VERIFY_SEAL, v->chain.line, v->chain.start, text);
}

static int
check_checkpoints(struct verify *v, struct error *err)
{
	const struct checkpoints *checkpoints = v->spec->checkpoints;
	const struct checkpoint *checkpoint;
	size_t found, missing;
	char text[512];

	if (!checkpoints)
		return 0;
	if (checkpoints_check(checkpoints, v->report->run_id, v->path, &found, &missing, err) != 0)
		return -1;
	if (found == 0) {
		snprintf(text, sizeof text, "no head of run %s is in %s", v->report->run_id,
		    checkpoints->path);
		fault_at(v, VERIFY_CHECKPOINTS, v->chain.line, v->chain.start, text);
	}
	if (missing == 0)
		return 0;
	checkpoint = &checkpoints->list[missing - 1];
	snprintf(text, sizeof text, checkpoint->seq > v->report->lines ?
	    "the transcript ends here, but %s:%zu has the digest of line %lld: lines were cut off" :
	    "the digest at %s:%zu is not that of line %lld: the transcript is not the one it was",
	    checkpoints->path, missing, (long long)checkpoint->seq);
	fault_at(v, VERIFY_CHECKPOINTS, v->chain.line, v->chain.start, text);
	return 0;
}

/* What is no fault. */

struct unended {
	struct form form;        /* of the line looked at */
	struct form_fault wrong; /* with it: never, as the line was checked before */
	int64_t line, attempt;
	bool ended;              /* that attempt */
	int64_t calls;
};

static void
name_attempt(const struct verify *v, const struct unended *u, int64_t line)
{
	if (u->attempt > 0 && !u->ended)
		warn(v, line, "attempt %lld never ended: it has no run.completed",
		    (long long)u->attempt);
}

static void
name_call(struct verify *v, struct unended *u)
{
	bool tool = u->form.type == EVENT_TOOL_CALL;
	struct span name = tool ? u->form.call_id : u->form.call;

	if (u->calls++ >= DANGLING_NAMED)
		return;
	warn(v, u->line, "%s %.*s never ended: it has no %s", tool ? "tool call" : "call",
	    (int)name.len - 2, name.at + 1, tool ? "tool.result" : "step.completed");
}

static void
name_unended_of_line(struct verify *v, struct unended *u)
{
	if (u->form.type == EVENT_RUN_STARTED) {
		name_attempt(v, u, u->line);
		u->attempt++;
		u->ended = false;
	} else if (u->form.type == EVENT_RUN_COMPLETED)
		u->ended = true;
	else if (!(v->report->alive && u->attempt == v->report->attempts) &&
	    verify_lines_open(&v->lines, &u->form, u->attempt))
		name_call(v, u);
}

static bool
has_unended(const struct verify *v)
{
	const struct verify_lines *lines = &v->lines;

	if (v->report->alive && v->report->attempts == 1)
		return false;
	return lines->attempts_died > 0 || lines->calls.open > 0 ||
	    (!lines->attempt_ended && !v->report->alive);
}

/* Names what began and did not end, but not what a living run may yet end. */
static int
name_unended(struct verify *v, struct error *err)
{
	struct unended u = { .line = 0 };
	struct reader reader;
	const char *line;
	size_t len;
	int got = 0;

	if (reader_open(&reader, v->path, err) != 0)
		return -1;
	while (u.line < v->report->lines && (got = reader_next(&reader, &line, &len, err)) == 1 &&
	    form_check(line, len, &u.form, &u.wrong) == 0) {
		u.line++;
		name_unended_of_line(v, &u);
	}
	reader_close(&reader);
	if (got < 0)
		return -1;
	if (!v->report->alive)
		name_attempt(v, &u, u.line);
	if (u.calls > DANGLING_NAMED)
		warn(v, u.line, "%lld more calls never ended", (long long)(u.calls - DANGLING_NAMED));
	return 0;
}

static void
name_unknown(const struct verify *v, const char *what, const struct verify_unknown *unknown)
{
	if (v->spec->unknown && unknown->lines > 0)
		warn(v, unknown->first, "%s \"%s\" is not known to this version (lines with unknown %ss: "
		    "%lld)", what, unknown->name, what, (long long)unknown->lines);
}

static int
check_and_warn(struct verify *v, struct error *err)
{
	if (check_lines(v, err) != 0 || check_linkage(v, err) != 0)
		return -1;
	if (!v->report->faulty)
		check_sealed(v);
	if (!v->report->faulty && check_checkpoints(v, err) != 0)
		return -1;
	if (v->report->faulty)
		return 0;
	name_unknown(v, "type", &v->lines.types);
	name_unknown(v, "key", &v->lines.keys);
	return has_unended(v) ? name_unended(v, err) : 0;
}

/* The storage around a transcript: the directory that holds its directory. */
static void
locate(struct verify *v)
{
	char *directory = path_directory(v->path), *real = realpath(directory, NULL);

	v->directory = real ? real : memory_text(directory);
	v->root = path_directory(v->directory);
	free(directory);
}

/* Whether somebody writes the run that the file is named after. */
static bool
run_alive(const struct verify *v)
{
	const char *name = path_base(v->path);
	size_t len = strlen(name);
	char run_id[ID_SIZE];

	if (len != ID_SIZE - 1 + sizeof SUFFIX - 1 || strcmp(name + ID_SIZE - 1, SUFFIX) != 0 ||
	    !id_valid(name, ID_SIZE - 1))
		return false;
	memcpy(run_id, name, ID_SIZE - 1);
	run_id[ID_SIZE - 1] = '\0';
	return layout_run_owner(v->root, run_id, NULL);
}

static int
pass(struct verify *v, bool alive, struct error *err)
{
	int result;

	memset(v->report, 0, sizeof *v->report);
	v->report->alive = alive;
	verify_lines_begin(&v->lines, v->root, v->report);
	v->lines.take = v->spec->take;
	v->lines.context = v->spec->context;
	chain_begin(&v->chain);
	result = check_and_warn(v, err);
	verify_lines_free(&v->lines);
	return result;
}

/* What looks like a fault may be a writer at work, if there is one: then it looks
 * again, and what it finds again is one. */
static int
check_twice_if_alive(struct verify *v, struct error *err)
{
	if (pass(v, run_alive(v), err) != 0)
		return -1;
	return v->report->faulty && run_alive(v) ? pass(v, true, err) : 0;
}

int
verify_transcript(const char *path, const struct verify_spec *spec,
    struct verify_report *report, struct error *err)
{
	struct verify v = { .spec = spec, .report = report, .path = path };
	struct stat status;
	int result;

	v.fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	if (v.fd < 0)
		return error_errno(err, ERROR_SYSTEM, path, "unable to open");
	locate(&v);
	if (fstat(v.fd, &status) != 0 || !S_ISREG(status.st_mode))
		result = error_set(err, ERROR_SYSTEM, path, "is no regular file");
	else
		result = check_twice_if_alive(&v, err);
	close(v.fd);
	buffer_free(&v.piece);
	free(v.directory);
	free(v.root);
	return result;
}

/* Repair. */

/* Whether a line was on disk before anything followed from it. The start of a step that
 * changes nothing is of a kind that is, but is synced only where it changes something: it
 * is made again. */
static bool
was_synced(const char *line, size_t len, enum event_type type)
{
	static const char *const harmless[] = { "none", "read", NULL };
	struct span effects;

	if (type != EVENT_STEP_STARTED)
		return event_type_synced(type);
	effects = span_path(span_of(line, len), KEY_PAYLOAD, KEY_EFFECTS, NULL);
	return effects.at != NULL && !span_one_of(effects, harmless);
}

/* What is lost may be zeros, a line feed among them: the line behind them begins then after
 * the last one. */
static void
pass_over_zeros(const char **line, size_t *len)
{
	size_t at = *len;

	while (at > 0 && (*line)[at - 1] != '\0')
		at--;
	*line += at;
	*len -= at;
}

/* Whether a whole line of a kind that is synced stands at byte `from` or after it:
 * 1, and *err says which; 0; -1 with *err. A torn line was never acknowledged. */
static int
find_synced(const char *path, int64_t from, struct error *err)
{
	struct reader reader;
	const char *line;
	size_t len;
	int got, found = 0;

	if (reader_open(&reader, path, err) != 0)
		return -1;
	reader_seek(&reader, from);
	while (!found && (got = reader_next(&reader, &line, &len, err)) == 1) {
		struct span type;
		int64_t seq;

		pass_over_zeros(&line, &len);
		if (!event_line_whole(line, len, NULL) || event_peek(line, len, &seq, &type) != 0 ||
		    !was_synced(line, len, event_type_from_name(type.at, type.len)))
			continue;
		found = 1;
		error_set(err, ERROR_SCHEMA, path, "not repaired, nothing was touched: a %.*s (seq %lld) "
		    "that was safe on disk stands at the fault or behind it", (int)type.len, type.at,
		    (long long)seq);
	}
	reader_close(&reader);
	return found ? 1 : got;
}

int
verify_repair(const char *path, const struct verify_report *report, int64_t *moved,
    struct error *err)
{
	if (report->alive)
		return error_set(err, ERROR_SCHEMA, path,
		    "not repaired, nothing was touched: the run is alive, its writers repair it");
	if (!report->damage)
		return error_set(err, ERROR_SCHEMA, path,
		    "not repaired, nothing was touched: no crash leaves such a fault");
	if (find_synced(path, report->intact, err) != 0 ||
	    transcript_cut(path, report->intact, report->size, err) != 0)
		return -1;
	*moved = report->size - report->intact;
	return 0;
}
