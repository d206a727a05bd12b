/* cmd/step_call/step: calls that take over recorded ones, which a history of one record
 * supplies: results that are reused, decisions, and replays. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "unit.h"

#include "base/memory.h"
#include "proc/descendants.h"
#include "step_call/step_call.h"
#include "step_kinds/kinds.h"
#include "transcript/blob.h"
#include "transcript/reader.h"

#define OTHER_RUN "6f9619ff-8b86-4011-b42d-00c04fc964ff"

static char directory[] = "/tmp/awf-step-XXXXXX";
static struct run run;

struct sheet {
	const char *what, *command;
	enum output_form output;
	const char *into, *when;
	enum failure_mode failure;
	enum effects effects;
	int retries;
	bool feed_state;    /* -e */
	bool failed;        /* its end */
};

static const char text_item[] = "\"in\"";

/* The lines that a call appended, and what it put out. */
struct made {
	struct recalled_event started, completed;
	struct recalled_event retries[2];
	struct step_result result;
	size_t retry_count, lines;   /* the lines without those of retries */
};

static void
made_free(struct made *m)
{
	buffer_free(&m->started.line);
	buffer_free(&m->started.refs);
	buffer_free(&m->completed.line);
	buffer_free(&m->completed.refs);
	for (size_t i = 0; i < m->retry_count; i++) {
		buffer_free(&m->retries[i].line);
		buffer_free(&m->retries[i].refs);
	}
	buffer_free(&m->result.out);
}

static void
take_line(struct recalled_event *e, const char *at, size_t len)
{
	struct span refs = span_member(span_of(at, len), "refs");
	struct error err;

	memset(e, 0, sizeof *e);
	if (refs.at != NULL)
		buffer_append(&e->refs, refs.at, refs.len);
	assert_int_equal(blob_inline(run.transcript.blobs, at, len, &e->line, &err), 0);
	assert_int_equal(recalled_event_view(e), 0);
}

static void
read_made(struct made *m, int64_t after)
{
	struct reader r;
	struct error err;
	const char *at;
	size_t len;

	assert_int_equal(reader_open(&r, run.transcript.path, &err), 0);
	assert_int_equal(reader_seek_after(&r, after, &err), 0);
	while (reader_next(&r, &at, &len, &err) == 1) {
		struct event_view view;

		assert_int_equal(event_view(at, len, &view), 0);
		if (event_tells_retry(&view)) {
			assert_true(m->retry_count < COUNT(m->retries));
			take_line(&m->retries[m->retry_count++], at, len);
		} else {
			take_line(m->lines++ == 0 ? &m->started : &m->completed, at, len);
		}
	}
	reader_close(&r);
	assert_int_equal(m->lines, 2);
}

/* A history of one call, with what was told of its retries. */
static struct {
	const struct made *record;
	struct recalled recalled;    /* but for those */
	bool claimed;
	enum error_code refuses;
} history;

static int
claim(void *context, const struct recall_query *query, struct recalled *r, struct error *err)
{
	(void)context;
	assert_string_equal(query->name, "s");
	if (history.refuses != ERROR_NONE)
		return error_set(err, history.refuses, "s:0:0", "refused");
	*r = history.recalled;
	take_line(&r->started, history.record->started.line.data, history.record->started.line.len);
	if (r->end != RECALL_OPEN) {
		take_line(&r->completed, history.record->completed.line.data,
		    history.record->completed.line.len);
		buffer_append(&r->completed.refs, buffer_string(&history.record->completed.refs),
		    history.record->completed.refs.len);
	}
	r->events = memory_zero(COUNT(history.record->retries), sizeof *r->events);
	for (; r->event_count < history.record->retry_count; r->event_count++) {
		const struct buffer *line = &history.record->retries[r->event_count].line;

		take_line(&r->events[r->event_count], line->data, line->len);
	}
	recalled_index(r);
	return 1;
}

static void
claimed(void *context, const struct recalled *r)
{
	(void)context;
	(void)r;
	history.claimed = true;
}

static void
make(const struct sheet *sheet, const struct recall *recall, struct made *m)
{
	char shell[] = "/bin/sh", flag[] = "-c", process[] = "s:0", *script = memory_text(sheet->command);
	char *argv[] = { shell, flag, script, NULL };
	struct step s = {
		.options = { .name = "s", .command = { argv, sheet->feed_state }, .output = { sheet->output, sheet->into, false },
			.when = { "when", sheet->when }, .failure = sheet->failure,
			.effects = sheet->effects },
		.definition = { .work = &work_command, .kind = "command" },
		.place = { .run = &run, .recall = recall, .enclosing = "", .root = "", .parent = run.started,
			.path = "s", .process = process, .interrupts = { NULL, -1 } } };
	struct item item = { .foreign = false };
	const struct causes causes = { .parent = "" };
	int64_t after = run.transcript.seq;
	struct error err;

	memset(m, 0, sizeof *m);
	retry_default(&s.options.retry);
	s.options.retry.retries = sheet->retries;
	s.options.retry.delay_ms = 1;
	s.options.retry.codes[ERROR_EXIT_STATUS] = s.options.retry.codes_given = sheet->retries > 0;
	environment_begin(&s.place.environment);
	buffer_text(&item.data.json, text_item);
	step_define(&s);
	if (step_call(&s, &item, &causes, NULL, 0, &m->result, &err) == -1)
		fail_msg("%s: %s: %s", sheet->what, err.place, err.message);
	read_made(m, after);
	item_free(&item);
	environment_free(&s.place.environment);
	free(script);
}

static struct span
payload(const struct recalled_event *e, const char *pointer)
{
	return pointer_find(e->view.payload, pointer);
}

static bool
bytes_equal(struct span a, struct span b)
{
	return a.len == b.len && (a.len == 0 || memcmp(a.at, b.at, a.len) == 0);
}

/* The commands that ran since the last look. */
static int
ran(void)
{
	char *path = memory_format("%s/ran", directory);
	FILE *file = fopen(path, "r");
	int count = 0, c;

	while (file != NULL && (c = getc(file)) != EOF)
		count += c == '\n';
	if (file != NULL)
		fclose(file);
	unlink(path);
	free(path);
	return count;
}

#define RUNS "echo x >>$HERE/ran; "

static const struct sheet results[] = {
	{ .what = "text", .command = RUNS "echo one" },
	{ .what = "text without its end", .command = RUNS "printf one" },
	{ .what = "bytes", .command = RUNS "printf 'a\\377b'" },
	{ .what = "nothing", .command = RUNS ":" },
	{ .what = "lines", .command = RUNS "printf 'a\\nb'", .output = OUTPUT_LINES },
	{ .what = "bytes among lines", .command = RUNS "printf 'a\\nb\\377\\nc'",
	  .output = OUTPUT_LINES },
	{ .what = "no lines", .command = RUNS ":", .output = OUTPUT_LINES },
	{ .what = "parts", .command = RUNS "printf 'a\\0b'", .output = OUTPUT_NUL },
	{ .what = "values", .command = RUNS "echo '{\"a\": 1.0} [] null'", .output = OUTPUT_JSON },
	{ .what = "a key", .command = RUNS "echo one", .into = "k" },
	{ .what = "a condition", .command = RUNS "echo one", .when = "true" },
	{ .what = "stderr", .command = RUNS "echo one; echo two >&2" },
	{ .what = "a try that failed", .command = RUNS "exit 3", .failure = FAILURE_TRY,
	  .failed = true },
};

/* Lines without their metadata but parts, encodings, and what is missing at the end. */
static void
data_of(const struct buffer *out, struct buffer *text)
{
	static const char *const keys[] = { "part", "encoding", "no_newline", "sha256", "tool_calls_count" };
	const char *at = buffer_string(out), *end;

	for (; *at != '\0'; at = end + 1) {
		struct span line = span_of(at, (size_t)((end = strchr(at, '\n')) - at));
		struct span data = span_member(line, "data");

		buffer_format(text, "%.*s", (int)data.len, data.at);
		for (size_t i = 0; i < COUNT(keys); i++) {
			struct span value = span_path(line, "metadata", keys[i], NULL);

			buffer_format(text, " %.*s", (int)value.len, value.at == NULL ? "" : value.at);
		}
		buffer_byte(text, '\n');
	}
}

static void
recall_made(const struct made *record, enum recall_mode mode, enum recall_end ended)
{
	memset(&history, 0, sizeof history);
	history.record = record;
	history.recalled = (struct recalled){ .mode = mode, .end = ended };
	memcpy(history.recalled.root, record->started.id, ID_SIZE);
}

static void
assert_same_data(const struct buffer *have, const struct buffer *want)
{
	struct buffer texts[2] = { BUFFER_INIT, BUFFER_INIT };

	data_of(have, &texts[0]);
	data_of(want, &texts[1]);
	assert_string_equal(buffer_string(&texts[0]), buffer_string(&texts[1]));
	buffer_free(&texts[0]);
	buffer_free(&texts[1]);
}

static void
results_are_reused(void **state)
{
	const struct recall recall = { .mode = RECALL_RESUME, .claim = claim,
		.claimed = claimed, .left_out = claimed };

	(void)state;
	for (size_t i = 0; i < COUNT(results); i++)
		for (int other = 0; other < 2; other++) {
			struct made first, second;
			char *quoted;

			print_message("# %s%s\n", results[i].what, other ? ", of another run" : "");
			make(&results[i], NULL, &first);
			assert_int_equal(ran(), 1);
			recall_made(&first, RECALL_RESUME,
			    results[i].failed ? RECALL_FAILED : RECALL_SUCCEEDED);
			history.recalled.stands = results[i].failed;
			if (other)
				strcpy(history.recalled.run_id, OTHER_RUN);
			make(&results[i], &recall, &second);
			assert_int_equal(ran(), 0);
			assert_true(history.claimed);
			assert_same_data(&second.result.out, &first.result.out);
			assert_int_equal(second.result.status, first.result.status);
			quoted = other ? memory_format("{\"run_id\":\"" OTHER_RUN "\",\"event_id\":\"%s\"}",
			    first.started.id) : memory_format("\"%s\"", first.started.id);
			assert_true(bytes_equal(payload(&second.started, "/claims"),
			    span_of(quoted, strlen(quoted))));
			memcpy(strstr(quoted, first.started.id), first.completed.id, ID_SIZE - 1);
			assert_true(bytes_equal(payload(&second.completed, "/reused_from"),
			    span_of(quoted, strlen(quoted))));
			assert_true(bytes_equal(payload(&second.completed, "/result"),
			    other ? payload(&first.completed, "/result") : span_of(NULL, 0)));
			free(quoted);
			made_free(&first);
			made_free(&second);
		}
}

/* A replay puts out the same bytes, under the same ids, as at the time. */
static void
replays_are_the_same(void **state)
{
	static const struct sheet more[] = {
		{ .what = "what is outside", .command = RUNS "date +%N", .effects = EFFECTS_READ },
		{ .what = "tries", .command = RUNS "exit 3", .retries = 2, .failed = true },
		{ .what = "what -e reads", .command = RUNS "cat", .feed_state = true },
		{ .what = "a failure", .command = RUNS "exit 3", .failed = true },
	};
	static const int runs[] = { 0, 3, 1, 1 };
	const struct recall recall = { .mode = RECALL_REPLAY, .claim = claim,
		.claimed = claimed, .left_out = claimed };

	(void)state;
	for (size_t i = 0; i < COUNT(results) + COUNT(more); i++) {
		const struct sheet *sheet = i < COUNT(results) ? &results[i] : &more[i - COUNT(results)];
		struct made first, second;

		print_message("# %s\n", sheet->what);
		make(sheet, NULL, &first);
		assert_int_equal(ran(), 1 + sheet->retries);
		assert_int_equal(first.retry_count, sheet->retries);
		recall_made(&first, RECALL_REPLAY, sheet->failed ? RECALL_FAILED : RECALL_SUCCEEDED);
		make(sheet, &recall, &second);
		assert_int_equal(ran(), i < COUNT(results) ? 1 : runs[i - COUNT(results)]);
		assert_string_equal(buffer_string(&second.result.out), buffer_string(&first.result.out));
		assert_string_equal(second.started.id, first.started.id);
		assert_string_equal(second.completed.id, first.completed.id);
		assert_true(bytes_equal(payload(&second.completed, "/result"),
		    payload(&first.completed, "/result")));
		assert_true(bytes_equal(payload(&second.completed, "/retries"),
		    payload(&first.completed, "/retries")));
		assert_null(payload(&second.started, "/claims").at);
		assert_int_equal(second.retry_count, first.retry_count);
		for (size_t r = 0; r < first.retry_count; r++) {
			assert_string_equal(second.retries[r].id, first.retries[r].id);
			assert_true(bytes_equal(second.retries[r].view.payload, first.retries[r].view.payload));
			assert_true(bytes_equal(second.retries[r].view.parent_event_id,
			    first.started.view.event_id));
		}
		made_free(&first);
		made_free(&second);
	}
}

/* What stands, what is done, what ends the call. */
static void
decisions(void **state)
{
	static const struct { const char *what; struct sheet first, second; enum recall_mode mode;
		enum recall_end end; enum recall_decision decided; bool changed; enum error_code refuses;
		int runs; const char *skipped, *code; } rows[] = {
		{ "cut off", { .command = RUNS "echo 1" }, { .command = RUNS "echo 1" }, RECALL_RESUME,
		    RECALL_OPEN, RECALL_UNDECIDED, false, ERROR_NONE, 1, NULL, NULL },
		{ "failed", { .command = RUNS "exit 3" }, { .command = RUNS "echo 1" }, RECALL_RESUME,
		    RECALL_FAILED, RECALL_UNDECIDED, false, ERROR_NONE, 1, NULL, NULL },
		{ "changed, redo", { .command = RUNS "echo 1" }, { .command = RUNS "echo 2" },
		    RECALL_RESUME, RECALL_OPEN, RECALL_REDO, true, ERROR_NONE, 1, NULL, NULL },
		{ "changed, skip", { .command = RUNS "echo 1" }, { .command = RUNS "echo 2" },
		    RECALL_RESUME, RECALL_OPEN, RECALL_SKIP, true, ERROR_NONE, 0, "\"by_user\"", NULL },
		{ "changed, undecided", { .command = RUNS "echo 1" }, { .command = RUNS "echo 2" },
		    RECALL_RESUME, RECALL_OPEN, RECALL_UNDECIDED, false, ERROR_WAITING, 0, NULL,
		    "\"waiting\"" },
		{ "a condition that was edited is asked again", { .command = RUNS "echo 1", .when = "false" },
		    { .command = RUNS "echo 1", .when = "true" }, RECALL_RESUME, RECALL_SKIPPED,
		    RECALL_UNDECIDED, false, ERROR_NONE, 1, NULL, NULL },
		{ "no condition any more", { .command = RUNS "echo 1", .when = "false" },
		    { .command = RUNS "echo 1" }, RECALL_RESUME, RECALL_SKIPPED, RECALL_UNDECIDED, false,
		    ERROR_NONE, 1, NULL, NULL },
		{ "replay: it is skipped again", { .command = RUNS "echo 1", .when = "false" },
		    { .command = RUNS "echo 1", .when = "false" }, RECALL_REPLAY, RECALL_SKIPPED,
		    RECALL_UNDECIDED, false, ERROR_NONE, 0, "\"condition\"", NULL },
		{ "replay: it holds now", { .command = RUNS "echo 1", .when = "false" },
		    { .command = RUNS "echo 1", .when = "true" }, RECALL_REPLAY, RECALL_SKIPPED,
		    RECALL_UNDECIDED, false, ERROR_NONE, 0, NULL, "\"divergence\"" },
		{ "replay: it held", { .command = RUNS "echo 1", .when = "true" },
		    { .command = RUNS "echo 1", .when = "false" }, RECALL_REPLAY, RECALL_SUCCEEDED,
		    RECALL_UNDECIDED, false, ERROR_NONE, 0, NULL, "\"divergence\"" },
		{ "replay: it was skipped", { .command = RUNS "echo 1", .when = "false" },
		    { .command = RUNS "echo 1" }, RECALL_REPLAY, RECALL_SKIPPED,
		    RECALL_UNDECIDED, false, ERROR_NONE, 0, NULL, "\"divergence\"" },
		{ "replay: no end", { .command = RUNS "echo 1" }, { .command = RUNS "echo 1" },
		    RECALL_REPLAY, RECALL_OPEN, RECALL_UNDECIDED, false, ERROR_NONE, 0, NULL,
		    "\"divergence\"" },
		{ "replay: unknown", { .command = RUNS "echo 1" }, { .command = RUNS "echo 1" },
		    RECALL_REPLAY, RECALL_OPEN, RECALL_UNDECIDED, false, ERROR_DIVERGENCE, 0, NULL,
		    "\"divergence\"" },
	};

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		const struct recall recall = { .mode = rows[i].mode, .claim = claim,
			.claimed = claimed, .left_out = claimed };
		struct made first, second;
		struct span skipped, code;

		print_message("# %s\n", rows[i].what);
		make(&rows[i].first, NULL, &first);
		ran();
		recall_made(&first, rows[i].mode, rows[i].end);
		history.recalled.decided = rows[i].decided;
		history.recalled.changed = rows[i].changed;
		history.refuses = rows[i].refuses;
		make(&rows[i].second, &recall, &second);
		assert_int_equal(ran(), rows[i].runs);
		skipped = payload(&second.completed, "/skipped");
		code = payload(&second.completed, "/error/code");
		assert_true(bytes_equal(skipped, span_of(rows[i].skipped,
		    rows[i].skipped == NULL ? 0 : strlen(rows[i].skipped))));
		assert_true(bytes_equal(code, span_of(rows[i].code,
		    rows[i].code == NULL ? 0 : strlen(rows[i].code))));
		assert_int_equal(history.claimed, rows[i].refuses == ERROR_NONE);
		made_free(&first);
		made_free(&second);
	}
}

/* What runs inside knows the enclosing call by its first step.started. */
static void
bodies_know_what_was_claimed(void **state)
{
	static const struct sheet sheet = { .what = "", .command = "echo \"${AWF_CLAIMED-none}\"" };
	const struct recall recall = { .mode = RECALL_RESUME, .claim = claim,
		.claimed = claimed, .left_out = claimed };

	(void)state;
	for (int changed = 0; changed < 2; changed++) {
		struct made first, second;
		char *want;

		make(&sheet, NULL, &first);
		recall_made(&first, RECALL_RESUME, RECALL_OPEN);
		history.recalled.changed = changed;
		strcpy(history.recalled.root, OTHER_RUN);
		make(&sheet, &recall, &second);
		want = memory_format("\"%s\"", changed ? "none" : OTHER_RUN);
		assert_true(bytes_equal(payload(&second.completed, "/result"),
		    span_of(want, strlen(want))));
		free(want);
		made_free(&first);
		made_free(&second);
	}
}

/* What stands of a recorded call goes by its record and by the step alone. */
static void
verdicts(void **state)
{
	static const struct {
		const char *what;
		enum recall_mode mode;
		enum { A_COMMAND, A_READER, A_GROUP, AN_AGENT, AN_APPROVAL } step;
		const char *into;
		struct recalled recalled;
		const char *payload;         /* of step.completed */
		int says;
		bool reuses, decided;
	} rows[] = {
		{ "a result stands", RECALL_RESUME, A_COMMAND, NULL, { .end = RECALL_SUCCEEDED },
		    "{\"result\":1}", VERDICT_TAKE, true, false },
		{ "a failure does not", RECALL_RESUME, A_COMMAND, NULL, { .end = RECALL_FAILED },
		    "{\"error\":{\"code\":\"timeout\",\"message\":\"m\"}}", VERDICT_DO, false, false },
		{ "unless the run went on from it", RECALL_RESUME, A_COMMAND, NULL,
		    { .end = RECALL_FAILED, .stands = true }, "{}", VERDICT_TAKE, true, false },
		{ "and nobody wants it again", RECALL_RESUME, A_COMMAND, NULL,
		    { .end = RECALL_FAILED, .stands = true, .decided = RECALL_REDO }, "{}", VERDICT_DO,
		    false, false },
		{ "one that never ended is made again", RECALL_RESUME, A_COMMAND, NULL,
		    { .end = RECALL_OPEN }, "{}", VERDICT_DO, false, false },
		{ "another input, and decided", RECALL_RESUME, A_COMMAND, NULL,
		    { .end = RECALL_SUCCEEDED, .changed = true, .decided = RECALL_REDO }, "{}",
		    VERDICT_DO, false, false },
		{ "in doubt, and not to be made", RECALL_RESUME, A_COMMAND, NULL,
		    { .end = RECALL_OPEN, .decided = RECALL_SKIP }, "{}", VERDICT_SKIP, false, false },
		{ "which of an agent is about its tools", RECALL_RESUME, AN_AGENT, NULL,
		    { .end = RECALL_OPEN, .decided = RECALL_SKIP }, "{}", VERDICT_DO, false, false },
		{ "unless it is another now", RECALL_RESUME, AN_AGENT, NULL,
		    { .end = RECALL_OPEN, .decided = RECALL_SKIP, .changed = true }, "{}", VERDICT_SKIP,
		    false, false },
		{ "skipped before", RECALL_RESUME, A_COMMAND, NULL, { .end = RECALL_SKIPPED },
		    "{\"skipped\":\"by_user\"}", VERDICT_SKIP, true, false },
		{ "skipped for its input", RECALL_RESUME, A_COMMAND, NULL, { .end = RECALL_SKIPPED },
		    "{\"skipped\":\"condition\"}", VERDICT_DO, false, false },
		{ "a result that is waited for", RECALL_RESUME, A_COMMAND, NULL, { .end = RECALL_WAITING },
		    "{\"approval\":{\"asks\":\"completion\"}}", VERDICT_WAIT, false, false },
		{ "who is to decide is asked anew", RECALL_RESUME, AN_APPROVAL, NULL,
		    { .end = RECALL_WAITING }, "{\"approval\":{\"asks\":\"approval\"}}", VERDICT_DO, false,
		    false },
		{ "a decision", RECALL_RESUME, A_COMMAND, NULL, { .end = RECALL_SUCCEEDED },
		    "{\"result\":1,\"approval\":{\"decision\":\"completed\",\"decides\":\"x\"}}",
		    VERDICT_TAKE, true, false },
		{ "a decision that is to be put into the data", RECALL_RESUME, A_COMMAND, "k",
		    { .end = RECALL_SUCCEEDED },
		    "{\"result\":1,\"approval\":{\"decision\":\"completed\",\"decides\":\"x\"}}",
		    VERDICT_TAKE, false, true },
		{ "replay: the work is done again", RECALL_REPLAY, A_COMMAND, NULL,
		    { .end = RECALL_SUCCEEDED }, "{\"result\":1}", VERDICT_DO, false, false },
		{ "replay: what reads the world is not", RECALL_REPLAY, A_READER, NULL,
		    { .end = RECALL_SUCCEEDED }, "{\"result\":1}", VERDICT_TAKE, false, false },
		{ "replay: cut off by what went on around it", RECALL_REPLAY, A_COMMAND, NULL,
		    { .end = RECALL_FAILED }, "{\"error\":{\"code\":\"cancelled\",\"message\":\"m\"}}",
		    VERDICT_TAKE, false, false },
		{ "replay: an agent", RECALL_REPLAY, AN_AGENT, NULL, { .end = RECALL_OPEN }, "{}",
		    VERDICT_DO, false, false },
		{ "replay: the recording breaks off", RECALL_REPLAY, A_COMMAND, NULL,
		    { .end = RECALL_OPEN }, "{}", VERDICT_DIVERGE, false, false },
		{ "replay: was skipped", RECALL_REPLAY, A_COMMAND, NULL, { .end = RECALL_SKIPPED },
		    "{\"skipped\":\"condition\"}", VERDICT_DIVERGE, false, false },
		{ "replay: was skipped by the user", RECALL_REPLAY, A_COMMAND, NULL,
		    { .end = RECALL_SKIPPED }, "{\"skipped\":\"by_user\"}", VERDICT_SKIP, false, false },
		{ "replay: an approval", RECALL_REPLAY, AN_APPROVAL, NULL, { .end = RECALL_SUCCEEDED },
		    "{\"result\":1}", VERDICT_TAKE, false, true },
		{ "replay: what an earlier attempt did", RECALL_REPLAY, A_GROUP, NULL,
		    { .end = RECALL_SUCCEEDED }, "{\"reused_from\":\"x\"}", VERDICT_TAKE, false, false },
		{ "replay: which a command does again", RECALL_REPLAY, A_COMMAND, NULL,
		    { .end = RECALL_SUCCEEDED }, "{\"reused_from\":\"x\"}", VERDICT_DO, false, false },
		{ "replay: what another run did", RECALL_REPLAY, A_COMMAND, NULL,
		    { .end = RECALL_SUCCEEDED }, "{\"reused_from\":{\"run_id\":\"x\"}}", VERDICT_TAKE,
		    false, false },
	};
	static const struct work *const works[] = { [A_COMMAND] = &work_command, [A_READER] = &work_command,
		[A_GROUP] = &work_each, [AN_AGENT] = &work_agent, [AN_APPROVAL] = &work_approve };

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		const struct recall recall = { .mode = rows[i].mode };
		const struct step s = { .place.recall = &recall, .options = { .output.into = rows[i].into,
			.effects = rows[i].step == A_READER ? EFFECTS_READ : EFFECTS_NONE },
			.definition.work = works[rows[i].step] };
		/* What was said before is none of this verdict. */
		struct call_verdict v = { .says = VERDICT_WAIT, .recalls = true,
			.recalled = rows[i].recalled, .reuses = true, .decided = true };

		print_message("# %s\n", rows[i].what);
		v.recalled.completed.view.payload = span_of(rows[i].payload, strlen(rows[i].payload));
		step_judge(&s, &v);
		assert_int_equal(v.says, rows[i].says);
		assert_int_equal(v.reuses, rows[i].reuses);
		assert_int_equal(v.decided, rows[i].decided);
		assert_int_equal(v.error.code, v.says == VERDICT_DIVERGE ? ERROR_DIVERGENCE : ERROR_NONE);
	}
}

/* What every kind of work has to say. */
static void
rows_are_whole(void **state)
{
#define WORK_ROW(name) { #name, &work_##name },
	static const struct { const char *name; const struct work *work; } rows[] = { WORKS(WORK_ROW) };
#undef WORK_ROW

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		const struct work *w = rows[i].work;

		print_message("# %s\n", rows[i].name);
		assert_non_null(w->kind);
		assert_non_null(w->asked);
		assert_non_null(w->define);
		assert_non_null(w->describe);
		assert_non_null(w->label);
		assert_non_null(w->run);
		/* What is loaded, or begun, is freed. */
		assert_true(w->begin == NULL || w->unload != NULL);
		assert_true(w->prepare == NULL || w->close != NULL);
	}
}

static int
begin(void **state)
{
	const struct run_spec spec = { .name = "t", .kind = "workflow", .keep_transcript = true };
	struct error err;

	(void)state;
	signal(SIGPIPE, SIG_IGN);
	descendants_adopt();
	if (mkdtemp(directory) == NULL)
		return -1;
	setenv("AWF_STORAGE", directory, 1);
	setenv("HERE", directory, 1);
	unsetenv("AWF_CLAIMED");
	unsetenv("AWF_RUN_ID");
	return run_create(&run, &spec, &err);
}

static int
end(void **state)
{
	char *command = memory_format("rm -r %s", directory);
	int status;

	(void)state;
	run_close(&run);
	status = system(command);
	free(command);
	return status;
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(results_are_reused),
		cmocka_unit_test(replays_are_the_same),
		cmocka_unit_test(decisions),
		cmocka_unit_test(bodies_know_what_was_claimed),
		cmocka_unit_test(verdicts),
		cmocka_unit_test(rows_are_whole),
	};

	return cmocka_run_group_tests(tests, begin, end);
}
