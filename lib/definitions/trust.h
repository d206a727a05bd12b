/*
 * Trust: asks the user before definitions of a project (agent files, tool files, .mcp.json) run
 * anything outside of a sandbox, or send data to a server. A cloned repository may define
 * anything; none of it is run before the user has allowed it, once for each repository.
 *
 * A definition is the system's if it came with AWF, the user's if it lies in the user's own
 * configuration, and a project's otherwise. If the user has said that only the user edits a
 * directory (awf trust --edits), a definition in it is the user's; but it is a project's if a
 * sandboxed program may have written a file that it runs (workspace/sandboxed_times.h). A
 * definition that a sandboxed program has created is refused anyway, wherever it is
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
 * A replay asks nothing: awf-replay isolates it, and runs what was recorded. Each process reads the
 * file at most once, and only if a definition of a project would run something.
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

/* If a definition has two places, the one that comes later in this order counts. */
enum origin { ORIGIN_SYSTEM, ORIGIN_USER, ORIGIN_EDITED, ORIGIN_PROJECT };
/* The owner of the definition in a file. Below a directory of `awf trust --edits`, it is a
 * project's if trust_written(). */
enum origin trust_origin(const char *path);
/* If the file is in a directory of `awf trust --edits`, and a sandboxed program may have written
 * the file or a link on the way to it: the path of that, relative to the repository, to be freed by
 * the caller. Otherwise NULL. */
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
	char *file;                  /* the file that defines it */
	char *what;                  /* what would run, a line for the user: "MCP server lint: node
	                                ./lint.js" */
	char *files;                 /* which files the digest includes, for the user: "with what is
	                                in x.sh"; NULL: none */
	char *repository;            /* absolute */
	char digest[DIGEST_SIZE];
	bool program;                /* a program that is run to describe its tool: awf trust finds
	                                only those that an agent names */
	bool recorded;               /* trust_record() has added its line */
	bool too_large;              /* it may read any file of a project that is too large for a
	                                digest: it cannot be allowed
	                                (definitions/trust_project.h) */
};
struct trust_items {
	struct trust_item *list;
	size_t count;
};
/* The following functions add an item if the definition belongs to a project; otherwise they do
 * nothing. A tool's command, unless it runs in a sandbox: */
void trust_add_tool(struct trust_items *items, const struct tool *tool);
/* A program that is run to describe its tool: */
void trust_add_program(struct trust_items *items, const char *path);
void trust_add_server(struct trust_items *items, const struct mcp_definition *server);
/* A command in an agent's file; NULL: none: */
void trust_add_command(struct trust_items *items, const struct agent *agent, const char *when,
    char *const *argv);
/* One of AWF's own tools, or an agent CLI, if an agent's file says that it runs without a
 * sandbox: */
void trust_add_agent(struct trust_items *items, const struct agent *agent, const char *tool);
/* A tool, a server or an agent of the user or of the system ("the MCP server lint") that an agent
 * uses. It has all the access that its owner gives it, in a sandbox or not: */
void trust_add_use(struct trust_items *items, const struct agent *agent, const char *what, bool enclosed);
/* Access to the network, which the file of an agent or a tool gives to a tool, a server or a
 * command in a sandbox: */
void trust_add_network(struct trust_items *items, const char *file, const char *what);
/* The `headers` and the `body` that an agent's file adds to requests, since a server may follow
 * them to another address, or use another model: */
void trust_add_request(struct trust_items *items, const struct agent *agent);
/* The program of an agent's provider, if $PATH leads into the repository: */
void trust_add_provider(struct trust_items *items, const struct agent *agent, const char *provider);
/* Everything about a tool that an agent (NULL: none) uses, and about all agents of a team, in a
 * step whose options about sandboxes are `step`. Of AWF's own tools only those are added for which
 * a file, and not the step, has switched off the sandbox that they have by default. */
void trust_add_tool_of(struct trust_items *items, const struct agent *agent, const struct tool *tool,
    const struct sandbox *step);
void trust_add_team(struct trust_items *items, const struct team *team, const struct sandbox *step);
void trust_items_free(struct trust_items *items);
/* Whether anything that was described so far belongs to a project, or may do so later
 * (ORIGIN_PROJECT, ORIGIN_EDITED). It is then described and checked again each time before it is
 * started, since it may have changed. */
bool trust_is_checked_anew(void);

/* Whether this step is part of a replay. awf-replay isolates it, so that the user's list of what is
 * allowed cannot be read there; and since the user has asked for the replay, nothing in it needs to
 * be allowed again. */
bool trust_is_replayed(void);

/* Whether a word is in a list with commas; list may be NULL. */
bool trust_list_names(const char *list, const char *word);
/* Why the file of trust entries cannot be read; NULL: it can be read, or does not exist. */
const struct error *trust_file_error(void);
/* Sets the error for an item that is too large, which says what the user can do. Returns -1. */
int trust_refuse_too_large(const struct trust_item *item, enum error_code code, struct error *err);
/* Whether the user has allowed an item. */
bool trust_allows(const struct trust_item *item);
/* From now on trust_check() asks the user at the terminal, like trust_ask(), in the name of a
 * program; NULL: it does not ask any more. */
void trust_ask_from_now(const char *program, const struct interrupts *interrupts);
/* -1 with ERROR_DEFINITION, which names the first item that is not allowed, the number of further
 * ones, and the command that allows them. */
int trust_check(const struct trust_items *items, struct error *err);
/* The same just before something is started: -1 with ERROR_BLOCKED. Frees the items. */
int trust_check_anew(struct trust_items *items, struct error *err);
/* From now on trust_check() also collects the items that it checks, even those of definitions that
 * cannot be loaded completely. NULL: ends that. */
void trust_gather(struct trust_items *into);
/* Moves the items that are new from `more` to `all`, and frees the rest. */
void trust_items_merge(struct trust_items *all, struct trust_items *more);
/* Whether a definition in the file may use the value of a key (of a provider, or of the keys file).
 * A project's definition may if the user's configuration names the key (project_keys).
 * ERROR_DEFINITION at place. */
int trust_check_key(const char *file, const char *key, const char *place, struct error *err);
/* The same for a variable, which may contain something else than a key. A definition of a project
 * may use a variable that is neither a key nor a secret, by its name and value: the user is asked
 * about its name, and inputs are given to the workflow anyway. keys and value may be NULL. */
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
/* The directory of the file of entries, which is created if needed; to be freed by the caller.
 * NULL: ERROR_SYSTEM. */
char *trust_directory(struct error *err);
/* Makes this process read the file again when needed, since other processes may have written it. */
void trust_forget(void);

/* ---- for awf trust and awf init ---- */

/* Adds a line for each item that has none. ERROR_SYSTEM. */
int trust_record(const struct trust_items *items, struct error *err);
/* Removes the lines that this has added. */
int trust_unrecord(const struct trust_items *items, struct error *err);
/* Adds a line `edits` for a directory. ERROR_USAGE if others can write to it, or it belongs to
 * another user. */
int trust_record_edits(const char *directory, struct error *err);
/* Removes the lines about a repository, or directory. *count: their number. */
int trust_revoke(const char *directory, size_t *count, struct error *err);
/* Prints all lines. */
int trust_list(struct error *err);
/* The repository that contains a definition's file, to be freed by the caller. Without git: the
 * working directory of the step, or that of its workflow, if the file is below it; otherwise the
 * directory of the file. *checkout: the directory that contains `.git`, or the result itself; to be
 * freed by the caller. */
char *trust_project(const char *file, char **checkout);
/* The repository that contains a directory, to be freed by the caller. */
char *trust_repository(const char *directory);

#endif
