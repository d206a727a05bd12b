/* The schema is kept as a document, too, in which the texts are found that have patterns. */
#include "definitions/approvals.h"

#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

#include "base/list.h"
#include "base/memory.h"
#include "base/text.h"
#include "json/value.h"
#include "limits/tool_name.h"

#define SHELL_SIGNS ";&|`$<>(){}\n\r\\"

/* Keywords of `unless`: with others, such as anyOf or not, it would be unclear which texts need to have
 * no signs of a shell. */
static const char *const keywords[] = { "type", "properties", "required", "additionalProperties", "pattern",
	"items", "enum", "const", "minimum", "maximum", "minLength", "maxLength", "description", NULL };

/* Checks the keywords of a schema, and makes each pattern in it match whole texts. Returns the first
 * keyword that is not allowed; NULL: there is none. */
static const char *
settle_schema(json_t *schema)
{
	json_t *value, *part;
	const char *key, *name, *wrong = NULL;
	void *next, *inner;

	json_object_foreach_safe(schema, next, key, value) {
		if (text_index(key, keywords) == -1 ||
		    (strcmp(key, "additionalProperties") == 0 && !json_is_boolean(value)))
			return key;
		if (strcmp(key, "pattern") == 0 && json_is_string(value)) {
			char *whole = memory_format("^(?:%s)$", json_string_value(value));

			json_object_set_new(schema, key, json_string(whole));
			free(whole);
		} else if (strcmp(key, "properties") == 0) {
			json_object_foreach_safe(value, inner, name, part)
				if (wrong == NULL)
					wrong = settle_schema(part);
		} else if (strcmp(key, "items") == 0 && wrong == NULL) {
			wrong = settle_schema(value);
		}
	}
	return wrong;
}

/* Adds the names of `except`: a text, or a list of texts. */
static bool
read_excepted(json_t *value, struct approval_rule *rule)
{
	const size_t count = json_is_array(value) ? json_array_size(value) : value != NULL;

	for (size_t i = 0; i < count; i++) {
		const char *name = json_string_value(json_is_array(value) ? json_array_get(value, i) : value);

		if (name == NULL || *name == '\0')
			return false;
		list_add(&rule->except, name);
	}
	return true;
}

static int
read_rule(const struct definition *d, const char *key, json_t *value, struct approval_rule *rule,
    struct error *err)
{
	const char *tool = json_is_object(value) ? json_string_value(json_object_get(value, "tool")) :
	    json_string_value(value);
	json_t *unless = json_object_get(value, "unless"), *except = json_object_get(value, "except");
	const char *wrong;
	struct error why;
	char text[sizeof why.message];

	if (tool == NULL || *tool == '\0' || (unless != NULL && !json_is_object(unless)) ||
	    (json_is_object(value) && json_object_size(value) != 1 + (size_t)(unless != NULL) +
	    (size_t)(except != NULL)) || !read_excepted(except, rule))
		return definition_fail(d, key, err,
		    "expected names of tools, such as bash or mcp__github__*, or {tool: NAME, unless: SCHEMA, except: NAMES}");
	rule->tool = memory_text(tool);
	if (unless == NULL)
		return 0;
	rule->document = json_deep_copy(unless);
	wrong = settle_schema(rule->document);
	if (wrong != NULL)
		return definition_fail(d, key, err, "unless: %s: only these keywords are allowed: type, properties, "
		    "required, additionalProperties (true or false), pattern, items, enum, const, minimum, maximum, "
		    "minLength, maxLength", wrong);
	rule->unless = schema_compile(rule->document, SCHEMA_TYPOS, "unless", &why);
	return rule->unless != NULL ? 0 :
	    definition_fail(d, key, err, "%s", error_text(&why, text, sizeof text));
}

int
approvals_read(const struct definition *d, const struct definition_key *key, json_t *value,
    void *object, struct error *err)
{
	struct approvals *a = (struct approvals *)(void *)((char *)object + key->offset);
	const size_t count = json_is_array(value) ? json_array_size(value) : 1;
	int failed = 0;

	for (size_t i = 0; failed == 0 && i < count; i++) {
		a->list = memory_array(a->list, a->count + 1, sizeof *a->list);
		a->list[a->count] = (struct approval_rule){ .tool = NULL };
		failed = read_rule(d, key->name, json_is_array(value) ? json_array_get(value, i) : value,
		    &a->list[a->count++], err);
	}
	return failed;
}

const char *
approvals_unknown_tool(const struct approvals *a, char *const *tools)
{
	for (size_t i = 0; i < a->count; i++)
		if (strpbrk(a->list[i].tool, "*?[\\") == NULL && !tool_name_served(a->list[i].tool) &&
		    !list_has(tools, a->list[i].tool))
			return a->list[i].tool;
	return NULL;
}

/* ---- asking ---- */

/* Whether all signs of a shell in the text are in the pattern. */
static bool
signs_are_allowed(const char *text, const char *pattern)
{
	for (; (text = strpbrk(text, SHELL_SIGNS)) != NULL; text++)
		if (strchr(pattern, *text) == NULL)
			return false;
	return true;
}

/* Whether each text of the value for which the schema has a pattern has only signs that are in it.
 * The anchors of the pattern are not signs of its own. */
static bool
texts_are_allowed(const json_t *schema, const json_t *value)
{
	const char *pattern = json_string_value(json_object_get(schema, "pattern"));
	json_t *properties = json_object_get(schema, "properties"), *part;
	const json_t *items = json_object_get(schema, "items");
	const char *key;

	if (pattern != NULL && !json_is_string(value))
		return false;
	if (pattern != NULL) {
		char *inner = memory_copy(pattern + strlen("^(?:"), strlen(pattern) - strlen("^(?:)$"));
		/* "(a|b)$" has these signs as its own grammar; "\\|" and "[|]" have one that is meant. */
		struct buffer meant = BUFFER_INIT;
		bool within = false, allowed;

		for (const char *at = inner; *at != '\0'; at++) {
			if (*at == '\\' && at[1] != '\0')
				buffer_byte(&meant, *++at);
			else if (*at == '[' || *at == ']')
				within = *at == '[';
			else if (within || strchr("|$(){}", *at) == NULL)
				buffer_byte(&meant, *at);
		}
		allowed = signs_are_allowed(json_string_value(value), buffer_string(&meant)) &&
		    strlen(json_string_value(value)) == json_string_length(value);
		buffer_free(&meant);
		free(inner);
		if (!allowed)
			return false;
	}
	for (size_t i = 0; json_is_object(items) && i < json_array_size(value); i++)
		if (!texts_are_allowed(items, json_array_get(value, i)))
			return false;
	json_object_foreach(properties, key, part) {
		const json_t *inner = json_object_get(value, key);

		/* Also if the schema does not say that it is required. */
		if (inner == NULL || !texts_are_allowed(part, inner))
			return false;
	}
	return true;
}

static bool
rule_excepts(const struct approval_rule *rule, const char *tool)
{
	for (char **name = rule->except; name != NULL && *name != NULL; name++)
		if (fnmatch(*name, tool, 0) == 0)
			return true;
	return false;
}

static bool
rule_excuses(const struct approval_rule *rule, struct span input)
{
	struct error ignored = ERROR_INIT;
	json_t *value;
	bool excuses;

	if (rule->unless == NULL)
		return false;
	value = value_parse(input.at, input.len, "", ERROR_SCHEMA, &ignored);
	excuses = value != NULL && schema_check(rule->unless, value, NULL) == 0 &&
	    texts_are_allowed(rule->document, value);
	json_decref(value);
	return excuses;
}

const struct approval_rule *
approvals_find(const struct approvals *a, const char *tool, struct span input)
{
	for (size_t i = 0; i < a->count; i++)
		if (fnmatch(a->list[i].tool, tool, 0) == 0 && !rule_excepts(&a->list[i], tool) &&
		    !rule_excuses(&a->list[i], input))
			return &a->list[i];
	return NULL;
}

void
approvals_free(struct approvals *a)
{
	for (size_t i = 0; i < a->count; i++) {
		free(a->list[i].tool);
		list_free(a->list[i].except);
		schema_free(a->list[i].unless);
		json_decref(a->list[i].document);
	}
	free(a->list);
	*a = (struct approvals){ NULL, 0 };
}
