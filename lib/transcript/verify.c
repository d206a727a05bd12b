/*
 * Reads the file once, in pieces of whole lines. A second thread checks the chain of a piece while
 * the first checks everything else in it and reads the next piece: hashing takes about as long as
 * both.
 *
 * What the code relies on:
 *   - The last LF is searched for first, and nothing behind it is read as a line: a writer may cut
 *     that off and write over it at any moment (asserted).
 *   - The first fault in the file is the one reported: a fault ends the pass, and if both threads
 *     find one, that of the earlier line counts (asserted).
 *   - Calls and attempts without an end are named in a second pass, which is rare, so that the
 *     first pass need not remember names.
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

#include "base/invariant.h"
#include "base/memory.h"
#include "io/file.h"
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

/* Each line ends with the BLAKE2b-256 of the previous line. */
struct chain {
	char digest[DIGEST_SIZE]; /* digest of the last line */
	int64_t line;             /* its number, 0 at the start */
	int64_t start, before;    /* offsets at which that line and the line before it begin */
	bool broken;              /* the last line's prev is wrong */
};

/* A piece of the file, complete lines. */
struct piece {
	struct buffer text;
	int64_t at;              /* offset of its first byte in the file */
};

struct verify {
	const struct verify_spec *spec;
	struct verify_report *report;
	const char *path;
	char *directory;         /* directory of the transcript */
	char *root;              /* the root of the storage: the parent of the
	                            transcript's directory */
	int fd;
	int64_t settled;         /* end of the last whole line */
	struct piece piece, next;
	int unread;              /* errno if the next piece could not be read, or 0 */
	struct verify_lines lines;
	struct chain chain;
};

static void
verify_warn(const struct verify *v, int64_t line, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

static void
verify_warn(const struct verify *v, int64_t line, const char *format, ...)
{
	struct error text;
	char message[512];
	va_list arguments;

	if (!v->spec->warn)
		return;
	va_start(arguments, format);
	vsnprintf(message, sizeof message, format, arguments);
	va_end(arguments);
	error_set(&text, ERROR_NONE, NULL, "%s", message); /* to make it one line */
	v->spec->warn(v->spec->context, line, text.message);
}

/* Reports a fault at byte `at` that is not about the content of one line. */
static void
fault_at(struct verify *v, enum verify_rule rule, int64_t line, int64_t at, const char *text)
{
	INVARIANT(!v->report->faulty || line < v->report->line);
	v->lines.line = span_of(NULL, 0);
	v->lines.line_start = at;
	verify_fault(&v->lines, rule, NULL, "%s", text);
	v->report->line = line;
}

/* Reading. */

/* Fills a piece with up to len bytes from `at`. -1 with errno. */
static int
read_piece(const struct verify *v, struct piece *p, int64_t at, int64_t len)
{
	struct buffer *text = &p->text;

	p->at = at;
	buffer_clear(text);
	buffer_reserve(text, (size_t)len);
	while ((int64_t)text->len < len) {
		ssize_t n = pread(v->fd, text->data + text->len, (size_t)len - text->len,
		    (off_t)(at + (int64_t)text->len));

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -1;
		if (n == 0)
			break;
		text->len += (size_t)n;
	}
	return 0;
}

/* The part of the piece up to its last LF. */
static size_t
whole_lines(const struct buffer *piece)
{
	size_t len = piece->len;

	while (len > 0 && piece->data[len - 1] != '\n')
		len--;
	return len;
}

/* The offset just after the last LF of the file as it is now, and the size of the file. -1 with
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

		if (read_piece(v, &v->piece, start, end - start) != 0)
			return -1;
		whole = whole_lines(&v->piece.text);
		if (whole > 0)
			return start + (int64_t)whole;
	}
	return 0;
}

/* Reads the next piece, from byte `at`. It is empty if the next line is above the limit, or is
 * gone. */
static void
read_next(struct verify *v, int64_t at)
{
	int64_t left = v->settled - at;
	struct buffer *text = &v->next.text;

	v->unread = 0;
	for (int64_t want = PIECE; ; want *= 2) {
		if (read_piece(v, &v->next, at, want < left ? want : left) != 0) {
			v->unread = errno;
			return;
		}
		text->len = whole_lines(text);
		if (text->len > 0 || want >= left || want > (int64_t)SCAN_LINE_LIMIT)
			return;
	}
}

/* Checking. */

/* Thread function: follows the chain through the piece, to the first line that does not fit. The
 * position of prev is known from the end of a line, so nothing is parsed: prev is compared with
 * the digest of the line before, then the line is hashed. */
static void *
check_chain(void *argument)
{
	static const char key[] = "\"prev\":\"";
	const size_t key_len = sizeof key - 1, hex = DIGEST_SIZE - 1, tail = key_len + hex + 2;
	struct verify *v = argument;
	struct chain *c = &v->chain;
	const char *text = v->piece.text.data, *line = text, *end = text + v->piece.text.len;

	while (line < end && !c->broken) {
		const char *stop = memchr(line, '\n', (size_t)(end - line));
		size_t len = (size_t)((stop ? stop : end) - line);

		c->before = c->start;
		c->start = v->piece.at + (line - text);
		c->line++;
		if (len >= tail && memcmp(line + len - tail, key, key_len) == 0 &&
		    memcmp(line + len - tail + key_len, c->digest, hex) == 0)
			digest_blake2b(line, len, c->digest);
		else
			c->broken = true;
		line += len + 1;
	}
	return NULL;
}

/* Checks the lines in the piece, and reads the next piece. */
static int
check_piece(struct verify *v, struct error *err)
{
	struct verify_report *report = v->report;
	const struct buffer *lines = &v->piece.text;
	pthread_t thread;
	char text[128];
	int result;

	INVARIANT(lines->len > 0 && lines->data[lines->len - 1] == '\n');
	INVARIANT(v->piece.at + (int64_t)lines->len <= v->settled);
	bool beside = lines->len >= PIECE_WORTH_A_THREAD && !v->spec->one_thread &&
	    pthread_create(&thread, NULL, check_chain, v) == 0;

	if (!beside)
		check_chain(v);
	result = verify_lines_check(&v->lines, lines->data, lines->len, v->piece.at, err);
	read_next(v, v->piece.at + (int64_t)lines->len);
	if (beside)
		pthread_join(thread, NULL);
	INVARIANT(result != 0 || report->faulty || v->chain.broken || v->chain.line == report->lines);
	if (!v->chain.broken || (report->faulty && v->chain.line >= report->line))
		return result;

	/* The line that was changed may be the one before, so that one is not proved intact
	 * either. */
	snprintf(text, sizeof text, "prev is not the digest of line %lld: "
	    "that line or this one was changed", (long long)v->chain.line - 1);
	fault_at(v, VERIFY_CHAIN, v->chain.line, v->chain.start,
	    v->chain.line == 1 ? "prev of line 1 is not 64 zeros" : text);
	report->damage = true;
	report->intact = v->chain.before;
	return result;
}

static int
check_lines(struct verify *v, struct error *err)
{
	struct verify_report *report = v->report;
	int64_t size, settled = find_settled(v, &size);
	char text[96];

	if (settled < 0)
		return error_errno(err, ERROR_SYSTEM, v->path, "unable to read");
	report->bytes = v->settled = settled;
	report->size = size;
	read_next(v, 0);
	while (v->next.at < settled && !report->faulty) {
		struct piece checked = v->piece;

		v->piece = v->next;
		v->next = checked;
		if (v->unread != 0) {
			errno = v->unread;
			return error_errno(err, ERROR_SYSTEM, v->path, "unable to read");
		}
		if (v->piece.text.len == 0)
			fault_at(v, VERIFY_FORM, report->lines + 1, v->piece.at, "the line is above 256 MiB");
		else if (check_piece(v, err) != 0)
			return -1;
	}
	memcpy(report->run_id, v->lines.run_id, ID_SIZE);
	memcpy(report->head, v->chain.digest, DIGEST_SIZE);

	/* Reports the bytes after the last LF. */
	if (report->faulty)
		return 0;
	if (report->alive) {
		report->unfinished = size - settled;
	} else if (size == 0) {
		fault_at(v, VERIFY_WHOLE, report->lines + 1, settled, "the transcript is empty");
	} else if (size != settled) {
		snprintf(text, sizeof text, "the last line is torn: %lld bytes without a LF at the "
		    "end (awf-verify --repair moves them aside)",
		    (long long)(size - settled));
		fault_at(v, VERIFY_WHOLE, report->lines + 1, settled, text);
	}
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

/* Checks seals and checkpoints, which show that this is the expected transcript. A fault is
 * reported for the last line. */
static int
check_meant(struct verify *v, struct error *err)
{
	struct verify_report *report = v->report;
	const struct checkpoints *checkpoints = v->spec->checkpoints;
	const struct checkpoint *checkpoint;
	int64_t line = v->chain.line, start = v->chain.start;
	size_t found, missing;
	char text[512];

	if (v->spec->seal_key && strcmp(report->sealed_by, v->spec->seal_key) != 0) {
		if (report->sealed_by[0] != '\0')
			snprintf(text, sizeof text, "sealed by another key: %s", report->sealed_by);
		else
			snprintf(text, sizeof text, "%s: the last line is %s",
			    report->alive ? "not sealed yet, as the run is alive" : "not sealed",
			    v->lines.form.decides.at ?
			    "a decision that the key of the seal has not signed" :
			    "no run.completed with a seal");
		fault_at(v, VERIFY_SEAL, line, start, text);
		return 0;
	}

	if (!checkpoints)
		return 0;
	if (checkpoints_check(checkpoints, report->run_id, v->path, &found, &missing, err) != 0)
		return -1;
	if (found == 0) {
		snprintf(text, sizeof text, "no head of run %s is in %s", report->run_id,
		    checkpoints->path);
		fault_at(v, VERIFY_CHECKPOINTS, line, start, text);
	} else if (missing != 0) {
		checkpoint = &checkpoints->list[missing - 1];
		snprintf(text, sizeof text, checkpoint->seq > report->lines ?
		    "the transcript ends here, but %s:%zu has the digest of line %lld: lines were cut off" :
		    "the digest at %s:%zu is not that of line %lld: the transcript is not the one it was",
		    checkpoints->path, missing, (long long)checkpoint->seq);
		fault_at(v, VERIFY_CHECKPOINTS, line, start, text);
	}
	return 0;
}

/* ---- warnings about what is unusual, but no fault ---- */

static void
name_attempt(const struct verify *v, int64_t attempt, int64_t line)
{
	verify_warn(v, line, "attempt %lld never ended: it has no run.completed",
	    (long long)attempt);
}

/* Warns about calls and attempts that have begun and not ended, unless the run is alive and may
 * still end them. */
static int
name_unended(struct verify *v, struct error *err)
{
	const struct verify_report *report = v->report;
	struct form form;
	struct form_fault wrong; /* cannot fail, since each line was checked before */
	struct reader reader;
	const char *text;
	size_t len;
	int64_t line = 0, attempt = 0, calls = 0;
	bool ended = true; /* of the attempt */
	int got = 0;

	if (reader_open(&reader, v->path, err) != 0)
		return -1;
	while (line < report->lines && (got = reader_next(&reader, &text, &len, err)) == 1 &&
	    form_check(text, len, &form, &wrong) == 0) {
		line++;
		if (form.type == EVENT_RUN_STARTED) {
			if (!ended)
				name_attempt(v, attempt, line);
			attempt++;
			ended = false;
		} else if (form.type == EVENT_RUN_COMPLETED) {
			ended = true;
		} else if (!(report->alive && attempt == report->attempts) &&
		    verify_lines_open(&v->lines, &form, attempt) && calls++ < DANGLING_NAMED) {
			bool tool = form.type == EVENT_TOOL_CALL;
			struct span name = tool ? form.call_id : form.call;

			verify_warn(v, line, "%s %.*s never ended: it has no %s", tool ?
			    "tool call" : "call",
			    (int)name.len - 2, name.at + 1, tool ? "tool.result" : "step.completed");
		}
	}
	reader_close(&reader);
	if (got < 0)
		return -1;
	if (!report->alive && !ended)
		name_attempt(v, attempt, line);
	if (calls > DANGLING_NAMED)
		verify_warn(v, line, "%lld more calls never ended",
		    (long long)(calls - DANGLING_NAMED));
	return 0;
}

static void
name_unknown(const struct verify *v, const char *what, const struct verify_unknown *unknown)
{
	if (v->spec->unknown && unknown->lines > 0)
		verify_warn(v, unknown->first,
		    "%s \"%s\" is not known to this version (lines with unknown %ss: "
		    "%lld)", what, unknown->name, what, (long long)unknown->lines);
}

/* Whether the run that the file is named after is being written by a process. */
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
	return layout_run_alive(v->root, run_id);
}

/* A fault must lie within the file, and the part that is proved intact before it. */
static bool
report_holds(const struct verify_report *report)
{
	if (!report->faulty)
		return !report->damage && report->fault.code == ERROR_NONE && report->bytes <= report->size;
	return (int)report->rule < VERIFY_RULES && report->line >= 1 && report->intact >= 0 &&
	    report->intact <= report->byte && report->byte <= report->size;
}

/* Checks everything, and gives warnings. */
static int
verify_check_all(struct verify *v, bool alive, struct error *err)
{
	struct verify_report *report = v->report;
	struct verify_lines *lines = &v->lines;
	int result = 0;

	memset(report, 0, sizeof *report);
	report->alive = alive;
	verify_lines_begin(lines, v->root, report);
	lines->take = v->spec->take;
	lines->context = v->spec->context;
	v->chain = (struct chain){ .line = 0 };
	memset(v->chain.digest, '0', DIGEST_SIZE - 1);
	if (check_lines(v, err) != 0 || check_linkage(v, err) != 0 ||
	    (!report->faulty && check_meant(v, err) != 0))
		result = -1;
	INVARIANT(result != 0 || report_holds(report));
	if (result == 0 && !report->faulty) {
		name_unknown(v, "type", &lines->types);
		name_unknown(v, "key", &lines->keys);
		if (!(alive && report->attempts == 1) &&
		    (lines->attempts_died > 0 || lines->calls.open > 0 ||
		    (!lines->attempt_ended && !alive)))
			result = name_unended(v, err);
	}
	verify_lines_free(lines);
	return result;
}

int
verify_transcript(const char *path, const struct verify_spec *spec,
    struct verify_report *report, struct error *err)
{
	struct verify v = { .spec = spec, .report = report, .path = path };
	struct stat status;
	char *directory;
	int result;

	v.fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	if (v.fd < 0)
		return error_errno(err, ERROR_SYSTEM, path, "unable to open");
	directory = path_directory(path);
	v.directory = realpath(directory, NULL);
	if (v.directory == NULL)
		v.directory = memory_text(directory);
	v.root = path_directory(v.directory);
	if (fstat(v.fd, &status) != 0 || !S_ISREG(status.st_mode)) {
		result = error_set(err, ERROR_SYSTEM, path, "is no regular file");
	} else {
		/* While the run is being written, a fault may only be work in progress: check
		 * again, and report it if it is found twice. */
		result = verify_check_all(&v, run_alive(&v), err);
		if (result == 0 && report->faulty && run_alive(&v))
			result = verify_check_all(&v, true, err);
	}
	close(v.fd);
	buffer_free(&v.piece.text);
	buffer_free(&v.next.text);
	free(v.directory);
	free(v.root);
	free(directory);
	return result;
}

/* Repair. */

/* Whether lines of this kind must be on disk before the run goes on. The start of a step is synced
 * only if the step changes something: if the line is lost otherwise, the step is simply made
 * again. */
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

/* Whether there is a complete line that must have been on disk at byte `from` or later: 1, and *err
 * names it; 0; -1 with *err. A torn line does not count: it was not complete, so nothing followed
 * from it. */
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
		size_t begin = len;
		struct event_head head;

		/* The lost bytes may have become zeros, among them an LF; then the next line begins
		 * after the last zero. */
		while (begin > 0 && line[begin - 1] != '\0')
			begin--;
		line += begin;
		len -= begin;
		if (!event_line_whole(line, len, NULL) || event_peek(line, len, &head) != 0 ||
		    !was_synced(line, len, head.type))
			continue;
		found = 1;
		error_set(err, ERROR_SCHEMA, path, "not repaired, nothing was touched: a %.*s (seq %lld) "
		    "that was safe on disk stands at the fault or behind it", (int)head.type_name.len,
		    head.type_name.at, (long long)head.seq);
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
	INVARIANT(report->faulty && report_holds(report));
	if (find_synced(path, report->intact, err) != 0 ||
	    transcript_cut(path, report->intact, report->size, err) != 0)
		return -1;
	*moved = report->size - report->intact;
	return 0;
}
