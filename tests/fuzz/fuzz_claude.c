/*
 * Anything as the output of an agent CLI: it ends in a failure, or in a message that
 * awf-step can read; no call is left open.
 */
#include <assert.h>
#include <stddef.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <unistd.h>

int program(int argc, char **argv); /* the provider's main() */
int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define main program
#include "../../cmd/provider/claude_main.c"
#undef main

/* A provider that nobody listens to; what it and the CLI's module say goes nowhere. */
static max_align_t nobody[1024];

int
LLVMFuzzerInitialize(int *argc, char ***argv)
{
	(void)argc;
	(void)argv;
	stderr = fopen("/dev/null", "we");
	dup2(open("/dev/null", O_WRONLY | O_CLOEXEC), STDOUT_FILENO);
	return 0;
}

static void
check_message(const struct message *m)
{
	struct buffer answer = BUFFER_INIT;
	struct writer w;
	size_t bad;

	writer_begin(&w, &answer);
	writer_object(&w);
	message_write(m, &w);
	writer_object_end(&w);
	assert(scan_within(answer.data, answer.len, SCAN_LINE_DEPTH, &bad) == NULL);
	buffer_free(&answer);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char messages[] =
	    "[{\"role\":\"user\",\"blocks\":[{\"type\":\"text\",\"text\":\"x\"}]}]";
	static struct provider_request request;
	struct cli_run r;

	request.model = span_of("\"m\"", 3);
	request.messages = span_of(messages, sizeof messages - 1);
	cli_begin(&r, &cli, (struct provider *)(void *)nobody, &request);
	cli_feed(&r, (const char *)data, size / 2);
	cli_feed(&r, (const char *)data + size / 2, size - size / 2);
	cli_end(&r, 0);
	for (size_t i = 0; i < r.call_count; i++)
		assert(r.calls[i].answered);
	if (!r.failed)
		check_message(&r.message);
	cli_free(&r);
	return 0;
}
