/*
 * Recordings of AgentLoom: whatever the file, it is refused with one line, or every
 * request gets an answer that is one, or an error.
 */
#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "../../cmd/provider/agentloom.h"
#include "base/memory.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void
check_answer(const struct buffer *answer)
{
	struct span line = span_of(answer->data, answer->len);
	size_t bad;

	assert(scan_within(line.at, line.len, SCAN_LINE_DEPTH, &bad) == NULL);
	assert(span_type(span_member(line, "blocks")) == 'a');
	assert(span_type(span_member(line, "usage")) == 'o');
	for (struct span_walk block = span_walk(span_member(line, "blocks")); span_next(&block);)
		assert(span_type(span_member(block.value, "type")) == 's');
}

static void
ask(struct agentloom *a, const char *line)
{
	struct span request = span_of(line, strlen(line));
	const struct provider_request r = { .line = request, .step = span_member(request, "step"),
		.model = span_member(request, "model"), .messages = span_member(request, "messages") };
	char sha256[DIGEST_SIZE];
	struct buffer answer = BUFFER_INIT;
	struct error err = ERROR_INIT;

	if (agentloom_answer(a, &r, digest_sha256(line, strlen(line), sha256), &answer, &err) == 0)
		check_answer(&answer);
	else
		assert((err.code == ERROR_INVALID || err.code == ERROR_CUT_OFF) && err.message[0] != '\0');
	buffer_free(&answer);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char *const requests[] = {
		"{\"step\":\"a\",\"model\":\"m\",\"messages\":[{\"role\":\"user\",\"blocks\":[{\"type\":\"text\",\"text\":\"q\"}]}]}",
		"{\"step\":\"g.b\",\"model\":\"m\",\"messages\":[{\"role\":\"user\",\"blocks\":[{\"type\":\"thinking\"}]}]}",
		"{\"model\":\"m\",\"messages\":[]}"
	};
	struct agentloom a = { .given = { .fd = -1, .seen = MAP_INIT } };
	struct buffer text = BUFFER_INIT;
	struct error err = ERROR_INIT;

	buffer_append(&text, data, size);
	if (agentloom_file_parse(&a.file, "file", &text, &err) == 0)
		for (size_t i = 0; i < 3 * sizeof requests / sizeof *requests; i++)
			ask(&a, requests[i / 3]);
	else
		assert(err.code == ERROR_INVALID && err.message[0] != '\0');
	agentloom_free(&a);
	return 0;
}
