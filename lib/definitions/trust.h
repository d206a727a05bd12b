/*
 * Trust: asks the user before definitions of a project (agent files, tool files, .mcp.json) run
 * anything outside of a sandbox, or send data to a server. A cloned repository may define
 * anything; none of it is run before the user has allowed it, once for each repository.
 *
 * A definition is the system's if it came with AWF, the user's if it lies in the user's own
 * configuration, and a project's otherwise. Below a directory of which the user has said that only
 * their own edits reach it (awf trust --edits) a definition is a project's if a sandboxed program
 * may have written a file that it runs (workspace/sandboxed_times.h), else the user's. What a
 * sandboxed program made as a definition is refused before, wherever it lies
 * (workspace/unreviewed.h).
 *
 * An entry allows a digest of what would run: the command line as it is written, its environment,
 * and files of the repository. These are only the files that the command line names, if it has a
 * form that reads no others (trust_files.h), and then no prompts and descriptions; otherwise they
 * are all files (trust_project.h). An entry holds for a repository, including its worktrees if the
 * main checkout names them, too; without git it holds for a directory. All entries are in one file
 * of the user, ~/.local/share/awf/trust, one per line:
 *
 *     allow DIGEST REPOSITORY
 *     edits DIRECTORY
 *
 * A replay asks nothing: awf-replay isolates it, and runs what was recorded. The file is read once
 * a process, and only if a definition of a project would run something.
 */
#ifndef AWF_DEFINITIONS_TRUST_H
#define AWF_DEFINITIONS_TRUST_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buffer.h"
#include "base/digest.h"
#include "base/error.h"
#include "definitions/agent.h"
#include "definitions/mcp_config.h"
#include "definitions/tool.h"
#include "isolate/sandbox.h"
#include "proc/interrupts.h"

struct team;

/* In this order: of two places that a definition has, the later one counts. */
enum origin { ORIGIN_SYSTEM, ORIGIN_USER, ORIGIN_EDITED, ORIGIN_PROJECT };
/* Whose definition the file is: a project's in a directory of the user's own edits, too, if
 * trust_written(). */
enum origin trust_origin(const char *path);
/* What of a file in such a directory, and of the links on the way to it, a sandboxed program may have
 * written, relative to the repository, in memory of its own; NULL: nothing, or it lies elsewhere. */
char *trust_written(const char *path);

/* What a definition is, or has read by a name in it, of a project lies in that project: else it would have the
 * user's other files read, and the model told of them. All of it is opened here:
 *
 *     agent files, and those of handoffs      agent.c, team.c
 *     tool files, of one tool or several      tool.c
 *     .mcp.json, .vscode/mcp.json             mcp_config.c
 *     output_schema: FILE                     agent.c
 *     model: replay/FILE, and of fallback     team.c: trust_file_check(), as the provider opens it
 *
 * Skills and AGENTS.md have a rule of their own, which also asks whose files they are (skills.c). A link is
 * followed within the project, and to the user's own agents and what came with AWF; what is read is what was
 * looked at, whoever exchanges a link or a directory meanwhile. Of what is not a project's any file is opened.
 * ERROR_DEFINITION at a file that lies elsewhere, ERROR_SYSTEM. */
int trust_file_load(const char *definition, const char *file, size_t limit, struct buffer *text,
    struct error *err);
/* The same of a file that another program opens; one that is not there is none outside either, if the text of
 * its path leads nowhere else. */
int trust_file_check(const char *definition, const char *file, struct error *err);

/* Something that a project's definition would run. */
struct trust_item {
	char *file;                  /* that defines it */
	char *what;                  /* for people, a line: "MCP server lint: node ./lint.js" */
	char *files;                 /* which count, for people: "with what is in x.sh"; NULL: none does */
	char *repository;            /* absolute */
	char digest[DIGEST_SIZE];
	bool program;                /* one that is asked what tool it is: awf trust finds those alone
	                                that an agent names */
	bool too_large;              /* it may read any file of a project of which there is no digest: nobody
	                                can allow it (definitions/trust_project.h) */
};
struct trust_items {
	struct trust_item *list;
	size_t count;
};
/* Each adds what is a project's, and nothing of others. A tool's command, unless it runs in a
 * sandbox. */
void trust_add_tool(struct trust_items *items, const struct tool *tool);
/* A program that is asked what tool it is. */
void trust_add_program(struct trust_items *items, const char *path);
void trust_add_server(struct trust_items *items, const struct mcp_definition *server);
/* A command that the file of an agent has run; NULL: none. */
void trust_add_command(struct trust_items *items, const struct agent *agent, const char *when,
    char *const *argv);
/* One of AWF's own tools, or an agent CLI, of which the file of an agent says that no sandbox holds
 * it. */
void trust_add_agent(struct trust_items *items, const struct agent *agent, const char *tool);
/* A tool, a server or an agent of the user's or the system's ("the MCP server lint") that an agent uses:
 * it has what its owner gives it, be it enclosed or not. */
void trust_add_use(struct trust_items *items, const struct agent *agent, const char *what, bool enclosed);
/* The network, which the file of an agent or a tool gives a tool, a server or a command in its
 * sandbox. */
void trust_add_network(struct trust_items *items, const char *file, const char *what);
/* The program of its provider, if $PATH leads into the repository. */
void trust_add_provider(struct trust_items *items, const struct agent *agent, const char *provider);
/* All of a tool as an agent (NULL: none) uses it, and of all agents of a team, for a step
 * whose options say this of sandboxes. Of AWF's own tools those count that a file, and not the
 * step, has run without the sandbox that they have by themselves. */
void trust_add_tool_of(struct trust_items *items, const struct agent *agent, const struct tool *tool,
    const struct sandbox *step);
void trust_add_team(struct trust_items *items, const struct team *team, const struct sandbox *step);
void trust_items_free(struct trust_items *items);
/* Whether anything that was described until now is not the user's or the system's in each case: then
 * it is described and checked anew each time that it is started, as it may be another one by then. */
bool trust_is_checked_anew(void);

/* Whether this step is replayed: in the isolation of awf-replay, where nothing of the user's config is
 * seen, and as the user has told awf-replay to. */
bool trust_is_replayed(void);

/* Whether the word is in a list with commas; list may be NULL. */
bool trust_list_names(const char *list, const char *word);
/* Why the user's file cannot be read; NULL: it can, or there is none. */
const struct error *trust_file_error(void);
/* -1: says of an item that is too large what its user can do. */
int trust_refuse_too_large(const struct trust_item *item, enum error_code code, struct error *err);
/* Whether the user has allowed it. */
bool trust_allows(const struct trust_item *item);
/* Whether this step is replayed: in the isolation of awf-replay, where nothing of the user's config is
 * seen, and as the user has told awf-replay to. */
bool trust_is_replayed(void);
/* From now on trust_check() asks whoever sits at the terminal, as trust_ask() does, in the name of a
 * program; NULL: it asks nobody any more. */
void trust_ask_from_now(const char *program, const struct interrupts *interrupts);
/* ERROR_DEFINITION names the first that is not allowed, how many more there are, and the
 * command that allows them. */
int trust_check(const struct trust_items *items, struct error *err);
/* The same just before something is started: ERROR_BLOCKED. Frees the items. */
int trust_check_anew(struct trust_items *items, struct error *err);
/* From now on trust_check() adds what it is asked about, too: of definitions that are loaded, and of
 * which one may not be loaded to its end. NULL: no more. */
void trust_gather(struct trust_items *into);
/* Moves those of more to all that are not there yet. */
void trust_items_merge(struct trust_items *all, struct trust_items *more);
/* Whether a definition in the file may have the value of a key (a provider's, or of the file of
 * keys): a project's may if the user's config names it (project_keys). ERROR_DEFINITION at
 * place. */
int trust_check_key(const char *file, const char *key, const char *place, struct error *err);
/* The same of a variable, which need not be a key: the value of one that is none, and no secret by name
 * or value, a project's definition may have, as it is asked about by name; inputs are given to the
 * workflow. keys and value may be NULL. */
int trust_check_variable(const char *file, const struct keys *keys, const char *variable,
    const char *value, const char *place, struct error *err);

/* ---- asking (trust_ask.c) ---- */

enum trust_answer { TRUST_NOBODY, TRUST_NO, TRUST_YES };
/* Shows what is not allowed of them on the terminal, and asks whether it may be: what is then is
 * recorded. TRUST_NOBODY: no terminal is there to ask on. -1: interrupted, or ERROR_SYSTEM.
 * interrupts may be NULL. */
int trust_ask(const struct trust_items *items, const char *program, const struct interrupts *interrupts,
    enum trust_answer *answer, struct error *err);
/* Appends what would run, where it is defined, its digest and the files that count: of what is not
 * allowed, or of all. */
void trust_items_describe(const struct trust_items *items, bool all, struct buffer *out);
/* The directory of the file, which is made, in memory of its own; NULL: ERROR_SYSTEM. */
char *trust_directory(struct error *err);
/* Has the file read anew when it is needed: others may have written it. */
void trust_forget(void);

/* ---- for awf trust and awf init ---- */

/* Adds a line for each that has none. ERROR_SYSTEM. */
int trust_record(const struct trust_items *items, struct error *err);
/* ERROR_USAGE for a directory that others can write to, or that is another user's. */
int trust_record_edits(const char *directory, struct error *err);
/* Removes the lines of a repository, or directory. *count: how many there were. */
int trust_revoke(const char *directory, size_t *count, struct error *err);
/* Prints the lines. */
int trust_list(struct error *err);
/* The same of a file of a definition; without git it is the directory that a step works in, or that
 * of its workflow, if the file lies below, else that of the file. *checkout: the directory that
 * has `.git`, or that one; in memory of its own. */
char *trust_project(const char *file, char **checkout);
/* The repository that a directory is in, in memory of its own. */
char *trust_repository(const char *directory);

#endif
