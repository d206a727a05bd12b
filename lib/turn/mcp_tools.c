/*
 * The tools that servers list are filtered by the lists of the agent, the step and the run, and
 * become control tools that their server answers. They are recorded with all that a replay needs to
 * offer them again; what the request contains of them is not recorded a second time. Versions of
 * the list are counted, so that a change is noticed without comparing lists.
 *
 * The texts of a result are joined with line feeds; structured content is used instead of texts
 * that repeat it. Every failure except one of the machine becomes the result of the tool call.
 */
#include "turn/mcp_tools.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/list.h"
#include "base/map.h"
#include "base/memory.h"
#include "base/text.h"
#include "definitions/phase.h"
#include "definitions/tool.h"
#include "formats/content.h"
#include "json/value.h"
#include "mcp_client/mcp_methods.h"
#include "mcp_client/mcp_process.h"
#include "proc/message.h"
#include "storage/traceparent.h"
#include "transcript/event_keys.h"
#include "turn/team.h"
#include "turn/toolrun.h"
#include "turn/turn.h"

#define PREFIX TOOL_SERVED_PREFIX
#define BETWEEN "__"
/* Bytes of an error's message; a longer failure text goes into the output. */
#define MESSAGE_ROOM 900

static const char any_object[] = "{\"type\":\"object\"}";

/* ---- names ---- */

/* Whether one of the names is the tool's name, or a pattern that matches it. */
static bool
mcp_tools_name_is_listed(char *const *names, const char *tool)
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

/* Whether one of the names is for a tool of the server; server NULL: of any server. */
static bool
any_of_server(char *const *names, const char *server)
{
	for (; names != NULL && *names != NULL; names++)
		if (server == NULL ? tool_name_served(*names) : names_server(*names, server))
			return true;
	return false;
}

/* Whether the list of an agent or a phase has the tool. An agent's list that names no tool of
 * the server has all of them. */
static bool
in_list(char *const *names, bool own, const char *tool)
{
	return (!own && !any_of_server(names, NULL)) || mcp_tools_name_is_listed(names, tool);
}

static bool
mcp_tools_is_allowed(const struct member *m, const char *tool)
{
	return (m->allowed == NULL || mcp_tools_name_is_listed(m->allowed, tool)) &&
	    !ceiling_forbids(tool);
}

static struct mcp_use
use_of(const struct turns *turns)
{
	return (struct mcp_use){ .environment = turns->environment, .keys = turns->keys,
	    .sandbox = turns->sandbox, .interrupts = turns->interrupts, .deadline = turns->deadline };
}

/* ---- calls, and their results ---- */

/* The texts, one per line; false if there is content of another kind. */
static bool
join_texts(struct span content, struct buffer *text)
{
	bool first = true;

	if (content.at != NULL && span_type(content) != 'a')
		return false;
	for (struct span_walk block = span_walk(content); span_next(&block);) {
		struct span line = span_member(block.value, "text");

		if (!span_is(span_member(block.value, "type"), "text") || span_type(line) != 's')
			return false;
		if (!first)
			buffer_byte(text, '\n');
		first = false;
		span_decode(line, text);
	}
	return true;
}

static void
mcp_tools_read_content(struct span result, struct buffer *output)
{
	struct span content = span_member(result, "content");
	struct span structured = span_member(result, "structuredContent");
	struct buffer text = BUFFER_INIT;
	bool texts = join_texts(content, &text);

	if (structured.at != NULL && texts) /* the texts repeat it for older clients */
		buffer_append(output, structured.at, structured.len);
	else if (structured.at != NULL && content_is(content) && span_trim(content).len > 2) {
		/* Next to files, it is one more text. */
		buffer_text(output, "[{\"type\":\"text\",\"text\":");
		json_quote(output, structured.at, structured.len);
		buffer_text(output, "},");
		buffer_append(output, content.at + 1, content.len - 1);
	} else if (structured.at != NULL)
		buffer_format(output, "{\"structuredContent\":%.*s,\"content\":%.*s}",
		    (int)structured.len, structured.at, (int)content.len, content.at);
	else if (!texts)
		buffer_append(output, content.at, content.len);
	else
		json_quote(output, buffer_string(&text), text.len);
	buffer_free(&text);
}

/* Whether a result is a question instead (protocol version 2026-07-28). */
static bool
asks_for_input(struct span result, struct error *err)
{
	if (!span_is(span_member(result, "resultType"), "input_required"))
		return false;
	error_set(err, ERROR_TOOL, NULL, "the tool asks for input that there is nobody to give");
	return true;
}

int
mcp_answer_read(struct span result, struct buffer *output, struct error *err)
{
	struct buffer text = BUFFER_INIT;
	bool brief;

	if (asks_for_input(result, err))
		return -1;
	if (!span_true(span_member(result, "isError"))) {
		mcp_tools_read_content(result, output);
		return 0;
	}
	/* A failure text of at most one line becomes the error's message. */
	brief = join_texts(span_member(result, "content"), &text) && text.len > 0 &&
	    text.len < MESSAGE_ROOM && memchr(text.data, '\n', text.len) == NULL &&
	    memchr(text.data, '\0', text.len) == NULL;
	error_set(err, ERROR_TOOL, NULL, "%s", brief ? text.data : "the tool failed");
	if (!brief)
		mcp_tools_read_content(result, output);
	buffer_free(&text);
	return -1;
}

static void
append_number(struct buffer *line, struct span number)
{
	if (span_type(number) == 'n')
		buffer_append(line, number.at, number.len);
}

/* Prints "mcp__x__y: 3/10 what it does", if output is shown as it arrives. */
static void
show_progress(void *context, struct span params)
{
	const struct mcp_tool *t = context;
	struct buffer line = BUFFER_INIT, message = BUFFER_INIT;

	if (!t->turns->verbose)
		return;
	append_number(&line, span_member(params, "progress"));
	if (span_type(span_member(params, "total")) == 'n') {
		buffer_byte(&line, '/');
		append_number(&line, span_member(params, "total"));
	}
	span_decode(span_member(params, "message"), &message);
	message_print(t->control.tool.name, "%s%s%s", buffer_string(&line), message.len > 0 ? " " : "",
	    buffer_string(&message));
	buffer_free(&message);
	buffer_free(&line);
}

/* Checks structured content against the schema that the server has declared. If it does not
 * match, the call fails, and no key is recorded with that. */
static int
check_output(const struct mcp_server *s, const struct tool *tool, struct span structured,
    struct buffer *output, struct error *err)
{
	struct buffer why = BUFFER_INIT;
	json_t *value;
	int status = 0;

	if (tool->output == NULL || structured.at == NULL)
		return 0;
	value = value_parse(structured.at, structured.len, NULL, ERROR_SCHEMA, err);
	if (value == NULL)
		return -1;
	if (schema_check(tool->output, value, &why) == -1) {
		status = error_set(err, ERROR_SCHEMA, NULL, "the tool's output breaks its schema: %s",
		    mcp_says_secret(s, structured) ? "it has a key in it" : buffer_string(&why));
		mcp_hide(s, output->data, output->len);
	}
	json_decref(value);
	buffer_free(&why);
	return status;
}

/* Turns the outcome of a call into that of the tool run. */
static void
mcp_tools_read_answer(const struct mcp_call *call, const struct mcp_tool *t, struct tool_run *run)
{
	int status = -1;

	run->error = call->error;
	/* A call that a signal ended may have done half of its work (recalled_cut_off()). */
	run->process.exit_code = call->exit_code;
	if (run->error.code != ERROR_NONE)
		return;
	if (t->method == NULL)
		status = mcp_answer_read(call->result, &run->output, &run->error);
	else if (!asks_for_input(call->result, &run->error))
		mcp_method_read(t->method, call->result, &run->output, &run->error);
	content_take(&run->output, CONTENT_BYTES_LIMIT, &run->error);
	if (status == 0 && run->error.code == ERROR_NONE)
		check_output(t->server, &t->control.tool,
		    span_member(call->result, "structuredContent"), &run->output, &run->error);
}

/* answer_all() of a struct control (control.h). The model is told of every failure; the caller
 * sees those that end the whole call. */
static int
mcp_tools_answer_calls(struct tool_run *runs, size_t count, struct error *err)
{
	struct mcp_tool *first = runs->control->context;
	struct mcp_call *calls = memory_zero(count, sizeof *calls);
	struct mcp_use use = use_of(first->turns);
	int64_t began = clock_monotonic();
	struct error why = ERROR_INIT;
	int status = 0;

	/* Start servers that are not running before any of them has work to do. */
	for (size_t i = 0; i < count; i++) {
		struct mcp_tool *t = runs[i].control->context;
		struct mcp_server *s = t->server;

		calls[i] = (struct mcp_call){ .server = s,
		    .method = t->method == NULL ? "tools/call" : t->method->method,
		    .tool = t->method == NULL ? t->remote : NULL,
		    .arguments = span_trim(runs[i].input), .timeout_ms = s->definition.timeout_ms,
		    .progress = show_progress, .context = t };
		traceparent_within(use.environment, runs[i].called, calls[i].traceparent);
		if (!s->ready && !interrupts_arrived(use.interrupts, &calls[i].error) &&
		    mcp_open(&s, 1, &use, &calls[i].error) == -1)
			calls[i].exit_code = s->exit_code;
	}
	mcp_call(calls, count, &use, &why);
	for (size_t i = 0; i < count; i++) {
		mcp_tools_read_answer(&calls[i], runs[i].control->context, &runs[i]);
		runs[i].process.duration_ms = calls[i].finished - began;
		if (runs[i].error.code == ERROR_SYSTEM && status == 0) {
			*err = runs[i].error;
			status = -1;
		}
		mcp_call_free(&calls[i]);
	}
	free(calls);
	return status;
}

/* ---- building them ---- */

/* If a schema cannot be compiled, only check that the input is an object. */
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

static struct mcp_tool *
add_tool(struct mcp_tools *t, const struct turns *turns, struct mcp_server *server,
    char *name, char *remote)
{
	struct mcp_tool *tool;

	t->list = memory_array(t->list, t->count + 1, sizeof *t->list);
	tool = &t->list[t->count++];
	*tool = (struct mcp_tool){ .server = server, .remote = remote, .turns = turns };
	tool->control = (struct control){ .tool = { .name = name },
	    .answer_all = mcp_tools_answer_calls, .foreign = true };
	return tool;
}

/* The list is complete, and its elements will not move any more. */
static void
mcp_tools_set_contexts(struct mcp_tools *t)
{
	t->known = true;
	for (size_t i = 0; i < t->count; i++)
		t->list[i].control.context = &t->list[i];
}

/* What servers list, while it is turned into tools. */
struct listing {
	struct mcp_tools *tools;
	const struct turns *turns;
	struct map numbers;        /* name → place in tools */
	char **names;              /* of all listed tools, ends with NULL; NULL if there are none */
	size_t name_count;
};

/* ERROR_DEFINITION if no model API accepts the name, or if another tool has it. */
static int
check_name(const struct listing *l, const struct mcp_server *server, const char *name,
    const char *remote, struct error *err)
{
	const size_t *number = map_get(&l->numbers, name, strlen(name));

	if (!tool_name_valid(name))
		return error_set(err, ERROR_DEFINITION, server->definition.place, "the tool '%.100s' "
		    "cannot be offered: '%.100s' is longer than 64 bytes (name others in `tools`, or the "
		    "server shorter)", remote, name);
	if (number != NULL)
		return error_set(err, ERROR_DEFINITION, server->definition.place, "the tools '%s' and "
		    "'%s' would both be called '%s'", l->tools->list[*number].remote, remote, name);
	return 0;
}

static void
mcp_tools_read_description(struct mcp_tool *t, struct span listed)
{
	struct span notes = span_member(listed, "annotations");
	struct span schema = span_member(listed, "outputSchema");
	json_t *document = NULL;
	struct tool *tool = &t->control.tool;

	tool->description = span_text(span_member(listed, "description"));
	if (tool->description == NULL)
		tool->description = span_text(span_member(listed, "title"));
	tool->effects = span_true(span_member(notes, "readOnlyHint")) ? EFFECTS_READ :
	    EFFECTS_EXTERNAL;
	tool->concurrent = tool->effects == EFFECTS_READ;
	tool->idempotent = tool->effects == EFFECTS_EXTERNAL &&
	    span_true(span_member(notes, "idempotentHint"));
	set_schema(t, span_member(listed, "inputSchema"));
	if (schema.at != NULL)
		document = value_parse(schema.at, schema.len, NULL, ERROR_DEFINITION, NULL);
	if (document != NULL)
		tool->output = schema_compile(document, 0, "", NULL);
	json_decref(document);
}

/* mcp__SERVER__TOOL, in a form that model APIs accept. */
static char *
full_name(const struct mcp_server *server, const char *remote)
{
	return tool_name_fit(memory_format(PREFIX "%s" BETWEEN "%s", server->definition.name,
	    remote));
}

/* Adds a tool if the member may have it, and takes ownership of its name. A tool that the member
 * may not have is added to be called with a warning. 1: it was added. */
static int
mcp_tools_add_allowed(struct listing *l, struct mcp_server *server, char *remote, struct error *err)
{
	const struct member *m = l->turns->member;
	struct error why = ERROR_INIT;
	bool may, good;
	char *name;

	if (!mcp_definition_has(&server->definition, remote)) {
		free(remote);
		return 0;
	}
	name = full_name(server, remote);
	l->names = memory_array(l->names, l->name_count + 2, sizeof *l->names);
	l->names[l->name_count++] = memory_text(name);
	l->names[l->name_count] = NULL;

	/* Allowed in any of its phases. */
	may = in_list(m->agent.tools, false, name);
	for (size_t i = 0; i < m->agent.phases.count; i++)
		may = may || mcp_tools_name_is_listed(m->agent.phases.list[i].tools, name);
	may = may && mcp_tools_is_allowed(m, name);
	good = check_name(l, server, name, remote, &why) == 0;
	if (good && (may || m->agent.tools_policy == TOOLS_WARN)) {
		map_put(&l->numbers, name, strlen(name), l->tools->count);
		add_tool(l->tools, l->turns, server, name, remote);
		return 1;
	}
	if (!good && may)
		*err = why;
	free(remote);
	free(name);
	return good || !may ? 0 : -1;
}

static int
mcp_tools_add_listed(struct listing *l, struct mcp_server *server, struct span tool,
    struct error *err)
{
	struct buffer name = BUFFER_INIT;
	int status;

	span_decode(span_member(tool, "name"), &name);
	/* A NUL would cut the name to that of another tool. */
	if (name.len == 0 || strlen(buffer_string(&name)) != name.len) {
		status = error_set(err, ERROR_TOOL, NULL, "the MCP server '%s' lists a tool %s",
		    server->definition.name, name.len == 0 ? "without a name" : "with a NUL in its name");
		buffer_free(&name);
		return status;
	}
	status = mcp_tools_add_allowed(l, server, buffer_take(&name), err);
	if (status == 1)
		mcp_tools_read_description(&l->tools->list[l->tools->count - 1], tool);
	return status == -1 ? -1 : 0;
}

/* Adds tools for the other features of the server, unless it has a tool of that name, or the
 * name is too long. */
static void
mcp_tools_add_methods(struct listing *l, struct mcp_server *server)
{
	for (const struct mcp_method *m = mcp_methods; m->tool != NULL; m++) {
		char *name = full_name(server, m->tool);
		struct error none = ERROR_INIT;
		struct mcp_tool *t;

		if ((server->features & m->feature) != 0 && tool_name_valid(name) &&
		    !list_has(l->names, name) &&
		    mcp_tools_add_allowed(l, server, memory_text(m->tool), &none) == 1) {
			t = &l->tools->list[l->tools->count - 1];
			t->method = m;
			t->control.tool.description = memory_text(m->description);
			t->control.tool.effects = EFFECTS_READ;
			t->control.tool.concurrent = true;
			set_schema(t, span_of(m->schema, strlen(m->schema)));
		}
		free(name);
	}
}

/* ---- from servers ---- */

/* Collects the servers of which the member may have any tool; returns their number. */
static size_t
used_servers(const struct member *m, struct mcp_server **servers)
{
	size_t count = 0;

	for (size_t i = 0; i < m->server_count; i++) {
		const char *server = m->servers[i]->definition.name;
		char *prefix = memory_format(PREFIX "%s" BETWEEN, server);
		bool may = m->agent.tools_policy == TOOLS_WARN ||
		    !any_of_server(m->agent.tools, NULL) || any_of_server(m->agent.tools, server);

		for (size_t k = 0; k < m->agent.phases.count; k++)
			may = may || any_of_server(m->agent.phases.list[k].tools, server);
		if (may && (m->allowed == NULL || any_of_server(m->allowed, server)) &&
		    !ceiling_forbids_all(prefix))
			servers[count++] = m->servers[i];
		free(prefix);
	}
	return count;
}

static unsigned
mcp_tools_count_listings(struct mcp_server *const *servers, size_t count)
{
	unsigned sum = 0;

	for (size_t i = 0; i < count; i++)
		sum += servers[i]->listing;
	return sum;
}

/* Refuses a tool that the agent names and no server has: otherwise it would be missing silently. */
static int
check_missing(const struct listing *l, char *const *names, struct error *err)
{
	const struct member *m = l->turns->member;

	for (; names != NULL && *names != NULL; names++) {
		if (!tool_name_served(*names) || tool_name_pattern(*names) ||
		    list_has(l->names, *names) || !mcp_tools_is_allowed(m, *names))
			continue;
		char *hint = text_hint(*names, (const char *const *)(uintptr_t)l->names);

		error_set(err, ERROR_DEFINITION, m->agent.path, "tools: its server has no tool '%s'%s",
		    *names, hint);
		free(hint);
		return -1;
	}
	return 0;
}

int
mcp_tools_list(struct mcp_tools *t, const struct turns *turns, struct error *err)
{
	const struct member *m = turns->member;
	struct mcp_server **servers = memory_zero(m->server_count + 1, sizeof *servers);
	struct mcp_use use = use_of(turns);
	size_t count = used_servers(m, servers);
	struct listing l = { .tools = t, .turns = turns };
	struct buffer array = BUFFER_INIT;
	int status = mcp_open(servers, count, &use, err);

	t->listings = mcp_tools_count_listings(servers, count);
	if (status == -1) {
		free(servers);
		return -1;
	}
	for (size_t i = 0; i < count && status == 0; i++) {
		buffer_clear(&array);
		buffer_format(&array, "[%s]", buffer_string(&servers[i]->tools));
		for (struct span_walk tool = span_walk(span_of(array.data, array.len));
		    status == 0 && span_next(&tool);)
			status = mcp_tools_add_listed(&l, servers[i], tool.value, err);
		if (status == 0)
			mcp_tools_add_methods(&l, servers[i]);
	}
	mcp_tools_set_contexts(t);
	if (status == 0)
		status = check_missing(&l, m->agent.tools, err);
	for (size_t i = 0; i < m->agent.phases.count && status == 0; i++)
		status = check_missing(&l, m->agent.phases.list[i].tools, err);
	list_free(l.names);
	map_free(&l.numbers);
	buffer_free(&array);
	free(servers);
	return status;
}

int
mcp_tools_changed(const struct mcp_tools *t, const struct turns *turns, struct error *err)
{
	const struct member *m = turns->member;
	struct mcp_server **servers = memory_zero(m->server_count + 1, sizeof *servers);
	struct mcp_server **stale = memory_zero(m->server_count + 1, sizeof *stale);
	size_t count = used_servers(m, servers), stale_count = 0;
	struct mcp_use use = use_of(turns);
	int status = 0;

	/* Ask the servers again that have announced a change of their tools. */
	for (size_t i = 0; i < count; i++)
		if (mcp_changed(servers[i]))
			stale[stale_count++] = servers[i];
	if (stale_count > 0)
		status = mcp_open(stale, stale_count, &use, err);
	if (status == 0)
		status = mcp_tools_count_listings(servers, count) != t->listings;
	free(stale);
	free(servers);
	return status;
}

/* ---- reading and writing the record ---- */

/* told: the tool in the event's payload; shown: the tool in the request. */
static int
recall_tool(struct mcp_tools *t, const struct turns *turns, struct span told,
    struct span shown, struct error *err)
{
	const struct member *m = turns->member;
	struct span on = span_member(told, KEY_SERVER);
	char *name = span_text(span_member(told, KEY_NAME)), *effects;
	char *remote = span_text(span_member(told, KEY_TOOL));
	struct mcp_server *server = NULL;
	struct mcp_tool *tool;

	for (size_t i = 0; i < m->server_count && server == NULL; i++)
		if (span_is(on, m->servers[i]->definition.name))
			server = m->servers[i];
	if (server == NULL || name == NULL || remote == NULL) {
		free(name);
		free(remote);
		return error_set(err, ERROR_DIVERGENCE, m->agent.name,
		    "the recording has a tool of an MCP server that the agent does not list");
	}
	tool = add_tool(t, turns, server, name, remote);
	tool->method = mcp_method_find(span_member(told, KEY_METHOD));
	tool->control.tool.description = span_text(span_member(shown, KEY_DESCRIPTION));
	effects = span_text(span_member(told, KEY_EFFECTS));
	if (effects == NULL || effects_parse(effects, &tool->control.tool.effects) == -1)
		tool->control.tool.effects = EFFECTS_EXTERNAL;
	tool->control.tool.concurrent = tool->control.tool.effects == EFFECTS_READ;
	free(effects);
	tool->control.tool.idempotent = span_true(span_member(told, KEY_IDEMPOTENT));
	set_schema(tool, span_member(shown, KEY_INPUT_SCHEMA));
	return 0;
}

int
mcp_tools_recall(struct mcp_tools *t, const struct turns *turns, struct span payload,
    struct error *err)
{
	struct span *shown = NULL, name; /* the tools of the request */
	struct map numbers = MAP_INIT;   /* name in the request → place there */
	size_t count = 0;
	int status = 0;

	for (struct span_walk tool = span_walk(span_member(payload, KEY_TOOLS)); span_next(&tool);) {
		name = span_member(tool.value, KEY_NAME);
		if (name.at == NULL || map_get(&numbers, name.at, name.len) != NULL)
			continue;
		shown = memory_array(shown, count + 1, sizeof *shown);
		map_put(&numbers, name.at, name.len, count);
		shown[count++] = tool.value;
	}
	for (struct span_walk told = span_walk(span_member(payload, KEY_MCP));
	    status == 0 && span_next(&told);) {
		const size_t *number;

		name = span_member(told.value, KEY_NAME);
		number = name.at == NULL ? NULL : map_get(&numbers, name.at, name.len);
		/* What the request shows of a tool is not recorded a second time. */
		status = recall_tool(t, turns, told.value,
		    number == NULL || shown == NULL ? told.value : shown[*number], err);
	}
	map_free(&numbers);
	free(shown);
	mcp_tools_set_contexts(t);
	return status;
}

void
mcp_tools_write(const struct mcp_tools *t, const struct offer *offer, struct writer *w)
{
	if (!t->known)
		return;
	writer_member_array(w, KEY_MCP);
	for (size_t i = 0; i < t->count; i++) {
		const struct tool *tool = &t->list[i].control.tool;

		writer_object(w);
		writer_member_string(w, KEY_NAME, tool->name);
		writer_member_string(w, KEY_SERVER, t->list[i].server->definition.name);
		writer_member_string(w, KEY_TOOL, t->list[i].remote);
		if (t->list[i].method != NULL)
			writer_member_string(w, KEY_METHOD, t->list[i].method->method);
		writer_member_string(w, KEY_EFFECTS, effects_name(tool->effects));
		if (tool->idempotent)
			writer_member_bool(w, KEY_IDEMPOTENT, true);
		if (offer_find(offer, tool->name) == NULL) {
			writer_member_string(w, KEY_DESCRIPTION, tool->description);
			writer_member_buffer(w, KEY_INPUT_SCHEMA, &tool->input_schema);
		}
		writer_object_end(w);
	}
	writer_array_end(w);
}

/* ---- what the model is offered ---- */

void
mcp_tools_offer(const struct mcp_tools *t, const struct member *m, char *const *names,
    bool own, struct offer *offer)
{
	for (size_t i = 0; i < t->count; i++) {
		const char *name = t->list[i].control.tool.name;

		if (in_list(names, own, name) && mcp_tools_is_allowed(m, name))
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
