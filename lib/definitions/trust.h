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
/* The owner of the definition in a file. Below a directory of `awf trust --edits`, it is a
 * project's if trust_written(). */
enum origin trust_origin(const char *path);
/* If the file is below such a directory, and a sandboxed program may have written the file or a
 * link on the way to it: that path, relative to the repository, allocated. Otherwise NULL. */
char *trust_written(const char *path);

/* Loads a file that a definition consists of, or that it names and has read. For a definition of a
 * project the file must be in the project: otherwise other files of the user could be read, and
 * sent to the model. All such files are opened by this function:
 *
 *    agent files, and those of handoffs      agent.c, team.c
 *    tool files, of one tool or several      tool.c
 *    .mcp.json, .vscode/mcp.json             mcp_config.c
 *    output_schema: FILE                     agent.c
 *    model: replay/FILE, and of fallback     team.c: trust_file_check(), as the provider opens it
 *
 * Skills and AGENTS.md have a rule of their own, which also checks the owner of the files
 * (skills.c). Links are followed within the project, to the user's own agents, and to what comes
 * with AWF; the file that is read is the one that was checked, even if a link or a directory is
 * replaced meanwhile. For definitions of others, any file is opened. ERROR_DEFINITION for a file
 * elsewhere; otherwise ERROR_SYSTEM. */
int trust_file_load(const char *definition, const char *file, size_t limit, struct buffer *text,
    struct error *err);
/* The same check for a file that another program opens. A file that does not exist passes, unless
 * its path leads elsewhere. */
int trust_file_check(const char *definition, const char *file, struct error *err);

/* Something that a project's definition would run. */
struct trust_item {
	char *file;                  /* that defines it */
	char *what;                  /* for people, a line: "MCP server lint: node ./lint.js" */
	char *files;                 /* the files that are included, for people: "with what is in
	                                x.sh"; NULL: none */
	char *repository;            /* absolute */
	char digest[DIGEST_SIZE];
	bool program;                /* a program that is asked which tool it is: awf trust finds
	                                only those that an agent names */
	bool too_large;              /* it may read any file of a project that is too large for a
	                                digest: it cannot be allowed
	                                (definitions/trust_project.h) */
};
struct trust_items {
	struct trust_item *list;
	size_t count;
};
/* Each adds an item if it belongs to a project, and nothing otherwise. A tool's command, unless it
 * runs in a sandbox. */
void trust_add_tool(struct trust_items *items, const struct tool *tool);
/* A program that is asked which tool it is. */
void trust_add_program(struct trust_items *items, const char *path);
void trust_add_server(struct trust_items *items, const struct mcp_definition *server);
/* A command that the file of an agent has run; NULL: none. */
void trust_add_command(struct trust_items *items, const struct agent *agent, const char *when,
    char *const *argv);
/* One of AWF's own tools, or an agent CLI, of which the file of an agent says that no sandbox holds
 * it. */
void trust_add_agent(struct trust_items *items, const struct agent *agent, const char *tool);
/* A tool, a server or an agent of the user or of the system ("the MCP server lint") that an agent
 * uses. It has the access that its owner has given it, whether it is enclosed or not. */
void trust_add_use(struct trust_items *items, const struct agent *agent, const char *what, bool enclosed);
/* The network, which the file of an agent or a tool gives a tool, a server or a command in its
 * sandbox. */
void trust_add_network(struct trust_items *items, const char *file, const char *what);
/* The `headers` and the `body` that the file of an agent adds to its requests: a server can be told by them
 * to connect elsewhere, or to ask another model. */
void trust_add_request(struct trust_items *items, const struct agent *agent);
/* The program of its provider, if $PATH leads into the repository. */
void trust_add_provider(struct trust_items *items, const struct agent *agent, const char *provider);
/* Everything about a tool that an agent (NULL: none) uses, and about all agents of a team, in a
 * step whose options about sandboxes are `step`. Of AWF's own tools only those are added for which
 * a file, and not the step, has switched off the sandbox that they have by default. */
void trust_add_tool_of(struct trust_items *items, const struct agent *agent, const struct tool *tool,
    const struct sandbox *step);
void trust_add_team(struct trust_items *items, const struct team *team, const struct sandbox *step);
void trust_items_free(struct trust_items *items);
/* Whether anything that was described so far is or may become a project's (ORIGIN_PROJECT,
 * ORIGIN_EDITED). It is then described and checked again each time before it is started, since it
 * may have changed. */
bool trust_is_checked_anew(void);

/* Whether this step is replayed: with the isolation of awf-replay, in which the user's
 * configuration is not visible, and as the user has asked awf-replay to. */
bool trust_is_replayed(void);

/* Whether the word is in a list with commas; list may be NULL. */
bool trust_list_names(const char *list, const char *word);
/* Why the file of trust entries cannot be read; NULL: it can be read, or does not exist. */
const struct error *trust_file_error(void);
/* Returns -1; the message for an item that is too large says what the user can do. */
int trust_refuse_too_large(const struct trust_item *item, enum error_code code, struct error *err);
/* Whether the user has allowed it. */
bool trust_allows(const struct trust_item *item);
/* Whether this step is replayed: with the isolation of awf-replay, in which the user's
 * configuration is not visible, and as the user has asked awf-replay to. */
bool trust_is_replayed(void);
/* From now on trust_check() asks the user at the terminal, like trust_ask(), in the name of a
 * program; NULL: it does not ask any more. */
void trust_ask_from_now(const char *program, const struct interrupts *interrupts);
/* ERROR_DEFINITION names the first that is not allowed, how many more there are, and the
 * command that allows them. */
int trust_check(const struct trust_items *items, struct error *err);
/* The same just before something is started: ERROR_BLOCKED. Frees the items. */
int trust_check_anew(struct trust_items *items, struct error *err);
/* From now on trust_check() also collects the items that it checks: of definitions that are loaded,
 * even if one of them cannot be loaded completely. NULL: ends that. */
void trust_gather(struct trust_items *into);
/* Moves the items that all does not have yet from more to all, and frees the rest. */
void trust_items_merge(struct trust_items *all, struct trust_items *more);
/* Whether a definition in the file may use the value of a key (of a provider, or of the keys file).
 * A project's definition may if the user's configuration names the key (project_keys).
 * ERROR_DEFINITION at place. */
int trust_check_key(const char *file, const char *key, const char *place, struct error *err);
/* The same for a variable, which need not be a key. A project's definition may use a variable that
 * is neither a key nor a secret by its name or value, since the user is asked about its name;
 * inputs are given to the workflow anyway. keys and value may be NULL. */
int trust_check_variable(const char *file, const struct keys *keys, const char *variable,
    const char *value, const char *place, struct error *err);

/* ---- asking (trust_ask.c) ---- */

enum trust_answer { TRUST_NOBODY, TRUST_NO, TRUST_YES };
/* Shows the items that are not allowed on the terminal, and asks the user to allow them; if
 * allowed, they are recorded. TRUST_NOBODY: there is no terminal. -1: interrupted, or ERROR_SYSTEM.
 * interrupts may be NULL. */
int trust_ask(const struct trust_items *items, const char *program, const struct interrupts *interrupts,
    enum trust_answer *answer, struct error *err);
/* Appends a description of the items that are not allowed, or of all: what would run, where it is
 * defined, its digest, and the files that are included. */
void trust_items_describe(const struct trust_items *items, bool all, struct buffer *out);
/* The directory of the file of entries, allocated; it is created. NULL: ERROR_SYSTEM. */
char *trust_directory(struct error *err);
/* Has the file read again when it is next needed, as other processes may have written it. */
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
/* The repository of a definition's file, allocated. Without git: the working directory of the step,
 * or that of its workflow, if the file is below it; otherwise the directory of the file. *checkout:
 * the directory that contains `.git`, or that same directory; allocated. */
char *trust_project(const char *file, char **checkout);
/* The repository of a directory, allocated. */
char *trust_repository(const char *directory);

#endif
