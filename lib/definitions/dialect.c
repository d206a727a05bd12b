/*
 * One table per program has the AWF names of its tools. Tools are read into a set of built-in tools
 * and a list of others; at the end, those that the file forbids are removed, whatever the order of
 * its keys.
 */
#include "definitions/dialect.h"

#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/list.h"
#include "base/memory.h"
#include "base/text.h"
#include "definitions/mcp_config.h"
#include "definitions/permission.h"
#include "definitions/skills.h"
#include "definitions/tool.h"
#include "io/file.h"
#include "providers/provider_find.h"

/* ---- tables ---- */

/* Tools of AWF that other programs have, too. */
enum built_in { READ = 1, WRITE = 2, EDIT = 4, BASH = 8, GLOB = 16, GREP = 32, ALL = 63 };
static const struct {
	const char *name;
	enum built_in tool;
} built_ins[] = { { "bash", BASH }, { "edit", EDIT }, { "glob", GLOB }, { "grep", GREP },
	{ "read", READ }, { "write", WRITE } };
#define BUILT_INS (sizeof built_ins / sizeof *built_ins)

struct meaning {
	const char *name;
	unsigned tools;
};

static const struct meaning claude_tools[] = {
	{ "Read", READ }, { "NotebookRead", READ }, { "Write", WRITE }, { "Edit", EDIT },
	{ "MultiEdit", EDIT }, { "Bash", BASH }, { "Glob", GLOB }, { "LS", GLOB }, { "Grep", GREP },
	{ "*", ALL }, { NULL, 0 },
};

/* In upper or lower case; SET/TOOL is one tool of a set. */
static const struct meaning copilot_tools[] = {
	{ "read", READ }, { "read/readFile", READ }, { "readFile", READ }, { "view", READ },
	{ "NotebookRead", READ }, { "read/getNotebookSummary", READ },
	{ "edit", EDIT | WRITE }, { "editFiles", EDIT | WRITE }, { "edit/editFiles", EDIT | WRITE },
	{ "MultiEdit", EDIT }, { "Write", WRITE }, { "edit/createFile", WRITE },
	{ "createFile", WRITE }, { "create", WRITE }, { "edit/createDirectory", WRITE },
	{ "search", GREP | GLOB }, { "codebase", GREP | GLOB }, { "search/codebase", GREP | GLOB },
	{ "search/fileSearch", GLOB }, { "fileSearch", GLOB }, { "search/listDirectory", GLOB },
	{ "listDirectory", GLOB }, { "Glob", GLOB }, { "findTestFiles", GLOB },
	{ "search/textSearch", GREP }, { "textSearch", GREP }, { "Grep", GREP }, { "usages", GREP },
	{ "search/usages", GREP }, { "search/searchResults", GREP }, { "searchResults", GREP },
	{ "execute", BASH }, { "shell", BASH }, { "bash", BASH }, { "powershell", BASH },
	{ "runCommands", BASH }, { "terminal", BASH }, { "runInTerminal", BASH },
	{ "execute/runInTerminal", BASH }, { "runCommands/runInTerminal", BASH },
	{ "terminalCommand", BASH }, { "vscode/runCommand", BASH }, { "*", ALL }, { NULL, 0 },
};

static const struct meaning opencode_tools[] = {
	{ "read", READ }, { "edit", EDIT | WRITE }, { "bash", BASH }, { "glob", GLOB },
	{ "grep", GREP }, { "*", ALL }, { NULL, 0 },
};
/* Tools without a rule of their own: the rule for all tools that change files applies to them. */
static const char *const opencode_aliases[][2] = {
	{ "write", "edit" }, { "patch", "edit" }, { "apply_patch", "edit" }, { "multiedit", "edit" },
	{ "list", "glob" }, { NULL, NULL },
};

static const struct meaning gemini_tools[] = {
	{ "read_file", READ }, { "read_many_files", READ }, { "write_file", WRITE },
	{ "replace", EDIT }, { "run_shell_command", BASH }, { "glob", GLOB },
	{ "list_directory", GLOB }, { "search_file_content", GREP }, { "grep_search", GREP },
	{ "*", ALL }, { NULL, 0 },
};

enum program { CLAUDE, COPILOT, OPENCODE, GEMINI };

struct dialect {
	enum program program;
	const char *name;
	const char *places[4];        /* parts of the path of its directory; ends with NULL */
	const char *ends[3];          /* suffixes of a file's name */
	const char *own_keys[8];      /* keys that no other program has */
	const struct meaning *tools;
};

static const struct dialect dialects[] = {
	{ CLAUDE, "Claude Code", { ".claude/agents", NULL }, { NULL },
	  { "permissionMode", "disallowedTools", NULL }, claude_tools },
	{ COPILOT, "GitHub Copilot", { ".github/agents", ".github/chatmodes", ".copilot/agents", NULL },
	  { ".agent.md", ".chatmode.md", NULL },
	  { "mcp-servers", "argument-hint", "user-invocable", "disable-model-invocation", NULL },
	  copilot_tools },
	{ OPENCODE, "opencode", { ".opencode/agent", ".opencode/agents", "opencode/agent", NULL },
	  { NULL }, { "permission", "maxSteps", NULL }, opencode_tools },
	{ GEMINI, "Gemini CLI", { ".gemini/agents", NULL }, { NULL },
	  { "timeout_mins", NULL }, gemini_tools },
};
#define DIALECTS (sizeof dialects / sizeof *dialects)

const char dialect_directories[] =
    ".claude/agents:.github/agents:.gemini/agents:.opencode/agent:.opencode/agents";

/* ---- which program a file belongs to ---- */

/* Names of models without a version, which only Claude Code has. */
static bool
is_claude_alias(const char *model)
{
	static const char *const names[] = { "sonnet", "opus", "haiku", "inherit", NULL };

	return model != NULL && text_index(model, names) != -1;
}

/* Whether this is a part of the file's directory, at its end or further up. */
static bool
lies_in(const char *path, const char *part)
{
	const char *at = path;
	size_t len = strlen(part);

	while ((at = strstr(at, part)) != NULL && ((at > path && at[-1] != '/') || at[len] != '/'))
		at++;
	return at != NULL;
}

/* The built-in tools that a name means in a table; 0: none. */
static unsigned
meaning_of(const struct meaning *table, const char *name, bool either_case)
{
	for (; table->name != NULL; table++)
		if (either_case ? strcasecmp(table->name, name) == 0 : strcmp(table->name, name) == 0)
			return table->tools;
	return 0;
}

/* The names in a list, or in a text, separated by commas that are not inside parentheses. Returns a
 * list. */
static char **
names_of(const json_t *value)
{
	const char *text = json_string_value(value);
	char **names = NULL;

	for (size_t i = 0; i < json_array_size(value); i++) {
		const char *name = json_string_value(json_array_get(value, i));

		if (name != NULL && *name != '\0')
			list_add(&names, name);
	}
	while (text != NULL && *text != '\0') {
		size_t len = 0, depth = 0;

		text += strspn(text, ", \t\n");
		while (text[len] != '\0' && (depth > 0 || (text[len] != ',' && text[len] != '\n'))) {
			depth += text[len] == '(';
			depth -= text[len] == ')' && depth > 0;
			len++;
		}
		for (; len > 0 && strchr(" \t", text[len - 1]) != NULL; len--)
			;
		if (len > 0)
			list_take(&names, memory_copy(text, len));
		text += len;
	}
	return names;
}

/* Whether a name is one of the program's tools, and none of the names is AWF's name of a built-in
 * tool: in an AWF file, a list such as "read, Bash" is an error. */
static bool
are_claude_names(const json_t *tools)
{
	char **names = names_of(tools);
	bool are = false;

	for (size_t i = 0; names != NULL && names[i] != NULL; i++) {
		char *name = memory_copy(names[i], strcspn(names[i], "("));

		are = are || meaning_of(claude_tools, name, false) != 0;
		free(name);
	}
	for (size_t i = 0; i < BUILT_INS; i++)
		are = are && !list_has(names, built_ins[i].name);
	list_free(names);
	return are;
}

/* {write: false}. */
static bool
are_switches(const json_t *tools)
{
	json_t *object = (json_t *)tools, *on; /* jansson's iterators take no const */
	const char *name;
	bool are = json_object_size(tools) > 0;

	json_object_foreach(object, name, on)
		are = are && json_is_boolean(on);
	return are;
}

const struct dialect *
dialect_of(const struct definition *d)
{
	const json_t *tools = json_object_get(d->document, "tools");

	for (size_t i = 0; i < DIALECTS; i++) {
		for (const char *const *place = dialects[i].places; *place != NULL; place++)
			if (lies_in(d->path, *place))
				return &dialects[i];
		for (const char *const *end = dialects[i].ends; *end != NULL; end++)
			if (text_ends(d->path, *end))
				return &dialects[i];
	}
	if (json_object_get(d->document, "provider") != NULL)
		return NULL;
	for (size_t i = 0; i < DIALECTS; i++)
		for (const char *const *key = dialects[i].own_keys; *key != NULL; key++)
			if (json_object_get(d->document, *key) != NULL)
				return &dialects[i];
	if (are_switches(tools))
		return &dialects[OPENCODE];
	if (are_claude_names(tools) ||
	    is_claude_alias(json_string_value(json_object_get(d->document, "model"))))
		return &dialects[CLAUDE];
	return NULL;
}

const char *
dialect_program(const struct dialect *dialect)
{
	return dialect->name;
}

/* ---- tools ---- */

/* The translation of a document. */
struct translation {
	const struct dialect *dialect;
	struct definition *d;
	const char *workflow_directory;
	unsigned tools;              /* built-in tools that it has */
	unsigned denied;             /* built-in tools that it must not have */
	bool all;                    /* it has all tools */
	bool looks;                  /* it may only read */
	char **others;               /* tools of MCP servers, and tools of the user; NULL */
	const char *servers_key;     /* key with which the file defines or names servers */
	json_t *own;                 /* an object with the servers that it defines */
	char **servers;              /* if there are none, names of the servers in the file; NULL */
	char **forbidden;            /* tools of MCP servers that it must not have, by AWF's or
	                                opencode's names; with a star: all with this beginning;
	                                NULL */
	json_t *approve;             /* rules of what a person is asked about */
	char **left_out;             /* NULL */
};

static json_t *
dialect_value_of(const struct translation *t, const char *key)
{
	json_t *value = json_object_get(t->d->document, key);

	return json_is_null(value) ? NULL : value;
}

/* The servers that a file defines; in a list, each object is one. */
static json_t *
own_servers(const json_t *servers)
{
	json_t *own = json_object();

	if (json_is_object(servers))
		json_object_update(own, (json_t *)servers); /* which jansson does not change */
	for (size_t i = 0; i < json_array_size(servers); i++)
		if (json_is_object(json_array_get(servers, i)))
			json_object_update(own, json_array_get(servers, i));
	return own;
}

/* Whether the agent has access to a server: one that the file defines; if it defines none, one that
 * is found by its name. */
static bool
has_server(struct translation *t, const char *name)
{
	struct mcp_definition found;
	struct error why = ERROR_INIT;
	bool has;

	if (json_object_size(t->own) > 0)
		return json_object_get(t->own, name) != NULL;
	has = mcp_definition_find(&found, name, t->workflow_directory, &why) == 0;
	mcp_definition_free(&found);
	if (has && !list_has(t->servers, name))
		list_add(&t->servers, name);
	return has;
}

/* The AWF name for a name of tools of a server; nothing may follow a star. To be freed by the
 * caller. */
static char *
fit_pattern(const char *name)
{
	size_t len = strcspn(name, "*");
	char *fitted = tool_name_fit(memory_copy(name, len)), *pattern;

	if (name[len] == '\0')
		return fitted;
	pattern = memory_format("%s*", fitted);
	free(fitted);
	return pattern;
}

/* For "mcp__SERVER", "mcp__SERVER__TOOL", and Copilot's "SERVER/TOOL" and "SERVER/": the tool's
 * name in an AWF list, and *server; both to be freed by the caller. NULL: it is not the tool of a
 * server. */
static char *
served_tool(const struct translation *t, const char *name, char **server)
{
	const char *between = strchr(name, '/'), *tool;
	char *fitted_server, *fitted_tool, *ours;

	if (tool_name_served(name)) {
		name += strlen(TOOL_SERVED_PREFIX);
		between = strstr(name, "__");
		tool = between == NULL ? "*" : between + 2;
	} else if (t->dialect->program == COPILOT && between != NULL) {
		tool = between + 1;
	} else {
		return NULL;
	}
	*server = between == NULL ? memory_text(name) : memory_copy(name, (size_t)(between - name));
	if (strchr(*server, '*') != NULL) { /* the name stands for several servers */
		fitted_server = fit_pattern(*server);
		ours = memory_format(TOOL_SERVED_PREFIX "%s", fitted_server);
		free(fitted_server);
		return ours;
	}
	fitted_server = mcp_server_name(*server);
	fitted_tool = fit_pattern(*tool == '\0' ? "*" : tool);
	ours = memory_format(TOOL_SERVED_PREFIX "%s__%s", fitted_server, fitted_tool);
	free(fitted_server);
	free(fitted_tool);
	return ours;
}

/* The built-in tools that a name means, as the program's or as AWF's name; 0: none. */
static unsigned
built_ins_of(const struct translation *t, const char *name)
{
	unsigned tools = meaning_of(t->dialect->tools, name, t->dialect->program == COPILOT);

	for (size_t i = 0; tools == 0 && i < BUILT_INS; i++)
		if (strcmp(built_ins[i].name, name) == 0)
			tools = built_ins[i].tool;
	return tools;
}

/* Adds the AWF names for a name. A name with text after a star, "mcp__SERVER__*_read", cannot be
 * expressed in an AWF list. */
static void
dialect_allow_name(struct translation *t, const char *name)
{
	unsigned tools = built_ins_of(t, name);
	size_t len = strcspn(name, "("), star = strcspn(name, "*");
	char *ours, *path, *server = NULL;

	/* If its arguments are limited, it is left out, unless the limits allow everything. */
	if (tools == 0 && (strcmp(name + len, "(*)") == 0 || strcmp(name + len, "(:*)") == 0)) {
		char *bare = memory_copy(name, len);

		tools = built_ins_of(t, bare);
		free(bare);
	}
	if (tools != 0) {
		t->tools |= tools;
		t->all = t->all || strcmp(name, "*") == 0;
		return;
	}
	ours = served_tool(t, name, &server);
	if (ours != NULL && (strlen(name) > star + 1 || !has_server(t, server) ||
	    !tool_name_listable(ours))) {
		free(ours);
		ours = NULL;
	}
	free(server);
	if (ours == NULL && tool_name_valid(name) && !tool_name_served(name)) {
		/* One of the user's tools. */
		path = tool_find(name, t->workflow_directory, NULL);
		if (path != NULL)
			ours = memory_text(name);
		free(path);
	}
	if (ours == NULL)
		list_add(&t->left_out, name);
	else if (list_has(t->others, ours))
		free(ours);
	else
		list_take(&t->others, ours);
}

/* Whether two names of servers' tools are equal, or one matches the other. */
static bool
dialect_name_covers(const char *one, const char *other)
{
	return strcmp(one, other) == 0 ||
	    (text_ends(one, "*") && strncmp(one, other, strlen(one) - 1) == 0);
}

/* The key of the last rule for a tool, or for its opencode name (NULL: the same), because the last
 * rule counts. NULL: there is none. */
static const char *
last_rule(json_t *rules, const char *tool, const char *theirs)
{
	const char *key, *last = NULL;
	json_t *value;

	json_object_foreach(rules, key, value)
		if (fnmatch(key, tool, FNM_NOESCAPE) == 0 ||
		    (theirs != NULL && fnmatch(key, theirs, FNM_NOESCAPE) == 0))
			last = key;
	return last;
}

/* Adds a rule. In a file of the current form, a rule for an alias can forbid, but not allow. */
static void
add_rule(json_t *rules, const char *name, json_t *rule, bool aliases_allow)
{
	for (size_t i = 0; opencode_aliases[i][0] != NULL; i++)
		if (strcmp(name, opencode_aliases[i][0]) == 0) {
			if (!aliases_allow && permission_of_rule(rule) == PERMISSION_ALLOW)
				return;
			name = opencode_aliases[i][1];
			break;
		}
	json_object_del(rules, name); /* the place of the last one counts */
	json_object_set(rules, name, rule);
}

/* The opencode name of "mcp__SERVER__TOOL", SERVER_TOOL; to be freed by the caller. NULL: it is not
 * the tool of a server. */
static char *
opencode_name(const char *tool)
{
	const char *server = tool + strlen(TOOL_SERVED_PREFIX), *between;

	if (!tool_name_served(tool) || (between = strstr(server, "__")) == NULL)
		return NULL;
	return memory_format("%.*s_%s", (int)(between - server), server, between + 2);
}

/* For a rule that does not allow a tool: removes the tool from an AWF list; and a whole server, if
 * the rule is about one of its tools. */
static bool
dialect_remove_tools(struct translation *t, json_t *rules, const char *key, const char *forbidden)
{
	size_t kept = 0;
	bool any = false;
	char *one;

	for (size_t i = 0; t->others != NULL && (one = t->others[i]) != NULL; i++) {
		char *theirs = opencode_name(one);
		const char *last = last_rule(rules, one, theirs);
		bool away = (last != NULL && strcmp(last, key) == 0) || (text_ends(one, "*") &&
		    (dialect_name_covers(one, forbidden) ||
		    (theirs != NULL && dialect_name_covers(theirs, forbidden))));

		if (!away)
			t->others[kept++] = one;
		else
			free(one);
		any = any || away;
		free(theirs);
	}
	if (t->others != NULL)
		t->others[kept] = NULL;
	return any;
}

/* The key of the last rule that speaks about a built-in tool, for messages. */
static const char *
dialect_key_of(json_t *rules, const char *tool, const char *theirs)
{
	const char *last = last_rule(rules, tool, theirs);

	return last != NULL ? last : tool;
}

/* Rules such as {edit: deny, bash: {"*": ask, "git *": allow}}: removes each tool of which they forbid
 * something, and adds rules for those that are to be asked about. */
static void
apply_rules(struct translation *t, json_t *rules)
{
	const char *names[BUILT_INS + 1] = { NULL }, *key;
	json_t *rule;

	for (size_t i = 0; i < BUILT_INS; i++) {
		const char *theirs = built_ins[i].tool == WRITE ? "edit" : built_ins[i].name;
		const bool had = (t->tools & ~t->denied & built_ins[i].tool) != 0;
		json_t *approve = json_array();
		const enum permission says = permission_of_tool(rules, built_ins[i].name, theirs, approve);

		names[i] = built_ins[i].name;
		if (says == PERMISSION_DENY || says == PERMISSION_DENY_SOME)
			t->denied |= built_ins[i].tool;
		else if (had)
			json_array_extend(t->approve, approve);
		if (says == PERMISSION_DENY_SOME && had) {
			char *what = memory_format("%s (by pattern)", dialect_key_of(rules, built_ins[i].name, theirs));

			if (list_has(t->left_out, what))
				free(what);
			else
				list_take(&t->left_out, what);
		}
		json_decref(approve);
	}
	json_object_foreach(rules, key, rule) {
		size_t star = strcspn(key, "*?[");
		char *forbidden;

		if (permission_of_rule(rule) != PERMISSION_DENY)
			continue;
		forbidden = memory_format("%.*s%s", (int)star, key, key[star] == '\0' ? "" : "*");
		if (dialect_remove_tools(t, rules, key, forbidden) && json_is_object(rule))
			list_take(&t->left_out, memory_format("%s (by pattern)", key));
		list_take(&t->forbidden, forbidden);
	}
	permission_ask_others(rules, names, t->approve);
}

/* The older form, such as {write: false}: all tools except those that are false. */
static void
read_switches(struct translation *t, json_t *switches)
{
	json_t *rules = json_object(), *rule, *on;
	const char *name;

	t->tools = ALL;
	json_object_foreach(switches, name, on) {
		rule = json_string(json_is_true(on) ? "allow" : "deny");
		add_rule(rules, name, rule, true);
		json_decref(rule);
		if (json_is_true(on) && json_object_get(rules, name) != NULL && built_ins_of(t, name) == 0)
			dialect_allow_name(t, name);
	}
	apply_rules(t, rules);
	json_decref(rules);
}

/* The rules of the current form, or one word for all tools. */
static void
read_permissions(struct translation *t, json_t *said)
{
	json_t *rules = json_object(), *rule;
	const char *name;

	if (json_is_string(said))
		json_object_set(rules, "*", said);
	json_object_foreach(said, name, rule)
		add_rule(rules, name, rule, false);
	apply_rules(t, rules);
	json_decref(rules);
}

/* Adds a forbidden name. If only some arguments are forbidden, the whole tool is. "All tools of a
 * server except one" cannot be expressed in a list: then all of the server are removed. */
static void
dialect_forbid_name(struct translation *t, const char *name)
{
	char *bare = memory_copy(name, strcspn(name, "(")), *server = NULL;
	char *ours = served_tool(t, bare, &server), *one;
	size_t kept = 0;

	t->denied |= built_ins_of(t, bare);
	if (strcmp(bare, "*") == 0) {
		list_free(t->others);
		t->others = NULL;
		t->all = false;
	}
	for (size_t i = 0; t->others != NULL && (one = t->others[i]) != NULL; i++) {
		if (ours == NULL ? strcmp(bare, one) != 0 : !dialect_name_covers(ours, one) &&
		    !dialect_name_covers(one, ours)) {
			t->others[kept++] = one;
			continue;
		}
		if (ours != NULL && !dialect_name_covers(ours, one))
			list_take(&t->left_out, memory_format("MCP server %s (without %s)", server, ours));
		free(one);
	}
	if (t->others != NULL)
		t->others[kept] = NULL;
	if (ours != NULL)
		list_take(&t->forbidden, ours);
	free(server);
	free(bare);
}

/* Removes all tools that may change something. Of the project's tools, those are kept that declare
 * that they only read; MCP servers declare this only after they were started, so their tools are
 * removed. */
static void
dialect_make_read_only(struct translation *t)
{
	struct error why = ERROR_INIT;
	size_t kept = 0;
	char *one;

	t->looks = true;
	t->denied |= WRITE | EDIT | BASH;
	for (size_t i = 0; t->others != NULL && (one = t->others[i]) != NULL; i++) {
		struct tool tool;
		bool loaded = !tool_name_served(one) &&
		    tool_load(&tool, one, t->workflow_directory, &why) == 0;

		if (loaded && (tool.effects == EFFECTS_NONE || tool.effects == EFFECTS_READ)) {
			t->others[kept++] = one;
		} else {
			list_take(&t->left_out, memory_format("%s (in plan mode)", one));
			free(one);
		}
		if (loaded)
			tool_free(&tool);
	}
	if (t->others != NULL)
		t->others[kept] = NULL;
}

/* Adds what Claude Code asks about by its mode: in the mode `default` all tools that change something,
 * in `acceptEdits` those that do not edit files. */
static void
read_mode(struct translation *t, const char *mode)
{
	static const char *const asked[] = { "bash", "mcp__*", "edit", "write" };
	const size_t count = strcmp(mode, "default") == 0 ? 4 : strcmp(mode, "acceptEdits") == 0 ? 2 : 0;

	for (size_t i = 0; i < count; i++)
		json_array_append_new(t->approve, json_string(asked[i]));
	if (strcmp(mode, "plan") == 0)
		dialect_make_read_only(t);
}

/* Adds the rules to those that the file has itself under AWF's key. */
static void
set_approvals(struct translation *t)
{
	json_t *own = dialect_value_of(t, "approve_tools");

	if (json_array_size(t->approve) == 0)
		return;
	if (json_is_array(own))
		json_array_extend(t->approve, own);
	else if (own != NULL)
		json_array_append(t->approve, own);
	json_object_set(t->d->document, "approve_tools", t->approve);
}

static void
read_tools(struct translation *t)
{
	json_t *tools = dialect_value_of(t, "tools"), *list = json_array();
	char **names = names_of(tools), **forbidden = names_of(dialect_value_of(t,
	    "disallowedTools"));
	const char *mode = json_string_value(dialect_value_of(t, "permissionMode")), *key;
	json_t *on;

	t->all = tools == NULL;
	if (t->all)
		t->tools = ALL;
	else if (t->dialect->program == OPENCODE && json_is_object(tools))
		read_switches(t, tools);
	else
		json_object_foreach(tools, key, on)
			if (json_is_true(on)) /* if tools are given as a list, only those in it are
			                         used */
				dialect_allow_name(t, key);
	for (char **name = names; name != NULL && *name != NULL; name++)
		dialect_allow_name(t, *name);
	for (char **name = forbidden; name != NULL && *name != NULL; name++)
		dialect_forbid_name(t, *name);
	if (t->dialect->program == OPENCODE)
		read_permissions(t, dialect_value_of(t, "permission"));
	if (mode != NULL)
		read_mode(t, mode);
	set_approvals(t);

	for (size_t i = 0; i < BUILT_INS; i++)
		if ((t->tools & ~t->denied & built_ins[i].tool) != 0)
			json_array_append_new(list, json_string(built_ins[i].name));
	for (char **name = t->others; name != NULL && *name != NULL; name++)
		json_array_append_new(list, json_string(*name));
	json_object_set_new(t->d->document, "tools", list);
	list_free(names);
	list_free(forbidden);
}

/* ---- the other keys ---- */

/* Turns a key of the program into an AWF key, with its line. */
static void
rename_key(struct translation *t, const char *theirs, const char *ours, json_t *value)
{
	json_t *line = json_object_get(t->d->lines, theirs);

	if (line != NULL)
		json_object_set(t->d->lines, ours, line);
	json_object_set_new(t->d->document, ours, value);
	if (strcmp(theirs, ours) != 0)
		json_object_del(t->d->document, theirs);
}

/* Whether the agent has tools of a server. If it has a list of tools, the list must name one. */
static bool
has_tools_of(struct translation *t, const char *server)
{
	char *name = mcp_server_name(server), *all = memory_format(TOOL_SERVED_PREFIX "%s__*", name);
	char *theirs = opencode_name(all);
	bool has = false;

	for (char **tool = t->others; tool != NULL && *tool != NULL; tool++)
		has = has || dialect_name_covers(all, *tool);
	if (!has && t->all && t->looks) {
		list_take(&t->left_out, memory_format("MCP server %s (in plan mode)", name));
	} else if (!has && t->all) {
		char **tool = t->forbidden;

		while (tool != NULL && *tool != NULL && !dialect_name_covers(all, *tool) &&
		    !dialect_name_covers(*tool, all) &&
		    !dialect_name_covers(theirs, *tool) && !dialect_name_covers(*tool, theirs))
			tool++;
		has = tool == NULL || *tool == NULL;
		if (!has && !dialect_name_covers(*tool, all) && !dialect_name_covers(*tool, theirs))
			list_take(&t->left_out, memory_format("MCP server %s (without %s)", name, *tool));
	}
	free(theirs);
	free(all);
	free(name);
	return has;
}

/* Adds the servers that the file defines; if there are none, those that it and its tools name.
 * Servers of which it has no tool are left out. */
static void
read_servers(struct translation *t)
{
	json_t *theirs = dialect_value_of(t, t->servers_key), *ours = json_object_size(t->own) > 0 ?
	    json_object() : json_array(), *definition;
	char **names = names_of(theirs);
	const char *server;

	for (char **name = names; name != NULL && *name != NULL; name++)
		if (json_is_object(ours))
			list_take(&t->left_out, memory_format("MCP server %s (beside one that is defined)",
			    *name));
		else if (!has_server(t, *name))
			list_take(&t->left_out, memory_format("MCP server %s", *name));
	json_object_foreach(t->own, server, definition)
		if (has_tools_of(t, server))
			json_object_set(ours, server, definition);
	for (char **name = t->servers; name != NULL && *name != NULL; name++)
		if (has_tools_of(t, *name))
			json_array_append_new(ours, json_string(*name));
	if (json_object_size(ours) + json_array_size(ours) > 0) {
		rename_key(t, t->servers_key, "mcp_servers", ours);
	} else {
		json_object_del(t->d->document, t->servers_key);
		json_decref(ours);
	}
	list_free(names);
}

/* The name that the maker's API has for "Claude Sonnet 4.5 (copilot)"; to be freed by the caller;
 * NULL if unknown. */
static char *
model_of(const char *text)
{
	static const struct {
		const char *begins, *provider;
	} makers[] = { { "claude-", "anthropic" }, { "gpt-", "openai" }, { "o1", "openai" },
		{ "o3", "openai" }, { "o4", "openai" }, { "gemini-", "google" } };
	char *name = memory_copy(text, strcspn(text, "(|")), *model = NULL;
	size_t len = strlen(name);
	bool known;

	while (len > 0 && strchr(" \t", name[len - 1]) != NULL)
		name[--len] = '\0';
	if (strchr(name, '/') != NULL) {
		/* Drop the name of a reseller, which is no provider here. */
		model = memory_copy(name, strcspn(name, "/"));
		known = provider_check(model, NULL) == 0;
		free(model);
		if (known)
			return name;
		free(name);
		return NULL;
	}
	for (char *at = name; *at != '\0'; at++) {
		if (*at >= 'A' && *at <= 'Z')
			*at = (char)(*at - 'A' + 'a');
		else if (*at == ' ')
			*at = '-';
	}
	for (size_t i = 0; model == NULL && i < sizeof makers / sizeof *makers; i++) {
		if (strncmp(name, makers[i].begins, strlen(makers[i].begins)) != 0)
			continue;
		if (strcmp(makers[i].provider, "anthropic") == 0)
			for (char *at = name; *at != '\0'; at++)
				*at = *at == '.' ? '-' : *at;
		model = memory_format("%s/%s", makers[i].provider, name);
	}
	free(name);
	return model;
}

static void
read_model(struct translation *t, struct dialect_rest *rest)
{
	json_t *value = dialect_value_of(t, "model");
	const char *text = json_string_value(json_is_array(value) ? json_array_get(value, 0) : value);
	char *model = text == NULL ? NULL : model_of(text);

	if (model != NULL) {
		json_object_set_new(t->d->document, "model", json_string(model));
	} else {
		if (text != NULL && strcmp(text, "inherit") != 0 && strchr(text, '/') == NULL)
			rest->alias = memory_text(text);
		json_object_del(t->d->document, "model");
	}
	free(model);
}

/* Adds skills; those that do not exist here are left out. */
static void
read_skills(struct translation *t)
{
	char **names = names_of(dialect_value_of(t, "skills"));
	json_t *found = json_array();

	for (char **name = names; name != NULL && *name != NULL; name++) {
		char *path = skill_name_valid(*name) ?
		    skill_find(*name, t->workflow_directory, NULL) : NULL;

		if (path != NULL)
			json_array_append_new(found, json_string(*name));
		else
			list_take(&t->left_out, memory_format("skill %s", *name));
		free(path);
	}
	if (json_array_size(found) > 0)
		json_object_set(t->d->document, "skills", found);
	else
		json_object_del(t->d->document, "skills");
	json_decref(found);
	list_free(names);
}

/* Translates keys that AWF has under another name with the same values, and those that have another
 * meaning than AWF's key of the same name. */
static void
read_rest(struct translation *t)
{
	static const char *const turns[] = { "maxTurns", "maxSteps", "steps", NULL };
	json_t *minutes = dialect_value_of(t, "timeout_mins");

	for (size_t i = 0; turns[i] != NULL; i++)
		if (json_is_integer(dialect_value_of(t, turns[i])))
			rename_key(t, turns[i], "max_turns",
			    json_incref(dialect_value_of(t, turns[i])));
	if (json_is_number(minutes))
		rename_key(t, "timeout_mins", "timeout", json_real(json_number_value(minutes) * 60));
	json_object_del(t->d->document, "handoffs");
	if (t->dialect->program != CLAUDE)
		json_object_del(t->d->document, "phases");
	if (!json_is_string(dialect_value_of(t, "description")))
		json_object_del(t->d->document, "description");
}

/* Removes the keys that are handled here, whether they were translated or not. */
static void
drop_read(struct translation *t)
{
	static const char *const keys[] = { "disallowedTools", "permission", "permissionMode",
		"disable", "disabled", "kind", NULL };

	for (size_t i = 0; keys[i] != NULL; i++)
		json_object_del(t->d->document, keys[i]);
}

int
dialect_translate(const struct dialect *dialect, struct definition *d,
    const char *workflow_directory, struct dialect_rest *rest, struct error *err)
{
	struct translation t = { .dialect = dialect, .d = d,
		.workflow_directory = workflow_directory };
	static const char *const listing[] = { "tools", "permission", "skills", "mcpServers" };
	static const char *const keys_of_servers[] = { "mcp-servers", "mcpServers", "mcp_servers" };
	const char *kind = json_string_value(dialect_value_of(&t, "kind")), *key = NULL;
	char *place;

	*rest = (struct dialect_rest){ NULL, NULL };
	if (json_is_true(dialect_value_of(&t, "disable")) ||
	    json_is_true(dialect_value_of(&t, "disabled")))
		return definition_fail(d, json_is_true(dialect_value_of(&t, "disable")) ?
		    "disable" : "disabled", err, "the agent is switched off");
	if (dialect->program == GEMINI && kind != NULL && strcmp(kind, "remote") == 0)
		return definition_fail(d, "kind", err,
		    "the agent works elsewhere: agents are not reached over A2A");
	/* Report the key that the warning is most likely about. */
	for (size_t i = 0; key == NULL && i < sizeof listing / sizeof *listing; i++)
		if (dialect_value_of(&t, listing[i]) != NULL)
			key = listing[i];
	place = definition_place(d, key != NULL ? key : "tools");
	for (size_t i = 0; t.servers_key == NULL && i < sizeof keys_of_servers / sizeof *keys_of_servers; i++)
		if (dialect_value_of(&t, keys_of_servers[i]) != NULL)
			t.servers_key = keys_of_servers[i];
	if (t.servers_key == NULL)
		t.servers_key = *keys_of_servers;
	else if (strcmp(t.servers_key, "mcp_servers") != 0)
		json_object_del(d->document, "mcp_servers");
	t.own = own_servers(dialect_value_of(&t, t.servers_key));
	t.approve = json_array();
	read_tools(&t);
	read_servers(&t);
	read_model(&t, rest);
	read_skills(&t);
	read_rest(&t);
	drop_read(&t);
	if (t.left_out != NULL) {
		struct buffer text = BUFFER_INIT;

		buffer_format(&text, "%s: warning: left out, as it is not here:", place);
		for (char **name = t.left_out; *name != NULL; name++)
			buffer_format(&text, "%s %s", name == t.left_out ? "" : ",", *name);
		rest->left_out = buffer_take(&text);
	}
	free(place);
	list_free(t.others);
	json_decref(t.own);
	json_decref(t.approve);
	list_free(t.servers);
	list_free(t.forbidden);
	list_free(t.left_out);
	return 0;
}
