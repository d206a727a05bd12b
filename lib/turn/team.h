/*
 * A team: the agents that may work on a call of a step. The first is the one that the step names;
 * the others are those to which it, or one of the others, may hand over the conversation. Each
 * agent is listed once; agents may name each other. All are loaded, with their models, tools and
 * skills, before any input is read; MCP servers are known then, and start when their tools are
 * needed. No agent has a tool that the run forbids (limits/ceiling.h).
 */
#ifndef AWF_TURN_TEAM_H
#define AWF_TURN_TEAM_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/error.h"
#include "definitions/agent.h"
#include "definitions/tool.h"
#include "json/writer.h"
#include "limits/budget.h"
#include "mcp_client/mcp.h"
#include "providers/endpoint.h"
#include "providers/provider.h"

struct member;

/* Whom an agent may hand over to, and by which tool. */
struct handoff {
	const struct member *to;
	char *tool;
};

struct member {
	struct agent agent;
	const struct member *summariser; /* that makes the summaries of its conversation (compact); NULL:
	                                it does itself */
	bool summarises;             /* it is one */
	struct tool *tools;          /* those that it may use, loaded */
	size_t tool_count;
	struct mcp_server **servers; /* whose tools it has too; the team's */
	size_t server_count;
	char *const *allowed;        /* tools that the step's user allows; NULL: as its file says */
	struct tool stop;            /* its stop tool, if that has a file and is none of tools */
	struct handoff *handoffs;
	size_t handoff_count;
	struct provider *provider;   /* agents of the same provider share it */
	struct provider **fallbacks; /* of the models that are asked in its place */
};

struct team {
	enum tools_policy policy;    /* that the step's user gave */
	struct member **members;
	size_t count;
	struct endpoint **endpoints; /* of the providers that have one, in no order */
	size_t endpoint_count;
	struct provider **providers;
	size_t provider_count;
	struct mcp_server **servers; /* agents that list the same one share it */
	size_t server_count;
};

/* How the step's user has its agents work; NULL, -1: as their files say. */
struct team_source {
	const char *agent_file;      /* NULL: an agent of nothing but a model */
	const char *model;           /* of the first agent */
	const char *model_place;     /* where it was said; NULL: -m */
	char **allow_tools;          /* ends with NULL */
	enum tools_policy tools_policy;
	int64_t max_turns, max_tokens_total;
	const char *output_schema;   /* a file: of the result, whichever agent it comes from */
};

/* ERROR_DEFINITION, ERROR_USAGE; team_free() is called either way. name is that of an
 * agent without a file. An agent that is handed over to and names neither provider nor
 * model has those of the first. */
int team_load(struct team *t, const struct team_source *source, const char *name,
    struct error *err);
/* The provider of an agent itself (0), or of a fallback of its (1, 2, …); NULL: no more. */
const char *team_agent_provider(const struct agent *agent, size_t number);
/* The endpoint that a provider's name stands for; NULL: none, or this is a replay, which reads no
 * file of one. */
const struct endpoint *team_endpoint(const struct team *t, const char *provider);
/* Whether one of the agents is an agent CLI's, which may do anything in its turn. */
bool team_runs_cli(const struct team *t);
/* Whether what its agents do depends on the directory and the variables of the step: they have
 * tools, or are an agent CLI's. Models alone do not read them. */
bool team_reads_environment(const struct team *t);
/* Whether all that run one can do no more than read (provider_only_reads()). */
bool team_clis_only_read(const struct team *t);
/* Whether the prices of all models that it may ask are known, where a budget has limits. */
int team_check_prices(const struct team *t, const struct budget *b, struct error *err);
/* Makes the providers' processes ours to start. None runs yet. */
void team_connect(struct team *t, const struct keys *keys, const struct run *run,
    const char *step);
/* Ends those that run. */
void team_stop(struct team *t);
void team_free(struct team *t);

#endif
