/*
 * Claude Code: `claude -p --output-format stream-json`. Its lines contain messages of the Messages
 * API; the last one, of type `result`, says how it ended.
 */
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "cli.h"

#define COUNTS_SESSION "2.1.299"

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

/* Sends the prompt unchanged. The CLI searches only the last text for a command, so that is
 * empty (and is not sent to the model); files named with '@' become attachments. */
static void
write_prompt(struct cli_run *r)
{
	struct buffer line = BUFFER_INIT;

	buffer_text(&line, "{\"type\":\"user\",\"message\":{\"role\":\"user\",\"content\":["
	    "{\"type\":\"text\",\"text\":");
	json_quote(&line, buffer_string(&r->start.prompt), r->start.prompt.len);
	buffer_text(&line, "},{\"type\":\"text\",\"text\":\"\"}]}}\n");
	buffer_free(&r->start.prompt);
	r->start.prompt = line;
}

static void
claude_set_arguments(struct cli_run *r)
{
	static const char *const arguments[] = { "-p", "--input-format", "stream-json",
	    "--output-format", "stream-json", "--verbose", "--strict-mcp-config",
	    "--disable-slash-commands", NULL };
	char *system = cli_system(r), *allowed = cli_allowed(r, ","), *served = cli_served(r, ",");
	const char *file;

	cli_arguments(r, arguments);
	if (!r->start.project_settings)
		cli_argument(r, "--setting-sources", "user");
	write_prompt(r);
	environment_set(&r->start.environment, "CLAUDE_CODE_DISABLE_ATTACHMENTS", "1");
	if (r->request->stream)
		cli_arguments(r, (const char *const []){ "--include-partial-messages", NULL });
	cli_model(r, "--model");
	/* Tools that are not named do not exist; those that are need no permission. */
	cli_argument(r, "--tools", allowed);
	if (served[0] != '\0' && (file = cli_server_file(r, "mcp.json", "")) != NULL)
		cli_argument(r, "--mcp-config", file);
	if (allowed[0] != '\0')
		cli_argument(r, "--allowedTools", allowed);
	if (served[0] != '\0')
		cli_argument(r, "--allowedTools", served);
	if (r->start.session != NULL)
		cli_argument(r, "--resume", r->start.session);
	if (system != NULL && (file = cli_file(r, "system.md", system)) != NULL)
		cli_argument(r, "--system-prompt-file", file);
	environment_set(&r->start.environment, "DISABLE_AUTOUPDATER", "1");
	free(system);
	free(allowed);
	free(served);
}

static bool
claude_set_param(struct cli_run *r, struct span key, struct span value)
{
	char type = span_type(value);
	long long number = 0;

	if (span_is(key, "max_tokens") && span_integer(value, &number)) {
		cli_environment_number(r, "CLAUDE_CODE_MAX_OUTPUT_TOKENS", number);
	} else if (span_is(key, "thinking") && type == 's') {
		char *effort = span_text(value);

		cli_argument(r, "--effort", strcmp(effort, "minimal") == 0 ? "low" : effort);
		free(effort);
	} else if (span_is(key, "thinking") && type != 'o') {
		if (span_integer(value, &number) || type == 'f')
			cli_environment_number(r, "MAX_THINKING_TOKENS", number);
	} else {
		return false;
	}
	return true;
}

/* Usage by model, including sub-agents. From version COUNTS_SESSION on it is of the whole
 * session, and so is the cost; if the earlier usage is unknown, and in older CLIs, the sum of
 * this run without sub-agents is used. The input includes cached input, which the API counts
 * separately. */
static void
claude_read_usage(struct cli_run *r, struct span line)
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
	struct usage all = USAGE_INIT, *u = &r->message.usage;

	for (struct span_walk model = span_walk(models); span_next(&model);)
		usage_sum(&all, model.value, of_model);
	usage_add_cost(&all, span_member(line, "total_cost_usd"));
	if (cli_reaches(r->version, COUNTS_SESSION))
		cli_total(r, &all);
	else
		*u = all;
	if (u->input < 0)
		usage_sum(u, span_member(line, "usage"), of_run);
}

/* "stop_reason" of the result is that of the last message, as in the Messages API
 * (https://docs.claude.com/en/api/messages): the reason of a tool call is an end if the CLI's
 * own loop ended there. */
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
claude_read_failure(struct cli_run *r, struct span line)
{
	struct span subtype = span_member(line, "subtype"), result = span_member(line, "result");
	struct span reason = span_member(line, "terminal_reason");
	struct span first = span_element(span_member(line, "errors"), 0);
	char *text = span_text(first);
	long long status = 0;

	number_set(&status, span_member(line, "api_error_status"));
	if (span_is(subtype, "error_max_turns"))
		cli_fail_as(r, ERROR_MAX_TURNS, "%s", text == NULL ? "too many turns" : text);
	else if (span_is(reason, "aborted_tools") || span_is(reason, "aborted_streaming"))
		cli_fail_as(r, ERROR_CANCELLED, "claude was interrupted");
	else
		cli_fail(r, (long)status, result.at != NULL ? result : first.at != NULL ? first : subtype);
	free(text);
}

/* {"subtype":"api_retry","attempt":1,"error_status":429,"error":"rate_limit"}; the status is
 * null if there was no HTTP answer. */
static void
claude_read_retry(struct cli_run *r, struct span line)
{
	long long attempt = 1, status = 0;
	char *error = span_text(span_member(line, "error")), *why;

	number_set(&attempt, span_member(line, "attempt"));
	number_set(&status, span_member(line, "error_status"));
	why = status == 0 ? memory_format("no connection: %s", error == NULL ? "" : error) :
	    memory_format("HTTP %lld: %s", status, error == NULL ? "" : error);
	cli_tries_again(r, (long)attempt, (long)status, why);
	free(why);
	free(error);
}

static void
claude_read_line(struct cli_run *r, struct span type, struct span line)
{
	struct span message = span_member(line, "message"), content = span_member(message, "content");
	bool user = span_is(type, "user");

	if (span_is(type, "stream_event")) {
		struct span delta = span_path(line, "event", "delta", NULL);

		cli_preview(r, "text", span_member(delta, "text"));
		cli_preview(r, "thinking", span_member(delta, "thinking"));
	} else if (user || span_is(type, "assistant")) {
		/* A message that the CLI has made up reports an error, which the result reports
		 * too. */
		if (!user && span_is(span_member(message, "model"), "<synthetic>"))
			return;
		if (!user)
			text_once(&r->message.model, span_member(message, "model"));
		/* Of messages of the user, only results: their texts are AWF's, or what the CLI
		 * tells the model. */
		for (struct span_walk each = span_walk(content);
		    !each.object && span_next(&each);) {
			struct span block = each.value, kind = span_member(block, "type");
			bool failed = span_true(span_member(block, "is_error"));

			if (span_is(kind, "tool_result")) {
				cli_result(r, "tool_result", span_member(block, "tool_use_id"),
				    span_member(block, "content"),
				    failed ? ERROR_EXIT_STATUS : ERROR_NONE);
			} else if (!user && span_is(kind, "text")) {
				cli_text(r, span_member(block, "text"));
			} else if (!user && span_is(kind, "thinking")) {
				cli_thinking(r, span_member(block, "thinking"),
				    span_member(block, "signature"));
			} else if (!user && span_is(kind, "tool_use")) {
				char *name = span_text(span_member(block, "name"));

				cli_call(r, "tool_use", span_member(block, "id"), name,
				    span_member(block, "input"));
				free(name);
			}
		}
	} else if (span_is(type, "system")) {
		text_once(&r->message.session_id, span_member(line, "session_id"));
		text_once(&r->version, span_member(line, "claude_code_version"));
		if (span_is(span_member(line, "subtype"), "api_retry"))
			claude_read_retry(r, line);
	} else if (span_is(type, "result")) {
		struct span reason = span_member(line, "stop_reason");

		text_once(&r->message.session_id, span_member(line, "session_id"));
		claude_read_usage(r, line);
		if (span_true(span_member(line, "is_error")) ||
		    !span_is(span_member(line, "subtype"), "success")) {
			claude_read_failure(r, line);
			return;
		}
		cli_ended(r, ends, span_type(reason) == 's' ? reason : span_of("\"end_turn\"", 10));
		if (r->message.count == 0)
			cli_text(r, span_member(line, "result"));
	}
}

static const struct cli cli = {
	.program = "awf-provider-claude",
	.usage = usage,
	.name = "claude",
	.install = "npm install -g @anthropic-ai/claude-code",
	.oldest = "2.1.197",
	.keys = keys,
	.tools = tools,
	.served = "mcp__awf__",
	.sub_agent = "parent_tool_use_id",
	.start = claude_set_arguments,
	.param = claude_set_param,
	.take = claude_read_line
};

int
main(int argc, char **argv)
{
	return cli_main(&cli, argc, argv);
}
