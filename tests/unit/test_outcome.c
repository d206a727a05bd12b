/* run/outcome: which calls of an attempt failed and were not made good. */
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "unit.h"

#include "json/scan.h"
#include "model/outcome.h"
#include "record.h"

/*
 * Transcripts in short: words separated by blanks.
 *   R            run.started: a new attempt
 *   <CALL        step.started; <CALL,try <CALL,allow-failure: its mode;
 *                <CALL,rescue=CALL[+CALL]: given the failed lines of those;
 *                <CALL!any: a group with this strategy;
 *                <CALL#DIGEST: with another input
 *                <CALL%N: in a try of the enclosing call, after N others
 *   >CALL        step.completed; >CALL=CODE with an error; >CALL~ skipped; >CALL+ in a
 *                second try
 */
static void
event_id(char out[40], const char *call)
{
	unsigned hash = 5381;

	for (; *call != '\0'; call++)
		hash = hash * 33 + (unsigned char)*call;
	snprintf(out, 40, "%08x-0000-4000-8000-000000000000", hash);
}

static void
add_event(struct buffer *out, long seq, const char *id_of, const char *type, const char *parent,
    const char *links, const char *payload)
{
	char id[40], parent_id[43] = "null";

	event_id(id, id_of);
	if (parent != NULL) {
		char plain[40];

		event_id(plain, parent);
		snprintf(parent_id, sizeof parent_id, "\"%s\"", plain);
	}
	buffer_format(out, "{\"seq\":%ld,\"timestamp\":\"2026-11-21T08:15:30.123456Z\","
	    "\"event_id\":\"%s\",\"run_id\":\"" RUN_ID "\",\"parent_event_id\":%s%s,\"type\":\"%s\","
	    "\"path\":\"\",\"iteration\":0,\"payload\":%s,\"prev\":\"" ZEROS "\"}\n",
	    seq, id, parent_id, links, type, payload);
}

static void
add_started(struct buffer *out, long seq, char *word)
{
	char *mode = strchr(word, ','), *digest = strchr(word, '#'), *rescued = NULL, *more = NULL;
	char *strategy = strchr(word, '!'), *number = strchr(word, '%');
	const char *base;
	char payload[512], links[128] = "", start[256];
	size_t name_len;

	if (mode != NULL)
		*mode++ = '\0';
	if (digest != NULL)
		*digest++ = '\0';
	if (strategy != NULL)
		*strategy++ = '\0';
	if (number != NULL)
		*number++ = '\0';
	if (mode != NULL && (rescued = strchr(mode, '=')) != NULL)
		*rescued++ = '\0';
	if (rescued != NULL && (more = strchr(rescued, '+')) != NULL) {
		char id[40];

		*more++ = '\0';
		event_id(id, more);
		snprintf(links, sizeof links, ",\"links\":[\"%s\"]", id);
	}
	base = strrchr(word, '/') != NULL ? strrchr(word, '/') + 1 : word;
	name_len = strcspn(base, ":");
	snprintf(payload, sizeof payload, "{\"name\":\"%.*s\",\"kind\":\"command\",\"call\":\"%s\","
	    "\"input_sha256\":\"%s\"%s%s%s%s%s%s%s%s}", (int)name_len, base, word,
	    digest != NULL ? digest : "0", mode != NULL ? ",\"mode\":\"" : "",
	    mode != NULL ? mode : "", mode != NULL ? "\"" : "",
	    strategy != NULL ? ",\"strategy\":\"" : "", strategy != NULL ? strategy : "",
	    strategy != NULL ? "\"" : "", number != NULL ? ",\"try\":" : "",
	    number != NULL ? number : "");
	snprintf(start, sizeof start, "start %s", word);
	add_event(out, seq, start, "step.started", rescued, links, payload);
}

static void
add_completed(struct buffer *out, long seq, char *word)
{
	char *code = strchr(word, '='), *skipped = strchr(word, '~'), *tries = strchr(word, '+');
	char payload[512], error[128] = "";

	if (code != NULL) {
		*code++ = '\0';
		snprintf(error, sizeof error, ",\"error\":{\"code\":\"%s\",\"message\":\"%s: %s\"}",
		    code, word, code);
	}
	if (skipped != NULL)
		*skipped = '\0';
	if (tries != NULL)
		*tries = '\0';
	snprintf(payload, sizeof payload, "{\"call\":\"%s\"%s%s%s}", word, error,
	    skipped != NULL ? ",\"skipped\":\"upstream_failed\"" : "",
	    tries != NULL ? ",\"retries\":[{\"code\":\"schema\"}]" : "");
	add_event(out, seq, word, "step.completed", NULL, "", payload);
}

static void
make_transcript(const char *path, const char *script)
{
	struct buffer out = BUFFER_INIT;
	char *copy = memory_text(script), *rest = copy, *word;
	long seq = 1;

	while ((word = strtok_r(rest, " ", &rest)) != NULL) {
		if (*word == 'R')
			add_event(&out, seq++, "run", "run.started", NULL, "", "{}");
		else if (*word == '<')
			add_started(&out, seq++, word + 1);
		else
			add_completed(&out, seq++, word + 1);
	}
	record_put(path, out.data, out.len);
	free(copy);
	buffer_free(&out);
}

static void
test_rules(void **state)
{
	static const struct {
		const char *script;
		int calls, failed, waiting;
		const char *first;
		enum error_code code;
	} cases[] = {
		{ "R", 0, 0, 0, "", ERROR_NONE },
		{ "R <a:0:0 >a:0:0", 1, 0, 0, "", ERROR_NONE },
		{ "R <a:0:0 >a:0:0=exit_status", 1, 1, 0, "a:0:0", ERROR_EXIT_STATUS },
		{ "R <a:0:0 <b:0:0 >b:0:0=schema >a:0:0=timeout", 2, 2, 0, "a:0:0", ERROR_TIMEOUT },
		{ "R <a:0:0 >a:0:0=a_new_code", 1, 1, 0, "a:0:0", ERROR_EXIT_STATUS },
		/* never ended */
		{ "R <a:0:0", 1, 1, 0, "a:0:0", ERROR_INTERRUPTED },
		{ "R <a:0:0,try", 1, 0, 0, "", ERROR_NONE },
		/* modes */
		{ "R <a:0:0,try >a:0:0=exit_status", 1, 0, 0, "", ERROR_NONE },
		{ "R <a:0:0,allow-failure >a:0:0=exit_status", 1, 0, 0, "", ERROR_NONE },
		{ "R <a:0:0,allow-failure >a:0:0=interrupted", 1, 1, 0, "a:0:0", ERROR_INTERRUPTED },
		/* codes that are none */
		{ "R <a:0:0 >a:0:0=downstream_closed", 1, 0, 0, "", ERROR_NONE },
		{ "R <a:0:0 >a:0:0=waiting", 1, 0, 1, "", ERROR_NONE },
		{ "R <a:0:0 >a:0:0=waiting <b:0:0 >b:0:0=network", 2, 1, 1, "b:0:0", ERROR_NETWORK },
		{ "R <a:0:0 >a:0:0~", 1, 0, 0, "", ERROR_NONE },
		{ "R <a:0:0 >a:0:0=exit_status <b:0:0 >b:0:0~", 2, 1, 0, "a:0:0", ERROR_EXIT_STATUS },
		/* a later call that succeeds may be other work */
		{ "R <a:0:0 >a:0:0=exit_status <a:1:0 >a:1:0", 2, 1, 0, "a:0:0", ERROR_EXIT_STATUS },
		{ "R <a:0:0,try >a:0:0=exit_status <a:1:0 >a:1:0", 2, 0, 0, "", ERROR_NONE },
		{ "R <a:0:0 >a:0:0 <a:1:0 >a:1:0=exit_status", 2, 1, 0, "a:1:0", ERROR_EXIT_STATUS },
		{ "R <a:0:0 >a:0:0=exit_status <a:1:0 >a:1:0=exit_status <a:2:0 >a:2:0", 3, 2, 0, "a:0:0",
		  ERROR_EXIT_STATUS },
		{ "R <g:0:0 <g:0:0/a:0:0 >g:0:0/a:0:0=schema <g:0:0/a:1:0 >g:0:0/a:1:0 >g:0:0", 3, 1, 0,
		  "g:0:0/a:0:0", ERROR_SCHEMA },
		{ "R <g:0:0 <g:0:1 <g:0:0/a:0:0 >g:0:0/a:0:0=schema <g:0:1/a:0:0 >g:0:1/a:0:0 >g:0:0 >g:0:1",
		  4, 1, 0, "g:0:0/a:0:0", ERROR_SCHEMA },
		/* a later try of the enclosing call is the same work */
		{ "R <g:0:0 <g:0:0/a:0:0 >g:0:0/a:0:0=schema <g:0:0/a:1:0%1 >g:0:0/a:1:0 >g:0:0+", 3, 0, 0,
		  "", ERROR_NONE },
		{ "R <g:0:0 <g:0:0/a:0:0 <g:0:0/a:1:0%1 >g:0:0/a:1:0 >g:0:0+", 3, 0, 0, "", ERROR_NONE },
		{ "R <g:0:0 <g:0:0/a:0:0 <g:0:0/a:0:0/b:0:0 >g:0:0/a:0:0/b:0:0=schema "
		  ">g:0:0/a:0:0=schema <g:0:0/a:1:0%1 >g:0:0/a:1:0 >g:0:0+", 4, 0, 0, "", ERROR_NONE },
		{ "R <g:0:0 <g:0:0/a:0:0 >g:0:0/a:0:0=schema <g:0:0/a:1:0%1 >g:0:0/a:1:0=auth >g:0:0+",
		  3, 1, 0, "g:0:0/a:1:0", ERROR_AUTH },
		{ "R <g:0:0 <g:0:0/a:0:0 >g:0:0/a:0:0=schema <g:0:0/a:1:0%1 >g:0:0/a:1:0=auth "
		  ">g:0:0=auth+", 3, 3, 0, "g:0:0", ERROR_EXIT_STATUS },
		/* --try is for what dies too; --allow-failure promises a line */
		{ "R <a:0:0,allow-failure", 1, 1, 0, "a:0:0", ERROR_INTERRUPTED },
		/* rescue */
		{ "R <a:0:0 >a:0:0=exit_status <r:0:0,rescue=a:0:0 >r:0:0", 2, 0, 0, "", ERROR_NONE },
		{ "R <a:0:0 >a:0:0=exit_status <r:0:0,rescue=a:0:0 >r:0:0=schema", 2, 2, 0, "a:0:0",
		  ERROR_EXIT_STATUS },
		{ "R <a:0:0 >a:0:0=exit_status <r:0:0,rescue=a:0:0 >r:0:0~", 2, 1, 0, "a:0:0",
		  ERROR_EXIT_STATUS },
		{ "R <a:0:0 >a:0:0=schema <a:0:1 >a:0:1=schema <r:0:0,rescue=a:0:0+a:0:1 >r:0:0", 3, 0, 0,
		  "", ERROR_NONE },
		{ "R <a:0:0 >a:0:0=schema <a:0:1 >a:0:1=schema <r:0:1,rescue=a:0:1 >r:0:1", 3, 1, 0,
		  "a:0:0", ERROR_SCHEMA },
		/* an ordinary step on the line rescues nothing */
		{ "R <a:0:0 >a:0:0=exit_status <b:0:0,=a:0:0 >b:0:0", 2, 1, 0, "a:0:0",
		  ERROR_EXIT_STATUS },
		/* what stands in a failed call that is excused */
		{ "R <g:0:0,try <g:0:0/a:0:0 >g:0:0/a:0:0=schema >g:0:0=schema", 2, 0, 0, "", ERROR_NONE },
		{ "R <g:0:0 <g:0:0/a:0:0 >g:0:0/a:0:0=schema >g:0:0=schema <r:0:0,rescue=g:0:0 >r:0:0",
		  3, 0, 0, "", ERROR_NONE },
		{ "R <g:0:0,try <g:0:0/a:0:0 >g:0:0/a:0:0=schema >g:0:0", 2, 1, 0, "g:0:0/a:0:0",
		  ERROR_SCHEMA },
		/* branches of a group that succeeded, and what is in them */
		{ "R <g:0:0!any <g:0:0/g:0:0 <g:0:0/g:0:1 <g:0:0/g:0:1/a:0:0 >g:0:0/g:0:0 "
		  ">g:0:0/g:0:1=cancelled >g:0:0", 4, 0, 0, "", ERROR_NONE },
		{ "R <g:0:0!best-effort <g:0:0/g:0:0 <g:0:0/g:0:1 >g:0:0/g:0:0=schema >g:0:0/g:0:1 "
		  ">g:0:0", 3, 0, 0, "", ERROR_NONE },
		{ "R <g:0:0!all <g:0:0/g:0:0 <g:0:0/g:0:1 >g:0:0/g:0:0=schema >g:0:0/g:0:1 >g:0:0",
		  3, 1, 0, "g:0:0/g:0:0", ERROR_SCHEMA },
		{ "R <g:0:0!any <g:0:0/g:0:0 >g:0:0/g:0:0=schema >g:0:0=schema", 2, 2, 0, "g:0:0",
		  ERROR_SCHEMA },
		{ "R <g:0:0!any <g:0:0/g:0:0 >g:0:0/g:0:0=schema", 2, 2, 0, "g:0:0",
		  ERROR_INTERRUPTED },
		/* what failed in a branch that succeeded is no branch, nor is another group's */
		{ "R <g:0:0!any <g:0:0/g:0:0 <g:0:0/g:0:0/a:0:0 >g:0:0/g:0:0/a:0:0=schema "
		  ">g:0:0/g:0:0 >g:0:0", 3, 1, 0, "g:0:0/g:0:0/a:0:0", ERROR_SCHEMA },
		{ "R <g:0:0!any <g:0:1!any <g:0:1/g:0:0 >g:0:1/g:0:0=schema >g:0:0", 3, 2, 0, "g:0:1",
		  ERROR_INTERRUPTED },
		{ "R <g:0:0!any <g:0:0/g:0:0 <g:0:0/g:0:0/a:0:0 <g:0:0/g:0:1 >g:0:0/g:0:0/a:0:0=waiting "
		  ">g:0:0/g:0:0=waiting >g:0:0/g:0:1 >g:0:0", 4, 0, 0, "", ERROR_NONE },
		/* branches of a group that waits for others of them */
		{ "R <g:0:0!best-effort <g:0:0/g:0:0 <g:0:0/g:0:1 >g:0:0/g:0:0=schema "
		  ">g:0:0/g:0:1=waiting >g:0:0=waiting", 3, 0, 2, "", ERROR_NONE },
		{ "R <g:0:0!all <g:0:0/g:0:0 <g:0:0/g:0:1 >g:0:0/g:0:0=schema >g:0:0/g:0:1=waiting "
		  ">g:0:0=waiting", 3, 0, 2, "", ERROR_NONE },
		/* What else failed in a call that waits; beside it, it counts. */
		{ "R <g:0:0 <g:0:0/a:0:0 >g:0:0/a:0:0=waiting <g:0:0/b:0:0 >g:0:0/b:0:0=exit_status >g:0:0=waiting",
		  3, 0, 2, "", ERROR_NONE },
		/* a call ends once */
		{ "R <a:0:0 >a:0:0=waiting >a:0:0", 1, 0, 1, "", ERROR_NONE },
		{ "R <a:0:0 >a:0:0 >a:0:0=schema", 1, 0, 0, "", ERROR_NONE },
		/* between two that succeed */
		{ "R <a:0:0 >a:0:0 <a:1:0 >a:1:0=schema <a:2:0 >a:2:0 <a:3:0 >a:3:0=network", 4, 2, 0,
		  "a:1:0", ERROR_SCHEMA },
		/* a rescue that failed and was rescued */
		{ "R <a:0:0 >a:0:0=schema <r:0:0,rescue=a:0:0 >r:0:0=auth <s:0:0,rescue=r:0:0 >s:0:0",
		  3, 0, 0, "", ERROR_NONE },
		{ "R <a:0:0 >a:0:0=schema <r:0:0,rescue=a:0:0 >r:0:0=auth <r:1:0 >r:1:0", 3, 2, 0, "a:0:0",
		  ERROR_SCHEMA },
		{ "R <a:0:0 >a:0:0=waiting <r:0:0,rescue=a:0:0 >r:0:0", 2, 0, 0, "", ERROR_NONE },
		/* the last attempt alone counts */
		{ "R <a:0:0 >a:0:0=exit_status R <a:0:0 >a:0:0", 1, 0, 0, "", ERROR_NONE },
		{ "R <a:0:0 >a:0:0 R <a:0:0", 1, 1, 0, "a:0:0", ERROR_INTERRUPTED },
	};
	const char *path = record_path("transcript.jsonl");

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		struct outcome o;
		struct error err = ERROR_INIT;

		make_transcript(path, cases[i].script);
		assert_int_equal(outcome_read(&o, path, 0, &err), 0);
		if (o.calls != cases[i].calls || o.failed != cases[i].failed ||
		    o.waiting != cases[i].waiting || strcmp(o.first_failed, cases[i].first) != 0 ||
		    o.error.code != cases[i].code)
			fail_msg("%s: calls %d, failed %d, waiting %d, first '%s', %s", cases[i].script,
			    (int)o.calls, (int)o.failed, (int)o.waiting, o.first_failed,
			    error_name(o.error.code));
		outcome_free(&o);
	}
}

#define MANY 40000

static void
put_call(struct buffer *out, long *seq, long number, const char *end)
{
	char start[64], completed[64];

	snprintf(start, sizeof start, "a:0:%ld", number);
	snprintf(completed, sizeof completed, "a:0:%ld%s", number, end);
	add_started(out, (*seq)++, start);
	add_completed(out, (*seq)++, completed);
}

#ifndef __SANITIZE_ADDRESS__
/* KiB, in a process of its own: in this one more was in use at some time. */
static long
memory_needed(const char *path)
{
	struct rusage before, after;
	struct outcome o;
	int status;
	pid_t pid = fork();

	assert_int_not_equal(pid, -1);
	if (pid == 0) {
		getrusage(RUSAGE_SELF, &before);
		outcome_read(&o, path, 0, NULL);
		getrusage(RUSAGE_SELF, &after);
		status = (int)(after.ru_maxrss - before.ru_maxrss) / 64;
		_exit(status < 255 ? status : 255);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	return 64L * WEXITSTATUS(status);
}
#endif

/* Calls that are done leave no trace, neither in memory nor among those that count. */
static void
test_many_calls(void **state)
{
	const char *path = record_path("many.jsonl");
	struct buffer out = BUFFER_INIT;
	char open[] = "b:0:0", rescue[] = "r:0:0,rescue=a:0:100", rescued[] = "r:0:0";
	struct outcome o;
	long seq = 1;

	(void)state;
	add_event(&out, seq++, "run", "run.started", NULL, "", "{}");
	add_started(&out, seq++, open);
	for (long i = 0; i < MANY; i++)
		put_call(&out, &seq, i, i == 100 || i == MANY / 2 ? "=schema" : i % 7 == 0 ? "~" : "");
	add_started(&out, seq++, rescue);
	add_completed(&out, seq++, rescued);
	add_completed(&out, seq++, open);
	record_put(path, out.data, out.len);
	buffer_free(&out);
#ifndef __SANITIZE_ADDRESS__ /* it keeps what is freed for a while */
	/* Not so much as 100 bytes a call. */
	assert_in_range(memory_needed(path), 0, MANY / 10);
#endif
	assert_int_equal(outcome_read(&o, path, 0, NULL), 0);
	assert_int_equal(o.calls, MANY + 2);
	assert_int_equal(o.failed, 1);
	assert_string_equal(o.first_failed, "a:0:20000");
	outcome_free(&o);
}

static void
test_message_of_the_first_failure(void **state)
{
	const char *path = record_path("message.jsonl");
	struct outcome o;

	(void)state;
	make_transcript(path, "R <a:0:0 >a:0:0=waiting <b:0:0 >b:0:0=auth <c:0:0 >c:0:0=network");
	assert_int_equal(outcome_read(&o, path, 0, NULL), 0);
	assert_string_equal(o.error.message, "b:0:0: auth");
	assert_string_equal(o.first_waiting, "a:0:0");
	outcome_free(&o);
}

/* What looks as if it was meant to make the failure good: the same step on the same item,
 * not a later item of it. */
static void
test_a_later_success_is_named(void **state)
{
	static const struct { const char *script, *repeated_by; } cases[] = {
		{ "R <a:0:0 >a:0:0=schema <a:1:0 >a:1:0", "a:1:0" },
		{ "R <a:0:0 >a:0:0=schema <a:1:0 >a:1:0=schema <a:2:0 >a:2:0 <a:3:0 >a:3:0", "a:2:0" },
		{ "R <a:0:0 <a:1:0 >a:1:0 >a:0:0=schema", "a:1:0" },
		{ "R <a:0:0 >a:0:0=schema <a:0:1 >a:0:1", "" },
		{ "R <a:0:0 >a:0:0=schema <b:0:0 >b:0:0", "" },
		{ "R <a:0:0 >a:0:0=schema <a:1:0#1 >a:1:0", "" },
		{ "R <a:0:0 >a:0:0 <a:1:0 >a:1:0=schema", "" },
	};
	const char *path = record_path("repeated.jsonl");
	struct outcome o;

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		make_transcript(path, cases[i].script);
		assert_int_equal(outcome_read(&o, path, 0, NULL), 0);
		assert_string_equal(o.repeated_by, cases[i].repeated_by);
		outcome_free(&o);
	}
}

static void
test_usage_is_summed(void **state)
{
	const char *path = record_path("usage.jsonl");
	struct buffer out = BUFFER_INIT;
	struct span usage;
	struct outcome o;
	long long tokens;

	(void)state;
	add_event(&out, 1, "run", "run.started", NULL, "", "{}");
	add_event(&out, 2, "m1", "message.assistant", NULL, "",
	    "{\"usage\":{\"input_tokens\":10,\"output_tokens\":2,\"other\":7}}");
	add_event(&out, 3, "m2", "message.assistant", NULL, "", "{\"usage\":null}");
	add_event(&out, 4, "m3", "a.new.type", NULL, "", "{\"usage\":{\"input_tokens\":1000}}");
	add_event(&out, 5, "m4", "message.assistant", NULL, "",
	    "{\"usage\":{\"input_tokens\":5,\"cache_read_tokens\":0}}");
	record_put(path, out.data, out.len);
	buffer_free(&out);
	assert_int_equal(outcome_read(&o, path, 0, NULL), 0);
	usage = span_of(o.usage.data, o.usage.len);
	assert_true(span_integer(span_member(usage, "input_tokens"), &tokens));
	assert_int_equal(tokens, 15);
	assert_true(span_integer(span_member(usage, "output_tokens"), &tokens));
	assert_int_equal(tokens, 2);
	assert_true(span_integer(span_member(usage, "cache_read_tokens"), &tokens));
	assert_int_equal(tokens, 0);
	assert_null(span_member(usage, "reasoning_tokens").at);
	assert_null(span_member(usage, "other").at);
	outcome_free(&o);
}

static void
test_lines_that_are_no_events_are_passed_over(void **state)
{
	static const char lines[] = "garbage\n{}\n[1]\n"
	    "{\"seq\":1,\"type\":\"step.started\",\"payload\":null}\n"
	    "{\"seq\":2,\"type\":\"step.started\",\"payload\":{\"call\":7}}\n"
	    "{\"seq\":3,\"type\":\"step.completed\",\"payload\":{\"call\":\"unknown:0:0\"}}\n"
	    "{\"seq\":4,\"type\":\"step.completed\"}\n"
	    "{\"seq\":5,\"type\":\"message.assistant\"}\n"
	    "{\"seq\":6,\"type\":\"step.star";
	const char *path = record_path("odd.jsonl");
	struct outcome o;

	(void)state;
	record_put(path, lines, sizeof lines - 1);
	assert_int_equal(outcome_read(&o, path, 0, NULL), 0);
	assert_int_equal(o.calls, 0);
	assert_int_equal(o.failed, 0);
	outcome_free(&o);
}

static void
test_missing_file(void **state)
{
	struct error err = ERROR_INIT;
	struct outcome o;

	(void)state;
	assert_int_equal(outcome_read(&o, record_path("missing"), 0, &err), -1);
	assert_int_equal(err.code, ERROR_SYSTEM);
	outcome_free(&o);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rules),
		cmocka_unit_test(test_many_calls),
		cmocka_unit_test(test_message_of_the_first_failure),
		cmocka_unit_test(test_a_later_success_is_named),
		cmocka_unit_test(test_usage_is_summed),
		cmocka_unit_test(test_lines_that_are_no_events_are_passed_over),
		cmocka_unit_test(test_missing_file),
	};

	return cmocka_run_group_tests(tests, record_setup, record_teardown);
}
