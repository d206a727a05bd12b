/*
 * awf-trust, as `awf trust` starts it: what the definitions of this project would run outside of
 * a sandbox is shown, and allowed if the user says so (definitions/trust.h has the rule).
 *
 * Agents and tools that are found from this directory are loaded as a step would load them, and
 * what they would run is gathered, each once. A program that says itself what tool it is counts
 * before it is run for the first time.
 */
#include <stdlib.h>
#include <string.h>

#include "base/list.h"
#include "base/memory.h"
#include "definitions/trust.h"
#include "io/config.h"
#include "io/file.h"
#include "io/terminal.h"
#include "proc/message.h"
#include "program.h"
#include "setup/doctor.h"
#include "turn/team.h"
#include "view/terminal_question.h"

#define PROGRAM "awf trust"

static const char usage[] =
    "usage: awf trust [--yes]\n"
    "       awf trust --digests\n"
    "       awf trust --edits DIRECTORY\n"
    "       awf trust --list\n"
    "       awf trust --revoke DIRECTORY\n"
    "\n"
    "Shows what the agents, tools and MCP servers that are defined in this project\n"
    "would run outside of a sandbox, or send data to, and asks whether they may. The\n"
    "answer is kept for this repository, its worktrees too, until something of it\n"
    "changes.\n"
    "\n"
    "  --yes               allow what is shown, without a question\n"
    "  --digests           print the digests of it, for --trust and a CI job's config\n"
    "  --edits DIRECTORY   nobody else edits this directory: ask nothing there\n"
    "  --list              print what was allowed\n"
    "  --revoke DIRECTORY  allow nothing of it any more\n";

/* What cannot be loaded is told once all that it may run is allowed: a program that says itself what
 * tool it is has to be run for that. */
static void
agent_gather(struct trust_items *all, const char *name, bool tell)
{
	static const struct sandbox unsaid = { .mode = SANDBOX_UNSAID };
	struct team_source source = { .agent_file = name, .max_turns = -1, .max_tokens_total = -1 };
	struct trust_items items = { NULL, 0 };
	struct error err = ERROR_INIT;
	struct team team = { .members = NULL };

	if (team_load(&team, &source, name, &err) != 0) {
		team_free(&team);
		team = (struct team){ .members = NULL };
		/* Perhaps it leaves its model to the step. */
		source.model = "replay/any";
		if (team_load(&team, &source, name, &err) != 0 && tell)
			message_print(PROGRAM, "%s: not looked into: %s", name, err.message);
	}
	trust_add_team(&items, &team, &unsaid);
	trust_items_merge(all, &items);
	team_free(&team);
}

static void
tool_gather(struct trust_items *all, const char *name, bool tell)
{
	static const struct sandbox unsaid = { .mode = SANDBOX_UNSAID };
	struct trust_items items = { NULL, 0 };
	struct error err = ERROR_INIT;
	struct tool tool;

	if (tool_load(&tool, name, getenv("AWF_WORKFLOW_DIR"), &err) == 0)
		trust_add_tool_of(&items, NULL, &tool, &unsaid);
	else if (tell)
		message_print(PROGRAM, "%s: not looked into: %s", name, err.message);
	trust_items_merge(all, &items);
	tool_free(&tool);
}

static void
project_gather(struct trust_items *all, bool tell)
{
	char **agents = definitions_found(FINDING_AGENTS), **tools = definitions_found(FINDING_TOOLS);

	trust_gather(all);
	for (char **name = tools; name != NULL && *name != NULL; name++)
		tool_gather(all, *name, tell);
	for (char **name = agents; name != NULL && *name != NULL; name++)
		agent_gather(all, *name, tell);
	trust_gather(NULL);
	list_free(agents);
	list_free(tools);
}

/* What is allowed may show more: tools of a program that says itself what it is. */
static int
project_show_and_ask(bool yes)
{
	struct trust_items items = { NULL, 0 };
	struct buffer shown = BUFFER_INIT;
	struct error err = ERROR_INIT;
	enum trust_answer answer = TRUST_NO;
	int failed = 0;
	bool first = true, refused = false, open = true;

	for (; failed == 0 && !refused; first = false) {
		trust_items_free(&items);
		project_gather(&items, false);
		open = false;
		for (size_t i = 0; i < items.count; i++)
			open = open || !trust_allows(&items.list[i]);
		/* The question shows what is open itself. */
		if (!open || yes || !terminal_question_possible())
			trust_items_describe(&items, first, &shown);
		fputs(buffer_string(&shown), stdout);
		fflush(stdout);
		buffer_clear(&shown);
		if (!open)
			break;
		if (yes)
			failed = trust_record(&items, &err);
		else
			failed = trust_ask(&items, PROGRAM, NULL, &answer, &err);
		if (failed == 0 && !yes && answer == TRUST_NOBODY)
			failed = error_set(&err, ERROR_USAGE, NULL,
			    "nobody can be asked: run it on a terminal, or with --yes");
		refused = failed == 0 && !yes && answer == TRUST_NO;
		if (failed == 0 && !refused)
			terminal_printf("allowed for %s\n", items.list[0].repository);
	}
	buffer_free(&shown);
	if (failed == 0 && items.count == 0)
		puts("no definition here runs anything outside of a sandbox");
	trust_items_free(&items);
	if (failed == 0 && !refused)
		project_gather(&items, true);
	trust_items_free(&items);
	return failed != 0 ? program_fail(PROGRAM, &err) : program_end(PROGRAM, refused ? STATUS_WORK : STATUS_OK);
}

static int
digests_print(void)
{
	struct trust_items items = { NULL, 0 };

	project_gather(&items, true);
	for (size_t i = 0; i < items.count; i++)
		printf("%s%s", i > 0 ? "," : "", items.list[i].digest);
	if (items.count > 0)
		putchar('\n');
	trust_items_free(&items);
	return program_end(PROGRAM, STATUS_OK);
}

static int
directory_revoke(const char *directory)
{
	char *repository = trust_repository(directory), *real = realpath(directory, NULL);
	struct error err = ERROR_INIT;
	size_t lines = 0, more = 0;
	int failed = trust_revoke(repository, &lines, &err);

	if (failed == 0 && real != NULL && strcmp(real, repository) != 0)
		failed = trust_revoke(real, &more, &err);
	if (failed == 0 && lines + more == 0)
		failed = error_set(&err, ERROR_USAGE, directory, "nothing was allowed there (awf trust --list)");
	free(repository);
	free(real);
	return failed == 0 ? program_end(PROGRAM, STATUS_OK) : program_fail(PROGRAM, &err);
}

int
main(int argc, char **argv)
{
	char *const *words = argv + (argc > 0);
	const char *option = words[0], *value = option != NULL ? words[1] : NULL;
	struct error err = ERROR_INIT;
	bool takes_value;
	int failed = 0;

	program_begin();
	if (option == NULL)
		return project_show_and_ask(false);
	takes_value = strcmp(option, "--edits") == 0 || strcmp(option, "--revoke") == 0;
	if (strcmp(option, "-h") == 0 || strcmp(option, "--help") == 0 ||
	    strcmp(option, "--help=all") == 0) {
		fputs(usage, stdout);
		return program_end(PROGRAM, STATUS_OK);
	}
	if (strcmp(option, "--version") == 0)
		return program_end(PROGRAM, program_version("awf-trust"));
	if (takes_value && value == NULL)
		failed = error_set(&err, ERROR_USAGE, option, "expected a DIRECTORY");
	else if (value != NULL && (!takes_value || words[2] != NULL))
		failed = error_set(&err, ERROR_USAGE, takes_value ? words[2] : value, "too many "
		    "arguments (see --help)");
	else if (strcmp(option, "--edits") == 0)
		failed = trust_record_edits(value, &err);
	else if (strcmp(option, "--revoke") == 0)
		return directory_revoke(value);
	else if (strcmp(option, "--list") == 0)
		failed = trust_list(&err);
	else if (strcmp(option, "--yes") == 0)
		return project_show_and_ask(true);
	else if (strcmp(option, "--digests") == 0)
		return digests_print();
	else
		failed = error_set(&err, ERROR_USAGE, option, "unknown option (see --help)");
	return failed == 0 ? program_end(PROGRAM, STATUS_OK) : program_fail(PROGRAM, &err);
}
