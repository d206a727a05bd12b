/*
 * awf-trust, started by `awf trust`: shows what the project's definitions would execute outside of
 * a sandbox, and records the user's permission (definitions/trust.h has the rules).
 *
 * Agents and tools found from this directory are loaded as a step would load them, and everything
 * that they would execute is listed once. A program that describes its tool itself is listed before
 * it is executed for the first time.
 */
#include <stdlib.h>
#include <string.h>

#include "base/list.h"
#include "base/memory.h"
#include "base/options.h"
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

enum { OPT_YES = 1, OPT_DIGESTS, OPT_EDITS, OPT_LIST, OPT_REVOKE };

static const char usage[] =
    "awf trust [--yes]\n"
    "awf trust --digests\n"
    "awf trust --edits DIRECTORY\n"
    "awf trust --list\n"
    "awf trust --revoke DIRECTORY\n"
    "\n"
    "Shows what the agents, tools and MCP servers that are defined in this project\n"
    "would run outside of a sandbox, or send data to, and asks whether they may. The\n"
    "answer is kept for this repository, its worktrees too, until something of it\n"
    "changes.";

struct trust_command {
	const char *edits, *revoke; /* directories; NULL */
};

static const struct option_spec options_table[] = {
	{ OPT_YES, 0, "yes", NULL, "allow what is shown, without a question", OPTION_ONLY_SAID },
	{ OPT_DIGESTS, 0, "digests", NULL, "print the digests of it, for --trust and a CI job's config",
	    OPTION_ONLY_SAID },
	{ OPT_EDITS, 0, "edits", "DIRECTORY", "nobody else edits this directory: ask nothing there",
	    OPTION_INTO_TEXT(struct trust_command, edits) },
	{ OPT_LIST, 0, "list", NULL, "print what was allowed", OPTION_ONLY_SAID },
	{ OPT_REVOKE, 0, "revoke", "DIRECTORY", "allow nothing of it any more",
	    OPTION_INTO_TEXT(struct trust_command, revoke) },
	{ 0, 0, NULL, NULL, NULL },
};

#define SAID(id) OPTION_SAID(id)
#define ALL (SAID(OPT_YES) | SAID(OPT_DIGESTS) | SAID(OPT_EDITS) | SAID(OPT_LIST) | SAID(OPT_REVOKE))

static const struct option_rule rules[] = {
	{ ALL, ALL, 0, NULL },
};

/* Adds what an agent would execute. Loading an agent fails if one of its tools is described by a
 * program that is not allowed yet. tell: report such errors, when everything has been allowed. */
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
		/* An agent may leave the choice of its model to the step: use any model here. */
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

/* Adds the items that are not allowed to the list `noted`, each as its file and what it runs.
 * Returns how many of them are new in the list. *open: the first item that is not allowed; NULL:
 * all are. */
static size_t
open_items_note(const struct trust_items *items, char ***noted, const struct trust_item **open)
{
	size_t more = 0;

	*open = NULL;
	for (size_t i = 0; i < items->count; i++) {
		const struct trust_item *item = &items->list[i];
		char *name;

		if (trust_allows(item))
			continue;
		if (*open == NULL)
			*open = item;
		name = memory_format("%s\n%s", item->file, item->what);
		if (list_has(*noted, name)) {
			free(name);
		} else {
			list_take(noted, name);
			more++;
		}
	}
	return more;
}

/* Shows what is not allowed, and asks, until everything is allowed: once a program is allowed, it
 * is executed to describe its tools, which may bring new items. */
static int
project_show_and_ask(bool yes)
{
	struct trust_items items = { NULL, 0 }, recorded = { NULL, 0 };
	struct buffer shown = BUFFER_INIT;
	struct error err = ERROR_INIT, ignored = ERROR_INIT;
	enum trust_answer answer = TRUST_NO;
	const struct trust_item *open;
	char **noted = NULL;
	size_t more;
	int failed = 0;
	bool first = true, refused = false, allowed = false;

	for (; failed == 0 && !refused; first = false) {
		trust_items_merge(&recorded, &items);
		project_gather(&items, false);
		more = open_items_note(&items, &noted, &open);
		if (open != NULL && more == 0) { /* the items that were just allowed are still not
		                                    allowed */
			trust_unrecord(&recorded, &ignored);
			failed = error_set(&err, ERROR_DEFINITION, open->file, "a file that counts for it changed meanwhile, so "
			    "it is not allowed: call awf trust again, and let nothing write here, such as its own output");
			break;
		}
		/* If the user is asked, the question itself shows the items that are not
		 * allowed. */
		if (open == NULL || yes || !terminal_question_possible())
			trust_items_describe(&items, first, &shown);
		fputs(buffer_string(&shown), stdout);
		fflush(stdout);
		buffer_clear(&shown);
		if (open == NULL)
			break;
		if (yes)
			failed = trust_record(&items, &err);
		else
			failed = trust_ask(&items, PROGRAM, NULL, &answer, &err);
		if (failed == 0 && !yes && answer == TRUST_NOBODY)
			failed = error_set(&err, ERROR_USAGE, NULL,
			    "nobody can be asked: run it on a terminal, or with --yes");
		refused = failed == 0 && !yes && answer == TRUST_NO;
		allowed = allowed || (failed == 0 && !refused);
	}
	if (failed == 0 && allowed)
		terminal_printf("allowed for %s\n", recorded.list[0].repository);
	buffer_free(&shown);
	list_free(noted);
	trust_items_free(&recorded);
	if (failed == 0 && items.count == 0)
		puts("no definition in agents, tools or .mcp.json here, or in the places of other programs, runs anything\n"
		    "outside of a sandbox; of a file elsewhere a step says the --trust that allows it");
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
	struct trust_command command = { NULL, NULL };
	struct error err = ERROR_INIT;
	struct options o;
	int failed = 0, id;

	program_begin();
	options_begin(&o, options_table, argc, argv);
	options_bind(&o, &command);
	id = options_next(&o, &err);
	if (id == OPTION_HELP || id == OPTION_HELP_ALL) {
		options_help(stdout, usage, options_table, id);
		return program_end(PROGRAM, STATUS_OK);
	}
	if (id == OPTION_VERSION)
		return program_end(PROGRAM, program_version("awf-trust"));
	if (id == OPTION_WORD)
		error_set(&err, ERROR_USAGE, o.value, "one word too many (see --help)");
	if (id != OPTION_END || options_check(&o, rules, sizeof rules / sizeof *rules, &err) != 0)
		return program_fail(PROGRAM, &err);

	if (command.revoke != NULL)
		return directory_revoke(command.revoke);
	if ((o.said & SAID(OPT_DIGESTS)) != 0)
		return digests_print();
	if (command.edits != NULL)
		failed = trust_record_edits(command.edits, &err);
	else if ((o.said & SAID(OPT_LIST)) != 0)
		failed = trust_list(&err);
	else
		return project_show_and_ask((o.said & SAID(OPT_YES)) != 0);
	return failed == 0 ? program_end(PROGRAM, STATUS_OK) : program_fail(PROGRAM, &err);
}
