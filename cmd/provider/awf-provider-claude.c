/*
 * Claude Code: `claude -p --output-format stream-json`. Its lines hold messages of the
 * Messages API; the last one, of type `result`, says how it ended.
 */
#include <stdlib.h>
#include <string.h>

#include "cli.h"

static const char usage[] =
"awf-provider-claude < requests\n"
"\n"
"Runs Claude Code (claude) for awf-step: one request per line on stdin, answers\n"
"on stdout, see awf-provider(7). It has the login and the settings of its user;\n"
"ANTHROPIC_API_KEY and ANTHROPIC_BASE_URL are its own.";

static const char *const keys[] = { "ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN",
	"CLAUDE_CODE_OAUTH_TOKEN", NULL };

static const struct cli_tool tools[] = {
	{ "read", "Read", NULL },
	{ "write", "Write", "file_path" },
	{ "edit", "Edit", "file_path" },
	{ "bash", "Bash", NULL },
	{ "glob", "Glob", NULL },
	{ "grep", "Grep", NULL },
	{ NULL, NULL, NULL }
};

/* Those that are not named are not there at all, those that are need no permission. */
static void
set_tools(struct cli_run *r)
{
	char *allowed = cli_allowed(r, ",");

	cli_argument(r, "--tools", allowed);
	if (allowed[0] != '\0')
		cli_argument(r, "--allowedTools", allowed);
	free(allowed);
}

static void
start(struct cli_run *r)
{
	/* A prompt that begins with a slash is a text like any other. */
	static const char *const arguments[] = { "-p", "--output-format", "stream-json",
	    "--verbose", "--strict-mcp-config", "--disable-slash-commands", NULL };
	char *system = cli_system(r);

	cli_arguments(r, arguments);
	if (r->request->stream)
		cli_arguments(r, (const char *const []){ "--include-partial-messages", NULL });
	cli_model(r, "--model");
	set_tools(r);
	if (r->session != NULL)
		cli_argument(r, "--resume", r->session);
	if (system != NULL) {
		const char *file = cli_file(r, "system.md", system);

		if (file != NULL)
			cli_argument(r, "--system-prompt-file", file);
	}
	cli_environment(r, "DISABLE_AUTOUPDATER", "1");
	free(system);
}

static void
set_thinking(struct cli_run *r, struct span value)
{
	char *text = span_type(value) == 's' ? span_text(value) : NULL;
	long long budget = 0;

	if (text != NULL)
		cli_argument(r, "--effort", strcmp(text, "minimal") == 0 ? "low" : text);
	else if (span_integer(value, &budget) || span_type(value) == 'f')
		cli_environment_number(r, "MAX_THINKING_TOKENS", budget);
	free(text);
}

static bool
take_param(struct cli_run *r, struct span key, struct span value)
{
	long long limit;

	if (span_is(key, "thinking") && span_type(value) != 'o')
		set_thinking(r, value);
	else if (span_is(key, "max_tokens") && span_integer(value, &limit))
		cli_environment_number(r, "CLAUDE_CODE_MAX_OUTPUT_TOKENS", limit);
	else
		return false;
	return true;
}

static void
take_block(struct cli_run *r, struct span block)
{
	struct span type = span_member(block, "type");
	struct span error = span_member(block, "is_error");
	char *name = span_text(span_member(block, "name"));

	if (span_is(type, "text"))
		cli_text(r, span_member(block, "text"));
	else if (span_is(type, "thinking"))
		cli_thinking(r, span_member(block, "thinking"), span_member(block, "signature"));
	else if (span_is(type, "tool_use"))
		cli_call(r, "tool_use", span_member(block, "id"), name, span_member(block, "input"));
	else if (span_is(type, "tool_result"))
		cli_result(r, "tool_result", span_member(block, "tool_use_id"),
		    span_member(block, "content"), span_true(error) ? ERROR_EXIT_STATUS : ERROR_NONE);
	free(name);
}

static void
take_blocks(struct cli_run *r, struct span content)
{
	if (span_type(content) != 'a')
		return;
	for (struct span_walk block = span_walk(content); span_next(&block);)
		take_block(r, block.value);
}

/* One of its own making tells of an error, which the result tells too. */
static void
take_assistant(struct cli_run *r, struct span line)
{
	struct span message = span_member(line, "message");

	if (span_is(span_member(message, "model"), "<synthetic>"))
		return;
	text_once(&r->message.model, span_member(message, "model"));
	take_blocks(r, span_member(message, "content"));
}

/* Only results: the user's texts are ours, or what the CLI tells the model. */
static void
take_user(struct cli_run *r, struct span line)
{
	struct span content = span_path(line, "message", "content", NULL);

	if (span_type(content) != 'a')
		return;
	for (struct span_walk block = span_walk(content); span_next(&block);)
		if (span_is(span_member(block.value, "type"), "tool_result"))
			take_block(r, block.value);
}

static void
take_stream_event(struct cli_run *r, struct span line)
{
	struct span delta = span_path(line, "event", "delta", NULL);

	cli_preview(r, "text", span_member(delta, "text"));
	cli_preview(r, "thinking", span_member(delta, "thinking"));
}

static void
take_system(struct cli_run *r, struct span line)
{
	cli_session(r, span_member(line, "session_id"));
}

/* By model, sub-agents included; an older CLI tells the sum without them alone. All of the
 * input, cached or not, as the API counts its parts apart. */
static void
take_usage(struct cli_run *r, struct span line)
{
	static const struct usage_place of_model[] = {
		USAGE(input, "inputTokens"),
		USAGE(input, "cacheReadInputTokens"),
		USAGE(input, "cacheCreationInputTokens"),
		USAGE(output, "outputTokens"),
		USAGE(cache_read, "cacheReadInputTokens"),
		USAGE(cache_write, "cacheCreationInputTokens"),
		USAGE_END
	};
	static const struct usage_place of_run[] = {
		USAGE(input, "input_tokens"),
		USAGE(input, "cache_read_input_tokens"),
		USAGE(input, "cache_creation_input_tokens"),
		USAGE(output, "output_tokens"),
		USAGE(cache_read, "cache_read_input_tokens"),
		USAGE(cache_write, "cache_creation_input_tokens"),
		USAGE_END
	};
	struct span models = span_member(line, "modelUsage");
	struct usage *u = &r->message.usage;

	for (struct span_walk model = span_walk(models); span_next(&model);)
		usage_add(u, model.value, of_model);
	if (u->input < 0)
		usage_add(u, span_member(line, "usage"), of_run);
}

/* Of the result, "stop_reason" is the last message's, as the Messages API has it
 * (https://docs.claude.com/en/api/messages): one of a tool is an end where the CLI's own loop
 * made it one. */
static const struct end ends[] = {
	{ "end_turn", "end_turn", ERROR_NONE },
	{ "tool_use", "end_turn", ERROR_NONE },
	{ "max_tokens", "max_tokens", ERROR_NONE },
	{ "model_context_window_exceeded", "max_tokens", ERROR_NONE },
	{ "stop_sequence", "stop_sequence", ERROR_NONE },
	{ "refusal", "refusal", ERROR_NONE },
	{ NULL, NULL, ERROR_NONE }
};

static void
take_failure(struct cli_run *r, struct span line)
{
	struct span subtype = span_member(line, "subtype"), reason;
	struct span first = span_element(span_member(line, "errors"), 0);
	char *text = span_text(first);
	long long status = 0;

	reason = span_member(line, "terminal_reason");
	number_set(&status, span_member(line, "api_error_status"));
	if (span_is(subtype, "error_max_turns"))
		cli_fail_as(r, ERROR_MAX_TURNS, "%s", text == NULL ? "too many turns" : text);
	else if (span_is(reason, "aborted_tools") || span_is(reason, "aborted_streaming"))
		cli_fail_as(r, ERROR_CANCELLED, "claude was interrupted");
	else if (span_member(line, "result").at != NULL)
		cli_fail(r, (long)status, span_member(line, "result"));
	else
		cli_fail(r, (long)status, first.at == NULL ? subtype : first);
	free(text);
}

static void
take_result(struct cli_run *r, struct span line)
{
	struct span reason;

	cli_session(r, span_member(line, "session_id"));
	take_usage(r, line);
	if (span_true(span_member(line, "is_error")) ||
	    !span_is(span_member(line, "subtype"), "success")) {
		take_failure(r, line);
		return;
	}
	reason = span_member(line, "stop_reason");
	cli_ended(r, ends, span_type(reason) == 's' ? reason : span_of("\"end_turn\"", 10));
	if (r->message.count == 0)
		cli_text(r, span_member(line, "result"));
}

static const struct cli_line lines[] = {
	{ "system", take_system },
	{ "assistant", take_assistant },
	{ "user", take_user },
	{ "stream_event", take_stream_event },
	{ "result", take_result },
	{ NULL, NULL }
};

static const struct cli cli = {
	.program = "awf-provider-claude",
	.usage = usage,
	.name = "claude",
	.install = "npm install -g @anthropic-ai/claude-code",
	.keys = keys,
	.tools = tools,
	.sub_agent = "parent_tool_use_id",
	.lines = lines,
	.start = start,
	.param = take_param
};

int
main(int argc, char **argv)
{
	return cli_main(&cli, argc, argv);
}
