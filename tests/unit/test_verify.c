/* transcript/verify, transcript/form, transcript/fingerprints: a transcript is whole, or its
 * first fault is found and named, whatever it is. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <fcntl.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/memory.h"
#include "io/file.h"
#include "json/value.h"
#include "schema/schema.h"
#include "tier.h"
#include "transcript/fingerprints.h"
#include "transcript/form.h"
#include "transcript/verify.h"
#include "transcript/verify_lines.h"
#include "verify/event_schema.h"

#define RUN "11111111-1111-4111-8111-111111111111"
#define CHILD "22222222-2222-4222-8222-222222222222"
#define ID(n) "00000000-0000-4000-8000-0000000000" n
#define SHA "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad" /* "abc" */

/* Lines of a transcript, each as writers make it. */
static const struct event_line {
	const char *type, *parent; /* parent: two digits, NULL: null */
	const char *ids, *links;   /* members that stand before and after parent_event_id */
	const char *path, *payload, *refs;
} event_lines[] = {
	{ "run.started", NULL, "", "", "",
	  "{\"name\":\"w\",\"kind\":\"workflow\",\"argv\":[\"w\",null],\"cwd\":\"/\",\"inputs\":{},"
	  "\"env\":{\"PATH\":\"/bin\"},\"workflow_sha256\":\"" SHA "\",\"awf_version\":\"0.1.0\","
	  "\"format\":1,\"attempt\":1,\"forked_from\":null,\"forked_at\":\"a\"}", "" },
	{ "step.started", "01", "", "", "a",
	  "{\"name\":\"a\",\"kind\":\"agent\",\"call\":\"a:0:0\",\"attempt\":1,\"input_sha256\":\"" SHA
	  "\",\"input\":\"x\",\"definition_sha256\":\"" SHA "\",\"effects\":\"none\",\"idempotent\":true,\"blocks\":"
	  "[{\"type\":\"command\",\"command\":[\"x\"],\"fidelity\":\"router\"}],\"agent\":\"x.md\","
	  "\"provider\":\"p\",\"model\":\"m\",\"tool\":\"t\",\"timeout_ms\":5,\"condition\":{\"when\":\"x\",\"outcome\":true},"
	  "\"require\":[\"a\"],"
	  "\"mode\":\"try\",\"claims\":\"" ID("77") "\"}", "" },
	{ "message.user", "02", "", "", "a",
	  "{\"role\":\"user\",\"blocks\":[{\"type\":\"text\",\"text\":null}],\"system_prompt\":\"s\","
	  "\"tools\":[{\"name\":\"read\",\"input_schema\":{}}],\"params\":{},\"turn\":0}",
	  ",\"refs\":[{\"at\":\"/payload/blocks/0/text\",\"sha256\":\"" SHA
	  "\",\"bytes\":3,\"encoding\":\"raw\"}]" },
	{ "message.assistant", "03", "", "", "a",
	  "{\"role\":\"assistant\",\"blocks\":[{\"type\":\"thinking\",\"thinking\":\"h\",\"signature\":"
	  "\"s\"},{\"type\":\"tool_use\",\"tool_id\":\"t1\",\"tool_name\":\"read\",\"tool_input\":{},"
	  "\"fidelity\":\"agent_emitted\"}],\"model\":\"m\",\"stop_reason\":\"tool_use\",\"usage\":{"
	  "\"input_tokens\":1},\"duration_ms\":1,\"turn\":1,\"request_sha256\":\"" SHA
	  "\",\"partial\":false}", "" },
	{ "tool.call", "04", "", "", "a",
	  "{\"name\":\"read\",\"call_id\":\"t1\",\"input\":{\"path\":\"x\"},\"effects\":\"none\","
	  "\"warning\":\"w\",\"fidelity\":\"router\"}", "" },
	{ "tool.call", "04", "", "", "a", "{\"name\":\"read\",\"call_id\":\"t2\",\"input\":{}}", "" },
	{ "tool.result", "05", "", "", "a",
	  "{\"name\":\"read\",\"call_id\":\"t1\",\"output\":\"o\",\"duration_ms\":1,\"changed\":"
	  "[{\"path\":\"x\",\"sha256\":\"" SHA "\"}],\"stderr\":\"e\",\"fidelity\":\"router\"}", "" },
	{ "tool.result", "06", "", "", "a",
	  "{\"name\":\"read\",\"call_id\":\"t2\",\"error\":{\"code\":\"exit_status\","
	  "\"message\":\"m\"}}", "" },
	{ "message.assistant", "07", "", "\"links\":[\"" ID("08") "\"],", "a",
	  "{\"role\":\"assistant\",\"blocks\":[{\"type\":\"text\",\"text\":\"caf\xc3\xa9 \\u00e9\"}]}",
	  "" },
	{ "step.completed", "09", "", "", "a",
	  "{\"name\":\"a\",\"kind\":\"agent\",\"call\":\"a:0:0\",\"result\":\"r\",\"duration_ms\":1,"
	  "\"exit_code\":0,\"retries\":[],\"stderr\":\"\",\"stderr_bytes\":0,\"skipped\":false,"
	  "\"reused_from\":{\"run_id\":\"" CHILD "\",\"event_id\":\"" ID("10") "\"},\"count\":1,\"approval\":null}", "" },
	{ "step.call_workflow.started", "01", "\"child_run_id\":\"" CHILD "\",",
	  "\"links\":[{\"run_id\":\"33333333-3333-4333-8333-333333333333\",\"event_id\":\"" ID("10")
	  "\"}],", "b.c", "{\"name\":\"c\",\"kind\":\"call_workflow\",\"call\":\"b:0:0/c:0:0\"}", "" },
	{ "step.call_workflow.completed", "11", "\"child_run_id\":\"" CHILD "\",", "", "b.c",
	  "{\"name\":\"c\",\"kind\":\"call_workflow\",\"call\":\"b:0:0/c:0:0\",\"error\":{\"code\":"
	  "\"timeout\",\"message\":\"m\"}}", "" },
	{ "x.custom", NULL, "", "\"extra\":[1e5],", "", "null", "" },
	{ "run.completed", "01", "", "", "",
	  "{\"status\":\"failed\",\"exit_code\":3,\"error\":{\"code\":\"exit_status\",\"message\":\"m\"},"
	  "\"duration_ms\":9,\"stdin\":{\"sha256\":\"" SHA "\",\"bytes\":0},\"usage\":{},\"seal\":null}",
	  "" },
};
#define LINES (sizeof event_lines / sizeof *event_lines)

/* One change to the lines above: in line `line`, `from` becomes `to`. */
struct change {
	size_t line; /* from 1; 0: none */
	const char *from, *to;
};

static char directory[] = "/tmp/test_verify.XXXXXX";
static char path[128], torn[128];

static void
make_line(size_t n, const char *prev, struct buffer *line)
{
	const struct event_line *e = &event_lines[n - 1];
	char parent[48] = "null";

	if (e->parent)
		snprintf(parent, sizeof parent, "\"" ID("%s") "\"", e->parent);
	buffer_format(line, "{\"seq\":%zu,\"timestamp\":\"2026-11-21T08:15:30.%06zuZ\",\"event_id\":\"",
	    n, n);
	buffer_format(line, ID("%02zu") "\",\"run_id\":\"" RUN "\",%s\"parent_event_id\":%s,%s", n,
	    e->ids, parent, e->links);
	buffer_format(line, "\"type\":\"%s\",\"path\":\"%s\",\"iteration\":0,\"payload\":%s%s,"
	    "\"prev\":\"%s\"}", e->type, e->path, e->payload, e->refs, prev);
}

static void
replace(struct buffer *text, const char *from, const char *to)
{
	char *at = strstr(text->data, from);
	struct buffer changed = BUFFER_INIT;

	if (!at)
		fail_msg("'%s' is not in %s", from, text->data);
	buffer_append(&changed, text->data, (size_t)(at - text->data));
	buffer_text(&changed, to);
	buffer_text(&changed, at + strlen(from));
	buffer_free(text);
	*text = changed;
}

/* The first count lines, changed before they are chained. */
static void
make_transcript(struct buffer *text, size_t count, const struct change *change)
{
	char prev[DIGEST_SIZE];

	memset(prev, '0', sizeof prev - 1);
	prev[sizeof prev - 1] = '\0';
	for (size_t n = 1; n <= count; n++) {
		struct buffer line = BUFFER_INIT;

		make_line(n, prev, &line);
		if (change && change->line == n) {
			if (!change->from)
				buffer_clear(&line);
			else
				replace(&line, change->from, change->to);
		}
		if (line.len > 0) {
			digest_blake2b(line.data, line.len, prev);
			buffer_append(text, line.data, line.len);
			buffer_byte(text, '\n');
		}
		buffer_free(&line);
	}
}

static void
put(const char *file, const char *bytes, size_t len)
{
	int fd;

	unlink(file); /* cutting it to nothing instead makes some file systems sync */
	fd = open(file, O_WRONLY | O_CREAT | O_EXCL, 0600);
	assert_true(fd >= 0);
	assert_int_equal(file_write(fd, bytes, len), 0);
	close(fd);
}

struct warnings {
	size_t count;
	struct buffer text;
};

static void
on_warning(void *context, int64_t line, const char *text)
{
	struct warnings *warnings = context;

	warnings->count++;
	buffer_format(&warnings->text, "%lld: %s\n", (long long)line, text);
}

static struct verify_report
verify(struct warnings *warnings)
{
	struct verify_spec spec = { .warn = warnings ? on_warning : NULL, .context = warnings,
		.unknown = warnings != NULL };
	struct verify_report report;
	struct error err = ERROR_INIT;

	if (verify_transcript(path, &spec, &report, &err) != 0)
		fail_msg("%s: %s", err.place, err.message);
	return report;
}

static struct verify_report
verify_bytes(const char *bytes, size_t len)
{
	put(path, bytes, len);
	return verify(NULL);
}

static int
set_up(void **state)
{
	static const char *const below[] = { "transcripts", "blobs", "blobs/" RUN, "runs", "runs/" RUN };
	char name[192];

	(void)state;
	if (!mkdtemp(directory))
		return -1;
	for (size_t i = 0; i < sizeof below / sizeof *below; i++) {
		snprintf(name, sizeof name, "%s/%s", directory, below[i]);
		if (mkdir(name, 0700) != 0)
			return -1;
	}
	snprintf(name, sizeof name, "%s/blobs/" RUN "/" SHA, directory);
	put(name, "abc", 3);
	snprintf(path, sizeof path, "%s/transcripts/" RUN ".jsonl", directory);
	snprintf(torn, sizeof torn, "%s/transcripts/" RUN ".torn", directory);
	return 0;
}

static int
tear_down(void **state)
{
	char command[128];

	(void)state;
	snprintf(command, sizeof command, "rm -rf %s", directory);
	return system(command);
}

static void
test_whole(void **state)
{
	struct buffer text = BUFFER_INIT;
	struct warnings warnings = { 0, BUFFER_INIT };
	struct verify_report report;

	(void)state;
	make_transcript(&text, LINES, NULL);
	put(path, text.data, text.len);
	report = verify(&warnings);
	if (report.faulty)
		fail_msg("line %lld: %s", (long long)report.line, report.fault.message);
	assert_int_equal(report.lines, LINES);
	assert_int_equal(report.bytes, text.len);
	assert_int_equal(report.calls, 2);
	assert_int_equal(report.tool_calls, 2);
	assert_int_equal(report.blobs, 1);
	assert_string_equal(buffer_string(&warnings.text),
	    "13: type \"x.custom\" is not known to this version (lines with unknown types: 1)\n"
	    "13: key \"extra\" is not known to this version (lines with unknown keys: 1)\n");
	buffer_free(&warnings.text);
	buffer_free(&text);
}

static void
add_line(void *context, const char *line, size_t len, int64_t at)
{
	struct buffer *lines = context;

	assert_int_equal(at, lines->len);
	buffer_append(lines, line, len);
	buffer_byte(lines, '\n');
}

/* Who wants the lines is given each that is right by itself, once. */
static void
test_lines_taken(void **state)
{
	struct buffer text = BUFFER_INIT, lines = BUFFER_INIT;
	const struct verify_spec spec = { .take = add_line, .context = &lines };
	struct verify_report report;
	struct error err = ERROR_INIT;
	size_t kept;

	(void)state;
	make_transcript(&text, LINES, NULL);
	put(path, text.data, text.len);
	assert_int_equal(verify_transcript(path, &spec, &report, &err), 0);
	assert_int_equal(lines.len, text.len);
	assert_memory_equal(lines.data, text.data, text.len);
	buffer_clear(&lines);
	for (kept = text.len - 1; text.data[kept - 1] != '\n'; kept--)
		;
	text.data[kept] = '['; /* the last line */
	put(path, text.data, text.len);
	assert_int_equal(verify_transcript(path, &spec, &report, &err), 0);
	assert_true(report.faulty);
	assert_int_equal(lines.len, kept);
	buffer_free(&lines);
	buffer_free(&text);
}

/* Each change keeps the chain, so that the fault is the change itself. */
static const struct {
	struct change change;
	enum verify_rule rule;
	int line;
	const char *message;
} faults[] = {
	{ { 3, "\"turn\":0", "\"turn\":" }, VERIFY_JSON, 3, "expected a value" },
	{ { 3, "\"turn\":0", "\"turn\":0,\"x\":\"\xff\"" }, VERIFY_JSON, 3, "invalid UTF-8" },
	{ { 3, "{\"seq\":3,", "" }, VERIFY_JSON, 3, "something follows" },
	{ { 3, "\"timestamp\":\"2026", "\"timestamp\":\"2026\x01" }, VERIFY_JSON, 3, "control" },
	{ { 4, "\"seq\":4", "\"x\":1,\"seq\":4" }, VERIFY_FORM, 4, "\"seq\" is not the first key" },
	{ { 4, "\"path\":\"a\",\"iteration\":0", "\"iteration\":0,\"path\":\"a\"" }, VERIFY_FORM, 4,
	  "\"path\" is out of order" },
	{ { 4, "\"model\":\"m\"", "\"model\":\"m\",\"model\":\"m\"" }, VERIFY_FORM, 4,
	  "\"model\" stands twice in its payload" },
	{ { 4, "\"iteration\":0", "\"iteration\":1.0" }, VERIFY_FORM, 4, "whole number" },
	{ { 4, "\"role\":\"assistant\",", "" }, VERIFY_FORM, 4, "\"role\" is missing" },
	{ { 4, "\"role\":\"assistant\"", "\"role\":\"user\"" }, VERIFY_FORM, 4, "one of the words" },
	{ { 4, "-4000-8", "-5000-8" }, VERIFY_FORM, 4, "\"event_id\" is not a UUID" },
	{ { 4, "-11-21T", "-13-21T" }, VERIFY_FORM, 4, "\"timestamp\" is not a time" },
	{ { 2, "\"path\":\"a\"", "\"path\":\"a..b\"" }, VERIFY_FORM, 2, "names separated by dots" },
	{ { 5, NULL, NULL }, VERIFY_SEQ, 5, "seq is 6, not 5" },
	{ { 1, NULL, NULL }, VERIFY_SEQ, 1, "seq is 2, not 1" },
	{ { 7, "\"seq\":7", "\"seq\":6" }, VERIFY_SEQ, 7, "seq is 6, not 7" },
	{ { 7, "30.000007", "30.000005" }, VERIFY_TIME, 7, "earlier" },
	{ { 7, RUN, CHILD }, VERIFY_IDS, 7, "run_id is not that of line 1" },
	{ { 7, "\"event_id\":\"" ID("07"), "\"event_id\":\"" ID("03") }, VERIFY_IDS, 7,
	  "event_id " ID("03") " stands twice" },
	{ { 1, "\"parent_event_id\":null", "\"parent_event_id\":\"" ID("01") "\"" }, VERIFY_CAUSES, 1,
	  "run.started has a parent_event_id" },
	{ { 3, "\"parent_event_id\":\"" ID("02") "\"", "\"parent_event_id\":null" }, VERIFY_CAUSES, 3,
	  "a message.user needs a parent_event_id" },
	{ { 3, "\"parent_event_id\":\"" ID("02"), "\"parent_event_id\":\"" ID("03") }, VERIFY_CAUSES,
	  3, "parent_event_id " ID("03") " is no earlier event" },
	{ { 3, "\"parent_event_id\":\"" ID("02"), "\"parent_event_id\":\"" ID("09") }, VERIFY_CAUSES,
	  3, "is no earlier event" },
	{ { 9, "\"links\":[\"" ID("08"), "\"links\":[\"" ID("10") }, VERIFY_CAUSES, 9,
	  "link " ID("10") " is no earlier event" },
	{ { 11, "33333333-3333-4333-8333-333333333333\",\"event_id\":\"" ID("10"),
	    RUN "\",\"event_id\":\"" ID("12") }, VERIFY_CAUSES, 11, "is no earlier event" },
	{ { 14, "\"parent_event_id\":\"" ID("01"), "\"parent_event_id\":\"" ID("10") }, VERIFY_CAUSES,
	  14, "not the attempt's run.started" },
	{ { 1, "\"attempt\":1", "\"attempt\":2" }, VERIFY_PAIRS, 1, "attempt is 2, not 1" },
	{ { 1, "run.started", "other" }, VERIFY_PAIRS, 1, "line 1 is no run.started" },
	{ { 12, "call_workflow.completed", "call_workflow.started" }, VERIFY_PAIRS, 12,
	  "call b:0:0/c:0:0 was started before" },
	{ { 12, "step.call_workflow.completed", "step.completed" }, VERIFY_PAIRS, 12,
	  "call b:0:0/c:0:0 was not started" },
	{ { 12, "step.call_workflow.completed\",\"path\":\"b.c\",\"iteration\":0,\"payload\":{\"name\":"
	    "\"c\",\"kind\":\"call_workflow\",\"call\":\"b:0:0/c:0:0", "step.completed\",\"path\":"
	    "\"b.c\",\"iteration\":0,\"payload\":{\"name\":\"a\",\"kind\":\"x\",\"call\":\"a:0:0" },
	  VERIFY_PAIRS, 12, "call a:0:0 was completed before" },
	{ { 7, "\"call_id\":\"t1\"", "\"call_id\":\"t9\"" }, VERIFY_PAIRS, 7,
	  "the parent of this result is no tool.call t9" },
	{ { 8, "\"parent_event_id\":\"" ID("06") "\",\"type\":\"tool.result\",\"path\":\"a\","
	    "\"iteration\":0,\"payload\":{\"name\":\"read\",\"call_id\":\"t2\"", "\"parent_event_id\":\""
	    ID("05") "\",\"type\":\"tool.result\",\"path\":\"a\",\"iteration\":0,\"payload\":{\"name\":"
	    "\"read\",\"call_id\":\"t1\"" }, VERIFY_PAIRS, 8, "tool call t1 has a second result" },
	{ { 12, "step.call_workflow.completed\",\"path\":\"b.c\",\"iteration\":0,\"payload\":{",
	    "run.completed\",\"path\":\"\",\"iteration\":0,\"payload\":{\"status\":\"success\"," },
	  VERIFY_CAUSES, 12, "not the attempt's run.started" },
	{ { 3, "\"bytes\":3", "\"bytes\":4" }, VERIFY_BLOBS, 3, "is not the 4 bytes" },
	{ { 3, "\"sha256\":\"ba", "\"sha256\":\"aa" }, VERIFY_BLOBS, 3, "is missing" },
	{ { 3, "\"text\":null", "\"text\":\"x\"" }, VERIFY_BLOBS, 3, "is not null" },
	{ { 3, "blocks/0/text\"", "blocks/0/other\"" }, VERIFY_BLOBS, 3, "is not null" },
};

static void
test_faults(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof faults / sizeof *faults; i++) {
		struct buffer text = BUFFER_INIT;
		struct verify_report report;

		make_transcript(&text, LINES, &faults[i].change);
		report = verify_bytes(text.data, text.len);
		if (!report.faulty || report.rule != faults[i].rule || report.line != faults[i].line ||
		    !strstr(report.fault.message, faults[i].message))
			fail_msg("fault %zu: %s, line %lld: %s", i, verify_rule_name(report.rule),
			    (long long)report.line, report.faulty ? report.fault.message : "none");
		assert_in_range(report.byte, 0, text.len);
		buffer_free(&text);
	}
}

/* What refs stand for is found, whatever its place is called, and however many there are. */
static void
test_refs(void **state)
{
#define REF(at) "{\"at\":\"/payload/params/" at "\",\"sha256\":\"" SHA "\",\"bytes\":3,\"encoding\":\"raw\"}"
#define PARAMS "\"params\":{},\"turn\":0},\"refs\":["
#define THESE "\"params\":{\"a/b~\":null,\"l\":[[],[1,null]],\"\":null,\"k\":[null,{\"\\u0061\":null}],\"t\":null,\"t\":1}," \
	"\"turn\":0},\"refs\":["
	static const struct { const char *refs; bool faulty; } cases[] = {
		{ THESE REF("a~1b~0") "," REF("l/1/1") "," REF("") "," REF("k/0") "," REF("k/1/a") "," REF("k/0") ",", false },
		{ THESE REF("a/b~0") ",", true }, { THESE REF("l/1/0") ",", true }, { THESE REF("l/01/1") ",", true },
		{ THESE REF("l/1/2") ",", true }, { THESE REF("l") ",", true }, { THESE REF("k/0/a") ",", true },
		{ THESE REF("t") ",", true }, { THESE REF("l/0/1") ",", true },
	};
	struct buffer text = BUFFER_INIT, many = BUFFER_INIT;
	struct verify_report report;

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		const struct change change = { 3, PARAMS, cases[i].refs };

		buffer_clear(&text);
		make_transcript(&text, LINES, &change);
		report = verify_bytes(text.data, text.len);
		if (report.faulty != cases[i].faulty || (report.faulty && (report.line != 3 ||
		    strstr(report.fault.message, "is not null") == NULL)))
			fail_msg("case %zu: %s", i, report.faulty ? report.fault.message : "no fault");
	}
	/* A walk for each would take hours. */
	buffer_text(&many, "\"params\":{\"l\":[");
	for (int i = 0; i < 100000; i++)
		buffer_text(&many, i > 0 ? ",null" : "null");
	buffer_text(&many, "]},\"turn\":0},\"refs\":[");
	for (int i = 0; i < 100000; i++)
		buffer_format(&many, REF("l/%d") ",", i);
	const struct change change = { 3, PARAMS, buffer_string(&many) };

	buffer_clear(&text);
	make_transcript(&text, LINES, &change);
	report = verify_bytes(text.data, text.len);
	assert_false(report.faulty);
	buffer_free(&many);
	buffer_free(&text);
#undef REF
#undef PARAMS
#undef THESE
}

/* A faulty line leaves nothing behind: the right one may come in its place. */
static void
test_one_by_one(void **state)
{
	struct buffer right = BUFFER_INIT;

	(void)state;
	make_transcript(&right, LINES, NULL);
	for (size_t i = 0; i < sizeof faults / sizeof *faults; i++) {
		struct buffer text = BUFFER_INIT;
		struct verify_report report = { .lines = 0 };
		const char *at = right.data, *wrong, *lf;
		struct verify_lines v;
		struct error err;

		/* What stands elsewhere is not for single lines. */
		if (faults[i].change.line == 0 || faults[i].change.from == NULL ||
		    faults[i].rule == VERIFY_CHAIN ||
		    (faults[i].rule == VERIFY_BLOBS && strstr(faults[i].message, "null") == NULL))
			continue;
		make_transcript(&text, LINES, &faults[i].change);
		wrong = text.data;
		verify_lines_begin(&v, NULL, &report);
		for (size_t n = 1; n <= LINES; n++) {
			lf = strchr(wrong, '\n');
			if (n == (size_t)faults[i].line) {
				assert_int_equal(verify_lines_next(&v, wrong, (size_t)(lf - wrong), &err), -1);
				if (strstr(err.message, faults[i].message) == NULL)
					fail_msg("fault %zu: %s", i, err.message);
				assert_int_equal(report.lines, n - 1);
			}
			wrong = lf + 1;
			lf = strchr(at, '\n');
			if (verify_lines_next(&v, at, (size_t)(lf - at), &err) != 0)
				fail_msg("behind fault %zu, line %zu: %s", i, n, err.message);
			at = lf + 1;
		}
		assert_int_equal(report.calls, 2);
		assert_int_equal(report.tool_calls, 2);
		verify_lines_free(&v);
		buffer_free(&text);
	}
	buffer_free(&right);
}

/* Of what another program has said neither pairs nor parents are asked, but its form is. */
static void
test_foreign(void **state)
{
#define TOLD "\"payload\":{\"source\":{\"type\":\"t\"},"
	static const struct { struct change change; const char *message; } cases[] = {
		{ { 7, "\"payload\":{\"name\":\"read\",\"call_id\":\"t1\"",
		    TOLD "\"name\":\"read\",\"call_id\":\"t9\"" }, NULL },
		{ { 3, "\"parent_event_id\":\"" ID("02") "\",\"type\":\"message.user\",\"path\":\"a\","
		    "\"iteration\":0,\"payload\":{", "\"parent_event_id\":null,\"type\":\"message.user\","
		    "\"path\":\"a\",\"iteration\":0," TOLD }, NULL },
		{ { 13, "\"payload\":null", TOLD "\"data\":{}}" }, NULL },
		{ { 7, "\"payload\":{\"name\":\"read\"", TOLD "\"name\":7" }, "\"name\" is not a string" },
		{ { 7, "\"payload\":{\"name\":\"read\",\"call_id\":\"t1\"",
		    "\"payload\":{\"name\":\"read\",\"source\":{},\"call_id\":\"t9\"" }, "is no tool.call t9" },
		{ { 12, "\"payload\":{\"name\":\"c\",\"kind\":\"call_workflow\",\"call\":\"b:0:0/c:0:0",
		    TOLD "\"name\":\"c\",\"kind\":\"call_workflow\",\"call\":\"b:0:0/d:0:0" },
		  "call b:0:0/d:0:0 was not started" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct buffer text = BUFFER_INIT;
		struct verify_report report;

		make_transcript(&text, LINES, &cases[i].change);
		report = verify_bytes(text.data, text.len);
		if (report.faulty != (cases[i].message != NULL) ||
		    (report.faulty && !strstr(report.fault.message, cases[i].message)))
			fail_msg("case %zu: %s", i, report.faulty ? report.fault.message : "no fault");
		buffer_free(&text);
	}
#undef TOLD
}

/* What follows a line's own members, or comes before them. */
static void
test_edges_of_lines(void **state)
{
	static const struct { const char *before, *after, *message; } cases[] = {
		{ "", "", NULL },
		{ " ", "", "\"seq\" is not the first key" },
		{ "", " ", "\"prev\" is not the last key" },
		{ "", ",\"x\":1}", "\"prev\" is not the last key" },
		{ "", "}", "something follows" },
		{ "[", "]", "the line is not an object" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct buffer line = BUFFER_INIT;
		struct form form = { .seq = 0 };
		struct form_fault found = { .at = 0 };

		buffer_text(&line, cases[i].before);
		make_line(2, SHA, &line);
		if (cases[i].after[0] == ',')
			line.len--;
		buffer_text(&line, cases[i].after);
		if ((form_check(line.data, line.len, &form, &found) == 0) != !cases[i].message ||
		    (cases[i].message && !strstr(found.what.message, cases[i].message)))
			fail_msg("%s: %s", line.data, found.what.message);
		buffer_free(&line);
	}
}

static void
test_chain(void **state)
{
	struct buffer text = BUFFER_INIT;
	struct verify_report report;

	(void)state;
	make_transcript(&text, LINES, NULL);
	replace(&text, "\"system_prompt\":\"s\"", "\"system_prompt\":\"S\"");
	report = verify_bytes(text.data, text.len);
	assert_true(report.faulty && report.rule == VERIFY_CHAIN && report.line == 4);
	assert_non_null(strstr(report.fault.message, "digest of line 3: that line or this one"));
	replace(&text, "\"prev\":\"0", "\"prev\":\"1");
	report = verify_bytes(text.data, text.len);
	assert_true(report.faulty && report.rule == VERIFY_CHAIN && report.line == 1);
	assert_string_equal(report.fault.message, "prev of line 1 is not 64 zeros");
	buffer_free(&text);
}

/* What lies before the last line is proved by the chain, whatever is done to it. */
static void
test_every_byte(void **state)
{
	static const unsigned char masks[] = { 0x01, 0x02, 0x10, 0x20, 0x80, 0 };
	struct buffer text = BUFFER_INIT;
	size_t proved;

	(void)state;
	make_transcript(&text, 8, NULL);
	for (proved = text.len - 1; text.data[proved - 1] != '\n'; proved--)
		;
	for (size_t at = 0; at < proved; at += tier_stride(7)) {
		char byte = text.data[at];

		for (size_t i = 0; i < sizeof masks; i++) {
			text.data[at] = masks[i] ? (char)(byte ^ masks[i]) : '\0';
			if (!verify_bytes(text.data, text.len).faulty)
				fail_msg("byte %zu as 0x%02x passes", at, (unsigned char)text.data[at]);
		}
		text.data[at] = byte;
		memmove(text.data + at, text.data + at + 1, text.len - at - 1);
		if (!verify_bytes(text.data, text.len - 1).faulty)
			fail_msg("without byte %zu it passes", at);
		memmove(text.data + at + 1, text.data + at, text.len - at - 1);
		text.data[at] = byte;
	}
	assert_false(verify_bytes(text.data, text.len).faulty);
	buffer_free(&text);
}

static void
test_every_cut(void **state)
{
	struct buffer text = BUFFER_INIT;

	(void)state;
	make_transcript(&text, 6, NULL);
	for (size_t len = 0; len < text.len; len++) {
		struct verify_report report = verify_bytes(text.data, len);
		bool at_line = len > 0 && text.data[len - 1] == '\n';

		if (report.faulty == at_line)
			fail_msg("cut at byte %zu: %s", len, at_line ? report.fault.message : "no fault");
		if (!at_line && (report.rule != VERIFY_WHOLE || !report.damage || report.byte < report.intact))
			fail_msg("cut at byte %zu is no torn line: %s", len, report.fault.message);
	}
	buffer_free(&text);
}

static void
test_dangling(void **state)
{
	static const struct { size_t lines; const char *warnings; } cases[] = {
		{ 14, "" },
		{ 5, "2: call a:0:0 never ended: it has no step.completed\n"
		     "5: tool call t1 never ended: it has no tool.result\n"
		     "5: attempt 1 never ended: it has no run.completed\n" },
		{ 10, "10: attempt 1 never ended: it has no run.completed\n" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct buffer text = BUFFER_INIT;
		struct warnings warnings = { 0, BUFFER_INIT };
		struct verify_spec spec = { .warn = on_warning, .context = &warnings };
		struct verify_report report;
		struct error err = ERROR_INIT;

		make_transcript(&text, cases[i].lines, NULL);
		put(path, text.data, text.len);
		assert_int_equal(verify_transcript(path, &spec, &report, &err), 0);
		assert_false(report.faulty);
		assert_string_equal(buffer_string(&warnings.text), cases[i].warnings);
		buffer_free(&warnings.text);
		buffer_free(&text);
	}
}

/* Repair. */

static const struct {
	size_t lines;               /* whole ones */
	const char *tail;           /* what follows them */
	size_t tail_len;
	const char *refused;        /* NULL: the tail goes to .torn */
} repairs[] = {
	{ 3, "{\"seq\":4,\"timesta", 17, NULL },
	{ 3, "\0\0\0\0\0\0", 6, NULL },
	{ 3, "{\"seq\":4,\"ty\0\0\0\0\"}\n", 19, NULL },
	{ 3, "\0\0\0\n{\"seq\":5,\"ti", 14, NULL },
	{ 2, "x\n", 2, NULL },
};

static void
test_repair(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof repairs / sizeof *repairs; i++) {
		struct buffer text = BUFFER_INIT, kept = BUFFER_INIT;
		struct verify_report report;
		struct error err = ERROR_INIT;
		int64_t moved;
		size_t whole;

		make_transcript(&text, repairs[i].lines, NULL);
		whole = text.len;
		buffer_append(&text, repairs[i].tail, repairs[i].tail_len);
		report = verify_bytes(text.data, text.len);
		assert_true(report.faulty);
		unlink(torn);
		if (verify_repair(path, &report, &moved, &err) != 0)
			fail_msg("repair %zu: %s", i, err.message);
		assert_int_equal(moved, repairs[i].tail_len);
		assert_int_equal(file_load(torn, 1000, &kept, &err), 0);
		assert_int_equal(kept.len, repairs[i].tail_len);
		assert_memory_equal(kept.data, repairs[i].tail, kept.len);
		report = verify(NULL);
		assert_false(report.faulty);
		assert_int_equal(report.bytes, whole);
		buffer_free(&kept);
		buffer_free(&text);
	}
}

/* What stood safely on disk is never cut off: the file stays as it is. */
static void
refuse_repair(const struct buffer *text, const char *message)
{
	struct verify_report report = verify_bytes(text->data, text->len);
	struct buffer after = BUFFER_INIT;
	struct error err = ERROR_INIT;
	int64_t moved;

	assert_true(report.faulty);
	unlink(torn);
	assert_int_equal(verify_repair(path, &report, &moved, &err), -1);
	if (!strstr(err.message, message))
		fail_msg("%s", err.message);
	assert_int_equal(error_status(err.code), STATUS_WORK);
	assert_int_equal(access(torn, F_OK), -1);
	assert_int_equal(file_load(path, 1 << 20, &after, &err), 0);
	assert_int_equal(after.len, text->len);
	assert_memory_equal(after.data, text->data, after.len);
	buffer_free(&after);
}

static void
test_repair_refused(void **state)
{
	struct change semantic = { 3, "\"bytes\":3", "\"bytes\":4" };
	struct buffer text = BUFFER_INIT;

	(void)state;
	make_transcript(&text, LINES, NULL);
	replace(&text, "\"system_prompt\":\"s\"", "\"system_prompt\":\"S\"");
	refuse_repair(&text, "a message.assistant (seq 4) that was safe on disk");
	buffer_clear(&text);
	make_transcript(&text, 4, NULL);
	replace(&text, "{\"seq\":3", "{}seq\":3");
	refuse_repair(&text, "a message.assistant (seq 4) that was safe on disk");
	buffer_clear(&text);
	make_transcript(&text, 3, &semantic);
	refuse_repair(&text, "no crash leaves such a fault");
	buffer_free(&text);
}

/* A file that has changed since it was checked is left alone. */
static void
test_repair_of_changed_file(void **state)
{
	struct buffer text = BUFFER_INIT;
	struct verify_report report;
	struct error err = ERROR_INIT;
	int64_t moved;

	(void)state;
	make_transcript(&text, 3, NULL);
	report = verify_bytes(text.data, text.len - 1);
	put(path, text.data, text.len);
	assert_int_equal(verify_repair(path, &report, &moved, &err), -1);
	assert_non_null(strstr(err.message, "has changed since it was checked"));
	assert_int_equal(error_status(err.code), STATUS_SYSTEM);
	buffer_free(&text);
}

/* A run whose lock is held by another process. */
static void
test_live(void **state)
{
	char lock[192];
	struct buffer text = BUFFER_INIT;
	struct warnings warnings = { 0, BUFFER_INIT };
	struct verify_report report;
	struct error err = ERROR_INIT;
	int64_t moved;
	int ready[2], done[2];
	pid_t child;
	char byte;

	(void)state;
	snprintf(lock, sizeof lock, "%s/runs/" RUN "/lock", directory);
	put(lock, "1 1\n", 4);
	assert_int_equal(pipe(ready), 0);
	assert_int_equal(pipe(done), 0);
	child = fork();
	assert_true(child >= 0);
	if (child == 0) {
		struct flock held = { .l_type = F_WRLCK, .l_whence = SEEK_SET };
		int fd = open(lock, O_RDWR);

		close(done[1]);
		_exit(fcntl(fd, F_SETLK, &held) != 0 || write(ready[1], "x", 1) != 1 ||
		    read(done[0], &byte, 1) != 0);
	}
	close(ready[1]);
	close(done[0]);
	assert_int_equal(read(ready[0], &byte, 1), 1);

	make_transcript(&text, 5, NULL);
	put(path, text.data, text.len - 7);
	report = verify(&warnings);
	assert_true(report.alive);
	assert_false(report.faulty);
	assert_int_equal(report.lines, 4);
	assert_int_equal(report.bytes + report.unfinished, text.len - 7);
	assert_int_equal(warnings.count, 0);
	put(path, text.data, 0);
	assert_false(verify(NULL).faulty);
	text.data[10] = '\0';
	report = verify_bytes(text.data, text.len);
	assert_true(report.faulty);
	assert_int_equal(verify_repair(path, &report, &moved, &err), -1);
	assert_non_null(strstr(err.message, "the run is alive"));

	close(done[1]);
	waitpid(child, NULL, 0);
	close(ready[0]);
	unlink(lock);
	assert_false(verify(NULL).alive);
	buffer_free(&text);
}

/* Linkage: what the other transcript holds, and what is then said. */
static const struct {
	const char *other, *line, *message;
} linkages[] = {
	{ CHILD, "{\"seq\":1,\"parent_run_id\":\"" RUN "\",\"type\":\"run.started\"}\n", NULL },
	{ CHILD, "{\"seq\":1,\"type\":\"run.started\"}\n", "does not name this run as its parent" },
	{ CHILD, "{\"seq\":1,\"parent_run_id\":\"" CHILD "\",\"type\":\"run.started\"}\n",
	  "does not name this run as its parent" },
	{ CHILD, "", NULL },
	{ "33333333-3333-4333-8333-333333333333",
	  "{\"seq\":1,\"event_id\":\"" ID("10") "\",\"type\":\"run.started\"}\n", NULL },
	{ "33333333-3333-4333-8333-333333333333",
	  "{\"seq\":1,\"event_id\":\"" ID("11") "\",\"type\":\"run.started\"}\n",
	  "has no event " ID("10") },
};

static void
test_linkage(void **state)
{
	struct buffer text = BUFFER_INIT;

	(void)state;
	make_transcript(&text, LINES, NULL);
	for (size_t i = 0; i < sizeof linkages / sizeof *linkages; i++) {
		struct verify_report report;
		char other[128];

		snprintf(other, sizeof other, "%s/transcripts/%s.jsonl", directory, linkages[i].other);
		put(other, linkages[i].line, strlen(linkages[i].line));
		report = verify_bytes(text.data, text.len);
		if (report.faulty != (linkages[i].message != NULL))
			fail_msg("linkage %zu: %s", i, report.faulty ? report.fault.message : "no fault");
		if (report.faulty) {
			assert_int_equal(report.rule, VERIFY_LINKAGE);
			assert_int_equal(report.line, 11);
			assert_non_null(strstr(report.fault.message, linkages[i].message));
		}
		unlink(other);
	}
	buffer_free(&text);
}

static void
test_parent_linkage(void **state)
{
	struct change child = { 1, "\"run_id\":\"" RUN "\"",
		"\"run_id\":\"" RUN "\",\"parent_run_id\":\"" CHILD "\"" };
	static const char knows[] =
	    "{\"seq\":1,\"child_run_id\":\"" RUN "\",\"type\":\"step.call_workflow.started\"}\n";
	struct buffer text = BUFFER_INIT;
	char other[128];

	(void)state;
	snprintf(other, sizeof other, "%s/transcripts/" CHILD ".jsonl", directory);
	make_transcript(&text, 10, &child);
	assert_false(verify_bytes(text.data, text.len).faulty);
	put(other, knows, sizeof knows - 1);
	assert_false(verify_bytes(text.data, text.len).faulty);
	put(other, "{\"seq\":1,\"type\":\"run.started\"}\n", 31);
	assert_non_null(strstr(verify_bytes(text.data, text.len).fault.message,
	    "does not name this run as its child"));
	unlink(other);
	buffer_free(&text);
}

/* The checks and the published schema agree on every line below: each member of
 * each line above, left out, and with each of these values. */
static const char *const samples[] = {
	"null", "true", "false", "0", "1", "-1", "0.5", "1.0", "1e2", "99999999999999999999", "\"\"",
	"\"x\"", "\"/x\"", "\"json\"", "\"router\"", "\"run.started\"", "\"tool.call\"", "\"x.custom\"",
	"\"" ID("01") "\"", "\"00000000-0000-1000-8000-000000000001\"", "\"" SHA "\"",
	"\"BA7816BF8F01CFEA414140DE5DAE2223B00361A396177A9CB410FF61F20015AD\"",
	"\"2026-11-21T08:15:60.000000Z\"", "\"2026-02-31T24:15:60.000000Z\"",
	"\"2026-11-21T08:15:30Z\"", "\"a.b-c_d\"", "\"a.\"", "\".a\"", "\"\\u0000\"", "[]", "[null]",
	"[{}]", "[\"x\"]", "[\"" ID("01") "\"]", "[{\"run_id\":\"" RUN "\",\"event_id\":\"" ID("01")
	"\"}]", "[{\"type\":\"text\"}]", "[{\"type\":\"text\",\"text\":1}]", "[{\"text\":\"x\"}]",
	"[{\"type\":\"x\",\"fidelity\":\"other\"}]",
	"[{\"at\":\"/payload\",\"sha256\":\"" SHA "\",\"bytes\":0,\"encoding\":\"raw\"}]",
	"[{\"at\":\"/payload\",\"sha256\":\"" SHA "\",\"bytes\":-1,\"encoding\":\"raw\"}]",
	"{}", "{\"x\":1}", "{\"code\":\"timeout\",\"message\":null}", "{\"code\":\"timeout\"}",
	"{\"sha256\":\"" SHA "\",\"bytes\":5}", "{\"sha256\":\"x\",\"bytes\":5}",
	"{\"algorithm\":\"ed25519\",\"public_key\":\"" SHA "\",\"signature\":\"" SHA SHA "\"}",
	"{\"algorithm\":\"rsa\",\"public_key\":\"" SHA "\",\"signature\":\"" SHA SHA "\"}",
	"{\"algorithm\":\"ed25519\",\"public_key\":\"" SHA "\",\"signature\":\"" SHA "\"}",
	"{\"algorithm\":\"ed25519\",\"public_key\":\"\",\"signature\":\"" SHA SHA "\"}",
	"{\"algorithm\":\"ed25519\",\"public_key\":\"" SHA "\"}",
};

struct agreement {
	const struct schema *schema;
	json_t *line;
	size_t lines, refused;
};

static void
compare_verdicts(struct agreement *a)
{
	struct buffer text = BUFFER_INIT, why = BUFFER_INIT;
	struct form form = { .seq = 0 };
	struct form_fault fault = { .at = 0 };
	bool by_schema = schema_check(a->schema, a->line, &why) == 0, by_form;

	value_write(a->line, &text);
	by_form = form_check(text.data, text.len, &form, &fault) == 0;
	if ((by_form && !by_schema) || (!by_form && by_schema && fault.rule == FORM_SCHEMA) ||
	    (!by_form && fault.rule == FORM_JSON))
		fail_msg("%s\nschema: %s\nchecks: %s", text.data, by_schema ? "valid" : why.data,
		    by_form ? "valid" : fault.what.message);
	a->lines++;
	a->refused += !by_form;
	buffer_free(&text);
	buffer_free(&why);
}

static void
try_samples(struct agreement *a, json_t *object, const char *key)
{
	json_t *kept = json_incref(json_object_get(object, key));
	struct error err;

	for (size_t i = 0; i < sizeof samples / sizeof *samples; i++) {
		json_object_set_new(object, key,
		    value_parse(samples[i], strlen(samples[i]), "sample", ERROR_USAGE, &err));
		compare_verdicts(a);
	}
	json_object_set_new(object, key, kept);
}

static void
try_without(struct agreement *a, json_t *object, const char *key)
{
	json_t *kept = json_deep_copy(object);

	json_object_del(object, key);
	compare_verdicts(a);
	json_object_clear(object);
	json_object_update(object, kept);
	json_decref(kept);
}

/* Every member within value, one at a time. */
static void
try_members(struct agreement *a, json_t *value)
{
	size_t count = json_object_size(value), i;
	const char **keys = memory_zero(count + 1, sizeof *keys), *key;
	json_t *member;

	if (json_is_array(value))
		json_array_foreach(value, i, member)
			try_members(a, member);
	count = 0;
	json_object_foreach(value, key, member)
		keys[count++] = key;
	for (i = 0; i < count; i++) {
		char *name = memory_text(keys[i]);

		try_members(a, json_object_get(value, name));
		try_samples(a, value, name);
		free(name);
	}
	free(keys);
	for (i = 0; i < count; i++) {
		void *at = json_object_iter(value);
		char *name;

		for (size_t n = 0; n < i; n++)
			at = json_object_iter_next(value, at);
		name = memory_text(json_object_iter_key(at));
		try_without(a, value, name);
		free(name);
	}
}

static void
test_schema_agrees(void **state)
{
	struct error err = ERROR_INIT;
	struct buffer text = BUFFER_INIT;
	struct agreement a = { NULL, NULL, 0, 0 };
	json_t *document;

	(void)state;
	event_schema_write(&text);
	document = value_parse(text.data, text.len, "schema", ERROR_DEFINITION, &err);
	a.schema = schema_compile(document, SCHEMA_TYPOS, "schema", &err);
	buffer_free(&text);
	if (!a.schema)
		fail_msg("%s", err.message);
	for (size_t n = 1; n <= LINES; n++) {
		struct buffer line = BUFFER_INIT;

		make_line(n, SHA, &line);
		a.line = value_parse(line.data, line.len, "line", ERROR_USAGE, &err);
		assert_non_null(a.line);
		compare_verdicts(&a);
		try_members(&a, a.line);
		json_decref(a.line);
		buffer_free(&line);
	}
	assert_true(a.lines > 5000);
	assert_true(a.refused > 1000 && a.refused < a.lines - 1000);
	schema_free((struct schema *)(uintptr_t)a.schema);
	json_decref(document);
}

/* Fingerprints. */

static void
fill_and_look(struct fingerprints *set, size_t count, uint64_t (*make)(size_t i))
{
	for (size_t i = 0; i < count; i++)
		assert_int_equal(fingerprints_add(set, make(i)), FINGERPRINT_ABSENT);
	for (size_t i = 0; i < count; i += 2)
		assert_int_equal(fingerprints_end(set, make(i)), FINGERPRINT_OPEN);
	for (size_t i = 0; i < count; i++) {
		enum fingerprint_state want = i % 2 ? FINGERPRINT_OPEN : FINGERPRINT_ENDED;

		assert_int_equal(fingerprints_find(set, make(i)), want);
		assert_int_equal(fingerprints_add(set, make(i)), want);
		assert_int_equal(fingerprints_find(set, make(i) ^ 2), FINGERPRINT_ABSENT);
	}
	assert_int_equal(set->count, count);
	assert_int_equal(set->open, count / 2);
}

static uint64_t
spread(size_t i)
{
	return (i + 1) * UINT64_C(0x9e3779b97f4a7c14) & ~UINT64_C(3);
}

/* All want the same slot, the last one: the worst that can come. */
static uint64_t
crowded(size_t i)
{
	return ~UINT64_C(0) << 32 | (uint64_t)i << 2;
}

static void
test_fingerprints(void **state)
{
	static const struct { size_t count; uint64_t (*make)(size_t i); } cases[] = {
		{ 1, spread }, { 100000, spread }, { 4000, crowded },
	};

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct fingerprints set;

		fingerprints_begin(&set);
		fill_and_look(&set, cases[i].count, cases[i].make);
		fingerprints_free(&set);
	}
}

static void
test_fingerprint_keys(void **state)
{
	struct fingerprints one, other;

	(void)state;
	fingerprints_begin(&one);
	fingerprints_begin(&other);
	assert_true(fingerprints_of(&one, "abc", 3) == fingerprints_of(&one, "abc", 3));
	assert_true(fingerprints_of(&one, "abc", 3) != fingerprints_of(&one, "abd", 3));
	assert_true(fingerprints_of(&one, "abc", 3) != fingerprints_of(&other, "abc", 3));
	fingerprints_free(&one);
	fingerprints_free(&other);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_whole),
		cmocka_unit_test(test_lines_taken),
		cmocka_unit_test(test_faults),
		cmocka_unit_test(test_refs),
		cmocka_unit_test(test_one_by_one),
		cmocka_unit_test(test_foreign),
		cmocka_unit_test(test_edges_of_lines),
		cmocka_unit_test(test_chain),
		cmocka_unit_test(test_every_byte),
		cmocka_unit_test(test_every_cut),
		cmocka_unit_test(test_dangling),
		cmocka_unit_test(test_repair),
		cmocka_unit_test(test_repair_refused),
		cmocka_unit_test(test_repair_of_changed_file),
		cmocka_unit_test(test_live),
		cmocka_unit_test(test_linkage),
		cmocka_unit_test(test_parent_linkage),
		cmocka_unit_test(test_schema_agrees),
		cmocka_unit_test(test_fingerprints),
		cmocka_unit_test(test_fingerprint_keys),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
