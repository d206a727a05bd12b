/*
 * What servers list is filtered by the agent's lists, the step's and the run's, and made into
 * control tools that their server answers. They are recorded with what a replay needs to
 * offer them again; what the request shows of them is not repeated. Lists are counted, so
 * that a change is seen without comparing them.
 */
#include "agent/mcp_tools.h"

#include <stdlib.h>
#include <string.h>

#include "agent/mcp_answer.h"
#include "agent/phase.h"
#include "agent/team.h"
#include "agent/tool.h"
#include "agent/turn.h"
#include "base/list.h"
#include "base/map.h"
#include "base/memory.h"
#include "base/text.h"
#include "json/value.h"
#include "transcript/event_keys.h"

#define PREFIX TOOL_SERVED_PREFIX
#define BETWEEN "__"

static const char any_object[] = "{\"type\":\"object\"}";

/* ---- names ---- */

bool
mcp_tool_listed(char *const *names, const char *tool)
{
	for (; names != NULL && *names != NULL; names++)
		if (strcmp(*names, tool) == 0 || (tool_name_pattern(*names) &&
		    strncmp(*names, tool, strlen(*names) - 1) == 0))
			return true;
	return false;
}

/* Whether the name is for tools of the server. */
static bool
names_server(const char *name, const char *server)
{
	size_t len = strlen(server);

	return tool_name_served(name) && strncmp(name + sizeof PREFIX - 1, server, len) == 0 &&
	    strncmp(name + sizeof PREFIX - 1 + len, BETWEEN, sizeof BETWEEN - 1) == 0;
}

int
mcp_tool_check(const struct member *m, char *const *names, const char *place,
    struct error *err)
{
	for (; names != NULL && *names != NULL; names++) {
		bool known = !tool_name_served(*names);

		for (size_t i = 0; i < m->server_count; i++)
			known = known || names_server(*names, m->servers[i]->definition.name);
		if (!known)
			return error_set(err, ERROR_DEFINITION, place, "tools: '%s' is a tool of none of "
			    "the servers that mcp_servers lists", *names);
	}
	return 0;
}

static bool
any_named(char *const *names)
{
	while (names != NULL && *names != NULL && !tool_name_served(*names))
		names++;
	return names != NULL && *names != NULL;
}

/* Whether an agent's or a phase's list has the tool. That of the agent has all if it
 * names none. */
static bool
in_list(char *const *names, bool own, const char *tool)
{
	return (!own && !any_named(names)) || mcp_tool_listed(names, tool);
}

static bool
allowed(const struct member *m, const char *tool)
{
	return (m->allowed == NULL || mcp_tool_listed(m->allowed, tool)) && !ceiling_forbids(tool);
}

/* Whether the member may have it, in any of its phases. */
static bool
wanted(const struct member *m, const char *tool)
{
	const struct phases_list *phases = &m->agent.phases;
	bool listed = in_list(m->agent.tools, false, tool);

	for (size_t i = 0; i < phases->count; i++)
		listed = listed || mcp_tool_listed(phases->list[i].tools, tool);
	return listed && allowed(m, tool);
}

/* ---- making them ---- */

/* One that cannot be compiled checks nothing but that it is an object. */
static void
set_schema(struct mcp_tool *t, struct span schema)
{
	struct tool *tool = &t->control.tool;
	bool given = span_type(schema) == 'o';
	json_t *document;

	if (given)
		scan_minify(schema, &tool->input_schema);
	else
		buffer_text(&tool->input_schema, any_object);
	document = value_parse(tool->input_schema.data, tool->input_schema.len, NULL,
	    ERROR_DEFINITION, NULL);
	tool->input = document == NULL ? NULL : schema_compile(document, 0, "", NULL);
	json_decref(document);
	t->control.judges = tool->input == NULL;
	if (tool->input != NULL)
		return;
	document = json_object();
	tool->input = schema_compile(document, 0, "", NULL);
	json_decref(document);
}

static void
set_output_schema(struct mcp_tool *t, struct span schema)
{
	json_t *document = schema.at == NULL ? NULL :
	    value_parse(schema.at, schema.len, NULL, ERROR_DEFINITION, NULL);

	if (document != NULL)
		t->control.tool.output = schema_compile(document, 0, "", NULL);
	json_decref(document);
}

static struct mcp_tool *
add_tool(struct mcp_tools *t, const struct turns *turns, struct mcp_server *server,
    char *name, char *remote)
{
	struct mcp_tool *tool;

	t->list = memory_array(t->list, t->count + 1, sizeof *t->list);
	tool = &t->list[t->count++];
	*tool = (struct mcp_tool){ .server = server, .remote = remote, .turns = turns };
	tool->control = (struct control){ .tool = { .name = name }, .answer = mcp_answer,
	    .foreign = true };
	return tool;
}

/* The tools are where they stay. */
static void
settle(struct mcp_tools *t)
{
	for (size_t i = 0; i < t->count; i++)
		t->list[i].control.context = &t->list[i];
}

/* What servers list, on its way into tools. */
struct listing {
	struct mcp_tools *tools;
	const struct turns *turns;
	struct map numbers;        /* places in tools, by names */
	char **names;              /* of all that is listed; ends with NULL, if there are any */
	size_t name_count;
};

static void
note_name(struct listing *l, const char *name)
{
	l->names = memory_array(l->names, l->name_count + 2, sizeof *l->names);
	l->names[l->name_count++] = memory_text(name);
	l->names[l->name_count] = NULL;
}

static int
check_name(const struct listing *l, const struct mcp_server *server, const char *name,
    const char *remote, struct error *err)
{
	const size_t *number = map_get(&l->numbers, name, strlen(name));
	const struct mcp_tool *other = number == NULL ? NULL : &l->tools->list[*number];

	if (!tool_name_valid(name))
		return error_set(err, ERROR_DEFINITION, server->definition.place, "the tool '%s' "
		    "cannot be offered: '%s' is longer than 64 bytes (name others in `tools`, or the "
		    "server shorter)", remote, name);
	if (other != NULL)
		return error_set(err, ERROR_DEFINITION, server->definition.place, "the tools '%s' and "
		    "'%s' would both be called '%s'", other->remote, remote, name);
	return 0;
}

static void
describe(struct mcp_tool *t, struct span listed)
{
	struct span notes = span_member(listed, "annotations");
	struct tool *tool = &t->control.tool;

	tool->description = span_text(span_member(listed, "description"));
	if (tool->description == NULL)
		tool->description = span_text(span_member(listed, "title"));
	tool->effects = span_true(span_member(notes, "readOnlyHint")) ? EFFECTS_READ :
	    EFFECTS_EXTERNAL;
	tool->idempotent = tool->effects == EFFECTS_EXTERNAL &&
	    span_true(span_member(notes, "idempotentHint"));
	set_schema(t, span_member(listed, "inputSchema"));
	set_output_schema(t, span_member(listed, "outputSchema"));
}

/* One that the member may not have is there to be called with a warning. */
static int
take_listed(struct listing *l, struct mcp_server *server, struct span listed, struct error *err)
{
	const struct member *m = l->turns->member;
	char *remote = span_text(span_member(listed, "name")), *name;
	struct error why = ERROR_INIT;

	if (remote == NULL || *remote == '\0') {
		free(remote);
		return error_set(err, ERROR_TOOL, NULL, "the MCP server '%s' lists a tool without a name",
		    server->definition.name);
	}
	/* mcp__SERVER__TOOL, as model APIs take it. */
	name = tool_name_fit(memory_format(PREFIX "%s" BETWEEN "%s", server->definition.name,
	    remote));
	note_name(l, name);
	if (check_name(l, server, name, remote, &why) == 0 &&
	    (wanted(m, name) || m->agent.tools_policy == TOOLS_WARN)) {
		map_put(&l->numbers, name, strlen(name), l->tools->count);
		describe(add_tool(l->tools, l->turns, server, name, remote), listed);
		return 0;
	}
	if (why.code != ERROR_NONE && wanted(m, name))
		*err = why;
	else
		why.code = ERROR_NONE;
	free(remote);
	free(name);
	return why.code == ERROR_NONE ? 0 : -1;
}

/* ---- from servers ---- */

static bool
any_of_server(char *const *names, const char *server)
{
	while (names != NULL && *names != NULL && !names_server(*names, server))
		names++;
	return names != NULL && *names != NULL;
}

/* Whether the member may have any tool of the server. */
static bool
used(const struct member *m, const char *server)
{
	char *prefix = memory_format(PREFIX "%s" BETWEEN, server);
	bool may = m->agent.tools_policy == TOOLS_WARN || !any_named(m->agent.tools) ||
	    any_of_server(m->agent.tools, server);

	for (size_t i = 0; i < m->agent.phases.count; i++)
		may = may || any_of_server(m->agent.phases.list[i].tools, server);
	may = may && (m->allowed == NULL || any_of_server(m->allowed, server)) &&
	    !ceiling_forbids_all(prefix);
	free(prefix);
	return may;
}

/* Those that are; how many. */
static size_t
used_servers(const struct member *m, struct mcp_server **servers)
{
	size_t count = 0;

	for (size_t i = 0; i < m->server_count; i++)
		if (used(m, m->servers[i]->definition.name))
			servers[count++] = m->servers[i];
	return count;
}

static unsigned
listings(struct mcp_server *const *servers, size_t count)
{
	unsigned sum = 0;

	for (size_t i = 0; i < count; i++)
		sum += servers[i]->listing;
	return sum;
}

/* A tool that the agent names and no server has would be missed silently. */
static int
check_missing(const struct listing *l, char *const *names, struct error *err)
{
	const struct member *m = l->turns->member;

	for (; names != NULL && *names != NULL; names++) {
		if (!tool_name_served(*names) || tool_name_pattern(*names) ||
		    list_has(l->names, *names) || !allowed(m, *names))
			continue;
		char *hint = text_hint(*names, (const char *const *)(uintptr_t)l->names);

		error_set(err, ERROR_DEFINITION, m->agent.path, "tools: its server has no tool '%s'%s",
		    *names, hint);
		free(hint);
		return -1;
	}
	return 0;
}

static int
check_all_missing(const struct listing *l, struct error *err)
{
	const struct agent *agent = &l->turns->member->agent;
	int status = check_missing(l, agent->tools, err);

	for (size_t i = 0; i < agent->phases.count && status == 0; i++)
		status = check_missing(l, agent->phases.list[i].tools, err);
	return status;
}

static int
take_lists(struct mcp_tools *t, const struct turns *turns, struct mcp_server *const *servers,
    size_t count, struct error *err)
{
	struct listing l = { .tools = t, .turns = turns };
	struct buffer array = BUFFER_INIT;
	int status = 0;

	for (size_t i = 0; i < count && status == 0; i++) {
		buffer_clear(&array);
		buffer_format(&array, "[%s]", buffer_string(&servers[i]->tools));
		for (struct span_walk listed = span_walk(span_of(array.data, array.len));
		    status == 0 && span_next(&listed);)
			status = take_listed(&l, servers[i], listed.value, err);
	}
	buffer_free(&array);
	settle(t);
	t->known = true;
	if (status == 0)
		status = check_all_missing(&l, err);
	list_free(l.names);
	map_free(&l.numbers);
	return status;
}

int
mcp_tools_list(struct mcp_tools *t, const struct turns *turns, struct error *err)
{
	const struct member *m = turns->member;
	struct mcp_server **servers = memory_zero(m->server_count + 1, sizeof *servers);
	struct mcp_use use = mcp_use_of(turns);
	size_t count = used_servers(m, servers);
	int status = mcp_open(servers, count, &use, err);

	t->listings = listings(servers, count);
	if (status == 0)
		status = take_lists(t, turns, servers, count, err);
	free(servers);
	return status;
}

/* Has those tell anew that have said that their tools are others now. */
static int
list_anew(struct mcp_server *const *servers, size_t count, const struct mcp_use *use,
    struct error *err)
{
	struct mcp_server **stale = memory_zero(count + 1, sizeof *stale);
	size_t stale_count = 0;
	int status = 0;

	for (size_t i = 0; i < count; i++)
		if (mcp_changed(servers[i]))
			stale[stale_count++] = servers[i];
	if (stale_count > 0)
		status = mcp_open(stale, stale_count, use, err);
	free(stale);
	return status;
}

int
mcp_tools_changed(const struct mcp_tools *t, const struct turns *turns, struct error *err)
{
	const struct member *m = turns->member;
	struct mcp_server **servers = memory_zero(m->server_count + 1, sizeof *servers);
	size_t count = used_servers(m, servers);
	struct mcp_use use = mcp_use_of(turns);
	int status = list_anew(servers, count, &use, err);

	if (status == 0)
		status = listings(servers, count) != t->listings;
	free(servers);
	return status;
}

/* ---- from the record, and to it ---- */

static struct mcp_server *
server_of(const struct member *m, struct span name)
{
	for (size_t i = 0; i < m->server_count; i++)
		if (span_is(name, m->servers[i]->definition.name))
			return m->servers[i];
	return NULL;
}

/* The tools of a request, by their names as they stand there. */
struct shown {
	struct span *list;
	size_t count;
	struct map numbers;
};

static void
shown_begin(struct shown *s, struct span tools)
{
	struct span name;

	*s = (struct shown){ .count = 0 };
	for (struct span_walk element = span_walk(tools); span_next(&element);) {
		name = span_member(element.value, "name");
		if (name.at == NULL || map_get(&s->numbers, name.at, name.len) != NULL)
			continue;
		s->list = memory_array(s->list, s->count + 1, sizeof *s->list);
		map_put(&s->numbers, name.at, name.len, s->count);
		s->list[s->count++] = element.value;
	}
}

/* The object of that name. */
static struct span
shown_find(const struct shown *s, struct span name)
{
	const size_t *number = name.at == NULL ? NULL : map_get(&s->numbers, name.at, name.len);

	return number == NULL || s->list == NULL ? span_of(NULL, 0) : s->list[*number];
}

static void
shown_free(struct shown *s)
{
	map_free(&s->numbers);
	free(s->list);
}

static int
recall_tool(struct mcp_tools *t, const struct turns *turns, struct span told,
    const struct shown *all, struct error *err)
{
	struct span name = span_member(told, "name"), shown = shown_find(all, name);
	struct mcp_server *server = server_of(turns->member, span_member(told, "server"));
	char *texts[] = { span_text(name), span_text(span_member(told, "tool")), NULL };
	struct mcp_tool *tool;

	if (server == NULL || texts[0] == NULL || texts[1] == NULL) {
		free(texts[0]);
		free(texts[1]);
		return error_set(err, ERROR_DIVERGENCE, turns->member->agent.name,
		    "the recording has a tool of an MCP server that the agent does not list");
	}
	shown = shown.at == NULL ? told : shown;
	tool = add_tool(t, turns, server, texts[0], texts[1]);
	tool->control.tool.description = span_text(span_member(shown, "description"));
	texts[2] = span_text(span_member(told, "effects"));
	if (texts[2] == NULL || effects_parse(texts[2], &tool->control.tool.effects) == -1)
		tool->control.tool.effects = EFFECTS_EXTERNAL;
	free(texts[2]);
	tool->control.tool.idempotent = span_true(span_member(told, "idempotent"));
	set_schema(tool, span_member(shown, "input_schema"));
	return 0;
}

int
mcp_tools_recall(struct mcp_tools *t, const struct turns *turns, struct span payload,
    struct error *err)
{
	struct shown shown;
	int status = 0;

	shown_begin(&shown, span_member(payload, KEY_TOOLS));
	for (struct span_walk told = span_walk(span_member(payload, KEY_MCP));
	    status == 0 && span_next(&told);)
		status = recall_tool(t, turns, told.value, &shown, err);
	shown_free(&shown);
	settle(t);
	t->known = true;
	return status;
}

static void
write_tool(const struct mcp_tool *t, bool shown, struct writer *w)
{
	const struct tool *tool = &t->control.tool;

	writer_object(w);
	writer_member_string(w, "name", tool->name);
	writer_member_string(w, "server", t->server->definition.name);
	writer_member_string(w, "tool", t->remote);
	writer_member_string(w, "effects", effects_name(tool->effects));
	if (tool->idempotent)
		writer_member_bool(w, "idempotent", true);
	if (!shown) {
		writer_member_string(w, "description", tool->description);
		writer_member_buffer(w, "input_schema", &tool->input_schema);
	}
	writer_object_end(w);
}

void
mcp_tools_write(const struct mcp_tools *t, const struct offer *offer, struct writer *w)
{
	if (!t->known)
		return;
	writer_key(w, "mcp");
	writer_array(w);
	for (size_t i = 0; i < t->count; i++)
		write_tool(&t->list[i], offer_find(offer, t->list[i].control.tool.name) != NULL, w);
	writer_array_end(w);
}

/* ---- what the model is offered ---- */

void
mcp_tools_offer(const struct mcp_tools *t, const struct member *m, char *const *names,
    bool own, struct offer *offer)
{
	for (size_t i = 0; i < t->count; i++) {
		const char *name = t->list[i].control.tool.name;

		if (in_list(names, own, name) && allowed(m, name))
			offer_add_control(offer, &t->list[i].control);
	}
}

void
mcp_tools_withhold(const struct mcp_tools *t, const struct offer *offered,
    struct offer *withheld)
{
	for (size_t i = 0; i < t->count; i++)
		if (offer_find(offered, t->list[i].control.tool.name) == NULL)
			offer_add_control(withheld, &t->list[i].control);
}

void
mcp_tools_free(struct mcp_tools *t)
{
	for (size_t i = 0; i < t->count; i++) {
		control_free(&t->list[i].control);
		free(t->list[i].remote);
	}
	free(t->list);
	*t = (struct mcp_tools){ .count = 0 };
}
