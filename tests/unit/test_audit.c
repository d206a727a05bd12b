/* run/audit: secrets are masked, lines are bounded, the file is appended to. */
#include "unit.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/memory.h"
#include "io/file.h"
#include "storage/audit.h"

#define ID "7c9e6679-7425-40de-944b-e07fc1f90ae7"

static char directory[] = "/tmp/awf-audit-XXXXXX";
static struct storage storage;

static struct span
span(const char *json)
{
	return span_of(json, strlen(json));
}

static void
test_redacts_secrets(void **state)
{
	static const struct {
		const char *inputs, *want;
	} cases[] = {
		{ "{}", "{}" },
		{ "{\"a\":\"b\"}", "{\"a\":\"b\"}" },
		{ "{\"secret\":\"x\"}", "{\"secret\":\"***\"}" },
		{ "{\"MY_SECRET_2\":\"x\"}", "{\"MY_SECRET_2\":\"***\"}" },
		{ "{\"apiKey\":\"x\",\"api_key\":\"x\",\"X-API-KEY\":\"x\",\"OPENAI_API_KEY\":\"x\"}",
		  "{\"apiKey\":\"***\",\"api_key\":\"***\",\"X-API-KEY\":\"***\",\"OPENAI_API_KEY\":\"***\"}" },
		{ "{\"dbPassword\":\"x\",\"pass word\":1}", "{\"dbPassword\":\"***\",\"pass word\":\"***\"}" },
		{ "{\"to.ken\":[1,2],\"accessToken\":{\"a\":1}}",
		  "{\"to.ken\":\"***\",\"accessToken\":\"***\"}" },
		{ "{\"\\u0073ecret\":\"x\"}", "{\"\\u0073ecret\":\"***\"}" },
		{ "{\"a\":{\"token\":\"x\",\"b\":[{\"password\":null}]}}",
		  "{\"a\":{\"token\":\"***\",\"b\":[{\"password\":\"***\"}]}}" },
		{ "{\"key\":\"secret\",\"pass\":\"password\"}", "{\"key\":\"secret\",\"pass\":\"password\"}" },
		{ "{\"n\":1.50,\"t\":true,\"z\":null,\"e\":[]}", "{\"n\":1.50,\"t\":true,\"z\":null,\"e\":[]}" },
	};

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		struct buffer out = BUFFER_INIT;

		assert_int_equal(audit_inputs(span(cases[i].inputs), 4000, &out), 0);
		assert_string_equal(buffer_string(&out), cases[i].want);
		buffer_free(&out);
	}
}

static void
test_shortens_step_by_step(void **state)
{
	static const struct {
		const char *inputs;
		size_t limit;
		const char *want;
	} cases[] = {
		{ "{\"a\":\"0123456789\"}", 18, "{\"a\":\"0123456789\"}" },
		{ "{\"a\":\"0123456789\"}", 19, "{\"a\":\"0123456789\"}" },
		{ "{\"long\":\"0123456789012345678901234567890123456789\",\"b\":\"c\"}", 40,
		  "{\"long\":\"0123456789012345\xe2\x80\xa6\",\"b\":\"c\"}" },
		/* no character is cut in two: the euro sign has three bytes */
		{ "{\"a\":\"01234567890123\xe2\x82\xac\xe2\x82\xac\xe2\x82\xac\xe2\x82\xac\"}", 32,
		  "{\"a\":\"01234567890123\xe2\x80\xa6\"}" },
		{ "{\"a\":[\"01234567890123456789\"],\"b\":12345678901234567890}", 41,
		  "{\"a\":[\"01234567\xe2\x80\xa6\"],\"b\":\"12345678\xe2\x80\xa6\"}" },
		{ "{\"one\":\"1\",\"two\":\"2\",\"three\":\"3\"}", 22, "{\"one\":\"1\",\"two\":\"2\"}" },
		{ "{\"one\":\"1\",\"two\":\"2\",\"three\":\"3\"}", 20, "{\"one\":\"1\"}" },
		{ "{\"one\":\"1\"}", 5, "{}" },
	};

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		struct buffer out = BUFFER_INIT;
		bool cut = strlen(cases[i].inputs) > cases[i].limit;

		assert_int_equal(audit_inputs(span(cases[i].inputs), cases[i].limit, &out), cut);
		assert_string_equal(buffer_string(&out), cases[i].want);
		buffer_free(&out);
	}
}

static struct span
big_inputs(struct buffer *b, int keys, int size)
{
	buffer_byte(b, '{');
	for (int i = 0; i < keys; i++) {
		buffer_format(b, "%s\"key %d\":\"", i > 0 ? "," : "", i);
		for (int n = 0; n < size; n++)
			buffer_text(b, n % 3 == 0 ? "\\u0001" : "\xe2\x82\xac");
		buffer_byte(b, '"');
	}
	buffer_byte(b, '}');
	return span_of(b->data, b->len);
}

static void
load(struct buffer *text)
{
	char *path = path_join(storage.root, "audit.jsonl");

	assert_int_equal(file_load(path, 1 << 20, text, NULL), 0);
	assert_int_equal(unlink(path), 0);
	free(path);
}

static void
test_lines_are_bounded_and_valid(void **state)
{
	static const int keys[] = { 0, 1, 3, 50, 1000 }, sizes[] = { 0, 1, 100, 5000 };

	(void)state;
	for (size_t k = 0; k < COUNT(keys); k++)
		for (size_t n = 0; n < COUNT(sizes); n++) {
			struct buffer inputs = BUFFER_INIT, text = BUFFER_INIT;
			struct audit_start a = { ID, 1, "\x01\x01name\"\"", 0,
				big_inputs(&inputs, keys[k], sizes[n]) };
			bool fits = inputs.len < 3500, cut;
			size_t bad;

			assert_int_equal(audit_started(&storage, &a, NULL), 0);
			load(&text);
			assert_true(text.len <= AUDIT_LINE_LIMIT);
			assert_int_equal(text.data[text.len - 1], '\n');
			assert_null(scan_check(text.data, text.len, &bad));
			cut = span_true(span_member(span_of(text.data, text.len), "inputs_truncated"));
			assert_int_equal(cut, !fits);
			buffer_free(&inputs);
			buffer_free(&text);
		}
}

static void
test_long_texts_are_bounded(void **state)
{
	char *long_text = memory_alloc(5001);
	struct audit_end a = { ID, 2, long_text, 1000000, "failed", 3, 17, long_text };
	struct buffer text = BUFFER_INIT;
	size_t bad;

	(void)state;
	memset(long_text, '\x01', 5000);
	long_text[5000] = '\0';
	assert_int_equal(audit_completed(&storage, &a, NULL), 0);
	load(&text);
	/* control characters take six bytes each */
	assert_true(text.len <= AUDIT_LINE_LIMIT);
	assert_null(scan_check(text.data, text.len, &bad));
	buffer_free(&text);
	free(long_text);
}

static void
test_two_lines(void **state)
{
	struct audit_start start = { ID, 1, "brief", 1000000, span("{\"k\":\"v\"}") };
	struct audit_end end = { ID, 1, "brief", 2000000, "success", 0, 1000, NULL };
	struct buffer text = BUFFER_INIT;

	(void)state;
	assert_int_equal(audit_started(&storage, &start, NULL), 0);
	assert_int_equal(audit_completed(&storage, &end, NULL), 0);
	load(&text);
	assert_string_equal(buffer_string(&text),
	    "{\"timestamp\":\"1970-01-01T00:00:01.000000Z\",\"type\":\"run.started\",\"run_id\":\"" ID
	    "\",\"attempt\":1,\"name\":\"brief\",\"inputs\":{\"k\":\"v\"}}\n"
	    "{\"timestamp\":\"1970-01-01T00:00:02.000000Z\",\"type\":\"run.completed\",\"run_id\":\"" ID
	    "\",\"attempt\":1,\"name\":\"brief\",\"status\":\"success\",\"exit_code\":0,"
	    "\"duration_ms\":1000,\"error\":null}\n");
	buffer_free(&text);
}

/* Lines of many processes are never spliced. */
static void
test_concurrent_lines(void **state)
{
	struct buffer text = BUFFER_INIT;
	size_t lines = 0;

	(void)state;
	for (int i = 0; i < 4; i++)
		if (fork() == 0) {
			struct audit_end end = { ID, i, "brief", 0, "success", 0, 1, NULL };

			for (int n = 0; n < 100; n++)
				if (audit_completed(&storage, &end, NULL) != 0)
					_exit(1);
			_exit(0);
		}
	for (int i = 0, status; i < 4; i++) {
		assert_true(wait(&status) > 0);
		assert_int_equal(status, 0);
	}
	load(&text);
	for (char *line = text.data, *end; line < text.data + text.len; line = end + 1, lines++) {
		size_t bad;

		end = strchr(line, '\n');
		assert_null(scan_check(line, (size_t)(end - line), &bad));
	}
	assert_int_equal(lines, 400);
	buffer_free(&text);
}

static void
test_failures_are_told(void **state)
{
	struct audit_end end = { ID, 1, "brief", 0, "success", 0, 1, NULL };
	struct error err = ERROR_INIT;
	char *path = path_join(storage.root, "audit.jsonl");
	struct rlimit before, small = { .rlim_cur = 40 };
	struct stat st;
	int fd;

	(void)state;
	/* a symbolic link is not followed, but where the user says so */
	assert_int_equal(symlink("/dev/null", path), 0);
	assert_int_equal(audit_completed(&storage, &end, &err), -1);
	assert_string_equal(err.place, path);
	setenv("AWF_AUDIT_LOG", path, 1);
	assert_int_equal(audit_completed(&storage, &end, &err), 0);
	setenv("AWF_AUDIT_LOG", "off", 1);
	assert_int_equal(audit_completed(&storage, &end, &err), 0);
	unsetenv("AWF_AUDIT_LOG");
	assert_int_equal(unlink(path), 0);
	/* a lock that somebody keeps does not stop a run for long */
	fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	assert_int_equal(flock(fd, LOCK_EX), 0);
	assert_int_equal(audit_completed(&storage, &end, &err), -1);
	close(fd);
	/* a limit is not taken for a full disk, and no part of a line is left */
	signal(SIGXFSZ, SIG_IGN);
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
	small.rlim_max = before.rlim_max;
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
	assert_int_equal(audit_completed(&storage, &end, &err), -1);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
	assert_non_null(strstr(err.message, strerror(EFBIG)));
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_size, 0);
	free(path);
}

static int
make_storage(void **state)
{
	(void)state;
	assert_non_null(mkdtemp(directory));
	unsetenv("AWF_AUDIT_LOG");
	storage.root = directory;
	return 0;
}

static int
remove_storage(void **state)
{
	char *command = memory_format("rm -rf %s", directory);
	int status = system(command);

	(void)state;
	free(command);
	return status;
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_redacts_secrets),
		cmocka_unit_test(test_shortens_step_by_step),
		cmocka_unit_test(test_lines_are_bounded_and_valid),
		cmocka_unit_test(test_long_texts_are_bounded),
		cmocka_unit_test(test_two_lines),
		cmocka_unit_test(test_concurrent_lines),
		cmocka_unit_test(test_failures_are_told),
	};

	return cmocka_run_group_tests(tests, make_storage, remove_storage);
}
