/*
 * An MCP server that a run keeps for all its steps (`keep: run`): a child of awf-mcp-keep, a worker
 * of the run (start/pool.h), so that it lives on between steps with what it remembers. Each step is a
 * client of that, and several may be at once. There is one server for what is the same: the
 * command line with the files that it runs, its sandbox, its directory, and its environment but for
 * what tells steps apart.
 *
 * A client speaks MCP as to the server itself. The worker hands out the ids that it may use, as
 * the server tells the requests of all by them; it says that in a line of its own, which no server
 * can, and others when the server writes on stderr or ends. All have a member "awf":
 *
 *     {"awf":"ids","from":1048576}      a range of MCP_KEPT_IDS; the first line after the hello
 *     {"awf":"says","text":"…"}         on stderr
 *     {"awf":"refused","text":"…"}      it cannot be started: the last line
 *     {"awf":"ended","status":256}      as wait(2) has it: the last line
 *
 * A run without awf-run, or where the guardian cannot be asked, keeps none: each step has its own.
 */
#ifndef AWF_MCP_CLIENT_MCP_KEPT_H
#define AWF_MCP_CLIENT_MCP_KEPT_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "mcp_client/mcp.h"
#include "proc/environment.h"
#include "proc/interrupts.h"

#define MCP_KEPT_IDS (1LL << 20)

/* Whether the run keeps it. */
bool mcp_kept(const struct mcp_server *s);

/* A server as its process is started. */
struct mcp_process {
	char **argv;
	char *const *command;       /* the same without its sandbox */
	const struct environment *environment;
	const char *directory;      /* NULL: this one */
	const char *first;          /* the line that it is told first, with LF; NULL: none */
	bool enclosed;              /* argv is of sandbox_argv() */
};
/* Makes the server of the run our peer: 1; 0: there is none to be had; -1: interrupted. */
int mcp_kept_connect(struct mcp_server *s, const struct mcp_process *process,
    const struct interrupts *interrupts, struct error *err);

/* For awf-mcp-keep: what is to be started, out of its own environment, which is the server's from
 * then on. False: nothing is said there that could be. */
struct mcp_kept_process {
	char **argv, *directory, *first; /* first NULL: none */
};
bool mcp_kept_read(struct mcp_kept_process *p);
void mcp_kept_free(struct mcp_kept_process *p);

#endif
