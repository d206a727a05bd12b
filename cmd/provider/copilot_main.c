/*
 * GitHub Copilot CLI: `copilot --output-format json`. The last line, of type `result`, has the
 * session and how it ended; tokens are in a separate file.
 */
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/text.h"
#include "cli.h"
#include "io/file.h"

#define USAGE_LIMIT ((size_t)4 << 20)

static const char usage[] =
"awf-provider-copilot < requests\n"
"\n"
"Runs GitHub Copilot CLI (copilot) for awf-step: one request per line on stdin,\n"
"answers on stdout, see awf-provider(7). It has the login and the settings of its\n"
"user; COPILOT_PROVIDER_BASE_URL and the like are its own.";

static const char *const keys[] = { "COPILOT_GITHUB_TOKEN", "COPILOT_PROVIDER_API_KEY",
	"GH_TOKEN", "GITHUB_TOKEN", NULL };

static const struct cli_tool tools[] = {
	{ "read", "view", NULL },
	{ "write", "create", "path" },
	{ "edit", "edit", "path" },
	{ "bash", "bash", NULL },
	{ "glob", "glob", NULL },
	{ "grep", "grep", NULL },
	{ NULL, NULL, NULL }
};

/* Whether its user trusts the directory, or one above it: then it uses the project's settings,
 * and no option prevents that. */
static bool
is_trusted(void)
{
	static const char *const names[] = { "config.json", "settings.json" };
	const char *place = environment_text("COPILOT_HOME"), *home = path_home();
	char here[PATH_MAX], *settings = place != NULL ? memory_text(place) :
	    path_join(home == NULL ? "/" : home, ".copilot");
	bool trusted = false;

	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		struct buffer text = BUFFER_INIT;
		char *path = path_join(settings, names[i]), *directory;
		bool below = file_load(path, USAGE_LIMIT, &text, NULL) == 0;

		directory = memory_text(getcwd(here, sizeof here) == NULL ? "/" : here);
		for (; below && !trusted; below = path_climb(&directory)) {
			struct buffer quoted = BUFFER_INIT;

			json_quote(&quoted, directory, strlen(directory));
			trusted = strstr(buffer_string(&text), buffer_string(&quoted)) != NULL;
			buffer_free(&quoted);
		}
		free(directory);
		free(path);
		buffer_free(&text);
	}
	free(settings);
	return trusted;
}

static void
copilot_distrust_project(struct cli_run *r)
{
	static const char *const allowing[] = { "COPILOT_ALLOW_ALL",
		"GITHUB_COPILOT_PROMPT_MODE_REPO_HOOKS", "GITHUB_COPILOT_PROMPT_MODE_WORKSPACE_MCP",
		"GITHUB_COPILOT_PROMPT_MODE_EXTENSIONS" };
	static const char *const names[] = { ".github/hooks", ".github/copilot", ".github/mcp.json",
		".github/extensions", ".github/lsp.json", ".github/plugin", ".github/agents",
		".github/skills", ".copilot", ".mcp.json", ".vscode/mcp.json", ".claude", ".agents", NULL };
	char *path = is_trusted() ? cli_project_file(names) : NULL;

	for (size_t i = 0; i < sizeof allowing / sizeof *allowing; i++)
		environment_unset(&r->start.environment, allowing[i]);
	cli_arguments(r, (const char *const []){ "--no-custom-instructions", NULL });
	if (path != NULL)
		cli_fail_as(r, ERROR_INVALID, "copilot would take %s for its settings, as its own settings "
		    "trust the directory: take that out of trustedFolders in ~/.copilot/config.json, or "
		    "allow project_settings", path);
	free(path);
}

static void
copilot_set_arguments(struct cli_run *r)
{
	static const char *const arguments[] = { "--output-format", "json", "--no-color",
	    "--no-auto-update", "--no-ask-user", "--disable-builtin-mcps", NULL };
	const char *file = cli_file(r, "usage.json", "");
	char *system = cli_system(r), *allowed = cli_allowed(r, ","), *served = cli_served(r, ",");
	/* Tools that are not named do not exist; "none" means no tool at all. */
	char *tool_option = memory_format("--available-tools=%s%s%s", allowed, allowed[0] == '\0' ||
	    served[0] == '\0' ? "" : ",", allowed[0] == '\0' && served[0] == '\0' ? "none" : served);
	const char *servers = served[0] == '\0' ? NULL : cli_server_file(r, "mcp.json",
	    ",\"type\":\"local\",\"tools\":[\"*\"],\"timeout\":86400000");
	char *servers_option = servers == NULL ? NULL : memory_format("@%s", servers);

	cli_arguments(r, arguments);
	if (!r->start.project_settings)
		copilot_distrust_project(r);
	cli_model(r, "--model");
	cli_arguments(r, (const char *const []){ "--allow-all-tools", tool_option, NULL });
	if (servers_option != NULL)
		cli_argument(r, "--additional-mcp-config", servers_option);
	if (file != NULL)
		cli_argument(r, "--usage-output-file", file);
	if (r->start.session != NULL)
		cli_argument(r, "--session-id", r->start.session);
	if (system != NULL && r->start.session == NULL)
		cli_before_prompt(r, system);
	free(servers_option);
	free(served);
	free(tool_option);
	free(allowed);
	free(system);
}

static bool
copilot_set_param(struct cli_run *r, struct span key, struct span value)
{
	long long limit;

	if (span_is(key, "max_tokens") && span_integer(value, &limit))
		cli_environment_number(r, "COPILOT_PROVIDER_MAX_OUTPUT_TOKENS", limit);
	else
		return span_is(key, "thinking") && cli_effort(r, "--reasoning-effort", value);
	return true;
}

static void
copilot_read_tool_call(struct cli_run *r, struct span call, const char *name_key)
{
	char *name = span_text(span_member(call, name_key));

	cli_call(r, "tool.execution_start", span_member(call, "toolCallId"), name,
	    span_member(call, "arguments"));
	free(name);
}

static void
copilot_read_line(struct cli_run *r, struct span type, struct span line)
{
	struct span data = span_member(line, "data"), error = span_member(data, "error");

	if (span_is(type, "assistant.message_delta")) {
		cli_preview(r, "text", span_member(data, "deltaContent"));
	} else if (span_is(type, "assistant.reasoning_delta")) {
		cli_preview(r, "thinking", span_member(data, "deltaContent"));
	} else if (span_is(type, "assistant.message")) {
		struct span calls = span_member(data, "toolRequests");

		text_once(&r->message.model, span_member(data, "model"));
		cli_thinking(r, span_member(data, "reasoningText"), SPAN_NONE);
		cli_text(r, span_member(data, "content"));
		for (struct span_walk call = span_walk(calls); span_next(&call);)
			copilot_read_tool_call(r, call.value, "name");
	} else if (span_is(type, "tool.execution_start")) {
		copilot_read_tool_call(r, data, "toolName");
	} else if (span_is(type, "tool.execution_complete")) {
		bool succeeded = span_true(span_member(data, "success"));
		bool denied = span_is(span_member(error, "code"), "denied");

		cli_result(r, "tool.execution_complete", span_member(data, "toolCallId"),
		    succeeded ? span_path(data, "result", "content", NULL) :
		    span_member(error, "message"),
		    succeeded ? ERROR_NONE : denied ? ERROR_BLOCKED : ERROR_EXIT_STATUS);
	} else if (span_is(type, "model.call_failure")) {
		char *why = span_text(span_member(data, "errorMessage"));
		long long status = 0, tried = 0;

		number_set(&status, span_member(data, "statusCode"));
		number_set(&tried, span_member(data, "retryAttempt"));
		cli_tries_again(r, (long)tried + 1, (long)status, why == NULL ? "" : why);
		free(why);
	} else if (span_is(type, "session.error")) {
		struct span kind = span_member(data, "errorType");
		long long status = 0;

		number_set(&status, span_member(data, "statusCode"));
		if (status == 0 && span_is(kind, "authentication"))
			status = 401;
		if (status == 0 && span_is(kind, "rate_limit"))
			status = 429;
		cli_fail(r, (long)status, span_member(data, "message"));
	} else if (span_is(type, "abort")) {
		cli_fail_as(r, ERROR_CANCELLED, "copilot was interrupted");
	} else if (span_is(type, "result")) {
		long long exit_code = 1;

		text_once(&r->message.session_id, span_member(line, "sessionId"));
		number_set(&exit_code, span_member(line, "exitCode"));
		if (exit_code == 0 && !r->failed)
			r->message.ended = true;
	}
}

/* The usage is in the only file made for it, counted since the session's beginning. */
static void
copilot_read_usage_file(struct cli_run *r, int exit_code)
{
	static const struct usage_place places[] = {
		USAGE_IN(input, "usage", "inputTokens"),
		USAGE_IN(output, "usage", "outputTokens"),
		USAGE_IN(cache_read, "usage", "cacheReadTokens"),
		USAGE_IN(cache_write, "usage", "cacheWriteTokens"),
		USAGE_IN(reasoning, "usage", "reasoningTokens"),
		USAGE_END
	};
	struct usage total = USAGE_INIT;
	struct span models;
	struct buffer text = BUFFER_INIT;
	struct error err;
	size_t bad;

	(void)exit_code;
	if (r->start.files == NULL || file_load(r->start.files[0], USAGE_LIMIT, &text, &err) != 0)
		return;
	if (text.len > 0 && scan_check(text.data, text.len, &bad) == NULL) {
		models = span_member(span_of(text.data, text.len), "modelMetrics");
		for (struct span_walk model = span_walk(models); span_next(&model);)
			usage_sum(&total, model.value, places);
		cli_total(r, &total);
	}
	buffer_free(&text);
}

static const struct cli cli = {
	.program = "awf-provider-copilot",
	.usage = usage,
	.name = "copilot",
	.install = "npm install -g @github/copilot",
	.oldest = "1.0.82",
	.keys = keys,
	.tools = tools,
	.served = "awf-",
	.sub_agent = "agentId",
	.start = copilot_set_arguments,
	.param = copilot_set_param,
	.take = copilot_read_line,
	.finish = copilot_read_usage_file
};

int
main(int argc, char **argv)
{
	return cli_main(&cli, argc, argv);
}
