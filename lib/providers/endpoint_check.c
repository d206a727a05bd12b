/* A table of keys, each with what checks its value. Errors name the path of the value: `key.env`. */
#include "providers/endpoint_check.h"

#include <regex.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/text.h"
#include "proc/environment.h"

/* The value that is checked: the file, and the path to it. */
struct checked {
	const char *place, *path;
	const json_t *value;
};

typedef int check_function(struct checked c, struct error *err);

struct key {
	const char *name;
	check_function *check;
};

static int
endpoint_check_refuse(struct checked c, struct error *err, const char *expected)
{
	return error_set(err, ERROR_DEFINITION, c.place, "%s: expected %s", c.path, expected);
}

/* Checks a member; null is none. */
static int
check_member(struct checked c, const char *name, const json_t *value, check_function *check,
    struct error *err)
{
	char *path = *c.path == '\0' ? memory_text(name) : memory_format("%s.%s", c.path, name);
	int failed = json_is_null(value) ? 0 :
	    check((struct checked){ c.place, path, value }, err);

	free(path);
	return failed;
}

/* An object of no other keys than these. */
static int
check_keys(struct checked c, const struct key *keys, size_t count, struct error *err)
{
	const char *name, **names;
	json_t *value;
	int failed = 0;

	if (!json_is_object(c.value))
		return endpoint_check_refuse(c, err, "an object");
	names = memory_zero(count + 1, sizeof *names);
	for (size_t i = 0; i < count; i++)
		names[i] = keys[i].name;
	json_object_foreach((json_t *)(uintptr_t)c.value, name, value) {
		int at = text_index(name, names);

		if (at == -1) {
			char *hint = text_hint(name, names);

			failed = error_set(err, ERROR_DEFINITION, c.place, "unknown key '%s%s%s'%s", c.path,
			    *c.path == '\0' ? "" : ".", name, hint);
			free(hint);
		} else {
			failed = check_member(c, name, value, keys[at].check, err);
		}
		if (failed != 0)
			break;
	}
	free(names);
	return failed;
}

/* An object of any keys, whose values are of one kind. */
static int
check_each(struct checked c, check_function *check, struct error *err)
{
	const char *name;
	json_t *value;

	if (!json_is_object(c.value))
		return endpoint_check_refuse(c, err, "an object");
	json_object_foreach((json_t *)(uintptr_t)c.value, name, value)
		if (check_member(c, name, value, check, err) != 0)
			return -1;
	return 0;
}

/* A list whose elements are of one kind. */
static int
check_list(struct checked c, check_function *check, struct error *err)
{
	if (!json_is_array(c.value))
		return endpoint_check_refuse(c, err, "a list");
	for (size_t i = 0; i < json_array_size(c.value); i++) {
		char *path = memory_format("%s[%zu]", c.path, i);
		int failed = check((struct checked){ c.place, path, json_array_get(c.value, i) }, err);

		free(path);
		if (failed != 0)
			return -1;
	}
	return 0;
}

static int
check_word(struct checked c, const char *const *words, struct error *err)
{
	char *list, *expected;

	if (json_is_string(c.value) && text_index(json_string_value(c.value), words) != -1)
		return 0;
	list = text_list(words);
	expected = memory_format("one of %s", list);
	endpoint_check_refuse(c, err, expected);
	free(expected);
	free(list);
	return -1;
}

/* ---- values ---- */

/* Without characters that would end a header or a line. */
static bool
is_plain(const json_t *value)
{
	const char *text = json_string_value(value);

	if (text == NULL || json_string_length(value) != strlen(text))
		return false;
	for (; *text != '\0'; text++)
		if ((unsigned char)*text < ' ' || *text == 0x7f)
			return false;
	return true;
}

static int
check_text(struct checked c, struct error *err)
{
	return is_plain(c.value) && json_string_length(c.value) > 0 ? 0 : endpoint_check_refuse(c, err, "a text");
}

static int
check_any_text(struct checked c, struct error *err)
{
	return is_plain(c.value) ? 0 : endpoint_check_refuse(c, err, "a text");
}

static int
check_flag(struct checked c, struct error *err)
{
	return json_is_boolean(c.value) ? 0 : endpoint_check_refuse(c, err, "true or false");
}

static int
check_object(struct checked c, struct error *err)
{
	return json_is_object(c.value) ? 0 : endpoint_check_refuse(c, err, "an object");
}

static int
check_seconds(struct checked c, struct error *err)
{
	double number = json_number_value(c.value);

	return json_is_number(c.value) && number > 0 && number <= 86400 ? 0 :
	    endpoint_check_refuse(c, err, "a number of seconds, more than 0 and at most 86400");
}

/* As api/key_command.c reads them. */
static int
check_whole_seconds(struct checked c, struct error *err)
{
	return json_is_integer(c.value) && json_integer_value(c.value) >= 0 &&
	    json_integer_value(c.value) <= 86400 ? 0 :
	    endpoint_check_refuse(c, err, "a whole number of seconds, at most 86400");
}

static int
check_status(struct checked c, struct error *err)
{
	return json_is_integer(c.value) && json_integer_value(c.value) >= 100 &&
	    json_integer_value(c.value) <= 999 ? 0 : endpoint_check_refuse(c, err, "a status of HTTP");
}

static int
check_file_path(struct checked c, struct error *err)
{
	return is_plain(c.value) && *json_string_value(c.value) == '/' ? 0 :
	    endpoint_check_refuse(c, err, "an absolute path");
}

static int
check_variable(struct checked c, struct error *err)
{
	const char *name = json_string_value(c.value);

	return is_plain(c.value) && environment_name_valid(name, strlen(name)) ? 0 :
	    endpoint_check_refuse(c, err, "the name of an environment variable");
}

static int
check_variables_list(struct checked c, struct error *err)
{
	if (json_is_array(c.value) && json_array_size(c.value) == 0)
		return endpoint_check_refuse(c, err, "the name of an environment variable, or a list of some");
	return json_is_string(c.value) ? check_variable(c, err) : check_list(c, check_variable, err);
}

static int
check_texts(struct checked c, struct error *err)
{
	return json_is_string(c.value) ? check_text(c, err) : check_list(c, check_text, err);
}

static int
check_query(struct checked c, struct error *err)
{
	return check_each(c, check_any_text, err);
}

static int
check_protocol(struct checked c, struct error *err)
{
	static const char *const words[] = { "chat", "responses", "messages", "gemini", NULL };

	return check_word(c, words, err);
}

static int
check_schema(struct checked c, struct error *err)
{
	static const char *const words[] = { "with_tools", "alone", "json_object", "none", NULL };

	return check_word(c, words, err);
}

static int
check_system(struct checked c, struct error *err)
{
	static const char *const words[] = { "system", "developer", "user", NULL };

	return check_word(c, words, err);
}

static int
check_content(struct checked c, struct error *err)
{
	static const char *const words[] = { "parts", "text", NULL };

	return check_word(c, words, err);
}

/* What follows the scheme of a URL: a host, and perhaps a port. Variables may be a part of both. */
static int
check_host(struct checked c, const char *host, struct error *err)
{
	const char *end = host + strcspn(host, "/?"), *port;
	size_t digits;

	for (const char *at = host; at < end; at++)
		if (*at == '@')
			host = at + 1;
	port = host + (*host == '[' ? strcspn(host, "]") + 1 : strcspn(host, ":"));
	if (port > end && *host != '[')
		port = end;
	if (port == host || port > end)
		return endpoint_check_refuse(c, err, "a URL with a host");
	if (port == end || memchr(port, '{', (size_t)(end - port)) != NULL)
		return 0;
	digits = strspn(port + 1, "0123456789");
	return *port == ':' && port + 1 + digits == end && digits <= 5 &&
	    strtol(port + 1, NULL, 10) <= 65535 ? 0 :
	    endpoint_check_refuse(c, err, "a URL whose port is a number, at most 65535");
}

static int
check_base_url(struct checked c, struct error *err)
{
	const char *text = json_string_value(c.value);

	if (!is_plain(c.value) || strpbrk(text, " #") != NULL ||
	    (strncmp(text, "http://", 7) != 0 && strncmp(text, "https://", 8) != 0))
		return endpoint_check_refuse(c, err, "a URL that begins with http:// or https://");
	return check_host(c, strstr(text, "://") + 3, err);
}

static int
check_path(struct checked c, struct error *err)
{
	return is_plain(c.value) && *json_string_value(c.value) == '/' &&
	    strpbrk(json_string_value(c.value), " #") == NULL ? 0 :
	    endpoint_check_refuse(c, err, "what follows base_url, from its slash on");
}

static int
check_url_variable(struct checked c, struct error *err)
{
	static const struct key keys[] = { { "env", check_variable }, { "default", check_any_text } };

	return check_keys(c, keys, 2, err);
}

static int
check_url_variables(struct checked c, struct error *err)
{
	return check_each(c, check_url_variable, err);
}

static int
check_command(struct checked c, struct error *err)
{
	const char *program;

	if (!json_is_array(c.value) || json_array_size(c.value) == 0)
		return endpoint_check_refuse(c, err, "a command, a list of texts: the program and its arguments");
	if (check_list(c, check_any_text, err) != 0)
		return -1;
	program = json_string_value(json_array_get(c.value, 0));
	return *program == '/' || (*program != '\0' && strchr(program, '/') == NULL) ? 0 :
	    endpoint_check_refuse(c, err, "first the name of a program in $PATH, or an absolute path");
}

static int
check_sigv4(struct checked c, struct error *err)
{
	static const struct key keys[] = { { "region", check_text }, { "service", check_text },
	    { "command", check_command } };

	if (check_keys(c, keys, 3, err) != 0)
		return -1;
	return json_is_string(json_object_get(c.value, "region")) &&
	    json_is_string(json_object_get(c.value, "service")) ? 0 :
	    endpoint_check_refuse(c, err, "a region and a service");
}

/* Whether a header's name, as HTTP has them (RFC 9110, section 5.6.2). */
static bool
is_header_name(const char *name, size_t len)
{
	static const char token[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
	    "!#$%&'*+-.^_`|~";

	return len > 0 && strspn(name, token) >= len;
}

/* Whether libcurl, or AWF itself, sets a header of this name. */
static bool
is_header_of_request(const char *name, size_t len)
{
	static const char *const ours[] = { "content-length", "transfer-encoding", "connection",
	    "expect", "content-type" };

	for (size_t i = 0; i < sizeof ours / sizeof *ours; i++)
		if (strlen(ours[i]) == len && strncasecmp(ours[i], name, len) == 0)
			return true;
	return false;
}

static int
check_key_header(struct checked c, struct error *err)
{
	const char *text = is_plain(c.value) ? json_string_value(c.value) : "";
	size_t len = strcspn(text, ":");

	if (text[len] != ':' || !is_header_name(text, len))
		return endpoint_check_refuse(c, err, "what stands before the key, such as \"authorization: Bearer \"");
	if (is_header_of_request(text, len) || (len == 4 && strncasecmp(text, "host", 4) == 0))
		return error_set(err, ERROR_DEFINITION, c.place, "%s: %.*s is set by AWF itself", c.path,
		    (int)len, text);
	return 0;
}

static int
check_key(struct checked c, struct error *err)
{
	static const struct key keys[] = { { "env", check_variables_list }, { "file", check_file_path },
	    { "command", check_command }, { "sigv4", check_sigv4 }, { "header", check_key_header },
	    { "optional", check_flag }, { "timeout", check_whole_seconds },
	    { "refresh", check_whole_seconds } };
	static const char *const sources[] = { "env", "file", "command", "sigv4" };
	size_t count = 0;

	if (check_keys(c, keys, sizeof keys / sizeof *keys, err) != 0)
		return -1;
	for (size_t i = 0; i < sizeof sources / sizeof *sources; i++) {
		const json_t *source = json_object_get(c.value, sources[i]);

		count += source != NULL && !json_is_null(source);
	}
	return count <= 1 ? 0 : endpoint_check_refuse(c, err, "one of env, file, command and sigv4");
}

static int
check_header_value(struct checked c, struct error *err)
{
	static const struct key keys[] = { { "env", check_variable }, { "prefix", check_any_text } };

	if (json_is_string(c.value))
		return check_any_text(c, err);
	if (check_keys(c, keys, 2, err) != 0)
		return -1;
	return json_is_string(json_object_get(c.value, "env")) ? 0 :
	    endpoint_check_refuse(c, err, "a text, or {\"env\": VARIABLE}");
}

static int
check_headers(struct checked c, struct error *err)
{
	const char *name;
	json_t *value;

	if (check_each(c, check_header_value, err) != 0)
		return -1;
	json_object_foreach((json_t *)(uintptr_t)c.value, name, value) {
		if (!is_header_name(name, strlen(name)))
			return error_set(err, ERROR_DEFINITION, c.place, "%s: '%s' is no header's name",
			    c.path, name);
		if (is_header_of_request(name, strlen(name)))
			return error_set(err, ERROR_DEFINITION, c.place, "%s: %s is set by AWF itself",
			    c.path, name);
	}
	return 0;
}

/* What AWF keeps and checks cannot be changed behind its back. */
static int
check_body(struct checked c, struct error *err)
{
	static const char *const ours[] = { "messages", "input", "contents", "tools", "stream" };
	const json_t *model = json_object_get(c.value, "model");

	if (check_object(c, err) != 0)
		return -1;
	for (size_t i = 0; i < sizeof ours / sizeof *ours; i++)
		if (json_object_get(c.value, ours[i]) != NULL)
			return error_set(err, ERROR_DEFINITION, c.place,
			    "%s: %s is written by AWF itself, and cannot be changed", c.path, ours[i]);
	/* A server may want no model; another one than is recorded, and has its price, it never gets. */
	if (model != NULL && !json_is_null(model))
		return error_set(err, ERROR_DEFINITION, c.place,
		    "%s: model cannot be changed: which one is asked is said where the model is named", c.path);
	return 0;
}

static int
check_thinking(struct checked c, struct error *err)
{
	static const char *const words[] = { "none", "minimal", "low", "medium", "high", "xhigh",
	    "max", "true", "false", "tokens", "object", "*", NULL };
	const char *name;
	json_t *value;

	if (check_each(c, check_object, err) != 0)
		return -1;
	json_object_foreach((json_t *)(uintptr_t)c.value, name, value) {
		const json_t *as = json_object_get(value, "as");
		char *hint;

		if (text_index(name, words) == -1) {
			hint = text_hint(name, words);
			error_set(err, ERROR_DEFINITION, c.place, "%s: '%s' says nothing about thinking%s",
			    c.path, name, hint);
			free(hint);
			return -1;
		}
		if (as != NULL && (json_object_size(value) != 1 || !json_is_string(as) ||
		    text_index(json_string_value(as), words) == -1 ||
		    strcmp(json_string_value(as), "*") == 0))
			return error_set(err, ERROR_DEFINITION, c.place,
			    "%s.%s: expected {\"as\": LEVEL} alone, such as low", c.path, name);
	}
	json_object_foreach((json_t *)(uintptr_t)c.value, name, value) {
		const char *as = name;

		for (size_t steps = 0; as != NULL; steps++) {
			if (steps > json_object_size(c.value))
				return error_set(err, ERROR_DEFINITION, c.place,
				    "%s.%s: the words after \"as\" lead around, and never to what is sent",
				    c.path, name);
			as = json_string_value(json_object_get(json_object_get(c.value, as), "as"));
		}
	}
	return 0;
}

static int
check_max_tokens(struct checked c, struct error *err)
{
	return check_text(c, err);
}

static int
check_echo(struct checked c, struct error *err)
{
	static const struct key keys[] = { { "as", check_text }, { "required", check_any_text } };

	if (json_is_object(c.value))
		return check_keys(c, keys, 2, err);
	return json_is_boolean(c.value) || (is_plain(c.value) && json_string_length(c.value) > 0) ? 0 :
	    endpoint_check_refuse(c, err, "true, false, the name of a member, or an object of as and required");
}

/* An extended regular expression, as cmd/provider/foreign.c compiles it. */
static int
check_expression(struct checked c, struct error *err)
{
	char *pattern;
	regex_t regex;
	int wrong;

	if (check_text(c, err) != 0)
		return -1;
	pattern = memory_format("^(%s)$", json_string_value(c.value));
	wrong = regcomp(&regex, pattern, REG_EXTENDED | REG_NOSUB);
	free(pattern);
	if (wrong != 0)
		return endpoint_check_refuse(c, err, "an extended regular expression");
	regfree(&regex);
	return 0;
}

static int
check_ids(struct checked c, struct error *err)
{
	static const struct key keys[] = { { "match", check_expression } };

	return check_keys(c, keys, 1, err);
}

static int
check_end(struct checked c, struct error *err)
{
	static const char *const words[] = { "stop", "end_turn", "tool_use", "max_tokens",
	    "stop_sequence", "refusal", "pause", NULL };

	return check_word(c, words, err);
}

static int
check_ends(struct checked c, struct error *err)
{
	return check_each(c, check_end, err);
}

static int
check_category(struct checked c, struct error *err)
{
	static const char *const words[] = { "rate_limit", "overloaded", "network", "provider", "auth",
	    "invalid", "context_length", "refused", NULL };

	return check_word(c, words, err);
}

static int
check_error(struct checked c, struct error *err)
{
	static const struct key keys[] = { { "status", check_status }, { "text", check_text },
	    { "code", check_text }, { "is", check_category } };

	if (check_keys(c, keys, 4, err) != 0)
		return -1;
	return json_object_get(c.value, "is") != NULL && json_object_size(c.value) > 1 ? 0 :
	    endpoint_check_refuse(c, err, "status, text or code, and what it is");
}

static int
check_errors(struct checked c, struct error *err)
{
	return check_list(c, check_error, err);
}

static int
check_price(struct checked c, struct error *err)
{
	size_t count = json_array_size(c.value), right = 0;

	for (size_t i = 0; i < count; i++)
		right += json_is_number(json_array_get(c.value, i)) &&
		    json_number_value(json_array_get(c.value, i)) >= 0 &&
		    json_number_value(json_array_get(c.value, i)) <= 1e6;
	return json_is_array(c.value) && count >= 2 && count <= 4 && right == count ? 0 :
	    endpoint_check_refuse(c, err, "[INPUT, OUTPUT] in dollars for a million tokens, each at most 1000000");
}

static int
check_prices(struct checked c, struct error *err)
{
	return check_each(c, check_price, err);
}

static int
check_timeouts(struct checked c, struct error *err)
{
	static const struct key keys[] = { { "connect", check_seconds }, { "first", check_seconds },
	    { "idle", check_seconds } };

	return check_keys(c, keys, 3, err);
}

static int
check_tls(struct checked c, struct error *err)
{
	static const struct key keys[] = { { "ca", check_file_path }, { "cert", check_file_path },
	    { "key", check_file_path } };

	return check_keys(c, keys, 3, err);
}

static int check_model(struct checked c, struct error *err);

static int
check_models(struct checked c, struct error *err)
{
	return check_list(c, check_model, err);
}

/* Those from `protocol` on hold for a model too. */
static const struct key file_keys[] = {
	{ "base_url", check_base_url },
	{ "variables", check_url_variables },
	{ "base_env", check_variable },
	{ "key", check_key },
	{ "models", check_models },
	{ "insecure", check_flag },
	{ "prices", check_prices },
	{ "timeouts", check_timeouts },
	{ "tls", check_tls },
	{ "unix", check_file_path },
	{ "headers", check_headers },
#define OF_FILE_ALONE 11
	{ "protocol", check_protocol },
	{ "path", check_path },
	{ "query", check_query },
	{ "body", check_body },
	{ "thinking", check_thinking },
	{ "schema", check_schema },
	{ "system", check_system },
	{ "max_tokens", check_max_tokens },
	{ "content", check_content },
	{ "think_tags", check_flag },
	{ "echo", check_echo },
	{ "ids", check_ids },
	{ "bound", check_flag },
	{ "ends", check_ends },
	{ "errors", check_errors },
	{ "cost", check_texts },
};
#define FILE_KEYS (sizeof file_keys / sizeof *file_keys)

static int
check_model(struct checked c, struct error *err)
{
	struct key keys[FILE_KEYS - OF_FILE_ALONE + 1];

	memcpy(keys, file_keys + OF_FILE_ALONE, sizeof keys - sizeof *keys);
	keys[FILE_KEYS - OF_FILE_ALONE] = (struct key){ "match", check_texts };
	if (check_keys(c, keys, sizeof keys / sizeof *keys, err) != 0)
		return -1;
	return json_object_get(c.value, "match") != NULL ? 0 :
	    endpoint_check_refuse(c, err, "match, a pattern of the models' names");
}

int
endpoint_check_file(const json_t *file, const char *place, struct error *err)
{
	if (!json_is_object(file))
		return error_set(err, ERROR_DEFINITION, place,
		    "expected an object, such as {\"protocol\": \"chat\", \"base_url\": \"https://…\"}");
	return check_keys((struct checked){ place, "", file }, file_keys, FILE_KEYS, err);
}

int
endpoint_check_key(const char *key, const json_t *value, const char *place, struct error *err)
{
	for (size_t i = 0; i < FILE_KEYS; i++)
		if (strcmp(file_keys[i].name, key) == 0)
			return check_member((struct checked){ place, "", NULL }, key, value,
			    file_keys[i].check, err);
	return error_set(err, ERROR_DEFINITION, place, "unknown key '%s'", key);
}

bool
endpoint_header_is_apis(const char *name, size_t len)
{
	static const char *const known[] = { "anthropic-beta", "anthropic-version", "openai-beta", "http-referer",
	    "x-title", "idempotency-key", "x-request-id", "x-client-request-id", "x-session-id",
	    "x-session-affinity", "x-grok-conv-id", "traceparent", "tracestate" };

	for (size_t i = 0; i < sizeof known / sizeof *known; i++)
		if (strlen(known[i]) == len && strncasecmp(known[i], name, len) == 0)
			return true;
	return false;
}
