/*
 * The work is done in a child process, which has the body as it came: it sorts spans by their traces, appends
 * them to the files, and executes awf-import for these.
 */
#include "serve/traces.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/digest.h"
#include "base/list.h"
#include "base/map.h"
#include "base/memory.h"
#include "base/text.h"
#include "ingest/gunzip.h"
#include "io/file.h"
#include "io/lock.h"
#include "io/path.h"
#include "json/scan.h"
#include "json/writer.h"
#include "proc/descendants.h"
#include "proc/environment.h"
#include "proc/libexec.h"
#include "proc/process.h"
#include "serve/serve.h"
#include "serve_runs/log.h"
#include "serve_runs/otlp.h"
#include "serve_runs/upload.h"
#include "serve_runs/work.h"
#include "transcript/sync_mode.h"

#define PROTOBUF "application/x-protobuf"
#define JSON "application/json"
#define SUFFIX ".jsonl"
#define MARK ".begun"
#define LOOKED "looked"
#define TRACES_LOOK_S 600
#define AT_ONCE 100              /* traces that awf-import is given */
#define PARENT_REMOTE 0x200 /* in the flags of a span: the parent is of another program */
#define TRACE_DIGITS 32
#define TRACE_BYTES ((off_t)256 << 20) /* of the file of a trace: what awf-import reads */
#define SENDER_DIGITS 32

static const struct refusal bad_type = { 415, "invalid_input",
	"the body is neither " PROTOBUF " nor " JSON " (Content-Type)" };
static const struct refusal encoded = { 415, "invalid_input",
	"the body is compressed otherwise than by gzip (Content-Encoding): set OTEL_EXPORTER_OTLP_COMPRESSION=gzip" };
static const struct refusal bad_body = { 400, "invalid_input", "the body is no request of OTLP" };
static const struct refusal body_too_large = { 413, "too_large", "the body has more than 64 MiB when it is decompressed" };
static const struct refusal too_large = { 413, "too_large", "a trace has more than 256 MiB" };
static const struct refusal some_names = { 403, "forbidden",
	"the token is for runs of some names, and a trace has any" };
static const struct refusal database = { 403, "forbidden", "a server of a database takes no traces" };

enum traces_result { TRACES_FAILED, TRACES_TAKEN, TRACES_CONFLICT, TRACES_INVALID, TRACES_TOO_LARGE,
	TRACES_BODY_TOO_LARGE };

struct traces_outcome {
	enum traces_result result;
	struct error err;
};

/* A request. */
struct traces {
	struct request *request;
	bool protobuf, compressed;
	char *sender;
	char *directory;             /* of the sender's files */
	struct work *work;
	bool done, died;
	struct traces_outcome outcome;
};

/* ---- in the child process: sorting ---- */

static bool
traces_id_valid(const char *id)
{
	return strlen(id) == TRACE_DIGITS && strspn(id, "0123456789abcdef") == TRACE_DIGITS;
}

/* The trace of a span, in lower case; NULL: it names none. */
static char *
traces_id_of(struct span span)
{
	char *id = span_text(span_member(span, "traceId"));

	for (char *c = id; c != NULL && *c != '\0'; c++)
		if (*c >= 'A' && *c <= 'F')
			*c = (char)(*c - 'A' + 'a');
	if (id == NULL || traces_id_valid(id))
		return id;
	free(id);
	return NULL;
}

/* The line of a trace: its spans of the request. */
struct traces_line {
	char *id;
	struct buffer text;
	struct span resource, scope; /* of the spans before */
	bool outermost;              /* a span has no parent, or one in another program */
};

struct traces_lines {
	struct traces_line *list;
	size_t count;
	struct map places;           /* id → index */
};

static bool
traces_may_be_outermost(struct span span)
{
	const struct span parent = span_member(span, "parentSpanId");
	long long flags = 0;

	if (span_type(parent) != 's' || parent.len <= 2 || span_is(parent, "0000000000000000"))
		return true;
	return span_integer(span_member(span, "flags"), &flags) && (flags & PARENT_REMOTE) != 0;
}

/* Appends a span to the line of its trace; one that names none is left. */
static void
traces_add_span(struct traces_lines *lines, struct span resource, struct span scope, struct span span)
{
	char *id = traces_id_of(span);
	const size_t *place;
	struct traces_line *line;
	struct buffer *out;
	struct writer w;

	if (id == NULL)
		return;
	place = map_get(&lines->places, id, TRACE_DIGITS);
	if (place == NULL || lines->list == NULL) {
		map_put(&lines->places, id, TRACE_DIGITS, lines->count);
		lines->list = memory_array(lines->list, lines->count + 1, sizeof *lines->list);
		lines->list[lines->count] = (struct traces_line){ .id = id };
		line = &lines->list[lines->count++];
	} else {
		free(id);
		line = &lines->list[*place];
	}
	out = &line->text;
	line->outermost |= traces_may_be_outermost(span);
	if (out->len > 0 && resource.at == line->resource.at && scope.at == line->scope.at) {
		buffer_byte(out, ',');
		scan_minify(span, out);
		return;
	}
	buffer_text(out, out->len > 0 ? "]}]}," : "{\"resourceSpans\":[");
	writer_begin(&w, out);
	writer_object(&w);
	if (resource.at != NULL) {
		writer_key(&w, "resource");
		scan_minify(resource, out);
		w.comma = true;
	}
	writer_member_array(&w, "scopeSpans");
	writer_object(&w);
	if (scope.at != NULL) {
		writer_key(&w, "scope");
		scan_minify(scope, out);
		w.comma = true;
	}
	writer_member_array(&w, "spans");
	scan_minify(span, out);
	line->resource = resource;
	line->scope = scope;
}

static void
traces_sort(struct span request, struct traces_lines *lines)
{
	for (struct span_walk r = span_walk(span_member(request, "resourceSpans")); span_next(&r);) {
		const struct span resource = span_member(r.value, "resource");

		for (struct span_walk s = span_walk(span_member(r.value, "scopeSpans")); span_next(&s);) {
			const struct span scope = span_member(s.value, "scope");

			for (struct span_walk span = span_walk(span_member(s.value, "spans")); span_next(&span);)
				traces_add_span(lines, resource, scope, span.value);
		}
	}
	for (size_t i = 0; i < lines->count; i++)
		buffer_text(&lines->list[i].text, "]}]}]}\n");
}

static void
traces_free_lines(struct traces_lines *lines)
{
	for (size_t i = 0; i < lines->count; i++) {
		free(lines->list[i].id);
		buffer_free(&lines->list[i].text);
	}
	free(lines->list);
	map_free(&lines->places);
}

/* ---- in the child process: files ---- */

/* Opens the file of a trace, with its lock; -1 with *err. */
static int
traces_open(const char *path, int flags, struct error *err)
{
	int fd;

	for (;;) {
		fd = file_open_plain(path, flags, 0600);
		if (fd == -1 || lock_file_wait(fd) != 0) {
			error_errno(err, ERROR_SYSTEM, path, "unable to open");
			file_close(&fd);
			return -1;
		}
		/* One that was removed meanwhile has no name any more. */
		if (lock_named(fd, path))
			return fd;
		file_close(&fd);
	}
}

/* Appends the line of a trace to its file, on disk when this returns. A line that was cut off gets an end. */
static enum traces_result
traces_append(const char *path, const struct buffer *line, struct error *err)
{
	struct buffer text = BUFFER_INIT;
	enum traces_result result = TRACES_FAILED;
	enum sync_mode sync;
	struct stat status;
	char last = '\n';
	int fd = traces_open(path, O_RDWR | O_CREAT | O_APPEND, err);

	if (fd == -1)
		return TRACES_FAILED;
	if (fstat(fd, &status) != 0) {
		error_errno(err, ERROR_SYSTEM, path, "unable to look at it");
	} else if (status.st_size + (off_t)line->len >= TRACE_BYTES) {
		result = TRACES_TOO_LARGE;
	} else if (sync_mode_from_environment(&sync, err) == 0) {
		if (status.st_size > 0 && pread(fd, &last, 1, status.st_size - 1) == 1 && last != '\n')
			buffer_byte(&text, '\n');
		buffer_append(&text, line->data, line->len);
		if (file_write(fd, text.data, text.len) != 0 || (sync != SYNC_NONE && fdatasync(fd) != 0))
			error_errno(err, ERROR_SYSTEM, path, "unable to write");
		else if (status.st_size > 0 || sync == SYNC_NONE || file_sync_name(path, err) == 0)
			result = TRACES_TAKEN;
	}
	file_close(&fd);
	buffer_free(&text);
	return result;
}

/* The path of the mark that a trace has an outermost span: until then there is nothing to import. */
static char *
traces_mark(const char *path)
{
	return memory_format("%.*s" MARK, (int)(strlen(path) - strlen(SUFFIX)), path);
}

/* Whether a trace has a span that may be outermost, in this line or before. */
static bool
traces_has_begun(const char *path, bool outermost)
{
	char *mark = traces_mark(path);
	bool begun = access(mark, F_OK) == 0;
	int fd = !begun && outermost ? file_open_plain(mark, O_WRONLY | O_CREAT, 0600) : -1;

	file_close(&fd);
	free(mark);
	return begun || outermost;
}

/* Files to which nothing was added for long, if it was not just looked for them. */
static char **
traces_find_old(const char *directory)
{
	char *looked = path_join(directory, LOOKED), **old = NULL;
	const time_t now = time(NULL);
	const struct dirent *entry;
	struct stat status;
	DIR *opened = NULL;
	int fd = -1;

	if (stat(looked, &status) != 0 || status.st_mtime < now - TRACES_LOOK_S || status.st_mtime > now) {
		fd = file_open_plain(looked, O_WRONLY | O_CREAT, 0600);
		if (fd != -1 && futimens(fd, NULL) == 0)
			opened = opendir(directory);
		file_close(&fd);
	}
	while (opened != NULL && (entry = readdir(opened)) != NULL) {
		char *path = path_join(directory, entry->d_name);

		if (text_ends(entry->d_name, SUFFIX) && stat(path, &status) == 0 && status.st_mtime < now - TRACES_KEPT_S)
			list_add(&old, path);
		free(path);
	}
	if (opened != NULL)
		closedir(opened);
	free(looked);
	return old;
}

/* Imports files. over: nothing more is waited for. */
static enum traces_result
traces_import(const struct traces *t, char *const *paths, bool over, struct error *err)
{
	char **argv = NULL, text[64];
	struct environment environment;
	struct process process;
	struct process_spec spec = { .in = PROCESS_NULL, .out = PROCESS_NULL, .err = PROCESS_INHERIT };
	enum traces_result result = TRACES_FAILED;
	int status = 0;

	environment_begin(&environment);
	environment_set(&environment, "AWF_STORAGE", t->request->server->outgoing.root);
	list_take(&argv, libexec_sibling("awf-import"));
	list_add(&argv, "-q");
	list_add(&argv, "--from");
	list_add(&argv, "otel");
	list_add(&argv, "--origin");
	list_add(&argv, t->sender);
	list_add(&argv, "--ended");
	list_add(&argv, over ? "0s" : "3650d");
	list_add(&argv, "--");
	for (; *paths != NULL; paths++)
		list_add(&argv, *paths);
	spec.argv = argv;
	spec.environment = environment.list;
	if (process_start(&process, &spec, NULL, err) == 0) {
		while (waitpid(process.pid, &status, 0) == -1 && errno == EINTR)
			continue;
		if (WIFEXITED(status) && (WEXITSTATUS(status) == STATUS_OK || WEXITSTATUS(status) == STATUS_WORK))
			result = WEXITSTATUS(status) == STATUS_OK ? TRACES_TAKEN : TRACES_CONFLICT;
		else
			error_set(err, ERROR_SYSTEM, "awf-import", "%s", process_status_text(status, text, sizeof text));
	}
	environment_free(&environment);
	list_free(argv);
	return result;
}

/* Imports files, some at a time: the arguments of a program have a limit. */
static enum traces_result
traces_import_all(const struct traces *t, char *const *paths, struct error *err)
{
	enum traces_result result = TRACES_TAKEN, one;

	while (result != TRACES_FAILED && paths != NULL && *paths != NULL) {
		char *some[AT_ONCE + 1] = { NULL };

		for (size_t i = 0; i < AT_ONCE && *paths != NULL; i++)
			some[i] = *paths++;
		one = traces_import(t, some, false, err);
		if (one != TRACES_TAKEN)
			result = one;
	}
	return result;
}

/* Imports old files a last time, and removes them, but those to which something is added just now. */
static void
traces_remove_old(const struct traces *t)
{
	char **old = traces_find_old(t->directory);

	for (char **path = old; path != NULL && *path != NULL; path++) {
		char *const one[] = { *path, NULL }, *mark = traces_mark(*path);
		struct error ignored;
		struct stat status;
		int fd = traces_open(*path, O_RDONLY, &ignored);

		if (fd != -1 && fstat(fd, &status) == 0 && status.st_mtime < time(NULL) - TRACES_KEPT_S &&
		    traces_import(t, one, true, &ignored) != TRACES_FAILED) {
			unlink(*path);
			unlink(mark);
		}
		file_close(&fd);
		free(mark);
	}
	list_free(old);
}

static enum traces_result
traces_record(const struct traces *t, struct span request, struct error *err)
{
	char **paths = NULL, *all = path_join(t->request->server->outgoing.root, "traces");
	struct traces_lines lines = { .list = NULL };
	enum traces_result result = TRACES_TAKEN;

	traces_sort(request, &lines);
	if (storage_make_directory(all, true, err) != 0 || storage_make_directory(t->directory, true, err) != 0)
		result = TRACES_FAILED;
	for (size_t i = 0; result == TRACES_TAKEN && i < lines.count; i++) {
		char *name = memory_format("%s" SUFFIX, lines.list[i].id), *path = path_join(t->directory, name);

		result = traces_append(path, &lines.list[i].text, err);
		if (result == TRACES_TAKEN && traces_has_begun(path, lines.list[i].outermost))
			list_add(&paths, path);
		free(path);
		free(name);
	}
	if (result == TRACES_TAKEN)
		result = traces_import_all(t, paths, err);
	traces_remove_old(t);
	traces_free_lines(&lines);
	list_free(paths);
	free(all);
	return result;
}

static void
traces_handle_in_worker(void *context, void *answer)
{
	const struct traces *t = context;
	struct traces_outcome *o = answer;
	const struct buffer *body = &t->request->connection->body;
	struct buffer json = BUFFER_INIT, plain = BUFFER_INIT;
	struct span request;
	size_t bad;

	o->result = TRACES_INVALID;
	if (t->compressed) {
		enum gunzipped read;

		signal(SIGPIPE, SIG_IGN);
		descendants_adopt();
		read = gunzip(buffer_string(body), body->len, TRACES_BODY, &plain, &o->err);
		if (read != GUNZIP_DONE) {
			o->result = read == GUNZIP_FAILED ? TRACES_FAILED : read == GUNZIP_DAMAGED ? TRACES_INVALID : TRACES_BODY_TOO_LARGE;
			return;
		}
		body = &plain;
	}
	if (t->protobuf && !otlp_write_json(buffer_string(body), body->len, &json))
		return;
	request = t->protobuf ? span_of(buffer_string(&json), json.len) : span_of(buffer_string(body), body->len);
	if (scan_within(request.at, request.len, SCAN_LINE_DEPTH, &bad) != NULL)
		return;
	request = span_trim(request);
	if (span_type(request) == 'o')
		o->result = traces_record(t, request, &o->err);
}

/* ---- in the server's process ---- */

static void
traces_store_outcome(void *context, const void *answer)
{
	struct traces *t = context;

	t->work = NULL;
	t->done = true;
	t->died = answer == NULL;
	if (answer != NULL)
		memcpy(&t->outcome, answer, sizeof t->outcome);
	request_wake(t->request);
}

static void
traces_free(void *state)
{
	struct traces *t = state;

	if (t->work != NULL)
		work_abandon(t->work);
	free(t->sender);
	free(t->directory);
	free(t);
}

/* The answer is of the type of the request: nothing, or that some could not be recorded, which sending them
 * again does not change. */
static void
traces_answer(struct request *r, const struct traces *t)
{
	static const char told[] = "a trace was recorded here before, and is another: the server's log says which";
	const bool conflict = t->outcome.result == TRACES_CONFLICT;
	struct buffer body = BUFFER_INIT;
	struct writer w;

	if (!t->protobuf) {
		writer_begin(&w, &body);
		writer_object(&w);
		if (conflict) {
			writer_member_object(&w, "partialSuccess");
			writer_member_string(&w, "errorMessage", told);
			writer_object_end(&w);
		}
		writer_object_end(&w);
		buffer_byte(&body, '\n');
	} else if (conflict) {
		/* partial_success (1) with error_message (2). */
		buffer_byte(&body, 1 << 3 | 2);
		buffer_byte(&body, (char)(sizeof told - 1 + 2));
		buffer_byte(&body, 2 << 3 | 2);
		buffer_byte(&body, (char)(sizeof told - 1));
		buffer_text(&body, told);
	}
	request_bytes(r, 200, t->protobuf ? PROTOBUF : JSON, &body, NULL);
}

/* Whether the header says gzip, or, if not, something else than nothing (*other). */
static bool
traces_is_compressed(const struct request *r, bool *other)
{
	const struct span encoding = span_trim(request_header(r, "Content-Encoding"));
	const bool is = (encoding.len == 4 && strncasecmp(encoding.at, "gzip", 4) == 0) ||
	    (encoding.len == 6 && strncasecmp(encoding.at, "x-gzip", 6) == 0);

	*other = !is && encoding.at != NULL && !(encoding.len == 8 && strncasecmp(encoding.at, "identity", 8) == 0);
	return is;
}

/* Why a request is refused before its body is looked at; NULL: it is not. */
static const struct refusal *
traces_check(const struct request *r)
{
	bool other;

	traces_is_compressed(r, &other);
	if (other)
		return &encoded;
	if (!request_has_type(r, PROTOBUF) && !request_has_type(r, JSON))
		return &bad_type;
	if (r->server->settings.database != NULL)
		return &database;
	return r->token->names.count > 0 ? &some_names : NULL;
}

void
answer_traces(struct request *r)
{
	struct traces *t = r->state;
	bool other;
	char digest[DIGEST_SIZE];
	struct error err;

	if (t != NULL && t->done) {
		if (t->died) {
			error_set(&err, ERROR_SYSTEM, "traces", "the process that was to record them has died");
			request_fail(r, &err);
		} else if (t->outcome.result == TRACES_FAILED) {
			log_warn(&t->outcome.err);
			request_fail(r, &t->outcome.err);
		} else if (t->outcome.result == TRACES_BODY_TOO_LARGE) {
			request_refuse(r, &body_too_large);
		} else if (t->outcome.result == TRACES_INVALID || t->outcome.result == TRACES_TOO_LARGE) {
			request_refuse(r, t->outcome.result == TRACES_INVALID ? &bad_body : &too_large);
		} else {
			traces_answer(r, t);
		}
		return;
	}
	if (traces_check(r) != NULL) {
		request_refuse(r, traces_check(r));
		return;
	}
	t = memory_zero(1, sizeof *t);
	t->request = r;
	t->protobuf = request_has_type(r, PROTOBUF);
	t->compressed = traces_is_compressed(r, &other);
	t->sender = upload_sender(r->token);
	digest_sha256(t->sender, strlen(t->sender), digest);
	t->directory = memory_format("%s/traces/%.*s", r->server->outgoing.root, SENDER_DIGITS, digest);
	r->state = t;
	r->free_state = traces_free;
	t->work = work_start(&r->server->works, traces_handle_in_worker, t, sizeof t->outcome, traces_store_outcome);
	request_wait(r);
}
