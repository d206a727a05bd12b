/*
 * The tools of an agent's MCP servers: called mcp__SERVER__TOOL, offered to the model with its
 * other tools, and answered by their server. Their calls and results are recorded like those of any
 * tool. Their effects are external, unless annotations of the server say that the tool only reads
 * (read), or may be called twice (idempotent).
 *
 * Other features of a server become tools, too (mcp_methods.h), unless it has a tool with
 * the same name.
 *
 * The list of tools is recorded in the message.user with which a conversation begins (`mcp`), and
 * in a further one if a server reports a change. So a replay needs no server, and a resumed call
 * needs one only when it calls a tool.
 *
 * A schema that this version cannot compile is passed to the model unchanged, and the server checks
 * the arguments, so that an unsupported keyword does not make the whole server unusable.
 */
#ifndef AWF_TURN_MCP_TOOLS_H
#define AWF_TURN_MCP_TOOLS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "json/scan.h"
#include "json/writer.h"
#include "mcp_client/mcp.h"
#include "turn/control.h"

struct mcp_method;
struct member;
struct turns;

/* A tool of an agent's servers. */
struct mcp_tool {
	struct control control;
	struct mcp_server *server;
	char *remote;              /* its name there */
	const struct mcp_method *method; /* the method that it represents; NULL: a tool
	                                    of the server */
	const struct turns *turns; /* in which it is called */
};

struct mcp_tools {
	struct mcp_tool *list;
	size_t count;
	bool known;                /* the list is known, even if it is empty */
	unsigned listings;         /* the servers' count of listings when the list was
	                              taken from them */
};

/* ---- names ---- */

/* ERROR_DEFINITION at place if a name is that of a tool of a server that the member
 * does not have. */
int mcp_tool_check(const struct member *m, char *const *names, const char *place,
    struct error *err);

/* ---- the tools of a conversation ---- */

/* Gets the tools from the member's servers. ERROR_DEFINITION if a name is too long or occurs twice,
 * or if `tools` of the agent has one that no server has. */
int mcp_tools_list(struct mcp_tools *t, const struct turns *turns, struct error *err);
/* Takes them from a payload that mcp_tools_write() wrote. */
int mcp_tools_recall(struct mcp_tools *t, const struct turns *turns, struct span payload,
    struct error *err);
/* Whether servers of the member that run have others now. -1: that could not be had. */
int mcp_tools_changed(const struct mcp_tools *t, const struct turns *turns, struct error *err);
/* Adds the tools that the member may use to an offer: those in `names`, a list of its agent or, if
 * own, of a phase. */
void mcp_tools_offer(const struct mcp_tools *t, const struct member *m, char *const *names,
    bool own, struct offer *offer);
/* Adds the others. */
void mcp_tools_withhold(const struct mcp_tools *t, const struct offer *offered,
    struct offer *withheld);
/* Writes the member `mcp`, if the tools are known. What the offer contains of a tool is
 * not repeated. */
void mcp_tools_write(const struct mcp_tools *t, const struct offer *offer, struct writer *w);
void mcp_tools_free(struct mcp_tools *t);

/* Fills output, JSON, from the result of tools/call: text as text, structured content as JSON,
 * and other content (images, resources) as the JSON that it came as. ERROR_TOOL if it tells of
 * a failure. */
int mcp_answer_read(struct span result, struct buffer *output, struct error *err);

#endif
