/*
 * A table of keys, each with its reader. A change can only choose among what the turn has: tools
 * can be removed, not added. Its text is kept minified, because a replay compares it byte by byte.
 */
#include "turn/change.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/text.h"
#include "formats/params.h"
#include "json/value.h"
#include "transcript/event_keys.h"

/* What the turn would have without the change. */
struct given {
	const struct offer *offer;
	const json_t *params;
};

static int
change_set_error(struct error *err, const char *key, const char *what)
{
	return error_set(err, ERROR_SCHEMA, NULL, "%s: %s", key, what);
}

static int
change_read_model(struct change *c, struct span value, const struct given *given,
    struct error *err)
{
	(void)given;
	c->model = value;
	return span_type(value) == 's' && value.len > 2 ? 0 :
	    change_set_error(err, "model", "expected the name of a model");
}

static int
change_read_messages(struct change *c, struct span value, const struct given *given,
    struct error *err)
{
	bool good = span_type(value) == 'a' && span_element(value, 0).at != NULL;

	(void)given;
	c->messages = value;
	for (struct span_walk message = span_walk(value); good && span_next(&message);) {
		struct span blocks = span_member(message.value, KEY_BLOCKS);
		struct span role = span_member(message.value, KEY_ROLE);

		good = (span_is(role, "user") || span_is(role, "assistant")) &&
		    span_element(blocks, 0).at != NULL;
		for (struct span_walk block = span_walk(blocks); good && span_next(&block);)
			good = span_type(block.value) == 'o' &&
			    span_type(span_member(block.value, KEY_TYPE)) == 's';
	}
	return good ? 0 : change_set_error(err, "messages",
	    "expected a list of objects with a role (user, "
	    "assistant) and a list of blocks with a type each");
}

static int
change_read_tools(struct change *c, struct span value, const struct given *given,
    struct error *err)
{
	int status = span_type(value) == 'a' ? 0 : change_set_error(err, "tools",
	    "expected a list of names");

	c->narrows = true;
	for (struct span_walk element = span_walk(value); status == 0 && span_next(&element);) {
		char *name = span_text(element.value);
		const struct offered *offered = name == NULL ? NULL : offer_find(given->offer, name);

		if (name == NULL)
			status = change_set_error(err, "tools", "expected a list of names");
		else if (offered == NULL)
			status = error_set(err, ERROR_BLOCKED, NULL, "tools: '%s' is none of those that the "
			    "turn has", name);
		else if (offer_find(&c->offer, name) == NULL && offered->control != NULL)
			offer_add_control(&c->offer, offered->control);
		else if (offer_find(&c->offer, name) == NULL)
			offer_add(&c->offer, offered->tool);
		free(name);
	}
	return status;
}

static int
change_read_params(struct change *c, struct span value, const struct given *given,
    struct error *err)
{
	struct error why = ERROR_INIT;
	json_t *changes = value_parse(value.at, value.len, NULL, ERROR_SCHEMA, &why);
	int status = -1;

	c->params = json_deep_copy(given->params);
	if (!json_is_object(changes))
		change_set_error(err, "params", "expected an object");
	else if (params_change(c->params, changes, "params", &why) == -1)
		change_set_error(err, "params", why.message);
	else
		status = 0;
	json_decref(changes);
	return status;
}

/* {"result": …} or {"error": "…"}. */
static int
change_read_end(struct change *c, struct span value, const struct given *given,
    struct error *err)
{
	size_t bad;

	(void)given;
	c->result = span_member(value, "result");
	c->failure = span_member(value, "error");
	if (c->result.at != NULL && scan_within(c->result.at, c->result.len, SCAN_DEPTH, &bad) != NULL)
		return change_set_error(err, "end", "the result is nested too deep");
	if ((c->result.at != NULL) != (c->failure.at != NULL) &&
	    (c->failure.at == NULL || span_type(c->failure) == 's'))
		return 0;
	return change_set_error(err, "end", "expected {\"result\": …} or {\"error\": \"…\"}");
}

static const struct {
	const char *name;
	int (*take)(struct change *, struct span, const struct given *, struct error *);
} keys[] = {
	{ "model", change_read_model },
	{ "messages", change_read_messages },
	{ "tools", change_read_tools },
	{ "params", change_read_params },
	{ "end", change_read_end },
};

#define KEYS (sizeof keys / sizeof *keys)

int
change_read(struct change *c, const char *bytes, size_t len, const struct offer *offer,
    const json_t *params, struct error *err)
{
	const struct given given = { offer, params };
	struct span whole = span_trim_json(span_of(bytes, len));
	struct error why = ERROR_INIT;
	json_t *value;
	int status = 0;
	bool object;
	size_t bad;

	memset(c, 0, sizeof *c);
	if (whole.len == 0)
		return 0;

	/* It must be valid in a line of the transcript, where no key may occur twice. */
	value = value_parse(whole.at, whole.len, NULL, ERROR_SCHEMA, &why);
	if (value == NULL)
		return error_set(err, ERROR_SCHEMA, NULL, "no JSON: %s", why.message);
	object = json_is_object(value);
	json_decref(value);
	if (!object || scan_within(whole.at, whole.len, SCAN_LINE_DEPTH - 2, &bad) != NULL)
		return error_set(err, ERROR_SCHEMA, NULL, "no JSON object, or one that is too deep");

	scan_minify(whole, &c->text);
	for (struct span_walk member = span_walk(span_of(c->text.data, c->text.len));
	    status == 0 && span_next(&member);) {
		const char *names[KEYS + 1] = { NULL };
		char *name, *hint;
		size_t i = 0;

		if (span_type(member.value) == '0')
			continue;
		while (i < KEYS && !span_is(member.key, keys[i].name))
			i++;
		if (i < KEYS) {
			status = keys[i].take(c, member.value, &given, err);
			continue;
		}
		for (i = 0; i < KEYS; i++)
			names[i] = keys[i].name;
		name = span_text(member.key);
		hint = text_hint(name, names);
		status = error_set(err, ERROR_SCHEMA, NULL, "%s: unknown key%s", name, hint);
		free(hint);
		free(name);
	}
	return status;
}

void
change_free(struct change *c)
{
	buffer_free(&c->text);
	offer_clear(&c->offer);
	json_decref(c->params);
	memset(c, 0, sizeof *c);
}
