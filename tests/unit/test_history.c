/* run/history: which recorded call a starting one is, and what is in doubt. */
#include "unit.h"

#include <stdbool.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "history/history.h"
#include "json/writer.h"
#include "model/model.h"
#include "record.h"

/*
 * Transcripts in short, an event a line; words are separated by blanks. Events have
 * short names, of which their ids are made.
 *
 *   R                            run.started: a new attempt
 *   E STATUS                     run.completed
 *   S EVENT CALL [KEY=VALUE]...  step.started; in= def= are digests (0), fx= effects,
 *                                mode= condition=
 *                                also tool= agent= idem=true claims= other=(of another
 *                                run) parent= link= cmd= input=
 *   C EVENT CALL [KEY=VALUE]...  step.completed; result= err= exit= skip= reused=
 *                                asks= decides= decision=
 *   U A T X EVENT PARENT ...     message.user, message.assistant, tool.call (id= fx=
 *                                idem= args=), tool.result (err= exit=)
 */
static void
event_id(char out[ID_SIZE], const char *name)
{
	unsigned hash = 5381;

	for (; *name != '\0' && *name != ' ' && *name != '\n'; name++)
		hash = hash * 33 + (unsigned char)*name;
	snprintf(out, ID_SIZE, "%08x-0000-4000-8000-000000000000", hash);
}

/* The value of KEY= in a line, up to the next blank; "" if it is not there. */
static const char *
value_of(const char *line, const char *key)
{
	static char values[8][256];
	static int next;
	char *value = values[next++ % 8];
	const char *at = line;
	size_t len = strlen(key);

	value[0] = '\0';
	while ((at = strchr(at, ' ')) != NULL) {
		at++;
		if (strncmp(at, key, len) == 0 && at[len] == '=')
			snprintf(value, 256, "%.*s", (int)strcspn(at + len + 1, " "), at + len + 1);
	}
	return value;
}

static const char *
word_of(const char *line, int number)
{
	static char words[4][256];
	char *word = words[number];

	for (int i = 0; i < number; i++)
		line = strchr(line, ' ') + 1;
	snprintf(word, 256, "%.*s", (int)strcspn(line, " "), line);
	return word;
}

static void
member_id(struct writer *w, const char *key, const char *name)
{
	char id[ID_SIZE];

	if (name[0] == '\0')
		return;
	event_id(id, name);
	writer_member_string(w, key, id);
}

static void
member(struct writer *w, const char *key, const char *text)
{
	writer_member_string(w, key, text[0] != '\0' ? text : NULL);
}

static void
member_json(struct writer *w, const char *key, const char *json)
{
	if (json[0] != '\0')
		writer_member_span(w, key, span_of(json, strlen(json)));
}

static void
member_error(struct writer *w, const char *code)
{
	if (code[0] == '\0')
		return;
	writer_key(w, "error");
	writer_object(w);
	writer_member_string(w, "code", code);
	writer_member_string(w, "message", "it went wrong");
	writer_object_end(w);
}

static void
member_approval(struct writer *w, const char *line)
{
	if (*value_of(line, "asks") == '\0' && *value_of(line, "decides") == '\0')
		return;
	writer_key(w, "approval");
	writer_object(w);
	member(w, "asks", value_of(line, "asks"));
	member_id(w, "decides", value_of(line, "decides"));
	member(w, "decision", value_of(line, "decision"));
	writer_object_end(w);
}

static void
write_step(struct writer *w, const char *line)
{
	member(w, "call", word_of(line, 2));
	if (line[0] == 'C') {
		member_json(w, "result", value_of(line, "result"));
		member_error(w, value_of(line, "err"));
		member_json(w, "exit_code", value_of(line, "exit"));
		member(w, "skipped", value_of(line, "skip"));
		member_id(w, "reused_from", value_of(line, "reused"));
		member_id(w, "compared_with", value_of(line, "compared"));
		member_approval(w, line);
		return;
	}
	member(w, "input_sha256", *value_of(line, "in") != '\0' ? value_of(line, "in") : "0");
	member_json(w, "input", value_of(line, "input"));
	member(w, "definition_sha256", *value_of(line, "def") != '\0' ? value_of(line, "def") : "0");
	member(w, "effects", value_of(line, "fx"));
	member_json(w, "idempotent", value_of(line, "idem"));
	member(w, "strategy", value_of(line, "strategy"));
	member(w, "mode", value_of(line, "mode"));
	member_json(w, "condition", value_of(line, "condition"));
	member(w, "tool", value_of(line, "tool"));
	member(w, "agent", value_of(line, "agent"));
	member_id(w, "claims", value_of(line, "claims"));
	if (*value_of(line, "other") != '\0') {
		writer_key(w, "claims");
		writer_object(w);
		writer_member_string(w, "run_id", OTHER_ID);
		member_id(w, "event_id", value_of(line, "other"));
		writer_object_end(w);
	}
	if (*value_of(line, "cmd") != '\0') {
		writer_key(w, "blocks");
		writer_array(w);
		writer_object(w);
		writer_member_string(w, "command", value_of(line, "cmd"));
		writer_object_end(w);
		writer_array_end(w);
	}
}

static void
write_inner(struct writer *w, const char *line)
{
	if (line[0] == 'T' || line[0] == 'X') {
		writer_member_string(w, "name", "send");
		writer_member_string(w, "fidelity", "router");
		member(w, "call_id", value_of(line, "id"));
		member_json(w, "input", value_of(line, "args"));
		member(w, "effects", value_of(line, "fx"));
		member_json(w, "idempotent", value_of(line, "idem"));
		member_error(w, value_of(line, "err"));
		member_json(w, "exit_code", value_of(line, "exit"));
	}
}

/* "a:0:1/b:2:3" is of the step a.b. */
static void
path_of(const char *call, char *path)
{
	for (; *call != '\0'; call++) {
		if (*call == ':') {
			call += strcspn(call, "/");
			if (*call == '\0')
				break;
		}
		*path++ = *call == '/' ? '.' : *call;
	}
	*path = '\0';
}

static const char *
type_of(const char *line)
{
	static const struct { char letter; const char *type; } types[] = {
		{ 'R', "run.started" }, { 'E', "run.completed" }, { 'S', "step.started" },
		{ 'C', "step.completed" }, { 'U', "message.user" }, { 'A', "message.assistant" },
		{ 'T', "tool.call" }, { 'X', "tool.result" },
	};

	for (size_t i = 0; i < COUNT(types); i++)
		if (types[i].letter == line[0])
			return types[i].type;
	fail_msg("no event begins with %c", line[0]);
	return NULL;
}

static void
add_event(struct buffer *out, long seq, const char *run_id, const char *line)
{
	bool run = line[0] == 'R' || line[0] == 'E', inner = strchr("UATX", line[0]) != NULL;
	char id[ID_SIZE], path[256] = "", name[32];
	struct writer w;

	snprintf(name, sizeof name, "run%.8s%ld", run_id, seq);
	event_id(id, run ? name : word_of(line, 1));
	if (!run && !inner)
		path_of(word_of(line, 2), path);
	buffer_format(out, "{\"seq\":%ld,\"timestamp\":\"2026-11-21T08:15:%02ld.123456Z\",", seq,
	    seq % 60);
	writer_begin(&w, out);
	writer_member_string(&w, "event_id", id);
	writer_member_string(&w, "run_id", run_id);
	member_id(&w, "parent_event_id", inner ? word_of(line, 2) : value_of(line, "parent"));
	if (*value_of(line, "link") != '\0') {
		writer_key(&w, "links");
		writer_array(&w);
		event_id(id, value_of(line, "link"));
		writer_string(&w, id);
		writer_array_end(&w);
	}
	member_id(&w, "child_run_id", value_of(line, "child"));
	writer_member_string(&w, "type", type_of(line));
	writer_member_string(&w, "path", path);
	writer_member_integer(&w, "iteration", 0);
	writer_key(&w, "payload");
	writer_object(&w);
	if (line[0] == 'E')
		member(&w, "status", word_of(line, 1));
	else if (inner)
		write_inner(&w, line);
	else if (!run)
		write_step(&w, line);
	writer_object_end(&w);
	buffer_text(out, ",\"prev\":\"" ZEROS "\"}\n");
}

static const char *
write_transcript(const char *file, const char *run_id, const char *script)
{
	const char *path = record_path(file);
	struct buffer out = BUFFER_INIT;
	char line[512];

	for (long seq = 1; *script != '\0'; seq++) {
		size_t len = strcspn(script, "\n");

		snprintf(line, sizeof line, "%.*s", (int)len, script);
		add_event(&out, seq, run_id, line);
		script += script[len] == '\n' ? len + 1 : len;
	}
	record_put(path, buffer_string(&out), out.len);
	buffer_free(&out);
	return path;
}

static struct history *
open_history(const struct history_spec *spec, struct history_summary *summary)
{
	const char *path = record_path(HISTORY_FILE);
	struct error err = ERROR_INIT;
	struct history *h;

	unlink(path);
	if (history_build(path, spec, summary, &err) != 0)
		fail_msg("%s: %s", err.place, err.message);
	if (history_open(&h, record_directory, &err) != 0)
		fail_msg("%s: %s", err.place, err.message);
	assert_non_null(h);
	return h;
}

/* What a name says of an event, for comparing: the first 8 digits of its id. */
static void
show(struct buffer *out, const char *what, const struct recalled_event *e)
{
	if (e->line.len > 0)
		buffer_format(out, " %s=%.8s", what, e->id);
}

static const char *
short_id(const char *name)
{
	static char ids[8][ID_SIZE];
	static int next;
	char *id = ids[next++ % 8];

	event_id(id, name);
	id[8] = '\0';
	return id;
}

static void
show_recalled(struct buffer *out, const struct recalled *r)
{
	static const char *const ends[] = { "open", "succeeded", "failed", "skipped" };

	buffer_format(out, "%s%s%s%s", ends[r->end], r->changed ? " changed" : "",
	    r->decided == RECALL_REDO ? " redo" : r->decided == RECALL_SKIP ? " skip" : "",
	    r->run_id[0] != '\0' ? " other" : "");
	show(out, "started", &r->started);
	show(out, "completed", &r->completed);
	show(out, "original", &r->original);
	for (size_t i = 0; i < r->event_count; i++)
		show(out, "event", &r->events[i]);
}

/* Whether a look before the claim saw what was claimed. */
static void
check_look(bool seen, enum recall_end end, int status, const struct recalled *r)
{
	if (status == 1 && !r->changed) {
		assert_true(seen);
		assert_int_equal(end, r->end);
	} else if (status == 0) {
		assert_false(seen);
	}
}

/* Claims for "NAME ITEM IN DEF [ENCLOSING [EVENT]]", the event being the enclosing
 * call's root, and says what came of it. */
static void
ask(struct history *h, const char *query, struct buffer *out, bool settle)
{
	struct recall recall = history_recall(h);
	char name[64], in[64], def[64], enclosing[64] = "", event[64], root[ID_SIZE] = "";
	struct error err = ERROR_INIT;
	enum recall_end end = RECALL_OPEN;
	struct recalled r;
	long long item;
	bool seen;
	int status, read = sscanf(query, "%63s %lld %63s %63s %63s %63s", name, &item, in, def,
	    enclosing, event);

	assert_in_range(read, 4, 6);
	if (read == 6)
		event_id(root, event);
	const struct recall_query q = { .enclosing = enclosing,
		.root = read == 5 ? NULL : root, .name = name, .item = item,
		.input_sha256 = in, .definition_sha256 = def, .input = span_of("\"new\"", 5),
		.definition = "run new", .occurrence = -1,
		.member = strncmp(enclosing, name, strlen(name)) == 0 };
	seen = recall.look(recall.history, &q, &end);
	status = recall.claim(recall.history, &q, &r, &err);
	check_look(seen, end, status, &r);
	if (status == 1) {
		show_recalled(out, &r);
		if (settle)
			recall.claimed(recall.history, &r);
		recalled_free(&r);
	} else if (status == 0) {
		buffer_text(out, "new");
	} else {
		buffer_format(out, "%s: %s: %s", error_name(err.code), err.place, err.message);
	}
}

/* Writes %name% in a text as the short id of the event. */
static char *
expand(const char *text)
{
	struct buffer out = BUFFER_INIT;
	char name[64];

	while (*text != '\0') {
		size_t len = strcspn(text, "%");

		buffer_append(&out, text, len);
		text += len;
		if (*text != '%')
			continue;
		len = strcspn(++text, "%");
		snprintf(name, sizeof name, "%.*s", (int)len, text);
		buffer_text(&out, short_id(name));
		text += len + 1;
	}
	return buffer_take(&out);
}

/* Options come as argv does. */
static char *
text(const char *literal)
{
	return (char *)(uintptr_t)literal;
}

struct claim_row {
	const char *label, *script;
	enum recall_mode mode;
	const char *redo, *skip;
	const char *claims[6][2]; /* query, answer */
};

static void
check_claims(const struct claim_row *row)
{
	char *redo[] = { text(row->redo), NULL }, *skip[] = { text(row->skip), NULL };
	const struct history_spec spec = { .mode = row->mode, .answers.redo = redo, .answers.skip = skip,
		.own = { .path = write_transcript("t.jsonl", RUN_ID, row->script),
		    .blobs = record_directory } };
	struct history_summary summary;
	struct history *h = open_history(&spec, &summary);

	for (size_t i = 0; i < COUNT(row->claims) && row->claims[i][0] != NULL; i++) {
		struct buffer answer = BUFFER_INIT;
		char *expected = expand(row->claims[i][1]);

		ask(h, row->claims[i][0], &answer, true);
		if (strcmp(buffer_string(&answer), expected) != 0)
			fail_msg("%s, %s:\n   is %s\nshould %s", row->label, row->claims[i][0],
			    buffer_string(&answer), expected);
		free(expected);
		buffer_free(&answer);
	}
	history_close(h);
	history_summary_free(&summary);
}

static void
test_claims(void **state)
{
	static const struct claim_row rows[] = {
		{ "the same guard", "R\nS s a:0:0\nC c a:0:0 result=1", RECALL_RESUME, NULL, NULL, {
		    { "a 0 0 0", "succeeded started=%s% completed=%c%" },
		    { "a 0 0 0", "new" } } },
		{ "another name, input, definition", "R\nS s a:0:0\nC c a:0:0 result=1",
		    RECALL_RESUME, NULL, NULL, {
		    { "b 0 0 0", "new" }, { "a 0 1 0", "new" }, { "a 0 0 1", "new" } } },
		{ "another item: the nearest first, its own before all", "R\nS s1 a:0:1\nS s5 a:0:5\n"
		    "S s6 a:0:6\nS t6 a:1:6", RECALL_RESUME, NULL, NULL, {
		    { "a 7 0 0", "open started=%s6%" }, { "a 5 0 0", "open started=%s5%" },
		    { "a 2 0 0", "open started=%s1%" }, { "a 0 0 0", "open started=%t6%" },
		    { "a 6 0 0", "new" } } },
		{ "not so a branch", "R\nS g g:0:0 strategy=all\nS s g:0:0/g:0:1\nS t g:0:0/g:0:1/g:0:1",
		    RECALL_RESUME, NULL, NULL, {
		    { "g 2 0 0 g:0:0 g", "new" }, { "g 1 0 0 g:0:0 g", "open started=%s%" } } },
		{ "the lowest occurrence first", "R\nS s2 a:2:0\nS s1 a:1:0\nS s0 a:0:0 in=7",
		    RECALL_RESUME, NULL, NULL, {
		    { "a 0 0 0", "open started=%s1%" }, { "a 0 0 0", "open started=%s2%" },
		    { "a 0 0 0", "new" }, { "a 0 7 0", "open started=%s0%" } } },
		{ "a failed one", "R\nS s a:0:0\nC c a:0:0 err=exit_status exit=1", RECALL_RESUME, NULL,
		    NULL, { { "a 0 0 0", "failed started=%s% completed=%c%" } } },
		{ "what never began", "R\nS s a:0:0\nC c a:0:0 skip=upstream_failed\n"
		    "S s2 b:0:0\nC c2 b:0:0 err=waiting\nS s3 c:0:0\nC c3 c:0:0 skip=nothing_failed\n"
		    "S s4 d:0:0\nC c4 d:0:0 err=no_input", RECALL_RESUME, NULL, NULL, {
		    { "a 0 0 0", "new" }, { "b 0 0 0", "new" }, { "c 0 0 0", "new" },
		    { "d 0 0 0", "new" } } },
		{ "what was skipped on purpose", "R\nS s a:0:0\nC c a:0:0 skip=condition",
		    RECALL_RESUME, NULL, NULL, { { "a 0 0 0", "skipped started=%s% completed=%c%" } } },
		{ "as its latest", "R\nS s a:0:0\nC c a:0:0 err=exit_status exit=1\n"
		    "R\nS s2 a:0:0 claims=s\nC c2 a:0:0 result=1", RECALL_RESUME, NULL, NULL, {
		    { "a 0 0 0", "succeeded started=%s2% completed=%c2%" }, { "a 0 0 0", "new" } } },
		{ "reused twice", "R\nS s a:0:0\nC c a:0:0 result=1\nR\nS s2 a:0:0 claims=s\n"
		    "C c2 a:0:0 reused=c\nR\nS s3 a:1:0 claims=s2\nC c3 a:1:0 reused=c2", RECALL_RESUME,
		    NULL, NULL, {
		    { "a 0 0 0", "succeeded started=%s3% completed=%c3% original=%c%" },
		    { "a 0 0 0", "new" } } },
		{ "a claim that was cut off hides nothing", "R\nS s a:0:0 fx=external\n"
		    "C c a:0:0 result=1\nR\nS s2 a:0:0 fx=external claims=s\n"
		    "R\nS s3 a:0:0 fx=external claims=s2", RECALL_RESUME, NULL, NULL, {
		    { "a 0 0 0", "succeeded started=%s% completed=%c%" }, { "a 0 0 0", "new" } } },
		{ "nor a failure that stands", "R\nS s a:0:0 fx=external mode=try\n"
		    "C c a:0:0 err=exit_status exit=1\nR\nS s2 a:0:0 fx=external mode=try claims=s",
		    RECALL_RESUME, NULL, NULL, { { "a 0 0 0", "failed started=%s% completed=%c%" } } },
		{ "nor what was skipped by the user", "R\nS s a:0:0 fx=external\n"
		    "C c a:0:0 skip=by_user\nR\nS s2 a:0:0 fx=external claims=s",
		    RECALL_RESUME, NULL, NULL, { { "a 0 0 0", "skipped started=%s% completed=%c%" } } },
		{ "that of a child does: it goes by its own record", "R\nS s a:0:0 child=x\n"
		    "C c a:0:0 result=1\nR\nS s2 a:0:0 child=x claims=s", RECALL_RESUME, NULL, NULL, {
		    { "a 0 0 0", "open started=%s2%" } } },
		{ "one that began anew does", "R\nS s a:0:0 fx=external\nC c a:0:0 result=1\n"
		    "R\nS s2 a:0:0 fx=external def=7 claims=s\nR\nS s3 a:0:0 fx=external def=7 claims=s2",
		    RECALL_RESUME, NULL, NULL, {
		    { "a 0 0 7", "waiting: a:0:0@3: may or may not have happened: resume with --redo a:0:0@3 or --skip a:0:0@3" } } },
		{ "one that works does", "R\nS s a:0:0 fx=external\nC c a:0:0 err=exit_status exit=1\n"
		    "R\nS s2 a:0:0 fx=external claims=s", RECALL_RESUME, NULL, NULL, {
		    { "a 0 0 0", "waiting: a:0:0: may or may not have happened: resume with --redo a:0:0 or --skip a:0:0" } } },
		{ "waiting hides nothing", "R\nS s a:0:0\nC c a:0:0 result=1\n"
		    "R\nS s2 a:0:0 claims=s\nC c2 a:0:0 err=waiting", RECALL_RESUME, NULL, NULL, {
		    { "a 0 0 0", "succeeded started=%s% completed=%c%" }, { "a 0 0 0", "new" } } },
		{ "a failed group that waited is known to those in it", "R\nS g g:0:0\nS s g:0:0/a:0:0\n"
		    "C c g:0:0/a:0:0 result=1\nC d g:0:0 err=waiting", RECALL_RESUME, NULL, NULL, {
		    { "g 0 0 0", "failed started=%g% completed=%d%" },
		    { "a 0 0 0 g:0:0", "new" } } },
		{ "two claims of one: the later", "R\nS s a:0:0\nR\nS s2 a:0:0 claims=s\n"
		    "S s3 a:1:0 claims=s", RECALL_RESUME, NULL, NULL, {
		    { "a 0 0 0", "open started=%s3%" }, { "a 0 0 0", "new" } } },
		{ "a conversation over two attempts", "R\nS s a:0:0 agent=x\nU u s\nA m u\n"
		    "T t m id=1 fx=none\nR\nS s2 a:0:0 agent=x claims=s\nT t2 m id=1 fx=none\nX x t2\n"
		    "A m2 x", RECALL_RESUME, NULL, NULL, {
		    { "a 0 0 0", "open started=%s2% event=%u% event=%m% event=%t% event=%t2% "
		      "event=%x% event=%m2%" } } },
		{ "replay: every call of the last attempt", "R\nS s a:0:0\nC c a:0:0 result=1\nS z b:0:0\n"
		    "R\nS s2 a:0:0 claims=s\nC c2 a:0:0 reused=c\nS w c:0:0\nC v c:0:0 err=waiting\n"
		    "S k d:0:0\nC l d:0:0 skip=upstream_failed", RECALL_REPLAY, NULL, NULL, {
		    { "a 0 0 0", "succeeded started=%s2% completed=%c2% original=%c%" },
		    { "c 0 0 0", "failed started=%w% completed=%v%" },
		    { "d 0 0 0", "skipped started=%k% completed=%l%" },
		    { "b 0 0 0", "divergence: b: the recording has no further call of it for item 0" } } },
		{ "replay: another item", "R\nS s a:0:1\nC c a:0:1 result=1", RECALL_REPLAY, NULL, NULL, {
		    { "a 0 0 0", "divergence: a: the recording has no further call of it for item 0" } } },
		{ "replay: another input", "R\nS s a:0:0 in=7 input=\"old\"\nC c a:0:0 result=1",
		    RECALL_REPLAY, NULL, NULL, {
		    { "a 0 0 0", "divergence: a:0:0: its input is '\"new\"', the recorded one '\"old\"'" } } },
	};

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++)
		check_claims(&rows[i]);
}

/* Calls that changed something, and that are not what they were. */
static void
test_changed(void **state)
{
#define ANSWERS ": resume with --redo a:0:0 or --skip a:0:0, or, if it is another call, with --new a"
#define ASKS ", and it has changed something before" ANSWERS
	static const struct claim_row rows[] = {
		{ "input", "R\nS s a:0:0 fx=external in=7 input=\"old\"\nC c a:0:0 result=1",
		    RECALL_RESUME, NULL, NULL, {
		    { "a 0 0 0", "waiting: a:0:0: its input is '\"new\"', the recorded one '\"old\"'" ASKS },
		    { "a 0 7 0", "succeeded started=%s% completed=%c%" }, { "a 0 0 0", "new" } } },
		{ "input that was a result", "R\nS p b:0:0\nC q b:0:0 result=\"older\"\n"
		    "S s a:0:0 fx=workspace in=7 parent=q\nC c a:0:0 result=1", RECALL_RESUME, NULL, NULL, {
		    { "a 0 0 0", "waiting: a:0:0: its input is '\"new\"', the recorded one '\"older\"'" ASKS } } },
		{ "input that was a result taken over", "R\nS p b:0:0\nC q b:0:0 result=\"older\"\n"
		    "R\nS p2 b:0:0 claims=p\nC q2 b:0:0 reused=q\n"
		    "S s a:0:0 fx=workspace in=7 parent=q2\nC c a:0:0 result=1", RECALL_RESUME, NULL, NULL, {
		    { "a 0 0 0", "waiting: a:0:0: its input is '\"new\"', the recorded one '\"older\"'" ASKS } } },
		{ "command", "R\nS s a:0:0 fx=external def=7 cmd=old\nC c a:0:0 err=exit_status exit=1",
		    RECALL_RESUME, NULL, NULL, {
		    { "a 0 0 0", "waiting: a:0:0: its definition is 'run new', the recorded one 'old'" ASKS } } },
		{ "a tool in it", "R\nS s a:0:0 agent=x def=7\nU u s\nA m u\nT t m id=1 fx=external\nX x t\n"
		    "A n x\nC c a:0:0 result=1", RECALL_RESUME, NULL, NULL, {
		    { "a 0 0 0", "waiting: a:0:0: its definition is 'run new', the recorded one "
		      "'agent x, /'" ASKS } } },
		{ "an undeclared tool in it", "R\nS s a:0:0 agent=x in=7 input=1\nU u s\nA m u\nT t m id=1\n"
		    "X x t\nA n x\nC c a:0:0 result=1", RECALL_RESUME, NULL, NULL, {
		    { "a 0 0 0", "waiting: a:0:0: its input is '\"new\"', the recorded one '1'" ASKS } } },
		{ "a tool that was not allowed", "R\nS s a:0:0 agent=x in=7\nU u s\nA m u\nT t m id=1\n"
		    "X x t err=blocked\nA n x\nC c a:0:0 result=1", RECALL_RESUME, NULL, NULL, {
		    { "a 0 0 0", "new" } } },
		{ "no effects", "R\nS s a:0:0 fx=read in=7\nC c a:0:0 result=1", RECALL_RESUME, NULL, NULL, {
		    { "a 0 0 0", "new" } } },
		{ "effects that never began", "R\nS s a:0:0 fx=external in=7\nC c a:0:0 skip=condition\n"
		    "S s2 a:1:0 fx=external in=7\nC c2 a:1:0 err=no_input", RECALL_RESUME, NULL, NULL, {
		    { "a 0 0 0", "new" } } },
		{ "begun, and no more is known", "R\nS s a:0:0 fx=external in=7 input=1", RECALL_RESUME,
		    NULL, NULL, {
		    { "a 0 0 0", "waiting: a:0:0: its input is '\"new\"', the recorded one '1', and it may "
		      "have changed something before" ANSWERS } } },
		{ "begun, but for a condition", "R\nS s a:0:0 fx=external in=7 condition={\"outcome\":false}\n"
		    "S s2 a:1:0 fx=external in=7 condition={\"outcome\":null}", RECALL_RESUME, NULL, NULL, {
		    { "a 0 0 0", "new" } } },
		{ "in an earlier attempt", "R\nS s a:0:0 fx=external in=7 input=1\nC c a:0:0 result=1\n"
		    "R\nS s2 a:0:0 fx=external in=7 input=1 claims=s\nC c2 a:0:0 reused=c", RECALL_RESUME,
		    NULL, NULL, {
		    { "a 0 0 0", "waiting: a:0:0: its input is '\"new\"', the recorded one '1'" ASKS } } },
		{ "a call in it", "R\nS s a:0:0 in=7 input=1\nS t a:0:0/b:0:0 fx=external\n"
		    "C d a:0:0/b:0:0 result=1", RECALL_RESUME, NULL, NULL, {
		    { "a 0 0 0", "waiting: a:0:0: its input is '\"new\"', the recorded one '1'" ASKS } } },
		{ "deep in it, in an earlier attempt", "R\nS s a:0:0 in=7 input=1\nS t a:0:0/b:0:0\n"
		    "S u a:0:0/b:0:0/c:0:0 agent=x\nU v u\nA m v\nT w m id=1 fx=workspace\n"
		    "R\nS s2 a:0:0 in=7 input=1 claims=s", RECALL_RESUME, NULL, NULL, {
		    { "a 0 0 0", "waiting: a:0:0: its input is '\"new\"', the recorded one '1'" ASKS } } },
		{ "calls in it that changed nothing", "R\nS s a:0:0 in=7 input=1\nS t a:0:0/b:0:0 fx=read\n"
		    "C d a:0:0/b:0:0 result=1\nS u a:0:0/c:0:0 fx=external\n"
		    "C e a:0:0/c:0:0 skip=condition", RECALL_RESUME, NULL, NULL, {
		    { "a 0 0 0", "new" } } },
		{ "redo: the record stays for its own", "R\nS s a:0:0 fx=external in=7\nC c a:0:0 result=1",
		    RECALL_RESUME, "a", NULL, {
		    { "a 0 0 0", "open changed redo started=%s% completed=%c%" }, { "a 0 0 0", "new" },
		    { "a 0 7 0", "succeeded started=%s% completed=%c%" } } },
		{ "skip, though nobody has asked", "R\nS s a:0:0 fx=external in=7 input=\"old\"\nC c a:0:0 result=1",
		    RECALL_RESUME, NULL, "a:0:0", {
		    { "a 0 0 0", "waiting: a:0:0: its input is '\"new\"', the recorded one '\"old\"'" ASKS } } },
		{ "skip, as an earlier attempt has asked", "R\nS s a:0:0 fx=external in=7\nC c a:0:0 result=1\n"
		    "R\nS t a:0:0\nC d a:0:0 err=waiting compared=s", RECALL_RESUME, NULL, "a:0:0", {
		    { "a 0 0 0", "open changed skip started=%s% completed=%c%" },
		    { "a 0 0 0", "waiting: a: has asked whether it is a:0:0, which another call has taken over: "
		    "to make this one as well, resume with --new a, to take it as done, too, with --skip a" },
		    { "a 0 7 0", "succeeded started=%s% completed=%c%" } } },
		{ "a decision is for doubts and changes alone", "R\nS s a:0:0 fx=external\n"
		    "C c a:0:0 result=1", RECALL_RESUME, "a", NULL, {
		    { "a 0 0 0", "succeeded started=%s% completed=%c%" } } },
	};

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++)
		check_claims(&rows[i]);
}

/* CALL[ TOOL]: WHY, one after the other, and what a claim then says. */
static void
test_doubts(void **state)
{
	static const struct {
		const char *script, *doubts;
		const char *redo, *claim; /* of "a 0 0 0" */
	} rows[] = {
		{ "R\nS s a:0:0 fx=external cmd=mail", "a:0:0: cut off mail", NULL,
		    "waiting: a:0:0: may or may not have happened: resume with --redo a:0:0 or --skip a:0:0" },
		{ "R\nS s a:0:0 fx=external cmd=mail", "a:0:0: cut off mail", "a",
		    "open redo started=%s%" },
		{ "R\nS s a:0:0 fx=external idem=true", "", NULL, "open started=%s%" },
		{ "R\nS s a:0:0 fx=read", "", NULL, "open started=%s%" },
		{ "R\nS s a:0:0", "", NULL, "open started=%s%" },
		{ "R\nS s a:0:0 fx=workspace cmd=x\nC c a:0:0 err=timeout exit=143", "a:0:0: timeout x",
		    "a:0:0", "failed redo started=%s% completed=%c%" },
		{ "R\nS s a:0:0 fx=workspace cmd=x\nC c a:0:0 err=exit_status exit=137",
		    "a:0:0: ended by a signal x", "a", "failed redo started=%s% completed=%c%" },
		{ "R\nS s a:0:0 fx=workspace cmd=x\nC c a:0:0 err=downstream_closed exit=1",
		    "a:0:0: downstream_closed x", "a", "failed redo started=%s% completed=%c%" },
		{ "R\nS s a:0:0 fx=workspace\nC c a:0:0 err=downstream_closed", "", NULL,
		    "failed started=%s% completed=%c%" },
		{ "R\nS s a:0:0 fx=workspace\nC c a:0:0 err=exit_status exit=1", "", NULL,
		    "failed started=%s% completed=%c%" },
		{ "R\nS s a:0:0 fx=external\nC c a:0:0 result=1", "", NULL,
		    "succeeded started=%s% completed=%c%" },
		{ "R\nS s a:0:0 fx=external cmd=x\nR\nS s2 a:0:0 fx=external cmd=x claims=s\n"
		    "C c2 a:0:0 skip=by_user", "", NULL, "skipped started=%s2% completed=%c2%" },
		{ "R\nS s a:0:0 fx=external cmd=x\nR\nS s2 a:0:0 fx=external cmd=x claims=s\n"
		    "C c2 a:0:0 err=waiting", "a:0:0: cut off x", "a", "open redo started=%s%" },
		/* What will not be made again: a call around it succeeded, or it lost a race. */
		{ "R\nS g g:0:0\nS s g:0:0/a:0:0 fx=external cmd=x\nC d g:0:0 result=1", "", NULL, "new" },
		{ "R\nS g g:0:0\nS s g:0:0/a:0:0 fx=external cmd=x\nC d g:0:0 result=1\n"
		    "R\nS g2 g:0:0 claims=g\nC d2 g:0:0 reused=d", "", NULL, "new" },
		{ "R\nS g g:0:0\nS s g:0:0/a:0:0 fx=external cmd=x\nC d g:0:0 err=exit_status exit=1",
		    "g:0:0/a:0:0: cut off x", NULL, "new" },
		{ "R\nS g g:0:0\nS h g:0:0/h:0:0\nS s g:0:0/h:0:0/a:0:0 fx=external cmd=x\n"
		    "C d g:0:0 result=1", "", NULL, "new" },
		{ "R\nS g g:0:0 strategy=any\nS s g:0:0/g:0:0 fx=external cmd=x\n"
		    "S t g:0:0/g:0:1 fx=external cmd=y\nC c g:0:0/g:0:1 result=1", "", NULL, "new" },
		{ "R\nS g g:0:0 strategy=all\nS s g:0:0/g:0:0 fx=external cmd=x\n"
		    "S t g:0:0/g:0:1 fx=external cmd=y\nC c g:0:0/g:0:1 result=1",
		    "g:0:0/g:0:0: cut off x", NULL, "new" },
		{ "R\nS g g:0:0 strategy=any\nS s g:0:0/g:0:0 fx=external cmd=x\n"
		    "S t g:0:0/g:0:1 fx=external cmd=y\nC c g:0:0/g:0:1 err=exit_status exit=1",
		    "g:0:0/g:0:0: cut off x", NULL, "new" },
		{ "R\nS g g:0:0 strategy=any\nS t g:0:0/g:0:1\nC c g:0:0/g:0:1 result=1\n"
		    "R\nS g2 g:0:0 strategy=any claims=g\nS s g:0:0/g:0:0 fx=external cmd=x", "", NULL,
		    "new" },
		/* Agents and operations have doubts about their tools. */
		{ "R\nS s a:0:0 agent=x\nU u s\nA m u\nT t m id=1 fx=external args=[1]",
		    "a:0:0/send#1 send: cut off [1]", "a",
		    "open redo started=%s% event=%u% event=%m% event=%t%" },
		{ "R\nS s a:0:0 agent=x\nU u s\nA m u\nT t m id=1 args=[1]", "a:0:0/send#1 send: cut off [1]", "a",
		    "open redo started=%s% event=%u% event=%m% event=%t%" },
		{ "R\nS s a:0:0 agent=x\nU u s\nA m u\nT t m id=1 fx=read", "", NULL,
		    "open started=%s% event=%u% event=%m% event=%t%" },
		{ "R\nS s a:0:0 agent=x\nU u s\nA m u\nT t m id=1 fx=external idem=true", "", NULL,
		    "open started=%s% event=%u% event=%m% event=%t%" },
		{ "R\nS s a:0:0 agent=x\nU u s\nA m u\nT t m id=1 fx=external\nX x t", "", NULL,
		    "open started=%s% event=%u% event=%m% event=%t% event=%x%" },
		{ "R\nS s a:0:0 agent=x\nU u s\nA m u\nT t m id=1 fx=external args=2\nX x t err=cancelled",
		    "a:0:0/send#1 send: cancelled 2", "a",
		    "open redo started=%s% event=%u% event=%m% event=%t% event=%x%" },
		{ "R\nS s a:0:0 tool=send fx=external\nT t s id=1 fx=external args=2\n"
		    "X x t err=downstream_closed\nC c a:0:0 err=downstream_closed",
		    "a:0:0 send: downstream_closed 2", "a",
		    "failed redo started=%s% completed=%c% event=%t% event=%x%" },
		{ "R\nS s a:0:0 tool=send fx=external\nT t s id=1 fx=external args=2\n"
		    "X x t err=exit_status exit=137\nC c a:0:0 err=exit_status",
		    "a:0:0 send: ended by a signal 2", "a",
		    "failed redo started=%s% completed=%c% event=%t% event=%x%" },
		{ "R\nS s a:0:0 tool=send fx=external\nT t s id=1 fx=external args=2\n"
		    "X x t err=exit_status exit=1\nC c a:0:0 err=exit_status", "", NULL,
		    "failed started=%s% completed=%c% event=%t% event=%x%" },
		/* The user has decided: the model is to be told so. */
		{ "R\nS s a:0:0 agent=x\nU u s\nA m u\nT t m id=1 fx=external\nR\nS s2 a:0:0 agent=x claims=s\n"
		    "X x t err=interrupted", "", NULL,
		    "open started=%s2% event=%u% event=%m% event=%t% event=%x%" },
		/* The model was told, and went on. */
		{ "R\nS s a:0:0 agent=x\nU u s\nA m u\nT t m id=1 fx=external\nX x t err=timeout\nA n x", "",
		    NULL, "open started=%s% event=%u% event=%m% event=%t% event=%x% event=%n%" },
		/* Called again in the next attempt, with an end. */
		{ "R\nS s a:0:0 agent=x\nU u s\nA m u\nT t m id=1 fx=external\n"
		    "R\nS s2 a:0:0 agent=x claims=s\nT t2 m id=1 fx=external\nX x2 t2", "", NULL,
		    "open started=%s2% event=%u% event=%m% event=%t% event=%t2% event=%x2%" },
		{ "R\nS s a:0:0 tool=send fx=external\nT t s id=1 fx=external args=3",
		    "a:0:0 send: cut off 3", "a", "open redo started=%s% event=%t%" },
		{ "R\nS s a:0:0 tool=send fx=external", "", NULL, "open started=%s%" },
		{ "R\nS s a:0:0 tool=send\nT t s id=1 fx=external args=3\n"
		    "R\nS s2 a:0:0 tool=send claims=s\nT t2 s2 id=1 fx=external args=3",
		    "a:0:0 send: cut off 3", "a", "open redo started=%s2% event=%t% event=%t2%" },
	};

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		char *redo[] = { text(rows[i].redo), NULL }, *expected = expand(rows[i].claim);
		const struct history_spec spec = { .answers.redo = redo, .own = {
		    .path = write_transcript("t.jsonl", RUN_ID, rows[i].script),
		    .blobs = record_directory } };
		struct history_summary summary;
		struct history *h = open_history(&spec, &summary);
		struct buffer doubts = BUFFER_INIT, answer = BUFFER_INIT;

		for (size_t d = 0; d < summary.doubt_count; d++)
			buffer_format(&doubts, "%s%s%s%s: %s %s", d > 0 ? "; " : "", summary.doubts[d].call,
			    summary.doubts[d].tool != NULL ? " " : "",
			    summary.doubts[d].tool != NULL ? summary.doubts[d].tool : "",
			    summary.doubts[d].why, summary.doubts[d].what);
		ask(h, "a 0 0 0", &answer, true);
		if (strcmp(buffer_string(&doubts), rows[i].doubts) != 0 ||
		    strcmp(buffer_string(&answer), expected) != 0)
			fail_msg("%s\n   is %s\n      %s\nshould %s\n       %s", rows[i].script,
			    buffer_string(&doubts), buffer_string(&answer), rows[i].doubts, expected);
		free(expected);
		buffer_free(&doubts);
		buffer_free(&answer);
		history_close(h);
		history_summary_free(&summary);
	}
}

/* Calls within calls are found by what the enclosing call claimed. */
static void
test_enclosing(void **state)
{
	static const char script[] =
	    "R\nS g g:0:0\nS s g:0:0/a:0:0\nC c g:0:0/a:0:0 result=1\n"
	    "R\nS g2 g:4:0 claims=g\nS s2 g:4:0/b:0:0\nC c2 g:4:0/b:0:0 result=1";
	const struct history_spec spec = { .own = {
	    .path = write_transcript("t.jsonl", RUN_ID, script), .blobs = record_directory } };
	static const struct { const char *query, *answer; } rows[] = {
		{ "g 0 0 0", "open started=%g2%" },
		{ "a 0 0 0 g:9:0 g", "succeeded started=%s% completed=%c%" },
		{ "b 0 0 0 g:9:0 g", "succeeded started=%s2% completed=%c2%" },
		{ "a 0 0 0 g:9:0 g2", "new" },
		{ "a 0 0 0 g:9:0", "new" },
		{ "a 0 0 0", "new" },
	};
	struct history_summary summary;

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		struct buffer answer = BUFFER_INIT;
		char *expected = expand(rows[i].answer);
		struct history *h = open_history(&spec, &summary);

		ask(h, rows[i].query, &answer, true);
		assert_string_equal(buffer_string(&answer), expected);
		buffer_free(&answer);
		free(expected);
		history_close(h);
		history_summary_free(&summary);
	}
}

/* What the model of the whole run says of a call that has waited: whether it was decided about, and
 * which event said so, or says that it waits. */
static bool
model_says_decided(const char *path, const char *call, char id[ID_SIZE])
{
	struct buffer line = BUFFER_INIT;
	struct error err = ERROR_INIT;
	struct event_view event;
	struct model m;
	bool found = false, decided = false;

	model_begin(&m, MODEL_LIVE);
	assert_int_equal(model_read_file(&m, path, &err), 0);
	for (size_t i = 0; i < m.waits.count; i++) {
		const struct waiting *at = &m.waits.list[i];

		if (strcmp(at->call, call) != 0)
			continue;
		found = true;
		decided = at->over;
		memcpy(id, at->end, ID_SIZE);
		if (decided) {
			assert_int_equal(event_load(path, at->decision, &line, &err), 0);
			assert_int_equal(event_view(line.data, line.len, &event), 0);
			event_copy_id(event.event_id, id);
		}
	}
	assert_true(found);
	model_free(&m);
	buffer_free(&line);
	return decided;
}

/* Decisions that come while the attempt runs are found as the model of the whole run finds them,
 * after each line. */
static void
test_decided_since(void **state)
{
	static const char *const calls[] = { "a", "b", "c" };
	static const char *const later[] = {
		"R", "S s1x a:0:0 claims=w1", "U u1 s1x", "C h2 b:0:0 parent=w2 decides=w2 decision=heartbeat asks=completion",
		"C d0 x:0:0 parent=s9 decides=s9 decision=completed result=1", "C w1x a:0:0 parent=s1x err=waiting asks=approval",
		"C d3 c:0:0 parent=w3 decides=w3 decision=denied err=denied", "C h3 b:0:0 parent=h2 decides=h2 decision=heartbeat asks=completion",
		"C d2x b:0:0 parent=w2 decides=w2 decision=completed result=1", "C d2 b:0:0 parent=h3 decides=h3 decision=completed result=2",
		"A a1 u1",
	};
	const struct history_spec spec = { .own = { .path = write_transcript("t.jsonl", RUN_ID,
	    "R\nS s1 a:0:0\nC w1 a:0:0 parent=s1 err=waiting asks=approval\n"
	    "S s2 b:0:0\nC w2 b:0:0 parent=s2 err=waiting asks=completion\n"
	    "S s3 c:0:0\nC w3 c:0:0 parent=s3 err=waiting asks=approval\nE waiting"), .blobs = record_directory } };
	struct history_summary summary;
	struct history *h = open_history(&spec, &summary);
	struct recall recall = history_recall(h);
	struct recalled r[COUNT(calls)];
	bool decided[COUNT(calls)] = { false };
	struct buffer file = BUFFER_INIT;
	struct error err = ERROR_INIT;
	size_t count = 0;

	(void)state;
	for (size_t c = 0; c < COUNT(calls); c++) {
		const struct recall_query q = { .enclosing = "", .root = "", .name = calls[c],
			.input_sha256 = "0", .definition_sha256 = "0" };

		assert_int_equal(recall.claim(recall.history, &q, &r[c], &err), 1);
		assert_int_equal(r[c].end, RECALL_WAITING);
	}
	record_load(spec.own.path, &file);
	for (size_t i = 0; i < COUNT(later); i++) {
		add_event(&file, 20 + (long)i, RUN_ID, later[i]);
		record_put(spec.own.path, file.data, file.len);
		for (size_t c = 0; c < COUNT(calls); c++) {
			char *call = memory_format("%s:0:0", calls[c]), id[ID_SIZE];
			bool is;

			/* What the run itself has recorded of the first one is no decision. */
			if (c > 0 && !decided[c]) {
				is = model_says_decided(spec.own.path, call, id);
				assert_int_equal(recall.decided_since(recall.history, &r[c], &err), is);
				assert_string_equal(r[c].completed.id, id);
				decided[c] = is;
				count += is;
			} else if (c == 0) {
				assert_int_equal(recall.decided_since(recall.history, &r[c], &err), 0);
				assert_int_equal(r[c].end, RECALL_WAITING);
			}
			free(call);
		}
	}
	assert_int_equal(count, 2);
	assert_int_equal(r[1].end, RECALL_SUCCEEDED);
	assert_int_equal(r[2].end, RECALL_FAILED);
	for (size_t c = 0; c < COUNT(calls); c++)
		recalled_free(&r[c]);
	history_close(h);
	history_summary_free(&summary);
	buffer_free(&file);
}

static void
test_root(void **state)
{
	const struct history_spec spec = { .own = { .path = write_transcript("t.jsonl", RUN_ID,
	    "R\nS s a:0:0\nR\nS s2 a:0:0 claims=s\nR\nS s3 a:0:0 claims=s2"),
	    .blobs = record_directory } };
	struct history_summary summary;
	struct history *h = open_history(&spec, &summary);
	struct recall recall = history_recall(h);
	const struct recall_query q = { .enclosing = "", .root = "", .name = "a",
		.input_sha256 = "0", .definition_sha256 = "0" };
	struct error err = ERROR_INIT;
	struct recalled r;
	char id[ID_SIZE];

	(void)state;
	event_id(id, "s");
	assert_int_equal(recall.claim(recall.history, &q, &r, &err), 1);
	assert_string_equal(r.root, id);
	recalled_free(&r);
	assert_int_equal(summary.attempts, 3);
	assert_int_equal(summary.calls, 1);
	history_close(h);
	history_summary_free(&summary);
}

/* A claim that was not recorded ends with its process; one that was, stays. */
static void
test_marks(void **state)
{
	const struct history_spec spec = { .own = {
	    .path = write_transcript("t.jsonl", RUN_ID, "R\nS s a:0:0\nS s2 a:1:0"),
	    .blobs = record_directory } };
	struct history_summary summary;
	struct history *h = open_history(&spec, &summary);
	struct buffer answer = BUFFER_INIT;
	int status;
	siginfo_t gone;
	pid_t pid;

	(void)state;
	for (int settle = 0; settle < 2; settle++) {
		pid = fork();
		if (pid == 0) {
			ask(h, "a 0 0 0", &answer, settle == 1);
			_exit(0);
		}
		/* Dead is dead before it is waited for. */
		assert_int_equal(waitid(P_PID, (id_t)pid, &gone, WEXITED | WNOWAIT), 0);
	}
	while ((pid = wait(&status)) > 0)
		assert_int_equal(status, 0);
	ask(h, "a 0 0 0", &answer, false); /* the first was recorded, the second is ours */
	ask(h, "a 0 0 0", &answer, false); /* our own claim holds too */
	char *expected = expand("open started=%s2%new");
	assert_string_equal(buffer_string(&answer), expected);
	free(expected);
	buffer_free(&answer);
	history_close(h);
	history_summary_free(&summary);
}

/* A fork recalls all but a PATH, what is in it, and what came of it. */
static void
test_fork(void **state)
{
	static const char other[] =
	    "R\nS s a:0:0\nC c a:0:0 result=1\nS s2 b:0:0 parent=c\nC c2 b:0:0 result=2\n"
	    "S s3 c:0:0 parent=c2\nC c3 c:0:0 result=3\nS s4 d:0:0 link=c3\nC c4 d:0:0 result=4\n"
	    "S g g:0:0 parent=c\nS s5 g:0:0/e:0:0 parent=g\nC c5 g:0:0/e:0:0 result=5\n"
	    "S s6 g:0:0/f:0:0 parent=c5\nC c6 g:0:0/f:0:0 result=6\nC h g:0:0 result=6\n"
	    "S s7 i:0:0 parent=h\nC c7 i:0:0 result=7";
	static const struct { const char *at, *recalled; } rows[] = {
		{ "b", "a g e f i" }, { "b:0:0", "a g e f i" }, { "d", "a b c g e f i" },
		{ "g.e", "a b c d G" }, { "g", "a b c d" }, { "g.f", "a b c d G e" },
		{ "i", "a b c d g e f" }, { "a", "" },
	};
	static const char *const queries[] = { "a", "b", "c", "d", "g", "e", "f", "i" };

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		const struct history_source source = { write_transcript("o.jsonl", OTHER_ID, other),
		    record_directory, rows[i].at };
		const struct history_spec spec = { .others = &source, .other_count = 1 };
		struct history_summary summary;
		struct history *h = open_history(&spec, &summary);
		struct buffer found = BUFFER_INIT;

		for (size_t q = 0; q < COUNT(queries); q++) {
			bool inside = strchr("ef", queries[q][0]) != NULL;
			struct buffer answer = BUFFER_INIT;
			char query[32];

			snprintf(query, sizeof query, "%s 0 0 0%s", queries[q], inside ? " g:0:0 g" : "");
			ask(h, query, &answer, true);
			if (strncmp(buffer_string(&answer), "succeeded other", 15) == 0)
				buffer_format(&found, "%s%s", found.len > 0 ? " " : "", queries[q]);
			else if (strncmp(buffer_string(&answer), "open other", 10) == 0)
				buffer_format(&found, "%s%c", found.len > 0 ? " " : "", queries[q][0] - 32);
			else
				assert_string_equal(buffer_string(&answer), "new");
			buffer_free(&answer);
		}
		if (strcmp(buffer_string(&found), rows[i].recalled) != 0)
			fail_msg("at %s: %s, should be %s", rows[i].at, buffer_string(&found),
			    rows[i].recalled);
		assert_int_equal(summary.attempts, 0);
		buffer_free(&found);
		history_close(h);
		history_summary_free(&summary);
	}
}

/* The fork's own calls come first; what they took over of the other is not recalled
 * twice, and an agent that began anew goes on with its own conversation. */
static void
test_resumed_fork(void **state)
{
	const struct history_source other = { write_transcript("o.jsonl", OTHER_ID,
	    "R\nS s a:0:0 agent=x\nU u s\nA m u\nS s2 b:0:0\nC c2 b:0:0 result=2\nE failed"),
	    record_directory, NULL };
	const struct history_spec spec = { .others = &other, .other_count = 1, .own = {
	    .path = write_transcript("t.jsonl", RUN_ID,
	        "R\nS t a:0:0 agent=x other=s\nA m2 t\nS t2 b:0:0 in=7\nC d2 b:0:0 result=3"),
	    .blobs = record_directory } };
	static const char *const rows[][2] = {
		{ "a 0 0 0", "open started=%t% event=%m2%" },
		{ "a 0 0 0", "new" },
		{ "b 0 7 0", "succeeded started=%t2% completed=%d2%" },
		{ "b 0 0 0", "succeeded other started=%s2% completed=%c2%" },
	};
	struct history_summary summary;
	struct history *h = open_history(&spec, &summary);

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		struct buffer answer = BUFFER_INIT;
		char *expected = expand(rows[i][1]);

		ask(h, rows[i][0], &answer, true);
		assert_string_equal(buffer_string(&answer), expected);
		buffer_free(&answer);
		free(expected);
	}
	assert_string_equal(summary.status, "");
	assert_int_equal(summary.attempts, 1);
	history_close(h);
	history_summary_free(&summary);
}

static void
test_status(void **state)
{
	static const char *const rows[][2] = {
		{ "R\nE success", "success" }, { "R\nE failed\nR", "" }, { "R", "" },
	};

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		const struct history_spec spec = { .own = {
		    .path = write_transcript("t.jsonl", RUN_ID, rows[i][0]), .blobs = record_directory } };
		struct history_summary summary;
		struct error err = ERROR_INIT;

		assert_int_equal(history_build(NULL, &spec, &summary, &err), 0);
		assert_string_equal(summary.status, rows[i][1]);
		history_summary_free(&summary);
	}
}

/* Blobs are put back; where they stood is told. */
static void
test_blobs(void **state)
{
	struct buffer line = BUFFER_INIT;
	char digest[DIGEST_SIZE], id[ID_SIZE];
	const char *path = write_transcript("t.jsonl", RUN_ID, "R\nS s a:0:0");
	const struct history_spec spec = { .own = { .path = path, .blobs = record_directory } };
	struct history_summary summary;
	struct error err = ERROR_INIT;
	struct recalled r;
	const struct recall_query q = { .enclosing = "", .root = "", .name = "a",
		.input_sha256 = "0", .definition_sha256 = "0" };

	(void)state;
	record_put(record_path(digest_sha256("\xff", 1, digest)), "\xff", 1);
	record_load(path, &line);
	event_id(id, "c");
	buffer_format(&line, "{\"seq\":3,\"timestamp\":\"2026-11-21T08:16:00.123456Z\","
	    "\"event_id\":\"%s\",\"run_id\":\"" RUN_ID "\",\"parent_event_id\":null,"
	    "\"type\":\"step.completed\",\"path\":\"a\",\"iteration\":0,\"payload\":{\"call\":\"a:0:0\","
	    "\"result\":null},\"refs\":[{\"at\":\"/payload/result\",\"sha256\":\"%s\",\"bytes\":1,"
	    "\"encoding\":\"raw\"}],\"prev\":\"" ZEROS "\"}\n", id, digest);
	record_put(path, line.data, line.len);
	struct history *h = open_history(&spec, &summary);
	struct recall recall = history_recall(h);
	assert_int_equal(recall.claim(recall.history, &q, &r, &err), 1);
	assert_true(span_is(span_member(r.completed.view.payload, "result"), "/w=="));
	assert_non_null(strstr(buffer_string(&r.completed.refs), "/payload/result"));
	recalled_free(&r);
	history_close(h);
	history_summary_free(&summary);
	buffer_free(&line);
}

static void
test_refusals(void **state)
{
	char *const redo[] = { text("b"), NULL }, *const both[] = { text("a"), NULL };
	const char *path = write_transcript("t.jsonl", RUN_ID, "R\nS s a:0:0");
	const struct history_source own = { .path = path, .blobs = record_directory };
	const struct history_source fork = { path, record_directory, "a.b" };
	const struct history_source none = { .path = record_path("none"), .blobs = record_directory };
	const struct { struct history_spec spec; enum error_code code; const char *message; } rows[] = {
		{ { .own = own, .answers.redo = redo }, ERROR_USAGE, "no recorded call is, or is of, 'b'" },
		{ { .own = own, .answers.skip = redo }, ERROR_USAGE, "no recorded call is, or is of, 'b'" },
		{ { .others = &fork, .other_count = 1 }, ERROR_USAGE,
		    "no recorded call is, or is of, 'a.b'" },
		{ { .own = own, .answers.redo = both, .answers.skip = both }, ERROR_USAGE, "a:0:0 is named by --redo too" },
		{ { .own = none }, ERROR_SYSTEM, "unable to open: No such file or directory" },
	};

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		struct history_summary summary;
		struct error err = ERROR_INIT;

		assert_int_equal(history_build(NULL, &rows[i].spec, &summary, &err), -1);
		assert_string_equal(err.message, rows[i].message);
		assert_int_equal(err.code, rows[i].code);
		history_summary_free(&summary);
	}
}

static void
test_damage(void **state)
{
	static const char *const texts[] = { "junk\n", "{\"seq\":1}\n",
		"{\"seq\":1,\"event_id\":\"" RUN_ID "\",\"type\":\"step.started\",\"payload\":{},"
		"\"prev\":\"" ZEROS "\"}\n",
		"{\"seq\":1,\"event_id\":\"" RUN_ID "\",\"type\":\"step.completed\",\"payload\":"
		"{\"call\":\"a/b\"},\"prev\":\"" ZEROS "\"}\n" };
	const char *path = record_path("t.jsonl");
	const struct history_spec spec = { .own = { .path = path, .blobs = record_directory } };

	(void)state;
	for (size_t i = 0; i < COUNT(texts); i++) {
		struct history_summary summary;
		struct error err = ERROR_INIT;

		record_put(path, texts[i], strlen(texts[i]));
		assert_int_equal(history_build(NULL, &spec, &summary, &err), -1);
		assert_int_equal(err.code, ERROR_SCHEMA);
		assert_non_null(strstr(err.place, "t.jsonl:1"));
		history_summary_free(&summary);
	}
}

/* The file grows as the attempt goes on; it may not become another. */
static void
test_source_checked(void **state)
{
	const char *path = write_transcript("t.jsonl", RUN_ID, "R\nS s a:0:0\nS s2 a:1:0\nS s3 a:2:0");
	const struct history_spec spec = { .own = { .path = path, .blobs = record_directory } };
	struct history_summary summary;
	struct buffer answer = BUFFER_INIT, lines = BUFFER_INIT;
	struct history *h = open_history(&spec, &summary);
	char *expected = expand("open started=%s%");

	(void)state;
	record_load(path, &lines);
	record_put(path, lines.data, lines.len);
	FILE *f = fopen(path, "a");
	assert_non_null(f);
	fputs("{\"seq\":5}\n", f);
	assert_int_equal(fclose(f), 0);
	ask(h, "a 0 0 0", &answer, true);
	assert_string_equal(buffer_string(&answer), expected);
	history_close(h);
	assert_int_equal(truncate(path, (off_t)lines.len - 10), 0);
	struct error err = ERROR_INIT;
	assert_int_equal(history_open(&h, record_directory, &err), 0);
	buffer_clear(&answer);
	ask(h, "a 0 0 0", &answer, true);
	assert_non_null(strstr(answer.data, "is not the transcript any more"));
	free(expected);
	buffer_free(&answer);
	buffer_free(&lines);
	history_close(h);
	history_summary_free(&summary);
}

static void
test_no_history(void **state)
{
	struct error err = ERROR_INIT;
	struct history *h = (struct history *)&err;

	(void)state;
	unlink(record_path(HISTORY_FILE));
	assert_int_equal(history_open(&h, record_directory, &err), 0);
	assert_null(h);
	record_put(record_path(HISTORY_FILE), "awf-hst1, but nothing else of it", 32);
	assert_int_equal(history_open(&h, record_directory, &err), -1);
	assert_int_equal(err.code, ERROR_SYSTEM);
	unlink(record_path(HISTORY_FILE));
}

/* Whoever reads the transcript anyway may give its lines: the same comes of it. */
static void
test_given_lines(void **state)
{
	const char *path = write_transcript("t.jsonl", RUN_ID,
	    "R\nS s1 a:0:0\nC c1 a:0:0 result=1\nS s2 b:0:0\n"
	    "R\nS s3 a:0:0 claims=s1\nC c3 a:0:0 reused=c1\nS s4 b:0:0 claims=s2");
	const struct history_spec spec = { .own = { .path = path, .blobs = record_directory } };
	struct buffer built = BUFFER_INIT, given = BUFFER_INIT, text = BUFFER_INIT;
	struct history_summary summary;
	struct history_reading *reading;
	struct error err = ERROR_INIT;
	char *index = memory_text(record_path(HISTORY_FILE));
	size_t at = 0;

	(void)state;
	history_close(open_history(&spec, &summary));
	history_summary_free(&summary);
	assert_int_equal(file_load(index, 1 << 20, &built, &err), 0);
	assert_int_equal(unlink(index), 0);
	assert_int_equal(file_load(path, 1 << 20, &text, &err), 0);
	assert_int_equal(history_begin(&reading, &spec, &err), 0);
	while (at < text.len) {
		size_t len = (size_t)((char *)memchr(text.data + at, '\n', text.len - at) - text.data) - at;

		assert_false(history_is_of(reading)); /* there is more of it */
		assert_int_equal(history_take(reading, text.data + at, len, (int64_t)at, &err), 0);
		at += len + 1;
	}
	history_end(reading);
	assert_true(history_is_of(reading));
	assert_int_equal(history_summarize(reading, &summary, &err), 0);
	assert_int_equal(summary.calls, 2);
	assert_int_equal(history_write(reading, index, &err), 0);
	assert_int_equal(file_load(index, 1 << 20, &given, &err), 0);
	assert_int_equal(given.len, built.len);
	assert_memory_equal(given.data, built.data, built.len);
	history_summary_free(&summary);
	history_reading_free(reading);
	free(index);
	buffer_free(&built);
	buffer_free(&given);
	buffer_free(&text);
}

/* Thousands of calls of one name and input are not looked through each time. */
static void
test_many(void **state)
{
	struct buffer script = BUFFER_INIT;
	struct history_summary summary;
	struct history *h;

	(void)state;
	buffer_text(&script, "R");
	for (int i = 0; i < 10000; i++)
		buffer_format(&script, "\nS s%d a:%d:0\nC c%d a:%d:0 result=%d", i, i, i, i, i);
	const struct history_spec spec = { .own = {
	    .path = write_transcript("t.jsonl", RUN_ID, script.data), .blobs = record_directory } };
	h = open_history(&spec, &summary);
	assert_int_equal(summary.calls, 10000);
	for (int i = 0; i < 10000; i++) {
		struct buffer answer = BUFFER_INIT;
		char text[64], *expected;

		snprintf(text, sizeof text, "succeeded started=%%s%d%% completed=%%c%d%%", i, i);
		expected = expand(text);
		ask(h, "a 0 0 0", &answer, true);
		assert_string_equal(buffer_string(&answer), expected);
		free(expected);
		buffer_free(&answer);
	}
	history_close(h);
	history_summary_free(&summary);
	buffer_free(&script);
}

/* A call whose line names itself as its cause has none. */
static void
test_own_cause(void **state)
{
	struct buffer script = BUFFER_INIT;
	struct history_summary summary;
	struct history *h;

	(void)state;
	buffer_text(&script, "R");
	for (int i = 0; i < 200; i++)
		buffer_format(&script, "\nS s%d a:%d:0 parent=s%d link=s%d claims=s%d", i, i, i, i, i);
	const struct history_spec spec = { .own = {
	    .path = write_transcript("t.jsonl", RUN_ID, script.data), .blobs = record_directory } };
	h = open_history(&spec, &summary);
	assert_int_equal(summary.calls, 200);
	history_close(h);
	history_summary_free(&summary);
	buffer_free(&script);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_claims),
		cmocka_unit_test(test_changed),
		cmocka_unit_test(test_doubts),
		cmocka_unit_test(test_enclosing),
		cmocka_unit_test(test_decided_since), cmocka_unit_test(test_root),
		cmocka_unit_test(test_marks),
		cmocka_unit_test(test_fork),
		cmocka_unit_test(test_resumed_fork),
		cmocka_unit_test(test_status),
		cmocka_unit_test(test_blobs),
		cmocka_unit_test(test_refusals),
		cmocka_unit_test(test_damage),
		cmocka_unit_test(test_source_checked),
		cmocka_unit_test(test_no_history),
		cmocka_unit_test(test_given_lines),
		cmocka_unit_test(test_many),
		cmocka_unit_test(test_own_cause),
	};

	return cmocka_run_group_tests(tests, record_setup, record_teardown);
}
