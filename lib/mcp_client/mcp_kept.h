/*
 * An MCP server that a run keeps running for all its steps (`keep: run`): a child of awf-mcp-keep,
 * a worker of the run (start/pool.h), so that its state is kept between steps. Each step is a
 * client of the worker, and several may be connected at once. Steps share a server if it is the
 * same: the same command line and the files that it runs, sandbox, directory, and environment
 * except for variables that differ between steps.
 *
 * A client speaks MCP as with the server itself. The worker assigns the ids that it may use,
 * because the server distinguishes all clients' requests by id; it sends them in a line of its own,
 * which cannot come from a server, and further such lines when the server writes to stderr or ends.
 * All have a member "awf":
 *
 *     {"awf":"ids","from":1048576}      a range of MCP_KEPT_IDS; the first line after the hello
 *     {"awf":"says","text":"…"}         text from stderr
 *     {"awf":"refused","text":"…"}      it cannot be started: the last line
 *     {"awf":"ended","status":256}      its wait status: the last line
 *
 * In a run without awf-run, or if the guardian cannot be reached, no server is kept: each step has
 * its own.
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

/* Whether the run keeps the server. */
bool mcp_kept(const struct mcp_server *s);

/* How the process of a server is started. */
struct mcp_process {
	char **argv;
	char *const *command;       /* the same without its sandbox */
	const struct environment *environment;
	const char *directory;      /* NULL: the current directory */
	const char *first;          /* a line that is sent to it first, with its LF; NULL: none */
	bool enclosed;              /* argv was made by sandbox_argv() */
};
/* Connects to the run's server as the peer: 1; 0: it is not available; -1: interrupted. */
int mcp_kept_connect(struct mcp_server *s, const struct mcp_process *process,
    const struct interrupts *interrupts, struct error *err);

/* For awf-mcp-keep: the process to start, from its own environment, which becomes the server's.
 * False: the environment has no valid description. */
struct mcp_kept_process {
	char **argv, *directory, *first; /* first NULL: none */
};
bool mcp_kept_read(struct mcp_kept_process *p);
void mcp_kept_free(struct mcp_kept_process *p);

#endif
