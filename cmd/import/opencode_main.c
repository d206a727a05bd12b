/*
 * awf-import-opencode FILE: what the sessions of OpenCode say. They are in a database (1.2 on), of which
 * FILE/SESSION is one, or in a tree of files (before), storage/session/PROJECT/SESSION.json; FILE may also be the
 * directory storage. A session has messages, a message has parts.
 *
 *   - Messages and parts are changed in place while the model answers: what is said ends before the first
 *     answer that is not complete, unless a later one has begun.
 *   - A fork has copies of the messages before it, with their times: they are left out.
 *   - A session that is in a database beside the tree is left to that.
 */
#include <dirent.h>
#include <fcntl.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/memory.h"
#include "base/text.h"
#include "import/format.h"
#include "io/file.h"
#include "io/path.h"

#define JSON_MOST ((size_t)256 << 20)
#define BUSY_MS 5000

struct message {
	char *id;
	long long created;         /* ms since 1970 */
	struct buffer json;
};

/* The session that is said. */
struct session {
	char *id, *directory, *version;
	long long created;
	struct message *messages;
	size_t count;
};

/* Where it is: in a database, or in a tree. */
struct store {
	sqlite3 *db;               /* NULL: a tree */
	char *tree;                /* path of the directory storage */
};

/* ---- databases ---- */

static int
store_fail(const struct store *store, const struct format_log *log, struct error *err)
{
	return error_set(err, ERROR_SYSTEM, log->file, "%s", sqlite3_errmsg(store->db));
}

/* A statement, its parameter bound to text; NULL with *err. */
static sqlite3_stmt *
store_select(const struct store *store, const struct format_log *log, const char *sql, const char *text, struct error *err)
{
	sqlite3_stmt *statement = NULL;

	if (sqlite3_prepare_v2(store->db, sql, -1, &statement, NULL) != SQLITE_OK ||
	    (text != NULL && sqlite3_bind_text(statement, 1, text, -1, SQLITE_TRANSIENT) != SQLITE_OK)) {
		store_fail(store, log, err);
		sqlite3_finalize(statement);
		return NULL;
	}
	return statement;
}

/* 1: there is a row; 0; -1 with *err. */
static int
store_next(const struct store *store, const struct format_log *log, sqlite3_stmt *statement, struct error *err)
{
	switch (sqlite3_step(statement)) {
	case SQLITE_ROW:
		return 1;
	case SQLITE_DONE:
		return 0;
	default:
		return store_fail(store, log, err);
	}
}

static char *
column_text(sqlite3_stmt *statement, int column)
{
	const char *text = (const char *)sqlite3_column_text(statement, column);

	return memory_text(text != NULL ? text : "");
}

/* Appends a JSON object, minified; returns whether it is one. */
static bool
json_take(const char *text, size_t len, struct buffer *out)
{
	size_t bad;

	if (scan_within(text, len, SCAN_LINE_DEPTH, &bad) != NULL)
		return false;
	scan_minify(span_trim(span_of(text, len)), out);
	return span_type(span_of(out->data, out->len)) == 'o';
}

static bool
column_json(sqlite3_stmt *statement, int column, struct buffer *out)
{
	const char *text = (const char *)sqlite3_column_text(statement, column);

	return text != NULL && json_take(text, (size_t)sqlite3_column_bytes(statement, column), out);
}

/* Whether there is a table: 1, 0, or -1 with *err. */
static int
store_has_table(const struct store *store, const struct format_log *log, const char *name, struct error *err)
{
	sqlite3_stmt *statement = store_select(store, log, "SELECT 1 FROM sqlite_master WHERE name = ?1", name, err);
	const int got = statement != NULL ? store_next(store, log, statement, err) : -1;

	sqlite3_finalize(statement);
	return got;
}

/* ---- trees ---- */

/* Calls take with the path of each file NAME.json in a directory, which may not be there. */
static void
tree_walk(const char *directory, void (*take)(void *context, const char *path), void *context)
{
	DIR *open = opendir(directory);
	const struct dirent *entry;

	while (open != NULL && (entry = readdir(open)) != NULL)
		if (text_ends(entry->d_name, ".json")) {
			char *path = path_join(directory, entry->d_name);

			take(context, path);
			free(path);
		}
	if (open != NULL)
		closedir(open);
}

static bool
tree_load(const char *path, struct buffer *out)
{
	struct buffer text = BUFFER_INIT;
	struct error ignored;
	const bool is = file_load(path, JSON_MOST, &text, &ignored) == 0 && json_take(buffer_string(&text), text.len, out);

	buffer_free(&text);
	return is;
}

static void
tree_note_time(void *context, const char *path)
{
	int64_t *newest = context;
	struct stat status;

	if (stat(path, &status) == 0 && clock_of(&status.st_mtim) > *newest)
		*newest = clock_of(&status.st_mtim);
}

/* The name of a file without .json. */
static char *
tree_name(const char *path)
{
	const char *base = path_base(path);

	return memory_copy(base, strlen(base) - strlen(".json"));
}

/* ---- which sessions ---- */

static void
opencode_say_log(struct format_log *log, const char *path, int64_t wall)
{
	char text[CLOCK_TEXT_SIZE];
	struct writer w;

	writer_begin(&w, &log->out);
	writer_object(&w);
	writer_member_string(&w, "log", path);
	writer_member_string(&w, "time", clock_text(wall, text));
	writer_object_end(&w);
	buffer_byte(&log->out, '\n');
}

/* Sub-agents are said by the session that has called them: with them it has changed. A message is written last
 * when it is complete, after its parts. */
static int
database_say_logs(struct format_log *log, const struct store *store, struct error *err)
{
	static const char sql[] =
	    "WITH RECURSIVE root(id, top) AS (SELECT id, id FROM session WHERE parent_id IS NULL "
	    " OR parent_id NOT IN (SELECT id FROM session) "
	    " UNION ALL SELECT s.id, r.top FROM session s JOIN root r ON s.parent_id = r.id) "
	    "SELECT r.top, max(max(s.time_updated, coalesce((SELECT max(time_updated) FROM message WHERE session_id = s.id), 0))) "
	    "FROM root r JOIN session s ON s.id = r.id GROUP BY r.top ORDER BY r.top";
	sqlite3_stmt *statement = store_select(store, log, sql, NULL, err);
	int got;

	if (statement == NULL)
		return -1;
	while ((got = store_next(store, log, statement, err)) == 1) {
		char *id = column_text(statement, 0), *path = memory_format("%s/%s", log->file, id);

		opencode_say_log(log, path, sqlite3_column_int64(statement, 1) * 1000);
		free(path);
		free(id);
	}
	sqlite3_finalize(statement);
	return got;
}

/* A database beside the tree: opencode*.db in the directory above. */
static bool
tree_is_in_database(const char *tree, const char *session)
{
	char *directory = path_directory(tree);
	struct store store = { .db = NULL };
	const struct dirent *entry;
	DIR *open = opendir(directory);
	bool is = false;

	while (!is && open != NULL && (entry = readdir(open)) != NULL) {
		sqlite3_stmt *statement = NULL;
		char *path = path_join(directory, entry->d_name);

		if (strncmp(entry->d_name, "opencode", 8) == 0 && text_ends(entry->d_name, ".db") &&
		    sqlite3_open_v2(path, &store.db, SQLITE_OPEN_READONLY, NULL) == SQLITE_OK &&
		    sqlite3_prepare_v2(store.db, "SELECT 1 FROM session WHERE id = ?1", -1, &statement, NULL) == SQLITE_OK &&
		    sqlite3_bind_text(statement, 1, session, -1, SQLITE_STATIC) == SQLITE_OK)
			is = sqlite3_step(statement) == SQLITE_ROW;
		sqlite3_finalize(statement);
		sqlite3_close(store.db);
		store.db = NULL;
		free(path);
	}
	if (open != NULL)
		closedir(open);
	free(directory);
	return is;
}

struct tree_log { struct format_log *log; const char *tree; };

static void
tree_say_log(void *context, const char *path)
{
	const struct tree_log *all = context;
	char *id = tree_name(path), *messages = memory_format("%s/message/%s", all->tree, id);
	int64_t newest = 0;
	struct buffer json = BUFFER_INIT;

	if (tree_load(path, &json) && span_type(span_member(span_of(json.data, json.len), "parentID")) != 's' &&
	    !tree_is_in_database(all->tree, id)) {
		tree_note_time(&newest, path);
		tree_walk(messages, tree_note_time, &newest);
		opencode_say_log(all->log, path, newest);
	}
	buffer_free(&json);
	free(messages);
	free(id);
}

static int
tree_say_logs(struct format_log *log, const struct store *store, struct error *err)
{
	char *directory = path_join(store->tree, "session");
	struct tree_log all = { .log = log, .tree = store->tree };
	const struct dirent *entry;
	DIR *open = opendir(directory);

	(void)err;
	while (open != NULL && (entry = readdir(open)) != NULL)
		if (*entry->d_name != '.') {
			char *project = path_join(directory, entry->d_name);

			tree_walk(project, tree_say_log, &all);
			free(project);
		}
	if (open != NULL)
		closedir(open);
	free(directory);
	return 0;
}

/* ---- a session ---- */

static long long
created_of(struct span json)
{
	return format_count(span_member(json, "time"), "created");
}

static void
session_add(struct session *s, char *id, struct buffer *json)
{
	s->messages = memory_array(s->messages, s->count + 1, sizeof *s->messages);
	s->messages[s->count++] = (struct message){ id, created_of(span_of(json->data, json->len)), *json };
	*json = (struct buffer)BUFFER_INIT;
}

static int
session_compare(const void *a, const void *b)
{
	const struct message *one = a, *other = b;

	if (one->created != other->created)
		return one->created < other->created ? -1 : 1;
	return strcmp(one->id, other->id);
}

static void
tree_add_message(void *context, const char *path)
{
	struct buffer json = BUFFER_INIT;

	if (tree_load(path, &json))
		session_add(context, tree_name(path), &json);
	buffer_free(&json);
}

/* Counts what a session without messages has in the table of OpenCode 2, which databases of OpenCode 1 may have, too. */
static int
database_leave_out_later(struct format_log *log, const struct store *store, const char *session, struct error *err)
{
	sqlite3_stmt *statement;
	int got = store_has_table(store, log, "session_message", err);

	if (got != 1)
		return got;
	statement = store_select(store, log, "SELECT 1 FROM session_message WHERE session_id = ?1", session, err);
	got = statement != NULL ? 1 : -1;
	while (got == 1 && (got = store_next(store, log, statement, err)) == 1)
		format_leave_out(log, span_of("\"messages of OpenCode 2\"", 24));
	sqlite3_finalize(statement);
	return got;
}

/* 1: it is there; 0; -1 with *err. */
static int
database_load(struct format_log *log, const struct store *store, struct session *s, struct error *err)
{
	sqlite3_stmt *statement = store_select(store, log,
	    "SELECT id, directory, version, time_created FROM session WHERE id = ?1", log->inside, err);
	int got = statement != NULL ? store_next(store, log, statement, err) : -1;

	if (got == 1) {
		s->id = column_text(statement, 0);
		s->directory = column_text(statement, 1);
		s->version = column_text(statement, 2);
		s->created = sqlite3_column_int64(statement, 3);
	}
	sqlite3_finalize(statement);
	if (got != 1)
		return got;
	statement = store_select(store, log, "SELECT id, data FROM message WHERE session_id = ?1", s->id, err);
	got = statement != NULL ? 1 : -1;
	while (got == 1 && (got = store_next(store, log, statement, err)) == 1) {
		struct buffer json = BUFFER_INIT;

		if (column_json(statement, 1, &json))
			session_add(s, column_text(statement, 0), &json);
		buffer_free(&json);
	}
	sqlite3_finalize(statement);
	if (got == 0 && s->count == 0)
		got = database_leave_out_later(log, store, s->id, err);
	return got == 0 ? 1 : -1;
}

static int
tree_load_session(struct format_log *log, const struct store *store, struct session *s, struct error *err)
{
	struct buffer json = BUFFER_INIT;
	char *messages;
	int got = -1;

	if (!tree_load(log->file, &json)) {
		error_set(err, ERROR_INVALID_INPUT, log->file, "is no session of OpenCode");
	} else {
		const struct span session = span_of(json.data, json.len);

		s->id = tree_name(log->file);
		s->directory = span_text(span_member(session, "directory"));
		s->version = span_text(span_member(session, "version"));
		s->created = created_of(session);
		messages = memory_format("%s/message/%s", store->tree, s->id);
		tree_walk(messages, tree_add_message, s);
		free(messages);
		got = 1;
	}
	buffer_free(&json);
	return got;
}

/* The parts of a message, as a JSON array, by their ids. */
static int
opencode_load_parts(struct format_log *log, const struct store *store, const char *message, struct buffer *out,
    struct error *err)
{
	struct session parts = { .id = NULL };
	int got = 0;

	if (store->db == NULL) {
		char *directory = memory_format("%s/part/%s", store->tree, message);

		tree_walk(directory, tree_add_message, &parts);
		free(directory);
	} else {
		sqlite3_stmt *statement = store_select(store, log, "SELECT id, data FROM part WHERE message_id = ?1", message, err);

		got = statement != NULL ? 1 : -1;
		while (got == 1 && (got = store_next(store, log, statement, err)) == 1) {
			struct buffer json = BUFFER_INIT;

			if (column_json(statement, 1, &json))
				session_add(&parts, column_text(statement, 0), &json);
			buffer_free(&json);
		}
		sqlite3_finalize(statement);
	}
	for (size_t i = 0; i < parts.count; i++)
		parts.messages[i].created = 0;
	if (parts.count > 0)
		qsort(parts.messages, parts.count, sizeof *parts.messages, session_compare);
	buffer_byte(out, '[');
	for (size_t i = 0; i < parts.count; i++) {
		if (i > 0)
			buffer_byte(out, ',');
		buffer_append(out, parts.messages[i].json.data, parts.messages[i].json.len);
		free(parts.messages[i].id);
		buffer_free(&parts.messages[i].json);
	}
	buffer_byte(out, ']');
	free(parts.messages);
	return got;
}

static void
session_free(struct session *s)
{
	for (size_t i = 0; i < s->count; i++) {
		free(s->messages[i].id);
		buffer_free(&s->messages[i].json);
	}
	free(s->messages);
	free(s->id);
	free(s->directory);
	free(s->version);
}

/* ---- what is said ---- */

/* A time, which is in milliseconds, as a JSON string. */
static void
opencode_write_time(long long ms, struct buffer *out)
{
	char text[CLOCK_TEXT_SIZE];

	buffer_clear(out);
	buffer_format(out, "\"%s\"", clock_text(ms * 1000, text));
}

static void
opencode_quote(const char *text, struct buffer *out)
{
	buffer_clear(out);
	json_quote(out, text, strlen(text));
}

static void
opencode_say_session(struct format_log *log, const struct session *s)
{
	char text[CLOCK_TEXT_SIZE];
	struct writer w;

	writer_begin(&w, &log->out);
	writer_object(&w);
	writer_member_string(&w, "session", s->id);
	writer_member_string(&w, "name", "opencode");
	writer_member_string(&w, "time", clock_text(s->created * 1000, text));
	writer_member_string(&w, "cwd", s->directory);
	writer_member_object(&w, "inputs");
	writer_member_string(&w, "version", s->version);
	writer_object_end(&w);
	writer_member_bool(&w, "rewritten", true);
	writer_object_end(&w);
	buffer_byte(&log->out, '\n');
}

/* An image that the user has given: a URL with its data. */
static bool
opencode_write_image(struct span part, struct buffer *blocks)
{
	char *url = span_text(span_member(part, "url"));
	char *data = url != NULL && strncmp(url, "data:image/", 11) == 0 ? strstr(url, ";base64,") : NULL;
	struct buffer type = BUFFER_INIT, quoted = BUFFER_INIT;

	if (data != NULL) {
		*data = '\0';
		opencode_quote(url + 5, &type);
		opencode_quote(data + 8, &quoted);
		format_write_image(blocks, span_of(type.data, type.len), span_of(quoted.data, quoted.len));
	}
	buffer_free(&type);
	buffer_free(&quoted);
	free(url);
	return data != NULL;
}

static void
opencode_say_prompt(struct format_log *log, const struct message *m, struct span parts)
{
	const struct span json = span_of(m->json.data, m->json.len);
	struct buffer blocks = BUFFER_INIT, id = BUFFER_INIT, time = BUFFER_INIT;

	for (struct span_walk part = span_walk(parts); span_next(&part);) {
		const struct span type = span_member(part.value, "type");

		if (span_is(type, "file") && opencode_write_image(part.value, &blocks))
			continue;
		if (span_is(type, "compaction") || span_true(span_member(part.value, "synthetic")))
			format_leave_out(log, FORMAT_OWN_WORDS);
		else if (span_is(type, "text"))
			format_write_text(&blocks, "text", span_member(part.value, "text"));
		else
			format_leave_out(log, type);
	}
	if (blocks.len > 0) {
		free(log->provider);
		log->provider = span_text(span_path(json, "model", "providerID", NULL));
		buffer_clear(&log->model);
		format_keep(&log->model, span_path(json, "model", "modelID", NULL));
		opencode_quote(m->id, &id);
		opencode_write_time(m->created, &time);
		format_say_prompt(log, span_of(id.data, id.len), span_of(time.data, time.len), &blocks);
	}
	buffer_free(&blocks);
	buffer_free(&id);
	buffer_free(&time);
}

/* Tokens of an answer: input has none from a cache, and output no reasoning, where there is a total that says so:
 * before, output had that, too. Answers of several steps (before 1.0) have the tokens of the last one, and
 * each step has its own. */
static void
opencode_write_usage(struct span message, struct span parts, struct buffer *out)
{
	static const char *const none[] = { "0", NULL };
	struct format_usage usage = { 0 };
	struct span cost = span_member(message, "cost");
	bool steps = false;

	for (struct span_walk part = span_walk(parts); span_next(&part);)
		steps |= span_is(span_member(part.value, "type"), "step-finish");
	for (struct span_walk part = span_walk(parts); steps ? span_next(&part) : true;) {
		const struct span tokens = span_member(steps ? part.value : message, "tokens"), cache = span_member(tokens, "cache");
		const long long read = format_count(cache, "read"), write = format_count(cache, "write"),
		    reasoning = format_count(tokens, "reasoning"), input = format_count(tokens, "input") + read + write,
		    output = format_count(tokens, "output");

		if (!steps || span_is(span_member(part.value, "type"), "step-finish")) {
			usage.input += input;
			usage.output += output + (format_count(tokens, "total") > input + output ? reasoning : 0);
			usage.cache_read += read;
			usage.cache_write += write;
			usage.reasoning += reasoning;
		}
		if (!steps)
			break;
	}
	/* 0: it is not known. */
	if (span_type(cost) != 'n' || (cost.len == strlen(none[0]) && *cost.at == '0'))
		cost = SPAN_NONE;
	format_write_usage(&usage, cost, out);
}

static void
opencode_say_call(struct format_log *log, const struct store *store, struct span part)
{
	const struct span state = span_member(part, "state"), status = span_member(state, "status"),
	    id = span_member(part, "callID");
	const bool error = span_is(status, "error");
	char *child = span_text(span_path(state, "metadata", "sessionId", NULL)), *path, *directory;
	struct buffer time = BUFFER_INIT;

	if (child != NULL && name_valid(child) && span_is(span_member(part, "tool"), "task")) {
		directory = store->db != NULL ? memory_text(log->file) : path_directory(log->file);
		path = memory_format("%s/%s%s", directory, child, store->db != NULL ? "" : ".json");
		format_write_child(format_results(log), path, id, child,
		    log->whole || error || span_is(status, "completed"));
		free(path);
		free(directory);
	}
	if (error || span_is(status, "completed")) {
		opencode_write_time(format_count(span_member(state, "time"), "end"), &time);
		format_write_result(format_results(log), id, span_of(time.data, time.len),
		    span_member(state, error ? "error" : "output"), error);
	}
	buffer_free(&time);
	free(child);
}

static void
opencode_say_answer(struct format_log *log, const struct store *store, const struct message *m, struct span parts)
{
	/* What these say, the message says, too; files are those that were changed. */
	static const char *const told[] = { "step-start", "step-finish", NULL };
	const struct span json = span_of(m->json.data, m->json.len);
	struct held_answer *h = &log->held;
	struct buffer id = BUFFER_INIT;
	long long time = format_count(span_member(json, "time"), "completed");

	opencode_quote(m->id, &id);
	format_hold(log, span_of(id.data, id.len));
	for (struct span_walk part = span_walk(parts); span_next(&part);) {
		const struct span type = span_member(part.value, "type"), text = span_member(part.value, "text"),
		    state = span_member(part.value, "state");
		const long long start = format_count(span_member(state, "time"), "start");

		if (span_is(type, "text"))
			format_write_text(&h->blocks, "text", text);
		else if (span_is(type, "reasoning"))
			format_write_text(&h->blocks, "thinking", text);
		else if (span_is(type, "tool"))
			format_write_tool_use(&h->blocks, span_member(part.value, "callID"), span_member(part.value, "tool"),
			    span_member(state, "input"));
		else if (span_one_of(type, told) == NULL)
			format_leave_out(log, type);
		/* It had answered when the first of its tools began. */
		if (start > 0 && (time == 0 || start < time))
			time = start;
	}
	if (time == 0)
		time = m->created;
	opencode_write_usage(json, parts, &h->usage);
	opencode_write_time(time, &h->time);
	format_keep(&h->model, span_member(json, "modelID"));
	if (span_type(span_member(json, "providerID")) == 's') {
		free(log->provider);
		log->provider = span_text(span_member(json, "providerID"));
	}
	for (struct span_walk part = span_walk(parts); span_next(&part);)
		if (span_is(span_member(part.value, "type"), "tool"))
			opencode_say_call(log, store, part.value);
	format_say_answer(log);
	buffer_free(&id);
}

/* Whether an answer is an error, and nothing besides. */
static bool
opencode_has_failed(struct span message, struct span parts)
{
	static const char *const blocks[] = { "text", "reasoning", "tool", "step-finish", NULL };
	bool failed = span_type(span_member(message, "error")) == 'o';

	for (struct span_walk part = span_walk(parts); span_next(&part);)
		failed &= span_one_of(span_member(part.value, "type"), blocks) == NULL;
	return failed;
}

/* How many of the messages may be said: an answer that is not complete still changes, unless another has begun. */
static size_t
session_said(const struct session *s, bool whole)
{
	size_t said = s->count;

	for (size_t i = s->count; !whole && i-- > 0;) {
		const struct span json = span_of(s->messages[i].json.data, s->messages[i].json.len);

		if (span_is(span_member(json, "role"), "assistant")) {
			if (format_count(span_member(json, "time"), "completed") == 0)
				said = i;
			break;
		}
	}
	return said;
}

static int
opencode_say_messages(struct format_log *log, const struct store *store, const struct session *s, struct error *err)
{
	const size_t said = session_said(s, log->whole);
	int failed = 0;

	for (size_t i = 0; failed == 0 && s->messages != NULL && i < said; i++) {
		const struct message *m = &s->messages[i];
		const struct span role = span_member(span_of(m->json.data, m->json.len), "role");
		struct buffer parts = BUFFER_INIT;

		if (m->created < s->created) {
			format_leave_out(log, span_of("\"messages from before a fork\"", 29));
			continue;
		}
		failed = opencode_load_parts(log, store, m->id, &parts, err);
		if (failed == 0 && span_is(role, "user"))
			opencode_say_prompt(log, m, span_of(parts.data, parts.len));
		else if (failed == 0 && opencode_has_failed(span_of(m->json.data, m->json.len), span_of(parts.data, parts.len)))
			format_leave_out(log, span_of("\"answers that failed\"", 21));
		else if (failed == 0 && span_is(role, "assistant"))
			opencode_say_answer(log, store, m, span_of(parts.data, parts.len));
		buffer_free(&parts);
	}
	return failed;
}

static int
opencode_read_session(struct format_log *log, const struct store *store, struct error *err)
{
	struct session s = { .id = NULL };
	const int got = store->db != NULL ? database_load(log, store, &s, err) : tree_load_session(log, store, &s, err);
	int failed = got < 0 ? -1 : 0;

	if (got == 1) {
		if (s.count > 0)
			qsort(s.messages, s.count, sizeof *s.messages, session_compare);
		opencode_say_session(log, &s);
		failed = opencode_say_messages(log, store, &s, err);
	}
	session_free(&s);
	return failed;
}

/* ---- the log ---- */

static int
opencode_read_tree(struct format_log *log, struct error *err)
{
	struct store store = { .db = NULL };
	int failed;

	if (path_is_directory(log->file)) {
		store.tree = memory_text(log->file);
		failed = tree_say_logs(log, &store, err);
	} else {
		/* storage/session/PROJECT/SESSION.json */
		store.tree = path_directory(log->file);
		path_climb(&store.tree);
		path_climb(&store.tree);
		failed = opencode_read_session(log, &store, err);
	}
	free(store.tree);
	return failed;
}

static int
opencode_read(struct format_log *log, struct error *err)
{
	struct store store = { .db = NULL };
	int got;

	if (path_is_directory(log->file) || text_ends(log->file, ".json"))
		return opencode_read_tree(log, err);
	if (sqlite3_open_v2(log->file, &store.db, SQLITE_OPEN_READONLY, NULL) != SQLITE_OK ||
	    sqlite3_busy_timeout(store.db, BUSY_MS) != SQLITE_OK ||
	    sqlite3_exec(store.db, "BEGIN", NULL, NULL, NULL) != SQLITE_OK) {
		got = store_fail(&store, log, err);
	} else if ((got = store_has_table(&store, log, "part", err)) == 0) {
		/* Those of OpenCode 2 are called otherwise. */
		got = store_has_table(&store, log, "session_v2", err);
		if (got >= 0)
			format_leave_out(log, got == 1 ? span_of("\"databases of OpenCode 2\"", 25) :
			    span_of("\"databases without sessions\"", 28));
	} else if (got == 1) {
		got = *log->inside != '\0' ? opencode_read_session(log, &store, err) : database_say_logs(log, &store, err);
	}
	sqlite3_close(store.db);
	return got < 0 ? -1 : 0;
}

int
main(int argc, char **argv)
{
	static const struct format_program format = { .program = "awf-import-opencode", .read = opencode_read };

	return format_main(&format, argc, argv);
}
