/*
 * Writes a transcript of about BYTES bytes to FILE: one run of many agent calls
 * with model turns, tool calls and their results, and commands between them, with
 * causes, pairs and chain as AWF writes them. The same BYTES give the same file.
 * usage: gen_transcript BYTES FILE
 */
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/clock.h"
#include "base/digest.h"
#include "base/id.h"
#include "io/file.h"

#define FLUSH_ABOVE ((size_t)4 << 20)
#define START INT64_C(1795248000000000) /* 2026-11-21 */
#define CALLS_AT_ONCE 3
#define PROSE_SIZE 65536

struct generator {
	int fd;
	uint64_t random;
	struct buffer out;
	int64_t written, seq, wall;
	char run_id[ID_SIZE], run_started[ID_SIZE], prev[DIGEST_SIZE];
	char digest[DIGEST_SIZE]; /* stands for digests of things that do not exist */
	char prose[PROSE_SIZE];
	size_t line;              /* where the line being written begins */
	int64_t calls, input_tokens, output_tokens;
};

/* xorshift64*, so that every machine writes the same file. */
static uint64_t
next_random(struct generator *g)
{
	g->random ^= g->random >> 12;
	g->random ^= g->random << 25;
	g->random ^= g->random >> 27;
	return g->random * UINT64_C(2685821657736338717);
}

static size_t
below(struct generator *g, size_t limit)
{
	return (size_t)(next_random(g) >> 33) % limit;
}

static void
new_id(struct generator *g, char id[ID_SIZE])
{
	uint64_t high = next_random(g), low = next_random(g);

	snprintf(id, ID_SIZE, "%08x-%04x-4%03x-%04x-%012llx", (unsigned)(high >> 32),
	    (unsigned)(high >> 16 & 0xffff), (unsigned)(high & 0xfff),
	    (unsigned)(0x8000 | (low >> 48 & 0x3fff)), (unsigned long long)(low & 0xffffffffffff));
}

static void
make_prose(struct generator *g)
{
	static const char *const words[] = { "the", "battery", "of", "a", "solid", "electrolyte",
		"conducts", "ions", "while", "function", "returns", "value", "when", "file", "reads",
		"and", "tests", "pass", "error", "handling", "über", "naïve", "is", "measured" };
	size_t len = 0;

	while (len + 16 < PROSE_SIZE) {
		const char *word = words[below(g, sizeof words / sizeof *words)];

		len += (size_t)snprintf(g->prose + len, PROSE_SIZE - len, "%s ", word);
	}
	memset(g->prose + len, '.', PROSE_SIZE - len);
}

static void
flush(struct generator *g)
{
	if (file_write(g->fd, g->out.data, g->out.len) != 0) {
		fprintf(stderr, "gen_transcript: unable to write: %s\n", strerror(errno));
		exit(4);
	}
	g->written += (int64_t)g->out.len;
	buffer_clear(&g->out);
}

static void put(struct generator *g, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
static void
put(struct generator *g, const char *format, ...)
{
	char text[1024];
	va_list list;

	va_start(list, format);
	vsnprintf(text, sizeof text, format, list);
	va_end(list);
	buffer_text(&g->out, text);
}

/* About len bytes of text, whole characters, as the inside of a JSON string. */
static void
put_prose(struct generator *g, size_t len)
{
	while (len > 0) {
		size_t piece = len < 400 ? len : 400, at = below(g, PROSE_SIZE - piece);

		while (((unsigned char)g->prose[at] & 0xc0) == 0x80)
			at--;
		while (at + piece < PROSE_SIZE && ((unsigned char)g->prose[at + piece] & 0xc0) == 0x80)
			piece--;
		buffer_append(&g->out, g->prose + at, piece);
		buffer_text(&g->out, "\\n\\t\\\"quoted\\\" ");
		len -= piece < len ? piece : len;
	}
}

/* Begins a line up to its payload; id is that of the event, links the inside of
 * an array, "" if there are none. */
static void
begin_line(struct generator *g, const char *type, const char *path, const char *parent,
    const char *links, char id[ID_SIZE])
{
	char time[CLOCK_TEXT_SIZE];

	new_id(g, id);
	g->line = g->out.len;
	g->wall += (int64_t)below(g, 400000) + 100;
	put(g, "{\"seq\":%lld,\"timestamp\":\"%s\",\"event_id\":\"%s\",\"run_id\":\"%s\",",
	    (long long)++g->seq, clock_text(g->wall, time), id, g->run_id);
	put(g, *parent ? "\"parent_event_id\":\"%s\"," : "\"parent_event_id\":null,", parent);
	if (*links)
		put(g, "\"links\":[%s],", links);
	put(g, "\"type\":\"%s\",\"path\":\"%s\",\"iteration\":0,\"payload\":", type, path);
}

static void
end_line(struct generator *g)
{
	put(g, ",\"prev\":\"%s\"}", g->prev);
	digest_blake2b(g->out.data + g->line, g->out.len - g->line, g->prev);
	buffer_byte(&g->out, '\n');
	if (g->out.len > FLUSH_ABOVE)
		flush(g);
}

static void
message_user(struct generator *g, const char *name, char last[ID_SIZE])
{
	char id[ID_SIZE];

	begin_line(g, "message.user", name, last, "", id);
	put(g, "{\"role\":\"user\",\"blocks\":[{\"type\":\"text\",\"fidelity\":\"router\",\"text\":\"");
	put_prose(g, 200 + below(g, 800));
	put(g, "\"}],\"system_prompt\":\"You are %s.\",\"tools\":[{\"name\":\"read\",\"input_schema\":"
	    "{\"type\":\"object\"}}],\"params\":{\"max_tokens\":4096},\"turn\":0}", name);
	end_line(g);
	memcpy(last, id, ID_SIZE);
}

/* A model's answer with `calls` tool calls; their numbers go on from *tool. */
static void
message_assistant(struct generator *g, const char *name, size_t turn, size_t calls, long tool,
    const char *links, char last[ID_SIZE])
{
	size_t input = 800 + below(g, 4000), output = 40 + below(g, 600);
	char id[ID_SIZE];

	begin_line(g, "message.assistant", name, last, links, id);
	put(g, "{\"role\":\"assistant\",\"blocks\":[{\"type\":\"text\",\"fidelity\":\"agent_emitted\","
	    "\"text\":\"");
	put_prose(g, 100 + below(g, 1200));
	put(g, "\"}");
	for (size_t i = 0; i < calls; i++)
		put(g, ",{\"type\":\"tool_use\",\"fidelity\":\"agent_emitted\",\"tool_name\":\"read\","
		    "\"tool_id\":\"toolu_%ld\",\"tool_input\":{\"path\":\"src/file_%ld.c\"}}",
		    tool + (long)i, tool + (long)i);
	put(g, "],\"model\":\"claude-sonnet-4\",\"stop_reason\":\"%s\",\"usage\":{\"input_tokens\":%zu,"
	    "\"output_tokens\":%zu},\"duration_ms\":%zu,\"turn\":%zu,\"request_sha256\":\"%s\"}",
	    calls ? "tool_use" : "end_turn", input, output, 300 + below(g, 3000), turn, g->digest);
	end_line(g);
	g->input_tokens += (int64_t)input;
	g->output_tokens += (int64_t)output;
	memcpy(last, id, ID_SIZE);
}

/* The calls of one turn and their results. last is the message before, and the
 * first result after; links the other results. */
static void
tool_calls(struct generator *g, const char *name, size_t calls, long tool, char *links,
    size_t size, char last[ID_SIZE])
{
	char ids[CALLS_AT_ONCE][ID_SIZE], first[ID_SIZE] = "";

	*links = '\0';
	for (size_t i = 0; i < calls; i++) {
		begin_line(g, "tool.call", name, last, "", ids[i]);
		put(g, "{\"name\":\"read\",\"call_id\":\"toolu_%ld\",\"input\":{\"path\":\"src/file_%ld.c\"},"
		    "\"effects\":\"none\",\"fidelity\":\"router\"}", tool + (long)i, tool + (long)i);
		end_line(g);
	}
	for (size_t i = 0; i < calls; i++) {
		char id[ID_SIZE];
		size_t used = strlen(links);

		begin_line(g, "tool.result", name, ids[i], "", id);
		put(g, "{\"name\":\"read\",\"call_id\":\"toolu_%ld\",\"output\":\"", tool + (long)i);
		put_prose(g, 100 + below(g, 4000));
		put(g, "\",\"effects\":\"none\",\"duration_ms\":%zu,\"fidelity\":\"router\"}", below(g, 40));
		end_line(g);
		if (i == 0)
			memcpy(first, id, ID_SIZE);
		else
			snprintf(links + used, size - used, "%s\"%s\"", used ? "," : "", id);
	}
	memcpy(last, first, ID_SIZE);
}

static void
agent_turns(struct generator *g, const char *name, long call, char last[ID_SIZE])
{
	char links[CALLS_AT_ONCE * (ID_SIZE + 3)] = "";
	size_t turns = 1 + below(g, 4);
	long tool = call * 100;

	message_user(g, name, last);
	for (size_t turn = 0; turn < turns; turn++) {
		size_t calls = 1 + below(g, CALLS_AT_ONCE);

		message_assistant(g, name, turn, calls, tool, links, last);
		tool_calls(g, name, calls, tool, links, sizeof links, last);
		tool += (long)calls;
	}
	message_assistant(g, name, turns, 0, tool, links, last);
}

/* One call of a step, an agent's or a command's. */
static void
step(struct generator *g, long call)
{
	static const char *const names[] = { "research", "analyse", "write", "check" };
	bool command = call % 4 == 3;
	const char *name = names[call % 4], *kind = command ? "command" : "agent";
	char id[ID_SIZE], last[ID_SIZE];

	begin_line(g, "step.started", name, g->run_started, "", id);
	put(g, "{\"name\":\"%s\",\"kind\":\"%s\",\"call\":\"%s:%ld:0\",\"attempt\":1,\"input_sha256\":"
	    "\"%s\",\"input\":\"", name, kind, name, call / 4, g->digest);
	put_prose(g, 100 + below(g, 800));
	put(g, "\",\"definition_sha256\":\"%s\",\"effects\":\"none\",", g->digest);
	put(g, command ? "\"blocks\":[{\"type\":\"command\",\"fidelity\":\"router\",\"command\":"
	    "\"make check\"}]}" : "\"agent\":\"agent\",\"provider\":\"anthropic\",\"model\":"
	    "\"claude-sonnet-4\"}");
	end_line(g);
	memcpy(last, id, ID_SIZE);
	if (!command)
		agent_turns(g, name, call, last);
	begin_line(g, "step.completed", name, last, "", id);
	put(g, "{\"name\":\"%s\",\"kind\":\"%s\",\"call\":\"%s:%ld:0\",\"result\":\"", name, kind, name,
	    call / 4);
	put_prose(g, 100 + below(g, 1500));
	put(g, "\",\"duration_ms\":%zu%s}", below(g, 20000), command ? ",\"exit_code\":0" : "");
	end_line(g);
	g->calls++;
}

static void
run(struct generator *g, int64_t bytes)
{
	char id[ID_SIZE];

	new_id(g, g->run_id);
	begin_line(g, "run.started", "", "", "", g->run_started);
	put(g, "{\"name\":\"bench\",\"kind\":\"workflow\",\"argv\":[\"./bench.awf\"],\"cwd\":\"/\","
	    "\"inputs\":{},\"env\":{},\"awf_version\":\"0.1.0\",\"format\":1,\"attempt\":1}");
	end_line(g);
	for (long call = 0; g->written + (int64_t)g->out.len < bytes; call++)
		step(g, call);
	begin_line(g, "run.completed", "", g->run_started, "", id);
	put(g, "{\"status\":\"success\",\"exit_code\":0,\"error\":null,\"duration_ms\":%lld,\"usage\":"
	    "{\"calls\":%lld,\"input_tokens\":%lld,\"output_tokens\":%lld}}",
	    (long long)(g->wall - START) / 1000, (long long)g->calls, (long long)g->input_tokens,
	    (long long)g->output_tokens);
	end_line(g);
	flush(g);
}

int
main(int argc, char **argv)
{
	static struct generator g = { .random = UINT64_C(0x9e3779b97f4a7c15), .wall = START };
	long long bytes = argc == 3 ? atoll(argv[1]) : 0;

	if (bytes <= 0) {
		fprintf(stderr, "usage: gen_transcript BYTES FILE\n");
		return 1;
	}
	g.fd = open(argv[2], O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	if (g.fd < 0) {
		fprintf(stderr, "gen_transcript: %s: %s\n", argv[2], strerror(errno));
		return 4;
	}
	memset(g.prev, '0', DIGEST_SIZE - 1);
	digest_sha256("", 0, g.digest);
	make_prose(&g);
	run(&g, bytes);
	buffer_free(&g.out);
	return 0;
}
