/*
 * OpenCode: `opencode run --format json`. A tool's line comes after it has ended, with call and
 * result. There is no last line: the answer is complete if a step finished that called no tools,
 * and the exit status is 0.
 */
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "cli.h"

static const char usage[] =
"awf-provider-opencode < requests\n"
"\n"
"Runs OpenCode (opencode) for awf-step: one request per line on stdin, answers on\n"
"stdout, see awf-provider(7). It has the login and the settings of its user. A\n"
"model is named PROVIDER/MODEL, as opencode does.";

static const char *const keys[] = { "ANTHROPIC_API_KEY", "OPENAI_API_KEY", "GEMINI_API_KEY",
	"GOOGLE_API_KEY", "OPENCODE_API_KEY", NULL };

static const struct cli_tool tools[] = {
	{ "read", "read", NULL },
	{ "write", "write", "filePath" },
	{ "edit", "edit", "filePath" },
	{ "bash", "bash", NULL },
	{ "glob", "glob", NULL },
	{ "grep", "grep", NULL },
	{ NULL, NULL, NULL }
};

/* It has a setting for that, but loads plugins all the same. */
static void
opencode_distrust_project(struct cli_run *r)
{
	static const char *const switches[] = { "OPENCODE_DISABLE_PROJECT_CONFIG",
		"OPENCODE_DISABLE_CLAUDE_CODE", "OPENCODE_DISABLE_EXTERNAL_SKILLS" };
	static const char *const names[] = { "opencode.json", "opencode.jsonc", ".opencode/opencode.json",
		".opencode/opencode.jsonc", ".opencode/plugin", ".opencode/plugins", NULL };
	char *path = cli_project_file(names);

	for (size_t i = 0; i < sizeof switches / sizeof *switches; i++)
		environment_set(&r->start.environment, switches[i], "1");
	if (path != NULL)
		cli_fail_as(r, ERROR_INVALID, "opencode would load %s, and cannot be told not to: remove "
		    "it, or allow project_settings", path);
	free(path);
}

static void
opencode_set_arguments(struct cli_run *r)
{
	static const char *const arguments[] = { "run", "--format", "json", "--thinking", "--auto",
	    "--agent", "awf", "--print-logs", "--log-level", "ERROR", NULL };
	char *system = cli_system(r);
	struct buffer config = BUFFER_INIT;
	struct writer w;

	cli_arguments(r, arguments);
	if (!r->start.project_settings)
		opencode_distrust_project(r);
	cli_model(r, "--model");
	/* A session with a title needs no model that invents one. */
	if (r->start.session != NULL)
		cli_argument(r, "--session", r->start.session);
	else
		cli_argument(r, "--title", "awf");

	/* Configures an agent with the system prompt and the tools of this request. */
	writer_begin(&w, &config);
	writer_object(&w);
	/* Language servers and formatters run programs of the project: its tsserver, its
	 * prettier. */
	if (!r->start.project_settings) {
		writer_member_bool(&w, "lsp", false);
		writer_member_bool(&w, "formatter", false);
	}
	writer_member_object(&w, "agent");
	writer_member_object(&w, "awf");
	writer_member_string(&w, "mode", "primary");
	writer_member_string(&w, "prompt", system);
	writer_member_object(&w, "tools");
	writer_member_bool(&w, "*", false);
	for (const struct cli_tool *tool = tools; tool->ours != NULL; tool++)
		writer_member_bool(&w, tool->theirs, cli_allows(r, tool->ours));
	if (cli_serves(r, NULL))
		writer_member_bool(&w, "awf_*", true);
	writer_object_end(&w);
	writer_object_end(&w);
	writer_object_end(&w);
	if (cli_serves(r, NULL)) {
		writer_member_object(&w, "mcp");
		writer_member_object(&w, "awf");
		writer_member_string(&w, "type", "local");
		writer_member_array(&w, "command");
		writer_string(&w, cli_server_program(r));
		writer_array_end(&w);
		cli_write_server(r, &w, "environment");
		writer_member_bool(&w, "enabled", true);
		writer_member_integer(&w, "timeout", 86400000);
		writer_object_end(&w);
		writer_object_end(&w);
	}
	writer_object_end(&w);
	environment_set(&r->start.environment, "OPENCODE_CONFIG_CONTENT", config.data);
	environment_set(&r->start.environment, "OPENCODE_DISABLE_AUTOUPDATE", "1");
	buffer_free(&config);
	free(system);
}

static bool
opencode_set_param(struct cli_run *r, struct span key, struct span value)
{
	return span_is(key, "thinking") && cli_effort(r, "--variant", value);
}

/* A step's "reason" is a finishReason of the AI SDK,
 * https://ai-sdk.dev/docs/reference/ai-sdk-core/generate-text; tool-calls is not an end here. */
static const struct end ends[] = {
	{ "stop", "end_turn", ERROR_NONE },
	{ "length", "max_tokens", ERROR_NONE },
	{ "content-filter", "refusal", ERROR_NONE },
	{ "error", NULL, ERROR_CUT_OFF },
	{ NULL, NULL, ERROR_NONE }
};

/* For one request: input without cached input, output without reasoning. */
static const struct usage_place usage_places[] = {
	USAGE(input, "input"),
	USAGE_IN(input, "cache", "read"),
	USAGE_IN(input, "cache", "write"),
	USAGE(output, "output"),
	USAGE(output, "reasoning"),
	USAGE_IN(cache_read, "cache", "read"),
	USAGE_IN(cache_write, "cache", "write"),
	USAGE(reasoning, "reasoning"),
	USAGE_END
};

static void
opencode_read_line(struct cli_run *r, struct span type, struct span line)
{
	struct span part = span_member(line, "part");

	if (span_is(type, "text")) {
		cli_text(r, span_member(part, "text"));
	} else if (span_is(type, "reasoning")) {
		cli_thinking(r, span_member(part, "text"), SPAN_NONE);
	} else if (span_is(type, "tool_use")) {
		struct span id = span_member(part, "callID"), state = span_member(part, "state");
		char *name = span_text(span_member(part, "tool"));
		bool failed = span_is(span_member(state, "status"), "error");

		cli_call(r, "tool_use", id, name, span_member(state, "input"));
		cli_result(r, "tool_use", id, span_member(state, failed ? "error" : "output"),
		    failed ? ERROR_EXIT_STATUS : ERROR_NONE);
		free(name);
	} else if (span_is(type, "step_start")) {
		/* A step after one that did not finish is a new try of it. */
		text_once(&r->message.session_id, span_member(line, "sessionID"));
		r->strange_end.code = ERROR_NONE;
		r->message.ended = false;
		r->steps++;
	} else if (span_is(type, "step_finish")) {
		struct span reason = span_member(part, "reason");

		r->steps = 0;
		usage_sum(&r->message.usage, span_member(part, "tokens"), usage_places);
		if (!span_is(reason, "tool-calls"))
			cli_ended(r, ends, span_type(reason) == 's' ? reason : span_of("\"\"", 2));
	} else if (span_is(type, "error")) {
		struct span error = span_member(line, "error"), name = span_member(error, "name");
		struct span data = span_member(error, "data");
		struct span message = span_member(data, "message");
		long long status = 0;

		number_set(&status, span_member(data, "statusCode"));
		if (status == 0 && span_is(name, "ProviderAuthError"))
			status = 401;
		if (span_is(name, "MessageAbortedError"))
			cli_fail_as(r, ERROR_CANCELLED, "opencode was interrupted");
		else
			cli_fail(r, (long)status, message.at == NULL ? name : message);
	}
}

/* Only its log, on stderr, says that it tries again: level=ERROR … message="stream error" …
 * error.error="AI_APICallError: why" */
static void
opencode_read_log_line(struct cli_run *r, const char *line)
{
	static const char key[] = " error.error=\"";
	const char *why = strstr(line, key), *end;
	char *text;

	if (why == NULL || strstr(line, " message=\"stream error\"") == NULL)
		return;
	why += sizeof key - 1;
	end = strrchr(why, '"');
	text = memory_copy(why, end == NULL ? strlen(why) : (size_t)(end - why));
	cli_tries_again(r, 1, 0, text);
	free(text);
}

static void
opencode_check_stream_end(struct cli_run *r, int exit_code)
{
	if (r->message.ended && exit_code == 0)
		return;
	r->message.ended = false;
	if (r->steps > 1)
		cli_fail_as(r, cli_cut_off(r, ERROR_NETWORK),
		    "the stream broke off each time in %ld tries", r->steps);
}

static const struct cli cli = {
	.program = "awf-provider-opencode",
	.usage = usage,
	.name = "opencode",
	.install = "npm install -g opencode-ai",
	.oldest = "1.18.3",
	.keys = keys,
	.asks_anybody = true,
	.tools = tools,
	.served = "awf_",
	.tells_late = true,
	.start = opencode_set_arguments,
	.param = opencode_set_param,
	.take = opencode_read_line,
	.take_error = opencode_read_log_line,
	.finish = opencode_check_stream_end
};

int
main(int argc, char **argv)
{
	return cli_main(&cli, argc, argv);
}
