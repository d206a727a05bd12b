/*
 * Values are checked by the readers of definitions and kept as JSON, as they are written into the
 * request. A change is checked in the same way; null removes a parameter.
 */
#include "formats/params.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "providers/endpoint_check.h"

static int
params_set_value(void *object, const struct definition_key *key, json_t *value)
{
	return json_object_set(*(json_t **)(void *)((char *)object + key->offset), key->name, value);
}

int
params_integer(const struct definition *d, const struct definition_key *key, json_t *value,
    void *object, struct error *err)
{
	struct definition_key checked = *key;
	int64_t number;

	checked.offset = 0;
	if (definition_integer(d, &checked, value, &number, err) != 0)
		return -1;
	return params_set_value(object, key, value);
}

int
params_number(const struct definition *d, const struct definition_key *key, json_t *value,
    void *object, struct error *err)
{
	double number = json_number_value(value);

	if (!json_is_number(value) || number < (double)key->min || number > (double)key->max)
		return definition_fail(d, key->name, err, "expected a number from %d to %d",
		    (int)key->min, (int)key->max);
	return params_set_value(object, key, value);
}

int
params_stop_sequences(const struct definition *d, const struct definition_key *key, json_t *value,
    void *object, struct error *err)
{
	for (size_t i = 0; i < json_array_size(value); i++)
		if (json_string_length(json_array_get(value, i)) == 0)
			return definition_fail(d, key->name, err, "expected a list of texts");
	if (!json_is_array(value))
		return definition_fail(d, key->name, err, "expected a list of texts, got %s",
		    definition_type(value));
	return params_set_value(object, key, value);
}

int
params_flag(const struct definition *d, const struct definition_key *key, json_t *value,
    void *object, struct error *err)
{
	struct definition_key checked = *key;
	bool flag;

	checked.offset = 0;
	if (definition_flag(d, &checked, value, &flag, err) != 0)
		return -1;
	return params_set_value(object, key, value);
}

/* Whether and how much the model thinks before it answers: a bool, a number of tokens, an effort,
 * or an object in the API's form. */
int
params_thinking(const struct definition *d, const struct definition_key *key, json_t *value,
    void *object, struct error *err)
{
	static const char *const efforts[] = { "none", "minimal", "low", "medium", "high", "xhigh", "max",
	    NULL };
	bool known = json_is_boolean(value) || json_is_object(value) ||
	    json_integer_value(value) > 0;

	for (size_t i = 0; json_is_string(value) && efforts[i] != NULL; i++)
		known = known || strcmp(json_string_value(value), efforts[i]) == 0;
	if (!known)
		return definition_fail(d, key->name, err,
		    "expected true, false, a number of tokens, none, minimal, low, medium, high, xhigh or max");
	return params_set_value(object, key, value);
}

int
params_of_endpoint(const struct definition *d, const struct definition_key *key, json_t *value,
    void *object, struct error *err)
{
	struct error why = ERROR_INIT;
	const char *name;
	json_t *text;

	if (endpoint_check_key(key->name, value, NULL, &why) != 0) {
		char *place = definition_place(d, key->name);

		error_set(err, ERROR_DEFINITION, place, "%s", why.message);
		free(place);
		return -1;
	}
	/* Null, too: without a model the server would choose one. */
	if (json_object_get(value, "model") != NULL && strcmp(key->name, "body") == 0)
		return definition_fail(d, key->name, err, "model cannot be changed: say it as the key model");
	if (strcmp(key->name, "headers") != 0)
		return params_set_value(object, key, value);
	json_object_foreach(value, name, text) {
		if (!endpoint_header_is_apis(name, strlen(name)))
			return definition_fail(d, key->name, err, "%s could say who asks or where a request goes: "
			    "only an endpoint's file may set it, which is the user's", name);
		if (!json_is_string(text))
			return definition_fail(d, key->name, err, "%s: expected a text", name);
	}
	return params_set_value(object, key, value);
}

static const struct definition_key keys[] = {
	{ "max_tokens", params_integer, 0, 1, INT_MAX },
	{ "temperature", params_number, 0, 0, 2 },
	{ "top_p", params_number, 0, 0, 1 },
	{ "stop_sequences", params_stop_sequences, 0, 0, 0 },
	{ "thinking", params_thinking, 0, 0, 0 },
	{ "body", params_of_endpoint, 0, 0, 0 },
	{ "cache", params_flag, 0, 0, 0 },
	{ NULL, NULL, 0, 0, 0 },
};

/* Merges `from` into `to`. Null values are kept: they remove a member from the request's body. */
static void
params_merge_bodies(json_t *to, json_t *from)
{
	const char *name;
	json_t *value;

	json_object_foreach(from, name, value) {
		json_t *old = json_object_get(to, name);

		if (json_is_object(old) && json_is_object(value))
			params_merge_bodies(old, value);
		else
			json_object_set(to, name, value);
	}
}

int
params_change(json_t *params, json_t *changes, const char *place, struct error *err)
{
	const struct definition d = { place, changes, NULL };
	const char *name;
	json_t *value, *body = json_incref(json_object_get(params, "body"));

	if (definition_only(&d, keys, err) != 0 || definition_read(&d, keys, &params, err) != 0) {
		json_decref(body);
		return -1;
	}
	/* The members of `body` are merged; other parameters are replaced. */
	if (body != NULL && json_is_object(json_object_get(changes, "body"))) {
		json_t *both = json_deep_copy(body);

		params_merge_bodies(both, json_object_get(changes, "body"));
		json_object_set_new(params, "body", both);
	}
	json_decref(body);
	json_object_foreach(changes, name, value)
		if (json_is_null(value))
			json_object_del(params, name);
	return 0;
}
