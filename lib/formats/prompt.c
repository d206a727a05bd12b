/*
 * One pass over the prompt; each name is looked up part by part in the JSON, of which nothing else
 * is decoded. prompt_check() makes the same pass without values.
 */
#include "formats/prompt.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/list.h"
#include "base/memory.h"
#include "base/text.h"
#include "storage/state.h"

/* The values that a prompt can refer to. */
struct values {
	struct span data, inputs;
	bool names_alone; /* only the names are checked: there are no values */
	bool has_data;    /* whether the prompt refers to data */
};

/* The value of a name such as data.x.y, which is modified; *known is false if the name does not
 * begin with data or inputs. */
static struct span
prompt_value_of(struct values *values, char *name, bool *known)
{
	char *part = strsep(&name, "."), *end;
	bool data = strcmp(part, "data") == 0;
	struct span value = data ? values->data : values->inputs;

	values->has_data = values->has_data || data;
	*known = data || strcmp(part, "inputs") == 0;
	while (*known && value.at != NULL && (part = strsep(&name, ".")) != NULL) {
		if (span_type(value) != 'a') {
			value = span_member(value, part);
			continue;
		}
		unsigned long index = strtoul(part, &end, 10);

		value = *part >= '0' && *part <= '9' && *end == '\0' ? span_element(value, index) :
		    SPAN_NONE;
	}
	return value;
}

/* The key of the data that is most similar to "data.KEY", as a hint; "" if there is none.
 * Allocated. */
static char *
near_key(struct span data, struct span name)
{
	static const char prefix[] = "data.";
	char **keys = memory_zero(1, sizeof *keys), *wanted, *hint;

	if (span_type(data) == 'o' && name.len > strlen(prefix))
		for (struct span_walk walk = span_walk(data); span_next(&walk);)
			list_take(&keys, span_text(walk.key));
	wanted = name.len > strlen(prefix) ? memory_copy(name.at + strlen(prefix),
	    name.len - strlen(prefix)) : memory_text("");
	/* No hint for a nested name: only the keys at the top are compared. */
	hint = text_hint(strchr(wanted, '.') == NULL ? wanted : "", (const char *const *)(uintptr_t)keys);
	free(wanted);
	list_free(keys);
	return hint;
}

/* Sets an error that says what is missing and how to provide it. */
static int
refuse_missing(const struct values *values, struct span name, const char *place, struct error *err)
{
	const struct span prefix = span_of("inputs.", strlen("inputs."));
	const int len = (int)name.len;
	size_t input_len = 0; /* of the input's name, without members of its value */
	char *hint;

	while (prefix.len + input_len < name.len &&
	    strchr(".} \t\r\n", name.at[prefix.len + input_len]) == NULL)
		input_len++;
	if (name.len > prefix.len && memcmp(name.at, prefix.at, prefix.len) == 0)
		return error_set(err, ERROR_INVALID_INPUT, place, "{{%.*s}} is missing: awf-run "
		    "--input %.*s=VALUE names it ({{%.*s?}} may be missing)", len, name.at,
		    (int)input_len, name.at + prefix.len, len, name.at);
	if (span_holds_json(values->data))
		return error_set(err, ERROR_INVALID_INPUT, place, "{{%.*s}} is missing: "
		    DATA_HOLDS_JSON, len, name.at);
	hint = near_key(values->data, name);
	if (*hint != '\0')
		error_set(err, ERROR_INVALID_INPUT, place, "{{%.*s}} is missing in the input%s", len, name.at,
		    hint);
	else
		error_set(err, ERROR_INVALID_INPUT, place, "{{%.*s}} is missing in the input "
		    "({{%.*s?}} may be)", len, name.at, len, name.at);
	free(hint);
	return -1;
}

/* Appends the value for the text between the braces. */
static int
render_name(struct values *values, struct span text, const char *place,
    struct buffer *out, struct error *err)
{
	struct span trimmed = span_trim(text), value;
	bool optional = trimmed.len > 0 && trimmed.at[trimmed.len - 1] == '?', known;
	char *name = memory_copy(trimmed.at, trimmed.len - optional);

	value = prompt_value_of(values, name, &known);
	free(name);
	if (!known)
		return error_set(err, ERROR_DEFINITION, place, "{{%.*s}}: expected data or inputs "
		    "(\\{{ stands for two braces)", (int)trimmed.len, trimmed.at);
	if (value.at == NULL && !optional && !values->names_alone)
		return refuse_missing(values, trimmed, place, err);
	if (value.at != NULL && span_type(value) == 's')
		span_decode(value, out);
	else if (value.at != NULL)
		scan_minify(value, out);
	return 0;
}

static int
prompt_render_values(const char *prompt, struct values *values, const char *place,
    struct buffer *out, struct error *err)
{
	const char *open, *close;

	buffer_text(out, "");
	while ((open = strstr(prompt, "{{")) != NULL) {
		if (open > prompt && open[-1] == '\\') {
			buffer_append(out, prompt, (size_t)(open - 1 - prompt));
			buffer_text(out, "{{");
			prompt = open + 2;
			continue;
		}
		buffer_append(out, prompt, (size_t)(open - prompt));
		close = strstr(open, "}}");
		if (close == NULL)
			return error_set(err, ERROR_DEFINITION, place,
			    "{{ has no }} (\\{{ stands for two braces)");
		if (render_name(values, span_of(open + 2, (size_t)(close - open - 2)), place, out,
		    err) != 0)
			return -1;
		prompt = close + 2;
	}
	buffer_text(out, prompt);
	return 0;
}

int
prompt_render(const char *prompt, struct span data, struct span inputs, const char *place,
    struct buffer *out, struct error *err)
{
	struct values values = { data, inputs, false, false };

	return prompt_render_values(prompt, &values, place, out, err);
}

int
prompt_check(const char *prompt, const char *place, struct error *err)
{
	struct values values = { SPAN_NONE, SPAN_NONE, true, false };
	struct buffer out = BUFFER_INIT;
	int result = prompt_render_values(prompt, &values, place, &out, err);

	buffer_free(&out);
	return result;
}

bool
prompt_has_data(const char *prompt)
{
	struct values values = { SPAN_NONE, SPAN_NONE, true, false };
	struct buffer out = BUFFER_INIT;

	prompt_render_values(prompt, &values, NULL, &out, NULL);
	buffer_free(&out);
	return values.has_data;
}
