/*
 * The tools of MCP servers as an agent has them: called mcp__SERVER__TOOL, offered to the model
 * beside its other tools, and answered by their server. Their calls and results are recorded as
 * those of any tool; effects are external, unless annotations of the server say that the tool only
 * reads (read), or may be called twice (idempotent).
 *
 * What a server has beside tools are tools here as well (mcp_methods.h), unless it has one of the
 * name itself.
 *
 * The list of tools is recorded in the message.user with which a conversation begins (`mcp`), and
 * in a further one if a server reports a change. So a replay needs no server, and a resumed call
 * needs one only when it calls a tool.
 *
 * A schema that this version cannot compile is passed to the model unchanged, and the server
 * checks the arguments, so that an unsupported keyword does not make the whole server unusable.
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
	const struct mcp_method *method; /* that it stands for; NULL: the server has the tool */
	const struct turns *turns; /* in which it is called */
};

struct mcp_tools {
	struct mcp_tool *list;
	size_t count;
	bool known;                /* the list is known, even if it is empty */
	unsigned listings;         /* of the servers, when they were taken from there */
};

/* ---- names ---- */

/* ERROR_DEFINITION at place for a name whose server is none of the member's. */
int mcp_tool_check(const struct member *m, char *const *names, const char *place,
    struct error *err);

/* ---- the tools of a conversation ---- */

/* Has the member's servers tell what they offer. ERROR_DEFINITION for a name that is too
 * long, or there twice, and for one that `tools` has and no server. */
int mcp_tools_list(struct mcp_tools *t, const struct turns *turns, struct error *err);
/* Takes them from a payload that mcp_tools_write() wrote. */
int mcp_tools_recall(struct mcp_tools *t, const struct turns *turns, struct span payload,
    struct error *err);
/* Whether servers of the member that run have others now. -1: that could not be had. */
int mcp_tools_changed(const struct mcp_tools *t, const struct turns *turns, struct error *err);
/* Adds those that the member may have to an offer: of the names that are its agent's, or a
 * phase's own. */
void mcp_tools_offer(const struct mcp_tools *t, const struct member *m, char *const *names,
    bool own, struct offer *offer);
/* Adds the others. */
void mcp_tools_withhold(const struct mcp_tools *t, const struct offer *offered,
    struct offer *withheld);
/* The member `mcp`, if there are any; with what is not told of them in the offer. */
void mcp_tools_write(const struct mcp_tools *t, const struct offer *offer, struct writer *w);
void mcp_tools_free(struct mcp_tools *t);

/* Fills output, JSON, from the result of tools/call: text as text, structured content as JSON,
 * and other content (images, resources) as the JSON that it came as. ERROR_TOOL if it tells of
 * a failure. */
int mcp_answer_read(struct span result, struct buffer *output, struct error *err);

#endif
