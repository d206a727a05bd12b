/* agent/provider: the client's side of the protocol, against providers that are
 * scripts: tests/fixtures/providers. */
#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/clock.h"
#include "base/memory.h"
#include "base/patience.h"
#include "io/file.h"
#include "proc/descendants.h"
#include "providers/provider.h"
#include "providers/provider_find.h"

static char directory[] = "/tmp/awf-provider-XXXXXX";

/* Says what request number N is answered with; as text lines, or as shell. */
static void
script(const char *name, const char *text)
{
	char path[96];
	FILE *out;

	snprintf(path, sizeof path, "%s/%s", directory, name);
	out = fopen(path, "w");
	assert_non_null(out);
	fputs(text, out);
	fclose(out);
}

static char *
log_text(void)
{
	struct buffer text = BUFFER_INIT;
	struct error err;
	char path[96];

	snprintf(path, sizeof path, "%s/log", directory);
	assert_int_equal(file_load(path, 1 << 20, &text, &err), 0);
	return buffer_take(&text);
}

static int
clean(void **state)
{
	char command[96];

	(void)state;
	snprintf(command, sizeof command, "rm -f %s/*", directory);
	return system(command);
}

static struct provider
started(const char *name)
{
	struct error err = ERROR_INIT;
	struct provider p;

	provider_begin(&p, name, NULL, NULL, NULL);
	if (provider_start(&p, &err) == -1)
		fail_msg("%s: %s", err.place, err.message);
	return p;
}

static int
ask(struct provider *p, int64_t timeout_ms, struct answer *answer, struct error *err)
{
	struct buffer request = BUFFER_INIT;
	int status;

	buffer_text(&request, "{\"model\":\"m\"}");
	status = provider_ask(p, &request, timeout_ms, NULL, NULL, answer, err);
	buffer_free(&request);
	return status;
}

#define MESSAGE "{\"id\":@ID@,\"type\":\"message\",\"blocks\":[{\"type\":\"text\",\"text\":\"hi\"}]," \
	"\"stop_reason\":\"end_turn\",\"usage\":{\"input_tokens\":3},\"model\":\"m-1\"}\n"

static void
a_message_comes_back(void **state)
{
	struct error err = ERROR_INIT;
	struct provider p;
	struct answer a;
	char *log;

	(void)state;
	script("1", MESSAGE);
	script("2", "{\"id\": @ID@, \"type\": \"message\", \"blocks\": [ ], \"later\": 1}\n");
	p = started("scripted");
	assert_true(descendants_kept(p.peer.process.pid));
	assert_int_equal(ask(&p, 0, &a, &err), 0);
	assert_true(span_is(span_member(span_element(a.blocks, 0), "text"), "hi"));
	assert_true(span_is(a.model, "m-1"));
	assert_true(span_is(a.stop_reason, "end_turn"));
	assert_int_equal(span_type(a.usage), 'o');
	answer_free(&a);
	assert_int_equal(ask(&p, 0, &a, &err), 0);
	assert_string_equal(a.line.data, "{\"id\":2,\"type\":\"message\",\"blocks\":[],\"later\":1}");
	assert_null(a.usage.at);
	answer_free(&a);
	provider_stop(&p);
	provider_stop(&p);
	log = log_text();
	assert_string_equal(log, "{\"id\":1,\"model\":\"m\"}\n{\"id\":2,\"model\":\"m\"}\n");
	free(log);
}

/* What one answer leads to. */
static void
answers_that_are_errors(void **state)
{
	static const struct { const char *answer; enum error_code code; const char *message;
		int64_t retry_after; long status; } rows[] = {
		{ "{\"id\":@ID@,\"type\":\"error\",\"category\":\"rate_limit\",\"status\":429,"
		    "\"retry_after_ms\":1500,\"message\":\"slow down\"}\n",
		    ERROR_RATE_LIMIT, "slow down", 1500, 429 },
		{ "{\"id\":@ID@,\"type\":\"error\",\"category\":\"overloaded\","
		    "\"retry_after_ms\":9223372036854775807}\n",
		    ERROR_OVERLOADED, "the request failed", 24LL * 3600 * 1000, 0 },
		{ "{\"id\":@ID@,\"type\":\"error\",\"category\":\"auth\"}\n",
		    ERROR_AUTH, "the request failed", 0, 0 },
		{ "{\"id\":@ID@,\"type\":\"error\",\"category\":\"made_up\",\"message\":\"x\"}\n",
		    ERROR_PROVIDER, "x", 0, 0 },
		/* not a provider's to say */
		{ "{\"id\":@ID@,\"type\":\"error\",\"category\":\"downstream_closed\",\"message\":\"x\"}\n",
		    ERROR_PROVIDER, "x", 0, 0 },
		{ "{\"id\":@ID@,\n", ERROR_PROVIDER, "broke the protocol: a line that is no JSON", 0, 0 },
		{ "{\"id\":@ID@,\"type\":\"message\",\"blocks\":[{\"type\":\"text\",\"text\":\"x\","
		  "\"fidelity\":\"router\"}]}\n",
		    ERROR_PROVIDER, "broke the protocol: a block with the fidelity 'router'", 0, 0 },
		{ "[1]\n", ERROR_PROVIDER, "a line that is no JSON object", 0, 0 },
		{ "{\"type\":\"message\",\"blocks\":[]}\n", ERROR_PROVIDER, "without the id", 0, 0 },
		{ "{\"id\":@ID@,\"type\":\"message\"}\n", ERROR_PROVIDER, "\"blocks\" is missing", 0, 0 },
		{ "{\"id\":@ID@,\"type\":\"message\",\"blocks\":[\"x\"]}\n", ERROR_PROVIDER,
		    "a block is not an object", 0, 0 },
		{ "{\"id\":@ID@,\"type\":\"message\",\"blocks\":[{\"text\":\"x\"}]}\n", ERROR_PROVIDER,
		    "\"type\" is missing in a block", 0, 0 },
		{ "{\"id\":@ID@,\"type\":\"message\",\"blocks\":[],\"model\":5}\n", ERROR_PROVIDER,
		    "\"model\" is not a string", 0, 0 },
		{ "{\"id\":@ID@,\"type\":\"message\",\"blocks\":[],\"usage\":[]}\n", ERROR_PROVIDER,
		    "\"usage\" is not an object", 0, 0 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		struct error err = ERROR_INIT;
		struct provider p;
		struct answer a;

		script("1", rows[i].answer);
		p = started("scripted");
		assert_int_equal(ask(&p, 10000, &a, &err), -1);
		assert_int_equal(err.code, rows[i].code);
		assert_string_equal(err.place, "scripted");
		assert_non_null(strstr(err.message, rows[i].message));
		assert_int_equal(a.retry_after_ms, rows[i].retry_after);
		assert_int_equal(a.status, rows[i].status);
		answer_free(&a);
		provider_stop(&p);
	}
}

static void
a_provider_that_dies_is_started_anew(void **state)
{
	struct error err = ERROR_INIT;
	struct provider p;
	struct answer a;
	char *log;

	(void)state;
	script("1.sh", "[ -e $SCRIPT/died ] || { touch $SCRIPT/died; exit 7; }\n");
	script("1", MESSAGE);
	p = started("scripted");
	assert_int_equal(ask(&p, 10000, &a, &err), -1);
	assert_int_equal(err.code, ERROR_PROVIDER);
	assert_string_equal(err.message, "the provider ended before it answered: exit status 7");
	answer_free(&a);
	assert_int_equal(ask(&p, 10000, &a, &err), 0);
	answer_free(&a);
	provider_stop(&p);
	log = log_text();
	assert_string_equal(log, "{\"id\":1,\"model\":\"m\"}\n{\"id\":2,\"model\":\"m\"}\n");
	free(log);
}

static void
a_provider_that_died_before_its_request_is_noticed(void **state)
{
	struct error err = ERROR_INIT;
	struct provider p;
	struct answer a;

	(void)state;
	p = started("scripted");
	kill(p.peer.process.pid, SIGKILL);
	assert_int_equal(ask(&p, 10000, &a, &err), -1);
	assert_int_equal(err.code, ERROR_PROVIDER);
	assert_string_equal(err.message,
	    "the provider ended before it answered: killed by signal 9 (Killed)");
	answer_free(&a);
	provider_stop(&p);
}

static void
silence_times_out_and_is_cancelled(void **state)
{
	struct error err = ERROR_INIT;
	struct provider p;
	struct answer a;
	char *log;

	(void)state;
	/* the late answer of a cancelled request is not taken for that of the next */
	script("2.sh", "echo '{\"id\":1,\"type\":\"message\",\"blocks\":[]}'\n");
	script("2", MESSAGE);
	p = started("scripted");
	assert_int_equal(ask(&p, 200, &a, &err), -1);
	assert_int_equal(err.code, ERROR_TIMEOUT);
	assert_string_equal(err.message, "no answer after 200ms");
	answer_free(&a);
	assert_int_equal(ask(&p, 10000, &a, &err), 0);
	assert_true(span_is(a.model, "m-1"));
	answer_free(&a);
	provider_stop(&p);
	log = log_text();
	assert_string_equal(log,
	    "{\"id\":1,\"model\":\"m\"}\n{\"cancel\":1}\n{\"id\":2,\"model\":\"m\"}\n");
	free(log);
}

static void
interrupts_cancel(void **state)
{
	volatile int caught = SIGINT;
	struct interrupts interrupts = { &caught, -1 };
	struct buffer request = BUFFER_INIT;
	struct error err = ERROR_INIT;
	struct provider p;
	struct answer a;
	int ends[2];

	(void)state;
	p = started("scripted");
	buffer_text(&request, "{\"model\":\"m\"}");
	assert_int_equal(provider_ask(&p, &request, 0, &interrupts, NULL, &a, &err), -1);
	assert_int_equal(err.code, ERROR_CANCELLED);
	caught = 0;
	assert_int_equal(pipe(ends), 0);
	close(ends[0]);
	interrupts.downstream = ends[1];
	assert_int_equal(provider_ask(&p, &request, 0, &interrupts, NULL, &a, &err), -1);
	assert_int_equal(err.code, ERROR_DOWNSTREAM_CLOSED);
	close(ends[1]);
	provider_stop(&p);
	buffer_free(&request);
}

static void
note_delta(void *context, const char *kind, const char *text, size_t len)
{
	buffer_format(context, "%s:", kind);
	buffer_append(context, text, len);
	buffer_byte(context, ' ');
}

static int
note_event(void *context, struct span line, struct error *err)
{
	char type[16];

	assert_true(span_copy(span_member(line, "type"), type, sizeof type));
	if (span_true(span_member(line, "stop")))
		return error_set(err, ERROR_SYSTEM, NULL, "stopped");
	buffer_format(context, "%s ", type);
	return 0;
}

static void
deltas_and_events_are_handed_on(void **state)
{
	struct buffer request = BUFFER_INIT, noted = BUFFER_INIT;
	const struct provider_callbacks callbacks = { .delta = note_delta, .event = note_event,
	    .context = &noted };
	struct error err = ERROR_INIT;
	struct provider p;
	struct answer a;
	char *log;

	(void)state;
	script("1",
	    "{\"id\":@ID@,\"type\":\"delta\",\"kind\":\"thinking\",\"text\":\"hm\\u00e9\"}\n"
	    "\n"
	    "{\"id\":@ID@,\"type\":\"of later versions\"}\n"
	    "{\"id\":@ID@,\"type\":\"tool_call\",\"name\":\"x\"}\n"
	    "{\"id\":99,\"type\":\"delta\",\"kind\":\"text\",\"text\":\"of another\"}\n"
	    "{\"id\":@ID@,\"type\":\"tool_result\",\"name\":\"x\"}\n"
	    "{\"id\":@ID@,\"type\":\"delta\",\"kind\":\"text\",\"text\":\"hi\"}\n" MESSAGE);
	script("2", "{\"id\":@ID@,\"type\":\"tool_call\",\"stop\":true}\n");
	p = started("scripted");
	buffer_text(&request, "{\"model\":\"m\"}");
	assert_int_equal(provider_ask(&p, &request, 10000, NULL, &callbacks, &a, &err), 0);
	answer_free(&a);
	assert_string_equal(noted.data, "thinking:hmé tool_call tool_result text:hi ");
	assert_int_equal(provider_ask(&p, &request, 10000, NULL, &callbacks, &a, &err), -1);
	assert_string_equal(err.message, "stopped");
	answer_free(&a);
	provider_stop(&p);
	log = log_text();
	assert_non_null(strstr(log, "{\"cancel\":2}"));
	free(log);
	buffer_free(&request);
	buffer_free(&noted);
}

/* What is wanted of due(), and how often it was called. */
struct due {
	int64_t again; /* ms from a call to the next; 0: never */
	bool late;     /* after the first it is due already */
	int called;
};

static int64_t
count_due(void *context)
{
	struct due *d = context;

	if (d->called++ == 0 && d->late)
		return 1;
	return d->again == 0 ? 0 : clock_monotonic() + d->again;
}

/* It is called in silence, when it wants that, and changes no deadline. */
static void
what_is_due_is_done(void **state)
{
	struct due due = { .again = 20 };
	const struct provider_callbacks callbacks = { .due = count_due, .context = &due };
	struct buffer request = BUFFER_INIT;
	struct error err = ERROR_INIT;
	struct provider p;
	struct answer a;
	int64_t begun;

	(void)state;
	script("1.sh", "sleep 0.4\n");
	script("1", MESSAGE);
	script("2", MESSAGE);
	p = started("scripted");
	buffer_text(&request, "{\"model\":\"m\"}");
	assert_int_equal(provider_ask(&p, &request, 30000, NULL, &callbacks, &a, &err), 0);
	assert_true(due.called > 3 && due.called < 50);
	answer_free(&a);
	due = (struct due){ .late = true };
	assert_int_equal(provider_ask(&p, &request, 0, NULL, &callbacks, &a, &err), 0);
	assert_true(due.called < 10);
	answer_free(&a);
	due = (struct due){ .again = 20 };
	begun = clock_monotonic();
	assert_int_equal(provider_ask(&p, &request, 300, NULL, &callbacks, &a, &err), -1);
	assert_int_equal(err.code, ERROR_TIMEOUT);
	assert_true(clock_monotonic() - begun >= 299);
	assert_true(due.called > 3);
	due.again = 600000;
	assert_int_equal(provider_ask(&p, &request, 100, NULL, &callbacks, &a, &err), -1);
	assert_int_equal(err.code, ERROR_TIMEOUT);
	answer_free(&a);
	buffer_free(&request);
	provider_stop(&p);
}

static void
count_delta(void *context, const char *kind, const char *text, size_t len)
{
	(void)kind;
	(void)text;
	*(size_t *)context += len;
}

/* Both talk before either has listened to the end. */
static void
big_requests_do_not_deadlock(void **state)
{
	size_t said = 0;
	const struct provider_callbacks callbacks = { .delta = count_delta, .context = &said };
	struct buffer request = BUFFER_INIT;
	struct error err = ERROR_INIT;
	struct provider p = started("chatty");
	struct answer a;

	(void)state;
	buffer_text(&request, "{\"text\":\"");
	for (int i = 0; i < 400000; i++)
		buffer_text(&request, "0123456789");
	buffer_text(&request, "\"}");
	assert_int_equal(provider_ask(&p, &request, 30000, NULL, &callbacks, &a, &err), 0);
	assert_true(span_is(span_member(span_element(a.blocks, 0), "text"), "4000019"));
	assert_int_equal(said, 64 * 65536);
	answer_free(&a);
	buffer_free(&request);
	provider_stop(&p);
}

static void
providers_are_looked_for(void **state)
{
	static const struct { const char *name, *message; } rows[] = {
		{ "anthropi", "unknown provider 'anthropi' (did you mean 'anthropic'?)" },
		{ "xyzzyxyzzy", "unknown provider 'xyzzyxyzzy': there is no awf-provider-xyzzyxyzzy "
		    "in $AWF_PROVIDER_PATH, AWF's own directory or $PATH, nor an endpoint of that name" },
		{ "../scripted", "unknown provider '../scripted': there is no" },
		{ "", "unknown provider '': there is no" },
	};
	struct error err = ERROR_INIT;
	struct provider p;
	char *path;

	(void)state;
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		assert_null(provider_find(rows[i].name, &err));
		assert_int_equal(err.code, ERROR_DEFINITION);
		assert_memory_equal(err.message, rows[i].message, strlen(rows[i].message));
		provider_begin(&p, rows[i].name, NULL, NULL, NULL);
		assert_int_equal(provider_start(&p, &err), -1);
		provider_stop(&p);
	}
	path = provider_find("scripted", &err);
	assert_string_equal(path, "tests/fixtures/providers/awf-provider-scripted");
	free(path);
}

static void
a_provider_that_cannot_run_says_so(void **state)
{
	char *path = memory_format("%s/awf-provider-broken", directory);
	struct error err = ERROR_INIT;
	struct provider p;

	(void)state;
	script("awf-provider-broken", "#!/no/such/interpreter\n");
	assert_int_equal(chmod(path, 0700), 0);
	setenv("AWF_PROVIDER_PATH", directory, 1);
	provider_begin(&p, "broken", NULL, NULL, NULL);
	assert_int_equal(provider_start(&p, &err), -1);
	assert_int_equal(err.code, ERROR_PROVIDER);
	assert_string_equal(err.place, path);
	provider_stop(&p);
	setenv("AWF_PROVIDER_PATH", "/nowhere:tests/fixtures/providers", 1);
	free(path);
}

static void
a_line_without_end_is_refused(void **state)
{
	struct error err = ERROR_INIT;
	struct provider p;
	struct answer a;

	(void)state;
	script("1.sh", "exec head -c 300000000 /dev/zero\n");
	p = started("scripted");
	assert_int_equal(ask(&p, 60000, &a, &err), -1);
	assert_int_equal(err.code, ERROR_PROVIDER);
	assert_non_null(strstr(err.message, "a line above 256 MiB"));
	assert_int_equal(p.peer.process.pid, 0);
	answer_free(&a);
	provider_stop(&p);
}

/* Half a request cannot be taken back: the provider is ended, the next request
 * gets a new one. */
static void
a_request_that_is_not_taken_times_out(void **state)
{
	struct buffer request = BUFFER_INIT;
	struct error err = ERROR_INIT;
	struct provider p;
	struct answer a;

	(void)state;
	script("1.sh", "[ -e $SCRIPT/slept ] || { touch $SCRIPT/slept; exec sleep 100; }\n");
	script("1", MESSAGE);
	p = started("scripted");
	assert_int_equal(ask(&p, 300, &a, &err), -1);
	buffer_text(&request, "{\"text\":\"");
	for (int i = 0; i < 30000; i++)
		buffer_text(&request, "0123456789");
	buffer_text(&request, "\"}");
	assert_int_equal(provider_ask(&p, &request, 300, NULL, NULL, &a, &err), -1);
	assert_int_equal(err.code, ERROR_TIMEOUT);
	assert_int_equal(p.peer.process.pid, 0);
	assert_int_equal(ask(&p, 10000, &a, &err), 0);
	answer_free(&a);
	provider_stop(&p);
	buffer_free(&request);
}

static void
keys_reach_the_provider(void **state)
{
	static char file_name[] = "OPENAI_API_KEY", file_value[] = "from file";
	static char both_name[] = "ANTHROPIC_API_KEY", both_value[] = "not this";
	char *key_names[] = { file_name, both_name }, *values[] = { file_value, both_value };
	struct keys keys = { key_names, values, 2 };
	struct error err = ERROR_INIT;
	struct provider p;
	struct answer a;

	(void)state;
	setenv("ANTHROPIC_API_KEY", "from environment", 1);
	script("1.sh", "echo '{\"id\":1,\"type\":\"message\",\"blocks\":[],\"model\":\"'"
	    "\"$OPENAI_API_KEY, $ANTHROPIC_API_KEY\"'\"}'\n");
	provider_begin(&p, "scripted", NULL, NULL, &keys);
	assert_int_equal(provider_start(&p, &err), 0);
	assert_int_equal(ask(&p, 10000, &a, &err), 0);
	assert_true(span_is(a.model, "from file, from environment"));
	answer_free(&a);
	provider_stop(&p);
	unsetenv("ANTHROPIC_API_KEY");
}

static void
a_provider_that_does_not_end_is_ended(void **state)
{
	struct provider p;
	int64_t began;

	(void)state;
	script("1.sh", "sleep 100\n");
	p = started("scripted");
	assert_int_equal(write(p.peer.process.in, "{\"id\":1,}\n", 10), 10);
	usleep(100000);
	began = clock_monotonic();
	provider_stop(&p);
	assert_in_range(clock_monotonic() - began, PROVIDER_END_MS, PROVIDER_END_MS + 3000);
	assert_int_equal(descendants_end(getpid(), SIGKILL, NULL), 0);
	assert_int_equal(waitpid(-1, NULL, 0), -1);
	assert_int_equal(errno, ECHILD);
}

static int
begin(void **state)
{
	(void)state;
	signal(SIGPIPE, SIG_IGN);
	descendants_adopt();
	if (mkdtemp(directory) == NULL)
		return -1;
	setenv("SCRIPT", directory, 1);
	setenv("AWF_PROVIDER_PATH", "/nowhere:tests/fixtures/providers", 1);
	return 0;
}

static int
end(void **state)
{
	(void)state;
	clean(state);
	return rmdir(directory);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(a_message_comes_back, clean),
		cmocka_unit_test_teardown(answers_that_are_errors, clean),
		cmocka_unit_test_teardown(a_provider_that_dies_is_started_anew, clean),
		cmocka_unit_test_teardown(a_provider_that_died_before_its_request_is_noticed, clean),
		cmocka_unit_test_teardown(silence_times_out_and_is_cancelled, clean),
		cmocka_unit_test_teardown(interrupts_cancel, clean),
		cmocka_unit_test_teardown(deltas_and_events_are_handed_on, clean),
		cmocka_unit_test_teardown(what_is_due_is_done, clean),
		cmocka_unit_test_teardown(big_requests_do_not_deadlock, clean),
		cmocka_unit_test_teardown(providers_are_looked_for, clean),
		cmocka_unit_test_teardown(a_provider_that_cannot_run_says_so, clean),
		cmocka_unit_test_teardown(a_line_without_end_is_refused, clean),
		cmocka_unit_test_teardown(a_request_that_is_not_taken_times_out, clean),
		cmocka_unit_test_teardown(keys_reach_the_provider, clean),
		cmocka_unit_test_teardown(a_provider_that_does_not_end_is_ended, clean),
	};

	return cmocka_run_group_tests(tests, begin, end);
}
