/*
 * awf-import: session logs of other programs become transcripts. A format program,
 * awf-import-NAME, says what a log says; session.c makes lines of it; lib/ingest records them, as it does
 * lines from elsewhere: so what was imported before is recognised, and only what is new is added.
 *
 * imports/<sha256> in the storage has size and time of each log as it was when it was imported last, so
 * that a log that did not change is not read.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/digest.h"
#include "base/list.h"
#include "base/map.h"
#include "base/memory.h"
#include "base/options.h"
#include "base/text.h"
#include "import/own.h"
#include "import/session.h"
#include "ingest/ingest.h"
#include "io/file.h"
#include "io/path.h"
#include "json/line_input.h"
#include "proc/libexec.h"
#include "proc/process.h"
#include "program.h"
#include "storage/call_marks.h"
#include "storage/origin.h"
#include "storage/redactor.h"
#include "storage/storage.h"
#include "transcript/event_keys.h"
#include "transcript/layout.h"
#include "transcript/reader.h"

#define PROGRAM "awf-import"
#define PREFIX "awf-import-"
#define IMPORTS "imports"
#define SUBAGENTS "subagents"
#define CHATS "chats"           /* of Gemini CLI: in directories in it are sub-agents */
#define OPENCODE_TREE "storage" /* a directory that is a log */
#define ENDED_MS (INT64_C(12) * 3600 * 1000)
#define DEPTH_MOST 16           /* directories inside of each other in which logs are looked for */
#define FOLLOW_MS 1000

enum { OPT_FROM = 1, OPT_ENDED, OPT_FOLLOW, OPT_SINCE, OPT_QUIET, OPT_MASK, OPT_ORIGIN };

/* The logs of a format: where they are in the home directory, and their names. */
static const struct known_format {
	const char *name, *variable, *home, *inside;
	const char *names[3];
} known_formats[] = {
	{ "claude", "CLAUDE_CONFIG_DIR", ".claude", "projects", { "*.jsonl" } },
	{ "codex", "CODEX_HOME", ".codex", "sessions", { "rollout-*.jsonl" } },
	{ "copilot", "COPILOT_HOME", ".copilot", "session-state", { "events.jsonl" } },
	{ "gemini", "GEMINI_CLI_HOME", "", ".gemini/tmp", { "session-*.json", "session-*.jsonl" } },
	{ "opencode", "XDG_DATA_HOME", ".local/share", "opencode", { "opencode*.db", OPENCODE_TREE } },
};
#define KNOWN_FORMATS (sizeof known_formats / sizeof *known_formats)

struct log_file {
	char *path;
	bool named;                    /* by the user: it is read, whether it has changed or not */
	struct stat status;
	bool over;                     /* of a sub-agent: it has ended */
};

struct log_list { struct log_file *list; size_t count; };

struct import {
	const char *from;              /* the format that is imported */
	bool automatic;                /* all formats are, one after another */
	int64_t ended_ms, since;
	bool follow, quiet;
	char **arguments;
	char *program;                 /* of the format */

	const char *origin;            /* of the runs; NULL: the format */
	const char *mask;              /* command; NULL: $AWF_MASK */

	struct storage storage;
	struct ingest ingest;
	struct redactor redactor;
	unsigned char mask_key[MARKS_KEY_BYTES]; /* if it masks */
	struct log_list logs;
	size_t found;                  /* logs of the format */
	size_t found_all;              /* and of all formats */
	int64_t sessions, lines;       /* that were added to */
	struct map left_out;           /* kind → count */
	char **left_out_kinds;
	bool refused;
};

static int
import_check_from(const char *name, struct error *err)
{
	return name_valid(name) ? 0 : error_set(err, ERROR_USAGE, NULL, "'%s' is no name of a format", name);
}

static int
import_check_origin(const char *name, struct error *err)
{
	return origin_name_valid(name) ? 0 : error_set(err, ERROR_USAGE, NULL, "is no name of an origin");
}

static const struct option_spec options[] = {
	{ OPT_FROM, 0, "from", "NAME", "agents, awf, claude, codex, copilot, gemini, inspect, opencode, otel, or a "
	    "program awf-import-NAME",
	    OPTION_INTO_TEXT_CHECKED(struct import, from, import_check_from) },
	{ OPT_ENDED, 0, "ended", "AGE", "a session that was silent for so long is over (12h)",
	    OPTION_INTO_DURATION(struct import, ended_ms) },
	{ OPT_SINCE, 0, "since", "TIME", "logs that have changed since a time or an age such as 30d",
	    OPTION_INTO_TIME(struct import, since) },
	{ OPT_FOLLOW, 'f', "follow", NULL, "go on as logs grow and come", OPTION_INTO_FLAG(struct import, follow) },
	{ OPT_MASK, 0, "mask", "COMMAND", "what passes this filter is recorded, as by awf-run --mask",
	    OPTION_INTO_TEXT(struct import, mask) },
	{ OPT_ORIGIN, 0, "origin", "NAME", "whose runs they are (the format's)",
	    OPTION_INTO_TEXT_CHECKED(struct import, origin, import_check_origin) },
	{ OPT_QUIET, 'q', "quiet", NULL, "do not say what was imported", OPTION_INTO_FLAG(struct import, quiet) },
	{ OPTION_END, 0, NULL, NULL, NULL },
};

static const char usage[] =
	"awf-import [options] [FILE|DIR...]\n\n"
	"without FILE or DIR: the sessions in the home directory\n";

/* ---- which logs ---- */

static struct log_file *
logs_add(struct log_list *logs, const char *path, const struct stat *status)
{
	struct log_file *log;

	logs->list = memory_array(logs->list, logs->count + 1, sizeof *logs->list);
	log = &logs->list[logs->count++];
	*log = (struct log_file){ .path = memory_text(path), .status = *status };
	return log;
}

static void
logs_free(struct log_list *logs)
{
	for (size_t i = 0; i < logs->count; i++)
		free(logs->list[i].path);
	free(logs->list);
	*logs = (struct log_list){ NULL, 0 };
}

/* Whether a log's name is one of the format's. */
static bool
format_has_name(const struct known_format *format, const char *name)
{
	for (size_t i = 0; i < sizeof format->names / sizeof *format->names && format->names[i] != NULL; i++)
		if (fnmatch(format->names[i], name, 0) == 0)
			return true;
	return false;
}

/* The format of a log, by its name: the first one has what none of the others has. */
static const char *
import_format_of(const char *path)
{
	for (size_t i = 1; i < KNOWN_FORMATS; i++)
		if (format_has_name(&known_formats[i], path_base(path)))
			return known_formats[i].name;
	return known_formats[0].name;
}

/* Whether a file in a directory is a log of the format that is imported. */
static bool
import_is_log(const struct import *im, const char *path)
{
	for (size_t i = 0; i < KNOWN_FORMATS; i++)
		if (strcmp(known_formats[i].name, im->from) == 0)
			return format_has_name(&known_formats[i], path_base(path));
	return text_ends(path, ".jsonl") || text_ends(path, ".json") || (text_ends(path, ".eval") && strcmp(im->from, "inspect") == 0);
}

static void
import_add_log(struct import *im, const char *path, const struct stat *status, bool named)
{
	if ((!S_ISDIR(status->st_mode) && clock_of(&status->st_mtim) < im->since) || (im->automatic && strcmp(import_format_of(path), im->from) != 0))
		return;
	logs_add(&im->logs, path, status)->named = named;
}

/* The status of a log; 0 or -1. What a database was given last is beside it, unless that is empty: to read it makes it. */
static int
import_look_at(const char *path, struct stat *status)
{
	char *beside;
	struct stat newer;

	if (stat(path, status) != 0)
		return -1;
	beside = memory_format("%s-wal", path);
	if (stat(beside, &newer) == 0 && newer.st_size > 0 && clock_of(&newer.st_mtim) > clock_of(&status->st_mtim))
		status->st_mtim = newer.st_mtim;
	free(beside);
	return 0;
}

/* Whether a directory is the log of a format, from before it had a database. */
static bool
import_is_tree(const struct import *im, const char *path)
{
	char *sessions = path_join(path, "session");
	const bool is = strcmp(path_base(path), OPENCODE_TREE) == 0 && import_is_log(im, path) && access(sessions, F_OK) == 0;

	free(sessions);
	return is;
}

/* Adds a file, or the logs in a directory. named: the user has said it. */
static int
import_add_path(struct import *im, const char *path, bool named, int depth, struct error *err)
{
	struct stat status;
	const struct dirent *entry;
	int failed = 0;
	DIR *directory;

	if (import_look_at(path, &status) != 0)
		return named ? error_errno(err, ERROR_USAGE, path, "unable to look at it") : 0;
	/* A pipe would be waited for, and nothing tells whether it is what it was. */
	if (named && !S_ISDIR(status.st_mode) && !S_ISREG(status.st_mode))
		return error_set(err, ERROR_USAGE, path, "neither a file nor a directory");
	if (S_ISDIR(status.st_mode) ? import_is_tree(im, path) : named || (S_ISREG(status.st_mode) && import_is_log(im, path)))
		import_add_log(im, path, &status, named);
	if (!S_ISDIR(status.st_mode) || import_is_tree(im, path))
		return 0;
	if (depth == DEPTH_MOST)
		return 0;
	directory = opendir(path);
	if (directory == NULL)
		return named ? error_errno(err, ERROR_SYSTEM, path, "unable to read the directory") : 0;
	while (failed == 0 && (entry = readdir(directory)) != NULL) {
		char *inside;

		/* Logs of sub-agents are imported with the session that started them. */
		if (*entry->d_name == '.' || (!named && strcmp(entry->d_name, SUBAGENTS) == 0))
			continue;
		inside = path_join(path, entry->d_name);
		if (strcmp(path_base(path), CHATS) == 0 && path_is_directory(inside)) {
			free(inside);
			continue;
		}
		failed = import_add_path(im, inside, false, depth + 1, err);
		free(inside);
	}
	closedir(directory);
	return failed;
}

static int
import_compare_logs(const void *a, const void *b)
{
	const struct log_file *one = a, *other = b;

	return strcmp(one->path, other->path);
}

static int
import_find_logs(struct import *im, struct error *err)
{
	const char *home = environment_text("HOME");
	int failed = 0;

	for (char **argument = im->arguments; failed == 0 && argument != NULL && *argument != NULL; argument++)
		failed = import_add_path(im, *argument, true, 0, err);
	for (size_t i = 0; im->arguments == NULL && i < KNOWN_FORMATS; i++) {
		const struct known_format *format = &known_formats[i];
		const char *told = environment_text(format->variable);
		char *directory, *logs;

		if (strcmp(format->name, im->from) != 0 || (home == NULL && told == NULL))
			continue;
		directory = told != NULL ? memory_text(told) : path_join(home, format->home);
		logs = path_join(directory, format->inside);
		failed = import_add_path(im, logs, false, 0, err);
		free(logs);
		free(directory);
	}
	if (im->logs.count > 0)
		qsort(im->logs.list, im->logs.count, sizeof *im->logs.list, import_compare_logs);
	return failed;
}

/* ---- what was imported before ---- */

/* Whether the session has been silent for so long that it is over. */
static bool
import_is_over(const struct import *im, const struct log_file *log)
{
	return clock_wall() - clock_of(&log->status.st_mtim) >= im->ended_ms * 1000;
}

/* A digest from which nothing of a text can be guessed, if there is a mask. */
static char *
import_digest(const struct import *im, const char *text, char digest[DIGEST_SIZE])
{
	return im->redactor.command == NULL ? digest_sha256(text, strlen(text), digest) :
	    digest_hmac(im->mask_key, sizeof im->mask_key, text, strlen(text), digest);
}

/* The path of the note about a log; its text for the log as it is now, and the mask. */
static char *
import_note(const struct import *im, const struct log_file *log, struct buffer *text)
{
	char *real = realpath(log->path, NULL), *key, *directory, *path, digest[DIGEST_SIZE];

	key = memory_format("%s\n%s", im->from, real != NULL ? real : log->path);
	directory = path_join(im->storage.root, IMPORTS);
	path = path_join(directory, import_digest(im, key, digest));
	buffer_format(text, "%jd %jd %ju%s", (intmax_t)log->status.st_size, (intmax_t)clock_of(&log->status.st_mtim),
	    (uintmax_t)log->status.st_ino, import_is_over(im, log) ? " over" : "");
	if (im->redactor.command != NULL)
		buffer_format(text, " %s", import_digest(im, im->redactor.program, digest));
	buffer_byte(text, '\n');
	free(directory);
	free(key);
	free(real);
	return path;
}

static bool
import_is_unchanged(const char *note, const struct buffer *text)
{
	struct buffer was = BUFFER_INIT;
	struct error ignored;
	bool same = file_load(note, 256, &was, &ignored) == 0 && was.len == text->len &&
	    memcmp(was.data, text->data, was.len) == 0;

	buffer_free(&was);
	return same;
}

/* A note that cannot be written costs only time, with the next import. */
static void
import_write_note(const struct import *im, const char *note, const struct buffer *text)
{
	char *directory = path_join(im->storage.root, IMPORTS);
	struct error ignored;
	int fd;

	if (storage_make_directory(directory, false, &ignored) == 0 &&
	    (fd = file_open_plain(note, O_WRONLY | O_CREAT | O_TRUNC, 0600)) != -1) {
		(void)!file_write(fd, text->data, text->len);
		file_close(&fd);
	}
	free(directory);
}

/* A log of sessions, or of a sub-agent of one (parent: its run; NULL: none). */
struct one_log {
	struct import *im;
	const struct log_file *log;
	bool over;                    /* nothing more will come */
	struct ingest_input input;    /* of a session: what is refused is no hindrance for others */
	struct session_lines lines;
	struct log_list children;     /* logs of sub-agents of the session */
	struct log_list inside;       /* logs in this one, such as a database of sessions */
	bool refused;                 /* of the session nothing more is taken */
	bool failed;                  /* some session was refused */
};

/* Whether what is recorded of a session was masked as it is now. */
static int
import_check_masked(const struct import *im, const char *run_id, const char *line, size_t len, struct error *err)
{
	const bool mask = im->redactor.command != NULL;
	struct event_view view;

	if (event_view(line, len, &view) != 0 || span_true(span_member(view.payload, KEY_MASKED)) == mask)
		return 0;
	return error_set(err, ERROR_BLOCKED, run_id, mask ? "was imported without a mask, and is as it was: "
	    "remove it first (awf-ctl prune)" : "was imported with a mask: give it again");
}

/* What is recorded of a session. */
static int
import_read_recorded(void *context, struct session_lines *s, struct error *err)
{
	const struct one_log *one = context;
	char *path = layout_transcript(one->im->storage.root, s->run_id);
	struct event_head head;
	struct reader reader;
	const char *line;
	size_t len;
	int got = 0;

	if (transcript_begun(path) && (got = reader_open(&reader, path, err)) == 0) {
		while ((got = reader_next(&reader, &line, &len, err)) == 1) {
			if (event_peek(line, len, &head) != 0)
				continue;
			if (head.seq == 1 && (got = import_check_masked(one->im, s->run_id, line, len, err)) != 0)
				break;
			session_recorded(s, line, len);
		}
		reader_close(&reader);
	}
	free(path);
	return got;
}

/* ---- one log ---- */

/* {"left_out":{"progress":3}} */
static void
import_count_left_out(struct import *im, struct span kinds)
{
	for (struct span_walk kind = span_walk(kinds); span_next(&kind);) {
		char *name = span_text(kind.key);
		const size_t *at = map_get(&im->left_out, name, strlen(name));
		long long count = 0;

		span_integer(kind.value, &count);
		if (at == NULL)
			list_add(&im->left_out_kinds, name);
		map_put(&im->left_out, name, strlen(name), (at != NULL ? *at : 0) + (size_t)(count > 0 ? count : 0));
		free(name);
	}
}

/* {"log":PATH,"time":TIME}: a log inside this one, and when it has changed. */
static void
import_add_inside(struct one_log *one, struct span said)
{
	char *path = span_text(span_member(said, "log")), time[CLOCK_TEXT_SIZE + 8];
	struct stat status = { .st_size = 0 };
	int64_t wall;

	if (path != NULL && span_copy(span_member(said, "time"), time, sizeof time) && clock_parse(time, 0, &wall) == 0 &&
	    wall >= one->im->since) {
		status.st_mtim.tv_sec = (time_t)(wall / 1000000);
		status.st_mtim.tv_nsec = (long)(wall % 1000000) * 1000;
		logs_add(&one->inside, path, &status)->named = one->log->named;
	}
	free(path);
}

/* Finds the program of the format, with AWF's helpers or in PATH. */
static int
import_find_format(struct import *im, struct error *err)
{
	char *name = memory_format(PREFIX "%s", im->from), *list = libexec_path();

	im->program = path_search(list, name);
	if (im->program == NULL)
		im->program = path_search(environment_text("PATH"), name);
	if (im->program == NULL)
		error_set(err, ERROR_USAGE, "--from", "there is no program %s", name);
	free(list);
	free(name);
	return im->program != NULL ? 0 : -1;
}

static int
import_take_line(void *context, struct span line, struct error *err)
{
	struct one_log *one = context;

	if (ingest_feed(&one->input, line.at, line.len) == 0)
		return 0;
	*err = one->input.refusal.error;
	return -1;
}

/* They are read when the session's own log has been. */
static int
import_note_child(void *context, const char *log, bool over, struct error *err)
{
	struct one_log *one = context;
	const struct stat unknown = { .st_size = 0 };

	(void)err;
	logs_add(&one->children, log, &unknown)->over = over;
	return 0;
}

static const struct session_callbacks import_callbacks = {
	.take = import_take_line, .child = import_note_child, .recorded = import_read_recorded
};

/* Nothing is recorded without the mask. */
static bool
import_mask_failed(const struct import *im)
{
	return im->redactor.broken.code != ERROR_NONE;
}

/* Tells why a session is refused; nothing more of it is taken. */
static void
import_refuse(struct one_log *one, const struct error *err)
{
	if (!one->refused && !import_mask_failed(one->im)) {
		message_print(PROGRAM, "%s: %s", one->log->path, err->message);
		one->im->refused = true;
	}
	one->refused = one->failed = true;
}

static void
import_begin_session(struct one_log *one)
{
	const struct import *im = one->im;
	const struct ingest_spec spec = { .sender = im->origin != NULL ? im->origin : im->from };

	ingest_input_begin(&one->input, &one->im->ingest, &spec);
	session_forget(&one->lines);
	one->refused = false;
}

static int import_read_log(struct import *im, const struct log_file *log, const char *parent, bool over);

/* Records what was said of a session, and its sub-agents. */
static void
import_end_session(struct one_log *one)
{
	struct import *im = one->im;
	struct error err = ERROR_INIT;

	if (!one->refused && one->over && session_end(&one->lines, &err) != 0)
		import_refuse(one, &err);
	if (ingest_input_end(&one->input) != 0 && !one->refused)
		import_refuse(one, &one->input.refusal.error);
	im->sessions += one->input.accepted > 0 && one->lines.spec->parent == NULL && *one->lines.of == '\0';
	im->lines += one->input.accepted;
	if (*one->lines.run_id != '\0')
		ingest_close(&im->ingest, one->lines.run_id);
	for (size_t i = 0; i < one->children.count && !import_mask_failed(im); i++) {
		const struct log_file *child = &one->children.list[i];

		one->failed |= import_read_log(im, child, one->lines.run_id, child->over || one->over) != 0;
	}
	ingest_input_free(&one->input);
	logs_free(&one->children);
}

/* Reads what the format program says of a log, to its end. */
static int
import_read_said(struct one_log *one, int fd, struct error *err)
{
	struct error refused = ERROR_INIT;
	struct line_input input;
	const char *line;
	size_t len;
	int got;

	line_input_begin(&input, fd, one->im->from);
	while ((got = line_input_next(&input, &line, &len, err)) == 1 && !import_mask_failed(one->im)) {
		const struct span said = span_of(line, len);

		if (*one->lines.run_id != '\0' && span_member(said, "session").at != NULL) {
			import_end_session(one);
			import_begin_session(one);
		}
		if (!one->refused && session_take(&one->lines, said, &refused) != 0)
			import_refuse(one, &refused);
		import_count_left_out(one->im, span_member(said, "left_out"));
		import_add_inside(one, said);
	}
	line_input_free(&input);
	return got;
}

static int
import_run_format(struct one_log *one, struct error *err)
{
	const struct import *im = one->im;
	const bool over = one->over;
	char *path = one->log->path, *argv[] = { im->program, over ? (char *)(uintptr_t)"--whole" : path, path, NULL };
	struct process_spec spec = { .argv = argv, .in = PROCESS_NULL, .out = PROCESS_PIPE, .err = PROCESS_INHERIT };
	struct process process;
	char text[64];
	int failed, wait_status = 0;

	if (!over)
		argv[2] = NULL;
	if (process_start(&process, &spec, NULL, err) != 0)
		return -1;
	/* The end that is read blocks: nothing else is waited for. */
	fcntl(process.out, F_SETFL, fcntl(process.out, F_GETFL) & ~O_NONBLOCK);
	failed = import_read_said(one, process.out, err);
	file_close(&process.out);
	while (waitpid(process.pid, &wait_status, 0) == -1 && errno == EINTR)
		;
	if (failed == 0 && wait_status != 0)
		failed = error_set(err, ERROR_EXIT_STATUS, path, "%s: %s", path_base(im->program),
		    process_status_text(wait_status, text, sizeof text));
	return failed;
}

static bool
import_is_own(const struct import *im)
{
	return strcmp(im->from, OWN_FORMAT) == 0;
}

/* A transcript of AWF. */
static int
import_read_own(struct one_log *one, struct error *err)
{
	struct buffer counted = BUFFER_INIT;
	const char *path = one->log->path;
	int64_t others;
	int failed;

	if (one->im->redactor.command != NULL)
		return error_set(err, ERROR_BLOCKED, path, "is a transcript of AWF: its lines are recorded as they are, not masked");
	failed = own_read(&one->input, path, &others, err);
	if (others > 0) {
		buffer_format(&counted, "{\"lines of no transcript\":%" PRId64 "}", others);
		import_count_left_out(one->im, span_of(counted.data, counted.len));
	}
	buffer_free(&counted);
	return failed;
}

static int import_log(struct import *im, const struct log_file *log);

/* What is wrong with one log is told, and no hindrance for others. over: nothing more will come. */
static int
import_read_log(struct import *im, const struct log_file *log, const char *parent, bool over)
{
	struct one_log one = { .im = im, .log = log, .over = over };
	const struct session_spec spec = { .format = im->from, .root = im->storage.root, .parent = parent,
		.callbacks = &import_callbacks, .context = &one, .redaction = redactor_redaction(&im->redactor),
		.mask_key = im->mask_key };
	struct error err = ERROR_INIT;

	session_begin(&one.lines, &spec);
	import_begin_session(&one);
	if ((import_is_own(im) ? import_read_own(&one, &err) : import_run_format(&one, &err)) != 0)
		import_refuse(&one, &err);
	import_end_session(&one);
	session_free(&one.lines);
	for (size_t i = 0; i < one.inside.count && !import_mask_failed(im); i++)
		one.failed |= import_log(im, &one.inside.list[i]) != 0;
	logs_free(&one.inside);
	return one.failed ? -1 : 0;
}

/* Imports a log, unless it is as it was. */
static int
import_log(struct import *im, const struct log_file *log)
{
	struct buffer text = BUFFER_INIT;
	char *note;
	int failed = 0;

	/* That something has changed far inside a directory cannot be seen. */
	if (S_ISDIR(log->status.st_mode))
		return import_read_log(im, log, NULL, false);
	if (log->named && !im->follow)
		return import_read_log(im, log, NULL, import_is_over(im, log));
	note = import_note(im, log, &text);
	if (!import_is_unchanged(note, &text)) {
		failed = import_read_log(im, log, NULL, import_is_over(im, log));
		if (failed == 0)
			import_write_note(im, note, &text);
	}
	free(note);
	buffer_free(&text);
	return failed;
}

/* ---- all of them ---- */

/* What was added, and what of the logs was left out, in a line each. */
static void
import_report(struct import *im)
{
	struct buffer out = BUFFER_INIT;

	if (!im->quiet && (!im->automatic || im->found > 0))
		message_print(PROGRAM, "%" PRId64 " lines of %" PRId64 " session%s of %s", im->lines, im->sessions,
		    im->sessions == 1 ? "" : "s", im->from);
	for (char **kind = im->left_out_kinds; !im->quiet && kind != NULL && *kind != NULL; kind++) {
		buffer_text(&out, out.len > 0 ? ", " : "");
		text_visible(&out, *kind, strlen(*kind), 40);
		buffer_format(&out, " %zu", *map_get(&im->left_out, *kind, strlen(*kind)));
	}
	if (out.len > 0)
		message_print(PROGRAM, "left out: %s", buffer_string(&out));
	buffer_free(&out);
}

static int
import_all(struct import *im, struct error *err)
{
	for (size_t i = 0; i < im->logs.count && !import_mask_failed(im); i++)
		import_log(im, &im->logs.list[i]);
	if (!import_mask_failed(im))
		return 0;
	*err = im->redactor.broken;
	return -1;
}

/* Imports what there is now of one format, and says so. */
static int
import_format(struct import *im, const char *format, bool report, struct error *err)
{
	int failed;

	im->from = format;
	im->sessions = im->lines = 0;
	failed = import_find_logs(im, err);
	im->found = im->logs.count;
	im->found_all += im->found;
	if (failed == 0 && (!im->automatic || im->found > 0)) {
		if (import_is_own(im) || import_find_format(im, err) == 0) {
			failed = import_all(im, err);
			if (failed == 0 && report)
				import_report(im);
		} else if (!im->automatic) {
			failed = -1;
		} else if (report) {
			message_print(PROGRAM, "sessions of %s are left out: %s", format, err->message);
		}
	}
	logs_free(&im->logs);
	free(im->program);
	im->program = NULL;
	map_free(&im->left_out);
	list_free(im->left_out_kinds);
	im->left_out = (struct map)MAP_INIT;
	im->left_out_kinds = NULL;
	return failed;
}

/* Says that there is nothing to import: the user may have meant another place. */
static void
import_report_none(const struct import *im)
{
	message_print(PROGRAM, "no log was found%s%s", im->since != 0 ? " that has changed since then" : "",
	    im->arguments == NULL ? " in the home directory: awf-import FILE or DIR takes others" : "");
}

static int
import_run(struct import *im, struct error *err)
{
	const struct timespec pause = { FOLLOW_MS / 1000, 0 };
	const char *told = im->from;
	int failed = 0;

	im->automatic = told == NULL;
	for (bool first = true; failed == 0 && (first || im->follow); first = false) {
		if (!first)
			nanosleep(&pause, NULL);
		if (told != NULL)
			failed = import_format(im, told, first, err);
		for (size_t i = 0; failed == 0 && told == NULL && i < KNOWN_FORMATS; i++)
			failed = import_format(im, known_formats[i].name, first, err);
		if (failed == 0 && first && !im->quiet && im->automatic && im->found_all == 0)
			import_report_none(im);
	}
	return failed;
}

int
main(int argc, char **argv)
{
	struct import im = { .ended_ms = ENDED_MS };
	struct error err = ERROR_INIT;
	struct options o;
	int id, failed;

	program_begin();
	options_begin(&o, options, argc, argv);
	options_bind(&o, &im);
	while ((id = options_next(&o, &err)) == OPTION_WORD)
		list_add(&im.arguments, o.value);
	if (OPTION_ASKS(id)) {
		if (id == OPTION_VERSION)
			return program_end(PROGRAM, program_version(PROGRAM));
		options_help(stdout, usage, options, id);
		return program_end(PROGRAM, STATUS_OK);
	}
	failed = id != OPTION_END;
	for (int i = o.next; !failed && i < argc; i++)
		list_add(&im.arguments, argv[i]);
	if (!failed && redactor_open(&im.redactor, im.mask, &err) == 0 && storage_prepare(&im.storage, &err) == 0 &&
	    (im.redactor.command == NULL || marks_key(im.storage.root, true, im.mask_key, &err) == 1)) {
		ingest_begin(&im.ingest, &im.storage);
		failed = import_run(&im, &err);
		ingest_end(&im.ingest);
	} else {
		failed = -1;
	}
	list_free(im.arguments);
	redactor_free(&im.redactor);
	storage_close(&im.storage);
	if (failed)
		return program_end(PROGRAM, program_fail(PROGRAM, &err));
	return program_end(PROGRAM, im.refused ? STATUS_WORK : STATUS_OK);
}
