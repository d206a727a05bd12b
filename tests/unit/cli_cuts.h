/*
 * The body of the tests of agent CLIs, which include the CLI's file before it: each
 * recorded run (tests/fixtures/cli, ../shared/captures), cut at every byte, is an error
 * unless it is whole, and leaves no call without a result.
 */
#include "tier.h"
#include "unit.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "io/file.h"

#define WHOLE_LIMIT ((size_t)16 << 10) /* larger ones are cut line by line */

/* A provider that nobody listens to. */
static max_align_t nobody[1024];
static struct provider_request request;

struct recorded_run {
	struct buffer output;
	int exit_code;
};

static void
begin_run(struct cli_run *r)
{
	static const char messages[] =
	    "[{\"role\":\"user\",\"blocks\":[{\"type\":\"text\",\"text\":\"x\"}]}]";

	request.model = span_of("\"m\"", 3);
	request.messages = span_of(messages, sizeof messages - 1);
	cli_begin(r, &cli, (struct provider *)(void *)nobody, &request);
}

/* What holds of every run that has ended. */
static void
check_end(struct cli_run *r, const struct recorded_run *run, size_t len)
{
	cli_end(r, run->exit_code);
	for (size_t i = 0; i < r->call_count; i++)
		assert_true(r->calls[i].answered);
	if (r->failed)
		assert_true(r->failure.error.message[0] != '\0');
	else
		assert_true(len + 1 >= run->output.len);
	cli_free(r);
}

static void
cut_at(const struct recorded_run *run, size_t len)
{
	struct cli_run r;

	begin_run(&r);
	cli_feed(&r, run->output.data, len);
	check_end(&r, run, len);
}

/* A part of a line changes nothing, so that a cut in it is one before it. */
static void
cut_line(const struct recorded_run *run, size_t at, size_t end)
{
	struct cli_run r;

	begin_run(&r);
	cli_feed(&r, run->output.data, at);
	for (size_t len = 1; at + len < end; len += tier_stride(17)) {
		size_t blocks = r.message.count, noise = r.noise;
		bool failed = r.failed, ended = r.message.ended;

		cli_feed(&r, run->output.data + at, len);
		cli_feed(&r, "\n", 1);
		assert_int_equal(r.message.count, blocks);
		assert_int_equal(r.noise, noise + 1);
		assert_int_equal(r.failed, failed);
		assert_int_equal(r.message.ended, ended);
	}
	check_end(&r, run, at);
}

static void
cut_everywhere(const struct recorded_run *run)
{
	const char *output = run->output.data;
	size_t at, end;

	for (at = 0; run->output.len <= WHOLE_LIMIT && at <= run->output.len; at += tier_stride(17))
		cut_at(run, at);
	for (at = 0; run->output.len > WHOLE_LIMIT && at < run->output.len; at = end + 1) {
		const char *lf = memchr(output + at, '\n', run->output.len - at);

		end = lf == NULL ? run->output.len : (size_t)(lf - output);
		cut_line(run, at, end);
		cut_at(run, end);
	}
}

static bool
load_run(struct recorded_run *run, const char *directory, const char *name)
{
	static const char extension[] = ".stdout.jsonl";
	size_t len = strlen(name), stem = len - (sizeof extension - 1);
	struct buffer path = BUFFER_INIT, status = BUFFER_INIT;
	struct error err;

	if (len < sizeof extension || strcmp(name + stem, extension) != 0)
		return false;
	buffer_format(&path, "%s/%s", directory, name);
	assert_int_equal(file_load(path.data, SCAN_LINE_LIMIT, &run->output, &err), 0);
	buffer_clear(&path);
	buffer_format(&path, "%s/%.*s.exit", directory, (int)stem, name);
	assert_int_equal(file_load(path.data, 16, &status, &err), 0);
	run->exit_code = (int)strtol(status.data, NULL, 10);
	buffer_free(&path);
	buffer_free(&status);
	return run->output.len > 0;
}

/* How many runs there were in the directory. */
static int
cut_directory(const char *directory)
{
	DIR *entries = opendir(directory);
	struct dirent *entry;
	int count = 0;

	while (entries != NULL && (entry = readdir(entries)) != NULL) {
		struct recorded_run run = { BUFFER_INIT, 0 };

		if (load_run(&run, directory, entry->d_name)) {
			cut_everywhere(&run);
			count++;
		}
		buffer_free(&run.output);
	}
	if (entries != NULL)
		closedir(entries);
	return count;
}

/* What the provider says goes nowhere meanwhile. */
static int
cut_quietly(const char *directory)
{
	int out = dup(STDOUT_FILENO), err = dup(STDERR_FILENO);
	int nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC), count;

	fflush(stdout);
	dup2(nowhere, STDOUT_FILENO);
	dup2(nowhere, STDERR_FILENO);
	count = cut_directory(directory);
	dup2(out, STDOUT_FILENO);
	dup2(err, STDERR_FILENO);
	close(nowhere);
	close(out);
	close(err);
	return count;
}

static void
fixtures_cut_at_every_byte(void **state)
{
	char path[64];

	(void)state;
	snprintf(path, sizeof path, "tests/fixtures/cli/%s", cli.name);
	assert_true(cut_quietly(path) > 1);
}

static void
captures_cut_at_every_byte(void **state)
{
	const char *captures = getenv("AWF_CAPTURES");
	char path[1024];

	(void)state;
	snprintf(path, sizeof path, "%s/%s", captures == NULL ? "../shared/captures" : captures,
	    cli.name);
	if (access(path, F_OK) != 0)
		skip();
	assert_true(cut_quietly(path) > 10);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(fixtures_cut_at_every_byte),
		cmocka_unit_test(captures_cut_at_every_byte),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
