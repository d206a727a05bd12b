/*
 * awf-mcp: an MCP server on standard input and output that lets an agent outside run workflows step
 * by step.
 *
 * What the code relies on:
 *   - Requests are read one after the other, and each is responded to when its outcome is known: a
 *     request that waits does not delay others.
 *   - Everything else that must be remembered is in the transcripts of the runs (mcp/led.h).
 */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/options.h"
#include "io/file.h"
#include "io/polling.h"
#include "json/line_input.h"
#include "mcp/answers.h"
#include "mcp/approvals.h"
#include "mcp/led.h"
#include "mcp/rpc.h"
#include "mcp/status.h"
#include "mcp/tools.h"
#include "mcp/workflows.h"
#include "proc/message.h"
#include "program.h"

#define PROGRAM "awf-mcp"
#define META_VERSION "io.modelcontextprotocol/protocolVersion"
#define META_CLIENT "io.modelcontextprotocol/clientInfo"
#define INSTRUCTIONS "Workflows lead you step by step. list_workflows says which there are; " \
	"start_workflow begins one and returns the first question as `prompt` with a `continueToken`. " \
	"Do what the prompt says, then call continue_workflow with that token and your answer; it " \
	"returns the next question. Go on until isComplete is true. An answer that is refused says why: " \
	"mend it and give it again with the same token. If status is running, call wait_workflow. Never " \
	"skip a question or make up a token."

enum { OPT_WORKFLOWS = 1 };

static const struct option_spec options_table[] = {
	{ OPT_WORKFLOWS, 'w', "workflows", "DIR", "the workflows that may be started" },
	{ OPTION_END, 0, NULL, NULL, NULL },
};

struct server {
	struct leading leading;
	struct workflows workflows;
	struct tools tools;
	bool elicits;            /* as declared in `initialize` */
};

/* ---- requests ---- */

static void
mcp_store_client_name(struct server *s, struct span info)
{
	char *name = span_text(span_member(info, "name"));

	if (name == NULL || *name == '\0') {
		free(name);
		return;
	}
	free(s->leading.client);
	s->leading.client = name;
}

static void
write_capabilities(struct writer *w)
{
	writer_member_object(w, "capabilities");
	writer_member_object(w, "tools");
	writer_object_end(w);
	writer_member_object(w, "resources");
	writer_object_end(w);
	writer_object_end(w);
}

static void
answer_initialize(struct server *s, struct rpc_call *call, struct span params)
{
	struct buffer members = BUFFER_INIT;
	struct span asked = span_member(params, "protocolVersion");
	const char *version = span_type(asked) == 's' ? span_one_of(asked, rpc_handshaken) : NULL;
	struct writer w;

	mcp_store_client_name(s, span_member(params, "clientInfo"));
	s->elicits = rpc_elicits(span_member(params, "capabilities"));
	writer_begin(&w, &members);
	writer_member_string(&w, "protocolVersion", version != NULL ? version : rpc_handshaken[0]);
	write_capabilities(&w);
	writer_member_object(&w, "serverInfo");
	writer_member_string(&w, "name", PROGRAM);
	writer_member_string(&w, "version", AWF_VERSION);
	writer_object_end(&w);
	writer_member_string(&w, "instructions", INSTRUCTIONS);
	rpc_result(call, &members, false);
	buffer_free(&members);
}

static void
answer_discover(struct server *s, struct rpc_call *call, struct span params)
{
	struct buffer members = BUFFER_INIT;
	struct writer w;

	(void)s;
	(void)params;
	writer_begin(&w, &members);
	writer_member_array(&w, "supportedVersions");
	writer_string(&w, RPC_MODERN);
	writer_array_end(&w);
	write_capabilities(&w);
	writer_member_string(&w, "instructions", INSTRUCTIONS);
	rpc_result(call, &members, true);
	buffer_free(&members);
}

static void
answer_ping(struct server *s, struct rpc_call *call, struct span params)
{
	(void)s;
	(void)params;
	rpc_result(call, NULL, false);
}

static void
answer_tools(struct server *s, struct rpc_call *call, struct span params)
{
	struct buffer members = BUFFER_INIT;

	(void)params;
	tools_list(&s->tools, &members);
	rpc_result(call, &members, true);
	buffer_free(&members);
}

static void
answer_call(struct server *s, struct rpc_call *call, struct span params)
{
	tools_call(&s->tools, call, params);
}

/* ---- resources ---- */

#define URI "awf://runs/"
#define OUTPUT "/output"

static void
write_resource(struct writer *w, const struct led *led, const char *what, const char *type)
{
	char *uri = memory_format(URI "%s%s", led->run_id, what);
	char *name = memory_format("%s %.8s%s", led->workflow->name, led->run_id, what);

	writer_object(w);
	writer_member_string(w, "uri", uri);
	writer_member_string(w, "name", name);
	writer_member_string(w, "mimeType", type);
	writer_object_end(w);
	free(uri);
	free(name);
}

static void
answer_resources(struct server *s, struct rpc_call *call, struct span params)
{
	struct buffer members = BUFFER_INIT;
	struct writer w;

	(void)params;
	writer_begin(&w, &members);
	writer_member_array(&w, "resources");
	for (size_t i = 0; i < s->leading.count; i++) {
		const struct led *led = s->leading.list[i];

		if (led->run != NULL)
			write_resource(&w, led, "", "application/x-ndjson");
		if (led->stdout_sha256[0] != '\0')
			write_resource(&w, led, OUTPUT, "text/plain");
	}
	writer_array_end(&w);
	rpc_result(call, &members, true);
	buffer_free(&members);
}

static void
answer_templates(struct server *s, struct rpc_call *call, struct span params)
{
	static const char *const templates[][3] = {
		{ URI "{run}", "the transcript of a run", "application/x-ndjson" },
		{ URI "{run}" OUTPUT, "what its workflow printed", "text/plain" },
	};
	struct buffer members = BUFFER_INIT;
	struct writer w;

	(void)s;
	(void)params;
	writer_begin(&w, &members);
	writer_member_array(&w, "resourceTemplates");
	for (size_t i = 0; i < sizeof templates / sizeof *templates; i++) {
		writer_object(&w);
		writer_member_string(&w, "uriTemplate", templates[i][0]);
		writer_member_string(&w, "name", templates[i][1]);
		writer_member_string(&w, "mimeType", templates[i][2]);
		writer_object_end(&w);
	}
	writer_array_end(&w);
	rpc_result(call, &members, true);
	buffer_free(&members);
}

/* Appends the contents of the resource with a URI, and returns its type; NULL with *err: there is
 * none. */
static const char *
read_resource(struct server *s, const char *uri, struct buffer *text, struct error *err)
{
	char run_id[ID_SIZE] = "", *path;
	const char *rest = uri + strlen(URI), *what;
	const struct led *led;
	int failed;

	if (strncmp(uri, URI, strlen(URI)) == 0 && strlen(rest) >= ID_SIZE - 1)
		memcpy(run_id, rest, ID_SIZE - 1);
	led = leading_find(&s->leading, run_id);
	if (led == NULL || led->run == NULL) {
		error_set(err, ERROR_USAGE, uri, "is no resource of a run that this session leads");
		return NULL;
	}
	what = rest + ID_SIZE - 1;
	if (strcmp(what, OUTPUT) == 0)
		return status_output(&s->leading, led, text, err) == 0 ? "text/plain" : NULL;
	if (*what != '\0') {
		error_set(err, ERROR_USAGE, uri, "is no resource of a run that this session leads");
		return NULL;
	}
	path = storage_transcript(&s->leading.storage, run_id);
	failed = file_load(path, SCAN_LINE_LIMIT, text, err);
	free(path);
	return failed == 0 ? "application/x-ndjson" : NULL;
}

static void
answer_read(struct server *s, struct rpc_call *call, struct span params)
{
	struct buffer members = BUFFER_INIT, text = BUFFER_INIT;
	char *uri = span_text(span_member(params, "uri"));
	struct error err = ERROR_INIT;
	const char *type = uri != NULL ? read_resource(s, uri, &text, &err) : NULL;
	struct writer w;

	if (type == NULL) {
		rpc_error(call, JSONRPC_PARAMS, SPAN_NONE, "%s: %s", uri != NULL ? uri : "uri",
		    uri != NULL ? err.message : "is missing");
	} else {
		writer_begin(&w, &members);
		writer_member_array(&w, "contents");
		writer_object(&w);
		writer_member_string(&w, "uri", uri);
		writer_member_string(&w, "mimeType", type);
		writer_key(&w, "text");
		writer_bytes(&w, buffer_string(&text), text.len);
		writer_object_end(&w);
		writer_array_end(&w);
		rpc_result(call, &members, true);
	}
	buffer_free(&members);
	buffer_free(&text);
	free(uri);
}

/* ---- messages ---- */

static const struct method {
	const char *name;
	void (*answer)(struct server *s, struct rpc_call *call, struct span params);
} methods[] = {
	{ "initialize", answer_initialize }, { "server/discover", answer_discover },
	{ "ping", answer_ping }, { "tools/list", answer_tools }, { "tools/call", answer_call },
	{ "resources/list", answer_resources }, { "resources/templates/list", answer_templates },
	{ "resources/read", answer_read },
};

/* Refuses a request with a protocol version that is not supported. */
static bool
refuse_version(const struct rpc_call *call, struct span version)
{
	struct buffer data = BUFFER_INIT;
	struct writer w;

	if (!call->modern || span_is(version, RPC_MODERN))
		return false;
	writer_begin(&w, &data);
	writer_object(&w);
	writer_member_array(&w, "supported");
	writer_string(&w, RPC_MODERN);
	writer_array_end(&w);
	writer_member_span(&w, "requested", version);
	writer_object_end(&w);
	rpc_error(call, RPC_VERSION, span_of(data.data, data.len), "Unsupported protocol version");
	buffer_free(&data);
	return true;
}

static void
mcp_dispatch_message(struct server *s, struct span message)
{
	struct span params = span_member(message, "params"), method = span_member(message, "method");
	struct span id = span_member(message, "id");
	struct rpc_call call = { .id = NULL };

	if (span_type(message) != 'o' || (id.at != NULL && strchr("sn", span_type(id)) == NULL)) {
		rpc_error(&call, JSONRPC_INVALID, SPAN_NONE, "a request is an object, whose id is a text or a number");
		return;
	}
	if (method.at != NULL && span_type(method) != 's') {
		rpc_call_begin(&call, message, params);
		rpc_error(&call, JSONRPC_INVALID, SPAN_NONE, "method: is to be a text");
		rpc_call_free(&call);
		return;
	}
	if (method.at == NULL) {
		leading_said(&s->leading, id, span_member(message, "result"));
		return;
	}
	if (span_is(method, "notifications/cancelled"))
		leading_cancelled(&s->leading, span_member(params, "requestId"));
	if (id.at == NULL)
		return;
	rpc_call_begin(&call, message, params);
	if (!call.modern)
		call.elicits = s->elicits;
	mcp_store_client_name(s, span_path(params, "_meta", META_CLIENT, NULL));
	if (!refuse_version(&call, span_path(params, "_meta", META_VERSION, NULL))) {
		size_t at = 0;

		while (at < sizeof methods / sizeof *methods && !span_is(method, methods[at].name))
			at++;
		if (at < sizeof methods / sizeof *methods)
			methods[at].answer(s, &call, params);
		else
			rpc_error(&call, JSONRPC_NO_METHOD, SPAN_NONE, "no such method");
	}
	rpc_call_free(&call);
}

static void
mcp_parse_line(struct server *s, const char *line, size_t len)
{
	const struct rpc_call unknown = { .id = NULL };
	size_t bad;
	const char *wrong = scan_within(line, len, SCAN_LINE_DEPTH, &bad);
	const struct span message = span_trim(span_of(line, len));

	if (message.len == 0)
		return; /* an empty line is not a message, and gets no reply */
	if (wrong != NULL)
		rpc_error(&unknown, JSONRPC_PARSE, SPAN_NONE, "byte %zu: %s", bad + 1, wrong);
	else if (span_type(message) != 'a' || span_element(message, 0).at == NULL)
		mcp_dispatch_message(s, message);
	else /* a batch (2025-03-26): each message gets a response of its own */
		for (struct span_walk each = span_walk(message); span_next(&each);)
			mcp_dispatch_message(s, each.value);
}

/* Serves the client until it has disconnected. */
static int
mcp_serve_client(struct server *s, struct error *err)
{
	struct line_input input;
	struct pollfd *fds = memory_array(NULL, 1, sizeof *fds);
	const char *line;
	int failed = 0, taken = 0;
	size_t len;

	line_input_begin(&input, STDIN_FILENO, "stdin");
	while (failed == 0 && !input.ended) {
		int64_t deadline;
		size_t count = leading_polls(&s->leading, &fds, 1, &deadline);

		fds[0] = (struct pollfd){ .fd = STDIN_FILENO, .events = POLLIN };
		if (poll_until(fds, count, deadline) == -1)
			failed = error_errno(err, ERROR_SYSTEM, NULL, "unable to wait");
		if (failed == 0 && fds[0].revents != 0 && line_input_read(&input) == -1 && errno != EINTR &&
		    errno != EAGAIN)
			failed = error_errno(err, ERROR_SYSTEM, "stdin", "unable to read");
		while (failed == 0 && (taken = line_input_take(&input, &line, &len)) == 1)
			mcp_parse_line(s, line, len);
		if (failed == 0 && taken == -1)
			failed = error_set(err, ERROR_INVALID_INPUT, "stdin", "a message is above 256 MiB");
		if (failed == 0)
			failed = leading_step(&s->leading, err);
		if (failed == 0)
			answers_step(&s->leading);
	}
	line_input_free(&input);
	free(fds);
	return failed;
}

int
main(int argc, char **argv)
{
	struct server server = { .tools = { NULL, NULL } };
	struct error err = ERROR_INIT;
	const char *workflows = NULL;
	struct options o;
	int id, failed;

	program_begin();
	options_begin(&o, options_table, argc, argv);
	while ((id = options_next(&o, &err)) != OPTION_END) {
		if (OPTION_ASKS(id)) {
			if (id == OPTION_VERSION)
				return program_end(PROGRAM, program_version(PROGRAM));
			options_help(stdout, PROGRAM " -w DIR\n", options_table, id);
			return program_end(PROGRAM, STATUS_OK);
		}
		if (id == OPTION_WORD)
			error_set(&err, ERROR_USAGE, o.value, "no such argument (" PROGRAM " --help)");
		if (id == OPTION_WORD || id == -1)
			return program_fail(PROGRAM, &err);
		workflows = o.value;
	}
	if (workflows == NULL) {
		error_set(&err, ERROR_USAGE, NULL, "no directory of workflows given: --workflows "
		    "DIR");
		return program_fail(PROGRAM, &err);
	}
	signal(SIGPIPE, SIG_IGN);
	server.tools = (struct tools){ &server.leading, &server.workflows };
	failed = workflows_load(&server.workflows, workflows, &err);
	for (char **file = server.workflows.too_large; file != NULL && *file != NULL; file++)
		message_print(PROGRAM, "%s/%s: is larger than 16 MiB, and no workflow", workflows, *file);
	if (failed == 0)
		failed = leading_begin(&server.leading, &server.workflows, &err);
	if (failed == 0) {
		failed = mcp_serve_client(&server, &err);
		leading_end(&server.leading);
	}
	workflows_free(&server.workflows);
	return failed == 0 ? STATUS_OK : program_fail(PROGRAM, &err);
}
