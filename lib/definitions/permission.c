/*
 * The rules for a built-in tool are first written as one list of patterns. A pattern for everything
 * makes those before it meaningless. An allowed pattern becomes an alternative of a regular expression,
 * behind a lookahead that excludes what later patterns take away.
 */
#include "definitions/permission.h"

#include <fnmatch.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "base/memory.h"
#include "base/text.h"
#include "definitions/tool.h"

/* Characters that * and ? in an allowed pattern do not match; written in brackets. */
#define SHELL_SIGNS ";&|`$<>(){}\\n\\r\\0\\\\"
#define QUOTES "'\""
/* A path that may lead elsewhere than its text says. */
#define OTHER_PATH "(?!/|~|(?:.*/)?\\.\\.?(?:/|$)|.*//)"
/* What a shell skips before the name of a command. */
#define BLANKS "[ \\t]*"
#define ASSIGNMENTS BLANKS "(?:[A-Za-z_][A-Za-z0-9_]*=[^ \\t]*[ \\t]+)*"

struct permission_list {
	struct permission_entry {
		const char *glob;      /* the rules' */
		enum permission says;
	} *list;
	size_t count;
};

static enum permission
permission_of_word(const json_t *word)
{
	static const char *const words[] = { "allow", "ask", NULL };
	const char *text = json_string_value(word);
	int at = text != NULL ? text_index(text, words) : -1;

	return at == 0 ? PERMISSION_ALLOW : at == 1 ? PERMISSION_ASK : PERMISSION_DENY;
}

enum permission
permission_of_rule(json_t *rule)
{
	enum permission says = PERMISSION_ALLOW, one;
	const char *glob;
	json_t *word;

	if (!json_is_object(rule))
		return permission_of_word(rule);
	json_object_foreach(rule, glob, word) {
		one = permission_of_word(word);
		says = one > says ? one : says;
	}
	return says;
}

/* ---- built-in tools ---- */

static void
permission_add(struct permission_list *l, const char *glob, enum permission says)
{
	if (glob[strspn(glob, "*")] == '\0')
		l->count = 0;
	l->list = memory_array(l->list, l->count + 1, sizeof *l->list);
	l->list[l->count++] = (struct permission_entry){ glob, says };
}

static void
permission_list_rules(struct permission_list *l, json_t *rules, const char *tool, const char *theirs)
{
	const char *key, *glob;
	json_t *rule, *word;

	permission_add(l, "*", PERMISSION_ALLOW);
	json_object_foreach(rules, key, rule) {
		if (fnmatch(key, tool, FNM_NOESCAPE) != 0 && fnmatch(key, theirs, FNM_NOESCAPE) != 0)
			continue;
		if (!json_is_object(rule))
			permission_add(l, "*", permission_of_word(rule));
		json_object_foreach(rule, glob, word)
			permission_add(l, glob, permission_of_word(word));
	}
}

static bool
permission_list_has(const struct permission_list *l, size_t from, enum permission says)
{
	for (size_t i = from; i < l->count; i++)
		if (l->list[i].says == says)
			return true;
	return false;
}

/* Writes a glob as a regular expression, with `any` for each ? and `blank` for each blank. A final " *"
 * also matches the command without arguments. */
static void
permission_write_glob(struct buffer *out, const char *glob, const char *any, const char *blank)
{
	const size_t len = strlen(glob);
	const bool optional = len > 2 && strcmp(glob + len - 2, " *") == 0;

	for (size_t i = 0; i < (optional ? len - 2 : len); i++) {
		if (glob[i] == '*')
			buffer_format(out, "%s*", any);
		else if (glob[i] == '?')
			buffer_text(out, any);
		else if (glob[i] == ' ')
			buffer_text(out, blank);
		else if (strchr("\\^$.|+()[]{}/", glob[i]) != NULL)
			buffer_format(out, "\\%c", glob[i]);
		else
			buffer_byte(out, glob[i]);
	}
	if (optional)
		buffer_format(out, "(?:%s%s*)?", blank, any);
}

/* The regular expression of what is allowed. */
static char *
permission_write_allowed(const struct permission_list *l, bool command, bool path)
{
	struct buffer out = BUFFER_INIT;

	if (path)
		buffer_text(&out, OTHER_PATH "(?:");
	for (size_t i = 0, written = 0; i < l->count; i++) {
		const bool taken = permission_list_has(l, i, PERMISSION_ASK);

		if (l->list[i].says != PERMISSION_ALLOW)
			continue;
		if (written++ > 0)
			buffer_byte(&out, '|');
		for (size_t k = i + 1; k < l->count; k++) {
			if (l->list[k].says != PERMISSION_ASK)
				continue;
			buffer_format(&out, "(?!%s", command ? ASSIGNMENTS : "");
			permission_write_glob(&out, l->list[k].glob, "[\\s\\S]", command ? "[ \\t]+" : " ");
			buffer_format(&out, "%s$)", command ? BLANKS : "");
		}
		permission_write_glob(&out, l->list[i].glob, command && taken ? "[^" SHELL_SIGNS QUOTES "]" :
		    "[^" SHELL_SIGNS "]", " ");
	}
	if (path)
		buffer_byte(&out, ')');
	return buffer_take(&out);
}

enum permission
permission_of_tool(json_t *rules, const char *tool, const char *theirs, json_t *approve)
{
	static const char *const paths[] = { "edit", "read", "write", NULL };
	const bool command = strcmp(tool, "bash") == 0, path = text_index(tool, paths) != -1;
	struct permission_list l = { NULL, 0 };
	enum permission says = PERMISSION_ALLOW;

	permission_list_rules(&l, rules, tool, theirs);
	if (permission_list_has(&l, 0, PERMISSION_DENY)) {
		says = l.count == 1 ? PERMISSION_DENY : PERMISSION_DENY_SOME;
	} else if (permission_list_has(&l, 0, PERMISSION_ASK) &&
	    permission_list_has(&l, 0, PERMISSION_ALLOW)) {
		char *pattern = permission_write_allowed(&l, command, path);

		says = PERMISSION_ASK;
		json_array_append_new(approve, json_pack("{s:s, s:{s:{s:{s:s}}}}", "tool", tool, "unless",
		    "properties", command ? "command" : path ? "file_path" : "pattern", "pattern", pattern));
		free(pattern);
	} else if (permission_list_has(&l, 0, PERMISSION_ASK)) {
		says = PERMISSION_ASK;
		json_array_append_new(approve, json_string(tool));
	}
	free(l.list);
	return says;
}

/* ---- other tools ---- */

/* Adds the AWF patterns for a name: itself, and, as the name of a server's tool is SERVER_TOOL there,
 * mcp__SERVER__TOOL with the underscores wherever the name can be divided. */
static void
permission_add_names(json_t *names, const char *name)
{
	json_array_append_new(names, json_string(name));
	if (strcmp(name, "*") == 0 || tool_name_served(name))
		return;
	for (const char *at = name; (at = strpbrk(at, "_*?")) != NULL; at++) {
		char *served = memory_format(TOOL_SERVED_PREFIX "%.*s%s%s", (int)(at - name), name,
		    *at == '*' ? "*__*" : "__", at + 1);

		json_array_append_new(names, json_string(served));
		free(served);
	}
}

/* The names that a rule is not for: those of later rules, and built-in tools. */
static json_t *
permission_list_excepted(json_t *rules, const char *key, const char *const *built_ins)
{
	json_t *excepted = json_array(), *rule;
	const char *other;
	bool later = false;

	json_object_foreach(rules, other, rule) {
		if (later && (!json_is_object(rule) || json_object_size(rule) > 0))
			permission_add_names(excepted, other);
		later = later || strcmp(other, key) == 0;
	}
	for (; *built_ins != NULL; built_ins++)
		if (fnmatch(key, *built_ins, FNM_NOESCAPE) == 0)
			json_array_append_new(excepted, json_string(*built_ins));
	return excepted;
}

void
permission_ask_others(json_t *rules, const char *const *built_ins, json_t *approve)
{
	const char *key;
	json_t *rule;

	json_object_foreach(rules, key, rule) {
		json_t *names, *excepted;

		if (permission_of_rule(rule) != PERMISSION_ASK || text_index(key, built_ins) != -1)
			continue;
		names = json_array();
		permission_add_names(names, key);
		excepted = permission_list_excepted(rules, key, built_ins);
		for (size_t i = 0; i < json_array_size(names); i++)
			json_array_append_new(approve, json_array_size(excepted) == 0 ?
			    json_incref(json_array_get(names, i)) : json_pack("{s:O, s:O}", "tool",
			    json_array_get(names, i), "except", excepted));
		json_decref(names);
		json_decref(excepted);
	}
}
