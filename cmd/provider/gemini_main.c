/*
 * Gemini CLI: `gemini --output-format stream-json`. Texts come only in pieces; the last line, of
 * type `result`, says how it ended, and the exit status which HTTP status there was.
 */
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "cli.h"

static const char usage[] =
"awf-provider-gemini < requests\n"
"\n"
"Runs Gemini CLI (gemini) for awf-step: one request per line on stdin, answers on\n"
"stdout, see awf-provider(7). It has the login and the settings of its user;\n"
"GEMINI_API_KEY and GOOGLE_GEMINI_BASE_URL are its own.";

static const char *const keys[] = { "GEMINI_API_KEY", "GOOGLE_API_KEY", NULL };

static const struct cli_tool tools[] = {
	{ "read", "read_file", NULL },
	{ "read", "read_many_files", NULL },
	{ "read", "list_directory", NULL },
	{ "write", "write_file", "file_path" },
	{ "edit", "replace", "file_path" },
	{ "bash", "run_shell_command", NULL },
	{ "glob", "glob", NULL },
	{ "grep", "grep_search", NULL },
	{ "grep", "search_file_content", NULL },
	{ NULL, NULL, NULL }
};

/* What the CLI would do with the prompt besides sending it, or NULL. '@' before a path inserts
 * the contents of a file, and no escape prevents this without reaching the model. */
static const char *
meaning_of(const struct buffer *prompt)
{
	const char *text = buffer_string(prompt), *at = text + strspn(text, " \t\r\n");

	if (*at == '/' && at[1] != '/' && at[1] != '*')
		return "a text that begins with '/' is a command";
	for (at = text; (at = strchr(at, '@')) != NULL; at++)
		if ((at == text || at[-1] != '\\') && at[1] != '\0' && strchr(" \t\n\r,;!?()[]{}", at[1]) == NULL)
			return "'@' before a word is a file to be read";
	return NULL;
}

/* It must trust the directory to work in it, and then uses all of its settings. */
static void
gemini_refuse_project_settings(struct cli_run *r)
{
	static const char *const names[] = { ".gemini", ".agents", ".env", "GEMINI.md", NULL };
	char *path = cli_project_file(names);

	if (path != NULL)
		cli_fail_as(r, ERROR_INVALID, "gemini would take %s for its settings, and cannot be told not "
		    "to: remove it, or allow project_settings", path);
	free(path);
}

static void
gemini_set_arguments(struct cli_run *r)
{
	static const char *const arguments[] = { "--output-format", "stream-json", "--skip-trust",
	    "--approval-mode", "default", NULL };
	const char *means = meaning_of(&r->start.prompt);
	char *system = cli_system(r), *allowed = cli_allowed(r, "\", \"");
	const char *file = system == NULL ? NULL : cli_file(r, "system.md", system), *rules;
	struct buffer policy = BUFFER_INIT;

	if (means != NULL)
		cli_fail_as(r, ERROR_INVALID, "gemini cannot be sent this prompt as it is: %s", means);
	cli_arguments(r, arguments);
	if (!r->start.project_settings)
		gemini_refuse_project_settings(r);
	cli_model(r, "--model");
	/* Its policy engine hides tools from the model that are denied outright. */
	buffer_text(&policy, "[[rule]]\ntoolName = \"*\"\ndecision = \"deny\"\npriority = 998\n");
	if (allowed[0] != '\0')
		buffer_format(&policy, "[[rule]]\ntoolName = [\"%s\"]\ndecision = \"allow\"\n"
		    "priority = 999\nallowRedirection = true\n", allowed);
	rules = cli_file(r, "awf.toml", policy.data);
	if (rules != NULL)
		cli_argument(r, "--policy", rules);
	if (r->start.session != NULL)
		cli_argument(r, "--resume", r->start.session);
	if (file != NULL)
		environment_set(&r->start.environment, "GEMINI_SYSTEM_MD", file);
	buffer_free(&policy);
	free(allowed);
	free(system);
}

static void
gemini_read_line(struct cli_run *r, struct span type, struct span line)
{
	static const char unknown[] = "\"gemini failed and did not say why\"";

	if (span_is(type, "message")) {
		if (span_is(span_member(line, "role"), "assistant"))
			cli_piece(r, span_member(line, "content"));
	} else if (span_is(type, "tool_use")) {
		char *name = span_text(span_member(line, "tool_name"));

		cli_call(r, "tool_use", span_member(line, "tool_id"), name,
		    span_member(line, "parameters"));
		free(name);
	} else if (span_is(type, "tool_result")) {
		struct span why = span_path(line, "error", "message", NULL);
		bool failed = span_is(span_member(line, "status"), "error");

		cli_result(r, "tool_result", span_member(line, "tool_id"),
		    failed && why.at != NULL ? why : span_member(line, "output"),
		    failed ? ERROR_EXIT_STATUS : ERROR_NONE);
	} else if (span_is(type, "init")) {
		text_once(&r->message.session_id, span_member(line, "session_id"));
		text_once(&r->message.model, span_member(line, "model"));
	} else if (span_is(type, "error")) {
		cli_complain(r, span_member(line, "message"));
	} else if (span_is(type, "result")) {
		struct span why = span_path(line, "error", "message", NULL);
		struct span stats = span_member(line, "stats");
		struct usage *u = &r->message.usage;
		long long total = -1, shown = -1;

		number_set(&u->input, span_member(stats, "input_tokens"));
		number_set(&u->cache_read, span_member(stats, "cached"));
		number_set(&shown, span_member(stats, "output_tokens"));
		number_set(&total, span_member(stats, "total_tokens"));
		/* Thoughts are only in the total. */
		u->output = shown;
		if (shown >= 0 && u->input >= 0 && total >= u->input + shown) {
			u->output = total - u->input;
			u->reasoning = u->output - shown;
		}
		/* The exit status, which comes later, tells better why it failed. */
		if (span_is(span_member(line, "status"), "success"))
			r->message.ended = true;
		else if (why.at != NULL)
			cli_complain(r, why);
		else if (r->complaint.len == 0)
			cli_complain(r, span_of(unknown, sizeof unknown - 1));
	}
}

/* "Attempt 1 failed with status 429. Retrying with backoff... _ApiError: {…}" */
static void
gemini_read_error_line(struct cli_run *r, const char *line)
{
	static const char failed[] = " failed with status ";
	const char *attempt = "Attempt ", *at = strstr(line, failed), *why;

	if (strncmp(line, attempt, strlen(attempt)) != 0 || at == NULL)
		return;
	why = strchr(line, '{');
	cli_tries_again(r, strtol(line + strlen(attempt), NULL, 10),
	    strtol(at + sizeof failed - 1, NULL, 10), why == NULL ? line : why);
}

/* Its exit statuses: its own, and HTTP statuses modulo 256, of which the higher ones are
 * unambiguous. */
static const struct {
	int exit_code;
	enum error_code category;
	const char *meaning;
} exits[] = {
	{ 0, ERROR_CANCELLED, "gemini was interrupted" },
	{ 41, ERROR_AUTH, "gemini is not logged in: run gemini once, or set GEMINI_API_KEY" },
	{ 42, ERROR_INVALID, "gemini does not take this request" },
	{ 52, ERROR_INVALID, "gemini's settings are wrong" },
	{ 53, ERROR_MAX_TURNS, "gemini reached the limit of turns of its settings" },
	{ 130, ERROR_CANCELLED, "gemini was interrupted" }
};

static void
gemini_judge_exit_code(struct cli_run *r, int exit_code)
{
	bool began = r->message.session_id != NULL;

	if (r->message.ended)
		return;
	cli_fail_complaint(r, exit_code >= 400 - 256 && exit_code <= 511 - 256 ?
	    exit_code + 256 : 0);
	for (size_t i = 0; i < sizeof exits / sizeof exits[0]; i++)
		if (exits[i].exit_code == exit_code && (exit_code != 0 || began))
			cli_fail_as(r, exits[i].category, "%s", exits[i].meaning);
}

static const struct cli cli = {
	.program = "awf-provider-gemini",
	.usage = usage,
	.name = "gemini",
	.install = "npm install -g @google/gemini-cli",
	.oldest = "0.57.0",
	.keys = keys,
	.tools = tools,
	.start = gemini_set_arguments,
	.take = gemini_read_line,
	.take_error = gemini_read_error_line,
	.finish = gemini_judge_exit_code
};

int
main(int argc, char **argv)
{
	return cli_main(&cli, argc, argv);
}
