/*
 * Codex: `codex exec --json`. Its output is items that are started and completed; the end of the
 * turn says whether there is an answer. Its tools have no names: the type of an item is the tool.
 */
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/text.h"
#include "cli.h"
#include "io/file.h"

#define ARGUMENT_LIMIT ((size_t)96 << 10) /* Linux allows 128 KiB */

static const char usage[] =
"awf-provider-codex < requests\n"
"\n"
"Runs Codex (codex) for awf-step: one request per line on stdin, answers on\n"
"stdout, see awf-provider(7). It has the login and the settings of its user.\n"
"AWF_CODEX_SANDBOX is its sandbox_mode where that is to be another than its tools\n"
"need.";

static const char *const keys[] = { "OPENAI_API_KEY", "CODEX_API_KEY", NULL };

static const struct cli_tool tools[] = {
	{ "bash", "command_execution", NULL },
	{ "read", "command_execution", NULL },
	{ "glob", "command_execution", NULL },
	{ "grep", "command_execution", NULL },
	{ "edit", "file_change", "changes" },
	{ "write", "file_change", "changes" },
	{ NULL, NULL, NULL }
};

/* A value of its configuration: a JSON string is a valid TOML string. */
static void
codex_add_setting(struct cli_run *r, const char *key, const char *text)
{
	struct buffer value = BUFFER_INIT;

	buffer_format(&value, "%s=", key);
	json_quote(&value, text, strlen(text));
	cli_argument(r, "-c", value.data);
	buffer_free(&value);
}

/* Configures AWF's MCP server. The secret is passed in the environment, since other users can
 * see arguments. */
static void
codex_add_mcp_server(struct cli_run *r)
{
	static const char *const settings[] = {
		"-c", "mcp_servers.awf.env_vars=[\"AWF_MCP_SOCKET\", \"AWF_MCP_SECRET\"]",
		"-c", "mcp_servers.awf.startup_timeout_sec=60",
		"-c", "mcp_servers.awf.tool_timeout_sec=86400", /* the step has its own limits */
		"-c", "mcp_servers.awf.default_tools_approval_mode=\"approve\"", NULL };
	const char *program = cli_server_program(r);

	if (program == NULL)
		return;
	codex_add_setting(r, "mcp_servers.awf.command", program);
	cli_arguments(r, settings);
	cli_server_environment(r);
}

/* Codex uses a project's configuration, hooks and rules if the user's settings trust the
 * project: in this run nothing is trusted. Instructions and skills it reads all the same, unless
 * told not to. */
static void
codex_distrust_project(struct cli_run *r)
{
	char here[PATH_MAX], *directory;
	struct buffer projects = BUFFER_INIT;

	buffer_text(&projects, "projects={");
	directory = memory_text(getcwd(here, sizeof here) == NULL ? "/" : here);
	do {
		if (projects.data[projects.len - 1] != '{')
			buffer_text(&projects, ", ");
		json_quote(&projects, directory, strlen(directory));
		buffer_text(&projects, "={trust_level=\"untrusted\"}");
	} while (path_climb(&directory));
	free(directory);
	buffer_byte(&projects, '}');
	cli_argument(r, "-c", buffer_string(&projects));
	cli_arguments(r, (const char *const []){ "-c", "project_root_markers=[]", "-c",
	    "project_doc_max_bytes=0", "-c", "skills.include_instructions=false", NULL });
	buffer_free(&projects);
}

static void
codex_set_arguments(struct cli_run *r)
{
	static const char *const arguments[] = { "exec", "--json", "--skip-git-repo-check",
	    "--color", "never", NULL };
	const char *sandbox = environment_text("AWF_CODEX_SANDBOX");
	bool writes = cli_allows(r, "bash") || cli_allows(r, "edit") || cli_allows(r, "write");
	char *system = cli_system(r);

	cli_arguments(r, arguments);
	if (!r->start.project_settings)
		codex_distrust_project(r);
	cli_model(r, "--model");
	/* It reads and lists files by commands, so every tool needs commands; its sandbox limits
	 * what may be written. */
	if (!cli_allows(r, NULL))
		cli_arguments(r, (const char *const []){ "--disable", "shell_tool", "--disable",
		    "unified_exec", NULL });
	codex_add_setting(r, "approval_policy", "never");
	codex_add_setting(r, "web_search", "disabled");
	codex_add_setting(r, "sandbox_mode", sandbox != NULL ? sandbox :
	    writes ? "workspace-write" : "read-only");
	if (cli_serves(r, NULL))
		codex_add_mcp_server(r);
	if (system != NULL && strlen(system) < ARGUMENT_LIMIT)
		codex_add_setting(r, "developer_instructions", system);
	else if (system != NULL)
		cli_before_prompt(r, system);
	if (r->start.session != NULL)
		cli_argument(r, "resume", r->start.session);
	cli_arguments(r, (const char *const []){ "-", NULL });
	free(system);
}

static bool
codex_set_param(struct cli_run *r, struct span key, struct span value)
{
	char *effort = span_is(key, "thinking") ? span_text(value) : NULL;
	bool taken = effort != NULL;

	if (taken)
		codex_add_setting(r, "model_reasoning_effort", effort);
	free(effort);
	return taken;
}

/* Types of items that are tools: the members with the input, the output, and the sign of a
 * failure. For other types only the type is known. */
static const struct item {
	const char *type, *input, *output;
} items[] = {
	{ "command_execution", "command", "aggregated_output" },
	{ "file_change", "changes", "status" },
	{ "mcp_tool_call", "arguments", "result" },
	{ "web_search", "query", "query" },
	{ "collab_tool_call", "prompt", "status" }
};

static void
codex_read_tool_item(struct cli_run *r, struct span item, const struct item *kind, bool completed)
{
	char *server = span_text(span_member(item, "server"));
	char *tool = span_text(span_member(item, "tool"));
	/* The name of an MCP server's tool, as other CLIs form it. */
	char *name = server != NULL && tool != NULL ? memory_format("mcp__%s__%s", server, tool) :
	    memory_text(kind->type);
	struct span id = span_member(item, "id"), error = span_member(item, "error");
	struct span status = span_member(item, "status");
	bool declined = span_is(status, "declined");
	bool failed = declined || span_is(status, "failed");
	struct buffer input = BUFFER_INIT;
	struct writer w;

	writer_begin(&w, &input);
	writer_object(&w);
	writer_member_span(&w, kind->input, span_member(item, kind->input));
	writer_object_end(&w);
	cli_call(r, kind->type, id, name, span_of(input.data, input.len));
	if (completed)
		cli_result(r, kind->type, id, failed && span_type(error) == 'o' ? error :
		    span_member(item, kind->output), declined ? ERROR_BLOCKED :
		    failed ? ERROR_EXIT_STATUS : ERROR_NONE);
	buffer_free(&input);
	free(name);
	free(server);
	free(tool);
}

/* "unexpected status 401 Unauthorized", "last status: 429 Too Many Requests". */
static long
status_in(const char *text)
{
	const char *at = strstr(text, "status");
	long status;

	if (at == NULL)
		return 0;
	at += strlen("status");
	status = strtol(at + strspn(at, ": "), NULL, 10);
	return status >= 400 && status <= 599 ? status : 0;
}

static void
codex_read_line(struct cli_run *r, struct span type, struct span line)
{
	/* Its counts are since the beginning of the thread. */
	static const struct usage_place places[] = {
		USAGE(input, "input_tokens"),
		USAGE(output, "output_tokens"),
		USAGE(cache_read, "cached_input_tokens"),
		USAGE(cache_write, "cache_write_input_tokens"),
		USAGE(reasoning, "reasoning_output_tokens"),
		USAGE_END
	};
	bool completed = span_is(type, "item.completed");

	if (completed || span_is(type, "item.started")) {
		struct span item = span_member(line, "item"), kind = span_member(item, "type");

		if (completed && span_is(kind, "agent_message"))
			cli_text(r, span_member(item, "text"));
		if (completed && span_is(kind, "reasoning"))
			cli_thinking(r, span_member(item, "text"), SPAN_NONE);
		for (size_t i = 0; i < sizeof items / sizeof items[0]; i++)
			if (span_is(kind, items[i].type))
				codex_read_tool_item(r, item, &items[i], completed);
	} else if (span_is(type, "thread.started")) {
		text_once(&r->message.session_id, span_member(line, "thread_id"));
	} else if (span_is(type, "turn.completed")) {
		struct usage total = USAGE_INIT;

		usage_set(&total, span_member(line, "usage"), places);
		cli_total(r, &total);
		r->message.ended = true;
	} else if (span_is(type, "turn.failed")) {
		struct span message = span_path(line, "error", "message", NULL);
		char *text = span_text(message);

		cli_fail(r, text == NULL ? 0 : status_in(text), message);
		free(text);
	} else if (span_is(type, "error")) {
		static const char again[] = "Reconnecting... ";
		char *text = span_text(span_member(line, "message"));
		char *why = text == NULL ? NULL : strchr(text, '('), *end;

		/* "Reconnecting... 1/5 (why)" */
		cli_complain(r, span_member(line, "message"));
		if (why != NULL && strncmp(text, again, sizeof again - 1) == 0) {
			end = strrchr(why, ')');
			if (end != NULL)
				*end = '\0';
			cli_tries_again(r, strtol(text + sizeof again - 1, NULL, 10), status_in(text), why + 1);
		}
		free(text);
	}
}

/* A turn that began and did not end: codex was interrupted. */
static void
codex_check_turn_end(struct cli_run *r, int exit_code)
{
	if (r->message.ended)
		return;
	cli_fail_complaint(r, status_in(buffer_string(&r->complaint)));
	if (r->message.session_id != NULL && exit_code <= 1)
		cli_fail_as(r, ERROR_CANCELLED, "codex was interrupted");
}

static const struct cli cli = {
	.program = "awf-provider-codex",
	.usage = usage,
	.name = "codex",
	.install = "npm install -g @openai/codex",
	.oldest = "0.140.0",
	.keys = keys,
	.tools = tools,
	.served = "mcp__awf__",
	.start = codex_set_arguments,
	.param = codex_set_param,
	.take = codex_read_line,
	.finish = codex_check_turn_end
};

int
main(int argc, char **argv)
{
	return cli_main(&cli, argc, argv);
}
